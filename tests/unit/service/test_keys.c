/* test_keys.c: key files and Authorization headers. The tests of the program have more of the latter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "service/keys.h"
#include "service/request.h"
#include "support/test.h"

static struct sxt_keys *keys;

TEAR_DOWN()
{
    sxt_keys_close(&keys);
}

static void read_keys(const char *text)
{
    sxt_error error;
    sxt_keys_close(&keys);
    assert_int_equal(sxt_keys_parse(sxt_string_of(text), &keys, &error), SXT_OK);
}

TEST(reads_all_fields)
{
    read_keys("# a comment\n\n  a:one \r\nb:two:read\nc:three:upload,admin:team-1\nd:four::team");
    assert_int_equal(sxt_keys_count(keys), 4);
    const struct sxt_key *key = sxt_keys_find(keys, "Bearer a:one");
    assert_non_null(key);
    assert_int_equal(key->scopes, SXT_SCOPE_UPLOAD | SXT_SCOPE_READ | SXT_SCOPE_ADMIN);
    assert_string_equal(key->tenant, "");
    assert_int_equal(sxt_keys_find(keys, "Bearer b:two")->scopes, SXT_SCOPE_READ);
    key = sxt_keys_find(keys, "Bearer c:three");
    assert_int_equal(key->scopes, SXT_SCOPE_UPLOAD | SXT_SCOPE_ADMIN);
    assert_string_equal(key->tenant, "team-1");
    assert_string_equal(sxt_keys_find(keys, "Bearer d:four")->tenant, "team");
}

TEST(finds_keys_of_many)
{
    static char text[64 * 1000];
    size_t used = 0;
    for (unsigned i = 0; i < 1000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "id%u:key%u\n", i * 7919 % 1000, i * 7919 % 1000);
    read_keys(text);
    char wanted[64];
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(wanted, sizeof wanted, "Bearer id%u:key%u", i, i);
        assert_non_null(sxt_keys_find(keys, wanted));
        snprintf(wanted, sizeof wanted, "Bearer id%u:key%u", i, i + 1);
        assert_null(sxt_keys_find(keys, wanted));
    }
}

/* base64("a:one") is YTpvbmU= */
TEST(takes_base64_of_both_kinds)
{
    read_keys("a:one\nb:\xff\xef\n");
    assert_non_null(sxt_keys_find(keys, "APIKey YTpvbmU="));
    assert_non_null(sxt_keys_find(keys, "apikey YTpvbmU"));
    assert_non_null(sxt_keys_find(keys, "Basic \tYTpvbmU="));
    assert_non_null(sxt_keys_find(keys, "BEARER YTpvbmU= "));
    assert_non_null(sxt_keys_find(keys, "APIKey Yjr_7w"));
    assert_non_null(sxt_keys_find(keys, "APIKey Yjr/7w=="));
    assert_null(sxt_keys_find(keys, "APIKey YTpvbmU=x"));
    assert_null(sxt_keys_find(keys, "APIKey Y"));
    assert_null(sxt_keys_find(keys, "APIKey YTpv*mU="));
    assert_null(sxt_keys_find(keys, "APIKeyYTpvbmU="));
    assert_null(sxt_keys_find(keys, ""));
}

TEST(refuses_long_values)
{
    static char value[5000] = "APIKey ";
    read_keys("a:one\n");
    for (size_t size = 1000; size < sizeof value - 8; size += 13) {
        memset(value + 7, 'A', size);
        value[7 + size] = 0;
        assert_null(sxt_keys_find(keys, value));
    }
}

TEST(counts_bytes_of_a_day)
{
    read_keys("a:one\na:two\n");
    const struct sxt_key *one = sxt_keys_find(keys, "Bearer a:one"), *two = sxt_keys_find(keys, "Bearer a:two");
    assert_true(sxt_key_take_bytes(one, 60, 100, 20000));
    assert_false(sxt_key_take_bytes(two, 41, 100, 20000));
    assert_true(sxt_key_take_bytes(two, 40, 100, 20000));
    assert_false(sxt_key_take_bytes(one, 1, 100, 20000));
    assert_true(sxt_key_take_bytes(one, 100, 100, 20001));
    assert_false(sxt_key_take_bytes(one, 101, 100, 20002));
    assert_false(sxt_key_take_bytes(one, UINT64_MAX, UINT64_MAX, 20003));
}

TEST(keeps_keys_while_they_are_read_again)
{
    char path[] = "/tmp/sextant-keys-XXXXXX";
    int descriptor = mkstemp(path);
    sxt_error error;
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    fputs("a:one\n", file);
    fflush(file);
    assert_int_equal(sxt_keys_open(path, &keys, &error), SXT_OK);
    const struct sxt_key *old = sxt_keys_find(keys, "Bearer a:one");
    rewind(file);
    fputs("a:two\n", file);
    fflush(file);
    assert_int_equal(sxt_keys_reload(keys, &error), SXT_OK);
    assert_null(sxt_keys_find(keys, "Bearer a:one"));
    assert_non_null(sxt_keys_find(keys, "Bearer a:two"));
    assert_string_equal(old->id, "a");
    assert_ptr_equal(old->use, sxt_keys_find(keys, "Bearer a:two")->use);
    rewind(file);
    fputs("a-two\n", file);
    fclose(file);
    assert_int_equal(sxt_keys_reload(keys, &error), SXT_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "line 1"));
    assert_non_null(sxt_keys_find(keys, "Bearer a:two"));
    remove(path);
}
