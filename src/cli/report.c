/* report.c: the verb report: a file as a page, or as a summary. */
#include <stdlib.h>
#include <string.h>

#include <sextant/archive.h>

#include "base/output.h"
#include "cli/heap.h"
#include "cli/report_text.h"
#include "cli/size_input.h"
#include "cli/verbs.h"
#include "report/report.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write a page to FILE; without it, print a summary", NULL},
    {"json", 0, NULL, "without -o: print the summary as JSON, one object per line", NULL},
    {"sources", 0, NULL,
     "traces: put lines of source code into the page, from files that are\nhere; they are confidential", NULL},
    {"address", 0, "0xADDRESS", "traces: put the history of this address into the page; may be\nrepeated", NULL},
    {"title", 0, "NAME", "call the file NAME in the page; given twice, both files", NULL},
    CLI_OPTION_WIDE,
    CLI_OPTION_NO_MAP,
    CLI_OPTION_MAX_SIZE,
    CLI_OPTION_THREADS,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant report app.size -o app.html", "what takes the space, as a treemap"},
    {"sextant report old.size new.size -o diff.html", "what changed"},
    {"sextant report app.mlyze -o heap.html", "live bytes over time, and flame graphs of any window"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_report = {
    .name = "report",
    .synopsis = "[OPTION...] FILE [FILE] [-o OUT.html]",
    .summary = "make a page of a file, for a browser",
    .description = "Writes one HTML file that opens without a network, or prints a summary. FILE is a size file, a\n"
                   "diff of sizes, a binary, a heap trace or a pprof profile; two of a kind are compared. A summary\n"
                   "is what size, diff, heap or info prints. See docs/pages.md.",
    .options = options,
    .examples = examples,
    .run = run,
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/*
 * What a page calls the file at INDEX of the arguments: what --title says, or the name of the file. Two builds of a
 * program often have the same name, in different folders.
 */
static const char *title_of(const struct cli_arguments *arguments, size_t index)
{
    const char *title = cli_value_at(arguments, "title", index), *word = arguments->words[index];
    if (title != NULL)
        return title;
    bool is_ambiguous =
        arguments->word_count == 2 && strcmp(base_name(arguments->words[0]), base_name(arguments->words[1])) == 0;
    return is_ambiguous ? word : base_name(word);
}

/* Writes the page to the path of -o, or reports why it could not be made of FILE. */
static int finish(const struct cli_arguments *arguments, struct sxt_page *page, int status, const char *file,
                  sxt_error *error)
{
    const char *out = cli_value(arguments, "output");
    if (status == SXT_OK)
        status = sxt_page_end(page, error);
    if (status == SXT_OK) {
        status = sxt_output_save(out, page->html.data, page->html.size, error);
        file = out;
    }
    sxt_page_free(page);
    return status == SXT_OK ? CLI_DONE : cli_fail(file, error);
}

/* The functions that were inlined in a binary with DWARF; NULL for any other file. */
static sxt_inlined_list *read_inlined(const struct cli_arguments *arguments, const char *path)
{
    sxt_inlined_list *list;
    sxt_extract_options extract;
    sxt_error error;
    sxt_extract_options_init(&extract);
    if (cli_threads(arguments, &extract.threads) != CLI_DONE ||
        sxt_inlined_list_read(path, &extract, &list, &error) != SXT_OK)
        return NULL;
    if (sxt_inlined_list_count(list) == 0)
        sxt_inlined_list_free(&list);
    return list;
}

static int make_size_page(const struct cli_arguments *arguments, struct sxt_page *page,
                          const struct cli_size_input *input, sxt_error *error)
{
    sxt_inlined_list *inlined = input->info != NULL ? read_inlined(arguments, input->path) : NULL;
    const struct sxt_page_sizes sizes = {
        .info = input->info,
        .diff = input->diff,
        .inlined = inlined,
        .name = title_of(arguments, arguments->word_count - 1),
        .before_name = arguments->word_count == 2 ? title_of(arguments, 0) : NULL,
    };
    int status = sxt_page_make_size(page, &sizes, error);
    sxt_inlined_list_free(&inlined);
    return status;
}

static int report_size(const struct cli_arguments *arguments)
{
    struct cli_size_input input = {.path = NULL};
    struct sxt_page page;
    sxt_error error;
    int made = sxt_page_begin(&page, SXT_PAGE_SIZE, &error);
    if (made != SXT_OK)
        return finish(arguments, &page, made, NULL, &error);
    int status = arguments->word_count == 2
                     ? cli_size_open_two(arguments, arguments->words[0], arguments->words[1], NULL, &input)
                     : cli_size_open(arguments, arguments->words[0], &input);
    if (status == CLI_DONE) {
        made = make_size_page(arguments, &page, &input, &error);
        status = finish(arguments, &page, made, input.path, &error);
    } else {
        sxt_page_free(&page);
    }
    cli_size_close(&input);
    return status;
}

static int report_profile(const struct cli_arguments *arguments)
{
    struct sxt_page page;
    sxt_error error;
    const char *const paths[2] = {arguments->words[0], arguments->word_count == 2 ? arguments->words[1] : NULL};
    const char *failed = paths[0], *name = title_of(arguments, arguments->word_count - 1);
    int status = sxt_page_begin(&page, SXT_PAGE_PROFILE, &error);
    if (status == SXT_OK)
        status = sxt_page_read_profiles(&page, paths, name, &failed, &error);
    return finish(arguments, &page, status, failed, &error);
}

/* --- heap traces --- */

static int take_addresses(const struct cli_arguments *arguments, uint64_t **out, size_t *count)
{
    size_t given = 0;
    while (cli_value_at(arguments, "address", given) != NULL)
        given++;
    *count = 0;
    *out = calloc(given + 1, sizeof **out);
    if (*out == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (; *count < given; ++*count)
        if (!cli_parse_address(cli_value_at(arguments, "address", *count), &(*out)[*count]))
            return cli_usage(arguments->verb, "not a hexadecimal address: '%s'",
                             cli_value_at(arguments, "address", *count));
    return CLI_DONE;
}

static int report_two_traces(const struct cli_arguments *arguments)
{
    struct cli_heap heaps[2] = {{.path = NULL}, {.path = NULL}};
    struct sxt_page page;
    sxt_error error;
    int made = sxt_page_begin(&page, SXT_PAGE_HEAP, &error), status = CLI_DONE;
    if (made != SXT_OK)
        return finish(arguments, &page, made, NULL, &error);
    for (int i = 0; i < 2 && status == CLI_DONE; i++) {
        status = cli_heap_open(arguments->words[i], false, &heaps[i]);
        if (status == CLI_DONE)
            cli_warn_state(arguments->words[i], heaps[i].trace);
    }
    if (status == CLI_DONE) {
        const struct sxt_page_heap_diff traces = {
            .before = heaps[0].trace,
            .after = heaps[1].trace,
            .name = title_of(arguments, 1),
            .before_name = title_of(arguments, 0),
        };
        made = sxt_page_make_heap_diff(&page, &traces, &error);
        status = finish(arguments, &page, made, arguments->words[1], &error);
    } else {
        sxt_page_free(&page);
    }
    cli_heap_close(&heaps[0]);
    cli_heap_close(&heaps[1]);
    return status;
}

static int report_trace(const struct cli_arguments *arguments)
{
    if (arguments->word_count == 2)
        return report_two_traces(arguments);
    const char *path = arguments->words[0];
    struct cli_heap heap = {.path = NULL};
    struct cli_progress progress = {.phase = "reading events"};
    struct sxt_page page;
    sxt_error error;
    uint64_t *addresses = NULL;
    size_t address_count = 0;
    int made = sxt_page_begin(&page, SXT_PAGE_HEAP, &error);
    if (made != SXT_OK)
        return finish(arguments, &page, made, NULL, &error);
    int status = take_addresses(arguments, &addresses, &address_count);
    if (status == CLI_DONE)
        status = cli_heap_open(path, false, &heap);
    if (status == CLI_DONE) {
        const struct sxt_page_heap about = {
            .trace = heap.trace,
            .name = title_of(arguments, 0),
            .with_sources = cli_given(arguments, "sources"),
            .addresses = addresses,
            .address_count = address_count,
            .progress = cli_progress_show,
            .progress_data = &progress,
            .usage = &heap.usage,
        };
        cli_warn_state(path, heap.trace);
        made = sxt_page_make_heap(&page, &about, &error);
        cli_progress_end(&progress);
        status = finish(arguments, &page, made, path, &error);
        if (status == CLI_DONE) {
            sxt_heap_get_summary(heap.usage, &heap.summary);
            status = cli_heap_warn(&heap);
        }
    } else {
        sxt_page_free(&page);
    }
    cli_heap_close(&heap);
    free(addresses);
    return status;
}

static int run(const struct cli_arguments *arguments)
{
    if (arguments->word_count < 1 || arguments->word_count > 2)
        return cli_usage(arguments->verb, "give one file, or two to compare");
    if (cli_value(arguments, "output") == NULL)
        return cli_is_profile(arguments->words[0]) ? cli_report_profile(arguments) : cli_report_text(arguments);
    if (cli_given(arguments, "json"))
        return cli_usage(arguments->verb, "--json is for the summary, not for a page (-o)");
    if (cli_value_at(arguments, "title", arguments->word_count) != NULL)
        return cli_usage(arguments->verb, "--title is given more often than files");
    sxt_kind kind;
    sxt_error error;
    if (cli_is_profile(arguments->words[0]))
        return report_profile(arguments);
    if (sxt_identify_path(arguments->words[0], &kind, &error) != SXT_OK)
        return cli_fail(arguments->words[0], &error);
    return kind == SXT_KIND_TRACE ? report_trace(arguments) : report_size(arguments);
}
