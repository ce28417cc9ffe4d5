/*
 * read_symbols.c: the symbols of a .size file. Its text has them in columns: a line of addresses for each segment, then
 * as many lines of sizes, and so on, and the names at the end. The lines are found first; then all of them are walked
 * over together, so that each symbol is put together once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hex.h"
#include "size/private.h"

/* What a line of numbers holds. */
enum block { ADDRESSES, SIZES, PADDINGS, PATHS, COMPONENTS, BLOCKS };

static const char *const block_names[BLOCKS] = {"addresses", "sizes", "paddings", "path indices", "component indices"};

/* How far a segment is read. */
struct progress {
    const char *at[BLOCKS]; /* the next number; NULL for a block that the file does not have */
    size_t left;            /* symbols that are still to come, this one included */
    size_t count;           /* of all symbols */
    uint64_t address;       /* of the symbol before */
    uint64_t path, component;
    uint32_t open; /* symbols that are still to come in a group of aliases */
};

static int find_lines(struct sxt_size_reader *reader, struct progress *segments);
static int read_segment(struct sxt_size_reader *reader, size_t number, struct progress *progress);
static int read_numbers(struct sxt_size_reader *reader, struct progress *progress,
                        struct sxt_size_model_symbol *symbol);
static int read_name(struct sxt_size_reader *reader, struct progress *progress, size_t index);
static int read_fields(struct sxt_size_reader *reader, sxt_string rest, size_t index, struct progress *progress);

int sxt_size_read_symbols(struct sxt_size_reader *reader)
{
    struct sxt_size_info *size = reader->size;
    struct progress *segments = calloc(size->segment_count + 1, sizeof *segments);
    if (segments == NULL)
        return sxt_fail_memory(reader->text.error, (size->segment_count + 1) * sizeof *segments);
    int status = find_lines(reader, segments);
    for (size_t i = 0; i < size->segment_count && status == SXT_OK; i++)
        status = read_segment(reader, i, &segments[i]);
    free(segments);
    void *memory = NULL;
    if (status == SXT_OK)
        status = sxt_size_reader_allocate(reader, size->group_count, sizeof *size->groups, &memory);
    if (status == SXT_OK && size->group_count > 0)
        memcpy(memory, reader->groups, size->group_count * sizeof *size->groups);
    size->groups = memory;
    return status;
}

static int find_lines(struct sxt_size_reader *reader, struct progress *segments)
{
    struct sxt_size_text *text = &reader->text;
    const struct sxt_size_info *size = reader->size;
    const bool has[BLOCKS] = {true, true, size->is_sparse, true, size->has_components};
    for (enum block block = ADDRESSES; block < BLOCKS; block++) {
        for (size_t i = 0; has[block] && i < size->segment_count; i++) {
            sxt_string line;
            int status = sxt_size_text_line(text, block_names[block], &line);
            if (status != SXT_OK)
                return status;
            segments[i].at[block] = line.data;
            segments[i].left = segments[i].count = size->segments[i].count;
            if (segments[i].count == 0 && line.size > 0)
                return sxt_size_text_error(text, line.data, "%s of a segment without symbols", block_names[block]);
        }
    }
    return SXT_OK;
}

static int read_segment(struct sxt_size_reader *reader, size_t number, struct progress *progress)
{
    struct sxt_size_info *size = reader->size;
    size_t first = size->segments[number].first;
    for (size_t i = first; progress->left > 0; i++, progress->left--) {
        struct sxt_size_model_symbol *symbol = &size->symbols[i];
        symbol->segment = (uint32_t)number;
        const char *size_at = progress->at[SIZES];
        int status = read_numbers(reader, progress, symbol);
        bool is_negative = symbol->size < 0;
        if (status == SXT_OK)
            status = read_name(reader, progress, i);
        /* What padding lost in a diff is stored as overhead of a negative size. */
        if (status == SXT_OK && is_negative && !(size->is_sparse && sxt_size_is_overhead(symbol)))
            return sxt_size_text_error(&reader->text, size_at, "a negative size");
        if (status != SXT_OK)
            return status;
        if (!size->is_sparse)
            sxt_size_derive_one(size, symbol);
    }
    return SXT_OK;
}

