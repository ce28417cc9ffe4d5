/* test_problems.c: problems are counted, and handed on with their place, rule and text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/problems.h"

static char last[400];

static void note(void *context, const sxt_problem *problem)
{
    *(unsigned *)context += 1;
    snprintf(last, sizeof last, "%s@%llx: %s", problem->rule, (unsigned long long)problem->offset, problem->message);
}

static void hands_on_place_rule_and_text(void **state)
{
    (void)state;
    unsigned calls = 0;
    struct sxt_problems problems = {.found = note, .context = &calls};
    sxt_problems_add(&problems, 0x80, "va-order", "address %d comes behind %d", 1, 2);
    assert_string_equal(last, "va-order@80: address 1 comes behind 2");
    sxt_problems_add(&problems, UINT64_MAX - 1, "crc", "wrong");
    assert_string_equal(last, "crc@fffffffffffffffe: wrong");
    assert_int_equal(calls, 2);
    assert_int_equal(problems.count, 2);
}

static void counts_also_when_nobody_listens(void **state)
{
    (void)state;
    struct sxt_problems problems = {0};
    sxt_problems_add(&problems, 1, "rule", "text");
    sxt_problems_add(&problems, 2, "rule", "text");
    assert_int_equal(problems.count, 2);
}

static void cuts_a_text_that_is_too_long(void **state)
{
    (void)state;
    unsigned calls = 0;
    struct sxt_problems problems = {.found = note, .context = &calls};
    char name[1000];
    memset(name, 'n', sizeof name);
    sxt_problems_add(&problems, 0, "rule", "%.*s", (int)sizeof name, name);
    assert_int_equal(strlen(last), strlen("rule@0: ") + 239);
}

static void takes_the_offset_out_of_the_text_of_an_error(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hands_on_place_rule_and_text),
        cmocka_unit_test(counts_also_when_nobody_listens),
        cmocka_unit_test(cuts_a_text_that_is_too_long),
        cmocka_unit_test(takes_the_offset_out_of_the_text_of_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
