/* rows.c: the rows that a query gives, as a table, as JSON Lines or as CSV. */
#include <math.h>
#include <string.h>

#include "cli/sizes.h"

#define PATH_WIDTH_MAX 44

struct printer {
    struct sxt_emit *emit;
    const struct sxt_size_query_subject *subject;
    const struct sxt_size_result *result;
    double whole;
    int pss_width, size_width, count_width;
    size_t text_widths[SXT_SIZE_QUERY_KEYS];
};

static void print_table(struct printer *printer);
static void print_json(struct printer *printer);
static void print_csv(struct printer *printer);

void cli_print_rows(struct sxt_emit *emit, enum cli_form form, const struct sxt_size_query_subject *subject,
                    const struct sxt_size_result *result, double whole)
{
    struct printer printer = {.emit = emit, .subject = subject, .result = result, .whole = whole};
    if (form == CLI_JSON)
        print_json(&printer);
    else if (form == CLI_CSV)
        print_csv(&printer);
    else
        print_table(&printer);
}

struct names {
    struct sxt_size_query_item item;
    struct sxt_size_names names;
    sxt_string source, object, component, path;
};

static void get_names(const struct printer *printer, uint32_t index, struct sxt_buffer *buffer, struct names *out)
{
    struct sxt_size_query_item *item = &out->item;
    sxt_size_query_get_item(printer->subject, index, item);
    sxt_string nothing = {"", 0};
    *out = (struct names){*item,  {item->full_name, item->full_name, item->full_name, 0}, nothing, nothing, nothing,
                          nothing};
    if (item->symbol == NULL)
        return;
    const struct sxt_size_info *owner = item->owner;
    out->source = owner->paths[item->symbol->path].source;
    out->object = owner->paths[item->symbol->path].object;
    out->path = out->source.size > 0 ? out->source : out->object;
    if (item->symbol->component < owner->component_count)
        out->component = owner->components[item->symbol->component];
    if (buffer != NULL)
        sxt_size_derive_names(&owner->segments[item->symbol->segment], item->full_name, buffer, &out->names);
}

/* --- JSON --- */

static void print_sums(struct printer *printer, const struct sxt_size_result_row *row)
{
    if (printer->subject->delta != NULL)
        sxt_emit_cstring(printer->emit, "status", sxt_size_status_name(row->status));
    cli_emit_signed(printer->emit, "size", row->size);
    cli_emit_signed(printer->emit, "padding", row->padding);
    cli_emit_real(printer->emit, "pss", row->pss);
}

static void print_group_json(struct printer *printer, const struct sxt_size_result_row *row)
{
    sxt_emit_object(printer->emit, "group");
    for (size_t i = 0; i < printer->result->key_count; i++)
        sxt_emit_string(printer->emit, printer->result->keys[i], sxt_size_row_label(printer->result, row, i));
    sxt_emit_object_end(printer->emit);
    sxt_emit_number(printer->emit, "count", row->count);
    print_sums(printer, row);
}

static void print_item_json(struct printer *printer, const struct sxt_size_result_row *row, struct sxt_buffer *buffer)
{
    struct sxt_emit *emit = printer->emit;
    struct names names;
    get_names(printer, row->item, buffer, &names);
    sxt_emit_string(emit, "container", names.item.container);
    sxt_emit_string(emit, "section", names.item.section);
    sxt_emit_address(emit, "address", names.item.symbol != NULL ? names.item.symbol->address : 0);
    print_sums(printer, row);
    sxt_emit_number(emit, "aliases", names.item.aliases);
    sxt_emit_number(emit, "flags", names.item.symbol != NULL ? names.item.symbol->flags : 0);
    sxt_emit_string(emit, "full_name", names.item.full_name);
    sxt_emit_string(emit, "template_name", names.names.template_name);
    sxt_emit_string(emit, "name", names.names.name);
    sxt_emit_string(emit, "object_path", names.object);
    sxt_emit_string(emit, "source_path", names.source);
    sxt_emit_string(emit, "component", names.component);
}

