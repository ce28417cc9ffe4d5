/* flush.c: writes the table of strings, and after it the records that were kept back. */
#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "symbfile/fields.h"
#include "symbfile/writer.h"

#define OUTPUT_ENOUGH ((size_t)256 << 10) /* bytes that are passed to the sink at once */

/* Passes the output to the sink if there is enough of it. */
int sxt_symbfile_write_out(struct sxt_symbfile_writer *writer, size_t enough, sxt_error *error)
{
    struct sxt_buffer *output = &writer->output;
    if (output->failed)
        return sxt_fail_memory(error, output->size);
    if (output->size < enough || output->size == 0)
        return SXT_OK;
    int status = writer->sink.write(writer->sink.context, output->data, output->size, error);
    sxt_buffer_clear(output);
    return status;
}

static uint8_t *put_text(uint8_t *to, uint8_t key, sxt_string text)
{
    *to++ = key;
    to = sxt_protobuf_put(to, text.size);
    if (text.size > 0)
        memcpy(to, text.data, text.size);
    return to + text.size;
}

static int write_table(struct sxt_symbfile_writer *writer, sxt_error *error)
{
    struct sxt_symbfile_window *window = &writer->window;
    int status = SXT_OK;
    sxt_buffer_varint(&writer->output, window->table_size);
    sxt_buffer_u8(&writer->output, SXT_SYMBFILE_TYPE_STRINGS);
    for (size_t i = 0; i < window->table_count && status == SXT_OK; i++) {
        sxt_string text = sxt_strings_get(&window->strings, window->table[i]);
        uint8_t *start = sxt_buffer_reserve(&writer->output, 1 + SXT_VARINT_MAX + text.size);
        if (start != NULL)
            writer->output.size += (size_t)(put_text(start, SXT_STRINGS_TEXT, text) - start);
        status = sxt_symbfile_write_out(writer, OUTPUT_ENOUGH, error);
    }
    return status;
}

/* A string of a range: in the table, in place, or nowhere. */
struct field {
    uint8_t key;
    uint32_t reference; /* SXT_SYMBFILE_IN_PLACE: the text goes here */
    sxt_string text;
    size_t size; /* 0 when there is none */
};

static struct field string_field(const struct sxt_symbfile_window *window, uint32_t number, uint8_t text_key,
                                 uint8_t reference_key)
{
    if (number == SXT_SYMBFILE_NO_STRING)
        return (struct field){0};
    uint32_t reference = window->uses[number].reference;
    if (reference != SXT_SYMBFILE_IN_PLACE)
        return (struct field){.key = reference_key, .reference = reference, .size = 1 + sxt_protobuf_size(reference)};
    sxt_string text = sxt_strings_get(&window->strings, number);
    return (struct field){text_key, reference, text, 1 + sxt_protobuf_size(text.size) + text.size};
}

static uint8_t *put_field(uint8_t *to, const struct field *field)
{
    if (field->size == 0)
        return to;
    if (field->reference == SXT_SYMBFILE_IN_PLACE)
        return put_text(to, field->key, field->text);
    *to++ = field->key;
    return sxt_protobuf_put(to, field->reference);
}

static uint8_t *put_bytes(uint8_t *to, const uint8_t *from, size_t size)
{
    memcpy(to, from, size);
    return to + size;
}

/* Makes room for a message, and writes its beginning. */
static uint8_t *begin_message(struct sxt_symbfile_writer *writer, size_t size, uint8_t type)
{
    uint8_t *to = sxt_buffer_reserve(&writer->output, SXT_VARINT_MAX + 1 + size);
    if (to == NULL)
        return NULL;
    to = sxt_protobuf_put(to, size);
    *to++ = type;
    return to;
}

static void end_message(struct sxt_symbfile_writer *writer, const uint8_t *end)
{
    writer->output.size = (size_t)(end - writer->output.data);
}

