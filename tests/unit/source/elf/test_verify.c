/* test_verify.c: every error of an ELF file is reported, with its offset and the rule that it violates. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/elf/elf.h"
#include "support/elf_builder.h"
#include "support/test.h"

#define LIMIT ((uint64_t)64 << 20)

struct report {
    struct sxt_builder builder;
    uint64_t calls;
    uint64_t offset; /* of the last problem */
    char rule[40];
    char message[240];
};

static void note_problem(void *data, const sxt_problem *problem)
{
    struct report *report = data;
    report->calls++;
    report->offset = problem->offset;
    snprintf(report->rule, sizeof report->rule, "%s", problem->rule);
    snprintf(report->message, sizeof report->message, "%s", problem->message);
}

/* A good file: a segment, .text, two symbols. */
static void begin(struct report *report)
{
    memset(report, 0, sizeof *report);
    struct sxt_builder *builder = &report->builder;
    sxt_builder_init(builder, true, false, ET_EXEC, EM_X86_64);
    unsigned text = sxt_builder_section(builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "0123456789", 10);
    sxt_builder_section(builder, ".bss", SHT_NOBITS, SHF_ALLOC, NULL, (size_t)1 << 40);
    sxt_builder_segment(builder, PT_LOAD, PF_R | PF_X, text, text);
    sxt_builder_function(builder, SHT_SYMTAB, "first", 0, 4, text);
    sxt_builder_function(builder, SHT_SYMTAB, "second", 4, 4, text);
}

static uint64_t verify(struct report *report)
{
    if (report->builder.data == NULL)
        sxt_builder_finish(&report->builder);
    uint64_t count = sxt_elf_verify(report->builder.data, report->builder.size, LIMIT, note_problem, report);
    assert_int_equal(count, report->calls);
    assert_int_equal(sxt_elf_verify(report->builder.data, report->builder.size, LIMIT, NULL, NULL), count);
    assert_null(strchr(report->message, '\n'));
    return count;
}

/* One problem, with this rule and offset. */
static void expect_one(struct report *report, const char *rule, uint64_t offset, const char *words)
{
    uint64_t count = verify(report);
    if (count != 1)
        fail_msg("%llu problems, the last: %s: %s", (unsigned long long)count, report->rule, report->message);
    assert_string_equal(report->rule, rule);
    assert_int_equal(report->offset, offset);
    if (strstr(report->message, words) == NULL)
        fail_msg("'%s' does not contain '%s'", report->message, words);
    assert_null(strstr(report->message, "(offset"));
    sxt_builder_free(&report->builder);
}

TEST(a_good_file_has_no_problems)
{
    struct report report;
    begin(&report);
    assert_int_equal(verify(&report), 0);
    sxt_builder_free(&report.builder);
}

TEST(a_bad_header_is_one_problem)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    report.builder.data[EI_CLASS] = 9;
    expect_one(&report, "header", EI_CLASS, "unknown ELF class 9");
    begin(&report);
    sxt_builder_finish(&report.builder);
    sxt_builder_lie_header(&report.builder, SXT_HEADER_SECTIONS, 0x123456789);
    expect_one(&report, "header", 0x123456789, "section headers");
}

TEST(a_segment_outside_the_file_is_a_problem)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    /* p_filesz of the only segment. */
    sxt_builder_poke(&report.builder, sizeof(Elf64_Ehdr) + 32, UINT64_MAX, 8);
    expect_one(&report, "segment-bounds", sxt_builder_at(&report.builder, 1)->offset, "segment 0");
}

TEST(a_null_segment_is_not_checked)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    sxt_builder_poke(&report.builder, sizeof(Elf64_Ehdr), PT_NULL, 4);
    sxt_builder_poke(&report.builder, sizeof(Elf64_Ehdr) + 32, UINT64_MAX, 8);
    assert_int_equal(verify(&report), 0);
    sxt_builder_free(&report.builder);
}

