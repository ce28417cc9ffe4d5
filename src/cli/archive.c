/* archive.c: symbols of a binary into an archive. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write the archive to FILE (- for standard output)", NULL},
    {"format", 'f', "FORMAT", "lidia, symbfile, returnpads, ksym or size (default: by\nthe extension of FILE)",
     "lidia symbfile returnpads ksym size"},
    {"returnpads", 0, "FILE", "with a symbfile: write its return pads to FILE too", NULL},
    {"types", 0, "LETTERS",
     "ksym: only symbols with these type letters of nm, or all\n(default: Tt of text, all code of a binary)", NULL},
    {"layout", 0, "seed|0.6", "ksym: the published layout (default), or that of version 0.6", "seed 0.6"},
    {"map", 0, "FILE",
     "size: the linker's map, for objects and literals (default:\nINPUT.map or INPUT.map.gz, if it is the map of INPUT)",
     NULL},
    {"no-map", 0, NULL, "size: do not look for a linker map", NULL},
    {"components", 0, "FILE", "size: which component owns a path, in lines of the form\nPREFIX COMPONENT", NULL},
    {"source-dir", 0, "DIR", "size: store paths relative to DIR; use its DIR_METADATA\nfiles and its git revision",
     NULL},
    {"title", 0, "TEXT", "size: title of the build", NULL},
    {"url", 0, "URL", "size: URL of the build", NULL},
    {"git-revision", 0, "ID", "size: git revision of the build", NULL},
    {"build-config", 0, "KEY=VALUE", "size: a setting of the build; may be repeated", NULL},
    {"with-debug", 0, NULL, "size: count debug information and symbols too", NULL},
    {"deflate", 0, "stock|fast", "size: the bytes of SuperSize (default), or 10 times as fast", "stock fast"},
    CLI_OPTIONS_EXTRACT,
    {"no-lines", 0, NULL, "leave out line numbers", NULL},
    {"no-files", 0, NULL, "leave out file names", NULL},
    {"no-inlines", 0, NULL, "leave out inlined calls", NULL},
    {"compat", 0, NULL,
     "write the same bytes as the reference Lidia writer: symbols\nand Go functions only, in its selection and order",
     NULL},
    {"strings", 0, "length|nul",
     "store strings after their length (default), or ended by\nNUL, as in the published description", "length nul"},
    {"no-index", 0, NULL, "leave out the index that makes deep lookups fast", NULL},
    {"path-map", 0, "OLD=NEW",
     "replace OLD at the beginning of file names by NEW;\nmay be repeated; the first that matches is used", NULL},
    {"quiet", 'q', NULL, "print no summary", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant archive /usr/bin/bash -o bash.lidia", "functions of bash, also from its debug file if installed"},
    {"sextant archive --debug app.debug app -o app.lidia", "a stripped binary with its symbols in a separate file"},
    {"sextant archive app -o app.symbfile --returnpads app.returnpads", "both files of the OpenTelemetry profiler"},
    {"sextant archive --map app.map app -o app.size", "who owns each byte of a binary"},
    {"sudo cat /proc/kallsyms | sextant archive - -o kernel.ksym", "the symbols of the running kernel"},
    {"sextant archive --compat app -o app.lidia", "byte for byte what Pyroscope's own writer produces"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_archive = {
    .name = "archive",
    .synopsis = "[OPTION...] INPUT... -o OUTPUT",
    .summary = "make an archive from the symbols of a binary",
    .description = "Collects the functions of an ELF file (plain, gzip, xz or zstd; - for standard input),\n"
                   "inlined calls, files and lines, from its DWARF, its Go function table, its symbol\n"
                   "tables, MiniDebugInfo and separate debug files, and writes them to an archive for\n"
                   "lookups. The output is written completely or not at all.\n"
                   "A ksym blob is also made from text as nm and /proc/kallsyms print it, and from archives.\n"
                   "A size file shows who owns each byte of binaries, object files, static libraries and Android\n"
                   "packages (.apk, .aab, and other zip files); it is made from one or several of them.",
    .options = options,
    .examples = examples,
    .run = run,
};

static int check_words(const struct cli_arguments *arguments);
static int collect_path_maps(const struct cli_arguments *arguments, sxt_lidia_options *lidia);
static void free_path_maps(sxt_lidia_options *lidia);
static const char *format_of(const struct cli_arguments *arguments);
static int make_archive(const struct cli_arguments *arguments, const sxt_extract_options *extract,
                        const sxt_lidia_options *lidia);
static int check_compat(const struct cli_arguments *arguments, const sxt_extract_options *extract);

/* What was written. */
struct made {
    sxt_written written;
    sxt_units units;
    double seconds;
};

