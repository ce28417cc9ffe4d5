/* connections.c: a list of all connections, and since when each of them has been idle. */
#include "service/connections.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "service/exchange.h"
#include "service/linger.h"
#include "service/server.h"

#define SLOWEST    1024  /* bytes a second that a body or a reply must have, after the timeout */
#define LONGEST    600   /* seconds, after the timeout, that a reply may be in memory until the client has it */
#define IDLE_MS    1000  /* a connection without a request for this long is idle */
#define SLOW_MS    2000  /* a connection that sends nothing for this long makes room for others */
#define SLOW_TAKEN 16384 /* bytes of a reply that a client must take in a second, or it makes room for others */
#define ADDRESSES  1024  /* addresses are counted by a hash */
#define TRIES      16    /* to find a connection that can be closed */

enum state {
    IDLE,      /* between requests, or the headers are not complete */
    SENDING,   /* the client sends a body */
    ANSWERING, /* the server works on the request */
    REPLYING,  /* the client takes the reply */
    LATE       /* the client has sent too slowly, and was told so */
};

struct sxt_connection {
    struct sxt_connections *all;
    struct sxt_connection *before, *after;
    struct sxt_exchange *exchange;
    struct MHD_Connection *from;
    int descriptor;
    unsigned bucket; /* of its address */
    bool has_rest;
    char uuid[37]; /* of the request */
    char address[INET6_ADDRSTRLEN];
    _Atomic int state;
    _Atomic bool has_asked; /* a request */
    _Atomic uint64_t since; /* milliseconds */
    _Atomic uint64_t received;
    _Atomic uint64_t memory; /* of the reply */
    /* For replies that take long; guarded by the lock. */
    uint64_t counted_since; /* the `since` of the reply; 0: none yet */
    uint64_t taken[2];      /* bytes that the client had when they were counted first, and last */
    unsigned slow_seconds;  /* for which it has taken hardly anything */
};

struct sxt_connections {
    struct sxt_service *service;
    struct sxt_linger *linger;
    pthread_mutex_t lock; /* of the list, and of the descriptors in it: they are open while it is held */
    struct sxt_connection *first;
    unsigned count, limit;
    unsigned expected; /* accepted, and not in the list yet */
    uint64_t timeout;  /* milliseconds */
    bool has_tls;
    uint64_t accepted, evicted, timed_out;
    uint32_t by_address[ADDRESSES];
};

static void add(struct sxt_connections *connections, struct sxt_connection *connection);
static void take_out(struct sxt_connections *connections, struct sxt_connection *connection);
static bool has_unread(const struct sxt_connection *connection);
static void evict(struct sxt_connections *connections);

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int sxt_connections_open(struct sxt_service *service, unsigned limit, unsigned timeout, struct sxt_connections **out,
                         sxt_error *error)
{
    struct sxt_connections *connections = *out = calloc(1, sizeof *connections);
    if (connections == NULL)
        return sxt_fail_memory(error, sizeof *connections);
    connections->service = service;
    connections->limit = limit;
    connections->has_tls = service->options.tls_cert != NULL;
    connections->timeout = (uint64_t)timeout * 1000;
    pthread_mutex_init(&connections->lock, NULL);
    int status = sxt_linger_start(&connections->linger, error);
    if (status != SXT_OK)
        sxt_connections_close(out);
    return status;
}

void sxt_connections_close(struct sxt_connections **connections)
{
    if (*connections == NULL)
        return;
    sxt_linger_stop(&(*connections)->linger);
    pthread_mutex_destroy(&(*connections)->lock);
    free(*connections);
    *connections = NULL;
}

static void read_address(const struct sockaddr *address, char to[INET6_ADDRSTRLEN])
{
    *to = 0;
    if (address != NULL && address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, to, INET6_ADDRSTRLEN);
    else if (address != NULL && address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, to, INET6_ADDRSTRLEN);
    if (strncmp(to, "::ffff:", 7) == 0 && strchr(to, '.') != NULL)
        memmove(to, to + 7, strlen(to + 7) + 1);
}

