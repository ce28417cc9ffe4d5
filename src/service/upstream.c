/*
 * upstream.c: which fetches are under way, and who waits for them.
 *
 * One lock guards flights, visits, breakers and the memory of recent outcomes; it is never held while something waits.
 *
 *     flight    a file that is being fetched, for one tenant
 *     visit     what a request asked for: a node for each flight, or for an outcome that was known already
 */
#include "service/upstream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "base/sha256.h"
#include "service/exchange.h"
#include "service/log.h"
#include "service/upstream_breaker.h"
#include "service/upstream_fetch.h"
#include "service/upstream_private.h"

#define THREADS     8
#define FLIGHTS_MAX 1024
#define NODES_MAX   256 /* files that a request may ask for */
#define HOPS_MAX    8   /* as debuginfod has it */
#define FOUND_MS    2000
#define AGENT_WORD  " via/"
#define AGENT_SIZE  17 /* digits, and a NUL */

enum node_state { WAITING, FOUND, MISSING, UNDECIDED, UNUSABLE, LATE };

/* What one request waits for. */
struct node {
    struct node *next; /* of the same flight */
    struct sxt_upstream_visit *visit;
    uint64_t hash;
    enum node_state state;
};

struct sxt_upstream_visit {
    struct sxt_request *request;
    struct sxt_upstream_visit *next, **place; /* in the list of those that are parked */
    int64_t deadline;
    unsigned pending;
    size_t count;
    struct node nodes[NODES_MAX];
};

struct flight {
    struct sxt_job job;
    struct flight *next;
    struct sxt_upstream *upstream;
    struct node *waiting;
    uint64_t hash;
    enum sxt_upstream_kind kind;
    struct sxt_catalog_id id;
    char uuid[37];
    char *tenant, *path, *agent, *forwarded; /* path: NULL if it is not a source file */
    char text[];
};

/* Outcomes that are remembered, at hash % MEMORY. */
#define MEMORY 16384
struct remembered {
    uint64_t hash;
    int64_t until;
    enum node_state state;
};

struct sxt_upstream {
    struct sxt_service *service;
    struct sxt_http_pool *pool;
    struct sxt_workers *workers;
    _Atomic bool is_cancelled;
    char token[AGENT_SIZE];
    pthread_mutex_t lock;
    struct flight *flights;
    size_t flight_count;
    struct sxt_upstream_visit *parked;
    size_t parked_count;
    uint64_t known; /* questions that were answered by an outcome that was known */
    struct remembered memory[MEMORY];
    struct sxt_upstream_server servers[];
};

static void fly(struct sxt_job *job);

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- opening and closing --- */

int sxt_upstream_check_url(const char *url, sxt_error *error)
{
    return sxt_fetch_is_server(url)
               ? SXT_OK
               : sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not the URL of a debuginfod server: '%.200s'", url);
}

static int copy_servers(struct sxt_upstream *upstream, sxt_error *error)
{
    const struct sxt_service_options *options = &upstream->service->options;
    for (size_t i = 0; i < options->upstream_count; i++) {
        struct sxt_upstream_server *server = &upstream->servers[i];
        size_t size = strlen(options->upstreams[i]), host_size;
        while (size > 0 && options->upstreams[i][size - 1] == '/')
            size--;
        server->url = strndup(options->upstreams[i], size);
        if (server->url == NULL)
            return sxt_fail_memory(error, size);
        const char *host = sxt_fetch_host(server->url, &host_size);
        if (asprintf(&server->name, "%.*s%s", (int)(strstr(server->url, "://") + 3 - server->url), server->url, host) <
            0) {
            server->name = NULL;
            return sxt_fail_memory(error, size);
        }
    }
    return SXT_OK;
}

int sxt_upstream_open(struct sxt_service *service, struct sxt_upstream **out, sxt_error *error)
{
    size_t count = service->options.upstream_count;
    struct sxt_upstream *upstream = *out = calloc(1, sizeof *upstream + count * sizeof *upstream->servers);
    uint64_t token = 0;
    if (upstream == NULL)
        return sxt_fail_memory(error, sizeof *upstream);
    upstream->service = service;
    pthread_mutex_init(&upstream->lock, NULL);
    if (getrandom(&token, sizeof token, 0) != sizeof token)
        token = service->uuid_start[1] * UINT64_C(0x9e3779b97f4a7c15);
    snprintf(upstream->token, sizeof upstream->token, "%016llx", (unsigned long long)token);
    int status = copy_servers(upstream, error);
    if (status == SXT_OK)
        status = sxt_http_pool_open(&upstream->pool, error);
    if (status == SXT_OK)
        status = sxt_workers_start(THREADS, &upstream->workers, error);
    if (status != SXT_OK)
        sxt_upstream_close(out);
    return status;
}

