/*
 * header.c: the JSON at the beginning of a .size file.
 *
 *     v1 (one container, without a name)           v1.1 (any number)
 *
 *     metadata: of the container, and              build_config: {...}
 *               what build_config has              containers: [{name, metadata, section_sizes, metrics_by_file}, ...]
 *     section_sizes, metrics_by_file
 *     has_components, has_disassembly, has_padding (in both)
 *
 * Unknown keys are kept in `extra` of the file or of its container.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "size/private.h"

/* Nesting, and values of all kinds: Chrome's largest files have some ten thousand. */
#define JSON_DEPTH      64
#define JSON_VALUES     ((size_t)1 << 20)

#define ELEMENTS(array) (sizeof(array) / sizeof(array)[0])

/* What a v1 file mixes into the metadata of its container. */
static const char *const build_keys[] = {"git_revision", "gn_args", "out_directory"};

static int take_containers(struct sxt_size_info *size, struct sxt_json *root, sxt_error *error);
static int take_flag(struct sxt_size_info *size, struct sxt_json *root, const char *key, unsigned lack, bool *flag,
                     sxt_error *error);
static int fill_container(struct sxt_size_container *container, struct sxt_json *from, sxt_error *error);
static struct sxt_json *keep_rest(struct sxt_json *object);
static struct sxt_json *take_object(struct sxt_json *object, const char *key, int *status, sxt_error *error);
static struct sxt_json *describe(const struct sxt_size_info *size, struct sxt_arena *arena, int *status,
                                 sxt_error *error);

/* --- reading --- */

int sxt_size_parse_json(struct sxt_arena *arena, const char *json, size_t json_size, uint64_t base,
                        struct sxt_json **out, sxt_error *error)
{
    struct sxt_json_limits limits = {.depth = JSON_DEPTH, .values = JSON_VALUES};
    int status = sxt_json_parse(json, json_size, limits, arena, out, error);
    if (status != SXT_OK)
        return sxt_size_error_in(error, status, "header", base);
    if ((*out)->type != SXT_JSON_OBJECT)
        return sxt_fail(error, SXT_ERROR_FORMAT, base, "header: not a JSON object");
    return SXT_OK;
}

int sxt_size_read_header(struct sxt_size_info *size, struct sxt_json *root, bool is_multiple, sxt_error *error)
{
    static const char *const foreign[2][2] = {{"containers", "build_config"}, {"metadata", "section_sizes"}};
    for (unsigned i = 0; i < 2; i++)
        if (sxt_json_member(root, foreign[is_multiple][i]) != NULL)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: '%s' does not belong in a file of v1%s",
                            foreign[is_multiple][i], is_multiple ? ".1" : "");
    int status = take_flag(size, root, "has_components", SXT_SIZE_NO_COMPONENTS_KEY, &size->has_components, error);
    if (status == SXT_OK)
        status = take_flag(size, root, "has_disassembly", SXT_SIZE_NO_DISASSEMBLY_KEY, &size->has_disassembly, error);
    if (status == SXT_OK)
        status = take_flag(size, root, "has_padding", SXT_SIZE_NO_PADDING_KEY, &size->is_sparse, error);
    if (status != SXT_OK)
        return status;
    size->is_multiple = is_multiple;
    if (is_multiple) {
        status = take_containers(size, root, error);
    } else {
        size->container_count = 1;
        size->containers = sxt_arena_calloc(&size->arena, 1, sizeof *size->containers);
        if (size->containers == NULL)
            return sxt_fail_memory(error, sizeof *size->containers);
        size->containers->name = (sxt_string){"", 0};
        status = fill_container(size->containers, root, error);
    }
    size->extra = keep_rest(root);
    struct sxt_json *metadata = status == SXT_OK && !is_multiple ? size->containers->metadata : NULL;
    for (size_t i = 0; metadata != NULL && i < ELEMENTS(build_keys); i++) {
        struct sxt_json *member = sxt_json_take(metadata, build_keys[i]);
        if (member == NULL)
            continue;
        if (size->build_config == NULL)
            size->build_config = sxt_json_object(&size->arena);
        if (size->build_config == NULL || !sxt_json_add(&size->arena, size->build_config, build_keys[i], member))
            return sxt_fail_memory(error, sizeof *member);
    }
    return status;
}

static int take_flag(struct sxt_size_info *size, struct sxt_json *root, const char *key, unsigned lack, bool *flag,
                     sxt_error *error)
{
    const struct sxt_json *value = sxt_json_take(root, key);
    if (value == NULL)
        size->lacks = (uint8_t)(size->lacks | lack);
    else if (value->type != SXT_JSON_BOOL)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: '%s' is neither true nor false", key);
    *flag = value != NULL && value->boolean;
    return SXT_OK;
}

