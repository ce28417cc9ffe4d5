/*
 * query.h: questions about sizes in a small language, which docs/query.md explains.
 *
 *     section:.text and size>=1k and not path~^third_party/ | group path:2 | sort size desc | limit 20
 *     ──────────────────── a filter ───────────────────────   ─────── stages, in this order ───────
 *
 * A query is about the symbols of a file, or about the pairs of a diff: both are items here. A query can only choose
 * and count, and its cost is bounded when it is parsed.
 */
#ifndef SXT_SIZE_QUERY_H
#define SXT_SIZE_QUERY_H

#include <regex.h>

#include "base/strings.h"
#include "size/size.h"

#define SXT_SIZE_QUERY_KEYS 4 /* that one query may group by */

/* Queries that have a name: "@templates". The list ends with name == NULL. */
extern const struct sxt_size_canned_query sxt_size_canned_queries[];

/* What is asked: SIZE, or DELTA when it is not NULL. */
struct sxt_size_query_subject {
    const struct sxt_size_info *size;
    const struct sxt_size_delta *delta;
};

/* A symbol, a pair of a diff, or the padding of a section of a diff taken together. Sizes of a diff are changes. */
struct sxt_size_query_item {
    const struct sxt_size_info *owner;          /* the symbol is one of its symbols */
    const struct sxt_size_model_symbol *symbol; /* the later one of a pair; NULL for padding that was taken together */
    sxt_string container, section, full_name;
    int64_t size, padding; /* size includes padding unless the symbol is one of a pair */
    double pss;
    uint32_t aliases;
    bool is_bss;    /* not in totals */
    uint8_t status; /* an sxt_size_status; unchanged where there is no diff */
};

size_t sxt_size_query_item_count(const struct sxt_size_query_subject *subject);
void sxt_size_query_get_item(const struct sxt_size_query_subject *subject, size_t index,
                             struct sxt_size_query_item *out);

/* An item, or a group of items: one symbol of each list of aliases is in its size, and all are in its pss. */
struct sxt_size_result_row {
    double pss;
    int64_t size, padding;
    uint64_t count; /* items */
    uint32_t item;  /* the item; of a group, its first one */
    uint8_t status; /* the one that all have, or changed */
    uint32_t labels[SXT_SIZE_QUERY_KEYS];
};

struct sxt_size_result {
    const char *keys[SXT_SIZE_QUERY_KEYS]; /* what it is grouped by; all NULL when it is not */
    size_t key_count;
    struct sxt_size_result_row *rows;
    size_t row_count;
    size_t all_rows;                  /* before the limit */
    struct sxt_size_result_row total; /* of all rows, before the limit */
    struct sxt_strings texts;         /* of labels */
};

int sxt_size_query_run(const struct sxt_size_query *query, const struct sxt_size_query_subject *subject,
                       struct sxt_size_result *out, sxt_error *error);
void sxt_size_result_clear(struct sxt_size_result *result);

/* Is called with the label of item INDEX, empty for none; false ends it for want of memory. */
typedef bool sxt_size_visit_label(void *data, size_t index, sxt_string label);

/* What each item is grouped under; KEY_NAME is a word of docs/query.md ("namespace"). */
int sxt_size_query_visit_labels(const struct sxt_size_query_subject *subject, const char *key_name,
                                sxt_size_visit_label *visit, void *data, sxt_error *error);

/* What key KEY of a group is. */
sxt_string sxt_size_row_label(const struct sxt_size_result *result, const struct sxt_size_result_row *row, size_t key);

/* --- regular expressions whose cost is bounded --- */

/* POSIX extended ones. "(?i)" at the beginning ignores case. ERROR's text has no column yet. */
int sxt_size_query_compile_pattern(sxt_string text, regex_t *out, sxt_error *error);
bool sxt_size_query_matches(const regex_t *pattern, sxt_string text);

#endif
