/* lookup.c: finds the entry of the Go function table for an address. */
#include "source/go/go.h"
#include "source/go/table.h"

const struct sxt_go_table *sxt_go_open(struct sxt_elf *elf)
{
    struct sxt_go_bases bases;
    bool found = false;
    struct sxt_go_table *table = sxt_arena_alloc(&elf->arena, sizeof *table);
    if (table == NULL || sxt_go_table_find(elf, table, &bases, &found, NULL) != SXT_OK || !found)
        return NULL;
    return table;
}

/*
 * Entries of a damaged table may be out of order, so all are examined. Of several functions, the one that starts last
 * wins.
 */
bool sxt_go_find_function(const struct sxt_go_table *table, uint64_t address, struct sxt_go_position *out)
{
    bool has = false;
    uint64_t best = 0;
    for (size_t i = 0; i < table->function_count; i++) {
        uint64_t start = sxt_go_table_pc(table, i);
        if (start > address || sxt_go_table_pc(table, i + 1) <= address || (has && start <= best))
            continue;
        out->index = i;
        best = start;
        has = true;
    }
    if (!has)
        return false;
    struct sxt_go_record record;
    out->table = table->offset;
    out->entry = table->offset + table->functions + (uint64_t)out->index * 2 * table->field_size;
    out->has_lines = sxt_go_table_record(table, out->index, &record);
    out->lines = out->has_lines ? table->offset + table->pc_values + record.pc_line : 0;
    return true;
}
