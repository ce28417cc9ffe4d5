/* s3_sign.c: AWS Signature Version 4: a hash of the request, signed with a key made from the secret, day and region. */
#include "store/s3_sign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"

#define BLOCK    64 /* of SHA-256 */
#define TEXT_MAX ((size_t)64 << 10)

static void to_digits(const uint8_t digest[SXT_SHA256_SIZE], char digits[SXT_S3_HASH_SIZE])
{
    for (size_t i = 0; i < SXT_SHA256_SIZE; i++)
        snprintf(digits + 2 * i, 3, "%02x", digest[i]);
}

void sxt_s3_hash(const void *data, size_t size, char digits[SXT_S3_HASH_SIZE])
{
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE];
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, data, size);
    sxt_sha256_end(&hash, digest);
    to_digits(digest, digits);
}

bool sxt_s3_hash_file(int file, uint64_t offset, uint64_t size, char digits[SXT_S3_HASH_SIZE])
{
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE], block[1 << 16];
    sxt_sha256_init(&hash);
    while (size > 0) {
        ssize_t count = pread(file, block, size < sizeof block ? (size_t)size : sizeof block, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            errno = count == 0 ? EIO : errno;
            return false;
        }
        sxt_sha256_add(&hash, block, (size_t)count);
        offset += (size_t)count;
        size -= (size_t)count;
    }
    sxt_sha256_end(&hash, digest);
    to_digits(digest, digits);
    return true;
}

void sxt_s3_encode(struct sxt_buffer *to, const char *text, bool keep_slash)
{
    for (; *text != 0; text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= '0' && *text <= '9') || strchr("-._~", *text) != NULL || (keep_slash && *text == '/');
        if (plain)
            sxt_buffer_u8(to, (uint8_t)*text);
        else
            sxt_buffer_print(to, "%%%02X", (unsigned char)*text);
    }
}

/* HMAC-SHA-256 (RFC 2104). DIGEST may be KEY. */
static void authenticate(const void *key, size_t key_size, const char *text, uint8_t digest[SXT_SHA256_SIZE])
{
    uint8_t padded[BLOCK] = {0}, pad[BLOCK];
    struct sxt_sha256 hash;
    if (key_size <= BLOCK) {
        memcpy(padded, key, key_size);
    } else {
        sxt_sha256_init(&hash);
        sxt_sha256_add(&hash, key, key_size);
        sxt_sha256_end(&hash, padded);
    }
    for (size_t i = 0; i < BLOCK; i++)
        pad[i] = padded[i] ^ 0x36;
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, pad, BLOCK);
    sxt_sha256_add(&hash, text, strlen(text));
    sxt_sha256_end(&hash, digest);
    for (size_t i = 0; i < BLOCK; i++)
        pad[i] = padded[i] ^ 0x5c;
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, pad, BLOCK);
    sxt_sha256_add(&hash, digest, SXT_SHA256_SIZE);
    sxt_sha256_end(&hash, digest);
}

static void make_signature(const struct sxt_s3_identity *identity, const char *day, const char *text,
                           char digits[SXT_S3_HASH_SIZE])
{
    char secret[sizeof identity->secret_key + 4];
    uint8_t key[SXT_SHA256_SIZE];
    int size = snprintf(secret, sizeof secret, "AWS4%s", identity->secret_key);
    authenticate(secret, (size_t)size, day, key);
    authenticate(key, sizeof key, identity->region, key);
    authenticate(key, sizeof key, "s3", key);
    authenticate(key, sizeof key, "aws4_request", key);
    authenticate(key, sizeof key, text, key);
    to_digits(key, digits);
}

/* The hash of the request in its canonical form. */
static bool hash_request(const struct sxt_s3_identity *identity, const struct sxt_s3_signed_request *request,
                         const char *stamp, const char *names, char digits[SXT_S3_HASH_SIZE])
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, TEXT_MAX);
    sxt_buffer_print(&text, "%s\n%s\n%s\nhost:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n", request->method,
                     request->path, request->query, request->host, request->payload_hash, stamp);
    if (*identity->session_token != 0)
        sxt_buffer_print(&text, "x-amz-security-token:%s\n", identity->session_token);
    sxt_buffer_print(&text, "\n%s\n%s", names, request->payload_hash);
    bool good = !text.failed;
    if (good)
        sxt_s3_hash(text.data, text.size, digits);
    sxt_buffer_free(&text);
    return good;
}

size_t sxt_s3_sign(const struct sxt_s3_identity *identity, const struct sxt_s3_signed_request *request, time_t now,
                   struct sxt_buffer *headers)
{
    bool has_token = *identity->session_token != 0;
    const char *names = has_token ? "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"
                                  : "host;x-amz-content-sha256;x-amz-date";
    struct tm time;
    char stamp[32], day[32], scope[160], hash[SXT_S3_HASH_SIZE], signature[SXT_S3_HASH_SIZE], text[512];
    gmtime_r(&now, &time);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &time);
    strftime(day, sizeof day, "%Y%m%d", &time);
    snprintf(scope, sizeof scope, "%s/%s/s3/aws4_request", day, identity->region);
    if (!hash_request(identity, request, stamp, names, hash)) {
        headers->failed = true;
        return 0;
    }
    snprintf(text, sizeof text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", stamp, scope, hash);
    make_signature(identity, day, text, signature);
    sxt_buffer_print(headers, "Host: %s%c", request->host, 0);
    sxt_buffer_print(headers, "x-amz-content-sha256: %s%c", request->payload_hash, 0);
    sxt_buffer_print(headers, "x-amz-date: %s%c", stamp, 0);
    if (has_token)
        sxt_buffer_print(headers, "x-amz-security-token: %s%c", identity->session_token, 0);
    sxt_buffer_print(headers, "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s%c",
                     identity->access_key, scope, names, signature, 0);
    return has_token ? 5 : 4;
}
