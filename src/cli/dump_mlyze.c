/* dump_mlyze.c: a heap trace, one stack and one event a line behind the header; and what info says of one. */
#include <stdio.h>

#include "archive/archive.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "mlyze/mlyze.h"
#include "profile/profile.h"
#include "trace/trace.h"

#define BATCH 256

typedef unsigned long long number;

static const char *codec_name(const struct sxt_mlyze_header *header)
{
    if ((header->flags & SXT_MLYZE_BLOCKS) == 0)
        return "plain";
    return header->codec == SXT_MLYZE_COLUMNS ? "columns" : "lz4";
}

static void dump_header(const struct sxt_mlyze *mlyze, struct sxt_emit *emit)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(mlyze);
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_object(emit, "header");
        sxt_emit_number(emit, "version", header->version);
        sxt_emit_number(emit, "start_us", header->start_us);
        sxt_emit_number(emit, "metadata_size", header->metadata_size);
        sxt_emit_number(emit, "flags", header->flags);
        sxt_emit_cstring(emit, "codec", codec_name(header));
        sxt_emit_number(emit, "sample_period", header->period);
        sxt_emit_number(emit, "dropped", header->dropped);
        sxt_emit_object_end(emit);
    }
    sxt_emit_text(emit, "# version %u start %llu metadata %u %s\n", header->version, (number)header->start_us,
                  header->metadata_size, codec_name(header));
    sxt_emit_record_end(emit);
}

/* What has no id has no name; an id that leads nowhere is one. */
static void dump_frame(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_frame *frame, bool first,
                       struct sxt_emit *emit)
{
    char file_room[24], function_room[24];
    sxt_string file = {NULL, 0}, function = {NULL, 0};
    if (frame->file != SXT_MLYZE_NO_ID)
        file = sxt_mlyze_file(metadata, frame->file, file_room);
    if (frame->function != SXT_MLYZE_NO_ID)
        function = sxt_mlyze_function(metadata, frame->function, function_room);
    sxt_emit_object(emit, NULL);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_string(emit, "file", file);
        sxt_emit_number(emit, "line", frame->line);
        sxt_emit_string(emit, "function", function);
    }
    sxt_emit_text(emit, first ? " " : " < ");
    sxt_emit_name(emit, function.size > 0 ? function : (sxt_string){"?", 1});
    if (file.data != NULL) {
        sxt_emit_text(emit, " ");
        sxt_emit_name(emit, file);
        sxt_emit_text(emit, ":%u", frame->line);
    }
    sxt_emit_object_end(emit);
}

static void dump_stack(const struct sxt_mlyze_metadata *metadata, size_t id, struct sxt_emit *emit)
{
    const struct sxt_mlyze_stack *stack = &metadata->stacks[id];
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_number(emit, "stack", id);
        sxt_emit_array(emit, "frames");
    }
    sxt_emit_text(emit, "stack %zu", id);
    for (uint32_t i = 0; i < stack->count; i++)
        dump_frame(metadata, &stack->frames[i], i == 0, emit);
    if (sxt_emit_is_json(emit))
        sxt_emit_array_end(emit);
    sxt_emit_text(emit, "\n");
    sxt_emit_record_end(emit);
}

static sxt_string marker_name(const struct sxt_mlyze_metadata *metadata, uint32_t id, char room[24])
{
    if (id < metadata->function_count && metadata->functions[id].data != NULL)
        return metadata->functions[id];
    return (sxt_string){room, (size_t)snprintf(room, 24, "marker_%u", id)};
}

static void dump_json(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_event *event,
                      struct sxt_emit *emit)
{
    static const char *const names[] = {"alloc", "free", "gc", "marker", "other"};
    char room[24];
    sxt_emit_cstring(emit, "event", names[event->kind]);
    sxt_emit_number(emit, "time_us", event->time);
    switch (event->kind) {
    case SXT_MLYZE_ALLOC:
        sxt_emit_address(emit, "address", event->address);
        sxt_emit_number(emit, "size", event->size);
        sxt_emit_number(emit, "stack", event->stack);
        sxt_emit_number(emit, "thread", event->thread);
        break;
    case SXT_MLYZE_FREE:
        sxt_emit_address(emit, "address", event->address);
        break;
    case SXT_MLYZE_GC:
        sxt_emit_number(emit, "objects", event->objects);
        sxt_emit_number(emit, "bytes", event->size);
        break;
    case SXT_MLYZE_MARKER:
        sxt_emit_string(emit, "name", marker_name(metadata, event->stack, room));
        break;
    default:
        sxt_emit_number(emit, "type", event->type);
        sxt_emit_number(emit, "size", event->size);
    }
}

static void dump_text(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_event *event,
                      struct sxt_emit *emit)
{
    char room[24];
    switch (event->kind) {
    case SXT_MLYZE_ALLOC:
        sxt_emit_text(emit, "%llu alloc 0x%llx %llu stack %u thread %u\n", (number)event->time, (number)event->address,
                      (number)event->size, event->stack, event->thread);
        break;
    case SXT_MLYZE_FREE:
        sxt_emit_text(emit, "%llu free 0x%llx\n", (number)event->time, (number)event->address);
        break;
    case SXT_MLYZE_GC:
        sxt_emit_text(emit, "%llu gc %llu objects %llu bytes\n", (number)event->time, (number)event->objects,
                      (number)event->size);
        break;
    case SXT_MLYZE_MARKER:
        sxt_emit_text(emit, "%llu marker ", (number)event->time);
        sxt_emit_name(emit, marker_name(metadata, event->stack, room));
        sxt_emit_text(emit, "\n");
        break;
    default:
        sxt_emit_text(emit, "%llu type %u %llu bytes\n", (number)event->time, event->type, (number)event->size);
    }
}

