/*
 * keys.c: reads a key file, and finds the key of a request.
 *
 * A set of keys is never changed. When the file is read again, a new set takes the place of the old one, which is kept
 * until the end, because requests still refer to it. How much an id has sent is counted across sets.
 */
#include "service/keys.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "base/string.h"
#include "service/request.h"

#define HASH_PREFIX   "sha256$"
#define FILE_LIMIT    ((size_t)16 << 20)
#define ID_LIMIT      128
#define TENANT_LIMIT  64
#define AUTHORIZATION 1024 /* the longest that is looked at */
#define FIELDS        4
#define BYTES_MASK    (((uint64_t)1 << 48) - 1)
#define ALL_SCOPES    (SXT_SCOPE_UPLOAD | SXT_SCOPE_READ | SXT_SCOPE_ADMIN)

/* What an id has sent, as day << 48 | bytes: one word, so that it needs no lock. */
struct sxt_key_use {
    struct sxt_key_use *next;
    _Atomic uint64_t sent;
    char id[];
};

struct set {
    struct set *older;
    struct sxt_key *keys; /* by id */
    size_t count, capacity;
    char *text; /* what the keys point into */
};

struct sxt_keys {
    char *path; /* NULL: from memory */
    _Atomic(struct set *) set;
    struct sxt_key_use *uses;
};

static int read_file(struct sxt_keys *keys, sxt_error *error);
static int read_set(struct sxt_keys *keys, sxt_string text, sxt_error *error);
static int parse_line(struct sxt_keys *keys, struct set *set, char *line, size_t number, sxt_error *error);
static int compare_keys(const void *a, const void *b);
static size_t decode_authorization(const char *authorization, char to[AUTHORIZATION]);

int sxt_keys_open(const char *path, struct sxt_keys **out, sxt_error *error)
{
    struct sxt_keys *keys = *out = calloc(1, sizeof *keys);
    if (keys == NULL || (keys->path = strdup(path)) == NULL) {
        sxt_keys_close(out);
        return sxt_fail_memory(error, sizeof *keys);
    }
    int status = read_file(keys, error);
    if (status != SXT_OK)
        sxt_keys_close(out);
    return status;
}

int sxt_keys_parse(sxt_string text, struct sxt_keys **out, sxt_error *error)
{
    struct sxt_keys *keys = *out = calloc(1, sizeof *keys);
    if (keys == NULL)
        return sxt_fail_memory(error, sizeof *keys);
    int status = read_set(keys, text, error);
    if (status != SXT_OK)
        sxt_keys_close(out);
    return status;
}

int sxt_keys_reload(struct sxt_keys *keys, sxt_error *error)
{
    return keys->path != NULL ? read_file(keys, error) : SXT_OK;
}

static void free_set(struct set *set)
{
    free(set->keys);
    free(set->text);
    free(set);
}

void sxt_keys_close(struct sxt_keys **pointer)
{
    struct sxt_keys *keys = *pointer;
    if (keys == NULL)
        return;
    for (struct set *set = atomic_load(&keys->set), *older; set != NULL; set = older) {
        older = set->older;
        free_set(set);
    }
    for (struct sxt_key_use *use = keys->uses, *next; use != NULL; use = next) {
        next = use->next;
        free(use);
    }
    free(keys->path);
    free(keys);
    *pointer = NULL;
}

size_t sxt_keys_count(const struct sxt_keys *keys)
{
    return atomic_load(&keys->set)->count;
}

static int read_file(struct sxt_keys *keys, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_file_open(&file, keys->path, error);
    if (status != SXT_OK)
        return status;
    if (file.size > FILE_LIMIT)
        status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "a key file of %zu bytes; the most is %zu", file.size,
                          FILE_LIMIT);
    else
        status = read_set(keys, (sxt_string){(const char *)file.data, file.size}, error);
    sxt_file_close(&file);
    return status;
}

static int parse_lines(struct sxt_keys *keys, struct set *set, size_t size, sxt_error *error)
{
    size_t number = 0;
    for (char *line = set->text, *end = line + size; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop != NULL ? stop : end;
        number++;
        *stop = 0;
        if (memchr(line, 0, (size_t)(stop - line)) != NULL)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "line %zu: a zero byte", number);
        int status = parse_line(keys, set, line, number, error);
        if (status != SXT_OK)
            return status;
        line = stop + 1;
    }
    if (set->count == 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "no keys in the file");
    return SXT_OK;
}

