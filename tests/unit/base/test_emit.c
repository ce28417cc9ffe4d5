/* test_emit.c: the same calls as JSON Lines and as text, with values that try to break out of both. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/emit.h"
#include "base/json.h"
#include "base/utf8.h"
#include "support/test.h"

struct page {
    struct sxt_emit emit;
    FILE *stream;
    char *text;
    size_t size;
};

static struct sxt_emit *open_page(struct page *page, bool json)
{
    *page = (struct page){0};
    page->stream = open_memstream(&page->text, &page->size);
    assert_non_null(page->stream);
    sxt_emit_init(&page->emit, page->stream, json);
    return &page->emit;
}

static void close_page(struct page *page)
{
    fclose(page->stream);
    free(page->text);
}

static void assert_page(struct page *page, const char *expected)
{
    assert_int_equal(sxt_emit_finish(&page->emit, NULL), SXT_OK);
    assert_string_equal(page->text != NULL ? page->text : "", expected);
    close_page(page);
}

#define STRING(text) ((sxt_string){text, sizeof(text) - 1})
#define ABSENT       ((sxt_string){NULL, 0})

static void emit_scalars(struct sxt_emit *emit)
{
    sxt_emit_record(emit);
    sxt_emit_string(emit, "file", STRING("a.out"));
    sxt_emit_number(emit, "size", 12);
    sxt_emit_address(emit, "address", 0x401020);
    sxt_emit_bool(emit, "indexed", true);
    sxt_emit_bool(emit, "nul", false);
    sxt_emit_string(emit, "build_id", ABSENT);
    sxt_emit_null(emit, "nothing");
    sxt_emit_cstring(emit, "arch", "x86_64");
    sxt_emit_cstring(emit, "missing", NULL);
    sxt_emit_string(emit, "empty", STRING(""));
    sxt_emit_record_end(emit);
}

TEST(puts_a_record_on_one_json_line)
{
    struct page page;
    emit_scalars(open_page(&page, true));
    emit_scalars(&page.emit);
#define LINE                                                                                                           \
    "{\"file\":\"a.out\",\"size\":12,\"address\":\"0x401020\",\"indexed\":true,\"nul\":false,\"build_id\":null,"       \
    "\"nothing\":null,\"arch\":\"x86_64\",\"missing\":null,\"empty\":\"\"}\n"
    assert_page(&page, LINE LINE);
}

TEST(aligns_fields_in_text)
{
    struct page page;
    emit_scalars(open_page(&page, false));
    assert_page(&page, "file          a.out\n"
                       "size          12\n"
                       "address       0x401020\n"
                       "indexed       yes\n"
                       "nul           no\n"
                       "arch          x86_64\n"
                       "empty         \n");
}

TEST(separates_a_long_key_from_its_value)
{
    struct page page;
    struct sxt_emit *emit = open_page(&page, false);
    sxt_emit_record(emit);
    sxt_emit_number(emit, "thirteen_long", 1);
    sxt_emit_number(emit, "fourteen__long", 2);
    sxt_emit_number(emit, "much_longer_than_that", 3);
    sxt_emit_record_end(emit);
    assert_page(&page, "thirteen_long 1\nfourteen__long 2\nmuch_longer_than_that 3\n");
}

TEST(prints_the_whole_range_of_numbers)
{
    struct page page;
    struct sxt_emit *emit = open_page(&page, true);
    sxt_emit_record(emit);
    sxt_emit_array(emit, "n");
    sxt_emit_number(emit, NULL, 0);
    sxt_emit_number(emit, NULL, 9);
    sxt_emit_number(emit, NULL, 10);
    sxt_emit_number(emit, NULL, UINT64_MAX);
    sxt_emit_address(emit, NULL, 0);
    sxt_emit_address(emit, NULL, UINT64_MAX);
    sxt_emit_array_end(emit);
    sxt_emit_record_end(emit);
    assert_page(&page, "{\"n\":[0,9,10,18446744073709551615,\"0x0\",\"0xffffffffffffffff\"]}\n");
}

static void emit_nested(struct sxt_emit *emit)
{
    sxt_emit_record(emit);
    sxt_emit_array(emit, "sources");
    sxt_emit_cstring(emit, NULL, "dwarf");
    sxt_emit_cstring(emit, NULL, NULL);
    sxt_emit_number(emit, NULL, 7);
    sxt_emit_array_end(emit);
    sxt_emit_array(emit, "none");
    sxt_emit_array_end(emit);
    sxt_emit_array(emit, "frames");
    for (unsigned i = 0; i < 2; i++) {
        sxt_emit_object(emit, NULL);
        sxt_emit_number(emit, "line", i);
        sxt_emit_array(emit, "deep");
        sxt_emit_bool(emit, NULL, true);
        sxt_emit_array_end(emit);
        sxt_emit_object_end(emit);
    }
    sxt_emit_array_end(emit);
    sxt_emit_object(emit, "header");
    sxt_emit_object(emit, "inner");
    sxt_emit_object_end(emit);
    sxt_emit_number(emit, "version", 1);
    sxt_emit_object_end(emit);
    sxt_emit_array(emit, "pairs");
    sxt_emit_array(emit, NULL);
    sxt_emit_number(emit, NULL, 1);
    sxt_emit_number(emit, NULL, 2);
    sxt_emit_array_end(emit);
    sxt_emit_array(emit, NULL);
    sxt_emit_array_end(emit);
    sxt_emit_array_end(emit);
    sxt_emit_number(emit, "last", 3);
    sxt_emit_record_end(emit);
}

TEST(nests_arrays_and_objects_in_json)
{
    struct page page;
    emit_nested(open_page(&page, true));
    assert_page(&page, "{\"sources\":[\"dwarf\",null,7],\"none\":[],"
                       "\"frames\":[{\"line\":0,\"deep\":[true]},{\"line\":1,\"deep\":[true]}],"
                       "\"header\":{\"inner\":{},\"version\":1},\"pairs\":[[1,2],[]],\"last\":3}\n");
}

TEST(shows_scalars_of_arrays_in_text_and_nothing_deeper)
{
    struct page page;
    emit_nested(open_page(&page, false));
    assert_page(&page, "sources       dwarf, 7\nlast          3\n");
}

TEST(keeps_text_out_of_json)
{
    struct page page;
    for (int json = 0; json < 2; json++) {
        struct sxt_emit *emit = open_page(&page, json);
        sxt_emit_record(emit);
        sxt_emit_text(emit, "%016x %c ", 0x1234, 'T');
        sxt_emit_name(emit, STRING("start\n"));
        sxt_emit_text(emit, "\n");
        sxt_emit_record_end(emit);
        assert_page(&page, json ? "{}\n" : "0000000000001234 T start\\x0a\n");
    }
}

TEST(prints_text_of_any_length)
{
    struct page page;
    for (int size = 500; size < 530; size++) {
        struct sxt_emit *emit = open_page(&page, false);
        sxt_emit_text(emit, "%*d", size, 7);
        assert_int_equal(sxt_emit_finish(emit, NULL), SXT_OK);
        assert_int_equal(page.size, size);
        assert_int_equal(page.text[size - 1], '7');
        close_page(&page);
    }
}

static void emit_one_string(struct page *page, bool json, sxt_string value)
{
    struct sxt_emit *emit = open_page(page, json);
    sxt_emit_record(emit);
    sxt_emit_string(emit, "s", value);
    sxt_emit_record_end(emit);
}

TEST(escapes_what_json_demands)
{
    struct page page;
    emit_one_string(&page, true, STRING("a\"b\\c/\b\f\n\r\t\0\x01\x1b[31m\x7f"));
    assert_page(&page, "{\"s\":\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0000\\u0001\\u001b[31m\\u007f\"}\n");
}

TEST(shows_control_characters_in_text)
{
    struct page page;
    emit_one_string(&page, false, STRING("a\"b\\c\n\t\0\x1b[31m\x7f"));
    assert_page(&page, "s             a\"b\\c\\x0a\\x09\\x00\\x1b[31m\\x7f\n");
}

TEST(keeps_utf8_and_tames_its_control_characters)
{
    struct page page;
    const sxt_string value = STRING("\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\x9b"
                                    "31m\xc2\xa0");
    emit_one_string(&page, true, value);
    assert_page(&page, "{\"s\":\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80 \\u009b31m\xc2\xa0\"}\n");
    emit_one_string(&page, false, value);
    assert_page(&page, "s             \xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80 \\xc2\\x9b31m\xc2\xa0\n");
}

TEST(replaces_bytes_that_are_not_utf8)
{
    struct page page;
    const sxt_string value = STRING("a\xff\xc3\xbc\xc3(\xe2\x82");
    emit_one_string(&page, true, value);
    assert_page(&page, "{\"s\":\"a\xef\xbf\xbd\xc3\xbc\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\"}\n");
    emit_one_string(&page, false, value);
    assert_page(&page, "s             a\\xff\xc3\xbc\\xc3(\\xe2\\x82\n");
}

TEST(finds_the_character_to_escape_at_every_place)
{
    static const char bad[] = {'"', '\\', '\x1f', '\x7f', '\x00', '\n'};
    for (size_t b = 0; b < sizeof bad; b++) {
        for (size_t at = 0; at < 40; at++) {
            /* Memory that ends with the string, so that a sanitizer sees what is read after it. */
            char *text = malloc(40);
            assert_non_null(text);
            memset(text, '~', 40);
            text[at] = bad[b];
            struct page page;
            emit_one_string(&page, true, (sxt_string){text, 40});
            assert_int_equal(sxt_emit_finish(&page.emit, NULL), SXT_OK);
            size_t plain = strspn(page.text + strlen("{\"s\":\""), "~");
            assert_int_equal(plain, at);
            assert_int_equal(page.text[strlen("{\"s\":\"") + at], '\\');
            size_t escape = strchr("\"\\\n", bad[b]) != NULL && bad[b] != '\0' ? strlen("\\n") : strlen("\\u0000");
            assert_int_equal(page.size, strlen("{\"s\":\"\"}\n") + 39 + escape);
            close_page(&page);
            free(text);
        }
    }
}

