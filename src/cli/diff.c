/* diff.c: what changed between two size files, for people, for programs, for a pull request, and against budgets. */
#include "cli/diff.h"

#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/array.h"
#include "base/output.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "trace/trace.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write the diff as a .sizediff", NULL},
    {"all", 0, NULL, "print every symbol that changed, not only the largest changes", NULL},
    {"limit", 'n', "N", "print the N largest changes (default 30)", NULL},
    CLI_OPTION_JSON,
    {"csv", 0, NULL, "print CSV with a line of names on top", NULL},
    {"markdown", 0, NULL, "print Markdown, for a pull request", NULL},
    {"ignore-alias-only", 0, NULL, "symbols of the same size whose aliases changed are unchanged", NULL},
    {"fail-if-grows", 0, "SIZE", "exit status 1 when the file grows by more than 4k or 1%", NULL},
    {"fail-if-section", 0, "NAME=SIZE", "the same for a section: .text=1%; may be given several times", NULL},
    {"disassemble", 0, NULL, "show what changed in the code of the functions that changed\nmost, and store it with -o",
     NULL},
    {"before-binary", 0, "FILE", "the binary of BEFORE, when that is a .size file", NULL},
    {"after-binary", 0, "FILE", "the binary of AFTER, when that is a .size file", NULL},
    {"objdump", 0, "PROGRAM", "disassembles what is not x86; by default that of the toolchain", NULL},
    {"deflate", 0, "stock|fast", "how -o compresses: the bytes of the reference, or 8 times as fast", "stock fast"},
    CLI_OPTION_MAX_SIZE,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant diff old.size new.size", "totals, sections and the largest changes"},
    {"sextant diff old.size new.size -o d.sizediff", "keep it, for SuperSize's viewer and for 'sextant query'"},
    {"sextant diff --markdown --fail-if-grows 16k --fail-if-section .text=1% old.size new.size",
     "what a pull request costs, and a budget for it"},
    {"sextant diff run.mlyze@start run.mlyze@stop", "what one phase of a program left behind"},
    {"sextant diff --disassemble old/app new/app", "what changed, and how the code did"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_diff = {
    .name = "diff",
    .synopsis = "[OPTION...] BEFORE AFTER",
    .summary = "what changed between two size files, binaries or heap traces",
    .description =
        "Matches the symbols of two size files or binaries and prints what was added, removed and changed. One\n"
        ".sizediff in place of two files is shown the same way. Totals are of the bytes in the file: .bss and the\n"
        "like are shown but not counted. With a budget, the exit status is 1 when something grew more than it may.\n"
        "Of two heap traces, or FILE@MOMENT for what was live then, it prints which stacks hold more or less.",
    .options = options,
    .examples = examples,
    .run = run,
};

/* --- sections --- */

/* Sections by the number of their name; NULL when memory is short. */
static struct diff_section *section_of(struct diff *diff, struct sxt_strings *names, sxt_string name)
{
    uint32_t number = sxt_strings_add(names, name.data, name.size);
    if (number == SXT_STRINGS_FULL)
        return NULL;
    if (number >= diff->section_count) {
        struct diff_section *moved =
            sxt_array_grow(diff->sections, &diff->capacity, (size_t)number + 1, sizeof *diff->sections);
        if (moved == NULL)
            return NULL;
        diff->sections = moved;
        for (; diff->section_count <= number; diff->section_count++)
            diff->sections[diff->section_count] = (struct diff_section){.name = {"", 0}};
    }
    struct diff_section *section = &diff->sections[number];
    section->name = sxt_strings_get(names, number);
    section->is_bss = sxt_size_is_bss(name);
    return section;
}

static bool add_symbols(struct diff *diff, struct sxt_strings *names, const struct sxt_size_info *size, bool is_after)
{
    for (size_t i = 0; i < size->segment_count; i++) {
        const struct sxt_size_segment *segment = &size->segments[i];
        struct diff_section *section = section_of(diff, names, segment->section);
        if (section == NULL)
            return false;
        double pss = 0;
        for (size_t k = 0; k < segment->count; k++)
            pss += sxt_size_pss(size, &size->symbols[segment->first + k]);
        *(is_after ? &section->after : &section->before) += pss;
        section->symbols += segment->count;
    }
    return true;
}

/* What a file says about its sections, whether it has symbols of them or not. */
static bool add_stated(struct diff *diff, struct sxt_strings *names, const struct sxt_size_info *size, bool is_after)
{
    for (size_t i = 0; i < size->container_count; i++) {
        const struct sxt_json *sections = size->containers[i].sections;
        for (const struct sxt_json *one = sections != NULL ? sections->child : NULL; one != NULL; one = one->next) {
            struct diff_section *section = section_of(diff, names, one->key);
            if (section == NULL)
                return false;
            *(is_after ? &section->stated_after : &section->stated_before) += one->number;
        }
    }
    return true;
}

static bool add_changes(struct diff *diff, struct sxt_strings *names)
{
    size_t count = sxt_size_query_item_count(diff->subject);
    for (size_t i = 0; i < count; i++) {
        struct sxt_size_query_item item;
        sxt_size_query_get_item(diff->subject, i, &item);
        struct diff_section *section = section_of(diff, names, item.section);
        if (section == NULL)
            return false;
        section->change += item.pss;
        section->symbols++;
    }
    return true;
}

/* A sparse file has a part of its symbols only, so its sections are what it says they are. */
static void sum_up(struct diff *diff)
{
    memcpy(diff->counts, diff->delta->counts, sizeof diff->counts);
    /* Padding that is taken together is a symbol of its own, which the file before did not have. */
    diff->counts[SXT_SIZE_ADDED] += diff->delta->padding_count;
    bool is_sparse = diff->delta->before->is_sparse || diff->delta->after->is_sparse;
    for (size_t i = 0; i < diff->section_count; i++) {
        struct diff_section *section = &diff->sections[i];
        if (is_sparse) {
            section->before = section->stated_before;
            section->after = section->before + section->change;
        }
        if (section->symbols == 0 || section->is_bss)
            continue;
        diff->before += section->before;
        diff->after += section->after;
        diff->change += section->change;
    }
}

static int compare_sections(const void *left, const void *right)
{
    const struct diff_section *a = left, *b = right;
    if (a->is_bss != b->is_bss)
        return a->is_bss ? 1 : -1;
    if (a->after != b->after)
        return a->after < b->after ? 1 : -1;
    size_t shorter = a->name.size < b->name.size ? a->name.size : b->name.size;
    int order = memcmp(a->name.data, b->name.data, shorter);
    return order != 0 ? order : (a->name.size > b->name.size) - (a->name.size < b->name.size);
}

static bool collect(struct diff *diff)
{
    const struct sxt_size_info *before = diff->delta->before, *after = diff->delta->after;
    struct sxt_strings *names = &diff->names;
    sxt_error error;
    if (sxt_strings_init(names, 0, &error) != SXT_OK || !add_symbols(diff, names, before, false) ||
        !add_symbols(diff, names, after, true) || !add_changes(diff, names) ||
        !add_stated(diff, names, before, false) || !add_stated(diff, names, after, true))
        return false;
    sum_up(diff);
    qsort(diff->sections, diff->section_count, sizeof *diff->sections, compare_sections);
    return true;
}

static const struct diff_section *find_section(const struct diff *diff, sxt_string name)
{
    for (size_t i = 0; i < diff->section_count; i++)
        if (name.size > 0 && diff->sections[i].name.size == name.size &&
            memcmp(diff->sections[i].name.data, name.data, name.size) == 0)
            return &diff->sections[i];
    return NULL;
}

/* --- budgets --- */

struct budget {
    double bytes;
    bool is_percent;
};

static bool parse_budget(const char *text, struct budget *out)
{
    size_t size = strlen(text);
    out->is_percent = size > 1 && text[size - 1] == '%';
    return sxt_byte_count_parse(text, size - out->is_percent, &out->bytes) && out->bytes >= 0;
}

/* True, and a line on stderr, when it is broken. */
static bool is_broken(const struct diff *diff, const char *what, double change, double before, const char *text,
                      const struct budget *budget)
{
    double allowed = budget->is_percent ? before * budget->bytes / 100 : budget->bytes;
    /* Proportional sizes add up to whole bytes, but for the last bits. */
    if (change <= allowed + 1e-6)
        return false;
    struct cli_number grown = cli_thousands(change), share = cli_percent(change, before);
    cli_fail_text(diff->path, "%s grew by %s bytes%s%s%s, and %s is allowed", what, grown.text,
                  share.text[0] != 0 ? " (" : "", share.text, share.text[0] != 0 ? ")" : "", text);
    return true;
}

static int check_section(const struct cli_arguments *arguments, struct diff *diff, const char *text)
{
    struct budget budget;
    const char *equals = strrchr(text, '=');
    if (equals == NULL || equals == text || !parse_budget(equals + 1, &budget))
        return cli_usage(arguments->verb, "--fail-if-section takes a section and a size, like .text=1%%, not '%s'",
                         text);
    if (diff == NULL)
        return CLI_DONE;
    sxt_string name = {text, (size_t)(equals - text)};
    const struct diff_section *section = find_section(diff, name);
    if (section == NULL) {
        cli_warn(diff->path, "--fail-if-section: neither file has a section %.*s", (int)name.size, name.data);
        return CLI_DONE;
    }
    double before = section->symbols > 0 ? section->before : section->stated_before;
    double change = section->symbols > 0 ? section->change : section->stated_after - section->stated_before;
    char words[120];
    snprintf(words, sizeof words, "section %.*s", (int)(name.size < 100 ? name.size : 100), name.data);
    return is_broken(diff, words, change, before, equals + 1, &budget) ? CLI_NO : CLI_DONE;
}

/* With DIFF == NULL only what was given is checked. */
static int check_budgets(const struct cli_arguments *arguments, struct diff *diff)
{
    int status = CLI_DONE;
    const char *text = cli_value(arguments, "fail-if-grows");
    struct budget budget;
    if (text != NULL && !parse_budget(text, &budget))
        return cli_usage(arguments->verb, "--fail-if-grows takes a size like 4k or 1%%, not '%s'", text);
    if (text != NULL && diff != NULL && is_broken(diff, "the file", diff->change, diff->before, text, &budget))
        status = CLI_NO;
    for (size_t i = 0; (text = cli_value_at(arguments, "fail-if-section", i)) != NULL; i++) {
        int one = check_section(arguments, diff, text);
        if (one != CLI_DONE)
            status = one;
    }
    return status;
}

/* --- the file --- */

static int write_sizediff(const struct cli_arguments *arguments, const struct diff *diff)
{
    const char *path = cli_value(arguments, "output"), *deflate = cli_value(arguments, "deflate");
    enum sxt_size_deflate how =
        deflate != NULL && strcmp(deflate, "fast") == 0 ? SXT_SIZE_DEFLATE_FAST : SXT_SIZE_DEFLATE_STOCK;
    struct sxt_sizediff made = {0};
    struct sxt_buffer buffer;
    sxt_error error;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    int status = sxt_size_make_sizediff(diff->delta, &made, &error);
    if (status == SXT_OK)
        status = sxt_sizediff_save(&made, how, &buffer, &error);
    if (status == SXT_OK)
        status = sxt_output_save(path, buffer.data, buffer.size, &error);
    sxt_sizediff_free(&made);
    sxt_buffer_free(&buffer);
    return status == SXT_OK ? CLI_DONE : cli_fail(path, &error);
}

/* --- disassembly --- */

/* Puts it on the symbols of the later file. A machine that nothing here can disassemble costs just that. */
static int disassemble(const struct cli_arguments *arguments, struct cli_sizes *sizes)
{
    struct sxt_size_disassembling how = {.before_binary = cli_value(arguments, "before-binary"),
                                         .after_binary = cli_value(arguments, "after-binary"),
                                         .objdump = cli_value(arguments, "objdump")};
    const char *failed;
    sxt_error error;
    if (arguments->word_count == 1 && how.before_binary == NULL && how.after_binary == NULL)
        return CLI_DONE; /* a .sizediff has what it has */
    if (how.before_binary == NULL)
        how.before_binary = arguments->words[0];
    if (how.after_binary == NULL)
        how.after_binary = arguments->words[1];
    int status = sxt_size_disassemble(&sizes->delta, sizes->pair.after, &how, &failed, &error);
    bool is_given = cli_given(arguments, "before-binary") && cli_given(arguments, "after-binary");
    if (status == SXT_ERROR_UNSUPPORTED)
        cli_warn(failed, "no disassembly: %s%s", error.text, is_given ? "" : " (--before-binary, --after-binary)");
    else if (status != SXT_OK)
        return cli_fail(failed, &error);
    else if (sizes->pair.after->disassembly_count == 0)
        cli_warn(sizes->path, "no disassembly: no function of the binary changed by 10 bytes or more");
    return CLI_DONE;
}

/* Lines and tabs are ours; what is between them came from files. */
static void print_listing(struct sxt_emit *emit, sxt_string text)
{
    for (size_t at = 0; at < text.size;) {
        size_t end = at;
        while (end < text.size && text.data[end] != '\n' && text.data[end] != '\t')
            end++;
        sxt_emit_name(emit, (sxt_string){text.data + at, end - at});
        sxt_emit_text(emit, end < text.size && text.data[end] == '\t' ? "\t" : "\n");
        at = end + 1;
    }
}

static void print_disassembly(struct sxt_emit *emit, const struct sxt_size_info *after)
{
    for (size_t i = 0; i < after->disassembly_count; i++) {
        const struct sxt_size_model_symbol *symbol = &after->symbols[after->disassemblies[i].symbol];
        const struct sxt_size_segment *segment = &after->segments[symbol->segment];
        sxt_string text = after->disassemblies[i].text;
        sxt_emit_record(emit);
        if (sxt_emit_is_json(emit)) {
            sxt_emit_string(emit, "container", after->containers[segment->container].name);
            sxt_emit_string(emit, "section", segment->section);
            sxt_emit_string(emit, "full_name", sxt_size_full_name(symbol));
            sxt_emit_string(emit, "disassembly", text);
        } else {
            sxt_emit_text(emit, "\n");
            print_listing(emit, text);
        }
        sxt_emit_record_end(emit);
    }
}

static void print_all(struct sxt_emit *emit, enum cli_form form, const struct sxt_size_info *after)
{
    bool is_markdown = form == CLI_MARKDOWN && after->disassembly_count > 0;
    if (form == CLI_CSV)
        return;
    if (is_markdown)
        sxt_emit_text(emit, "\n<details>\n<summary>disassembly</summary>\n\n```diff\n");
    print_disassembly(emit, after);
    if (is_markdown)
        sxt_emit_text(emit, "```\n\n</details>\n");
}

/* --- usage and order --- */

static int check_disassembling(const struct cli_arguments *arguments)
{
    bool has_before = cli_given(arguments, "before-binary"), has_after = cli_given(arguments, "after-binary");
    bool is_asked = cli_given(arguments, "disassemble");
    if (!is_asked && (has_before || has_after || cli_given(arguments, "objdump")))
        return cli_usage(arguments->verb, "--before-binary, --after-binary and --objdump are for --disassemble");
    if (arguments->word_count == 1 && has_before != has_after)
        return cli_usage(arguments->verb, "a .sizediff needs both --before-binary and --after-binary");
    if (is_asked && cli_given(arguments, "csv") && !cli_given(arguments, "output"))
        return cli_usage(arguments->verb, "--disassemble has no place in CSV");
    return CLI_DONE;
}

static int check_usage(const struct cli_arguments *arguments)
{
    const char *deflate = cli_value(arguments, "deflate"), *output = cli_value(arguments, "output");
    if (arguments->word_count == 0 || arguments->word_count > 2)
        return cli_usage(arguments->verb, "two files, or one .sizediff, are needed");
    if (cli_given(arguments, "json") + cli_given(arguments, "csv") + cli_given(arguments, "markdown") > 1)
        return cli_usage(arguments->verb, "--json, --csv and --markdown contradict each other");
    if (deflate != NULL && strcmp(deflate, "stock") != 0 && strcmp(deflate, "fast") != 0)
        return cli_usage(arguments->verb, "--deflate takes stock or fast, not '%s'", deflate);
    if (arguments->word_count == 1 && cli_given(arguments, "ignore-alias-only"))
        return cli_usage(arguments->verb, "--ignore-alias-only needs two files");
    if (arguments->word_count == 1 && output != NULL)
        return cli_usage(arguments->verb, "-o needs two files");
    int status = check_disassembling(arguments);
    return status == CLI_DONE ? check_budgets(arguments, NULL) : status;
}

static int show(const struct cli_arguments *arguments, struct diff *diff)
{
    enum cli_form form = cli_given(arguments, "json")       ? CLI_JSON
                         : cli_given(arguments, "csv")      ? CLI_CSV
                         : cli_given(arguments, "markdown") ? CLI_MARKDOWN
                                                            : CLI_TABLE;
    const char *output = cli_value(arguments, "output");
    if (output != NULL) {
        int status = write_sizediff(arguments, diff);
        if (status != CLI_DONE || strcmp(output, "-") == 0)
            return status;
    }
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, form == CLI_JSON);
    bool is_disassembled = cli_given(arguments, "disassemble");
    /* In JSON the summary is the last line. */
    if (is_disassembled && form == CLI_JSON)
        print_all(&emit, form, diff->delta->after);
    int status = cli_print_diff(&emit, form, diff);
    if (is_disassembled && form != CLI_JSON && status == CLI_DONE)
        print_all(&emit, form, diff->delta->after);
    return cli_finish(&emit, status);
}

