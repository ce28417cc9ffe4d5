/* test_relocate.c: relocations of debug sections: what each type of each machine does, and what is refused. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "source/elf/elf.h"
#include "support/elf_builder.h"
#include "support/test.h"

#define LIMIT ((uint64_t)64 << 20)

/* The symbol that tests refer to is at 0x234 of a section at 0x1000; with this addend, the value is 0x6235. */
#define BASE   0x1000
#define VALUE  0x234
#define ADDEND 0x5001

/* In the files of these tests: the sections (with two string tables, there are eight), and the index of that symbol. */
enum { TEXT = 1, DATA, DEBUG, SYMTAB = 5, RELOCATIONS, COUNT = 8, SYMBOL = 1 };

/* A file under construction. */
struct file {
    struct sxt_builder builder;
    struct sxt_elf elf;
    struct sxt_elf_bytes bytes;
    uint64_t skipped;
    sxt_error error;
    int status;
};

static unsigned relocation_section(struct file *file, uint32_t type, unsigned target)
{
    unsigned number =
        sxt_builder_section(&file->builder, type == SHT_RELA ? ".rela.debug" : ".rel.debug", type, 0, NULL, 0);
    struct sxt_builder_section *section = sxt_builder_at(&file->builder, number);
    section->link = file->builder.symtab;
    section->info = target;
    section->entry_size = (file->builder.is_64 ? 8 : 4) * (type == SHT_RELA ? 3 : 2);
    return number;
}

/* Adds a symbol without a name. */
static unsigned symbol_in(struct file *file, uint32_t section, uint64_t value, bool escaped)
{
    struct sxt_builder_symbol symbol = {.name = "", .value = value, .section = section, .escaped = escaped};
    return sxt_builder_symbol(&file->builder, SHT_SYMTAB, &symbol);
}

static void begin(struct file *file, bool is_64, bool big_endian, uint16_t machine, uint32_t relocation_type,
                  const void *content, size_t size)
{
    memset(file, 0, sizeof *file);
    sxt_builder_init(&file->builder, is_64, big_endian, ET_REL, machine);
    sxt_builder_section(&file->builder, ".text", SHT_NOBITS, SHF_ALLOC, NULL, BASE);
    sxt_builder_section(&file->builder, ".data", SHT_NOBITS, SHF_ALLOC, NULL, 0x1000);
    sxt_builder_section(&file->builder, ".debug_info", SHT_PROGBITS, 0, content, size);
    symbol_in(file, DATA, VALUE, false);
    relocation_section(file, relocation_type, DEBUG);
}

static void begin_x86_64(struct file *file, const void *content, size_t size)
{
    begin(file, true, false, EM_X86_64, SHT_RELA, content, size);
}

static void add_to(struct file *file, unsigned section, uint64_t offset, uint32_t type, uint32_t symbol,
                   uint64_t addend)
{
    struct sxt_builder *builder = &file->builder;
    sxt_builder_address(builder, section, offset);
    if (!builder->is_64) {
        sxt_builder_word(builder, section, symbol << 8 | type, 4);
    } else if (builder->machine == EM_MIPS) {
        sxt_builder_word(builder, section, symbol, 4);
        for (int shift = 24; shift >= 0; shift -= 8)
            sxt_builder_word(builder, section, type >> shift, 1);
    } else {
        sxt_builder_word(builder, section, (uint64_t)symbol << 32 | type, 8);
    }
    if (sxt_builder_at(builder, section)->type == SHT_RELA)
        sxt_builder_address(builder, section, addend);
}

static void add(struct file *file, uint64_t offset, uint32_t type, uint32_t symbol, uint64_t addend)
{
    add_to(file, RELOCATIONS, offset, type, symbol, addend);
}

static void relocate(struct file *file)
{
    if (file->builder.data == NULL)
        sxt_builder_finish(&file->builder);
    assert_int_equal(sxt_elf_open(&file->elf, file->builder.data, file->builder.size, LIMIT, NULL), SXT_OK);
    file->skipped = 99;
    file->status =
        sxt_elf_relocated_bytes(&file->elf, &file->elf.sections[DEBUG], &file->bytes, &file->skipped, &file->error);
}

static void end(struct file *file)
{
    sxt_elf_close(&file->elf);
    sxt_builder_free(&file->builder);
}

