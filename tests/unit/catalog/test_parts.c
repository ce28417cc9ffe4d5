/* Tests of catalog/parts.c and keys.c: which sets the names of parts make. */
#include "catalog/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "support/random.h"
#include "support/test.h"

static struct sxt_catalog_listing listing;
static struct sxt_catalog_sets sets;
static const struct sxt_catalog catalog = {.options = {.stale_seconds = 1}};

TEAR_DOWN()
{
    sxt_catalog_sets_free(&sets);
    sxt_catalog_listing_free(&listing);
}

static void add(const char *name)
{
    assert_true(sxt_catalog_listing_add(&listing, sxt_string_of(name)));
}

static void walk(void)
{
    sxt_catalog_sets_free(&sets);
    sxt_catalog_listing_sort(&listing);
    assert_int_equal(sxt_catalog_find_sets(&catalog, &listing, &sets, NULL), SXT_OK);
}

#define T(n) "000000000000000" #n
#define H    "00000000000000aa"

TEST(a_set_is_complete_when_every_number_is_there)
{
    add("part/ranges/-/3/" T(1) "-2-" H);
    add("part/ranges/-/3/" T(2) "-0-" H);
    add("part/ranges/-/3/" T(3) "-0-" H);
    walk();
    assert_int_equal(sets.complete_count, 0);
    assert_int_equal(sets.collecting_count, 1);
    assert_int_equal(sets.collecting[0].there, 2);
    add("part/ranges/-/3/" T(4) "-1-" H);
    walk();
    assert_int_equal(sets.complete_count, 1);
    assert_int_equal(sets.collecting_count, 0);
    assert_int_equal(sets.complete[0].time, 4);
    assert_int_equal(sets.complete[0].items[0]->time, 3);
    assert_int_equal(sets.complete[0].items[2]->time, 1);
}

TEST(a_part_after_a_complete_set_begins_another)
{
    add("part/pads/=00000000000000ff/2/" T(1) "-0-" H);
    add("part/pads/=00000000000000ff/2/" T(2) "-1-" H);
    add("part/pads/=00000000000000ff/2/" T(3) "-1-" H);
    walk();
    assert_int_equal(sets.complete_count, 1);
    assert_int_equal(sets.complete[0].items[1]->time, 2);
    assert_int_equal(sets.collecting_count, 1);
    assert_int_equal(sets.collecting[0].there, 1);
    add("part/pads/=00000000000000ff/2/" T(4) "-0-" H);
    walk();
    assert_int_equal(sets.complete_count, 1);
    assert_int_equal(sets.complete[0].time, 4);
    assert_int_equal(sets.complete[0].items[1]->time, 3);
}

TEST(parts_that_are_in_an_entry_do_not_count)
{
    add("part/ranges/-/2/" T(1) "-0-" H);
    add("part/ranges/-/2/" T(2) "-1-" H);
    add("part/ranges/-/2/" T(3) "-1-" H);
    add("symbols/50r-" T(2) "-" H "-2");
    walk();
    assert_int_equal(sets.complete_count, 0);
    assert_int_equal(sets.collecting_count, 1);
    assert_int_equal(sets.collecting[0].there, 1);
    /* Entries of other lines do not matter. */
    add("symbols/50p-" T(9) "-" H "-2");
    add("symbols/50r-" T(9) "-" H "-3");
    add("symbols/50r-" T(9) "-" H "-2=00000000000000ff");
    add("symbols/50x-" T(9) "-" H);
    walk();
    assert_int_equal(sets.collecting_count, 1);
    add("part/ranges/-/2/" T(4) "-0-" H);
    walk();
    assert_int_equal(sets.complete_count, 1);
}

TEST(other_numbers_of_parts_are_other_sets)
{
    add("part/ranges/-/2/" T(1) "-0-" H);
    add("part/ranges/-/3/" T(2) "-1-" H);
    add("part/pads/-/2/" T(3) "-1-" H);
    add("part/ranges/=00000000000000ff/2/" T(4) "-1-" H);
    walk();
    assert_int_equal(sets.complete_count, 0);
    assert_int_equal(sets.collecting_count, 4);
}

TEST(a_set_that_was_given_up_does_not_count)
{
    add("part/ranges/-/2/0000000000000001-0-" H);
    add("part/ranges/-/2/00000000000f4243-1-" H); /* more than a second later */
    walk();
    assert_int_equal(sets.complete_count, 0);
    assert_int_equal(sets.collecting[0].there, 1);
    add("part/ranges/-/2/00000000001e8483-0-" H); /* a second after that */
    walk();
    assert_int_equal(sets.complete_count, 1);
}

