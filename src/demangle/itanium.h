/* itanium.h: a fast decoder of common C++ names. Private to this room. */
#ifndef SXT_DEMANGLE_ITANIUM_H
#define SXT_DEMANGLE_ITANIUM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/*
 * Appends the readable form of NAME to OUT and returns true, or returns false and appends nothing if NAME is not one of
 * the common names: then libiberty must decode it. The text is that of cplus_demangle_v3 with DMGL_PARAMS | DMGL_ANSI.
 * Gives up on names of Rust, which are tried before C++.
 */
bool sxt_itanium_demangle(const char *name, size_t size, struct sxt_buffer *out);

#endif
