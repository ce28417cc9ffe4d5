/* section_sizes.c: what the sections of a build take, in the file and in memory. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/string.h"
#include "base/strings.h"
#include "size/private.h"

struct section {
    sxt_size_section view;
    int64_t bytes;
};

struct sxt_size_sections {
    struct section *items;
    size_t count;
    sxt_size_section total;
};

/* While sections are collected. */
struct collecting {
    const struct sxt_size_info *info;
    sxt_size_sections *sections;
    struct sxt_strings keys; /* container and name; number N + 1 is section N */
    struct sxt_buffer key;
    bool *has_other; /* by container: has it symbols in the section .other? */
};

static bool collect(struct collecting *collecting);
static void fill_views(sxt_size_sections *sections);
static int compare(const void *left, const void *right);

int sxt_size_sections_make(const sxt_size_info *info, sxt_size_sections **out, sxt_error *error)
{
    *out = NULL;
    size_t most = info->segment_count + 1;
    for (size_t i = 0; i < info->container_count; i++)
        most += info->containers[i].sections != NULL ? info->containers[i].sections->count : 0;
    struct collecting collecting = {.info = info, .sections = calloc(1, sizeof *collecting.sections)};
    if (collecting.sections == NULL)
        return sxt_fail_memory(error, sizeof *collecting.sections);
    collecting.sections->items = calloc(most, sizeof *collecting.sections->items);
    collecting.has_other = calloc(info->container_count + 1, sizeof *collecting.has_other);
    sxt_buffer_init(&collecting.key, (size_t)64 << 20);
    int status = sxt_strings_init(&collecting.keys, 0, error);
    if (status == SXT_OK &&
        (collecting.sections->items == NULL || collecting.has_other == NULL || !collect(&collecting)))
        status = sxt_fail_memory(error, most * sizeof *collecting.sections->items);
    sxt_strings_free(&collecting.keys);
    sxt_buffer_free(&collecting.key);
    free(collecting.has_other);
    if (status == SXT_OK)
        fill_views(collecting.sections);
    else
        sxt_size_sections_free(&collecting.sections);
    *out = collecting.sections;
    return status;
}

void sxt_size_sections_free(sxt_size_sections **sections)
{
    if (*sections == NULL)
        return;
    free((*sections)->items);
    free(*sections);
    *sections = NULL;
}

size_t sxt_size_sections_count(const sxt_size_sections *sections)
{
    return sections->count;
}

int sxt_size_sections_get(const sxt_size_sections *sections, size_t index, sxt_size_section *out)
{
    if (index >= sections->count)
        return SXT_ERROR_USAGE;
    sxt_result_give(out, &sections->items[index].view, sizeof *out);
    return SXT_OK;
}

void sxt_size_sections_total(const sxt_size_sections *sections, sxt_size_section *out)
{
    sxt_result_give(out, &sections->total, sizeof sections->total);
}

/* --- collecting --- */

/* A size file does not state which sections are loaded; their names do. */
static bool is_loaded(sxt_string name)
{
    static const char *const not_loaded[] = {".debug",    ".zdebug",  ".comment", ".symtab", ".strtab",
                                             ".shstrtab", ".gnu_deb", ".stab",    ".dex",    ".pak",
                                             ".arsc",     ".other",   ".ARM.att", ".riscv."};
    for (size_t i = 0; i < sizeof not_loaded / sizeof *not_loaded; i++)
        if (sxt_string_begins(name, not_loaded[i]))
            return false;
    return true;
}

/* The section of that name in container NUMBER; NULL when memory is short. */
static struct section *section_of(struct collecting *collecting, uint32_t number, sxt_string name)
{
    sxt_size_sections *sections = collecting->sections;
    sxt_buffer_clear(&collecting->key);
    sxt_buffer_u32le(&collecting->key, number);
    sxt_buffer_append(&collecting->key, name.data, name.size);
    uint32_t found = collecting->key.failed
                         ? SXT_STRINGS_FULL
                         : sxt_strings_add(&collecting->keys, (char *)collecting->key.data, collecting->key.size);
    if (found == SXT_STRINGS_FULL)
        return NULL;
    if (found <= sections->count)
        return &sections->items[found - 1];
    struct section *added = &sections->items[sections->count++];
    added->view = (sxt_size_section){.container = collecting->info->containers[number].name,
                                     .name = name,
                                     .is_bss = sxt_size_is_bss(name),
                                     .is_loaded = is_loaded(name)};
    return added;
}

