/*
 * query_filter.c: does an item, or a group, pass a filter?
 *
 * Paths, components, sections and containers are shared by many symbols, and are matched once each: the answers are
 * kept by their number. Names are derived only when a test asks for one, and once an item.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/string.h"
#include "size/query_private.h"

enum { UNKNOWN, NO, YES };

void sxt_filter_init(struct filter *filter, const struct sxt_size_query *query,
                     const struct sxt_size_query_subject *subject)
{
    memset(filter, 0, sizeof *filter);
    filter->query = query;
    filter->subject = subject;
    sxt_buffer_init(&filter->buffer, (size_t)64 << 20);
}

void sxt_filter_free(struct filter *filter)
{
    for (size_t i = 0; i < filter->query->node_count; i++)
        for (size_t side = 0; side < 2; side++)
            free(filter->answers[i][side]);
    sxt_buffer_free(&filter->buffer);
}

/* --- items --- */

const struct sxt_size_segment *sxt_size_query_segment(const struct sxt_size_query_item *item)
{
    return item->symbol != NULL ? &item->owner->segments[item->symbol->segment] : NULL;
}

sxt_string sxt_size_query_source(const struct sxt_size_query_item *item)
{
    return item->symbol != NULL ? item->owner->paths[item->symbol->path].source : (sxt_string){"", 0};
}

sxt_string sxt_size_query_object(const struct sxt_size_query_item *item)
{
    return item->symbol != NULL ? item->owner->paths[item->symbol->path].object : (sxt_string){"", 0};
}

sxt_string sxt_size_query_path(const struct sxt_size_query_item *item)
{
    sxt_string source = sxt_size_query_source(item);
    return source.size > 0 ? source : sxt_size_query_object(item);
}

sxt_string sxt_size_query_component(const struct sxt_size_query_item *item)
{
    if (item->symbol == NULL || item->symbol->component >= item->owner->component_count)
        return (sxt_string){"", 0};
    return item->owner->components[item->symbol->component];
}

bool sxt_size_query_is_literal(sxt_string full_name)
{
    return sxt_string_begins(full_name, "\"") || sxt_string_is(full_name, "string literal");
}

bool sxt_size_query_is_generated(const struct sxt_size_query_item *item)
{
    if (item->symbol == NULL)
        return false;
    sxt_string path = sxt_size_query_path(item);
    return (item->symbol->flags & SXT_SIZE_GENERATED) != 0 ||
           (path.size > 0 &&
            (memmem(path.data, path.size, ".pb.", 4) != NULL || memmem(path.data, path.size, ".mojom", 6) != NULL));
}

static const struct sxt_size_derived_names *names_of(struct filter *filter, const struct sxt_size_query_item *item)
{
    const struct sxt_size_segment *segment = sxt_size_query_segment(item);
    if (!filter->has_names && segment != NULL)
        sxt_size_derive_names(segment, item->full_name, &filter->buffer, &filter->names);
    else if (!filter->has_names)
        filter->names = (struct sxt_size_derived_names){item->full_name, item->full_name, item->full_name, 0};
    filter->has_names = true;
    return &filter->names;
}

/* The stored flags, and those that follow from the name: not every maker of files stores them. */
static uint32_t flags_of(struct filter *filter, const struct sxt_size_query_item *item)
{
    if (item->symbol == NULL)
        return 0;
    filter->has_names = false; /* they share the buffer */
    return item->symbol->flags | sxt_size_name_flags(sxt_size_query_segment(item), item->full_name, &filter->buffer);
}

/* The reference takes numbered closures of Go for clones. */
static bool is_clone(struct filter *filter, const struct sxt_size_query_item *item)
{
    if (names_of(filter, item)->flags & SXT_SIZE_CLONE)
        return true;
    const struct sxt_size_segment *segment = sxt_size_query_segment(item);
    return segment != NULL && (item->symbol->flags & SXT_SIZE_CLONE) != 0 &&
           (sxt_size_name_flags(segment, item->full_name, &filter->buffer) & SXT_SIZE_CLONE) == 0;
}

/* --- texts --- */

