/* analysis_budget.c: budgets of a comparison: did a metric grow by more than it may? */
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/string.h"
#include "mlyze/analysis.h"

#define LIMIT_MOST 1e18
#define ROUNDING   1e-12 /* of a percentage, relative */

static const char *const metric_names[] = {"peak", "leaked", "allocated", "allocations"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static double unit_of(char letter)
{
    return letter == 'k' ? 1e3 : letter == 'M' ? 1e6 : letter == 'G' ? 1e9 : 0;
}

/* "+10", "+1.5k", "+0.5%": digits, perhaps a fraction of a unit or a percentage, nothing else. */
static bool parse_limit(const char *text, sxt_heap_budget *budget)
{
    if (*text++ != '+' || !is_digit(*text))
        return false;
    double value = 0, scale = 1;
    for (; is_digit(*text); text++)
        value = value * 10 + (*text - '0');
    bool has_fraction = text[0] == '.' && is_digit(text[1]);
    if (has_fraction)
        for (text++; is_digit(*text); text++)
            value += (*text - '0') * (scale /= 10);
    budget->is_percent = *text == '%';
    double unit = unit_of(*text);
    if (unit == 0 && !budget->is_percent && has_fraction)
        return false;
    text += unit != 0 || budget->is_percent;
    budget->limit = unit != 0 ? value * unit : value;
    return *text == 0 && budget->limit <= LIMIT_MOST;
}

static bool find_metric(sxt_string name, sxt_heap_metric *out)
{
    for (int i = 0; i < 4; i++) {
        if (name.size != strlen(metric_names[i]) || memcmp(name.data, metric_names[i], name.size) != 0)
            continue;
        *out = (sxt_heap_metric)i;
        return true;
    }
    return false;
}

int sxt_heap_budget_parse(const char *text, sxt_heap_budget *out, sxt_error *error)
{
    sxt_heap_budget budget = {.function = {NULL, 0}};
    const char *equals = strrchr(text, '=');
    size_t size = strcspn(text, ":=");
    bool is_fine = equals != NULL && find_metric((sxt_string){text, size}, &budget.metric);
    if (is_fine && text[size] == ':') {
        budget.function = (sxt_string){text + size + 1, (size_t)(equals - text) - size - 1};
        is_fine = equals > text + size + 1;
    } else if (is_fine) {
        is_fine = equals == text + size;
    }
    if (!is_fine || !parse_limit(equals + 1, &budget))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a budget like peak=+10%% or leaked:f=+4k: '%.200s'",
                        text);
    sxt_result_give(out, &budget, sizeof budget);
    return SXT_OK;
}

int sxt_heap_budget_check(const sxt_heap_diff *diff, const sxt_heap_budget *given, sxt_heap_budget_result *out,
                          sxt_error *error)
{
    sxt_heap_figure figure = {.struct_size = sizeof figure};
    sxt_heap_budget budget = {0};
    int status = sxt_options_take(&budget, sizeof budget, given, "struct_size", error);
    if (status != SXT_OK)
        return status;
    sxt_heap_budget_result result = {.is_known = true};
    if (budget.function.data == NULL)
        sxt_heap_diff_total(diff, budget.metric, &figure);
    else
        status = sxt_heap_diff_function(diff, budget.function, budget.metric, &figure, error);
    result.is_known = status != SXT_ERROR_NOT_FOUND;
    if (status != SXT_OK && result.is_known)
        return status;
    result.before = figure.before;
    result.after = figure.after;
    result.is_noise = figure.is_noise;
    result.allowed = budget.is_percent ? (double)figure.before * budget.limit / 100 : budget.limit;
    double growth = figure.after > figure.before ? (double)(figure.after - figure.before) : 0;
    result.is_exceeded = growth > result.allowed * (1 + ROUNDING) && !figure.is_noise;
    sxt_result_give(out, &result, sizeof result);
    return SXT_OK;
}
