/*
 * fuzz_text.c: any bytes as text to be symbolized. Where no file can be found, the very bytes come out, in whatever
 * pieces they went in. With a kernel, names are added and nothing is lost. With archives that the caller has, it gets
 * each line once, after its answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/ksym_writer.h>

#include "base/buffer.h"
#include "profile/profile.h"
#include "profile/text_source.h"
#include "property.h"

static bool keep(void *data, const char *text, size_t size)
{
    sxt_buffer_append(data, text, size);
    return true;
}

static char folder[] = "/tmp/sextant-fuzz-XXXXXX";
static char kernel[sizeof folder + 16];

static void remove_kernel(void)
{
    unlink(kernel);
    rmdir(folder);
}

/* A blob for oopses, as a file: made once. */
static void make_kernel(void)
{
    static const char text[] = "ffffffff81000000 T _text\nffffffff81001000 t f\nffffffff81002000 t f\n"
                               "ffffffffa0000000 t f\t[m]\nffffffffa0001000 T g\t[m]\n";
    sxt_ksym_writer *writer;
    if (kernel[0] != 0)
        return;
    SXT_HOLDS(mkdtemp(folder) != NULL);
    snprintf(kernel, sizeof kernel, "%s/vmlinux.ksym", folder);
    SXT_HOLDS(sxt_ksym_writer_new(NULL, &writer, NULL) == SXT_OK);
    SXT_HOLDS(sxt_ksym_writer_add_text(writer, text, sizeof text - 1, NULL) == SXT_OK);
    SXT_HOLDS(sxt_ksym_writer_write_path(writer, kernel, NULL, NULL) == SXT_OK);
    sxt_ksym_writer_free(&writer);
    atexit(remove_kernel);
}

static void filter(const uint8_t *data, size_t size, const char *directory, struct sxt_buffer *out)
{
    sxt_modules_options where;
    sxt_modules *modules;
    sxt_text_filter *filter;
    sxt_modules_options_init(&where);
    where.no_local = true;
    where.directories = &directory;
    where.directory_count = directory != NULL;
    sxt_buffer_init(out, (size_t)64 << 20);
    SXT_HOLDS(sxt_modules_open(&where, &modules, NULL) == SXT_OK);
    SXT_HOLDS(sxt_text_filter_open(modules, keep, out, &filter, NULL) == SXT_OK);
    size_t piece = size > 0 ? data[0] % 7 + 1 : 1;
    for (size_t at = 0; at < size; at += piece)
        SXT_HOLDS(sxt_text_filter_feed(filter, (const char *)data + at, size - at < piece ? size - at : piece, NULL) ==
                  SXT_OK);
    SXT_HOLDS(sxt_text_filter_end(filter, NULL) == SXT_OK);
    sxt_text_filter_close(&filter);
    sxt_modules_close(&modules);
}

/* --- archives of the caller --- */

#define LINE_MOST ((size_t)32 << 10)

struct lines {
    sxt_archive *archive;
    size_t begun, ended;
    bool is_open;
};

static const sxt_archive *find(void *data, sxt_string name, sxt_string build_id)
{
    const struct lines *lines = data;
    return name.size + build_id.size > 0 ? lines->archive : NULL;
}

static void begin(void *data)
{
    struct lines *lines = data;
    lines->begun++;
    lines->is_open = true;
}

static void answer(void *data, sxt_string module, uint64_t address, const sxt_frame *frames, size_t count)
{
    const struct lines *lines = data;
    (void)module;
    (void)address;
    SXT_HOLDS(lines->is_open && count > 0 && frames[0].function.size > 0);
}

static void end(void *data, const char *line, size_t size)
{
    struct lines *lines = data;
    SXT_HOLDS(lines->is_open && (size == 0 || memchr(line, '\n', size) == NULL));
    lines->is_open = false;
    lines->ended++;
}

static bool drop(void *data, const char *text, size_t size)
{
    (void)data;
    return text != NULL || size == 0;
}

static void name_lines(const uint8_t *data, size_t size)
{
    struct lines lines = {.begun = 0};
    const struct sxt_text_source source = {.find = find, .begin = begin, .answer = answer, .end = end, .data = &lines};
    sxt_modules *modules;
    sxt_text_filter *filter;
    size_t count = size > 0 && data[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        count += data[i] == '\n';
    SXT_HOLDS(sxt_archive_open_path(kernel, NULL, &lines.archive, NULL) == SXT_OK);
    SXT_HOLDS(sxt_modules_open_source(&source, &modules, NULL) == SXT_OK);
    SXT_HOLDS(sxt_text_filter_open(modules, drop, NULL, &filter, NULL) == SXT_OK);
    SXT_HOLDS(sxt_text_filter_feed(filter, (const char *)data, size, NULL) == SXT_OK);
    SXT_HOLDS(sxt_text_filter_end(filter, NULL) == SXT_OK);
    SXT_HOLDS(size > LINE_MOST || (lines.ended == count && lines.begun >= count && !lines.is_open));
    sxt_text_filter_close(&filter);
    sxt_modules_close(&modules);
    sxt_archive_close(&lines.archive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sxt_buffer out;
    make_kernel();
    filter(data, size, NULL, &out);
    SXT_HOLDS(out.size == size && (size == 0 || memcmp(out.data, data, size) == 0));
    sxt_buffer_free(&out);
    filter(data, size, folder, &out);
    SXT_HOLDS(out.size >= size);
    size_t found = 0;
    for (size_t at = 0; at < out.size && found < size; at++)
        found += out.data[at] == data[found];
    SXT_HOLDS(found == size);
    sxt_buffer_free(&out);
    name_lines(data, size);
    return 0;
}
