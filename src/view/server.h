/* server.h: the server as its own files see it. Private to this room. */
#ifndef SXT_VIEW_SERVER_H
#define SXT_VIEW_SERVER_H

#include "base/listen.h"
#include "base/mhd.h"
#include "view/kind.h"

#define SXT_VIEW_TOKEN 32 /* characters: 128 random bits in hexadecimal */

struct sxt_view_server {
    struct sxt_view_options options;
    struct sxt_listen listen;
    struct sxt_mhd mhd;
    struct MHD_Daemon *daemon;
    char token[SXT_VIEW_TOKEN + 1];
    struct sxt_view_item *items; /* those of a file are together, the preferred one first */
    size_t item_count;
    pthread_mutex_t mutex; /* of the comparisons */
    struct sxt_view_item **pairs;
    size_t pair_count, pair_capacity;
    _Atomic unsigned active; /* requests that are being answered */
};

/* --- items.c --- */

int sxt_view_items_open(struct sxt_view_server *server, const char **failed, sxt_error *error);
void sxt_view_items_close(struct sxt_view_server *server);

/* The name of a file without folders. */
const char *sxt_view_last_part(const char *path);

/* The first item of the file that was given as NAME; NULL if none was. */
struct sxt_view_item *sxt_view_items_find(struct sxt_view_server *server, const char *name);

/* The comparison of two items. NULL if their kinds cannot be compared, or memory is short. */
struct sxt_view_item *sxt_view_items_pair(struct sxt_view_server *server, struct sxt_view_item *before,
                                          struct sxt_view_item *after);

/* Makes the data of the page if that was not done yet. The mutex of the item is held. */
int sxt_view_item_make(struct sxt_view_item *item, sxt_error *error);

/* --- exchange.c: the way of a request --- */

enum MHD_Result sxt_view_handle(void *server, struct MHD_Connection *connection, const char *url, const char *method,
                                const char *version, const char *upload, size_t *upload_size, void **state);

/* --- shell.c: HTML --- */

/* The page of an item, which asks for its data; or of an item that failed. */
int sxt_view_shell_page(const struct sxt_view_server *server, const struct sxt_view_item *item,
                        const struct sxt_view_query *query, struct sxt_buffer *html, sxt_error *error);

/* The list of the files. */
void sxt_view_shell_index(const struct sxt_view_server *server, struct sxt_buffer *html);

/* --- browser.c --- */

/* Opens URL where there is a display; if that fails, nothing happens. */
void sxt_view_browse(const char *url);

#endif
