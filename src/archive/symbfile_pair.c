/* symbfile_pair.c: writes the ranges and the return pads of one model at the same time. */
#include <sextant/symbfile.h>

#include "archive/private.h"
#include "base/options.h"
#include "base/pool.h"

struct pair {
    const sxt_symbols *symbols;
    const char *binary;
    sxt_symbfile_options options;
    const struct sxt_symbfile_target *targets; /* the ranges, the pads */
    sxt_written written[2];
    int status[2];
    sxt_error errors[2];
};

static int write_one(void *context, unsigned worker, size_t item)
{
    (void)worker;
    struct pair *pair = context;
    sxt_error *error = &pair->errors[item];
    pair->written[item].struct_size = sizeof pair->written[item];
    if (item == 0)
        pair->status[0] =
            sxt_symbfile_save_ranges(pair->symbols, &pair->options, &pair->targets[0], &pair->written[0], error);
    else
        pair->status[1] = sxt_symbfile_save_pads(pair->symbols, pair->binary, &pair->options, &pair->targets[1],
                                                 &pair->written[1], error);
    return SXT_OK;
}

/* The two files share the threads; with only one thread, they are written one after the other. */
static int write_both(struct pair *pair, const sxt_symbfile_options *options, sxt_written *written, int *failed,
                      sxt_error *error)
{
    sxt_symbfile_options_init(&pair->options);
    int status = sxt_options_take(&pair->options, sizeof pair->options, options, "sxt_symbfile_options_init", error);
    if (failed != NULL)
        *failed = 0;
    if (status != SXT_OK)
        return status;
    unsigned threads = sxt_pool_threads(pair->options.threads) > 1 ? 2 : 1;
    pair->options.threads = (pair->options.threads + threads - 1) / threads;
    status = sxt_pool_run(threads, 2, write_one, pair);
    for (int i = 0; i < 2 && status == SXT_OK; i++) {
        status = pair->status[i];
        if (status != SXT_OK && failed != NULL)
            *failed = i;
        if (status != SXT_OK && error != NULL)
            *error = pair->errors[i];
    }
    if (status == SXT_OK && written != NULL) {
        pair->written[0].return_pads = pair->written[1].return_pads;
        sxt_result_give(written, &pair->written[0], sizeof pair->written[0]);
    }
    return status;
}

int sxt_symbfile_write_both_path(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                                 const char *ranges, const char *pads, sxt_written *written, int *failed,
                                 sxt_error *error)
{
    const struct sxt_symbfile_target targets[2] = {{.path = ranges}, {.path = pads}};
    struct pair pair = {.symbols = symbols, .binary = binary, .targets = targets};
    return write_both(&pair, options, written, failed, error);
}

int sxt_symbfile_write_both_fd(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                               int ranges, int pads, sxt_written *written, int *failed, sxt_error *error)
{
    const struct sxt_symbfile_target targets[2] = {{.fd = ranges}, {.fd = pads}};
    struct pair pair = {.symbols = symbols, .binary = binary, .targets = targets};
    return write_both(&pair, options, written, failed, error);
}

int sxt_symbfile_write_both_memory(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                                   void **ranges, size_t *ranges_size, void **pads, size_t *pads_size,
                                   sxt_written *written, int *failed, sxt_error *error)
{
    *ranges = *pads = NULL;
    *ranges_size = *pads_size = 0;
    const struct sxt_symbfile_target targets[2] = {{.data = ranges, .size = ranges_size},
                                                   {.data = pads, .size = pads_size}};
    struct pair pair = {.symbols = symbols, .binary = binary, .targets = targets};
    int status = write_both(&pair, options, written, failed, error);
    if (status != SXT_OK) {
        sxt_free(*ranges);
        sxt_free(*pads);
        *ranges = *pads = NULL;
        *ranges_size = *pads_size = 0;
    }
    return status;
}
