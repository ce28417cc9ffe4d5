/* symbolize.c: adds names to a profile or to text. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sextant/profile.h>

#include "base/error.h"
#include "base/file.h"
#include "base/output.h"
#include "cli/server_options.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write the profile to FILE (- for standard output);\ngzipped if its name ends in .gz",
     NULL},
    {"text", 0, NULL, "filter text instead: perf script, sanitizer reports,\nkernel oopses, backtrace() lines", NULL},
    {"search", 0, "DIR",
     "search DIR and below for binaries, debug files and archives:\nby build ID, by FileID, by name; may be repeated",
     NULL},
    {"no-local", 0, NULL, "search only there, not by the paths in the profile", NULL},
    {"assume-linear", 0, NULL, "in an archive without the segments of its binary, take file\noffsets for addresses",
     NULL},
    {"url", 0, "URL", "ask the symbol service at URL for what is not found", NULL},
    CLI_OPTIONS_SERVER,
    {"force", 0, NULL, "also replace lines that the profile has", NULL},
    {"max-size", 0, "MIB", "the most that a profile may expand to (default: 512)", NULL},
    {"debug-dir", 0, "DIR", "search DIR instead of /usr/lib/debug for debug files", NULL},
    {"mangled", 0, NULL, "keep names mangled; by default they are demangled", NULL},
    CLI_OPTION_THREADS,
    {"quiet", 'q', NULL, "print no summary", NULL},
    {"json", 0, NULL, "print the summary as JSON", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant symbolize cpu.pb.gz -o named.pb.gz", "a profile of programs on this machine"},
    {"sextant symbolize --search archives cpu.pb.gz -o named.pb.gz", "with archives or binaries of another machine"},
    {"sextant symbolize --url https://symbols.example --api-key id:key cpu.pb.gz -o named.pb.gz",
     "with a symbol service for the rest"},
    {"sextant symbolize cpu.otlp -o named.otlp", "OTLP profiles, as an agent or a collector wrote them"},
    {"perf script | sextant symbolize --text", "add names, files and lines to addresses in text"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_symbolize = {
    .name = "symbolize",
    .synopsis = "[OPTION...] PROFILE -o OUTPUT | --text [FILE]",
    .summary = "add functions, files and lines to a profile or text",
    .description =
        "PROFILE is a pprof profile or an OTLP message (protobuf or JSON), plain or gzipped (- for standard\n"
        "input). Its locations get the functions, files and lines of their addresses, with inlined\n"
        "calls; everything else is unchanged. Locations that are not found get no names; the summary\n"
        "counts them.\n"
        "With --text, lines of FILE or standard input that contain addresses are printed with names,\n"
        "files and lines, and all others unchanged, as they come.",
    .options = options,
    .examples = examples,
    .run = run,
};

#define DEFAULT_MAX_MIB 512
#define MOST_MIB        ((unsigned long)1 << 20)
/* Mappings that get a warning each. */
#define COMPLAINTS_MAX 10

struct symbolizing {
    const struct cli_arguments *arguments;
    sxt_modules_options where;
    sxt_open_options open;       /* for `where` */
    sxt_extract_options extract; /* for `open` */
    sxt_modules *modules;
    struct cli_server server;
    uint64_t limit;    /* of the profile, in bytes */
    size_t complaints; /* mappings or modules with a problem */
    struct sxt_emit emit;
};

static int check_words(const struct cli_arguments *arguments);
static int read_options(struct symbolizing *work);
static int symbolize_profile(struct symbolizing *work, const char *input, const char *output);
static int filter_text(struct symbolizing *work, const char *input, const char *output);

