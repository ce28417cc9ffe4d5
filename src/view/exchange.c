/* exchange.c: the way of a request: checks, the item, its answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "view/server.h"

/* What is sent. */
struct answer {
    unsigned status;
    const char *type;
    const char *policy; /* of what the page may do; by default nothing */
    char location[512]; /* of another page, with status 302 */
    struct sxt_buffer body;
    const uint8_t *constant; /* instead of the body: bytes that live as long as the server */
    size_t constant_size;
};

/* A request while it is answered. */
struct exchange {
    struct sxt_view_server *server;
    struct MHD_Connection *connection;
    struct sxt_view_query query;
    const char *host;
    unsigned hosts;
    struct answer answer;
};

/* Pages have a stricter policy in a meta tag, with the hashes of their scripts; both hold. */
static const char page_policy[] =
    "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
static const char list_policy[] = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "
                                  "frame-ancestors 'none'";
static const char no_policy[] = "default-src 'none'; frame-ancestors 'none'";

static void refuse(struct exchange *exchange, unsigned status, const char *text)
{
    struct answer *answer = &exchange->answer;
    sxt_buffer_clear(&answer->body);
    answer->status = status;
    answer->type = "text/plain; charset=utf-8";
    answer->policy = no_policy;
    sxt_buffer_print(&answer->body, "%s\n", text);
}

/* --- the request --- */

static enum MHD_Result take_value(void *data, enum MHD_ValueKind kind, const char *key, size_t key_size,
                                  const char *value, size_t value_size)
{
    struct exchange *exchange = data;
    struct sxt_view_query *query = &exchange->query;
    if (key == NULL || strlen(key) != key_size || (value != NULL && strlen(value) != value_size))
        return MHD_YES; /* it has a zero byte: nothing is called like that */
    if (kind == MHD_HEADER_KIND && strcasecmp(key, "Host") == 0) {
        exchange->hosts++;
        exchange->host = value;
    }
    if (kind == MHD_GET_ARGUMENT_KIND && query->count < SXT_VIEW_PARAMETERS) {
        query->names[query->count] = key;
        query->values[query->count++] = value != NULL ? value : "";
    }
    return MHD_YES;
}

/* A page of another site can send requests here under a name of its own that leads to this address. */
static bool is_own_host(const struct sxt_view_server *server, const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *port = strrchr(server->listen.address, ':');
    if (host == NULL)
        return false;
    if (strcasecmp(host, server->listen.address) == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (strncasecmp(host, names[i], size) != 0)
            continue;
        if (strcmp(host + size, port) == 0 || (host[size] == 0 && strcmp(port, ":80") == 0))
            return true;
    }
    return false;
}

/* Takes the same time wherever the difference is. */
static bool is_token(const struct sxt_view_server *server, const char *text)
{
    unsigned difference = 0;
    size_t size = strnlen(text, SXT_VIEW_TOKEN);
    for (size_t i = 0; i < SXT_VIEW_TOKEN; i++)
        difference |= (unsigned)(server->token[i] ^ (i < size ? text[i] : 0));
    return difference == 0 && (text[SXT_VIEW_TOKEN] == '/' || text[SXT_VIEW_TOKEN] == 0);
}

/* A number at *AT, which is moved to its end. */
static bool take_number(const char **at, size_t *out)
{
    const char *start = *at;
    for (*out = 0; **at >= '0' && **at <= '9' && *at - start < 7; ++*at)
        *out = *out * 10 + (size_t)(**at - '0');
    return *at > start && (*start != '0' || *at == start + 1);
}

/* The item of a path like "3/..." or "0-3/..."; *REST is what is after the slash. */
static struct sxt_view_item *find_item(struct sxt_view_server *server, const char *path, const char **rest)
{
    size_t first, second;
    if (!take_number(&path, &first) || first >= server->item_count)
        return NULL;
    struct sxt_view_item *item = &server->items[first];
    if (*path == '-') {
        path++;
        if (!take_number(&path, &second) || second >= server->item_count)
            return NULL;
        item = sxt_view_items_pair(server, item, &server->items[second]);
    }
    if (*path != '/')
        return NULL;
    *rest = path + 1;
    return item;
}

/* --- answers --- */

static void send_page(struct exchange *exchange, const struct sxt_view_item *item)
{
    struct answer *answer = &exchange->answer;
    sxt_error error;
    if (sxt_view_shell_page(exchange->server, item, &exchange->query, &answer->body, &error) != SXT_OK) {
        refuse(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, error.text);
        return;
    }
    answer->type = "text/html; charset=utf-8";
    answer->policy = page_policy;
}

