/*
 * otlp_json.c: reads an OTLP message as JSON, the form that Protocol Buffers define: keys are "mappingIndex" or
 * "mapping_index", numbers may be in quotes, and null is the same as nothing.
 *
 * The text is read as often as there are tables, as for protobuf: first it is noted where each table begins. Where new
 * text belongs is noted for each location and for the two tables that grow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/string.h"
#include "profile/otlp_message.h"

enum table { MAPPINGS, LOCATIONS, FUNCTIONS, STRINGS, ATTRIBUTES, STACKS, TABLES };

static const struct {
    const char *camel, *snake;
} table_keys[TABLES] = {
    [MAPPINGS] = {"mappingTable", "mapping_table"},       [LOCATIONS] = {"locationTable", "location_table"},
    [FUNCTIONS] = {"functionTable", "function_table"},    [STRINGS] = {"stringTable", "string_table"},
    [ATTRIBUTES] = {"attributeTable", "attribute_table"}, [STACKS] = {"stackTable", "stack_table"},
};

struct reading {
    struct sxt_otlp *otlp;
    struct sxt_json_reader reader;
    size_t tables[TABLES];               /* where the value begins; 0: there is none */
    struct sxt_otlp_place after_members; /* of the object that was read last */
    struct sxt_otlp_place dictionary_end;
    size_t resources; /* where their value begins; 0: there are none */
    bool has_dictionary;
};

/* Reads a member's value. */
typedef int take_member(struct reading *reading, sxt_string key, void *data);
typedef int take_element(struct reading *reading, void *data);