/* Section names may be given by SuperSize's letters, and several in a list: "section:t,.rodata". */
static bool is_in_section_list(sxt_string list, const struct sxt_size_query_item *item)
{
    const struct sxt_size_segment *segment = sxt_size_query_segment(item);
    for (size_t start = 0; start <= list.size;) {
        const char *comma = start < list.size ? memchr(list.data + start, ',', list.size - start) : NULL;
        size_t end = comma != NULL ? (size_t)(comma - list.data) : list.size;
        sxt_string one = {list.data + start, end - start};
        bool are_letters =
            one.size > 0 && one.data[0] != '.' && segment != NULL && strspn(one.data, "atrRdbxmpPo*") >= one.size;
        if (sxt_string_equal(one, item->section) ||
            (are_letters && memchr(one.data, segment->letter, one.size) != NULL))
            return true;
        start = end + 1;
    }
    return false;
}

static bool text_passes(const struct query_test *test, sxt_string text)
{
    switch (test->kind) {
    case TEST_EQUAL:
        return sxt_string_equal(text, test->text);
    case TEST_CONTAINS:
        return test->text.size == 0 ||
               (text.size > 0 && memmem(text.data, text.size, test->text.data, test->text.size) != NULL);
    case TEST_MATCHES:
        return sxt_size_query_matches(test->pattern, text);
    default:
        return false;
    }
}

/* The number by which an answer can be kept, and how many numbers there are; false when each item has its own. */
static bool find_number(const struct query_test *test, const struct sxt_size_query_item *item, size_t *number,
                        size_t *count)
{
    const struct sxt_size_info *owner = item->owner;
    if (item->symbol == NULL)
        return false;
    switch (test->field) {
    case FIELD_PATH:
    case FIELD_SOURCE:
    case FIELD_OBJECT:
        *number = item->symbol->path;
        *count = owner->path_count;
        return true;
    case FIELD_COMPONENT:
        *number = item->symbol->component;
        *count = owner->component_count;
        return *number < *count;
    case FIELD_SECTION:
    case FIELD_CONTAINER:
        *number = item->symbol->segment;
        *count = owner->segment_count;
        return true;
    default:
        return false;
    }
}

static bool shared_text_passes(const struct query_test *test, const struct sxt_size_query_item *item)
{
    switch (test->field) {
    case FIELD_PATH:
        return text_passes(test, sxt_size_query_source(item)) || text_passes(test, sxt_size_query_object(item));
    case FIELD_SOURCE:
        return text_passes(test, sxt_size_query_source(item));
    case FIELD_OBJECT:
        return text_passes(test, sxt_size_query_object(item));
    case FIELD_COMPONENT:
        return text_passes(test, sxt_size_query_component(item));
    case FIELD_CONTAINER:
        return text_passes(test, item->container);
    default:
        return test->kind == TEST_MATCHES ? text_passes(test, item->section) : is_in_section_list(test->text, item);
    }
}

static bool shared_passes(struct filter *filter, uint32_t node, const struct sxt_size_query_item *item)
{
    const struct query_test *test = &filter->query->nodes[node].test;
    size_t number, count;
    if (!find_number(test, item, &number, &count))
        return shared_text_passes(test, item);
    size_t side = filter->subject->delta != NULL && item->owner == filter->subject->delta->before ? 0 : 1;
    uint8_t **answers = &filter->answers[node][side];
    if (*answers == NULL && (*answers = calloc(count, 1)) == NULL) {
        filter->failed = true;
        return false;
    }
    if ((*answers)[number] == UNKNOWN)
        (*answers)[number] = shared_text_passes(test, item) ? YES : NO;
    return (*answers)[number] == YES;
}

static bool name_passes(struct filter *filter, const struct query_test *test, const struct sxt_size_query_item *item)
{
    switch (test->field) {
    case FIELD_FULL_NAME:
        return text_passes(test, item->full_name);
    case FIELD_TEMPLATE_NAME:
        return text_passes(test, names_of(filter, item)->template_name);
    case FIELD_NAMESPACE:
        return text_passes(test, sxt_group_namespace(item, names_of(filter, item)->name, 0));
    default:
        return text_passes(test, names_of(filter, item)->name);
    }
}

/* --- words --- */

