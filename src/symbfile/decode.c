/*
 * decode.c: decodes protobuf as every reader must: fields in any order and more than once (the last one counts; lists
 * are continued), lists packed or not, integers longer than they need to be, unknown fields.
 */
#include "symbfile/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "symbfile/fields.h"

/* The fields that a message knows, as a set. */
#define BIT(key) (1u << SXT_PROTOBUF_NUMBER(key))
#define RANGE_NUMBERS                                                                                                  \
    (BIT(SXT_RANGE_DELTA) | BIT(SXT_RANGE_ADDRESS) | BIT(SXT_RANGE_LENGTH) | BIT(SXT_RANGE_CALL_LINE) |                \
     BIT(SXT_RANGE_DEPTH) | BIT(SXT_RANGE_IS_PIECE) | BIT(SXT_RANGE_FUNCTION) | BIT(SXT_RANGE_FILE) |                  \
     BIT(SXT_RANGE_CALL_FILE))
#define RANGE_TEXTS   (BIT(SXT_RANGE_FUNCTION_TEXT) | BIT(SXT_RANGE_FILE_TEXT) | BIT(SXT_RANGE_CALL_FILE_TEXT))
#define RANGE_LINES   BIT(SXT_RANGE_LINES)
#define LINES_COLUMNS (BIT(SXT_LINES_OFFSETS) | BIT(SXT_LINES_NUMBERS))
#define PAD_ADDRESSES (BIT(SXT_PAD_DELTA) | BIT(SXT_PAD_ADDRESS))
#define PAD_COLUMNS   (BIT(SXT_PAD_FUNCTIONS) | BIT(SXT_PAD_FILES) | BIT(SXT_PAD_LINES))
#define STRINGS_TEXTS BIT(SXT_STRINGS_TEXT)

/* A message that is being decoded. */
struct body {
    const uint8_t *start, *end;
    uint64_t offset;  /* in the file */
    const char *what; /* for messages */
    struct sxt_symbfile_failure *failure;
};

struct key {
    uint64_t value;
    unsigned field; /* its number, if that is below 16; 0 otherwise, which is in no set */
    unsigned wire;
};

/* The fields of a range by number; only those in `seen` are set. */
struct fields {
    uint32_t seen;
    uint64_t numbers[16];
    sxt_string texts[8];
    const uint8_t *places[16];
};

static const uint8_t *take_key(const struct body *body, const uint8_t *at, struct key *key);
static const uint8_t *take_text(const struct body *body, const uint8_t *at, sxt_string *text);
static const uint8_t *take_lines(const struct body *body, const uint8_t *at, struct sxt_symbfile_decoder *decoder);
static const uint8_t *take_column(const struct body *body, const uint8_t *at, const struct key *key,
                                  struct sxt_symbfile_column *column);
static const uint8_t *skip_field(const struct body *body, const uint8_t *at, const struct key *key, uint32_t known);
static const uint8_t *cut_off(const struct body *body, const uint8_t *at);
static int locate(struct sxt_symbfile_decoder *decoder, const struct body *body, const uint8_t *place, bool whole,
                  uint64_t value);
static int resolve(const struct sxt_symbfile_decoder *decoder, const struct body *body, const struct fields *fields,
                   uint8_t text_key, uint8_t reference_key, sxt_string *out);
static int join_lines(struct sxt_symbfile_decoder *decoder, const struct body *body, struct sxt_symbfile_range *range);
static int join_frames(struct sxt_symbfile_decoder *decoder, const struct body *body, struct sxt_symbfile_pad *pad);

void sxt_symbfile_decoder_free(struct sxt_symbfile_decoder *decoder)
{
    for (size_t i = 0; i < sizeof decoder->columns / sizeof *decoder->columns; i++)
        free(decoder->columns[i].items);
    free(decoder->strings);
    free(decoder->copy);
    free(decoder->lines);
    free(decoder->frames);
    *decoder = (struct sxt_symbfile_decoder){.has_address = false};
}