static int run(const struct cli_arguments *arguments)
{
    struct symbolizing work = {.arguments = arguments};
    const char *input = arguments->word_count > 0 ? arguments->words[0] : "-";
    const char *output = cli_value(arguments, "output");
    int status = check_words(arguments);
    if (status == CLI_DONE)
        status = read_options(&work);
    sxt_error error;
    if (status == CLI_DONE && sxt_modules_open(&work.where, &work.modules, &error) != SXT_OK)
        status = error.code == SXT_ERROR_USAGE ? cli_usage(arguments->verb, "%s", error.text) : cli_fail(NULL, &error);
    if (status == CLI_DONE)
        status = cli_given(arguments, "text") ? filter_text(&work, input, output != NULL ? output : "-")
                                              : symbolize_profile(&work, input, output);
    sxt_modules_close(&work.modules);
    free((void *)(uintptr_t)work.where.directories);
    cli_server_free(&work.server);
    return status;
}

static int check_words(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    bool is_text = cli_given(arguments, "text");
    if (arguments->word_count > 1)
        return cli_usage(arguments->verb, "unexpected second input: '%s'", arguments->words[1]);
    if (is_text && (cli_given(arguments, "json") || cli_given(arguments, "force") || cli_given(arguments, "url")))
        return cli_usage(arguments->verb, "--json, --force and --url are for profiles, not for --text");
    if (is_text)
        return CLI_DONE;
    if (arguments->word_count == 0 && isatty(STDIN_FILENO))
        return cli_usage(arguments->verb, "no profile given");
    if (output == NULL)
        return cli_usage(arguments->verb, "no output given (-o FILE)");
    return cli_check_binary(arguments, "output", "-o");
}

int cli_search_directories(const struct cli_arguments *arguments, const char *const **directories, size_t *count)
{
    *count = 0;
    while (cli_value_at(arguments, "search", *count) != NULL)
        ++*count;
    const char **list = calloc(*count + 1, sizeof *list);
    if (list == NULL)
        return cli_fail_text(NULL, "out of memory");
    *directories = list;
    for (size_t i = 0; i < *count; i++) {
        struct stat attributes;
        list[i] = cli_value_at(arguments, "search", i);
        if (stat(list[i], &attributes) != 0)
            return cli_fail_text(list[i], "cannot search: %s", strerror(errno));
    }
    return CLI_DONE;
}

static int read_options(struct symbolizing *work)
{
    const struct cli_arguments *arguments = work->arguments;
    sxt_modules_options *where = &work->where;
    sxt_modules_options_init(where);
    sxt_open_options_init(&work->open);
    sxt_extract_options_init(&work->extract);
    where->open = &work->open;
    work->open.extract = &work->extract;
    work->open.mangled = cli_given(arguments, "mangled");
    work->extract.debug_directory = cli_value(arguments, "debug-dir");
    where->no_local = cli_given(arguments, "no-local");
    where->assume_linear = cli_given(arguments, "assume-linear");
    where->warning = cli_given(arguments, "quiet") ? NULL : cli_show_warning;
    const char *limit = cli_value(arguments, "max-size");
    char *end = NULL;
    unsigned long mebibytes = limit != NULL ? strtoul(limit, &end, 10) : DEFAULT_MAX_MIB;
    if (limit != NULL && (*limit < '0' || *limit > '9' || *end != 0 || mebibytes > MOST_MIB))
        return cli_usage(arguments->verb, "--max-size takes a number of MiB, not '%s'", limit);
    work->limit = (uint64_t)mebibytes << 20;
    int status = cli_server_options(arguments, &work->server);
    where->url = work->server.url;
    where->api_key = work->server.api_key;
    where->ca_file = work->server.ca_file;
    if (status == CLI_DONE)
        status = cli_threads(arguments, &work->extract.threads);
    return status == CLI_DONE ? cli_search_directories(arguments, &where->directories, &where->directory_count)
                              : status;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t size = strlen(text), ending_size = strlen(ending);
    return size >= ending_size && strcmp(text + size - ending_size, ending) == 0;
}

