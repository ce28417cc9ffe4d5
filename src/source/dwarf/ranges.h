/* ranges.h: the addresses that an entry covers. Private to this folder. */
#ifndef SXT_SOURCE_DWARF_RANGES_H
#define SXT_SOURCE_DWARF_RANGES_H

#include "source/dwarf/unit.h"

struct dwarf_range {
    uint64_t start;
    uint64_t end;
};

struct dwarf_ranges {
    struct dwarf_range *list;
    size_t count, capacity;
    struct dwarf_effort *effort; /* pays for lists, which can be shared by any number of entries; NULL: nobody does */
    bool no_memory;
    bool damaged; /* a list was */
};

/*
 * Tells code that is there from code that the linker threw away. A linker cannot take an entry out of .debug_info, so
 * it gives it an address where nothing can be: 0 or 1 (GNU ld), -1 or -2 (lld). In a file that has code at 0, 0 is an
 * address like any other.
 */
struct dwarf_dead {
    bool code_at_zero;
    bool code_at_one;
    bool narrow; /* addresses of four bytes: -1 is 0xffffffff */
};

struct dwarf_dead sxt_dwarf_dead_of(const struct sxt_elf *elf);

static inline bool dwarf_start_is_dead(const struct dwarf_dead *dead, uint64_t start)
{
    if (start <= 1)
        return start == 0 ? !dead->code_at_zero : !dead->code_at_one;
    return start >= UINT64_MAX - 1 || (dead->narrow && start >= UINT32_MAX - 1);
}

/*
 * Appends the ranges of an entry: those of RANGES if it has them, otherwise LOW to HIGH. BASE is the unit's own low
 * address. Empty, inverted and dead ones are left out. False, and noted in OUT, when a list is damaged; what came
 * before stays.
 */
bool sxt_dwarf_read_ranges(const struct dwarf_context *context, const struct dwarf_dead *dead, uint64_t base,
                           const struct dwarf_value *low, const struct dwarf_value *high,
                           const struct dwarf_value *ranges, struct dwarf_ranges *out);

#endif
