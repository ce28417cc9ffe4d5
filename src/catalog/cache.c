/*
 * cache.c: what was found of binaries, for a short time.
 *
 * A slot has the answer to "what does this tenant have under this id", also if that is nothing. It is believed until
 * its listing is too old, or until this process wrote an object under one of the ids that were listed: each of those
 * ids has a counter, which a write raises. After half of its life one caller renews it while the others go on using
 * it. One thread loads a slot; others wait, or are told that they would have to.
 *
 * Slots are in shards, each with a lock that is held for a few instructions.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "catalog/private.h"

#define SHARDS        64
#define BUCKETS       256
#define SLOTS_MAX     1024 /* of a shard */
#define COUNTERS      4096
#define UNMERGEABLE   64
#define UNMERGEABLE_S 60

struct slot {
    struct slot *next;
    uint64_t hash;
    char *tenant, *id;
    struct sxt_catalog_binary *binary; /* NULL: there is nothing */
    uint64_t entries;                  /* which ones it was loaded from */
    bool is_known, is_loading, is_renewing;
    unsigned waiting;
    int64_t renew_at, expires; /* milliseconds */
    int64_t used;
    struct {
        uint32_t place, value;
    } watched[SXT_CATALOG_IDS_MAX];
    size_t watched_count;
};

struct shard {
    _Alignas(64) pthread_mutex_t lock;
    pthread_cond_t loaded;
    struct slot *buckets[BUCKETS];
    size_t count;
};

struct sxt_catalog_cache {
    struct shard shards[SHARDS];
    _Atomic uint32_t counters[COUNTERS];
    _Atomic size_t open_count; /* slots that have a binary */
    uint64_t secret;
    pthread_mutex_t unmergeable_lock;
    struct {
        uint64_t hash;
        int64_t until;
    } unmergeable[UNMERGEABLE];
    size_t unmergeable_next;
};

int sxt_catalog_cache_new(struct sxt_catalog *catalog, sxt_error *error)
{
    struct sxt_catalog_cache *cache = aligned_alloc(64, (sizeof *cache + 63) / 64 * 64);
    if (cache == NULL)
        return sxt_fail_memory(error, sizeof *cache);
    memset(cache, 0, sizeof *cache);
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&cache->shards[i].lock, NULL);
        pthread_cond_init(&cache->shards[i].loaded, NULL);
    }
    pthread_mutex_init(&cache->unmergeable_lock, NULL);
    if (getrandom(&cache->secret, sizeof cache->secret, GRND_NONBLOCK) != (ssize_t)sizeof cache->secret)
        cache->secret = (uint64_t)sxt_catalog_now();
    catalog->cache = cache;
    return SXT_OK;
}

static void free_slot(struct sxt_catalog *catalog, struct slot *slot)
{
    if (slot->binary != NULL)
        atomic_fetch_sub(&catalog->cache->open_count, 1);
    sxt_catalog_release(catalog, &slot->binary);
    free(slot->tenant);
    free(slot);
}

void sxt_catalog_cache_free(struct sxt_catalog *catalog)
{
    struct sxt_catalog_cache *cache = catalog->cache;
    if (cache == NULL)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        for (size_t k = 0; k < BUCKETS; k++)
            for (struct slot *slot = cache->shards[i].buckets[k], *next; slot != NULL; slot = next) {
                next = slot->next;
                free_slot(catalog, slot);
            }
        pthread_mutex_destroy(&cache->shards[i].lock);
        pthread_cond_destroy(&cache->shards[i].loaded);
    }
    pthread_mutex_destroy(&cache->unmergeable_lock);
    free(cache);
    catalog->cache = NULL;
}

/* --- hashes and counters --- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    size_t size = strlen(text);
    uint64_t word;
    for (; size >= 8; size -= 8, text += 8) {
        memcpy(&word, text, 8);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    word = size + 1;
    memcpy(&word, text, size);
    hash = (hash ^ word ^ (uint64_t)size << 56) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct sxt_catalog_cache *cache, const char *tenant, const char *id)
{
    return hash_text(hash_text(cache->secret, tenant), id);
}

void sxt_catalog_changed(struct sxt_catalog *catalog, const char *tenant, const char *id)
{
    atomic_fetch_add(&catalog->cache->counters[hash_of(catalog->cache, tenant, id) % COUNTERS], 1);
}

uint32_t sxt_catalog_change_count(struct sxt_catalog *catalog, const char *tenant, const char *id)
{
    return atomic_load(&catalog->cache->counters[hash_of(catalog->cache, tenant, id) % COUNTERS]);
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sxt_catalog_note_unmergeable(struct sxt_catalog *catalog, const char *tenant, const char *id)
{
    struct sxt_catalog_cache *cache = catalog->cache;
    pthread_mutex_lock(&cache->unmergeable_lock);
    size_t place = cache->unmergeable_next++ % UNMERGEABLE;
    cache->unmergeable[place].hash = hash_of(cache, tenant, id);
    cache->unmergeable[place].until = milliseconds() + UNMERGEABLE_S * 1000;
    pthread_mutex_unlock(&cache->unmergeable_lock);
}

bool sxt_catalog_is_unmergeable(struct sxt_catalog *catalog, const char *tenant, const char *id)
{
    struct sxt_catalog_cache *cache = catalog->cache;
    uint64_t hash = hash_of(cache, tenant, id);
    int64_t now = milliseconds();
    bool is_in = false;
    pthread_mutex_lock(&cache->unmergeable_lock);
    for (size_t i = 0; i < UNMERGEABLE && !is_in; i++)
        is_in = cache->unmergeable[i].hash == hash && cache->unmergeable[i].until > now;
    pthread_mutex_unlock(&cache->unmergeable_lock);
    return is_in;
}

/* --- slots --- */

