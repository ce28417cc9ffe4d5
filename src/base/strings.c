/*
 * strings.c: a hash table with open addressing and linear probing. A slot holds only a number; the hash of each string
 * is kept beside its view, so that growing reads no string and a probe rarely compares bytes.
 */
#include "base/strings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/bytes.h"
#include "base/error.h"

#define FIRST_SLOT_COUNT   256
#define LARGEST_SLOT_COUNT (UINT32_C(1) << 31)

static void draw_secrets(uint64_t secrets[2]);
static uint32_t find_slot(const struct sxt_strings *strings, uint32_t hash, const char *data, size_t size);
static bool make_room(struct sxt_strings *strings);
static bool grow_views(struct sxt_strings *strings, uint64_t capacity);
static bool grow_slots(struct sxt_strings *strings, uint64_t slot_count);
static void put(struct sxt_strings *strings, uint32_t slot, uint32_t hash, const char *data, size_t size);

int sxt_strings_init(struct sxt_strings *strings, size_t limit, sxt_error *error)
{
    *strings = (struct sxt_strings){.count = 0};
    draw_secrets(strings->secrets);
    sxt_arena_init(&strings->arena, limit, sxt_arena_separate_default);
    if (!make_room(strings)) {
        sxt_strings_free(strings);
        return sxt_fail_memory(error, FIRST_SLOT_COUNT * sizeof *strings->slots);
    }
    uint32_t hash = sxt_strings_hash(strings, "", 0);
    put(strings, find_slot(strings, hash, "", 0), hash, "", 0);
    return SXT_OK;
}

void sxt_strings_free(struct sxt_strings *strings)
{
    sxt_arena_free(&strings->arena);
    free(strings->views);
    free(strings->hashes);
    free(strings->slots);
    *strings = (struct sxt_strings){.arena = strings->arena};
}

/* The number of the string, of which a new one is copied unless it is LENT. */
static uint32_t add(struct sxt_strings *strings, uint32_t hash, const char *data, size_t size, bool lent)
{
    uint32_t slot = find_slot(strings, hash, data, size);
    if (strings->slots[slot] != 0)
        return strings->slots[slot] - 1;

    uint32_t slot_count = strings->slot_count;
    if (!make_room(strings))
        return SXT_STRINGS_FULL;
    if (strings->slot_count != slot_count)
        slot = find_slot(strings, hash, data, size);
    if (!lent)
        data = sxt_arena_copy(&strings->arena, data, size);
    if (data == NULL)
        return SXT_STRINGS_FULL;
    put(strings, slot, hash, data, size);
    return strings->count - 1;
}

uint32_t sxt_strings_add(struct sxt_strings *strings, const char *data, size_t size)
{
    return add(strings, sxt_strings_hash(strings, data, size), data, size, false);
}

uint32_t sxt_strings_lend(struct sxt_strings *strings, sxt_string text, uint32_t hash)
{
    return add(strings, hash, text.data, text.size, true);
}

uint32_t sxt_strings_add_hashed(struct sxt_strings *strings, sxt_string text, uint32_t hash)
{
    return add(strings, hash, text.data, text.size, false);
}

