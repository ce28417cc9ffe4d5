/* record.c: a finished trace from a spool. */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "archive/record_names.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/output.h"
#include "mlyze/spool.h"

#define BATCH 512

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

static int write_events(struct sxt_spool *spool, const uint32_t *markers, struct sxt_mlyze_writer *writer,
                        struct sxt_recovered *recovered, sxt_error *error)
{
    struct sxt_mlyze_event events[BATCH];
    size_t count;
    do {
        int status = sxt_spool_read(spool, events, BATCH, &count, error);
        for (size_t i = 0; i < count && status == SXT_OK; i++) {
            if (events[i].kind == SXT_MLYZE_MARKER)
                events[i].stack = markers[events[i].stack];
            recovered->allocations += events[i].kind == SXT_MLYZE_ALLOC;
            status = sxt_mlyze_write(writer, &events[i], error);
        }
        if (status != SXT_OK)
            return status;
        recovered->events += count;
    } while (count > 0);
    return sxt_mlyze_writer_finish(writer, error);
}

static int write_trace(struct sxt_spool *spool, struct sxt_output *output, const struct sxt_recover_options *options,
                       struct sxt_recovered *recovered, sxt_error *error)
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
        };
        struct sxt_mlyze_writer *writer = NULL;
        sxt_string metadata = {(const char *)json.data, json.size};
        status = sxt_mlyze_writer_open(output, &settings, metadata, &writer, error);
        if (status == SXT_OK)
            status = write_events(spool, markers, writer, recovered, error);
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

int sxt_mlyze_recover(const char *path, const char *output_path, const struct sxt_recover_options *options,
                      struct sxt_recovered *recovered, sxt_error *error)
{
    *recovered = (struct sxt_recovered){0};
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    struct sxt_spool *spool = NULL;
    struct sxt_output output = {.fd = -1};
    status = sxt_spool_open(file.data, file.size, &spool, error);
    if (status == SXT_OK)
        status = sxt_output_open(&output, output_path, error);
    if (status == SXT_OK) {
        status = write_trace(spool, &output, options, recovered, error);
        if (status == SXT_OK)
            status = sxt_output_commit(&output, error);
        else
            sxt_output_abandon(&output);
    }
    if (spool != NULL)
        describe(spool, recovered);
    sxt_spool_close(&spool);
    sxt_file_close(&file);
    return status;
}