static struct slot **find_slot(struct shard *shard, uint64_t hash, const char *tenant, const char *id)
{
    struct slot **at = &shard->buckets[hash / SHARDS % BUCKETS];
    while (*at != NULL && ((*at)->hash != hash || strcmp((*at)->id, id) != 0 || strcmp((*at)->tenant, tenant) != 0))
        at = &(*at)->next;
    return at;
}

static bool is_idle(const struct slot *slot)
{
    return !slot->is_loading && slot->waiting == 0;
}

/* Removes the slot of a full shard that was not used for the longest time. */
static void make_room(struct sxt_catalog *catalog, struct shard *shard)
{
    struct slot **oldest = NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct slot **at = &shard->buckets[i]; *at != NULL; at = &(*at)->next)
            if (is_idle(*at) && (oldest == NULL || (*at)->used < (*oldest)->used))
                oldest = at;
    if (oldest == NULL)
        return;
    struct slot *slot = *oldest;
    *oldest = slot->next;
    shard->count--;
    free_slot(catalog, slot);
}

static struct slot *add_slot(struct sxt_catalog *catalog, struct shard *shard, uint64_t hash, const char *tenant,
                             const char *id)
{
    if (shard->count >= SLOTS_MAX)
        make_room(catalog, shard);
    size_t tenant_size = strlen(tenant) + 1, id_size = strlen(id) + 1;
    struct slot *slot = calloc(1, sizeof *slot);
    char *text = malloc(tenant_size + id_size);
    if (slot == NULL || text == NULL) {
        free(slot);
        free(text);
        return NULL;
    }
    slot->hash = hash;
    slot->tenant = memcpy(text, tenant, tenant_size);
    slot->id = memcpy(text + tenant_size, id, id_size);
    slot->next = shard->buckets[hash / SHARDS % BUCKETS];
    shard->buckets[hash / SHARDS % BUCKETS] = slot;
    shard->count++;
    return slot;
}

static bool is_believed(const struct sxt_catalog_cache *cache, const struct slot *slot, int64_t now)
{
    if (!slot->is_known || now >= slot->expires)
        return false;
    for (size_t i = 0; i < slot->watched_count; i++)
        if (atomic_load_explicit(&cache->counters[slot->watched[i].place], memory_order_acquire) !=
            slot->watched[i].value)
            return false;
    return true;
}

/* The binary of the slot that was not used for the longest time is closed. */
static void close_oldest(struct sxt_catalog *catalog)
{
    struct sxt_catalog_cache *cache = catalog->cache;
    struct shard *where = NULL;
    uint64_t hash = 0;
    int64_t used = INT64_MAX;
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &cache->shards[i];
        pthread_mutex_lock(&shard->lock);
        for (size_t k = 0; k < BUCKETS && shard->count > 0; k++)
            for (struct slot *slot = shard->buckets[k]; slot != NULL; slot = slot->next)
                if (slot->binary != NULL && slot->used < used) {
                    used = slot->used;
                    hash = slot->hash;
                    where = shard;
                }
        pthread_mutex_unlock(&shard->lock);
    }
    if (where == NULL)
        return;
    struct sxt_catalog_binary *closed = NULL;
    pthread_mutex_lock(&where->lock);
    for (struct slot *slot = where->buckets[hash / SHARDS % BUCKETS]; slot != NULL; slot = slot->next)
        if (slot->hash == hash && slot->binary != NULL && closed == NULL) {
            closed = slot->binary;
            slot->binary = NULL;
            slot->is_known = false;
            atomic_fetch_sub(&cache->open_count, 1);
        }
    pthread_mutex_unlock(&where->lock);
    sxt_catalog_release(catalog, &closed);
}

