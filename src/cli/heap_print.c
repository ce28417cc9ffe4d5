/* heap_print.c: sums, stacks and tables of a heap trace, as text, JSON Lines or CSV. */
#include <inttypes.h>
#include <string.h>

#include "cli/heap.h"

#define FRAMES_SHOWN 8

const char *cli_heap_cost_name(sxt_heap_cost cost)
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

sxt_string cli_heap_name(sxt_string name, uint32_t id, const char *prefix, char room[24])
{
    if (name.data != NULL)
        return name;
    if (id == SXT_TRACE_NO_ID)
        return (sxt_string){"?", 1};
    int size = snprintf(room, 24, "%s_%u", prefix, id);
    return (sxt_string){room, (size_t)size};
}

static sxt_string function_of(const sxt_trace_frame *frame, char room[24])
{
    return cli_heap_name(frame->function, frame->function_id, "func", room);
}

static sxt_string file_of(const sxt_trace_frame *frame, char room[24])
{
    return cli_heap_name(frame->file, frame->file_id, "file", room);
}

void cli_heap_emit_frames(struct sxt_emit *emit, const sxt_trace *trace, uint32_t id)
{
    sxt_trace_frame frame;
    sxt_emit_array(emit, "frames");
    for (uint32_t i = 0; sxt_trace_get_frame(trace, id, i, &frame); i++) {
        char room[24];
        sxt_emit_object(emit, NULL);
        sxt_emit_string(emit, "file", file_of(&frame, room));
        sxt_emit_number(emit, "line", frame.line);
        sxt_emit_string(emit, "function", function_of(&frame, room));
        sxt_emit_object_end(emit);
    }
    sxt_emit_array_end(emit);
}

static void print_frame(struct sxt_emit *emit, const sxt_trace_frame *frame)
{
    char room[24];
    sxt_string function = function_of(frame, room);
    sxt_emit_name(emit, function.size > 0 ? function : (sxt_string){"?", 1});
    sxt_string file = file_of(frame, room);
    if (file.size > 0) {
        sxt_emit_text(emit, "  ");
        sxt_emit_name(emit, file);
        if (frame->line > 0)
            sxt_emit_text(emit, ":%u", frame->line);
    }
    sxt_emit_text(emit, "\n");
}

