/* trace.c: opening and analysing heap traces, and warnings about them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/inflate.h"
#include "cli/heap.h"
#include "cli/verbs.h"

/* --- files of any kind --- */

int cli_input_open(const char *path, const sxt_open_options *options, bool root_first, struct cli_input *out)
{
    sxt_error error;
    sxt_trace_options of_trace;
    sxt_trace_options_init(&of_trace);
    of_trace.root_first = root_first;
    bool is_stream = strcmp(path, "-") == 0;
    *out = (struct cli_input){0};
    sxt_file_from_memory(&out->stream, "", 0);
    int status = SXT_OK;
    /* A stream can be read only once. */
    if (is_stream)
        status = sxt_file_open(&out->stream, path, &error);
    if (status == SXT_OK)
        status = is_stream ? sxt_archive_open_memory(out->stream.data, out->stream.size, options, &out->archive, &error)
                           : sxt_archive_open_path(path, options, &out->archive, &error);
    if (status != SXT_OK && error.reason == SXT_REASON_HEAP_TRACE) {
        status = is_stream ? sxt_trace_open_memory(out->stream.data, out->stream.size, &of_trace, &out->trace, &error)
                           : sxt_trace_open_path(path, &of_trace, &out->trace, &error);
        if (status == SXT_OK)
            cli_warn_state(path, out->trace);
    }
    if (status == SXT_OK)
        return CLI_DONE;
    cli_input_close(out);
    return cli_fail(path, &error);
}

void cli_input_close(struct cli_input *input)
{
    sxt_archive_close(&input->archive);
    sxt_trace_close(&input->trace);
    sxt_file_close(&input->stream);
}

bool cli_is_trace(const char *file)
{
    char path[4096];
    uint8_t start[4096], magic[4] = {0};
    const char *at = strrchr(file, '@');
    bool is_moment = at != NULL && at != file && access(file, F_OK) != 0;
    size_t size = is_moment ? (size_t)(at - file) : strlen(file);
    if (size >= sizeof path || strcmp(file, "-") == 0)
        return false;
    memcpy(path, file, size);
    path[size] = 0;
    FILE *stream = fopen(path, "rbe");
    if (stream == NULL)
        return false;
    size = fread(start, 1, sizeof start, stream);
    fclose(stream);
    enum sxt_compression compression = sxt_compression_of(start, size);
    if (compression != SXT_COMPRESSION_NONE)
        size = sxt_inflate_start(compression, start, size, magic, sizeof magic);
    else
        memcpy(magic, start, size < sizeof magic ? size : sizeof magic);
    return size >= sizeof magic && memcmp(magic, "MTRC", sizeof magic) == 0;
}

void cli_warn_version(const char *path, uint32_t version)
{
    if (version > SXT_TRACE_VERSION)
        cli_warn(path, "version %u is newer than version %d; reading what that has", version, SXT_TRACE_VERSION);
}

void cli_warn_state(const char *path, const sxt_trace *trace)
{
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(trace, &info);
    cli_warn_version(path, info.version);
    if (info.is_cut_off)
        cli_warn(path, "the recording was cut off; reading what is complete "
                       "('sextant convert --recover' makes a complete trace from it)");
    if (info.stopped.data != NULL)
        cli_warn(path, "recording stopped before the program ended (%.*s); later events are missing",
                 (int)(info.stopped.size < 100 ? info.stopped.size : 100), info.stopped.data);
}

/* --- traces --- */

int cli_heap_open(const char *path, bool root_first, struct cli_heap *out)
{
    sxt_error error;
    sxt_trace_options options;
    sxt_trace_options_init(&options);
    options.root_first = root_first;
    *out = (struct cli_heap){.path = path,
                             .root_first = root_first,
                             .info.struct_size = sizeof out->info,
                             .summary.struct_size = sizeof out->summary};
    sxt_heap_options_init(&out->options);
    if (sxt_trace_open_path(path, &options, &out->trace, &error) != SXT_OK)
        return cli_fail(path, &error);
    sxt_trace_get_info(out->trace, &out->info);
    return CLI_DONE;
}

void cli_heap_close(struct cli_heap *heap)
{
    sxt_heap_usage_free(&heap->usage);
    sxt_trace_close(&heap->trace);
}

int cli_heap_analyse(struct cli_heap *heap)
{
    struct cli_progress progress = {.phase = "reading events"};
    sxt_error error;
    heap->options.progress = cli_progress_show;
    heap->options.progress_data = &progress;
    int status = sxt_trace_analyse(heap->trace, &heap->options, &heap->usage, &error);
    cli_progress_end(&progress);
    if (status != SXT_OK)
        return cli_fail(heap->path, &error) == CLI_NO && status == SXT_ERROR_USAGE ? CLI_USAGE : CLI_NO;
    sxt_heap_get_summary(heap->usage, &heap->summary);
    return CLI_DONE;
}

/* --- progress --- */

