/*
 * connections.h: the clients that are connected. Private to this room.
 *
 * One client must not keep others out by opening connections: when many are open, one that does nothing is closed for
 * each new one, first of the address that has the most. A connection that has had no complete request for the time
 * of the timeout is closed too, even if bytes trickle in; and so is one whose client takes its reply too slowly.
 */
#ifndef SXT_SERVICE_CONNECTIONS_H
#define SXT_SERVICE_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <sextant/error.h>

#include "base/buffer.h"
#include "base/mhd.h"

struct sxt_connections;
struct sxt_connection;
struct sxt_exchange;
struct sxt_service;

/* LIMIT connections; TIMEOUT seconds. */
int sxt_connections_open(struct sxt_service *service, unsigned limit, unsigned timeout, struct sxt_connections **out,
                         sxt_error *error);
void sxt_connections_close(struct sxt_connections **connections);

/*
 * Before a connection is accepted: false if there are too many; then one that does nothing is closed, and it is worth
 * asking again soon. If it is true, the connection is expected.
 */
bool sxt_connections_have_room(struct sxt_connections *connections);

/* An expected connection does not come. */
void sxt_connections_forget(struct sxt_connections *connections);

/* Called by libmicrohttpd; DATA is the service. */
void sxt_connections_notify(void *data, struct MHD_Connection *connection, void **slot,
                            enum MHD_ConnectionNotificationCode what);

/* Closes what is too slow. To be called once a second or so. */
void sxt_connections_check(struct sxt_connections *connections);

/* Cuts all connections whose client is still sending a request or taking a reply. */
void sxt_connections_cut_clients(struct sxt_connections *connections);
void sxt_connections_print(struct sxt_connections *connections, struct sxt_buffer *out);

/* --- one connection; from its thread --- */

/* What the connection keeps for its next request; NULL: nothing yet. */
struct sxt_exchange *sxt_connection_exchange(struct sxt_connection *connection);
void sxt_connection_keep_exchange(struct sxt_connection *connection, struct sxt_exchange *exchange);

/* "127.0.0.1" */
const char *sxt_connection_address(const struct sxt_connection *connection);

/* UUID is that of the request. */
void sxt_connection_begin_request(struct sxt_connection *connection, const char uuid[37]);
void sxt_connection_received(struct sxt_connection *connection, size_t size);

/*
 * The server is at work, and nothing is expected of the client. False if the client was too slow: it has got its reply,
 * and the connection is to be closed.
 */
bool sxt_connection_take(struct sxt_connection *connection);

/* The client is expected to send more; its time goes on, or begins again, from any thread. */
void sxt_connection_expect(struct sxt_connection *connection);
void sxt_connection_expect_again(struct sxt_connection *connection);
bool sxt_connection_was_late(const struct sxt_connection *connection);

/* The reply is sent from now on; the client takes it. MEMORY bytes of it are in memory until then. */
void sxt_connection_reply(struct sxt_connection *connection, uint64_t memory);

/* Sends bytes past libmicrohttpd, which has sent nothing yet; the connection is to be closed then. Best effort. */
void sxt_connection_send(struct sxt_connection *connection, const void *data, size_t size);

/* HAS_REST: the client may still send a body that nobody reads; so the connection is not simply cut. */
void sxt_connection_end_request(struct sxt_connection *connection, bool has_rest);

#endif
