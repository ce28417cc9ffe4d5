/*
 * linger.h: connections that were refused while the client was still sending. Private to this room.
 *
 * If a socket is closed while bytes of a body wait in it, the system resets the connection, and the client may lose the
 * reply that says why it was refused. So what it sends is read and dropped for a while.
 */
#ifndef SXT_SERVICE_LINGER_H
#define SXT_SERVICE_LINGER_H

#include <sextant/error.h>

struct sxt_linger;

int sxt_linger_start(struct sxt_linger **out, sxt_error *error);
void sxt_linger_stop(struct sxt_linger **linger);

/* Takes over DESCRIPTOR, a socket whose sending side is shut down. Any thread may call it. */
void sxt_linger_add(struct sxt_linger *linger, int descriptor);

#endif
