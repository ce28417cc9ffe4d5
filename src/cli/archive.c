/* archive.c: symbols of a binary into an archive. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "base/progress.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write the archive to FILE (- for standard output)", NULL},
    {"format", 'f', "FORMAT", "lidia; by default what FILE's extension says", "lidia"},
    CLI_OPTIONS_EXTRACT,
    {"no-lines", 0, NULL, "leave line numbers out", NULL},
    {"no-files", 0, NULL, "leave file names out", NULL},
    {"no-inlines", 0, NULL, "leave inlined calls out", NULL},
    {"compat", 0, NULL,
     "the very bytes of the reference Lidia writer: symbols and\nGo functions only, its choice and order of them",
     NULL},
    {"strings", 0, "length|nul",
     "how strings are stored: behind their length (default)\nor ended by NUL, as the published description says",
     "length nul"},
    {"no-index", 0, NULL, "leave out the index that makes deep lookups fast", NULL},
    {"path-map", 0, "OLD=NEW",
     "file names that begin with OLD begin with NEW instead;\nmay be repeated, the first that matches counts", NULL},
    {"quiet", 'q', NULL, "no summary", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant archive /usr/bin/bash -o bash.lidia", "functions of bash, also from its debug file if that is installed"},
    {"sextant archive --debug app.debug app -o app.lidia", "a stripped binary with its symbols in a file of their own"},
    {"sextant archive --compat app -o app.lidia", "byte for byte what Pyroscope's own writer would give"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_archive = {
    .name = "archive",
    .synopsis = "[OPTION...] INPUT -o OUTPUT",
    .summary = "make an archive from the symbols of a binary",
    .description = "Collects the functions of an ELF file (plain, gzip, xz or zstd; - for standard input),\n"
                   "calls that were inlined into them, files and lines, from its DWARF, its Go function\n"
                   "table, its symbol tables, MiniDebugInfo and separate debug files, and writes them as an\n"
                   "archive that addresses can be looked up in. The output appears whole or not at all.",
    .options = options,
    .examples = examples,
    .run = run,
};

static int check_words(const struct cli_arguments *arguments);
static int collect_path_maps(const struct cli_arguments *arguments, sxt_lidia_options *lidia);
static void free_path_maps(sxt_lidia_options *lidia);
static int make_archive(const struct cli_arguments *arguments, const sxt_extract_options *extract,
                        const sxt_lidia_options *lidia);
static int check_compat(const struct cli_arguments *arguments, const sxt_open_options *open);
static int summarise(const struct cli_arguments *arguments, const char *output, const void *data, size_t size,
                     sxt_units units, double seconds);

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
    const char *output = cli_value(arguments, "output");
    sxt_open_options open;
    status = cli_open_options(arguments, input, &open);
    if (status == CLI_DONE && cli_given(arguments, "compat"))
        status = check_compat(arguments, &open);
    if (status != CLI_DONE)
        return status;
    sxt_lidia_options lidia;
    sxt_lidia_options_init(&lidia);
    lidia.mangled = open.mangled;
    lidia.no_index = cli_given(arguments, "no-index");
    const char *strings = cli_value(arguments, "strings");
    lidia.nul_strings = strings != NULL && strcmp(strings, "nul") == 0;
    if (strings != NULL && !lidia.nul_strings && strcmp(strings, "length") != 0)
        return cli_usage(arguments->verb, "--strings takes length or nul, not '%s'", strings);
    if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
        return cli_fail_text("-", "an archive is no text for a terminal; redirect it or give -o FILE");
    status = collect_path_maps(arguments, &lidia);
    if (status != CLI_DONE)
        return status;
    open.extract.flags |= (cli_given(arguments, "no-lines") ? SXT_EXTRACT_NO_LINES : 0u) |
                          (cli_given(arguments, "no-files") ? SXT_EXTRACT_NO_FILES : 0u) |
                          (cli_given(arguments, "no-inlines") ? SXT_EXTRACT_NO_INLINES : 0u) |
                          (cli_given(arguments, "compat") ? SXT_EXTRACT_REFERENCE : 0u);

    status = make_archive(arguments, &open.extract, &lidia);
    free_path_maps(&lidia);
    return status;
}

/* The library tells how far it is; the bar wants to know how much was added. */
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
    void *data;
    size_t size;
    int written = sxt_lidia_write_memory(symbols, lidia, &data, &size, &error);
    if (written == SXT_OK)
        written = sxt_output_save(output, data, size, &error);
    int status = written == SXT_OK ? summarise(arguments, output, data, size, sxt_symbols_units(symbols), now() - start)
                                   : cli_fail(output, &error);
    sxt_free(data);
    sxt_symbols_free(&symbols);
    return status;
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
        char *copy = strdup(text);
        char *equals = copy != NULL ? strchr(copy, '=') : NULL;
        if (equals == NULL || equals == copy) {
            free(copy);
            free_path_maps(lidia);
            return cli_usage(arguments->verb, "--path-map takes OLD=NEW, not '%s'", text);
        }
        *equals = 0;
        maps[i] = (sxt_path_map){copy, equals + 1};
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

