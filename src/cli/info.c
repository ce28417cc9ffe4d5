/* info.c: what a file is, in figures. */
#include <string.h>

#include "answer/answer.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    CLI_OPTIONS_EXTRACT,
    {"check", 0, NULL, "check the checksums of the archive first", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant info /usr/bin/bash", "architecture, build ID, which symbols it has"},
    {"sextant info --json *.lidia", "one JSON object per file"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_info = {
    .name = "info",
    .synopsis = "[OPTION...] FILE...",
    .summary = "show what a file is and how much is in it",
    .description = "FILE is an archive, a size file, a heap trace or an ELF file. For a relocatable file (.o, .ko),\n"
                   "info lists the base address of each section; addresses in answers start there.",
    .options = options,
    .examples = examples,
    .run = run,
};

static sxt_info describe(const struct cli_input *input)
{
    sxt_info info = {.struct_size = sizeof info, .format = "mlyze"};
    sxt_trace_info of_trace = {.struct_size = sizeof of_trace};
    if (input->trace == NULL) {
        sxt_archive_info(input->archive, &info);
        return info;
    }
    sxt_trace_get_info(input->trace, &of_trace);
    info.version = of_trace.version;
    info.size = of_trace.size;
    memcpy(info.file_id, of_trace.file_id, sizeof info.file_id);
    return info;
}

static int print_info(const struct cli_input *input, const char *file, struct sxt_emit *emit)
{
    int status = CLI_DONE;
    sxt_info info = describe(input);
    sxt_emit_record(emit);
    sxt_answer_print_info(emit, file, input->archive, &info);
    if (input->trace != NULL)
        status = cli_info_trace(input->trace, file, emit);
    sxt_emit_number(emit, "size", info.size);
    if (input->archive != NULL)
        cli_info_size(input->archive, emit);
    if (info.section_base_count > 0)
        sxt_answer_print_section_bases(emit, input->archive, &info);
    sxt_emit_record_end(emit);
    return status;
}

static int run(const struct cli_arguments *arguments)
{
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no file given");
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, cli_given(arguments, "json"));
    int status = CLI_DONE;
    for (size_t i = 0; i < arguments->word_count; i++) {
        const char *file = arguments->words[i];
        sxt_open_options open;
        sxt_extract_options extract;
        struct cli_input input;
        int usage = cli_open_options(arguments, file, &open, &extract);
        if (usage != CLI_DONE)
            return usage;
        open.check_crc = cli_given(arguments, "check");
        if (cli_input_open(file, &open, false, &input) != CLI_DONE) {
            status = CLI_NO;
            continue;
        }
        if (i > 0)
            sxt_emit_text(&emit, "\n");
        if (print_info(&input, file, &emit) != CLI_DONE)
            status = CLI_NO;
        cli_input_close(&input);
    }
    return cli_finish(&emit, status);
}
