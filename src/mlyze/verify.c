/*
 * verify.c: the seven rules of the specification, and what blocks add to them.
 *
 *     1 magic   2 version   3 metadata   4 references   5 types of events   6 varints   7 the size of the file
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/problems.h"
#include "base/string.h"
#include "mlyze/private.h"

#define BATCH 256

/* The first of several of a kind, and how many there are. */
struct several {
    uint64_t count;
    uint64_t offset;
    uint64_t id;
};

struct checking {
    struct sxt_problems problems;
    const struct sxt_mlyze *trace;
    const struct sxt_mlyze_metadata *metadata;
    struct several stacks, markers, types;
};

static void note(struct several *several, uint64_t offset, uint64_t id)
{
    if (several->count++ == 0)
        *several = (struct several){.count = 1, .offset = offset, .id = id};
}

static bool has_stack(const struct sxt_mlyze_metadata *metadata, uint32_t id)
{
    return sxt_mlyze_find_stack(metadata, id) != NULL;
}

static bool has_function(const struct sxt_mlyze_metadata *metadata, uint32_t id)
{
    return sxt_mlyze_find_function(metadata, id).data != NULL;
}

void sxt_mlyze_count_oddities(const struct sxt_mlyze_metadata *metadata, const sxt_trace_event *events, size_t count,
                              sxt_trace_oddities *oddities)
{
    for (size_t i = 0; i < count; i++) {
        const sxt_trace_event *event = &events[i];
        if (event->kind == SXT_TRACE_ALLOC) {
            oddities->dangling_stacks += !has_stack(metadata, event->stack);
            oddities->zero_addresses += event->address == 0;
        } else if (event->kind == SXT_TRACE_FREE) {
            oddities->zero_addresses += event->address == 0;
        } else if (event->kind == SXT_TRACE_MARKER) {
            oddities->dangling_names += !has_function(metadata, event->stack);
        } else if (event->kind == SXT_TRACE_OTHER) {
            oddities->unknown_types += event->type > SXT_MLYZE_TYPE_LAST;
        }
    }
}

static bool is_odd(const struct sxt_mlyze_metadata *metadata, const sxt_trace_event *events, size_t count)
{
    sxt_trace_oddities oddities = {0};
    sxt_mlyze_count_oddities(metadata, events, count, &oddities);
    return (oddities.dangling_stacks | oddities.dangling_names | oddities.unknown_types) != 0;
}

/* --- rules 4 and 5 --- */

static void check_event(struct checking *checking, const sxt_trace_event *event, uint64_t offset)
{
    const struct sxt_mlyze_metadata *metadata = checking->metadata;
    if (event->kind == SXT_TRACE_ALLOC && !has_stack(metadata, event->stack))
        note(&checking->stacks, offset, event->stack);
    else if (event->kind == SXT_TRACE_MARKER && !has_function(metadata, event->stack))
        note(&checking->markers, offset, event->stack);
    else if (event->kind == SXT_TRACE_OTHER && event->type > SXT_MLYZE_TYPE_LAST)
        note(&checking->types, offset, event->type);
}

/* Reads events of a plain file again, one by one, to find the offset of each. */
static void check_plain(struct checking *checking, uint64_t offset, uint64_t time, size_t count)
{
    sxt_string all = sxt_mlyze_bytes(checking->trace);
    const uint8_t *data = (const uint8_t *)all.data;
    struct sxt_mlyze_stream stream = {.next = data + offset, .end = data + all.size, .time = time};
    sxt_trace_event event;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)(stream.next - data);
        if (sxt_mlyze_decode(&stream, &event, 1) == 1)
            check_event(checking, &event, at);
    }
}

static const char *events_of(const struct several *several)
{
    return several->count == 1 ? "event" : "events";
}

static void report_several(struct checking *checking)
{
    const struct several *stacks = &checking->stacks, *markers = &checking->markers, *types = &checking->types;
    struct sxt_problems *problems = &checking->problems;
    if (stacks->count > 0)
        sxt_problems_add(problems, stacks->offset, "stack-reference",
                         "stack %llu is not in the metadata (%llu such %s)", (unsigned long long)stacks->id,
                         (unsigned long long)stacks->count, events_of(stacks));
    if (markers->count > 0)
        sxt_problems_add(problems, markers->offset, "name-reference",
                         "function %llu, the name of a marker, is not in the metadata (%llu such %s)",
                         (unsigned long long)markers->id, (unsigned long long)markers->count, events_of(markers));
    if (types->count > 0)
        sxt_problems_add_note(problems, types->offset, "event-type", "an event of unknown type %llu (%llu such %s)",
                              (unsigned long long)types->id, (unsigned long long)types->count, events_of(types));
}

/* A frame with an id that is not in the metadata: of which stack, and where in it. */
struct missing {
    struct several frames; /* the first one, and how many */
    uint32_t stack;
    size_t index; /* as in the text */
};

