/* heap_diff_print.c: what changed between heap traces, as text, Markdown or JSON Lines. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap_diff.h"

#define FRAMES_SHOWN 8

struct row {
    sxt_heap_change change;
    sxt_heap_origin origin;
    const sxt_trace *trace; /* that has the stack which is shown */
    uint32_t stack;
    double bytes, allocations, peak, live; /* changes */
};

static struct cli_number thousands(uint64_t value)
{
    return cli_thousands((double)value);
}

static double distance(uint64_t before, uint64_t after)
{
    return after >= before ? (double)(after - before) : -(double)(before - after);
}

/* The next row that changed, from *INDEX on. */
static bool next_row(const struct cli_heap_diff *diff, size_t *index, struct row *row)
{
    do {
        if (!sxt_heap_diff_get(diff->diff, *index, &row->change))
            return false;
        row->origin.struct_size = sizeof row->origin;
        (void)sxt_heap_diff_get_origin(diff->diff, (*index)++, &row->origin);
    } while (cli_heap_is_same(&row->change));
    const sxt_heap_sums *before = row->change.sums_before, *after = row->change.sums_after;
    bool is_after = row->change.after != SXT_TRACE_NO_ID;
    size_t run = is_after ? diff->before_count + row->origin.run_after : row->origin.run_before;
    row->trace = diff->runs[run].heap.trace;
    row->stack = is_after ? row->change.after : row->change.before;
    row->bytes = distance(before->bytes, after->bytes);
    row->allocations = distance(before->count, after->count);
    row->peak = distance(before->peak_bytes, after->peak_bytes);
    row->live = distance(before->leaked_bytes, after->leaked_bytes);
    return true;
}

static sxt_heap_figure total_of(const struct cli_heap_diff *diff, sxt_heap_metric metric)
{
    sxt_heap_figure figure = {.struct_size = sizeof figure};
    sxt_heap_diff_total(diff->diff, metric, &figure);
    return figure;
}

/* The name of a metric; what is live at a moment did not leak. */
static const char *metric_name(const struct cli_heap_diff *diff, sxt_heap_metric metric)
{
    static const char *const names[] = {"peak", "leaked", "allocated", "allocations"};
    return diff->are_moments && metric == SXT_HEAP_METRIC_LEAKED ? "live" : names[metric];
}

static bool has_several_runs(const struct cli_heap_diff *diff)
{
    return diff->run_count > 2;
}

/* --- JSON --- */

static void emit_pair(struct sxt_emit *emit, const char *key, uint64_t before, uint64_t after)
{
    char name[64];
    snprintf(name, sizeof name, "%s_before", key);
    sxt_emit_number(emit, name, before);
    snprintf(name, sizeof name, "%s_after", key);
    sxt_emit_number(emit, name, after);
}

static void emit_id(struct sxt_emit *emit, const char *key, uint32_t id)
{
    if (id == SXT_TRACE_NO_ID)
        sxt_emit_null(emit, key);
    else
        sxt_emit_number(emit, key, id);
}

/* At two moments, what is live counts. */
static void emit_row(struct sxt_emit *emit, const struct cli_heap_diff *diff, const struct row *row)
{
    const sxt_heap_sums *before = row->change.sums_before, *after = row->change.sums_after;
    double blocks = diff->are_moments ? distance(before->leaked_count, after->leaked_count) : row->allocations;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "status", cli_heap_status(&row->change));
    emit_id(emit, "stack_before", row->change.before);
    emit_id(emit, "stack_after", row->change.after);
    cli_emit_real(emit, "bytes", diff->are_moments ? row->live : row->bytes);
    cli_emit_real(emit, "allocations", blocks);
    sxt_emit_bool(emit, "noise", row->origin.is_noise);
    emit_pair(emit, "allocated_bytes", before->bytes, after->bytes);
    emit_pair(emit, "allocations", before->count, after->count);
    emit_pair(emit, "peak_bytes", before->peak_bytes, after->peak_bytes);
    emit_pair(emit, "leaked_bytes", before->leaked_bytes, after->leaked_bytes);
    emit_pair(emit, "leaked_allocations", before->leaked_count, after->leaked_count);
    cli_heap_emit_frames(emit, row->trace, row->stack);
    sxt_emit_record_end(emit);
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The median of the leaks that are suppressed in the runs of a side. */
static uint64_t suppressed_of(const struct cli_heap_diff *diff, bool is_after, bool is_count)
{
    uint64_t values[SXT_HEAP_RUNS_MOST];
    size_t first = is_after ? diff->before_count : 0, end = is_after ? diff->run_count : diff->before_count, count = 0;
    for (size_t i = first; i < end; i++) {
        const sxt_heap_summary *summary = &diff->runs[i].heap.summary;
        values[count++] = is_count ? summary->suppressed_count : summary->suppressed_bytes;
    }
    qsort(values, count, sizeof *values, by_value);
    uint64_t low = values[(count - 1) / 2], high = values[count / 2];
    return low + (high - low) / 2;
}

