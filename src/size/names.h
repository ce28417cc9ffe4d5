/*
 * names.h: what the files that derive names share. names.c goes by the kind of section, names_java.c and
 * names_signature.c know languages, names_scan.c knows which brackets belong together.
 */
#ifndef SXT_SIZE_NAMES_H
#define SXT_SIZE_NAMES_H

#include <string.h>

#include "size/size.h"

/* Room for texts that are put together. Its owner made it large enough for all of them beforehand. */
struct sxt_size_room {
    char *next;
};

/* Bytes of room that deriving the names of a stored name of SIZE bytes takes at most. */
#define SXT_SIZE_ROOM(size) (12 * (size) + 64)

static inline bool sxt_size_starts(sxt_string text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return at <= text.size && text.size - at >= size && memcmp(text.data + at, word, size) == 0;
}

static inline sxt_string sxt_size_slice(sxt_string text, size_t from, size_t to)
{
    return (sxt_string){text.data + from, to - from};
}

/* Where WORD begins in TEXT at or after FROM, or SIZE_MAX. Words are short and their first bytes rare. */
static inline size_t sxt_size_find(sxt_string text, size_t from, const char *word)
{
    while (from < text.size) {
        const char *found = memchr(text.data + from, word[0], text.size - from);
        if (found == NULL)
            break;
        from = (size_t)(found - text.data);
        if (sxt_size_starts(text, from, word))
            return from;
        from++;
    }
    return SIZE_MAX;
}

/* The last place of a byte in the first END bytes of TEXT, or SIZE_MAX. */
static inline size_t sxt_size_find_last(sxt_string text, size_t end, char byte)
{
    const char *found = memrchr(text.data, byte, end);
    return found == NULL ? SIZE_MAX : (size_t)(found - text.data);
}

static inline bool sxt_size_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static inline bool sxt_size_is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || sxt_size_is_digit(byte) || byte == '_';
}

/* The parts put together in ROOM; empty parts are left out. */
sxt_string sxt_size_join(struct sxt_size_room *room, const sxt_string *parts, size_t count);

/* TEXT without every WORD; TEXT itself when there is none. */
sxt_string sxt_size_without(struct sxt_size_room *room, sxt_string text, const char *word);

/* The derived full name alone, which costs much less than all three. ROOM as for sxt_size_derive_names. */
sxt_string sxt_size_derive_full_name(const struct sxt_size_segment *segment, sxt_string stored,
                                     struct sxt_buffer *buffer);

bool sxt_size_is_string_literal(sxt_string name);

/* --- names_java.c --- */

/* ROOM has place for twice the name. */
void sxt_size_java_names(sxt_string stored, struct sxt_size_room *room, struct sxt_size_derived_names *out);

/* --- names_signature.c --- */

/*
 * The names of a function or variable of C, C++, Rust or Go, without what precedes and follows a signature. Fills only
 * the full name when FULL_ONLY.
 */
void sxt_size_signature_names(sxt_string text, bool full_only, struct sxt_size_room *room,
                              struct sxt_size_derived_names *out);

/* --- names_scan.c --- */

/* A walk over a signature, one token a step, that knows which brackets are open. */
struct sxt_size_scan {
    sxt_string text;
    size_t at;
    char *open; /* the brackets that are open, outermost first; room for as many as there are bytes */
    size_t depth;
    size_t counts[4];   /* of each kind among them */
    bool is_conversion; /* met "operator TYPE", and is still in the type */
};

/* Skips bytes that are never a token, if there are any. */
static inline void sxt_size_scan_skip(struct sxt_size_scan *scan)
{
    const char *data = scan->text.data;
    size_t at = scan->at, size = scan->text.size;
    while (at < size && (data[at] == ':' || (sxt_size_is_word(data[at]) && data[at] != 'o')))
        at++;
    scan->at = at;
}

/* Goes over one token at `at`: an operator's name, a bracket, any other byte. There must be one. */
void sxt_size_scan_step(struct sxt_size_scan *scan);

/* Does the "(" at `at`, which is outside of all brackets, begin the parameters of a function? */
bool sxt_size_scan_is_parameters(const struct sxt_size_scan *scan);

#endif
