/*
 * otlp_protobuf.c: an OTLP message as protobuf.
 *
 * A table is a repeated field of the dictionary, and records of other tables may be between its own. So each table is
 * read in a pass over the fields of the dictionary, after those that it refers to. A message may even have several
 * dictionaries: readers of protobuf join them.
 */
#include <string.h>

#include "base/error.h"
#include "base/protobuf.h"
#include "profile/otlp_message.h"

enum { MAPPINGS = 1, LOCATIONS = 2, FUNCTIONS = 3, STRINGS = 5, ATTRIBUTES = 6, STACKS = 7 };

struct reading {
    struct sxt_otlp *otlp;
    sxt_error *error;
};

static int fail_damaged(const struct sxt_cursor *cursor, sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_FORMAT, sxt_cursor_offset(cursor), "damaged, or not an OTLP message");
}

typedef int take_record(struct reading *reading, struct sxt_cursor record);

/* Calls TAKE for each submessage with that NUMBER. */
static int each_inside(struct reading *reading, struct sxt_cursor message, unsigned number, take_record *take)
{
    int status = SXT_OK;
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&message, &field);)
        if (field.wire == SXT_PROTOBUF_BYTES && field.number == number)
            status = take(reading, sxt_protobuf_inside(&message, &field));
    return status == SXT_OK && message.failed ? fail_damaged(&message, reading->error) : status;
}

/* Calls TAKE for each record of a table. */
static int each_record(struct reading *reading, unsigned table, take_record *take)
{
    const struct sxt_pprof *profile = &reading->otlp->profile;
    struct sxt_cursor message = sxt_cursor_make(profile->data, profile->size, 0, false);
    int status = SXT_OK;
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&message, &field);)
        if (field.wire == SXT_PROTOBUF_BYTES && field.number == 2)
            status = each_inside(reading, sxt_protobuf_inside(&message, &field), table, take);
    return status == SXT_OK && message.failed ? fail_damaged(&message, reading->error) : status;
}

/* The numbers of a repeated field, which may be packed; 32 bits of each count, as for every reader of int32. */
struct numbers {
    struct sxt_cursor packed;
    uint64_t single;
    bool has_single;
};

static struct numbers numbers_of(const struct sxt_cursor *message, const struct sxt_protobuf_field *field)
{
    struct numbers numbers = {.single = (uint32_t)field->value, .has_single = field->wire == SXT_PROTOBUF_VARINT};
    if (field->wire == SXT_PROTOBUF_BYTES)
        numbers.packed = sxt_protobuf_inside(message, field);
    return numbers;
}

/* False after the last one, and if they are damaged: then packed.failed is set. */
static bool next_number(struct numbers *numbers, uint64_t *number)
{
    if (numbers->has_single) {
        *number = numbers->single;
        numbers->has_single = false;
        return true;
    }
    if (numbers->packed.failed || sxt_cursor_left(&numbers->packed) == 0)
        return false;
    *number = (uint32_t)sxt_cursor_uleb128(&numbers->packed);
    return !numbers->packed.failed;
}

static int take_string(struct reading *reading, struct sxt_cursor record)
{
    sxt_string string = {(const char *)record.data, record.size};
    return sxt_pprof_take_string(&reading->otlp->profile, string, reading->otlp->most, reading->error);
}

/* The last of the alternatives counts. */
static int read_value(struct reading *reading, struct sxt_cursor message, sxt_string *value)
{
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);)
        if (field.number == 1 && field.wire == SXT_PROTOBUF_BYTES)
            *value = (sxt_string){(const char *)field.data, field.size};
        else if (field.number == 8 && field.wire == SXT_PROTOBUF_VARINT)
            *value = sxt_pprof_string(&reading->otlp->profile, (uint32_t)field.value);
    return message.failed ? fail_damaged(&message, reading->error) : SXT_OK;
}

static int take_attribute(struct reading *reading, struct sxt_cursor message)
{
    sxt_string key = {"", 0}, value = {"", 0};
    int status = SXT_OK;
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&message, &field);)
        if (field.number == 1 && field.wire == SXT_PROTOBUF_VARINT) {
            key = sxt_pprof_string(&reading->otlp->profile, (uint32_t)field.value);
        } else if (field.number == 1 && field.wire == SXT_PROTOBUF_BYTES) {
            key = (sxt_string){(const char *)field.data, field.size};
            reading->otlp->is_old = true;
        } else if (field.number == 2 && field.wire == SXT_PROTOBUF_BYTES) {
            status = read_value(reading, sxt_protobuf_inside(&message, &field), &value);
        }
    if (status == SXT_OK && message.failed)
        status = fail_damaged(&message, reading->error);
    return status == SXT_OK ? sxt_otlp_take_attribute(reading->otlp, key, value, reading->error) : status;
}

