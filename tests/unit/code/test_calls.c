/* test_calls.c: what is a call and what is not, byte by byte; what happens between instructions; and the quick decoder
 * of x86 against the complete one. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/file.h"
#include "code/private.h"
#include "support/random.h"
#include "support/test.h"

struct example {
    const char *what;
    const char *bytes;
    size_t size;
    const char *calls; /* "OFFSET+LENGTH ..." */
};

#define BYTES(text) text, sizeof(text) - 1

struct list {
    char text[400];
    size_t size;
    unsigned count, most;
    uint64_t base;
};

static bool note_call(void *context, uint64_t address, unsigned length)
{
    struct list *list = context;
    list->size += (size_t)snprintf(list->text + list->size, sizeof list->text - list->size, "%s%llu+%u",
                                   list->size > 0 ? " " : "", (unsigned long long)(address - list->base), length);
    assert_true(list->size < sizeof list->text);
    return ++list->count != list->most;
}

/* The bytes are given in memory of exactly their size, so that AddressSanitizer sees every step too far. */
static struct list find(uint16_t machine, const char *bytes, size_t size)
{
    struct list list = {.base = 0x401000};
    uint8_t *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, bytes, size);
    assert_int_equal(sxt_code_find_calls(machine, true, false, exact, size, list.base, note_call, &list, NULL), SXT_OK);
    free(exact);
    return list;
}

static void check(uint16_t machine, const struct example *example)
{
    struct list list = find(machine, example->bytes, example->size);
    if (strcmp(list.text, example->calls) != 0)
        fail_msg("%s: \"%s\" instead of \"%s\"", example->what, list.text, example->calls);
}

static void check_all(uint16_t machine, const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(machine, &examples[i]);
}

/* Unchanged, with enough bytes after them for the quick decoder, and cut off everywhere. */
static void check_64(const struct example *examples, size_t count)
{
    check_all(EM_X86_64, examples, count);
    for (size_t i = 0; i < count; i++) {
        char padded[64];
        struct example longer = examples[i];
        memset(padded, 0x90, sizeof padded);
        memcpy(padded, longer.bytes, longer.size);
        longer.bytes = padded;
        longer.size = sizeof padded;
        check(EM_X86_64, &longer);
        for (size_t size = 0; size < examples[i].size; size++)
            (void)find(EM_X86_64, examples[i].bytes, size);
    }
}

#define CHECK_64(examples) check_64(examples, sizeof(examples) / sizeof *(examples))

TEST(every_kind_of_x86_call_is_found)
{
    static const struct example examples[] = {
        {"call rel32", BYTES("\xe8\x01\x02\x03\x04"), "0+5"},
        {"call *%rax", BYTES("\xff\xd0"), "0+2"},
        {"call *%r11", BYTES("\x41\xff\xd3"), "0+3"},
        {"rex.W call *%rax", BYTES("\x48\xff\xd0"), "0+3"},
        {"call *(%rax)", BYTES("\xff\x10"), "0+2"},
        {"call *8(%rax)", BYTES("\xff\x50\x08"), "0+3"},
        {"call *0x100(%rax)", BYTES("\xff\x90\x00\x01\x00\x00"), "0+6"},
        {"call *8(%rsp)", BYTES("\xff\x54\x24\x08"), "0+4"},
        {"call *(%rsp)", BYTES("\xff\x14\x24"), "0+3"},
        {"call *0x10(,%rax,8)", BYTES("\xff\x14\xc5\x10\x00\x00\x00"), "0+7"},
        {"call *0x100(%r12,%rcx,8)", BYTES("\x41\xff\x94\xcc\x00\x01\x00\x00"), "0+8"},
        {"call *1(%rip)", BYTES("\xff\x15\x01\x00\x00\x00"), "0+6"},
        {"call *%fs:0x10", BYTES("\x64\xff\x14\x25\x10\x00\x00\x00"), "0+8"},
        {"lcall *(%rsp)", BYTES("\xff\x1c\x24"), "0+3"},
        {"rex.W lcall *(%rsp)", BYTES("\x48\xff\x1c\x24"), "0+4"},
        {"bnd call rel32", BYTES("\xf2\xe8\x01\x02\x03\x04"), "0+6"},
        {"bnd call *%rax", BYTES("\xf2\xff\xd0"), "0+3"},
        {"notrack call *%rax", BYTES("\x3e\xff\xd0"), "0+3"},
        {"notrack call *%r10", BYTES("\x3e\x41\xff\xd2"), "0+4"},
        {"addr32 call rel32", BYTES("\x67\xe8\x01\x02\x03\x04"), "0+6"},
        {"data16 rex.W call rel32", BYTES("\x66\x48\xe8\x01\x02\x03\x04"), "0+7"},
        {"data16 data16 rex.W call rel32", BYTES("\x66\x66\x48\xe8\x01\x02\x03\x04"), "0+8"},
        {"data16 rex.W call *1(%rip)", BYTES("\x66\x48\xff\x15\x01\x00\x00\x00"), "0+8"},
        {"callw rel16, as AMD and objdump have it", BYTES("\x66\xe8\x01\x02"), "0+4"},
        {"syscall", BYTES("\x0f\x05"), "0+2"},
        {"rex.W syscall", BYTES("\x48\x0f\x05"), "0+3"},
        {"int $0x80", BYTES("\xcd\x80"), "0+2"},
        {"int $3", BYTES("\xcd\x03"), "0+2"},
        {"several", BYTES("\x55\xe8\x01\x02\x03\x04\x0f\x05\xff\xd0\xc3"), "1+5 6+2 8+2"},
    };
    CHECK_64(examples);
}

