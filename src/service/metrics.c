/* metrics.c: counts, and prints them for Prometheus. */
#include "service/metrics.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "service/connections.h"
#include "service/server.h"
#include "service/upstream.h"

#define SHARDS 16

static const uint16_t statuses[] = {200, 201, 204, 206, 304, 400, 401, 403, 404, 405, 408, 411,
                                    412, 413, 415, 416, 429, 431, 500, 502, 503, 507, 0};
enum { STATUSES = sizeof statuses / sizeof *statuses };

/* The upper limits of latencies, in microseconds. */
static const uint32_t limits[] = {50,    100,   250,    500,    1000,   2500,    5000,    10000,
                                  25000, 50000, 100000, 250000, 500000, 1000000, 5000000, 30000000};
enum { LIMITS = sizeof limits / sizeof *limits };

struct route_figures {
    _Atomic uint64_t by_status[STATUSES];
    _Atomic uint64_t by_time[LIMITS + 1];
    _Atomic uint64_t nanoseconds, bytes_in, bytes_out;
};

/* What one thread counts, or several that share it. */
struct shard {
    _Alignas(64) _Atomic uint64_t counts[SXT_METRIC_COUNT];
    struct route_figures *routes; /* one more than there are: requests without a route */
};

struct sxt_metrics {
    struct shard shards[SHARDS];
    size_t route_count;
};

static const struct {
    const char *name, *labels, *help; /* help: of the first of a name */
} names[SXT_METRIC_COUNT] = {
    [SXT_METRIC_LOOKUP_FOUND] = {"sextant_lookups_total", "{outcome=\"found\"}", "Addresses that were looked up."},
    [SXT_METRIC_LOOKUP_NOTHING] = {"sextant_lookups_total", "{outcome=\"nothing\"}", NULL},
    [SXT_METRIC_LOOKUP_UNKNOWN] = {"sextant_lookups_total", "{outcome=\"unknown_file\"}", NULL},
    [SXT_METRIC_PARTS] = {"sextant_upload_parts_total", "{outcome=\"stored\"}", "Uploaded parts of symbfiles."},
    [SXT_METRIC_PARTS_REFUSED] = {"sextant_upload_parts_total", "{outcome=\"refused\"}", NULL},
    [SXT_METRIC_MERGES] = {"sextant_merges_total", "", "Complete uploads that became an archive."},
    [SXT_METRIC_FILES] = {"sextant_upload_files_total", "{outcome=\"stored\"}", "Uploaded ELF files."},
    [SXT_METRIC_FILES_REFUSED] = {"sextant_upload_files_total", "{outcome=\"refused\"}", NULL},
    [SXT_METRIC_REPORTS] = {"sextant_upload_reports_total", "{outcome=\"stored\"}", "Uploaded reports."},
    [SXT_METRIC_REPORTS_REFUSED] = {"sextant_upload_reports_total", "{outcome=\"refused\"}", NULL},
    [SXT_METRIC_FORWARDED] = {"sextant_forwards_total", "{outcome=\"sent\"}", "OTLP requests that were sent on."},
    [SXT_METRIC_FORWARD_FAILED] = {"sextant_forwards_total", "{outcome=\"failed\"}", NULL},
    [SXT_METRIC_LEAF_AND_CALLER] = {"sextant_otlp_leaf_and_caller_total", "",
                                    "Locations of OTLP profiles that are leaf and caller, looked up as callers."},
};

size_t sxt_route_count(void)
{
    size_t count = 0;
    while (sxt_routes[count].method != NULL)
        count++;
    return count;
}

int sxt_metrics_open(struct sxt_metrics **out, sxt_error *error)
{
    struct sxt_metrics *metrics = *out = aligned_alloc(64, sizeof *metrics);
    if (metrics == NULL)
        return sxt_fail_memory(error, sizeof *metrics);
    *metrics = (struct sxt_metrics){.route_count = sxt_route_count() + 1};
    for (size_t i = 0; i < SHARDS; i++) {
        metrics->shards[i].routes = calloc(metrics->route_count, sizeof *metrics->shards[i].routes);
        if (metrics->shards[i].routes == NULL) {
            sxt_metrics_close(out);
            return sxt_fail_memory(error, sizeof *metrics);
        }
    }
    return SXT_OK;
}

