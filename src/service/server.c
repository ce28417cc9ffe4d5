/* server.c: starts the service, waits for signals, and ends it. */
#include "service/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/listen.h"
#include "base/pool.h"
#include "service/acceptor.h"
#include "service/connections.h"
#include "service/exchange.h"
#include "service/keys.h"
#include "service/log.h"
#include "service/metrics.h"
#include "service/notify.h"
#include "service/pages.h"
#include "service/session.h"
#include "service/sweeper.h"
#include "service/upstream.h"
#include "service/workers.h"

#define TICK_MS          100  /* how often the log is written and slow connections are looked for */
#define SETTLE_MS        50   /* after the last request of a draining server, for one that is on its way */
#define STUCK_MS         2000 /* how long threads may take to see that the server ends */
#define LATER            3    /* seconds: connections.c comes first, with a reply */
#define CONNECTION_ROOM  ((size_t)32 << 10)
#define CONNECTION_STEP  ((size_t)16 << 10)
#define TLS_FILE_LIMIT   ((size_t)1 << 20)
#define DESCRIPTORS_ELSE 256 /* that are not connections */

/* What sxt_service_run needs besides the service. */
struct server {
    struct sxt_service service;
    struct sxt_listen listen;
    struct sxt_acceptor *acceptor;
    struct sxt_sweeper *sweeper;
    char *tls_cert_text, *tls_key_text;
    char program[4096];
    _Atomic bool is_started;
    char problem[160]; /* why it could not start */
};

static int check_options(const struct sxt_service_options *options, sxt_error *error);
static void fill_defaults(struct sxt_service_options *options);
static int open_parts(struct server *server, sxt_error *error);
static int start_daemon(struct server *server, sxt_error *error);
static void serve(struct server *server, const sigset_t *signals);
static bool drain(struct server *server, const sigset_t *signals);
static void close_parts(struct server *server);

int sxt_service_run(const struct sxt_service_options *options, sxt_error *error)
{
    int status = check_options(options, error);
    if (status != SXT_OK)
        return status;
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return sxt_fail_memory(error, sizeof *server);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    server->listen.descriptor = -1;
    server->service.options = *options;
    fill_defaults(&server->service.options);
    status = open_parts(server, error);
    if (status == SXT_OK)
        status = start_daemon(server, error);
    if (status == SXT_OK) {
        serve(server, &signals);
        if (!drain(server, &signals)) {
            /* A thread waits for something that does not end. What was acknowledged is safe. */
            sxt_log_message(server->service.log, "error", NULL, "requests were cut off after %u s",
                            server->service.options.drain_seconds);
            sxt_log_flush(server->service.log);
            _exit(1);
        }
    }
    close_parts(server);
    free(server);
    return status;
}

static int check_options(const struct sxt_service_options *options, sxt_error *error)
{
    if (options->store == NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "no store given");
    if ((options->tls_cert == NULL) != (options->tls_key == NULL))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a certificate and its key must be given together");
    if (options->forward != NULL && strncmp(options->forward, "http://", 7) != 0 &&
        strncmp(options->forward, "https://", 8) != 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a URL to forward to: '%.200s'", options->forward);
    for (size_t i = 0; i < options->upstream_count; i++) {
        int status = sxt_upstream_check_url(options->upstreams[i], error);
        if (status != SXT_OK)
            return status;
    }
    if (options->upstream_recheck_seconds > SXT_CATALOG_MISSING_SECONDS)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "what upstream servers do not have is asked for again after seven days at most");
    if (options->public_read && options->api_key_file == NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "reading is open to everybody already: no keys are given");
    return SXT_OK;
}

