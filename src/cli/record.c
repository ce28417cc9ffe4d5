/* record.c: run a program and record its heap. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/recording.h"
#include "cli/verbs.h"

/* Where libraries are installed; the build defines it. */
#ifndef SXT_LIBRARY_FOLDER
#define SXT_LIBRARY_FOLDER "lib"
#define SXT_LIBRARY_PATH   "/usr/lib"
#endif

#define RECORDER  "libsextant-record.so"
#define SETTLE_NS 20000000 /* enough to finish an event that is being written */

static const struct cli_option options[] = {
    {"output", 'o', "FILE",
     "write to FILE; %p is replaced by the process ID (default:\nthe program's name with .mlyze)", NULL},
    {"plain", 0, NULL, "write a plain trace, which every reader of version 1 reads", NULL},
    {"compress", 0, NULL, "also write the index of the trace, FILE.idx", NULL},
    {"sample", 0, "BYTES", "record a sample: one allocation for every BYTES bytes", NULL},
    {"follow-fork", 0, NULL, "record child processes too, each into its own file", NULL},
    {"duration", 0, "SECONDS", "stop recording after this time; the program continues", NULL},
    {"no-symbols", 0, NULL, "store addresses, not names", NULL},
    {"mmap", 0, NULL, "also record the program's own mmap and munmap calls", NULL},
    CLI_OPTION_THREADS,
    {"quiet", 'q', NULL, "print no summary", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant record -- ./server --port 80", "into server.mlyze"},
    {"sextant record -o build-%p.mlyze --follow-fork -- make", "every process of a build"},
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
        "that 'sextant heap' reads. The exit status is that of the program, or 128 plus the number of the\n"
        "signal that ended it. SIGUSR1 stops the recording; the program continues.",
    .options = options,
    .examples = examples,
    .run = run,
};

static int parse_options(struct session *session);
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
    sxt_recording_options_init(&session->recording_options);
    int status = parse_options(session);
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

/* --- options --- */

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

static int parse_options(struct session *session)
{
    const struct cli_arguments *arguments = session->arguments;
    const char *sample = cli_value(arguments, "sample");
    const char *duration = cli_value(arguments, "duration");
    const char *output = cli_value(arguments, "output");
    if (cli_threads(arguments, &session->threads) != CLI_DONE)
        return CLI_USAGE;
    if (cli_given(arguments, "plain") && cli_given(arguments, "compress"))
        return cli_usage(arguments->verb, "--plain and --compress contradict each other");
    if (output != NULL && strcmp(output, "-") == 0)
        return cli_usage(arguments->verb, "a recording needs a file, not standard output");
    if (sample != NULL && !parse_bytes(sample, &session->recording_options.period))
        return cli_usage(arguments->verb, "--sample takes a number of bytes, not '%s'", sample);
    if (duration != NULL) {
        char *end;
        session->duration = strtod(duration, &end);
        if (end == duration || *end != 0 || !(session->duration > 0 && session->duration < 1e9))
            return cli_usage(arguments->verb, "--duration takes a number of seconds, not '%s'", duration);
    }
    session->recording_options.with_mappings = cli_given(arguments, "mmap");
    session->recording_options.follow_children = cli_given(arguments, "follow-fork");
    return CLI_DONE;
}

/* The folder of this program; "" if it is unknown. */
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
        return cli_fail_text(RECORDER, "not found; set SEXTANT_RECORDER to its path");
    }
    if (strpbrk(session->recorder, " :") != NULL)
        return cli_fail_text(session->recorder, "a path with spaces or colons cannot be preloaded");
    return CLI_DONE;
}

/* Searches PATH as a shell does. */
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
        cli_fail_text(name, "no such program");
        return 127;
    }
    session->recordable = sxt_check_recordable(session->program, getenv("LD_PRELOAD"));
    switch (session->recordable) {
    case SXT_RECORDABLE_NOT_PRIVILEGED:
        return refuse(session->program,
                      "has privileges (set-user-ID, set-group-ID or capabilities), so the system does not "
                      "load the recorder into it");
    case SXT_RECORDABLE_NOT_32_BIT:
        return refuse(session->program, "is a 32-bit program; only 64-bit programs can be recorded");
    case SXT_RECORDABLE_NOT_MACHINE:
        return refuse(session->program, "is for another processor and cannot be recorded here");
    case SXT_RECORDABLE_NOT_LIBRARY:
        return refuse(session->program, "does not use the GNU C library and cannot be recorded");
    default:
        return CLI_DONE;
    }
}

