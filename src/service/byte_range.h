/* byte_range.h: what the headers Range and If-None-Match ask for. Private to this room. */
#ifndef SXT_SERVICE_BYTE_RANGE_H
#define SXT_SERVICE_BYTE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum sxt_byte_range {
    SXT_RANGE_WHOLE,  /* it is malformed, or has several ranges: everything is sent */
    SXT_RANGE_PART,   /* *START and *SIZE */
    SXT_RANGE_BEYOND, /* nothing of it is in the object */
};

/* "bytes=1-2", "bytes=1-", "bytes=-2" of an object of TOTAL bytes. A part has at least one byte. */
enum sxt_byte_range sxt_byte_range_parse(const char *text, uint64_t total, uint64_t *start, uint64_t *size);

/* Is the quoted ETAG in LIST, a list of tags or "*"? Weak tags count. */
bool sxt_etag_is_in(const char *list, const char *etag);

#endif
