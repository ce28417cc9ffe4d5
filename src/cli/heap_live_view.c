/*
 * heap_live_view.c: what the terminal of `heap --live` shows: figures, a course of live bytes, and a table. Keys change
 * what it shows.
 */
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap_live_rows.h"

#define HEADING     6  /* lines before the rows */
#define DETAIL_MOST 10 /* lines below them */
#define DETAIL_FROM 18 /* lines of a terminal that has them */

/* --- keys --- */

static void move_selection(struct cli_live_view *view, int key)
{
    size_t count = view->rows != NULL ? view->rows->count : 0, page = 10;
    if (key == CLI_KEY_UP)
        view->selected -= view->selected > 0;
    else if (key == CLI_KEY_DOWN)
        view->selected++;
    else if (key == CLI_KEY_PAGE_UP)
        view->selected -= view->selected < page ? view->selected : page;
    else if (key == CLI_KEY_PAGE_DOWN)
        view->selected += page;
    else
        view->selected = key == CLI_KEY_HOME ? 0 : count;
    if (view->selected >= count)
        view->selected = count > 0 ? count - 1 : 0;
}

static bool choose(struct cli_live_view *view, int key)
{
    static const char keys[] = "sfit", orders[] = "bcad";
    const char *found = key < 256 && key > 0 ? strchr(keys, key) : NULL;
    if (key == '\t') {
        view->key = (view->key + 1) % 4;
    } else if (found != NULL) {
        view->key = (enum cli_live_key)(found - keys);
    } else if (key > 0 && key < 256 && (found = strchr(orders, key)) != NULL) {
        view->order = (sxt_watch_order)(found - orders);
        view->by_growth = false;
    } else if (key == 'g' && view->mark != NULL) {
        view->by_growth = true;
    } else {
        return false;
    }
    view->selected = view->first = 0;
    return true;
}

bool cli_live_view_press(struct cli_live_view *view, struct cli_live *live, int key)
{
    bool is_help = view->shows_help;
    view->shows_help = false;
    if (key == '?' || key == 'h' || is_help) {
        view->shows_help = !is_help;
        return true;
    }
    if (key >= CLI_KEY_UP && key <= CLI_KEY_END) {
        move_selection(view, key);
        return true;
    }
    if (key == 'm') {
        cli_live_view_set_mark(view, live);
        view->by_growth = view->mark != NULL;
    } else if (key == 'M') {
        cli_live_view_clear_mark(view);
    } else if (!choose(view, key)) {
        return false;
    }
    cli_live_view_refresh(view, live);
    return true;
}

/* --- drawing --- */

static void draw_time(struct cli_screen *screen, uint64_t microseconds)
{
    uint64_t seconds = microseconds / 1000000;
    cli_screen_text(screen, "%" PRIu64 ":%02u:%02u", seconds / 3600, (unsigned)(seconds / 60 % 60),
                    (unsigned)(seconds % 60));
}

static uint64_t since(uint64_t time, uint64_t start)
{
    return time > start ? time - start : 0;
}

static sxt_string last_part(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    size_t start = slash != NULL ? (size_t)(slash - path.data) + 1 : 0;
    return (sxt_string){path.data + start, path.size - start};
}

static void draw_title(const struct cli_live_view *view, const struct cli_live *live, struct cli_screen *screen)
{
    const sxt_watch_figures *figures = &view->rows->figures;
    const char *state = live->figures.has_ended ? "ended" : view->is_paused ? "paused" : "running";
    cli_screen_go(screen, 0);
    cli_screen_style(screen, CLI_REVERSE);
    cli_screen_text(screen, " heap of ");
    size_t columns = cli_screen_columns(screen);
    sxt_string name = {live->name, strlen(live->name)};
    size_t most = columns > 50 ? columns - 48 : 8;
    cli_screen_name(screen, name.size > most ? last_part(name) : name, most);
    if (figures->pid != 0)
        cli_screen_text(screen, "  process %" PRIu64, figures->pid);
    else
        cli_screen_text(screen, "  %zu of %zu processes run", figures->running_count, figures->process_count);
    cli_screen_pad(screen, columns > 18 ? columns - 18 : 0);
    draw_time(screen, since(figures->time_us, figures->start_us));
    cli_screen_text(screen, "  %s", state);
    cli_screen_pad(screen, columns);
}

