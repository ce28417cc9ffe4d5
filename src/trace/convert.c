/* convert.c: copies of a trace in another form or with other names, and the full check of one. */
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/output.h"
#include "mlyze/spool.h"
#include "trace/trace.h"

void sxt_trace_write_options_init(sxt_trace_write_options *options)
{
    *options = (sxt_trace_write_options){.struct_size = sizeof *options, .inflate_limit = SXT_MLYZE_INFLATE_LIMIT};
}

int sxt_trace_take_write_options(const sxt_trace_write_options *given, sxt_trace_write_options *out, sxt_error *error)
{
    sxt_trace_write_options_init(out);
    return sxt_options_take(out, sizeof *out, given, "sxt_trace_write_options_init", error);
}

/* How a copy is made. */
struct copying {
    enum sxt_mlyze_codec codec;
    unsigned threads;
    uint64_t *lost; /* NULL: what cannot be read is an error */
    sxt_trace_oddities *oddities;
};

static int copy_to(const struct sxt_mlyze *mlyze, const struct copying *how, struct sxt_output *output,
                   sxt_error *error)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(mlyze);
    struct sxt_mlyze_settings settings = {
        .version = header->version,
        .start_us = header->start_us,
        .codec = how->codec,
        .period = header->period,
        .dropped = header->dropped,
        .pid = header->pid,
        .threads = how->threads,
    };
    struct sxt_mlyze_writer *writer;
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(mlyze);
    int status = sxt_mlyze_has_tables(mlyze)
                     ? sxt_mlyze_writer_open_tables(output, &settings, metadata, metadata->rest, &writer, error)
                     : sxt_mlyze_writer_open(output, &settings, sxt_mlyze_metadata_text(mlyze), &writer, error);
    if (status == SXT_OK)
        status = sxt_mlyze_copy(mlyze, writer, how->lost, how->oddities, error);
    if (status == SXT_OK)
        status = sxt_mlyze_writer_finish(writer, error);
    sxt_mlyze_writer_close(&writer);
    return status;
}

/* --- the same form --- */

static enum sxt_mlyze_codec codec_of(const struct sxt_mlyze *mlyze)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(mlyze);
    if ((header->flags & SXT_MLYZE_BLOCKS) == 0)
        return SXT_MLYZE_RAW;
    return header->codec != SXT_MLYZE_RAW ? (enum sxt_mlyze_codec)header->codec : SXT_MLYZE_LZ4;
}

int sxt_trace_save(const sxt_trace *trace, const char *path, sxt_error *error)
{
    const struct copying how = {.codec = codec_of(trace->mlyze)};
    struct sxt_output output;
    int status = sxt_output_open(&output, path, error);
    if (status != SXT_OK)
        return status;
    status = copy_to(trace->mlyze, &how, &output, error);
    if (status == SXT_OK)
        status = sxt_output_commit(&output, error);
    else
        sxt_output_abandon(&output);
    if (status == SXT_OK && (trace->path == NULL || strcmp(trace->path, path) != 0))
        sxt_trace_remove_caches(path);
    return status;
}

/* --- another form --- */

/* A trace that is not a spool. */
static int convert(const struct sxt_file *file, const char *path, const sxt_trace_write_options *options,
                   sxt_trace_converted *result, sxt_error *error)
{
    struct copying how = {
        .codec = options->compress ? SXT_MLYZE_COLUMNS_ZSTD : SXT_MLYZE_RAW,
        .threads = options->threads,
        .lost = options->recover ? &result->lost : NULL,
        .oddities = &result->oddities,
    };
    struct sxt_mlyze *mlyze;
    struct sxt_mlyze_cursor *cursor;
    struct sxt_output output;
    int status = sxt_mlyze_open(file->data, file->size, &mlyze, error);
    if (status != SXT_OK)
        return status;
    result->version = sxt_mlyze_header(mlyze)->version;
    if (options->keep_form && strcmp(path, "-") != 0 && codec_of(mlyze) != SXT_MLYZE_RAW)
        how.codec = SXT_MLYZE_COLUMNS_ZSTD;
    /* What cannot be read at all is refused before the output is touched. */
    status = sxt_mlyze_cursor_open(mlyze, &cursor, error);
    sxt_mlyze_cursor_close(&cursor);
    if (status == SXT_OK) {
        status = sxt_output_open(&output, path, error);
        result->output_failed = true;
        if (status == SXT_OK) {
            status = copy_to(mlyze, &how, &output, error);
            result->output_failed = status != SXT_ERROR_FORMAT;
            if (status == SXT_OK)
                status = sxt_output_commit(&output, error);
            else
                sxt_output_abandon(&output);
            if (status == SXT_OK && strcmp(path, "-") != 0)
                sxt_trace_remove_caches(path);
        }
    }
    if (status != SXT_OK)
        memset(&result->oddities, 0, sizeof result->oddities); /* they were counted in part */
    sxt_mlyze_close(&mlyze);
    return status;
}

/* A recording that was cut off becomes a trace. */
static int finish(const struct sxt_file *file, const char *path, const char *output,
                  const sxt_trace_write_options *options, sxt_error *error)
{
    sxt_recorded recorded;
    int status = sxt_spool_check(file->data, file->size, error);
    return status == SXT_OK ? sxt_spool_finish(file, path, output, options, &recorded, error) : status;
}

static int save_caches_of(const char *path, sxt_error *error)
{
    sxt_trace *trace;
    int status = sxt_trace_open_path(path, NULL, &trace, error);
    if (status == SXT_OK)
        status = sxt_trace_save_caches(trace, SXT_TRACE_IDX | SXT_TRACE_LIVE, error);
    sxt_trace_close(&trace);
    return status;
}

int sxt_trace_convert_path(const char *input, const char *output, const sxt_trace_write_options *given,
                           sxt_trace_converted *out, sxt_error *error)
{
    sxt_trace_converted result = {0};
    sxt_trace_write_options options;
    struct sxt_file file;
    bool is_compressed;
    int status = sxt_trace_take_write_options(given, &options, error);
    if (status != SXT_OK)
        return status;
    status = sxt_trace_load(input, options.inflate_limit, &file, &is_compressed, error);
    bool is_cut_off = status == SXT_OK && sxt_mlyze_is_unclean(file.data, file.size);
    if (status == SXT_OK && options.keep_form) {
        options.no_index = true;
        options.compress = is_cut_off && strcmp(output, "-") != 0;
    }
    if (status == SXT_OK && is_cut_off && options.recover)
        status = finish(&file, input, output, &options, error);
    else if (status == SXT_OK)
        status = convert(&file, output, &options, &result, error);
    sxt_file_close(&file);
    if (status == SXT_OK && options.compress && !options.no_index && strcmp(output, "-") != 0) {
        result.output_failed = true;
        status = save_caches_of(output, error);
    }
    result.output_failed &= status != SXT_OK;
    if (out != NULL)
        sxt_result_give(out, &result, sizeof result);
    return status;
}

/* --- the full check --- */

int sxt_trace_verify_path(const char *path, const sxt_trace_options *given,
                          void (*problem)(void *data, const sxt_problem *problem), void *data, uint64_t *count,
                          sxt_error *error)
{
    sxt_trace_options options;
    struct sxt_file file;
    bool is_compressed;
    *count = 0;
    sxt_trace_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_trace_options_init", error);
    if (status != SXT_OK)
        return status;
    status = sxt_trace_load(path, options.inflate_limit, &file, &is_compressed, error);
    if (status == SXT_OK)
        *count = sxt_mlyze_verify(file.data, file.size, problem, data);
    sxt_file_close(&file);
    return status;
}
