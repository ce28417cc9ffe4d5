/* call_tree.c: the samples of pprof profiles become a tree of calls. */
#include "profile/call_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inflate.h"
#include "base/protobuf.h"
#include "base/string.h"

#define INFLATE_LIMIT ((uint64_t)512 << 20)
/* A small profile can name a long stack very often. */
#define NODES_MAX  ((size_t)16 << 20)
#define FRAMES_MAX ((uint64_t)1 << 30) /* walked in all samples */

/* What the profile has, by its ids. */
struct function {
    uint64_t id, name, file;
};

struct mapping {
    uint64_t id, file;
};

struct location {
    uint64_t id, mapping, address;
    size_t first_line, line_count; /* in lines; the innermost call first */
};

struct reading {
    struct sxt_call_tree *tree;
    unsigned side;
    struct sxt_cursor message;
    sxt_string *strings;
    size_t string_count, string_capacity;
    struct function *functions;
    size_t function_count, function_capacity;
    struct mapping *mappings;
    size_t mapping_count, mapping_capacity;
    struct location *locations;
    size_t location_count, location_capacity;
    uint64_t *lines; /* ids of functions */
    size_t line_count, line_capacity;
    uint32_t *line_frames;     /* by line: its frame */
    uint32_t *location_frames; /* of a location without lines */
    uint64_t types[SXT_CALL_TYPES_MAX][2];
    size_t type_count;
    int type_of[SXT_CALL_TYPES_MAX]; /* in the tree; -1: left out */
    uint64_t default_type;           /* index of a string */
    uint64_t *stack;                 /* location ids of a sample, the leaf first */
    size_t stack_capacity;
    uint64_t walked;
    sxt_error *error;
};

int sxt_call_tree_init(struct sxt_call_tree *tree, sxt_error *error)
{
    *tree = (struct sxt_call_tree){.node_count = 1};
    int status = sxt_strings_init(&tree->strings, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&tree->frame_keys, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&tree->node_keys, 0, error);
    if (status != SXT_OK)
        return status;
    tree->nodes = sxt_array_grow(NULL, &tree->node_capacity, 1, sizeof *tree->nodes);
    if (tree->nodes == NULL)
        return sxt_fail_memory(error, sizeof *tree->nodes);
    tree->nodes[0] = (struct sxt_call_node){0, 0};
    return SXT_OK;
}

void sxt_call_tree_free(struct sxt_call_tree *tree)
{
    sxt_strings_free(&tree->strings);
    sxt_strings_free(&tree->frame_keys);
    sxt_strings_free(&tree->node_keys);
    free(tree->frames);
    free(tree->nodes);
    for (int i = 0; i < SXT_CALL_SIDES; i++)
        free(tree->values[i]);
    *tree = (struct sxt_call_tree){.nodes = NULL};
}

static int fail_damaged(struct reading *reading, const struct sxt_cursor *at)
{
    return sxt_fail(reading->error, SXT_ERROR_FORMAT, sxt_cursor_offset(at), "damaged, or not a pprof profile");
}

static int fail_memory(struct reading *reading)
{
    return sxt_fail_memory(reading->error, reading->message.size);
}

/* --- the tables of the profile --- */

#define ADD(reading, list, count, capacity, value)                                                                     \
    do {                                                                                                               \
        void *moved_ = sxt_array_grow((list), &(capacity), (count) + 1, sizeof *(list));                               \
        if (moved_ == NULL)                                                                                            \
            return fail_memory(reading);                                                                               \
        (list) = moved_;                                                                                               \
        (list)[(count)++] = (value);                                                                                   \
    } while (0)

/* The numbers of a message: field N goes to *FIELDS[N], unless that is NULL. */
static bool read_numbers(struct sxt_cursor *message, uint64_t *const *fields, size_t count)
{
    for (struct sxt_protobuf_field field; sxt_protobuf_next(message, &field);)
        if (field.wire == SXT_PROTOBUF_VARINT && field.number < count && fields[field.number] != NULL)
            *fields[field.number] = field.value;
    return !message->failed;
}

