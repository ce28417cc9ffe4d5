/* convert.c: archives of one format into another. */
#include <string.h>

#include "cli/size_input.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write to FILE (- for standard output)", NULL},
    {"format", 'f', "FORMAT", "lidia, symbfile, ksym, size or sizediff (default: by the\nextension of FILE)",
     "lidia symbfile ksym size sizediff"},
    {"types", 0, "LETTERS", "to ksym: only symbols with these type letters of nm", NULL},
    {"layout", 0, "seed|0.6", "to ksym: the published layout (default), or that of version 0.6", "seed 0.6"},
    {"mangled", 0, NULL, "text to ksym: keep names mangled; by default they are\ndemangled", NULL},
    {"where", 0, "FILTER", "to size: only symbols that this filter of 'sextant query'\nselects, and their aliases",
     NULL},
    {"deflate", 0, "stock|fast", "to size: the bytes of SuperSize (default), or 10 times as fast", "stock fast"},
    CLI_OPTION_MAX_SIZE,
    {"compress", 0, NULL, "heap traces: compress in blocks, with an index in OUTPUT.idx", NULL},
    {"decompress", 0, NULL, "heap traces: decompress, for any reader of version 1", NULL},
    {"plain", 0, NULL, "the same as --decompress", NULL},
    {"recover", 0, NULL,
     "heap traces: recover one that was cut off or damaged. A\nrecording is compressed, but not with --plain", NULL},
    {"quiet", 'q', NULL, "print no summary", NULL},
    CLI_OPTION_THREADS,
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant convert app.symbfile -o app.lidia", "for quick lookups"},
    {"sextant convert kernel.lidia -o kernel.ksym", "functions, for a kernel to look up itself"},
    {"sextant convert part0 part1 part2 -o app.symbfile", "join the parts of a symbfile"},
    {"sextant convert --compress run.mlyze -o small.mlyze", "a smaller heap trace that can be searched"},
    {"sextant convert app.size -o text.size --where 'section:.text and size>=1k'", "a part of a size file"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_convert = {
    .name = "convert",
    .synopsis = "[OPTION...] INPUT... -o OUTPUT",
    .summary = "convert archives to another format, or merge several",
    .description = "Converts Lidia archives and symbfiles into each other without loss. A ksym blob has names and\n"
                   "addresses only; it is made from archives, other blobs, and text as nm and /proc/kallsyms print\n"
                   "it. Converting a blob gives ranges that extend to the next symbol. Size files\n"
                   "are copied, whole or in part. Heap traces are compressed, decompressed or recovered. The\n"
                   "output is written completely or not at all.",
    .options = options,
    .examples = examples,
    .run = run,
};

static int write_format(const sxt_symbols *symbols, const char *format, const char *output, sxt_error *error)
{
    if (strcmp(format, "symbfile") == 0) {
        sxt_symbfile_options as_they_are;
        sxt_symbfile_options_init(&as_they_are);
        as_they_are.mangled = true;
        return sxt_symbfile_write_ranges_path(symbols, &as_they_are, output, NULL, error);
    }
    sxt_lidia_options as_they_are;
    sxt_lidia_options_init(&as_they_are);
    as_they_are.mangled = true;
    return sxt_lidia_write_path(symbols, &as_they_are, output, NULL, error);
}

/* Options that only some formats have. */
static int check_options(const struct cli_arguments *arguments, const char *format)
{
    static const char *const of_ksym[] = {"types", "layout", "mangled", "json"};
    static const char *const of_size[] = {"where", "deflate", "max-size"};
    bool is_ksym = strcmp(format, "ksym") == 0;
    bool is_size = strcmp(format, "size") == 0 || strcmp(format, "sizediff") == 0;
    if (*format == 0)
        return cli_usage(arguments->verb, "no format given; use -f lidia, symbfile, ksym, size or sizediff");
    if (!is_ksym && !is_size && strcmp(format, "lidia") != 0 && strcmp(format, "symbfile") != 0)
        return cli_usage(arguments->verb, "cannot convert to '%s'; use -f lidia, symbfile, ksym, size or sizediff",
                         format);
    for (size_t i = 0; i < sizeof of_ksym / sizeof *of_ksym; i++)
        if (!is_ksym && cli_given(arguments, of_ksym[i]))
            return cli_usage(arguments->verb, "--%s is for ksym, not %s", of_ksym[i], format);
    for (size_t i = 0; i < sizeof of_size / sizeof *of_size; i++)
        if (!is_size && cli_given(arguments, of_size[i]))
            return cli_usage(arguments->verb, "--%s is for size, not %s", of_size[i], format);
    unsigned ignored;
    return cli_threads(arguments, &ignored);
}

/*
 * Is a heap trace to be converted? An option for traces means yes without looking at the content: a stream can be read
 * only once, and a damaged file may not look like a trace. If it is something else, reading it fails.
 */
static int detect_trace(const struct cli_arguments *arguments, bool *is_trace)
{
    static const char *const of_traces[] = {"compress", "decompress", "plain", "recover"};
    const char *given = NULL, *format = cli_value(arguments, "format");
    for (size_t i = 0; i < sizeof of_traces / sizeof *of_traces && given == NULL; i++)
        if (cli_given(arguments, of_traces[i]))
            given = of_traces[i];
    if (given != NULL && format != NULL)
        return cli_usage(arguments->verb, "--%s and --format cannot be used together", given);
    *is_trace = given != NULL || (format == NULL && cli_is_trace(arguments->words[0]));
    return CLI_DONE;
}

static int run(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    const char *format = cli_value(arguments, "format");
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no input given");
    if (output == NULL)
        return cli_usage(arguments->verb, "no output given (-o FILE)");
    bool is_trace = false;
    int status = detect_trace(arguments, &is_trace);
    if (status != CLI_DONE)
        return status;
    if (is_trace)
        return cli_convert_trace(arguments);
    if (format == NULL)
        format = cli_extension(output);
    status = check_options(arguments, format);
    if (status == CLI_DONE)
        status = cli_check_binary(arguments, "output", "-o");
    if (status != CLI_DONE)
        return status;
    if (strcmp(format, "ksym") == 0)
        return cli_make_ksym(arguments, true);
    cli_expect_much_memory(false);
    if (strcmp(format, "size") == 0 || strcmp(format, "sizediff") == 0)
        return cli_convert_size(arguments, strcmp(format, "sizediff") == 0);
    sxt_symbols *symbols;
    const char *failed;
    sxt_error error;
    if (sxt_symbols_from_archives(arguments->words, arguments->word_count, &symbols, &failed, &error) != SXT_OK)
        return cli_fail(failed, &error);
    int written = write_format(symbols, format, output, &error);
    sxt_symbols_free(&symbols);
    return written == SXT_OK ? CLI_DONE : cli_fail(output, &error);
}