TEST(nothing_else_of_x86_is_a_call)
{
    static const struct example examples[] = {
        {"int3", BYTES("\xcc"), ""},
        {"nop", BYTES("\x90"), ""},
        {"int1", BYTES("\xf1"), ""},
        {"into is gone", BYTES("\xce\x90"), ""},
        {"sysenter", BYTES("\x0f\x34"), ""},
        {"sysret", BYTES("\x48\x0f\x07"), ""},
        {"jmp rel32", BYTES("\xe9\x01\x02\x03\x04"), ""},
        {"jmp rel8", BYTES("\xeb\xe8"), ""},
        {"jmp *%rax", BYTES("\xff\xe0"), ""},
        {"jmp *1(%rip)", BYTES("\xff\x25\x01\x00\x00\x00"), ""},
        {"notrack jmp *%rax", BYTES("\x3e\xff\xe0"), ""},
        {"ljmp *(%rsp)", BYTES("\xff\x2c\x24"), ""},
        {"inc, dec, push", BYTES("\xff\xc0\xff\xc8\xff\xf0\xff\x74\x24\xe8"), ""},
        {"je rel32", BYTES("\x0f\x84\xe8\x00\x00\x00"), ""},
        {"ret, ret imm16, iretq", BYTES("\xc3\xc2\xe8\x00\x48\xcf"), ""},
        {"far call with an address is gone", BYTES("\x9a\x90\x90"), ""},
        {"lcall *%rax is none", BYTES("\xff\xd8\x90"), ""},
        {"nop with 9 bytes", BYTES("\x66\x0f\x1f\x84\xe8\xe8\xe8\xe8\xe8"), ""},
        {"endbr64", BYTES("\xf3\x0f\x1e\xfa"), ""},
        {"ud2, hlt, pause", BYTES("\x0f\x0b\xf4\xf3\x90"), ""},
        {"mov $0xe8e8e8e8,%eax", BYTES("\xb8\xe8\xe8\xe8\xe8"), ""},
        {"mov $0xe8e8,%ax", BYTES("\x66\xb8\xe8\xe8"), ""},
        {"movabs", BYTES("\x48\xb8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8"), ""},
        {"movabs from an address", BYTES("\x48\xa1\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8"), ""},
        {"the same with 4 bytes", BYTES("\x67\xa1\xe8\xe8\xe8\xe8"), ""},
        {"testb, testl, testw, not", BYTES("\xf6\xc0\xe8\xf7\xc0\xe8\xe8\xe8\xe8\x66\xf7\xc0\xe8\xe8\xf7\xd0"), ""},
        {"enter", BYTES("\xc8\xe8\xe8\xe8"), ""},
        {"movb, movl, movw", BYTES("\xc6\x00\xe8\xc7\x00\xe8\xe8\xe8\xe8\x66\xc7\x00\xe8\xe8"), ""},
        {"xbegin", BYTES("\xc7\xf8\xe8\xe8\xe8\xe8"), ""},
        {"imul", BYTES("\x69\xc0\xe8\xe8\xe8\xe8\x6b\xc0\xe8"), ""},
        {"lock cmpxchg", BYTES("\xf0\x0f\xb1\x15\xe8\xe8\xe8\xe8"), ""},
        {"vmovups", BYTES("\xc5\xf8\x10\x05\xe8\xe8\xe8\xe8"), ""},
        {"vpalignr", BYTES("\xc4\xe3\x71\x0f\xc2\xe8"), ""},
        {"vmovdqu64", BYTES("\x62\xf1\xfe\x48\x6f\x05\xe8\xe8\xe8\xe8"), ""},
        {"pshufd, pcmpistri", BYTES("\x66\x0f\x70\xc0\xe8\x66\x0f\x3a\x63\xc1\xe8"), ""},
        {"fld", BYTES("\xdd\x05\xe8\xe8\xe8\xe8"), ""},
        {"pfadd", BYTES("\x0f\x0f\xc1\x9e"), ""},
    };
    CHECK_64(examples);
}

