/* live.c: the blocks that are allocated at some moment. */
#include "mlyze/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_BITS 12
#define MOST_BITS  32 /* of a tag */
#define CHUNK      ((size_t)1 << SXT_LIVE_CHUNK_BITS)

_Static_assert(CHUNK * sizeof(struct sxt_live_block) == SXT_LARGE_PAGE, "a chunk is a large page");

/* Best effort: it is not a failure if there are no large pages. */
void *sxt_large_alloc(size_t size)
{
    void *memory = aligned_alloc(SXT_LARGE_PAGE, (size + SXT_LARGE_PAGE - 1) / SXT_LARGE_PAGE * SXT_LARGE_PAGE);
    if (memory != NULL)
        (void)madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

void sxt_large_advise(void *memory, size_t size)
{
    uintptr_t start = ((uintptr_t)memory + SXT_LARGE_PAGE - 1) / SXT_LARGE_PAGE * SXT_LARGE_PAGE;
    uintptr_t end = ((uintptr_t)memory + size) / SXT_LARGE_PAGE * SXT_LARGE_PAGE;
    if (memory != NULL && start < end)
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE); /* NOLINT: an address */
}

static struct sxt_live_slot *make_slots(size_t count)
{
    size_t size = count * sizeof(struct sxt_live_slot);
    if (size < SXT_LARGE_PAGE)
        return calloc(1, size);
    struct sxt_live_slot *slots = sxt_large_alloc(size);
    if (slots != NULL)
        memset(slots, 0, size);
    return slots;
}

/* Makes room for blocks with numbers up to MOST. Unused parts of a chunk take no memory. */
static bool make_chunks(struct sxt_live *live, size_t most)
{
    size_t wanted = most / CHUNK + 1;
    struct sxt_live_block **chunks = realloc(live->chunks, wanted * sizeof(struct sxt_live_block *));
    if (chunks == NULL)
        return false;
    live->chunks = chunks;
    while (live->chunk_count < wanted) {
        void *chunk = live->chunk_count == 0 ? malloc(SXT_LARGE_PAGE) : sxt_large_alloc(SXT_LARGE_PAGE);
        if (chunk == NULL)
            return false;
        chunks[live->chunk_count++] = chunk;
    }
    return true;
}

/* Slots are small, so half of them may be empty: then most lookups hit the first slot. */
static bool make_room(struct sxt_live *live, unsigned bits)
{
    size_t count = (size_t)1 << bits, most = count / 2;
    struct sxt_live_slot *slots = make_slots(count);
    uint32_t *weights = live->weights == NULL ? NULL : realloc(live->weights, (most + 1) * sizeof *weights);
    bool is_good = slots != NULL && (weights != NULL || live->weights == NULL) && make_chunks(live, most);
    live->weights = weights != NULL ? weights : live->weights;
    if (!is_good) {
        free(slots);
        return false;
    }
    live->slots = slots;
    live->mask = count - 1;
    live->shift = MOST_BITS - bits;
    live->most = most;
    return true;
}

bool sxt_live_init(struct sxt_live *live)
{
    memset(live, 0, sizeof *live);
    if (getrandom(live->secrets, sizeof live->secrets, GRND_NONBLOCK) != (ssize_t)sizeof live->secrets) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        live->secrets[0] = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15 ^ (uint64_t)(uintptr_t)live;
        live->secrets[1] = live->secrets[0] ^ 0xd6e8feb86659fd93;
    }
    return make_room(live, FIRST_BITS);
}

void sxt_live_free(struct sxt_live *live)
{
    for (size_t i = 0; i < live->chunk_count; i++)
        free(live->chunks[i]);
    free(live->chunks);
    free(live->slots);
    free(live->weights);
    memset(live, 0, sizeof *live);
}

bool sxt_live_keep_weights(struct sxt_live *live)
{
    live->weights = malloc((live->most + 1) * sizeof *live->weights);
    return live->weights != NULL;
}

static void put(struct sxt_live *live, struct sxt_live_slot slot)
{
    size_t at = sxt_live_home(live, slot.tag);
    while (live->slots[at].number != 0)
        at = (at + 1) & live->mask;
    live->slots[at] = slot;
}

bool sxt_live_grow(struct sxt_live *live)
{
    struct sxt_live_slot *old = live->slots;
    size_t old_mask = live->mask;
    unsigned bits = MOST_BITS - live->shift + 1;
    if (bits > MOST_BITS || bits >= 8 * sizeof(size_t) - 6 || !make_room(live, bits))
        return false;
    for (size_t i = 0; i <= old_mask; i++)
        if (old[i].number != 0)
            put(live, old[i]);
    free(old);
    return true;
}

void sxt_live_remove(struct sxt_live *live, size_t place)
{
    uint32_t number = live->slots[place].number;
    sxt_live_block(live, number)->site = live->vacant;
    live->vacant = number;
    live->count--;
    /* Entries after the gap move into it, unless that would put them before their first slot. */
    size_t gap = place;
    for (size_t at = (gap + 1) & live->mask; live->slots[at].number != 0; at = (at + 1) & live->mask) {
        size_t home = sxt_live_home(live, live->slots[at].tag);
        if (((at - home) & live->mask) < ((at - gap) & live->mask))
            continue;
        live->slots[gap] = live->slots[at];
        gap = at;
    }
    live->slots[gap].number = 0;
}

size_t sxt_live_next(const struct sxt_live *live, size_t place)
{
    for (size_t at = place == SXT_LIVE_NOWHERE ? 0 : place + 1; at <= live->mask; at++)
        if (live->slots[at].number != 0)
            return at;
    return SXT_LIVE_NOWHERE;
}