static bool is_template(struct filter *filter, const struct sxt_size_query_item *item)
{
    const struct sxt_size_derived_names *names = names_of(filter, item);
    return !sxt_string_equal(names->template_name, names->name) &&
           memchr(names->name.data, '<', names->name.size) != NULL;
}

/* Made by the compiler or the linker, not in the source: "f.cold", "S [vtable]". */
static bool is_of_toolchain(struct filter *filter, const struct sxt_size_query_item *item)
{
    sxt_string name = names_of(filter, item)->name;
    const struct sxt_size_segment *segment = sxt_size_query_segment(item);
    if (segment == NULL || !segment->is_native || name.size == 0 || sxt_size_query_is_literal(name))
        return false;
    bool has_note = name.data[name.size - 1] == ']' && name.size > 1 && name.data[name.size - 2] != '[';
    return has_note || memchr(name.data, '.', name.size) != NULL;
}

static bool is_attributed(const struct sxt_size_query_item *item)
{
    return sxt_size_query_path(item).size > 0 || sxt_size_query_component(item).size > 0;
}

static bool is(struct filter *filter, enum is_bit bit, const struct sxt_size_query_item *item)
{
    const struct sxt_size_segment *segment = sxt_size_query_segment(item);
    sxt_string name = item->full_name;
    switch (bit) {
    case IS_TEMPLATE:
        return is_template(filter, item);
    case IS_OVERHEAD:
        return sxt_string_begins(name, "Overhead: ");
    case IS_PADDING_ONLY:
        return item->size == item->padding;
    case IS_LITERAL:
        return sxt_size_query_is_literal(name);
    case IS_GENERATED:
        return sxt_size_query_is_generated(item);
    case IS_PLACEHOLDER:
        return sxt_string_begins(name, "**");
    case IS_BSS:
        return item->is_bss;
    case IS_NATIVE:
        return segment != NULL && segment->is_native;
    case IS_DEX:
        return segment != NULL && segment->is_dex;
    case IS_PAK:
        return segment != NULL && segment->is_pak;
    case IS_ALIASED:
        return item->aliases > 1;
    case IS_TOOLCHAIN:
        return is_of_toolchain(filter, item);
    case IS_ON_DEMAND:
        return item->container.size > 0 && item->container.data[item->container.size - 1] == '?';
    case IS_CLONE:
        return is_clone(filter, item);
    case IS_ATTRIBUTED:
        return is_attributed(item);
    }
    return false;
}

static bool has_disassembly(const struct sxt_size_query_item *item)
{
    if (item->symbol == NULL)
        return false;
    uint32_t wanted = (uint32_t)(item->symbol - item->owner->symbols);
    size_t low = SXT_SEARCH_FROM(item->owner->disassemblies, item->owner->disassembly_count, symbol, wanted);
    return low < item->owner->disassembly_count && item->owner->disassemblies[low].symbol == wanted;
}

static bool has(struct filter *filter, enum has_bit bit, const struct sxt_size_query_item *item)
{
    switch (bit) {
    case HAS_PATH:
        return sxt_size_query_path(item).size > 0;
    case HAS_SOURCE:
        return sxt_size_query_source(item).size > 0;
    case HAS_OBJECT:
        return sxt_size_query_object(item).size > 0;
    case HAS_COMPONENT:
        return sxt_size_query_component(item).size > 0;
    case HAS_ADDRESS:
        return item->symbol != NULL && item->symbol->address != 0;
    case HAS_PADDING:
        return item->padding != 0;
    case HAS_FLAGS:
        return flags_of(filter, item) != 0;
    case HAS_DISASSEMBLY:
        return has_disassembly(item);
    }
    return false;
}

static bool words_pass(struct filter *filter, const struct query_test *test, const struct sxt_size_query_item *item)
{
    if (test->field == FIELD_FLAGS)
        return (flags_of(filter, item) & test->bits) != 0;
    if (test->field == FIELD_STATUS)
        return (1U << item->status & test->bits) != 0;
    for (uint32_t bits = test->bits; bits != 0; bits &= bits - 1) {
        uint32_t bit = bits & -bits;
        if (test->field == FIELD_IS ? is(filter, bit, item) : has(filter, bit, item))
            return true;
    }
    return false;
}

