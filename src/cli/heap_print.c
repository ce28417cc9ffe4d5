/* heap_print.c: sums, stacks and tables of a heap trace, as text, JSON Lines or CSV. */
#include <inttypes.h>
#include <string.h>

#include "cli/heap.h"
#include "cli/terminal.h"

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

/* --- sums --- */

static void emit_pair(struct sxt_emit *emit, const char *bytes_key, uint64_t bytes, const char *count_key,
                      uint64_t count)
{
    sxt_emit_number(emit, bytes_key, bytes);
    sxt_emit_number(emit, count_key, count);
}

void cli_heap_emit_growth(struct sxt_emit *emit, const sxt_heap_sums *sums)
{
    emit_pair(emit, "before_bytes", sums->before_bytes, "before_allocations", sums->before_count);
    cli_emit_signed(emit, "growth_bytes", (int64_t)(sums->live_bytes - sums->before_bytes));
    cli_emit_signed(emit, "growth_allocations", (int64_t)(sums->live_count - sums->before_count));
}

void cli_heap_emit_temporary(struct sxt_emit *emit, bool is_sampled, const sxt_heap_sums *sums)
{
    if (!is_sampled) {
        emit_pair(emit, "temporary_bytes", sums->temporary_bytes, "temporary_allocations", sums->temporary_count);
        return;
    }
    sxt_emit_null(emit, "temporary_bytes");
    sxt_emit_null(emit, "temporary_allocations");
}

static void emit_sums(struct sxt_emit *emit, const struct cli_heap *heap, const sxt_heap_sums *sums)
{
    if (heap->summary.is_sampled)
        sxt_emit_bool(emit, "estimated", true);
    emit_pair(emit, "leaked_bytes", sums->leaked_bytes, "leaked_allocations", sums->leaked_count);
    emit_pair(emit, "allocated_bytes", sums->bytes, "allocations", sums->count);
    emit_pair(emit, "peak_bytes", sums->peak_bytes, "peak_allocations", sums->peak_count);
    emit_pair(emit, "live_bytes", sums->live_bytes, "live_allocations", sums->live_count);
    emit_pair(emit, "freed_bytes", sums->freed_bytes, "freed_allocations", sums->freed_count);
    cli_heap_emit_temporary(emit, heap->summary.is_sampled, sums);
    if (heap->options.churn > 0)
        emit_pair(emit, "churned_bytes", sums->churned_bytes, "churned_allocations", sums->churned_count);
    if (heap->options.from.kind != SXT_HEAP_MOMENT_NONE)
        cli_heap_emit_growth(emit, sums);
    cli_emit_real(emit, "lifetime_average_us",
                  sums->freed_count > 0 ? (double)sums->lifetime_sum / (double)sums->freed_count : 0);
    sxt_emit_number(emit, "lifetime_max_us", sums->lifetime_max);
}

/* --- tables --- */

struct printer {
    struct sxt_emit *emit;
    const struct cli_heap *heap;
    const struct cli_heap_table *table;
    double whole;
    bool is_growth;
    int of_bytes, of_count, of_inclusive, of_id; /* widths of columns */
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
        cli_heap_emit_cut_frames(emit, printer->heap->trace, row->id, printer->heap->options.depth);
    sxt_emit_record_end(emit);
}

