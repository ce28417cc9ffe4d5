/* test_strings.c: each string once, numbers in the order of first use, and a table that stays good when it is full. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "support/test.h"

static struct sxt_strings new_table(size_t limit)
{
    struct sxt_strings strings;
    assert_int_equal(sxt_strings_init(&strings, limit, NULL), SXT_OK);
    return strings;
}

static uint32_t add(struct sxt_strings *strings, const char *text)
{
    return sxt_strings_add(strings, text, strlen(text));
}

static uint32_t find(const struct sxt_strings *strings, const char *text)
{
    return sxt_strings_find(strings, text, strlen(text));
}

TEST(begins_with_the_empty_string)
{
    struct sxt_strings strings = new_table(0);
    assert_int_equal(strings.count, 1);
    assert_int_equal(sxt_strings_get(&strings, 0).size, 0);
    assert_string_equal(sxt_strings_get(&strings, 0).data, "");
    assert_int_equal(add(&strings, ""), 0);
    assert_int_equal(sxt_strings_add(&strings, NULL, 0), 0);
    assert_int_equal(sxt_strings_find(&strings, NULL, 0), 0);
    assert_int_equal(strings.count, 1);
    assert_true(strings.bytes == 0);
    sxt_strings_free(&strings);
}

TEST(numbers_strings_in_the_order_of_first_use)
{
    struct sxt_strings strings = new_table(0);
    assert_int_equal(add(&strings, "main"), 1);
    assert_int_equal(add(&strings, "a"), 2);
    assert_int_equal(add(&strings, "main"), 1);
    assert_int_equal(add(&strings, "main.c"), 3);
    assert_int_equal(add(&strings, "a"), 2);
    assert_int_equal(strings.count, 4);
    assert_true(strings.bytes == 11);
    assert_int_equal(find(&strings, "main.c"), 3);
    assert_int_equal(find(&strings, "main."), SXT_STRINGS_FULL);
    assert_string_equal(sxt_strings_get(&strings, 3).data, "main.c");
    assert_int_equal(sxt_strings_get(&strings, 3).size, 6);
    sxt_strings_free(&strings);
}

TEST(a_string_that_is_lent_is_not_copied_and_counts_once)
{
    static const char lent[] = "lent for as long as the table";
    struct sxt_strings strings = new_table(0);
    sxt_string text = {lent, 4};
    uint32_t hash = sxt_strings_hash(&strings, lent, 4);
    sxt_strings_prefetch(&strings, hash);
    assert_int_equal(sxt_strings_lend(&strings, text, hash), 1);
    assert_ptr_equal(sxt_strings_get(&strings, 1).data, lent);
    assert_int_equal(add(&strings, "lent"), 1);
    assert_int_equal(add(&strings, "copied"), 2);
    assert_int_equal(sxt_strings_lend(&strings, (sxt_string){"copied", 6}, sxt_strings_hash(&strings, "copied", 6)), 2);
    assert_int_equal(strings.count, 3);
    sxt_strings_free(&strings);
}

TEST(strings_that_are_expected_get_the_numbers_that_they_get_one_by_one)
{
    struct sxt_strings one = new_table(0), together = new_table(0);
    char text[16][8];
    for (unsigned round = 0; round < 200; round++) {
        sxt_string texts[16];
        uint32_t hashes[16];
        for (unsigned i = 0; i < 16; i++) {
            /* Some repeat one another, or a string of an earlier round; one is empty. */
            int size = snprintf(text[i], sizeof text[i], "%x", (round * 16 + i) / 3 * 7 % 1000);
            texts[i] = (sxt_string){text[i], i == 15 ? 0 : (size_t)size};
        }
        sxt_strings_expect(&together, texts, 16, hashes);
        for (unsigned i = 0; i < 16; i++) {
            uint32_t number = sxt_strings_add(&one, texts[i].data, texts[i].size);
            assert_int_equal(sxt_strings_add_hashed(&together, texts[i], hashes[i]), number);
            assert_int_equal(hashes[i], sxt_strings_hash(&one, texts[i].data, texts[i].size));
        }
    }
    assert_int_equal(one.count, together.count);
    sxt_strings_free(&one);
    sxt_strings_free(&together);
}

TEST(reserved_room_changes_no_number)
{
    struct sxt_strings strings = new_table(0);
    assert_int_equal(add(&strings, "first"), 1);
    sxt_strings_reserve(&strings, 5000);
    uint32_t slot_count = strings.slot_count, capacity = strings.capacity;
    assert_true(capacity >= 5000);
    assert_int_equal(find(&strings, "first"), 1);
    for (unsigned i = 2; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", i);
        assert_int_equal(add(&strings, name), i);
    }
    assert_int_equal(strings.slot_count, slot_count);
    assert_int_equal(strings.capacity, capacity);
    sxt_strings_reserve(&strings, 10);
    sxt_strings_reserve(&strings, SIZE_MAX);
    assert_int_equal(find(&strings, "n4999"), 4999);
    sxt_strings_free(&strings);
}

