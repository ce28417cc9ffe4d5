/* write_symbfile.c: ranges of the model into a symbfile. */
#include <string.h>

#include <sextant/symbfile.h>

#include "archive/private.h"
#include "base/error.h"
#include "base/output.h"
#include "base/pool.h"
#include "demangle/demangle.h"

void sxt_symbfile_options_init(sxt_symbfile_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

static bool map_path(const void *context, sxt_string path, struct sxt_buffer *out)
{
    const sxt_symbfile_options *options = context;
    return sxt_map_path(options->path_maps, options->path_map_count, path, out);
}

int sxt_symbfile_settings_of(const sxt_symbfile_options *options, struct sxt_symbfile_settings *settings,
                             sxt_error *error)
{
    *settings = (struct sxt_symbfile_settings){.rename = sxt_demangle};
    if (options == NULL)
        return SXT_OK;
    if (options->struct_size != sizeof *options)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "symbfile options of another version; call sxt_symbfile_options_init first");
    settings->rename = options->mangled ? NULL : sxt_demangle;
    settings->map_path = options->path_map_count > 0 ? map_path : NULL;
    settings->map_context = options;
    return SXT_OK;
}

int sxt_symbfile_save(const char *path, sxt_symbfile_fill *write, void *context, sxt_error *error)
{
    struct sxt_output output = {.fd = -1};
    struct sxt_symbfile_writer *writer = NULL;
    int status = sxt_output_open(&output, path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_symbfile_writer_open(&writer, sxt_symbfile_to_output(&output), error);
    if (status == SXT_OK)
        status = write(context, writer, error);
    if (status == SXT_OK)
        status = sxt_symbfile_writer_finish(writer, error);
    sxt_symbfile_writer_close(&writer);
    if (status == SXT_OK)
        return sxt_output_commit(&output, error);
    sxt_output_abandon(&output);
    return status;
}

/* What the ranges are written from. */
struct ranges {
    const sxt_symbols *symbols;
    const struct sxt_symbfile_settings *settings;
};

static int write_ranges(void *context, struct sxt_symbfile_writer *writer, sxt_error *error)
{
    const struct ranges *ranges = context;
    return sxt_symbfile_write_ranges(ranges->symbols, ranges->settings, writer, error);
}

int sxt_symbfile_write_ranges_path(const sxt_symbols *symbols, const sxt_symbfile_options *options, const char *path,
                                   sxt_error *error)
{
    struct sxt_symbfile_settings settings;
    int status = sxt_symbfile_settings_of(options, &settings, error);
    struct ranges ranges = {symbols, &settings};
    return status == SXT_OK ? sxt_symbfile_save(path, write_ranges, &ranges, error) : status;
}

/* Two files of one model. */
struct both {
    const sxt_symbols *symbols;
    const sxt_symbfile_options *options;
    const char *binary;
    const char *paths[2];
    uint64_t pads;
    int status[2];
    sxt_error errors[2];
};

static int write_one(void *context, unsigned worker, size_t item)
{
    (void)worker;
    struct both *both = context;
    sxt_error *error = &both->errors[item];
    both->status[item] = item == 0 ? sxt_symbfile_write_ranges_path(both->symbols, both->options, both->paths[0], error)
                                   : sxt_symbfile_write_pads_path(both->symbols, both->binary, both->options,
                                                                  both->paths[1], &both->pads, error);
    return SXT_OK;
}

int sxt_symbfile_write_both(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                            const char *ranges, const char *pads, uint64_t *pad_count, const char **failed,
                            sxt_error *error)
{
    struct both both = {.symbols = symbols, .options = options, .binary = binary, .paths = {ranges, pads}};
    int status = sxt_pool_run(2, 2, write_one, &both);
    *failed = ranges;
    for (size_t i = 0; i < 2 && status == SXT_OK; i++)
        if (both.status[i] != SXT_OK) {
            *failed = both.paths[i];
            status = both.status[i];
            if (error != NULL)
                *error = both.errors[i];
        }
    *pad_count = both.pads;
    return status;
}
