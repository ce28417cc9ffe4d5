/* test_aliases.c: several names for one function, several functions at one address, and the calls that tell. */
#include <stdio.h>
#include <string.h>

#include "empty_model.h"
#include "support/model.h"
#include "support/test.h"
#include "symbols/aliases.h"

static void function(const char *name, uint64_t start, char binding)
{
    sxt_test_add_function(model, name, start, 8, binding);
}

static void call(uint64_t return_address, const char *name)
{
    sxt_symbols_add_call(model, return_address, sxt_test_string(model, name));
}

/* "ADDRESS name..." of each group, with ! after an ambiguous address; then the calls. */
static void expect_aliases(const char *expected)
{
    char text[512] = "";
    size_t size = 0;
    sxt_test_finish(model);
    for (size_t i = 0; i < model->alias_count; i++) {
        const struct sxt_model_alias *alias = &model->aliases[i];
        if (i == 0 || alias[-1].address != alias->address)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%llx%s", i > 0 ? "; " : "",
                                     (unsigned long long)alias->address, alias->ambiguous ? "!" : "");
        size += (size_t)snprintf(text + size, sizeof text - size, " %s", sxt_symbols_view(model, alias->name).data);
    }
    for (size_t i = 0; i < model->call_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, " | %llx %s",
                                 (unsigned long long)model->calls[i].return_address,
                                 sxt_symbols_view(model, model->calls[i].function).data);
    assert_string_equal(text, expected);
}

TEST(a_function_with_one_name_has_no_aliases)
{
    function("f", 0, 'G');
    function("g", 16, 'G');
    expect_aliases("");
}

TEST(several_names_are_kept_and_without_folding_they_are_of_one_function)
{
    function("f", 0, 'G');
    function("other", 0, 'G');
    call(0x40, "other");
    expect_aliases("0 f other");
}

/* A string's number depends on the thread that adds it first. */
TEST(the_order_of_names_does_not_depend_on_their_numbers)
{
    (void)sxt_test_string(model, "z");
    (void)sxt_test_string(model, "m");
    function("a", 0, 'L');
    function("m", 0, 'G');
    function("z", 0, 'W');
    function("a", 0, 'G');
    expect_aliases("0 a m z");
}

TEST(a_linker_that_folds_makes_them_ambiguous)
{
    model->may_be_folded = true;
    function("f", 0, 'G');
    function("other", 0, 'L');
    function("g", 32, 'G');
    call(0x48, "f");
    call(0x40, "other");
    call(0x44, "g");
    expect_aliases("0! f other | 40 other | 48 f");
}

TEST(weak_names_and_variants_of_constructors_are_not_functions_of_their_own)
{
    model->may_be_folded = true;
    function("malloc", 0, 'G');
    function("weak_malloc", 0, 'W');
    function("_ZN1AC1Ev", 16, 'W');
    function("_ZN1AC2Ev", 16, 'W');
    function("_ZN1AD0Ev", 32, 'W');
    function("_ZN1AD2Ev", 32, 'W');
    expect_aliases("0 malloc weak_malloc; 10 _ZN1AC1Ev _ZN1AC2Ev; 20 _ZN1AD0Ev _ZN1AD2Ev");
}

TEST(variants_differ_in_nothing_else)
{
    assert_true(sxt_names_are_variants((sxt_string){"_ZN1AC1Ev", 9}, (sxt_string){"_ZN1AC2Ev", 9}));
    assert_false(sxt_names_are_variants((sxt_string){"_ZN1AC1Ev", 9}, (sxt_string){"_ZN1AC1Ev", 9}));
    assert_false(sxt_names_are_variants((sxt_string){"_ZN1AC1Ev", 9}, (sxt_string){"_ZN1BC2Ev", 9}));
    assert_false(sxt_names_are_variants((sxt_string){"_ZN1AC1Ev", 9}, (sxt_string){"_ZN1AD1Ev", 9}));
    assert_false(sxt_names_are_variants((sxt_string){"_ZN1a1Ev", 8}, (sxt_string){"_ZN1a2Ev", 8}));
    assert_false(sxt_names_are_variants((sxt_string){"fC1", 3}, (sxt_string){"fC2", 3}));
}

static void begin_together(void)
{
    for (unsigned i = 0; i < 2; i++)
        sxt_symbols_add_range(model, &(struct sxt_model_range){.length = 8,
                                                               .function = sxt_test_string(model, i ? "b" : "a"),
                                                               .source = DWARF,
                                                               .flags = SXT_RANGE_ENTRY});
    function("a", 0, 'G');
    call(0x40, "b");
}

TEST(functions_of_dwarf_that_begin_together_were_folded)
{
    begin_together();
    expect_aliases("0! a b | 40 b");
}

TEST(a_linker_that_cannot_fold_leaves_names_of_one_function)
{
    model->cannot_be_folded = true;
    begin_together();
    expect_aliases("0 a b");
}

TEST(a_call_without_parameters_means_the_only_function_of_that_name)
{
    model->may_be_folded = true;
    function("_ZN12_GLOBAL__N_11fEi", 0, 'L');
    function("_ZL1gi", 0, 'L');
    function("_ZL1hi", 0, 'L');
    function("_ZL1hd", 0, 'L');
    call(0x40, "(anonymous namespace)::f");
    call(0x44, "g");
    call(0x48, "h");
    expect_aliases("0! _ZL1gi _ZL1hd _ZL1hi _ZN12_GLOBAL__N_11fEi | 40 _ZN12_GLOBAL__N_11fEi | 44 _ZL1gi");
}
