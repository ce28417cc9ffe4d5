/*
 * sextant/profile.h: names for the addresses in pprof and OTLP profiles, and in text.
 *
 * An sxt_modules finds the files that the addresses come from: first in directories that the caller gives, by build ID,
 * FileID or name, then on this machine. For addresses that no file has, it can ask a symbol service. A profile is
 * symbolized as a whole; text goes through a filter line by line.
 *
 *     sxt_modules *modules;
 *     if (sxt_modules_open(NULL, &modules, &error) == SXT_OK) {
 *         if (sxt_text_filter_fd(modules, 0, 1, &error) != SXT_OK)
 *             fprintf(stderr, "%s\n", error.text);
 *         sxt_modules_close(&modules);
 *     }
 *
 * Only one thread at a time may use an sxt_modules and the filters opened with it. Callbacks are called on the thread
 * that called the library.
 */
#ifndef SEXTANT_PROFILE_H
#define SEXTANT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>
#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- files --- */

typedef struct sxt_modules sxt_modules;

typedef struct sxt_modules_options {
    size_t struct_size;             /* set by sxt_modules_options_init */
    const char *const *directories; /* searched with everything below them; a plain file may be given too */
    size_t directory_count;
    bool no_local;                /* search only the directories, not this machine by the name in a mapping */
    bool exact;                   /* if a build ID is known, accept only a file that has it */
    const char *url;              /* a symbol service for addresses that no file has; NULL: none */
    const char *api_key;          /* for the service: "id:key", or that as base64; NULL: none */
    const sxt_open_options *open; /* NULL: the defaults. The warning in its extract options is not called. */
    /* Called for a problem in the file at PATH that costs only a part of the result. May be NULL. */
    void (*warning)(void *data, const char *path, const sxt_error *problem);
    void *warning_data;
    /*
     * In a file whose segments are unknown (an archive that another program made, a debug file), take offsets for
     * addresses. That is right if every segment is as far from the first in memory as in the file.
     */
    bool assume_linear;
    const char *ca_file; /* for a url with https: the authorities to trust, in PEM; NULL: those of the system */
    uintptr_t reserved[2];
} sxt_modules_options;

SXT_API void sxt_modules_options_init(sxt_modules_options *options);

/* OPTIONS may be NULL; what they point to must live as long as *OUT. SXT_ERROR_USAGE for an unusable url or api_key. */
SXT_API int sxt_modules_open(const sxt_modules_options *options, sxt_modules **out, sxt_error *error);
SXT_API void sxt_modules_close(sxt_modules **modules);

/*
 * Opens the file that was loaded under NAME and has BUILD_ID (hexadecimal; may be absent). If COUNT is not 0, only
 * these virtual addresses of the file will be looked up, and only what they need is read. Returns NULL if there is no
 * such file or it cannot be read; sxt_modules_visit_missing gives the reason. The caller closes the archive.
 */
SXT_API sxt_archive *sxt_modules_archive(sxt_modules *modules, sxt_string name, sxt_string build_id,
                                         const uint64_t *addresses, size_t count);

/* Why an address has no name. More may be added at the end. */
typedef enum sxt_unresolved {
    SXT_UNRESOLVED_MAPPING = 0,   /* it belongs to no mapping */
    SXT_UNRESOLVED_FILE = 1,      /* no file was found for its mapping */
    SXT_UNRESOLVED_BUILD_ID = 2,  /* only a file with another build ID was found */
    SXT_UNRESOLVED_DAMAGED = 3,   /* the file cannot be read */
    SXT_UNRESOLVED_OUTSIDE = 4,   /* it is outside of its mapping, or the file loads nothing there */
    SXT_UNRESOLVED_UNKNOWN = 5,   /* the file has no symbol there */
    SXT_UNRESOLVED_SEGMENTS = 6,  /* its offset in the file is known, but not where the file loads that offset */
    SXT_UNRESOLVED_NOT_NATIVE = 7 /* OTLP: the frame is not one of native code */
} sxt_unresolved;

/* How many reasons there are, and how many the arrays below have room for. */
#define SXT_UNRESOLVED_KINDS 8
#define SXT_UNRESOLVED_ROOM  12

/* In words: "no file found". Static, never NULL. */
SXT_API const char *sxt_unresolved_text(sxt_unresolved reason);

/* A module that was needed but not found, or cannot be read. Later versions may add members at the end. */
typedef struct sxt_missing_module {
    sxt_string name;     /* as it was asked for; NUL-terminated, like build_id */
    sxt_string build_id; /* empty if unknown */
    sxt_unresolved reason;
    const char *problem; /* the reason in words; why it cannot be read, if it is damaged */
} sxt_missing_module;

/* Calls VISIT for each such module, in the order of first use, until it returns false. */
SXT_API void sxt_modules_visit_missing(const sxt_modules *modules,
                                       bool (*visit)(void *data, const sxt_missing_module *missing), void *data);

/* --- profiles --- */

