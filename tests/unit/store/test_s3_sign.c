/* Tests of store/s3_sign.c against the examples in Amazon's documentation of Signature Version 4. */
#include "store/s3_sign.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/test.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct sxt_s3_identity identity = {
    .access_key = "AKIAIOSFODNN7EXAMPLE",
    .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    .region = "us-east-1",
};
#define NOW 1369353600 /* 2013-05-24 */

static void assert_signature(const char *path, const char *query, const char *expected)
{
    const struct sxt_s3_signed_request request = {"GET", "examplebucket.s3.amazonaws.com", path, query, EMPTY};
    struct sxt_buffer headers;
    sxt_buffer_init(&headers, 10000);
    assert_int_equal(sxt_s3_sign(&identity, &request, NOW, &headers), 4);
    const char *line = (const char *)headers.data;
    assert_string_equal(line, "Host: examplebucket.s3.amazonaws.com");
    line += strlen(line) + 1;
    assert_string_equal(line, "x-amz-content-sha256: " EMPTY);
    line += strlen(line) + 1;
    assert_string_equal(line, "x-amz-date: 20130524T000000Z");
    line += strlen(line) + 1;
    char all[400];
    snprintf(all, sizeof all,
             "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
             "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=%s",
             expected);
    assert_string_equal(line, all);
    sxt_buffer_free(&headers);
}

TEST(signs_as_the_documentation_does)
{
    assert_signature("/", "lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    assert_signature("/", "max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(a_session_token_is_signed_too)
{
    struct sxt_s3_identity with_token = identity;
    snprintf(with_token.session_token, sizeof with_token.session_token, "TOKEN");
    const struct sxt_s3_signed_request request = {"GET", "host", "/", "", EMPTY};
    struct sxt_buffer headers;
    sxt_buffer_init(&headers, 10000);
    assert_int_equal(sxt_s3_sign(&with_token, &request, NOW, &headers), 5);
    assert_non_null(memmem(headers.data, headers.size, "x-amz-security-token: TOKEN", 28));
    assert_non_null(
        memmem(headers.data, headers.size, "host;x-amz-content-sha256;x-amz-date;x-amz-security-token,", 58));
    sxt_buffer_free(&headers);
}

TEST(encodes_every_byte_but_unreserved_ones)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, 1000);
    sxt_s3_encode(&text, "a/B-_.~9=+ %\xc3\xa4&?", true);
    sxt_buffer_u8(&text, 0);
    assert_string_equal((char *)text.data, "a/B-_.~9%3D%2B%20%25%C3%A4%26%3F");
    sxt_buffer_clear(&text);
    sxt_s3_encode(&text, "a/b", false);
    sxt_buffer_u8(&text, 0);
    assert_string_equal((char *)text.data, "a%2Fb");
    sxt_buffer_free(&text);
}

TEST(hashes_a_part_of_a_file)
{
    char folder[SXT_TEST_FOLDER_MAX], path[SXT_TEST_FOLDER_MAX + 10], part[SXT_S3_HASH_SIZE], same[SXT_S3_HASH_SIZE];
    static char data[200000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * i);
    sxt_test_make_folder(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    sxt_test_put_file(path, data, sizeof data);
    int file = open(path, O_RDONLY);
    assert_true(sxt_s3_hash_file(file, 1000, 150000, part));
    sxt_s3_hash(data + 1000, 150000, same);
    assert_string_equal(part, same);
    assert_true(sxt_s3_hash_file(file, 0, 0, part));
    assert_string_equal(part, EMPTY);
    assert_false(sxt_s3_hash_file(file, 100000, 100001, part));
    close(file);
    sxt_test_remove_folder(folder);
}
