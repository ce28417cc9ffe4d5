/*
 * sextant/lidia.h: writing Lidia archives. They are read with sextant/archive.h.
 *
 * The file has sorted addresses, a row for each, strings, and line entries, as Grafana Pyroscope reads it; behind them
 * an index of ours that other readers do not notice. docs/formats/lidia.md has the layout.
 */
#ifndef SEXTANT_LIDIA_H
#define SEXTANT_LIDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A path that begins with OLD_PREFIX (whole components of it) begins with NEW_PREFIX instead. */
typedef struct sxt_path_map {
    const char *old_prefix;
    const char *new_prefix;
} sxt_path_map;

typedef struct sxt_lidia_options {
    size_t struct_size;            /* set by sxt_lidia_options_init */
    bool mangled;                  /* leave names as linked; by default they are demangled */
    bool nul_strings;              /* NUL-terminated strings instead of length-prefixed ones */
    bool no_index;                 /* leave the index out */
    const sxt_path_map *path_maps; /* applied to file names on the way out; the first that matches counts */
    size_t path_map_count;
    uintptr_t reserved[8];
} sxt_lidia_options;

SXT_API void sxt_lidia_options_init(sxt_lidia_options *options);

/*
 * Write the ranges of SYMBOLS to a file, which appears whole or not at all (temporary name, fsync, rename): a failure
 * leaves an old file at PATH as it was. OPTIONS may be NULL.
 */
SXT_API int sxt_lidia_write_path(const sxt_symbols *symbols, const sxt_lidia_options *options, const char *path,
                                 sxt_error *error);

/* The same into an open descriptor, from its current position; it stays open, and may be left half-written. */
SXT_API int sxt_lidia_write_fd(const sxt_symbols *symbols, const sxt_lidia_options *options, int fd, sxt_error *error);

/* The same into memory; *DATA is the caller's to give to sxt_free. */
SXT_API int sxt_lidia_write_memory(const sxt_symbols *symbols, const sxt_lidia_options *options, void **data,
                                   size_t *size, sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