int sxt_symbfile_decode_record(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message,
                               struct sxt_symbfile_record *record, struct sxt_symbfile_failure *failure)
{
    record->offset = message->offset;
    record->kind = SXT_SYMBFILE_END;
    switch (message->type) {
    case SXT_SYMBFILE_TYPE_RANGE:
        record->kind = SXT_SYMBFILE_RANGE;
        return sxt_symbfile_decode_range(decoder, message, &record->range, failure);
    case SXT_SYMBFILE_TYPE_PAD:
        record->kind = SXT_SYMBFILE_PAD;
        return sxt_symbfile_decode_pad(decoder, message, &record->pad, failure);
    case SXT_SYMBFILE_TYPE_STRINGS:
        return sxt_symbfile_decode_strings(decoder, message, failure);
    default:
        return sxt_symbfile_check_type(message, false, failure);
    }
}

static struct body open_body(const struct sxt_symbfile_message *message, const char *what,
                             struct sxt_symbfile_failure *failure)
{
    return (struct body){message->body, message->body + message->size, message->body_offset, what, failure};
}

static uint64_t offset_of(const struct body *body, const uint8_t *at)
{
    return body->offset + (uint64_t)(at - body->start);
}

/* Whether a field is one of the lists in COLUMNS, or an entry of one. */
static inline bool is_column(const struct key *key, uint32_t columns)
{
    return (key->wire == SXT_PROTOBUF_BYTES || key->wire == SXT_PROTOBUF_VARINT) && columns >> key->field & 1;
}

/*
 * Reads the fields of a range. Each range has other fields, so there is no jump for each one: all numbers are read the
 * same way, and all texts. Of two fields that exclude each other, the later one counts.
 */
static bool take_range(const struct body *body, struct sxt_symbfile_decoder *decoder, struct fields *fields)
{
    static const uint16_t rivals[16] = {
        [SXT_PROTOBUF_NUMBER(SXT_RANGE_DELTA)] = BIT(SXT_RANGE_ADDRESS),
        [SXT_PROTOBUF_NUMBER(SXT_RANGE_ADDRESS)] = BIT(SXT_RANGE_DELTA),
        [SXT_PROTOBUF_NUMBER(SXT_RANGE_FUNCTION_TEXT)] = BIT(SXT_RANGE_FUNCTION),
        [SXT_PROTOBUF_NUMBER(SXT_RANGE_FUNCTION)] = BIT(SXT_RANGE_FUNCTION_TEXT),
        [SXT_PROTOBUF_NUMBER(SXT_RANGE_FILE_TEXT)] = BIT(SXT_RANGE_FILE),
        [SXT_PROTOBUF_NUMBER(SXT_RANGE_FILE)] = BIT(SXT_RANGE_FILE_TEXT),
        [SXT_PROTOBUF_NUMBER(SXT_RANGE_CALL_FILE_TEXT)] = BIT(SXT_RANGE_CALL_FILE),
        [SXT_PROTOBUF_NUMBER(SXT_RANGE_CALL_FILE)] = BIT(SXT_RANGE_CALL_FILE_TEXT),
    };
    uint32_t seen = 0;
    struct key key;
    for (const uint8_t *at = body->start, *place; at < body->end;) {
        place = take_key(body, at, &key);
        if (place == NULL)
            return false;
        if (key.wire == SXT_PROTOBUF_VARINT && RANGE_NUMBERS >> key.field & 1) {
            uint64_t value;
            at = sxt_protobuf_get(place, body->end, &value);
            if (at == NULL)
                cut_off(body, place);
            fields->numbers[key.field] = value;
        } else if (key.wire == SXT_PROTOBUF_BYTES && RANGE_TEXTS >> key.field & 1) {
            at = take_text(body, place, &fields->texts[key.field]);
        } else if (key.wire == SXT_PROTOBUF_BYTES && RANGE_LINES >> key.field & 1) {
            at = take_lines(body, place, decoder);
        } else {
            at = skip_field(body, place, &key, (RANGE_NUMBERS | RANGE_TEXTS | RANGE_LINES) & ~BIT(SXT_RANGE_IS_PIECE));
            key.field = 0;
        }
        if (at == NULL)
            return false;
        fields->places[key.field] = place;
        seen = (seen & ~(uint32_t)rivals[key.field]) | 1u << key.field;
    }
    fields->seen = seen;
    return true;
}

