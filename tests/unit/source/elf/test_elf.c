/* test_elf.c: header, sections and segments of ELF files, valid and damaged. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "built_elf.h"
#include "source/elf/elf.h"
#include "support/elf_builder.h"
#include "support/test.h"

static bool equal(sxt_string text, const char *wanted)
{
    return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

/* Opening the built file must fail with CODE and a text that contains WORDS. */
static void refuse(struct sxt_builder *builder, sxt_status code, const char *words)
{
    struct sxt_elf elf;
    sxt_error error = {0};
    if (builder->data == NULL)
        sxt_builder_finish(builder);
    assert_int_equal(sxt_elf_open(&elf, builder->data, builder->size, LIMIT, &error), code);
    assert_int_equal(error.code, code);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not contain '%s'", error.text, words);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(elf.section_count, 0);
    assert_int_equal(elf.segment_count, 0);
    sxt_elf_close(&elf);
}

TEST(reads_both_classes_in_both_byte_orders)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct sxt_builder builder;
        struct sxt_elf elf;
        sxt_builder_init(&builder, kinds[i].is_64, kinds[i].big_endian, ET_DYN, EM_PPC64);
        builder.flags = 0x12345678;
        unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "abcdef", 6);
        *sxt_builder_at(&builder, text) = (struct sxt_builder_section){.name = ".text",
                                                                       .type = SHT_PROGBITS,
                                                                       .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                                       .address = 0x10203040,
                                                                       .bytes = sxt_builder_at(&builder, text)->bytes,
                                                                       .link = 0x11,
                                                                       .info = 0x22,
                                                                       .alignment = 16,
                                                                       .entry_size = 0x33};
        unsigned bss = sxt_builder_section(&builder, ".bss", SHT_NOBITS, SHF_ALLOC, NULL, 0x500);
        sxt_builder_segment(&builder, PT_LOAD, PF_R | PF_X, text, bss);
        open_built(&builder, &elf);
        assert_int_equal(elf.is_64, kinds[i].is_64);
        assert_int_equal(elf.big_endian, kinds[i].big_endian);
        assert_int_equal(elf.type, ET_DYN);
        assert_int_equal(elf.machine, EM_PPC64);
        assert_int_equal(elf.flags, 0x12345678);
        assert_int_equal(elf.section_count, 4);
        const struct sxt_elf_section *section = sxt_elf_section_named(&elf, ".text");
        assert_non_null(section);
        assert_int_equal(section->type, SHT_PROGBITS);
        assert_int_equal(section->flags, SHF_ALLOC | SHF_EXECINSTR);
        assert_int_equal(section->address, 0x10203040);
        assert_int_equal(section->size, 6);
        assert_int_equal(section->link, 0x11);
        assert_int_equal(section->info, 0x22);
        assert_int_equal(section->alignment, 16);
        assert_int_equal(section->entry_size, 0x33);
        struct sxt_elf_bytes bytes;
        assert_int_equal(sxt_elf_section_bytes(&elf, section, &bytes, NULL), SXT_OK);
        assert_int_equal(bytes.size, 6);
        assert_memory_equal(bytes.data, "abcdef", 6);
        assert_int_equal(bytes.offset, section->offset);
        assert_false(bytes.inflated);
        assert_int_equal(elf.segment_count, 1);
        assert_int_equal(elf.segments[0].type, PT_LOAD);
        assert_int_equal(elf.segments[0].flags, PF_R | PF_X);
        assert_int_equal(elf.segments[0].address, 0x10203040);
        assert_int_equal(elf.segments[0].offset, section->offset);
        assert_int_equal(elf.segments[0].memory_size - elf.segments[0].file_size, 0x500);
        assert_int_equal(elf.segments[0].alignment, 1);
        sxt_elf_close(&elf);
        sxt_builder_free(&builder);
    }
}

