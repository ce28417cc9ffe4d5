/* test_framing.c: where a request ends, and what is refused because that is in doubt. */
#include "service/framing.h"
#include "support/test.h"

static struct sxt_framing framing_of(const char *first, const char *value, const char *second, const char *other)
{
    const struct sxt_header headers[] = {{"Host", "a"}, {first, value}, {second, other}};
    return sxt_framing_of(headers, second != NULL ? 3 : 2);
}

TEST(finds_the_length)
{
    struct sxt_framing framing = framing_of("content-LENGTH", "12", NULL, NULL);
    assert_int_equal(framing.status, 0);
    assert_true(framing.has_length);
    assert_int_equal(framing.length, 12);
    framing = framing_of("Transfer-Encoding", "Chunked", NULL, NULL);
    assert_int_equal(framing.status, 0);
    assert_true(framing.is_chunked);
    assert_false(framing.has_length);
    framing = framing_of("Accept", "a", "accept", "b");
    assert_int_equal(framing.status, 0);
    assert_false(framing.has_length || framing.is_chunked);
}

TEST(refuses_what_is_in_doubt)
{
    static const char *const bad[][4] = {
        {"Content-Length", "12", "Content-Length", "12"},
        {"Content-Length", "12", "CONTENT-LENGTH", "13"},
        {"Content-Length", "12", "Transfer-Encoding", "chunked"},
        {"Transfer-Encoding", "chunked", "Transfer-Encoding", "chunked"},
        {"Transfer-Encoding", "gzip, chunked", NULL, NULL},
        {"Transfer-Encoding", "chunked ", NULL, NULL},
        {"Transfer-Encoding", "", NULL, NULL},
        {"Content-Length", "", NULL, NULL},
        {"Content-Length", "-1", NULL, NULL},
        {"Content-Length", "1 ", NULL, NULL},
        {"Content-Length", "1000000000000000000", NULL, NULL},
        {"Content-Length ", "1", NULL, NULL},
        {"Content Length", "1", NULL, NULL},
        {"", "1", NULL, NULL},
        {"X\x80", "1", NULL, NULL},
        {"host", "b", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sxt_framing framing = framing_of(bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
        assert_int_equal(framing.status, 400);
        assert_non_null(framing.problem);
    }
}

TEST(refuses_many_headers)
{
    struct sxt_header headers[SXT_HEADERS_MAX];
    for (size_t i = 0; i < SXT_HEADERS_MAX; i++)
        headers[i] = (struct sxt_header){"X", "y"};
    assert_int_equal(sxt_framing_of(headers, SXT_HEADERS_MAX).status, 0);
    assert_int_equal(sxt_framing_of(headers, SXT_HEADERS_MAX + 1).status, 431);
}
