/* trace.c: opening a heap trace, and what there is to say about it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/inflate.h"
#include "base/output.h"
#include "cli/heap.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "trace/trace.h"

#define INFLATE_LIMIT ((uint64_t)16 << 30)

int cli_trace_open(const char *path, struct cli_trace *out)
{
    sxt_error error;
    *out = (struct cli_trace){.path = path};
    int status = sxt_file_open(&out->file, path, &error);
    if (status == SXT_OK) {
        out->is_packed = sxt_compression_of(out->file.data, out->file.size) != SXT_COMPRESSION_NONE;
        status = sxt_file_inflate(&out->file, INFLATE_LIMIT, &error);
    }
    if (status == SXT_OK && !sxt_mlyze_is(out->file.data, out->file.size))
        return cli_fail_text(path, "this is no heap trace (.mlyze)");
    if (status == SXT_OK)
        status = sxt_trace_take_cut(path, &out->file, &out->is_cut, &error);
    if (status == SXT_OK)
        status = sxt_mlyze_open(out->file.data, out->file.size, &out->mlyze, &error);
    return status == SXT_OK ? CLI_DONE : cli_fail(path, &error);
}

void cli_warn_cut(const char *file)
{
    cli_warn(file, "its recording did not end; it is read as far as it goes "
                   "('sextant convert --recover' makes it whole)");
}

void cli_trace_close(struct cli_trace *trace)
{
    sxt_mlyze_close(&trace->mlyze);
    sxt_file_close(&trace->file);
}

/* Pages of a mapped file that were read count as memory of this process, unless they are given back. */
static void pass(void *context, uint64_t offset)
{
    struct cli_trace *trace = context;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = offset / page * page;
    sxt_progress_advance(&trace->progress, offset - trace->passed);
    if (trace->file.owner == SXT_FILE_MAPPED && end <= trace->file.size) {
        uint64_t start = trace->passed / page * page;
        void *from = (void *)(uintptr_t)(trace->file.data + start);
        if ((uintptr_t)from % page == 0)
            (void)madvise(from, end - start, MADV_DONTNEED);
    }
    trace->passed = offset;
}

int cli_trace_run(struct cli_trace *trace, struct sxt_heap_options *options, struct sxt_heap_usage *out)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(trace->mlyze);
    sxt_error error;
    trace->passed = header->events_offset;
    options->passed = pass;
    options->context = trace;
    sxt_progress_open(&trace->progress, stderr, false);
    sxt_progress_phase(&trace->progress, "reading events", trace->file.size - header->events_offset);
    int status = sxt_heap_run(trace->mlyze, options, out, &error);
    sxt_progress_close(&trace->progress);
    return status == SXT_OK ? CLI_DONE : cli_fail(trace->path, &error);
}

/* It begins when names were looked up, of which warnings come. */
void cli_show_finishing(void *finishing, uint64_t done, uint64_t all)
{
    struct cli_finishing *shown = finishing;
    if (!shown->has_begun) {
        sxt_progress_open(&shown->bar, stderr, false);
        sxt_progress_phase(&shown->bar, "finishing", all);
        shown->has_begun = true;
    }
    sxt_progress_advance(&shown->bar, done - shown->done);
    shown->done = done;
}

void cli_end_finishing(struct cli_finishing *finishing)
{
    if (finishing->has_begun)
        sxt_progress_close(&finishing->bar);
}

/* "FILE.live", to be freed; NULL when memory is short or FILE is a stream. */
static char *states_path(const char *path)
{
    char *name = NULL;
    if (strcmp(path, "-") == 0 || asprintf(&name, "%s.live", path) < 0)
        return NULL;
    return name;
}

bool cli_trace_ask(struct cli_trace *trace, uint64_t time, struct sxt_heap_usage *out)
{
    char *name = states_path(trace->path);
    struct sxt_file file;
    if (name == NULL || sxt_file_open(&file, name, NULL) != SXT_OK) {
        free(name);
        return false;
    }
    bool found = sxt_heap_states_ask(trace->mlyze, file.data, file.size, time, out, NULL) == SXT_OK;
    sxt_file_close(&file);
    free(name);
    return found;
}

int cli_trace_save_states(const char *path)
{
    struct cli_trace trace;
    struct sxt_trace *indexed = NULL;
    const struct sxt_mlyze_index *index;
    struct sxt_buffer bytes;
    sxt_error error;
    char *name = states_path(path);
    int status = name == NULL ? cli_fail_text(path, "there is no file to write beside it") : CLI_DONE;
    sxt_buffer_init(&bytes, PTRDIFF_MAX);
    if (status == CLI_DONE) {
        status = cli_trace_open(path, &trace);
        if (status == CLI_DONE && trace.is_cut)
            status = cli_fail_text(path, "there can be no index of a recording that did not end");
        if (status == CLI_DONE &&
            (sxt_trace_open(path, &indexed, &error) != SXT_OK || sxt_trace_index(indexed, &index, &error) != SXT_OK ||
             sxt_heap_states_make(trace.mlyze, index, SXT_HEAP_STATE_DISTANCE, &bytes, &error) != SXT_OK))
            status = cli_fail(path, &error);
        if (status == CLI_DONE && sxt_output_save(name, bytes.data, bytes.size, &error) != SXT_OK)
            status = cli_fail(name, &error);
        sxt_trace_close(&indexed);
        cli_trace_close(&trace);
    }
    sxt_buffer_free(&bytes);
    free(name);
    return status;
}

/* Of the markers that were kept. */
static uint64_t count_nameless(const struct sxt_heap_usage *usage)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    uint64_t nameless = 0;
    for (size_t i = 0; i < usage->marker_count; i++) {
        uint32_t name = usage->markers[i].name;
        nameless += name >= metadata->function_count || metadata->functions[name].data == NULL;
    }
    return nameless;
}

static void warn_count(const struct cli_trace *trace, uint64_t count, const char *one, const char *many)
{
    if (count > 0)
        cli_warn(trace->path, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

int cli_trace_warn(const struct cli_trace *trace, const struct sxt_heap_usage *usage)
{
    warn_count(trace, usage->dangling, "allocation names a stack that the metadata does not have",
               "allocations name stacks that the metadata does not have");
    uint64_t nameless = count_nameless(usage);
    if (nameless > 0 && usage->all_markers > usage->marker_count)
        cli_warn(trace->path, "at least %" PRIu64 " markers have names that the metadata does not have", nameless);
    else
        warn_count(trace, nameless, "marker has a name that the metadata does not have",
                   "markers have names that the metadata does not have");
    warn_count(trace, usage->others, "event is of a type that is not known here",
               "events are of types that are not known here");
    warn_count(trace, usage->zero_addresses, "event has address 0, so blocks cannot be told apart",
               "events have address 0, so blocks cannot be told apart");
    if (usage->is_cut)
        cli_warn(trace->path, "sizes add up to more than 64 bits hold; sums stop there");
    warn_count(trace, sxt_mlyze_header(trace->mlyze)->dropped, "event was lost while recording",
               "events were lost while recording");
    if (!usage->is_damaged)
        return CLI_DONE;
    if (usage->events == 1)
        return cli_fail_text(trace->path, "only the first event can be read: %s", usage->damage.text);
    return cli_fail_text(trace->path, "only the first %" PRIu64 " events can be read: %s", usage->events,
                         usage->damage.text);
}
