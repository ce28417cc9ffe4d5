/* demangle.h: readable forms of mangled names: C++, Rust (legacy and v0) and D. */
#ifndef SXT_DEMANGLE_DEMANGLE_H
#define SXT_DEMANGLE_DEMANGLE_H

#include <stdbool.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/strings.h"

/*
 * Appends the readable form of NAME to OUT and returns true, or returns false and appends nothing when NAME is not
 * mangled, cannot be decoded, is over 64 KiB, or its readable form is over 1 MiB. Parameters and template arguments are
 * kept. When memory is short, OUT is marked as failed. A clone's suffix stays, as " [clone .cold]"; "@plt" and
 * "@@VERSION" stay as they are. Safe from any thread.
 */
bool sxt_demangle(sxt_string name, struct sxt_buffer *out);

/* --- gnu.c: names as GNU's tools print them --- */

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
 * Appends the readable form of NAME to OUT and returns true, or returns false and appends nothing if GNU's tools would
 * not change the name. Dots and dollar signs before the name, and a part after it that begins with '@', are kept.
 * NO_LIMIT lifts the limit on nesting for names of up to 4 KiB; longer names keep it, since nesting takes stack. A name
 * over 64 KiB, or one whose readable form is over 1 MiB, is not changed.
 */
bool sxt_gnu_demangle(sxt_string name, enum sxt_gnu_style style, bool no_limit, struct sxt_buffer *out);

/* The style with that name ("auto", "gnu-v3", "rust" ...); false if there is none. */
bool sxt_gnu_style_named(const char *name, enum sxt_gnu_style *style);

/* The readable forms of many names. */
struct sxt_demangled {
    sxt_string *forms; /* by index of the name; absent where sxt_demangle returns false */
    uint32_t *hashes;  /* of the forms, by index, in the table of sxt_demangle_all; NULL if there was none */
    size_t count;
    char *text;             /* the bytes of the forms */
    struct sxt_arena *more; /* those that do not fit there, by thread */
    unsigned thread_count;
};

/* The name with an index. Called from several threads. */
typedef sxt_string sxt_demangle_name_at(const void *names, size_t index);

/*
 * Fills *OUT, which the caller frees even after a failure, with the forms of COUNT names, and with their hashes in
 * TABLE unless that is NULL. THREADS: see sxt_pool_threads. If the forms become very large compared to the names, the
 * remaining names stay mangled.
 */
int sxt_demangle_all(struct sxt_demangled *out, size_t count, sxt_demangle_name_at *name_at, const void *names,
                     const struct sxt_strings *table, unsigned threads, sxt_error *error);
void sxt_demangled_free(struct sxt_demangled *demangled);

#endif
