/* record_children.c: the traces of child processes, and what `record` says about them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "cli/numbers.h"
#include "cli/recording.h"

#define SUFFIX_MOST 16

/* Process IDs. */
struct processes {
    long *pids;
    size_t count;
};

/* What became of the children. */
struct tally {
    sxt_recorded sums;
    uint64_t recorded, unrecorded, running, failed;
    uint64_t quiet;                      /* ended, and have allocated nothing */
    uint64_t waiting;                    /* still running, and have allocated nothing so far */
    uint64_t stopped, blind, half_blind; /* those with an allocator that the recorder does not see */
    sxt_recording_end reason;            /* why one was stopped */
    long example, waiting_example;       /* one that is still running */
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

/* --- which are still running --- */

static FILE *open_of_process(long pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    return fopen(path, "re");
}

/* The process of a number may be another one by now. A forked child has the first page of the spool of its parent. */
static bool has_spool_mapped(const struct session *session, long pid)
{
    char line[PATH_MAX + 256];
    FILE *file = open_of_process(pid, "maps");
    bool is_found = false;
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL)
        is_found = strstr(line, session->spool) != NULL;
    if (file != NULL)
        fclose(file);
    return is_found;
}

static int by_number(const void *a, const void *b)
{
    long first = *(const long *)a, second = *(const long *)b;
    return first < second ? -1 : first > second;
}

static bool contains(const struct processes *processes, long pid)
{
    return processes->count > 0 &&
           bsearch(&pid, processes->pids, processes->count, sizeof *processes->pids, by_number) != NULL;
}

/* Children that have no spool because they have not allocated, and are still running. */
struct waiting {
    long pids[SXT_RECORDING_CHILDREN_MOST];
    size_t count;
    uint64_t started; /* children in all, with those that have ended */
};

static void find_waiting(const struct session *session, const struct processes *found, struct waiting *waiting)
{
    size_t count =
        sxt_recording_list_children(session->recording, waiting->pids, SXT_RECORDING_CHILDREN_MOST, &waiting->started);
    waiting->count = 0;
    for (size_t i = 0; i < count; i++) {
        long pid = waiting->pids[i];
        if (!contains(found, pid) && sxt_process_is_running(pid) && has_spool_mapped(session, pid))
            waiting->pids[waiting->count++] = pid;
    }
}

static bool is_any_running(const long *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sxt_process_is_running(pids[i]))
            return true;
    return false;
}

