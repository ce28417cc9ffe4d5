/* heap_live.c: the heap of a program that is being recorded: options, and objects for programs. */
#include "cli/heap_live.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/heap_request.h"
#include "cli/terminal.h"

#define INTERVAL_MS    1000
#define INTERVAL_LEAST 0.05 /* seconds */
#define INTERVAL_MOST  86400.0
#define SITES          100  /* in an object, unless --limit is given */
#define SITES_LOOKED   1000 /* from which equal ones are merged */
#define NAMES_MS       5000 /* how long an object waits for names */
#define SLICE_MS       100  /* how often a wait looks whether the recording has ended */

/* --- options --- */

/* Other options are about traces that are finished. */
static int check_options(const struct cli_arguments *arguments)
{
    static const char *const allowed[] = {"live", "interval", "json", "limit", "frames", "show-library", "wide", "all"};
    for (size_t i = 0; arguments->verb->options[i].name != NULL; i++) {
        const char *name = arguments->verb->options[i].name;
        bool is_allowed = !cli_given(arguments, name);
        for (size_t k = 0; k < sizeof allowed / sizeof *allowed && !is_allowed; k++)
            is_allowed = strcmp(name, allowed[k]) == 0;
        if (!is_allowed)
            return cli_usage(arguments->verb, "--live and --%s cannot be used together", name);
    }
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, "--live takes one process, file or folder");
    return CLI_DONE;
}

static int take_interval(const struct cli_arguments *arguments, struct cli_live *live)
{
    const char *text = cli_value(arguments, "interval");
    char *end = NULL;
    live->interval_ms = INTERVAL_MS;
    if (text == NULL)
        return CLI_DONE;
    double seconds = strtod(text, &end);
    if (end == text || *end != 0 || !isfinite(seconds) || seconds < INTERVAL_LEAST || seconds > INTERVAL_MOST)
        return cli_usage(arguments->verb, "--interval takes a number of seconds from 0.05 to 86400, not '%s'", text);
    live->interval_ms = (unsigned)(seconds * 1000);
    return CLI_DONE;
}

static int take_options(const struct cli_arguments *arguments, struct cli_live *live)
{
    uint64_t frames;
    int status = check_options(arguments);
    if (status == CLI_DONE)
        status = take_interval(arguments, live);
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "limit", cli_given(arguments, "all") ? UINT32_MAX : SITES, &live->limit);
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "frames", 0, &frames);
    live->look = (struct cli_heap_look){
        .view = {.folds_library = !cli_given(arguments, "show-library"),
                 .shortens_names = !cli_given(arguments, "wide")},
        .is_wide = cli_given(arguments, "wide"),
    };
    if (status == CLI_DONE)
        live->look.view.frames = frames < UINT32_MAX ? (uint32_t)frames : 0;
    return status;
}

/* --- what both forms need --- */

bool cli_live_update(struct cli_live *live, sxt_error *error)
{
    if (sxt_watch_update(live->watch, error) != SXT_OK)
        return false;
    live->figures.struct_size = sizeof live->figures;
    sxt_watch_get_figures(live->watch, &live->figures);
    return true;
}

void cli_live_say_end(const struct cli_live *live)
{
    const char *trace = sxt_watch_trace_path(live->watch);
    fprintf(stderr, "sextant: ");
    cli_print_name(live->name);
    fprintf(stderr, ": the recording has ended; next: sextant heap ");
    cli_print_word(trace != NULL ? trace : live->name);
    fprintf(stderr, "\n");
}

/* --- objects --- */

/* The sites with the most, those with equal frames as one. *SITES is to be freed. */
static size_t find_sites(struct cli_live *live, sxt_watch_site **sites)
{
    size_t most = live->limit > SITES_LOOKED ? (size_t)live->limit : SITES_LOOKED;
    most = most < live->figures.site_count ? most : live->figures.site_count;
    *sites = malloc((most + 1) * sizeof **sites);
    if (*sites == NULL)
        return 0;
    size_t count = sxt_watch_list_sites(live->watch, SXT_WATCH_BY_LIVE_BYTES, *sites, most);
    (void)sxt_watch_name_sites(live->watch, *sites, count, NAMES_MS);
    count = sxt_watch_merge_sites(live->watch, SXT_WATCH_BY_LIVE_BYTES, *sites, count);
    return count < live->limit ? count : (size_t)live->limit;
}

