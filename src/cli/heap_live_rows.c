/*
 * heap_live_rows.c: the rows of `heap --live`: sites, functions, files or threads. A mark keeps what every site had;
 * from then on rows have the difference.
 */
#include "cli/heap_live_rows.h"

#include <stdlib.h>
#include <string.h>

#define SITES_MOST   20000 /* that are looked at */
#define NAMED_FIRST  200   /* sites whose names are looked up first */
#define NAMED_MOST   5000
#define FIRST_MS     300 /* that the first screen waits for names */
#define THREADS_MOST 1000

/* --- rows --- */

static uint64_t hash_of(sxt_string text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001b3u;
    return hash | 2; /* not 0 or 1 */
}

static int by_place(const void *a, const void *b)
{
    const sxt_watch_site *first = a, *second = b;
    if (first->process != second->process)
        return first->process < second->process ? -1 : 1;
    return first->stack < second->stack ? -1 : first->stack > second->stack;
}

static uint64_t marked_bytes(const struct cli_live_mark *mark, const sxt_watch_site *site)
{
    const sxt_watch_site *found =
        mark->site_count > 0 ? bsearch(site, mark->sites, mark->site_count, sizeof *site, by_place) : NULL;
    return found != NULL ? found->live_bytes : 0;
}

/* What the row of a site is found by: all its frames, or the function or file of the first one. */
static uint64_t key_of(const struct cli_live_view *view, const struct cli_live *live, const struct cli_live_row *row)
{
    sxt_trace_frame frame;
    if (view->key == CLI_LIVE_SITES) {
        uint64_t look = sxt_watch_get_look(live->watch, &row->sums);
        return look != 0 ? look | 1 : ((uint64_t)row->sums.process << 32 | row->sums.stack) << 1;
    }
    if (row->names == NULL || !sxt_trace_get_frame(row->names, row->stack, 0, &frame))
        return 0;
    return hash_of(view->key == CLI_LIVE_FUNCTIONS ? frame.function : frame.file);
}

static int by_key(const void *a, const void *b)
{
    const struct cli_live_row *first = a, *second = b;
    if (first->key != second->key)
        return first->key < second->key ? -1 : 1;
    return by_place(&first->sums, &second->sums);
}

/* Rows with the same key become one. Returns how many are left. */
static size_t merge(struct cli_live_row *rows, size_t count)
{
    size_t kept = 0;
    if (count > 1)
        qsort(rows, count, sizeof *rows, by_key);
    for (size_t i = 0; i < count; i++) {
        struct cli_live_row *last = kept > 0 ? &rows[kept - 1] : NULL;
        if (last == NULL || last->key != rows[i].key) {
            rows[kept++] = rows[i];
            continue;
        }
        last->sums.live_bytes += rows[i].sums.live_bytes;
        last->sums.live_blocks += rows[i].sums.live_blocks;
        last->sums.allocations += rows[i].sums.allocations;
        last->sums.allocated_bytes += rows[i].sums.allocated_bytes;
        last->growth += rows[i].growth;
    }
    return kept;
}

struct sorting {
    sxt_watch_order order;
    bool by_growth;
};

static uint64_t value_of(const sxt_watch_site *sums, sxt_watch_order order)
{
    return order == SXT_WATCH_BY_LIVE_BLOCKS       ? sums->live_blocks
           : order == SXT_WATCH_BY_ALLOCATIONS     ? sums->allocations
           : order == SXT_WATCH_BY_ALLOCATED_BYTES ? sums->allocated_bytes
                                                   : sums->live_bytes;
}

static int by_value(const void *a, const void *b, void *given)
{
    const struct cli_live_row *first = a, *second = b;
    const struct sorting *sorting = given;
    uint64_t left = value_of(&first->sums, sorting->order), right = value_of(&second->sums, sorting->order);
    if (sorting->by_growth && first->growth != second->growth)
        return first->growth > second->growth ? -1 : 1;
    if (left != right)
        return left > right ? -1 : 1;
    return by_place(&first->sums, &second->sums);
}

/* Asks for names: of the sites at the top first, and when they are known, of the rest. */
static void ask_names(struct cli_live *live, const sxt_watch_site *sites, size_t count, bool is_first)
{
    size_t first = count < NAMED_FIRST ? count : NAMED_FIRST, most = count < NAMED_MOST ? count : NAMED_MOST;
    size_t known = sxt_watch_name_sites(live->watch, sites, first, is_first ? FIRST_MS : 0);
    if (known * 2 >= first && most > first)
        (void)sxt_watch_name_sites(live->watch, sites, most, 0);
}

