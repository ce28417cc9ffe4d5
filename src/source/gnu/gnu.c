/* gnu.c: looks up an address in sections, debug information and symbols in the order of GNU addr2line. */
#include "source/gnu/gnu.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "source/debug_file.h"
#include "source/dwarf/dwarf.h"
#include "source/extract.h"
#include "source/gnu/symbols.h"

/* A section in which addresses are looked up. */
struct searched_section {
    uint32_t section;
    uint64_t start; /* subtracted from an address; 0 in a relocatable file */
    uint64_t size;
};

struct sxt_gnu {
    sxt_extract_options options;
    struct sxt_elf elf;
    struct sxt_debug_file debug;
    struct searched_section *sections;
    size_t section_count;
    struct sxt_gnu_symbols symbols;       /* of the file */
    struct sxt_gnu_symbols debug_symbols; /* of the debug file, if that has the debug information */
    struct sxt_dwarf *dwarf;
    struct sxt_gnu_dwarf *dwarf_view; /* NULL if there is no debug information */
    struct sxt_gnu_dwarf_place place;
};

static int find_sections(struct sxt_gnu *gnu, const char *section, sxt_error *error);
static int open_dwarf(struct sxt_gnu *gnu, const char *path, sxt_error *error);
static bool find_in_section(struct sxt_gnu *gnu, uint32_t section, uint64_t offset, struct sxt_gnu_frame *frame);

int sxt_gnu_open(const struct sxt_file *file, const char *path, const char *section, unsigned threads,
                 struct sxt_gnu **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_gnu *gnu = calloc(1, sizeof *gnu);
    if (gnu == NULL)
        return sxt_fail_memory(error, sizeof *gnu);
    sxt_extract_options_init(&gnu->options);
    gnu->options.threads = threads;
    int status = sxt_elf_open(&gnu->elf, file->data, file->size, gnu->options.inflate_limit, error);
    if (status != SXT_OK) {
        free(gnu);
        return status;
    }
    status = find_sections(gnu, section, error);
    if (status == SXT_OK)
        status = open_dwarf(gnu, path, error);
    sxt_gnu_symbols_open(&gnu->symbols, &gnu->elf, true);
    if (status == SXT_OK)
        *out = gnu;
    else
        sxt_gnu_close(&gnu);
    return status;
}

void sxt_gnu_close(struct sxt_gnu **gnu)
{
    struct sxt_gnu *closing = *gnu;
    if (closing == NULL)
        return;
    sxt_gnu_dwarf_close(&closing->dwarf_view);
    sxt_dwarf_close(&closing->dwarf);
    sxt_gnu_symbols_close(&closing->symbols);
    sxt_gnu_symbols_close(&closing->debug_symbols);
    sxt_debug_file_close(&closing->debug);
    sxt_elf_close(&closing->elf);
    free(closing->sections);
    free(closing);
    *gnu = NULL;
}

static int find_sections(struct sxt_gnu *gnu, const char *section, sxt_error *error)
{
    const struct sxt_elf *elf = &gnu->elf;
    gnu->sections = malloc((elf->section_count + 1) * sizeof *gnu->sections);
    if (gnu->sections == NULL)
        return sxt_fail_memory(error, (elf->section_count + 1) * sizeof *gnu->sections);
    const struct sxt_elf_section *only = section != NULL ? sxt_elf_section_named(elf, section) : NULL;
    if (section != NULL && only == NULL)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no section named '%.100s'", section);
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *candidate = &elf->sections[i];
        if ((candidate->flags & SHF_ALLOC) == 0 || candidate->type == SHT_NULL || candidate->size == 0 ||
            (only != NULL && candidate != only))
            continue;
        bool relative = elf->type == ET_REL || only != NULL;
        gnu->sections[gnu->section_count++] =
            (struct searched_section){(uint32_t)i, relative ? 0 : candidate->address, candidate->size};
    }
    return SXT_OK;
}

