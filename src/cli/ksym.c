/* ksym.c: making a ksym blob, for the verbs that do. */
#include <string.h>

#include "archive/archive.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "trace/trace.h"

static int understand(const struct cli_arguments *arguments, struct sxt_ksym_options *options);
static int summarise(const struct cli_arguments *arguments, const struct sxt_ksym_made *made);

static void show_warning(void *data, const char *path, const char *text)
{
    (void)data;
    cli_warn(path, "%s", text);
}

int cli_make_ksym(const struct cli_arguments *arguments, bool archives_only)
{
    struct sxt_ksym_options options = {.archives_only = archives_only, .warning = show_warning};
    int status = understand(arguments, &options);
    if (status != CLI_DONE)
        return status;
    struct sxt_ksym_made made;
    const char *failed;
    sxt_error error;
    if (sxt_ksym_make(arguments->words, arguments->word_count, cli_value(arguments, "output"), &options, &made, &failed,
                      &error) != SXT_OK)
        return cli_fail(failed, &error);
    return summarise(arguments, &made);
}

static bool are_letters(const char *types)
{
    for (const char *at = types; *at != 0; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '?' || *at == '-'))
            return false;
    return *types != 0;
}

static int understand(const struct cli_arguments *arguments, struct sxt_ksym_options *options)
{
    const char *layout = cli_value(arguments, "layout");
    options->types = cli_value(arguments, "types");
    options->mangled = cli_given(arguments, "mangled");
    if (options->types != NULL && !are_letters(options->types))
        return cli_usage(arguments->verb, "--types takes letters as nm prints them, or all, not '%s'", options->types);
    if (layout != NULL && strcmp(layout, "0.6") == 0)
        options->layout = SXT_KSYM_0_6;
    else if (layout != NULL && strcmp(layout, "seed") != 0)
        return cli_usage(arguments->verb, "--layout takes seed or 0.6, not '%s'", layout);
    if (options->archives_only)
        return CLI_DONE;
    sxt_open_options open;
    int status = cli_open_options(arguments, arguments->words[0], &open, &options->extract);
    /* Only names and addresses are wanted, and the symbol table has them all. */
    if (!cli_given(arguments, "sources"))
        options->extract.sources = SXT_SOURCE_SYMTAB | SXT_SOURCE_DYNSYM | SXT_SOURCE_GO;
    return status;
}

static int summarise(const struct cli_arguments *arguments, const struct sxt_ksym_made *made)
{
    const char *output = cli_value(arguments, "output");
    if (!cli_given(arguments, "json")) {
        if (!cli_given(arguments, "quiet"))
            fprintf(stderr, "%s: %llu symbols, %llu tokens that save %llu bytes, %llu bytes\n", output,
                    (unsigned long long)made->symbols, (unsigned long long)made->tokens,
                    (unsigned long long)made->saved, (unsigned long long)made->size);
        return CLI_DONE;
    }
    struct sxt_emit emit;
    sxt_emit_init(&emit, strcmp(output, "-") == 0 ? stderr : stdout, true);
    sxt_emit_record(&emit);
    sxt_emit_cstring(&emit, "output", output);
    sxt_emit_cstring(&emit, "format", "ksym");
    sxt_emit_number(&emit, "symbols", made->symbols);
    sxt_emit_number(&emit, "tokens", made->tokens);
    sxt_emit_number(&emit, "saved", made->saved);
    sxt_emit_number(&emit, "size", made->size);
    sxt_emit_record_end(&emit);
    return cli_finish(&emit, CLI_DONE);
}