TEST(finds_sections_by_name_and_type)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_EXEC);
    sxt_builder_section(&builder, ".text", SHT_PROGBITS, 0, "a", 1);
    sxt_builder_section(&builder, ".text", SHT_NOTE, 0, "b", 1);
    sxt_builder_section(&builder, ".textual", SHT_NOTE, 0, "c", 1);
    open_built(&builder, &elf);
    assert_ptr_equal(sxt_elf_section_named(&elf, ".text"), &elf.sections[1]);
    assert_ptr_equal(sxt_elf_section_named(&elf, ".textual"), &elf.sections[3]);
    assert_null(sxt_elf_section_named(&elf, ".tex"));
    assert_ptr_equal(sxt_elf_section_typed(&elf, SHT_NOTE), &elf.sections[2]);
    assert_null(sxt_elf_section_typed(&elf, SHT_SYMTAB));
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

TEST(refuses_a_file_that_is_not_elf)
{
    struct sxt_elf elf;
    sxt_error error;
    static const char *const others[] = {
        "", "\x7f", "\177EL", "MZ\x90", "not an ELF file at all, but long enough to hold a header of one .....",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(sxt_elf_is((const uint8_t *)others[i], strlen(others[i])));
        assert_int_equal(sxt_elf_open(&elf, (const uint8_t *)others[i], strlen(others[i]), LIMIT, &error),
                         SXT_ERROR_UNSUPPORTED);
    }
}

TEST(refuses_a_core_file_and_says_what_to_use_instead)
{
    struct sxt_builder builder;
    begin(&builder, ET_CORE);
    refuse(&builder, SXT_ERROR_UNSUPPORTED, "core file");
    sxt_builder_free(&builder);
    begin(&builder, ET_CORE);
    refuse(&builder, SXT_ERROR_UNSUPPORTED, "use the program that dumped core");
    sxt_builder_free(&builder);
}

TEST(refuses_unknown_class_byte_order_and_version)
{
    const struct {
        unsigned at;
        uint8_t value;
        const char *words;
    } cases[] = {{EI_CLASS, 0, "class 0"},      {EI_CLASS, 3, "class 3"},     {EI_DATA, 0, "byte order 0"},
                 {EI_DATA, 0xff, "byte order"}, {EI_VERSION, 0, "version 0"}, {EI_VERSION, 2, "version 2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_builder builder;
        begin(&builder, ET_EXEC);
        sxt_builder_finish(&builder);
        builder.data[cases[i].at] = cases[i].value;
        refuse(&builder, SXT_ERROR_FORMAT, cases[i].words);
        sxt_builder_free(&builder);
    }
}

/* Every prefix is opened from a block of exactly its size, so that AddressSanitizer detects reads beyond the end. */
TEST(every_truncation_is_an_error_or_a_smaller_file)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct sxt_builder builder;
        sxt_builder_init(&builder, kinds[kind].is_64, kinds[kind].big_endian, ET_DYN, EM_ARM);
        unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
        sxt_builder_build_id(&builder, "0123", 4);
        sxt_builder_segment(&builder, PT_LOAD, PF_R, text, text);
        sxt_builder_finish(&builder);
        for (size_t size = 0; size < builder.size; size++) {
            uint8_t *copy = malloc(size + 1);
            assert_non_null(copy);
            copy = realloc(copy, size > 0 ? size : 1);
            memcpy(copy, builder.data, size);
            struct sxt_elf elf;
            sxt_error error;
            /* The section headers are at the end, so nothing shorter is complete. */
            int status = sxt_elf_open(&elf, copy, size, LIMIT, &error);
            assert_int_equal(status, size < SELFMAG ? SXT_ERROR_UNSUPPORTED : SXT_ERROR_FORMAT);
            free(copy);
        }
        sxt_builder_free(&builder);
    }
}

