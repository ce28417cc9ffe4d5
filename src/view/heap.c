/* heap.c: heap traces. */
#include "view/heap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "view/live.h"
#include "view/server.h"

#define ENTRIES_MOST ((size_t)1 << 17) /* of bins */

static bool recognises(const char *path, sxt_kind kind)
{
    (void)path;
    return kind == SXT_KIND_TRACE;
}

/* A spool (".part") that is gone has become the trace that it is named after. */
static char *find_path(const char *path)
{
    const char *suffix = strstr(sxt_view_last_part(path), ".part");
    bool is_gone = access(path, F_OK) != 0 && suffix != NULL;
    return is_gone ? strndup(path, (size_t)(suffix - path)) : strdup(path);
}

static int open_now(struct sxt_view_item *item, sxt_error *error)
{
    struct sxt_view_heap *heap = item->state;
    sxt_trace_options options;
    sxt_trace_options_init(&options);
    if (item->options->inflate_limit > 0)
        options.inflate_limit = item->options->inflate_limit;
    char *path = find_path(item->path);
    int status = path != NULL ? sxt_trace_open_path(path, &options, &heap->trace, error)
                              : sxt_fail_memory(error, strlen(item->path));
    free(path);
    if (status != SXT_OK)
        return status;
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(heap->trace, &info);
    if (info.is_cut_off)
        sxt_view_warn(item, "the recording was cut off; it is shown as far as it is complete");
    return SXT_OK;
}

/* A recording that is running has another page; its trace is opened when it has ended. */
static int open_trace(struct sxt_view_item *item, sxt_error *error)
{
    item->state = calloc(1, sizeof(struct sxt_view_heap));
    if (item->state == NULL)
        return sxt_fail_memory(error, sizeof(struct sxt_view_heap));
    return sxt_view_is_running(item->path) ? SXT_OK : open_now(item, error);
}

static int open_ended(struct sxt_view_item *item, sxt_error *error)
{
    const struct sxt_view_heap *heap = item->state;
    if (heap->trace != NULL)
        return SXT_OK;
    return sxt_view_is_running(item->path) ? sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                                                      "the recording is still running: its live page shows it")
                                           : open_now(item, error);
}

static void close_trace(struct sxt_view_item *item)
{
    struct sxt_view_heap *heap = item->state;
    if (heap == NULL)
        return;
    sxt_view_heap_forget(heap);
    sxt_heap_kept_free(&heap->kept);
    sxt_trace_close(&heap->trace);
    free(heap);
    item->state = NULL;
}

struct sxt_page_heap sxt_view_heap_about(struct sxt_view_item *item)
{
    const struct sxt_view_heap *heap = item->state;
    return (struct sxt_page_heap){
        .trace = heap->trace,
        .name = item->name,
        .with_sources = item->options->with_sources,
        .entry_most = ENTRIES_MOST,
        .progress = sxt_view_progress,
        .progress_data = item,
    };
}

static int make(struct sxt_view_item *item, struct sxt_page *page, sxt_error *error)
{
    struct sxt_view_heap *heap = item->state;
    int status = open_ended(item, error);
    if (status != SXT_OK)
        return status;
    struct sxt_page_heap about = sxt_view_heap_about(item);
    about.kept = &heap->kept;
    return sxt_page_make_heap(page, &about, error);
}

static int compare(struct sxt_view_item *before, struct sxt_view_item *after, struct sxt_page *page, sxt_error *error)
{
    const struct sxt_view_heap *sides[2] = {before->state, after->state};
    int status = open_ended(before, error);
    if (status == SXT_OK)
        status = open_ended(after, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_page_heap_diff traces = {
        .before = sides[0]->trace,
        .after = sides[1]->trace,
        .name = after->name,
        .before_name = before->name,
    };
    return sxt_page_make_heap_diff(page, &traces, error);
}

static int answer(struct sxt_view_item *item, const char *name, const struct sxt_view_query *query,
                  struct sxt_view_reply *reply, sxt_error *error)
{
    const struct sxt_view_heap *heap = item->state;
    if (strcmp(name, "address") == 0 && heap->trace != NULL)
        return sxt_view_heap_address(heap->trace, query, reply, error);
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
    .choose = sxt_view_heap_choose,
    .answer = answer,
};
