/* heap.c: heap traces. */
#include "view/heap.h"

#include <string.h>

#define ENTRIES_MOST ((size_t)1 << 17) /* of bins */

static bool recognises(const char *path, sxt_kind kind)
{
    (void)path;
    return kind == SXT_KIND_TRACE;
}

static int open_trace(struct sxt_view_item *item, sxt_error *error)
{
    sxt_trace_options options;
    sxt_trace *trace = NULL;
    sxt_trace_options_init(&options);
    if (item->options->inflate_limit > 0)
        options.inflate_limit = item->options->inflate_limit;
    int status = sxt_trace_open_path(item->path, &options, &trace, error);
    item->state = trace;
    if (status != SXT_OK)
        return status;
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(trace, &info);
    if (info.is_cut_off)
        sxt_view_warn(item, "the recording was cut off; it is shown as far as it is complete");
    return SXT_OK;
}

static void close_trace(struct sxt_view_item *item)
{
    sxt_trace *trace = item->state;
    sxt_trace_close(&trace);
    item->state = NULL;
}

static int make(struct sxt_view_item *item, struct sxt_page *page, sxt_error *error)
{
    const struct sxt_page_heap heap = {
        .trace = item->state,
        .name = item->name,
        .with_sources = item->options->with_sources,
        .entry_most = ENTRIES_MOST,
        .progress = sxt_view_progress,
        .progress_data = item,
    };
    return sxt_page_make_heap(page, &heap, error);
}

static int compare(struct sxt_view_item *before, struct sxt_view_item *after, struct sxt_page *page, sxt_error *error)
{
    const struct sxt_page_heap_diff traces = {
        .before = before->state,
        .after = after->state,
        .name = after->name,
        .before_name = before->name,
    };
    return sxt_page_make_heap_diff(page, &traces, error);
}

static int answer(struct sxt_view_item *item, const char *name, const struct sxt_view_query *query,
                  struct sxt_view_reply *reply, sxt_error *error)
{
    if (strcmp(name, "address") == 0)
        return sxt_view_heap_address(item->state, query, reply, error);
    reply->status = 404;
    return SXT_OK;
}

const struct sxt_view_kind sxt_view_heap = {
    .name = "heap trace",
    .title = "Heap",
    .template = SXT_PAGE_HEAP,
    .recognises = recognises,
    .open = open_trace,
    .close = close_trace,
    .make = make,
    .compare = compare,
    .answer = answer,
};