void cli_progress_show(void *progress, uint64_t done, uint64_t all)
{
    struct cli_progress *shown = progress;
    if (!shown->has_begun) {
        sxt_progress_open(&shown->bar, stderr, false);
        sxt_progress_phase(&shown->bar, shown->phase, all);
        shown->has_begun = true;
    }
    sxt_progress_advance(&shown->bar, done - shown->done);
    shown->done = done;
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->has_begun)
        sxt_progress_close(&progress->bar);
}

/* --- warnings --- */

static void warn_count(const char *path, uint64_t count, const char *one, const char *many)
{
    if (count > 0)
        cli_warn(path, "%s %s", cli_thousands((double)count).text, count == 1 ? one : many);
}

void cli_warn_oddities(const char *path, const sxt_trace_oddities *oddities)
{
    warn_count(path, oddities->dangling_stacks, "allocation has a stack that is not in the metadata",
               "allocations have a stack that is not in the metadata");
    warn_count(path, oddities->dangling_names, "marker has a name that is not in the metadata",
               "markers have a name that is not in the metadata");
    warn_count(path, oddities->zero_addresses, "event has the address 0", "events have the address 0");
    warn_count(path, oddities->unknown_types, "event is of an unknown type", "events are of unknown types");
}

/* Blocks that were left out. */
static void warn_damages(const struct cli_heap *heap)
{
    const sxt_heap_damage *damage;
    uint64_t blocks = 0;
    for (size_t i = 0; (damage = sxt_heap_get_damage(heap->usage, i)) != NULL; i++) {
        blocks += damage->blocks;
        if (damage->blocks == 0)
            cli_warn(heap->path, "%s (offset 0x%" PRIx64 "); the figures may be wrong", damage->text, damage->offset);
        else if (damage->blocks > 1)
            cli_warn(heap->path,
                     "blocks %" PRIu64 " to %" PRIu64 " are damaged: %s; %s event%s lost (offset 0x%" PRIx64 ")",
                     damage->block, damage->block + damage->blocks - 1, damage->text,
                     cli_thousands((double)damage->events).text, damage->events == 1 ? " is" : "s are", damage->offset);
        else
            cli_warn(heap->path, "block %" PRIu64 " is damaged: %s; %s event%s lost (offset 0x%" PRIx64 ")",
                     damage->block, damage->text, cli_thousands((double)damage->events).text,
                     damage->events == 1 ? " is" : "s are", damage->offset);
    }
    if (blocks < heap->summary.damaged_blocks)
        warn_count(heap->path, heap->summary.damaged_blocks - blocks, "more block is damaged",
                   "more blocks are damaged");
}

int cli_heap_suppress(const struct cli_arguments *arguments, struct cli_heap *heap, bool with_known)
{
    sxt_error error;
    const char *path;
    for (size_t i = 0; (path = cli_value_at(arguments, "suppressions", i)) != NULL; i++) {
        struct sxt_file file;
        int status = sxt_file_open(&file, path, &error);
        if (status == SXT_OK)
            status = sxt_heap_suppress(heap->usage, (sxt_string){(const char *)file.data, file.size}, &error);
        sxt_file_close(&file);
        if (status != SXT_OK)
            return cli_fail(path, &error);
    }
    with_known = with_known && !cli_given(arguments, "no-default-suppressions");
    if (with_known && sxt_heap_suppress_known(heap->usage, &error) != SXT_OK)
        return cli_fail(heap->path, &error);
    sxt_heap_get_summary(heap->usage, &heap->summary);
    return CLI_DONE;
}

int cli_heap_warn(const struct cli_heap *heap)
{
    const sxt_heap_summary *summary = &heap->summary;
    warn_count(heap->path, summary->dangling_stacks, "allocation has a stack that is not in the metadata",
               "allocations have stacks that are not in the metadata");
    if (summary->dangling_names > 0 && summary->markers > SXT_HEAP_MARKERS_MOST)
        cli_warn(heap->path, "at least %s marker%s not in the metadata",
                 cli_thousands((double)summary->dangling_names).text,
                 summary->dangling_names == 1 ? " has a name that is" : "s have names that are");
    else
        warn_count(heap->path, summary->dangling_names, "marker has a name that is not in the metadata",
                   "markers have names that are not in the metadata");
    warn_count(heap->path, summary->unknown_events, "event is of an unknown type", "events are of unknown types");
    warn_count(heap->path, summary->zero_addresses, "event has the address 0, so its block cannot be identified",
               "events have the address 0, so their blocks cannot be identified");
    if (summary->is_saturated)
        cli_warn(heap->path, "sizes add up to more than 64 bits can hold; sums stop there");
    warn_count(heap->path, heap->info.dropped, "event was lost while recording", "events were lost while recording");
    warn_damages(heap);
    if (!summary->is_damaged)
        return CLI_DONE;
    if (summary->events == 1)
        return cli_fail_text(heap->path, "only the first event can be read: %s", summary->damage);
    return cli_fail_text(heap->path, "only the first %s events can be read: %s",
                         cli_thousands((double)summary->events).text, summary->damage);
}
