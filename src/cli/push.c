/*
 * push.c: sends the symbols of binaries to a symbol service.
 *
 * Several binaries are read and sent at the same time. One that fails does not keep the others from being sent, unless
 * the server refuses all of them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/byte_count.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/progress.h"
#include "cli/numbers.h"
#include "cli/push.h"
#include "cli/server_options.h"
#include "cli/verbs.h"

#define PART_SIZE     ((uint64_t)8 << 20)
#define PART_SIZE_MIN 1024
#define PART_SIZE_MAX ((uint64_t)1 << 30)
#define PARALLEL      4
#define PARALLEL_MAX  64
#define RETRIES       6
#define RETRIES_MAX   1000

static const struct cli_option options[] = {
    {"url", 0, "URL", "the symbol service: http://HOST:PORT or https://HOST", NULL},
    CLI_OPTIONS_SERVER,
    {"recursive", 0, "DIR", "push all programs and shared libraries below DIR; may be\nrepeated", NULL},
    {"file-id", 0, "ID", "the FileID of the binary, for symbfiles that do not have it", NULL},
    {"build-id", 0, "ID", "the build ID of the binary, in hexadecimal", NULL},
    {"part-size", 0, "SIZE", "split symbols into parts of this size (default: 8M)", NULL},
    {"parallel", 0, "N", "send N parts at a time (default: 4)", NULL},
    {"retries", 0, "N", "send a part again N times after failures that may be over\nsoon (default: 6)", NULL},
    {"compression", 0, "NAME", "zstd, gzip or none (default: zstd, or what the server takes)", "zstd gzip none"},
    {"force", 0, NULL, "push even if the server has these symbols, or better ones", NULL},
    {"dry-run", 0, NULL, "read the files and say what would be pushed; send nothing", NULL},
    CLI_OPTIONS_EXTRACT,
    {"quiet", 'q', NULL, "print only errors", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant push app --url http://127.0.0.1:8240", "the functions of a program, and the lines if it has them"},
    {"sextant push app --debug app.debug --url https://symbols.example --api-key-file key",
     "the identity of the shipped program, symbols from elsewhere"},
    {"sextant push --recursive /usr/lib/app --url https://symbols.example", "a whole installation"},
    {"sextant push app.symbfile app.returnpads --file-id ID --url URL", "symbfiles that were made before"},
    {"sextant push --dry-run app", "what would be sent"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_push = {
    .name = "push",
    .synopsis = "[OPTION...] FILE... --url URL",
    .summary = "send the symbols of binaries to a symbol service",
    .description =
        "Reads the functions, inlined calls, lines and return pads of ELF files, as archive does, and sends them to\n"
        "a symbol service in compressed parts: one of sextant (see serve), or another one of the symbfile\n"
        "specification. What the service has is not sent again, so a push that was interrupted goes on where it\n"
        "ended when it is repeated. A server that is busy or does not answer is tried again, after longer and\n"
        "longer times. With many files, one that cannot be read does not keep the others from being sent.\n"
        "The key is id:key. Other users of this machine may see the arguments of programs, so --api-key-file and\n"
        "the variable SEXTANT_API_KEY are safer than --api-key. Redirects are not followed.",
    .options = options,
    .examples = examples,
    .run = run,
};

/* What all workers share. */
struct pushing {
    const struct cli_arguments *arguments;
    struct cli_push_inputs inputs;
    sxt_extract_options extract;
    sxt_symbfile_options symbfile;
    uint64_t part_size;
    bool is_dry, is_quiet, is_file_id_forced;
    struct sxt_push *push;
    pthread_mutex_t lock; /* guards what follows, and the output */
    struct sxt_emit emit;
    struct sxt_progress progress;
    bool shows_bytes; /* the bar counts bytes of one binary; otherwise binaries */
    uint64_t total;   /* binaries that are reported */
    uint64_t read;    /* by the reader of DWARF, as far as the bar knows */
    uint64_t pushed, skipped, failed, empty, untried;
    _Atomic bool is_over; /* the server refuses everything */
};

/* --- signals --- */

static _Atomic bool is_stopped;
static _Atomic int stop_signal;
static _Atomic unsigned senders; /* workers that wait for the network, and notice a stop */
static _Atomic bool has_bar;

