/* test_symbols.c: filling the model, its public view, and which of several symbols at one address comes first. */
#include <string.h>

#include "support/model.h"
#include "support/test.h"

/* A symbol of any kind. */
static void add_symbol(struct sxt_symbols *model, const char *name, uint64_t address, uint64_t size, const char *kind,
                       uint8_t source)
{
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = address,
                                                             .size = size,
                                                             .name = sxt_test_string(model, name),
                                                             .type = kind[0],
                                                             .binding = kind[1],
                                                             .source = source});
}

/* The names of all symbols of a finished model, in order. */
static void assert_symbols(const struct sxt_symbols *model, const char *const *names, size_t count)
{
    assert_int_equal(sxt_symbols_symbol_count(model), count);
    for (size_t i = 0; i < count; i++) {
        sxt_symbol symbol;
        assert_int_equal(sxt_symbols_symbol(model, i, &symbol), SXT_OK);
        sxt_test_assert_text(symbol.name, names[i]);
    }
}

#define ASSERT_SYMBOLS(model, ...)                                                                                     \
    assert_symbols(model, (const char *const[]){__VA_ARGS__},                                                          \
                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

TEST(an_empty_model_has_nothing)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_finish(model);
    sxt_symbol symbol;
    sxt_range range;
    sxt_line line;
    assert_int_equal(sxt_symbols_symbol_count(model), 0);
    assert_int_equal(sxt_symbols_range_count(model), 0);
    assert_int_equal(sxt_symbols_symbol(model, 0, &symbol), SXT_ERROR_USAGE);
    assert_int_equal(sxt_symbols_range(model, 0, &range), SXT_ERROR_USAGE);
    assert_int_equal(sxt_symbols_line(model, 0, 0, &line), SXT_ERROR_USAGE);
    assert_int_equal(model->sources, 0);
    sxt_symbols_free(&model);
    assert_null(model);
    sxt_symbols_free(&model);
}

TEST(a_string_has_one_number_and_an_empty_one_has_number_zero)
{
    struct sxt_symbols *model = sxt_test_model();
    uint32_t first = sxt_symbols_string(model, "main", 4);
    assert_int_not_equal(first, 0);
    assert_int_equal(sxt_symbols_string(model, "maintenance", 4), first);
    assert_int_equal(sxt_symbols_string(model, "", 0), 0);
    assert_int_equal(sxt_symbols_string(model, NULL, 0), 0);
    assert_false(model->failed);
    sxt_symbols_free(&model);
}

TEST(a_line_belongs_to_the_range_that_was_added_last)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_line(model, 0, "nowhere.c", 1);
    assert_int_equal(model->line_count, 0);
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, "f", 0x10, 8);
    sxt_test_add_line(model, 0, "f.c", 1);
    sxt_test_add_line(model, 4, "f.c", 2);
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, "g", 0x20, 8);
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, "h", 0x30, 8);
    sxt_test_add_line(model, 0, "h.c", 9);
    sxt_test_finish(model);
    sxt_test_assert_model(model, "f@10-18{0:f.c:1 4:f.c:2} g@20-28 h@30-38{0:h.c:9}");
    sxt_symbols_free(&model);
}

TEST(what_a_source_claims_about_line_numbers_of_a_range_is_not_believed)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_symbols_add_range(model, &(struct sxt_model_range){.length = 4,
                                                           .function = sxt_test_string(model, "f"),
                                                           .first_line = 1000,
                                                           .line_count = 1000,
                                                           .source = SXT_SOURCE_DWARF});
    sxt_test_finish(model);
    sxt_test_assert_model(model, "f@0-4");
    sxt_symbols_free(&model);
}

