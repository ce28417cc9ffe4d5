/*
 * heap_live_screen.c: the lines of a terminal. Only those that have changed are written, all of them at once, so that a
 * slow terminal has little to do.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/heap_live.h"

#define COLUMNS_MOST 1000
#define LINES_MOST   500
#define BYTES        4 /* of a character, at most */

struct cli_screen {
    size_t columns, lines;
    size_t row_size;   /* bytes of a line, with its end */
    char *now, *shown; /* what is drawn, and what the terminal has */
    size_t line, used; /* where text goes: the line, and the columns of it that are used */
    size_t size;       /* bytes of the line */
    struct sxt_buffer out;
};

static const char *const styles[] = {"\x1b[0m", "\x1b[0;1m", "\x1b[0;2m", "\x1b[0;7m"};

struct cli_screen *cli_screen_new(size_t columns, size_t lines)
{
    struct cli_screen *screen = calloc(1, sizeof *screen);
    if (screen == NULL)
        return NULL;
    screen->columns = columns < COLUMNS_MOST ? columns : COLUMNS_MOST;
    screen->lines = lines < LINES_MOST ? lines : LINES_MOST;
    screen->row_size = screen->columns * BYTES + 256; /* with styles */
    screen->now = calloc(screen->lines + 1, screen->row_size);
    screen->shown = calloc(screen->lines + 1, screen->row_size);
    sxt_buffer_init(&screen->out, SIZE_MAX / 4);
    if (screen->now == NULL || screen->shown == NULL) {
        cli_screen_free(screen);
        return NULL;
    }
    for (size_t i = 0; i < screen->lines; i++)
        screen->shown[i * screen->row_size] = 1; /* not what any line is */
    return screen;
}

void cli_screen_free(struct cli_screen *screen)
{
    if (screen == NULL)
        return;
    free(screen->now);
    free(screen->shown);
    sxt_buffer_free(&screen->out);
    free(screen);
}

size_t cli_screen_columns(const struct cli_screen *screen)
{
    return screen->columns;
}

size_t cli_screen_lines(const struct cli_screen *screen)
{
    return screen->lines;
}

void cli_screen_clear(struct cli_screen *screen)
{
    memset(screen->now, 0, screen->lines * screen->row_size);
    cli_screen_go(screen, 0);
}

void cli_screen_go(struct cli_screen *screen, size_t line)
{
    screen->line = line;
    screen->used = screen->size = 0;
}

size_t cli_screen_left(const struct cli_screen *screen)
{
    return screen->used < screen->columns ? screen->columns - screen->used : 0;
}

static void put(struct cli_screen *screen, const char *bytes, size_t size)
{
    if (screen->line >= screen->lines || screen->size + size >= screen->row_size)
        return;
    memcpy(screen->now + screen->line * screen->row_size + screen->size, bytes, size);
    screen->size += size;
}

void cli_screen_style(struct cli_screen *screen, enum cli_style style)
{
    put(screen, styles[style], strlen(styles[style]));
}

/* The bytes of the character that begins at TEXT; 0 if it is not valid UTF-8. */
static size_t character_size(const unsigned char *text, size_t left)
{
    size_t size = text[0] < 0x80                      ? 1
                  : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                  : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                  : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                      : 0;
    if (size == 0 || size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

/* Control characters, also those of C1, and the marks that change the direction of text. */
static bool is_printable(const unsigned char *text, size_t size)
{
    if (size == 1)
        return text[0] >= 0x20 && text[0] != 0x7f;
    if (size == 2)
        return text[0] != 0xc2 || text[1] >= 0xa0;
    return !(size == 3 && text[0] == 0xe2 &&
             ((text[1] == 0x80 && text[2] >= 0x8b) || (text[1] == 0x81 && text[2] >= 0xa0)));
}

/* Adds text, at most MOST columns of it. */
static void put_text(struct cli_screen *screen, const char *text, size_t size, size_t most)
{
    size_t room = cli_screen_left(screen);
    room = room < most ? room : most;
    for (size_t at = 0; at < size && room > 0; room--) {
        const unsigned char *here = (const unsigned char *)text + at;
        size_t bytes = character_size(here, size - at);
        bool is_good = bytes > 0 && is_printable(here, bytes);
        put(screen, is_good ? (const char *)here : "?", is_good ? bytes : 1);
        at += bytes > 0 ? bytes : 1;
        screen->used++;
    }
}

void cli_screen_text(struct cli_screen *screen, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size > 0)
        put_text(screen, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1, SIZE_MAX);
}

void cli_screen_name(struct cli_screen *screen, sxt_string name, size_t most)
{
    put_text(screen, name.data, name.size, most);
}

void cli_screen_path(struct cli_screen *screen, sxt_string path)
{
    size_t room = cli_screen_left(screen), characters = 0, start = path.size;
    for (size_t i = 0; i < path.size; i++)
        characters += ((unsigned char)path.data[i] & 0xc0) != 0x80;
    if (characters > room && room > 3) {
        for (size_t kept = 0; start > 0 && kept < room - 3; kept += ((unsigned char)path.data[start] & 0xc0) != 0x80)
            start--;
        cli_screen_text(screen, "...");
        path = (sxt_string){path.data + start, path.size - start};
    }
    cli_screen_name(screen, path, SIZE_MAX);
}

void cli_screen_pad(struct cli_screen *screen, size_t column)
{
    while (screen->used < column && screen->used < screen->columns)
        put_text(screen, " ", 1, 1);
}

const char *cli_screen_take(struct cli_screen *screen, size_t *size)
{
    sxt_buffer_clear(&screen->out);
    for (size_t i = 0; i < screen->lines; i++) {
        char *now = screen->now + i * screen->row_size, *shown = screen->shown + i * screen->row_size;
        if (memcmp(now, shown, screen->row_size) == 0)
            continue;
        char place[32];
        int length = snprintf(place, sizeof place, "\x1b[%zu;1H", i + 1);
        sxt_buffer_append(&screen->out, place, (size_t)length);
        sxt_buffer_append(&screen->out, now, strlen(now));
        sxt_buffer_append(&screen->out, "\x1b[0m\x1b[K", 7);
        memcpy(shown, now, screen->row_size);
    }
    *size = screen->out.size;
    return (const char *)screen->out.data;
}