static struct cli_number per_second(double value)
{
    return cli_thousands((double)(uint64_t)(value + 0.5));
}

static void draw_figures(const struct cli_live_view *view, struct cli_screen *screen)
{
    const sxt_watch_figures *figures = &view->rows->figures;
    cli_screen_go(screen, 1);
    cli_screen_style(screen, CLI_BOLD);
    cli_screen_text(screen, " live %s", cli_bytes((double)figures->live_bytes).text);
    cli_screen_style(screen, CLI_PLAIN);
    cli_screen_text(screen, "  %s bytes in %s block%s   peak %s%s", cli_thousands((double)figures->live_bytes).text,
                    cli_thousands((double)figures->live_blocks).text, figures->live_blocks == 1 ? "" : "s",
                    cli_bytes((double)figures->peak_bytes).text,
                    figures->sample_period != 0 ? "   (estimated from a sample)" : "");
    cli_screen_go(screen, 2);
    cli_screen_text(screen, " %s allocations/s   %s frees/s   %s/s   %s allocations in all",
                    per_second(figures->allocations_per_s).text, per_second(figures->frees_per_s).text,
                    cli_bytes(figures->allocated_bytes_per_s).text, cli_thousands((double)figures->allocations).text);
    if (figures->dropped > 0)
        cli_screen_text(screen, "   %s events were lost", cli_thousands((double)figures->dropped).text);
    if (figures->is_behind)
        cli_screen_text(screen, "   behind: record has not taken out the newest events");
}

/* The most live bytes in column COLUMN of COLUMNS; what has no point has what was before. */
static void spread(const struct cli_live_rows *rows, uint64_t *values, size_t columns, uint64_t *most)
{
    uint64_t start = rows->course[0].time_us, end = rows->figures.time_us > start ? rows->figures.time_us : start + 1;
    uint64_t last = rows->course[rows->course_count - 1].time_us;
    end = end > last ? end : last + 1;
    memset(values, 0, columns * sizeof *values);
    for (size_t i = 0; i < rows->course_count; i++) {
        const sxt_watch_point *point = &rows->course[i];
        uint64_t until = i + 1 < rows->course_count ? rows->course[i + 1].time_us : end;
        size_t from = (size_t)((double)(point->time_us - start) / (double)(end - start) * (double)columns);
        size_t to = (size_t)((double)(until - start) / (double)(end - start) * (double)columns);
        uint64_t bytes = i + 1 < rows->course_count ? point->live_bytes : rows->figures.live_bytes;
        for (size_t k = from; k <= to && k < columns; k++)
            values[k] = k == from && point->live_bytes > values[k] ? point->live_bytes
                        : bytes > values[k]                        ? bytes
                                                                   : values[k];
        *most = point->live_bytes > *most ? point->live_bytes : *most;
    }
}

static bool has_utf8(void)
{
    setlocale(LC_CTYPE, "");
    bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    setlocale(LC_CTYPE, "C");
    return is_utf8;
}

static void draw_course(const struct cli_live_view *view, struct cli_screen *screen)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const signs[] = {" ", ".", ".", ":", ":", "=", "=", "#", "#"};
    const char *const *levels = has_utf8() ? blocks : signs;
    size_t columns = cli_screen_columns(screen) > 2 ? cli_screen_columns(screen) - 2 : 0;
    uint64_t values[1000], most = 0;
    columns = columns < 1000 ? columns : 1000;
    cli_screen_go(screen, 3);
    if (view->rows->course_count == 0 || columns == 0)
        return;
    spread(view->rows, values, columns, &most);
    cli_screen_text(screen, " ");
    for (size_t i = 0; i < columns; i++) {
        unsigned level = most == 0 ? 0 : (unsigned)((double)values[i] / (double)most * 8 + 0.5);
        level = level > 8 ? 8 : level;
        cli_screen_text(screen, "%s", levels[values[i] > 0 && level == 0 ? 1 : level]);
    }
}