TEST(accepts_or_refuses_every_changed_byte)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct sxt_builder builder;
        sxt_builder_init(&builder, kinds[kind].is_64, kinds[kind].big_endian, ET_REL, EM_X86_64);
        unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
        unsigned packed = sxt_builder_section(&builder, ".debug_x", SHT_PROGBITS, 0, "aaaaaaaaaaaaaaaaaaaaaaaa", 24);
        sxt_builder_compress(&builder, packed, ELFCOMPRESS_ZLIB);
        sxt_builder_build_id(&builder, "0123", 4);
        sxt_builder_segment(&builder, PT_LOAD, PF_R, text, text);
        sxt_builder_finish(&builder);
        static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xfe, 0xff};
        for (size_t at = 0; at < builder.size; at++) {
            uint8_t before = builder.data[at];
            for (size_t i = 0; i < sizeof values; i++) {
                builder.data[at] = values[i];
                struct sxt_elf elf;
                if (sxt_elf_open(&elf, builder.data, builder.size, 4096, NULL) != SXT_OK)
                    continue;
                uint8_t id[64];
                (void)sxt_elf_build_id(&elf, id, sizeof id);
                struct sxt_elf_bytes bytes;
                unsigned sum = 0;
                for (size_t k = 0; k < elf.section_count; k++)
                    if (sxt_elf_section_bytes(&elf, &elf.sections[k], &bytes, NULL) == SXT_OK)
                        for (size_t b = 0; b < bytes.size; b++)
                            sum += bytes.data[b];
                (void)sum;
                sxt_elf_close(&elf);
            }
            builder.data[at] = before;
        }
        sxt_builder_free(&builder);
    }
}

TEST(errors_in_the_header_are_named)
{
    const struct {
        enum sxt_builder_header_field field;
        uint64_t value;
        const char *words;
    } cases[] = {
        {SXT_HEADER_SEGMENTS, UINT64_MAX, "program headers"},
        {SXT_HEADER_SEGMENTS, 1 << 20, "program headers"},
        {SXT_HEADER_SEGMENT_SIZE, 0, "program header size is 0"},
        {SXT_HEADER_SEGMENT_SIZE, 55, "program header size is 55"},
        {SXT_HEADER_SEGMENT_COUNT, 0xfffe, "program headers: 65534 entries"},
        {SXT_HEADER_SECTIONS, UINT64_MAX, "section headers"},
        {SXT_HEADER_SECTIONS, UINT64_MAX - 63, "section headers"},
        {SXT_HEADER_SECTION_SIZE, 0, "section header size is 0"},
        {SXT_HEADER_SECTION_SIZE, 40, "section header size is 40"},
        {SXT_HEADER_SECTION_COUNT, 0xfeff, "section headers: 65279 entries"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_builder builder;
        begin(&builder, ET_EXEC);
        unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
        sxt_builder_segment(&builder, PT_LOAD, PF_R, text, text);
        sxt_builder_finish(&builder);
        sxt_builder_lie_header(&builder, cases[i].field, cases[i].value);
        refuse(&builder, SXT_ERROR_FORMAT, cases[i].words);
        sxt_builder_free(&builder);
    }
}

/* The count in the first section has 64 bits, and none of them can be trusted. */
TEST(a_huge_extended_section_count_allocates_nothing)
{
    const uint64_t counts[] = {UINT64_MAX, UINT64_MAX / 64 + 2, (uint64_t)1 << 58, (uint64_t)1 << 32, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct sxt_builder builder;
        begin(&builder, ET_EXEC);
        sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
        sxt_builder_finish(&builder);
        sxt_builder_lie_header(&builder, SXT_HEADER_SECTION_COUNT, 0);
        sxt_builder_lie_section(&builder, 0, SXT_SECTION_SIZE, counts[i]);
        refuse(&builder, SXT_ERROR_FORMAT, "section headers");
        sxt_builder_free(&builder);
    }
}

TEST(reads_more_sections_than_the_header_can_count)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_REL);
    for (unsigned i = 0; i < 0xff10; i++)
        sxt_builder_section(&builder, ".text.x", SHT_PROGBITS, SHF_ALLOC, "x", 1);
    unsigned last = sxt_builder_section(&builder, ".last", SHT_PROGBITS, SHF_ALLOC, "the last", 8);
    open_built(&builder, &elf);
    assert_int_equal(elf.section_count, 0xff10 + 3);
    assert_ptr_equal(sxt_elf_section_named(&elf, ".last"), &elf.sections[last]);
    struct sxt_elf_bytes bytes;
    assert_int_equal(sxt_elf_section_bytes(&elf, &elf.sections[last], &bytes, NULL), SXT_OK);
    assert_memory_equal(bytes.data, "the last", 8);
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

