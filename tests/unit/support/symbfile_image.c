/* symbfile_image.c: see symbfile_image.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/symbfile_image.h"
#include "support/test.h"

static unsigned hex_digit(char letter)
{
    const char *digits = "0123456789abcdef";
    const char *found = letter != 0 ? strchr(digits, letter) : NULL;
    if (found == NULL)
        fail_msg("'%c' is no hexadecimal digit", letter);
    return (unsigned)(found - digits);
}

void sxt_test_put_hex(struct sxt_buffer *out, const char *text)
{
    while (*text != 0) {
        if (*text == ' ') {
            text++;
        } else if (*text == '\'') {
            const char *end = strchr(text + 1, '\'');
            assert_non_null(end);
            sxt_buffer_append(out, text + 1, (size_t)(end - text - 1));
            text = end + 1;
        } else {
            sxt_buffer_u8(out, (uint8_t)(hex_digit(text[0]) << 4 | hex_digit(text[1])));
            text += 2;
        }
    }
}

void sxt_test_put_varint(struct sxt_buffer *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        sxt_buffer_u8(out, (uint8_t)(0x80 | (value & 0x7f)));
    sxt_buffer_u8(out, (uint8_t)value);
}

void sxt_test_put_message(struct sxt_buffer *out, uint64_t type, const char *text)
{
    struct sxt_buffer body;
    sxt_buffer_init(&body, SIZE_MAX);
    sxt_test_put_hex(&body, text);
    sxt_test_put_varint(out, body.size);
    sxt_test_put_varint(out, type);
    sxt_buffer_append(out, body.data, body.size);
    sxt_buffer_free(&body);
}

void sxt_test_begin_symbfile(struct sxt_buffer *out)
{
    sxt_buffer_clear(out);
    sxt_test_put_hex(out, "'symbfile' 00 01");
}

static void show(FILE *out, const char *what, const uint8_t *data, size_t size, size_t from)
{
    fprintf(out, "%s", what);
    for (size_t i = from; i < size && i < from + 40; i++)
        fprintf(out, "%02x ", data[i]);
}

void sxt_test_assert_hex(const struct sxt_buffer *file, const char *text)
{
    struct sxt_buffer expected;
    sxt_buffer_init(&expected, SIZE_MAX);
    sxt_test_put_hex(&expected, text);
    size_t same = 0;
    while (same < file->size && same < expected.size && file->data[same] == expected.data[same])
        same++;
    if (same < file->size || same < expected.size) {
        show(stderr, "found    ", file->data, file->size, same);
        show(stderr, "\nexpected ", expected.data, expected.size, same);
        fail_msg("%zu bytes, expected %zu, and they differ at %zu", file->size, expected.size, same);
    }
    sxt_buffer_free(&expected);
}

static void put_name(FILE *out, sxt_string name)
{
    fputc(' ', out);
    for (size_t i = 0; i < name.size; i++) {
        unsigned char byte = (unsigned char)name.data[i];
        if (isgraph(byte))
            fputc(byte, out);
        else
            fprintf(out, "\\%02x", byte);
    }
    if (name.size == 0)
        fputs(name.data == NULL ? "-" : "\"\"", out);
}

static void put_range(FILE *out, const struct sxt_symbfile_range *range)
{
    if (range->depth > 3)
        fprintf(out, "%u> ", range->depth);
    else
        fprintf(out, "%.*s%s", (int)range->depth, ">>>", range->depth > 0 ? " " : "");
    fprintf(out, "%llx+%llx", (unsigned long long)range->address, (unsigned long long)range->length);
    put_name(out, range->function);
    put_name(out, range->file);
    if (range->call_file.data != NULL || range->call_line != 0) {
        fputs(" <", out);
        put_name(out, range->call_file);
        fprintf(out, ":%u", range->call_line);
    }
    for (size_t i = 0; i < range->line_count; i++)
        fprintf(out, "%s%x:%u", i > 0 ? " " : " {", range->lines[i].offset, range->lines[i].line);
    fputs(range->line_count > 0 ? "}\n" : "\n", out);
}

static void put_pad(FILE *out, const struct sxt_symbfile_pad *pad)
{
    fprintf(out, "%llx", (unsigned long long)pad->address);
    for (size_t i = 0; i < pad->frame_count; i++) {
        fputs(i > 0 ? "," : "", out);
        put_name(out, pad->frames[i].function);
        put_name(out, pad->frames[i].file);
        fprintf(out, " %u", pad->frames[i].line);
    }
    fputc('\n', out);
}

struct stream {
    const uint8_t *data;
    size_t left, block;
};

static int read_stream(void *context, void *to, size_t size, size_t *got, sxt_error *error)
{
    struct stream *stream = context;
    (void)error;
    *got = stream->left < stream->block ? stream->left : stream->block;
    if (*got > size)
        *got = size;
    if (*got > 0)
        memcpy(to, stream->data, *got);
    stream->data += *got;
    stream->left -= *got;
    return SXT_OK;
}

char *sxt_test_symbfile_text(const uint8_t *data, size_t size, size_t block)
{
    char *text;
    size_t text_size;
    FILE *out = open_memstream(&text, &text_size);
    assert_non_null(out);
    struct stream stream = {data, size, block};
    struct sxt_symbfile_reader *reader;
    sxt_error error;
    int status = block > 0 ? sxt_symbfile_reader_open_stream(&reader, read_stream, &stream, &error)
                           : sxt_symbfile_reader_open(&reader, data, size, &error);
    assert_true((reader == NULL) == (status != SXT_OK));
    struct sxt_symbfile_record record = {.kind = SXT_SYMBFILE_PAD};
    while (status == SXT_OK && record.kind != SXT_SYMBFILE_END) {
        status = sxt_symbfile_read(reader, &record, &error);
        if (status == SXT_OK && record.kind == SXT_SYMBFILE_RANGE)
            put_range(out, &record.range);
        if (status == SXT_OK && record.kind == SXT_SYMBFILE_PAD)
            put_pad(out, &record.pad);
    }
    if (status != SXT_OK) {
        assert_int_equal(error.code, status);
        fprintf(out, "! %s\n", error.text);
        sxt_error again;
        if (reader != NULL) {
            assert_int_equal(sxt_symbfile_read(reader, &record, &again), status);
            assert_string_equal(again.text, error.text);
            assert_int_equal(record.kind, SXT_SYMBFILE_END);
        }
    } else {
        assert_int_equal(sxt_symbfile_read(reader, &record, &error), SXT_OK);
        assert_int_equal(record.kind, SXT_SYMBFILE_END);
    }
    sxt_symbfile_reader_close(&reader);
    assert_null(reader);
    assert_int_equal(fclose(out), 0);
    return text;
}

void sxt_test_assert_records(const struct sxt_buffer *file, const char *expected)
{
    static const size_t blocks[] = {0, 1, 2, 7, 4096, SIZE_MAX};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        char *text = sxt_test_symbfile_text(file->data, file->size, blocks[i]);
        assert_string_equal(text, expected);
        free(text);
    }
}

/* --- through the writer --- */