static int read_set(struct sxt_keys *keys, sxt_string text, sxt_error *error)
{
    struct set *set = calloc(1, sizeof *set);
    if (set == NULL || (set->text = malloc(text.size + 1)) == NULL) {
        free(set);
        return sxt_fail_memory(error, text.size);
    }
    if (text.size > 0)
        memcpy(set->text, text.data, text.size);
    int status = parse_lines(keys, set, text.size, error);
    if (status != SXT_OK) {
        free_set(set);
        return status;
    }
    if (set->count > 0)
        qsort(set->keys, set->count, sizeof *set->keys, compare_keys);
    set->older = atomic_load(&keys->set);
    atomic_store(&keys->set, set);
    return SXT_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const struct sxt_key *first = a, *second = b;
    return strcmp(first->id, second->id);
}

/* "upload,read"; false for any other word. */
static bool parse_scopes(const char *text, unsigned *scopes)
{
    static const struct {
        const char *name;
        unsigned scope;
    } known[] = {{"upload", SXT_SCOPE_UPLOAD}, {"read", SXT_SCOPE_READ}, {"admin", SXT_SCOPE_ADMIN}};
    *scopes = *text == 0 ? ALL_SCOPES : 0;
    while (*text != 0) {
        size_t size = strcspn(text, ","), i = 0;
        while (i < 3 && !sxt_string_is((sxt_string){text, size}, known[i].name))
            i++;
        if (i == 3 || (text[size] == ',' && text[size + 1] == 0))
            return false;
        *scopes |= known[i].scope;
        text += size + (text[size] == ',');
    }
    return true;
}

/* The name is part of keys in the store. */
static bool is_tenant(const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-");
    return text[size] == 0 && size <= TENANT_LIMIT;
}

