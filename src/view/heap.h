/* heap.h: what the page of a heap trace asks for. Private to heap*.c of this room. */
#ifndef SXT_VIEW_HEAP_H
#define SXT_VIEW_HEAP_H

#include <sextant/trace_view.h>

#include "view/kind.h"

#define SXT_VIEW_HEAP_WINDOWS 4 /* that are kept */

struct sxt_view_heap_window {
    struct sxt_page page;
    bool is_made;
    uint64_t from, until, used;
};

/* The state of an item. */
struct sxt_view_heap {
    sxt_trace *trace;
    struct sxt_heap_kept *kept; /* once the page was made */
    struct sxt_view_heap_window windows[SXT_VIEW_HEAP_WINDOWS];
    uint64_t uses;
};

/* What pages of the trace are made from. */
struct sxt_page_heap sxt_view_heap_about(struct sxt_view_item *item);

/* --- heap_window.c: ?from=MICROSECONDS&until=MICROSECONDS --- */

/* As `choose` of a kind. */
int sxt_view_heap_choose(struct sxt_view_item *item, const struct sxt_view_query *query, const struct sxt_page **page,
                         struct sxt_view_reply *reply, sxt_error *error);
void sxt_view_heap_forget(struct sxt_view_heap *heap);

/* --- heap_address.c: data/address?address=0x...: the history of an address --- */

int sxt_view_heap_address(const sxt_trace *trace, const struct sxt_view_query *query, struct sxt_view_reply *reply,
                          sxt_error *error);

#endif
