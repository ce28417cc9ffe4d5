/*
 * test_symbfile_allocation.c: every single allocation of writing, reading and checking a symbfile fails once. Linked
 * with --wrap for malloc, calloc and realloc. Each run ends with SXT_ERROR_MEMORY or as a run without failures does,
 * and leaves nothing behind (AddressSanitizer looks for leaks).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "symbfile/symbfile.h"

#define ALLOCATIONS_MAX 5000

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

/* The number of the allocation that fails, counted from 1; 0 for none. With `from_there_on` all later ones fail too. */
static unsigned long failing, counted;
static bool from_there_on;

static bool fails_now(void)
{
    counted++;
    return failing != 0 && (counted == failing || (from_there_on && counted > failing));
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

/* Calls RUN once in peace, and then again and again, with another allocation failing each time. */
static void fail_each_allocation(int (*run)(uint64_t *result, sxt_error *error))
{
    uint64_t good = 0;
    sxt_error error;
    failing = counted = 0;
    assert_int_equal(run(&good, &error), SXT_OK);
    unsigned long needed = counted;
    assert_true(needed > 0 && needed < ALLOCATIONS_MAX);
    for (unsigned mode = 0; mode < 2; mode++)
        for (unsigned long i = 1; i <= needed; i++) {
            uint64_t result = 0;
            from_there_on = mode == 1;
            counted = 0;
            failing = i;
            int status = run(&result, &error);
            failing = 0;
            if (status == SXT_OK && result != good)
                fail_msg("allocation %lu of %lu failed, and the result is quietly another", i, needed);
            if (status != SXT_OK && (status != SXT_ERROR_MEMORY || error.code != SXT_ERROR_MEMORY))
                fail_msg("allocation %lu of %lu failed, and the error is %d: %s", i, needed, status, error.text);
        }
}

static struct sxt_symbols *model;
static uint8_t file[1 << 17];
static size_t file_size;

static int to_file(void *context, const void *data, size_t size, sxt_error *error)
{
    (void)context;
    (void)error;
    assert_true(size <= sizeof file - file_size);
    memcpy(file + file_size, data, size);
    file_size += size;
    return SXT_OK;
}

static bool rename_all(sxt_string name, struct sxt_buffer *out)
{
    sxt_buffer_append(out, "the ", 4);
    sxt_buffer_append(out, name.data, name.size);
    return true;
}

static bool map_all(const void *context, sxt_string path, struct sxt_buffer *out)
{
    (void)context;
    return rename_all(path, out);
}

static int add_pads(struct sxt_symbfile_writer *writer, sxt_error *error)
{
    int status = SXT_OK;
    for (uint64_t i = 0; i < 200 && status == SXT_OK; i++) {
        /* One that is not UTF-8, again and again. */
        char name[] = {'p', (char)(0x80 + i % 64), 'q', 0};
        struct sxt_symbfile_frame frames[] = {{{name, 3}, {NULL, 0}, 5}, {{name + 2, 1}, {name + 2, 1}, 6}};
        status = sxt_symbfile_add_pad(writer, &(struct sxt_symbfile_pad){i, frames, 2}, error);
    }
    return status;
}

/* All that a writer does; the result is a sum of the bytes. */
static int write_all(uint64_t *result, sxt_error *error)
{
    struct sxt_symbfile_writer *writer;
    const struct sxt_symbfile_settings settings = {rename_all, map_all, NULL};
    file_size = 0;
    int status = sxt_symbfile_writer_open(&writer, (struct sxt_symbfile_sink){to_file, NULL}, error);
    if (status != SXT_OK)
        return status;
    status = sxt_symbfile_write_ranges(model, &settings, writer, error);
    if (status == SXT_OK)
        status = add_pads(writer, error);
    if (status == SXT_OK)
        status = sxt_symbfile_writer_finish(writer, error);
    sxt_symbfile_writer_close(&writer);
    for (size_t i = 0; i < file_size; i++)
        *result = *result * 31 + file[i];
    return status;
}

static int from_file(void *context, void *to, size_t size, size_t *got, sxt_error *error)
{
    size_t *at = context;
    (void)error;
    *got = size < file_size - *at ? size : file_size - *at;
    memcpy(to, file + *at, *got);
    *at += *got;
    return SXT_OK;
}

/* Reads the file as a stream; the result is the number of lines and frames. */
static int read_all(uint64_t *result, sxt_error *error)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record = {.kind = SXT_SYMBFILE_PAD};
    size_t at = 0;
    int status = sxt_symbfile_reader_open_stream(&reader, from_file, &at, error);
    if (status != SXT_OK)
        return status;
    while (status == SXT_OK && record.kind != SXT_SYMBFILE_END) {
        status = sxt_symbfile_read(reader, &record, error);
        if (record.kind != SXT_SYMBFILE_END)
            *result += record.kind == SXT_SYMBFILE_RANGE ? record.range.line_count : record.pad.frame_count;
    }
    sxt_symbfile_reader_close(&reader);
    return status;
}

/* Reads the file into a model; the result is the number of ranges and strings. */
static int read_into_model(uint64_t *result, sxt_error *error)
{
    struct sxt_symbols *read;
    struct sxt_symbfile_reader *reader;
    int status = sxt_symbols_new(&read, error);
    if (status != SXT_OK)
        return status;
    status = sxt_symbfile_reader_open(&reader, file, file_size, error);
    if (status == SXT_OK)
        status = sxt_symbfile_read_ranges(reader, read, error);
    if (status == SXT_OK)
        *result = read->range_count * 1000 + read->strings.count;
    sxt_symbfile_reader_close(&reader);
    sxt_symbols_free(&read);
    return status;
}

/* Without memory a check cannot say that all is well. */
static int check_all(uint64_t *result, sxt_error *error)
{
    *result = sxt_symbfile_verify(file, file_size, NULL, NULL);
    error->code = *result == 0 ? SXT_OK : SXT_ERROR_MEMORY;
    return error->code;
}

static void every_failure_is_survived(void **state)
{
    (void)state;
    model = sxt_test_model();
    for (unsigned i = 0; i < 100; i++) {
        char name[20];
        snprintf(name, sizeof name, "function_%u", i);
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 0, name, 1000 * i, 900, "a.c", NULL, 0);
        for (uint32_t k = 0; k < i; k++)
            sxt_test_add_line(model, 4 * k, k % 5 == 4 ? "b.c" : "a.c", k);
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "g", 1000 * i + 8, 100, "g.h", "a.c", i);
    }
    sxt_test_finish(model);
    fail_each_allocation(write_all);
    uint64_t sum = 0;
    assert_int_equal(write_all(&sum, NULL), SXT_OK);
    fail_each_allocation(read_all);
    fail_each_allocation(read_into_model);
    fail_each_allocation(check_all);
    sxt_symbols_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_failure_is_survived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
