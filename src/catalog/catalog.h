/*
 * catalog.h: which binaries a store has symbols of, and which symbols are best.
 *
 * A binary has a FileID (f.HEX, 32 digits) or a build ID (b.HEX), or both, and then they name the same binary. Nothing
 * is ever changed in a store: objects are added and removed. What is true follows from a listing, so any number of
 * servers can work on one store without talking to each other.
 *
 *     blob/HH/SHA256                        content, named after itself; shared by all tenants
 *     t/TENANT/id/ID/part/KIND/GENERATION/PARTS/TIME-PART-HASH
 *                                           an acknowledged part of an upload: a symbfile; KIND is ranges or pads
 *     t/TENANT/id/ID/same/ID                the two ids name one binary; written for both of them
 *     t/TENANT/id/d.DEBUGID/same/ID         the debug id leads to the binary; only in this direction, so that listing
 *                                           a binary by its other ids takes no longer
 *     t/TENANT/id/ID/symbols/QQK-TIME-HASH[-PARTS[=GENERATION]]
 *                                           an entry: JSON that names blobs; QQ quality (99 best), K kind; PARTS and
 *                                           GENERATION of the parts that it was merged from
 *     t/TENANT/source/ID/PATHHASH/TIME-SHA256-SIZE
 *                                           a source file: the name says which blob; the content is its path
 *     t/TENANT/missing/ID/TIME-WHAT         upstream servers did not have it; WHAT is debuginfo, executable, or a hash
 *                                           of the path of a source file
 *     t/TENANT/announced/ID/TIME[-failed]   a client announced that it uploads the file, or that has failed
 *     t/TENANT/report/NAME/TIME-SHA256-KIND a report, with '~' for '/' in its name; the newest one counts
 *     t/TENANT/page/NAME/SHA256             a page of it; the hash is that of all that it was made of
 *
 *     TENANT is "-" (no tenant) or "=NAME"; TIME 16 hexadecimal digits of microseconds; HASH the first 16 digits of
 *     the SHA-256 of the object; GENERATION "-" or what the client sent, as "=" and the SHA-256 of it in 16 digits
 *
 * Times. The time of a part is that of the server's clock, or later: after it was written, the server lists the parts
 * of its kind, and if another server wrote something that should have come before it under a later time, the part gets
 * a time that is later still. Times that a process gives only grow. So the order of times is the order of events, also
 * if the clocks of servers differ; only what happens at the same moment can be in any order.
 *
 * Generations. The parts of one KIND, GENERATION and PARTS are a line, in the order of their times. They fill a set; a
 * later part of the same number replaces an earlier one; when every number is there, the set is complete, and the next
 * part begins another set. Of all complete sets of a kind, the one that was completed last answers. A push that names
 * its generation has a line for itself; it can be pushed again, and is then the newest.
 *
 * Merging. Who puts the last part lists the parts, sees the complete set, makes the archive (a blob) and then adds the
 * entry, whose TIME is that of the last part. Two servers that put the last two parts at the same moment both see the
 * set complete, because each lists after its own part is there; both make the same bytes under the same names. If the
 * server dies before the entry is there, the set is complete without an entry, and whoever asks for the binary next
 * merges it.
 *
 * After the entry was written, the parts that were listed are removed. Parts of a line up to the time of its newest
 * entry do not count any more, so it does not matter how many of them another server still sees: who decides about
 * sets lists parts first and entries after them. An entry also names the parts that it replaces. A server that finds
 * a newer entry which does not name its part gives the part a new time before it acknowledges it; if the part is gone,
 * an entry that was replaced since had it. So every acknowledged part counts.
 */
#ifndef SXT_CATALOG_CATALOG_H
#define SXT_CATALOG_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>
#include <sextant/error.h>

#include "store/store.h"

struct sxt_catalog;
struct sxt_json_writer;

struct sxt_catalog_options {
    unsigned list_life_ms;    /* how long a listing is believed; 0: 2000 */
    uint64_t open_limit;      /* archives that stay open; 0: 256 */
    uint64_t inflate_limit;   /* bytes that a part or a file may expand to; 0: 4 GiB */
    uint64_t stale_seconds;   /* after that an incomplete set is removed; 0: 86400 */
    const char *program;      /* the path of sextant, which is started to read ELF files */
    uint64_t worker_memory;   /* limits of that process: bytes of memory, 0: 4 GiB */
    unsigned worker_seconds;  /* seconds of processor time, 0: 300 */
    const _Atomic bool *stop; /* if it becomes true, that process is ended; may be NULL */
    uint64_t parts_limit;     /* bytes on disk of archives that are read by ranges; 0: 512 MiB */
    const char *page_version; /* what the pages of the program depend on; NULL: it has none */
};

