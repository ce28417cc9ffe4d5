/* input.c: reads messages one after the other; each is completely in memory before it is decoded. */
#include "symbfile/input.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "symbfile/fields.h"

#define FIRST_CAPACITY ((size_t)64 << 10)

static int take_number(struct sxt_symbfile_input *input, const char *what, uint64_t *value,
                       struct sxt_symbfile_failure *failure);
static int fill(struct sxt_symbfile_input *input, size_t wanted, struct sxt_symbfile_failure *failure);

bool sxt_symbfile_is(const uint8_t *data, size_t size)
{
    return size >= SXT_SYMBFILE_MAGIC_SIZE && memcmp(data, SXT_SYMBFILE_MAGIC, SXT_SYMBFILE_MAGIC_SIZE) == 0;
}

struct sxt_symbfile_input sxt_symbfile_input_memory(const uint8_t *data, size_t size)
{
    return (struct sxt_symbfile_input){.data = data, .size = size, .ended = true};
}

struct sxt_symbfile_input sxt_symbfile_input_stream(sxt_symbfile_source *source, void *context)
{
    return (struct sxt_symbfile_input){.source = source, .context = context};
}

void sxt_symbfile_input_free(struct sxt_symbfile_input *input)
{
    free(input->buffer);
    *input = (struct sxt_symbfile_input){.ended = true};
}

static size_t left(const struct sxt_symbfile_input *input)
{
    return input->size - input->at;
}

static uint64_t offset_of(const struct sxt_symbfile_input *input)
{
    return input->base + input->at;
}

int sxt_symbfile_input_begin(struct sxt_symbfile_input *input, struct sxt_symbfile_failure *failure)
{
    int status = fill(input, SXT_SYMBFILE_MAGIC_SIZE, failure);
    if (status != SXT_OK)
        return status;
    size_t there = left(input) < SXT_SYMBFILE_MAGIC_SIZE ? left(input) : SXT_SYMBFILE_MAGIC_SIZE;
    if (there > 0 && memcmp(input->data, SXT_SYMBFILE_MAGIC, there) != 0) {
        failure->rule = "magic";
        return sxt_fail(&failure->error, SXT_ERROR_UNSUPPORTED, 0, "not a symbfile");
    }
    if (there < SXT_SYMBFILE_MAGIC_SIZE)
        return SXT_SYMBFILE_DAMAGED(failure, "truncated", there, "the file ends inside the magic, after %zu bytes",
                                    there);
    input->at += SXT_SYMBFILE_MAGIC_SIZE;
    return SXT_OK;
}

int sxt_symbfile_input_next(struct sxt_symbfile_input *input, struct sxt_symbfile_message *message, bool *found,
                            struct sxt_symbfile_failure *failure)
{
    int status = fill(input, 2 * SXT_VARINT_MAX, failure);
    *found = false;
    if (status != SXT_OK || left(input) == 0)
        return status;
    uint64_t length;
    message->offset = offset_of(input);
    status = take_number(input, "length", &length, failure);
    if (status != SXT_OK)
        return status;
    if (length > SXT_SYMBFILE_MESSAGE_MAX)
        return SXT_SYMBFILE_DAMAGED(failure, "message-size", message->offset, "message of %llu bytes; the most is %zu",
                                    (unsigned long long)length, SXT_SYMBFILE_MESSAGE_MAX);
    if (left(input) == 0)
        return SXT_SYMBFILE_DAMAGED(failure, "truncated", offset_of(input),
                                    "the file ends between the length of a message and its type");
    status = take_number(input, "type", &message->type, failure);
    if (status == SXT_OK)
        status = fill(input, (size_t)length, failure);
    if (status != SXT_OK)
        return status;
    if (left(input) < length)
        return SXT_SYMBFILE_DAMAGED(failure, "truncated", offset_of(input),
                                    "the file ends inside a message: %zu of %llu bytes are there", left(input),
                                    (unsigned long long)length);
    message->body_offset = offset_of(input);
    message->body = input->data + input->at;
    message->size = (size_t)length;
    input->at += (size_t)length;
    *found = true;
    return SXT_OK;
}

