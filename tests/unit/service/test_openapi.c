/* test_openapi.c: docs/openapi.json describes every route, and nothing else. */
#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "base/string.h"
#include "service/request.h"
#include "support/test.h"

extern const char sxt_openapi_document[];
extern const size_t sxt_openapi_document_size;

static struct sxt_arena arena;
static const struct sxt_json *paths;

static void open_document(void)
{
    struct sxt_json *document;
    sxt_error error;
    sxt_arena_init(&arena, (size_t)64 << 20, sxt_arena_separate_default);
    int status = sxt_json_parse(sxt_openapi_document, sxt_openapi_document_size,
                                (struct sxt_json_limits){.depth = 64, .values = 100000}, &arena, &document, &error);
    if (status != SXT_OK)
        fail_msg("%s", error.text);
    paths = sxt_json_member(document, "paths");
    assert_non_null(paths);
}

/* "/a/{id}/b/{path}" is "/a/:/b/:"; "::" is a colon here too. */
static void pattern_of(sxt_string text, char out[512])
{
    size_t size = 0;
    for (size_t i = 0; i < text.size && size < 511; i++) {
        char letter = text.data[i];
        if (letter == '{' || letter == ':')
            letter = ':';
        while (letter == ':' && i + 1 < text.size && text.data[i] != '}' && text.data[i + 1] != '/')
            i++;
        out[size++] = letter;
    }
    out[size] = 0;
}

static const struct sxt_json *operation_of(const struct sxt_route *route)
{
    char wanted[512], pattern[512], method[16] = "";
    pattern_of(sxt_string_of(route->pattern), wanted);
    for (size_t i = 0; route->method[i] != 0 && i < sizeof method - 1; i++)
        method[i] = (char)tolower(route->method[i]);
    for (const struct sxt_json *path = paths->child; path != NULL; path = path->next) {
        pattern_of(path->key, pattern);
        if (strcmp(pattern, wanted) == 0)
            return sxt_json_member(path, method);
    }
    return NULL;
}

static const char *scope_name(unsigned scope)
{
    return scope == SXT_SCOPE_UPLOAD ? "upload" : scope == SXT_SCOPE_READ ? "read" : scope == 0 ? "none" : "admin";
}

static void assert_described(const struct sxt_route *route)
{
    const struct sxt_json *operation = operation_of(route);
    if (operation == NULL)
        fail_msg("docs/openapi.json does not have %s %s", route->method, route->pattern);
    const struct sxt_json *name = sxt_json_member(operation, "operationId"),
                          *scope = sxt_json_member(operation, "x-scope"),
                          *security = sxt_json_member(operation, "security");
    assert_true(name != NULL && sxt_string_is(name->string, route->name));
    if (scope == NULL || !sxt_string_is(scope->string, scope_name(route->scope)))
        fail_msg("%s: x-scope is not that of the route", route->name);
    assert_non_null(security);
    if ((security->count == 0) != (route->scope == SXT_SCOPE_NONE))
        fail_msg("%s: security does not fit the scope", route->name);
    bool is_public = security->child != NULL && security->child->count == 0;
    if (is_public != route->is_public_read)
        fail_msg("%s: security does not say whether --public-read opens it", route->name);
    if ((sxt_json_member(operation, "requestBody") != NULL) != (route->body != SXT_BODY_NONE))
        fail_msg("%s: requestBody does not fit the route", route->name);
}

TEST(every_route_is_described)
{
    open_document();
    for (const struct sxt_route *route = sxt_routes; route->method != NULL; route++)
        assert_described(route);
    sxt_arena_free(&arena);
}

TEST(nothing_else_is_described)
{
    size_t routes = 0, operations = 0;
    open_document();
    for (const struct sxt_route *route = sxt_routes; route->method != NULL; route++)
        routes++;
    for (const struct sxt_json *path = paths->child; path != NULL; path = path->next)
        for (const struct sxt_json *member = path->child; member != NULL; member = member->next)
            operations += !sxt_string_is(member->key, "parameters");
    assert_int_equal(operations, routes);
    sxt_arena_free(&arena);
}
