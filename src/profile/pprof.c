/*
 * pprof.c: reading a profile, and adding lines to it.
 *
 * It is read in two passes: mappings, locations and strings first, then the samples, which come before them in the file
 * and show which locations are leaves.
 */
#include "profile/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/protobuf.h"
#include "base/search.h"
#include "base/sort.h"

/*
 * An empty message takes two bytes, and a record of ours many more: a profile with more of them than this was made to
 * exhaust memory.
 */
#define MAPPINGS_MAX  ((size_t)1 << 20)
#define LOCATIONS_MAX ((size_t)1 << 24)
#define STRINGS_MAX   ((size_t)1 << 25)

/* The string numbers of a mapping, until the whole table is known. */
struct mapping_names {
    uint64_t name, build_id;
};

struct reading {
    struct sxt_pprof *pprof;
    struct mapping_names *mapping_names;
    size_t mapping_names_capacity;
    uint64_t *mapping_ids; /* of the locations */
    size_t mapping_ids_capacity;
    bool has_sample_type;
    sxt_error *error;
};

static int read_tables(struct reading *reading);
static int resolve_strings(struct reading *reading);
static int resolve_mappings(struct reading *reading);
static int read_samples(struct reading *reading);

int sxt_pprof_read(struct sxt_pprof *pprof, const uint8_t *data, size_t size, sxt_error *error)
{
    *pprof = (struct sxt_pprof){.data = data, .size = size};
    struct reading reading = {.pprof = pprof, .error = error};
    int status = sxt_strings_init(&pprof->names, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&pprof->function_keys, 0, error);
    if (status == SXT_OK && size == 0)
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "the profile is empty");
    if (status == SXT_OK)
        status = read_tables(&reading);
    if (status == SXT_OK && !reading.has_sample_type && pprof->string_count == 0)
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "not a pprof profile");
    if (status == SXT_OK)
        status = resolve_strings(&reading);
    if (status == SXT_OK)
        status = resolve_mappings(&reading);
    if (status == SXT_OK)
        status = read_samples(&reading);
    free(reading.mapping_names);
    free(reading.mapping_ids);
    if (status != SXT_OK)
        sxt_pprof_free(pprof);
    return status;
}

void sxt_pprof_free(struct sxt_pprof *pprof)
{
    sxt_strings_free(&pprof->names);
    sxt_strings_free(&pprof->function_keys);
    free(pprof->variants);
    free(pprof->choices);
    free(pprof->mappings);
    free(pprof->locations);
    free(pprof->strings);
    free(pprof->table_index);
    free(pprof->new_strings);
    free(pprof->functions);
    free(pprof->lines);
    *pprof = (struct sxt_pprof){0};
}

static int fail_damaged(const struct sxt_cursor *cursor, sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_FORMAT, sxt_cursor_offset(cursor), "damaged, or not a pprof profile");
}

static int fail_too_many(struct reading *reading, const char *what, size_t most)
{
    return sxt_fail(reading->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has more than %zu %s", most, what);
}

/* Room for one more of each kind of record. ITEMS is the address of the array. */
static bool grow(void *items, size_t *capacity, size_t count, size_t item_size)
{
    void *old;
    memcpy(&old, items, sizeof old);
    void *moved = sxt_array_grow(old, capacity, count + 1, item_size);
    if (moved == NULL)
        return false;
    memcpy(items, &moved, sizeof moved);
    return true;
}

static int read_mapping(struct reading *reading, struct sxt_cursor message)
{
    struct sxt_pprof *pprof = reading->pprof;
    if (pprof->mapping_count == MAPPINGS_MAX)
        return fail_too_many(reading, "mappings", MAPPINGS_MAX);
    if (!grow(&pprof->mappings, &pprof->mapping_capacity, pprof->mapping_count, sizeof *pprof->mappings) ||
        !grow(&reading->mapping_names, &reading->mapping_names_capacity, pprof->mapping_count,
              sizeof *reading->mapping_names))
        return sxt_fail_memory(reading->error, sizeof *pprof->mappings);
    struct sxt_pprof_mapping *mapping = &pprof->mappings[pprof->mapping_count];
    struct mapping_names *names = &reading->mapping_names[pprof->mapping_count++];
    *mapping = (struct sxt_pprof_mapping){0};
    *names = (struct mapping_names){0};
    uint64_t *fields[] = {NULL,         &mapping->id,    &mapping->start, &mapping->limit, &mapping->offset,
                          &names->name, &names->build_id};
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);)
        if (field.wire == SXT_PROTOBUF_VARINT && field.number < sizeof fields / sizeof *fields)
            *fields[field.number] = field.value;
    return message.failed ? fail_damaged(&message, reading->error) : SXT_OK;
}