int sxt_catalog_open(struct sxt_store *store, const struct sxt_catalog_options *options, struct sxt_catalog **out,
                     sxt_error *error);
void sxt_catalog_close(struct sxt_catalog **catalog);

/* --- ids --- */

/* The longest build ID: 64 bytes. */
#define SXT_CATALOG_ID_MAX 131

/*
 * An id as the catalog keeps it: "f." and 32 digits, or "b." and an even number of them; all lower case. Questions may
 * also have a debug id, "d." and 32 digits, which leads to the others.
 */
struct sxt_catalog_id {
    char text[SXT_CATALOG_ID_MAX];
};

/* FileIDs are hex (32 digits) or base64url (22 characters, padding allowed). False if TEXT is not one. */
bool sxt_catalog_parse_file_id(sxt_string text, struct sxt_catalog_id *out);
bool sxt_catalog_parse_build_id(sxt_string text, struct sxt_catalog_id *out);

/*
 * The debug id of Breakpad, by which Mozilla's tools name modules: 32 hexadecimal digits and an age, which is 0 for ELF
 * files. It becomes "d." and the 32 digits. Hyphens and a missing age are allowed. False if TEXT is not one.
 */
bool sxt_catalog_parse_debug_id(sxt_string text, struct sxt_catalog_id *out);

/* Either: 32 hexadecimal digits may be a FileID or a build ID of 16 bytes, and the catalog then asks for both. */
bool sxt_catalog_parse_id(sxt_string text, struct sxt_catalog_id out[2], size_t *count);

/* --- receiving --- */

enum sxt_catalog_kind { SXT_CATALOG_RANGES, SXT_CATALOG_PADS };

struct sxt_catalog_part {
    const char *tenant; /* "" for none */
    struct sxt_catalog_id file_id;
    struct sxt_catalog_id build_id; /* empty if unknown */
    enum sxt_catalog_kind kind;
    uint32_t part, parts;
    sxt_string generation; /* empty: none */
};

/*
 * Adds a part whose content, a plain symbfile, is in *WRITING, which is freed in any case. When it returns SXT_OK the
 * part is safe; *IS_COMPLETE says that its set now is, and that sxt_catalog_settle will find work.
 */
int sxt_catalog_add_part(struct sxt_catalog *catalog, const struct sxt_catalog_part *part,
                         struct sxt_store_writing **writing, bool *is_complete, sxt_error *error);

/* What is there of an upload, for a client that goes on with it. */
struct sxt_catalog_progress {
    bool is_complete; /* all of it, and no other upload of its kind was completed later */
    uint32_t *parts;  /* otherwise: the numbers of the parts that count, ascending; the caller frees it */
    size_t count;
};

/* Looks for the upload that UPLOAD is a part of; its number is not read. */
int sxt_catalog_find_upload(struct sxt_catalog *catalog, const struct sxt_catalog_part *upload,
                            struct sxt_catalog_progress *out, sxt_error *error);

/* Merges the complete sets of a binary that have no entry yet. */
int sxt_catalog_settle(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                       sxt_error *error);

/* What became of an ELF file. */
struct sxt_catalog_added {
    struct sxt_catalog_id file_id, build_id; /* empty if it has none */
    bool is_debug_file;                      /* without code */
    bool was_there;                          /* nothing changed */
};

/*
 * Adds an ELF file. Its symbols are read by another process. NAME is that of the file in lists; NULL: what the file
 * says itself, if it is a shared library. ID is what the client called it: SXT_ERROR_USAGE if the file has neither that
 * build ID nor that FileID (a debug file has no FileID). SXT_ERROR_FORMAT and SXT_ERROR_UNSUPPORTED if it cannot be
 * read, SXT_ERROR_LIMIT if that takes too much.
 */
int sxt_catalog_add_file(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         const char *name, struct sxt_store_writing **writing, struct sxt_catalog_added *added,
                         sxt_error *error);

/* The same for a file that an upstream server had. */
int sxt_catalog_add_fetched_file(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                                 struct sxt_store_writing **writing, struct sxt_catalog_added *added, sxt_error *error);

/* Adds a source file of the binary ID; PATH is absolute. */
int sxt_catalog_add_source(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                           const char *path, struct sxt_store_writing **writing, sxt_error *error);

