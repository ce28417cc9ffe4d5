/*
 * metadata_pack.c: metadata in a file with blocks, as tables: names, and the stacks as one tree.
 *
 *      0  u32  1, the version of this form      24  u64  bytes of the tree, expanded
 *      4  u32  0                                32  u64  bytes of the tree, as stored
 *      8  u64  bytes of the names, expanded     40       names and tree, each a zstd frame
 *     16  u64  bytes of the names, as stored
 *
 * Names: the JSON text with "{}" for each of the three tables; then files and functions: their number, their ids, their
 * sizes, and all their bytes. Tree: the number of nodes and of stacks, then a column for each field. Numbers are
 * varints. A text, and each column, has its size in bytes before it.
 *
 *     ids        the difference to the id before, less 1; from 0 on. No bytes: 0, 1, 2 ...
 *     parents    by node: 0 without a caller; otherwise its own number less that of its caller
 *     functions  by node: id
 *     files      by node: 0, the file of the last node with this function; or 1 + id
 *     lines      by node: zigzag difference to the line of the last node with this function
 *     leaves     by stack: zigzag difference to the stack before; of 1 + the node, or 0 for a stack without frames
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/varint.h"
#include "mlyze/live.h"
#include "mlyze/private.h"

#define HEAD            40
#define FORM            1
#define LEVEL           6
#define EXPANSION_MOST  2048                /* times */
#define EXPANSION_LEAST ((uint64_t)1 << 20) /* bytes that may always be expanded to */
#define FRAMES_MOST     ((uint64_t)1 << 31) /* of all stacks */

/* The last frame of each function, in a table of which hostile files cannot make much. */
#define RECENT 4096

struct recent {
    uint32_t function, file, line;
    uint32_t frame; /* reading: 1 + its number, or 0 */
};

static struct recent *recent_of(struct recent *table, uint32_t function)
{
    struct recent *recent = &table[function % RECENT];
    if (recent->function != function)
        *recent = (struct recent){.function = function};
    return recent;
}

/* --- writing --- */

/* Appends a column that was made in ROOM, with its size, and empties ROOM. */
static void put_column(struct sxt_buffer *out, struct sxt_buffer *room)
{
    sxt_buffer_varint(out, room->size);
    sxt_buffer_append(out, room->data, room->size);
    out->failed |= room->failed;
    sxt_buffer_clear(room);
}

/* Ids of what exists, in ascending order. */
struct id_column {
    uint64_t expected; /* the id that needs no difference */
    bool is_dense;
};

static void put_id(struct id_column *column, uint32_t id, struct sxt_buffer *room)
{
    column->is_dense &= id == column->expected;
    sxt_buffer_varint(room, id - column->expected);
    column->expected = (uint64_t)id + 1;
}

static void put_ids(const struct id_column *column, struct sxt_buffer *room, struct sxt_buffer *out)
{
    if (column->is_dense)
        sxt_buffer_clear(room);
    put_column(out, room);
}

static void put_names(const sxt_string *list, const uint32_t *ids, size_t count, struct sxt_buffer *room,
                      struct sxt_buffer *out)
{
    struct id_column column = {.is_dense = true};
    uint64_t existing = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].data == NULL)
            continue;
        existing++;
        put_id(&column, sxt_mlyze_id_at(ids, i), room);
    }
    sxt_buffer_varint(out, existing);
    put_ids(&column, room, out);
    for (size_t i = 0; i < count; i++)
        if (list[i].data != NULL)
            sxt_buffer_varint(room, list[i].size);
    put_column(out, room);
    for (size_t i = 0; i < count; i++)
        if (list[i].data != NULL)
            sxt_buffer_append(out, list[i].data, list[i].size);
}

