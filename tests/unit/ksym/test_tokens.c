/*
 * test_tokens.c: is there no better choice of tokens? Small lists are compared with the best of all possible
 * choices, and large ones with the bound that comes with the choice, and with the plain way: one token after another,
 * always the one that saves the most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ksym/ksym.h"
#include "support/random.h"
#include "support/test.h"

#define PREFIXES_MAX 16  /* of which all sets are tried */
#define PADDING      16  /* what two paddings can make of a difference, and rounding of prices */
#define COST         4   /* of a token besides its text */
#define NAMES_MAX    600 /* for the plain way */

struct name {
    char text[40];
    size_t size;
    size_t symbols;
};

struct prefix {
    const struct name *of;
    size_t length;
};

static size_t add_name(struct name *names, size_t count, const char *text, size_t symbols)
{
    size_t i = 0;
    while (i < count && strcmp(names[i].text, text) != 0)
        i++;
    if (i == count) {
        snprintf(names[i].text, sizeof names[i].text, "%s", text);
        names[i].size = strlen(text);
        names[i].symbols = 0;
        count++;
    }
    names[i].symbols += symbols;
    return count;
}

static bool has_prefix(const struct name *name, const struct prefix *prefix)
{
    return name->size >= prefix->length && memcmp(name->text, prefix->of->text, prefix->length) == 0;
}

/* All prefixes that are longer than a marker, each once. */
static size_t all_prefixes(const struct name *names, size_t count, struct prefix *prefixes, size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t length = 4; length <= names[i].size; length++) {
            struct prefix prefix = {&names[i], length};
            bool is_new = true;
            for (size_t j = 0; j < found && is_new; j++)
                is_new = prefixes[j].length != length || !has_prefix(&names[i], &prefixes[j]);
            if (is_new && found < most)
                prefixes[found++] = prefix;
        }
    return found;
}

static struct sxt_ksym_encode_report encode(const struct name *names, size_t count, size_t *size)
{
    struct sxt_ksym_list list;
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    assert_int_equal(sxt_ksym_list_init(&list, NULL), SXT_OK);
    for (size_t i = 0; i < count; i++)
        for (size_t symbol = 0; symbol < names[i].symbols; symbol++)
            assert_int_equal(sxt_ksym_list_add(&list, i, 'T', (sxt_string){names[i].text, names[i].size}, NULL),
                             SXT_OK);
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, size, &report, NULL), SXT_OK);
    free(data);
    sxt_ksym_list_free(&list);
    return report;
}

/* --- all choices --- */

/* What a set of prefixes saves; there are so few that all have markers of three bytes. */
static long saved_by(const struct name *names, size_t count, const struct prefix *prefixes, size_t prefix_count,
                     uint32_t set)
{
    long saved = 0;
    for (size_t j = 0; j < prefix_count; j++)
        if (set >> j & 1)
            saved -= (long)prefixes[j].length + COST;
    for (size_t i = 0; i < count; i++) {
        size_t longest = 0;
        for (size_t j = 0; j < prefix_count; j++)
            if ((set >> j & 1) && prefixes[j].length > longest && has_prefix(&names[i], &prefixes[j]))
                longest = prefixes[j].length;
        if (longest > 0)
            saved += (long)names[i].symbols * ((long)longest - 3);
    }
    return saved;
}

TEST(small_lists_get_the_best_choice)
{
    struct sxt_test_random random = {11};
    size_t with_tokens = 0, with_several = 0;
    for (int round = 0; round < 60; round++) {
        struct name names[4];
        struct prefix prefixes[PREFIXES_MAX];
        size_t count = 0, size;
        for (int i = 0; i < 4; i++) {
            char text[8] = "prefix";
            for (size_t at = sxt_test_below(&random, 4); at < 7; at++)
                text[at] = "ab"[sxt_test_below(&random, 2)];
            count = add_name(names, count, text, 1 + sxt_test_below(&random, 6));
        }
        size_t prefix_count = all_prefixes(names, count, prefixes, PREFIXES_MAX);
        long best = 0;
        for (uint32_t set = 0; set < UINT32_C(1) << prefix_count; set++) {
            long saved = saved_by(names, count, prefixes, prefix_count, set);
            best = saved > best ? saved : best;
        }
        struct sxt_ksym_encode_report report = encode(names, count, &size);
        assert_int_equal(report.plain_size - report.size_bound, best);
        assert_true((long)report.saved <= best + PADDING && (long)report.saved + PADDING >= best);
        with_tokens += report.tokens > 0;
        with_several += report.tokens > 1;
    }
    assert_true(with_tokens > 20 && with_several > 5);
}

/* --- one after another --- */

static size_t marker(size_t id)
{
    return id < 256 ? 3 : 4;
}