static int take_containers(struct sxt_size_info *size, struct sxt_json *root, sxt_error *error)
{
    int status = SXT_OK;
    size->build_config = take_object(root, "build_config", &status, error);
    if (status != SXT_OK)
        return status;
    if (size->build_config == NULL && sxt_json_member(root, "build_config") == NULL)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: there is no 'build_config'");
    struct sxt_json *list = sxt_json_take(root, "containers");
    if (list == NULL || list->type != SXT_JSON_ARRAY || list->count == 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: there is no list of containers");
    size->containers = sxt_arena_calloc(&size->arena, list->count, sizeof *size->containers);
    if (size->containers == NULL)
        return sxt_fail_memory(error, list->count * sizeof *size->containers);
    for (struct sxt_json *item = list->child; item != NULL && status == SXT_OK; item = item->next) {
        struct sxt_size_container *container = &size->containers[size->container_count++];
        struct sxt_json *name = item->type == SXT_JSON_OBJECT ? sxt_json_take(item, "name") : NULL;
        if (name == NULL || name->type != SXT_JSON_STRING)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: container %zu has no name",
                            size->container_count - 1);
        container->name = name->string;
        status = fill_container(container, item, error);
        container->extra = keep_rest(item);
    }
    return status;
}

/* An empty object counts as absent. */
static struct sxt_json *keep_rest(struct sxt_json *object)
{
    return object->count > 0 ? object : NULL;
}

/* The object under KEY. A null stays where it is, to be stored again. */
static struct sxt_json *take_object(struct sxt_json *object, const char *key, int *status, sxt_error *error)
{
    const struct sxt_json *value = sxt_json_member(object, key);
    if (value == NULL || value->type == SXT_JSON_NULL || *status != SXT_OK)
        return NULL;
    if (value->type != SXT_JSON_OBJECT)
        *status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: '%s' is not an object", key);
    return sxt_json_take(object, key);
}

static int fill_container(struct sxt_size_container *container, struct sxt_json *from, sxt_error *error)
{
    int status = SXT_OK;
    container->metadata = take_object(from, "metadata", &status, error);
    container->sections = take_object(from, "section_sizes", &status, error);
    container->metrics = take_object(from, "metrics_by_file", &status, error);
    if (status != SXT_OK)
        return status;
    if (container->sections == NULL)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: there are no 'section_sizes'");
    for (const struct sxt_json *section = container->sections->child; section != NULL; section = section->next)
        if (section->type != SXT_JSON_NUMBER)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                            "header: the size of section '%.*s' is not a number",
                            (int)(section->key.size < 60 ? section->key.size : 60), section->key.data);
        else if (section->number < 0)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: the size of section '%.*s' is negative",
                            (int)(section->key.size < 60 ? section->key.size : 60), section->key.data);
    return SXT_OK;
}

/* --- writing --- */

void sxt_size_print_json(const struct sxt_json *value, struct sxt_buffer *out)
{
    struct sxt_json_writer writer = sxt_json_writer_make(out, SXT_JSON_INDENTED);
    writer.escapes = SXT_JSON_ESCAPES_ASCII;
    sxt_json_write_tree_sorted(&writer, value);
}

static int print_header(const struct sxt_size_info *size, bool as_block, struct sxt_buffer *out, sxt_error *error)
{
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    int status = SXT_OK;
    struct sxt_json *root = describe(size, &arena, &status, error);
    if (root != NULL && as_block)
        status = sxt_size_write_json_block(root, out, error);
    else if (root != NULL)
        sxt_size_print_json(root, out);
    else if (status == SXT_OK)
        status = sxt_fail_memory(error, sizeof *root);
    sxt_arena_free(&arena);
    return status;
}

int sxt_size_write_header(const struct sxt_size_info *size, struct sxt_buffer *out, sxt_error *error)
{
    return print_header(size, true, out, error);
}

int sxt_size_print_header(const struct sxt_size_info *size, struct sxt_buffer *out, sxt_error *error)
{
    int status = print_header(size, false, out, error);
    return status == SXT_OK ? sxt_buffer_status(out, error) : status;
}

int sxt_size_write_json_block(const struct sxt_json *value, struct sxt_buffer *out, sxt_error *error)
{
    struct sxt_buffer json;
    sxt_buffer_init(&json, SIZE_MAX);
    sxt_size_print_json(value, &json);
    int status = sxt_buffer_status(&json, error);
    if (status == SXT_OK) {
        sxt_buffer_print(out, "%zu\n", json.size);
        sxt_buffer_append(out, json.data, json.size);
        sxt_buffer_u8(out, '\n');
        status = sxt_buffer_status(out, error);
    }
    sxt_buffer_free(&json);
    return status;
}

/* A second node for a value that is linked in elsewhere; what is below it is shared. */
static struct sxt_json *copy_node(struct sxt_arena *arena, const struct sxt_json *value)
{
    struct sxt_json *node = sxt_arena_alloc(arena, sizeof *node);
    if (node != NULL) {
        *node = *value;
        node->next = NULL;
    }
    return node;
}