/* Totals include what is suppressed. */
static void emit_leaked(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    sxt_heap_figure bytes = total_of(diff, SXT_HEAP_METRIC_LEAKED);
    sxt_heap_figure blocks = total_of(diff, SXT_HEAP_METRIC_LEAKED_BLOCKS);
    uint64_t bytes_before = suppressed_of(diff, false, false), bytes_after = suppressed_of(diff, true, false);
    uint64_t blocks_before = suppressed_of(diff, false, true), blocks_after = suppressed_of(diff, true, true);
    emit_pair(emit, "leaked_bytes", bytes.before + bytes_before, bytes.after + bytes_after);
    emit_pair(emit, "leaked_allocations", blocks.before + blocks_before, blocks.after + blocks_after);
    emit_pair(emit, "suppressed_bytes", bytes_before, bytes_after);
    emit_pair(emit, "suppressed_allocations", blocks_before, blocks_after);
}

static void emit_totals(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    static const struct {
        const char *key;
        sxt_heap_metric metric;
    } totals[] = {{"allocated_bytes", SXT_HEAP_METRIC_ALLOCATED},
                  {"allocations", SXT_HEAP_METRIC_ALLOCATIONS},
                  {"peak_bytes", SXT_HEAP_METRIC_PEAK}};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        sxt_heap_figure figure = total_of(diff, totals[i].metric);
        emit_pair(emit, totals[i].key, figure.before, figure.after);
    }
    emit_leaked(emit, diff);
    sxt_emit_object(emit, "metrics");
    for (sxt_heap_metric metric = SXT_HEAP_METRIC_PEAK; metric <= SXT_HEAP_METRIC_ALLOCATIONS; metric++) {
        static const char *const names[] = {"peak", "leaked", "allocated", "allocations"};
        sxt_heap_figure figure = total_of(diff, metric);
        sxt_emit_object(emit, names[metric]);
        emit_pair(emit, "median", figure.before, figure.after);
        emit_pair(emit, "least", figure.before_least, figure.after_least);
        emit_pair(emit, "most", figure.before_most, figure.after_most);
        sxt_emit_bool(emit, "noise", figure.is_noise);
        sxt_emit_object_end(emit);
    }
    sxt_emit_object_end(emit);
}

static void emit_budgets(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    sxt_emit_array(emit, "budgets");
    for (size_t i = 0; i < diff->budget_count; i++) {
        const struct cli_heap_budget *budget = &diff->budgets[i];
        sxt_emit_object(emit, NULL);
        sxt_emit_cstring(emit, "budget", budget->text);
        sxt_emit_number(emit, "before", budget->result.before);
        sxt_emit_number(emit, "after", budget->result.after);
        cli_emit_real(emit, "allowed", budget->result.allowed);
        sxt_emit_bool(emit, "noise", budget->result.is_noise);
        sxt_emit_bool(emit, "exceeded", budget->result.is_exceeded);
        sxt_emit_object_end(emit);
    }
    sxt_emit_array_end(emit);
}

static void emit_diff(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    struct row row;
    size_t index = 0;
    for (uint64_t shown = 0; shown < diff->limit && next_row(diff, &index, &row); shown++)
        emit_row(emit, diff, &row);
    sxt_emit_record(emit);
    sxt_emit_object(emit, "summary");
    sxt_emit_number(emit, "unchanged", diff->counts.unchanged);
    sxt_emit_number(emit, "changed", diff->counts.changed);
    sxt_emit_number(emit, "added", diff->counts.added);
    sxt_emit_number(emit, "removed", diff->counts.removed);
    sxt_emit_number(emit, "noise", diff->counts.noise);
    sxt_emit_number(emit, "runs_before", diff->before_count);
    sxt_emit_number(emit, "runs_after", diff->run_count - diff->before_count);
    emit_totals(emit, diff);
    emit_budgets(emit, diff);
    sxt_emit_object_end(emit);
    sxt_emit_record_end(emit);
}

