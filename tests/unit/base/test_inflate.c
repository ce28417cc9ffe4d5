/* test_inflate.c: streams made by the libraries themselves, whole, joined, cut, damaged, and as bombs. */
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/inflate.h"
#include "support/sanitized.h"
#include "support/test.h"

static const enum sxt_compression kinds[] = {SXT_COMPRESSION_GZIP, SXT_COMPRESSION_ZLIB, SXT_COMPRESSION_XZ,
                                             SXT_COMPRESSION_ZSTD};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes compress_deflate(bool gzip, const void *data, size_t size)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + (gzip ? 16 : 0), 8, Z_DEFAULT_STRATEGY), Z_OK);
    struct bytes out = {.size = deflateBound(&stream, size)};
    out.data = malloc(out.size);
    assert_non_null(out.data);
    stream.next_in = (Bytef *)(uintptr_t)data;
    stream.avail_in = (uInt)size;
    stream.next_out = out.data;
    stream.avail_out = (uInt)out.size;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.size = stream.total_out;
    deflateEnd(&stream);
    return out;
}

static struct bytes compress_xz(const void *data, size_t size)
{
    struct bytes out = {.size = lzma_stream_buffer_bound(size)};
    out.data = malloc(out.size);
    assert_non_null(out.data);
    size_t position = 0;
    assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, size, out.data, &position, out.size),
                     LZMA_OK);
    out.size = position;
    return out;
}

static struct bytes compress_zstd(const void *data, size_t size)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    assert_non_null(context);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    struct bytes out = {.size = ZSTD_compressBound(size)};
    out.data = malloc(out.size);
    assert_non_null(out.data);
    out.size = ZSTD_compress2(context, out.data, out.size, data, size);
    assert_false(ZSTD_isError(out.size));
    ZSTD_freeCCtx(context);
    return out;
}

static struct bytes compressed(enum sxt_compression kind, const void *data, size_t size)
{
    if (kind == SXT_COMPRESSION_XZ)
        return compress_xz(data, size);
    if (kind == SXT_COMPRESSION_ZSTD)
        return compress_zstd(data, size);
    return compress_deflate(kind == SXT_COMPRESSION_GZIP, data, size);
}

/* A copy that ends where its memory ends, so that a sanitizer sees the first byte read after it. */
static struct bytes joined(const void *first, size_t first_size, const void *second, size_t second_size)
{
    struct bytes out = {malloc(first_size + second_size + (first_size + second_size == 0)), first_size + second_size};
    assert_non_null(out.data);
    if (first_size > 0)
        memcpy(out.data, first, first_size);
    if (second_size > 0)
        memcpy(out.data + first_size, second, second_size);
    return out;
}

/* Text that compresses, but not to nothing. */
static struct bytes sample(size_t size)
{
    struct bytes out = {malloc(size + 1), size};
    assert_non_null(out.data);
    uint32_t random = 12345;
    for (size_t i = 0; i < size; i++) {
        random = random * 1664525 + 1013904223;
        out.data[i] = i % 3 == 0 ? (uint8_t)(random >> 28) : (uint8_t)("function_name_"[i % 14]);
    }
    return out;
}

static void assert_expands(enum sxt_compression kind, struct bytes stream, struct bytes expected)
{
    uint8_t *out;
    size_t size;
    sxt_error error;
    int status = sxt_inflate(kind, stream.data, stream.size, expected.size, &out, &size, &error);
    if (status != SXT_OK)
        fail_msg("%s: %s", sxt_compression_name(kind), error.text);
    assert_non_null(out);
    assert_int_equal(size, expected.size);
    assert_memory_equal(out, expected.data, expected.size);
    free(out);

    uint8_t *exact = malloc(expected.size + 1);
    assert_non_null(exact);
    exact[expected.size] = 0xa5;
    assert_int_equal(sxt_inflate_exactly(kind, stream.data, stream.size, exact, expected.size, &error), SXT_OK);
    assert_memory_equal(exact, expected.data, expected.size);
    assert_int_equal(exact[expected.size], 0xa5);
    free(exact);
}

static void assert_refused(enum sxt_compression kind, struct bytes stream, int wanted)
{
    uint8_t *out = (uint8_t *)1;
    size_t size = 1;
    sxt_error error;
    int status = sxt_inflate(kind, stream.data, stream.size, 1 << 20, &out, &size, &error);
    if (status != wanted)
        fail_msg("%s: status %d instead of %d", sxt_compression_name(kind), status, wanted);
    assert_null(out);
    assert_int_equal(size, 0);
    assert_int_equal(error.code, wanted);
    assert_true(error.offset <= stream.size);
}

