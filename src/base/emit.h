/*
 * emit.h: one way to print results, as text for people or as JSON Lines for programs.
 *
 * A caller describes a record once: the fields that both forms have go through sxt_emit_string, _number, ... with a
 * key; what only the text form has goes through sxt_emit_text, and JSON-only fields sit between sxt_emit_is_json
 * checks. In JSON a record is one object on one line. In text a field of a record is a line "key   value", aligned.
 *
 *     sxt_emit_record(&emit);                       {"file":"a","size":12}      file   a
 *     sxt_emit_string(&emit, "file", view);                                     size   12
 *     sxt_emit_number(&emit, "size", 12);
 *     sxt_emit_record_end(&emit);
 *
 * Inside an array the key is NULL. Strings that are not UTF-8 have the bad bytes replaced by U+FFFD in JSON; control
 * characters are escaped in JSON and shown as \xNN in text, so that a name cannot drive the terminal.
 */
#ifndef SXT_BASE_EMIT_H
#define SXT_BASE_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/buffer.h"
#include "base/json_writer.h"

struct sxt_emit {
    FILE *stream;
    struct sxt_buffer line; /* the record that is being built */
    bool json;
    bool colour;
    bool failed;                   /* the stream refused a write */
    int reason;                    /* errno of the write that was refused; 0 when it is not known */
    struct sxt_json_writer writer; /* into `line` */
    unsigned depth;                /* text: see emit.c */
    bool array_is_empty;           /* text: nothing was put into the array yet */
};

/* Results go to STREAM, which stays the caller's. EMIT must not be copied. */
void sxt_emit_init(struct sxt_emit *emit, FILE *stream, bool json);

/* Writes what is buffered and flushes the stream. Returns SXT_ERROR_IO when any write failed (e.g. disk full). */
int sxt_emit_finish(struct sxt_emit *emit, sxt_error *error);

static inline bool sxt_emit_is_json(const struct sxt_emit *emit)
{
    return emit->json;
}

void sxt_emit_record(struct sxt_emit *emit);
void sxt_emit_record_end(struct sxt_emit *emit);

/* Fields, in both forms. An absent string (data == NULL) is null in JSON and left out in text. */
void sxt_emit_string(struct sxt_emit *emit, const char *key, sxt_string value);
void sxt_emit_cstring(struct sxt_emit *emit, const char *key, const char *value);
void sxt_emit_number(struct sxt_emit *emit, const char *key, uint64_t value);
void sxt_emit_known(struct sxt_emit *emit, const char *key, uint64_t value);   /* a number; null if it is 0 */
void sxt_emit_address(struct sxt_emit *emit, const char *key, uint64_t value); /* "0x401020" */
void sxt_emit_bool(struct sxt_emit *emit, const char *key, bool value);
void sxt_emit_null(struct sxt_emit *emit, const char *key);
void sxt_emit_raw(struct sxt_emit *emit, const char *key, sxt_string json); /* finished JSON */

/* Nesting. In text an array of scalars is one line "key  a, b, c"; nested objects are JSON only. */
void sxt_emit_array(struct sxt_emit *emit, const char *key);
void sxt_emit_array_end(struct sxt_emit *emit);
void sxt_emit_object(struct sxt_emit *emit, const char *key);
void sxt_emit_object_end(struct sxt_emit *emit);

/*
 * Text form only. sxt_emit_text prints without escapes, sxt_emit_name escapes the control characters of an untrusted
 * string, sxt_emit_digits is a fast "%llu".
 */
void sxt_emit_text(struct sxt_emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sxt_emit_name(struct sxt_emit *emit, sxt_string name);
void sxt_emit_digits(struct sxt_emit *emit, uint64_t value);

#endif
