/* test_routing.c: paths, decoded and compared with patterns. */
#include <string.h>

#include "base/string.h"
#include "service/routing.h"
#include "support/test.h"

static const struct sxt_route routes[] = {
    {.method = "GET", .pattern = "/healthz"},
    {.method = "POST", .pattern = "/api/v1/have"},
    {.method = "GET", .pattern = "/api/v1/files"},
    {.method = "PUT", .pattern = "/api/v1/files/:"},
    {.method = "GET", .pattern = "/api/v1/files/:/lidia"},
    {.method = "PUT", .pattern = "/api/v1/files/:/source/::"},
    {.method = "GET", .pattern = "/buildid/:/source/::"},
    {.method = "DELETE", .pattern = "/api/v1/files/:"},
    {.method = NULL},
};

static struct sxt_route_match match;
static char room[SXT_ROUTE_ROOM(4096)];

static enum sxt_route_found find(const char *method, const char *path)
{
    return sxt_route_find(routes, method, sxt_string_of(path), room, &match);
}

static void assert_route(const char *method, const char *path, size_t which, const char *first, const char *second)
{
    assert_int_equal(find(method, path), SXT_ROUTE_FOUND);
    assert_ptr_equal(match.route, &routes[which]);
    if (first != NULL)
        assert_string_equal(match.words[0], first);
    if (second != NULL)
        assert_string_equal(match.words[1], second);
}

TEST(finds_routes)
{
    assert_route("GET", "/healthz", 0, NULL, NULL);
    assert_route("HEAD", "/healthz", 0, NULL, NULL);
    assert_route("PUT", "/api/v1/files/abc", 3, "abc", NULL);
    assert_route("DELETE", "/api/v1/files/abc", 7, "abc", NULL);
    assert_route("GET", "/api/v1/files/abc/lidia", 4, "abc", NULL);
    assert_route("PUT", "/api/v1/files/abc/source/usr/src/a.c", 5, "abc", "usr/src/a.c");
    assert_route("GET", "/buildid/ab/source//a/../b", 6, "ab", "/a/../b");
    assert_route("GET", "/buildid/ab/source/", 6, "ab", "");
}

TEST(decodes_words)
{
    assert_route("PUT", "/api/v1/files/a%62c", 3, "abc", NULL);
    assert_route("GET", "/buildid/ab/source/usr%2fa%20b%25.c", 6, "ab", "usr/a b%.c");
    assert_route("GET", "/h%65alth%7A", 0, NULL, NULL);
    assert_route("PUT", "/%61pi/v1/files/a%62c/s%6furce/x", 5, "abc", "x");
    assert_string_equal(match.path, "/api/v1/files/abc/source/x");
}

TEST(refuses_other_paths)
{
    static const char *const paths[] = {"/",       "/healthz/",        "//healthz",          "/Healthz",
                                        "/health", "/healthzz",        "/api/v1/files/",     "/api/v1//files/a",
                                        "/api",    "/api/v1/files/a/", "/buildid//source/a", "/api/v1/files/a/lidia/"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_int_equal(find("GET", paths[i]), SXT_ROUTE_NONE);
}

TEST(refuses_tricks)
{
    static const char *const paths[] = {
        "/api/v1/files/..",
        "/api/v1/files/.",
        "/api/v1/files/%2e%2e",
        "/api/v1/files/a%2fb",
        "/api/v1/files/%00",
        "/api/v1/files/a%0d%0a",
        "/api/v1/files/%",
        "/api/v1/files/%4",
        "/api/v1/files/%gg",
        "/healthz%00",
        "/buildid/../source/a",
        "/buildid/ab/source/a%00b",
        "/buildid/ab/source/a%1fb",
        "*",
        "",
        "http://host/healthz",
        "/api/v1/files/\x01",
        "/%7f",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_int_equal(find("PUT", paths[i]) == SXT_ROUTE_MALFORMED || find("GET", paths[i]) == SXT_ROUTE_MALFORMED,
                         1);
}

TEST(lists_the_methods_of_a_path)
{
    assert_int_equal(find("POST", "/api/v1/files/a"), SXT_ROUTE_METHOD);
    assert_string_equal(match.methods, "PUT, DELETE, OPTIONS");
    assert_int_equal(find("OPTIONS", "/healthz"), SXT_ROUTE_METHOD);
    assert_string_equal(match.methods, "GET, HEAD, OPTIONS");
    assert_int_equal(find("HEAD", "/api/v1/have"), SXT_ROUTE_METHOD);
}

/* The table of the service: names are labels of figures, and patterns are as routing.h has them. */
TEST(has_a_table_that_makes_sense)
{
    for (const struct sxt_route *route = sxt_routes; route->method != NULL; route++) {
        assert_non_null(route->name);
        assert_non_null(route->handle);
        assert_int_equal(route->pattern[0], '/');
        assert_true(strchr(route->pattern, '%') == NULL);
        assert_true(route->body == SXT_BODY_STREAM ? route->piece != NULL : route->piece == NULL);
        for (const struct sxt_route *other = sxt_routes; other < route; other++) {
            assert_string_not_equal(other->name, route->name);
            assert_false(strcmp(other->method, route->method) == 0 && strcmp(other->pattern, route->pattern) == 0);
        }
    }
}