TEST(sections_without_readable_names_have_empty_ones)
{
    const uint64_t numbers[] = {0, 3, 4, 0xfeff, 0xfff1, SHN_XINDEX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sxt_builder builder;
        struct sxt_elf elf;
        begin(&builder, ET_EXEC);
        sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
        sxt_builder_finish(&builder);
        sxt_builder_lie_header(&builder, SXT_HEADER_NAMES, numbers[i]);
        open_built(&builder, &elf);
        for (size_t k = 0; k < elf.section_count; k++) {
            assert_non_null(elf.sections[k].name.data);
            assert_int_equal(elf.sections[k].name.size, 0);
        }
        assert_null(sxt_elf_section_named(&elf, ".text"));
        sxt_elf_close(&elf);
        sxt_builder_free(&builder);
    }
}

TEST(a_section_name_outside_the_table_or_without_end_is_empty)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_EXEC);
    unsigned far = sxt_builder_section(&builder, ".far", SHT_PROGBITS, 0, "x", 1);
    unsigned good = sxt_builder_section(&builder, ".good", SHT_PROGBITS, 0, "x", 1);
    sxt_builder_finish(&builder);
    sxt_builder_lie_section(&builder, far, SXT_SECTION_NAME, UINT32_MAX);
    /* Without its last byte, the name of the name table itself (".shstrtab") is not terminated. */
    sxt_builder_lie_section(&builder, builder.names, SXT_SECTION_SIZE,
                            sxt_builder_at(&builder, builder.names)->size - 1);
    open_built(&builder, &elf);
    assert_true(equal(elf.sections[far].name, ""));
    assert_true(equal(elf.sections[good].name, ".good"));
    assert_true(equal(elf.sections[builder.names].name, ""));
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

/* Thousands of sections have names that are tails of one text of megabytes: it must not be read for each of them. */
TEST(overlapping_section_names_cost_little_time)
{
    const size_t text_size = (size_t)8 << 20;
    const unsigned count = 60000;
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_REL);
    for (unsigned i = 0; i < count; i++)
        sxt_builder_section(&builder, "", SHT_PROGBITS, SHF_ALLOC, NULL, 0);
    char *text = malloc(text_size);
    memset(text, 'n', text_size);
    text[text_size - 1] = 0;
    unsigned names = sxt_builder_section(&builder, "", SHT_STRTAB, 0, text, text_size);
    free(text);
    sxt_builder_finish(&builder);
    sxt_builder_lie_header(&builder, SXT_HEADER_NAMES, names);
    for (unsigned i = 1; i <= count; i++)
        sxt_builder_lie_section(&builder, i, SXT_SECTION_NAME, i);
    double start = sxt_test_seconds();
    open_built(&builder, &elf);
    double taken = sxt_test_seconds() - start;
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
    if (taken > 2)
        fail_msg("%.1f s for %u sections", taken, count);
}

