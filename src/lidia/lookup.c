/*
 * lookup.c: from an address to its chain of frames, straight from the file's bytes.
 *
 * A lookup searches the addresses once, then visits the enclosing rows: by the index if the file has one, otherwise
 * back row by row to depth 0, as other readers do.
 */
#include <string.h>

#include "base/bytes.h"
#include "lidia/lidia.h"

#define NO_ROW UINT64_MAX
#define GROUP  16 /* addresses of a batch that are looked up together */
/* So few rows that all of them are requested from memory before one is chosen. */
#define FEW_ROWS 16

/* The last answer of a batch. */
struct answer {
    uint64_t row;
    uint64_t address;
    const sxt_frame *frames;
    size_t count;
    struct sxt_lidia_row innermost; /* the row of the first frame, as far as its lines are concerned */
};

static uint64_t search(const struct sxt_lidia *lidia, uint64_t address);
static bool is_ascending(const uint64_t *addresses, size_t count);
static void find_ascending(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, uint64_t finger,
                           uint64_t *rows);
static void find_together(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, uint64_t *rows);
static bool holds_again(const struct answer *last, uint64_t address, size_t room);
static uint32_t line_at(const struct sxt_lidia *lidia, const struct sxt_lidia_row *row, uint64_t offset);
static size_t chain_at(const struct sxt_lidia *lidia, uint64_t address, uint64_t row_index, sxt_frame *frames,
                       size_t capacity, struct sxt_lidia_row *innermost);

uint64_t sxt_lidia_search(const struct sxt_lidia *lidia, uint64_t address)
{
    return lidia->partial != NULL ? sxt_lidia_search_partial(lidia, address) : search(lidia, address);
}

size_t sxt_lidia_lookup(const struct sxt_lidia *lidia, uint64_t address, sxt_frame *frames, size_t capacity)
{
    struct sxt_lidia_row innermost;
    return chain_at(lidia, address, sxt_lidia_search(lidia, address), frames, capacity, &innermost);
}

/* One after another: the search is different, because not all addresses of the file are here. */
static size_t lookup_batch_partial(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count,
                                   sxt_frame *frames, size_t capacity, size_t *first)
{
    size_t used = 0;
    first[0] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t found = sxt_lidia_lookup(lidia, addresses[i], capacity > 0 ? frames + used : NULL, capacity - used);
        if (found > capacity - used)
            return i;
        used += found;
        first[i + 1] = used;
    }
    return count;
}

/*
 * Addresses are taken in small groups. In an ascending group each search starts where the last one ended, and
 * neighbours often share most of their answer. In any other group each step is done for all addresses before the next
 * step: while one row is being loaded from memory, the others are requested too.
 */
size_t sxt_lidia_lookup_batch(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, sxt_frame *frames,
                              size_t capacity, size_t *first)
{
    size_t used = 0;
    struct answer last = {.row = NO_ROW};
    if (lidia->partial != NULL)
        return lookup_batch_partial(lidia, addresses, count, frames, capacity, first);
    first[0] = 0;
    for (size_t at = 0; at < count; at += GROUP) {
        uint64_t rows[GROUP] = {0};
        size_t size = count - at < GROUP ? count - at : GROUP;
        if (is_ascending(addresses + at, size))
            find_ascending(lidia, addresses + at, size, last.row, rows);
        else
            find_together(lidia, addresses + at, size, rows);
        for (size_t i = 0; i < size; i++) {
            uint64_t address = addresses[at + i];
            sxt_frame *room = capacity > 0 ? frames + used : NULL;
            if (rows[i] != last.row || !holds_again(&last, address, capacity - used)) {
                last.count = chain_at(lidia, address, rows[i], room, capacity - used, &last.innermost);
                last.row = rows[i];
                /* Names are not read here, but the caller will surely read them soon. */
                for (size_t k = 0; k < last.count && k < capacity - used; k++)
                    __builtin_prefetch(room[k].function.data);
            } else if (last.count > 0) {
                memmove(room, last.frames, last.count * sizeof *frames);
                room->line = line_at(lidia, &last.innermost, address - last.innermost.address);
            }
            if (last.count > capacity - used)
                return at + i;
            last.address = address;
            last.frames = room;
            used += last.count;
            first[at + i + 1] = used;
        }
    }
    return count;
}

/*
 * Is the answer for ADDRESS the last answer except for the line? Both have the same last row, so no range begins
 * between them; the answer is the same if none of its ranges has ended. (NO_ROW has no frames.)
 */
static bool holds_again(const struct answer *last, uint64_t address, size_t room)
{
    if (address < last->address || last->count > room)
        return false;
    for (size_t i = 0; i < last->count; i++)
        if (address - last->frames[i].start >= last->frames[i].length)
            return false;
    return true;
}