static int read_type(struct reading *reading, struct sxt_cursor message)
{
    uint64_t name = 0, unit = 0;
    uint64_t *fields[] = {NULL, &name, &unit};
    if (!read_numbers(&message, fields, 3))
        return fail_damaged(reading, &message);
    if (reading->type_count == SXT_CALL_TYPES_MAX)
        return sxt_fail(reading->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has more than %d kinds of values",
                        SXT_CALL_TYPES_MAX);
    reading->types[reading->type_count][0] = name;
    reading->types[reading->type_count++][1] = unit;
    return SXT_OK;
}

static int read_mapping(struct reading *reading, struct sxt_cursor message)
{
    struct mapping mapping = {0, 0};
    uint64_t *fields[] = {NULL, &mapping.id, NULL, NULL, NULL, &mapping.file};
    if (!read_numbers(&message, fields, 6))
        return fail_damaged(reading, &message);
    ADD(reading, reading->mappings, reading->mapping_count, reading->mapping_capacity, mapping);
    return SXT_OK;
}

static int read_function(struct reading *reading, struct sxt_cursor message)
{
    struct function function = {0, 0, 0};
    uint64_t *fields[] = {NULL, &function.id, &function.name, NULL, &function.file};
    if (!read_numbers(&message, fields, 5))
        return fail_damaged(reading, &message);
    ADD(reading, reading->functions, reading->function_count, reading->function_capacity, function);
    return SXT_OK;
}

static int read_location(struct reading *reading, struct sxt_cursor message)
{
    struct location location = {.first_line = reading->line_count};
    uint64_t *fields[] = {NULL, &location.id, &location.mapping, &location.address};
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);) {
        if (field.wire == SXT_PROTOBUF_VARINT && field.number >= 1 && field.number <= 3)
            *fields[field.number] = field.value;
        if (field.wire != SXT_PROTOBUF_BYTES || field.number != 4)
            continue;
        uint64_t function = 0;
        uint64_t *line_fields[] = {NULL, &function};
        struct sxt_cursor line = sxt_protobuf_inside(&message, &field);
        if (!read_numbers(&line, line_fields, 2))
            return fail_damaged(reading, &line);
        ADD(reading, reading->lines, reading->line_count, reading->line_capacity, function);
        location.line_count++;
    }
    if (message.failed)
        return fail_damaged(reading, &message);
    ADD(reading, reading->locations, reading->location_count, reading->location_capacity, location);
    return SXT_OK;
}

static int read_field(struct reading *reading, const struct sxt_protobuf_field *field)
{
    if (field->wire == SXT_PROTOBUF_VARINT && field->number == 14)
        reading->default_type = field->value;
    if (field->wire != SXT_PROTOBUF_BYTES)
        return SXT_OK;
    struct sxt_cursor inside = sxt_protobuf_inside(&reading->message, field);
    switch (field->number) {
    case 1:
        return read_type(reading, inside);
    case 3:
        return read_mapping(reading, inside);
    case 4:
        return read_location(reading, inside);
    case 5:
        return read_function(reading, inside);
    case 6:
        ADD(reading, reading->strings, reading->string_count, reading->string_capacity,
            ((sxt_string){(const char *)field->data, field->size}));
        return SXT_OK;
    default:
        return SXT_OK;
    }
}

