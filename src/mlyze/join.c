/*
 * join.c: the traces of several processes as one, on a common clock.
 *
 * A forked child begins with the blocks of its parent, which are in the trace of the parent only. So each block counts
 * once, as do the pages that both share. A block counts until the process that allocated it frees it, or until that
 * process and all processes that were forked from it have ended.
 *
 * When processes have ended, their memory is gone, but what they did not free has leaked. So there are two results:
 * `ended`, for peaks and moments, has a FREE for each such block; `whole` has just the events of all processes.
 */
#include "mlyze/join.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/output.h"
#include "base/priority_queue.h"
#include "mlyze/live.h"

#define BATCH         256
#define PROCESS_SHIFT 48 /* of an address: the number of the input goes there */

struct input {
    struct sxt_mlyze_cursor *cursor;
    sxt_trace_event events[BATCH];
    size_t at, count;
    uint64_t next; /* time of the next event; at first of the start, after the last event of the end */
    bool has_begun, is_filled;
    bool is_exhausted;    /* there are no more events */
    bool is_over;         /* it has ended */
    bool is_closed;       /* its blocks have ended */
    bool is_counted;      /* it is one of the children of its parent */
    uint32_t children;    /* forked from it, and they or their own children have not ended */
    struct sxt_live live; /* its blocks; the time of one is its address in the joined trace */
    uint64_t live_bytes;
    uint64_t live_count;
};

struct joining {
    struct sxt_mlyze_join_input *inputs;
    struct input **states;
    size_t count;
    struct sxt_join_names names;
    struct sxt_mlyze_writer *whole, *ended;
    struct sxt_queue queue; /* numbers of inputs that have not ended, the one with the next event first */
    size_t open;            /* inputs that may have more events */
    uint32_t over;          /* an input that has no more events and whose end is not known, or SXT_MLYZE_NO_ID */
    uint64_t time;          /* of the last event */
    bool has_ends;          /* the two results differ */
};

static bool is_earlier(const void *states, uint32_t a, uint32_t b)
{
    struct input *const *of = states;
    return of[a]->next != of[b]->next ? of[a]->next < of[b]->next : a < b;
}

/* --- the events of an input --- */

/* Reads the next events. False at the end. */
static int fill(struct input *state, bool *has_more, sxt_error *error)
{
    state->at = state->count = 0;
    for (*has_more = true; *has_more && state->count == 0;) {
        int status = sxt_mlyze_read(state->cursor, state->events, BATCH, &state->count, error);
        if (status == SXT_ERROR_MEMORY)
            return status;
        if (status != SXT_OK) {
            state->count = 0;
            *has_more = sxt_mlyze_skip_damage(state->cursor, NULL);
        } else {
            *has_more = state->count > 0;
        }
    }
    if (*has_more)
        state->next = state->events[0].time;
    return SXT_OK;
}

/* Counts what is live in the process, for its children and for its end. EVENT is that of the joined trace. */
static bool track(struct input *state, const sxt_trace_event *event)
{
    bool is_new = false;
    if (event->kind == SXT_TRACE_FREE) {
        size_t place = sxt_live_find(&state->live, event->address);
        if (place == SXT_LIVE_NOWHERE)
            return true;
        state->live_bytes -= sxt_live_at(&state->live, place)->size;
        state->live_count--;
        sxt_live_remove(&state->live, place);
        return true;
    }
    size_t place = sxt_live_add(&state->live, event->address, &is_new);
    if (place == SXT_LIVE_NOWHERE)
        return false;
    struct sxt_live_block *block = sxt_live_at(&state->live, place);
    state->live_bytes -= is_new ? 0 : block->size;
    state->live_count += is_new;
    uint64_t room = UINT64_MAX - state->live_bytes;
    block->size = event->size < room ? event->size : room;
    block->time = event->address;
    state->live_bytes += block->size;
    return true;
}

static int take_event(struct joining *joining, uint32_t number, const sxt_trace_event *from, sxt_error *error)
{
    sxt_trace_event event = *from;
    bool is_block = event.kind == SXT_TRACE_ALLOC || event.kind == SXT_TRACE_FREE;
    joining->time = event.time;
    if (is_block)
        event.address ^= (uint64_t)number << PROCESS_SHIFT;
    if (event.kind == SXT_TRACE_ALLOC) {
        event.stack = sxt_join_stack(&joining->names, joining->inputs, number, event.stack);
        event.thread = sxt_join_thread(&joining->names, number, event.thread);
    } else if (event.kind == SXT_TRACE_MARKER) {
        event.stack = sxt_join_function(&joining->names, joining->inputs, number, event.stack);
    }
    if ((is_block && !track(joining->states[number], &event)) || joining->names.no_memory)
        return sxt_fail_memory(error, sizeof event);
    int status = sxt_mlyze_write(joining->whole, &event, error);
    return status == SXT_OK ? sxt_mlyze_write(joining->ended, &event, error) : status;
}

