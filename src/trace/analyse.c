/* analyse.c: analyses of an open trace, with little of the file in memory at a time. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "trace/trace.h"

void sxt_heap_options_init(sxt_heap_options *options)
{
    *options = (sxt_heap_options){.struct_size = sizeof *options};
}

void sxt_trace_parse_moment(const sxt_trace *trace, const char *text, sxt_heap_moment *out)
{
    *out = sxt_heap_moment_of(text, sxt_mlyze_header(trace->mlyze)->start_us);
}

/* A pass over the file. */
struct reading {
    const struct sxt_file *file;
    const sxt_heap_options *options;
    uint64_t first;  /* offset of the first event */
    uint64_t passed; /* bytes that are not needed any more */
};

/* Pages of a mapped file that were read count as memory of this process, unless they are given back. */
static void pass(void *data, uint64_t offset)
{
    struct reading *reading = data;
    const struct sxt_file *file = reading->file;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = offset / page * page;
    if (reading->options->progress != NULL)
        reading->options->progress(reading->options->progress_data, offset - reading->first,
                                   file->size - reading->first);
    if (file->owner == SXT_FILE_MAPPED && end <= file->size) {
        uint64_t start = reading->passed / page * page;
        void *from = (void *)(uintptr_t)(file->data + start);
        if ((uintptr_t)from % page == 0)
            (void)madvise(from, end - start, MADV_DONTNEED);
    }
    reading->passed = offset;
}

/* Whether FILE.live may have the answer. */
static bool is_quick(const sxt_trace *trace, const sxt_heap_options *options)
{
    return options->only_live && options->from.kind == SXT_HEAP_MOMENT_NONE &&
           options->to.kind == SXT_HEAP_MOMENT_TIME && !options->by_thread && !options->by_size &&
           options->filter == NULL && options->depth == 0 &&
           (sxt_mlyze_header(trace->mlyze)->flags & SXT_MLYZE_SAMPLED) == 0;
}

/* What depends on when processes end, from the trace that knows it. */
static int take_peaks(const sxt_trace *trace, const sxt_heap_options *options, sxt_heap_usage *usage, sxt_error *error)
{
    sxt_heap_usage ended;
    int status = sxt_heap_run(trace->ended, options, &ended, error);
    if (status == SXT_OK) {
        sxt_heap_take_peaks(usage, &ended);
        sxt_heap_free(&ended);
    } else {
        sxt_heap_free(usage);
    }
    return status;
}

static int analyse(const sxt_trace *trace, const sxt_heap_options *given, const bool *threads,
                   const struct sxt_heap_watcher *more, sxt_heap_usage **out, sxt_error *error)
{
    sxt_heap_options options;
    *out = NULL;
    sxt_heap_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_heap_options_init", error);
    if (status != SXT_OK)
        return status;
    sxt_heap_usage *usage = calloc(1, sizeof *usage);
    if (usage == NULL)
        return sxt_fail_memory(error, sizeof *usage);
    if (!is_quick(trace, &options) || !sxt_trace_ask_live(trace, options.to.time, usage)) {
        uint64_t first = sxt_mlyze_header(trace->mlyze)->events_offset;
        struct reading reading = {
            .file = trace->is_cut_off ? &trace->whole : &trace->file,
            .options = &options,
            .first = first,
            .passed = first,
        };
        struct sxt_heap_watcher watcher = more != NULL ? *more : (struct sxt_heap_watcher){.bins = NULL};
        watcher.passed = pass;
        watcher.data = &reading;
        status = sxt_heap_run_watched(trace->mlyze, &options, threads, &watcher, usage, error);
    }
    if (status == SXT_OK && trace->ended != NULL)
        status = take_peaks(trace, &options, usage, error);
    if (status == SXT_OK)
        *out = usage;
    else
        free(usage);
    return status;
}

int sxt_trace_analyse_threads(const sxt_trace *trace, const sxt_heap_options *options, const bool *threads,
                              sxt_heap_usage **out, sxt_error *error)
{
    return analyse(trace, options, threads, NULL, out, error);
}

int sxt_trace_analyse_bins(const sxt_trace *trace, const sxt_heap_options *options, struct sxt_heap_bins *bins,
                           sxt_heap_usage **out, sxt_error *error)
{
    const struct sxt_heap_watcher watcher = {.bins = bins};
    return analyse(trace, options, NULL, &watcher, out, error);
}

int sxt_trace_analyse_watched(const sxt_trace *trace, const sxt_heap_options *options,
                              const struct sxt_heap_watcher *more, sxt_heap_usage **out, sxt_error *error)
{
    return analyse(trace, options, NULL, more, out, error);
}

int sxt_trace_analyse(const sxt_trace *trace, const sxt_heap_options *options, sxt_heap_usage **out, sxt_error *error)
{
    return sxt_trace_analyse_threads(trace, options, NULL, out, error);
}

void sxt_heap_usage_free(sxt_heap_usage **usage)
{
    if (*usage == NULL)
        return;
    sxt_heap_free(*usage);
    free(*usage);
    *usage = NULL;
}