/* Heap traces have their own ways; what is for sizes is not for them. */
static int diff_traces(const struct cli_arguments *arguments)
{
    for (const struct cli_option *option = options; option->name != NULL; option++)
        if (strcmp(option->name, "json") != 0 && strcmp(option->name, "limit") != 0 &&
            cli_given(arguments, option->name))
            return cli_usage(arguments->verb, "--%s is for sizes, not for heap traces", option->name);
    return cli_diff_heap(arguments, arguments->words[0], arguments->words[1]);
}

static int run(const struct cli_arguments *arguments)
{
    struct diff diff = {0};
    struct cli_sizes sizes = {0};
    struct sxt_size_delta_options how = {.ignore_alias_only = cli_given(arguments, "ignore-alias-only")};
    if (arguments->word_count == 2 && cli_is_trace(arguments->words[0]))
        return diff_traces(arguments);
    int status = check_usage(arguments);
    bool is_all = cli_given(arguments, "all") || cli_given(arguments, "json") || cli_given(arguments, "csv");
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "limit", is_all ? UINT64_MAX : 30, &diff.limit);
    if (status != CLI_DONE)
        return status;
    if (arguments->word_count == 2)
        status = cli_sizes_open_two(arguments, arguments->words[0], arguments->words[1], &how, &sizes);
    else
        status = cli_sizes_open(arguments, arguments->words[0], &sizes);
    if (status == CLI_DONE && sizes.subject.delta == NULL)
        status = cli_usage(arguments->verb, "one file is not enough, unless it is a .sizediff");
    if (status == CLI_DONE && cli_given(arguments, "disassemble"))
        status = disassemble(arguments, &sizes);
    if (status == CLI_DONE) {
        diff.path = sizes.path;
        diff.sizes = &sizes;
        diff.subject = &sizes.subject;
        diff.delta = &sizes.delta;
        status = collect(&diff) ? show(arguments, &diff) : cli_fail_text(sizes.path, "out of memory");
        if (status == CLI_DONE)
            status = check_budgets(arguments, &diff);
    }
    free(diff.sections);
    sxt_strings_free(&diff.names);
    cli_sizes_close(&sizes);
    return status;
}
