/*
 * recent.h: the numbers of strings that were used recently. Most strings are used again soon, from the same place in
 * memory; comparing the text there is faster than a lookup in the table of strings. Private to this room.
 */
#ifndef SXT_SYMBFILE_RECENT_H
#define SXT_SYMBFILE_RECENT_H

#include <string.h>

#include "base/strings.h"

#define SXT_SYMBFILE_RECENT 4096 /* a power of two: the top bits of a product select the entry */

/* All zero when empty. Must be emptied together with the strings. */
struct sxt_symbfile_recent {
    struct {
        sxt_string given;
        const char *copy; /* in the table of strings */
        uint32_t number;
    } places[SXT_SYMBFILE_RECENT];
};

/* As sxt_strings_add. */
static inline uint32_t sxt_symbfile_recent_add(struct sxt_symbfile_recent *recent, struct sxt_strings *strings,
                                               sxt_string text)
{
    size_t place = (size_t)(((uint64_t)(uintptr_t)text.data * UINT64_C(0x9e3779b97f4a7c15)) >> 52);
    if (text.size > 0 && recent->places[place].given.data == text.data &&
        recent->places[place].given.size == text.size && memcmp(recent->places[place].copy, text.data, text.size) == 0)
        return recent->places[place].number;
    uint32_t number = sxt_strings_add(strings, text.data, text.size);
    if (number != SXT_STRINGS_FULL) {
        recent->places[place].given = text;
        recent->places[place].copy = sxt_strings_get(strings, number).data;
        recent->places[place].number = number;
    }
    return number;
}

#endif