/* FIELD 0: files, 1: lines. */
static void put_field(const struct sxt_mlyze_tree *tree, int field, struct recent *recents, struct sxt_buffer *room)
{
    memset(recents, 0, RECENT * sizeof *recents);
    for (size_t i = 0; i < tree->count; i++) {
        const struct sxt_mlyze_frame *frame = &tree->frames[tree->nodes[i].frame];
        struct recent *recent = recent_of(recents, frame->function);
        if (field == 0)
            sxt_buffer_varint(room, frame->file == recent->file ? 0 : (uint64_t)frame->file + 1);
        else
            sxt_buffer_varint(room, sxt_zigzag_encode((int64_t)frame->line - recent->line));
        recent->file = frame->file;
        recent->line = frame->line;
    }
}

static void put_tree(const struct sxt_mlyze_metadata *metadata, struct recent *recents, struct sxt_buffer *room,
                     struct sxt_buffer *out)
{
    const struct sxt_mlyze_tree *tree = &metadata->tree;
    struct id_column column = {.is_dense = true};
    uint64_t existing = 0;
    int64_t before = 0;
    for (size_t i = 0; i < metadata->stack_count; i++)
        existing += metadata->stacks[i].exists;
    sxt_buffer_varint(out, tree->count);
    sxt_buffer_varint(out, existing);
    for (size_t i = 0; i < tree->count; i++)
        sxt_buffer_varint(room, tree->nodes[i].parent == SXT_MLYZE_NO_NODE ? 0 : i - tree->nodes[i].parent);
    put_column(out, room);
    for (size_t i = 0; i < tree->count; i++)
        sxt_buffer_varint(room, tree->frames[tree->nodes[i].frame].function);
    put_column(out, room);
    for (int field = 0; field < 2; field++) {
        put_field(tree, field, recents, room);
        put_column(out, room);
    }
    for (size_t i = 0; i < metadata->stack_count; i++)
        if (metadata->stacks[i].exists)
            put_id(&column, sxt_mlyze_id_at(metadata->stack_ids, i), room);
    put_ids(&column, room, out);
    for (size_t i = 0; i < metadata->stack_count; i++) {
        const struct sxt_mlyze_stack *stack = &metadata->stacks[i];
        if (!stack->exists)
            continue;
        int64_t leaf = stack->count > 0 ? (int64_t)stack->node + 1 : 0;
        sxt_buffer_varint(room, sxt_zigzag_encode(leaf - before));
        before = leaf;
    }
    put_column(out, room);
}

/* Appends a part as a zstd frame. False if memory is short, or if a reader would refuse it. */
static bool put_part(const struct sxt_buffer *part, struct sxt_buffer *out, size_t head)
{
    size_t bound = ZSTD_compressBound(part->size);
    uint8_t *to = sxt_buffer_reserve(out, bound);
    if (to == NULL)
        return false;
    size_t made = ZSTD_compress(to, bound, part->data, part->size, LEVEL);
    if (ZSTD_isError(made) || part->size / EXPANSION_MOST > made + EXPANSION_LEAST / EXPANSION_MOST)
        return false;
    out->size += made;
    sxt_store_u64le(out->data + head, part->size);
    sxt_store_u64le(out->data + head + 8, made);
    return true;
}

/* Stacks are written as the text has them, so they must not have been turned; and a reader has limits. */
static bool is_within_limits(const struct sxt_mlyze_metadata *metadata)
{
    if (metadata->is_root_first || metadata->frame_count > FRAMES_MOST)
        return false;
    for (size_t i = 0; i < metadata->stack_count; i++)
        if (metadata->stacks[i].count > SXT_MLYZE_DEEP)
            return false;
    for (size_t i = 0; i < metadata->tree.frame_count; i++)
        if (metadata->tree.frames[i].file == SXT_MLYZE_NO_ID || metadata->tree.frames[i].function == SXT_MLYZE_NO_ID)
            return false;
    return true;
}