/* --- numbers --- */

/* What is wrong at AT: not a number of BLOCK, or followed by something else. */
static int number_error(struct sxt_size_reader *reader, const struct progress *progress, enum block block)
{
    const struct sxt_size_text *text = &reader->text;
    const char *name = block_names[block], *at = progress->at[block];
    int64_t value;
    size_t before = progress->count - progress->left;
    if (before > 0 && at[-1] == '\n')
        return sxt_size_text_error(text, at - 1, "%zu %s where %zu are expected", before, name, progress->count);
    const char *next = sxt_size_parse_number(at, &value);
    if (*at == '\n' || (next != NULL && *next == '\n'))
        return sxt_size_text_error(text, at, "%zu %s where %zu are expected", before + (next != NULL), name,
                                   progress->count);
    if (next != NULL && *next == ' ')
        return sxt_size_text_error(text, next, "more %s than the %zu that are expected", name, progress->count);
    return sxt_size_text_error(text, at, "not a number among the %s, or one that is too large", name);
}

/*
 * The next number of BLOCK; false when it is not followed by another one, or by the end of the line if it is the last.
 */
static inline bool next_number(struct progress *progress, enum block block, int64_t *value)
{
    const char *next = sxt_size_parse_number(progress->at[block], value);
    if (next == NULL || *next != (progress->left > 1 ? ' ' : '\n'))
        return false;
    progress->at[block] = next + 1;
    return true;
}

/* To an address of a kernel, or back from one: the difference does not fit in a signed number. */
static bool large_step(struct progress *progress)
{
    const char *at = progress->at[ADDRESSES];
    bool is_back = *at == '-';
    uint64_t value = 0;
    for (at += is_back; (unsigned char)(*at - '0') < 10; at++)
        if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    uint64_t room = is_back ? progress->address : UINT64_MAX - progress->address;
    if (value <= INT64_MAX || value > room || *at != (progress->left > 1 ? ' ' : '\n'))
        return false;
    progress->address += is_back ? 0 - value : value;
    progress->at[ADDRESSES] = at + 1;
    return true;
}

static int index_error(struct sxt_size_reader *reader, const char *at, const char *what, uint64_t index, uint64_t count)
{
    return sxt_size_text_error(&reader->text, at, "%s %lld is out of range: there are %llu", what, (long long)index,
                               (unsigned long long)count);
}

static int read_numbers(struct sxt_size_reader *reader, struct progress *progress, struct sxt_size_model_symbol *symbol)
{
    int64_t value = 0;
    const char *const *at = progress->at;
    if (next_number(progress, ADDRESSES, &value)) {
        uint64_t address = progress->address + (uint64_t)value;
        if (value < 0 ? address > progress->address : address < progress->address)
            return sxt_size_text_error(&reader->text, at[ADDRESSES] - 1, "an address that does not fit in 64 bits");
        progress->address = address;
    } else if (!large_step(progress)) {
        return number_error(reader, progress, ADDRESSES);
    }
    symbol->address = progress->address;

    if (!next_number(progress, SIZES, &symbol->size))
        return number_error(reader, progress, SIZES);
    symbol->padding = 0;
    if (at[PADDINGS] != NULL && !next_number(progress, PADDINGS, &symbol->padding))
        return number_error(reader, progress, PADDINGS);

    const char *before = at[PATHS];
    if (!next_number(progress, PATHS, &value))
        return number_error(reader, progress, PATHS);
    progress->path += (uint64_t)value;
    if (progress->path >= reader->size->path_count)
        return index_error(reader, before, "path", progress->path, reader->size->path_count);
    symbol->path = (uint32_t)progress->path;

    symbol->component = 0;
    if (at[COMPONENTS] == NULL)
        return SXT_OK;
    before = at[COMPONENTS];
    if (!next_number(progress, COMPONENTS, &value))
        return number_error(reader, progress, COMPONENTS);
    progress->component += (uint64_t)value;
    if (progress->component >= reader->size->component_count)
        return index_error(reader, before, "component", progress->component, reader->size->component_count);
    symbol->component = (uint32_t)progress->component;
    return SXT_OK;
}