TEST(compares_all_bytes_and_the_length)
{
    struct sxt_strings strings = new_table(0);
    assert_int_equal(sxt_strings_add(&strings, "\0", 1), 1);
    assert_int_equal(sxt_strings_add(&strings, "\0\0", 2), 2);
    assert_int_equal(sxt_strings_add(&strings, "x\0y", 3), 3);
    assert_int_equal(sxt_strings_add(&strings, "x\0z", 3), 4);
    assert_int_equal(sxt_strings_add(&strings, "x", 1), 5);
    assert_int_equal(sxt_strings_find(&strings, "x\0z", 3), 4);
    assert_memory_equal(sxt_strings_get(&strings, 3).data, "x\0y\0", 4);

    char text[64];
    memset(text, 'q', sizeof text);
    for (size_t size = 1; size <= sizeof text; size++)
        assert_int_equal(sxt_strings_add(&strings, text, size), 5 + size);
    for (size_t place = 0; place < sizeof text; place++) {
        text[place] = 'Q';
        assert_int_equal(sxt_strings_find(&strings, text, sizeof text), SXT_STRINGS_FULL);
        text[place] = 'q';
    }
    sxt_strings_free(&strings);
}

static void name_of(uint32_t number, char name[32])
{
    snprintf(name, 32, "_ZN4test%u8functionEv", number);
}

TEST(finds_all_of_many_strings)
{
    enum { COUNT = 50000 };
    struct sxt_strings strings = new_table(0);
    char name[32];
    for (uint32_t i = 0; i < COUNT; i++) {
        name_of(i, name);
        assert_int_equal(add(&strings, name), i + 1);
    }
    const char *early_view = sxt_strings_get(&strings, 1).data;
    for (uint32_t i = 0; i < COUNT; i++) {
        name_of(i, name);
        assert_int_equal(add(&strings, name), i + 1);
        assert_int_equal(find(&strings, name), i + 1);
        assert_string_equal(sxt_strings_get(&strings, i + 1).data, name);
    }
    assert_int_equal(strings.count, COUNT + 1);
    assert_ptr_equal(sxt_strings_get(&strings, 1).data, early_view);
    assert_true((uint64_t)strings.count * 10 <= (uint64_t)strings.slot_count * 7);
    name_of(COUNT, name);
    assert_int_equal(find(&strings, name), SXT_STRINGS_FULL);
    sxt_strings_free(&strings);
}

static int by_value(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* How often two neighbours in the sorted list of hashes are equal. Destroys the table. */
static size_t count_collisions(struct sxt_strings *strings)
{
    size_t collisions = 0;
    qsort(strings->hashes, strings->count, sizeof *strings->hashes, by_value);
    for (uint32_t i = 1; i < strings->count; i++)
        collisions += strings->hashes[i] == strings->hashes[i - 1];
    sxt_strings_free(strings);
    return collisions;
}

static uint64_t count_probes(const struct sxt_strings *strings)
{
    uint64_t probes = 0;
    for (uint32_t slot = 0; slot < strings->slot_count; slot++) {
        if (strings->slots[slot] != 0) {
            uint32_t home = strings->hashes[strings->slots[slot] - 1];
            probes += ((slot - home) & (strings->slot_count - 1)) + 1;
        }
    }
    return probes;
}

/* Two of 100,000 random 32-bit numbers are equal about once; names that differ in a few digits must do as well. */
TEST(spreads_similar_names)
{
    enum { COUNT = 100000 };
    static const struct {
        const char *before, *after;
    } patterns[] = {
        {"", ""},
        {"function_", ""},
        {"", "_a_rather_long_name_with_the_same_ending_in_all"},
        {"/usr/src/project/component/directory/file", ".c"},
    };
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        struct sxt_strings strings = new_table(0);
        for (unsigned i = 0; i < COUNT; i++) {
            char name[80];
            snprintf(name, sizeof name, "%s%u%s", patterns[p].before, i, patterns[p].after);
            assert_int_equal(add(&strings, name), i + 1);
        }
        assert_in_range(count_probes(&strings), COUNT, 3 * (uint64_t)COUNT);
        assert_in_range(count_collisions(&strings), 0, 12);
    }
}

TEST(spreads_names_that_differ_anywhere)
{
    struct sxt_strings strings = new_table(0);
    for (size_t place = 0; place + 2 <= 50; place++) {
        for (unsigned pair = 1; pair < 2000; pair++) {
            char name[50];
            memset(name, '.', sizeof name);
            name[place] = (char)(name[place] ^ pair % 64);
            name[place + 1] = (char)(name[place + 1] ^ pair / 64);
            sxt_strings_add(&strings, name, sizeof name);
        }
    }
    assert_in_range(strings.count, 90000, 100000);
    assert_in_range(count_collisions(&strings), 0, 12);
}