static int compare_ids(const void *left, const void *right)
{
    uint64_t a, b; /* the id is the first member of each record */
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static void sort(void *list, size_t count, size_t size)
{
    if (count > 0)
        qsort(list, count, size, compare_ids);
}

static void *find(uint64_t id, const void *list, size_t count, size_t size)
{
    return count > 0 ? bsearch(&id, list, count, size, compare_ids) : NULL;
}

static int read_tables(struct reading *reading)
{
    struct sxt_cursor start = reading->message;
    int status = SXT_OK;
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&reading->message, &field);)
        status = read_field(reading, &field);
    if (status == SXT_OK && reading->message.failed)
        status = fail_damaged(reading, &reading->message);
    if (status == SXT_OK && reading->type_count == 0)
        status = fail_damaged(reading, &start);
    sort(reading->functions, reading->function_count, sizeof *reading->functions);
    sort(reading->mappings, reading->mapping_count, sizeof *reading->mappings);
    sort(reading->locations, reading->location_count, sizeof *reading->locations);
    reading->message = start;
    return status;
}

/* --- frames --- */

static sxt_string string_at(const struct reading *reading, uint64_t index)
{
    return index < reading->string_count ? reading->strings[index] : (sxt_string){"", 0};
}

static uint32_t add_string(struct reading *reading, sxt_string text)
{
    return sxt_strings_add(&reading->tree->strings, text.data, text.size);
}

/* The number of a frame; SXT_STRINGS_FULL when memory is short. */
static uint32_t add_frame(struct reading *reading, struct sxt_call_frame frame)
{
    struct sxt_call_tree *tree = reading->tree;
    uint32_t number = sxt_strings_add(&tree->frame_keys, (const char *)&frame, sizeof frame);
    if (number == SXT_STRINGS_FULL || frame.function == SXT_STRINGS_FULL || frame.file == SXT_STRINGS_FULL ||
        frame.binary == SXT_STRINGS_FULL)
        return SXT_STRINGS_FULL;
    if (--number < tree->frame_count)
        return number;
    void *moved = sxt_array_grow(tree->frames, &tree->frame_capacity, tree->frame_count + 1, sizeof *tree->frames);
    if (moved == NULL)
        return SXT_STRINGS_FULL;
    tree->frames = moved;
    tree->frames[tree->frame_count++] = frame;
    return number;
}

static sxt_string base_name(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    if (slash == NULL)
        return path;
    size_t skipped = (size_t)(slash - path.data) + 1;
    return (sxt_string){path.data + skipped, path.size - skipped};
}

static uint32_t binary_of(struct reading *reading, const struct location *location)
{
    const struct mapping *mapping =
        find(location->mapping, reading->mappings, reading->mapping_count, sizeof *reading->mappings);
    return mapping == NULL ? 0 : add_string(reading, base_name(string_at(reading, mapping->file)));
}

static int make_location_frames(struct reading *reading, size_t index)
{
    const struct location *location = &reading->locations[index];
    uint32_t binary = binary_of(reading, location);
    char address[32];
    for (size_t i = 0; i < location->line_count; i++) {
        const struct function *function = find(reading->lines[location->first_line + i], reading->functions,
                                               reading->function_count, sizeof *reading->functions);
        sxt_string name = function == NULL ? (sxt_string){"", 0} : string_at(reading, function->name);
        struct sxt_call_frame frame = {.function = add_string(reading, name), .binary = binary};
        if (function != NULL)
            frame.file = add_string(reading, string_at(reading, function->file));
        uint32_t number = add_frame(reading, frame);
        if (number == SXT_STRINGS_FULL)
            return fail_memory(reading);
        reading->line_frames[location->first_line + i] = number;
    }
    if (location->line_count > 0)
        return SXT_OK;
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)location->address);
    struct sxt_call_frame frame = {.function = add_string(reading, sxt_string_of(address)), .binary = binary};
    reading->location_frames[index] = add_frame(reading, frame);
    return reading->location_frames[index] == SXT_STRINGS_FULL ? fail_memory(reading) : SXT_OK;
}

static int make_frames(struct reading *reading)
{
    reading->line_frames = calloc(reading->line_count + 1, sizeof *reading->line_frames);
    reading->location_frames = calloc(reading->location_count + 1, sizeof *reading->location_frames);
    if (reading->line_frames == NULL || reading->location_frames == NULL)
        return fail_memory(reading);
    int status = SXT_OK;
    for (size_t i = 0; i < reading->location_count && status == SXT_OK; i++)
        status = make_location_frames(reading, i);
    return status;
}

