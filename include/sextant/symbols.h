/*
 * sextant/symbols.h: the symbols and code ranges of one binary, read from the binary itself.
 *
 * An sxt_symbols is made by one of the sxt_symbols_from_... functions. It never changes afterwards, so any number of
 * threads may read it at the same time. Every sxt_string that comes out of it points into it and lives until
 * sxt_symbols_free. Names are as linked (mangled) and paths as recorded; the writers of archives demangle names when
 * they write them.
 */
#ifndef SEXTANT_SYMBOLS_H
#define SEXTANT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where symbols come from, best first. A better source wins for each address that it covers. */
typedef enum sxt_source {
    SXT_SOURCE_DWARF = 1,
    SXT_SOURCE_GO = 2,     /* the Go runtime's own function table (pclntab) */
    SXT_SOURCE_SYMTAB = 4, /* .symtab of the file, of its debug file, or of its MiniDebugInfo */
    SXT_SOURCE_DYNSYM = 8, /* .dynsym, and the names of PLT entries */
    SXT_SOURCE_ALL = 15
} sxt_source;

typedef enum sxt_extract_flags {
    SXT_EXTRACT_NO_LINES = 1,
    SXT_EXTRACT_NO_FILES = 2,
    SXT_EXTRACT_NO_INLINES = 4,
    SXT_EXTRACT_EXTEND_ZERO_SIZE = 8, /* a function symbol of size 0 extends to the next symbol (a guess) */
    SXT_EXTRACT_NO_DEBUG_SEARCH = 16, /* read the file itself only */
    SXT_EXTRACT_DETAILS = 32,         /* lines with column and discriminator, and an entry for each change of these */
    SXT_EXTRACT_VARIABLES = 64,       /* also read in which file each variable is declared */
    SXT_EXTRACT_REFERENCE = 128,      /* the rows and the order of the reference Lidia writer */
    SXT_EXTRACT_DECLARATIONS = 256    /* also read in which file each inlined function is declared */
} sxt_extract_flags;

