/* select_units.c: finds the units that have code at an address, by their root entries. */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "source/dwarf/private.h"

/* State while the root entries are read. */
struct survey {
    struct sxt_dwarf *dwarf;
    size_t extent_capacity;
    struct dwarf_abbrevs abbrevs;
    struct dwarf_ranges ranges;
    struct dwarf_budget budget;
};

static int read_all_extents(struct sxt_dwarf *dwarf, sxt_error *error);

size_t sxt_dwarf_first_extent_after(const struct sxt_dwarf *dwarf, uint64_t address)
{
    return SXT_SEARCH_ABOVE(dwarf->extents, dwarf->extent_count, start, address);
}

int sxt_dwarf_select_units(struct sxt_dwarf *dwarf, const uint64_t *addresses, size_t count, bool *wanted,
                           sxt_error *error)
{
    int status = dwarf->unknown == NULL ? read_all_extents(dwarf, error) : SXT_OK;
    if (status != SXT_OK)
        return status;
    for (size_t i = 0; i < dwarf->main.info_unit_count; i++)
        wanted[i] = dwarf->unknown[i];
    for (size_t i = 0; i < count; i++)
        for (size_t k = sxt_dwarf_first_extent_after(dwarf, addresses[i]); k > 0 && dwarf->reach[k - 1] > addresses[i];
             k--)
            if (dwarf->extents[k - 1].end > addresses[i])
                wanted[dwarf->extents[k - 1].unit] = true;
    return SXT_OK;
}

static void read_extents(struct survey *survey, size_t number)
{
    struct sxt_dwarf *dwarf = survey->dwarf;
    const struct dwarf_unit *unit = &dwarf->main.units[number];
    struct dwarf_context context;
    struct dwarf_root root;
    if ((unit->type == DW_UT_type || unit->type == DW_UT_split_type) && dwarf->line_tables == NULL)
        return;
    sxt_dwarf_budget_begin(&survey->budget, dwarf, unit);
    if (!sxt_dwarf_enter_root(&context, &root, &survey->abbrevs, &dwarf->main, unit)) {
        /* Reading the unit will report the error. */
        dwarf->unknown[number] = true;
        return;
    }
    if (dwarf->line_tables != NULL && root.has_lines)
        dwarf->line_tables[number] = root.lines;
    size_t first = survey->ranges.count;
    bool read = sxt_dwarf_read_ranges(&context, &dwarf->dead, root.low.class == DWARF_ADDRESS ? root.low.number : 0,
                                      &root.low, &root.high, &root.ranges, &survey->ranges);
    bool silent = root.ranges.class == DWARF_NOTHING && root.high.class == DWARF_NOTHING;
    bool is_code = unit->type != DW_UT_type && unit->type != DW_UT_split_type && root.tag != DW_TAG_partial_unit;
    dwarf->unknown[number] = !read || (silent && is_code);
    size_t more = survey->ranges.count - first;
    struct dwarf_extent *extents =
        sxt_array_grow(dwarf->extents, &survey->extent_capacity, dwarf->extent_count + more + 1, sizeof *extents);
    if (extents == NULL) {
        survey->ranges.no_memory = true;
        return;
    }
    dwarf->extents = extents;
    for (size_t i = 0; i < more; i++)
        extents[dwarf->extent_count++] = (struct dwarf_extent){survey->ranges.list[first + i].start,
                                                               survey->ranges.list[first + i].end, (uint32_t)number};
    survey->ranges.count = 0;
}

static int compare_starts(const void *a, const void *b)
{
    const struct dwarf_extent *first = a;
    const struct dwarf_extent *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return first->unit < second->unit ? -1 : first->unit > second->unit;
}

/* Resets everything, so that the next call tries again. */
static void discard_survey(struct sxt_dwarf *dwarf)
{
    free(dwarf->unknown);
    free(dwarf->reach);
    free(dwarf->extents);
    free(dwarf->line_tables);
    dwarf->unknown = NULL;
    dwarf->reach = NULL;
    dwarf->extents = NULL;
    dwarf->line_tables = NULL;
    dwarf->extent_count = 0;
}

static int read_all_extents(struct sxt_dwarf *dwarf, sxt_error *error)
{
    size_t count = dwarf->main.info_unit_count;
    struct survey survey = {.dwarf = dwarf};
    sxt_dwarf_abbrevs_init(&survey.abbrevs);
    survey.abbrevs.budget = survey.ranges.budget = &survey.budget;
    dwarf->unknown = calloc(count + 1, sizeof *dwarf->unknown);
    if (dwarf->settings.gnu && (dwarf->line_tables = malloc((count + 1) * sizeof *dwarf->line_tables)) == NULL)
        survey.ranges.no_memory = true;
    for (size_t i = 0; i < count && dwarf->line_tables != NULL; i++)
        dwarf->line_tables[i] = UINT64_MAX;
    for (size_t i = 0; i < count && dwarf->unknown != NULL && !survey.ranges.no_memory; i++)
        read_extents(&survey, i);
    dwarf->reach = malloc((dwarf->extent_count + 1) * sizeof *dwarf->reach);
    survey.ranges.no_memory = survey.ranges.no_memory || survey.abbrevs.no_memory;
    sxt_dwarf_abbrevs_free(&survey.abbrevs);
    free(survey.ranges.list);
    if (dwarf->unknown == NULL || dwarf->reach == NULL || survey.ranges.no_memory) {
        discard_survey(dwarf);
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading the units of DWARF");
    }
    if (dwarf->extent_count > 0)
        qsort(dwarf->extents, dwarf->extent_count, sizeof *dwarf->extents, compare_starts);
    uint64_t reach = 0;
    for (size_t i = 0; i < dwarf->extent_count; i++) {
        if (dwarf->extents[i].end > reach)
            reach = dwarf->extents[i].end;
        dwarf->reach[i] = reach;
    }
    return SXT_OK;
}