static uint64_t or_else(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

/* As many connections as there may be descriptors. */
static uint32_t fitting_connections(uint32_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    rlim_t needed = (rlim_t)wanted + DESCRIPTORS_ELSE;
    if (limit.rlim_cur < needed) {
        limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= needed)
        return wanted;
    return limit.rlim_cur > 2 * DESCRIPTORS_ELSE ? (uint32_t)(limit.rlim_cur - DESCRIPTORS_ELSE)
                                                 : (uint32_t)(limit.rlim_cur / 2);
}

static void fill_defaults(struct sxt_service_options *options)
{
    options->listen = options->listen != NULL ? options->listen : "127.0.0.1:8240";
    options->body_limit = or_else(options->body_limit, (uint64_t)2 << 30);
    options->inflate_limit = or_else(options->inflate_limit, (uint64_t)4 << 30);
    options->memory_limit = or_else(options->memory_limit, (uint64_t)1 << 30);
    options->parts_limit = (uint32_t)or_else(options->parts_limit, 10000);
    options->connection_limit = fitting_connections((uint32_t)or_else(options->connection_limit, 4096));
    options->timeout_seconds = (uint32_t)or_else(options->timeout_seconds, 30);
    options->drain_seconds = (uint32_t)or_else(options->drain_seconds, 30);
    options->threads = sxt_pool_threads(options->threads);
    options->workers = (uint32_t)or_else(options->workers, options->threads * 4 > 8 ? options->threads * 4 : 8);
    options->upstream_limit = or_else(options->upstream_limit, options->body_limit);
    options->upstream_seconds = (uint32_t)or_else(options->upstream_seconds, 300);
    options->upstream_wait_seconds = (uint32_t)or_else(options->upstream_wait_seconds, 20);
    options->upstream_pause_seconds = (uint32_t)or_else(options->upstream_pause_seconds, 60);
    options->upstream_recheck_seconds = or_else(options->upstream_recheck_seconds, 3600);
    options->catalog_options.inflate_limit = options->inflate_limit;
    options->catalog_options.stale_seconds = options->stale_seconds;
}

/* --- beginning --- */

static int open_keys(struct server *server, sxt_error *error)
{
    struct sxt_service *service = &server->service;
    const char *path = service->options.api_key_file;
    if (path != NULL) {
        sxt_error problem;
        int status = sxt_keys_open(path, &service->keys, &problem);
        return status == SXT_OK ? SXT_OK : sxt_fail(error, status, SXT_NO_OFFSET, "%.100s: %s", path, problem.text);
    }
    if (!server->listen.is_loopback)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "other machines can connect to %s, so keys are needed (--api-key-file)",
                        server->listen.address);
    return SXT_OK;
}

static int open_parts(struct server *server, sxt_error *error)
{
    struct sxt_service *service = &server->service;
    struct sxt_service_options *options = &service->options;
    if (getrandom(service->uuid_start, sizeof service->uuid_start, 0) != sizeof service->uuid_start)
        service->uuid_start[0] = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
    ssize_t size = readlink("/proc/self/exe", server->program, sizeof server->program - 1);
    if (options->catalog_options.program == NULL && size > 0)
        options->catalog_options.program = server->program;
    options->store_options.stop = options->catalog_options.stop = &service->is_stopping;
    int status = sxt_mhd_load(&service->mhd, error);
    if (status == SXT_OK)
        status = sxt_log_open(STDERR_FILENO, &service->log, error);
    if (status == SXT_OK)
        status = sxt_listen_open(options->listen, &server->listen, error);
    if (status == SXT_OK)
        status = open_keys(server, error);
    if (status == SXT_OK)
        status = sxt_store_open(options->store, &options->store_options, &service->store, error);
    if (status == SXT_OK && service->keys != NULL)
        status = sxt_sessions_open(service->store, &service->sessions, error);
    if (status == SXT_OK)
        status = sxt_pages_open(&service->pages, error);
    if (status == SXT_OK)
        options->catalog_options.page_version = sxt_pages_version(service->pages);
    if (status == SXT_OK)
        status = sxt_catalog_open(service->store, &options->catalog_options, &service->catalog, error);
    if (status == SXT_OK && options->forward != NULL)
        status = sxt_http_pool_open(&service->forward, error);
    if (status == SXT_OK)
        status = sxt_metrics_open(&service->metrics, error);
    if (status == SXT_OK)
        status = sxt_workers_start(options->workers, &service->workers, error);
    if (status == SXT_OK && options->upstream_count > 0)
        status = sxt_upstream_open(service, &service->upstream, error);
    if (status == SXT_OK)
        status = sxt_connections_open(service, options->connection_limit, options->timeout_seconds,
                                      &service->connections, error);
    if (status == SXT_OK)
        status = sxt_sweeper_start(service, &server->sweeper, error);
    return status;
}

