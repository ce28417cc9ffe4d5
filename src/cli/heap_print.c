/* heap_print.c: sums, stacks and tables of a heap trace, as text, JSON Lines or CSV. */
#include <inttypes.h>
#include <string.h>

#include "cli/heap.h"

#define FRAMES_SHOWN 8

const char *cli_heap_cost_name(enum sxt_heap_cost cost)
{
    static const char *const names[] = {"bytes", "count", "live", "peak", "leaked", "temporary", "churn", "growth"};
    return names[cost];
}

struct cli_number cli_duration(uint64_t microseconds)
{
    struct cli_number out;
    if (microseconds < 1000)
        snprintf(out.text, sizeof out.text, "%" PRIu64 " us", microseconds);
    else if (microseconds < 1000000)
        snprintf(out.text, sizeof out.text, "%.3g ms", (double)microseconds / 1e3);
    else if (microseconds < 600000000)
        snprintf(out.text, sizeof out.text, "%.4g s", (double)microseconds / 1e6);
    else
        snprintf(out.text, sizeof out.text, "%.4g min", (double)microseconds / 6e7);
    return out;
}

static struct cli_number thousands(uint64_t value)
{
    return cli_thousands((double)value);
}

/* --- stacks --- */

void cli_heap_emit_frames(struct sxt_emit *emit, const struct sxt_heap_usage *usage, uint32_t id)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, id);
    sxt_emit_array(emit, "frames");
    for (uint32_t i = 0; stack != NULL && i < stack->count; i++) {
        const struct sxt_mlyze_frame *frame = &stack->frames[i];
        char room[24];
        sxt_emit_object(emit, NULL);
        sxt_emit_string(emit, "file", sxt_mlyze_file(metadata, frame->file, room));
        sxt_emit_number(emit, "line", frame->line);
        sxt_emit_string(emit, "function", sxt_mlyze_function(metadata, frame->function, room));
        sxt_emit_object_end(emit);
    }
    sxt_emit_array_end(emit);
}

static void print_frame(struct sxt_emit *emit, const struct sxt_heap_usage *usage, const struct sxt_mlyze_frame *frame)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    char room[24];
    sxt_string function = sxt_mlyze_function(metadata, frame->function, room);
    sxt_emit_name(emit, function.size > 0 ? function : (sxt_string){"?", 1});
    sxt_string file = sxt_mlyze_file(metadata, frame->file, room);
    if (file.size > 0) {
        sxt_emit_text(emit, "  ");
        sxt_emit_name(emit, file);
        if (frame->line > 0)
            sxt_emit_text(emit, ":%u", frame->line);
    }
    sxt_emit_text(emit, "\n");
}

void cli_heap_print_frames(struct sxt_emit *emit, const struct sxt_heap_usage *usage, uint32_t id, unsigned indent,
                           uint32_t most)
{
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, id);
    uint32_t count = stack != NULL ? stack->count : 0, shown = count < most ? count : most;
    if (count == 0)
        sxt_emit_text(emit, "stack_%u\n", id);
    for (uint32_t i = 0; i < shown; i++) {
        if (i > 0)
            sxt_emit_text(emit, "%*s", (int)indent + 2, "");
        print_frame(emit, usage, &stack->frames[i]);
    }
    if (shown < count)
        sxt_emit_text(emit, "%*s... %u more\n", (int)indent + 2, "", count - shown);
}

/* --- sums --- */

static void emit_pair(struct sxt_emit *emit, const char *bytes_key, uint64_t bytes, const char *count_key,
                      uint64_t count)
{
    sxt_emit_number(emit, bytes_key, bytes);
    sxt_emit_number(emit, count_key, count);
}

static void emit_sums(struct sxt_emit *emit, const struct sxt_heap_usage *usage, const struct sxt_heap_sums *sums)
{
    emit_pair(emit, "leaked_bytes", sums->leaked_bytes, "leaked_allocations", sums->leaked_count);
    emit_pair(emit, "allocated_bytes", sums->bytes, "allocations", sums->count);
    emit_pair(emit, "peak_bytes", sums->peak_bytes, "peak_allocations", sums->peak_count);
    emit_pair(emit, "live_bytes", sums->live_bytes, "live_allocations", sums->live_count);
    emit_pair(emit, "freed_bytes", sums->freed_bytes, "freed_allocations", sums->freed_count);
    emit_pair(emit, "temporary_bytes", sums->temporary_bytes, "temporary_allocations", sums->temporary_count);
    if (usage->options.churn > 0)
        emit_pair(emit, "churned_bytes", sums->churned_bytes, "churned_allocations", sums->churned_count);
    if (usage->options.from.kind != SXT_HEAP_OPEN)
        emit_pair(emit, "before_bytes", sums->before_bytes, "before_allocations", sums->before_count);
    cli_emit_real(emit, "lifetime_average_us",
                  sums->freed_count > 0 ? (double)sums->lifetime_sum / (double)sums->freed_count : 0);
    sxt_emit_number(emit, "lifetime_max_us", sums->lifetime_max);
}