/* The numbers come from the file, and may point anywhere. */
static inline void prefetch(const uint8_t *table, uint64_t offset)
{
    __builtin_prefetch((const void *)((uintptr_t)table + (uintptr_t)offset));
}

/* Field INDEX of a row. */
static inline uint64_t field(const uint8_t *row, unsigned index, unsigned field_size)
{
    return field_size == 4 ? sxt_load_u32le(row + index * 4) : sxt_load_u64le(row + index * 8);
}

static inline uint64_t address_at(const struct sxt_lidia *lidia, uint64_t index)
{
    return lidia->address_size == 4 ? sxt_load_u32le(lidia->addresses + index * 4)
                                    : sxt_load_u64le(lidia->addresses + index * 8);
}

/*
 * The last of COUNT ascending values at or before ADDRESS, -1 when there is none. The half is selected by computation,
 * not by a branch: a processor would mispredict every other branch, which costs more than the step itself.
 */
static inline uint64_t search_4(const uint8_t *values, uint64_t count, uint32_t address)
{
    const uint8_t *base = values;
    while (count > 0) {
        uint64_t half = (count + 1) / 2;
        base += -(uint64_t)(sxt_load_u32le(base + (half - 1) * 4) <= address) & half * 4;
        count -= half;
    }
    return (uint64_t)(base - values) / 4 - 1;
}

static inline uint64_t search_8(const uint8_t *values, uint64_t count, uint64_t address)
{
    const uint8_t *base = values;
    while (count > 0) {
        uint64_t half = (count + 1) / 2;
        base += -(uint64_t)(sxt_load_u64le(base + (half - 1) * 8) <= address) & half * 8;
        count -= half;
    }
    return (uint64_t)(base - values) / 8 - 1;
}

/* The last row in [low, high) at or before ADDRESS, low - 1 when there is none. */
static uint64_t search_between(const struct sxt_lidia *lidia, uint64_t address, uint64_t low, uint64_t high)
{
    if (lidia->address_size == 8)
        return low + search_8(lidia->addresses + low * 8, high - low, address);
    return low +
           search_4(lidia->addresses + low * 4, high - low, address > UINT32_MAX ? UINT32_MAX : (uint32_t)address);
}

/*
 * The last row at or before ADDRESS in a file without an index. Each step loads three addresses at once, which takes
 * little longer than one. The steps are the same for every address, so a processor predicts them. When a few rows are
 * left, they are requested.
 */
__attribute__((always_inline)) static inline uint64_t search_sized(const struct sxt_lidia *lidia, uint64_t address,
                                                                   unsigned address_size)
{
    const uint8_t *addresses = lidia->addresses;
    uint64_t row_size = (uint64_t)SXT_LIDIA_FIELDS * lidia->field_size;
    uint64_t first = 0, count = lidia->count;
    while (count > FEW_ROWS) {
        uint64_t quarter = count / 4;
        uint64_t right =
            (uint64_t)(field(addresses + (first + quarter) * address_size, 0, address_size) <= address) +
            (uint64_t)(field(addresses + (first + 2 * quarter) * address_size, 0, address_size) <= address) +
            (uint64_t)(field(addresses + (first + 3 * quarter) * address_size, 0, address_size) <= address);
        first += right * quarter;
        count -= 3 * quarter;
    }
    for (uint64_t i = 0; i < FEW_ROWS; i += 2)
        prefetch(lidia->rows, (first + i) * row_size);
    uint64_t until = first;
    for (uint64_t i = 0; i < count; i++)
        until += field(addresses + (first + i) * address_size, 0, address_size) <= address;
    return until - 1;
}

static uint64_t search_unindexed(const struct sxt_lidia *lidia, uint64_t address)
{
    return lidia->address_size == 4 ? search_sized(lidia, address, 4) : search_sized(lidia, address, 8);
}

/* The rows to search for the last one at or before ADDRESS. If it is not among them, it is the one before them. */
static inline void narrow(const struct sxt_lidia *lidia, uint64_t address, uint64_t *low, uint64_t *high)
{
    *low = 0;
    *high = lidia->count;
    if (lidia->buckets == NULL || address < lidia->first_address)
        return;
    uint64_t bucket = (address - lidia->first_address) >> lidia->shift;
    if (bucket >= lidia->bucket_count)
        bucket = lidia->bucket_count - 1;
    uint64_t from = sxt_load_u32le(lidia->buckets + bucket * 4);
    uint64_t to = sxt_load_u32le(lidia->buckets + bucket * 4 + 4);
    if (from > to || to > lidia->count)
        return; /* a damaged index */
    *low = from;
    *high = to;
}