/* Compressed metadata has only one offset. */
static uint64_t offset_of_frame(const struct sxt_mlyze *trace, const struct missing *missing)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(trace);
    if ((header->flags & (SXT_MLYZE_METADATA_LZ4 | SXT_MLYZE_METADATA_TABLES)) != 0)
        return header->metadata_offset;
    sxt_string text = sxt_mlyze_metadata_text(trace);
    return header->metadata_offset + sxt_mlyze_frame_position(text.data, text.size, missing->stack, missing->index);
}

/* The id of a frame that is not in the metadata; SXT_MLYZE_NO_ID if it is. */
static uint32_t missing_id(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_frame *frame, bool is_file)
{
    uint32_t id = is_file ? frame->file : frame->function;
    bool is_there = id == SXT_MLYZE_NO_ID ||
                    (is_file ? sxt_mlyze_find_file(metadata, id).data != NULL : has_function(metadata, id));
    return is_there ? SXT_MLYZE_NO_ID : id;
}

/* The first frame in the order of the text. */
static void note_first(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_stack *stack, bool is_file,
                       struct missing *missing)
{
    uint32_t node = stack->node;
    for (size_t i = 0; node != SXT_MLYZE_NO_NODE; i++, node = sxt_mlyze_node_at(metadata, node)->parent) {
        uint32_t id = missing_id(metadata, sxt_mlyze_node_frame(metadata, node), is_file);
        if (id == SXT_MLYZE_NO_ID)
            continue;
        missing->frames.id = id;
        missing->index = metadata->is_root_first ? stack->count - 1 - i : i;
        if (!metadata->is_root_first)
            return;
    }
}

/* Counts frames of all stacks: a node has as many as its stack has from it on outwards. False if memory is short. */
static bool count_missing(const struct sxt_mlyze_metadata *metadata, bool is_file, struct missing *missing)
{
    uint32_t *outwards = calloc(metadata->tree.count + 1, sizeof *outwards);
    for (size_t i = 0; outwards != NULL && i < metadata->tree.count; i++) {
        const struct sxt_mlyze_node *node = sxt_mlyze_node_at(metadata, (uint32_t)i);
        outwards[i] = (node->parent != SXT_MLYZE_NO_NODE ? outwards[node->parent] : 0) +
                      (missing_id(metadata, sxt_mlyze_node_frame(metadata, (uint32_t)i), is_file) != SXT_MLYZE_NO_ID);
    }
    for (size_t i = 0; outwards != NULL && i < metadata->stack_count; i++) {
        const struct sxt_mlyze_stack *stack = &metadata->stacks[i];
        if (stack->count == 0 || outwards[stack->node] == 0)
            continue;
        if (missing->frames.count == 0) {
            missing->stack = sxt_mlyze_id_at(metadata->stack_ids, i);
            note_first(metadata, stack, is_file, missing);
        }
        missing->frames.count += outwards[stack->node];
    }
    free(outwards);
    return outwards != NULL;
}

static void check_frames(struct checking *checking)
{
    static const struct {
        const char *rule, *what;
    } kinds[] = {{"file-reference", "file"}, {"function-reference", "function"}};
    for (size_t i = 0; i < 2; i++) {
        struct missing missing = {0};
        if (count_missing(checking->metadata, i == 0, &missing) && missing.frames.count > 0)
            sxt_problems_add(&checking->problems, offset_of_frame(checking->trace, &missing), kinds[i].rule,
                             "%s %llu is not in the metadata (%llu such frames)", kinds[i].what,
                             (unsigned long long)missing.frames.id, (unsigned long long)missing.frames.count);
    }
}

/* --- rules 5, 6 and 7 --- */

static const char *rule_of(const sxt_error *error, bool has_blocks)
{
    if (has_blocks)
        return "block";
    if (strstr(error->text, "unknown type") != NULL)
        return "event-type";
    if (strstr(error->text, "number") != NULL)
        return "varint";
    return strstr(error->text, "time") != NULL ? "time" : "truncated";
}

static void check_counts(struct checking *checking, uint64_t events)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(checking->trace);
    if (header->event_count != 0 && header->event_count != events)
        sxt_problems_add(&checking->problems, SXT_MLYZE_AT_EVENT_COUNT, "event-count",
                         "the header says %llu events, the file has %llu", (unsigned long long)header->event_count,
                         (unsigned long long)events);
}

/* What is wrong where a part of the file cannot be read, and what that costs. */
static void report_loss(struct checking *checking, const char *rule, const sxt_error *error,
                        const struct sxt_mlyze_loss *loss)
{
    const char *end = strstr(error->text, " (offset 0x");
    int size = (int)(end != NULL ? (size_t)(end - error->text) : strlen(error->text));
    if (loss->blocks == 0 || loss->events == SXT_MLYZE_NOT_KNOWN)
        sxt_problems_add_error(&checking->problems, rule, error);
    else
        sxt_problems_add(&checking->problems, error->offset, rule, "%.*s: block %llu%s, %llu %s lost", size,
                         error->text, (unsigned long long)loss->block, loss->blocks > 1 ? " and others" : "",
                         (unsigned long long)loss->events, loss->events == 1 ? "event" : "events");
}

