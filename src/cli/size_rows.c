/* size_rows.c: the rows of a query as a table, as JSON Lines or as CSV. */
#include <string.h>

#include "cli/size_input.h"

#define PATH_WIDTH_MAX 44
#define KEYS_MAX       4 /* that a query can group by */

struct printer {
    struct sxt_emit *emit;
    const struct cli_size_input *input;
    const sxt_size_result *result;
    size_t key_count;
    double whole;
    const struct cli_row_options *options;
    int pss_width, size_width, count_width;
    size_t text_widths[KEYS_MAX];
};

static void print_table(struct printer *printer);
static void print_disassembly(const struct printer *printer, size_t index);
static void print_json(struct printer *printer);
static void print_csv(struct printer *printer);

void cli_print_rows(struct sxt_emit *emit, const struct cli_row_options *options, const struct cli_size_input *input,
                    const sxt_size_result *result)
{
    enum cli_form form = options->form;
    struct printer printer = {
        .emit = emit, .input = input, .result = result, .whole = options->whole, .options = options};
    printer.key_count = sxt_size_result_key_count(result);
    printer.key_count = printer.key_count < KEYS_MAX ? printer.key_count : KEYS_MAX;
    if (form == CLI_JSON)
        print_json(&printer);
    else if (form == CLI_CSV)
        print_csv(&printer);
    else
        print_table(&printer);
}

static void get_row(const struct printer *printer, size_t index, sxt_size_row *out)
{
    *out = (sxt_size_row)SXT_SIZE_ROW_INIT;
    sxt_size_result_row(printer->result, index, out);
}

/* The file that a symbol is shown with. */
static sxt_string path_of(const sxt_size_symbol *symbol)
{
    return symbol->source_path.size > 0 ? symbol->source_path : symbol->object_path;
}

static bool is_diff(const struct printer *printer)
{
    return printer->input->diff != NULL;
}

/* --- JSON --- */

static void print_sums(struct printer *printer, const sxt_size_row *row)
{
    if (is_diff(printer))
        sxt_emit_cstring(printer->emit, "status", sxt_size_status_name(row->status));
    cli_emit_signed(printer->emit, "size", row->size);
    cli_emit_signed(printer->emit, "padding", row->padding);
    cli_emit_real(printer->emit, "pss", row->pss);
}

static void print_group_json(struct printer *printer, size_t index, const sxt_size_row *row)
{
    sxt_emit_object(printer->emit, "group");
    for (size_t i = 0; i < printer->key_count; i++)
        sxt_emit_string(printer->emit, sxt_size_result_key(printer->result, i),
                        sxt_size_result_label(printer->result, index, i));
    sxt_emit_object_end(printer->emit);
    sxt_emit_number(printer->emit, "count", row->count);
    print_sums(printer, row);
}

static void print_symbol_json(struct printer *printer, const sxt_size_row *row, sxt_size_names *names)
{
    struct sxt_emit *emit = printer->emit;
    sxt_size_symbol symbol;
    cli_size_symbol(printer->input, row->symbol, &symbol);
    if (sxt_size_symbol_names(&symbol, names, NULL) != SXT_OK)
        names->template_name = names->name = symbol.full_name;
    sxt_emit_string(emit, "container", symbol.container);
    sxt_emit_string(emit, "section", symbol.section);
    sxt_emit_address(emit, "address", symbol.address);
    print_sums(printer, row);
    sxt_emit_number(emit, "aliases", symbol.aliases);
    sxt_emit_number(emit, "flags", symbol.flags);
    sxt_emit_string(emit, "full_name", symbol.full_name);
    sxt_emit_string(emit, "template_name", names->template_name);
    sxt_emit_string(emit, "name", names->name);
    sxt_emit_string(emit, "object_path", symbol.object_path);
    sxt_emit_string(emit, "source_path", symbol.source_path);
    sxt_emit_string(emit, "component", symbol.component);
    if (printer->options->with_disassembly)
        sxt_emit_string(emit, "disassembly", cli_size_stored_disassembly(printer->input, row->symbol));
}

static void print_json(struct printer *printer)
{
    sxt_size_names names = SXT_SIZE_NAMES_INIT;
    for (size_t i = 0; i < sxt_size_result_row_count(printer->result); i++) {
        sxt_size_row row;
        get_row(printer, i, &row);
        sxt_emit_record(printer->emit);
        if (printer->key_count > 0)
            print_group_json(printer, i, &row);
        else
            print_symbol_json(printer, &row, &names);
        sxt_emit_record_end(printer->emit);
    }
    sxt_size_names_free(&names);
}

/* --- CSV --- */

static void print_group_csv(struct printer *printer, size_t index, const sxt_size_row *row)
{
    for (size_t i = 0; i < printer->key_count; i++)
        cli_csv_text(printer->emit, sxt_size_result_label(printer->result, index, i), ',');
    sxt_emit_text(printer->emit, "%llu,", (unsigned long long)row->count);
}

