/* size.c: the verb size: sections, symbols and directories by the space they take, on one screen. */
#include <stdlib.h>
#include <string.h>

#include "cli/size_input.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"by", 0, "KEY",
     "print one table: by section, symbol, path[:DEPTH], directory[:DEPTH],\n"
     "component, name, template, namespace[:DEPTH], container, crate, ...;\n"
     "inlined: what inlined functions take, from a binary's DWARF",
     "section symbol path directory source object component name template full namespace container aliases flags "
     "crate package generated inlined"},
    {"limit", 'n', "N", "print at most N rows per table (default: 10, or 50 with --by)", NULL},
    CLI_OPTION_JSON,
    CLI_OPTION_WIDE,
    CLI_OPTION_NO_MAP,
    CLI_OPTION_MAX_SIZE,
    CLI_OPTION_THREADS,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant size app.size", "sections, the largest symbols and the largest directories"},
    {"sextant size --by path:3 -n 100 app.size", "a hundred directories, three levels deep"},
    {"sextant size --by crate target/release/app", "what each Rust crate takes"},
    {"sextant size --by inlined app", "what each function takes in all places where it is inlined"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_size = {
    .name = "size",
    .synopsis = "[OPTION...] FILE",
    .summary = "print what takes the space in a binary",
    .description = "Prints the sections of a binary with their sizes in the file and in memory, its largest symbols\n"
                   "and its largest directories. FILE is a size file, a binary, a static library or an\n"
                   "Android package (.apk, .aab, or another zip file).\n"
                   "'sextant query' answers other questions.",
    .options = options,
    .examples = examples,
    .run = run,
};

/* --- sections --- */

#define IN_OTHER_MAX 5 /* sections of .other that fit on a screen with the rest */

static void print_section_json(struct sxt_emit *emit, const sxt_size_section *section)
{
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "kind", "section");
    sxt_emit_string(emit, "container", section->container);
    sxt_emit_string(emit, "section", section->name);
    cli_emit_signed(emit, "file", section->file);
    cli_emit_signed(emit, "memory", section->memory);
    sxt_emit_number(emit, "symbols", section->symbols);
    sxt_emit_bool(emit, "counted_in_other", section->is_in_other);
    sxt_emit_record_end(emit);
}

static void print_section(struct sxt_emit *emit, const sxt_size_section *section, double whole, bool with_container)
{
    double file = (double)section->file, memory = (double)section->memory;
    sxt_emit_text(emit, "%13s  %7s  %13s  %9s  ", section->is_bss ? "" : cli_thousands(file).text,
                  section->is_bss || section->is_in_other ? "" : cli_percent(file, whole).text,
                  section->is_loaded ? cli_thousands(memory).text : "",
                  section->symbols > 0 ? cli_thousands((double)section->symbols).text : "");
    if (with_container) {
        sxt_emit_name(emit, section->container);
        sxt_emit_text(emit, " ");
    }
    sxt_emit_name(emit, section->name);
    sxt_emit_text(emit, section->is_in_other ? "  (in .other)\n" : "\n");
}

static void print_total(struct sxt_emit *emit, const sxt_size_section *total)
{
    sxt_emit_text(emit, "%13s  %7s  %13s  %9s  total\n", cli_thousands((double)total->file).text,
                  cli_percent(1, 1).text, cli_thousands((double)total->memory).text,
                  cli_thousands((double)total->symbols).text);
    if (!sxt_emit_is_json(emit))
        return;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "kind", "total");
    cli_emit_signed(emit, "file", total->file);
    cli_emit_signed(emit, "memory", total->memory);
    sxt_emit_number(emit, "symbols", total->symbols);
    sxt_emit_record_end(emit);
}

/* *WHOLE becomes what all sections take in the file. */
static int print_sections(struct sxt_emit *emit, const struct cli_size_input *input, double *whole)
{
    sxt_size_sections *sections;
    sxt_size_summary summary = SXT_SIZE_SUMMARY_INIT;
    sxt_size_section section = SXT_SIZE_SECTION_INIT, total = SXT_SIZE_SECTION_INIT;
    size_t in_other = 0;
    sxt_error error;
    if (sxt_size_sections_make(input->info, &sections, &error) != SXT_OK)
        return cli_fail(input->path, &error);
    sxt_size_info_summary(input->info, &summary);
    sxt_size_sections_total(sections, &total);
    *whole = (double)total.file;
    sxt_emit_text(emit, "%13s  %7s  %13s  %9s  section\n", "file", "%", "memory", "symbols");
    for (size_t i = 0; sxt_size_sections_get(sections, i, &section) == SXT_OK; i++) {
        in_other += section.is_in_other;
        if (sxt_emit_is_json(emit))
            print_section_json(emit, &section);
        else if (in_other <= IN_OTHER_MAX)
            print_section(emit, &section, *whole, summary.containers > 1);
    }
    if (in_other > IN_OTHER_MAX)
        sxt_emit_text(emit, "%50s%zu more  (in .other)\n", "", in_other - IN_OTHER_MAX);
    print_total(emit, &total);
    sxt_size_sections_free(&sections);
    return CLI_DONE;
}