bool sxt_mlyze_tables_pack(const struct sxt_mlyze_metadata *metadata, sxt_string rest, struct sxt_buffer *out)
{
    struct sxt_buffer part, room;
    struct recent *recents = calloc(RECENT, sizeof *recents);
    if (recents == NULL || !is_within_limits(metadata)) {
        free(recents);
        return false;
    }
    sxt_buffer_init(&part, UINT32_MAX);
    sxt_buffer_init(&room, UINT32_MAX);
    size_t start = out->size;
    uint8_t *head = sxt_buffer_extend(out, HEAD);
    sxt_buffer_varint(&part, rest.size);
    sxt_buffer_append(&part, rest.data, rest.size);
    put_names(metadata->files, metadata->file_ids, metadata->file_count, &room, &part);
    put_names(metadata->functions, metadata->function_ids, metadata->function_count, &room, &part);
    bool is_good = head != NULL && !part.failed;
    if (is_good) {
        memset(head, 0, HEAD);
        sxt_store_u32le(head, FORM);
        is_good = put_part(&part, out, start + 8);
        sxt_buffer_clear(&part);
    }
    if (is_good) {
        put_tree(metadata, recents, &room, &part);
        is_good = !part.failed && put_part(&part, out, start + 24);
    }
    sxt_buffer_free(&part);
    sxt_buffer_free(&room);
    free(recents);
    return is_good;
}

bool sxt_mlyze_text_to_tables(sxt_string text, struct sxt_buffer *out)
{
    struct sxt_mlyze_metadata metadata;
    struct sxt_buffer rest;
    if (sxt_mlyze_metadata_read(text.data, text.size, false, &metadata, NULL) != SXT_OK)
        return false;
    sxt_buffer_init(&rest, UINT32_MAX);
    bool is_good = sxt_mlyze_text_cut(&metadata, text, &rest) &&
                   sxt_mlyze_tables_pack(&metadata, (sxt_string){(const char *)rest.data, rest.size}, out);
    sxt_buffer_free(&rest);
    sxt_mlyze_metadata_free(&metadata);
    return is_good;
}

/* --- reading --- */

struct unpacking {
    struct sxt_mlyze_metadata *metadata;
    uint64_t offset; /* of the stored bytes in the file */
    sxt_error *error;
};

static int fail_form(const struct unpacking *unpacking, const char *what)
{
    return sxt_fail(unpacking->error, SXT_ERROR_FORMAT, unpacking->offset, "metadata: %s", what);
}

/* Expands the part whose sizes are at HEAD. *OUT is to be freed. */
static int expand(const struct unpacking *unpacking, const uint8_t *head, const uint8_t *stored, uint8_t **out,
                  size_t *size)
{
    uint64_t wanted = sxt_load_u64le(head), stored_size = sxt_load_u64le(head + 8);
    *out = NULL;
    if (wanted > UINT32_MAX || (wanted > EXPANSION_LEAST && wanted / EXPANSION_MOST > stored_size))
        return fail_form(unpacking, "the stated size is impossible");
    *out = malloc(wanted + 1);
    if (*out == NULL)
        return sxt_fail_memory(unpacking->error, wanted);
    sxt_large_advise(*out, wanted);
    *size = wanted;
    size_t made = ZSTD_decompress(*out, wanted, stored, stored_size);
    if (!ZSTD_isError(made) && made == wanted)
        return SXT_OK;
    free(*out);
    *out = NULL;
    return fail_form(unpacking, "cannot be decompressed");
}

/* A column of COUNT numbers, or of none, that are at least a byte each. */
static struct sxt_cursor take_column(struct sxt_cursor *from, uint64_t count, bool may_be_empty)
{
    uint64_t size = sxt_cursor_uleb128(from);
    struct sxt_cursor column = sxt_cursor_slice(from, from->at, size);
    sxt_cursor_skip(from, size);
    column.failed |= from->failed || (size < count && !(may_be_empty && size == 0));
    return column;
}

/* How large a table of COUNT ids is; *IDS becomes the list of ids if they are not places. */
struct table_shape {
    uint32_t *ids;
    size_t count;
};