/* --- the beginning and the end of a process --- */

static void begin(struct joining *joining, uint32_t number)
{
    struct sxt_mlyze_join_input *input = &joining->inputs[number];
    joining->states[number]->has_begun = true;
    if (input->parent == SXT_MLYZE_NO_ID)
        return;
    struct input *parent = joining->states[input->parent];
    input->inherited_bytes = parent->live_bytes;
    input->inherited_count = parent->live_count;
    joining->states[number]->is_counted = !parent->is_closed;
    parent->children += !parent->is_closed;
}

static int end_blocks(struct joining *joining, struct input *state, sxt_error *error)
{
    int status = SXT_OK;
    for (size_t at = SXT_LIVE_NOWHERE;
         (at = sxt_live_next(&state->live, at)) != SXT_LIVE_NOWHERE && status == SXT_OK;) {
        const sxt_trace_event event = {
            .kind = SXT_TRACE_FREE, .time = joining->time, .address = sxt_live_at(&state->live, at)->time};
        joining->has_ends = true;
        status = sxt_mlyze_write(joining->ended, &event, error);
    }
    sxt_live_free(&state->live);
    state->is_closed = true;
    return status;
}

/* Ends a process at a TIME, unless its children live on, and its ancestors that only waited for it. */
static int end_process(struct joining *joining, uint32_t number, uint64_t time, sxt_error *error)
{
    int status = SXT_OK;
    joining->time = time > joining->time ? time : joining->time;
    joining->states[number]->is_over = true;
    while (status == SXT_OK && number != SXT_MLYZE_NO_ID && joining->states[number]->is_over &&
           joining->states[number]->children == 0) {
        struct input *state = joining->states[number];
        status = end_blocks(joining, state, error);
        number = state->is_counted ? joining->inputs[number].parent : SXT_MLYZE_NO_ID;
        if (number != SXT_MLYZE_NO_ID)
            joining->states[number]->children--;
    }
    return status;
}

/* Ends the process whose end is not known: another one has an event, at this TIME. */
static int end_over(struct joining *joining, uint64_t time, sxt_error *error)
{
    uint32_t number = joining->over;
    joining->over = SXT_MLYZE_NO_ID;
    return end_process(joining, number, time, error);
}

/* There are no more events of an input. */
static int take_end(struct joining *joining, uint32_t number, sxt_error *error)
{
    struct input *state = joining->states[number];
    uint64_t end = joining->inputs[number].end;
    int status = SXT_OK;
    state->is_exhausted = true;
    joining->open--;
    if (end != 0) {
        state->next = end > state->next ? end : state->next;
        sxt_queue_push(&joining->queue, number, is_earlier, joining->states);
        return SXT_OK;
    }
    if (joining->over != SXT_MLYZE_NO_ID)
        status = end_over(joining, joining->time, error);
    joining->over = number;
    return status;
}

/* --- all inputs --- */

/* Takes events of one input, up to the next of another, or ends it. */
static int advance(struct joining *joining, uint32_t number, sxt_error *error)
{
    struct input *state = joining->states[number];
    int status = SXT_OK;
    bool has_more = true;
    if (state->is_exhausted)
        return joining->open > 0 ? end_process(joining, number, state->next, error) : SXT_OK;
    if (!state->has_begun) {
        begin(joining, number);
        if (!state->is_filled)
            status = fill(state, &has_more, error);
    } else {
        if (joining->over != SXT_MLYZE_NO_ID)
            status = end_over(joining, state->next, error);
        uint32_t other = joining->queue.count > 0 ? joining->queue.items[0] : SXT_MLYZE_NO_ID;
        while (status == SXT_OK && has_more &&
               (other == SXT_MLYZE_NO_ID || is_earlier(joining->states, number, other))) {
            status = take_event(joining, number, &state->events[state->at++], error);
            if (status == SXT_OK && state->at == state->count)
                status = fill(state, &has_more, error);
            else if (state->at < state->count)
                state->next = state->events[state->at].time;
        }
    }
    if (status == SXT_OK && !has_more)
        return take_end(joining, number, error);
    if (status == SXT_OK)
        sxt_queue_push(&joining->queue, number, is_earlier, joining->states);
    return status;
}

static int join_events(struct joining *joining, sxt_error *error)
{
    int status = SXT_OK;
    for (uint32_t i = 0; i < joining->count; i++)
        sxt_queue_push(&joining->queue, i, is_earlier, joining->states);
    while (status == SXT_OK && joining->queue.count > 0) {
        uint32_t number = joining->queue.items[0];
        sxt_queue_pop(&joining->queue, is_earlier, joining->states);
        status = advance(joining, number, error);
    }
    if (status == SXT_OK)
        status = sxt_mlyze_writer_finish(joining->whole, error);
    return status == SXT_OK ? sxt_mlyze_writer_finish(joining->ended, error) : status;
}