struct sxt_test_writing sxt_test_out;

void sxt_test_open_writer(void)
{
    sxt_error error;
    sxt_buffer_init(&sxt_test_out.file, SIZE_MAX);
    if (sxt_symbfile_writer_open(&sxt_test_out.writer, sxt_symbfile_to_buffer(&sxt_test_out.file), &error) != SXT_OK)
        fail_msg("%s", error.text);
}

void sxt_test_close_writer(void)
{
    sxt_symbfile_writer_close(&sxt_test_out.writer);
    sxt_buffer_free(&sxt_test_out.file);
}

void sxt_test_begin_again(void)
{
    sxt_test_close_writer();
    sxt_test_open_writer();
}

sxt_string sxt_test_view(const char *text)
{
    return (sxt_string){text, text != NULL ? strlen(text) : 0};
}

void sxt_test_write_range(uint64_t address, uint64_t length, const char *function, const char *path)
{
    sxt_error error;
    struct sxt_symbfile_range range = {
        .address = address, .length = length, .function = sxt_test_view(function), .file = sxt_test_view(path)};
    if (sxt_symbfile_add_range(sxt_test_out.writer, &range, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

void sxt_test_write_pad(uint64_t address, const char *function, const char *path, uint32_t line)
{
    sxt_error error;
    struct sxt_symbfile_frame frame = {sxt_test_view(function), sxt_test_view(path), line};
    struct sxt_symbfile_pad pad = {address, &frame, 1};
    if (sxt_symbfile_add_pad(sxt_test_out.writer, &pad, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

void sxt_test_finish_file(void)
{
    sxt_error error;
    if (sxt_symbfile_writer_finish(sxt_test_out.writer, &error) != SXT_OK)
        fail_msg("%s", error.text);
    if (sxt_symbfile_verify(sxt_test_out.file.data, sxt_test_out.file.size, NULL, NULL) != 0)
        fail_msg("what was written is not a good file");
}
