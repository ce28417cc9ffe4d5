/*
 * read.c: a .size file into memory, in one pass over its text. Names, paths and components stay where they are in it;
 * the only other memory that grows with the file is the list of symbols.
 *
 *     # Created by //tools/binary_size        says who made it; not looked at
 *     Size File Format v1                     or v1.1
 *     123                                     bytes of JSON
 *     {...}
 *     2                                       paths: object, tab, source
 *     a.o<tab>a.cc
 *     b.o<tab>b.cc
 *     1                                       components, if the header says so
 *     Blink
 *     .text<tab>.data                         segments; <0>.text in v1.1, with the index of the container
 *     3<tab>1                                 their symbols
 *     4096 16 16                              a line a segment: addresses (each less the one before),
 *     12 16 8                                 sizes, paddings if the header says so, paths and components as indices
 *     ...                                     (again each less the one before)
 *     main<tab>02<tab>1                       symbols: name, 0 and the number of its aliases, flags; in hexadecimal
 *     0 2                                     symbols with disassembly, if the header says so
 *     5                                       and each with its size in bytes
 *     disas
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/string.h"
#include "size/private.h"

#define VERSION_1   "Size File Format v1"
#define VERSION_1_1 "Size File Format v1.1"
#define PEEK_SIZE   512

/*
 * A symbol takes 56 bytes in memory and at least 7 in the text; a path takes 32, and not less than 3 on average, since
 * paths differ. A file that needs more than this was made to exhaust memory.
 */
#define MEMORY_FACTOR    16
#define MEMORY_ALLOWANCE ((size_t)64 << 20)
#define LEAST_SYMBOL     7

static int read_all(struct sxt_size_reader *reader);
static int read_header(struct sxt_size_reader *reader);
static int read_paths(struct sxt_size_reader *reader);
static int read_components(struct sxt_size_reader *reader);
static int read_segments(struct sxt_size_reader *reader);
static int read_disassemblies(struct sxt_size_reader *reader);
static int read_end(struct sxt_size_reader *reader);

static bool begins_second_line(const uint8_t *data, size_t size, const char *expected)
{
    const uint8_t *newline = memchr(data, '\n', size);
    size_t length = strlen(expected);
    return newline != NULL && size - (size_t)(newline + 1 - data) >= length &&
           memcmp(newline + 1, expected, length) == 0;
}

bool sxt_size_is(const uint8_t *data, size_t size)
{
    uint8_t beginning[PEEK_SIZE];
    size_t shown = sxt_size_peek(data, size, beginning, sizeof beginning);
    return begins_second_line(beginning, shown, "Size File Format ");
}

bool sxt_sizediff_is(const uint8_t *data, size_t size)
{
    return size > 0 && data[0] == '#' && begins_second_line(data, size < PEEK_SIZE ? size : PEEK_SIZE, "DIFF\n");
}

int sxt_size_info_new(struct sxt_size_info **out, sxt_error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return sxt_fail_memory(error, sizeof **out);
    sxt_arena_init(&(*out)->arena, 0, sxt_arena_separate_default);
    (*out)->has_components = (*out)->has_disassembly = true;
    return SXT_OK;
}

void sxt_size_info_free(struct sxt_size_info **size)
{
    if (*size == NULL)
        return;
    sxt_arena_free(&(*size)->arena);
    free((*size)->text);
    free(*size);
    *size = NULL;
}

int sxt_size_open(const uint8_t *data, size_t size, const struct sxt_size_limits *limits, struct sxt_size_info **out,
                  sxt_error *error)
{
    int status = sxt_size_info_new(out, error);
    if (status != SXT_OK)
        return status;
    struct sxt_size_info *made = *out;
    status = sxt_size_inflate(data, size, limits, &made->text, &made->text_size, error);
    if (status == SXT_OK) {
        const char *text = (const char *)made->text;
        struct sxt_size_reader reader = {.size = made, .text = {text, text, text + made->text_size, error}};
        made->arena.limit = made->text_size < SIZE_MAX / MEMORY_FACTOR / 2
                                ? made->text_size * MEMORY_FACTOR + MEMORY_ALLOWANCE
                                : SIZE_MAX;
        status = read_all(&reader);
        made->arena.limit = SIZE_MAX;
        free(reader.groups);
    }
    if (status != SXT_OK)
        sxt_size_info_free(out);
    return status;
}

