/* test_diff.c: which symbols belong together, pass by pass, and what became of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/size_model.h"
#include "support/test.h"

/* The pairs as text: "0=0 1~2 +3 -4", and the paddings after them: "a.text:5". */
static void describe(const struct sxt_size_delta *delta, char *text, size_t size)
{
    static const char signs[] = "=~+-";
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < delta->pair_count && used < size; i++) {
        const struct sxt_size_pair *pair = &delta->pairs[i];
        char before[12] = "", after[12] = "";
        if (pair->before != SXT_SIZE_NONE)
            snprintf(before, sizeof before, "%u", pair->before);
        if (pair->after != SXT_SIZE_NONE)
            snprintf(after, sizeof after, "%u", pair->after);
        bool is_removed = pair->status == SXT_SIZE_REMOVED;
        used += (size_t)snprintf(text + used, size - used, "%s%s%c%s", i == 0 ? "" : " ", is_removed ? "" : before,
                                 signs[pair->status], is_removed ? before : after);
    }
    for (size_t i = 0; i < delta->padding_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " %.*s%.*s:%d", (int)delta->paddings[i].container.size,
                                 delta->paddings[i].container.data, (int)delta->paddings[i].section.size,
                                 delta->paddings[i].section.data, (int)delta->paddings[i].bytes);
}

static void check(const char *before_text, const char *after_text, bool ignores_aliases, const char *expected)
{
    struct sxt_size_info *before = sxt_test_size(before_text), *after = sxt_test_size(after_text);
    assert_true(before != NULL && after != NULL);
    struct sxt_size_delta delta;
    assert_int_equal(sxt_size_delta_make(before, after, ignores_aliases, 0, &delta, NULL), SXT_OK);
    char text[1000];
    describe(&delta, text, sizeof text);
    assert_string_equal(text, expected);
    uint64_t pairs = 0;
    for (int i = 0; i < 4; i++)
        pairs += delta.counts[i];
    assert_int_equal(pairs, delta.pair_count);
    sxt_size_delta_free(&delta);
    sxt_size_info_free(&before);
    sxt_size_info_free(&after);
}

#define TEXT(name, path, size)        "\t.text\t" name "\t" path "\t\t" #size "\t0\t0\n"
#define IN(section, name, path, size) "\t" section "\t" name "\t" path "\t\t" #size "\t0\t0\n"

TEST(the_same_is_unchanged)
{
    check(TEXT("f", "a", 1) TEXT("g", "a", 2), TEXT("f", "a", 1) TEXT("g", "a", 2), false, "0=0 1=1");
    check("", "", false, "");
    check(TEXT("f", "a", 1), "", false, "-0");
    check("", TEXT("f", "a", 1), false, "+0");
    check(TEXT("f", "a", 1), TEXT("g", "b", 1), false, "+0 -0");
}

TEST(the_first_pass_goes_by_name_without_numbers_path_and_size)
{
    /* By size, where names are alike; and first come, first served. */
    check(TEXT("string literal", "a", 4) TEXT("string literal", "a", 9), TEXT("string literal", "a", 9), false,
          "1=0 -0");
    check(TEXT("f", "a", 4) TEXT("f", "a", 4), TEXT("f", "a", 4), false, "0=0 -1");
    check(IN(".rodata", ".L__unnamed_1193", "a", 1), IN(".rodata", ".L__unnamed_2194", "a", 1), false, "0=0");
    check(IN(".rodata", ".L.ref.tmp.2", "a", 1), IN(".rodata", ".L.ref.tmp.137", "a", 1), false, "0=0");
    check(IN(".dex", "One$3#this$0", "a", 1), IN(".dex", "One$9#this$009", "a", 1), false, "0=0");
    check(IN(".rodata", "x1$2", "a", 1), IN(".rodata", "x1", "a", 1), false, "+0 -0");
    /* The letter of the section counts, not its name. */
    check(IN(".data.rel.ro", "f", "a", 1), IN(".data.rel.ro.local", "f", "a", 1), false, "0=0");
    check(IN(".text", "f", "a", 1), IN(".rodata", "f", "a", 1), false, "+0 -0");
    /* The object stands in for the source. */
    check("\t.text\tf.1\t\ta\t1\t0\t0\n", "\t.text\tf.1\ta\tb\t1\t0\t0\n", false, "0=0");
}

