/* test_disassemble.c: listings of code, byte by byte, and the unified diff of two listings. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/code.h"
#include "support/random.h"
#include "support/test.h"

#define BYTES(text) text, sizeof(text) - 1
#define BASE        0x401000

/* --- listings --- */

/* Addresses by themselves, so that a listing shows what was asked for. */
static void put_address(void *context, uint64_t address, struct sxt_buffer *out)
{
    (void)context;
    sxt_buffer_print(out, "<%llx>", (unsigned long long)address);
}

/* The bytes are given in memory of exactly their size, so that AddressSanitizer sees every step too far. */
static void check_at(uint16_t machine, uint64_t address, const char *bytes, size_t size, const char *wanted)
{
    struct sxt_buffer out;
    uint8_t *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, bytes, size);
    struct sxt_code_piece piece = {
        .machine = machine, .is_64 = machine == EM_X86_64, .bytes = exact, .size = size, .address = address};
    sxt_buffer_init(&out, 1 << 20);
    assert_int_equal(sxt_code_list(&piece, put_address, NULL, &out, NULL), SXT_OK);
    sxt_buffer_u8(&out, 0);
    assert_string_equal((const char *)out.data, wanted);
    sxt_buffer_free(&out);
    free(exact);
}

static void check(uint16_t machine, const char *bytes, size_t size, const char *wanted)
{
    check_at(machine, BASE, bytes, size, wanted);
}

TEST(syntax_is_that_of_objdump)
{
    check(EM_X86_64, BYTES("\x55\x48\x89\xe5\x48\x83\xec\x10\x5d\xc3"),
          "     0:\tpush %rbp\n     1:\tmov %rsp, %rbp\n     4:\tsub $0x10, %rsp\n     8:\tpop %rbp\n     9:\tret\n");
    check(EM_386, BYTES("\x55\x89\xe5\x8b\x45\x08"),
          "     0:\tpush %ebp\n     1:\tmov %esp, %ebp\n"
          "     3:\tmov 0x8(%ebp), %eax\n");
}

TEST(addresses_get_names)
{
    check(EM_X86_64, BYTES("\xe8\xfb\x0f\x00\x00"), "     0:\tcall <402000>\n");
    check(EM_X86_64, BYTES("\x90\x74\xfe"), "     0:\tnop\n     1:\tjz <401001>\n");
    check(EM_X86_64, BYTES("\x48\x8d\x05\xf9\x2f\x00\x00"), "     0:\tlea <404000>(%rip), %rax\n");
    /* The address is relative to the end of the immediate after it. */
    check(EM_X86_64, BYTES("\xc7\x05\xf6\x2f\x00\x00\x07\x00\x00\x00"), "     0:\tmovl $0x7, <404000>(%rip)\n");
    check(EM_X86_64, BYTES("\xff\x25\xfa\x2f\x00\x00"), "     0:\tjmp *<404000>(%rip)\n");
    check(EM_X86_64, BYTES("\xff\x15\xfa\x2f\x00\x00"), "     0:\tcall *<404000>(%rip)\n");
    check(EM_386, BYTES("\xa1\x00\x40\x40\x00"), "     0:\tmov <404000>, %eax\n");
    check(EM_386, BYTES("\xe8\xfb\x0f\x00\x00"), "     0:\tcall <402000>\n");
}

/* An offset in thread-local memory, and one from a register, are no addresses of the file. */
TEST(what_is_no_address_stays)
{
    check(EM_X86_64, BYTES("\x64\x48\x8b\x04\x25\x28\x00\x00\x00"), "     0:\tmov %fs:0x28, %rax\n");
    check(EM_X86_64, BYTES("\x8b\x83\x00\x10\x40\x00"), "     0:\tmov 0x401000(%rbx), %eax\n");
    check(EM_X86_64, BYTES("\xbf\x00\x10\x40\x00"), "     0:\tmov $0x401000, %edi\n");
}

TEST(indirect_branches_have_a_star)
{
    check(EM_X86_64, BYTES("\xff\xd0"), "     0:\tcall *%rax\n");
    check(EM_X86_64, BYTES("\xff\xe0"), "     0:\tjmp *%rax\n");
    check(EM_X86_64, BYTES("\x3e\xff\xe0"), "     0:\tnotrack jmp *%rax\n");
    check(EM_X86_64, BYTES("\xff\x60\x08"), "     0:\tjmp *0x8(%rax)\n");
    check(EM_X86_64, BYTES("\xff\x24\xc5\x00\x40\x40\x00"), "     0:\tjmp *0x404000(,%rax,8)\n");
    check(EM_386, BYTES("\xff\x25\x00\x40\x40\x00"), "     0:\tjmp *<404000>\n");
}

