/*
 * sections.c: which sections of a binary count, and what the file would take if it were stripped.
 *
 * What is counted is what ships: strip removes symbols and debug information, which are never loaded. Its result is
 * computed without running it: sections that are loaded stay where they are, the others follow without gaps, then come
 * the names of the sections that are left and their headers.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/string.h"
#include "measure/private.h"

/* Names of sections may overlap in the file, and so be more than it has bytes. */
#define NAME_MOST 1024

/* Sections that are closer than this belong together. */
#define NEAR_ENOUGH ((uint64_t)64 << 10)
/* Of all sections. Sizes are signed later, and added up. */
#define MOST_BYTES ((uint64_t)1 << 60)

static bool is_debug(sxt_string name)
{
    return sxt_string_begins(name, ".debug") || sxt_string_begins(name, ".zdebug") ||
           sxt_string_begins(name, ".gnu.debuglto_") || sxt_string_begins(name, ".gnu.linkonce.wi.") ||
           sxt_string_begins(name, ".stab") || sxt_string_begins(name, ".line") ||
           sxt_string_begins(name, ".gdb_index") || sxt_string_begins(name, ".gnu.build.attributes");
}

/* Whether it is removed when the file is stripped. */
static bool is_stripped(const struct sxt_elf *elf, size_t index)
{
    const struct sxt_elf_section *section = &elf->sections[index];
    if (section->flags & SHF_ALLOC)
        return false;
    switch (section->type) {
    case SHT_NULL:
    case SHT_SYMTAB:
    case SHT_SYMTAB_SHNDX:
        return true;
    case SHT_STRTAB:
        return index != elf->names;
    case SHT_REL:
    case SHT_RELA:
        /* Relocations of a relocatable file stay with what they relocate. Others are useless without the symbols. */
        return elf->type != ET_REL || (section->info < elf->section_count && section->info != index &&
                                       is_debug(elf->sections[section->info].name));
    default:
        return is_debug(section->name);
    }
}

/* ".text.startup" of an object file becomes part of ".text" of what is linked from it. */
static sxt_string merged_name(sxt_string name)
{
    static const char *const whole[] = {".text",  ".rodata", ".data.rel.ro.local", ".data.rel.ro", ".data", ".bss",
                                        ".tdata", ".tbss"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        size_t size = strlen(whole[i]);
        if (sxt_string_begins(name, whole[i]) && (name.size == size || name.data[size] == '.'))
            return (sxt_string){whole[i], size};
    }
    return name;
}

/*
 * Go and kernels have several sections that are not in the file. What lies directly after .bss, or after what was
 * taken for a part of it BEFORE, is taken for a part of it; others are not known to readers.
 */
static void place_memory(const struct sxt_elf *elf, struct measure_section *section,
                         const struct measure_section *before)
{
    uint64_t end = before != NULL ? before->elf->address + before->elf->size : 0;
    section->place = MEASURE_MEMORY;
    if (before == NULL || section->elf->address < end || section->elf->address - end >= NEAR_ENOUGH ||
        elf->type == ET_REL || before->name.size != 4)
        return;
    section->place = MEASURE_NATIVE;
    section->name = before->name;
    section->gap = section->elf->address - end;
}

struct measure_section *sxt_measure_sections(const struct sxt_elf *elf, bool with_debug)
{
    struct measure_section *sections = calloc(elf->section_count + 1, sizeof *sections), *bss = NULL;
    for (size_t i = 1; sections != NULL && i < elf->section_count; i++) {
        struct measure_section *section = &sections[i];
        const struct sxt_elf_section *from = &elf->sections[i];
        section->elf = from;
        section->address = from->address;
        section->size = from->size;
        section->name = elf->type == ET_REL ? merged_name(from->name) : from->name;
        if (section->name.size > NAME_MOST)
            section->name.size = NAME_MOST;
        if (section->name.size == 0)
            section->name = (sxt_string){"?", 1};
        section->is_bss = from->type == SHT_NOBITS;
        struct sxt_size_segment segment = {.section = section->name};
        sxt_size_classify(&segment);
        if (is_stripped(elf, i) && !with_debug)
            section->place = MEASURE_LEFT_OUT;
        else if (from->type == SHT_NOBITS && !segment.is_bss)
            place_memory(elf, section, bss);
        else if ((from->flags & SHF_ALLOC) && segment.is_native && segment.is_bss == section->is_bss)
            section->place = MEASURE_NATIVE;
        else
            section->place = from->type == SHT_NULL ? MEASURE_LEFT_OUT : MEASURE_OTHER;
        if (section->place == MEASURE_NATIVE && section->is_bss && !(from->flags & SHF_TLS))
            bss = section;
    }
    return sections;
}

