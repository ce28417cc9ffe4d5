/*
 * metadata.c: stacks, files and functions, from JSON into tables by id.
 *
 *     {"stack_traces": {"0": [{"file_id": 0, "line": 42, "func_id": 0}, ...], ...},
 *      "files": {"0": "/path/file.py", ...}, "functions": {"0": "main", ...}, ...}
 *
 * Ids are keys: decimal, without leading zeros, any number of 32 bits. Other members are kept as trees.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/search.h"
#include "base/string.h"
#include "mlyze/private.h"

/* Tables are indexed by id unless the largest id is much larger than the number of ids. */
#define ID_ROOM      ((uint64_t)1 << 20)
#define ID_GAP       16

#define EXTRA_DEPTH  64
#define EXTRA_VALUES ((size_t)2 << 20) /* some hundred megabytes */

/* A member of one of the three objects, until all are known. */
struct entry {
    uint64_t position; /* of its key */
    uint32_t id;
    uint32_t count;   /* of frames */
    uint32_t node;    /* of the first frame */
    sxt_string value; /* of a file or function */
};

struct entries {
    struct entry *list;
    size_t count, capacity;
    uint64_t largest;
};

struct reading {
    struct sxt_json_reader reader;
    struct sxt_mlyze_metadata *metadata;
    struct sxt_mlyze_frame *frames; /* of the stack that is being read */
    size_t frame_capacity;
    uint32_t *path; /* nodes of the stack before it, the last frame of the text first */
    size_t path_count, path_capacity;
    struct sxt_json **tail; /* of the members of the root */
    unsigned seen;          /* a bit for each of the three keys */
    bool is_position_wanted;
    uint32_t wanted_id; /* the stack and the frame whose position is asked for */
    size_t wanted_frame, wanted_position;
    struct sxt_json_limits extra_limits; /* what is left of them */
};

static int read_root(struct reading *reading);

static int read_text(struct reading *reading, const char *text, size_t size, bool root_first, sxt_error *error)
{
    struct sxt_mlyze_metadata *out = reading->metadata;
    memset(out, 0, sizeof *out);
    sxt_arena_init(&out->arena, 0, sxt_arena_separate_default);
    out->root = sxt_arena_calloc(&out->arena, 1, sizeof *out->root);
    if (out->root == NULL)
        return sxt_fail_memory(error, sizeof *out->root);
    out->root->type = SXT_JSON_OBJECT;
    reading->tail = &out->root->child;
    reading->extra_limits = (struct sxt_json_limits){EXTRA_DEPTH, EXTRA_VALUES};
    int status = sxt_json_reader_init(&reading->reader, "metadata", text, size, &out->arena, error);
    reading->reader.replace_surrogates = true; /* Python writes lone surrogates for bytes that are not text */
    if (status == SXT_OK && size > 0)
        status = read_root(reading);
    free(reading->frames);
    free(reading->path);
    if (status == SXT_OK)
        status = sxt_mlyze_turn_stacks(out, root_first, error);
    if (status == SXT_OK)
        status = sxt_mlyze_finish_stacks(out, error);
    if (status != SXT_OK)
        sxt_mlyze_metadata_free(out);
    return status;
}

int sxt_mlyze_metadata_read(const char *text, size_t size, bool root_first, struct sxt_mlyze_metadata *out,
                            sxt_error *error)
{
    struct reading reading = {.metadata = out};
    return read_text(&reading, text, size, root_first, error);
}

size_t sxt_mlyze_frame_position(const char *text, size_t size, uint32_t id, size_t index)
{
    struct sxt_mlyze_metadata metadata;
    struct reading reading = {
        .metadata = &metadata, .is_position_wanted = true, .wanted_id = id, .wanted_frame = index};
    if (read_text(&reading, text, size, false, NULL) == SXT_OK)
        sxt_mlyze_metadata_free(&metadata);
    return reading.wanted_position;
}