/* Writes a range and returns where the next record begins. */
static const uint8_t *write_range(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_pending *pending,
                                  const uint8_t *bytes)
{
    const struct sxt_symbfile_window *window = &writer->window;
    struct field function = string_field(window, pending->function, SXT_RANGE_FUNCTION_TEXT, SXT_RANGE_FUNCTION);
    struct field file = string_field(window, pending->file, SXT_RANGE_FILE_TEXT, SXT_RANGE_FILE);
    struct field call_file = string_field(window, pending->call_file, SXT_RANGE_CALL_FILE_TEXT, SXT_RANGE_CALL_FILE);
    size_t kept = (size_t)pending->head_size + pending->call_line_size + pending->tail_size;
    uint8_t *to = begin_message(writer, kept + function.size + file.size + call_file.size, SXT_SYMBFILE_TYPE_RANGE);
    if (to == NULL)
        return bytes + kept;
    to = put_bytes(to, bytes, pending->head_size);
    to = put_field(to, &function);
    to = put_field(to, &file);
    to = put_bytes(to, bytes + pending->head_size, pending->call_line_size);
    to = put_field(to, &call_file);
    to = put_bytes(to, bytes + pending->head_size + pending->call_line_size, pending->tail_size);
    end_message(writer, to);
    return bytes + kept;
}

/* String INDEX of a pad, as a place in the table. All strings of pads are in the table. */
static inline uint32_t reference_of(const struct sxt_symbfile_window *window, const uint8_t *numbers, size_t index)
{
    uint32_t number;
    memcpy(&number, numbers + index * sizeof number, sizeof number);
    return window->uses[number].reference;
}

static size_t column_size(const struct sxt_symbfile_window *window, const uint8_t *numbers, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += sxt_protobuf_size(reference_of(window, numbers, i));
    return size;
}

static uint8_t *put_column(const struct sxt_symbfile_window *window, uint8_t *to, uint8_t key, const uint8_t *numbers,
                           size_t count, size_t size)
{
    *to++ = key;
    to = sxt_protobuf_put(to, size);
    for (size_t i = 0; i < count; i++)
        to = sxt_protobuf_put(to, reference_of(window, numbers, i));
    return to;
}

/* Writes a pad and returns where the next record begins. */
static const uint8_t *write_pad(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_pending *pending,
                                const uint8_t *bytes)
{
    const struct sxt_symbfile_window *window = &writer->window;
    size_t count = pending->frame_count;
    const uint8_t *functions = bytes + pending->head_size + pending->tail_size;
    const uint8_t *files = functions + count * sizeof(uint32_t);
    const uint8_t *end = files + count * sizeof(uint32_t);
    size_t functions_size = column_size(window, functions, count);
    size_t files_size = column_size(window, files, count);
    size_t size = (size_t)pending->head_size + pending->tail_size;
    if (count > 0)
        size += 2 + sxt_protobuf_size(functions_size) + functions_size + sxt_protobuf_size(files_size) + files_size;
    uint8_t *to = begin_message(writer, size, SXT_SYMBFILE_TYPE_PAD);
    if (to == NULL)
        return end;
    to = put_bytes(to, bytes, pending->head_size);
    if (count > 0) {
        to = put_column(window, to, SXT_PAD_FUNCTIONS, functions, count, functions_size);
        to = put_column(window, to, SXT_PAD_FILES, files, count, files_size);
    }
    to = put_bytes(to, bytes + pending->head_size, pending->tail_size);
    end_message(writer, to);
    return end;
}

/* Writes the table and all records of the window, and begins a new window. */
int sxt_symbfile_flush(struct sxt_symbfile_writer *writer, sxt_error *error)
{
    if (!sxt_symbfile_window_make_table(&writer->window))
        return sxt_fail_memory(error, writer->window.use_count * sizeof(uint32_t));
    int status = write_table(writer, error);
    const uint8_t *at = writer->pending.data;
    for (size_t i = 0; i < writer->record_count && status == SXT_OK; i++) {
        struct sxt_symbfile_pending pending;
        memcpy(&pending, at, sizeof pending);
        at += sizeof pending;
        at =
            pending.type == SXT_SYMBFILE_TYPE_PAD ? write_pad(writer, &pending, at) : write_range(writer, &pending, at);
        status = sxt_symbfile_write_out(writer, OUTPUT_ENOUGH, error);
    }
    sxt_buffer_clear(&writer->pending);
    writer->record_count = 0;
    return status == SXT_OK ? sxt_symbfile_window_reset(&writer->window, error) : status;
}
