/*
 * lidia.h: the Lidia format, version 1. All integers are little-endian; nothing is padded or aligned.
 *
 *     0x00  header          128 bytes, below
 *     0x80  addresses       n entries of 4 or 8 bytes, ascending
 *           rows            n entries of 8 fields of 4 or 8 bytes; row i belongs to address i
 *           strings         u32 length + bytes, one after another; offset 0 is "", offset 4 is "[overflow]"
 *           lines           (offset in the range, line) pairs, each of 2 or 4 bytes
 *           index           optional, sextant only; other readers ignore what comes after the lines
 *           chunks          any number, the same
 *
 *     header                                           row
 *     0x00 4  magic ".dia"       0x04 4  version 1      0  length
 *     0x08 8  address size       0x10 8  count          1  depth
 *     0x18 8  offset             0x20 4  CRC32C         2  function (string)
 *     0x28 8  field size         0x30 8  count          3  file (string)
 *     0x38 8  offset             0x40 4  CRC32C         4  first line entry
 *     0x48 8  strings size       0x50 8  offset         5  line entries
 *     0x58 4  CRC32C             0x60 8  line size      6  call file (string)
 *     0x68 8  line count         0x70 8  offset         7  call line
 *     0x78 4  CRC32C
 *
 *     index
 *     0x00 4  magic "sxti"       0x04 4  version 1
 *     0x08 8  rows               0x10 4  size of a parent: 0, 1, 2 or 4
 *     0x14 4  shift              0x18 4  CRC32C of all after this header
 *     0x1c 4  CRC32C of the 28 bytes before
 *     0x20    buckets, 4 bytes each, and one more; each has 2^shift addresses
 *             name sizes, 2 bytes per row
 *             parents, one per row
 *
 *     chunk
 *     0x00 4  magic "sxtc"       0x04 4  tag, four letters
 *     0x08 4  version, counted   0x0c 4  0
 *             for each tag
 *     0x10 8  size of content    0x18 4  CRC32C of the content
 *     0x1c 4  CRC32C of the 28 bytes before
 *     0x20    content
 *
 * (each CRC in the header is followed by 4 bytes of 0)
 *
 * Rows are ordered by (address, depth). A reader finds the last row at or before an address and walks back to the first
 * row of depth 0; every row on the way that covers the address is a frame. The index makes that fast:
 *
 * - buckets cut the addresses from the first to the last into equal parts; each says how many rows come before it, so
 *   that a search begins and ends inside one of them
 * - name sizes (65535: longer, see the string) save a read of the string itself
 * - a parent says how many rows before this row the nearest row is that covers its address (0: none), so that only
 *   enclosing rows are visited; a file without inlined calls has no parents
 *
 * A reader skips chunks whose tag or version it does not know.
 *
 * An archive that is somewhere else need not be fetched whole: see "by ranges" below.
 */
#ifndef SXT_LIDIA_LIDIA_H
#define SXT_LIDIA_LIDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>

#include "base/buffer.h"
#include "base/partial.h"
#include "symbols/symbols.h"

#define SXT_LIDIA_HEADER_SIZE       128
#define SXT_LIDIA_INDEX_HEADER_SIZE 32
#define SXT_LIDIA_CHUNK_HEADER_SIZE 32
#define SXT_LIDIA_FIELDS            8
#define SXT_LIDIA_LONG_NAME         UINT16_MAX

/* The chunk "alia"; everything 0 when there is none. */
struct sxt_lidia_aliases {
    const uint8_t *groups, *entries, *calls, *strings;
    uint64_t group_count, entry_count, call_count, strings_size;
    uint32_t ambiguous_groups; /* how many, plus 1; 0 if the file does not say */
};

