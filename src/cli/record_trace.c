/* record_trace.c: from what was recorded to traces, for the program and its children. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/heap.h"
#include "cli/recording.h"

#define SUFFIX_MOST 16

/* --- one trace --- */

static void show_warning(void *data, const char *path, const char *text)
{
    (void)data;
    cli_warn(path, "%s", text);
}

/* The spool is removed when there is a trace. */
static bool make_trace(struct session *session, const char *spool, const char *output, sxt_recorded *recorded)
{
    struct cli_progress progress = {.phase = "finishing"};
    sxt_trace_write_options options;
    sxt_error error;
    sxt_trace_write_options_init(&options);
    options.compress = !cli_given(session->arguments, "plain");
    options.no_index = !cli_given(session->arguments, "compress");
    options.no_symbols = cli_given(session->arguments, "no-symbols");
    options.threads = session->threads;
    options.warning = show_warning;
    options.progress = cli_given(session->arguments, "quiet") ? NULL : cli_progress_show;
    options.data = &progress;
    *recorded = (sxt_recorded){.struct_size = sizeof *recorded};
    int status = sxt_recording_finish_path(spool, output, &options, recorded, &error);
    cli_progress_end(&progress);
    if (status == SXT_ERROR_IO && !options.compress) { /* a plain trace may be larger than the spool */
        sxt_error again;
        options.compress = true;
        status = sxt_recording_finish_path(spool, output, &options, recorded, &again);
        cli_progress_end(&progress);
        if (status == SXT_OK)
            cli_warn(output, "%s; the trace is compressed instead", error.text);
    }
    if (status != SXT_OK) {
        session->has_failed = true;
        cli_fail(output, &error);
        cli_warn(spool, "the recording is kept here; 'sextant convert --recover' makes a trace from it");
        return false;
    }
    if (unlink(spool) != 0)
        cli_warn(spool, "cannot be removed: %s", strerror(errno));
    return true;
}

/* Warns about what is missing, and says why. */
static void explain(const struct session *session, const char *path, const sxt_recorded *recorded)
{
    static const char *const ends[] = {
        [SXT_RECORDING_DISK_FULL] = "the disk is full, or the limit on the size of files was reached",
        [SXT_RECORDING_NO_MEMORY] = "out of memory",
        [SXT_RECORDING_FILE_GONE] = "the program closed the recorder's file, and it cannot be opened again",
        [SXT_RECORDING_CONFINED] = "the program limits its system calls (seccomp)",
    };
    if (recorded->end != SXT_RECORDING_COMPLETE)
        cli_warn(path, "recording stopped before the program ended: %s", ends[recorded->end]);
    if (recorded->dropped > 0)
        cli_warn(path, "%llu allocations are missing: there were too many at once",
                 (unsigned long long)recorded->dropped);
    if (session->recordable == SXT_RECORDABLE_STATIC)
        cli_warn(session->program, "nothing was recorded: it is linked statically, so the recorder cannot be loaded");
    else if (session->recordable == SXT_RECORDABLE_SANITIZED)
        cli_warn(session->program, "nothing was recorded: it has a sanitizer with its own allocator");
    else if (!recorded->is_attached && recorded->end == SXT_RECORDING_COMPLETE)
        cli_warn(session->program, "nothing was recorded: the recorder was not loaded");
    else if (recorded->own_allocator)
        cli_warn(session->program, "%s: it has its own allocator linked in",
                 recorded->allocations == 0 ? "nothing was recorded" : "not everything was recorded");
}

static void summarise(const struct session *session, const char *path, const sxt_recorded *recorded)
{
    explain(session, path, recorded);
    if (cli_given(session->arguments, "quiet"))
        return;
    fputs("sextant: ", stderr);
    cli_print_name(path);
    fputs(": ", stderr);
    cli_print_count(recorded->events, "event");
    fputs(", ", stderr);
    cli_print_count(recorded->allocations, "allocation");
    fputs(" at ", stderr);
    cli_print_count(recorded->stacks, "stack");
    fputc('\n', stderr);
}

/* --- children --- */

/* Process IDs. */
struct processes {
    long *pids;
    size_t count;
};

static bool name_spool(const struct session *session, long pid, char output[PATH_MAX],
                       char spool[PATH_MAX + SUFFIX_MOST])
{
    if (!sxt_recording_fill_in(session->children, pid, output, PATH_MAX))
        return false;
    snprintf(spool, PATH_MAX + SUFFIX_MOST, "%s%s", output, sxt_recording_suffix(session->recording));
    return true;
}

/* Children that are not found are not finished, so a failure is reported. */
static struct processes find_children(const struct session *session)
{
    struct processes found = {0};
    sxt_error error;
    if (sxt_recording_find_children(session->recording, session->children, &found.pids, &found.count, &error) != SXT_OK)
        cli_fail(session->children, &error);
    return found;
}

void cli_stop_children(const struct session *session)
{
    struct processes children = find_children(session);
    char output[PATH_MAX], spool[PATH_MAX + SUFFIX_MOST];
    for (size_t i = 0; i < children.count; i++)
        if (name_spool(session, children.pids[i], output, spool))
            sxt_recording_stop_child(session->recording, spool, children.pids[i]);
    sxt_free(children.pids);
}

static void finish_child(struct session *session, long pid)
{
    char output[PATH_MAX], spool[PATH_MAX + SUFFIX_MOST];
    sxt_recorded recorded;
    if (!name_spool(session, pid, output, spool))
        return;
    if (!session->is_stopped && kill((pid_t)pid, 0) == 0)
        cli_warn(spool,
                 "process %ld is still running; when it has ended, 'sextant convert --recover' makes a trace from this",
                 pid);
    else if (make_trace(session, spool, output, &recorded))
        summarise(session, output, &recorded);
}

static int by_number(const void *a, const void *b)
{
    long first = *(const long *)a, second = *(const long *)b;
    return first < second ? -1 : first > second;
}

/* Warns about children that have no spool. */
static void name_missing(const struct session *session, const sxt_recorded *recorded, const struct processes *found)
{
    char output[PATH_MAX], spool[PATH_MAX + SUFFIX_MOST];
    for (size_t i = 0; i < recorded->child_count; i++) {
        long pid = (long)recorded->children[i];
        bool is_new = true;
        for (size_t k = 0; k < i; k++)
            is_new &= recorded->children[k] != recorded->children[i];
        bool is_found =
            found->count > 0 && bsearch(&pid, found->pids, found->count, sizeof *found->pids, by_number) != NULL;
        if (is_new && !is_found && name_spool(session, pid, output, spool))
            cli_warn(spool, "cannot be created or belongs to another recording; process %ld was not recorded", pid);
    }
}

void cli_finish_recording(struct session *session)
{
    sxt_recorded recorded;
    if (session->is_finished)
        return;
    session->is_finished = true;
    sxt_recording_note_end(session->recording);
    struct processes children = find_children(session);
    if (make_trace(session, sxt_recording_path(session->recording), session->output, &recorded)) {
        summarise(session, session->output, &recorded);
        name_missing(session, &recorded, &children);
    } else {
        sxt_recording_release_output(session->recording);
    }
    for (size_t i = 0; i < children.count; i++)
        finish_child(session, children.pids[i]);
    sxt_free(children.pids);
}
