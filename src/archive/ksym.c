/*
 * ksym.c: a ksym blob as something to look addresses up in. Each symbol reaches to the next, so its text is turned into
 * a Lidia image once, and answers come from there as for everything else.
 */
#include <stdlib.h>

#include "archive/private.h"
#include "base/error.h"

/* A record has up to 64 KiB, and a token before it may have as much. */
#define NAME_ROOM ((size_t)256)

sxt_string sxt_archive_ksym_name(const sxt_ksym *ksym, size_t index, struct sxt_buffer *buffer)
{
    size_t capacity = NAME_ROOM;
    for (;;) {
        sxt_buffer_clear(buffer);
        char *room = (char *)sxt_buffer_reserve(buffer, capacity);
        if (room == NULL)
            return (sxt_string){NULL, 0};
        size_t size = sxt_ksym_name(ksym, index, room, capacity);
        if (size < capacity)
            return (sxt_string){room, size};
        capacity = size + 1;
    }
}

int sxt_archive_visit_ksym(const sxt_ksym *ksym, sxt_ksym_visit *visit, void *data, sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_ksym_symbol symbol;
    int status = SXT_OK;
    sxt_buffer_init(&buffer, SIZE_MAX / 2);
    for (size_t i = 0; sxt_ksym_symbol_at(ksym, i, &symbol); i++) {
        sxt_string name = sxt_archive_ksym_name(ksym, i, &buffer);
        if (name.data == NULL) {
            status = sxt_fail_memory(error, buffer.capacity);
            break;
        }
        if (!visit(data, &symbol, name))
            break;
    }
    sxt_buffer_free(&buffer);
    return status;
}

/* What is being turned into ranges. */
struct reading {
    const sxt_ksym *ksym;
    struct sxt_symbols *symbols;
    uint64_t before; /* the address of the symbol before this one */
};

/* Of several symbols at one address the first one counts; and nothing outside of the text does. */
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
    return sxt_archive_visit_ksym(ksym, add_symbol, &reading, error);
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

/* Problems on their way out. */
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
        problems->problem(problems->data, &(sxt_problem){problem->offset, problem->rule, problem->text});
}

uint64_t sxt_archive_verify_ksym(const sxt_ksym *ksym, void (*problem)(void *data, const sxt_problem *problem),
                                 void *data)
{
    struct problems problems = {problem, data, 0};
    sxt_ksym_check(ksym, pass_problem, &problems);
    return problems.count;
}