TEST(a_search_continues_after_invalid_bytes)
{
    static const struct example examples[] = {
        {"bytes that mean nothing", BYTES("\x06\x07\x0e\xe8\x01\x02\x03\x04"), "3+5"},
        {"with prefixes", BYTES("\x66\x06\x48\x06\xe8\x01\x02\x03\x04"), "4+5"},
        {"lcall of a register, whose second byte begins another", BYTES("\xff\xd8\xcd\x80\xcd\x80\x90"), ""},
        {"a lock that must not be there", BYTES("\xf0\xe8\x01\x02\x03\x04"), "1+5"},
        {"damaged VEX", BYTES("\xc4\xff\xff\xe8\x01\x02\x03\x04"), "3+5"},
        {"3DNow that is none", BYTES("\x0f\x0f\xc1\xe8\xff\xd0"), "4+2"},
        {"data16 vzeroupper", BYTES("\x66\xc5\xf8\x77\xff\xd0"), "4+2"},
        {"15 bytes", BYTES("\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\xe8\x01\x02\x03\x04"), "0+15"},
        {"16 bytes are too many", BYTES("\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\xe8\x01\x02\x03\x04"), "1+15"},
    };
    CHECK_64(examples);
}

TEST(what_is_cut_off_is_no_call)
{
    static const struct example examples[] = {
        {"nothing", BYTES(""), ""},
        {"call", BYTES("\xe8\x01\x02\x03"), ""},
        {"call through memory", BYTES("\xff\x15\x01\x02\x03"), ""},
        {"its SIB byte", BYTES("\xff\x14"), ""},
        {"its ModRM", BYTES("\xff"), ""},
        {"syscall", BYTES("\x90\x0f"), ""},
        {"int", BYTES("\x90\xcd"), ""},
        {"only prefixes", BYTES("\x66\x66\x48"), ""},
        {"after a whole one", BYTES("\xe8\x01\x02\x03\x04\xe8\x01\x02\x03"), "0+5"},
        {"a new vector instruction", BYTES("\xc4\xe2\xf1\xb4\x90\x01\x02\x03"), ""},
        {"its SIB byte", BYTES("\xc4\xe2\xf1\xb4\x94"), ""},
        {"its ModRM", BYTES("\xc4\xe2\xf1\xb4"), ""},
        {"its opcode", BYTES("\xc4\xe2\xf1"), ""},
        {"EVEX", BYTES("\x62\xf1\xfe\x48"), ""},
        {"VEX of 2 bytes", BYTES("\xc5\xf8"), ""},
        {"a long map", BYTES("\x0f\x38"), ""},
        {"movups with so many prefixes that 15 bytes end before its address does",
         BYTES("\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x48\x0f\x10\x84"), ""},
    };
    check_all(EM_X86_64, examples, sizeof examples / sizeof *examples);
}

