/*
 * fuzz_symbfile.c: any bytes as a symbfile. Memory, streams and pieces must give the same records and the same failure,
 * verify must not pass what cannot be read, what was read must survive being written, and ranges the way through the
 * model.
 */
#include <stdlib.h>
#include <string.h>

#include "lidia/lidia.h"
#include "property.h"
#include "symbfile/symbfile.h"

/* What a file has, as a number, and how it ended. */
struct content {
    uint64_t sum;
    uint64_t ranges, pads;
    int status;
    sxt_error error;
};

static struct content read_all(struct sxt_symbfile_reader *reader, int status, struct sxt_symbfile_writer *writer);
static struct content read_memory(const uint8_t *data, size_t size, struct sxt_buffer *copy);
static struct content read_stream(const uint8_t *data, size_t size, size_t block);
static struct content check_pieces(const uint8_t *data, size_t size, size_t piece);
static void pass_through_model(const uint8_t *data, size_t size);

static void must_agree(const struct content *a, const struct content *b)
{
    SXT_HOLDS(a->sum == b->sum && a->ranges == b->ranges && a->pads == b->pads && a->status == b->status);
    SXT_HOLDS(a->status == SXT_OK || strcmp(a->error.text, b->error.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct content content = read_memory(data, size, NULL);
    /* The last byte picks the size of a read. */
    struct content streamed = read_stream(data, size, size > 0 && data[size - 1] > 0 ? data[size - 1] : 1);
    must_agree(&content, &streamed);
    struct content checked = check_pieces(data, size, size > 0 && data[size - 1] > 0 ? data[size - 1] : 1);
    checked.sum = content.sum;
    must_agree(&content, &checked);
    uint64_t problems = sxt_symbfile_verify(data, size, NULL, NULL);
    SXT_HOLDS(content.status == SXT_OK || problems > 0);
    if (content.status != SXT_OK)
        return 0;

    struct sxt_buffer first, second;
    sxt_buffer_init(&first, SIZE_MAX);
    sxt_buffer_init(&second, SIZE_MAX);
    struct content copied = read_memory(data, size, &first);
    must_agree(&content, &copied);
    struct content again = read_memory(first.data, first.size, &second);
    must_agree(&content, &again);
    SXT_HOLDS(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    SXT_HOLDS(problems > 0 || sxt_symbfile_verify(first.data, first.size, NULL, NULL) == 0);
    pass_through_model(data, size);
    sxt_buffer_free(&first);
    sxt_buffer_free(&second);
    return 0;
}

/* What the checker of files that arrive in pieces says. */
static struct content check_pieces(const uint8_t *data, size_t size, size_t piece)
{
    struct content content = {.status = SXT_OK};
    struct sxt_symbfile_counts counts;
    struct sxt_symbfile_checker *checker;
    SXT_HOLDS(sxt_symbfile_checker_open(&checker, NULL) == SXT_OK);
    for (size_t at = 0; at < size && content.status == SXT_OK; at += piece)
        content.status =
            sxt_symbfile_checker_feed(checker, data + at, size - at < piece ? size - at : piece, &content.error);
    content.status = sxt_symbfile_checker_finish(checker, &counts, &content.error);
    content.ranges = counts.ranges;
    content.pads = counts.pads;
    sxt_symbfile_checker_close(&checker);
    return content;
}

static struct content read_memory(const uint8_t *data, size_t size, struct sxt_buffer *copy)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_writer *writer = NULL;
    sxt_error error;
    int status = sxt_symbfile_reader_open(&reader, data, size, &error);
    SXT_HOLDS(copy == NULL || sxt_symbfile_writer_open(&writer, sxt_symbfile_to_buffer(copy), NULL) == SXT_OK);
    struct content content = read_all(reader, status, writer);
    if (reader == NULL)
        content.error = error;
    SXT_HOLDS(writer == NULL || sxt_symbfile_writer_finish(writer, NULL) == SXT_OK);
    sxt_symbfile_writer_close(&writer);
    sxt_symbfile_reader_close(&reader);
    return content;
}

struct stream {
    const uint8_t *data;
    size_t left, block;
};

static int read_block(void *context, void *to, size_t size, size_t *got, sxt_error *error)
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

static struct content read_stream(const uint8_t *data, size_t size, size_t block)
{
    struct stream stream = {data, size, block};
    struct sxt_symbfile_reader *reader;
    sxt_error error;
    int status = sxt_symbfile_reader_open_stream(&reader, read_block, &stream, &error);
    struct content content = read_all(reader, status, NULL);
    if (reader == NULL)
        content.error = error;
    sxt_symbfile_reader_close(&reader);
    return content;
}

static void add_number(struct content *content, uint64_t number)
{
    content->sum = (content->sum ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    content->sum ^= content->sum >> 29;
}

static void add_string(struct content *content, sxt_string text)
{
    add_number(content, text.data != NULL ? text.size : UINT64_MAX);
    for (size_t i = 0; i < text.size; i++)
        add_number(content, (uint8_t)text.data[i]);
}

static void add_range(struct content *content, const struct sxt_symbfile_range *range)
{
    content->ranges++;
    add_number(content, range->address);
    add_number(content, range->length);
    add_number(content, range->depth);
    add_number(content, range->call_line);
    add_string(content, range->function);
    add_string(content, range->file);
    add_string(content, range->call_file);
    for (size_t i = 0; i < range->line_count; i++) {
        SXT_HOLDS(i == 0 || range->lines[i - 1].offset <= range->lines[i].offset);
        add_number(content, range->lines[i].offset);
        add_number(content, range->lines[i].line);
    }
    add_number(content, sxt_symbfile_line_at(range, range->address + range->length / 2));
}

static void add_pad(struct content *content, const struct sxt_symbfile_pad *pad)
{
    content->pads++;
    add_number(content, pad->address);
    for (size_t i = 0; i < pad->frame_count; i++) {
        add_string(content, pad->frames[i].function);
        add_string(content, pad->frames[i].file);
        add_number(content, pad->frames[i].line);
    }
}

/* All records; they are copied to WRITER where there is one. */
static struct content read_all(struct sxt_symbfile_reader *reader, int status, struct sxt_symbfile_writer *writer)
{
    struct content content = {.status = status};
    struct sxt_symbfile_record record = {.kind = SXT_SYMBFILE_PAD};
    while (content.status == SXT_OK && record.kind != SXT_SYMBFILE_END) {
        content.status = sxt_symbfile_read(reader, &record, &content.error);
        int written = SXT_OK;
        if (record.kind == SXT_SYMBFILE_RANGE) {
            add_range(&content, &record.range);
            if (writer != NULL)
                written = sxt_symbfile_add_range(writer, &record.range, NULL);
        } else if (record.kind == SXT_SYMBFILE_PAD) {
            add_pad(&content, &record.pad);
            if (writer != NULL)
                written = sxt_symbfile_add_pad(writer, &record.pad, NULL);
        }
        SXT_HOLDS(written == SXT_OK);
    }
    return content;
}

/* The ranges of a file as a finished model; NULL when they overlap so much that there is none. */
static struct sxt_symbols *load(const uint8_t *data, size_t size)
{
    struct sxt_symbols *symbols;
    struct sxt_symbfile_reader *reader;
    SXT_HOLDS(sxt_symbols_new(&symbols, NULL) == SXT_OK);
    SXT_HOLDS(sxt_symbfile_reader_open(&reader, data, size, NULL) == SXT_OK);
    SXT_HOLDS(sxt_symbfile_read_ranges(reader, symbols, NULL) == SXT_OK);
    sxt_symbfile_reader_close(&reader);
    int status = sxt_symbols_finish(symbols, NULL);
    SXT_HOLDS(status == SXT_OK || status == SXT_ERROR_LIMIT);
    if (status != SXT_OK)
        sxt_symbols_free(&symbols);
    return symbols;
}

static uint8_t *encode_lidia(const struct sxt_symbols *symbols, size_t *size)
{
    uint8_t *lidia;
    const struct sxt_lidia_settings settings = {0};
    SXT_HOLDS(sxt_lidia_encode(symbols, &settings, &lidia, size, NULL, NULL) == SXT_OK);
    return lidia;
}

/* A finished model loses nothing in a symbfile: the model that is read from it gives the same Lidia file. */
static void pass_through_model(const uint8_t *data, size_t size)
{
    struct sxt_symbols *symbols = load(data, size);
    if (symbols == NULL)
        return;
    struct sxt_buffer file;
    struct sxt_symbfile_writer *writer;
    const struct sxt_symbfile_settings settings = {0};
    sxt_buffer_init(&file, SIZE_MAX);
    SXT_HOLDS(sxt_symbfile_writer_open(&writer, sxt_symbfile_to_buffer(&file), NULL) == SXT_OK);
    SXT_HOLDS(sxt_symbfile_write_ranges(symbols, &settings, writer, NULL) == SXT_OK);
    SXT_HOLDS(sxt_symbfile_writer_finish(writer, NULL) == SXT_OK);
    sxt_symbfile_writer_close(&writer);
    SXT_HOLDS(sxt_symbfile_verify(file.data, file.size, NULL, NULL) == 0);
    struct sxt_symbols *read = load(file.data, file.size);
    SXT_HOLDS(read != NULL);
    size_t lidia_size, again_size;
    uint8_t *lidia = encode_lidia(symbols, &lidia_size), *again = encode_lidia(read, &again_size);
    SXT_HOLDS(lidia_size == again_size && memcmp(lidia, again, lidia_size) == 0);
    free(lidia);
    free(again);
    sxt_buffer_free(&file);
    sxt_symbols_free(&symbols);
    sxt_symbols_free(&read);
}
