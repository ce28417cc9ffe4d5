/* test_read.c: what the freestanding reader of ksym blobs answers, by address, by name and one by one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sextant/ksym_writer.h>

#include "support/ksym_image.h"
#include "support/random.h"
#include "support/test.h"

static void assert_lookup(const sxt_ksym *ksym, uint64_t address, const char *name, uint64_t size, uint64_t offset)
{
    char buffer[256];
    sxt_ksym_symbol symbol;
    assert_true(sxt_ksym_lookup(ksym, address, buffer, sizeof buffer, &symbol));
    assert_string_equal(buffer, name);
    assert_int_equal(symbol.name_size, strlen(name));
    assert_int_equal(symbol.size, size);
    assert_int_equal(symbol.offset, offset);
    assert_int_equal(symbol.address, address - offset);
}

static void assert_dump(const sxt_ksym *ksym, const char *expected)
{
    static struct sxt_ksym_image text;
    text.size = 0;
    sxt_ksym_dump(ksym, sxt_ksym_image_collect, &text);
    sxt_ksym_image_add(&text, "", 1);
    assert_string_equal((const char *)text.bytes, expected);
}

static void collect_rule(void *data, const sxt_ksym_problem *problem)
{
    struct sxt_ksym_image *rules = data;
    assert_true(problem->text[0] != '\0');
    sxt_ksym_image_add(rules, problem->rule, strlen(problem->rule));
    sxt_ksym_image_add(rules, " ", 1);
}

/* The rules of all problems, harmless ones as well. */
static void assert_problems(const sxt_ksym *ksym, size_t count, const char *expected)
{
    static struct sxt_ksym_image rules;
    rules.size = 0;
    assert_int_equal(sxt_ksym_check(ksym, collect_rule, &rules), count);
    sxt_ksym_image_add(&rules, "", 1);
    assert_string_equal((const char *)rules.bytes, expected);
    assert_int_equal(sxt_ksym_check(ksym, NULL, NULL), count);
}

TEST(the_example_is_read)
{
    struct sxt_ksym_blob blob;
    sxt_ksym_image_open(&blob, sxt_ksym_example, sizeof sxt_ksym_example, 0x1000, 0x1300);
    assert_int_equal(sxt_ksym_count(&blob.ksym), 3);
    assert_int_equal(blob.ksym.layout, SXT_KSYM_SEED);
    assert_lookup(&blob.ksym, 0x1000, "_start", 0x100, 0);
    assert_lookup(&blob.ksym, 0x10ff, "_start", 0x100, 0xff);
    assert_lookup(&blob.ksym, 0x1100, "do_fork", 0x100, 0);
    assert_lookup(&blob.ksym, 0x1200, "cpu_startup_entry", 0x100, 0);
    assert_lookup(&blob.ksym, 0x12ff, "cpu_startup_entry", 0x100, 0xff);
    sxt_ksym_assert_unknown(&blob.ksym, 0xfff);
    sxt_ksym_assert_unknown(&blob.ksym, 0x1300);
    sxt_ksym_assert_found(&blob.ksym, "_start", "1000");
    sxt_ksym_assert_found(&blob.ksym, "do_fork", "1100");
    sxt_ksym_assert_found(&blob.ksym, "cpu_startup_entry", "1200");
    for (const char *const *name = (const char *const[]){"", "A", "_star", "_start1", "cpu_startu", "zzz", NULL}; *name;
         name++)
        sxt_ksym_assert_found(&blob.ksym, *name, "");
    assert_dump(&blob.ksym, "0000000000001000 T _start\n0000000000001100 T do_fork\n"
                            "0000000000001200 T cpu_startup_entry\n");
    assert_problems(&blob.ksym, 0, "unused-token unused-token ");
    sxt_ksym_image_close(&blob);
}

