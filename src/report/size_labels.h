/*
 * size_labels.h: short names and namespaces of symbols, for pages.
 *
 * Most follow from the stored name by a simple rule, which web/src/size/names.ts has too. Only what differs from that
 * is stored. The rule:
 *   - "vtable for X", "guard variable for X" and the like become "X [vtable]";
 *   - what is between '<' and '>', the parameters, the return type, "(anonymous namespace)::" and "[abi:...]" are left
 *     out; what comes after the parameters (" const") is kept;
 *   - the namespace is what is before the last "::" outside of brackets.
 *
 *     column of short names    0: by the rule, 1: the stored name, n + 2: text n of the first list
 *     column of namespaces     0: by the rule, n + 1: text n of the second list
 *     list of short names, list of namespaces
 */
#ifndef SXT_REPORT_SIZE_LABELS_H
#define SXT_REPORT_SIZE_LABELS_H

#include "base/buffer.h"
#include "size/query.h"

/* Memory for names; each part is a buffer. */
struct sxt_page_name_room {
    struct sxt_buffer first, second, out;
};

/* The short name by the rule; it is in ROOM. The namespace is a part of the short name. */
sxt_string sxt_page_short_name(sxt_string stored, struct sxt_page_name_room *room);
sxt_string sxt_page_namespace(sxt_string short_name);

/* MORE rows that are not symbols follow; their names are as stored. */
int sxt_page_write_labels(const struct sxt_size_query_subject *subject, const bool *is_left_out, size_t more,
                          struct sxt_buffer *table, sxt_error *error);

#endif