static int read_location(struct reading *reading, struct sxt_cursor message)
{
    struct sxt_pprof *pprof = reading->pprof;
    if (pprof->location_count == LOCATIONS_MAX)
        return fail_too_many(reading, "locations", LOCATIONS_MAX);
    if (!grow(&pprof->locations, &pprof->location_capacity, pprof->location_count, sizeof *pprof->locations) ||
        !grow(&reading->mapping_ids, &reading->mapping_ids_capacity, pprof->location_count,
              sizeof *reading->mapping_ids))
        return sxt_fail_memory(reading->error, sizeof *pprof->locations);
    struct sxt_pprof_location *location = &pprof->locations[pprof->location_count];
    uint64_t *mapping_id = &reading->mapping_ids[pprof->location_count++];
    *location = (struct sxt_pprof_location){.mapping = SXT_PPROF_NONE};
    *mapping_id = 0;
    uint64_t *fields[] = {NULL, &location->id, mapping_id, &location->address};
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);)
        if (field.wire == SXT_PROTOBUF_VARINT && field.number < sizeof fields / sizeof *fields)
            *fields[field.number] = field.value;
        else if (field.wire == SXT_PROTOBUF_BYTES && field.number == 4)
            location->has_lines = true;
    if (location->id > pprof->last_location)
        pprof->last_location = location->id;
    return message.failed ? fail_damaged(&message, reading->error) : SXT_OK;
}

/* Only the id of a function matters: new functions need other ids. */
static int read_function(struct reading *reading, struct sxt_cursor message)
{
    uint64_t id = 0;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);)
        if (field.wire == SXT_PROTOBUF_VARINT && field.number == 1)
            id = field.value;
    if (id > reading->pprof->last_function)
        reading->pprof->last_function = id;
    return message.failed ? fail_damaged(&message, reading->error) : SXT_OK;
}

int sxt_pprof_take_string(struct sxt_pprof *pprof, sxt_string string, size_t most, sxt_error *error)
{
    if (pprof->string_count >= most)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has more than %zu strings", most);
    if (!grow(&pprof->strings, &pprof->string_capacity, pprof->string_count, sizeof *pprof->strings))
        return sxt_fail_memory(error, sizeof *pprof->strings);
    pprof->strings[pprof->string_count++] = string;
    return SXT_OK;
}

static int read_string(struct reading *reading, const struct sxt_protobuf_field *field)
{
    sxt_string string = {(const char *)field->data, field->size};
    return sxt_pprof_take_string(reading->pprof, string, STRINGS_MAX, reading->error);
}

static int read_tables(struct reading *reading)
{
    struct sxt_pprof *pprof = reading->pprof;
    struct sxt_cursor profile = sxt_cursor_make(pprof->data, pprof->size, 0, false);
    int status = SXT_OK;
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&profile, &field);) {
        if (field.wire != SXT_PROTOBUF_BYTES)
            continue;
        if (field.number == 1)
            reading->has_sample_type = true;
        else if (field.number == 3)
            status = read_mapping(reading, sxt_protobuf_inside(&profile, &field));
        else if (field.number == 4)
            status = read_location(reading, sxt_protobuf_inside(&profile, &field));
        else if (field.number == 5)
            status = read_function(reading, sxt_protobuf_inside(&profile, &field));
        else if (field.number == 6)
            status = read_string(reading, &field);
    }
    return status == SXT_OK && profile.failed ? fail_damaged(&profile, reading->error) : status;
}

/* Notes that NUMBER in names has the place INDEX in the table, unless it has one already. */
static bool place_name(struct sxt_pprof *pprof, uint32_t number, uint32_t index)
{
    void *moved =
        sxt_array_grow(pprof->table_index, &pprof->table_capacity, (size_t)number + 1, sizeof *pprof->table_index);
    if (moved == NULL)
        return false;
    pprof->table_index = moved;
    pprof->table_index[number] = index;
    return true;
}

int sxt_pprof_index_strings(struct sxt_pprof *pprof, sxt_error *error)
{
    /* The empty string is number 0 in names as it is in the table, also where the table is missing. */
    if (!place_name(pprof, 0, 0))
        return sxt_fail_memory(error, sizeof *pprof->table_index);
    for (size_t i = 0; i < pprof->string_count; i++) {
        uint32_t before = pprof->names.count;
        uint32_t number = sxt_strings_add(&pprof->names, pprof->strings[i].data, pprof->strings[i].size);
        if (number == SXT_STRINGS_FULL || (number == before && !place_name(pprof, number, (uint32_t)i)))
            return sxt_fail_memory(error, pprof->strings[i].size);
    }
    return SXT_OK;
}

