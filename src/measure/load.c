/* load.c: the SuperSize model of any file: a .size or .sizediff file is read, a binary is measured. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "measure/measure.h"
#include "size/size.h"

static int make(const char *path, const struct sxt_size_load_options *options, struct sxt_size_info **out,
                sxt_error *error)
{
    struct sxt_size_make_options defaults;
    const char *failed;
    sxt_size_make_options_init(&defaults);
    return sxt_size_make(&path, 1, options != NULL && options->make != NULL ? options->make : &defaults, out, &failed,
                         error);
}

int sxt_size_load(const char *path, const struct sxt_size_load_options *options, enum sxt_size_kind *kind,
                  struct sxt_size_info **size, struct sxt_sizediff *diff, sxt_error *error)
{
    struct sxt_file file;
    struct sxt_size_limits limits = {.inflated = options != NULL ? options->max_size : 0};
    *size = NULL;
    *diff = (struct sxt_sizediff){.before = NULL};
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    if (sxt_sizediff_is(file.data, file.size)) {
        *kind = SXT_SIZE_DIFF_FILE;
        status = sxt_sizediff_open(file.data, file.size, &limits, diff, error);
    } else if (sxt_size_is(file.data, file.size)) {
        *kind = SXT_SIZE_FILE;
        status = sxt_size_open(file.data, file.size, &limits, size, error);
    } else {
        *kind = SXT_SIZE_BINARY;
        status = strcmp(path, "-") == 0 ? sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                                                   "a binary is read more than once; give it as a file")
                                        : make(path, options, size, error);
    }
    sxt_file_close(&file);
    return status;
}
