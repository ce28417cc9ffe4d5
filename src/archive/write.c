/* write.c: the model into a file of some format, with names made readable on the way out. */
#include <stdlib.h>
#include <string.h>

#include <sextant/sextant.h>

#include "archive/private.h"
#include "base/error.h"
#include "base/output.h"
#include "demangle/demangle.h"

void sxt_lidia_options_init(sxt_lidia_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

/* A prefix ends where a component of the path does. */
bool sxt_map_path(const sxt_path_map *maps, size_t count, sxt_string path, struct sxt_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        const sxt_path_map *map = &maps[i];
        size_t size = strlen(map->old_prefix);
        if (size == 0 || size > path.size || memcmp(path.data, map->old_prefix, size) != 0 ||
            (size < path.size && map->old_prefix[size - 1] != '/' && path.data[size] != '/'))
            continue;
        sxt_buffer_append(out, map->new_prefix, strlen(map->new_prefix));
        sxt_buffer_append(out, path.data + size, path.size - size);
        return true;
    }
    return false;
}

static bool map_path(const void *context, sxt_string path, struct sxt_buffer *out)
{
    const sxt_lidia_options *options = context;
    return sxt_map_path(options->path_maps, options->path_map_count, path, out);
}

int sxt_lidia_write_memory(const sxt_symbols *symbols, const sxt_lidia_options *options, void **data, size_t *size,
                           sxt_error *error)
{
    *data = NULL;
    *size = 0;
    sxt_lidia_options defaults;
    if (options == NULL) {
        sxt_lidia_options_init(&defaults);
        options = &defaults;
    } else if (options->struct_size != sizeof *options) {
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "lidia options of another version; call sxt_lidia_options_init first");
    }
    struct sxt_lidia_settings settings = {
        .rename = options->mangled || symbols->reference ? NULL : sxt_demangle,
        .map_path = options->path_map_count > 0 ? map_path : NULL,
        .map_context = options,
        .nul_strings = options->nul_strings,
        .no_index = options->no_index,
        .reference = symbols->reference,
    };
    uint8_t *bytes;
    int status = sxt_lidia_encode(symbols, &settings, &bytes, size, error);
    *data = bytes;
    return status;
}

int sxt_lidia_write_fd(const sxt_symbols *symbols, const sxt_lidia_options *options, int fd, sxt_error *error)
{
    void *data;
    size_t size;
    int status = sxt_lidia_write_memory(symbols, options, &data, &size, error);
    if (status == SXT_OK)
        status = sxt_write_all(fd, data, size, error);
    free(data);
    return status;
}

int sxt_lidia_write_path(const sxt_symbols *symbols, const sxt_lidia_options *options, const char *path,
                         sxt_error *error)
{
    void *data;
    size_t size;
    int status = sxt_lidia_write_memory(symbols, options, &data, &size, error);
    if (status == SXT_OK)
        status = sxt_output_save(path, data, size, error);
    free(data);
    return status;
}
