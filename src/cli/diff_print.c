/* diff_print.c: a diff as text, JSON Lines, CSV or Markdown. */
#include <string.h>

#include "cli/diff.h"

/* --- one symbol --- */

struct change {
    struct sxt_size_query_item item;
    sxt_string object, source;
    int64_t before, after; /* sizes with padding */
};

static void get_change(const struct diff *diff, uint32_t index, struct change *out)
{
    const struct sxt_size_delta *delta = diff->delta;
    *out = (struct change){.object = {"", 0}, .source = {"", 0}};
    sxt_size_query_get_item(diff->subject, index, &out->item);
    if (out->item.symbol == NULL) {
        out->after = out->item.size;
        return;
    }
    const struct sxt_size_pair *pair = &delta->pairs[index];
    out->object = out->item.owner->paths[out->item.symbol->path].object;
    out->source = out->item.owner->paths[out->item.symbol->path].source;
    out->before = pair->before != SXT_SIZE_NONE ? delta->before->symbols[pair->before].size : 0;
    out->after = pair->after != SXT_SIZE_NONE ? delta->after->symbols[pair->after].size : 0;
}

/* --- JSON --- */

static void print_change_json(struct sxt_emit *emit, const struct diff *diff, const struct sxt_size_result_row *row)
{
    struct change change;
    get_change(diff, row->item, &change);
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "status", sxt_size_status_name(row->status));
    sxt_emit_string(emit, "container", change.item.container);
    sxt_emit_string(emit, "section", change.item.section);
    sxt_emit_string(emit, "full_name", change.item.full_name);
    sxt_emit_string(emit, "object_path", change.object);
    sxt_emit_string(emit, "source_path", change.source);
    cli_emit_signed(emit, "size_before", change.before);
    cli_emit_signed(emit, "size_after", change.after);
    cli_emit_signed(emit, "size", row->size);
    cli_emit_real(emit, "pss", row->pss);
    sxt_emit_record_end(emit);
}

static void print_summary_json(struct sxt_emit *emit, const struct diff *diff)
{
    const uint64_t *counts = diff->counts;
    sxt_emit_record(emit);
    sxt_emit_object(emit, "summary");
    sxt_emit_number(emit, "unchanged", counts[SXT_SIZE_UNCHANGED]);
    sxt_emit_number(emit, "changed", counts[SXT_SIZE_CHANGED]);
    sxt_emit_number(emit, "added", counts[SXT_SIZE_ADDED]);
    sxt_emit_number(emit, "removed", counts[SXT_SIZE_REMOVED]);
    sxt_emit_object(emit, "sections");
    for (size_t i = 0; i < diff->section_count; i++)
        if (diff->sections[i].symbols > 0)
            cli_emit_text_number(emit, diff->sections[i].name, diff->sections[i].change);
    sxt_emit_object_end(emit);
    cli_emit_real(emit, "before", diff->before);
    cli_emit_real(emit, "after", diff->after);
    cli_emit_real(emit, "total", diff->change);
    sxt_emit_object_end(emit);
    sxt_emit_record_end(emit);
}

static void print_json(struct sxt_emit *emit, const struct diff *diff, const struct sxt_size_result *result)
{
    for (size_t i = 0; i < result->row_count; i++)
        print_change_json(emit, diff, &result->rows[i]);
    print_summary_json(emit, diff);
}

/* --- CSV --- */

static void print_csv(struct sxt_emit *emit, const struct diff *diff, const struct sxt_size_result *result)
{
    sxt_emit_text(emit, "status,container,section,full_name,object_path,source_path,size_before,size_after,size,pss\n");
    for (size_t i = 0; i < result->row_count; i++) {
        const struct sxt_size_result_row *row = &result->rows[i];
        struct change change;
        get_change(diff, row->item, &change);
        sxt_emit_text(emit, "%s,", sxt_size_status_name(row->status));
        cli_csv_text(emit, change.item.container, ',');
        cli_csv_text(emit, change.item.section, ',');
        cli_csv_text(emit, change.item.full_name, ',');
        cli_csv_text(emit, change.object, ',');
        cli_csv_text(emit, change.source, ',');
        sxt_emit_text(emit, "%lld,%lld,%lld,", (long long)change.before, (long long)change.after, (long long)row->size);
        cli_csv_number(emit, row->pss, '\n');
    }
}

/* --- text --- */

static void print_counts(struct sxt_emit *emit, const struct diff *diff)
{
    const uint64_t *counts = diff->counts;
    sxt_emit_text(
        emit, "%s added, %s removed, %s changed, %s unchanged", cli_thousands((double)counts[SXT_SIZE_ADDED]).text,
        cli_thousands((double)counts[SXT_SIZE_REMOVED]).text, cli_thousands((double)counts[SXT_SIZE_CHANGED]).text,
        cli_thousands((double)counts[SXT_SIZE_UNCHANGED]).text);
}

/* Code that runs before main is looked at first, as it costs every start. */
static void print_initializers(struct sxt_emit *emit, const struct diff *diff)
{
    struct sxt_size_result result;
    if (cli_run_query(diff->sizes, "@static-initializers", &result) != CLI_DONE)
        return;
    if (result.row_count > 0) {
        sxt_emit_text(emit, "static initializers\n");
        cli_print_rows(emit, CLI_TABLE, diff->subject, &result, diff->before);
        sxt_emit_text(emit, "\n");
    }
    sxt_size_result_clear(&result);
}

