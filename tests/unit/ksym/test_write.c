/*
 * test_write.c: blobs, byte for byte where the format's example gives them, and otherwise read back by a decoder
 * of the test's own that knows nothing but the layout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "ksym/ksym.h"
#include "support/random.h"
#include "support/test.h"

#define NAME_ROOM 70000

static sxt_string view(const char *text)
{
    return (sxt_string){text, strlen(text)};
}

static struct sxt_ksym_list new_list(void)
{
    struct sxt_ksym_list list;
    assert_int_equal(sxt_ksym_list_init(&list, NULL), SXT_OK);
    return list;
}

static void add(struct sxt_ksym_list *list, uint64_t address, char type, const char *name)
{
    assert_int_equal(sxt_ksym_list_add(list, address, type, view(name), NULL), SXT_OK);
}

/* --- a decoder --- */

struct decoded {
    const uint8_t *addresses, *offsets, *sequence, *names, *tokens, *starts;
    uint64_t count, names_size, tokens_size, token_count;
};

static size_t padded(const uint8_t *data, size_t at)
{
    for (; at % 8 != 0; at++)
        assert_int_equal(data[at], 0);
    return at;
}

static struct decoded decode(const uint8_t *data, size_t size, sxt_ksym_layout layout)
{
    struct decoded blob;
    size_t at = 0;
    if (layout == SXT_KSYM_0_6) {
        assert_int_equal(sxt_load_u64le(data), size);
        at = 8;
    }
    blob.count = sxt_load_u64le(data + at);
    blob.addresses = data + at + 8;
    blob.offsets = blob.addresses + 8 * blob.count;
    blob.sequence = blob.offsets + 4 * blob.count;
    at += 8 + 16 * blob.count;
    blob.names_size = sxt_load_u64le(data + at);
    blob.names = data + at + 8;
    at = padded(data, at + 8 + blob.names_size);
    blob.tokens_size = sxt_load_u64le(data + at);
    blob.tokens = data + at + 8;
    at = padded(data, at + 8 + blob.tokens_size);
    blob.token_count = sxt_load_u64le(data + at);
    blob.starts = data + at + 8;
    assert_int_equal(at + 8 + 4 * blob.token_count, size);
    assert_true(blob.token_count <= SXT_KSYM_TOKENS_WRITTEN);
    return blob;
}

/* The name of a symbol goes to OUT. Returns its size. */
static size_t decode_name(const struct decoded *blob, size_t index, char *type, char *out)
{
    uint32_t offset = sxt_load_u32le(blob->offsets + 4 * index);
    assert_true(offset + 3 <= blob->names_size);
    const uint8_t *record = blob->names + offset;
    size_t left = sxt_load_u16le(record + 1), size = 0;
    assert_true(offset + 3 + left <= blob->names_size);
    *type = (char)record[0];
    record += 3;
    if (left > 0 && record[0] == 0xff) {
        size_t marker = record[2] == 0xff ? 3 : 4;
        size_t id = marker == 3 ? record[1] : (size_t)record[1] << 8 | record[2];
        assert_true(left >= marker && record[marker - 1] == 0xff && id < blob->token_count);
        assert_true(marker == 3 || id >= 256);
        size_t start = sxt_load_u32le(blob->starts + 4 * id);
        size_t end = id + 1 < blob->token_count ? sxt_load_u32le(blob->starts + 4 * (id + 1)) : blob->tokens_size;
        assert_true(start <= end && end <= blob->tokens_size);
        size = end - start;
        memcpy(out, blob->tokens + start, size);
        record += marker;
        left -= marker;
    }
    memcpy(out + size, record, left);
    return size + left;
}

