/*
 * gnu_variables.c: finds where variables are declared. GNU addr2line reports it for addresses of data if a symbol
 * begins there. It does not support indexed addresses.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/search.h"
#include "source/dwarf/gnu.h"
#include "source/dwarf/variables.h"

#define CHAIN_MAX 16

/* State of the search: each thread has its own list. */
struct search {
    const struct sxt_dwarf *dwarf;
    struct {
        struct dwarf_abbrevs abbrevs;
        struct gnu_variables found;
    } * workers;
};

static bool search_unit(const struct sxt_dwarf *dwarf, size_t number, struct dwarf_abbrevs *abbrevs,
                        struct gnu_variables *found);

static int search_item(void *context, unsigned worker, size_t item)
{
    struct search *search = context;
    return search_unit(search->dwarf, item, &search->workers[worker].abbrevs, &search->workers[worker].found)
               ? SXT_OK
               : SXT_ERROR_MEMORY;
}

static int compare_addresses(const void *a, const void *b)
{
    const struct gnu_variable *first = a;
    const struct gnu_variable *second = b;
    if (first->address != second->address)
        return first->address < second->address ? -1 : 1;
    return first->entry < second->entry ? -1 : first->entry > second->entry;
}

/* Joins the variables of all threads in one list. */
static bool join(struct search *search, unsigned threads, struct gnu_variables *out)
{
    for (unsigned i = 0; i < threads; i++) {
        const struct gnu_variables *found = &search->workers[i].found;
        struct gnu_variable *list =
            sxt_array_grow(out->list, &out->capacity, out->count + found->count + 1, sizeof *list);
        if (list == NULL)
            return false;
        out->list = list;
        if (found->count > 0)
            memcpy(list + out->count, found->list, found->count * sizeof *list);
        out->count += found->count;
    }
    qsort(out->list, out->count, sizeof *out->list, compare_addresses);
    return true;
}

static int search_all(struct sxt_gnu_dwarf *view, sxt_error *error)
{
    unsigned threads = sxt_pool_threads(view->dwarf->settings.options->threads);
    struct search search = {.dwarf = view->dwarf};
    search.workers = calloc(threads, sizeof *search.workers);
    if (search.workers == NULL)
        return sxt_fail_memory(error, threads * sizeof *search.workers);
    for (unsigned i = 0; i < threads; i++)
        sxt_dwarf_abbrevs_init(&search.workers[i].abbrevs);
    int status = sxt_pool_run(threads, view->dwarf->main.info_unit_count, search_item, &search);
    if (status != SXT_OK || !join(&search, threads, &view->variables))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading variables from DWARF");
    for (unsigned i = 0; i < threads; i++) {
        sxt_dwarf_abbrevs_free(&search.workers[i].abbrevs);
        free(search.workers[i].found.list);
    }
    free(search.workers);
    return status;
}

/* Reads the variable whose values begin at AT, and its address if it has one; returns the end of the entry. */
static const uint8_t *visit(const struct dwarf_context *context, const struct dwarf_abbrev *abbrev, const uint8_t *at,
                            const uint8_t *end, struct gnu_variable *variable, bool *has_address)
{
    *has_address = false;
    for (uint32_t i = 0; i < abbrev->count && at != NULL; i++) {
        const struct dwarf_attribute *attribute = &context->abbrevs->attributes[abbrev->first + i];
        if (attribute->name == DW_AT_location)
            *has_address = sxt_dwarf_plain_address(context, attribute->form, false, at, end, &variable->address);
        struct dwarf_value value;
        at = sxt_dwarf_read_value(context, attribute, at, end, &value);
    }
    return at;
}

