/* export.c: profiles for other programs, to a file or to memory. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/gzip.h"
#include "base/output.h"
#include "mlyze/analysis.h"

static int write_buffer(const sxt_heap_usage *usage, sxt_heap_format format, sxt_heap_cost cost, struct sxt_buffer *out,
                        sxt_error *error)
{
    switch (format) {
    case SXT_HEAP_FOLDED:
        return sxt_heap_export_folded(usage, cost, out, error);
    case SXT_HEAP_PPROF:
        return sxt_heap_export_pprof(usage, out, error);
    case SXT_HEAP_SPEEDSCOPE:
        return sxt_heap_export_speedscope(usage, out, error);
    }
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "unknown profile format %d", (int)format);
}

static bool is_gzip(const char *path)
{
    size_t size = strlen(path);
    return size > 3 && strcasecmp(path + size - 3, ".gz") == 0;
}

int sxt_heap_write_path(const sxt_heap_usage *usage, sxt_heap_format format, sxt_heap_cost cost, const char *path,
                        sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    int status = write_buffer(usage, format, cost, &buffer, error);
    if (status == SXT_OK && is_gzip(path)) {
        struct sxt_buffer packed;
        sxt_buffer_init(&packed, PTRDIFF_MAX);
        status = sxt_gzip_fast(buffer.data, buffer.size, &packed, error);
        sxt_buffer_free(&buffer);
        buffer = packed;
    }
    if (status == SXT_OK)
        status = sxt_output_save(path, buffer.data, buffer.size, error);
    sxt_buffer_free(&buffer);
    return status;
}

int sxt_heap_write_memory(const sxt_heap_usage *usage, sxt_heap_format format, sxt_heap_cost cost, void **out,
                          size_t *size, sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    int status = write_buffer(usage, format, cost, &buffer, error);
    *out = NULL;
    *size = 0;
    if (status == SXT_OK)
        *out = sxt_buffer_take(&buffer, size);
    else
        sxt_buffer_free(&buffer);
    return status;
}
