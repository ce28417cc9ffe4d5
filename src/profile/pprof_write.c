/*
 * pprof_write.c: writes the profile, field by field. Mappings that were resolved get their flags, locations their
 * lines; everything else is copied.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/protobuf.h"
#include "base/search.h"
#include "base/sort.h"
#include "profile/pprof.h"

/* The fields of MESSAGE except those from FIRST to LAST. */
static void copy_fields(struct sxt_cursor message, unsigned first, unsigned last, struct sxt_buffer *out)
{
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);)
        if (field.number < first || field.number > last)
            sxt_buffer_append(out, message.data + field.start, field.end - field.start);
}

static void write_mapping(struct sxt_cursor message, struct sxt_buffer *scratch)
{
    copy_fields(message, 7, 10, scratch);
    for (unsigned flag = 7; flag <= 10; flag++)
        sxt_protobuf_write_number(scratch, flag, 1);
}

static void write_line(const struct sxt_pprof *pprof, uint32_t function, uint32_t line, struct sxt_buffer *scratch)
{
    uint64_t id = pprof->last_function + 1 + function;
    size_t size = 1 + sxt_protobuf_size(id) + (line != 0 ? 1 + sxt_protobuf_size(line) : 0);
    sxt_buffer_varint(scratch, SXT_PROTOBUF_KEY(4, SXT_PROTOBUF_BYTES));
    sxt_buffer_varint(scratch, size);
    sxt_protobuf_write_number(scratch, 1, id);
    if (line != 0)
        sxt_protobuf_write_number(scratch, 2, line);
}

static void write_lines(const struct sxt_pprof *pprof, const struct sxt_pprof_location *location,
                        struct sxt_buffer *scratch)
{
    for (uint32_t i = 0; i < location->line_count; i++) {
        const struct sxt_pprof_line *line = &pprof->lines[location->first_line + i];
        write_line(pprof, line->function, line->line, scratch);
    }
}

/* Whether a location is folded has to be said anew when it is given lines. */
static void write_location(const struct sxt_pprof *pprof, const struct sxt_pprof_location *location,
                           struct sxt_cursor message, struct sxt_buffer *scratch)
{
    copy_fields(message, 4, 5, scratch);
    write_lines(pprof, location, scratch);
    if (location->is_folded)
        sxt_protobuf_write_number(scratch, 5, 1);
}

/* The variants by location. */
struct variants {
    struct sxt_sort_item *items; /* the second half is for sorting */
    size_t next;
};

static bool order_variants(const struct sxt_pprof *pprof, struct variants *variants)
{
    size_t count = pprof->variant_count;
    variants->items = malloc((2 * count + 1) * sizeof *variants->items);
    for (size_t i = 0; i < count && variants->items != NULL; i++)
        variants->items[i] = (struct sxt_sort_item){pprof->variants[i].location, (uint32_t)i};
    if (variants->items != NULL && count > 0)
        sxt_sort(variants->items, variants->items + count, count);
    return variants->items != NULL;
}

/* Writes the variants of location INDEX, each as a location of its own. */
static void write_variants(const struct sxt_pprof *pprof, uint32_t index, struct sxt_cursor message,
                           struct variants *variants, struct sxt_buffer *scratch, struct sxt_buffer *out)
{
    for (; variants->next < pprof->variant_count && variants->items[variants->next].key == index; variants->next++) {
        uint32_t number = variants->items[variants->next].index;
        const struct sxt_pprof_variant *variant = &pprof->variants[number];
        sxt_buffer_clear(scratch);
        sxt_protobuf_write_number(scratch, 1, pprof->last_location + 1 + number);
        struct sxt_cursor fields = message;
        for (struct sxt_protobuf_field field; sxt_protobuf_next(&fields, &field);)
            if (field.number != 1 && field.number != 4 && field.number != 5)
                sxt_buffer_append(scratch, message.data + field.start, field.end - field.start);
        if (variant->has_lines)
            write_lines(pprof, &pprof->locations[index], scratch);
        else
            write_line(pprof, variant->function, 0, scratch);
        sxt_protobuf_write_bytes(out, 4, scratch->data, scratch->size);
    }
}

/* The locations of a sample, as they are written. */
struct stack_copy {
    const struct sxt_pprof *pprof;
    struct sxt_buffer *ids;
    uint64_t callee; /* not written yet */
    bool has_callee;
    bool is_changed;
};

static uint64_t chosen(struct stack_copy *copy, uint64_t callee, uint64_t caller)
{
    const struct sxt_pprof *pprof = copy->pprof;
    struct sxt_bisection search = {.high = pprof->choice_count};
    while (sxt_bisect(&search)) {
        const struct sxt_pprof_choice *choice = &pprof->choices[search.middle];
        sxt_bisect_after(&search, choice->callee < callee || (choice->callee == callee && choice->caller < caller));
    }
    const struct sxt_pprof_choice *found = &pprof->choices[search.low];
    if (search.low == pprof->choice_count || found->callee != callee || found->caller != caller)
        return callee;
    copy->is_changed = true;
    return pprof->last_location + 1 + found->variant;
}

