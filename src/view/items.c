/* items.c: the files that were given, and comparisons of two. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "view/server.h"

const char *sxt_view_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

/* Opens a file as each kind that shows it. */
static int open_file(struct sxt_view_server *server, const char *path, sxt_error *error)
{
    sxt_kind kind;
    size_t before = server->item_count;
    int status = sxt_identify_path(path, &kind, error);
    for (size_t i = 0; status == SXT_OK && sxt_view_kinds[i] != NULL; i++) {
        /* What has no known format is what the first kind takes it for; the last one says what is wrong with it. */
        bool is_taken = kind == SXT_KIND_UNKNOWN && server->item_count > before;
        if (is_taken || !sxt_view_kinds[i]->recognises(path, kind))
            continue;
        struct sxt_view_item *item = &server->items[server->item_count];
        *item = (struct sxt_view_item){
            .kind = sxt_view_kinds[i],
            .options = &server->options,
            .path = path,
            .name = sxt_view_last_part(path),
            .number = server->item_count,
        };
        pthread_mutex_init(&item->mutex, NULL);
        server->item_count++;
        status = item->kind->open(item, error);
    }
    if (status == SXT_OK && server->item_count == before)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not a file that can be shown");
    return status;
}

int sxt_view_items_open(struct sxt_view_server *server, const char **failed, sxt_error *error)
{
    size_t kinds = 0;
    while (sxt_view_kinds[kinds] != NULL)
        kinds++;
    server->items = calloc(server->options.path_count * kinds, sizeof *server->items);
    if (server->items == NULL)
        return sxt_fail_memory(error, server->options.path_count * kinds * sizeof *server->items);
    for (size_t i = 0; i < server->options.path_count; i++) {
        *failed = server->options.paths[i];
        int status = open_file(server, *failed, error);
        if (status != SXT_OK)
            return status;
    }
    *failed = NULL;
    return SXT_OK;
}

static void free_item(struct sxt_view_item *item)
{
    if (item->is_made)
        sxt_page_free(&item->page);
    pthread_mutex_destroy(&item->mutex);
}

void sxt_view_items_close(struct sxt_view_server *server)
{
    for (size_t i = 0; i < server->pair_count; i++) {
        free_item(server->pairs[i]);
        free(server->pairs[i]);
    }
    for (size_t i = 0; i < server->item_count; i++) {
        server->items[i].kind->close(&server->items[i]);
        free_item(&server->items[i]);
    }
    free(server->pairs);
    free(server->items);
}

struct sxt_view_item *sxt_view_items_find(struct sxt_view_server *server, const char *name)
{
    for (size_t i = 0; i < server->item_count; i++)
        if (strcmp(server->items[i].path, name) == 0)
            return &server->items[i];
    return NULL;
}

static struct sxt_view_item *find_pair(struct sxt_view_server *server, const struct sxt_view_item *before,
                                       const struct sxt_view_item *after)
{
    for (size_t i = 0; i < server->pair_count; i++)
        if (server->pairs[i]->before == before && server->pairs[i]->after == after)
            return server->pairs[i];
    return NULL;
}

static struct sxt_view_item *add_pair(struct sxt_view_server *server, struct sxt_view_item *before,
                                      struct sxt_view_item *after)
{
    struct sxt_view_item **pairs =
        sxt_array_grow(server->pairs, &server->pair_capacity, server->pair_count + 1, sizeof *pairs);
    struct sxt_view_item *pair = calloc(1, sizeof *pair);
    server->pairs = pairs != NULL ? pairs : server->pairs;
    if (pairs == NULL || pair == NULL) {
        free(pair);
        return NULL;
    }
    *pair = (struct sxt_view_item){
        .kind = after->kind,
        .options = &server->options,
        .path = after->path,
        .name = after->name,
        .before = before,
        .after = after,
        .number = after->number,
        .before_number = before->number,
    };
    pthread_mutex_init(&pair->mutex, NULL);
    return server->pairs[server->pair_count++] = pair;
}

struct sxt_view_item *sxt_view_items_pair(struct sxt_view_server *server, struct sxt_view_item *before,
                                          struct sxt_view_item *after)
{
    if (before->kind != after->kind || after->kind->compare == NULL)
        return NULL;
    pthread_mutex_lock(&server->mutex);
    struct sxt_view_item *pair = find_pair(server, before, after);
    if (pair == NULL)
        pair = add_pair(server, before, after);
    pthread_mutex_unlock(&server->mutex);
    return pair;
}

/* Compares with both items locked, always in the same order. */
static int compare(struct sxt_view_item *pair, sxt_error *error)
{
    struct sxt_view_item *before = pair->before, *after = pair->after;
    struct sxt_view_item *first = before->number < after->number ? before : after;
    struct sxt_view_item *second = first == before ? after : before;
    pthread_mutex_lock(&first->mutex);
    if (second != first)
        pthread_mutex_lock(&second->mutex);
    int status = pair->kind->compare(before, after, &pair->page, error);
    if (second != first)
        pthread_mutex_unlock(&second->mutex);
    pthread_mutex_unlock(&first->mutex);
    return status;
}

int sxt_view_item_make(struct sxt_view_item *item, sxt_error *error)
{
    if (item->is_made)
        return SXT_OK;
    sxt_page_begin_data(&item->page);
    int status = item->before != NULL ? compare(item, error) : item->kind->make(item, &item->page, error);
    if (status == SXT_OK)
        status = sxt_page_end(&item->page, error);
    if (status != SXT_OK)
        sxt_page_free(&item->page);
    item->is_made = status == SXT_OK;
    return status;
}
