/*
 * decode.h: decodes the bodies of messages into records. Private to this room.
 *
 * A decoder keeps what a record depends on: the address of the record before, and the string table. It owns what its
 * records point to, except for text, which is in the message or in the table.
 */
#ifndef SXT_SYMBFILE_DECODE_H
#define SXT_SYMBFILE_DECODE_H

#include "symbfile/input.h"

/* A repeated field of numbers. */
struct sxt_symbfile_column {
    uint32_t *items;
    size_t count, capacity;
    uint64_t offset; /* of its first byte in the file */
};

struct sxt_symbfile_decoder {
    uint64_t address; /* of the record before */
    bool has_address;

    const uint8_t *table; /* body of the string table */
    struct sxt_symbfile_place {
        uint32_t start, size;
    } * strings; /* where each string is in the body */
    size_t string_count, string_capacity;
    bool keeps_table; /* set by the owner when the bodies of messages do not last: the table is copied */
    uint8_t *copy;    /* of the body */
    size_t copy_capacity;

    struct sxt_symbfile_column columns[3];
    struct sxt_symbfile_line *lines;
    size_t line_capacity;
    struct sxt_symbfile_frame *frames;
    size_t frame_capacity;

    /* For callers that continue after a failure: what is unknown because of it is not reported again. */
    bool address_is_lost;
    bool table_is_lost;
};

void sxt_symbfile_decoder_free(struct sxt_symbfile_decoder *decoder);

int sxt_symbfile_decode_range(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message,
                              struct sxt_symbfile_range *range, struct sxt_symbfile_failure *failure);
int sxt_symbfile_decode_pad(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message,
                            struct sxt_symbfile_pad *pad, struct sxt_symbfile_failure *failure);

/*
 * Decodes MESSAGE, if it is a record or a string table. record->kind is SXT_SYMBFILE_END if it is not a record. Unknown
 * messages are fine; a second header is not.
 */
int sxt_symbfile_decode_record(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message,
                               struct sxt_symbfile_record *record, struct sxt_symbfile_failure *failure);

/* Makes MESSAGE the string table. After a failure the table has the strings before it. */
int sxt_symbfile_decode_strings(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message,
                                struct sxt_symbfile_failure *failure);

#endif
