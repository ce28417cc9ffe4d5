/* sample_file.h: the sample files of the tests, and every way to damage one. */
#ifndef SXT_TESTS_SAMPLE_FILE_H
#define SXT_TESTS_SAMPLE_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

struct sample_file {
    uint8_t *data;
    size_t size;
};

/* PATH is below tests/fuzz/seeds. The caller frees the data. */
static inline struct sample_file sample_file_read(const char *path)
{
    char name[4096];
    const char *root = getenv("SXT_SOURCE_ROOT");
    snprintf(name, sizeof name, "%s/tests/fuzz/seeds/%s", root != NULL ? root : ".", path);
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    struct sample_file sample = {malloc(1 << 20), 0};
    assert_non_null(sample.data);
    sample.size = fread(sample.data, 1, 1 << 20, file);
    fclose(file);
    assert_true(sample.size > 0);
    return sample;
}

/*
 * Calls CHECK for the file cut off at every length, and with every byte changed in several ways. Each time the bytes
 * are a copy of their exact size, so that a sanitizer detects reads beyond the end.
 */
static inline void sample_file_sweep(const struct sample_file *sample, void (*check)(const uint8_t *data, size_t size))
{
    static const uint8_t changes[] = {0xff, 0x80, 0x01, 0x40};
    for (size_t size = 0; size < sample->size; size++) {
        uint8_t *copy = malloc(size > 0 ? size : 1);
        assert_non_null(copy);
        memcpy(copy, sample->data, size);
        check(copy, size);
        free(copy);
    }
    for (size_t at = 0; at < sample->size; at++) {
        for (size_t i = 0; i < sizeof changes; i++) {
            uint8_t *copy = malloc(sample->size);
            assert_non_null(copy);
            memcpy(copy, sample->data, sample->size);
            copy[at] ^= changes[i];
            check(copy, sample->size);
            free(copy);
        }
    }
}

#endif
