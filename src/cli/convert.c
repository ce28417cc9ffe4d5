/* convert.c: archives of one format into another. */
#include <string.h>
#include <unistd.h>

#include "archive/archive.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write to FILE (- for standard output)", NULL},
    {"format", 'f', "FORMAT", "lidia, symbfile or ksym; by default what FILE's\nextension says", "lidia symbfile ksym"},
    {"types", 0, "LETTERS", "to ksym: only symbols of these types of nm", NULL},
    {"layout", 0, "seed|0.6", "to ksym: the layout of the published description, or\nthe one of version 0.6",
     "seed 0.6"},
    {"mangled", 0, NULL, "text to ksym: leave names as linked; by default they are\ndemangled", NULL},
    {"quiet", 'q', NULL, "no summary", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant convert app.symbfile -o app.lidia", "for quick lookups"},
    {"sextant convert kernel.lidia -o kernel.ksym", "functions, for a kernel that asks itself"},
    {"sextant convert part0 part1 part2 -o app.symbfile", "the parts of a symbfile, together again"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_convert = {
    .name = "convert",
    .synopsis = "[OPTION...] INPUT... -o OUTPUT",
    .summary = "turn archives into another format, or several into one",
    .description = "Ranges of Lidia archives and symbfiles go from one format to the other without loss: functions,\n"
                   "files, calls and lines stay as they are. A ksym blob, which has names and addresses only, is\n"
                   "made of these, of other blobs, and of text as nm and /proc/kallsyms have it; out of one come\n"
                   "ranges that reach to the next symbol. The output appears whole or not at all.",
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
        return sxt_symbfile_write_ranges_path(symbols, &as_they_are, output, error);
    }
    sxt_lidia_options as_they_are;
    sxt_lidia_options_init(&as_they_are);
    as_they_are.mangled = true;
    return sxt_lidia_write_path(symbols, &as_they_are, output, error);
}

static int run(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    const char *format = cli_value(arguments, "format");
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no input given");
    if (output == NULL)
        return cli_usage(arguments->verb, "no output given (-o FILE)");
    if (format == NULL)
        format = cli_extension(output);
    bool is_ksym = strcmp(format, "ksym") == 0;
    if (!is_ksym && strcmp(format, "lidia") != 0 && strcmp(format, "symbfile") != 0)
        return cli_usage(arguments->verb, "cannot convert to '%s'; known: lidia, symbfile, ksym (-f FORMAT)", format);
    static const char *const of_ksym[] = {"types", "layout", "mangled", "json"};
    for (size_t i = 0; i < sizeof of_ksym / sizeof *of_ksym; i++)
        if (!is_ksym && cli_given(arguments, of_ksym[i]))
            return cli_usage(arguments->verb, "--%s is for ksym, not %s", of_ksym[i], format);
    if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
        return cli_fail_text("-", "an archive is no text for a terminal; redirect it or give -o FILE");
    if (is_ksym)
        return cli_make_ksym(arguments, true);
    cli_expect_much_memory();
    sxt_symbols *symbols;
    const char *failed;
    sxt_error error;
    if (sxt_symbols_from_archives(arguments->words, arguments->word_count, &symbols, &failed, &error) != SXT_OK)
        return cli_fail(failed, &error);
    int written = write_format(symbols, format, output, &error);
    sxt_symbols_free(&symbols);
    return written == SXT_OK ? CLI_DONE : cli_fail(output, &error);
}