void sxt_upstream_close(struct sxt_upstream **pointer)
{
    struct sxt_upstream *upstream = *pointer;
    if (upstream == NULL)
        return;
    sxt_upstream_cancel(upstream);
    sxt_workers_stop(&upstream->workers);
    sxt_http_pool_close(&upstream->pool);
    for (size_t i = 0; i < upstream->service->options.upstream_count; i++) {
        free(upstream->servers[i].url);
        free(upstream->servers[i].name);
    }
    pthread_mutex_destroy(&upstream->lock);
    free(upstream);
    *pointer = NULL;
}

/* --- parking --- */

/* Takes VISIT out of the list; the caller has the lock, and resumes it later. */
static void unpark(struct sxt_upstream *upstream, struct sxt_upstream_visit *visit, struct sxt_upstream_visit **ready)
{
    *visit->place = visit->next;
    if (visit->next != NULL)
        visit->next->place = visit->place;
    visit->place = NULL;
    upstream->parked_count--;
    visit->next = *ready;
    *ready = visit;
}

static void resume(struct sxt_upstream_visit *ready)
{
    while (ready != NULL) {
        struct sxt_upstream_visit *next = ready->next; /* the request may be over soon */
        ready->next = NULL;
        sxt_exchange_resume(ready->request);
        ready = next;
    }
}

/* Settles a node, which is not in the list of its flight any more. */
static void settle(struct sxt_upstream *upstream, struct node *node, enum node_state state,
                   struct sxt_upstream_visit **ready)
{
    node->state = state;
    if (--node->visit->pending == 0 && node->visit->place != NULL)
        unpark(upstream, node->visit, ready);
}

/* A request stops waiting for all that has not come. */
static void give_up(struct sxt_upstream *upstream, struct sxt_upstream_visit *visit, struct sxt_upstream_visit **ready)
{
    for (struct flight *flight = upstream->flights; flight != NULL && visit->pending > 0; flight = flight->next)
        for (struct node **at = &flight->waiting; *at != NULL;) {
            struct node *node = *at;
            if (node->visit != visit) {
                at = &node->next;
                continue;
            }
            *at = node->next;
            settle(upstream, node, LATE, ready);
        }
}

bool sxt_upstream_park(struct sxt_request *request)
{
    struct sxt_upstream_visit *visit = request->upstream;
    struct sxt_upstream *upstream = request->service->upstream;
    if (visit == NULL)
        return false;
    pthread_mutex_lock(&upstream->lock);
    bool waits = visit->pending > 0 && !atomic_load(&upstream->is_cancelled);
    if (waits) {
        visit->next = upstream->parked;
        visit->place = &upstream->parked;
        if (visit->next != NULL)
            visit->next->place = &visit->next;
        upstream->parked = visit;
        upstream->parked_count++;
    } else if (visit->pending > 0) {
        struct sxt_upstream_visit *ready = NULL; /* it is not parked */
        give_up(upstream, visit, &ready);
    }
    pthread_mutex_unlock(&upstream->lock);
    return waits;
}

void sxt_upstream_leave(struct sxt_request *request)
{
    struct sxt_upstream_visit *visit = request->upstream, *ready = NULL;
    struct sxt_upstream *upstream = request->service->upstream;
    if (visit == NULL)
        return;
    pthread_mutex_lock(&upstream->lock);
    give_up(upstream, visit, &ready);
    pthread_mutex_unlock(&upstream->lock);
}

static void release_parked(struct sxt_upstream *upstream, int64_t now)
{
    struct sxt_upstream_visit *ready = NULL;
    pthread_mutex_lock(&upstream->lock);
    for (struct sxt_upstream_visit *visit = upstream->parked, *next; visit != NULL; visit = next) {
        next = visit->next;
        if (visit->deadline <= now)
            give_up(upstream, visit, &ready);
    }
    pthread_mutex_unlock(&upstream->lock);
    resume(ready);
}