/* Relocates, and expects CONTENT with SKIPPED relocations skipped. */
static void expect(struct file *file, const void *content, size_t size, uint64_t skipped)
{
    relocate(file);
    if (file->status != SXT_OK)
        fail_msg("%s", file->error.text);
    assert_int_equal(file->bytes.size, size);
    assert_memory_equal(file->bytes.data, content, size);
    assert_int_equal(file->skipped, skipped);
    end(file);
}

static void expect_refusal(struct file *file, sxt_status code, const char *words)
{
    relocate(file);
    assert_int_equal(file->status, code);
    assert_null(file->bytes.data);
    assert_int_equal(file->bytes.size, 0);
    if (strstr(file->error.text, words) == NULL)
        fail_msg("'%s' does not contain '%s'", file->error.text, words);
    end(file);
}

/* --- types --- */

static void put(uint8_t *to, uint64_t value, unsigned width, bool big_endian)
{
    for (unsigned i = 0; i < width; i++)
        to[big_endian ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

/* The field's value before relocation, and its offset. */
#define BEFORE 0x8070605040302010
#define PLACE  8

/* The result for a 64-bit field; narrower ones have the low bits. */
static const struct {
    char operation;
    uint64_t with_addend, in_place;
} results[] = {
    {'=', 0x6235, BEFORE + 0x1234},                  /* S + A */
    {'.', 0x622d, BEFORE + 0x122c},                  /* S + A - P */
    {'t', 0x5235, BEFORE + 0x234},                   /* S + A, relative to the section */
    {'r', 0x4a35, BEFORE + 0x234 - 0x800},           /* the same, on RISC-V */
    {'m', 0x5235 - 0x8000, BEFORE + 0x234 - 0x8000}, /* the same, on MIPS and PowerPC */
    {'+', BEFORE + 0x6235, BEFORE + 0x1234},         /* V + S + A */
    {'-', BEFORE - 0x6235, BEFORE - 0x1234},         /* V - (S + A) */
    {'n', BEFORE, BEFORE},                           /* nothing */
};

static void check_kind(bool is_64, bool big_endian, uint16_t machine, uint32_t relocation_type, uint32_t type,
                       char operation, unsigned bits)
{
    uint8_t content[PLACE + 8 + 4], wanted[sizeof content];
    size_t result = 0;
    while (results[result].operation != operation)
        result++;
    uint64_t value = relocation_type == SHT_RELA ? results[result].with_addend : results[result].in_place;
    memset(content, 0xee, sizeof content);
    unsigned width = bits == 6 ? 1 : bits / 8;
    put(content + PLACE, BEFORE, width, big_endian);
    memcpy(wanted, content, sizeof content);
    if (bits == 6)
        wanted[PLACE] = (uint8_t)((BEFORE & 0xc0) | (value & 0x3f));
    else
        put(wanted + PLACE, value, width, big_endian);

    struct file file;
    begin(&file, is_64, big_endian, machine, relocation_type, content, sizeof content);
    add(&file, PLACE, type, SYMBOL, ADDEND);
    relocate(&file);
    if (file.status != SXT_OK || file.skipped != 0 || file.bytes.size != sizeof wanted ||
        memcmp(file.bytes.data, wanted, sizeof wanted) != 0)
        fail_msg("machine %u, type %u (%s %s, %s) is not '%c' of %u bits", machine, type, is_64 ? "64" : "32",
                 big_endian ? "big" : "little", relocation_type == SHT_RELA ? "RELA" : "REL", operation, bits);
    end(&file);
}

#define SPARC_KINDS "0n64 1=8 2=16 3=32 4.8 5.16 6.32 23=32 32=64 46.64 54=64 55=16 76t32 77t64"

/* The type, its operation (as above; u is a ULEB128 number), and its width in bits. */
static const struct {
    uint16_t machine;
    const char *kinds;
} machines[] = {
    {EM_X86_64, "0n64 1=64 2.32 4.32 10=32 11=32 12=16 13.16 14=8 15.8 17t64 21t32 24.64"},
    {EM_386, "0n64 1=32 2.32 20=16 21.16 22=8 23.8 32t32 36t32"},
    {EM_AARCH64, "0n64 1=32 2=16 3.32 4.16 185t32 256n64 257=64 258=32 259=16 260.64 261.32 262.16 1029t64"},
    {EM_ARM, "0n64 2=32 3.32 5=16 8=8 106t32"},
    {EM_RISCV, "0n64 1=32 2=64 8r32 9r64 33+8 34+16 35+32 36+64 37-8 38-16 39-32 40-64 51n64 52-6 53=6 54=8 55=16 "
               "56=32 57.32 59.32 60u0 61u0"},
    {EM_LOONGARCH, "0n64 1=32 2=64 8t32 9t64 47+8 48+16 49+24 50+32 51+64 52-8 53-16 54-24 55-32 56-64 99.32 100n64 "
                   "105+6 106-6 107u0 108u0 109.64"},
    {EM_PPC, "0n64 1=32 3=16 24=32 25=16 26.32 78m32"},
    {EM_PPC64, "0n64 1=32 3=16 24=32 25=16 26.32 38=64 43=64 44.64 78m64"},
    {EM_S390, "0n64 1=8 3=16 4=32 5.32 16.16 22=64 23.64 52t32 53t64"},
    {EM_MIPS, "0n64 1=16 2=32 18=64 39m32 41m64 248.32"},
    {EM_SPARC, SPARC_KINDS},
    {EM_SPARC32PLUS, SPARC_KINDS},
    {EM_SPARCV9, SPARC_KINDS},
    {EM_TILEGX, ""},
    {EM_NONE, ""},
};

static bool next_kind(const char **text, unsigned *type, char *operation, unsigned *bits)
{
    int length;
    if (sscanf(*text, "%u%c%u%n", type, operation, bits, &length) != 3)
        return false;
    *text += length;
    return true;
}

/* In both forms, classes and byte orders, even where no such machine exists. */
TEST(applies_the_types_of_every_machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const char *text = machines[i].kinds;
        unsigned type, bits;
        char operation;
        while (next_kind(&text, &type, &operation, &bits))
            for (unsigned form = 0; form < 8; form++)
                if (operation != 'u' && ((form & 1) || type < 256))
                    check_kind(form & 1, form & 2, machines[i].machine, form & 4 ? SHT_REL : SHT_RELA, type, operation,
                               bits);
        assert_string_equal(text, "");
    }
}

/* Types that are not in the table are skipped. */
TEST(skips_unknown_types)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        bool known[1100] = {false};
        const char *text = machines[i].kinds;
        unsigned type, bits;
        char operation;
        while (next_kind(&text, &type, &operation, &bits))
            known[type] = true;
        struct file file;
        uint64_t unknown = 0;
        begin(&file, true, false, machines[i].machine, SHT_RELA, "0123456789abcdef", 16);
        for (type = 0; type < 1100; type++) {
            if (known[type])
                continue;
            add(&file, 0, type, SYMBOL, 0);
            unknown++;
        }
        expect(&file, "0123456789abcdef", 16, unknown);
    }
}

