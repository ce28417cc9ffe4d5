/* heap.h: what the page of a heap trace asks for. Private to heap*.c of this room. */
#ifndef SXT_VIEW_HEAP_H
#define SXT_VIEW_HEAP_H

#include <sextant/trace_view.h>

#include "view/kind.h"

/* data/address?address=0x...: the history of an address. */
int sxt_view_heap_address(const sxt_trace *trace, const struct sxt_view_query *query, struct sxt_view_reply *reply,
                          sxt_error *error);

#endif