static void draw_mark(const struct cli_live_view *view, struct cli_screen *screen)
{
    const sxt_watch_figures *figures = &view->rows->figures;
    cli_screen_go(screen, 4);
    if (view->mark != NULL) {
        int64_t bytes = (int64_t)(figures->live_bytes - view->mark->live_bytes);
        int64_t blocks = (int64_t)(figures->live_blocks - view->mark->live_blocks);
        cli_screen_text(screen, " since the mark at ");
        draw_time(screen, since(view->mark->time_us, figures->start_us));
        cli_screen_text(screen, ": %s bytes in %s blocks", cli_change((double)bytes).text,
                        cli_change((double)blocks).text);
    } else if (figures->marker_count > 0) {
        cli_screen_text(screen, " %s marker%s of the program, the last one: ",
                        cli_thousands((double)figures->marker_count).text, figures->marker_count == 1 ? "" : "s");
        cli_screen_name(screen, (sxt_string){view->rows->marker, strlen(view->rows->marker)}, 60);
    }
}

/* Whether there is room for a column. That of the order is always shown. */
static bool has_column(const struct cli_live_view *view, const struct cli_screen *screen, int column)
{
    static const size_t least[] = {0, 40, 68, 100};
    size_t columns = cli_screen_columns(screen), of_mark = view->mark != NULL ? 15 : 0;
    return columns >= least[column] + of_mark || (!view->by_growth && (int)view->order == column);
}

/* The column that rows are sorted by is marked. */
static void draw_heading(const struct cli_live_view *view, struct cli_screen *screen)
{
    static const char *const keys[] = {"site", "function", "file", "thread"};
    static const char *const names[] = {"live", "blocks", "allocations", "allocated"};
    static const int widths[] = {10, 12, 13, 10};
    bool by_growth = view->by_growth && view->mark != NULL;
    cli_screen_go(screen, HEADING - 1);
    cli_screen_style(screen, CLI_REVERSE);
    for (int i = 0; i < 4; i++) {
        char name[16];
        if (!has_column(view, screen, i))
            continue;
        snprintf(name, sizeof name, "%s%s", !by_growth && (int)view->order == i ? "*" : "", names[i]);
        cli_screen_text(screen, "%*s ", widths[i], name);
        if (i == 0)
            cli_screen_text(screen, "%6s ", "%");
    }
    if (view->mark != NULL)
        cli_screen_text(screen, "%14s ", by_growth ? "*since mark" : "since mark");
    cli_screen_text(screen, " %s", keys[view->key]);
    cli_screen_pad(screen, cli_screen_columns(screen));
}

static void draw_function(struct cli_screen *screen, sxt_string name, const struct cli_live *live)
{
    char *shortened = live->look.is_wide || name.size == 0 ? NULL : malloc(name.size);
    if (shortened != NULL)
        name = (sxt_string){shortened, sxt_trace_shorten_name(name, shortened)};
    cli_screen_name(screen, name.size > 0 ? name : (sxt_string){"?", 1}, SIZE_MAX);
    free(shortened);
}

static void draw_frame(struct cli_screen *screen, const sxt_trace_frame *frame, bool is_whole,
                       const struct cli_live *live)
{
    draw_function(screen, frame->function, live);
    sxt_string file = is_whole && frame->line > 0 ? frame->file : last_part(frame->file);
    bool is_named = frame->function.size > file.size && file.size > 0 &&
                    memcmp(frame->function.data, file.data, file.size) == 0 && frame->function.data[file.size] == '+';
    if (file.size == 0 || is_named)
        return;
    cli_screen_text(screen, "  ");
    cli_screen_name(screen, file, SIZE_MAX);
    if (frame->line > 0)
        cli_screen_text(screen, ":%u", frame->line);
}