static bool is_other(sxt_string name)
{
    return sxt_string_equal(name, sxt_string_of(".other"));
}

/* A name with a bracket is a remark on a section: "  .tbss (bss)". */
static bool is_remark(sxt_string name)
{
    return name.size > 0 && memchr(name.data, '(', name.size) != NULL;
}

/* Sections that SuperSize has no letter for are in its ".other" already, where a container has that. */
static bool is_in_other(sxt_string name, bool has_other)
{
    struct sxt_size_segment segment = {.section = name};
    sxt_size_classify(&segment);
    return is_remark(name) || (segment.letter == 'o' && !is_other(name) && has_other);
}

static bool add_stated(struct collecting *collecting, uint32_t number)
{
    const struct sxt_size_container *container = &collecting->info->containers[number];
    if (container->sections == NULL)
        return true;
    bool has_other = collecting->has_other[number] || sxt_json_member(container->sections, ".other") != NULL;
    for (const struct sxt_json *one = container->sections->child; one != NULL; one = one->next) {
        struct section *section = section_of(collecting, number, one->key);
        if (section == NULL)
            return false;
        section->bytes = one->is_signed ? one->signed_value : 0;
        section->view.is_in_other = is_in_other(one->key, has_other);
    }
    return true;
}

static bool add_symbols(struct collecting *collecting, const struct sxt_size_segment *segment)
{
    struct section *section = section_of(collecting, segment->container, segment->section);
    double pss = 0;
    if (section == NULL)
        return false;
    for (size_t i = 0; i < segment->count; i++)
        pss += sxt_size_pss(collecting->info, &collecting->info->symbols[segment->first + i]);
    section->view.symbols += segment->count;
    if (section->bytes == 0 && pss > -9e18 && pss < 9e18)
        section->bytes = (int64_t)(pss + 0.5);
    return true;
}

static bool collect(struct collecting *collecting)
{
    const struct sxt_size_info *info = collecting->info;
    bool good = true;
    for (size_t i = 0; i < info->segment_count; i++)
        collecting->has_other[info->segments[i].container] |= is_other(info->segments[i].section);
    for (uint32_t i = 0; i < info->container_count && good; i++)
        good = add_stated(collecting, i);
    for (size_t i = 0; i < info->segment_count && good; i++)
        good = add_symbols(collecting, &info->segments[i]);
    return good;
}

/* --- the list --- */

/* Sizes come from files, so a sum may overflow; it is clamped. */
static void add_up(int64_t *sum, int64_t bytes)
{
    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = INT64_MAX;
}

static void fill_views(sxt_size_sections *sections)
{
    sxt_size_section *total = &sections->total;
    total->container = total->name = (sxt_string){"", 0};
    for (size_t i = 0; i < sections->count; i++) {
        sxt_size_section *view = &sections->items[i].view;
        int64_t bytes = sections->items[i].bytes;
        view->file = view->is_bss ? 0 : bytes;
        view->memory = view->is_loaded ? bytes : 0;
        total->symbols += view->symbols;
        if (!view->is_in_other)
            add_up(&total->file, view->file);
        if (!is_remark(view->name))
            add_up(&total->memory, view->memory);
    }
    if (sections->count > 1)
        qsort(sections->items, sections->count, sizeof *sections->items, compare);
}

static int compare(const void *left, const void *right)
{
    const struct section *a = left, *b = right;
    if (a->view.is_in_other != b->view.is_in_other)
        return a->view.is_in_other ? 1 : -1;
    if (a->view.is_bss != b->view.is_bss)
        return a->view.is_bss ? 1 : -1;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : sxt_string_compare(a->view.name, b->view.name);
}