/* --- names --- */

static int read_name(struct sxt_size_reader *reader, struct progress *progress, size_t index)
{
    struct sxt_size_model_symbol *symbol = &reader->size->symbols[index];
    sxt_string line;
    int status = sxt_size_text_line(&reader->text, "the symbols", &line);
    if (status != SXT_OK)
        return status;
    symbol->flags = 0;
    const char *tab = memchr(line.data, '\t', line.size);
    if (tab != NULL) {
        sxt_string rest = {tab + 1, line.size - (size_t)(tab + 1 - line.data)};
        status = read_fields(reader, rest, index, progress);
        line.size = (size_t)(tab - line.data);
    }
    if (status == SXT_OK && line.size > UINT32_MAX)
        return sxt_size_text_error(&reader->text, line.data, "a name of %zu bytes", line.size);
    symbol->full_name = line.data;
    symbol->full_name_size = (uint32_t)line.size;
    symbol->group = progress->open > 0 ? (uint32_t)reader->size->group_count : 0;
    progress->open -= progress->open > 0;
    if (status == SXT_OK && reader->size->is_sparse && !sxt_size_is_overhead(symbol) &&
        __builtin_add_overflow(symbol->size, symbol->padding, &symbol->size))
        return sxt_size_text_error(&reader->text, line.data, "size and padding of a symbol do not fit in 64 bits");
    return status;
}

static bool parse_hexadecimal(sxt_string field, uint32_t *value)
{
    uint64_t number;
    if (!sxt_hex_parse(field, &number) || number > UINT32_MAX)
        return false;
    *value = (uint32_t)number;
    return true;
}

static int field_error(struct sxt_size_reader *reader, sxt_string field, const char *what)
{
    return sxt_size_text_error(&reader->text, field.data, "'%.*s' is not %s", (int)(field.size < 20 ? field.size : 20),
                               field.data, what);
}

static int open_group(struct sxt_size_reader *reader, sxt_string field, size_t index, struct progress *progress)
{
    uint32_t count;
    if (!parse_hexadecimal(field, &count) || count == 0)
        return field_error(reader, field, "a number of aliases");
    if (progress->open > 0)
        return sxt_size_text_error(&reader->text, field.data, "aliases begin where %u of the group before are missing",
                                   progress->open);
    if (count > progress->left)
        return sxt_size_text_error(&reader->text, field.data, "%u aliases, but the segment has only %zu symbols left",
                                   count, progress->left);
    size_t made = reader->size->group_count;
    void *moved = sxt_array_grow(reader->groups, &reader->group_capacity, made + 1, sizeof *reader->groups);
    if (moved == NULL)
        return sxt_fail_memory(reader->text.error, (made + 1) * sizeof *reader->groups);
    reader->groups = moved;
    reader->groups[made] = (struct sxt_size_group){(uint32_t)index, count};
    reader->size->group_count++;
    progress->open = count;
    return SXT_OK;
}

/* What follows the name: "0count", "flags", or both. */
static int read_fields(struct sxt_size_reader *reader, sxt_string rest, size_t index, struct progress *progress)
{
    const char *tab = memchr(rest.data, '\t', rest.size), *end = rest.data + rest.size;
    sxt_string first = {rest.data, (size_t)((tab == NULL ? end : tab) - rest.data)};
    sxt_string flags = tab == NULL ? first : (sxt_string){tab + 1, (size_t)(end - tab - 1)};
    bool has_count = tab != NULL || (first.size > 0 && first.data[0] == '0');
    bool has_flags = tab != NULL || !has_count;
    if (tab != NULL && memchr(flags.data, '\t', flags.size) != NULL)
        return sxt_size_text_error(&reader->text, flags.data, "a symbol has more than three fields");
    int status = has_count ? open_group(reader, first, index, progress) : SXT_OK;
    if (status == SXT_OK && has_flags && !parse_hexadecimal(flags, &reader->size->symbols[index].flags))
        return field_error(reader, flags, "a set of flags");
    return status;
}
