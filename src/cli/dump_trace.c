/* dump_trace.c: a heap trace, one stack or event per line after the header; and the output of info for one. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/heap.h"
#include "cli/verbs.h"

typedef unsigned long long number;

static void dump_header(const sxt_trace_info *info, struct sxt_emit *emit)
{
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_object(emit, "header");
        sxt_emit_number(emit, "version", info->version);
        sxt_emit_number(emit, "start_us", info->start_us);
        sxt_emit_number(emit, "metadata_size", info->metadata_size);
        sxt_emit_number(emit, "flags", info->flags);
        sxt_emit_cstring(emit, "codec", info->codec);
        sxt_emit_number(emit, "sample_period", info->sample_period);
        sxt_emit_number(emit, "dropped", info->dropped);
        sxt_emit_object_end(emit);
    }
    sxt_emit_text(emit, "# version %u start %llu metadata %llu %s\n", info->version, (number)info->start_us,
                  (number)info->metadata_size, info->codec);
    sxt_emit_record_end(emit);
}

/* A name that is absent stays absent; an id that the metadata does not have is shown. */
static sxt_string name_of(sxt_string name, uint32_t id, const char *prefix, char room[24])
{
    return id == SXT_TRACE_NO_ID ? (sxt_string){NULL, 0} : cli_heap_name(name, id, prefix, room);
}

static void dump_frame(const sxt_trace_frame *frame, bool first, struct sxt_emit *emit)
{
    char file_room[24], function_room[24];
    sxt_string file = name_of(frame->file, frame->file_id, "file", file_room);
    sxt_string function = name_of(frame->function, frame->function_id, "func", function_room);
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

static void dump_stack(const sxt_trace *trace, uint32_t id, struct sxt_emit *emit)
{
    sxt_trace_frame frame;
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_number(emit, "stack", id);
        sxt_emit_array(emit, "frames");
    }
    sxt_emit_text(emit, "stack %u", id);
    for (uint32_t i = 0; sxt_trace_get_frame(trace, id, i, &frame); i++)
        dump_frame(&frame, i == 0, emit);
    if (sxt_emit_is_json(emit))
        sxt_emit_array_end(emit);
    sxt_emit_text(emit, "\n");
    sxt_emit_record_end(emit);
}

static sxt_string marker_name(const sxt_trace *trace, uint32_t id, char room[24])
{
    return cli_heap_name(sxt_trace_function_name(trace, id), id, "marker", room);
}

static void dump_json(const sxt_trace *trace, const sxt_trace_event *event, struct sxt_emit *emit)
{
    static const char *const names[] = {"alloc", "free", "gc", "marker", "raw"};
    char room[24];
    sxt_emit_cstring(emit, "event", names[event->kind]);
    sxt_emit_number(emit, "time_us", event->time);
    switch (event->kind) {
    case SXT_TRACE_ALLOC:
        sxt_emit_address(emit, "address", event->address);
        sxt_emit_number(emit, "size", event->size);
        sxt_emit_number(emit, "stack", event->stack);
        sxt_emit_number(emit, "thread", event->thread);
        break;
    case SXT_TRACE_FREE:
        sxt_emit_address(emit, "address", event->address);
        break;
    case SXT_TRACE_GC:
        sxt_emit_number(emit, "objects", event->objects);
        sxt_emit_number(emit, "bytes", event->size);
        break;
    case SXT_TRACE_MARKER:
        sxt_emit_string(emit, "name", marker_name(trace, event->stack, room));
        break;
    default:
        sxt_emit_number(emit, "type", event->type);
        sxt_emit_number(emit, "offset", event->address);
        sxt_emit_number(emit, "length", event->size);
    }
}

static void dump_text(const sxt_trace *trace, const sxt_trace_event *event, struct sxt_emit *emit)
{
    char room[24];
    switch (event->kind) {
    case SXT_TRACE_ALLOC:
        sxt_emit_text(emit, "%llu alloc 0x%llx %llu stack %u thread %u\n", (number)event->time, (number)event->address,
                      (number)event->size, event->stack, event->thread);
        break;
    case SXT_TRACE_FREE:
        sxt_emit_text(emit, "%llu free 0x%llx\n", (number)event->time, (number)event->address);
        break;
    case SXT_TRACE_GC:
        sxt_emit_text(emit, "%llu gc %llu objects %llu bytes\n", (number)event->time, (number)event->objects,
                      (number)event->size);
        break;
    case SXT_TRACE_MARKER:
        sxt_emit_text(emit, "%llu marker ", (number)event->time);
        sxt_emit_name(emit, marker_name(trace, event->stack, room));
        sxt_emit_text(emit, "\n");
        break;
    default:
        sxt_emit_text(emit, "%llu type %u %llu bytes at offset 0x%llx\n", (number)event->time, event->type,
                      (number)event->size, (number)event->address);
    }
}

struct dumping {
    struct sxt_emit *emit;
    const sxt_trace *trace;
};

static bool dump_events(void *data, const sxt_trace_event *events, size_t count)
{
    struct dumping *dumping = data;
    for (size_t i = 0; i < count && !dumping->emit->failed; i++) {
        sxt_emit_record(dumping->emit);
        if (sxt_emit_is_json(dumping->emit))
            dump_json(dumping->trace, &events[i], dumping->emit);
        else
            dump_text(dumping->trace, &events[i], dumping->emit);
        sxt_emit_record_end(dumping->emit);
    }
    return !dumping->emit->failed;
}

