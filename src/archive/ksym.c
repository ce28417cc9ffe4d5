/*
 * ksym.c: opens a ksym blob for lookups. Each symbol extends to the next one. The blob's text is turned into a Lidia
 * image once, and lookups use that, as for every other kind.
 */
#include <stdlib.h>

#include "archive/private.h"
#include "base/error.h"

/* What is being turned into ranges. */
struct reading {
    const sxt_ksym *ksym;
    struct sxt_symbols *symbols;
    uint64_t before; /* the address of the symbol before this one */
};

/* Of several symbols at one address only the first one counts; symbols outside of the text do not. */
static bool add_symbol(void *data, const sxt_ksym_symbol *symbol, sxt_string name)
{
    struct reading *reading = data;
    const sxt_ksym *ksym = reading->ksym;
    bool is_alias = symbol->index > 0 && symbol->address == reading->before;
    reading->before = symbol->address;
    if (is_alias || symbol->size == 0 || symbol->address > ksym->text_last ||
        symbol->address + (symbol->size - 1) < ksym->text_first)
        return true;
    uint64_t skipped = symbol->address < ksym->text_first ? ksym->text_first - symbol->address : 0;
    sxt_symbols_add_range(reading->symbols, &(struct sxt_model_range){
                                                .address = symbol->address + skipped,
                                                .length = symbol->size - skipped,
                                                .function = sxt_symbols_string(reading->symbols, name.data, name.size),
                                            });
    return !reading->symbols->failed;
}

int sxt_archive_read_ksym(const sxt_ksym *ksym, struct sxt_symbols *symbols, sxt_error *error)
{
    struct reading reading = {ksym, symbols, 0};
    return sxt_ksym_visit(ksym, add_symbol, &reading, error);
}

int sxt_archive_open_ksym(sxt_archive *archive, const sxt_open_options *options, sxt_error *error)
{
    sxt_ksym_set_text(&archive->ksym, options->text_start, options->text_end);
    struct sxt_symbols *symbols;
    int status = sxt_symbols_new(&symbols, error);
    if (status != SXT_OK)
        return status;
    status = sxt_archive_read_ksym(&archive->ksym, symbols, error);
    if (status == SXT_OK)
        return sxt_archive_take_model(archive, &symbols, error);
    sxt_symbols_free(&symbols);
    return status;
}

bool sxt_archive_symbol_at(const sxt_archive *archive, uint64_t address, sxt_named *out)
{
    sxt_ksym_symbol symbol;
    sxt_frame frame;
    *out = (sxt_named){.address = 0};
    if (archive->kind != SXT_KIND_KSYM || !sxt_ksym_lookup(&archive->ksym, address, NULL, 0, &symbol) ||
        sxt_archive_lookup(archive, address, &frame, 1) == 0)
        return false;
    *out = (sxt_named){.name = frame.function, .address = symbol.address, .size = symbol.size, .letter = symbol.type};
    if (symbol.module_size > 0 && symbol.name_size + 3 + symbol.module_size <= frame.function.size)
        out->module = (sxt_string){frame.function.data + symbol.name_size + 2, symbol.module_size};
    return true;
}

/* Passes problems on to the caller's function. */
struct problems {
    void (*problem)(void *data, const sxt_problem *problem);
    void *data;
    uint64_t count;
};

static void pass_problem(void *data, const sxt_ksym_problem *problem)
{
    struct problems *problems = data;
    if (problem->harmless)
        return;
    problems->count++;
    if (problems->problem != NULL)
        problems->problem(problems->data,
                          &(sxt_problem){.offset = problem->offset, .rule = problem->rule, .message = problem->text});
}

uint64_t sxt_archive_verify_ksym(const sxt_ksym *ksym, void (*problem)(void *data, const sxt_problem *problem),
                                 void *data)
{
    struct problems problems = {problem, data, 0};
    sxt_ksym_check(ksym, pass_problem, &problems);
    return problems.count;
}
