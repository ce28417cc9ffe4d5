/* layout.c: the rules of layout.h. */
#include "profile/layout.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/search.h"
#include "base/string.h"
#include "source/elf/elf.h"
#include "symbols/symbols.h"

#define KERNEL_HALF ((uint64_t)1 << 63)
#define KERNEL_STEP ((uint64_t)2 << 20)
#define PAGE        ((uint64_t)4096)
#define FIXED_END   ((uint64_t)1 << 32)

static void add_segments(struct sxt_layout *layout, const struct sxt_elf *elf, bool code)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct sxt_elf_segment *segment = &elf->segments[i];
        if (segment->type == PT_LOAD && ((segment->flags & PF_X) != 0) == code)
            layout->segments[layout->segment_count++] = (struct sxt_layout_segment){
                segment->offset, segment->file_size, segment->address, segment->memory_size};
    }
}

/* The range of the code, and whether it has bytes in the file. */
static void measure_code(struct sxt_layout *layout)
{
    for (size_t i = 0; i < layout->code_count; i++) {
        const struct sxt_layout_segment *segment = &layout->segments[i];
        if (segment->file_size > 0)
            layout->has_offsets = true;
        if (segment->address < layout->first)
            layout->first = segment->address;
        if (segment->address + segment->memory_size > layout->end)
            layout->end = segment->address + segment->memory_size;
    }
}

bool sxt_layout_of_elf(struct sxt_layout *layout, const struct sxt_elf *elf)
{
    *layout = (struct sxt_layout){.first = UINT64_MAX};
    layout->segments = malloc((elf->segment_count + 1) * sizeof *layout->segments);
    if (layout->segments == NULL)
        return false;
    add_segments(layout, elf, true);
    layout->code_count = layout->segment_count;
    add_segments(layout, elf, false);
    measure_code(layout);
    /* A debug file has no bytes of code, and its offsets are not those of the binary. */
    const struct sxt_elf_section *text = sxt_elf_section_named(elf, ".text");
    if (text != NULL && text->type == SHT_NOBITS)
        layout->has_offsets = false;
    layout->is_relocatable = elf->type == ET_REL;
    if (layout->is_relocatable && text != NULL)
        layout->text = text->address;
    return true;
}

static void add_module_segments(struct sxt_layout *layout, const struct sxt_model_module *module, bool code)
{
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct sxt_model_segment *segment = &module->segments[i];
        if (((segment->flags & PF_X) != 0) == code)
            layout->segments[layout->segment_count++] = (struct sxt_layout_segment){
                segment->offset, segment->file_size, segment->address, segment->memory_size};
    }
}

/* The layout of the binary, which the archive has. False when out of memory. */
static bool take_module(struct sxt_layout *layout, const struct sxt_model_module *module)
{
    layout->segments = malloc((module->segment_count + 1) * sizeof *layout->segments);
    if (layout->segments == NULL)
        return false;
    layout->first = UINT64_MAX;
    add_module_segments(layout, module, true);
    layout->code_count = layout->segment_count;
    add_module_segments(layout, module, false);
    measure_code(layout);
    if (module->no_offsets)
        layout->has_offsets = false;
    return true;
}

bool sxt_layout_of_archive(struct sxt_layout *layout, const sxt_archive *archive)
{
    const struct sxt_model_module *module = sxt_archive_module(archive);
    *layout = (struct sxt_layout){.is_relocatable = module->is_relocatable, .text = module->text};
    if (module->segment_count > 0 && !module->is_relocatable)
        return take_module(layout, module);
    size_t count = sxt_archive_row_count(archive);
    sxt_range range;
    if (count == 0 || sxt_archive_row(archive, 0, &range) != SXT_OK)
        return true;
    layout->first = range.address;
    if (sxt_archive_row(archive, count - 1, &range) == SXT_OK)
        layout->end = range.address + range.length;
    /* A kernel has symbols at low addresses too: those of per-CPU variables. */
    struct sxt_bisection search = {.high = count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search,
                         sxt_archive_row(archive, search.middle, &range) == SXT_OK && range.address < KERNEL_HALF);
    if (search.low < count && sxt_archive_row(archive, search.low, &range) == SXT_OK)
        layout->first = range.address;
    return true;
}

void sxt_layout_free(struct sxt_layout *layout)
{
    free(layout->segments);
    *layout = (struct sxt_layout){0};
}

bool sxt_layout_is_kernel(sxt_string name)
{
    for (size_t i = name.size; i > 0; i--)
        if (name.data[i - 1] == '/') {
            name = (sxt_string){name.data + i, name.size - i};
            break;
        }
    return sxt_string_begins(name, "[kernel") || sxt_string_begins(name, "[guest.kernel") ||
           sxt_string_begins(name, "vmlinux");
}