TEST(a_section_outside_the_file_is_a_problem)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    sxt_builder_lie_section(&report.builder, 1, SXT_SECTION_OFFSET, 0x7777777777);
    expect_one(&report, "section-bounds", 0x7777777777, "'.text'");
}

TEST(a_damaged_compressed_section_is_a_problem)
{
    struct report report;
    begin(&report);
    unsigned number = sxt_builder_section(&report.builder, ".debug_x", SHT_PROGBITS, 0, "aaaaaaaaaaaaaaaa", 16);
    sxt_builder_compress(&report.builder, number, ELFCOMPRESS_ZLIB);
    sxt_builder_finish(&report.builder);
    sxt_builder_poke(&report.builder, sxt_builder_at(&report.builder, number)->offset + 8, 17, 8);
    expect_one(&report, "section-bounds", sxt_builder_at(&report.builder, number)->offset, "compressed section");
}

TEST(a_symbol_table_without_strings_is_a_problem)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    unsigned symtab = report.builder.symtab;
    uint64_t at = sxt_builder_at(&report.builder, symtab)->offset;
    sxt_builder_lie_section(&report.builder, symtab, SXT_SECTION_LINK, 88);
    expect_one(&report, "symbol-table", at, "section 88");
    begin(&report);
    sxt_builder_finish(&report.builder);
    sxt_builder_lie_section(&report.builder, symtab, SXT_SECTION_ENTRY_SIZE, 5);
    expect_one(&report, "symbol-table", at, "entries of 5 bytes");
}

TEST(a_cut_symbol_and_strings_of_another_type_are_problems)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    unsigned symtab = report.builder.symtab;
    struct sxt_builder_section section = *sxt_builder_at(&report.builder, symtab);
    sxt_builder_lie_section(&report.builder, symtab, SXT_SECTION_SIZE, section.size - 1);
    expect_one(&report, "symbol-table", section.offset, "not a multiple");
    begin(&report);
    sxt_builder_finish(&report.builder);
    sxt_builder_lie_section(&report.builder, section.link, SXT_SECTION_TYPE, SHT_PROGBITS);
    expect_one(&report, "symbol-table", section.offset, "not a string table");
}

TEST(a_symbol_with_a_bad_name_or_section_is_reported_at_its_entry)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    uint64_t entry = sxt_builder_at(&report.builder, report.builder.symtab)->offset + 2 * sizeof(Elf64_Sym);
    sxt_builder_poke(&report.builder, entry, 0x1000, 4);
    expect_one(&report, "symbol-name", entry, "symbol 2");
    begin(&report);
    sxt_builder_finish(&report.builder);
    sxt_builder_poke(&report.builder, entry + 6, 0x99, 2);
    expect_one(&report, "symbol-section", entry, "section 153");
}

TEST(every_problem_is_listed)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    uint64_t symtab = sxt_builder_at(&report.builder, report.builder.symtab)->offset;
    for (unsigned i = 1; i < 3; i++) {
        sxt_builder_poke(&report.builder, symtab + i * sizeof(Elf64_Sym), 0x1000, 4);
        sxt_builder_poke(&report.builder, symtab + i * sizeof(Elf64_Sym) + 6, 0x99, 2);
    }
    sxt_builder_lie_section(&report.builder, 1, SXT_SECTION_SIZE, UINT64_MAX);
    assert_int_equal(verify(&report), 5);
    sxt_builder_free(&report.builder);
}

