/* test_entry_names.c: functions of DWARF take the names of the symbols where their code begins. */
#include <stdio.h>

#include "empty_model.h"
#include "support/model.h"
#include "support/test.h"

static void function(const char *name, uint64_t start, uint64_t end, unsigned flags)
{
    sxt_symbols_add_range(model, &(struct sxt_model_range){.address = start,
                                                           .length = end - start,
                                                           .function = sxt_test_string(model, name),
                                                           .source = DWARF,
                                                           .flags = (uint8_t)flags});
}

static void plain(const char *name, uint64_t start, uint64_t end)
{
    function(name, start, end, SXT_RANGE_ENTRY);
}

static void linked(const char *name, uint64_t start, uint64_t end)
{
    function(name, start, end, SXT_RANGE_ENTRY | SXT_RANGE_LINKAGE_NAME);
}

static void symbol(const char *name, uint64_t start, uint64_t end)
{
    sxt_test_add_function(model, name, start, end - start, 'L');
}

TEST(a_function_without_a_linkage_name_takes_the_symbol_at_its_entry)
{
    plain("(anonymous struct)::operator()", 0, 8);
    plain("(anonymous struct)::operator()", 8, 16);
    symbol("_ZZ4mainENKUlvE_clEv", 0, 8);
    symbol("_ZZ4mainENKUlvE0_clEv", 8, 16);
    expect("_ZZ4mainENKUlvE_clEv@0-8 _ZZ4mainENKUlvE0_clEv@8-10");
}

TEST(without_a_symbol_it_keeps_the_name_of_dwarf)
{
    plain("ns::f", 0, 8);
    symbol("near", 4, 8);
    symbol("after", 8, 12);
    expect("ns::f@0-8 after@8-c");
}

TEST(a_linkage_name_wins_over_other_symbols)
{
    linked("_Z1fv", 0, 8);
    symbol("alias", 0, 8);
    expect("_Z1fv@0-8");
}

TEST(a_clone_or_part_takes_the_symbol_with_the_suffix)
{
    linked("_Z1fv", 0, 8);
    linked("_Z1fv", 8, 16);
    plain("g", 16, 24);
    symbol("_Z1fv", 0, 8);
    symbol("_Z1fv.constprop.0", 8, 16);
    symbol("other", 16, 24);
    symbol("g.part.0", 16, 24);
    expect("_Z1fv@0-8 _Z1fv.constprop.0@8-10 g.part.0@10-18");
}

TEST(a_suffix_begins_with_a_dot_and_is_not_empty)
{
    linked("_Z1fv", 0, 8);
    linked("_Z1gv", 8, 16);
    symbol("_Z1fvx", 0, 8);
    symbol("_Z1gv.", 8, 16);
    expect("_Z1fv@0-8 _Z1gv@8-10");
}

TEST(a_symbol_of_the_same_name_wins_over_one_with_a_suffix)
{
    plain("f", 0, 8);
    symbol("f.localalias", 0, 8);
    sxt_test_add_function(model, "f", 0, 8, 'W');
    expect("f@0-8");
}

TEST(versions_do_not_count)
{
    plain("f", 0, 8);
    plain("ns::g", 8, 16);
    symbol("f@@V1", 0, 8);
    symbol("_ZN2ns1gEv@V1", 8, 16);
    expect("f@0-8 _ZN2ns1gEv@8-10");
}

TEST(calling_conventions_of_go_do_not_count)
{
    plain("runtime.goexit", 0, 8);
    plain("main.main", 8, 16);
    plain("f", 16, 24);
    symbol("runtime.goexit.abi0", 0, 8);
    symbol("main.main.abiinternal", 8, 16);
    symbol("f.abi0.cold", 16, 24);
    expect("runtime.goexit@0-8 main.main@8-10 f.abi0.cold@10-18");
}

TEST(of_several_symbols_one_that_mentions_the_name_wins)
{
    plain("ns::Box<a::b>::get<int>", 0, 8);
    sxt_test_add_function(model, "exported", 0, 8, 'G');
    sxt_test_add_function(model, "_ZN2ns3BoxI13getE", 0, 8, 'G');
    symbol("_ZN2ns3BoxIN1a1bEE3getIiEEvv", 0, 8);
    expect("_ZN2ns3BoxIN1a1bEE3getIiEEvv@0-8");
}

TEST(of_several_symbols_that_do_not_the_alias_rule_picks_one)
{
    plain("operator()", 0, 8);
    symbol("_ZL1av", 0, 8);
    sxt_test_add_function(model, "_Z1bv", 0, 8, 'G');
    sxt_test_add_function(model, "unsized", 0, 0, 'G');
    expect("_Z1bv@0-8");
}

TEST(only_functions_give_names)
{
    plain("f", 0, 8);
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = 0,
                                                             .size = 8,
                                                             .name = sxt_test_string(model, "data"),
                                                             .type = 'O',
                                                             .binding = 'G',
                                                             .source = SXT_SOURCE_SYMTAB});
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = 0,
                                                             .name = sxt_test_string(model, "label"),
                                                             .type = 'N',
                                                             .binding = 'G',
                                                             .source = SXT_SOURCE_SYMTAB});
    expect("f@0-8");
}

TEST(a_part_without_a_symbol_takes_the_name_of_the_entry)
{
    function("operator()", 0, 4, 0);
    sxt_test_add_range(model, DWARF, 1, "inlined", 0, 2);
    function("operator()", 16, 24, SXT_RANGE_PART | SXT_RANGE_ENTRY);
    function("operator()", 32, 40, SXT_RANGE_PART);
    plain("operator()", 48, 56);
    symbol("_ZZ1fvENKUlvE_clEv", 16, 24);
    symbol("_ZZ1fvENKUlvE_clEv.cold", 32, 40);
    expect("_ZZ1fvENKUlvE_clEv@0-4 >inlined@0-2 _ZZ1fvENKUlvE_clEv@10-18 _ZZ1fvENKUlvE_clEv.cold@20-28 "
           "operator()@30-38");
}

TEST(inlined_calls_keep_their_names)
{
    plain("f", 0, 8);
    sxt_test_add_range(model, DWARF, 1, "operator()", 0, 4);
    symbol("_Z1fv", 0, 8);
    expect("_Z1fv@0-8 >operator()@0-4");
}

TEST(thousands_of_symbols_at_one_address_take_no_time)
{
    for (unsigned i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof name, "_Z6folded%uv", i);
        linked(name, 0, 8);
        symbol(name, 0, 8);
    }
    expect("_Z6folded0v@0-8");
}
