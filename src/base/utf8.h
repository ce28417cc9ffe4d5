/* utf8.h: is it UTF-8? (RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF.) */
#ifndef SXT_BASE_UTF8_H
#define SXT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* How many bytes from the start are valid UTF-8 (whole characters); SIZE when all are. */
size_t sxt_utf8_valid(const char *data, size_t size);

#endif