TEST(the_second_pass_lets_sizes_differ)
{
    check(TEXT("f", "a", 1), TEXT("f", "a", 2), false, "0~0");
    check(TEXT("f", "a", 1) TEXT("f", "a", 2), TEXT("f", "a", 3) TEXT("f", "a", 2), false, "1=1 0~0");
}

TEST(the_third_pass_goes_by_short_name)
{
    check(TEXT("f(int)", "a", 1), TEXT("f(char)", "a", 1), false, "0=0");
    check(TEXT("f(int)", "a", 1), TEXT("f(char)", "b", 1), false, "+0 -0");
    check(TEXT("** symbol gap 1 (end)", "a", 1), TEXT("** symbol gap 22 (end)", "a", 1), false, "0=0");
    check(TEXT("** symbol gap 1 (end)", "a", 1), TEXT("** symbol gaps", "a", 1), false, "0=0");
}

TEST(the_fourth_pass_goes_by_telling_names)
{
    check(TEXT("f(int)", "a", 1), TEXT("f(int)", "b", 2), false, "0~0");
    check(TEXT(".Lfoo", "a", 1), TEXT(".Lfoo", "b", 1), false, "+0 -0");
    check(IN(".dex", "a.B#c", "a", 1), IN(".dex", "a.B#c", "b", 1), false, "0=0");
    check(TEXT("string literal", "a", 1), TEXT("string literal", "b", 1), false, "+0 -0");
    check(TEXT("\"text\"", "a", 1), TEXT("\"text\"", "b", 1), false, "0=0");
    check(TEXT("\"text\"", "a", 1), TEXT("\"text\"", "b", 2), false, "+0 -0");
    check(TEXT("** fill", "a", 1), TEXT("** fill", "b", 1), false, "+0 -0");
    check(TEXT("Overhead: x", "a", 1), TEXT("Overhead: x", "b", 1), false, "+0 -0");
}

/* What is left is listed by key, in the order of each key's first symbol, of the matched ones too. */
TEST(what_is_left_stays_in_the_order_of_its_keys)
{
    check(TEXT(".f", "a", 1) TEXT(".g", "a", 1) TEXT(".f", "a", 1) TEXT(".g", "a", 1), TEXT(".f", "a", 1), false,
          "0=0 -2 -1 -3");
}

TEST(containers_belong_together_by_name)
{
    check("a\t.text\tf\tp\t\t1\t0\t0\nb\t.text\tf\tp\t\t1\t0\t0\n", "b\t.text\tf\tp\t\t1\t0\t0\n", false, "1=0 -0");
    /* Two lone containers do anyway: a file does not store the name. */
    check("a\t.text\tf\tp\t\t1\t0\t0\n", "\t.text\tf\tp\t\t1\t0\t0\n", false, "0=0");
    check("a\t.text\tf\tp\t\t1\t0\t0\n", "b\t.text\tf\tp\t\t1\t2\t0\n", false, "0=0 b.text:2");
    check("a\t.text\tf\tp\t\t1\t0\t0\n", "b\t.text\tf\tp\t\t1\t0\t0\nc\t.text\tf\tp\t\t1\t0\t0\n", false, "+0 +1 -0");
}

