/*
 * buffer.c: the memory doubles whenever it is full, up to the maximum.
 *
 * There is always one byte more than `capacity` says: the NUL that sxt_buffer_print needs has a place even in a buffer
 * that is full to its maximum, and a place for 0 bytes is never NULL.
 */
#include "base/buffer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"

#define FIRST_CAPACITY 63

static bool grow(struct sxt_buffer *buffer, size_t needed);

void sxt_buffer_init(struct sxt_buffer *buffer, size_t maximum)
{
    *buffer = (struct sxt_buffer){.maximum = maximum};
}

void sxt_buffer_free(struct sxt_buffer *buffer)
{
    free(buffer->data);
    sxt_buffer_init(buffer, buffer->maximum);
}

uint8_t *sxt_buffer_reserve(struct sxt_buffer *buffer, size_t more)
{
    if (buffer->failed)
        return NULL;
    if (more > buffer->maximum - buffer->size) {
        buffer->failed = true;
        return NULL;
    }
    size_t needed = buffer->size + more;
    if ((needed > buffer->capacity || buffer->data == NULL) && !grow(buffer, needed))
        return NULL;
    return buffer->data + buffer->size;
}

uint8_t *sxt_buffer_extend(struct sxt_buffer *buffer, size_t more)
{
    uint8_t *place = sxt_buffer_reserve(buffer, more);
    if (place != NULL)
        buffer->size += more;
    return place;
}

void sxt_buffer_append(struct sxt_buffer *buffer, const void *data, size_t size)
{
    if (size == 0)
        return;
    uint8_t *place = sxt_buffer_extend(buffer, size);
    if (place != NULL)
        memcpy(place, data, size);
}

void sxt_buffer_u8(struct sxt_buffer *buffer, uint8_t value)
{
    uint8_t *place = sxt_buffer_extend(buffer, sizeof value);
    if (place != NULL)
        *place = value;
}

void sxt_buffer_u16le(struct sxt_buffer *buffer, uint16_t value)
{
    uint8_t *place = sxt_buffer_extend(buffer, sizeof value);
    if (place != NULL)
        sxt_store_u16le(place, value);
}

void sxt_buffer_u32le(struct sxt_buffer *buffer, uint32_t value)
{
    uint8_t *place = sxt_buffer_extend(buffer, sizeof value);
    if (place != NULL)
        sxt_store_u32le(place, value);
}

void sxt_buffer_u64le(struct sxt_buffer *buffer, uint64_t value)
{
    uint8_t *place = sxt_buffer_extend(buffer, sizeof value);
    if (place != NULL)
        sxt_store_u64le(place, value);
}

void sxt_buffer_varint(struct sxt_buffer *buffer, uint64_t value)
{
    uint8_t *place = sxt_buffer_extend(buffer, sxt_varint_size(value));
    if (place != NULL)
        sxt_varint_encode(place, value);
}

void sxt_buffer_print(struct sxt_buffer *buffer, const char *format, ...)
{
    uint8_t *place = sxt_buffer_reserve(buffer, 0);
    if (place == NULL)
        return;

    size_t room = buffer->capacity - buffer->size;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf((char *)place, room + 1, format, arguments);
    va_end(arguments);
    if (size < 0) {
        buffer->failed = true;
        return;
    }

    if ((size_t)size > room) {
        place = sxt_buffer_reserve(buffer, (size_t)size);
        if (place == NULL)
            return;
        va_start(arguments, format);
        vsnprintf((char *)place, (size_t)size + 1, format, arguments);
        va_end(arguments);
    }
    buffer->size += (size_t)size;
}

void sxt_buffer_clear(struct sxt_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = buffer->memory_was_short = false;
}

int sxt_buffer_status(const struct sxt_buffer *buffer, sxt_error *error)
{
    if (!buffer->failed)
        return SXT_OK;
    if (buffer->memory_was_short)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory after %zu bytes", buffer->size);
    return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "larger than the limit of %zu bytes", buffer->maximum);
}

uint8_t *sxt_buffer_take(struct sxt_buffer *buffer, size_t *size)
{
    uint8_t *data = buffer->data;
    *size = buffer->size;
    if (buffer->size == 0) {
        free(data);
        data = NULL;
    }
    buffer->data = NULL;
    buffer->size = buffer->capacity = 0;
    return data;
}

/* NEEDED is at most the maximum. */
static bool grow(struct sxt_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity;
    if (__builtin_mul_overflow(capacity, 2, &capacity) || __builtin_add_overflow(capacity, 1, &capacity))
        capacity = SIZE_MAX;
    if (capacity < FIRST_CAPACITY)
        capacity = FIRST_CAPACITY;
    if (capacity < needed)
        capacity = needed;
    if (capacity > buffer->maximum)
        capacity = buffer->maximum;

    uint8_t *data = capacity < SIZE_MAX ? realloc(buffer->data, capacity + 1) : NULL;
    if (data == NULL) {
        buffer->failed = buffer->memory_was_short = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}
