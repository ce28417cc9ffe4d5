/*
 * gnu_shared_lines.c: which of several units with the same line table GNU addr2line uses.
 *
 * dwz moves what several units have in common to separate units, and compilers do so with types. Such a unit has no
 * code, but may name the line table of a unit that has. For GNU addr2line, it is a unit that does not say which code it
 * has, so it reads the line table when it reaches the unit; and since the unit comes first in the file, it gives the
 * answer: with a line, and without a function. GNU addr2line does not reach the unit in this way if it has already read
 * ahead to find an entry that another unit refers to. In that case the unit is used only if that entry made its line
 * table known.
 */
#include <stdlib.h>

#include "base/array.h"
#include "source/dwarf/gnu.h"

#define BUDGET_TIMES 4
#define BUDGET_MORE  ((uint64_t)16 << 20)

/* State of a pass over the units in the order of GNU addr2line. */
struct pass {
    const struct sxt_dwarf *dwarf;
    bool *has_code;    /* by unit: its root entry has ranges of code */
    bool *is_read;     /* by unit: it was reached, or read ahead */
    bool *is_known;    /* by unit: its line table is known */
    uint32_t *pending; /* units whose entries must still be read */
    size_t pending_count, pending_capacity;
    struct dwarf_budget budget;
    struct dwarf_abbrevs abbrevs, target_abbrevs;
    size_t frontier; /* the first unit that is not read */
    bool no_memory;
};

static bool run_pass(struct pass *pass);
static void set_first_users(struct sxt_gnu_dwarf *view, const struct pass *pass, const uint32_t *units);

struct line_table_user {
    uint64_t table;
    uint32_t unit;
};

static int compare_tables(const void *a, const void *b)
{
    const struct line_table_user *first = a;
    const struct line_table_user *second = b;
    if (first->table != second->table)
        return first->table < second->table ? -1 : 1;
    return first->unit < second->unit ? -1 : first->unit > second->unit;
}

/* Returns the units sorted by line table, or NULL if out of memory; *SHARED says whether any two have the same one. */
static uint32_t *sort_by_table(const struct sxt_dwarf *dwarf, bool *shared)
{
    size_t count = dwarf->main.info_unit_count;
    struct line_table_user *users = malloc((count + 1) * sizeof *users);
    uint32_t *units = malloc((count + 1) * sizeof *units);
    *shared = false;
    if (users != NULL && units != NULL) {
        for (size_t i = 0; i < count; i++)
            users[i] = (struct line_table_user){dwarf->line_tables[i], (uint32_t)i};
        qsort(users, count, sizeof *users, compare_tables);
        for (size_t i = 0; i < count; i++) {
            units[i] = users[i].unit;
            *shared = *shared || (i > 0 && users[i].table == users[i - 1].table && users[i].table != UINT64_MAX);
        }
    } else {
        free(units);
        units = NULL;
    }
    free(users);
    return units;
}

bool sxt_gnu_dwarf_find_first_users(struct sxt_gnu_dwarf *view)
{
    const struct sxt_dwarf *dwarf = view->dwarf;
    size_t count = dwarf->main.info_unit_count;
    for (size_t i = 0; i < count; i++)
        view->first_user[i] = (uint32_t)i;
    bool shared;
    uint32_t *units = sort_by_table(dwarf, &shared);
    if (units == NULL || !shared) {
        free(units);
        return units != NULL;
    }
    struct pass pass = {.dwarf = dwarf};
    pass.has_code = calloc(count + 1, sizeof *pass.has_code);
    pass.is_read = calloc(count + 1, sizeof *pass.is_read);
    pass.is_known = calloc(count + 1, sizeof *pass.is_known);
    sxt_dwarf_abbrevs_init(&pass.abbrevs);
    sxt_dwarf_abbrevs_init(&pass.target_abbrevs);
    pass.abbrevs.budget = pass.target_abbrevs.budget = &pass.budget;
    pass.budget.left = (uint64_t)dwarf->main.sections[DWARF_INFO].size * BUDGET_TIMES + BUDGET_MORE;
    bool done = pass.has_code != NULL && pass.is_read != NULL && pass.is_known != NULL && run_pass(&pass);
    if (done)
        set_first_users(view, &pass, units);
    sxt_dwarf_abbrevs_free(&pass.abbrevs);
    sxt_dwarf_abbrevs_free(&pass.target_abbrevs);
    free(pass.has_code);
    free(pass.is_read);
    free(pass.is_known);
    free(pass.pending);
    free(units);
    return done;
}

/* Finds the first unit of each table that is used: when it is reached, or for its code. */
static void set_first_users(struct sxt_gnu_dwarf *view, const struct pass *pass, const uint32_t *units)
{
    const uint64_t *tables = view->dwarf->line_tables;
    size_t count = view->dwarf->main.info_unit_count;
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        uint32_t unit = units[i];
        if (tables[unit] == UINT64_MAX)
            break;
        if (i == 0 || tables[unit] != tables[units[i - 1]])
            first = UINT32_MAX;
        if (first == UINT32_MAX && (pass->has_code[unit] || pass->is_known[unit]))
            first = unit;
        if (first != UINT32_MAX)
            view->first_user[unit] = first;
    }
}

