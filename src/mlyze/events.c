/*
 * events.c: events as bytes.
 *
 *     ALLOC   0, varint delta, u64 address, varint size, varint stack, u16 thread
 *     FREE    1, varint delta, u64 address
 *     GC      2, varint delta, varint objects, varint bytes
 *     MARKER  3, varint delta, varint name
 *     other   4 to 127, varint delta, varint size, payload
 *
 * A delta is in microseconds, from the event before; integers are little-endian.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "mlyze/private.h"

static bool decode_one(struct sxt_mlyze_stream *stream, sxt_trace_event *event);

/* Fast for one byte, the common case. Reads at most 10 bytes; returns 0 if the varint is longer. */
static inline const uint8_t *take_varint(const uint8_t *at, uint64_t *value)
{
    uint64_t result = *at++;
    if (__builtin_expect(result < 0x80, 1)) {
        *value = result;
        return at;
    }
    result &= 0x7f;
    for (unsigned shift = 7; shift < 63; shift += 7) {
        uint8_t byte = *at++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return at;
        }
    }
    uint8_t last = *at++;
    *value = result | (uint64_t)last << 63;
    return last <= 1 ? at : NULL;
}

static inline uint32_t clamp_id(uint64_t id)
{
    return id < UINT32_MAX ? (uint32_t)id : UINT32_MAX;
}

/*
 * For events far from the end, which cannot be cut off: only the numbers are checked. Errors and rare events are left
 * to decode_one.
 */
static size_t decode_quickly(struct sxt_mlyze_stream *stream, sxt_trace_event *events, size_t capacity)
{
    const uint8_t *at = stream->next;
    uint64_t time = stream->time, delta, size, stack;
    size_t count = 0;
    while (count < capacity && stream->end - at >= SXT_MLYZE_EVENT_MOST) {
        const uint8_t *from = at;
        sxt_trace_event *event = &events[count];
        if (*from > SXT_TRACE_FREE || (from = take_varint(from + 1, &delta)) == NULL || delta > UINT64_MAX - time)
            break;
        uint64_t address = sxt_load_u64le(from);
        from += 8;
        if (*at == SXT_TRACE_FREE) {
            *event = (sxt_trace_event){.kind = SXT_TRACE_FREE, .time = time + delta, .address = address};
        } else {
            if ((from = take_varint(from, &size)) == NULL || (from = take_varint(from, &stack)) == NULL)
                break;
            *event = (sxt_trace_event){
                .kind = SXT_TRACE_ALLOC,
                .thread = sxt_load_u16le(from),
                .stack = clamp_id(stack),
                .time = time + delta,
                .address = address,
                .size = size,
            };
            from += 2;
        }
        time += delta;
        at = from;
        count++;
    }
    stream->next = at;
    stream->time = time;
    return count;
}

size_t sxt_mlyze_decode(struct sxt_mlyze_stream *stream, sxt_trace_event *events, size_t capacity)
{
    size_t count = 0;
    stream->fault = SXT_MLYZE_FINE;
    while (count < capacity && stream->next < stream->end) {
        count += decode_quickly(stream, events + count, capacity - count);
        if (count < capacity && stream->next < stream->end) {
            if (!decode_one(stream, &events[count]))
                break;
            count++;
        }
    }
    return count;
}

static bool fail_at(struct sxt_mlyze_stream *stream, const uint8_t *at, enum sxt_mlyze_fault fault)
{
    stream->fault = fault;
    stream->fault_at = at;
    return false;
}

/* A cut-off event is reported at its beginning: the file is good up to there. */
static bool take_checked(struct sxt_mlyze_stream *stream, const uint8_t **at, uint64_t *value)
{
    size_t left = (size_t)(stream->end - *at);
    size_t taken = sxt_varint_decode(*at, left, value);
    if (taken == 0) {
        bool is_cut = left < SXT_VARINT_MAX;
        for (size_t i = 0; is_cut && i < left; i++)
            is_cut = (*at)[i] >= 0x80;
        return is_cut ? fail_at(stream, stream->next, SXT_MLYZE_CUT) : fail_at(stream, *at, SXT_MLYZE_BAD_VARINT);
    }
    *at += taken;
    return true;
}

static bool take_bytes(struct sxt_mlyze_stream *stream, const uint8_t **at, uint64_t size, const uint8_t **bytes)
{
    if ((uint64_t)(stream->end - *at) < size)
        return fail_at(stream, stream->next, SXT_MLYZE_CUT);
    *bytes = *at;
    *at += size;
    return true;
}

