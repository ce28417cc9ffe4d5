/*
 * processes.c: the traces of several processes as one trace, and how the processes are related. The recorder notes the
 * process and the one that forked it ("pid", "parent"); other keys are read if they are there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/options.h"
#include "base/output.h"
#include "base/unnamed.h"
#include "trace/trace.h"

/* A process of a joined trace. */
struct sxt_trace_part {
    sxt_trace_process process;
    char *command_line;
    bool is_forked; /* it began with the blocks of its parent */
};

/* --- what a trace says about its process --- */

static uint64_t number_of(const struct sxt_json *root, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sxt_json *value = sxt_json_member(root, keys[i]);
        if (value != NULL && value->type == SXT_JSON_NUMBER && value->is_unsigned)
            return value->unsigned_value;
    }
    return 0;
}

/* A string, or a list of arguments, which are separated by spaces here. */
static void append_text(struct sxt_buffer *text, const struct sxt_json *value)
{
    if (value->type == SXT_JSON_STRING)
        sxt_buffer_append(text, value->string.data, value->string.size);
    for (const struct sxt_json *one = value->type == SXT_JSON_ARRAY ? value->child : NULL; one != NULL;
         one = one->next) {
        if (one->type != SXT_JSON_STRING)
            continue;
        if (text->size > 0)
            sxt_buffer_u8(text, ' ');
        sxt_buffer_append(text, one->string.data, one->string.size);
    }
}

/* When the process ended; 0 if that is not known. */
static uint64_t end_of(const sxt_trace *trace)
{
    static const char *const durations[] = {"duration_us"};
    uint64_t duration = number_of(sxt_mlyze_metadata(trace->mlyze)->root, durations, 1), end;
    bool is_known = duration != 0 && sxt_add_u64(sxt_mlyze_header(trace->mlyze)->start_us, duration, &end);
    return is_known ? end : 0;
}

static int describe(const sxt_trace *trace, struct sxt_trace_part *part, sxt_error *error)
{
    static const char *const pids[] = {"pid"}, *const parents[] = {"parent_pid", "parent", "ppid"};
    static const char *const starters[] = {"started_by"};
    const struct sxt_json *root = sxt_mlyze_metadata(trace->mlyze)->root;
    const struct sxt_mlyze_header *header = sxt_mlyze_header(trace->mlyze);
    const struct sxt_json *command = sxt_json_member(root, "command_line");
    struct sxt_buffer text;
    size_t size = 0;
    sxt_buffer_init(&text, (size_t)1 << 24);
    if (command == NULL)
        command = sxt_json_member(root, "command");
    if (command != NULL)
        append_text(&text, command);
    part->process = (sxt_trace_process){
        .pid = header->pid != 0 ? header->pid : number_of(root, pids, 1),
        .parent_pid = number_of(root, parents, sizeof parents / sizeof *parents),
        .parent = SXT_TRACE_NO_ID,
        .start_us = header->start_us,
    };
    part->is_forked = part->process.parent_pid != 0;
    if (!part->is_forked)
        part->process.parent_pid = number_of(root, starters, 1);
    int status = sxt_buffer_status(&text, error);
    if (status == SXT_OK)
        part->command_line = (char *)sxt_buffer_take(&text, &size);
    part->process.command_line = (sxt_string){part->command_line, size};
    sxt_buffer_free(&text);
    return status;
}

/* Numbers of processes are used again: the parent is the last that began before its child, or with it. */
static uint32_t find_parent(const struct sxt_trace_part *parts, size_t count, size_t child)
{
    const sxt_trace_process *of = &parts[child].process;
    uint32_t found = SXT_TRACE_NO_ID;
    for (size_t i = 0; i < count && of->parent_pid != 0; i++) {
        const sxt_trace_process *one = &parts[i].process;
        if (i != child && one->pid == of->parent_pid && one->start_us <= of->start_us &&
            (found == SXT_TRACE_NO_ID || one->start_us >= parts[found].process.start_us))
            found = (uint32_t)i;
    }
    return found;
}

