/* catalog.c: opens and closes a catalog. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "catalog/private.h"

static void set_defaults(struct sxt_catalog_options *options)
{
    if (options->list_life_ms == 0)
        options->list_life_ms = 2000;
    if (options->open_limit == 0)
        options->open_limit = 256;
    if (options->inflate_limit == 0)
        options->inflate_limit = (uint64_t)4 << 30;
    if (options->stale_seconds == 0)
        options->stale_seconds = 86400;
    if (options->worker_memory == 0)
        options->worker_memory = (uint64_t)4 << 30;
    if (options->parts_limit == 0)
        options->parts_limit = (uint64_t)512 << 20;
    if (options->worker_seconds == 0)
        options->worker_seconds = 300;
}

int sxt_catalog_open(struct sxt_store *store, const struct sxt_catalog_options *options, struct sxt_catalog **out,
                     sxt_error *error)
{
    *out = NULL;
    struct sxt_catalog *catalog = calloc(1, sizeof *catalog);
    if (catalog == NULL)
        return sxt_fail_memory(error, sizeof *catalog);
    catalog->store = store;
    pthread_mutex_init(&catalog->making, NULL);
    pthread_mutex_init(&catalog->extracting, NULL);
    pthread_mutex_init(&catalog->paging, NULL);
    pthread_mutex_init(&catalog->opening, NULL);
    pthread_mutex_init(&catalog->listing, NULL);
    pthread_cond_init(&catalog->listed, NULL);
    if (options != NULL)
        catalog->options = *options;
    set_defaults(&catalog->options);
    int status = SXT_OK;
    if (catalog->options.program != NULL) {
        catalog->options.program = strdup(catalog->options.program);
        if (catalog->options.program == NULL)
            status = sxt_fail_memory(error, strlen(options->program));
    }
    if (status == SXT_OK)
        status = sxt_catalog_cache_new(catalog, error);
    *out = catalog;
    if (status != SXT_OK)
        sxt_catalog_close(out);
    return status;
}

void sxt_catalog_close(struct sxt_catalog **catalog)
{
    if (*catalog == NULL)
        return;
    sxt_catalog_cache_free(*catalog);
    pthread_mutex_destroy(&(*catalog)->making);
    pthread_mutex_destroy(&(*catalog)->extracting);
    pthread_mutex_destroy(&(*catalog)->paging);
    pthread_mutex_destroy(&(*catalog)->opening);
    pthread_mutex_destroy(&(*catalog)->listing);
    pthread_cond_destroy(&(*catalog)->listed);
    free((char *)(uintptr_t)(*catalog)->options.program);
    free(*catalog);
    *catalog = NULL;
}