static bool decode_fields(struct sxt_mlyze_stream *stream, const uint8_t **at, sxt_trace_event *event)
{
    const uint8_t *bytes;
    uint64_t id = 0;
    switch (event->kind) {
    case SXT_TRACE_ALLOC:
        if (!take_bytes(stream, at, 8, &bytes))
            return false;
        event->address = sxt_load_u64le(bytes);
        if (!take_checked(stream, at, &event->size) || !take_checked(stream, at, &id) ||
            !take_bytes(stream, at, 2, &bytes))
            return false;
        event->stack = clamp_id(id);
        event->thread = sxt_load_u16le(bytes);
        return true;
    case SXT_TRACE_FREE:
        if (!take_bytes(stream, at, 8, &bytes))
            return false;
        event->address = sxt_load_u64le(bytes);
        return true;
    case SXT_TRACE_GC:
        return take_checked(stream, at, &event->objects) && take_checked(stream, at, &event->size);
    case SXT_TRACE_MARKER:
        if (!take_checked(stream, at, &id))
            return false;
        event->stack = clamp_id(id);
        return true;
    default:
        return take_checked(stream, at, &event->size) && take_bytes(stream, at, event->size, &event->payload);
    }
}

static bool decode_one(struct sxt_mlyze_stream *stream, sxt_trace_event *event)
{
    const uint8_t *at = stream->next;
    uint8_t type = *at++;
    uint64_t delta;
    if (type >= SXT_MLYZE_TYPE_END)
        return fail_at(stream, stream->next, SXT_MLYZE_BAD_TYPE);
    *event = (sxt_trace_event){.kind = type < SXT_TRACE_OTHER ? type : SXT_TRACE_OTHER, .type = type};
    const uint8_t *at_delta = at;
    if (!take_checked(stream, &at, &delta))
        return false;
    if (!sxt_add_u64(stream->time, delta, &event->time))
        return fail_at(stream, at_delta, SXT_MLYZE_BAD_TIME);
    if (!decode_fields(stream, &at, event))
        return false;
    if (event->kind != SXT_TRACE_OTHER)
        event->type = 0;
    stream->next = at;
    stream->time = event->time;
    return true;
}

int sxt_mlyze_fail_fault(const struct sxt_mlyze_stream *stream, uint64_t at, sxt_error *error)
{
    switch (stream->fault) {
    case SXT_MLYZE_CUT:
        return sxt_fail(error, SXT_ERROR_FORMAT, at, "ends inside an event");
    case SXT_MLYZE_BAD_VARINT:
        return sxt_fail(error, SXT_ERROR_FORMAT, at, "a number that does not fit in 64 bits");
    case SXT_MLYZE_BAD_TYPE:
        return sxt_fail(error, SXT_ERROR_FORMAT, at, "an event of unknown type %u", *stream->fault_at);
    case SXT_MLYZE_BAD_TIME:
        return sxt_fail(error, SXT_ERROR_FORMAT, at, "a time that does not fit in 64 bits");
    default:
        return SXT_OK;
    }
}

static inline uint8_t *put_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

void sxt_mlyze_encode(struct sxt_buffer *out, const sxt_trace_event *event, uint64_t time)
{
    bool has_room = out->capacity - out->size > SXT_MLYZE_EVENT_MOST && !out->failed;
    uint8_t *start = has_room ? out->data + out->size : sxt_buffer_reserve(out, SXT_MLYZE_EVENT_MOST), *to = start;
    if (to == NULL)
        return;
    *to++ = event->kind < SXT_TRACE_OTHER ? event->kind : event->type;
    to = put_varint(to, event->time - time);
    switch (event->kind) {
    case SXT_TRACE_ALLOC:
        sxt_store_u64le(to, event->address);
        to += 8;
        to = put_varint(to, event->size);
        to = put_varint(to, event->stack);
        sxt_store_u16le(to, event->thread);
        to += 2;
        break;
    case SXT_TRACE_FREE:
        sxt_store_u64le(to, event->address);
        to += 8;
        break;
    case SXT_TRACE_GC:
        to = put_varint(to, event->objects);
        to = put_varint(to, event->size);
        break;
    case SXT_TRACE_MARKER:
        to = put_varint(to, event->stack);
        break;
    default:
        to = put_varint(to, event->size);
    }
    out->size += (size_t)(to - start);
    if (event->kind == SXT_TRACE_OTHER)
        sxt_buffer_append(out, event->payload, event->size);
}
