/* private.h: what only the files of this room share. */
#ifndef SXT_SIZE_PRIVATE_H
#define SXT_SIZE_PRIVATE_H

#include "base/string.h"
#include "size/size.h"

#define SXT_SIZE_VANITY "# Created by //tools/binary_size\n"

/* Compares by object path, then by source path. */
static inline int sxt_size_compare_paths(const struct sxt_size_path *a, const struct sxt_size_path *b)
{
    int order = sxt_string_compare(a->object, b->object);
    return order != 0 ? order : sxt_string_compare(a->source, b->source);
}

/* What the format counts as a symbol's own bytes. */
static inline int64_t sxt_size_stored_size(const struct sxt_size_model_symbol *symbol)
{
    return sxt_size_is_overhead(symbol) ? symbol->size : (int64_t)((uint64_t)symbol->size - (uint64_t)symbol->padding);
}

/* --- sections.c --- */

/*
 * Where symbols of a section are in a full archive: native sections share the first place, and are sorted there by
 * address.
 */
unsigned sxt_size_section_order(sxt_string section);

/* Known sections have numbers from 0 on; -1 for another one. */
#define SXT_SIZE_SECTIONS 19
int sxt_size_section_number(sxt_string section);
sxt_string sxt_size_section_name(int number);

/* --- padding.c --- */

/* Derives the padding of SYMBOL from the one before it; false where the reference would not load the file. */
bool sxt_size_derive_one(const struct sxt_size_info *size, struct sxt_size_model_symbol *symbol);

/* The padding of SYMBOL, which follows BEFORE; false as above. */
bool sxt_size_find_padding(const struct sxt_size_info *size, const struct sxt_size_model_symbol *before,
                           const struct sxt_size_model_symbol *symbol, int64_t *padding);

/* --- order.c --- */

/* How two symbols of a container are in a full archive: negative when A comes first. */
int sxt_size_compare_symbols(const struct sxt_size_info *size, const struct sxt_size_model_symbol *a,
                             const struct sxt_size_model_symbol *b);

/* --- text.c: the inflated text, line by line --- */

struct sxt_size_text {
    const char *start, *at, *end; /* there is a NUL at the end */
    sxt_error *error;
};

/* Fails with SXT_ERROR_FORMAT; the line and the offset of AT are put into the text. */
int sxt_size_text_error(const struct sxt_size_text *text, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prefixes the text of a failure with WHERE, and adds BASE to its offset. Returns STATUS. */
int sxt_size_error_in(sxt_error *error, int status, const char *where, uint64_t base);

/* The next line, without its newline; WHAT is what it should hold. */
int sxt_size_text_line(struct sxt_size_text *text, const char *what, sxt_string *line);

/* The next line, which is a number from 0 to MOST. */
int sxt_size_text_count(struct sxt_size_text *text, const char *what, uint64_t most, uint64_t *count);

/* Skips a decimal integer; NULL when there is none or it does not fit. */
static inline const char *sxt_size_parse_number(const char *at, int64_t *value)
{
    bool negative = *at == '-';
    const char *start = at + negative;
    uint64_t magnitude = 0;
    for (at = start; (unsigned char)(*at - '0') < 10; at++)
        magnitude = magnitude * 10 + (uint64_t)(*at - '0');
    /* 18 digits always fit; 19 fit in 64 bits, so that the comparison is of the true value. */
    size_t digits = (size_t)(at - start);
    if (digits == 0 || (digits > 18 && (digits > 19 || magnitude > (uint64_t)INT64_MAX + negative)))
        return NULL;
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return at;
}

/* --- gzip.c --- */

/*
 * Asks for large pages for memory that will be filled from the beginning to the end: page faults take a tenth of the
 * time of reading otherwise. Best effort.
 */
void sxt_size_prefer_large_pages(void *memory, size_t size);

/* The text of a gzip stream, or a copy of DATA when it is not one, with a NUL after it; to be freed. */
int sxt_size_inflate(const uint8_t *data, size_t size, const struct sxt_size_limits *limits, uint8_t **text,
                     size_t *text_size, sxt_error *error);

/* The first bytes of what is in a gzip stream, or of DATA itself. Returns how many. */
size_t sxt_size_peek(const uint8_t *data, size_t size, uint8_t *out, size_t capacity);

int sxt_size_deflate(const uint8_t *text, size_t size, enum sxt_size_deflate deflate, struct sxt_buffer *out,
                     sxt_error *error);

/* --- read.c, read_symbols.c --- */

struct sxt_size_reader {
    struct sxt_size_text text;
    struct sxt_size_info *size;
    struct sxt_size_group *groups; /* as far as they are known; to be freed */
    size_t group_capacity;
};

/* Memory of the file's arena for COUNT items, not cleared. */
int sxt_size_reader_allocate(struct sxt_size_reader *reader, size_t count, size_t item_size, void **out);

/* Everything from the addresses to the names. Segments, paths and components are there already. */
int sxt_size_read_symbols(struct sxt_size_reader *reader);

/* --- header.c --- */

/* A JSON object that is a header; errors are reported as from position BASE of the text. */
int sxt_size_parse_json(struct sxt_arena *arena, const char *json, size_t json_size, uint64_t base,
                        struct sxt_json **out, sxt_error *error);

/* Takes the header of a .size file apart: containers, build configuration, flags. */
int sxt_size_read_header(struct sxt_size_info *size, struct sxt_json *root, bool is_multiple, sxt_error *error);

/* Appends the size of the JSON, the JSON and a newline. */
int sxt_size_write_header(const struct sxt_size_info *size, struct sxt_buffer *out, sxt_error *error);
int sxt_size_write_json_block(const struct sxt_json *value, struct sxt_buffer *out, sxt_error *error);

/* Are names of containers stored? */
static inline bool sxt_size_is_multiple(const struct sxt_size_info *size)
{
    return size->container_count > 1 || size->is_multiple;
}

/* Is there a place for disassembly? Adding disassembly to a file without any makes one. */
static inline bool sxt_size_has_disassembly(const struct sxt_size_info *size)
{
    return size->has_disassembly || size->disassembly_count > 0;
}

/* --- info.c --- */

/* The options that were GIVEN, which may be NULL, or their defaults. */
int sxt_size_write_options_take(const sxt_size_write_options *given, sxt_size_write_options *out, sxt_error *error);

/*
 * Hand a file that was written to BUFFER to the caller, or save it at PATH (BYTES may be NULL), unless STATUS says that
 * writing failed. BUFFER is freed. Return STATUS, or why saving failed.
 */
int sxt_size_give_memory(struct sxt_buffer *buffer, int status, void **data, size_t *size);
int sxt_size_give_file(struct sxt_buffer *buffer, int status, const char *path, uint64_t *bytes, sxt_error *error);

#endif