/* A debug file is used only if it has the debug information that the file itself lacks. */
static int open_dwarf(struct sxt_gnu *gnu, const char *path, sxt_error *error)
{
    struct sxt_elf *elf = &gnu->elf;
    if (!sxt_dwarf_is_in(elf)) {
        int status = sxt_debug_file_open(elf, path, &gnu->options, &gnu->debug, error);
        if (status != SXT_OK)
            return status;
        if (!gnu->debug.found || !sxt_dwarf_is_in(&gnu->debug.elf))
            return SXT_OK;
        elf = &gnu->debug.elf;
        path = gnu->debug.path;
        sxt_gnu_symbols_open(&gnu->debug_symbols, elf, false);
    }
    struct sxt_dwarf_settings settings = {.path = path, .options = &gnu->options, .details = true, .gnu = true};
    int status = sxt_dwarf_open(elf, &settings, &gnu->dwarf, error);
    return status == SXT_OK ? sxt_gnu_dwarf_open(gnu->dwarf, &gnu->dwarf_view, error) : status;
}

bool sxt_gnu_is_narrow(const struct sxt_gnu *gnu)
{
    return !gnu->elf.is_64;
}

bool sxt_gnu_symbol(struct sxt_gnu *gnu, sxt_string name, enum sxt_gnu_style style, bool no_limit, uint64_t *address)
{
    return sxt_gnu_symbols_named(&gnu->symbols, name, style, no_limit, address);
}

static uint64_t linked_address(const struct sxt_gnu *gnu, uint32_t section, uint64_t offset)
{
    return gnu->elf.sections[section].address + offset;
}

/* Returns the first section from NUMBER on that contains ADDRESS, or section_count if there is none. */
static size_t next_section(const struct sxt_gnu *gnu, size_t number, uint64_t address)
{
    while (number < gnu->section_count && address - gnu->sections[number].start >= gnu->sections[number].size)
        number++;
    return number;
}

int sxt_gnu_load(struct sxt_gnu *gnu, const uint64_t *addresses, size_t count, sxt_error *error)
{
    if (gnu->dwarf_view == NULL)
        return SXT_OK;
    uint64_t *linked = malloc((count + 1) * sizeof *linked);
    if (linked == NULL)
        return sxt_fail_memory(error, (count + 1) * sizeof *linked);
    size_t linked_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t number = next_section(gnu, 0, addresses[i]);
        const struct searched_section *place = &gnu->sections[number];
        if (number < gnu->section_count)
            linked[linked_count++] = linked_address(gnu, place->section, addresses[i] - place->start);
    }
    int status = linked_count > 0 ? sxt_gnu_dwarf_load(gnu->dwarf_view, linked, linked_count, error) : SXT_OK;
    free(linked);
    return status;
}

bool sxt_gnu_find(struct sxt_gnu *gnu, uint64_t address, struct sxt_gnu_frame *frame)
{
    bool is_first = true;
    for (size_t i = next_section(gnu, 0, address); i < gnu->section_count; i = next_section(gnu, i + 1, address)) {
        const struct searched_section *place = &gnu->sections[i];
        uint64_t offset = address - place->start;
        uint64_t linked = linked_address(gnu, place->section, offset);
        /*
         * The debug information for the first section was loaded for all addresses together; a second one is rarely
         * searched.
         */
        if (!is_first && gnu->dwarf_view != NULL)
            (void)sxt_gnu_dwarf_load(gnu->dwarf_view, &linked, 1, NULL);
        is_first = false;
        if (find_in_section(gnu, place->section, offset, frame))
            return true;
    }
    return false;
}

/* Returns the symbols of the file with the debug information, if the section has the same name in both files. */
static struct sxt_gnu_symbols *symbols_for(struct sxt_gnu *gnu, uint32_t section)
{
    const struct sxt_elf *debug = &gnu->debug.elf;
    if (!gnu->debug.found || section >= debug->section_count)
        return &gnu->symbols;
    sxt_string name = gnu->elf.sections[section].name, other = debug->sections[section].name;
    bool same = sxt_string_equal(name, other);
    return same ? &gnu->debug_symbols : &gnu->symbols;
}

