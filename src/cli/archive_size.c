/* archive_size.c: archive of binaries as a .size file. */
#include <stdlib.h>
#include <string.h>

#include "cli/making.h"
#include "cli/size_input.h"
#include "cli/verbs.h"

static int summarise(const struct cli_arguments *arguments, const sxt_size_info *info, uint64_t bytes);

int cli_make_size(const struct cli_arguments *arguments)
{
    struct cli_making making = {.format = "size"};
    const char *output = cli_value(arguments, "output"), *failed;
    sxt_size_info *info = NULL;
    uint64_t bytes = 0;
    sxt_error error;
    int status = cli_size_options(arguments, &making);
    if (status == CLI_DONE) {
        cli_expect_much_memory(false);
        if (sxt_size_make(arguments->words, arguments->word_count, &making.size, &info, &failed, &error) != SXT_OK)
            status =
                error.code == SXT_ERROR_USAGE ? cli_usage(arguments->verb, "%s", error.text) : cli_fail(failed, &error);
    }
    if (status == CLI_DONE && sxt_size_info_write(info, output, &making.size_write, &bytes, &error) != SXT_OK)
        status = cli_fail(output, &error);
    if (status == CLI_DONE)
        status = summarise(arguments, info, bytes);
    sxt_size_info_free(&info);
    free((void *)making.build_config);
    return status;
}

int cli_size_options(const struct cli_arguments *arguments, struct cli_making *out)
{
    sxt_open_options open;
    sxt_size_make_options *make = &out->size;
    sxt_size_make_options_init(make);
    sxt_size_write_options_init(&out->size_write);
    int status = cli_open_options(arguments, arguments->words[0], &open, &out->extract);
    if (status == CLI_DONE)
        status = cli_deflate_option(arguments, &out->size_write);
    if (status != CLI_DONE)
        return status;
    make->extract = &out->extract;
    make->map_path = cli_value(arguments, "map");
    make->no_map_search = cli_given(arguments, "no-map");
    make->note = cli_given(arguments, "quiet") ? NULL : cli_note_map;
    make->components_path = cli_value(arguments, "components");
    make->source_directory = cli_value(arguments, "source-dir");
    make->title = cli_value(arguments, "title");
    make->url = cli_value(arguments, "url");
    make->git_revision = cli_value(arguments, "git-revision");
    make->with_debug = cli_given(arguments, "with-debug");
    if (make->map_path != NULL && arguments->word_count > 1)
        return cli_usage(arguments->verb, "--map is for a single binary");
    if (make->map_path != NULL && make->no_map_search)
        return cli_usage(arguments->verb, "--map and --no-map cannot be used together");
    size_t count = 0;
    while (cli_value_at(arguments, "build-config", count) != NULL)
        count++;
    out->build_config = calloc(count + 1, sizeof *out->build_config);
    if (out->build_config == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (size_t i = 0; i < count; i++)
        out->build_config[i] = cli_value_at(arguments, "build-config", i);
    make->build_config = out->build_config;
    make->build_config_count = count;
    return CLI_DONE;
}

static void print_summary(const char *output, const sxt_size_summary *summary, uint64_t bytes)
{
    cli_print_name(output);
    fputs(": ", stderr);
    cli_print_count(summary->symbols, "symbol");
    fputs(" of ", stderr);
    cli_print_count(summary->paths, "file");
    fputs(" and ", stderr);
    cli_print_count(summary->sections, "section");
    fprintf(stderr, " for %llu bytes of %zu %s, %llu bytes\n", (unsigned long long)summary->file_bytes,
            summary->containers, summary->containers == 1 ? "binary" : "binaries", (unsigned long long)bytes);
}

static int summarise(const struct cli_arguments *arguments, const sxt_size_info *info, uint64_t bytes)
{
    const char *output = cli_value(arguments, "output");
    sxt_size_summary summary = SXT_SIZE_SUMMARY_INIT;
    sxt_size_info_summary(info, &summary);
    if (!cli_given(arguments, "json")) {
        if (!cli_given(arguments, "quiet"))
            print_summary(output, &summary, bytes);
        return CLI_DONE;
    }
    struct sxt_emit emit;
    cli_begin_summary(&emit, output, "size");
    sxt_emit_number(&emit, "symbols", summary.symbols);
    sxt_emit_number(&emit, "containers", summary.containers);
    sxt_emit_number(&emit, "paths", summary.paths);
    sxt_emit_number(&emit, "counted", summary.file_bytes);
    sxt_emit_number(&emit, "size", bytes);
    sxt_emit_record_end(&emit);
    return cli_finish(&emit, CLI_DONE);
}