/* What is known of an upload of a whole file that a client announces before it sends the file. */
enum sxt_catalog_announced {
    SXT_ANNOUNCED_NOT,
    SXT_ANNOUNCED,          /* and it should be on its way */
    SXT_ANNOUNCED_LONG_AGO, /* more than SECONDS ago */
    SXT_ANNOUNCED_FAILED,   /* what was sent was refused */
};

/* What a client says of a file before it sends it. Both may be empty. */
struct sxt_catalog_announcement {
    struct sxt_catalog_id file_id; /* of the executable that the file was taken from */
    char name[256];
};

/* Notes that the upload of a file is announced or, if WHAT is NULL, that it has failed. */
int sxt_catalog_announce(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         const struct sxt_catalog_announcement *what, sxt_error *error);
int sxt_catalog_find_announced(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                               uint64_t seconds, enum sxt_catalog_announced *out, sxt_error *error);

/* The last announcement; empty if there is none, or if it has failed. */
int sxt_catalog_read_announced(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                               struct sxt_catalog_announcement *out, sxt_error *error);

/* Notes that the FileID of WHAT, if it has one, names the same binary as ID. */
int sxt_catalog_join_announced(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                               const struct sxt_catalog_announcement *what, sxt_error *error);

/* Removes these notes, when the file is here. */
int sxt_catalog_forget_announced(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                                 sxt_error *error);

/* --- answering --- */

/* The best that is known of a binary, open for lookups. Shared and counted: release it after use. */
struct sxt_catalog_binary;

/*
 * Finds a binary by any of its ids. SXT_ERROR_NOT_FOUND if the tenant has nothing of it. If MAY_WAIT is false, it does
 * not touch the store: *WOULD_WAIT says that it has to, and the caller asks again on a thread that may wait.
 */
int sxt_catalog_find(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *ids, size_t id_count,
                     bool may_wait, bool *would_wait, struct sxt_catalog_binary **out, sxt_error *error);
void sxt_catalog_release(struct sxt_catalog *catalog, struct sxt_catalog_binary **binary);

struct sxt_catalog_question {
    const uint64_t *addresses;
    size_t count;
    bool are_offsets; /* in the file; otherwise virtual addresses */
    bool are_returns; /* return addresses: looked up at the byte before */
    bool are_whole;   /* frames have the start and length of their whole range: see sxt_archive_whole_range */
};

/* The frames of address INDEX, innermost first; they live during the call. Anything but SXT_OK ends the lookups. */
typedef int sxt_catalog_answer(void *data, size_t index, const sxt_frame *frames, size_t count);

/*
 * Looks addresses up. A return pad for exactly the address that is looked up wins over a range. An offset that is in no
 * segment, or whose segments are not known, has no frames. It fails only if a bucket does.
 */
int sxt_catalog_lookup(struct sxt_catalog_binary *binary, const struct sxt_catalog_question *question,
                       sxt_catalog_answer *answer, void *data, sxt_error *error);

/*
 * The address to which offsets in the loaded binary are relative: that of its first segment. 0 if the segments are not
 * known.
 */
uint64_t sxt_catalog_base_address(const struct sxt_catalog_binary *binary);

/*
 * Where the function begins that has ADDRESS, and how many bytes it has without gaps. OUTER is the outermost frame that
 * a lookup of ADDRESS gave. False if that is not known, because only a return pad has the address.
 */
bool sxt_catalog_function_range(const struct sxt_catalog_binary *binary, uint64_t address, const sxt_frame *outer,
                                uint64_t *start, uint64_t *size);

/* What would make the answers of a binary better. */
struct sxt_catalog_lack {
    struct sxt_catalog_id build_id;
    bool debuginfo;  /* what is there has no lines */
    bool executable; /* a debug file answers, and does not know the segments */
};

/* What a binary lacks; NULL if that is nothing, or if its build ID is not known. */
const struct sxt_catalog_lack *sxt_catalog_lack_of(const struct sxt_catalog_binary *binary);

/* The build ID that was joined to another id of a binary. SXT_ERROR_NOT_FOUND if none is known. */
int sxt_catalog_find_build_id(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                              struct sxt_catalog_id *out, sxt_error *error);

/*
 * Is a part of it read by ranges? A large archive in a bucket that is not in the cache is: lookups fetch what they
 * need, so they may wait.
 */
bool sxt_catalog_is_ranged(const struct sxt_catalog_binary *binary);

/* The local archive of ranges, for callers that need more than lookups; NULL if there is none, or not locally. */
const sxt_archive *sxt_catalog_archive(const struct sxt_catalog_binary *binary);

