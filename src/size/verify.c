/*
 * verify.c: what is wrong in a .size or .sizediff file. A file that cannot be read has one problem, which is where
 * reading ended. One that can be read is compared with what the reference writes: lists sorted and without repetition,
 * symbols in their order, and the symbols of each section summing up to its size.
 *
 * Offsets are those of the inflated text; of a .sizediff, of that half which the message names.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/problems.h"
#include "base/utf8.h"
#include "size/private.h"

#define KNOWN_FLAGS 2047
#define SHOWN       60
#define NEAR        (64 << 10)

struct check {
    struct sxt_problems *problems;
    const struct sxt_size_info *size;
    const char *where; /* "before: ", "after: " or "" */
};

static void check_half(const struct sxt_size_info *size, const char *where, struct sxt_problems *problems);
static void check_lists(const struct check *check);
static void check_unused(const struct check *check);
static void check_containers(const struct check *check);
static void check_segments(const struct check *check);
static void check_symbols(const struct check *check);
static void check_sums(const struct check *check);

uint64_t sxt_size_verify(const uint8_t *data, size_t size, const struct sxt_size_limits *limits,
                         void (*problem)(void *data, const sxt_problem *problem), void *data_of_problem)
{
    struct sxt_problems problems = {problem, data_of_problem, 0};
    sxt_error error;
    if (sxt_sizediff_is(data, size)) {
        struct sxt_sizediff diff;
        if (sxt_sizediff_open(data, size, limits, &diff, &error) != SXT_OK) {
            sxt_problems_add_error(&problems, "unreadable", &error);
            return problems.count;
        }
        check_half(diff.before, "before: ", &problems);
        check_half(diff.after, "after: ", &problems);
        sxt_sizediff_free(&diff);
        return problems.count;
    }
    struct sxt_size_info *whole;
    if (sxt_size_open(data, size, limits, &whole, &error) != SXT_OK) {
        sxt_problems_add_error(&problems, "unreadable", &error);
        return problems.count;
    }
    check_half(whole, "", &problems);
    sxt_size_info_free(&whole);
    return problems.count;
}

static void check_half(const struct sxt_size_info *size, const char *where, struct sxt_problems *problems)
{
    struct check check = {problems, size, where};
    if (*where != '\0' && !size->is_sparse)
        sxt_problems_add(problems, 0, "half-not-sparse", "%spaddings are not stored", where);
    check_lists(&check);
    check_unused(&check);
    check_containers(&check);
    check_segments(&check);
    check_symbols(&check);
    if (!size->is_sparse)
        check_sums(&check);
}

static uint64_t offset_of(const struct check *check, const char *at)
{
    return (uint64_t)(at - (const char *)check->size->text);
}

static uint64_t offset_of_symbol(const struct check *check, size_t index)
{
    return offset_of(check, check->size->symbols[index].full_name);
}

/* Text that the reference would not write, or that a terminal would take for a command. */
static bool is_unprintable(sxt_string text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            return true;
    return sxt_utf8_valid(text.data, text.size) != text.size;
}

/* --- lists --- */

static void check_order(const struct check *check, const char *list, size_t index, int order, const char *at)
{
    if (order == 0)
        sxt_problems_add(check->problems, offset_of(check, at), "list-duplicate", "%s%s %zu occurs twice", check->where,
                         list, index);
    else if (order > 0)
        sxt_problems_add(check->problems, offset_of(check, at), "list-order",
                         "%s%s %zu is out of order: less than the previous one", check->where, list, index);
}

static void check_text(const struct check *check, const char *list, size_t index, sxt_string text)
{
    if (is_unprintable(text))
        sxt_problems_add(check->problems, offset_of(check, text.data), "text",
                         "%s%s %zu has control characters, or is not UTF-8", check->where, list, index);
}

static void check_lists(const struct check *check)
{
    const struct sxt_size_info *size = check->size;
    for (size_t i = 0; i < size->path_count; i++) {
        const struct sxt_size_path *path = &size->paths[i];
        if (i > 0)
            check_order(check, "path", i, sxt_size_compare_paths(path - 1, path), path->object.data);
        check_text(check, "object path", i, path->object);
        check_text(check, "source path", i, path->source);
    }
    for (size_t i = 0; size->has_components && i < size->component_count; i++) {
        const sxt_string *component = &size->components[i];
        if (i > 0)
            check_order(check, "component", i, sxt_string_compare(component[-1], *component), component->data);
        check_text(check, "component", i, *component);
    }
}