static int take_function(struct reading *reading, struct sxt_cursor message)
{
    uint64_t strings[3] = {0};
    bool has_more = false;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);)
        if (field.wire == SXT_PROTOBUF_VARINT && field.number <= 3)
            strings[field.number - 1] = (uint32_t)field.value;
        else
            has_more = true;
    if (message.failed)
        return fail_damaged(&message, reading->error);
    return sxt_otlp_take_function(reading->otlp, strings, has_more, reading->error);
}

static int take_mapping(struct reading *reading, struct sxt_cursor message)
{
    struct sxt_otlp *otlp = reading->otlp;
    struct sxt_pprof_mapping *mapping = sxt_otlp_take_mapping(otlp, reading->error);
    if (mapping == NULL)
        return reading->error->code;
    uint64_t name = 0, number;
    sxt_string go_id = {"", 0};
    uint64_t *fields[] = {NULL, &mapping->start, &mapping->limit, &mapping->offset, &name};
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);) {
        if (field.number < sizeof fields / sizeof *fields && field.wire == SXT_PROTOBUF_VARINT)
            *fields[field.number] = field.value;
        if (field.number != 5)
            continue;
        struct numbers numbers = numbers_of(&message, &field);
        while (next_number(&numbers, &number))
            sxt_otlp_describe_mapping(otlp, mapping, number, &go_id);
        if (numbers.packed.failed)
            return fail_damaged(&numbers.packed, reading->error);
    }
    mapping->name = sxt_pprof_string(&otlp->profile, (uint32_t)name);
    if (message.failed)
        return fail_damaged(&message, reading->error);
    return sxt_otlp_finish_mapping(otlp, mapping, go_id, reading->error);
}

static int take_location(struct reading *reading, struct sxt_cursor message)
{
    struct sxt_otlp *otlp = reading->otlp;
    struct sxt_pprof_location *location = sxt_otlp_take_location(otlp, reading->error);
    if (location == NULL)
        return reading->error->code;
    bool has_mapping = false;
    uint64_t mapping = 0, number;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);) {
        if (field.number == 1 && field.wire == SXT_PROTOBUF_VARINT) {
            has_mapping = true;
            mapping = (uint32_t)field.value;
        } else if (field.number == 2 && field.wire == SXT_PROTOBUF_VARINT) {
            location->address = field.value;
        } else if (field.number == 3 && field.wire == SXT_PROTOBUF_BYTES) {
            location->has_lines = true;
        } else if (field.number == (otlp->is_old ? 5 : 4)) {
            struct numbers numbers = numbers_of(&message, &field);
            while (next_number(&numbers, &number))
                sxt_otlp_describe_location(otlp, location, number);
            if (numbers.packed.failed)
                return fail_damaged(&numbers.packed, reading->error);
        }
    }
    sxt_otlp_finish_location(otlp, location, has_mapping, mapping);
    return message.failed ? fail_damaged(&message, reading->error) : SXT_OK;
}

static int take_stack(struct reading *reading, struct sxt_cursor message)
{
    bool is_leaf = true;
    uint64_t index;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);) {
        if (field.number != 1)
            continue;
        struct numbers numbers = numbers_of(&message, &field);
        for (; next_number(&numbers, &index); is_leaf = false)
            sxt_otlp_mark(reading->otlp, index, is_leaf);
        if (numbers.packed.failed)
            return fail_damaged(&numbers.packed, reading->error);
    }
    return message.failed ? fail_damaged(&message, reading->error) : SXT_OK;
}

/* --- the profiles of version 1.7 --- */

static int take_scope_of(struct reading *reading, struct sxt_cursor message, take_record *take)
{
    return each_inside(reading, message, 2, take);
}

/* A profile that has the locations of all its samples in field 3 is of version 1.7; later that is a number. */
static int detect_old(struct reading *reading, struct sxt_cursor profile)
{
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&profile, &field);)
        if (field.number == 3 && field.wire == SXT_PROTOBUF_BYTES)
            reading->otlp->is_old = true;
    return profile.failed ? fail_damaged(&profile, reading->error) : SXT_OK;
}

