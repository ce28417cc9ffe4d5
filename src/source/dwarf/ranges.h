/* ranges.h: the address ranges of an entry. Private to this folder. */
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
    struct dwarf_budget *budget; /* limits what is read, as any number of entries can share a list; NULL: no limit */
    bool no_memory;
    bool damaged; /* a list is damaged */
};

/*
 * Distinguishes code in the file from code that the linker discarded. A linker cannot remove an entry from .debug_info,
 * so it assigns an address where no code can be: 0 or 1 (GNU ld), -1 or -2 (lld). In a file with code at 0, 0 is a
 * normal address.
 */
struct dwarf_dead {
    bool code_at_zero;
    bool code_at_one;
    bool narrow; /* four-byte addresses: -1 is 0xffffffff */
};

struct dwarf_dead sxt_dwarf_dead_of(const struct sxt_elf *elf);

/* Order ranges by start, for qsort. */
int sxt_dwarf_compare_ranges(const void *a, const void *b);

static inline bool dwarf_start_is_dead(const struct dwarf_dead *dead, uint64_t start)
{
    if (start <= 1)
        return start == 0 ? !dead->code_at_zero : !dead->code_at_one;
    return start >= UINT64_MAX - 1 || (dead->narrow && start >= UINT32_MAX - 1);
}

/*
 * Appends the ranges of an entry: those of RANGES if present, otherwise LOW to HIGH. BASE is the low address of the
 * unit. Skips empty, inverted and discarded ranges. Returns false, and sets OUT->damaged, if a list is damaged; ranges
 * before the damage are kept.
 */
bool sxt_dwarf_read_ranges(const struct dwarf_context *context, const struct dwarf_dead *dead, uint64_t base,
                           const struct dwarf_value *low, const struct dwarf_value *high,
                           const struct dwarf_value *ranges, struct dwarf_ranges *out);

#endif
