/* ranges.c: reads low and high addresses, .debug_ranges (DWARF 2 to 4) and .debug_rnglists (DWARF 5). */
#include "source/dwarf/ranges.h"

#include <elf.h>

#include "base/array.h"
#include "base/cursor.h"

static bool read_old_list(const struct dwarf_context *context, const struct dwarf_dead *dead, uint64_t base,
                          uint64_t offset, struct dwarf_ranges *out);
static bool read_list(const struct dwarf_context *context, const struct dwarf_dead *dead, uint64_t base,
                      uint64_t offset, struct dwarf_ranges *out);

static bool is_code(const struct sxt_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if ((section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR) && address >= section->address &&
            address - section->address < section->size)
            return true;
    }
    return elf->section_count == 0 && sxt_elf_in_code_segment(elf, address);
}

int sxt_dwarf_compare_ranges(const void *a, const void *b)
{
    const struct dwarf_range *first = a;
    const struct dwarf_range *second = b;
    return first->start < second->start ? -1 : first->start > second->start;
}

struct dwarf_dead sxt_dwarf_dead_of(const struct sxt_elf *elf)
{
    return (struct dwarf_dead){
        .code_at_zero = is_code(elf, 0),
        .code_at_one = is_code(elf, 1),
        .narrow = !elf->is_64,
    };
}

static void add_range(struct dwarf_ranges *out, const struct dwarf_dead *dead, uint64_t start, uint64_t end)
{
    if (start >= end || dwarf_start_is_dead(dead, start))
        return;
    struct dwarf_range *moved = sxt_array_grow(out->list, &out->capacity, out->count + 1, sizeof *moved);
    if (moved == NULL) {
        out->no_memory = true;
        return;
    }
    out->list = moved;
    moved[out->count++] = (struct dwarf_range){start, end};
}

/* Says whether another entry may be read. */
static bool spend(struct dwarf_ranges *out)
{
    return !out->no_memory && dwarf_budget_spend(out->budget, sizeof *out->list);
}

/* Gets the offset of list number INDEX from the table after the header of .debug_rnglists. */
static bool list_offset(const struct dwarf_context *context, uint64_t index, uint64_t *offset)
{
    const struct dwarf_file *file = context->file->split ? context->file : context->main;
    const struct dwarf_bytes *section = &file->sections[DWARF_RNGLISTS];
    unsigned width = context->unit->offset_size;
    uint64_t at;
    if (!sxt_mul_u64(index, width, &at) || !sxt_add_u64(at, context->rnglists_base, &at) || section->size < width ||
        at > section->size - width)
        return false;
    return sxt_add_u64(context->rnglists_base, dwarf_uint(section->data + at, width, file->big_endian), offset);
}

static bool read_ranges(const struct dwarf_context *context, const struct dwarf_dead *dead, uint64_t base,
                        const struct dwarf_value *low, const struct dwarf_value *high, const struct dwarf_value *ranges,
                        struct dwarf_ranges *out)
{
    uint64_t offset = ranges->number;
    if (ranges->class == DWARF_LIST && !list_offset(context, ranges->number, &offset))
        return false;
    if (ranges->class == DWARF_LIST || ranges->class == DWARF_OFFSET || ranges->class == DWARF_CONSTANT)
        return context->unit->version >= 5 ? read_list(context, dead, base, offset, out)
                                           : read_old_list(context, dead, base, offset, out);
    if (low->class != DWARF_ADDRESS || high->class == DWARF_NOTHING || dwarf_start_is_dead(dead, low->number))
        return true;
    uint64_t end = high->number;
    /* A range that extends beyond the last address is invalid, like an inverted one. */
    if (high->class != DWARF_ADDRESS && !sxt_add_u64(low->number, high->number, &end))
        return true;
    add_range(out, dead, low->number, end);
    return true;
}

