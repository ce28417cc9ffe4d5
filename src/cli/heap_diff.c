/* heap_diff.c: what changed between two heap traces, between two moments of one, or between several runs; budgets. */
#include "cli/heap_diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/verbs.h"

/* --- options --- */

/* How many times an option was given. */
static size_t count_values(const struct cli_arguments *arguments, const char *name)
{
    size_t count = 0;
    while (cli_value_at(arguments, name, count) != NULL)
        count++;
    return count;
}

static int take_budgets(const struct cli_arguments *arguments, struct cli_heap_diff *diff)
{
    size_t count = count_values(arguments, "fail-if");
    diff->budgets = calloc(count + 1, sizeof *diff->budgets);
    if (diff->budgets == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct cli_heap_budget *budget = &diff->budgets[diff->budget_count++];
        budget->text = cli_value_at(arguments, "fail-if", i);
        budget->budget.struct_size = sizeof budget->budget;
        budget->result.struct_size = sizeof budget->result;
        if (sxt_heap_budget_parse(budget->text, &budget->budget, NULL) != SXT_OK)
            return cli_usage(arguments->verb,
                             "--fail-if takes peak, leaked, allocated or allocations and a growth, like peak=+10%% or "
                             "leaked:parse=+4k, not '%s'",
                             budget->text);
    }
    return CLI_DONE;
}

static int take_path_maps(const struct cli_arguments *arguments, struct cli_heap_diff *diff)
{
    size_t count = count_values(arguments, "path-map");
    diff->path_maps = calloc(count + 1, sizeof *diff->path_maps);
    if (diff->path_maps == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const char *text = cli_value_at(arguments, "path-map", i), *equals = strchr(text, '=');
        if (equals == NULL || equals == text)
            return cli_usage(arguments->verb, "--path-map takes OLD=NEW, not '%s'", text);
        char *copy = strdup(text);
        if (copy == NULL)
            return cli_fail_text(NULL, "out of memory");
        copy[equals - text] = 0;
        diff->path_maps[diff->path_map_count++] = (sxt_path_map){copy, copy + (equals - text) + 1};
    }
    return CLI_DONE;
}

static int take_options(const struct cli_arguments *arguments, struct cli_heap_diff *diff)
{
    diff->form = cli_given(arguments, "json") ? CLI_JSON : cli_given(arguments, "markdown") ? CLI_MARKDOWN : CLI_TABLE;
    if (cli_given(arguments, "json") && cli_given(arguments, "markdown"))
        return cli_usage(arguments->verb, "--json and --markdown cannot be used together");
    bool is_whole = diff->form == CLI_JSON || cli_given(arguments, "all");
    int status = cli_count_option(arguments, "limit", is_whole ? UINT64_MAX : 30, &diff->limit);
    if (status == CLI_DONE)
        status = take_budgets(arguments, diff);
    return status == CLI_DONE ? take_path_maps(arguments, diff) : status;
}

/* --- runs --- */

static int open_run(const struct cli_arguments *arguments, const char *text, struct cli_heap_run *run)
{
    const char *at = strrchr(text, '@');
    bool exists = access(text, F_OK) == 0;
    run->is_moment = at != NULL && at != text && !exists;
    run->path = strndup(text, run->is_moment ? (size_t)(at - text) : strlen(text));
    if (run->path == NULL)
        return cli_fail_text(text, "out of memory");
    int status = cli_heap_open(run->path, false, &run->heap);
    if (status != CLI_DONE)
        return status;
    if (run->is_moment)
        sxt_trace_parse_moment(run->heap.trace, at + 1, &run->heap.options.to);
    status = cli_heap_analyse(&run->heap);
    /* What is live at a moment may still be freed, so it is not a known leak. */
    return status == CLI_DONE ? cli_heap_suppress(arguments, &run->heap, !run->is_moment) : status;
}

/* Whether an earlier run is of the same file. */
static bool is_repeated(const struct cli_heap_diff *diff, size_t run)
{
    for (size_t i = 0; i < run; i++)
        if (strcmp(diff->runs[i].path, diff->runs[run].path) == 0)
            return true;
    return false;
}