static int read_ids(const struct unpacking *unpacking, struct sxt_cursor *from, uint64_t count,
                    struct table_shape *shape)
{
    struct sxt_cursor column = take_column(from, count, true);
    *shape = (struct table_shape){.count = count};
    if (column.failed || count > UINT32_MAX)
        return fail_form(unpacking, "a column is cut off");
    if (column.size == 0 || count == 0)
        return SXT_OK;
    shape->ids = malloc(count * sizeof *shape->ids);
    if (shape->ids == NULL)
        return sxt_fail_memory(unpacking->error, count * sizeof *shape->ids);
    uint64_t next = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t step = sxt_cursor_uleb128(&column);
        if (column.failed || next > UINT32_MAX || step > UINT32_MAX - next)
            return fail_form(unpacking, "an ID does not fit in 32 bits");
        shape->ids[i] = (uint32_t)(next + step);
        next += step + 1;
    }
    if (sxt_mlyze_has_places(shape->ids[count - 1], count))
        shape->count = (size_t)shape->ids[count - 1] + 1;
    return SXT_OK;
}

/* Entry I of a table is at this place. */
static size_t place_of(const struct table_shape *shape, size_t count, size_t i)
{
    return shape->ids != NULL && shape->count != count ? shape->ids[i] : i;
}

/* The list of ids, if the table needs one; it is freed otherwise. */
static uint32_t *keep_ids(struct table_shape *shape, size_t count)
{
    bool is_needed = shape->ids != NULL && count > 0 && !sxt_mlyze_has_places(shape->ids[count - 1], count);
    uint32_t *ids = shape->ids;
    if (is_needed)
        return ids;
    free(ids);
    shape->ids = NULL;
    return NULL;
}

static int read_names(const struct unpacking *unpacking, struct sxt_cursor *from, sxt_string **out, size_t *out_count,
                      uint32_t **out_ids)
{
    uint64_t count = sxt_cursor_uleb128(from);
    struct table_shape shape = {0};
    int status = from->failed || count > sxt_cursor_left(from) ? fail_form(unpacking, "more names than bytes")
                                                               : read_ids(unpacking, from, count, &shape);
    if (status == SXT_OK) {
        struct sxt_cursor sizes = take_column(from, count, false);
        *out = calloc(shape.count + 1, sizeof **out);
        if (*out == NULL)
            status = sxt_fail_memory(unpacking->error, shape.count * sizeof **out);
        for (size_t i = 0; status == SXT_OK && i < count; i++) {
            uint64_t size = sxt_cursor_uleb128(&sizes);
            const uint8_t *bytes = sxt_cursor_bytes(from, size);
            if (sizes.failed || from->failed)
                status = fail_form(unpacking, "a name is cut off");
            else
                (*out)[place_of(&shape, count, i)] = (sxt_string){size > 0 ? (const char *)bytes : "", size};
        }
    }
    *out_count = shape.count;
    *out_ids = keep_ids(&shape, status == SXT_OK ? count : 0);
    return status;
}

/* --- the tree --- */

/* Numbers of a column that were read. */
#define AT_ONCE 64
struct numbers {
    const uint8_t *next, *end;
    uint64_t list[AT_ONCE];
};

static void open_numbers(struct numbers *numbers, const struct sxt_cursor *column)
{
    numbers->next = column->data + column->at;
    numbers->end = column->data + column->size;
}

/* Reads COUNT numbers, of which most have one byte, or two. False if one is cut off. */
static bool take_numbers(struct numbers *numbers, size_t count)
{
    const uint8_t *at = numbers->next, *end = numbers->end;
    for (size_t i = 0; i < count;) {
        if (count - i >= 8 && end - at >= 8 && (sxt_load_u64le(at) & UINT64_C(0x8080808080808080)) == 0) {
            for (size_t k = 0; k < 8; k++)
                numbers->list[i + k] = at[k];
            at += 8;
            i += 8;
            continue;
        }
        size_t taken = 0;
        if (end - at >= 2 && (at[0] < 0x80 || at[1] < 0x80)) {
            taken = at[0] < 0x80 ? 1 : 2;
            numbers->list[i] = (at[0] & 0x7f) | (taken == 2 ? (uint64_t)at[1] << 7 : 0);
        } else if (at < end) {
            taken = sxt_varint_decode(at, (size_t)(end - at), &numbers->list[i]);
        }
        if (taken == 0)
            return false;
        at += taken;
        i++;
    }
    numbers->next = at;
    return true;
}