/* --- text --- */

static void print_counts(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    sxt_emit_text(emit, "%s stack%s added, %s removed, %s changed, %s unchanged", thousands(diff->counts.added).text,
                  diff->counts.added == 1 ? "" : "s", thousands(diff->counts.removed).text,
                  thousands(diff->counts.changed).text, thousands(diff->counts.unchanged).text);
    if (has_several_runs(diff))
        sxt_emit_text(emit, "; %s only by noise", thousands(diff->counts.noise).text);
}

/* A line of the totals, as text or as cells of Markdown. */
struct total_line {
    const char *name;
    struct cli_number before, after, change, percent;
    char runs[160]; /* the ranges of several runs */
};

static struct total_line line_of(const char *name, uint64_t before, uint64_t after)
{
    double change = distance(before, after);
    return (struct total_line){.name = name,
                               .before = thousands(before),
                               .after = thousands(after),
                               .change = cli_change(change),
                               .percent = cli_percent(change, (double)before)};
}

/* The totals, and what is suppressed if that is not nothing. False if there is no line of that number. */
static bool get_total_line(const struct cli_heap_diff *diff, int number, struct total_line *line)
{
    if (number > SXT_HEAP_METRIC_ALLOCATIONS) {
        uint64_t before = suppressed_of(diff, false, false), after = suppressed_of(diff, true, false);
        *line = line_of("suppressed", before, after);
        return number == SXT_HEAP_METRIC_ALLOCATIONS + 1 && (before > 0 || after > 0);
    }
    sxt_heap_figure figure = total_of(diff, (sxt_heap_metric)number);
    *line = line_of(metric_name(diff, (sxt_heap_metric)number), figure.before, figure.after);
    if (has_several_runs(diff))
        snprintf(line->runs, sizeof line->runs, "%s%s to %s, then %s to %s", figure.is_noise ? "noise: " : "",
                 thousands(figure.before_least).text, thousands(figure.before_most).text,
                 thousands(figure.after_least).text, thousands(figure.after_most).text);
    return true;
}

static void print_totals(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    struct total_line line;
    sxt_emit_text(emit, "%-12s %15s  %15s  %15s\n", "", "before", "after", "change");
    for (int i = SXT_HEAP_METRIC_PEAK; get_total_line(diff, i, &line); i++) {
        bool has_more = line.percent.text[0] != 0 || line.runs[0] != 0;
        sxt_emit_text(emit, "%-12s %15s  %15s  %15s%*s%s%s\n", line.name, line.before.text, line.after.text,
                      line.change.text, has_more ? 11 : 0, line.percent.text, line.runs[0] != 0 ? "  " : "", line.runs);
    }
}

static void print_text(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    uint64_t shown = 0, all = diff->counts.added + diff->counts.removed + diff->counts.changed;
    struct row row;
    print_totals(emit, diff);
    sxt_emit_text(emit, "\n");
    print_counts(emit, diff);
    sxt_emit_text(emit, "\n");
    if (all > 0)
        sxt_emit_text(emit, "\n%15s  %15s  %13s  stack\n", metric_name(diff, SXT_HEAP_METRIC_LEAKED), "allocated",
                      "allocations");
    for (size_t index = 0; shown < diff->limit && next_row(diff, &index, &row); shown++) {
        sxt_emit_text(emit, "%15s  %15s  %13s  %s", cli_change(row.live).text, cli_change(row.bytes).text,
                      cli_change(row.allocations).text, row.origin.is_noise ? "(noise) " : "");
        cli_heap_print_frames(emit, row.trace, row.stack, 49, FRAMES_SHOWN);
    }
    if (shown < all)
        sxt_emit_text(emit, "%s of %s row%s\n", thousands(shown).text, thousands(all).text, all == 1 ? "" : "s");
}

/* --- Markdown --- */