TEST(expands_what_the_libraries_compress)
{
    static const size_t sizes[] = {0, 1, 1000, 65535, 65536, 65537, 131072, 3000000};
    for (size_t k = 0; k < KIND_COUNT; k++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct bytes text = sample(sizes[s]);
            struct bytes stream = compressed(kinds[k], text.data, text.size);
            assert_expands(kinds[k], stream, text);
            free(stream.data);
            free(text.data);
        }
    }
}

TEST(recognises_streams_by_their_first_bytes)
{
    struct bytes text = sample(100);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes stream = compressed(kinds[k], text.data, text.size);
        enum sxt_compression expected = kinds[k] == SXT_COMPRESSION_ZLIB ? SXT_COMPRESSION_NONE : kinds[k];
        assert_int_equal(sxt_compression_of(stream.data, stream.size), expected);
        for (size_t size = 0; size < 3; size++)
            assert_int_equal(sxt_compression_of(stream.data, size), SXT_COMPRESSION_NONE);
        free(stream.data);
    }
    assert_int_equal(sxt_compression_of(text.data, text.size), SXT_COMPRESSION_NONE);
    assert_int_equal(sxt_compression_of("\177ELF\2\1\1", 7), SXT_COMPRESSION_NONE);
    assert_int_equal(sxt_compression_of(NULL, 0), SXT_COMPRESSION_NONE);
    assert_string_equal(sxt_compression_name(SXT_COMPRESSION_XZ), "xz");
    free(text.data);
}

TEST(expands_joined_members)
{
    struct bytes text = sample(5000);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        if (kinds[k] == SXT_COMPRESSION_ZLIB)
            continue;
        struct bytes first = compressed(kinds[k], text.data, 2000);
        struct bytes empty = compressed(kinds[k], "", 0);
        struct bytes last = compressed(kinds[k], text.data + 2000, 3000);
        struct bytes two = joined(first.data, first.size, empty.data, empty.size);
        struct bytes all = joined(two.data, two.size, last.data, last.size);
        assert_expands(kinds[k], all, text);
        free(first.data);
        free(empty.data);
        free(last.data);
        free(two.data);
        free(all.data);
    }
    free(text.data);
}

TEST(accepts_zero_padding_of_gzip_and_xz_only)
{
    static const uint8_t zeros[512];
    struct bytes text = sample(500);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes stream = compressed(kinds[k], text.data, text.size);
        for (size_t padding = 1; padding <= sizeof zeros; padding += padding < 9 ? 1 : 503) {
            struct bytes padded = joined(stream.data, stream.size, zeros, padding);
            if (kinds[k] == SXT_COMPRESSION_GZIP || kinds[k] == SXT_COMPRESSION_XZ)
                assert_expands(kinds[k], padded, text);
            else
                assert_refused(kinds[k], padded, SXT_ERROR_FORMAT);
            free(padded.data);
        }
        free(stream.data);
    }
    free(text.data);
}

TEST(refuses_other_bytes_after_the_end)
{
    static const char *const garbage[] = {"x", "\x1f", "\x1f\x8b", "\x28\xb5\x2f", "\xfd\x37zXZ", "longer garbage"};
    struct bytes text = sample(500);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes stream = compressed(kinds[k], text.data, text.size);
        for (size_t g = 0; g < sizeof garbage / sizeof garbage[0]; g++) {
            struct bytes longer = joined(stream.data, stream.size, garbage[g], strlen(garbage[g]));
            assert_refused(kinds[k], longer, SXT_ERROR_FORMAT);
            uint8_t to[500];
            assert_int_equal(sxt_inflate_exactly(kinds[k], longer.data, longer.size, to, sizeof to, NULL),
                             SXT_ERROR_FORMAT);
            free(longer.data);
        }
        free(stream.data);
    }
    free(text.data);
}

TEST(says_where_the_other_bytes_begin)
{
    struct bytes stream = compressed(SXT_COMPRESSION_GZIP, "hello", 5);
    struct bytes longer = joined(stream.data, stream.size, "\0\0tail", 6);
    uint8_t *out;
    size_t size;
    sxt_error error;
    assert_int_equal(sxt_inflate(SXT_COMPRESSION_GZIP, longer.data, longer.size, 100, &out, &size, &error),
                     SXT_ERROR_FORMAT);
    assert_int_equal(error.offset, stream.size + 2);
    assert_non_null(strstr(error.text, "gzip stream: other bytes after its end (offset 0x"));
    free(stream.data);
    free(longer.data);
}

