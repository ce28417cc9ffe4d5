/* symbolize.c: names for the addresses of a profile, or of text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/inflate.h"
#include "base/output.h"
#include "cli/verbs.h"
#include "profile/profile.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write the profile to FILE (- for standard output);\ngzipped when it is called .gz", NULL},
    {"text", 0, NULL, "filter text instead: perf script, sanitizer reports,\nkernel oopses, backtrace() lines", NULL},
    {"search", 0, "DIR",
     "search binaries, debug files and archives below DIR:\nby build ID, by FileID, by name; may be repeated", NULL},
    {"no-local", 0, NULL, "only there, not under the names that the profile has", NULL},
    {"url", 0, "URL", "ask the symbol service at URL for what is not found", NULL},
    {"api-key", 0, "KEY", "for it: id:key (or the variable SEXTANT_API_KEY)", NULL},
    {"force", 0, NULL, "replace the lines of locations that have some", NULL},
    {"max-size", 0, "MIB", "the most that a profile may expand to (512)", NULL},
    {"debug-dir", 0, "DIR", "search debug files below DIR instead of /usr/lib/debug", NULL},
    {"mangled", 0, NULL, "names as linked; by default they are demangled", NULL},
    {"quiet", 'q', NULL, "no summary", NULL},
    {"json", 0, NULL, "print the summary as JSON", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant symbolize cpu.pb.gz -o named.pb.gz", "a profile of programs that are on this machine"},
    {"sextant symbolize --search archives cpu.pb.gz -o named.pb.gz", "from archives, or binaries, of another one"},
    {"sextant symbolize --url https://symbols.example --api-key id:key cpu.pb.gz -o named.pb.gz",
     "what is not here, from a symbol service"},
    {"perf script | sextant symbolize --text", "lines of text with names, files and lines behind addresses"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_symbolize = {
    .name = "symbolize",
    .synopsis = "[OPTION...] PROFILE -o OUTPUT | --text [FILE]",
    .summary = "fill functions, files and lines into a profile or text",
    .description = "PROFILE is a pprof profile, plain or gzipped (- for standard input). Its locations get the\n"
                   "functions, files and lines of their addresses, inlined calls among them; everything else\n"
                   "stays as it is. What could not be found stays without names, and is counted.\n"
                   "With --text, lines of FILE or standard input that speak of addresses come out with names,\n"
                   "files and lines, and all others byte for byte, as they come.",
    .options = options,
    .examples = examples,
    .run = run,
};

#define DEFAULT_MAX_MIB 512
#define MOST_MIB        ((unsigned long)1 << 20)
/* Names may make a profile several times as large. */
#define OUTPUT_MAX ((size_t)4 << 30)
/* Mappings that are complained about one by one. */
#define COMPLAINTS_MAX 10

struct symbolizing {
    const struct cli_arguments *arguments;
    struct sxt_modules_options where;
    sxt_extract_options extract; /* for where.open */
    struct sxt_modules *modules;
    uint64_t limit;    /* of the profile, in bytes */
    size_t complaints; /* mappings or modules that something is wrong with */
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
    return status;
}

static int check_words(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    bool is_text = cli_given(arguments, "text");
    if (arguments->word_count > 1)
        return cli_usage(arguments->verb, "one input at a time, not '%s' too", arguments->words[1]);
    if (is_text && (cli_given(arguments, "json") || cli_given(arguments, "force") || cli_given(arguments, "url")))
        return cli_usage(arguments->verb, "--json, --force and --url are for profiles, not for --text");
    if (cli_given(arguments, "api-key") && !cli_given(arguments, "url"))
        return cli_usage(arguments->verb, "--api-key is for a symbol service (--url URL)");
    if (is_text)
        return CLI_DONE;
    if (arguments->word_count == 0 && isatty(STDIN_FILENO))
        return cli_usage(arguments->verb, "no profile given");
    if (output == NULL)
        return cli_usage(arguments->verb, "no output given (-o FILE)");
    if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
        return cli_fail_text("-", "refusing to write binary data to a terminal; redirect or use -o FILE");
    return CLI_DONE;
}

