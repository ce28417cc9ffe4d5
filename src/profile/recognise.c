/* recognise.c: whether some bytes are a pprof profile. */
#include <stdlib.h>

#include "base/inflate.h"
#include "base/protobuf.h"
#include "profile/call_tree.h"

/* Enough to see several fields; the rest is not looked at. */
#define START_SIZE ((size_t)64 << 10)

/* The fields of a Profile by number: how many kinds of fields are in it if it is a message, and what it is. */
static const struct {
    bool is_bytes, is_number;
    uint64_t inner; /* the largest number of its own fields; 0 if it has none */
} known_fields[] = {
    [1] = {.is_bytes = true, .inner = 2},         /* sample_type */
    [2] = {.is_bytes = true, .inner = 3},         /* sample */
    [3] = {.is_bytes = true, .inner = 10},        /* mapping */
    [4] = {.is_bytes = true, .inner = 5},         /* location */
    [5] = {.is_bytes = true, .inner = 5},         /* function */
    [6] = {.is_bytes = true},                     /* string_table */
    [7] = {.is_number = true},                    /* drop_frames */
    [8] = {.is_number = true},                    /* keep_frames */
    [9] = {.is_number = true},                    /* time_nanos */
    [10] = {.is_number = true},                   /* duration_nanos */
    [11] = {.is_bytes = true, .inner = 2},        /* period_type */
    [12] = {.is_number = true},                   /* period */
    [13] = {.is_bytes = true, .is_number = true}, /* comment */
    [14] = {.is_number = true},                   /* default_sample_type */
    [15] = {.is_number = true},                   /* doc_url */
};

static bool is_inner_message(struct sxt_cursor message, uint64_t most)
{
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);)
        if (field.number == 0 || field.number > most)
            return false;
    return !message.failed;
}

static bool fits(const struct sxt_cursor *message, const struct sxt_protobuf_field *field)
{
    if (field->number == 0 || field->number >= sizeof known_fields / sizeof *known_fields)
        return false;
    if (field->wire == SXT_PROTOBUF_VARINT)
        return known_fields[field->number].is_number;
    if (field->wire != SXT_PROTOBUF_BYTES || !known_fields[field->number].is_bytes)
        return false;
    uint64_t inner = known_fields[field->number].inner;
    return inner == 0 || is_inner_message(sxt_protobuf_inside(message, field), inner);
}

bool sxt_profile_is(const void *data, size_t size)
{
    uint8_t *room = NULL;
    enum sxt_compression kind = sxt_compression_of(data, size);
    bool is_cut = size > START_SIZE;
    if (kind != SXT_COMPRESSION_NONE) {
        room = malloc(START_SIZE);
        if (room == NULL)
            return false;
        size = sxt_inflate_start(kind, data, size, room, START_SIZE);
        is_cut = size == START_SIZE;
        data = room;
    } else if (is_cut) {
        size = START_SIZE;
    }
    struct sxt_cursor message = sxt_cursor_make(data, size, 0, false);
    bool is_profile = true, has_type = false, has_strings = false;
    for (struct sxt_protobuf_field field; is_profile && sxt_protobuf_next(&message, &field);) {
        is_profile = fits(&message, &field);
        has_type |= field.number == 1;
        /* The first string is the empty one. */
        is_profile &= field.number != 6 || has_strings || field.size == 0;
        has_strings |= field.number == 6;
    }
    free(room);
    return is_profile && (is_cut ? has_type || has_strings : has_type && has_strings && !message.failed);
}