/* The ending of a name decides only for OTLP; everything else is told apart by the content. */
static sxt_profile_kind kind_of(const char *input)
{
    static const char *const endings[] = {".otlp", ".otlp.gz", ".otlp.zst", ".otlp.xz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(input, endings[i]))
            return SXT_PROFILE_OTLP;
    return SXT_PROFILE_ANY;
}

static bool note_mapping(void *data, const sxt_profile_mapping *mapping);
static int summarise(struct symbolizing *work, const char *output, const sxt_profile_report *report);

static int symbolize_profile(struct symbolizing *work, const char *input, const char *output)
{
    struct sxt_file file;
    sxt_error error;
    bool is_json = cli_given(work->arguments, "json");
    if (sxt_file_open(&file, input, &error) != SXT_OK)
        return cli_fail(input, &error);
    bool is_stream = strcmp(output, "-") == 0;
    void *profile = NULL;
    size_t size = 0;
    sxt_profile_report report = {.struct_size = sizeof report};
    sxt_profile_options settings;
    sxt_profile_options_init(&settings);
    settings.force = cli_given(work->arguments, "force");
    settings.mangled = cli_given(work->arguments, "mangled");
    settings.inflate_limit = work->limit;
    settings.form = is_stream ? SXT_PROFILE_AS_INPUT : ends_with(output, ".gz") ? SXT_PROFILE_GZIP : SXT_PROFILE_PLAIN;
    settings.kind = kind_of(input);
    settings.mapping = note_mapping;
    settings.mapping_data = work;
    sxt_emit_init(&work->emit, is_stream ? stderr : stdout, is_json);
    if (is_json) {
        sxt_emit_record(&work->emit);
        sxt_emit_cstring(&work->emit, "output", output);
        sxt_emit_array(&work->emit, "mappings");
    }
    int result = CLI_DONE;
    if (sxt_profile_symbolize(work->modules, file.data, file.size, &settings, &profile, &size, &report, &error) !=
        SXT_OK)
        result = cli_fail(input, &error);
    else if (sxt_output_save(output, profile, size, &error) != SXT_OK)
        result = cli_fail(output, &error);
    else
        result = summarise(work, output, &report);
    sxt_buffer_free(&work->emit.line);
    sxt_free(profile);
    sxt_file_close(&file);
    return result;
}

static const char *const reason_keys[SXT_UNRESOLVED_KINDS] = {
    [SXT_UNRESOLVED_MAPPING] = "no_mapping",      [SXT_UNRESOLVED_FILE] = "no_file",
    [SXT_UNRESOLVED_BUILD_ID] = "other_build_id", [SXT_UNRESOLVED_DAMAGED] = "unreadable_file",
    [SXT_UNRESOLVED_OUTSIDE] = "not_loaded",      [SXT_UNRESOLVED_UNKNOWN] = "no_symbol",
    [SXT_UNRESOLVED_SEGMENTS] = "no_segments",    [SXT_UNRESOLVED_NOT_NATIVE] = "not_native",
};

static void emit_reasons(struct sxt_emit *emit, const uint64_t *counts)
{
    uint64_t all = 0;
    for (size_t i = 0; i < SXT_UNRESOLVED_KINDS; i++)
        all += counts[i];
    sxt_emit_number(emit, "unresolved", all);
    sxt_emit_object(emit, "reasons");
    for (size_t i = 0; i < SXT_UNRESOLVED_KINDS; i++)
        if (i < SXT_UNRESOLVED_SEGMENTS || counts[i] > 0)
            sxt_emit_number(emit, reason_keys[i], counts[i]);
    sxt_emit_object_end(emit);
}

static void complain(struct symbolizing *work, const sxt_profile_mapping *mapping)
{
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(mapping->name.size < 200 ? mapping->name.size : 200), mapping->name.data);
    const char *why = mapping->problem != NULL                           ? mapping->problem
                      : mapping->unresolved[SXT_UNRESOLVED_BUILD_ID] > 0 ? "only a file with another build ID found"
                      : mapping->unresolved[SXT_UNRESOLVED_FILE] > 0     ? "no file found"
                                                                         : NULL;
    if (why == NULL || work->complaints++ >= COMPLAINTS_MAX)
        return;
    if (mapping->file != NULL)
        cli_warn(mapping->file, "%s", why);
    else
        cli_warn(*name != 0 ? name : "a mapping without a name", "%s%s%.*s%s", why,
                 mapping->build_id.size > 0 ? " (build ID " : "",
                 (int)(mapping->build_id.size < 130 ? mapping->build_id.size : 130), mapping->build_id.data,
                 mapping->build_id.size > 0 ? ")" : "");
}