/* Any bytes at all come out as one line that the parser reads back: the same, with U+FFFD for what is not UTF-8. */
TEST(makes_valid_json_of_any_bytes)
{
    static const char pieces[][4] = {"a",    "\"",   "\\",   "\n",   "\x7f", "\xc2",
                                     "\x9b", "\xe2", "\x82", "\xac", "\xf0", "z"};
    uint32_t random = 1;
    for (unsigned round = 0; round < 3000; round++) {
        char value[64], expected[200];
        size_t size = 0, expected_size = 0;
        for (random = random * 1664525 + 1013904223; size < (random >> 8) % 64; size++) {
            random = random * 1664525 + 1013904223;
            value[size] = pieces[(random >> 16) % (sizeof pieces / sizeof pieces[0])][0];
        }
        for (size_t at = 0; at < size;) {
            size_t valid = sxt_utf8_valid(value + at, size - at);
            memcpy(expected + expected_size, value + at, valid);
            expected_size += valid;
            at += valid;
            if (at < size) {
                memcpy(expected + expected_size, "\xef\xbf\xbd", 3);
                expected_size += 3;
                at++;
            }
        }
        struct page page;
        emit_one_string(&page, true, (sxt_string){value, size});
        assert_int_equal(sxt_emit_finish(&page.emit, NULL), SXT_OK);
        assert_ptr_equal(strchr(page.text, '\n'), page.text + page.size - 1);

        struct sxt_arena arena;
        sxt_arena_init(&arena, 0, sxt_arena_separate_default);
        struct sxt_json *parsed;
        struct sxt_json_limits limits = {2, 10};
        assert_int_equal(sxt_json_parse(page.text, page.size, limits, &arena, &parsed, NULL), SXT_OK);
        const struct sxt_json *member = sxt_json_member(parsed, "s");
        assert_non_null(member);
        assert_int_equal(member->string.size, expected_size);
        assert_memory_equal(member->string.data, expected, expected_size);
        sxt_arena_free(&arena);
        close_page(&page);
    }
}

