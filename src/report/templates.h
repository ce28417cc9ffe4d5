/* templates.h: the templates of pages, which the build makes from web/. */
#ifndef SXT_REPORT_TEMPLATES_H
#define SXT_REPORT_TEMPLATES_H

#include <stddef.h>

#include "report/report.h"

/* gzip data; the size is 0 for a template that was left out. */
struct sxt_page_template {
    const unsigned char *data;
    size_t size;
};

extern const struct sxt_page_template sxt_page_templates[SXT_PAGE_KINDS];

#endif
