/*
 * spool_mappings.c: the mappings of a program.
 *
 * A region is a range of anonymous memory with one history. One that is accessible is a block; one that is not
 * (PROT_NONE) is address space without memory, and no block. Regions do not overlap, and are sorted by address in
 * chunks: a program may have many, and most calls concern one.
 */
#include "mlyze/spool_mappings.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "mlyze/private.h"

#define CHUNK_MOST 128

/*
 * One call may concern all regions. Programs do not do that again and again, but a damaged file may: so the regions
 * that are visited are counted, and a region that changes counts as several.
 */
#define WORK_FREE    ((uint64_t)1 << 24)
#define WORK_OF_CALL 1024 /* in addition, for each */
#define WORK_CHANGE  16
#define REGIONS_MOST ((size_t)1 << 22)

struct region {
    uint64_t start, end;
    uint32_t stack, thread;
    bool is_accessible;
    bool is_block; /* an ALLOC was given out for it; of a sample, not all have one */
};

struct chunk {
    size_t count; /* never 0 */
    struct region regions[CHUNK_MOST];
};

/* A part of a mapping that was moved away, and did not arrive yet. */
struct moved {
    uint32_t stream;
    uint64_t offset, size; /* from the beginning of what is moved */
    bool is_accessible;
};

struct sxt_mappings {
    struct chunk **chunks;
    size_t chunk_count, chunk_capacity;
    struct moved *moved;
    size_t moved_count, moved_capacity;
    struct sxt_mapping_event *events; /* of the current call: first all FREEs, then all ALLOCs */
    size_t event_count, event_capacity;
    struct sxt_mapping_event *allocs; /* to be added to them */
    size_t alloc_count, alloc_capacity;
    double period;
    uint64_t random;
    size_t region_count;
    uint64_t work, work_most;
    bool no_memory;
    bool has_failed; /* no_memory, or there is too much to do */
};

struct sxt_mappings *sxt_mappings_new(uint64_t period)
{
    struct sxt_mappings *mappings = calloc(1, sizeof *mappings);
    if (mappings != NULL) {
        mappings->period = (double)period;
        mappings->work_most = WORK_FREE;
    }
    return mappings;
}

void sxt_mappings_free(struct sxt_mappings **mappings)
{
    if (*mappings == NULL)
        return;
    for (size_t i = 0; i < (*mappings)->chunk_count; i++)
        free((*mappings)->chunks[i]);
    free((*mappings)->chunks);
    free((*mappings)->moved);
    free((*mappings)->events);
    free((*mappings)->allocs);
    free(*mappings);
    *mappings = NULL;
}

static void fail_memory(struct sxt_mappings *mappings)
{
    mappings->no_memory = mappings->has_failed = true;
}

static void count_work(struct sxt_mappings *mappings, uint64_t work)
{
    mappings->work += work;
    mappings->has_failed |= mappings->work > mappings->work_most;
}

bool sxt_mappings_is_too_much(const struct sxt_mappings *mappings)
{
    return mappings->has_failed && !mappings->no_memory;
}

/* --- blocks --- */

static void add_event(struct sxt_mappings *mappings, struct sxt_mapping_event event)
{
    struct sxt_mapping_event **list = event.is_alloc ? &mappings->allocs : &mappings->events;
    size_t *count = event.is_alloc ? &mappings->alloc_count : &mappings->event_count;
    size_t *capacity = event.is_alloc ? &mappings->alloc_capacity : &mappings->event_capacity;
    void *grown = sxt_array_grow(*list, capacity, *count + 1, sizeof **list);
    if (grown == NULL) {
        fail_memory(mappings);
        return;
    }
    *list = grown;
    (*list)[(*count)++] = event;
}