static void print_label(const struct printer *printer, const sxt_heap_row *row, unsigned indent)
{
    const struct cli_heap_look *look = &printer->heap->look;
    struct sxt_emit *emit = printer->emit;
    size_t room = look->width > indent ? look->width - indent : 0;
    char label[64];
    switch (printer->table->key) {
    case SXT_HEAP_BY_STACK:
        sxt_emit_text(emit, "%*u  ", printer->of_id, row->id);
        indent += (unsigned)printer->of_id + 2;
        cli_heap_print_stack_of(emit, printer->heap->trace, row->id, look, indent, row->stacks);
        return;
    case SXT_HEAP_BY_FUNCTION:
        cli_heap_print_function(emit, row->label, look, room);
        break;
    case SXT_HEAP_BY_FILE:
        cli_print_cut_path(emit, row->label, room);
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
    int indent = printer->of_bytes + 2 + printer->of_count + 2 + 7 + 2;
    sxt_emit_text(printer->emit, "%*s  %*s  %7s  ", printer->of_bytes, bytes_of(printer, &row->sums).text,
                  printer->of_count, count_of(printer, &row->sums).text,
                  cli_percent((double)sxt_heap_cost_of(&row->sums, cost), printer->whole).text);
    if (has_inclusive(printer)) {
        sxt_emit_text(printer->emit, "%*s  ", printer->of_inclusive, thousands(row->inclusive).text);
        indent += printer->of_inclusive + 2;
    }
    print_label(printer, row, (unsigned)indent);
}

/* Columns are as wide as their numbers, which leaves the most room for names. */
static void measure_columns(struct printer *printer, const sxt_heap_table *rows)
{
    const sxt_heap_row *row;
    printer->of_bytes = 9;
    printer->of_count = 6;
    printer->of_inclusive = 12;
    printer->of_id = 2;
    for (size_t i = 0; (row = sxt_heap_table_row(rows, i)) != NULL; i++) {
        struct cli_number numbers[] = {
            bytes_of(printer, &row->sums), count_of(printer, &row->sums), thousands(row->inclusive), {""}};
        int *widths[] = {&printer->of_bytes, &printer->of_count, &printer->of_inclusive, &printer->of_id};
        snprintf(numbers[3].text, sizeof numbers[3].text, "%u", row->id);
        for (size_t k = 0; k < 4; k++)
            if ((int)strlen(numbers[k].text) > *widths[k])
                *widths[k] = (int)strlen(numbers[k].text);
    }
}

static const char *key_name(sxt_heap_key key)
{
    static const char *const names[] = {"stack", "function", "file", "thread", "size"};
    return names[key];
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
    size_t count = sizeof values / sizeof *values - (printer->heap->summary.is_sampled ? 2 : 0);
    for (size_t i = 0; i < count; i++)
        sxt_emit_text(emit, "%s%" PRIu64, i == 0 ? "" : ",", values[i]);
    if (printer->heap->summary.is_sampled)
        sxt_emit_text(emit, ",,"); /* temporary allocations are not known */
    if (is_stack)
        cli_heap_print_csv_site(emit, printer->heap->trace, row->id);
    sxt_emit_text(emit, "\n");
}

static void print_heading(const struct printer *printer)
{
    struct sxt_emit *emit = printer->emit;
    sxt_heap_key key = printer->table->key;
    if (printer->table->form == CLI_CSV)
        sxt_emit_text(emit,
                      "%s,allocated_bytes,allocations,live_bytes,live_allocations,peak_bytes,peak_allocations,"
                      "leaked_bytes,leaked_allocations,freed_allocations,temporary_bytes,temporary_allocations%s\n",
                      key_name(key), key == SXT_HEAP_BY_STACK ? ",function,file,line" : "");
    if (printer->table->form != CLI_TABLE)
        return;
    sxt_emit_text(emit, "%*s  %*s  %7s  ", printer->of_bytes, "bytes", printer->of_count, "blocks", "%");
    if (has_inclusive(printer))
        sxt_emit_text(emit, "%*s  ", printer->of_inclusive, "with callees");
    if (key == SXT_HEAP_BY_STACK)
        sxt_emit_text(emit, "%*s  ", printer->of_id, "id");
    sxt_emit_text(emit, "%s\n", key_name(key));
}

static void print_rows(struct printer *printer, const sxt_heap_table *rows)
{
    const sxt_heap_row *row;
    measure_columns(printer, rows);
    print_heading(printer);
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
        sxt_emit_text(printer->emit, "%s of %s row%s\n", thousands(shown).text, thousands(all).text,
                      all == 1 ? "" : "s");
}

/* Sums with callees do not have what the callers of cut stacks would get. Says how much that is. */
static int print_cut(struct sxt_emit *emit, const struct cli_heap *heap, const struct cli_heap_table *table)
{
    sxt_heap_table *rows;
    const sxt_heap_row *row;
    sxt_error error;
    if (sxt_heap_table_make(heap->usage, SXT_HEAP_BY_FUNCTION, table->cost, UINT64_MAX, &rows, &error) != SXT_OK)
        return cli_fail(heap->path, &error);
    sxt_heap_cost cost = table->cost;
    bool is_count = cost == SXT_HEAP_COST_COUNT || cost == SXT_HEAP_COST_TEMPORARY || cost == SXT_HEAP_COST_CHURN;
    for (size_t i = 0; (row = sxt_heap_table_row(rows, i)) != NULL; i++)
        if (row->label.size == strlen(CLI_HEAP_CUT) && memcmp(row->label.data, CLI_HEAP_CUT, row->label.size) == 0 &&
            row->inclusive > 0)
            sxt_emit_text(emit, "%s %s%s in stacks that were cut: their outer callers are not known\n",
                          thousands(row->inclusive).text, is_count ? "block" : "byte",
                          row->inclusive == 1 ? " is" : "s are");
    sxt_heap_table_free(&rows);
    return CLI_DONE;
}

int cli_heap_print_table(struct sxt_emit *emit, const struct cli_heap *heap, const struct cli_heap_table *table)
{
    const sxt_heap_view everything = {0}, *view = table->form == CLI_TABLE ? &heap->look.view : &everything;
    struct printer printer = {.emit = emit, .heap = heap, .table = table};
    sxt_heap_table *rows;
    sxt_error error;
    printer.is_growth = table->cost == SXT_HEAP_COST_GROWTH;
    printer.whole = printer.is_growth ? 0 : (double)sxt_heap_cost_of(sxt_heap_total(heap->usage), table->cost);
    if (sxt_heap_table_make_view(heap->usage, table->key, table->cost, table->limit, view, &rows, &error) != SXT_OK)
        return cli_fail(heap->path, &error);
    print_rows(&printer, rows);
    sxt_heap_table_free(&rows);
    bool is_inclusive = has_inclusive(&printer) && table->form == CLI_TABLE && heap->options.depth == 0;
    return is_inclusive ? print_cut(emit, heap, table) : CLI_DONE;
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
        cli_heap_emit_cut_frames(emit, heap->trace, site->stack, heap->options.depth);
        sxt_emit_record_end(emit);
        return CLI_DONE;
    }
    for (sxt_heap_cost cost = SXT_HEAP_COST_COUNT; cost <= SXT_HEAP_COST_TEMPORARY; cost++) {
        if (cost == SXT_HEAP_COST_TEMPORARY && heap->summary.is_sampled)
            continue;
        cli_heap_print_amount(emit, cost == SXT_HEAP_COST_COUNT ? "allocated" : cli_heap_cost_name(cost),
                              sxt_heap_bytes_of(sums, cost), sxt_heap_count_of(sums, cost));
        sxt_emit_text(emit, "\n");
    }
    if (sums->freed_count > 0)
        sxt_emit_text(emit, "%-10s %12s   on average, at most %s\n", "lifetime",
                      cli_duration(sums->lifetime_sum / sums->freed_count).text, cli_duration(sums->lifetime_max).text);
    sxt_emit_text(emit, "\n  ");
    const struct cli_heap_look look = {
        .view.depth = heap->options.depth, .width = heap->look.width, .is_wide = heap->look.is_wide};
    cli_heap_print_stack_of(emit, heap->trace, site->stack, &look, 2, 1);
    return CLI_DONE;
}