static void print_text(struct sxt_emit *emit, const struct diff *diff, const struct sxt_size_result *result)
{
    struct cli_number share = cli_percent(diff->change, diff->before);
    sxt_emit_text(emit, "%s bytes%s%s%s: ", cli_change(diff->change).text, share.text[0] != 0 ? " (" : "", share.text,
                  share.text[0] != 0 ? ")" : "");
    print_counts(emit, diff);
    sxt_emit_text(emit, "\n\n%13s  %13s  %11s  %8s  section\n", "before", "after", "change", "%");
    for (size_t i = 0; i < diff->section_count; i++) {
        const struct diff_section *one = &diff->sections[i];
        if (one->symbols == 0)
            continue;
        sxt_emit_text(emit, "%13s  %13s  %11s  %8s  ", cli_thousands(one->before).text, cli_thousands(one->after).text,
                      cli_change(one->change).text, cli_percent(one->change, one->before).text);
        sxt_emit_name(emit, one->name);
        sxt_emit_text(emit, one->is_bss ? "  (in memory only)\n" : "\n");
    }
    sxt_emit_text(emit, "%13s  %13s  %11s  %8s  total\n\n", cli_thousands(diff->before).text,
                  cli_thousands(diff->after).text, cli_change(diff->change).text, share.text);
    print_initializers(emit, diff);
    cli_print_rows(emit, CLI_TABLE, diff->subject, result, diff->before);
}

/* --- Markdown --- */

/* In a cell of a table "|" would end it, and in code "`" would. */
static void print_code(struct sxt_emit *emit, sxt_string name)
{
    size_t start = 0;
    sxt_emit_text(emit, "`");
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] != '|' && name.data[i] != '`')
            continue;
        sxt_emit_name(emit, (sxt_string){name.data + start, i - start});
        sxt_emit_text(emit, name.data[i] == '|' ? "\\|" : "'");
        start = i + 1;
    }
    sxt_emit_name(emit, (sxt_string){name.data + start, name.size - start});
    sxt_emit_text(emit, "`");
}

static void print_markdown_rows(struct sxt_emit *emit, const struct diff *diff, const struct sxt_size_result *result)
{
    sxt_emit_text(emit,
                  "\n<details>\n<summary>%s of %s changes</summary>\n\n| change | status | section | symbol | file |\n"
                  "|---:|---|---|---|---|\n",
                  cli_thousands((double)result->row_count).text, cli_thousands((double)result->all_rows).text);
    for (size_t i = 0; i < result->row_count; i++) {
        struct change change;
        get_change(diff, result->rows[i].item, &change);
        sxt_emit_text(emit, "| %s | %s | ", cli_change(result->rows[i].pss).text,
                      sxt_size_status_name(result->rows[i].status));
        print_code(emit, change.item.section);
        sxt_emit_text(emit, " | ");
        print_code(emit, change.item.full_name.size > 0 ? change.item.full_name : (sxt_string){"?", 1});
        sxt_emit_text(emit, " | ");
        sxt_string file = change.source.size > 0 ? change.source : change.object;
        if (file.size > 0)
            print_code(emit, file);
        sxt_emit_text(emit, " |\n");
    }
    sxt_emit_text(emit, "\n</details>\n");
}

static void print_markdown(struct sxt_emit *emit, const struct diff *diff, const struct sxt_size_result *result)
{
    struct cli_number share = cli_percent(diff->change, diff->before);
    sxt_emit_text(emit, "**Size: %s bytes**%s%s%s: ", cli_change(diff->change).text, share.text[0] != 0 ? " (" : "",
                  share.text, share.text[0] != 0 ? ")" : "");
    print_counts(emit, diff);
    sxt_emit_text(emit, "\n\n| section | before | after | change | |\n|---|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < diff->section_count; i++) {
        const struct diff_section *one = &diff->sections[i];
        if (one->symbols == 0 || one->change == 0)
            continue;
        sxt_emit_text(emit, "| ");
        print_code(emit, one->name);
        sxt_emit_text(emit, " | %s | %s | %s | %s |\n", cli_thousands(one->before).text, cli_thousands(one->after).text,
                      cli_change(one->change).text, cli_percent(one->change, one->before).text);
    }
    sxt_emit_text(emit, "| **total** | %s | %s | **%s** | %s |\n", cli_thousands(diff->before).text,
                  cli_thousands(diff->after).text, cli_change(diff->change).text, share.text);
    if (result->row_count > 0)
        print_markdown_rows(emit, diff, result);
}

/* --- all --- */

int cli_print_diff(struct sxt_emit *emit, enum cli_form form, const struct diff *diff)
{
    char text[60];
    struct sxt_size_result result;
    if (diff->limit == UINT64_MAX)
        snprintf(text, sizeof text, "| sort pss");
    else
        snprintf(text, sizeof text, "| sort pss | limit %llu", (unsigned long long)diff->limit);
    int status = cli_run_query(diff->sizes, text, &result);
    if (status != CLI_DONE)
        return status;
    if (form == CLI_JSON)
        print_json(emit, diff, &result);
    else if (form == CLI_CSV)
        print_csv(emit, diff, &result);
    else if (form == CLI_MARKDOWN)
        print_markdown(emit, diff, &result);
    else
        print_text(emit, diff, &result);
    sxt_size_result_clear(&result);
    return CLI_DONE;
}