/* --- summary --- */

static void emit_summary(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage)
{
    const struct sxt_heap_sums *total = &usage->total;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "file", trace->path);
    sxt_emit_number(emit, "peak_bytes", total->peak_bytes);
    sxt_emit_number(emit, "peak_allocations", total->peak_count);
    sxt_emit_number(emit, "peak_time_us", usage->peak_time);
    emit_pair(emit, "allocated_bytes", total->bytes, "allocations", total->count);
    sxt_emit_number(emit, "frees", usage->frees);
    emit_pair(emit, "leaked_bytes", total->leaked_bytes, "leaked_allocations", total->leaked_count);
    sxt_emit_number(emit, "unmatched_frees", usage->unmatched_frees);
    sxt_emit_number(emit, "implicit_frees", usage->implicit_frees);
    emit_pair(emit, "live_bytes", total->live_bytes, "live_allocations", total->live_count);
    emit_pair(emit, "temporary_bytes", total->temporary_bytes, "temporary_allocations", total->temporary_count);
    sxt_emit_number(emit, "stacks", usage->site_count);
    sxt_emit_number(emit, "markers", usage->all_markers);
    sxt_emit_number(emit, "gc_events", usage->gc_events);
    emit_pair(emit, "gc_bytes", usage->gc_bytes, "gc_objects", usage->gc_objects);
    sxt_emit_number(emit, "events", usage->events);
    sxt_emit_number(emit, "start_us", usage->start);
    sxt_emit_number(emit, "end_us", usage->end);
    sxt_emit_number(emit, "duration_us", usage->end - usage->start);
    sxt_emit_bool(emit, "estimated", usage->is_sampled);
    if (usage->is_sampled) {
        sxt_emit_number(emit, "sample_period", sxt_mlyze_header(usage->trace)->period);
        sxt_emit_number(emit, "samples", usage->samples);
    }
    sxt_emit_record_end(emit);
}

static void print_amount(struct sxt_emit *emit, const char *name, uint64_t bytes, uint64_t count)
{
    sxt_emit_text(emit, "%-10s %12s   %s bytes in %s block%s", name, cli_bytes((double)bytes).text,
                  thousands(bytes).text, thousands(count).text, count == 1 ? "" : "s");
}

static void print_summary_text(struct sxt_emit *emit, const struct sxt_heap_usage *usage)
{
    const struct sxt_heap_sums *total = &usage->total;
    double seconds = (double)(usage->end - usage->start) / 1e6;
    print_amount(emit, "peak", total->peak_bytes, total->peak_count);
    sxt_emit_text(emit, ", after %s\n", cli_duration(usage->peak_time - usage->start).text);
    print_amount(emit, "allocated", total->bytes, total->count);
    if (seconds > 0)
        sxt_emit_text(emit, ", %s a second", cli_thousands((double)total->count / seconds).text);
    sxt_emit_text(emit, "\n");
    print_amount(emit, "leaked", total->leaked_bytes, total->leaked_count);
    sxt_emit_text(emit, "\n");
    print_amount(emit, "temporary", total->temporary_bytes, total->temporary_count);
    sxt_emit_text(emit, "\n");
    sxt_emit_text(emit, "%-10s %12s   %s events: %s frees", "time", cli_duration(usage->end - usage->start).text,
                  thousands(usage->events).text, thousands(usage->frees).text);
    if (usage->unmatched_frees > 0)
        sxt_emit_text(emit, ", %s of them of blocks that nobody allocated", thousands(usage->unmatched_frees).text);
    if (usage->implicit_frees > 0)
        sxt_emit_text(emit, "; %s addresses allocated twice", thousands(usage->implicit_frees).text);
    sxt_emit_text(emit, "\n");
    if (usage->gc_events > 0)
        sxt_emit_text(emit, "%-10s %12s   %s objects, %s bytes\n", "collected", thousands(usage->gc_events).text,
                      thousands(usage->gc_objects).text, thousands(usage->gc_bytes).text);
    if (usage->is_sampled)
        sxt_emit_text(emit, "estimated  from %s samples, one for every %s\n", thousands(usage->samples).text,
                      cli_bytes((double)sxt_mlyze_header(usage->trace)->period).text);
}

void cli_heap_print_summary(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage)
{
    if (sxt_emit_is_json(emit))
        emit_summary(emit, trace, usage);
    else
        print_summary_text(emit, usage);
}

/* --- tables --- */

struct printer {
    struct sxt_emit *emit;
    const struct sxt_heap_usage *usage;
    const struct cli_heap_table *table;
    double whole;
    bool is_growth;
};