/* Takes the prefix that saves the most, again and again, and returns what all save. */
static long take_one_by_one(const struct name *names, size_t count, const struct prefix *prefixes, size_t prefix_count,
                            size_t most)
{
    static size_t now[NAMES_MAX]; /* bytes that a name is shorter by */
    long total = 0;
    memset(now, 0, sizeof now);
    for (size_t id = 0; id < most; id++) {
        const struct prefix *taken = NULL;
        long best = 0;
        for (size_t j = 0; j < prefix_count; j++) {
            long saved = -(long)prefixes[j].length - COST;
            size_t value = prefixes[j].length - marker(id);
            for (size_t i = 0; i < count; i++)
                if (value > now[i] && has_prefix(&names[i], &prefixes[j]))
                    saved += (long)((value - now[i]) * names[i].symbols);
            if (saved > best) {
                best = saved;
                taken = &prefixes[j];
            }
        }
        if (taken == NULL)
            return total;
        total += best;
        for (size_t i = 0; i < count; i++)
            if (taken->length - marker(id) > now[i] && has_prefix(&names[i], taken))
                now[i] = taken->length - marker(id);
    }
    return total;
}

TEST(no_list_is_better_served_one_by_one)
{
    struct sxt_test_random random = {12};
    static struct name names[NAMES_MAX];
    static struct prefix prefixes[NAMES_MAX * 16];
    for (int round = 0; round < 12; round++) {
        size_t count = 0, size;
        for (int i = 0; i < 150; i++) {
            char text[40] = "";
            for (uint32_t left = 1 + sxt_test_below(&random, 5); left > 0; left--)
                strcat(text, (const char *const[]){"a_", "bc", "def", "x"}[sxt_test_below(&random, 4)]);
            count = add_name(names, count, text, 1 + sxt_test_below(&random, 3));
        }
        size_t prefix_count = all_prefixes(names, count, prefixes, sizeof prefixes / sizeof *prefixes);
        long plain = take_one_by_one(names, count, prefixes, prefix_count, SXT_KSYM_TOKENS_WRITTEN);
        struct sxt_ksym_encode_report report = encode(names, count, &size);
        assert_true((long)report.saved + PADDING >= plain);
        assert_true((long)(report.plain_size - report.size_bound) >= plain);
    }
}

/* The prefix of all saves more than that of either half, but less than those two, and with it they are not worth it. */
TEST(two_tokens_can_be_better_than_the_best_one)
{
    struct name names[6];
    struct prefix prefixes[60];
    size_t count = 0, size;
    for (int i = 0; i < 6; i++) {
        char text[40];
        snprintf(text, sizeof text, "beginning_%s%d", i % 2 == 0 ? "middle" : "center", i);
        count = add_name(names, count, text, 1);
    }
    size_t prefix_count = all_prefixes(names, count, prefixes, sizeof prefixes / sizeof *prefixes);
    assert_int_equal(take_one_by_one(names, count, prefixes, prefix_count, SXT_KSYM_TOKENS_WRITTEN), 28);
    struct sxt_ksym_encode_report report = encode(names, count, &size);
    assert_int_equal(report.plain_size - report.size_bound, 38);
    assert_int_equal(report.tokens, 2);
}

/* --- limits --- */

/* Groups of names under two levels of prefixes, with more of both than there are tokens. */
TEST(a_list_that_needs_more_tokens_than_there_are_comes_close_to_the_bound)
{
    struct sxt_test_random random = {13};
    struct sxt_ksym_list list;
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    size_t size;
    assert_int_equal(sxt_ksym_list_init(&list, NULL), SXT_OK);
    for (unsigned outer = 0; outer < 300; outer++) {
        unsigned inners = 3 + sxt_test_below(&random, 9);
        for (unsigned i = 0; i < inners * 12; i++) {
            char name[80];
            unsigned inner = sxt_test_below(&random, inners);
            int length = snprintf(name, sizeof name, "%x_outer_%.*s_%x_inner_and_more_%x", outer * 7919,
                                  (int)(outer % 20), "abcdefghijklmnopqrst", inner, i * 31);
            sxt_string view = {name, (size_t)length};
            assert_int_equal(sxt_ksym_list_add(&list, list.count, 'T', view, NULL), SXT_OK);
        }
    }
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, &size, &report, NULL), SXT_OK);
    assert_int_equal(report.tokens, SXT_KSYM_TOKENS_WRITTEN);
    assert_true(report.size_bound > 0 && report.size_bound <= size + PADDING);
    assert_true(size <= report.size_bound + 4 * PADDING);
    free(data);
    struct sxt_ksym_encode_options reference = {.tokens = SXT_KSYM_TOKENS_REFERENCE};
    size_t reference_size;
    assert_int_equal(sxt_ksym_encode(&list, &reference, &data, &reference_size, NULL, NULL), SXT_OK);
    assert_true(size < reference_size);
    free(data);
    sxt_ksym_list_free(&list);
}

/* Every name is the beginning of the next: the tree of prefixes is as deep as it is large. */
TEST(a_deep_tree_is_cut_down)
{
    enum { DEPTH = 6000 };
    static char name[DEPTH];
    struct sxt_ksym_list list;
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    size_t size;
    memset(name, 'a', sizeof name);
    assert_int_equal(sxt_ksym_list_init(&list, NULL), SXT_OK);
    for (size_t length = 1; length <= DEPTH; length++)
        assert_int_equal(sxt_ksym_list_add(&list, length, 'T', (sxt_string){name, length}, NULL), SXT_OK);
    double start = sxt_test_seconds();
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, &size, &report, NULL), SXT_OK);
    assert_true(sxt_test_seconds() - start < 20);
    assert_true(report.saved > report.plain_size / 2);
    free(data);
    sxt_ksym_list_free(&list);
}
