/* test_match_name.c: what a user may leave out of a readable name. */
#include "archive/match_name.h"
#include "base/string.h"
#include "support/test.h"

static void fits(const char *name, const char *wanted)
{
    if (sxt_match_name(sxt_string_of(name), sxt_string_of(wanted)) != SXT_NAME_FITS)
        fail_msg("'%s' is not found as '%s'", name, wanted);
}

static void clone_of(const char *name, const char *wanted)
{
    if (sxt_match_name(sxt_string_of(name), sxt_string_of(wanted)) != SXT_NAME_CLONE)
        fail_msg("'%s' is not a clone of '%s'", name, wanted);
}

static void differs(const char *name, const char *wanted)
{
    if (sxt_match_name(sxt_string_of(name), sxt_string_of(wanted)) != SXT_NAME_DIFFERS)
        fail_msg("'%s' is found as '%s'", name, wanted);
}

TEST(the_name_itself_fits)
{
    fits("main", "main");
    fits("ns::f(int)", "ns::f(int)");
    fits("", "");
}

TEST(another_name_differs)
{
    differs("main", "mai");
    differs("main", "main2");
    differs("ns::f(int)", "f");
    differs("ns::f(int)", "ns");
    differs("ns::f(int)", "ns::f(double)");
    differs("ns::ff(int)", "ns::f");
    differs("xns::f(int)", "ns::f");
    differs("ns::f(int)", "");
    differs("f", "ns::f");
}

TEST(parameters_may_be_left_out)
{
    fits("ns::f(int)", "ns::f");
    fits("ns::f(int) const", "ns::f");
    fits("f(void (*)(int))", "f");
    fits("f[abi:cxx11](int)", "f");
    fits("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
    fits("A::~A()", "A::~A");
    fits("A::operator()(int) const", "A::operator()");
    fits("A::operator int() const", "A::operator int");
    fits("operator new(unsigned long)", "operator new");
}

TEST(a_return_type_may_be_left_out)
{
    fits("int ns::t<int>(int)", "ns::t<int>");
    fits("int* ns::t<int>(int)", "ns::t<int>");
    fits("std::vector<a, b<c> > ns::t<int>(int)", "ns::t");
    fits("int ns::t<int>(int)", "int ns::t<int>");
    differs("int ns::t<int>(int)", "int");
    differs("std::vector<int> ns::t<int>(int)", "std::vector");
}

TEST(template_arguments_may_be_left_out_one_by_one)
{
    fits("void ns::Box<std::pair<int, int> >::get<char>(char)", "ns::Box::get");
    fits("void ns::Box<std::pair<int, int> >::get<char>(char)", "ns::Box::get<char>");
    fits("void ns::Box<int>::get<char>(char)", "ns::Box<int>::get");
    differs("void ns::Box<int>::get<char>(char)", "ns::Box<char>::get");
    differs("void ns::Box<int>::get<char>(char)", "ns::Box");
}

TEST(names_inside_of_parameters_and_arguments_are_other_names)
{
    differs("f(ns::g(int))", "ns::g");
    differs("f<int, g>(int)", "g");
    differs("f(int, g)", "g");
}

TEST(operators_are_whole)
{
    fits("ns::operator<(A const&, B const&)", "ns::operator<");
    fits("ns::operator<<(A const&, B const&)", "ns::operator<<");
    fits("bool ns::operator<< <int>(A<int> const&)", "ns::operator<< <int>");
    fits("A::operator->() const", "A::operator->");
    differs("A::operator()(int)", "A::operator");
}

TEST(parameters_of_functions_around_may_be_left_out)
{
    fits("outer(int)::Local::far() const", "outer::Local::far");
    fits("outer(int)::Local::far() const", "outer(int)::Local::far");
    fits("A::f() const::{lambda(int)#1}::operator()(int) const", "A::f::{lambda(int)#1}::operator()");
    differs("outer(int)::Local::far() const", "outer");
}

TEST(clones_fit_less_and_cold_parts_do_not)
{
    differs("f.cold", "f");
    differs("f.constprop.0.cold", "f");
    differs("f() [clone .cold]", "f()");
    clone_of("f.constprop.0", "f");
    clone_of("ns::f(int) [clone .isra.0]", "ns::f");
    clone_of("int ns::t<int>(int) [clone .constprop.0]", "ns::t");
    differs("int ns::t<int>(int) [clone .constprop.0] [clone .cold]", "ns::t");
    fits("ns::f(int) [clone .isra.0]", "ns::f(int) [clone .isra.0]");
}

TEST(names_that_are_not_balanced_end)
{
    differs("f<int", "g");
    differs("f<<<<<", "f<<<<");
    differs("a)))>>>b", "b");
    fits("f((((", "f");
    differs("<", "x");
}
