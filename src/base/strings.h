/*
 * strings.h: a table that keeps each string once and names it by a small number, in the order of first use.
 *
 * Number 0 is always the empty string. Views stay valid until the table is freed. One thread at a time may add; any
 * number may read while none adds. The hash is keyed, so a hostile file cannot make lookups slow.
 */
#ifndef SXT_BASE_STRINGS_H
#define SXT_BASE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/arena.h"

/* What sxt_strings_add returns when memory or the limit is reached. */
#define SXT_STRINGS_FULL UINT32_MAX

struct sxt_strings {
    struct sxt_arena arena; /* the bytes */
    sxt_string *views;      /* by number */
    uint32_t *hashes;       /* by number */
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* open addressing: number + 1, or 0 */
    uint32_t slot_count;
    uint64_t bytes;      /* sum of all sizes */
    uint64_t secrets[2]; /* of the hash */
};

/* A table with the empty string in it, whose strings take at most LIMIT bytes (0: no limit). Can run out of memory. */
int sxt_strings_init(struct sxt_strings *strings, size_t limit, sxt_error *error);
void sxt_strings_free(struct sxt_strings *strings);

/* The number of the string, which is copied in if it is new; SXT_STRINGS_FULL when that fails. */
uint32_t sxt_strings_add(struct sxt_strings *strings, const char *data, size_t size);

/* The same for string NUMBER of another table of this process. */
uint32_t sxt_strings_add_from(struct sxt_strings *strings, const struct sxt_strings *other, uint32_t number);

/* Makes room for COUNT strings in all. Best effort: without it the table grows as strings are added. */
void sxt_strings_reserve(struct sxt_strings *strings, size_t count);

/* The hash of a string in this table. Safe from any thread, also while another one adds. */
uint32_t sxt_strings_hash(const struct sxt_strings *strings, const char *data, size_t size);

/* As sxt_strings_add, but TEXT is not copied: it stays valid as long as the table. HASH is that of sxt_strings_hash. */
uint32_t sxt_strings_lend(struct sxt_strings *strings, sxt_string text, uint32_t hash);

/* As sxt_strings_add, of a string whose hash is known. */
uint32_t sxt_strings_add_hashed(struct sxt_strings *strings, sxt_string text, uint32_t hash);

/*
 * Computes the HASHES of COUNT strings that will be added, and requests all memory that adding them will read, for all
 * of them together: in a large table, waiting for it one string after another takes longer than everything else.
 */
void sxt_strings_expect(const struct sxt_strings *strings, const sxt_string *texts, size_t count, uint32_t *hashes);

/* Requests the memory that adding a string with that hash will read first. */
static inline void sxt_strings_prefetch(const struct sxt_strings *strings, uint32_t hash)
{
    __builtin_prefetch(&strings->slots[hash & (strings->slot_count - 1)]);
}

/* The number of the string, or SXT_STRINGS_FULL when it is not in the table. */
uint32_t sxt_strings_find(const struct sxt_strings *strings, const char *data, size_t size);

/* The string with that NUMBER, which must be below count. Also NUL-terminated in memory, unless it was lent. */
static inline sxt_string sxt_strings_get(const struct sxt_strings *strings, uint32_t number)
{
    return strings->views[number];
}

#endif
