/* sextant/string.h: strings and memory that libsextant returns. */
#ifndef SEXTANT_STRING_H
#define SEXTANT_STRING_H

#include <stddef.h>

#include <sextant/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A view of bytes that another object owns. Not NUL-terminated. An absent string has data == NULL and size == 0. */
typedef struct sxt_string {
    const char *data;
    size_t size;
} sxt_string;

/* Frees memory that a function of libsextant allocated for the caller. DATA may be NULL. */
SXT_API void sxt_free(void *data);

#ifdef __cplusplus
}
#endif

#endif