TEST(adds_a_negative_addend_to_the_whole_field)
{
    struct file file;
    begin_x86_64(&file, "................", 16);
    add(&file, 0, R_X86_64_64, SYMBOL, (uint64_t)-0x1235);
    add(&file, 8, R_X86_64_64, SYMBOL, (uint64_t)-0x34);
    expect(&file, "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x12\0\0\0\0\0", 16, 0);
    begin(&file, false, false, EM_X86_64, SHT_RELA, "........", 8);
    add(&file, 0, R_X86_64_64, SYMBOL, (uint32_t)-0x1235);
    expect(&file, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 0);
}

/* The distance of one label from another, as RISC-V writes it, in a field that is too narrow for the first label. */
TEST(a_difference_of_labels_may_overflow_the_field_temporarily)
{
    struct file file;
    begin(&file, true, false, EM_RISCV, SHT_RELA, "\0\0\xc0\x80\x80\0\x7f", 7);
    unsigned first = symbol_in(&file, DATA, 0x200, false);
    add(&file, 0, R_RISCV_SET8, SYMBOL, 0);
    add(&file, 0, R_RISCV_SUB8, first, 0);
    add(&file, 1, R_RISCV_ADD8, SYMBOL, 1);
    add(&file, 1, R_RISCV_SUB8, first, 0);
    add(&file, 2, R_RISCV_SET6, SYMBOL, 0);
    add(&file, 2, R_RISCV_SUB6, first, 0x10);
    add(&file, 3, 60, SYMBOL, 0x3000);
    add(&file, 3, 61, first, 0);
    add(&file, 6, 60, SYMBOL, 0);
    add(&file, 6, 61, first, 0);
    expect(&file, "\x34\x35\xe4\xb4\xe0\x00\x34", 7, 0);

    begin(&file, true, false, EM_LOONGARCH, SHT_RELA, "\x81\x80\0\x05", 4);
    first = symbol_in(&file, DATA, 0x200, false);
    add(&file, 0, 107, SYMBOL, 0x3000);
    add(&file, 0, 108, first, 0);
    add(&file, 3, 107, SYMBOL, 0);
    add(&file, 3, 108, first, 0);
    expect(&file, "\xb5\xe0\0\x39", 4, 0);
}

