/* section_changes.c: what changed in a diff, by section. Sections of the same name in several containers are one. */
#include "size/section_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "size/private.h"
#include "size/query.h"

static bool add_symbols(struct sxt_size_section_changes *changes, const struct sxt_size_info *info, bool is_after);
static bool add_changes(struct sxt_size_section_changes *changes, const struct sxt_size_delta *delta);
static bool add_stated(struct sxt_size_section_changes *changes, const struct sxt_size_info *info, bool is_after);
static void sum_up(struct sxt_size_section_changes *changes, const struct sxt_size_delta *delta);
static int compare(const void *left, const void *right);

int sxt_size_section_changes_make(const sxt_size_diff *diff, sxt_size_section_changes **out, sxt_error *error)
{
    const struct sxt_size_delta *delta = &diff->delta;
    sxt_size_section_changes *changes = calloc(1, sizeof *changes);
    *out = NULL;
    if (changes == NULL)
        return sxt_fail_memory(error, sizeof *changes);
    int status = sxt_strings_init(&changes->names, 0, error);
    if (status == SXT_OK && (!add_symbols(changes, delta->before, false) || !add_symbols(changes, delta->after, true) ||
                             !add_changes(changes, delta) || !add_stated(changes, delta->before, false) ||
                             !add_stated(changes, delta->after, true)))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while adding up sections");
    if (status != SXT_OK) {
        sxt_size_section_changes_free(&changes);
        return status;
    }
    sum_up(changes, delta);
    if (changes->count > 1)
        qsort(changes->items, changes->count, sizeof *changes->items, compare);
    *out = changes;
    return SXT_OK;
}

void sxt_size_section_changes_free(sxt_size_section_changes **changes)
{
    if (*changes == NULL)
        return;
    sxt_strings_free(&(*changes)->names);
    free((*changes)->items);
    free(*changes);
    *changes = NULL;
}

size_t sxt_size_section_changes_count(const sxt_size_section_changes *changes)
{
    return changes->count;
}

int sxt_size_section_changes_get(const sxt_size_section_changes *changes, size_t index, sxt_size_section_change *out)
{
    if (index >= changes->count)
        return SXT_ERROR_USAGE;
    sxt_result_give(out, &changes->items[index].view, sizeof *out);
    return SXT_OK;
}

void sxt_size_section_changes_total(const sxt_size_section_changes *changes, sxt_size_section_change *out)
{
    sxt_result_give(out, &changes->total, sizeof changes->total);
}

const struct sxt_size_changed_section *sxt_size_find_changed_section(const struct sxt_size_section_changes *changes,
                                                                     sxt_string name)
{
    for (size_t i = 0; i < changes->count; i++)
        if (name.size > 0 && sxt_string_equal(changes->items[i].view.name, name))
            return &changes->items[i];
    return NULL;
}

/* --- adding up --- */

/* The section of that name, which is added when it is new; NULL when memory is short. */
static struct sxt_size_changed_section *section_of(struct sxt_size_section_changes *changes, sxt_string name)
{
    uint32_t number = sxt_strings_add(&changes->names, name.data, name.size);
    if (number == SXT_STRINGS_FULL)
        return NULL;
    if (number >= changes->count) {
        struct sxt_size_changed_section *moved =
            sxt_array_grow(changes->items, &changes->capacity, (size_t)number + 1, sizeof *moved);
        if (moved == NULL)
            return NULL;
        changes->items = moved;
        for (; changes->count <= number; changes->count++)
            moved[changes->count] = (struct sxt_size_changed_section){.view = {.name = {"", 0}}};
    }
    struct sxt_size_changed_section *section = &changes->items[number];
    section->view.name = sxt_strings_get(&changes->names, number);
    section->view.is_bss = sxt_size_is_bss(name);
    return section;
}

static bool add_symbols(struct sxt_size_section_changes *changes, const struct sxt_size_info *info, bool is_after)
{
    for (size_t i = 0; i < info->segment_count; i++) {
        const struct sxt_size_segment *segment = &info->segments[i];
        struct sxt_size_changed_section *section = section_of(changes, segment->section);
        if (section == NULL)
            return false;
        double pss = 0;
        for (size_t k = 0; k < segment->count; k++)
            pss += sxt_size_pss(info, &info->symbols[segment->first + k]);
        *(is_after ? &section->view.after : &section->view.before) += pss;
        section->view.symbols += segment->count;
    }
    return true;
}

static bool add_changes(struct sxt_size_section_changes *changes, const struct sxt_size_delta *delta)
{
    const struct sxt_size_query_subject subject = {.delta = delta};
    size_t count = sxt_size_query_item_count(&subject);
    for (size_t i = 0; i < count; i++) {
        struct sxt_size_query_item item;
        sxt_size_query_get_item(&subject, i, &item);
        struct sxt_size_changed_section *section = section_of(changes, item.section);
        if (section == NULL)
            return false;
        section->view.change += item.pss;
        section->view.symbols++;
    }
    return true;
}

/* What a file states about its sections, whether it has symbols of them or not. */
static bool add_stated(struct sxt_size_section_changes *changes, const struct sxt_size_info *info, bool is_after)
{
    for (size_t i = 0; i < info->container_count; i++) {
        const struct sxt_json *sections = info->containers[i].sections;
        for (const struct sxt_json *one = sections != NULL ? sections->child : NULL; one != NULL; one = one->next) {
            struct sxt_size_changed_section *section = section_of(changes, one->key);
            if (section == NULL)
                return false;
            *(is_after ? &section->stated_after : &section->stated_before) += one->number;
        }
    }
    return true;
}

/* A sparse file has only some of its symbols, so the size of a section is the stated one. */
static void sum_up(struct sxt_size_section_changes *changes, const struct sxt_size_delta *delta)
{
    bool is_sparse = delta->before->is_sparse || delta->after->is_sparse;
    sxt_size_section_change *total = &changes->total;
    total->name = (sxt_string){"", 0};
    for (size_t i = 0; i < changes->count; i++) {
        sxt_size_section_change *section = &changes->items[i].view;
        if (is_sparse) {
            section->before = changes->items[i].stated_before;
            section->after = section->before + section->change;
        }
        total->symbols += section->symbols;
        if (section->symbols == 0 || section->is_bss)
            continue;
        total->before += section->before;
        total->after += section->after;
        total->change += section->change;
    }
}

static int compare(const void *left, const void *right)
{
    const sxt_size_section_change *a = &((const struct sxt_size_changed_section *)left)->view;
    const sxt_size_section_change *b = &((const struct sxt_size_changed_section *)right)->view;
    if (a->is_bss != b->is_bss)
        return a->is_bss ? 1 : -1;
    if (a->after != b->after)
        return a->after < b->after ? 1 : -1;
    return sxt_string_compare(a->name, b->name);
}