static void show_warning(void *data, const char *path, const sxt_error *problem)
{
    (void)data;
    cli_warn(path, "%s", problem->text);
}

int cli_search_options(const struct cli_arguments *arguments, struct sxt_modules_options *where)
{
    size_t count = 0;
    while (cli_value_at(arguments, "search", count) != NULL)
        count++;
    const char **directories = calloc(count + 1, sizeof *directories);
    if (directories == NULL)
        return cli_fail_text(NULL, "out of memory");
    where->directories = directories;
    where->directory_count = count;
    for (size_t i = 0; i < count; i++) {
        struct stat attributes;
        directories[i] = cli_value_at(arguments, "search", i);
        if (stat(directories[i], &attributes) != 0)
            return cli_fail_text(directories[i], "cannot search: %s", strerror(errno));
    }
    return CLI_DONE;
}

static int read_options(struct symbolizing *work)
{
    const struct cli_arguments *arguments = work->arguments;
    struct sxt_modules_options *where = &work->where;
    sxt_open_options_init(&where->open);
    where->open.mangled = cli_given(arguments, "mangled");
    sxt_extract_options_init(&work->extract);
    where->open.extract = &work->extract;
    work->extract.debug_directory = cli_value(arguments, "debug-dir");
    where->no_local = cli_given(arguments, "no-local");
    where->url = cli_value(arguments, "url");
    where->api_key = cli_value(arguments, "api-key");
    if (where->api_key == NULL && where->url != NULL)
        where->api_key = getenv("SEXTANT_API_KEY");
    where->warning = cli_given(arguments, "quiet") ? NULL : show_warning;
    const char *limit = cli_value(arguments, "max-size");
    char *end = NULL;
    unsigned long mebibytes = limit != NULL ? strtoul(limit, &end, 10) : DEFAULT_MAX_MIB;
    if (limit != NULL && (*limit < '0' || *limit > '9' || *end != 0 || mebibytes > MOST_MIB))
        return cli_usage(arguments->verb, "--max-size takes a number of MiB, not '%s'", limit);
    work->limit = (uint64_t)mebibytes << 20;
    return cli_search_options(arguments, where);
}

static bool ends_with(const char *text, const char *ending)
{
    size_t size = strlen(text), ending_size = strlen(ending);
    return size >= ending_size && strcmp(text + size - ending_size, ending) == 0;
}

static void note_mapping(void *data, const struct sxt_profile_mapping *mapping);
static int write_profile(const char *output, bool gzip, const struct sxt_buffer *profile, sxt_error *error);
static int summarise(struct symbolizing *work, const char *output, const struct sxt_profile_report *report);

static int symbolize_profile(struct symbolizing *work, const char *input, const char *output)
{
    struct sxt_file file;
    sxt_error error;
    bool is_json = cli_given(work->arguments, "json");
    if (sxt_file_open(&file, input, &error) != SXT_OK)
        return cli_fail(input, &error);
    /* On a pipe the profile goes out in the form in which it came. */
    bool is_stream = strcmp(output, "-") == 0;
    bool gzip = is_stream ? sxt_compression_of(file.data, file.size) == SXT_COMPRESSION_GZIP : ends_with(output, ".gz");
    struct sxt_buffer profile;
    struct sxt_profile_report report;
    struct sxt_profile_options settings = {
        .force = cli_given(work->arguments, "force"),
        .mangled = cli_given(work->arguments, "mangled"),
        .mapping = note_mapping,
        .mapping_data = work,
    };
    sxt_buffer_init(&profile, OUTPUT_MAX);
    sxt_emit_init(&work->emit, is_stream ? stderr : stdout, is_json);
    if (is_json) {
        sxt_emit_record(&work->emit);
        sxt_emit_cstring(&work->emit, "output", output);
        sxt_emit_array(&work->emit, "mappings");
    }
    int result = CLI_DONE;
    if (sxt_file_inflate(&file, work->limit, &error) != SXT_OK)
        result = error.code == SXT_ERROR_LIMIT
                     ? cli_fail_text(input, "expands to more than %llu MiB; --max-size allows more",
                                     (unsigned long long)(work->limit >> 20))
                     : cli_fail(input, &error);
    else if (sxt_profile_symbolize(file.data, file.size, work->modules, &settings, &profile, &report, &error) != SXT_OK)
        result = cli_fail(input, &error);
    else if (write_profile(output, gzip, &profile, &error) != SXT_OK)
        result = cli_fail(output, &error);
    else
        result = summarise(work, output, &report);
    sxt_buffer_free(&work->emit.line);
    sxt_buffer_free(&profile);
    sxt_file_close(&file);
    return result;
}

