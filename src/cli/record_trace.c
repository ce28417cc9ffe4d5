/* record_trace.c: from what was recorded to a trace, and what `record` says about it. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/recording.h"

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
    if (sxt_recording_follow(session->recording, session->output, &options, &session->follower, &error) != SXT_OK)
        session->follower = NULL;
    else if (session->children[0] != 0 &&
             sxt_recording_follow_children(session->follower, session->recording, session->children,
                                           &session->followed_children, &error) != SXT_OK)
        session->followed_children = NULL;
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
    session->most_spool_bytes = recorded->most_spool_bytes;
    session->usual_spool_bytes = recorded->usual_spool_bytes;
    return status == SXT_OK;
}

static void remove_spool(const char *spool)
{
    sxt_error error;
    if (sxt_recording_remove_path(spool, &error) != SXT_OK)
        cli_warn(spool, "%s", error.text);
}

bool cli_complete_child(struct session *session, long pid, const char *spool, sxt_recorded *recorded)
{
    struct cli_progress progress = {.phase = "finishing"};
    sxt_trace_write_options options;
    sxt_error error;
    if (session->followed_children == NULL)
        return false;
    set_options(session, &progress, &options);
    *recorded = (sxt_recorded){.struct_size = sizeof *recorded};
    int status = sxt_recording_finish_child(session->followed_children, pid, &options, recorded, &error);
    cli_progress_end(&progress);
    if (status == SXT_OK)
        remove_spool(spool);
    return status == SXT_OK;
}

bool cli_make_trace(struct session *session, const char *spool, const char *output, sxt_recorded *recorded)
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

const char *cli_reason_of(sxt_recording_end end)
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
        cli_warn(path, "recording stopped before the program ended: %s", cli_reason_of(recorded->end));
    if (recorded->dropped > 0)
        cli_warn(path, "%s allocation%s missing: there were too many at once",
                 cli_thousands((double)recorded->dropped).text, recorded->dropped == 1 ? " is" : "s are");
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

static void print_count(uint64_t count, const char *noun)
{
    fprintf(stderr, "%s %s%s", cli_thousands((double)count).text, noun, count == 1 ? "" : "s");
}

/* "peak 1.2 MB in 3 blocks"; ABOUT is "about " if it is an estimate. */
static void print_amount(const char *name, const char *about, double bytes, double blocks)
{
    uint64_t count = blocks > 0 ? (uint64_t)(blocks + 0.5) : 0;
    fprintf(stderr, "%s %s%s in ", name, about, cli_bytes(bytes > 0 ? bytes : 0).text);
    print_count(count, "block");
}

/* Peak and leaks. */
static void print_amounts(const sxt_recorded *recorded)
{
    if (recorded->sample_period != 0) {
        print_amount("sextant: estimated from the sample: peak", "about ", recorded->estimated_peak_bytes,
                     recorded->estimated_peak_blocks);
        print_amount("; leaked", "about ", recorded->estimated_left_bytes, recorded->estimated_left_blocks);
    } else {
        print_amount("sextant: peak", "", (double)recorded->peak_bytes, (double)recorded->peak_blocks);
        print_amount("; leaked", "", (double)recorded->left_bytes, (double)recorded->left_blocks);
    }
    fputc('\n', stderr);
}

void cli_print_recorded(const sxt_recorded *recorded)
{
    print_count(recorded->events, "event");
    fputs(", ", stderr);
    print_count(recorded->allocations, recorded->is_sampled ? "sampled allocation" : "allocation");
}

/*
 * Whether MEMORY is more than malloc itself may need for what was SEEN. A sample has an error; four standard deviations
 * of it are not worth a message.
 */
static bool is_much(const sxt_recorded *recorded, double seen, double memory)
{
    enum { MALLOC_SLACK = 8 << 20, BLOCK_OVERHEAD = 48, DEVIATIONS = 4 };
    double blocks = recorded->is_sampled ? recorded->estimated_peak_blocks : (double)recorded->peak_blocks;
    double excess = memory - (seen + seen / 3 + blocks * BLOCK_OVERHEAD + MALLOC_SLACK);
    double variance = memory * (double)recorded->sample_period;
    return excess > 0 && excess * excess > DEVIATIONS * DEVIATIONS * variance;
}

