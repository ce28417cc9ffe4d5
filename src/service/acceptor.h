/*
 * acceptor.h: a thread that accepts connections and gives them to libmicrohttpd. Private to this room.
 *
 * libmicrohttpd could do this itself, but version 0.9.75 may end the process when it is told to stop accepting while it
 * is busy (MHD_quiesce_daemon), and its threads wake each other up for each connection. It must not reach its own limit
 * of connections either: a thread that does keeps a lock for ever. So connections are counted here.
 */
#ifndef SXT_SERVICE_ACCEPTOR_H
#define SXT_SERVICE_ACCEPTOR_H

#include <sextant/error.h>

struct sxt_service;
struct sxt_acceptor;

/* Accepts from DESCRIPTOR, which stays the caller's, until it is stopped. */
int sxt_acceptor_start(struct sxt_service *service, int descriptor, struct sxt_acceptor **out, sxt_error *error);

/* When it returns, no connection is accepted any more. Takes NULL. */
void sxt_acceptor_stop(struct sxt_acceptor **acceptor);

#endif
