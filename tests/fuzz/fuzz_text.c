/*
 * fuzz_text.c: any bytes as text to be symbolized. Where no file can be found, the very bytes come out, in whatever
 * pieces they went in. With a kernel, names are added and nothing is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/ksym_writer.h>

#include "base/buffer.h"
#include "profile/profile.h"
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
    return 0;
}