static int summarise(const struct cli_arguments *arguments, const struct made *made);

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int run(const struct cli_arguments *arguments)
{
    int status = check_words(arguments);
    if (status != CLI_DONE)
        return status;
    const char *input = arguments->words[0];
    status = cli_check_binary(arguments, "output", "-o");
    if (status == CLI_DONE)
        status = cli_check_binary(arguments, "returnpads", "--returnpads");
    if (status != CLI_DONE)
        return status;
    if (strcmp(format_of(arguments), "ksym") == 0)
        return cli_make_ksym(arguments, false);
    if (strcmp(format_of(arguments), "size") == 0)
        return cli_make_size(arguments);
    sxt_open_options open;
    sxt_extract_options extract;
    status = cli_open_options(arguments, input, &open, &extract);
    if (status == CLI_DONE && cli_given(arguments, "compat"))
        status = check_compat(arguments, &extract);
    if (status != CLI_DONE)
        return status;
    sxt_lidia_options lidia;
    sxt_lidia_options_init(&lidia);
    lidia.mangled = open.mangled;
    lidia.threads = extract.threads;
    lidia.no_index = cli_given(arguments, "no-index");
    const char *strings = cli_value(arguments, "strings");
    lidia.nul_strings = strings != NULL && strcmp(strings, "nul") == 0;
    if (strings != NULL && !lidia.nul_strings && strcmp(strings, "length") != 0)
        return cli_usage(arguments->verb, "--strings takes length or nul, not '%s'", strings);
    status = collect_path_maps(arguments, &lidia);
    if (status != CLI_DONE)
        return status;
    extract.flags |= (cli_given(arguments, "no-lines") ? SXT_EXTRACT_NO_LINES : 0u) |
                     (cli_given(arguments, "no-files") ? SXT_EXTRACT_NO_FILES : 0u) |
                     (cli_given(arguments, "no-inlines") ? SXT_EXTRACT_NO_INLINES : 0u) |
                     (cli_given(arguments, "compat") ? SXT_EXTRACT_REFERENCE : 0u);

    status = make_archive(arguments, &extract, &lidia);
    free_path_maps(&lidia);
    return status;
}

/* The library reports how far it is; the bar needs to know how much was added. */
struct bar {
    struct sxt_progress progress;
    uint64_t done;
};

static void show_progress(void *data, uint64_t done, uint64_t total)
{
    struct bar *bar = data;
    if (bar->done == 0)
        sxt_progress_phase(&bar->progress, "reading DWARF", total);
    if (done > bar->done) {
        sxt_progress_advance(&bar->progress, done - bar->done);
        bar->done = done;
    }
}

/* Ranges, return pads, or both, from one reading. *FAILED is the file that could not be written. */
static int write_symbfiles(const struct cli_arguments *arguments, const sxt_symbols *symbols,
                           const sxt_lidia_options *lidia, sxt_written *written, const char **failed, sxt_error *error)
{
    const char *input = arguments->words[0];
    const char *output = cli_value(arguments, "output");
    const char *pads = cli_value(arguments, "returnpads");
    sxt_symbfile_options symbfile;
    sxt_symbfile_options_init(&symbfile);
    symbfile.mangled = lidia->mangled;
    symbfile.path_maps = lidia->path_maps;
    symbfile.path_map_count = lidia->path_map_count;
    symbfile.threads = lidia->threads;
    if (strcmp(format_of(arguments), "returnpads") == 0)
        return sxt_symbfile_write_pads_path(symbols, input, &symbfile, output, written, error);
    if (pads == NULL)
        return sxt_symbfile_write_ranges_path(symbols, &symbfile, output, written, error);
    int which = 0;
    int status = sxt_symbfile_write_both_path(symbols, input, &symbfile, output, pads, written, &which, error);
    *failed = which == 0 ? output : pads;
    return status;
}