/* The archive that has the segments of the binary, or if none does, that of its ranges: for file offsets alone. */
const sxt_archive *sxt_catalog_layout(const struct sxt_catalog_binary *binary);

/* What can be read of a binary. */
enum sxt_catalog_content {
    SXT_CATALOG_LIDIA,      /* the merged archive of ranges */
    SXT_CATALOG_SYMBFILE,   /* ranges, as symbfile */
    SXT_CATALOG_RETURNPADS, /* return pads, as symbfile */
    SXT_CATALOG_EXECUTABLE,
    SXT_CATALOG_DEBUGINFO,
    SXT_CATALOG_SOURCE, /* the file PATH */
};

/* Opens the content; *HASH is the SHA-256 in hexadecimal, for an ETag. SXT_ERROR_NOT_FOUND if it is not there. */
int sxt_catalog_open_content(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *ids,
                             size_t id_count, enum sxt_catalog_content content, const char *path,
                             struct sxt_store_object **out, char hash[65], sxt_error *error);

/* --- reports: files that people look at --- */

#define SXT_CATALOG_REPORT_NAME_MAX 200

enum sxt_catalog_report_kind { SXT_CATALOG_REPORT_SIZE, SXT_CATALOG_REPORT_SIZEDIFF, SXT_CATALOG_REPORT_TRACE };

struct sxt_catalog_report {
    char name[SXT_CATALOG_REPORT_NAME_MAX + 1];
    enum sxt_catalog_report_kind kind;
    uint64_t size;
    int64_t time_us;
    char hash[65]; /* SHA-256 of the content */
};

/* "size", "sizediff" or "mlyze". */
const char *sxt_catalog_report_kind_name(enum sxt_catalog_report_kind kind);

/* One or more words of letters, digits and "._-", with '/' between them; none begins with '.'. */
bool sxt_catalog_is_report_name(const char *name);

/*
 * Adds a report whose content is in *WRITING, which is freed in any case, or replaces it. Its page is made, by another
 * process. SXT_ERROR_FORMAT if it cannot be read, SXT_ERROR_LIMIT with SXT_REASON_INFLATE_LIMIT if that takes too much.
 */
int sxt_catalog_add_report(struct sxt_catalog *catalog, const char *tenant, const char *name,
                           struct sxt_store_writing **writing, struct sxt_catalog_report *out, bool *was_there,
                           sxt_error *error);

/* SXT_ERROR_NOT_FOUND if there is none. */
int sxt_catalog_find_report(struct sxt_catalog *catalog, const char *tenant, const char *name,
                            struct sxt_catalog_report *out, sxt_error *error);
int sxt_catalog_open_report(struct sxt_catalog *catalog, const char *tenant, const char *name,
                            struct sxt_catalog_report *report, struct sxt_store_object **out, sxt_error *error);
int sxt_catalog_remove_report(struct sxt_catalog *catalog, const char *tenant, const char *name, sxt_error *error);

/*
 * The page of a report, or of what changed since BEFORE (NULL: none). If it is not there, it is made if MAY_MAKE, and
 * SXT_ERROR_NOT_FOUND otherwise. SXT_ERROR_UNSUPPORTED in a program without pages, SXT_ERROR_USAGE for two that cannot
 * be compared.
 */
int sxt_catalog_open_page(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_report *report,
                          const struct sxt_catalog_report *before, bool may_make, struct sxt_store_object **out,
                          char hash[65], sxt_error *error);

/* Those whose name contains SEARCH (NULL: all), in any case, at most LIMIT, after the name AFTER (NULL: from the
 * first). */
typedef int sxt_catalog_report_visit(void *data, const struct sxt_catalog_report *report);
int sxt_catalog_list_reports(struct sxt_catalog *catalog, const char *tenant, const char *search, const char *after,
                             size_t limit, sxt_catalog_report_visit *visit, void *data, sxt_error *error);

/* --- one archive in a bucket, without a store --- */

/*
 * Opens the object at WHERE, "s3://BUCKET/KEY", of any kind that sxt_archive_open_memory takes. A large Lidia archive
 * is read by ranges, unless WHOLE. One thread at a time may use it.
 */
struct sxt_catalog_place;
int sxt_catalog_open_place(const char *where, bool whole, const sxt_open_options *open, struct sxt_catalog_place **out,
                           sxt_error *error);
void sxt_catalog_close_place(struct sxt_catalog_place **place);

/*
 * The archive: for file offsets, and for lookups and sxt_archive_is_ambiguous at addresses that were loaded. With ALL,
 * also for whole ranges and other names at them.
 */