static void get_size_label(uint32_t power, char out[64])
{
    if (power <= 1)
        snprintf(out, 64, "%u", power);
    else
        snprintf(out, 64, "%" PRIu64 "-%" PRIu64, (uint64_t)1 << (power - 1), ((uint64_t)2 << (power - 1)) - 1);
}

static void emit_row(const struct printer *printer, const struct sxt_heap_row *row)
{
    struct sxt_emit *emit = printer->emit;
    const struct sxt_heap_usage *usage = printer->usage;
    char label[64];
    sxt_emit_record(emit);
    switch (printer->table->key) {
    case SXT_HEAP_STACK:
        sxt_emit_number(emit, "stack", usage->sites[row->number].stack);
        break;
    case SXT_HEAP_FUNCTION:
    case SXT_HEAP_FILE:
        sxt_emit_string(emit, printer->table->key == SXT_HEAP_FILE ? "file" : "function", row->label);
        sxt_emit_number(emit, "inclusive", row->inclusive);
        break;
    case SXT_HEAP_THREAD:
        sxt_emit_number(emit, "thread", row->number);
        sxt_emit_string(emit, "name", sxt_heap_thread_name(usage, row->number));
        break;
    case SXT_HEAP_SIZE:
        get_size_label(row->number, label);
        sxt_emit_cstring(emit, "size", label);
        break;
    }
    if (printer->table->only_live)
        emit_pair(emit, "live_bytes", row->sums.live_bytes, "live_allocations", row->sums.live_count);
    else
        emit_sums(emit, usage, &row->sums);
    if (printer->table->key == SXT_HEAP_STACK)
        cli_heap_emit_frames(emit, usage, usage->sites[row->number].stack);
    sxt_emit_record_end(emit);
}

static void print_label(const struct printer *printer, const struct sxt_heap_row *row, unsigned indent)
{
    struct sxt_emit *emit = printer->emit;
    char label[64];
    switch (printer->table->key) {
    case SXT_HEAP_STACK:
        cli_heap_print_frames(emit, printer->usage, printer->usage->sites[row->number].stack, indent, FRAMES_SHOWN);
        return;
    case SXT_HEAP_FUNCTION:
    case SXT_HEAP_FILE:
        sxt_emit_name(emit, row->label);
        break;
    case SXT_HEAP_THREAD:
        sxt_emit_text(emit, "%u  ", row->number);
        sxt_emit_name(emit, sxt_heap_thread_name(printer->usage, row->number));
        break;
    case SXT_HEAP_SIZE:
        get_size_label(row->number, label);
        sxt_emit_text(emit, "%s", label);
        break;
    }
    sxt_emit_text(emit, "\n");
}

static bool has_inclusive(const struct printer *printer)
{
    return printer->table->key == SXT_HEAP_FUNCTION || printer->table->key == SXT_HEAP_FILE;
}

/* A row of growth may be one of shrinking. */
static struct cli_number bytes_of(const struct printer *printer, const struct sxt_heap_sums *sums)
{
    if (printer->is_growth)
        return cli_change((double)sums->live_bytes - (double)sums->before_bytes);
    return thousands(sxt_heap_bytes_of(sums, printer->table->cost));
}

static struct cli_number count_of(const struct printer *printer, const struct sxt_heap_sums *sums)
{
    if (printer->is_growth)
        return cli_change((double)sums->live_count - (double)sums->before_count);
    return thousands(sxt_heap_count_of(sums, printer->table->cost));
}

static void print_row(const struct printer *printer, const struct sxt_heap_row *row)
{
    enum sxt_heap_cost cost = printer->table->cost;
    sxt_emit_text(printer->emit, "%15s  %11s  %8s  ", bytes_of(printer, &row->sums).text,
                  count_of(printer, &row->sums).text,
                  cli_percent((double)sxt_heap_cost_of(&row->sums, cost), printer->whole).text);
    if (has_inclusive(printer))
        sxt_emit_text(printer->emit, "%15s  ", thousands(row->inclusive).text);
    print_label(printer, row, 40);
}

static const char *key_name(enum sxt_heap_key key)
{
    static const char *const names[] = {"stack", "function", "file", "thread", "size"};
    return names[key];
}

/* The function, file and line that allocated. */
static void print_csv_site(struct sxt_emit *emit, const struct sxt_heap_usage *usage, uint32_t id)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, id);
    char room[24];
    if (stack == NULL || stack->count == 0) {
        sxt_emit_text(emit, ",,,");
        return;
    }
    sxt_emit_text(emit, ",");
    cli_csv_text(emit, sxt_mlyze_function(metadata, stack->frames[0].function, room), ',');
    cli_csv_text(emit, sxt_mlyze_file(metadata, stack->frames[0].file, room), ',');
    sxt_emit_text(emit, "%u", stack->frames[0].line);
}

