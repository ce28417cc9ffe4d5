/*
 * sextant/archive.h: open anything that has addresses and look addresses up in it.
 *
 * An sxt_archive is immutable once open: any number of threads may use it at the same time, without locks. Opening a
 * .lidia file takes the same time whatever its size (it is mapped, not read); opening an ELF file reads its symbols
 * first. Every sxt_string that comes out of an archive points into it and lives until sxt_archive_close. The bytes of a
 * mapped file must not change while it is open: replace an archive by renaming a new one over it, as every writer of
 * this library does.
 *
 *     sxt_archive *archive;
 *     sxt_error error;
 *     if (sxt_archive_open_path("app", NULL, &archive, &error) != SXT_OK)
 *         fprintf(stderr, "app: %s\n", error.text);
 *     sxt_frame frames[64];
 *     size_t count = sxt_archive_lookup(archive, 0x401136, frames, 64);
 *     ...
 *     sxt_archive_close(&archive);
 */
#ifndef SEXTANT_ARCHIVE_H
#define SEXTANT_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a file. More may be added; the values are part of the ABI. */
typedef enum sxt_kind {
    SXT_KIND_UNKNOWN = 0,
    SXT_KIND_ELF = 1,
    SXT_KIND_LIDIA = 2,
    SXT_KIND_SYMBFILE = 3, /* ranges or return pads */
    SXT_KIND_KSYM = 4,
    SXT_KIND_SIZE = 5,
    SXT_KIND_SIZEDIFF = 6,
    SXT_KIND_TRACE = 7 /* a heap trace (.mlyze), whole or cut off */
} sxt_kind;

/*
 * Detects the kind of the file at PATH from its content, without reading its records. A ksym blob has no magic number
 * and is checked as a whole; a compressed file is expanded as far as needed. For a file of any other kind *KIND is
 * SXT_KIND_UNKNOWN, and the call succeeds. SXT_ERROR_UNSUPPORTED for a stream, because it could not be read again
 * afterwards.
 */
SXT_API int sxt_identify_path(const char *path, sxt_kind *kind, sxt_error *error);

/* What identifies a binary, and what it has. The caller sets struct_size; more fields may be added at the end. */
typedef struct sxt_binary {
    size_t struct_size;
    char build_id[130]; /* lower-case hex, "" if there is none */
    char file_id[33];   /* lower-case hex */
    const char *arch;   /* static; NULL if unknown */
    bool has_code;      /* false for a debug file, whose code was removed */
    bool has_dwarf;
    bool has_symbols; /* .symtab */
} sxt_binary;

/* Describes the ELF file at PATH (plain or compressed) but not its symbols. Others are SXT_ERROR_UNSUPPORTED. */
SXT_API int sxt_identify_binary(const char *path, sxt_binary *out, sxt_error *error);

/* A short name: "elf", "lidia", "symbfile", "ksym", "size", "sizediff", "mlyze"; otherwise "unknown". Never NULL. */
SXT_API const char *sxt_kind_name(sxt_kind kind);

typedef struct sxt_archive sxt_archive;

typedef struct sxt_open_options {
    size_t struct_size;                 /* set by sxt_open_options_init */
    bool check_crc;                     /* compare the checksums of an archive while opening it: O(size) */
    bool mangled;                       /* ELF input: leave names as linked */
    const sxt_extract_options *extract; /* ELF input: how to read it; NULL: the defaults */
    uint64_t text_start;                /* ksym blob: lookups find only [text_start, text_end); */
    uint64_t text_end;                  /* both 0: from the first symbol to the end of the 4 KiB page of the last one */
    uintptr_t reserved[4];
} sxt_open_options;

SXT_API void sxt_open_options_init(sxt_open_options *options);

/*
 * Open an archive or an ELF file. The format is detected from the content. OPTIONS may be NULL. On success the caller
 * closes *OUT; on failure it is NULL. open_fd keeps its own mapping, so the descriptor may be closed after the call.
 * open_memory borrows the bytes until sxt_archive_close.
 */
SXT_API int sxt_archive_open_path(const char *path, const sxt_open_options *options, sxt_archive **out,
                                  sxt_error *error);
