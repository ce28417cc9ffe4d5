/*
 * arena.c: objects are cut from the front of the newest block. A block is twice as large as the one before it, so a
 * small arena stays small and a large one needs few blocks.
 *
 * An object that is larger than a quarter of the largest block gets its own block, linked after the newest one,
 * so that the free space of the newest block is not given up for it.
 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define FIRST_BLOCK_SIZE   4096
#define LARGEST_BLOCK_SIZE (1024 * 1024)
#define LARGEST_CUT_SIZE   (LARGEST_BLOCK_SIZE / 4)

#if defined(__SANITIZE_ADDRESS__) || defined(SXT_ARENA_SEPARATE)
#define SEPARATE_DEFAULT true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEPARATE_DEFAULT true
#endif
#endif
#if !defined(SEPARATE_DEFAULT)
#define SEPARATE_DEFAULT false
#endif

const bool sxt_arena_separate_default = SEPARATE_DEFAULT;

struct sxt_arena_block {
    struct sxt_arena_block *older;
    size_t size;        /* of data */
    max_align_t data[]; /* aligned for any type */
};

static void *take(struct sxt_arena *arena, size_t size, size_t alignment);
static size_t padding_to(const uint8_t *at, size_t alignment);
static bool begin_block(struct sxt_arena *arena, size_t size);
static void *own_block(struct sxt_arena *arena, size_t size);
static size_t next_block_size(const struct sxt_arena *arena, size_t needed);
static struct sxt_arena_block *new_block(size_t size);

void sxt_arena_init(struct sxt_arena *arena, size_t limit, bool separate)
{
    *arena = (struct sxt_arena){.limit = limit == 0 ? SIZE_MAX : limit, .separate = separate};
}

void *sxt_arena_alloc(struct sxt_arena *arena, size_t size)
{
    return take(arena, size, _Alignof(max_align_t));
}

void *sxt_arena_calloc(struct sxt_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *object = sxt_arena_alloc(arena, bytes);
    if (object != NULL)
        memset(object, 0, bytes);
    return object;
}

/* Text needs no alignment: strings follow each other without gaps. */
char *sxt_arena_copy(struct sxt_arena *arena, const void *data, size_t size)
{
    if (size == SIZE_MAX)
        return NULL;
    char *copy = take(arena, size + 1, 1);
    if (copy == NULL)
        return NULL;
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

void sxt_arena_free(struct sxt_arena *arena)
{
    struct sxt_arena_block *block = arena->blocks;
    while (block != NULL) {
        struct sxt_arena_block *older = block->older;
        free(block);
        block = older;
    }
    sxt_arena_init(arena, arena->limit, arena->separate);
}

static void *take(struct sxt_arena *arena, size_t size, size_t alignment)
{
    if (size > arena->limit - arena->used)
        return NULL;

    void *object;
    size_t padding = padding_to(arena->next, alignment);
    if (arena->separate) {
        object = own_block(arena, size);
    } else if (arena->next != NULL && padding <= arena->left && size <= arena->left - padding) {
        object = arena->next + padding;
        arena->next += padding + size;
        arena->left -= padding + size;
    } else if (size > LARGEST_CUT_SIZE) {
        object = own_block(arena, size);
    } else if (begin_block(arena, next_block_size(arena, size))) {
        object = arena->next;
        arena->next += size;
        arena->left -= size;
    } else {
        object = NULL;
    }

    if (object != NULL)
        arena->used += size;
    return object;
}

static size_t padding_to(const uint8_t *at, size_t alignment)
{
    return -(uintptr_t)at & (alignment - 1);
}

/* A new block to cut objects from. */
static bool begin_block(struct sxt_arena *arena, size_t size)
{
    struct sxt_arena_block *block = new_block(size);
    if (block == NULL)
        return false;
    block->older = arena->blocks;
    arena->blocks = block;
    arena->next = (uint8_t *)block->data;
    arena->left = size;
    return true;
}

/* A block for a single object, after the newest block, from which objects are still cut. */
static void *own_block(struct sxt_arena *arena, size_t size)
{
    struct sxt_arena_block *block = new_block(size);
    if (block == NULL)
        return NULL;
    struct sxt_arena_block **link = arena->blocks == NULL ? &arena->blocks : &arena->blocks->older;
    block->older = *link;
    *link = block;
    return block->data;
}

/* With room for an object of NEEDED bytes. Blocks for single objects are never the newest and do not count. */
static size_t next_block_size(const struct sxt_arena *arena, size_t needed)
{
    size_t size = arena->next == NULL ? FIRST_BLOCK_SIZE : arena->blocks->size * 2;
    while (size < needed)
        size *= 2;
    return size < LARGEST_BLOCK_SIZE ? size : LARGEST_BLOCK_SIZE;
}

static struct sxt_arena_block *new_block(size_t size)
{
    size_t bytes;
    if (__builtin_add_overflow(sizeof(struct sxt_arena_block), size, &bytes))
        return NULL;
    struct sxt_arena_block *block = malloc(bytes);
    if (block != NULL)
        block->size = size;
    return block;
}