TEST(skips_skippable_zstd_frames)
{
    static const uint8_t skippable[] = {0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
    struct bytes text = sample(300);
    struct bytes frame = compressed(SXT_COMPRESSION_ZSTD, text.data, text.size);
    struct bytes before = joined(skippable, sizeof skippable, frame.data, frame.size);
    struct bytes around = joined(before.data, before.size, skippable, sizeof skippable);
    assert_int_equal(sxt_compression_of(around.data, around.size), SXT_COMPRESSION_ZSTD);
    assert_expands(SXT_COMPRESSION_ZSTD, around, text);
    /* Alone it could be of another format. */
    assert_int_equal(sxt_compression_of(skippable, sizeof skippable), SXT_COMPRESSION_NONE);
    assert_int_equal(sxt_compression_of(skippable, sizeof skippable - 1), SXT_COMPRESSION_NONE);
    free(frame.data);
    free(before.data);
    free(around.data);
    free(text.data);
}

TEST(stops_a_bomb_at_the_limit)
{
    const size_t bomb_size = 100 << 20;
    void *zeros = mmap(NULL, bomb_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(zeros != MAP_FAILED);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes bomb = compressed(kinds[k], zeros, bomb_size);
        assert_true(bomb.size < 1 << 20);
        assert_refused(kinds[k], bomb, SXT_ERROR_LIMIT);
        uint8_t *to = malloc(1 << 20);
        assert_non_null(to);
        assert_int_equal(sxt_inflate_exactly(kinds[k], bomb.data, bomb.size, to, 1 << 20, NULL), SXT_ERROR_FORMAT);
        free(to);
        free(bomb.data);
    }
    munmap(zeros, bomb_size);
}

TEST(takes_the_limit_by_the_byte)
{
    struct bytes text = sample(70000);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes stream = compressed(kinds[k], text.data, text.size);
        uint8_t *out;
        size_t size;
        sxt_error error;
        assert_int_equal(sxt_inflate(kinds[k], stream.data, stream.size, text.size, &out, &size, &error), SXT_OK);
        free(out);
        assert_int_equal(sxt_inflate(kinds[k], stream.data, stream.size, UINT64_MAX, &out, &size, &error), SXT_OK);
        free(out);
        static const size_t below[] = {0, 1, 65535, 65536, 69999};
        for (size_t b = 0; b < sizeof below / sizeof below[0]; b++) {
            assert_int_equal(sxt_inflate(kinds[k], stream.data, stream.size, below[b], &out, &size, &error),
                             SXT_ERROR_LIMIT);
            assert_null(out);
        }
        free(stream.data);
    }
    free(text.data);
}

TEST(wants_exactly_the_expected_length)
{
    struct bytes text = sample(1000);
    uint8_t to[1001];
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes stream = compressed(kinds[k], text.data, text.size);
        sxt_error error;
        to[999] = 0xa5;
        assert_int_equal(sxt_inflate_exactly(kinds[k], stream.data, stream.size, to, 999, &error), SXT_ERROR_FORMAT);
        assert_int_equal(to[999], 0xa5);
        assert_int_equal(sxt_inflate_exactly(kinds[k], stream.data, stream.size, to, 1001, &error), SXT_ERROR_FORMAT);
        assert_non_null(strstr(error.text, "1000 bytes where 1001 are expected"));
        assert_int_equal(sxt_inflate_exactly(kinds[k], stream.data, stream.size, NULL, 0, &error), SXT_ERROR_FORMAT);
        free(stream.data);
    }
    free(text.data);
}

TEST(refuses_every_cut_stream)
{
    struct bytes text = sample(700);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes stream = compressed(kinds[k], text.data, text.size);
        for (size_t size = 0; size < stream.size; size++) {
            struct bytes cut = joined(stream.data, size, NULL, 0);
            assert_refused(kinds[k], cut, SXT_ERROR_FORMAT);
            assert_int_equal(sxt_inflate_exactly(kinds[k], cut.data, cut.size, text.data, text.size, NULL),
                             SXT_ERROR_FORMAT);
            free(cut.data);
        }
        free(stream.data);
    }
    free(text.data);
}

TEST(survives_every_changed_byte)
{
    static const uint8_t changes[] = {0xff, 0x01, 0x80, 0x10};
    struct bytes text = sample(700);
    uint8_t *exact = malloc(text.size);
    assert_non_null(exact);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes stream = compressed(kinds[k], text.data, text.size);
        struct bytes changed = joined(stream.data, stream.size, NULL, 0);
        unsigned noticed = 0;
        for (size_t at = 0; at < stream.size; at++) {
            for (size_t c = 0; c < sizeof changes; c++) {
                changed.data[at] = stream.data[at] ^ changes[c];
                uint8_t *out;
                size_t size;
                sxt_error error;
                int status = sxt_inflate(kinds[k], changed.data, changed.size, 10000, &out, &size, &error);
                if (status == SXT_OK)
                    assert_true(size <= 10000);
                else
                    assert_null(out);
                noticed += status != SXT_OK;
                free(out);
                sxt_inflate_exactly(kinds[k], changed.data, changed.size, exact, text.size, NULL);
            }
            changed.data[at] = stream.data[at];
        }
        /* Only a few header bits (time, name, ...) may change without being noticed. */
        assert_true(noticed > stream.size * sizeof changes * 9 / 10);
        free(stream.data);
        free(changed.data);
    }
    free(exact);
    free(text.data);
}

