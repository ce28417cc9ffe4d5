/* listen.h: the socket of a server. */
#ifndef SXT_BASE_LISTEN_H
#define SXT_BASE_LISTEN_H

#include <stdbool.h>

#include <sextant/error.h>

struct sxt_listen {
    int descriptor;
    bool is_loopback; /* only this machine can connect */
    char address[80]; /* "127.0.0.1:8240", "[::1]:8240", with the port that is used */
};

/*
 * Opens a socket for "HOST:PORT", "[ADDRESS]:PORT" or ":PORT", which is all addresses. Port 0 is any. SXT_ERROR_USAGE
 * if TEXT is malformed, or not an address of this machine.
 */
int sxt_listen_open(const char *text, struct sxt_listen *out, sxt_error *error);

#endif