/* A number from 0 to 1. */
static double next_random(struct sxt_mappings *mappings)
{
    uint64_t x = mappings->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* Of a sample, a block of SIZE bytes is part with the probability that the analysis assumes. */
static bool is_in_sample(struct sxt_mappings *mappings, uint64_t size)
{
    return mappings->period == 0 || next_random(mappings) < sxt_one_minus_exp((double)size / mappings->period);
}

static void end_block(struct sxt_mappings *mappings, struct region *region)
{
    if (region->is_block)
        add_event(mappings, (struct sxt_mapping_event){.address = region->start});
    region->is_block = false;
}

static void begin_block(struct sxt_mappings *mappings, struct region *region)
{
    uint64_t size = region->end - region->start;
    region->is_block = region->is_accessible && is_in_sample(mappings, size);
    if (region->is_block)
        add_event(mappings, (struct sxt_mapping_event){.is_alloc = true,
                                                       .address = region->start,
                                                       .size = size,
                                                       .stack = region->stack,
                                                       .thread = region->thread});
}

/* --- the sorted list --- */

struct position {
    size_t chunk, index; /* chunk == chunk_count: the end */
};

/* The first region that ends after ADDRESS. */
static struct position find(const struct sxt_mappings *mappings, uint64_t address)
{
    size_t low = 0, high = mappings->chunk_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct chunk *chunk = mappings->chunks[middle];
        if (chunk->regions[chunk->count - 1].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    struct position found = {low, 0};
    if (low == mappings->chunk_count)
        return found;
    const struct chunk *chunk = mappings->chunks[low];
    for (high = chunk->count - 1; found.index < high;) {
        size_t middle = found.index + (high - found.index) / 2;
        if (chunk->regions[middle].end <= address)
            found.index = middle + 1;
        else
            high = middle;
    }
    return found;
}

static struct region *at(const struct sxt_mappings *mappings, struct position position)
{
    return position.chunk < mappings->chunk_count ? &mappings->chunks[position.chunk]->regions[position.index] : NULL;
}

/* Makes room for a chunk at INDEX. */
static struct chunk *insert_chunk(struct sxt_mappings *mappings, size_t index)
{
    struct chunk *chunk = calloc(1, sizeof *chunk);
    void *grown = chunk == NULL ? NULL
                                : sxt_array_grow(mappings->chunks, &mappings->chunk_capacity, mappings->chunk_count + 1,
                                                 sizeof *mappings->chunks);
    if (grown == NULL) {
        fail_memory(mappings);
        free(chunk);
        return NULL;
    }
    mappings->chunks = grown;
    memmove(&mappings->chunks[index + 1], &mappings->chunks[index],
            (mappings->chunk_count - index) * sizeof *mappings->chunks);
    mappings->chunks[index] = chunk;
    mappings->chunk_count++;
    return chunk;
}

/* A full chunk becomes two. */
static bool split_chunk(struct sxt_mappings *mappings, size_t index)
{
    struct chunk *second = insert_chunk(mappings, index + 1);
    if (second == NULL)
        return false;
    struct chunk *first = mappings->chunks[index];
    second->count = first->count / 2;
    first->count -= second->count;
    memcpy(second->regions, first->regions + first->count, second->count * sizeof *second->regions);
    return true;
}

static void insert(struct sxt_mappings *mappings, struct region region)
{
    if (region.start >= region.end)
        return;
    struct position position = find(mappings, region.start);
    if (position.chunk == mappings->chunk_count && position.chunk > 0)
        position = (struct position){position.chunk - 1, mappings->chunks[position.chunk - 1]->count};
    else if (mappings->chunk_count == 0 && insert_chunk(mappings, 0) == NULL)
        return;
    if (mappings->chunks[position.chunk]->count == CHUNK_MOST) {
        if (!split_chunk(mappings, position.chunk))
            return;
        size_t first = mappings->chunks[position.chunk]->count;
        if (position.index > first)
            position = (struct position){position.chunk + 1, position.index - first};
    }
    struct chunk *chunk = mappings->chunks[position.chunk];
    memmove(&chunk->regions[position.index + 1], &chunk->regions[position.index],
            (chunk->count - position.index) * sizeof *chunk->regions);
    chunk->regions[position.index] = region;
    chunk->count++;
    mappings->has_failed |= ++mappings->region_count > REGIONS_MOST;
}

static void remove_at(struct sxt_mappings *mappings, struct position position)
{
    struct chunk *chunk = mappings->chunks[position.chunk];
    chunk->count--;
    mappings->region_count--;
    memmove(&chunk->regions[position.index], &chunk->regions[position.index + 1],
            (chunk->count - position.index) * sizeof *chunk->regions);
    if (chunk->count > 0)
        return;
    free(chunk);
    mappings->chunk_count--;
    memmove(&mappings->chunks[position.chunk], &mappings->chunks[position.chunk + 1],
            (mappings->chunk_count - position.chunk) * sizeof *mappings->chunks);
}

/* --- calls --- */

/* Inserts a region, which is a block if it is accessible. */
static void begin_region(struct sxt_mappings *mappings, struct region region)
{
    if (region.start >= region.end)
        return;
    begin_block(mappings, &region);
    insert(mappings, region);
}

/* Takes the part from START to END of a region out of the list. What is left of it begins again. */
static void take_out(struct sxt_mappings *mappings, struct position position, uint64_t start, uint64_t end)
{
    struct region before = *at(mappings, position), after = before;
    count_work(mappings, WORK_CHANGE);
    end_block(mappings, at(mappings, position));
    remove_at(mappings, position);
    before.end = start;
    after.start = end;
    begin_region(mappings, before);
    begin_region(mappings, after);
}

typedef void part_found(struct sxt_mappings *mappings, const struct region *part, void *context);

/* Finds the first part of a region between START and END. False: there is none. */
static bool find_part(const struct sxt_mappings *mappings, uint64_t start, uint64_t end, struct position *position,
                      struct region *part)
{
    *position = find(mappings, start);
    const struct region *region = at(mappings, *position);
    if (region == NULL || region->start >= end)
        return false;
    *part = *region;
    part->start = part->start > start ? part->start : start;
    part->end = part->end < end ? part->end : end;
    return true;
}

/* Takes the parts of regions between START and END out of the list, and calls FOUND, which may be NULL, with each. */
static void clear(struct sxt_mappings *mappings, uint64_t start, uint64_t end, part_found *found, void *context)
{
    struct position position;
    struct region part;
    while (!mappings->has_failed && find_part(mappings, start, end, &position, &part)) {
        take_out(mappings, position, part.start, part.end);
        start = part.end;
        if (found != NULL)
            found(mappings, &part, context);
    }
}

struct protection {
    bool is_accessible;
    uint32_t stack, thread;
};

/* The end of the regions from POSITION to END that are accessible, or not, like the first one. */
static uint64_t skip_alike(struct sxt_mappings *mappings, struct position position, uint64_t end)
{
    const struct region *region = at(mappings, position);
    bool is_accessible = region->is_accessible;
    uint64_t skipped = region->end, visited = 0;
    while (region != NULL && region->start < end && region->is_accessible == is_accessible) {
        skipped = region->end;
        visited++;
        if (++position.index == mappings->chunks[position.chunk]->count)
            position = (struct position){position.chunk + 1, 0};
        region = at(mappings, position);
    }
    count_work(mappings, visited);
    return skipped;
}

/*
 * The part of a region that changes. A region that is accessible and stays so is not touched: most calls of mprotect
 * concern code, and change nothing here.
 */
static void protect(struct sxt_mappings *mappings, uint64_t start, uint64_t end, const struct protection *how)
{
    struct position position;
    struct region part;
    while (start < end && !mappings->has_failed && find_part(mappings, start, end, &position, &part)) {
        if (part.is_accessible == how->is_accessible) {
            start = skip_alike(mappings, position, end);
            continue;
        }
        start = part.end;
        take_out(mappings, position, part.start, part.end);
        part.is_accessible = how->is_accessible;
        part.is_block = false;
        part.stack = how->stack;
        part.thread = how->thread;
        begin_region(mappings, part);
    }
}

/* Forgets what was moved away by a stream. */
static void forget_moved(struct sxt_mappings *mappings, uint32_t stream)
{
    size_t kept = 0;
    count_work(mappings, mappings->moved_count);
    for (size_t i = 0; i < mappings->moved_count; i++)
        if (mappings->moved[i].stream != stream)
            mappings->moved[kept++] = mappings->moved[i];
    mappings->moved_count = kept;
}

struct leaving {
    uint32_t stream;
    uint64_t start;
};

static void remember_moved(struct sxt_mappings *mappings, const struct region *part, void *context)
{
    const struct leaving *leaving = context;
    void *grown =
        sxt_array_grow(mappings->moved, &mappings->moved_capacity, mappings->moved_count + 1, sizeof *mappings->moved);
    if (grown == NULL) {
        fail_memory(mappings);
        return;
    }
    mappings->moved = grown;
    mappings->moved[mappings->moved_count++] = (struct moved){.stream = leaving->stream,
                                                              .offset = part->start - leaving->start,
                                                              .size = part->end - part->start,
                                                              .is_accessible = part->is_accessible};
}

/* What is mapped from START to END will be copied to another place. */
static void remember_copied(struct sxt_mappings *mappings, uint64_t start, uint64_t end, uint32_t stream)
{
    struct leaving leaving = {stream, start};
    while (start < end && !mappings->has_failed) {
        count_work(mappings, WORK_CHANGE);
        const struct region *region = at(mappings, find(mappings, start));
        if (region == NULL || region->start >= end)
            break;
        struct region part = *region;
        part.start = part.start > start ? part.start : start;
        part.end = part.end < end ? part.end : end;
        start = part.end;
        remember_moved(mappings, &part, &leaving);
    }
}

/* What was moved away arrives from START to END. If there is more room, the last part grows. */
static void arrive(struct sxt_mappings *mappings, uint64_t start, uint64_t end, uint32_t stream,
                   const struct protection *how)
{
    const struct moved *last = NULL;
    clear(mappings, start, end, NULL, NULL);
    for (size_t i = 0; i < mappings->moved_count; i++)
        if (mappings->moved[i].stream == stream)
            last = &mappings->moved[i];
    for (size_t i = 0; i < mappings->moved_count && !mappings->has_failed; i++) {
        const struct moved *moved = &mappings->moved[i];
        if (moved->stream != stream || moved->offset >= end - start)
            continue;
        uint64_t most = end - start - moved->offset;
        uint64_t size = moved == last || moved->size > most ? most : moved->size;
        begin_region(mappings, (struct region){.start = start + moved->offset,
                                               .end = start + moved->offset + size,
                                               .stack = how->stack,
                                               .thread = how->thread,
                                               .is_accessible = moved->is_accessible});
    }
    forget_moved(mappings, stream);
}

/* The mapping that ends at OLD_END ends at END now. */
static void grow(struct sxt_mappings *mappings, uint64_t old_end, uint64_t end, const struct protection *how)
{
    clear(mappings, old_end, end, NULL, NULL);
    struct position position = find(mappings, old_end - 1);
    const struct region *region = at(mappings, position);
    if (region == NULL || region->start >= old_end || region->end != old_end)
        return;
    struct region grown = *region;
    take_out(mappings, position, grown.start, grown.end);
    grown.end = end;
    grown.stack = how->stack;
    grown.thread = how->thread;
    begin_region(mappings, grown);
}

static void take(struct sxt_mappings *mappings, const struct sxt_spool_mapping *call, uint32_t stream, uint32_t thread)
{
    uint64_t start = call->address, end = start + call->size, old_end = call->old_address + call->old_size;
    struct protection how = {call->is_accessible != 0, call->stack, thread};
    if (call->size == 0 || end <= start || old_end < call->old_address)
        return;
    struct leaving leaving = {stream, start};
    switch ((enum sxt_spool_mapping_call)call->call) {
    case SXT_SPOOL_MAP:
        clear(mappings, start, end, NULL, NULL);
        begin_region(mappings, (struct region){.start = start,
                                               .end = end,
                                               .stack = call->stack,
                                               .thread = thread,
                                               .is_accessible = how.is_accessible});
        break;
    case SXT_SPOOL_UNMAP:
        clear(mappings, start, end, NULL, NULL);
        break;
    case SXT_SPOOL_PROTECT:
        protect(mappings, start, end, &how);
        break;
    case SXT_SPOOL_MOVE_OUT:
        forget_moved(mappings, stream);
        clear(mappings, start, end, remember_moved, &leaving);
        break;
    case SXT_SPOOL_MOVE_IN:
        arrive(mappings, start, end, stream, &how);
        break;
    case SXT_SPOOL_COPY:
        forget_moved(mappings, stream);
        remember_copied(mappings, call->old_address, old_end, stream);
        arrive(mappings, start, end, stream, &how);
        break;
    case SXT_SPOOL_GROW:
        if (old_end > start && old_end < end)
            grow(mappings, old_end, end, &how);
        break;
    }
}

const struct sxt_mapping_event *sxt_mappings_take(struct sxt_mappings *mappings, const struct sxt_spool_mapping *call,
                                                  uint32_t stream, uint32_t thread, size_t *count)
{
    static const struct sxt_mapping_event none;
    mappings->event_count = mappings->alloc_count = *count = 0;
    mappings->work_most += WORK_OF_CALL;
    take(mappings, call, stream, thread);
    for (size_t i = 0; i < mappings->alloc_count && !mappings->has_failed; i++) {
        void *grown = sxt_array_grow(mappings->events, &mappings->event_capacity, mappings->event_count + 1,
                                     sizeof *mappings->events);
        if (grown == NULL) {
            fail_memory(mappings);
            break;
        }
        mappings->events = grown;
        mappings->events[mappings->event_count++] = mappings->allocs[i];
    }
    if (mappings->has_failed)
        return NULL;
    *count = mappings->event_count;
    return *count > 0 ? mappings->events : &none;
}

/* --- saving --- */

enum { IS_ACCESSIBLE = 1, IS_BLOCK = 2 };

void sxt_mappings_save(const struct sxt_mappings *mappings, struct sxt_buffer *out)
{
    uint64_t count = 0;
    for (size_t i = 0; i < mappings->chunk_count; i++)
        count += mappings->chunks[i]->count;
    sxt_buffer_u64le(out, mappings->random);
    sxt_buffer_u64le(out, count);
    for (size_t i = 0; i < mappings->chunk_count; i++)
        for (size_t k = 0; k < mappings->chunks[i]->count; k++) {
            const struct region *region = &mappings->chunks[i]->regions[k];
            sxt_buffer_u64le(out, region->start);
            sxt_buffer_u64le(out, region->end);
            sxt_buffer_u32le(out, region->stack);
            sxt_buffer_u32le(out, region->thread);
            sxt_buffer_u8(out,
                          (uint8_t)((region->is_accessible ? IS_ACCESSIBLE : 0) | (region->is_block ? IS_BLOCK : 0)));
        }
    sxt_buffer_u64le(out, mappings->moved_count);
    for (size_t i = 0; i < mappings->moved_count; i++) {
        sxt_buffer_u32le(out, mappings->moved[i].stream);
        sxt_buffer_u64le(out, mappings->moved[i].offset);
        sxt_buffer_u64le(out, mappings->moved[i].size);
        sxt_buffer_u8(out, mappings->moved[i].is_accessible);
    }
}

static bool load_regions(struct sxt_mappings *mappings, struct sxt_cursor *from, const uint32_t *stack_numbers)
{
    enum { EACH = 25 };
    uint64_t count = sxt_cursor_u64(from), end = 0;
    if (count > sxt_cursor_left(from) / EACH)
        return false;
    for (uint64_t i = 0; i < count && !mappings->has_failed; i++) {
        struct region region = {.start = sxt_cursor_u64(from)};
        region.end = sxt_cursor_u64(from);
        region.stack = sxt_cursor_u32(from);
        region.thread = sxt_cursor_u32(from);
        unsigned flags = sxt_cursor_u8(from);
        region.is_accessible = (flags & IS_ACCESSIBLE) != 0;
        region.is_block = (flags & IS_BLOCK) != 0;
        uint32_t stack = region.stack < SXT_SPOOL_STACKS_MOST ? region.stack : SXT_SPOOL_NO_STACK;
        if (region.start < end || region.end <= region.start || stack_numbers[stack] == 0)
            return false;
        end = region.end;
        insert(mappings, region);
    }
    return true;
}

static bool load_moved(struct sxt_mappings *mappings, struct sxt_cursor *from)
{
    enum { EACH = 21 };
    uint64_t count = sxt_cursor_u64(from);
    if (count > sxt_cursor_left(from) / EACH)
        return false;
    for (uint64_t i = 0; i < count && !mappings->has_failed; i++) {
        struct leaving leaving = {.stream = sxt_cursor_u32(from)};
        struct region part = {.start = sxt_cursor_u64(from)};
        uint64_t size = sxt_cursor_u64(from);
        part.is_accessible = sxt_cursor_u8(from) != 0;
        if (!sxt_add_u64(part.start, size, &part.end))
            return false;
        remember_moved(mappings, &part, &leaving);
    }
    return true;
}

struct sxt_mappings *sxt_mappings_load(struct sxt_cursor *from, uint64_t period, const uint32_t *stack_numbers)
{
    struct sxt_mappings *mappings = sxt_mappings_new(period);
    if (mappings == NULL)
        return NULL;
    mappings->random = sxt_cursor_u64(from);
    if (!load_regions(mappings, from, stack_numbers) || !load_moved(mappings, from) || mappings->has_failed ||
        from->failed)
        sxt_mappings_free(&mappings);
    return mappings;
}
