/*
 * sextant/ksym_writer.h: writing ksym blobs, symbol tables that a kernel maps and reads in place. The reader is
 * sextant/ksym.h.
 *
 * A writer collects symbols from any number of inputs and writes them as one blob, sorted by address and by name.
 *
 *     sxt_ksym_writer *writer;
 *     sxt_error error;
 *     int status = sxt_ksym_writer_new(NULL, &writer, &error);
 *     if (status == SXT_OK)
 *         status = sxt_ksym_writer_add_file(writer, "/proc/kallsyms", &error);
 *     if (status == SXT_OK)
 *         status = sxt_ksym_writer_write_path(writer, "kernel.ksym", NULL, &error);
 *     sxt_ksym_writer_free(&writer);
 *
 * One thread at a time may use a writer. It copies the names and texts that are passed to it.
 */
#ifndef SEXTANT_KSYM_WRITER_H
#define SEXTANT_KSYM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/ksym.h>
#include <sextant/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What these options point to must stay valid until the writer is freed. */
typedef struct sxt_ksym_options {
    size_t struct_size;     /* set by sxt_ksym_options_init */
    const char *types;      /* only these types: letters as nm prints them, or "all"; NULL: see each function */
    sxt_ksym_layout layout; /* of the blob */
    bool mangled;           /* leave names as linked; by default those of text and binaries are demangled */
    bool no_binaries;       /* sxt_ksym_writer_add_file refuses ELF files */
    const sxt_extract_options *extract; /* how ELF files are read; NULL: symbol tables, and that of the Go runtime */
    /*
     * Called for a problem that costs only a part of the result, on the thread that called the library. PATH is the
     * file, or NULL. May be NULL.
     */
    void (*warning)(void *data, const char *path, const char *text);
    void *warning_data;
    unsigned threads; /* the most threads for demangling; 0: see sxt_extract_options */
    uintptr_t reserved[4];
} sxt_ksym_options;

SXT_API void sxt_ksym_options_init(sxt_ksym_options *options);

typedef struct sxt_ksym_writer sxt_ksym_writer;

/*
 * Makes an empty writer. OPTIONS may be NULL. On failure *OUT is NULL. SXT_ERROR_USAGE if `types` has something other
 * than letters, '-' and '?'.
 */
SXT_API int sxt_ksym_writer_new(const sxt_ksym_options *options, sxt_ksym_writer **out, sxt_error *error);

/* Frees *WRITER and sets it to NULL. *WRITER may be NULL. */
SXT_API void sxt_ksym_writer_free(sxt_ksym_writer **writer);

/* Adds one symbol. TYPE is a letter as nm prints it. NAME may end with a module: "ext4_fill_super [ext4]". */
SXT_API int sxt_ksym_writer_add(sxt_ksym_writer *writer, uint64_t address, char type, const char *name, size_t size,
                                sxt_error *error);

/*
 * Adds the symbols of a text in the format of /proc/kallsyms or nm; by default those of the types T and t, as the
 * format has it. Weak (W, w) and indirect functions (i) are code too: the types "TtWwi" include them, and without them
 * their addresses get the name of the symbol before them. sxt_ksym_writer_left_out counts them. SXT_ERROR_NOT_FOUND if
 * there are none, with SXT_REASON_SYMBOL_TYPES if there are some of other types. SXT_ERROR_UNSUPPORTED if all addresses
 * are 0, as the kernel shows them to users who may not see them.
 */
SXT_API int sxt_ksym_writer_add_text(sxt_ksym_writer *writer, const void *text, size_t size, sxt_error *error);

/*
 * Adds the symbols of a binary that nm would list; by default all code: the types T and t, weak functions (W) and
 * indirect ones (i). If it has no such symbols, its functions are added, with the type T. SXT_ERROR_NOT_FOUND with
 * SXT_REASON_SYMBOL_TYPES if nothing is left.
 */
SXT_API int sxt_ksym_writer_add_symbols(sxt_ksym_writer *writer, const sxt_symbols *symbols, sxt_error *error);

/* Adds the symbols of another blob; by default all. */
SXT_API int sxt_ksym_writer_add_ksym(sxt_ksym_writer *writer, const sxt_ksym *ksym, sxt_error *error);

/*
 * Adds the symbols of a file, plain or compressed: a text, an ELF file, a Lidia archive, a symbfile (both give their
 * functions, as type T), or a ksym blob. "-" is standard input.
 */
SXT_API int sxt_ksym_writer_add_file(sxt_ksym_writer *writer, const char *path, sxt_error *error);

/*
 * How many symbols of TYPE, a letter as nm prints it, were left out so far because it is not among the types. A weak
 * symbol of a binary that is not code counts as V, although nm prints W if it has no type.
 */
SXT_API uint64_t sxt_ksym_writer_left_out(const sxt_ksym_writer *writer, char type);

/*
 * Writes the blob. The same symbols in the same order always give the same bytes. Names that do not fit into a blob
 * (empty, over 65535 bytes, not UTF-8) are left out with a warning. *WRITTEN (WRITTEN may be NULL) says what is in the
 * blob.
 *
 * ..._path: the file at PATH appears whole or not at all (temporary name, fsync, rename). "-" is standard output.
 * ..._fd: writes to an open descriptor from its current position; it stays open. A failure may leave a part written.
 * ..._memory: the caller frees *DATA with sxt_free.
 */
SXT_API int sxt_ksym_writer_write_path(sxt_ksym_writer *writer, const char *path, sxt_written *written,
                                       sxt_error *error);
SXT_API int sxt_ksym_writer_write_fd(sxt_ksym_writer *writer, int fd, sxt_written *written, sxt_error *error);
SXT_API int sxt_ksym_writer_write_memory(sxt_ksym_writer *writer, void **data, size_t *size, sxt_written *written,
                                         sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
