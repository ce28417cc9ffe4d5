/* test_size_names.c: short names and namespaces by the rule; web/tests/names.test.ts has the same cases. */
#include <string.h>

#include "base/string.h"
#include "report/size_labels.h"
#include "support/test.h"

static struct sxt_page_name_room room;

SET_UP()
{
    sxt_buffer_init(&room.first, SIZE_MAX);
    sxt_buffer_init(&room.second, SIZE_MAX);
    sxt_buffer_init(&room.out, SIZE_MAX);
}

TEAR_DOWN()
{
    sxt_buffer_free(&room.first);
    sxt_buffer_free(&room.second);
    sxt_buffer_free(&room.out);
}

static void assert_names(const char *stored, const char *short_name, const char *namespace)
{
    sxt_string found = sxt_page_short_name(sxt_string_of(stored), &room);
    assert_int_equal(found.size, strlen(short_name));
    assert_memory_equal(found.data != NULL ? found.data : "", short_name, found.size);
    sxt_string inside = sxt_page_namespace(found);
    assert_int_equal(inside.size, strlen(namespace));
    assert_memory_equal(found.data != NULL ? found.data : "", namespace, inside.size);
}

TEST(leaves_out_parameters_and_template_arguments)
{
    assert_names("main", "main", "");
    assert_names("a::b(int)", "a::b", "a");
    assert_names("a::T<int, b::U<c>>::f(d<e>)", "a::T<>::f", "a::T<>");
    assert_names("a::f(int) const", "a::f const", "a");
    assert_names("open<", "open<", "");
    assert_names("", "", "");
}

TEST(leaves_out_return_types_and_tags)
{
    assert_names("void a::f<int>(int)", "a::f<>", "a");
    assert_names("a::g[abi:cxx11](int)", "a::g", "a");
    assert_names("(anonymous namespace)::helper()", "helper", "");
    assert_names("a::(anonymous namespace)::helper(int)", "a::helper", "a");
}

TEST(puts_prefixes_last)
{
    assert_names("vtable for a::B", "a::B [vtable]", "a");
    assert_names("guard variable for a::b()::c", "a::b::c [guard variable]", "a::b");
}

TEST(knows_operators)
{
    assert_names("a::operator<<(b&, int)", "a::operator<<", "a");
    assert_names("a::B::operator()(int) const", "a::B::operator() const", "a::B");
    assert_names("a::operator<(b)", "a::operator<", "a");
    assert_names("a::operator<=>(b)", "a::operator<=>", "a");
}
