/* private.h: what the files of this room share: names of objects, what a listing says, entries, blobs, the cache. */
#ifndef SXT_CATALOG_PRIVATE_H
#define SXT_CATALOG_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/sha256.h"
#include "catalog/catalog.h"

struct sxt_symbols;
struct sxt_catalog_cache;

struct sxt_catalog {
    struct sxt_store *store;
    struct sxt_catalog_options options; /* complete; program is a copy */
    pthread_mutex_t making;             /* held while an archive is made: one at a time bounds the memory */
    pthread_mutex_t extracting;         /* held while a worker runs */
    pthread_mutex_t paging;             /* the same for pages of reports */
    _Atomic int64_t last_time;          /* the last TIME that this process gave */
    struct sxt_catalog_cache *cache;
    pthread_mutex_t opening; /* guards `opened` */
    struct sxt_catalog_opened *opened;
    pthread_mutex_t listing; /* guards `lines` */
    pthread_cond_t listed;   /* one of them is done */
    struct sxt_catalog_line_listing *lines;
};

/* --- names of objects: keys.c --- */

#define SXT_CATALOG_KEY_ROOM 520
#define SXT_CATALOG_HASH     16 /* digits of a hash in a name */

/* Writes "t/TENANT/". SXT_ERROR_USAGE if the name of the tenant is too long. */
int sxt_catalog_tenant_prefix(char out[SXT_CATALOG_KEY_ROOM], const char *tenant, sxt_error *error);