static void check_unused(const struct check *check)
{
    const struct sxt_size_info *size = check->size;
    bool *paths = calloc(size->path_count + 1, sizeof *paths);
    bool *components = calloc(size->component_count + 1, sizeof *components);
    bool good = paths != NULL && components != NULL;
    for (size_t i = 0; good && i < size->symbol_count; i++) {
        paths[size->symbols[i].path] = true;
        components[size->symbols[i].component] = true;
    }
    for (size_t i = 0; good && i < size->path_count; i++)
        if (!paths[i])
            sxt_problems_add(check->problems, offset_of(check, size->paths[i].object.data), "list-unused",
                             "%sno symbol has path %zu", check->where, i);
    for (size_t i = 0; good && size->has_components && i < size->component_count; i++)
        if (!components[i])
            sxt_problems_add(check->problems, offset_of(check, size->components[i].data), "list-unused",
                             "%sno symbol has component %zu", check->where, i);
    free(paths);
    free(components);
}

static int by_name(const void *a, const void *b)
{
    return sxt_string_compare(*(const sxt_string *)a, *(const sxt_string *)b);
}

static void check_containers(const struct check *check)
{
    const struct sxt_size_info *size = check->size;
    sxt_string *names = calloc(size->container_count, sizeof *names);
    if (names == NULL)
        return;
    for (size_t i = 0; i < size->container_count; i++)
        names[i] = size->containers[i].name;
    qsort(names, size->container_count, sizeof *names, by_name);
    for (size_t i = 1; i < size->container_count; i++)
        if (sxt_string_equal(names[i - 1], names[i]))
            sxt_problems_add(check->problems, 0, "container-name", "%stwo containers are named '%.*s'", check->where,
                             (int)(names[i].size < SHOWN ? names[i].size : SHOWN), names[i].data);
    free(names);
}

/* --- segments and symbols --- */

static void check_segments(const struct check *check)
{
    const struct sxt_size_info *size = check->size;
    uint32_t *seen = calloc(size->container_count, sizeof *seen);
    for (size_t i = 0; i < size->segment_count && seen != NULL; i++) {
        const struct sxt_size_segment *segment = &size->segments[i];
        int number = sxt_size_section_number(segment->section);
        uint64_t offset = offset_of(check, segment->section.data);
        int shown = (int)(segment->section.size < SHOWN ? segment->section.size : SHOWN);
        if (number < 0)
            sxt_problems_add(check->problems, offset, "segment-unknown", "%snot a section that SuperSize knows: '%.*s'",
                             check->where, shown, segment->section.data);
        else if ((seen[segment->container] >> number & 1) != 0)
            sxt_problems_add(check->problems, offset, "segment-repeated", "%s%.*s has more than one segment",
                             check->where, shown, segment->section.data);
        else
            seen[segment->container] |= (uint32_t)1 << number;
    }
    free(seen);
}

/* Aliases are several names for the same bytes. */
static void check_aliases(const struct check *check, size_t index)
{
    const struct sxt_size_model_symbol *symbol = &check->size->symbols[index], *before = symbol - 1;
    if (symbol->address != before->address || sxt_size_stored_size(symbol) != sxt_size_stored_size(before))
        sxt_problems_add(check->problems, offset_of_symbol(check, index), "alias-differs",
                         "%ssymbol %zu has another address or size than its alias before it", check->where, index);
}

/* In a file that is not sparse: what follows from the symbol before. */
static void check_neighbour(const struct check *check, size_t index, bool is_alias)
{
    const struct sxt_size_info *size = check->size;
    const struct sxt_size_model_symbol *symbol = &size->symbols[index], *before = symbol - 1;
    int64_t padding;
    if (symbol->segment != before->segment)
        return;
    if (sxt_size_compare_symbols(size, before, symbol) > 0)
        sxt_problems_add(check->problems, offset_of_symbol(check, index), "symbol-order",
                         "%ssymbol %zu is out of order: it belongs before the previous one", check->where, index);
    else if (!is_alias && !sxt_size_is_overhead(symbol) && !sxt_size_find_padding(size, before, symbol, &padding))
        sxt_problems_add(check->problems, offset_of_symbol(check, index), "symbol-overlap",
                         "%ssymbol %zu has the address of the one before it, or is covered by it", check->where, index);
}

static void check_symbols(const struct check *check)
{
    const struct sxt_size_info *size = check->size;
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        bool is_alias = i > 0 && symbol->group != 0 && symbol->group == symbol[-1].group;
        if (is_alias)
            check_aliases(check, i);
        if (!size->is_sparse && i > 0)
            check_neighbour(check, i, is_alias);
        if (symbol->flags > KNOWN_FLAGS)
            sxt_problems_add(check->problems, offset_of_symbol(check, i), "symbol-flags",
                             "%ssymbol %zu has unknown flags: %x", check->where, i, symbol->flags);
        check_text(check, "name", i, sxt_size_full_name(symbol));
    }
}

/* --- sums --- */

