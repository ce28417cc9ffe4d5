/* symbolize.c: names for the addresses of an open trace, from files with the build IDs that it recorded. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/options.h"
#include "profile/profile.h"
#include "trace/trace.h"

/* Inlined calls make metadata larger, but not by more than this. */
#define METADATA_TIMES 16
#define METADATA_LEAST ((uint64_t)256 << 20)

void sxt_trace_naming_init(sxt_trace_naming *naming)
{
    *naming = (sxt_trace_naming){.struct_size = sizeof *naming};
}

static sxt_archive *open_module(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses,
                                size_t count)
{
    return sxt_modules_archive(data, path, build_id, addresses, count);
}

/* METADATA stays empty if there are no new names. */
static int find_names(const sxt_trace *trace, const sxt_trace_naming *naming, struct sxt_buffer *metadata,
                      sxt_trace_named *named, sxt_error *error)
{
    sxt_modules_options where;
    sxt_modules *modules;
    sxt_open_options open;
    sxt_extract_options extract;
    sxt_extract_options_init(&extract);
    extract.debug_directory = naming->debug_directory;
    extract.threads = naming->threads;
    sxt_open_options_init(&open);
    open.extract = &extract;
    sxt_modules_options_init(&where);
    where.directories = naming->directories;
    where.directory_count = naming->directory_count;
    where.exact = true;
    where.warning = naming->warning;
    where.warning_data = naming->data;
    where.open = &open;
    int status = sxt_modules_open(&where, &modules, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_trace_name_source source = {.open = open_module, .data = modules};
    status = sxt_trace_name(trace->mlyze, &source, metadata, named, error);
    if (status == SXT_OK && naming->missing != NULL)
        sxt_modules_visit_missing(modules, naming->missing, naming->data);
    sxt_modules_close(&modules);
    return status;
}

int sxt_trace_symbolize(sxt_trace *trace, const sxt_trace_naming *given, sxt_trace_named *result, sxt_error *error)
{
    sxt_trace_naming naming;
    sxt_trace_named named = {0};
    struct sxt_buffer metadata;
    sxt_trace_naming_init(&naming);
    int status = sxt_options_take(&naming, sizeof naming, given, "sxt_trace_naming_init", error);
    if (status != SXT_OK)
        return status;
    uint64_t most = METADATA_LEAST + METADATA_TIMES * (uint64_t)sxt_mlyze_metadata_text(trace->mlyze).size;
    sxt_buffer_init(&metadata, most < UINT32_MAX ? (size_t)most : UINT32_MAX);
    status = find_names(trace, &naming, &metadata, &named, error);
    if (status == SXT_OK && metadata.size > 0) {
        size_t size;
        char *text = (char *)sxt_buffer_take(&metadata, &size);
        status = sxt_mlyze_replace_metadata(trace->mlyze, text, size, error);
    }
    sxt_buffer_free(&metadata);
    if (result != NULL)
        sxt_result_give(result, &named, sizeof named);
    return status;
}