typedef struct sxt_extract_options {
    size_t struct_size;          /* set by sxt_extract_options_init */
    const char *debug_path;      /* separate debug file; NULL: search for one */
    const char *debug_directory; /* root of the system's debug files; NULL: /usr/lib/debug */
    uint32_t sources;            /* a set of sxt_source */
    uint32_t flags;              /* a set of sxt_extract_flags */
    uint64_t inflate_limit;      /* the most bytes that one compressed input or section may expand to */
    /*
     * Called for a problem that costs only a part of the result. May be NULL. Both callbacks are called on the thread
     * that called the library.
     */
    void (*warning)(void *data, const sxt_error *problem);
    void *warning_data;
    /* Called from time to time: DONE of TOTAL bytes of debug information have been read. May be NULL. */
    void (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
    /* If only these addresses will be looked up, only what they need is read. NULL: everything is read. */
    const uint64_t *addresses;
    size_t address_count;
    unsigned threads; /* the most threads; 0: SEXTANT_THREADS in the environment, or one per processor */
    uintptr_t reserved[4];
} sxt_extract_options;

/* Fills in the defaults: all sources, no flags, search for debug files, 4 GiB inflate limit. */
SXT_API void sxt_extract_options_init(sxt_extract_options *options);

typedef struct sxt_symbols sxt_symbols;

/*
 * Read the symbols of an ELF file (plain, or compressed with gzip, xz or zstd). OPTIONS may be NULL for the defaults.
 * On success the caller frees *OUT with sxt_symbols_free; on failure it is NULL. from_fd does not close the descriptor
 * and needs it only during the call; from_memory needs the bytes only during the call. A path is needed to search for a
 * debug file beside the binary, so the other two search by build ID alone.
 */
SXT_API int sxt_symbols_from_path(const char *path, const sxt_extract_options *options, sxt_symbols **out,
                                  sxt_error *error);
SXT_API int sxt_symbols_from_fd(int fd, const sxt_extract_options *options, sxt_symbols **out, sxt_error *error);
SXT_API int sxt_symbols_from_memory(const void *data, size_t size, const sxt_extract_options *options,
                                    sxt_symbols **out, sxt_error *error);

/* Frees *SYMBOLS and sets it to NULL. *SYMBOLS may be NULL. */
SXT_API void sxt_symbols_free(sxt_symbols **symbols);

/* The units of DWARF that were read, those that are damaged in part, and those whose .dwo or .dwp was not found. */
typedef struct sxt_units {
    uint64_t read;
    uint64_t damaged;
    uint64_t missing;
} sxt_units;
SXT_API sxt_units sxt_symbols_units(const sxt_symbols *symbols);

/* One entry of a symbol table. */
typedef struct sxt_symbol {
    uint64_t address;
    uint64_t size;
    sxt_string name;
    sxt_string section; /* absent for absolute and common symbols */
    sxt_string module;  /* kernel module in kallsyms text; absent otherwise */
    char type;          /* 'F' function, 'I' indirect function, 'O' object, 'T' thread-local, 'N' no type, 'P' PLT */
    char binding;       /* 'G' global, 'W' weak, 'L' local, 'U' unique */
    uint8_t source;     /* one of sxt_source */
} sxt_symbol;

/* A run of machine code that belongs to one function, or to one inlined call of a function. */
typedef struct sxt_range {
    uint64_t address;
    uint64_t length;
    uint32_t depth;     /* 0 for the function itself, 1 for what is inlined into it, ... */
    uint32_t call_line; /* line of the call that was inlined here; 0 when unknown or depth is 0 */
    sxt_string function;
    sxt_string file;      /* of the function's own lines; absent when unknown */
    sxt_string call_file; /* of the call that was inlined here; absent when unknown */
    size_t line_count;
    uint8_t source; /* one of sxt_source */
} sxt_range;

typedef struct sxt_line {
    uint32_t offset; /* from the range's address; valid up to the next entry or the end of the range */
    uint32_t line;   /* 0 when unknown */
    uint32_t column; /* 0 when unknown */
    uint32_t discriminator;
    sxt_string file;
} sxt_line;

/* Symbols are in order of address; ranges in order of (address, depth). SXT_ERROR_USAGE for an index out of bounds. */
SXT_API size_t sxt_symbols_symbol_count(const sxt_symbols *symbols);
SXT_API int sxt_symbols_symbol(const sxt_symbols *symbols, size_t index, sxt_symbol *out);
SXT_API size_t sxt_symbols_range_count(const sxt_symbols *symbols);
SXT_API int sxt_symbols_range(const sxt_symbols *symbols, size_t index, sxt_range *out);
SXT_API int sxt_symbols_line(const sxt_symbols *symbols, size_t range, size_t index, sxt_line *out);

/* --- what the writers of archives share --- */

/* A path that begins with the components of OLD_PREFIX is written with NEW_PREFIX in their place. */
typedef struct sxt_path_map {
    const char *old_prefix;
    const char *new_prefix;
} sxt_path_map;

/*
 * What a writer has written. The caller sets struct_size to sizeof(sxt_written) before the call. More fields may be
 * added at the end.
 */
typedef struct sxt_written {
    size_t struct_size;
    uint64_t size;        /* bytes of the file; if two files are written, of the first */
    uint64_t functions;   /* Lidia archives and symbfiles: ranges of depth 0 */
    uint64_t inlines;     /* the same: ranges of depth above 0 */
    uint64_t lines;       /* the same: line entries */
    uint64_t return_pads; /* symbfiles */
    uint64_t symbols;     /* ksym blobs */
    uint64_t tokens;      /* ksym blobs: shared prefixes of names */
    uint64_t saved;       /* ksym blobs: bytes that the tokens save */
} sxt_written;

#ifdef __cplusplus
}
#endif

#endif
