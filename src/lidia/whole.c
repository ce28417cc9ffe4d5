/*
 * whole.c: finds the rows that one contiguous range was cut into.
 *
 *     depth 0  [ f  a.c ][ f  table.inc ][ f  a.c ]         rows in order of address, outer ones first
 *     depth 1     [ g   ][ g            ]
 *
 * The pieces of a range are contiguous and differ only in the file. Rows of other depths come between them.
 */
#include "base/search.h"
#include "lidia/lidia.h"

/* The most rows that are visited on either side: a range is cut a few times, not thousands of times. */
#define ROWS_MAX 4096

static bool is_same(const struct sxt_lidia_row *a, const struct sxt_lidia_row *b)
{
    return a->depth == b->depth && a->function == b->function && a->call_file == b->call_file &&
           a->call_line == b->call_line;
}

/* The row with that address and depth; COUNT when there is none. */
static uint64_t find_row(const struct sxt_lidia *lidia, uint64_t address, uint32_t depth, struct sxt_lidia_row *row)
{
    struct sxt_bisection search = {.high = lidia->count};
    while (sxt_bisect(&search)) {
        sxt_lidia_row(lidia, search.middle, row);
        sxt_bisect_after(&search, row->address < address || (row->address == address && row->depth < depth));
    }
    if (search.low == lidia->count)
        return lidia->count;
    sxt_lidia_row(lidia, search.low, row);
    return row->address == address && row->depth == depth ? search.low : lidia->count;
}

/* The nearest row of that depth before INDEX; COUNT if none is near. The parents in the index lead past deeper rows. */
static uint64_t row_before(const struct sxt_lidia *lidia, uint64_t index, uint64_t depth, struct sxt_lidia_row *row)
{
    for (uint64_t seen = 0; index > 0 && seen < ROWS_MAX; seen++) {
        sxt_lidia_row(lidia, --index, row);
        if (row->depth == depth)
            return index;
        uint64_t back = row->depth > depth && lidia->parents != NULL ? sxt_lidia_parent(lidia, index) : 0;
        if (back > 1 && back <= index)
            index -= back - 1;
    }
    return lidia->count;
}

void sxt_lidia_whole_range(const struct sxt_lidia *lidia, sxt_frame *frame)
{
    struct sxt_lidia_row row, other;
    uint64_t at = find_row(lidia, frame->start, frame->depth, &row);
    if (at == lidia->count)
        return;
    uint64_t start = row.address, end = row.address + row.length;
    for (uint64_t i = at, seen = 0; seen < ROWS_MAX; seen++) {
        i = row_before(lidia, i, row.depth, &other);
        if (i == lidia->count || !is_same(&row, &other) || other.address + other.length != start)
            break;
        start = other.address;
    }
    for (uint64_t i = at + 1, seen = 0; i < lidia->count && seen < ROWS_MAX; i++, seen++) {
        sxt_lidia_row(lidia, i, &other);
        if (other.address > end)
            break;
        if (other.depth != row.depth)
            continue;
        if (!is_same(&row, &other) || other.address != end)
            break;
        end = other.address + other.length;
    }
    frame->start = start;
    frame->length = end - start;
}
