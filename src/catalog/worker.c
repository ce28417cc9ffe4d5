/*
 * worker.c: runs sextant on a file that somebody sent, in a process that cannot do much harm: it has limits for memory,
 * processor time and the size of its output, no input but the files, no environment with secrets, and is killed when
 * its time is over or this process ends.
 *
 * Between fork and exec the child calls only functions that are safe after a fork of a process with threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "catalog/private.h"

#define FIRST_INPUT  3
#define FILES_MAX    64
#define MESSAGE_MAX  1024
#define SECONDS_MORE 60 /* of the clock, beyond those of the processor */

/* Sanitizers reserve terabytes of addresses, which count as memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

extern char **environ;

/* The variables that the program may see: where its libraries are, and settings of sanitizers. */
static void choose_environment(char **out, size_t room)
{
    static const char *const kept[] = {
        "LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "TSAN_OPTIONS=", "LSAN_OPTIONS="};
    size_t count = 0;
    for (char **at = environ; *at != NULL; at++)
        for (size_t i = 0; i < sizeof kept / sizeof *kept && count + 1 < room; i++)
            if (strncmp(*at, kept[i], strlen(kept[i])) == 0)
                out[count++] = *at;
    out[count] = NULL;
}

static void limit(int resource, uint64_t soft, uint64_t hard)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 && now.rlim_max != RLIM_INFINITY && hard > now.rlim_max)
        hard = now.rlim_max;
    setrlimit(resource, &(struct rlimit){soft < hard ? soft : hard, hard});
}

static void set_limits(const struct sxt_catalog_options *options)
{
    if (!HAS_SANITIZER)
        limit(RLIMIT_DATA, options->worker_memory, options->worker_memory);
    limit(RLIMIT_CPU, options->worker_seconds, options->worker_seconds + 2);
    limit(RLIMIT_FSIZE, options->inflate_limit, options->inflate_limit);
    limit(RLIMIT_NOFILE, FILES_MAX, FILES_MAX);
    limit(RLIMIT_CORE, 0, 0);
}

/* In the child. DESCRIPTORS are moved out of the way first, because their numbers may be those that are wanted. */
static void become(const struct sxt_catalog_work *work, const struct sxt_catalog_options *options, int message,
                   char *const *arguments, char *const *environment)
{
    int moved[SXT_CATALOG_INPUTS + 2];
    size_t count = 0;
    moved[count++] = fcntl(work->output, F_DUPFD, FILES_MAX);
    moved[count++] = fcntl(message, F_DUPFD, FILES_MAX);
    for (size_t i = 0; i < work->input_count; i++)
        moved[count++] = fcntl(work->inputs[i], F_DUPFD, FILES_MAX);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, 0) < 0)
        _exit(126);
    for (size_t i = 0; i < count; i++)
        if (moved[i] < 0 || dup2(moved[i], (int)i + 1) < 0)
            _exit(126);
    if (close_range((unsigned)count + 1, ~0U, 0) != 0)
        for (int i = (int)count + 1; i < 1024; i++)
            close(i);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < 32; i++)
        if (i != SIGKILL && i != SIGSTOP)
            signal(i, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    set_limits(options);
    execve(options->program, arguments, environment);
    _exit(127);
}

static int64_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

#define POLL_MS 200 /* how soon a stop is noticed */