/* Fails when the arena is full: the file is hostile, or too large for the machine. */
int sxt_size_reader_allocate(struct sxt_size_reader *reader, size_t count, size_t item_size, void **out)
{
    struct sxt_arena *arena = &reader->size->arena;
    uint64_t wanted;
    bool fits = sxt_mul_u64(count, item_size, &wanted) && wanted <= SIZE_MAX;
    *out = fits ? sxt_arena_alloc(arena, (size_t)wanted) : NULL;
    if (*out != NULL)
        return SXT_OK;
    if (!fits || wanted > arena->limit - arena->used)
        return sxt_fail(reader->text.error, SXT_ERROR_LIMIT, (uint64_t)(reader->text.at - reader->text.start),
                        "the lists need more memory than the %zu bytes that a text of this size is allowed",
                        arena->limit);
    return sxt_fail_memory(reader->text.error, wanted);
}

static int read_all(struct sxt_size_reader *reader)
{
    const struct sxt_size_info *size = reader->size;
    int status = read_header(reader);
    if (status == SXT_OK)
        status = read_paths(reader);
    if (status == SXT_OK)
        status = read_components(reader);
    if (status == SXT_OK)
        status = read_segments(reader);
    if (status == SXT_OK)
        status = sxt_size_read_symbols(reader);
    if (status == SXT_OK && size->has_disassembly)
        status = read_disassemblies(reader);
    if (status == SXT_OK)
        status = read_end(reader);
    return status;
}

static int read_header(struct sxt_size_reader *reader)
{
    struct sxt_size_text *text = &reader->text;
    sxt_string line;
    int status = sxt_size_text_line(text, "the first line", &line);
    if (status == SXT_OK)
        status = sxt_size_text_line(text, "the version", &line);
    if (status != SXT_OK)
        return status;
    bool is_multiple = sxt_string_is(line, VERSION_1_1);
    if (!is_multiple && !sxt_string_is(line, VERSION_1)) {
        bool is_size = sxt_string_begins(line, "Size File Format");
        return sxt_fail(text->error, is_size ? SXT_ERROR_UNSUPPORTED : SXT_ERROR_FORMAT,
                        (uint64_t)(line.data - text->start), "line 2: %s'%.*s', not '" VERSION_1 "' or v1.1",
                        is_size ? "the version is " : "", (int)(line.size < 40 ? line.size : 40), line.data);
    }
    uint64_t json_size;
    status = sxt_size_text_count(text, "the number of bytes of the JSON", INT64_MAX, &json_size);
    if (status != SXT_OK)
        return status;
    const char *json = text->at;
    size_t left = (size_t)(text->end - json);
    if (json_size >= left || json[json_size] != '\n')
        return sxt_size_text_error(text, json, "the JSON of %llu bytes %s", (unsigned long long)json_size,
                                   json_size >= left ? "reaches beyond the end" : "does not end a line");
    struct sxt_json *root;
    status = sxt_size_parse_json(&reader->size->arena, json, (size_t)json_size, (uint64_t)(json - text->start), &root,
                                 text->error);
    if (status == SXT_OK)
        status = sxt_size_read_header(reader->size, root, is_multiple, text->error);
    text->at = json + json_size + 1;
    return status;
}

static int read_paths(struct sxt_size_reader *reader)
{
    struct sxt_size_text *text = &reader->text;
    uint64_t count;
    void *memory;
    int status = sxt_size_text_count(text, "the number of paths", (uint64_t)(text->end - text->at), &count);
    if (status == SXT_OK)
        status = sxt_size_reader_allocate(reader, (size_t)count, sizeof *reader->size->paths, &memory);
    if (status != SXT_OK)
        return status;
    struct sxt_size_path *paths = reader->size->paths = memory;
    for (size_t i = 0; i < count; i++) {
        sxt_string line;
        status = sxt_size_text_line(text, "the paths", &line);
        if (status != SXT_OK)
            return status;
        const char *tab = memchr(line.data, '\t', line.size), *end = line.data + line.size;
        paths[i].object = (sxt_string){line.data, (size_t)((tab == NULL ? end : tab) - line.data)};
        paths[i].source = tab == NULL ? (sxt_string){end, 0} : (sxt_string){tab + 1, (size_t)(end - tab - 1)};
        if (memchr(paths[i].source.data, '\t', paths[i].source.size) != NULL)
            return sxt_size_text_error(text, line.data, "path %zu has more than one tab", i);
    }
    reader->size->path_count = (size_t)count;
    return SXT_OK;
}

