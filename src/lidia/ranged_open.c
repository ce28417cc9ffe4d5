/* ranged_open.c: opens an archive that is read by ranges, with few requests; and writes the chunk that makes it easy.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "lidia/ranged.h"

#define END_SIZE     (UINT64_C(64) << 10) /* of the file, fetched first */
#define BEGIN_SIZE   UINT64_C(4096)
#define AHEAD        (UINT64_C(64) << 10)
#define TRAILER_SIZE 16
#define PIECE_SIZE   12 /* of what is before the bytes of a piece */
#define SAMPLE       64 /* strings, as SHAPE_SAMPLE in read.c */
#define CHUNKS_MAX   256
#define TEXT_MIN     32
#define TEXT_MAX     192

/* A table that is larger is read in parts. */
#define TABLE_MAX (UINT64_C(16) << 20)

/* --- written --- */

static void add_piece(struct sxt_buffer *content, const uint8_t *data, uint64_t offset, uint32_t size)
{
    sxt_buffer_u64le(content, offset);
    sxt_buffer_u32le(content, size);
    sxt_buffer_append(content, data + offset, size);
}

/* The lengths of the first strings, which show how strings are stored. */
static void add_strings(struct sxt_buffer *content, const struct sxt_lidia *lidia)
{
    uint64_t at = 0, strings = (uint64_t)(lidia->strings - lidia->data);
    for (unsigned i = 0; i < SAMPLE && lidia->strings_size - at >= 4; i++) {
        add_piece(content, lidia->data, strings + at, 4);
        uint64_t size = sxt_load_u32le(lidia->strings + at);
        if (size > lidia->strings_size - at - 4)
            break;
        at += 4 + size;
    }
    if (lidia->strings_size > 0)
        add_piece(content, lidia->data, strings + lidia->strings_size - 1, 1);
}

/* All that sxt_lidia_open and sxt_lidia_read_module read. */
static void add_pieces(struct sxt_buffer *content, const struct sxt_lidia *lidia)
{
    uint64_t addresses = (uint64_t)(lidia->addresses - lidia->data);
    struct sxt_lidia_chunk chunk;
    add_piece(content, lidia->data, 0, SXT_LIDIA_HEADER_SIZE);
    add_piece(content, lidia->data, addresses, lidia->address_size);
    add_piece(content, lidia->data, addresses + (lidia->count - 1) * lidia->address_size, lidia->address_size);
    add_strings(content, lidia);
    if (lidia->buckets != NULL)
        add_piece(content, lidia->data, (uint64_t)(lidia->buckets - lidia->data) - SXT_LIDIA_INDEX_HEADER_SIZE,
                  SXT_LIDIA_INDEX_HEADER_SIZE);
    for (uint64_t at = lidia->chunks_at; sxt_lidia_next_chunk(lidia, &at, &chunk);) {
        uint32_t more = 0;
        if (memcmp(chunk.tag, SXT_LIDIA_MODULE, 4) == 0 && chunk.size <= AHEAD / 4)
            more = (uint32_t)chunk.size;
        else if (memcmp(chunk.tag, SXT_LIDIA_ALIASES, 4) == 0 && chunk.size >= 16)
            more = 16;
        add_piece(content, lidia->data, chunk.offset, SXT_LIDIA_CHUNK_HEADER_SIZE + more);
    }
}

int sxt_lidia_add_opening(uint8_t **data, size_t *size, sxt_error *error)
{
    struct sxt_lidia lidia;
    struct sxt_buffer content, chunk;
    if (*size < SXT_LIDIA_RANGED_SIZE || sxt_lidia_open(&lidia, *data, *size, false, NULL) != SXT_OK ||
        lidia.count == 0 || lidia.chunks_at == 0)
        return SXT_OK;
    sxt_buffer_init(&content, END_SIZE / 2);
    sxt_buffer_init(&chunk, END_SIZE);
    add_pieces(&content, &lidia);
    sxt_buffer_u64le(&content, *size);
    sxt_buffer_append(&content, "sxto\0\0\0", 8);
    if (!content.failed)
        sxt_lidia_add_chunk(&chunk, SXT_LIDIA_OPENING, SXT_LIDIA_OPENING_VERSION, content.data, content.size);
    uint8_t *moved = !content.failed && !chunk.failed ? realloc(*data, *size + chunk.size) : NULL;
    if (moved != NULL) {
        memcpy(moved + *size, chunk.data, chunk.size);
        *data = moved;
        *size += chunk.size;
    }
    bool is_short = content.memory_was_short || chunk.memory_was_short || (!content.failed && moved == NULL);
    sxt_buffer_free(&content);
    sxt_buffer_free(&chunk);
    return is_short ? sxt_fail_memory(error, *size) : SXT_OK;
}

/* --- pieces --- */