/* Puts OTHER where a search for TEXT begins, under the hash of TEXT, and searches for TEXT. */
static uint32_t find_after_a_collision(const char *text, const char *other)
{
    struct sxt_strings model = new_table(0), strings = new_table(0);
    uint32_t hash = model.hashes[add(&model, text)];
    uint32_t number = add(&strings, other);
    memset(strings.slots, 0, strings.slot_count * sizeof *strings.slots);
    strings.hashes[number] = hash;
    strings.slots[hash & (strings.slot_count - 1)] = number + 1;
    uint32_t found = find(&strings, text);
    sxt_strings_free(&model);
    sxt_strings_free(&strings);
    return found;
}

/*
 * In the product of a word and any odd number, the highest bit of the word changes nothing but the highest bit. A hash
 * that does no more than multiply and shift thus lets anyone choose pairs of words that undo each other's difference.
 */
TEST(spreads_names_that_were_chosen)
{
    enum { PAIRS = 14 };
    struct sxt_strings strings = new_table(0);
    for (unsigned chosen = 0; chosen < 1u << PAIRS; chosen++) {
        char name[PAIRS * 16 + 8];
        memset(name, 'x', sizeof name);
        for (unsigned pair = 0; pair < PAIRS; pair++) {
            if ((chosen >> pair & 1) == 0)
                continue;
            name[pair * 16 + 7] = (char)(name[pair * 16 + 7] ^ 0x80);
            name[pair * 16 + 11] = (char)(name[pair * 16 + 11] ^ 0x80);
            name[pair * 16 + 15] = (char)(name[pair * 16 + 15] ^ 0x80);
        }
        sxt_strings_add(&strings, name, sizeof name);
    }
    assert_int_equal(strings.count, (1u << PAIRS) + 1);
    assert_in_range(count_collisions(&strings), 0, 12);
}

TEST(distinguishes_strings_with_the_same_hash)
{
    assert_int_equal(find_after_a_collision("main", "main"), 1);
    assert_int_equal(find_after_a_collision("main", "mail"), SXT_STRINGS_FULL);
    assert_int_equal(find_after_a_collision("main", "main.c"), SXT_STRINGS_FULL);
    assert_int_equal(find_after_a_collision("main.c", "main"), SXT_STRINGS_FULL);
}

TEST(takes_no_more_than_its_limit)
{
    struct sxt_strings strings = new_table(20);
    assert_int_equal(add(&strings, "0123456789"), 1);
    assert_int_equal(add(&strings, "abcdefghij"), SXT_STRINGS_FULL);
    assert_int_equal(strings.count, 2);
    assert_true(strings.bytes == 10);
    assert_int_equal(find(&strings, "abcdefghij"), SXT_STRINGS_FULL);
    assert_int_equal(add(&strings, "0123456789"), 1);
    assert_int_equal(add(&strings, "short"), 2);
    assert_int_equal(find(&strings, "short"), 2);
    sxt_strings_free(&strings);

    strings = new_table(1);
    assert_int_equal(add(&strings, ""), 0);
    assert_int_equal(add(&strings, "xy"), SXT_STRINGS_FULL);
    sxt_strings_free(&strings);
}

TEST(stays_whole_when_it_is_full_while_growing)
{
    struct sxt_strings strings = new_table(2000);
    uint32_t added = 0;
    char name[16];
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "s%u", i);
        added += add(&strings, name) != SXT_STRINGS_FULL;
    }
    assert_in_range(added, 300, 600);
    assert_int_equal(strings.count, added + 1);
    for (uint32_t i = 0; i < added; i++) {
        snprintf(name, sizeof name, "s%u", i);
        assert_int_equal(find(&strings, name), i + 1);
    }
    sxt_strings_free(&strings);
}

TEST(may_be_freed_twice)
{
    struct sxt_strings strings = new_table(0);
    add(&strings, "x");
    sxt_strings_free(&strings);
    assert_int_equal(strings.count, 0);
    assert_null(strings.views);
    sxt_strings_free(&strings);
}

TEST(a_string_of_another_table_is_found_and_added)
{
    struct sxt_strings first, second;
    assert_int_equal(sxt_strings_init(&first, 0, NULL), SXT_OK);
    assert_int_equal(sxt_strings_init(&second, 0, NULL), SXT_OK);
    uint32_t shared = sxt_strings_add(&first, "shared", 6);
    sxt_strings_add(&second, "own", 3);
    sxt_strings_add(&second, "shared", 6);
    assert_int_equal(sxt_strings_add_from(&first, &second, 0), 0);
    assert_int_equal(sxt_strings_add_from(&first, &second, 2), shared);
    uint32_t own = sxt_strings_add_from(&first, &second, 1);
    sxt_strings_free(&second);
    assert_int_equal(own, shared + 1);
    assert_int_equal(sxt_strings_find(&first, "own", 3), own);
    assert_string_equal(sxt_strings_get(&first, own).data, "own");
    sxt_strings_free(&first);
}