void sxt_metrics_close(struct sxt_metrics **metrics)
{
    if (*metrics == NULL)
        return;
    for (size_t i = 0; i < SHARDS; i++)
        free((*metrics)->shards[i].routes);
    free(*metrics);
    *metrics = NULL;
}

static struct shard *own_shard(struct sxt_metrics *metrics)
{
    static _Atomic unsigned next;
    static _Thread_local unsigned number; /* 0: none yet */
    if (number == 0)
        number = 1 + atomic_fetch_add(&next, 1) % SHARDS;
    return &metrics->shards[number - 1];
}

static void add(_Atomic uint64_t *place, uint64_t number)
{
    atomic_fetch_add_explicit(place, number, memory_order_relaxed);
}

void sxt_metrics_count(struct sxt_metrics *metrics, enum sxt_metric metric, uint64_t number)
{
    add(&own_shard(metrics)->counts[metric], number);
}

void sxt_metrics_request(struct sxt_metrics *metrics, const struct sxt_metrics_request *request)
{
    size_t route = request->route != NULL ? (size_t)(request->route - sxt_routes) : metrics->route_count - 1;
    struct route_figures *figures = &own_shard(metrics)->routes[route];
    size_t status = 0, time = 0;
    while (status < STATUSES - 1 && statuses[status] != request->status)
        status++;
    while (time < LIMITS && request->nanoseconds > (uint64_t)limits[time] * 1000)
        time++;
    add(&figures->by_status[status], 1);
    add(&figures->by_time[time], 1);
    add(&figures->nanoseconds, request->nanoseconds);
    add(&figures->bytes_in, request->bytes_in);
    add(&figures->bytes_out, request->bytes_out);
}

/* --- printing --- */

static uint64_t get(const _Atomic uint64_t *place)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)place, memory_order_relaxed);
}

/* The sum over all shards of the number that is OFFSET bytes into the figures of a route. */
static unsigned long long sum_route(const struct sxt_metrics *metrics, size_t route, size_t offset)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SHARDS; i++)
        sum += get((const _Atomic uint64_t *)((const char *)&metrics->shards[i].routes[route] + offset));
    return sum;
}

static const char *route_name(const struct sxt_metrics *metrics, size_t route)
{
    return route + 1 < metrics->route_count ? sxt_routes[route].name : "none";
}

