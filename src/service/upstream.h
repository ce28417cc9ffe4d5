/*
 * upstream.h: files that are missing, from debuginfod servers. Private to this room.
 *
 * A handler that does not find something asks here. The file is fetched by threads of its own; the connection of the
 * request is suspended meanwhile, and takes no thread. Everybody who asks for the same file waits for the same fetch.
 * When all fetches of a request have ended, or its time to wait is over, its handler is called again, and finds what
 * has arrived. A fetch goes on if nobody waits for it any more.
 *
 * What all servers said they do not have is noted in the store, where other servers find it. Failures are not.
 */
#ifndef SXT_SERVICE_UPSTREAM_H
#define SXT_SERVICE_UPSTREAM_H

#include "base/buffer.h"
#include "service/request.h"

struct sxt_upstream;

enum sxt_upstream_kind { SXT_UPSTREAM_DEBUGINFO, SXT_UPSTREAM_EXECUTABLE, SXT_UPSTREAM_SOURCE };

/* SXT_ERROR_USAGE if a URL is not one. */
int sxt_upstream_check_url(const char *url, sxt_error *error);

int sxt_upstream_open(struct sxt_service *service, struct sxt_upstream **out, sxt_error *error);

/* The following take NULL. Cancel ends all fetches, lets all requests go on, and begins no more. */
void sxt_upstream_cancel(struct sxt_upstream *upstream);
void sxt_upstream_close(struct sxt_upstream **upstream);

/* Lets requests go on that have waited long enough. To be called several times a second. */
void sxt_upstream_tick(struct sxt_upstream *upstream);

/* Appends figures for /metrics. */
void sxt_upstream_print(struct sxt_upstream *upstream, struct sxt_buffer *out);

enum sxt_upstream_answer {
    SXT_UPSTREAM_NOTHING, /* there is nothing to wait for; request->missing may say why */
    SXT_UPSTREAM_AGAIN,   /* it has just arrived: look again */
    SXT_UPSTREAM_WAIT,    /* the handler may ask for more, and then returns SXT_WAIT */
};

/* Asks for a file of the binary BUILD_ID; PATH is that of a source file. */
enum sxt_upstream_answer sxt_upstream_ask(struct sxt_request *request, const struct sxt_catalog_id *build_id,
                                          enum sxt_upstream_kind kind, const char *path);

/*
 * After the handler returned SXT_WAIT on a worker: true if the request waits now. It belongs to this file then, which
 * calls sxt_exchange_resume. False if it can go on at once.
 */
bool sxt_upstream_park(struct sxt_request *request);

/* The request is answered: nothing that it waits for refers to it any more. */
void sxt_upstream_leave(struct sxt_request *request);

/* Is what was asked for undecided, so that asking again later may give something? */
bool sxt_upstream_is_undecided(const struct sxt_request *request);

#endif