static void send_progress(struct exchange *exchange, struct sxt_view_item *item)
{
    struct sxt_json_writer json = sxt_json_writer_make(&exchange->answer.body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_number(&json, "done", atomic_load(&item->done));
    sxt_json_write_number(&json, "all", atomic_load(&item->all));
    sxt_json_write_end(&json, '}');
    exchange->answer.type = "application/json";
}

/* What a function of a kind has answered. False if that is a failure. */
static bool take_reply(struct exchange *exchange, int status, struct sxt_view_reply *reply, sxt_error *error)
{
    struct answer *answer = &exchange->answer;
    if (status == SXT_OK)
        status = sxt_buffer_status(&reply->body, error);
    answer->body = reply->body;
    if (status != SXT_OK) {
        refuse(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, error->text);
    } else if (reply->status != MHD_HTTP_OK) {
        char text[256];
        snprintf(text, sizeof text, "%.*s", (int)(answer->body.size < 250 ? answer->body.size : 250),
                 answer->body.size > 0 ? (const char *)answer->body.data : "");
        refuse(exchange, reply->status, *text != 0 ? text : "not found");
    } else if (reply->type != NULL) {
        answer->type = reply->type;
    }
    return status == SXT_OK && reply->status == MHD_HTTP_OK;
}

static void send_block(struct exchange *exchange, const struct sxt_page_block *block, bool is_constant)
{
    struct answer *answer = &exchange->answer;
    if (strcmp(block->name, "page") == 0)
        answer->type = "application/json";
    if (is_constant) {
        answer->constant = block->data;
        answer->constant_size = block->size;
    } else {
        sxt_buffer_append(&answer->body, block->data, block->size);
    }
}

/* The mutex of the item is held, and its page is made. */
static void send_made(struct exchange *exchange, struct sxt_view_item *item, const char *name)
{
    const struct sxt_view_kind *kind = item->kind;
    const struct sxt_page *chosen = NULL;
    struct sxt_view_reply reply = {.status = MHD_HTTP_OK, .body = exchange->answer.body};
    sxt_error error;
    if (item->before == NULL && kind->choose != NULL &&
        !take_reply(exchange, kind->choose(item, &exchange->query, &chosen, &reply, &error), &reply, &error))
        return;
    const struct sxt_page_block *block = sxt_page_find_block(chosen != NULL ? chosen : &item->page, name);
    reply = (struct sxt_view_reply){.status = MHD_HTTP_OK, .body = exchange->answer.body};
    if (block != NULL)
        send_block(exchange, block, chosen == NULL);
    else if (item->before == NULL && kind->answer != NULL)
        take_reply(exchange, kind->answer(item, name, &exchange->query, &reply, &error), &reply, &error);
    else
        refuse(exchange, MHD_HTTP_NOT_FOUND, "not found");
}

static void send_data(struct exchange *exchange, struct sxt_view_item *item, const char *name)
{
    sxt_error error;
    if (strcmp(name, "progress") == 0) {
        send_progress(exchange, item);
        return;
    }
    pthread_mutex_lock(&item->mutex);
    if (sxt_view_item_make(item, &error) != SXT_OK)
        refuse(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, error.text);
    else
        send_made(exchange, item, name);
    pthread_mutex_unlock(&item->mutex);
}

/* What changed between two files, in the first kind of page that can show it. */
static struct sxt_view_item *find_comparison(struct sxt_view_server *server, const struct sxt_view_item *before,
                                             const struct sxt_view_item *after)
{
    for (size_t i = after->number; i < server->item_count && server->items[i].path == after->path; i++)
        for (size_t j = before->number; j < server->item_count && server->items[j].path == before->path; j++) {
            struct sxt_view_item *pair = sxt_view_items_pair(server, &server->items[j], &server->items[i]);
            if (pair != NULL)
                return pair;
        }
    return NULL;
}

/* The page of /TOKEN/. */
static void send_root(struct exchange *exchange)
{
    struct sxt_view_server *server = exchange->server;
    const char *load = sxt_view_query_get(&exchange->query, "load_url");
    const char *before = sxt_view_query_get(&exchange->query, "before_url");
    struct sxt_view_item *item = load != NULL ? sxt_view_items_find(server, load) : NULL;
    struct sxt_view_item *other = before != NULL ? sxt_view_items_find(server, before) : NULL;
    if (load == NULL && before == NULL && server->options.path_count > 1) {
        sxt_view_shell_index(server, &exchange->answer.body);
        exchange->answer.type = "text/html; charset=utf-8";
        exchange->answer.policy = list_policy;
        return;
    }
    if (load == NULL && before == NULL)
        item = &server->items[0];
    if (load == NULL && before != NULL)
        refuse(exchange, MHD_HTTP_BAD_REQUEST, "before_url needs load_url");
    else if (item == NULL || (before != NULL && other == NULL))
        refuse(exchange, MHD_HTTP_NOT_FOUND, "not one of the files that sextant view was started with");
    else if (other != NULL && (item = find_comparison(server, other, item)) == NULL)
        refuse(exchange, MHD_HTTP_BAD_REQUEST, "these two files cannot be compared");
    else
        send_page(exchange, item);
}

/* PATH begins with "/TOKEN". */
static void send_found(struct exchange *exchange, const char *path)
{
    const char *rest = path + 1 + SXT_VIEW_TOKEN;
    struct sxt_view_item *item;
    if (*rest == 0 && sxt_view_query_get(&exchange->query, "load_url") != NULL) {
        send_root(exchange); /* its links do not depend on the path */
    } else if (*rest == 0) {
        exchange->answer.status = MHD_HTTP_FOUND;
        snprintf(exchange->answer.location, sizeof exchange->answer.location, "/%s/", exchange->server->token);
    } else if (rest[1] == 0) {
        send_root(exchange);
    } else if ((item = find_item(exchange->server, rest + 1, &rest)) == NULL) {
        refuse(exchange, MHD_HTTP_NOT_FOUND, "not found");
    } else if (*rest == 0) {
        send_page(exchange, item);
    } else if (strncmp(rest, "data/", 5) == 0) {
        send_data(exchange, item, rest + 5);
    } else {
        refuse(exchange, MHD_HTTP_NOT_FOUND, "not found");
    }
}

static void answer_request(struct exchange *exchange, const char *url, const char *method)
{
    struct sxt_view_server *server = exchange->server;
    server->mhd.connection_values(exchange->connection, MHD_HEADER_KIND, take_value, exchange);
    server->mhd.connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, take_value, exchange);
    if (exchange->hosts != 1 || !is_own_host(server, exchange->host))
        refuse(exchange, MHD_HTTP_FORBIDDEN, "the Host of the request is not this server");
    else if (*url != '/' || !is_token(server, url + 1))
        refuse(exchange, MHD_HTTP_FORBIDDEN, "the token is missing or wrong: use the URL that sextant view printed");
    else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        refuse(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered");
    else
        send_found(exchange, url);
}

static struct MHD_Response *make_response(const struct sxt_mhd *mhd, struct answer *answer)
{
    struct MHD_Response *response;
    if (answer->constant != NULL)
        return mhd->response_static(answer->constant_size, (void *)(uintptr_t)answer->constant, MHD_RESPMEM_PERSISTENT);
    if (answer->body.size == 0)
        return mhd->response_static(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    response = mhd->response_static(answer->body.size, answer->body.data, MHD_RESPMEM_MUST_FREE);
    if (response != NULL)
        sxt_buffer_init(&answer->body, SIZE_MAX); /* its memory belongs to the response */
    return response;
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
    const struct sxt_mhd *mhd = &exchange->server->mhd;
    struct answer *answer = &exchange->answer;
    struct MHD_Response *response = make_response(mhd, answer);
    if (response == NULL)
        return MHD_NO;
    const char *const headers[][2] = {
        {"Content-Type", answer->type},
        {"Content-Security-Policy", answer->policy},
        {"Cache-Control", "no-store"},
        {"Referrer-Policy", "no-referrer"},
        {"X-Content-Type-Options", "nosniff"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        mhd->add_header(response, headers[i][0], headers[i][1]);
    if (*answer->location != 0)
        mhd->add_header(response, "Location", answer->location);
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        mhd->add_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = mhd->queue(exchange->connection, answer->status, response);
    mhd->release(response);
    return result;
}

enum MHD_Result sxt_view_handle(void *data, struct MHD_Connection *connection, const char *url, const char *method,
                                const char *version, const char *upload, size_t *upload_size, void **state)
{
    (void)version;
    (void)upload;
    static char begun;
    /* It is called when the head of a request was read, and again at its end. Bodies of uploads are not waited for. */
    bool has_body = strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
    if (*state == NULL && !has_body) {
        *state = &begun;
        return MHD_YES;
    }
    if (*upload_size != 0 && !has_body) {
        *upload_size = 0;
        return MHD_YES;
    }
    struct exchange exchange = {
        .server = data,
        .connection = connection,
        .answer = {.status = MHD_HTTP_OK, .type = "application/octet-stream", .policy = no_policy},
    };
    sxt_buffer_init(&exchange.answer.body, SIZE_MAX);
    atomic_fetch_add(&exchange.server->active, 1);
    answer_request(&exchange, url, method);
    enum MHD_Result result = send_answer(&exchange);
    sxt_buffer_free(&exchange.answer.body);
    atomic_fetch_sub(&exchange.server->active, 1);
    return result;
}