TEST(text_bounds_are_kept)
{
    struct sxt_ksym_blob blob;
    sxt_ksym_image_open(&blob, sxt_ksym_example, sizeof sxt_ksym_example, 0, 0);
    assert_lookup(&blob.ksym, 0x1fff, "cpu_startup_entry", 0xe00, 0xdff);
    sxt_ksym_assert_unknown(&blob.ksym, 0x2000);
    sxt_ksym_assert_unknown(&blob.ksym, 0);
    sxt_ksym_image_close(&blob);
    sxt_ksym_image_open(&blob, sxt_ksym_example, sizeof sxt_ksym_example, 0x10, 0x1180);
    sxt_ksym_assert_unknown(&blob.ksym, 0x20);
    assert_lookup(&blob.ksym, 0x1110, "do_fork", 0x80, 0x10);
    sxt_ksym_assert_unknown(&blob.ksym, 0x1180);
    sxt_ksym_symbol symbol;
    assert_true(sxt_ksym_symbol_at(&blob.ksym, 1, &symbol));
    assert_int_equal(symbol.size, 0x80);
    assert_true(sxt_ksym_symbol_at(&blob.ksym, 2, &symbol));
    assert_int_equal(symbol.size, 0xe00);
    sxt_ksym_image_close(&blob);
    sxt_ksym_image_open(&blob, sxt_ksym_example, sizeof sxt_ksym_example, 0x2000, 0x1000);
    sxt_ksym_assert_unknown(&blob.ksym, 0x1000);
    sxt_ksym_image_close(&blob);

    static struct sxt_ksym_image image;
    const struct sxt_ksym_image_symbol top[] = {{0, "zero", NULL}, {UINT64_MAX, "top", NULL}};
    sxt_ksym_image_make(&image, top, 2, NULL, false);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
    assert_lookup(&blob.ksym, 0, "zero", UINT64_MAX, 0);
    assert_lookup(&blob.ksym, UINT64_MAX, "top", 1, 0);
    sxt_ksym_image_close(&blob);
    sxt_ksym_image_make(&image, top, 1, NULL, false);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, UINT64_MAX);
    assert_lookup(&blob.ksym, UINT64_MAX - 1, "zero", UINT64_MAX, UINT64_MAX - 1);
    sxt_ksym_image_close(&blob);
}

TEST(the_first_alias_answers_everywhere)
{
    static struct sxt_ksym_image image;
    static struct sxt_ksym_image_symbol symbols[40];
    struct sxt_ksym_blob blob;
    for (size_t count = 1; count <= 40; count++) {
        for (size_t i = 0; i < count; i++)
            symbols[i] = (struct sxt_ksym_image_symbol){i < count / 3   ? 0
                                                        : i < count / 2 ? 0x10
                                                                        : 0x20,
                                                        i == count / 2 ? "c" : "x", 0};
        sxt_ksym_image_make(&image, symbols, count, NULL, false);
        sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0x30);
        assert_lookup(&blob.ksym, 0x20, "c", 0x10, 0);
        assert_lookup(&blob.ksym, 0x2f, "c", 0x10, 0xf);
        sxt_ksym_symbol symbol;
        assert_true(sxt_ksym_lookup(&blob.ksym, 0x25, NULL, 0, &symbol));
        assert_int_equal(symbol.index, count / 2);
        for (size_t i = 0; i < count; i++) {
            assert_true(sxt_ksym_symbol_at(&blob.ksym, i, &symbol));
            assert_int_equal(symbol.address, symbols[i].address);
            uint64_t end = i < count / 3 && count / 3 < count / 2 ? 0x10 : i < count / 2 ? 0x20 : 0x30;
            assert_int_equal(symbol.size, end - symbols[i].address);
            assert_int_equal(symbol.type, i % 2 == 0 ? 'T' : 't');
        }
        assert_false(sxt_ksym_symbol_at(&blob.ksym, count, &symbol));
        sxt_ksym_image_close(&blob);
    }
}

TEST(every_address_between_symbols_is_found)
{
    static struct sxt_ksym_image image;
    static struct sxt_ksym_image_symbol symbols[64];
    struct sxt_ksym_blob blob;
    for (size_t count = 1; count <= 64; count++) {
        for (size_t i = 0; i < count; i++)
            symbols[i] = (struct sxt_ksym_image_symbol){0x100 + 4 * i, "x", NULL};
        sxt_ksym_image_make(&image, symbols, count, NULL, false);
        sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
        for (size_t i = 0; i < 4 * count; i++) {
            sxt_ksym_symbol symbol;
            assert_true(sxt_ksym_lookup(&blob.ksym, 0x100 + i, NULL, 0, &symbol));
            assert_int_equal(symbol.index, i / 4);
        }
        sxt_ksym_image_close(&blob);
    }
}

