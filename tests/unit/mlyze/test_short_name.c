/* test_short_name.c: names as people read them. */
#include <stdlib.h>

#include "base/string.h"
#include "mlyze/analysis.h"
#include "support/test.h"

static void check(const char *name, const char *expected)
{
    size_t size = strlen(name);
    char *exact = malloc(size + 1), *out = malloc(size > 0 ? size : 1); /* a checker sees a byte too many */
    assert_non_null(exact);
    assert_non_null(out);
    memcpy(exact, name, size);
    sxt_string found = {out, sxt_trace_shorten_name((sxt_string){exact, size}, out)};
    if (!sxt_string_is(found, expected))
        fail_msg("%s: %.*s, not %s", name, (int)found.size, found.data, expected);
    free(exact);
    free(out);
}

TEST(folds_template_arguments)
{
    check("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)",
          "std::basic_string<>::append(char const*)");
    check("std::__1::vector<int, std::__1::allocator<int>>::push_back(int&&)", "std::vector<>::push_back(int&&)");
    check("foo<(3>2)>::bar()", "foo<>::bar()");
    check("std::function<void (std::vector<int>)>::operator()(int) const", "std::function<>::operator()(int) const");
    check("a<b<c<d> > >::e<f>()::{lambda(g<h>)#1}::operator()(g<h>) const",
          "a<>::e<>()::{lambda(g<>)#1}::operator()(g<>) const");
}

TEST(drops_return_types_and_long_parameters)
{
    check("void f<int>(int)", "f<>(int)");
    check("std::map<int, int>* g<char>(unsigned long, unsigned long, unsigned long)", "g<>(...)");
    check("unsigned long&& std::forward<unsigned long>(unsigned long&)", "std::forward<>(unsigned long&)");
    check("f(int) [clone .cold]", "f(int) [clone .cold]");
    check("(anonymous namespace)::pool::pool()", "(anonymous namespace)::pool::pool()");
}

TEST(knows_operators)
{
    check("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
          "std::operator<< <>(std::ostream&, char const*)");
    check("bool operator< <int>(A<int>, A<int>)", "operator< <>(A<>, A<>)");
    check("A<int> operator+<int>(A<int>, A<int>)", "operator+<>(A<>, A<>)");
    check("A<int>::operator->() const", "A<>::operator->() const");
    check("A<int>::operator>>(int)", "A<>::operator>>(int)");
    check("A::operator<=>(A const&) const", "A::operator<=>(A const&) const");
    check("A<&B::operator< >::f()", "A<>::f()");
    check("Foo::operator bool() const", "Foo::operator bool() const");
    check("operator new(unsigned long)", "operator new(unsigned long)");
    check("my_operator<int>()", "my_operator<>()");
}

TEST(knows_names_of_rust_and_go)
{
    check("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
          "<alloc::vec::Vec<> as core::ops::drop::Drop>::drop");
    check("<alloc::vec::Vec<u8>>::push", "<alloc::vec::Vec<>>::push");
    check("core::mem::swap::<u8>", "core::mem::swap::<>");
    check("core::ptr::<impl core::fmt::Debug for Vec<T>>::fmt", "core::ptr::<impl core::fmt::Debug for Vec<>>::fmt");
    check("main.Map[go.shape.int]", "main.Map[go.shape.int]");
}

TEST(leaves_other_names_alone)
{
    static const char *const names[] = {"",    "main", "git+0x1234",    "a<b",      "<<<<<",     ">>>", "f(",
                                        "f)(", "(f)",  "<lambda(int)>", "operator", "operator<", "::",  "a b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check(names[i], names[i]);
}

/* No name may take more than a pass or two over it, and nothing may be written after its size. */
TEST(takes_a_name_of_any_length)
{
    size_t size = 1 << 17;
    char *name = malloc(size), *out = malloc(size);
    static const char letters[] = "<>(){}[]: a-,operator";
    assert_non_null(name);
    assert_non_null(out);
    for (size_t shape = 0; shape < 24; shape++) {
        uint32_t random = (uint32_t)shape * 2654435761u + 1;
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525 + 1013904223;
            name[i] = shape < 8 ? letters[shape] : letters[(random >> 16) % (sizeof letters - 1)];
        }
        assert_true(sxt_trace_shorten_name((sxt_string){name, size}, out) <= size);
    }
    free(name);
    free(out);
}

static bool is_library(const char *function, const char *file)
{
    sxt_trace_frame frame = {.function = sxt_string_of(function), .file = sxt_string_of(file)};
    return sxt_trace_is_library_frame(&frame);
}

TEST(knows_frames_of_libraries)
{
    assert_true(is_library("void std::vector<int>::push_back(int)", "/usr/include/c++/12/bits/stl_vector.h"));
    assert_true(is_library("std::string::append(char const*)", "/lib/x86_64-linux-gnu/libstdc++.so.6"));
    assert_true(is_library("libc.so.6+0x1234", "/lib/x86_64-linux-gnu/libc.so.6"));
    assert_true(is_library("_dl_init", "elf/dl-init.c"));
    assert_true(is_library("allocate_once", "include/allocate_once.h"));
    assert_true(is_library("__libc_start_call_main", "../sysdeps/nptl/libc_start_call_main.h"));
    assert_true(is_library("_start", "/usr/bin/git"));
    assert_true(is_library("alloc::vec::Vec<T>::push", "/rustc/abc/library/alloc/src/vec/mod.rs"));
    assert_true(is_library("alloc::raw_vec::finish_grow", "/usr/bin/app"));
    assert_true(is_library("runtime.mallocgc", "/usr/local/go/src/runtime/malloc.go"));
    assert_true(is_library("PyList_New", "/usr/bin/python3.11"));
    assert_true(is_library("list_resize", "../Objects/listobject.c"));
}

TEST(knows_frames_of_users)
{
    assert_false(is_library("main", "/app/main.c"));
    assert_false(is_library("core::Engine::load(int)", "/app/core/engine.cc"));
    assert_false(is_library("alloc::Pool::grow() const", "/app/pool.cc"));
    assert_false(is_library("app::stdlib::f()", "/app/stdlib/f.cc"));
    assert_false(is_library("<app::Tree as core::clone::Clone>::clone", "src/tree.rs"));
    assert_false(is_library("main.work", "/src/app/main.go"));
    assert_false(is_library("inflate", "/lib/x86_64-linux-gnu/libz.so.1"));
    assert_false(is_library("setup", "/app/locale/setlocale.c"));
    assert_false(is_library("standard::f()", ""));
    assert_false(is_library("", ""));
}
