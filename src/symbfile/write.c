/*
 * write.c: adds records to a symbfile, and keeps them back.
 *
 * The window of records that share a table ends where the reference ends it: after the record that exceeds the limit on
 * strings or on records. It ends earlier where the reference would fail: before a record whose strings might not fit
 * into the table, and when line tables have filled the memory that is set aside for records.
 *
 * A range whose line table is too large for a message, even if all its strings are text, becomes several ranges side by
 * side. Each but the last holds as many entries as fit and ends where the next entry begins; all else is the same in
 * each. Of entries at one offset only the last is kept then, and none after the end of the range, because no lookup
 * finds the others.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "base/varint.h"
#include "symbfile/fields.h"
#include "symbfile/module.h"
#include "symbfile/writer.h"

/* When the reference ends a window: 16 MiB less 64 KiB of strings, or 64 MiB of records of 152 bytes. */
#define STRINGS_ENOUGH ((uint64_t)16711680)
#define RECORDS_ENOUGH 441506

/* The most bytes of records that are kept back; the reference has no such limit. */
#define PENDING_ENOUGH ((size_t)256 << 20)

/* What a table has room for, whatever is in the window already. */
#define TABLE_SPARE (SXT_SYMBFILE_MESSAGE_MAX - STRINGS_ENOUGH)

/* A key and a length, with every string. */
#define TEXT_EXTRA 6

/* The most bytes for the numbers of a record: address, length, line of the call, depth, each with its key. */
#define NUMBERS_MAX (2 * (1 + SXT_VARINT_MAX) + 2 * (1 + 5) + 2)

/* The sizes of a line table: its columns, and all of it with its key. */
struct line_sizes {
    size_t offsets, numbers, table, field;
};

static int add_range(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_range *range, sxt_error *error);
static int add_pad(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_pad *pad, sxt_error *error);
static int make_way(struct sxt_symbfile_writer *writer, uint64_t more, sxt_error *error);
static int end_record(struct sxt_symbfile_writer *writer, sxt_error *error);

int sxt_symbfile_writer_open(struct sxt_symbfile_writer **out, struct sxt_symbfile_sink sink, sxt_error *error)
{
    *out = NULL;
    struct sxt_symbfile_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return sxt_fail_memory(error, sizeof *writer);
    writer->sink = sink;
    sxt_buffer_init(&writer->pending, SIZE_MAX);
    sxt_buffer_init(&writer->output, SIZE_MAX);
    int status = sxt_symbfile_window_open(&writer->window, error);
    if (status == SXT_OK) {
        const uint8_t header[] = {0, SXT_SYMBFILE_TYPE_HEADER};
        sxt_buffer_append(&writer->output, SXT_SYMBFILE_MAGIC, SXT_SYMBFILE_MAGIC_SIZE);
        sxt_buffer_append(&writer->output, header, sizeof header);
        status = sxt_symbfile_write_out(writer, 0, error);
    }
    if (status != SXT_OK) {
        sxt_symbfile_writer_close(&writer);
        return status;
    }
    *out = writer;
    return SXT_OK;
}

void sxt_symbfile_writer_counts(const struct sxt_symbfile_writer *writer, sxt_written *out)
{
    out->functions = writer->functions;
    out->inlines = writer->inlines;
    out->lines = writer->lines;
}

/* The numbers of strings take about as much as `struct sxt_symbfile_pending`, or are counted with it. */
uint64_t sxt_symbfile_writer_kept(const struct sxt_symbfile_writer *writer)
{
    return writer->pending.size - writer->record_count * (sizeof(struct sxt_symbfile_pending) / 2) +
           writer->window.estimate;
}

void sxt_symbfile_writer_close(struct sxt_symbfile_writer **writer)
{
    if (*writer == NULL)
        return;
    sxt_symbfile_window_free(&(*writer)->window);
    sxt_buffer_free(&(*writer)->pending);
    sxt_buffer_free(&(*writer)->output);
    free(*writer);
    *writer = NULL;
}