static int make_archive(const struct cli_arguments *arguments, const sxt_extract_options *extract,
                        const sxt_lidia_options *lidia)
{
    const char *input = arguments->words[0];
    const char *output = cli_value(arguments, "output");
    double start = now();
    cli_expect_much_memory();
    struct bar bar = {.done = 0};
    sxt_extract_options with_bar = *extract;
    with_bar.progress = show_progress;
    with_bar.progress_data = &bar;
    sxt_progress_open(&bar.progress, stderr, false);
    sxt_symbols *symbols;
    sxt_error error;
    int read = sxt_symbols_from_path(input, cli_given(arguments, "quiet") ? extract : &with_bar, &symbols, &error);
    sxt_progress_close(&bar.progress);
    if (read != SXT_OK)
        return cli_fail(input, &error);
    if (sxt_symbols_range_count(symbols) == 0)
        cli_warn(input, "no functions found; the archive is empty%s",
                 extract->debug_path == NULL ? " (stripped? --debug FILE names a debug file)" : "");
    struct made made = {.written = {.struct_size = sizeof made.written}, .units = sxt_symbols_units(symbols)};
    const char *failed = output;
    int written = strcmp(format_of(arguments), "lidia") == 0
                      ? sxt_lidia_write_path(symbols, lidia, output, &made.written, &error)
                      : write_symbfiles(arguments, symbols, lidia, &made.written, &failed, &error);
    sxt_symbols_free(&symbols);
    made.seconds = now() - start;
    return written == SXT_OK ? summarise(arguments, &made) : cli_fail(failed, &error);
}

/* Each "OLD=NEW" becomes two strings of one allocation, which begins with OLD. */
static int collect_path_maps(const struct cli_arguments *arguments, sxt_lidia_options *lidia)
{
    size_t count = 0;
    while (cli_value_at(arguments, "path-map", count) != NULL)
        count++;
    sxt_path_map *maps = calloc(count + 1, sizeof *maps);
    if (maps == NULL)
        return cli_fail_text(NULL, "out of memory");
    lidia->path_maps = maps;
    for (size_t i = 0; i < count; i++) {
        const char *text = cli_value_at(arguments, "path-map", i);
        const char *equals = strchr(text, '=');
        char *copy = strdup(text);
        if (copy == NULL || equals == NULL || equals == text) {
            bool is_wrong = equals == NULL || equals == text;
            free(copy);
            free_path_maps(lidia);
            return is_wrong ? cli_usage(arguments->verb, "--path-map takes OLD=NEW, not '%s'", text)
                            : cli_fail_text(NULL, "out of memory");
        }
        size_t size = (size_t)(equals - text);
        copy[size] = 0;
        maps[i] = (sxt_path_map){copy, copy + size + 1};
        lidia->path_map_count++;
    }
    return CLI_DONE;
}

static void free_path_maps(sxt_lidia_options *lidia)
{
    for (size_t i = 0; i < lidia->path_map_count; i++)
        free((void *)(uintptr_t)lidia->path_maps[i].old_prefix);
    free((void *)(uintptr_t)lidia->path_maps);
    lidia->path_maps = NULL;
    lidia->path_map_count = 0;
}

static const char *const formats[] = {"lidia", "symbfile", "returnpads", "ksym", "size"};

/* The format given by --format, or by the extension of the output; NULL if neither names one. */
static const char *format_of(const struct cli_arguments *arguments)
{
    const char *format = cli_value(arguments, "format");
    if (format == NULL)
        format = cli_extension(cli_value(arguments, "output"));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(format, formats[i]) == 0)
            return formats[i];
    return NULL;
}

/* Options that only one format has. */
static int check_format(const struct cli_arguments *arguments, const char *format)
{
    static const char *const of_lidia[] = {"compat", "strings", "no-index"};
    for (size_t i = 0; i < sizeof of_lidia / sizeof *of_lidia; i++)
        if (strcmp(format, "lidia") != 0 && cli_given(arguments, of_lidia[i]))
            return cli_usage(arguments->verb, "--%s is for lidia, not %s", of_lidia[i], format);
    static const char *const of_ksym[] = {"types", "layout"};
    for (size_t i = 0; i < sizeof of_ksym / sizeof *of_ksym; i++)
        if (strcmp(format, "ksym") != 0 && cli_given(arguments, of_ksym[i]))
            return cli_usage(arguments->verb, "--%s is for ksym, not %s", of_ksym[i], format);
    static const char *const of_size[] = {"map", "no-map",       "components",   "source-dir", "title",
                                          "url", "git-revision", "build-config", "with-debug", "deflate"};
    for (size_t i = 0; i < sizeof of_size / sizeof *of_size; i++)
        if (strcmp(format, "size") != 0 && cli_given(arguments, of_size[i]))
            return cli_usage(arguments->verb, "--%s is for size, not %s", of_size[i], format);
    static const char *const of_ranges[] = {"path-map", "no-lines", "no-files", "no-inlines"};
    bool has_ranges = strcmp(format, "ksym") != 0 && strcmp(format, "size") != 0;
    for (size_t i = 0; i < sizeof of_ranges / sizeof *of_ranges; i++)
        if (!has_ranges && cli_given(arguments, of_ranges[i]))
            return cli_usage(arguments->verb, "--%s does not apply to %s", of_ranges[i], format);
    if (strcmp(format, "symbfile") != 0 && cli_given(arguments, "returnpads"))
        return cli_usage(arguments->verb, "--returnpads is for symbfile, not %s", format);
    bool pads = strcmp(format, "returnpads") == 0 || cli_given(arguments, "returnpads");
    if (pads && strcmp(arguments->words[0], "-") == 0)
        return cli_usage(arguments->verb, "return pads need the binary as a file; standard input is not supported");
    return CLI_DONE;
}

