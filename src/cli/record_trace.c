/* record_trace.c: from what was recorded to traces, for the program and its children. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

static void set_options(const struct session *session, struct cli_progress *progress, sxt_trace_write_options *options)
{
    sxt_trace_write_options_init(options);
    options->compress = !cli_given(session->arguments, "plain");
    options->no_index = !cli_given(session->arguments, "compress");
    options->no_symbols = cli_given(session->arguments, "no-symbols");
    options->threads = session->threads;
    options->warning = show_warning;
    options->progress = cli_given(session->arguments, "quiet") ? NULL : cli_progress_show;
    options->data = progress;
}

void cli_follow_recording(struct session *session)
{
    sxt_trace_write_options options;
    sxt_error error;
    session->progress = (struct cli_progress){.phase = "finishing"};
    set_options(session, &session->progress, &options);
    if (options.compress &&
        sxt_recording_follow(session->recording, session->output, &options, &session->follower, &error) != SXT_OK)
        session->follower = NULL;
}

/* Completes what was made of the recording while the program ran. False if that has to be made from the spool. */
static bool complete_trace(struct session *session, sxt_recorded *recorded)
{
    sxt_error error;
    if (session->follower == NULL)
        return false;
    *recorded = (sxt_recorded){.struct_size = sizeof *recorded};
    int status = sxt_recording_follow_finish(&session->follower, recorded, &error);
    cli_progress_end(&session->progress);
    return status == SXT_OK;
}

static void remove_spool(const char *spool)
{
    sxt_error error;
    if (sxt_recording_remove_path(spool, &error) != SXT_OK)
        cli_warn(spool, "%s", error.text);
}

/* The spool is removed when there is a trace. */
static bool make_trace(struct session *session, const char *spool, const char *output, sxt_recorded *recorded)
{
    struct cli_progress progress = {.phase = "finishing"};
    sxt_trace_write_options options;
    sxt_error error;
    set_options(session, &progress, &options);
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
    remove_spool(spool);
    return true;
}

static const char *reason_of(sxt_recording_end end)
{
    static const char *const ends[] = {
        [SXT_RECORDING_DISK_FULL] = "the disk is full, or the limit on the size of files was reached",
        [SXT_RECORDING_NO_MEMORY] = "out of memory",
        [SXT_RECORDING_FILE_GONE] = "the program closed the recorder's file, and it cannot be opened again",
        [SXT_RECORDING_CONFINED] = "the program limits its system calls (seccomp)",
    };
    return ends[end];
}

