/* options.c: parses a command line by the table of a verb, and prints help from the table. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Every verb has these, after its own. */
static const struct cli_option general_options[] = {
    {"help", 'h', NULL, "show this help", NULL},
    {"version", 0, NULL, "show the version", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

enum { GENERAL = 1000, NOT_FOUND = -1, AMBIGUOUS = -2 };

static size_t count_options(const struct cli_verb *verb);
static int parse(struct cli_arguments *arguments, int argc, char **argv, bool *done);
static int find_long(const struct cli_verb *verb, const char *name, size_t size);
static int find_short(const struct cli_verb *verb, char letter);
static const struct cli_option *option_at(const struct cli_verb *verb, int which);

int cli_run(const struct cli_verb *verb, int argc, char **argv)
{
    if (verb->run_words != NULL)
        return verb->run_words(argc + 1, argv - 1);
    struct cli_arguments arguments = {.verb = verb, .separator = SIZE_MAX};
    arguments.counts = calloc(count_options(verb) + 1, sizeof *arguments.counts);
    arguments.words = calloc((size_t)argc + 1, sizeof *arguments.words);
    arguments.given = calloc((size_t)argc + 1, sizeof *arguments.given);
    int status = CLI_DONE;
    bool done = false;
    if (arguments.counts == NULL || arguments.words == NULL || arguments.given == NULL)
        status = cli_fail_text(NULL, "out of memory");
    else
        status = parse(&arguments, argc, argv, &done);
    if (status == CLI_DONE && !done)
        status = verb->run(&arguments);
    free(arguments.counts);
    free(arguments.words);
    free(arguments.given);
    return status;
}

static size_t count_options(const struct cli_verb *verb)
{
    size_t count = 0;
    while (verb->options != NULL && verb->options[count].name != NULL)
        count++;
    return count;
}

/* Takes option WHICH with its ARGUMENT; *DONE when nothing else is to be done. */
static int take(struct cli_arguments *arguments, int which, const char *argument, bool *done)
{
    if (which == GENERAL) {
        cli_print_help(arguments->verb, stdout);
        *done = true;
    } else if (which == GENERAL + 1) {
        printf("sextant %s\n", sxt_version());
        *done = true;
    } else {
        arguments->counts[which]++;
        if (argument != NULL)
            arguments->given[arguments->given_count++] = (struct cli_given){(size_t)which, argument};
    }
    return CLI_DONE;
}

static int parse_long(struct cli_arguments *arguments, int argc, char **argv, int *at, bool *done)
{
    const struct cli_verb *verb = arguments->verb;
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    size_t size = equals != NULL ? (size_t)(equals - name) : strlen(name);
    int which = find_long(verb, name, size);
    *done = which < 0;
    if (which == NOT_FOUND)
        return cli_usage(verb, "unknown option '--%.*s'", (int)size, name);
    if (which == AMBIGUOUS)
        return cli_usage(verb, "option '--%.*s' is ambiguous", (int)size, name);
    const struct cli_option *option = option_at(verb, which);
    const char *argument = equals != NULL ? equals + 1 : NULL;
    if (option->argument == NULL && argument != NULL) {
        *done = true;
        return cli_usage(verb, "option '--%s' takes no argument", option->name);
    }
    if (option->argument != NULL && argument == NULL) {
        if (*at + 1 >= argc) {
            *done = true;
            return cli_usage(verb, "option '--%s' needs an argument (%s)", option->name, option->argument);
        }
        argument = argv[++*at];
    }
    return take(arguments, which, argument, done);
}

/* "-h", "-o FILE", "-oFILE", and flags together: "-qv". */
static int parse_short(struct cli_arguments *arguments, int argc, char **argv, int *at, bool *done)
{
    const struct cli_verb *verb = arguments->verb;
    for (const char *letter = argv[*at] + 1; *letter != 0 && !*done; letter++) {
        int which = find_short(verb, *letter);
        if (which < 0) {
            *done = true;
            return cli_usage(verb, "unknown option '-%c'", *letter);
        }
        if (option_at(verb, which)->argument == NULL) {
            take(arguments, which, NULL, done);
            continue;
        }
        const char *argument = letter[1] != 0 ? letter + 1 : *at + 1 < argc ? argv[++*at] : NULL;
        if (argument == NULL) {
            *done = true;
            return cli_usage(verb, "option '-%c' needs an argument (%s)", *letter, option_at(verb, which)->argument);
        }
        return take(arguments, which, argument, done);
    }
    return CLI_DONE;
}

static int parse(struct cli_arguments *arguments, int argc, char **argv, bool *done)
{
    int status = CLI_DONE;
    bool only_words = false;
    for (int i = 0; i < argc && !*done; i++) {
        if (only_words || argv[i][0] != '-' || argv[i][1] == 0)
            arguments->words[arguments->word_count++] = argv[i];
        else if (strcmp(argv[i], "--") == 0) {
            only_words = true;
            arguments->separator = arguments->word_count;
        } else if (argv[i][1] == '-')
            status = parse_long(arguments, argc, argv, &i, done);
        else
            status = parse_short(arguments, argc, argv, &i, done);
    }
    return status;
}

/* An exact name, or the only one with this prefix. */
static int find_long(const struct cli_verb *verb, const char *name, size_t size)
{
    int found = NOT_FOUND;
    const struct cli_option *tables[] = {verb->options, general_options};
    for (int table = 0; table < 2; table++) {
        for (int i = 0; tables[table] != NULL && tables[table][i].name != NULL; i++) {
            const char *candidate = tables[table][i].name;
            if (strncmp(candidate, name, size) != 0)
                continue;
            int which = table == 0 ? i : GENERAL + i;
            if (candidate[size] == 0)
                return which;
            found = found == NOT_FOUND ? which : AMBIGUOUS;
        }
    }
    return size > 0 ? found : NOT_FOUND;
}

static int find_short(const struct cli_verb *verb, char letter)
{
    const struct cli_option *tables[] = {verb->options, general_options};
    for (int table = 0; table < 2; table++)
        for (int i = 0; tables[table] != NULL && tables[table][i].name != NULL; i++)
            if (tables[table][i].letter == letter)
                return table == 0 ? i : GENERAL + i;
    return NOT_FOUND;
}

static const struct cli_option *option_at(const struct cli_verb *verb, int which)
{
    return which >= GENERAL ? &general_options[which - GENERAL] : &verb->options[which];
}

static size_t index_of(const struct cli_arguments *arguments, const char *name)
{
    for (size_t i = 0; arguments->verb->options[i].name != NULL; i++)
        if (strcmp(arguments->verb->options[i].name, name) == 0)
            return i;
    abort(); /* verbs ask only for options in their table */
}

const char *cli_value(const struct cli_arguments *arguments, const char *name)
{
    size_t option = index_of(arguments, name);
    for (size_t i = arguments->given_count; i > 0; i--)
        if (arguments->given[i - 1].option == option)
            return arguments->given[i - 1].argument;
    return NULL;
}

const char *cli_value_at(const struct cli_arguments *arguments, const char *name, size_t index)
{
    size_t option = index_of(arguments, name);
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == option && index-- == 0)
            return arguments->given[i].argument;
    return NULL;
}

bool cli_given(const struct cli_arguments *arguments, const char *name)
{
    return arguments->counts[index_of(arguments, name)] > 0;
}

#define HELP_COLUMN 28

static void print_option(const struct cli_option *option, FILE *stream)
{
    char left[96];
    int size = snprintf(left, sizeof left, "  %s%c%s--%s%s%s", option->letter != 0 ? "-" : " ",
                        option->letter != 0 ? option->letter : ' ', option->letter != 0 ? ", " : "  ", option->name,
                        option->argument != NULL ? " " : "", option->argument != NULL ? option->argument : "");
    fprintf(stream, "%s", left);
    if (size >= HELP_COLUMN) {
        fputc('\n', stream);
        size = 0;
    }
    for (const char *line = option->help; line != NULL;) {
        const char *end = strchr(line, '\n');
        fprintf(stream, "%*s%.*s\n", HELP_COLUMN - size, "", end != NULL ? (int)(end - line) : (int)strlen(line), line);
        line = end != NULL ? end + 1 : NULL;
        size = 0;
    }
}

void cli_print_options(const struct cli_option *options, FILE *stream)
{
    for (size_t i = 0; options != NULL && options[i].name != NULL; i++)
        print_option(&options[i], stream);
    for (size_t i = 0; general_options[i].name != NULL; i++)
        print_option(&general_options[i], stream);
}

void cli_print_help(const struct cli_verb *verb, FILE *stream)
{
    fprintf(stream, "usage: sextant %s %s\n\n%s\n\noptions:\n", verb->name, verb->synopsis, verb->description);
    cli_print_options(verb->options, stream);
    if (verb->examples != NULL)
        fprintf(stream, "\nexamples:\n");
    for (size_t i = 0; verb->examples != NULL && verb->examples[i].command != NULL; i++)
        fprintf(stream, "  %s\n      %s\n", verb->examples[i].command, verb->examples[i].explanation);
}
