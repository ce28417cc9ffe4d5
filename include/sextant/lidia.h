/*
 * sextant/lidia.h: writing Lidia archives. They are read with sextant/archive.h.
 *
 * The file has sorted addresses, a row for each, strings, and line entries, as Grafana Pyroscope reads them. They are
 * followed by an index that only sextant uses. docs/formats/lidia.md has the layout.
 *
 *     sxt_symbols *symbols;
 *     sxt_error error;
 *     if (sxt_symbols_from_path("app", NULL, &symbols, &error) == SXT_OK)
 *         sxt_lidia_write_path(symbols, NULL, "app.lidia", NULL, &error);
 *     sxt_symbols_free(&symbols);
 *
 * Several threads may write from the same sxt_symbols at the same time.
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

typedef struct sxt_lidia_options {
    size_t struct_size;            /* set by sxt_lidia_options_init */
    bool mangled;                  /* leave names as linked; by default they are demangled */
    bool nul_strings;              /* NUL-terminated strings instead of length-prefixed ones */
    bool no_index;                 /* leave the index out */
    const sxt_path_map *path_maps; /* applied to file names; the first that matches is used */
    size_t path_map_count;
    unsigned threads; /* the most threads for demangling; 0: see sxt_extract_options */
    uintptr_t reserved[4];
} sxt_lidia_options;

SXT_API void sxt_lidia_options_init(sxt_lidia_options *options);

/*
 * Writes the ranges of SYMBOLS to a file, which appears whole or not at all (temporary name, fsync, rename): after a
 * failure an old file at PATH is unchanged. "-" is standard output. OPTIONS may be NULL. *WRITTEN (WRITTEN may be NULL)
 * says what is in the file.
 */
SXT_API int sxt_lidia_write_path(const sxt_symbols *symbols, const sxt_lidia_options *options, const char *path,
                                 sxt_written *written, sxt_error *error);

/* The same to an open descriptor, from its current position; it stays open. A failure may leave a part written. */
SXT_API int sxt_lidia_write_fd(const sxt_symbols *symbols, const sxt_lidia_options *options, int fd,
                               sxt_written *written, sxt_error *error);

/* The same to memory; the caller frees *DATA with sxt_free. */
SXT_API int sxt_lidia_write_memory(const sxt_symbols *symbols, const sxt_lidia_options *options, void **data,
                                   size_t *size, sxt_written *written, sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
