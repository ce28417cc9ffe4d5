/*
 * lookup.c: from an address to its chain of frames, straight from the file's bytes.
 *
 * One search in the addresses, then the rows that enclose: by the index where the file has one, otherwise back row by
 * row to depth 0, as other readers do.
 */
#include <string.h>

#include "base/bytes.h"
#include "lidia/lidia.h"

#define NO_ROW UINT64_MAX
#define GROUP  16 /* addresses of a batch that are looked up together */

static uint64_t search(const struct sxt_lidia *lidia, uint64_t address, uint64_t low, uint64_t high);
static void find_rows(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, uint64_t finger,
                      uint64_t *rows);
static void fetch_rows(const struct sxt_lidia *lidia, const uint64_t *rows, size_t count);
static size_t chain_at(const struct sxt_lidia *lidia, uint64_t address, uint64_t row_index, sxt_frame *frames,
                       size_t capacity);

size_t sxt_lidia_lookup(const struct sxt_lidia *lidia, uint64_t address, sxt_frame *frames, size_t capacity)
{
    return chain_at(lidia, address, search(lidia, address, 0, lidia->count), frames, capacity);
}

/*
 * Addresses are taken in small groups, and each step is done for the whole group before the next: while one row or
 * string is on its way from memory, the others are asked for too. Inside an ascending group each search starts where
 * the last one ended.
 */
size_t sxt_lidia_lookup_batch(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, sxt_frame *frames,
                              size_t capacity, size_t *first)
{
    size_t used = 0;
    uint64_t finger = NO_ROW;
    first[0] = 0;
    for (size_t at = 0; at < count; at += GROUP) {
        uint64_t rows[GROUP] = {0};
        size_t size = count - at < GROUP ? count - at : GROUP;
        find_rows(lidia, addresses + at, size, finger, rows);
        finger = rows[size - 1];
        fetch_rows(lidia, rows, size);
        for (size_t i = 0; i < size; i++) {
            size_t wanted = chain_at(lidia, addresses[at + i], rows[i], frames + used, capacity - used);
            if (wanted > capacity - used)
                return at + i;
            used += wanted;
            first[at + i + 1] = used;
        }
    }
    return count;
}

static inline uint64_t address_at(const struct sxt_lidia *lidia, uint64_t index)
{
    return lidia->address_size == 4 ? sxt_load_u32le(lidia->addresses + index * 4)
                                    : sxt_load_u64le(lidia->addresses + index * 8);
}

/* The last row in [low, high) at or before ADDRESS, low - 1 when there is none. The loops have no branch to mispredict.
 */
static uint64_t search(const struct sxt_lidia *lidia, uint64_t address, uint64_t low, uint64_t high)
{
    uint64_t length = high - low;
    if (lidia->address_size == 4) {
        const uint8_t *base = lidia->addresses + low * 4;
        uint32_t wanted = address > UINT32_MAX ? UINT32_MAX : (uint32_t)address;
        while (length > 0) {
            uint64_t half = (length + 1) / 2;
            base = sxt_load_u32le(base + (half - 1) * 4) <= wanted ? base + half * 4 : base;
            length -= half;
        }
        return (uint64_t)(base - lidia->addresses) / 4 - 1;
    }
    const uint8_t *base = lidia->addresses + low * 8;
    while (length > 0) {
        uint64_t half = (length + 1) / 2;
        base = sxt_load_u64le(base + (half - 1) * 8) <= address ? base + half * 8 : base;
        length -= half;
    }
    return (uint64_t)(base - lidia->addresses) / 8 - 1;
}

/* The same, starting near the last answer: a step, then steps of twice the size, then a search between the last two. */
static uint64_t search_from(const struct sxt_lidia *lidia, uint64_t address, uint64_t finger)
{
    uint64_t count = lidia->count;
    if (finger == NO_ROW || address < address_at(lidia, finger))
        return search(lidia, address, 0, count);
    uint64_t low = finger;
    uint64_t step = 1;
    while (step < count - low && address_at(lidia, low + step) <= address) {
        low += step;
        step *= 2;
    }
    uint64_t high = step < count - low ? low + step : count;
    return search(lidia, address, low + 1, high);
}