static int read_components(struct sxt_size_reader *reader)
{
    struct sxt_size_text *text = &reader->text;
    struct sxt_size_info *size = reader->size;
    uint64_t count = 1;
    int status = SXT_OK;
    if (size->has_components)
        status = sxt_size_text_count(text, "the number of components", (uint64_t)(text->end - text->at), &count);
    void *memory;
    if (status == SXT_OK)
        status = sxt_size_reader_allocate(reader, (size_t)count, sizeof *size->components, &memory);
    if (status != SXT_OK)
        return status;
    size->components = memory;
    size->component_count = (size_t)count;
    if (!size->has_components)
        size->components[0] = (sxt_string){"", 0};
    for (size_t i = 0; size->has_components && i < count && status == SXT_OK; i++)
        status = sxt_size_text_line(text, "the components", &size->components[i]);
    return status;
}

/* The next field of LINE, which ends at a tab or with the line; false when there are none left. */
static bool next_field(sxt_string *line, sxt_string *field)
{
    if (line->data == NULL)
        return false;
    const char *tab = memchr(line->data, '\t', line->size);
    field->data = line->data;
    field->size = tab == NULL ? line->size : (size_t)(tab - line->data);
    *line = tab == NULL ? (sxt_string){NULL, 0} : (sxt_string){tab + 1, line->size - field->size - 1};
    return true;
}

/* "<2>.text" in a file that stores containers; ".text" in others. */
static int read_segment_name(struct sxt_size_reader *reader, sxt_string field, struct sxt_size_segment *segment)
{
    segment->container = 0;
    if (reader->size->is_multiple) {
        int64_t container = -1;
        const char *end =
            field.size > 2 && field.data[0] == '<' ? sxt_size_parse_number(field.data + 1, &container) : NULL;
        if (end == NULL || *end != '>')
            return sxt_size_text_error(&reader->text, field.data, "a segment has no <container> before it");
        if (container < 0 || (uint64_t)container >= reader->size->container_count)
            return sxt_size_text_error(&reader->text, field.data, "container %lld of %zu", (long long)container,
                                       reader->size->container_count);
        segment->container = (uint32_t)container;
        field = (sxt_string){end + 1, field.size - (size_t)(end + 1 - field.data)};
    }
    if (field.size == 0)
        return sxt_size_text_error(&reader->text, field.data, "a segment without a name");
    segment->section = field;
    sxt_size_classify(segment);
    return SXT_OK;
}

static int read_segment_counts(struct sxt_size_reader *reader, sxt_string line)
{
    struct sxt_size_info *size = reader->size;
    uint64_t most = (uint64_t)(reader->text.end - reader->text.at) / LEAST_SYMBOL, total = 0;
    most = most < UINT32_MAX - 1 ? most : UINT32_MAX - 1;
    for (size_t i = 0; i < size->segment_count; i++) {
        sxt_string field = {NULL, 0};
        int64_t count = -1;
        if (!next_field(&line, &field))
            return sxt_size_text_error(&reader->text, reader->text.at - 1, "%zu counts for %zu segments", i,
                                       size->segment_count);
        if (sxt_size_parse_number(field.data, &count) != field.data + field.size || count < 0)
            return sxt_size_text_error(&reader->text, field.data, "'%.*s' is not a number of symbols",
                                       (int)(field.size < 20 ? field.size : 20), field.data);
        if ((uint64_t)count > most - total)
            return sxt_size_text_error(&reader->text, field.data, "the file is too short for %lld symbols",
                                       (long long)count);
        size->segments[i].first = (size_t)total;
        size->segments[i].count = (size_t)count;
        total += (uint64_t)count;
    }
    if (line.data != NULL)
        return sxt_size_text_error(&reader->text, line.data, "more counts than the %zu segments", size->segment_count);
    size->symbol_count = (size_t)total;
    void *memory;
    int status = sxt_size_reader_allocate(reader, size->symbol_count, sizeof *size->symbols, &memory);
    size->symbols = memory;
    if (status == SXT_OK)
        sxt_size_prefer_large_pages(memory, size->symbol_count * sizeof *size->symbols);
    return status;
}