/* --- names of files --- */

/* Children must not overwrite each other's files: "x.mlyze" becomes "x.%p.mlyze". */
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

static bool name_files(struct session *session, long pid)
{
    const char *given = cli_value(session->arguments, "output");
    const char *slash = strrchr(session->program, '/');
    char pattern[PATH_MAX], absolute[PATH_MAX];
    int size = given != NULL
                   ? snprintf(pattern, sizeof pattern, "%s", given)
                   : snprintf(pattern, sizeof pattern, "%s.mlyze", slash != NULL ? slash + 1 : session->program);
    return size < PATH_MAX && make_absolute(pattern, absolute) &&
           sxt_recording_fill_in(pattern, pid, session->output, sizeof session->output) &&
           (!session->recording_options.follow_children || name_children(absolute, session->children));
}

static int make_spool(struct session *session, long pid)
{
    sxt_error error;
    if (!name_files(session, pid))
        return cli_fail_text(session->program, "the path of the trace is too long");
    if (sxt_recording_create(session->output, &session->recording_options, &session->recording, &error) != SXT_OK)
        return cli_fail(session->output, &error);
    sxt_recording_set_process(session->recording, pid);
    return CLI_DONE;
}

/* --- the program --- */

/* A pipe whose descriptors are not the standard ones, even if those are closed. */
static bool make_pipe(int ends[2])
{
    int low[2];
    if (pipe2(low, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(low[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

/* Adds VALUE to the list in the variable NAME, at its beginning or at its end. */
static bool add_to_list(const char *name, const char *value, bool comes_first)
{
    const char *before = getenv(name);
    char *list = NULL;
    if (before == NULL || *before == 0)
        return setenv(name, value, 1) == 0;
    bool done = asprintf(&list, "%s:%s", comes_first ? value : before, comes_first ? before : value) > 0 &&
                setenv(name, list, 1) == 0;
    free(list);
    return done;
}

/* A sanitizer in a program that the recorded one starts would refuse to be loaded after the recorder. */
static bool set_environment(const struct session *session, const char *spool, const char *suffix)
{
    char number[24], children[PATH_MAX + 16];
    if (session->recordable == SXT_RECORDABLE_SANITIZED)
        return true;
    snprintf(number, sizeof number, "%ld", (long)getpid());
    snprintf(children, sizeof children, "%s%s", session->children, suffix);
    if (session->children[0] == 0)
        unsetenv("SEXTANT_RECORD_CHILDREN");
    else if (setenv("SEXTANT_RECORD_CHILDREN", children, 1) != 0)
        return false;
    return add_to_list("LD_PRELOAD", session->recorder, true) &&
           add_to_list("ASAN_OPTIONS", "verify_asan_link_order=0", false) && setenv("SEXTANT_RECORD", spool, 1) == 0 &&
           setenv("SEXTANT_RECORD_PID", number, 1) == 0;
}

/* In the child: waits for the path and the suffix of the spool, then becomes the program. */
static void become_program(struct session *session, int gate, int report)
{
    char spool[PATH_MAX + 64] = "";
    size_t size = 0;
    for (ssize_t got; size < sizeof spool - 2 && (got = read(gate, spool + size, sizeof spool - 2 - size)) > 0;)
        size += (size_t)got;
    if (size == 0)
        _exit(126);
    char **words = calloc(session->arguments->word_count + 1, sizeof *words);
    if (words != NULL && name_files(session, (long)getpid()) &&
        set_environment(session, spool, spool + strlen(spool) + 1)) {
        memcpy(words, session->arguments->words, session->arguments->word_count * sizeof *words);
        sigprocmask(SIG_SETMASK, &session->mask_before, NULL);
        sigaction(SIGCHLD, &session->children_before, NULL);
        execvp(words[0], words);
    }
    int reason = errno;
    _exit(write(report, &reason, sizeof reason) == (ssize_t)sizeof reason ? 126 : 127);
}

/* Sends the path of the spool to the child. */
static bool open_gate(const struct session *session, int gate)
{
    char spool[PATH_MAX + 64];
    if (realpath(sxt_recording_path(session->recording), spool) == NULL)
        return false;
    size_t size = strlen(spool) + 1;
    size += (size_t)snprintf(spool + size, sizeof spool - size, "%s", sxt_recording_suffix(session->recording)) + 1;
    return write(gate, spool, size) == (ssize_t)size;
}

/* Ends the recording while the program continues. */
static void stop_recording(struct session *session)
{
    if (session->is_finished || session->recording == NULL)
        return;
    session->is_stopped = true;
    sxt_recording_stop(session->recording);
    cli_stop_children(session);
    nanosleep(&(struct timespec){0, SETTLE_NS}, NULL);
    cli_finish_recording(session);
}

/* Passes signals on to the program; those of a terminal reach both anyway. */
static void pass_on(pid_t child, const siginfo_t *signal)
{
    if (signal->si_signo == SIGCHLD || (signal->si_code == SI_KERNEL && signal->si_signo != SIGTERM))
        return;
    kill(child, signal->si_signo);
}

/* The most memory that the system reports includes that of children. */
static void end_memory(struct session *session, const struct rusage *usage)
{
    uint64_t children = 0;
    if (session->recording != NULL)
        sxt_recording_list_children(session->recording, NULL, 0, &children);
    cli_memory_end(&session->memory, children == 0 && usage->ru_maxrss > 0 ? (uint64_t)usage->ru_maxrss : 0);
}

/* Waits for the program to end. Returns its wait status. */
static int watch(struct session *session, pid_t child, const sigset_t *signals)
{
    double end = session->duration > 0 ? cli_seconds_now() + session->duration : 0;
    cli_memory_begin(&session->memory);
    for (;;) {
        int status;
        struct rusage usage = {0};
        pid_t ended = wait4(child, &status, WNOHANG, &usage);
        if (ended == child)
            end_memory(session, &usage);
        if (ended == child || (ended < 0 && errno != EINTR))
            return ended == child ? status : 0;
        bool is_timed = end > 0 && !session->is_finished;
        double left = is_timed ? end - cli_seconds_now() : 3600;
        siginfo_t signal;
        if (is_timed && left <= 0) {
            stop_recording(session);
            continue;
        }
        if (!session->is_finished) {
            cli_memory_look(&session->memory, child);
            double until_look = session->memory.next - cli_seconds_now();
            left = until_look < 0 ? 0 : until_look < left ? until_look : left;
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

/* The program could not be started: removes the spool. */
static int give_up(struct session *session, int reason)
{
    sxt_recording_discard(session->recording);
    cli_fail_text(session->program, "%s", strerror(reason));
    return reason == ENOENT ? 127 : 126;
}

/* Makes the spool, lets the child begin, and waits for its end. */
static int follow(struct session *session, int gate, int report, const sigset_t *signals)
{
    int status = make_spool(session, (long)session->child), reason = 0;
    bool is_told = status == CLI_DONE && open_gate(session, gate);
    int why_not = errno;
    close(gate);
    if (is_told && read(report, &reason, sizeof reason) != (ssize_t)sizeof reason)
        reason = 0;
    if (is_told && reason == 0)
        cli_follow_recording(session);
    int ended = watch(session, session->child, signals);
    if (status != CLI_DONE)
        return status;
    if (reason != 0 || (!is_told && !WIFSIGNALED(ended)))
        return give_up(session, is_told ? reason : why_not);
    if (!is_told)
        sxt_recording_discard(session->recording); /* it was killed before it became the program */
    else {
        sxt_recording_note_status(session->recording, ended);
        cli_finish_recording(session);
    }
    ended = WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
    return ended == 0 && session->has_failed ? CLI_NO : ended;
}

static int record(struct session *session)
{
    sigset_t signals;
    static const int watched[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1};
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        sigaddset(&signals, watched[i]);
    int gate[2], report[2];
    if (!make_pipe(gate) || !make_pipe(report))
        return cli_fail_text(NULL, "%s", strerror(errno));
    sigprocmask(SIG_BLOCK, &signals, &session->mask_before);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &session->children_before);
    fflush(NULL);
    session->child = fork();
    if (session->child < 0)
        return cli_fail_text(NULL, "%s", strerror(errno));
    if (session->child == 0) {
        close(gate[1]);
        become_program(session, gate[0], report[1]);
    }
    close(gate[0]);
    close(report[1]);
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an ordinary error, */
    signal(SIGPIPE, SIG_IGN); /* and a closed stderr is not an error */
    int status = follow(session, gate[1], report[0], &signals);
    close(report[0]);
    return status;
}
