/*
 * columns.h: tables for pages, one column after another.
 *
 * A column of numbers is a sequence of varints; signed ones are in zigzag form, and a column of differences has each
 * number less the one before it. Before its bytes, a column has its size as 4 bytes. A list of strings has their
 * number, and then for each one how many bytes it shares with the one before it, how many are new, and those.
 */
#ifndef SXT_REPORT_COLUMNS_H
#define SXT_REPORT_COLUMNS_H

#include <sextant/string.h>

#include "base/buffer.h"
#include "base/varint.h"

/* A column of numbers that is being filled. */
struct sxt_column {
    struct sxt_buffer bytes;
    int64_t last;
};

static inline void sxt_column_init(struct sxt_column *column)
{
    *column = (struct sxt_column){.last = 0};
    sxt_buffer_init(&column->bytes, SIZE_MAX);
}

static inline void sxt_column_add(struct sxt_column *column, uint64_t value)
{
    sxt_buffer_varint(&column->bytes, value);
}

static inline void sxt_column_add_signed(struct sxt_column *column, int64_t value)
{
    sxt_buffer_varint(&column->bytes, sxt_zigzag_encode(value));
}

/* Adds the difference to the number before. */
static inline void sxt_column_add_next(struct sxt_column *column, int64_t value)
{
    sxt_column_add_signed(column, (int64_t)((uint64_t)value - (uint64_t)column->last));
    column->last = value;
}

/* Appends a column to TABLE, and frees it. */
void sxt_column_finish(struct sxt_column *column, struct sxt_buffer *table);

/* A list of strings that is being filled. */
struct sxt_string_column {
    struct sxt_buffer bytes;
    uint32_t count;
    sxt_string last;
};

void sxt_string_column_init(struct sxt_string_column *column);

/* TEXT must live until the next call. */
void sxt_string_column_add(struct sxt_string_column *column, sxt_string text);
void sxt_string_column_finish(struct sxt_string_column *column, struct sxt_buffer *table);

#endif
