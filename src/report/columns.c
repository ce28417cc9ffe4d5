/* columns.c: tables for pages. */
#include "report/columns.h"

static void append(struct sxt_buffer *table, struct sxt_buffer *bytes)
{
    if (bytes->failed || bytes->size > UINT32_MAX)
        table->failed = table->memory_was_short = true;
    sxt_buffer_u32le(table, (uint32_t)bytes->size);
    sxt_buffer_append(table, bytes->data, bytes->size);
    sxt_buffer_free(bytes);
}

void sxt_column_finish(struct sxt_column *column, struct sxt_buffer *table)
{
    append(table, &column->bytes);
}

void sxt_string_column_init(struct sxt_string_column *column)
{
    *column = (struct sxt_string_column){.last = {"", 0}};
    sxt_buffer_init(&column->bytes, SIZE_MAX);
}

void sxt_string_column_add(struct sxt_string_column *column, sxt_string text)
{
    size_t shared = 0;
    if (text.data == NULL)
        text = (sxt_string){"", 0};
    while (shared < text.size && shared < column->last.size && text.data[shared] == column->last.data[shared])
        shared++;
    sxt_buffer_varint(&column->bytes, shared);
    sxt_buffer_varint(&column->bytes, text.size - shared);
    sxt_buffer_append(&column->bytes, text.data + shared, text.size - shared);
    column->last = text;
    column->count++;
}

void sxt_string_column_finish(struct sxt_string_column *column, struct sxt_buffer *table)
{
    sxt_buffer_u32le(table, column->count);
    append(table, &column->bytes);
}
