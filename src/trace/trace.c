/* trace.c: heap traces: opening one with the index beside it, and copies of one in another form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/error.h"
#include "base/unnamed.h"
#include "mlyze/mlyze.h"
#include "mlyze/spool.h"
#include "trace/trace.h"

struct sxt_trace {
    struct sxt_file file;
    struct sxt_mlyze *mlyze;
    bool has_index;
    struct sxt_mlyze_index index;
};

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

/* A trace of what was read from PATH; FILE is the trace's from here on, and closed when this fails. */
static int open_file(struct sxt_file *file, const char *path, struct sxt_trace **out, sxt_error *error)
{
    struct sxt_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        sxt_file_close(file);
        return sxt_fail_memory(error, sizeof *trace);
    }
    trace->file = *file;
    int status = sxt_file_inflate(&trace->file, SXT_ARCHIVE_INFLATE_LIMIT, error);
    if (status == SXT_OK)
        status = sxt_mlyze_open(trace->file.data, trace->file.size, &trace->mlyze, error);
    if (status == SXT_OK)
        load_index(trace, path);
    if (status != SXT_OK)
        sxt_trace_close(&trace);
    *out = trace;
    return status;
}

int sxt_trace_open(const char *path, struct sxt_trace **out, sxt_error *error)
{
    struct sxt_file file;
    *out = NULL;
    int status = sxt_file_open(&file, path, error);
    return status == SXT_OK ? open_file(&file, path, out, error) : status;
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

static int copy_to(const struct sxt_mlyze *mlyze, sxt_string metadata, unsigned codec, struct sxt_output *output,
                   uint64_t *lost, struct sxt_mlyze_oddities *oddities, sxt_error *error)
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
    int status = sxt_mlyze_writer_open(output, &settings, metadata, &writer, error);
    if (status == SXT_OK)
        status = sxt_mlyze_copy(mlyze, writer, lost, oddities, error);
    if (status == SXT_OK)
        status = sxt_mlyze_writer_finish(writer, error);
    sxt_mlyze_writer_close(&writer);
    return status;
}

/* The codec that a copy is to have, so that it is of the same form. */
static unsigned codec_of(const struct sxt_mlyze *mlyze)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(mlyze);
    if ((header->flags & SXT_MLYZE_BLOCKS) == 0)
        return SXT_MLYZE_RAW;
    return header->codec != SXT_MLYZE_RAW ? header->codec : SXT_MLYZE_LZ4;
}

int sxt_trace_save(const struct sxt_mlyze *mlyze, sxt_string metadata, const char *path, sxt_error *error)
{
    struct sxt_output output;
    int status = sxt_output_open(&output, path, error);
    if (status != SXT_OK)
        return status;
    status = copy_to(mlyze, metadata, codec_of(mlyze), &output, NULL, NULL, error);
    if (status == SXT_OK)
        return sxt_output_commit(&output, error);
    sxt_output_abandon(&output);
    return status;
}

int sxt_trace_save_aside(const struct sxt_mlyze *mlyze, sxt_string metadata, struct sxt_file *file, sxt_error *error)
{
    struct sxt_output output;
    int status = sxt_unnamed_open(&output, error);
    if (status != SXT_OK)
        return status;
    status = copy_to(mlyze, metadata, codec_of(mlyze), &output, NULL, NULL, error);
    if (status == SXT_OK)
        return sxt_unnamed_read(&output, file, error);
    sxt_output_abandon(&output);
    return status;
}

/* A stream can be read only once, so that what came out of it is kept aside, where it has a name. */
static int recover_stream(const struct sxt_file *file, const char *output, const struct sxt_recover_options *options,
                          sxt_error *error)
{
    struct sxt_recovered recovered;
    struct sxt_output aside;
    char path[64];
    int status = sxt_unnamed_open(&aside, error);
    if (status != SXT_OK)
        return status;
    status = sxt_output_write(&aside, file->data, file->size, error);
    snprintf(path, sizeof path, "/proc/self/fd/%d", aside.fd);
    if (status == SXT_OK)
        status = sxt_mlyze_recover(path, output, options, &recovered, error);
    sxt_output_abandon(&aside);
    return status;
}

/* What the recorder left when nobody was there to finish the trace. */
static int recover(struct sxt_file *file, const char *input, const char *output,
                   const struct sxt_recover_options *options, sxt_error *error)
{
    struct sxt_recovered recovered;
    int status = strcmp(input, "-") == 0 ? recover_stream(file, output, options, error)
                                         : sxt_mlyze_recover(input, output, options, &recovered, error);
    sxt_file_close(file);
    return status;
}

/* What there is to say about a file that cannot become a trace for the lack of a recording. */
static int check_recorded(const struct sxt_file *file, bool recovers, sxt_error *error)
{
    if (file->size == 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "is empty: nothing had been recorded yet");
    if (!recovers || !sxt_mlyze_is_unclean(file->data, file->size) || sxt_spool_is(file->data, file->size))
        return SXT_OK;
    if (file->size < SXT_SPOOL_WINDOWS_OFFSET)
        return sxt_fail(error, SXT_ERROR_FORMAT, file->size, "ends before anything was recorded");
    return sxt_fail(error, SXT_ERROR_FORMAT, SXT_SPOOL_CONTROL_OFFSET, "what the recorder left is damaged");
}

int sxt_trace_convert(const char *input, const char *output, const struct sxt_recover_options *options, uint64_t *lost,
                      struct sxt_mlyze_oddities *oddities, const char **failed, sxt_error *error)
{
    struct sxt_trace *trace;
    struct sxt_file source;
    struct sxt_output file;
    *failed = input;
    int status = sxt_file_open(&source, input, error);
    if (status == SXT_OK && (status = check_recorded(&source, lost != NULL, error)) != SXT_OK)
        sxt_file_close(&source);
    if (status == SXT_OK && lost != NULL && sxt_spool_is(source.data, source.size)) {
        *lost = 0;
        *oddities = (struct sxt_mlyze_oddities){0};
        return recover(&source, input, output, options, error);
    }
    if (status == SXT_OK)
        status = open_file(&source, input, &trace, error);
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
        status =
            copy_to(trace->mlyze, sxt_mlyze_metadata_text(trace->mlyze), options->codec, &file, lost, oddities, error);
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