static void warn_count(const char *file, uint64_t count, const char *one, const char *many)
{
    if (count > 0)
        cli_warn(file, "%llu %s", (number)count, count == 1 ? one : many);
}

void cli_warn_oddities(const char *file, const struct sxt_mlyze_oddities *oddities)
{
    warn_count(file, oddities->dangling_stacks, "allocation has a stack that is not in the metadata",
               "allocations have a stack that is not in the metadata");
    warn_count(file, oddities->dangling_names, "marker has a name that is not in the metadata",
               "markers have a name that is not in the metadata");
    warn_count(file, oddities->zero_addresses, "event has the address 0", "events have the address 0");
    warn_count(file, oddities->unknown_types, "event is of a type that is not known here",
               "events are of a type that is not known here");
}

/* Calls VISIT for all events, or as many as can be read. */
typedef bool visit_event(void *data, const struct sxt_mlyze_event *event);

static int visit_events(const struct sxt_mlyze *mlyze, const char *file, visit_event *visit, void *data)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(mlyze);
    struct sxt_mlyze_event events[BATCH];
    struct sxt_mlyze_oddities oddities = {0};
    struct sxt_mlyze_cursor *cursor;
    sxt_error error;
    if (sxt_mlyze_cursor_open(mlyze, &cursor, &error) != SXT_OK)
        return cli_fail(file, &error);
    size_t count = 0;
    int status = CLI_DONE;
    bool goes_on = true;
    do {
        if (sxt_mlyze_read(cursor, events, BATCH, &count, &error) != SXT_OK) {
            status = cli_fail(file, &error);
            break;
        }
        sxt_mlyze_count_oddities(metadata, events, count, &oddities);
        for (size_t i = 0; goes_on && i < count; i++)
            goes_on = visit(data, &events[i]);
    } while (goes_on && count > 0);
    sxt_mlyze_cursor_close(&cursor);
    if (status == CLI_DONE)
        cli_warn_oddities(file, &oddities);
    return status;
}

struct dumping {
    struct sxt_emit *emit;
    const struct sxt_mlyze_metadata *metadata;
};

static bool dump_event(void *data, const struct sxt_mlyze_event *event)
{
    struct dumping *dumping = data;
    sxt_emit_record(dumping->emit);
    if (sxt_emit_is_json(dumping->emit))
        dump_json(dumping->metadata, event, dumping->emit);
    else
        dump_text(dumping->metadata, event, dumping->emit);
    sxt_emit_record_end(dumping->emit);
    return !dumping->emit->failed;
}

int cli_dump_mlyze(const struct sxt_mlyze *mlyze, const char *file, struct sxt_emit *emit)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(mlyze);
    struct dumping dumping = {emit, metadata};
    dump_header(mlyze, emit);
    for (size_t i = 0; i < metadata->stack_count && !emit->failed; i++)
        if (metadata->stacks[i].exists)
            dump_stack(metadata, i, emit);
    return visit_events(mlyze, file, dump_event, &dumping);
}

struct counting {
    uint64_t kinds[SXT_MLYZE_OTHER + 1];
    uint64_t last_time;
};

static bool count_event(void *data, const struct sxt_mlyze_event *event)
{
    struct counting *counting = data;
    counting->kinds[event->kind]++;
    counting->last_time = event->time;
    return true;
}

int cli_info_mlyze(const struct sxt_mlyze *mlyze, const char *file, struct sxt_emit *emit)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(mlyze);
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(mlyze);
    struct counting counting = {.last_time = header->start_us};
    int status = visit_events(mlyze, file, count_event, &counting);
    uint64_t all = 0;
    for (unsigned i = 0; i <= SXT_MLYZE_OTHER; i++)
        all += counting.kinds[i];
    sxt_emit_cstring(emit, "codec", codec_name(header));
    sxt_emit_number(emit, "start_us", header->start_us);
    sxt_emit_number(emit, "duration_us", counting.last_time - header->start_us);
    sxt_emit_number(emit, "events", all);
    sxt_emit_number(emit, "allocations", counting.kinds[SXT_MLYZE_ALLOC]);
    sxt_emit_number(emit, "frees", counting.kinds[SXT_MLYZE_FREE]);
    sxt_emit_number(emit, "collections", counting.kinds[SXT_MLYZE_GC]);
    sxt_emit_number(emit, "markers", counting.kinds[SXT_MLYZE_MARKER]);
    size_t stacks = 0;
    for (size_t i = 0; i < metadata->stack_count; i++)
        stacks += metadata->stacks[i].exists;
    sxt_emit_number(emit, "stacks", stacks);
    sxt_emit_number(emit, "metadata_size", header->metadata_size);
    if (header->period != 0)
        sxt_emit_number(emit, "sample_period", header->period);
    if (header->dropped != 0)
        sxt_emit_number(emit, "dropped", header->dropped);
    if (header->pid != 0)
        sxt_emit_number(emit, "pid", header->pid);
    return status;
}