/* A file may claim that processes are each other's parents. Such a process has none. */
static void find_parents(struct sxt_trace_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t at = find_parent(parts, count, i);
        parts[i].process.parent = at;
        for (size_t steps = 0; at != SXT_TRACE_NO_ID && at != i && steps < count; steps++)
            at = parts[at].process.parent;
        if (at != SXT_TRACE_NO_ID)
            parts[i].process.parent = SXT_TRACE_NO_ID;
    }
}

/* --- joining --- */

static int open_joined(struct sxt_output outputs[2], bool has_ends, sxt_trace *joined, sxt_error *error)
{
    int status = sxt_unnamed_read(&outputs[0], &joined->file, error);
    if (status == SXT_OK && has_ends)
        status = sxt_unnamed_read(&outputs[1], &joined->ended_file, error);
    else
        sxt_output_abandon(&outputs[1]);
    if (status == SXT_OK)
        status = sxt_mlyze_open(joined->file.data, joined->file.size, &joined->mlyze, error);
    if (status == SXT_OK && has_ends)
        status = sxt_mlyze_open(joined->ended_file.data, joined->ended_file.size, &joined->ended, error);
    return status;
}

static int write_joined(struct sxt_mlyze_join_input *inputs, size_t count, sxt_trace *joined, sxt_error *error)
{
    struct sxt_output outputs[2] = {{.fd = -1}, {.fd = -1}};
    bool has_ends = false;
    int status = sxt_unnamed_open(&outputs[0], error);
    if (status != SXT_OK)
        return status;
    status = sxt_unnamed_open(&outputs[1], error);
    if (status == SXT_OK) {
        status = sxt_mlyze_join(inputs, count, &outputs[0], &outputs[1], &has_ends, error);
        if (status == SXT_OK)
            return open_joined(outputs, has_ends, joined, error);
        sxt_output_abandon(&outputs[1]);
    }
    sxt_output_abandon(&outputs[0]);
    return status;
}

static int join(const sxt_trace *const *traces, size_t count, struct sxt_mlyze_join_input *inputs, sxt_trace *joined,
                sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        status = describe(traces[i], &joined->parts[i], error);
        joined->part_count++;
    }
    if (status == SXT_OK)
        find_parents(joined->parts, count);
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        const sxt_trace_process *process = &joined->parts[i].process;
        inputs[i] = (struct sxt_mlyze_join_input){
            .trace = traces[i]->mlyze,
            .pid = process->pid,
            .parent = joined->parts[i].is_forked ? process->parent : SXT_TRACE_NO_ID,
            .end = end_of(traces[i]),
        };
    }
    if (status == SXT_OK)
        status = write_joined(inputs, count, joined, error);
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        joined->parts[i].process.inherited_bytes = inputs[i].inherited_bytes;
        joined->parts[i].process.inherited_count = inputs[i].inherited_count;
    }
    return status;
}

int sxt_trace_join(const sxt_trace *const *traces, size_t count, sxt_trace **out, sxt_error *error)
{
    sxt_trace_options options;
    *out = NULL;
    if (count == 0 || count > SXT_MLYZE_JOIN_MOST)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "1 to %d traces can be joined", SXT_MLYZE_JOIN_MOST);
    sxt_trace_options_init(&options);
    sxt_trace *joined = sxt_trace_new(&options, error);
    if (joined == NULL)
        return SXT_ERROR_MEMORY;
    struct sxt_mlyze_join_input *inputs = calloc(count, sizeof *inputs);
    joined->parts = calloc(count, sizeof *joined->parts);
    int status = inputs == NULL || joined->parts == NULL ? sxt_fail_memory(error, count * sizeof *inputs)
                                                         : join(traces, count, inputs, joined, error);
    free(inputs);
    if (status == SXT_OK)
        *out = joined;
    else
        sxt_trace_close(&joined);
    return status;
}

void sxt_trace_free_parts(sxt_trace *trace)
{
    sxt_mlyze_close(&trace->ended);
    sxt_file_close(&trace->ended_file);
    for (size_t i = 0; i < trace->part_count; i++)
        free(trace->parts[i].command_line);
    free(trace->parts);
}

bool sxt_trace_get_process(const sxt_trace *trace, size_t index, sxt_trace_process *out)
{
    if (index >= trace->part_count)
        return false;
    sxt_result_give(out, &trace->parts[index].process, sizeof trace->parts[index].process);
    return true;
}