static bool copy_location(void *data, uint64_t id)
{
    struct stack_copy *copy = data;
    if (copy->has_callee)
        sxt_buffer_varint(copy->ids, chosen(copy, copy->callee, id));
    copy->callee = id;
    copy->has_callee = true;
    return !copy->ids->failed;
}

/* True if a variant takes the place of one of the locations. */
static bool write_sample(const struct sxt_pprof *pprof, struct sxt_cursor message, struct sxt_buffer *scratch,
                         struct sxt_buffer *ids)
{
    struct stack_copy copy = {.pprof = pprof, .ids = ids};
    sxt_buffer_clear(ids);
    if (pprof->choice_count == 0 || sxt_pprof_visit_stack(message, copy_location, &copy, NULL) != SXT_OK ||
        !copy.is_changed)
        return false;
    sxt_buffer_varint(ids, copy.callee);
    sxt_protobuf_write_bytes(scratch, 1, ids->data, ids->size);
    copy_fields(message, 1, 1, scratch);
    return true;
}

/* Unset fields are 0, so what is unknown takes no bytes. */
static void write_functions(const struct sxt_pprof *pprof, struct sxt_buffer *scratch, struct sxt_buffer *out)
{
    for (size_t i = 0; i < pprof->function_count && !scratch->failed; i++) {
        const struct sxt_pprof_function *function = &pprof->functions[i];
        const uint32_t names[] = {function->name, function->system_name, function->file};
        sxt_buffer_clear(scratch);
        sxt_protobuf_write_number(scratch, 1, pprof->last_function + 1 + i);
        for (unsigned name = 0; name < 3; name++)
            if (names[name] != 0)
                sxt_protobuf_write_number(scratch, 2 + name, pprof->table_index[names[name]]);
        sxt_protobuf_write_bytes(out, 5, scratch->data, scratch->size);
    }
}

static void write_strings(const struct sxt_pprof *pprof, struct sxt_buffer *out)
{
    if (pprof->string_count == 0 && pprof->new_string_count > 0)
        sxt_protobuf_write_bytes(out, 6, NULL, 0);
    for (size_t i = 0; i < pprof->new_string_count; i++) {
        sxt_string string = sxt_strings_get(&pprof->names, pprof->new_strings[i]);
        sxt_protobuf_write_bytes(out, 6, string.data, string.size);
    }
}

int sxt_pprof_write(const struct sxt_pprof *pprof, struct sxt_buffer *out, sxt_error *error)
{
    struct sxt_buffer scratch, ids;
    if (pprof->function_count > UINT64_MAX - pprof->last_function)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has a function with id %llu: none is left for new ones",
                        (unsigned long long)pprof->last_function);
    if (pprof->variant_count > UINT64_MAX - pprof->last_location)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has a location with id %llu: none is left for new ones",
                        (unsigned long long)pprof->last_location);
    sxt_buffer_init(&scratch, out->maximum);
    sxt_buffer_init(&ids, out->maximum);
    struct sxt_cursor profile = sxt_cursor_make(pprof->data, pprof->size, 0, false);
    size_t mapping = 0, location = 0, copied = 0;
    struct variants variants = {0};
    if (!order_variants(pprof, &variants))
        return sxt_fail_memory(error, pprof->variant_count * sizeof *variants.items);
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&profile, &field) && !scratch.failed && !out->failed;) {
        bool is_changed = false;
        sxt_buffer_clear(&scratch);
        if (field.wire == SXT_PROTOBUF_BYTES && field.number == 3) {
            is_changed = pprof->mappings[mapping++].resolved;
            if (is_changed)
                write_mapping(sxt_protobuf_inside(&profile, &field), &scratch);
        } else if (field.wire == SXT_PROTOBUF_BYTES && field.number == 2) {
            is_changed = write_sample(pprof, sxt_protobuf_inside(&profile, &field), &scratch, &ids);
        } else if (field.wire == SXT_PROTOBUF_BYTES && field.number == 4) {
            const struct sxt_pprof_location *from = &pprof->locations[location++];
            is_changed = from->line_count > 0;
            if (is_changed)
                write_location(pprof, from, sxt_protobuf_inside(&profile, &field), &scratch);
        }
        if (!is_changed)
            continue;
        sxt_buffer_append(out, pprof->data + copied, field.start - copied);
        sxt_protobuf_write_bytes(out, (unsigned)field.number, scratch.data, scratch.size);
        copied = field.end;
        if (field.number == 4)
            write_variants(pprof, (uint32_t)location - 1, sxt_protobuf_inside(&profile, &field), &variants, &scratch,
                           out);
    }
    sxt_buffer_append(out, pprof->data + copied, pprof->size - copied);
    if (!scratch.failed)
        write_functions(pprof, &scratch, out);
    write_strings(pprof, out);
    int status = sxt_buffer_status(out, error);
    if (status == SXT_OK)
        status = sxt_buffer_status(&scratch, error);
    sxt_buffer_free(&scratch);
    sxt_buffer_free(&ids);
    free(variants.items);
    return status;
}
