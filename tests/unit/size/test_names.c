/* test_names.c: the names of symbols, rule by rule. What SuperSize gets wrong is marked as such. */
#include <stdlib.h>
#include <string.h>

#include "size/names.h"
#include "support/random.h"
#include "support/test.h"

struct example {
    const char *stored, *full_name, *template_name, *name; /* NULL: as the one before */
    uint32_t flags;
};

static struct sxt_size_segment segment_of(const char *section)
{
    struct sxt_size_segment segment = {.section = {section, strlen(section)}};
    sxt_size_classify(&segment);
    return segment;
}

static void check(const char *section, const struct example *examples, size_t count)
{
    struct sxt_size_segment segment = segment_of(section);
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        /* A copy without a NUL, so that a sanitizer sees reading after the end. */
        size_t size = strlen(examples[i].stored);
        char *stored = malloc(size + (size == 0));
        assert_non_null(stored);
        memcpy(stored, examples[i].stored, size);
        struct sxt_size_derived_names names;
        sxt_size_derive_names(&segment, (sxt_string){stored, size}, &buffer, &names);
        const char *full_name = examples[i].full_name == NULL ? examples[i].stored : examples[i].full_name;
        const char *template_name = examples[i].template_name == NULL ? full_name : examples[i].template_name;
        sxt_test_assert_text(names.full_name, full_name);
        sxt_test_assert_text(names.template_name, template_name);
        sxt_test_assert_text(names.name, examples[i].name == NULL ? template_name : examples[i].name);
        assert_int_equal(names.flags, examples[i].flags);
        sxt_test_assert_text(sxt_size_derive_full_name(&segment, (sxt_string){stored, size}, &buffer), full_name);
        free(stored);
    }
    sxt_buffer_free(&buffer);
}

#define CHECK(section, ...)                                                                                            \
    check(section, (const struct example[]){__VA_ARGS__},                                                              \
          sizeof((const struct example[]){__VA_ARGS__}) / sizeof(struct example))

TEST(names_of_resources_are_what_follows_the_last_space)
{
    CHECK(".pak.translations", {"menu_strings.grd: IDS_MENU_OPEN", NULL, "IDS_MENU_OPEN", NULL, 0},
          {"no_space", NULL, NULL, NULL, 0}, {"Overhead: de.pak", NULL, "de.pak", NULL, 0});
    CHECK(".pak.nontranslated", {"a: b c", NULL, "c", NULL, 0}, {"ends in space ", NULL, "", NULL, 0});
}

TEST(placeholders_and_literals_are_not_taken_apart)
{
    CHECK(".text", {"** merge strings (a<b>)", NULL, NULL, NULL, 0}, {"Overhead: ELF file (x) y", NULL, NULL, NULL, 0},
          {"\"int f(a)\"", NULL, NULL, NULL, 0}, {"string literal", NULL, NULL, NULL, 0});
    CHECK(".dex", {"** a b", NULL, NULL, NULL, 0}, {"\"a b\"", NULL, NULL, NULL, 0});
    CHECK(".other", {"int f<int>(int)", NULL, NULL, NULL, 0});
    CHECK(".arsc", {"int f<int>(int)", NULL, NULL, NULL, 0});
    CHECK(".unknown", {"int f<int>(int)", NULL, NULL, NULL, 0});
}

TEST(names_of_java)
{
    CHECK(".dex.method",
          {"shop.stock.Basket shop.Listing articles()", "shop.stock.Basket#articles(): shop.Listing",
           "shop.stock.Basket#articles", "Basket#articles", 0},
          {"shop.stock.Basket#articles(): shop.Listing", NULL, "shop.stock.Basket#articles", "Basket#articles", 0},
          {"shop.stock.Basket long weigh(long,char)", "shop.stock.Basket#weigh(long,char): long",
           "shop.stock.Basket#weigh", "Basket#weigh", 0},
          {"shop.stock.Basket$Handle <init>(float[])", "shop.stock.Basket$Handle#<init>(float[])",
           "shop.stock.Basket$Handle#<init>", "Basket$Handle#<init>", 0},
          {"shop.stock.Basket", NULL, NULL, "Basket", 0}, {"Basket", NULL, NULL, NULL, 0},
          {"shop.stock.Basket shop.Person owner", "shop.stock.Basket#owner: shop.Person", "shop.stock.Basket#owner",
           "Basket#owner", 0},
          {"shop.Pallet long shop.Crate.weigh(long,char)", "shop.Pallet#shop.Crate.weigh(long,char): long",
           "shop.Crate#weigh", "Crate#weigh", 0},
          {"shop.Pallet#shop.Crate.owner: shop.Person", NULL, "shop.Crate#owner", "Crate#owner", 0});
    CHECK(".dex", {"a:b.C#d: e", NULL, "a:b.C#d", "C#d", 0}, {"#", NULL, "#", "#", 0}, {" ", "#", "#", "#", 0},
          {"", NULL, NULL, NULL, 0}, {"a#(", NULL, "a#", NULL, 0}, {"a#.b", NULL, "#b", NULL, 0});
}