void sxt_mlyze_metadata_free(struct sxt_mlyze_metadata *metadata)
{
    free(metadata->files);
    free(metadata->functions);
    free(metadata->stacks);
    sxt_mlyze_tree_free(&metadata->tree);
    free(metadata->same);
    free(metadata->deep);
    free(metadata->deep_nodes);
    free(metadata->kept);
    free(metadata->file_ids);
    free(metadata->function_ids);
    free(metadata->stack_ids);
    sxt_arena_free(&metadata->arena);
    memset(metadata, 0, sizeof *metadata);
}

static size_t position_of(const struct sxt_json_reader *reader, sxt_string part)
{
    return (size_t)(part.data - reader->text);
}

/* --- frames --- */

static uint32_t clamp(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* An id that is too large refers to nothing, which is allowed; a line that is too large is an error. */
static int read_number(struct sxt_json_reader *reader, const char *name, bool is_line, uint64_t *value)
{
    sxt_json_read_peek(reader);
    size_t start = reader->position;
    int status = sxt_json_read_unsigned(reader, name, value);
    if (status == SXT_OK && is_line && *value > UINT32_MAX)
        return sxt_json_read_fail(reader, start, "a line that does not fit in 32 bits");
    return status;
}

static int read_frame(struct reading *reading, struct sxt_mlyze_frame *frame)
{
    static const char *const names[] = {"file_id", "line", "func_id"};
    struct sxt_json_reader *reader = &reading->reader;
    uint64_t values[3] = {SXT_MLYZE_NO_ID, 0, SXT_MLYZE_NO_ID};
    unsigned seen = 0;
    bool more;
    int status = sxt_json_read_begin(reader, '{', "a frame");
    while (status == SXT_OK && (status = sxt_json_read_more(reader, '}', &more)) == SXT_OK && more) {
        sxt_string key, quoted;
        status = sxt_json_read_key(reader, &key, &quoted);
        if (status != SXT_OK)
            break;
        unsigned i = 0;
        while (i < 3 && !sxt_string_is(key, names[i]))
            i++;
        if (i == 3)
            status = sxt_json_read_skip(reader, NULL);
        else if (seen >> i & 1)
            status = sxt_json_read_fail(reader, position_of(reader, quoted), "a frame has '%s' twice", names[i]);
        else
            status = read_number(reader, names[i], i == 1, &values[i]);
        seen |= 1u << i;
    }
    *frame =
        (struct sxt_mlyze_frame){.file = clamp(values[0]), .line = (uint32_t)values[1], .function = clamp(values[2])};
    return status;
}

static bool is_same_frame(const struct sxt_mlyze_frame *a, const struct sxt_mlyze_frame *b)
{
    return a->function == b->function && a->line == b->line && a->file == b->file;
}

/* Adds the frames that were read to the tree, the last one first: most are those of the stack before. */
static bool add_frames(struct reading *reading, size_t count, uint32_t *node)
{
    struct sxt_mlyze_tree *tree = &reading->metadata->tree;
    uint32_t *moved = sxt_array_grow(reading->path, &reading->path_capacity, count + 1, sizeof *moved);
    if (moved == NULL)
        return false;
    reading->path = moved;
    *node = SXT_MLYZE_NO_NODE;
    size_t known = 0;
    for (; known < count && known < reading->path_count; known++) {
        if (!is_same_frame(&tree->frames[tree->nodes[reading->path[known]].frame], &reading->frames[count - 1 - known]))
            break;
        *node = reading->path[known];
    }
    for (size_t i = known; i < count; i++) {
        *node = sxt_mlyze_tree_add(tree, *node, &reading->frames[count - 1 - i]);
        if (*node == SXT_MLYZE_NO_NODE)
            return false;
        reading->path[i] = *node;
    }
    reading->path_count = count;
    reading->metadata->frame_count += count;
    return true;
}

static int read_stack(struct reading *reading, struct entry *entry)
{
    bool more;
    size_t count = 0;
    int status = sxt_json_read_begin(&reading->reader, '[', "a stack");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->reader, ']', &more)) == SXT_OK && more) {
        void *grown = sxt_array_grow(reading->frames, &reading->frame_capacity, count + 1, sizeof *reading->frames);
        if (grown == NULL)
            return sxt_fail_memory(reading->reader.error, count * sizeof *reading->frames);
        reading->frames = grown;
        sxt_json_read_peek(&reading->reader);
        if (reading->is_position_wanted && entry->id == reading->wanted_id && count == reading->wanted_frame)
            reading->wanted_position = reading->reader.position;
        status = read_frame(reading, &reading->frames[count++]);
    }
    if (status == SXT_OK && (count >= UINT32_MAX || !add_frames(reading, count, &entry->node)))
        status = sxt_fail_memory(reading->reader.error, count * sizeof *reading->frames);
    entry->count = (uint32_t)count;
    return status;
}