static void print_csv_row(const struct printer *printer, const struct sxt_heap_row *row)
{
    struct sxt_emit *emit = printer->emit;
    bool is_stack = printer->table->key == SXT_HEAP_STACK;
    uint32_t number = is_stack ? printer->usage->sites[row->number].stack : row->number;
    char label[64];
    snprintf(label, sizeof label, "%u", number);
    if (printer->table->key == SXT_HEAP_SIZE)
        get_size_label(row->number, label);
    cli_csv_text(emit, row->label.data != NULL ? row->label : (sxt_string){label, strlen(label)}, ',');
    const struct sxt_heap_sums *sums = &row->sums;
    uint64_t values[] = {sums->bytes,       sums->count,           sums->live_bytes,     sums->live_count,
                         sums->peak_bytes,  sums->peak_count,      sums->leaked_bytes,   sums->leaked_count,
                         sums->freed_count, sums->temporary_bytes, sums->temporary_count};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sxt_emit_text(emit, "%s%" PRIu64, i == 0 ? "" : ",", values[i]);
    if (is_stack)
        print_csv_site(emit, printer->usage, number);
    sxt_emit_text(emit, "\n");
}

static void print_rows(const struct printer *printer, const struct sxt_heap_rows *rows)
{
    struct sxt_emit *emit = printer->emit;
    if (printer->table->form == CLI_CSV)
        sxt_emit_text(emit,
                      "%s,allocated_bytes,allocations,live_bytes,live_allocations,peak_bytes,peak_allocations,"
                      "leaked_bytes,leaked_allocations,freed_allocations,temporary_bytes,temporary_allocations%s\n",
                      key_name(printer->table->key),
                      printer->table->key == SXT_HEAP_STACK ? ",function,file,line" : "");
    if (printer->table->form == CLI_TABLE) {
        sxt_emit_text(emit, "%15s  %11s  %8s  ", "bytes", "blocks", "%");
        if (has_inclusive(printer))
            sxt_emit_text(emit, "%15s  ", "with callees");
        sxt_emit_text(emit, "%s\n", key_name(printer->table->key));
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (printer->table->form == CLI_JSON)
            emit_row(printer, &rows->rows[i]);
        else if (printer->table->form == CLI_CSV)
            print_csv_row(printer, &rows->rows[i]);
        else
            print_row(printer, &rows->rows[i]);
    }
    if (printer->table->form == CLI_TABLE && rows->count < rows->all)
        sxt_emit_text(emit, "%s of %s rows\n", thousands(rows->count).text, thousands(rows->all).text);
}

int cli_heap_print_table(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage,
                         const struct cli_heap_table *table)
{
    struct printer printer = {.emit = emit, .usage = usage, .table = table};
    struct sxt_heap_rows rows;
    sxt_error error;
    printer.is_growth = table->cost == SXT_HEAP_GROWTH;
    printer.whole = printer.is_growth ? 0 : (double)sxt_heap_cost_of(&usage->total, table->cost);
    if (sxt_heap_rows(usage, table->key, table->cost, table->limit, &rows, &error) != SXT_OK)
        return cli_fail(trace->path, &error);
    print_rows(&printer, &rows);
    sxt_heap_rows_free(&rows);
    return CLI_DONE;
}

int cli_heap_print_stack(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage,
                         uint64_t stack)
{
    const struct sxt_heap_site *site = NULL;
    for (size_t i = 0; i < usage->site_count && site == NULL; i++)
        if (usage->sites[i].stack == stack)
            site = &usage->sites[i];
    if (site == NULL)
        return cli_fail_text(trace->path, "nothing was allocated by a stack %" PRIu64, stack);
    const struct sxt_heap_sums *sums = &site->sums;
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_emit_number(emit, "stack", stack);
        emit_sums(emit, usage, sums);
        cli_heap_emit_frames(emit, usage, (uint32_t)stack);
        sxt_emit_record_end(emit);
        return CLI_DONE;
    }
    for (enum sxt_heap_cost cost = SXT_HEAP_COUNT; cost <= SXT_HEAP_TEMPORARY; cost++) {
        print_amount(emit, cost == SXT_HEAP_COUNT ? "allocated" : cli_heap_cost_name(cost),
                     sxt_heap_bytes_of(sums, cost), sxt_heap_count_of(sums, cost));
        sxt_emit_text(emit, "\n");
    }
    if (sums->freed_count > 0)
        sxt_emit_text(emit, "%-10s %12s   on average, at most %s\n", "lifetime",
                      cli_duration(sums->lifetime_sum / sums->freed_count).text, cli_duration(sums->lifetime_max).text);
    sxt_emit_text(emit, "\n  ");
    cli_heap_print_frames(emit, usage, (uint32_t)stack, 0, UINT32_MAX);
    return CLI_DONE;
}
