/* test_upstream_fetch.c: the URLs of debuginfod servers, and where redirects lead. */
#include <string.h>

#include "service/upstream_fetch.h"
#include "support/test.h"

TEST(tells_urls_of_servers_from_others)
{
    static const char *const good[] = {"http://x", "https://x/", "http://user:word@x:80/a/b", "http://[::1]:8002"};
    static const char *const bad[] = {"",          "x",           "ftp://x",     "http://",       "http:///a",
                                      "http://x?", "http://x/#a", "http://x\n",  "http://user@/", "HTTP:x",
                                      "http:/x",   "http://x y",  "http://x\"y", "http://x/a\\b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(sxt_fetch_is_server(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sxt_fetch_is_server(bad[i]));
}

TEST(finds_the_host)
{
    static const struct {
        const char *url, *host;
    } cases[] = {{"http://x", "x"},
                 {"https://x:80/a@b", "x:80"},
                 {"http://me:se/cret@x/", "me:se"}, /* as libcurl reads it: the name ends at the first slash */
                 {"http://me:p@q@x:1/", "x:1"},
                 {"http://[::1]:8002/a", "[::1]:8002"},
                 {"http://x?y@z", "x"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        const char *host = sxt_fetch_host(cases[i].url, &size);
        assert_int_equal(size, strlen(cases[i].host));
        assert_memory_equal(host, cases[i].host, size);
    }
}

TEST(follows_redirects)
{
    static const struct {
        const char *from, *location, *to; /* NULL: it is not followed */
    } cases[] = {{"http://x/a", "/b?c", "http://x/b?c"},
                 {"https://me:secret@x:1/a", "/b", "https://x:1/b"},
                 {"http://x/a", "//y/b", "http://y/b"},
                 {"https://x/a", "//y/b", "https://y/b"},
                 {"http://x/a", "https://y/b", "https://y/b"},
                 {"http://x/a", "HTTP://y/b", "HTTP://y/b"},
                 {"https://x/a", "http://x/a", NULL},
                 {"http://x/a", "file:///etc/passwd", NULL},
                 {"http://x/a", "b", NULL},
                 {"http://x/a", "", NULL},
                 {"http://x/a", "/0123456789012345678901234567890123456789", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[40] = "";
        assert_int_equal(sxt_fetch_redirect(cases[i].from, cases[i].location, out, sizeof out), cases[i].to != NULL);
        if (cases[i].to != NULL)
            assert_string_equal(out, cases[i].to);
    }
}