/* The name that symbol NUMBER gets: many begin alike, and lengths go over the blocks in which names are copied. */
static size_t long_name(size_t number, char *name, size_t capacity)
{
    int size = snprintf(name, capacity, "%s%zu", number % 3 == 0 ? "a_beginning_that_many_names_share_" : "n", number);
    for (size_t i = 0; i < number % 150; i++)
        size += snprintf(name + size, capacity - (size_t)size, "%c", (char)('a' + i % 26));
    return (size_t)size;
}

/* A kernel and its modules: two crowded places, far from each other, and some aliases. */
TEST(names_on_both_sides_of_a_gap_are_found_and_copied_into_any_buffer)
{
    enum { COUNT = 3000 };
    static uint64_t addresses[COUNT];
    sxt_ksym_writer *writer;
    struct sxt_test_random state = {7};
    uint64_t address = 0xffffffff81000000;
    char name[400];
    assert_int_equal(sxt_ksym_writer_new(NULL, &writer, NULL), SXT_OK);
    for (size_t i = 0; i < COUNT; i++) {
        addresses[i] = address;
        size_t size = long_name(i, name, sizeof name);
        assert_int_equal(sxt_ksym_writer_add(writer, address, 't', name, size, NULL), SXT_OK);
        address += i == COUNT / 2 ? 0x3f000000 : i % 50 == 0 ? 0 : 1 + sxt_test_below(&state, 700);
    }
    void *data;
    size_t size;
    assert_int_equal(sxt_ksym_writer_write_memory(writer, &data, &size, NULL, NULL), SXT_OK);
    sxt_ksym_writer_free(&writer);
    static sxt_ksym ksym;
    assert_null(sxt_ksym_open(&ksym, data, size, 0, 0, NULL));
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t next = i + 1 < COUNT ? addresses[i + 1] : addresses[i] + 1;
        size_t first = i > 0 && addresses[i - 1] == addresses[i] ? i - 1 : i;
        size_t whole = long_name(first, name, sizeof name), capacity = (i * 37) % 420;
        char *buffer = malloc(capacity + 1);
        sxt_ksym_symbol symbol;
        for (unsigned k = 0; k < 3 && next > addresses[i]; k++) {
            uint64_t asked = k == 0 ? addresses[i] : k == 1 ? next - 1 : addresses[i] + (next - addresses[i]) / 2;
            buffer[capacity] = '!';
            assert_true(sxt_ksym_lookup(&ksym, asked, buffer, capacity, &symbol));
            assert_int_equal(symbol.index, first);
            assert_int_equal(symbol.name_size, whole);
            size_t shown = whole < capacity ? whole : capacity > 0 ? capacity - 1 : 0;
            assert_memory_equal(buffer, name, shown);
            assert_int_equal(capacity > 0 ? buffer[shown] : '\0', '\0');
            assert_int_equal(buffer[capacity], '!');
        }
        free(buffer);
        sxt_ksym_matches matches;
        size_t index;
        size_t own = long_name(i, name, sizeof name);
        sxt_ksym_find(&ksym, name, own, &matches);
        assert_true(sxt_ksym_next(&matches, &index));
        assert_int_equal(index, i);
        assert_false(sxt_ksym_next(&matches, &index));
    }
    sxt_free(data);
}

