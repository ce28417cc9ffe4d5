/* size_inlined.c: what functions take in the places where they are inlined. */
#include "cli/size_input.h"

static void show_warning(void *data, const sxt_error *problem)
{
    const char *const *path = data;
    cli_warn(*path, "%s", problem->text);
}

#define NUMBERS_WIDTH 46 /* of the columns before the function */

static void print_one(struct sxt_emit *emit, const sxt_inlined_function *one, uint64_t code, size_t width)
{
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_string(emit, "function", one->function);
        sxt_emit_string(emit, "file", one->file);
        sxt_emit_number(emit, "size", one->size);
        sxt_emit_number(emit, "total", one->total);
        sxt_emit_number(emit, "places", one->places);
    } else {
        sxt_emit_text(emit, "%11s  %7s  %11s  %9s  ", cli_thousands((double)one->size).text,
                      cli_percent((double)one->size, (double)code).text, cli_thousands((double)one->total).text,
                      cli_thousands((double)one->places).text);
        /* Two thirds of the rest of the line are for the function. */
        size_t room = width > NUMBERS_WIDTH + 20 ? width - NUMBERS_WIDTH : width > 0 ? 20 : 0;
        bool has_file = one->file.size > 0;
        cli_print_cut(emit, one->function, has_file ? room * 2 / 3 : room);
        if (has_file) {
            size_t used = cli_columns(one->function) < room * 2 / 3 ? cli_columns(one->function) : room * 2 / 3;
            sxt_emit_text(emit, "  ");
            cli_print_cut_path(emit, one->file, room > used + 2 ? room - used - 2 : room > 0);
        }
        sxt_emit_text(emit, "\n");
    }
    sxt_emit_record_end(emit);
}

int cli_print_inlined(const struct cli_arguments *arguments, struct sxt_emit *emit, const char *path, uint64_t limit)
{
    sxt_inlined_list *list;
    sxt_inlined_function function = SXT_INLINED_FUNCTION_INIT;
    sxt_extract_options options;
    sxt_error error;
    sxt_extract_options_init(&options);
    if (cli_threads(arguments, &options.threads) != CLI_DONE)
        return CLI_USAGE;
    options.warning = show_warning;
    options.warning_data = &path;
    if (sxt_inlined_list_read(path, &options, &list, &error) != SXT_OK)
        return cli_fail(path, &error);
    size_t width = cli_terminal_width(arguments);
    uint64_t size = 0, places = 0, code = sxt_inlined_list_code_size(list);
    sxt_emit_text(emit, "%11s  %7s  %11s  %9s  function\n", "size", "%", "total", "places");
    for (size_t i = 0; sxt_inlined_list_get(list, i, &function) == SXT_OK; i++) {
        size += function.size;
        places += function.places;
        if (i < limit)
            print_one(emit, &function, code, width);
    }
    sxt_emit_text(emit, "%11s  %7s  %11s  %9s  %s functions that were inlined, in %s bytes of code\n",
                  cli_thousands((double)size).text, cli_percent((double)size, (double)code).text, "",
                  cli_thousands((double)places).text, cli_thousands((double)sxt_inlined_list_count(list)).text,
                  cli_thousands((double)code).text);
    sxt_inlined_list_free(&list);
    return CLI_DONE;
}
