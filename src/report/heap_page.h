/* heap_page.h: the parts of the page of a heap trace. */
#ifndef SXT_REPORT_HEAP_PAGE_H
#define SXT_REPORT_HEAP_PAGE_H

#include "base/json_writer.h"
#include "mlyze/analysis.h"
#include "report/heap_fold.h"
#include "report/report.h"

/* The totals of an analysis as an object: the figures that `heap --json` prints, each as text, for they have 64 bits.
 */
void sxt_heap_page_write_totals(struct sxt_json_writer *json, const char *key, const sxt_heap_usage *usage,
                                const sxt_trace *trace);

/* --- heap_bins.c: blocks "bins", "entries" and "timeline" --- */

int sxt_heap_page_add_bins(struct sxt_page *page, const struct sxt_heap_bins *bins, const struct sxt_heap_fold *fold,
                           sxt_error *error);
/* Block "before": of each row, bytes and blocks that were live when the window began. */
int sxt_heap_page_add_before(struct sxt_page *page, const struct sxt_heap_bins *bins, sxt_error *error);
int sxt_heap_page_add_timeline(struct sxt_page *page, const sxt_heap_usage *usage, sxt_error *error);

/* --- heap_sources.c: block "sources", the lines around the frames of a tree, as far as their files are here --- */

int sxt_heap_page_add_sources(struct sxt_page *page, const struct sxt_heap_calls *calls, sxt_error *error);

/* --- heap_addresses.c: the history of addresses --- */

/* Writes "addresses", and adds the stacks that allocated to CALLS. */
int sxt_heap_page_write_addresses(struct sxt_json_writer *json, struct sxt_heap_calls *calls,
                                  const struct sxt_page_heap *heap, sxt_error *error);

#endif