/* Sets the dictionary size in the block header of an xz stream: (2 | code & 1) << (code / 2 + 11) bytes. */
static void set_dictionary(struct bytes stream, uint8_t code)
{
    const size_t header = 12;
    size_t header_size = ((size_t)stream.data[header] + 1) * 4;
    size_t at = header + 2;
    while (stream.data[at] != 0x21 || stream.data[at + 1] != 1)
        at++;
    stream.data[at + 2] = code;
    uint32_t crc = lzma_crc32(stream.data + header, header_size - 4, 0);
    for (unsigned i = 0; i < 4; i++)
        stream.data[header + header_size - 4 + i] = (uint8_t)(crc >> (8 * i));
}

TEST(bounds_the_dictionary_of_xz)
{
    struct bytes text = sample(100);
    struct bytes stream = compressed(SXT_COMPRESSION_XZ, text.data, text.size);
    set_dictionary(stream, 30);
    assert_expands(SXT_COMPRESSION_XZ, stream, text);
    set_dictionary(stream, 32);
    assert_refused(SXT_COMPRESSION_XZ, stream, SXT_ERROR_LIMIT);
    set_dictionary(stream, 40);
    assert_refused(SXT_COMPRESSION_XZ, stream, SXT_ERROR_LIMIT);
    free(stream.data);
    free(text.data);
}

TEST(bounds_the_window_of_zstd)
{
    /* Magic, a descriptor without anything optional, a window of 2^(10 + code / 8) bytes, one last raw block. */
    uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 5 << 3 | 1, 0, 0, 'h', 'e', 'l', 'l', 'o'};
    struct bytes stream = {frame, sizeof frame};
    uint8_t hello[] = "hello";
    assert_expands(SXT_COMPRESSION_ZSTD, stream, (struct bytes){hello, 5});
    frame[5] = 18 << 3;
    assert_refused(SXT_COMPRESSION_ZSTD, stream, SXT_ERROR_LIMIT);
    frame[5] = 21 << 3;
    assert_refused(SXT_COMPRESSION_ZSTD, stream, SXT_ERROR_LIMIT);
}

/* 8 bytes of content size that claim a terabyte, in front of a block of five bytes. */
static int expand_a_liar(void)
{
    static const uint8_t liar[] = {0x28, 0xb5, 0x2f, 0xfd,       0xc0, 0, 0,   0,   0,   0,   0,
                                   1,    0,    0,    5 << 3 | 1, 0,    0, 'h', 'e', 'l', 'l', 'o'};
    uint8_t *out;
    size_t size;
    return sxt_inflate(SXT_COMPRESSION_ZSTD, liar, sizeof liar, UINT64_MAX, &out, &size, NULL);
}

TEST(does_not_believe_a_claimed_size)
{
    assert_int_equal(expand_a_liar(), SXT_ERROR_FORMAT);
    if (SANITIZED)
        return;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {64 << 20, 64 << 20};
        _exit(setrlimit(RLIMIT_AS, &limit) == 0 && expand_a_liar() == SXT_ERROR_FORMAT ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

TEST(refuses_to_expand_what_is_not_compressed)
{
    uint8_t *out;
    size_t size;
    assert_int_equal(sxt_inflate(SXT_COMPRESSION_NONE, "abc", 3, 10, &out, &size, NULL), SXT_ERROR_USAGE);
    assert_int_equal(sxt_inflate_exactly(SXT_COMPRESSION_NONE, "abc", 3, NULL, 0, NULL), SXT_ERROR_USAGE);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        assert_refused(kinds[k], (struct bytes){NULL, 0}, SXT_ERROR_FORMAT);
        uint8_t text[] = "plain text, and no stream at all";
        assert_refused(kinds[k], (struct bytes){text, sizeof text}, SXT_ERROR_FORMAT);
    }
}

TEST(expands_the_start_of_a_stream_whose_end_is_missing)
{
    struct bytes plain = sample(300000);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct bytes stream = compressed(kinds[k], plain.data, plain.size);
        uint8_t start[256];
        for (size_t cut = 1; cut <= 2; cut++) {
            size_t found = sxt_inflate_start(kinds[k], stream.data, stream.size / cut, start, sizeof start);
            assert_int_equal(found, sizeof start);
            assert_memory_equal(start, plain.data, sizeof start);
        }
        free(stream.data);
        stream = compressed(kinds[k], plain.data, 100);
        assert_int_equal(sxt_inflate_start(kinds[k], stream.data, stream.size, start, sizeof start), 100);
        assert_int_equal(sxt_inflate_start(kinds[k], stream.data, 0, start, sizeof start), 0);
        free(stream.data);
    }
    free(plain.data);
}