static void print_json(struct printer *printer)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, (size_t)64 << 20);
    for (size_t i = 0; i < printer->result->row_count; i++) {
        sxt_emit_record(printer->emit);
        if (printer->result->key_count > 0)
            print_group_json(printer, &printer->result->rows[i]);
        else
            print_item_json(printer, &printer->result->rows[i], &buffer);
        sxt_emit_record_end(printer->emit);
    }
    sxt_buffer_free(&buffer);
}

/* --- CSV --- */

static void print_group_csv(struct printer *printer, const struct sxt_size_result_row *row)
{
    for (size_t i = 0; i < printer->result->key_count; i++)
        cli_csv_text(printer->emit, sxt_size_row_label(printer->result, row, i), ',');
    sxt_emit_text(printer->emit, "%llu,", (unsigned long long)row->count);
}

static void print_item_csv(struct printer *printer, const struct sxt_size_result_row *row)
{
    struct sxt_emit *emit = printer->emit;
    struct names names;
    get_names(printer, row->item, NULL, &names);
    cli_csv_text(emit, names.item.container, ',');
    cli_csv_text(emit, names.item.section, ',');
    sxt_emit_text(emit, "0x%llx,%u,", (unsigned long long)(names.item.symbol != NULL ? names.item.symbol->address : 0),
                  names.item.aliases);
    cli_csv_text(emit, names.item.full_name, ',');
    cli_csv_text(emit, names.object, ',');
    cli_csv_text(emit, names.source, ',');
    cli_csv_text(emit, names.component, ',');
}

static void print_csv(struct printer *printer)
{
    struct sxt_emit *emit = printer->emit;
    const struct sxt_size_result *result = printer->result;
    for (size_t i = 0; i < result->key_count; i++)
        sxt_emit_text(emit, "%s,", result->keys[i]);
    sxt_emit_text(emit, "%s%ssize,padding,pss\n",
                  result->key_count > 0
                      ? "count,"
                      : "container,section,address,aliases,full_name,object_path,source_path,component,",
                  printer->subject->delta != NULL ? "status," : "");
    for (size_t i = 0; i < result->row_count; i++) {
        const struct sxt_size_result_row *row = &result->rows[i];
        if (result->key_count > 0)
            print_group_csv(printer, row);
        else
            print_item_csv(printer, row);
        if (printer->subject->delta != NULL)
            sxt_emit_text(emit, "%s,", sxt_size_status_name(row->status));
        sxt_emit_text(emit, "%lld,%lld,", (long long)row->size, (long long)row->padding);
        cli_csv_number(emit, row->pss, '\n');
    }
}

/* --- tables --- */

static struct cli_number amount(const struct printer *printer, double value)
{
    return printer->subject->delta != NULL ? cli_change(value) : cli_thousands(value);
}

static void widen(int *width, struct cli_number number)
{
    if ((int)strlen(number.text) > *width)
        *width = (int)strlen(number.text);
}

static void measure(struct printer *printer, const struct sxt_size_result_row *row)
{
    const struct sxt_size_result *result = printer->result;
    widen(&printer->pss_width, amount(printer, row->pss));
    widen(&printer->size_width, amount(printer, (double)row->size));
    widen(&printer->count_width, cli_thousands((double)row->count));
    for (size_t i = 0; i < result->key_count; i++) {
        size_t size = sxt_size_row_label(result, row, i).size;
        if (size > printer->text_widths[i] && size <= PATH_WIDTH_MAX)
            printer->text_widths[i] = size;
    }
}

static void print_numbers(const struct printer *printer, const struct sxt_size_result_row *row, char mark)
{
    struct cli_number pss = amount(printer, row->pss), size = amount(printer, (double)row->size);
    struct cli_number percent = cli_percent(row->pss, printer->whole);
    if (printer->subject->delta != NULL)
        sxt_emit_text(printer->emit, "%c ", mark);
    sxt_emit_text(printer->emit, "%*s  %8s  %*s  ", printer->pss_width, pss.text, percent.text, printer->size_width,
                  size.text);
    if (printer->result->key_count > 0)
        sxt_emit_text(printer->emit, "%*s  ", printer->count_width, cli_thousands((double)row->count).text);
}