/* What is known while nodes are read. */
struct node_reader {
    const struct unpacking *unpacking;
    struct numbers parents, functions, files, lines; /* of the nodes that come next */
    struct recent *recents;
    uint16_t *depths; /* by node */
};

/* The number of the frame of node I of those that were read; SXT_MLYZE_NO_NODE if *STATUS is an error. */
static inline uint32_t find_frame(struct node_reader *reader, size_t i, int *status)
{
    struct sxt_mlyze_tree *tree = &reader->unpacking->metadata->tree;
    uint32_t function = (uint32_t)reader->functions.list[i];
    uint64_t file = reader->files.list[i], step = reader->lines.list[i];
    struct recent *recent = recent_of(reader->recents, function);
    uint64_t line = (uint64_t)recent->line + (uint64_t)sxt_zigzag_decode(step);
    if (line > UINT32_MAX) {
        *status = fail_form(reader->unpacking, "a line does not fit in 32 bits");
        return SXT_MLYZE_NO_NODE;
    }
    recent->file = file > 0 ? (uint32_t)(file - 1) : recent->file;
    recent->line = (uint32_t)line;
    if (recent->frame == 0 || step != 0 || file != 0)
        recent->frame =
            1 + sxt_mlyze_tree_add_frame(tree, &(struct sxt_mlyze_frame){recent->file, function, recent->line});
    if (recent->frame == 0)
        *status = sxt_fail_memory(reader->unpacking->error, tree->frame_count * sizeof *tree->frames);
    return recent->frame - 1;
}

/* Adds the COUNT nodes that were read. */
static int add_nodes(struct node_reader *reader, size_t count)
{
    struct sxt_mlyze_tree *tree = &reader->unpacking->metadata->tree;
    struct sxt_mlyze_node *nodes = tree->nodes + tree->count;
    uint16_t *depths = reader->depths;
    size_t first = tree->count;
    int status = SXT_OK;
    for (size_t i = 0; i < count; i++)
        if (reader->parents.list[i] <= first + i)
            __builtin_prefetch(&depths[first + i - reader->parents.list[i]]);
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        uint64_t up = reader->parents.list[i];
        uint32_t parent = up > 0 ? (uint32_t)(first + i - up) : SXT_MLYZE_NO_NODE;
        if (up > first + i || reader->functions.list[i] >= SXT_MLYZE_NO_ID || reader->files.list[i] > SXT_MLYZE_NO_ID)
            return fail_form(reader->unpacking, "a frame is impossible");
        uint16_t depth = up > 0 ? depths[parent] : 0;
        if (depth >= SXT_MLYZE_DEEP)
            return fail_form(reader->unpacking, "a stack is too deep");
        depths[first + i] = (uint16_t)(depth + 1);
        nodes[i] = (struct sxt_mlyze_node){parent, find_frame(reader, i, &status)};
    }
    tree->count += status == SXT_OK ? count : 0;
    return status;
}

static int read_nodes(const struct unpacking *unpacking, struct sxt_cursor *from, uint64_t count, uint16_t *depths)
{
    struct node_reader reader = {.unpacking = unpacking, .depths = depths};
    struct numbers *columns[] = {&reader.parents, &reader.functions, &reader.files, &reader.lines};
    bool is_cut = false;
    for (unsigned i = 0; i < 4; i++) {
        struct sxt_cursor column = take_column(from, count, false);
        open_numbers(columns[i], &column);
        is_cut |= column.failed;
    }
    reader.recents = calloc(RECENT, sizeof *reader.recents);
    if (reader.recents == NULL)
        return sxt_fail_memory(unpacking->error, RECENT * sizeof *reader.recents);
    int status = SXT_OK;
    for (uint64_t done = 0; status == SXT_OK && done < count;) {
        size_t next = count - done < AT_ONCE ? (size_t)(count - done) : AT_ONCE;
        for (unsigned i = 0; i < 4; i++)
            is_cut = is_cut || !take_numbers(columns[i], next);
        status = is_cut ? fail_form(unpacking, "a column is cut off") : add_nodes(&reader, next);
        done += next;
    }
    free(reader.recents);
    return status;
}

