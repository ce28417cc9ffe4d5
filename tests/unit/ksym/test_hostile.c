/* test_hostile.c: the freestanding reader of ksym blobs stays inside of blobs that are cut, changed or lie. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/ksym_image.h"
#include "support/test.h"

/* Everything that can be asked; where the answers are does not matter here. */
static void ask_everything(const sxt_ksym *ksym)
{
    static struct sxt_ksym_image text;
    char buffer[40];
    sxt_ksym_symbol symbol;
    for (uint64_t address = 0xff0; address < 0x1310; address += 0x10)
        sxt_ksym_lookup(ksym, address, buffer, sizeof buffer, &symbol);
    for (size_t i = 0; i <= sxt_ksym_count(ksym); i++) {
        sxt_ksym_matches matches;
        size_t index;
        size_t size = sxt_ksym_name(ksym, i, buffer, sizeof buffer);
        sxt_ksym_module(ksym, i, buffer, 3);
        sxt_ksym_format(ksym, sxt_ksym_address(ksym, i), buffer, sizeof buffer);
        sxt_ksym_symbol_at(ksym, i, &symbol);
        sxt_ksym_find(ksym, buffer, size < sizeof buffer ? size : sizeof buffer, &matches);
        while (sxt_ksym_next(&matches, &index))
            assert_true(index < sxt_ksym_count(ksym));
    }
    sxt_ksym_assert_found(ksym, "nobody is called so", "");
    text.size = 0;
    sxt_ksym_dump(ksym, sxt_ksym_image_collect, &text);
    sxt_ksym_check(ksym, NULL, NULL);
}

TEST(every_truncation_is_refused)
{
    static struct sxt_ksym_image image;
    struct sxt_ksym_blob blob;
    const struct sxt_ksym_image_symbol symbols[] = {{0x1000, "a", NULL}, {0x2000, "bb", "\xff\x01\xff\x62"}};
    const char *const tokens[] = {"x", "b", NULL};
    for (int newer = 0; newer < 3; newer++) {
        const void *bytes = newer == 2 ? sxt_ksym_example : image.bytes;
        sxt_ksym_image_make(&image, symbols, 2, tokens, newer != 0);
        size_t whole = newer == 2 ? sizeof sxt_ksym_example : image.size;
        for (size_t size = 0; size < whole; size++) {
            size_t offset = SIZE_MAX;
            const char *wrong = sxt_ksym_image_try(&blob, bytes, size, 0, 0, &offset);
            assert_non_null(wrong);
            assert_true(offset <= size);
            assert_int_equal(sxt_ksym_count(&blob.ksym), 0);
            sxt_ksym_assert_unknown(&blob.ksym, 0x1000);
            ask_everything(&blob.ksym);
            sxt_ksym_image_close(&blob);
        }
    }
}

TEST(every_changed_byte_stays_inside)
{
    static struct sxt_ksym_image image;
    static const uint8_t values[] = {0, 1, 2, 0x10, 0x7f, 0x80, 0xfe, 0xff};
    const struct sxt_ksym_image_symbol symbols[] = {
        {0x1000, "aa [m]", NULL}, {0x1100, "bb", "\xff\x01\xff\x62"}, {0x1200, "c", NULL}};
    const char *const tokens[] = {"x", "b", NULL};
    size_t opened = 0;
    for (int newer = 0; newer < 3; newer++) {
        sxt_ksym_image_make(&image, symbols, 3, tokens, newer == 1);
        if (newer == 2) {
            memcpy(image.bytes, sxt_ksym_example, sizeof sxt_ksym_example);
            image.size = sizeof sxt_ksym_example;
        }
        for (size_t at = 0; at < image.size; at++) {
            uint8_t before = image.bytes[at];
            for (size_t i = 0; i < sizeof values; i++) {
                struct sxt_ksym_blob blob;
                image.bytes[at] = values[i];
                opened += sxt_ksym_image_try(&blob, image.bytes, image.size, 0, 0, NULL) == NULL;
                ask_everything(&blob.ksym);
                sxt_ksym_image_close(&blob);
            }
            image.bytes[at] = before;
        }
    }
    assert_true(opened > 1000);
}

