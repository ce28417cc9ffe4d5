/* mlyze.c: heap traces: opening one with the index beside it, and copies of one in another form. */
#include <stdlib.h>
#include <string.h>

#include "archive/private.h"
#include "base/error.h"
#include "base/output.h"
#include "mlyze/mlyze.h"
#include "mlyze/spool.h"

struct sxt_trace {
    struct sxt_file file;
    struct sxt_mlyze *mlyze;
    bool has_index;
    struct sxt_mlyze_index index;
};

const struct sxt_mlyze *sxt_archive_mlyze(const sxt_archive *archive)
{
    return archive->mlyze;
}

int sxt_archive_open_mlyze(sxt_archive *archive, sxt_error *error)
{
    return sxt_mlyze_open(archive->file.data, archive->file.size, &archive->mlyze, error);
}

void sxt_archive_close_mlyze(sxt_archive *archive)
{
    sxt_mlyze_close(&archive->mlyze);
}

/* "FILE.idx"; to be freed. NULL also for standard input, which has nothing beside it. */
static char *index_path(const char *path)
{
    size_t length = strlen(path);
    char *name = strcmp(path, "-") == 0 ? NULL : malloc(length + 5);
    if (name != NULL) {
        memcpy(name, path, length);
        memcpy(name + length, ".idx", 5);
    }
    return name;
}

/* An index that is missing or of no use is no failure. */
static void load_index(struct sxt_trace *trace, const char *path)
{
    char *name = index_path(path);
    struct sxt_file file;
    if (name != NULL && sxt_file_open(&file, name, NULL) == SXT_OK) {
        trace->has_index = sxt_mlyze_index_read(trace->mlyze, file.data, file.size, &trace->index, NULL) == SXT_OK;
        sxt_file_close(&file);
    }
    free(name);
}

int sxt_trace_open(const char *path, struct sxt_trace **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL)
        return sxt_fail_memory(error, sizeof *trace);
    int status = sxt_file_open(&trace->file, path, error);
    if (status != SXT_OK) {
        free(trace);
        return status;
    }
    status = sxt_file_inflate(&trace->file, SXT_ARCHIVE_INFLATE_LIMIT, error);
    if (status == SXT_OK)
        status = sxt_mlyze_open(trace->file.data, trace->file.size, &trace->mlyze, error);
    if (status == SXT_OK)
        load_index(trace, path);
    if (status != SXT_OK)
        sxt_trace_close(&trace);
    *out = trace;
    return status;
}

bool sxt_trace_is_unclean(const char *path)
{
    struct sxt_file file;
    if (strcmp(path, "-") == 0 || sxt_file_open(&file, path, NULL) != SXT_OK)
        return false;
    bool is_unclean = sxt_mlyze_is_unclean(file.data, file.size);
    sxt_file_close(&file);
    return is_unclean;
}

void sxt_trace_close(struct sxt_trace **trace)
{
    if (*trace == NULL)
        return;
    sxt_mlyze_index_free(&(*trace)->index);
    sxt_mlyze_close(&(*trace)->mlyze);
    sxt_file_close(&(*trace)->file);
    free(*trace);
    *trace = NULL;
}

const struct sxt_mlyze *sxt_trace_mlyze(const struct sxt_trace *trace)
{
    return trace->mlyze;
}

bool sxt_trace_has_index(const struct sxt_trace *trace)
{
    return trace->has_index;
}

int sxt_trace_index(struct sxt_trace *trace, const struct sxt_mlyze_index **out, sxt_error *error)
{
    *out = &trace->index;
    if (trace->has_index)
        return SXT_OK;
    int status = sxt_mlyze_index_make(trace->mlyze, &trace->index, error);
    trace->has_index = status == SXT_OK;
    return status;
}

int sxt_trace_save_index(const char *path, sxt_error *error)
{
    struct sxt_trace *trace;
    const struct sxt_mlyze_index *index;
    struct sxt_buffer bytes;
    sxt_buffer_init(&bytes, SIZE_MAX / 2);
    int status = sxt_trace_open(path, &trace, error);
    if (status != SXT_OK)
        return status;
    char *name = index_path(path);
    if (name == NULL)
        status = sxt_fail_memory(error, strlen(path));
    if (status == SXT_OK)
        status = sxt_trace_index(trace, &index, error);
    if (status == SXT_OK)
        status = sxt_mlyze_index_write(trace->mlyze, index, &bytes, error);
    if (status == SXT_OK)
        status = sxt_output_save(name, bytes.data, bytes.size, error);
    free(name);
    sxt_buffer_free(&bytes);
    sxt_trace_close(&trace);
    return status;
}

static int copy_to(const struct sxt_mlyze *mlyze, unsigned codec, struct sxt_output *output, uint64_t *lost,
                   struct sxt_mlyze_oddities *oddities, sxt_error *error)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(mlyze);
    struct sxt_mlyze_settings settings = {
        .start_us = header->start_us,
        .codec = (enum sxt_mlyze_codec)codec,
        .period = header->period,
        .dropped = header->dropped,
        .pid = header->pid,
    };
    struct sxt_mlyze_writer *writer;
    int status = sxt_mlyze_writer_open(output, &settings, sxt_mlyze_metadata_text(mlyze), &writer, error);
    if (status == SXT_OK)
        status = sxt_mlyze_copy(mlyze, writer, lost, oddities, error);
    if (status == SXT_OK)
        status = sxt_mlyze_writer_finish(writer, error);
    sxt_mlyze_writer_close(&writer);
    return status;
}

/* Is it what the recorder left when nobody was there to finish the trace? */
static bool is_spool(const char *path)
{
    struct sxt_file file;
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return false;
    bool is = sxt_spool_is(file.data, file.size);
    sxt_file_close(&file);
    return is;
}

int sxt_trace_convert(const char *input, const char *output, unsigned codec, uint64_t *lost,
                      struct sxt_mlyze_oddities *oddities, const char **failed, sxt_error *error)
{
    struct sxt_trace *trace;
    struct sxt_output file;
    *failed = input;
    if (lost != NULL && is_spool(input)) {
        struct sxt_recover_options options = {.codec = codec};
        struct sxt_recovered recovered;
        *oddities = (struct sxt_mlyze_oddities){0};
        return sxt_mlyze_recover(input, output, &options, &recovered, error);
    }
    int status = sxt_trace_open(input, &trace, error);
    if (status != SXT_OK)
        return status;
    struct sxt_mlyze_cursor *cursor;
    status = sxt_mlyze_cursor_open(trace->mlyze, &cursor, error);
    sxt_mlyze_cursor_close(&cursor);
    if (status == SXT_OK) {
        *failed = output;
        status = sxt_output_open(&file, output, error);
    }
    if (status == SXT_OK) {
        status = copy_to(trace->mlyze, codec, &file, lost, oddities, error);
        if (status == SXT_ERROR_FORMAT)
            *failed = input;
        if (status == SXT_OK)
            status = sxt_output_commit(&file, error);
        else
            sxt_output_abandon(&file);
    }
    sxt_trace_close(&trace);
    return status;
}
