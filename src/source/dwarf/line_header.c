/* line_header.c: reads the header of a line program: its parameters, directories and files. */
#include <stdlib.h>

#include "base/array.h"
#include "base/cursor.h"
#include "source/dwarf/line.h"

/* The formats of directory and file entries of DWARF 5; the standard defines five types of content. */
#define FORMATS_MAX 16

struct formats {
    uint8_t count;
    struct {
        uint64_t content, form;
    } list[FORMATS_MAX];
};

static bool read_tables(struct dwarf_lines *lines, struct sxt_cursor *at);
static bool read_tables_5(struct dwarf_lines *lines, const struct dwarf_context *context, struct dwarf_unit *shape,
                          struct sxt_cursor *at);

void sxt_dwarf_lines_free(struct dwarf_lines *lines)
{
    free(lines->directories);
    free(lines->files);
    free(lines->rows);
    free(lines->sequences);
    free(lines->spare);
    *lines = (struct dwarf_lines){.budget = lines->budget};
}

static bool add_directory(struct dwarf_lines *lines, sxt_string name)
{
    sxt_string *moved = sxt_array_grow(lines->directories, &lines->directory_capacity, lines->directory_count + 1,
                                       sizeof *lines->directories);
    if (moved == NULL) {
        lines->no_memory = true;
        return false;
    }
    lines->directories = moved;
    moved[lines->directory_count++] = name;
    return true;
}

bool sxt_dwarf_lines_add_file(struct dwarf_lines *lines, sxt_string name, uint64_t directory)
{
    struct dwarf_file_entry *moved =
        sxt_array_grow(lines->files, &lines->file_capacity, lines->file_count + 1, sizeof *moved);
    lines->files = moved != NULL ? moved : lines->files;
    if (moved == NULL || lines->file_count >= UINT32_MAX - 1) {
        lines->no_memory = true;
        return false;
    }
    moved[lines->file_count++] = (struct dwarf_file_entry){name, directory};
    return true;
}

bool sxt_dwarf_lines_read_header(struct dwarf_lines *lines, const struct dwarf_context *context, uint64_t offset)
{
    const struct dwarf_bytes *section = &context->main->sections[DWARF_LINE];
    lines->directory_count = lines->file_count = lines->row_count = lines->sequence_count = 0;
    lines->damaged = true;
    lines->program = lines->end = NULL;
    lines->first_file = 1;
    lines->big_endian = context->main->big_endian;
    lines->address_size = context->unit->address_size;

    struct sxt_cursor at = sxt_cursor_make(section->data, section->size, 0, lines->big_endian);
    struct dwarf_unit shape = *context->unit; /* the table may have another version, and has its own offset size */
    sxt_cursor_seek(&at, offset);
    uint64_t length = sxt_cursor_u32(&at);
    shape.offset_size = 4;
    if (length == 0xffffffff) {
        shape.offset_size = 8;
        length = sxt_cursor_u64(&at);
    }
    if (at.failed)
        return false;
    /* If a table is cut off, read what is there. */
    if (length < sxt_cursor_left(&at))
        at.size = at.at + length;
    bool whole = length <= sxt_cursor_left(&at);
    lines->size = sxt_cursor_left(&at);
    if (!dwarf_budget_spend(lines->budget, lines->size))
        return false;
    shape.version = lines->version = sxt_cursor_u16(&at);
    if (at.failed || lines->version < 2 || lines->version > 5)
        return false;
    if (lines->version >= 5) {
        lines->address_size = sxt_cursor_u8(&at);
        sxt_cursor_skip(&at, 1); /* size of segment selectors, which are not used */
    }
    uint64_t header_length = sxt_cursor_uint(&at, shape.offset_size);
    if (at.failed || header_length > sxt_cursor_left(&at))
        return false;
    lines->program = at.data + at.at + header_length;
    lines->end = at.data + at.size;
    at.size = at.at + header_length;
    lines->instruction_length = sxt_cursor_u8(&at);
    lines->operations = lines->version >= 4 ? sxt_cursor_u8(&at) : 1;
    sxt_cursor_skip(&at, 1); /* initial is_stmt, which is not used */
    lines->line_base = (int8_t)sxt_cursor_u8(&at);
    lines->line_range = sxt_cursor_u8(&at);
    lines->opcode_base = sxt_cursor_u8(&at);
    lines->operand_counts = sxt_cursor_bytes(&at, lines->opcode_base > 0 ? lines->opcode_base - 1u : 0);
    if (at.failed || lines->opcode_base == 0 ||
        (lines->address_size != 2 && lines->address_size != 4 && lines->address_size != 8))
        return false;
    if (lines->operations == 0)
        lines->operations = 1;
    lines->damaged = !whole;
    if (!(lines->version >= 5 ? read_tables_5(lines, context, &shape, &at) : read_tables(lines, &at)))
        lines->damaged = true;
    return true;
}

