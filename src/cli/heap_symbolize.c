/* heap_symbolize.c: names for the addresses of a heap trace that record left without, and the file that keeps them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/buffer.h"
#include "cli/heap.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "trace/trace.h"

/* Inlined calls make metadata larger, but there are not that many of them. */
#define METADATA_TIMES  16
#define METADATA_LEAST  ((uint64_t)256 << 20)
#define COMPLAINTS_MOST 10 /* files that are complained about one by one */

struct missing {
    size_t count; /* files that are nowhere */
    size_t complaints;
    char first[64]; /* the name of one */
};

static void show_warning(void *data, const char *path, const sxt_error *problem)
{
    (void)data;
    cli_warn(path, "%s", problem->text);
}

static sxt_archive *open_module(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses,
                                size_t count)
{
    return sxt_modules_archive(data, path, build_id, addresses, count);
}

static bool note_missing(void *data, const sxt_missing_module *module)
{
    struct missing *missing = data;
    const char *name = module->name.data, *slash = strrchr(name, '/');
    if (module->reason == SXT_UNRESOLVED_FILE || module->reason == SXT_UNRESOLVED_BUILD_ID) {
        if (missing->count++ == 0)
            snprintf(missing->first, sizeof missing->first, "%s", slash != NULL ? slash + 1 : name);
    }
    if (module->reason == SXT_UNRESOLVED_FILE || missing->complaints++ >= COMPLAINTS_MOST)
        return true;
    if (module->reason == SXT_UNRESOLVED_BUILD_ID)
        cli_warn(name, "only a file with another build ID was found, and it is not used");
    else
        cli_warn(name, "%s", module->problem);
    return true;
}

static void summarise(const char *path, const struct sxt_trace_named *named, const struct missing *missing)
{
    if (named->odd > 0)
        cli_warn(path, "%" PRIu64 " entries of what is unresolved make no sense, and are left out", named->odd);
    if (named->addresses == 0) {
        cli_note(path, "there are no addresses without names");
        return;
    }
    char hint[160] = "";
    if (missing->count == 1)
        snprintf(hint, sizeof hint, "; %s is missing, --search DIR tells where it is", missing->first);
    else if (missing->count > 1)
        snprintf(hint, sizeof hint, "; %zu files are missing (%s ...), --search DIR tells where they are",
                 missing->count, missing->first);
    cli_note(path, "%" PRIu64 " of %" PRIu64 " addresses got names%s", named->named, named->addresses, hint);
}

/* The metadata with names; it stays empty when there are no new ones. */
static int find_names(const struct cli_arguments *arguments, const struct cli_trace *trace, struct sxt_buffer *metadata)
{
    sxt_modules_options where;
    sxt_open_options open;
    sxt_modules *modules = NULL;
    struct sxt_trace_named named;
    sxt_error error;
    sxt_extract_options extract;
    sxt_extract_options_init(&extract);
    extract.debug_directory = cli_value(arguments, "debug-dir");
    sxt_open_options_init(&open);
    open.extract = &extract;
    sxt_modules_options_init(&where);
    where.exact = true;
    where.warning = show_warning;
    where.open = &open;
    int status = cli_search_options(arguments, &where);
    if (status == CLI_DONE && sxt_modules_open(&where, &modules, &error) != SXT_OK)
        status = cli_fail(NULL, &error);
    if (status == CLI_DONE) {
        const struct sxt_trace_naming naming = {.open = open_module, .data = modules};
        struct missing missing = {0};
        if (sxt_trace_name(trace->mlyze, &naming, metadata, &named, &error) != SXT_OK) {
            status = cli_fail(trace->path, &error);
        } else {
            sxt_modules_visit_missing(modules, note_missing, &missing);
            summarise(trace->path, &named, &missing);
        }
    }
    sxt_modules_close(&modules);
    free((void *)(uintptr_t)where.directories);
    return status;
}

static bool has_beside(const char *path, const char *ending)
{
    char *name = NULL;
    bool is_there = asprintf(&name, "%s%s", path, ending) > 0 && access(name, F_OK) == 0;
    free(name);
    return is_there;
}

/* What lay beside the trace is about bytes that have moved. */
static void renew_indexes(const char *before, const char *path)
{
    sxt_error error;
    if ((has_beside(before, ".idx") || has_beside(path, ".idx")) && sxt_trace_save_index(path, &error) != SXT_OK)
        cli_warn(path, "%s", error.text);
    if (has_beside(before, ".live") || has_beside(path, ".live"))
        (void)cli_trace_save_states(path);
}

static int reopen(struct cli_trace *trace, const char *path)
{
    cli_trace_close(trace);
    return cli_trace_open(path, trace);
}

/* Names for this answer only, because WHY. */
static int use_aside(struct cli_trace *trace, sxt_string metadata, const char *why)
{
    struct cli_trace named = {.path = trace->path, .is_cut = trace->is_cut, .is_packed = trace->is_packed};
    sxt_error error;
    cli_warn(trace->path, "is not changed: %s; -o FILE keeps the names", why);
    int status = sxt_trace_save_aside(trace->mlyze, metadata, &named.file, &error);
    if (status == SXT_OK)
        status = sxt_mlyze_open(named.file.data, named.file.size, &named.mlyze, &error);
    cli_trace_close(trace);
    *trace = named;
    return status == SXT_OK ? CLI_DONE : cli_fail(trace->path, &error);
}

/* Why the file cannot hold its own names; NULL when it can. */
static const char *obstacle(const struct cli_trace *trace)
{
    struct stat status;
    if (trace->is_cut)
        return "its recording did not end";
    if (trace->is_packed)
        return "it is compressed as a whole";
    if (strcmp(trace->path, "-") == 0 || stat(trace->path, &status) != 0 || !S_ISREG(status.st_mode))
        return "it is a stream";
    return NULL;
}

int cli_trace_symbolize(const struct cli_arguments *arguments, struct cli_trace *trace)
{
    const char *output = cli_value(arguments, "output"), *before = trace->path;
    struct sxt_buffer json;
    sxt_error error;
    uint64_t most = METADATA_LEAST + METADATA_TIMES * (uint64_t)sxt_mlyze_metadata_text(trace->mlyze).size;
    sxt_buffer_init(&json, most < UINT32_MAX ? (size_t)most : UINT32_MAX);
    int status = find_names(arguments, trace, &json);
    bool is_new = json.size > 0;
    sxt_string metadata =
        is_new ? (sxt_string){(const char *)json.data, json.size} : sxt_mlyze_metadata_text(trace->mlyze);
    if (status == CLI_DONE && output != NULL) {
        status = sxt_trace_save(trace->mlyze, metadata, output, &error) == SXT_OK ? reopen(trace, output)
                                                                                  : cli_fail(output, &error);
    } else if (status == CLI_DONE && is_new) {
        const char *why = obstacle(trace);
        if (why == NULL && sxt_trace_save(trace->mlyze, metadata, trace->path, &error) != SXT_OK)
            why = error.text;
        status = why != NULL ? use_aside(trace, metadata, why) : reopen(trace, trace->path);
        is_new = why == NULL;
    }
    if (status == CLI_DONE && (output != NULL || is_new))
        renew_indexes(before, trace->path);
    sxt_buffer_free(&json);
    return status;
}
