/* dwarf_builder.c: see dwarf_builder.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dwarf_builder.h"
#include "support/test.h"
#include "symbols/symbols.h"

static const char *const section_names[DEBUG_SECTION_COUNT] = {
    ".debug_info", ".debug_abbrev", ".debug_line",     ".debug_str",   ".debug_line_str", ".debug_str_offsets",
    ".debug_addr", ".debug_ranges", ".debug_rnglists", ".debug_types", ".debug_cu_index",
};
static const char *const split_names[DEBUG_SECTION_COUNT] = {
    ".debug_info.dwo",     ".debug_abbrev.dwo",      ".debug_line.dwo", ".debug_str.dwo",
    ".debug_line_str.dwo", ".debug_str_offsets.dwo", ".debug_addr.dwo", ".debug_ranges.dwo",
    ".debug_rnglists.dwo", ".debug_types.dwo",       ".debug_cu_index",
};

void debug_init(struct debug *debug, struct debug_shape shape)
{
    memset(debug, 0, sizeof *debug);
    debug->shape = shape;
    if (shape.version == 0)
        debug->shape.version = 4;
    debug->address_size = shape.narrow ? 4 : 8;
    debug->offset_size = shape.wide_offsets ? 8 : 4;
    for (unsigned i = 0; i < DEBUG_SECTION_COUNT; i++)
        sxt_buffer_init(&debug->sections[i], PTRDIFF_MAX);
    sxt_builder_init(&debug->elf, !shape.narrow, shape.big_endian, shape.type != 0 ? shape.type : ET_EXEC,
                     shape.narrow ? EM_386 : EM_X86_64);
    debug->text = sxt_builder_section(&debug->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 0);
    struct sxt_builder_section *text = sxt_builder_at(&debug->elf, debug->text);
    text->type = SHT_NOBITS;
    text->size = shape.text_size != 0 ? shape.text_size : 0x1000;
    text->address = shape.code_at_zero || shape.type == ET_REL ? 0 : TEXT;
}

void debug_free(struct debug *debug)
{
    for (unsigned i = 0; i < DEBUG_SECTION_COUNT; i++)
        sxt_buffer_free(&debug->sections[i]);
    sxt_builder_free(&debug->elf);
}

/* --- bytes by hand --- */

static void number_to(const struct debug *debug, uint8_t *to, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        to[debug->shape.big_endian ? width - 1 - i : i] = i < 8 ? (uint8_t)(value >> 8 * i) : 0;
}

void debug_number(struct debug *debug, enum debug_section section, uint64_t value, unsigned width)
{
    uint8_t bytes[16];
    number_to(debug, bytes, value, width);
    sxt_buffer_append(&debug->sections[section], bytes, width);
}

void debug_uleb(struct debug *debug, enum debug_section section, uint64_t value)
{
    sxt_buffer_varint(&debug->sections[section], value);
}

void debug_sleb(struct debug *debug, enum debug_section section, int64_t value)
{
    for (; value < -0x40 || value >= 0x40; value >>= 7)
        sxt_buffer_u8(&debug->sections[section], (uint8_t)(value & 0x7f) | 0x80);
    sxt_buffer_u8(&debug->sections[section], (uint8_t)(value & 0x7f));
}

void debug_bytes(struct debug *debug, enum debug_section section, const void *data, size_t size)
{
    sxt_buffer_append(&debug->sections[section], data, size);
}

uint64_t debug_string(struct debug *debug, enum debug_section section, const char *text)
{
    uint64_t offset = debug_size(debug, section);
    debug_bytes(debug, section, text, strlen(text) + 1);
    return offset;
}

void debug_poke(struct debug *debug, enum debug_section section, uint64_t at, uint64_t value, unsigned width)
{
    if (at + width > debug->sections[section].size)
        abort();
    number_to(debug, debug->sections[section].data + at, value, width);
}

uint64_t debug_size(const struct debug *debug, enum debug_section section)
{
    return debug->sections[section].size;
}

static void begin_length(struct debug *debug, enum debug_section section)
{
    if (debug->shape.wide_offsets)
        debug_number(debug, section, 0xffffffff, 4);
    debug->length_at = debug_size(debug, section);
    debug_number(debug, section, 0, debug->offset_size);
}