static void print_head(struct sxt_buffer *out, const char *name, const char *type, const char *help)
{
    sxt_buffer_print(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_requests(const struct sxt_metrics *metrics, struct sxt_buffer *out)
{
    print_head(out, "sextant_requests_total", "counter", "Requests by route and status.");
    for (size_t route = 0; route < metrics->route_count; route++)
        for (size_t status = 0; status < STATUSES; status++) {
            unsigned long long count =
                sum_route(metrics, route, offsetof(struct route_figures, by_status) + status * sizeof(uint64_t));
            char code[8] = "other";
            if (statuses[status] != 0)
                snprintf(code, sizeof code, "%u", statuses[status]);
            if (count > 0)
                sxt_buffer_print(out, "sextant_requests_total{route=\"%s\",status=\"%s\"} %llu\n",
                                 route_name(metrics, route), code, count);
        }
}

static void print_latencies(const struct sxt_metrics *metrics, size_t route, struct sxt_buffer *out)
{
    const char *name = route_name(metrics, route);
    unsigned long long sum = 0;
    for (size_t i = 0; i <= LIMITS; i++) {
        sum += sum_route(metrics, route, offsetof(struct route_figures, by_time) + i * sizeof(uint64_t));
        if (i < LIMITS)
            sxt_buffer_print(out, "sextant_request_seconds_bucket{route=\"%s\",le=\"%g\"} %llu\n", name,
                             limits[i] / 1e6, sum);
    }
    sxt_buffer_print(out,
                     "sextant_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
                     "sextant_request_seconds_sum{route=\"%s\"} %.9g\n"
                     "sextant_request_seconds_count{route=\"%s\"} %llu\n",
                     name, sum, name,
                     (double)sum_route(metrics, route, offsetof(struct route_figures, nanoseconds)) / 1e9, name, sum);
}

static void print_bytes(const struct sxt_metrics *metrics, struct sxt_buffer *out)
{
    static const struct {
        const char *name, *help;
        size_t offset;
    } directions[] = {
        {"sextant_received_bytes_total", "Bytes of bodies received.", offsetof(struct route_figures, bytes_in)},
        {"sextant_sent_bytes_total", "Bytes of bodies sent.", offsetof(struct route_figures, bytes_out)},
    };
    for (size_t i = 0; i < 2; i++) {
        print_head(out, directions[i].name, "counter", directions[i].help);
        for (size_t route = 0; route < metrics->route_count; route++) {
            unsigned long long sum = sum_route(metrics, route, directions[i].offset);
            if (sum > 0)
                sxt_buffer_print(out, "%s{route=\"%s\"} %llu\n", directions[i].name, route_name(metrics, route), sum);
        }
    }
}

static void print_counts(const struct sxt_metrics *metrics, struct sxt_buffer *out)
{
    for (size_t metric = 0; metric < SXT_METRIC_COUNT; metric++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < SHARDS; i++)
            sum += get(&metrics->shards[i].counts[metric]);
        if (names[metric].help != NULL)
            print_head(out, names[metric].name, "counter", names[metric].help);
        sxt_buffer_print(out, "%s%s %llu\n", names[metric].name, names[metric].labels, (unsigned long long)sum);
    }
}

static void print_store(struct sxt_service *service, struct sxt_buffer *out)
{
    struct sxt_store_figures figures = {0};
    sxt_store_get_figures(service->store, &figures);
    const struct {
        const char *name, *type, *labels, *help;
        uint64_t value;
    } lines[] = {
        {"sextant_store_operations_total", "counter", "{operation=\"read\"}", "Operations on the store.",
         figures.reads},
        {"sextant_store_operations_total", NULL, "{operation=\"write\"}", NULL, figures.writes},
        {"sextant_store_operations_total", NULL, "{operation=\"list\"}", NULL, figures.lists},
        {"sextant_store_operations_total", NULL, "{operation=\"remove\"}", NULL, figures.removals},
        {"sextant_store_errors_total", "counter", "", "Operations on the store that failed.", figures.errors},
        {"sextant_store_retries_total", "counter", "", "Operations on the store that were repeated.", figures.retries},
        {"sextant_store_read_bytes_total", "counter", "", "Bytes read from the store.", figures.bytes_read},
        {"sextant_store_written_bytes_total", "counter", "", "Bytes written to the store.", figures.bytes_written},
        {"sextant_cache_requests_total", "counter", "{outcome=\"hit\"}", "Reads of the local cache of a bucket.",
         figures.cache_hits},
        {"sextant_cache_requests_total", NULL, "{outcome=\"miss\"}", NULL, figures.cache_misses},
        {"sextant_cache_bytes", "gauge", "", "Bytes in the local cache of a bucket.", figures.cache_bytes},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (lines[i].help != NULL)
            print_head(out, lines[i].name, lines[i].type, lines[i].help);
        sxt_buffer_print(out, "%s%s %llu\n", lines[i].name, lines[i].labels, (unsigned long long)lines[i].value);
    }
}

static void print_server(struct sxt_service *service, struct sxt_buffer *out)
{
    print_head(out, "sextant_info", "gauge", "The version of the server.");
    sxt_buffer_print(out, "sextant_info{version=\"%s\"} 1\n", SXT_VERSION);
    print_head(out, "sextant_requests_active", "gauge", "Requests whose reply is not sent yet.");
    sxt_buffer_print(out, "sextant_requests_active %u\n", atomic_load(&service->active));
    print_head(out, "sextant_request_memory_bytes", "gauge", "Large bodies and replies in memory.");
    sxt_buffer_print(out, "sextant_request_memory_bytes %llu\n", (unsigned long long)atomic_load(&service->memory));
    sxt_connections_print(service->connections, out);
}

void sxt_metrics_print(struct sxt_service *service, struct sxt_buffer *out)
{
    print_server(service, out);
    print_requests(service->metrics, out);
    print_head(out, "sextant_request_seconds", "histogram",
               "Time from the headers of a request to the end of its reply.");
    for (size_t route = 0; route < service->metrics->route_count; route++)
        print_latencies(service->metrics, route, out);
    print_bytes(service->metrics, out);
    print_counts(service->metrics, out);
    print_store(service, out);
    sxt_upstream_print(service->upstream, out);
}