/* Reads what the child says until it ends, or its time does. Only the beginning is kept. */
static bool read_message(int fd, int64_t until, const _Atomic bool *stop, char *message, size_t room)
{
    size_t size = 0;
    char rest[256];
    message[0] = 0;
    for (;;) {
        int64_t left = until - seconds();
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        if (left <= 0 || (stop != NULL && *stop))
            return false;
        int ready = poll(&waiting, 1, stop != NULL ? POLL_MS : (int)(left > 60 ? 60 : left) * 1000);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        bool is_full = size + 1 >= room;
        ssize_t got = is_full ? read(fd, rest, sizeof rest) : read(fd, message + size, room - 1 - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        size += is_full ? 0 : (size_t)got;
        message[size] = 0;
    }
}

/* The last line of the message, without the names of the program and of the file. */
static const char *tidy(char *message)
{
    size_t size = strlen(message);
    while (size > 0 && message[size - 1] == '\n')
        message[--size] = 0;
    char *line = strrchr(message, '\n');
    line = line != NULL ? line + 1 : message;
    for (int i = 0; i < 2; i++) {
        char *colon = strstr(line, ": ");
        if (colon != NULL && (i == 1 ? line[0] == '/' : strncmp(line, "sextant: ", 9) == 0))
            line = colon + 2;
    }
    return line;
}

/* The store, into which the child writes, is full or broken: the file that it read is not to blame. */
static bool is_about_output(const char *text)
{
    return strncmp(text, "-: cannot write", 15) == 0 || strncmp(text, "standard output: cannot write", 29) == 0;
}

static int explain_output(const char *text, sxt_error *error)
{
    bool is_full = strstr(text, strerror(ENOSPC)) != NULL || strstr(text, strerror(EDQUOT)) != NULL;
    return sxt_fail(error, is_full ? SXT_ERROR_LIMIT : SXT_ERROR_IO, SXT_NO_OFFSET, "what was read of the file: %s",
                    strchr(text, ':') + 2);
}

static int explain(const struct sxt_catalog_options *options, int status, bool is_in_time, char *message,
                   sxt_error *error)
{
    const char *text = tidy(message);
    if (!is_in_time && options->stop != NULL && *options->stop)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "the server ends");
    if (!is_in_time || (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)))
        return sxt_fail_reason(error, SXT_ERROR_LIMIT, SXT_REASON_INFLATE_LIMIT, SXT_NO_OFFSET,
                               "reading its symbols takes more than %u seconds", options->worker_seconds);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
        return sxt_fail_reason(error, SXT_ERROR_LIMIT, SXT_REASON_INFLATE_LIMIT, SXT_NO_OFFSET,
                               "its symbols take more than %llu bytes", (unsigned long long)options->inflate_limit);
    if (WIFSIGNALED(status))
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "reading its symbols ended with signal %d",
                        WTERMSIG(status));
    if (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "cannot run %s", options->program);
    if (is_about_output(text))
        return explain_output(text, error);
    if (strstr(text, "memory") != NULL)
        return sxt_fail_reason(error, SXT_ERROR_LIMIT, SXT_REASON_INFLATE_LIMIT, SXT_NO_OFFSET,
                               "reading its symbols takes more than %llu MiB",
                               (unsigned long long)(options->worker_memory >> 20));
    return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s", *text != 0 ? text : "its symbols cannot be read");
}

static int wait_for(const struct sxt_catalog_options *options, pid_t child, int fd, sxt_error *error)
{
    char message[MESSAGE_MAX];
    int status = 0;
    bool is_in_time =
        read_message(fd, seconds() + options->worker_seconds + SECONDS_MORE, options->stop, message, sizeof message);
    if (!is_in_time) {
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return sxt_fail_errno(error, errno, "cannot wait for %s", options->program);
    if (is_in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return SXT_OK;
    return explain(options, status, is_in_time, message, error);
}

int sxt_catalog_run(const struct sxt_catalog_options *options, const struct sxt_catalog_work *work, sxt_error *error)
{
    char *environment[16];
    char *arguments[SXT_CATALOG_ARGUMENTS + 2];
    int message[2];
    if (options->program == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "this server does not read ELF files");
    size_t count = 0;
    arguments[count++] = (char *)(uintptr_t)options->program;
    for (const char *const *at = work->arguments; *at != NULL && count <= SXT_CATALOG_ARGUMENTS; at++)
        arguments[count++] = (char *)(uintptr_t)*at;
    arguments[count] = NULL;
    choose_environment(environment, sizeof environment / sizeof *environment);
    if (pipe2(message, O_CLOEXEC) != 0)
        return sxt_fail_errno(error, errno, "cannot make a pipe");
    pid_t child = fork();
    if (child == 0)
        become(work, options, message[1], arguments, environment);
    int failure = errno;
    close(message[1]);
    int status = child > 0 ? wait_for(options, child, message[0], error)
                           : sxt_fail_errno(error, failure, "cannot start %s", options->program);
    close(message[0]);
    return status;
}
