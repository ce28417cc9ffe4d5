/* utf8.h: checking and writing UTF-8 (RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF). */
#ifndef SXT_BASE_UTF8_H
#define SXT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes from the start are valid UTF-8 (whole characters); SIZE when all are. */
size_t sxt_utf8_valid(const char *data, size_t size);

/* Writes the character CODE, at most U+10FFFF, and returns how many bytes it took, at most 4. */
size_t sxt_utf8_encode(char *to, uint32_t code);

#endif
