/* names_write.c: the metadata of a trace with new names, as JSON. What has not changed is copied as text. */
#include "base/json_writer.h"
#include "base/string.h"
#include "trace/names.h"

/* The frames of a place, without the first SKIPPED. CHOSEN: see sxt_places_frame. */
static void put_chain(const struct sxt_naming *naming, const struct sxt_place *place, uint32_t chosen, size_t skipped,
                      struct sxt_json_writer *json)
{
    size_t operators, count = sxt_places_frame_count(&naming->places, place, chosen, &operators);
    for (size_t i = skipped; i < count; i++) {
        size_t from_leaf = naming->metadata->is_root_first ? count - 1 - i : i;
        struct sxt_place_frame frame = sxt_places_frame(&naming->places, place, chosen, from_leaf);
        sxt_places_write_frame(json, naming->files.ids[frame.file], frame.line, naming->functions.ids[frame.function]);
    }
}

/* The folded function that the frame of NODE is of; 0 if it is not in folded code, or if that is unknown. */
static uint32_t chosen_for(const struct sxt_naming *naming, uint32_t node)
{
    return naming->chosen != NULL ? naming->chosen[node] : 0;
}

/* The number of frames that replace the frame of NODE, and how many of the first ones are operator new. */
static size_t count_frames(const struct sxt_naming *naming, uint32_t node, size_t *operators)
{
    const struct sxt_mlyze_metadata *metadata = naming->metadata;
    const struct sxt_mlyze_frame *frame = sxt_mlyze_node_frame(metadata, node);
    const struct sxt_place *place = sxt_naming_replacement(naming, frame);
    if (place != NULL)
        return sxt_places_frame_count(&naming->places, place, chosen_for(naming, node), operators);
    *operators = sxt_is_no_site(sxt_mlyze_find_function(metadata, frame->function));
    return 1;
}

/* The number of frames to leave out of a stack: those that are operator new, if the stack has others after them. */
static size_t count_skipped(const struct sxt_naming *naming, const struct sxt_mlyze_path *path)
{
    size_t skipped = 0, operators;
    /* In a stack that begins with the root, they come last; only recordings of other programs have such stacks. */
    if (naming->metadata->is_root_first)
        return 0;
    for (uint32_t i = 0; i < path->count; i++) {
        size_t count = count_frames(naming, path->nodes[i], &operators);
        skipped += operators;
        if (operators < count)
            return skipped;
    }
    return 0;
}

/* The frames of the stack that READER is in, and that PATH is of. */
static void put_frames(const struct sxt_naming *naming, struct sxt_json_reader *reader,
                       const struct sxt_mlyze_path *path, struct sxt_json_writer *json)
{
    size_t skipped = count_skipped(naming, path);
    sxt_string text;
    for (uint32_t i = 0; sxt_naming_has_more(reader, ']') && sxt_json_read_skip(reader, &text) == SXT_OK; i++) {
        if (i >= path->count)
            continue;
        uint32_t node = path->nodes[naming->metadata->is_root_first ? path->count - 1 - i : i];
        size_t operators, count = count_frames(naming, node, &operators);
        size_t left_out = skipped < count ? skipped : count;
        skipped -= left_out;
        const struct sxt_place *place = sxt_naming_replacement(naming, sxt_mlyze_node_frame(naming->metadata, node));
        if (place != NULL)
            put_chain(naming, place, chosen_for(naming, node), left_out, json);
        else if (left_out == 0)
            sxt_json_write_text(json, NULL, text);
    }
}

/* False if memory is short. */
static bool put_stacks(const struct sxt_naming *naming, struct sxt_json_reader *reader, struct sxt_json_writer *json)
{
    sxt_string key, quoted;
    struct sxt_mlyze_path path = {0};
    bool is_good = true;
    sxt_json_read_begin(reader, '{', "stack_traces");
    while (is_good && sxt_naming_has_more(reader, '}') && sxt_json_read_key(reader, &key, &quoted) == SXT_OK &&
           sxt_json_read_begin(reader, '[', "a stack") == SXT_OK) {
        uint32_t id;
        const struct sxt_mlyze_stack *stack =
            sxt_mlyze_parse_id(key, &id) ? sxt_mlyze_find_stack(naming->metadata, id) : NULL;
        is_good = stack != NULL && sxt_mlyze_find_path(naming->metadata, stack, &path);
        if (!is_good)
            break;
        sxt_json_write_key_text(json, quoted);
        sxt_json_write_begin(json, NULL, '[');
        put_frames(naming, reader, &path, json);
        sxt_json_write_end(json, ']');
    }
    sxt_mlyze_path_free(&path);
    return is_good;
}

/* The entries that stay; READER is NULL if the metadata has none. */
static void put_table(const struct sxt_naming_table *table, struct sxt_json_reader *reader,
                      struct sxt_json_writer *json)
{
    sxt_string key, quoted, value;
    if (reader != NULL)
        sxt_json_read_begin(reader, '{', "a table");
    while (reader != NULL && sxt_naming_has_more(reader, '}') && sxt_json_read_key(reader, &key, &quoted) == SXT_OK &&
           sxt_json_read_skip(reader, &value) == SXT_OK) {
        uint32_t id;
        size_t place =
            sxt_naming_parse_id(key, &id) ? sxt_mlyze_place(table->before_ids, table->before_count, id) : SIZE_MAX;
        if (place != SIZE_MAX && table->is_gone[place])
            continue;
        sxt_json_write_key_text(json, quoted);
        sxt_json_write_text(json, NULL, value);
    }
    for (uint32_t i = 1; i < table->names->count; i++) {
        if (!table->is_new[i])
            continue;
        sxt_json_write_key_number(json, table->ids[i]);
        sxt_json_write_string(json, NULL, sxt_strings_get(table->names, i));
    }
}

