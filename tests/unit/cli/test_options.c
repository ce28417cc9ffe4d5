/* test_options.c: the command line against a verb's table. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "support/test.h"

/* More options than any verb has. */
enum { MANY = 100 };

static char names[MANY][8];
static struct cli_option table[MANY + 1];
static size_t given, words;
static const char *last_value;

/* Notes what the command line had. */
static int note(const struct cli_arguments *arguments)
{
    for (int i = 0; i < MANY; i++)
        given += cli_given(arguments, names[i]);
    last_value = cli_value(arguments, names[MANY - 1]);
    words = arguments->word_count;
    return CLI_DONE;
}

static const struct cli_verb verb = {
    .name = "verb", .synopsis = "", .summary = "", .description = "", .options = table, .run = note};

/* Flags, and a last option that takes an argument. */
SET_UP()
{
    memset(table, 0, sizeof table);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "o%03d", i);
        table[i] = (struct cli_option){.name = names[i], .help = ""};
    }
    table[MANY - 1].argument = "VALUE";
    given = words = 0;
    last_value = NULL;
}

TEST(a_table_may_have_any_number_of_options)
{
    char text[MANY][24];
    char *arguments[MANY + 1];
    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof text[i], "--%s%s", names[i], i == MANY - 1 ? "=value" : "");
        arguments[i] = text[i];
    }
    arguments[MANY] = NULL;
    assert_int_equal(cli_run(&verb, MANY, arguments), CLI_DONE);
    assert_int_equal(given, MANY);
    assert_int_equal(words, 0);
    assert_non_null(last_value);
    assert_string_equal(last_value, "value");
}

TEST(options_that_are_not_given_do_not_count)
{
    char option[] = "--o001", word[] = "word";
    char *arguments[] = {option, option, word, NULL};
    assert_int_equal(cli_run(&verb, 3, arguments), CLI_DONE);
    assert_int_equal(given, 1);
    assert_int_equal(words, 1);
    assert_null(last_value);
}

TEST(the_argument_of_an_option_is_the_last_one_given)
{
    char option[] = "--o099", first[] = "first", second[] = "--o099=second";
    char *arguments[] = {option, first, second, NULL};
    assert_int_equal(cli_run(&verb, 3, arguments), CLI_DONE);
    assert_int_equal(given, 1);
    assert_string_equal(last_value, "second");
}