static bool note_mapping(void *data, const sxt_profile_mapping *mapping)
{
    struct symbolizing *work = data;
    struct sxt_emit *emit = &work->emit;
    if (!sxt_emit_is_json(emit)) {
        if (!cli_given(work->arguments, "quiet"))
            complain(work, mapping);
        return true;
    }
    sxt_emit_object(emit, NULL);
    sxt_emit_string(emit, "name", mapping->name);
    sxt_emit_string(emit, "build_id", mapping->build_id);
    if (mapping->file != NULL)
        sxt_emit_cstring(emit, "file", mapping->file);
    else
        sxt_emit_null(emit, "file");
    if (mapping->problem != NULL)
        sxt_emit_cstring(emit, "problem", mapping->problem);
    sxt_emit_number(emit, "locations", mapping->locations);
    sxt_emit_number(emit, "symbolized", mapping->symbolized);
    emit_reasons(emit, mapping->unresolved);
    sxt_emit_object_end(emit);
    return true;
}

/* Goes to stderr, as the warnings do; as JSON, to stdout. */
static int summarise(struct symbolizing *work, const char *output, const sxt_profile_report *report)
{
    struct sxt_emit *emit = &work->emit;
    if (sxt_emit_is_json(emit)) {
        sxt_emit_array_end(emit);
        sxt_emit_number(emit, "locations", report->locations);
        sxt_emit_number(emit, "kept", report->kept);
        sxt_emit_number(emit, "symbolized", report->symbolized);
        sxt_emit_number(emit, "functions", report->functions);
        if (report->leaf_and_caller > 0)
            sxt_emit_number(emit, "leaf_and_caller", report->leaf_and_caller);
        emit_reasons(emit, report->unresolved);
        sxt_emit_record_end(emit);
        return cli_finish(emit, CLI_DONE);
    }
    if (cli_given(work->arguments, "quiet"))
        return CLI_DONE;
    if (work->complaints > COMPLAINTS_MAX)
        cli_warn(output, "%zu more %s like these", work->complaints - COMPLAINTS_MAX,
                 work->complaints - COMPLAINTS_MAX == 1 ? "mapping" : "mappings");
    uint64_t unresolved = report->locations - report->kept - report->symbolized;
    cli_print_name(output);
    fprintf(stderr, ": %llu of ", (unsigned long long)report->symbolized);
    cli_print_count(report->locations, "location");
    fputs(" symbolized", stderr);
    if (report->kept > 0)
        fprintf(stderr, "; %llu had lines already", (unsigned long long)report->kept);
    if (unresolved > 0)
        fprintf(stderr, "; %llu unresolved", (unsigned long long)unresolved);
    const char *separator = ": ";
    for (size_t i = 0; i < SXT_UNRESOLVED_KINDS; i++)
        if (report->unresolved[i] > 0) {
            fprintf(stderr, "%s%llu %s", separator, (unsigned long long)report->unresolved[i],
                    sxt_unresolved_text((sxt_unresolved)i));
            separator = ", ";
        }
    if (report->leaf_and_caller > 0)
        fprintf(stderr, "; %llu both leaf and caller, looked up as callers",
                (unsigned long long)report->leaf_and_caller);
    fputc('\n', stderr);
    return CLI_DONE;
}

/* The filter and its output. */
struct stream {
    sxt_text_filter *filter;
    struct sxt_output output;
    sxt_error error; /* of the output; code SXT_OK: none */
};

#define READ_SIZE ((size_t)64 << 10)
/* Milliseconds without input after which lines that wait for a later one are printed. */
#define IDLE_TIME 200

