/* unit.c: reads sections, unit headers, and the root entry of a unit. */
#include "source/dwarf/unit.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/search.h"
#include "base/string.h"
#include "source/elf/elf.h"

/* A unit has at least a header of 11 bytes. */
#define NAME_MAX_SIZE 64
/* Bytes to inflate that justify a second thread. One section has most of them, so a third one would be idle. */
#define WORTH_A_THREAD ((size_t)256 << 10)

static const char *const section_names[DWARF_SECTION_COUNT] = {
    [DWARF_INFO] = "info",
    [DWARF_TYPES] = "types",
    [DWARF_ABBREV] = "abbrev",
    [DWARF_LINE] = "line",
    [DWARF_STR] = "str",
    [DWARF_LINE_STR] = "line_str",
    [DWARF_STR_OFFSETS] = "str_offsets",
    [DWARF_ADDR] = "addr",
    [DWARF_RANGES] = "ranges",
    [DWARF_RNGLISTS] = "rnglists",
    [DWARF_CU_INDEX] = "cu_index",
};

/* Says whether the section begins with a type unit of DWARF 5, or belongs to a group as those of DWARF 4 do. */
static bool has_types(const struct sxt_elf *elf, const struct sxt_elf_section *section)
{
    if (section->flags & SHF_GROUP)
        return true;
    uint64_t at = section->offset;
    if (section->type == SHT_NOBITS || (section->flags & SHF_COMPRESSED) || section->size < 20 ||
        !sxt_fits(at, section->size, 1, elf->size))
        return false;
    const uint8_t *data = elf->data + at;
    data += sxt_load_u32(data, elf->big_endian) == 0xffffffff ? 12 : 4;
    return sxt_load_u16(data, elf->big_endian) == 5 && (data[2] == DW_UT_type || data[2] == DW_UT_split_type);
}