static bool stays_unresolved(const struct sxt_naming *naming, size_t entry)
{
    return entry < naming->entry_count && !naming->entries[entry].is_invalid &&
           naming->place_of[naming->entries[entry].function_place] == SXT_NAMING_NO_PLACE;
}

/* Writes nothing if no entry is left. Invalid entries are dropped, because their ids may get another meaning. */
static void put_unresolved(const struct sxt_naming *naming, sxt_string name, struct sxt_json_reader *reader,
                           struct sxt_json_writer *json)
{
    sxt_string key, quoted, value;
    bool has_any = false;
    if (sxt_json_read_peek(reader) != '{') {
        sxt_json_read_skip(reader, NULL);
        return;
    }
    sxt_json_read_begin(reader, '{', "unresolved");
    for (size_t i = 0; sxt_naming_has_more(reader, '}') && sxt_json_read_key(reader, &key, &quoted) == SXT_OK &&
                       sxt_json_read_skip(reader, &value) == SXT_OK;
         i++) {
        if (!stays_unresolved(naming, i))
            continue;
        if (!has_any) {
            sxt_json_write_key_text(json, name);
            sxt_json_write_begin(json, NULL, '{');
        }
        has_any = true;
        sxt_json_write_key_text(json, quoted);
        sxt_json_write_text(json, NULL, value);
    }
    if (has_any)
        sxt_json_write_end(json, '}');
}

/* Functions that are gone leave their ids to others. */
static void put_function_modules(const struct sxt_naming *naming, struct sxt_json_writer *json)
{
    const struct sxt_json *text = sxt_json_member(naming->metadata->root, "function_modules");
    const struct sxt_naming_table *table = &naming->functions;
    struct sxt_function_modules before = {0}, kept = {0};
    if (text == NULL || text->type != SXT_JSON_STRING)
        return;
    sxt_function_modules_read(&before, text->string, naming->metadata->function_count);
    for (size_t i = 0; i < table->before_count; i++) {
        uint32_t id = sxt_mlyze_id_at(table->before_ids, i), module = sxt_function_modules_find(&before, id);
        if (module != SXT_FUNCTION_NO_MODULE && !table->is_gone[i])
            sxt_function_modules_add(&kept, id, module);
    }
    sxt_places_write_modules(&naming->places, table->ids, &kept, json);
    sxt_function_modules_free(&before);
    sxt_function_modules_free(&kept);
}

static void write_members(const struct sxt_naming *naming, struct sxt_json_reader *reader, struct sxt_json_writer *json)
{
    const struct sxt_naming_table *tables[] = {&naming->files, &naming->functions};
    static const char *const names[] = {"files", "functions"};
    sxt_string key, quoted, value;
    bool is_done[2] = {false, false};
    while (sxt_naming_has_more(reader, '}') && sxt_json_read_key(reader, &key, &quoted) == SXT_OK) {
        int which = sxt_string_is(key, names[0]) ? 0 : sxt_string_is(key, names[1]) ? 1 : -1;
        if (sxt_string_is(key, "unresolved")) {
            put_unresolved(naming, quoted, reader, json);
        } else if (sxt_string_is(key, "function_modules")) {
            sxt_json_read_skip(reader, NULL);
            put_function_modules(naming, json);
        } else if (which >= 0 || sxt_string_is(key, "stack_traces")) {
            sxt_json_write_key_text(json, quoted);
            sxt_json_write_begin(json, NULL, '{');
            if (which >= 0)
                put_table(tables[which], reader, json);
            else if (!put_stacks(naming, reader, json))
                json->out->failed = json->out->memory_was_short = true;
            sxt_json_write_end(json, '}');
            if (which >= 0)
                is_done[which] = true;
        } else if (sxt_json_read_skip(reader, &value) == SXT_OK) {
            sxt_json_write_key_text(json, quoted);
            sxt_json_write_text(json, NULL, value);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (is_done[i])
            continue;
        sxt_json_write_begin(json, names[i], '{');
        put_table(tables[i], NULL, json);
        sxt_json_write_end(json, '}');
    }
}

/* The text was read before, so it is well-formed, unless it is empty; the result is checked by the caller. */
void sxt_naming_write(const struct sxt_naming *naming, sxt_string text, struct sxt_buffer *out)
{
    struct sxt_arena arena;
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_SPACED);
    json.escapes = SXT_JSON_ESCAPES_NUMBERS;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    struct sxt_json_reader reader = sxt_naming_open_text(text, &arena);
    sxt_json_write_begin(&json, NULL, '{');
    write_members(naming, &reader, &json);
    sxt_json_write_end(&json, '}');
    if (sxt_mlyze_has_sums(text))
        sxt_mlyze_mark_sums((char *)out->data, out->size);
    sxt_arena_free(&arena);
}
