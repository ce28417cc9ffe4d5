/* ranged_frames.c: what the whole range of a frame and its other names need of an archive that is read by ranges. */
#include "base/bytes.h"
#include "base/search.h"
#include "lidia/ranged.h"

/* As in whole.c. */
#define ROWS_MAX 4096
/* Rows that are fetched together on the way. */
#define NEAR 16
/* Names of one function that are loaded. */
#define NAMES_MAX 4096

/* The row with that address and depth, as find_row in whole.c; COUNT when there is none. */
static bool plan_exact_row(struct sxt_lidia_plan *plan, const sxt_frame *frame, uint64_t *index,
                           struct sxt_lidia_row *row)
{
    uint64_t last, count = plan->lidia->count;
    *index = count;
    if (!sxt_lidia_plan_row(plan, frame->start, &last))
        return false;
    for (uint64_t i = last; i < count && last - i < ROWS_MAX; i--) {
        if (!sxt_lidia_plan_fields(plan, i, NEAR, row))
            return false;
        if (row->address != frame->start || row->depth < frame->depth)
            break;
        if (row->depth == frame->depth) {
            *index = i;
            break;
        }
    }
    return true;
}

/* The rows that start_of_range in whole.c reads. */
static bool plan_start(struct sxt_lidia_plan *plan, uint64_t index, struct sxt_lidia_row row)
{
    const struct sxt_lidia *lidia = plan->lidia;
    for (uint64_t left = ROWS_MAX; left > 0 && sxt_lidia_row_continues(lidia, index);) {
        struct sxt_lidia_row before;
        bool found = false;
        for (; index > 0 && left > 0 && !found; left--) {
            uint64_t back = 0;
            if (!sxt_lidia_plan_fields(plan, --index, NEAR, &before))
                return false;
            found = before.depth == row.depth;
            if (!found && before.depth > row.depth && lidia->parents != NULL &&
                !sxt_lidia_plan_parent(plan, index, &back))
                return false;
            if (back > 1 && back <= index)
                index -= back - 1;
        }
        if (!found || before.address + before.length != row.address || before.function != row.function)
            break;
        row = before;
    }
    return true;
}

/* The number of the first cut after row INDEX. */
static uint64_t cut_after(const struct sxt_lidia *lidia, uint64_t index)
{
    struct sxt_bisection search = {.high = lidia->cut_count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sxt_load_u32le(lidia->cuts + search.middle * SXT_LIDIA_CUT_SIZE) <= index);
    return search.low;
}

/*
 * The rows that end_of_range in whole.c reads, if the range continues at all: a row that continues it is in the list of
 * cuts, and begins where it ends. Otherwise the missing rows, which read as zeros, do not continue it either.
 */
static bool plan_end(struct sxt_lidia_plan *plan, uint64_t index, struct sxt_lidia_row row, bool *continues)
{
    const struct sxt_lidia *lidia = plan->lidia;
    uint64_t first = index;
    for (uint64_t cut = cut_after(lidia, index); cut < lidia->cut_count; cut++) {
        uint64_t next = sxt_load_u32le(lidia->cuts + cut * SXT_LIDIA_CUT_SIZE), end = row.address + row.length;
        struct sxt_lidia_row after;
        if (next >= lidia->count || next <= index || next - first > ROWS_MAX)
            break;
        if (!sxt_lidia_plan_addresses(plan, next, next + 1))
            return false;
        sxt_lidia_row(lidia, next, &after); /* its address is here */
        if (after.address > end)
            break;
        if (after.address != end)
            continue;
        if (!sxt_lidia_plan_fields(plan, next, next - index - 1, &after))
            return false;
        if (after.depth != row.depth || after.function != row.function)
            continue;
        bool has_all = true;
        for (uint64_t i = index + 1; i < next; i++) {
            struct sxt_lidia_row between;
            has_all &= sxt_lidia_plan_fields(plan, i, 0, &between);
        }
        if (!has_all)
            return false;
        *continues = true;
        index = next;
        row = after;
    }
    return true;
}

/* --- other names --- */

/*
 * The first group at or after ADDRESS, found as sxt_lidia_names_at does it. Groups that are not here yet are fetched in
 * pieces that hold the rest of the search.
 */
