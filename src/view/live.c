/*
 * live.c: the heap of a program that is being recorded.
 *
 *     data/figures?order=live_bytes&limit=50    totals, rates, sites, threads and the course of live bytes by now
 *
 * Each request reads what is new, unless another one has just done so. When the recording has ended, the figures stay
 * those of its end, and the page of the trace is beside this one.
 */
#include "view/live.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sextant/live.h>
#include <sextant/trace_view.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"

#define LEAST_S      0.2  /* seconds between two updates */
#define SITES_MOST   1000 /* that may be asked for */
#define SITES_USUAL  50
#define SITES_LOOKED 1000 /* from which equal ones are merged */
#define THREADS_MOST 200
#define FRAMES_MOST  128
#define POINTS_MOST  1024
#define NAMES_MS     200 /* that a request waits for names */
#define ANSWER_MOST  ((size_t)16 << 20)

struct state {
    sxt_watch *watch;
    double updated; /* seconds; 0: never */
};

bool sxt_view_is_running(const char *path)
{
    sxt_watch *watch = NULL;
    bool is_running = sxt_watch_open(path, &watch, NULL) == SXT_OK && sxt_watch_is_running(watch);
    sxt_watch_close(&watch);
    return is_running;
}

static bool recognises(const char *path, sxt_kind kind)
{
    return kind == SXT_KIND_TRACE && sxt_view_is_running(path);
}

static int open_live(struct sxt_view_item *item, sxt_error *error)
{
    struct state *state = calloc(1, sizeof *state);
    item->state = state;
    return state != NULL ? sxt_watch_open(item->path, &state->watch, error) : sxt_fail_memory(error, sizeof *state);
}

static void close_live(struct sxt_view_item *item)
{
    struct state *state = item->state;
    if (state != NULL)
        sxt_watch_close(&state->watch);
    free(state);
    item->state = NULL;
}

static int make(struct sxt_view_item *item, struct sxt_page *page, sxt_error *error)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, ANSWER_MOST);
    struct sxt_json_writer json = sxt_json_writer_make(&text, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "kind", sxt_string_of("live"));
    sxt_json_write_string(&json, "name", sxt_string_of(item->name));
    sxt_json_write_end(&json, '}');
    int status = sxt_buffer_status(&text, error);
    if (status == SXT_OK)
        sxt_page_add_json(page, &text);
    sxt_buffer_free(&text);
    return status;
}

/* --- figures --- */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int update(struct state *state, sxt_error *error)
{
    double now = seconds_now();
    if (state->updated != 0 && now - state->updated < LEAST_S && sxt_watch_is_running(state->watch))
        return SXT_OK;
    int status = sxt_watch_update(state->watch, error);
    state->updated = seconds_now();
    return status;
}

static void write_name(struct sxt_json_writer *json, const char *key, sxt_string name)
{
    if (name.data != NULL)
        sxt_json_write_string(json, key, name);
    else
        sxt_json_write_null(json, key);
}

static uint64_t rounded(double value)
{
    return (uint64_t)(value + 0.5);
}

static void write_totals(struct sxt_json_writer *json, const struct state *state, const sxt_watch_figures *figures)
{
    uint64_t time;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"time_us", figures->time_us},
        {"start_us", figures->start_us},
        {"live_bytes", figures->live_bytes},
        {"live_blocks", figures->live_blocks},
        {"allocations_per_s", rounded(figures->allocations_per_s)},
        {"frees_per_s", rounded(figures->frees_per_s)},
        {"allocated_bytes_per_s", rounded(figures->allocated_bytes_per_s)},
        {"allocations", figures->allocations},
        {"allocated_bytes", figures->allocated_bytes},
        {"frees", figures->frees},
        {"peak_bytes", figures->peak_bytes},
        {"peak_time_us", figures->peak_time_us},
        {"events", figures->events},
        {"dropped", figures->dropped},
        {"sample_period", figures->sample_period},
        {"pid", figures->pid},
        {"site_count", figures->site_count},
        {"markers", figures->marker_count},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sxt_json_write_number(json, numbers[i].key, numbers[i].value);
    sxt_json_write_bool(json, "ended", figures->has_ended);
    sxt_json_write_bool(json, "behind", figures->is_behind);
    write_name(json, "last_marker", sxt_watch_last_marker(state->watch, &time));
}