TEST(a_leb128_field_keeps_its_length_and_must_fit)
{
    struct file file;
    begin(&file, true, false, EM_RISCV, SHT_RELA,
          "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"
          "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"
          "\x80\x80",
          23);
    unsigned absolute = symbol_in(&file, SHN_ABS, 0x8000000000000001, false);
    add(&file, 0, 60, absolute, 0);
    add(&file, 10, 60, absolute, 0); /* eleven bytes */
    add(&file, 21, 60, absolute, 0); /* cut off */
    add(&file, 23, 60, absolute, 0);
    add(&file, 24, 60, absolute, 0);
    expect(&file,
           "\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01"
           "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"
           "\x80\x80",
           23, 4);
}

/* 64-bit MIPS has room for three types in one relocation. */
TEST(mips_relocations_of_several_types_are_skipped)
{
    for (unsigned big = 0; big < 2; big++) {
        struct file file;
        begin(&file, true, big, EM_MIPS, SHT_RELA, "0123", 4);
        add(&file, 0, R_MIPS_64 << 8 | R_MIPS_32, SYMBOL, 0);
        add(&file, 0, 1u << 24 | R_MIPS_32, SYMBOL, 0);
        expect(&file, "0123", 4, 2);
    }
}

/* --- symbols --- */

#define LEFT_ALONE 0xfffffff0u

/* Relocates four bytes with a symbol at 16 of SECTION, whose number may be in .symtab_shndx, and expects VALUE. */
static void expect_symbol(uint32_t section, bool escaped, uint32_t value)
{
    for (unsigned form = 0; form < 4; form++) {
        struct file file;
        begin(&file, form & 1, form & 2, EM_X86_64, SHT_RELA, "0123", 4);
        uint8_t wanted[4];
        put(wanted, value, 4, form & 2);
        add(&file, 0, R_X86_64_32, symbol_in(&file, section, 16, escaped), 1);
        bool left_alone = value == LEFT_ALONE;
        expect(&file, left_alone ? (const void *)"0123" : wanted, 4, left_alone);
    }
}

TEST(a_symbol_is_where_its_section_is)
{
    expect_symbol(TEXT, false, 0x11);
    expect_symbol(DATA, false, 0x1011);
    expect_symbol(DEBUG, false, 0x11);
    expect_symbol(SHN_UNDEF, false, 1);
    expect_symbol(SHN_ABS, false, 0x11);
    expect_symbol(SHN_COMMON, false, 1);
    expect_symbol(0xff02, false, 1); /* another kind of common symbol */
    expect_symbol(COUNT - 1, false, 0x11);
    expect_symbol(COUNT, false, LEFT_ALONE);
    expect_symbol(0xfeff, false, LEFT_ALONE);
}

TEST(a_section_number_may_be_in_a_separate_table)
{
    expect_symbol(DATA, true, 0x1011);
    expect_symbol(SHN_UNDEF, true, 1);
    expect_symbol(COUNT, true, 0x11); /* the table is an additional section */
    expect_symbol(COUNT + 1, true, LEFT_ALONE);
    expect_symbol(SHN_ABS, true, LEFT_ALONE);
    /* The table is missing, or cut off. */
    expect_symbol(SHN_XINDEX, false, LEFT_ALONE);
    struct file file;
    begin_x86_64(&file, "0123", 4);
    add(&file, 0, R_X86_64_32, symbol_in(&file, DATA, 16, true), 1);
    sxt_builder_at(&file.builder, file.builder.section_count - 1)->bytes.size -= 1;
    expect(&file, "0123", 4, 1);
}

TEST(a_real_section_beyond_the_reserved_numbers_is_found)
{
    struct file file;
    begin_x86_64(&file, "0123", 4);
    while (file.builder.section_count < 0xff10)
        sxt_builder_section(&file.builder, "", SHT_PROGBITS, 0, NULL, 0);
    unsigned far = sxt_builder_section(&file.builder, ".far", SHT_NOBITS, SHF_ALLOC, NULL, 4);
    add(&file, 0, R_X86_64_32, symbol_in(&file, far, 16, true), 0);
    expect(&file, "\x10\x20\0", 4, 0);
}

