/*
 * sextant/ksym.h: a reader of ksym blobs: symbol tables that a kernel can map and search without allocating memory.
 *
 * The reader is this header and one C file, src/ksym/reader.c, which is installed as share/sextant/ksym_reader.c. It is
 * freestanding C99 (no C library), allocates nothing, has no global state, and no function takes more than 512 bytes of
 * stack. It reads both published layouts, at any alignment and on hosts of either byte order. It is part of libsextant,
 * and can also be copied into a kernel: put the header where <sextant/ksym.h> finds it and compile the C file.
 *
 *     static sxt_ksym symbols;
 *     const char *wrong = sxt_ksym_open(&symbols, blob, blob_size, (uintptr_t)text_start, (uintptr_t)text_end, NULL);
 *     ...
 *     char line[128];
 *     sxt_ksym_format(&symbols, program_counter, line, sizeof line);       // do_fork+0x1c/0x90
 *
 *     sxt_ksym_matches matches;
 *     size_t index;
 *     sxt_ksym_find(&symbols, "do_fork", 7, &matches);
 *     while (sxt_ksym_next(&matches, &index))
 *         use(sxt_ksym_address(&symbols, index));
 *
 * sxt_ksym_open checks the whole blob once. The other functions work on a blob that it accepted, and never read outside
 * of it, whatever it contains. Only sxt_ksym_open, sxt_ksym_set_text and sxt_ksym_use_index change an sxt_ksym; the
 * others may be called from any number of threads and from an interrupt. A symbol is identified by its index, from 0 to
 * sxt_ksym_count - 1 in the order of addresses. docs/formats/ksym.md describes the layout in full.
 *
 * Names are bytes, normally UTF-8, and may end in a module as in "ext4_fill_super [ext4]". A name has a module if it
 * ends in " [", at least one byte other than space, "[" and "]", and "]"; so "f() [clone .cold]" has none.
 *
 * The layout; all numbers are little-endian, and multiples of 8 count from the beginning of the blob:
 *
 *     [u64 size of the blob]       in the layout 0.6 only
 *     u64  count
 *     u64  addresses[count]        ascending
 *     u32  offsets[count]          of the record in names
 *     u32  order[count]            indices of symbols, by name
 *     u64  size, names[size]       records: u8 type, u16 size, payload
 *     u64  size, tokens[size]      at the next multiple of 8: beginnings that names share
 *     u64  count, u32 starts[]     at the next multiple of 8: of each token; it ends where the next one begins
 *
 * A payload is a name, or a token and the rest of a name: FF id FF rest, or FF high low FF rest for ids over 255. The
 * byte FF does not occur in UTF-8.
 *
 * A buffer for text is always NUL-terminated when its capacity is not 0. Text that does not fit is cut, but never
 * within a UTF-8 character. The function returns the size of the whole text, without the NUL. What is in the buffer
 * after the NUL is not defined.
 */
#ifndef SEXTANT_KSYM_H
#define SEXTANT_KSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As part of libsextant, these functions are exported like the others. Without it, they are plain functions. */
#if !defined(SXT_API) && defined(__has_include)
#if __has_include(<sextant/export.h>)
#include <sextant/export.h>
#endif
#endif
#ifndef SXT_API
#define SXT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sxt_ksym_layout {
    SXT_KSYM_SEED, /* begins with the number of symbols */
    SXT_KSYM_0_6   /* begins with the size of the blob, as version 0.6 of the ksym crate writes it */
} sxt_ksym_layout;

/*
 * Limits of the reference implementation: its writer makes no more tokens, and its reader cuts longer names. This
 * reader has neither limit.
 */
enum { SXT_KSYM_TOKENS_MOST = 512, SXT_KSYM_NAME_SIZE_MOST = 4096 };

/* A blob with a longer token is refused: many short records that share one could expand to gigabytes. */
enum { SXT_KSYM_TOKEN_SIZE_MOST = 65535 };

/* Sizes of the tables in an sxt_ksym. */
enum {
    SXT_KSYM_BUCKETS = 512,
    SXT_KSYM_PARTS = 5120,
    SXT_KSYM_SAMPLES = 768,
    SXT_KSYM_NODES = 256,
    SXT_KSYM_KEYS = 1024
};

/* A range of addresses, all of the same size, which is divided into parts. */
typedef struct sxt_ksym_bucket {
    uint32_t first; /* how many symbols are before it */
    uint32_t first_part;
    uint32_t part_count;
} sxt_ksym_bucket;