bool sxt_symbfile_input_has_message(const struct sxt_symbfile_input *input)
{
    const uint8_t *at = input->data + input->at, *end = input->data + input->size;
    uint64_t length, type;
    const uint8_t *next = sxt_protobuf_get(at, end, &length);
    if (next == NULL)
        return end - at >= SXT_VARINT_MAX;
    if (length > SXT_SYMBFILE_MESSAGE_MAX)
        return true;
    at = next;
    next = sxt_protobuf_get(at, end, &type);
    if (next == NULL)
        return end - at >= SXT_VARINT_MAX;
    return (uint64_t)(end - next) >= length;
}

/* A number at the beginning of a message. The bytes were read already, so what is missing is missing in the file. */
static int take_number(struct sxt_symbfile_input *input, const char *what, uint64_t *value,
                       struct sxt_symbfile_failure *failure)
{
    const uint8_t *start = input->data + input->at;
    const uint8_t *next = sxt_protobuf_get(start, start + left(input), value);
    if (next != NULL) {
        input->at += (size_t)(next - start);
        return SXT_OK;
    }
    if (left(input) < SXT_VARINT_MAX)
        return SXT_SYMBFILE_DAMAGED(failure, "truncated", offset_of(input), "the file ends inside the %s of a message",
                                    what);
    return SXT_SYMBFILE_DAMAGED(failure, "varint", offset_of(input), "the %s of a message does not fit in 64 bits",
                                what);
}

int sxt_symbfile_check_type(const struct sxt_symbfile_message *message, bool is_first,
                            struct sxt_symbfile_failure *failure)
{
    unsigned long long type = message->type;
    if (type == 0 || type > INT32_MAX)
        return SXT_SYMBFILE_DAMAGED(failure, "message-type", message->offset, "not a message type: %llu", type);
    if (is_first && type != SXT_SYMBFILE_TYPE_HEADER)
        return SXT_SYMBFILE_DAMAGED(failure, "header", message->offset,
                                    "the first message is of type %llu, and not a header", type);
    if (!is_first && type == SXT_SYMBFILE_TYPE_HEADER)
        return SXT_SYMBFILE_DAMAGED(failure, "header", message->offset, "a second header");
    return SXT_OK;
}

/* The memory grows with what arrives, never with what a length promises. */
static bool make_room(struct sxt_symbfile_input *input)
{
    size_t there = left(input);
    if (there > 0 && input->at > 0)
        memmove(input->buffer, input->buffer + input->at, there);
    input->base += input->at;
    input->at = 0;
    input->size = there;
    if (there == input->capacity) {
        size_t capacity = input->capacity == 0 ? FIRST_CAPACITY : 2 * input->capacity;
        uint8_t *moved = realloc(input->buffer, capacity);
        if (moved == NULL)
            return false;
        input->buffer = moved;
        input->capacity = capacity;
    }
    input->data = input->buffer;
    return true;
}

/* Makes sure that WANTED bytes are in memory, or all that are left. */
static int fill(struct sxt_symbfile_input *input, size_t wanted, struct sxt_symbfile_failure *failure)
{
    while (left(input) < wanted && !input->ended) {
        if (input->size == input->capacity && !make_room(input))
            return sxt_symbfile_no_memory(failure, 2 * (uint64_t)input->capacity);
        size_t room = input->capacity - input->size, got = 0;
        sxt_error_clear(&failure->error);
        int status = input->source(input->context, input->buffer + input->size, room, &got, &failure->error);
        if (status != SXT_OK) {
            failure->rule = "input";
            failure->error.code = (sxt_status)status;
            return status;
        }
        input->ended = got == 0;
        input->size += got < room ? got : room;
    }
    return SXT_OK;
}