/* Every call ends here: the first failure is sticky. */
static int conclude(struct sxt_symbfile_writer *writer, int status, sxt_error *error)
{
    if (writer->failure.code == SXT_OK)
        writer->failure.code = (sxt_status)status;
    if (status != SXT_OK && error != NULL)
        *error = writer->failure;
    return status;
}

int sxt_symbfile_add_range(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_range *range, sxt_error *error)
{
    int status = writer->failure.code;
    if (status == SXT_OK)
        status = add_range(writer, range, &writer->failure);
    return conclude(writer, status, error);
}

int sxt_symbfile_add_pad(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_pad *pad, sxt_error *error)
{
    int status = writer->failure.code;
    if (status == SXT_OK)
        status = add_pad(writer, pad, &writer->failure);
    return conclude(writer, status, error);
}

int sxt_symbfile_add_module(struct sxt_symbfile_writer *writer, const struct sxt_model_module *module,
                            const struct sxt_path_maps *maps, sxt_error *error)
{
    int status = writer->failure.code;
    if (status == SXT_OK && sxt_module_is_known(module))
        status = sxt_symbfile_encode_module(module, maps, &writer->output, &writer->failure);
    if (status == SXT_OK)
        status = sxt_symbfile_write_out(writer, 0, &writer->failure);
    return conclude(writer, status, error);
}

int sxt_symbfile_writer_finish(struct sxt_symbfile_writer *writer, sxt_error *error)
{
    int status = writer->failure.code;
    if (status == SXT_OK)
        status = sxt_symbfile_flush(writer, &writer->failure);
    if (status == SXT_OK)
        status = sxt_symbfile_write_out(writer, 0, &writer->failure);
    return conclude(writer, status, error);
}

static int append_to_buffer(void *context, const void *data, size_t size, sxt_error *error)
{
    struct sxt_buffer *buffer = context;
    sxt_buffer_append(buffer, data, size);
    return sxt_buffer_status(buffer, error);
}

struct sxt_symbfile_sink sxt_symbfile_to_buffer(struct sxt_buffer *buffer)
{
    return (struct sxt_symbfile_sink){append_to_buffer, buffer};
}

static int write_to_output(void *context, const void *data, size_t size, sxt_error *error)
{
    return sxt_output_write(context, data, size, error);
}

struct sxt_symbfile_sink sxt_symbfile_to_output(struct sxt_output *output)
{
    return (struct sxt_symbfile_sink){write_to_output, output};
}

/* The address, as a difference if there is a record before it. */
static uint8_t *put_address(struct sxt_symbfile_writer *writer, uint8_t *to, uint8_t delta_key, uint8_t address_key,
                            uint64_t address)
{
    int64_t delta = (int64_t)(address - writer->address);
    bool fits = writer->has_address && (delta >= 0) == (address >= writer->address);
    writer->address = address;
    writer->has_address = true;
    *to++ = fits ? delta_key : address_key;
    return sxt_protobuf_put(to, fits ? sxt_zigzag_encode(delta) : address);
}

static int measure_lines(const struct sxt_symbfile_line *lines, size_t count, struct line_sizes *sizes,
                         sxt_error *error)
{
    *sizes = (struct line_sizes){0};
    uint32_t before = 0;
    for (size_t i = 0; i < count; i++) {
        if (lines[i].offset < before)
            return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                            "line entry at offset %u comes after one at offset %u", lines[i].offset, before);
        sizes->offsets += sxt_protobuf_size(lines[i].offset - before);
        sizes->numbers += sxt_protobuf_size(lines[i].line);
        before = lines[i].offset;
    }
    if (count == 0)
        return SXT_OK;
    sizes->table =
        2 + sxt_protobuf_size(sizes->offsets) + sizes->offsets + sxt_protobuf_size(sizes->numbers) + sizes->numbers;
    sizes->field = 1 + sxt_protobuf_size(sizes->table) + sizes->table;
    return SXT_OK;
}