void sxt_upstream_tick(struct sxt_upstream *upstream)
{
    if (upstream != NULL)
        release_parked(upstream, now_ms());
}

void sxt_upstream_cancel(struct sxt_upstream *upstream)
{
    if (upstream == NULL)
        return;
    atomic_store(&upstream->is_cancelled, true);
    release_parked(upstream, INT64_MAX);
}

/* --- memory --- */

static uint64_t hash_of(const char *tenant, const char *id, enum sxt_upstream_kind kind, const char *path)
{
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE], number = (uint8_t)kind;
    uint64_t result;
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, tenant, strlen(tenant) + 1);
    sxt_sha256_add(&hash, id, strlen(id) + 1);
    sxt_sha256_add(&hash, &number, 1);
    if (path != NULL)
        sxt_sha256_add(&hash, path, strlen(path));
    sxt_sha256_end(&hash, digest);
    memcpy(&result, digest, sizeof result);
    return result;
}

/* The caller has the lock. */
static void remember(struct sxt_upstream *upstream, uint64_t hash, enum node_state state, int64_t milliseconds)
{
    upstream->memory[hash % MEMORY] = (struct remembered){hash, now_ms() + milliseconds, state};
}

/* WAITING: nothing is remembered. The caller has the lock. */
static enum node_state recall(const struct sxt_upstream *upstream, uint64_t hash)
{
    const struct remembered *place = &upstream->memory[hash % MEMORY];
    return place->hash == hash && place->until > now_ms() ? place->state : WAITING;
}

/* How WHAT is called in a note in the store: debuginfo, executable, or a hash of the path of a source file. */
static void name_note(char out[20], enum sxt_upstream_kind kind, const char *path)
{
    if (kind == SXT_UPSTREAM_SOURCE)
        snprintf(out, 20, "%016llx", (unsigned long long)hash_of("", "", kind, path));
    else
        snprintf(out, 20, "%s", kind == SXT_UPSTREAM_DEBUGINFO ? "debuginfo" : "executable");
}

/* --- asking --- */

