/* content.h: replies with what is kept of a binary. Private to this room. */
#ifndef SXT_SERVICE_CONTENT_H
#define SXT_SERVICE_CONTENT_H

#include "service/request.h"

/*
 * Replies with a content of the binary that one of IDS names; PATH is that of a source file, otherwise NULL.
 * SIZE_HEADER (may be NULL) is the name of a header that gets the size of the whole content.
 */
enum sxt_handled sxt_reply_content(struct sxt_request *request, const struct sxt_catalog_id *ids, size_t count,
                                   enum sxt_catalog_content content, const char *path, const char *size_header);

#endif
