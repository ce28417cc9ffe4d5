/* test_error.c: a failure becomes one clean line, whatever is put into it. */
#include <errno.h>

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "support/test.h"

TEST(says_what_and_where)
{
    sxt_error error;
    int code = sxt_fail(&error, SXT_ERROR_FORMAT, 0x80, "va table: %d entries do not fit", 3);
    assert_int_equal(code, SXT_ERROR_FORMAT);
    assert_int_equal(error.code, SXT_ERROR_FORMAT);
    assert_int_equal(error.offset, 0x80);
    assert_string_equal(error.text, "va table: 3 entries do not fit (offset 0x80)");
}

TEST(adds_no_offset_where_there_is_none)
{
    sxt_error error;
    assert_int_equal(sxt_fail(&error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "two outputs"), SXT_ERROR_USAGE);
    assert_true(error.offset == SXT_NO_OFFSET);
    assert_string_equal(error.text, "two outputs");

    sxt_fail(&error, SXT_ERROR_FORMAT, 0, "no magic");
    assert_string_equal(error.text, "no magic (offset 0x0)");
    sxt_fail(&error, SXT_ERROR_FORMAT, UINT64_MAX - 1, "far");
    assert_string_equal(error.text, "far (offset 0xfffffffffffffffe)");
}

TEST(needs_no_place_for_the_text)
{
    assert_int_equal(sxt_fail(NULL, SXT_ERROR_LIMIT, 7, "%s", "text"), SXT_ERROR_LIMIT);
    assert_int_equal(sxt_fail_errno(NULL, ENOENT, "open"), SXT_ERROR_IO);
    assert_int_equal(sxt_fail_errno(NULL, ENOMEM, "open"), SXT_ERROR_MEMORY);
    assert_int_equal(sxt_fail_memory(NULL, 1), SXT_ERROR_MEMORY);
    sxt_error_clear(NULL);
}

TEST(cuts_a_long_text_before_the_offset)
{
    static const char ending[] = " (offset 0x1234)";
    char name[2000];
    sxt_error error;
    for (size_t size = 200; size < sizeof name; size += size < 260 ? 1 : 100) {
        memset(name, 'n', size);
        name[size] = '\0';
        sxt_fail(&error, SXT_ERROR_FORMAT, 0x1234, "%s", name);
        size_t kept = size < sizeof error.text - sizeof ending ? size : sizeof error.text - sizeof ending;
        assert_int_equal(strlen(error.text), kept + strlen(ending));
        assert_string_equal(error.text + kept, ending);
        assert_memory_equal(error.text, name, kept);
    }
}

TEST(cuts_between_characters_only)
{
    static const char *const characters[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t c = 0; c < sizeof characters / sizeof *characters; c++) {
        for (size_t shift = 0; shift < 5; shift++) {
            char name[1600] = "";
            memset(name, '.', shift);
            while (strlen(name) + 4 < sizeof name)
                strcat(name, characters[c]);
            sxt_error error;
            sxt_fail(&error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s", name);
            size_t size = strlen(error.text);
            assert_true(size > sizeof error.text - 1 - 4);
            assert_int_equal(sxt_utf8_valid(error.text, size), size);
            assert_null(strchr(error.text, '?'));
        }
    }
}

TEST(keeps_to_one_line_of_utf8)
{
    static const struct {
        const char *given, *shown;
    } cases[] = {
        {"a\nb\tc\x1b[31m\x7f", "a?b?c?[31m?"},
        {"next line \xc2\x85 here", "next line ? here"},
        {"no-break space \xc2\xa0 stays", "no-break space \xc2\xa0 stays"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"latin \xfc 1", "latin ? 1"},
        {"surrogate \xed\xa0\x80", "surrogate ???"},
        {"cut \xe2\x82", "cut ??"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sxt_error error;
        sxt_fail(&error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s", cases[i].given);
        assert_string_equal(error.text, cases[i].shown);
    }
}

TEST(takes_its_own_text_as_an_argument)
{
    sxt_error error;
    sxt_fail(&error, SXT_ERROR_FORMAT, 16, "bad count");
    sxt_fail(&error, error.code, SXT_NO_OFFSET, "unit 3: %s", error.text);
    assert_string_equal(error.text, "unit 3: bad count (offset 0x10)");
}

TEST(names_the_reason_of_the_system)
{
    sxt_error error;
    assert_int_equal(sxt_fail_errno(&error, ENOENT, "%s", "a.out"), SXT_ERROR_IO);
    assert_string_equal(error.text, "a.out: No such file or directory");
    assert_true(error.offset == SXT_NO_OFFSET);

    char name[1000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(sxt_fail_errno(&error, ENOMEM, "%s", name), SXT_ERROR_MEMORY);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_non_null(strstr(error.text, "nnn: Cannot allocate memory"));
}

TEST(names_the_size_that_was_needed)
{
    sxt_error error;
    assert_int_equal(sxt_fail_memory(&error, UINT64_C(5000000000)), SXT_ERROR_MEMORY);
    assert_int_equal(error.code, SXT_ERROR_MEMORY);
    assert_non_null(strstr(error.text, "5000000000"));
}

TEST(is_nothing_after_clearing)
{
    sxt_error error;
    sxt_fail(&error, SXT_ERROR_IO, 3, "gone");
    sxt_error_clear(&error);
    assert_int_equal(error.code, SXT_OK);
    assert_true(error.offset == SXT_NO_OFFSET);
    assert_string_equal(error.text, "");
}

TEST(has_a_name_for_every_code)
{
    for (int code = SXT_OK; code >= SXT_ERROR_NOT_FOUND; code--) {
        const char *text = sxt_status_text((sxt_status)code);
        assert_true(strlen(text) > 0);
        assert_string_not_equal(text, "unknown error");
        for (int other = SXT_OK; other > code; other--)
            assert_string_not_equal(text, sxt_status_text((sxt_status)other));
    }
    assert_string_equal(sxt_status_text(SXT_ERROR_FORMAT), "damaged input");
    assert_string_equal(sxt_status_text((sxt_status)(SXT_ERROR_NOT_FOUND - 1)), "unknown error");
    assert_string_equal(sxt_status_text((sxt_status)1), "unknown error");
}