static int compare_names(sxt_string a, sxt_string b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* Which symbol of the list comes before which: by address or by name, and then by the order of the list. */
static bool comes_before(const struct sxt_ksym_list *list, size_t a, size_t b, bool by_name)
{
    const struct sxt_ksym_input *left = &list->symbols[a], *right = &list->symbols[b];
    int order = left->address < right->address ? -1 : left->address > right->address;
    if (by_name)
        order =
            compare_names(sxt_strings_get(&list->strings, left->name), sxt_strings_get(&list->strings, right->name));
    return order != 0 ? order < 0 : a < b;
}

/* The symbols of the list in order, by the simplest of sorts. */
static size_t *sorted(const struct sxt_ksym_list *list, bool by_name)
{
    size_t *symbols = calloc(list->count + 1, sizeof *symbols);
    for (size_t i = 0; i < list->count; i++) {
        size_t place = i;
        for (; place > 0 && comes_before(list, i, symbols[place - 1], by_name); place--)
            symbols[place] = symbols[place - 1];
        symbols[place] = i;
    }
    return symbols;
}

/* Does the blob say what the list says? */
static void check_blob(const struct sxt_ksym_list *list, const struct decoded *blob)
{
    static char name[NAME_ROOM];
    size_t *by_address = sorted(list, false), *by_name = sorted(list, true);
    size_t *index_of = calloc(list->count + 1, sizeof *index_of);
    assert_int_equal(blob->count, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct sxt_ksym_input *symbol = &list->symbols[by_address[i]];
        sxt_string expected = sxt_strings_get(&list->strings, symbol->name);
        char type;
        assert_true(sxt_load_u64le(blob->addresses + 8 * i) == symbol->address);
        assert_int_equal(decode_name(blob, i, &type, name), expected.size);
        assert_memory_equal(name, expected.data, expected.size);
        assert_int_equal(type, symbol->type);
        index_of[by_address[i]] = i;
    }
    for (size_t i = 0; i < list->count; i++)
        assert_int_equal(sxt_load_u32le(blob->sequence + 4 * i), index_of[by_name[i]]);
    free(by_address);
    free(by_name);
    free(index_of);
}

/* Encodes in one way, checks it, and returns the size of the blob. */
static size_t check_way(const struct sxt_ksym_list *list, struct sxt_ksym_encode_options options)
{
    uint8_t *data, *again;
    size_t size, size_again;
    struct sxt_ksym_encode_report report;
    sxt_error error;
    assert_int_equal(sxt_ksym_encode(list, &options, &data, &size, &report, &error), SXT_OK);
    assert_int_equal(sxt_ksym_encode(list, &options, &again, &size_again, NULL, &error), SXT_OK);
    assert_int_equal(size, size_again);
    assert_memory_equal(data, again, size);
    struct decoded blob = decode(data, size, options.layout);
    check_blob(list, &blob);
    assert_int_equal(report.tokens, blob.token_count);
    assert_int_equal(report.saved, report.plain_size > size ? report.plain_size - size : 0);
    if (options.tokens == SXT_KSYM_TOKENS_SAVING)
        assert_true(size <= report.plain_size && report.size_bound <= size + 16);
    free(data);
    free(again);
    return size;
}

static void check_all_ways(const struct sxt_ksym_list *list)
{
    size_t sizes[2][2][2];
    for (int layout = 0; layout < 2; layout++)
        for (int rule = 0; rule < 2; rule++)
            for (int shared = 0; shared < 2; shared++)
                sizes[layout][rule][shared] =
                    check_way(list, (struct sxt_ksym_encode_options){(sxt_ksym_layout)layout,
                                                                     (enum sxt_ksym_tokens)rule, shared != 0});
    for (int shared = 0; shared < 2; shared++) {
        assert_true(sizes[0][0][shared] <= sizes[0][1][shared] + 16);
        assert_int_equal(sizes[1][0][shared], sizes[0][0][shared] + 8);
    }
    assert_true(sizes[0][0][1] <= sizes[0][0][0] + 16);
}

/* --- what comes out --- */

/* The example of the format's description, as the reference generator writes it. */
static const char example[] = "0300000000000000"
                              "0010000000000000"
                              "0011000000000000"
                              "0012000000000000"
                              "00000000"
                              "09000000"
                              "13000000"
                              "00000000"
                              "02000000"
                              "01000000"
                              "2000000000000000"
                              "5406005f7374617274"
                              "540700646f5f666f726b"
                              "540a00ff00ff705f656e747279"
                              "1700000000000000"
                              "6370755f737461727475"
                              "646f5f666f726b"
                              "5f7374617274"
                              "00"
                              "0300000000000000"
                              "00000000"
                              "0a000000"
                              "11000000";

static struct sxt_ksym_list example_list(void)
{
    struct sxt_ksym_list list = new_list();
    add(&list, 0x1000, 'T', "_start");
    add(&list, 0x1100, 'T', "do_fork");
    add(&list, 0x1200, 'T', "cpu_startup_entry");
    return list;
}

static void assert_bytes(const uint8_t *data, size_t size, const char *hexadecimal)
{
    assert_int_equal(size, strlen(hexadecimal) / 2);
    for (size_t i = 0; i < size; i++) {
        char byte[3];
        snprintf(byte, sizeof byte, "%02x", data[i]);
        assert_memory_equal(byte, hexadecimal + 2 * i, 2);
    }
}

TEST(writes_the_example_as_the_reference_does)
{
    struct sxt_ksym_list list = example_list();
    struct sxt_ksym_encode_options options = {.tokens = SXT_KSYM_TOKENS_REFERENCE};
    uint8_t *data;
    size_t size;
    assert_int_equal(sxt_ksym_encode(&list, &options, &data, &size, NULL, NULL), SXT_OK);
    assert_bytes(data, size, example);
    free(data);
    options.layout = SXT_KSYM_0_6;
    assert_int_equal(sxt_ksym_encode(&list, &options, &data, &size, NULL, NULL), SXT_OK);
    assert_int_equal(sxt_load_u64le(data), sizeof example / 2 + 8);
    assert_bytes(data + 8, size - 8, example);
    free(data);
    sxt_ksym_list_free(&list);
}

TEST(takes_no_token_that_saves_nothing)
{
    struct sxt_ksym_list list = example_list();
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    size_t size;
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, &size, &report, NULL), SXT_OK);
    assert_int_equal(report.tokens, 0);
    assert_int_equal(report.saved, 0);
    assert_int_equal(size, 8 + 3 * 16 + 8 + 40 + 8 + 8);
    free(data);
    sxt_ksym_list_free(&list);
}

