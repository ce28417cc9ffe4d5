/* Tests of base/http.c and http_pool.c with a small server in a thread of this process. */
#include "base/http.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/http_pool.h"
#include "support/folder.h"
#include "support/test.h"

static struct sxt_http *http;
static sxt_error error;
static int listener;
static char url[64];
static pthread_t server;
static _Atomic int connections, requests;

/*
 * The server answers with the request line and the body. Paths: /slow never answers, /cut sends less than it says,
 * /none closes the connection, /NUMBER answers with that status.
 */
static bool answer(int client, char *request, size_t head_size)
{
    char path[200] = "", method[20] = "", reply[5000];
    sscanf(request, "%19s %199s", method, path);
    requests++;
    if (strcmp(path, "/none") == 0)
        return false;
    if (strcmp(path, "/slow") == 0) {
        char byte;
        return recv(client, &byte, 1, 0) > 0;
    }
    int status = atoi(path + 1) > 0 ? atoi(path + 1) : 200;
    char body[4000];
    int size = snprintf(body, sizeof body, "%s %s %s", method, path, request + head_size);
    int head = snprintf(reply, sizeof reply,
                        "HTTP/1.1 %d X\r\nContent-Length: %d\r\nX-One:  a b \r\nx-two: 1\r\nX-TWO: 2\r\n%s\r\n", status,
                        strcmp(path, "/cut") == 0 ? size + 1 : size, status == 503 ? "Retry-After: 7\r\n" : "");
    if (strcmp(method, "HEAD") != 0)
        head += snprintf(reply + head, sizeof reply - (size_t)head, "%s", body);
    return send(client, reply, (size_t)head, MSG_NOSIGNAL) == head && strcmp(path, "/cut") != 0;
}

static void *serve_client(void *context)
{
    int client = (int)(intptr_t)context;
    char request[3000];
    size_t size = 0;
    for (;;) {
        ssize_t count = recv(client, request + size, sizeof request - 1 - size, 0);
        if (count <= 0)
            break;
        size += (size_t)count;
        request[size] = 0;
        char *end = strstr(request, "\r\n\r\n");
        const char *length = strcasestr(request, "content-length:");
        size_t body = length != NULL ? strtoul(length + 15, NULL, 10) : 0;
        if (end == NULL || size < (size_t)(end + 4 - request) + body)
            continue;
        if (!answer(client, request, (size_t)(end + 4 - request)))
            break;
        size = 0;
    }
    close(client);
    return NULL;
}

static void *serve(void *unused)
{
    int client;
    while ((client = accept(listener, NULL, NULL)) >= 0) {
        pthread_t thread;
        connections++;
        if (pthread_create(&thread, NULL, serve_client, (void *)(intptr_t)client) != 0)
            return unused;
        pthread_detach(thread);
    }
    return unused;
}

SET_UP()
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    unsetenv("ALL_PROXY");
    connections = requests = 0;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 50), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
    assert_int_equal(sxt_http_open(&http, &error), SXT_OK);
}

TEAR_DOWN()
{
    sxt_http_close(&http);
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listener);
}

static const char *at(const char *path)
{
    static char whole[300];
    snprintf(whole, sizeof whole, "%s%s", url, path);
    return whole;
}

static void assert_text(const struct sxt_buffer *buffer, const char *expected)
{
    assert_int_equal(buffer->size, strlen(expected));
    assert_memory_equal(buffer->data, expected, buffer->size);
}

TEST(sends_every_method)
{
    const struct {
        const char *method, *body, *expected;
    } all[] = {
        {"GET", NULL, "GET /x "},       {"HEAD", NULL, ""},         {"DELETE", NULL, "DELETE /x "},
        {"PUT", "abc", "PUT /x abc"},   {"PUT", NULL, "PUT /x "},   {"POST", "defg", "POST /x defg"},
        {NULL, "defg", "POST /x defg"}, {"POST", NULL, "POST /x "},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sxt_buffer body;
        sxt_buffer_init(&body, 1000);
        struct sxt_http_answer got = {.body = &body};
        const struct sxt_http_request request = {.url = at("/x"),
                                                 .method = all[i].method,
                                                 .body = all[i].body,
                                                 .size = all[i].body != NULL ? strlen(all[i].body) : 0};
        if (sxt_http_send(http, &request, &got, &error) != SXT_OK)
            fail_msg("%s", error.text);
        assert_int_equal(got.status, 200);
        assert_false(got.again);
        assert_text(&body, all[i].expected);
        sxt_buffer_free(&body);
    }
    assert_int_equal(connections, 1);
}