TEST(a_huge_number_of_parts_takes_no_memory)
{
    add("part/ranges/-/4294967295/" T(1) "-4294967294-" H);
    walk();
    assert_int_equal(sets.complete_count, 0);
    assert_int_equal(sets.collecting[0].parts, UINT32_MAX);
}

TEST(refuses_names_that_are_not_written_exactly_so)
{
    static const char *const names[] = {
        "part/ranges/-/0/" T(1) "-0-" H,
        "part/ranges/-/1/" T(1) "-1-" H,
        "part/ranges/-/01/" T(1) "-0-" H,
        "part/ranges/-/4294967296/" T(1) "-0-" H,
        "part/ranges/-/1/1-0-" H,
        "part/ranges/-/1/" T(1) "-00-" H,
        "part/ranges/-/1/" T(1) "-0-00000000000000AA",
        "part/ranges/-/1/" T(1) "-0-" H "0",
        "part/ranges/-/1/ffffffffffffffff-0-" H,
        "part/ranges/=0000000000000000/1/" T(1) "-0-" H,
        "part/range/-/1/" T(1) "-0-" H,
        "symbols/5r-" T(1) "-" H "-1",
        "symbols/50q-" T(1) "-" H,
        "symbols/50r-" T(1) "-" H,
        "symbols/50r-" T(1) "-" H "-0",
        "symbols/50r-" T(1) "-" H "-1=0000000000000000",
        "symbols/50x-" T(1) "-" H "-1",
        "same/f.00",
        "same/b.0",
        "same/b.0A",
        "same/",
        "other",
        "",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add(names[i]);
    assert_int_equal(listing.unknown, sizeof names / sizeof *names);
}

TEST(names_are_read_as_they_are_written)
{
    struct sxt_test_random random = {.state = 7};
    for (int i = 0; i < 2000; i++) {
        struct sxt_catalog_part_name part = {.kind = sxt_test_below(&random, 2),
                                             .generation = i % 3 == 0 ? 0 : sxt_test_next(&random),
                                             .parts = sxt_test_below(&random, UINT32_MAX) + 1,
                                             .time = (int64_t)(sxt_test_next(&random) >> 3),
                                             .hash = sxt_test_next(&random)};
        part.part = sxt_test_below(&random, part.parts);
        struct sxt_catalog_part_name read;
        char name[160];
        sxt_catalog_print_part(name, sizeof name, &part);
        assert_true(sxt_catalog_parse_part(sxt_string_of(name + 5), &read));
        assert_true(sxt_catalog_same_line(&part, &read));
        assert_int_equal(read.time, part.time);
        assert_int_equal(read.part, part.part);
        assert_int_equal(read.hash, part.hash);

        struct sxt_catalog_entry_name entry = {
            sxt_test_below(&random, 100), "rpxdb"[i % 5], part.time, part.hash, 0, 0};
        if (i % 5 < 2) {
            entry.parts = part.parts;
            entry.generation = part.generation;
        }
        struct sxt_catalog_entry_name entry_read;
        sxt_catalog_print_entry_name(name, sizeof name, &entry);
        assert_true(sxt_catalog_parse_entry_name(sxt_string_of(name + 8), &entry_read));
        assert_int_equal(entry_read.quality, entry.quality);
        assert_int_equal(entry_read.kind, entry.kind);
        assert_int_equal(entry_read.time, entry.time);
        assert_int_equal(entry_read.hash, entry.hash);
        assert_int_equal(entry_read.parts, entry.parts);
        assert_int_equal(entry_read.generation, entry.generation);
    }
}

TEST(names_of_tenants_survive)
{
    char prefix[SXT_CATALOG_KEY_ROOM], name[SXT_CATALOG_KEY_ROOM], longest[66];
    static const char *const names[] = {"", "-", "=", "a", "a/b", "..", "~", "\xc3\xa4", "A b%2f", "~2f"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(sxt_catalog_tenant_prefix(prefix, names[i], NULL), SXT_OK);
        assert_memory_equal(prefix, "t/", 2);
        sxt_string word = {prefix + 2, strlen(prefix) - 3};
        assert_null(memchr(word.data, '/', word.size));
        assert_true(sxt_catalog_tenant_of(word, name));
        assert_string_equal(name, names[i]);
    }
    memset(longest, ' ', sizeof longest);
    longest[65] = 0;
    assert_int_equal(sxt_catalog_tenant_prefix(prefix, longest, NULL), SXT_ERROR_USAGE);
    assert_false(sxt_catalog_tenant_of(sxt_string_of("=~61"), name));
    assert_false(sxt_catalog_tenant_of(sxt_string_of("=~0"), name));
    assert_false(sxt_catalog_tenant_of(sxt_string_of("=~00"), name));
    assert_false(sxt_catalog_tenant_of(sxt_string_of("="), name));
    assert_false(sxt_catalog_tenant_of(sxt_string_of("a"), name));
}

/* --- against a simple model --- */

/* What one line has collected, as the issue of parts goes on in order. */
struct model_line {
    uint64_t generation;
    uint32_t parts;
    uint64_t there[4]; /* content + 1; 0: missing */
};

static struct model_line lines[16];
static size_t line_count;

static struct model_line *model_line(uint64_t generation, uint32_t parts)
{
    for (size_t i = 0; i < line_count; i++)
        if (lines[i].generation == generation && lines[i].parts == parts)
            return &lines[i];
    lines[line_count] = (struct model_line){.generation = generation, .parts = parts};
    return &lines[line_count++];
}

/* Adds a part; true if that completes its set, whose contents are then in SET. */
static bool model_add(uint64_t generation, uint32_t parts, uint32_t part, uint64_t content, uint64_t set[4])
{
    struct model_line *line = model_line(generation, parts);
    line->there[part] = content + 1;
    for (uint32_t i = 0; i < parts; i++)
        if (line->there[i] == 0)
            return false;
    memcpy(set, line->there, sizeof line->there);
    memset(line->there, 0, sizeof line->there);
    return true;
}

/* The newest complete set, with the contents as hashes. Sets of other lines are merged at random moments. */
static void compare(const uint64_t expected[4], uint32_t parts, int64_t time)
{
    walk();
    for (size_t i = 0; i < sets.complete_count; i++)
        if (sets.complete[i].time == time) {
            assert_int_equal(sets.complete[i].parts, parts);
            for (uint32_t k = 0; k < parts; k++)
                assert_int_equal(sets.complete[i].items[k]->hash + 1, expected[k]);
            return;
        }
    fail();
}

/* A server merges the sets that it sees, and removes some of their parts, or all. */
static void merge(struct sxt_test_random *random)
{
    walk();
    for (size_t i = 0; i < sets.complete_count; i++) {
        const struct sxt_catalog_set *set = &sets.complete[i];
        struct sxt_catalog_entry_name entry = {50, 'r', set->time, 1, set->parts, set->generation};
        char name[160];
        sxt_catalog_print_entry_name(name, sizeof name, &entry);
        add(name);
    }
    size_t kept = 0;
    for (size_t i = 0; i < listing.part_count; i++) {
        struct sxt_catalog_part_name *part = &listing.parts[i];
        bool is_settled = part->time <= sxt_catalog_settled_until(&listing, part->kind, part->generation, part->parts);
        if (!is_settled || sxt_test_below(random, 3) == 0)
            listing.parts[kept++] = *part;
    }
    listing.part_count = kept;
}

TEST(any_order_of_parts_gives_the_sets_of_the_model)
{
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct sxt_test_random random = {.state = seed};
        uint64_t set[4] = {0};
        line_count = 0;
        sxt_catalog_listing_free(&listing);
        for (int64_t time = 1; time < 60; time++) {
            uint32_t parts = 1 + sxt_test_below(&random, 4), part = sxt_test_below(&random, parts);
            uint64_t generation = sxt_test_below(&random, 3), content = sxt_test_below(&random, 5);
            struct sxt_catalog_part_name name = {
                .generation = generation, .parts = parts, .part = part, .time = time, .hash = content};
            char text[160];
            sxt_catalog_print_part(text, sizeof text, &name);
            add(text);
            if (model_add(generation, parts, part, content, set))
                compare(set, parts, time);
            if (sxt_test_below(&random, 4) == 0)
                merge(&random);
        }
        walk();
        size_t collecting = 0;
        for (size_t i = 0; i < line_count; i++)
            for (uint32_t k = 0; k < lines[i].parts; k++)
                if (lines[i].there[k] != 0) {
                    collecting++;
                    break;
                }
        assert_int_equal(sets.collecting_count, collecting);
    }
}
