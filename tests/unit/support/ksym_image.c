/* ksym_image.c: see ksym_image.h. */
#include "support/ksym_image.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t sxt_ksym_example[148] = {
    0x03, 0,    0,    0,   0,   0,    0,    0,    0x00, 0x10, 0,    0,    0,    0,   0,    0,   0x00, 0x11, 0,
    0,    0,    0,    0,   0,   0x00, 0x12, 0,    0,    0,    0,    0,    0,    0,   0,    0,   0,    0x09, 0,
    0,    0,    0x13, 0,   0,   0,    0,    0,    0,    0,    0x02, 0,    0,    0,   0x01, 0,   0,    0,    0x20,
    0,    0,    0,    0,   0,   0,    0,    'T',  0x06, 0,    '_',  's',  't',  'a', 'r',  't', 'T',  0x07, 0,
    'd',  'o',  '_',  'f', 'o', 'r',  'k',  'T',  0x0a, 0,    0xff, 0x00, 0xff, 'p', '_',  'e', 'n',  't',  'r',
    'y',  0x17, 0,    0,   0,   0,    0,    0,    0,    'c',  'p',  'u',  '_',  's', 't',  'a', 'r',  't',  'u',
    'd',  'o',  '_',  'f', 'o', 'r',  'k',  '_',  's',  't',  'a',  'r',  't',  0,   0x03, 0,   0,    0,    0,
    0,    0,    0,    0,   0,   0,    0,    0x0a, 0,    0,    0,    0x11, 0,    0,   0,
};

void sxt_ksym_image_add(struct sxt_ksym_image *image, const void *bytes, size_t size)
{
    assert_true(size <= sizeof image->bytes - image->size);
    memcpy(image->bytes + image->size, bytes, size);
    image->size += size;
}

void sxt_ksym_image_number(struct sxt_ksym_image *image, uint64_t number, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    sxt_ksym_image_add(image, bytes, size);
}

static void align(struct sxt_ksym_image *image)
{
    while (image->size % 8 != 0)
        sxt_ksym_image_number(image, 0, 1);
}

static const struct sxt_ksym_image_symbol *sorted_symbols;

static int by_name(const void *a, const void *b)
{
    uint32_t first, second;
    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    int order = strcmp(sorted_symbols[first].name, sorted_symbols[second].name);
    return order != 0 ? order : first < second ? -1 : first > second;
}

void sxt_ksym_image_make(struct sxt_ksym_image *image, const struct sxt_ksym_image_symbol *symbols, size_t count,
                         const char *const *tokens, bool newer)
{
    static uint32_t order[4096];
    size_t offset = 0, token_count = 0, tokens_size = 0;
    image->size = 0;
    if (newer)
        sxt_ksym_image_number(image, 0, 8);
    sxt_ksym_image_number(image, count, 8);
    for (size_t i = 0; i < count; i++)
        sxt_ksym_image_number(image, symbols[i].address, 8);
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        sxt_ksym_image_number(image, offset, 4);
        offset += 3 + strlen(symbols[i].payload != NULL ? symbols[i].payload : symbols[i].name);
    }
    sorted_symbols = symbols;
    qsort(order, count, sizeof *order, by_name);
    for (size_t i = 0; i < count; i++)
        sxt_ksym_image_number(image, order[i], 4);
    sxt_ksym_image_number(image, offset, 8);
    for (size_t i = 0; i < count; i++) {
        const char *payload = symbols[i].payload != NULL ? symbols[i].payload : symbols[i].name;
        sxt_ksym_image_add(image, i % 2 == 0 ? "T" : "t", 1);
        sxt_ksym_image_number(image, strlen(payload), 2);
        sxt_ksym_image_add(image, payload, strlen(payload));
    }
    align(image);
    for (; tokens != NULL && tokens[token_count] != NULL; token_count++)
        tokens_size += strlen(tokens[token_count]);
    sxt_ksym_image_number(image, tokens_size, 8);
    for (size_t i = 0; i < token_count; i++)
        sxt_ksym_image_add(image, tokens[i], strlen(tokens[i]));
    align(image);
    sxt_ksym_image_number(image, token_count, 8);
    for (size_t i = 0, at = 0; i < token_count; at += strlen(tokens[i++]))
        sxt_ksym_image_number(image, at, 4);
    if (newer) {
        struct sxt_ksym_image whole = {.size = 0};
        sxt_ksym_image_number(&whole, image->size, 8);
        memcpy(image->bytes, whole.bytes, 8);
    }
}

const char *sxt_ksym_image_try(struct sxt_ksym_blob *blob, const void *bytes, size_t size, uint64_t start, uint64_t end,
                               size_t *at)
{
    size_t shift = size % 2 + 1;
    blob->block = malloc(size + shift);
    assert_non_null(blob->block);
    if (size > 0)
        memcpy(blob->block + shift, bytes, size);
    return sxt_ksym_open(&blob->ksym, blob->block + shift, size, start, end, at);
}

void sxt_ksym_image_open(struct sxt_ksym_blob *blob, const void *bytes, size_t size, uint64_t start, uint64_t end)
{
    assert_null(sxt_ksym_image_try(blob, bytes, size, start, end, NULL));
}

void sxt_ksym_image_close(struct sxt_ksym_blob *blob)
{
    free(blob->block);
}

void sxt_ksym_assert_unknown(const sxt_ksym *ksym, uint64_t address)
{
    char buffer[8] = "x";
    sxt_ksym_symbol symbol;
    assert_false(sxt_ksym_lookup(ksym, address, buffer, sizeof buffer, &symbol));
    assert_string_equal(buffer, "");
}

void sxt_ksym_assert_found(const sxt_ksym *ksym, const char *name, const char *expected)
{
    char text[512] = "";
    sxt_ksym_matches matches;
    size_t index;
    /* Of exactly its size, so that reading after it is seen. */
    char *copy = malloc(strlen(name) + (name[0] == '\0'));
    assert_non_null(copy);
    memcpy(copy, name, strlen(name));
    sxt_ksym_find(ksym, copy, strlen(name), &matches);
    while (sxt_ksym_next(&matches, &index))
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%llx", text[0] != '\0' ? " " : "",
                 (unsigned long long)sxt_ksym_address(ksym, index));
    assert_false(sxt_ksym_next(&matches, &index));
    assert_string_equal(text, expected);
    free(copy);
}

void sxt_ksym_image_collect(void *data, const char *bytes, size_t size)
{
    struct sxt_ksym_image *image = data;
    sxt_ksym_image_add(image, bytes, size);
}
