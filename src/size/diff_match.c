/*
 * diff_match.c: one pass of matching. Of the symbols with the same key, the first ones of both sides belong together,
 * then the second ones, and so on.
 *
 * Memory accesses take most of the time, so each step reads memory in order, or works on what fits into a cache:
 *
 *     hash      the keys of both sides, on several threads
 *     share     hashes out by their upper bits: at most 64 shares, which are independent
 *     match     each share, with a table: hash -> first symbol of BEFORE with it that is free -> next -> next
 *     verify    that keys are equal where hashes are; if not, match again by keys
 *
 * What stays in BEFORE is listed as in the reference, whose dictionary keeps symbols of a key together: keys in the
 * order of their first symbol, matched or not. The order matters to the next pass, and is that of the result.
 */
#include "size/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"

#define CHUNK           4096  /* keys that a thread hashes or verifies at a time */
#define WORTH_A_THREAD  16384 /* symbols; for fewer, starting threads takes longer than it saves */
#define MOST_THREADS    16
#define SHARE_SIZE      16384 /* symbols of BEFORE in a share, about */
#define MOST_SHARE_BITS 6
#define USED_UP         UINT32_MAX

struct slot {
    uint64_t hash;
    uint32_t place; /* in the list of BEFORE, plus 1; 0 for a free slot, USED_UP when all of the key have a match */
};

struct pass {
    const struct sxt_size_side *sides;
    unsigned number;
    const struct sxt_size_list *lists; /* before, after */
    bool is_exact;                     /* compare keys too */
    uint64_t *hashes[2];               /* by place in the list of the side; 0 for a symbol without a key */
    unsigned share_bits;
    uint32_t *places[2]; /* by share: places in the list of the side */
    size_t share_ends[2][(1 << MOST_SHARE_BITS) + 1];
    uint32_t *next;                          /* by place in BEFORE: the next one of the same key, or SXT_SIZE_NONE */
    bool *is_first;                          /* by place in BEFORE: has no earlier symbol the same key? */
    uint32_t *match;                         /* by place in AFTER: its place in BEFORE, or SXT_SIZE_NONE */
    struct sxt_size_key_memory (*memory)[2]; /* by thread */
};

static int allocate(struct pass *pass, unsigned threads, sxt_error *error);
static void release(struct pass *pass, unsigned threads);
static int run(struct pass *pass, unsigned threads);
static int hash_chunk(void *context, unsigned worker, size_t chunk);
static int share_out(void *context, unsigned worker, size_t side);
static int match_share(void *context, unsigned worker, size_t share);
static int verify_chunk(void *context, unsigned worker, size_t chunk);
static void fill(const struct pass *pass, struct slot *slots, size_t slot_count, size_t share, unsigned worker);
static void look_up(const struct pass *pass, struct slot *slots, size_t slot_count, size_t share, unsigned worker);
static size_t find_slot(const struct pass *pass, const struct slot *slots, size_t slot_count, int side, uint32_t place,
                        unsigned worker);
static int finish(struct pass *pass, struct sxt_size_list *before, struct sxt_size_list *after,
                  struct sxt_size_pair *pairs, size_t *pair_count, sxt_error *error);

int sxt_size_match(const struct sxt_size_side sides[2], unsigned number, unsigned threads, struct sxt_size_list *before,
                   struct sxt_size_list *after, struct sxt_size_pair *pairs, size_t *pair_count, sxt_error *error)
{
    if (before->count == 0)
        return SXT_OK;
    struct pass pass = {.sides = sides, .number = number, .lists = (struct sxt_size_list[]){*before, *after}};
    threads = before->count + after->count < WORTH_A_THREAD ? 1 : sxt_pool_threads(threads);
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    while (before->count >> pass.share_bits > SHARE_SIZE && pass.share_bits < MOST_SHARE_BITS)
        pass.share_bits++;

    int status = allocate(&pass, threads, error);
    if (status == SXT_OK && run(&pass, threads) != SXT_OK)
        status = sxt_fail_memory(error, before->count * sizeof(struct slot));
    if (status == SXT_OK)
        status = finish(&pass, before, after, pairs, pair_count, error);
    release(&pass, threads);
    return status;
}