static uint8_t *put_lines(uint8_t *to, const struct sxt_symbfile_line *lines, size_t count,
                          const struct line_sizes *sizes)
{
    *to++ = SXT_RANGE_LINES;
    to = sxt_protobuf_put(to, sizes->table);
    *to++ = SXT_LINES_OFFSETS;
    to = sxt_protobuf_put(to, sizes->offsets);
    for (size_t i = 0; i < count; i++)
        to = sxt_protobuf_put(to, lines[i].offset - (i > 0 ? lines[i - 1].offset : 0));
    *to++ = SXT_LINES_NUMBERS;
    to = sxt_protobuf_put(to, sizes->numbers);
    for (size_t i = 0; i < count; i++)
        to = sxt_protobuf_put(to, lines[i].line);
    return to;
}

/* The most bytes that a string takes as text: a bad byte becomes three. */
static uint64_t text_size(sxt_string text)
{
    uint64_t size = text.size < SXT_SYMBFILE_STRING_MAX ? text.size : SXT_SYMBFILE_STRING_MAX;
    if (size > 0 && sxt_utf8_valid(text.data, (size_t)size) != size)
        size = 3 * size < SXT_SYMBFILE_STRING_MAX ? 3 * size : SXT_SYMBFILE_STRING_MAX;
    return TEXT_EXTRA + size;
}

/* What a string adds to those of the window. */
static uint64_t new_size(const struct sxt_symbfile_window *window, sxt_string text)
{
    bool is_there = sxt_strings_find(&window->strings, text.data, text.size) != SXT_STRINGS_FULL;
    return is_there ? 0 : text_size(text);
}

/* Might COUNT strings of SIZE bytes in total not fit into the rest of a table? They nearly always fit. */
static bool might_not_fit(size_t size, size_t count)
{
    return size > TABLE_SPARE / 6 || count * TEXT_EXTRA > TABLE_SPARE / 2;
}

static uint32_t add_string(struct sxt_symbfile_window *window, sxt_string text)
{
    return text.data != NULL ? sxt_symbfile_window_add(window, text, false) : SXT_SYMBFILE_NO_STRING;
}

/* One range that fits in a message. */
static int keep_range(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_range *range,
                      const struct line_sizes *sizes, sxt_error *error)
{
    struct sxt_symbfile_window *window = &writer->window;
    if (might_not_fit(range->function.size + range->file.size + range->call_file.size, 3)) {
        int status = make_way(writer,
                              new_size(window, range->function) + new_size(window, range->file) +
                                  new_size(window, range->call_file),
                              error);
        if (status != SXT_OK)
            return status;
    }
    struct sxt_symbfile_pending pending = {
        .type = SXT_SYMBFILE_TYPE_RANGE,
        .function = sxt_symbfile_window_add(window, range->function, false),
        .file = add_string(window, range->file),
        .call_file = add_string(window, range->call_file),
    };
    bool failed = pending.function == SXT_SYMBFILE_WINDOW_FULL || pending.file == SXT_SYMBFILE_WINDOW_FULL ||
                  pending.call_file == SXT_SYMBFILE_WINDOW_FULL;
    size_t most = sizeof pending + NUMBERS_MAX + sizes->field;
    uint8_t *start = failed ? NULL : sxt_buffer_reserve(&writer->pending, most);
    if (start == NULL)
        return sxt_fail_memory(error, writer->pending.size + most);

    uint8_t *head = start + sizeof pending;
    uint8_t *to = put_address(writer, head, SXT_RANGE_DELTA, SXT_RANGE_ADDRESS, range->address);
    if (range->length != 0) {
        *to++ = SXT_RANGE_LENGTH;
        to = sxt_protobuf_put(to, range->length);
    }
    uint8_t *call_line = to;
    if (range->call_line != 0) {
        *to++ = SXT_RANGE_CALL_LINE;
        to = sxt_protobuf_put(to, range->call_line);
    }
    uint8_t *tail = to;
    if (range->depth != 0) {
        *to++ = SXT_RANGE_DEPTH;
        to = sxt_protobuf_put(to, range->depth);
    }
    if (range->line_count > 0)
        to = put_lines(to, range->lines, range->line_count, sizes);
    if (range->continues) {
        *to++ = SXT_RANGE_IS_PIECE;
        *to++ = 1;
    }
    pending.head_size = (uint8_t)(call_line - head);
    pending.call_line_size = (uint8_t)(tail - call_line);
    pending.tail_size = (uint32_t)(to - tail);
    memcpy(start, &pending, sizeof pending);
    writer->pending.size += (size_t)(to - start);
    *(range->depth == 0 ? &writer->functions : &writer->inlines) += 1;
    writer->lines += range->line_count;
    return end_record(writer, error);
}

