/*
 * gnu_order.c: which of several units that share a line table answers.
 *
 * dwz moves what several units have in common to units of their own, and compilers do so with types. Such a unit has no
 * code, but may name the line table of a unit that has. To GNU addr2line it is a unit that does not say which code it
 * has, so it looks at its line table when it comes by; and since it comes first in the file, it answers: with a line,
 * and without a function. It does not come by where it has read ahead to find an entry that another unit refers to.
 * That unit is then only asked if the entry made it look at its line table all the same.
 */
#include <stdlib.h>

#include "base/array.h"
#include "source/dwarf/gnu.h"

#define EFFORT_TIMES 4
#define EFFORT_MORE  ((uint64_t)16 << 20)

/* Going over the units as GNU addr2line does. */
struct journey {
    const struct sxt_dwarf *dwarf;
    bool *has_code;    /* by unit: it says so */
    bool *is_read;     /* by unit: it was come by, or read ahead */
    bool *is_asked;    /* by unit: its line table is known */
    uint32_t *waiting; /* units whose entries are still to be looked at */
    size_t waiting_count, waiting_capacity;
    struct dwarf_effort effort;
    struct dwarf_abbrevs abbrevs, target_abbrevs;
    size_t frontier; /* the first unit that is not read */
    bool no_memory;
};

static bool travel(struct journey *journey);
static void choose_first(struct sxt_gnu_dwarf *view, const struct journey *journey, const uint32_t *units);

struct line_table_user {
    uint64_t table;
    uint32_t unit;
};

static int by_table(const void *a, const void *b)
{
    const struct line_table_user *first = a;
    const struct line_table_user *second = b;
    if (first->table != second->table)
        return first->table < second->table ? -1 : 1;
    return first->unit < second->unit ? -1 : first->unit > second->unit;
}

/* The units by line table; *SHARED tells whether any two have the same. NULL when memory is short. */
static uint32_t *order_by_table(const struct sxt_dwarf *dwarf, bool *shared)
{
    size_t count = dwarf->main.info_unit_count;
    struct line_table_user *users = malloc((count + 1) * sizeof *users);
    uint32_t *units = malloc((count + 1) * sizeof *units);
    *shared = false;
    if (users != NULL && units != NULL) {
        for (size_t i = 0; i < count; i++)
            users[i] = (struct line_table_user){dwarf->line_tables[i], (uint32_t)i};
        qsort(users, count, sizeof *users, by_table);
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
    uint32_t *units = order_by_table(dwarf, &shared);
    if (units == NULL || !shared) {
        free(units);
        return units != NULL;
    }
    struct journey journey = {.dwarf = dwarf};
    journey.has_code = calloc(count + 1, sizeof *journey.has_code);
    journey.is_read = calloc(count + 1, sizeof *journey.is_read);
    journey.is_asked = calloc(count + 1, sizeof *journey.is_asked);
    sxt_dwarf_abbrevs_init(&journey.abbrevs);
    sxt_dwarf_abbrevs_init(&journey.target_abbrevs);
    journey.abbrevs.effort = journey.target_abbrevs.effort = &journey.effort;
    journey.effort.left = (uint64_t)dwarf->main.sections[DWARF_INFO].size * EFFORT_TIMES + EFFORT_MORE;
    bool done = journey.has_code != NULL && journey.is_read != NULL && journey.is_asked != NULL && travel(&journey);
    if (done)
        choose_first(view, &journey, units);
    sxt_dwarf_abbrevs_free(&journey.abbrevs);
    sxt_dwarf_abbrevs_free(&journey.target_abbrevs);
    free(journey.has_code);
    free(journey.is_read);
    free(journey.is_asked);
    free(journey.waiting);
    free(units);
    return done;
}

/* The first unit of each table that is asked: when it is come by, or for its code. */
static void choose_first(struct sxt_gnu_dwarf *view, const struct journey *journey, const uint32_t *units)
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
        if (first == UINT32_MAX && (journey->has_code[unit] || journey->is_asked[unit]))
            first = unit;
        if (first != UINT32_MAX)
            view->first_user[unit] = first;
    }
}

/* --- the way through the file --- */

