/* finish.c: from a spool, which the recorder wrote, to a trace. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/options.h"
#include "base/unnamed.h"
#include "mlyze/spool.h"
#include "trace/finish_names.h"
#include "trace/trace.h"

#define BATCH         512
#define PROGRESS_STEP 65536 /* events */

static sxt_recording_end end_of(enum sxt_spool_state state)
{
    switch (state) {
    case SXT_SPOOL_DISK_FULL:
        return SXT_RECORDING_DISK_FULL;
    case SXT_SPOOL_NO_MEMORY:
        return SXT_RECORDING_NO_MEMORY;
    case SXT_SPOOL_FILE_GONE:
        return SXT_RECORDING_FILE_GONE;
    case SXT_SPOOL_CONFINED:
        return SXT_RECORDING_CONFINED;
    default:
        return SXT_RECORDING_COMPLETE;
    }
}

/* An ALLOC takes 16 bytes of the spool, anything else at least 8. */
static void report_progress(const sxt_trace_write_options *options, const sxt_recorded *recorded, uint64_t all)
{
    uint64_t done = 8 * (recorded->events + recorded->allocations);
    if (options->progress != NULL)
        options->progress(options->data, done < all ? done : all, all);
}

/* Adds a block of a sample, or takes one away: DIRECTION is 1 or -1. */
static void count_block(sxt_recorded *recorded, uint64_t size, double direction)
{
    double weight = sxt_spool_weight(recorded->sample_period, size);
    recorded->estimated_left_bytes += direction * (double)size * weight;
    recorded->estimated_left_blocks += direction * weight;
}

/* What is live by the samples. A block that has ended is known by what was live before: RECORDED has that. */
static void estimate(const sxt_trace_event *event, const struct sxt_spool_live *live, sxt_recorded *recorded)
{
    bool is_alloc = event->kind == SXT_TRACE_ALLOC;
    uint64_t bytes = recorded->left_bytes + (is_alloc ? event->size : 0);
    if (is_alloc)
        count_block(recorded, event->size, 1);
    if (recorded->left_blocks + is_alloc > live->count)
        count_block(recorded, bytes - live->bytes, -1);
    if (recorded->estimated_left_bytes > recorded->estimated_peak_bytes) {
        recorded->estimated_peak_bytes = recorded->estimated_left_bytes;
        recorded->estimated_peak_blocks = recorded->estimated_left_blocks;
    }
}

void sxt_spool_count_event(const sxt_trace_event *event, const struct sxt_spool_live *live, sxt_recorded *recorded)
{
    if (__builtin_expect(recorded->sample_period != 0, 0))
        estimate(event, live, recorded);
    recorded->events++;
    recorded->allocations += event->kind == SXT_TRACE_ALLOC;
    if (live->bytes > recorded->peak_bytes) {
        recorded->peak_bytes = live->bytes;
        recorded->peak_blocks = live->count;
    }
    recorded->left_bytes = live->bytes;
    recorded->left_blocks = live->count;
}

/* A MARKER has its number in the spool; in a trace, it has the id of its name. */
static uint32_t marker_id(const struct sxt_spool_writing *how, uint32_t number)
{
    return how->markers != NULL ? how->markers[number] : number - 1;
}

int sxt_spool_write_events(struct sxt_spool *spool, const struct sxt_spool_writing *how, sxt_recorded *recorded,
                           sxt_error *error)
{
    sxt_trace_event events[BATCH];
    struct sxt_spool_live live[BATCH];
    uint64_t most = how->most > 0 ? recorded->events + how->most : UINT64_MAX;
    size_t count;
    recorded->sample_period = sxt_spool_facts(spool)->period;
    do {
        int status = sxt_spool_read_live(spool, events, live, BATCH, &count, error);
        for (size_t i = 0; i < count && status == SXT_OK; i++) {
            if (events[i].kind == SXT_TRACE_MARKER)
                events[i].stack = marker_id(how, events[i].stack);
            status = sxt_mlyze_write(how->writer, &events[i], error);
            sxt_mlyze_writer_live(how->writer, live[i].bytes, live[i].count);
            sxt_spool_count_event(&events[i], &live[i], recorded);
        }
        if (status != SXT_OK)
            return status;
        if (how->options != NULL && recorded->events % PROGRESS_STEP < count)
            report_progress(how->options, recorded, how->size);
    } while (count > 0 && recorded->events < most && (how->stop == NULL || !atomic_load(how->stop)));
    return SXT_OK;
}

/*
 * *INDEX becomes the index of its blocks. INDEX may be NULL. PATH is that of the spool: what was taken out of it is in
 * a file beside it.
 */