static bool write_text(void *data, const char *text, size_t size)
{
    struct stream *stream = data;
    return sxt_output_write(&stream->output, text, size, &stream->error) == SXT_OK;
}

/* Filters all input that has arrived before it waits for more. */
static int filter_stdin(struct stream *stream, sxt_error *error)
{
    char data[READ_SIZE];
    int status = SXT_OK;
    for (ssize_t got = 1; got > 0 && status == SXT_OK;) {
        struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&ready, 1, IDLE_TIME) == 0)
            status = sxt_text_filter_flush(stream->filter, error);
        if (status != SXT_OK)
            break;
        do
            got = read(STDIN_FILENO, data, sizeof data);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return sxt_fail_errno(error, errno, "cannot read");
        if (got > 0)
            status = sxt_text_filter_feed(stream->filter, data, (size_t)got, error);
    }
    return status == SXT_OK ? sxt_text_filter_end(stream->filter, error) : status;
}

static int filter_file(struct stream *stream, const char *input, uint64_t limit, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_file_open(&file, input, error);
    if (status == SXT_OK)
        status = sxt_file_inflate(&file, limit, error);
    for (size_t at = 0; status == SXT_OK && at < file.size; at += READ_SIZE)
        status = sxt_text_filter_feed(stream->filter, (const char *)file.data + at,
                                      file.size - at < READ_SIZE ? file.size - at : READ_SIZE, error);
    if (status == SXT_OK)
        status = sxt_text_filter_end(stream->filter, error);
    sxt_file_close(&file);
    return status;
}

/* Warns about a module if its name looks like that of a file: text may contain anything. */
static bool complain_of_module(void *data, const sxt_missing_module *missing)
{
    static const char *const no_files[] = {"//", "/dev/", "/memfd:", "/SYSV", "/proc/"};
    struct symbolizing *work = data;
    const char *name = missing->name.data;
    bool has_id = missing->build_id.size > 0;
    if (strchr(name, '/') == NULL && !has_id && strncmp(name, "[kernel", 7) != 0)
        return true;
    for (size_t i = 0; i < sizeof no_files / sizeof *no_files; i++)
        if (strncmp(name, no_files[i], strlen(no_files[i])) == 0)
            return true;
    if (work->complaints++ < COMPLAINTS_MAX)
        cli_warn(name, "%s%s%s%s", missing->problem, has_id ? " (build ID " : "", missing->build_id.data,
                 has_id ? ")" : "");
    return true;
}

static int filter_text(struct symbolizing *work, const char *input, const char *output)
{
    struct stream stream = {0};
    sxt_error error;
    if (sxt_text_filter_open(work->modules, write_text, &stream, &stream.filter, &error) != SXT_OK)
        return cli_fail(NULL, &error);
    int result = CLI_DONE;
    if (sxt_output_open(&stream.output, output, &error) != SXT_OK) {
        result = cli_fail(output, &error);
    } else {
        int status =
            strcmp(input, "-") == 0 ? filter_stdin(&stream, &error) : filter_file(&stream, input, work->limit, &error);
        if (status != SXT_OK && stream.error.code != SXT_OK)
            result = cli_fail(output, &stream.error);
        else if (status != SXT_OK)
            result = cli_fail(input, &error);
        else if (sxt_output_commit(&stream.output, &error) != SXT_OK)
            result = cli_fail(output, &error);
        sxt_output_abandon(&stream.output);
    }
    if (result == CLI_DONE && !cli_given(work->arguments, "quiet")) {
        sxt_modules_visit_missing(work->modules, complain_of_module, work);
        if (work->complaints > COMPLAINTS_MAX)
            cli_warn(input, "%zu more %s like these", work->complaints - COMPLAINTS_MAX,
                     work->complaints - COMPLAINTS_MAX == 1 ? "file" : "files");
    }
    sxt_text_filter_close(&stream.filter);
    return result;
}
