/*
 * line_listing.c: one listing of a line for all who wait for one.
 *
 * Each part of an upload is followed by a listing that begins after the part was written. Parts that arrive at the same
 * time share one: while a line is being listed, those that come wait for the next listing, which begins when this one
 * has ended. It is made by one of them, for all that wait by then. So a set of many small parts, which clients send
 * side by side, is not listed once for each of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "catalog/private.h"

/* Those who wait for the same listing; then what they get. */
struct sxt_catalog_line_listing {
    struct sxt_catalog_line_listing *next; /* of those that have not begun, in catalog->lines */
    char key[SXT_CATALOG_KEY_ROOM];        /* of the folder of the line */
    size_t users;
    enum { WAITING, LISTING, DONE } state;
    struct sxt_catalog_listing listing;
    int status;
    sxt_error error;
};

/* The listing of the line that is in STATE; NULL if there is none. */
static struct sxt_catalog_line_listing *find(struct sxt_catalog *catalog, const char *key, int state)
{
    struct sxt_catalog_line_listing *one = catalog->lines;
    while (one != NULL && ((int)one->state != state || strcmp(one->key, key) != 0))
        one = one->next;
    return one;
}

/* Joins those who wait for the next listing of a line. NULL if memory is short. */
static struct sxt_catalog_line_listing *join(struct sxt_catalog *catalog, const char *key)
{
    struct sxt_catalog_line_listing *joined = find(catalog, key, WAITING);
    if (joined == NULL) {
        joined = calloc(1, sizeof *joined);
        if (joined == NULL)
            return NULL;
        memcpy(joined->key, key, strlen(key) + 1);
        joined->next = catalog->lines;
        catalog->lines = joined;
    }
    joined->users++;
    return joined;
}

static void remove_from_list(struct sxt_catalog *catalog, struct sxt_catalog_line_listing *gone)
{
    struct sxt_catalog_line_listing **place = &catalog->lines;
    while (*place != gone)
        place = &(*place)->next;
    *place = gone->next;
}

int sxt_catalog_share_line(struct sxt_catalog *catalog, const char *tenant, const char *id,
                           const struct sxt_catalog_part_name *line, struct sxt_catalog_line_listing **out,
                           const struct sxt_catalog_listing **listing, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM], folder[160];
    *out = NULL;
    sxt_catalog_print_line(folder, sizeof folder, line);
    int status = sxt_catalog_key(key, tenant, id, error, "%s", folder);
    if (status != SXT_OK)
        return status;
    pthread_mutex_lock(&catalog->listing);
    struct sxt_catalog_line_listing *mine = join(catalog, key);
    while (mine != NULL && mine->state != DONE) {
        if (mine->state == LISTING || find(catalog, key, LISTING) != NULL) {
            pthread_cond_wait(&catalog->listed, &catalog->listing);
            continue;
        }
        mine->state = LISTING;
        pthread_mutex_unlock(&catalog->listing);
        mine->status = sxt_catalog_list_line(catalog, tenant, id, line, &mine->listing, &mine->error);
        pthread_mutex_lock(&catalog->listing);
        mine->state = DONE;
        remove_from_list(catalog, mine);
        pthread_cond_broadcast(&catalog->listed);
    }
    pthread_mutex_unlock(&catalog->listing);
    if (mine == NULL)
        return sxt_fail_memory(error, sizeof *mine);
    *out = mine;
    *listing = &mine->listing;
    if (mine->status != SXT_OK && error != NULL)
        *error = mine->error;
    return mine->status;
}

void sxt_catalog_release_line(struct sxt_catalog *catalog, struct sxt_catalog_line_listing **listing)
{
    if (*listing == NULL)
        return;
    pthread_mutex_lock(&catalog->listing);
    bool is_last = --(*listing)->users == 0;
    pthread_mutex_unlock(&catalog->listing);
    if (is_last) {
        sxt_catalog_listing_free(&(*listing)->listing);
        free(*listing);
    }
    *listing = NULL;
}
