/* convert_size.c: convert of SuperSize's files: a copy, or the symbols that a filter keeps. */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/output.h"
#include "cli/sizes.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "trace/trace.h"

static enum sxt_size_deflate deflate_of(const struct cli_arguments *arguments)
{
    const char *deflate = cli_value(arguments, "deflate");
    return deflate != NULL && strcmp(deflate, "fast") == 0 ? SXT_SIZE_DEFLATE_FAST : SXT_SIZE_DEFLATE_STOCK;
}

/* Which symbols the filter keeps: to be freed, NULL when memory is short. */
static bool *keep_rows(const struct sxt_size_info *size, const struct sxt_size_result *result)
{
    bool *keep = calloc(size->symbol_count + 1, sizeof *keep);
    for (size_t i = 0; keep != NULL && i < result->row_count; i++)
        keep[result->rows[i].item] = true;
    return keep;
}

/* A sparse copy of what --where keeps. */
static int select_symbols(const struct cli_arguments *arguments, const struct cli_sizes *sizes,
                          struct sxt_size_info **out)
{
    struct sxt_size_result result;
    sxt_error error;
    int status = cli_run_query(sizes, cli_value(arguments, "where"), &result);
    if (status != CLI_DONE)
        return status;
    bool *keep = keep_rows(sizes->single, &result);
    if (result.key_count > 0)
        status = cli_usage(arguments->verb, "--where takes a filter, without groups");
    else if (keep == NULL)
        status = cli_fail_text(sizes->path, "out of memory");
    else if (sxt_size_make_sparse(sizes->single, keep, out, &error) != SXT_OK)
        status = cli_fail(sizes->path, &error);
    free(keep);
    sxt_size_result_clear(&result);
    return status;
}

static int save(const struct cli_arguments *arguments, const struct sxt_size_info *size,
                const struct sxt_sizediff *diff)
{
    const char *output = cli_value(arguments, "output");
    struct sxt_buffer buffer;
    sxt_error error;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    int status = size != NULL ? sxt_size_save(size, deflate_of(arguments), &buffer, &error)
                              : sxt_sizediff_save(diff, deflate_of(arguments), &buffer, &error);
    if (status == SXT_OK)
        status = sxt_output_save(output, buffer.data, buffer.size, &error);
    sxt_buffer_free(&buffer);
    return status == SXT_OK ? CLI_DONE : cli_fail(output, &error);
}

static int load(const struct cli_arguments *arguments, bool is_diff, struct cli_sizes *out)
{
    const char *path = arguments->words[0], *max_size = cli_value(arguments, "max-size");
    *out = (struct cli_sizes){.path = path};
    double bytes = 0;
    if (max_size != NULL && (!sxt_byte_count_parse(max_size, strlen(max_size), &bytes) || bytes < 1 || bytes > 1e18))
        return cli_usage(arguments->verb, "--max-size takes a size like 8G, not '%s'", max_size);
    struct sxt_size_load_options options = {.max_size = (uint64_t)bytes};
    enum sxt_size_kind kind;
    sxt_error error;
    if (sxt_size_load(path, &options, &kind, &out->single, &out->pair, &error) != SXT_OK)
        return cli_fail(path, &error);
    if (kind == SXT_SIZE_BINARY)
        return cli_fail_text(path, "sizes of a binary are made by 'sextant archive'");
    if (is_diff != (kind == SXT_SIZE_DIFF_FILE))
        return cli_fail_text(path, is_diff ? "this is no diff; 'sextant diff -o' makes one of two files"
                                           : "this is a diff, which does not become a .size file");
    out->subject.size = out->single;
    return CLI_DONE;
}

int cli_convert_size(const struct cli_arguments *arguments, bool is_diff)
{
    const char *where = cli_value(arguments, "where"), *deflate = cli_value(arguments, "deflate");
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, "a file of sizes is made of one");
    if (deflate != NULL && strcmp(deflate, "stock") != 0 && strcmp(deflate, "fast") != 0)
        return cli_usage(arguments->verb, "--deflate takes stock or fast, not '%s'", deflate);
    if (is_diff && where != NULL)
        return cli_usage(arguments->verb, "--where is for .size files, not for diffs");
    struct cli_sizes sizes;
    struct sxt_size_info *sparse = NULL;
    int status = load(arguments, is_diff, &sizes);
    if (status == CLI_DONE && where != NULL)
        status = select_symbols(arguments, &sizes, &sparse);
    if (status == CLI_DONE)
        status = save(arguments, sparse != NULL ? sparse : sizes.single, &sizes.pair);
    sxt_size_info_free(&sparse);
    cli_sizes_close(&sizes);
    return status;
}
