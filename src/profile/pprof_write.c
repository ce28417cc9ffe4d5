/*
 * pprof_write.c: writes the profile, field by field. Mappings that were resolved get their flags, locations their
 * lines; everything else is copied.
 */
#include "base/error.h"
#include "base/protobuf.h"
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

static void write_location(const struct sxt_pprof *pprof, const struct sxt_pprof_location *location,
                           struct sxt_cursor message, struct sxt_buffer *scratch)
{
    copy_fields(message, 4, 4, scratch);
    for (uint32_t i = 0; i < location->line_count; i++) {
        const struct sxt_pprof_line *line = &pprof->lines[location->first_line + i];
        uint64_t id = pprof->last_function + 1 + line->function;
        size_t size = 1 + sxt_protobuf_size(id) + (line->line != 0 ? 1 + sxt_protobuf_size(line->line) : 0);
        sxt_buffer_varint(scratch, SXT_PROTOBUF_KEY(4, SXT_PROTOBUF_BYTES));
        sxt_buffer_varint(scratch, size);
        sxt_protobuf_write_number(scratch, 1, id);
        if (line->line != 0)
            sxt_protobuf_write_number(scratch, 2, line->line);
    }
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
    struct sxt_buffer scratch;
    if (pprof->function_count > UINT64_MAX - pprof->last_function)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has a function with id %llu: none is left for new ones",
                        (unsigned long long)pprof->last_function);
    sxt_buffer_init(&scratch, out->maximum);
    struct sxt_cursor profile = sxt_cursor_make(pprof->data, pprof->size, 0, false);
    size_t mapping = 0, location = 0, copied = 0;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&profile, &field) && !scratch.failed && !out->failed;) {
        bool is_changed = false;
        sxt_buffer_clear(&scratch);
        if (field.wire == SXT_PROTOBUF_BYTES && field.number == 3) {
            is_changed = pprof->mappings[mapping++].resolved;
            if (is_changed)
                write_mapping(sxt_protobuf_inside(&profile, &field), &scratch);
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
    }
    sxt_buffer_append(out, pprof->data + copied, pprof->size - copied);
    if (!scratch.failed)
        write_functions(pprof, &scratch, out);
    write_strings(pprof, out);
    int status = sxt_buffer_status(out, error);
    if (status == SXT_OK)
        status = sxt_buffer_status(&scratch, error);
    sxt_buffer_free(&scratch);
    return status;
}
