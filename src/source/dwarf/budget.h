/*
 * budget.h: limits the work for one unit. Private to this folder.
 *
 * Entries are small, but what they refer to can be large: a line table, abbreviations, a list of ranges, a name. Units
 * of valid files share little of it. If thousands of entries refer to the same large object, reading it for each of
 * them takes hours, and storing the result exhausts memory. So everything that is read or written for a unit is charged
 * to its budget, in bytes. The budget is a multiple of the unit's size, plus an equal share of a multiple of the size
 * of all debug sections: in total, it is linear in the size of the file. A unit that needs more is cut off.
 */
#ifndef SXT_SOURCE_DWARF_BUDGET_H
#define SXT_SOURCE_DWARF_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DWARF_BUDGET_UNIT_TIMES 32
#define DWARF_BUDGET_FILE_TIMES 16
#define DWARF_BUDGET_FILE_MORE  ((uint64_t)64 << 20)

struct dwarf_budget {
    uint64_t left;
    bool exhausted; /* the budget was not enough */
};

/* Charges AMOUNT bytes to the budget. Returns false if not enough is left. NULL means no limit. */
static inline bool dwarf_budget_spend(struct dwarf_budget *budget, uint64_t amount)
{
    if (budget == NULL)
        return true;
    if (amount > budget->left) {
        budget->left = 0;
        budget->exhausted = true;
        return false;
    }
    budget->left -= amount;
    return true;
}

#endif
