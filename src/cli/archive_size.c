/* make_size.c: binaries into a SuperSize file, for `archive`. */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/output.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "size/size.h"
#include "trace/trace.h"

/* Names and paths of a large program take some hundred megabytes. */
#define OUTPUT_MAX ((size_t)8 << 30)

static int understand(const struct cli_arguments *arguments, struct sxt_size_make_options *options,
                      enum sxt_size_deflate *deflate);
static int save(const struct sxt_size_info *size, enum sxt_size_deflate deflate, const char *output, uint64_t *bytes,
                sxt_error *error);
static int summarise(const struct cli_arguments *arguments, const struct sxt_size_info *size, uint64_t bytes);

int cli_make_size(const struct cli_arguments *arguments)
{
    struct sxt_size_make_options options;
    enum sxt_size_deflate deflate;
    const char *output = cli_value(arguments, "output"), *failed;
    struct sxt_size_info *size = NULL;
    uint64_t bytes = 0;
    sxt_error error;
    int status = understand(arguments, &options, &deflate);
    if (status == CLI_DONE) {
        cli_expect_much_memory();
        if (sxt_size_make(arguments->words, arguments->word_count, &options, &size, &failed, &error) != SXT_OK)
            status =
                error.code == SXT_ERROR_USAGE ? cli_usage(arguments->verb, "%s", error.text) : cli_fail(failed, &error);
    }
    if (status == CLI_DONE && save(size, deflate, output, &bytes, &error) != SXT_OK)
        status = cli_fail(output, &error);
    if (status == CLI_DONE)
        status = summarise(arguments, size, bytes);
    sxt_size_info_free(&size);
    free((void *)(uintptr_t)options.build_config);
    return status;
}

static int understand(const struct cli_arguments *arguments, struct sxt_size_make_options *options,
                      enum sxt_size_deflate *deflate)
{
    sxt_size_make_options_init(options);
    sxt_open_options open;
    int status = cli_open_options(arguments, arguments->words[0], &open, &options->extract);
    if (status != CLI_DONE)
        return status;
    options->map_path = cli_value(arguments, "map");
    options->components_path = cli_value(arguments, "components");
    options->source_directory = cli_value(arguments, "source-dir");
    options->title = cli_value(arguments, "title");
    options->url = cli_value(arguments, "url");
    options->git_revision = cli_value(arguments, "git-revision");
    options->with_debug = cli_given(arguments, "with-debug");
    const char *how = cli_value(arguments, "deflate");
    *deflate = how != NULL && strcmp(how, "fast") == 0 ? SXT_SIZE_DEFLATE_FAST : SXT_SIZE_DEFLATE_STOCK;
    if (how != NULL && strcmp(how, "fast") != 0 && strcmp(how, "stock") != 0)
        return cli_usage(arguments->verb, "--deflate takes stock or fast, not '%s'", how);
    if (options->map_path != NULL && arguments->word_count > 1)
        return cli_usage(arguments->verb, "--map is for one binary; make a file of each");
    size_t count = 0;
    while (cli_value_at(arguments, "build-config", count) != NULL)
        count++;
    const char **settings = calloc(count + 1, sizeof *settings);
    if (settings == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (size_t i = 0; i < count; i++)
        settings[i] = cli_value_at(arguments, "build-config", i);
    options->build_config = settings;
    options->build_config_count = count;
    return CLI_DONE;
}

static int save(const struct sxt_size_info *size, enum sxt_size_deflate deflate, const char *output, uint64_t *bytes,
                sxt_error *error)
{
    struct sxt_buffer data;
    sxt_buffer_init(&data, OUTPUT_MAX);
    int status = sxt_size_save(size, deflate, &data, error);
    if (status == SXT_OK)
        status = sxt_output_save(output, data.data, data.size, error);
    *bytes = data.size;
    sxt_buffer_free(&data);
    return status;
}

/* What the symbols stand for: bytes in the file, without those that are only in memory. */
static uint64_t counted(const struct sxt_size_info *size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        bool is_first = symbol->group == 0 || size->groups[symbol->group - 1].first == i;
        if (is_first && !size->segments[symbol->segment].is_bss)
            sum += (uint64_t)symbol->size;
    }
    return sum;
}

static int summarise(const struct cli_arguments *arguments, const struct sxt_size_info *size, uint64_t bytes)
{
    const char *output = cli_value(arguments, "output");
    if (!cli_given(arguments, "json")) {
        if (!cli_given(arguments, "quiet"))
            fprintf(stderr, "%s: %zu symbols of %zu files and %zu sections for %llu bytes of %zu %s, %llu bytes\n",
                    output, size->symbol_count, size->path_count, size->segment_count,
                    (unsigned long long)counted(size), size->container_count,
                    size->container_count == 1 ? "binary" : "binaries", (unsigned long long)bytes);
        return CLI_DONE;
    }
    struct sxt_emit emit;
    sxt_emit_init(&emit, strcmp(output, "-") == 0 ? stderr : stdout, true);
    sxt_emit_record(&emit);
    sxt_emit_cstring(&emit, "output", output);
    sxt_emit_cstring(&emit, "format", "size");
    sxt_emit_number(&emit, "symbols", size->symbol_count);
    sxt_emit_number(&emit, "containers", size->container_count);
    sxt_emit_number(&emit, "paths", size->path_count);
    sxt_emit_number(&emit, "counted", counted(size));
    sxt_emit_number(&emit, "size", bytes);
    sxt_emit_record_end(&emit);
    return cli_finish(&emit, CLI_DONE);
}