/* An open file. Everything points into the file's bytes. Immutable, so any number of threads may use it. */
struct sxt_lidia {
    const uint8_t *data;
    size_t size;
    uint64_t first_address; /* with an index: where the first bucket begins */
    uint64_t bucket_count;
    const uint8_t *addresses;
    const uint8_t *rows;
    uint64_t count;
    const uint8_t *strings;
    uint64_t strings_size;
    const uint8_t *lines;
    uint64_t line_count;
    const uint8_t *buckets;    /* of the index; NULL when there is none */
    const uint8_t *name_sizes; /* of the index */
    const uint8_t *parents;    /* of the index; NULL when it has none */
    uint8_t address_size;      /* 4 or 8 */
    uint8_t field_size;        /* 4 or 8 */
    uint8_t line_size;         /* 2 or 4 */
    uint8_t parent_size;       /* 1, 2 or 4 */
    uint8_t shift;             /* of the index: a bucket has 2^shift addresses */
    bool nul_strings;          /* strings end with NUL and have no length, as the published description says */
    const uint8_t *cuts;       /* of the chunk "cuts": row numbers, ascending; NULL when there is none */
    uint64_t cut_count;
    struct sxt_lidia_aliases aliases;
    uint64_t chunks_at;          /* where chunks begin: after the index, or after the lines; the size if unknown */
    struct sxt_partial *partial; /* the file, if it is read by ranges; NULL otherwise */
    uint64_t opened_bytes;       /* of it, how much was fetched to open it */
    uint32_t text_ahead;         /* how much of a string is fetched before its size is known */
};

/* An extra part of a file. DATA points into the file. */
struct sxt_lidia_chunk {
    char tag[4];
    uint32_t version;
    const uint8_t *data;
    uint64_t size;
    uint32_t crc;    /* as its header says; see sxt_lidia_chunk_is_whole */
    uint64_t offset; /* of its header in the file */
};

/* The fields of a row, as stored. */
struct sxt_lidia_row {
    uint64_t address;
    uint64_t length;
    uint64_t depth;
    uint64_t function;
    uint64_t file;
    uint64_t first_line;
    uint64_t line_count;
    uint64_t call_file;
    uint64_t call_line;
};

bool sxt_lidia_is(const uint8_t *data, size_t size);

/* Reads the header of a file, which must stay in memory. O(1) unless CHECK_CRC is set. */
int sxt_lidia_open(struct sxt_lidia *lidia, const uint8_t *data, size_t size, bool check_crc, sxt_error *error);

/* A table of the file, as its header has it. */
struct sxt_lidia_table {
    const char *name;
    const uint8_t *data;
    uint64_t size;
    unsigned crc_at; /* where its CRC32C is in the header */
};

/* In the order in which the reference checks them. */
#define SXT_LIDIA_TABLES 4
void sxt_lidia_tables(const struct sxt_lidia *lidia, struct sxt_lidia_table tables[SXT_LIDIA_TABLES]);

/* Whether the CRC32C of TABLE is the one in the header, *WANTED; *FOUND is its CRC32C. O(size). */
bool sxt_lidia_table_is_whole(const struct sxt_lidia *lidia, const struct sxt_lidia_table *table, uint32_t *found,
                              uint32_t *wanted);

/* Row INDEX, which must be below count. */
void sxt_lidia_row(const struct sxt_lidia *lidia, uint64_t index, struct sxt_lidia_row *row);

/* The string at OFFSET of the string table; absent if it does not lie inside. */
sxt_string sxt_lidia_string(const struct sxt_lidia *lidia, uint64_t offset);

/* The same for a field in which 0 means "none". */
sxt_string sxt_lidia_optional_string(const struct sxt_lidia *lidia, uint64_t offset);

/* Line entry INDEX of ROW. False when the row or the table has no such entry. */
bool sxt_lidia_line(const struct sxt_lidia *lidia, const struct sxt_lidia_row *row, uint64_t index, uint32_t *offset,
                    uint32_t *line);

/*
 * What all rows together may repeat. Rows may share line entries and strings, so that a small damaged file could become
 * gigabytes of text: line entries may be used 16 times, and 65,536 times more; strings may become 64 times as long as
 * the file, and 16 MiB more.
 */
struct sxt_lidia_budget {
    uint64_t lines, text; /* what is left */
};
struct sxt_lidia_budget sxt_lidia_budget(const struct sxt_lidia *lidia);

/* Takes what row INDEX uses. Fails if that is more than what is left. */
int sxt_lidia_budget_use(struct sxt_lidia_budget *budget, const struct sxt_lidia *lidia, uint64_t index,
                         const struct sxt_lidia_row *row, sxt_error *error);

/* As sxt_archive_lookup and sxt_archive_lookup_batch. */
size_t sxt_lidia_lookup(const struct sxt_lidia *lidia, uint64_t address, sxt_frame *frames, size_t capacity);
size_t sxt_lidia_lookup_batch(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, sxt_frame *frames,
                              size_t capacity, size_t *first);

