/*
 * names.c: names for the addresses that a recording left unresolved.
 *
 * What finish_names.c wrote under "modules" and "unresolved" is read and looked up, and every frame that has a name now
 * is replaced by its chain, inlined calls first. Stacks then begin after operator new, as in finish_names.c. Everything
 * else in the metadata is copied as text. Ids that events use stay the same: those of stacks, and of functions that are
 * the names of markers. A file or function that is not used any more gives its id to a new one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "mlyze/mlyze.h"
#include "trace/names.h"

#define BATCH 512
static int read_modules(struct sxt_naming *naming, sxt_error *error);
static int read_entries(struct sxt_naming *naming, sxt_string text, sxt_error *error);
static int look_up(struct sxt_naming *naming, sxt_trace_named *named, sxt_error *error);
static int choose(struct sxt_naming *naming, sxt_error *error);
static int assign_ids(struct sxt_naming *naming, const struct sxt_mlyze *mlyze, sxt_error *error);

static void free_table(struct sxt_naming_table *table)
{
    free(table->is_used);
    free(table->is_gone);
    free(table->ids);
    free(table->is_new);
}

static int check(const struct sxt_buffer *json, sxt_error *error)
{
    struct sxt_mlyze_metadata metadata;
    int status = sxt_buffer_status(json, error);
    if (status == SXT_OK)
        status = sxt_mlyze_metadata_read((const char *)json->data, json->size, false, &metadata, error);
    if (status == SXT_OK)
        sxt_mlyze_metadata_free(&metadata);
    return status;
}

int sxt_trace_name(const struct sxt_mlyze *mlyze, const struct sxt_trace_name_source *source, struct sxt_buffer *json,
                   sxt_trace_named *named, sxt_error *error)
{
    struct sxt_naming naming = {.metadata = sxt_mlyze_metadata(mlyze), .source = source};
    sxt_string text = sxt_mlyze_metadata_text(mlyze);
    *named = (sxt_trace_named){.struct_size = sizeof *named};
    int status = sxt_places_init(&naming.places, error);
    if (status == SXT_OK)
        status = read_modules(&naming, error);
    if (status == SXT_OK)
        status = read_entries(&naming, text, error);
    if (status == SXT_OK)
        status = look_up(&naming, named, error);
    if (status == SXT_OK && named->named > 0) {
        status = choose(&naming, error);
        if (status == SXT_OK)
            status = assign_ids(&naming, mlyze, error);
        if (status == SXT_OK) {
            sxt_naming_write(&naming, text, json);
            status = check(json, error);
        }
    }
    free_table(&naming.files);
    free_table(&naming.functions);
    free(naming.place_of);
    free(naming.chosen);
    sxt_places_free(&naming.places);
    free(naming.entries);
    free(naming.modules);
    return status;
}

/* --- what is unresolved --- */

static bool is_build_id(sxt_string text)
{
    for (size_t i = 0; i < text.size; i++)
        if (sxt_hex_digit(text.data[i]) < 0)
            return false;
    return text.size == 0 || (text.size % 2 == 0 && text.size >= 4 && text.size <= 128);
}

static sxt_string string_of(const struct sxt_json *value)
{
    return value != NULL && value->type == SXT_JSON_STRING ? value->string : (sxt_string){NULL, 0};
}

static int read_modules(struct sxt_naming *naming, sxt_error *error)
{
    const struct sxt_json *list = sxt_json_member(naming->metadata->root, "modules");
    size_t count = list != NULL && list->type == SXT_JSON_ARRAY ? list->count : 0;
    naming->modules = calloc(count + 1, sizeof *naming->modules);
    if (naming->modules == NULL)
        return sxt_fail_memory(error, count * sizeof *naming->modules);
    for (const struct sxt_json *one = count > 0 ? list->child : NULL; one != NULL; one = one->next) {
        struct sxt_naming_module *module = &naming->modules[naming->module_count++];
        module->path = string_of(sxt_json_member(one, "path"));
        module->build_id = string_of(sxt_json_member(one, "build_id"));
        module->is_fine = module->path.size > 0 && is_build_id(module->build_id);
    }
    return SXT_OK;
}

/* "0x12ab" */
static bool parse_address(sxt_string text, uint64_t *out)
{
    return sxt_string_begins(text, "0x") && sxt_hex_parse((sxt_string){text.data + 2, text.size - 2}, out);
}

bool sxt_naming_parse_id(sxt_string text, uint32_t *number)
{
    uint64_t value = 0;
    if (text.size == 0 || text.size > 10)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    *number = (uint32_t)value;
    return value < UINT32_MAX;
}

