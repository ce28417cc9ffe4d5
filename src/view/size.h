/* size.h: what the page of a size file asks for. Private to size*.c of this room. */
#ifndef SXT_VIEW_SIZE_H
#define SXT_VIEW_SIZE_H

#include "view/kind.h"

/*
 * data/search?text=TEXT&below=N: how many symbols of less than N bytes have TEXT in their name or their paths, in any
 * case of ASCII letters, and the largest of them.
 */
int sxt_view_size_search(const sxt_size_info *info, const struct sxt_view_query *query, struct sxt_view_reply *reply,
                         sxt_error *error);

#endif
