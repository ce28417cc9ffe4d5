/*
 * size_labels.h: short names and namespaces of symbols, for pages.
 *
 * Most follow from the stored name by a simple rule, which web/src/size/names.ts has too: up to the first '(' outside
 * of
 * '<' and '>', and without what is between these, the name is the short one; up to its last "::" it is the namespace.
 * Only what differs from that is stored.
 *
 *     column of short names    0: by the rule, 1: the stored name, n + 2: text n of the first list
 *     column of namespaces     0: by the rule, n + 1: text n of the second list
 *     list of short names, list of namespaces
 */
#ifndef SXT_REPORT_SIZE_LABELS_H
#define SXT_REPORT_SIZE_LABELS_H

#include "size/query.h"

int sxt_page_write_labels(const struct sxt_size_query_subject *subject, const bool *is_left_out,
                          struct sxt_buffer *table, sxt_error *error);

#endif