/* A decoder that is older than these would take the bytes of an address for calls. */
TEST(instructions_that_are_newer_than_the_decoder_are_stepped_over)
{
    static const struct example examples[] = {
        {"vpmadd52luq", BYTES("\xc4\xe2\xf1\xb4\x90\xe8\xe8\xe8\x00\xff\xd0"), "9+2"},
        {"vpmadd52huq", BYTES("\xc4\xe2\xf5\xb5\x94\xd8\xe8\xe8\xe8\x00\xff\xd0"), "10+2"},
        {"cmpbexadd", BYTES("\xc4\xe2\x79\xe6\x98\xe8\xe8\xe8\x00\xff\xd0"), "9+2"},
        {"vbcstnebf162ps", BYTES("\xc4\xe2\x7a\xb1\x0d\xe8\xe8\xe8\x00\xff\xd0"), "9+2"},
        {"aadd", BYTES("\x0f\x38\xfc\x80\xe8\xe8\xe8\x00\xff\xd0"), "8+2"},
        {"aand", BYTES("\x66\x49\x0f\x38\xfc\x81\xe8\xe8\xe8\x00\xff\xd0"), "10+2"},
        {"tdpfp16ps", BYTES("\xc4\xe2\x73\x5c\xda\xff\xd0"), "5+2"},
        {"%fs:", BYTES("\x64\xc4\xe2\xf1\xb4\x90\xe8\xe8\xe8\x00\xff\xd0"), "10+2"},
    };
    CHECK_64(examples);
}

TEST(their_length_is_a_matter_of_form)
{
    static const struct {
        const char *bytes;
        size_t size;
        unsigned length;
    } forms[] = {
        {BYTES("\xc5\xf3\x10\xc0"), 4},             /* map 1 */
        {BYTES("\xc5\xf3\x73\xc0\x01"), 5},         /* with an immediate, by opcode */
        {BYTES("\xc5\xf3\xc4\xc0\x01"), 5},         /* the same */
        {BYTES("\xc5\xc8\x77\xc0"), 0},             /* no ModRM: not of that form */
        {BYTES("\xc4\xe2\x71\xff\xc0"), 5},         /* map 2 */
        {BYTES("\xc4\xe3\x71\xff\xc0\x01"), 6},     /* map 3: always with an immediate */
        {BYTES("\xc4\xe3\x71\xff\xc0"), 0},         /* which is missing */
        {BYTES("\xc4\xe5\x71\xff\xc0\x01"), 0},     /* no such map */
        {BYTES("\x62\xf6\x7d\x48\xff\x00"), 6},     /* EVEX, map 6 */
        {BYTES("\x62\xf4\x7d\x48\xff\x00"), 0},     /* map 4: other rules */
        {BYTES("\x62\xf8\x7d\x48\xff\x00"), 0},     /* a bit that must not be set */
        {BYTES("\x62\xf1\x79\x48\xff\x00"), 0},     /* one that must */
        {BYTES("\x0f\x38\xff\xc0"), 4},             /* map 2, without VEX */
        {BYTES("\xf3\x66\x41\x0f\x38\xff\xc0"), 7}, /* prefixes and REX */
        {BYTES("\x0f\x3a\xff\xc0\x01"), 5},         /* map 3 */
        {BYTES("\x0f\x39\xff\xc0\x01"), 0},         /* no map */
        {BYTES("\x64\x67\xc4\xe2\x71\xff\xc0"), 7}, /* prefixes that go with VEX */
        {BYTES("\x66\xc4\xe2\x71\xff\xc0"), 0},     /* and one that does not */
        {BYTES("\x48\xc4\xe2\x71\xff\xc0"), 0},     /* nor does REX */
        {BYTES("\x90"), 0},
        {BYTES(""), 0},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        unsigned length = sxt_x86_new_length((const uint8_t *)forms[i].bytes, forms[i].size);
        if (length != forms[i].length)
            fail_msg("form %zu: %u bytes instead of %u", i, length, forms[i].length);
    }
    const char *prefixes = "\x64\x64\x64\x64\x64\x64\x64\x64\x64\x64\x64\xc5\xf3\x10\xc0";
    assert_int_equal(sxt_x86_new_length((const uint8_t *)prefixes, 15), 15);
    assert_int_equal(
        sxt_x86_new_length((const uint8_t *)"\x64\x64\x64\x64\x64\x64\x64\x64\x64\x64\x64\x64\xc5\xf3\x10\xc0", 16), 0);
}