static int open_runs(const struct cli_arguments *arguments, struct cli_heap_diff *diff)
{
    diff->runs = calloc(arguments->word_count, sizeof *diff->runs);
    if (diff->runs == NULL)
        return cli_fail_text(NULL, "out of memory");
    int status = CLI_DONE;
    for (size_t i = 0; i < arguments->word_count && status == CLI_DONE; i++) {
        diff->run_count++;
        status = open_run(arguments, arguments->words[i], &diff->runs[i]);
        diff->are_moments |= diff->runs[i].is_moment;
        if (status == CLI_DONE && !is_repeated(diff, i))
            cli_warn_state(diff->runs[i].path, diff->runs[i].heap.trace);
    }
    return status;
}

/* For several moments of one file, the latest covers all warnings. */
static bool is_covered(const struct cli_heap_diff *diff, size_t run)
{
    const struct cli_heap_run *this = &diff->runs[run];
    for (size_t i = 0; i < diff->run_count; i++) {
        const struct cli_heap_run *other = &diff->runs[i];
        uint64_t events = this->heap.summary.events, others = other->heap.summary.events;
        if (i != run && strcmp(other->path, this->path) == 0 && (others > events || (others == events && i > run)))
            return true;
    }
    return false;
}

static void warn_of_samples(const struct cli_heap_diff *diff)
{
    bool is_sampled = false, is_mixed = false;
    for (size_t i = 0; i < diff->run_count; i++) {
        is_sampled |= diff->runs[i].heap.info.is_sampled;
        is_mixed |= diff->runs[i].heap.info.sample_period != diff->runs[0].heap.info.sample_period;
    }
    if (is_mixed)
        cli_warn(NULL, "the traces have different sampling periods; part of the change may come from that");
    else if (is_sampled)
        cli_warn(NULL, "the traces are sampled; all figures are estimates");
}

static int warn(const struct cli_heap_diff *diff)
{
    int status = CLI_DONE;
    warn_of_samples(diff);
    for (size_t i = 0; i < diff->run_count; i++)
        if (!is_covered(diff, i) && cli_heap_warn(&diff->runs[i].heap) != CLI_DONE)
            status = CLI_NO;
    return status;
}

/* --- the comparison --- */

bool cli_heap_is_same(const sxt_heap_change *change)
{
    const sxt_heap_sums *a = change->sums_before, *b = change->sums_after;
    return a->bytes == b->bytes && a->count == b->count && a->leaked_bytes == b->leaked_bytes &&
           a->leaked_count == b->leaked_count && a->peak_bytes == b->peak_bytes && a->peak_count == b->peak_count;
}

const char *cli_heap_status(const sxt_heap_change *change)
{
    return change->before == SXT_TRACE_NO_ID ? "added" : change->after == SXT_TRACE_NO_ID ? "removed" : "changed";
}

static void count_changes(struct cli_heap_diff *diff)
{
    sxt_heap_change change;
    sxt_heap_origin origin = {.struct_size = sizeof origin};
    for (size_t i = 0; sxt_heap_diff_get(diff->diff, i, &change); i++) {
        bool is_same = cli_heap_is_same(&change);
        uint64_t *count = is_same                            ? &diff->counts.unchanged
                          : change.before == SXT_TRACE_NO_ID ? &diff->counts.added
                          : change.after == SXT_TRACE_NO_ID  ? &diff->counts.removed
                                                             : &diff->counts.changed;
        (*count)++;
        (void)sxt_heap_diff_get_origin(diff->diff, i, &origin);
        diff->counts.noise += !is_same && origin.is_noise;
    }
}

