/*
 * heap_sources.c: lines of source code beside the frames of a heap page. Source code is confidential, so a page has it
 * only if it is asked for.
 *
 * Block "sources" has the list of strings: for each excerpt its lines, with a newline after each; then the columns of
 * the number of the file's name among the strings of the tree, and of the first line.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "report/columns.h"
#include "report/heap_page.h"

#define AROUND        3 /* lines before and after */
#define EXCERPTS_MOST 20000
#define LINE_MOST     500 /* bytes of a line that are shown */
#define FILE_MOST     ((size_t)64 << 20)

/* A line of a file that a frame is in. */
struct place {
    uint32_t file, line;
};

struct excerpts {
    struct sxt_string_column texts;
    struct sxt_column files, lines;
    struct sxt_buffer last[2]; /* the string column needs the one before */
    uint32_t count;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* The places of all frames with a line, by file. */
static struct place *list_places(const struct sxt_heap_calls *calls, size_t *count)
{
    struct place *places = malloc(calls->frame_count * sizeof *places);
    *count = 0;
    for (size_t i = 1; i < calls->frame_count && places != NULL; i++) {
        uint32_t file = calls->functions[calls->frames[i].function].file;
        if (file != 0 && calls->frames[i].line > 0)
            places[(*count)++] = (struct place){file, calls->frames[i].line};
    }
    if (places != NULL)
        qsort(places, *count, sizeof *places, compare_places);
    return places;
}

/* Appends a line without its end, and a newline. */
static void add_line(struct sxt_buffer *out, const char *line, size_t size)
{
    if (size > 0 && line[size - 1] == '\r')
        size--;
    if (size > LINE_MOST)
        size = LINE_MOST;
    sxt_buffer_append(out, line, size);
    sxt_buffer_append(out, "\n", 1);
}

/* Adds the lines from FIRST to LAST of a file whose lines up to *NUMBER, where *AT is, were passed. */
static void add_excerpt(struct excerpts *out, const struct sxt_file *file, uint32_t name, uint32_t first, uint32_t last,
                        size_t *at, uint32_t *number)
{
    const char *data = (const char *)file->data;
    struct sxt_buffer *text = &out->last[out->count % 2];
    text->size = 0;
    while (*at < file->size && *number <= last) {
        const char *end = memchr(data + *at, '\n', file->size - *at);
        size_t size = end != NULL ? (size_t)(end - data) - *at : file->size - *at;
        if (*number >= first)
            add_line(text, data + *at, size);
        *at += size + 1;
        ++*number;
    }
    if (text->size == 0)
        return;
    sxt_string_column_add(&out->texts, (sxt_string){(const char *)text->data, text->size});
    sxt_column_add(&out->files, name);
    sxt_column_add(&out->lines, first);
    out->count++;
}

/* Lines that are near each other are one excerpt. */
static void add_file(struct excerpts *out, const struct sxt_file *file, const struct place *places, size_t count)
{
    size_t at = 0;
    uint32_t number = 1;
    for (size_t i = 0; i < count && out->count < EXCERPTS_MOST;) {
        uint32_t first = places[i].line > AROUND ? places[i].line - AROUND : 1, last = places[i].line;
        for (i++; i < count && places[i].line - last <= 2 * AROUND + 1; i++)
            last = places[i].line;
        if (first < number)
            first = number;
        add_excerpt(out, file, places[i - 1].file, first, last > UINT32_MAX - AROUND ? last : last + AROUND, &at,
                    &number);
    }
}

static void add_files(struct excerpts *out, const struct sxt_heap_calls *calls, const struct place *places,
                      size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && places[next].file == places[i].file;)
            next++;
        sxt_string name = sxt_strings_get(&calls->strings, places[i].file);
        struct sxt_file file;
        char *path = name.data[0] == '/' ? strndup(name.data, name.size) : NULL;
        if (path != NULL && sxt_file_open(&file, path, NULL) == SXT_OK) {
            if (file.size <= FILE_MOST && memchr(file.data, 0, file.size) == NULL)
                add_file(out, &file, places + i, next - i);
            sxt_file_close(&file);
        }
        free(path);
    }
}

int sxt_heap_page_add_sources(struct sxt_page *page, const struct sxt_heap_calls *calls, sxt_error *error)
{
    size_t count;
    struct place *places = list_places(calls, &count);
    struct excerpts excerpts = {.count = 0};
    struct sxt_buffer table;
    if (places == NULL)
        return sxt_fail_memory(error, calls->frame_count * sizeof *places);
    sxt_buffer_init(&table, SIZE_MAX);
    sxt_buffer_init(&excerpts.last[0], SIZE_MAX);
    sxt_buffer_init(&excerpts.last[1], SIZE_MAX);
    sxt_string_column_init(&excerpts.texts);
    sxt_column_init(&excerpts.files);
    sxt_column_init(&excerpts.lines);
    add_files(&excerpts, calls, places, count);
    sxt_string_column_finish(&excerpts.texts, &table);
    sxt_column_finish(&excerpts.files, &table);
    sxt_column_finish(&excerpts.lines, &table);
    table.failed |= excerpts.last[0].failed || excerpts.last[1].failed;
    int status = sxt_page_add_block(page, "sources", &table, error);
    sxt_buffer_free(&table);
    sxt_buffer_free(&excerpts.last[0]);
    sxt_buffer_free(&excerpts.last[1]);
    free(places);
    return status;
}