static int check_words(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    const char *format = cli_value(arguments, "format");
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no input given");
    if (output == NULL)
        return cli_usage(arguments->verb, "no output given (-o FILE)");
    if (arguments->word_count > 1 && (format_of(arguments) == NULL || strcmp(format_of(arguments), "size") != 0))
        return cli_usage(arguments->verb, "unexpected second input: '%s'", arguments->words[1]);
    if (format != NULL && format_of(arguments) == NULL)
        return cli_usage(arguments->verb, "unknown format '%s'; use lidia, symbfile, returnpads, ksym or size", format);
    if (format_of(arguments) == NULL)
        return cli_usage(arguments->verb, "no format given for '%s'; use -f lidia, symbfile, returnpads, ksym or size",
                         output);
    return check_format(arguments, format_of(arguments));
}

static int check_compat(const struct cli_arguments *arguments, const sxt_extract_options *extract)
{
    static const char *const contradicting[] = {"debug", "debug-dir", "zero-size", "path-map"};
    for (size_t i = 0; i < sizeof contradicting / sizeof *contradicting; i++)
        if (cli_given(arguments, contradicting[i]))
            return cli_usage(arguments->verb, "--compat and --%s cannot be used together", contradicting[i]);
    const char *strings = cli_value(arguments, "strings");
    if (strings != NULL && strcmp(strings, "length") != 0)
        return cli_usage(arguments->verb, "--compat and --strings %s cannot be used together", strings);
    /* Some published versions of the reference read Go functions, others do not. Its other sources are fixed. */
    uint32_t sources = extract->sources | SXT_SOURCE_GO;
    if (cli_given(arguments, "sources") && sources != (SXT_SOURCE_GO | SXT_SOURCE_SYMTAB | SXT_SOURCE_DYNSYM))
        return cli_usage(arguments->verb, "--compat allows only --sources symtab,dynsym or go,symtab,dynsym");
    return CLI_DONE;
}

static void print_summary(const char *output, const struct made *made)
{
    const sxt_written *written = &made->written;
    cli_print_name(output);
    fputs(": ", stderr);
    cli_print_count(written->functions, "function");
    fputs(", ", stderr);
    cli_print_count(written->inlines, "inlined call");
    fputs(", ", stderr);
    cli_print_count(written->lines, "line");
    if (written->return_pads > 0) {
        fputs(", ", stderr);
        cli_print_count(written->return_pads, "return pad");
    }
    fprintf(stderr, ", %llu bytes, %.3f s", (unsigned long long)written->size, made->seconds);
    if (made->units.damaged > 0 || made->units.missing > 0) {
        fprintf(stderr, "; %llu of ", (unsigned long long)made->units.damaged);
        cli_print_count(made->units.read, "DWARF unit");
        fprintf(stderr, " damaged, %llu missing", (unsigned long long)made->units.missing);
    }
    fputc('\n', stderr);
}

/* The summary goes to stderr, like all messages, unless JSON was asked for. */
static int summarise(const struct cli_arguments *arguments, const struct made *made)
{
    const char *output = cli_value(arguments, "output");
    if (!cli_given(arguments, "json")) {
        if (cli_given(arguments, "quiet"))
            return CLI_DONE;
        print_summary(output, made);
        return CLI_DONE;
    }
    struct sxt_emit emit;
    cli_begin_summary(&emit, output, format_of(arguments));
    sxt_emit_number(&emit, "functions", made->written.functions);
    sxt_emit_number(&emit, "inlines", made->written.inlines);
    sxt_emit_number(&emit, "lines", made->written.lines);
    sxt_emit_number(&emit, "return_pads", made->written.return_pads);
    sxt_emit_number(&emit, "size", made->written.size);
    sxt_emit_number(&emit, "units", made->units.read);
    sxt_emit_number(&emit, "damaged_units", made->units.damaged);
    sxt_emit_number(&emit, "missing_units", made->units.missing);
    sxt_emit_number(&emit, "milliseconds", (uint64_t)(made->seconds * 1000));
    sxt_emit_record_end(&emit);
    return cli_finish(&emit, CLI_DONE);
}
