/* test_rust_module.c: the crates and modules of names of Rust. */
#include <string.h>

#include "base/string.h"
#include "size/query_private.h"
#include "support/test.h"

static void assert_module(const char *name, const char *module)
{
    sxt_string found = sxt_size_rust_module(sxt_string_of(name));
    if (!sxt_string_is(found, module))
        fail_msg("%s: '%.*s' instead of '%s'", name, (int)found.size, found.data, module);
}

TEST(paths)
{
    assert_module("shop::cart::add", "shop::cart");
    assert_module("shop::main", "shop");
    assert_module("main", "");
    assert_module("", "");
    assert_module("shop::cart::Cart::total", "shop::cart");
    assert_module("shop::Cart<u8>::total", "shop");
    assert_module("core::ops::function::FnOnce::call_once{{vtable.shim}}", "core::ops::function");
    assert_module("core[8f4a3cd1]::fmt::write", "core[8f4a3cd1]::fmt");
    assert_module("r\xc3\xa9sum\xc3\xa9::caf\xc3\xa9::f", "r\xc3\xa9sum\xc3\xa9::caf\xc3\xa9");
}

TEST(closures_are_in_functions)
{
    assert_module("shop::main::{{closure}}", "shop");
    assert_module("shop::main::{closure#0}", "shop");
    assert_module("shop::cart::add::{{closure}}::{{closure}}", "shop::cart");
    assert_module("shop::cart::Cart::add::{closure#1}", "shop::cart");
    assert_module("shop::cart::add<T>::{{closure}}", "shop::cart");
    assert_module("shop::f::{closure#0}::inner", "shop");
    assert_module("shop::f::{shim:vtable#0}", "shop");
}

TEST(implementations_are_in_modules)
{
    assert_module("shop::cart::{impl#0}::total", "shop::cart");
    assert_module("shop::{impl#12}::total::{closure#0}", "shop");
    assert_module("core::fmt::num::<impl core::fmt::Debug for u8>::fmt", "core::fmt::num");
    assert_module("<impl shop::Price for u32>::price", "shop");
    assert_module("<impl core::fmt::Debug for shop::cart::Cart>::fmt", "shop::cart");
}

TEST(types_and_traits)
{
    assert_module("<shop::cart::Cart as core::fmt::Debug>::fmt", "shop::cart");
    assert_module("<shop::cart::Cart>::total", "shop::cart");
    assert_module("<shop::cart::Cart<alloc::vec::Vec<u8>> as core::ops::drop::Drop>::drop", "shop::cart");
    assert_module("<u32 as shop::Price>::price", "shop");
    assert_module("<&u32 as core::fmt::Display>::fmt", "core::fmt");
    assert_module("<&mut shop::cart::Cart as core::fmt::Debug>::fmt", "shop::cart");
    assert_module("<[shop::cart::Item] as core::fmt::Debug>::fmt", "shop::cart");
    assert_module("<(shop::cart::Item, u8) as core::fmt::Debug>::fmt", "shop::cart");
    assert_module("<*const T as core::fmt::Pointer>::fmt", "core::fmt");
    assert_module("<dyn core::any::Any>::type_id", "core::any");
    assert_module("<fn(u8) -> shop::Item as core::fmt::Debug>::fmt", "core::fmt");
    assert_module("<shop::cart::total::{closure#0} as core::ops::function::FnOnce<()>>::call_once", "shop::cart");
    assert_module("<<shop::cart::Cart>::add<u8>::{closure#0} as core::ops::function::FnMut<()>>::call_mut",
                  "shop::cart");
    assert_module("<dyn core::ops::Fn(u8) -> u8 as shop::Call>::call", "core::ops");
}

TEST(arguments_do_not_count)
{
    assert_module("core::ptr::drop_in_place::<shop::cart::Cart>", "core::ptr");
    assert_module("core::ptr::drop_in_place<shop::cart::Cart>", "core::ptr");
    assert_module("core::slice::sort::merge::<shop::Item, <[shop::Item]>::sort::{closure#0}>", "core::slice::sort");
}

TEST(names_that_are_cut_off)
{
    static const char *const names[] = {"<shop::cart::Cart as core::fmt::Debug>::fmt", "shop::f::{closure#0}::g",
                                        "<impl shop::P for [u8]>::x", "a::b::<c::d, fn() -> e>::{f#0}", "<<<<<>>>::x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t size = 0; size <= strlen(names[i]); size++) {
            sxt_string found = sxt_size_rust_module((sxt_string){names[i], size});
            assert_true(found.size <= size);
            sxt_size_is_rust('t', (sxt_string){names[i], size});
        }
}

TEST(other_languages)
{
    assert_true(sxt_size_is_rust('t', sxt_string_of("shop::main")));
    assert_true(sxt_size_is_rust('r', sxt_string_of("<shop::Cart as core::fmt::Debug>::{vtable}")));
    assert_false(sxt_size_is_rust('t', sxt_string_of("shop::main(int)")));
    assert_false(sxt_size_is_rust('t', sxt_string_of("shop::Cart::operator()(int) const")));
    assert_false(sxt_size_is_rust('d', sxt_string_of("shop::Cart::instances")));
    assert_false(sxt_size_is_rust('t', sxt_string_of("main.main.func1")));
    assert_false(sxt_size_is_rust('t', sxt_string_of("** .text (unattributed)")));
    assert_false(sxt_size_is_rust('r', sxt_string_of("\"a::b\"")));
    assert_false(sxt_size_is_rust('t', (sxt_string){"", 0}));
}