/* Without anybody who would notice, nothing is left but the bar: temporary files have no names. */
static void stop(int number)
{
    static const char wipe[] = "\r\033[K";
    signal(number, SIG_DFL);
    stop_signal = number;
    is_stopped = true;
    if (senders > 0)
        return;
    if (has_bar && write(STDERR_FILENO, wipe, sizeof wipe - 1) < 0)
        has_bar = false;
    raise(number);
}

static void catch_signals(void)
{
    struct sigaction ignored;
    const struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &ignored) == 0 && ignored.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    /* A connection that is closed by the other side is a failed request. */
    signal(SIGPIPE, SIG_IGN);
}

/* --- the bar, and messages beside it; all of it is called with the lock --- */

static void begin_bar(struct pushing *pushing, const char *label, uint64_t total, uint64_t done)
{
    if (pushing->is_quiet)
        return;
    sxt_progress_open(&pushing->progress, stderr, false);
    has_bar = pushing->progress.enabled;
    sxt_progress_phase(&pushing->progress, label, total);
    sxt_progress_advance(&pushing->progress, done);
}

/* Removes the bar, for a line or at the end. */
static void end_bar(struct pushing *pushing)
{
    sxt_progress_close(&pushing->progress);
    has_bar = false;
}

static void draw_bar_again(struct pushing *pushing)
{
    uint64_t done = pushing->progress.done;
    const char *label = pushing->progress.label;
    if (label != NULL && *label != 0)
        begin_bar(pushing, label, pushing->progress.total, done);
}

/* --- what others report; they do not have the lock --- */

static void show_reading(void *data, uint64_t done, uint64_t total)
{
    struct pushing *pushing = data;
    pthread_mutex_lock(&pushing->lock);
    if (pushing->read == 0)
        sxt_progress_phase(&pushing->progress, "reading DWARF", total);
    if (done > pushing->read) {
        sxt_progress_advance(&pushing->progress, done - pushing->read);
        pushing->read = done;
    }
    pthread_mutex_unlock(&pushing->lock);
}

static void show_sent(void *data, uint64_t bytes)
{
    struct pushing *pushing = data;
    if (!pushing->shows_bytes)
        return;
    pthread_mutex_lock(&pushing->lock);
    sxt_progress_advance(&pushing->progress, bytes);
    pthread_mutex_unlock(&pushing->lock);
}

static void show_waiting(void *data, const char *file, const sxt_error *problem, double seconds)
{
    struct pushing *pushing = data;
    if (pushing->is_quiet)
        return;
    pthread_mutex_lock(&pushing->lock);
    end_bar(pushing);
    cli_note(file, "%s; trying again in %.1f s", problem->text, seconds);
    draw_bar_again(pushing);
    pthread_mutex_unlock(&pushing->lock);
}

/* --- one binary --- */

/* Reports what became of an input, and counts it. */
static void report(struct pushing *pushing, const struct cli_push_result *result, uint64_t *counter)
{
    const sxt_error *error = result->error;
    pthread_mutex_lock(&pushing->lock);
    ++*counter;
    end_bar(pushing);
    if (sxt_emit_is_json(&pushing->emit) || !pushing->is_quiet)
        cli_push_print(&pushing->emit, result);
    if (error != NULL)
        cli_fail(result->input->path, error);
    if (error != NULL && result->outcome != NULL && result->outcome->refusal.status == 413)
        cli_note(result->input->path, "--part-size makes parts smaller");
    if (!pushing->shows_bytes)
        begin_bar(pushing, "pushing", pushing->total,
                  pushing->pushed + pushing->skipped + pushing->failed + pushing->empty);
    pthread_mutex_unlock(&pushing->lock);
}

static int read_symbols(struct pushing *pushing, const struct cli_push_input *input, struct sxt_push_binary *binary,
                        unsigned threads, sxt_error *error)
{
    sxt_extract_options extract = pushing->extract;
    sxt_symbfile_options symbfile = pushing->symbfile;
    int status = SXT_OK;
    binary->part_size = pushing->part_size;
    binary->is_file_id_forced = pushing->is_file_id_forced;
    memcpy(binary->file_id, input->file_id, sizeof binary->file_id);
    memcpy(binary->build_id, input->build_id, sizeof binary->build_id);
    for (size_t i = 0; i < input->symbfile_count && status == SXT_OK; i++)
        status = sxt_push_add_symbfile(binary, input->symbfiles[i], error);
    if (input->symbfiles == NULL) {
        /* The function for warnings takes the name of the file, and does not write to it. */
        memcpy(&extract.warning_data, &input->path, sizeof input->path);
        if (extract.debug_path == NULL)
            extract.debug_path = input->debug;
        extract.threads = symbfile.threads = threads;
        if (pushing->shows_bytes) {
            extract.progress = show_reading;
            extract.progress_data = pushing;
        }
        status = sxt_push_add_elf(binary, input->path, &extract, &symbfile, error);
    }
    if (status == SXT_OK)
        sxt_push_binary_finish(binary);
    return status;
}

