/* dump.c: every record of an archive, one a line. */
#include <string.h>

#include "cli/verbs.h"

static const struct cli_option options[] = {
    CLI_OPTIONS_EXTRACT,
    {"check", 0, NULL, "compare the archive's checksums first", NULL},
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
    .description = "FILE is an archive, or an ELF file whose ranges are shown as an archive would have them.",
    .options = options,
    .examples = examples,
    .run = run,
};

static void dump_json(const sxt_archive *archive, size_t index, const sxt_range *row, struct sxt_emit *emit)
{
    sxt_emit_address(emit, "va", row->address);
    sxt_emit_number(emit, "length", row->length);
    sxt_emit_number(emit, "depth", row->depth);
    sxt_emit_string(emit, "function", row->function);
    sxt_emit_string(emit, "file", row->file);
    sxt_emit_string(emit, "call_file", row->call_file);
    if (row->call_line != 0)
        sxt_emit_number(emit, "call_line", row->call_line);
    else
        sxt_emit_null(emit, "call_line");
    sxt_emit_array(emit, "lines");
    sxt_line line;
    for (size_t i = 0; i < row->line_count && sxt_archive_line(archive, index, i, &line) == SXT_OK; i++) {
        sxt_emit_array(emit, NULL);
        sxt_emit_number(emit, NULL, line.offset);
        sxt_emit_number(emit, NULL, line.line);
        sxt_emit_array_end(emit);
    }
    sxt_emit_array_end(emit);
}

static void dump_text(const sxt_archive *archive, size_t index, const sxt_range *row, struct sxt_emit *emit)
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
    sxt_line line;
    for (size_t i = 0; i < row->line_count && sxt_archive_line(archive, index, i, &line) == SXT_OK; i++)
        sxt_emit_text(emit, "%s+%u:%u", i == 0 ? " lines " : ",", line.offset, line.line);
    sxt_emit_text(emit, "\n");
}

static int run(const struct cli_arguments *arguments)
{
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, arguments->word_count == 0 ? "no file given" : "one file at a time");
    const char *file = arguments->words[0];
    sxt_open_options open;
    int status = cli_open_options(arguments, file, &open);
    if (status != CLI_DONE)
        return status;
    open.check_crc = cli_given(arguments, "check");
    sxt_archive *archive;
    sxt_error error;
    if (sxt_archive_open_path(file, &open, &archive, &error) != SXT_OK)
        return cli_fail(file, &error);
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, cli_given(arguments, "json"));
    sxt_range row;
    for (size_t i = 0; !emit.failed && sxt_archive_row(archive, i, &row) == SXT_OK; i++) {
        sxt_emit_record(&emit);
        if (sxt_emit_is_json(&emit))
            dump_json(archive, i, &row, &emit);
        else
            dump_text(archive, i, &row, &emit);
        sxt_emit_record_end(&emit);
    }
    sxt_archive_close(&archive);
    return cli_finish(&emit, CLI_DONE);
}
