/* ksym.c: making a ksym blob, for the verbs that do. */
#include <string.h>

#include "cli/making.h"
#include "cli/verbs.h"

static int read_options(const struct cli_arguments *arguments, bool archives_only, sxt_ksym_options *options,
                        sxt_extract_options *extract);
static int summarise(const struct cli_arguments *arguments, const sxt_ksym_writer *writer, const sxt_written *written);

static void show_warning(void *data, const char *path, const char *text)
{
    (void)data;
    cli_warn(path, "%s", text);
}

static int make(const struct cli_arguments *arguments, sxt_ksym_writer *writer)
{
    const char *output = cli_value(arguments, "output");
    sxt_written written = {.struct_size = sizeof written};
    sxt_error error;
    for (size_t i = 0; i < arguments->word_count; i++)
        if (sxt_ksym_writer_add_file(writer, arguments->words[i], &error) != SXT_OK)
            return cli_fail(arguments->words[i], &error);
    if (sxt_ksym_writer_write_path(writer, output, &written, &error) != SXT_OK)
        return cli_fail(output, &error);
    if (!cli_given(arguments, "types"))
        cli_warn_of_functions(arguments->word_count == 1 ? arguments->words[0] : NULL, writer);
    return summarise(arguments, writer, &written);
}

int cli_make_ksym(const struct cli_arguments *arguments, bool archives_only)
{
    sxt_ksym_options options;
    sxt_extract_options extract;
    int status = read_options(arguments, archives_only, &options, &extract);
    if (status != CLI_DONE)
        return status;
    sxt_ksym_writer *writer;
    sxt_error error;
    if (sxt_ksym_writer_new(&options, &writer, &error) != SXT_OK)
        return cli_fail(NULL, &error);
    status = make(arguments, writer);
    sxt_ksym_writer_free(&writer);
    return status;
}

static bool are_letters(const char *types)
{
    for (const char *at = types; *at != 0; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '?' || *at == '-'))
            return false;
    return *types != 0;
}

int cli_ksym_options(const struct cli_arguments *arguments, sxt_ksym_options *options, sxt_extract_options *extract)
{
    return read_options(arguments, false, options, extract);
}

static int read_options(const struct cli_arguments *arguments, bool archives_only, sxt_ksym_options *options,
                        sxt_extract_options *extract)
{
    sxt_ksym_options_init(options);
    options->no_binaries = archives_only;
    options->warning = show_warning;
    const char *layout = cli_value(arguments, "layout");
    options->types = cli_value(arguments, "types");
    options->mangled = cli_given(arguments, "mangled");
    if (options->types != NULL && !are_letters(options->types))
        return cli_usage(arguments->verb, "--types takes letters as nm prints them, or all, not '%s'", options->types);
    if (layout != NULL && strcmp(layout, "0.6") == 0)
        options->layout = SXT_KSYM_0_6;
    else if (layout != NULL && strcmp(layout, "seed") != 0)
        return cli_usage(arguments->verb, "--layout takes seed or 0.6, not '%s'", layout);
    int status = cli_threads(arguments, &options->threads);
    if (options->no_binaries || status != CLI_DONE)
        return status;
    sxt_open_options open;
    status = cli_open_options(arguments, arguments->words[0], &open, extract);
    options->extract = extract;
    /* Only names and addresses are wanted, and the symbol tables have them all. */
    if (!cli_given(arguments, "sources"))
        extract->sources = SXT_SOURCE_SYMTAB | SXT_SOURCE_DYNSYM | SXT_SOURCE_GO;
    return status;
}

void cli_warn_of_functions(const char *file, const sxt_ksym_writer *writer)
{
    unsigned long long weak = sxt_ksym_writer_left_out(writer, 'W') + sxt_ksym_writer_left_out(writer, 'w');
    unsigned long long indirect = sxt_ksym_writer_left_out(writer, 'i');
    char what[128];
    int size = 0;
    if (weak + indirect == 0)
        return;
    if (weak > 0)
        size = snprintf(what, sizeof what, "%llu weak function%s (W)", weak, weak == 1 ? "" : "s");
    if (indirect > 0)
        snprintf(what + size, sizeof what - (size_t)size, "%s%llu indirect function%s (i)", weak > 0 ? " and " : "",
                 indirect, indirect == 1 ? "" : "s");
    cli_warn(file, "%s left out; keep with --types Tt%s%s", what, weak > 0 ? "Ww" : "", indirect > 0 ? "i" : "");
}

static uint64_t count_left_out(const sxt_ksym_writer *writer)
{
    uint64_t count = 0;
    for (int type = '!'; type <= '~'; type++)
        count += sxt_ksym_writer_left_out(writer, (char)type);
    return count;
}

static void print_summary(const char *output, const sxt_ksym_writer *writer, const sxt_written *written)
{
    uint64_t left_out = count_left_out(writer);
    cli_print_name(output);
    fputs(": ", stderr);
    cli_print_count(written->symbols, "symbol");
    fputs(", ", stderr);
    cli_print_count(written->tokens, "token");
    fprintf(stderr, " that save%s %llu bytes, %llu bytes", written->tokens == 1 ? "s" : "",
            (unsigned long long)written->saved, (unsigned long long)written->size);
    if (left_out > 0) {
        fputs("; ", stderr);
        cli_print_count(left_out, "symbol");
        fputs(" of other types left out", stderr);
    }
    fputc('\n', stderr);
}

static void emit_left_out(struct sxt_emit *emit, const sxt_ksym_writer *writer)
{
    sxt_emit_object(emit, "left_out");
    for (int type = '!'; type <= '~'; type++) {
        const char key[2] = {(char)type, 0};
        if (sxt_ksym_writer_left_out(writer, (char)type) > 0)
            sxt_emit_number(emit, key, sxt_ksym_writer_left_out(writer, (char)type));
    }
    sxt_emit_object_end(emit);
}

static int summarise(const struct cli_arguments *arguments, const sxt_ksym_writer *writer, const sxt_written *written)
{
    const char *output = cli_value(arguments, "output");
    if (!cli_given(arguments, "json")) {
        if (!cli_given(arguments, "quiet"))
            print_summary(output, writer, written);
        return CLI_DONE;
    }
    struct sxt_emit emit;
    cli_begin_summary(&emit, output, "ksym");
    sxt_emit_number(&emit, "symbols", written->symbols);
    sxt_emit_number(&emit, "tokens", written->tokens);
    sxt_emit_number(&emit, "saved", written->saved);
    sxt_emit_number(&emit, "size", written->size);
    emit_left_out(&emit, writer);
    sxt_emit_record_end(&emit);
    return cli_finish(&emit, CLI_DONE);
}