sxt_archive *sxt_catalog_place_archive(const struct sxt_catalog_place *place);
int sxt_catalog_place_load(struct sxt_catalog_place *place, const uint64_t *addresses, size_t count, bool all,
                           sxt_error *error);

/* --- listing and looking after --- */

/* How much symbols say. */
struct sxt_catalog_coverage {
    uint64_t functions, with_lines, inlines;
    bool has_symtab, has_dwarf;
};

/* 0 to 99: the better ones answer. */
unsigned sxt_catalog_quality(const struct sxt_catalog_coverage *coverage);

/* The same for symbols that a client pushes: from which source they are is not known. */
unsigned sxt_catalog_push_quality(uint64_t functions, uint64_t with_lines, uint64_t inlines, bool is_go);

/* A binary in a list. Strings live during the call. */
struct sxt_catalog_listed {
    const char *tenant;
    const char *file_id, *build_id; /* hexadecimal; NULL if unknown */
    const char *name, *arch;        /* NULL if unknown */
    const char *source; /* of the best entry: "ranges", "pads", "elf", "debug", "upstream"; NULL without one */
    bool has_symtab, has_dwarf, has_lines, has_inlines, has_go, has_pads, has_executable, has_debuginfo;
    uint64_t functions, size; /* size: of all its blobs */
    int64_t created_us;
    const char *missing;                /* why it has no answers, or what would make them better; NULL: nothing */
    uint32_t parts_there, parts_wanted; /* of the newest incomplete set; 0: none */
    const char *id;                     /* as the catalog keeps it; AFTER of the next page */
    const char *executable_hash, *debuginfo_hash; /* SHA-256 of the files in the best entries; NULL if there is none */
    unsigned quality;                             /* of the best entry */
};

typedef int sxt_catalog_visit(void *data, const struct sxt_catalog_listed *listed);

/* Writes the members of an object for LISTED: what the program and the service show of it. docs/service.md has them. */
void sxt_catalog_write_listed(struct sxt_json_writer *json, const struct sxt_catalog_listed *listed);

/*
 * All binaries of a tenant whose ids begin with PREFIX or whose name contains it, at most LIMIT, after the `id` AFTER
 * of a listed one (""). A binary with several ids is listed once.
 */
int sxt_catalog_list(struct sxt_catalog *catalog, const char *tenant, const char *prefix, const char *after,
                     size_t limit, sxt_catalog_visit *visit, void *data, sxt_error *error);

/* The one that ID names. SXT_ERROR_NOT_FOUND if a tenant has nothing of it. */
int sxt_catalog_describe(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         sxt_catalog_visit *visit, void *data, sxt_error *error);

/* All tenants that have something, "" for none; anything but SXT_OK from VISIT ends it. */
int sxt_catalog_tenants(struct sxt_catalog *catalog, int (*visit)(void *data, const char *tenant), void *data,
                        sxt_error *error);

/* SXT_ERROR_NOT_FOUND if a tenant has nothing of a binary, not even a part of an upload. */
int sxt_catalog_has(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id, sxt_error *error);

/* Removes all that a tenant has of a binary, under all its ids. SXT_ERROR_NOT_FOUND if there is nothing. */
int sxt_catalog_remove(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                       sxt_error *error);

/*
 * Notes that upstream servers do not have WHAT, a word, of a binary, and asks whether that was noted in the last
 * SECONDS: *LEFT is how many of them are left, 0 if it was not.
 */
int sxt_catalog_note_missing(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                             const char *what, sxt_error *error);
int sxt_catalog_is_missing(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                           const char *what, uint64_t seconds, uint64_t *left, sxt_error *error);

/* After this time, such a note is removed. */
#define SXT_CATALOG_MISSING_SECONDS 604800

struct sxt_catalog_swept {
    uint64_t objects, bytes;
};

/* Removes stale sets, worse entries that a better one replaced, entries older than RETENTION_SECONDS (0: none), and
 * blobs that no entry has named for at least an hour. Only counts them if DRY_RUN. */
int sxt_catalog_sweep(struct sxt_catalog *catalog, uint64_t retention_seconds, bool dry_run,
                      struct sxt_catalog_swept *out, sxt_error *error);

/* Reads everything: blobs have their hash, entries can be read and name blobs that are there, archives verify. */
typedef void sxt_catalog_problem(void *data, const char *key, const char *text);
int sxt_catalog_verify(struct sxt_catalog *catalog, sxt_catalog_problem *problem, void *data, uint64_t *checked,
                       sxt_error *error);

#endif
