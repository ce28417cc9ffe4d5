/*
 * columns.c: the events of a block, one column for each field. LZ4 compresses columns of similar numbers well, and most
 * numbers follow from those before them: an address from the one that was freed or allocated k times ago, a stack from
 * the stack before it, a size from the stack.
 *
 *     u32 size of each column, then the columns:
 *     TAGS        a byte an event: kind in the lower 3 bits, delta above, 31 when it is in the next column
 *     DELTAS      those of 31 and more
 *     REUSED      ALLOC: k when the address is that of the k-th last FREE, 0 when it is in the next column
 *     PLACES      ALLOC: difference to the ALLOC before
 *     RELEASED    FREE: k when the address is that of the k-th last ALLOC, 0 when it is in the next column
 *     STRAYS      FREE: difference to the FREE before
 *     STACKS      ALLOC: 0 for the one that followed the previous one last time, or 1 + id
 *     SIZES       ALLOC: 0 for the size that its stack had last time, or 1 + size
 *     THREADS     ALLOC: 0 for that of the ALLOC before, or 1 + id
 *     REST        GC: objects, bytes; MARKER: name; others: type, size, payload
 *
 * All are varints except tags, types and payloads. Differences are of addresses rotated right by 4 bits, with the sign
 * in the lowest bit. "Last time" is remembered by the lower 10 bits of a stack. Every block starts without memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "mlyze/private.h"

enum { TAGS, DELTAS, REUSED, PLACES, RELEASED, STRAYS, STACKS, SIZES, THREADS, REST, COLUMN_COUNT };

#define TABLE_SIZE (4 * COLUMN_COUNT)

_Static_assert(COLUMN_COUNT == SXT_MLYZE_COLUMN_COUNT, "the sizes of all columns come first");
#define DELTA_BEYOND 31
#define MEMORY       1024 /* stacks whose last size and successor are known */

/* No block has more, because their events have at least 3 and 10 bytes. */
#define EVENTS_MOST    (SXT_MLYZE_BLOCK_MOST / 3 + 1)
#define ADDRESSES_MOST (SXT_MLYZE_BLOCK_MOST / 10 + 1)

/* What writer and reader remember. */
struct memory {
    uint32_t successor[MEMORY];
    uint64_t size[MEMORY];
    uint32_t stack;
    uint16_t thread;
    uint64_t allocated, freed; /* the last addresses */
};

static uint64_t rotate_right(uint64_t address)
{
    return address >> 4 | address << 60;
}

static uint64_t rotate_left(uint64_t address)
{
    return address << 4 | address >> 60;
}

/* --- making them --- */

#define PLACE_BITS  14
#define PROBES_MOST 16

/* When an address was last allocated and freed; counted from 1. */
struct place {
    uint64_t address;
    uint32_t allocated, freed;
};

struct making {
    struct memory memory;
    struct sxt_buffer columns[COLUMN_COUNT];
    struct place places[1 << PLACE_BITS];
    struct place nowhere;
    uint32_t allocations, frees;
};

/* If the address is not found soon, it is written in full. */
static struct place *find_place(struct making *making, uint64_t address)
{
    size_t at = (size_t)((rotate_right(address) * 0x9e3779b97f4a7c15) >> (64 - PLACE_BITS));
    for (unsigned i = 0; i < PROBES_MOST; i++) {
        struct place *place = &making->places[(at + i) & ((1 << PLACE_BITS) - 1)];
        if (place->address == address && (place->allocated | place->freed) != 0)
            return place;
        if ((place->allocated | place->freed) == 0) {
            place->address = address;
            return place;
        }
    }
    making->nowhere = (struct place){0};
    return &making->nowhere;
}

static void put(struct making *making, unsigned column, uint64_t value)
{
    sxt_buffer_varint(&making->columns[column], value);
}

static void put_difference(struct making *making, unsigned column, uint64_t address, uint64_t before)
{
    put(making, column, sxt_zigzag_encode((int64_t)(rotate_right(address) - rotate_right(before))));
}

