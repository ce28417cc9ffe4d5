/* base64.h: bytes as letters (RFC 4648). */
#ifndef SXT_BASE_BASE64_H
#define SXT_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for SIZE bytes as base64, with padding and a NUL. */
#define SXT_BASE64_ROOM(size) (((size) + 2) / 3 * 4 + 1)

/* With padding, and with + and /. NUL-terminated. */
void sxt_base64_encode(char *to, const uint8_t *bytes, size_t size);

/* Without padding, and with - and _, as URLs and headers like it. NUL-terminated. */
void sxt_base64url_encode(char *to, const uint8_t *bytes, size_t size);

/*
 * Decodes TEXT into at most ROOM bytes, and returns how many they are. The text is of either alphabet, but not of both,
 * with or without padding. Bits of the last letter that belong to no byte must be 0, so that each value has one form in
 * each alphabet. Returns SXT_BASE64_WRONG if it is anything else, or does not fit.
 */
#define SXT_BASE64_WRONG SIZE_MAX
size_t sxt_base64_decode(uint8_t *to, size_t room, const char *text, size_t size);

/* Decodes exactly SIZE bytes from TEXT, in the form for URLs, with or without padding. False if it is anything else. */
bool sxt_base64url_decode(uint8_t *to, size_t size, const char *text, size_t text_size);

#endif