TEST(clones_are_their_originals)
{
    CHECK(".text", {"f(int) [clone .part.7]", "f(int)", "f", NULL, SXT_SIZE_CLONE},
          {"f(int) [clone .isra.3] [clone .part.1]", "f(int)", "f", NULL, SXT_SIZE_CLONE},
          {"f.part.3", "f", NULL, NULL, SXT_SIZE_CLONE}, {"f.123", "f", NULL, NULL, SXT_SIZE_CLONE},
          {"__tcf_0.5", NULL, NULL, NULL, 0}, {"startup.3", NULL, NULL, NULL, 0},
          /* One suffix, as SuperSize does; but a stored name stays, so that the next one is not lost at every load. */
          {"f.constprop.0.isra.0", "f.constprop.0", NULL, NULL, SXT_SIZE_CLONE}, {"f.cold", NULL, NULL, NULL, 0},
          {"f.", NULL, NULL, NULL, 0}, {".5", "", NULL, NULL, SXT_SIZE_CLONE});
    /* SuperSize: ".L"; and it aborts. */
    CHECK(".text", {".L.str.5", ".L.str", NULL, NULL, SXT_SIZE_CLONE},
          {"f(char const*, ...)::x.5", "f(char const*, ...)::x", "f::x", NULL, SXT_SIZE_CLONE});
    /* Only in .text. */
    CHECK(".rodata", {".L.str.5", NULL, NULL, NULL, 0}, {"f.part.3", NULL, NULL, NULL, 0},
          {"x [clone .1]", "x", NULL, NULL, SXT_SIZE_CLONE});
}

TEST(what_something_is_for_comes_last)
{
    CHECK(".data.rel.ro", {"vtable for Shelf<long>", "Shelf<long> [vtable]", NULL, "Shelf<> [vtable]", 0},
          {"construction vtable for A-in-B", "A-in-B [construction vtable]", NULL, NULL, 0},
          {"guard variable for f(int)::x", "f(int)::x [guard variable]", "f::x [guard variable]", NULL, 0},
          {"0123456789012345678901234 for X", "X [0123456789012345678901234]", NULL, NULL, 0},
          {"01234567890123456789012345 for X", NULL, NULL, NULL, 0});
    CHECK(".text",
          {"non-virtual thunk to Shelf::put(int)", "Shelf::put(int) [non-virtual thunk]",
           "Shelf::put [non-virtual thunk]", NULL, 0},
          {"Switch table for X", "X [Switch table]", NULL, NULL, 0},
          {"01234567890123456789012345 to X", "X [01234567890123456789012345]", NULL, NULL, 0},
          {"012345678901234567890123456 to X", NULL, NULL, NULL, 0},
          /* SuperSize takes these apart. */
          {"<impl A for B<C>>::fmt", NULL, NULL, "<impl A for B<>>::fmt", 0});
}