/* --- numbers --- */

static bool address_passes(const struct query_test *test, const struct sxt_size_query_item *item)
{
    if (item->symbol == NULL)
        return false;
    uint64_t address = item->symbol->address;
    if (!test->is_inside)
        return address >= test->first && address <= test->last;
    uint64_t bytes = (uint64_t)item->symbol->size - (uint64_t)item->symbol->padding;
    return test->first == address || (test->first > address && test->first - address < bytes && (int64_t)bytes > 0);
}

static bool is_in_range(const struct query_test *test, double value)
{
    if (test->is_open)
        return value > test->low && value < test->high;
    return value >= test->low && value <= test->high;
}

static double number_of(enum query_field field, double size, double pss, double padding, double other)
{
    switch (field) {
    case FIELD_SIZE:
        return size;
    case FIELD_PSS:
        return pss;
    case FIELD_PADDING:
        return padding;
    case FIELD_CHANGE:
        return fabs(pss);
    default:
        return other;
    }
}

static bool test_passes(struct filter *filter, uint32_t node, const struct sxt_size_query_item *item)
{
    const struct query_test *test = &filter->query->nodes[node].test;
    switch (test->field) {
    case FIELD_SECTION:
    case FIELD_CONTAINER:
    case FIELD_COMPONENT:
    case FIELD_PATH:
    case FIELD_SOURCE:
    case FIELD_OBJECT:
        return shared_passes(filter, node, item);
    case FIELD_FULL_NAME:
    case FIELD_TEMPLATE_NAME:
    case FIELD_NAME:
    case FIELD_NAMESPACE:
        return name_passes(filter, test, item);
    case FIELD_FLAGS:
    case FIELD_STATUS:
    case FIELD_IS:
    case FIELD_HAS:
        return words_pass(filter, test, item);
    case FIELD_ADDRESS:
        return address_passes(test, item);
    default:
        break;
    }
    double value = number_of(test->field, (double)item->size, item->pss, (double)item->padding, item->aliases);
    return is_in_range(test, value);
}

/* As deep as the query is long at most, which is bounded. */
static bool node_passes(struct filter *filter, uint32_t number, const struct sxt_size_query_item *item)
{
    const struct query_node *node = &filter->query->nodes[number];
    switch (node->kind) {
    case NODE_AND:
        return node_passes(filter, node->left, item) && node_passes(filter, node->right, item);
    case NODE_OR:
        return node_passes(filter, node->left, item) || node_passes(filter, node->right, item);
    case NODE_NOT:
        return !node_passes(filter, node->left, item);
    default:
        return test_passes(filter, number, item);
    }
}

bool sxt_filter_item(struct filter *filter, const struct sxt_size_query_item *item)
{
    filter->has_names = false;
    if (filter->subject->delta != NULL && !filter->query->asks_for_status && item->status == SXT_SIZE_UNCHANGED)
        return false;
    return filter->query->items_filter == NO_NODE || node_passes(filter, filter->query->items_filter, item);
}

/* --- groups --- */

static bool group_passes(const struct sxt_size_query *query, uint32_t number, const struct sxt_size_result_row *row,
                         sxt_string label)
{
    const struct query_node *node = &query->nodes[number];
    const struct query_test *test = &node->test;
    switch (node->kind) {
    case NODE_AND:
        return group_passes(query, node->left, row, label) && group_passes(query, node->right, row, label);
    case NODE_OR:
        return group_passes(query, node->left, row, label) || group_passes(query, node->right, row, label);
    case NODE_NOT:
        return !group_passes(query, node->left, row, label);
    default:
        break;
    }
    if (test->field == FIELD_NAME)
        return text_passes(test, label);
    if (test->field == FIELD_STATUS)
        return (1U << row->status & test->bits) != 0;
    double value = number_of(test->field, (double)row->size, row->pss, (double)row->padding, (double)row->count);
    return is_in_range(test, value);
}

bool sxt_filter_group(struct filter *filter, const struct sxt_size_result_row *row, sxt_string label)
{
    return filter->query->groups_filter == NO_NODE ||
           group_passes(filter->query, filter->query->groups_filter, row, label);
}
