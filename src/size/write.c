/*
 * write.c: an sxt_size as a .size file. The layout is drawn in read.c.
 *
 * Only paths and components that a symbol has are stored, sorted, each once. Everything else is stored in the order of
 * the model, so what was read is written again as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "size/private.h"

#define NUMBER_ROOM 24 /* of a number and what follows it */
#define AT_ONCE     512

/* Numbers that indices get in the file. */
struct ranks {
    uint32_t *rank;  /* by index in the model */
    uint32_t *order; /* indices that are stored, in their order there */
    size_t count;    /* of what is stored */
};

struct writer {
    const struct sxt_size_info *size;
    struct sxt_buffer *out;
    struct ranks paths, components;
    sxt_error *error;
};

static int check_model(const struct sxt_size_info *size, sxt_error *error);
static int check_symbols(const struct sxt_size_info *size, const struct sxt_size_segment *segment, sxt_error *error);
static int rank_all(struct writer *writer);
static int write_lists(struct writer *writer);
static void write_segments(struct writer *writer);
static void write_numbers(struct writer *writer);
static int write_symbols(struct writer *writer);
static void write_disassemblies(struct writer *writer);

int sxt_size_save(const struct sxt_size_info *size, enum sxt_size_deflate deflate, struct sxt_buffer *out,
                  sxt_error *error)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    int status = sxt_size_write_text(size, &text, error);
    if (status == SXT_OK)
        status = sxt_size_deflate(text.data, text.size, deflate, out, error);
    sxt_buffer_free(&text);
    return status;
}

int sxt_size_write_text(const struct sxt_size_info *size, struct sxt_buffer *out, sxt_error *error)
{
    struct writer writer = {.size = size, .out = out, .error = error};
    int status = check_model(size, error);
    if (status == SXT_OK)
        status = rank_all(&writer);
    if (status == SXT_OK) {
        /* What was read is about as long when it is written. */
        sxt_buffer_reserve(out, size->text_size);
        sxt_buffer_print(out, "%sSize File Format v1%s\n", SXT_SIZE_VANITY, sxt_size_is_multiple(size) ? ".1" : "");
        status = sxt_size_write_header(size, out, error);
    }
    if (status == SXT_OK)
        status = write_lists(&writer);
    if (status == SXT_OK) {
        write_segments(&writer);
        write_numbers(&writer);
        status = write_symbols(&writer);
    }
    if (status == SXT_OK && sxt_size_has_disassembly(size))
        write_disassemblies(&writer);
    free(writer.paths.rank);
    free(writer.paths.order);
    free(writer.components.rank);
    free(writer.components.order);
    return status == SXT_OK ? sxt_buffer_status(out, error) : status;
}

/* --- checks: can it be stored? --- */

/* Whether TEXT has a byte that would end it in the file. */
static bool is_split(sxt_string text)
{
    return text.size > 0 && (memchr(text.data, '\n', text.size) != NULL || memchr(text.data, '\t', text.size) != NULL);
}

static int fail_check(sxt_error *error, const char *what, size_t index)
{
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "cannot make a .size file: %s (%zu)", what, index);
}

