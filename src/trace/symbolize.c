/* symbolize.c: names for the addresses of an open trace, from files with the build IDs that it recorded. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/options.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "trace/trace.h"

/* Inlined calls make metadata larger, but not by more than this. */
#define METADATA_TIMES 16
#define METADATA_LEAST ((uint64_t)256 << 20)

void sxt_trace_naming_init(sxt_trace_naming *naming)
{
    *naming = (sxt_trace_naming){.struct_size = sizeof *naming};
}

/* Where names come from. */
struct sources {
    const sxt_trace_naming *naming;
    sxt_modules *modules;
    sxt_remote *remote;        /* NULL without a service */
    struct sxt_strings served; /* files that the service knows: "PATH\nBUILD ID" */
};

static sxt_archive *open_module(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses,
                                size_t count)
{
    struct sources *sources = data;
    return sxt_modules_archive(sources->modules, path, build_id, addresses, count);
}

/* Finds the key of a file in `served`, or with IS_NEW adds it. False if it is not there, or memory is short. */
static bool find_served(struct sources *sources, sxt_string path, sxt_string build_id, bool is_new)
{
    struct sxt_buffer key;
    sxt_buffer_init(&key, path.size + build_id.size + 2);
    sxt_buffer_append(&key, path.data, path.size);
    sxt_buffer_u8(&key, '\n');
    sxt_buffer_append(&key, build_id.data, build_id.size);
    bool found = !key.failed &&
                 (is_new ? sxt_strings_add(&sources->served, (const char *)key.data, key.size)
                         : sxt_strings_find(&sources->served, (const char *)key.data, key.size)) != SXT_STRINGS_FULL;
    sxt_buffer_free(&key);
    return found;
}

static int ask_service(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses, size_t count,
                       sxt_remote_answer *answer, void *answer_data, sxt_error *error)
{
    struct sources *sources = data;
    sxt_remote_question question;
    bool is_known;
    if (build_id.size == 0)
        return SXT_OK;
    sxt_remote_question_init(&question);
    question.build_id = build_id;
    question.addresses = addresses;
    question.count = count;
    int status = sxt_remote_ask(sources->remote, &question, answer, answer_data, &is_known, error);
    if (status == SXT_OK && is_known && !find_served(sources, path, build_id, true))
        status = sxt_fail_memory(error, path.size);
    return status;
}

/* A file that is not here, but known to the service, is not missing. */
static bool note_missing(void *data, const sxt_missing_module *missing)
{
    struct sources *sources = data;
    return find_served(sources, missing->name, missing->build_id, false) ||
           sources->naming->missing(sources->naming->data, missing);
}

static int open_service(struct sources *sources, sxt_error *error)
{
    sxt_remote_options options;
    sxt_remote_options_init(&options);
    options.url = sources->naming->url;
    options.api_key = sources->naming->api_key;
    options.ca_file = sources->naming->ca_file;
    return sxt_remote_open(&options, &sources->remote, error);
}

/* METADATA stays empty if there are no new names. */
static int find_names(const sxt_trace *trace, const sxt_trace_naming *naming, struct sxt_buffer *metadata,
                      sxt_trace_named *named, sxt_error *error)
{
    struct sources sources = {.naming = naming};
    sxt_modules_options where;
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
    int status = sxt_strings_init(&sources.served, 0, error);
    if (status == SXT_OK)
        status = sxt_modules_open(&where, &sources.modules, error);
    if (status == SXT_OK && naming->url != NULL)
        status = open_service(&sources, error);
    const struct sxt_trace_name_source source = {
        .open = open_module, .ask = sources.remote != NULL ? ask_service : NULL, .data = &sources};
    if (status == SXT_OK)
        status = sxt_trace_name(trace->mlyze, &source, metadata, named, error);
    if (status == SXT_OK && naming->missing != NULL)
        sxt_modules_visit_missing(sources.modules, note_missing, &sources);
    sxt_remote_close(&sources.remote);
    sxt_modules_close(&sources.modules);
    sxt_strings_free(&sources.served);
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
