/*
 * go.c: converts Go functions into ranges, with their lines and the calls inlined into them.
 *
 *     pc      0        8        16       24       32       40
 *     line    |  10    |   3    |   4    |   3    |  11    |
 *     node    |  -1    |   0    |   1    |   0    |  -1    |      call 1 was inlined into call 0
 *     depth 0 [ main: lines at 0 and 32                    ]
 *     depth 1          [ call 0: lines at 8 and 24]
 *     depth 2                   [ call 1 ]
 *
 * A range has only its own lines; the range of an inlined call has the line of the call.
 */
#include "source/go/go.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "source/go/reader.h"

#define NO_SPAN UINT32_MAX

/* A range under construction: the function itself, or one contiguous piece of an inlined call. */
struct piece {
    uint32_t start, end; /* offsets from the function's entry; the function itself may end later */
    uint32_t depth;
    int32_t node; /* negative for the function itself */
    uint32_t function, file, call_file, call_line;
    uint32_t first, last; /* its own spans, linked by their `next` */
};

struct writer {
    struct sxt_go_reader *reader;
    struct piece *pieces; /* in tree order; the first is the function itself */
    size_t piece_count, piece_capacity;
    size_t open[SXT_SYMBOLS_MAX_DEPTH]; /* the pieces around the current span, by depth */
    uint32_t open_depth;                /* of the innermost one */
};

enum outcome { ADDED, EMPTY, DAMAGED };

static int add_functions(struct sxt_go_reader *reader, struct writer *writer, sxt_error *error);
static enum outcome add_function(struct writer *writer, size_t index);
static void hide_calls(struct sxt_go_reader *reader);
static void make_pieces(struct writer *writer, uint32_t name);
static void open_pieces(struct writer *writer, const struct sxt_go_span *span);
static void open_piece(struct writer *writer, uint32_t start, uint32_t depth, int32_t node);
static void close_pieces(struct writer *writer, uint32_t depth, uint32_t end);
static void write_piece(const struct writer *writer, const struct piece *piece, uint64_t start, uint64_t length);

int sxt_go_read(struct sxt_elf *elf, const sxt_extract_options *options, struct sxt_symbols *symbols, bool *found,
                sxt_error *error)
{
    struct sxt_go_table table;
    struct sxt_go_bases bases;
    int status = sxt_go_table_find(elf, &table, &bases, found, error);
    if (status != SXT_OK || !*found)
        return status;

    struct sxt_go_reader *reader = calloc(1, sizeof *reader);
    struct writer *writer = calloc(1, sizeof *writer);
    if (reader == NULL || writer == NULL) {
        status = sxt_fail_memory(error, sizeof *reader + sizeof *writer);
    } else {
        uint32_t flags = options != NULL ? options->flags : 0;
        status = sxt_go_reader_open(reader, elf, &table, flags, symbols, error);
        if (status == SXT_OK && (reader->want_inlines || reader->want_lines))
            sxt_go_reader_choose_layout(reader, &bases);
        if (status == SXT_OK)
            status = add_functions(reader, writer, error);
        sxt_go_reader_close(reader);
        free(writer->pieces);
    }
    free(writer);
    free(reader);
    return status;
}

static int add_functions(struct sxt_go_reader *reader, struct writer *writer, sxt_error *error)
{
    const struct sxt_go_table *table = reader->table;
    size_t damaged = 0;
    writer->reader = reader;
    for (size_t i = 0; i < table->function_count && !reader->failed; i++)
        damaged += add_function(writer, i) == DAMAGED;
    if (reader->failed)
        return sxt_fail_memory(error, sizeof *writer->pieces);
    if (reader->exhausted)
        return sxt_fail(error, SXT_ERROR_LIMIT, table->offset,
                        "go function table: names and lines exceed the limit for its size; some are missing");
    if (damaged != 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, table->offset,
                        "go function table: skipped %zu of %u functions, which are damaged", damaged,
                        table->function_count);
    if (reader->inlines_unreadable)
        return sxt_fail(error, SXT_ERROR_FORMAT, table->offset, "go function table: cannot find the inlined calls");
    return SXT_OK;
}

static enum outcome add_function(struct writer *writer, size_t index)
{
    struct sxt_go_reader *reader = writer->reader;
    struct sxt_go_record record;
    uint64_t start = sxt_go_table_pc(reader->table, index);
    uint64_t end = sxt_go_table_pc(reader->table, index + 1);
    if (start == end)
        return EMPTY;
    if (start > end || !sxt_go_table_record(reader->table, index, &record))
        return DAMAGED;
    uint32_t name = sxt_go_reader_name(reader, record.name);
    if (name == 0)
        return DAMAGED;
    sxt_go_reader_select(reader, &record, end - start);
    if (!reader->want_inlines)
        hide_calls(reader);
    make_pieces(writer, name);
    for (size_t i = 0; i < writer->piece_count; i++) {
        const struct piece *piece = &writer->pieces[i];
        write_piece(writer, piece, start + piece->start, i == 0 ? end - start : piece->end - piece->start);
    }
    return ADDED;
}