static void end_length(struct debug *debug, enum debug_section section)
{
    debug_poke(debug, section, debug->length_at, debug_size(debug, section) - debug->length_at - debug->offset_size,
               debug->offset_size);
}

/* --- units and entries --- */

void debug_begin_header(struct debug *debug, unsigned type, uint64_t id)
{
    begin_length(debug, INFO);
    debug_number(debug, INFO, debug->shape.version, 2);
    if (debug->shape.version >= 5) {
        debug_number(debug, INFO, type, 1);
        debug_number(debug, INFO, debug->address_size, 1);
        debug_number(debug, INFO, debug->abbrev_offset, debug->offset_size);
        if (type != DW_UT_compile && type != DW_UT_partial)
            debug_number(debug, INFO, id, 8);
        if (type == DW_UT_type || type == DW_UT_split_type)
            debug_number(debug, INFO, 0, debug->offset_size);
        return;
    }
    debug_number(debug, INFO, debug->abbrev_offset, debug->offset_size);
    debug_number(debug, INFO, debug->address_size, 1);
}

void debug_end_header(struct debug *debug)
{
    end_length(debug, INFO);
}

void debug_begin_unit_with(struct debug *debug, const struct debug_value *more)
{
    struct debug_value values[32] = {NAME("a.c"), TEXT_VALUE(DW_AT_comp_dir, "/src"), LANGUAGE(DW_LANG_C99)};
    unsigned count = 3;
    for (; more->attribute != 0; more++) {
        unsigned same = 0;
        while (same < count && values[same].attribute != more->attribute)
            same++;
        values[same] = *more;
        count += same == count;
    }
    debug_begin_header(debug, DW_UT_compile, 0);
    debug_entry(debug, DW_TAG_compile_unit, true, values);
}

void debug_end_unit(struct debug *debug)
{
    debug_close(debug);
    debug_end_header(debug);
}

void debug_close(struct debug *debug)
{
    debug_number(debug, INFO, 0, 1);
}

/* Versions 2 and 3 have other forms for the same. */
static struct debug_value as_of_version(const struct debug *debug, const struct debug_value *value,
                                        const struct debug_value *all)
{
    struct debug_value other = *value;
    if (debug->shape.version >= 4)
        return other;
    if (value->form == DW_FORM_sec_offset)
        other.form = debug->shape.wide_offsets ? DW_FORM_data8 : DW_FORM_data4;
    if (value->attribute == DW_AT_high_pc && value->form == DW_FORM_udata) {
        other.form = DW_FORM_addr;
        for (; all->attribute != 0; all++)
            if (all->attribute == DW_AT_low_pc)
                other.number += all->number;
    }
    return other;
}

void debug_abbreviation(struct debug *debug, uint64_t code, uint16_t tag, bool children,
                        const struct debug_value *values)
{
    debug_uleb(debug, ABBREV, code);
    debug_uleb(debug, ABBREV, tag);
    debug_number(debug, ABBREV, children, 1);
    for (const struct debug_value *value = values; value->attribute != 0; value++) {
        struct debug_value there = as_of_version(debug, value, values);
        debug_uleb(debug, ABBREV, there.attribute);
        debug_uleb(debug, ABBREV, there.form);
        if (there.form == DW_FORM_implicit_const)
            debug_sleb(debug, ABBREV, (int64_t)there.number);
    }
    debug_number(debug, ABBREV, 0, 2);
}

uint64_t debug_entry(struct debug *debug, uint16_t tag, bool children, const struct debug_value *values)
{
    uint64_t offset = debug_size(debug, INFO);
    debug_abbreviation(debug, ++debug->codes, tag, children, values);
    debug_uleb(debug, INFO, debug->codes);
    for (const struct debug_value *value = values; value->attribute != 0; value++) {
        struct debug_value there = as_of_version(debug, value, values);
        debug_put_value(debug, &there);
    }
    return offset;
}

static unsigned width_of(const struct debug *debug, uint16_t form)
{
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return debug->address_size;
    case DW_FORM_ref_addr:
        return debug->shape.version <= 2 ? debug->address_size : debug->offset_size;
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return debug->offset_size;
    default:
        return 0;
    }
}

