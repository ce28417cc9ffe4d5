/*
 * json_reader.h: a pull reader for JSON (RFC 8259) in untrusted text.
 *
 * The caller asks for what it expects next, and gets views of the text: only strings with escapes are copied. So
 * it reads metadata of hundreds of megabytes without a tree. base/json.h makes a tree where one is convenient.
 *
 *     bool more;
 *     int status = sxt_json_read_begin(&reader, '{', "the answer");
 *     while (status == SXT_OK && (status = sxt_json_read_more(&reader, '}', &more)) == SXT_OK && more) {
 *         status = sxt_json_read_key(&reader, &key, NULL);
 *         if (status == SXT_OK)
 *             status = sxt_string_is(key, "line") ? sxt_json_read_unsigned(&reader, "line", &line)
 *                                                 : sxt_json_read_skip(&reader, NULL);
 *     }
 *
 * Functions that return an int return SXT_OK, or fill in the error with the offset in the text. A reader can be copied
 * to look ahead.
 */
#ifndef SXT_BASE_JSON_READER_H
#define SXT_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/arena.h"

/* sxt_json_read_skip refuses values that are nested deeper. */
#define SXT_JSON_SKIP_DEPTH 64

struct sxt_json_reader {
    const char *text;
    size_t size;
    size_t position;
    bool first;              /* at the beginning of an array or object */
    bool replace_surrogates; /* half of a surrogate pair becomes U+FFFD, instead of an error */
    const char *subject;     /* errors begin with it */
    struct sxt_arena *arena; /* for strings with escapes */
    sxt_error *error;
};

/* Fails when TEXT is not UTF-8. TEXT, SUBJECT and ARENA stay the caller's. */
int sxt_json_reader_init(struct sxt_json_reader *reader, const char *subject, const char *text, size_t size,
                         struct sxt_arena *arena, sxt_error *error);

/* Returns SXT_ERROR_FORMAT with "SUBJECT: ..." as the text of the error. */
int sxt_json_read_fail(struct sxt_json_reader *reader, size_t position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Skips white space. Returns the character that comes next, which stays there; -1 at the end. */
static inline int sxt_json_read_peek(struct sxt_json_reader *reader)
{
    for (; reader->position < reader->size; reader->position++) {
        unsigned char c = (unsigned char)reader->text[reader->position];
        if (c > ' ' || (c != ' ' && c != '\t' && c != '\n' && c != '\r'))
            return c;
    }
    return -1;
}

/* Skips white space, and takes C if it comes next. */
static inline bool sxt_json_read_take(struct sxt_json_reader *reader, char c)
{
    bool there = sxt_json_read_peek(reader) == (unsigned char)c;
    reader->position += there;
    return there;
}

/* Begins an object ('{') or an array ('['). WHAT names it in the error. */
int sxt_json_read_begin(struct sxt_json_reader *reader, char open, const char *what);

/* Says whether there is another member or element; otherwise takes CLOSE ('}' or ']'). */
int sxt_json_read_more(struct sxt_json_reader *reader, char close, bool *more);

/* Takes a key and its colon. *QUOTED, which may be NULL, is the key in the text, with quotes and escapes. */
int sxt_json_read_key(struct sxt_json_reader *reader, sxt_string *key, sxt_string *quoted);

/* Takes a string. *OUT is a part of the text or, when it has escapes, a copy in the arena. */
int sxt_json_read_string(struct sxt_json_reader *reader, const char *what, sxt_string *out);

/* Takes a number, as text. *IS_INTEGER: it has neither fraction nor exponent. */
int sxt_json_read_number(struct sxt_json_reader *reader, sxt_string *out, bool *is_integer);

/* Takes an integer that is not negative; UINT64_MAX when it is larger than that. null leaves *OUT unchanged. */
int sxt_json_read_unsigned(struct sxt_json_reader *reader, const char *what, uint64_t *out);

/* Takes WORD (true, false, null) if it comes next. */
bool sxt_json_read_word(struct sxt_json_reader *reader, const char *word);

/* Takes any value, and checks its syntax. *OUT, which may be NULL, is its text. */
int sxt_json_read_skip(struct sxt_json_reader *reader, sxt_string *out);

/* Fails when there is anything but white space left. */
int sxt_json_read_end(struct sxt_json_reader *reader);

/* The reason why the arena did not give WANTED bytes: its limit, or the machine's. */
int sxt_json_read_no_memory(struct sxt_json_reader *reader, size_t wanted);

#endif
