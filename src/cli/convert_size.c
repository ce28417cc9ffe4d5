/* convert_size.c: convert of SuperSize's files: a copy, or the symbols that match a filter. */
#include "cli/size_input.h"
#include "cli/verbs.h"

/* Replaces the sizes by a sparse copy with the symbols that --where selects. */
static int select_symbols(const struct cli_arguments *arguments, struct cli_size_input *input)
{
    sxt_size_result *result;
    sxt_size_info *sparse = NULL;
    sxt_error error;
    int status = cli_run_query(input, cli_value(arguments, "where"), &result);
    if (status != CLI_DONE)
        return status;
    if (sxt_size_result_key_count(result) > 0)
        status = cli_usage(arguments->verb, "--where takes a filter, without groups");
    else if (sxt_size_info_select(input->info, result, &sparse, &error) != SXT_OK)
        status = cli_fail(input->path, &error);
    sxt_size_result_free(&result);
    if (status == CLI_DONE) {
        sxt_size_info_free(&input->info);
        input->info = sparse;
    }
    return status;
}

static int save(const struct cli_arguments *arguments, const struct cli_size_input *input,
                const sxt_size_write_options *options)
{
    const char *output = cli_value(arguments, "output");
    sxt_error error;
    int status = input->info != NULL ? sxt_size_info_write(input->info, output, options, NULL, &error)
                                     : sxt_size_diff_write(input->diff, output, options, NULL, &error);
    return status == SXT_OK ? CLI_DONE : cli_fail(output, &error);
}

static int load(const struct cli_arguments *arguments, bool is_diff, struct cli_size_input *out)
{
    const char *path = arguments->words[0];
    sxt_size_load_options options;
    sxt_error error;
    *out = (struct cli_size_input){.path = path};
    sxt_size_load_options_init(&options);
    options.stored_only = true;
    int status = cli_max_size(arguments, &options.inflate_limit);
    if (status != CLI_DONE)
        return status;
    if (sxt_size_load(path, &options, &out->info, &out->diff, &error) != SXT_OK)
        return cli_fail(path, &error);
    if (is_diff != (out->diff != NULL))
        return cli_fail_text(path, is_diff ? "not a diff; 'sextant diff -o' makes one from two files"
                                           : "a diff cannot be converted to a .size file");
    return CLI_DONE;
}

int cli_convert_size(const struct cli_arguments *arguments, bool is_diff)
{
    const char *where = cli_value(arguments, "where");
    sxt_size_write_options options;
    sxt_size_write_options_init(&options);
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, "one size file at a time");
    int status = cli_deflate_option(arguments, &options);
    if (status != CLI_DONE)
        return status;
    if (is_diff && where != NULL)
        return cli_usage(arguments->verb, "--where is for .size files, not for diffs");
    struct cli_size_input input;
    status = load(arguments, is_diff, &input);
    if (status == CLI_DONE && where != NULL)
        status = select_symbols(arguments, &input);
    if (status == CLI_DONE)
        status = save(arguments, &input, &options);
    cli_size_close(&input);
    return status;
}
