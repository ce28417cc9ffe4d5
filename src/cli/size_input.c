/* size_input.c: opening and querying size files and binaries. */
#include "cli/size_input.h"

#include <string.h>

#include "base/byte_count.h"

/* How files are read. */
struct reading {
    sxt_extract_options extract;
    sxt_size_make_options make;
    sxt_size_load_options load;
};

static void show_warning(void *data, const sxt_error *problem)
{
    const char *const *path = data;
    cli_warn(*path, "%s", problem->text);
}

void cli_note_map(void *data, const char *path, const char *text)
{
    (void)data;
    cli_note(path, "%s", text);
}

int cli_max_size(const struct cli_arguments *arguments, uint64_t *out)
{
    const char *value = cli_value(arguments, "max-size");
    double bytes = 0;
    if (value != NULL && (!sxt_byte_count_parse(value, strlen(value), &bytes) || bytes < 1 || bytes > 1e18))
        return cli_usage(arguments->verb, "--max-size takes a size like 8G, not '%s'", value);
    *out = (uint64_t)bytes;
    return CLI_DONE;
}

int cli_deflate_option(const struct cli_arguments *arguments, sxt_size_write_options *out)
{
    const char *how = cli_value(arguments, "deflate");
    if (how != NULL && strcmp(how, "stock") != 0 && strcmp(how, "fast") != 0)
        return cli_usage(arguments->verb, "--deflate takes stock or fast, not '%s'", how);
    out->fast = how != NULL && strcmp(how, "fast") == 0;
    return CLI_DONE;
}

static int prepare(const struct cli_arguments *arguments, struct reading *out)
{
    sxt_extract_options_init(&out->extract);
    sxt_size_make_options_init(&out->make);
    sxt_size_load_options_init(&out->load);
    out->extract.warning = show_warning;
    out->make.extract = &out->extract;
    out->make.no_map_search = cli_given(arguments, "no-map");
    out->make.note = cli_note_map;
    out->load.make = &out->make;
    int status = cli_max_size(arguments, &out->load.inflate_limit);
    return status == CLI_DONE ? cli_threads(arguments, &out->extract.threads) : status;
}

static int load(const char *path, struct reading *reading, sxt_size_info **info, sxt_size_diff **diff)
{
    sxt_error error;
    reading->extract.warning_data = &path;
    if (sxt_size_load(path, &reading->load, info, diff, &error) != SXT_OK)
        return cli_fail(path, &error);
    return CLI_DONE;
}

int cli_size_open(const struct cli_arguments *arguments, const char *path, struct cli_size_input *out)
{
    *out = (struct cli_size_input){.path = path, .width = cli_terminal_width(arguments)};
    struct reading reading;
    int status = prepare(arguments, &reading);
    return status == CLI_DONE ? load(path, &reading, &out->info, &out->diff) : status;
}

/* One side of a diff, which cannot be a diff itself. */
static int open_side(const char *path, struct reading *reading, sxt_size_info **out)
{
    sxt_size_diff *diff;
    int status = load(path, reading, out, &diff);
    if (status == CLI_DONE && diff != NULL)
        status = cli_fail_text(path, "a diff cannot be a side of another diff");
    sxt_size_diff_free(&diff);
    return status;
}

int cli_size_open_two(const struct cli_arguments *arguments, const char *before, const char *after,
                      const sxt_size_diff_options *options, struct cli_size_input *out)
{
    *out = (struct cli_size_input){.path = after, .width = cli_terminal_width(arguments)};
    struct reading reading;
    sxt_error error;
    int status = prepare(arguments, &reading);
    if (status == CLI_DONE)
        status = open_side(before, &reading, &out->before);
    if (status == CLI_DONE)
        status = open_side(after, &reading, &out->after);
    if (status == CLI_DONE && sxt_size_diff_make(out->before, out->after, options, &out->diff, &error) != SXT_OK)
        status = cli_fail(after, &error);
    return status;
}

void cli_size_close(struct cli_size_input *input)
{
    sxt_size_diff_free(&input->diff);
    sxt_size_info_free(&input->before);
    sxt_size_info_free(&input->after);
    sxt_size_info_free(&input->info);
}

/* --- queries --- */

static int parse(const char *text, sxt_size_query **out)
{
    sxt_error error;
    if (sxt_size_query_parse(text, strlen(text), out, &error) == SXT_OK)
        return CLI_DONE;
    const char *hint = cli_hint(error.reason);
    cli_fail_text(NULL, "query: %s%s%s", error.text, hint != NULL ? "; " : "", hint != NULL ? hint : "");
    return error.code == SXT_ERROR_MEMORY ? CLI_NO : CLI_USAGE;
}

int cli_check_query(const char *text)
{
    sxt_size_query *query;
    int status = parse(text, &query);
    sxt_size_query_free(&query);
    return status;
}

int cli_run_query(const struct cli_size_input *input, const char *text, sxt_size_result **out)
{
    sxt_size_query *query;
    sxt_error error;
    *out = NULL;
    int status = parse(text, &query);
    if (status != CLI_DONE)
        return status;
    int found = input->info != NULL ? sxt_size_info_query(input->info, query, out, &error)
                                    : sxt_size_diff_query(input->diff, query, out, &error);
    sxt_size_query_free(&query);
    return found == SXT_OK ? CLI_DONE : cli_fail(input->path, &error);
}

void cli_size_symbol(const struct cli_size_input *input, size_t index, sxt_size_symbol *out)
{
    *out = (sxt_size_symbol)SXT_SIZE_SYMBOL_INIT;
    if (input->info != NULL)
        sxt_size_info_symbol(input->info, index, out);
    else
        sxt_size_diff_symbol(input->diff, index, out);
}

sxt_string cli_size_stored_disassembly(const struct cli_size_input *input, size_t index)
{
    sxt_string text;
    if (input->info != NULL)
        sxt_size_info_disassembly(input->info, index, &text);
    else
        sxt_size_diff_disassembly(input->diff, index, &text);
    return text;
}