/* The padding after the tokens takes what the best ones save here. */
TEST(takes_no_token_that_saves_nothing_in_the_end)
{
    static const char *const names[] = {"_stext",
                                        "startup_64",
                                        "do_one_initcall",
                                        "do_one_thing",
                                        "ext4_write_begin [ext4]",
                                        "ext4_write_end [ext4]",
                                        "ext4_data [ext4]"};
    struct sxt_ksym_list list = new_list();
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    size_t size;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add(&list, 0x1000 + i, 'T', names[i]);
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, &size, &report, NULL), SXT_OK);
    assert_true(report.size_bound < report.plain_size);
    assert_int_equal(report.tokens, 0);
    assert_int_equal(size, report.plain_size);
    free(data);
    check_all_ways(&list);
    sxt_ksym_list_free(&list);
}

/* Equal scores: what is first in the list. A prefix of what was taken: not taken. Once is enough, and so is too short.
 */
TEST(follows_the_rule_of_the_reference)
{
    static const char expected[] = "abcdefghijklmnopqrstuvwx"
                                   "second_one"
                                   "also_tenth"
                                   "tiny";
    struct sxt_ksym_list list = new_list();
    struct sxt_ksym_encode_options options = {.tokens = SXT_KSYM_TOKENS_REFERENCE};
    uint8_t *data;
    size_t size;
    add(&list, 0x2000, 'T', "second_one");
    add(&list, 0x1000, 'T', "also_tenth");
    add(&list, 0x3000, 'T', "abcdefghijklmnopqrstuvwxyz");
    add(&list, 0x4000, 'T', "tiny");
    assert_int_equal(sxt_ksym_encode(&list, &options, &data, &size, NULL, NULL), SXT_OK);
    struct decoded blob = decode(data, size, SXT_KSYM_SEED);
    assert_int_equal(blob.token_count, 4);
    assert_int_equal(blob.tokens_size, sizeof expected - 1);
    assert_memory_equal(blob.tokens, expected, sizeof expected - 1);
    check_blob(&list, &blob);
    assert_int_equal(blob.names_size, 3 + 3 + 3 + 3 + 3 + 3 + 2 + 3 + 4);
    free(data);
    sxt_ksym_list_free(&list);
}

TEST(writes_an_empty_list)
{
    struct sxt_ksym_list list = new_list();
    static const uint8_t zeros[32];
    uint8_t *data;
    size_t size;
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, &size, NULL, NULL), SXT_OK);
    assert_int_equal(size, sizeof zeros);
    assert_memory_equal(data, zeros, sizeof zeros);
    free(data);
    check_all_ways(&list);
    sxt_ksym_list_free(&list);
}

TEST(keeps_the_order_of_equals)
{
    struct sxt_ksym_list list = new_list();
    add(&list, 0x2000, 't', "second");
    add(&list, 0x1000, 't', "same");
    add(&list, 0x2000, 'T', "alias");
    add(&list, 0x0800, 't', "same");
    add(&list, 0x2000, 't', "same");
    add(&list, UINT64_MAX, 'A', "last");
    check_all_ways(&list);
    sxt_ksym_list_free(&list);
}

