/* wire.c: taking protobuf fields off a cursor. */
#include "profile/wire.h"

#define GROUP_START 3
#define GROUP_END   4

/* Behind the tag. Groups are not touched here. */
static void read_value(struct sxt_cursor *cursor, struct sxt_wire_field *field)
{
    switch (field->type) {
    case SXT_WIRE_VARINT:
        field->value = sxt_cursor_uleb128(cursor);
        break;
    case SXT_WIRE_FIXED64:
        sxt_cursor_skip(cursor, 8);
        break;
    case SXT_WIRE_BYTES: {
        uint64_t size = sxt_cursor_uleb128(cursor);
        field->data = sxt_cursor_bytes(cursor, size);
        field->size = field->data != NULL ? (size_t)size : 0;
        break;
    }
    case SXT_WIRE_FIXED32:
        sxt_cursor_skip(cursor, 4);
        break;
    case GROUP_START:
    case GROUP_END:
        break;
    default:
        cursor->failed = true;
    }
}

static void read_tag(struct sxt_cursor *cursor, struct sxt_wire_field *field)
{
    uint64_t tag = sxt_cursor_uleb128(cursor);
    *field = (struct sxt_wire_field){.number = tag >> 3, .type = tag & 7};
    if (field->number == 0)
        cursor->failed = true;
}

bool sxt_wire_next(struct sxt_cursor *cursor, struct sxt_wire_field *field)
{
    if (cursor->failed || sxt_cursor_left(cursor) == 0)
        return false;
    size_t start = cursor->at;
    read_tag(cursor, field);
    read_value(cursor, field);
    if (field->type == GROUP_END)
        cursor->failed = true;
    uint64_t depth = field->type == GROUP_START;
    while (depth > 0 && !cursor->failed) {
        struct sxt_wire_field inner;
        read_tag(cursor, &inner);
        read_value(cursor, &inner);
        if (inner.type == GROUP_START)
            depth++;
        else if (inner.type == GROUP_END)
            depth--;
    }
    field->start = start;
    field->end = cursor->at;
    return !cursor->failed;
}

struct sxt_cursor sxt_wire_inside(const struct sxt_cursor *cursor, const struct sxt_wire_field *field)
{
    return sxt_cursor_make(field->data, field->size, cursor->base + field->end - field->size, false);
}
