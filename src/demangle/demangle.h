/* demangle.h: names for people: C++, Rust (legacy and v0) and D. */
#ifndef SXT_DEMANGLE_DEMANGLE_H
#define SXT_DEMANGLE_DEMANGLE_H

#include <stdbool.h>

#include <sextant/string.h>

#include "base/buffer.h"

/*
 * Appends the readable form of NAME to OUT and returns true, or returns false and appends nothing when NAME is not
 * mangled, cannot be decoded, is over 64 KiB, or its readable form is over 1 MiB. Parameters and template arguments are
 * kept. When memory is short, OUT is marked as failed. A clone's suffix stays, as " [clone .cold]"; "@plt" and
 * "@@VERSION" stay as they are. Safe from any thread.
 */
bool sxt_demangle(sxt_string name, struct sxt_buffer *out);

#endif