static struct sxt_naming_entry read_entry(const struct sxt_naming *naming, const struct sxt_json *value)
{
    const struct sxt_json *module = sxt_json_member(value, "module");
    struct sxt_naming_entry entry = {.module = SXT_NO_MODULE, .is_invalid = true};
    const struct sxt_mlyze_metadata *metadata = naming->metadata;
    uint32_t function;
    if (!sxt_naming_parse_id(value->key, &function))
        return entry;
    entry.function_place = sxt_mlyze_place(metadata->function_ids, metadata->function_count, function);
    if (entry.function_place == SIZE_MAX || metadata->functions[entry.function_place].data == NULL ||
        !parse_address(string_of(sxt_json_member(value, "address")), &entry.address) || entry.address == 0)
        return entry;
    if (module != NULL &&
        (module->type != SXT_JSON_NUMBER || !module->is_unsigned || module->unsigned_value >= naming->module_count ||
         !naming->modules[module->unsigned_value].is_fine))
        return entry;
    if (module != NULL)
        entry.module = (uint32_t)module->unsigned_value;
    entry.is_invalid = false;
    return entry;
}

struct sxt_json_reader sxt_naming_open_text(sxt_string text, struct sxt_arena *arena)
{
    struct sxt_json_reader reader = {
        .text = text.data, .size = text.size, .subject = "metadata", .arena = arena, .replace_surrogates = true};
    sxt_json_read_begin(&reader, '{', "the value");
    return reader;
}

bool sxt_naming_has_more(struct sxt_json_reader *reader, char close)
{
    bool more;
    return sxt_json_read_more(reader, close, &more) == SXT_OK && more;
}

/* The reader of metadata leaves out trees that are too large, but the text has everything. */
static int check_completeness(const struct sxt_naming *naming, sxt_string text, sxt_error *error)
{
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    struct sxt_json_reader reader = sxt_naming_open_text(text, &arena);
    size_t count = 0;
    for (sxt_string key; sxt_naming_has_more(&reader, '}') && sxt_json_read_key(&reader, &key, NULL) == SXT_OK &&
                         sxt_json_read_skip(&reader, NULL) == SXT_OK;)
        count += sxt_string_is(key, "unresolved");
    sxt_arena_free(&arena);
    if (count > 1)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "metadata: 'unresolved' occurs twice");
    if (count == 1 && sxt_json_member(naming->metadata->root, "unresolved") == NULL)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "metadata: too many unresolved functions to read");
    return SXT_OK;
}

