/*
 * profile.h: names for the addresses of profiles and of text. This is what the program uses of this room.
 *
 * Which files the addresses come from, an sxt_modules finds: below directories that the user names, then on this
 * machine. A profile may also be completed by a symbol service. One thread at a time.
 */
#ifndef SXT_PROFILE_PROFILE_H
#define SXT_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>

#include "base/buffer.h"

/*
 * Addresses of a running process: the map of its memory says which file an address comes from, and the archive of that
 * file says the rest. Files are opened when an address first needs them. One thread at a time.
 */
struct sxt_process;

/* From /proc/PID. */
int sxt_process_open_pid(long pid, const sxt_open_options *options, struct sxt_process **out, sxt_error *error);

/* From a saved copy of /proc/PID/maps; the files are opened under the names that stand in it. */
int sxt_process_open_maps(const char *path, const sxt_open_options *options, struct sxt_process **out,
                          sxt_error *error);
void sxt_process_close(struct sxt_process **process);

/* Where a run-time address leads. */
struct sxt_process_place {
    const char *module;  /* path of the mapped file; NULL when the address is not mapped from a file */
    uint64_t address;    /* virtual address inside that file */
    const char *problem; /* why the module cannot be asked; NULL when it can */
};

/* As sxt_archive_lookup, for a run-time ADDRESS. *PLACE is filled in any case; its texts live as long as PROCESS. */
size_t sxt_process_lookup(struct sxt_process *process, uint64_t address, sxt_frame *frames, size_t capacity,
                          struct sxt_process_place *place);

struct sxt_modules;

struct sxt_modules_options {
    const char *const *directories; /* searched with all that is below them; a file is fine too */
    size_t directory_count;
    bool no_local;         /* only there: the name in a mapping is not looked for on this machine */
    bool exact;            /* where a build ID is known, a file must have that one; a name does not count */
    const char *url;       /* a symbol service that is asked for what is not found, or has no symbols; NULL: none */
    const char *api_key;   /* for it: "id:key" or that as base64; NULL: none */
    sxt_open_options open; /* how ELF files are read; its warning is not used */
    /* What is wrong in the file at PATH but costs only a part of the result. May be NULL. */
    void (*warning)(void *data, const char *path, const sxt_error *problem);
    void *warning_data;
};

/* OPTIONS and what they point to must outlive the result. */
int sxt_modules_open(const struct sxt_modules_options *options, struct sxt_modules **out, sxt_error *error);
void sxt_modules_close(struct sxt_modules **modules);

/*
 * The file that was loaded under NAME and has BUILD_ID (hexadecimal, or nothing), open for these addresses, which are
 * those in the file; it is the caller's. NULL when it is not to be had: sxt_modules_missing says why.
 */
sxt_archive *sxt_modules_archive(struct sxt_modules *modules, sxt_string name, sxt_string build_id,
                                 const uint64_t *addresses, size_t count);

/* Why a location has no lines. */
enum sxt_unresolved {
    SXT_UNRESOLVED_MAPPING,  /* it belongs to no mapping */
    SXT_UNRESOLVED_FILE,     /* no file was found for its mapping */
    SXT_UNRESOLVED_BUILD_ID, /* only one with another build ID */
    SXT_UNRESOLVED_DAMAGED,  /* the file cannot be read */
    SXT_UNRESOLVED_OUTSIDE,  /* its address is not in its mapping, or nothing of the file is loaded there */
    SXT_UNRESOLVED_UNKNOWN,  /* the file has no symbol there */
    SXT_UNRESOLVED_KINDS
};

/* One line for people: "no file found". */
const char *sxt_unresolved_text(enum sxt_unresolved reason);

/* What became of a mapping. Texts live during the call only. */
struct sxt_profile_mapping {
    sxt_string name;
    sxt_string build_id;
    const char *file;    /* that was used, or the symbol service; NULL when there is none */
    const char *problem; /* why it could not be read; NULL when it could */
    uint64_t locations;  /* without lines at first */
    uint64_t symbolized;
    uint64_t unresolved[SXT_UNRESOLVED_KINDS];
};

struct sxt_profile_report {
    uint64_t locations;
    uint64_t kept; /* had lines already, and keep them */
    uint64_t symbolized;
    uint64_t functions; /* new ones */
    uint64_t unresolved[SXT_UNRESOLVED_KINDS];
};

struct sxt_profile_options {
    bool force;   /* replace lines that are there */
    bool mangled; /* names as linked */
    /* Called for each mapping that has locations to symbolize, in the order of the profile. May be NULL. */
    void (*mapping)(void *data, const struct sxt_profile_mapping *mapping);
    void *mapping_data;
};

/* Appends the profile at DATA (pprof, not compressed) to OUT, with lines in its locations. */
int sxt_profile_symbolize(const uint8_t *data, size_t size, struct sxt_modules *modules,
                          const struct sxt_profile_options *options, struct sxt_buffer *out,
                          struct sxt_profile_report *report, sxt_error *error);

/*
 * A filter for text: lines that speak of addresses (match.c has the forms) come out with names, files and lines; others
 * byte for byte. A line of over 64 KiB is not looked at.
 */
struct sxt_text;

int sxt_text_open(struct sxt_modules *modules, struct sxt_text **out, sxt_error *error);
void sxt_text_close(struct sxt_text **text);

/* Appends to OUT what SIZE more bytes lead to: all lines that are complete. Fails when OUT does. */
int sxt_text_feed(struct sxt_text *text, const char *data, size_t size, struct sxt_buffer *out, sxt_error *error);

/* The same for what is left at the end: a line without a newline. */
int sxt_text_end(struct sxt_text *text, struct sxt_buffer *out, sxt_error *error);

/* Calls MISSING for each module that was asked for and not found, or not readable, with the reason. */
void sxt_modules_missing(const struct sxt_modules *modules,
                         void (*missing)(void *data, sxt_string name, sxt_string build_id, const char *why),
                         void *data);

#endif
