/*
 * arena.h: many small objects with one owner and one free.
 *
 * Memory comes in blocks that grow up to 1 MiB; larger objects get a block of their own. In a build for a sanitizer, or
 * after sxt_arena_init with separate == true, every object is a separate allocation, so that ASan and valgrind see
 * an overrun or a use after free. An arena belongs to one thread at a time.
 */
#ifndef SXT_BASE_ARENA_H
#define SXT_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sxt_arena_block;

struct sxt_arena {
    struct sxt_arena_block *blocks; /* newest first */
    uint8_t *next;                  /* free space of the newest block */
    size_t left;
    size_t used;  /* bytes handed out */
    size_t limit; /* the most that may be handed out */
    bool separate;
};

/* True in builds under ASan (and with -DSXT_ARENA_SEPARATE): what sxt_arena_init is usually given. */
extern const bool sxt_arena_separate_default;

/* An empty arena that hands out at most LIMIT bytes (0: no limit). Cannot fail. */
void sxt_arena_init(struct sxt_arena *arena, size_t limit, bool separate);

/* SIZE bytes, aligned for any type, not cleared; not NULL for 0. NULL when the limit is reached or memory is short. */
void *sxt_arena_alloc(struct sxt_arena *arena, size_t size);

/* COUNT objects of SIZE bytes, cleared; NULL also when the product overflows. */
void *sxt_arena_calloc(struct sxt_arena *arena, size_t count, size_t size);

/* A copy of SIZE bytes with a NUL after it. */
char *sxt_arena_copy(struct sxt_arena *arena, const void *data, size_t size);

/* Frees everything; the arena is empty and may be used again. */
void sxt_arena_free(struct sxt_arena *arena);

#endif
