/* layout.c: the rules of layout.h. */
#include "profile/layout.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/string.h"
#include "source/elf/elf.h"

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

bool sxt_layout_of_elf(struct sxt_layout *layout, const struct sxt_elf *elf)
{
    *layout = (struct sxt_layout){.first = UINT64_MAX};
    layout->segments = malloc((elf->segment_count + 1) * sizeof *layout->segments);
    if (layout->segments == NULL)
        return false;
    add_segments(layout, elf, true);
    layout->code_count = layout->segment_count;
    add_segments(layout, elf, false);
    for (size_t i = 0; i < layout->code_count; i++) {
        const struct sxt_layout_segment *segment = &layout->segments[i];
        if (segment->file_size > 0)
            layout->has_offsets = true;
        if (segment->address < layout->first)
            layout->first = segment->address;
        if (segment->address + segment->memory_size > layout->end)
            layout->end = segment->address + segment->memory_size;
    }
    /* A debug file has no bytes of code, and its offsets are not those of the binary. */
    const struct sxt_elf_section *text = sxt_elf_section_named(elf, ".text");
    if (text != NULL && text->type == SHT_NOBITS)
        layout->has_offsets = false;
    layout->is_relocatable = elf->type == ET_REL;
    if (layout->is_relocatable && text != NULL)
        layout->text = text->address;
    return true;
}

void sxt_layout_of_archive(struct sxt_layout *layout, const sxt_archive *archive)
{
    *layout = (struct sxt_layout){0};
    size_t count = sxt_archive_row_count(archive);
    sxt_range range;
    if (count == 0 || sxt_archive_row(archive, 0, &range) != SXT_OK)
        return;
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

/* Whether the mapping has the size of the only code segment, and so is that segment. */
static bool is_code_segment(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping)
{
    if (layout->code_count != 1)
        return false;
    const struct sxt_layout_segment *code = &layout->segments[0];
    uint64_t size = (code->address % PAGE + code->memory_size + PAGE - 1) & ~(PAGE - 1);
    return mapping->limit - mapping->start == size;
}

bool sxt_layout_place(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping, uint64_t address,
                      uint64_t *out)
{
    *out = address;
    if (mapping->start == 0 && mapping->offset == 0 && (mapping->limit == 0 || mapping->limit == UINT64_MAX))
        return true;
    if (layout->is_unknown && (sxt_layout_is_kernel(mapping->name) || mapping->start < FIXED_END))
        return true;
    if (sxt_layout_is_kernel(mapping->name) && !layout->is_relocatable) {
        *out = address - kernel_bias(layout, mapping);
        return true;
    }
    if (layout->is_relocatable) {
        *out = layout->text + (address - mapping->start);
        return true;
    }
    uint64_t offset = address - mapping->start + mapping->offset;
    if (layout->has_offsets)
        return sxt_layout_place_offset(layout, offset, out);
    if (mapping->start < layout->end && layout->first < mapping->limit)
        return true;
    *out = is_code_segment(layout, mapping) ? layout->segments[0].address / PAGE * PAGE + (address - mapping->start)
                                            : offset;
    return true;
}