TEST(code_of_32_bits_has_some_more)
{
    static const struct example examples[] = {
        {"call rel32", BYTES("\xe8\x01\x02\x03\x04"), "0+5"},
        {"lcall $5,$0x4030201", BYTES("\x9a\x01\x02\x03\x04\x05\x00"), "0+7"},
        {"inc %eax; call *%eax", BYTES("\x40\xff\xd0"), "1+2"},
        {"into", BYTES("\xce"), "0+1"},
        {"les, lds", BYTES("\xc4\x00\xc5\x00\xcd\x80"), "4+2"},
        {"pusha, push %es", BYTES("\x60\x06\xe8\x01\x02\x03\x04"), "2+5"},
        {"int3, sysenter", BYTES("\xcc\x0f\x34"), ""},
        {"enough for the quick decoder, which must not be asked",
         BYTES("\x40\xff\xd0\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"), "1+2"},
        {"vpmadd52luq", BYTES("\xc4\xe2\xf1\xb4\x90\xe8\xe8\xe8\x00\xff\xd0"), "9+2"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct list list = {.base = 0};
        assert_int_equal(sxt_code_find_calls(EM_386, false, false, (const uint8_t *)examples[i].bytes, examples[i].size,
                                             0, note_call, &list, NULL),
                         SXT_OK);
        assert_string_equal(list.text, examples[i].calls);
    }
}

struct word {
    uint32_t instruction;
    bool call;
};

/* Encodings as an assembler gives them. */
static const struct word words[] = {
    {0x94000001, true},  /* bl .+4 */
    {0x97ffffff, true},  /* bl .-4 */
    {0x95555555, true},  /* bl */
    {0xd63f0000, true},  /* blr x0 */
    {0xd63f03c0, true},  /* blr x30 */
    {0xd73f0820, true},  /* blraa x1, x0 */
    {0xd73f083f, true},  /* blraa x1, sp */
    {0xd63f083f, true},  /* blraaz x1 */
    {0xd73f0c41, true},  /* blrab x2, x1 */
    {0xd63f0c3f, true},  /* blrabz x1 */
    {0xd4000001, true},  /* svc #0 */
    {0xd41fffe1, true},  /* svc #0xffff */
    {0x14000001, false}, /* b .+4 */
    {0x17ffffff, false}, /* b .-4 */
    {0x54000020, false}, /* b.eq .+4 */
    {0xb4000020, false}, /* cbz x0, .+4 */
    {0xd61f0000, false}, /* br x0 */
    {0xd71f0820, false}, /* braa x1, x0 */
    {0xd61f083f, false}, /* braaz x1 */
    {0xd71f0c41, false}, /* brab x2, x1 */
    {0xd61f0c3f, false}, /* brabz x1 */
    {0xd65f03c0, false}, /* ret */
    {0xd65f0bff, false}, /* retaa */
    {0xd65f0fff, false}, /* retab */
    {0xd69f03e0, false}, /* eret */
    {0xd4000002, false}, /* hvc #0 */
    {0xd4000003, false}, /* smc #0 */
    {0xd4200000, false}, /* brk #0 */
    {0xd4400000, false}, /* hlt #0 */
    {0xd4a00001, false}, /* dcps1 */
    {0xd503201f, false}, /* nop */
    {0xd63f0001, false}, /* nothing: near blr */
    {0xd63f0400, false}, /* nothing: near blr */
    {0xd63f0820, false}, /* nothing: near blraaz */
    {0xd73f0020, false}, /* nothing: near blraa */
    {0xd73f1020, false}, /* nothing: near blraa */
    {0x00000000, false}, /* udf #0 */
};

TEST(aarch64_has_five_patterns)
{
    for (unsigned big_endian = 0; big_endian < 2; big_endian++) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const uint32_t instruction = words[i].instruction;
            const uint8_t code[] = {(uint8_t)instruction, (uint8_t)(instruction >> 8), (uint8_t)(instruction >> 16),
                                    (uint8_t)(instruction >> 24)};
            struct list list = {.base = 0};
            assert_int_equal(sxt_code_find_calls(EM_AARCH64, true, big_endian, code, 4, 0, note_call, &list, NULL),
                             SXT_OK);
            if ((list.count == 1) != words[i].call)
                fail_msg("%08x: %s", instruction, list.count ? "is no call" : "is a call");
        }
    }
}

