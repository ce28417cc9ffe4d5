/* session.c: seals cookies, and opens them. */
#include "service/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "store/store.h"

#define FOLDER      "session/"
#define SECRET_SIZE 32
#define SECRETS_MAX 8 /* servers that start at the same moment may make one each */
#define ID_MAX      128

struct sxt_sessions {
    uint8_t secrets[SECRETS_MAX][SECRET_SIZE];
    size_t count;
    char keys[SECRETS_MAX][64]; /* of the objects, while they are listed */
};

/* --- secrets --- */

static int note_secret(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)modified_us;
    struct sxt_sessions *sessions = data;
    if (size != SECRET_SIZE || sessions->count == SECRETS_MAX || strlen(key) >= sizeof sessions->keys[0])
        return SXT_OK;
    memcpy(sessions->keys[sessions->count++], key, strlen(key) + 1);
    return SXT_OK;
}

static int read_secrets(struct sxt_store *store, struct sxt_sessions *sessions, sxt_error *error)
{
    sessions->count = 0;
    int status = sxt_store_list(store, FOLDER, note_secret, sessions, error);
    size_t listed = sessions->count, read = 0;
    for (size_t i = 0; i < listed && status == SXT_OK; i++) {
        char *data = NULL;
        size_t size = 0;
        status = sxt_store_get(store, sessions->keys[i], SECRET_SIZE, &data, &size, error);
        if (status == SXT_OK && size == SECRET_SIZE)
            memcpy(sessions->secrets[read++], data, SECRET_SIZE);
        free(data);
    }
    sessions->count = read;
    return status;
}

static int make_secret(struct sxt_store *store, const uint8_t secret[SECRET_SIZE + 4], sxt_error *error)
{
    char key[64];
    uint32_t number = 0;
    memcpy(&number, secret + SECRET_SIZE, sizeof number);
    snprintf(key, sizeof key, FOLDER "%016" PRIx64 "-%08" PRIx32, (uint64_t)time(NULL), number);
    return sxt_store_put(store, key, secret, SECRET_SIZE, error);
}

int sxt_sessions_open(struct sxt_store *store, struct sxt_sessions **out, sxt_error *error)
{
    struct sxt_sessions *sessions = *out = calloc(1, sizeof *sessions);
    uint8_t random[SECRET_SIZE + 4];
    if (sessions == NULL)
        return sxt_fail_memory(error, sizeof *sessions);
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        sxt_sessions_close(out);
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "the system has no random numbers");
    }
    int status = store != NULL ? read_secrets(store, sessions, NULL) : SXT_ERROR_NOT_FOUND;
    if (status == SXT_OK && sessions->count == 0 && make_secret(store, random, NULL) == SXT_OK)
        status = read_secrets(store, sessions, NULL);
    if (status != SXT_OK || sessions->count == 0) {
        memcpy(sessions->secrets[0], random, SECRET_SIZE);
        sessions->count = 1;
    }
    explicit_bzero(random, sizeof random);
    return SXT_OK;
}

void sxt_sessions_close(struct sxt_sessions **sessions)
{
    if (*sessions == NULL)
        return;
    explicit_bzero(*sessions, sizeof **sessions);
    free(*sessions);
    *sessions = NULL;
}

/* --- cookies --- */

/* HMAC-SHA-256 (RFC 2104) of what a session says. */
static void seal(const uint8_t secret[SECRET_SIZE], const struct sxt_key *key, uint64_t expiry,
                 uint8_t mac[SXT_SHA256_SIZE])
{
    uint8_t pad[SXT_SHA256_BLOCK];
    char text[ID_MAX + 64];
    int size = snprintf(text, sizeof text, "sextant session 1 %" PRIx64 " %.128s", expiry, key->id);
    struct sxt_sha256 hash;
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] = (i < SECRET_SIZE ? secret[i] : 0) ^ 0x36;
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, pad, sizeof pad);
    sxt_sha256_add(&hash, text, (size_t)size + 1);
    sxt_sha256_add(&hash, key->hash, sizeof key->hash);
    sxt_sha256_end(&hash, mac);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] = (i < SECRET_SIZE ? secret[i] : 0) ^ 0x5c;
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, pad, sizeof pad);
    sxt_sha256_add(&hash, mac, SXT_SHA256_SIZE);
    sxt_sha256_end(&hash, mac);
}