bool sxt_dwarf_read_ranges(const struct dwarf_context *context, const struct dwarf_dead *dead, uint64_t base,
                           const struct dwarf_value *low, const struct dwarf_value *high,
                           const struct dwarf_value *ranges, struct dwarf_ranges *out)
{
    if (read_ranges(context, dead, base, low, high, ranges, out))
        return true;
    out->damaged = true;
    return false;
}

static bool read_old_list(const struct dwarf_context *context, const struct dwarf_dead *dead, uint64_t base,
                          uint64_t offset, struct dwarf_ranges *out)
{
    const struct dwarf_bytes *section = &context->main->sections[DWARF_RANGES];
    unsigned width = context->unit->address_size;
    uint64_t most = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
    struct sxt_cursor at = sxt_cursor_make(section->data, section->size, 0, context->main->big_endian);
    if (context->file->split && !sxt_add_u64(offset, context->ranges_base, &offset))
        return false;
    sxt_cursor_seek(&at, offset);
    while (spend(out)) {
        uint64_t start = sxt_cursor_uint(&at, width);
        uint64_t end = sxt_cursor_uint(&at, width);
        if (at.failed)
            return false;
        if (start == 0 && end == 0)
            return true;
        if (start == most) {
            base = end;
            continue;
        }
        if (base == 0 || !dwarf_start_is_dead(dead, base))
            add_range(out, dead, base + start, base + end);
    }
    return false;
}

/* Reads one entry of a list, after its kind. Returns false if it is damaged. */
static bool read_entry(const struct dwarf_context *context, uint8_t kind, uint64_t *base, struct sxt_cursor *at,
                       uint64_t *start, uint64_t *end)
{
    unsigned width = context->unit->address_size;
    *start = *end = 0;
    switch (kind) {
    case DW_RLE_base_addressx:
        return sxt_dwarf_indexed_address(context, sxt_cursor_uleb128(at), base);
    case DW_RLE_startx_endx:
        return sxt_dwarf_indexed_address(context, sxt_cursor_uleb128(at), start) &&
               sxt_dwarf_indexed_address(context, sxt_cursor_uleb128(at), end);
    case DW_RLE_startx_length:
        if (!sxt_dwarf_indexed_address(context, sxt_cursor_uleb128(at), start))
            return false;
        *end = *start + sxt_cursor_uleb128(at);
        return true;
    case DW_RLE_offset_pair:
        *start = *base + sxt_cursor_uleb128(at);
        *end = *base + sxt_cursor_uleb128(at);
        return true;
    case DW_RLE_base_address:
        *base = sxt_cursor_uint(at, width);
        return true;
    case DW_RLE_start_end:
        *start = sxt_cursor_uint(at, width);
        *end = sxt_cursor_uint(at, width);
        return true;
    case DW_RLE_start_length:
        *start = sxt_cursor_uint(at, width);
        *end = *start + sxt_cursor_uleb128(at);
        return true;
    default:
        return false;
    }
}

static bool read_list(const struct dwarf_context *context, const struct dwarf_dead *dead, uint64_t base,
                      uint64_t offset, struct dwarf_ranges *out)
{
    const struct dwarf_file *file = context->file->split ? context->file : context->main;
    const struct dwarf_bytes *section = &file->sections[DWARF_RNGLISTS];
    struct sxt_cursor at = sxt_cursor_make(section->data, section->size, 0, file->big_endian);
    sxt_cursor_seek(&at, offset);
    while (spend(out)) {
        uint8_t kind = sxt_cursor_u8(&at);
        uint64_t start, end;
        if (at.failed)
            return false;
        if (kind == DW_RLE_end_of_list)
            return true;
        if (!read_entry(context, kind, &base, &at, &start, &end) || at.failed)
            return false;
        bool relative = kind == DW_RLE_offset_pair;
        if (!relative || base == 0 || !dwarf_start_is_dead(dead, base))
            add_range(out, dead, start, end);
    }
    return false;
}