static struct sxt_connection *open_connection(struct sxt_service *service, struct MHD_Connection *from)
{
    const union MHD_ConnectionInfo *info = service->mhd.connection_info(from, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sxt_connection *connection = info != NULL ? calloc(1, sizeof *connection) : NULL;
    if (connection == NULL)
        return NULL;
    connection->from = from;
    connection->descriptor = info->connect_fd;
    info = service->mhd.connection_info(from, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    read_address(info != NULL ? info->client_addr : NULL, connection->address);
    for (const char *at = connection->address; *at != 0; at++)
        connection->bucket = (connection->bucket * 31 + (unsigned char)*at) % ADDRESSES;
    atomic_init(&connection->since, now_ms());
    return connection;
}

void sxt_connections_notify(void *data, struct MHD_Connection *from, void **slot,
                            enum MHD_ConnectionNotificationCode what)
{
    struct sxt_service *service = data;
    struct sxt_connections *connections = service->connections;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        struct sxt_connection *connection = *slot = open_connection(service, from);
        if (connection != NULL)
            add(connections, connection);
        return;
    }
    struct sxt_connection *connection = *slot;
    if (connection == NULL)
        return;
    take_out(connections, connection);
    if (connection->has_rest) {
        int copy = dup(connection->descriptor);
        if (copy >= 0)
            sxt_linger_add(connections->linger, copy);
    }
    if (connection->exchange != NULL)
        sxt_exchange_free(connection->exchange);
    free(connection);
    *slot = NULL;
}

bool sxt_connections_have_room(struct sxt_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    bool has_room = connections->count + connections->expected < connections->limit;
    connections->expected += has_room;
    if (!has_room)
        evict(connections);
    pthread_mutex_unlock(&connections->lock);
    return has_room;
}

void sxt_connections_forget(struct sxt_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    connections->expected -= connections->expected > 0;
    pthread_mutex_unlock(&connections->lock);
}

static void add(struct sxt_connections *connections, struct sxt_connection *connection)
{
    pthread_mutex_lock(&connections->lock);
    connections->expected -= connections->expected > 0;
    connection->all = connections;
    connection->after = connections->first;
    if (connections->first != NULL)
        connections->first->before = connection;
    connections->first = connection;
    connections->count++;
    connections->accepted++;
    connections->by_address[connection->bucket]++;
    if (connections->count > connections->limit - connections->limit / 8)
        evict(connections); /* the new one is the youngest, and not chosen */
    pthread_mutex_unlock(&connections->lock);
}

static void take_out(struct sxt_connections *connections, struct sxt_connection *connection)
{
    pthread_mutex_lock(&connections->lock);
    if (connection->before != NULL)
        connection->before->after = connection->after;
    else
        connections->first = connection->after;
    if (connection->after != NULL)
        connection->after->before = connection->before;
    connections->count--;
    connections->by_address[connection->bucket]--;
    pthread_mutex_unlock(&connections->lock);
}

/* Has the client sent something that the server has not read yet? Then the server is slow, and not the client. */
static bool has_unread(const struct sxt_connection *connection)
{
    int size = 0;
    return ioctl(connection->descriptor, FIONREAD, &size) == 0 && size > 0;
}

/* Ends a connection: libmicrohttpd sees that the client is gone. */
static void cut(struct sxt_connection *connection)
{
    shutdown(connection->descriptor, SHUT_RDWR);
    /* It is not chosen again. */
    atomic_store_explicit(&connection->since, UINT64_MAX, memory_order_relaxed);
}

static bool is_cut(const struct sxt_connection *connection)
{
    return atomic_load_explicit(&((struct sxt_connection *)(uintptr_t)connection)->since, memory_order_relaxed) ==
           UINT64_MAX;
}

/*
 * How gladly a connection is cut: 3 it is idle, 2 it sends a body or takes a reply slowly, 1 it is new and has asked
 * nothing yet, 0 it has a request, or had one just now.
 */
static unsigned readiness(struct sxt_connection *connection, uint64_t now)
{
    int state = atomic_load_explicit(&connection->state, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&connection->since, memory_order_relaxed);
    if (since == UINT64_MAX)
        return 0;
    if (state == SENDING)
        return now > since + SLOW_MS ? 2 : 0;
    if (state == REPLYING)
        return connection->counted_since == since && connection->slow_seconds >= SLOW_MS / 1000 ? 2 : 0;
    if (state != IDLE)
        return 0;
    return now > since + IDLE_MS ? 3 : atomic_load_explicit(&connection->has_asked, memory_order_relaxed) ? 0 : 1;
}

/*
 * Cuts a connection that does nothing: the one with the highest readiness, of these one of the address that has the
 * most connections, of these the one that has been like this for the longest time.
 */
static struct sxt_connection *choose(struct sxt_connections *connections)
{
    struct sxt_connection *chosen = NULL;
    uint64_t now = now_ms(), best[3] = {0};
    for (struct sxt_connection *at = connections->first; at != NULL; at = at->after) {
        uint64_t since = atomic_load_explicit(&at->since, memory_order_relaxed);
        const uint64_t worth[3] = {readiness(at, now), connections->by_address[at->bucket], UINT64_MAX - since};
        size_t i = 0;
        while (i < 2 && worth[i] == best[i])
            i++;
        if (at == connections->first || worth[0] == 0 || (chosen != NULL && worth[i] <= best[i]))
            continue;
        chosen = at;
        memcpy(best, worth, sizeof best);
    }
    return chosen;
}

static void evict(struct sxt_connections *connections)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        struct sxt_connection *chosen = choose(connections);
        if (chosen == NULL)
            return;
        if (has_unread(chosen)) {
            atomic_store_explicit(&chosen->since, now_ms(), memory_order_relaxed);
            continue;
        }
        cut(chosen);
        connections->evicted++;
        return;
    }
}

