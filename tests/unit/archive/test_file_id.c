/* test_file_id.c: the FileID of the OpenTelemetry profiler: known values, and which bytes of a file count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/sextant.h>

#include "base/sha256.h"
#include "support/random.h"
#include "support/test.h"

#define BLOCK 4096

struct id {
    char hex[33], base64url[23];
};

static struct id id_of(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/sextant-file-id-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), (ssize_t)size);
    close(fd);
    struct id id;
    sxt_error error;
    if (sxt_file_id(path, id.hex, id.base64url, &error) != SXT_OK)
        fail_msg("%s", error.text);
    unlink(path);
    return id;
}

TEST(files_of_zeros_have_the_ids_that_the_profiler_gives)
{
    static const uint8_t zeros[5000];
    static const struct {
        size_t size;
        struct id id;
    } known[] = {
        {0, {"af5570f5a1810b7af78caf4bc70a660f", "r1Vw9aGBC3r3jK9LxwpmDw"}},
        {123, {"f4c1e5fe2f28034fcceb0776ec00b125", "9MHl_i8oA0_M6wd27ACxJQ"}},
        {5000, {"e8d38a9450c4b71b4c5a8bee92ccf4b9", "6NOKlFDEtxtMWovuksz0uQ"}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct id id = id_of(zeros, known[i].size);
        assert_string_equal(id.hex, known[i].id.hex);
        assert_string_equal(id.base64url, known[i].id.base64url);
    }
}

/* By the rule: the first block, the last block, and the size with its highest byte first. */
static void expected_hex(const uint8_t *data, size_t size, char hex[33])
{
    struct sxt_sha256 hash;
    uint8_t number[8], digest[SXT_SHA256_SIZE];
    size_t part = size < BLOCK ? size : BLOCK;
    for (unsigned i = 0; i < 8; i++)
        number[i] = (uint8_t)((uint64_t)size >> (56 - 8 * i));
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, data, part);
    sxt_sha256_add(&hash, data + size - part, part);
    sxt_sha256_add(&hash, number, sizeof number);
    sxt_sha256_end(&hash, digest);
    for (unsigned i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

TEST(the_first_and_the_last_block_and_the_size_count)
{
    static const size_t sizes[] = {1, 4095, 4096, 4097, 5000, 8191, 8192, 8193, 100000};
    struct sxt_test_random random = {3};
    static uint8_t data[100000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)sxt_test_next(&random);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char hex[33];
        expected_hex(data, sizes[i], hex);
        assert_string_equal(id_of(data, sizes[i]).hex, hex);
    }
    /* What is between the blocks does not. */
    struct id before = id_of(data, sizeof data);
    data[BLOCK] ^= 1;
    data[sizeof data - BLOCK - 1] ^= 1;
    assert_string_equal(id_of(data, sizeof data).hex, before.hex);
    data[BLOCK - 1] ^= 1;
    assert_string_not_equal(id_of(data, sizeof data).hex, before.hex);
}

TEST(a_file_that_cannot_be_read_is_an_error)
{
    struct id id;
    sxt_error error;
    assert_int_equal(sxt_file_id("/nowhere/at/all", id.hex, id.base64url, &error), SXT_ERROR_IO);
    assert_int_equal(error.code, SXT_ERROR_IO);
}
