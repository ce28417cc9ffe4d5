/* record.c: run a program and write down every allocation that it makes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "archive/archive.h"
#include "cli/verbs.h"

/* Where libraries are installed; the build tells. */
#ifndef SXT_LIBRARY_FOLDER
#define SXT_LIBRARY_FOLDER "lib"
#define SXT_LIBRARY_PATH   "/usr/lib"
#endif

#define RECORDER      "libsextant-record.so"
#define CODEC_COLUMNS 3
#define SETTLE_NS     20000000 /* in which an event that is being written is done */

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "write to FILE; %p is the process's number; by default\nthe program's name with .mlyze",
     NULL},
    {"compress", 0, NULL, "in blocks, with an index beside it", NULL},
    {"sample", 0, "BYTES", "only a sample: one allocation for so many bytes", NULL},
    {"follow-fork", 0, NULL, "record children too, each into a file of its own", NULL},
    {"duration", 0, "SECONDS", "stop recording after that time; the program goes on", NULL},
    {"no-symbols", 0, NULL, "leave addresses as they are", NULL},
    {"mmap", 0, NULL, "record mmap and munmap of the program, too", NULL},
    {"quiet", 'q', NULL, "no summary", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant record -- ./server --port 80", "into server.mlyze"},
    {"sextant record --compress -o build-%p.mlyze --follow-fork -- make", "every process of a build"},
    {"sextant record --sample 524288 --duration 60 -- ./server", "a minute, at little cost"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_record = {
    .name = "record",
    .synopsis = "[OPTION...] -- PROGRAM [ARGUMENT...]",
    .summary = "run a program and record its heap",
    .description =
        "Runs PROGRAM and records every allocation and every free, with time, thread and stack, into a trace\n"
        "that 'sextant heap' reads. The exit status is the program's own, or 128 and the number of the signal\n"
        "that ended it. SIGUSR1 stops the recording; the program goes on.",
    .options = options,
    .examples = examples,
    .run = run,
};

struct session {
    const struct cli_arguments *arguments;
    char output[PATH_MAX];   /* with the number of the process in it */
    char children[PATH_MAX]; /* with %p; "" when they are not followed */
    char recorder[PATH_MAX];
    char program[PATH_MAX];
    enum sxt_recordable recordable;
    double duration;
    struct sxt_recording_options recording_options;
    struct sxt_recording *recording;
    sigset_t mask_before;
    bool is_finished;
};

static int understand(struct session *session);
static int find_recorder(struct session *session);
static int find_program(struct session *session);
static int record(struct session *session);

static int run(const struct cli_arguments *arguments)
{
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no program given");
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return cli_fail_text(NULL, "out of memory");
    session->arguments = arguments;
    int status = understand(session);
    if (status == CLI_DONE)
        status = find_recorder(session);
    if (status == CLI_DONE)
        status = find_program(session);
    if (status == CLI_DONE)
        status = record(session);
    sxt_recording_close(&session->recording);
    free(session);
    return status;
}

/* --- what is wanted --- */

/* "512", "64k", "1M". */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = *end == 'k' || *end == 'K' ? 10 : *end == 'm' || *end == 'M' ? 20 : 0;
    if (end == text || text[0] == '-' || errno != 0 || (shift > 0 ? end[1] : end[0]) != 0 || value == 0 ||
        value > (UINT64_C(1) << 40) >> shift)
        return false;
    *bytes = value << shift;
    return true;
}

static int understand(struct session *session)
{
    const struct cli_arguments *arguments = session->arguments;
    const char *sample = cli_value(arguments, "sample");
    const char *duration = cli_value(arguments, "duration");
    if (sample != NULL && !parse_bytes(sample, &session->recording_options.period))
        return cli_usage(arguments->verb, "--sample takes a number of bytes, not '%s'", sample);
    if (duration != NULL) {
        char *end;
        session->duration = strtod(duration, &end);
        if (end == duration || *end != 0 || !(session->duration > 0 && session->duration < 1e9))
            return cli_usage(arguments->verb, "--duration takes a number of seconds, not '%s'", duration);
    }
    session->recording_options.with_mappings = cli_given(arguments, "mmap");
    session->recording_options.follow = cli_given(arguments, "follow-fork");
    return CLI_DONE;
}

/* The folder of the program that is running; "" when the system does not tell. */
static void own_folder(char folder[PATH_MAX])
{
    ssize_t size = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[size > 0 ? size : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = 0;
}

static bool is_there(struct session *session, const char *folder, const char *below)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s%s%s/" RECORDER, folder, below[0] != 0 ? "/" : "", below);
    return realpath(path, session->recorder) != NULL;
}

static int find_recorder(struct session *session)
{
    const char *given = getenv("SEXTANT_RECORDER");
    char folder[PATH_MAX];
    own_folder(folder);
    if (given != NULL && *given != 0) {
        if (realpath(given, session->recorder) == NULL)
            return cli_fail_text(given, "%s", strerror(errno));
    } else if (!is_there(session, folder, "src") && !is_there(session, folder, "../" SXT_LIBRARY_FOLDER "/sextant") &&
               !is_there(session, SXT_LIBRARY_PATH, "sextant")) {
        return cli_fail_text(RECORDER, "not found; SEXTANT_RECORDER can say where it is");
    }
    if (strpbrk(session->recorder, " :") != NULL)
        return cli_fail_text(session->recorder, "a path with blanks or colons cannot be preloaded");
    return CLI_DONE;
}

/* As the shell would find it. */
static bool search_path(const char *name, char found[PATH_MAX])
{
    if (strchr(name, '/') != NULL) {
        snprintf(found, PATH_MAX, "%s", name);
        return access(name, F_OK) == 0;
    }
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : "/usr/bin:/bin"; at != NULL;) {
        const char *end = strchrnul(at, ':');
        struct stat status;
        snprintf(found, PATH_MAX, "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "", name);
        if (stat(found, &status) == 0 && S_ISREG(status.st_mode) && access(found, X_OK) == 0)
            return true;
        at = *end != 0 ? end + 1 : NULL;
    }
    return false;
}

static int refuse(const char *program, const char *why)
{
    cli_fail_text(program, "%s", why);
    return 126;
}

static int find_program(struct session *session)
{
    const char *name = session->arguments->words[0];
    if (!search_path(name, session->program)) {
        cli_fail_text(name, "there is no such program");
        return 127;
    }
    session->recordable = sxt_recordable(session->program);
    switch (session->recordable) {
    case SXT_RECORDABLE_NOT_PRIVILEGED:
        return refuse(session->program, "runs with privileges of its own (set-user-ID, set-group-ID or capabilities), "
                                        "and the system loads no recorder into such programs");
    case SXT_RECORDABLE_NOT_32_BIT:
        return refuse(session->program, "is a 32-bit program; only 64-bit ones can be recorded");
    case SXT_RECORDABLE_NOT_MACHINE:
        return refuse(session->program, "is for another processor and cannot be recorded here");
    case SXT_RECORDABLE_NOT_LIBRARY:
        return refuse(session->program, "uses another C library than the GNU one and cannot be recorded");
    default:
        return CLI_DONE;
    }
}

/* --- names of files --- */

/* PATTERN with the number for each %p. */
static bool fill_in(const char *pattern, long pid, char path[PATH_MAX])
{
    size_t size = 0;
    for (const char *at = pattern; *at != 0; at++) {
        int written = 1;
        if (size + 24 > PATH_MAX)
            return false;
        if (at[0] == '%' && at[1] == 'p')
            written = sprintf(path + size, "%ld", pid), at++;
        else
            path[size] = *at;
        size += (size_t)written;
    }
    path[size] = 0;
    return true;
}

/* Children must not write over each other: "x.mlyze" becomes "x.%p.mlyze". */
static bool name_children(const char *pattern, char children[PATH_MAX])
{
    const char *extension = strrchr(pattern, '.');
    if (extension == NULL || strchr(extension, '/') != NULL)
        extension = pattern + strlen(pattern);
    int size = strstr(pattern, "%p") != NULL
                   ? snprintf(children, PATH_MAX, "%s", pattern)
                   : snprintf(children, PATH_MAX, "%.*s.%%p%s", (int)(extension - pattern), pattern, extension);
    return size < PATH_MAX;
}

static bool make_absolute(const char *path, char absolute[PATH_MAX])
{
    char folder[PATH_MAX] = "";
    if (path[0] != '/' && getcwd(folder, sizeof folder) == NULL)
        return false;
    size_t before = strlen(folder), size = strlen(path);
    if (before + size + 2 > PATH_MAX)
        return false;
    memcpy(absolute, folder, before);
    if (before > 0)
        absolute[before++] = '/';
    memcpy(absolute + before, path, size + 1);
    return true;
}

/* Both the program and its parent do this, when the program's number is known. */
static bool name_files(struct session *session, long pid)
{
    const char *given = cli_value(session->arguments, "output");
    const char *slash = strrchr(session->program, '/');
    char pattern[PATH_MAX], absolute[PATH_MAX];
    int size = given != NULL
                   ? snprintf(pattern, sizeof pattern, "%s", given)
                   : snprintf(pattern, sizeof pattern, "%s.mlyze", slash != NULL ? slash + 1 : session->program);
    return size < PATH_MAX && make_absolute(pattern, absolute) && fill_in(pattern, pid, session->output) &&
           (!session->recording_options.follow || name_children(absolute, session->children));
}

static int make_spool(struct session *session, long pid)
{
    sxt_error error;
    if (!name_files(session, pid))
        return cli_fail_text(session->program, "the path of the trace is too long");
    if (sxt_recording_create(session->output, &session->recording_options, &session->recording, &error) != SXT_OK)
        return cli_fail(session->output, &error);
    sxt_recording_of(session->recording, pid);
    return CLI_DONE;
}

/* --- the program --- */

static bool set_environment(const struct session *session)
{
    const char *before = getenv("LD_PRELOAD");
    char number[24], path[PATH_MAX], *list = NULL;
    snprintf(number, sizeof number, "%ld", (long)getpid());
    bool done = realpath(session->output, path) != NULL &&
                asprintf(&list, "%s%s%s", session->recorder, before != NULL && *before != 0 ? ":" : "",
                         before != NULL ? before : "") > 0 &&
                setenv("LD_PRELOAD", list, 1) == 0 && setenv("SEXTANT_RECORD", path, 1) == 0 &&
                setenv("SEXTANT_RECORD_PID", number, 1) == 0;
    if (session->children[0] != 0)
        done = done && setenv("SEXTANT_RECORD_CHILDREN", session->children, 1) == 0;
    else
        unsetenv("SEXTANT_RECORD_CHILDREN");
    free(list);
    return done;
}

/* In the child: waits for a byte, without which there is nothing to run for. */
static void become_program(struct session *session, int gate)
{
    char byte;
    if (read(gate, &byte, 1) != 1)
        _exit(126);
    close(gate);
    bool named = name_files(session, (long)getpid());
    char **words = calloc(session->arguments->word_count + 1, sizeof *words);
    if (!named || words == NULL || !set_environment(session)) {
        cli_fail_text(session->program, "cannot be started");
        _exit(126);
    }
    memcpy(words, session->arguments->words, session->arguments->word_count * sizeof *words);
    sigprocmask(SIG_SETMASK, &session->mask_before, NULL);
    execvp(words[0], words);
    cli_fail_text(session->program, "%s", strerror(errno));
    _exit(126);
}

static void finish(struct session *session);

/* Ends the recording while the program goes on. */
static void stop_recording(struct session *session)
{
    if (session->is_finished)
        return;
    sxt_recording_stop(session->recording);
    nanosleep(&(struct timespec){0, SETTLE_NS}, NULL);
    finish(session);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Signals that are for the program go to the program; the terminal sends its own to both. */
static void pass_on(pid_t child, const siginfo_t *signal)
{
    if (signal->si_signo == SIGCHLD || (signal->si_code == SI_KERNEL && signal->si_signo != SIGTERM))
        return;
    kill(child, signal->si_signo);
}

/* The program's wait status. */
static int watch(struct session *session, pid_t child, const sigset_t *signals)
{
    double end = session->duration > 0 ? seconds_now() + session->duration : 0;
    for (;;) {
        int status;
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return ended == child ? status : 0;
        bool is_timed = end > 0 && !session->is_finished;
        double left = is_timed ? end - seconds_now() : 3600;
        siginfo_t signal;
        if (is_timed && left <= 0) {
            stop_recording(session);
            continue;
        }
        struct timespec most = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        if (sigtimedwait(signals, &signal, &most) < 0)
            continue;
        if (signal.si_signo == SIGUSR1)
            stop_recording(session);
        else
            pass_on(child, &signal);
    }
}

static int record(struct session *session)
{
    sigset_t signals;
    static const int watched[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1};
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        sigaddset(&signals, watched[i]);
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0)
        return cli_fail_text(NULL, "%s", strerror(errno));
    sigprocmask(SIG_BLOCK, &signals, &session->mask_before);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        become_program(session, gate[0]);
    }
    close(gate[0]);
    int status = child > 0 ? make_spool(session, (long)child) : cli_fail_text(NULL, "%s", strerror(errno));
    if (status == CLI_DONE && write(gate[1], "", 1) != 1)
        status = cli_fail_text(NULL, "%s", strerror(errno));
    close(gate[1]);
    if (child < 0)
        return status;
    int ended = watch(session, child, &signals);
    if (status != CLI_DONE)
        return status;
    if (!session->is_finished)
        finish(session);
    return WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
}