TEST(signatures_have_parameters_and_types)
{
    CHECK(".text",
          {"double shop::Pair<char*, long>::swap<short>(short, short)",
           "shop::Pair<char*, long>::swap<short>(short, short)", "shop::Pair<char*, long>::swap<short>",
           "shop::Pair<>::swap<>", 0},
          {"money::Amount<int>& money::Amount<int>::operator-=<long>(long)",
           "money::Amount<int>::operator-=<long>(long)", "money::Amount<int>::operator-=<long>",
           "money::Amount<>::operator-=<>", 0},
          {"money::Round<double, money::Rules, (money::Mode)2>::apply(double)", NULL,
           "money::Round<double, money::Rules, (money::Mode)2>::apply", "money::Round<>::apply", 0},
          {"decltype ({parm#1}((P::Tax)())) P::Bill::each<P::Line*>(P::Line*) const",
           "P::Bill::each<P::Line*>(P::Line*) const", "P::Bill::each<P::Line*> const", "P::Bill::each<> const", 0},
          {"till::Drawer::Drawer(int (*)(long), void (*)(till::Drawer*))", NULL, "till::Drawer::Drawer", NULL, 0},
          {"long till::<long>::peek<long>(till::<long> const*, till::Side)",
           "till::<long>::peek<long>(till::<long> const*, till::Side)", "till::<long>::peek<long>", "till::<>::peek<>",
           0},
          {"char Call<long()>::on<x<y> >()", "Call<long()>::on<x<y> >()", "Call<long()>::on<x<y> >", "Call<>::on<>", 0},
          {"close() [virtual thunk]", NULL, "close [virtual thunk]", NULL, 0},
          {"till::Tray<C<D> >::open<coin>(key)::lock<pin>", NULL, "till::Tray<C<D> >::open<coin>::lock<pin>",
           "till::Tray<>::open<>::lock<>", 0},
          {"Menu::find(long)::dishes", NULL, "Menu::find::dishes", NULL, 0}, {"main", NULL, NULL, NULL, 0},
          {"", NULL, NULL, NULL, 0}, {"a::b<c<d>, e>::f", NULL, NULL, "a::b<>::f", 0});
}

TEST(nested_functions_belong_to_the_outermost)
{
    CHECK(".text",
          {"(anonymous namespace)::Menu::dish() const::Cook::stir(Pot, Spoon)",
           "Menu::dish() const::Cook::stir(Pot, Spoon)", "Menu::dish", NULL, SXT_SIZE_ANONYMOUS},
          {"M::each<M::cook()::{lambda(M*)#4}>(M::cook()::{lambda(M*)#4} const&)", NULL,
           "M::each<M::cook()::{lambda(M*)#4}>", "M::each<>", 0},
          /* SuperSize: "a::b const", "a::b#1}::x", "a::b const::x". */
          {"a::b(c)::{lambda()#1}::operator()() const", NULL, "a::b", NULL, 0},
          {"a::b(c)::{lambda()#1}::x", NULL, "a::b::{lambda()#1}::x", NULL, 0},
          {"a::b(c)::{lambda()#1}::operator()() const::x", NULL, "a::b::x", NULL, 0});
}

TEST(operators_have_strange_names)
{
    CHECK(".text", {"operator delete(void*)", NULL, "operator delete", NULL, 0},
          {"void* operator new[](unsigned long)", "operator new[](unsigned long)", "operator new[]", NULL, 0},
          {"ink::Page<char, ink::Font<char> >& ink::operator<< <ink::Font<char> >(ink::Page<char>&, long)",
           "ink::operator<< <ink::Font<char> >(ink::Page<char>&, long)", "ink::operator<< <ink::Font<char> >",
           "ink::operator<< <>", 0},
          {"ink::Reader<char, ink::Font<char> >::operator>>(short&)", NULL,
           "ink::Reader<char, ink::Font<char> >::operator>>", "ink::Reader<>::operator>>", 0},
          {"ink::operator><ink::Blot<char> >()", NULL, "ink::operator><ink::Blot<char> >", "ink::operator><>", 0},
          {"ink::operator>><ink::Blot<char> >(ink::Reader<char>&)", NULL, "ink::operator>><ink::Blot<char> >",
           "ink::operator>><>", 0},
          {"bool operator< <int>(A)", "operator< <int>(A)", "operator< <int>", "operator< <>", 0},
          {"ink::Shelf::operator[](long)", NULL, "ink::Shelf::operator[]", NULL, 0},
          {"K::Join<K::Rope>::operator K::Rope() const", NULL, "K::Join<K::Rope>::operator K::Rope const",
           "K::Join<>::operator K::Rope const", 0},
          {"ink::Cursor::operator ink::Place const() const", NULL, "ink::Cursor::operator ink::Place const const", NULL,
           0});
    /* SuperSize keeps the parameters of the first three, and gives "A::operator const", "int const", and more. */
    CHECK(".text", {"A::operator->() const", NULL, "A::operator-> const", NULL, 0},
          {"operator<=>(A const&, A const&)", NULL, "operator<=>", NULL, 0},
          {"bool operator<<int>(A<int>)", "operator<<int>(A<int>)", "operator<<int>", "operator<<>", 0},
          {"A::operator()(int) const", NULL, "A::operator() const", NULL, 0},
          {"A::operator unsigned int() const", NULL, "A::operator unsigned int const", NULL, 0},
          {"A::operator void (*)(int)() const", NULL, "A::operator void (*)(int) const", NULL, 0},
          {"operator\"\" _km(long double)", NULL, "operator\"\" _km", NULL, 0},
          {"decltype(auto) g<int>(int)", "g<int>(int)", "g<int>", "g<>", 0});
    /* Cut off. */
    CHECK(".text", {"operator<", NULL, NULL, NULL, 0}, {"operator>", NULL, NULL, NULL, 0},
          {"operator<(", NULL, "operator<", NULL, 0}, {"a::operator", NULL, NULL, NULL, 0},
          {"operator ", NULL, NULL, NULL, 0}, {"operator\"", NULL, NULL, NULL, 0});
}

