/*
 * order.c: the order of symbols in a full archive: by container, section, address, and then by name, so that the same
 * symbols always make the same file. Sections of code and data share one place: their symbols are sorted by address
 * together, and the segments are in the order in which their first symbols come.
 *
 * Aliases are sorted among themselves and then moved as one, at the place of the first of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "base/string.h"
#include "size/private.h"

struct sorter {
    struct sxt_size_info *size;
    uint32_t *order;             /* symbols; aliases are sorted in it */
    struct sxt_sort_item *units; /* single symbols and groups, by their first place in `order` */
    struct sxt_sort_item *scratch;
    size_t unit_count;
    uint32_t *segment_of;              /* by segment of the model: the first one like it */
    uint32_t *new_segment;             /* its number afterwards, plus 1; 0 while it is not met */
    struct sxt_size_segment *segments; /* afterwards */
    size_t segment_count;
    struct sxt_size_model_symbol *symbols; /* afterwards */
    uint32_t *place;                       /* where a symbol goes */
    sxt_error *error;
};

static int sort_model(struct sorter *sorter);
static int check_groups(const struct sxt_size_info *size, sxt_error *error);
static void merge_segments(struct sorter *sorter);
static void sort_aliases(struct sorter *sorter);
static void sort_units(struct sorter *sorter);
static void place_symbols(struct sorter *sorter);
static void finish(struct sorter *sorter);

static bool is_placeholder(const struct sxt_size_model_symbol *symbol)
{
    return sxt_string_begins(sxt_size_full_name(symbol), "**");
}

/* Overhead is nothing but padding, whatever the file says. */
static bool is_filled(const struct sxt_size_model_symbol *symbol)
{
    return symbol->address != 0 && symbol->size > symbol->padding && !sxt_size_is_overhead(symbol);
}

/* What is left when section, overhead and address are the same. */
static int compare_rest(const struct sxt_size_info *size, const struct sxt_size_model_symbol *a,
                        const struct sxt_size_model_symbol *b)
{
    if (is_filled(a) != is_filled(b))
        return is_filled(a) - is_filled(b);
    if (is_placeholder(a) != is_placeholder(b))
        return is_placeholder(a) - is_placeholder(b);
    int order = sxt_string_compare(sxt_size_full_name(a), sxt_size_full_name(b));
    return order != 0 ? order : sxt_string_compare(size->paths[a->path].object, size->paths[b->path].object);
}

int sxt_size_compare_symbols(const struct sxt_size_info *size, const struct sxt_size_model_symbol *a,
                             const struct sxt_size_model_symbol *b)
{
    if (a->segment != b->segment) {
        unsigned order_a = sxt_size_section_order(size->segments[a->segment].section);
        unsigned order_b = sxt_size_section_order(size->segments[b->segment].section);
        if (order_a != order_b)
            return order_a < order_b ? -1 : 1;
    }
    if (sxt_size_is_overhead(a) != sxt_size_is_overhead(b))
        return sxt_size_is_overhead(a) - sxt_size_is_overhead(b);
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return compare_rest(size, a, b);
}

int sxt_size_sort(struct sxt_size_info *size, sxt_error *error)
{
    if (size->symbol_count >= UINT32_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "more symbols than a file can have");
    int status = check_groups(size, error);
    if (status != SXT_OK)
        return status;
    size_t count = size->symbol_count + 1;
    struct sorter sorter = {
        .size = size,
        .order = malloc(count * sizeof(uint32_t)),
        .units = malloc(count * sizeof(struct sxt_sort_item)),
        .scratch = malloc(count * sizeof(struct sxt_sort_item)),
        .segment_of = calloc(size->segment_count + 1, sizeof(uint32_t)),
        .new_segment = calloc(size->segment_count + 1, sizeof(uint32_t)),
        .segments = calloc(size->segment_count + 1, sizeof(struct sxt_size_segment)),
        .symbols = malloc(count * sizeof(struct sxt_size_model_symbol)),
        .place = malloc(count * sizeof(uint32_t)),
        .error = error,
    };
    bool has_memory = sorter.order != NULL && sorter.units != NULL && sorter.scratch != NULL &&
                      sorter.segment_of != NULL && sorter.new_segment != NULL && sorter.segments != NULL &&
                      sorter.symbols != NULL && sorter.place != NULL;
    status = has_memory ? sort_model(&sorter) : sxt_fail_memory(error, count * sizeof(struct sxt_size_model_symbol));
    free(sorter.order);
    free(sorter.units);
    free(sorter.scratch);
    free(sorter.segment_of);
    free(sorter.new_segment);
    free(sorter.segments);
    free(sorter.symbols);
    free(sorter.place);
    return status;
}

