/*
 * diff_pairs.c: pairs of symbols of two builds. Four passes match them by looser and looser keys; what is left was
 * added or removed. The padding of a matched symbol depends on its neighbours, so it is left out of the pair and added
 * up for the section.
 */
#include "size/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/strings.h"

/* Padding by container and section of what was before. */
struct paddings {
    struct sxt_strings keys; /* in order of first use; number 0 is not used */
    uint32_t *of_segment;    /* by segment of what was before: number of its key, or 0 */
    double *sums;            /* by number */
    uint32_t *segments;      /* by number: one that has this key */
    struct sxt_buffer text;
};

static int match_all(struct sxt_size_delta *delta, unsigned threads, sxt_error *error);
static int list_all(struct sxt_size_list *list, const struct sxt_size_info *size, sxt_error *error);
static void add_pairs_of_one(struct sxt_size_delta *delta, const struct sxt_size_list *list, uint8_t status);
static void set_statuses(struct sxt_size_delta *delta, bool ignore_alias_only);
static int sum_paddings(struct sxt_size_delta *delta, sxt_error *error);
static int add_padding(struct paddings *paddings, const struct sxt_size_delta *delta, const struct sxt_size_pair *pair,
                       sxt_error *error);
static int keep_paddings(struct sxt_size_delta *delta, const struct paddings *paddings, sxt_error *error);

int sxt_size_delta_make(const struct sxt_size_info *before, const struct sxt_size_info *after, bool ignore_alias_only,
                        unsigned threads, struct sxt_size_delta *out, sxt_error *error)
{
    *out = (struct sxt_size_delta){.before = before, .after = after};
    if (before->symbol_count >= SXT_SIZE_NONE - 1 || after->symbol_count >= SXT_SIZE_NONE - 1)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "too many symbols to compare");
    int status = match_all(out, threads, error);
    if (status == SXT_OK) {
        set_statuses(out, ignore_alias_only);
        /* The padding of a sparse file was summed up when the file was made. */
        if (!(before->is_sparse && after->is_sparse))
            status = sum_paddings(out, error);
    }
    if (status != SXT_OK)
        sxt_size_delta_free(out);
    return status;
}

void sxt_size_delta_free(struct sxt_size_delta *delta)
{
    free(delta->pairs);
    free(delta->paddings);
    *delta = (struct sxt_size_delta){.before = NULL};
}

static int match_all(struct sxt_size_delta *delta, unsigned threads, sxt_error *error)
{
    struct sxt_size_side sides[2] = {{0}, {0}};
    struct sxt_size_list before = {0}, after = {0};
    delta->pairs = malloc((delta->before->symbol_count + delta->after->symbol_count + 1) * sizeof *delta->pairs);
    int status = delta->pairs == NULL ? sxt_fail_memory(error, delta->before->symbol_count * sizeof *delta->pairs)
                                      : sxt_size_sides_open(sides, delta->before, delta->after, error);
    if (status == SXT_OK)
        status = list_all(&before, delta->before, error);
    if (status == SXT_OK)
        status = list_all(&after, delta->after, error);
    for (unsigned pass = 1; pass <= SXT_SIZE_PASSES && status == SXT_OK; pass++)
        status = sxt_size_match(sides, pass, threads, &before, &after, delta->pairs, &delta->pair_count, error);
    if (status == SXT_OK) {
        add_pairs_of_one(delta, &after, SXT_SIZE_ADDED);
        add_pairs_of_one(delta, &before, SXT_SIZE_REMOVED);
    }
    free(before.items);
    free(after.items);
    sxt_size_sides_close(sides);
    return status;
}

static int list_all(struct sxt_size_list *list, const struct sxt_size_info *size, sxt_error *error)
{
    list->items = malloc((size->symbol_count + 1) * sizeof *list->items);
    if (list->items == NULL)
        return sxt_fail_memory(error, size->symbol_count * sizeof *list->items);
    list->count = size->symbol_count;
    for (size_t i = 0; i < list->count; i++)
        list->items[i] = (uint32_t)i;
    return SXT_OK;
}

static void add_pairs_of_one(struct sxt_size_delta *delta, const struct sxt_size_list *list, uint8_t status)
{
    for (size_t i = 0; i < list->count; i++)
        delta->pairs[delta->pair_count++] =
            (struct sxt_size_pair){.before = status == SXT_SIZE_ADDED ? SXT_SIZE_NONE : list->items[i],
                                   .after = status == SXT_SIZE_ADDED ? list->items[i] : SXT_SIZE_NONE,
                                   .status = status};
}

static void set_statuses(struct sxt_size_delta *delta, bool ignore_alias_only)
{
    for (size_t i = 0; i < delta->pair_count; i++) {
        struct sxt_size_pair *pair = &delta->pairs[i];
        if (pair->before != SXT_SIZE_NONE && pair->after != SXT_SIZE_NONE) {
            bool is_changed =
                sxt_size_pair_size(delta, pair) != 0 || (!ignore_alias_only && sxt_size_pair_pss(delta, pair) != 0);
            pair->status = is_changed ? SXT_SIZE_CHANGED : SXT_SIZE_UNCHANGED;
        }
        delta->counts[pair->status]++;
    }
}

/* A symbol that is padding and nothing else: then padding is what is compared. */
static bool is_padding(const struct sxt_size_model_symbol *before)
{
    return sxt_size_without_padding(before) == 0;
}