/* --- what is counted --- */

static int match_types(struct reading *reading)
{
    struct sxt_call_tree *tree = reading->tree;
    bool is_first = tree->type_count == 0, has_match = false;
    for (size_t i = 0; i < reading->type_count; i++) {
        struct sxt_call_type type = {add_string(reading, string_at(reading, reading->types[i][0])),
                                     add_string(reading, string_at(reading, reading->types[i][1]))};
        if (type.name == SXT_STRINGS_FULL || type.unit == SXT_STRINGS_FULL)
            return fail_memory(reading);
        reading->type_of[i] = -1;
        if (is_first)
            tree->types[tree->type_count++] = type;
        for (size_t k = 0; k < tree->type_count; k++)
            if (tree->types[k].name == type.name && tree->types[k].unit == type.unit)
                reading->type_of[i] = (int)k;
        has_match |= reading->type_of[i] >= 0;
        if (is_first && reading->types[i][0] == reading->default_type)
            tree->default_type = i;
    }
    if (is_first && reading->default_type == 0)
        tree->default_type = tree->type_count - 1;
    if (!has_match)
        return sxt_fail(reading->error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "the two profiles count different things, so they cannot be compared");
    return SXT_OK;
}

/* --- samples --- */

static int add_node(struct reading *reading, uint32_t parent, uint32_t frame, uint32_t *out)
{
    struct sxt_call_tree *tree = reading->tree;
    const uint32_t key[2] = {parent, frame};
    uint32_t number = sxt_strings_add(&tree->node_keys, (const char *)key, sizeof key);
    if (number == SXT_STRINGS_FULL)
        return fail_memory(reading);
    *out = number;
    if (number < tree->node_count)
        return SXT_OK;
    if (tree->node_count == NODES_MAX)
        return sxt_fail(reading->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has more than %zu different stacks",
                        NODES_MAX);
    ADD(reading, tree->nodes, tree->node_count, tree->node_capacity, ((struct sxt_call_node){parent, frame}));
    return SXT_OK;
}

/* Goes from the root to the leaf: the last location comes first, and of its lines the last one. */
static int walk_stack(struct reading *reading, size_t depth, uint32_t *leaf)
{
    int status = SXT_OK;
    *leaf = 0;
    for (size_t i = depth; i > 0 && status == SXT_OK; i--) {
        const struct location *location =
            find(reading->stack[i - 1], reading->locations, reading->location_count, sizeof *reading->locations);
        if (location == NULL)
            continue;
        reading->walked += location->line_count + 1;
        if (reading->walked > FRAMES_MAX)
            return sxt_fail(reading->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "its stacks have too many frames");
        reading->tree->unnamed[reading->side] += location->line_count == 0;
        if (location->line_count == 0)
            status = add_node(reading, *leaf, reading->location_frames[location - reading->locations], leaf);
        for (size_t k = location->line_count; k > 0 && status == SXT_OK; k--)
            status = add_node(reading, *leaf, reading->line_frames[location->first_line + k - 1], leaf);
    }
    return status;
}

/* Numbers that are packed into one field, or in a field each. */
static int add_numbers(struct reading *reading, struct sxt_cursor *message, const struct sxt_protobuf_field *field,
                       uint64_t **list, size_t *count, size_t *capacity)
{
    if (field->wire == SXT_PROTOBUF_VARINT) {
        ADD(reading, *list, *count, *capacity, field->value);
        return SXT_OK;
    }
    if (field->wire != SXT_PROTOBUF_BYTES)
        return SXT_OK;
    const uint8_t *at = field->data, *end = field->data + field->size;
    while (at < end) {
        uint64_t value;
        at = sxt_protobuf_get(at, end, &value);
        if (at == NULL)
            return fail_damaged(reading, message);
        ADD(reading, *list, *count, *capacity, value);
    }
    return SXT_OK;
}

