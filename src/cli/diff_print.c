/* diff_print.c: a diff as text, JSON Lines, CSV or Markdown. */
#include <string.h>

#include "cli/diff.h"

static void get_row(const struct diff *diff, const sxt_size_result *result, size_t index, sxt_size_row *row,
                    sxt_size_symbol *symbol)
{
    *row = (sxt_size_row)SXT_SIZE_ROW_INIT;
    sxt_size_result_row(result, index, row);
    cli_size_symbol(diff->input, row->symbol, symbol);
}

static uint64_t count_of(const struct diff *diff, sxt_size_status status)
{
    return sxt_size_diff_status_count(diff->input->diff, status);
}

/* --- JSON --- */

static void print_change_json(struct sxt_emit *emit, const sxt_size_row *row, const sxt_size_symbol *symbol)
{
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "status", sxt_size_status_name(row->status));
    sxt_emit_string(emit, "container", symbol->container);
    sxt_emit_string(emit, "section", symbol->section);
    sxt_emit_string(emit, "full_name", symbol->full_name);
    sxt_emit_string(emit, "object_path", symbol->object_path);
    sxt_emit_string(emit, "source_path", symbol->source_path);
    cli_emit_signed(emit, "size_before", symbol->size_before);
    cli_emit_signed(emit, "size_after", symbol->size_after);
    cli_emit_signed(emit, "size", row->size);
    cli_emit_real(emit, "pss", row->pss);
    sxt_emit_record_end(emit);
}

static void print_summary_json(struct sxt_emit *emit, const struct diff *diff)
{
    sxt_size_section_change section = SXT_SIZE_SECTION_CHANGE_INIT;
    sxt_emit_record(emit);
    sxt_emit_object(emit, "summary");
    sxt_emit_number(emit, "unchanged", count_of(diff, SXT_SIZE_UNCHANGED));
    sxt_emit_number(emit, "changed", count_of(diff, SXT_SIZE_CHANGED));
    sxt_emit_number(emit, "added", count_of(diff, SXT_SIZE_ADDED));
    sxt_emit_number(emit, "removed", count_of(diff, SXT_SIZE_REMOVED));
    sxt_emit_object(emit, "sections");
    for (size_t i = 0; sxt_size_section_changes_get(diff->sections, i, &section) == SXT_OK; i++)
        if (section.symbols > 0)
            cli_emit_text_number(emit, section.name, section.change);
    sxt_emit_object_end(emit);
    cli_emit_real(emit, "before", diff->total.before);
    cli_emit_real(emit, "after", diff->total.after);
    cli_emit_real(emit, "total", diff->total.change);
    sxt_emit_object_end(emit);
    sxt_emit_record_end(emit);
}

static void print_json(struct sxt_emit *emit, const struct diff *diff, const sxt_size_result *result)
{
    for (size_t i = 0; i < sxt_size_result_row_count(result); i++) {
        sxt_size_row row;
        sxt_size_symbol symbol;
        get_row(diff, result, i, &row, &symbol);
        print_change_json(emit, &row, &symbol);
    }
    print_summary_json(emit, diff);
}

/* --- CSV --- */

static void print_csv(struct sxt_emit *emit, const struct diff *diff, const sxt_size_result *result)
{
    sxt_emit_text(emit, "status,container,section,full_name,object_path,source_path,size_before,size_after,size,pss\n");
    for (size_t i = 0; i < sxt_size_result_row_count(result); i++) {
        sxt_size_row row;
        sxt_size_symbol symbol;
        get_row(diff, result, i, &row, &symbol);
        sxt_emit_text(emit, "%s,", sxt_size_status_name(row.status));
        cli_csv_text(emit, symbol.container, ',');
        cli_csv_text(emit, symbol.section, ',');
        cli_csv_text(emit, symbol.full_name, ',');
        cli_csv_text(emit, symbol.object_path, ',');
        cli_csv_text(emit, symbol.source_path, ',');
        sxt_emit_text(emit, "%lld,%lld,%lld,", (long long)symbol.size_before, (long long)symbol.size_after,
                      (long long)row.size);
        cli_csv_number(emit, row.pss, '\n');
    }
}

/* --- text --- */

static void print_counts(struct sxt_emit *emit, const struct diff *diff)
{
    sxt_emit_text(emit, "%s added, %s removed, %s changed, %s unchanged",
                  cli_thousands((double)count_of(diff, SXT_SIZE_ADDED)).text,
                  cli_thousands((double)count_of(diff, SXT_SIZE_REMOVED)).text,
                  cli_thousands((double)count_of(diff, SXT_SIZE_CHANGED)).text,
                  cli_thousands((double)count_of(diff, SXT_SIZE_UNCHANGED)).text);
}

/* Code that runs before main is listed first, because it costs time at every start. */
static void print_initializers(struct sxt_emit *emit, const struct diff *diff)
{
    sxt_size_result *result;
    if (cli_run_query(diff->input, "@static-initializers", &result) != CLI_DONE)
        return;
    if (sxt_size_result_row_count(result) > 0) {
        sxt_emit_text(emit, "static initializers\n");
        cli_print_rows(emit, &(struct cli_row_options){.form = CLI_TABLE, .whole = diff->total.before}, diff->input,
                       result);
        sxt_emit_text(emit, "\n");
    }
    sxt_size_result_free(&result);
}