SXT_API int sxt_archive_open_fd(int fd, const sxt_open_options *options, sxt_archive **out, sxt_error *error);
SXT_API int sxt_archive_open_memory(const void *data, size_t size, const sxt_open_options *options, sxt_archive **out,
                                    sxt_error *error);

/* Frees *ARCHIVE and sets it to NULL. *ARCHIVE may be NULL. No other thread may be using it. */
SXT_API void sxt_archive_close(sxt_archive **archive);

/* One frame of the chain at an address. Callers keep arrays of these, so the size is fixed: 64 bytes. */
typedef struct sxt_frame {
    sxt_string function;
    sxt_string file;   /* absent when unknown */
    uint32_t line;     /* 0 when unknown */
    uint32_t depth;    /* inline depth: the function itself is 0 */
    uint64_t start;    /* where the row that gave this frame begins; see sxt_archive_whole_range */
    uint64_t length;   /* length of that row in bytes */
    uint64_t reserved; /* 0 */
} sxt_frame;

/*
 * The chain of functions at ADDRESS (an ELF virtual address), innermost first; a frame with depth > 0 is inlined into
 * the one after it. Writes at most CAPACITY frames and returns how many there are (0: nothing is known), so a result
 * above CAPACITY means that the outermost frames were left out. Allocates nothing, cannot fail, and may be called from
 * any thread.
 */
SXT_API size_t sxt_archive_lookup(const sxt_archive *archive, uint64_t address, sxt_frame *frames, size_t capacity);

/*
 * Look up COUNT addresses at once; much faster than one at a time when they are sorted. The frames of address i are
 * FRAMES[FIRST[i]] up to, not including, FRAMES[FIRST[i + 1]]; FIRST has room for COUNT + 1 entries. Returns how many
 * addresses were looked up: less than COUNT when FRAMES has no room for the next chain. The caller then calls again
 * with the rest. Allocates nothing, and may be called from any thread.
 */
SXT_API size_t sxt_archive_lookup_batch(const sxt_archive *archive, const uint64_t *addresses, size_t count,
                                        sxt_frame *frames, size_t capacity, size_t *first);

/*
 * Extends START and LENGTH of a frame that a lookup returned to the whole contiguous range of its function or inlined
 * call. An archive stores a range whose lines come from several files as several rows, and a lookup returns the start
 * and length of one row. Only rows that the archive marks as pieces of one range are joined: neighbours of one name may
 * be several functions.
 */
SXT_API void sxt_archive_whole_range(const sxt_archive *archive, sxt_frame *frame);

/*
 * The other names of the function that FRAME, of depth 0, is in, as lookups give names. Writes at most CAPACITY names
 * and returns how many there are. *AMBIGUOUS (may be NULL) says whether the names are of several functions, whose
 * identical code a linker folded into one: then the address does not say which one was meant. If false, they are
 * several names of one function. A frame of an inlined call has no other names. Allocates nothing.
 */
SXT_API size_t sxt_archive_aliases(const sxt_archive *archive, const sxt_frame *frame, sxt_string *names,
                                   size_t capacity, bool *ambiguous);

/*
 * Whether FRAME is in a function whose name is ambiguous: what sxt_archive_aliases says in *AMBIGUOUS, in a fraction of
 * the time.
 */
SXT_API bool sxt_archive_is_ambiguous(const sxt_archive *archive, const sxt_frame *frame);

/*
 * Which of the names of the function that FRAME, of depth 0, is in was called by the call that returns to
 * RETURN_ADDRESS, which is in the same file. With FRAME NULL, which function is called there, if its name is ambiguous.
 * False if that is unknown. Allocates nothing.
 */
SXT_API bool sxt_archive_called(const sxt_archive *archive, const sxt_frame *frame, uint64_t return_address,
                                sxt_string *name);

/* A named function or symbol. The library passes it by pointer; more fields may be added at the end. */
typedef struct sxt_named {
    sxt_string name;
    uint64_t address;
    uint64_t size;
    sxt_string module; /* kernel module, which is part of the name in a ksym blob: "name [module]"; otherwise absent */
    char type;         /* as in sxt_symbol; 0 if the archive does not have it */
    char letter;       /* as nm prints it: 'T', 'd', ...; 0 if the archive does not have it */
} sxt_named;