/* Goes over the members of an object; null has none. Leaves in after_members where another one could be added. */
static int each_member(struct reading *reading, const char *what, take_member *take, void *data)
{
    struct sxt_json_reader *reader = &reading->reader;
    struct sxt_otlp_place end = {0};
    bool more = false;
    sxt_string key;
    sxt_json_read_peek(reader);
    end.at = reader->position;
    if (sxt_json_read_word(reader, "null")) {
        end.end = reader->position;
        reading->after_members = end;
        return SXT_OK;
    }
    int status = sxt_json_read_begin(reader, '{', what);
    end = (struct sxt_otlp_place){.at = reader->position, .end = reader->position, .needs_key = true};
    while (status == SXT_OK && (status = sxt_json_read_more(reader, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(reader, &key, NULL);
        if (status == SXT_OK)
            status = take(reading, key, data);
        end.at = end.end = reader->position;
        end.needs_comma = true;
    }
    reading->after_members = end;
    return status;
}

/* The same for the elements of an array. */
static int each_element(struct reading *reading, const char *what, take_element *take, void *data)
{
    struct sxt_json_reader *reader = &reading->reader;
    struct sxt_otlp_place end = {0};
    bool more = false;
    if (sxt_json_read_word(reader, "null")) {
        reading->after_members = end;
        return SXT_OK;
    }
    int status = sxt_json_read_begin(reader, '[', what);
    end.at = end.end = reader->position;
    while (status == SXT_OK && (status = sxt_json_read_more(reader, ']', &more)) == SXT_OK && more) {
        status = take(reading, data);
        end.at = end.end = reader->position;
        end.needs_comma = true;
    }
    reading->after_members = end;
    return status;
}

static bool is_key(struct reading *reading, sxt_string key, const char *camel, const char *snake)
{
    if (sxt_string_is(key, camel))
        return true;
    if (!sxt_string_is(key, snake))
        return false;
    reading->otlp->uses_snake = true;
    return true;
}

/* A decimal number of 0 or more: "12", "12.0", "1.2e1". UINT64_MAX for anything else that is a number. */
static bool parse_number(sxt_string text, uint64_t *out)
{
    uint64_t value = 0;
    char copy[40], *end;
    if (text.size == 0 || text.size >= sizeof copy)
        return false;
    size_t i = 0;
    for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        unsigned digit = (unsigned)(text.data[i] - '0');
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    *out = value;
    if (i == text.size)
        return true;
    if (strchr("-.eE", text.data[i]) == NULL)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    double number = strtod(copy, &end);
    *out = number >= 0 && number < 18446744073709549568.0 ? (uint64_t)number : UINT64_MAX;
    return *end == 0 && (*out == UINT64_MAX || (double)*out == number);
}

/* null leaves *OUT unchanged. *IS_THERE, which may be NULL, says whether it is a number. */
static int read_number(struct reading *reading, uint64_t *out, bool *is_there)
{
    struct sxt_json_reader *reader = &reading->reader;
    sxt_string text;
    bool is_integer;
    if (sxt_json_read_word(reader, "null"))
        return SXT_OK;
    bool is_quoted = sxt_json_read_peek(reader) == '"';
    size_t start = reader->position;
    int status =
        is_quoted ? sxt_json_read_string(reader, "a number", &text) : sxt_json_read_number(reader, &text, &is_integer);
    if (status == SXT_OK && !parse_number(text, out))
        status = sxt_json_read_fail(reader, start, "not an integer");
    if (status == SXT_OK && is_there != NULL)
        *is_there = true;
    return status;
}

static int read_text(struct reading *reading, sxt_string *out)
{
    if (sxt_json_read_word(&reading->reader, "null"))
        return SXT_OK;
    return sxt_json_read_string(&reading->reader, "a text", out);
}

static int skip(struct reading *reading)
{
    return sxt_json_read_skip(&reading->reader, NULL);
}

/* --- the records of the tables --- */

static int take_string(struct reading *reading, void *data)
{
    (void)data;
    sxt_string string = {"", 0};
    int status = read_text(reading, &string);
    if (status != SXT_OK)
        return status;
    return sxt_pprof_take_string(&reading->otlp->profile, string, reading->otlp->most, reading->reader.error);
}

struct attribute {
    sxt_string key, value;
};

static int take_value_member(struct reading *reading, sxt_string key, void *data)
{
    sxt_string *value = data;
    uint64_t index = 0;
    bool is_there = false;
    if (is_key(reading, key, "stringValue", "string_value"))
        return read_text(reading, value);
    if (!is_key(reading, key, "stringValueStrindex", "string_value_strindex"))
        return skip(reading);
    int status = read_number(reading, &index, &is_there);
    if (status == SXT_OK && is_there)
        *value = sxt_pprof_string(&reading->otlp->profile, index);
    return status;
}

static int take_attribute_member(struct reading *reading, sxt_string key, void *data)
{
    struct attribute *attribute = data;
    uint64_t index = 0;
    if (sxt_string_is(key, "value"))
        return each_member(reading, "a value", take_value_member, &attribute->value);
    if (sxt_string_is(key, "key")) {
        reading->otlp->is_old = true;
        return read_text(reading, &attribute->key);
    }
    if (!is_key(reading, key, "keyStrindex", "key_strindex"))
        return skip(reading);
    int status = read_number(reading, &index, NULL);
    attribute->key = sxt_pprof_string(&reading->otlp->profile, index);
    return status;
}

static int take_attribute(struct reading *reading, void *data)
{
    (void)data;
    struct attribute attribute = {{"", 0}, {"", 0}};
    int status = each_member(reading, "an attribute", take_attribute_member, &attribute);
    if (status != SXT_OK)
        return status;
    return sxt_otlp_take_attribute(reading->otlp, attribute.key, attribute.value, reading->reader.error);
}

struct function {
    uint64_t strings[3];
    bool has_more;
};

static int take_function_member(struct reading *reading, sxt_string key, void *data)
{
    struct function *function = data;
    if (is_key(reading, key, "nameStrindex", "name_strindex"))
        return read_number(reading, &function->strings[0], NULL);
    if (is_key(reading, key, "systemNameStrindex", "system_name_strindex"))
        return read_number(reading, &function->strings[1], NULL);
    if (is_key(reading, key, "filenameStrindex", "filename_strindex"))
        return read_number(reading, &function->strings[2], NULL);
    function->has_more = true;
    return skip(reading);
}

static int take_function(struct reading *reading, void *data)
{
    (void)data;
    struct function function = {0};
    int status = each_member(reading, "a function", take_function_member, &function);
    if (status != SXT_OK)
        return status;
    return sxt_otlp_take_function(reading->otlp, function.strings, function.has_more, reading->reader.error);
}

struct mapping {
    struct sxt_pprof_mapping *to;
    sxt_string go_id;
};

static int take_mapping_attribute(struct reading *reading, void *data)
{
    struct mapping *mapping = data;
    uint64_t index = UINT64_MAX;
    int status = read_number(reading, &index, NULL);
    sxt_otlp_describe_mapping(reading->otlp, mapping->to, index, &mapping->go_id);
    return status;
}

static int take_mapping_member(struct reading *reading, sxt_string key, void *data)
{
    struct sxt_pprof_mapping *mapping = ((struct mapping *)data)->to;
    if (is_key(reading, key, "memoryStart", "memory_start"))
        return read_number(reading, &mapping->start, NULL);
    if (is_key(reading, key, "memoryLimit", "memory_limit"))
        return read_number(reading, &mapping->limit, NULL);
    if (is_key(reading, key, "fileOffset", "file_offset"))
        return read_number(reading, &mapping->offset, NULL);
    if (is_key(reading, key, "attributeIndices", "attribute_indices"))
        return each_element(reading, "attributeIndices", take_mapping_attribute, data);
    if (!is_key(reading, key, "filenameStrindex", "filename_strindex"))
        return skip(reading);
    uint64_t name = 0;
    int status = read_number(reading, &name, NULL);
    mapping->name = sxt_pprof_string(&reading->otlp->profile, name);
    return status;
}

static int take_mapping(struct reading *reading, void *data)
{
    (void)data;
    struct mapping mapping = {.to = sxt_otlp_take_mapping(reading->otlp, reading->reader.error)};
    if (mapping.to == NULL)
        return reading->reader.error->code;
    int status = each_member(reading, "a mapping", take_mapping_member, &mapping);
    if (status != SXT_OK)
        return status;
    return sxt_otlp_finish_mapping(reading->otlp, mapping.to, mapping.go_id, reading->reader.error);
}

struct location {
    struct sxt_pprof_location *to;
    struct sxt_otlp_place lines;
    uint64_t mapping;
    bool has_mapping, has_lines_value;
};

static int take_line(struct reading *reading, void *data)
{
    struct location *location = data;
    location->to->has_lines = true;
    return skip(reading);
}

static int take_location_attribute(struct reading *reading, void *data)
{
    uint64_t index = UINT64_MAX;
    int status = read_number(reading, &index, NULL);
    sxt_otlp_describe_location(reading->otlp, data, index);
    return status;
}

static int take_location_member(struct reading *reading, sxt_string key, void *data)
{
    struct location *location = data;
    if (is_key(reading, key, "mappingIndex", "mapping_index"))
        return read_number(reading, &location->mapping, &location->has_mapping);
    if (sxt_string_is(key, "address"))
        return read_number(reading, &location->to->address, NULL);
    if (is_key(reading, key, "attributeIndices", "attribute_indices"))
        return each_element(reading, "attributeIndices", take_location_attribute, location->to);
    bool is_old_key = sxt_string_is(key, "line");
    if (!is_old_key && !sxt_string_is(key, "lines"))
        return skip(reading);
    reading->otlp->has_line_key |= is_old_key;
    if (location->has_lines_value)
        return sxt_json_read_fail(&reading->reader, reading->reader.position, "a location has lines twice");
    location->has_lines_value = true;
    sxt_json_read_peek(&reading->reader);
    location->lines.at = reading->reader.position;
    int status = each_element(reading, "lines", take_line, location);
    location->lines.end = reading->reader.position;
    return status;
}

static int take_location(struct reading *reading, void *data)
{
    (void)data;
    struct sxt_otlp *otlp = reading->otlp;
    struct location location = {.to = sxt_otlp_take_location(otlp, reading->reader.error)};
    if (location.to == NULL)
        return reading->reader.error->code;
    int status = each_member(reading, "a location", take_location_member, &location);
    if (status != SXT_OK)
        return status;
    sxt_otlp_finish_location(otlp, location.to, location.has_mapping, location.mapping);
    size_t count = otlp->profile.location_count;
    struct sxt_otlp_place *moved = sxt_array_grow(otlp->places, &otlp->place_capacity, count, sizeof *moved);
    if (moved == NULL)
        return sxt_fail_memory(reading->reader.error, count * sizeof *moved);
    otlp->places = moved;
    otlp->places[count - 1] = location.has_lines_value ? location.lines : reading->after_members;
    return SXT_OK;
}

static int take_stack_location(struct reading *reading, void *data)
{
    bool *is_leaf = data;
    uint64_t index = 0;
    int status = read_number(reading, &index, NULL);
    sxt_otlp_mark(reading->otlp, index, *is_leaf);
    *is_leaf = false;
    return status;
}

static int take_stack_member(struct reading *reading, sxt_string key, void *data)
{
    if (!is_key(reading, key, "locationIndices", "location_indices"))
        return skip(reading);
    return each_element(reading, "locationIndices", take_stack_location, data);
}

static int take_stack(struct reading *reading, void *data)
{
    (void)data;
    bool is_leaf = true;
    return each_member(reading, "a stack", take_stack_member, &is_leaf);
}

/* --- the profiles of version 1.7 --- */

static int take_index(struct reading *reading, void *data)
{
    (void)data;
    uint64_t index = 0;
    int status = read_number(reading, &index, NULL);
    return status == SXT_OK ? sxt_otlp_take_index(reading->otlp, index, reading->reader.error) : status;
}

struct sample {
    uint64_t start, length;
};

static int take_sample_member(struct reading *reading, sxt_string key, void *data)
{
    struct sample *sample = data;
    if (is_key(reading, key, "locationsStartIndex", "locations_start_index"))
        return read_number(reading, &sample->start, NULL);
    if (is_key(reading, key, "locationsLength", "locations_length"))
        return read_number(reading, &sample->length, NULL);
    return skip(reading);
}

static int take_sample(struct reading *reading, void *data)
{
    (void)data;
    struct sample sample = {0};
    int status = each_member(reading, "a sample", take_sample_member, &sample);
    if (status == SXT_OK)
        sxt_otlp_take_sample(reading->otlp, sample.start, sample.length <= INT32_MAX ? sample.length : 0);
    return status;
}

/* Where the two lists of a profile begin; 0: nowhere. */
struct old_profile {
    size_t indices, samples;
};

static int take_profile_member(struct reading *reading, sxt_string key, void *data)
{
    struct old_profile *profile = data;
    sxt_json_read_peek(&reading->reader);
    if (is_key(reading, key, "locationIndices", "location_indices"))
        profile->indices = reading->reader.position;
    else if (sxt_string_is(key, "sample") || sxt_string_is(key, "samples"))
        profile->samples = reading->reader.position;
    return skip(reading);
}

static int take_old_lists(struct reading *reading, const struct old_profile *profile)
{
    struct sxt_json_reader *reader = &reading->reader;
    size_t after = reader->position;
    reading->otlp->is_old = true;
    reader->position = profile->indices;
    int status = each_element(reading, "locationIndices", take_index, NULL);
    if (status == SXT_OK)
        status = sxt_otlp_begin_samples(reading->otlp, reader->error);
    reader->position = profile->samples;
    if (status == SXT_OK && profile->samples != 0)
        status = each_element(reading, "samples", take_sample, NULL);
    sxt_otlp_end_samples(reading->otlp);
    reader->position = after;
    return status;
}

/* DATA: whether only the version is wanted. */
static int take_profile(struct reading *reading, void *data)
{
    const bool *only_version = data;
    struct old_profile profile = {0};
    int status = each_member(reading, "a profile", take_profile_member, &profile);
    reading->otlp->is_old |= profile.indices != 0;
    if (status == SXT_OK && profile.indices != 0 && !*only_version)
        status = take_old_lists(reading, &profile);
    return status;
}

static int take_scope_member(struct reading *reading, sxt_string key, void *data)
{
    return sxt_string_is(key, "profiles") ? each_element(reading, "profiles", take_profile, data) : skip(reading);
}

static int take_scope(struct reading *reading, void *data)
{
    return each_member(reading, "a scope", take_scope_member, data);
}

static int take_resource_member(struct reading *reading, sxt_string key, void *data)
{
    return is_key(reading, key, "scopeProfiles", "scope_profiles")
               ? each_element(reading, "scopeProfiles", take_scope, data)
               : skip(reading);
}

static int take_resource(struct reading *reading, void *data)
{
    return each_member(reading, "a resource", take_resource_member, data);
}

static int read_resources(struct reading *reading, bool only_version)
{
    reading->reader.position = reading->resources;
    if (reading->resources == 0)
        return SXT_OK;
    return each_element(reading, "resourceProfiles", take_resource, &only_version);
}

/* --- the message --- */

static int take_dictionary_member(struct reading *reading, sxt_string key, void *data)
{
    (void)data;
    sxt_json_read_peek(&reading->reader);
    for (size_t i = 0; i < TABLES; i++)
        if (is_key(reading, key, table_keys[i].camel, table_keys[i].snake)) {
            if (reading->tables[i] != 0)
                return sxt_json_read_fail(&reading->reader, reading->reader.position, "has %s twice",
                                          table_keys[i].camel);
            reading->tables[i] = reading->reader.position;
        }
    return skip(reading);
}

static int take_message_member(struct reading *reading, sxt_string key, void *data)
{
    (void)data;
    sxt_json_read_peek(&reading->reader);
    if (is_key(reading, key, "resourceProfiles", "resource_profiles"))
        reading->resources = reading->reader.position;
    if (!sxt_string_is(key, "dictionary"))
        return skip(reading);
    if (reading->has_dictionary)
        return sxt_json_read_fail(&reading->reader, reading->reader.position, "has two dictionaries");
    reading->has_dictionary = true;
    int status = each_member(reading, "the dictionary", take_dictionary_member, NULL);
    reading->dictionary_end = reading->after_members;
    return status;
}

/* *END, which may be NULL, becomes the place after the last element. */
static int read_table(struct reading *reading, enum table table, take_element *take, struct sxt_otlp_place *end)
{
    size_t start = reading->tables[table];
    reading->reader.position = start;
    int status = start != 0 ? each_element(reading, table_keys[table].camel, take, NULL) : SXT_OK;
    if (end == NULL)
        return status;
    *end = reading->after_members;
    if (start == 0)
        *end = reading->dictionary_end;
    else if (end->at == 0) /* null */
        *end = (struct sxt_otlp_place){.at = start, .end = reading->reader.position};
    return status;
}

int sxt_otlp_read_json(struct sxt_otlp *otlp, sxt_error *error)
{
    struct reading reading = {.otlp = otlp};
    const struct sxt_pprof *profile = &otlp->profile;
    otlp->is_json = true;
    int status = sxt_json_reader_init(&reading.reader, "not an OTLP message", (const char *)profile->data,
                                      profile->size, &otlp->arena, error);
    reading.reader.replace_surrogates = true;
    if (status == SXT_OK)
        status = each_member(&reading, "the message", take_message_member, NULL);
    if (status == SXT_OK)
        status = sxt_json_read_end(&reading.reader);
    if (status == SXT_OK)
        status = read_table(&reading, STRINGS, take_string, &otlp->strings);
    if (status == SXT_OK)
        status = sxt_pprof_index_strings(&otlp->profile, error);
    if (status == SXT_OK)
        status = read_resources(&reading, true);
    if (status == SXT_OK)
        status = read_table(&reading, ATTRIBUTES, take_attribute, NULL);
    if (status == SXT_OK)
        status = read_table(&reading, FUNCTIONS, take_function, &otlp->functions);
    if (status == SXT_OK)
        status = read_table(&reading, MAPPINGS, take_mapping, NULL);
    if (status == SXT_OK)
        status = read_table(&reading, LOCATIONS, take_location, NULL);
    if (status == SXT_OK)
        status = otlp->is_old ? read_resources(&reading, false) : read_table(&reading, STACKS, take_stack, NULL);
    return status;
}
