/* test_demangle.c: readable names, and names that are made to break a decoder. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "demangle/demangle.h"
#include "support/random.h"
#include "support/test.h"

#define MOST ((size_t)1 << 20)

/* Behind what the buffer holds already. */
static void expect(const char *name, const char *readable)
{
    struct sxt_buffer out;
    sxt_buffer_init(&out, 4 * MOST);
    sxt_buffer_append(&out, "before:", 7);
    bool decoded = sxt_demangle((sxt_string){name, strlen(name)}, &out);
    sxt_buffer_u8(&out, 0);
    if (decoded != (readable != NULL))
        fail_msg("%s: %s", name, decoded ? (char *)out.data : "not decoded");
    assert_string_equal((char *)out.data + 7, readable != NULL ? readable : "");
    assert_memory_equal(out.data, "before:", 7);
    sxt_buffer_free(&out);
}

static void expect_unchanged(const char *name)
{
    expect(name, NULL);
}

TEST(decodes_cplusplus)
{
    expect("_Z4mainv", "main()");
    expect("_ZN3foo3barEi", "foo::bar(int)");
    expect("_ZNK3foo3barEPKc", "foo::bar(char const*) const");
    expect("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)");
    expect("_Z1fIiEvT_", "void f<int>(int)");
    expect("_ZN12_GLOBAL__N_14findEv", "(anonymous namespace)::find()");
    expect("_ZTV3foo", "vtable for foo");
    expect("_ZZ4mainE1x", "main::x");
    expect("_ZThn16_N3foo3barEv", "non-virtual thunk to foo::bar()");
    expect("_ZN3fooplERKS_", "foo::operator+(foo const&)");
    expect("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
}

TEST(constructors_and_destructors_of_each_variant_look_the_same)
{
    static const char *const constructors[] = {"_ZN3fooC1Ev", "_ZN3fooC2Ev", "_ZN3fooC3Ev"};
    static const char *const destructors[] = {"_ZN3fooD0Ev", "_ZN3fooD1Ev", "_ZN3fooD2Ev"};
    for (size_t i = 0; i < 3; i++) {
        expect(constructors[i], "foo::foo()");
        expect(destructors[i], "foo::~foo()");
    }
}

TEST(the_suffix_of_a_clone_stays)
{
    expect("_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]");
    expect("_ZN3foo3barEi.isra.0", "foo::bar(int) [clone .isra.0]");
    expect("_ZN3foo3barEi.part.0.cold", "foo::bar(int) [clone .part.0] [clone .cold]");
    expect("_ZN3foo3barEi.constprop.12", "foo::bar(int) [clone .constprop.12]");
    expect("_RNvC3foo3bar.cold", "foo::bar [clone .cold]");
    expect("_ZN4main4main17h0123456789abcdefE.cold.7", "main::main [clone .cold.7]");
    /* The one suffix that says nothing: a name that the linker made unique. */
    expect("_RNvC3foo3bar.llvm.1234", "foo::bar");
}

/*
 * The OpenTelemetry profiler's own tools leave out template arguments and clone suffixes, and with them the sign of
 * `operator<`. Names here keep what distinguishes functions: the comments have what those tools print.
 */
TEST(more_is_kept_than_by_the_profilers_own_tools)
{
    expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
           "std::vector<int, std::allocator<int> >::push_back(int const&)"); /* std::vector::push_back(int const&) */
    expect("_Z1fIiEvT_", "void f<int>(int)");                                /* void f(int) */
    expect("_ZltRK1AS1_", "operator<(A const&, A const&)");                  /* operator(A const&, A const&) */
    expect("_ZgtRK1AS1_", "operator>(A const&, A const&)");                  /* operator(A const&, A const&) */
    expect("_ZTV3Foo", "vtable for Foo");                                    /* {vtable(Foo)} */
    expect("_ZN3foo3barEi.llvm.123", "foo::bar(int) [clone .llvm.123]");     /* foo::bar(int) */
    expect("_ZN3foo3barEi.cold.1", "foo::bar(int) [clone .cold.1]");         /* the same */
    expect("_ZN3foo3barEi.lto_priv.0", "foo::bar(int) [clone .lto_priv.0]");
    /* Names of C keep their suffixes as they are: those tools print "a" for the first seven. */
    static const char *const plain[] = {"a.isra.1",  "a.isra.1.b",  "a.constprop.0", "a.part.0",
                                        "a.clone.2", "a.llvm.1234", "a.cold",        "a.cold.1"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        expect_unchanged(plain[i]);
}

TEST(some_names_are_the_same_in_the_profilers_own_tools)
{
    expect("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()");
    expect("_ZZN3foo3barEvENKUlvE_clEv", "foo::bar()::{lambda()#1}::operator()() const");
    static const char *const of_go[] = {"main.main", "runtime.goexit.abi0", "internal/abi.(*Type).Kind",
                                        "main.(*list[go.shape.int]).push", "type:.eq.main.pair"};
    for (size_t i = 0; i < sizeof of_go / sizeof *of_go; i++)
        expect_unchanged(of_go[i]);
}

TEST(decodes_legacy_rust_without_its_hash)
{
    expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    expect("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h6a9f28d2b6b2c1a3E",
           "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
    expect("_ZN4main4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "main::main::{{closure}}");
}

TEST(decodes_rust_v0)
{
    expect("_RNvC6_123foo3bar", "123foo::bar");
    expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
    expect("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
    expect("_RNvMs_C7mycrateNtB4_3Foo3bar", "<mycrate::Foo>::bar");
    expect("_RNCNvC7mycrate4main0B3_", "mycrate::main::{closure#0}");
    expect(
        "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
        "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93_"
        "\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_\xe1\x83\xa1"
        "\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98");
}

TEST(decodes_d)
{
    expect("_Dmain", "D main");
    expect("_D3std5stdio7writelnFZv", "std.stdio.writeln()");
    expect("_D8demangle4testFaZv", "demangle.test(char)");
}

TEST(the_name_of_a_plt_entry_and_a_version_stay)
{
    expect("_ZN3foo3barEi@plt", "foo::bar(int)@plt");
    expect("_ZSt4cout@@GLIBCXX_3.4", "std::cout@@GLIBCXX_3.4");
    expect("_ZSt4cout@GLIBCXX_3.4", "std::cout@GLIBCXX_3.4");
    expect_unchanged("printf@plt");
    expect_unchanged("_ZSt@plt4cout");
}

TEST(leaves_alone_what_is_not_mangled)
{
    static const char *const names[] = {"",       "_",     "_Z",         "_R",    "_D",      "__",          "main",
                                        "Z4main", "_main", "__libc_foo", "_ZZZ",  "_Zfoo",   "_ZN",         "_ZN3fooE3",
                                        "_Rfoo",  "_Dfoo", "_ZN9fooE",   "_Z99f", "_Z.cold", "_ZN3foo.cold"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_unchanged(names[i]);
}

TEST(a_view_need_not_end_with_nul)
{
    struct sxt_buffer out;
    sxt_buffer_init(&out, MOST);
    const char *text = "_Z4mainvEEEEEE";
    char *exact = malloc(8);
    memcpy(exact, text, 8);
    assert_true(sxt_demangle((sxt_string){exact, 8}, &out));
    assert_int_equal(out.size, 6);
    free(exact);
    sxt_buffer_free(&out);
}

TEST(a_full_buffer_is_left_as_it_was)
{
    struct sxt_buffer out;
    sxt_buffer_init(&out, 10);
    sxt_buffer_append(&out, "1234567", 7);
    assert_false(sxt_demangle((sxt_string){"_Z4mainv", 8}, &out));
    assert_int_equal(out.size, 7);
    assert_memory_equal(out.data, "1234567", 7);
    sxt_buffer_free(&out);
}

/* What went wrong with a name that was made to break a decoder: nothing, or a text. */
struct outcome {
    bool decoded;
    char problem[160];
};

/* Decodes soon, into no more than the limit, or not at all. Safe in any thread, so it asserts nothing. */
static struct outcome try_name(const char *what, const char *name, size_t size)
{
    struct outcome outcome = {0};
    struct sxt_buffer out;
    struct rusage before, after;
    sxt_buffer_init(&out, 4 * MOST);
    getrusage(RUSAGE_SELF, &before);
    double start = sxt_test_seconds();
    outcome.decoded = sxt_demangle((sxt_string){name, size}, &out);
    double taken = sxt_test_seconds() - start;
    getrusage(RUSAGE_SELF, &after);
    long memory = after.ru_maxrss - before.ru_maxrss;
    if (out.size > (outcome.decoded ? MOST + size : 0))
        snprintf(outcome.problem, sizeof outcome.problem, "%s: %zu bytes came out", what, out.size);
    if (taken > 2 || memory > 128 << 10)
        snprintf(outcome.problem, sizeof outcome.problem, "%s: %.1f s, %ld KiB", what, taken, memory);
    sxt_buffer_free(&out);
    return outcome;
}

static void give_up_soon(const char *what, const char *name, size_t size)
{
    struct outcome outcome = try_name(what, name, size);
    if (outcome.problem[0] != 0)
        fail_msg("%s", outcome.problem);
    assert_false(outcome.decoded);
}

/* A name of 65000 bytes: a beginning, then a unit again and again. */
struct repeated {
    const char *beginning, *unit;
};

struct job {
    const struct repeated *bombs;
    char problem[160];
};

static void *try_all(void *data)
{
    struct job *job = data;
    static const size_t size = 65000;
    char *name = malloc(size);
    for (const struct repeated *bomb = job->bombs; bomb->beginning != NULL && job->problem[0] == 0; bomb++) {
        size_t at = strlen(bomb->beginning);
        memcpy(name, bomb->beginning, at);
        for (size_t i = 0; at < size; i++)
            name[at++] = bomb->unit[i % strlen(bomb->unit)];
        char what[80];
        snprintf(what, sizeof what, "%s + %s...", bomb->beginning, bomb->unit);
        memcpy(job->problem, try_name(what, name, size).problem, sizeof job->problem);
    }
    free(name);
    return NULL;
}

/* A thread of a user has often less than the 8 MiB of the first one. */
static void survive_in_a_small_thread(const struct repeated *bombs)
{
    struct job job = {.bombs = bombs};
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)2 << 20), 0);
    assert_int_equal(pthread_create(&thread, &attributes, try_all, &job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    if (job.problem[0] != 0)
        fail_msg("%s", job.problem);
}

TEST(deep_nesting_of_cplusplus_is_survived)
{
    static const struct repeated bombs[] = {{"_Z", "N"},        {"_Z1f", "P"},      {"_Z1f", "F"},
                                            {"_Z1fI", "X"},     {"_ZN1A", "1B"},    {"_ZN", "St"},
                                            {"_Z1fIXcv", "cv"}, {"_Z1fDT", "cl"},   {"_ZZ", "Z"},
                                            {"_ZGV", "GV"},     {"_ZTh0_", "Th0_"}, {"_Z1fM", "M"},
                                            {"_Z1fIJ", "J"},    {"_Z1f", "A1_"},    {"_Z1fDp", "Dp"},
                                            {"_Z1fIXsZ", "sZ"}, {"_ZN1a", "IiE"},   {"_Z1fIXLZ1fIXLZ", "1fIXLZ"},
                                            {"_Z1fUl", "Ul"},   {"_Z1f", "K"},      {NULL, NULL}};
    survive_in_a_small_thread(bombs);
}

TEST(deep_nesting_of_rust_is_survived)
{
    static const struct repeated bombs[] = {
        {"_RNv", "N"},       {"_RINvC1a1b", "R"},  {"_RINvC1a1b", "TE"}, {"_RINvC1a1b", "A"},
        {"_RNvY", "TY"},     {"_RNvX", "C1aF"},    {"_RNv", "M"},        {"_RINvC1a1bD", "NvC1a1bp1c"},
        {"_RINvC1a1b", "B"}, {"_RINvC1a1bF", "F"}, {"_ZN", "1a"},        {NULL, NULL}};
    survive_in_a_small_thread(bombs);
}

TEST(deep_nesting_of_d_is_survived)
{
    static const struct repeated bombs[] = {{"_D1a", "F"},
                                            {"_D1a", "P"},
                                            {"_D1a", "A"},
                                            {"_D1a", "AY"},
                                            {"_D1aF", "dVi"},
                                            {"_D1a", "Ha"},
                                            {"_D1a__T1bTS", "1a__T1bTS"},
                                            {"_D1aF", "FZ"},
                                            {"_D1aF", "Vwd"},
                                            {"_D3std", "S3std"},
                                            {"_D", "1a"},
                                            {NULL, NULL}};
    survive_in_a_small_thread(bombs);
}

/* Appends VALUE in the digits of a base. */
static size_t put_number(char *to, unsigned value, const char *digits, unsigned base)
{
    size_t count = 0;
    char reversed[16];
    do
        reversed[count++] = digits[value % base];
    while ((value /= base) != 0);
    for (size_t i = 0; i < count; i++)
        to[i] = reversed[count - 1 - i];
    return count;
}

/* Each type has the one before it as both of its arguments: the text doubles with every ten bytes of the name. */
TEST(doubling_types_of_cplusplus_are_given_up_soon)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (unsigned levels = 16; levels <= 200; levels += levels < 30 ? 2 : 170) {
        char name[8192] = "_Z1f1PIiiE";
        size_t at = strlen(name);
        for (unsigned i = 0; i < levels; i++) {
            memcpy(name + at, "S_I", 3);
            at += 3;
            for (unsigned twice = 0; twice < 2; twice++) {
                name[at++] = 'S';
                at += put_number(name + at, i, digits, 36);
                name[at++] = '_';
            }
            name[at++] = 'E';
        }
        give_up_soon("doubling C++", name, at);
    }
}

TEST(doubling_types_of_rust_are_given_up_soon)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (unsigned levels = 18; levels <= 200; levels += levels < 30 ? 2 : 170) {
        char name[8192] = "_RINvC1a1bu";
        size_t at = strlen(name);
        /* References count from the end of "_R", and 0 is written as nothing. */
        unsigned before = (unsigned)at - 3;
        for (unsigned i = 0; i < levels; i++) {
            unsigned here = (unsigned)at - 2;
            name[at++] = 'T';
            for (unsigned twice = 0; twice < 2; twice++) {
                name[at++] = 'B';
                at += put_number(name + at, before - 1, digits, 62);
                name[at++] = '_';
            }
            name[at++] = 'E';
            before = here;
        }
        name[at++] = 'E';
        give_up_soon("doubling Rust", name, at);
    }
}

TEST(doubling_types_of_d_are_given_up_soon)
{
    for (unsigned levels = 18; levels <= 200; levels += levels < 30 ? 2 : 170) {
        char name[8192] = "_D1aFi";
        size_t at = strlen(name);
        size_t before = at - 1;
        for (unsigned i = 0; i < levels; i++) {
            size_t here = at;
            name[at++] = 'H';
            for (unsigned twice = 0; twice < 2; twice++) {
                /* How far back, in the digits A to Z, the last one in lower case. */
                size_t distance = at - before;
                name[at++] = 'Q';
                at += put_number(name + at, (unsigned)distance, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 26);
                name[at - 1] = (char)(name[at - 1] - 'A' + 'a');
            }
            before = here;
        }
        memcpy(name + at, "Zv", 2);
        give_up_soon("doubling D", name, at + 2);
    }
}

TEST(names_of_over_64_kib_are_left_alone)
{
    size_t size = ((size_t)64 << 10) + 1;
    char *name = malloc(size);
    memset(name, 'i', size);
    memcpy(name, "_Z1f", 4);
    struct sxt_buffer out;
    sxt_buffer_init(&out, 4 * MOST);
    assert_false(sxt_demangle((sxt_string){name, size}, &out));
    assert_true(sxt_demangle((sxt_string){name, 1000}, &out));
    assert_memory_equal(out.data, "f(int, int, int", 15);
    free(name);
    sxt_buffer_free(&out);
}

TEST(noise_is_survived)
{
    static const char letters[] = "_ZRDNIESTKPFBQXLMCHVGJYUAabcdefhijlmnopstuvwxyz0123456789.$@";
    static const char *const beginnings[] = {"_Z", "_ZN", "_ZNSt", "_R", "_RNv", "_RINv", "_D", "_D1a"};
    struct sxt_test_random random = {42};
    struct sxt_buffer out;
    sxt_buffer_init(&out, 4 * MOST);
    for (unsigned i = 0; i < 200000; i++) {
        char name[64];
        const char *beginning = beginnings[i % 8];
        size_t at = strlen(beginning), size = at + sxt_test_below(&random, 40);
        memcpy(name, beginning, at);
        while (at < size)
            name[at++] = letters[sxt_test_below(&random, sizeof letters - 1)];
        sxt_buffer_clear(&out);
        bool decoded = sxt_demangle((sxt_string){name, size}, &out);
        assert_true(decoded || out.size == 0);
        assert_true(out.size <= MOST);
    }
    sxt_buffer_free(&out);
}