/* The last row at or before ADDRESS, NO_ROW when there is none. */
static uint64_t search(const struct sxt_lidia *lidia, uint64_t address)
{
    uint64_t low, high;
    if (lidia->buckets == NULL)
        return search_unindexed(lidia, address);
    narrow(lidia, address, &low, &high);
    /* The row is one of a few, so its fields can be prefetched already. */
    uint64_t row_size = (uint64_t)SXT_LIDIA_FIELDS * lidia->field_size;
    prefetch(lidia->rows, low * row_size);
    prefetch(lidia->rows, (low + 2) * row_size);
    prefetch(lidia->rows, (low + 4) * row_size);
    prefetch(lidia->name_sizes, low * 2);
    prefetch(lidia->parents, low * lidia->parent_size);
    return search_between(lidia, address, low, high);
}

/*
 * The same, starting at the last answer, for an address that is not before it. Often it is the same row. Otherwise the
 * search goes on in a bucket; without an index it goes on in steps that double until one is too long.
 */
static uint64_t search_from(const struct sxt_lidia *lidia, uint64_t address, uint64_t finger)
{
    uint64_t count = lidia->count;
    if (finger == NO_ROW || address < address_at(lidia, finger))
        return search(lidia, address);
    uint64_t low = finger;
    uint64_t step = 1;
    if (count - low == 1 || address < address_at(lidia, low + 1))
        return low;
    if (lidia->buckets != NULL)
        return search(lidia, address);
    while (step < count - low && address_at(lidia, low + step) <= address) {
        low += step;
        step *= 2;
    }
    uint64_t high = step < count - low ? low + step : count;
    return search_between(lidia, address, low + 1, high);
}

static bool is_ascending(const uint64_t *addresses, size_t count)
{
    bool ascending = true;
    for (size_t i = 1; i < count; i++)
        ascending &= addresses[i - 1] <= addresses[i];
    return ascending;
}

static void find_ascending(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, uint64_t finger,
                           uint64_t *rows)
{
    for (size_t i = 0; i < count; i++)
        finger = rows[i] = search_from(lidia, addresses[i], finger);
}

static void find_together(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, uint64_t *rows)
{
    uint64_t low[GROUP], high[GROUP];
    size_t row_size = (size_t)SXT_LIDIA_FIELDS * lidia->field_size;
    for (size_t i = 0; i < count; i++) {
        narrow(lidia, addresses[i], &low[i], &high[i]);
        /* With an index the answer is here or close by. Prefetching a wrong address is harmless. */
        prefetch(lidia->addresses, low[i] * lidia->address_size);
        prefetch(lidia->rows, low[i] * row_size);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = search_between(lidia, addresses[i], low[i], high[i]);
        if (rows[i] == NO_ROW)
            continue;
        __builtin_prefetch(lidia->rows + rows[i] * row_size);
        if (lidia->parents != NULL)
            __builtin_prefetch(lidia->parents + rows[i] * lidia->parent_size);
        if (lidia->name_sizes != NULL)
            __builtin_prefetch(lidia->name_sizes + rows[i] * 2);
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i] == NO_ROW)
            continue;
        const uint8_t *row = lidia->rows + rows[i] * row_size;
        uint64_t middle = field(row, 4, lidia->field_size) + field(row, 5, lidia->field_size) / 2;
        prefetch(lidia->lines, middle * 2 * lidia->line_size);
        prefetch(lidia->strings, field(row, 2, lidia->field_size));
        prefetch(lidia->strings, field(row, 3, lidia->field_size));
    }
}

/* The row to visit after row INDEX: the one around it, or without an index, the one before it. */
static uint64_t next_row(const struct sxt_lidia *lidia, uint64_t index)
{
    if (lidia->parents == NULL)
        return index - 1;
    uint64_t back = sxt_lidia_parent(lidia, index);
    return back == 0 || back > index ? NO_ROW : index - back;
}

/* The name of a function. The string is not read if the index has its size. */
static sxt_string name_of(const struct sxt_lidia *lidia, uint64_t index, uint64_t offset)
{
    uint64_t head = lidia->nul_strings ? 0 : 4;
    uint16_t size = lidia->name_sizes != NULL ? sxt_load_u16le(lidia->name_sizes + index * 2) : SXT_LIDIA_LONG_NAME;
    if (size != SXT_LIDIA_LONG_NAME && offset < lidia->strings_size && head + size <= lidia->strings_size - offset)
        return (sxt_string){(const char *)lidia->strings + offset + head, size};
    sxt_string name = sxt_lidia_string(lidia, offset);
    return name.data != NULL ? name : (sxt_string){"", 0};
}