TEST(aarch64_goes_word_by_word)
{
    static const struct example examples[] = {
        {"nothing", BYTES(""), ""},
        {"part of a word", BYTES("\x01\x00\x00"), ""},
        {"data between",
         BYTES("\x01\x00\x00\x94\xff\xff\xff\xff\x00\x00\x3f\xd6\x1f\x20\x03\xd5\x01\x00\x00\xd4\x01\x00\x00"),
         "0+4 8+4 16+4"},
        {"only whole words", BYTES("\x1f\x01\x00\x00\x94\x20\x03\xd5"), ""},
    };
    check_all(EM_AARCH64, examples, sizeof examples / sizeof *examples);
}

TEST(the_listener_may_stop)
{
    static const char x86[] = "\xff\xd0\xff\xd0\xff\xd0\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90";
    static const char arm[] = "\x01\x00\x00\x94\x01\x00\x00\x94\x01\x00\x00\x94";
    for (unsigned most = 1; most <= 3; most++) {
        struct list list = {.most = most}, short_list = {.most = most}, arm_list = {.most = most};
        assert_int_equal(sxt_code_find_calls(EM_X86_64, true, false, (const uint8_t *)x86, sizeof x86 - 1, 0, note_call,
                                             &list, NULL),
                         SXT_OK);
        assert_int_equal(
            sxt_code_find_calls(EM_X86_64, true, false, (const uint8_t *)x86, 6, 0, note_call, &short_list, NULL),
            SXT_OK);
        assert_int_equal(sxt_code_find_calls(EM_AARCH64, true, false, (const uint8_t *)arm, sizeof arm - 1, 0,
                                             note_call, &arm_list, NULL),
                         SXT_OK);
        assert_int_equal(list.count, most);
        assert_int_equal(short_list.count, most);
        assert_int_equal(arm_list.count, most);
    }
}

TEST(addresses_are_those_of_the_code)
{
    static const char code[] = "\x90\xff\xd0";
    struct list list = {.base = UINT64_MAX};
    assert_int_equal(
        sxt_code_find_calls(EM_X86_64, true, false, (const uint8_t *)code, 3, UINT64_MAX, note_call, &list, NULL),
        SXT_OK);
    assert_string_equal(list.text, "1+2");
}

TEST(other_machines_are_refused)
{
    assert_true(sxt_code_knows(EM_X86_64, true, false));
    assert_true(sxt_code_knows(EM_X86_64, false, false));
    assert_true(sxt_code_knows(EM_386, false, false));
    assert_true(sxt_code_knows(EM_AARCH64, true, false));
    assert_true(sxt_code_knows(EM_AARCH64, true, true));
    assert_true(sxt_code_knows(EM_AARCH64, false, false));
    assert_false(sxt_code_knows(EM_X86_64, true, true));
    assert_false(sxt_code_knows(EM_386, true, false));
    assert_false(sxt_code_knows(EM_386, false, true));
    assert_false(sxt_code_knows(EM_ARM, false, false));
    assert_false(sxt_code_knows(EM_RISCV, true, false));
    assert_false(sxt_code_knows(EM_NONE, true, false));

    const uint8_t code[] = {0xe8, 1, 2, 3, 4};
    struct list list = {0};
    sxt_error error;
    assert_int_equal(sxt_code_find_calls(EM_RISCV, true, false, code, sizeof code, 0, note_call, &list, &error),
                     SXT_ERROR_UNSUPPORTED);
    assert_int_equal(error.code, SXT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "machine 243"));
    assert_int_equal(list.count, 0);
}