static void print_text(struct sxt_emit *emit, const struct diff *diff, const sxt_size_result *result)
{
    const sxt_size_section_change *total = &diff->total;
    sxt_size_section_change one = SXT_SIZE_SECTION_CHANGE_INIT;
    struct cli_number share = cli_percent(total->change, total->before);
    sxt_emit_text(emit, "%s bytes%s%s%s: ", cli_change(total->change).text, share.text[0] != 0 ? " (" : "", share.text,
                  share.text[0] != 0 ? ")" : "");
    print_counts(emit, diff);
    sxt_emit_text(emit, "\n\n%13s  %13s  %11s  %8s  section\n", "before", "after", "change", "%");
    for (size_t i = 0; sxt_size_section_changes_get(diff->sections, i, &one) == SXT_OK; i++) {
        if (one.symbols == 0)
            continue;
        sxt_emit_text(emit, "%13s  %13s  %11s  %8s  ", cli_thousands(one.before).text, cli_thousands(one.after).text,
                      cli_change(one.change).text, cli_percent(one.change, one.before).text);
        sxt_emit_name(emit, one.name);
        sxt_emit_text(emit, one.is_bss ? "  (in memory only)\n" : "\n");
    }
    sxt_emit_text(emit, "%13s  %13s  %11s  %8s  total\n\n", cli_thousands(total->before).text,
                  cli_thousands(total->after).text, cli_change(total->change).text, share.text);
    print_initializers(emit, diff);
    cli_print_rows(emit, &(struct cli_row_options){.form = CLI_TABLE, .whole = total->before}, diff->input, result);
}

/* --- Markdown --- */

static void print_markdown_rows(struct sxt_emit *emit, const struct diff *diff, const sxt_size_result *result)
{
    sxt_size_row total = SXT_SIZE_ROW_INIT;
    size_t rows = sxt_size_result_row_count(result), all_rows = sxt_size_result_total(result, &total);
    sxt_emit_text(emit,
                  "\n<details>\n<summary>%s of %s changes</summary>\n\n| change | status | section | symbol | file |\n"
                  "|---:|---|---|---|---|\n",
                  cli_thousands((double)rows).text, cli_thousands((double)all_rows).text);
    for (size_t i = 0; i < rows; i++) {
        sxt_size_row row;
        sxt_size_symbol symbol;
        get_row(diff, result, i, &row, &symbol);
        sxt_emit_text(emit, "| %s | %s | ", cli_change(row.pss).text, sxt_size_status_name(row.status));
        cli_markdown_code(emit, symbol.section);
        sxt_emit_text(emit, " | ");
        cli_markdown_code(emit, symbol.full_name.size > 0 ? symbol.full_name : (sxt_string){"?", 1});
        sxt_emit_text(emit, " | ");
        sxt_string file = symbol.source_path.size > 0 ? symbol.source_path : symbol.object_path;
        if (file.size > 0)
            cli_markdown_code(emit, file);
        sxt_emit_text(emit, " |\n");
    }
    sxt_emit_text(emit, "\n</details>\n");
}

static void print_markdown(struct sxt_emit *emit, const struct diff *diff, const sxt_size_result *result)
{
    const sxt_size_section_change *total = &diff->total;
    sxt_size_section_change one = SXT_SIZE_SECTION_CHANGE_INIT;
    struct cli_number share = cli_percent(total->change, total->before);
    sxt_emit_text(emit, "**Size: %s bytes**%s%s%s: ", cli_change(total->change).text, share.text[0] != 0 ? " (" : "",
                  share.text, share.text[0] != 0 ? ")" : "");
    print_counts(emit, diff);
    sxt_emit_text(emit, "\n\n| section | before | after | change | |\n|---|---:|---:|---:|---:|\n");
    for (size_t i = 0; sxt_size_section_changes_get(diff->sections, i, &one) == SXT_OK; i++) {
        if (one.symbols == 0 || one.change == 0)
            continue;
        sxt_emit_text(emit, "| ");
        cli_markdown_code(emit, one.name);
        sxt_emit_text(emit, " | %s | %s | %s | %s |\n", cli_thousands(one.before).text, cli_thousands(one.after).text,
                      cli_change(one.change).text, cli_percent(one.change, one.before).text);
    }
    sxt_emit_text(emit, "| **total** | %s | %s | **%s** | %s |\n", cli_thousands(total->before).text,
                  cli_thousands(total->after).text, cli_change(total->change).text, share.text);
    if (sxt_size_result_row_count(result) > 0)
        print_markdown_rows(emit, diff, result);
}

/* --- all --- */

int cli_print_diff(struct sxt_emit *emit, enum cli_form form, const struct diff *diff)
{
    char text[60];
    sxt_size_result *result;
    if (diff->limit == UINT64_MAX)
        snprintf(text, sizeof text, "| sort pss");
    else
        snprintf(text, sizeof text, "| sort pss | limit %llu", (unsigned long long)diff->limit);
    int status = cli_run_query(diff->input, text, &result);
    if (status != CLI_DONE)
        return status;
    if (form == CLI_JSON)
        print_json(emit, diff, result);
    else if (form == CLI_CSV)
        print_csv(emit, diff, result);
    else if (form == CLI_MARKDOWN)
        print_markdown(emit, diff, result);
    else
        print_text(emit, diff, result);
    sxt_size_result_free(&result);
    return CLI_DONE;
}