/* A node of the tree of sampled names: samples that begin with the same bytes, divided by the next 8. */
typedef struct sxt_ksym_node {
    uint64_t skipped;      /* up to 8 bytes after the known ones, as a big-endian number */
    uint32_t known, depth; /* how many bytes are equal by the nodes above, and in fact */
    uint16_t first_key, key_count;
    uint16_t first_sample, sample_end;
} sxt_ksym_node;

/*
 * An open blob: pointers into the mapping, which must outlive it, and about 35 kB of tables that speed up searches.
 * Keep it in static memory rather than on a kernel's stack. sxt_ksym_open fills it, and the functions below read it;
 * the members are visible only because the caller provides the memory.
 */
typedef struct sxt_ksym {
    const unsigned char *data;
    size_t size; /* without bytes after the last part */
    const unsigned char *addresses;
    const unsigned char *offsets;
    const unsigned char *order; /* indices of symbols in the order of their names */
    const unsigned char *names;
    const unsigned char *tokens;
    const unsigned char *token_starts;
    size_t count;
    size_t names_size;
    size_t tokens_size;
    size_t token_count;
    uint64_t text_first; /* both are part of the text; first > last when it is empty */
    uint64_t text_last;
    sxt_ksym_layout layout;
    unsigned shift;                      /* of a distance from the first address, so that it has 64 bits */
    size_t window;                       /* in how many symbols an address is searched for; 0 for no buckets */
    size_t first_of_head, first_of_tail; /* how many bytes of the parts of a name are copied at once */
    size_t copy_room;                    /* how many bytes after a name are needed for that */
    uint64_t gap_start, gap_size;        /* the largest gap between two symbols, in which there are no buckets */
    sxt_ksym_bucket buckets[SXT_KSYM_BUCKETS + 1]; /* the last one has the count only */
    uint16_t parts[SXT_KSYM_PARTS];                /* how many symbols of the bucket are before each part */
    size_t sample_count;
    size_t sample_distance; /* in the order of names */
    size_t node_count, key_count;
    sxt_ksym_node nodes[SXT_KSYM_NODES];
    uint64_t keys[SXT_KSYM_KEYS];
    uint16_t key_samples[SXT_KSYM_KEYS];  /* the first sample that has the key */
    uint16_t key_nodes[SXT_KSYM_KEYS];    /* the node of the samples that have it; 0 for none */
    const uint32_t *slots;                /* the index of names; NULL if the caller gave no memory */
    const struct sxt_ksym_starts *starts; /* the index of addresses, in the same memory */
    unsigned slot_bits, position_bits;
} sxt_ksym;

typedef struct sxt_ksym_symbol {
    uint64_t address;
    uint64_t size;   /* up to the next other address, or the end of the text */
    uint64_t offset; /* from the symbol to the address that was looked up */
    size_t index;
    size_t name_size;   /* without the module */
    size_t module_size; /* 0 for none; in the stored name it begins at name_size + 2 */
    char type;          /* as nm prints it: 'T', 't', ... */
} sxt_ksym_symbol;

/*
 * Opens the blob of SIZE bytes at DATA. The layout is detected from the structure. Bytes after its end are allowed. The
 * text is [TEXT_START, TEXT_END); sxt_ksym_lookup finds nothing outside of it. If both are 0, the text goes from the
 * first symbol to the end of the 4 KiB page of the last one.
 *
 * Returns NULL on success. Otherwise returns a static text that says what is wrong and sets *OFFSET (OFFSET may be
 * NULL) to where in the blob; KSYM is then empty, and searches in it find nothing. Takes time in proportion to the
 * number of symbols.
 */
SXT_API const char *sxt_ksym_open(sxt_ksym *ksym, const void *data, size_t size, uint64_t text_start, uint64_t text_end,
                                  size_t *offset);

/* Changes the bounds of the text of an open blob; the arguments are those of sxt_ksym_open. */
SXT_API void sxt_ksym_set_text(sxt_ksym *ksym, uint64_t text_start, uint64_t text_end);

/*
 * Optional: an index in the caller's memory, with which searches are faster, those by name several times. It takes
 * sxt_ksym_index_size bytes, aligned to 4: 23 to 28 for each symbol. sxt_ksym_use_index builds it, in time proportional
 * to the size of all names; the memory must outlive KSYM and must not be changed. Returns false, and does nothing, if
 * SIZE is too small, the alignment is wrong, or the blob has no symbols. Answers are the same with and without it.
 */
SXT_API size_t sxt_ksym_index_size(const sxt_ksym *ksym);
SXT_API bool sxt_ksym_use_index(sxt_ksym *ksym, void *memory, size_t size);

static inline size_t sxt_ksym_count(const sxt_ksym *ksym)
{
    return ksym->count;
}

/* --- by address --- */