/* --- the three objects --- */

bool sxt_mlyze_parse_id(sxt_string key, uint32_t *id)
{
    uint64_t value = 0;
    if (key.size == 0 || key.size > 10 || (key.data[0] == '0' && key.size > 1))
        return false;
    for (size_t i = 0; i < key.size; i++) {
        if (key.data[i] < '0' || key.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(key.data[i] - '0');
    }
    *id = (uint32_t)value;
    return value <= UINT32_MAX;
}

static int read_entries(struct reading *reading, const char *what, bool are_stacks, struct entries *entries)
{
    struct sxt_json_reader *reader = &reading->reader;
    bool more;
    int status = sxt_json_read_begin(reader, '{', what);
    while (status == SXT_OK && (status = sxt_json_read_more(reader, '}', &more)) == SXT_OK && more) {
        sxt_string key, quoted;
        status = sxt_json_read_key(reader, &key, &quoted);
        if (status != SXT_OK)
            break;
        size_t position = position_of(reader, quoted);
        void *grown = sxt_array_grow(entries->list, &entries->capacity, entries->count + 1, sizeof *entries->list);
        if (grown == NULL)
            return sxt_fail_memory(reader->error, entries->count * sizeof *entries->list);
        entries->list = grown;
        struct entry *entry = &entries->list[entries->count++];
        *entry = (struct entry){.position = position};
        if (!sxt_mlyze_parse_id(key, &entry->id))
            return sxt_json_read_fail(reader, position, "a key of %s is not an id", what);
        entries->largest = entry->id > entries->largest ? entry->id : entries->largest;
        status = are_stacks ? read_stack(reading, entry) : sxt_json_read_string(reader, what, &entry->value);
    }
    return status;
}

static int fail_twice(struct sxt_json_reader *reader, const struct entry *entry, const char *what)
{
    return sxt_json_read_fail(reader, entry->position, "%s has id %u twice", what, entry->id);
}

static int by_id(const void *a, const void *b)
{
    const struct entry *first = a;
    const struct entry *second = b;
    if (first->id != second->id)
        return first->id < second->id ? -1 : 1;
    return first->position < second->position ? -1 : first->position > second->position;
}

bool sxt_mlyze_has_places(uint64_t largest, size_t count)
{
    return largest < ID_ROOM || largest / ID_GAP <= count;
}

/*
 * Decides how large the table is. If it is not indexed by id, sorts the entries, so that they are at their places, and
 * makes the list of ids.
 */
static int arrange(struct sxt_json_reader *reader, struct entries *entries, const char *what, uint32_t **ids,
                   size_t *count)
{
    *count = entries->count == 0 ? 0 : entries->largest + 1;
    if (sxt_mlyze_has_places(entries->largest, entries->count))
        return SXT_OK;
    *count = entries->count;
    *ids = malloc(entries->count * sizeof **ids);
    if (*ids == NULL)
        return sxt_fail_memory(reader->error, entries->count * sizeof **ids);
    qsort(entries->list, entries->count, sizeof *entries->list, by_id);
    for (size_t i = 0; i < entries->count; i++) {
        (*ids)[i] = entries->list[i].id;
        if (i > 0 && (*ids)[i] == (*ids)[i - 1])
            return fail_twice(reader, &entries->list[i], what);
    }
    return SXT_OK;
}

static int read_strings(struct reading *reading, const char *what, sxt_string **out, size_t *count, uint32_t **ids)
{
    struct entries entries = {0};
    int status = read_entries(reading, what, false, &entries);
    if (status == SXT_OK)
        status = arrange(&reading->reader, &entries, what, ids, count);
    if (status == SXT_OK && (*out = calloc(*count + 1, sizeof **out)) == NULL)
        status = sxt_fail_memory(reading->reader.error, *count * sizeof **out);
    for (size_t i = 0; status == SXT_OK && i < entries.count; i++) {
        const struct entry *entry = &entries.list[i];
        size_t place = *ids != NULL ? i : entry->id;
        if ((*out)[place].data != NULL)
            status = fail_twice(&reading->reader, entry, what);
        (*out)[place] = entry->value;
    }
    free(entries.list);
    return status;
}

static int read_stacks(struct reading *reading)
{
    static const char what[] = "stack_traces";
    struct sxt_mlyze_metadata *metadata = reading->metadata;
    struct entries entries = {0};
    int status = read_entries(reading, what, true, &entries);
    if (status == SXT_OK)
        status = arrange(&reading->reader, &entries, what, &metadata->stack_ids, &metadata->stack_count);
    if (status == SXT_OK && (metadata->stacks = calloc(metadata->stack_count + 1, sizeof *metadata->stacks)) == NULL)
        status = sxt_fail_memory(reading->reader.error, metadata->stack_count * sizeof *metadata->stacks);
    for (size_t i = 0; status == SXT_OK && i < entries.count; i++) {
        const struct entry *entry = &entries.list[i];
        struct sxt_mlyze_stack *stack = &metadata->stacks[metadata->stack_ids != NULL ? i : entry->id];
        if (stack->exists)
            status = fail_twice(&reading->reader, entry, what);
        *stack = (struct sxt_mlyze_stack){
            .node = entry->node,
            .count = entry->count,
            .exists = true,
        };
    }
    free(entries.list);
    return status;
}

/* The same stack with its frames in the opposite order. */
static bool turn_stack(const struct sxt_mlyze_tree *from, struct sxt_mlyze_tree *to, struct sxt_mlyze_stack *stack)
{
    uint32_t turned = SXT_MLYZE_NO_NODE;
    for (uint32_t node = stack->node; node != SXT_MLYZE_NO_NODE; node = from->nodes[node].parent) {
        turned = sxt_mlyze_tree_add(to, turned, &from->frames[from->nodes[node].frame]);
        if (turned == SXT_MLYZE_NO_NODE)
            return false;
    }
    stack->node = turned;
    return true;
}

int sxt_mlyze_turn_stacks(struct sxt_mlyze_metadata *metadata, bool root_first, sxt_error *error)
{
    const struct sxt_json *order = sxt_json_member(metadata->root, "stack_order");
    bool is_said = order != NULL && order->type == SXT_JSON_STRING && sxt_string_is(order->string, "root_first");
    metadata->is_root_first = is_said || root_first;
    if (!metadata->is_root_first)
        return SXT_OK;
    struct sxt_mlyze_tree turned = {0};
    bool is_good = true;
    for (size_t i = 0; i < metadata->stack_count && is_good; i++)
        is_good = metadata->stacks[i].count == 0 || turn_stack(&metadata->tree, &turned, &metadata->stacks[i]);
    sxt_mlyze_tree_free(&metadata->tree);
    metadata->tree = turned;
    return is_good ? SXT_OK : sxt_fail_memory(error, turned.count * sizeof *turned.nodes);
}

/* --- the root --- */

/* The text is checked first: values that are too many for a tree, or too large for a double, are left out of it. */
static int keep_extra(struct reading *reading, sxt_string key)
{
    struct sxt_json_reader *reader = &reading->reader, again = *reader;
    struct sxt_json *value;
    int status = sxt_json_read_skip(reader, NULL);
    if (status != SXT_OK)
        return status;
    status = sxt_json_read_tree(&again, &reading->extra_limits, &value);
    if (status == SXT_ERROR_MEMORY)
        return status;
    if (status != SXT_OK) {
        reading->extra_limits.values = 0;
        return SXT_OK;
    }
    value->key = key;
    *reading->tail = value;
    reading->tail = &value->next;
    reading->metadata->root->count++;
    return SXT_OK;
}

static int read_member(struct reading *reading, sxt_string key, size_t position)
{
    static const char *const names[] = {"stack_traces", "files", "functions"};
    struct sxt_mlyze_metadata *metadata = reading->metadata;
    unsigned i = 0;
    while (i < 3 && !sxt_string_is(key, names[i]))
        i++;
    if (i == 3)
        return keep_extra(reading, key);
    if (reading->seen >> i & 1)
        return sxt_json_read_fail(&reading->reader, position, "'%s' occurs twice", names[i]);
    reading->seen |= 1u << i;
    sxt_json_read_peek(&reading->reader);
    metadata->spans[i].start = reading->reader.position;
    int status;
    if (i == SXT_MLYZE_STACKS)
        status = read_stacks(reading);
    else if (i == SXT_MLYZE_FILES)
        status = read_strings(reading, names[i], &metadata->files, &metadata->file_count, &metadata->file_ids);
    else
        status =
            read_strings(reading, names[i], &metadata->functions, &metadata->function_count, &metadata->function_ids);
    metadata->spans[i].end = reading->reader.position;
    return status;
}

static int read_root(struct reading *reading)
{
    struct sxt_json_reader *reader = &reading->reader;
    bool more;
    int status = sxt_json_read_begin(reader, '{', "the value");
    while (status == SXT_OK && (status = sxt_json_read_more(reader, '}', &more)) == SXT_OK && more) {
        sxt_string key, quoted;
        status = sxt_json_read_key(reader, &key, &quoted);
        if (status == SXT_OK)
            status = read_member(reading, key, position_of(reader, quoted));
    }
    return status == SXT_OK ? sxt_json_read_end(reader) : status;
}

/* --- what has an id --- */

size_t sxt_mlyze_search_id(const uint32_t *ids, size_t count, uint32_t id)
{
    struct sxt_bisection search = {.high = count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, ids[search.middle] < id);
    return search.low < count && ids[search.low] == id ? search.low : SIZE_MAX;
}

/* A frame that has no id is not the file or function with the largest of all ids. */
static sxt_string find_string(const sxt_string *list, size_t count, const uint32_t *ids, uint32_t id)
{
    size_t place = id != SXT_MLYZE_NO_ID ? sxt_mlyze_place(ids, count, id) : SIZE_MAX;
    return place != SIZE_MAX ? list[place] : (sxt_string){NULL, 0};
}

sxt_string sxt_mlyze_find_file(const struct sxt_mlyze_metadata *metadata, uint32_t id)
{
    return find_string(metadata->files, metadata->file_count, metadata->file_ids, id);
}

sxt_string sxt_mlyze_find_function(const struct sxt_mlyze_metadata *metadata, uint32_t id)
{
    return find_string(metadata->functions, metadata->function_count, metadata->function_ids, id);
}

/* --- names --- */

static sxt_string name_or_id(sxt_string name, uint32_t id, const char *prefix, char room[24])
{
    if (name.data != NULL)
        return name;
    if (id == SXT_MLYZE_NO_ID)
        return (sxt_string){"?", 1};
    int length = snprintf(room, 24, "%s_%u", prefix, id);
    return (sxt_string){room, (size_t)length};
}

sxt_string sxt_mlyze_file(const struct sxt_mlyze_metadata *metadata, uint32_t id, char room[24])
{
    return name_or_id(sxt_mlyze_find_file(metadata, id), id, "file", room);
}

sxt_string sxt_mlyze_function(const struct sxt_mlyze_metadata *metadata, uint32_t id, char room[24])
{
    return name_or_id(sxt_mlyze_find_function(metadata, id), id, "func", room);
}