static void print_symbol_csv(struct printer *printer, const sxt_size_row *row)
{
    struct sxt_emit *emit = printer->emit;
    sxt_size_symbol symbol;
    cli_size_symbol(printer->input, row->symbol, &symbol);
    cli_csv_text(emit, symbol.container, ',');
    cli_csv_text(emit, symbol.section, ',');
    sxt_emit_text(emit, "0x%llx,%u,", (unsigned long long)symbol.address, symbol.aliases);
    cli_csv_text(emit, symbol.full_name, ',');
    cli_csv_text(emit, symbol.object_path, ',');
    cli_csv_text(emit, symbol.source_path, ',');
    cli_csv_text(emit, symbol.component, ',');
}

static void print_csv(struct printer *printer)
{
    struct sxt_emit *emit = printer->emit;
    for (size_t i = 0; i < printer->key_count; i++)
        sxt_emit_text(emit, "%s,", sxt_size_result_key(printer->result, i));
    sxt_emit_text(emit, "%s%ssize,padding,pss\n",
                  printer->key_count > 0
                      ? "count,"
                      : "container,section,address,aliases,full_name,object_path,source_path,component,",
                  is_diff(printer) ? "status," : "");
    for (size_t i = 0; i < sxt_size_result_row_count(printer->result); i++) {
        sxt_size_row row;
        get_row(printer, i, &row);
        if (printer->key_count > 0)
            print_group_csv(printer, i, &row);
        else
            print_symbol_csv(printer, &row);
        if (is_diff(printer))
            sxt_emit_text(emit, "%s,", sxt_size_status_name(row.status));
        sxt_emit_text(emit, "%lld,%lld,", (long long)row.size, (long long)row.padding);
        cli_csv_number(emit, row.pss, '\n');
    }
}

/* --- tables --- */

static struct cli_number amount(const struct printer *printer, double value)
{
    return is_diff(printer) ? cli_change(value) : cli_thousands(value);
}

static void widen(int *width, struct cli_number number)
{
    if ((int)strlen(number.text) > *width)
        *width = (int)strlen(number.text);
}

/* A longer text is cut on a terminal, and elsewhere moves the rest of its line. */
static void widen_text(const struct printer *printer, size_t *width, sxt_string text)
{
    size_t columns = cli_columns(text);
    if (printer->input->width > 0 && columns > PATH_WIDTH_MAX)
        columns = PATH_WIDTH_MAX;
    if (columns > *width && columns <= PATH_WIDTH_MAX)
        *width = columns;
}

static void measure_numbers(struct printer *printer, const sxt_size_row *row)
{
    widen(&printer->pss_width, amount(printer, row->pss));
    widen(&printer->size_width, amount(printer, (double)row->size));
    widen(&printer->count_width, cli_thousands((double)row->count));
}

static void print_numbers(const struct printer *printer, const sxt_size_row *row, char mark)
{
    struct cli_number pss = amount(printer, row->pss), size = amount(printer, (double)row->size);
    struct cli_number percent = cli_percent(row->pss, printer->whole);
    if (is_diff(printer))
        sxt_emit_text(printer->emit, "%c ", mark);
    sxt_emit_text(printer->emit, "%*s  %8s  %*s  ", printer->pss_width, pss.text, percent.text, printer->size_width,
                  size.text);
    if (printer->key_count > 0)
        sxt_emit_text(printer->emit, "%*s  ", printer->count_width, cli_thousands((double)row->count).text);
}

/* The columns that are left of the terminal for the last column of text; 0 for any number. */
static size_t room_for_name(const struct printer *printer, size_t columns)
{
    size_t used = (is_diff(printer) ? 2 : 0) + (size_t)printer->pss_width + 2 + 8 + 2 + (size_t)printer->size_width + 2;
    if (printer->input->width == 0)
        return 0;
    if (printer->key_count > 0)
        used += (size_t)printer->count_width + 2;
    for (size_t i = 0; i < columns; i++)
        used += printer->text_widths[i] + 2;
    return printer->input->width > used ? printer->input->width - used : 1;
}

/* A path or a label in a column, with spaces up to its width. */
static void print_column(const struct printer *printer, sxt_string text, size_t width)
{
    size_t cut = printer->input->width > 0 ? width : 0, columns = cli_columns(text);
    cli_print_cut_path(printer->emit, text, cut);
    if (columns < width)
        sxt_emit_text(printer->emit, "%*s", (int)(width - columns), "");
    sxt_emit_text(printer->emit, "  ");
}

static void print_group_row(const struct printer *printer, size_t index)
{
    size_t last = printer->key_count - 1;
    for (size_t i = 0; i < last; i++)
        print_column(printer, sxt_size_result_label(printer->result, index, i), printer->text_widths[i]);
    sxt_string label = sxt_size_result_label(printer->result, index, last);
    const char *key = sxt_size_result_key(printer->result, last);
    bool is_path = strcmp(key, "path") == 0 || strcmp(key, "directory") == 0 || strcmp(key, "source") == 0 ||
                   strcmp(key, "object") == 0;
    if (is_path)
        cli_print_cut_path(printer->emit, label, room_for_name(printer, last));
    else
        cli_print_cut(printer->emit, label, room_for_name(printer, last));
    sxt_emit_text(printer->emit, "\n");
}

