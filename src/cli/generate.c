/* generate.c: man pages and shell completion from the tables of verbs, so that they cannot differ from the program. */
#include <ctype.h>
#include <string.h>

#include "cli/verbs.h"

static int run(const struct cli_arguments *arguments);

static const struct cli_option options[] = {{NULL, 0, NULL, NULL, NULL}};

const struct cli_verb cli_generate = {
    .name = "generate",
    .synopsis = "man [VERB] | completion bash|zsh|fish",
    .summary = "print man pages and shell completion",
    .description = "Prints a man page (for the program, or for a verb) or a completion script.",
    .options = options,
    .hidden = true,
    .run = run,
};

static void man_overview(void);
static void man_verb(const struct cli_verb *verb);
static void complete_bash(void);
static void complete_zsh(void);
static void complete_fish(void);

static int run(const struct cli_arguments *arguments)
{
    const char *what = arguments->word_count > 0 ? arguments->words[0] : "";
    const char *which = arguments->word_count > 1 ? arguments->words[1] : NULL;
    if (strcmp(what, "man") == 0 && which == NULL) {
        man_overview();
        return CLI_DONE;
    }
    if (strcmp(what, "man") == 0) {
        for (size_t i = 0; cli_verbs[i] != NULL; i++)
            if (strcmp(cli_verbs[i]->name, which) == 0) {
                man_verb(cli_verbs[i]);
                return CLI_DONE;
            }
        return cli_usage(arguments->verb, "unknown verb '%s'", which);
    }
    const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", complete_bash}, {"zsh", complete_zsh}, {"fish", complete_fish}};
    for (size_t i = 0; strcmp(what, "completion") == 0 && which != NULL && i < 3; i++)
        if (strcmp(shells[i].shell, which) == 0) {
            shells[i].print();
            return CLI_DONE;
        }
    return cli_usage(arguments->verb, "expected 'man', 'man VERB' or 'completion bash|zsh|fish'");
}

/* Text for troff: backslashes and hyphens are escaped, and a line must not begin with a dot. */
static void roff(const char *text)
{
    for (bool line_start = true; *text != 0; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            printf("\\&");
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
        line_start = *text == '\n';
    }
}

static void roff_upper(const char *text)
{
    for (; *text != 0; text++)
        putchar(toupper((unsigned char)*text));
}

static void man_end(void)
{
    printf(
        ".SH EXIT STATUS\n.TP\n.B 0\nsuccess, even if the answer is empty\n.TP\n.B 1\nthe input is bad, or the answer "
        "is no\n.TP\n.B 2\nwrong usage\n");
}

static void man_overview(void)
{
    printf(
        ".TH SEXTANT 1 \"\" \"sextant %s\" \"User Commands\"\n.SH NAME\nsextant \\- where an address comes from, what "
        "takes the space in a binary\n.SH SYNOPSIS\n.B sextant\n.I VERB\n.RI [ OPTION ...]\n.SH DESCRIPTION\n"
        "One program with a verb for each question. Results go to standard output, everything else to standard "
        "error.\n.SH VERBS\n",
        sxt_version());
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        if (!cli_verbs[i]->hidden) {
            printf(".TP\n.B %s\n", cli_verbs[i]->name);
            roff(cli_verbs[i]->summary);
            printf(" (\n.BR sextant\\-%s (1))\n", cli_verbs[i]->name);
        }
    man_end();
    printf(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nif set, output on a terminal has no colour\n"
           ".TP\n.B SEXTANT_THREADS\nhow many threads to use at most, where\n.B \\-\\-threads\nis not given; "
           "by default one for each processor\n");
}

static void man_options(const struct cli_verb *verb)
{
    for (size_t i = 0; verb->options[i].name != NULL; i++) {
        const struct cli_option *option = &verb->options[i];
        printf(".TP\n");
        if (option->letter != 0)
            printf(".BR \\-%c \", \" ", option->letter);
        else
            printf(".BR ");
        printf("\\-\\-");
        roff(option->name);
        if (option->argument != NULL) {
            printf(" \" \\fI");
            roff(option->argument);
            printf("\\fR\"");
        }
        printf("\n");
        roff(option->help);
        printf("\n");
    }
    printf(".TP\n.BR \\-h \", \" \\-\\-help\nshow a short help\n.TP\n.BR \\-\\-version\nshow the version\n");
}