/* A check of all that follows at each of these characters would take hours. */
TEST(escapes_long_strings_in_linear_time)
{
    const size_t size = 4 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = "\xc3\xbc"[i % 2];
    struct page page;
    emit_one_string(&page, true, (sxt_string){text, size});
    assert_int_equal(sxt_emit_finish(&page.emit, NULL), SXT_OK);
    assert_int_equal(page.size, strlen("{\"s\":\"\"}\n") + size);
    close_page(&page);
    memset(text, '\xff', size);
    emit_one_string(&page, true, (sxt_string){text, size});
    assert_int_equal(sxt_emit_finish(&page.emit, NULL), SXT_OK);
    assert_int_equal(page.size, strlen("{\"s\":\"\"}\n") + 3 * size);
    close_page(&page);
    free(text);
}

TEST(colours_keys_if_asked_to)
{
    struct page page;
    struct sxt_emit *emit = open_page(&page, false);
    assert_false(emit->colour);
    emit->colour = true;
    sxt_emit_record(emit);
    sxt_emit_number(emit, "size", 1);
    sxt_emit_record_end(emit);
    assert_page(&page, "\033[1msize\033[0m          1\n");
}

TEST(loses_nothing_in_large_dumps)
{
    for (int json = 0; json < 2; json++) {
        FILE *file = tmpfile();
        assert_non_null(file);
        struct sxt_emit emit;
        sxt_emit_init(&emit, file, json);
        size_t largest = 0;
        for (unsigned i = 0; i < 50000; i++) {
            sxt_emit_record(&emit);
            sxt_emit_number(&emit, "n", i);
            sxt_emit_record_end(&emit);
            largest = emit.line.capacity > largest ? emit.line.capacity : largest;
        }
        assert_int_equal(sxt_emit_finish(&emit, NULL), SXT_OK);
        assert_true(largest < 200000);
        rewind(file);
        char line[100], expected[100];
        for (unsigned i = 0; i < 50000; i++) {
            assert_non_null(fgets(line, sizeof line, file));
            snprintf(expected, sizeof expected, json ? "{\"n\":%u}\n" : "n             %u\n", i);
            assert_string_equal(line, expected);
        }
        assert_null(fgets(line, sizeof line, file));
        fclose(file);
    }
}