/* Children that end with the program are given a moment. They may begin to allocate: returns those with a spool. */
static struct processes wait_for_children(const struct session *session, struct waiting *waiting)
{
    enum { STEP_NS = 10000000, STEPS = 25 };
    struct processes found = find_children(session);
    find_waiting(session, &found, waiting);
    for (unsigned step = 0; step < STEPS && !session->is_stopped; step++) {
        if (!is_any_running(found.pids, found.count) && !is_any_running(waiting->pids, waiting->count))
            break;
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
    sxt_free(found.pids);
    found = find_children(session);
    find_waiting(session, &found, waiting);
    return found;
}

/* --- traces --- */

static void finish_child(struct session *session, long pid, struct tally *tally)
{
    char output[PATH_MAX], spool[PATH_MAX + SUFFIX_MOST];
    sxt_recorded recorded;
    if (!name_spool(session, pid, output, spool))
        return;
    if (!session->is_stopped && sxt_process_is_running(pid)) {
        tally->running++;
        tally->example = pid;
    } else if (!sxt_recording_is_attached(session->recording, spool, pid)) {
        tally->unrecorded++;
        unlink(spool);
    } else if (cli_complete_child(session, pid, spool, &recorded) ||
               cli_make_trace(session, spool, output, &recorded)) {
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

/* Children that should have a spool and have none. */
static uint64_t count_missing(const sxt_recorded *recorded, const struct processes *found)
{
    uint64_t count = 0;
    for (size_t i = 0; i < recorded->child_count; i++)
        count += !contains(found, (long)recorded->children[i]);
    return count;
}

/* --- what is printed --- */

/* "N children", "1 child". */
static void print_children(uint64_t count)
{
    fprintf(stderr, "%s %s", cli_thousands((double)count).text, count == 1 ? "child" : "children");
}

static void begin_line(uint64_t count)
{
    fputs("sextant: ", stderr);
    print_children(count);
}

/* The command that makes a trace of the spool of a child that is still running. */
static void print_recovery(const struct session *session, uint64_t count, long example)
{
    char output[PATH_MAX], spool[PATH_MAX + SUFFIX_MOST];
    fprintf(stderr, "make %s ended: sextant convert --recover ",
            count == 1 ? "its trace when it has" : "their traces when they have");
    if (name_spool(session, example, output, spool)) {
        cli_print_word(spool);
        fputs(" -o ", stderr);
        cli_print_word(output);
    }
    fputs(count == 1 ? "\n" : ", and so on\n", stderr);
}

/* Those that outlive the recording. */
static void explain_running(const struct session *session, const struct tally *tally)
{
    if (tally->running > 0) {
        begin_line(tally->running);
        fputs(" still running; ", stderr);
        print_recovery(session, tally->running, tally->example);
    }
    if (tally->waiting > 0) {
        begin_line(tally->waiting);
        fprintf(stderr, " still running, with nothing allocated so far; if %s, ",
                tally->waiting == 1 ? "it allocates" : "they allocate");
        print_recovery(session, tally->waiting, tally->waiting_example);
    }
}

/* Warnings about children, one line for each kind. */
static void explain_children(const struct session *session, const struct tally *tally)
{
    if (tally->stopped > 0) {
        begin_line(tally->stopped);
        fprintf(stderr, ": recording stopped early: %s\n", cli_reason_of(tally->reason));
    }
    if (tally->sums.dropped > 0)
        cli_warn(NULL, "%s allocation%s of children %s missing: there were too many at once",
                 cli_thousands((double)tally->sums.dropped).text, tally->sums.dropped == 1 ? "" : "s",
                 tally->sums.dropped == 1 ? "is" : "are");
    if (tally->blind > 0) {
        begin_line(tally->blind);
        fputs(": nothing was recorded: an allocator or a sanitizer is linked in\n", stderr);
    }
    if (tally->half_blind > 0) {
        begin_line(tally->half_blind);
        fputs(": not everything was recorded: an allocator is linked in\n", stderr);
    }
    if (tally->failed > 0) {
        begin_line(tally->failed);
        fputs(" ran unrecorded: the files cannot be created or belong to another recording\n", stderr);
    }
    explain_running(session, tally);
}

static void summarise_children(const struct session *session, const struct tally *tally)
{
    explain_children(session, tally);
    if (cli_given(session->arguments, "quiet"))
        return;
    if (tally->unrecorded > 0) {
        begin_line(tally->unrecorded);
        fputs(" ran unrecorded: the recorder was not loaded\n", stderr);
    }
    if (tally->recorded > 0) {
        begin_line(tally->recorded);
        fputs(" in ", stderr);
        cli_print_name(session->children);
        fputs(": ", stderr);
        cli_print_recorded(&tally->sums);
        if (tally->quiet > 0)
            fprintf(stderr, "; %s allocated nothing", cli_thousands((double)tally->quiet).text);
        fputc('\n', stderr);
    } else if (tally->quiet > 0) {
        begin_line(tally->quiet);
        fputs(" allocated nothing\n", stderr);
    }
}

void cli_finish_children(struct session *session, const sxt_recorded *recorded)
{
    struct tally tally = {.sums.struct_size = sizeof tally.sums};
    struct waiting waiting;
    if (session->children[0] == 0)
        return;
    struct processes children = wait_for_children(session, &waiting);
    tally.failed = count_missing(recorded, &children);
    tally.unrecorded = recorded->unknown_children;
    uint64_t known = children.count + tally.failed + tally.unrecorded + waiting.count;
    tally.quiet = waiting.started > known ? waiting.started - known : 0;
    if (waiting.count > 0 && !session->is_stopped) {
        tally.waiting = waiting.count;
        tally.waiting_example = waiting.pids[0];
    }
    for (size_t i = 0; i < children.count; i++)
        finish_child(session, children.pids[i], &tally);
    summarise_children(session, &tally);
    sxt_recording_children_close(&session->followed_children);
    sxt_free(children.pids);
}