TEST(a_section_outside_the_file_is_kept_but_has_no_bytes)
{
    const struct {
        uint64_t offset, size;
    } cases[] = {{UINT64_MAX, 1}, {UINT64_MAX, UINT64_MAX}, {0, UINT64_MAX}, {UINT64_MAX - 5, 10},
                 {1 << 20, 0},    {64, (uint64_t)1 << 63}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_builder builder;
        struct sxt_elf elf;
        begin(&builder, ET_EXEC);
        unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
        sxt_builder_finish(&builder);
        sxt_builder_lie_section(&builder, text, SXT_SECTION_OFFSET, cases[i].offset);
        sxt_builder_lie_section(&builder, text, SXT_SECTION_SIZE, cases[i].size);
        open_built(&builder, &elf);
        assert_int_equal(elf.sections[text].size, cases[i].size);
        struct sxt_elf_bytes bytes;
        sxt_error error;
        assert_int_equal(sxt_elf_section_bytes(&elf, &elf.sections[text], &bytes, &error), SXT_ERROR_FORMAT);
        assert_non_null(strstr(error.text, ".text"));
        assert_int_equal(error.offset, cases[i].offset);
        assert_null(sxt_elf_at_address(&elf, 5, 1));
        sxt_elf_close(&elf);
        sxt_builder_free(&builder);
    }
}

TEST(a_section_without_bytes_says_so)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_EXEC);
    unsigned bss = sxt_builder_section(&builder, ".bss", SHT_NOBITS, SHF_ALLOC, NULL, (size_t)1 << 40);
    open_built(&builder, &elf);
    struct sxt_elf_bytes bytes;
    sxt_error error;
    assert_int_equal(sxt_elf_section_bytes(&elf, &elf.sections[bss], &bytes, &error), SXT_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "'.bss' has no bytes"));
    assert_int_equal(bytes.size, 0);
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

TEST(an_empty_section_is_not_an_error)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_EXEC);
    unsigned empty = sxt_builder_section(&builder, ".empty", SHT_PROGBITS, 0, NULL, 0);
    sxt_builder_finish(&builder);
    sxt_builder_lie_section(&builder, empty, SXT_SECTION_OFFSET, builder.size);
    open_built(&builder, &elf);
    struct sxt_elf_bytes bytes;
    assert_int_equal(sxt_elf_section_bytes(&elf, &elf.sections[empty], &bytes, NULL), SXT_OK);
    assert_int_equal(bytes.size, 0);
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

/* --- relocatable files --- */

TEST(lays_out_a_relocatable_file_in_order_and_aligned)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_REL);
    const struct {
        const char *name;
        uint32_t type;
        uint64_t flags, size, alignment, base;
    } sections[] = {
        {".text", SHT_PROGBITS, SHF_ALLOC, 5, 16, 0},        {".comment", SHT_PROGBITS, 0, 100, 1, 0},
        {".text.f", SHT_PROGBITS, SHF_ALLOC, 3, 16, 16},     {".bss", SHT_NOBITS, SHF_ALLOC, 0x1000, 32, 32},
        {".data", SHT_PROGBITS, SHF_ALLOC, 1, 0, 0x1020},    {".odd", SHT_PROGBITS, SHF_ALLOC, 1, 3, 0x1021},
        {".page", SHT_PROGBITS, SHF_ALLOC, 1, 4096, 0x2000},
    };
    char content[128] = {0};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        unsigned number = sxt_builder_section(&builder, sections[i].name, sections[i].type, sections[i].flags,
                                              sections[i].type == SHT_NOBITS ? NULL : content, sections[i].size);
        sxt_builder_at(&builder, number)->alignment = sections[i].alignment;
    }
    open_built(&builder, &elf);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct sxt_elf_section *section = sxt_elf_section_named(&elf, sections[i].name);
        assert_non_null(section);
        assert_int_equal(section->address, sections[i].base);
    }
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

TEST(a_layout_beyond_the_last_address_does_not_wrap_around)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_REL);
    unsigned first = sxt_builder_section(&builder, ".huge", SHT_PROGBITS, SHF_ALLOC, "x", 1);
    unsigned second = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123", 4);
    sxt_builder_at(&builder, second)->alignment = (uint64_t)1 << 63;
    sxt_builder_finish(&builder);
    sxt_builder_lie_section(&builder, first, SXT_SECTION_SIZE, UINT64_MAX - 2);
    open_built(&builder, &elf);
    assert_int_equal(elf.sections[first].address, 0);
    assert_int_equal(elf.sections[second].address, 0);
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}
