/* upstream_figures.c: what /metrics and the log say about upstream servers. */
#include "base/json_writer.h"
#include "base/string.h"
#include "service/upstream_private.h"

#define LINE_LIMIT ((size_t)16 << 10)

/* The upper limits of latencies, in milliseconds. */
static const uint32_t limits[SXT_UPSTREAM_LIMITS] = {5, 10, 25, 50, 100, 250, 500, 1000, 5000, 20000, 60000, 300000};

static const char *const outcomes[SXT_FETCH_OUTCOMES] = {
    [SXT_FETCH_FOUND] = "found",       [SXT_FETCH_MISSING] = "missing", [SXT_FETCH_UNDECIDED] = "undecided",
    [SXT_FETCH_UNUSABLE] = "unusable", [SXT_FETCH_FAILED] = "failed",   [SXT_FETCH_ENDED] = "ended",
};

static const char *const kinds[] = {
    [SXT_UPSTREAM_DEBUGINFO] = "debuginfo",
    [SXT_UPSTREAM_EXECUTABLE] = "executable",
    [SXT_UPSTREAM_SOURCE] = "source",
};

void sxt_upstream_count(struct sxt_upstream_server *server, const struct sxt_fetch *fetch, int64_t milliseconds)
{
    size_t place = 0;
    while (place < SXT_UPSTREAM_LIMITS && milliseconds > (int64_t)limits[place])
        place++;
    server->outcomes[fetch->outcome]++;
    server->bytes += fetch->bytes;
    server->by_time[place]++;
    server->milliseconds += (uint64_t)milliseconds;
}

void sxt_upstream_log(struct sxt_log *log, const char *uuid, const struct sxt_upstream_server *server,
                      const struct sxt_fetch *fetch, int64_t milliseconds)
{
    struct sxt_buffer line;
    char now[SXT_LOG_TIME_SIZE];
    bool is_problem =
        fetch->outcome == SXT_FETCH_UNUSABLE || fetch->outcome == SXT_FETCH_FAILED || fetch->outcome == SXT_FETCH_ENDED;
    sxt_log_time(now);
    sxt_buffer_init(&line, LINE_LIMIT);
    struct sxt_json_writer json = sxt_json_writer_make(&line, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "time", (sxt_string){now, sizeof now});
    sxt_json_write_string(&json, "level", sxt_string_of(is_problem ? "warning" : "info"));
    sxt_json_write_string(&json, "uuid", sxt_string_of(uuid));
    sxt_json_write_string(&json, "upstream", sxt_string_of(server->name));
    sxt_json_write_string(&json, "build_id", sxt_string_of(fetch->id->text + 2));
    sxt_json_write_string(&json, "kind", sxt_string_of(kinds[fetch->kind]));
    if (fetch->path != NULL)
        sxt_json_write_string(&json, "path", sxt_string_of(fetch->path));
    sxt_json_write_string(&json, "outcome", sxt_string_of(outcomes[fetch->outcome]));
    sxt_json_write_number(&json, "status", (uint64_t)fetch->status);
    if (fetch->text[0] != 0)
        sxt_json_write_string(&json, "text", sxt_string_of(fetch->text));
    if (fetch->tenant[0] != 0)
        sxt_json_write_string(&json, "tenant", sxt_string_of(fetch->tenant));
    sxt_json_write_number(&json, "bytes", fetch->bytes);
    sxt_json_write_number(&json, "milliseconds", (uint64_t)milliseconds);
    sxt_json_write_end(&json, '}');
    sxt_buffer_append(&line, "\n", 1);
    if (!line.failed)
        sxt_log_line(log, (const char *)line.data, line.size);
    sxt_buffer_free(&line);
}

static void print_head(struct sxt_buffer *out, const char *name, const char *type, const char *help)
{
    sxt_buffer_print(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_latencies(const struct sxt_upstream_server *server, struct sxt_buffer *out)
{
    unsigned long long sum = 0;
    for (size_t i = 0; i <= SXT_UPSTREAM_LIMITS; i++) {
        sum += server->by_time[i];
        if (i < SXT_UPSTREAM_LIMITS)
            sxt_buffer_print(out, "sextant_upstream_seconds_bucket{upstream=\"%s\",le=\"%g\"} %llu\n", server->name,
                             limits[i] / 1e3, sum);
    }
    sxt_buffer_print(out,
                     "sextant_upstream_seconds_bucket{upstream=\"%s\",le=\"+Inf\"} %llu\n"
                     "sextant_upstream_seconds_sum{upstream=\"%s\"} %.9g\n"
                     "sextant_upstream_seconds_count{upstream=\"%s\"} %llu\n",
                     server->name, sum, server->name, (double)server->milliseconds / 1e3, server->name, sum);
}

void sxt_upstream_print_servers(const struct sxt_upstream_server *servers, size_t count, struct sxt_buffer *out)
{
    print_head(out, "sextant_upstream_fetches_total", "counter", "Files asked of upstream servers.");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < SXT_FETCH_OUTCOMES; k++)
            sxt_buffer_print(out, "sextant_upstream_fetches_total{upstream=\"%s\",outcome=\"%s\"} %llu\n",
                             servers[i].name, outcomes[k], (unsigned long long)servers[i].outcomes[k]);
        sxt_buffer_print(out, "sextant_upstream_fetches_total{upstream=\"%s\",outcome=\"skipped\"} %llu\n",
                         servers[i].name, (unsigned long long)servers[i].skipped);
    }
    print_head(out, "sextant_upstream_breaker", "gauge",
               "0: the server is asked; 1: it failed, and is not; 2: one try.");
    for (size_t i = 0; i < count; i++)
        sxt_buffer_print(out, "sextant_upstream_breaker{upstream=\"%s\"} %d\n", servers[i].name,
                         (int)servers[i].breaker.state);
    print_head(out, "sextant_upstream_received_bytes_total", "counter", "Bytes of files from upstream servers.");
    for (size_t i = 0; i < count; i++)
        sxt_buffer_print(out, "sextant_upstream_received_bytes_total{upstream=\"%s\"} %llu\n", servers[i].name,
                         (unsigned long long)servers[i].bytes);
    print_head(out, "sextant_upstream_seconds", "histogram",
               "Time from asking an upstream server to storing its file.");
    for (size_t i = 0; i < count; i++)
        print_latencies(&servers[i], out);
}

void sxt_upstream_print_gauges(const struct sxt_upstream_gauges *gauges, struct sxt_buffer *out)
{
    print_head(out, "sextant_upstream_fetching", "gauge", "Files that are being fetched, or are about to be.");
    sxt_buffer_print(out, "sextant_upstream_fetching %zu\n", gauges->fetching);
    print_head(out, "sextant_upstream_waiting", "gauge", "Requests that wait for files of upstream servers.");
    sxt_buffer_print(out, "sextant_upstream_waiting %zu\n", gauges->waiting);
    print_head(out, "sextant_upstream_known_total", "counter",
               "Files that were not asked for, because the outcome is known.");
    sxt_buffer_print(out, "sextant_upstream_known_total %llu\n", (unsigned long long)gauges->known);
}