static void put_allocation(struct making *making, const sxt_trace_event *event)
{
    struct memory *memory = &making->memory;
    struct place *place = find_place(making, event->address);
    put(making, REUSED, place->freed != 0 ? making->frees - place->freed + 1 : 0);
    if (place->freed == 0)
        put_difference(making, PLACES, event->address, memory->allocated);
    place->allocated = ++making->allocations;
    memory->allocated = event->address;

    uint32_t *successor = &memory->successor[memory->stack % MEMORY];
    put(making, STACKS, event->stack == *successor ? 0 : (uint64_t)event->stack + 1);
    *successor = memory->stack = event->stack;
    uint64_t *size = &memory->size[event->stack % MEMORY];
    put(making, SIZES, event->size == *size ? 0 : event->size + 1);
    *size = event->size;
    put(making, THREADS, event->thread == memory->thread ? 0 : event->thread + 1u);
    memory->thread = event->thread;
}

static void put_free(struct making *making, const sxt_trace_event *event)
{
    struct place *place = find_place(making, event->address);
    put(making, RELEASED, place->allocated != 0 ? making->allocations - place->allocated + 1 : 0);
    if (place->allocated == 0)
        put_difference(making, STRAYS, event->address, making->memory.freed);
    place->freed = ++making->frees;
    making->memory.freed = event->address;
}

static void put_event(struct making *making, const sxt_trace_event *event, uint64_t delta)
{
    uint64_t small = delta < DELTA_BEYOND ? delta : DELTA_BEYOND;
    sxt_buffer_u8(&making->columns[TAGS], (uint8_t)(event->kind | small << 3));
    if (small == DELTA_BEYOND)
        put(making, DELTAS, delta);
    switch (event->kind) {
    case SXT_TRACE_ALLOC:
        put_allocation(making, event);
        break;
    case SXT_TRACE_FREE:
        put_free(making, event);
        break;
    case SXT_TRACE_GC:
        put(making, REST, event->objects);
        put(making, REST, event->size);
        break;
    case SXT_TRACE_MARKER:
        put(making, REST, event->stack);
        break;
    default:
        sxt_buffer_u8(&making->columns[REST], event->type);
        put(making, REST, event->size);
        sxt_buffer_append(&making->columns[REST], event->payload, event->size);
    }
}

/* The size of the event in its shortest form. */
static size_t shortest(const sxt_trace_event *event, uint64_t delta)
{
    size_t size = 1 + sxt_varint_size(delta);
    switch (event->kind) {
    case SXT_TRACE_ALLOC:
        return size + 10 + sxt_varint_size(event->size) + sxt_varint_size(event->stack);
    case SXT_TRACE_FREE:
        return size + 8;
    case SXT_TRACE_GC:
        return size + sxt_varint_size(event->objects) + sxt_varint_size(event->size);
    case SXT_TRACE_MARKER:
        return size + sxt_varint_size(event->stack);
    default:
        return size + sxt_varint_size(event->size) + event->size;
    }
}

static int put_events(struct making *making, struct sxt_mlyze_stream *stream, sxt_error *error)
{
    while (stream->next < stream->end) {
        sxt_trace_event event;
        const uint8_t *start = stream->next;
        uint64_t before = stream->time;
        if (sxt_mlyze_decode(stream, &event, 1) != 1)
            return sxt_mlyze_fail_fault(stream, SXT_NO_OFFSET, error);
        uint64_t delta = event.time - before;
        bool is_too_large = event.stack == UINT32_MAX || (event.kind == SXT_TRACE_ALLOC && event.size == UINT64_MAX);
        if (is_too_large || (size_t)(stream->next - start) != shortest(&event, delta))
            return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "a number is longer than it needs to be");
        put_event(making, &event, delta);
    }
    return SXT_OK;
}

static int join(struct making *making, struct sxt_buffer *out, sxt_error *error)
{
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        int status = sxt_buffer_status(&making->columns[i], error);
        if (status != SXT_OK)
            return status;
        sxt_buffer_u32le(out, (uint32_t)making->columns[i].size);
    }
    for (unsigned i = 0; i < COLUMN_COUNT; i++)
        sxt_buffer_append(out, making->columns[i].data, making->columns[i].size);
    return sxt_buffer_status(out, error);
}