static int check_model(const struct sxt_size_info *size, sxt_error *error)
{
    if (size->container_count == 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a .size file needs a container");
    size_t next = 0;
    for (size_t i = 0; i < size->segment_count; i++) {
        const struct sxt_size_segment *segment = &size->segments[i];
        if (segment->container >= size->container_count)
            return fail_check(error, "a segment without a container", i);
        if (segment->section.size == 0 || is_split(segment->section))
            return fail_check(error, "a section without a name, or with a tab or newline in it", i);
        if (segment->first != next || segment->count > size->symbol_count - next)
            return fail_check(error, "segments do not follow one another", i);
        int status = check_symbols(size, segment, error);
        if (status != SXT_OK)
            return status;
        next += segment->count;
    }
    if (next != size->symbol_count)
        return fail_check(error, "symbols without a segment", next);
    for (size_t i = 0; i < size->disassembly_count; i++)
        if (size->disassemblies[i].symbol >= size->symbol_count)
            return fail_check(error, "disassembly without a symbol", i);
    return SXT_OK;
}

/* Groups are stored as the number of symbols that follow one another, so they have to. */
static int check_symbols(const struct sxt_size_info *size, const struct sxt_size_segment *segment, sxt_error *error)
{
    uint32_t open = 0, group = 0;
    for (size_t i = segment->first; i < segment->first + segment->count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        if (symbol->path >= size->path_count || (size->has_components && symbol->component >= size->component_count))
            return fail_check(error, "a symbol without a path or component", i);
        if (open > 0) {
            if (symbol->group != group)
                return fail_check(error, "aliases that are not next to each other", i);
            open--;
        } else if (symbol->group != 0) {
            group = symbol->group;
            if (group > size->group_count || size->groups[group - 1].first != i || size->groups[group - 1].count == 0)
                return fail_check(error, "aliases that are not next to each other", i);
            open = size->groups[group - 1].count - 1;
        }
    }
    return open == 0 ? SXT_OK : fail_check(error, "aliases in several segments", segment->first);
}

/* --- paths and components --- */

static int compare_path_indices(const void *a, const void *b, void *context)
{
    const struct sxt_size_info *size = context;
    return sxt_size_compare_paths(&size->paths[*(const uint32_t *)a], &size->paths[*(const uint32_t *)b]);
}

static int compare_component_indices(const void *a, const void *b, void *context)
{
    const struct sxt_size_info *size = context;
    return sxt_string_compare(size->components[*(const uint32_t *)a], size->components[*(const uint32_t *)b]);
}

typedef int comparison(const void *a, const void *b, void *context);

static int allocate_ranks(struct ranks *ranks, size_t count, sxt_error *error)
{
    ranks->rank = calloc(count + 1, sizeof *ranks->rank);
    ranks->order = calloc(count + 1, sizeof *ranks->order);
    return ranks->rank == NULL || ranks->order == NULL ? sxt_fail_memory(error, count * 8) : SXT_OK;
}

/* RANKS->rank says of each of COUNT items whether it is used, and then its number. */
static void rank(const struct sxt_size_info *size, struct ranks *ranks, size_t count, comparison *compare)
{
    union {
        const struct sxt_size_info *size;
        void *context;
    } context = {.size = size};
    size_t used = 0;
    bool in_order = true;
    for (size_t i = 0; i < count; i++) {
        if (ranks->rank[i] == 0)
            continue;
        ranks->order[used++] = (uint32_t)i;
        in_order =
            in_order && (used < 2 || compare(&ranks->order[used - 2], &ranks->order[used - 1], context.context) < 0);
    }
    if (!in_order)
        qsort_r(ranks->order, used, sizeof *ranks->order, compare, context.context);
    for (size_t i = 0; i < used; i++) {
        uint32_t index = ranks->order[i];
        if (ranks->count == 0 || compare(&ranks->order[ranks->count - 1], &index, context.context) != 0)
            ranks->order[ranks->count++] = index;
        ranks->rank[index] = (uint32_t)(ranks->count - 1);
    }
}

static int rank_all(struct writer *writer)
{
    const struct sxt_size_info *size = writer->size;
    int status = allocate_ranks(&writer->paths, size->path_count, writer->error);
    if (status == SXT_OK)
        status = allocate_ranks(&writer->components, size->component_count, writer->error);
    if (status != SXT_OK)
        return status;
    for (size_t i = 0; i < size->symbol_count; i++) {
        writer->paths.rank[size->symbols[i].path] = 1;
        if (size->has_components)
            writer->components.rank[size->symbols[i].component] = 1;
    }
    rank(size, &writer->paths, size->path_count, compare_path_indices);
    if (size->has_components)
        rank(size, &writer->components, size->component_count, compare_component_indices);
    return SXT_OK;
}

static int split_error(const struct writer *writer, const char *what, sxt_string text)
{
    return sxt_fail(writer->error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                    "%s has a tab or a newline in it, which a .size file cannot hold: %.*s", what,
                    (int)(text.size < 80 ? text.size : 80), text.data);
}

static int write_lists(struct writer *writer)
{
    const struct sxt_size_info *size = writer->size;
    struct sxt_buffer *out = writer->out;
    sxt_buffer_print(out, "%zu\n", writer->paths.count);
    for (size_t i = 0; i < writer->paths.count; i++) {
        const struct sxt_size_path *path = &size->paths[writer->paths.order[i]];
        if (is_split(path->object) || is_split(path->source))
            return split_error(writer, "a path", is_split(path->object) ? path->object : path->source);
        sxt_buffer_append(out, path->object.data, path->object.size);
        sxt_buffer_u8(out, '\t');
        sxt_buffer_append(out, path->source.data, path->source.size);
        sxt_buffer_u8(out, '\n');
    }
    if (!size->has_components)
        return SXT_OK;
    sxt_buffer_print(out, "%zu\n", writer->components.count);
    for (size_t i = 0; i < writer->components.count; i++) {
        sxt_string component = size->components[writer->components.order[i]];
        if (component.size > 0 && memchr(component.data, '\n', component.size) != NULL)
            return split_error(writer, "a component", component);
        sxt_buffer_append(out, component.data, component.size);
        sxt_buffer_u8(out, '\n');
    }
    return SXT_OK;
}

/* --- segments and numbers --- */

static void write_segments(struct writer *writer)
{
    const struct sxt_size_info *size = writer->size;
    struct sxt_buffer *out = writer->out;
    for (size_t i = 0; i < size->segment_count; i++) {
        const struct sxt_size_segment *segment = &size->segments[i];
        if (i > 0)
            sxt_buffer_u8(out, '\t');
        if (sxt_size_is_multiple(size))
            sxt_buffer_print(out, "<%u>", segment->container);
        sxt_buffer_append(out, segment->section.data, segment->section.size);
    }
    sxt_buffer_u8(out, '\n');
    for (size_t i = 0; i < size->segment_count; i++)
        sxt_buffer_print(out, "%s%zu", i > 0 ? "\t" : "", size->segments[i].count);
    sxt_buffer_u8(out, '\n');
}

static char *put_number(char *to, bool is_negative, uint64_t magnitude)
{
    char digits[NUMBER_ROOM], *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (is_negative)
        *--at = '-';
    size_t size = (size_t)(digits + sizeof digits - at);
    memcpy(to, at, size);
    return to + size;
}

enum block { ADDRESSES, SIZES, PADDINGS, PATHS, COMPONENTS };

/* As 64 bits, which are a signed number for sizes and paddings. */
static uint64_t value_of(const struct writer *writer, const struct sxt_size_model_symbol *symbol, enum block block)
{
    switch (block) {
    case ADDRESSES:
        return symbol->address;
    case SIZES:
        return (uint64_t)sxt_size_stored_size(symbol);
    case PADDINGS:
        return (uint64_t)symbol->padding;
    case PATHS:
        return writer->paths.rank[symbol->path];
    case COMPONENTS:
        break;
    }
    return writer->components.rank[symbol->component];
}

static void write_block(struct writer *writer, enum block block)
{
    const struct sxt_size_info *size = writer->size;
    bool is_delta = block != SIZES && block != PADDINGS;
    for (size_t i = 0; i < size->segment_count; i++) {
        const struct sxt_size_model_symbol *symbol = size->symbols + size->segments[i].first;
        const struct sxt_size_model_symbol *end = symbol + size->segments[i].count;
        uint64_t previous = 0;
        while (symbol < end) {
            char *start = (char *)sxt_buffer_reserve(writer->out, AT_ONCE * NUMBER_ROOM), *to = start;
            if (start == NULL)
                return;
            for (unsigned k = 0; k < AT_ONCE && symbol < end; k++, symbol++) {
                uint64_t value = value_of(writer, symbol, block);
                bool is_negative = is_delta ? value < previous : (int64_t)value < 0;
                uint64_t number = is_delta ? value - previous : value;
                to = put_number(to, is_negative, is_negative ? 0 - number : number);
                *to++ = ' ';
                previous = value;
            }
            writer->out->size += (size_t)(to - start) - (symbol == end);
        }
        sxt_buffer_u8(writer->out, '\n');
    }
}

static void write_numbers(struct writer *writer)
{
    write_block(writer, ADDRESSES);
    write_block(writer, SIZES);
    if (writer->size->is_sparse)
        write_block(writer, PADDINGS);
    write_block(writer, PATHS);
    if (writer->size->has_components)
        write_block(writer, COMPONENTS);
}

/* --- names and disassembly --- */

static char *put_hexadecimal(char *to, uint32_t value)
{
    unsigned digits = 1;
    while (digits < 8 && value >> (4 * digits) != 0)
        digits++;
    while (digits-- > 0)
        *to++ = sxt_hex_letter(value >> (4 * digits));
    return to;
}

static int write_symbols(struct writer *writer)
{
    const struct sxt_size_info *size = writer->size;
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        if (is_split(sxt_size_full_name(symbol)))
            return split_error(writer, "a name", sxt_size_full_name(symbol));
        char *to = (char *)sxt_buffer_reserve(writer->out, (size_t)symbol->full_name_size + 2 * NUMBER_ROOM);
        if (to == NULL)
            return SXT_OK;
        char *start = to;
        if (symbol->full_name_size > 0)
            memcpy(to, symbol->full_name, symbol->full_name_size);
        to += symbol->full_name_size;
        if (symbol->group != 0 && size->groups[symbol->group - 1].first == i) {
            *to++ = '\t';
            *to++ = '0';
            to = put_hexadecimal(to, size->groups[symbol->group - 1].count);
        }
        if (symbol->flags != 0) {
            *to++ = '\t';
            to = put_hexadecimal(to, symbol->flags);
        }
        *to++ = '\n';
        writer->out->size += (size_t)(to - start);
    }
    return SXT_OK;
}

static void write_disassemblies(struct writer *writer)
{
    const struct sxt_size_info *size = writer->size;
    for (size_t i = 0; i < size->disassembly_count; i++)
        sxt_buffer_print(writer->out, "%s%u", i > 0 ? " " : "", size->disassemblies[i].symbol);
    sxt_buffer_u8(writer->out, '\n');
    for (size_t i = 0; i < size->disassembly_count; i++) {
        sxt_string text = size->disassemblies[i].text;
        sxt_buffer_print(writer->out, "%zu\n", text.size);
        sxt_buffer_append(writer->out, text.data, text.size);
    }
}
