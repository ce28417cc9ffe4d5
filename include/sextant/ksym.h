/*
 * sextant/ksym.h: a reader of ksym blobs, symbol tables that a kernel maps and asks without allocating anything.
 *
 * The reader is this header and one C file, src/ksym/reader.c, and needs nothing else: C99, freestanding (no C
 * library), no allocation, no state of its own, no frame of more than 512 bytes of stack. It reads the two published
 * layouts, at any alignment and on hosts of either byte order. Part of libsextant, it is also made to be copied into a
 * kernel: put the header where <sextant/ksym.h> finds it and compile the C file.
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
 * sxt_ksym_open checks the whole blob once. Everything else takes what it accepted, stays inside the blob whatever the
 * blob says, only reads, and may be called from any number of threads and from an interrupt. A symbol is known by its
 * index: 0 to sxt_ksym_count - 1, by address. docs/formats/ksym.md has the layout.
 *
 * Names are bytes, normally UTF-8, and may end in a module as in "ext4_fill_super [ext4]". A module is the end of a
 * name that reads " [", at least one byte other than space, "[" and "]", and "]"; so "f() [clone .cold]" has none.
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
 * A buffer for text is always NUL-terminated when its capacity is not 0. Text that does not fit is cut, never within a
 * UTF-8 character, and its whole size is what the function returns.
 */
#ifndef SEXTANT_KSYM_H
#define SEXTANT_KSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Next to the rest of libsextant its functions are exported as the others are. Alone, they are plain functions. */
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

/* The reference's limits: it writes no more tokens, and its reader cuts names. This one reads them all. */
enum { SXT_KSYM_TOKENS_MOST = 512, SXT_KSYM_NAME_SIZE_MOST = 4096 };

/* A blob with a longer token is refused: it is good for nothing but to flood its readers. */
enum { SXT_KSYM_TOKEN_SIZE_MOST = 65535 };

enum { SXT_KSYM_SAMPLES = 1023, SXT_KSYM_BUCKETS = 512 };

/*
 * An open blob: pointers into the mapping, which must stay, and about 10 KiB that make searches short; so it belongs in
 * static memory rather than on a kernel's stack. To be filled by sxt_ksym_open and read through the functions below;
 * the members are here because the caller has the memory.
 */
typedef struct sxt_ksym {
    const unsigned char *data;
    size_t size; /* without bytes behind the last part */
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
    uint64_t text_first; /* both belong to the text; first > last when there is none */
    uint64_t text_last;
    sxt_ksym_layout layout;
    unsigned bucket_shift;                  /* a bucket has so many bits of address */
    uint32_t buckets[SXT_KSYM_BUCKETS + 1]; /* how many symbols are before each; the last is all of them */
    size_t sample_count;
    size_t sample_distance;             /* in the order of names */
    uint64_t samples[SXT_KSYM_SAMPLES]; /* how some names begin */
} sxt_ksym;

typedef struct sxt_ksym_symbol {
    uint64_t address;
    uint64_t size;   /* up to the next other address, or the end of the text */
    uint64_t offset; /* of the address that was asked for */
    size_t index;
    size_t name_size;   /* without the module */
    size_t module_size; /* 0 for none; in the stored name it begins at name_size + 2 */
    char type;          /* as nm has it: 'T', 't', ... */
} sxt_ksym_symbol;

/*
 * Open the blob of SIZE bytes at DATA; which layout it has, its structure tells. Bytes behind its end are allowed. The
 * text is [TEXT_START, TEXT_END): sxt_ksym_lookup knows nothing outside. When both are 0, it goes from the first symbol
 * to the end of the 4 KiB page of the last one.
 *
 * NULL when everything is fine. Otherwise what is wrong, with *OFFSET (may be NULL) where in the blob that was found;
 * KSYM is then empty, and nothing is found in it. Takes time in proportion to the number of symbols.
 */
SXT_API const char *sxt_ksym_open(sxt_ksym *ksym, const void *data, size_t size, uint64_t text_start, uint64_t text_end,
                                  size_t *offset);

/* Changes the bounds of the text of an open blob; the arguments are those of sxt_ksym_open. */
SXT_API void sxt_ksym_set_text(sxt_ksym *ksym, uint64_t text_start, uint64_t text_end);

static inline size_t sxt_ksym_count(const sxt_ksym *ksym)
{
    return ksym->count;
}

/* --- by address --- */

