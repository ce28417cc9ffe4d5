/*
 * sort.c: one pass over the keys counts all eight of their bytes; then the items are distributed byte by byte, lowest
 * first. A byte that is the same in all keys is skipped, so addresses of one program take three or four rounds.
 */
#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGITS        8
#define DIGIT_VALUES  256
#define INSERTION_MAX 48

static void insertion_sort(struct sxt_sort_item *items, size_t count);
static bool count_digits(const struct sxt_sort_item *items, size_t count, size_t counts[DIGITS][DIGIT_VALUES]);
static void deal(const struct sxt_sort_item *from, struct sxt_sort_item *to, size_t count, unsigned digit,
                 size_t places[DIGIT_VALUES]);

static inline unsigned digit_of(uint64_t key, unsigned digit)
{
    return key >> (8 * digit) & 0xff;
}

void sxt_sort(struct sxt_sort_item *items, struct sxt_sort_item *scratch, size_t count)
{
    if (count <= INSERTION_MAX) {
        insertion_sort(items, count);
        return;
    }

    size_t counts[DIGITS][DIGIT_VALUES];
    bool is_sorted = count_digits(items, count, counts);
    if (is_sorted)
        return;

    struct sxt_sort_item *from = items;
    struct sxt_sort_item *to = scratch;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        bool is_constant = counts[digit][digit_of(items[0].key, digit)] == count;
        if (is_constant)
            continue;
        deal(from, to, count, digit, counts[digit]);
        struct sxt_sort_item *dealt = to;
        to = from;
        from = dealt;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

static void insertion_sort(struct sxt_sort_item *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct sxt_sort_item item = items[i];
        size_t place = i;
        while (place > 0 && items[place - 1].key > item.key) {
            items[place] = items[place - 1];
            place--;
        }
        items[place] = item;
    }
}

/* Returns whether the items are in order already. */
static bool count_digits(const struct sxt_sort_item *items, size_t count, size_t counts[DIGITS][DIGIT_VALUES])
{
    bool is_sorted = true;
    uint64_t before = 0;
    memset(counts, 0, sizeof(size_t[DIGITS][DIGIT_VALUES]));
    for (size_t i = 0; i < count; i++) {
        uint64_t key = items[i].key;
        is_sorted &= before <= key;
        before = key;
        for (unsigned digit = 0; digit < DIGITS; digit++)
            counts[digit][digit_of(key, digit)]++;
    }
    return is_sorted;
}

/* PLACES holds how many items have each value of the digit, and is used up. */
static void deal(const struct sxt_sort_item *from, struct sxt_sort_item *to, size_t count, unsigned digit,
                 size_t places[DIGIT_VALUES])
{
    size_t next = 0;
    for (unsigned value = 0; value < DIGIT_VALUES; value++) {
        size_t first = next;
        next += places[value];
        places[value] = first;
    }
    for (size_t i = 0; i < count; i++)
        to[places[digit_of(from[i].key, digit)]++] = from[i];
}
