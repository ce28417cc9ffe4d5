/*
 * metadata_text.c: the JSON of metadata from its tables.
 *
 * Metadata that is stored as tables has a text in which the three objects that became tables are empty. Filled in, in
 * the way that sextant and Python write JSON, they make the text that the tables are from.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "mlyze/private.h"

#define FLUSH ((size_t)64 << 10)

struct text_maker {
    const struct sxt_mlyze_metadata *metadata;
    struct sxt_json_writer json;
    struct sxt_buffer *out;
    bool (*take)(void *data, struct sxt_buffer *text); /* NULL: everything stays in `out` */
    void *data;
    bool has_stopped;
};

static void flush(struct text_maker *maker, size_t least)
{
    if (maker->take == NULL || maker->has_stopped || maker->out->size < least)
        return;
    maker->has_stopped = maker->out->failed || !maker->take(maker->data, maker->out);
    sxt_buffer_clear(maker->out);
}

static void put_frame(struct sxt_json_writer *json, const struct sxt_mlyze_frame *frame)
{
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_number(json, "file_id", frame->file);
    sxt_json_write_number(json, "line", frame->line);
    sxt_json_write_number(json, "func_id", frame->function);
    sxt_json_write_end(json, '}');
}

/* The tree begins with the last frame of the text, unless it was turned. */
static void put_frames(struct text_maker *maker, const struct sxt_mlyze_stack *stack, struct sxt_mlyze_path *path)
{
    const struct sxt_mlyze_metadata *metadata = maker->metadata;
    if (stack->count == 0)
        return;
    if (!metadata->is_root_first) {
        for (uint32_t node = stack->node; node != SXT_MLYZE_NO_NODE; node = sxt_mlyze_node_at(metadata, node)->parent)
            put_frame(&maker->json, sxt_mlyze_node_frame(metadata, node));
        return;
    }
    if (!sxt_mlyze_find_path(metadata, stack, path)) {
        maker->out->failed = maker->out->memory_was_short = true;
        return;
    }
    for (uint32_t i = path->count; i > 0; i--)
        put_frame(&maker->json, sxt_mlyze_node_frame(metadata, path->nodes[i - 1]));
}

static void put_stacks(struct text_maker *maker)
{
    const struct sxt_mlyze_metadata *metadata = maker->metadata;
    struct sxt_mlyze_path path = {0};
    for (size_t i = 0; i < metadata->stack_count && !maker->has_stopped; i++) {
        if (!metadata->stacks[i].exists)
            continue;
        sxt_json_write_key_number(&maker->json, sxt_mlyze_id_at(metadata->stack_ids, i));
        sxt_json_write_begin(&maker->json, NULL, '[');
        put_frames(maker, &metadata->stacks[i], &path);
        sxt_json_write_end(&maker->json, ']');
        flush(maker, FLUSH);
    }
    sxt_mlyze_path_free(&path);
}

static void put_strings(struct text_maker *maker, const sxt_string *list, const uint32_t *ids, size_t count)
{
    for (size_t i = 0; i < count && !maker->has_stopped; i++) {
        if (list[i].data == NULL)
            continue;
        sxt_json_write_key_number(&maker->json, sxt_mlyze_id_at(ids, i));
        sxt_json_write_string(&maker->json, NULL, list[i]);
        flush(maker, FLUSH);
    }
}

static void put_table(struct text_maker *maker, size_t which)
{
    const struct sxt_mlyze_metadata *metadata = maker->metadata;
    maker->json = sxt_json_writer_make(maker->out, SXT_JSON_SPACED);
    maker->json.escapes = SXT_JSON_ESCAPES_NUMBERS;
    sxt_json_write_begin(&maker->json, NULL, '{');
    if (which == SXT_MLYZE_STACKS)
        put_stacks(maker);
    else if (which == SXT_MLYZE_FILES)
        put_strings(maker, metadata->files, metadata->file_ids, metadata->file_count);
    else
        put_strings(maker, metadata->functions, metadata->function_ids, metadata->function_count);
    sxt_json_write_end(&maker->json, '}');
}

/* The tables in the order of the text. Those that it does not have come last. */
static void order_tables(const struct sxt_mlyze_span spans[SXT_MLYZE_TABLES], size_t order[SXT_MLYZE_TABLES])
{
    for (size_t i = 0; i < SXT_MLYZE_TABLES; i++) {
        size_t at = i;
        for (; at > 0 && spans[order[at - 1]].start > spans[i].start; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static bool make_text(struct text_maker *maker, sxt_string rest, const struct sxt_mlyze_span spans[SXT_MLYZE_TABLES])
{
    size_t order[SXT_MLYZE_TABLES], done = 0;
    order_tables(spans, order);
    for (size_t i = 0; i < SXT_MLYZE_TABLES; i++) {
        const struct sxt_mlyze_span *span = &spans[order[i]];
        if (span->end == 0)
            continue;
        sxt_buffer_append(maker->out, rest.data + done, span->start - done);
        put_table(maker, order[i]);
        done = span->end;
    }
    sxt_buffer_append(maker->out, rest.data + done, rest.size - done);
    flush(maker, 0);
    return !maker->has_stopped && !maker->out->failed;
}

int sxt_mlyze_text_make(const struct sxt_mlyze_metadata *metadata, sxt_string rest, struct sxt_buffer *out,
                        sxt_error *error)
{
    struct text_maker maker = {.metadata = metadata, .out = out};
    (void)make_text(&maker, rest, metadata->spans);
    return sxt_buffer_status(out, error);
}

/* --- whether the text can be made again --- */

struct comparison {
    sxt_string text;
    size_t done;
};

static bool compare(void *data, struct sxt_buffer *text)
{
    struct comparison *comparison = data;
    if (text->size == 0)
        return true;
    if (text->size > comparison->text.size - comparison->done ||
        memcmp(comparison->text.data + comparison->done, text->data, text->size) != 0)
        return false;
    comparison->done += text->size;
    return true;
}

bool sxt_mlyze_text_cut(const struct sxt_mlyze_metadata *metadata, sxt_string text, struct sxt_buffer *rest)
{
    struct comparison comparison = {.text = text};
    struct sxt_buffer room;
    struct text_maker maker = {.metadata = metadata, .out = &room, .take = compare, .data = &comparison};
    sxt_buffer_init(&room, SIZE_MAX / 2);
    bool is_same = make_text(&maker, text, metadata->spans) && comparison.done == text.size;
    sxt_buffer_free(&room);
    if (!is_same)
        return false;
    size_t order[SXT_MLYZE_TABLES], done = 0;
    order_tables(metadata->spans, order);
    for (size_t i = 0; i < SXT_MLYZE_TABLES; i++) {
        const struct sxt_mlyze_span *span = &metadata->spans[order[i]];
        if (span->end == 0)
            continue;
        sxt_buffer_append(rest, text.data + done, span->start - done);
        sxt_buffer_append(rest, "{}", 2);
        done = span->end;
    }
    sxt_buffer_append(rest, text.data + done, text.size - done);
    return !rest->failed;
}