/* Notes what was loaded. The caller has the lock. Returns the binary that was there before. */
static struct sxt_catalog_binary *fill_slot(struct sxt_catalog *catalog, struct slot *slot,
                                            struct sxt_catalog_closure *closure,
                                            const struct sxt_catalog_loaded *loaded)
{
    struct sxt_catalog_binary *binary = loaded->binary;
    struct sxt_catalog_cache *cache = catalog->cache;
    struct sxt_catalog_binary *before = slot->binary;
    int64_t now = milliseconds();
    slot->binary = binary;
    slot->entries = loaded->entries;
    if (binary != NULL)
        atomic_fetch_add(&binary->users, 1);
    slot->is_known = true;
    slot->expires = now + catalog->options.list_life_ms;
    slot->renew_at = now + catalog->options.list_life_ms / 2;
    slot->watched_count = closure->count;
    for (size_t i = 0; i < closure->count; i++) {
        slot->watched[i].place = (uint32_t)(hash_of(cache, slot->tenant, closure->list[i].id.text) % COUNTERS);
        slot->watched[i].value = closure->list[i].change;
    }
    atomic_fetch_add(&cache->open_count, binary != NULL);
    atomic_fetch_sub(&cache->open_count, before != NULL);
    return before;
}

/* Loads a slot, which is marked as loading. BEFORE is what it had, and is released. */
static int load_slot(struct sxt_catalog *catalog, struct shard *shard, struct slot *slot,
                     struct sxt_catalog_loaded *before, struct sxt_catalog_binary **out, sxt_error *error)
{
    struct sxt_catalog_closure closure;
    struct sxt_catalog_loaded loaded;
    struct sxt_catalog_binary *replaced = NULL;
    int status = sxt_catalog_load(catalog, slot->tenant, slot->id, before, &closure, &loaded, error);
    pthread_mutex_lock(&shard->lock);
    if (status == SXT_OK || status == SXT_ERROR_NOT_FOUND)
        replaced = fill_slot(catalog, slot, &closure, &loaded);
    slot->is_loading = slot->is_renewing = false;
    slot->used = milliseconds();
    pthread_cond_broadcast(&shard->loaded);
    pthread_mutex_unlock(&shard->lock);
    sxt_catalog_closure_free(&closure);
    sxt_catalog_release(catalog, &replaced);
    sxt_catalog_release(catalog, &before->binary);
    *out = loaded.binary;
    if (atomic_load(&catalog->cache->open_count) > catalog->options.open_limit)
        close_oldest(catalog);
    return status;
}

/* What find_one does next. */
enum step { USE, LOAD, WAIT, GIVE_UP };

/* The caller has the lock. */
static enum step next_step(const struct sxt_catalog_cache *cache, struct slot *slot, bool may_wait)
{
    int64_t now = milliseconds();
    if (slot == NULL)
        return may_wait ? LOAD : GIVE_UP;
    if (is_believed(cache, slot, now)) {
        slot->used = now;
        if (now < slot->renew_at || slot->is_loading)
            return USE;
        if (may_wait)
            return LOAD;
        if (slot->is_renewing)
            return USE;
        slot->is_renewing = true;
        return GIVE_UP;
    }
    if (!may_wait)
        return GIVE_UP;
    return slot->is_loading ? WAIT : LOAD;
}

static int find_one(struct sxt_catalog *catalog, const char *tenant, const char *id, bool may_wait, bool *would_wait,
                    struct sxt_catalog_binary **out, sxt_error *error)
{
    struct sxt_catalog_cache *cache = catalog->cache;
    uint64_t hash = hash_of(cache, tenant, id);
    struct shard *shard = &cache->shards[hash % SHARDS];
    pthread_mutex_lock(&shard->lock);
    struct slot *slot = *find_slot(shard, hash, tenant, id);
    enum step step;
    while ((step = next_step(cache, slot, may_wait)) == WAIT) {
        slot->waiting++;
        pthread_cond_wait(&shard->loaded, &shard->lock);
        slot->waiting--;
    }
    if (step == LOAD && slot == NULL)
        slot = add_slot(catalog, shard, hash, tenant, id);
    struct sxt_catalog_loaded before = {0};
    if (step == LOAD && slot != NULL) {
        slot->is_loading = true;
        before = (struct sxt_catalog_loaded){slot->binary, slot->entries};
        if (before.binary != NULL)
            atomic_fetch_add(&before.binary->users, 1);
    }
    if (step == USE && slot->binary != NULL) {
        *out = slot->binary;
        atomic_fetch_add_explicit(&slot->binary->users, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&shard->lock);
    *would_wait = step == GIVE_UP;
    if (step == LOAD)
        return slot != NULL ? load_slot(catalog, shard, slot, &before, out, error)
                            : sxt_fail_memory(error, sizeof *slot);
    if (step == USE && *out == NULL)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no symbols of this binary");
    return SXT_OK;
}

int sxt_catalog_find(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *ids, size_t id_count,
                     bool may_wait, bool *would_wait, struct sxt_catalog_binary **out, sxt_error *error)
{
    bool waits = false;
    int status = SXT_ERROR_NOT_FOUND;
    *out = NULL;
    for (size_t i = 0; i < id_count && status == SXT_ERROR_NOT_FOUND && !waits; i++)
        status = find_one(catalog, tenant, ids[i].text, may_wait, &waits, out, error);
    if (id_count == 0)
        sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no symbols of this binary");
    if (would_wait != NULL)
        *would_wait = waits;
    return status;
}
