/* load.c: sizes from any file: a .size or .sizediff file is read, a binary or static library is measured. */
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "measure/private.h"

void sxt_size_load_options_init(sxt_size_load_options *options)
{
    *options = (sxt_size_load_options){.struct_size = sizeof *options};
}

static int load_diff(const struct sxt_file *file, const struct sxt_size_limits *limits, sxt_size_diff **diff,
                     sxt_error *error)
{
    struct sxt_sizediff stored;
    if (diff == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "a .sizediff file, not the sizes of one build");
    int status = sxt_sizediff_open(file->data, file->size, limits, &stored, error);
    return status == SXT_OK ? sxt_size_diff_from_stored(&stored, diff, error) : status;
}

/* PATH is NULL for a file in memory. */
static int measure(struct sxt_file *file, const char *path, const sxt_size_load_options *options, sxt_size_info **info,
                   sxt_error *error)
{
    if (path == NULL || options->stored_only)
        return sxt_fail_reason(error, SXT_ERROR_UNSUPPORTED, SXT_REASON_BINARY, SXT_NO_OFFSET,
                               "neither a .size nor a .sizediff file");
    if (strcmp(path, "-") == 0)
        return sxt_fail_reason(error, SXT_ERROR_UNSUPPORTED, SXT_REASON_NOT_A_FILE, SXT_NO_OFFSET,
                               "a binary cannot be read from standard input");
    return sxt_measure_files(&path, 1, file, options->make, info, NULL, error);
}

static int load(struct sxt_file *file, const char *path, const sxt_size_load_options *given, sxt_size_info **info,
                sxt_size_diff **diff, sxt_error *error)
{
    sxt_size_load_options options;
    sxt_size_load_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_size_load_options_init", error);
    if (status != SXT_OK)
        return status;
    struct sxt_size_limits limits = {.inflated = options.inflate_limit};
    if (sxt_sizediff_is(file->data, file->size))
        return load_diff(file, &limits, diff, error);
    if (info == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not a .sizediff file");
    if (sxt_size_is(file->data, file->size))
        return sxt_size_open(file->data, file->size, &limits, info, error);
    return measure(file, path, &options, info, error);
}

static void clear(sxt_size_info **info, sxt_size_diff **diff)
{
    if (info != NULL)
        *info = NULL;
    if (diff != NULL)
        *diff = NULL;
}

int sxt_size_load(const char *path, const sxt_size_load_options *options, sxt_size_info **info, sxt_size_diff **diff,
                  sxt_error *error)
{
    struct sxt_file file;
    clear(info, diff);
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    status = load(&file, path, options, info, diff, error);
    sxt_file_close(&file);
    return status;
}

int sxt_size_load_memory(const void *data, size_t size, const sxt_size_load_options *options, sxt_size_info **info,
                         sxt_size_diff **diff, sxt_error *error)
{
    struct sxt_file file;
    clear(info, diff);
    sxt_file_from_memory(&file, data, size);
    return load(&file, NULL, options, info, diff, error);
}