TEST(padding_is_summed_up_by_section)
{
    check("\t.text\tf\ta\t\t8\t3\t0\n\t.text\tg\ta\t\t8\t1\t0\n",
          "\t.text\tf\ta\t\t8\t7\t0\n\t.text\tg\ta\t\t8\t2\t0\n", false, "0=0 1=1 .text:5");
    /* Of a symbol that is nothing but padding, it is what is compared. */
    check("\t.text\t** gap\ta\t\t0\t3\t0\n", "\t.text\t** gap\ta\t\t0\t7\t0\n", false, "0~0");
    /* Half a byte goes to the even number: 1/2 + 2 and 1/2 + 3. */
    check("\t.text\tf\ta\t\t8\t0\t1\n\t.text\tg\ta\t\t8\t0\t1\n\t.text\th\ta\t\t8\t0\t0\n",
          "\t.text\tf\ta\t\t8\t1\t1\n\t.text\tg\tb\t\t8\t0\t1\n\t.text\th\ta\t\t8\t2\t0\n", false,
          "0=0 2=2 1=1 .text:2");
    check("\t.text\tf\ta\t\t8\t0\t1\n\t.text\tg\ta\t\t8\t0\t1\n\t.text\th\ta\t\t8\t0\t0\n",
          "\t.text\tf\ta\t\t8\t1\t1\n\t.text\tg\tb\t\t8\t0\t1\n\t.text\th\ta\t\t8\t3\t0\n", false,
          "0=0 2=2 1=1 .text:4");
    /* By the section that it was in before; and not where it cancels out. */
    check("\t.data.rel.ro\tf\ta\t\t8\t3\t0\n", "\t.data.rel.ro.local\tf\ta\t\t8\t5\t0\n", false, "0=0 .data.rel.ro:2");
    check("\t.text\tf\ta\t\t8\t3\t0\n\t.text\tg\ta\t\t8\t1\t0\n",
          "\t.text\tf\ta\t\t8\t1\t0\n\t.text\tg\ta\t\t8\t3\t0\n", false, "0=0 1=1");
    /* What is sparse has it already. */
    check("sparse\n\t.text\tf\ta\t\t8\t3\t0\n", "sparse\n\t.text\tf\ta\t\t8\t7\t0\n", false, "0=0");
    check("sparse\n\t.text\tf\ta\t\t8\t3\t0\n", "\t.text\tf\ta\t\t8\t7\t0\n", false, "0=0 .text:4");
}

TEST(aliases_change_what_they_share)
{
    const char *two = "\t.text\tf\ta\t\t8\t0\t1\n\t.text\tg\ta\t\t8\t0\t1\n";
    const char *three = "\t.text\tf\ta\t\t8\t0\t1\n\t.text\tg\ta\t\t8\t0\t1\n\t.text\th\ta\t\t8\t0\t1\n";
    check(two, three, false, "0~0 1~1 +2");
    check(two, three, true, "0=0 1=1 +2");
    check(two, two, false, "0=0 1=1");
}

TEST(sizes_of_pairs)
{
    struct sxt_size_info *before =
        sxt_test_size("\t.text\tf\ta\t\t8\t3\t1\n\t.text\tg\ta\t\t8\t3\t1\n\t.text\tx\ta\t\t5\t2\t0\n"
                      "\t.text\t** p\ta\t\t0\t4\t0\n\t.text\thuge\ta\t\t-9223372036854775808\t0\t0\n");
    struct sxt_size_info *after =
        sxt_test_size("\t.text\tf\ta\t\t10\t9\t0\n\t.text\tg\ta\t\t8\t0\t0\n\t.text\ty\tb\t\t6\t1\t0\n"
                      "\t.text\t** p\ta\t\t2\t7\t0\n\t.text\thuge\ta\t\t9223372036854775807\t0\t0\n");
    struct sxt_size_delta delta;
    assert_int_equal(sxt_size_delta_make(before, after, false, 0, &delta, NULL), SXT_OK);
    char text[300];
    describe(&delta, text, sizeof text);
    assert_string_equal(text, "1~1 0~0 3~3 4~4 +2 -2 .text:6");
    static const int64_t sizes[] = {0, 2, 3, -1, 7, -7};
    static const double shares[] = {4, 6, 5, 0x1p64, 7, -7};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(sxt_size_pair_size(&delta, &delta.pairs[i]), sizes[i]);
        assert_true(sxt_size_pair_pss(&delta, &delta.pairs[i]) == shares[i]);
    }
    sxt_size_delta_free(&delta);
    sxt_size_info_free(&before);
    sxt_size_info_free(&after);
}

