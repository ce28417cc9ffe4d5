/* save.c: writes a symbfile to memory, a descriptor or a path; and the public writers of ranges. */
#include <stdlib.h>
#include <string.h>

#include <sextant/symbfile.h>

#include "base/options.h"
#include "base/output.h"
#include "symbfile/symbfile.h"

void sxt_symbfile_options_init(sxt_symbfile_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

int sxt_symbfile_settings_of(const sxt_symbfile_options *options, struct sxt_symbfile_settings *settings,
                             sxt_error *error)
{
    sxt_symbfile_options known;
    sxt_symbfile_options_init(&known);
    int status = sxt_options_take(&known, sizeof known, options, "sxt_symbfile_options_init", error);
    *settings = (struct sxt_symbfile_settings){
        .demangle = !known.mangled,
        .path_maps = {known.path_maps, known.path_map_count},
        .threads = known.threads,
    };
    return status;
}

static int fill(struct sxt_symbfile_sink sink, sxt_symbfile_fill *write, void *context, sxt_error *error)
{
    struct sxt_symbfile_writer *writer = NULL;
    int status = sxt_symbfile_writer_open(&writer, sink, error);
    if (status == SXT_OK)
        status = write(context, writer, error);
    if (status == SXT_OK)
        status = sxt_symbfile_writer_finish(writer, error);
    sxt_symbfile_writer_close(&writer);
    return status;
}

static int save_path(const char *path, sxt_symbfile_fill *write, void *context, uint64_t *size, sxt_error *error)
{
    struct sxt_output output = {.fd = -1};
    int status = sxt_output_open(&output, path, error);
    if (status != SXT_OK)
        return status;
    status = fill(sxt_symbfile_to_output(&output), write, context, error);
    *size = output.size;
    if (status == SXT_OK)
        return sxt_output_commit(&output, error);
    sxt_output_abandon(&output);
    return status;
}

/* A descriptor that the caller owns. */
struct descriptor {
    int fd;
    uint64_t size; /* bytes written */
};

static int write_to_descriptor(void *context, const void *data, size_t size, sxt_error *error)
{
    struct descriptor *descriptor = context;
    descriptor->size += size;
    return sxt_write_all(descriptor->fd, data, size, error);
}

static int save_fd(int fd, sxt_symbfile_fill *write, void *context, uint64_t *size, sxt_error *error)
{
    struct descriptor descriptor = {fd, 0};
    int status = fill((struct sxt_symbfile_sink){write_to_descriptor, &descriptor}, write, context, error);
    *size = descriptor.size;
    return status;
}

static int save_memory(const struct sxt_symbfile_target *target, sxt_symbfile_fill *write, void *context,
                       uint64_t *size, sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, SIZE_MAX);
    int status = fill(sxt_symbfile_to_buffer(&buffer), write, context, error);
    *size = buffer.size;
    if (status == SXT_OK)
        *target->data = sxt_buffer_take(&buffer, target->size);
    sxt_buffer_free(&buffer);
    return status;
}

int sxt_symbfile_save(const struct sxt_symbfile_target *target, sxt_symbfile_fill *write, void *context, uint64_t *size,
                      sxt_error *error)
{
    if (target->path != NULL)
        return save_path(target->path, write, context, size, error);
    if (target->data != NULL)
        return save_memory(target, write, context, size, error);
    return save_fd(target->fd, write, context, size, error);
}

/* What the ranges are written from. */
struct ranges {
    const sxt_symbols *symbols;
    const struct sxt_symbfile_settings *settings;
    sxt_written *written;
};

static int write_ranges(void *context, struct sxt_symbfile_writer *writer, sxt_error *error)
{
    const struct ranges *ranges = context;
    const sxt_symbols *symbols = ranges->symbols;
    int status = SXT_OK;
    /* Without ranges there is nothing that the facts could be about: the file is the reference's empty one. */
    if (symbols->range_count > 0)
        status = sxt_symbfile_add_module(writer, &symbols->module, &ranges->settings->path_maps, error);
    if (status == SXT_OK)
        status = sxt_symbfile_write_ranges(symbols, ranges->settings, writer, error);
    sxt_symbfile_writer_counts(writer, ranges->written);
    return status;
}

int sxt_symbfile_save_ranges(const sxt_symbols *symbols, const sxt_symbfile_options *options,
                             const struct sxt_symbfile_target *target, sxt_written *written, sxt_error *error)
{
    struct sxt_symbfile_settings settings;
    int status = sxt_symbfile_settings_of(options, &settings, error);
    sxt_written result = {.struct_size = 0};
    struct ranges ranges = {symbols, &settings, &result};
    if (status == SXT_OK)
        status = sxt_symbfile_save(target, write_ranges, &ranges, &result.size, error);
    if (status == SXT_OK && written != NULL)
        sxt_result_give(written, &result, sizeof result);
    return status;
}

int sxt_symbfile_write_ranges_path(const sxt_symbols *symbols, const sxt_symbfile_options *options, const char *path,
                                   sxt_written *written, sxt_error *error)
{
    return sxt_symbfile_save_ranges(symbols, options, &(struct sxt_symbfile_target){.path = path}, written, error);
}

int sxt_symbfile_write_ranges_fd(const sxt_symbols *symbols, const sxt_symbfile_options *options, int fd,
                                 sxt_written *written, sxt_error *error)
{
    return sxt_symbfile_save_ranges(symbols, options, &(struct sxt_symbfile_target){.fd = fd}, written, error);
}

int sxt_symbfile_write_ranges_memory(const sxt_symbols *symbols, const sxt_symbfile_options *options, void **data,
                                     size_t *size, sxt_written *written, sxt_error *error)
{
    *data = NULL;
    *size = 0;
    return sxt_symbfile_save_ranges(symbols, options, &(struct sxt_symbfile_target){.data = data, .size = size},
                                    written, error);
}
