/* wire.h: the fields of a protobuf message, one after another, each with the bytes that it stands in. */
#ifndef SXT_PROFILE_WIRE_H
#define SXT_PROFILE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

enum sxt_wire_type { SXT_WIRE_VARINT = 0, SXT_WIRE_FIXED64 = 1, SXT_WIRE_BYTES = 2, SXT_WIRE_FIXED32 = 5 };

struct sxt_wire_field {
    uint64_t number;
    unsigned type;       /* sxt_wire_type, or 3: a group, which is skipped as a whole */
    uint64_t value;      /* of a varint */
    const uint8_t *data; /* of bytes */
    size_t size;
    size_t start, end; /* all of it, from its tag on: positions of the cursor */
};

/* The next field; false at the end of the message, and when it is damaged: then cursor->failed is set. */
bool sxt_wire_next(struct sxt_cursor *cursor, struct sxt_wire_field *field);

/* A cursor over the bytes of FIELD. */
struct sxt_cursor sxt_wire_inside(const struct sxt_cursor *cursor, const struct sxt_wire_field *field);

#endif