/* The library does not know which symbols are missing; a file that the user names must have some. */
static bool is_empty(struct pushing *pushing, const struct cli_push_input *input, const struct sxt_push_binary *binary,
                     sxt_error *error)
{
    if (binary->sets[SXT_PUSH_RANGES].count + binary->sets[SXT_PUSH_PADS].count > 0)
        return false;
    sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no functions found; nothing to push%s",
             input->symbfiles == NULL && pushing->extract.debug_path == NULL
                 ? " (stripped? --debug FILE names a debug file)"
                 : "");
    return true;
}

static void send(struct pushing *pushing, const struct cli_push_input *input, struct sxt_push_binary *binary)
{
    struct sxt_push_outcome outcome;
    sxt_error error;
    if (pushing->shows_bytes) {
        pthread_mutex_lock(&pushing->lock);
        sxt_progress_phase(&pushing->progress, "sending", binary->sets[0].size + binary->sets[1].size);
        pthread_mutex_unlock(&pushing->lock);
    }
    senders++;
    int status = is_stopped ? SXT_ERROR_IO : sxt_push_send(pushing->push, input->path, binary, &outcome, &error);
    senders--;
    if (is_stopped)
        return;
    struct cli_push_result result = {.input = input, .binary = binary, .outcome = &outcome};
    if (status != SXT_OK) {
        result.state = "failed";
        result.error = &error;
        if (outcome.refusal.is_final)
            pushing->is_over = true;
        report(pushing, &result, &pushing->failed);
    } else if (outcome.is_skipped) {
        result.state = "skipped";
        result.reason = *outcome.reason != 0 ? outcome.reason : "the server has it";
        report(pushing, &result, &pushing->skipped);
    } else {
        result.state = "pushed";
        report(pushing, &result, &pushing->pushed);
    }
}

static void push_input(struct pushing *pushing, const struct cli_push_input *input, unsigned threads)
{
    struct sxt_push_binary binary = {.part_size = 0};
    struct cli_push_result result = {.input = input, .binary = &binary};
    sxt_error error;
    int status = read_symbols(pushing, input, &binary, threads, &error);
    if (status != SXT_OK || (input->found == NULL && is_empty(pushing, input, &binary, &error))) {
        result.binary = NULL;
        result.state = "failed";
        result.error = &error;
        report(pushing, &result, &pushing->failed);
    } else if (is_empty(pushing, input, &binary, NULL)) {
        result.state = "skipped";
        result.reason = "it has no functions";
        report(pushing, &result, &pushing->empty);
    } else if (pushing->is_dry) {
        result.state = "dry run";
        report(pushing, &result, &pushing->pushed);
    } else {
        send(pushing, input, &binary);
    }
    sxt_push_binary_free(&binary);
}

/* --- all of them --- */

struct work {
    struct pushing *pushing;
    const struct cli_push_input **ready;
    unsigned threads; /* for one binary */
};

static int push_one(void *context, unsigned worker, size_t item)
{
    struct work *work = context;
    struct pushing *pushing = work->pushing;
    (void)worker;
    pthread_mutex_lock(&pushing->lock);
    bool is_over = pushing->is_over || is_stopped;
    pushing->untried += is_over;
    pthread_mutex_unlock(&pushing->lock);
    if (!is_over)
        push_input(pushing, work->ready[item], work->threads);
    return 0;
}

static void report_unread(struct pushing *pushing)
{
    for (size_t i = 0; i < pushing->inputs.count; i++) {
        const struct cli_push_input *input = &pushing->inputs.list[i];
        struct cli_push_result result = {.input = input, .state = "failed", .error = &input->error};
        if (input->state == CLI_PUSH_FAILED)
            report(pushing, &result, &pushing->failed);
    }
}

static uint64_t count_inputs(const struct pushing *pushing, enum cli_push_state state)
{
    uint64_t count = 0;
    for (size_t i = 0; i < pushing->inputs.count; i++)
        count += pushing->inputs.list[i].state == state;
    return count;
}

