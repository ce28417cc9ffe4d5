/*
 * group.c: puts items into groups.
 *
 * The key of a group is the numbers of its labels; a table of these keys numbers the groups. Aliases are next to each
 * other, so remembering the last list of aliases of a group is enough to count each list once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "size/query_private.h"

int sxt_groups_init(struct groups *groups, const struct sxt_size_query *query,
                    const struct sxt_size_query_subject *subject, struct sxt_strings *texts, sxt_error *error)
{
    *groups = (struct groups){.query = query, .subject = subject, .texts = texts};
    sxt_buffer_init(&groups->buffer, (size_t)64 << 20);
    sxt_buffer_init(&groups->names_buffer, (size_t)64 << 20);
    return sxt_strings_init(&groups->keys, 0, error);
}

void sxt_groups_free(struct groups *groups)
{
    sxt_strings_free(&groups->keys);
    sxt_buffer_free(&groups->buffer);
    sxt_buffer_free(&groups->names_buffer);
    free(groups->sums);
    groups->sums = NULL;
}

/* --- sums --- */

void sxt_group_start_sum(struct group_sum *sum)
{
    *sum = (struct group_sum){.row = {.item = SXT_SIZE_NONE}};
}

/* Sizes come from files, so a sum may overflow; it is clamped. */
static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

void sxt_group_add_to_sum(struct group_sum *sum, const struct sxt_size_query_item *item, size_t index)
{
    struct sxt_size_result_row *row = &sum->row;
    if (row->item == SXT_SIZE_NONE) {
        row->item = (uint32_t)index;
        row->status = item->status;
    } else if (row->status != item->status) {
        row->status = SXT_SIZE_CHANGED;
    }
    /* In a diff each alias has its own change. */
    bool is_on_its_own = item->symbol == NULL || item->symbol->group == 0 || item->status != SXT_SIZE_UNCHANGED;
    bool is_known = !is_on_its_own && sum->last_aliases == item->symbol->group;
    sum->last_aliases = is_on_its_own ? 0 : item->symbol->group;
    int64_t size = is_known ? 0 : item->size, padding = is_known ? 0 : item->padding;
    row->count++;
    if (item->is_bss) {
        sum->bss_pss += item->pss;
        sum->bss_size = add_clamped(sum->bss_size, size);
        sum->bss_padding = add_clamped(sum->bss_padding, padding);
        sum->bss_count++;
    } else {
        row->pss += item->pss;
        row->size = add_clamped(row->size, size);
        row->padding = add_clamped(row->padding, padding);
    }
}

struct sxt_size_result_row sxt_group_finish_sum(const struct group_sum *sum)
{
    struct sxt_size_result_row row = sum->row;
    if (sum->bss_count == row.count) {
        row.pss = sum->bss_pss;
        row.size = sum->bss_size;
        row.padding = sum->bss_padding;
    }
    return row;
}

/* --- groups --- */

/* The number of the label, or SXT_STRINGS_FULL. *DROPPED when the item is to be left out. */
static uint32_t label_number(struct groups *groups, const struct group_key *key, const struct sxt_size_query_item *item,
                             const struct sxt_size_derived_names *names, bool *dropped)
{
    const struct sxt_size_query *query = groups->query;
    sxt_string label = sxt_group_label(key, item, names, &groups->buffer);
    if (label.size == 0 && query->drops_nameless)
        *dropped = true;
    if (label.size == 0 && query->otherwise.data != NULL)
        label = query->otherwise;
    else if (label.size == 0 && !(key->kind == KEY_CONTAINER && item->owner->container_count <= 1))
        label = (sxt_string){sxt_group_nameless(key), strlen(sxt_group_nameless(key))};
    return sxt_strings_add(groups->texts, label.data, label.size);
}

static bool derive_names(struct groups *groups, const struct sxt_size_query_item *item,
                         struct sxt_size_derived_names *names)
{
    bool needed = false;
    for (size_t i = 0; i < groups->query->key_count; i++)
        needed |= sxt_group_needs_names(&groups->query->keys[i]);
    *names = (struct sxt_size_derived_names){item->full_name, item->full_name, item->full_name, 0};
    if (needed && item->symbol != NULL)
        sxt_size_derive_names(sxt_size_query_segment(item), item->full_name, &groups->names_buffer, names);
    return !groups->names_buffer.failed;
}

static struct group_sum *find_sum(struct groups *groups, const uint32_t labels[SXT_SIZE_QUERY_KEYS])
{
    uint32_t number = sxt_strings_add(&groups->keys, (const char *)labels, SXT_SIZE_QUERY_KEYS * sizeof *labels);
    if (number == SXT_STRINGS_FULL)
        return NULL;
    if (number <= groups->count)
        return &groups->sums[number - 1];
    struct group_sum *moved = sxt_array_grow(groups->sums, &groups->capacity, groups->count + 1, sizeof *moved);
    if (moved == NULL)
        return NULL;
    groups->sums = moved;
    struct group_sum *sum = &groups->sums[groups->count++];
    sxt_group_start_sum(sum);
    memcpy(sum->row.labels, labels, SXT_SIZE_QUERY_KEYS * sizeof *labels);
    return sum;
}

int sxt_groups_add(struct groups *groups, const struct sxt_size_query_item *item, size_t index, sxt_error *error)
{
    uint32_t labels[SXT_SIZE_QUERY_KEYS] = {0};
    struct sxt_size_derived_names names;
    bool dropped = false;
    if (!derive_names(groups, item, &names))
        return sxt_fail_memory(error, groups->names_buffer.size);
    for (size_t i = 0; i < groups->query->key_count && !dropped; i++) {
        labels[i] = label_number(groups, &groups->query->keys[i], item, &names, &dropped);
        if (labels[i] == SXT_STRINGS_FULL)
            return sxt_fail_memory(error, groups->texts->bytes);
    }
    if (dropped)
        return SXT_OK;
    struct group_sum *sum = find_sum(groups, labels);
    if (sum == NULL)
        return sxt_fail_memory(error, groups->capacity * sizeof *sum);
    sxt_group_add_to_sum(sum, item, index);
    return SXT_OK;
}
