/* save.c: the public writers: a Lidia file to memory, a descriptor or a path. */
#include <stdlib.h>
#include <string.h>

#include <sextant/lidia.h>

#include "base/options.h"
#include "base/output.h"
#include "lidia/lidia.h"

void sxt_lidia_options_init(sxt_lidia_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

int sxt_lidia_write_memory(const sxt_symbols *symbols, const sxt_lidia_options *options, void **data, size_t *size,
                           sxt_written *written, sxt_error *error)
{
    *data = NULL;
    *size = 0;
    sxt_lidia_options known;
    sxt_lidia_options_init(&known);
    int status = sxt_options_take(&known, sizeof known, options, "sxt_lidia_options_init", error);
    if (status != SXT_OK)
        return status;
    const struct sxt_lidia_settings settings = {
        .demangle = !known.mangled && !symbols->reference,
        .path_maps = {known.path_maps, known.path_map_count},
        .threads = known.threads,
        .nul_strings = known.nul_strings,
        .no_index = known.no_index,
        .reference = symbols->reference,
        .module = true,
    };
    struct sxt_lidia_counts counts;
    uint8_t *bytes;
    status = sxt_lidia_encode(symbols, &settings, &bytes, size, &counts, error);
    *data = bytes;
    if (status == SXT_OK && written != NULL)
        sxt_result_give(
            written,
            &(sxt_written){
                .size = *size, .functions = counts.functions, .inlines = counts.inlines, .lines = counts.lines},
            sizeof *written);
    return status;
}

int sxt_lidia_write_fd(const sxt_symbols *symbols, const sxt_lidia_options *options, int fd, sxt_written *written,
                       sxt_error *error)
{
    void *data;
    size_t size;
    int status = sxt_lidia_write_memory(symbols, options, &data, &size, written, error);
    if (status == SXT_OK)
        status = sxt_write_all(fd, data, size, error);
    free(data);
    return status;
}

int sxt_lidia_write_path(const sxt_symbols *symbols, const sxt_lidia_options *options, const char *path,
                         sxt_written *written, sxt_error *error)
{
    void *data;
    size_t size;
    int status = sxt_lidia_write_memory(symbols, options, &data, &size, written, error);
    if (status == SXT_OK)
        status = sxt_output_save(path, data, size, error);
    free(data);
    return status;
}