TEST(where_code_lies_does_not_show)
{
    static const char code[] = "\x48\x89\xf8\x48\x83\xc0\x07\xc3";
    static const char wanted[] = "     0:\tmov %rdi, %rax\n     3:\tadd $0x7, %rax\n     7:\tret\n";
    check_at(EM_X86_64, BASE, BYTES(code), wanted);
    check_at(EM_X86_64, 0xffffffff81000000, BYTES(code), wanted);
    check_at(EM_X86_64, 0, BYTES(code), wanted);
}

TEST(bytes_that_are_no_instruction)
{
    check(EM_X86_64, BYTES("\x06\x90"), "     0:\t.byte 0x06\n     1:\tnop\n");
    check(EM_X86_64, BYTES("\xe8\x01"), "     0:\t.byte 0xe8\n     1:\t.byte 0x01\n");
    check(EM_X86_64, "", 0, "");
}

TEST(any_bytes_are_listed_to_the_end)
{
    struct sxt_test_random random = {7};
    for (int round = 0; round < 300; round++) {
        size_t size = 1 + sxt_test_below(&random, 60);
        uint8_t *bytes = malloc(size);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)sxt_test_below(&random, 256);
        struct sxt_code_piece piece = {.machine = round % 2 ? EM_X86_64 : EM_386,
                                       .is_64 = round % 2,
                                       .bytes = bytes,
                                       .size = size,
                                       .address = BASE,
                                       .is_intel = round % 4 > 1};
        struct sxt_buffer out;
        sxt_buffer_init(&out, 1 << 20);
        assert_int_equal(sxt_code_list(&piece, put_address, NULL, &out, NULL), SXT_OK);
        assert_true(out.size > 0 && out.data[out.size - 1] == '\n');
        sxt_buffer_free(&out);
        free(bytes);
    }
}

/* --- machines that libcapstone lists --- */

static void check_other(struct sxt_code_piece piece, const char *bytes, size_t size, const char *wanted)
{
    struct sxt_buffer out;
    sxt_error error;
    uint8_t *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, bytes, size);
    piece.bytes = exact;
    piece.size = size;
    piece.address = BASE;
    sxt_buffer_init(&out, 1 << 20);
    int status = sxt_code_list(&piece, put_address, NULL, &out, &error);
    if (status != SXT_OK)
        fail_msg("%s", error.text);
    sxt_buffer_u8(&out, 0);
    assert_string_equal((const char *)out.data, wanted);
    sxt_buffer_free(&out);
    free(exact);
}

TEST(intel_syntax_has_names_for_targets_only)
{
    const struct sxt_code_piece piece = {.machine = EM_X86_64, .is_64 = true, .is_intel = true};
    check_other(piece, BYTES("\x55\x48\x89\xe5\xe8\xf7\x0f\x00\x00"),
                "     0:\tpush rbp\n     1:\tmov rbp, rsp\n     4:\tcall <402000>\n");
    check_other(piece, BYTES("\x48\x8d\x05\xf9\x2f\x00\x00\x74\xfe"),
                "     0:\tlea rax, [rip+0x2ff9]\n     7:\tjz <401007>\n");
    check_other(piece, BYTES("\x8b\x04\x25\x10\x40\x40\x00\xff\x25\xfa\x2f\x00\x00"),
                "     0:\tmov eax, [0x404010]\n     7:\tjmp [rip+0x2ffa]\n");
}

TEST(the_last_instruction_may_go_beyond_the_stop)
{
    size_t end = 99;
    struct sxt_code_piece piece = {.machine = EM_X86_64, .is_64 = true, .stop = 2, .end = &end};
    check_other(piece, BYTES("\x55\x48\x89\xe5\x5d"), "     0:\tpush %rbp\n     1:\tmov %rsp, %rbp\n");
    assert_int_equal(end, 4);
    piece.stop = 100;
    check_other(piece, BYTES("\x55\x5d"), "     0:\tpush %rbp\n     1:\tpop %rbp\n");
    assert_int_equal(end, 2);
    piece = (struct sxt_code_piece){.machine = EM_AARCH64, .is_64 = true, .stop = 1, .end = &end};
    check_other(piece, BYTES("\x1f\x20\x03\xd5\x1f\x20\x03\xd5"), "     0:\tnop\n");
    assert_int_equal(end, 4);
}