static int write_profile(const char *output, bool gzip, const struct sxt_buffer *profile, sxt_error *error)
{
    if (!gzip)
        return sxt_output_save(output, profile->data, profile->size, error);
    struct sxt_buffer packed;
    sxt_buffer_init(&packed, OUTPUT_MAX);
    int status = sxt_gzip_fast(profile->data, profile->size, &packed, error);
    if (status == SXT_OK)
        status = sxt_output_save(output, packed.data, packed.size, error);
    sxt_buffer_free(&packed);
    return status;
}

static const char *const reason_keys[SXT_UNRESOLVED_KINDS] = {
    [SXT_UNRESOLVED_MAPPING] = "no_mapping",      [SXT_UNRESOLVED_FILE] = "no_file",
    [SXT_UNRESOLVED_BUILD_ID] = "other_build_id", [SXT_UNRESOLVED_DAMAGED] = "unreadable_file",
    [SXT_UNRESOLVED_OUTSIDE] = "not_loaded",      [SXT_UNRESOLVED_UNKNOWN] = "no_symbol",
};

static void emit_reasons(struct sxt_emit *emit, const uint64_t *counts)
{
    uint64_t all = 0;
    for (size_t i = 0; i < SXT_UNRESOLVED_KINDS; i++)
        all += counts[i];
    sxt_emit_number(emit, "unresolved", all);
    sxt_emit_object(emit, "reasons");
    for (size_t i = 0; i < SXT_UNRESOLVED_KINDS; i++)
        sxt_emit_number(emit, reason_keys[i], counts[i]);
    sxt_emit_object_end(emit);
}

static void complain(struct symbolizing *work, const struct sxt_profile_mapping *mapping)
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

