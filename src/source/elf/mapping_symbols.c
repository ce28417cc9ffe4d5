/* mapping_symbols.c: reads mapping symbols, which mark where data begins and ends inside code. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "source/elf/elf.h"

static int compare_addresses(const void *a, const void *b)
{
    const struct sxt_elf_mapping_symbol *first = a;
    const struct sxt_elf_mapping_symbol *second = b;
    return first->address < second->address ? -1 : first->address > second->address;
}

static int add_symbol(struct sxt_elf_mapping_symbols *symbols, uint64_t address, bool is_data, sxt_error *error)
{
    struct sxt_elf_mapping_symbol *list =
        sxt_array_grow(symbols->list, &symbols->capacity, symbols->count + 1, sizeof *list);
    if (list == NULL)
        return sxt_fail_memory(error, (symbols->count + 1) * sizeof *list);
    symbols->list = list;
    list[symbols->count++] = (struct sxt_elf_mapping_symbol){address, is_data};
    return SXT_OK;
}

int sxt_elf_read_mapping_symbols(struct sxt_elf *elf, struct sxt_elf_mapping_symbols *symbols, sxt_error *error)
{
    *symbols = (struct sxt_elf_mapping_symbols){.list = NULL};
    const struct sxt_elf_section *section = sxt_elf_section_typed(elf, SHT_SYMTAB);
    struct sxt_elf_symbol_table table;
    if (section == NULL || (elf->machine != EM_ARM && elf->machine != EM_AARCH64 && elf->machine != EM_RISCV) ||
        sxt_elf_symbol_table_open(elf, section, &table, NULL) != SXT_OK)
        return SXT_OK;
    int status = SXT_OK;
    for (size_t i = 0; i < table.count && status == SXT_OK; i++) {
        struct sxt_elf_symbol symbol = sxt_elf_symbol_at(&table, i);
        if ((symbol.info & 15) != STT_NOTYPE || symbol.section == SHN_UNDEF || symbol.section >= elf->section_count)
            continue;
        sxt_string name = sxt_elf_symbol_name(&table, &symbol);
        if (table.exhausted)
            break;
        if (name.size < 2 || name.data[0] != '$' || strchr("adtx", name.data[1]) == NULL)
            continue;
        uint64_t base = elf->type == ET_REL ? elf->sections[symbol.section].address : 0;
        status = add_symbol(symbols, base + symbol.value, name.data[1] == 'd', error);
    }
    if (symbols->count > 1)
        qsort(symbols->list, symbols->count, sizeof *symbols->list, compare_addresses);
    return status;
}