static void put_block(struct debug *debug, unsigned width, uint64_t size)
{
    if (width == 0)
        debug_uleb(debug, INFO, size);
    else
        debug_number(debug, INFO, size, width);
    for (uint64_t i = 0; i < size; i++)
        debug_number(debug, INFO, 0, 1);
}

void debug_put_value(struct debug *debug, const struct debug_value *value)
{
    unsigned width = width_of(debug, value->form);
    struct debug_value inner = *value;
    switch (value->form) {
    case DW_FORM_string:
        debug_string(debug, INFO, value->text);
        return;
    case DW_FORM_sdata:
        debug_sleb(debug, INFO, (int64_t)value->number);
        return;
    case DW_FORM_block1:
        put_block(debug, 1, value->number);
        return;
    case DW_FORM_block2:
        put_block(debug, 2, value->number);
        return;
    case DW_FORM_block4:
        put_block(debug, 4, value->number);
        return;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        put_block(debug, 0, value->number);
        return;
    case DW_FORM_indirect:
        debug_uleb(debug, INFO, value->following);
        inner.form = value->following;
        inner.following = 0;
        debug_put_value(debug, &inner);
        return;
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return;
    default:
        if (width == 0)
            debug_uleb(debug, INFO, value->number);
        else
            debug_number(debug, INFO, value->number, width);
    }
}

void debug_new_abbreviations(struct debug *debug)
{
    debug_number(debug, ABBREV, 0, 1);
    debug->abbrev_offset = debug_size(debug, ABBREV);
    debug->codes = 0;
}

/* --- lists of ranges --- */

uint64_t debug_range_list(struct debug *debug, const uint64_t *pairs)
{
    bool new = debug->shape.version >= 5;
    enum debug_section section = new ? RNGLISTS : RANGES;
    uint64_t offset = debug_size(debug, section);
    for (; pairs[0] != 0 || pairs[1] != 0; pairs += 2) {
        if (new)
            debug_number(debug, section, DW_RLE_start_end, 1);
        debug_number(debug, section, pairs[0], debug->address_size);
        debug_number(debug, section, pairs[1], debug->address_size);
    }
    debug_number(debug, section, 0, new ? 1 : 16);
    return offset;
}

/* --- line tables --- */

static void put_files(struct debug *debug, const struct debug_line_shape *shape, const char *files)
{
    bool new = debug->shape.version >= 5;
    unsigned count = 1;
    for (const char *at = files; *at != 0; at++)
        count += *at == ' ';
    if (new) {
        static const uint8_t directories[] = {1, DW_LNCT_path, DW_FORM_string};
        static const uint8_t entries[] = {2, DW_LNCT_path, DW_FORM_string, DW_LNCT_directory_index, DW_FORM_udata};
        debug_bytes(debug, LINE, directories, sizeof directories);
        debug_uleb(debug, LINE, shape->directory != NULL ? 2 : 1);
        debug_string(debug, LINE, shape->own_directory != NULL ? shape->own_directory : "/src");
        if (shape->directory != NULL)
            debug_string(debug, LINE, shape->directory);
        debug_bytes(debug, LINE, entries, sizeof entries);
        debug_uleb(debug, LINE, count + 1);
    } else {
        if (shape->directory != NULL)
            debug_string(debug, LINE, shape->directory);
        debug_number(debug, LINE, 0, 1);
    }
    /* In version 5, file 0 and file 1 are both the unit's own. */
    for (unsigned i = new ? 0 : 1; i <= count; i++) {
        const char *name = files;
        for (unsigned skipped = 1; skipped < i; skipped++)
            name = strchr(name, ' ') + 1;
        debug_bytes(debug, LINE, name, strcspn(name, " "));
        debug_number(debug, LINE, 0, 1);
        debug_uleb(debug, LINE, shape->directory_index);
        if (!new)
            debug_number(debug, LINE, 0, 2);
    }
    if (!new)
        debug_number(debug, LINE, 0, 1);
}