static int sort_model(struct sorter *sorter)
{
    merge_segments(sorter);
    sort_aliases(sorter);
    sort_units(sorter);
    place_symbols(sorter);
    finish(sorter);
    return SXT_OK;
}

/* Every symbol has a segment and a path, and every group is a run of symbols of one segment that point back at it. */
static int check_groups(const struct sxt_size_info *size, sxt_error *error)
{
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        bool good = symbol->segment < size->segment_count && symbol->path < size->path_count;
        if (good && symbol->group != 0) {
            good = symbol->group <= size->group_count;
            const struct sxt_size_group *group = good ? &size->groups[symbol->group - 1] : NULL;
            good = good && i >= group->first && i - group->first < group->count &&
                   group->count <= size->symbol_count - group->first &&
                   size->symbols[group->first].segment == symbol->segment &&
                   size->symbols[group->first].group == symbol->group &&
                   size->symbols[group->first + group->count - 1].group == symbol->group;
        }
        if (!good)
            return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                            "symbol %zu has no segment, no path, or aliases elsewhere", i);
    }
    return SXT_OK;
}

static int compare_segments(const void *a, const void *b, void *context)
{
    const struct sxt_size_info *size = context;
    uint32_t index_a = *(const uint32_t *)a, index_b = *(const uint32_t *)b;
    const struct sxt_size_segment *left = &size->segments[index_a], *right = &size->segments[index_b];
    if (left->container != right->container)
        return left->container < right->container ? -1 : 1;
    int order = sxt_string_compare(left->section, right->section);
    return order != 0 ? order : (index_a > index_b) - (index_a < index_b);
}

/* Segments of one section in one container become one. */
static void merge_segments(struct sorter *sorter)
{
    const struct sxt_size_info *size = sorter->size;
    uint32_t *sorted = sorter->new_segment;
    for (size_t i = 0; i < size->segment_count; i++)
        sorted[i] = (uint32_t)i;
    qsort_r(sorted, size->segment_count, sizeof *sorted, compare_segments, sorter->size);
    uint32_t first = 0;
    for (size_t i = 0; i < size->segment_count; i++) {
        const struct sxt_size_segment *segment = &size->segments[sorted[i]], *known = &size->segments[first];
        if (i == 0 || segment->container != known->container || !sxt_string_equal(segment->section, known->section))
            first = sorted[i];
        sorter->segment_of[sorted[i]] = first;
    }
    memset(sorter->new_segment, 0, size->segment_count * sizeof *sorter->new_segment);
}

static int compare_indices(const void *a, const void *b, void *context)
{
    const struct sxt_size_info *size = context;
    uint32_t index_a = *(const uint32_t *)a, index_b = *(const uint32_t *)b;
    int order = sxt_size_compare_symbols(size, &size->symbols[index_a], &size->symbols[index_b]);
    return order != 0 ? order : (index_a > index_b) - (index_a < index_b);
}

static void sort_aliases(struct sorter *sorter)
{
    const struct sxt_size_info *size = sorter->size;
    for (size_t i = 0; i < size->symbol_count; i++)
        sorter->order[i] = (uint32_t)i;
    for (size_t i = 0; i < size->symbol_count;) {
        uint32_t group = size->symbols[i].group, count = group == 0 ? 1 : size->groups[group - 1].count;
        if (count > 1)
            qsort_r(sorter->order + i, count, sizeof *sorter->order, compare_indices, sorter->size);
        sorter->units[sorter->unit_count++].index = (uint32_t)i;
        i += count;
    }
}

static const struct sxt_size_model_symbol *first_of(const struct sorter *sorter, const struct sxt_sort_item *unit)
{
    return &sorter->size->symbols[sorter->order[unit->index]];
}

static uint64_t rank_of(const struct sorter *sorter, const struct sxt_size_model_symbol *symbol)
{
    const struct sxt_size_segment *segment = &sorter->size->segments[symbol->segment];
    return (uint64_t)segment->container << 4 | sxt_size_section_order(segment->section) << 1 |
           sxt_size_is_overhead(symbol);
}