/* Random symbols as text, to be freed. */
static char *random_text(struct sxt_test_random *random, uint32_t count)
{
    static const char *const sections[] = {".text", ".rodata", ".data.rel.ro", ".bss"};
    char *text = malloc((size_t)count * 4 * 60 + 1);
    assert_non_null(text);
    size_t used = 0;
    text[0] = 0;
    uint32_t group = 0, aliases = 0;
    int size = 0, padding = 0;
    for (int section = 0; section < 4; section++, aliases = 0)
        for (uint32_t i = 0; i < count; i++) {
            bool goes_on = aliases > 0;
            if (!goes_on) {
                size = (int)sxt_test_below(random, 40);
                padding = (int)sxt_test_below(random, 9) - 1;
                aliases = sxt_test_below(random, 4) == 0 ? sxt_test_below(random, 5) : 0;
                group += aliases > 0;
            } else {
                aliases--;
            }
            used += (size_t)sprintf(text + used, "\t%s\tname%c.%u\tp%u\t\t%d\t%d\t%u\n", sections[section],
                                    (char)('a' + sxt_test_below(random, 26)), sxt_test_below(random, 3),
                                    sxt_test_below(random, 3), size, padding, goes_on || aliases > 0 ? group : 0);
        }
    return text;
}

static double total_of(const struct sxt_size_info *size)
{
    double total = 0;
    for (size_t i = 0; i < size->symbol_count; i++)
        total += sxt_size_pss(size, &size->symbols[i]);
    return total;
}

/* Each symbol is in one pair, and the pairs with the paddings are all of the difference but for the rounding. */
TEST(nothing_is_lost)
{
    struct sxt_test_random random = {11};
    for (int round = 0; round < 60; round++) {
        /* The last ones are worth several threads. */
        uint32_t count = round < 58 ? 1 + sxt_test_below(&random, 60) : 6000;
        char *texts[] = {random_text(&random, count), random_text(&random, count)};
        struct sxt_size_info *before = sxt_test_size(texts[0]), *after = sxt_test_size(texts[1]);
        assert_true(before != NULL && after != NULL);
        struct sxt_size_delta delta;
        assert_int_equal(sxt_size_delta_make(before, after, false, 0, &delta, NULL), SXT_OK);
        uint8_t *seen[] = {calloc(before->symbol_count, 1), calloc(after->symbol_count, 1)};
        double total = 0;
        size_t symbols = 0;
        for (size_t i = 0; i < delta.pair_count; i++) {
            const struct sxt_size_pair *pair = &delta.pairs[i];
            total += sxt_size_pair_pss(&delta, pair);
            if (pair->before != SXT_SIZE_NONE)
                assert_int_equal(seen[0][pair->before]++, 0);
            if (pair->after != SXT_SIZE_NONE)
                assert_int_equal(seen[1][pair->after]++, 0);
            symbols += (pair->before != SXT_SIZE_NONE) + (pair->after != SXT_SIZE_NONE);
        }
        assert_int_equal(symbols, before->symbol_count + after->symbol_count);
        for (size_t i = 0; i < delta.padding_count; i++)
            total += (double)delta.paddings[i].bytes;
        double off = total - (total_of(after) - total_of(before));
        assert_true(off < 2.001 && off > -2.001);
        sxt_size_delta_free(&delta);
        for (int i = 0; i < 2; i++) {
            free(seen[i]);
            free(texts[i]);
        }
        sxt_size_info_free(&before);
        sxt_size_info_free(&after);
    }
}