/*
 * Finds the symbol that ADDRESS belongs to: the last one that begins at or before it, and of several that begin there
 * the one with the lowest index. Writes its name without the module to NAME, which may be NULL if CAPACITY is 0.
 * Returns false, with an empty name, if ADDRESS is before the first symbol or outside of the text.
 */
SXT_API bool sxt_ksym_lookup(const sxt_ksym *ksym, uint64_t address, char *name, size_t capacity,
                             sxt_ksym_symbol *symbol);

/*
 * Writes a line of a backtrace, "name+0xoffset/0xsize" or "name+0xoffset/0xsize [module]", or "0xaddress" if no symbol
 * is found. If it does not fit, the name is cut and the rest is kept. Returns the size of the whole line.
 */
SXT_API size_t sxt_ksym_format(const sxt_ksym *ksym, uint64_t address, char *buffer, size_t capacity);

/*
 * The same for a return address: finds the symbol of the call before it. A call of a function that never returns may be
 * the last instruction of its caller, and then the return address is already in the next function.
 */
SXT_API size_t sxt_ksym_format_return(const sxt_ksym *ksym, uint64_t address, char *buffer, size_t capacity);

/* --- by name --- */

/* The state of a search. The members are private. */
typedef struct sxt_ksym_matches {
    const sxt_ksym *ksym;
    const char *name;
    size_t name_size;
    size_t next;       /* in the order of names */
    bool with_modules; /* the symbols without a module have been returned */
    bool equal;        /* the next one is known to have this name */
} sxt_ksym_matches;

/*
 * Begin a search for all symbols with a NAME of SIZE bytes, which must stay valid during the search: first those stored
 * under exactly this name, then those with a module after it. sxt_ksym_next gives the index of the next one, and
 * returns false when there are no more. Names are compared in place, without being expanded.
 */
SXT_API void sxt_ksym_find(const sxt_ksym *ksym, const char *name, size_t size, sxt_ksym_matches *matches);
SXT_API bool sxt_ksym_next(sxt_ksym_matches *matches, size_t *index);

/* --- one by one; an index that is too large gives false, 0 or an empty text --- */

SXT_API uint64_t sxt_ksym_address(const sxt_ksym *ksym, size_t index);

/*
 * Everything but the name. SYMBOL->offset is 0. A symbol outside of the text ends at the next other address, and the
 * last one at the end of its 4 KiB page.
 */
SXT_API bool sxt_ksym_symbol_at(const sxt_ksym *ksym, size_t index, sxt_ksym_symbol *symbol);

/* Writes the whole name, with the module. Returns its size. */
SXT_API size_t sxt_ksym_name(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity);

/* A name in the blob: HEAD, a token that several names share (may be empty), and TAIL, the rest of this name. */
typedef struct sxt_ksym_stored {
    const unsigned char *head, *tail;
    size_t head_size, tail_size;
    size_t token;       /* its id, even if there is no such token */
    size_t marker_size; /* 0 when the name is stored without a token */
} sxt_ksym_stored;

SXT_API bool sxt_ksym_stored_at(const sxt_ksym *ksym, size_t index, sxt_ksym_stored *stored);

/* Writes the module alone, without brackets. Returns its size, 0 if there is none. */
SXT_API size_t sxt_ksym_module(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity);

/* The index of the symbol at POSITION in the order of names; sxt_ksym_count if POSITION is too large. */
SXT_API size_t sxt_ksym_by_name(const sxt_ksym *ksym, size_t position);

/* --- everything --- */

/*
 * Prints one line per symbol in the order of addresses, as in /proc/kallsyms: 16 hexadecimal digits, the type, the
 * whole name. PUT gets the text in pieces, some of them empty.
 */
SXT_API void sxt_ksym_dump(const sxt_ksym *ksym, void (*put)(void *data, const char *bytes, size_t size), void *data);

typedef struct sxt_ksym_problem {
    /* "name-order", "name-index", "token", "tokens", "marker" or "empty-name"; harmless: "long-name", "unused-token" */
    const char *rule;
    const char *text;
    size_t offset;
    bool harmless; /* wastes space, or exceeds a limit of other readers */
} sxt_ksym_problem;

/*
 * This function is in a separate file, ksym_check.c, because a kernel has no use for it.
 *
 * Checks what sxt_ksym_open does not: the order of names, and whether other readers can read them. Calls PROBLEM (may
 * be NULL) for each problem. Returns the number of problems without the harmless ones. sxt_ksym_find is certain to find
 * every name only if there is no problem "name-order" or "name-index".
 */
SXT_API size_t sxt_ksym_check(const sxt_ksym *ksym, void (*problem)(void *data, const sxt_ksym_problem *problem),
                              void *data);

#ifdef __cplusplus
}
#endif

#endif