/* Directory 0 is the compilation directory, file 0 does not exist. */
static bool read_tables(struct dwarf_lines *lines, struct sxt_cursor *at)
{
    if (!add_directory(lines, (sxt_string){NULL, 0}) || !sxt_dwarf_lines_add_file(lines, (sxt_string){NULL, 0}, 0))
        return false;
    for (;;) {
        sxt_string name = sxt_cursor_cstring(at);
        if (at->failed)
            return false;
        if (name.size == 0)
            break;
        if (!add_directory(lines, name))
            return false;
    }
    for (;;) {
        sxt_string name = sxt_cursor_cstring(at);
        if (at->failed)
            return false;
        if (name.size == 0)
            return true;
        uint64_t directory = sxt_cursor_uleb128(at);
        sxt_cursor_uleb128(at); /* time */
        sxt_cursor_uleb128(at); /* size */
        if (at->failed || !sxt_dwarf_lines_add_file(lines, name, directory))
            return false;
    }
}

static bool read_formats(struct formats *formats, struct sxt_cursor *at)
{
    formats->count = sxt_cursor_u8(at);
    if (formats->count > FORMATS_MAX)
        return false;
    for (uint8_t i = 0; i < formats->count; i++) {
        formats->list[i].content = sxt_cursor_uleb128(at);
        formats->list[i].form = sxt_cursor_uleb128(at);
        if (formats->list[i].form > UINT16_MAX || formats->list[i].form == DW_FORM_implicit_const)
            return false;
    }
    return !at->failed;
}

static bool read_entry(const struct dwarf_context *context, const struct formats *formats, struct sxt_cursor *at,
                       struct dwarf_file_entry *entry)
{
    *entry = (struct dwarf_file_entry){{NULL, 0}, 0};
    for (uint8_t i = 0; i < formats->count; i++) {
        uint16_t form = (uint16_t)formats->list[i].form;
        struct dwarf_attribute attribute = {.form = form, .size = sxt_dwarf_fixed_size(context->unit, form)};
        struct dwarf_value value;
        const uint8_t *next = sxt_dwarf_read_value(context, &attribute, at->data + at->at, at->data + at->size, &value);
        if (next == NULL)
            return false;
        at->at = (size_t)(next - at->data);
        if (formats->list[i].content == DW_LNCT_path)
            entry->name = value.text;
        else if (formats->list[i].content == DW_LNCT_directory_index)
            entry->directory = value.number;
    }
    return true;
}

static bool read_tables_5(struct dwarf_lines *lines, const struct dwarf_context *context, struct dwarf_unit *shape,
                          struct sxt_cursor *at)
{
    struct dwarf_context own = *context;
    own.file = context->main;
    own.unit = shape;
    for (int files = 0; files < 2; files++) {
        struct formats formats;
        if (!read_formats(&formats, at))
            return false;
        uint64_t count = sxt_cursor_uleb128(at);
        /* An entry without content has no bytes, so the file's size does not limit the number of entries. */
        if (at->failed || (count > 0 && formats.count == 0))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            struct dwarf_file_entry entry;
            size_t before = at->at;
            if (!read_entry(&own, &formats, at, &entry) || at->at == before)
                return false;
            if (files ? !sxt_dwarf_lines_add_file(lines, entry.name, entry.directory)
                      : !add_directory(lines, entry.name))
                return false;
        }
    }
    return true;
}
