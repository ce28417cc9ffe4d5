/*
 * s3_sign.h: signatures of requests to S3 (AWS Signature Version 4).
 *
 * libcurl can sign too, but its version 7.88 does not send x-amz-content-sha256, does not sort the query, and does not
 * encode '=' in a path as S3 does, so many servers refuse its signatures.
 */
#ifndef SXT_STORE_S3_SIGN_H
#define SXT_STORE_S3_SIGN_H

#include <stddef.h>
#include <time.h>

#include "base/buffer.h"

struct sxt_s3_identity {
    char access_key[256];
    char secret_key[256];
    char session_token[4096]; /* "": none */
    char region[64];
};

struct sxt_s3_signed_request {
    const char *method;
    const char *host;         /* with the port, if it is not the usual one */
    const char *path;         /* encoded by sxt_s3_encode */
    const char *query;        /* "name=value&name=value", sorted by name, encoded; or "" */
    const char *payload_hash; /* SHA-256 of the body in hexadecimal digits */
};

#define SXT_S3_HASH_SIZE 65 /* hexadecimal digits of a SHA-256, and NUL */

/* The hexadecimal digits of the SHA-256 of SIZE bytes. */
void sxt_s3_hash(const void *data, size_t size, char digits[SXT_S3_HASH_SIZE]);

/* The same for SIZE bytes at OFFSET of a file. Returns false with errno; a file that is too short is EIO. */
bool sxt_s3_hash_file(int file, uint64_t offset, uint64_t size, char digits[SXT_S3_HASH_SIZE]);

/* Appends TEXT with every byte but letters, digits and "-._~" as %XX; '/' is kept if KEEP_SLASH. */
void sxt_s3_encode(struct sxt_buffer *to, const char *text, bool keep_slash);

/* Appends the headers that sign a request at the time NOW, each with a NUL after it. Returns how many. */
size_t sxt_s3_sign(const struct sxt_s3_identity *identity, const struct sxt_s3_signed_request *request, time_t now,
                   struct sxt_buffer *headers);

#endif
