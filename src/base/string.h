/* string.h: making, comparing and ordering sxt_string. An absent string equals the empty one. */
#ifndef SXT_BASE_STRING_H
#define SXT_BASE_STRING_H

#include <stdbool.h>
#include <string.h>

#include <sextant/string.h>

/* A view of all of TEXT; absent when TEXT is NULL. */
static inline sxt_string sxt_string_of(const char *text)
{
    return (sxt_string){text, text != NULL ? strlen(text) : 0};
}

static inline bool sxt_string_equal(sxt_string a, sxt_string b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Is TEXT the same as WORD? For a literal, the compiler computes the length of WORD. */
static inline bool sxt_string_is(sxt_string text, const char *word)
{
    size_t size = strlen(word);
    return text.size == size && (size == 0 || memcmp(text.data, word, size) == 0);
}

/* Does TEXT begin with PREFIX? Every string begins with the empty one. */
static inline bool sxt_string_has_prefix(sxt_string text, sxt_string prefix)
{
    return text.size >= prefix.size && (prefix.size == 0 || memcmp(text.data, prefix.data, prefix.size) == 0);
}

/* Does TEXT end with SUFFIX? */
static inline bool sxt_string_has_suffix(sxt_string text, sxt_string suffix)
{
    return text.size >= suffix.size &&
           (suffix.size == 0 || memcmp(text.data + (text.size - suffix.size), suffix.data, suffix.size) == 0);
}

/* The same for a WORD, such as a literal. */
static inline bool sxt_string_begins(sxt_string text, const char *word)
{
    return sxt_string_has_prefix(text, (sxt_string){word, strlen(word)});
}

static inline bool sxt_string_ends(sxt_string text, const char *word)
{
    return sxt_string_has_suffix(text, (sxt_string){word, strlen(word)});
}

/* Less than, equal to or greater than 0, by bytes; a prefix comes before longer strings. */
static inline int sxt_string_compare(sxt_string a, sxt_string b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

#endif