/* Is a connection too slow? A body may take a second for each KiB, beyond the timeout. */
static bool is_late(const struct sxt_connections *connections, struct sxt_connection *connection, uint64_t now)
{
    int state = atomic_load_explicit(&connection->state, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&connection->since, memory_order_relaxed);
    uint64_t more = state == SENDING ? atomic_load_explicit(&connection->received, memory_order_relaxed) / SLOWEST : 0;
    return (state == IDLE || state == SENDING) && now > since && now - since > connections->timeout + 1000 * more;
}

/* The bytes that the client has acknowledged, and whether it is the client that is waited for. */
static bool count_taken(const struct sxt_connection *connection, uint64_t *taken)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    int unsent = 0;
    memset(&info, 0, sizeof info);
    *taken = 0;
    if (ioctl(connection->descriptor, SIOCOUTQ, &unsent) != 0 || unsent == 0 ||
        getsockopt(connection->descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked)
        return false;
    *taken = info.tcpi_bytes_acked;
    return true;
}

/* Does the client take its reply too slowly? */
static bool is_slow_reader(const struct sxt_connections *connections, struct sxt_connection *connection, uint64_t now)
{
    uint64_t since = atomic_load_explicit(&connection->since, memory_order_relaxed), taken;
    if (atomic_load_explicit(&connection->state, memory_order_relaxed) != REPLYING || now < since + IDLE_MS ||
        !count_taken(connection, &taken))
        return false;
    if (connection->counted_since != since) {
        connection->counted_since = since;
        connection->taken[0] = connection->taken[1] = taken;
        connection->slow_seconds = 0;
    }
    connection->slow_seconds = taken - connection->taken[1] < SLOW_TAKEN ? connection->slow_seconds + 1 : 0;
    connection->taken[1] = taken;
    uint64_t least = atomic_load_explicit(&connection->memory, memory_order_relaxed) / LONGEST;
    uint64_t seconds = (taken - connection->taken[0]) / (least > SLOWEST ? least : SLOWEST);
    return now - since > connections->timeout + 1000 * seconds;
}

/* Says to a client that it is too slow. The thread of the connection sees LATE, and does not answer too. */
static void end_late(struct sxt_connection *connection)
{
    static const char reply[] =
        "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
        "Content-Length: %zu\r\n\r\n%.*s";
    char text[512];
    struct sxt_buffer failure;
    int state = SENDING;
    if (!atomic_compare_exchange_strong(&connection->state, &state, LATE))
        return;
    sxt_buffer_init(&failure, sizeof text);
    sxt_reply_print_failure(&failure, connection->uuid, 408, SXT_CODE_TIMEOUT, SXT_TIMEOUT_TEXT);
    int size = snprintf(text, sizeof text, reply, failure.size, (int)failure.size, (const char *)failure.data);
    /* GnuTLS does not allow two threads to use a session. */
    if (!connection->all->has_tls && size > 0 && (size_t)size < sizeof text)
        sxt_connection_send(connection, text, (size_t)size);
    sxt_buffer_free(&failure);
}

