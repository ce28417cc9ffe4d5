/* finish.c: a finished trace from a spool. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/unnamed.h"
#include "mlyze/spool.h"
#include "trace/finish_names.h"
#include "trace/trace.h"

#define BATCH         512
#define PROGRESS_STEP 65536 /* events */

static enum sxt_recovered_end end_of(enum sxt_spool_state state)
{
    switch (state) {
    case SXT_SPOOL_DISK_FULL:
        return SXT_RECOVERED_DISK_FULL;
    case SXT_SPOOL_NO_MEMORY:
        return SXT_RECOVERED_NO_MEMORY;
    case SXT_SPOOL_FILE_GONE:
        return SXT_RECOVERED_FILE_GONE;
    default:
        return SXT_RECOVERED_WHOLE;
    }
}

/* An ALLOC takes 16 bytes of the spool, and anything else no less than 8. */
static void tell_progress(const struct sxt_recover_options *options, const struct sxt_recovered *recovered,
                          uint64_t all)
{
    uint64_t done = 8 * (recovered->events + recovered->allocations);
    if (options->progress != NULL)
        options->progress(options->data, done < all ? done : all, all);
}

/* The spool has SIZE bytes. */
static int write_events(struct sxt_spool *spool, uint64_t size, const uint32_t *markers,
                        const struct sxt_recover_options *options, struct sxt_mlyze_writer *writer,
                        struct sxt_recovered *recovered, sxt_error *error)
{
    struct sxt_mlyze_event events[BATCH];
    struct sxt_spool_live live[BATCH];
    size_t count;
    do {
        int status = sxt_spool_read_live(spool, events, live, BATCH, &count, error);
        for (size_t i = 0; i < count && status == SXT_OK; i++) {
            if (events[i].kind == SXT_MLYZE_MARKER)
                events[i].stack = markers[events[i].stack];
            recovered->allocations += events[i].kind == SXT_MLYZE_ALLOC;
            status = sxt_mlyze_write(writer, &events[i], error);
            sxt_mlyze_writer_live(writer, live[i].bytes, live[i].count);
        }
        if (status != SXT_OK)
            return status;
        recovered->events += count;
        if (recovered->events % PROGRESS_STEP < count)
            tell_progress(options, recovered, size);
    } while (count > 0);
    return sxt_mlyze_writer_finish(writer, error);
}

/* *INDEX is that of its blocks; or INDEX may be NULL. */
static int write_trace(struct sxt_spool *spool, uint64_t size, struct sxt_output *output,
                       const struct sxt_recover_options *options, struct sxt_recovered *recovered,
                       struct sxt_mlyze_index *index, sxt_error *error)
{
    const struct sxt_spool_facts *facts = sxt_spool_facts(spool);
    struct sxt_buffer json;
    sxt_buffer_init(&json, UINT32_MAX);
    uint32_t *markers = NULL;
    int status = sxt_record_names(facts, options, &json, &recovered->functions, &markers, error);
    if (status == SXT_OK) {
        struct sxt_mlyze_settings settings = {
            .start_us = facts->start_us,
            .codec = (enum sxt_mlyze_codec)options->codec,
            .period = facts->period,
            .dropped = facts->dropped,
            .pid = options->codec != SXT_MLYZE_RAW ? facts->pid : 0,
            .keeps_index = index != NULL,
        };
        struct sxt_mlyze_writer *writer = NULL;
        sxt_string metadata = {(const char *)json.data, json.size};
        status = sxt_mlyze_writer_open(output, &settings, metadata, &writer, error);
        if (status == SXT_OK)
            status = write_events(spool, size, markers, options, writer, recovered, error);
        if (status == SXT_OK && index != NULL)
            sxt_mlyze_writer_take_index(writer, index);
        sxt_mlyze_writer_close(&writer);
    }
    sxt_buffer_free(&json);
    free(markers);
    return status;
}

static void describe(const struct sxt_spool *spool, struct sxt_recovered *recovered)
{
    const struct sxt_spool_facts *facts = sxt_spool_facts(spool);
    recovered->stacks = facts->stack_count;
    recovered->unmatched = sxt_spool_unmatched(spool);
    recovered->dropped = facts->dropped;
    recovered->is_attached = facts->is_attached;
    recovered->own_allocator = facts->own_allocator;
    recovered->end = end_of(facts->state);
    recovered->child_count = facts->child_count < SXT_RECOVERED_CHILDREN ? facts->child_count : SXT_RECOVERED_CHILDREN;
    for (size_t i = 0; i < recovered->child_count; i++)
        recovered->children[i] = facts->children[i];
}