/* Pieces of a range that is too large; LINES has room for all of its entries. See the top of this file. */
static int keep_pieces(struct sxt_symbfile_writer *writer, struct sxt_symbfile_range range, size_t room,
                       struct sxt_symbfile_line *lines, sxt_error *error)
{
    uint64_t end = range.address + range.length;
    size_t count = 0;
    for (size_t i = 0; i < range.line_count && range.lines[i].offset < range.length; i++) {
        if (count > 0 && lines[count - 1].offset == range.lines[i].offset)
            count--;
        lines[count++] = range.lines[i];
    }
    int status = SXT_OK;
    size_t first = 0, next;
    do {
        uint32_t skipped = first > 0 ? lines[first].offset : 0;
        uint32_t before = skipped;
        size_t size = 0;
        for (next = first; next < count; next++) {
            size += sxt_protobuf_size(lines[next].offset - before) + sxt_protobuf_size(lines[next].line);
            if (size > room)
                break;
            before = lines[next].offset;
        }
        uint64_t piece_end = next < count ? range.address + (lines[next].offset - skipped) : end;
        struct sxt_symbfile_range piece = range;
        struct line_sizes sizes;
        piece.length = piece_end - range.address;
        piece.lines = lines + first;
        piece.line_count = next - first;
        for (size_t i = first; i < next; i++)
            lines[i].offset -= skipped;
        status = measure_lines(piece.lines, piece.line_count, &sizes, error);
        if (status == SXT_OK)
            status = keep_range(writer, &piece, &sizes, error);
        range.address = piece_end;
        range.continues = true;
        first = next;
    } while (first < count && status == SXT_OK);
    return status;
}

static int add_range(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_range *range, sxt_error *error)
{
    struct line_sizes sizes;
    int status = measure_lines(range->lines, range->line_count, &sizes, error);
    if (status != SXT_OK)
        return status;
    /* The exact size is computed only if it might matter. */
    uint64_t others =
        NUMBERS_MAX + 3 * TEXT_EXTRA + 3 * (uint64_t)(range->function.size + range->file.size + range->call_file.size);
    if (others + sizes.field > SXT_SYMBFILE_MESSAGE_MAX)
        others = NUMBERS_MAX + text_size(range->function) + text_size(range->file) + text_size(range->call_file);
    if (others + sizes.field <= SXT_SYMBFILE_MESSAGE_MAX)
        return keep_range(writer, range, &sizes, error);
    struct sxt_symbfile_line *lines = malloc(range->line_count * sizeof *lines);
    if (lines == NULL)
        return sxt_fail_memory(error, range->line_count * sizeof *lines);
    size_t room = SXT_SYMBFILE_MESSAGE_MAX - (size_t)others - 3 * (1 + SXT_VARINT_MAX);
    status = keep_pieces(writer, *range, room, lines, error);
    free(lines);
    return status;
}