static int allocate(struct pass *pass, unsigned threads, sxt_error *error)
{
    size_t before = pass->lists[0].count, after = pass->lists[1].count;
    for (int side = 0; side < 2; side++) {
        pass->hashes[side] = malloc((pass->lists[side].count + 1) * sizeof *pass->hashes[side]);
        pass->places[side] = malloc((pass->lists[side].count + 1) * sizeof *pass->places[side]);
    }
    pass->next = malloc(before * sizeof *pass->next);
    pass->is_first = malloc(before * sizeof *pass->is_first);
    pass->match = malloc((after + 1) * sizeof *pass->match);
    pass->memory = malloc(threads * sizeof *pass->memory);
    if (pass->memory != NULL)
        for (unsigned i = 0; i < threads; i++)
            for (int j = 0; j < 2; j++)
                sxt_size_key_memory_init(&pass->memory[i][j]);
    if (pass->hashes[0] == NULL || pass->hashes[1] == NULL || pass->places[0] == NULL || pass->places[1] == NULL ||
        pass->next == NULL || pass->is_first == NULL || pass->match == NULL || pass->memory == NULL)
        return sxt_fail_memory(error, (before + after) * sizeof *pass->places[0]);
    return SXT_OK;
}

static void release(struct pass *pass, unsigned threads)
{
    if (pass->memory != NULL)
        for (unsigned i = 0; i < threads; i++)
            for (int j = 0; j < 2; j++)
                sxt_size_key_memory_free(&pass->memory[i][j]);
    free(pass->memory);
    for (int side = 0; side < 2; side++) {
        free(pass->hashes[side]);
        free(pass->places[side]);
    }
    free(pass->next);
    free(pass->is_first);
    free(pass->match);
}

static size_t chunks_of(const struct pass *pass, int side)
{
    return (pass->lists[side].count + CHUNK - 1) / CHUNK;
}

/* Fails when memory is short. */
static int run(struct pass *pass, unsigned threads)
{
    size_t chunks = chunks_of(pass, 0) + chunks_of(pass, 1), shares = (size_t)1 << pass->share_bits;
    sxt_pool_run(threads, chunks, hash_chunk, pass);
    sxt_pool_run(threads < 2 ? threads : 2, 2, share_out, pass);
    int status = sxt_pool_run(threads, shares, match_share, pass);
    if (status == SXT_OK && sxt_pool_run(threads, chunks, verify_chunk, pass) != 0) {
        pass->is_exact = true;
        status = sxt_pool_run(threads, shares, match_share, pass);
    }
    for (unsigned i = 0; i < threads; i++)
        if (pass->memory[i][0].failed || pass->memory[i][1].failed)
            status = SXT_ERROR_MEMORY;
    return status;
}

/* The chunks of BEFORE come first. Returns the side, and where in its list the chunk begins and ends. */
static int find_chunk(const struct pass *pass, size_t chunk, size_t *from, size_t *to)
{
    size_t chunks_before = chunks_of(pass, 0);
    int side = chunk >= chunks_before;
    *from = (side == 0 ? chunk : chunk - chunks_before) * CHUNK;
    size_t left = pass->lists[side].count - *from;
    *to = *from + (left < CHUNK ? left : CHUNK);
    return side;
}

static int hash_chunk(void *context, unsigned worker, size_t chunk)
{
    const struct pass *pass = context;
    size_t from, to;
    int side = find_chunk(pass, chunk, &from, &to);
    for (size_t i = from; i < to; i++)
        pass->hashes[side][i] =
            sxt_size_key_hash(&pass->sides[side], pass->lists[side].items[i], pass->number, &pass->memory[worker][0]);
    return 0;
}

static size_t share_of(const struct pass *pass, uint64_t hash)
{
    return pass->share_bits == 0 ? 0 : hash >> (64 - pass->share_bits);
}

/* Keeps the order inside a share. */
static int share_out(void *context, unsigned worker, size_t side)
{
    (void)worker;
    struct pass *pass = context;
    size_t *ends = pass->share_ends[side];
    for (size_t i = 0; i < pass->lists[side].count; i++)
        ends[share_of(pass, pass->hashes[side][i]) + 1]++;
    /* Each entry is at first the beginning of its share, and then its end. The beginning is then the entry before. */
    for (size_t i = 1; i < sizeof pass->share_ends[side] / sizeof *ends; i++)
        ends[i] += ends[i - 1];
    for (size_t i = 0; i < pass->lists[side].count; i++)
        pass->places[side][ends[share_of(pass, pass->hashes[side][i])]++] = (uint32_t)i;
    return 0;
}

static size_t begin_of_share(const struct pass *pass, int side, size_t share)
{
    return share == 0 ? 0 : pass->share_ends[side][share - 1];
}

static int match_share(void *context, unsigned worker, size_t share)
{
    const struct pass *pass = context;
    size_t count = pass->share_ends[0][share] - begin_of_share(pass, 0, share);
    size_t slot_count = 16;
    while (slot_count < 2 * count)
        slot_count *= 2;
    struct slot *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return SXT_ERROR_MEMORY;
    fill(pass, slots, slot_count, share, worker);
    look_up(pass, slots, slot_count, share, worker);
    free(slots);
    return SXT_OK;
}

