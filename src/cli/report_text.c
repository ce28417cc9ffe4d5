/* report_text.c: the summary of a file as text: what the verb for files of its kind prints. */
#include "cli/report_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sextant/archive.h>

#include "cli/verbs.h"

#define MOST_WORDS 16

/* A command line that is being made. */
struct command {
    char *words[MOST_WORDS];
    int count;
    bool failed; /* memory was short */
};

static void add(struct command *command, const char *prefix, const char *value)
{
    char *word = NULL;
    if (asprintf(&word, "%s%s", prefix, value) < 0)
        word = NULL;
    command->failed |= word == NULL;
    command->words[command->count++] = word;
}

/* Passes options on that the other verb has too; diff takes most of its options for sizes only. */
static void add_options(struct command *command, const struct cli_arguments *arguments, const struct cli_verb *verb,
                        sxt_kind kind)
{
    static const char *const flags[] = {"json", "wide", "no-map"}, *const values[] = {"max-size", "threads"};
    bool only_json = verb == &cli_diff && kind == SXT_KIND_TRACE;
    for (const struct cli_option *option = verb->options; option->name != NULL; option++) {
        if (only_json && strcmp(option->name, "json") != 0)
            continue;
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
            if (strcmp(option->name, flags[i]) == 0 && cli_given(arguments, flags[i]))
                add(command, "--", flags[i]);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            if (strcmp(option->name, values[i]) == 0 && cli_value(arguments, values[i]) != NULL) {
                add(command, "--", values[i]);
                add(command, "", cli_value(arguments, values[i]));
            }
    }
}

static const struct cli_verb *verb_for(sxt_kind kind, size_t files)
{
    if (files == 2 || kind == SXT_KIND_SIZEDIFF)
        return &cli_diff;
    switch (kind) {
    case SXT_KIND_TRACE:
        return &cli_heap;
    case SXT_KIND_LIDIA:
    case SXT_KIND_SYMBFILE:
    case SXT_KIND_KSYM:
        return &cli_info;
    default:
        return &cli_size; /* also static libraries and packages; it reports what it does not know */
    }
}

int cli_report_text(const struct cli_arguments *arguments)
{
    sxt_kind kind;
    sxt_error error;
    if (sxt_identify_path(arguments->words[0], &kind, &error) != SXT_OK)
        return cli_fail(arguments->words[0], &error);
    const struct cli_verb *verb = verb_for(kind, arguments->word_count);
    struct command command = {.count = 0};
    add(&command, "", verb->name);
    add_options(&command, arguments, verb, kind);
    for (size_t i = 0; i < arguments->word_count; i++) /* a name that begins with '-' is not an option */
        add(&command, arguments->words[i][0] == '-' ? "./" : "", arguments->words[i]);
    int status =
        command.failed ? cli_fail_text(NULL, "out of memory") : cli_run(verb, command.count - 1, command.words + 1);
    for (int i = 0; i < command.count; i++)
        free(command.words[i]);
    return status;
}