int64_t sxt_size_pair_size(const struct sxt_size_delta *delta, const struct sxt_size_pair *pair)
{
    if (pair->after == SXT_SIZE_NONE)
        return sxt_size_difference(0, delta->before->symbols[pair->before].size);
    const struct sxt_size_model_symbol *after = &delta->after->symbols[pair->after];
    if (pair->before == SXT_SIZE_NONE)
        return after->size;
    const struct sxt_size_model_symbol *before = &delta->before->symbols[pair->before];
    if (is_padding(before))
        return sxt_size_difference(after->padding, before->padding);
    return sxt_size_difference(sxt_size_without_padding(after), sxt_size_without_padding(before));
}

double sxt_size_pair_pss(const struct sxt_size_delta *delta, const struct sxt_size_pair *pair)
{
    if (pair->after == SXT_SIZE_NONE)
        return -sxt_size_pss(delta->before, &delta->before->symbols[pair->before]);
    const struct sxt_size_model_symbol *after = &delta->after->symbols[pair->after];
    if (pair->before == SXT_SIZE_NONE)
        return sxt_size_pss(delta->after, after);
    const struct sxt_size_model_symbol *before = &delta->before->symbols[pair->before];
    if (is_padding(before))
        return sxt_size_pss(delta->after, after) - sxt_size_pss(delta->before, before);
    return (double)sxt_size_without_padding(after) / sxt_size_alias_count(delta->after, after) -
           (double)sxt_size_without_padding(before) / sxt_size_alias_count(delta->before, before);
}

static int sum_paddings(struct sxt_size_delta *delta, sxt_error *error)
{
    size_t segments = delta->before->segment_count;
    struct paddings paddings = {.of_segment = calloc(segments + 1, sizeof *paddings.of_segment),
                                .sums = calloc(segments + 1, sizeof *paddings.sums),
                                .segments = calloc(segments + 1, sizeof *paddings.segments)};
    sxt_buffer_init(&paddings.text, SIZE_MAX);
    int status = sxt_strings_init(&paddings.keys, 0, error);
    bool has_keys = status == SXT_OK;
    if (paddings.of_segment == NULL || paddings.sums == NULL || paddings.segments == NULL)
        status = sxt_fail_memory(error, segments * sizeof *paddings.sums);
    for (size_t i = 0; i < delta->pair_count && status == SXT_OK; i++) {
        if (delta->pairs[i].status == SXT_SIZE_ADDED || delta->pairs[i].status == SXT_SIZE_REMOVED)
            break;
        status = add_padding(&paddings, delta, &delta->pairs[i], error);
    }
    if (status == SXT_OK)
        status = keep_paddings(delta, &paddings, error);
    if (has_keys)
        sxt_strings_free(&paddings.keys);
    sxt_buffer_free(&paddings.text);
    free(paddings.of_segment);
    free(paddings.sums);
    free(paddings.segments);
    return status;
}

static int add_padding(struct paddings *paddings, const struct sxt_size_delta *delta, const struct sxt_size_pair *pair,
                       sxt_error *error)
{
    const struct sxt_size_model_symbol *before = &delta->before->symbols[pair->before];
    const struct sxt_size_model_symbol *after = &delta->after->symbols[pair->after];
    if (is_padding(before))
        return SXT_OK;
    uint32_t *number = &paddings->of_segment[before->segment];
    if (*number == 0) {
        const struct sxt_size_segment *segment = &delta->before->segments[before->segment];
        sxt_string container = delta->before->containers[segment->container].name;
        sxt_buffer_clear(&paddings->text);
        sxt_buffer_print(&paddings->text, "%zu ", container.size);
        sxt_buffer_append(&paddings->text, container.data, container.size);
        sxt_buffer_append(&paddings->text, segment->section.data, segment->section.size);
        *number = paddings->text.failed
                      ? SXT_STRINGS_FULL
                      : sxt_strings_add(&paddings->keys, (const char *)paddings->text.data, paddings->text.size);
        if (*number == SXT_STRINGS_FULL)
            return sxt_fail_memory(error, segment->section.size);
        paddings->segments[*number] = before->segment;
    }
    paddings->sums[*number] += (double)after->padding / sxt_size_alias_count(delta->after, after) -
                               (double)before->padding / sxt_size_alias_count(delta->before, before);
    return SXT_OK;
}

/* Rounds to the nearest integer, and halves to the even one. */
static int64_t rounded(double value)
{
    if (!(value > -0x1p62 && value < 0x1p62))
        return value > 0 ? INT64_MAX : INT64_MIN;
    int64_t whole = (int64_t)value;
    double rest = value - (double)whole;
    double distance = rest < 0 ? -rest : rest;
    if (distance > 0.5 || (distance == 0.5 && whole % 2 != 0))
        whole += rest < 0 ? -1 : 1;
    return whole;
}

static int keep_paddings(struct sxt_size_delta *delta, const struct paddings *paddings, sxt_error *error)
{
    delta->paddings = malloc(paddings->keys.count * sizeof *delta->paddings);
    if (delta->paddings == NULL)
        return sxt_fail_memory(error, paddings->keys.count * sizeof *delta->paddings);
    bool is_lone = delta->before->container_count == 1 && delta->after->container_count == 1;
    for (uint32_t i = 1; i < paddings->keys.count; i++) {
        int64_t bytes = rounded(paddings->sums[i]);
        const struct sxt_size_segment *segment = &delta->before->segments[paddings->segments[i]];
        if (bytes != 0)
            delta->paddings[delta->padding_count++] = (struct sxt_size_padding_change){
                .container =
                    is_lone ? delta->after->containers[0].name : delta->before->containers[segment->container].name,
                .section = segment->section,
                .bytes = bytes};
    }
    return SXT_OK;
}