int sxt_mlyze_columns_make(const uint8_t *events, size_t size, uint64_t time, struct sxt_buffer *out, sxt_error *error)
{
    struct making *making = calloc(1, sizeof *making);
    if (making == NULL)
        return sxt_fail_memory(error, sizeof *making);
    for (unsigned i = 0; i < COLUMN_COUNT; i++)
        sxt_buffer_init(&making->columns[i], SXT_MLYZE_COLUMNS_MOST);
    struct sxt_mlyze_stream stream = {.next = events, .end = events + size, .time = time};
    int status = put_events(making, &stream, error);
    if (status == SXT_OK)
        status = join(making, out, error);
    for (unsigned i = 0; i < COLUMN_COUNT; i++)
        sxt_buffer_free(&making->columns[i]);
    free(making);
    return status;
}

/* --- reading them --- */

struct column {
    const uint8_t *next, *end;
};

struct sxt_mlyze_columns {
    struct memory memory;
    struct column columns[COLUMN_COUNT];
    uint64_t time;
    uint64_t offset; /* of the block, for errors */
    bool is_damaged; /* the next event cannot be read, and the columns are out of step */
    uint32_t allocations, frees;
    uint64_t allocated[ADDRESSES_MOST];
    uint64_t freed[ADDRESSES_MOST];
};

struct sxt_mlyze_columns *sxt_mlyze_columns_new(void)
{
    return calloc(1, sizeof(struct sxt_mlyze_columns));
}

void sxt_mlyze_columns_free(struct sxt_mlyze_columns **columns)
{
    free(*columns);
    *columns = NULL;
}

int sxt_mlyze_columns_open(struct sxt_mlyze_columns *columns, const uint8_t *bytes, size_t size, uint64_t time,
                           uint64_t offset, sxt_error *error)
{
    size_t at = TABLE_SIZE;
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        size_t length = size >= TABLE_SIZE ? sxt_load_u32le(bytes + 4 * i) : SIZE_MAX;
        if (length > size - at)
            return sxt_fail(error, SXT_ERROR_FORMAT, offset, "the columns of a block do not fit in it");
        columns->columns[i] = (struct column){bytes + at, bytes + at + length};
        at += length;
    }
    size_t events = (size_t)(columns->columns[TAGS].end - columns->columns[TAGS].next);
    if (at != size || events > EVENTS_MOST)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "the columns of a block do not fit together");
    memset(&columns->memory, 0, sizeof columns->memory);
    columns->time = time;
    columns->offset = offset;
    columns->is_damaged = false;
    columns->allocations = columns->frees = 0;
    return SXT_OK;
}

static bool take(struct sxt_mlyze_columns *columns, unsigned which, uint64_t *value)
{
    struct column *column = &columns->columns[which];
    if (__builtin_expect(column->next < column->end && *column->next < 0x80, 1)) {
        *value = *column->next++;
        return true;
    }
    size_t taken = sxt_varint_decode(column->next, (size_t)(column->end - column->next), value);
    column->next += taken;
    return taken > 0;
}

static bool take_difference(struct sxt_mlyze_columns *columns, unsigned which, uint64_t before, uint64_t *address)
{
    uint64_t difference;
    if (!take(columns, which, &difference))
        return false;
    *address = rotate_left(rotate_right(before) + (uint64_t)sxt_zigzag_decode(difference));
    return true;
}

