/* test_expand.c: bodies without their Content-Encoding, whole and in pieces, damaged, cut and too large. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buffer.h"
#include "service/expand.h"
#include "support/test.h"

static struct sxt_buffer out;

SET_UP()
{
    sxt_buffer_init(&out, SIZE_MAX);
}

TEAR_DOWN()
{
    sxt_buffer_free(&out);
}

static int collect(void *context, const void *data, size_t size, sxt_error *error)
{
    sxt_buffer_append(context, data, size);
    return sxt_buffer_status(context, error);
}

/* Expands DATA in pieces of PIECE bytes. */
static int expand(enum sxt_encoding encoding, const uint8_t *data, size_t size, size_t piece, uint64_t limit)
{
    struct sxt_expander *expander;
    sxt_error error;
    sxt_buffer_clear(&out);
    assert_int_equal(sxt_expander_open(encoding, limit, &expander, &error), SXT_OK);
    int status = SXT_OK;
    for (size_t at = 0; at < size && status == SXT_OK; at += piece)
        status = sxt_expander_feed(expander, data + at, size - at < piece ? size - at : piece, collect, &out, &error);
    if (status == SXT_OK)
        status = sxt_expander_finish(expander, &error);
    assert_false(sxt_expander_sink_failed(expander));
    sxt_expander_close(&expander);
    return status;
}

static size_t pack(enum sxt_encoding encoding, const void *data, size_t size, uint8_t *to, size_t room)
{
    if (encoding == SXT_ENCODING_ZSTD)
        return ZSTD_compress(to, room, data, size, 1);
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = to, .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}

static const enum sxt_encoding encodings[] = {SXT_ENCODING_GZIP, SXT_ENCODING_ZSTD};

TEST(knows_encodings)
{
    enum sxt_encoding encoding;
    assert_true(sxt_encoding_parse(NULL, &encoding) && encoding == SXT_ENCODING_IDENTITY);
    assert_true(sxt_encoding_parse(" Identity ", &encoding) && encoding == SXT_ENCODING_IDENTITY);
    assert_true(sxt_encoding_parse("GZIP", &encoding) && encoding == SXT_ENCODING_GZIP);
    assert_true(sxt_encoding_parse("x-gzip", &encoding) && encoding == SXT_ENCODING_GZIP);
    assert_true(sxt_encoding_parse("zstd", &encoding) && encoding == SXT_ENCODING_ZSTD);
    assert_false(sxt_encoding_parse("br", &encoding));
    assert_false(sxt_encoding_parse("gzip, zstd", &encoding));
    assert_false(sxt_encoding_parse("gzi", &encoding));
}

TEST(expands_in_pieces_of_any_size)
{
    static char text[200000];
    static uint8_t packed[200000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i * i % 23);
    for (size_t e = 0; e < 2; e++) {
        size_t size = pack(encodings[e], text, sizeof text / 2, packed, sizeof packed);
        size += pack(encodings[e], text + sizeof text / 2, sizeof text / 2, packed + size, sizeof packed - size);
        static const size_t pieces[] = {1, 7, 1000, sizeof packed};
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            assert_int_equal(expand(encodings[e], packed, size, pieces[i], sizeof text), SXT_OK);
            assert_int_equal(out.size, sizeof text);
            assert_memory_equal(out.data, text, sizeof text);
        }
    }
}

TEST(refuses_what_is_cut_or_damaged)
{
    static const char text[] = "a text that is long enough to be packed, and packed, and packed";
    uint8_t packed[256];
    for (size_t e = 0; e < 2; e++) {
        size_t size = pack(encodings[e], text, sizeof text, packed, sizeof packed);
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(expand(encodings[e], packed, cut, 5, 1000), SXT_ERROR_FORMAT);
        packed[size] = 'x';
        assert_int_equal(expand(encodings[e], packed, size + 1, 1000, 1000), SXT_ERROR_FORMAT);
        for (size_t i = 0; i < size; i++) {
            packed[i] ^= 0x55;
            int status = expand(encodings[e], packed, size, 1000, 1000);
            assert_true(status == SXT_OK || status == SXT_ERROR_FORMAT);
            packed[i] ^= 0x55;
        }
    }
}

TEST(stops_at_the_limit)
{
    size_t size = (size_t)8 << 20;
    uint8_t *zeros = calloc(1, size), *packed = malloc(size);
    for (size_t e = 0; e < 2; e++) {
        size_t packed_size = pack(encodings[e], zeros, size, packed, size);
        assert_true(packed_size < 20000);
        assert_int_equal(expand(encodings[e], packed, packed_size, 1000, size), SXT_OK);
        assert_int_equal(expand(encodings[e], packed, packed_size, 1000, size - 1), SXT_ERROR_LIMIT);
        assert_int_equal(expand(encodings[e], packed, packed_size, 1000, 100), SXT_ERROR_LIMIT);
        assert_true(out.size <= 100);
    }
    free(zeros);
    free(packed);
}

static int refuse(void *context, const void *data, size_t size, sxt_error *error)
{
    (void)context;
    (void)data;
    (void)size;
    (void)error;
    return SXT_ERROR_USAGE;
}

TEST(says_when_the_sink_failed)
{
    struct sxt_expander *expander;
    uint8_t packed[64];
    sxt_error error;
    size_t size = pack(SXT_ENCODING_GZIP, "abc", 3, packed, sizeof packed);
    assert_int_equal(sxt_expander_open(SXT_ENCODING_GZIP, 100, &expander, &error), SXT_OK);
    assert_int_equal(sxt_expander_feed(expander, packed, size, refuse, NULL, &error), SXT_ERROR_USAGE);
    assert_true(sxt_expander_sink_failed(expander));
    sxt_expander_close(&expander);
}