void sxt_connections_check(struct sxt_connections *connections)
{
    uint64_t now = now_ms();
    pthread_mutex_lock(&connections->lock);
    for (struct sxt_connection *at = connections->first; at != NULL; at = at->after) {
        if (is_cut(at) || ((!is_late(connections, at, now) || has_unread(at)) && !is_slow_reader(connections, at, now)))
            continue;
        end_late(at);
        cut(at);
        connections->timed_out++;
    }
    pthread_mutex_unlock(&connections->lock);
}

void sxt_connections_cut_clients(struct sxt_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    for (struct sxt_connection *at = connections->first; at != NULL; at = at->after) {
        int state = atomic_load_explicit(&at->state, memory_order_relaxed);
        if (state == SENDING || state == REPLYING)
            cut(at);
    }
    pthread_mutex_unlock(&connections->lock);
}

void sxt_connections_print(struct sxt_connections *connections, struct sxt_buffer *out)
{
    pthread_mutex_lock(&connections->lock);
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } lines[] = {
        {"sextant_connections", "gauge", "Open connections.", connections->count},
        {"sextant_connections_total", "counter", "Connections that were accepted.", connections->accepted},
        {"sextant_connections_evicted_total", "counter", "Idle connections that were closed for new ones.",
         connections->evicted},
        {"sextant_connections_timed_out_total", "counter", "Connections that were closed because they were too slow.",
         connections->timed_out},
    };
    pthread_mutex_unlock(&connections->lock);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        sxt_buffer_print(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", lines[i].name, lines[i].help, lines[i].name,
                         lines[i].type, lines[i].name, (unsigned long long)lines[i].value);
}

/* --- one connection --- */

struct sxt_exchange *sxt_connection_exchange(struct sxt_connection *connection)
{
    return connection->exchange;
}

void sxt_connection_keep_exchange(struct sxt_connection *connection, struct sxt_exchange *exchange)
{
    connection->exchange = exchange;
}

const char *sxt_connection_address(const struct sxt_connection *connection)
{
    return connection->address;
}

static void enter(struct sxt_connection *connection, enum state state)
{
    if (!is_cut(connection))
        atomic_store_explicit(&connection->since, now_ms(), memory_order_relaxed);
    atomic_store_explicit(&connection->state, state, memory_order_relaxed);
}

void sxt_connection_begin_request(struct sxt_connection *connection, const char uuid[37])
{
    memcpy(connection->uuid, uuid, sizeof connection->uuid);
    atomic_store_explicit(&connection->has_asked, true, memory_order_relaxed);
    connection->has_rest = false;
    atomic_store_explicit(&connection->received, 0, memory_order_relaxed);
    enter(connection, ANSWERING);
}

void sxt_connection_received(struct sxt_connection *connection, size_t size)
{
    atomic_fetch_add_explicit(&connection->received, size, memory_order_relaxed);
}

bool sxt_connection_take(struct sxt_connection *connection)
{
    int state = SENDING;
    return atomic_compare_exchange_strong(&connection->state, &state, ANSWERING) || state == ANSWERING;
}

void sxt_connection_expect(struct sxt_connection *connection)
{
    atomic_store_explicit(&connection->state, SENDING, memory_order_release);
}

void sxt_connection_expect_again(struct sxt_connection *connection)
{
    atomic_store_explicit(&connection->received, 0, memory_order_relaxed);
    enter(connection, SENDING);
}

bool sxt_connection_was_late(const struct sxt_connection *connection)
{
    return atomic_load(&((struct sxt_connection *)(uintptr_t)connection)->state) == LATE;
}

void sxt_connection_reply(struct sxt_connection *connection, uint64_t memory)
{
    atomic_store_explicit(&connection->memory, memory, memory_order_relaxed);
    enter(connection, REPLYING);
}

void sxt_connection_send(struct sxt_connection *connection, const void *data, size_t size)
{
    const struct sxt_mhd *mhd = &connection->all->service->mhd;
    const union MHD_ConnectionInfo *info =
        connection->all->has_tls ? mhd->connection_info(connection->from, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;
    ssize_t sent = 0;
    if (!connection->all->has_tls)
        sent = send(connection->descriptor, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    else if (info != NULL && mhd->tls_send != NULL)
        sent = mhd->tls_send(info->tls_session, data, size);
    (void)sent; /* the client may be gone */
}

void sxt_connection_end_request(struct sxt_connection *connection, bool has_rest)
{
    connection->has_rest = has_rest;
    enter(connection, IDLE);
}
