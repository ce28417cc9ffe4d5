/*
 * lines.c: reads the pc-value tables of a Go function: its files, its lines and its inlined calls.
 *
 * A pc-value table says up to which instruction a value applies. It consists of pairs of a change of the value (zigzag
 * varint) and a number of instruction quanta (varint), and ends with a change of 0. The value before the first pair is
 * -1. A function has one such table for its lines, one for its files and, among its pcdata, one for its position in the
 * tree of inlined calls. They are merged into spans within which nothing changes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "source/go/reader.h"

/* The maximum length of a name or path. */
#define TEXT_LIMIT 65536

/* A pc-value table being read: VALUE applies up to offset UPTO from the function's entry. */
struct pc_values {
    const uint8_t *at; /* NULL after its end */
    const uint8_t *end;
    int32_t value;
    uint64_t upto;
};

static void make_spans(struct sxt_go_reader *reader);
static struct pc_values open_values(const struct sxt_go_reader *reader, bool wanted, uint32_t offset);
static inline void move_to(struct sxt_go_reader *reader, struct pc_values *values, uint64_t offset);
static void add_span(struct sxt_go_reader *reader, const struct sxt_go_span *span);
static uint32_t intern(struct sxt_go_reader *reader, uint64_t at, bool is_name);
static bool may_be_name(sxt_string text);

int sxt_go_reader_open(struct sxt_go_reader *reader, const struct sxt_elf *elf, const struct sxt_go_table *table,
                       uint32_t flags, struct sxt_symbols *symbols, sxt_error *error)
{
    memset(reader, 0, sizeof *reader);
    reader->elf = elf;
    reader->table = table;
    reader->symbols = symbols;
    reader->want_lines = !(flags & SXT_EXTRACT_NO_LINES);
    reader->want_files = !(flags & SXT_EXTRACT_NO_FILES);
    reader->want_inlines = !(flags & SXT_EXTRACT_NO_INLINES);
    /* One step for each byte of code and text for each byte of the table are enough; small files get some more. */
    reader->budget = 2 * ((uint64_t)elf->size + table->size) + 65536;
    reader->string_limit = symbols->strings.bytes + 2 * (uint64_t)table->size + 65536;
    if (reader->want_files && table->file_count != 0) {
        reader->file_numbers = calloc(table->file_count, sizeof *reader->file_numbers);
        if (reader->file_numbers == NULL)
            return sxt_fail_memory(error, (uint64_t)table->file_count * sizeof *reader->file_numbers);
    }
    return SXT_OK;
}

void sxt_go_reader_close(struct sxt_go_reader *reader)
{
    free(reader->file_numbers);
    free(reader->spans);
    free(reader->nodes);
    memset(reader, 0, sizeof *reader);
}

void sxt_go_reader_select(struct sxt_go_reader *reader, const struct sxt_go_record *record, uint64_t length)
{
    reader->serial++;
    reader->record = record;
    reader->length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
    make_spans(reader);
    sxt_go_reader_open_tree(reader);
}

static void make_spans(struct sxt_go_reader *reader)
{
    const struct sxt_go_record *record = reader->record;
    const struct sxt_go_layout *layout = &reader->layout;
    uint32_t node_table = 0;
    if (layout->shape != SXT_GO_NO_TREE && layout->pcdata < record->pcdata_count)
        node_table = sxt_go_u32(reader->table, record->pcdata + layout->pcdata * 4);
    struct pc_values lines = open_values(reader, reader->want_lines, record->pc_line);
    struct pc_values files = open_values(reader, reader->want_files, record->pc_file);
    struct pc_values nodes = open_values(reader, true, node_table);

    reader->span_count = 0;
    uint64_t offset = 0;
    int32_t file = -1;
    uint32_t file_number = 0;
    while (offset < reader->length) {
        move_to(reader, &lines, offset);
        move_to(reader, &files, offset);
        move_to(reader, &nodes, offset);
        if (lines.at == NULL && files.at == NULL && nodes.at == NULL)
            break;
        if (files.value != file) {
            file = files.value;
            file_number = sxt_go_reader_file(reader, file);
        }
        add_span(reader, &(struct sxt_go_span){.offset = (uint32_t)offset,
                                               .file = file_number,
                                               .line = lines.value > 0 ? (uint32_t)lines.value : 0,
                                               .node = nodes.value});
        offset = lines.upto < files.upto ? lines.upto : files.upto;
        if (nodes.upto < offset)
            offset = nodes.upto;
    }
    reader->spans_end = offset < reader->length ? (uint32_t)offset : reader->length;
}