TEST(distinguishes_both_layouts)
{
    static struct sxt_ksym_image image;
    static struct sxt_ksym_image_symbol zeros[64];
    struct sxt_ksym_blob blob;
    const struct sxt_ksym_image_symbol symbols[] = {{0x1000, "a", NULL}, {0x2000, "b", NULL}};
    sxt_ksym_image_make(&image, symbols, 2, NULL, true);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
    assert_int_equal(blob.ksym.layout, SXT_KSYM_0_6);
    assert_lookup(&blob.ksym, 0x2001, "b", 0x1000, 1);
    sxt_ksym_assert_found(&blob.ksym, "a", "1000");
    sxt_ksym_image_close(&blob);
    /* In a section that continues after it. */
    memset(image.bytes + image.size, 0, 4096);
    sxt_ksym_image_open(&blob, image.bytes, 4096, 0, 0);
    assert_int_equal(blob.ksym.layout, SXT_KSYM_0_6);
    assert_int_equal(blob.ksym.size, image.size);
    sxt_ksym_image_close(&blob);

    for (size_t i = 0; i < 64; i++)
        zeros[i] = (struct sxt_ksym_image_symbol){0, "zero", NULL};
    sxt_ksym_image_make(&image, zeros, 64, NULL, false);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
    assert_int_equal(blob.ksym.layout, SXT_KSYM_SEED);
    assert_int_equal(sxt_ksym_count(&blob.ksym), 64);
    sxt_ksym_image_close(&blob);

    for (int newer = 0; newer < 2; newer++) {
        sxt_ksym_image_make(&image, NULL, 0, NULL, newer != 0);
        assert_int_equal(image.size, newer != 0 ? 40 : 32);
        sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
        assert_int_equal(blob.ksym.layout, newer != 0 ? SXT_KSYM_0_6 : SXT_KSYM_SEED);
        assert_int_equal(sxt_ksym_count(&blob.ksym), 0);
        sxt_ksym_assert_unknown(&blob.ksym, 0);
        sxt_ksym_assert_found(&blob.ksym, "", "");
        assert_dump(&blob.ksym, "");
        sxt_ksym_image_close(&blob);
    }
}

/* Whatever the token takes of a name and of its module, the name is found and given. */
TEST(distinguishes_modules)
{
    static struct sxt_ksym_image image;
    struct sxt_ksym_blob blob;
    const char *const name = "in_module [ext4]";
    for (size_t cut = 0; cut <= strlen(name); cut++) {
        char token[32], payload[40], buffer[32];
        snprintf(token, sizeof token, "%.*s", (int)cut, name);
        snprintf(payload, sizeof payload, "\xff\x01\xff%s", name + cut);
        const char *const tokens[] = {"unused", token, NULL};
        const struct sxt_ksym_image_symbol symbols[] = {
            {0x1000, name, cut > 0 ? payload : NULL},  {0x2000, "in_module", NULL}, {0x3000, "in_module [xfs]", NULL},
            {0x4000, "in_module [clone .cold]", NULL}, {0x5000, "in_module", NULL}, {0x6000, "in_module A", NULL},
            {0x7000, "in_module_too [xfs]", NULL}};
        sxt_ksym_image_make(&image, symbols, 7, tokens, false);
        sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
        sxt_ksym_assert_found(&blob.ksym, "in_module", "2000 5000 1000 3000");
        sxt_ksym_assert_found(&blob.ksym, name, "1000");
        sxt_ksym_assert_found(&blob.ksym, "in_module [clone .cold]", "4000");
        sxt_ksym_assert_found(&blob.ksym, "in_module [", "");
        sxt_ksym_assert_found(&blob.ksym, "in_modul", "");
        sxt_ksym_assert_found(&blob.ksym, "in_module_too", "7000");
        assert_lookup(&blob.ksym, 0x1000, "in_module", 0x1000, 0);
        assert_int_equal(sxt_ksym_module(&blob.ksym, 0, buffer, sizeof buffer), 4);
        assert_string_equal(buffer, "ext4");
        assert_int_equal(sxt_ksym_name(&blob.ksym, 0, buffer, sizeof buffer), strlen(name));
        assert_string_equal(buffer, name);
        assert_int_equal(sxt_ksym_module(&blob.ksym, 3, buffer, sizeof buffer), 0);
        assert_string_equal(buffer, "");
        assert_problems(&blob.ksym, 0, cut > 0 ? "unused-token " : "unused-token unused-token ");
        sxt_ksym_image_close(&blob);
    }
}

TEST(what_is_no_module_belongs_to_the_name)
{
    static struct sxt_ksym_image image;
    struct sxt_ksym_blob blob;
    const char *const names[] = {"f []", "[x]", " [x]", "f[x]", "f [x y]", "f [[x]", "f [x]]", "f [x", "f [x] ", "]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char buffer[16];
        const struct sxt_ksym_image_symbol symbol = {0x1000, names[i], NULL};
        sxt_ksym_image_make(&image, &symbol, 1, NULL, false);
        sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
        size_t size = sxt_ksym_module(&blob.ksym, 0, buffer, sizeof buffer);
        assert_int_equal(size, strcmp(names[i], " [x]") == 0);
        assert_lookup(&blob.ksym, 0x1000, size > 0 ? "" : names[i], 0x1000, 0);
        sxt_ksym_image_close(&blob);
    }
}