void cli_heap_print_frames(struct sxt_emit *emit, const sxt_trace *trace, uint32_t id, unsigned indent, uint32_t most)
{
    sxt_trace_frame frame;
    uint32_t count;
    (void)sxt_trace_stack(trace, id, &count);
    uint32_t shown = count < most ? count : most;
    if (count == 0)
        sxt_emit_text(emit, "stack_%u\n", id);
    for (uint32_t i = 0; i < shown && sxt_trace_get_frame(trace, id, i, &frame); i++) {
        if (i > 0)
            sxt_emit_text(emit, "%*s", (int)indent + 2, "");
        print_frame(emit, &frame);
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

static void emit_sums(struct sxt_emit *emit, const struct cli_heap *heap, const sxt_heap_sums *sums)
{
    emit_pair(emit, "leaked_bytes", sums->leaked_bytes, "leaked_allocations", sums->leaked_count);
    emit_pair(emit, "allocated_bytes", sums->bytes, "allocations", sums->count);
    emit_pair(emit, "peak_bytes", sums->peak_bytes, "peak_allocations", sums->peak_count);
    emit_pair(emit, "live_bytes", sums->live_bytes, "live_allocations", sums->live_count);
    emit_pair(emit, "freed_bytes", sums->freed_bytes, "freed_allocations", sums->freed_count);
    emit_pair(emit, "temporary_bytes", sums->temporary_bytes, "temporary_allocations", sums->temporary_count);
    if (heap->options.churn > 0)
        emit_pair(emit, "churned_bytes", sums->churned_bytes, "churned_allocations", sums->churned_count);
    if (heap->options.from.kind != SXT_HEAP_MOMENT_NONE)
        emit_pair(emit, "before_bytes", sums->before_bytes, "before_allocations", sums->before_count);
    cli_emit_real(emit, "lifetime_average_us",
                  sums->freed_count > 0 ? (double)sums->lifetime_sum / (double)sums->freed_count : 0);
    sxt_emit_number(emit, "lifetime_max_us", sums->lifetime_max);
}

/* --- summary --- */

static void emit_summary(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_sums *total = sxt_heap_total(heap->usage);
    const sxt_heap_summary *summary = &heap->summary;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "file", heap->path);
    sxt_emit_number(emit, "peak_bytes", total->peak_bytes);
    sxt_emit_number(emit, "peak_allocations", total->peak_count);
    sxt_emit_number(emit, "peak_time_us", summary->peak_time);
    emit_pair(emit, "allocated_bytes", total->bytes, "allocations", total->count);
    sxt_emit_number(emit, "frees", summary->frees);
    emit_pair(emit, "leaked_bytes", total->leaked_bytes, "leaked_allocations", total->leaked_count);
    sxt_emit_number(emit, "unmatched_frees", summary->unmatched_frees);
    sxt_emit_number(emit, "implicit_frees", summary->implicit_frees);
    emit_pair(emit, "live_bytes", total->live_bytes, "live_allocations", total->live_count);
    emit_pair(emit, "temporary_bytes", total->temporary_bytes, "temporary_allocations", total->temporary_count);
    sxt_emit_number(emit, "stacks", summary->stacks);
    sxt_emit_number(emit, "markers", summary->markers);
    sxt_emit_number(emit, "gc_events", summary->gc_events);
    emit_pair(emit, "gc_bytes", summary->gc_bytes, "gc_objects", summary->gc_objects);
    sxt_emit_number(emit, "events", summary->events);
    sxt_emit_number(emit, "start_us", summary->start);
    sxt_emit_number(emit, "end_us", summary->end);
    sxt_emit_number(emit, "duration_us", summary->end - summary->start);
    sxt_emit_number(emit, "damaged_blocks", summary->damaged_blocks);
    sxt_emit_number(emit, "lost_events", summary->lost_events);
    sxt_emit_bool(emit, "estimated", summary->is_sampled);
    if (summary->is_sampled) {
        sxt_emit_number(emit, "sample_period", heap->info.sample_period);
        sxt_emit_number(emit, "samples", summary->samples);
    }
    sxt_emit_record_end(emit);
}

static void print_amount(struct sxt_emit *emit, const char *name, uint64_t bytes, uint64_t count)
{
    sxt_emit_text(emit, "%-10s %12s   %s bytes in %s block%s", name, cli_bytes((double)bytes).text,
                  thousands(bytes).text, thousands(count).text, count == 1 ? "" : "s");
}

static void print_summary_text(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_sums *total = sxt_heap_total(heap->usage);
    const sxt_heap_summary *summary = &heap->summary;
    double seconds = (double)(summary->end - summary->start) / 1e6;
    print_amount(emit, "peak", total->peak_bytes, total->peak_count);
    sxt_emit_text(emit, ", after %s\n", cli_duration(summary->peak_time - summary->start).text);
    print_amount(emit, "allocated", total->bytes, total->count);
    if (seconds > 0)
        sxt_emit_text(emit, ", %s a second", cli_thousands((double)total->count / seconds).text);
    sxt_emit_text(emit, "\n");
    print_amount(emit, "leaked", total->leaked_bytes, total->leaked_count);
    sxt_emit_text(emit, "\n");
    print_amount(emit, "temporary", total->temporary_bytes, total->temporary_count);
    sxt_emit_text(emit, "\n");
    sxt_emit_text(emit, "%-10s %12s   %s events: %s frees", "time", cli_duration(summary->end - summary->start).text,
                  thousands(summary->events).text, thousands(summary->frees).text);
    if (summary->unmatched_frees > 0)
        sxt_emit_text(emit, ", %s of them of blocks that were not allocated here",
                      thousands(summary->unmatched_frees).text);
    if (summary->implicit_frees > 0)
        sxt_emit_text(emit, "; %s addresses allocated twice", thousands(summary->implicit_frees).text);
    sxt_emit_text(emit, "\n");
    if (summary->gc_events > 0)
        sxt_emit_text(emit, "%-10s %12s   %s objects, %s bytes\n", "collected", thousands(summary->gc_events).text,
                      thousands(summary->gc_objects).text, thousands(summary->gc_bytes).text);
    if (summary->is_sampled)
        sxt_emit_text(emit, "estimated  from %s samples, one for every %s\n", thousands(summary->samples).text,
                      cli_bytes((double)heap->info.sample_period).text);
}

void cli_heap_print_summary(struct sxt_emit *emit, const struct cli_heap *heap)
{
    if (sxt_emit_is_json(emit))
        emit_summary(emit, heap);
    else
        print_summary_text(emit, heap);
}

/* --- tables --- */

struct printer {
    struct sxt_emit *emit;
    const struct cli_heap *heap;
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

static void emit_row(const struct printer *printer, const sxt_heap_row *row)
{
    struct sxt_emit *emit = printer->emit;
    char label[64];
    sxt_emit_record(emit);
    switch (printer->table->key) {
    case SXT_HEAP_BY_STACK:
        sxt_emit_number(emit, "stack", row->id);
        break;
    case SXT_HEAP_BY_FUNCTION:
    case SXT_HEAP_BY_FILE:
        sxt_emit_string(emit, printer->table->key == SXT_HEAP_BY_FILE ? "file" : "function", row->label);
        sxt_emit_number(emit, "inclusive", row->inclusive);
        break;
    case SXT_HEAP_BY_THREAD:
        sxt_emit_number(emit, "thread", row->id);
        sxt_emit_string(emit, "name", sxt_trace_thread_name(printer->heap->trace, row->id));
        break;
    case SXT_HEAP_BY_SIZE:
        get_size_label(row->id, label);
        sxt_emit_cstring(emit, "size", label);
        break;
    }
    if (printer->table->only_live)
        emit_pair(emit, "live_bytes", row->sums.live_bytes, "live_allocations", row->sums.live_count);
    else
        emit_sums(emit, printer->heap, &row->sums);
    if (printer->table->key == SXT_HEAP_BY_STACK)
        cli_heap_emit_frames(emit, printer->heap->trace, row->id);
    sxt_emit_record_end(emit);
}

static void print_label(const struct printer *printer, const sxt_heap_row *row, unsigned indent)
{
    struct sxt_emit *emit = printer->emit;
    char label[64];
    switch (printer->table->key) {
    case SXT_HEAP_BY_STACK:
        cli_heap_print_frames(emit, printer->heap->trace, row->id, indent, FRAMES_SHOWN);
        return;
    case SXT_HEAP_BY_FUNCTION:
    case SXT_HEAP_BY_FILE:
        sxt_emit_name(emit, row->label);
        break;
    case SXT_HEAP_BY_THREAD:
        sxt_emit_text(emit, "%u  ", row->id);
        sxt_emit_name(emit, sxt_trace_thread_name(printer->heap->trace, row->id));
        break;
    case SXT_HEAP_BY_SIZE:
        get_size_label(row->id, label);
        sxt_emit_text(emit, "%s", label);
        break;
    }
    sxt_emit_text(emit, "\n");
}

static bool has_inclusive(const struct printer *printer)
{
    return printer->table->key == SXT_HEAP_BY_FUNCTION || printer->table->key == SXT_HEAP_BY_FILE;
}

/* Growth may be negative. */
static struct cli_number bytes_of(const struct printer *printer, const sxt_heap_sums *sums)
{
    if (printer->is_growth)
        return cli_change((double)sums->live_bytes - (double)sums->before_bytes);
    return thousands(sxt_heap_bytes_of(sums, printer->table->cost));
}

static struct cli_number count_of(const struct printer *printer, const sxt_heap_sums *sums)
{
    if (printer->is_growth)
        return cli_change((double)sums->live_count - (double)sums->before_count);
    return thousands(sxt_heap_count_of(sums, printer->table->cost));
}

static void print_row(const struct printer *printer, const sxt_heap_row *row)
{
    sxt_heap_cost cost = printer->table->cost;
    sxt_emit_text(printer->emit, "%15s  %11s  %8s  ", bytes_of(printer, &row->sums).text,
                  count_of(printer, &row->sums).text,
                  cli_percent((double)sxt_heap_cost_of(&row->sums, cost), printer->whole).text);
    if (has_inclusive(printer))
        sxt_emit_text(printer->emit, "%15s  ", thousands(row->inclusive).text);
    print_label(printer, row, 40);
}

static const char *key_name(sxt_heap_key key)
{
    static const char *const names[] = {"stack", "function", "file", "thread", "size"};
    return names[key];
}

/* The function, file and line that allocated. */
static void print_csv_site(struct sxt_emit *emit, const sxt_trace *trace, uint32_t stack)
{
    sxt_trace_frame frame;
    char room[24];
    if (!sxt_trace_get_frame(trace, stack, 0, &frame)) {
        sxt_emit_text(emit, ",,,");
        return;
    }
    sxt_emit_text(emit, ",");
    cli_csv_text(emit, function_of(&frame, room), ',');
    cli_csv_text(emit, file_of(&frame, room), ',');
    sxt_emit_text(emit, "%u", frame.line);
}

static void print_csv_row(const struct printer *printer, const sxt_heap_row *row)
{
    struct sxt_emit *emit = printer->emit;
    bool is_stack = printer->table->key == SXT_HEAP_BY_STACK;
    char label[64];
    snprintf(label, sizeof label, "%u", row->id);
    if (printer->table->key == SXT_HEAP_BY_SIZE)
        get_size_label(row->id, label);
    cli_csv_text(emit, row->label.data != NULL ? row->label : (sxt_string){label, strlen(label)}, ',');
    const sxt_heap_sums *sums = &row->sums;
    uint64_t values[] = {sums->bytes,       sums->count,           sums->live_bytes,     sums->live_count,
                         sums->peak_bytes,  sums->peak_count,      sums->leaked_bytes,   sums->leaked_count,
                         sums->freed_count, sums->temporary_bytes, sums->temporary_count};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sxt_emit_text(emit, "%s%" PRIu64, i == 0 ? "" : ",", values[i]);
    if (is_stack)
        print_csv_site(emit, printer->heap->trace, row->id);
    sxt_emit_text(emit, "\n");
}

static void print_rows(const struct printer *printer, const sxt_heap_table *rows)
{
    struct sxt_emit *emit = printer->emit;
    if (printer->table->form == CLI_CSV)
        sxt_emit_text(emit,
                      "%s,allocated_bytes,allocations,live_bytes,live_allocations,peak_bytes,peak_allocations,"
                      "leaked_bytes,leaked_allocations,freed_allocations,temporary_bytes,temporary_allocations%s\n",
                      key_name(printer->table->key),
                      printer->table->key == SXT_HEAP_BY_STACK ? ",function,file,line" : "");
    if (printer->table->form == CLI_TABLE) {
        sxt_emit_text(emit, "%15s  %11s  %8s  ", "bytes", "blocks", "%");
        if (has_inclusive(printer))
            sxt_emit_text(emit, "%15s  ", "with callees");
        sxt_emit_text(emit, "%s\n", key_name(printer->table->key));
    }
    const sxt_heap_row *row;
    for (size_t i = 0; (row = sxt_heap_table_row(rows, i)) != NULL; i++) {
        if (printer->table->form == CLI_JSON)
            emit_row(printer, row);
        else if (printer->table->form == CLI_CSV)
            print_csv_row(printer, row);
        else
            print_row(printer, row);
    }
    size_t shown = sxt_heap_table_count(rows), all = sxt_heap_table_unlimited_count(rows);
    if (printer->table->form == CLI_TABLE && shown < all)
        sxt_emit_text(emit, "%s of %s rows\n", thousands(shown).text, thousands(all).text);
}

int cli_heap_print_table(struct sxt_emit *emit, const struct cli_heap *heap, const struct cli_heap_table *table)
{
    struct printer printer = {.emit = emit, .heap = heap, .table = table};
    sxt_heap_table *rows;
    sxt_error error;
    printer.is_growth = table->cost == SXT_HEAP_COST_GROWTH;
    printer.whole = printer.is_growth ? 0 : (double)sxt_heap_cost_of(sxt_heap_total(heap->usage), table->cost);
    if (sxt_heap_table_make(heap->usage, table->key, table->cost, table->limit, &rows, &error) != SXT_OK)
        return cli_fail(heap->path, &error);
    print_rows(&printer, rows);
    sxt_heap_table_free(&rows);
    return CLI_DONE;
}

int cli_heap_print_stack(struct sxt_emit *emit, const struct cli_heap *heap, uint64_t stack)
{
    const sxt_heap_site *site = stack <= UINT32_MAX ? sxt_heap_find_site(heap->usage, (uint32_t)stack) : NULL;
    if (site == NULL)
        return cli_fail_text(heap->path, "no allocations by stack %" PRIu64, stack);
    const sxt_heap_sums *sums = &site->sums;
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_emit_number(emit, "stack", site->stack);
        emit_sums(emit, heap, sums);
        cli_heap_emit_frames(emit, heap->trace, site->stack);
        sxt_emit_record_end(emit);
        return CLI_DONE;
    }
    for (sxt_heap_cost cost = SXT_HEAP_COST_COUNT; cost <= SXT_HEAP_COST_TEMPORARY; cost++) {
        print_amount(emit, cost == SXT_HEAP_COST_COUNT ? "allocated" : cli_heap_cost_name(cost),
                     sxt_heap_bytes_of(sums, cost), sxt_heap_count_of(sums, cost));
        sxt_emit_text(emit, "\n");
    }
    if (sums->freed_count > 0)
        sxt_emit_text(emit, "%-10s %12s   on average, at most %s\n", "lifetime",
                      cli_duration(sums->lifetime_sum / sums->freed_count).text, cli_duration(sums->lifetime_max).text);
    sxt_emit_text(emit, "\n  ");
    cli_heap_print_frames(emit, heap->trace, site->stack, 0, UINT32_MAX);
    return CLI_DONE;
}
