/*
 * ksym_image.h: ksym blobs for tests of the reader, put together by hand. Each is opened in a block of exactly its size
 * and not at a multiple of 8, so that AddressSanitizer sees a step outside.
 */
#ifndef SXT_TESTS_KSYM_IMAGE_H
#define SXT_TESTS_KSYM_IMAGE_H

#include <sextant/ksym.h>

/* The example of three symbols in the description of the format. */
extern const uint8_t sxt_ksym_example[148];

/* A blob in the making, or any bytes that are collected. */
struct sxt_ksym_image {
    uint8_t bytes[70000];
    size_t size;
};

void sxt_ksym_image_add(struct sxt_ksym_image *image, const void *bytes, size_t size);
void sxt_ksym_image_number(struct sxt_ksym_image *image, uint64_t number, size_t size);

/* As a callback for sxt_ksym_dump: adds to the image DATA. */
void sxt_ksym_image_collect(void *data, const char *bytes, size_t size);

/* The payload is what the record holds, the name what it stands for. A NULL payload is the name. */
struct sxt_ksym_image_symbol {
    uint64_t address;
    const char *name;
    const char *payload;
};

/* The blob of SYMBOLS, which are in the order of addresses, with TOKENS up to a NULL. Types are T and t in turn. */
void sxt_ksym_image_make(struct sxt_ksym_image *image, const struct sxt_ksym_image_symbol *symbols, size_t count,
                         const char *const *tokens, bool newer);

struct sxt_ksym_blob {
    uint8_t *block;
    sxt_ksym ksym;
};

/* Opens a copy of the bytes; what sxt_ksym_open says. To be closed in any case. */
const char *sxt_ksym_image_try(struct sxt_ksym_blob *blob, const void *bytes, size_t size, uint64_t start, uint64_t end,
                               size_t *at);
void sxt_ksym_image_open(struct sxt_ksym_blob *blob, const void *bytes, size_t size, uint64_t start, uint64_t end);
void sxt_ksym_image_close(struct sxt_ksym_blob *blob);

void sxt_ksym_assert_unknown(const sxt_ksym *ksym, uint64_t address);

/* The addresses of all symbols of that name, as "1000 1200". */
void sxt_ksym_assert_found(const sxt_ksym *ksym, const char *name, const char *expected);

#endif
