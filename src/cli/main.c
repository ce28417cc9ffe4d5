/* main.c: sextant VERB ... */
#include <string.h>

#include "cli/verbs.h"

static int print_overview(void)
{
    printf("usage: sextant VERB [OPTION...] ...\n\n"
           "Where does this address come from, what takes the space in this binary,\n"
           "what holds the memory of this process?\n\nverbs:\n");
    cli_print_verbs(stdout);
    printf("\n'sextant VERB --help' describes a verb, with examples.\n");
    return CLI_DONE;
}

/* Writing buffered output may still fail. */
static int finish(int status)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return status;
    return status == CLI_DONE ? cli_fail_text(NULL, "standard output: cannot write") : status;
}

static int run(int argc, char **argv);

int main(int argc, char **argv)
{
    return finish(run(argc, argv));
}

/* "addr2line" and "x86_64-linux-gnu-addr2line" are names under which the program runs that verb. */
static bool is_addr2line(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t size = strlen(name);
    return size >= 9 && strcmp(name + size - 9, "addr2line") == 0 && (size == 9 || name[size - 10] == '-');
}

static int run(int argc, char **argv)
{
    if (argc > 0 && is_addr2line(argv[0]))
        return cli_addr2line.run_words(argc, argv);
    if (argc < 2)
        return cli_usage(NULL, "no verb given");
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return print_overview();
    if (strcmp(word, "--version") == 0) {
        printf("sextant %s\n", sxt_version());
        return CLI_DONE;
    }
    if (strcmp(word, "help") == 0 && argc == 2)
        return print_overview();
    if (strcmp(word, "help") == 0)
        word = argv[2];
    for (size_t i = 0; cli_verbs[i] != NULL; i++) {
        if (strcmp(cli_verbs[i]->name, word) != 0)
            continue;
        if (word == argv[1])
            return cli_run(cli_verbs[i], argc - 2, argv + 2);
        cli_print_help(cli_verbs[i], stdout);
        return CLI_DONE;
    }
    return cli_usage(NULL, "unknown verb '%s'", word);
}
