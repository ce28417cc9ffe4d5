/* demangle.h: names for people, in the words of GNU's tools. */
#ifndef SXT_SOURCE_GNU_DEMANGLE_H
#define SXT_SOURCE_GNU_DEMANGLE_H

#include <stdbool.h>

#include <sextant/symbols.h>

#include "base/buffer.h"

/* Which languages are tried. `auto` is Rust and C++. */
enum sxt_gnu_style {
    SXT_GNU_AUTO,
    SXT_GNU_NONE,
    SXT_GNU_CPLUSPLUS,
    SXT_GNU_JAVA,
    SXT_GNU_ADA,
    SXT_GNU_D,
    SXT_GNU_RUST,
};

/*
 * Appends the readable form of NAME to OUT and returns true, or returns false and appends nothing where GNU's tools
 * would leave the name as it is. Dots and dollars before it and what begins with '@' behind it stay. NO_LIMIT lifts the
 * limit on nesting for names of up to 4 KiB; longer names keep it, since nesting takes stack. A name over 64 KiB, or
 * one whose readable form is over 1 MiB, stays as it is.
 */
bool sxt_gnu_demangle(sxt_string name, enum sxt_gnu_style style, bool no_limit, struct sxt_buffer *out);

/* The style with that name ("auto", "gnu-v3", "rust" ...); false when there is none. */
bool sxt_gnu_style_named(const char *name, enum sxt_gnu_style *style);

#endif