/* The last row at or before ADDRESS; UINT64_MAX when there is none. */
uint64_t sxt_lidia_search(const struct sxt_lidia *lidia, uint64_t address);

/* As sxt_archive_whole_range. */
void sxt_lidia_whole_range(const struct sxt_lidia *lidia, sxt_frame *frame);

/* Only the start, which takes less: the rows inside the range are not read. */
uint64_t sxt_lidia_whole_start(const struct sxt_lidia *lidia, const sxt_frame *frame);

/*
 * Bytes of the index after its header. Rows fit in memory and there are no more buckets than rows, so this cannot
 * overflow.
 */
static inline uint64_t sxt_lidia_index_size(uint64_t count, uint64_t bucket_count, unsigned parent_size)
{
    return (bucket_count + 1) * 4 + count * 2 + count * parent_size;
}

/* Entry INDEX of the parents. */
uint64_t sxt_lidia_parent(const struct sxt_lidia *lidia, uint64_t index);

/*
 * Iterates over the chunks of a file: *AT is lidia->chunks_at at first, and then the end of what was read. False at the
 * end, and at the first bytes that are not a whole chunk with an intact header. The content is not checked.
 */
bool sxt_lidia_next_chunk(const struct sxt_lidia *lidia, uint64_t *at, struct sxt_lidia_chunk *chunk);

/* The first chunk with that tag and version. O(chunks), of which a bounded number is visited. */
bool sxt_lidia_find_chunk(const struct sxt_lidia *lidia, const char *tag, uint32_t version,
                          struct sxt_lidia_chunk *chunk);

/* Whether the content has the CRC of the header. O(size). */
bool sxt_lidia_chunk_is_whole(const struct sxt_lidia_chunk *chunk);

/* Appends a chunk with its header to the chunks of a file that is being written. */
void sxt_lidia_add_chunk(struct sxt_buffer *chunks, const char *tag, uint32_t version, const void *data, size_t size);

/*
 * Chunk "modl", version 1: facts about the binary, in the encoding of symbols/module.h. *OUT, which the caller frees
 * even after a failure, is all zero if there is none.
 */
#define SXT_LIDIA_MODULE         "modl"
#define SXT_LIDIA_MODULE_VERSION 1
int sxt_lidia_read_module(const struct sxt_lidia *lidia, struct sxt_model_module *out, sxt_error *error);

/*
 * Chunk "cuts", version 1: the numbers (u32) of the rows that continue another row, ascending. Such a row and the last
 * row before it that has its depth and function were cut out of one range. The two may not adjoin: a function can lie
 * inside another one.
 */
#define SXT_LIDIA_CUTS         "cuts"
#define SXT_LIDIA_CUTS_VERSION 1
#define SXT_LIDIA_CUT_SIZE     4
void sxt_lidia_find_cuts(struct sxt_lidia *lidia);

/* Appends the chunk for the rows of LIST, which are in file order; nothing if no row continues another. */
void sxt_lidia_add_cuts(struct sxt_buffer *chunks, const struct sxt_range_list *list);

/* Does row INDEX continue another row? O(log cuts). */
bool sxt_lidia_row_continues(const struct sxt_lidia *lidia, uint64_t index);

/*
 * Chunk "alia", version 1: functions that have several names, and calls that say which name was meant.
 *
 *     0x00 4  groups: addresses with several names     0x04 4  entries: names of all groups
 *     0x08 4  calls                                     0x0c 4  ambiguous groups, plus 1; 0: not counted
 *     0x10    groups by address: u64 address, u32 first entry, u32 flags (1: several functions were folded into one)
 *             entries: u32 offset in the strings; those of a group end where those of the next group begin
 *             calls by address: u64 return address, u32 offset of the function's name in the strings, u32 0
 *             strings: u32 length + bytes
 */
#define SXT_LIDIA_ALIASES         "alia"
#define SXT_LIDIA_ALIASES_VERSION 1
#define SXT_LIDIA_GROUP_SIZE      16
#define SXT_LIDIA_ENTRY_SIZE      4
void sxt_lidia_find_aliases(struct sxt_lidia *lidia);

/* Reads the header of the content. False if the tables do not fit. */
bool sxt_lidia_aliases_open(struct sxt_lidia_aliases *aliases, const uint8_t *data, uint64_t size);

