/* heap_window.c: a window of a heap trace in bins of its own, which is made when it is first looked at. */
#include <stdlib.h>

#include "base/error.h"
#include "view/heap.h"

#define EFFORT_MOST (2 * (uint64_t)SXT_HEAP_FINE_EVENTS) /* events and blocks that are read for a window */

void sxt_view_heap_forget(struct sxt_view_heap *heap)
{
    for (size_t i = 0; i < SXT_VIEW_HEAP_WINDOWS; i++)
        if (heap->windows[i].is_made)
            sxt_page_free(&heap->windows[i].page);
}

/* The window if it was made before, or the place of the one that was used least recently. */
static struct sxt_view_heap_window *find_window(struct sxt_view_heap *heap, uint64_t from, uint64_t until)
{
    struct sxt_view_heap_window *oldest = &heap->windows[0];
    for (size_t i = 0; i < SXT_VIEW_HEAP_WINDOWS; i++) {
        struct sxt_view_heap_window *window = &heap->windows[i];
        if (window->is_made && window->from == from && window->until == until)
            return window;
        if (window->used < oldest->used)
            oldest = window;
    }
    return oldest;
}

static int make_window(struct sxt_view_item *item, struct sxt_view_heap_window *window, uint64_t from, uint64_t until,
                       sxt_error *error)
{
    struct sxt_view_heap *heap = item->state;
    const struct sxt_page_heap about = sxt_view_heap_about(item);
    if (window->is_made)
        sxt_page_free(&window->page);
    *window = (struct sxt_view_heap_window){.from = from, .until = until};
    sxt_page_begin_data(&window->page);
    int status = sxt_page_make_heap_window(&window->page, &about, heap->kept, from, until, error);
    if (status == SXT_OK)
        status = sxt_page_end(&window->page, error);
    if (status != SXT_OK)
        sxt_page_free(&window->page);
    window->is_made = status == SXT_OK;
    return status;
}

int sxt_view_heap_choose(struct sxt_view_item *item, const struct sxt_view_query *query, const struct sxt_page **page,
                         struct sxt_view_reply *reply, sxt_error *error)
{
    struct sxt_view_heap *heap = item->state;
    uint64_t from, until;
    *page = NULL;
    if (sxt_view_query_get(query, "from") == NULL && sxt_view_query_get(query, "until") == NULL)
        return SXT_OK;
    if (!sxt_view_query_number(query, "from", &from) || !sxt_view_query_number(query, "until", &until) ||
        until < from || heap->kept == NULL) {
        reply->status = 400;
        sxt_buffer_print(&reply->body, "from and until are microseconds since 1970");
        return SXT_OK;
    }
    if (sxt_heap_kept_effort(heap->kept, from, until) > EFFORT_MOST) {
        reply->status = 400;
        sxt_buffer_print(&reply->body, "this window has too many events for finer bins; choose a shorter one");
        return SXT_OK;
    }
    struct sxt_view_heap_window *window = find_window(heap, from, until);
    bool is_found = window->is_made && window->from == from && window->until == until;
    int status = is_found ? SXT_OK : make_window(item, window, from, until, error);
    window->used = ++heap->uses;
    *page = &window->page;
    return status;
}
