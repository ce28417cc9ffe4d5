/* heap_live.h: `sextant heap --live`: the heap of a program that is being recorded. */
#ifndef SXT_CLI_HEAP_LIVE_H
#define SXT_CLI_HEAP_LIVE_H

#include <sextant/live.h>

#include "cli/heap.h"

struct cli_live {
    const char *name; /* as given: a file or a process */
    sxt_watch *watch;
    sxt_watch_figures figures;
    unsigned interval_ms;
    uint64_t limit; /* of sites in JSON */
    struct cli_heap_look look;
};

/* --- heap_live.c --- */

int cli_heap_live(const struct cli_arguments *arguments);

/* Reads what is new. */
bool cli_live_update(struct cli_live *live, sxt_error *error);

/* On standard error: that the recording has ended, and what comes next. */
void cli_live_say_end(const struct cli_live *live);

/* --- heap_live_rows.c, heap_live_view.c: what is on the screen --- */

enum cli_live_key { CLI_LIVE_SITES, CLI_LIVE_FUNCTIONS, CLI_LIVE_FILES, CLI_LIVE_THREADS };

/* What the terminal shows. All zero at first. */
struct cli_live_view {
    enum cli_live_key key;
    sxt_watch_order order;
    bool by_growth; /* since the mark, in place of the order */
    bool is_paused;
    bool shows_help;
    size_t selected; /* row */
    size_t first;    /* row that is shown first */
    struct cli_live_rows *rows;
    struct cli_live_mark *mark; /* NULL: none is set */
};

/* Reads the rows again, from what the watch has by now. */
void cli_live_view_refresh(struct cli_live_view *view, struct cli_live *live);

/* A mark is set at what the watch has by now, or removed. */
void cli_live_view_set_mark(struct cli_live_view *view, const struct cli_live *live);
void cli_live_view_clear_mark(struct cli_live_view *view);

/* Handles a key that is not about the program as a whole. False if it means nothing. */
bool cli_live_view_press(struct cli_live_view *view, struct cli_live *live, int key);

void cli_live_view_free(struct cli_live_view *view);

struct cli_screen;

/* Fills the screen. */
void cli_live_view_draw(struct cli_live_view *view, const struct cli_live *live, struct cli_screen *screen);

/* --- heap_live_screen.c: lines, of which only those that have changed are written --- */

/* Keys that are not characters. */
enum { CLI_KEY_UP = 256, CLI_KEY_DOWN, CLI_KEY_PAGE_UP, CLI_KEY_PAGE_DOWN, CLI_KEY_HOME, CLI_KEY_END };

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_REVERSE };

/* NULL if memory is short. */
struct cli_screen *cli_screen_new(size_t columns, size_t lines);
void cli_screen_free(struct cli_screen *screen);
size_t cli_screen_columns(const struct cli_screen *screen);
size_t cli_screen_lines(const struct cli_screen *screen);

/* The screen becomes empty, and everything that follows goes to LINE. */
void cli_screen_clear(struct cli_screen *screen);
void cli_screen_go(struct cli_screen *screen, size_t line);
/* What the current line is drawn in; the rest of the line too. */
void cli_screen_style(struct cli_screen *screen, enum cli_style style);
/* Text is cut at the end of the line. What is not printable is replaced. */
void cli_screen_text(struct cli_screen *screen, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_screen_name(struct cli_screen *screen, sxt_string name, size_t most);
/* A path that is too long is cut at its beginning. */
void cli_screen_path(struct cli_screen *screen, sxt_string path);
/* Spaces up to a column; nothing if the line is longer. */
void cli_screen_pad(struct cli_screen *screen, size_t column);
size_t cli_screen_left(const struct cli_screen *screen);

/* What turns the last screen that was taken into this one: *SIZE bytes, valid until the next call. */
const char *cli_screen_take(struct cli_screen *screen, size_t *size);

/* --- heap_live_terminal.c --- */

/* Runs until the user quits, or the recording ends and the user has seen it. Returns the exit status. */
int cli_live_run_terminal(struct cli_live *live);

#endif