TEST(names_of_every_length_are_found)
{
    static struct sxt_ksym_image image;
    static struct sxt_ksym_image_symbol symbols[600];
    static char names[600][64], payloads[600][64];
    struct sxt_test_random random = {1};
    struct sxt_ksym_blob blob;
    const char *const tokens[] = {"aaaaaaaa", "ab", "aaaaaaaaaaaaaaaaaaaaaaa", NULL};
    for (size_t count = 1; count <= 600; count += count < 20 ? 1 : 97) {
        for (size_t i = 0; i < count; i++) {
            size_t size = 0, token = sxt_test_below(&random, 4);
            snprintf(names[i], sizeof names[i], "%s", token < 3 ? tokens[token] : "");
            size = strlen(names[i]);
            for (uint32_t more = 1 + sxt_test_below(&random, 20); more > 0; more--)
                names[i][size++] = (char)('a' + sxt_test_below(&random, 2));
            names[i][size] = '\0';
            snprintf(payloads[i], sizeof payloads[i], "%s", names[i]);
            if (token == 1 || token == 2)
                snprintf(payloads[i], sizeof payloads[i], "\xff%c\xff%s", (char)token,
                         names[i] + strlen(tokens[token]));
            symbols[i] = (struct sxt_ksym_image_symbol){0x1000 + i, names[i], payloads[i]};
        }
        sxt_ksym_image_make(&image, symbols, count, tokens, count % 2 == 0);
        sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
        for (size_t i = 0; i < count; i++) {
            sxt_ksym_matches matches;
            size_t index, same = 0, found = 0, this_one = 0;
            for (size_t k = 0; k < count; k++)
                same += strcmp(names[k], names[i]) == 0;
            sxt_ksym_find(&blob.ksym, names[i], strlen(names[i]), &matches);
            for (; sxt_ksym_next(&matches, &index); found++)
                this_one += index == i;
            assert_int_equal(found, same);
            assert_int_equal(this_one, 1);
        }
        assert_int_equal(sxt_ksym_check(&blob.ksym, NULL, NULL), 0);
        sxt_ksym_image_close(&blob);
    }
}

TEST(token_511_is_recovered)
{
    static struct sxt_ksym_image image;
    static char names[512][8];
    static const char *tokens[513];
    struct sxt_ksym_blob blob;
    for (size_t i = 0; i < 512; i++) {
        snprintf(names[i], sizeof names[i], "tok%03zu_", i);
        tokens[i] = names[i];
    }
    tokens[512] = NULL;
    const struct sxt_ksym_image_symbol symbols[] = {{0x1000, "tok511_last", "\xff\x01\xff\xfflast"},
                                                    {0x2000, "tok001_first",
                                                     "\xff\x01\xff"
                                                     "first"},
                                                    {0x3000, "tok510_x", "\xff\x01\xfe\xffx"},
                                                    {0x4000, "tok255_y", "\xff\xff\xffy"}};
    sxt_ksym_image_make(&image, symbols, 4, tokens, false);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
    for (size_t i = 0; i < 4; i++)
        assert_lookup(&blob.ksym, symbols[i].address, symbols[i].name, 0x1000, 0);
    sxt_ksym_assert_found(&blob.ksym, "tok511_last", "1000");
    assert_int_equal(sxt_ksym_check(&blob.ksym, NULL, NULL), 1);
    sxt_ksym_image_close(&blob);

    /* With 511 tokens there is no such token, and the byte FF belongs to the name. */
    tokens[511] = NULL;
    sxt_ksym_image_make(&image, symbols, 4, tokens, false);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
    assert_lookup(&blob.ksym, 0x1000, "tok001_\xfflast", 0x1000, 0);
    sxt_ksym_image_close(&blob);
}