/* Warns about what is missing, and says why. */
static void explain(const struct session *session, const char *path, const sxt_recorded *recorded)
{
    if (recorded->end != SXT_RECORDING_COMPLETE)
        cli_warn(path, "recording stopped before the program ended: %s", reason_of(recorded->end));
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

/* --- what is printed at the end --- */

static void print_bytes(uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    if (bytes < 1000) {
        cli_print_count(bytes, "byte");
        return;
    }
    double value = (double)bytes / 1000;
    unsigned unit = 0;
    for (; value >= 999.95 && unit < 3; unit++)
        value /= 1000;
    fprintf(stderr, "%.1f %s", value, units[unit]);
}

static void print_counts(const sxt_recorded *recorded)
{
    cli_print_count(recorded->events, "event");
    fputs(", ", stderr);
    cli_print_count(recorded->allocations, "allocation");
}

/* "N children", "1 child". */
static void print_children(uint64_t count)
{
    fprintf(stderr, "sextant: %llu %s", (unsigned long long)count, count == 1 ? "child" : "children");
}

/* The share of the program's memory that the recorder did not see, if it is more than malloc itself may need. */
static void print_invisible(const sxt_recorded *recorded)
{
    enum { MALLOC_SLACK = 8 << 20, BLOCK_OVERHEAD = 48 };
    uint64_t memory = recorded->anonymous_bytes, seen = recorded->peak_bytes;
    uint64_t usual = seen + seen / 3 + recorded->peak_blocks * BLOCK_OVERHEAD + MALLOC_SLACK;
    if (recorded->is_sampled || memory <= usual)
        return;
    fprintf(stderr, "sextant: %.0f %% of the program's memory (", 100.0 * (double)(memory - seen) / (double)memory);
    print_bytes(memory - seen);
    fputs(" of ", stderr);
    print_bytes(memory);
    fputs(") is not in the trace: it does not come from malloc or an allocator that record knows\n", stderr);
}

/* The disk should not have held much more than the trace. */
static void print_excess(const sxt_recorded *recorded)
{
    enum { USUAL = 256 << 20 };
    if (recorded->most_spool_bytes <= USUAL)
        return;
    fputs("sextant: the disk held up to ", stderr);
    print_bytes(recorded->most_spool_bytes);
    fputs(" more than the trace while the program ran: events came faster than they could be compressed, or the file "
          "system cannot free a part of a file\n",
          stderr);
}

static void summarise(const struct session *session, const sxt_recorded *recorded)
{
    explain(session, session->output, recorded);
    if (cli_given(session->arguments, "quiet"))
        return;
    fputs("sextant: ", stderr);
    cli_print_name(session->output);
    fputs(": ", stderr);
    print_counts(recorded);
    fputs(" at ", stderr);
    cli_print_count(recorded->stacks, "stack");
    fputc('\n', stderr);
    if (!recorded->is_sampled && recorded->allocations > 0) {
        fputs("sextant: peak ", stderr);
        print_bytes(recorded->peak_bytes);
        fputs(" in ", stderr);
        cli_print_count(recorded->peak_blocks, "block");
        fputs("; leaked ", stderr);
        print_bytes(recorded->left_bytes);
        fputs(" in ", stderr);
        cli_print_count(recorded->left_blocks, "block");
        fputc('\n', stderr);
    }
    print_invisible(recorded);
    print_excess(recorded);
}

/* A shell pattern of the traces of children, if they have a name for each process ID. */
static void print_pattern(const char *children)
{
    const char *process_id = strstr(children, "%p");
    char pattern[PATH_MAX + 1];
    if (process_id == NULL)
        return;
    snprintf(pattern, sizeof pattern, "%.*s*%s", (int)(process_id - children), children, process_id + 2);
    fputc(' ', stderr);
    cli_print_name(pattern);
}

/* The command that comes next, last of all. */
static void print_next(const struct session *session, const sxt_recorded *recorded)
{
    if (cli_given(session->arguments, "quiet"))
        return;
    if (session->children[0] == 0 && recorded->started_children > 0) {
        print_children(recorded->started_children);
        fputs(" ran unrecorded; --follow-fork records them\n", stderr);
    }
    if (recorded->allocations > 0) {
        fputs("sextant: next: sextant heap ", stderr);
        cli_print_name(session->output);
        if (session->children[0] != 0 && recorded->started_children > 0)
            print_pattern(session->children);
        fputc('\n', stderr);
    }
}

/* --- children --- */

/* Process IDs. */
struct processes {
    long *pids;
    size_t count;
};

/* What became of the children. */
struct tally {
    sxt_recorded sums;
    uint64_t recorded, unrecorded, running, failed;
    uint64_t stopped, blind, half_blind; /* those with an allocator that the recorder does not see */
    sxt_recording_end reason;            /* why one was stopped */
    long example;                        /* one that is still running */
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

/* A process that has ended but was not waited for still has its number. */
static bool is_running(long pid)
{
    char path[64], text[512] = "";
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return false;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    size_t size = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[size] = 0;
    const char *state = strrchr(text, ')'); /* the name before it may have blanks */
    return state == NULL || (strncmp(state, ") Z", 3) != 0 && strncmp(state, ") X", 3) != 0);
}

/* Children that end with the program are given a moment. */
static void wait_for(const struct processes *children)
{
    enum { STEP_NS = 10000000, STEPS = 25 };
    for (unsigned step = 0; step < STEPS; step++) {
        bool is_any = false;
        for (size_t i = 0; i < children->count && !is_any; i++)
            is_any = is_running(children->pids[i]);
        if (!is_any)
            return;
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
}

static void finish_child(struct session *session, long pid, struct tally *tally)
{
    char output[PATH_MAX], spool[PATH_MAX + SUFFIX_MOST];
    sxt_recorded recorded;
    if (!name_spool(session, pid, output, spool))
        return;
    if (!session->is_stopped && is_running(pid)) {
        tally->running++;
        tally->example = pid;
    } else if (!sxt_recording_is_attached(session->recording, spool, pid)) {
        tally->unrecorded++;
        unlink(spool);
    } else if (make_trace(session, spool, output, &recorded)) {
        tally->recorded++;
        tally->sums.events += recorded.events;
        tally->sums.allocations += recorded.allocations;
        tally->sums.dropped += recorded.dropped;
        tally->blind += recorded.own_allocator && recorded.allocations == 0;
        tally->half_blind += recorded.own_allocator && recorded.allocations > 0;
        if (recorded.end != SXT_RECORDING_COMPLETE) {
            tally->stopped++;
            tally->reason = recorded.end;
        }
    }
}

/* Warnings about children, one line for each kind. */
static void explain_children(const struct session *session, const struct tally *tally)
{
    char output[PATH_MAX], spool[PATH_MAX + SUFFIX_MOST];
    if (tally->stopped > 0) {
        print_children(tally->stopped);
        fprintf(stderr, ": recording stopped early: %s\n", reason_of(tally->reason));
    }
    if (tally->sums.dropped > 0)
        cli_warn(NULL, "%llu allocations of children are missing: there were too many at once",
                 (unsigned long long)tally->sums.dropped);
    if (tally->blind > 0) {
        print_children(tally->blind);
        fputs(": nothing was recorded: an allocator or a sanitizer is linked in\n", stderr);
    }
    if (tally->half_blind > 0) {
        print_children(tally->half_blind);
        fputs(": not everything was recorded: an allocator is linked in\n", stderr);
    }
    if (tally->failed > 0) {
        print_children(tally->failed);
        fputs(" ran unrecorded: the files cannot be created or belong to another recording\n", stderr);
    }
    if (tally->running > 0 && name_spool(session, tally->example, output, spool)) {
        print_children(tally->running);
        fprintf(stderr, " still running; when %s ended, 'sextant convert --recover' makes a trace from ",
                tally->running == 1 ? "it has" : "they have");
        cli_print_name(spool);
        fputs(tally->running == 1 ? "\n" : ", and from those of the others\n", stderr);
    }
}

static void summarise_children(const struct session *session, const struct tally *tally)
{
    explain_children(session, tally);
    if (cli_given(session->arguments, "quiet"))
        return;
    if (tally->unrecorded > 0) {
        print_children(tally->unrecorded);
        fputs(" ran unrecorded: the recorder was not loaded\n", stderr);
    }
    if (tally->recorded > 0) {
        print_children(tally->recorded);
        fputs(" in ", stderr);
        cli_print_name(session->children);
        fputs(": ", stderr);
        print_counts(&tally->sums);
        fputc('\n', stderr);
    }
}

static int by_number(const void *a, const void *b)
{
    long first = *(const long *)a, second = *(const long *)b;
    return first < second ? -1 : first > second;
}

/* Children that should have a spool and have none. */
static uint64_t count_missing(const sxt_recorded *recorded, const struct processes *found)
{
    uint64_t count = 0;
    for (size_t i = 0; i < recorded->child_count; i++) {
        long pid = (long)recorded->children[i];
        count += found->count == 0 || bsearch(&pid, found->pids, found->count, sizeof *found->pids, by_number) == NULL;
    }
    return count;
}

void cli_finish_recording(struct session *session)
{
    sxt_recorded recorded = {.struct_size = sizeof recorded};
    struct tally tally = {.sums.struct_size = sizeof tally.sums};
    if (session->is_finished)
        return;
    session->is_finished = true;
    sxt_recording_note_end(session->recording);
    sxt_recording_note_memory(session->recording, session->memory.most);
    const char *spool = sxt_recording_path(session->recording);
    bool is_complete = complete_trace(session, &recorded);
    if (is_complete)
        remove_spool(spool);
    if (is_complete || make_trace(session, spool, session->output, &recorded))
        summarise(session, &recorded);
    else
        sxt_recording_release_output(session->recording);
    struct processes children = find_children(session);
    if (!session->is_stopped)
        wait_for(&children);
    tally.failed = count_missing(&recorded, &children);
    tally.unrecorded = session->children[0] != 0 ? recorded.unknown_children : 0;
    for (size_t i = 0; i < children.count; i++)
        finish_child(session, children.pids[i], &tally);
    summarise_children(session, &tally);
    print_next(session, &recorded);
    sxt_free(children.pids);
}
