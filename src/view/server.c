/* server.c: opens the files, starts the server, and waits for a signal. */
#include "view/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hex.h"

#define CONNECTIONS     256
#define SILENCE_SECONDS 900 /* after which a connection is closed; longer than it takes to make a page */
#define ENDING_MS       300 /* how long requests may take after a signal */

static int make_token(struct sxt_view_server *server, sxt_error *error)
{
    uint8_t bytes[SXT_VIEW_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return sxt_fail_errno(error, errno, "cannot get random bytes");
    sxt_hex_encode(server->token, bytes, sizeof bytes);
    return SXT_OK;
}

static int open_socket(struct sxt_view_server *server, sxt_error *error)
{
    const char *listen = server->options.listen != NULL ? server->options.listen : "127.0.0.1:0";
    int status = sxt_listen_open(listen, &server->listen, error);
    if (status == SXT_OK && !server->listen.is_loopback)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "'%.100s' is not an address of this machine alone, such as 127.0.0.1:0", listen);
    return status;
}

/* Decodes "%2F" in place. An escape that is malformed, or a zero byte, stays as it is. */
static size_t decode(void *data, struct MHD_Connection *connection, char *text)
{
    (void)data;
    (void)connection;
    char *to = text;
    for (const char *at = text; *at != 0; to++) {
        int high = *at == '%' ? sxt_hex_digit(at[1]) : -1;
        int low = high >= 0 ? sxt_hex_digit(at[2]) : -1;
        bool is_escape = low >= 0 && (high | low) != 0;
        *to = is_escape ? (char)(high << 4 | low) : *at;
        at += is_escape ? 3 : 1;
    }
    *to = 0;
    return (size_t)(to - text);
}

static int start_daemon(struct sxt_view_server *server, sxt_error *error)
{
    server->daemon = server->mhd.start(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, NULL, NULL, sxt_view_handle,
        server, MHD_OPTION_LISTEN_SOCKET, server->listen.descriptor, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_SECONDS, MHD_OPTION_UNESCAPE_CALLBACK, decode, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (server->daemon == NULL)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "cannot start libmicrohttpd");
    server->listen.descriptor = -1; /* the daemon closes it */
    return SXT_OK;
}

static int announce(const struct sxt_view_server *server, sxt_error *error)
{
    char line[SXT_VIEW_TOKEN + 128];
    int size = snprintf(line, sizeof line, "http://%s/%s/\n", server->listen.address, server->token);
    if (write(STDOUT_FILENO, line, (size_t)size) != size)
        return sxt_fail_errno(error, errno, "cannot write the URL to standard output");
    line[size - 1] = 0;
    if (!server->options.no_browser)
        sxt_view_browse(line);
    return SXT_OK;
}

static void wait_for_signal(const sigset_t *signals)
{
    int number;
    do {
        number = sigwaitinfo(signals, NULL);
    } while (number == SIGPIPE || (number < 0 && errno == EINTR));
}

/* Ends what is idle. A request that takes long ends with the process: it changes nothing. */
static void stop(struct sxt_view_server *server)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int waited = 0; waited < ENDING_MS && atomic_load(&server->active) > 0; waited += 10)
        nanosleep(&pause, NULL);
    if (atomic_load(&server->active) > 0)
        _exit(0);
    server->mhd.stop(server->daemon);
    server->daemon = NULL;
}

int sxt_view_run(const struct sxt_view_options *options, const char **failed, sxt_error *error)
{
    sigset_t signals;
    struct sxt_view_server server = {.options = *options, .listen = {.descriptor = -1}};
    *failed = NULL;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGPIPE);
    pthread_mutex_init(&server.mutex, NULL);
    int status = sxt_mhd_load(&server.mhd, error);
    if (status == SXT_OK)
        status = make_token(&server, error);
    if (status == SXT_OK)
        status = open_socket(&server, error);
    if (status == SXT_OK)
        status = sxt_view_items_open(&server, failed, error);
    if (status == SXT_OK) {
        pthread_sigmask(SIG_BLOCK, &signals, NULL);
        status = start_daemon(&server, error);
    }
    if (status == SXT_OK)
        status = announce(&server, error);
    if (status == SXT_OK)
        wait_for_signal(&signals);
    if (server.daemon != NULL)
        stop(&server);
    if (server.listen.descriptor >= 0)
        close(server.listen.descriptor);
    sxt_view_items_close(&server);
    pthread_mutex_destroy(&server.mutex);
    return status;
}