static int read_entries(struct sxt_naming *naming, sxt_string text, sxt_error *error)
{
    size_t functions = naming->metadata->function_count;
    int status = check_completeness(naming, text, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_json *list = sxt_json_member(naming->metadata->root, "unresolved");
    size_t count = list != NULL && list->type == SXT_JSON_OBJECT ? list->count : 0;
    naming->entries = calloc(count + 1, sizeof *naming->entries);
    naming->place_of = malloc((functions + 1) * sizeof *naming->place_of);
    if (naming->entries == NULL || naming->place_of == NULL)
        return sxt_fail_memory(error, count * sizeof *naming->entries);
    memset(naming->place_of, 0xff, (functions + 1) * sizeof *naming->place_of);
    for (const struct sxt_json *one = count > 0 ? list->child : NULL; one != NULL; one = one->next) {
        struct sxt_naming_entry entry = read_entry(naming, one);
        /* Until places are known, 0 means that there is an entry: a second one is invalid. */
        if (!entry.is_invalid && naming->place_of[entry.function_place] != SXT_NAMING_NO_PLACE)
            entry.is_invalid = true;
        if (!entry.is_invalid)
            naming->place_of[entry.function_place] = 0;
        naming->entries[naming->entry_count++] = entry;
    }
    return SXT_OK;
}

/* --- lookups --- */

static sxt_archive *open_module(void *data, uint32_t module, const uint64_t *addresses, size_t count)
{
    const struct sxt_naming *naming = data;
    const struct sxt_naming_module *one = &naming->modules[module];
    return naming->source->open(naming->source->data, one->path, one->build_id, addresses, count);
}

static int ask_module(void *data, uint32_t module, const uint64_t *addresses, size_t count, sxt_remote_answer *answer,
                      void *answer_data, sxt_error *error)
{
    const struct sxt_naming *naming = data;
    const struct sxt_naming_module *one = &naming->modules[module];
    return naming->source->ask(naming->source->data, one->path, one->build_id, addresses, count, answer, answer_data,
                               error);
}

static sxt_string path_of(void *data, uint32_t module)
{
    const struct sxt_naming *naming = data;
    return naming->modules[module].path;
}

/* A return address belongs to the call before it. */
static int look_up(struct sxt_naming *naming, sxt_trace_named *named, sxt_error *error)
{
    const struct sxt_places_source files = {
        .open = open_module,
        .ask = naming->source->ask != NULL ? ask_module : NULL,
        .path = path_of,
        .data = naming,
    };
    for (size_t i = 0; i < naming->entry_count; i++) {
        const struct sxt_naming_entry *entry = &naming->entries[i];
        if (!entry->is_invalid && entry->module != SXT_NO_MODULE &&
            !sxt_places_add(&naming->places, entry->module, entry->address - 1))
            return sxt_fail_memory(error, naming->entry_count * sizeof *naming->places.list);
    }
    sxt_places_sort(&naming->places);
    int status = sxt_places_look_up(&naming->places, &files, error);
    for (size_t i = 0; i < naming->entry_count && status == SXT_OK; i++) {
        const struct sxt_naming_entry *entry = &naming->entries[i];
        named->invalid += entry->is_invalid;
        named->addresses += !entry->is_invalid;
        if (entry->is_invalid)
            continue;
        const struct sxt_place *place = sxt_places_find(&naming->places, entry->module, entry->address - 1);
        bool is_named = place != NULL && place->count > 0;
        naming->place_of[entry->function_place] =
            is_named ? (uint32_t)(place - naming->places.list) : SXT_NAMING_NO_PLACE;
        named->named += is_named;
    }
    return status;
}

const struct sxt_place *sxt_naming_replacement(const struct sxt_naming *naming, const struct sxt_mlyze_frame *frame)
{
    const struct sxt_mlyze_metadata *metadata = naming->metadata;
    size_t place = sxt_mlyze_place(metadata->function_ids, metadata->function_count, frame->function);
    if (place == SIZE_MAX || naming->place_of[place] == SXT_NAMING_NO_PLACE)
        return NULL;
    return &naming->places.list[naming->place_of[place]];
}

/* Frames in folded code are of the function that is called in the frame after them. */
static int choose(struct sxt_naming *naming, sxt_error *error)
{
    const struct sxt_mlyze_metadata *metadata = naming->metadata;
    const struct sxt_mlyze_tree *tree = &metadata->tree;
    if (naming->places.alias_count == 0)
        return SXT_OK;
    naming->chosen = calloc(tree->count + 1, sizeof *naming->chosen);
    if (naming->chosen == NULL)
        return sxt_fail_memory(error, tree->count * sizeof *naming->chosen);
    for (size_t i = 0; i < tree->count; i++) {
        const struct sxt_mlyze_node *node = &tree->nodes[i];
        const struct sxt_place *place = sxt_naming_replacement(naming, &tree->frames[node->frame]);
        if (node->parent != SXT_MLYZE_NO_NODE && place != NULL && place->alias_count > 0)
            naming->chosen[i] = sxt_places_choose(
                &naming->places, place, sxt_naming_replacement(naming, sxt_mlyze_node_frame(metadata, node->parent)));
    }
    return SXT_OK;
}

/* --- ids --- */

static int open_table(struct sxt_naming_table *table, const sxt_string *before, const uint32_t *ids, size_t count,
                      struct sxt_strings *names, sxt_error *error)
{
    *table = (struct sxt_naming_table){.before = before, .before_ids = ids, .before_count = count, .names = names};
    table->is_used = calloc(count + 1, sizeof *table->is_used);
    table->is_gone = calloc(count + 1, sizeof *table->is_gone);
    table->ids = calloc((size_t)names->count + 1, sizeof *table->ids);
    table->is_new = calloc((size_t)names->count + 1, sizeof *table->is_new);
    if (table->is_used == NULL || table->is_gone == NULL || table->ids == NULL || table->is_new == NULL)
        return sxt_fail_memory(error, count * sizeof *table->is_used);
    return SXT_OK;
}

static size_t place_in(const struct sxt_naming_table *table, uint32_t id)
{
    return sxt_mlyze_place(table->before_ids, table->before_count, id);
}

/* Markers are named by functions. A trace that cannot be read to its end cannot be copied, and fails here already. */
static int use_markers(const struct sxt_mlyze *mlyze, struct sxt_naming_table *functions, sxt_error *error)
{
    sxt_trace_event events[BATCH];
    struct sxt_mlyze_cursor *cursor;
    size_t count;
    int status = sxt_mlyze_cursor_open(mlyze, &cursor, error);
    if (status != SXT_OK)
        return status;
    do {
        status = sxt_mlyze_read(cursor, events, BATCH, &count, error);
        for (size_t i = 0; status == SXT_OK && i < count; i++) {
            size_t place = events[i].kind == SXT_TRACE_MARKER ? place_in(functions, events[i].stack) : SIZE_MAX;
            if (place != SIZE_MAX)
                functions->is_used[place] = true;
        }
    } while (status == SXT_OK && count > 0);
    sxt_mlyze_cursor_close(&cursor);
    return status;
}

/* A name that already exists keeps its id. */
static int find_known(struct sxt_naming_table *table, sxt_error *error)
{
    struct sxt_strings known;
    size_t *place_of = malloc((table->before_count + 2) * sizeof *place_of);
    int status = sxt_strings_init(&known, 0, error);
    if (status == SXT_OK && place_of == NULL)
        status = sxt_fail_memory(error, table->before_count * sizeof *place_of);
    for (size_t place = 0; status == SXT_OK && place < table->before_count; place++) {
        sxt_string name = table->before[place];
        uint32_t next = known.count, number;
        if (name.data == NULL || name.size == 0 || table->is_gone[place])
            continue;
        number = sxt_strings_add(&known, name.data, name.size);
        if (number == SXT_STRINGS_FULL)
            status = sxt_fail_memory(error, name.size);
        else if (number == next)
            place_of[number] = place;
    }
    for (uint32_t i = 1; status == SXT_OK && i < table->names->count; i++) {
        sxt_string name = sxt_strings_get(table->names, i);
        uint32_t number = sxt_strings_find(&known, name.data, name.size);
        table->is_new[i] = number == SXT_STRINGS_FULL;
        if (table->is_new[i])
            continue;
        table->ids[i] = sxt_mlyze_id_at(table->before_ids, place_of[number]);
        table->is_used[place_of[number]] = true;
    }
    sxt_strings_free(&known);
    free(place_of);
    return status;
}

/* New names take ids that are free now, and then those after the last. False if there are none left. */
static bool give_ids(struct sxt_naming_table *table)
{
    size_t freed = 0, count = table->before_count;
    uint64_t next = count > 0 ? (uint64_t)sxt_mlyze_id_at(table->before_ids, count - 1) + 1 : 0;
    for (uint32_t i = 1; i < table->names->count; i++) {
        if (!table->is_new[i])
            continue;
        while (freed < count && !table->is_gone[freed])
            freed++;
        uint64_t id = freed < count ? sxt_mlyze_id_at(table->before_ids, freed++) : next++;
        if (id >= SXT_MLYZE_NO_ID)
            return false;
        table->ids[i] = (uint32_t)id;
    }
    return true;
}

static int assign_ids(struct sxt_naming *naming, const struct sxt_mlyze *mlyze, sxt_error *error)
{
    const struct sxt_mlyze_metadata *metadata = naming->metadata;
    struct sxt_naming_table *files = &naming->files, *functions = &naming->functions;
    int status =
        open_table(files, metadata->files, metadata->file_ids, metadata->file_count, &naming->places.files, error);
    if (status == SXT_OK)
        status = open_table(functions, metadata->functions, metadata->function_ids, metadata->function_count,
                            &naming->places.functions, error);
    if (status == SXT_OK)
        status = use_markers(mlyze, functions, error);
    if (status != SXT_OK)
        return status;
    for (size_t id = 0; id < functions->before_count; id++)
        functions->is_gone[id] = naming->place_of[id] != SXT_NAMING_NO_PLACE && !functions->is_used[id];
    status = find_known(functions, error);
    if (status == SXT_OK)
        status = find_known(files, error);
    if (status != SXT_OK)
        return status;
    for (size_t i = 0; i < metadata->tree.frame_count; i++) {
        const struct sxt_mlyze_frame *frame = &metadata->tree.frames[i];
        size_t place = place_in(files, frame->file);
        if (place != SIZE_MAX && sxt_naming_replacement(naming, frame) == NULL)
            files->is_used[place] = true;
    }
    for (size_t i = 0; i < metadata->tree.frame_count; i++) {
        size_t place = place_in(files, metadata->tree.frames[i].file);
        if (place != SIZE_MAX && !files->is_used[place])
            files->is_gone[place] = true;
    }
    if (!give_ids(files) || !give_ids(functions))
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "metadata: no ids are left for new names");
    return SXT_OK;
}