/* Requests of all binaries together are at most --parallel. */
static int push_all(struct pushing *pushing, struct sxt_push_options *server)
{
    const struct cli_push_input **ready = malloc((pushing->inputs.count + 1) * sizeof *ready);
    size_t count = 0;
    if (ready == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (size_t i = 0; i < pushing->inputs.count; i++)
        if (pushing->inputs.list[i].state == CLI_PUSH_READY)
            ready[count++] = &pushing->inputs.list[i];
    unsigned threads = sxt_pool_threads(pushing->extract.threads), workers = server->parallel;
    if (workers > count)
        workers = count > 0 ? (unsigned)count : 1;
    server->parallel /= workers;
    struct work work = {pushing, ready, threads > workers ? threads / workers : 1};
    sxt_error error;
    int status = pushing->is_dry ? SXT_OK : sxt_push_open(server, &pushing->push, &error);
    if (status == SXT_OK) {
        pushing->total = count + count_inputs(pushing, CLI_PUSH_FAILED);
        pushing->shows_bytes = count == 1 && pushing->inputs.count == 1 && !pushing->is_quiet;
        begin_bar(pushing, pushing->shows_bytes ? "reading symbols" : "pushing",
                  pushing->shows_bytes ? 0 : pushing->total, 0);
        report_unread(pushing);
        (void)sxt_pool_run(workers, count, push_one, &work);
        end_bar(pushing);
    }
    free(ready);
    sxt_push_close(&pushing->push);
    if (status == SXT_ERROR_USAGE)
        return cli_usage(pushing->arguments->verb, "%s", error.text);
    return status == SXT_OK ? CLI_DONE : cli_fail(NULL, &error);
}

/* The last line: of JSON, or on stderr if there was more than one file. */
static void summarise(struct pushing *pushing)
{
    struct sxt_emit *emit = &pushing->emit;
    uint64_t failed = pushing->failed + pushing->inputs.failed;
    const struct {
        const char *key, *text;
        uint64_t count;
    } counts[] = {
        {"pushed", pushing->is_dry ? "to push" : "pushed", pushing->pushed},
        {"skipped", "skipped", pushing->skipped},
        {"failed", "failed", failed},
        {"untried", "not tried", pushing->untried},
        {"same", "the same as others", count_inputs(pushing, CLI_PUSH_SAME)},
        {"joined", "sent with others", count_inputs(pushing, CLI_PUSH_JOINED)},
        {"without_symbols", "without functions", pushing->empty},
        {"debug_files", "debug files without their program", count_inputs(pushing, CLI_PUSH_IGNORED)},
        {"other_files", "neither programs nor libraries", pushing->inputs.other_files},
    };
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_emit_object(emit, "summary");
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            sxt_emit_number(emit, counts[i].key, counts[i].count);
        sxt_emit_object_end(emit);
        sxt_emit_record_end(emit);
    } else if (!pushing->is_quiet && (pushing->inputs.count > 1 || cli_given(pushing->arguments, "recursive"))) {
        const char *before = "";
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            if (counts[i].count == 0 && i != 0)
                continue;
            fprintf(stderr, "%s%s %s", before, cli_thousands((double)counts[i].count).text, counts[i].text);
            before = ", ";
        }
        fputc('\n', stderr);
    }
}

/* --- the command line --- */

static int number_option(const struct cli_arguments *arguments, const char *name, uint64_t otherwise, uint64_t least,
                         uint64_t most, uint64_t *out)
{
    const char *text = cli_value(arguments, name);
    double value = (double)otherwise;
    if (text != NULL && (!sxt_byte_count_parse(text, strlen(text), &value) || value < (double)least ||
                         value > (double)most || value != (double)(uint64_t)value))
        return cli_usage(arguments->verb, "--%s takes a number from %llu to %llu, not '%s'", name,
                         (unsigned long long)least, (unsigned long long)most, text);
    *out = (uint64_t)value;
    return CLI_DONE;
}