static void emit_site(struct sxt_emit *emit, const struct cli_live *live, const sxt_watch_site *site)
{
    uint32_t stack;
    const sxt_trace *names = sxt_watch_find_names(live->watch, site, &stack);
    sxt_emit_object(emit, NULL);
    sxt_emit_number(emit, "stack", site->stack);
    sxt_emit_number(emit, "live_bytes", site->live_bytes);
    sxt_emit_number(emit, "live_blocks", site->live_blocks);
    sxt_emit_number(emit, "allocations", site->allocations);
    if (live->figures.process_count > 1)
        sxt_emit_number(emit, "pid", sxt_watch_process_id(live->watch, site->process));
    if (names != NULL) {
        cli_heap_emit_cut_frames(emit, names, stack, live->look.view.frames);
    } else {
        sxt_emit_array(emit, "frames");
        sxt_emit_array_end(emit);
    }
    sxt_emit_object_end(emit);
}

static void emit_figures(struct sxt_emit *emit, const sxt_watch_figures *figures)
{
    sxt_emit_number(emit, "time_us", figures->time_us);
    sxt_emit_number(emit, "live_bytes", figures->live_bytes);
    sxt_emit_number(emit, "live_blocks", figures->live_blocks);
    sxt_emit_number(emit, "allocations_per_s", (uint64_t)(figures->allocations_per_s + 0.5));
    sxt_emit_number(emit, "frees_per_s", (uint64_t)(figures->frees_per_s + 0.5));
    sxt_emit_number(emit, "allocations", figures->allocations);
    sxt_emit_number(emit, "allocated_bytes", figures->allocated_bytes);
    sxt_emit_number(emit, "frees", figures->frees);
    sxt_emit_number(emit, "peak_bytes", figures->peak_bytes);
    sxt_emit_bool(emit, "ended", figures->has_ended);
}

static void emit_object(struct sxt_emit *emit, struct cli_live *live)
{
    sxt_watch_site *sites;
    size_t count = find_sites(live, &sites);
    sxt_emit_record(emit);
    emit_figures(emit, &live->figures);
    sxt_emit_array(emit, "sites");
    for (size_t i = 0; i < count; i++)
        emit_site(emit, live, &sites[i]);
    sxt_emit_array_end(emit);
    sxt_emit_record_end(emit);
    free(sites);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Waits until UNTIL, or the recording ends. False if nobody reads the output any more. */
static bool wait_until(const struct cli_live *live, double until)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    for (double left; (left = until - seconds_now()) > 0 && sxt_watch_is_running(live->watch);) {
        int slice = left * 1000 < SLICE_MS ? (int)(left * 1000) + 1 : SLICE_MS;
        if (poll(&output, 1, slice) > 0 && (output.revents & (POLLERR | POLLHUP)) != 0)
            return false;
        if ((output.revents & POLLNVAL) != 0)
            nanosleep(&(struct timespec){0, slice * 1000000L}, NULL);
    }
    return true;
}

/* Prints one object. *IS_READ is false if nobody reads the output any more: who has gone has seen enough. */
static int print_object(struct cli_live *live, bool *is_read)
{
    struct sxt_emit emit;
    sxt_error error;
    sxt_emit_init(&emit, stdout, true);
    emit_object(&emit, live);
    int status = sxt_emit_finish(&emit, &error);
    *is_read = status == SXT_OK;
    return status == SXT_OK || emit.reason == EPIPE ? CLI_DONE : cli_fail(NULL, &error);
}

static int run_objects(struct cli_live *live)
{
    double next = seconds_now();
    bool is_read = true;
    int status;
    do {
        sxt_error error;
        status = cli_live_update(live, &error) ? print_object(live, &is_read) : cli_fail(live->name, &error);
        next += live->interval_ms * 1e-3;
        next = next > seconds_now() ? next : seconds_now();
        is_read = is_read && (live->figures.has_ended || wait_until(live, next));
    } while (status == CLI_DONE && is_read && !live->figures.has_ended);
    if (status == CLI_DONE && is_read)
        cli_live_say_end(live);
    return status;
}

