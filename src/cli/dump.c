/* dump.c: every record of an archive, one per line. */
#include "cli/verbs.h"

static const struct cli_option options[] = {
    CLI_OPTIONS_EXTRACT,
    {"check", 0, NULL, "check the checksums of the archive first", NULL},
    {"root-first", 0, NULL, "stacks of a heap trace begin with main, whatever its metadata says", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant dump app.lidia", "address, length, inline depth, function, file, call, lines"},
    {"sextant dump --json app.lidia | jq -r .function", "all functions of an archive"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_dump = {
    .name = "dump",
    .synopsis = "[OPTION...] FILE",
    .summary = "print every record of an archive",
    .description = "FILE is an archive, a size file, a heap trace, or an ELF file, whose ranges are printed as an\n"
                   "archive would store them.",
    .options = options,
    .examples = examples,
    .run = run,
};

static void dump_json(const sxt_range *row, const sxt_line *lines, struct sxt_emit *emit)
{
    sxt_emit_address(emit, "va", row->address);
    sxt_emit_number(emit, "length", row->length);
    sxt_emit_number(emit, "depth", row->depth);
    sxt_emit_string(emit, "function", row->function);
    sxt_emit_string(emit, "file", row->file);
    sxt_emit_string(emit, "call_file", row->call_file);
    sxt_emit_known(emit, "call_line", row->call_line);
    sxt_emit_array(emit, "lines");
    for (size_t i = 0; i < row->line_count; i++) {
        sxt_emit_array(emit, NULL);
        sxt_emit_number(emit, NULL, lines[i].offset);
        sxt_emit_number(emit, NULL, lines[i].line);
        sxt_emit_array_end(emit);
    }
    sxt_emit_array_end(emit);
}

static void dump_text(const sxt_range *row, const sxt_line *lines, struct sxt_emit *emit)
{
    sxt_emit_text(emit, "0x%llx %llu %u ", (unsigned long long)row->address, (unsigned long long)row->length,
                  row->depth);
    sxt_emit_name(emit, row->function);
    if (row->file.data != NULL) {
        sxt_emit_text(emit, " in ");
        sxt_emit_name(emit, row->file);
    }
    if (row->call_file.data != NULL || row->call_line != 0) {
        sxt_emit_text(emit, " called at ");
        sxt_emit_name(emit, row->call_file);
        if (row->call_line != 0)
            sxt_emit_text(emit, ":%u", row->call_line);
    }
    for (size_t i = 0; i < row->line_count; i++)
        sxt_emit_text(emit, "%s+%u:%u", i == 0 ? " lines " : ",", lines[i].offset, lines[i].line);
    sxt_emit_text(emit, "\n");
}

static bool dump_range(void *data, const sxt_range *row, const sxt_line *lines)
{
    struct sxt_emit *emit = data;
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit))
        dump_json(row, lines, emit);
    else
        dump_text(row, lines, emit);
    sxt_emit_record_end(emit);
    return !emit->failed;
}

static void dump_frame(const sxt_pad_frame *frame, bool first, struct sxt_emit *emit)
{
    sxt_emit_object(emit, NULL);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_string(emit, "function", frame->function);
        sxt_emit_string(emit, "file", frame->file);
        sxt_emit_known(emit, "line", frame->line);
    }
    sxt_emit_text(emit, first ? " " : " > ");
    sxt_emit_name(emit, frame->function);
    if (frame->file.data != NULL) {
        sxt_emit_text(emit, " ");
        sxt_emit_name(emit, frame->file);
        if (frame->line != 0)
            sxt_emit_text(emit, ":%u", frame->line);
    }
    sxt_emit_object_end(emit);
}

static bool dump_pad(void *data, uint64_t address, const sxt_pad_frame *frames, size_t count)
{
    struct sxt_emit *emit = data;
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_address(emit, "va", address);
        sxt_emit_array(emit, "frames");
    }
    sxt_emit_text(emit, "0x%llx", (unsigned long long)address);
    for (size_t i = 0; i < count; i++)
        dump_frame(&frames[i], i == 0, emit);
    if (sxt_emit_is_json(emit))
        sxt_emit_array_end(emit);
    sxt_emit_text(emit, "\n");
    sxt_emit_record_end(emit);
    return !emit->failed;
}

/* The format of /proc/kallsyms, so that `archive` can read the output. */
static bool dump_symbol(void *data, const sxt_named *symbol)
{
    struct sxt_emit *emit = data;
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_address(emit, "address", symbol->address);
        sxt_emit_string(emit, "type", (sxt_string){&symbol->letter, 1});
        sxt_emit_string(emit, "name", symbol->name);
        sxt_emit_string(emit, "module", symbol->module);
    }
    sxt_emit_text(emit, "%016llx %c ", (unsigned long long)symbol->address, symbol->letter);
    sxt_emit_name(emit, symbol->name);
    sxt_emit_text(emit, "\n");
    sxt_emit_record_end(emit);
    return !emit->failed;
}

static int run(const struct cli_arguments *arguments)
{
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, arguments->word_count == 0 ? "no file given" : "one file at a time");
    const char *file = arguments->words[0];
    sxt_open_options open;
    sxt_extract_options extract;
    int status = cli_open_options(arguments, file, &open, &extract);
    if (status != CLI_DONE)
        return status;
    open.check_crc = cli_given(arguments, "check");
    struct cli_input input;
    sxt_error error;
    status = cli_input_open(file, &open, cli_given(arguments, "root-first"), &input);
    if (status != CLI_DONE)
        return status;
    const sxt_archive *archive = input.archive;
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, cli_given(arguments, "json"));
    sxt_record_visitor visitor;
    sxt_record_visitor_init(&visitor);
    visitor.range = dump_range;
    visitor.pad = dump_pad;
    visitor.symbol = dump_symbol;
    visitor.data = &emit;
    if (input.trace != NULL)
        status = cli_dump_trace(input.trace, file, &emit);
    else if (!cli_dump_size(archive, &emit) && sxt_archive_visit(archive, &visitor, &error) != SXT_OK)
        status = cli_fail(file, &error);
    cli_input_close(&input);
    return cli_finish(&emit, status);
}