TEST(orders_names_by_bytes)
{
    struct sxt_ksym_list list = new_list();
    static const char zeros[] = "nul\0\0\0\0\0\0\0\0\0\0\0";
    const char *names[] = {"b",   "a",        "ab",        "a\x7f",     "a\xc3\xa9",
                           "nul", "prefixes", "prefixes ", "prefixesA", "prefixe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add(&list, 0x1000 + i, 'T', names[i]);
    for (size_t size = sizeof zeros; size-- > 3;)
        assert_int_equal(sxt_ksym_list_add(&list, 0x3000 + size, 'T', (sxt_string){zeros, size}, NULL), SXT_OK);
    check_all_ways(&list);
    sxt_ksym_list_free(&list);
}

TEST(shares_records_of_the_same_name_and_type)
{
    struct sxt_ksym_list list = new_list();
    for (size_t i = 0; i < 9; i++)
        add(&list, 0x9000 - 0x100 * i, i % 3 == 0 ? 'T' : 't', "several");
    add(&list, 0x1000, 'T', "one");
    struct sxt_ksym_encode_options options = {.share_records = true};
    uint8_t *data;
    size_t size;
    assert_int_equal(sxt_ksym_encode(&list, &options, &data, &size, NULL, NULL), SXT_OK);
    struct decoded blob = decode(data, size, SXT_KSYM_SEED);
    assert_int_equal(blob.names_size, 2 * (3 + 7) + 3 + 3);
    check_blob(&list, &blob);
    free(data);
    check_all_ways(&list);
    sxt_ksym_list_free(&list);
}

/* Names made of a few pieces, so that they share prefixes of all lengths. */
static void add_random(struct sxt_ksym_list *list, struct sxt_test_random *random, size_t count)
{
    static const char *const pieces[] = {"core::",           "ptr", "_", "drop_in_place<",
                                         "\xc3\xa9\xc3\xaa", "x",   "0", " [mod]"};
    for (size_t i = 0; i < count; i++) {
        char name[400] = "n";
        for (uint32_t left = sxt_test_below(random, 20); left > 0; left--)
            strcat(name, pieces[sxt_test_below(random, sizeof pieces / sizeof *pieces)]);
        uint64_t address = (uint64_t)sxt_test_below(random, 1000) << sxt_test_below(random, 40);
        add(list, address, "TtdB"[sxt_test_below(random, 4)], name);
    }
}

TEST(gives_back_random_lists)
{
    struct sxt_test_random random = {7};
    for (size_t count = 0; count < 60; count++) {
        struct sxt_ksym_list list = new_list();
        add_random(&list, &random, count);
        check_all_ways(&list);
        sxt_ksym_list_free(&list);
    }
}

/* More prefixes are worth a token than there are tokens, so that all ids are in use. */
TEST(gives_back_lists_that_use_all_tokens)
{
    struct sxt_test_random random = {8};
    struct sxt_ksym_list list = new_list();
    for (size_t group = 0; group < 700; group++) {
        uint32_t number = sxt_test_below(&random, 1 << 24);
        for (uint32_t i = 0; i < 3 + number % 5; i++) {
            char name[60];
            snprintf(name, sizeof name, "%06x_a_prefix_worth_it_%u", number, i);
            add(&list, group * 64 + i, 'T', name);
        }
    }
    check_all_ways(&list);
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    size_t size;
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, &size, &report, NULL), SXT_OK);
    assert_int_equal(report.tokens, SXT_KSYM_TOKENS_WRITTEN);
    assert_true(size <= report.size_bound + 64);
    free(data);
    sxt_ksym_list_free(&list);
}

static char *long_name(size_t size)
{
    char *name = malloc(size + 1);
    memset(name, 'n', size);
    name[size] = '\0';
    return name;
}

TEST(gives_back_the_longest_names)
{
    struct sxt_ksym_list list = new_list();
    for (size_t less = 0; less < 4; less++) {
        char *name = long_name(SXT_KSYM_RECORD_MOST - less);
        add(&list, 0x1000 + less, 'T', name);
        add(&list, 0x2000 + less, 'T', name);
        free(name);
    }
    check_all_ways(&list);
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    size_t size;
    add(&list, 0x3000, 'T', "short");
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, &size, &report, NULL), SXT_OK);
    assert_int_equal(report.long_names, 8);
    free(data);
    sxt_ksym_list_free(&list);
}

/* --- what does not go in --- */

static void assert_refused(const char *name, sxt_status code, const char *reason)
{
    struct sxt_ksym_list list = example_list();
    uint8_t *data;
    size_t size;
    sxt_error error;
    add(&list, 0xabc, 'T', name);
    assert_int_equal(sxt_ksym_encode(&list, NULL, &data, &size, NULL, &error), code);
    assert_null(data);
    assert_non_null(strstr(error.text, "0xabc"));
    assert_non_null(strstr(error.text, reason));
    sxt_ksym_list_free(&list);
}

TEST(refuses_names_that_do_not_fit)
{
    assert_refused("", SXT_ERROR_UNSUPPORTED, "no name");
    assert_refused("a\xff", SXT_ERROR_UNSUPPORTED, "not UTF-8");
    assert_refused("a\xc3", SXT_ERROR_UNSUPPORTED, "not UTF-8");
    char *name = long_name(SXT_KSYM_RECORD_MOST + 1);
    assert_refused(name, SXT_ERROR_LIMIT, "longer than the 65535 bytes");
    free(name);
}
