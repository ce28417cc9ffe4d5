/* budget.c: the budget check of a diff: did a file or a section grow by more than it may? */
#include <string.h>

#include "base/byte_count.h"
#include "base/error.h"
#include "base/options.h"
#include "size/section_changes.h"

/* Proportional sizes add up to whole bytes, except for rounding. */
#define ROUNDING 1e-6

int sxt_size_budget_parse(const char *text, sxt_size_budget *out, sxt_error *error)
{
    const char *equals = strrchr(text, '='), *limit = equals != NULL ? equals + 1 : text;
    size_t size = strlen(limit);
    sxt_size_budget budget = {.section = {NULL, 0}};
    if (equals != NULL)
        budget.section = (sxt_string){text, (size_t)(equals - text)};
    budget.is_percent = size > 1 && limit[size - 1] == '%';
    if (equals == text || !sxt_byte_count_parse(limit, size - budget.is_percent, &budget.limit) || budget.limit < 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a budget like 4k, 1%% or .text=1%%: '%.100s'",
                        text);
    sxt_result_give(out, &budget, sizeof budget);
    return SXT_OK;
}

void sxt_size_budget_check(const sxt_size_section_changes *changes, const sxt_size_budget *budget,
                           sxt_size_budget_result *out)
{
    sxt_size_budget_result result = {.is_known = true};
    if (budget->section.data == NULL) {
        result.before = changes->total.before;
        result.change = changes->total.change;
    } else {
        const struct sxt_size_changed_section *section = sxt_size_find_changed_section(changes, budget->section);
        result.is_known = section != NULL;
        /* Of a section without symbols only the size is known, as the file states it. */
        if (section != NULL && section->view.symbols > 0) {
            result.before = section->view.before;
            result.change = section->view.change;
        } else if (section != NULL) {
            result.before = section->stated_before;
            result.change = section->stated_after - section->stated_before;
        }
    }
    if (result.is_known) {
        result.allowed = budget->is_percent ? result.before * budget->limit / 100 : budget->limit;
        result.is_exceeded = result.change > result.allowed + ROUNDING;
    }
    sxt_result_give(out, &result, sizeof result);
}
