/* Tests of store/s3_account.c: the variables and files of AWS's tools. */
#include "store/s3_account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/folder.h"
#include "support/test.h"

static char folder[SXT_TEST_FOLDER_MAX];
static struct sxt_s3_account account;
static sxt_error error;

SET_UP()
{
    static const char *const names[] = {
        "AWS_ENDPOINT_URL_S3",        "AWS_ENDPOINT_URL",  "AWS_REGION",  "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",      "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_CONFIG_FILE",    "AWS_CA_BUNDLE",
        "AWS_SHARED_CREDENTIALS_FILE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    sxt_test_make_folder(folder);
    setenv("HOME", folder, 1);
}

TEAR_DOWN()
{
    sxt_test_remove_folder(folder);
}

static void set_keys(void)
{
    setenv("AWS_ACCESS_KEY_ID", "key", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
}

static void write_file(const char *name, const char *text)
{
    char path[SXT_TEST_FOLDER_MAX + 40];
    snprintf(path, sizeof path, "%s/.aws", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/.aws/%s", folder, name);
    sxt_test_put_file(path, text, strlen(text));
}

TEST(says_what_is_missing)
{
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_ERROR_USAGE);
    assert_non_null(strstr(error.text, "AWS_ACCESS_KEY_ID"));
    setenv("AWS_ACCESS_KEY_ID", "key", 1);
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_ERROR_USAGE);
}

TEST(uses_amazon_without_an_endpoint)
{
    set_keys();
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_OK);
    assert_string_equal(account.origin, "https://s3.us-east-1.amazonaws.com");
    assert_string_equal(account.host, "s3.us-east-1.amazonaws.com");
    assert_string_equal(account.path, "");
    setenv("AWS_DEFAULT_REGION", "eu-west-1", 1);
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_OK);
    assert_string_equal(account.identity.region, "eu-west-1");
    assert_string_equal(account.host, "s3.eu-west-1.amazonaws.com");
    setenv("AWS_REGION", "eu-west-2", 1);
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_OK);
    assert_string_equal(account.identity.region, "eu-west-2");
}

TEST(reads_endpoints)
{
    const struct {
        const char *text, *origin, *host, *path;
    } all[] = {
        {"http://127.0.0.1:9000", "http://127.0.0.1:9000", "127.0.0.1:9000", ""},
        {"http://127.0.0.1:9000/", "http://127.0.0.1:9000", "127.0.0.1:9000", ""},
        {"https://s3.example.com:443", "https://s3.example.com:443", "s3.example.com", ""},
        {"http://s3.example.com:80//", "http://s3.example.com:80", "s3.example.com", ""},
        {"https://s3.example.com:80", "https://s3.example.com:80", "s3.example.com:80", ""},
        {"http://[::1]:9000/a/b=c/", "http://[::1]:9000", "[::1]:9000", "/a/b%3Dc"},
        {"HTTP://host", "http://host", "host", ""},
    };
    set_keys();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        setenv("AWS_ENDPOINT_URL", all[i].text, 1);
        if (sxt_s3_account_load(&account, &error) != SXT_OK)
            fail_msg("%s", error.text);
        assert_string_equal(account.origin, all[i].origin);
        assert_string_equal(account.host, all[i].host);
        assert_string_equal(account.path, all[i].path);
    }
    setenv("AWS_ENDPOINT_URL_S3", "http://other", 1);
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_OK);
    assert_string_equal(account.host, "other");
}

TEST(refuses_other_endpoints)
{
    const char *bad[] = {"ftp://host",          "host:9000",        "http://",        "http:///x",
                         "http://a b",          "http://user@host", "http://host/?x", "http://host/%41",
                         "http://host\r\nX: y", "https://host#x"};
    set_keys();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("AWS_ENDPOINT_URL", bad[i], 1);
        assert_int_equal(sxt_s3_account_load(&account, &error), SXT_ERROR_USAGE);
    }
}

TEST(reads_the_files_of_profiles)
{
    write_file("credentials", "# comment\n[default]\naws_access_key_id = one\naws_secret_access_key=secret one\n\n"
                              "[ other ]\r\naws_access_key_id=two\r\naws_secret_access_key = s=2 \r\n"
                              "aws_session_token=token");
    write_file("config", "[default]\nregion = eu-north-1\n[profile other]\nregion=ap-south-1\n"
                         "s3 =\n  region = nested\nendpoint_url = http://minio:9000\n[other]\nregion = wrong\n");
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_OK);
    assert_string_equal(account.identity.access_key, "one");
    assert_string_equal(account.identity.secret_key, "secret one");
    assert_string_equal(account.identity.session_token, "");
    assert_string_equal(account.identity.region, "eu-north-1");
    setenv("AWS_PROFILE", "other", 1);
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_OK);
    assert_string_equal(account.identity.access_key, "two");
    assert_string_equal(account.identity.secret_key, "s=2");
    assert_string_equal(account.identity.session_token, "token");
    assert_string_equal(account.identity.region, "ap-south-1");
    assert_string_equal(account.host, "minio:9000");
    setenv("AWS_PROFILE", "none", 1);
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_ERROR_USAGE);
}

TEST(keys_of_variables_do_not_mix_with_those_of_files)
{
    write_file("credentials", "[default]\naws_access_key_id=file\naws_secret_access_key=x\naws_session_token=token\n");
    set_keys();
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_OK);
    assert_string_equal(account.identity.access_key, "key");
    assert_string_equal(account.identity.session_token, "");
}

TEST(refuses_values_that_would_break_a_line)
{
    set_keys();
    setenv("AWS_SESSION_TOKEN", "a\r\nb", 1);
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_ERROR_USAGE);
    assert_non_null(strstr(error.text, "AWS_SESSION_TOKEN"));
    unsetenv("AWS_SESSION_TOKEN");
    char *huge = malloc(10000);
    memset(huge, 'a', 9999);
    huge[9999] = 0;
    setenv("AWS_ACCESS_KEY_ID", huge, 1);
    assert_int_equal(sxt_s3_account_load(&account, &error), SXT_ERROR_USAGE);
    free(huge);
}