/* The next piece of a chunk's content; *AT is 0 at first. False at the end, and where the content is damaged. */
static bool next_piece(const struct sxt_lidia_chunk *chunk, uint64_t *at, uint64_t file_size, uint64_t *offset,
                       const uint8_t **bytes, uint32_t *size)
{
    if (chunk->size < TRAILER_SIZE || *at > chunk->size - TRAILER_SIZE || chunk->size - TRAILER_SIZE - *at < PIECE_SIZE)
        return false;
    uint64_t left = chunk->size - TRAILER_SIZE - *at - PIECE_SIZE;
    *offset = sxt_load_u64le(chunk->data + *at);
    *size = sxt_load_u32le(chunk->data + *at + 8);
    *bytes = chunk->data + *at + PIECE_SIZE;
    if (*size > left || *offset > file_size || *size > file_size - *offset)
        return false;
    *at += PIECE_SIZE + *size;
    return true;
}

bool sxt_lidia_opening_is_right(const struct sxt_lidia *lidia, const struct sxt_lidia_chunk *chunk, uint64_t *offset)
{
    uint64_t at = 0, place;
    uint32_t size;
    const uint8_t *bytes;
    *offset = chunk->offset + SXT_LIDIA_CHUNK_HEADER_SIZE;
    while (next_piece(chunk, &at, lidia->size, &place, &bytes, &size)) {
        if (memcmp(lidia->data + place, bytes, size) != 0)
            return false;
        *offset = chunk->offset + SXT_LIDIA_CHUNK_HEADER_SIZE + at;
    }
    return chunk->size >= TRAILER_SIZE && at == chunk->size - TRAILER_SIZE &&
           sxt_load_u64le(chunk->data + at) == chunk->offset && memcmp(chunk->data + at + 8, "sxto\0\0\0", 8) == 0;
}

/* Puts the pieces of the chunk "open" in place, if the end of the file, which is here, has a whole one. */
static int put_pieces(struct sxt_lidia *lidia, bool *done, sxt_error *error)
{
    struct sxt_partial *partial = lidia->partial;
    uint64_t size = lidia->size, chunk_at, at = 0, offset;
    struct sxt_lidia_chunk chunk;
    const uint8_t *trailer = lidia->data + size - TRAILER_SIZE, *bytes;
    uint32_t piece;
    int status = SXT_OK;
    *done = false;
    chunk_at = sxt_load_u64le(trailer);
    if (memcmp(trailer + 8, "sxto", 4) != 0 || chunk_at >= size || size - chunk_at > END_SIZE)
        return SXT_OK;
    if (!sxt_lidia_next_chunk(lidia, &chunk_at, &chunk) || chunk_at != size ||
        memcmp(chunk.tag, SXT_LIDIA_OPENING, 4) != 0 || chunk.version != SXT_LIDIA_OPENING_VERSION ||
        !sxt_lidia_chunk_is_whole(&chunk))
        return SXT_OK;
    while (status == SXT_OK && next_piece(&chunk, &at, size, &offset, &bytes, &piece))
        status = sxt_partial_put(partial, offset, bytes, piece, error);
    *done = at == chunk.size - TRAILER_SIZE;
    return status;
}

/* --- opened --- */

static int fetch(struct sxt_lidia *lidia, struct sxt_partial_wants *wants, sxt_error *error)
{
    return sxt_partial_fetch(lidia->partial, wants, error);
}

/* Opens what is here, which may be wrong about all but the tables. The name sizes would take another request each. */
static int open_here(struct sxt_lidia *lidia, struct sxt_partial *partial, sxt_error *error)
{
    int status = sxt_lidia_open(lidia, partial->data, (size_t)partial->size, false, error);
    lidia->partial = partial;
    lidia->name_sizes = NULL;
    return status;
}

/* Fetches the first strings until it is clear how strings are stored. */
static int load_strings(struct sxt_lidia *lidia, sxt_error *error)
{
    uint64_t at = 0, strings = (uint64_t)(lidia->strings - lidia->data);
    int status = SXT_OK;
    for (unsigned i = 0; i < SAMPLE && lidia->strings_size - at >= 4 && status == SXT_OK; i++) {
        struct sxt_partial_wants wants = {0};
        if (!sxt_partial_has(lidia->partial, strings + at, 4)) {
            sxt_partial_want(lidia->partial, &wants, strings + at, AHEAD);
            status = fetch(lidia, &wants, error);
        }
        uint64_t size = sxt_load_u32le(lidia->strings + at);
        if (size > lidia->strings_size - at - 4)
            break;
        at += 4 + size;
    }
    struct sxt_partial_wants wants = {0};
    if (status == SXT_OK && at < lidia->strings_size &&
        !sxt_partial_want(lidia->partial, &wants, strings + lidia->strings_size - 1, 1))
        status = fetch(lidia, &wants, error);
    return status;
}