TEST(sends_a_part_of_a_file)
{
    char folder[SXT_TEST_FOLDER_MAX], path[SXT_TEST_FOLDER_MAX + 10];
    sxt_test_make_folder(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    sxt_test_put_file(path, "0123456789", 10);
    FILE *file = fopen(path, "rb");
    struct sxt_buffer body;
    sxt_buffer_init(&body, 1000);
    struct sxt_http_answer got = {.body = &body};
    struct sxt_http_request request = {
        .url = at("/x"), .method = "PUT", .body_is_file = true, .file = fileno(file), .offset = 3, .size = 4};
    assert_int_equal(sxt_http_send(http, &request, &got, &error), SXT_OK);
    assert_text(&body, "PUT /x 3456");
    request.offset = 8;
    assert_int_not_equal(sxt_http_send(http, &request, &got, &error), SXT_OK);
    sxt_buffer_free(&body);
    fclose(file);
    sxt_test_remove_folder(folder);
}

static bool take_three(void *data, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)data += size;
    return size <= 3;
}

TEST(good_answers_go_to_the_sink_and_others_to_the_body)
{
    size_t taken = 0;
    struct sxt_buffer body;
    sxt_buffer_init(&body, 5);
    struct sxt_http_answer got = {.sink = take_three, .sink_data = &taken, .body = &body};
    struct sxt_http_request request = {.url = at("/404"), .method = "GET"};
    assert_int_equal(sxt_http_send(http, &request, &got, &error), SXT_OK);
    assert_int_equal(got.status, 404);
    assert_true(got.full);
    assert_text(&body, "GET /");
    assert_int_equal(taken, 0);
    request.url = at("/200");
    assert_int_equal(sxt_http_send(http, &request, &got, &error), SXT_ERROR_IO);
    assert_true(taken > 3);
    assert_false(got.again);
    sxt_buffer_free(&body);
}

TEST(an_answer_above_the_limit_fails)
{
    struct sxt_buffer body;
    sxt_buffer_init(&body, 5);
    struct sxt_http_answer got = {.body = &body};
    const struct sxt_http_request request = {.url = at("/x"), .method = "GET"};
    assert_int_equal(sxt_http_send(http, &request, &got, &error), SXT_ERROR_LIMIT);
    assert_true(got.full);
    assert_non_null(strstr(error.text, "limit of 5 bytes"));
    sxt_buffer_free(&body);
}

TEST(reads_headers)
{
    char value[20];
    struct sxt_buffer headers;
    sxt_buffer_init(&headers, 1000);
    struct sxt_http_answer got = {.headers = &headers};
    const struct sxt_http_request request = {.url = at("/x"), .method = "HEAD"};
    assert_int_equal(sxt_http_send(http, &request, &got, &error), SXT_OK);
    assert_true(sxt_http_find_header(&headers, "x-one", value, sizeof value));
    assert_string_equal(value, "a b");
    assert_true(sxt_http_find_header(&headers, "X-Two", value, sizeof value));
    assert_string_equal(value, "2");
    assert_false(sxt_http_find_header(&headers, "X-Three", value, sizeof value));
    assert_string_equal(value, "");
    assert_false(sxt_http_find_header(&headers, "X-One", value, 3));
    assert_string_equal(value, "");
    sxt_buffer_free(&headers);
}

TEST(says_what_may_be_over_soon)
{
    const struct {
        const char *path;
        int result;
        long status;
        bool again;
    } all[] = {{"/503", SXT_OK, 503, true},  {"/500", SXT_OK, 500, true},       {"/429", SXT_OK, 429, true},
               {"/408", SXT_OK, 408, true},  {"/404", SXT_OK, 404, false},      {"/501", SXT_OK, 501, false},
               {"/302", SXT_OK, 302, false}, {"/cut", SXT_ERROR_IO, 200, true}, {"/none", SXT_ERROR_IO, 0, true}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sxt_http_answer got = {0};
        const struct sxt_http_request request = {.url = at(all[i].path), .method = "GET"};
        assert_int_equal(sxt_http_send(http, &request, &got, &error), all[i].result);
        assert_int_equal(got.status, all[i].status);
        assert_int_equal(got.again, all[i].again);
        assert_int_equal(got.seconds, all[i].status == 503 ? 7 : 0);
    }
    struct sxt_http_answer got = {0};
    const struct sxt_http_request nowhere = {.url = "http://127.0.0.1:1/", .method = "GET"};
    assert_int_equal(sxt_http_send(http, &nowhere, &got, &error), SXT_ERROR_IO);
    assert_true(got.again);
    const struct sxt_http_request wrong = {.url = "file:///etc/passwd", .method = "GET"};
    assert_int_equal(sxt_http_send(http, &wrong, &got, &error), SXT_ERROR_IO);
    assert_false(got.again);
}