static void write_frames(struct sxt_json_writer *json, const struct state *state, const sxt_watch_site *site)
{
    uint32_t stack = 0;
    sxt_trace_frame frame;
    const sxt_trace *names = sxt_watch_find_names(state->watch, site, &stack);
    sxt_json_write_begin(json, "frames", '[');
    for (uint32_t i = 0; names != NULL && i < FRAMES_MOST && sxt_trace_get_frame(names, stack, i, &frame); i++) {
        sxt_json_write_begin(json, NULL, '{');
        write_name(json, "file", frame.file);
        sxt_json_write_number(json, "line", frame.line);
        write_name(json, "function", frame.function);
        sxt_json_write_bool(json, "library", sxt_trace_is_library_frame(&frame));
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
}

static void write_sums(struct sxt_json_writer *json, uint64_t live_bytes, uint64_t live_blocks, uint64_t allocations,
                       uint64_t allocated_bytes)
{
    sxt_json_write_number(json, "live_bytes", live_bytes);
    sxt_json_write_number(json, "live_blocks", live_blocks);
    sxt_json_write_number(json, "allocations", allocations);
    sxt_json_write_number(json, "allocated_bytes", allocated_bytes);
}

static int write_sites(struct sxt_json_writer *json, struct state *state, sxt_watch_order order, size_t limit,
                       sxt_error *error)
{
    sxt_watch_site *sites = calloc(SITES_LOOKED, sizeof *sites);
    if (sites == NULL)
        return sxt_fail_memory(error, SITES_LOOKED * sizeof *sites);
    size_t count = sxt_watch_list_sites(state->watch, order, sites, SITES_LOOKED);
    (void)sxt_watch_name_sites(state->watch, sites, count, NAMES_MS);
    count = sxt_watch_merge_sites(state->watch, order, sites, count);
    sxt_json_write_begin(json, "sites", '[');
    for (size_t i = 0; i < count && i < limit; i++) {
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_number(json, "stack", sites[i].stack);
        write_sums(json, sites[i].live_bytes, sites[i].live_blocks, sites[i].allocations, sites[i].allocated_bytes);
        write_frames(json, state, &sites[i]);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    free(sites);
    return SXT_OK;
}

static int write_threads(struct sxt_json_writer *json, const struct state *state, sxt_watch_order order,
                         sxt_error *error)
{
    sxt_watch_thread *threads = calloc(THREADS_MOST, sizeof *threads);
    if (threads == NULL)
        return sxt_fail_memory(error, THREADS_MOST * sizeof *threads);
    size_t count = sxt_watch_list_threads(state->watch, order, threads, THREADS_MOST);
    sxt_json_write_begin(json, "threads", '[');
    for (size_t i = 0; i < count; i++) {
        const sxt_watch_thread *thread = &threads[i];
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_number(json, "number", thread->number);
        write_name(json, "name", thread->name);
        write_sums(json, thread->live_bytes, thread->live_blocks, thread->allocations, thread->allocated_bytes);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    free(threads);
    return SXT_OK;
}

/* Times since the start, and live bytes: one list each. */
static int write_course(struct sxt_json_writer *json, const struct state *state, uint64_t start, sxt_error *error)
{
    sxt_watch_point *points = calloc(POINTS_MOST, sizeof *points);
    if (points == NULL)
        return sxt_fail_memory(error, POINTS_MOST * sizeof *points);
    size_t count = sxt_watch_get_course(state->watch, points, POINTS_MOST);
    sxt_json_write_begin(json, "course", '{');
    sxt_json_write_begin(json, "times", '[');
    for (size_t i = 0; i < count; i++)
        sxt_json_write_number(json, NULL, points[i].time_us > start ? points[i].time_us - start : 0);
    sxt_json_write_end(json, ']');
    sxt_json_write_begin(json, "live_bytes", '[');
    for (size_t i = 0; i < count; i++)
        sxt_json_write_number(json, NULL, points[i].live_bytes);
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
    free(points);
    return SXT_OK;
}

static bool take_order(const struct sxt_view_query *query, sxt_watch_order *order)
{
    static const char *const names[] = {"live_bytes", "live_blocks", "allocations", "allocated_bytes"};
    const char *given = sxt_view_query_get(query, "order");
    *order = SXT_WATCH_BY_LIVE_BYTES;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (given != NULL && strcmp(given, names[i]) == 0) {
            *order = (sxt_watch_order)i;
            return true;
        }
    }
    return given == NULL;
}

static int refuse(struct sxt_view_reply *reply, unsigned status, const char *text)
{
    reply->status = status;
    sxt_buffer_print(&reply->body, "%s", text);
    return SXT_OK;
}

static int answer(struct sxt_view_item *item, const char *name, const struct sxt_view_query *query,
                  struct sxt_view_reply *reply, sxt_error *error)
{
    struct state *state = item->state;
    sxt_watch_figures figures = {.struct_size = sizeof figures};
    sxt_watch_order order;
    uint64_t limit = SITES_USUAL;
    if (strcmp(name, "figures") != 0)
        return refuse(reply, 404, "no such data");
    if (!take_order(query, &order))
        return refuse(reply, 400, "order is live_bytes, live_blocks, allocations or allocated_bytes");
    if (sxt_view_query_get(query, "limit") != NULL &&
        (!sxt_view_query_number(query, "limit", &limit) || limit > SITES_MOST))
        return refuse(reply, 400, "limit is a number up to 1000");
    int status = update(state, error);
    if (status != SXT_OK)
        return status;
    sxt_watch_get_figures(state->watch, &figures);
    reply->type = "application/json";
    struct sxt_json_writer json = sxt_json_writer_make(&reply->body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    write_totals(&json, state, &figures);
    status = write_sites(&json, state, order, (size_t)limit, error);
    if (status == SXT_OK)
        status = write_threads(&json, state, order, error);
    if (status == SXT_OK)
        status = write_course(&json, state, figures.start_us, error);
    sxt_json_write_end(&json, '}');
    return status;
}

const struct sxt_view_kind sxt_view_live_heap = {
    .name = "running program",
    .title = "Live",
    .template = SXT_PAGE_LIVE,
    .recognises = recognises,
    .open = open_live,
    .close = close_live,
    .make = make,
    .answer = answer,
};