static inline bool has(const struct fields *fields, uint8_t key)
{
    return fields->seen >> SXT_PROTOBUF_NUMBER(key) & 1;
}

static inline uint64_t number_of(const struct fields *fields, uint8_t key)
{
    return has(fields, key) ? fields->numbers[SXT_PROTOBUF_NUMBER(key)] : 0;
}

int sxt_symbfile_decode_range(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message,
                              struct sxt_symbfile_range *range, struct sxt_symbfile_failure *failure)
{
    struct body body = open_body(message, "range", failure);
    struct fields fields;
    decoder->columns[0].count = decoder->columns[1].count = 0;
    if (!take_range(&body, decoder, &fields))
        return failure->error.code;
    bool whole = has(&fields, SXT_RANGE_ADDRESS);
    uint8_t address = whole ? SXT_RANGE_ADDRESS : SXT_RANGE_DELTA;
    const uint8_t *place = has(&fields, address) ? fields.places[SXT_PROTOBUF_NUMBER(address)] : NULL;
    int status = locate(decoder, &body, place, whole, number_of(&fields, address));
    *range = (struct sxt_symbfile_range){
        .address = decoder->address,
        .length = number_of(&fields, SXT_RANGE_LENGTH),
        .depth = (uint32_t)number_of(&fields, SXT_RANGE_DEPTH),
        .call_line = (uint32_t)number_of(&fields, SXT_RANGE_CALL_LINE),
        .continues = number_of(&fields, SXT_RANGE_IS_PIECE) != 0,
    };
    if (status == SXT_OK && !has(&fields, SXT_RANGE_FUNCTION) && !has(&fields, SXT_RANGE_FUNCTION_TEXT))
        status = SXT_SYMBFILE_DAMAGED(failure, "missing-field", body.offset, "range without a function");
    if (status == SXT_OK)
        status = resolve(decoder, &body, &fields, SXT_RANGE_FUNCTION_TEXT, SXT_RANGE_FUNCTION, &range->function);
    if (status == SXT_OK)
        status = resolve(decoder, &body, &fields, SXT_RANGE_FILE_TEXT, SXT_RANGE_FILE, &range->file);
    if (status == SXT_OK)
        status = resolve(decoder, &body, &fields, SXT_RANGE_CALL_FILE_TEXT, SXT_RANGE_CALL_FILE, &range->call_file);
    return status == SXT_OK ? join_lines(decoder, &body, range) : status;
}

int sxt_symbfile_decode_pad(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message,
                            struct sxt_symbfile_pad *pad, struct sxt_symbfile_failure *failure)
{
    struct body body = open_body(message, "return pad", failure);
    struct sxt_symbfile_column *columns = decoder->columns;
    const uint8_t *position = NULL;
    bool whole = false;
    uint64_t address = 0;
    struct key key;
    columns[0].count = columns[1].count = columns[2].count = 0;
    for (const uint8_t *at = body.start, *place; at < body.end;) {
        place = take_key(&body, at, &key);
        if (place == NULL)
            return failure->error.code;
        if (is_column(&key, PAD_COLUMNS)) {
            at = take_column(&body, place, &key, &columns[key.field - SXT_PROTOBUF_NUMBER(SXT_PAD_FUNCTIONS)]);
        } else if (key.wire == SXT_PROTOBUF_VARINT && PAD_ADDRESSES >> key.field & 1) {
            at = sxt_protobuf_get(place, body.end, &address);
            if (at == NULL)
                cut_off(&body, place);
            position = place;
            whole = key.value == SXT_PAD_ADDRESS;
        } else {
            at = skip_field(&body, place, &key, PAD_COLUMNS | PAD_ADDRESSES);
        }
        if (at == NULL)
            return failure->error.code;
    }
    int status = locate(decoder, &body, position, whole, address);
    *pad = (struct sxt_symbfile_pad){.address = decoder->address};
    return status == SXT_OK ? join_frames(decoder, &body, pad) : status;
}

static bool keep_table(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message)
{
    decoder->table = message->body;
    if (!decoder->keeps_table || message->size == 0)
        return true;
    void *moved = sxt_array_grow(decoder->copy, &decoder->copy_capacity, message->size, 1);
    if (moved == NULL)
        return false;
    decoder->copy = moved;
    memcpy(decoder->copy, message->body, message->size);
    decoder->table = decoder->copy;
    return true;
}

