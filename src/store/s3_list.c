/* s3_list.c: lists a bucket page by page. What a server sends is not trusted to be below the prefix, or in order. */
#include "store/s3_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/key.h"
#include "store/s3.h"

#define PAGE_MAX       ((size_t)32 << 20)
#define QUERY_MAX      ((size_t)32 << 10)
#define IDLE_PAGES_MAX 1000 /* one after another without a new name */

struct listing {
    struct sxt_s3 *s3;
    const char *prefix; /* below the store's own */
    bool words;
    sxt_store_visit *visit;
    void *data;
    sxt_error *error;
    char token[SXT_S3_TOKEN_MAX]; /* "": the first page */
    char last[2 * SXT_KEY_MAX];   /* the name that was visited last */
    unsigned idle_pages;          /* since then */
};

static int fetch_page(struct listing *listing, struct sxt_s3_page *page);
static int visit_page(struct listing *listing, const struct sxt_s3_page *page);

int sxt_s3_list(struct sxt_store *store, const char *prefix, bool words, sxt_store_visit *visit, void *data,
                sxt_error *error)
{
    struct listing *listing = calloc(1, sizeof *listing);
    struct sxt_s3_page *page = calloc(1, sizeof *page);
    int status = SXT_OK;
    if (listing == NULL || page == NULL) {
        status = sxt_fail_memory(error, sizeof *page);
    } else {
        *listing = (struct listing){(struct sxt_s3 *)store, prefix, words, visit, data, error, "", "", 0};
        page->more = true;
    }
    while (status == SXT_OK && page->more) {
        status = fetch_page(listing, page);
        if (status != SXT_OK)
            store->counts.errors++;
        else
            status = visit_page(listing, page);
        sxt_s3_page_free(page);
    }
    free(listing);
    free(page);
    return status;
}

/* The names of the query are in the order of the alphabet, as the signature needs it. */
static void make_query(const struct listing *listing, struct sxt_buffer *query)
{
    if (*listing->token != 0) {
        sxt_buffer_print(query, "continuation-token=");
        sxt_s3_encode(query, listing->token, false);
        sxt_buffer_print(query, "&");
    }
    if (listing->words)
        sxt_buffer_print(query, "delimiter=%%2F&");
    sxt_buffer_print(query, "list-type=2&max-keys=1000&prefix=");
    sxt_s3_encode(query, listing->s3->prefix, false);
    sxt_s3_encode(query, listing->prefix, false);
    sxt_buffer_u8(query, 0);
}

static int fetch_page(struct listing *listing, struct sxt_s3_page *page)
{
    struct sxt_buffer query;
    sxt_buffer_init(&query, QUERY_MAX);
    make_query(listing, &query);
    int status = sxt_buffer_status(&query, listing->error);
    struct sxt_s3_call call = {.method = "GET", .query = (const char *)query.data, .answer_limit = PAGE_MAX};
    if (status == SXT_OK)
        status = sxt_s3_send(listing->s3, &call, 1, listing->error);
    if (status == SXT_OK)
        status =
            sxt_s3_page_read(page, (const char *)call.answer.data, call.answer.size, listing->words, listing->error);
    sxt_s3_call_free(&call);
    sxt_buffer_free(&query);
    if (status == SXT_OK && page->more &&
        (strcmp(page->token, listing->token) == 0 || ++listing->idle_pages > IDLE_PAGES_MAX))
        status = sxt_fail(listing->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the listing of bucket %s does not advance",
                          listing->s3->bucket);
    if (status == SXT_OK)
        memcpy(listing->token, page->token, sizeof page->token);
    return status;
}

/* NAME below the store's prefix, or NULL if it is not below the prefix of the listing, or not a key. */
static const char *key_of(const struct listing *listing, const char *name)
{
    size_t store_size = strlen(listing->s3->prefix), prefix_size = strlen(listing->prefix);
    if (strncmp(name, listing->s3->prefix, store_size) != 0 ||
        strncmp(name + store_size, listing->prefix, prefix_size) != 0)
        return NULL;
    const char *key = name + store_size;
    if (sxt_key_is_valid(key))
        return key;
    return listing->words && *key != 0 && sxt_key_is_prefix(key) && strlen(key) > prefix_size ? key : NULL;
}

static int visit_page(struct listing *listing, const struct sxt_s3_page *page)
{
    int status = SXT_OK;
    for (size_t i = 0; i < page->count && status == SXT_OK; i++) {
        const struct sxt_s3_entry *entry = &page->entries[i];
        const char *key = key_of(listing, (const char *)page->names.data + entry->name);
        if (key == NULL)
            continue;
        int order = strcmp(listing->last, key);
        /* A common prefix may be on two pages, and some servers list an object twice while it is being replaced. */
        if (order == 0)
            continue;
        if (order > 0) {
            listing->s3->store.counts.errors++;
            return sxt_fail(listing->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                            "the listing of bucket %s is not in order: '%.100s'", listing->s3->bucket, key);
        }
        snprintf(listing->last, sizeof listing->last, "%s", key);
        listing->idle_pages = 0;
        status = listing->visit(listing->data, key, listing->words ? 0 : entry->size,
                                listing->words ? 0 : entry->modified_us);
    }
    return status;
}
