/*
 * service_hello.c: a bare libmicrohttpd server that answers GET with "hello": service_hello [THREADS]
 *
 * What the service is compared with. Prints its port, and serves until standard input ends.
 */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum MHD_Result answer(void *data, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **slot)
{
    static char text[] = "hello";
    (void)data, (void)url, (void)method, (void)version, (void)upload;
    if (*slot == NULL) {
        *slot = text;
        return MHD_YES;
    }
    *upload_size = 0;
    struct MHD_Response *response = MHD_create_response_from_buffer(5, text, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL,
                                                 MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    printf("%u\n", (unsigned)info->port);
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    MHD_stop_daemon(daemon);
    return 0;
}