/*
 * A recorder may note the start of the first process for all its children. Then a child begins with its first event:
 * that is all that is known.
 */
static int find_start(struct joining *joining, size_t number, sxt_error *error)
{
    struct input *state = joining->states[number];
    uint32_t parent = joining->inputs[number].parent;
    if (parent == SXT_MLYZE_NO_ID || state->next != sxt_mlyze_header(joining->inputs[parent].trace)->start_us)
        return SXT_OK;
    return fill(state, &state->is_filled, error);
}

static int open_inputs(struct joining *joining, sxt_error *error)
{
    joining->states = calloc(joining->count + 1, sizeof *joining->states);
    joining->queue.items = calloc(joining->count + 1, sizeof *joining->queue.items);
    if (joining->states == NULL || joining->queue.items == NULL)
        return sxt_fail_memory(error, joining->count * sizeof *joining->states);
    for (size_t i = 0; i < joining->count; i++) {
        struct input *state = joining->states[i] = calloc(1, sizeof *state);
        if (state == NULL || !sxt_live_init(&state->live))
            return sxt_fail_memory(error, sizeof *state);
        state->next = sxt_mlyze_header(joining->inputs[i].trace)->start_us;
        int status = sxt_mlyze_cursor_open(joining->inputs[i].trace, &state->cursor, error);
        if (status == SXT_OK)
            status = find_start(joining, i, error);
        if (status != SXT_OK)
            return status;
    }
    return SXT_OK;
}

static int open_writers(struct joining *joining, struct sxt_output *outputs[2], sxt_error *error)
{
    const struct sxt_mlyze_header *first = sxt_mlyze_header(joining->inputs[0].trace);
    struct sxt_mlyze_settings settings = {.start_us = first->start_us, .codec = SXT_MLYZE_RAW, .period = first->period};
    struct sxt_mlyze_writer **writers[2] = {&joining->whole, &joining->ended};
    struct sxt_buffer json;
    uint64_t end = 0;
    for (size_t i = 0; i < joining->count; i++) {
        const struct sxt_mlyze_header *header = sxt_mlyze_header(joining->inputs[i].trace);
        uint64_t ended = joining->inputs[i].end == SXT_MLYZE_RUNNING ? 0 : joining->inputs[i].end;
        end = ended > end ? ended : end;
        settings.start_us = header->start_us < settings.start_us ? header->start_us : settings.start_us;
        settings.dropped += header->dropped;
        if (header->period != settings.period)
            return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                            "traces with different sampling periods cannot be added up");
    }
    sxt_buffer_init(&json, UINT32_MAX);
    uint64_t duration = end > settings.start_us ? end - settings.start_us : 0;
    sxt_join_write_names(&joining->names, joining->inputs, joining->count, duration, &json);
    int status = sxt_buffer_status(&json, error);
    for (int i = 0; i < 2 && status == SXT_OK; i++)
        status = sxt_mlyze_writer_open(outputs[i], &settings, (sxt_string){(const char *)json.data, json.size},
                                       writers[i], error);
    sxt_buffer_free(&json);
    return status;
}

static void free_joining(struct joining *joining)
{
    for (size_t i = 0; joining->states != NULL && i < joining->count && joining->states[i] != NULL; i++) {
        sxt_mlyze_cursor_close(&joining->states[i]->cursor);
        sxt_live_free(&joining->states[i]->live);
        free(joining->states[i]);
    }
    free(joining->states);
    free(joining->queue.items);
    sxt_mlyze_writer_close(&joining->whole);
    sxt_mlyze_writer_close(&joining->ended);
    sxt_join_names_free(&joining->names, joining->count);
}

int sxt_mlyze_join(struct sxt_mlyze_join_input *inputs, size_t count, struct sxt_output *whole,
                   struct sxt_output *ended, struct sxt_mlyze_joined *out, sxt_error *error)
{
    struct joining joining = {.inputs = inputs, .count = count, .open = count, .over = SXT_MLYZE_NO_ID};
    int status = sxt_join_names_make(inputs, count, &joining.names, error);
    if (status == SXT_OK)
        status = open_inputs(&joining, error);
    if (status == SXT_OK)
        status = open_writers(&joining, (struct sxt_output *[2]){whole, ended}, error);
    if (status == SXT_OK)
        status = join_events(&joining, error);
    *out = (struct sxt_mlyze_joined){.has_ends = joining.has_ends};
    if (status == SXT_OK) {
        out->threads = joining.names.origins;
        out->thread_count = joining.names.thread_count;
        joining.names.origins = NULL;
    }
    free_joining(&joining);
    return status;
}
