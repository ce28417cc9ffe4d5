/* test_problems.c: problems are counted, and handed on with their place, rule and text. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/problems.h"
#include "support/test.h"

static char last[400];

static void note(void *context, const sxt_problem *problem)
{
    *(unsigned *)context += 1;
    snprintf(last, sizeof last, "%s@%llx: %s", problem->rule, (unsigned long long)problem->offset, problem->message);
}

TEST(hands_on_place_rule_and_text)
{
    unsigned calls = 0;
    struct sxt_problems problems = {.found = note, .context = &calls};
    sxt_problems_add(&problems, 0x80, "va-order", "address %d comes after %d", 1, 2);
    assert_string_equal(last, "va-order@80: address 1 comes after 2");
    sxt_problems_add(&problems, UINT64_MAX - 1, "crc", "wrong");
    assert_string_equal(last, "crc@fffffffffffffffe: wrong");
    assert_int_equal(calls, 2);
    assert_int_equal(problems.count, 2);
}

TEST(counts_also_when_nobody_listens)
{
    struct sxt_problems problems = {0};
    sxt_problems_add(&problems, 1, "rule", "text");
    sxt_problems_add(&problems, 2, "rule", "text");
    assert_int_equal(problems.count, 2);
}

TEST(a_note_is_handed_on_but_not_counted)
{
    unsigned calls = 0;
    struct sxt_problems problems = {.found = note, .context = &calls};
    sxt_problems_add_note(&problems, 0x20, "unknown-chunk", "chunk '%s' is unknown", "abcd");
    assert_string_equal(last, "unknown-chunk@20: chunk 'abcd' is unknown");
    assert_int_equal(calls, 1);
    assert_int_equal(problems.count, 0);
    problems.found = NULL;
    sxt_problems_add_note(&problems, 0x20, "unknown-chunk", "unheard");
    assert_int_equal(problems.count, 0);
}

TEST(cuts_a_text_that_is_too_long)
{
    unsigned calls = 0;
    struct sxt_problems problems = {.found = note, .context = &calls};
    char name[1000];
    memset(name, 'n', sizeof name);
    sxt_problems_add(&problems, 0, "rule", "%.*s", (int)sizeof name, name);
    assert_int_equal(strlen(last), strlen("rule@0: ") + 239);
}

TEST(takes_the_offset_out_of_the_text_of_an_error)
{
    unsigned calls = 0;
    struct sxt_problems problems = {.found = note, .context = &calls};
    sxt_error error;
    sxt_fail(&error, SXT_ERROR_FORMAT, 0x30, "range table: 3 entries for 2 addresses");
    sxt_problems_add_error(&problems, "header", &error);
    assert_string_equal(last, "header@30: range table: 3 entries for 2 addresses");
    sxt_fail(&error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "nowhere in particular");
    sxt_problems_add_error(&problems, "header", &error);
    assert_string_equal(last, "header@0: nowhere in particular");
}