static void print_cell_frames(struct sxt_emit *emit, const struct row *row)
{
    sxt_trace_frame frame;
    uint32_t count;
    (void)sxt_trace_stack(row->trace, row->stack, &count);
    if (count == 0)
        sxt_emit_text(emit, "`stack_%u`", row->stack);
    for (uint32_t i = 0; i < FRAMES_SHOWN && sxt_trace_get_frame(row->trace, row->stack, i, &frame); i++) {
        char room[24];
        sxt_string function = cli_heap_name(frame.function, frame.function_id, "func", room);
        sxt_emit_text(emit, "%s", i > 0 ? "<br>" : "");
        cli_markdown_code(emit, function.size > 0 ? function : (sxt_string){"?", 1});
        if (frame.file.size == 0)
            continue;
        sxt_emit_text(emit, " ");
        char line[16] = "";
        if (frame.line > 0)
            snprintf(line, sizeof line, ":%u", frame.line);
        cli_markdown_code(emit, frame.file);
        sxt_emit_text(emit, "%s", line);
    }
    uint32_t was_cut = count > FRAMES_SHOWN && cli_heap_is_cut(row->trace, row->stack);
    if (count > FRAMES_SHOWN + was_cut)
        sxt_emit_text(emit, "<br>%u more", count - FRAMES_SHOWN - was_cut);
    if (was_cut)
        sxt_emit_text(emit, "<br>%s", CLI_HEAP_CUT);
}

static void print_markdown_rows(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    uint64_t all = diff->counts.added + diff->counts.removed + diff->counts.changed, shown = 0;
    struct row row;
    sxt_emit_text(emit,
                  "\n<details>\n<summary>%s of %s stack%s that changed</summary>\n\n"
                  "| status | allocated | allocations | peak | %s | stack |\n|---|---:|---:|---:|---:|---|\n",
                  thousands(all < diff->limit ? all : diff->limit).text, thousands(all).text, all == 1 ? "" : "s",
                  metric_name(diff, SXT_HEAP_METRIC_LEAKED));
    for (size_t index = 0; shown < diff->limit && next_row(diff, &index, &row); shown++) {
        sxt_emit_text(emit, "| %s%s | %s | %s | %s | %s | ", cli_heap_status(&row.change),
                      row.origin.is_noise ? " (noise)" : "", cli_change(row.bytes).text,
                      cli_change(row.allocations).text, cli_change(row.peak).text, cli_change(row.live).text);
        print_cell_frames(emit, &row);
        sxt_emit_text(emit, " |\n");
    }
    sxt_emit_text(emit, "\n</details>\n");
}

static void print_markdown_budgets(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    sxt_emit_text(emit, "\n| budget | before | after | change | allowed | |\n|---|---:|---:|---:|---:|---|\n");
    for (size_t i = 0; i < diff->budget_count; i++) {
        const sxt_heap_budget_result *result = &diff->budgets[i].result;
        const char *text = diff->budgets[i].text;
        sxt_emit_text(emit, "| ");
        cli_markdown_code(emit, (sxt_string){text, strlen(text)});
        sxt_emit_text(emit, " | %s | %s | %s | %s | %s |\n", thousands(result->before).text,
                      thousands(result->after).text, cli_change(distance(result->before, result->after)).text,
                      cli_change(result->allowed).text,
                      result->is_exceeded ? "**exceeded**"
                      : result->is_noise  ? "noise"
                                          : "kept");
    }
}

static void print_markdown(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    sxt_heap_figure peak = total_of(diff, SXT_HEAP_METRIC_PEAK);
    double growth = distance(peak.before, peak.after);
    bool has_runs = has_several_runs(diff);
    struct total_line line;
    sxt_emit_text(emit, "**Heap: %s byte%s at the peak**: ", cli_change(growth).text,
                  growth == 1 || growth == -1 ? "" : "s");
    print_counts(emit, diff);
    sxt_emit_text(emit, "\n\n| | before | after | change | |%s\n|---|---:|---:|---:|---:|%s\n",
                  has_runs ? " runs |" : "", has_runs ? "---|" : "");
    for (int i = SXT_HEAP_METRIC_PEAK; get_total_line(diff, i, &line); i++)
        sxt_emit_text(emit, "| %s | %s | %s | %s | %s |%s%s%s\n", line.name, line.before.text, line.after.text,
                      line.change.text, line.percent.text, has_runs ? " " : "", line.runs, has_runs ? " |" : "");
    if (diff->budget_count > 0)
        print_markdown_budgets(emit, diff);
    if (diff->counts.added + diff->counts.removed + diff->counts.changed > 0)
        print_markdown_rows(emit, diff);
}

/* --- all --- */

void cli_heap_print_diff(struct sxt_emit *emit, const struct cli_heap_diff *diff)
{
    if (diff->form == CLI_JSON)
        emit_diff(emit, diff);
    else if (diff->form == CLI_MARKDOWN)
        print_markdown(emit, diff);
    else
        print_text(emit, diff);
}
