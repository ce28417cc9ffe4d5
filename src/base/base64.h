/* base64.h: bytes as letters (RFC 4648). */
#ifndef SXT_BASE_BASE64_H
#define SXT_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

/* Room for SIZE bytes as base64, with padding and a NUL. */
#define SXT_BASE64_ROOM(size) (((size) + 2) / 3 * 4 + 1)

/* With padding, and with + and /. NUL-terminated. */
void sxt_base64_encode(char *to, const uint8_t *bytes, size_t size);

/* Without padding, and with - and _, as URLs and headers like it. NUL-terminated. */
void sxt_base64url_encode(char *to, const uint8_t *bytes, size_t size);

#endif