/* --- a trace that is finished --- */

static void emit_row(struct sxt_emit *emit, const struct cli_heap *heap, const sxt_heap_row *row)
{
    sxt_emit_object(emit, NULL);
    sxt_emit_number(emit, "stack", row->id);
    sxt_emit_number(emit, "live_bytes", row->sums.leaked_bytes);
    sxt_emit_number(emit, "live_blocks", row->sums.leaked_count);
    sxt_emit_number(emit, "allocations", row->sums.count);
    cli_heap_emit_cut_frames(emit, heap->trace, row->id, heap->look.view.frames);
    sxt_emit_object_end(emit);
}

/* The recording ended before it was opened: its end is all there is. */
static int emit_finished(const struct cli_live *live, struct cli_heap *heap)
{
    const sxt_heap_view everything = {0};
    const sxt_heap_sums *total = sxt_heap_total(heap->usage);
    const sxt_heap_row *row;
    struct sxt_emit emit;
    sxt_heap_table *rows;
    sxt_error error;
    if (sxt_heap_table_make_view(heap->usage, SXT_HEAP_BY_STACK, SXT_HEAP_COST_LEAKED, live->limit, &everything, &rows,
                                 &error) != SXT_OK)
        return cli_fail(heap->path, &error);
    sxt_watch_figures figures = {
        .time_us = heap->info.start_us + heap->summary.duration,
        .live_bytes = total->leaked_bytes,
        .live_blocks = total->leaked_count,
        .allocations = total->count,
        .allocated_bytes = total->bytes,
        .frees = heap->summary.frees,
        .peak_bytes = total->peak_bytes,
        .has_ended = true,
    };
    sxt_emit_init(&emit, stdout, true);
    sxt_emit_record(&emit);
    emit_figures(&emit, &figures);
    sxt_emit_array(&emit, "sites");
    for (size_t i = 0; (row = sxt_heap_table_row(rows, i)) != NULL; i++)
        if (row->sums.leaked_count > 0)
            emit_row(&emit, heap, row);
    sxt_emit_array_end(&emit);
    sxt_emit_record_end(&emit);
    sxt_heap_table_free(&rows);
    return cli_finish(&emit, CLI_DONE);
}

static int show_finished(const struct cli_live *live)
{
    struct cli_heap heap = {0};
    int status = cli_heap_open(live->name, false, &heap);
    heap.look = live->look;
    if (status == CLI_DONE)
        status = cli_heap_analyse(&heap);
    if (status == CLI_DONE)
        status = emit_finished(live, &heap);
    cli_heap_close(&heap);
    return status;
}

/* --- the whole --- */

static bool is_terminal(const struct cli_arguments *arguments)
{
    const char *kind = getenv("TERM");
    return !cli_given(arguments, "json") && isatty(STDOUT_FILENO) && kind != NULL && kind[0] != 0 &&
           strcmp(kind, "dumb") != 0;
}

int cli_heap_live(const struct cli_arguments *arguments)
{
    struct cli_live live = {.name = arguments->word_count > 0 ? arguments->words[0] : NULL};
    sxt_error error;
    int status = take_options(arguments, &live);
    if (status != CLI_DONE)
        return status;
    int opened = sxt_watch_open(live.name, &live.watch, &error);
    if (opened == SXT_ERROR_UNSUPPORTED && !is_terminal(arguments))
        return show_finished(&live);
    if (opened == SXT_ERROR_UNSUPPORTED)
        return cli_fail_text(live.name, "%s: 'sextant heap %s' shows it", error.text, live.name);
    if (opened != SXT_OK)
        return cli_fail(live.name, &error);
    cli_expect_long_run();
    status = is_terminal(arguments) ? cli_live_run_terminal(&live) : run_objects(&live);
    sxt_watch_close(&live.watch);
    return status;
}