int sxt_symbfile_decode_strings(struct sxt_symbfile_decoder *decoder, const struct sxt_symbfile_message *message,
                                struct sxt_symbfile_failure *failure)
{
    struct body body = open_body(message, "string table", failure);
    decoder->string_count = 0;
    if (!keep_table(decoder, message))
        return sxt_symbfile_no_memory(failure, message->size);
    struct key key;
    for (const uint8_t *at = body.start, *place; at < body.end;) {
        sxt_string text = {NULL, 0};
        place = take_key(&body, at, &key);
        if (place != NULL)
            at = key.value == SXT_STRINGS_TEXT ? take_text(&body, place, &text)
                                               : skip_field(&body, place, &key, STRINGS_TEXTS);
        if (place == NULL || at == NULL)
            return failure->error.code;
        if (text.data == NULL)
            continue;
        void *moved = sxt_array_grow(decoder->strings, &decoder->string_capacity, decoder->string_count + 1,
                                     sizeof *decoder->strings);
        if (moved == NULL)
            return sxt_symbfile_no_memory(failure, decoder->string_count * sizeof *decoder->strings);
        decoder->strings = moved;
        decoder->strings[decoder->string_count++] =
            (struct sxt_symbfile_place){(uint32_t)((const uint8_t *)text.data - body.start), (uint32_t)text.size};
    }
    return SXT_OK;
}

static const uint8_t *take_key(const struct body *body, const uint8_t *at, struct key *key)
{
    uint64_t value;
    const uint8_t *next = sxt_protobuf_get(at, body->end, &value);
    if (next == NULL)
        return cut_off(body, at);
    *key = (struct key){value, value < SXT_PROTOBUF_KEY(16, 0) ? (unsigned)SXT_PROTOBUF_NUMBER(value) : 0, value & 7};
    return next;
}

static const uint8_t *cut_off(const struct body *body, const uint8_t *at)
{
    SXT_SYMBFILE_DAMAGED(body->failure, "field", offset_of(body, at),
                         "%s: a field is cut off, or has a number that does not fit in 64 bits", body->what);
    return NULL;
}

/* Bytes after their size; returns where they end. */
static const uint8_t *take_bytes(const struct body *body, const uint8_t *at, const uint8_t **bytes, size_t *size)
{
    uint64_t length;
    const uint8_t *start = sxt_protobuf_get(at, body->end, &length);
    if (start == NULL || length > (size_t)(body->end - start))
        return cut_off(body, at);
    *bytes = start;
    *size = (size_t)length;
    return start + length;
}

static const uint8_t *take_text(const struct body *body, const uint8_t *at, sxt_string *text)
{
    const uint8_t *bytes, *end = take_bytes(body, at, &bytes, &text->size);
    if (end == NULL)
        return NULL;
    text->data = (const char *)bytes;
    size_t valid = sxt_utf8_valid(text->data, text->size);
    if (valid == text->size)
        return end;
    SXT_SYMBFILE_DAMAGED(body->failure, "utf8", offset_of(body, bytes + valid), "%s: a string is not UTF-8",
                         body->what);
    return NULL;
}

static const uint8_t *take_lines(const struct body *body, const uint8_t *start, struct sxt_symbfile_decoder *decoder)
{
    const uint8_t *bytes;
    size_t size;
    const uint8_t *end = take_bytes(body, start, &bytes, &size);
    if (end == NULL)
        return NULL;
    const struct body lines = {bytes, end, offset_of(body, bytes), "line table", body->failure};
    struct key key;
    for (const uint8_t *at = bytes, *place; at < end;) {
        place = take_key(&lines, at, &key);
        if (place == NULL)
            return NULL;
        if (is_column(&key, LINES_COLUMNS))
            at =
                take_column(&lines, place, &key, &decoder->columns[key.field - SXT_PROTOBUF_NUMBER(SXT_LINES_OFFSETS)]);
        else
            at = skip_field(&lines, place, &key, LINES_COLUMNS);
        if (at == NULL)
            return NULL;
    }
    return end;
}

