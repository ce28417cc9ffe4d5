/*
 * json.h: JSON as a tree in an arena: parsed from untrusted text, or made by hand. base/json_reader.h reads it without
 * a tree, base/json_writer.h writes it.
 *
 * Limits on depth and on the number of values are given; the text must be UTF-8. Numbers keep their text and are read
 * as double and, where they are integers that fit, as uint64_t or int64_t. Members keep their order. Duplicate keys are
 * kept; lookup finds the last one.
 */
#ifndef SXT_BASE_JSON_H
#define SXT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/arena.h"
#include "base/json_reader.h"

enum sxt_json_type { SXT_JSON_NULL, SXT_JSON_BOOL, SXT_JSON_NUMBER, SXT_JSON_STRING, SXT_JSON_ARRAY, SXT_JSON_OBJECT };

struct sxt_json {
    enum sxt_json_type type;
    bool boolean;
    bool is_unsigned; /* number: an integer from 0 to UINT64_MAX, in `unsigned_value` */
    bool is_signed;   /* number: an integer from INT64_MIN to INT64_MAX, in `signed_value` */
    uint64_t unsigned_value;
    int64_t signed_value;
    double number;
    sxt_string string;      /* string: decoded; number: its text */
    sxt_string key;         /* of a member of an object */
    size_t count;           /* array, object: children */
    struct sxt_json *child; /* array, object: first child, NULL when empty */
    struct sxt_json *next;  /* next sibling */
};

struct sxt_json_limits {
    unsigned depth; /* nesting of arrays and objects */
    size_t values;  /* all values together */
};

/*
 * Parses all of TEXT, which is not needed afterwards; bytes other than white space after the value are an error.
 * Offsets in errors count from 0.
 */
int sxt_json_parse(const char *text, size_t size, struct sxt_json_limits limits, struct sxt_arena *arena,
                   struct sxt_json **out, sxt_error *error);

/* Takes the next value of READER as a tree, in the reader's arena. LIMITS->values goes down by the values in it. */
int sxt_json_read_tree(struct sxt_json_reader *reader, struct sxt_json_limits *limits, struct sxt_json **out);

/* The member of an object with that key, or NULL; also NULL when VALUE is NULL or not an object. */
const struct sxt_json *sxt_json_member(const struct sxt_json *value, const char *key);

/* --- making trees: all return NULL or false when memory is short --- */

struct sxt_json *sxt_json_object(struct sxt_arena *arena);
struct sxt_json *sxt_json_array(struct sxt_arena *arena);

/* A copy of VALUE and of all below it, with the strings. It recurses: VALUE must be nested to a bounded depth. */
struct sxt_json *sxt_json_copy(struct sxt_arena *arena, const struct sxt_json *value);

/* Appends VALUE, which may be NULL (memory was short), to an object or, with KEY NULL, to an array. */
bool sxt_json_add(struct sxt_arena *arena, struct sxt_json *object, const char *key, struct sxt_json *value);
bool sxt_json_add_number(struct sxt_arena *arena, struct sxt_json *object, const char *key, int64_t value);
bool sxt_json_add_string(struct sxt_arena *arena, struct sxt_json *object, const char *key, sxt_string value);

/* Removes all members of OBJECT with that key, and returns the last of them; NULL when there is none. */
struct sxt_json *sxt_json_take(struct sxt_json *object, const char *key);

#endif