static int read_stacks(const struct unpacking *unpacking, struct sxt_cursor *from, uint64_t count,
                       const uint16_t *depths)
{
    struct sxt_mlyze_metadata *metadata = unpacking->metadata;
    struct table_shape shape = {0};
    int status = read_ids(unpacking, from, count, &shape);
    struct sxt_cursor column = take_column(from, count, false);
    struct numbers leaves;
    open_numbers(&leaves, &column);
    if (status == SXT_OK && (metadata->stacks = calloc(shape.count + 1, sizeof *metadata->stacks)) == NULL)
        status = sxt_fail_memory(unpacking->error, shape.count * sizeof *metadata->stacks);
    sxt_large_advise(metadata->stacks, shape.count * sizeof *metadata->stacks);
    uint64_t leaf = 0;
    for (size_t i = 0; status == SXT_OK && i < count; i++) {
        bool is_cut = column.failed;
        if (i % AT_ONCE == 0)
            is_cut = is_cut || !take_numbers(&leaves, count - i < AT_ONCE ? (size_t)(count - i) : AT_ONCE);
        leaf += is_cut ? 0 : (uint64_t)sxt_zigzag_decode(leaves.list[i % AT_ONCE]);
        if (is_cut || leaf > metadata->tree.count) {
            status = fail_form(unpacking, "a stack is impossible");
            break;
        }
        struct sxt_mlyze_stack *stack = &metadata->stacks[place_of(&shape, count, i)];
        *stack = (struct sxt_mlyze_stack){
            .node = leaf > 0 ? (uint32_t)(leaf - 1) : SXT_MLYZE_NO_NODE,
            .count = leaf > 0 ? depths[leaf - 1] : 0,
            .exists = true,
        };
        metadata->frame_count += stack->count;
    }
    if (status == SXT_OK && metadata->frame_count > FRAMES_MOST)
        status = fail_form(unpacking, "the stacks have too many frames");
    metadata->stack_count = status == SXT_OK ? shape.count : 0;
    metadata->stack_ids = keep_ids(&shape, status == SXT_OK ? count : 0);
    return status;
}

static int read_tree(const struct unpacking *unpacking, struct sxt_cursor *from)
{
    struct sxt_mlyze_tree *tree = &unpacking->metadata->tree;
    uint64_t node_count = sxt_cursor_uleb128(from), stack_count = sxt_cursor_uleb128(from);
    if (from->failed || node_count > sxt_cursor_left(from) / 4 || stack_count > sxt_cursor_left(from))
        return fail_form(unpacking, "more frames than bytes");
    uint16_t *depths = malloc((node_count + 1) * sizeof *depths);
    tree->nodes = malloc((node_count + 1) * sizeof *tree->nodes);
    tree->capacity = tree->nodes != NULL ? node_count + 1 : 0;
    sxt_large_advise(depths, (node_count + 1) * sizeof *depths);
    sxt_large_advise(tree->nodes, (node_count + 1) * sizeof *tree->nodes);
    int status = depths != NULL && tree->nodes != NULL
                     ? read_nodes(unpacking, from, node_count, depths)
                     : sxt_fail_memory(unpacking->error, node_count * sizeof *tree->nodes);
    if (status == SXT_OK)
        status = read_stacks(unpacking, from, stack_count, depths);
    if (status == SXT_OK && sxt_cursor_left(from) > 0)
        status = fail_form(unpacking, "bytes after the last column");
    free(depths);
    return status;
}

/* --- both parts --- */

