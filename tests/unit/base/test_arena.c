/* test_arena.c: objects are aligned, apart from each other, and within the limit. */
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "huge_allocations.h"
#include "support/test.h"

static size_t count_blocks(const struct sxt_arena *arena)
{
    /* The first member of a block is the pointer to the older one. */
    size_t count = 0;
    const void *block = arena->blocks;
    while (block != NULL) {
        count++;
        memcpy(&block, block, sizeof block);
    }
    return count;
}

static void check_objects_stay_apart(bool separate)
{
    static uint8_t *objects[2000];
    size_t handed_out = 0;
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, separate);
    for (size_t i = 0; i < 2000; i++) {
        size_t size = i * i % 517;
        objects[i] = sxt_arena_alloc(&arena, size);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
        memset(objects[i], (int)(i % 251), size);
        handed_out += size;
    }
    assert_int_equal(arena.used, handed_out);
    for (size_t i = 0; i < 2000; i++)
        for (size_t at = 0; at < i * i % 517; at++)
            assert_int_equal(objects[i][at], i % 251);
    sxt_arena_free(&arena);
}

TEST(keeps_objects_apart_and_aligned)
{
    check_objects_stay_apart(false);
    check_objects_stay_apart(true);
}

TEST(needs_few_blocks_for_many_objects)
{
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, false);
    sxt_arena_alloc(&arena, 1);
    assert_int_equal(count_blocks(&arena), 1);
    assert_true(arena.left < 4096);
    for (size_t i = 0; i < 65536; i++)
        assert_non_null(sxt_arena_alloc(&arena, 64));
    /* 4 MiB: nine blocks from 4 KiB up to 1 MiB, and two or three more of 1 MiB. */
    assert_in_range(count_blocks(&arena), 10, 13);
    sxt_arena_free(&arena);
}

TEST(gives_every_object_its_own_block_when_asked)
{
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, true);
    for (size_t i = 0; i < 20; i++)
        sxt_arena_alloc(&arena, i);
    sxt_arena_copy(&arena, "text", 4);
    assert_int_equal(count_blocks(&arena), 21);
    sxt_arena_free(&arena);
}

TEST(keeps_cutting_from_a_block_after_a_large_object)
{
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, false);
    uint8_t *large = sxt_arena_alloc(&arena, 3 << 20);
    uint8_t *first = sxt_arena_alloc(&arena, 16);
    uint8_t *larger = sxt_arena_alloc(&arena, 5 << 20);
    uint8_t *second = sxt_arena_alloc(&arena, 16);
    assert_true(large != NULL && larger != NULL);
    memset(large, 1, 3 << 20);
    memset(larger, 2, 5 << 20);
    assert_ptr_equal(second, first + 16);
    assert_int_equal(count_blocks(&arena), 3);
    assert_int_equal(arena.used, (8 << 20) + 32);
    sxt_arena_free(&arena);
}

TEST(copies_text_with_a_nul_after_it)
{
    struct sxt_arena arena;
    for (int separate = 0; separate < 2; separate++) {
        sxt_arena_init(&arena, 0, separate);
        char *copy = sxt_arena_copy(&arena, "abcdef", 3);
        char *empty = sxt_arena_copy(&arena, NULL, 0);
        char *inner_nul = sxt_arena_copy(&arena, "x\0y", 3);
        assert_string_equal(copy, "abc");
        assert_string_equal(empty, "");
        assert_memory_equal(inner_nul, "x\0y\0", 4);
        void *object = sxt_arena_alloc(&arena, 8);
        assert_int_equal((uintptr_t)object % _Alignof(max_align_t), 0);
        sxt_arena_free(&arena);
    }
}

TEST(clears_what_calloc_gives)
{
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, false);
    memset(sxt_arena_alloc(&arena, 3000), 0xff, 3000);
    sxt_arena_free(&arena);
    uint8_t *object = sxt_arena_calloc(&arena, 300, 10);
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(object[i], 0);
    assert_non_null(sxt_arena_calloc(&arena, 0, 8));
    sxt_arena_free(&arena);
}

TEST(gives_nothing_beyond_the_limit)
{
    for (int separate = 0; separate < 2; separate++) {
        struct sxt_arena arena;
        sxt_arena_init(&arena, 100, separate);
        assert_null(sxt_arena_alloc(&arena, 101));
        assert_int_equal(arena.used, 0);
        assert_non_null(sxt_arena_alloc(&arena, 60));
        assert_null(sxt_arena_alloc(&arena, 41));
        assert_null(sxt_arena_calloc(&arena, 41, 1));
        assert_null(sxt_arena_copy(&arena, "0123456789012345678901234567890123456789", 40));
        assert_non_null(sxt_arena_alloc(&arena, 40));
        assert_int_equal(arena.used, 100);
        assert_null(sxt_arena_alloc(&arena, 1));
        assert_non_null(sxt_arena_alloc(&arena, 0));

        sxt_arena_free(&arena);
        assert_int_equal(arena.used, 0);
        assert_null(sxt_arena_alloc(&arena, 101));
        assert_non_null(sxt_arena_alloc(&arena, 100));
        sxt_arena_free(&arena);
    }
}

TEST(gives_nothing_for_sizes_that_overflow_or_do_not_exist)
{
    for (int separate = 0; separate < 2; separate++) {
        struct sxt_arena arena;
        sxt_arena_init(&arena, 0, separate);
        assert_null(sxt_arena_alloc(&arena, SIZE_MAX));
        assert_null(sxt_arena_alloc(&arena, HUGE_SIZE));
        assert_null(sxt_arena_calloc(&arena, SIZE_MAX / 8 + 2, 8));
        assert_null(sxt_arena_calloc(&arena, SIZE_MAX, SIZE_MAX));
        assert_null(sxt_arena_copy(&arena, "", SIZE_MAX));
        assert_int_equal(arena.used, 0);
        assert_non_null(sxt_arena_alloc(&arena, 8));
        assert_null(sxt_arena_alloc(&arena, SIZE_MAX));
        assert_null(sxt_arena_alloc(&arena, SIZE_MAX - 8));
        assert_int_equal(arena.used, 8);
        sxt_arena_free(&arena);
    }
}

TEST(may_be_freed_twice_or_empty)
{
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    sxt_arena_free(&arena);
    assert_non_null(sxt_arena_alloc(&arena, 0));
    sxt_arena_free(&arena);
    sxt_arena_free(&arena);
    assert_null(arena.blocks);
}
