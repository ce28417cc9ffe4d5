/* ksym.c: which symbol of a ksym blob gave an answer, or why the blob has none. */
#include "base/search.h"
#include "explain/private.h"

#define ALIASES_MAX 1000

/* The whole name of a symbol, in the arena. */
static sxt_string name_of(struct sxt_explainer *explainer, size_t index)
{
    size_t size = sxt_ksym_name(&explainer->ksym, index, NULL, 0);
    char *name = sxt_arena_alloc(&explainer->arena, size + 1);
    if (name == NULL) {
        explainer->no_memory = true;
        return (sxt_string){NULL, 0};
    }
    sxt_ksym_name(&explainer->ksym, index, name, size + 1);
    return (sxt_string){name, size};
}

/* "type T, record at 0x1234, begins with token 7 (12 bytes)" */
static sxt_string describe_record(struct sxt_explainer *explainer, const sxt_ksym_symbol *symbol)
{
    sxt_ksym_stored stored;
    if (!sxt_ksym_stored_at(&explainer->ksym, symbol->index, &stored))
        return (sxt_string){NULL, 0};
    unsigned long long offset = (unsigned long long)(stored.tail - stored.marker_size - 3 - explainer->ksym.data);
    if (stored.head_size == 0)
        return sxt_explain_print(explainer, "record at 0x%llx, type %c", offset, symbol->type);
    return sxt_explain_print(explainer, "record at 0x%llx, type %c, begins with token %zu (%zu bytes)", offset,
                             symbol->type, stored.token, stored.head_size);
}

static void add_aliases(struct sxt_explainer *explainer, size_t first, sxt_explained_frame *frame)
{
    const sxt_ksym *ksym = &explainer->ksym;
    size_t count = 0;
    while (count < ALIASES_MAX && first + 1 + count < sxt_ksym_count(ksym) &&
           sxt_ksym_address(ksym, first + 1 + count) == sxt_ksym_address(ksym, first))
        count++;
    sxt_string *names = count > 0 ? sxt_arena_calloc(&explainer->arena, count, sizeof *names) : NULL;
    if (count > 0 && names == NULL)
        explainer->no_memory = true;
    for (size_t i = 0; i < count && names != NULL; i++)
        names[i] = name_of(explainer, first + 1 + i);
    frame->aliases = names;
    frame->alias_count = names != NULL ? count : 0;
}

static void explain_symbol(struct sxt_explainer *explainer, const sxt_ksym_symbol *symbol)
{
    const sxt_ksym *ksym = &explainer->ksym;
    sxt_explained_frame *frame = sxt_explain_frames(explainer, 1);
    if (frame == NULL)
        return;
    *frame = (sxt_explained_frame){
        .function = name_of(explainer, symbol->index),
        .record = SXT_RECORD_SYMBOL,
        .file = sxt_explain_string(explainer->path),
        .section = sxt_explain_string("addresses"),
        .entry = (uint64_t)(ksym->addresses - ksym->data) + 8 * symbol->index,
        .index = symbol->index,
        .start = symbol->address,
        .end = symbol->address + symbol->size,
        .name_from = describe_record(explainer, symbol),
    };
    add_aliases(explainer, symbol->index, frame);
    sxt_explain_because(explainer, SXT_WHY_NAMES_ONLY);
    sxt_explain_advise(explainer, SXT_ADVICE_EXPLAIN_BINARY);
}

/* The symbol before the address, and the one after it. */
static void explain_neighbours(struct sxt_explainer *explainer, uint64_t address)
{
    const sxt_ksym *ksym = &explainer->ksym;
    struct sxt_bisection search = {.high = sxt_ksym_count(ksym)};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sxt_ksym_address(ksym, search.middle) <= address);
    sxt_ksym_symbol before, after;
    if (search.low > 0 && sxt_ksym_symbol_at(ksym, search.low - 1, &before) && before.address + before.size <= address)
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_FUNCTION_BEFORE,
                                                                 .name = name_of(explainer, before.index),
                                                                 .address = before.address + before.size,
                                                                 .size = address - (before.address + before.size)});
    if (sxt_ksym_symbol_at(ksym, search.low, &after))
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_FUNCTION_AFTER,
                                                                 .name = name_of(explainer, after.index),
                                                                 .address = after.address,
                                                                 .size = after.address - address});
}

void sxt_explain_ksym(struct sxt_explainer *explainer, uint64_t address)
{
    const sxt_ksym *ksym = &explainer->ksym;
    sxt_ksym_symbol symbol;
    if (sxt_ksym_lookup(ksym, address, NULL, 0, &symbol)) {
        explain_symbol(explainer, &symbol);
        return;
    }
    if (sxt_ksym_count(ksym) == 0) {
        sxt_explain_because(explainer, SXT_WHY_NO_ROWS);
        sxt_explain_advise(explainer, SXT_ADVICE_MAKE_AGAIN);
        return;
    }
    if (address < ksym->text_first || address > ksym->text_last)
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_OUTSIDE_TEXT,
                                                                 .address = ksym->text_first,
                                                                 .size = ksym->text_last - ksym->text_first + 1});
    explain_neighbours(explainer, address);
    sxt_explain_advise(explainer, SXT_ADVICE_EXPLAIN_BINARY);
}