TEST(lambdas_abi_tags_and_anonymous_namespaces)
{
    CHECK(".text",
          {"ink::{lambda(ink::Pen*)#12}::_FUN(ink::Pen*)", "ink::$lambda#12(ink::Pen*)", "ink::$lambda#12", NULL, 0},
          {"ink::$_12::__invoke(ink::Pen*)", "ink::$lambda#12(ink::Pen*)", "ink::$lambda#12", NULL, 0},
          {"void x::$_2::__invoke(int)", "x::$lambda#2(int)", "x::$lambda#2", NULL, 0},
          /* SuperSize aborts. */
          {"a$b::__invoke(int)", NULL, "a$b::__invoke", NULL, 0},
          {"{lambda}::_FUN(int)", NULL, "{lambda}::_FUN", NULL, 0},
          {"x::'lambda0'(int)::operator()(int) const", NULL, "x::'lambda0'(int)::operator() const", NULL, 0});
    CHECK(".text", {"ink::make_pen[abi:new2]<Nib>(Wood const*&)", NULL, "ink::make_pen<Nib>", "ink::make_pen<>", 0},
          {"ink::black[abi:old]", NULL, "ink::black", NULL, 0},
          {"rack<long []>::operator[][abi:old]<Jar[12]>()", NULL, "rack<long []>::operator[]<Jar[12]>",
           "rack<>::operator[]<>", 0},
          {"f[abi:a][abi:b](int)", NULL, "f", NULL, 0}, {"f[abi:a", NULL, NULL, NULL, 0});
    CHECK(".text", {"(anonymous namespace)::dip_pen(short)", "dip_pen(short)", "dip_pen", NULL, 1},
          {"a::(anonymous namespace)::b::(anonymous namespace)::c", "a::b::c", NULL, NULL, 1},
          /* Elsewhere than in the short name, it does not make the symbol anonymous. */
          {"Jar<(anonymous namespace)::Lid>::shut((anonymous namespace)::Hand)", "Jar<Lid>::shut(Hand)",
           "Jar<Lid>::shut", "Jar<>::shut", 0});
    CHECK(".bss", {"(anonymous namespace)::x", "x", NULL, NULL, 1});
}

TEST(names_of_rust_and_go)
{
    CHECK(".text",
          {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", NULL, NULL, "<alloc::vec::Vec<> as core::ops::Drop>::drop",
           0},
          {"core::fmt::num::<impl core::fmt::Debug for u32>::fmt", NULL, NULL, NULL, 0},
          {"core::ptr::drop_in_place::<alloc::string::String>", NULL, NULL, "core::ptr::drop_in_place::<>", 0},
          {"<dyn Fn(u8) -> u32 as a::B>::call::{{closure}}", NULL, NULL, NULL, 0}, {"<[T]>::len", NULL, NULL, NULL, 0},
          {"main.(*Tree).Walk", NULL, NULL, NULL, 0}, {"main.(*Tree).Walk-fm", NULL, NULL, NULL, 0},
          {"main.main.func1.2", NULL, NULL, NULL, 0}, {"main.main.func1.2.3", NULL, NULL, NULL, 0},
          {"main.main.gowrap1.1", NULL, NULL, NULL, 0}, {"main.init.0", NULL, NULL, NULL, 0},
          {"main.Map[go.shape.int_0]", NULL, NULL, "main.Map[]", 0}, {"main.Map[...]", NULL, NULL, "main.Map[]", 0},
          {"type:.eq.struct { F uintptr; x int }", NULL, NULL, NULL, 0});
}

