/* terminal.c: names that are cut to fit on a line of the terminal. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define USUAL_WIDTH 80
#define LEAST_WIDTH 8 /* of a name that is cut */

size_t cli_terminal_width(const struct cli_arguments *arguments)
{
    struct winsize size;
    if (cli_given(arguments, "wide") || !isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    return width > 0 && width < 10000 ? (size_t)width : USUAL_WIDTH;
}

/* The columns of the character that begins with BYTE: a control character is shown as \xNN, the rest of UTF-8 as is. */
static size_t columns_of(unsigned char byte)
{
    return byte < 0x20 || byte == 0x7f ? 4 : (byte & 0xc0) != 0x80;
}

size_t cli_columns(sxt_string name)
{
    size_t columns = 0;
    for (size_t i = 0; i < name.size; i++)
        columns += columns_of((unsigned char)name.data[i]);
    return columns;
}

void cli_print_cut(struct sxt_emit *emit, sxt_string name, size_t width)
{
    size_t room = width < LEAST_WIDTH ? LEAST_WIDTH : width, columns = 0, end = 0;
    if (width == 0 || cli_columns(name) <= room) {
        sxt_emit_name(emit, name);
        return;
    }
    while (end < name.size && columns + columns_of((unsigned char)name.data[end]) <= room - 3)
        columns += columns_of((unsigned char)name.data[end++]);
    sxt_emit_name(emit, (sxt_string){name.data, end});
    sxt_emit_text(emit, "...");
}

void cli_print_cut_path(struct sxt_emit *emit, sxt_string path, size_t width)
{
    size_t room = width < LEAST_WIDTH ? LEAST_WIDTH : width, columns = 0, start = path.size;
    if (width == 0 || cli_columns(path) <= room) {
        sxt_emit_name(emit, path);
        return;
    }
    while (start > 0 && columns + columns_of((unsigned char)path.data[start - 1]) <= room - 3)
        columns += columns_of((unsigned char)path.data[--start]);
    /* Not inside a character. */
    while (start < path.size && ((unsigned char)path.data[start] & 0xc0) == 0x80)
        start++;
    sxt_emit_text(emit, "...");
    sxt_emit_name(emit, (sxt_string){path.data + start, path.size - start});
}