uint64_t debug_begin_lines(struct debug *debug, const struct debug_line_shape *given, const char *files)
{
    struct debug_line_shape shape = given != NULL ? *given : (struct debug_line_shape){.operations = 0};
    uint64_t offset = debug_size(debug, LINE);
    begin_length(debug, LINE);
    uint64_t length_at = debug->length_at;
    debug_number(debug, LINE, debug->shape.version, 2);
    if (debug->shape.version >= 5) {
        debug_number(debug, LINE, debug->address_size, 1);
        debug_number(debug, LINE, 0, 1);
    }
    uint64_t header_at = debug_size(debug, LINE);
    debug_number(debug, LINE, 0, debug->offset_size);
    debug_number(debug, LINE, shape.instruction_length != 0 ? shape.instruction_length : 1, 1);
    if (debug->shape.version >= 4)
        debug_number(debug, LINE, shape.operations != 0 ? shape.operations : 1, 1);
    uint8_t opcode_base = shape.opcode_base != 0 ? shape.opcode_base : 13;
    debug_number(debug, LINE, 1, 1);
    debug_number(debug, LINE, (uint8_t)-5, 1);
    debug_number(debug, LINE, shape.no_line_range ? 0 : shape.line_range != 0 ? shape.line_range : 14, 1);
    debug_number(debug, LINE, opcode_base, 1);
    static const uint8_t operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    /* Opcodes that nobody knows have two operands here. */
    for (unsigned i = 0; i + 1 < opcode_base; i++)
        debug_number(debug, LINE, i < sizeof operands ? operands[i] : 2, 1);
    put_files(debug, &shape, files);
    debug_poke(debug, LINE, header_at, debug_size(debug, LINE) - header_at - debug->offset_size, debug->offset_size);
    debug->length_at = length_at;
    return offset;
}

static void extended(struct debug *debug, uint8_t opcode, unsigned size)
{
    debug_number(debug, LINE, 0, 1);
    debug_uleb(debug, LINE, size + 1);
    debug_number(debug, LINE, opcode, 1);
}

void debug_line_address(struct debug *debug, uint64_t address)
{
    extended(debug, DW_LNE_set_address, debug->address_size);
    debug_number(debug, LINE, address, debug->address_size);
}

void debug_line_file(struct debug *debug, uint64_t number)
{
    debug_number(debug, LINE, DW_LNS_set_file, 1);
    debug_uleb(debug, LINE, number);
}

/* The machine keeps the line from row to row, and the next sequence begins with 1: so it is set and set back. */
void debug_line_row(struct debug *debug, uint64_t advance, uint32_t line)
{
    if (advance > 0) {
        debug_number(debug, LINE, DW_LNS_advance_pc, 1);
        debug_uleb(debug, LINE, advance);
    }
    debug_number(debug, LINE, DW_LNS_advance_line, 1);
    debug_sleb(debug, LINE, (int64_t)line - 1);
    debug_number(debug, LINE, DW_LNS_copy, 1);
    debug_number(debug, LINE, DW_LNS_advance_line, 1);
    debug_sleb(debug, LINE, 1 - (int64_t)line);
}

void debug_line_end(struct debug *debug, uint64_t advance)
{
    debug_number(debug, LINE, DW_LNS_advance_pc, 1);
    debug_uleb(debug, LINE, advance);
    extended(debug, DW_LNE_end_sequence, 0);
}

void debug_end_lines(struct debug *debug)
{
    end_length(debug, LINE);
}

uint64_t debug_plain_lines(struct debug *debug, uint64_t size, uint32_t line)
{
    uint64_t offset = debug_begin_lines(debug, NULL, "a.c");
    debug_line_address(debug, debug->shape.code_at_zero ? 0 : TEXT);
    for (uint64_t at = 0; at < size; at += 4)
        debug_line_row(debug, at > 0 ? 4 : 0, line++);
    debug_line_end(debug, size - (size - 1) / 4 * 4);
    debug_end_lines(debug);
    return offset;
}

/* --- what is made of it --- */