/* --- the quick decoder of x86-64 against the complete one --- */

static ZydisDecoder complete_decoder(void)
{
    ZydisDecoder decoder;
    assert_true(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
                ZYAN_SUCCESS(ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_TRUE)));
    return decoder;
}

static unsigned complete_length(const ZydisDecoder *decoder, const uint8_t *code, size_t size, bool *call)
{
    ZydisDecodedInstruction found;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, code, size, &found)))
        return 0;
    *call = found.mnemonic == ZYDIS_MNEMONIC_CALL || found.mnemonic == ZYDIS_MNEMONIC_SYSCALL ||
            found.mnemonic == ZYDIS_MNEMONIC_INT;
    return found.length;
}

/* True when there was an answer to compare. */
static bool compare(const ZydisDecoder *decoder, const uint8_t *code)
{
    bool call = false, expected_call = false;
    unsigned length = sxt_x86_quick_length(code, &call);
    if (length == 0)
        return false;
    unsigned expected = complete_length(decoder, code, SXT_X86_LENGTH_MAX, &expected_call);
    if (length != expected || call != expected_call)
        fail_msg("%02x %02x %02x %02x %02x %02x %02x %02x ...: %u bytes%s instead of %u%s", code[0], code[1], code[2],
                 code[3], code[4], code[5], code[6], code[7], length, call ? " (call)" : "", expected,
                 expected_call ? " (call)" : "");
    return true;
}

TEST(quick_and_complete_agree_on_every_opcode)
{
    static const char *const prefixes[] = {"",         "\x66",     "\xf2",     "\xf3",         "\x67",
                                           "\x2e",     "\x3e",     "\x65",     "\xf0",         "\x66\xf2",
                                           "\xf3\x66", "\xf2\xf3", "\x67\x66", "\x66\x66\x2e", "\x65\x66\x66\xf2"};
    static const uint8_t rex_prefixes[] = {0, 0x40, 0x45, 0x48, 0x4f};
    ZydisDecoder decoder = complete_decoder();
    size_t compared = 0, all = 0;
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
        for (size_t r = 0; r < sizeof rex_prefixes; r++) {
            for (unsigned opcode = 0; opcode < 512; opcode++) {
                uint8_t code[SXT_X86_LENGTH_MAX] = {0};
                size_t size = strlen(prefixes[p]);
                memcpy(code, prefixes[p], size);
                if (rex_prefixes[r] != 0)
                    code[size++] = rex_prefixes[r];
                if (opcode >= 256)
                    code[size++] = 0x0f;
                code[size++] = (uint8_t)opcode;
                for (unsigned modrm = 0; modrm < 256; modrm++, all++) {
                    code[size] = (uint8_t)modrm;
                    code[size + 1] = (uint8_t)(modrm * 7 + opcode); /* the SIB byte */
                    compared += compare(&decoder, code);
                }
            }
        }
    }
    assert_true(compared > all / 2); /* otherwise it is not worth having */
}

TEST(quick_and_complete_agree_on_random_bytes)
{
    struct sxt_test_random random = {1};
    ZydisDecoder decoder = complete_decoder();
    for (unsigned i = 0; i < 300000; i++) {
        uint64_t bytes[2] = {sxt_test_next(&random), sxt_test_next(&random)};
        compare(&decoder, (const uint8_t *)bytes);
    }
}

/* Every place in this very program, as if all of it were code; most of it is. */
TEST(quick_and_complete_agree_on_real_code)
{
    struct sxt_file file;
    sxt_error error;
    assert_int_equal(sxt_file_open(&file, "/proc/self/exe", &error), SXT_OK);
    ZydisDecoder decoder = complete_decoder();
    size_t compared = 0, most = file.size < 2000000 ? file.size : 2000000;
    for (size_t at = 0; at + SXT_X86_LENGTH_MAX <= most; at++)
        compared += compare(&decoder, file.data + at);
    assert_true(compared > most / 4);
    sxt_file_close(&file);
}
