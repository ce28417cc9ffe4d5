/* live.c: the blocks that are allocated at some moment. */
#include "mlyze/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_BITS 12

static bool make_room(struct sxt_live *live, unsigned bits)
{
    size_t places = (size_t)1 << bits;
    live->addresses = calloc(places, sizeof *live->addresses);
    live->blocks = malloc(places * sizeof *live->blocks);
    if (live->addresses == NULL || live->blocks == NULL) {
        free(live->addresses);
        free(live->blocks);
        live->addresses = NULL;
        live->blocks = NULL;
        return false;
    }
    live->mask = places - 1;
    live->shift = 64 - bits;
    live->most = places / 8 * 5;
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
    free(live->addresses);
    free(live->blocks);
    memset(live, 0, sizeof *live);
}

bool sxt_live_grow(struct sxt_live *live)
{
    struct sxt_live old = *live;
    unsigned bits = 64 - old.shift + 1;
    if (bits >= 8 * sizeof(size_t) - 6 || !make_room(live, bits)) {
        *live = old;
        return false;
    }
    for (size_t i = 0; i <= old.mask; i++) {
        if (old.addresses[i] == 0)
            continue;
        size_t at = sxt_live_home(live, old.addresses[i]);
        while (live->addresses[at] != 0)
            at = (at + 1) & live->mask;
        live->addresses[at] = old.addresses[i];
        live->blocks[at] = old.blocks[i];
    }
    free(old.addresses);
    free(old.blocks);
    return true;
}

void sxt_live_remove(struct sxt_live *live, size_t place)
{
    live->count--;
    if (place == SXT_LIVE_NULL) {
        live->has_null = false;
        return;
    }
    /* What stands behind the gap moves into it, unless it would stand before its home. */
    size_t gap = place;
    for (size_t at = (gap + 1) & live->mask; live->addresses[at] != 0; at = (at + 1) & live->mask) {
        size_t home = sxt_live_home(live, live->addresses[at]);
        if (((at - home) & live->mask) < ((at - gap) & live->mask))
            continue;
        live->addresses[gap] = live->addresses[at];
        live->blocks[gap] = live->blocks[at];
        gap = at;
    }
    live->addresses[gap] = 0;
}

size_t sxt_live_next(const struct sxt_live *live, size_t place)
{
    if (place == SXT_LIVE_NOWHERE && live->has_null)
        return SXT_LIVE_NULL;
    for (size_t at = place >= SXT_LIVE_NULL ? 0 : place + 1; at <= live->mask; at++)
        if (live->addresses[at] != 0)
            return at;
    return SXT_LIVE_NOWHERE;
}