TEST(the_public_view_shows_everything_and_unknown_strings_as_absent)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = 0x500,
                                                             .size = 8,
                                                             .name = sxt_test_string(model, "table"),
                                                             .section = sxt_test_string(model, ".data"),
                                                             .module = sxt_test_string(model, "ext4"),
                                                             .type = 'O',
                                                             .binding = 'W',
                                                             .source = SXT_SOURCE_DYNSYM});
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, "f", 0x10, 0x20);
    sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "g", 0x18, 8, "g.h", "f.c", 77);
    sxt_symbols_add_line(
        model, &(struct sxt_model_line){
                   .offset = 2, .file = sxt_test_string(model, "g.h"), .line = 5, .column = 9, .discriminator = 3});
    sxt_symbols_add_line(model, &(struct sxt_model_line){.offset = 4, .line = 0});
    sxt_test_finish(model);

    sxt_symbol symbol;
    assert_int_equal(sxt_symbols_symbol(model, 0, &symbol), SXT_OK);
    assert_true(symbol.address == 0x500 && symbol.size == 8 && symbol.type == 'O' && symbol.binding == 'W');
    assert_int_equal(symbol.source, SXT_SOURCE_DYNSYM);
    sxt_test_assert_text(symbol.section, ".data");
    sxt_test_assert_text(symbol.module, "ext4");

    sxt_range range;
    assert_int_equal(sxt_symbols_range_count(model), 2);
    assert_int_equal(sxt_symbols_range(model, 0, &range), SXT_OK);
    sxt_test_assert_text(range.function, "f");
    sxt_test_assert_text(range.file, NULL);
    sxt_test_assert_text(range.call_file, NULL);
    assert_int_equal(sxt_symbols_range(model, 1, &range), SXT_OK);
    assert_true(range.address == 0x18 && range.length == 8 && range.depth == 1 && range.call_line == 77);
    assert_true(range.line_count == 2 && range.source == SXT_SOURCE_DWARF);
    sxt_test_assert_text(range.file, "g.h");
    sxt_test_assert_text(range.call_file, "f.c");

    sxt_line line;
    assert_int_equal(sxt_symbols_line(model, 1, 0, &line), SXT_OK);
    assert_true(line.offset == 2 && line.line == 5 && line.column == 9 && line.discriminator == 3);
    sxt_test_assert_text(line.file, "g.h");
    assert_int_equal(sxt_symbols_line(model, 1, 1, &line), SXT_OK);
    sxt_test_assert_text(line.file, NULL);
    assert_int_equal(sxt_symbols_line(model, 1, 2, &line), SXT_ERROR_USAGE);
    assert_int_equal(sxt_symbols_line(model, 0, 0, &line), SXT_ERROR_USAGE);
    assert_int_equal(sxt_symbols_line(model, 2, 0, &line), SXT_ERROR_USAGE);
    assert_int_equal(sxt_symbols_line(model, SIZE_MAX, 0, &line), SXT_ERROR_USAGE);
    assert_int_equal(model->sources, SXT_SOURCE_DYNSYM | SXT_SOURCE_DWARF);
    sxt_symbols_free(&model);
}

