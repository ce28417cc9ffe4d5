/* listen.c: parses an address, and listens there. */
#include "base/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

#define BACKLOG 1024

struct place {
    char host[256], port[8];
};

static int malformed(const char *text, sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not of the form HOST:PORT: '%.100s'", text);
}

static int parse(const char *text, struct place *place, sxt_error *error)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL)
        return malformed(text, error);
    size_t size = (size_t)(colon - text);
    const char *host = text;
    if (*text == '[') {
        if (size < 2 || text[size - 1] != ']')
            return malformed(text, error);
        host++;
        size -= 2;
    } else if (memchr(text, ':', size) != NULL) {
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "an IPv6 address must be in brackets: '%.100s'", text);
    }
    size_t digits = strspn(colon + 1, "0123456789");
    unsigned port = 0;
    for (size_t i = 1; i <= digits && i < 6; i++)
        port = port * 10 + (unsigned)(colon[i] - '0');
    if (digits == 0 || digits > 5 || colon[1 + digits] != 0 || port > 65535 || size >= sizeof place->host)
        return malformed(text, error);
    memcpy(place->host, host, size);
    place->host[size] = 0;
    snprintf(place->port, sizeof place->port, "%u", port);
    return SXT_OK;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

/* The socket, or -1 with errno. */
static int try_address(const struct addrinfo *address)
{
    int one = 1, zero = 0;
    int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return -1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->ai_family == AF_INET6)
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(descriptor, address->ai_addr, address->ai_addrlen) == 0 && listen(descriptor, BACKLOG) == 0)
        return descriptor;
    int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
}

static int describe(struct sxt_listen *out, sxt_error *error)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[64], port[8];
    if (getsockname(out->descriptor, (struct sockaddr *)&address, &size) != 0 ||
        getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return sxt_fail_errno(error, errno, "cannot find out the address of the socket");
    out->is_loopback = is_loopback((struct sockaddr *)&address);
    bool is_six = strchr(host, ':') != NULL;
    snprintf(out->address, sizeof out->address, "%s%s%s:%s", is_six ? "[" : "", host, is_six ? "]" : "", port);
    return SXT_OK;
}

int sxt_listen_open(const char *text, struct sxt_listen *out, sxt_error *error)
{
    struct place place;
    *out = (struct sxt_listen){.descriptor = -1};
    int status = parse(text, &place, error);
    if (status != SXT_OK)
        return status;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
    int result = getaddrinfo(*place.host != 0 ? place.host : NULL, place.port, &hints, &found);
    if (result != 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "cannot find the address '%.100s': %s", place.host,
                        gai_strerror(result));
    /* All addresses: an IPv6 socket takes both kinds; without IPv6 in the system, the other is used. */
    for (int pass = 0; pass < 2 && out->descriptor < 0; pass++)
        for (struct addrinfo *at = found; at != NULL && out->descriptor < 0; at = at->ai_next)
            if (*place.host != 0 || (at->ai_family == AF_INET6) == (pass == 0))
                out->descriptor = try_address(at);
    if (out->descriptor < 0)
        status = sxt_fail_errno(error, errno, "cannot listen on %.100s", text);
    freeaddrinfo(found);
    return status == SXT_OK ? describe(out, error) : status;
}
