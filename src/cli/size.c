/* size.c: what takes the space: sections, symbols and directories on one screen. */
#include <stdlib.h>
#include <string.h>

#include "cli/sizes.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"by", 0, "KEY",
     "one table only, by section, symbol, path[:DEPTH], directory[:DEPTH],\n"
     "component, name, template, namespace[:DEPTH], container, crate, ...;\n"
     "inlined: what inlined calls take, from a binary's DWARF",
     "section symbol path directory source object component name template full namespace container aliases flags "
     "crate package generated inlined"},
    {"limit", 'n', "N", "rows of a table (default 10 each, 50 with --by)", NULL},
    CLI_OPTION_JSON,
    CLI_OPTION_MAX_SIZE,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant size app.size", "sections, the largest symbols and the largest directories"},
    {"sextant size --by path:3 -n 100 app.size", "a hundred directories, three levels deep"},
    {"sextant size --by crate target/release/app", "what each Rust crate takes"},
    {"sextant size --by inlined app", "what functions cost in all places where they were inlined"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_size = {
    .name = "size",
    .synopsis = "[OPTION...] FILE",
    .summary = "what takes the space",
    .description =
        "Prints the sections of a binary with what they take in the file and in memory, its largest symbols\n"
        "and its largest directories. 'sextant query' asks for more.",
    .options = options,
    .examples = examples,
    .run = run,
};

/* --- sections --- */

#define DETAILS_MAX 5 /* that fit on a screen with the rest */

struct section {
    sxt_string container, name;
    int64_t bytes;
    uint64_t symbols;
    bool is_bss, is_detail, is_loaded;
};

struct sections {
    struct section *items;
    size_t count;
    int64_t file, memory;
    uint64_t symbols;
    struct sxt_strings names; /* while they are collected: container and name */
    struct sxt_buffer key;
    bool *has_other; /* by container: symbols of the section .other */
};

static bool begins(sxt_string text, const char *start)
{
    return text.size >= strlen(start) && memcmp(text.data, start, strlen(start)) == 0;
}

/* A size file does not tell which sections are loaded; their names do. */
static bool is_loaded(sxt_string name)
{
    static const char *const not_loaded[] = {".debug",    ".zdebug",  ".comment", ".symtab", ".strtab",
                                             ".shstrtab", ".gnu_deb", ".stab",    ".dex",    ".pak",
                                             ".arsc",     ".other",   ".ARM.att", ".riscv."};
    for (size_t i = 0; i < sizeof not_loaded / sizeof *not_loaded; i++)
        if (begins(name, not_loaded[i]))
            return false;
    return true;
}

/* The section of that name in container NUMBER; NULL when memory is short. */
static struct section *find_section(struct sections *sections, const struct sxt_size_info *size, uint32_t number,
                                    sxt_string name)
{
    sxt_buffer_clear(&sections->key);
    sxt_buffer_u32le(&sections->key, number);
    sxt_buffer_append(&sections->key, name.data, name.size);
    uint32_t found = sections->key.failed
                         ? SXT_STRINGS_FULL
                         : sxt_strings_add(&sections->names, (char *)sections->key.data, sections->key.size);
    if (found == SXT_STRINGS_FULL)
        return NULL;
    /* Number 0 is the empty string, which is no key here. */
    if (found <= sections->count)
        return &sections->items[found - 1];
    struct section *added = &sections->items[sections->count++];
    *added =
        (struct section){.container = size->containers[number].name, .name = name, .is_bss = sxt_size_is_bss(name)};
    added->is_loaded = is_loaded(name);
    return added;
}

static bool is_other(sxt_string name)
{
    return name.size == 6 && memcmp(name.data, ".other", 6) == 0;
}

/* Sections that SuperSize has no letter for are in its ".other" already, where a container has that. */
static bool is_detail(sxt_string name, bool has_other)
{
    struct sxt_size_segment segment = {.section = name};
    sxt_size_classify(&segment);
    return memchr(name.data, '(', name.size) != NULL || (segment.letter == 'o' && !is_other(name) && has_other);
}

static bool add_sizes(struct sections *sections, const struct sxt_size_info *size, uint32_t number)
{
    const struct sxt_size_container *container = &size->containers[number];
    if (container->sections == NULL)
        return true;
    bool has_other = sections->has_other[number] || sxt_json_member(container->sections, ".other") != NULL;
    for (const struct sxt_json *one = container->sections->child; one != NULL; one = one->next) {
        struct section *section = find_section(sections, size, number, one->key);
        if (section == NULL)
            return false;
        section->bytes = one->is_signed ? one->signed_value : 0;
        section->is_detail = is_detail(one->key, has_other);
    }
    return true;
}

static bool add_symbols(struct sections *sections, const struct sxt_size_info *size,
                        const struct sxt_size_segment *segment)
{
    struct section *section = find_section(sections, size, segment->container, segment->section);
    double pss = 0;
    if (section == NULL)
        return false;
    for (size_t i = 0; i < segment->count; i++)
        pss += sxt_size_pss(size, &size->symbols[segment->first + i]);
    section->symbols += segment->count;
    if (section->bytes == 0 && pss > -9e18 && pss < 9e18)
        section->bytes = (int64_t)(pss + 0.5);
    return true;
}

static int compare_names(sxt_string a, sxt_string b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_sections(const void *left, const void *right)
{
    const struct section *a = left, *b = right;
    if (a->is_detail != b->is_detail)
        return a->is_detail ? 1 : -1;
    if (a->is_bss != b->is_bss)
        return a->is_bss ? 1 : -1;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : compare_names(a->name, b->name);
}

static void sum_up(struct sections *sections)
{
    for (size_t i = 0; i < sections->count; i++) {
        const struct section *one = &sections->items[i];
        bool is_note = memchr(one->name.data, '(', one->name.size) != NULL;
        sections->symbols += one->symbols;
        if (!one->is_detail && !one->is_bss && __builtin_add_overflow(sections->file, one->bytes, &sections->file))
            sections->file = INT64_MAX;
        if (one->is_loaded && !is_note && __builtin_add_overflow(sections->memory, one->bytes, &sections->memory))
            sections->memory = INT64_MAX;
    }
}

static bool collect(const struct sxt_size_info *size, struct sections *out)
{
    size_t most = size->segment_count + 1;
    for (size_t i = 0; i < size->container_count; i++)
        most += size->containers[i].sections != NULL ? size->containers[i].sections->count : 0;
    sxt_error error;
    *out = (struct sections){.items = calloc(most, sizeof *out->items),
                             .has_other = calloc(size->container_count + 1, sizeof *out->has_other)};
    sxt_buffer_init(&out->key, (size_t)64 << 20);
    bool good = sxt_strings_init(&out->names, 0, &error) == SXT_OK && out->items != NULL && out->has_other != NULL;
    for (size_t i = 0; i < size->segment_count && good; i++)
        out->has_other[size->segments[i].container] |= is_other(size->segments[i].section);
    for (uint32_t i = 0; i < size->container_count && good; i++)
        good = add_sizes(out, size, i);
    for (size_t i = 0; i < size->segment_count && good; i++)
        good = add_symbols(out, size, &size->segments[i]);
    sxt_strings_free(&out->names);
    sxt_buffer_free(&out->key);
    free(out->has_other);
    sum_up(out);
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, compare_sections);
    return good;
}

static void print_section_json(struct sxt_emit *emit, const struct section *section)
{
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "kind", "section");
    sxt_emit_string(emit, "container", section->container);
    sxt_emit_string(emit, "section", section->name);
    cli_emit_signed(emit, "file", section->is_bss ? 0 : section->bytes);
    cli_emit_signed(emit, "memory", section->is_loaded ? section->bytes : 0);
    sxt_emit_number(emit, "symbols", section->symbols);
    sxt_emit_bool(emit, "counted_in_other", section->is_detail);
    sxt_emit_record_end(emit);
}