static int read_names_part(struct unpacking *unpacking, uint8_t *bytes, size_t size, bool root_first)
{
    struct sxt_mlyze_metadata *metadata = unpacking->metadata;
    struct sxt_cursor cursor = sxt_cursor_make(bytes, size, unpacking->offset, false);
    uint64_t rest_size = sxt_cursor_uleb128(&cursor);
    const uint8_t *rest = sxt_cursor_bytes(&cursor, rest_size);
    sxt_error inner;
    if (cursor.failed)
        return fail_form(unpacking, "the text is cut off");
    int status = sxt_mlyze_metadata_read((const char *)rest, rest_size, root_first, metadata, &inner);
    if (status != SXT_OK && status != SXT_ERROR_MEMORY)
        return sxt_fail(unpacking->error, status, unpacking->offset,
                        "metadata: the text of other members is not valid");
    if (status != SXT_OK)
        return sxt_fail_memory(unpacking->error, rest_size);
    metadata->rest = (sxt_string){(const char *)rest, rest_size};
    if (metadata->file_count + metadata->function_count + metadata->stack_count > 0)
        return fail_form(unpacking, "a table is there twice");
    free(metadata->files);
    free(metadata->functions);
    free(metadata->stacks);
    metadata->files = metadata->functions = NULL;
    metadata->stacks = NULL;
    status = read_names(unpacking, &cursor, &metadata->files, &metadata->file_count, &metadata->file_ids);
    if (status == SXT_OK)
        status =
            read_names(unpacking, &cursor, &metadata->functions, &metadata->function_count, &metadata->function_ids);
    if (status == SXT_OK && sxt_cursor_left(&cursor) > 0)
        status = fail_form(unpacking, "bytes after the last name");
    return status;
}

/* A table needs its key in the text. */
static bool has_keys(const struct sxt_mlyze_metadata *metadata)
{
    return (metadata->spans[SXT_MLYZE_STACKS].end != 0 || metadata->stack_count == 0) &&
           (metadata->spans[SXT_MLYZE_FILES].end != 0 || metadata->file_count == 0) &&
           (metadata->spans[SXT_MLYZE_FUNCTIONS].end != 0 || metadata->function_count == 0);
}

static int read_parts(struct unpacking *unpacking, const uint8_t *data, bool root_first)
{
    struct sxt_mlyze_metadata *metadata = unpacking->metadata;
    const uint8_t *names = data + HEAD, *tree = names + sxt_load_u64le(data + 16);
    uint8_t *bytes;
    size_t size;
    int status = expand(unpacking, data + 8, names, &bytes, &size);
    if (status != SXT_OK)
        return status;
    status = read_names_part(unpacking, bytes, size, root_first);
    metadata->kept = bytes;
    if (status != SXT_OK)
        return status;
    status = expand(unpacking, data + 24, tree, &bytes, &size);
    if (status != SXT_OK)
        return status;
    struct sxt_cursor cursor = sxt_cursor_make(bytes, size, unpacking->offset, false);
    status = read_tree(unpacking, &cursor);
    free(bytes);
    if (status == SXT_OK && !has_keys(metadata))
        status = fail_form(unpacking, "a table has no key");
    if (status == SXT_OK)
        status = sxt_mlyze_turn_stacks(metadata, root_first, unpacking->error);
    return status == SXT_OK ? sxt_mlyze_finish_stacks(metadata, unpacking->error) : status;
}

int sxt_mlyze_tables_unpack(const uint8_t *data, size_t size, uint64_t offset, bool root_first,
                            struct sxt_mlyze_metadata *out, sxt_error *error)
{
    struct unpacking unpacking = {.metadata = out, .offset = offset, .error = error};
    memset(out, 0, sizeof *out);
    if (size < HEAD)
        return fail_form(&unpacking, "the header of the tables is cut off");
    if (sxt_load_u32le(data) != FORM || sxt_load_u32le(data + 4) != 0)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, offset, "metadata: tables of version %u",
                        (unsigned)sxt_load_u32le(data));
    uint64_t names = sxt_load_u64le(data + 16), tree = sxt_load_u64le(data + 32), left = size - HEAD;
    if (names > left || tree != left - names)
        return fail_form(&unpacking, "the sizes of the tables contradict that of the metadata");
    int status = read_parts(&unpacking, data, root_first);
    if (status != SXT_OK)
        sxt_mlyze_metadata_free(out);
    return status;
}