/* Counts packed numbers: each has exactly one byte without the continuation bit. */
static size_t count_numbers(const uint8_t *bytes, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] < 0x80;
    return count;
}

/* A part of a list: many numbers, packed, or a single one. */
static const uint8_t *take_column(const struct body *body, const uint8_t *at, const struct key *key,
                                  struct sxt_symbfile_column *column)
{
    const uint8_t *end = body->end;
    size_t size = 1;
    if (key->wire == SXT_PROTOBUF_BYTES)
        end = take_bytes(body, at, &at, &size);
    if (end == NULL || size == 0)
        return end;
    if (column->count == 0)
        column->offset = offset_of(body, at);
    /* A number takes at least a byte. If there may be many, they are counted. */
    size_t most = size < 1024 ? size : count_numbers(at, size) + 1;
    void *moved = sxt_array_grow(column->items, &column->capacity, column->count + most, sizeof *column->items);
    if (moved == NULL) {
        sxt_symbfile_no_memory(body->failure, (column->count + most) * sizeof *column->items);
        return NULL;
    }
    column->items = moved;
    uint32_t *to = column->items + column->count;
    while (at < end) {
        uint64_t value;
        const uint8_t *next = sxt_protobuf_get(at, end, &value);
        if (next == NULL)
            return cut_off(body, at);
        *to++ = (uint32_t)value;
        at = next;
        if (key->wire == SXT_PROTOBUF_VARINT)
            break;
    }
    column->count = (size_t)(to - column->items);
    return at;
}

/* Skips an unknown field. A known field that gets here has the wrong wire type. */
static const uint8_t *skip_field(const struct body *body, const uint8_t *at, const struct key *key, uint32_t known)
{
    unsigned long long number = SXT_PROTOBUF_NUMBER(key->value);
    const uint8_t *next = NULL;
    if (number == 0 || key->value > UINT32_MAX)
        SXT_SYMBFILE_DAMAGED(body->failure, "field", offset_of(body, at), "%s: a field without a valid number",
                             body->what);
    else if (known >> key->field & 1)
        SXT_SYMBFILE_DAMAGED(body->failure, "field", offset_of(body, at), "%s: field %llu cannot be of wire type %u",
                             body->what, number, key->wire);
    else if ((next = sxt_protobuf_skip(at, body->end, number, key->wire)) == NULL)
        SXT_SYMBFILE_DAMAGED(body->failure, "field", offset_of(body, at),
                             "%s: field %llu is cut off, or cannot be skipped", body->what, number);
    return next;
}

/* Sets the decoder's address to that of this record. PLACE is where the field is; NULL: the record has none. */
static int locate(struct sxt_symbfile_decoder *decoder, const struct body *body, const uint8_t *place, bool whole,
                  uint64_t value)
{
    if (place == NULL)
        return SXT_SYMBFILE_DAMAGED(body->failure, "missing-field", body->offset, "%s without an address", body->what);
    if (!whole && !decoder->has_address)
        return SXT_SYMBFILE_DAMAGED(body->failure, "delta", offset_of(body, place),
                                    "%s: the first address of the file is relative to one before it", body->what);
    decoder->address = whole ? value : decoder->address + (uint64_t)sxt_zigzag_decode(value);
    decoder->has_address = true;
    decoder->address_is_lost &= !whole;
    return SXT_OK;
}

/* The string of the table with that number; absent when there is none. */
static inline sxt_string from_table(const struct sxt_symbfile_decoder *decoder, uint32_t number)
{
    if (number >= decoder->string_count)
        return (sxt_string){NULL, 0};
    const struct sxt_symbfile_place *place = &decoder->strings[number];
    return (sxt_string){(const char *)decoder->table + place->start, place->size};
}

static int no_such_string(const struct sxt_symbfile_decoder *decoder, const struct body *body, uint64_t offset,
                          uint32_t number)
{
    if (decoder->table_is_lost)
        return SXT_OK;
    return SXT_SYMBFILE_DAMAGED(body->failure, "string-reference", offset, "%s: string %u of a table that has %zu",
                                body->what, number, decoder->string_count);
}

