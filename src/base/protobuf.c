/* protobuf.c: fields that are looked at one by one, and fields that are skipped. */
#include "base/protobuf.h"

#define GROUPS_MAX 100 /* groups inside groups that are followed, as other readers do */

const uint8_t *sxt_protobuf_skip(const uint8_t *at, const uint8_t *end, uint64_t number, unsigned wire)
{
    uint64_t open[GROUPS_MAX], size;
    size_t depth = 0;
    for (;;) {
        size = 0;
        switch (wire) {
        case SXT_PROTOBUF_VARINT: {
            uint64_t value;
            at = sxt_protobuf_get(at, end, &value);
            break;
        }
        case SXT_PROTOBUF_FIXED64:
            size = 8;
            break;
        case SXT_PROTOBUF_FIXED32:
            size = 4;
            break;
        case SXT_PROTOBUF_BYTES:
            at = sxt_protobuf_get(at, end, &size);
            break;
        case SXT_PROTOBUF_GROUP:
            if (depth == GROUPS_MAX)
                return NULL;
            open[depth++] = number;
            break;
        case SXT_PROTOBUF_GROUP_END:
            if (depth == 0 || open[--depth] != number)
                return NULL;
            break;
        default:
            return NULL;
        }
        if (at == NULL || size > (size_t)(end - at))
            return NULL;
        at += size;
        if (depth == 0)
            return at;
        uint64_t key;
        at = sxt_protobuf_get(at, end, &key);
        if (at == NULL || SXT_PROTOBUF_NUMBER(key) == 0 || key > UINT32_MAX)
            return NULL;
        number = SXT_PROTOBUF_NUMBER(key);
        wire = key & 7;
    }
}

bool sxt_protobuf_next(struct sxt_cursor *cursor, struct sxt_protobuf_field *field)
{
    if (cursor->failed || sxt_cursor_left(cursor) == 0)
        return false;
    const uint8_t *end = cursor->data + cursor->size;
    uint64_t key = 0, length = 0;
    const uint8_t *at = sxt_protobuf_get(cursor->data + cursor->at, end, &key);
    *field = (struct sxt_protobuf_field){.number = SXT_PROTOBUF_NUMBER(key), .wire = key & 7, .start = cursor->at};
    if (at != NULL && field->number == 0) {
        at = NULL;
    } else if (at != NULL && field->wire == SXT_PROTOBUF_VARINT) {
        at = sxt_protobuf_get(at, end, &field->value);
    } else if (at != NULL && field->wire == SXT_PROTOBUF_BYTES) {
        at = sxt_protobuf_get(at, end, &length);
        if (at != NULL && length > (size_t)(end - at))
            at = NULL;
        field->data = at;
        field->size = at != NULL ? (size_t)length : 0;
        at = at != NULL ? at + length : NULL;
    } else if (at != NULL) {
        at = sxt_protobuf_skip(at, end, field->number, field->wire);
    }
    cursor->failed = at == NULL;
    if (at != NULL)
        cursor->at = (size_t)(at - cursor->data);
    field->end = cursor->at;
    return at != NULL;
}

struct sxt_cursor sxt_protobuf_inside(const struct sxt_cursor *cursor, const struct sxt_protobuf_field *field)
{
    return sxt_cursor_make(field->data, field->size, cursor->base + field->end - field->size, false);
}

void sxt_protobuf_write_number(struct sxt_buffer *out, unsigned number, uint64_t value)
{
    sxt_buffer_varint(out, SXT_PROTOBUF_KEY((uint64_t)number, SXT_PROTOBUF_VARINT));
    sxt_buffer_varint(out, value);
}

void sxt_protobuf_write_bytes(struct sxt_buffer *out, unsigned number, const void *data, size_t size)
{
    sxt_buffer_varint(out, SXT_PROTOBUF_KEY((uint64_t)number, SXT_PROTOBUF_BYTES));
    sxt_buffer_varint(out, size);
    sxt_buffer_append(out, data, size);
}
