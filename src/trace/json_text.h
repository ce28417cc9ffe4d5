/* json_text.h: JSON as text: pieces of it are written, and found in text that was parsed before. */
#ifndef SXT_TRACE_JSON_TEXT_H
#define SXT_TRACE_JSON_TEXT_H

#include <stdbool.h>

#include <sextant/symbols.h>

#include "base/buffer.h"

void sxt_json_put_text(struct sxt_buffer *json, const char *text); /* as it stands */
void sxt_json_put(struct sxt_buffer *json, sxt_string text);       /* the same */

void sxt_json_put_number(struct sxt_buffer *json, uint64_t number);

/* {"file_id": FILE, "line": LINE, "func_id": FUNCTION} */
void sxt_json_put_frame(struct sxt_buffer *json, uint32_t file, uint32_t line, uint32_t function);

/* In quotes; what is no UTF-8 becomes U+FFFD. */
void sxt_json_put_string(struct sxt_buffer *json, sxt_string text);

/*
 * A way over the members of an object, or the elements of an array, that is known to be well-formed; anything else ends
 * early. It gives the text of each, not what it means.
 */
struct sxt_json_walk {
    sxt_string text;
    size_t at;
};

struct sxt_json_walk sxt_json_walk(sxt_string text);

/* False at the end. KEY, in its quotes, is absent in an array. */
bool sxt_json_next(struct sxt_json_walk *walk, sxt_string *key, sxt_string *value);

/* Does the key, in its quotes, mean NAME? */
bool sxt_json_key_is(sxt_string key, const char *name);

/* The number that a text is; false when it is none below 2^32 - 1. Of a key: what is in its quotes. */
bool sxt_json_number(sxt_string text, uint32_t *number);
bool sxt_json_key_number(sxt_string key, uint32_t *number);

#endif