static int resolve_strings(struct reading *reading)
{
    struct sxt_pprof *pprof = reading->pprof;
    int status = sxt_pprof_index_strings(pprof, reading->error);
    for (size_t i = 0; i < pprof->mapping_count && status == SXT_OK; i++) {
        pprof->mappings[i].name = sxt_pprof_string(pprof, reading->mapping_names[i].name);
        pprof->mappings[i].build_id = sxt_pprof_string(pprof, reading->mapping_names[i].build_id);
    }
    return status;
}

/* Sorted ids, with the indices of their records. */
struct id_table {
    struct sxt_sort_item *items;
    size_t count;
};

static bool make_id_table(struct id_table *table, size_t count)
{
    table->count = count;
    table->items = malloc((count + 1) * sizeof *table->items);
    return table->items != NULL;
}

static int sort_id_table(struct id_table *table, sxt_error *error)
{
    struct sxt_sort_item *scratch = malloc((table->count + 1) * sizeof *scratch);
    if (scratch == NULL)
        return sxt_fail_memory(error, table->count * sizeof *scratch);
    sxt_sort(table->items, scratch, table->count);
    free(scratch);
    return SXT_OK;
}

/* The index of the record with that id, or SXT_PPROF_NONE. Nearly all profiles number from 1 on. */
static uint32_t find_id(const struct id_table *table, uint64_t id)
{
    if (id - 1 < table->count && table->items[id - 1].key == id)
        return table->items[id - 1].index;
    size_t low = SXT_SEARCH_FROM(table->items, table->count, key, id);
    return low < table->count && table->items[low].key == id ? table->items[low].index : SXT_PPROF_NONE;
}

static int resolve_mappings(struct reading *reading)
{
    struct sxt_pprof *pprof = reading->pprof;
    struct id_table table;
    if (!make_id_table(&table, pprof->mapping_count))
        return sxt_fail_memory(reading->error, pprof->mapping_count);
    for (size_t i = 0; i < pprof->mapping_count; i++)
        table.items[i] = (struct sxt_sort_item){pprof->mappings[i].id, (uint32_t)i};
    int status = sort_id_table(&table, reading->error);
    /* Id 0 means that there is no mapping. */
    for (size_t i = 0; i < pprof->location_count && status == SXT_OK; i++)
        if (reading->mapping_ids[i] != 0)
            pprof->locations[i].mapping = find_id(&table, reading->mapping_ids[i]);
    free(table.items);
    return status;
}

/* Calls VISIT for each location of a sample, the leaf first. The ids are packed in one field, or each has its own. */
int sxt_pprof_visit_stack(struct sxt_cursor message, bool (*visit)(void *data, uint64_t id), void *data,
                          sxt_error *error)
{
    bool fine = true;
    for (struct sxt_protobuf_field field; fine && sxt_protobuf_next(&message, &field);) {
        if (field.number != 1)
            continue;
        if (field.wire == SXT_PROTOBUF_VARINT) {
            fine = visit(data, field.value);
        } else if (field.wire == SXT_PROTOBUF_BYTES) {
            struct sxt_cursor ids = sxt_protobuf_inside(&message, &field);
            while (fine && sxt_cursor_left(&ids) > 0 && !ids.failed) {
                uint64_t id = sxt_cursor_uleb128(&ids);
                fine = ids.failed || visit(data, id);
            }
            if (ids.failed)
                return fail_damaged(&ids, error);
        }
    }
    if (!fine)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading samples");
    return message.failed ? fail_damaged(&message, error) : SXT_OK;
}

/* The locations of samples, one after another. */
struct stack_walk {
    struct id_table table;
    bool is_leaf;
    uint32_t callee; /* the location before */
    bool (*visit)(void *data, uint32_t callee, uint32_t caller);
    void *data;
};

static bool visit_location(void *data, uint64_t id)
{
    struct stack_walk *walk = data;
    uint32_t location = find_id(&walk->table, id);
    bool fine = walk->is_leaf || location == SXT_PPROF_NONE || walk->visit(walk->data, walk->callee, location);
    walk->is_leaf = false;
    walk->callee = location;
    return fine;
}

int sxt_pprof_visit_calls(const struct sxt_pprof *pprof, bool (*visit)(void *data, uint32_t callee, uint32_t caller),
                          void *data, sxt_error *error)
{
    struct stack_walk walk = {.visit = visit, .data = data};
    if (!make_id_table(&walk.table, pprof->location_count))
        return sxt_fail_memory(error, pprof->location_count);
    for (size_t i = 0; i < pprof->location_count; i++)
        walk.table.items[i] = (struct sxt_sort_item){pprof->locations[i].id, (uint32_t)i};
    int status = sort_id_table(&walk.table, error);
    struct sxt_cursor profile = sxt_cursor_make(pprof->data, pprof->size, 0, false);
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&profile, &field);)
        if (field.wire == SXT_PROTOBUF_BYTES && field.number == 2) {
            walk.is_leaf = true;
            status = sxt_pprof_visit_stack(sxt_protobuf_inside(&profile, &field), visit_location, &walk, error);
        }
    free(walk.table.items);
    return status;
}