/*
 * The symbol of a ksym blob that ADDRESS belongs to, with the type and module that a frame does not have. Its strings
 * live as long as the archive. False if nothing is known about the address, and for every other kind of archive.
 */
SXT_API bool sxt_archive_symbol_at(const sxt_archive *archive, uint64_t address, sxt_named *out);

/*
 * Calls FOUND for every function or symbol named NAME, in order of address, until it returns false. *COUNT (may be
 * NULL) is the number of calls; 0 is not an error. Names are compared as the archive stores them, in an ELF file also
 * as linked, and in a ksym blob with or without the module after them. NAME may leave out the return type, the
 * parameters, and template arguments: "ns::f" finds "ns::f(int)" and all other overloads. If no function has the name,
 * its clones are reported ("f.constprop.0"). O(rows), except for a ksym blob, which has an index of whole names. What
 * FOUND gets is valid only during the call. Fails only if memory is short; then FOUND was not called.
 */
SXT_API int sxt_archive_find_name(const sxt_archive *archive, const char *name,
                                  bool (*found)(void *data, const sxt_named *named), void *data, size_t *count,
                                  sxt_error *error);

/* A frame of a return pad. */
typedef struct sxt_pad_frame {
    sxt_string function;
    sxt_string file; /* absent if unknown */
    uint32_t line;   /* 0 if unknown */
    uint32_t reserved;
} sxt_pad_frame;

/* What sxt_archive_visit calls for each record. A function may be NULL: its records are skipped. */
typedef struct sxt_record_visitor {
    size_t struct_size; /* set by sxt_record_visitor_init */
    /* A row of a Lidia archive or symbfile, or a range of an ELF file. LINES has range->line_count entries. */
    bool (*range)(void *data, const sxt_range *range, const sxt_line *lines);
    /* A return pad of a symbfile; frames are outermost first. */
    bool (*pad)(void *data, uint64_t address, const sxt_pad_frame *frames, size_t count);
    /* A symbol of a ksym blob. */
    bool (*symbol)(void *data, const sxt_named *symbol);
    void *data;
    uintptr_t reserved[4];
} sxt_record_visitor;

SXT_API void sxt_record_visitor_init(sxt_record_visitor *visitor);

/*
 * Visits every record, in the order of the file, until a function returns false, which is not an error. What the
 * functions get is valid only during the call. They are called on the thread that called sxt_archive_visit.
 */
SXT_API int sxt_archive_visit(const sxt_archive *archive, const sxt_record_visitor *visitor, sxt_error *error);

/*
 * Collects the ranges of COUNT archives (Lidia archives, ranges files of the symbfile format and parts of them, ksym
 * blobs), unchanged, in one sxt_symbols, to write them in another format. On failure *OUT is NULL and *FAILED (FAILED
 * may be NULL) is the path that could not be read.
 */
SXT_API int sxt_symbols_from_archives(const char *const *paths, size_t count, sxt_symbols **out, const char **failed,
                                      sxt_error *error);

/*
 * Rows by number, in the order of addresses, and the lines of a row. SXT_ERROR_USAGE when there is no such row or line.
 */
SXT_API size_t sxt_archive_row_count(const sxt_archive *archive);
SXT_API int sxt_archive_row(const sxt_archive *archive, size_t index, sxt_range *out);
SXT_API int sxt_archive_line(const sxt_archive *archive, size_t row, size_t index, sxt_line *out);

/* The kind of file that the archive was opened from. O(1). */
SXT_API sxt_kind sxt_archive_kind(const sxt_archive *archive);

/* The name of the format: the name of the kind, or "returnpads" for a symbfile with return pads. O(1). */
SXT_API const char *sxt_archive_format(const sxt_archive *archive);

/* The build ID of the binary in lower-case hexadecimal, "" if unknown. Lives as long as the archive. O(1). */
SXT_API const char *sxt_archive_build_id(const sxt_archive *archive);

/*
 * Facts and figures about an archive. Strings live as long as the archive. The caller sets struct_size to
 * sizeof(sxt_info) before the call; more fields may be added at the end.
 */
