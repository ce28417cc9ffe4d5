/* http_address.h: which addresses are not of the public Internet. */
#ifndef SXT_BASE_HTTP_ADDRESS_H
#define SXT_BASE_HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* True for loopback, link-local, private, shared, multicast and reserved addresses, also inside of IPv6 addresses. */
bool sxt_http_is_private(const struct sockaddr *address);

#endif