/* --- the trace --- */

static void show_warning(void *data, const char *path, const char *text)
{
    (void)data;
    cli_warn(path, "%s", text);
}

static bool make_trace(const struct session *session, const char *path, struct sxt_recovered *recovered)
{
    bool compress = cli_given(session->arguments, "compress");
    struct sxt_recover_options recover_options = {
        .codec = compress ? CODEC_COLUMNS : 0,
        .no_symbols = cli_given(session->arguments, "no-symbols"),
        .warning = show_warning,
    };
    sxt_error error;
    if (sxt_mlyze_recover(path, path, &recover_options, recovered, &error) != SXT_OK) {
        cli_fail(path, &error);
        return false;
    }
    if (compress && sxt_trace_save_index(path, &error) != SXT_OK)
        cli_warn(path, "%s", error.text);
    return true;
}

/* Why there is less in it than one would think. */
static void explain(const struct session *session, const char *path, const struct sxt_recovered *recovered)
{
    static const char *const ends[] = {
        [SXT_RECOVERED_DISK_FULL] = "the disk is full, or a limit on the size of files was reached",
        [SXT_RECOVERED_NO_MEMORY] = "memory was short",
        [SXT_RECOVERED_FILE_GONE] = "the program closed the recorder's file, and it cannot be opened again",
    };
    if (recovered->end != SXT_RECOVERED_WHOLE)
        cli_warn(path, "recording stopped before the program ended: %s", ends[recovered->end]);
    if (recovered->dropped > 0)
        cli_warn(path, "%llu allocations are missing: there were too many at once",
                 (unsigned long long)recovered->dropped);
    if (session->recordable == SXT_RECORDABLE_STATIC)
        cli_warn(session->program, "nothing was seen: it is linked statically, so that no recorder can be loaded");
    else if (!recovered->is_attached)
        cli_warn(session->program, "nothing was seen: the recorder was not loaded");
    else if (recovered->own_allocator)
        cli_warn(session->program, "%s was seen: it has an allocator of its own linked in",
                 recovered->allocations == 0 ? "nothing" : "not everything");
}

static void summarise(const struct session *session, const char *path, const struct sxt_recovered *recovered)
{
    explain(session, path, recovered);
    if (!cli_given(session->arguments, "quiet"))
        fprintf(stderr, "sextant: %s: %llu events, %llu allocations at %llu stacks\n", path,
                (unsigned long long)recovered->events, (unsigned long long)recovered->allocations,
                (unsigned long long)recovered->stacks);
}

static void finish_child(const struct session *session, long pid)
{
    char path[PATH_MAX];
    if (!fill_in(session->children, pid, path))
        return;
    if (kill((pid_t)pid, 0) == 0) {
        cli_warn(path, "process %ld still runs; 'sextant convert --recover' finishes its trace when it has ended", pid);
        return;
    }
    struct sxt_recovered recovered;
    if (access(path, F_OK) == 0 && make_trace(session, path, &recovered))
        summarise(session, path, &recovered);
}

static void finish(struct session *session)
{
    struct sxt_recovered recovered;
    session->is_finished = true;
    sxt_recording_note_end(session->recording);
    if (!make_trace(session, session->output, &recovered))
        return;
    summarise(session, session->output, &recovered);
    for (size_t i = 0; i < recovered.child_count; i++)
        finish_child(session, (long)recovered.children[i]);
}
