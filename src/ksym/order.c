/*
 * order.c: sorts the names of a list by their bytes. Names are sorted by their first eight bytes, taken as a number;
 * names with equal numbers are sorted by the next eight bytes, and so on.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/sort.h"
#include "ksym/private.h"

#define KEY_SIZE 8

/* Places whose names are equal up to DEPTH and not sorted yet. */
struct group {
    uint32_t first;
    uint32_t end;
    uint32_t depth;
};

struct sorter {
    struct sxt_ksym_order *order;
    struct sxt_sort_item *items;
    struct sxt_sort_item *scratch;
    struct group *groups; /* not sorted yet */
    size_t group_count;
    size_t group_capacity;
};

static bool allocate(struct sxt_ksym_order *order, const struct sxt_ksym_list *list);
static void collect(struct sxt_ksym_order *order, const struct sxt_ksym_list *list);
static bool sort_names(struct sxt_ksym_order *order);
static bool sort_group(struct sorter *sorter, struct group group);
static size_t settle_ended(struct sorter *sorter, size_t first, size_t end, size_t depth);
static void measure_common(struct sxt_ksym_order *order);
static void put_in_sequence(struct sxt_ksym_order *order, const struct sxt_ksym_list *list);
static void count_records(struct sxt_ksym_order *order, const struct sxt_ksym_list *list, bool shared);

int sxt_ksym_order_make(struct sxt_ksym_order *order, const struct sxt_ksym_list *list, bool shared, sxt_error *error)
{
    *order = (struct sxt_ksym_order){.views = list->strings.views};
    bool allocated = allocate(order, list);
    if (allocated)
        collect(order, list);
    if (!allocated || !sort_names(order)) {
        sxt_ksym_order_free(order);
        return sxt_fail_memory(error, list->count * sizeof(struct sxt_sort_item));
    }
    measure_common(order);
    put_in_sequence(order, list);
    count_records(order, list, shared);
    return SXT_OK;
}

void sxt_ksym_order_free(struct sxt_ksym_order *order)
{
    free(order->numbers);
    free(order->place_of);
    free(order->common);
    free(order->records);
    free(order->sequence);
    free(order->starts);
    *order = (struct sxt_ksym_order){.count = 0};
}

static bool allocate(struct sxt_ksym_order *order, const struct sxt_ksym_list *list)
{
    size_t most = (list->count < list->strings.count ? list->count : list->strings.count) + 1;
    order->numbers = malloc(most * sizeof *order->numbers);
    order->place_of = malloc(list->strings.count * sizeof *order->place_of);
    order->common = calloc(most, sizeof *order->common);
    order->records = calloc(most, sizeof *order->records);
    order->sequence = malloc((list->count + 1) * sizeof *order->sequence);
    order->starts = calloc(most + 1, sizeof *order->starts);
    return order->numbers != NULL && order->place_of != NULL && order->common != NULL && order->records != NULL &&
           order->sequence != NULL && order->starts != NULL;
}

/* The table of strings may also hold strings that are not names of symbols. */
static void collect(struct sxt_ksym_order *order, const struct sxt_ksym_list *list)
{
    memset(order->place_of, 0xff, list->strings.count * sizeof *order->place_of);
    for (size_t i = 0; i < list->count; i++) {
        uint32_t number = list->symbols[i].name;
        if (order->place_of[number] == UINT32_MAX) {
            order->place_of[number] = (uint32_t)order->count;
            order->numbers[order->count++] = number;
        }
    }
}

static bool sort_names(struct sxt_ksym_order *order)
{
    struct sorter sorter = {.order = order};
    sorter.items = malloc((order->count + 1) * sizeof *sorter.items);
    sorter.scratch = malloc((order->count + 1) * sizeof *sorter.scratch);
    bool done = sorter.items != NULL && sorter.scratch != NULL;
    if (done && order->count > 1) {
        for (size_t i = 0; i < order->count; i++)
            sorter.items[i].index = order->numbers[i];
        done = sort_group(&sorter, (struct group){0, (uint32_t)order->count, 0});
        while (done && sorter.group_count > 0)
            done = sort_group(&sorter, sorter.groups[--sorter.group_count]);
        for (size_t i = 0; i < order->count; i++)
            order->numbers[i] = sorter.items[i].index;
    }
    for (size_t i = 0; i < order->count; i++)
        order->place_of[order->numbers[i]] = (uint32_t)i;
    free(sorter.items);
    free(sorter.scratch);
    free(sorter.groups);
    return done;
}

