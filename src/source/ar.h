/*
 * ar.h: reads the members of a static library. Supports names of GNU ("//" and "/123"), BSD ("#1/12") and plain names.
 * A thin library only has the names of its members, which are separate files.
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
    size_t next;      /* offset of the next member */
    bool is_thin;     /* the members are separate files */
    sxt_string names; /* the table of long names; absent until it was read */
};

struct sxt_ar_member {
    sxt_string name;
    const uint8_t *data; /* NULL in a thin library */
    size_t size;
};

bool sxt_ar_is(const uint8_t *data, size_t size);
void sxt_ar_open(struct sxt_ar *ar, const uint8_t *data, size_t size);

/*
 * Gets the next member, skipping the tables of the library. After the last member, *MEMBER has no name. Fails if there
 * is not a valid member.
 */
int sxt_ar_next(struct sxt_ar *ar, struct sxt_ar_member *member, sxt_error *error);

#endif