TEST(odd_records_are_read)
{
    static struct sxt_ksym_image image;
    struct sxt_ksym_blob blob;
    const char *const tokens[] = {"", "tok", NULL};
    const struct sxt_ksym_image_symbol symbols[] = {{0x1000, "", NULL},
                                                    {0x2000, "gone", "\xff\x09\xffgone"},
                                                    {0x3000, "\xff\x01", NULL},
                                                    {0x4000, "\xff\x01qq", NULL}};
    sxt_ksym_image_make(&image, symbols, 4, tokens, false);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_lookup(&blob.ksym, symbols[i].address, symbols[i].name, 0x1000, 0);
        char expected[8];
        snprintf(expected, sizeof expected, "%zx000", i + 1);
        sxt_ksym_assert_found(&blob.ksym, symbols[i].name, expected);
    }
    assert_problems(&blob.ksym, 4, "empty-name token marker marker unused-token unused-token ");
    sxt_ksym_image_close(&blob);
}

TEST(a_wrong_order_of_names_is_a_problem)
{
    uint8_t bytes[sizeof sxt_ksym_example];
    struct sxt_ksym_blob blob;
    memcpy(bytes, sxt_ksym_example, sizeof bytes);
    bytes[0x2c] = 2;
    bytes[0x30] = 0;
    sxt_ksym_image_open(&blob, bytes, sizeof bytes, 0, 0);
    assert_problems(&blob.ksym, 1, "name-order unused-token unused-token ");
    sxt_ksym_image_close(&blob);
    bytes[0x2c] = 0;
    bytes[0x30] = 0;
    sxt_ksym_image_open(&blob, bytes, sizeof bytes, 0, 0);
    assert_problems(&blob.ksym, 1, "name-index unused-token unused-token ");
    sxt_ksym_image_close(&blob);
}

TEST(text_is_cut_between_characters)
{
    static struct sxt_ksym_image image;
    struct sxt_ksym_blob blob;
    char buffer[64];
    const struct sxt_ksym_image_symbol symbol = {0x1000, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 [mod]", NULL};
    const char *const whole = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    const size_t sizes[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    sxt_ksym_image_make(&image, &symbol, 1, NULL, false);
    sxt_ksym_image_open(&blob, image.bytes, image.size, 0, 0);
    for (size_t capacity = 1; capacity <= 11; capacity++) {
        sxt_ksym_symbol found;
        char *exact = malloc(capacity);
        assert_non_null(exact);
        assert_true(sxt_ksym_lookup(&blob.ksym, 0x1000, exact, capacity, &found));
        assert_int_equal(found.name_size, 10);
        assert_int_equal(found.module_size, 3);
        assert_int_equal(strlen(exact), sizes[capacity - 1]);
        assert_memory_equal(exact, whole, strlen(exact));
        free(exact);
    }
    assert_int_equal(sxt_ksym_format(&blob.ksym, 0x1010, buffer, sizeof buffer), 28);
    assert_string_equal(buffer, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80+0x10/0x1000 [mod]");
    for (size_t capacity = 1; capacity <= 30; capacity++) {
        char *exact = malloc(capacity);
        assert_non_null(exact);
        assert_int_equal(sxt_ksym_format(&blob.ksym, 0x1010, exact, capacity), 28);
        assert_true(strlen(exact) < capacity);
        if (capacity >= 20)
            assert_string_equal(exact + strlen(exact) - 18, "+0x10/0x1000 [mod]");
        free(exact);
    }
    assert_int_equal(sxt_ksym_format(&blob.ksym, 0xabc, NULL, 0), 5);
    sxt_ksym_format(&blob.ksym, 0xabc, buffer, sizeof buffer);
    assert_string_equal(buffer, "0xabc");
    sxt_ksym_image_close(&blob);
}

TEST(a_return_address_belongs_to_the_call)
{
    struct sxt_ksym_blob blob;
    char buffer[64];
    sxt_ksym_image_open(&blob, sxt_ksym_example, sizeof sxt_ksym_example, 0x1000, 0x1300);
    sxt_ksym_format(&blob.ksym, 0x1100, buffer, sizeof buffer);
    assert_string_equal(buffer, "do_fork+0x0/0x100");
    sxt_ksym_format_return(&blob.ksym, 0x1100, buffer, sizeof buffer);
    assert_string_equal(buffer, "_start+0x100/0x100");
    sxt_ksym_format_return(&blob.ksym, 0x1000, buffer, sizeof buffer);
    assert_string_equal(buffer, "0x1000");
    sxt_ksym_image_close(&blob);
}