/* The first frame, and then its callers as far as there is room. */
static void draw_site(struct cli_screen *screen, const struct cli_live_row *row, const struct cli_live *live)
{
    sxt_heap_shown_frame frames[16];
    uint32_t left;
    size_t count =
        row->names != NULL ? sxt_trace_show_stack(row->names, row->stack, &live->look.view, frames, 16, &left) : 0;
    if (live->figures.process_count > 1)
        cli_screen_text(screen, "[%" PRIu64 "] ", sxt_watch_process_id(live->watch, row->sums.process));
    if (count == 0)
        cli_screen_text(screen, "stack %u", row->sums.stack);
    for (size_t i = 0; i < count && cli_screen_left(screen) > 0; i++) {
        if (i == 0) {
            draw_frame(screen, &frames[i].frame, false, live);
            continue;
        }
        cli_screen_text(screen, " < ");
        draw_function(screen, frames[i].frame.function, live);
    }
}

static void draw_label(const struct cli_live_view *view, struct cli_screen *screen, const struct cli_live_row *row,
                       const struct cli_live *live)
{
    sxt_trace_frame frame;
    bool is_known = row->names != NULL && sxt_trace_get_frame(row->names, row->stack, 0, &frame);
    if (view->key == CLI_LIVE_SITES) {
        draw_site(screen, row, live);
    } else if (view->key == CLI_LIVE_THREADS) {
        if (live->figures.process_count > 1)
            cli_screen_text(screen, "[%" PRIu64 "] ", sxt_watch_process_id(live->watch, row->sums.process));
        cli_screen_text(screen, "%u  ", row->sums.stack);
        cli_screen_name(screen, (sxt_string){row->label, strlen(row->label)}, SIZE_MAX);
    } else if (!is_known) {
        cli_screen_text(screen, "(stacks whose names are not known yet)");
    } else if (view->key == CLI_LIVE_FUNCTIONS) {
        draw_function(screen, frame.function, live);
    } else {
        cli_screen_path(screen, frame.file.size > 0 ? frame.file : (sxt_string){"?", 1});
    }
}

static void draw_row(const struct cli_live_view *view, struct cli_screen *screen, size_t number,
                     const struct cli_live *live)
{
    const struct cli_live_row *row = &view->rows->list[number];
    uint64_t live_bytes = view->rows->figures.live_bytes;
    double percent = live_bytes > 0 ? (double)row->sums.live_bytes * 100 / (double)live_bytes : 0;
    if (number == view->selected && view->key == CLI_LIVE_SITES)
        cli_screen_style(screen, CLI_BOLD);
    cli_screen_text(screen, "%10s %6.1f ", cli_bytes((double)row->sums.live_bytes).text, percent);
    if (has_column(view, screen, SXT_WATCH_BY_LIVE_BLOCKS))
        cli_screen_text(screen, "%12s ", cli_thousands((double)row->sums.live_blocks).text);
    if (has_column(view, screen, SXT_WATCH_BY_ALLOCATIONS))
        cli_screen_text(screen, "%13s ", cli_thousands((double)row->sums.allocations).text);
    if (has_column(view, screen, SXT_WATCH_BY_ALLOCATED_BYTES))
        cli_screen_text(screen, "%10s ", cli_bytes((double)row->sums.allocated_bytes).text);
    if (view->mark != NULL)
        cli_screen_text(screen, "%14s ", row->growth == 0 ? "0" : cli_change((double)row->growth).text);
    cli_screen_text(screen, "%s", number == view->selected && view->key == CLI_LIVE_SITES ? ">" : " ");
    draw_label(view, screen, row, live);
}

