/* info.c: facts and counts of a file. */
#include <string.h>

#include "answer/answer.h"

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

void sxt_answer_print_section_bases(struct sxt_emit *emit, const sxt_archive *archive, const sxt_info *info)
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

void sxt_answer_print_info(struct sxt_emit *emit, const char *file, const sxt_archive *archive, const sxt_info *info)
{
    bool elf = strcmp(info->format, "elf") == 0;
    sxt_emit_cstring(emit, "file", file);
    sxt_emit_cstring(emit, "format", info->format);
    sxt_emit_known(emit, "version", info->version);
    print_optional(emit, "build_id", info->build_id);
    print_optional(emit, "file_id", info->file_id);
    print_optional(emit, "arch", info->arch);
    if (!elf && info->path != NULL)
        sxt_emit_cstring(emit, "path", info->path);
    if (elf || sxt_emit_is_json(emit))
        print_sources(info->sources, emit);
    if (strcmp(info->format, "mlyze") != 0 || sxt_emit_is_json(emit)) { /* a trace has none of them */
        sxt_emit_number(emit, "symbols", info->symbols);
        sxt_emit_number(emit, "functions", info->functions);
        sxt_emit_number(emit, "inlines", info->inlines);
        sxt_emit_number(emit, "lines", info->lines);
    }
    if (info->return_pads > 0)
        sxt_emit_number(emit, "return_pads", info->return_pads);
    if (info->layout != NULL) {
        sxt_emit_cstring(emit, "layout", info->layout);
        sxt_emit_number(emit, "tokens", info->tokens);
        sxt_emit_number(emit, "strings_size", info->strings_size);
    }
    if (strcmp(info->format, "lidia") == 0) {
        sxt_emit_number(emit, "strings_size", info->strings_size);
        sxt_emit_cstring(emit, "strings", info->nul_strings ? "nul" : "length");
        sxt_emit_number(emit, "address_size", info->address_size);
        sxt_emit_number(emit, "field_size", info->field_size);
        sxt_emit_number(emit, "line_field_size", info->line_field_size);
        sxt_emit_bool(emit, "indexed", info->indexed);
    }
    print_segments(archive, info, emit);
    if (info->units.read > 0) {
        sxt_emit_number(emit, "units", info->units.read);
        sxt_emit_number(emit, "damaged_units", info->units.damaged);
        sxt_emit_number(emit, "missing_units", info->units.missing);
    }
}
