/*
 * whole.c: finds the rows that one contiguous range was cut into.
 *
 *     depth 0  [ f  a.c ][ f  table.inc ][ f  a.c ]         rows in order of address, outer ones first
 *     depth 1     [ g   ][ g            ]
 *
 * The pieces of a range are contiguous and differ only in the file and the lines. That alone does not prove that they
 * were one range: two functions, or two inlined calls of one function, can be side by side. The chunk "cuts" lists the
 * rows that continue another one. Rows of other depths come between them.
 */
#include "base/bytes.h"
#include "base/search.h"
#include "lidia/lidia.h"

/* The most rows that are visited on either side: a range is cut a few times, not thousands of times. */
#define ROWS_MAX 4096

void sxt_lidia_find_cuts(struct sxt_lidia *lidia)
{
    struct sxt_lidia_chunk chunk;
    lidia->cuts = NULL;
    lidia->cut_count = 0;
    if (!sxt_lidia_find_chunk(lidia, SXT_LIDIA_CUTS, SXT_LIDIA_CUTS_VERSION, &chunk))
        return;
    lidia->cuts = chunk.data;
    lidia->cut_count = chunk.size / SXT_LIDIA_CUT_SIZE;
}

void sxt_lidia_add_cuts(struct sxt_buffer *chunks, const struct sxt_range_list *list)
{
    struct sxt_buffer cuts;
    sxt_buffer_init(&cuts, SIZE_MAX);
    for (size_t i = 0; i < list->range_count; i++)
        if (list->ranges[i].flags & SXT_RANGE_CONTINUES)
            sxt_buffer_u32le(&cuts, (uint32_t)i);
    if (cuts.size > 0)
        sxt_lidia_add_chunk(chunks, SXT_LIDIA_CUTS, SXT_LIDIA_CUTS_VERSION, cuts.data, cuts.size);
    chunks->failed |= cuts.failed;
    chunks->memory_was_short |= cuts.failed;
    sxt_buffer_free(&cuts);
}

bool sxt_lidia_row_continues(const struct sxt_lidia *lidia, uint64_t index)
{
    struct sxt_bisection search = {.high = lidia->cut_count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sxt_load_u32le(lidia->cuts + search.middle * SXT_LIDIA_CUT_SIZE) < index);
    return search.low < lidia->cut_count && sxt_load_u32le(lidia->cuts + search.low * SXT_LIDIA_CUT_SIZE) == index;
}

/* The row with that address and depth; COUNT when there is none. Of the rows at an address, the deepest is the last. */
static uint64_t find_row(const struct sxt_lidia *lidia, uint64_t address, uint32_t depth, struct sxt_lidia_row *row)
{
    uint64_t last = sxt_lidia_search(lidia, address);
    for (uint64_t i = last; i < lidia->count && last - i < ROWS_MAX; i--) {
        /* The rows of a range that was cut are loaded, so one that is missing does not matter. */
        if (lidia->partial != NULL && !sxt_lidia_has_row(lidia, i))
            break;
        sxt_lidia_row(lidia, i, row);
        if (row->address != address || row->depth < depth)
            break;
        if (row->depth == depth)
            return i;
    }
    return lidia->count;
}

/*
 * The row that row INDEX, *ROW, continues; COUNT if there is none, or after *LEFT rows. The parents in the index lead
 * past deeper rows. *ROW is replaced by what is found.
 */
static uint64_t continued(const struct sxt_lidia *lidia, uint64_t index, struct sxt_lidia_row *row, uint64_t *left)
{
    if (!sxt_lidia_row_continues(lidia, index))
        return lidia->count;
    for (; index > 0 && *left > 0; *left -= 1) {
        struct sxt_lidia_row before;
        sxt_lidia_row(lidia, --index, &before);
        if (before.depth == row->depth) {
            bool joins = before.address + before.length == row->address && before.function == row->function;
            *row = before;
            return joins ? index : lidia->count;
        }
        uint64_t back = before.depth > row->depth && lidia->parents != NULL ? sxt_lidia_parent(lidia, index) : 0;
        if (back > 1 && back <= index)
            index -= back - 1;
    }
    return lidia->count;
}

/* The same for the row that continues row INDEX. */
static uint64_t continuing(const struct sxt_lidia *lidia, uint64_t index, struct sxt_lidia_row *row, uint64_t *left)
{
    for (uint64_t i = index + 1; i < lidia->count && (*left) > 0; i++, *left -= 1) {
        struct sxt_lidia_row after;
        sxt_lidia_row(lidia, i, &after);
        if (after.address > row->address + row->length)
            break;
        if (after.depth != row->depth)
            continue;
        bool joins = after.address == row->address + row->length && after.function == row->function &&
                     sxt_lidia_row_continues(lidia, i);
        *row = after;
        return joins ? i : lidia->count;
    }
    return lidia->count;
}

/* Where the range ends that row INDEX is a piece of. */
static uint64_t end_of_range(const struct sxt_lidia *lidia, uint64_t index)
{
    struct sxt_lidia_row row;
    uint64_t left = ROWS_MAX;
    sxt_lidia_row(lidia, index, &row);
    uint64_t end = row.address + row.length;
    while (lidia->cut_count > 0 && (index = continuing(lidia, index, &row, &left)) != lidia->count)
        end = row.address + row.length;
    return end;
}

/* Where the range starts that row AT, *ROW, is a piece of. */
static uint64_t start_of_range(const struct sxt_lidia *lidia, uint64_t at, struct sxt_lidia_row *row)
{
    uint64_t left = ROWS_MAX, start = row->address;
    while ((at = continued(lidia, at, row, &left)) != lidia->count)
        start = row->address;
    return start;
}

uint64_t sxt_lidia_whole_start(const struct sxt_lidia *lidia, const sxt_frame *frame)
{
    struct sxt_lidia_row row;
    uint64_t at = lidia->cut_count > 0 ? find_row(lidia, frame->start, frame->depth, &row) : lidia->count;
    return at != lidia->count ? start_of_range(lidia, at, &row) : frame->start;
}

void sxt_lidia_whole_range(const struct sxt_lidia *lidia, sxt_frame *frame)
{
    struct sxt_lidia_row row;
    uint64_t at = lidia->cut_count > 0 ? find_row(lidia, frame->start, frame->depth, &row) : lidia->count;
    if (at == lidia->count)
        return;
    frame->start = start_of_range(lidia, at, &row);
    frame->length = end_of_range(lidia, at) - frame->start;
}