int sxt_measure_check_sections(const struct sxt_elf *elf, const struct measure_section *sections, sxt_error *error)
{
    uint64_t total = 0;
    for (size_t i = 1; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if (sections[i].place == MEASURE_LEFT_OUT)
            continue;
        if (section->type != SHT_NOBITS && !sxt_fits(section->offset, section->size, 1, elf->size))
            return sxt_fail(error, SXT_ERROR_FORMAT, section->offset, "section %zu is not in the file", i);
        if (section->size > MOST_BYTES - total)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "section %zu is too large for any memory", i);
        total += section->size;
    }
    return SXT_OK;
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return alignment > 1 && (alignment & (alignment - 1)) == 0 ? (value + alignment - 1) & ~(alignment - 1) : value;
}

static int by_reversed_name(const void *a, const void *b)
{
    const sxt_string *first = a;
    const sxt_string *second = b;
    size_t size = first->size < second->size ? first->size : second->size;
    for (size_t i = 1; i <= size; i++) {
        unsigned char left = (unsigned char)first->data[first->size - i];
        unsigned char right = (unsigned char)second->data[second->size - i];
        if (left != right)
            return left < right ? -1 : 1;
    }
    return first->size < second->size ? -1 : first->size > second->size;
}

/* The table of names, where a name that another one ends in needs no room. */
static uint64_t names_size(const struct sxt_elf *elf, const struct measure_section *sections, sxt_string *names)
{
    size_t count = 0;
    uint64_t size = 1;
    for (size_t i = 1; i < elf->section_count; i++)
        if (sections[i].place != MEASURE_LEFT_OUT)
            names[count++] = sections[i].elf->name.size < NAME_MOST ? sections[i].elf->name : sections[i].name;
    qsort(names, count, sizeof *names, by_reversed_name);
    for (size_t i = 0; i < count; i++) {
        const sxt_string *longer = i + 1 < count ? &names[i + 1] : NULL;
        bool is_tail = longer != NULL && sxt_string_has_suffix(*longer, names[i]);
        if (!is_tail)
            size += names[i].size + 1;
    }
    return size;
}

bool sxt_measure_strip(const struct sxt_elf *elf, struct measure_section *sections, uint64_t *size)
{
    bool is_whole = true;
    for (size_t i = 1; i < elf->section_count; i++)
        is_whole &= sections[i].place != MEASURE_LEFT_OUT;
    *size = elf->size;
    if (is_whole)
        return true;
    sxt_string *names = malloc((elf->section_count + 1) * sizeof *names);
    if (names == NULL)
        return false;
    uint64_t end = elf->is_64 ? 64 + 56 * (uint64_t)elf->segment_count : 52 + 32 * (uint64_t)elf->segment_count;
    uint64_t kept = 1;
    for (size_t i = 1; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if (sections[i].place == MEASURE_LEFT_OUT)
            continue;
        kept++;
        if (section->type == SHT_NOBITS || i == elf->names || !sxt_fits(section->offset, section->size, 1, elf->size))
            continue;
        if ((section->flags & SHF_ALLOC) == 0 || elf->type == ET_REL)
            end = align_up(end, section->alignment) + section->size;
        else if (section->offset + section->size > end)
            end = section->offset + section->size;
    }
    uint64_t names_end = names_size(elf, sections, names);
    free(names);
    end += names_end;
    /* A section that is loaded is not changed. */
    if (elf->names < elf->section_count && (elf->sections[elf->names].flags & SHF_ALLOC) == 0)
        sections[elf->names].size = names_end;
    *size = align_up(end, elf->is_64 ? 8 : 4) + kept * (elf->is_64 ? 64 : 40);
    return true;
}
