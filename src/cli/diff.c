/* diff.c: the verb diff: what changed between two builds, for people, programs and pull requests, and budgets. */
#include "cli/diff.h"

#include <string.h>
#include <unistd.h>

#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write the diff as a .sizediff", NULL},
    {"all", 0, NULL, "print every symbol that changed, not only the largest changes", NULL},
    {"limit", 'n', "N", "print the N largest changes (default 30)", NULL},
    CLI_OPTION_JSON,
    {"csv", 0, NULL, "print CSV with a header line", NULL},
    {"markdown", 0, NULL, "print Markdown, for a pull request", NULL},
    {"ignore-alias-only", 0, NULL, "do not count symbols as changed if only their aliases changed", NULL},
    {"fail-if", 0, "METRIC[:FUNCTION]=+N",
     "heap traces: exit with status 1 if peak, leaked, allocated or\nallocations grow by more than +N, +Nk or +N% "
     "(k is 1000), in all\nstacks or in those with FUNCTION; may be repeated",
     NULL},
    {"path-map", 0, "OLD=NEW",
     "heap traces: replace OLD at the beginning of file names by NEW;\nmay be repeated; the first that matches is used",
     NULL},
    {"suppressions", 0, "FILE", "heap traces: leave known leaks out; lines leak:PATTERN match\nfunctions and files",
     NULL},
    {"no-default-suppressions", 0, NULL, "heap traces: count what libc and libstdc++ keep until the end\nas leaked",
     NULL},
    {"fail-if-grows", 0, "SIZE", "exit with status 1 if the file grows by more than SIZE (4k, 1%)", NULL},
    {"fail-if-section", 0, "NAME=SIZE", "the same for a section (.text=1%); may be repeated", NULL},
    {"disassemble", 0, NULL, "show what changed in the code of the functions that changed\nmost, and store it with -o",
     NULL},
    {"before-binary", 0, "FILE", "the binary of BEFORE, if that is a .size file", NULL},
    {"after-binary", 0, "FILE", "the binary of AFTER, if that is a .size file", NULL},
    {"objdump", 0, "PROGRAM", "accepted and ignored: no program is needed to disassemble", NULL},
    {"deflate", 0, "stock|fast", "for -o: the bytes of SuperSize (default), or 10 times as fast", "stock fast"},
    CLI_OPTION_WIDE,
    CLI_OPTION_NO_MAP,
    CLI_OPTION_MAX_SIZE,
    CLI_OPTION_THREADS,
    {NULL, 0, NULL, NULL, NULL},
};

/* Options that are only for heap traces. */
static const char *const of_traces[] = {"fail-if", "path-map", "suppressions", "no-default-suppressions"};