/* The result for one mapping. Strings are valid only during the call. Later versions may add members at the end. */
typedef struct sxt_profile_mapping {
    sxt_string name;
    sxt_string build_id;
    const char *file;    /* the one that was used, or the symbol service; NULL if none */
    const char *problem; /* why it could not be read; NULL if it could */
    uint64_t locations;  /* that had no lines */
    uint64_t symbolized;
    uint64_t unresolved[SXT_UNRESOLVED_ROOM]; /* by sxt_unresolved */
} sxt_profile_mapping;

/* The result for a profile. */
typedef struct sxt_profile_report {
    size_t struct_size; /* set it to sizeof(sxt_profile_report) */
    uint64_t locations;
    uint64_t kept; /* those that had lines already, which are kept */
    uint64_t symbolized;
    uint64_t functions;                       /* that were added */
    uint64_t unresolved[SXT_UNRESOLVED_ROOM]; /* by sxt_unresolved */
    /* OTLP: of those without lines, how many are the leaf of one stack and a caller in another; looked up as callers */
    uint64_t leaf_and_caller;
} sxt_profile_report;

/* What a profile is. */
typedef enum sxt_profile_kind {
    SXT_PROFILE_ANY = 0, /* pprof or OTLP, by the content */
    SXT_PROFILE_PPROF = 1,
    SXT_PROFILE_OTLP = 2 /* a message of OTLP profiles, as protobuf or JSON */
} sxt_profile_kind;

typedef enum sxt_profile_form {
    SXT_PROFILE_AS_INPUT = 0, /* gzipped if the input is */
    SXT_PROFILE_PLAIN = 1,
    SXT_PROFILE_GZIP = 2
} sxt_profile_form;

typedef struct sxt_profile_options {
    size_t struct_size;     /* set by sxt_profile_options_init */
    bool force;             /* replace existing lines */
    bool mangled;           /* names as linked; by default they are demangled */
    sxt_profile_form form;  /* of the result */
    uint64_t inflate_limit; /* the most bytes that the profile may expand to; default 512 MiB */
    /* Called for each mapping with locations to symbolize, in the order of the profile; false stops. May be NULL. */
    bool (*mapping)(void *data, const sxt_profile_mapping *mapping);
    void *mapping_data;
    sxt_profile_kind kind;
    uintptr_t reserved[3];
} sxt_profile_options;

SXT_API void sxt_profile_options_init(sxt_profile_options *options);

/*
 * Fills functions, files and lines into the locations of the profile in DATA: a pprof profile, or an OTLP message as
 * protobuf or JSON (plain, or compressed with gzip, xz or zstd). The rest of the profile is unchanged, byte for byte.
 * OPTIONS and REPORT may be NULL. The caller frees *OUT with sxt_free; on failure it is NULL. SXT_ERROR_LIMIT with
 * SXT_REASON_INFLATE_LIMIT if the profile is too large.
 */
SXT_API int sxt_profile_symbolize(sxt_modules *modules, const void *data, size_t size,
                                  const sxt_profile_options *options, void **out, size_t *out_size,
                                  sxt_profile_report *report, sxt_error *error);

/* The same to an open descriptor, which stays open. A failure may leave a part written. */
SXT_API int sxt_profile_symbolize_fd(sxt_modules *modules, const void *data, size_t size,
                                     const sxt_profile_options *options, int fd, sxt_profile_report *report,
                                     sxt_error *error);

/* --- text --- */

/*
 * A filter for text: lines with addresses (of perf script, sanitizers, kernel oopses, backtrace()) come out with names,
 * files and lines; all other lines come out unchanged, byte for byte. A line longer than 64 KiB is not changed.
 */
typedef struct sxt_text_filter sxt_text_filter;

/* Receives output. If it returns false, the call of the filter that it was called from fails with SXT_ERROR_IO. */
typedef bool sxt_text_write(void *data, const char *text, size_t size);

/* MODULES must outlive the filter. */
SXT_API int sxt_text_filter_open(sxt_modules *modules, sxt_text_write *write, void *data, sxt_text_filter **out,
                                 sxt_error *error);
SXT_API void sxt_text_filter_close(sxt_text_filter **filter);

/*
 * Takes SIZE more bytes of input, and writes all lines that are complete. A line with a bare address of a kernel waits,
 * with the lines after it, for a line that says where the kernel was loaded, until sxt_text_filter_flush. A frame in
 * code that a linker folded waits for the next line, which may say what was called.
 */
SXT_API int sxt_text_filter_feed(sxt_text_filter *filter, const char *text, size_t size, sxt_error *error);

/* Writes the lines that wait: for when no more input comes for some time. */
SXT_API int sxt_text_filter_flush(sxt_text_filter *filter, sxt_error *error);

/* Ends the input: writes the last line if it has no newline. */
SXT_API int sxt_text_filter_end(sxt_text_filter *filter, sxt_error *error);

/*
 * Filters everything from one descriptor to another. Complete lines are written before waiting for more input, those
 * that wait for a later line after a fifth of a second.
 */
SXT_API int sxt_text_filter_fd(sxt_modules *modules, int input, int output, sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