TEST(checks_every_changed_byte_and_every_truncation)
{
    struct report report;
    begin(&report);
    sxt_builder_finish(&report.builder);
    struct sxt_builder *builder = &report.builder;
    for (size_t at = 0; at < builder->size; at++) {
        uint8_t before = builder->data[at];
        for (unsigned i = 0; i < 4; i++) {
            builder->data[at] = (uint8_t[]){0, 0x7f, 0x80, 0xff}[i];
            (void)sxt_elf_verify(builder->data, builder->size, 4096, note_problem, &report);
        }
        builder->data[at] = before;
    }
    for (size_t size = SELFMAG; size < builder->size; size++) {
        uint8_t *cut = malloc(size);
        memcpy(cut, builder->data, size);
        assert_true(sxt_elf_verify(cut, size, 4096, note_problem, &report) > 0);
        free(cut);
    }
    sxt_builder_free(builder);
}

/* --- files that are made to be expensive --- */

static void expect_cheap(struct report *report)
{
    size_t size = report->builder.size;
    double start = sxt_test_seconds();
    (void)sxt_elf_verify(report->builder.data, report->builder.size, LIMIT, NULL, NULL);
    double taken = sxt_test_seconds() - start;
    sxt_builder_free(&report->builder);
    if (taken > 2)
        fail_msg("%.1f s for a file of %zu bytes", taken, size);
}

TEST(names_without_end_cost_little)
{
    struct report report;
    begin(&report);
    unsigned strings = sxt_builder_at(&report.builder, report.builder.symtab)->link;
    size_t size = (size_t)8 << 20;
    memset(sxt_buffer_extend(&sxt_builder_at(&report.builder, strings)->bytes, size), 'n', size);
    for (unsigned i = 0; i < 400000; i++)
        sxt_builder_symbol(&report.builder, SHT_SYMTAB,
                           &(struct sxt_builder_symbol){.name_offset = 20 + i, .type = STT_FUNC, .section = 1});
    sxt_builder_finish(&report.builder);
    expect_cheap(&report);
}

TEST(sections_that_inflate_the_same_bytes_cost_little)
{
    struct report report;
    begin(&report);
    unsigned packed = sxt_builder_section(&report.builder, ".debug_x", SHT_PROGBITS, 0, NULL, 0);
    size_t size = (size_t)24 << 20;
    memset(sxt_buffer_extend(&sxt_builder_at(&report.builder, packed)->bytes, size), 0, size);
    sxt_builder_compress(&report.builder, packed, ELFCOMPRESS_ZLIB);
    for (unsigned i = 0; i < 100; i++)
        sxt_builder_section(&report.builder, "", SHT_PROGBITS, SHF_COMPRESSED, NULL, 0);
    sxt_builder_finish(&report.builder);
    for (unsigned i = 1; i <= 100; i++) {
        const struct sxt_builder_section *section = sxt_builder_at(&report.builder, packed);
        sxt_builder_lie_section(&report.builder, packed + i, SXT_SECTION_OFFSET, section->offset);
        sxt_builder_lie_section(&report.builder, packed + i, SXT_SECTION_SIZE, section->size);
    }
    expect_cheap(&report);
}

TEST(many_symbol_tables_that_are_the_same_bytes_cost_little)
{
    struct report report;
    begin(&report);
    for (unsigned i = 0; i < 40000; i++)
        sxt_builder_symbol(&report.builder, SHT_SYMTAB,
                           &(struct sxt_builder_symbol){.name_offset = 1, .type = STT_FUNC, .section = 1});
    unsigned first = report.builder.section_count;
    for (unsigned i = 0; i < 30000; i++)
        sxt_builder_section(&report.builder, "", SHT_SYMTAB, 0, NULL, 0);
    sxt_builder_finish(&report.builder);
    const struct sxt_builder_section *symtab = sxt_builder_at(&report.builder, report.builder.symtab);
    for (unsigned i = first; i < first + 30000; i++) {
        sxt_builder_lie_section(&report.builder, i, SXT_SECTION_OFFSET, symtab->offset);
        sxt_builder_lie_section(&report.builder, i, SXT_SECTION_SIZE, symtab->size);
        sxt_builder_lie_section(&report.builder, i, SXT_SECTION_LINK, symtab->link);
    }
    expect_cheap(&report);
}