TEST(a_symbol_number_outside_the_table_is_skipped)
{
    struct file file;
    begin_x86_64(&file, "................", 16);
    add(&file, 0, R_X86_64_32, 0, 7);
    add(&file, 4, R_X86_64_32, SYMBOL, 0);
    add(&file, 8, R_X86_64_32, SYMBOL + 1, 0);
    add(&file, 12, R_X86_64_32, UINT32_MAX, 0);
    expect(&file, "\7\0\0\0\x34\x12\0\0........", 16, 2);
}

/* A section that is not loaded has base 0 even if it has an address; a loaded one has its address. */
TEST(the_place_is_the_address_of_loaded_sections_only)
{
    for (unsigned loaded = 0; loaded < 2; loaded++) {
        struct file file;
        begin_x86_64(&file, "01234567", 8);
        struct sxt_builder_section *debug = sxt_builder_at(&file.builder, DEBUG);
        debug->address = 0x40;
        debug->flags = loaded ? SHF_ALLOC : 0;
        unsigned own = symbol_in(&file, DEBUG, 0, false);
        add(&file, 0, R_X86_64_32, own, 0);
        add(&file, 4, R_X86_64_PC32, SYMBOL, 0x1000);
        expect(&file, loaded ? "\0\x20\0\0\x30\x02\0" : "\0\0\0\0\x30\x22\0", 8, 0);
    }
}

/* --- fields --- */

TEST(a_field_must_lie_inside_the_section)
{
    static const struct {
        uint16_t type, width;
    } cases[] = {{R_X86_64_8, 1}, {R_X86_64_16, 2}, {R_X86_64_32, 4}, {R_X86_64_64, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned last = 9 - cases[i].width;
        struct file file;
        uint8_t wanted[9];
        begin_x86_64(&file, "012345678", 9);
        add(&file, last, cases[i].type, 0, 0x41);
        add(&file, last + 1, cases[i].type, 0, 0x42);
        add(&file, UINT64_MAX, cases[i].type, 0, 0x42);
        add(&file, UINT64_MAX - cases[i].width + 1, cases[i].type, 0, 0x42);
        memcpy(wanted, "012345678", 9);
        put(wanted + last, 0x41, cases[i].width, false);
        expect(&file, wanted, 9, 3);
    }
    struct file file;
    begin(&file, true, false, EM_RISCV, SHT_RELA, "0", 1);
    add(&file, 1, R_RISCV_SET6, 0, 1);
    expect(&file, "0", 1, 1);
    begin(&file, true, false, EM_LOONGARCH, SHT_RELA, "012", 3);
    add(&file, 1, R_LARCH_ADD24, 0, 1);
    expect(&file, "012", 3, 1);
}

TEST(all_relocation_sections_of_a_section_apply)
{
    struct file file;
    begin(&file, false, true, EM_PPC, SHT_RELA, "............", 12);
    unsigned in_place = relocation_section(&file, SHT_REL, DEBUG);
    unsigned other = relocation_section(&file, SHT_RELA, DATA);
    unsigned more = relocation_section(&file, SHT_RELA, DEBUG);
    add(&file, 0, R_PPC_ADDR32, SYMBOL, 1);
    add_to(&file, in_place, 0, R_PPC_ADDR32, SYMBOL, 0);
    add_to(&file, other, 4, R_PPC_ADDR32, SYMBOL, 0);
    add_to(&file, more, 8, R_PPC_ADDR32, SYMBOL, 2);
    expect(&file, "\0\0\x24\x69....\0\0\x12\x36", 12, 0);
}

TEST(relocations_refer_to_the_inflated_bytes)
{
    for (unsigned form = 0; form < 8; form++) {
        bool big = form & 2;
        struct file file;
        uint8_t content[1000], wanted[1000];
        memset(content, 0, sizeof content);
        memset(wanted, 0, sizeof wanted);
        put(wanted + 996, 0x6235, 4, big);
        begin(&file, form & 1, big, EM_S390, SHT_RELA, content, sizeof content);
        sxt_builder_compress(&file.builder, DEBUG, form & 4 ? 2 : ELFCOMPRESS_ZLIB);
        add(&file, 996, R_390_32, SYMBOL, ADDEND);
        add(&file, 997, R_390_32, SYMBOL, ADDEND);
        sxt_builder_compress(&file.builder, RELOCATIONS, ELFCOMPRESS_ZLIB);
        expect(&file, wanted, sizeof wanted, 1);
    }
}

TEST(the_file_itself_is_not_changed)
{
    struct file file;
    begin_x86_64(&file, "01234567", 8);
    add(&file, 0, R_X86_64_32, SYMBOL, 0);
    relocate(&file);
    assert_memory_equal(file.builder.data + file.bytes.offset, "01234567", 8);
    assert_false(file.bytes.inflated);
    /* A second call must not relocate twice. */
    assert_int_equal(sxt_elf_relocated_bytes(&file.elf, &file.elf.sections[DEBUG], &file.bytes, NULL, NULL), SXT_OK);
    assert_memory_equal(file.bytes.data, "\x34\x12\0\0\x34\x35\x36\x37", 8);
    end(&file);
}

TEST(a_section_without_relocations_is_not_copied)
{
    struct file file;
    begin_x86_64(&file, "01234567", 8);
    relocate(&file);
    assert_int_equal(file.status, SXT_OK);
    assert_ptr_equal(file.bytes.data, file.builder.data + file.bytes.offset);
    assert_int_equal(file.skipped, 0);
    end(&file);
}

/* A kernel keeps the relocations that its linker applied. */
TEST(files_that_are_not_relocatable_are_not_changed)
{
    static const uint16_t types[] = {ET_EXEC, ET_DYN, ET_NONE};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct file file;
        begin_x86_64(&file, "01234567", 8);
        file.builder.type = types[i];
        add(&file, 0, R_X86_64_32, SYMBOL, 0);
        add(&file, 0, 999, SYMBOL, 0);
        relocate(&file);
        assert_int_equal(file.status, SXT_OK);
        assert_ptr_equal(file.bytes.data, file.builder.data + file.bytes.offset);
        assert_memory_equal(file.bytes.data, "01234567", 8);
        assert_int_equal(file.skipped, 0);
        end(&file);
    }
}

