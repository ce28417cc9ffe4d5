/* test_text_patterns.c: which parts of a line are addresses, and what is read out of them. */
#include <stdio.h>
#include <string.h>

#include "profile/text_patterns.h"
#include "support/test.h"

static const char kinds[] = {
    [SXT_TEXT_MATCH_VIRTUAL] = 'V', [SXT_TEXT_MATCH_ABSOLUTE] = 'A', [SXT_TEXT_MATCH_SYMBOL] = 'S',
    [SXT_TEXT_MATCH_KERNEL] = 'K',  [SXT_TEXT_MATCH_ADDRESS] = 'B',  [SXT_TEXT_MATCH_PERF] = 'P'};

static void append(char *text, size_t size, const char *name, sxt_string value)
{
    size_t used = strlen(text);
    if (value.data != NULL)
        snprintf(text + used, size - used, " %s=%.*s", name, (int)value.size, value.data);
}

static void append_number(char *text, size_t size, const char *name, bool is_there, uint64_t value)
{
    size_t used = strlen(text);
    if (is_there)
        snprintf(text + used, size - used, " %s=%llx", name, (unsigned long long)value);
}

/* The first match of LINE in one line of text: its kind, with - for a return address, and its fields. */
static const char *found(const char *line)
{
    static char text[1000];
    struct sxt_text_match match;
    if (!sxt_text_match_next(line, strlen(line), 0, &match))
        return "nothing";
    snprintf(text, sizeof text, "%c%s", kinds[match.kind], match.is_return ? "-" : "");
    append_number(text, sizeof text, "a", match.has_address, match.address);
    append_number(text, sizeof text, "o", match.has_offset, match.offset);
    append_number(text, sizeof text, "z", match.has_size, match.size);
    append(text, sizeof text, "m", match.module);
    append(text, sizeof text, "s", match.symbol);
    append(text, sizeof text, "b", match.build_id);
    return text;
}

TEST(forms_of_sanitizers)
{
    assert_string_equal(found("    #0 0x55b0  (/usr/bin/app+0x1245)"), "V a=55b0 o=1245 m=/usr/bin/app");
    assert_string_equal(found("#12 0x55b0 (/a b/lib++.so.6+0x1245) (BuildId: 0aF9)"),
                        "V a=55b0 o=1245 m=/a b/lib++.so.6 b=0aF9");
    assert_string_equal(found("#1 0x55b0 in std::f(int) (/app+0x12)"), "V a=55b0 o=12 m=/app s=std::f(int)");
    assert_string_equal(found("    #0 <null> <null> (app+0x13a5)"), "V o=13a5 m=app");
    assert_string_equal(found("    #0 malloc <null> (libtsan.so.2+0x13a5)"), "V o=13a5 m=libtsan.so.2 s=malloc");
    assert_string_equal(found("SUMMARY: bad (/app+0x12) "), "V o=12 m=/app");
    assert_string_equal(found("(/app+0xffffffffffffffff)"), "V o=ffffffffffffffff m=/app");
}

TEST(forms_of_backtrace)
{
    assert_string_equal(found("./app(+0x11be) [0x5584]"), "V- a=5584 o=11be m=./app");
    assert_string_equal(found("./app(+0x11be)[0x5584]"), "V- a=5584 o=11be m=./app");
    assert_string_equal(found("at ./app(+0x11be)"), "V- o=11be m=./app");
    assert_string_equal(found("/lib/libc.so.6(__libc_start_main+0x85) [0x7f]"),
                        "S- a=7f o=85 m=/lib/libc.so.6 s=__libc_start_main");
    assert_string_equal(found("./app(main+0x8f)"), "S- o=8f m=./app s=main");
    assert_string_equal(found("./app() [0x401136]"), "A- a=401136 m=./app");
    assert_string_equal(found("./app[0x401136]"), "A- a=401136 m=./app");
}

TEST(forms_of_perf)
{
    assert_string_equal(found("\t    55d0 main+0x14 (/usr/bin/app)"), "P a=55d0 o=14 m=/usr/bin/app s=main");
    assert_string_equal(found("\t    55d0 main (/usr/bin/app)\r"), "P a=55d0 m=/usr/bin/app s=main");
    assert_string_equal(found("  ffffffff81 [unknown] ([kernel.kallsyms])"),
                        "P a=ffffffff81 m=[kernel.kallsyms] s=[unknown]");
    assert_string_equal(found(" 1 a<b, (c)0>::operator() (int)+0x5 (/x) "),
                        "P a=1 o=5 m=/x s=a<b, (c)0>::operator() (int)");
    assert_string_equal(found("app 1 2.3: 1 cycles:  55d0 main+0x14 (/app)"), "P a=55d0 o=14 m=/app s=main");
}

TEST(forms_of_the_kernel)
{
    assert_string_equal(found("[ 1.2] RIP: 0010:oops+0x12/0x40 [ext4]"), "K o=12 z=40 m=ext4 s=oops");
    assert_string_equal(found("[ 1.2]  ? do_it.part.0+0x12/0x40"), "K- o=12 z=40 s=do_it.part.0");
    assert_string_equal(found(" f+0x1/0x2 [nvidia(OE)]"), "K- o=1 z=2 m=nvidia s=f");
    assert_string_equal(found(" f+0x1/0x2 [xfs 0123abcd]"), "K- o=1 z=2 m=xfs s=f b=0123abcd");
    assert_string_equal(found(" f+0x1/0x2 [nvidia(OE) 0123abcd]"), "K- o=1 z=2 m=nvidia s=f b=0123abcd");
    assert_string_equal(found("pc : f+0x1/0x2"), "K o=1 z=2 s=f");
    assert_string_equal(found("lr : f+0x1/0x2"), "K- o=1 z=2 s=f");
}

