/* lidia_image.c: see lidia_image.h. */
#include "support/lidia_image.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_SIZE       0x80
#define INDEX_HEADER_SIZE 0x20

uint32_t sxt_test_crc32c(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    }
    return ~crc;
}

uint64_t sxt_test_load(const uint8_t *from, unsigned width)
{
    uint64_t value = 0;
    while (width-- > 0)
        value = value << 8 | from[width];
    return value;
}

void sxt_test_store(uint8_t *to, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        to[i] = (uint8_t)(i < 8 ? value >> (8 * i) : 0);
}

uint64_t sxt_test_put_string(struct sxt_test_strings *strings, const char *text)
{
    uint64_t offset = strings->size;
    size_t size = strlen(text);
    if (size + 5 > sizeof strings->bytes - strings->size)
        abort();
    if (!strings->nul) {
        sxt_test_store(strings->bytes + strings->size, size, 4);
        strings->size += 4;
    }
    memcpy(strings->bytes + strings->size, text, size);
    strings->size += size;
    if (strings->nul)
        strings->bytes[strings->size++] = 0;
    return offset;
}

static uint8_t *put(uint8_t *to, uint64_t value, unsigned width)
{
    sxt_test_store(to, value, width);
    return to + width;
}

static uint8_t *put_row(uint8_t *to, const struct sxt_test_row *row, unsigned width)
{
    const uint64_t fields[] = {row->length,     row->depth,      row->function,  row->file,
                               row->first_line, row->line_count, row->call_file, row->call_line};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        to = put(to, fields[i], width);
    return to;
}

static uint64_t span_to(const struct sxt_test_lidia *content, size_t row)
{
    return content->rows[row].address - content->rows[0].address;
}

static size_t bucket_count(const struct sxt_test_lidia *content, unsigned shift)
{
    return (size_t)(span_to(content, content->row_count - 1) >> shift) + 1;
}

/* As few addresses in a bucket as there can be with no more buckets than rows. */
static unsigned shift_of(const struct sxt_test_lidia *content)
{
    unsigned shift = 0;
    while (span_to(content, content->row_count - 1) >> shift >= content->row_count)
        shift++;
    return shift;
}

static uint64_t name_size(const struct sxt_test_lidia *content, size_t row)
{
    const struct sxt_test_strings *strings = content->strings;
    uint64_t at = content->rows[row].function;
    if (strings == NULL || at >= strings->size)
        return 0;
    return strings->nul ? strlen((const char *)strings->bytes + at) : sxt_test_load(strings->bytes + at, 4);
}

static void put_index(uint8_t *index, const struct sxt_test_lidia *content, unsigned parent_size)
{
    unsigned shift = shift_of(content);
    memcpy(index, "sxti\1", 5);
    sxt_test_store(index + 0x08, content->row_count, 8);
    sxt_test_store(index + 0x10, parent_size, 4);
    sxt_test_store(index + 0x14, shift, 4);
    uint8_t *to = index + INDEX_HEADER_SIZE;
    for (size_t bucket = 0; bucket <= bucket_count(content, shift); bucket++) {
        size_t before = 0;
        for (size_t i = 0; i < content->row_count; i++)
            before += span_to(content, i) >> shift < bucket;
        to = put(to, before, 4);
    }
    for (size_t i = 0; i < content->row_count; i++)
        to = put(to, name_size(content, i), 2);
    for (size_t i = 0; i < content->row_count; i++)
        to = put(to, content->parents[i], parent_size);
}

