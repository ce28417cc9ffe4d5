/* acceptor.c: waits for connections, or for the end. */
#include "service/acceptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/task.h"
#include "service/connections.h"
#include "service/log.h"
#include "service/server.h"

#define PAUSE_MS 50 /* after a failure: descriptors or memory are short */

struct sxt_acceptor {
    struct sxt_service *service;
    int descriptor, stop;
    pthread_t thread;
};

static void *work(void *context);

int sxt_acceptor_start(struct sxt_service *service, int descriptor, struct sxt_acceptor **out, sxt_error *error)
{
    struct sxt_acceptor *acceptor = *out = calloc(1, sizeof *acceptor);
    if (acceptor == NULL)
        return sxt_fail_memory(error, sizeof *acceptor);
    acceptor->service = service;
    acceptor->descriptor = descriptor;
    acceptor->stop = eventfd(0, EFD_CLOEXEC);
    if (acceptor->stop >= 0 && sxt_thread_start(&acceptor->thread, work, acceptor))
        return SXT_OK;
    int reason = errno;
    if (acceptor->stop >= 0)
        close(acceptor->stop);
    free(acceptor);
    *out = NULL;
    return sxt_fail_errno(error, reason, "cannot start a thread");
}

void sxt_acceptor_stop(struct sxt_acceptor **pointer)
{
    struct sxt_acceptor *acceptor = *pointer;
    const uint64_t one = 1;
    if (acceptor == NULL)
        return;
    while (write(acceptor->stop, &one, sizeof one) < 0 && errno == EINTR)
        continue;
    pthread_join(acceptor->thread, NULL);
    close(acceptor->stop);
    free(acceptor);
    *pointer = NULL;
}

/* Is the server about to end? Waits for MILLISECONDS to find out. */
static bool is_stopped(const struct sxt_acceptor *acceptor, int milliseconds)
{
    struct pollfd wanted = {.fd = acceptor->stop, .events = POLLIN};
    return poll(&wanted, 1, milliseconds) > 0;
}

/* Accepts all that are waiting. False if something is short. */
static bool accept_all(struct sxt_acceptor *acceptor)
{
    struct sxt_service *service = acceptor->service;
    while (!is_stopped(acceptor, 0)) {
        if (!sxt_connections_have_room(service->connections)) {
            is_stopped(acceptor, 1);
            continue;
        }
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        int one = 1;
        int client = accept4(acceptor->descriptor, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0) {
            int reason = errno;
            sxt_connections_forget(service->connections);
            errno = reason;
            return reason != EMFILE && reason != ENFILE && reason != ENOBUFS && reason != ENOMEM;
        }
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        /* It closes the socket if it fails. */
        if (service->mhd.add_connection(service->daemon, client, (struct sockaddr *)&address, size) != MHD_YES)
            sxt_connections_forget(service->connections);
    }
    return true;
}

static void *work(void *context)
{
    struct sxt_acceptor *acceptor = context;
    struct pollfd wanted[] = {{.fd = acceptor->descriptor, .events = POLLIN}, {.fd = acceptor->stop, .events = POLLIN}};
    while (!is_stopped(acceptor, 0)) {
        poll(wanted, 2, -1);
        if (!accept_all(acceptor)) {
            sxt_log_message(acceptor->service->log, "warning", NULL, "cannot accept a connection: %s", strerror(errno));
            is_stopped(acceptor, PAUSE_MS);
        }
    }
    return NULL;
}