/* Writes "t/TENANT/id/ID/" and what FORMAT makes. SXT_ERROR_USAGE if the id is not one. */
int sxt_catalog_key(char out[SXT_CATALOG_KEY_ROOM], const char *tenant, const char *id, sxt_error *error,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The name of a tenant, from the word that follows "t/". False if it is not one. */
bool sxt_catalog_tenant_of(sxt_string word, char out[SXT_CATALOG_KEY_ROOM]);

/* Is TEXT an id as the catalog keeps it? */
bool sxt_catalog_id_is_valid(sxt_string text);

/*
 * The debug id of a file with that build ID, of which the first 16 bytes count; a shorter one is followed by zeros.
 * IS_LITTLE is the byte order of the file. The second form is for a build ID as the catalog keeps it, of a
 * little-endian file; false if ID is not one.
 */
void sxt_catalog_debug_id_of(const uint8_t *build_id, size_t size, bool is_little, struct sxt_catalog_id *out);
bool sxt_catalog_debug_id_of_id(const char *id, struct sxt_catalog_id *out);

/* A part, from its name. */
struct sxt_catalog_part_name {
    enum sxt_catalog_kind kind;
    uint64_t generation; /* 0: none */
    uint32_t parts, part;
    int64_t time;
    uint64_t hash;
};

/* The hash of a Generation header, never 0. */
uint64_t sxt_catalog_generation_of(sxt_string text);

/* Parse and print what follows "part/". */
bool sxt_catalog_parse_part(sxt_string text, struct sxt_catalog_part_name *out);
void sxt_catalog_print_part(char *out, size_t room, const struct sxt_catalog_part_name *name);

/* The folder of its line: "part/KIND/GENERATION/PARTS/". */
void sxt_catalog_print_line(char *out, size_t room, const struct sxt_catalog_part_name *name);

/* The kinds of entries, as in their names. */
enum sxt_catalog_entry_kind {
    SXT_ENTRY_RANGES = 'r',     /* the ranges of a push */
    SXT_ENTRY_PADS = 'p',       /* the return pads of a push */
    SXT_ENTRY_EXECUTABLE = 'x', /* an executable, and what was read from it alone */
    SXT_ENTRY_DEBUG = 'd',      /* a debug file, and what was read from it alone */
    SXT_ENTRY_BOTH = 'b',       /* what was read from an executable with its debug file */
};

/* An entry, from its name. */
struct sxt_catalog_entry_name {
    unsigned quality; /* 0 to 99 */
    char kind;
    int64_t time;
    uint64_t hash;
    uint32_t parts;      /* of a push; 0 for others */
    uint64_t generation; /* of a push; 0: none */
};

/* Parse and print what follows "symbols/". */
bool sxt_catalog_parse_entry_name(sxt_string text, struct sxt_catalog_entry_name *out);
void sxt_catalog_print_entry_name(char *out, size_t room, const struct sxt_catalog_entry_name *name);

/* The first 16 digits of a SHA-256, as a number. */
uint64_t sxt_catalog_short_hash(const uint8_t digest[SXT_SHA256_SIZE]);

/* --- what a listing says: listing.c --- */

struct sxt_catalog_listing {
    struct sxt_catalog_part_name *parts; /* by kind, generation, parts; then by time, part, hash */
    size_t part_count, part_capacity;
    struct sxt_catalog_entry_name *entries;
    size_t entry_count, entry_capacity;
    struct sxt_catalog_id *same;
    size_t same_count, same_capacity;
    int64_t last_time; /* the largest of all */
    uint64_t unknown;  /* objects whose name is not one of these */
};

void sxt_catalog_listing_free(struct sxt_catalog_listing *listing);

/* Adds an object, NAME is what follows "t/TENANT/id/ID/". False when memory is short. */
bool sxt_catalog_listing_add(struct sxt_catalog_listing *listing, sxt_string name);

/* Puts the parts in order; to be called after the last one was added. */
void sxt_catalog_listing_sort(struct sxt_catalog_listing *listing);

/*
 * Lists a binary, in one request. To decide which parts make a set, EXACT is needed: it lists parts before entries, so
 * that a part which another server removed meanwhile is covered by an entry in the same listing.
 */
int sxt_catalog_list_binary(struct sxt_catalog *catalog, const char *tenant, const char *id, bool exact,
                            struct sxt_catalog_listing *out, sxt_error *error);

/* The same for the parts of one line, that of LINE, and all entries. */
int sxt_catalog_list_line(struct sxt_catalog *catalog, const char *tenant, const char *id,
                          const struct sxt_catalog_part_name *line, struct sxt_catalog_listing *out, sxt_error *error);

/* --- listings that several share: line_listing.c --- */

struct sxt_catalog_line_listing;

/*
 * The same, made after this call began. *LISTING lives until *OUT, which is also set if it fails, is released. It must
 * not be changed.
 */
int sxt_catalog_share_line(struct sxt_catalog *catalog, const char *tenant, const char *id,
                           const struct sxt_catalog_part_name *line, struct sxt_catalog_line_listing **out,
                           const struct sxt_catalog_listing **listing, sxt_error *error);
void sxt_catalog_release_line(struct sxt_catalog *catalog, struct sxt_catalog_line_listing **listing);

/* --- sets of parts: parts.c --- */

/* A set of parts of one kind, generation and number of parts. */
struct sxt_catalog_set {
    enum sxt_catalog_kind kind;
    uint64_t generation;
    uint32_t parts;
    int64_t time;                               /* of its last part */
    uint32_t there;                             /* how many numbers are there */
    const struct sxt_catalog_part_name **items; /* by number; NULL where it is missing */
};

struct sxt_catalog_sets {
    struct sxt_catalog_set *complete; /* the newest complete set of each line, which has no entry yet; by time */
    size_t complete_count, complete_capacity;
    struct sxt_catalog_set *collecting; /* incomplete ones */
    size_t collecting_count, collecting_capacity;
};

/* Which sets the parts of LISTING, which is sorted, make. Free *OUT in any case. It points into LISTING. */
int sxt_catalog_find_sets(const struct sxt_catalog *catalog, const struct sxt_catalog_listing *listing,
                          struct sxt_catalog_sets *out, sxt_error *error);
void sxt_catalog_sets_free(struct sxt_catalog_sets *sets);

/* Do the two belong to one line? */
bool sxt_catalog_same_line(const struct sxt_catalog_part_name *a, const struct sxt_catalog_part_name *b);

/* The time up to which the parts of a line (kind, generation, number of parts) are in entries; INT64_MIN if none is. */
int64_t sxt_catalog_settled_until(const struct sxt_catalog_listing *listing, enum sxt_catalog_kind kind,
                                  uint64_t generation, uint32_t parts);

/* --- blobs: blobs.c --- */

/* What an entry refers to. */
enum sxt_catalog_blob_kind {
    SXT_BLOB_LIDIA,
    SXT_BLOB_SYMBFILE,
    SXT_BLOB_PADS, /* an archive for lookups */
    SXT_BLOB_RETURNPADS,
    SXT_BLOB_EXECUTABLE,
    SXT_BLOB_DEBUGINFO,
    SXT_BLOB_PARTS, /* the names of the parts that the entry replaces, one a line */
    SXT_BLOB_KINDS
};

struct sxt_catalog_blob {
    char hash[65]; /* "" if there is none */
    uint64_t size;
};

void sxt_catalog_blob_key(char out[SXT_CATALOG_KEY_ROOM], const char *hash);

/* The SHA-256 and size of all that is in *WRITING. */
int sxt_catalog_hash_writing(struct sxt_store_writing *writing, uint8_t digest[SXT_SHA256_SIZE], uint64_t *size,
                             sxt_error *error);

/* Stores what is in *WRITING, which is freed, or memory. */
int sxt_catalog_put_blob_writing(struct sxt_catalog *catalog, struct sxt_store_writing **writing,
                                 struct sxt_catalog_blob *out, sxt_error *error);
int sxt_catalog_put_blob(struct sxt_catalog *catalog, const void *data, size_t size, struct sxt_catalog_blob *out,
                         sxt_error *error);

int sxt_catalog_open_blob(struct sxt_catalog *catalog, const struct sxt_catalog_blob *blob,
                          struct sxt_store_object **out, sxt_error *error);

/* --- entries: entry.c --- */

/* The content of an entry. Strings are in the arena. */
struct sxt_catalog_entry {
    struct sxt_catalog_entry_name name;
    struct sxt_catalog_id file_id, build_id; /* empty if unknown */
    const char *module_name, *arch;          /* NULL if unknown */
    bool is_upstream;
    bool has_symtab, has_dwarf, has_go, has_lines, has_inlines;
    uint64_t functions, inlines, lines, pads;
    struct sxt_catalog_blob blobs[SXT_BLOB_KINDS];
    struct sxt_arena *arena;
};

/* The largest entry. */
#define SXT_CATALOG_ENTRY_MAX ((size_t)256 << 10)

void sxt_catalog_entry_write(const struct sxt_catalog_entry *entry, struct sxt_buffer *out);
int sxt_catalog_entry_read(const char *text, size_t size, struct sxt_arena *arena, struct sxt_catalog_entry *out,
                           sxt_error *error);

/* Stores an entry under its name; fills in its hash. The blobs are there. */
int sxt_catalog_put_entry(struct sxt_catalog *catalog, const char *tenant, const char *id,
                          struct sxt_catalog_entry *entry, sxt_error *error);
int sxt_catalog_get_entry(struct sxt_catalog *catalog, const char *tenant, const char *id,
                          const struct sxt_catalog_entry_name *name, struct sxt_arena *arena,
                          struct sxt_catalog_entry *out, sxt_error *error);

/* A source file, from what follows "t/TENANT/source/ID/PATHHASH/": TIME-SHA256-SIZE. */
struct sxt_catalog_source {
    struct sxt_catalog_blob blob;
    int64_t time;
};
bool sxt_catalog_parse_source(sxt_string text, struct sxt_catalog_source *out);

/* The words that follow a prefix. */
struct sxt_catalog_words {
    char **list;
    size_t count, capacity;
};
int sxt_catalog_list_words(struct sxt_catalog *catalog, const char *prefix, struct sxt_catalog_words *out,
                           sxt_error *error);
void sxt_catalog_words_free(struct sxt_catalog_words *words);

/* Adds a copy of WORD. False when memory is short. */
bool sxt_catalog_words_add(struct sxt_catalog_words *words, const char *word);

/* --- reports: reports.c --- */

/* A report, from what follows "t/TENANT/report/"; all but its size. False if it is not one. */
bool sxt_catalog_parse_report(const char *text, struct sxt_catalog_report *out);

/* --- merging: merge.c --- */

/* Makes the archive of a complete set of the binary, stores it, and then its entry. */
int sxt_catalog_merge(struct sxt_catalog *catalog, const char *tenant, const char *id,
                      const struct sxt_catalog_listing *listing, const struct sxt_catalog_set *set, sxt_error *error);

/* --- reading ELF files in another process: worker.c, extract.c --- */

#define SXT_CATALOG_INPUTS    2
#define SXT_CATALOG_ARGUMENTS 16

/* What a worker does: the arguments of the program end with NULL; input I is its descriptor 3 + I, OUTPUT its 1. */
struct sxt_catalog_work {
    const char *const *arguments;
    const int *inputs;
    size_t input_count;
    int output;
};

/*
 * Runs it to its end. SXT_ERROR_FORMAT with its message if it fails, SXT_ERROR_LIMIT with SXT_REASON_INFLATE_LIMIT if
 * it takes too much; if its output cannot be written, the error is one of the store.
 */
int sxt_catalog_run(const struct sxt_catalog_options *options, const struct sxt_catalog_work *work, sxt_error *error);

/* Is it the file that cannot be read, rather than the store that does not work? */
bool sxt_catalog_is_about_file(const sxt_error *error);

/*
 * Reads the symbols of FILE, with those of DEBUG_FILE unless that is -1, into blobs of ENTRY, and says in it what was
 * found. Whether the files have a symbol table and DWARF is in ENTRY already.
 */
int sxt_catalog_extract(struct sxt_catalog *catalog, int file, int debug_file, bool has_code,
                        struct sxt_catalog_entry *entry, sxt_error *error);

/* A descriptor of OBJECT as a local file: its own, or that of a copy, *COPY, which the caller abandons. */
int sxt_catalog_local_file(struct sxt_catalog *catalog, struct sxt_store_object *object,
                           struct sxt_store_writing **copy, int *fd, sxt_error *error);

/* The last word of PATH, in the arena; NULL if PATH is NULL or memory is short. */
const char *sxt_catalog_base_name(const char *path, struct sxt_arena *arena);

/* Notes that two ids name one binary. OF_FILE_ID, a listing, may be NULL. Either id may be empty: nothing to do. */
int sxt_catalog_join(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *file_id,
                     const struct sxt_catalog_id *build_id, const struct sxt_catalog_listing *of_file_id,
                     sxt_error *error);

/* Notes that DEBUG_ID leads to the binary ID. Either may be empty: nothing to do. */
int sxt_catalog_link_debug_id(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *debug_id,
                              const struct sxt_catalog_id *id, sxt_error *error);

/* --- what else is kept of an ELF file: facts.c --- */

struct sxt_catalog_facts {
    struct sxt_catalog_id debug_id; /* empty if it has none */
    const char *name;               /* of the file; NULL if it does not say */
};

/* SXT_ERROR_FORMAT if it is not an ELF file. The name is in the arena. */
int sxt_catalog_read_facts(const uint8_t *data, size_t size, struct sxt_arena *arena, struct sxt_catalog_facts *out,
                           sxt_error *error);

/* The last word of PATH, in the arena; NULL if it cannot be the name of a file, or memory is short. */
const char *sxt_catalog_file_name(sxt_string path, struct sxt_arena *arena);

/* --- open archives: opened.c --- */

/* An archive that is open, shared by all binaries that use its blob. */
struct sxt_catalog_opened {
    struct sxt_catalog_opened *next;
    struct sxt_catalog_blob blob;
    unsigned users;
    struct sxt_file file;
    struct sxt_store_partial remote; /* if it is read by ranges */
    sxt_archive *archive;
};

struct sxt_catalog_binary {
    struct sxt_catalog *catalog;
    _Atomic unsigned users;
    struct sxt_catalog_opened *ranges, *pads; /* NULL if there are none */
    struct sxt_catalog_opened *layout;        /* has the segments; NULL if nothing has them */
    struct sxt_catalog_lack lack;
};

/* A large one in a bucket that is not in the cache is read by ranges, unless WHOLE. */
int sxt_catalog_open_archive(struct sxt_catalog *catalog, const struct sxt_catalog_blob *blob, bool whole,
                             struct sxt_catalog_opened **out, sxt_error *error);
struct sxt_catalog_opened *sxt_catalog_share_archive(struct sxt_catalog *catalog, struct sxt_catalog_opened *opened);
void sxt_catalog_close_archive(struct sxt_catalog *catalog, struct sxt_catalog_opened **opened);

/* To be called around lookups. OPENED may be NULL. */
void sxt_catalog_enter_archive(struct sxt_catalog_opened *opened);
void sxt_catalog_leave_archive(struct sxt_catalog_opened *opened);

/* Forgets what was fetched of the archives that were not used for the longest time, if all of it is too much. */
void sxt_catalog_forget_parts(struct sxt_catalog *catalog);

/* --- all ids of a binary, and what is listed under them: closure.c --- */

#define SXT_CATALOG_IDS_MAX 8

struct sxt_catalog_closure {
    struct {
        struct sxt_catalog_id id;
        struct sxt_catalog_listing listing;
        uint32_t change; /* what sxt_catalog_change_count said before it was listed */
    } list[SXT_CATALOG_IDS_MAX];
    size_t count;
};

/* Lists a binary under ID and all ids that name the same one. Complete sets are merged if SETTLE. */
int sxt_catalog_list_closure(struct sxt_catalog *catalog, const char *tenant, const char *id, bool settle,
                             struct sxt_catalog_closure *out, sxt_error *error);
void sxt_catalog_closure_free(struct sxt_catalog_closure *closure);

/* An entry in a closure. */
struct sxt_catalog_candidate {
    const char *id;
    const struct sxt_catalog_entry_name *name;
};

/*
 * The entries that can answer for the ranges of the binary, best first. Of pushes only sxt_catalog_best_push counts.
 * The caller frees *OUT.
 */
int sxt_catalog_rank(const struct sxt_catalog_closure *closure, struct sxt_catalog_candidate **out, size_t *count,
                     sxt_error *error);

/*
 * The push of KIND that counts: of each id the newest, and of all ids the best of these. So a stripped executable that
 * is pushed does not hide what was pushed for the same binary before it was stripped. Its name is NULL if there is
 * none.
 */
struct sxt_catalog_candidate sxt_catalog_best_push(const struct sxt_catalog_closure *closure, char kind);

/* What was loaded before: the binary, or NULL, and which entries there were. */
struct sxt_catalog_loaded {
    struct sxt_catalog_binary *binary;
    uint64_t entries; /* a hash of their names */
};

/*
 * Makes a binary from what the store has, for the caller. SXT_ERROR_NOT_FOUND if it has nothing. If the entries are
 * those of BEFORE, nothing but the listing is read, and it is the binary of BEFORE.
 */
int sxt_catalog_load(struct sxt_catalog *catalog, const char *tenant, const char *id,
                     const struct sxt_catalog_loaded *before, struct sxt_catalog_closure *closure,
                     struct sxt_catalog_loaded *out, sxt_error *error);

/* --- the cache: cache.c --- */

/* Notes that objects of the binary changed: what was listed before is not believed any more. */
void sxt_catalog_changed(struct sxt_catalog *catalog, const char *tenant, const char *id);
uint32_t sxt_catalog_change_count(struct sxt_catalog *catalog, const char *tenant, const char *id);

/* Remembers that a set could not be merged, for a minute. */
void sxt_catalog_note_unmergeable(struct sxt_catalog *catalog, const char *tenant, const char *id);
bool sxt_catalog_is_unmergeable(struct sxt_catalog *catalog, const char *tenant, const char *id);

int sxt_catalog_cache_new(struct sxt_catalog *catalog, sxt_error *error);
void sxt_catalog_cache_free(struct sxt_catalog *catalog);

/* Removes every object whose name begins with PREFIX. */
int sxt_catalog_remove_below(struct sxt_catalog *catalog, const char *prefix, sxt_error *error);

/* What follows "t/TENANT/announced/ID/". */
bool sxt_catalog_parse_announced(sxt_string text, int64_t *time, bool *is_failed);

/* A TIME for a new object, later than AFTER and than all that this process gave. */
int64_t sxt_catalog_new_time(struct sxt_catalog *catalog, int64_t after);

/* Microseconds since 1970. */
int64_t sxt_catalog_now(void);

#endif