/* Searches of a group side by side: every step is the same for all, so their loads overlap. */
static void search_together(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, uint64_t *rows)
{
    uint64_t low[GROUP] = {0};
    for (uint64_t length = lidia->count; length > 0;) {
        uint64_t half = (length + 1) / 2;
        for (size_t i = 0; i < count; i++)
            low[i] += address_at(lidia, low[i] + half - 1) <= addresses[i] ? half : 0;
        length -= half;
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = low[i] - 1;
}

static void find_rows(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, uint64_t finger,
                      uint64_t *rows)
{
    bool ascending = true;
    for (size_t i = 1; i < count; i++)
        ascending &= addresses[i - 1] <= addresses[i];
    if (!ascending) {
        search_together(lidia, addresses, count, rows);
        return;
    }
    for (size_t i = 0; i < count; i++)
        finger = rows[i] = search_from(lidia, addresses[i], finger);
}

/* Asks for the rows, and then for what they point to. A prefetch of any address is harmless. */
static void fetch_rows(const struct sxt_lidia *lidia, const uint64_t *rows, size_t count)
{
    size_t row_size = (size_t)SXT_LIDIA_FIELDS * lidia->field_size;
    for (size_t i = 0; i < count; i++)
        if (rows[i] != NO_ROW)
            __builtin_prefetch(lidia->rows + rows[i] * row_size);
    for (size_t i = 0; i < count; i++) {
        if (rows[i] == NO_ROW)
            continue;
        const uint8_t *row = lidia->rows + rows[i] * row_size;
        uint64_t function = lidia->field_size == 4 ? sxt_load_u32le(row + 8) : sxt_load_u64le(row + 16);
        uint64_t line = lidia->field_size == 4 ? sxt_load_u32le(row + 16) : sxt_load_u64le(row + 32);
        if (function < lidia->strings_size)
            __builtin_prefetch(lidia->strings + function);
        if (line < lidia->line_count)
            __builtin_prefetch(lidia->lines + line * 2 * lidia->line_size);
    }
}

static uint64_t parent_of(const struct sxt_lidia *lidia, uint64_t index)
{
    const uint8_t *at = lidia->parents + index * lidia->parent_size;
    uint64_t back = lidia->parent_size == 1 ? *at : lidia->parent_size == 2 ? sxt_load_u16le(at) : sxt_load_u32le(at);
    return back == 0 || back > index ? NO_ROW : index - back;
}

/* The line in effect OFFSET bytes into the row's range; 0 when the row does not tell. */
static uint32_t line_at(const struct sxt_lidia *lidia, const struct sxt_lidia_row *row, uint64_t offset)
{
    uint32_t at, line, found = 0;
    uint64_t low = 0, high = row->line_count;
    if (row->first_line >= lidia->line_count)
        return 0;
    if (high > lidia->line_count - row->first_line)
        high = lidia->line_count - row->first_line;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (!sxt_lidia_line(lidia, row, middle, &at, &line))
            return 0;
        if (at <= offset) {
            found = line;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found;
}

/*
 * The frames at ADDRESS, when ROW_INDEX is the last row at or before it. The innermost frame has its line from its own
 * entries; each outer one stands at the call that the frame inside it was inlined from.
 */
static size_t chain_at(const struct sxt_lidia *lidia, uint64_t address, uint64_t row_index, sxt_frame *frames,
                       size_t capacity)
{
    size_t count = 0;
    uint64_t call_file = 0, call_line = 0;
    while (row_index != NO_ROW) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, row_index, &row);
        if (address - row.address < row.length && address >= row.address) {
            if (count < capacity) {
                sxt_string function = sxt_lidia_string(lidia, row.function);
                sxt_string file = sxt_lidia_optional_string(lidia, count > 0 ? call_file : row.file);
                if (count > 0 && file.data == NULL)
                    file = sxt_lidia_optional_string(lidia, row.file);
                uint64_t line = count > 0 ? call_line : line_at(lidia, &row, address - row.address);
                frames[count] = (sxt_frame){
                    .function = function.data != NULL ? function : (sxt_string){"", 0},
                    .file = file,
                    .line = line <= UINT32_MAX ? (uint32_t)line : 0,
                    .depth = row.depth <= UINT32_MAX ? (uint32_t)row.depth : UINT32_MAX,
                    .start = row.address,
                    .length = row.length,
                };
            }
            count++;
            call_file = row.call_file;
            call_line = row.call_line;
        }
        if (row.depth == 0)
            break;
        row_index = lidia->parents != NULL ? parent_of(lidia, row_index) : row_index - 1;
    }
    return count;
}