static void note_mapping(void *data, const struct sxt_profile_mapping *mapping)
{
    struct symbolizing *work = data;
    struct sxt_emit *emit = &work->emit;
    if (!sxt_emit_is_json(emit)) {
        if (!cli_given(work->arguments, "quiet"))
            complain(work, mapping);
        return;
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
}

/* What was said on the way went to stderr, and so does this, unless a program asked for it. */
static int summarise(struct symbolizing *work, const char *output, const struct sxt_profile_report *report)
{
    struct sxt_emit *emit = &work->emit;
    if (sxt_emit_is_json(emit)) {
        sxt_emit_array_end(emit);
        sxt_emit_number(emit, "locations", report->locations);
        sxt_emit_number(emit, "kept", report->kept);
        sxt_emit_number(emit, "symbolized", report->symbolized);
        sxt_emit_number(emit, "functions", report->functions);
        emit_reasons(emit, report->unresolved);
        sxt_emit_record_end(emit);
        return cli_finish(emit, CLI_DONE);
    }
    if (cli_given(work->arguments, "quiet"))
        return CLI_DONE;
    if (work->complaints > COMPLAINTS_MAX)
        cli_warn(output, "%zu more mappings like these", work->complaints - COMPLAINTS_MAX);
    uint64_t unresolved = report->locations - report->kept - report->symbolized;
    fprintf(stderr, "%s: %llu of %llu locations symbolized", output, (unsigned long long)report->symbolized,
            (unsigned long long)report->locations);
    if (report->kept > 0)
        fprintf(stderr, "; %llu had lines already", (unsigned long long)report->kept);
    if (unresolved > 0)
        fprintf(stderr, "; %llu unresolved", (unsigned long long)unresolved);
    const char *separator = ": ";
    for (size_t i = 0; i < SXT_UNRESOLVED_KINDS; i++)
        if (report->unresolved[i] > 0) {
            fprintf(stderr, "%s%llu %s", separator, (unsigned long long)report->unresolved[i],
                    sxt_unresolved_text((enum sxt_unresolved)i));
            separator = ", ";
        }
    fputc('\n', stderr);
    return CLI_DONE;
}

/* Text that comes and goes. */
struct stream {
    struct sxt_text *text;
    struct sxt_output output;
    struct sxt_buffer out;
    bool cannot_write; /* what failed was the output */
};

#define READ_SIZE ((size_t)64 << 10)

static int pass_on(struct stream *stream, const char *data, size_t size, sxt_error *error)
{
    int status = size > 0 ? sxt_text_feed(stream->text, data, size, &stream->out, error)
                          : sxt_text_end(stream->text, &stream->out, error);
    if (status == SXT_OK && stream->out.size > 0) {
        status = sxt_output_write(&stream->output, stream->out.data, stream->out.size, error);
        stream->cannot_write = status != SXT_OK;
    }
    sxt_buffer_clear(&stream->out);
    return status;
}

/* What has come is answered before more is waited for. */
static int filter_stdin(struct stream *stream, sxt_error *error)
{
    char data[READ_SIZE];
    int status = SXT_OK;
    for (ssize_t got = 1; got > 0 && status == SXT_OK;) {
        do
            got = read(STDIN_FILENO, data, sizeof data);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return sxt_fail_errno(error, errno, "cannot read");
        status = pass_on(stream, data, (size_t)got, error);
    }
    return status;
}

static int filter_file(struct stream *stream, const char *input, uint64_t limit, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_file_open(&file, input, error);
    if (status == SXT_OK)
        status = sxt_file_inflate(&file, limit, error);
    for (size_t at = 0; status == SXT_OK && at < file.size; at += READ_SIZE)
        status = pass_on(stream, (const char *)file.data + at, file.size - at < READ_SIZE ? file.size - at : READ_SIZE,
                         error);
    if (status == SXT_OK)
        status = pass_on(stream, NULL, 0, error);
    sxt_file_close(&file);
    return status;
}

/* Not everything that looks like a module is meant to be one. */
static void complain_of_module(void *data, sxt_string name, sxt_string build_id, const char *why)
{
    static const char *const no_files[] = {"//", "/dev/", "/memfd:", "/SYSV", "/proc/"};
    struct symbolizing *work = data;
    if (strchr(name.data, '/') == NULL && build_id.size == 0 && strncmp(name.data, "[kernel", 7) != 0)
        return;
    for (size_t i = 0; i < sizeof no_files / sizeof *no_files; i++)
        if (strncmp(name.data, no_files[i], strlen(no_files[i])) == 0)
            return;
    if (work->complaints++ < COMPLAINTS_MAX)
        cli_warn(name.data, "%s%s%s%s", why, build_id.size > 0 ? " (build ID " : "", build_id.data,
                 build_id.size > 0 ? ")" : "");
}

static int filter_text(struct symbolizing *work, const char *input, const char *output)
{
    struct stream stream = {0};
    sxt_error error;
    sxt_buffer_init(&stream.out, OUTPUT_MAX);
    if (sxt_text_open(work->modules, &stream.text, &error) != SXT_OK)
        return cli_fail(NULL, &error);
    int result = CLI_DONE;
    if (sxt_output_open(&stream.output, output, &error) != SXT_OK) {
        result = cli_fail(output, &error);
    } else {
        int status =
            strcmp(input, "-") == 0 ? filter_stdin(&stream, &error) : filter_file(&stream, input, work->limit, &error);
        if (status != SXT_OK)
            result = cli_fail(stream.cannot_write ? output : input, &error);
        else if (sxt_output_commit(&stream.output, &error) != SXT_OK)
            result = cli_fail(output, &error);
        sxt_output_abandon(&stream.output);
    }
    if (result == CLI_DONE && !cli_given(work->arguments, "quiet")) {
        sxt_modules_missing(work->modules, complain_of_module, work);
        if (work->complaints > COMPLAINTS_MAX)
            cli_warn(input, "%zu more files like these", work->complaints - COMPLAINTS_MAX);
    }
    sxt_text_close(&stream.text);
    sxt_buffer_free(&stream.out);
    return result;
}