/* Appends the chunk; nothing if no function has several names. NAMES has readable forms. False when memory is short. */
bool sxt_lidia_add_aliases(struct sxt_buffer *chunks, const struct sxt_symbols *symbols, const struct sxt_names *names);

/* The names of one address: COUNT entries from FIRST on. */
struct sxt_lidia_names {
    uint64_t address, first, count;
    bool ambiguous;
};

/* The names of group INDEX, and of the function that begins at ADDRESS; COUNT is 0 when there are none. */
struct sxt_lidia_names sxt_lidia_names_of(const struct sxt_lidia_aliases *aliases, uint64_t index);
struct sxt_lidia_names sxt_lidia_names_at(const struct sxt_lidia_aliases *aliases, uint64_t address);

/* The name of an entry, of call INDEX, and of the call that returns to an address; absent when there is none. */
sxt_string sxt_lidia_alias(const struct sxt_lidia_aliases *aliases, uint64_t entry);
sxt_string sxt_lidia_call(const struct sxt_lidia_aliases *aliases, uint64_t index, uint64_t *return_address);
sxt_string sxt_lidia_called(const struct sxt_lidia_aliases *aliases, uint64_t return_address);

/*
 * --- by ranges ---
 *
 * The bytes that a question needs are fetched before it is asked; then the functions above answer it. To open a file
 * takes its end, which has the chunk "open", and the buckets of the index: less than 2 % of it.
 *
 * Chunk "open", version 1, the last one of a large file: copies of the bytes that are read to open it.
 *
 *     0x00    pieces: u64 offset in the file, u32 size, bytes
 *             u64 offset of this chunk in the file, "sxto", u32 0
 *
 * A file without that chunk is opened with a few requests more. The sizes of names in the index are not used.
 */
#define SXT_LIDIA_OPENING         "open"
#define SXT_LIDIA_OPENING_VERSION 1

/* A smaller file is better fetched whole. */
#define SXT_LIDIA_RANGED_SIZE 4000000

/* Opens a file. PARTIAL stays the caller's, who has entered it. */
int sxt_lidia_open_partial(struct sxt_lidia *lidia, struct sxt_partial *partial, sxt_error *error);

/*
 * Fetches what lookups of ADDRESSES read. With ALL also what sxt_lidia_whole_range, sxt_lidia_whole_start and
 * sxt_lidia_names_at read for each frame.
 */
int sxt_lidia_load(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, bool all, sxt_error *error);

/* As sxt_lidia_search; UINT64_MAX also if something is missing. */
uint64_t sxt_lidia_search_partial(const struct sxt_lidia *lidia, uint64_t address);

/* Is row INDEX here? */
bool sxt_lidia_has_row(const struct sxt_lidia *lidia, uint64_t index);

/* Appends the chunk "open" to the *SIZE bytes of a file, *DATA, that malloc gave. */
int sxt_lidia_add_opening(uint8_t **data, size_t *size, sxt_error *error);

/* Is that the content of a chunk "open" of the file? *OFFSET is where it is wrong. */
bool sxt_lidia_opening_is_right(const struct sxt_lidia *lidia, const struct sxt_lidia_chunk *chunk, uint64_t *offset);

/* How to write. */
struct sxt_lidia_settings {
    bool demangle; /* function names */
    struct sxt_path_maps path_maps;
    unsigned threads; /* for demangling; see sxt_pool_threads */
    bool nul_strings;
    bool no_index;
    bool reference; /* ranges and strings in the order of adding, as the reference writer does; no extra parts */
    bool module;    /* write what only a file has: the facts about the binary, if any are known, and "open" */
};

/* What is in a file that was written. */
struct sxt_lidia_counts {
    uint64_t functions; /* rows of depth 0 */
    uint64_t inlines;   /* other rows */
    uint64_t lines;
};

/* Makes the whole file in memory; the caller frees it with free(). COUNTS may be NULL. */
int sxt_lidia_encode(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings, uint8_t **data,
                     size_t *size, struct sxt_lidia_counts *counts, sxt_error *error);

/* Calls PROBLEM (may be NULL) for everything that is wrong. Returns the number of problems. */
uint64_t sxt_lidia_verify(const uint8_t *data, size_t size, void (*problem)(void *context, const sxt_problem *problem),
                          void *context);

#endif
