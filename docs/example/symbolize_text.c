/*
 * symbolize_text.c: a filter that adds names, files and lines to the addresses in text: reports of sanitizers, perf
 * script, kernel oopses, backtraces. Directories to search for binaries and archives may be given.
 *
 *     cc symbolize_text.c $(pkg-config --cflags --libs sextant) -o symbolize_text
 *     ./symbolize_text symbols/ < crash.log
 */
#include <stdio.h>

#include <sextant/sextant.h>

static bool print_missing(void *data, const sxt_missing_module *missing)
{
    (void)data;
    fprintf(stderr, "%s: %s\n", missing->name.data, missing->problem);
    return true;
}

int main(int argc, char **argv)
{
    sxt_modules_options options;
    sxt_modules *modules;
    sxt_error error;

    sxt_modules_options_init(&options);
    options.directories = (const char *const *)(argv + 1);
    options.directory_count = (size_t)argc - 1;
    if (sxt_modules_open(&options, &modules, &error) != SXT_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }

    /* From standard input to standard output, as lines come. */
    int status = sxt_text_filter_fd(modules, 0, 1, &error);
    if (status != SXT_OK)
        fprintf(stderr, "%s\n", error.text);
    sxt_modules_visit_missing(modules, print_missing, NULL);
    sxt_modules_close(&modules);
    return status == SXT_OK ? 0 : 1;
}