TEST(anything_may_be_a_name)
{
    static const char *const pieces[] = {"operator", "<",          ">",         "(",        ")",
                                         "[",        "]",          "{",         "}",        " ",
                                         "::",       "a",          "o",         "1",        ".",
                                         "$",        "$_3",        "#",         "->",       "'",
                                         " for ",    " to ",       " [clone ",  "[abi:",    "(anonymous namespace)::",
                                         "::_FUN",   "::__invoke", "{lambda(",  "decltype", "'lambda",
                                         " const",   "\"",         "*",         "\xff",     "func",
                                         "init",     "<impl ",     "[go.shape."};
    static const char *const sections[] = {".text", ".rodata", ".dex", ".pak.translations"};
    struct sxt_test_random random = {7};
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, SIZE_MAX);
    for (int round = 0; round < 60000; round++) {
        char text[512];
        size_t size = 0;
        for (uint32_t left = sxt_test_below(&random, 16); left > 0; left--) {
            const char *piece = pieces[sxt_test_below(&random, sizeof pieces / sizeof *pieces)];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        char *stored = malloc(size + (size == 0));
        assert_non_null(stored);
        memcpy(stored, text, size);
        struct sxt_size_segment segment = segment_of(sections[sxt_test_below(&random, 4)]);
        struct sxt_size_derived_names names;
        sxt_size_derive_names(&segment, (sxt_string){stored, size}, &buffer, &names);
        assert_true(names.full_name.size <= size + 2 && names.template_name.size <= size + 2 &&
                    names.name.size <= names.template_name.size);
        char *full_name = malloc(names.full_name.size + 1);
        assert_non_null(full_name);
        memcpy(full_name, names.full_name.data, names.full_name.size);
        full_name[names.full_name.size] = 0;
        size_t full_size = names.full_name.size;
        sxt_string alone = sxt_size_derive_full_name(&segment, (sxt_string){stored, size}, &buffer);
        if (alone.size != full_size || memcmp(alone.data, full_name, full_size) != 0)
            fail_msg("%.*s: full name \"%s\" and \"%.*s\"", (int)size, text, full_name, (int)alone.size, alone.data);
        free(full_name);
        free(stored);
    }
    sxt_buffer_free(&buffer);
}

TEST(long_names_take_linear_time)
{
    static const char *const pieces[] = {
        "<",         "(",   ")",       "operator<",   "a(", "[abi:", " for ", "'('",
        "a<b>(c)::", "{#}", "[clone ", "operator x(", ".1", "$1",    " (",    "(anonymous namespace)::"};
    struct sxt_size_segment segment = segment_of(".text");
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, SIZE_MAX);
    size_t size = 1 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t piece = strlen(pieces[i]);
        for (size_t j = 0; j < size; j++)
            text[j] = pieces[i][j % piece];
        double start = sxt_test_seconds();
        struct sxt_size_derived_names names;
        sxt_size_derive_names(&segment, (sxt_string){text, size}, &buffer, &names);
        assert_true(sxt_test_seconds() - start < 2);
    }
    free(text);
    sxt_buffer_free(&buffer);
}

TEST(without_memory_the_stored_name_is_the_name)
{
    struct sxt_size_segment segment = segment_of(".text");
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, 16);
    struct sxt_size_derived_names names;
    sxt_size_derive_names(&segment, (sxt_string){"int f(int)", 10}, &buffer, &names);
    sxt_test_assert_text(names.full_name, "int f(int)");
    sxt_test_assert_text(names.name, "int f(int)");
    sxt_buffer_free(&buffer);
}