/* A string that is given as text or as a place in the table; absent if neither is given. */
static int resolve(const struct sxt_symbfile_decoder *decoder, const struct body *body, const struct fields *fields,
                   uint8_t text_key, uint8_t reference_key, sxt_string *out)
{
    if (has(fields, text_key))
        *out = fields->texts[SXT_PROTOBUF_NUMBER(text_key)];
    if (!has(fields, reference_key))
        return SXT_OK;
    uint32_t number = (uint32_t)fields->numbers[SXT_PROTOBUF_NUMBER(reference_key)];
    *out = from_table(decoder, number);
    if (out->data != NULL)
        return SXT_OK;
    return no_such_string(decoder, body, offset_of(body, fields->places[SXT_PROTOBUF_NUMBER(reference_key)]), number);
}

static int join_lines(struct sxt_symbfile_decoder *decoder, const struct body *body, struct sxt_symbfile_range *range)
{
    const struct sxt_symbfile_column *offsets = &decoder->columns[0], *numbers = &decoder->columns[1];
    size_t count = offsets->count;
    if (count != numbers->count)
        return SXT_SYMBFILE_DAMAGED(body->failure, "columns", count > 0 ? offsets->offset : numbers->offset,
                                    "line table with %zu offsets and %zu lines", count, numbers->count);
    if (count == 0)
        return SXT_OK;
    void *moved = sxt_array_grow(decoder->lines, &decoder->line_capacity, count, sizeof *decoder->lines);
    if (moved == NULL)
        return sxt_symbfile_no_memory(body->failure, count * sizeof *decoder->lines);
    decoder->lines = moved;
    uint64_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        offset += offsets->items[i];
        decoder->lines[i] = (struct sxt_symbfile_line){(uint32_t)offset, numbers->items[i]};
    }
    /* At most 2^24 numbers of 32 bits: the sum itself is right. */
    if (offset > UINT32_MAX)
        return SXT_SYMBFILE_DAMAGED(body->failure, "line-offset", offsets->offset,
                                    "line table: the offsets add up to %llu, which does not fit in 32 bits",
                                    (unsigned long long)offset);
    range->lines = decoder->lines;
    range->line_count = count;
    return SXT_OK;
}

static int join_frames(struct sxt_symbfile_decoder *decoder, const struct body *body, struct sxt_symbfile_pad *pad)
{
    const struct sxt_symbfile_column *functions = &decoder->columns[0], *files = &decoder->columns[1],
                                     *lines = &decoder->columns[2];
    size_t count = functions->count;
    if (count != files->count || count != lines->count)
        return SXT_SYMBFILE_DAMAGED(body->failure, "columns", body->offset,
                                    "return pad with %zu functions, %zu files and %zu lines", count, files->count,
                                    lines->count);
    if (count > SXT_SYMBFILE_FRAMES_MAX) {
        body->failure->rule = "frame-count";
        return sxt_fail(&body->failure->error, SXT_ERROR_LIMIT, body->offset,
                        "return pad with %zu frames; the most is %d", count, SXT_SYMBFILE_FRAMES_MAX);
    }
    void *moved = sxt_array_grow(decoder->frames, &decoder->frame_capacity, count + 1, sizeof *decoder->frames);
    if (moved == NULL)
        return sxt_symbfile_no_memory(body->failure, count * sizeof *decoder->frames);
    decoder->frames = moved;
    for (size_t i = 0; i < count; i++) {
        struct sxt_symbfile_frame *frame = &decoder->frames[i];
        *frame = (struct sxt_symbfile_frame){.function = from_table(decoder, functions->items[i]),
                                             .file = from_table(decoder, files->items[i]),
                                             .line = lines->items[i]};
        const struct sxt_symbfile_column *bad = frame->function.data == NULL ? functions
                                                : frame->file.data == NULL   ? files
                                                                             : NULL;
        int status = bad == NULL ? SXT_OK : no_such_string(decoder, body, bad->offset, bad->items[i]);
        if (status != SXT_OK)
            return status;
        if (frame->file.size == 0)
            frame->file.data = NULL;
    }
    pad->frames = decoder->frames;
    pad->frame_count = count;
    return SXT_OK;
}