uint8_t *sxt_test_lidia_image(const struct sxt_test_lidia *content, size_t *size)
{
    const unsigned address_size = content->address_size != 0 ? content->address_size : 4;
    const unsigned field_size = content->field_size != 0 ? content->field_size : 4;
    const unsigned line_size = content->line_size != 0 ? content->line_size : 2;
    const unsigned parent_size = content->parent_size != 0 ? content->parent_size : 1;
    const size_t strings_size = content->strings != NULL ? content->strings->size : 0;
    const size_t rows_at = HEADER_SIZE + content->row_count * address_size;
    const size_t strings_at = rows_at + content->row_count * 8 * field_size;
    const size_t lines_at = strings_at + strings_size;
    const size_t index_at = lines_at + content->line_count * 2 * line_size;
    *size = index_at;
    if (content->parents != NULL)
        *size += INDEX_HEADER_SIZE + (bucket_count(content, shift_of(content)) + 1) * 4 +
                 content->row_count * (2 + parent_size);
    uint8_t *image = calloc(1, *size);
    if (image == NULL)
        abort();

    memcpy(image, ".dia\1", 5);
    const struct {
        unsigned at;
        uint64_t value;
    } header[] = {
        {0x08, address_size},        {0x10, content->row_count}, {0x18, HEADER_SIZE},
        {0x28, field_size},          {0x30, content->row_count}, {0x38, rows_at},
        {0x48, strings_size},        {0x50, strings_at},         {0x60, line_size},
        {0x68, content->line_count}, {0x70, lines_at},
    };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        sxt_test_store(image + header[i].at, header[i].value, 8);

    uint8_t *address = image + HEADER_SIZE, *row = image + rows_at, *line = image + lines_at;
    for (size_t i = 0; i < content->row_count; i++) {
        address = put(address, content->rows[i].address, address_size);
        row = put_row(row, &content->rows[i], field_size);
    }
    if (strings_size > 0)
        memcpy(image + strings_at, content->strings->bytes, strings_size);
    for (size_t i = 0; i < content->line_count; i++)
        line = put(put(line, content->lines[i][0], line_size), content->lines[i][1], line_size);
    if (content->parents != NULL)
        put_index(image + index_at, content, parent_size);
    sxt_test_lidia_seal(image, *size);
    return image;
}

void sxt_test_lidia_seal(uint8_t *image, size_t size)
{
    size_t rows_at = sxt_test_rows_at(image), strings_at = sxt_test_strings_at(image);
    size_t lines_at = sxt_test_lines_at(image), index_at = sxt_test_index_at(image);
    sxt_test_store(image + 0x20, sxt_test_crc32c(image + HEADER_SIZE, rows_at - HEADER_SIZE), 4);
    sxt_test_store(image + 0x40, sxt_test_crc32c(image + rows_at, strings_at - rows_at), 4);
    sxt_test_store(image + 0x58, sxt_test_crc32c(image + strings_at, lines_at - strings_at), 4);
    sxt_test_store(image + 0x78, sxt_test_crc32c(image + lines_at, index_at - lines_at), 4);
    if (index_at + INDEX_HEADER_SIZE > size)
        return;
    uint8_t *index = image + index_at;
    sxt_test_store(index + 0x18, sxt_test_crc32c(index + INDEX_HEADER_SIZE, size - index_at - INDEX_HEADER_SIZE), 4);
    sxt_test_store(index + 0x1c, sxt_test_crc32c(index, 0x1c), 4);
}

size_t sxt_test_rows_at(const uint8_t *image)
{
    return (size_t)sxt_test_load(image + 0x38, 8);
}

size_t sxt_test_strings_at(const uint8_t *image)
{
    return (size_t)sxt_test_load(image + 0x50, 8);
}

size_t sxt_test_lines_at(const uint8_t *image)
{
    return (size_t)sxt_test_load(image + 0x70, 8);
}

size_t sxt_test_index_at(const uint8_t *image)
{
    return sxt_test_lines_at(image) + (size_t)(sxt_test_load(image + 0x68, 8) * 2 * sxt_test_load(image + 0x60, 8));
}

static uint64_t address_at(const uint8_t *image, uint64_t row)
{
    unsigned width = (unsigned)sxt_test_load(image + 0x08, 8);
    return sxt_test_load(image + HEADER_SIZE + row * width, width);
}

size_t sxt_test_name_sizes_at(const uint8_t *image)
{
    const uint8_t *index = image + sxt_test_index_at(image);
    uint64_t span = address_at(image, sxt_test_load(image + 0x10, 8) - 1) - address_at(image, 0);
    return sxt_test_index_at(image) + INDEX_HEADER_SIZE + (size_t)((span >> sxt_test_load(index + 0x14, 4)) + 2) * 4;
}

size_t sxt_test_parents_at(const uint8_t *image)
{
    return sxt_test_name_sizes_at(image) + (size_t)sxt_test_load(image + 0x10, 8) * 2;
}
