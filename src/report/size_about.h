/* size_about.h: what a page about sizes is about, and its table of inlined functions. */
#ifndef SXT_REPORT_SIZE_ABOUT_H
#define SXT_REPORT_SIZE_ABOUT_H

#include "base/json_writer.h"
#include "report/columns.h"
#include "report/report.h"

/* Members of the page's JSON object. */
int sxt_page_write_about(struct sxt_json_writer *json, const struct sxt_page_sizes *sizes, sxt_error *error);

/* Columns: own bytes, bytes with what is inlined into the function, places; then the lists of names and of files. */
void sxt_page_write_inlined(const sxt_inlined_list *list, struct sxt_buffer *table);

#endif