static void print_symbol_row(const struct printer *printer, const sxt_size_row *row)
{
    sxt_size_symbol symbol;
    cli_size_symbol(printer->input, row->symbol, &symbol);
    print_column(printer, symbol.section, printer->text_widths[0]);
    print_column(printer, path_of(&symbol), printer->text_widths[1]);
    cli_print_cut(printer->emit, symbol.full_name, room_for_name(printer, 2));
    sxt_emit_text(printer->emit, "\n");
}

static void measure_row(struct printer *printer, size_t index)
{
    sxt_size_row row;
    get_row(printer, index, &row);
    measure_numbers(printer, &row);
    for (size_t i = 0; i < printer->key_count; i++)
        widen_text(printer, &printer->text_widths[i], sxt_size_result_label(printer->result, index, i));
    if (printer->key_count > 0)
        return;
    sxt_size_symbol symbol;
    cli_size_symbol(printer->input, row.symbol, &symbol);
    widen_text(printer, &printer->text_widths[0], symbol.section);
    widen_text(printer, &printer->text_widths[1], path_of(&symbol));
}

static void measure_all(struct printer *printer, const sxt_size_row *total)
{
    printer->pss_width = 5;
    printer->size_width = 4;
    printer->count_width = 5;
    for (size_t i = 0; i < printer->key_count; i++)
        printer->text_widths[i] = strlen(sxt_size_result_key(printer->result, i));
    if (printer->key_count == 0) {
        printer->text_widths[0] = 7;
        printer->text_widths[1] = 4;
    }
    measure_numbers(printer, total);
    for (size_t i = 0; i < sxt_size_result_row_count(printer->result); i++)
        measure_row(printer, i);
    /* On a terminal, the path leaves more than half of the line to the name. */
    size_t room = room_for_name(printer, 0) * 2 / 5;
    size_t columns = printer->key_count > 0 ? printer->key_count - 1 : 2;
    for (size_t i = 0; room > 0 && i < columns; i++)
        if (printer->text_widths[i] > room / columns + 8)
            printer->text_widths[i] = room / columns + 8;
}

static void print_head(const struct printer *printer)
{
    sxt_emit_text(printer->emit, "%s%*s  %8s  %*s  ", is_diff(printer) ? "  " : "", printer->pss_width, "pss", "%",
                  printer->size_width, "size");
    if (printer->key_count == 0) {
        sxt_emit_text(printer->emit, "%-*s  %-*s  name\n", (int)printer->text_widths[0], "section",
                      (int)printer->text_widths[1], "path");
        return;
    }
    sxt_emit_text(printer->emit, "%*s", printer->count_width, "count");
    for (size_t i = 0; i < printer->key_count; i++)
        sxt_emit_text(printer->emit, "  %-*s", i + 1 < printer->key_count ? (int)printer->text_widths[i] : 0,
                      sxt_size_result_key(printer->result, i));
    sxt_emit_text(printer->emit, "\n");
}

static void print_table(struct printer *printer)
{
    sxt_size_row total = SXT_SIZE_ROW_INIT;
    size_t all_rows = sxt_size_result_total(printer->result, &total);
    size_t rows = sxt_size_result_row_count(printer->result);
    if (printer->whole == 0)
        printer->whole = total.pss;
    measure_all(printer, &total);
    print_head(printer);
    for (size_t i = 0; i < rows; i++) {
        sxt_size_row row;
        get_row(printer, i, &row);
        print_numbers(printer, &row, "=~+-"[row.status & 3]);
        if (printer->key_count > 0)
            print_group_row(printer, i);
        else
            print_symbol_row(printer, &row);
    }
    print_numbers(printer, &total, ' ');
    if (rows < all_rows)
        sxt_emit_text(printer->emit, "total of %s rows, of which %s are shown\n", cli_thousands((double)all_rows).text,
                      cli_thousands((double)rows).text);
    else
        sxt_emit_text(printer->emit, "total of %s row%s\n", cli_thousands((double)all_rows).text,
                      all_rows == 1 ? "" : "s");
    for (size_t i = 0; printer->options->with_disassembly && i < rows; i++)
        print_disassembly(printer, i);
}

/* The name of the symbol, and the lines of its disassembly. */
static void print_disassembly(const struct printer *printer, size_t index)
{
    sxt_size_row row;
    sxt_size_symbol symbol;
    get_row(printer, index, &row);
    sxt_string text = cli_size_stored_disassembly(printer->input, row.symbol);
    if (text.data == NULL)
        return;
    cli_size_symbol(printer->input, row.symbol, &symbol);
    sxt_emit_text(printer->emit, "\n");
    sxt_emit_name(printer->emit, symbol.full_name);
    sxt_emit_text(printer->emit, "\n");
    for (size_t at = 0; at < text.size;) {
        size_t end = at;
        while (end < text.size && text.data[end] != '\n' && text.data[end] != '\t')
            end++;
        sxt_emit_name(printer->emit, (sxt_string){text.data + at, end - at});
        sxt_emit_text(printer->emit, end < text.size && text.data[end] == '\t' ? "\t" : "\n");
        at = end + 1;
    }
}