static int read_numbers(struct pushing *pushing, struct sxt_push_options *server)
{
    uint64_t parallel = PARALLEL, retries = RETRIES;
    int status =
        number_option(pushing->arguments, "part-size", PART_SIZE, PART_SIZE_MIN, PART_SIZE_MAX, &pushing->part_size);
    if (status == CLI_DONE)
        status = number_option(pushing->arguments, "parallel", PARALLEL, 1, PARALLEL_MAX, &parallel);
    if (status == CLI_DONE)
        status = number_option(pushing->arguments, "retries", RETRIES, 0, RETRIES_MAX, &retries);
    server->parallel = (unsigned)parallel;
    server->retries = (unsigned)retries;
    return status;
}

static int check_words(const struct cli_arguments *arguments, const struct cli_server *server, bool is_dry)
{
    if (arguments->word_count == 0 && !cli_given(arguments, "recursive"))
        return cli_usage(arguments->verb, "no file given");
    if (server->url == NULL && !is_dry)
        return cli_usage(arguments->verb, "no symbol service given (--url URL)");
    if (cli_given(arguments, "debug") && (arguments->word_count != 1 || cli_given(arguments, "recursive")))
        return cli_usage(arguments->verb, "--debug is for one file");
    return CLI_DONE;
}

static bool is_this_machine(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
           (strncmp(host, "localhost", 9) == 0 && strchr(":/", host[9]) != NULL);
}

/*
 * A key that is sent without encryption can be read by others, and so can the arguments of programs: a key among them
 * is overwritten as soon as it was copied.
 */
static int protect_key(const struct cli_arguments *arguments, struct cli_server *server)
{
    const char *given = cli_value(arguments, "api-key");
    if (server->api_key != NULL && strncmp(server->url, "http://", 7) == 0 && !is_this_machine(server->url + 7))
        cli_warn(NULL, "the API key is sent without encryption; https protects it");
    if (given == NULL || given != server->api_key)
        return CLI_DONE;
    server->from_file = strdup(given);
    if (server->from_file == NULL)
        return cli_fail_text(NULL, "out of memory");
    server->api_key = server->from_file;
    memset((char *)(uintptr_t)given, 'x', strlen(given));
    return CLI_DONE;
}

static int push_files(struct pushing *pushing, struct sxt_push_options *server)
{
    int status = cli_push_find_inputs(pushing->arguments, &pushing->inputs);
    if (status == CLI_DONE) {
        cli_expect_much_memory(pushing->inputs.count > 1);
        catch_signals();
        status = push_all(pushing, server);
    }
    if (status == CLI_DONE && !is_stopped)
        summarise(pushing);
    if (status == CLI_DONE && pushing->failed + pushing->inputs.failed + pushing->untried > 0)
        status = CLI_NO;
    cli_push_free_inputs(&pushing->inputs);
    return status;
}

/* As if the signal had ended the program at once, but the last line is whole. */
static void end_by_signal(void)
{
    cli_note(NULL, "interrupted; push again to go on");
    raise(stop_signal);
}

static int run(const struct cli_arguments *arguments)
{
    struct pushing pushing = {.arguments = arguments,
                              .is_dry = cli_given(arguments, "dry-run"),
                              .is_quiet = cli_given(arguments, "quiet"),
                              .is_file_id_forced = cli_given(arguments, "file-id")};
    struct cli_server server;
    struct sxt_push_options to = {.compression = cli_value(arguments, "compression"),
                                  .force = cli_given(arguments, "force"),
                                  .stop = &is_stopped,
                                  .waiting = show_waiting,
                                  .advanced = show_sent,
                                  .data = &pushing};
    sxt_open_options open;
    int status = cli_server_options(arguments, &server);
    if (status == CLI_DONE)
        status = check_words(arguments, &server, pushing.is_dry);
    if (status == CLI_DONE)
        status = read_numbers(&pushing, &to);
    if (status == CLI_DONE)
        status = cli_open_options(arguments, NULL, &open, &pushing.extract);
    if (status == CLI_DONE && server.url != NULL)
        status = protect_key(arguments, &server);
    if (status == CLI_DONE) {
        to.url = server.url;
        to.api_key = server.api_key;
        to.ca_file = server.ca_file;
        sxt_symbfile_options_init(&pushing.symbfile);
        pushing.symbfile.mangled = open.mangled;
        pthread_mutex_init(&pushing.lock, NULL);
        sxt_emit_init(&pushing.emit, stdout, cli_given(arguments, "json"));
        status = cli_finish(&pushing.emit, push_files(&pushing, &to));
        pthread_mutex_destroy(&pushing.lock);
    }
    cli_server_free(&server);
    if (is_stopped)
        end_by_signal();
    return status;
}