/* Enough symbols for the tables of the reader, which are asked with and without an index. */
TEST(every_changed_byte_of_a_larger_blob_stays_inside)
{
    static struct sxt_ksym_image image;
    static struct sxt_ksym_image_symbol symbols[40];
    static char names[40][32];
    static uint32_t index[2048];
    static struct sxt_ksym_blob blob;
    const char *const tokens[] = {"a_beginning_", "a_beg", "unused", NULL};
    size_t opened = 0, indexed = 0;
    for (size_t i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], i % 3 == 0 ? "a_beginning_%zu" : "b%zu [mod]", i * i * 7);
        symbols[i] = (struct sxt_ksym_image_symbol){0x1000 + i * 19 - i % 4, names[i], NULL};
    }
    symbols[3].payload = "\xff\x01\xff"
                         "inning_63";
    symbols[9].payload = "\xff\x7f\xff"
                         "567";
    sxt_ksym_image_make(&image, symbols, 40, tokens, false);
    for (size_t at = 0; at < image.size; at++) {
        uint8_t before = image.bytes[at];
        for (unsigned i = 0; i < 3; i++) {
            image.bytes[at] = i == 0 ? 0xff : (uint8_t)(before + (i == 1 ? 1 : 0x80));
            opened += sxt_ksym_image_try(&blob, image.bytes, image.size, 0, 0, NULL) == NULL;
            ask_everything(&blob.ksym);
            if (sxt_ksym_use_index(&blob.ksym, index, sizeof index)) {
                indexed += blob.ksym.starts != NULL;
                ask_everything(&blob.ksym);
            }
            sxt_ksym_image_close(&blob);
        }
        image.bytes[at] = before;
    }
    assert_true(opened > 1000 && indexed > 1000);
}

/* The example with the SIZE bytes at AT changed to VALUE. */
static void assert_refused(size_t at, uint64_t value, size_t size, const char *expected, size_t expected_at)
{
    struct sxt_ksym_image number = {.size = 0};
    uint8_t bytes[sizeof sxt_ksym_example];
    struct sxt_ksym_blob blob;
    size_t offset = SIZE_MAX;
    memcpy(bytes, sxt_ksym_example, sizeof bytes);
    sxt_ksym_image_number(&number, value, size);
    memcpy(bytes + at, number.bytes, size);
    const char *wrong = sxt_ksym_image_try(&blob, bytes, sizeof bytes, 0, 0, &offset);
    assert_non_null(wrong);
    assert_string_equal(wrong, expected);
    assert_int_equal(offset, expected_at);
    sxt_ksym_image_close(&blob);
}

TEST(lies_are_refused)
{
    const char *const symbols = "there are fewer bytes than the symbols need";
    assert_refused(0, UINT64_C(1) << 62, 8, symbols, 0);
    assert_refused(0, UINT64_C(1) << 60, 8, symbols, 0);
    assert_refused(0, UINT64_MAX, 8, symbols, 0);
    assert_refused(0x10, 0xfff, 8, "addresses are not in ascending order", 0x10);
    assert_refused(0x24, 30, 4, "the offset of a name is beyond the names", 0x24);
    assert_refused(0x24, UINT32_MAX, 4, "the offset of a name is beyond the names", 0x24);
    assert_refused(0x30, 3, 4, "the order of names has a symbol that does not exist", 0x30);
    assert_refused(0x38, UINT64_MAX, 8, "there are fewer bytes than the names need", 0x38);
    assert_refused(0x38, UINT64_MAX - 7, 8, "there are fewer bytes than the names need", 0x38);
    assert_refused(0x54, 11, 2, "a name goes beyond the end of the names", 0x53);
    assert_refused(0x60, UINT64_MAX, 8, "there are fewer bytes than the tokens need", 0x60);
    assert_refused(0x80, UINT64_C(1) << 62, 8, "there are fewer bytes than the token index needs", 0x7f);
    assert_refused(0x8c, 18, 4, "the token index is not in ascending order, or beyond the tokens", 0x8c);
    assert_refused(0x90, 24, 4, "the token index is not in ascending order, or beyond the tokens", 0x8c + 4);

    /* A count that makes every product wrap around to 0. */
    uint8_t zeros[64] = {0};
    struct sxt_ksym_blob blob;
    zeros[7] = 0x40;
    assert_non_null(sxt_ksym_image_try(&blob, zeros, sizeof zeros, 0, 0, NULL));
    sxt_ksym_image_close(&blob);
    assert_string_equal(sxt_ksym_open(&blob.ksym, NULL, 0, 0, 0, NULL), symbols);
}

/* A few bytes a symbol would otherwise become a text of any size. */
TEST(the_size_of_a_token_is_limited)
{
    static struct sxt_ksym_image image;
    static char token[SXT_KSYM_TOKEN_SIZE_MOST + 2];
    struct sxt_ksym_blob blob;
    const char *const tokens[] = {token, NULL};
    const struct sxt_ksym_image_symbol symbol = {0x1000, "short", "\xff\x01\xffshort"};
    memset(token, 'x', SXT_KSYM_TOKEN_SIZE_MOST);
    sxt_ksym_image_make(&image, &symbol, 1, tokens, false);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
    sxt_ksym_image_close(&blob);
    token[SXT_KSYM_TOKEN_SIZE_MOST] = 'x';
    sxt_ksym_image_make(&image, &symbol, 1, tokens, false);
    assert_string_equal(sxt_ksym_image_try(&blob, image.bytes, image.size, 0, 0, NULL),
                        "a token is longer than 65535 bytes");
    sxt_ksym_image_close(&blob);
}