/* --- the pass over the file --- */

static void use_line_table(struct pass *pass, size_t unit)
{
    if (pass->is_known[unit] || pass->dwarf->line_tables[unit] == UINT64_MAX)
        return;
    uint32_t *pending =
        sxt_array_grow(pass->pending, &pass->pending_capacity, pass->pending_count + 1, sizeof *pending);
    if (pending == NULL) {
        pass->no_memory = true;
        return;
    }
    pass->pending = pending;
    pending[pass->pending_count++] = (uint32_t)unit;
    pass->is_known[unit] = true;
}

/* Entries of functions and variables refer to the entry with their name. Returns that attribute, or NULL. */
static const struct dwarf_attribute *reference_of(const struct dwarf_abbrevs *abbrevs,
                                                  const struct dwarf_abbrev *abbrev)
{
    bool is_function = abbrev->role == DWARF_ROLE_FUNCTION || abbrev->role == DWARF_ROLE_INLINED;
    bool is_variable = abbrev->tag == DW_TAG_variable || abbrev->tag == DW_TAG_member;
    for (uint32_t i = 0; i < abbrev->count && (is_function || is_variable); i++) {
        const struct dwarf_attribute *attribute = &abbrevs->attributes[abbrev->first + i];
        if (attribute->form == DW_FORM_ref_addr &&
            (attribute->name == DW_AT_specification || (is_function && attribute->name == DW_AT_abstract_origin)))
            return attribute;
    }
    return NULL;
}

static bool has_references(const struct dwarf_abbrevs *abbrevs)
{
    for (size_t i = 0; i < abbrevs->count; i++)
        if (reference_of(abbrevs, &abbrevs->list[i]) != NULL)
            return true;
    return false;
}

/* An entry that names its file makes the line table of its unit known. */
static bool has_declared_file(struct pass *pass, const struct dwarf_unit *unit, uint64_t entry)
{
    const struct dwarf_file *file = &pass->dwarf->main;
    if (!sxt_dwarf_abbrevs_read(&pass->target_abbrevs, file, unit))
        return false;
    const uint8_t *section = dwarf_unit_section(file, unit)->data;
    uint64_t code;
    if (dwarf_uleb(section + entry, section + unit->end, &code) == NULL)
        return false;
    const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(&pass->target_abbrevs, code);
    for (uint32_t i = 0; abbrev != NULL && i < abbrev->count; i++)
        if (pass->target_abbrevs.attributes[abbrev->first + i].name == DW_AT_decl_file)
            return true;
    return false;
}

static void follow_reference(struct pass *pass, uint64_t entry)
{
    const struct dwarf_file *file = &pass->dwarf->main;
    const struct dwarf_unit *unit = sxt_dwarf_unit_at(file, entry);
    if (unit == NULL)
        return;
    size_t number = (size_t)(unit - file->units);
    for (; pass->frontier <= number; pass->frontier++)
        pass->is_read[pass->frontier] = true;
    if (!pass->is_known[number] && has_declared_file(pass, unit, entry))
        use_line_table(pass, number);
}

/* Reads all entries of a unit, whatever their nesting. */
static void read_entries(struct pass *pass, size_t number)
{
    const struct dwarf_file *file = &pass->dwarf->main;
    const struct dwarf_unit *unit = &file->units[number];
    struct dwarf_context context;
    struct dwarf_root root;
    if (!sxt_dwarf_enter(&context, &root, &pass->abbrevs, file, unit, NULL) || !has_references(&pass->abbrevs))
        return;
    const uint8_t *section = dwarf_unit_section(file, unit)->data, *end = section + unit->end;
    for (const uint8_t *at = section + unit->root; at != NULL && at < end && !pass->budget.exhausted;) {
        uint64_t code;
        if ((at = dwarf_uleb(at, end, &code)) == NULL || code == 0)
            continue;
        const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(&pass->abbrevs, code);
        if (abbrev == NULL)
            return;
        const struct dwarf_attribute *reference = reference_of(&pass->abbrevs, abbrev);
        if (reference == NULL) {
            at = dwarf_skip(&context, abbrev, at, end);
            continue;
        }
        for (uint32_t i = 0; i < abbrev->count && at != NULL; i++) {
            const struct dwarf_attribute *attribute = &pass->abbrevs.attributes[abbrev->first + i];
            struct dwarf_value value;
            at = sxt_dwarf_read_value(&context, attribute, at, end, &value);
            if (attribute == reference && at != NULL && value.class == DWARF_REFERENCE)
                follow_reference(pass, value.number);
        }
    }
}

static bool run_pass(struct pass *pass)
{
    const struct sxt_dwarf *dwarf = pass->dwarf;
    for (size_t i = 0; i < dwarf->extent_count; i++)
        pass->has_code[dwarf->extents[i].unit] = true;
    for (size_t i = 0; i < dwarf->main.info_unit_count; i++) {
        if (pass->is_read[i])
            continue;
        pass->is_read[i] = true;
        pass->frontier = i + 1;
        if (!pass->has_code[i])
            use_line_table(pass, i);
        while (pass->pending_count > 0 && !pass->no_memory)
            read_entries(pass, pass->pending[--pass->pending_count]);
    }
    return !pass->no_memory;
}