static int write_trace(struct sxt_spool *spool, uint64_t size, const char *path, struct sxt_output *output,
                       const sxt_trace_write_options *options, sxt_recorded *recorded, struct sxt_mlyze_index *index,
                       sxt_error *error)
{
    const struct sxt_spool_facts *facts = sxt_spool_facts(spool);
    struct sxt_spool_metadata metadata;
    int status = sxt_spool_names(facts, options, &metadata, error);
    if (status != SXT_OK)
        return status;
    recorded->functions = metadata.tables.function_count;
    struct sxt_mlyze_settings settings = {
        .start_us = facts->start_us,
        .codec = options->compress ? SXT_MLYZE_COLUMNS_ZSTD : SXT_MLYZE_RAW,
        .period = facts->period,
        .dropped = facts->dropped,
        .pid = options->compress ? facts->pid : 0,
        .threads = options->threads,
        .keeps_index = index != NULL,
    };
    struct sxt_spool_writing how = {
        .size = size, .markers = metadata.markers, .options = options, .is_salvaged = options->recover};
    sxt_string rest = {(const char *)metadata.rest.data, metadata.rest.size};
    status = sxt_mlyze_writer_open_tables(output, &settings, &metadata.tables, rest, &how.writer, error);
    if (status == SXT_OK && sxt_spool_get_consumed(spool) != NULL)
        status = sxt_spool_write_consumed(spool, path, &how, recorded, error);
    if (status == SXT_OK)
        status = sxt_spool_write_events(spool, &how, recorded, error);
    if (status == SXT_OK)
        status = sxt_mlyze_writer_finish(how.writer, error);
    if (status == SXT_OK && index != NULL)
        sxt_mlyze_writer_take_index(how.writer, index);
    sxt_mlyze_writer_close(&how.writer);
    sxt_spool_metadata_free(&metadata);
    return status;
}

void sxt_spool_describe(const struct sxt_spool *spool, sxt_recorded *recorded)
{
    const struct sxt_spool_facts *facts = sxt_spool_facts(spool);
    recorded->stacks = facts->stack_count;
    recorded->unmatched = sxt_spool_unmatched(spool);
    recorded->dropped = facts->dropped;
    recorded->is_attached = facts->is_attached;
    recorded->own_allocator = facts->own_allocator;
    recorded->end = end_of(facts->state);
    recorded->started_children = facts->started_children;
    recorded->unknown_children = facts->unknown_children;
    recorded->anonymous_bytes = facts->anonymous;
    recorded->is_sampled = facts->period != 0;
    recorded->child_count =
        facts->child_count < SXT_RECORDING_CHILDREN_MOST ? facts->child_count : SXT_RECORDING_CHILDREN_MOST;
    for (size_t i = 0; i < recorded->child_count; i++)
        recorded->children[i] = facts->children[i];
}

/* Writes the spool in FILE, which was opened at PATH, as a trace; OUTPUT stays open. */
static int recover(const struct sxt_file *file, const char *path, struct sxt_output *output,
                   const sxt_trace_write_options *options, sxt_recorded *recorded, struct sxt_mlyze_index *index,
                   sxt_error *error)
{
    struct sxt_spool *spool = NULL;
    *recorded = (sxt_recorded){.struct_size = sizeof *recorded};
    int status = sxt_spool_open(file->data, file->size, &spool, error);
    if (status == SXT_OK)
        status = write_trace(spool, file->size, path, output, options, recorded, index, error);
    if (spool != NULL)
        sxt_spool_describe(spool, recorded);
    sxt_spool_close(&spool);
    return status;
}

int sxt_spool_finish(const struct sxt_file *file, const char *path, const char *output_path,
                     const sxt_trace_write_options *options, sxt_recorded *recorded, sxt_error *error)
{
    struct sxt_output output;
    struct sxt_mlyze_index index = {0};
    struct sxt_spool_view view;
    int status = sxt_spool_view_open(&view, file, path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_output_open_over_link(&output, output_path, error); /* perhaps a second name of the spool */
    if (status == SXT_OK) {
        status = recover(&view.file, path, &output, options, recorded, options->no_index ? NULL : &index, error);
        if (status == SXT_OK)
            status = sxt_output_commit(&output, error);
        else
            sxt_output_abandon(&output);
    }
    sxt_spool_view_close(&view);
    if (status == SXT_OK)
        sxt_trace_remove_caches(output_path);
    if (status == SXT_OK && index.count > 0)
        sxt_trace_save_index(output_path, &index);
    sxt_mlyze_index_free(&index);
    return status;
}

int sxt_recording_finish_path(const char *path, const char *output, const sxt_trace_write_options *given,
                              sxt_recorded *result, sxt_error *error)
{
    sxt_recorded recorded = {0};
    sxt_trace_write_options options;
    struct sxt_file file;
    int status = sxt_trace_take_write_options(given, &options, error);
    if (status != SXT_OK)
        return status;
    status = sxt_file_open(&file, path, error);
    if (status == SXT_OK)
        status = sxt_spool_check(file.data, file.size, error);
    if (status == SXT_OK)
        status = sxt_spool_finish(&file, path, output, &options, &recorded, error);
    sxt_file_close(&file);
    if (result != NULL)
        sxt_result_give(result, &recorded, sizeof recorded);
    return status;
}

int sxt_spool_finish_unnamed(const struct sxt_file *file, const char *path, struct sxt_file *whole, sxt_error *error)
{
    sxt_trace_write_options options;
    sxt_recorded recorded;
    struct sxt_spool_view view;
    struct sxt_output output;
    sxt_trace_write_options_init(&options);
    int status = sxt_spool_view_open(&view, file, path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_unnamed_open(&output, error);
    if (status == SXT_OK) {
        status = recover(&view.file, path, &output, &options, &recorded, NULL, error);
        if (status == SXT_OK)
            status = sxt_unnamed_read(&output, whole, error);
        else
            sxt_output_abandon(&output);
    }
    sxt_spool_view_close(&view);
    return status;
}