/* --- damage --- */

TEST(what_cannot_be_read_is_refused)
{
    static const struct {
        unsigned section;
        enum sxt_builder_section_field field;
        uint64_t value;
        const char *words;
    } lies[] = {
        {DEBUG, SXT_SECTION_TYPE, SHT_NOBITS, "no bytes"},
        {DEBUG, SXT_SECTION_SIZE, UINT64_MAX, "do not fit"},
        {RELOCATIONS, SXT_SECTION_SIZE, UINT64_MAX, "do not fit"},
        {RELOCATIONS, SXT_SECTION_ENTRY_SIZE, 16, "entries of 16 bytes, not 24"},
        {RELOCATIONS, SXT_SECTION_ENTRY_SIZE, UINT64_MAX, "not 24"},
        {RELOCATIONS, SXT_SECTION_LINK, 0, "section 0 of 8 is not a symbol table"},
        {RELOCATIONS, SXT_SECTION_LINK, 8, "section 8 of 8 is not a symbol table"},
        {RELOCATIONS, SXT_SECTION_LINK, UINT32_MAX, "is not a symbol table"},
        {SYMTAB, SXT_SECTION_SIZE, UINT64_MAX, "do not fit"},
        {SYMTAB, SXT_SECTION_ENTRY_SIZE, 25, "entries of 25 bytes, not 24"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct file file;
        begin_x86_64(&file, "01234567", 8);
        add(&file, 0, R_X86_64_32, SYMBOL, 0);
        sxt_builder_finish(&file.builder);
        sxt_builder_lie_section(&file.builder, lies[i].section, lies[i].field, lies[i].value);
        expect_refusal(&file, SXT_ERROR_FORMAT, lies[i].words);
    }
}

TEST(harmless_damage_is_ignored)
{
    struct file file;
    begin_x86_64(&file, "01234567", 8);
    add(&file, 0, R_X86_64_32, SYMBOL, 0);
    sxt_builder_word(&file.builder, RELOCATIONS, 0, 7); /* not a whole entry */
    unsigned nowhere = relocation_section(&file, SHT_RELA, UINT32_MAX);
    add_to(&file, nowhere, 0, R_X86_64_32, SYMBOL, 4);
    sxt_builder_at(&file.builder, RELOCATIONS)->entry_size = 0;
    sxt_builder_at(&file.builder, file.builder.symtab)->entry_size = 0;
    /* Names of symbols are not needed. */
    sxt_builder_at(&file.builder, file.builder.symtab)->link = 0;
    expect(&file, "\x34\x12\0\0\x34\x35\x36\x37", 8, 1);
}

TEST(two_symbol_tables_for_one_section_are_refused)
{
    struct file file;
    begin_x86_64(&file, "01234567", 8);
    unsigned more = relocation_section(&file, SHT_RELA, DEBUG);
    unsigned table = sxt_builder_section(&file.builder, ".symtab2", SHT_SYMTAB, 0, NULL, 0);
    sxt_builder_at(&file.builder, more)->link = table;
    add(&file, 0, R_X86_64_32, SYMBOL, 0);
    add_to(&file, more, 0, R_X86_64_32, 0, 0);
    expect_refusal(&file, SXT_ERROR_UNSUPPORTED, "several symbol tables");
}

TEST(there_is_one_copy_and_no_memory_for_it_is_an_error)
{
    struct file file;
    begin_x86_64(&file, "01234567", 8);
    add(&file, 0, R_X86_64_32, SYMBOL, 0);
    add_to(&file, relocation_section(&file, SHT_RELA, DEBUG), 0, R_X86_64_32, SYMBOL, 0);
    relocate(&file);
    const struct sxt_elf_section *debug = &file.elf.sections[DEBUG];
    file.elf.arena.limit = file.elf.arena.used + 15;
    assert_int_equal(sxt_elf_relocated_bytes(&file.elf, debug, &file.bytes, NULL, NULL), SXT_OK);
    assert_int_equal(sxt_elf_relocated_bytes(&file.elf, debug, &file.bytes, NULL, NULL), SXT_ERROR_MEMORY);
    assert_null(file.bytes.data);
    end(&file);
}

/* Many sections that each refer to the same megabyte of relocations, plain or compressed. */
TEST(relocations_that_overlap_cost_little_time)
{
    for (unsigned compressed = 0; compressed < 2; compressed++) {
        struct file file;
        begin_x86_64(&file, "01234567", 8);
        for (unsigned i = 0; i < 50000; i++)
            add(&file, 0, 61, SYMBOL, 0);
        if (compressed)
            sxt_builder_compress(&file.builder, RELOCATIONS, ELFCOMPRESS_ZLIB);
        unsigned first = file.builder.section_count;
        for (unsigned i = 0; i < 20000; i++)
            relocation_section(&file, SHT_RELA, DEBUG);
        sxt_builder_finish(&file.builder);
        const struct sxt_builder_section *real = sxt_builder_at(&file.builder, RELOCATIONS);
        for (unsigned i = 0; i < 20000; i++) {
            sxt_builder_lie_section(&file.builder, first + i, SXT_SECTION_OFFSET, real->offset);
            sxt_builder_lie_section(&file.builder, first + i, SXT_SECTION_SIZE, real->size);
            sxt_builder_lie_section(&file.builder, first + i, SXT_SECTION_FLAGS, real->flags);
        }
        double start = sxt_test_seconds();
        expect_refusal(&file, SXT_ERROR_LIMIT, compressed ? "expand" : "overlap");
        double taken = sxt_test_seconds() - start;
        if (taken > 2)
            fail_msg("%.1f s for one section", taken);
    }
}

/* There may be as many sections of debug information as there are types, all with one symbol table. */
TEST(a_large_symbol_table_serves_many_sections)
{
    struct file file;
    unsigned sections[100];
    begin_x86_64(&file, "0123", 4);
    for (unsigned i = 0; i < 10000; i++)
        symbol_in(&file, DATA, i, false);
    for (unsigned i = 0; i < 100; i++) {
        sections[i] = sxt_builder_section(&file.builder, ".debug_info", SHT_PROGBITS, 0, "0123", 4);
        unsigned relocations = relocation_section(&file, SHT_RELA, sections[i]);
        add_to(&file, relocations, 0, R_X86_64_32, SYMBOL, 0);
    }
    relocate(&file);
    for (unsigned i = 0; i < 100; i++) {
        const struct sxt_elf_section *section = &file.elf.sections[sections[i]];
        assert_int_equal(sxt_elf_relocated_bytes(&file.elf, section, &file.bytes, NULL, NULL), SXT_OK);
        assert_memory_equal(file.bytes.data, "\x34\x12\0", 4);
    }
    end(&file);
}
