/*
 * keys.h: who may do what. Private to this room.
 *
 * A file has a key on each line, and may have empty lines and lines that begin with '#':
 *
 *     id:key[:scopes[:tenant]]
 *     id:sha256$HEX[:scopes[:tenant]]    HEX is the SHA-256 of the key
 *
 * Scopes are "upload", "read" and "admin", separated by commas; none: all of them. Several lines may have the same id:
 * all of their keys are valid, so that a key can be replaced without a moment in which neither works.
 *
 * A client sends one of
 *
 *     Authorization: APIKey base64(id:key)
 *     Authorization: Basic base64(id:key)
 *     Authorization: Bearer base64(id:key)
 *     Authorization: Bearer id:key
 *
 * The scheme is in any case; base64 is of either alphabet, with or without padding.
 */
#ifndef SXT_SERVICE_KEYS_H
#define SXT_SERVICE_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

struct sxt_keys;

/* One line of the file. It lives as long as the keys, also when they are read again meanwhile. */
struct sxt_key {
    const char *id;
    const char *tenant; /* "" for none */
    unsigned scopes;    /* enum sxt_scope */
    uint8_t hash[32];   /* SHA-256 of the key */
    struct sxt_key_use *use;
};

/* SXT_ERROR_FORMAT for a file that has a malformed line, or no key at all; the text has the number of the line. */
int sxt_keys_open(const char *path, struct sxt_keys **out, sxt_error *error);

/* The same from memory, without a file to read again. */
int sxt_keys_parse(sxt_string text, struct sxt_keys **out, sxt_error *error);

/* Reads the file again. After a failure the keys are as before. One thread at a time. */
int sxt_keys_reload(struct sxt_keys *keys, sxt_error *error);
void sxt_keys_close(struct sxt_keys **keys);

size_t sxt_keys_count(const struct sxt_keys *keys);

/* The key that the value of an Authorization header names; NULL if it names none. Any thread, at any time. */
const struct sxt_key *sxt_keys_find(const struct sxt_keys *keys, const char *authorization);

/* The key of ID that IS_RIGHT accepts, which is asked for each of them; NULL if there is none. Any thread. */
const struct sxt_key *sxt_keys_find_id(const struct sxt_keys *keys, const char *id,
                                       bool (*is_right)(const void *data, const struct sxt_key *key), const void *data);

/* Counts SIZE bytes of a body. False if the id would have sent more than LIMIT today (UTC); then they do not count. */
bool sxt_key_take_bytes(const struct sxt_key *key, uint64_t size, uint64_t limit, uint64_t day);

#endif