static bool parse_hash(const char *digits, uint8_t hash[32])
{
    if (strlen(digits) != 2 * SXT_SHA256_SIZE)
        return false;
    for (size_t i = 0; i < SXT_SHA256_SIZE; i++) {
        int high = sxt_hex_digit(digits[2 * i]), low = sxt_hex_digit(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        hash[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static void hash_key(const char *key, size_t size, uint8_t hash[32])
{
    struct sxt_sha256 sum;
    sxt_sha256_init(&sum);
    sxt_sha256_add(&sum, key, size);
    sxt_sha256_end(&sum, hash);
}

/* The count of an id, also if an older set has it. */
static struct sxt_key_use *use_of(struct sxt_keys *keys, const char *id)
{
    struct sxt_key_use *use = keys->uses;
    while (use != NULL && strcmp(use->id, id) != 0)
        use = use->next;
    if (use != NULL)
        return use;
    size_t size = strlen(id) + 1;
    use = calloc(1, sizeof *use + size);
    if (use == NULL)
        return NULL;
    memcpy(use->id, id, size);
    use->next = keys->uses;
    keys->uses = use;
    return use;
}

/* Cuts LINE at its colons. Returns the number of fields, FIELDS + 1 if there are more. */
static size_t split(char *line, char *fields[FIELDS])
{
    static char nothing[1];
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = nothing;
    size_t count = 0;
    for (char *colon = line; colon != NULL; line = colon + 1) {
        if (count == FIELDS)
            return FIELDS + 1;
        fields[count++] = line;
        colon = strchr(line, ':');
        if (colon == NULL)
            break;
        *colon = 0;
    }
    return count;
}

static int parse_line(struct sxt_keys *keys, struct set *set, char *line, size_t number, sxt_error *error)
{
    static const char blanks[] = " \t\r";
    line += strspn(line, blanks);
    size_t size = strlen(line);
    while (size > 0 && strchr(blanks, line[size - 1]) != NULL)
        line[--size] = 0;
    if (*line == 0 || *line == '#')
        return SXT_OK;
    char *fields[FIELDS];
    size_t count = split(line, fields);
    struct sxt_key key = {.id = fields[0], .tenant = fields[3]};
    const char *secret = fields[1], *problem = NULL;
    if (count < 2 || count > FIELDS)
        problem = "not of the form id:key[:scopes[:tenant]]";
    else if (*key.id == 0 || strlen(key.id) > ID_LIMIT || strpbrk(key.id, " \t") != NULL)
        problem = "the id is empty, too long, or has a blank";
    else if (*secret == 0)
        problem = "the key is empty";
    else if (!parse_scopes(fields[2], &key.scopes))
        problem = "scopes are upload, read and admin, separated by commas";
    else if (!is_tenant(key.tenant))
        problem = "a tenant has at most 64 letters, digits and '._~-'";
    else if (strncmp(secret, HASH_PREFIX, strlen(HASH_PREFIX)) != 0)
        hash_key(secret, strlen(secret), key.hash);
    else if (!parse_hash(secret + strlen(HASH_PREFIX), key.hash))
        problem = "sha256$ is not followed by 64 hexadecimal digits";
    if (problem != NULL)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "line %zu: %s", number, problem);
    key.use = use_of(keys, key.id);
    struct sxt_key *moved = sxt_array_grow(set->keys, &set->capacity, set->count + 1, sizeof *moved);
    if (key.use == NULL || moved == NULL)
        return sxt_fail_memory(error, sizeof key);
    set->keys = moved;
    set->keys[set->count++] = key;
    return SXT_OK;
}

/* --- finding --- */

/* Does not stop at the first difference: how long it takes says nothing about the key. */
static bool is_equal(const uint8_t a[32], const uint8_t b[32])
{
    unsigned different = 0;
    for (size_t i = 0; i < SXT_SHA256_SIZE; i++)
        different |= a[i] ^ b[i];
    return different == 0;
}

/* The first key of an id that is not below ID. */
static size_t first_of(const struct set *set, const char *id)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(set->keys[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_hash(const void *data, const struct sxt_key *key)
{
    return is_equal(key->hash, data);
}

const struct sxt_key *sxt_keys_find(const struct sxt_keys *keys, const char *authorization)
{
    char text[AUTHORIZATION];
    size_t size = decode_authorization(authorization, text);
    char *colon = size > 0 ? memchr(text, ':', size) : NULL;
    if (colon == NULL || memchr(text, 0, (size_t)(colon - text)) != NULL)
        return NULL;
    *colon = 0;
    uint8_t hash[SXT_SHA256_SIZE];
    hash_key(colon + 1, size - (size_t)(colon + 1 - text), hash);
    return sxt_keys_find_id(keys, text, has_hash, hash);
}

const struct sxt_key *sxt_keys_find_id(const struct sxt_keys *keys, const char *id,
                                       bool (*is_right)(const void *data, const struct sxt_key *key), const void *data)
{
    const struct set *set = atomic_load_explicit(&((struct sxt_keys *)(uintptr_t)keys)->set, memory_order_acquire);
    const struct sxt_key *found = NULL;
    for (size_t i = first_of(set, id); i < set->count && strcmp(set->keys[i].id, id) == 0; i++)
        if (is_right(data, &set->keys[i]))
            found = &set->keys[i];
    return found;
}

/* "id:key" of a header, in TO. Returns its size, 0 if there is none. */
static size_t decode_authorization(const char *authorization, char to[AUTHORIZATION])
{
    static const char *const schemes[] = {"apikey", "basic", "bearer"};
    size_t scheme = strcspn(authorization, " \t"), i = 0;
    while (i < 3 && (strlen(schemes[i]) != scheme || strncasecmp(schemes[i], authorization, scheme) != 0))
        i++;
    if (i == 3)
        return 0;
    const char *text = authorization + scheme;
    text += strspn(text, " \t");
    size_t size = strcspn(text, " \t");
    if (text[size + strspn(text + size, " \t")] != 0 || size >= AUTHORIZATION)
        return 0;
    bool is_plain = i == 2 && memchr(text, ':', size) != NULL;
    if (!is_plain) {
        size_t count = sxt_base64_decode((uint8_t *)to, AUTHORIZATION, text, size);
        return count != SXT_BASE64_WRONG ? count : 0;
    }
    memcpy(to, text, size);
    return size;
}

bool sxt_key_take_bytes(const struct sxt_key *key, uint64_t size, uint64_t limit, uint64_t day)
{
    const uint64_t most = limit < BYTES_MASK ? limit : BYTES_MASK;
    uint64_t before = atomic_load_explicit(&key->use->sent, memory_order_relaxed), after;
    day &= UINT16_MAX;
    do {
        uint64_t sent = before >> 48 == day ? before & BYTES_MASK : 0;
        if (size > most || sent > most - size)
            return false;
        after = day << 48 | (sent + size);
    } while (!atomic_compare_exchange_weak(&key->use->sent, &before, after));
    return true;
}