static void man_verb(const struct cli_verb *verb)
{
    printf(".TH SEXTANT\\-");
    roff_upper(verb->name);
    printf(" 1 \"\" \"sextant %s\" \"User Commands\"\n.SH NAME\nsextant\\-%s \\- ", sxt_version(), verb->name);
    roff(verb->summary);
    printf("\n.SH SYNOPSIS\n.B sextant %s\n", verb->name);
    roff(verb->synopsis);
    printf("\n.SH DESCRIPTION\n");
    roff(verb->description);
    printf("\n.SH OPTIONS\n");
    man_options(verb);
    if (verb->examples != NULL)
        printf(".SH EXAMPLES\n");
    for (size_t i = 0; verb->examples != NULL && verb->examples[i].command != NULL; i++) {
        printf(".PP\n.nf\n.RS\n");
        roff(verb->examples[i].command);
        printf("\n.RE\n.fi\n.PP\n");
        roff(verb->examples[i].explanation);
        printf("\n");
    }
    man_end();
    printf(".SH SEE ALSO\n.BR sextant (1)\n");
}

static void print_option_words(const struct cli_verb *verb)
{
    for (size_t i = 0; verb->options[i].name != NULL; i++)
        printf("--%s ", verb->options[i].name);
    printf("--help --version");
}

static void print_verb_words(void)
{
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        if (!cli_verbs[i]->hidden)
            printf("%s ", cli_verbs[i]->name);
}

static void complete_bash(void)
{
    printf("# bash completion for sextant\n_sextant()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} "
           "before=${COMP_WORDS[COMP_CWORD-1]}\n    COMPREPLY=()\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"");
    print_verb_words();
    printf("--help --version\" -- \"$word\")\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; cli_verbs[i] != NULL; i++) {
        const struct cli_verb *verb = cli_verbs[i];
        if (verb->hidden)
            continue;
        printf("    %s)\n        case $before in\n", verb->name);
        for (size_t k = 0; verb->options[k].name != NULL; k++)
            if (verb->options[k].choices != NULL)
                printf("        --%s) mapfile -t COMPREPLY < <(compgen -W \"%s\" -- \"$word\"); return ;;\n",
                       verb->options[k].name, verb->options[k].choices);
        printf("        esac\n        [[ $word == -* ]] && mapfile -t COMPREPLY < <(compgen -W \"");
        print_option_words(verb);
        printf("\" -- \"$word\")\n        ;;\n");
    }
    printf("    esac\n}\ncomplete -o default -F _sextant sextant\n");
}

/* A single quote ends a quoted word in zsh and fish alike; none of our texts needs one. */
static void print_quotable(const char *text)
{
    for (; *text != 0; text++)
        if (strchr("'[]:", *text) == NULL)
            putchar(*text == '\n' ? ' ' : *text);
}

static void complete_zsh(void)
{
    printf("#compdef sextant\n_sextant()\n{\n    if (( CURRENT == 2 )); then\n        local -a verbs=(\n");
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        if (!cli_verbs[i]->hidden) {
            printf("            '%s:", cli_verbs[i]->name);
            print_quotable(cli_verbs[i]->summary);
            printf("'\n");
        }
    printf("        )\n        _describe verb verbs\n        return\n    fi\n    case $words[2] in\n");
    for (size_t i = 0; cli_verbs[i] != NULL; i++) {
        const struct cli_verb *verb = cli_verbs[i];
        if (verb->hidden)
            continue;
        printf("    %s)\n        _arguments '1:verb:' ", verb->name);
        for (size_t k = 0; verb->options[k].name != NULL; k++) {
            printf("\\\n            '--%s[", verb->options[k].name);
            print_quotable(verb->options[k].help);
            printf("]");
            if (verb->options[k].choices != NULL)
                printf(":choice:(%s)", verb->options[k].choices);
            else if (verb->options[k].argument != NULL)
                printf(":%s:_files", verb->options[k].argument);
            printf("' ");
        }
        printf("\\\n            '*:file:_files'\n        ;;\n");
    }
    printf("    esac\n}\n_sextant \"$@\"\n");
}

static void complete_fish(void)
{
    for (size_t i = 0; cli_verbs[i] != NULL; i++) {
        const struct cli_verb *verb = cli_verbs[i];
        if (verb->hidden)
            continue;
        printf("complete -c sextant -n __fish_use_subcommand -a %s -d '", verb->name);
        print_quotable(verb->summary);
        printf("'\n");
        for (size_t k = 0; verb->options[k].name != NULL; k++) {
            printf("complete -c sextant -n '__fish_seen_subcommand_from %s' -l %s ", verb->name, verb->options[k].name);
            if (verb->options[k].letter != 0)
                printf("-s %c ", verb->options[k].letter);
            if (verb->options[k].argument != NULL)
                printf("-r ");
            if (verb->options[k].choices != NULL)
                printf("-a '%s' ", verb->options[k].choices);
            printf("-d '");
            print_quotable(verb->options[k].help);
            printf("'\n");
        }
    }
}