TEST(symbols_are_ordered_by_address_and_data_stays_among_them)
{
    struct sxt_symbols *model = sxt_test_model();
    add_symbol(model, "last", UINT64_MAX, 0, "OG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "third", 0x100000000, 4, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "first", 0, 4, "NL", SXT_SOURCE_SYMTAB);
    add_symbol(model, "second", 0xffffffff, 4, "OG", SXT_SOURCE_SYMTAB);
    sxt_test_finish(model);
    ASSERT_SYMBOLS(model, "first", "second", "third", "last");
    sxt_test_assert_model(model, "third@100000000-100000004");
    sxt_symbols_free(&model);
}

TEST(many_symbols_keep_their_order_through_the_radix_sort)
{
    struct sxt_symbols *model = sxt_test_model();
    for (unsigned i = 0; i < 3000; i++) {
        char name[] = {'n', (char)('a' + i / 100 % 26), (char)('a' + i % 26), (char)('a' + i / 26 % 26), 0};
        add_symbol(model, name, 0x1000 + 16 * (i % 7), 16, "FL", SXT_SOURCE_SYMTAB);
    }
    sxt_test_finish(model);
    uint64_t before = 0;
    for (size_t i = 0; i < model->symbol_count; i++) {
        assert_true(model->symbols[i].address >= before);
        /* Strings are numbered in order of first use, which is here the order of adding. */
        if (model->symbols[i].address == before)
            assert_true(model->symbols[i].name > model->symbols[i - 1].name);
        before = model->symbols[i].address;
    }
    sxt_symbols_free(&model);
}

TEST(among_aliases_a_sized_symbol_comes_before_a_zero_size_one)
{
    struct sxt_symbols *model = sxt_test_model();
    add_symbol(model, "zero_global", 0x10, 0, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "sized_local", 0x10, 4, "FL", SXT_SOURCE_SYMTAB);
    sxt_test_finish(model);
    ASSERT_SYMBOLS(model, "sized_local", "zero_global");
    sxt_test_assert_model(model, "sized_local@10-14");
    sxt_symbols_free(&model);
}

TEST(among_aliases_global_and_unique_come_before_weak_before_local)
{
    struct sxt_symbols *model = sxt_test_model();
    add_symbol(model, "local", 0x10, 4, "FL", SXT_SOURCE_SYMTAB);
    add_symbol(model, "weak", 0x10, 4, "FW", SXT_SOURCE_SYMTAB);
    add_symbol(model, "unique", 0x10, 4, "FU", SXT_SOURCE_SYMTAB);
    add_symbol(model, "global", 0x10, 4, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "zero_local", 0x10, 0, "FL", SXT_SOURCE_SYMTAB);
    add_symbol(model, "zero_weak", 0x10, 0, "FW", SXT_SOURCE_SYMTAB);
    sxt_test_finish(model);
    ASSERT_SYMBOLS(model, "unique", "global", "weak", "local", "zero_weak", "zero_local");
    sxt_test_assert_model(model, "unique@10-14");
    sxt_symbols_free(&model);
}

TEST(among_equal_aliases_the_first_added_wins_not_the_largest)
{
    struct sxt_symbols *model = sxt_test_model();
    add_symbol(model, "short_first", 0x10, 4, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "long_second", 0x10, 8, "FG", SXT_SOURCE_SYMTAB);
    sxt_test_finish(model);
    ASSERT_SYMBOLS(model, "short_first", "long_second");
    sxt_test_assert_model(model, "short_first@10-14 long_second@14-18");
    sxt_symbols_free(&model);
}

TEST(a_symbol_of_both_tables_is_kept_once)
{
    struct sxt_symbols *model = sxt_test_model();
    add_symbol(model, "f", 0x10, 4, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "g", 0x10, 4, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "f", 0x20, 4, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "f", 0x10, 4, "FG", SXT_SOURCE_DYNSYM);
    add_symbol(model, "g", 0x10, 4, "FG", SXT_SOURCE_DYNSYM);
    add_symbol(model, "g", 0x20, 4, "FG", SXT_SOURCE_DYNSYM);
    sxt_test_finish(model);
    ASSERT_SYMBOLS(model, "f", "g", "f", "g");
    assert_int_equal(model->symbols[0].source, SXT_SOURCE_SYMTAB);
    sxt_symbols_free(&model);
}

TEST(of_doubles_the_one_stays_that_the_alias_rule_puts_first)
{
    struct sxt_symbols *model = sxt_test_model();
    add_symbol(model, "f", 0x10, 0, "FL", SXT_SOURCE_SYMTAB);
    add_symbol(model, "f", 0x10, 4, "FW", SXT_SOURCE_DYNSYM);
    sxt_test_finish(model);
    ASSERT_SYMBOLS(model, "f");
    assert_int_equal(model->symbols[0].binding, 'W');
    sxt_test_assert_model(model, "f@10-14");
    sxt_symbols_free(&model);
}

TEST(symbols_of_one_name_but_another_type_or_module_are_no_doubles)
{
    struct sxt_symbols *model = sxt_test_model();
    add_symbol(model, "f", 0x10, 4, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "f", 0x10, 4, "OG", SXT_SOURCE_SYMTAB);
    struct sxt_model_symbol in_module = model->symbols[0];
    in_module.module = sxt_test_string(model, "ext4");
    sxt_symbols_add_symbol(model, &in_module);
    sxt_test_finish(model);
    ASSERT_SYMBOLS(model, "f", "f", "f");
    sxt_symbols_free(&model);
}

TEST(doubles_are_found_after_a_symbol_of_the_same_name_and_another_type)
{
    struct sxt_symbols *model = sxt_test_model();
    add_symbol(model, "f", 0x10, 4, "FG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "f", 0x10, 4, "OG", SXT_SOURCE_SYMTAB);
    add_symbol(model, "f", 0x10, 4, "FG", SXT_SOURCE_DYNSYM);
    add_symbol(model, "f", 0x10, 4, "OG", SXT_SOURCE_DYNSYM);
    sxt_test_finish(model);
    ASSERT_SYMBOLS(model, "f", "f");
    sxt_symbols_free(&model);
}

TEST(rows_for_the_reference_writer_stay_as_they_were_added)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, "late", 0x20, 0);
    sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, "early", 0x10, 0x40);
    sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, "early", 0x10, 0x40);
    assert_int_equal(sxt_symbols_finish_raw(model, NULL), SXT_OK);
    assert_true(model->reference);
    sxt_test_assert_model(model, "late@20-20 early@10-50 early@10-50");
    sxt_symbols_free(&model);
}

TEST(a_failure_to_add_is_reported_at_the_end)
{
    struct sxt_symbols *model = sxt_test_model();
    model->failed = true;
    sxt_error error = {0};
    assert_int_equal(sxt_symbols_finish(model, &error), SXT_ERROR_MEMORY);
    assert_int_equal(error.code, SXT_ERROR_MEMORY);
    assert_int_equal(sxt_symbols_finish(model, NULL), SXT_ERROR_MEMORY);
    assert_int_equal(sxt_symbols_finish_raw(model, &error), SXT_ERROR_MEMORY);
    sxt_symbols_free(&model);
}
