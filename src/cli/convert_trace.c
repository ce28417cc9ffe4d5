/* convert_trace.c: heap traces, from plain to compressed and back, and recordings that were cut off. */
#include "cli/heap.h"
#include "cli/verbs.h"

static void show_warning(void *data, const char *path, const char *text)
{
    (void)data;
    cli_warn(path, "%s", text);
}

int cli_convert_trace(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output"), *input = arguments->words[0];
    struct cli_progress progress = {.phase = "finishing"};
    sxt_trace_converted converted = {.struct_size = sizeof converted};
    sxt_trace_write_options options;
    sxt_error error;
    sxt_trace_write_options_init(&options);
    options.compress = cli_given(arguments, "compress");
    options.recover = cli_given(arguments, "recover");
    bool is_plain = cli_given(arguments, "decompress") || cli_given(arguments, "plain");
    options.keep_form = options.recover && !options.compress && !is_plain;
    if (cli_threads(arguments, &options.threads) != CLI_DONE)
        return CLI_USAGE;
    options.warning = show_warning;
    options.progress = cli_given(arguments, "quiet") ? NULL : cli_progress_show;
    options.data = &progress;
    if (options.compress && is_plain)
        return cli_usage(arguments->verb, "--compress and --%s cannot be used together",
                         cli_given(arguments, "plain") ? "plain" : "decompress");
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, "one heap trace at a time");
    if (cli_check_binary(arguments, "output", "-o") != CLI_DONE)
        return CLI_NO;
    int status = sxt_trace_convert_path(input, output, &options, &converted, &error);
    cli_progress_end(&progress);
    cli_warn_version(input, converted.version);
    cli_warn_oddities(input, &converted.oddities);
    if (status != SXT_OK)
        return cli_fail(converted.output_failed ? output : input, &error);
    if (converted.lost > 0)
        cli_warn(input, "%llu bytes cannot be read and were left out", (unsigned long long)converted.lost);
    return CLI_DONE;
}