void sxt_session_print(const struct sxt_sessions *sessions, const struct sxt_key *key, uint64_t now,
                       char out[SXT_SESSION_SIZE])
{
    char id[2 * ID_MAX + 1], digits[2 * SXT_SHA256_SIZE + 1];
    uint8_t mac[SXT_SHA256_SIZE];
    seal(sessions->secrets[0], key, now + SXT_SESSION_SECONDS, mac);
    sxt_hex_encode(id, key->id, strnlen(key->id, ID_MAX));
    sxt_hex_encode(digits, mac, sizeof mac);
    snprintf(out, SXT_SESSION_SIZE, "%s.%" PRIx64 ".%s", id, now + SXT_SESSION_SECONDS, digits);
}

/* The value of our cookie: "a=1; sextant=VALUE". */
static sxt_string find_cookie(const char *cookies)
{
    static const char name[] = SXT_SESSION_COOKIE "=";
    while (*cookies != 0) {
        cookies += strspn(cookies, " \t;");
        size_t size = strcspn(cookies, ";");
        if (strncmp(cookies, name, sizeof name - 1) == 0) {
            cookies += sizeof name - 1;
            size -= sizeof name - 1;
            while (size > 0 && (cookies[size - 1] == ' ' || cookies[size - 1] == '\t'))
                size--;
            return (sxt_string){cookies, size};
        }
        cookies += size;
    }
    return (sxt_string){"", 0};
}

/* Cuts the word up to the next dot off TEXT. */
static sxt_string take_word(sxt_string *text)
{
    const char *dot = text->size > 0 ? memchr(text->data, '.', text->size) : NULL;
    sxt_string word = {text->data, dot != NULL ? (size_t)(dot - text->data) : text->size};
    size_t used = word.size + (dot != NULL);
    *text = (sxt_string){text->data + used, text->size - used};
    return word;
}

static bool decode(sxt_string digits, uint8_t *to, size_t room, size_t *size)
{
    if (digits.size % 2 != 0 || digits.size / 2 > room)
        return false;
    for (size_t i = 0; i < digits.size; i += 2) {
        int high = sxt_hex_digit(digits.data[i]), low = sxt_hex_digit(digits.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        to[i / 2] = (uint8_t)(high << 4 | low);
    }
    *size = digits.size / 2;
    return true;
}

struct asked {
    const struct sxt_sessions *sessions;
    uint64_t expiry;
    const uint8_t *mac;
};

static bool is_sealed(const void *data, const struct sxt_key *key)
{
    const struct asked *asked = data;
    bool is_found = false;
    for (size_t i = 0; i < asked->sessions->count; i++) {
        uint8_t mac[SXT_SHA256_SIZE];
        unsigned different = 0;
        seal(asked->sessions->secrets[i], key, asked->expiry, mac);
        for (size_t k = 0; k < sizeof mac; k++)
            different |= mac[k] ^ asked->mac[k];
        is_found |= different == 0;
    }
    return is_found;
}

const struct sxt_key *sxt_session_find(const struct sxt_sessions *sessions, const struct sxt_keys *keys,
                                       const char *cookies, uint64_t now)
{
    sxt_string text = find_cookie(cookies);
    if (text.size == 0 || text.size >= SXT_SESSION_SIZE)
        return NULL;
    sxt_string id_word = take_word(&text), expiry_word = take_word(&text);
    uint8_t id[ID_MAX + 1], mac[SXT_SHA256_SIZE];
    size_t id_size, mac_size;
    struct asked asked = {.sessions = sessions, .mac = mac};
    if (!decode(id_word, id, ID_MAX, &id_size) || memchr(id, 0, id_size) != NULL ||
        !sxt_hex_parse(expiry_word, &asked.expiry) || !decode(text, mac, sizeof mac, &mac_size) ||
        mac_size != sizeof mac || asked.expiry <= now || asked.expiry > now + 2 * SXT_SESSION_SECONDS)
        return NULL;
    id[id_size] = 0;
    return sxt_keys_find_id(keys, (const char *)id, is_sealed, &asked);
}