/* Warns about the events too. */
static int visit_events(const sxt_trace *trace, const char *file,
                        bool (*visit)(void *data, const sxt_trace_event *events, size_t count), void *data)
{
    sxt_trace_oddities oddities = {0};
    sxt_error error;
    if (sxt_trace_visit_events(trace, visit, data, &oddities, &error) != SXT_OK)
        return cli_fail(file, &error);
    cli_warn_oddities(file, &oddities);
    return CLI_DONE;
}

int cli_dump_trace(const sxt_trace *trace, const char *file, struct sxt_emit *emit)
{
    struct dumping dumping = {emit, trace};
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(trace, &info);
    dump_header(&info, emit);
    uint32_t stack = 0;
    for (bool is_last = false; !is_last && !emit->failed && sxt_trace_next_stack(trace, &stack); stack++) {
        dump_stack(trace, stack, emit);
        is_last = stack == UINT32_MAX;
    }
    return visit_events(trace, file, dump_events, &dumping);
}

struct counting {
    uint64_t kinds[SXT_TRACE_OTHER + 1];
    uint64_t last_time;
};

static bool count_events(void *data, const sxt_trace_event *events, size_t count)
{
    struct counting *counting = data;
    for (size_t i = 0; i < count; i++)
        counting->kinds[events[i].kind]++;
    if (count > 0)
        counting->last_time = events[count - 1].time;
    return true;
}

/* A word as a shell takes it. */
static void add_word(struct sxt_buffer *line, sxt_string word)
{
    bool is_plain = word.size > 0;
    for (size_t i = 0; i < word.size && is_plain; i++)
        is_plain = isalnum((unsigned char)word.data[i]) || strchr("%+,-./:=@_", word.data[i]) != NULL;
    if (is_plain) {
        sxt_buffer_append(line, word.data, word.size);
        return;
    }
    sxt_buffer_u8(line, '\'');
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] == '\'')
            sxt_buffer_append(line, "'\\''", 4);
        else
            sxt_buffer_u8(line, (uint8_t)word.data[i]);
    sxt_buffer_u8(line, '\'');
}

/* In text, as a shell takes it. */
static void print_command(const sxt_trace *trace, size_t count, struct sxt_emit *emit)
{
    if (!sxt_emit_is_json(emit)) {
        struct sxt_buffer line;
        sxt_buffer_init(&line, SIZE_MAX / 2);
        for (size_t i = 0; i < count; i++) {
            if (i > 0)
                sxt_buffer_u8(&line, ' ');
            add_word(&line, sxt_trace_command_word(trace, i));
        }
        if (line.size > 0)
            sxt_emit_string(emit, "command", (sxt_string){(const char *)line.data, line.size});
        sxt_buffer_free(&line);
        return;
    }
    sxt_emit_array(emit, "command");
    for (size_t i = 0; i < count; i++)
        sxt_emit_string(emit, NULL, sxt_trace_command_word(trace, i));
    sxt_emit_array_end(emit);
}

/* In JSON, what is unknown is null. */
static void print_known(struct sxt_emit *emit, const char *key, bool is_known, uint64_t value)
{
    if (is_known)
        sxt_emit_number(emit, key, value);
    else if (sxt_emit_is_json(emit))
        sxt_emit_null(emit, key);
}

static void print_process(const sxt_trace *trace, const sxt_trace_info *info, struct sxt_emit *emit)
{
    print_command(trace, info->word_count, emit);
    print_known(emit, "pid", info->pid != 0, info->pid);
    if (info->parent != 0)
        sxt_emit_number(emit, "parent", info->parent);
    print_known(emit, "exit_status", info->has_exit_status, info->exit_status);
    print_known(emit, "signal", info->has_signal, info->signal);
}

int cli_info_trace(const sxt_trace *trace, const char *file, struct sxt_emit *emit)
{
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(trace, &info);
    struct counting counting = {.last_time = info.start_us};
    int status = visit_events(trace, file, count_events, &counting);
    uint64_t all = 0;
    for (unsigned i = 0; i <= SXT_TRACE_OTHER; i++)
        all += counting.kinds[i];
    print_process(trace, &info, emit);
    sxt_emit_cstring(emit, "codec", info.codec);
    sxt_emit_number(emit, "start_us", info.start_us);
    uint64_t events_us = counting.last_time - info.start_us;
    sxt_emit_number(emit, "duration_us", info.duration_us > events_us ? info.duration_us : events_us);
    sxt_emit_number(emit, "events", all);
    sxt_emit_number(emit, "allocations", counting.kinds[SXT_TRACE_ALLOC]);
    sxt_emit_number(emit, "frees", counting.kinds[SXT_TRACE_FREE]);
    sxt_emit_number(emit, "collections", counting.kinds[SXT_TRACE_GC]);
    sxt_emit_number(emit, "markers", counting.kinds[SXT_TRACE_MARKER]);
    sxt_emit_number(emit, "stacks", info.stacks);
    sxt_emit_number(emit, "metadata_size", info.metadata_size);
    if (info.sample_period != 0)
        sxt_emit_number(emit, "sample_period", info.sample_period);
    if (info.dropped != 0)
        sxt_emit_number(emit, "dropped", info.dropped);
    if (info.anonymous_bytes != 0)
        sxt_emit_number(emit, "anonymous_bytes", info.anonymous_bytes);
    if (info.stopped.data != NULL)
        sxt_emit_string(emit, "stopped", info.stopped);
    return status;
}