static const struct cli_example examples[] = {
    {"sextant diff old.size new.size", "totals, sections and the largest changes"},
    {"sextant diff old.size new.size -o d.sizediff", "keep it, for SuperSize's viewer and for 'sextant query'"},
    {"sextant diff --markdown --fail-if-grows 16k --fail-if-section .text=1% old.size new.size",
     "what a pull request costs, and a budget for it"},
    {"sextant diff run.mlyze@start run.mlyze@stop", "what one phase of a program left allocated"},
    {"sextant diff --fail-if peak=+5% --fail-if leaked:parse=+0 old.mlyze new.mlyze", "budgets for a heap"},
    {"sextant diff --markdown old1.mlyze old2.mlyze old3.mlyze -- new1.mlyze new2.mlyze new3.mlyze",
     "several runs of each side: separate noise from growth"},
    {"sextant diff --disassemble old/app new/app", "what changed, and how the code changed"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_diff = {
    .name = "diff",
    .synopsis = "[OPTION...] BEFORE AFTER | BEFORE... -- AFTER...",
    .summary = "print what changed between two size files, binaries or heap traces",
    .description = "Matches the symbols of two size files or binaries and prints what was added, removed and\n"
                   "changed. One .sizediff in place of two files is shown the same way. Totals are of the bytes in\n"
                   "the file: .bss and the like are shown but not counted. The exit status is 1 if something grew\n"
                   "by more than its budget. For two heap traces, or FILE@MOMENT for what was live then, it prints\n"
                   "which stacks hold more or less; with several runs on each side, a change that the runs of one\n"
                   "side could explain is marked as noise. See docs/ci.md for budgets.",
    .options = options,
    .examples = examples,
    .run = run,
};

/* --- budgets --- */

static int parse_budget(const struct cli_arguments *arguments, const char *text, bool is_section, sxt_size_budget *out)
{
    *out = (sxt_size_budget)SXT_SIZE_BUDGET_INIT;
    if (sxt_size_budget_parse(text, out, NULL) == SXT_OK && is_section == (out->section.data != NULL))
        return CLI_DONE;
    return is_section ? cli_usage(arguments->verb,
                                  "--fail-if-section takes a section and a size, like .text=1%%, not '%s'", text)
                      : cli_usage(arguments->verb, "--fail-if-grows takes a size like 4k or 1%%, not '%s'", text);
}

/* Prints a line on stderr when something grew by more than TEXT allows. */
static int check_budget(const struct diff *diff, const char *text, const sxt_size_budget *budget)
{
    sxt_size_budget_result result = SXT_SIZE_BUDGET_RESULT_INIT;
    const char *path = diff->input->path;
    sxt_size_budget_check(diff->sections, budget, &result);
    if (!result.is_known)
        cli_warn(path, "--fail-if-section: neither file has a section %.*s", (int)budget->section.size,
                 budget->section.data);
    if (!result.is_exceeded)
        return CLI_DONE;
    char what[120] = "the file";
    if (budget->section.data != NULL) {
        int size = (int)(budget->section.size < 100 ? budget->section.size : 100);
        snprintf(what, sizeof what, "section %.*s", size, budget->section.data);
        text += budget->section.size + 1;
    }
    struct cli_number grown = cli_thousands(result.change), share = cli_percent(result.change, result.before);
    return cli_fail_text(path, "%s grew by %s bytes%s%s%s, and %s is allowed", what, grown.text,
                         share.text[0] != 0 ? " (" : "", share.text, share.text[0] != 0 ? ")" : "", text);
}

/* With DIFF == NULL only the options are checked. */
static int check_budgets(const struct cli_arguments *arguments, const struct diff *diff)
{
    int status = CLI_DONE;
    const char *text = cli_value(arguments, "fail-if-grows");
    sxt_size_budget budget;
    if (text != NULL) {
        status = parse_budget(arguments, text, false, &budget);
        if (status == CLI_USAGE)
            return status;
        if (diff != NULL)
            status = check_budget(diff, text, &budget);
    }
    for (size_t i = 0; (text = cli_value_at(arguments, "fail-if-section", i)) != NULL; i++) {
        int one = parse_budget(arguments, text, true, &budget);
        if (one == CLI_DONE && diff != NULL)
            one = check_budget(diff, text, &budget);
        if (one != CLI_DONE)
            status = one;
    }
    return status;
}

/* --- the file --- */

static int write_sizediff(const struct cli_arguments *arguments, const struct diff *diff)
{
    const char *path = cli_value(arguments, "output");
    sxt_size_write_options writing;
    sxt_error error;
    sxt_size_write_options_init(&writing);
    writing.disassembly = diff->disassembly;
    int status = cli_deflate_option(arguments, &writing);
    if (status == CLI_DONE && sxt_size_diff_write(diff->input->diff, path, &writing, NULL, &error) != SXT_OK)
        status = cli_fail(path, &error);
    return status;
}

/* --- disassembly --- */

/* Code of a machine that cannot be disassembled is a warning; the rest of the diff is still useful. */
static int disassemble(const struct cli_arguments *arguments, struct diff *diff)
{
    const char *before = cli_value(arguments, "before-binary"), *after = cli_value(arguments, "after-binary");
    bool is_given = before != NULL && after != NULL;
    const char *failed;
    sxt_error error;
    if (arguments->word_count == 2) {
        before = before != NULL ? before : arguments->words[0];
        after = after != NULL ? after : arguments->words[1];
    }
    int status = sxt_size_diff_disassemble(diff->input->diff, before, after, &diff->disassembly, &failed, &error);
    if (status == SXT_ERROR_UNSUPPORTED) {
        cli_warn(failed, "no disassembly: %s%s", error.text, is_given ? "" : " (--before-binary, --after-binary)");
        status = sxt_size_diff_disassemble(diff->input->diff, NULL, NULL, &diff->disassembly, &failed, &error);
    } else if (status == SXT_OK && before != NULL && sxt_size_disassembly_count(diff->disassembly) == 0) {
        cli_warn(diff->input->path, "no disassembly: no function of the binary changed by 10 bytes or more");
    }
    return status == SXT_OK ? CLI_DONE : cli_fail(failed, &error);
}

/* Line ends and tabs are printed; what is between them comes from files and is escaped. */
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

static void print_disassembly(struct sxt_emit *emit, const sxt_size_disassembly *disassembly)
{
    sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
    sxt_string text;
    for (size_t i = 0; sxt_size_disassembly_get(disassembly, i, &symbol, &text) == SXT_OK; i++) {
        sxt_emit_record(emit);
        if (sxt_emit_is_json(emit)) {
            sxt_emit_string(emit, "container", symbol.container);
            sxt_emit_string(emit, "section", symbol.section);
            sxt_emit_string(emit, "full_name", symbol.full_name);
            sxt_emit_string(emit, "disassembly", text);
        } else {
            sxt_emit_text(emit, "\n");
            print_listing(emit, text);
        }
        sxt_emit_record_end(emit);
    }
}

static void print_all(struct sxt_emit *emit, enum cli_form form, const sxt_size_disassembly *disassembly)
{
    bool is_markdown = form == CLI_MARKDOWN && sxt_size_disassembly_count(disassembly) > 0;
    if (form == CLI_CSV)
        return;
    if (is_markdown)
        sxt_emit_text(emit, "\n<details>\n<summary>disassembly</summary>\n\n```diff\n");
    print_disassembly(emit, disassembly);
    if (is_markdown)
        sxt_emit_text(emit, "```\n\n</details>\n");
}

/* --- options, and the verb --- */

static int check_disassembling(const struct cli_arguments *arguments)
{
    bool has_before = cli_given(arguments, "before-binary"), has_after = cli_given(arguments, "after-binary");
    bool is_asked = cli_given(arguments, "disassemble");
    if (!is_asked && (has_before || has_after || cli_given(arguments, "objdump")))
        return cli_usage(arguments->verb, "--before-binary, --after-binary and --objdump are for --disassemble");
    if (arguments->word_count == 1 && has_before != has_after)
        return cli_usage(arguments->verb, "with a .sizediff, --before-binary and --after-binary are needed both");
    if (is_asked && cli_given(arguments, "csv") && !cli_given(arguments, "output"))
        return cli_usage(arguments->verb, "--disassemble cannot be printed as CSV");
    return CLI_DONE;
}

static int check_usage(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    sxt_size_write_options writing;
    for (size_t i = 0; i < sizeof of_traces / sizeof *of_traces; i++)
        if (cli_given(arguments, of_traces[i]))
            return cli_usage(arguments->verb, "--%s is for heap traces%s", of_traces[i],
                             i == 0 ? "; --fail-if-grows and --fail-if-section are for sizes" : "");
    if (arguments->word_count == 0 || arguments->word_count > 2)
        return cli_usage(arguments->verb, "expected two files, or one .sizediff");
    if (cli_given(arguments, "json") + cli_given(arguments, "csv") + cli_given(arguments, "markdown") > 1)
        return cli_usage(arguments->verb, "--json, --csv and --markdown cannot be used together");
    if (cli_deflate_option(arguments, &writing) != CLI_DONE)
        return CLI_USAGE;
    if (arguments->word_count == 1 && cli_given(arguments, "ignore-alias-only"))
        return cli_usage(arguments->verb, "--ignore-alias-only needs two files");
    if (arguments->word_count == 1 && output != NULL)
        return cli_usage(arguments->verb, "-o needs two files");
    int status = check_disassembling(arguments);
    if (status == CLI_DONE)
        status = check_budgets(arguments, NULL);
    return status == CLI_DONE ? cli_check_binary(arguments, "output", "-o") : status;
}

static int show(const struct cli_arguments *arguments, const struct diff *diff)
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
    /* In JSON the summary is the last line. */
    if (diff->disassembly != NULL && form == CLI_JSON)
        print_all(&emit, form, diff->disassembly);
    int status = cli_print_diff(&emit, form, diff);
    if (diff->disassembly != NULL && form != CLI_JSON && status == CLI_DONE)
        print_all(&emit, form, diff->disassembly);
    return cli_finish(&emit, status);
}

static bool is_in(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

/* Heap traces have another function; most options do not apply to them. */
static int diff_traces(const struct cli_arguments *arguments)
{
    static const char *const of_both[] = {"json", "markdown", "limit", "all"};
    size_t before = arguments->separator, words = arguments->word_count;
    for (const struct cli_option *option = options; option->name != NULL; option++)
        if (cli_given(arguments, option->name) && !is_in(option->name, of_both, sizeof of_both / sizeof *of_both) &&
            !is_in(option->name, of_traces, sizeof of_traces / sizeof *of_traces))
            return cli_usage(arguments->verb, "--%s is for sizes, not for heap traces", option->name);
    if (before == 0 || before >= words)
        before = words == 2 ? 1 : 0;
    if (before == 0)
        return cli_usage(arguments->verb, words < 2 ? "expected two heap traces"
                                                    : "several runs need '--' between those before and those after");
    if (before > SXT_HEAP_RUNS_MOST || words - before > SXT_HEAP_RUNS_MOST)
        return cli_usage(arguments->verb, "at most %d runs on each side", SXT_HEAP_RUNS_MOST);
    /* After "--", nothing is an option. */
    for (size_t i = 0; i < words; i++)
        if (arguments->words[i][0] == '-' && arguments->words[i][1] == '-' && access(arguments->words[i], F_OK) != 0)
            return cli_usage(arguments->verb, "options come before the '--' of several runs, unlike '%s'",
                             arguments->words[i]);
    return cli_diff_heap(arguments, before);
}

/* Whether the words are heap traces; one of them that cannot be read is then reported as such. */
static bool are_traces(const struct cli_arguments *arguments)
{
    for (size_t i = 0; i < arguments->word_count; i++)
        if (cli_is_trace(arguments->words[i]))
            return true;
    return false;
}

static int open_input(const struct cli_arguments *arguments, struct cli_size_input *input)
{
    sxt_size_diff_options how;
    sxt_size_diff_options_init(&how);
    how.ignore_alias_only = cli_given(arguments, "ignore-alias-only");
    if (cli_threads(arguments, &how.threads) != CLI_DONE)
        return CLI_USAGE;
    if (arguments->word_count == 2)
        return cli_size_open_two(arguments, arguments->words[0], arguments->words[1], &how, input);
    int status = cli_size_open(arguments, arguments->words[0], input);
    if (status == CLI_DONE && input->diff == NULL)
        status = cli_usage(arguments->verb, "expected two files: '%s' is not a .sizediff", arguments->words[0]);
    return status;
}

static int compare(const struct cli_arguments *arguments, struct diff *diff)
{
    sxt_error error;
    int status = cli_given(arguments, "disassemble") ? disassemble(arguments, diff) : CLI_DONE;
    if (status != CLI_DONE)
        return status;
    if (sxt_size_section_changes_make(diff->input->diff, &diff->sections, &error) != SXT_OK)
        return cli_fail(diff->input->path, &error);
    sxt_size_section_changes_total(diff->sections, &diff->total);
    status = show(arguments, diff);
    return status == CLI_DONE ? check_budgets(arguments, diff) : status;
}

static int run(const struct cli_arguments *arguments)
{
    struct cli_size_input input = {0};
    struct diff diff = {.input = &input, .total = SXT_SIZE_SECTION_CHANGE_INIT};
    if (are_traces(arguments))
        return diff_traces(arguments);
    int status = check_usage(arguments);
    bool is_all = cli_given(arguments, "all") || cli_given(arguments, "json") || cli_given(arguments, "csv");
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "limit", is_all ? UINT64_MAX : 30, &diff.limit);
    if (status == CLI_DONE)
        status = open_input(arguments, &input);
    if (status == CLI_DONE)
        status = compare(arguments, &diff);
    sxt_size_section_changes_free(&diff.sections);
    sxt_size_disassembly_free(&diff.disassembly);
    cli_size_close(&input);
    return status;
}
