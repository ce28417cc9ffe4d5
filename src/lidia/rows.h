/*
 * rows.h: the rows of a Lidia file that is being written, with their lines and their index, in parts on several
 * threads. Private to this room.
 */
#ifndef SXT_LIDIA_ROWS_H
#define SXT_LIDIA_ROWS_H

#include "base/bytes.h"
#include "lidia/lidia.h"
#include "lidia/pool.h"

/* What the rows need. */
struct sxt_lidia_rows {
    struct sxt_lidia_rows_part *parts;
    size_t part_count;
    uint32_t *parents;      /* of each row: how many rows before it its parent is; 0: none; NULL: not wanted */
    uint64_t functions;     /* rows of depth 0 */
    uint64_t lines;         /* line entries that are written */
    uint64_t largest_field; /* has all bits of all fields except strings and counts */
    uint64_t largest_line;  /* the same of lines */
    uint32_t farthest;      /* the largest of the parents */
    bool no_memory;
};

/* The file that is being put together. */
struct sxt_lidia_layout {
    const struct sxt_lidia_settings *settings;
    struct sxt_range_list list;
    struct sxt_lidia_pool pool;
    struct sxt_lidia_rows rows;
    unsigned address_size, field_size, line_size, parent_size;
    bool indexed;
    unsigned shift; /* of the index's buckets */
    uint64_t bucket_count, index_size;
    struct sxt_buffer chunks;
    uint64_t rows_at, strings_at, lines_at, index_at, chunks_at, size;
};

/* How many of the THREADS that are allowed are worth starting. */
unsigned sxt_lidia_threads(const struct sxt_range_list *list, unsigned threads);

/* Fills *ROWS from a list in file order. The caller frees it even after a failure. */
void sxt_lidia_rows_measure(struct sxt_lidia_rows *rows, const struct sxt_range_list *list, bool wants_parents,
                            unsigned threads);
void sxt_lidia_rows_free(struct sxt_lidia_rows *rows);

/* Writes addresses, rows, lines, and the index without its header. The strings must be in the file. */
void sxt_lidia_rows_write(const struct sxt_lidia_layout *layout, uint8_t *file);

/* Writes the low WIDTH bytes of VALUE. Returns where they end. */
static inline uint8_t *sxt_lidia_put(uint8_t *to, uint64_t value, unsigned width)
{
    switch (width) {
    case 1:
        *to = (uint8_t)value;
        break;
    case 2:
        sxt_store_u16le(to, (uint16_t)value);
        break;
    case 4:
        sxt_store_u32le(to, (uint32_t)value);
        break;
    default:
        sxt_store_u64le(to, value);
    }
    return to + width;
}

#endif