/* The slot, then what is known of the string in it, then its bytes if it may be the same. */
void sxt_strings_expect(const struct sxt_strings *strings, const sxt_string *texts, size_t count, uint32_t *hashes)
{
    uint32_t mask = strings->slot_count - 1;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = sxt_strings_hash(strings, texts[i].data, texts[i].size);
        sxt_strings_prefetch(strings, hashes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t taken = strings->slots[hashes[i] & mask];
        if (taken != 0) {
            __builtin_prefetch(&strings->hashes[taken - 1]);
            __builtin_prefetch(&strings->views[taken - 1]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t taken = strings->slots[hashes[i] & mask];
        if (taken != 0 && strings->hashes[taken - 1] == hashes[i]) {
            __builtin_prefetch(strings->views[taken - 1].data);
            __builtin_prefetch(strings->views[taken - 1].data + strings->views[taken - 1].size);
        }
    }
}

void sxt_strings_reserve(struct sxt_strings *strings, size_t count)
{
    uint64_t slot_count = strings->slot_count, wanted = (uint64_t)count + 1;
    if (wanted > LARGEST_SLOT_COUNT / 2 || (wanted > strings->capacity && !grow_views(strings, wanted)))
        return;
    while (wanted * 10 > slot_count * 7)
        slot_count *= 2;
    if (slot_count > strings->slot_count)
        (void)grow_slots(strings, slot_count);
}

/* All tables of a process have the same secrets, so the hash need not be computed again. */
uint32_t sxt_strings_add_from(struct sxt_strings *strings, const struct sxt_strings *other, uint32_t number)
{
    return add(strings, other->hashes[number], other->views[number].data, other->views[number].size, false);
}

uint32_t sxt_strings_find(const struct sxt_strings *strings, const char *data, size_t size)
{
    uint32_t slot = find_slot(strings, sxt_strings_hash(strings, data, size), data, size);
    return strings->slots[slot] == 0 ? SXT_STRINGS_FULL : strings->slots[slot] - 1;
}

/* The system gives every process 16 random bytes. A hostile file must not get all its names into one slot. */
static void draw_secrets(uint64_t secrets[2])
{
    const void *random = (const void *)getauxval(AT_RANDOM); /* NOLINT: an address */
    secrets[0] = UINT64_C(0xd6e8feb86659fd93);
    secrets[1] = UINT64_C(0x9e3779b97f4a7c15);
    if (random != NULL)
        memcpy(secrets, random, 16);
    secrets[1] |= 1;
}

/* All bits of the product depend on the secret, so words that collide cannot be chosen without knowing it. */
static inline uint64_t mix(uint64_t state, uint64_t word, uint64_t secret)
{
    unsigned __int128 product = (unsigned __int128)(state ^ word) * secret;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Eight bytes a step. The last step of a longer string reads its last eight bytes, some of them for the second time,
 * rather than the rest byte by byte.
 */
uint32_t sxt_strings_hash(const struct sxt_strings *strings, const char *data, size_t size)
{
    const uint64_t secret = strings->secrets[1];
    uint64_t state = strings->secrets[0] + size;
    uint64_t last = 0;
    if (size >= 8) {
        for (size_t at = 0; at < size - 8; at += 8)
            state = mix(state, sxt_load_u64le(data + at), secret);
        last = sxt_load_u64le(data + size - 8);
    } else if (size >= 4) {
        last = (uint64_t)sxt_load_u32le(data) << 32 | sxt_load_u32le(data + size - 4);
    } else {
        for (size_t at = 0; at < size; at++)
            last = last << 8 | (uint8_t)data[at];
    }
    return (uint32_t)(mix(mix(state, last, secret), size, secret) >> 32);
}

/* The slot that holds the string, or the empty one where it belongs. There always is an empty one. */
static uint32_t find_slot(const struct sxt_strings *strings, uint32_t hash, const char *data, size_t size)
{
    uint32_t mask = strings->slot_count - 1;
    for (uint32_t slot = hash & mask;; slot = (slot + 1) & mask) {
        if (strings->slots[slot] == 0)
            return slot;
        uint32_t number = strings->slots[slot] - 1;
        if (strings->hashes[number] != hash || strings->views[number].size != size)
            continue;
        if (size == 0 || memcmp(strings->views[number].data, data, size) == 0)
            return slot;
    }
}

/* Room for one more string. On failure the table is as useful as before. */
static bool make_room(struct sxt_strings *strings)
{
    uint64_t capacity = strings->capacity == 0 ? FIRST_SLOT_COUNT / 2 : (uint64_t)strings->capacity * 2;
    if (strings->count == strings->capacity && !grow_views(strings, capacity))
        return false;
    uint64_t occupied = (uint64_t)strings->count + 1, slot_count = strings->slot_count;
    return occupied * 10 <= slot_count * 7 || grow_slots(strings, slot_count == 0 ? FIRST_SLOT_COUNT : slot_count * 2);
}

static bool grow_views(struct sxt_strings *strings, uint64_t capacity)
{
    if (capacity > LARGEST_SLOT_COUNT || capacity > SIZE_MAX / sizeof *strings->views)
        return false;
    sxt_string *views = realloc(strings->views, capacity * sizeof *views);
    if (views == NULL)
        return false;
    strings->views = views;
    uint32_t *hashes = realloc(strings->hashes, capacity * sizeof *hashes);
    if (hashes == NULL)
        return false;
    strings->hashes = hashes;
    strings->capacity = (uint32_t)capacity;
    return true;
}

static bool grow_slots(struct sxt_strings *strings, uint64_t slot_count)
{
    if (slot_count > LARGEST_SLOT_COUNT || slot_count > SIZE_MAX / sizeof *strings->slots)
        return false;
    uint32_t *slots = calloc((size_t)slot_count, sizeof *slots);
    if (slots == NULL)
        return false;

    uint32_t mask = (uint32_t)slot_count - 1;
    for (uint32_t number = 0; number < strings->count; number++) {
        uint32_t slot = strings->hashes[number] & mask;
        while (slots[slot] != 0)
            slot = (slot + 1) & mask;
        slots[slot] = number + 1;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->slot_count = (uint32_t)slot_count;
    return true;
}

/* DATA belongs to the table. */
static void put(struct sxt_strings *strings, uint32_t slot, uint32_t hash, const char *data, size_t size)
{
    uint32_t number = strings->count++;
    strings->views[number] = (sxt_string){data, size};
    strings->hashes[number] = hash;
    strings->slots[slot] = number + 1;
    strings->bytes += size;
}