static int take_sample(struct reading *reading, struct sxt_cursor message)
{
    uint64_t start = 0, length = 0;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);)
        if (field.wire == SXT_PROTOBUF_VARINT && field.number == 1)
            start = (uint32_t)field.value;
        else if (field.wire == SXT_PROTOBUF_VARINT && field.number == 2)
            length = (uint32_t)field.value;
    if (message.failed)
        return fail_damaged(&message, reading->error);
    sxt_otlp_take_sample(reading->otlp, start, length <= INT32_MAX ? length : 0);
    return SXT_OK;
}

static int take_old_profile(struct reading *reading, struct sxt_cursor message)
{
    struct sxt_cursor fields = message;
    uint64_t index;
    int status = SXT_OK;
    for (struct sxt_protobuf_field field; status == SXT_OK && sxt_protobuf_next(&fields, &field);) {
        if (field.number != 3)
            continue;
        struct numbers numbers = numbers_of(&fields, &field);
        while (status == SXT_OK && next_number(&numbers, &index))
            status = sxt_otlp_take_index(reading->otlp, index, reading->error);
        if (status == SXT_OK && numbers.packed.failed)
            status = fail_damaged(&numbers.packed, reading->error);
    }
    if (status == SXT_OK)
        status = sxt_otlp_begin_samples(reading->otlp, reading->error);
    if (status == SXT_OK)
        status = each_inside(reading, message, 2, take_sample);
    sxt_otlp_end_samples(reading->otlp);
    return status;
}

static int detect_in_scope(struct reading *reading, struct sxt_cursor message)
{
    return take_scope_of(reading, message, detect_old);
}

static int detect_in_resource(struct reading *reading, struct sxt_cursor message)
{
    return take_scope_of(reading, message, detect_in_scope);
}

static int take_old_scope(struct reading *reading, struct sxt_cursor message)
{
    return take_scope_of(reading, message, take_old_profile);
}

static int take_old_resource(struct reading *reading, struct sxt_cursor message)
{
    return take_scope_of(reading, message, take_old_scope);
}

int sxt_otlp_read_protobuf(struct sxt_otlp *otlp, sxt_error *error)
{
    struct reading reading = {otlp, error};
    struct sxt_cursor message = sxt_cursor_make(otlp->profile.data, otlp->profile.size, 0, false);
    int status = each_record(&reading, STRINGS, take_string);
    if (status == SXT_OK)
        status = sxt_pprof_index_strings(&otlp->profile, error);
    if (status == SXT_OK)
        status = each_inside(&reading, message, 1, detect_in_resource);
    if (status == SXT_OK)
        status = each_record(&reading, ATTRIBUTES, take_attribute);
    if (status == SXT_OK)
        status = each_record(&reading, FUNCTIONS, take_function);
    if (status == SXT_OK)
        status = each_record(&reading, MAPPINGS, take_mapping);
    if (status == SXT_OK)
        status = each_record(&reading, LOCATIONS, take_location);
    if (status == SXT_OK && !otlp->is_old)
        status = each_record(&reading, STACKS, take_stack);
    if (status == SXT_OK && otlp->is_old)
        status = each_inside(&reading, message, 1, take_old_resource);
    return status;
}

/* --- writing --- */

struct writing {
    const struct sxt_otlp *otlp;
    size_t location;           /* the next one */
    struct sxt_buffer record;  /* a location or a function */
    struct sxt_buffer content; /* the dictionary */
};

static void write_lines(struct writing *writing, const struct sxt_pprof_location *location)
{
    const struct sxt_pprof *profile = &writing->otlp->profile;
    for (uint32_t i = 0; i < location->line_count; i++) {
        const struct sxt_pprof_line *line = &profile->lines[location->first_line + i];
        size_t size = 1 + sxt_protobuf_size(line->function) + (line->line != 0 ? 1 + sxt_protobuf_size(line->line) : 0);
        sxt_buffer_varint(&writing->record, SXT_PROTOBUF_KEY(3, SXT_PROTOBUF_BYTES));
        sxt_buffer_varint(&writing->record, size);
        sxt_protobuf_write_number(&writing->record, 1, line->function);
        if (line->line != 0)
            sxt_protobuf_write_number(&writing->record, 2, line->line);
    }
}