/* The strings of a pad: functions first, as in the message. An unknown file is "". */
static bool put_numbers(struct sxt_symbfile_window *window, uint8_t *to, const struct sxt_symbfile_pad *pad)
{
    for (size_t i = 0; i < 2 * pad->frame_count; i++, to += sizeof(uint32_t)) {
        bool is_file = i >= pad->frame_count;
        const struct sxt_symbfile_frame *frame = &pad->frames[is_file ? i - pad->frame_count : i];
        uint32_t number = sxt_symbfile_window_add(window, is_file ? frame->file : frame->function, true);
        if (number == SXT_SYMBFILE_WINDOW_FULL)
            return false;
        memcpy(to, &number, sizeof number);
    }
    return true;
}

static int add_pad(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_pad *pad, sxt_error *error)
{
    if (pad->frame_count > SXT_SYMBFILE_FRAMES_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "return pad with %zu frames; the most is %d",
                        pad->frame_count, SXT_SYMBFILE_FRAMES_MAX);
    size_t lines_size = 0, text_bytes = 0;
    for (size_t i = 0; i < pad->frame_count; i++) {
        text_bytes += pad->frames[i].function.size + pad->frames[i].file.size;
        lines_size += sxt_protobuf_size(pad->frames[i].line);
    }
    if (might_not_fit(text_bytes, 2 * pad->frame_count)) {
        uint64_t more = 0;
        for (size_t i = 0; i < pad->frame_count; i++)
            more += new_size(&writer->window, pad->frames[i].function) + new_size(&writer->window, pad->frames[i].file);
        int status = make_way(writer, more, error);
        if (status != SXT_OK)
            return status;
    }
    struct sxt_symbfile_pending pending = {.type = SXT_SYMBFILE_TYPE_PAD, .frame_count = (uint32_t)pad->frame_count};
    size_t numbers_size = 2 * pad->frame_count * sizeof(uint32_t);
    size_t most = sizeof pending + NUMBERS_MAX + 1 + SXT_VARINT_MAX + lines_size + numbers_size;
    uint8_t *start = sxt_buffer_reserve(&writer->pending, most);
    if (start == NULL)
        return sxt_fail_memory(error, writer->pending.size + most);

    uint8_t *head = start + sizeof pending;
    uint8_t *tail = put_address(writer, head, SXT_PAD_DELTA, SXT_PAD_ADDRESS, pad->address);
    uint8_t *to = tail;
    if (pad->frame_count > 0) {
        *to++ = SXT_PAD_LINES;
        to = sxt_protobuf_put(to, lines_size);
        for (size_t i = 0; i < pad->frame_count; i++)
            to = sxt_protobuf_put(to, pad->frames[i].line);
    }
    pending.head_size = (uint8_t)(tail - head);
    pending.tail_size = (uint32_t)(to - tail);
    memcpy(start, &pending, sizeof pending);
    if (!put_numbers(&writer->window, to, pad))
        return sxt_fail_memory(error, text_bytes);
    if (writer->window.estimate > SXT_SYMBFILE_MESSAGE_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                        "return pad whose strings do not fit in a table: %llu bytes; the most is %zu",
                        (unsigned long long)writer->window.estimate, SXT_SYMBFILE_MESSAGE_MAX);
    writer->pending.size += (size_t)(to - start) + numbers_size;
    return end_record(writer, error);
}

/* Ends the window when the strings of the next record might be too many for one table. */
static int make_way(struct sxt_symbfile_writer *writer, uint64_t more, sxt_error *error)
{
    bool fits = writer->window.estimate + more <= SXT_SYMBFILE_MESSAGE_MAX;
    return fits || writer->record_count == 0 ? SXT_OK : sxt_symbfile_flush(writer, error);
}

static int end_record(struct sxt_symbfile_writer *writer, sxt_error *error)
{
    writer->record_count++;
    bool is_full = writer->window.estimate >= STRINGS_ENOUGH || writer->record_count >= RECORDS_ENOUGH ||
                   writer->pending.size >= PENDING_ENOUGH;
    return is_full ? sxt_symbfile_flush(writer, error) : SXT_OK;
}