/* Completes FRAME from the symbol table. */
static bool look_up_symbol(struct sxt_gnu_symbols *symbols, uint32_t section, uint64_t offset,
                           struct sxt_gnu_found *found, struct sxt_gnu_frame *frame)
{
    if (!sxt_gnu_symbols_function(symbols, section, offset, found))
        return false;
    frame->function = found->name;
    if (frame->file.data == NULL)
        frame->file = found->file;
    return true;
}

/* In a section without code, if a symbol begins at the address, the variable of that name is looked up. */
static bool look_up_dwarf(struct sxt_gnu *gnu, uint32_t section, uint64_t offset, struct sxt_gnu_frame *frame)
{
    struct sxt_gnu_dwarf_place *place = &gnu->place;
    uint64_t address = linked_address(gnu, section, offset);
    sxt_string symbol;
    bool found = (gnu->elf.sections[section].flags & SHF_EXECINSTR) == 0 &&
                         sxt_gnu_symbols_at(&gnu->symbols, section, offset, &symbol)
                     ? sxt_gnu_dwarf_variable(gnu->dwarf_view, address, symbol, place, NULL)
                     : sxt_gnu_dwarf_find(gnu->dwarf_view, address, place);
    frame->file = place->file;
    frame->line = place->line;
    frame->discriminator = place->discriminator;
    return found;
}

/*
 * Debug information may have only the name in the source. The symbol at the address has the linkage name if the
 * function begins where the symbol begins. If not, GNU addr2line prints the symbol's name anyway, but only this once:
 * later lookups print the name in the source.
 */
static void choose_name(struct sxt_gnu *gnu, uint32_t section, sxt_string name, bool has_symbol,
                        const struct sxt_gnu_found *symbol, struct sxt_gnu_frame *frame)
{
    struct sxt_gnu_dwarf_function function = gnu->place.function;
    if (!has_symbol)
        frame->function = name;
    else if (linked_address(gnu, section, symbol->offset) == sxt_gnu_dwarf_start(function))
        name = symbol->name;
    sxt_gnu_dwarf_set_name(gnu->dwarf_view, function, name);
}

static bool find_in_section(struct sxt_gnu *gnu, uint32_t section, uint64_t offset, struct sxt_gnu_frame *frame)
{
    struct sxt_gnu_found symbol;
    *frame = (struct sxt_gnu_frame){.line = 0};
    gnu->place = (struct sxt_gnu_dwarf_place){.line = 0};
    if (gnu->dwarf_view != NULL) {
        bool found = look_up_dwarf(gnu, section, offset, frame);
        bool has_function = gnu->place.function.unit != NULL, is_linkage = false;
        sxt_string name = {NULL, 0};
        if (has_function)
            name = sxt_gnu_dwarf_name(gnu->dwarf_view, gnu->place.function, &is_linkage);
        if (has_function && is_linkage) {
            frame->function = name;
        } else {
            bool has_symbol = look_up_symbol(symbols_for(gnu, section), section, offset, &symbol, frame);
            found = found || has_symbol;
            if (has_function)
                choose_name(gnu, section, name, has_symbol, &symbol, frame);
        }
        if (found)
            return true;
    }
    return look_up_symbol(&gnu->symbols, section, offset, &symbol, frame);
}

bool sxt_gnu_caller(struct sxt_gnu *gnu, struct sxt_gnu_frame *frame)
{
    if (gnu->dwarf_view == NULL || !sxt_gnu_dwarf_caller(gnu->dwarf_view, &gnu->place))
        return false;
    bool is_linkage;
    frame->function = sxt_gnu_dwarf_name(gnu->dwarf_view, gnu->place.function, &is_linkage);
    frame->file = gnu->place.file;
    frame->line = gnu->place.line;
    return true;
}