static int64_t *values_of(struct reading *reading, uint32_t node)
{
    struct sxt_call_tree *tree = reading->tree;
    size_t before = tree->value_capacity[reading->side];
    int64_t *values = sxt_array_grow(tree->values[reading->side], &tree->value_capacity[reading->side],
                                     tree->node_count * tree->type_count, sizeof *values);
    if (values == NULL)
        return NULL;
    memset(values + before, 0, (tree->value_capacity[reading->side] - before) * sizeof *values);
    tree->values[reading->side] = values;
    return values + node * tree->type_count;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static int add_sample(struct reading *reading, struct sxt_cursor message)
{
    uint64_t *values = NULL;
    size_t depth = 0, value_count = 0, value_capacity = 0;
    uint32_t leaf = 0;
    int status = SXT_OK;
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&message, &field);)
        if (field.number == 1)
            status = add_numbers(reading, &message, &field, &reading->stack, &depth, &reading->stack_capacity);
        else if (field.number == 2)
            status = add_numbers(reading, &message, &field, &values, &value_count, &value_capacity);
    if (status == SXT_OK && message.failed)
        status = fail_damaged(reading, &message);
    if (status == SXT_OK)
        status = walk_stack(reading, depth, &leaf);
    int64_t *sums = status == SXT_OK ? values_of(reading, leaf) : NULL;
    if (status == SXT_OK && sums == NULL)
        status = fail_memory(reading);
    for (size_t i = 0; i < value_count && i < reading->type_count && sums != NULL; i++) {
        int type = reading->type_of[i];
        if (type < 0)
            continue;
        int64_t *total = &reading->tree->totals[reading->side][type];
        sums[type] = add_clamped(sums[type], (int64_t)values[i]);
        *total = add_clamped(*total, (int64_t)values[i]);
    }
    reading->tree->samples[reading->side]++;
    free(values);
    return status;
}

static int read_samples(struct reading *reading)
{
    int status = SXT_OK;
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&reading->message, &field);)
        if (field.number == 2 && field.wire == SXT_PROTOBUF_BYTES)
            status = add_sample(reading, sxt_protobuf_inside(&reading->message, &field));
    return status;
}

static int add_plain(struct reading *reading)
{
    int status = read_tables(reading);
    if (status == SXT_OK)
        status = match_types(reading);
    if (status == SXT_OK)
        status = make_frames(reading);
    if (status == SXT_OK)
        status = read_samples(reading);
    free(reading->strings);
    free(reading->functions);
    free(reading->mappings);
    free(reading->locations);
    free(reading->lines);
    free(reading->line_frames);
    free(reading->location_frames);
    free(reading->stack);
    return status;
}

int sxt_call_tree_add(struct sxt_call_tree *tree, unsigned side, const void *data, size_t size, sxt_error *error)
{
    uint8_t *plain = NULL;
    size_t plain_size = size;
    enum sxt_compression kind = sxt_compression_of(data, size);
    if (kind != SXT_COMPRESSION_NONE) {
        int status = sxt_inflate(kind, data, size, INFLATE_LIMIT, &plain, &plain_size, error);
        if (status != SXT_OK)
            return status;
    }
    struct reading reading = {.tree = tree, .side = side, .error = error};
    reading.message = sxt_cursor_make(plain != NULL ? plain : data, plain_size, 0, false);
    int status = add_plain(&reading);
    free(plain);
    /* Every node has values on both sides. */
    for (unsigned i = 0; i < SXT_CALL_SIDES && status == SXT_OK; i++) {
        struct reading other = {.tree = tree, .side = i};
        if (values_of(&other, 0) == NULL)
            status = sxt_fail_memory(error, tree->node_count);
    }
    return status;
}