static unsigned count_words(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = text; at != NULL && (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

/* How many servers have passed this request on; HOPS_MAX if it is not to be passed on: also if this one was among them.
 */
static unsigned count_hops(const struct sxt_request *request, const char *token)
{
    const char *agent = sxt_request_header(request, "User-Agent");
    const char *forwarded = sxt_request_header(request, "X-Forwarded-For");
    char own[sizeof AGENT_WORD + AGENT_SIZE];
    snprintf(own, sizeof own, AGENT_WORD "%s", token);
    if (agent != NULL && strstr(agent, own) != NULL)
        return HOPS_MAX;
    unsigned hops = agent != NULL ? count_words(agent, AGENT_WORD) : 0;
    unsigned addresses = forwarded != NULL && *forwarded != 0 ? 1 + count_words(forwarded, ",") : 0;
    hops = hops > addresses ? hops : addresses;
    return hops < HOPS_MAX ? hops : HOPS_MAX;
}

static const char *reason_of(enum node_state state)
{
    switch (state) {
    case MISSING:
        return "the upstream servers do not have more";
    case UNUSABLE:
        return "what the upstream servers have cannot be used";
    case UNDECIDED:
        return "the upstream servers cannot be asked now";
    case LATE:
        return "the upstream servers have not answered yet";
    case WAITING:
    case FOUND:
        break;
    }
    return NULL;
}

static enum sxt_upstream_answer answer_of(struct sxt_request *request, enum node_state state)
{
    if (state == WAITING)
        return SXT_UPSTREAM_WAIT;
    if (request->missing == NULL)
        request->missing = reason_of(state);
    return SXT_UPSTREAM_NOTHING;
}

static struct sxt_upstream_visit *visit_of(struct sxt_request *request, unsigned hops)
{
    struct sxt_upstream_visit *visit = request->upstream;
    if (visit != NULL)
        return visit;
    visit = request->upstream = sxt_request_alloc(request, sizeof *visit);
    if (visit == NULL)
        return NULL;
    visit->request = request;
    visit->next = NULL;
    visit->place = NULL;
    visit->pending = 0;
    visit->count = 0;
    /* Two servers that ask each other for the same file at the same moment must not wait for each other for long. */
    visit->deadline = now_ms() + (int64_t)request->service->options.upstream_wait_seconds * 1000 / (hops > 0 ? 2 : 1);
    return visit;
}

static struct node *find_node(struct sxt_upstream_visit *visit, uint64_t hash)
{
    for (size_t i = 0; i < visit->count; i++)
        if (visit->nodes[i].hash == hash)
            return &visit->nodes[i];
    return NULL;
}

static struct node *add_node(struct sxt_upstream_visit *visit, uint64_t hash, enum node_state state)
{
    if (visit->count == NODES_MAX)
        return NULL;
    struct node *node = &visit->nodes[visit->count++];
    *node = (struct node){.visit = visit, .hash = hash, .state = state};
    return node;
}

/* "User-Agent: sextant/1.0 via/… via/…": debuginfod passes it on, so a request that comes back is recognised. */
static struct flight *make_flight(struct sxt_upstream *upstream, const struct sxt_request *request, unsigned hops,
                                  const char *path)
{
    const char *agent = sxt_request_header(request, "User-Agent");
    const char *words = agent != NULL ? strstr(agent, AGENT_WORD) : NULL;
    size_t tenant_size = strlen(request->tenant) + 1, path_size = path != NULL ? strlen(path) + 1 : 0;
    size_t words_size = words != NULL ? strnlen(words, (AGENT_SIZE + sizeof AGENT_WORD) * HOPS_MAX) : 0;
    size_t agent_size = 128 + words_size, forwarded_size = 32 + HOPS_MAX * 16;
    struct flight *flight = calloc(1, sizeof *flight + tenant_size + path_size + agent_size + forwarded_size);
    if (flight == NULL)
        return NULL;
    char *at = flight->text;
    flight->upstream = upstream;
    flight->job.run = fly;
    flight->tenant = memcpy(at, request->tenant, tenant_size);
    at += tenant_size;
    if (path != NULL)
        flight->path = memcpy(at, path, path_size);
    at += path_size;
    flight->agent = at;
    snprintf(at, agent_size, "User-Agent: sextant/" SXT_VERSION "%.*s" AGENT_WORD "%s", (int)words_size,
             words_size > 0 ? words : "", upstream->token);
    at += agent_size;
    /* How far it has come matters, not from whom. */
    flight->forwarded = at;
    strcpy(at, "X-Forwarded-For: unknown");
    for (unsigned i = 0; i < hops; i++)
        strcat(at, ", unknown");
    memcpy(flight->uuid, request->uuid, sizeof flight->uuid);
    return flight;
}

/* Can any server be asked? The caller has the lock. */
static bool has_server(const struct sxt_upstream *upstream)
{
    for (size_t i = 0; i < upstream->service->options.upstream_count; i++)
        if (sxt_breaker_would_admit(&upstream->servers[i].breaker, now_ms()))
            return true;
    return false;
}

static struct flight *find_flight(struct sxt_upstream *upstream, uint64_t hash)
{
    struct flight *flight = upstream->flights;
    while (flight != NULL && flight->hash != hash)
        flight = flight->next;
    return flight;
}

/* Joins a flight, or takes *FRESH for one. The caller has the lock. */
static enum node_state join(struct sxt_upstream *upstream, struct sxt_upstream_visit *visit, uint64_t hash,
                            struct flight **fresh)
{
    enum node_state known = recall(upstream, hash);
    struct flight *flight = find_flight(upstream, hash);
    if (known != WAITING || atomic_load(&upstream->is_cancelled) ||
        (flight == NULL && (upstream->flight_count >= FLIGHTS_MAX || !has_server(upstream) || *fresh == NULL)))
        return known != WAITING ? known : UNDECIDED;
    if (flight == NULL) {
        flight = *fresh;
        *fresh = NULL;
        flight->next = upstream->flights;
        upstream->flights = flight;
        upstream->flight_count++;
        sxt_workers_post(upstream->workers, &flight->job); /* it has room for more than FLIGHTS_MAX */
    }
    struct node *node = find_node(visit, hash);
    node->next = flight->waiting;
    flight->waiting = node;
    visit->pending++;
    return WAITING;
}

/* Was it noted in the store? Any server may have done that. */
static bool is_noted(struct sxt_upstream *upstream, const struct sxt_request *request, const struct sxt_catalog_id *id,
                     enum sxt_upstream_kind kind, const char *path, uint64_t hash)
{
    char what[20];
    uint64_t left = 0;
    name_note(what, kind, path);
    if (sxt_catalog_is_missing(upstream->service->catalog, request->tenant, id, what,
                               upstream->service->options.upstream_recheck_seconds, &left, NULL) != SXT_OK ||
        left == 0)
        return false;
    pthread_mutex_lock(&upstream->lock);
    remember(upstream, hash, MISSING, (int64_t)left * 1000);
    pthread_mutex_unlock(&upstream->lock);
    return true;
}

static enum node_state ask(struct sxt_upstream *upstream, struct sxt_upstream_visit *visit, unsigned hops,
                           const struct flight *wanted)
{
    struct sxt_request *request = visit->request;
    if (now_ms() >= visit->deadline)
        return LATE;
    if (is_noted(upstream, request, &wanted->id, wanted->kind, wanted->path, wanted->hash))
        return MISSING;
    struct flight *fresh = make_flight(upstream, request, hops, wanted->path);
    if (fresh != NULL) {
        fresh->hash = wanted->hash;
        fresh->kind = wanted->kind;
        fresh->id = wanted->id;
    }
    pthread_mutex_lock(&upstream->lock);
    enum node_state state = join(upstream, visit, wanted->hash, &fresh);
    pthread_mutex_unlock(&upstream->lock);
    free(fresh);
    return state;
}

enum sxt_upstream_answer sxt_upstream_ask(struct sxt_request *request, const struct sxt_catalog_id *build_id,
                                          enum sxt_upstream_kind kind, const char *path)
{
    struct sxt_upstream *upstream = request->service->upstream;
    unsigned hops;
    if (upstream == NULL || (hops = count_hops(request, upstream->token)) == HOPS_MAX)
        return SXT_UPSTREAM_NOTHING;
    const struct flight wanted = {
        .hash = hash_of(request->tenant, build_id->text, kind, path),
        .id = *build_id,
        .kind = kind,
        .path = (char *)(uintptr_t)path,
    };
    struct sxt_upstream_visit *visit = request->upstream;
    pthread_mutex_lock(&upstream->lock);
    struct node *node = visit != NULL ? find_node(visit, wanted.hash) : NULL;
    enum node_state state = node != NULL ? node->state : recall(upstream, wanted.hash);
    bool is_known = node == NULL && state != WAITING;
    upstream->known += is_known;
    pthread_mutex_unlock(&upstream->lock);
    /* What has just arrived is looked for again, by a thread that may wait. */
    if (node != NULL || (is_known && state != FOUND))
        return answer_of(request, state);
    if (!request->may_wait)
        return SXT_UPSTREAM_WAIT;
    visit = visit_of(request, hops);
    if (visit == NULL || (node = add_node(visit, wanted.hash, state)) == NULL)
        return answer_of(request, UNDECIDED);
    if (state == FOUND)
        return SXT_UPSTREAM_AGAIN;
    state = ask(upstream, visit, hops, &wanted);
    if (state != WAITING) /* otherwise another thread may have settled it already */
        node->state = state;
    return state == FOUND ? SXT_UPSTREAM_AGAIN : answer_of(request, state);
}

bool sxt_upstream_is_undecided(const struct sxt_request *request)
{
    const struct sxt_upstream_visit *visit = request->upstream;
    for (size_t i = 0; visit != NULL && i < visit->count; i++)
        if (visit->nodes[i].state == UNDECIDED || visit->nodes[i].state == LATE)
            return true;
    return false;
}

/* --- fetching --- */

/* One server. */
static void fetch_from(struct flight *flight, struct sxt_upstream_server *server, struct sxt_fetch *fetch)
{
    struct sxt_upstream *upstream = flight->upstream;
    const char *const headers[] = {flight->agent, flight->forwarded};
    int64_t began = now_ms();
    *fetch = (struct sxt_fetch){
        .service = upstream->service,
        .pool = upstream->pool,
        .server = server->url,
        .tenant = flight->tenant,
        .id = &flight->id,
        .kind = flight->kind,
        .path = flight->path,
        .headers = headers,
        .header_count = sizeof headers / sizeof *headers,
        .stop = &upstream->is_cancelled,
    };
    sxt_fetch_run(fetch);
    const int64_t now = now_ms();
    enum sxt_breaker_report report = SXT_BREAKER_GOOD;
    if (fetch->outcome == SXT_FETCH_ENDED)
        report = SXT_BREAKER_NEITHER;
    else if (fetch->outcome == SXT_FETCH_FAILED || fetch->is_servers_fault)
        report = SXT_BREAKER_BAD;
    pthread_mutex_lock(&upstream->lock);
    sxt_breaker_report(&server->breaker, report, now,
                       (int64_t)upstream->service->options.upstream_pause_seconds * 1000);
    sxt_upstream_count(server, fetch, now - began);
    pthread_mutex_unlock(&upstream->lock);
    sxt_upstream_log(upstream->service->log, flight->uuid, server, fetch, now - began);
}

/* Asks all servers until one has the file. */
static enum node_state fetch_any(struct flight *flight)
{
    struct sxt_upstream *upstream = flight->upstream;
    bool is_undecided = false, is_unusable = false;
    struct sxt_fetch fetch;
    for (size_t i = 0; i < upstream->service->options.upstream_count; i++) {
        struct sxt_upstream_server *server = &upstream->servers[i];
        pthread_mutex_lock(&upstream->lock);
        bool is_admitted = sxt_breaker_admit(&server->breaker, now_ms());
        server->skipped += !is_admitted;
        pthread_mutex_unlock(&upstream->lock);
        if (atomic_load(&upstream->is_cancelled))
            return UNDECIDED;
        if (!is_admitted) {
            is_undecided = true;
            continue;
        }
        fetch_from(flight, server, &fetch);
        if (fetch.outcome == SXT_FETCH_FOUND)
            return FOUND;
        is_unusable |= fetch.outcome == SXT_FETCH_UNUSABLE;
        is_undecided |= fetch.outcome != SXT_FETCH_UNUSABLE && fetch.outcome != SXT_FETCH_MISSING;
    }
    return is_undecided ? UNDECIDED : is_unusable ? UNUSABLE : MISSING;
}

static void note_missing(const struct flight *flight)
{
    struct sxt_service *service = flight->upstream->service;
    char what[20];
    sxt_error error;
    name_note(what, flight->kind, flight->path);
    if (sxt_catalog_note_missing(service->catalog, flight->tenant, &flight->id, what, &error) != SXT_OK)
        sxt_log_message(service->log, "warning", flight->uuid, "cannot note what upstream servers do not have: %s",
                        error.text);
}

static void fly(struct sxt_job *job)
{
    struct flight *flight = (struct flight *)(void *)job;
    struct sxt_upstream *upstream = flight->upstream;
    const struct sxt_service_options *options = &upstream->service->options;
    struct sxt_upstream_visit *ready = NULL;
    enum node_state state = fetch_any(flight);
    if (state == MISSING)
        note_missing(flight);
    pthread_mutex_lock(&upstream->lock);
    if (state == FOUND)
        remember(upstream, flight->hash, FOUND, FOUND_MS);
    else if (state == MISSING)
        remember(upstream, flight->hash, MISSING, (int64_t)options->upstream_recheck_seconds * 1000);
    else if (state == UNUSABLE) /* fetching it again at once would give the same */
        remember(upstream, flight->hash, UNUSABLE, (int64_t)options->upstream_pause_seconds * 1000);
    struct flight **at = &upstream->flights;
    while (*at != flight)
        at = &(*at)->next;
    *at = flight->next;
    upstream->flight_count--;
    while (flight->waiting != NULL) {
        struct node *node = flight->waiting;
        flight->waiting = node->next;
        settle(upstream, node, state, &ready);
    }
    pthread_mutex_unlock(&upstream->lock);
    free(flight);
    resume(ready);
}

void sxt_upstream_print(struct sxt_upstream *upstream, struct sxt_buffer *out)
{
    if (upstream == NULL)
        return;
    pthread_mutex_lock(&upstream->lock);
    sxt_upstream_print_servers(upstream->servers, upstream->service->options.upstream_count, out);
    const struct sxt_upstream_gauges gauges = {upstream->flight_count, upstream->parked_count, upstream->known};
    pthread_mutex_unlock(&upstream->lock);
    sxt_upstream_print_gauges(&gauges, out);
}