static const char *extension_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL ? dot + 1 : "";
}

static int check_words(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    const char *format = cli_value(arguments, "format");
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no input given");
    if (arguments->word_count > 1)
        return cli_usage(arguments->verb, "one input at a time, not '%s' too", arguments->words[1]);
    if (output == NULL)
        return cli_usage(arguments->verb, "no output given (-o FILE)");
    if (format == NULL && strcmp(extension_of(output), "lidia") != 0)
        return cli_usage(arguments->verb, "'%s' does not end in .lidia; say which format (-f lidia)", output);
    if (format != NULL && strcmp(format, "lidia") != 0)
        return cli_usage(arguments->verb, "unknown format '%s'; known: lidia", format);
    return CLI_DONE;
}

static int check_compat(const struct cli_arguments *arguments, const sxt_open_options *open)
{
    static const char *const contradicting[] = {"debug", "debug-dir", "zero-size", "path-map"};
    for (size_t i = 0; i < sizeof contradicting / sizeof *contradicting; i++)
        if (cli_given(arguments, contradicting[i]))
            return cli_usage(arguments->verb, "--compat and --%s contradict each other", contradicting[i]);
    const char *strings = cli_value(arguments, "strings");
    if (strings != NULL && strcmp(strings, "length") != 0)
        return cli_usage(arguments->verb, "--compat and --strings %s contradict each other", strings);
    /* Its published versions differ in whether they know Go; apart from that it takes what it takes. */
    uint32_t sources = open->extract.sources | SXT_SOURCE_GO;
    if (cli_given(arguments, "sources") && sources != (SXT_SOURCE_GO | SXT_SOURCE_SYMTAB | SXT_SOURCE_DYNSYM))
        return cli_usage(arguments->verb, "--compat takes --sources symtab,dynsym or go,symtab,dynsym only");
    return CLI_DONE;
}

/* Everything that was said on the way went to stderr, and so does this, unless a program asked for it. */
static int summarise(const struct cli_arguments *arguments, const char *output, const void *data, size_t size,
                     sxt_units units, double seconds)
{
    sxt_archive *archive;
    sxt_error error;
    bool json = cli_given(arguments, "json");
    if (cli_given(arguments, "quiet") && !json)
        return CLI_DONE;
    if (sxt_archive_open_memory(data, size, NULL, &archive, &error) != SXT_OK)
        return cli_fail(output, &error);
    sxt_info info;
    sxt_archive_info(archive, &info);
    sxt_archive_close(&archive);
    if (!json) {
        fprintf(stderr, "%s: %llu functions, %llu inlined calls, %llu lines, %llu bytes, %.3f s", output,
                (unsigned long long)info.functions, (unsigned long long)info.inlines, (unsigned long long)info.lines,
                (unsigned long long)info.size, seconds);
        if (units.damaged > 0 || units.missing > 0)
            fprintf(stderr, "; %llu of %llu units of DWARF damaged, %llu missing", (unsigned long long)units.damaged,
                    (unsigned long long)units.read, (unsigned long long)units.missing);
        fputc('\n', stderr);
        return CLI_DONE;
    }
    struct sxt_emit emit;
    sxt_emit_init(&emit, strcmp(output, "-") == 0 ? stderr : stdout, true);
    sxt_emit_record(&emit);
    sxt_emit_cstring(&emit, "output", output);
    sxt_emit_cstring(&emit, "format", info.format);
    sxt_emit_number(&emit, "functions", info.functions);
    sxt_emit_number(&emit, "inlines", info.inlines);
    sxt_emit_number(&emit, "lines", info.lines);
    sxt_emit_number(&emit, "size", info.size);
    sxt_emit_number(&emit, "units", units.read);
    sxt_emit_number(&emit, "damaged_units", units.damaged);
    sxt_emit_number(&emit, "missing_units", units.missing);
    sxt_emit_number(&emit, "milliseconds", (uint64_t)(seconds * 1000));
    sxt_emit_record_end(&emit);
    return cli_finish(&emit, CLI_DONE);
}