/* The frames of the selected site, from line FIRST up to END. */
static void draw_detail(const struct cli_live_view *view, struct cli_screen *screen, size_t first, size_t end,
                        const struct cli_live *live)
{
    const struct cli_live_row *row = &view->rows->list[view->selected];
    sxt_heap_shown_frame frames[DETAIL_MOST];
    uint32_t left = 0;
    size_t most = end - first - 1;
    size_t count =
        row->names != NULL ? sxt_trace_show_stack(row->names, row->stack, &live->look.view, frames, most, &left) : 0;
    cli_screen_go(screen, first);
    cli_screen_style(screen, CLI_DIM);
    cli_screen_text(screen, " stack %u", row->sums.stack);
    if (left > 0)
        cli_screen_text(screen, ", the first %zu frames", count);
    for (size_t i = 0; i < count; i++) {
        cli_screen_go(screen, first + 1 + i);
        cli_screen_text(screen, "   ");
        draw_frame(screen, &frames[i].frame, true, live);
    }
}

static void draw_rows(struct cli_live_view *view, struct cli_screen *screen, const struct cli_live *live)
{
    size_t lines = cli_screen_lines(screen), end = lines > 0 ? lines - 1 : 0, count = view->rows->count;
    view->selected = count == 0 ? 0 : view->selected < count ? view->selected : count - 1;
    bool has_detail = view->key == CLI_LIVE_SITES && lines >= DETAIL_FROM && count > 0;
    size_t detail = has_detail ? (lines / 3 < DETAIL_MOST ? lines / 3 : DETAIL_MOST) : 0;
    size_t room = end > HEADING + detail ? end - HEADING - detail : 0;
    if (view->selected < view->first)
        view->first = view->selected;
    if (room > 0 && view->selected >= view->first + room)
        view->first = view->selected - room + 1;
    if (view->first + room > count)
        view->first = count > room ? count - room : 0;
    for (size_t i = 0; i < room && view->first + i < count; i++) {
        cli_screen_go(screen, HEADING + i);
        draw_row(view, screen, view->first + i, live);
    }
    if (has_detail)
        draw_detail(view, screen, end - detail, end, live);
    if (count == 0 && room > 0) {
        cli_screen_go(screen, HEADING);
        cli_screen_text(screen, " nothing is live");
    }
}

static void draw_help(struct cli_screen *screen)
{
    static const char *const lines[] = {
        "s  sites          f  functions      i  files         t  threads       Tab  next",
        "",
        "sorted by:",
        "b  live bytes     c  live blocks    a  allocations   d  allocated bytes",
        "g  growth since the mark",
        "",
        "m  set a mark: rows show the difference since then   M  remove it",
        "p  pause, go on   up, down, page up, page down       choose a site",
        "Ctrl-L  draw again                                   q  quit",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        cli_screen_go(screen, HEADING + i);
        cli_screen_text(screen, "  %s", lines[i]);
    }
}

static void draw_keys(const struct cli_live *live, struct cli_screen *screen)
{
    size_t lines = cli_screen_lines(screen);
    if (lines < 2)
        return;
    cli_screen_go(screen, lines - 1);
    cli_screen_style(screen, CLI_DIM);
    cli_screen_text(screen,
                    live->figures.has_ended
                        ? " the recording has ended: q quit  s sites  f functions  i files  t threads"
                        : " q quit  ? help  p pause  m mark  s sites  f functions  i files  t threads  b c a d sort");
}

void cli_live_view_draw(struct cli_live_view *view, const struct cli_live *live, struct cli_screen *screen)
{
    if (view->rows == NULL)
        return;
    draw_title(view, live, screen);
    draw_figures(view, screen);
    draw_course(view, screen);
    draw_mark(view, screen);
    draw_heading(view, screen);
    if (view->shows_help)
        draw_help(screen);
    else
        draw_rows(view, screen, live);
    draw_keys(live, screen);
}