static void ask(struct journey *journey, size_t unit)
{
    if (journey->is_asked[unit] || journey->dwarf->line_tables[unit] == UINT64_MAX)
        return;
    uint32_t *waiting =
        sxt_array_grow(journey->waiting, &journey->waiting_capacity, journey->waiting_count + 1, sizeof *waiting);
    if (waiting == NULL) {
        journey->no_memory = true;
        return;
    }
    journey->waiting = waiting;
    waiting[journey->waiting_count++] = (uint32_t)unit;
    journey->is_asked[unit] = true;
}

/* Entries of functions and variables are followed to where their name is. Returns that attribute, or NULL. */
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

/* An entry that says in which file it is makes its unit's line table known. */
static bool names_a_file(struct journey *journey, const struct dwarf_unit *unit, uint64_t entry)
{
    const struct dwarf_file *file = &journey->dwarf->main;
    if (!sxt_dwarf_abbrevs_read(&journey->target_abbrevs, file, unit))
        return false;
    const uint8_t *section = dwarf_unit_section(file, unit)->data;
    uint64_t code;
    if (dwarf_uleb(section + entry, section + unit->end, &code) == NULL)
        return false;
    const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(&journey->target_abbrevs, code);
    for (uint32_t i = 0; abbrev != NULL && i < abbrev->count; i++)
        if (journey->target_abbrevs.attributes[abbrev->first + i].name == DW_AT_decl_file)
            return true;
    return false;
}

static void follow(struct journey *journey, uint64_t entry)
{
    const struct dwarf_file *file = &journey->dwarf->main;
    const struct dwarf_unit *unit = sxt_dwarf_unit_at(file, entry);
    if (unit == NULL)
        return;
    size_t number = (size_t)(unit - file->units);
    for (; journey->frontier <= number; journey->frontier++)
        journey->is_read[journey->frontier] = true;
    if (!journey->is_asked[number] && names_a_file(journey, unit, entry))
        ask(journey, number);
}

/* Looks at the entries of a unit, in whatever way they nest. */
static void look_at_entries(struct journey *journey, size_t number)
{
    const struct dwarf_file *file = &journey->dwarf->main;
    const struct dwarf_unit *unit = &file->units[number];
    struct dwarf_context context;
    struct dwarf_root root;
    if (!sxt_dwarf_enter(&context, &root, &journey->abbrevs, file, unit, NULL) || !has_references(&journey->abbrevs))
        return;
    const uint8_t *section = dwarf_unit_section(file, unit)->data, *end = section + unit->end;
    for (const uint8_t *at = section + unit->root; at != NULL && at < end && !journey->effort.exhausted;) {
        uint64_t code;
        if ((at = dwarf_uleb(at, end, &code)) == NULL || code == 0)
            continue;
        const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(&journey->abbrevs, code);
        if (abbrev == NULL)
            return;
        const struct dwarf_attribute *reference = reference_of(&journey->abbrevs, abbrev);
        if (reference == NULL) {
            at = dwarf_skip(&context, abbrev, at, end);
            continue;
        }
        for (uint32_t i = 0; i < abbrev->count && at != NULL; i++) {
            const struct dwarf_attribute *attribute = &journey->abbrevs.attributes[abbrev->first + i];
            struct dwarf_value value;
            at = sxt_dwarf_read_value(&context, attribute, at, end, &value);
            if (attribute == reference && at != NULL && value.class == DWARF_REFERENCE)
                follow(journey, value.number);
        }
    }
}

static bool travel(struct journey *journey)
{
    const struct sxt_dwarf *dwarf = journey->dwarf;
    for (size_t i = 0; i < dwarf->extent_count; i++)
        journey->has_code[dwarf->extents[i].unit] = true;
    for (size_t i = 0; i < dwarf->main.info_unit_count; i++) {
        if (journey->is_read[i])
            continue;
        journey->is_read[i] = true;
        journey->frontier = i + 1;
        if (!journey->has_code[i])
            ask(journey, i);
        while (journey->waiting_count > 0 && !journey->no_memory)
            look_at_entries(journey, journey->waiting[--journey->waiting_count]);
    }
    return !journey->no_memory;
}
