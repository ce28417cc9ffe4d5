/* report.c: the verb report: a file as a page. */
#include <string.h>

#include "base/output.h"
#include "cli/size_input.h"
#include "cli/verbs.h"
#include "report/report.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write the page here", NULL},
    CLI_OPTION_WIDE,
    CLI_OPTION_NO_MAP,
    CLI_OPTION_MAX_SIZE,
    CLI_OPTION_THREADS,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant report app.size -o app.html", "what takes the space, as a treemap"},
    {"sextant report old.size new.size -o diff.html", "what changed"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_report = {
    .name = "report",
    .synopsis = "[OPTION...] FILE [FILE] -o OUT.html",
    .summary = "make a page of a file, for a browser",
    .description = "Writes one HTML file that opens without a network. FILE is a size file, a diff of sizes or a\n"
                   "binary; two of them are compared.",
    .options = options,
    .examples = examples,
    .run = run,
};

static int make_page(const struct cli_size_input *input, struct sxt_page *page, sxt_error *error)
{
    const char *slash = strrchr(input->path, '/');
    int status = sxt_page_begin(page, SXT_PAGE_SIZE, error);
    if (status == SXT_OK)
        status = sxt_page_make_size(page, input->info, input->diff, slash != NULL ? slash + 1 : input->path, error);
    return status == SXT_OK ? sxt_page_end(page, error) : status;
}

static int write_page(const struct cli_size_input *input, const char *path)
{
    struct sxt_page page;
    sxt_error error;
    int status = make_page(input, &page, &error);
    if (status != SXT_OK) {
        sxt_page_free(&page);
        return cli_fail(input->path, &error);
    }
    status = sxt_output_save(path, page.html.data, page.html.size, &error);
    sxt_page_free(&page);
    return status == SXT_OK ? CLI_DONE : cli_fail(path, &error);
}

static int run(const struct cli_arguments *arguments)
{
    struct cli_size_input input = {.path = NULL};
    const char *out = cli_value(arguments, "output");
    if (arguments->word_count < 1 || arguments->word_count > 2)
        return cli_usage(arguments->verb, "give one file, or two to compare");
    if (out == NULL)
        return cli_usage(arguments->verb, "give -o FILE");
    int status = arguments->word_count == 2
                     ? cli_size_open_two(arguments, arguments->words[0], arguments->words[1], NULL, &input)
                     : cli_size_open(arguments, arguments->words[0], &input);
    if (status == CLI_DONE)
        status = write_page(&input, out);
    cli_size_close(&input);
    return status;
}