/*
 * The symbol that ADDRESS belongs to: the last one that begins at or before it, and of several that begin there the one
 * with the lowest index. Its name goes to NAME without the module; NAME may be NULL when CAPACITY is 0. False, and an
 * empty name, when ADDRESS is before the first symbol or outside of the text.
 */
SXT_API bool sxt_ksym_lookup(const sxt_ksym *ksym, uint64_t address, char *name, size_t capacity,
                             sxt_ksym_symbol *symbol);

/*
 * A line of a backtrace, "name+0xoffset/0xsize" or "name+0xoffset/0xsize [module]"; "0xaddress" where nothing is known.
 * When it does not fit, the name is cut and the rest stays. Returns the size of the whole line.
 */
SXT_API size_t sxt_ksym_format(const sxt_ksym *ksym, uint64_t address, char *buffer, size_t capacity);

/*
 * The same for a return address. It belongs to the call before it, which may be the last instruction of a function that
 * never gets back.
 */
SXT_API size_t sxt_ksym_format_return(const sxt_ksym *ksym, uint64_t address, char *buffer, size_t capacity);

/* --- by name --- */

/* Where a search is. Nothing in it is for the caller. */
typedef struct sxt_ksym_matches {
    const sxt_ksym *ksym;
    const char *name;
    size_t name_size;
    size_t next;       /* in the order of names */
    bool with_modules; /* are the symbols without a module done? */
} sxt_ksym_matches;

/*
 * All symbols that are called NAME, SIZE bytes that must stay: those stored under exactly this name first, then those
 * that have a module behind it. sxt_ksym_next gives one after the other, and false when there are no more. Names are
 * compared where they are stored; none is expanded.
 */
SXT_API void sxt_ksym_find(const sxt_ksym *ksym, const char *name, size_t size, sxt_ksym_matches *matches);
SXT_API bool sxt_ksym_next(sxt_ksym_matches *matches, size_t *index);

/* --- one by one; an index that is too large gives false, 0 or an empty text --- */

SXT_API uint64_t sxt_ksym_address(const sxt_ksym *ksym, size_t index);

/* Everything but the name. SYMBOL->offset is 0. A symbol outside of the text ends at the next other one, the last one
 * with its 4 KiB page. */
SXT_API bool sxt_ksym_symbol_at(const sxt_ksym *ksym, size_t index, sxt_ksym_symbol *symbol);

/* The name as it is stored, with the module. Returns its size. */
SXT_API size_t sxt_ksym_name(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity);

/* The name where it is: HEAD, a token that names share, which may be empty, and TAIL, what is stored for this one. */
typedef struct sxt_ksym_stored {
    const unsigned char *head, *tail;
    size_t head_size, tail_size;
    size_t token;       /* its id, also when there is no such token */
    size_t marker_size; /* 0 when the name is stored without a token */
} sxt_ksym_stored;

SXT_API bool sxt_ksym_stored_at(const sxt_ksym *ksym, size_t index, sxt_ksym_stored *stored);

/* The module alone, without brackets. Returns its size, 0 for none. */
SXT_API size_t sxt_ksym_module(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity);

/* The index of the symbol that is POSITION-th in the order of names; sxt_ksym_count when POSITION is too large. */
SXT_API size_t sxt_ksym_by_name(const sxt_ksym *ksym, size_t position);

/* --- everything --- */

/* One line a symbol in the order of addresses, as /proc/kallsyms has it: 16 hexadecimal digits, the type, the stored
 * name. PUT gets the text in pieces, some of them empty. */
SXT_API void sxt_ksym_dump(const sxt_ksym *ksym, void (*put)(void *data, const char *bytes, size_t size), void *data);

typedef struct sxt_ksym_problem {
    const char *rule; /* a word: "name-order", "name-index", "token", "tokens", "marker", "empty-name"; harmless
                         are "long-name" and "unused-token" */
    const char *text;
    size_t offset;
    bool harmless; /* a waste, or a limit of other readers */
} sxt_ksym_problem;

/*
 * In a file of its own, src/ksym/check.c, which a kernel has no use for.
 *
 * What sxt_ksym_open does not look at: the order of names, and whether other readers can make them out. PROBLEM (may be
 * NULL) is told of each one. Returns how many there are, without the harmless ones. Names are found by sxt_ksym_find
 * for certain only when there is no problem "name-order" and "name-index".
 */
SXT_API size_t sxt_ksym_check(const sxt_ksym *ksym, void (*problem)(void *data, const sxt_ksym_problem *problem),
                              void *data);

#ifdef __cplusplus
}
#endif

#endif