static int compare_units(const void *a, const void *b, void *context)
{
    const struct sorter *sorter = context;
    const struct sxt_sort_item *left = a, *right = b;
    int order = compare_rest(sorter->size, first_of(sorter, left), first_of(sorter, right));
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* Numbers first, which is quick; names only where the numbers are the same. */
static void sort_units(struct sorter *sorter)
{
    struct sxt_sort_item *units = sorter->units;
    size_t count = sorter->unit_count;
    for (size_t i = 0; i < count; i++)
        units[i].key = first_of(sorter, &units[i])->address;
    sxt_sort(units, sorter->scratch, count);
    for (size_t i = 0; i < count; i++)
        units[i].key = rank_of(sorter, first_of(sorter, &units[i]));
    sxt_sort(units, sorter->scratch, count);
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;
        while (end < count && units[end].key == units[first].key &&
               first_of(sorter, &units[end])->address == first_of(sorter, &units[first])->address)
            end++;
        if (end - first > 1)
            qsort_r(units + first, end - first, sizeof *units, compare_units, sorter);
        first = end;
    }
}

static uint32_t unit_size(const struct sorter *sorter, const struct sxt_sort_item *unit)
{
    uint32_t group = first_of(sorter, unit)->group;
    return group == 0 ? 1 : sorter->size->groups[group - 1].count;
}

/* Numbers the segments in the order of their first symbols, and gives every symbol its place. */
static void place_symbols(struct sorter *sorter)
{
    const struct sxt_size_info *size = sorter->size;
    for (size_t i = 0; i < sorter->unit_count; i++) {
        uint32_t old = sorter->segment_of[first_of(sorter, &sorter->units[i])->segment];
        if (sorter->new_segment[old] == 0) {
            sorter->segments[sorter->segment_count] = size->segments[old];
            sorter->segments[sorter->segment_count].count = 0;
            sorter->new_segment[old] = (uint32_t)++sorter->segment_count;
        }
        sorter->segments[sorter->new_segment[old] - 1].count += unit_size(sorter, &sorter->units[i]);
    }
    size_t first = 0;
    for (size_t i = 0; i < sorter->segment_count; i++) {
        sorter->segments[i].first = first;
        first += sorter->segments[i].count;
        sorter->segments[i].count = 0;
    }
    for (size_t i = 0; i < sorter->unit_count; i++) {
        const struct sxt_sort_item *unit = &sorter->units[i];
        uint32_t number = sorter->new_segment[sorter->segment_of[first_of(sorter, unit)->segment]] - 1;
        struct sxt_size_segment *segment = &sorter->segments[number];
        for (uint32_t k = 0; k < unit_size(sorter, unit); k++) {
            uint32_t old = sorter->order[unit->index + k];
            size_t place = segment->first + segment->count++;
            sorter->symbols[place] = size->symbols[old];
            sorter->symbols[place].segment = number;
            sorter->place[old] = (uint32_t)place;
        }
    }
}

static int by_symbol(const void *a, const void *b)
{
    const struct sxt_size_model_disassembly *left = a, *right = b;
    return (left->symbol > right->symbol) - (left->symbol < right->symbol);
}

static void finish(struct sorter *sorter)
{
    struct sxt_size_info *size = sorter->size;
    if (size->symbol_count == 0) {
        size->segment_count = 0;
        return;
    }
    memcpy(size->symbols, sorter->symbols, size->symbol_count * sizeof *size->symbols);
    memcpy(size->segments, sorter->segments, sorter->segment_count * sizeof *size->segments);
    size->segment_count = sorter->segment_count;
    for (size_t i = size->symbol_count; i-- > 0;)
        if (size->symbols[i].group != 0)
            size->groups[size->symbols[i].group - 1].first = (uint32_t)i;
    for (size_t i = 0; i < size->disassembly_count; i++)
        if (size->disassemblies[i].symbol < size->symbol_count)
            size->disassemblies[i].symbol = sorter->place[size->disassemblies[i].symbol];
    if (size->disassembly_count > 0)
        qsort(size->disassemblies, size->disassembly_count, sizeof *size->disassemblies, by_symbol);
}