/* Reads all entries, whatever their nesting. Returns false if out of memory. */
static bool search_unit(const struct sxt_dwarf *dwarf, size_t number, struct dwarf_abbrevs *abbrevs,
                        struct gnu_variables *found)
{
    const struct dwarf_unit *unit = &dwarf->main.units[number];
    struct dwarf_context context;
    struct dwarf_root root;
    if (!sxt_dwarf_enter(&context, &root, abbrevs, &dwarf->main, unit, NULL))
        return true;
    const uint8_t *section = dwarf_unit_section(&dwarf->main, unit)->data;
    const uint8_t *end = section + unit->end;
    for (const uint8_t *at = section + unit->root; at != NULL && at < end;) {
        struct gnu_variable variable = {.entry = (uint64_t)(at - section), .unit = (uint32_t)number};
        uint64_t code;
        bool has_address = false;
        at = dwarf_uleb(at, end, &code);
        if (at == NULL || code == 0)
            continue;
        const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(abbrevs, code);
        if (abbrev == NULL)
            return true;
        if (abbrev->tag != DW_TAG_variable && abbrev->tag != DW_TAG_member)
            at = dwarf_skip(&context, abbrev, at, end);
        else
            at = visit(&context, abbrev, at, end, &variable, &has_address);
        if (!has_address)
            continue;
        struct gnu_variable *list = sxt_array_grow(found->list, &found->capacity, found->count + 1, sizeof *list);
        if (list == NULL)
            return false;
        found->list = list;
        list[found->count++] = variable;
    }
    return true;
}

/* The attributes of a variable's declaration. */
struct declaration {
    sxt_string name;
    uint32_t unit; /* that has the file number */
    bool has_file;
    uint64_t file, line;
};

/* Reads the entry, and what it leaves out from the entry that declares it. */
static void read_declaration(struct sxt_gnu_dwarf *view, uint64_t entry, struct declaration *out)
{
    *out = (struct declaration){.line = 0};
    const struct dwarf_file *file = &view->dwarf->main;
    for (int i = 0; i < CHAIN_MAX; i++) {
        const struct dwarf_unit *unit = sxt_dwarf_unit_at(file, entry);
        if (unit == NULL || !sxt_gnu_dwarf_enter(view, unit))
            return;
        const struct dwarf_context *context = &view->context;
        const uint8_t *section = dwarf_unit_section(file, unit)->data, *end = section + unit->end;
        uint64_t code;
        const uint8_t *at = dwarf_uleb(section + entry, end, &code);
        const struct dwarf_abbrev *abbrev = at != NULL ? dwarf_abbrev_find(context->abbrevs, code) : NULL;
        bool more = false;
        for (uint32_t k = 0; abbrev != NULL && k < abbrev->count && at != NULL; k++) {
            const struct dwarf_attribute *attribute = &context->abbrevs->attributes[abbrev->first + k];
            struct dwarf_value value;
            at = sxt_dwarf_read_value(context, attribute, at, end, &value);
            if (at == NULL)
                break;
            if (attribute->name == DW_AT_name && out->name.data == NULL)
                out->name = value.text;
            else if (attribute->name == DW_AT_decl_line && out->line == 0)
                out->line = value.number;
            else if (attribute->name == DW_AT_decl_file && !out->has_file) {
                out->has_file = true;
                out->file = value.number;
                out->unit = (uint32_t)(unit - file->units);
            } else if (attribute->name == DW_AT_specification && value.class == DWARF_REFERENCE) {
                entry = value.number;
                more = true;
            }
        }
        if (!more)
            return;
    }
}

static bool contains(sxt_string text, sxt_string part)
{
    return part.data != NULL && text.data != NULL && memmem(text.data, text.size, part.data, part.size) != NULL;
}

bool sxt_gnu_dwarf_variable(struct sxt_gnu_dwarf *view, uint64_t address, sxt_string symbol,
                            struct sxt_gnu_dwarf_place *place, sxt_error *error)
{
    *place = (struct sxt_gnu_dwarf_place){.line = 0};
    sxt_error_clear(error);
    if (!view->has_variables && search_all(view, error) != SXT_OK)
        return false;
    view->has_variables = true;
    const struct gnu_variables *variables = &view->variables;
    size_t i = SXT_SEARCH_FROM(variables->list, variables->count, address, address);
    for (; i < variables->count && variables->list[i].address == address; i++) {
        struct declaration declaration;
        read_declaration(view, variables->list[i].entry, &declaration);
        struct gnu_unit *unit = declaration.has_file ? sxt_gnu_dwarf_unit_at(view, declaration.unit) : NULL;
        if (unit == NULL || !contains(symbol, declaration.name))
            continue;
        place->file =
            sxt_gnu_dwarf_path(view, unit, declaration.file < UINT32_MAX - 1 ? (uint32_t)declaration.file + 1 : 1);
        place->line = declaration.line <= UINT32_MAX ? (uint32_t)declaration.line : 0;
        return true;
    }
    return false;
}
