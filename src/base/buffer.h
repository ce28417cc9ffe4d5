/*
 * buffer.h: bytes that grow, up to a maximum given at the start.
 *
 * Errors are sticky: after an append that failed (memory, or the maximum), `failed` is set, the content stays as it
 * was, and later appends do nothing. A caller may append a whole structure and ask once.
 */
#ifndef SXT_BASE_BUFFER_H
#define SXT_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

struct sxt_buffer {
    uint8_t *data; /* NULL while empty */
    size_t size;
    size_t capacity;
    size_t maximum;
    bool failed;
    bool memory_was_short; /* why it failed; otherwise the maximum was reached */
};

/* An empty buffer that never holds more than MAXIMUM bytes. Allocates nothing. */
void sxt_buffer_init(struct sxt_buffer *buffer, size_t maximum);
void sxt_buffer_free(struct sxt_buffer *buffer);

/* Makes room for MORE bytes after the content. Returns the place for them, or NULL. Does not change the size. */
uint8_t *sxt_buffer_reserve(struct sxt_buffer *buffer, size_t more);

/* Adds MORE bytes, not cleared, and returns where they begin, or NULL. */
uint8_t *sxt_buffer_extend(struct sxt_buffer *buffer, size_t more);

void sxt_buffer_append(struct sxt_buffer *buffer, const void *data, size_t size);
void sxt_buffer_u8(struct sxt_buffer *buffer, uint8_t value);
void sxt_buffer_u16le(struct sxt_buffer *buffer, uint16_t value);
void sxt_buffer_u32le(struct sxt_buffer *buffer, uint32_t value);
void sxt_buffer_u64le(struct sxt_buffer *buffer, uint64_t value);
void sxt_buffer_varint(struct sxt_buffer *buffer, uint64_t value);
void sxt_buffer_print(struct sxt_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forgets the content (and the failure), keeps the memory. */
void sxt_buffer_clear(struct sxt_buffer *buffer);

/* SXT_OK, or the reason of the failure. */
int sxt_buffer_status(const struct sxt_buffer *buffer, sxt_error *error);

/* The content becomes the caller's, to free(); the buffer is empty afterwards. NULL when it is empty. */
uint8_t *sxt_buffer_take(struct sxt_buffer *buffer, size_t *size);

#endif
