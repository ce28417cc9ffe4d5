/*
 * lidia_image.h: Lidia files made by hand, for tests of the reader and the checker: any content, right or wrong, laid
 * out as the format says. Shares no code with the library, not even the CRC.
 */
#ifndef SXT_TESTS_LIDIA_IMAGE_H
#define SXT_TESTS_LIDIA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings in the making; STRINGS ends where the next one goes. */
struct sxt_test_strings {
    uint8_t bytes[4096];
    size_t size;
    bool nul; /* end with NUL instead of beginning with a length */
};

/* Puts TEXT after the others and returns its offset. */
uint64_t sxt_test_put_string(struct sxt_test_strings *strings, const char *text);

struct sxt_test_row {
    uint64_t address, length, depth, function, file, first_line, line_count, call_file, call_line;
};

struct sxt_test_lidia {
    const struct sxt_test_row *rows;
    size_t row_count;
    const struct sxt_test_strings *strings; /* NULL: an empty table */
    const uint32_t (*lines)[2];
    size_t line_count;
    const uint32_t *parents;                                   /* of the index; NULL: no index */
    unsigned address_size, field_size, line_size, parent_size; /* 0: 4, 4, 2 and 1 */
};

/* The file; to be freed. */
uint8_t *sxt_test_lidia_image(const struct sxt_test_lidia *content, size_t *size);

/* Sets all CRCs to what the bytes are now, so that damage elsewhere is not covered up by a wrong CRC. */
void sxt_test_lidia_seal(uint8_t *image, size_t size);

/* Where the parts are, by the header. */
size_t sxt_test_rows_at(const uint8_t *image);
size_t sxt_test_strings_at(const uint8_t *image);
size_t sxt_test_lines_at(const uint8_t *image);
size_t sxt_test_index_at(const uint8_t *image);

/* Parts of the index, which must be there. */
size_t sxt_test_name_sizes_at(const uint8_t *image);
size_t sxt_test_parents_at(const uint8_t *image);

uint32_t sxt_test_crc32c(const uint8_t *data, size_t size);
uint64_t sxt_test_load(const uint8_t *from, unsigned width);
void sxt_test_store(uint8_t *to, uint64_t value, unsigned width);

#endif
