/*
 * exec_hooks.c: the functions that start processes and execute programs.
 *
 * A forked process is a child from then on. One that shares its parent's memory (vfork) becomes a child when it
 * executes a program, unless that fails.
 */
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/hooks.h"
#include "recorder/note.h"
#include "recorder/recorder.h"

#define WORDS_MOST 64 /* of a command line on the stack */

/* --- before and after a program is executed --- */

struct execution {
    long pid;
    bool is_added, is_prepared;
    char *const *environment;
    struct environment_copy copy;
};

static struct execution begin(char *const *environment)
{
    struct execution execution = {.environment = environment};
    int saved_errno = errno;
    if (sxt_recording.first != NULL) {
        execution.pid = (long)getpid();
        execution.is_added = !sxt_is_first(execution.pid) && sxt_child_add(execution.pid);
        execution.is_prepared = sxt_child_prepare(execution.pid);
        execution.environment = sxt_environment_for(environment, execution.pid, &execution.copy);
    }
    errno = saved_errno;
    return execution;
}

/* The program was not executed. */
static void fail(const struct execution *execution)
{
    int saved_errno = errno;
    if (execution->is_prepared)
        sxt_child_abandon(execution->pid);
    if (execution->is_added)
        sxt_child_remove(execution->pid);
    if (execution->copy.size > 0)
        sxt_unmap_memory(execution->copy.entries, execution->copy.size);
    errno = saved_errno;
}

static int missing(void)
{
    errno = ENOSYS;
    return -1;
}

EXPORTED int execve(const char *path, char *const words[], char *const environment[])
{
    if (!is_ready() || sxt_real.execve == NULL)
        return missing();
    struct execution execution = begin(environment);
    int status = sxt_real.execve(path, words, execution.environment);
    fail(&execution);
    return status;
}

EXPORTED int execv(const char *path, char *const words[])
{
    return execve(path, words, environ);
}

EXPORTED int execvpe(const char *file, char *const words[], char *const environment[])
{
    if (!is_ready() || sxt_real.execvpe == NULL)
        return missing();
    struct execution execution = begin(environment);
    int status = sxt_real.execvpe(file, words, execution.environment);
    fail(&execution);
    return status;
}

EXPORTED int execvp(const char *file, char *const words[])
{
    return execvpe(file, words, environ);
}

EXPORTED int fexecve(int fd, char *const words[], char *const environment[])
{
    if (!is_ready() || sxt_real.fexecve == NULL)
        return missing();
    struct execution execution = begin(environment);
    int status = sxt_real.fexecve(fd, words, execution.environment);
    fail(&execution);
    return status;
}

EXPORTED int execveat(int folder, const char *path, char *const words[], char *const environment[], int flags)
{
    if (!is_ready() || sxt_real.execveat == NULL)
        return missing();
    struct execution execution = begin(environment);
    int status = sxt_real.execveat(folder, path, words, execution.environment, flags);
    fail(&execution);
    return status;
}

/* The words of a variable list that begins with FIRST, and what follows its NULL. */
static int execute_list(int (*execute)(const char *, char *const[], char *const[]), const char *name, const char *first,
                        va_list rest, bool has_environment)
{
    char *some[WORDS_MOST], **words = some;
    va_list again;
    size_t count = 1;
    va_copy(again, rest);
    for (const char *word = first; word != NULL; word = va_arg(again, const char *))
        count++;
    va_end(again);
    if (count > WORDS_MOST && (words = sxt_map_memory(count * sizeof *words)) == NULL) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(words, &first, sizeof first);
    for (size_t i = 1; i < count; i++)
        words[i] = va_arg(rest, char *);
    int status = execute(name, words, has_environment ? va_arg(rest, char **) : environ);
    if (words != some)
        sxt_unmap_memory(words, count * sizeof *words);
    return status;
}

EXPORTED int execl(const char *path, const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    int status = execute_list(execve, path, first, rest, false);
    va_end(rest);
    return status;
}

EXPORTED int execlp(const char *file, const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    int status = execute_list(execvpe, file, first, rest, false);
    va_end(rest);
    return status;
}

EXPORTED int execle(const char *path, const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    int status = execute_list(execve, path, first, rest, true);
    va_end(rest);
    return status;
}

/* --- functions that start a process and execute a program in it --- */

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                           char *const[], char *const[]);

static int spawn(spawn_function *real, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const words[], char *const environment[])
{
    pid_t child = 0;
    struct environment_copy copy = {NULL, 0};
    int saved_errno = errno;
    if (real == NULL)
        return ENOSYS;
    char *const *used = sxt_recording.first != NULL ? sxt_environment_for(environment, 0, &copy) : environment;
    int status = real(&child, path, actions, attributes, words, used);
    if (status == 0) {
        sxt_child_add(child);
        sxt_child_prepare(child);
        if (pid != NULL)
            *pid = child;
    }
    if (copy.size > 0)
        sxt_unmap_memory(copy.entries, copy.size);
    errno = saved_errno;
    return status;
}

EXPORTED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const words[], char *const environment[])
{
    return spawn(is_ready() ? sxt_real.posix_spawn : NULL, pid, path, actions, attributes, words, environment);
}

EXPORTED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const words[], char *const environment[])
{
    return spawn(is_ready() ? sxt_real.posix_spawnp : NULL, pid, file, actions, attributes, words, environment);
}

/* The C library starts a shell. If the recorder is loaded into that, the shell adds itself. */
static void count_shell(void)
{
    if (sxt_recording.first != NULL && !sxt_environment_has_recorder(environ))
        sxt_child_count();
}

EXPORTED int system(const char *command)
{
    if (!is_ready() || sxt_real.system == NULL)
        return missing();
    int status = sxt_real.system(command);
    if (command != NULL && status != -1)
        count_shell();
    return status;
}

EXPORTED FILE *popen(const char *command, const char *mode)
{
    if (!is_ready() || sxt_real.popen == NULL) {
        errno = ENOSYS;
        return NULL;
    }
    FILE *stream = sxt_real.popen(command, mode);
    if (stream != NULL)
        count_shell();
    return stream;
}

/* --- clone --- */

EXPORTED int clone(int (*start)(void *), void *stack, int flags, void *data, ...)
{
    va_list more;
    if (!is_ready() || sxt_real.clone == NULL)
        return missing();
    va_start(more, data);
    void *parent = va_arg(more, void *), *local = va_arg(more, void *), *child = va_arg(more, void *);
    va_end(more);
    int result = sxt_real.clone(start, stack, flags, data, parent, local, child);
    if (result > 0 && (flags & (CLONE_THREAD | CLONE_VM)) == 0)
        sxt_child_add(result);
    return result;
}
