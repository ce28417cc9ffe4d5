/* test_http_service.c: URLs, keys and refusals of a symbol service. */
#include "base/http_service.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

TEST(a_path_is_added_to_the_url)
{
    static const char *const urls[] = {"http://a:1", "http://a:1/", "http://a:1///"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        char *url;
        assert_int_equal(sxt_http_service_url(urls[i], "/api/symbolize", &url, NULL), SXT_OK);
        assert_string_equal(url, "http://a:1/api/symbolize");
        free(url);
    }
    static const char *const wrong[] = {"", "a", "ftp://a", "s3://a", "http:/a"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *url;
        assert_int_equal(sxt_http_service_url(wrong[i], "/", &url, NULL), SXT_ERROR_USAGE);
        assert_null(url);
    }
}

TEST(a_key_is_sent_as_base64)
{
    static const char *const keys[] = {"me:secret", "bWU6c2VjcmV0"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char *header;
        assert_int_equal(sxt_http_service_authorization(keys[i], &header, NULL), SXT_OK);
        assert_string_equal(header, "Authorization: APIKey bWU6c2VjcmV0");
        free(header);
    }
    char *header, *large = calloc(1, 3000);
    assert_non_null(large);
    memset(large, 'a', 2999);
    const char *const wrong[] = {"", "a:b\r\nX: y", "a\nb", large};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(sxt_http_service_authorization(wrong[i], &header, NULL), SXT_ERROR_USAGE);
    free(large);
}

TEST(a_refusal_has_all_that_the_service_says)
{
    static const struct {
        long status;
        const char *body, *text;
        sxt_reason reason;
    } cases[] = {
        {400, "{\"uuid\":\"u-1\",\"error\":{\"Code\":\"4005\",\"Text\":\"not a symbfile\"}}",
         "u answers with code 4005, uuid u-1, status 400: not a symbfile", SXT_REASON_NONE},
        {401, "{\"uuid\":\"u-1\",\"error\":{\"Code\":2000}}", "u answers with code 2000, uuid u-1, status 401",
         SXT_REASON_NOT_AUTHORIZED},
        {403, "{\"error\":\"plain\"}", "u answers with status 403: plain", SXT_REASON_NOT_AUTHORIZED},
        {500, "", "u answers with status 500", SXT_REASON_NONE},
        {500, "<html>", "u answers with status 500", SXT_REASON_NONE},
        {500, "{\"uuid\":5,\"error\":{\"Code\":{},\"Text\":[]}}", "u answers with status 500", SXT_REASON_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sxt_error error;
        size_t size = strlen(cases[i].body);
        assert_int_equal(sxt_http_service_refused("u", cases[i].status, size > 0 ? cases[i].body : NULL, size, &error),
                         SXT_ERROR_IO);
        assert_string_equal(error.text, cases[i].text);
        assert_int_equal(error.reason, cases[i].reason);
    }
}
