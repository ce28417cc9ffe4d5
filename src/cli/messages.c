/* messages.c: errors, warnings and notes on stderr, and parsing that several verbs share. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/hex.h"
#include "base/string.h"
#include "cli/cli.h"

void cli_print_name(const char *name)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    sxt_escape_text(&text, sxt_string_of(name));
    if (!text.failed)
        fwrite(text.data, 1, text.size, stderr);
    /* Out of memory, where the message is needed most. */
    for (size_t i = 0; text.failed && name[i] != 0; i++)
        fputc(name[i] >= ' ' && name[i] <= '~' ? name[i] : '?', stderr);
    sxt_buffer_free(&text);
}

void cli_print_word(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%";
    if (*word == 0 || word[strspn(word, safe)] == 0) {
        cli_print_name(word);
        return;
    }
    fputc('\'', stderr);
    for (size_t size; *word != 0; word += size) {
        char part[256];
        size = strcspn(word, "'");
        size = size < sizeof part ? size : sizeof part - 1;
        memcpy(part, word, size);
        part[size] = 0;
        cli_print_name(part);
        if (word[size] == '\'') {
            fputs("'\\''", stderr);
            size++;
        }
    }
    fputc('\'', stderr);
}

void cli_print_count(uint64_t count, const char *noun)
{
    fprintf(stderr, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
}

__attribute__((format(printf, 1, 0))) static void print_text(const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    cli_print_name(text);
}

__attribute__((format(printf, 3, 0))) static void print_line(const char *file, const char *kind, const char *format,
                                                             va_list arguments)
{
    fflush(stdout);
    /* A line of one thread stays in one piece. */
    flockfile(stderr);
    fprintf(stderr, "sextant: ");
    if (file != NULL) {
        cli_print_name(file);
        fputs(": ", stderr);
    }
    fputs(kind, stderr);
    print_text(format, arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
}

int cli_fail(const char *file, const sxt_error *error)
{
    const char *hint = cli_hint(error->reason);
    return cli_fail_text(file, "%s%s%s", error->text, hint != NULL ? "; " : "", hint != NULL ? hint : "");
}

int cli_fail_text(const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(file, "", format, arguments);
    va_end(arguments);
    return CLI_NO;
}

void cli_warn(const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(file, "warning: ", format, arguments);
    va_end(arguments);
}

void cli_show_warning(void *data, const char *path, const sxt_error *problem)
{
    (void)data;
    const char *hint = cli_hint(problem->reason);
    cli_warn(path, "%s%s%s", problem->text, hint != NULL ? "; " : "", hint != NULL ? hint : "");
}

void cli_note(const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(file, "", format, arguments);
    va_end(arguments);
}

int cli_usage(const struct cli_verb *verb, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "sextant: ");
    print_text(format, arguments);
    fprintf(stderr, "; see 'sextant %s%s--help'\n", verb != NULL ? verb->name : "", verb != NULL ? " " : "");
    va_end(arguments);
    return CLI_USAGE;
}

int cli_check_binary(const struct cli_arguments *arguments, const char *option, const char *flag)
{
    const char *output = cli_value(arguments, option);
    if (output == NULL || strcmp(output, "-") != 0 || !isatty(STDOUT_FILENO))
        return CLI_DONE;
    return cli_fail_text("-", "refusing to write binary data to a terminal; redirect or use %s FILE", flag);
}

static void show_warning(void *data, const sxt_error *problem)
{
    cli_warn(data, "%s", problem->text);
}

/* "dwarf,go" as a set; 0 when a word is unknown. */
static uint32_t parse_sources(const char *list)
{
    static const struct {
        const char *name;
        uint32_t source;
    } known[] = {{"dwarf", SXT_SOURCE_DWARF},
                 {"go", SXT_SOURCE_GO},
                 {"symtab", SXT_SOURCE_SYMTAB},
                 {"dynsym", SXT_SOURCE_DYNSYM}};
    uint32_t sources = 0;
    while (list != NULL) {
        const char *end = strchr(list, ',');
        size_t size = end != NULL ? (size_t)(end - list) : strlen(list);
        uint32_t source = 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (sxt_string_is((sxt_string){list, size}, known[i].name))
                source = known[i].source;
        if (source == 0)
            return 0;
        sources |= source;
        list = end != NULL ? end + 1 : NULL;
    }
    return sources;
}

int cli_open_options(const struct cli_arguments *arguments, const char *file, sxt_open_options *open,
                     sxt_extract_options *extract)
{
    sxt_open_options_init(open);
    sxt_extract_options_init(extract);
    open->extract = extract;
    open->mangled = cli_given(arguments, "mangled");
    extract->debug_path = cli_value(arguments, "debug");
    extract->debug_directory = cli_value(arguments, "debug-dir");
    if (cli_given(arguments, "no-debug-search"))
        extract->flags |= SXT_EXTRACT_NO_DEBUG_SEARCH;
    if (cli_given(arguments, "sources")) {
        extract->sources = parse_sources(cli_value(arguments, "sources"));
        if (extract->sources == 0)
            return cli_usage(arguments->verb, "--sources takes a list of dwarf,go,symtab,dynsym, not '%s'",
                             cli_value(arguments, "sources"));
    }
    const char *zero_size = cli_value(arguments, "zero-size");
    if (zero_size != NULL && strcmp(zero_size, "extend") == 0)
        extract->flags |= SXT_EXTRACT_EXTEND_ZERO_SIZE;
    else if (zero_size != NULL && strcmp(zero_size, "skip") != 0)
        return cli_usage(arguments->verb, "--zero-size takes skip or extend, not '%s'", zero_size);
    extract->warning = show_warning;
    /* Only show_warning gets it, and does not write to it. */
    memcpy(&extract->warning_data, &file, sizeof file);
    return cli_threads(arguments, &extract->threads);
}

int cli_threads(const struct cli_arguments *arguments, unsigned *threads)
{
    const char *text = cli_value(arguments, "threads");
    *threads = 0;
    if (text == NULL)
        return CLI_DONE;
    char *end;
    unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (number == 0 || *end != 0)
        return cli_usage(arguments->verb, "--threads takes a number of 1 or more, not '%s'", text);
    *threads = number < UINT_MAX ? (unsigned)number : UINT_MAX;
    return CLI_DONE;
}

bool cli_parse_address(const char *text, uint64_t *address)
{
    return sxt_hex_parse_address(sxt_string_of(text), address);
}

const char *cli_extension(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL ? dot + 1 : "";
}

int cli_finish(struct sxt_emit *emit, int status)
{
    sxt_error error;
    if (sxt_emit_finish(emit, &error) != SXT_OK)
        return cli_fail_text(NULL, "standard output: %s", error.text);
    return status;
}

void cli_begin_summary(struct sxt_emit *emit, const char *output, const char *format)
{
    sxt_emit_init(emit, strcmp(output, "-") == 0 ? stderr : stdout, true);
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "output", output);
    sxt_emit_cstring(emit, "format", format);
}
