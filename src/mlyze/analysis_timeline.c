/*
 * analysis_timeline.c: events over time. A timeline has a bounded number of points; their width doubles when an
 * event is later than the last one. Of the windows of churn, the busiest are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "mlyze/analysis_private.h"

static uint64_t add_up_to_most(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void find_next_end(struct heap_pass *pass)
{
    pass->next_end = pass->point_end < pass->window_end ? pass->point_end : pass->window_end;
}

/* An empty interval that begins with what is live now. */
static sxt_heap_interval new_interval(const struct heap_pass *pass, uint64_t start, uint64_t width)
{
    uint64_t live = pass->usage->total.live_bytes;
    return (sxt_heap_interval){.start = start, .width = width, .peak_bytes = live, .live_bytes = live};
}

static void open_window(struct heap_pass *pass, uint64_t time)
{
    uint64_t width = pass->usage->options.churn, start = pass->usage->start;
    start += (time - start) / width * width;
    pass->window = new_interval(pass, start, width);
    pass->window_end = add_up_to_most(start, width);
}

bool sxt_heap_begin_intervals(struct heap_pass *pass)
{
    sxt_heap_usage *usage = pass->usage;
    struct sxt_heap_intervals *line = &usage->timeline;
    pass->point_end = pass->window_end = UINT64_MAX;
    pass->point_shift = 0;
    line->count = usage->windows.count = pass->least.count = 0;
    if (usage->options.timeline > 0) {
        sxt_heap_interval *moved =
            sxt_array_grow(line->items, &line->capacity, usage->options.timeline, sizeof *line->items);
        if (moved == NULL)
            return false;
        line->items = moved;
        line->items[line->count++] = new_interval(pass, usage->start, 1);
        pass->point_end = add_up_to_most(usage->start, 1);
    }
    if (usage->options.churn > 0)
        open_window(pass, usage->start);
    find_next_end(pass);
    const sxt_heap_sums *total = &usage->total;
    pass->recent_peak = total->live_bytes;
    pass->seen = (sxt_heap_interval){.bytes = total->bytes,
                                     .count = total->count,
                                     .freed_bytes = total->freed_bytes,
                                     .freed_count = total->freed_count};
    return true;
}

static void update_interval(const struct heap_pass *pass, sxt_heap_interval *interval)
{
    const sxt_heap_sums *total = &pass->usage->total;
    interval->bytes += total->bytes - pass->seen.bytes;
    interval->count += total->count - pass->seen.count;
    interval->freed_bytes += total->freed_bytes - pass->seen.freed_bytes;
    interval->freed_count += total->freed_count - pass->seen.freed_count;
    interval->live_bytes = total->live_bytes;
    if (pass->recent_peak > interval->peak_bytes)
        interval->peak_bytes = pass->recent_peak;
}

void sxt_heap_update_intervals(struct heap_pass *pass)
{
    sxt_heap_usage *usage = pass->usage;
    const sxt_heap_sums *total = &usage->total;
    if (usage->timeline.count > 0)
        update_interval(pass, &usage->timeline.items[usage->timeline.count - 1]);
    if (usage->options.churn > 0)
        update_interval(pass, &pass->window);
    if (pass->recent_peak > pass->phase_peak)
        pass->phase_peak = pass->recent_peak;
    pass->recent_peak = total->live_bytes;
    pass->seen.bytes = total->bytes;
    pass->seen.count = total->count;
    pass->seen.freed_bytes = total->freed_bytes;
    pass->seen.freed_count = total->freed_count;
}

/* --- points --- */

/* Makes one point of every two. */
static void double_point_width(struct heap_pass *pass)
{
    struct sxt_heap_intervals *line = &pass->usage->timeline;
    pass->point_shift++;
    for (size_t i = 0; i < line->count; i++) {
        sxt_heap_interval *from = &line->items[i], *to = &line->items[i / 2];
        if (i % 2 == 0) {
            *to = *from;
            to->width *= 2;
            continue;
        }
        to->bytes += from->bytes;
        to->count += from->count;
        to->freed_bytes += from->freed_bytes;
        to->freed_count += from->freed_count;
        to->live_bytes = from->live_bytes;
        to->peak_bytes = to->peak_bytes > from->peak_bytes ? to->peak_bytes : from->peak_bytes;
    }
    line->count = (line->count + 1) / 2;
}

static void next_point(struct heap_pass *pass, uint64_t time)
{
    sxt_heap_usage *usage = pass->usage;
    struct sxt_heap_intervals *line = &usage->timeline;
    while ((time - usage->start) >> pass->point_shift >= usage->options.timeline)
        double_point_width(pass);
    uint64_t index = (time - usage->start) >> pass->point_shift, width = (uint64_t)1 << pass->point_shift;
    while (line->count <= index) {
        line->items[line->count] = new_interval(pass, usage->start + (line->count << pass->point_shift), width);
        line->count++;
    }
    uint64_t end = (index + 1) << pass->point_shift;
    pass->point_end = end >> pass->point_shift == index + 1 ? add_up_to_most(usage->start, end) : UINT64_MAX;
}

/* --- windows --- */

static bool has_less(const void *context, uint32_t a, uint32_t b)
{
    const sxt_heap_interval *windows = context;
    if (windows[a].bytes != windows[b].bytes)
        return windows[a].bytes < windows[b].bytes;
    return windows[a].start > windows[b].start;
}

static void keep_window(struct heap_pass *pass)
{
    struct sxt_heap_intervals *kept = &pass->usage->windows;
    size_t most = pass->usage->options.windows;
    if ((pass->window.count == 0 && pass->window.freed_count == 0) || most == 0)
        return;
    uint32_t number = (uint32_t)kept->count;
    if (kept->count < most) {
        sxt_heap_interval *moved = sxt_array_grow(kept->items, &kept->capacity, kept->count + 1, sizeof *kept->items);
        uint32_t *items = moved == NULL ? NULL : realloc(pass->least.items, kept->capacity * sizeof *items);
        kept->items = moved != NULL ? moved : kept->items;
        pass->least.items = items != NULL ? items : pass->least.items;
        pass->no_memory |= items == NULL;
        if (items == NULL)
            return;
        kept->count++;
    } else {
        number = pass->least.items[0];
        if (pass->window.bytes <= kept->items[number].bytes)
            return;
        sxt_queue_pop(&pass->least, has_less, kept->items);
    }
    kept->items[number] = pass->window;
    sxt_queue_push(&pass->least, number, has_less, kept->items);
}

static int compare_windows(const void *left, const void *right)
{
    const sxt_heap_interval *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->start > b->start) - (a->start < b->start);
}

/* --- both --- */

void sxt_heap_next_interval(struct heap_pass *pass, uint64_t time)
{
    sxt_heap_update_intervals(pass);
    if (pass->usage->options.timeline > 0 && time >= pass->point_end)
        next_point(pass, time);
    if (pass->usage->options.churn > 0 && time >= pass->window_end) {
        keep_window(pass);
        open_window(pass, time);
    }
    find_next_end(pass);
}

void sxt_heap_end_intervals(struct heap_pass *pass)
{
    sxt_heap_usage *usage = pass->usage;
    sxt_heap_next_interval(pass, usage->end);
    if (usage->options.churn > 0)
        keep_window(pass);
    if (usage->windows.count > 0)
        qsort(usage->windows.items, usage->windows.count, sizeof *usage->windows.items, compare_windows);
}

void sxt_heap_free_intervals(struct heap_pass *pass)
{
    free(pass->least.items);
    pass->least.items = NULL;
}