void debug_finish(struct debug *debug)
{
    if (debug->is_finished)
        return;
    debug->is_finished = true;
    if (debug->codes > 0)
        debug_number(debug, ABBREV, 0, 1);
    for (unsigned i = 0; i < DEBUG_SECTION_COUNT; i++) {
        const struct sxt_buffer *bytes = &debug->sections[i];
        if (bytes->size == 0)
            continue;
        debug->numbers[i] = sxt_builder_section(&debug->elf, (debug->shape.split ? split_names : section_names)[i],
                                                SHT_PROGBITS, 0, bytes->data, bytes->size);
        if (debug->compression != 0)
            sxt_builder_compress(&debug->elf, debug->numbers[i], debug->compression);
    }
    sxt_builder_finish(&debug->elf);
}

static void note_warning(void *data, const sxt_error *problem)
{
    struct debug_result *result = data;
    size_t size = strlen(result->warnings);
    snprintf(result->warnings + size, sizeof result->warnings - size, "%s\n", problem->text);
}

struct debug_result debug_read(struct debug *debug, const sxt_extract_options *given)
{
    struct debug_result result = {.status = SXT_OK};
    sxt_extract_options options;
    sxt_extract_options_init(&options);
    options.sources = SXT_SOURCE_DWARF;
    options.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    if (given != NULL)
        options = *given;
    options.warning = note_warning;
    options.warning_data = &result;
    debug_finish(debug);
    result.status = sxt_symbols_from_memory(debug->elf.data, debug->elf.size, &options, &result.symbols, &result.error);
    return result;
}

void debug_result_free(struct debug_result *result)
{
    sxt_symbols_free(&result->symbols);
}

static void print_place(FILE *out, const struct sxt_symbols *symbols, uint32_t file, uint32_t line)
{
    fprintf(out, "%s:%u", sxt_symbols_view(symbols, file).data, line);
}

char *debug_text(const struct debug *debug, const struct sxt_symbols *symbols)
{
    char *text;
    size_t size;
    uint64_t base = debug->shape.code_at_zero || debug->shape.type == ET_REL ? 0 : TEXT;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < symbols->range_count; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        fputs(i > 0 ? " " : "", out);
        for (uint32_t depth = 0; depth < range->depth; depth++)
            fputc('>', out);
        fprintf(out, "%s@%llx-%llx", sxt_symbols_view(symbols, range->function).data,
                (unsigned long long)(range->address - base),
                (unsigned long long)(range->address + range->length - base));
        if (range->depth > 0) {
            fputc('(', out);
            print_place(out, symbols, range->call_file, range->call_line);
            fputc(')', out);
        }
        for (uint32_t k = 0; k < range->line_count; k++) {
            const struct sxt_model_line *line = &symbols->lines[range->first_line + k];
            fprintf(out, "%s%x:", k == 0 ? "{" : " ", line->offset);
            print_place(out, symbols, line->file, line->line);
            if (line->column != 0 || line->discriminator != 0)
                fprintf(out, ":%u/%u", line->column, line->discriminator);
        }
        fputs(range->line_count > 0 ? "}" : "", out);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void compare(struct debug *debug, struct debug_result *result, const char *expected)
{
    if (result->status != SXT_OK)
        fail_msg("%s", result->error.text);
    char *text = debug_text(debug, result->symbols);
    if (strcmp(text, expected) != 0)
        fail_msg("version %u, %u-byte addresses, %s endian, %u-byte offsets:\nfound    %s\nexpected %s\n%s",
                 debug->shape.version, debug->address_size, debug->shape.big_endian ? "big" : "little",
                 debug->offset_size, text, expected, result->warnings);
    free(text);
}

void debug_expect(struct debug *debug, const char *expected)
{
    debug_expect_with(debug, NULL, expected);
}

void debug_expect_with(struct debug *debug, const sxt_extract_options *options, const char *expected)
{
    struct debug_result result = debug_read(debug, options);
    compare(debug, &result, expected);
    assert_string_equal(result.warnings, "");
    assert_int_equal(result.symbols->units.damaged, 0);
    debug_result_free(&result);
}

void debug_expect_damage(struct debug *debug, uint64_t damaged, const char *warning, const char *expected)
{
    struct debug_result result = debug_read(debug, NULL);
    compare(debug, &result, expected);
    assert_int_equal(result.symbols->units.damaged, damaged);
    if (strstr(result.warnings, warning) == NULL)
        fail_msg("no warning \"%s\" but \"%s\"", warning, result.warnings);
    debug_result_free(&result);
}