static struct pc_values open_values(const struct sxt_go_reader *reader, bool wanted, uint32_t offset)
{
    const struct sxt_go_table *table = reader->table;
    size_t room = table->size - table->pc_values;
    struct pc_values values = {.at = NULL, .end = table->data + table->size, .value = -1, .upto = UINT64_MAX};
    if (wanted && offset != 0 && offset < room) {
        values.at = table->data + table->pc_values + offset;
        values.upto = 0;
    }
    return values;
}

/* Reads a varint of at most 32 bits. Returns false if it is cut off or longer. */
static inline bool read_varint(struct pc_values *values, uint32_t *out)
{
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (values->at == values->end)
            return false;
        uint8_t byte = *values->at++;
        result |= (uint32_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = result;
            return true;
        }
    }
    return false;
}

/* Advances to the value at OFFSET. After the end of the table the value is always -1. */
static inline void move_to(struct sxt_go_reader *reader, struct pc_values *values, uint64_t offset)
{
    while (values->upto <= offset) {
        uint32_t change, quanta;
        if (!sxt_go_reader_spend(reader, 1) || !read_varint(values, &change) || (change == 0 && values->upto != 0) ||
            !read_varint(values, &quanta)) {
            *values = (struct pc_values){.at = NULL, .end = values->end, .value = -1, .upto = UINT64_MAX};
            return;
        }
        uint32_t difference = change & 1 ? ~(change >> 1) : change >> 1;
        values->value = (int32_t)((uint32_t)values->value + difference);
        values->upto += (uint64_t)quanta * reader->table->quantum;
    }
}

static void add_span(struct sxt_go_reader *reader, const struct sxt_go_span *span)
{
    if (reader->span_count != 0) {
        const struct sxt_go_span *last = &reader->spans[reader->span_count - 1];
        if (last->file == span->file && last->line == span->line && last->node == span->node)
            return;
    }
    struct sxt_go_span *spans =
        sxt_array_grow(reader->spans, &reader->span_capacity, reader->span_count + 1, sizeof *spans);
    if (spans == NULL) {
        reader->failed = true;
        return;
    }
    reader->spans = spans;
    reader->spans[reader->span_count++] = *span;
}

uint32_t sxt_go_reader_name(struct sxt_go_reader *reader, uint32_t name)
{
    uint32_t place = (name * 2654435761u) >> 20 & (SXT_GO_NAME_CACHE - 1);
    if (reader->names[place].number != 0 && reader->names[place].name == name)
        return reader->names[place].number;
    uint32_t number = intern(reader, reader->table->names + (uint64_t)name, true);
    reader->names[place].name = name;
    reader->names[place].number = number;
    return number;
}

uint32_t sxt_go_reader_file(struct sxt_go_reader *reader, int32_t file)
{
    const struct sxt_go_table *table = reader->table;
    if (!reader->want_files || file < 0)
        return 0;
    uint64_t index = (uint64_t)reader->record->files + (uint32_t)file;
    if (index >= table->file_count || (table->version == SXT_GO_1_2 && index == 0))
        return 0;
    uint32_t *number = &reader->file_numbers[index];
    if (*number == 0) {
        uint32_t offset = sxt_go_u32(table, table->files + index * 4);
        *number = 1 + (offset == UINT32_MAX ? 0 : intern(reader, table->file_names + (uint64_t)offset, false));
    }
    return *number - 1;
}

/* Returns the string number of the text at position AT of the table. */
static uint32_t intern(struct sxt_go_reader *reader, uint64_t at, bool is_name)
{
    if (reader->exhausted)
        return 0;
    sxt_string text = sxt_go_table_text(reader->table, at, TEXT_LIMIT);
    if (!sxt_go_reader_spend(reader, 1 + (text.data != NULL ? text.size : TEXT_LIMIT) / 8))
        return 0;
    if (text.size == 0 || (is_name && !may_be_name(text)))
        return 0;
    if (reader->symbols->strings.bytes + text.size > reader->string_limit) {
        reader->exhausted = true;
        return 0;
    }
    return sxt_symbols_string(reader->symbols, text.data, text.size);
}

/* Names are UTF-8 without control characters; text read from a wrong position usually is not. */
static bool may_be_name(sxt_string text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ')
            return false;
    return sxt_utf8_valid(text.data, text.size) == text.size;
}

bool sxt_go_reader_spend(struct sxt_go_reader *reader, uint64_t cost)
{
    if (reader->budget < cost) {
        reader->exhausted = true;
        return false;
    }
    reader->budget -= cost;
    return true;
}
