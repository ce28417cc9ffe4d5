/* pyroscope_message.c: reads requests of Pyroscope's debug-info service. */
#include "service/pyroscope_message.h"

#include "base/error.h"
#include "base/json_reader.h"
#include "base/protobuf.h"
#include "base/string.h"

#define SUBJECT "the request"

static int read_json(struct sxt_json_reader *json, bool has_file, struct sxt_pyroscope_message *out);
static int read_protobuf(struct sxt_cursor cursor, bool has_file, struct sxt_pyroscope_message *out, sxt_error *error);

int sxt_pyroscope_read(const void *data, size_t size, bool is_json, bool has_file, struct sxt_arena *arena,
                       struct sxt_pyroscope_message *out, sxt_error *error)
{
    *out = (struct sxt_pyroscope_message){0};
    if (!is_json)
        return read_protobuf(sxt_cursor_make(data, size, 0, false), has_file, out, error);
    struct sxt_json_reader json;
    int status = sxt_json_reader_init(&json, SUBJECT, data, size, arena, error);
    if (status == SXT_OK)
        status = read_json(&json, has_file, out);
    return status == SXT_OK ? sxt_json_read_end(&json) : status;
}

/* --- JSON --- */

/* A number, or a number in quotes, or the name of a type. */
static int read_type(struct sxt_json_reader *json, uint64_t *out)
{
    static const char *const names[] = {"TYPE_UNSPECIFIED", "TYPE_EXECUTABLE_FULL", "TYPE_EXECUTABLE_NO_TEXT"};
    size_t position = json->position;
    sxt_string name;
    if (sxt_json_read_peek(json) != '"')
        return sxt_json_read_unsigned(json, "type", out);
    int status = sxt_json_read_string(json, "type", &name);
    for (size_t i = 0; i < sizeof names / sizeof *names && status == SXT_OK; i++)
        if (sxt_string_is(name, names[i])) {
            *out = i;
            return SXT_OK;
        }
    return status == SXT_OK ? sxt_json_read_fail(json, position, "type is not known") : status;
}

static int read_member(struct sxt_json_reader *json, sxt_string key, struct sxt_pyroscope_message *out)
{
    bool is_build_id = sxt_string_is(key, "gnuBuildId") || sxt_string_is(key, "gnu_build_id");
    if (sxt_json_read_word(json, "null"))
        return SXT_OK;
    if (is_build_id)
        return sxt_json_read_string(json, "gnuBuildId", &out->build_id);
    if (sxt_string_is(key, "otelFileId") || sxt_string_is(key, "otel_file_id"))
        return sxt_json_read_string(json, "otelFileId", &out->file_id);
    if (sxt_string_is(key, "name"))
        return sxt_json_read_string(json, "name", &out->name);
    return sxt_string_is(key, "type") ? read_type(json, &out->type) : sxt_json_read_skip(json, NULL);
}

static int read_json_file(struct sxt_json_reader *json, struct sxt_pyroscope_message *out)
{
    bool more = false;
    sxt_string key;
    int status = sxt_json_read_begin(json, '{', "file");
    while (status == SXT_OK && (status = sxt_json_read_more(json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(json, &key, NULL);
        if (status == SXT_OK)
            status = read_member(json, key, out);
    }
    out->has_file = true;
    return status;
}

static int read_json(struct sxt_json_reader *json, bool has_file, struct sxt_pyroscope_message *out)
{
    bool more = false;
    sxt_string key;
    int status = sxt_json_read_begin(json, '{', "the request");
    while (status == SXT_OK && (status = sxt_json_read_more(json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(json, &key, NULL);
        if (status != SXT_OK)
            return status;
        if (!has_file)
            status = read_member(json, key, out);
        else if (sxt_string_is(key, "file") && !sxt_json_read_word(json, "null"))
            status = read_json_file(json, out);
        else if (!sxt_string_is(key, "file"))
            status = sxt_json_read_skip(json, NULL);
    }
    return status;
}

/* --- protobuf --- */

#define BUILD_ID_FIELD 1
#define FILE_ID_FIELD  3
#define NAME_FIELD     4
#define TYPE_FIELD     5
#define FILE_FIELD     1

static int fail_damaged(const struct sxt_cursor *cursor, sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_FORMAT, sxt_cursor_offset(cursor), SUBJECT ": damaged protobuf");
}

/* The fields of a file; of a message without a file, the first one is the same. */
static int read_fields(struct sxt_cursor *cursor, struct sxt_pyroscope_message *out, sxt_error *error)
{
    struct sxt_protobuf_field field;
    while (sxt_protobuf_next(cursor, &field)) {
        if (field.number == BUILD_ID_FIELD && field.wire == SXT_PROTOBUF_BYTES)
            out->build_id = (sxt_string){(const char *)field.data, field.size};
        else if (field.number == FILE_ID_FIELD && field.wire == SXT_PROTOBUF_BYTES)
            out->file_id = (sxt_string){(const char *)field.data, field.size};
        else if (field.number == NAME_FIELD && field.wire == SXT_PROTOBUF_BYTES)
            out->name = (sxt_string){(const char *)field.data, field.size};
        else if (field.number == TYPE_FIELD && field.wire == SXT_PROTOBUF_VARINT)
            out->type = field.value;
    }
    return cursor->failed ? fail_damaged(cursor, error) : SXT_OK;
}

static int read_protobuf(struct sxt_cursor cursor, bool has_file, struct sxt_pyroscope_message *out, sxt_error *error)
{
    struct sxt_protobuf_field field;
    int status = SXT_OK;
    if (!has_file)
        return read_fields(&cursor, out, error);
    while (status == SXT_OK && sxt_protobuf_next(&cursor, &field)) {
        if (field.number != FILE_FIELD || field.wire != SXT_PROTOBUF_BYTES)
            continue;
        struct sxt_cursor inside = sxt_protobuf_inside(&cursor, &field);
        out->has_file = true;
        status = read_fields(&inside, out, error); /* of two, the second one adds to the first */
    }
    return status == SXT_OK && cursor.failed ? fail_damaged(&cursor, error) : status;
}