/* What the checksums of a plain file say. */
static void check_sums(struct checking *checking)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(checking->trace);
    struct sxt_mlyze_part part;
    sxt_error error;
    if (header->is_header_wrong)
        sxt_problems_add(&checking->problems, 0, "checksum", "the checksum of the header is wrong");
    if (header->is_metadata_wrong)
        sxt_problems_add(&checking->problems, header->metadata_offset, "checksum",
                         "the checksum of the metadata is wrong");
    for (uint32_t i = 0; sxt_mlyze_check_part(checking->trace, i, &part); i++) {
        if (part.is_right)
            continue;
        (void)sxt_mlyze_fail_part(&part, &error);
        sxt_problems_add_error(&checking->problems, "checksum", &error);
    }
}

static void check_events(struct checking *checking)
{
    sxt_trace_event events[BATCH];
    struct sxt_mlyze_cursor *cursor;
    sxt_error error;
    bool has_blocks = (sxt_mlyze_header(checking->trace)->flags & SXT_MLYZE_BLOCKS) != 0;
    if (sxt_mlyze_cursor_open(checking->trace, &cursor, &error) != SXT_OK) {
        sxt_problems_add_error(&checking->problems, "reserved", &error);
        return;
    }
    uint64_t time = sxt_mlyze_header(checking->trace)->start_us, seen = 0;
    for (;;) {
        size_t count;
        uint64_t offset = sxt_mlyze_offset(cursor);
        if (sxt_mlyze_read(cursor, events, BATCH, &count, &error) != SXT_OK) {
            struct sxt_mlyze_loss loss;
            bool goes_on = sxt_mlyze_skip_damage(cursor, &loss);
            report_loss(checking, rule_of(&error, has_blocks), &error, &loss);
            if (!goes_on)
                break;
            continue;
        }
        if (count == 0)
            break;
        if (is_odd(checking->metadata, events, count)) {
            if (!has_blocks)
                check_plain(checking, offset, time, count);
            for (size_t i = 0; has_blocks && i < count; i++)
                check_event(checking, &events[i], sxt_mlyze_offset(cursor));
        }
        time = events[count - 1].time;
        seen += count;
    }
    sxt_mlyze_cursor_close(&cursor);
    if (checking->problems.count == 0)
        check_counts(checking, seen);
    report_several(checking);
}

/* --- rules 1, 2 and 3 --- */

static const char *rule_of_opening(const uint8_t *data, size_t size, const sxt_error *error)
{
    if (!sxt_mlyze_is(data, size))
        return "magic";
    if (size < SXT_MLYZE_HEADER_SIZE)
        return "truncated";
    if (sxt_load_u32le(data + 4) == 0)
        return "version";
    if (strstr(error->text, "recording") != NULL)
        return "unclean";
    if (strstr(error->text, "checksum") != NULL)
        return "checksum";
    if (strstr(error->text, "ends before") != NULL)
        return "truncated";
    return strstr(error->text, "metadata: ") != NULL ? "metadata" : "header";
}

/* Another order is read as leaf first. */
static void check_stack_order(struct checking *checking)
{
    const struct sxt_json *order = sxt_json_member(checking->metadata->root, "stack_order");
    bool is_known = order == NULL || (order->type == SXT_JSON_STRING && (sxt_string_is(order->string, "leaf_first") ||
                                                                         sxt_string_is(order->string, "root_first")));
    if (!is_known)
        sxt_problems_add_note(&checking->problems, sxt_mlyze_header(checking->trace)->metadata_offset, "metadata",
                              "'stack_order' is neither 'leaf_first' nor 'root_first'; stacks are read as leaf first");
}

uint64_t sxt_mlyze_verify(const uint8_t *data, size_t size, void (*problem)(void *data, const sxt_problem *problem),
                          void *data_of_problem)
{
    struct checking checking = {.problems = {.found = problem, .context = data_of_problem}};
    struct sxt_mlyze *trace;
    sxt_error error;
    if (sxt_mlyze_open(data, size, &trace, &error) != SXT_OK) {
        sxt_problems_add_error(&checking.problems, rule_of_opening(data, size, &error), &error);
        return checking.problems.count;
    }
    checking.trace = trace;
    checking.metadata = sxt_mlyze_metadata(trace);
    if (sxt_mlyze_header(trace)->version > SXT_MLYZE_VERSION)
        sxt_problems_add_note(&checking.problems, SXT_MLYZE_AT_VERSION, "version",
                              "version %u is newer than version %u; only what that has is checked",
                              sxt_mlyze_header(trace)->version, SXT_MLYZE_VERSION);
    if (sxt_mlyze_header(trace)->metadata_size == 0)
        sxt_problems_add(&checking.problems, 16, "metadata", "no metadata, not even an empty object");
    check_stack_order(&checking);
    check_frames(&checking);
    check_sums(&checking);
    check_events(&checking);
    sxt_mlyze_close(&trace);
    return checking.problems.count;
}
