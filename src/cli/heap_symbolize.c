/* heap_symbolize.c: names for addresses of a heap trace that have none, and the file that keeps them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/heap.h"
#include "cli/server_options.h"
#include "cli/verbs.h"

#define WARNINGS_MOST 10 /* files that get a warning each */

struct missing {
    size_t count; /* files that were not found */
    size_t warnings;
    char first[64]; /* the name of one */
};

static bool note_missing(void *data, const sxt_missing_module *module)
{
    struct missing *missing = data;
    const char *name = module->name.data, *slash = strrchr(name, '/');
    bool is_absent = module->reason == SXT_UNRESOLVED_FILE || module->reason == SXT_UNRESOLVED_BUILD_ID;
    if (is_absent && missing->count++ == 0)
        snprintf(missing->first, sizeof missing->first, "%s", slash != NULL ? slash + 1 : name);
    if (module->reason == SXT_UNRESOLVED_FILE || missing->warnings++ >= WARNINGS_MOST)
        return true;
    if (module->reason == SXT_UNRESOLVED_BUILD_ID)
        cli_warn(name, "only a file with another build ID was found; it is not used");
    else
        cli_warn(name, "%s", module->problem);
    return true;
}

static void summarise(const char *path, const sxt_trace_named *named, const struct missing *missing)
{
    if (named->invalid > 0)
        cli_warn(path, "%" PRIu64 " unresolved %s invalid and left out", named->invalid,
                 named->invalid == 1 ? "entry is" : "entries are");
    if (named->addresses == 0) {
        cli_note(path, "no addresses without names");
        return;
    }
    char hint[160] = "";
    if (missing->count == 1)
        snprintf(hint, sizeof hint, "; %s is missing, use --search DIR to say where it is", missing->first);
    else if (missing->count > 1)
        snprintf(hint, sizeof hint, "; %zu files are missing (%s ...), use --search DIR to say where they are",
                 missing->count, missing->first);
    cli_note(path, "%" PRIu64 " of %" PRIu64 " addresses got names%s", named->named, named->addresses, hint);
}

static int find_names(const struct cli_arguments *arguments, struct cli_heap *heap, bool *is_new)
{
    struct missing missing = {0};
    sxt_trace_named named = {.struct_size = sizeof named};
    sxt_trace_naming naming;
    struct cli_server server = {0};
    sxt_error error;
    sxt_trace_naming_init(&naming);
    int status = cli_search_directories(arguments, &naming.directories, &naming.directory_count);
    naming.debug_directory = cli_value(arguments, "debug-dir");
    if (status == CLI_DONE)
        status = cli_threads(arguments, &naming.threads);
    if (status == CLI_DONE)
        status = cli_server_options(arguments, &server);
    naming.url = server.url;
    naming.api_key = server.api_key;
    naming.ca_file = server.ca_file;
    naming.warning = cli_show_warning;
    naming.missing = note_missing;
    naming.data = &missing;
    if (status == CLI_DONE && sxt_trace_symbolize(heap->trace, &naming, &named, &error) != SXT_OK)
        status =
            error.code == SXT_ERROR_USAGE ? cli_usage(arguments->verb, "%s", error.text) : cli_fail(heap->path, &error);
    if (status == CLI_DONE)
        summarise(heap->path, &named, &missing);
    *is_new = named.named > 0;
    free((void *)(uintptr_t)naming.directories);
    cli_server_free(&server);
    return status;
}

static bool has_beside(const char *path, const char *ending)
{
    char *name = NULL;
    bool is_there = asprintf(&name, "%s%s", path, ending) > 0 && access(name, F_OK) == 0;
    free(name);
    return is_there;
}

/* Continues with the file at PATH. Indexes next to the old trace do not fit the new file, so they are made again. */
static int reopen(struct cli_heap *heap, const char *path)
{
    const char *before = heap->path;
    unsigned caches = (has_beside(before, ".idx") || has_beside(path, ".idx") ? SXT_TRACE_IDX : 0u) |
                      (has_beside(before, ".live") || has_beside(path, ".live") ? SXT_TRACE_LIVE : 0u);
    sxt_error error;
    bool root_first = heap->root_first;
    cli_heap_close(heap);
    int status = cli_heap_open(path, root_first, heap);
    if (status == CLI_DONE && caches != 0 && sxt_trace_save_caches(heap->trace, caches, &error) != SXT_OK)
        cli_warn(path, "%s", error.text);
    return status;
}

/* Why the file cannot keep the names; NULL if it can. */
static const char *obstacle(const struct cli_heap *heap)
{
    struct stat status;
    if (heap->info.is_cut_off)
        return "the recording was cut off";
    if (heap->info.is_compressed)
        return "it is compressed as a whole";
    if (strcmp(heap->path, "-") == 0 || stat(heap->path, &status) != 0 || !S_ISREG(status.st_mode))
        return "it is a stream";
    return NULL;
}

int cli_heap_symbolize(const struct cli_arguments *arguments, struct cli_heap *heap)
{
    const char *output = cli_value(arguments, "output");
    sxt_error error;
    bool is_new;
    int status = find_names(arguments, heap, &is_new);
    if (status != CLI_DONE || (output == NULL && !is_new))
        return status;
    if (output != NULL)
        return sxt_trace_save(heap->trace, output, &error) == SXT_OK ? reopen(heap, output) : cli_fail(output, &error);
    const char *why = obstacle(heap);
    if (why == NULL && sxt_trace_save(heap->trace, heap->path, &error) != SXT_OK)
        why = error.text;
    if (why == NULL)
        return reopen(heap, heap->path);
    cli_warn(heap->path, "not changed: %s; use -o FILE to keep the names", why);
    return CLI_DONE;
}