TEST(writes_huge_records_without_keeping_them)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    struct sxt_emit emit;
    sxt_emit_init(&emit, file, true);
    sxt_emit_record(&emit);
    sxt_emit_array(&emit, "lines");
    for (unsigned i = 0; i < 500000; i++)
        sxt_emit_number(&emit, NULL, 7);
    sxt_emit_array_end(&emit);
    sxt_emit_record_end(&emit);
    assert_true(emit.line.capacity < 200000);
    assert_int_equal(sxt_emit_finish(&emit, NULL), SXT_OK);
    assert_int_equal(ftell(file), strlen("{\"lines\":[]}\n") + 2 * 500000 - 1);
    fclose(file);
}

TEST(says_that_the_disk_is_full)
{
    for (unsigned records = 1; records <= 100000; records *= 100000) {
        FILE *full = fopen("/dev/full", "w");
        if (full == NULL)
            skip();
        struct sxt_emit emit;
        sxt_error error;
        sxt_emit_init(&emit, full, true);
        for (unsigned i = 0; i < records; i++)
            emit_scalars(&emit);
        assert_int_equal(sxt_emit_finish(&emit, &error), SXT_ERROR_IO);
        assert_non_null(strstr(error.text, "cannot write the results"));
        if (records == 1)
            assert_string_equal(error.text, "cannot write the results: No space left on device");
        assert_int_equal(sxt_emit_finish(&emit, NULL), SXT_ERROR_IO);
        fclose(full);
    }
}

TEST(may_go_on_after_finish)
{
    struct page page;
    struct sxt_emit *emit = open_page(&page, true);
    sxt_emit_record(emit);
    sxt_emit_record_end(emit);
    assert_int_equal(sxt_emit_finish(emit, NULL), SXT_OK);
    assert_string_equal(page.text, "{}\n");
    sxt_emit_record(emit);
    sxt_emit_record_end(emit);
    assert_page(&page, "{}\n{}\n");
}

TEST(nests_to_any_depth)
{
    char expected[300] = "{\"a\":";
    struct page page;
    struct sxt_emit *emit = open_page(&page, true);
    sxt_emit_record(emit);
    for (unsigned i = 0; i < 100; i++)
        sxt_emit_array(emit, i == 0 ? "a" : NULL);
    for (unsigned i = 0; i < 100; i++)
        sxt_emit_array_end(emit);
    sxt_emit_number(emit, "b", 1);
    sxt_emit_record_end(emit);
    memset(expected + 5, '[', 100);
    memset(expected + 105, ']', 100);
    strcpy(expected + 205, ",\"b\":1}\n");
    assert_page(&page, expected);
}