static int make_diff(struct cli_heap_diff *diff)
{
    size_t after_count = diff->run_count - diff->before_count;
    const char *path = diff->runs[diff->before_count].path;
    const sxt_heap_usage **usages = calloc(diff->run_count, sizeof *usages);
    sxt_heap_diff_options options;
    sxt_error error;
    sxt_heap_diff_options_init(&options);
    /* Two runs differ in what they allocate; two moments in what is live and not suppressed. */
    options.cost = diff->are_moments ? SXT_HEAP_COST_LEAKED : SXT_HEAP_COST_BYTES;
    options.path_maps = diff->path_maps;
    options.path_map_count = diff->path_map_count;
    if (usages == NULL)
        return cli_fail_text(path, "out of memory");
    for (size_t i = 0; i < diff->run_count; i++)
        usages[i] = diff->runs[i].heap.usage;
    int status = sxt_heap_diff_runs(usages, diff->before_count, usages + diff->before_count, after_count, &options,
                                    &diff->diff, &error);
    free(usages);
    for (size_t i = 0; i < diff->budget_count && status == SXT_OK; i++)
        status = sxt_heap_budget_check(diff->diff, &diff->budgets[i].budget, &diff->budgets[i].result, &error);
    if (status != SXT_OK)
        return cli_fail(path, &error);
    count_changes(diff);
    return CLI_DONE;
}

/* --- budgets --- */

void cli_heap_budget_subject(const struct cli_heap_budget *budget, char *text, size_t size)
{
    static const char *const names[] = {"peak", "leaked", "allocated", "allocations"};
    const char *name = names[budget->budget.metric];
    if (budget->budget.function.data == NULL)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "%s in stacks with '%.*s'", name,
                 (int)(budget->budget.function.size < 300 ? budget->budget.function.size : 300),
                 budget->budget.function.data);
}

/* Prints a line on stderr for each budget that is broken, or that only noise would break. */
static int report_budgets(const struct cli_heap_diff *diff)
{
    const char *path = diff->runs[diff->before_count].path;
    int status = CLI_DONE;
    for (size_t i = 0; i < diff->budget_count; i++) {
        const struct cli_heap_budget *budget = &diff->budgets[i];
        const sxt_heap_budget_result *result = &budget->result;
        const char *allowed = strrchr(budget->text, '=') + 1;
        double growth = (double)result->after - (double)result->before;
        char subject[400], limit[80] = "";
        cli_heap_budget_subject(budget, subject, sizeof subject);
        if (budget->budget.is_percent)
            snprintf(limit, sizeof limit, " (%s)", cli_thousands(result->allowed).text);
        if (!result->is_known)
            cli_warn(path, "--fail-if: no stack has the function '%.*s'", (int)budget->budget.function.size,
                     budget->budget.function.data);
        else if (result->is_exceeded)
            status = cli_fail_text(path, "%s grew by %s, from %s to %s; %s%s is allowed", subject,
                                   cli_thousands(growth).text, cli_thousands((double)result->before).text,
                                   cli_thousands((double)result->after).text, allowed, limit);
        else if (result->is_noise && growth > result->allowed)
            cli_note(path, "%s grew by %s, from %s to %s, which is within the noise of the runs; %s%s is allowed",
                     subject, cli_thousands(growth).text, cli_thousands((double)result->before).text,
                     cli_thousands((double)result->after).text, allowed, limit);
    }
    return status;
}

/* --- the verb --- */

static void close_all(struct cli_heap_diff *diff)
{
    sxt_heap_diff_free(&diff->diff);
    for (size_t i = 0; i < diff->run_count; i++) {
        cli_heap_close(&diff->runs[i].heap);
        free(diff->runs[i].path);
    }
    for (size_t i = 0; i < diff->path_map_count; i++)
        free((void *)(uintptr_t)diff->path_maps[i].old_prefix);
    free(diff->runs);
    free(diff->budgets);
    free(diff->path_maps);
}

int cli_diff_heap(const struct cli_arguments *arguments, size_t before_count)
{
    struct cli_heap_diff diff = {.before_count = before_count};
    struct sxt_emit emit;
    int status = take_options(arguments, &diff);
    if (status == CLI_DONE)
        status = open_runs(arguments, &diff);
    if (status == CLI_DONE)
        status = make_diff(&diff);
    if (status == CLI_DONE) {
        sxt_emit_init(&emit, stdout, diff.form == CLI_JSON);
        cli_heap_print_diff(&emit, &diff);
        status = cli_finish(&emit, CLI_DONE);
    }
    if (status == CLI_DONE) {
        status = warn(&diff);
        if (report_budgets(&diff) != CLI_DONE)
            status = CLI_NO;
    }
    close_all(&diff);
    return status;
}