static const struct sxt_elf_section *find_section(const struct sxt_elf *elf, const char *name, bool split)
{
    static const char *const prefixes[] = {".debug_", ".zdebug_"};
    for (size_t i = 0; i < 2; i++) {
        char full[NAME_MAX_SIZE];
        size_t size = strlen(prefixes[i]);
        memcpy(full, prefixes[i], size);
        strcpy(full + size, name);
        if (split)
            strcat(full, ".dwo");
        const sxt_string wanted = sxt_string_of(full);
        const struct sxt_elf_section *found = NULL;
        for (size_t k = 0; k < elf->section_count; k++) {
            const struct sxt_elf_section *section = &elf->sections[k];
            if (!sxt_string_equal(section->name, wanted))
                continue;
            /*
             * An object or .dwo file has a section with this name for each type that it shares with others. These have
             * no code. In a .dwo file, the flag of the group is missing.
             */
            if (found == NULL || (has_types(elf, found) && !has_types(elf, section)))
                found = section;
        }
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* The sections of a file that are loaded, and what remains to be done for each. */
struct section_loading {
    struct sxt_elf_inflation inflations[DWARF_SECTION_COUNT];
    int status[DWARF_SECTION_COUNT];
};

static int inflate_item(void *context, unsigned worker, size_t item)
{
    struct section_loading *loading = context;
    (void)worker;
    loading->status[item] = sxt_elf_inflate(&loading->inflations[item], NULL);
    return SXT_OK;
}

int sxt_dwarf_load_sections(struct dwarf_file *file, struct sxt_elf *elf, bool split, unsigned threads,
                            sxt_error *error)
{
    struct section_loading loading;
    size_t size = 0;
    memset(&loading, 0, sizeof loading);
    memset(file, 0, sizeof *file);
    file->big_endian = elf->big_endian;
    file->split = split;
    for (int kind = 0; kind < DWARF_SECTION_COUNT; kind++) {
        const struct sxt_elf_section *section = find_section(elf, section_names[kind], split && kind != DWARF_CU_INDEX);
        struct sxt_elf_bytes bytes;
        if (section == NULL || section->type == SHT_NOBITS)
            continue;
        /* Relocations are applied to inflated bytes. */
        int status = elf->type == ET_REL
                         ? sxt_elf_relocated_bytes(elf, section, &bytes, NULL, error)
                         : sxt_elf_section_begin(elf, section, &bytes, &loading.inflations[kind], error);
        if (status == SXT_ERROR_MEMORY)
            return status;
        if (status == SXT_OK)
            file->sections[kind] = (struct dwarf_bytes){bytes.data, bytes.size};
        size += loading.inflations[kind].expected;
    }
    sxt_pool_run(size >= WORTH_A_THREAD && threads > 1 ? 2 : 1, DWARF_SECTION_COUNT, inflate_item, &loading);
    for (int kind = 0; kind < DWARF_SECTION_COUNT; kind++) {
        if (loading.status[kind] == SXT_ERROR_MEMORY)
            return sxt_fail_memory(error, loading.inflations[kind].expected);
        if (loading.status[kind] != SXT_OK)
            file->sections[kind] = (struct dwarf_bytes){NULL, 0};
    }
    return SXT_OK;
}

bool sxt_dwarf_read_unit_header(const struct dwarf_file *file, bool in_types, uint64_t offset, struct dwarf_unit *unit)
{
    const struct dwarf_bytes *section = &file->sections[in_types ? DWARF_TYPES : DWARF_INFO];
    struct sxt_cursor at = sxt_cursor_make(section->data, section->size, 0, file->big_endian);
    memset(unit, 0, sizeof *unit);
    unit->offset = offset;
    unit->in_types = in_types;
    sxt_cursor_seek(&at, offset);
    uint64_t length = sxt_cursor_u32(&at);
    unit->offset_size = 4;
    if (length == 0xffffffff) {
        unit->offset_size = 8;
        length = sxt_cursor_u64(&at);
    } else if (length >= 0xfffffff0) {
        return false;
    }
    if (at.failed || length > sxt_cursor_left(&at))
        return false;
    unit->end = at.at + length;
    unit->version = sxt_cursor_u16(&at);
    unit->type = in_types ? DW_UT_type : DW_UT_compile;
    if (unit->version >= 5) {
        unit->type = sxt_cursor_u8(&at);
        unit->address_size = sxt_cursor_u8(&at);
        unit->abbrev_offset = sxt_cursor_uint(&at, unit->offset_size);
    } else {
        unit->abbrev_offset = sxt_cursor_uint(&at, unit->offset_size);
        unit->address_size = sxt_cursor_u8(&at);
    }
    if (unit->type == DW_UT_type || unit->type == DW_UT_split_type) {
        unit->id = sxt_cursor_u64(&at);
        unit->type_root = offset + sxt_cursor_uint(&at, unit->offset_size);
    } else if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile) {
        unit->id = sxt_cursor_u64(&at);
    }
    unit->root = at.at;
    return !at.failed && unit->root <= unit->end;
}

bool sxt_dwarf_unit_is_known(const struct dwarf_unit *unit)
{
    return unit->version >= 2 && unit->version <= 5 &&
           (unit->address_size == 2 || unit->address_size == 4 || unit->address_size == 8);
}

static void note_bad(struct dwarf_file *file, uint64_t offset)
{
    if (file->bad_count++ == 0)
        file->bad_header = offset;
}

static int find_units_in(struct dwarf_file *file, bool in_types, size_t *capacity, sxt_error *error)
{
    const struct dwarf_bytes *section = &file->sections[in_types ? DWARF_TYPES : DWARF_INFO];
    for (uint64_t offset = 0; offset < section->size;) {
        struct dwarf_unit unit;
        bool is_whole = sxt_dwarf_read_unit_header(file, in_types, offset, &unit);
        if (!is_whole && unit.end == 0) {
            /* Sections may end with zeros as padding. */
            for (uint64_t i = offset; i < section->size; i++)
                if (section->data[i] != 0) {
                    note_bad(file, offset);
                    break;
                }
            return SXT_OK;
        }
        offset = unit.end;
        if (!is_whole || !sxt_dwarf_unit_is_known(&unit)) {
            /* Unsupported version, or too short: only its length is reliable. If that is 0, it is padding. */
            if (unit.end > unit.offset + 4)
                note_bad(file, unit.offset);
            continue;
        }
        struct dwarf_unit *units = sxt_array_grow(file->units, capacity, file->unit_count + 1, sizeof *units);
        if (units == NULL)
            return sxt_fail_memory(error, (file->unit_count + 1) * sizeof *units);
        file->units = units;
        units[file->unit_count++] = unit;
    }
    return SXT_OK;
}

int sxt_dwarf_find_units(struct dwarf_file *file, sxt_error *error)
{
    size_t capacity = 0;
    int status = find_units_in(file, false, &capacity, error);
    file->info_unit_count = file->unit_count;
    if (status == SXT_OK)
        status = find_units_in(file, true, &capacity, error);
    return status;
}

const struct dwarf_unit *sxt_dwarf_unit_at(const struct dwarf_file *file, uint64_t offset)
{
    size_t at = SXT_SEARCH_ABOVE(file->units, file->info_unit_count, end, offset);
    return at < file->info_unit_count && offset >= file->units[at].root ? &file->units[at] : NULL;
}

/* Values that need the bases of the unit (indexes in a table), or may need them, are read after the bases. */
static bool needs_bases(uint16_t form)
{
    return form == DW_FORM_indirect || form == DW_FORM_strx || (form >= DW_FORM_strx1 && form <= DW_FORM_strx4) ||
           form == DW_FORM_addrx || (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) ||
           form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index;
}

static void note_base(struct dwarf_context *context, struct dwarf_root *root, uint16_t name,
                      const struct dwarf_value *value)
{
    switch (name) {
    case DW_AT_str_offsets_base:
        context->str_offsets_base = value->number;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        context->addr_base = value->number;
        break;
    case DW_AT_rnglists_base:
        context->rnglists_base = value->number;
        break;
    case DW_AT_GNU_ranges_base:
        context->ranges_base = value->number;
        break;
    case DW_AT_GNU_dwo_id:
        root->split_id = value->number;
        break;
    default:
        break;
    }
}

static void note_root(struct dwarf_root *root, uint16_t name, const struct dwarf_value *value)
{
    switch (name) {
    case DW_AT_name:
        root->name = value->text;
        break;
    case DW_AT_comp_dir:
        root->directory = value->text;
        break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        root->split_name = value->text;
        break;
    case DW_AT_language:
        root->language = (uint16_t)value->number;
        break;
    case DW_AT_stmt_list:
        root->has_lines = true;
        root->lines = value->number;
        break;
    case DW_AT_low_pc:
        root->low = *value;
        break;
    case DW_AT_high_pc:
        root->high = *value;
        break;
    case DW_AT_ranges:
        root->ranges = *value;
        break;
    default:
        break;
    }
}

static bool read_root(struct dwarf_context *context, struct dwarf_root *root)
{
    const struct dwarf_bytes *section = dwarf_unit_section(context->file, context->unit);
    const uint8_t *end = section->data + context->unit->end;
    const uint8_t *first = section->data + context->unit->root;
    uint64_t code;
    first = dwarf_uleb(first, end, &code);
    const struct dwarf_abbrev *abbrev = first != NULL ? dwarf_abbrev_find(context->abbrevs, code) : NULL;
    if (abbrev == NULL)
        return false;
    root->tag = abbrev->tag;
    for (int pass = 0; pass < 2; pass++) {
        const uint8_t *at = first;
        for (uint32_t i = 0; i < abbrev->count; i++) {
            const struct dwarf_attribute *attribute = &context->abbrevs->attributes[abbrev->first + i];
            struct dwarf_value value;
            if ((at = sxt_dwarf_read_value(context, attribute, at, end, &value)) == NULL)
                return false;
            if (pass == 0)
                note_base(context, root, attribute->name, &value);
            if (pass == (needs_bases(attribute->form) ? 1 : 0))
                note_root(root, attribute->name, &value);
        }
    }
    return true;
}

bool sxt_dwarf_enter(struct dwarf_context *context, struct dwarf_root *root, struct dwarf_abbrevs *abbrevs,
                     const struct dwarf_file *file, const struct dwarf_unit *unit, const struct dwarf_context *skeleton)
{
    *context = (struct dwarf_context){.file = file, .main = file, .unit = unit, .abbrevs = abbrevs};
    *root = (struct dwarf_root){.tag = 0};
    unsigned header = unit->version >= 5 ? (unit->offset_size == 8 ? 16 : 8) : 0;
    if (file->split) {
        /* Offsets of a split unit are relative to the end of the tables' headers, and no attribute says so. */
        context->str_offsets_base = header;
        context->rnglists_base = unit->version >= 5 ? (unit->offset_size == 8 ? 20 : 12) : 0;
    }
    if (skeleton != NULL) {
        context->main = skeleton->main;
        context->addr_base = skeleton->addr_base;
        context->ranges_base = skeleton->ranges_base;
    }
    return sxt_dwarf_abbrevs_read(abbrevs, file, unit) && read_root(context, root);
}

bool sxt_dwarf_enter_root(struct dwarf_context *context, struct dwarf_root *root, struct dwarf_abbrevs *abbrevs,
                          const struct dwarf_file *file, const struct dwarf_unit *unit)
{
    *context = (struct dwarf_context){.file = file, .main = file, .unit = unit, .abbrevs = abbrevs};
    *root = (struct dwarf_root){.tag = 0};
    const uint8_t *section = dwarf_unit_section(file, unit)->data;
    uint64_t code;
    return dwarf_uleb(section + unit->root, section + unit->end, &code) != NULL &&
           sxt_dwarf_abbrevs_read_one(abbrevs, file, unit, code) && read_root(context, root);
}