static int read_segments(struct sxt_size_reader *reader)
{
    struct sxt_size_info *size = reader->size;
    sxt_string names, counts, field;
    int status = sxt_size_text_line(&reader->text, "the names of the segments", &names);
    if (status == SXT_OK)
        status = sxt_size_text_line(&reader->text, "the counts of symbols", &counts);
    if (status != SXT_OK)
        return status;
    size_t count = names.size > 0;
    for (size_t i = 0; i < names.size; i++)
        count += names.data[i] == '\t';
    void *memory;
    status = sxt_size_reader_allocate(reader, count, sizeof *size->segments, &memory);
    if (status != SXT_OK)
        return status;
    size->segments = memory;
    while (size->segment_count < count && next_field(&names, &field)) {
        status = read_segment_name(reader, field, &size->segments[size->segment_count++]);
        if (status != SXT_OK)
            return status;
    }
    if (count == 0 && counts.size == 0)
        counts.data = NULL;
    return read_segment_counts(reader, counts);
}

static int by_symbol(const void *a, const void *b)
{
    const struct sxt_size_model_disassembly *left = a, *right = b;
    return (left->symbol > right->symbol) - (left->symbol < right->symbol);
}

static int read_disassembly(struct sxt_size_reader *reader, struct sxt_size_model_disassembly *disassembly)
{
    struct sxt_size_text *text = &reader->text;
    uint64_t length;
    int status = sxt_size_text_count(text, "the number of bytes of a disassembly", INT64_MAX, &length);
    if (status != SXT_OK)
        return status;
    if (length > (uint64_t)(text->end - text->at))
        return sxt_size_text_error(text, text->at, "a disassembly of %llu bytes reaches beyond the end",
                                   (unsigned long long)length);
    disassembly->text = (sxt_string){text->at, (size_t)length};
    text->at += length;
    return SXT_OK;
}

static int read_disassemblies(struct sxt_size_reader *reader)
{
    struct sxt_size_info *size = reader->size;
    sxt_string line;
    int status = sxt_size_text_line(&reader->text, "the symbols with disassembly", &line);
    if (status != SXT_OK)
        return status;
    size_t count = line.size > 0;
    for (size_t i = 0; i < line.size; i++)
        count += line.data[i] == ' ';
    void *memory;
    status = sxt_size_reader_allocate(reader, count, sizeof *size->disassemblies, &memory);
    if (status != SXT_OK)
        return status;
    size->disassemblies = memory;
    bool in_order = true;
    const char *at = line.data;
    for (size_t i = 0; i < count; i++) {
        int64_t symbol = 0;
        const char *next = sxt_size_parse_number(at, &symbol);
        if (next == NULL || *next != (i + 1 == count ? '\n' : ' '))
            return sxt_size_text_error(&reader->text, at, "not a number among the symbols with disassembly");
        if (symbol < 0 || (uint64_t)symbol >= size->symbol_count)
            return sxt_size_text_error(&reader->text, at,
                                       "disassembly of symbol %lld, which is out of range: there are %zu",
                                       (long long)symbol, size->symbol_count);
        in_order = in_order && (i == 0 || size->disassemblies[i - 1].symbol < (uint64_t)symbol);
        size->disassemblies[i].symbol = (uint32_t)symbol;
        at = next + 1;
    }
    for (; size->disassembly_count < count && status == SXT_OK; size->disassembly_count++)
        status = read_disassembly(reader, &size->disassemblies[size->disassembly_count]);
    if (!in_order && status == SXT_OK)
        qsort(size->disassemblies, count, sizeof *size->disassemblies, by_symbol);
    return status;
}

/* Empty lines may follow, and nothing else. */
static int read_end(struct sxt_size_reader *reader)
{
    const char *at = reader->text.at;
    while (at < reader->text.end && *at == '\n')
        at++;
    return at == reader->text.end ? SXT_OK : sxt_size_text_error(&reader->text, at, "more text after the end");
}