static bool mark_return(void *data, uint32_t callee, uint32_t caller)
{
    struct sxt_pprof *pprof = data;
    (void)callee;
    pprof->locations[caller].is_return = true;
    return true;
}

static int read_samples(struct reading *reading)
{
    return sxt_pprof_visit_calls(reading->pprof, mark_return, reading->pprof, reading->error);
}

uint32_t sxt_pprof_name(struct sxt_pprof *pprof, const char *data, size_t size)
{
    uint32_t before = pprof->names.count;
    uint32_t number = sxt_strings_add(&pprof->names, data, size);
    if (number == SXT_STRINGS_FULL || number != before)
        return number;
    /* A profile without a string table gets one, which begins with "". */
    size_t first = pprof->string_count > 0 ? pprof->string_count : 1;
    if (!place_name(pprof, number, (uint32_t)(first + pprof->new_string_count)) ||
        !grow(&pprof->new_strings, &pprof->new_string_capacity, pprof->new_string_count, sizeof *pprof->new_strings))
        return SXT_STRINGS_FULL;
    pprof->new_strings[pprof->new_string_count++] = number;
    return number;
}

uint32_t sxt_pprof_function(struct sxt_pprof *pprof, const struct sxt_pprof_function *function)
{
    uint32_t number = sxt_strings_add(&pprof->function_keys, (const char *)function, sizeof *function);
    if (number == SXT_STRINGS_FULL || number <= pprof->function_count)
        return number == SXT_STRINGS_FULL ? SXT_PPROF_NONE : number - 1;
    if (!grow(&pprof->functions, &pprof->function_capacity, pprof->function_count, sizeof *pprof->functions))
        return SXT_PPROF_NONE;
    pprof->functions[pprof->function_count] = *function;
    return (uint32_t)pprof->function_count++;
}

bool sxt_pprof_add_line(struct sxt_pprof *pprof, size_t location, const struct sxt_pprof_function *function,
                        uint32_t line)
{
    struct sxt_pprof_location *to = &pprof->locations[location];
    uint32_t index = sxt_pprof_function(pprof, function);
    if (index == SXT_PPROF_NONE || pprof->line_count == UINT32_MAX ||
        !grow(&pprof->lines, &pprof->line_capacity, pprof->line_count, sizeof *pprof->lines))
        return false;
    if (to->line_count == 0)
        to->first_line = (uint32_t)pprof->line_count;
    pprof->lines[pprof->line_count++] = (struct sxt_pprof_line){index, line};
    to->line_count++;
    return true;
}

bool sxt_pprof_choose(struct sxt_pprof *pprof, uint32_t callee, uint32_t caller, uint32_t function, bool has_lines)
{
    size_t variant = pprof->variant_count;
    /* The variants of a location are added one after another. */
    while (variant > 0 && pprof->variants[variant - 1].location == callee &&
           pprof->variants[variant - 1].function != function)
        variant--;
    bool is_new = variant == 0 || pprof->variants[variant - 1].location != callee;
    if ((is_new && !grow(&pprof->variants, &pprof->variant_capacity, pprof->variant_count, sizeof *pprof->variants)) ||
        !grow(&pprof->choices, &pprof->choice_capacity, pprof->choice_count, sizeof *pprof->choices))
        return false;
    if (is_new) {
        variant = pprof->variant_count + 1;
        pprof->variants[pprof->variant_count++] = (struct sxt_pprof_variant){callee, function, has_lines};
    }
    pprof->choices[pprof->choice_count++] =
        (struct sxt_pprof_choice){pprof->locations[callee].id, pprof->locations[caller].id, (uint32_t)variant - 1};
    return true;
}

static int by_callee_and_caller(const void *a, const void *b)
{
    const struct sxt_pprof_choice *first = a, *second = b;
    if (first->callee != second->callee)
        return first->callee < second->callee ? -1 : 1;
    return first->caller < second->caller ? -1 : first->caller > second->caller;
}

void sxt_pprof_order_choices(struct sxt_pprof *pprof)
{
    if (pprof->choice_count > 0)
        qsort(pprof->choices, pprof->choice_count, sizeof *pprof->choices, by_callee_and_caller);
}
