/*
 * ar.h: the members of a static library, one after the other. The names of GNU ("//" and "/123"), BSD ("#1/12") and
 * plain ones are understood; a thin library has only the names of its members, which are files of their own.
 */
#ifndef SXT_SOURCE_AR_H
#define SXT_SOURCE_AR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

struct sxt_ar {
    const uint8_t *data; /* borrowed */
    size_t size;
    size_t next;      /* where the next member begins */
    bool is_thin;     /* members have no bytes here */
    sxt_string names; /* long names; absent until they come */
};

struct sxt_ar_member {
    sxt_string name;
    const uint8_t *data; /* NULL in a thin library */
    size_t size;
};

bool sxt_ar_is(const uint8_t *data, size_t size);
void sxt_ar_open(struct sxt_ar *ar, const uint8_t *data, size_t size);

/*
 * The next member that is not a table of the library itself; *MEMBER has no name behind the last one. Fails when what
 * comes is no member.
 */
int sxt_ar_next(struct sxt_ar *ar, struct sxt_ar_member *member, sxt_error *error);

#endif
