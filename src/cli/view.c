/* view.c: the verb view: pages of files in a browser, from a server on this machine. */
#include "view/view.h"
#include "cli/size_input.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"listen", 0, "HOST:PORT", "listen there (default: 127.0.0.1:0); HOST is this machine, port 0 is\nany", NULL},
    {"no-browser", 0, NULL, "only print the URL; without it, a browser is opened where there is a\ndisplay", NULL},
    {"sources", 0, NULL, "traces: show lines of source code, from files that are here", NULL},
    {"rows", 0, "N", "sizes: sum up the smallest symbols of each file if there are more\nthan N (default: 1000000)",
     NULL},
    CLI_OPTION_NO_MAP,
    CLI_OPTION_MAX_SIZE,
    CLI_OPTION_THREADS,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant view app.mlyze", "the heap over time; any window in full detail"},
    {"sextant view old.size new.size", "two files, and what changed between them"},
    {"sextant view --no-browser --listen 127.0.0.1:8000 app", "print the URL only, with this port"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_view = {
    .name = "view",
    .synopsis = "[OPTION...] FILE...",
    .summary = "show files in a browser, however large they are",
    .description =
        "Serves pages about the files to this machine until Ctrl-C. Prints one line with their URL, which has\n"
        "a secret token, and opens it in a browser ($BROWSER or xdg-open) where there is a display. FILE is\n"
        "anything that report takes; pages ask for what they show, so that large files open at once. For\n"
        "two files, add ?load_url=AFTER&before_url=BEFORE to the URL. See docs/pages.md.",
    .options = options,
    .examples = examples,
    .run = run,
};

static void warn(const char *path, const char *text)
{
    cli_warn(path, "%s", text);
}

static int run(const struct cli_arguments *arguments)
{
    struct sxt_view_options view = {
        .paths = (const char *const *)arguments->words,
        .path_count = arguments->word_count,
        .listen = cli_value(arguments, "listen"),
        .no_browser = cli_given(arguments, "no-browser"),
        .with_sources = cli_given(arguments, "sources"),
        .no_map_search = cli_given(arguments, "no-map"),
        .warn = warn,
    };
    const char *failed = NULL;
    sxt_error error;
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no file given");
    int status = cli_max_size(arguments, &view.inflate_limit);
    if (status == CLI_DONE)
        status = cli_threads(arguments, &view.threads);
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "rows", 0, &view.row_most);
    if (status == CLI_DONE && cli_given(arguments, "rows") && view.row_most == 0)
        return cli_usage(arguments->verb, "--rows takes a number from 1");
    if (status != CLI_DONE)
        return status;
    cli_expect_long_run();
    switch (sxt_view_run(&view, &failed, &error)) {
    case SXT_OK:
        return CLI_DONE;
    case SXT_ERROR_USAGE:
        return failed == NULL ? cli_usage(arguments->verb, "%s", error.text) : cli_fail(failed, &error);
    default:
        return cli_fail(failed, &error);
    }
}