static void print_section(struct sxt_emit *emit, const struct section *section, double whole, bool with_container)
{
    double file = section->is_bss ? 0 : (double)section->bytes,
           memory = section->is_loaded ? (double)section->bytes : 0;
    sxt_emit_text(emit, "%13s  %7s  %13s  %9s  ", section->is_bss ? "" : cli_thousands(file).text,
                  section->is_bss || section->is_detail ? "" : cli_percent(file, whole).text,
                  section->is_loaded ? cli_thousands(memory).text : "",
                  section->symbols > 0 ? cli_thousands((double)section->symbols).text : "");
    if (with_container) {
        sxt_emit_name(emit, section->container);
        sxt_emit_text(emit, " ");
    }
    sxt_emit_name(emit, section->name);
    sxt_emit_text(emit, section->is_detail ? "  (in .other)\n" : "\n");
}

static void print_sections(struct sxt_emit *emit, const struct sections *sections, bool with_container)
{
    size_t details = 0;
    sxt_emit_text(emit, "%13s  %7s  %13s  %9s  section\n", "file", "%", "memory", "symbols");
    for (size_t i = 0; i < sections->count; i++) {
        details += sections->items[i].is_detail;
        if (sxt_emit_is_json(emit))
            print_section_json(emit, &sections->items[i]);
        else if (details <= DETAILS_MAX)
            print_section(emit, &sections->items[i], (double)sections->file, with_container);
    }
    if (details > DETAILS_MAX)
        sxt_emit_text(emit, "%50s%zu more  (in .other)\n", "", details - DETAILS_MAX);
    sxt_emit_text(emit, "%13s  %7s  %13s  %9s  total\n", cli_thousands((double)sections->file).text,
                  cli_percent(1, 1).text, cli_thousands((double)sections->memory).text,
                  cli_thousands((double)sections->symbols).text);
    if (!sxt_emit_is_json(emit))
        return;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "kind", "total");
    cli_emit_signed(emit, "file", sections->file);
    cli_emit_signed(emit, "memory", sections->memory);
    sxt_emit_number(emit, "symbols", sections->symbols);
    sxt_emit_record_end(emit);
}

