/* test_append.c: what one model got, at the end of another one, with the same names. */
#include <stdlib.h>
#include <string.h>

#include "support/model.h"
#include "support/test.h"

/* Appends a model with a symbol "g" and a range "h" with a line of "h.c" to one with the strings of BEFORE. */
static void append_to(const char *const *before, size_t count)
{
    struct sxt_symbols *model = sxt_test_model(), *other = sxt_test_model();
    for (size_t i = 0; i < count; i++)
        sxt_test_add_function(model, before[i], i * 16, 8, 'G');
    sxt_test_add_function(other, "g", 0x1000, 8, 'G');
    sxt_test_add_range(other, SXT_SOURCE_DWARF, 0, "h", 0x2000, 8);
    sxt_symbols_add_line(other, &(struct sxt_model_line){.file = sxt_test_string(other, "h.c"), .line = 7});
    sxt_symbols_append(model, other);
    sxt_symbols_free(&other);
    assert_false(model->failed);
    assert_int_equal(model->symbol_count, count + 1);
    assert_int_equal(model->range_count, 1);
    for (size_t i = 0; i < count; i++)
        sxt_test_assert_text(sxt_symbols_view(model, model->symbols[i].name), before[i]);
    sxt_test_assert_text(sxt_symbols_view(model, model->symbols[count].name), "g");
    sxt_test_assert_text(sxt_symbols_view(model, model->ranges[0].function), "h");
    sxt_test_assert_text(sxt_symbols_view(model, model->lines[0].file), "h.c");
    /* The table of strings is whole: names are found and added. */
    assert_int_equal(sxt_test_string(model, "g"), model->symbols[count].name);
    uint32_t number = sxt_test_string(model, "new");
    assert_int_equal(number, model->strings.count - 1);
    sxt_symbols_free(&model);
}

TEST(an_empty_model_takes_everything)
{
    append_to(NULL, 0);
}

TEST(names_of_both_are_kept)
{
    append_to((const char *const[]){"g", "f", "h.c"}, 3);
}
