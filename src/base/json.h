/*
 * json.h: a bounded JSON parser (RFC 8259) for untrusted text.
 *
 * The result is a tree in an arena. Limits on depth and on the number of values are given; the text must be UTF-8.
 * Numbers keep their text and are read as double and, where they are integers that fit, as uint64_t or int64_t.
 * Duplicate keys are kept; lookup finds the last one.
 */
#ifndef SXT_BASE_JSON_H
#define SXT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/arena.h"

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

/* Parses all of TEXT; bytes other than white space behind the value are an error. Offsets in errors count from 0. */
int sxt_json_parse(const char *text, size_t size, struct sxt_json_limits limits, struct sxt_arena *arena,
                   struct sxt_json **out, sxt_error *error);

/* The member of an object with that key, or NULL; also NULL when VALUE is NULL or no object. */
const struct sxt_json *sxt_json_member(const struct sxt_json *value, const char *key);

#endif
