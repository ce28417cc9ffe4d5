/* diff.h: what the files that compare two sizes share: diff_keys.c, diff_match.c, diff_pairs.c. */
#ifndef SXT_SIZE_DIFF_H
#define SXT_SIZE_DIFF_H

#include "size/size.h"

/* Passes are numbered as in the reference's documentation. */
#define SXT_SIZE_PASSES 4

/* One of the two sizes that are compared, with what the keys of its symbols need. */
struct sxt_size_side {
    const struct sxt_size_info *size;
    uint64_t seed;         /* of all hashes; the same on both sides */
    uint32_t *containers;  /* by container: a number that is the same on both sides for the same container */
    uint64_t *path_hashes; /* by path: of the source, or of the object when it has none */
};

/* What a thread needs to make a key. */
struct sxt_size_key_memory {
    struct sxt_buffer names, copy;
    bool failed; /* memory was short, now or earlier */
};

static inline int64_t sxt_size_difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t sxt_size_without_padding(const struct sxt_size_model_symbol *symbol)
{
    return sxt_size_difference(symbol->size, symbol->padding);
}

/* --- diff_keys.c --- */

int sxt_size_sides_open(struct sxt_size_side sides[2], const struct sxt_size_info *before,
                        const struct sxt_size_info *after, sxt_error *error);
void sxt_size_sides_close(struct sxt_size_side sides[2]);

void sxt_size_key_memory_init(struct sxt_size_key_memory *memory);
void sxt_size_key_memory_free(struct sxt_size_key_memory *memory);

/* A hash of the key that symbol INDEX has in PASS; 0 when it has none. */
uint64_t sxt_size_key_hash(const struct sxt_size_side *side, uint32_t index, unsigned pass,
                           struct sxt_size_key_memory *memory);

/* Whether two symbols, of one side or of both, have the same key. Both must have one. MEMORY has two elements. */
bool sxt_size_key_equal(const struct sxt_size_side *side_a, uint32_t a, const struct sxt_size_side *side_b, uint32_t b,
                        unsigned pass, struct sxt_size_key_memory *memory);

/* --- diff_match.c --- */

/* Numbers of symbols. */
struct sxt_size_list {
    uint32_t *items;
    size_t count;
};

/* Matches what BEFORE and AFTER list, appends a pair for each match, and leaves what has none in the lists. */
int sxt_size_match(const struct sxt_size_side sides[2], unsigned pass, unsigned threads, struct sxt_size_list *before,
                   struct sxt_size_list *after, struct sxt_size_pair *pairs, size_t *pair_count, sxt_error *error);

#endif