static size_t list_sites(const struct cli_live_view *view, struct cli_live *live, struct cli_live_row **rows)
{
    sxt_watch_order order = view->mark != NULL && view->by_growth ? SXT_WATCH_BY_ALLOCATED_BYTES : view->order;
    sxt_watch_site *sites = calloc(SITES_MOST, sizeof *sites);
    size_t count = sites != NULL ? sxt_watch_list_sites(live->watch, order, sites, SITES_MOST) : 0, kept = 0;
    ask_names(live, sites, count, view->rows == NULL);
    *rows = calloc(count + 1, sizeof **rows);
    for (size_t i = 0; i < count && *rows != NULL; i++) {
        struct cli_live_row *row = &(*rows)[kept++];
        row->sums = sites[i];
        row->names = sxt_watch_find_names(live->watch, &sites[i], &row->stack);
        row->growth = view->mark != NULL ? (int64_t)(sites[i].live_bytes - marked_bytes(view->mark, &sites[i])) : 0;
        row->key = key_of(view, live, row);
    }
    free(sites);
    kept = merge(*rows, kept);
    size_t left = 0;
    for (size_t i = 0; i < kept; i++) /* by growth, there are also sites that have nothing and had nothing */
        if (order == view->order || (*rows)[i].sums.live_blocks > 0 || (*rows)[i].growth != 0)
            (*rows)[left++] = (*rows)[i];
    return left;
}

static uint64_t marked_thread(const struct cli_live_mark *mark, const sxt_watch_thread *thread)
{
    for (size_t i = 0; i < mark->thread_count; i++)
        if (mark->threads[i].process == thread->process && mark->threads[i].number == thread->number)
            return mark->threads[i].live_bytes;
    return 0;
}

static size_t list_threads(const struct cli_live_view *view, struct cli_live *live, struct cli_live_row **rows)
{
    sxt_watch_thread *threads = calloc(THREADS_MOST, sizeof *threads);
    size_t count = threads != NULL ? sxt_watch_list_threads(live->watch, view->order, threads, THREADS_MOST) : 0;
    *rows = calloc(count + 1, sizeof **rows);
    for (size_t i = 0; i < count && *rows != NULL; i++) {
        struct cli_live_row *row = &(*rows)[i];
        row->key = i;
        row->sums = (sxt_watch_site){threads[i].process,     threads[i].number,      threads[i].live_bytes,
                                     threads[i].live_blocks, threads[i].allocations, threads[i].allocated_bytes};
        row->growth =
            view->mark != NULL ? (int64_t)(threads[i].live_bytes - marked_thread(view->mark, &threads[i])) : 0;
        snprintf(row->label, sizeof row->label, "%.*s", (int)(threads[i].name.size < 48 ? threads[i].name.size : 48),
                 threads[i].name.data != NULL ? threads[i].name.data : "");
    }
    free(threads);
    return count;
}

void cli_live_view_refresh(struct cli_live_view *view, struct cli_live *live)
{
    struct cli_live_row *list = NULL;
    size_t count = view->key == CLI_LIVE_THREADS ? list_threads(view, live, &list) : list_sites(view, live, &list);
    struct sorting sorting = {view->order, view->by_growth && view->mark != NULL};
    if (list != NULL && count > 1)
        qsort_r(list, count, sizeof *list, by_value, &sorting);
    if (view->rows == NULL)
        view->rows = calloc(1, sizeof *view->rows);
    if (view->rows == NULL) {
        free(list);
        return;
    }
    free(view->rows->list);
    view->rows->list = list;
    view->rows->count = list != NULL ? count : 0;
    view->rows->figures = live->figures;
    view->rows->course_count = sxt_watch_get_course(live->watch, view->rows->course, CLI_LIVE_COURSE_MOST);
    uint64_t time;
    sxt_string marker = sxt_watch_last_marker(live->watch, &time);
    snprintf(view->rows->marker, sizeof view->rows->marker, "%.*s", (int)(marker.size < 60 ? marker.size : 60),
             marker.data != NULL ? marker.data : "");
}

/* --- the mark --- */

void cli_live_view_clear_mark(struct cli_live_view *view)
{
    if (view->mark != NULL) {
        free(view->mark->sites);
        free(view->mark->threads);
    }
    free(view->mark);
    view->mark = NULL;
    view->by_growth = false;
}

void cli_live_view_set_mark(struct cli_live_view *view, const struct cli_live *live)
{
    cli_live_view_clear_mark(view);
    struct cli_live_mark *mark = calloc(1, sizeof *mark);
    if (mark == NULL)
        return;
    mark->sites = malloc((live->figures.site_count + 1) * sizeof *mark->sites);
    mark->threads = calloc(THREADS_MOST, sizeof *mark->threads);
    if (mark->sites != NULL)
        mark->site_count =
            sxt_watch_list_sites(live->watch, SXT_WATCH_BY_LIVE_BYTES, mark->sites, live->figures.site_count);
    if (mark->threads != NULL)
        mark->thread_count = sxt_watch_list_threads(live->watch, SXT_WATCH_BY_LIVE_BYTES, mark->threads, THREADS_MOST);
    if (mark->site_count > 1)
        qsort(mark->sites, mark->site_count, sizeof *mark->sites, by_place);
    mark->time_us = live->figures.time_us;
    mark->live_bytes = live->figures.live_bytes;
    mark->live_blocks = live->figures.live_blocks;
    view->mark = mark;
}

void cli_live_view_free(struct cli_live_view *view)
{
    cli_live_view_clear_mark(view);
    if (view->rows != NULL)
        free(view->rows->list);
    free(view->rows);
    view->rows = NULL;
}
