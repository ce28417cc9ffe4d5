/*
 * service_load.c: sends the same request over and over: service_load PORT CONNECTIONS SECONDS RATE METHOD PATH [BODY]
 *
 * One thread, keep-alive, one request at a time on each connection. RATE is in requests a second, spread evenly, or 0
 * for as many as possible. BODY is the name of a file. Prints a line of JSON: requests, seconds, failures (replies
 * other than 200), bytes, and the latencies p50 and p99 in microseconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REPLY_ROOM ((size_t)1 << 20)
#define HISTOGRAM  200000 /* microseconds */

struct client {
    int socket;
    bool is_busy;
    size_t used;   /* of the reply's head */
    uint64_t left; /* of the reply's body */
    bool in_body;
    size_t sent;
    double began;
};

static char *request;
static size_t request_size;
static uint64_t done, failed, bytes;
static uint32_t histogram[HISTOGRAM + 1];
static char room[REPLY_ROOM];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void make_request(const char *method, const char *path, const char *body_file)
{
    char *body = NULL;
    long size = 0;
    if (body_file != NULL) {
        FILE *file = fopen(body_file, "rb");
        if (file == NULL)
            die(body_file);
        fseek(file, 0, SEEK_END);
        size = ftell(file);
        rewind(file);
        body = malloc((size_t)size + 1);
        if (body == NULL || fread(body, 1, (size_t)size, file) != (size_t)size)
            die(body_file);
        fclose(file);
    }
    request = malloc((size_t)size + 1024);
    if (request == NULL)
        die("malloc");
    int head = snprintf(request, 1024, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, path);
    if (body != NULL)
        head += snprintf(request + head, 1024 - (size_t)head,
                         "Content-Type: application/json\r\nContent-Length: %ld\r\n", size);
    head += snprintf(request + head, 1024 - (size_t)head, "\r\n");
    if (body != NULL)
        memcpy(request + head, body, (size_t)size);
    request_size = (size_t)head + (size_t)size;
    free(body);
}

static void open_client(struct client *client, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client->socket, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(client->socket, F_SETFL, O_NONBLOCK);
}

static void send_more(struct client *client)
{
    while (client->sent < request_size) {
        ssize_t size = send(client->socket, request + client->sent, request_size - client->sent, MSG_NOSIGNAL);
        if (size < 0 && errno == EAGAIN)
            return;
        if (size <= 0)
            die("send");
        client->sent += (size_t)size;
    }
}

static void start(struct client *client, double began)
{
    client->is_busy = true;
    client->in_body = false;
    client->sent = client->used = 0;
    client->began = began;
    send_more(client);
}

static void finish(struct client *client)
{
    double us = (now() - client->began) * 1e6;
    histogram[us < HISTOGRAM ? (size_t)us : HISTOGRAM]++;
    done++;
    client->is_busy = false;
}

/* The head of a reply is complete in SIZE bytes at TEXT: how many bytes follow it. */
static uint64_t read_head(const char *text, size_t size)
{
    if (size < 12 || memcmp(text + 9, "200", 3) != 0)
        failed++;
    const char *length = memmem(text, size, "Content-Length: ", 16);
    if (length == NULL) {
        fprintf(stderr, "a reply without a length: %.*s\n", (int)size, text);
        exit(1);
    }
    return strtoull(length + 16, NULL, 10);
}

static void receive(struct client *client)
{
    ssize_t got = recv(client->socket, room, sizeof room, 0);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        die("recv");
    bytes += (uint64_t)got;
    size_t size = (size_t)got;
    if (!client->in_body) {
        /* The head of a reply fits in a packet. */
        char *end = memmem(room, size, "\r\n\r\n", 4);
        if (end == NULL) {
            fprintf(stderr, "a reply whose head is cut\n");
            exit(1);
        }
        size_t head = (size_t)(end + 4 - room);
        client->left = read_head(room, head);
        client->in_body = true;
        size -= head;
    }
    client->left -= size;
    if (client->left == 0)
        finish(client);
}

static unsigned percentile(double part)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= HISTOGRAM; i++)
        if ((double)(sum += histogram[i]) >= part * (double)done)
            return i;
    return HISTOGRAM;
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: service_load PORT CONNECTIONS SECONDS RATE METHOD PATH [BODY]\n");
        return 2;
    }
    int count = atoi(argv[2]);
    double seconds = atof(argv[3]), rate = atof(argv[4]);
    make_request(argv[5], argv[6], argc > 7 ? argv[7] : NULL);
    struct client *clients = calloc((size_t)count, sizeof *clients);
    int poll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        open_client(&clients[i], atoi(argv[1]));
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].socket, &event);
    }
    double begin = now(), end = begin + seconds;
    uint64_t started = 0;
    struct epoll_event events[256];
    for (double time = begin; time < end; time = now()) {
        /* With a rate, a request that is due waits for a free connection, and the wait counts. */
        for (int i = 0; i < count; i++) {
            double due = rate > 0 ? begin + (double)started / rate : time;
            if (clients[i].is_busy || due > time)
                continue;
            start(&clients[i], rate > 0 ? due : now());
            started++;
        }
        int ready = epoll_wait(poll, events, 256, rate > 0 ? 1 : 100);
        for (int i = 0; i < ready; i++) {
            struct client *client = &clients[events[i].data.u32];
            receive(client);
            if (client->is_busy && client->sent < request_size)
                send_more(client);
            if (!client->is_busy && rate == 0) {
                start(client, now());
                started++;
            }
        }
        for (int i = 0; i < count; i++)
            if (clients[i].is_busy && clients[i].sent < request_size)
                send_more(&clients[i]);
    }
    double took = now() - begin;
    printf("{\"requests\":%llu,\"seconds\":%.3f,\"requests_per_second\":%.0f,\"failures\":%llu,\"bytes\":%llu,"
           "\"p50_us\":%u,\"p99_us\":%u}\n",
           (unsigned long long)done, took, (double)done / took, (unsigned long long)failed, (unsigned long long)bytes,
           percentile(0.5), percentile(0.99));
    return 0;
}