/* The content of a file, as text. */
static int read_tls_file(const char *path, char **out, sxt_error *error)
{
    struct sxt_file file;
    sxt_error problem;
    int status = sxt_file_open(&file, path, &problem);
    if (status == SXT_OK && file.size > TLS_FILE_LIMIT)
        status = sxt_fail(&problem, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "not a certificate or a key: it is too large");
    if (status == SXT_OK && (*out = strndup((const char *)file.data, file.size)) == NULL)
        status = sxt_fail_memory(&problem, file.size);
    sxt_file_close(&file);
    return status == SXT_OK ? SXT_OK : sxt_fail(error, status, SXT_NO_OFFSET, "%.100s: %s", path, problem.text);
}

/* Paths and parameters are decoded by routing.c. */
static size_t keep_escapes(void *data, struct MHD_Connection *connection, char *text)
{
    (void)data;
    (void)connection;
    return strlen(text);
}

static void log_library(void *data, const char *format, va_list list) __attribute__((format(printf, 2, 0)));

/* What libmicrohttpd says is about clients that do strange things; it is not worth more than a few lines a second. */
static void log_library(void *data, const char *format, va_list list)
{
    static _Atomic uint64_t budget; /* second << 8 | lines */
    struct server *server = data;
    struct sxt_service *service = &server->service;
    struct timespec now;
    if (!atomic_load(&server->is_started)) {
        if (*server->problem == 0)
            vsnprintf(server->problem, sizeof server->problem, format, list);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t before = atomic_load(&budget), second = (uint64_t)now.tv_sec;
    uint64_t lines = before >> 8 == second ? (before & 255) + 1 : 0;
    if (lines > 10)
        return;
    atomic_store(&budget, second << 8 | lines);
    sxt_log_message_list(service->log, "info", NULL, format, list);
}

static int start_daemon(struct server *server, sxt_error *error)
{
    struct sxt_service *service = &server->service;
    const struct sxt_service_options *options = &service->options;
    unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET;
    struct MHD_OptionItem more[8];
    size_t count = 0;
    if (options->threads > 1)
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, options->threads, NULL};
    if (options->tls_cert != NULL) {
        int status = read_tls_file(options->tls_cert, &server->tls_cert_text, error);
        if (status == SXT_OK)
            status = read_tls_file(options->tls_key, &server->tls_key_text, error);
        if (status != SXT_OK)
            return status;
        if (service->mhd.has_feature(MHD_FEATURE_TLS) != MHD_YES)
            return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "this libmicrohttpd has no TLS");
        flags |= MHD_USE_TLS;
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, server->tls_cert_text};
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, server->tls_key_text};
    }
    more[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    service->daemon = service->mhd.start(
        flags, 0, NULL, NULL, sxt_exchange_handle, service, MHD_OPTION_EXTERNAL_LOGGER, log_library, server,
        MHD_OPTION_NOTIFY_COMPLETED, sxt_exchange_completed, service, MHD_OPTION_NOTIFY_CONNECTION,
        sxt_connections_notify, service, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(options->connection_limit + 1024) * options->threads, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)options->timeout_seconds + LATER, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_ROOM,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, CONNECTION_STEP, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY,
        more, MHD_OPTION_END);
    if (service->daemon == NULL)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "cannot start libmicrohttpd: %.*s",
                        (int)strcspn(server->problem, "\n"), server->problem);
    atomic_store(&server->is_started, true);
    return sxt_acceptor_start(service, server->listen.descriptor, &server->acceptor, error);
}

/* --- serving --- */

static void reload(struct sxt_service *service)
{
    sxt_error error;
    if (service->keys == NULL)
        return;
    if (sxt_keys_reload(service->keys, &error) != SXT_OK)
        sxt_log_message(service->log, "error", NULL, "%s: %s; the keys stay as they were",
                        service->options.api_key_file, error.text);
    else
        sxt_log_message(service->log, "info", NULL, "%s: %zu keys read", service->options.api_key_file,
                        sxt_keys_count(service->keys));
}