/* Puts nodes for all members of FROM (NULL for none) in front of those of OBJECT. */
static bool copy_members(struct sxt_arena *arena, struct sxt_json *object, const struct sxt_json *from)
{
    const struct sxt_json *member = from == NULL ? NULL : from->child;
    for (; member != NULL; member = member->next) {
        struct sxt_json *node = copy_node(arena, member);
        if (node == NULL)
            return false;
        node->next = object->child;
        object->child = node;
        object->count++;
    }
    return true;
}

static bool add_flag(struct sxt_arena *arena, struct sxt_json *object, const char *key, bool value)
{
    const struct sxt_json flag = {.type = SXT_JSON_BOOL, .boolean = value};
    return sxt_json_add(arena, object, key, copy_node(arena, &flag));
}

/* VALUE may be NULL: then a new file gets an empty object, and one that was read gets nothing, as before. */
static bool add_object(const struct sxt_size_info *size, const struct sxt_json *extra, struct sxt_arena *arena,
                       struct sxt_json *object, const char *key, const struct sxt_json *value)
{
    const struct sxt_json empty = {.type = SXT_JSON_OBJECT};
    if (value == NULL && (size->text != NULL || sxt_json_member(extra, key) != NULL))
        return true;
    return sxt_json_add(arena, object, key, copy_node(arena, value != NULL ? value : &empty));
}

static bool describe_container(const struct sxt_size_info *size, const struct sxt_size_container *container,
                               struct sxt_arena *arena, struct sxt_json *into)
{
    return add_object(size, container->extra, arena, into, "section_sizes", container->sections) &&
           add_object(size, container->extra, arena, into, "metrics_by_file", container->metrics) &&
           copy_members(arena, into, container->extra);
}

static bool describe_all(const struct sxt_size_info *size, struct sxt_arena *arena, struct sxt_json *root)
{
    struct sxt_json *list = sxt_json_array(arena);
    struct sxt_json **tail = list == NULL ? NULL : &list->child;
    for (size_t i = 0; i < size->container_count && tail != NULL; i++) {
        const struct sxt_size_container *container = &size->containers[i];
        struct sxt_json *item = sxt_json_object(arena);
        if (item == NULL || !sxt_json_add_string(arena, item, "name", container->name) ||
            !add_object(size, container->extra, arena, item, "metadata", container->metadata) ||
            !describe_container(size, container, arena, item))
            return false;
        *tail = item;
        tail = &item->next;
    }
    return tail != NULL && add_object(size, size->extra, arena, root, "build_config", size->build_config) &&
           sxt_json_add(arena, root, "containers", list);
}

/* The metadata of the one container and of the build, in one object. */
static bool describe_one(const struct sxt_size_info *size, struct sxt_arena *arena, struct sxt_json *root)
{
    const struct sxt_size_container *container = &size->containers[0];
    struct sxt_json *merged = sxt_json_object(arena);
    if (merged == NULL || !copy_members(arena, merged, container->metadata) ||
        !copy_members(arena, merged, size->build_config))
        return false;
    bool is_there = container->metadata != NULL || size->build_config != NULL;
    return add_object(size, size->extra, arena, root, "metadata", is_there ? merged : NULL) &&
           describe_container(size, container, arena, root);
}

static int check_duplicate_keys(const struct sxt_size_info *size, sxt_error *error)
{
    const struct sxt_json *metadata = size->containers[0].metadata;
    if (metadata == NULL || size->build_config == NULL)
        return SXT_OK;
    for (const struct sxt_json *build = size->build_config->child; build != NULL; build = build->next)
        for (const struct sxt_json *member = metadata->child; member != NULL; member = member->next)
            if (sxt_string_equal(build->key, member->key))
                return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                                "'%.*s' is in the metadata and in the build configuration, and a file with one "
                                "container holds only one of them",
                                (int)(build->key.size < 60 ? build->key.size : 60), build->key.data);
    return SXT_OK;
}

/* NULL with *STATUS unchanged when memory is short. */
static struct sxt_json *describe(const struct sxt_size_info *size, struct sxt_arena *arena, int *status,
                                 sxt_error *error)
{
    bool is_multiple = sxt_size_is_multiple(size);
    if (!is_multiple)
        *status = check_duplicate_keys(size, error);
    struct sxt_json *root = *status == SXT_OK ? sxt_json_object(arena) : NULL;
    if (root == NULL)
        return NULL;
    static const struct {
        const char *key;
        unsigned lack;
    } flags[] = {{"has_components", SXT_SIZE_NO_COMPONENTS_KEY},
                 {"has_disassembly", SXT_SIZE_NO_DISASSEMBLY_KEY},
                 {"has_padding", SXT_SIZE_NO_PADDING_KEY}};
    const bool values[] = {size->has_components, sxt_size_has_disassembly(size), size->is_sparse};
    for (size_t i = 0; i < ELEMENTS(flags); i++)
        if ((values[i] || (size->lacks & flags[i].lack) == 0) && !add_flag(arena, root, flags[i].key, values[i]))
            return NULL;
    bool good = (is_multiple ? describe_all(size, arena, root) : describe_one(size, arena, root)) &&
                copy_members(arena, root, size->extra);
    return good ? root : NULL;
}