/* --- tables by query --- */

static void print_rows(struct sxt_emit *emit, const struct cli_size_input *input, const sxt_size_result *result,
                       double whole)
{
    struct cli_row_options how = {.form = sxt_emit_is_json(emit) ? CLI_JSON : CLI_TABLE, .whole = whole};
    cli_print_rows(emit, &how, input, result);
}

static int print_query(struct sxt_emit *emit, const struct cli_size_input *input, const char *text, const char *title,
                       double whole)
{
    sxt_size_result *result;
    int status = cli_run_query(input, text, &result);
    if (status != CLI_DONE)
        return status;
    if (title != NULL)
        sxt_emit_text(emit, "\n%s\n", title);
    print_rows(emit, input, result, whole);
    sxt_size_result_free(&result);
    return CLI_DONE;
}

/* Paths may share a long beginning: the depth is the lowest that gives several rows. */
static int print_directories(struct sxt_emit *emit, const struct cli_size_input *input, uint64_t limit, double whole)
{
    sxt_size_result *result = NULL;
    sxt_size_row total = SXT_SIZE_ROW_INIT;
    char text[100];
    for (int depth = 2; depth <= 8 && (result == NULL || sxt_size_result_total(result, &total) < 6); depth++) {
        sxt_size_result_free(&result);
        snprintf(text, sizeof text, "not is:bss | group directory:%d | limit %llu", depth, (unsigned long long)limit);
        int status = cli_run_query(input, text, &result);
        if (status != CLI_DONE)
            return status;
    }
    sxt_emit_text(emit, "\nlargest directories\n");
    print_rows(emit, input, result, whole);
    sxt_size_result_free(&result);
    return CLI_DONE;
}

static int print_screen(struct sxt_emit *emit, const struct cli_size_input *input, uint64_t limit)
{
    double whole = 0;
    char text[100];
    int status = print_sections(emit, input, &whole);
    if (status != CLI_DONE)
        return status;
    status = cli_print_packages(emit, input, limit);
    if (status != CLI_DONE)
        return status;
    snprintf(text, sizeof text, "not is:bss | limit %llu", (unsigned long long)limit);
    status = print_query(emit, input, text, "largest symbols", whole);
    return status == CLI_DONE ? print_directories(emit, input, limit, whole) : status;
}

static int print_by(struct sxt_emit *emit, const struct cli_size_input *input, const char *by, uint64_t limit)
{
    char text[200];
    if (strcmp(by, "symbol") == 0)
        snprintf(text, sizeof text, "| limit %llu", (unsigned long long)limit);
    else
        snprintf(text, sizeof text, "| group %.100s | limit %llu", by, (unsigned long long)limit);
    return print_query(emit, input, text, NULL, 0);
}

/* --by takes the keys of a group stage, and no further stage. */
static int check_by(const struct cli_arguments *arguments, const char *by)
{
    char text[200];
    sxt_size_query *query;
    sxt_error error;
    if (by == NULL || strcmp(by, "symbol") == 0 || strcmp(by, "inlined") == 0)
        return CLI_DONE;
    int size = snprintf(text, sizeof text, "| group %s", by);
    if (strchr(by, '|') != NULL || size >= 100 || sxt_size_query_parse(text, (size_t)size, &query, &error) != SXT_OK)
        return cli_usage(arguments->verb, "unknown key for --by: '%s'", by);
    sxt_size_query_free(&query);
    return CLI_DONE;
}

static int print(const struct cli_arguments *arguments, struct sxt_emit *emit, const char *by, uint64_t limit)
{
    if (by != NULL && strcmp(by, "inlined") == 0)
        return cli_print_inlined(arguments, emit, arguments->words[0], limit);
    struct cli_size_input input;
    int status = cli_size_open(arguments, arguments->words[0], &input);
    if (status == CLI_DONE && input.info == NULL)
        status = cli_fail_text(input.path, "a diff, not a size file; 'sextant diff %s' prints it", input.path);
    if (status == CLI_DONE)
        status = by != NULL ? print_by(emit, &input, by, limit) : print_screen(emit, &input, limit);
    cli_size_close(&input);
    return status;
}

static int run(const struct cli_arguments *arguments)
{
    const char *by = cli_value(arguments, "by");
    uint64_t limit;
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, arguments->word_count == 0 ? "no file given" : "one file at a time");
    int status = cli_count_option(arguments, "limit", by != NULL ? 50 : 10, &limit);
    if (status == CLI_DONE)
        status = check_by(arguments, by);
    if (status != CLI_DONE)
        return status;
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, cli_given(arguments, "json"));
    return cli_finish(&emit, print(arguments, &emit, by, limit));
}
