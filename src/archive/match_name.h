/*
 * match_name.h: whether a readable name is the one that a user asked for. Private to this room.
 *
 * A user types "ns::Box::get", not "int ns::Box<char>::get<int>(int) const". The wanted name may leave out a return
 * type, the parameters with all that follows them, and template arguments, each of them.
 */
#ifndef SXT_ARCHIVE_MATCH_NAME_H
#define SXT_ARCHIVE_MATCH_NAME_H

#include <stdbool.h>

#include <sextant/string.h>

/* How well a name fits; a higher value fits better. */
enum sxt_name_match {
    SXT_NAME_DIFFERS,
    SXT_NAME_CLONE, /* a clone of the function: "f.constprop.0", "f(int) [clone .isra.0]" */
    SXT_NAME_FITS,
};

enum sxt_name_match sxt_match_name(sxt_string name, sxt_string wanted);

#endif