TEST(aarch64_has_names_for_addresses_only)
{
    const struct sxt_code_piece piece = {.machine = EM_AARCH64, .is_64 = true};
    check_other(piece, BYTES("\xfd\x7b\xbf\xa9\xff\x03\x00\x94\x40\x00\x00\x54"),
                "     0:\tstp\tx29, x30, [sp, #-0x10]!\n     4:\tbl\t<402000>\n     8:\tb.eq\t<401010>\n");
    check_other(piece, BYTES("\x00\x00\x00\x90\x20\x40\x00\x11\x20\x84\x40\xf8\x60\x00\x00\x58"),
                "     0:\tadrp\tx0, <401000>\n     4:\tadd\tw0, w1, #0x10\n     8:\tldr\tx0, [x1], #8\n"
                "     c:\tldr\tx0, <401018>\n");
    /* An offset that is added to a register afterwards is not an address. */
    check_other(piece, BYTES("\x20\x04\x41\xf8\xc0\x03\x5f\xd6"), "     0:\tldr\tx0, [x1], #0x10\n     4:\tret\n");
}

TEST(other_machines_have_names_too)
{
    check_other((struct sxt_code_piece){.machine = EM_ARM}, BYTES("\xfe\xff\xff\xeb"), "     0:\tbl\t<401000>\n");
    check_other((struct sxt_code_piece){.machine = EM_ARM, .is_thumb = true}, BYTES("\xfe\xe7\x70\x47"),
                "     0:\tb\t<401000>\n     2:\tbx\tlr\n");
    check_other((struct sxt_code_piece){.machine = EM_PPC64, .is_64 = true}, BYTES("\x01\x10\x00\x48"),
                "     0:\tbl\t<402000>\n");
    check_other((struct sxt_code_piece){.machine = EM_MIPS, .big_endian = true}, BYTES("\x0c\x10\x08\x00"),
                "     0:\tjal\t<402000>\n");
    check_other((struct sxt_code_piece){.machine = EM_S390, .is_64 = true, .big_endian = true},
                BYTES("\xc0\xe5\x00\x00\x08\x00\xc2\x1f\x00\x40\x10\x00"),
                "     0:\tbrasl\t%r14, <402000>\n     6:\tclfi\t%r1, 0x401000\n");
}

TEST(bytes_that_are_not_an_instruction_are_listed)
{
    const struct sxt_code_piece piece = {.machine = EM_AARCH64, .is_64 = true};
    check_other(piece, BYTES("\xff\xff\xff\xff\x1f\x20\x03\xd5\x01\x02"),
                "     0:\t.byte\t0xff, 0xff, 0xff, 0xff\n     4:\tnop\n     8:\t.byte\t0x01, 0x02\n");
    check_other(piece, "", 0, "");
}

TEST(unknown_machines_are_refused)
{
    struct sxt_buffer out;
    sxt_error error;
    sxt_buffer_init(&out, 100);
    struct sxt_code_piece piece = {.machine = 0xffff, .bytes = (const uint8_t *)"", .address = BASE};
    assert_int_equal(sxt_code_list(&piece, put_address, NULL, &out, &error), SXT_ERROR_UNSUPPORTED);
    sxt_buffer_free(&out);
}

TEST(too_much_text_is_an_error)
{
    struct sxt_buffer out;
    struct sxt_code_piece piece = {
        .machine = EM_X86_64, .is_64 = true, .bytes = (const uint8_t *)"\x90\x90\x90", .size = 3, .address = BASE};
    sxt_error error;
    sxt_buffer_init(&out, 20);
    assert_int_equal(sxt_code_list(&piece, put_address, NULL, &out, &error), SXT_ERROR_LIMIT);
    sxt_buffer_free(&out);
}

/* --- diffs --- */

/* The diff of two texts; to be freed. */
static char *diff(const char *before, const char *after, size_t context)
{
    struct sxt_buffer out;
    sxt_buffer_init(&out, 16 << 20);
    assert_int_equal(sxt_code_diff((sxt_string){"f", 1}, (sxt_string){before, strlen(before)},
                                   (sxt_string){after, strlen(after)}, context, &out, NULL),
                     SXT_OK);
    sxt_buffer_u8(&out, 0);
    size_t size;
    return (char *)sxt_buffer_take(&out, &size);
}

static void check_diff(const char *before, const char *after, size_t context, const char *wanted)
{
    char *found = diff(before, after, context);
    assert_string_equal(found, wanted);
    free(found);
}

