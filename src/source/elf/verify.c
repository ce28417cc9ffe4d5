/* verify.c: checks that sections and segments lie inside the file, and that symbols have names and sections. */
#include "source/elf/elf.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/problems.h"
#include "source/elf/elf.h"

struct check {
    struct sxt_elf elf;
    struct sxt_problems problems;
};

static void check_segments(struct check *check);
static void check_sections(struct check *check);
static void check_symbols(struct check *check, const struct sxt_elf_section *section);

uint64_t sxt_elf_verify(const uint8_t *data, size_t size, uint64_t inflate_limit,
                        void (*problem)(void *context, const sxt_problem *problem), void *context)
{
    struct check check = {.problems = {.found = problem, .context = context}};
    sxt_error error;
    if (sxt_elf_open(&check.elf, data, size, inflate_limit, &error) != SXT_OK) {
        sxt_problems_add_error(&check.problems, "header", &error);
        return check.problems.count;
    }
    check_segments(&check);
    check_sections(&check);
    sxt_elf_close(&check.elf);
    return check.problems.count;
}

static void check_segments(struct check *check)
{
    for (size_t i = 0; i < check->elf.segment_count; i++) {
        const struct sxt_elf_segment *segment = &check->elf.segments[i];
        if (segment->type != PT_NULL && !sxt_fits(segment->offset, segment->file_size, 1, check->elf.size))
            sxt_problems_add(&check->problems, segment->offset, "segment-bounds",
                             "segment %zu: %llu bytes do not fit in a file of %zu bytes", i,
                             (unsigned long long)segment->file_size, check->elf.size);
    }
}

static void check_sections(struct check *check)
{
    for (size_t i = 0; i < check->elf.section_count; i++) {
        const struct sxt_elf_section *section = &check->elf.sections[i];
        if (section->type == SHT_NULL || section->type == SHT_NOBITS)
            continue;
        struct sxt_elf_bytes bytes;
        sxt_error error = {0};
        if (sxt_elf_section_bytes(&check->elf, section, &bytes, &error) != SXT_OK)
            sxt_problems_add_error(&check->problems, "section-bounds", &error);
        else if (section->type != SHT_SYMTAB && section->type != SHT_DYNSYM)
            continue;
        else if (section == sxt_elf_section_typed(&check->elf, section->type))
            check_symbols(check, section);
        else
            sxt_problems_add(&check->problems, section->offset, "symbol-table",
                             "section %zu is a second symbol table of its type", i);
        if (error.code == SXT_ERROR_LIMIT)
            break; /* all other sections would fail too */
    }
}

static void check_symbols(struct check *check, const struct sxt_elf_section *section)
{
    struct sxt_elf_symbol_table table;
    sxt_error error;
    if (sxt_elf_symbol_table_open(&check->elf, section, &table, &error) != SXT_OK) {
        sxt_problems_add_error(&check->problems, "symbol-table", &error);
        return;
    }
    size_t entry = check->elf.is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (table.entries.size % entry != 0)
        sxt_problems_add(&check->problems, section->offset, "symbol-table",
                         "%zu bytes is not a multiple of the symbol size %zu", table.entries.size, entry);
    if (check->elf.sections[section->link].type != SHT_STRTAB)
        sxt_problems_add(&check->problems, section->offset, "symbol-table", "linked section %u is not a string table",
                         section->link);
    for (size_t i = 0; i < table.count; i++) {
        struct sxt_elf_symbol symbol = sxt_elf_symbol_at(&table, i);
        uint64_t at = section->offset + (table.entries.inflated ? 0 : i * entry);
        bool named = symbol.name == 0 || sxt_elf_symbol_name(&table, &symbol).data != NULL;
        if (table.exhausted) {
            (void)sxt_elf_fail_exhausted(&table, &error);
            sxt_problems_add_error(&check->problems, "symbol-name", &error);
            return;
        }
        if (!named)
            sxt_problems_add(&check->problems, at, "symbol-name", "symbol %zu: no name at %u of %zu", i, symbol.name,
                             table.strings.size);
        if (symbol.section < SHN_LORESERVE && symbol.section >= check->elf.section_count)
            sxt_problems_add(&check->problems, at, "symbol-section", "symbol %zu: section %u of %zu", i, symbol.section,
                             check->elf.section_count);
    }
}