/* Lines come after the mapping and the address, in the order of the numbers of fields. */
static void write_location(struct writing *writing, const struct sxt_pprof_location *location,
                           struct sxt_cursor message)
{
    size_t end = 0;
    struct sxt_cursor fields = message;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&fields, &field);)
        if (field.number <= 3)
            end = field.end;
    sxt_buffer_clear(&writing->record);
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);) {
        if (field.number != 3 || field.wire != SXT_PROTOBUF_BYTES)
            sxt_buffer_append(&writing->record, message.data + field.start, field.end - field.start);
        if (field.end == end)
            write_lines(writing, location);
    }
    if (end == 0)
        write_lines(writing, location);
    sxt_protobuf_write_bytes(&writing->content, LOCATIONS, writing->record.data, writing->record.size);
}

static void write_functions(struct writing *writing)
{
    const struct sxt_otlp *otlp = writing->otlp;
    const struct sxt_pprof *profile = &otlp->profile;
    for (size_t i = otlp->table_functions; i < profile->function_count; i++) {
        const struct sxt_pprof_function *function = &profile->functions[i];
        const uint32_t names[] = {function->name, function->system_name, function->file};
        sxt_buffer_clear(&writing->record);
        for (unsigned name = 0; name < 3; name++)
            if (names[name] != 0)
                sxt_protobuf_write_number(&writing->record, 1 + name, profile->table_index[names[name]]);
        sxt_protobuf_write_bytes(&writing->content, FUNCTIONS, writing->record.data, writing->record.size);
    }
}

static void write_strings(struct writing *writing)
{
    const struct sxt_pprof *profile = &writing->otlp->profile;
    if (profile->string_count == 0)
        sxt_protobuf_write_bytes(&writing->content, STRINGS, NULL, 0);
    for (size_t i = 0; i < profile->new_string_count; i++) {
        sxt_string string = sxt_strings_get(&profile->names, profile->new_strings[i]);
        sxt_protobuf_write_bytes(&writing->content, STRINGS, string.data, string.size);
    }
}

/* New records come where a writer that orders fields by number has them. */
static void write_dictionary(struct writing *writing, struct sxt_cursor message, bool is_last)
{
    const struct sxt_pprof *profile = &writing->otlp->profile;
    size_t functions_at = 0, strings_at = 0;
    struct sxt_cursor fields = message;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&fields, &field);) {
        if (field.number <= FUNCTIONS)
            functions_at = field.end;
        if (field.number <= STRINGS)
            strings_at = field.end;
    }
    sxt_buffer_clear(&writing->content);
    for (size_t at = 0; !writing->content.failed && !writing->record.failed;) {
        struct sxt_protobuf_field field;
        if (is_last && at == functions_at)
            write_functions(writing);
        if (is_last && at == strings_at)
            write_strings(writing);
        if (!sxt_protobuf_next(&message, &field))
            break;
        const struct sxt_pprof_location *location = NULL;
        if (field.number == LOCATIONS && field.wire == SXT_PROTOBUF_BYTES)
            location = &profile->locations[writing->location++];
        if (location != NULL && location->line_count > 0)
            write_location(writing, location, sxt_protobuf_inside(&message, &field));
        else
            sxt_buffer_append(&writing->content, message.data + field.start, field.end - field.start);
        at = field.end;
    }
}

int sxt_otlp_write_protobuf(const struct sxt_otlp *otlp, struct sxt_buffer *out, sxt_error *error)
{
    struct writing writing = {.otlp = otlp};
    struct sxt_cursor message = sxt_cursor_make(otlp->profile.data, otlp->profile.size, 0, false);
    struct sxt_cursor fields = message;
    size_t last = SIZE_MAX;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&fields, &field);)
        if (field.number == 2 && field.wire == SXT_PROTOBUF_BYTES)
            last = field.start;
    sxt_buffer_init(&writing.record, out->maximum);
    sxt_buffer_init(&writing.content, out->maximum);
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);) {
        if (field.number != 2 || field.wire != SXT_PROTOBUF_BYTES || !sxt_otlp_is_changed(otlp)) {
            sxt_buffer_append(out, message.data + field.start, field.end - field.start);
            continue;
        }
        write_dictionary(&writing, sxt_protobuf_inside(&message, &field), field.start == last);
        sxt_protobuf_write_bytes(out, 2, writing.content.data, writing.content.size);
    }
    int status = sxt_buffer_status(out, error);
    if (status == SXT_OK)
        status = sxt_buffer_status(&writing.record, error);
    if (status == SXT_OK)
        status = sxt_buffer_status(&writing.content, error);
    sxt_buffer_free(&writing.record);
    sxt_buffer_free(&writing.content);
    return status;
}