/* Fetches the headers of the chunks, and what is read of them to open the file. */
static int load_chunks(struct sxt_lidia *lidia, sxt_error *error)
{
    struct sxt_lidia_chunk chunk;
    int status = SXT_OK;
    uint64_t at = lidia->chunks_at, after = at;
    for (unsigned i = 0; i < CHUNKS_MAX && after < lidia->size && status == SXT_OK; i++) {
        struct sxt_partial_wants wants = {0};
        at = after;
        if (!sxt_partial_has(lidia->partial, at, SXT_LIDIA_CHUNK_HEADER_SIZE + 16)) {
            sxt_partial_want(lidia->partial, &wants, at, AHEAD);
            status = fetch(lidia, &wants, error);
        }
        if (status != SXT_OK || !sxt_lidia_next_chunk(lidia, &after, &chunk))
            break;
        if (memcmp(chunk.tag, SXT_LIDIA_MODULE, 4) == 0 &&
            !sxt_partial_want(lidia->partial, &wants, at, SXT_LIDIA_CHUNK_HEADER_SIZE + chunk.size))
            status = fetch(lidia, &wants, error);
    }
    return status;
}

/* Opens a file that has no chunk "open". Its first and last bytes are here. */
static int open_by_steps(struct sxt_lidia *lidia, struct sxt_partial *partial, sxt_error *error)
{
    struct sxt_partial_wants wants = {0};
    int status = open_here(lidia, partial, error);
    if (status != SXT_OK)
        return status;
    uint64_t addresses = (uint64_t)(lidia->addresses - lidia->data), address_size = lidia->address_size, end;
    if (lidia->count > 0) {
        sxt_partial_want(partial, &wants, addresses, address_size);
        sxt_partial_want(partial, &wants, addresses + (lidia->count - 1) * address_size, address_size);
    }
    sxt_partial_want(partial, &wants, (uint64_t)(lidia->strings - lidia->data),
                     lidia->strings_size < AHEAD ? lidia->strings_size : AHEAD);
    if (sxt_add_u64(sxt_load_u64le(lidia->data + 0x70), lidia->line_count * 2 * lidia->line_size, &end))
        sxt_partial_want(partial, &wants, end, SXT_LIDIA_INDEX_HEADER_SIZE);
    status = fetch(lidia, &wants, error);
    if (status == SXT_OK)
        status = load_strings(lidia, error);
    if (status == SXT_OK)
        status = open_here(lidia, partial, error); /* finds the index now */
    if (status == SXT_OK)
        status = load_chunks(lidia, error);
    return status;
}

/* The table that a search begins with: the buckets, or all addresses. */
static int load_table(struct sxt_lidia *lidia, sxt_error *error)
{
    struct sxt_partial_wants wants = {0};
    uint64_t limit = lidia->size / 50 > SXT_LIDIA_RANGED_SIZE ? lidia->size / 50 : SXT_LIDIA_RANGED_SIZE;
    const uint8_t *table = lidia->buckets != NULL ? lidia->buckets : lidia->addresses;
    uint64_t size = lidia->buckets != NULL ? (lidia->bucket_count + 1) * 4 : lidia->count * lidia->address_size;
    uint64_t fetched = lidia->partial->fetched;
    if (size > TABLE_MAX || fetched + size + SXT_PARTIAL_GRAIN * 2 > limit)
        return SXT_OK;
    sxt_partial_want(lidia->partial, &wants, (uint64_t)(table - lidia->data), size);
    return fetch(lidia, &wants, error);
}

/* Strings are about as long as the first ones, whose lengths are here. */
static uint32_t guess_text(const struct sxt_lidia *lidia)
{
    uint64_t at = 0, count = 0;
    for (; count < SAMPLE && !lidia->nul_strings && lidia->strings_size - at >= 4; count++) {
        uint64_t size = sxt_load_u32le(lidia->strings + at);
        if (size > lidia->strings_size - at - 4)
            break;
        at += 4 + size;
    }
    uint64_t mean = count > 0 ? at / count : TEXT_MAX / 2;
    return (uint32_t)(mean + mean / 4 > TEXT_MAX ? TEXT_MAX : mean + mean / 4 > TEXT_MIN ? mean + mean / 4 : TEXT_MIN);
}

int sxt_lidia_open_partial(struct sxt_lidia *lidia, struct sxt_partial *partial, sxt_error *error)
{
    *lidia = (struct sxt_lidia){.data = partial->data, .size = (size_t)partial->size, .partial = partial};
    struct sxt_partial_wants wants = {0};
    uint64_t end = partial->size < END_SIZE ? partial->size : END_SIZE;
    bool done = false;
    sxt_partial_want(partial, &wants, partial->size - end, end);
    int status = fetch(lidia, &wants, error);
    if (status == SXT_OK && partial->size > TRAILER_SIZE)
        status = put_pieces(lidia, &done, error);
    if (status == SXT_OK && !done) {
        sxt_partial_want(partial, &wants, 0, BEGIN_SIZE);
        status = fetch(lidia, &wants, error);
        if (status == SXT_OK)
            status = open_by_steps(lidia, partial, error);
    }
    if (status == SXT_OK)
        status = open_here(lidia, partial, error);
    if (status == SXT_OK)
        status = load_table(lidia, error);
    lidia->opened_bytes = partial->fetched;
    if (status == SXT_OK)
        lidia->text_ahead = guess_text(lidia);
    return status;
}