TEST(hunks)
{
    check_diff("a\nb\nc\n", "a\nb\nc\n", 10, "");
    check_diff("", "", 10, "");
    check_diff("", "a\nb\n", 10, "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    check_diff("a\n", "", 10, "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
    check_diff("a\nb\nc\n", "a\nx\nc\n", 10, "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
    check_diff("a\nb\nc\nd\n", "a\nb\nc\nd\ne\n", 1, "--- f\n+++ f\n@@ -4 +4,2 @@\n d\n+e\n");
    check_diff("a\nb\nc\nd\n", "a\nb\nd\n", 0, "--- f\n+++ f\n@@ -3 +2,0 @@\n-c\n");
}

/* A gap of twice the context is shown whole; one line more divides. */
TEST(changes_that_are_near_share_a_hunk)
{
    check_diff("1\na\nb\n2\n", "x\na\nb\ny\n", 1, "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+x\n a\n b\n-2\n+y\n");
    check_diff("1\na\nb\nc\n2\n", "x\na\nb\nc\ny\n", 1,
               "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-1\n+x\n a\n@@ -4,2 +4,2 @@\n c\n-2\n+y\n");
}

TEST(offsets_do_not_count)
{
    check_diff("     0:\tnop\n     1:\tjz <+0x5>\n     3:\tret\n", "     7:\tnop\n     8:\tjz <+0x9>\n     a:\tret\n",
               10, "");
    check_diff("     0:\tcall <g>\n     5:\tret\n", "     0:\tnop\n     1:\tcall <g>\n     6:\tret\n", 10,
               "--- f\n+++ f\n@@ -1,2 +1,3 @@\n+     0:\tnop\n      1:\tcall <g>\n      6:\tret\n");
    /* Where in something else does count. */
    check_diff("     0:\tcall <g+0x5>\n", "     0:\tcall <g+0x6>\n", 10,
               "--- f\n+++ f\n@@ -1 +1 @@\n-     0:\tcall <g+0x5>\n+     0:\tcall <g+0x6>\n");
    check_diff("     0:\tjz <+0x5>\n", "     0:\tjnz <+0x5>\n", 10,
               "--- f\n+++ f\n@@ -1 +1 @@\n-     0:\tjz <+0x5>\n+     0:\tjnz <+0x5>\n");
}

/* The length of the longest common subsequence of texts with a letter a line, in the slow and plain way. */
static size_t common(const char *a, const char *b)
{
    if (*a == 0 || *b == 0)
        return 0;
    if (a[0] == b[0])
        return 1 + common(a + 2, b + 2);
    size_t left = common(a + 2, b), right = common(a, b + 2);
    return left > right ? left : right;
}

static void make_text(struct sxt_test_random *random, char *out)
{
    size_t count = sxt_test_below(random, 9);
    for (size_t i = 0; i < count; i++) {
        *out++ = (char)('a' + sxt_test_below(random, 4));
        *out++ = '\n';
    }
    *out = 0;
}

/* Taken from a diff that shows everything: what begins with ' ' or SIGN. */
static void one_side(const char *text, char sign, char *out)
{
    const char *line = strstr(text, " @@\n");
    for (line = line != NULL ? line + 4 : ""; *line != 0; line += 3)
        if (line[0] == ' ' || line[0] == sign) {
            *out++ = line[1];
            *out++ = '\n';
        }
    *out = 0;
}

TEST(random_texts)
{
    struct sxt_test_random random = {11};
    for (int round = 0; round < 2000; round++) {
        char before[40], after[40], left[80], right[80];
        make_text(&random, before);
        make_text(&random, after);
        char *found = diff(before, after, 100);
        if (strcmp(before, after) == 0) {
            assert_string_equal(found, "");
        } else {
            one_side(found, '-', left);
            one_side(found, '+', right);
            assert_string_equal(left, before);
            assert_string_equal(right, after);
            const char *body = strstr(found, " @@\n") + 4;
            size_t shown = strlen(body) / 3;
            assert_int_equal(shown, (strlen(before) + strlen(after)) / 2 - common(before, after));
        }
        free(found);
    }
}

TEST(too_many_lines)
{
    struct sxt_buffer text, out;
    sxt_error error;
    sxt_buffer_init(&text, 1 << 20);
    sxt_buffer_init(&out, 1 << 20);
    for (int i = 0; i < SXT_CODE_LINES_MAX; i++)
        sxt_buffer_print(&text, "%d\n", i);
    sxt_string whole = {(const char *)text.data, text.size}, name = {"f", 1}, nothing = {"", 0};
    assert_int_equal(sxt_code_diff(name, whole, nothing, 10, &out, &error), SXT_OK);
    sxt_buffer_u8(&text, '\n');
    whole = (sxt_string){(const char *)text.data, text.size};
    assert_int_equal(sxt_code_diff(name, whole, nothing, 10, &out, &error), SXT_ERROR_LIMIT);
    sxt_buffer_free(&text);
    sxt_buffer_free(&out);
}