/* From the last to the first, so that a chain begins with the first. Symbols without a key are one chain. */
static void fill(const struct pass *pass, struct slot *slots, size_t slot_count, size_t share, unsigned worker)
{
    uint32_t without_key = SXT_SIZE_NONE;
    size_t begin = begin_of_share(pass, 0, share);
    for (size_t i = pass->share_ends[0][share]; i-- > begin;) {
        uint32_t place = pass->places[0][i], following = without_key;
        if (pass->hashes[0][place] == 0) {
            without_key = place;
        } else {
            struct slot *slot = &slots[find_slot(pass, slots, slot_count, 0, place, worker)];
            following = slot->place == 0 ? SXT_SIZE_NONE : slot->place - 1;
            *slot = (struct slot){pass->hashes[0][place], place + 1};
        }
        pass->next[place] = following;
        pass->is_first[place] = true;
        if (following != SXT_SIZE_NONE)
            pass->is_first[following] = false;
    }
}

/* A slot whose chain is used up is not free again, because another key may follow it. */
static void look_up(const struct pass *pass, struct slot *slots, size_t slot_count, size_t share, unsigned worker)
{
    for (size_t i = begin_of_share(pass, 1, share); i < pass->share_ends[1][share]; i++) {
        uint32_t place = pass->places[1][i], *match = &pass->match[place];
        *match = SXT_SIZE_NONE;
        if (pass->hashes[1][place] == 0)
            continue;
        struct slot *slot = &slots[find_slot(pass, slots, slot_count, 1, place, worker)];
        if (slot->place == 0)
            continue;
        *match = slot->place - 1;
        slot->place = pass->next[*match] == SXT_SIZE_NONE ? USED_UP : pass->next[*match] + 1;
    }
}

static bool is_same_key(const struct pass *pass, uint32_t place_before, int side, uint32_t place, unsigned worker)
{
    return sxt_size_key_equal(&pass->sides[0], pass->lists[0].items[place_before], &pass->sides[side],
                              pass->lists[side].items[place], pass->number, pass->memory[worker]);
}

/* The slot of the key of a symbol, or the free one where it would be. */
static size_t find_slot(const struct pass *pass, const struct slot *slots, size_t slot_count, int side, uint32_t place,
                        unsigned worker)
{
    uint64_t hash = pass->hashes[side][place];
    size_t at = hash & (slot_count - 1);
    for (; slots[at].place != 0; at = (at + 1) & (slot_count - 1))
        if (slots[at].hash == hash && slots[at].place != USED_UP &&
            (!pass->is_exact || is_same_key(pass, slots[at].place - 1, side, place, worker)))
            break;
    return at;
}

/* Fails when two different keys were taken for the same one. */
static int verify_chunk(void *context, unsigned worker, size_t chunk)
{
    const struct pass *pass = context;
    size_t from, to;
    int side = find_chunk(pass, chunk, &from, &to);
    for (size_t i = from; i < to; i++) {
        uint32_t same = side == 0 ? pass->next[i] : pass->match[i];
        if (same != SXT_SIZE_NONE && pass->hashes[side][i] != 0 && !is_same_key(pass, same, side, (uint32_t)i, worker))
            return 1;
    }
    return 0;
}

static int finish(struct pass *pass, struct sxt_size_list *before, struct sxt_size_list *after,
                  struct sxt_size_pair *pairs, size_t *pair_count, sxt_error *error)
{
    bool *is_taken = calloc(before->count, sizeof *is_taken);
    uint32_t *left = malloc(before->count * sizeof *left);
    if (is_taken == NULL || left == NULL) {
        free(is_taken);
        free(left);
        return sxt_fail_memory(error, before->count * sizeof *left);
    }
    size_t count = 0;
    for (size_t i = 0; i < after->count; i++) {
        uint32_t match = pass->match[i];
        if (match == SXT_SIZE_NONE) {
            after->items[count++] = after->items[i];
            continue;
        }
        is_taken[match] = true;
        pairs[(*pair_count)++] = (struct sxt_size_pair){.before = before->items[match], .after = after->items[i]};
    }
    after->count = count;

    count = 0;
    for (size_t i = 0; i < before->count; i++)
        if (pass->is_first[i])
            for (size_t j = i; j != SXT_SIZE_NONE; j = pass->next[j])
                if (!is_taken[j])
                    left[count++] = before->items[j];
    free(is_taken);
    free(before->items);
    *before = (struct sxt_size_list){left, count};
    return SXT_OK;
}