static uint64_t kernel_bias(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping)
{
    const char *bracket = mapping->name.size > 0 ? memchr(mapping->name.data, ']', mapping->name.size) : NULL;
    sxt_string rest = {"", 0};
    if (bracket != NULL)
        rest = (sxt_string){bracket + 1, mapping->name.size - (size_t)(bracket + 1 - mapping->name.data)};
    bool is_named = sxt_string_begins(rest, "_text") || sxt_string_begins(rest, "_stext");
    uint64_t first = layout->first & ~(KERNEL_STEP - 1);
    uint64_t beginning = is_named && mapping->offset >= first ? mapping->offset : mapping->start;
    return beginning >= first ? (beginning - first) & ~(KERNEL_STEP - 1) : 0;
}

/* In the first COUNT segments. */
static bool place_offset(const struct sxt_layout *layout, size_t count, uint64_t offset, uint64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct sxt_layout_segment *segment = &layout->segments[i];
        if (offset < segment->offset || offset - segment->offset >= segment->file_size)
            continue;
        *out = segment->address + (offset - segment->offset);
        return true;
    }
    return false;
}

bool sxt_layout_place_offset(const struct sxt_layout *layout, uint64_t offset, uint64_t *out)
{
    return place_offset(layout, layout->segment_count, offset, out);
}

/* The segments of code are the first ones. */
bool sxt_layout_place_code_offset(const struct sxt_layout *layout, uint64_t offset, uint64_t *out)
{
    return layout->has_offsets && place_offset(layout, layout->code_count, offset, out);
}

static uint64_t page_of(uint64_t address)
{
    return address / PAGE * PAGE;
}

/* Whether the mapping has the size of the only code segment, and so is that segment. */
static bool is_code_segment(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping)
{
    if (layout->code_count != 1)
        return false;
    const struct sxt_layout_segment *code = &layout->segments[0];
    uint64_t size = (code->address % PAGE + code->memory_size + PAGE - 1) & ~(PAGE - 1);
    return mapping->limit - mapping->start == size;
}

/* The address of the first byte of the file; 0 if unknown, as in most files. */
static uint64_t base_of(const struct sxt_layout *layout)
{
    uint64_t lowest = layout->segment_count > 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < layout->segment_count; i++)
        if (layout->segments[i].address < lowest)
            lowest = layout->segments[i].address;
    return page_of(lowest);
}

/* Whether the mapping is at the offset where a code segment would be if the file were in memory as it is on disk. */
static bool is_linear(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping)
{
    for (size_t i = 0; i < layout->code_count; i++)
        if (mapping->offset == page_of(layout->segments[i].address) - base_of(layout))
            return true;
    return false;
}

/* Whether the mapping begins with the file and has all its code, so that the code is in memory as in the file. */
static bool is_whole(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping)
{
    return mapping->offset == 0 &&
           (mapping->limit == 0 || layout->end - base_of(layout) <= mapping->limit - mapping->start);
}

/* Rule 5. */
static enum sxt_layout_answer place_without_offsets(const struct sxt_layout *layout,
                                                    const struct sxt_layout_mapping *mapping, uint64_t address,
                                                    uint64_t *out)
{
    *out = address;
    if (mapping->start < layout->end && layout->first < mapping->limit)
        return SXT_LAYOUT_PLACED;
    uint64_t offset = address - mapping->start + mapping->offset;
    *out = offset;
    if (is_code_segment(layout, mapping))
        *out = page_of(layout->segments[0].address) + (address - mapping->start);
    else if (layout->assume_linear || is_whole(layout, mapping) || is_linear(layout, mapping))
        *out = base_of(layout) + offset;
    else
        return SXT_LAYOUT_NO_SEGMENTS;
    return SXT_LAYOUT_PLACED;
}

enum sxt_layout_answer sxt_layout_place(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping,
                                        uint64_t address, uint64_t *out)
{
    *out = address;
    if (mapping->start == 0 && mapping->offset == 0 && (mapping->limit == 0 || mapping->limit == UINT64_MAX))
        return SXT_LAYOUT_PLACED;
    if (layout->is_unknown && (sxt_layout_is_kernel(mapping->name) || mapping->start < FIXED_END))
        return SXT_LAYOUT_PLACED;
    if (sxt_layout_is_kernel(mapping->name) && !layout->is_relocatable) {
        *out = address - kernel_bias(layout, mapping);
        return SXT_LAYOUT_PLACED;
    }
    if (layout->is_relocatable) {
        *out = layout->text + (address - mapping->start);
        return SXT_LAYOUT_PLACED;
    }
    uint64_t offset = address - mapping->start + mapping->offset;
    if (layout->has_offsets)
        return sxt_layout_place_offset(layout, offset, out) ? SXT_LAYOUT_PLACED : SXT_LAYOUT_NOT_LOADED;
    if (!layout->is_unknown)
        return place_without_offsets(layout, mapping, address, out);
    *out = offset;
    return layout->assume_linear ? SXT_LAYOUT_PLACED : SXT_LAYOUT_NO_SEGMENTS;
}