/* Assigns the code of inlined calls to the line of the outermost call in the function itself. */
static void hide_calls(struct sxt_go_reader *reader)
{
    /* Read all calls before any span changes: a call's position is looked up in the spans. */
    for (size_t i = 0; i < reader->span_count; i++)
        if (reader->spans[i].node >= 0 && sxt_go_reader_node(reader, reader->spans[i].node) == NULL)
            reader->spans[i].node = -1;
    for (size_t i = 0; i < reader->span_count; i++) {
        struct sxt_go_span *span = &reader->spans[i];
        while (span->node >= 0) {
            const struct sxt_go_node *node = sxt_go_reader_node(reader, span->node);
            if (node == NULL || !sxt_go_reader_spend(reader, 1))
                break;
            span->node = node->parent;
            span->file = node->call_file;
            span->line = node->call_line;
        }
        span->node = -1;
    }
}

static void make_pieces(struct writer *writer, uint32_t name)
{
    struct sxt_go_reader *reader = writer->reader;
    writer->piece_count = 0;
    open_piece(writer, 0, 0, -1);
    if (reader->failed)
        return;
    writer->pieces[0].function = name;
    for (size_t i = 0; i < reader->span_count; i++) {
        struct sxt_go_span *span = &reader->spans[i];
        open_pieces(writer, span);
        struct piece *piece = &writer->pieces[writer->open[writer->open_depth]];
        span->next = NO_SPAN;
        if (piece->last == NO_SPAN)
            piece->first = (uint32_t)i;
        else
            reader->spans[piece->last].next = (uint32_t)i;
        piece->last = (uint32_t)i;
        if (piece->file == 0)
            piece->file = span->file;
    }
    close_pieces(writer, 0, reader->spans_end);
}

/* Closes the pieces that end before SPAN and opens those that begin with it. */
static void open_pieces(struct writer *writer, const struct sxt_go_span *span)
{
    struct sxt_go_reader *reader = writer->reader;
    if (span->node == writer->pieces[writer->open[writer->open_depth]].node)
        return;
    int32_t path[SXT_SYMBOLS_MAX_DEPTH];
    uint32_t depth = 0;
    const struct sxt_go_node *node = span->node >= 0 ? sxt_go_reader_node(reader, span->node) : NULL;
    if (node != NULL && sxt_go_reader_spend(reader, 1 + node->depth)) {
        int32_t at = span->node;
        depth = node->depth;
        for (uint32_t i = depth; i > 0; i--) {
            path[i] = at;
            at = reader->nodes[at].parent;
        }
    }
    uint32_t shared = 0;
    while (shared < depth && shared < writer->open_depth &&
           writer->pieces[writer->open[shared + 1]].node == path[shared + 1])
        shared++;
    close_pieces(writer, shared, span->offset);
    while (shared < depth && !reader->failed) {
        shared++;
        open_piece(writer, span->offset, shared, path[shared]);
    }
}

static void open_piece(struct writer *writer, uint32_t start, uint32_t depth, int32_t node)
{
    struct sxt_go_reader *reader = writer->reader;
    struct piece *pieces =
        sxt_array_grow(writer->pieces, &writer->piece_capacity, writer->piece_count + 1, sizeof *pieces);
    if (pieces == NULL) {
        reader->failed = true;
        return;
    }
    writer->pieces = pieces;
    struct piece *piece = &writer->pieces[writer->piece_count];
    *piece = (struct piece){.start = start, .end = start, .depth = depth, .node = node};
    piece->first = piece->last = NO_SPAN;
    if (node >= 0) {
        const struct sxt_go_node *call = &reader->nodes[node];
        struct piece *around = &writer->pieces[writer->open[depth - 1]];
        piece->function = call->name;
        piece->call_file = call->call_file;
        piece->call_line = call->call_line;
        if (around->file == 0)
            around->file = call->call_file;
    }
    writer->open[depth] = writer->piece_count++;
    writer->open_depth = depth;
}

/* Closes all pieces that are deeper than DEPTH. */
static void close_pieces(struct writer *writer, uint32_t depth, uint32_t end)
{
    while (writer->open_depth > depth)
        writer->pieces[writer->open[writer->open_depth--]].end = end;
}

static void write_piece(const struct writer *writer, const struct piece *piece, uint64_t start, uint64_t length)
{
    const struct sxt_go_reader *reader = writer->reader;
    sxt_symbols_add_range(reader->symbols, &(struct sxt_model_range){.address = start,
                                                                     .length = length,
                                                                     .depth = piece->depth,
                                                                     .function = piece->function,
                                                                     .file = piece->file,
                                                                     .call_file = piece->call_file,
                                                                     .call_line = piece->call_line,
                                                                     .source = SXT_SOURCE_GO});
    if (!reader->want_lines)
        return;
    uint32_t file = 0, line = 0;
    for (uint32_t i = piece->first; i != NO_SPAN; i = reader->spans[i].next) {
        const struct sxt_go_span *span = &reader->spans[i];
        if (span->file == file && span->line == line)
            continue;
        file = span->file;
        line = span->line;
        sxt_symbols_add_line(reader->symbols, &(struct sxt_model_line){
                                                  .offset = span->offset - piece->start, .file = file, .line = line});
    }
}
