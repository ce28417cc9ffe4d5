/* pages.h: HTML for browsers: the page of the service, the form for a key, failures. Private to this room. */
#ifndef SXT_SERVICE_PAGES_H
#define SXT_SERVICE_PAGES_H

#include "report/report.h"
#include "service/request.h"

struct sxt_pages;

/* Reads the templates. A program that was built without them has none, which is not a failure. */
int sxt_pages_open(struct sxt_pages **out, sxt_error *error);
void sxt_pages_close(struct sxt_pages **pages);

/* Changes with the templates and with the program; NULL without templates. */
const char *sxt_pages_version(const struct sxt_pages *pages);

/* The headers of a page made from the template KIND: nothing that it does not bring along can run in it. */
void sxt_pages_add_headers(struct sxt_request *request, enum sxt_page_kind kind);

/* Is it a browser that shows what it gets? */
bool sxt_request_wants_html(const struct sxt_request *request);

/* A page of plain HTML, with a form for a key if HAS_FORM. TITLE is HTML, TEXT is not. */
void sxt_pages_reply_html(struct sxt_request *request, unsigned status, const char *title, const char *text,
                          bool is_bad, bool has_form);

/* Where to go after logging in, as the form or the address says: a path of this server, with escapes. */
const char *sxt_login_place(struct sxt_request *request);

/* A failure as HTML, with a form for a key if that would help. */
void sxt_pages_reply_failure(struct sxt_request *request, unsigned status, const char *text);

/* May a request that changes something, and of which only a cookie says who it is from, be from a page of another
 * site? */
bool sxt_request_is_foreign(const struct sxt_request *request);

#endif
