/* query.c: the verb query: symbols that match a filter, grouped and added up. */
#include "cli/size_input.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    CLI_OPTION_JSON,
    {"csv", 0, NULL, "print CSV with a header line", NULL},
    {"disassembly", 0, NULL, "print the disassembly that is stored with the symbols too", NULL},
    {"limit", 'n', "N", "print at most N rows, whatever the query says", NULL},
    {"list", 0, NULL, "print the named queries", NULL},
    CLI_OPTION_WIDE,
    CLI_OPTION_NO_MAP,
    CLI_OPTION_MAX_SIZE,
    CLI_OPTION_THREADS,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant query app.size 'size>4k path~^third_party/ | group path:2'",
     "what the large symbols of each directory there take"},
    {"sextant query app.size @templates", "C++ templates, all instances together"},
    {"sextant query --csv d.sizediff 'status:added section:.text | sort size'", "the code that is new"},
    {"sextant query --disassembly d.sizediff has:disassembly", "how the code of functions changed"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_query = {
    .name = "query",
    .synopsis = "[OPTION...] FILE QUERY",
    .summary = "select, group and sum up the symbols of a size file or a diff",
    .description =
        "Selects symbols by a filter, groups them, and prints their sizes. A QUERY is a filter and stages:\n"
        "\n"
        "  FILTER | group KEY[:DEPTH][, KEY...] | where FILTER | sort WHAT [asc|desc] | limit N\n"
        "\n"
        "Conditions: size>1k pss>=100 padding aliases>1 address:0x1000-0x2000 section:.text name=main\n"
        "name:part name~REGEX full~ template~ namespace~ path~ source~ object~ component= container=\n"
        "flags:hot status:added is:template has:path, joined by and, or, not and parentheses. Keys: path,\n"
        "directory, source, object, component, section, container, name, template, full, namespace,\n"
        "aliases, status, flags, crate, package, generated. Named queries begin with '@'; --list prints\n"
        "them. See docs/query.md for the language. The size of a group counts each list of aliases once; its\n"
        "pss divides their bytes among them.",
    .options = options,
    .examples = examples,
    .run = run,
};

static int list(void)
{
    const sxt_size_canned_query *one;
    for (size_t i = 0; (one = sxt_size_canned_query_at(i)) != NULL; i++)
        printf("@%-20s %s\n%21s %s\n", one->name, one->help, "", one->text);
    return CLI_DONE;
}

/* The words after the file, as one text, so that quotes are needed only for the shell. */
static void join(const struct cli_arguments *arguments, struct sxt_buffer *out)
{
    for (size_t i = 1; i < arguments->word_count; i++)
        sxt_buffer_print(out, "%s%s", i > 1 ? " " : "", arguments->words[i]);
    sxt_buffer_u8(out, 0);
}

static int answer(const struct cli_arguments *arguments, struct cli_size_input *input, const char *text)
{
    enum cli_form form = cli_given(arguments, "json") ? CLI_JSON : cli_given(arguments, "csv") ? CLI_CSV : CLI_TABLE;
    sxt_size_result *result;
    int status = cli_run_query(input, text, &result);
    if (status != CLI_DONE)
        return status;
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, form == CLI_JSON);
    bool with_disassembly = cli_given(arguments, "disassembly");
    if (with_disassembly && sxt_size_result_key_count(result) > 0)
        status = cli_usage(arguments->verb, "--disassembly is for symbols, not for groups");
    else
        cli_print_rows(&emit, &(struct cli_row_options){.form = form, .with_disassembly = with_disassembly}, input,
                       result);
    sxt_size_result_free(&result);
    if (status != CLI_DONE)
        return status;
    return cli_finish(&emit, CLI_DONE);
}

static int run(const struct cli_arguments *arguments)
{
    if (cli_given(arguments, "list"))
        return list();
    if (arguments->word_count < 2)
        return cli_usage(arguments->verb, arguments->word_count == 0 ? "no file given" : "no query given");
    if (cli_given(arguments, "json") && cli_given(arguments, "csv"))
        return cli_usage(arguments->verb, "--json and --csv cannot be used together");
    if (cli_given(arguments, "disassembly") && cli_given(arguments, "csv"))
        return cli_usage(arguments->verb, "--disassembly and --csv cannot be used together");
    uint64_t limit;
    struct sxt_buffer text;
    int status = cli_count_option(arguments, "limit", UINT64_MAX, &limit);
    if (status != CLI_DONE)
        return status;
    sxt_buffer_init(&text, (size_t)1 << 20);
    join(arguments, &text);
    /* A query that is wrong is reported before a large file is read. */
    status = text.failed ? cli_fail_text(NULL, "query: too long") : cli_check_query((char *)text.data);
    if (limit != UINT64_MAX && status == CLI_DONE) {
        text.size--;
        sxt_buffer_print(&text, " | limit %llu", (unsigned long long)limit);
        sxt_buffer_u8(&text, 0);
    }
    struct cli_size_input input = {0};
    if (status == CLI_DONE)
        status = cli_size_open(arguments, arguments->words[0], &input);
    if (status == CLI_DONE)
        status = answer(arguments, &input, (char *)text.data);
    cli_size_close(&input);
    sxt_buffer_free(&text);
    return status;
}