struct sums {
    long double symbols[SXT_SIZE_SECTIONS];  /* proportional sizes */
    long double sections[SXT_SIZE_SECTIONS]; /* as section_sizes has them */
    bool has_symbols[SXT_SIZE_SECTIONS], has_section[SXT_SIZE_SECTIONS];
    long double overhead; /* of symbols in .other */
    long double unknown;  /* sections that are counted in .other */
};

static void sum_segment(const struct sxt_size_info *size, const struct sxt_size_segment *segment, struct sums *sums)
{
    int number = sxt_size_section_number(segment->section);
    bool is_other = number < 0 || sxt_string_is(segment->section, ".other");
    for (size_t i = segment->first; i < segment->first + segment->count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        long double share = (long double)symbol->size / sxt_size_alias_count(size, symbol);
        if (number >= 0)
            sums->symbols[number] += share;
        if (is_other && sxt_size_is_overhead(symbol))
            sums->overhead += share;
    }
    if (number >= 0)
        sums->has_symbols[number] = true;
}

/* Sizes with a parenthesis in their key are not of sections. */
static void sum_sections(const struct sxt_json *sections, struct sums *sums)
{
    const struct sxt_json *section = sections == NULL ? NULL : sections->child;
    for (; section != NULL; section = section->next) {
        int number = sxt_size_section_number(section->key);
        if (number >= 0) {
            sums->sections[number] = section->number;
            sums->has_section[number] = true;
        } else if (memchr(section->key.data, '(', section->key.size) == NULL) {
            sums->unknown += section->number;
        }
    }
}

/* The numbers of the header are read as double, which has 53 bits. */
static bool differ(long double a, long double b)
{
    return fabsl(a - b) >= 0.5L + fabsl(b) * 0x1p-50L;
}

/* Where the size of a section is in the header, from AT on; AT itself when it is not near. */
static const char *find_key(const struct sxt_size_info *size, const char *at, sxt_string key)
{
    size_t left = (size_t)((const char *)size->text + size->text_size - at);
    const char *end = at + (left < NEAR ? left : NEAR);
    const char *found = at;
    while ((found = memmem(found, (size_t)(end - found), key.data, key.size)) != NULL) {
        if (found > at && found[-1] == '"' && found + key.size < end && found[key.size] == '"')
            return found;
        found++;
    }
    return at;
}

static void report_sum(const struct check *check, const char *at, sxt_string name, long double symbols,
                       long double section)
{
    sxt_problems_add(check->problems, offset_of(check, find_key(check->size, at, name)), "section-sum",
                     "%sthe symbols of %.*s sum up to %.1Lf bytes, but it has %.0Lf", check->where, (int)name.size,
                     name.data, symbols, section);
}

/* .other has the symbols of all other sections; its size may or may not include the overhead of the file. */
static bool other_differs(const struct sums *sums, int number)
{
    long double total = sums->symbols[number], own = sums->sections[number];
    const long double accepted[] = {own, own + sums->unknown, own + sums->overhead,
                                    own + sums->unknown + sums->overhead};
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++)
        if (!differ(total, accepted[i]))
            return false;
    return true;
}

static void compare_sums(const struct check *check, const struct sums *sums, const char *at)
{
    for (int number = 0; number < SXT_SIZE_SECTIONS; number++) {
        sxt_string name = sxt_size_section_name(number);
        if (sxt_size_is_bss(name) || (!sums->has_section[number] && !sums->has_symbols[number]))
            continue;
        bool is_other = sxt_string_is(name, ".other");
        if (is_other ? other_differs(sums, number) : differ(sums->symbols[number], sums->sections[number]))
            report_sum(check, at, name, sums->symbols[number], sums->sections[number]);
    }
}

static void check_sums(const struct check *check)
{
    const struct sxt_size_info *size = check->size;
    /* The segments of each container, as lists: numbers plus 1. */
    uint32_t *first = calloc(size->container_count, sizeof *first);
    uint32_t *next = calloc(size->segment_count + 1, sizeof *next);
    for (size_t i = size->segment_count; first != NULL && next != NULL && i-- > 0;) {
        next[i] = first[size->segments[i].container];
        first[size->segments[i].container] = (uint32_t)i + 1;
    }
    const char *at = (const char *)size->text;
    for (size_t i = 0; first != NULL && next != NULL && i < size->container_count; i++) {
        struct sums sums = {0};
        for (uint32_t segment = first[i]; segment != 0; segment = next[segment - 1])
            sum_segment(size, &size->segments[segment - 1], &sums);
        sum_sections(size->containers[i].sections, &sums);
        at = find_key(size, at, sxt_string_of("section_sizes"));
        compare_sums(check, &sums, at);
    }
    free(first);
    free(next);
}
