/* info.c: what a file is, in figures. */
#include <string.h>

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

static void print_sources(uint32_t sources, struct sxt_emit *emit)
{
    static const char *const names[] = {"dwarf", "go", "symtab", "dynsym"};
    sxt_emit_array(emit, "sources");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (sources >> i & 1)
            sxt_emit_cstring(emit, NULL, names[i]);
    sxt_emit_array_end(emit);
}

static void print_optional(struct sxt_emit *emit, const char *key, const char *value)
{
    if (value != NULL && *value != 0)
        sxt_emit_cstring(emit, key, value);
    else
        sxt_emit_null(emit, key);
}

static void print_section_bases(const sxt_archive *archive, const sxt_info *info, struct sxt_emit *emit)
{
    sxt_string name;
    uint64_t base;
    if (sxt_emit_is_json(emit)) {
        sxt_emit_array(emit, "section_bases");
        for (size_t i = 0; sxt_archive_section_base(archive, i, &name, &base) == SXT_OK; i++) {
            sxt_emit_object(emit, NULL);
            sxt_emit_string(emit, "section", name);
            sxt_emit_address(emit, "base", base);
            sxt_emit_object_end(emit);
        }
        sxt_emit_array_end(emit);
        return;
    }
    if (info->section_base_count > 0)
        sxt_emit_text(emit, "section bases\n");
    for (size_t i = 0; sxt_archive_section_base(archive, i, &name, &base) == SXT_OK; i++) {
        sxt_emit_text(emit, "  0x%08llx  ", (unsigned long long)base);
        sxt_emit_name(emit, name);
        sxt_emit_text(emit, "\n");
    }
}

/* The segments that an archive has of its binary. */
static void print_segments(const sxt_archive *archive, const sxt_info *info, struct sxt_emit *emit)
{
    if (archive == NULL || sxt_archive_kind(archive) == SXT_KIND_ELF || info->segment_count == 0)
        return;
    sxt_emit_number(emit, "segments", info->segment_count);
    sxt_emit_bool(emit, "file_offsets", info->has_offsets);
}

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
    bool elf = strcmp(info.format, "elf") == 0;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "file", file);
    sxt_emit_cstring(emit, "format", info.format);
    sxt_emit_known(emit, "version", info.version);
    print_optional(emit, "build_id", info.build_id);
    print_optional(emit, "file_id", info.file_id);
    print_optional(emit, "arch", info.arch);
    if (!elf && info.path != NULL)
        sxt_emit_cstring(emit, "path", info.path);
    if (elf || sxt_emit_is_json(emit))
        print_sources(info.sources, emit);
    if (strcmp(info.format, "mlyze") != 0 || sxt_emit_is_json(emit)) { /* a trace has none of them */
        sxt_emit_number(emit, "symbols", info.symbols);
        sxt_emit_number(emit, "functions", info.functions);
        sxt_emit_number(emit, "inlines", info.inlines);
        sxt_emit_number(emit, "lines", info.lines);
    }
    if (info.return_pads > 0)
        sxt_emit_number(emit, "return_pads", info.return_pads);
    if (info.layout != NULL) {
        sxt_emit_cstring(emit, "layout", info.layout);
        sxt_emit_number(emit, "tokens", info.tokens);
        sxt_emit_number(emit, "strings_size", info.strings_size);
    }
    if (strcmp(info.format, "lidia") == 0) {
        sxt_emit_number(emit, "strings_size", info.strings_size);
        sxt_emit_cstring(emit, "strings", info.nul_strings ? "nul" : "length");
        sxt_emit_number(emit, "address_size", info.address_size);
        sxt_emit_number(emit, "field_size", info.field_size);
        sxt_emit_number(emit, "line_field_size", info.line_field_size);
        sxt_emit_bool(emit, "indexed", info.indexed);
    }
    print_segments(input->archive, &info, emit);
    if (info.units.read > 0) {
        sxt_emit_number(emit, "units", info.units.read);
        sxt_emit_number(emit, "damaged_units", info.units.damaged);
        sxt_emit_number(emit, "missing_units", info.units.missing);
    }
    if (input->trace != NULL)
        status = cli_info_trace(input->trace, file, emit);
    sxt_emit_number(emit, "size", info.size);
    if (input->archive != NULL)
        cli_info_size(input->archive, emit);
    if (info.section_base_count > 0)
        print_section_bases(input->archive, &info, emit);
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