/* --- tables by query --- */

static int print_query(struct sxt_emit *emit, const struct cli_sizes *sizes, const char *text, const char *title,
                       double whole)
{
    struct sxt_size_result result;
    int status = cli_run_query(sizes, text, &result);
    if (status != CLI_DONE)
        return status;
    if (title != NULL)
        sxt_emit_text(emit, "\n%s\n", title);
    cli_print_rows(emit, sxt_emit_is_json(emit) ? CLI_JSON : CLI_TABLE, &sizes->subject, &result, whole);
    sxt_size_result_clear(&result);
    return CLI_DONE;
}

/* Paths may have a long beginning in common; the table is as deep as it takes to tell them apart. */
static int print_directories(struct sxt_emit *emit, const struct cli_sizes *sizes, uint64_t limit, double whole)
{
    struct sxt_size_result result = {0};
    char text[100];
    for (int depth = 2; depth <= 8 && result.all_rows < 6; depth++) {
        sxt_size_result_clear(&result);
        snprintf(text, sizeof text, "not is:bss | group directory:%d | limit %llu", depth, (unsigned long long)limit);
        int status = cli_run_query(sizes, text, &result);
        if (status != CLI_DONE)
            return status;
    }
    sxt_emit_text(emit, "\nlargest directories\n");
    cli_print_rows(emit, sxt_emit_is_json(emit) ? CLI_JSON : CLI_TABLE, &sizes->subject, &result, whole);
    sxt_size_result_clear(&result);
    return CLI_DONE;
}

static int print_screen(struct sxt_emit *emit, const struct cli_sizes *sizes, uint64_t limit)
{
    struct sections sections;
    if (!collect(sizes->single, &sections)) {
        free(sections.items);
        return cli_fail_text(sizes->path, "out of memory");
    }
    char text[100];
    double whole = (double)sections.file;
    print_sections(emit, &sections, sizes->single->container_count > 1);
    free(sections.items);
    snprintf(text, sizeof text, "not is:bss | limit %llu", (unsigned long long)limit);
    int status = print_query(emit, sizes, text, "largest symbols", whole);
    return status == CLI_DONE ? print_directories(emit, sizes, limit, whole) : status;
}

static int print_by(struct sxt_emit *emit, const struct cli_sizes *sizes, const char *by, uint64_t limit)
{
    char text[200];
    if (strcmp(by, "symbol") == 0)
        snprintf(text, sizeof text, "| limit %llu", (unsigned long long)limit);
    else
        snprintf(text, sizeof text, "| group %.100s | limit %llu", by, (unsigned long long)limit);
    return print_query(emit, sizes, text, NULL, 0);
}

/* --by takes what group does, and nothing behind it. */
static int check_by(const struct cli_arguments *arguments, const char *by)
{
    char text[200];
    struct sxt_size_query *query;
    sxt_error error;
    if (by == NULL || strcmp(by, "symbol") == 0 || strcmp(by, "inlined") == 0)
        return CLI_DONE;
    int size = snprintf(text, sizeof text, "| group %s", by);
    if (strchr(by, '|') != NULL || size >= 100 || sxt_size_query_parse(text, (size_t)size, &query, &error) != SXT_OK)
        return cli_usage(arguments->verb, "--by takes symbol, section, path:2, component, name and the like, not '%s'",
                         by);
    sxt_size_query_free(&query);
    return CLI_DONE;
}

static int print(const struct cli_arguments *arguments, struct sxt_emit *emit, const char *by, uint64_t limit)
{
    if (by != NULL && strcmp(by, "inlined") == 0)
        return cli_print_inlined(emit, arguments->words[0], limit);
    struct cli_sizes sizes;
    int status = cli_sizes_open(arguments, arguments->words[0], &sizes);
    if (status == CLI_DONE && sizes.single == NULL)
        status = cli_fail_text(sizes.path, "this is a diff; 'sextant diff %s' shows it", sizes.path);
    if (status == CLI_DONE)
        status = by != NULL ? print_by(emit, &sizes, by, limit) : print_screen(emit, &sizes, limit);
    cli_sizes_close(&sizes);
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
