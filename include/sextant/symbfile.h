/*
 * sextant/symbfile.h: writing symbfiles, the symbol format of the OpenTelemetry eBPF profiler. They are read with
 * sextant/archive.h.
 *
 * A ranges file says which function owns which bytes. A return-pad file has the whole inline chain of every call, by
 * its return address. docs/formats/symbfile.md has the layout. Several threads may write from the same sxt_symbols at
 * the same time.
 *
 *     sxt_symbols *symbols;
 *     sxt_error error;
 *     if (sxt_symbols_from_path("app", NULL, &symbols, &error) == SXT_OK)
 *         sxt_symbfile_write_both_path(symbols, "app", NULL, "app.symbfile", "app.returnpads", NULL, NULL, &error);
 *     sxt_symbols_free(&symbols);
 */
#ifndef SEXTANT_SYMBFILE_H
#define SEXTANT_SYMBFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sxt_symbfile_options {
    size_t struct_size;            /* set by sxt_symbfile_options_init */
    bool mangled;                  /* leave names as linked; by default they are demangled */
    const sxt_path_map *path_maps; /* applied to file names; the first that matches is used */
    size_t path_map_count;
    unsigned threads; /* the most threads; 0: see sxt_extract_options */
    uintptr_t reserved[4];
} sxt_symbfile_options;

SXT_API void sxt_symbfile_options_init(sxt_symbfile_options *options);

/*
 * Write the ranges of SYMBOLS. In all functions of this header, OPTIONS and WRITTEN may be NULL, and *WRITTEN says what
 * is in the file.
 *
 * ..._path: the file at PATH appears whole or not at all (temporary name, fsync, rename). "-" is standard output.
 * ..._fd: writes to an open descriptor from its current position; it stays open. A failure may leave a part written.
 * ..._memory: the caller frees *DATA with sxt_free.
 */
SXT_API int sxt_symbfile_write_ranges_path(const sxt_symbols *symbols, const sxt_symbfile_options *options,
                                           const char *path, sxt_written *written, sxt_error *error);
SXT_API int sxt_symbfile_write_ranges_fd(const sxt_symbols *symbols, const sxt_symbfile_options *options, int fd,
                                         sxt_written *written, sxt_error *error);
SXT_API int sxt_symbfile_write_ranges_memory(const sxt_symbols *symbols, const sxt_symbfile_options *options,
                                             void **data, size_t *size, sxt_written *written, sxt_error *error);

/*
 * Write a return pad for every call in the functions of SYMBOLS. BINARY is the path of the ELF file that SYMBOLS was
 * read from; its code is read too. SXT_ERROR_UNSUPPORTED for any machine but x86-64, i386 and AArch64.
 */
SXT_API int sxt_symbfile_write_pads_path(const sxt_symbols *symbols, const char *binary,
                                         const sxt_symbfile_options *options, const char *path, sxt_written *written,
                                         sxt_error *error);
SXT_API int sxt_symbfile_write_pads_fd(const sxt_symbols *symbols, const char *binary,
                                       const sxt_symbfile_options *options, int fd, sxt_written *written,
                                       sxt_error *error);
SXT_API int sxt_symbfile_write_pads_memory(const sxt_symbols *symbols, const char *binary,
                                           const sxt_symbfile_options *options, void **data, size_t *size,
                                           sxt_written *written, sxt_error *error);

/*
 * Write ranges and return pads at the same time, to two files. On failure *FAILED (FAILED may be NULL) is 0 if the
 * ranges could not be written, and 1 if the pads could not; the other file may have been written.
 */
SXT_API int sxt_symbfile_write_both_path(const sxt_symbols *symbols, const char *binary,
                                         const sxt_symbfile_options *options, const char *ranges, const char *pads,
                                         sxt_written *written, int *failed, sxt_error *error);
SXT_API int sxt_symbfile_write_both_fd(const sxt_symbols *symbols, const char *binary,
                                       const sxt_symbfile_options *options, int ranges, int pads, sxt_written *written,
                                       int *failed, sxt_error *error);
SXT_API int sxt_symbfile_write_both_memory(const sxt_symbols *symbols, const char *binary,
                                           const sxt_symbfile_options *options, void **ranges, size_t *ranges_size,
                                           void **pads, size_t *pads_size, sxt_written *written, int *failed,
                                           sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