static bool take_allocation(struct sxt_mlyze_columns *columns, sxt_trace_event *event)
{
    struct memory *memory = &columns->memory;
    uint64_t distance, stack, size, thread, address;
    if (!take(columns, REUSED, &distance) || !take(columns, STACKS, &stack) || !take(columns, SIZES, &size) ||
        !take(columns, THREADS, &thread) || distance > columns->frees || columns->allocations == ADDRESSES_MOST)
        return false;
    if (distance > 0)
        address = columns->freed[columns->frees - distance];
    else if (!take_difference(columns, PLACES, memory->allocated, &address))
        return false;
    columns->allocated[columns->allocations++] = memory->allocated = address;

    uint32_t *successor = &memory->successor[memory->stack % MEMORY];
    if (stack > UINT32_MAX || thread > UINT16_MAX + 1)
        return false;
    if (stack > 0)
        *successor = (uint32_t)stack - 1;
    memory->stack = *successor;
    uint64_t *last_size = &memory->size[memory->stack % MEMORY];
    if (size > 0)
        *last_size = size - 1;
    if (thread > 0)
        memory->thread = (uint16_t)(thread - 1);
    event->thread = memory->thread;
    event->stack = memory->stack;
    event->address = address;
    event->size = *last_size;
    return true;
}

static bool take_free(struct sxt_mlyze_columns *columns, sxt_trace_event *event)
{
    uint64_t distance;
    if (!take(columns, RELEASED, &distance) || distance > columns->allocations || columns->frees == ADDRESSES_MOST)
        return false;
    if (distance > 0)
        event->address = columns->allocated[columns->allocations - distance];
    else if (!take_difference(columns, STRAYS, columns->memory.freed, &event->address))
        return false;
    columns->freed[columns->frees++] = columns->memory.freed = event->address;
    return true;
}

static bool take_rest(struct sxt_mlyze_columns *columns, sxt_trace_event *event)
{
    struct column *rest = &columns->columns[REST];
    uint64_t id;
    switch (event->kind) {
    case SXT_TRACE_GC:
        return take(columns, REST, &event->objects) && take(columns, REST, &event->size);
    case SXT_TRACE_MARKER:
        if (!take(columns, REST, &id) || id >= UINT32_MAX)
            return false;
        event->stack = (uint32_t)id;
        return true;
    case SXT_TRACE_OTHER:
        if (rest->next == rest->end)
            return false;
        event->type = *rest->next++;
        if (event->type < SXT_TRACE_OTHER || event->type >= SXT_MLYZE_TYPE_END || !take(columns, REST, &event->size) ||
            (uint64_t)(rest->end - rest->next) < event->size)
            return false;
        event->payload = rest->next;
        rest->next += event->size;
        return true;
    default:
        return false;
    }
}

static bool take_event(struct sxt_mlyze_columns *columns, sxt_trace_event *event)
{
    uint8_t tag = *columns->columns[TAGS].next;
    uint64_t delta = tag >> 3;
    *event = (sxt_trace_event){.kind = tag & 7};
    if ((delta == DELTA_BEYOND && !take(columns, DELTAS, &delta)) || !sxt_add_u64(columns->time, delta, &event->time))
        return false;
    bool taken;
    if (event->kind == SXT_TRACE_ALLOC)
        taken = take_allocation(columns, event);
    else
        taken = event->kind == SXT_TRACE_FREE ? take_free(columns, event) : take_rest(columns, event);
    if (!taken)
        return false;
    columns->columns[TAGS].next++;
    columns->time = event->time;
    return true;
}

static bool all_read(const struct sxt_mlyze_columns *columns)
{
    bool all = true;
    for (unsigned i = 0; i < COLUMN_COUNT; i++)
        all = all && columns->columns[i].next == columns->columns[i].end;
    return all;
}

int sxt_mlyze_columns_read(struct sxt_mlyze_columns *columns, sxt_trace_event *events, size_t capacity, size_t *count,
                           uint64_t *time, sxt_error *error)
{
    size_t made = 0;
    const struct column *tags = &columns->columns[TAGS];
    while (made < capacity && tags->next < tags->end && !columns->is_damaged) {
        columns->is_damaged = !take_event(columns, &events[made]);
        made += !columns->is_damaged;
    }
    *count = made;
    *time = columns->time;
    if (made > 0 || capacity == 0 || all_read(columns))
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_FORMAT, columns->offset, "the columns of a block contradict each other");
}
