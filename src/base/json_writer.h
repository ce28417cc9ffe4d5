/*
 * json_writer.h: JSON into a buffer, with commas, keys and escapes where they belong.
 *
 *     struct sxt_json_writer json = sxt_json_writer_make(&buffer, SXT_JSON_COMPACT);
 *     sxt_json_write_begin(&json, NULL, '{');
 *     sxt_json_write_number(&json, "size", 12);            {"size":12,"names":["a"]}
 *     sxt_json_write_begin(&json, "names", '[');
 *     sxt_json_write_string(&json, NULL, name);
 *     sxt_json_write_end(&json, ']');
 *     sxt_json_write_end(&json, '}');
 *
 * KEY is NULL in arrays, at the top, and after one of the sxt_json_write_key functions. A KEY is a word of the program,
 * and is not escaped; keys that come from files go through sxt_json_write_key. Failures of the buffer are sticky:
 * sxt_buffer_status reports them at the end.
 */
#ifndef SXT_BASE_JSON_WRITER_H
#define SXT_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include <sextant/string.h>

#include "base/buffer.h"
#include "base/json.h"

/* The layouts are those of Python's json.dumps: separators=(",", ":"), none given, and indent=2. */
enum sxt_json_layout { SXT_JSON_COMPACT, SXT_JSON_SPACED, SXT_JSON_INDENTED };

/* What is escaped in strings, besides '"' and '\\'; see escape.h. Files keep the spelling that they always had. */
enum sxt_json_escapes {
    SXT_JSON_ESCAPES_CONTROLS,            /* for output: control characters of any kind */
    SXT_JSON_ESCAPES_ASCII,               /* everything that is not ASCII too, as Python does */
    SXT_JSON_ESCAPES_NUMBERS,             /* only what JSON demands, by number */
    SXT_JSON_ESCAPES_NUMBERS_WITH_DELETE, /* the same, and U+007F */
};

struct sxt_json_writer {
    struct sxt_buffer *out;
    enum sxt_json_layout layout;
    enum sxt_json_escapes escapes;
    unsigned depth;
    enum { SXT_JSON_AT_FIRST, SXT_JSON_AFTER_VALUE, SXT_JSON_AFTER_KEY } state;
};

static inline struct sxt_json_writer sxt_json_writer_make(struct sxt_buffer *out, enum sxt_json_layout layout)
{
    return (struct sxt_json_writer){.out = out, .layout = layout};
}

/* A key: a string to escape, a number in quotes, or JSON text with its quotes. A value must follow. */
void sxt_json_write_key(struct sxt_json_writer *writer, sxt_string key);
void sxt_json_write_key_number(struct sxt_json_writer *writer, uint64_t key);
void sxt_json_write_key_text(struct sxt_json_writer *writer, sxt_string quoted);

/* Objects ('{' and '}') and arrays ('[' and ']'). */
void sxt_json_write_begin(struct sxt_json_writer *writer, const char *key, char open);
void sxt_json_write_end(struct sxt_json_writer *writer, char close);

void sxt_json_write_string(struct sxt_json_writer *writer, const char *key, sxt_string value);
void sxt_json_write_number(struct sxt_json_writer *writer, const char *key, uint64_t value);
void sxt_json_write_address(struct sxt_json_writer *writer, const char *key, uint64_t value); /* "0x401020" */
void sxt_json_write_hex(struct sxt_json_writer *writer, const char *key, const void *data, size_t size); /* "ab12" */
void sxt_json_write_bool(struct sxt_json_writer *writer, const char *key, bool value);
void sxt_json_write_null(struct sxt_json_writer *writer, const char *key);

/* JSON that is written already; it may be several values with separators between them. */
void sxt_json_write_text(struct sxt_json_writer *writer, const char *key, sxt_string json);

/* A tree, with the members of objects in the order of their keys. It recurses: the depth must be bounded. */
void sxt_json_write_tree_sorted(struct sxt_json_writer *writer, const struct sxt_json *value);

#endif
