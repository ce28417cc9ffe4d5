/* test_budget.c: what rows may repeat: enough for every good file, and not gigabytes. */
#include <string.h>

#include "lidia/written_file.h"

/* Reads all rows. Returns how many were read before the budget was used up. */
static uint64_t use_rows(struct sxt_lidia *lidia, sxt_error *error)
{
    if (sxt_lidia_open(lidia, file, file_size, false, error) != SXT_OK)
        fail_msg("%s", error->text);
    struct sxt_lidia_budget budget = sxt_lidia_budget(lidia);
    for (uint64_t i = 0; i < lidia->count; i++) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, i, &row);
        if (sxt_lidia_budget_use(&budget, lidia, i, &row, error) != SXT_OK)
            return i;
    }
    return lidia->count;
}

/* COUNT functions, all of one name. */
static void write_rows(size_t count, size_t name_size)
{
    char *name = malloc(name_size + 1);
    assert_non_null(name);
    memset(name, 'n', name_size);
    name[name_size] = 0;
    for (size_t i = 0; i < count; i++) {
        sxt_test_add_range(model, DWARF, 0, name, 0x1000 + i * 0x20, 0x10);
        sxt_symbols_add_line(model, &(struct sxt_model_line){.offset = 0, .line = 1});
    }
    free(name);
    sxt_test_finish(model);
    encode((struct sxt_lidia_settings){.no_index = true});
}

TEST(a_long_name_of_a_thousand_functions_is_allowed)
{
    struct sxt_lidia lidia;
    sxt_error error;
    write_rows(1000, 10000);
    assert_int_equal(use_rows(&lidia, &error), 1000);
}

TEST(a_very_long_name_of_a_thousand_functions_is_refused)
{
    struct sxt_lidia lidia;
    sxt_error error;
    write_rows(1000, 100000);
    uint64_t row = use_rows(&lidia, &error);
    assert_in_range(row, 100, 500);
    assert_int_equal(error.code, SXT_ERROR_LIMIT);
    assert_int_equal(error.offset, (uint64_t)(lidia.rows - lidia.data) + row * 32 + 8);
    assert_non_null(strstr(error.text, "share long strings"));
}