/* The last of COUNT entries that begins at or before OFFSET; 0 when there is none. */
__attribute__((always_inline)) static inline uint32_t line_in(const uint8_t *entries, uint64_t count, uint64_t offset,
                                                              unsigned size)
{
    uint32_t found = 0;
    for (uint64_t low = 0, high = count; low < high;) {
        uint64_t middle = low + (high - low) / 2;
        const uint8_t *entry = entries + middle * 2 * size;
        uint32_t at = size == 2 ? sxt_load_u16le(entry) : sxt_load_u32le(entry);
        if (at <= offset) {
            found = size == 2 ? sxt_load_u16le(entry + 2) : sxt_load_u32le(entry + 4);
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found;
}

/* The line in effect OFFSET bytes into the row's range; 0 if the row has none. */
static uint32_t line_at(const struct sxt_lidia *lidia, const struct sxt_lidia_row *row, uint64_t offset)
{
    if (row->first_line >= lidia->line_count)
        return 0;
    uint64_t count = row->line_count;
    if (count > lidia->line_count - row->first_line)
        count = lidia->line_count - row->first_line;
    const uint8_t *entries = lidia->lines + row->first_line * 2 * lidia->line_size;
    return lidia->line_size == 2 ? line_in(entries, count, offset, 2) : line_in(entries, count, offset, 4);
}

/*
 * The frames at ADDRESS, when ROW_INDEX is the last row at or before it. The line of the innermost frame comes from its
 * own entries; the line of each outer frame is that of the call that was inlined into it. *INNERMOST gets the parts of
 * the innermost row that line_at needs. Inlined with constant sizes, so that only the fields that are needed are read.
 */
__attribute__((always_inline)) static inline size_t chain_sized(const struct sxt_lidia *lidia, uint64_t address,
                                                                uint64_t row_index, sxt_frame *frames, size_t capacity,
                                                                struct sxt_lidia_row *innermost, unsigned address_size,
                                                                unsigned field_size)
{
    size_t count = 0;
    uint64_t call_file = 0, call_line = 0;
    while (row_index != NO_ROW) {
        const uint8_t *row = lidia->rows + row_index * SXT_LIDIA_FIELDS * field_size;
        uint64_t start = field(lidia->addresses + row_index * address_size, 0, address_size);
        uint64_t length = field(row, 0, field_size);
        uint64_t depth = field(row, 1, field_size);
        /* Without an index, the size of the name is in front of it. */
        if (lidia->name_sizes == NULL)
            prefetch(lidia->strings, field(row, 2, field_size));
        if (address - start < length && address >= start) {
            uint64_t line = call_line;
            uint64_t own_file = field(row, 3, field_size);
            if (count == 0) {
                innermost->address = start;
                innermost->first_line = field(row, 4, field_size);
                innermost->line_count = field(row, 5, field_size);
                line = innermost->line_count != 0 ? line_at(lidia, innermost, address - start) : 0;
                call_file = own_file;
            }
            if (count < capacity) {
                sxt_string file = {NULL, 0};
                if (call_file != 0)
                    file = sxt_lidia_optional_string(lidia, call_file);
                if (file.data == NULL && own_file != 0)
                    file = sxt_lidia_optional_string(lidia, own_file);
                /* Set member by member: compilers would build a whole struct elsewhere and copy it. */
                sxt_frame *frame = &frames[count];
                frame->function = name_of(lidia, row_index, field(row, 2, field_size));
                frame->file = file;
                frame->line = line <= UINT32_MAX ? (uint32_t)line : 0;
                frame->depth = depth <= UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
                frame->start = start;
                frame->length = length;
                frame->reserved = 0;
            }
            count++;
            call_file = field(row, 6, field_size);
            call_line = field(row, 7, field_size);
        }
        if (depth == 0)
            break;
        row_index = next_row(lidia, row_index);
    }
    return count;
}

static size_t chain_at(const struct sxt_lidia *lidia, uint64_t address, uint64_t row_index, sxt_frame *frames,
                       size_t capacity, struct sxt_lidia_row *innermost)
{
    if (lidia->address_size == 4 && lidia->field_size == 4)
        return chain_sized(lidia, address, row_index, frames, capacity, innermost, 4, 4);
    if (lidia->address_size == 8 && lidia->field_size == 4)
        return chain_sized(lidia, address, row_index, frames, capacity, innermost, 8, 4);
    return chain_sized(lidia, address, row_index, frames, capacity, innermost, lidia->address_size, lidia->field_size);
}
