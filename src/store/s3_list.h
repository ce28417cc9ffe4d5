/* s3_list.h: one page of a listing, as S3 servers send it (ListObjectsV2). */
#ifndef SXT_STORE_S3_LIST_H
#define SXT_STORE_S3_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "base/buffer.h"

#define SXT_S3_TOKEN_MAX 4096

struct sxt_s3_entry {
    size_t name; /* offset in the page's names */
    uint64_t size;
    int64_t modified_us;
};

struct sxt_s3_page {
    struct sxt_buffer names; /* with NUL after each */
    struct sxt_s3_entry *entries;
    size_t count, capacity;
    bool more;                    /* another page follows: ask for it with the token */
    char token[SXT_S3_TOKEN_MAX]; /* "": none */
};

/* Reads a page. Its entries are objects and, if WORDS, common prefixes, sorted by name. Free it also on failure. */
int sxt_s3_page_read(struct sxt_s3_page *page, const char *text, size_t size, bool words, sxt_error *error);
void sxt_s3_page_free(struct sxt_s3_page *page);

/* Microseconds since 1970 of "2009-10-12T17:50:30.123Z", or 0 if it is not a time. */
int64_t sxt_s3_read_time(const char *text);

#endif