static bool plan_group(struct sxt_lidia_plan *plan, uint64_t address, uint64_t *group)
{
    const struct sxt_lidia_aliases *aliases = &plan->lidia->aliases;
    struct sxt_bisection search = {.high = aliases->group_count};
    while (sxt_bisect(&search)) {
        const uint8_t *at = aliases->groups + search.middle * SXT_LIDIA_GROUP_SIZE;
        uint64_t around = (search.high - search.low) * SXT_LIDIA_GROUP_SIZE <= 1024 ? search.high - search.low : 0;
        const uint8_t *from = around > 0 ? aliases->groups + search.low * SXT_LIDIA_GROUP_SIZE : at;
        if (!sxt_lidia_need_near(plan, at, SXT_LIDIA_GROUP_SIZE, from,
                                 (around > 0 ? from + around * SXT_LIDIA_GROUP_SIZE : at + SXT_LIDIA_GROUP_SIZE)))
            return false;
        sxt_bisect_after(&search, sxt_load_u64le(at) < address);
    }
    *group = search.low;
    return *group >= aliases->group_count ||
           sxt_lidia_need(plan, aliases->groups + *group * SXT_LIDIA_GROUP_SIZE, 2 * SXT_LIDIA_GROUP_SIZE);
}

/* The name at OFFSET of the strings of aliases. */
static bool plan_alias(struct sxt_lidia_plan *plan, uint64_t entry)
{
    const struct sxt_lidia_aliases *aliases = &plan->lidia->aliases;
    uint64_t offset = sxt_load_u32le(aliases->entries + entry * SXT_LIDIA_ENTRY_SIZE);
    if (!sxt_fits(offset, 1, 4, aliases->strings_size))
        return true;
    const uint8_t *at = aliases->strings + offset;
    uint64_t left = aliases->strings_size - offset;
    if (!sxt_lidia_need_near(plan, at, 4, at, at + (plan->text_ahead < left ? plan->text_ahead : left)))
        return false;
    uint64_t size = sxt_load_u32le(at);
    return size > left - 4 || sxt_lidia_need(plan, at, 4 + size);
}

static bool plan_names(struct sxt_lidia_plan *plan, uint64_t start)
{
    const struct sxt_lidia_aliases *aliases = &plan->lidia->aliases;
    uint64_t group;
    if (aliases->group_count == 0)
        return true;
    if (!plan_group(plan, start, &group))
        return false;
    if (group >= aliases->group_count || sxt_load_u64le(aliases->groups + group * SXT_LIDIA_GROUP_SIZE) != start)
        return true;
    struct sxt_lidia_names names = sxt_lidia_names_of(aliases, group);
    if (names.count > NAMES_MAX)
        names.count = NAMES_MAX;
    if (!sxt_lidia_need(plan, aliases->entries + names.first * SXT_LIDIA_ENTRY_SIZE,
                        names.count * SXT_LIDIA_ENTRY_SIZE))
        return false;
    bool has_all = true;
    for (uint64_t i = 0; i < names.count; i++)
        has_all &= plan_alias(plan, names.first + i);
    return has_all;
}

/* Most ranges are one row, whose start and length are those of the frame. */
static bool plan_range(struct sxt_lidia_plan *plan, uint64_t index, const struct sxt_lidia_row *row, uint64_t *start)
{
    const struct sxt_lidia *lidia = plan->lidia;
    const sxt_frame frame = {.start = row->address,
                             .depth = row->depth < UINT32_MAX ? (uint32_t)row->depth : UINT32_MAX};
    struct sxt_lidia_row found;
    uint64_t exact;
    if (!sxt_lidia_need(plan, lidia->cuts, lidia->cut_count * SXT_LIDIA_CUT_SIZE))
        return false;
    bool is_cut = sxt_lidia_row_continues(lidia, index);
    if (!plan_end(plan, index, *row, &is_cut))
        return false;
    if (!is_cut)
        return true;
    if (!plan_exact_row(plan, &frame, &exact, &found))
        return false;
    if (exact < lidia->count && (!plan_start(plan, exact, found) || !plan_end(plan, exact, found, &is_cut)))
        return false;
    *start = sxt_lidia_whole_start(lidia, &frame);
    return true;
}

bool sxt_lidia_plan_frame(struct sxt_lidia_plan *plan, uint64_t index, const struct sxt_lidia_row *row)
{
    uint64_t start = row->address;
    if (plan->lidia->cut_count > 0 && !plan_range(plan, index, row, &start))
        return false;
    return row->depth != 0 || plan_names(plan, start);
}