TEST(silence_ends_a_request)
{
    struct sxt_http_answer got = {0};
    const struct sxt_http_request request = {.url = at("/slow"), .method = "GET", .silence_seconds = 1};
    assert_int_equal(sxt_http_send(http, &request, &got, &error), SXT_ERROR_IO);
    assert_true(got.again);
}

static _Atomic bool stop;

static void *stop_soon(void *unused)
{
    while (requests == 0)
        usleep(1000);
    stop = true;
    return unused;
}

TEST(a_stop_ends_a_request_and_a_wait)
{
    pthread_t thread;
    struct sxt_http_answer got = {0};
    const struct sxt_http_request request = {.url = at("/slow"), .method = "GET", .stop = &stop};
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
    assert_int_equal(sxt_http_send(http, &request, &got, &error), SXT_ERROR_IO);
    pthread_join(thread, NULL);
    assert_false(got.again);
    assert_false(sxt_http_wait(1, 30, &stop));
    assert_true(sxt_http_wait(1, 0, NULL));
}

TEST(private_addresses_are_refused_if_asked_for)
{
    struct sxt_http_answer got = {0};
    const struct sxt_http_request request = {.url = at("/x"), .method = "GET", .public_only = true};
    assert_int_equal(sxt_http_send(http, &request, &got, &error), SXT_ERROR_IO);
    assert_non_null(strstr(error.text, "private address"));
    assert_false(got.again);
    assert_int_equal(connections, 0);
}

TEST(sends_many_at_once_over_few_connections)
{
    enum { COUNT = 60, PARALLEL = 5 };
    struct sxt_http_request all[COUNT];
    struct sxt_http_answer got[COUNT];
    struct sxt_buffer bodies[COUNT];
    char paths[COUNT][100];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s%zu", url, i == 7 ? "none" : "x", i == 7 ? 0 : i);
        if (i == 7)
            paths[i][strlen(paths[i]) - 1] = 0;
        all[i] = (struct sxt_http_request){.url = paths[i], .method = "GET"};
        sxt_buffer_init(&bodies[i], 1000);
        got[i] = (struct sxt_http_answer){.body = &bodies[i]};
    }
    assert_int_equal(sxt_http_send_many(http, all, got, COUNT, PARALLEL, &error), SXT_ERROR_IO);
    for (size_t i = 0; i < COUNT; i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "GET /x%zu ", i);
        assert_int_equal(got[i].result, i == 7 ? SXT_ERROR_IO : SXT_OK);
        if (i != 7)
            assert_text(&bodies[i], expected);
        sxt_buffer_free(&bodies[i]);
    }
    assert_true(connections <= 3 * PARALLEL);
    assert_int_equal(sxt_http_send_many(http, all, got, 0, PARALLEL, &error), SXT_OK);
}

static struct sxt_http_pool *pool;

static void *ask_often(void *good)
{
    for (int i = 0; i < 20; i++) {
        struct sxt_http *mine;
        struct sxt_http_answer got = {0};
        char place[100];
        snprintf(place, sizeof place, "%s/x", url);
        const struct sxt_http_request request = {.url = place, .method = "GET"};
        if (sxt_http_pool_take(pool, &mine, NULL) != SXT_OK)
            return NULL;
        int status = sxt_http_send(mine, &request, &got, NULL);
        sxt_http_pool_give(pool, mine);
        if (status != SXT_OK || got.status != 200)
            return NULL;
    }
    return good;
}

TEST(threads_share_a_pool)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    assert_int_equal(sxt_http_pool_open(&pool, &error), SXT_OK);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &pool), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    assert_int_equal(requests, THREADS * 20);
    assert_true(connections <= 2 * THREADS);
    sxt_http_pool_give(pool, NULL);
    sxt_http_pool_close(&pool);
    assert_null(pool);
}
