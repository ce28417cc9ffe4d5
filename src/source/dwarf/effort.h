/*
 * effort.h: how much is done for one unit. Private to this folder.
 *
 * Entries are small, and what they point to can be large: a line table, abbreviations, a list of ranges, a name. Honest
 * units share little of it. Where thousands of entries point to the same large thing, reading it for each of them takes
 * hours, and writing it down takes more memory than there is. So everything that is read or put out for a unit is paid
 * for, in bytes. A unit has some times its own size, and an equal part of some times the size of all debug sections:
 * for all units together that is linear in the size of the file. One that needs more is cut off there.
 */
#ifndef SXT_SOURCE_DWARF_EFFORT_H
#define SXT_SOURCE_DWARF_EFFORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DWARF_EFFORT_UNIT_TIMES 32
#define DWARF_EFFORT_FILE_TIMES 16
#define DWARF_EFFORT_FILE_MORE  ((uint64_t)64 << 20)

struct dwarf_effort {
    uint64_t left;
    bool exhausted; /* it was not enough */
};

/* Pays for AMOUNT bytes; false when there is not enough left. Without EFFORT all is free. */
static inline bool dwarf_effort_pay(struct dwarf_effort *effort, uint64_t amount)
{
    if (effort == NULL)
        return true;
    if (amount > effort->left) {
        effort->left = 0;
        effort->exhausted = true;
        return false;
    }
    effort->left -= amount;
    return true;
}

#endif