static void print_group_row(const struct printer *printer, const struct sxt_size_result_row *row)
{
    size_t last = printer->result->key_count - 1;
    for (size_t i = 0; i <= last; i++) {
        cli_print_padded(printer->emit, sxt_size_row_label(printer->result, row, i),
                         i < last ? printer->text_widths[i] : 0);
        sxt_emit_text(printer->emit, i < last ? "  " : "\n");
    }
}

static void print_item_row(const struct printer *printer, const struct sxt_size_result_row *row)
{
    struct names names;
    get_names(printer, row->item, NULL, &names);
    cli_print_padded(printer->emit, names.item.section, printer->text_widths[0]);
    sxt_emit_text(printer->emit, "  ");
    cli_print_padded(printer->emit, names.path, printer->text_widths[1]);
    sxt_emit_text(printer->emit, "  ");
    sxt_emit_name(printer->emit, names.item.full_name);
    sxt_emit_text(printer->emit, "\n");
}

static void measure_all(struct printer *printer)
{
    const struct sxt_size_result *result = printer->result;
    printer->pss_width = 5;
    printer->size_width = 4;
    printer->count_width = 5;
    for (size_t i = 0; i < result->key_count; i++)
        printer->text_widths[i] = strlen(result->keys[i]);
    if (result->key_count == 0) {
        printer->text_widths[0] = 7;
        printer->text_widths[1] = 4;
    }
    measure(printer, &result->total);
    for (size_t i = 0; i < result->row_count; i++) {
        measure(printer, &result->rows[i]);
        if (result->key_count > 0)
            continue;
        struct names names;
        get_names(printer, result->rows[i].item, NULL, &names);
        size_t sizes[] = {names.item.section.size, names.path.size};
        for (size_t k = 0; k < 2; k++)
            if (sizes[k] > printer->text_widths[k] && sizes[k] <= PATH_WIDTH_MAX)
                printer->text_widths[k] = sizes[k];
    }
}

static void print_head(const struct printer *printer)
{
    const struct sxt_size_result *result = printer->result;
    sxt_emit_text(printer->emit, "%s%*s  %8s  %*s  ", printer->subject->delta != NULL ? "  " : "", printer->pss_width,
                  "pss", "%", printer->size_width, "size");
    if (result->key_count == 0) {
        sxt_emit_text(printer->emit, "%-*s  %-*s  name\n", (int)printer->text_widths[0], "section",
                      (int)printer->text_widths[1], "path");
        return;
    }
    sxt_emit_text(printer->emit, "%*s", printer->count_width, "count");
    for (size_t i = 0; i < result->key_count; i++)
        sxt_emit_text(printer->emit, "  %-*s", i + 1 < result->key_count ? (int)printer->text_widths[i] : 0,
                      result->keys[i]);
    sxt_emit_text(printer->emit, "\n");
}

static void print_table(struct printer *printer)
{
    const struct sxt_size_result *result = printer->result;
    if (printer->whole == 0)
        printer->whole = result->total.pss;
    measure_all(printer);
    print_head(printer);
    for (size_t i = 0; i < result->row_count; i++) {
        print_numbers(printer, &result->rows[i], "=~+-"[result->rows[i].status & 3]);
        if (result->key_count > 0)
            print_group_row(printer, &result->rows[i]);
        else
            print_item_row(printer, &result->rows[i]);
    }
    print_numbers(printer, &result->total, ' ');
    if (result->row_count < result->all_rows)
        sxt_emit_text(printer->emit, "total of %s rows, of which %s are shown\n",
                      cli_thousands((double)result->all_rows).text, cli_thousands((double)result->row_count).text);
    else
        sxt_emit_text(printer->emit, "total of %s row%s\n", cli_thousands((double)result->all_rows).text,
                      result->all_rows == 1 ? "" : "s");
}
