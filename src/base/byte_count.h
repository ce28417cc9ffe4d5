/* byte_count.h: numbers of bytes as people write them. */
#ifndef SXT_BASE_BYTE_COUNT_H
#define SXT_BASE_BYTE_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "4k", "0x1f", "-1.5M", "12KiB": k, M and G are powers of 1024. False when TEXT is anything else. */
bool sxt_byte_count_parse(const char *text, size_t size, double *out);

/* "1f" or "0x1f", at most 16 digits. False when TEXT is anything else. */
bool sxt_byte_count_parse_hexadecimal(const char *text, size_t size, uint64_t *out);

#endif