/* The share of the program's memory that the recorder did not see. */
static void print_invisible(const struct session *session, const sxt_recorded *recorded)
{
    double memory = (double)recorded->anonymous_bytes;
    double seen = recorded->is_sampled ? recorded->estimated_peak_bytes : (double)recorded->peak_bytes;
    if (!is_much(recorded, seen, memory))
        return;
    fprintf(stderr,
            "sextant: %s%.0f %% of the program's memory (%s of %s) is not in the trace: it does not come from malloc "
            "or an allocator that record knows\n",
            session->memory.has_missed ? "at least " : "", 100 * (memory - seen) / memory,
            cli_bytes(memory - seen).text, cli_bytes(memory).text);
}

/* The disk should not have held much more than the traces. */
static void print_excess(const struct session *session)
{
    if (session->most_spool_bytes <= session->usual_spool_bytes)
        return;
    fprintf(stderr,
            "sextant: the disk held up to %s more than the trace while the program ran: events came faster than they "
            "could be compressed, or the file system cannot free a part of a file\n",
            cli_bytes((double)session->most_spool_bytes).text);
}

static void summarise(const struct session *session, const sxt_recorded *recorded)
{
    explain(session, session->output, recorded);
    if (cli_given(session->arguments, "quiet"))
        return;
    fputs("sextant: ", stderr);
    cli_print_name(session->output);
    fputs(": ", stderr);
    cli_print_recorded(recorded);
    fputs(" at ", stderr);
    print_count(recorded->stacks, "stack");
    fputc('\n', stderr);
    if (recorded->allocations > 0)
        print_amounts(recorded);
    print_invisible(session, recorded);
    print_excess(session);
}

/* A shell pattern of the traces of children, if they have a name for each process ID. */
static void print_pattern(const char *children)
{
    const char *process_id = strstr(children, "%p");
    char pattern[PATH_MAX + 1];
    if (process_id == NULL)
        return;
    snprintf(pattern, sizeof pattern, "%.*s", (int)(process_id - children), children);
    fputc(' ', stderr);
    cli_print_word(pattern);
    fputc('*', stderr);
    cli_print_word(process_id + 2);
}

/* The command that comes next, last of all. */
static void print_next(const struct session *session, const sxt_recorded *recorded)
{
    if (cli_given(session->arguments, "quiet"))
        return;
    if (session->children[0] == 0 && recorded->started_children > 0) {
        fprintf(stderr, "sextant: %s %s ran unrecorded; --follow-fork records them\n",
                cli_thousands((double)recorded->started_children).text,
                recorded->started_children == 1 ? "child" : "children");
    }
    if (recorded->allocations > 0) {
        fputs("sextant: next: sextant heap ", stderr);
        cli_print_word(session->output);
        if (session->children[0] != 0 && recorded->started_children > 0)
            print_pattern(session->children);
        fputc('\n', stderr);
    }
}

void cli_finish_recording(struct session *session)
{
    sxt_recorded recorded = {.struct_size = sizeof recorded};
    if (session->is_finished)
        return;
    session->is_finished = true;
    sxt_recording_note_end(session->recording);
    sxt_recording_note_memory(session->recording, session->memory.most);
    const char *spool = sxt_recording_path(session->recording);
    if (realpath(spool, session->spool) == NULL)
        snprintf(session->spool, sizeof session->spool, "%s", spool);
    bool is_complete = complete_trace(session, &recorded);
    if (is_complete)
        remove_spool(spool);
    if (is_complete || cli_make_trace(session, spool, session->output, &recorded))
        summarise(session, &recorded);
    else
        sxt_recording_release_output(session->recording);
    cli_finish_children(session, &recorded);
    print_next(session, &recorded);
}
