/*
 * session.h: who is logged in, from a cookie. Private to this room.
 *
 * The cookie is "ID.EXPIRY.MAC", all in hexadecimal: the id of a key, seconds since 1970, and an HMAC-SHA-256 of both
 * and of the hash of the key, made with a secret of the store. So there is nothing to remember, all servers of a store
 * accept it, it does not have the key in it, and it ends with the key.
 */
#ifndef SXT_SERVICE_SESSION_H
#define SXT_SERVICE_SESSION_H

#include <stdint.h>

#include "service/keys.h"

struct sxt_store;
struct sxt_sessions;

#define SXT_SESSION_COOKIE  "sextant"
#define SXT_SESSION_SECONDS ((uint64_t)7 * 86400)
#define SXT_SESSION_SIZE    384 /* the longest value of the cookie, and a NUL */

/*
 * Reads the secret of the store, which is made if there is none. Without a store, or if it refuses, it is one for this
 * process.
 */
int sxt_sessions_open(struct sxt_store *store, struct sxt_sessions **out, sxt_error *error);
void sxt_sessions_close(struct sxt_sessions **sessions);

/* Writes the value of the cookie. */
void sxt_session_print(const struct sxt_sessions *sessions, const struct sxt_key *key, uint64_t now,
                       char out[SXT_SESSION_SIZE]);

/* The key of whoever sends the cookie in COOKIES, the header; NULL if there is none, or if it is not valid. */
const struct sxt_key *sxt_session_find(const struct sxt_sessions *sessions, const struct sxt_keys *keys,
                                       const char *cookies, uint64_t now);

#endif
