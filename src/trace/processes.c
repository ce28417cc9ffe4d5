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

/* When the process ended; 0 if that is not known. What a recording has of the time while it runs is not the end. */
static uint64_t end_of(const sxt_trace *trace)
{
    if (trace->is_growing)
        return SXT_MLYZE_RUNNING;
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

static int by_pid(const void *left, const void *right, void *of)
{
    const struct sxt_trace_part *parts = of;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const sxt_trace_process *of_a = &parts[a].process, *of_b = &parts[b].process;
    if (of_a->pid != of_b->pid)
        return of_a->pid < of_b->pid ? -1 : 1;
    if (of_a->start_us != of_b->start_us)
        return of_a->start_us < of_b->start_us ? -1 : 1;
    return (a > b) - (a < b);
}

/*
 * Numbers of processes are used again: the parent is the last that began before its child, or with it. ORDER has the
 * processes by their numbers, and those of one number by their start.
 */
static uint32_t find_parent(const struct sxt_trace_part *parts, const uint32_t *order, size_t count, uint32_t child)
{
    const sxt_trace_process *of = &parts[child].process;
    size_t low = 0, high = of->parent_pid != 0 ? count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const sxt_trace_process *one = &parts[order[middle]].process;
        bool is_before = one->pid != of->parent_pid ? one->pid < of->parent_pid : one->start_us <= of->start_us;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    while (low > 0 && order[low - 1] == child)
        low--;
    bool is_found = low > 0 && of->parent_pid != 0 && parts[order[low - 1]].process.pid == of->parent_pid;
    return is_found ? order[low - 1] : SXT_TRACE_NO_ID;
}

/* A file may claim that processes are each other's parents. The last of them has none. WALKS has room for COUNT. */
static void cut_cycles(struct sxt_trace_part *parts, size_t count, uint32_t *walks)
{
    memset(walks, 0, count * sizeof *walks);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at != SXT_TRACE_NO_ID && walks[at] == 0; at = parts[at].process.parent)
            walks[at] = i + 1;
        if (at == SXT_TRACE_NO_ID || walks[at] != i + 1)
            continue;
        uint32_t last = at;
        for (uint32_t of = parts[at].process.parent; of != at; of = parts[of].process.parent)
            last = of > last ? of : last;
        parts[last].process.parent = SXT_TRACE_NO_ID;
    }
}

static int find_parents(struct sxt_trace_part *parts, size_t count, sxt_error *error)
{
    uint32_t *order = malloc(count * sizeof *order);
    if (order == NULL)
        return sxt_fail_memory(error, count * sizeof *order);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, by_pid, parts);
    for (uint32_t i = 0; i < count; i++)
        parts[i].process.parent = find_parent(parts, order, count, i);
    cut_cycles(parts, count, order);
    free(order);
    return SXT_OK;
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
    int status = sxt_unnamed_open(&outputs[0], error);
    if (status != SXT_OK)
        return status;
    status = sxt_unnamed_open(&outputs[1], error);
    if (status == SXT_OK) {
        status = sxt_mlyze_join(inputs, count, &outputs[0], &outputs[1], &joined->joined, error);
        if (status == SXT_OK)
            return open_joined(outputs, joined->joined.has_ends, joined, error);
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
        status = find_parents(joined->parts, count, error);
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
    free(trace->joined.threads);
}

bool sxt_trace_get_process(const sxt_trace *trace, size_t index, sxt_trace_process *out)
{
    if (index >= trace->part_count)
        return false;
    sxt_result_give(out, &trace->parts[index].process, sizeof trace->parts[index].process);
    return true;
}

/* By number of a thread in one of the joined traces, whether the filter names it; NULL: it names none. To be freed. */
static int choose_threads(const sxt_trace *joined, size_t index, const sxt_heap_filter *filter, bool **out,
                          sxt_error *error)
{
    bool *of_all;
    *out = NULL;
    int status = sxt_heap_choose_threads(joined->mlyze, filter, &of_all, error);
    if (status != SXT_OK || of_all == NULL)
        return status;
    *out = calloc((size_t)UINT16_MAX + 1, sizeof **out);
    if (*out == NULL)
        status = sxt_fail_memory(error, UINT16_MAX);
    for (size_t i = 0; i < joined->joined.thread_count && *out != NULL; i++)
        if (of_all[i] && joined->joined.threads[i].input == index)
            (*out)[joined->joined.threads[i].thread] = true;
    free(of_all);
    return status;
}

int sxt_trace_analyse_process(const sxt_trace *joined, size_t index, const sxt_trace *trace,
                              const sxt_heap_options *options, sxt_heap_usage **out, sxt_error *error)
{
    bool *threads = NULL;
    *out = NULL;
    if (index >= joined->part_count)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the trace does not have so many processes");
    int status = SXT_OK;
    if (options != NULL && options->filter != NULL)
        status = choose_threads(joined, index, options->filter, &threads, error);
    if (status == SXT_OK)
        status = sxt_trace_analyse_threads(trace, options, threads, out, error);
    free(threads);
    return status;
}