TEST(forms_of_the_kernel_with_an_address)
{
    assert_string_equal(found(" [<ffffffff81001234>] ? f+0x1/0x2"), "K- a=ffffffff81001234 o=1 z=2 s=f");
    assert_string_equal(found(" [<ffffffff81001234>] f+0x1/0x2 [ext4]"), "K- a=ffffffff81001234 o=1 z=2 m=ext4 s=f");
    assert_string_equal(found("IP: [<ffffffff81001234>] f+0x1/0x2"), "K a=ffffffff81001234 o=1 z=2 s=f");
    assert_string_equal(found("NIP [c000000000123456] .f+0x1/0x2"), "K o=1 z=2 s=.f");
    assert_string_equal(found("LR [c000000000123456] .f+0x1/0x2"), "K- o=1 z=2 s=.f");
    assert_string_equal(found("[<c0010f64>] (show_stack+0x10/0x14)"), "K- a=c0010f64 o=10 z=14 s=show_stack");
    assert_string_equal(found("PSW : 0704c00180000000 (f+0x1/0x2)."), "K o=1 z=2 s=f");
    assert_string_equal(found("PC is at f+0x1/0x2"), "K o=1 z=2 s=f");
    assert_string_equal(found("LR is at f+0x1/0x2"), "K- o=1 z=2 s=f");
    assert_string_equal(found("WARNING: CPU: 0 PID: 1 at kernel/fork.c:123 f+0x1/0x2"), "K o=1 z=2 s=f");
    assert_string_equal(found("epc : f+0x1/0x2"), "K o=1 z=2 s=f");
    assert_string_equal(found(" ra : f+0x1/0x2"), "K- o=1 z=2 s=f");
    assert_string_equal(found("epc   : 8010a4bc f+0x1/0x2"), "B a=8010a4bc");
}

TEST(bare_addresses_of_the_kernel)
{
    assert_string_equal(found(" [<ffffffff81001234>]"), "B- a=ffffffff81001234");
    assert_string_equal(found("RIP: 0010:[<ffffffff81001234>]"), "B a=ffffffff81001234");
    assert_string_equal(found("RIP: 0010:0xffffffff81001234"), "B a=ffffffff81001234");
    assert_string_equal(found("pc : [<c0012344>]    lr : [<c0012345>]"), "B a=c0012344");
    assert_string_equal(found("lr : [<c0012345>]"), "B- a=c0012345");
    assert_string_equal(found("goroutine: pc=0xffffffff81001234"), "B a=ffffffff81001234");
    assert_string_equal(found(" PC: 0xffffffff81001234"), "B a=ffffffff81001234");
    assert_string_equal(found(" epc : ffffffff80002a3c ra : ffffffff80002a10"), "B a=ffffffff80002a3c");
    assert_string_equal(found(" ra : ffffffff80002a10"), "B- a=ffffffff80002a10");
    assert_string_equal(found("NIP:  c000000000123456 LR: c000000000123460"), "B a=c000000000123456");
    assert_string_equal(found("[    1.2]  ? 0xffffffff81001234"), "B- a=ffffffff81001234");
    assert_string_equal(found("sp : ffffffff80002a3c"), "nothing");
    assert_string_equal(found("pc : 1234"), "nothing");
    assert_string_equal(found("npc=0xffffffff81001234 x"), "nothing");
}

TEST(text_that_only_looks_alike)
{
    static const char *const lines[] = {
        "",
        " ",
        "#",
        "#1",
        "#1 0x",
        "#1 0x12",
        "(+0x12)",
        "(a+0x)",
        "a+0x12",
        "()",
        "a(b)+0x1",
        "[0x1]",
        "f+0x1/0x",
        "f+0x1/2",
        "0x12 (a)",
        "12 main (a)",
        "( a+12)",
        "(a+0xg)",
        "()",
        "+0x1/0x2",
        "a(+0x",
        "(a(b)+0x1)",
        "x: y (z)",
        "RIP: 0010:f+1",
        "pc : 0x",
        "pc : 1234567",
        "[<>]",
        "[<12>",
        "[<12] >",
        "(a+0x1",
        "a[0x1",
        "#",
        "[]",
        "a()",
        "a() [0x]",
        " 12 main ",
        " 12 main ()",
        "(a+0x123456789abcdef01)",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_string_equal(found(lines[i]), "nothing");
}

TEST(says_where_the_answer_goes)
{
    static const char line[] = "x (app+0x1) #1 <null> <null> (lib+0x2) (BuildId: ab) end";
    struct sxt_text_match match;
    assert_true(sxt_text_match_next(line, strlen(line), 0, &match));
    assert_int_equal(match.start, strcspn(line, "("));
    assert_int_equal(match.from, match.to);
    assert_int_equal(match.end, match.from);
    assert_int_equal(line[match.end - 1], ')');
    assert_true(sxt_text_match_next(line, strlen(line), match.end, &match));
    assert_memory_equal(line + match.start, "#1 ", 3);
    assert_memory_equal(line + match.from, "<null> <null>", 13);
    assert_int_equal(match.to - match.from, 13);
    assert_memory_equal(line + match.end, " end", 4);
    assert_false(sxt_text_match_next(line, strlen(line), match.end, &match));
}
