/* archive.c: symbols of a binary into an archive. */
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "cli/making.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write the archive to FILE (- for standard output)", NULL},
    {"out-dir", 0, "DIR",
     "write an archive of each INPUT to DIR, in parallel, named\nafter its build ID, or its FileID: BUILDID.lidia",
     NULL},
    {"format", 'f', "FORMAT",
     "lidia, symbfile, returnpads, ksym or size (default: by\nthe extension of FILE; lidia with --out-dir)",
     "lidia symbfile returnpads ksym size"},
    {"returnpads", 0, "FILE", "with a symbfile: write its return pads to FILE too", NULL},
    {"types", 0, "LETTERS",
     "ksym: only symbols with these type letters of nm, or all\n(default: Tt of text, all code of a binary)", NULL},
    {"layout", 0, "seed|0.6", "ksym: the published layout (default), or that of version 0.6", "seed 0.6"},
    {"map", 0, "FILE",
     "size: the linker's map, for objects and literals (default:\n"
     "INPUT.map or INPUT.map.gz, if it is the map of INPUT)",
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
    {"sextant archive --out-dir archives /usr/bin/*", "many archives, for symbolize --search archives"},
    {"sudo cat /proc/kallsyms | sextant archive - -o kernel.ksym", "the symbols of the running kernel"},
    {"sextant archive --compat app -o app.lidia", "byte for byte what Pyroscope's own writer produces"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_archive = {
    .name = "archive",
    .synopsis = "[OPTION...] INPUT... -o OUTPUT | --out-dir DIR",
    .summary = "make an archive from the symbols of a binary",
    .description = "Collects the functions of an ELF file (plain, gzip, xz or zstd; - for standard input),\n"
                   "inlined calls, files and lines, from its DWARF, its Go function table, its symbol\n"
                   "tables, MiniDebugInfo and separate debug files, and writes them to an archive for\n"
                   "lookups. The output is written completely or not at all.\n"
                   "A ksym blob is also made from text as nm and /proc/kallsyms print it, and from archives.\n"
                   "A size file shows who owns each byte of binaries, object files, static libraries and Android\n"
                   "packages (.apk, .aab, and other zip files); it is made from one or several of them.\n"
                   "With --out-dir, an input that cannot be read does not keep the others from being made.",
    .options = options,
    .examples = examples,
    .run = run,
};

static int check_words(const struct cli_arguments *arguments);
static int collect_path_maps(const struct cli_arguments *arguments, sxt_lidia_options *lidia);
static void free_path_maps(sxt_lidia_options *lidia);
static const char *format_of(const struct cli_arguments *arguments);
static int read_options(const struct cli_arguments *arguments, struct cli_making *making);
static int make_archive(const struct cli_arguments *arguments, const struct cli_making *making);
static int check_compat(const struct cli_arguments *arguments, const sxt_extract_options *extract);
static int summarise(const struct cli_arguments *arguments, const struct cli_made *made);

static int run(const struct cli_arguments *arguments)
{
    int status = check_words(arguments);
    if (status == CLI_DONE)
        status = cli_check_binary(arguments, "output", "-o");
    if (status == CLI_DONE)
        status = cli_check_binary(arguments, "returnpads", "--returnpads");
    if (status != CLI_DONE)
        return status;
    const char *format = format_of(arguments);
    bool is_many = cli_given(arguments, "out-dir");
    if (!is_many && strcmp(format, "ksym") == 0)
        return cli_make_ksym(arguments, false);
    if (!is_many && strcmp(format, "size") == 0)
        return cli_make_size(arguments);
    struct cli_making making = {.format = format};
    if (strcmp(format, "ksym") == 0)
        status = cli_ksym_options(arguments, &making.ksym, &making.extract);
    else if (strcmp(format, "size") == 0)
        status = cli_size_options(arguments, &making);
    else
        status = read_options(arguments, &making);
    if (status == CLI_DONE)
        status = is_many ? cli_archive_many(arguments, &making) : make_archive(arguments, &making);
    free_path_maps(&making.lidia);
    free((void *)making.build_config);
    return status;
}

/* Options of archives with ranges. */
static int read_options(const struct cli_arguments *arguments, struct cli_making *making)
{
    sxt_open_options open;
    sxt_extract_options *extract = &making->extract;
    sxt_lidia_options *lidia = &making->lidia;
    int status = cli_open_options(arguments, arguments->words[0], &open, extract);
    if (status == CLI_DONE && cli_given(arguments, "compat"))
        status = check_compat(arguments, extract);
    if (status != CLI_DONE)
        return status;
    sxt_lidia_options_init(lidia);
    lidia->mangled = open.mangled;
    lidia->no_index = cli_given(arguments, "no-index");
    const char *strings = cli_value(arguments, "strings");
    lidia->nul_strings = strings != NULL && strcmp(strings, "nul") == 0;
    if (strings != NULL && !lidia->nul_strings && strcmp(strings, "length") != 0)
        return cli_usage(arguments->verb, "--strings takes length or nul, not '%s'", strings);
    extract->flags |= (cli_given(arguments, "no-lines") ? SXT_EXTRACT_NO_LINES : 0u) |
                      (cli_given(arguments, "no-files") ? SXT_EXTRACT_NO_FILES : 0u) |
                      (cli_given(arguments, "no-inlines") ? SXT_EXTRACT_NO_INLINES : 0u) |
                      (cli_given(arguments, "compat") ? SXT_EXTRACT_REFERENCE : 0u);
    return collect_path_maps(arguments, lidia);
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

static int make_archive(const struct cli_arguments *arguments, const struct cli_making *making)
{
    cli_expect_much_memory(false);
    struct bar bar = {.done = 0};
    struct cli_making with_bar = *making;
    if (!cli_given(arguments, "quiet")) {
        with_bar.extract.progress = show_progress;
        with_bar.extract.progress_data = &bar;
    }
    struct cli_job job = {.input = arguments->words[0],
                          .output = cli_value(arguments, "output"),
                          .pads = cli_value(arguments, "returnpads")};
    struct cli_made made;
    sxt_error error;
    sxt_progress_open(&bar.progress, stderr, false);
    int status = cli_make_one(&with_bar, &job, &made, &error);
    sxt_progress_close(&bar.progress);
    return status == SXT_OK ? summarise(arguments, &made) : cli_fail(job.failed, &error);
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
    if (format == NULL && cli_given(arguments, "out-dir"))
        format = "lidia";
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
    bool is_many = cli_given(arguments, "out-dir");
    if (output == NULL && !is_many)
        return cli_usage(arguments->verb, "no output given (-o FILE)");
    static const char *const of_one[] = {"output", "returnpads", "debug", "map"};
    for (size_t i = 0; is_many && i < sizeof of_one / sizeof *of_one; i++)
        if (cli_given(arguments, of_one[i]) && (i < 2 || arguments->word_count > 1))
            return cli_usage(arguments->verb, "--%s is for one archive, not for --out-dir", of_one[i]);
    if (!is_many && arguments->word_count > 1 &&
        (format_of(arguments) == NULL || strcmp(format_of(arguments), "size") != 0))
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

/* The summary goes to stderr, like all messages, unless JSON was asked for. */
static int summarise(const struct cli_arguments *arguments, const struct cli_made *made)
{
    const char *output = cli_value(arguments, "output");
    if (!cli_given(arguments, "json")) {
        if (cli_given(arguments, "quiet"))
            return CLI_DONE;
        cli_print_made(NULL, output, made);
        return CLI_DONE;
    }
    struct sxt_emit emit;
    cli_begin_summary(&emit, output, format_of(arguments));
    cli_emit_made(&emit, made);
    sxt_emit_record_end(&emit);
    return cli_finish(&emit, CLI_DONE);
}