typedef struct sxt_info {
    size_t struct_size;
    const char *format; /* "elf", "lidia", ... */
    uint32_t version;   /* of the format; 0 for ELF */
    const char *arch;   /* "x86_64", ...; NULL if the archive does not say */
    char build_id[130]; /* of the binary: lower-case hex, "" if it has none or the archive does not say */
    char file_id[33];   /* of the binary, not of an archive made from it: lower-case hex, "" if unknown */
    uint32_t sources;   /* the set of sxt_source that contributed; 0 if the archive does not say */
    uint64_t symbols;
    uint64_t functions;    /* ranges of depth 0 */
    uint64_t inlines;      /* ranges of depth above 0 */
    uint64_t lines;        /* line entries */
    uint64_t strings_size; /* bytes of names and paths */
    uint64_t size;         /* of the file */
    bool indexed;          /* lidia: has the section that makes deep lookups fast */
    bool nul_strings;      /* lidia: strings are NUL-terminated */
    uint32_t address_size; /* lidia: bytes of an address, of a field, of a line field */
    uint32_t field_size;
    uint32_t line_field_size;
    uint32_t section_base_count; /* relocatable ELF: for sxt_archive_section_base */
    sxt_units units;             /* of DWARF; for an archive all 0 */
    uint64_t return_pads;        /* symbfile: how many it has */
    uint64_t tokens;             /* ksym: how many shared prefixes of names it has */
    const char *layout;          /* ksym: "seed" or "0.6"; NULL otherwise */
    const char *path;            /* of the binary, as it was given; NULL if the archive does not say */
    uint32_t segment_count;      /* of the binary: parts that are loaded; for sxt_archive_segment */
    bool has_offsets;            /* sxt_archive_address_of_offset can be used */
} sxt_info;

/* A part of a binary that is loaded: a PT_LOAD segment, or a section of a relocatable file. */
typedef struct sxt_segment {
    uint64_t offset; /* in the file */
    uint64_t file_size;
    uint64_t address;
    uint64_t memory_size;
    uint32_t flags; /* PF_R, PF_W and PF_X of ELF */
    uint32_t reserved;
} sxt_segment;

/*
 * Computes the FileID of a file, which identifies executables in the OpenTelemetry profiler: 16 bytes as lower-case
 * hex, and as base64url without padding. Both are NUL-terminated.
 */
SXT_API int sxt_file_id(const char *path, char hex[33], char base64url[23], sxt_error *error);

/* Fills *OUT. Counts rows, so O(rows). */
SXT_API void sxt_archive_info(const sxt_archive *archive, sxt_info *out);

/* Relocatable ELF files: where section INDEX (0 to section_base_count - 1) was laid out. */
SXT_API int sxt_archive_section_base(const sxt_archive *archive, size_t index, sxt_string *name, uint64_t *base);

/* Segment INDEX (0 to segment_count - 1) of the binary. SXT_ERROR_USAGE when there is none. */
SXT_API int sxt_archive_segment(const sxt_archive *archive, size_t index, sxt_segment *out);

/*
 * Translates an offset in the binary to the virtual address where that byte is loaded. SXT_ERROR_NOT_FOUND when no
 * segment covers it. SXT_ERROR_USAGE with SXT_REASON_NO_SEGMENTS for an archive that does not have the segments of its
 * binary: one that was made by another program or from a debug file.
 */
SXT_API int sxt_archive_address_of_offset(const sxt_archive *archive, uint64_t offset, uint64_t *address,
                                          sxt_error *error);

/*
 * Checks the structure, checksums and references of a whole file and calls PROBLEM for everything that is wrong.
 * Returns SXT_OK when the check was carried out (then *COUNT is the number of problems), or an error when the file
 * could not be read at all or its kind is unknown. PROBLEM may be NULL if only the count matters.
 */
SXT_API int sxt_verify_path(const char *path, void (*problem)(void *data, const sxt_problem *problem), void *data,
                            uint64_t *count, sxt_error *error);
SXT_API int sxt_verify_memory(const void *bytes, size_t size, void (*problem)(void *data, const sxt_problem *problem),
                              void *data, uint64_t *count, sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