/* The spool in FILE as a trace; OUTPUT stays open. */
static int recover(const struct sxt_file *file, struct sxt_output *output, const struct sxt_recover_options *options,
                   struct sxt_recovered *recovered, struct sxt_mlyze_index *index, sxt_error *error)
{
    struct sxt_spool *spool = NULL;
    *recovered = (struct sxt_recovered){0};
    int status = sxt_spool_open(file->data, file->size, &spool, error);
    if (status == SXT_OK)
        status = write_trace(spool, file->size, output, options, recovered, index, error);
    if (spool != NULL)
        describe(spool, recovered);
    sxt_spool_close(&spool);
    return status;
}

/* Beside the trace; nothing depends on it, so whatever is in its way is no failure. */
static void save_index(const char *path, const struct sxt_mlyze_index *index)
{
    struct sxt_file file;
    struct sxt_mlyze *trace;
    struct sxt_buffer name, bytes;
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return;
    sxt_buffer_init(&name, SIZE_MAX / 2);
    sxt_buffer_init(&bytes, SIZE_MAX / 2);
    sxt_buffer_print(&name, "%s.idx", path);
    if (!name.failed && sxt_mlyze_open_unread(file.data, file.size, &trace, NULL) == SXT_OK) {
        if (sxt_mlyze_index_write(trace, index, &bytes, NULL) == SXT_OK)
            (void)sxt_output_save((const char *)name.data, bytes.data, bytes.size, NULL);
        sxt_mlyze_close(&trace);
    }
    sxt_buffer_free(&name);
    sxt_buffer_free(&bytes);
    sxt_file_close(&file);
}

int sxt_mlyze_recover(const char *path, const char *output_path, const struct sxt_recover_options *options,
                      struct sxt_recovered *recovered, sxt_error *error)
{
    *recovered = (struct sxt_recovered){0};
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    struct sxt_output output = {.fd = -1};
    if (!sxt_spool_is(file.data, file.size))
        status = sxt_fail(error, SXT_ERROR_FORMAT, 0, "not a recording that was cut off");
    if (status == SXT_OK)
        status = sxt_output_open(&output, output_path, error);
    if (status == SXT_OK) {
        struct sxt_mlyze_index index = {0};
        status = recover(&file, &output, options, recovered, &index, error);
        if (status == SXT_OK)
            status = sxt_output_commit(&output, error);
        else
            sxt_output_abandon(&output);
        if (status == SXT_OK && index.count > 0)
            save_index(output_path, &index);
        sxt_mlyze_index_free(&index);
    }
    sxt_file_close(&file);
    return status;
}

/* Is somebody still writing to it, as far as can be told? */
static bool is_growing(const struct sxt_file *file)
{
    struct sxt_spool_control control;
    memcpy(&control, file->data + SXT_SPOOL_CONTROL_OFFSET, sizeof control);
    pid_t pid = (pid_t)control.pid;
    return control.state <= SXT_SPOOL_RECORDING && pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/*
 * What is read must not change meanwhile. A window that was emptied before it was copied is at the end of the file: so
 * what came there since the file was opened is copied behind the rest.
 */
static int take_snapshot(const char *path, const struct sxt_file *file, struct sxt_file *snapshot, sxt_error *error)
{
    struct sxt_output output;
    struct sxt_file longer;
    int status = sxt_unnamed_open(&output, error);
    if (status != SXT_OK)
        return status;
    status = sxt_output_write(&output, file->data, file->size, error);
    if (status == SXT_OK && sxt_file_open(&longer, path, NULL) == SXT_OK) {
        if (longer.size > file->size)
            status = sxt_output_write(&output, longer.data + file->size, longer.size - file->size, error);
        sxt_file_close(&longer);
    }
    if (status == SXT_OK)
        return sxt_unnamed_read(&output, snapshot, error);
    sxt_output_abandon(&output);
    return status;
}

int sxt_trace_take_cut(const char *path, struct sxt_file *file, bool *was_cut, sxt_error *error)
{
    *was_cut = sxt_spool_is(file->data, file->size);
    if (!*was_cut)
        return SXT_OK;
    struct sxt_recover_options options = {0};
    struct sxt_recovered recovered;
    struct sxt_file spool = {.owner = SXT_FILE_NOBODY}, whole;
    struct sxt_output output;
    int status = is_growing(file) ? take_snapshot(path, file, &spool, error) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_unnamed_open(&output, error);
    if (status == SXT_OK) {
        status = recover(spool.size > 0 ? &spool : file, &output, &options, &recovered, NULL, error);
        if (status == SXT_OK)
            status = sxt_unnamed_read(&output, &whole, error);
        else
            sxt_output_abandon(&output);
    }
    sxt_file_close(&spool);
    if (status != SXT_OK)
        return status;
    sxt_file_close(file);
    *file = whole;
    return SXT_OK;
}