/* Waits for a signal, at most MILLISECONDS; 0: none came. */
static int wait_signal(const sigset_t *signals, long milliseconds)
{
    const struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    int number = sigtimedwait(signals, NULL, &time);
    return number > 0 && number != SIGPIPE ? number : 0;
}

static void serve(struct server *server, const sigset_t *signals)
{
    struct sxt_service *service = &server->service;
    char line[128];
    int size = snprintf(line, sizeof line, "listening on %s://%s\n",
                        service->options.tls_cert != NULL ? "https" : "http", server->listen.address);
    if (write(STDOUT_FILENO, line, (size_t)size) != size)
        sxt_log_message(service->log, "warning", NULL, "cannot write the address to standard output");
    if (service->keys == NULL)
        sxt_log_message(service->log, "warning", NULL,
                        "no keys are given: everybody on this machine may read, upload and remove");
    sxt_log_message(service->log, "info", NULL, "listening on %s", server->listen.address);
    sxt_notify("READY=1");
    for (unsigned tick = 0;; tick++) {
        int number = wait_signal(signals, TICK_MS);
        if (number == SIGHUP)
            reload(service);
        else if (number != 0)
            break;
        sxt_log_flush(service->log);
        sxt_upstream_tick(service->upstream);
        if (tick % (1000 / TICK_MS) == 0)
            sxt_connections_check(service->connections);
    }
}

/* --- ending --- */

/* Waits until no request is active. False after LIMIT milliseconds, or if a signal comes meanwhile. */
static bool wait_idle(struct sxt_service *service, const sigset_t *signals, uint64_t limit)
{
    uint64_t idle = 0;
    for (uint64_t waited = 0; waited < limit && idle < SETTLE_MS; waited += 10) {
        idle = atomic_load(&service->active) == 0 ? idle + 10 : 0;
        int number = wait_signal(signals, 10);
        if (number == SIGTERM || number == SIGINT)
            return false;
        if (waited % 100 == 0)
            sxt_log_flush(service->log);
    }
    return idle >= SETTLE_MS;
}

/* False if there are requests that do not end. */
static bool drain(struct server *server, const sigset_t *signals)
{
    struct sxt_service *service = &server->service;
    sxt_notify("STOPPING=1");
    sxt_log_message(service->log, "info", NULL, "ending: no new connections, %u requests are finished",
                    atomic_load(&service->active));
    sxt_log_flush(service->log);
    atomic_store(&service->is_draining, true);
    sxt_upstream_cancel(service->upstream);
    sxt_acceptor_stop(&server->acceptor);
    close(server->listen.descriptor);
    server->listen.descriptor = -1;
    if (!wait_idle(service, signals, (uint64_t)service->options.drain_seconds * 1000)) {
        atomic_store(&service->is_stopping, true);
        sxt_connections_cut_clients(service->connections);
        if (!wait_idle(service, signals, STUCK_MS))
            return false;
    }
    atomic_store(&service->is_stopping, true);
    service->mhd.stop(service->daemon);
    service->daemon = NULL;
    sxt_log_message(service->log, "info", NULL, "ended");
    return true;
}

static void close_parts(struct server *server)
{
    struct sxt_service *service = &server->service;
    atomic_store(&service->is_stopping, true);
    sxt_acceptor_stop(&server->acceptor);
    if (service->daemon != NULL)
        service->mhd.stop(service->daemon);
    sxt_upstream_close(&service->upstream);
    sxt_sweeper_stop(&server->sweeper);
    sxt_workers_stop(&service->workers);
    sxt_connections_close(&service->connections);
    sxt_http_pool_close(&service->forward);
    sxt_catalog_close(&service->catalog);
    sxt_store_close(&service->store);
    sxt_metrics_close(&service->metrics);
    sxt_sessions_close(&service->sessions);
    sxt_pages_close(&service->pages);
    sxt_keys_close(&service->keys);
    sxt_log_close(&service->log);
    if (server->listen.descriptor >= 0)
        close(server->listen.descriptor);
    free(server->tls_cert_text);
    if (server->tls_key_text != NULL)
        explicit_bzero(server->tls_key_text, strlen(server->tls_key_text));
    free(server->tls_key_text);
}
