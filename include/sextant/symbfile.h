/*
 * sextant/symbfile.h: writing symbfiles, the symbol format of the OpenTelemetry eBPF profiler. They are read with
 * sextant/archive.h.
 *
 * A ranges file says who owns which bytes; a return-pad file has the whole inline chain for the address behind every
 * call. docs/formats/symbfile.md has the layout.
 */
#ifndef SEXTANT_SYMBFILE_H
#define SEXTANT_SYMBFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/lidia.h>
#include <sextant/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sxt_symbfile_options {
    size_t struct_size;            /* set by sxt_symbfile_options_init */
    bool mangled;                  /* leave names as linked; by default they are demangled */
    const sxt_path_map *path_maps; /* applied to file names on the way out; the first that matches counts */
    size_t path_map_count;
    uintptr_t reserved[8];
} sxt_symbfile_options;

SXT_API void sxt_symbfile_options_init(sxt_symbfile_options *options);

/*
 * Write the ranges of SYMBOLS to a file, which appears whole or not at all (temporary name, fsync, rename). "-" is
 * standard output. OPTIONS may be NULL.
 */
SXT_API int sxt_symbfile_write_ranges_path(const sxt_symbols *symbols, const sxt_symbfile_options *options,
                                           const char *path, sxt_error *error);

/*
 * Write a return pad for every call in the functions of SYMBOLS, which come from the ELF file BINARY; its code is read
 * again for that. SXT_ERROR_UNSUPPORTED for a machine whose calls are not known (known: x86-64, i386, AArch64). *COUNT
 * (may be NULL) is the number of pads.
 */
SXT_API int sxt_symbfile_write_pads_path(const sxt_symbols *symbols, const char *binary,
                                         const sxt_symbfile_options *options, const char *path, uint64_t *count,
                                         sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