/* The bytes of a name from DEPTH on as a number, with zeros after its end. */
static uint64_t key_at(sxt_string name, size_t depth)
{
    if (name.size - depth >= KEY_SIZE)
        return sxt_load_u64(name.data + depth, true);
    uint64_t key = 0;
    for (size_t i = 0; i < KEY_SIZE; i++)
        key = key << 8 | (depth + i < name.size ? (uint8_t)name.data[depth + i] : 0);
    return key;
}

/* All names of the group are at least DEPTH long. */
static bool sort_group(struct sorter *sorter, struct group group)
{
    struct sxt_sort_item *items = sorter->items;
    for (size_t i = group.first; i < group.end; i++)
        items[i].key = key_at(sorter->order->views[items[i].index], group.depth);
    sxt_sort(items + group.first, sorter->scratch, group.end - group.first);
    for (size_t first = group.first, end; first < group.end; first = end) {
        for (end = first + 1; end < group.end && items[end].key == items[first].key; end++)
            ;
        if (end - first < 2)
            continue;
        size_t longer = settle_ended(sorter, first, end, group.depth + KEY_SIZE);
        if (end - longer < 2)
            continue;
        struct group *groups =
            sxt_array_grow(sorter->groups, &sorter->group_capacity, sorter->group_count + 1, sizeof *sorter->groups);
        if (groups == NULL)
            return false;
        sorter->groups = groups;
        groups[sorter->group_count++] = (struct group){(uint32_t)longer, (uint32_t)end, group.depth + KEY_SIZE};
    }
    return true;
}

/*
 * Names with equal keys that end before DEPTH differ only in the number of zeros at their end, so there are few of
 * them; they are sorted by length. The other names follow. Returns where those begin.
 */
static size_t settle_ended(struct sorter *sorter, size_t first, size_t end, size_t depth)
{
    struct sxt_sort_item *items = sorter->items;
    const sxt_string *views = sorter->order->views;
    size_t settled = first;
    for (size_t i = first; i < end; i++) {
        struct sxt_sort_item item = items[i];
        if (views[item.index].size >= depth)
            continue;
        items[i] = items[settled];
        size_t place = settled++;
        for (; place > first && views[items[place - 1].index].size > views[item.index].size; place--)
            items[place] = items[place - 1];
        items[place] = item;
    }
    return settled;
}

static uint32_t common_size(sxt_string a, sxt_string b)
{
    size_t most = a.size < b.size ? a.size : b.size;
    size_t at = 0;
    while (most - at >= 8 && sxt_load_u64le(a.data + at) == sxt_load_u64le(b.data + at))
        at += 8;
    while (at < most && a.data[at] == b.data[at])
        at++;
    return (uint32_t)at;
}

static void measure_common(struct sxt_ksym_order *order)
{
    for (size_t i = 1; i < order->count; i++)
        order->common[i] = common_size(sxt_ksym_order_name(order, i - 1), sxt_ksym_order_name(order, i));
}

static void put_in_sequence(struct sxt_ksym_order *order, const struct sxt_ksym_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        order->starts[order->place_of[list->symbols[i].name] + 1]++;
    for (size_t i = 0; i < order->count; i++)
        order->starts[i + 1] += order->starts[i];
    /* Until the end, `records` counts the symbols that are in place; then it gets its own values. */
    for (size_t i = 0; i < list->count; i++) {
        uint32_t place = order->place_of[list->symbols[i].name];
        order->sequence[order->starts[place] + order->records[place]++] = (uint32_t)i;
    }
}

static void count_records(struct sxt_ksym_order *order, const struct sxt_ksym_list *list, bool shared)
{
    for (size_t place = 0; shared && place < order->count; place++) {
        uint64_t seen[4] = {0};
        order->records[place] = 0;
        for (size_t i = order->starts[place]; i < order->starts[place + 1]; i++) {
            uint8_t type = (uint8_t)list->symbols[order->sequence[i]].type;
            order->records[place] += !(seen[type / 64] >> type % 64 & 1);
            seen[type / 64] |= UINT64_C(1) << type % 64;
        }
    }
}
