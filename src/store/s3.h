/*
 * s3.h: what the files of the S3 backend share.
 *
 * An object is at ENDPOINT/BUCKET/PREFIX/KEY ("path style"). A call is a request that is signed, sent, and tried again
 * after failures that may be over soon.
 */
#ifndef SXT_STORE_S3_H
#define SXT_STORE_S3_H

#include <pthread.h>

#include "base/http_pool.h"
#include "store/backend.h"
#include "store/cache.h"
#include "store/s3_account.h"

#define SXT_S3_PREFIX_MAX 500
#define SXT_S3_PARALLEL   8
#define SXT_S3_MANY       32 /* at once, if there are more than twice as many: they are small */
#define SXT_S3_ETAG_MAX   160

struct sxt_s3 {
    struct sxt_store store;
    struct sxt_http_pool *pool;
    char bucket[256];
    char prefix[SXT_S3_PREFIX_MAX + 2]; /* "", or ends with '/' */
    unsigned timeout_seconds;
    unsigned attempts;
    const _Atomic bool *stop;
    char *cache_path; /* NULL: the usual one */
    uint64_t cache_limit;

    pthread_mutex_t mutex;   /* for what follows */
    struct sxt_cache *cache; /* NULL until it is used */
    struct sxt_s3_account account;
    int64_t checked_ms; /* when sxt_store_check asked last; 0: never */
    int check_status;
    sxt_error check_error;
};

/* Where the bytes of an answer go: memory, or a place in a file. Exactly SIZE bytes are expected. */
struct sxt_s3_target {
    char *to;
    int file; /* if TO is NULL */
    uint64_t offset;
    uint64_t size;
    uint64_t done;
    int file_error; /* errno of a write that failed */
};

struct sxt_s3_call {
    /* Given. */
    const char *method;
    const char *key;   /* below the prefix; NULL: the bucket itself */
    const char *query; /* sorted and encoded; NULL: none */
    const void *body;
    size_t size;
    bool body_is_file;
    int file;
    uint64_t file_offset;
    bool ranged;
    bool from_end; /* the last range_size bytes, or all if there are fewer */
    uint64_t range_offset, range_size;
    const char *if_match; /* an ETag; NULL: any */
    struct sxt_s3_target *target;
    size_t answer_limit; /* of an answer without a target; 64 KiB are always read */
    bool once;           /* do not try again */

    /* Result. Freed by sxt_s3_call_free. */
    long status;
    struct sxt_buffer answer, headers;
    int result;
    sxt_error error;

    /* For sxt_s3_send. */
    char payload_hash[SXT_S3_HASH_SIZE];
    struct sxt_buffer url, lines; /* of the current attempt */
    const char *header_lines[8];
    bool again, hashed;
    unsigned seconds;
};

/* Sends COUNT calls, several at once. Returns SXT_OK if every one has an answer with a 2xx status. */
int sxt_s3_send(struct sxt_s3 *s3, struct sxt_s3_call *calls, size_t count, sxt_error *error);
void sxt_s3_call_free(struct sxt_s3_call *call);

/* Stores SIZE bytes of DATA, or if that is NULL of FILE, under KEY. ETAG is filled if the server sends one. */
int sxt_s3_upload(struct sxt_s3 *s3, const char *key, const void *data, int file, uint64_t size,
                  char etag[SXT_S3_ETAG_MAX], sxt_error *error);

int sxt_s3_list(struct sxt_store *store, const char *prefix, bool words, sxt_store_visit *visit, void *data,
                sxt_error *error);

/* The text of the elements called NAME directly in the outermost element of an answer: a small part of XML. */
bool sxt_s3_find_text(const struct sxt_buffer *answer, const char *outermost, const char *name, char *text,
                      size_t size);

#endif
