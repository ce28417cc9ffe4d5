/* Tests of store/s3_page.c: pages of listings, also hostile ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/s3_list.h"
#include "support/test.h"

static sxt_error error;
static struct sxt_s3_page page;

static const char good[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>bucket</Name><Prefix>p/</Prefix>"
    "<KeyCount>3</KeyCount><MaxKeys>1000</MaxKeys><Delimiter>/</Delimiter><IsTruncated>true</IsTruncated>"
    "<Contents><Key>p/b&amp;c</Key><LastModified>2009-10-12T17:50:30.123Z</LastModified><ETag>&quot;fba9&quot;</ETag>"
    "<Size>434234</Size><Owner><ID>x</ID><DisplayName>Key</DisplayName></Owner></Contents>"
    "<Contents><Key>p/a</Key><Size>0</Size></Contents>"
    "<CommonPrefixes><Prefix>p/aa/</Prefix></CommonPrefixes>"
    "<NextContinuationToken>1ueG/==</NextContinuationToken></ListBucketResult>";

TEAR_DOWN()
{
    sxt_s3_page_free(&page);
}

static const char *name_of(size_t index)
{
    return (const char *)page.names.data + page.entries[index].name;
}

TEST(reads_objects_in_order)
{
    assert_int_equal(sxt_s3_page_read(&page, good, strlen(good), false, &error), SXT_OK);
    assert_int_equal(page.count, 2);
    assert_string_equal(name_of(0), "p/a");
    assert_string_equal(name_of(1), "p/b&c");
    assert_int_equal(page.entries[1].size, 434234);
    assert_int_equal(page.entries[1].modified_us, 1255369830123000);
    assert_true(page.more);
    assert_string_equal(page.token, "1ueG/==");
}

TEST(reads_words_between_objects)
{
    assert_int_equal(sxt_s3_page_read(&page, good, strlen(good), true, &error), SXT_OK);
    assert_int_equal(page.count, 3);
    assert_string_equal(name_of(1), "p/aa/");
    assert_int_equal(page.entries[1].size, 0);
}

TEST(reads_times)
{
    assert_int_equal(sxt_s3_read_time("1970-01-01T00:00:01Z"), 1000000);
    assert_int_equal(sxt_s3_read_time("1970-01-01T00:00:00.000001Z"), 1);
    assert_int_equal(sxt_s3_read_time("1970-01-01T00:00:00.1234567899999999999999Z"), 123456);
    const char *bad[] = {
        "", "x", "1970-01-01", "1970-01-01T00:00:01", "1970-01-01T00:00:01+01:00", "1970-13-01T00:00:01Z"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sxt_s3_read_time(bad[i]), 0);
}

static void assert_refused(const char *text, const char *reason)
{
    assert_int_equal(sxt_s3_page_read(&page, text, strlen(text), true, &error), SXT_ERROR_FORMAT);
    if (strstr(error.text, reason) == NULL)
        fail_msg("%s: %s", text, error.text);
    sxt_s3_page_free(&page);
}

TEST(refuses_what_is_not_a_listing)
{
    assert_refused("<html><body>It works</body></html>", "not a listing");
    assert_refused("<Error><Code>x</Code></Error>", "not a listing");
    assert_refused("", "invalid XML");
    assert_refused("<ListBucketResult><Contents></Contents></ListBucketResult>", "no name");
    assert_refused("<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>", "no size");
    assert_refused("<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>", "no size");
    assert_refused("<ListBucketResult><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents>"
                   "</ListBucketResult>",
                   "no size");
    assert_refused("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "no token");
    assert_refused("<ListBucketResult><CommonPrefixes/></ListBucketResult>", "no name");
}

TEST(an_empty_page_has_no_entries)
{
    const char *text = "<ListBucketResult><Name>b</Name></ListBucketResult>";
    assert_int_equal(sxt_s3_page_read(&page, text, strlen(text), false, &error), SXT_OK);
    assert_int_equal(page.count, 0);
    assert_false(page.more);
}

TEST(damaged_pages_are_read_or_refused)
{
    for (size_t size = 0; size < strlen(good); size++) {
        char *copy = malloc(size + 1);
        memcpy(copy, good, size);
        assert_int_equal(sxt_s3_page_read(&page, copy, size, true, &error), SXT_ERROR_FORMAT);
        sxt_s3_page_free(&page);
        free(copy);
    }
    for (size_t i = 0; i < strlen(good); i++) {
        char *copy = strdup(good);
        copy[i] ^= (char)(1 << (i % 8));
        int status = sxt_s3_page_read(&page, copy, strlen(good), i % 2 == 0, &error);
        assert_true(status == SXT_OK || status == SXT_ERROR_FORMAT);
        sxt_s3_page_free(&page);
        free(copy);
    }
}
