/* test_plt.c: names of PLT entries, from entries made by hand for each machine. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "source/elf/elf.h"
#include "support/elf_builder.h"
#include "support/test.h"
#include "symbols/symbols.h"

#define PLT  0x10000
#define GOT  0x23000
#define SLOT (GOT + 0x18) /* the first slot of a function; each is 8 bytes */

/* A file under construction, and what was read from it. */
struct linked {
    struct sxt_builder builder;
    unsigned plt, relocations;
    struct sxt_symbols *symbols;
};

/* Functions "first", "second" and "third" of other files fill the slots at SLOT, SLOT + 8 and SLOT + 16. */
static void begin(struct linked *linked, bool is_64, uint16_t machine, const char *section, bool addends)
{
    static const char *const names[] = {"first", "second", "third"};
    memset(linked, 0, sizeof *linked);
    struct sxt_builder *builder = &linked->builder;
    sxt_builder_init(builder, is_64, false, ET_DYN, machine);
    linked->plt = sxt_builder_section(builder, section, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 0);
    sxt_builder_at(builder, linked->plt)->address = PLT;
    sxt_builder_at(builder, linked->plt)->entry_size = 16;
    unsigned got = sxt_builder_section(builder, ".got.plt", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, NULL, 0);
    sxt_builder_at(builder, got)->address = GOT;
    linked->relocations = sxt_builder_section(builder, ".rel.plt", addends ? SHT_RELA : SHT_REL, SHF_ALLOC, NULL, 0);
    for (unsigned i = 0; i < 3; i++) {
        unsigned symbol = sxt_builder_function(builder, SHT_DYNSYM, names[i], 0, 0, SHN_UNDEF);
        sxt_builder_address(builder, linked->relocations, SLOT + 8 * i);
        sxt_builder_address(builder, linked->relocations, is_64 ? (uint64_t)symbol << 32 | 7 : symbol << 8 | 7);
        if (addends)
            sxt_builder_address(builder, linked->relocations, 0);
    }
    sxt_builder_at(builder, linked->relocations)->link = builder->dynsym;
}

static void code(struct linked *linked, const void *bytes, size_t size)
{
    sxt_buffer_append(&sxt_builder_at(&linked->builder, linked->plt)->bytes, bytes, size);
}

static void code_u32(struct linked *linked, uint32_t value)
{
    sxt_buffer_u32le(&sxt_builder_at(&linked->builder, linked->plt)->bytes, value);
}

/* The address of the next byte of code. */
static uint64_t here(struct linked *linked)
{
    return PLT + sxt_builder_at(&linked->builder, linked->plt)->bytes.size;
}

static void read_plt(struct linked *linked)
{
    struct sxt_elf elf;
    sxt_error error = {0};
    if (linked->builder.data == NULL)
        sxt_builder_finish(&linked->builder);
    assert_int_equal(sxt_elf_open(&elf, linked->builder.data, linked->builder.size, 1 << 20, NULL), SXT_OK);
    assert_int_equal(sxt_symbols_new(&linked->symbols, NULL), SXT_OK);
    if (sxt_elf_add_plt(&elf, linked->symbols, &error) != SXT_OK)
        fail_msg("%s", error.text);
    sxt_elf_close(&elf);
}

static void end(struct linked *linked)
{
    sxt_symbols_free(&linked->symbols);
    sxt_builder_free(&linked->builder);
}

/* Entry INDEX of the result is NAME at ADDRESS. */
static void expect(const struct linked *linked, size_t index, const char *name, uint64_t address, uint64_t size)
{
    assert_true(index < linked->symbols->symbol_count);
    const struct sxt_model_symbol *symbol = &linked->symbols->symbols[index];
    sxt_string text = sxt_symbols_view(linked->symbols, symbol->name);
    assert_int_equal(text.size, strlen(name));
    assert_memory_equal(text.data, name, text.size);
    assert_int_equal(symbol->address, address);
    assert_int_equal(symbol->size, size);
    assert_int_equal(symbol->type, 'P');
    assert_int_equal(symbol->source, SXT_SOURCE_DYNSYM);
}

static void expect_nothing(struct linked *linked)
{
    read_plt(linked);
    assert_int_equal(linked->symbols->symbol_count, 0);
    end(linked);
}

/* PREFIX, jmp *slot(%rip), and filler up to LENGTH bytes in total. */
static void jump_x86_64(struct linked *linked, const char *prefix, size_t prefix_size, uint64_t slot, size_t length)
{
    static const char rest[] = "\x68\0\0\0\0\xe9\0\0\0\0";
    uint64_t start = here(linked);
    code(linked, prefix, prefix_size);
    code(linked, "\xff\x25", 2);
    code_u32(linked, (uint32_t)(slot - (here(linked) + 4)));
    code(linked, rest, length - (here(linked) - start));
}

TEST(names_lazy_entries_of_x86_64)
{
    struct linked linked;
    begin(&linked, true, EM_X86_64, ".plt", true);
    code(&linked, "\xff\x35\x02\x30\0\0\xff\x25\x04\x30\0\0\x0f\x1f\x40\0", 16);
    for (unsigned i = 0; i < 3; i++)
        jump_x86_64(&linked, "", 0, SLOT + 8 * i, 16);
    read_plt(&linked);
    assert_int_equal(linked.symbols->symbol_count, 3);
    expect(&linked, 0, "first@plt", PLT + 16, 16);
    expect(&linked, 1, "second@plt", PLT + 32, 16);
    expect(&linked, 2, "third@plt", PLT + 48, 16);
    end(&linked);
}

TEST(names_entries_of_x86_64_with_endbr_and_bnd)
{
    const struct {
        const char *section, *prefix;
        size_t size;
    } forms[] = {{".plt.sec", "\xf3\x0f\x1e\xfa", 4},
                 {".plt.sec", "\xf3\x0f\x1e\xfa\xf2", 5},
                 {".plt.bnd", "\xf2", 1},
                 {".plt.got", "\xf3\x0f\x1e\xfa", 4}};
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        struct linked linked;
        begin(&linked, true, EM_X86_64, forms[form].section, true);
        for (unsigned i = 0; i < 3; i++)
            jump_x86_64(&linked, forms[form].prefix, forms[form].size, SLOT + 8 * (2 - i), 16);
        read_plt(&linked);
        assert_int_equal(linked.symbols->symbol_count, 3);
        expect(&linked, 0, "third@plt", PLT, 16);
        expect(&linked, 2, "first@plt", PLT + 32, 16);
        end(&linked);
    }
}

TEST(names_short_entries_of_x86_64)
{
    static const char *const sections[] = {".plt.got", ".plt.bnd"};
    for (unsigned form = 0; form < 2; form++) {
        struct linked linked;
        begin(&linked, true, EM_X86_64, sections[form], true);
        sxt_builder_at(&linked.builder, linked.plt)->entry_size = 8;
        for (unsigned i = 0; i < 3; i++)
            jump_x86_64(&linked, "\xf2", form, SLOT + 8 * i, 8);
        read_plt(&linked);
        assert_int_equal(linked.symbols->symbol_count, 3);
        expect(&linked, 0, "first@plt", PLT, 8);
        expect(&linked, 1, "second@plt", PLT + 8, 8);
        expect(&linked, 2, "third@plt", PLT + 16, 8);
        end(&linked);
    }
}

TEST(lazy_entries_that_only_push_a_number_get_no_name)
{
    struct linked linked;
    begin(&linked, true, EM_X86_64, ".plt", true);
    for (unsigned i = 0; i < 4; i++)
        code(&linked, "\xf3\x0f\x1e\xfa\x68\0\0\0\0\xf2\xe9\xe1\xff\xff\xff\x90", 16);
    expect_nothing(&linked);
}

TEST(a_slot_that_no_relocation_fills_gets_no_name)
{
    struct linked linked;
    begin(&linked, true, EM_X86_64, ".plt", true);
    jump_x86_64(&linked, "", 0, SLOT - 8, 16);
    jump_x86_64(&linked, "", 0, SLOT + 4, 16);
    jump_x86_64(&linked, "", 0, SLOT + 24, 16);
    jump_x86_64(&linked, "", 0, SLOT + 8, 16);
    read_plt(&linked);
    assert_int_equal(linked.symbols->symbol_count, 1);
    expect(&linked, 0, "second@plt", PLT + 48, 16);
    end(&linked);
}

TEST(a_slot_may_lie_before_the_code)
{
    struct linked linked;
    begin(&linked, true, EM_X86_64, ".plt", true);
    sxt_builder_at(&linked.builder, linked.plt)->address = PLT;
    sxt_builder_address(&linked.builder, linked.relocations, PLT - 0x1000);
    sxt_builder_address(&linked.builder, linked.relocations, (uint64_t)1 << 32);
    sxt_builder_address(&linked.builder, linked.relocations, 0);
    jump_x86_64(&linked, "", 0, PLT - 0x1000, 16);
    read_plt(&linked);
    expect(&linked, 0, "first@plt", PLT, 16);
    end(&linked);
}

TEST(names_entries_of_x32)
{
    struct linked linked;
    begin(&linked, false, EM_X86_64, ".plt", true);
    jump_x86_64(&linked, "", 0, SLOT, 16);
    read_plt(&linked);
    assert_int_equal(linked.symbols->symbol_count, 1);
    expect(&linked, 0, "first@plt", PLT, 16);
    end(&linked);
}

TEST(names_entries_of_i386)
{
    for (unsigned form = 0; form < 4; form++) {
        bool endbr = form & 1, relative = form & 2;
        struct linked linked;
        begin(&linked, false, EM_386, endbr ? ".plt.sec" : ".plt", false);
        for (unsigned i = 0; i < 3; i++) {
            code(&linked, "\xf3\x0f\x1e\xfb", endbr ? 4 : 0);
            code(&linked, relative ? "\xff\xa3" : "\xff\x25", 2);
            code_u32(&linked, SLOT + 8 * i - (relative ? GOT : 0));
            code(&linked, "\x68\0\0\0\0\xe9\0\0\0\0", endbr ? 6 : 10);
        }
        read_plt(&linked);
        assert_int_equal(linked.symbols->symbol_count, 3);
        expect(&linked, 0, "first@plt", PLT, 16);
        expect(&linked, 1, "second@plt", PLT + 16, 16);
        expect(&linked, 2, "third@plt", PLT + 32, 16);
        end(&linked);
    }
}

TEST(names_short_entries_of_i386)
{
    struct linked linked;
    begin(&linked, false, EM_386, ".plt.got", false);
    sxt_builder_at(&linked.builder, linked.plt)->entry_size = 8;
    for (unsigned i = 0; i < 2; i++) {
        code(&linked, "\xff\xa3", 2);
        code_u32(&linked, SLOT + 8 * i - GOT);
        code(&linked, "\x66\x90", 2);
    }
    read_plt(&linked);
    expect(&linked, 0, "first@plt", PLT, 8);
    expect(&linked, 1, "second@plt", PLT + 8, 8);
    end(&linked);
}

/* A slot before .got.plt: the offset from the register is negative and wraps around 32 bits. */
TEST(a_relative_slot_of_i386_may_lie_before_its_base)
{
    struct linked linked;
    begin(&linked, false, EM_386, ".plt", false);
    sxt_builder_address(&linked.builder, linked.relocations, GOT - 0x20);
    sxt_builder_address(&linked.builder, linked.relocations, 2 << 8 | 7);
    code(&linked, "\xff\xa3", 2);
    code_u32(&linked, (uint32_t)-0x20);
    code(&linked, "\x68\0\0\0\0\xe9\0\0\0\0", 10);
    read_plt(&linked);
    assert_int_equal(linked.symbols->symbol_count, 1);
    expect(&linked, 0, "second@plt", PLT, 16);
    end(&linked);
}

static void jump_aarch64(struct linked *linked, bool bti, uint64_t slot)
{
    if (bti)
        code_u32(linked, 0xd503245f); /* bti c */
    uint64_t pages = (slot >> 12) - (here(linked) >> 12);
    code_u32(linked, 0x90000010 | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2 & 0x7ffff) << 5);
    code_u32(linked, 0xf9400211 | (uint32_t)((slot & 0xfff) / 8) << 10);
    code_u32(linked, 0x91000210 | (uint32_t)(slot & 0xfff) << 10);
    code_u32(linked, 0xd61f0220); /* br x17 */
    if (bti)
        code_u32(linked, 0xd503201f); /* nop */
}

TEST(names_entries_of_aarch64)
{
    for (unsigned bti = 0; bti < 2; bti++) {
        struct linked linked;
        begin(&linked, true, EM_AARCH64, ".plt", true);
        /* The first entry: stp x16, x30, [sp, #-16]!; adrp; ldr; add; br; nops. */
        code_u32(&linked, 0xa9bf7bf0);
        jump_aarch64(&linked, false, GOT + 0x10);
        for (unsigned i = 0; i < 3; i++)
            code_u32(&linked, 0xd503201f);
        uint64_t start = here(&linked);
        for (unsigned i = 0; i < 3; i++)
            jump_aarch64(&linked, bti, SLOT + 8 * i);
        read_plt(&linked);
        uint64_t length = bti ? 24 : 16;
        assert_int_equal(linked.symbols->symbol_count, 3);
        expect(&linked, 0, "first@plt", start, length);
        expect(&linked, 1, "second@plt", start + length, length);
        expect(&linked, 2, "third@plt", start + 2 * length, length);
        end(&linked);
    }
}

/* adrp; ldr; add; autia1716; br x17; nop */
TEST(entries_of_aarch64_that_authenticate_are_longer)
{
    struct linked linked;
    begin(&linked, true, EM_AARCH64, ".plt", true);
    for (unsigned i = 0; i < 2; i++) {
        jump_aarch64(&linked, false, SLOT + 8 * i);
        sxt_builder_at(&linked.builder, linked.plt)->bytes.size -= 4;
        code_u32(&linked, 0xd503219f);
        code_u32(&linked, 0xd61f0220);
        code_u32(&linked, 0xd503201f);
    }
    read_plt(&linked);
    assert_int_equal(linked.symbols->symbol_count, 2);
    expect(&linked, 0, "first@plt", PLT, 24);
    expect(&linked, 1, "second@plt", PLT + 24, 24);
    end(&linked);
}

TEST(a_slot_of_aarch64_may_lie_before_the_code)
{
    struct linked linked;
    begin(&linked, true, EM_AARCH64, ".plt", true);
    sxt_builder_address(&linked.builder, linked.relocations, 0x1008);
    sxt_builder_address(&linked.builder, linked.relocations, (uint64_t)3 << 32);
    sxt_builder_address(&linked.builder, linked.relocations, 0);
    jump_aarch64(&linked, false, 0x1008);
    read_plt(&linked);
    assert_int_equal(linked.symbols->symbol_count, 1);
    expect(&linked, 0, "third@plt", PLT, 16);
    end(&linked);
}

static void jump_arm(struct linked *linked, uint64_t slot)
{
    uint32_t distance = (uint32_t)(slot - (here(linked) + 8));
    code_u32(linked, 0xe28fc600 | distance >> 20);         /* add ip, pc, #N << 20 */
    code_u32(linked, 0xe28cca00 | (distance >> 12 & 255)); /* add ip, ip, #N << 12 */
    code_u32(linked, 0xe5bcf000 | (distance & 0xfff));     /* ldr pc, [ip, #N]! */
}

TEST(names_entries_of_arm_also_with_an_entry_for_thumb)
{
    struct linked linked;
    begin(&linked, false, EM_ARM, ".plt", false);
    /* The first entry: str lr, [sp, #-4]!; ldr lr, [pc, #4]; add lr, pc, lr; ldr pc, [lr, #8]!; a number. */
    const uint32_t first[] = {0xe52de004, 0xe59fe004, 0xe08fe00e, 0xe5bef008, 0x00012345};
    for (unsigned i = 0; i < 5; i++)
        code_u32(&linked, first[i]);
    uint64_t start = here(&linked);
    jump_arm(&linked, SLOT);
    code_u32(&linked, 0x46c04778); /* bx pc; nop */
    jump_arm(&linked, SLOT + 8);
    jump_arm(&linked, SLOT + 16);
    read_plt(&linked);
    assert_int_equal(linked.symbols->symbol_count, 3);
    expect(&linked, 0, "first@plt", start, 12);
    expect(&linked, 1, "second@plt", start + 12, 16);
    expect(&linked, 2, "third@plt", start + 28, 12);
    end(&linked);
}

/* With --long-plt, the linker writes entries of four instructions, which reach 4 GiB. */
TEST(names_long_entries_of_arm)
{
    struct linked linked;
    begin(&linked, false, EM_ARM, ".plt", false);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t distance = (uint32_t)(SLOT + 8 * i - (here(&linked) + 8));
        code_u32(&linked, 0xe28fc200 | distance >> 28);
        code_u32(&linked, 0xe28cc600 | (distance >> 20 & 255));
        code_u32(&linked, 0xe28cca00 | (distance >> 12 & 255));
        code_u32(&linked, 0xe5bcf000 | (distance & 0xfff));
    }
    read_plt(&linked);
    assert_int_equal(linked.symbols->symbol_count, 2);
    expect(&linked, 0, "first@plt", PLT, 16);
    expect(&linked, 1, "second@plt", PLT + 16, 16);
    end(&linked);
}

static void jump_riscv(struct linked *linked, bool is_64, uint64_t slot)
{
    uint32_t distance = (uint32_t)(slot - here(linked));
    uint32_t high = (distance + 0x800) & 0xfffff000;
    code_u32(linked, 0x00000e17 | high);
    code_u32(linked, (is_64 ? 0x000e3e03 : 0x000e2e03) | (distance - high) << 20);
    code_u32(linked, 0x000e0367); /* jalr t1, t3 */
    code_u32(linked, 0x00000013);
}

TEST(names_entries_of_riscv)
{
    for (unsigned is_64 = 0; is_64 < 2; is_64++)
        /* With the second base, the lower half of the distance is negative. */
        for (uint64_t base = PLT; base <= PLT + 0x900; base += 0x900) {
            struct linked linked;
            begin(&linked, is_64, EM_RISCV, ".plt", true);
            uint64_t moved = base - PLT;
            for (unsigned i = 0; i < 3; i++)
                jump_riscv(&linked, is_64, SLOT + 8 * i - moved);
            sxt_builder_at(&linked.builder, linked.plt)->address = base;
            read_plt(&linked);
            assert_int_equal(linked.symbols->symbol_count, 3);
            expect(&linked, 0, "first@plt", base, 16);
            expect(&linked, 1, "second@plt", base + 16, 16);
            expect(&linked, 2, "third@plt", base + 32, 16);
            end(&linked);
        }
}

TEST(entries_of_other_machines_and_relocatable_files_are_ignored)
{
    struct linked linked;
    begin(&linked, true, EM_S390, ".plt", true);
    jump_x86_64(&linked, "", 0, SLOT, 16);
    expect_nothing(&linked);
    begin(&linked, true, EM_X86_64, ".plt", true);
    linked.builder.type = ET_REL;
    jump_x86_64(&linked, "", 0, SLOT, 16);
    expect_nothing(&linked);
    begin(&linked, true, EM_X86_64, ".plt", true);
    sxt_builder_at(&linked.builder, linked.plt)->flags = SHF_ALLOC;
    jump_x86_64(&linked, "", 0, SLOT, 16);
    expect_nothing(&linked);
}

/* --- damage --- */

TEST(accepts_every_truncation_of_the_code)
{
    const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64, EM_ARM, EM_RISCV};
    for (size_t machine = 0; machine < 5; machine++)
        for (size_t cut = 1; cut < 28; cut++) {
            struct linked linked;
            bool is_64 = machines[machine] != EM_386 && machines[machine] != EM_ARM;
            begin(&linked, is_64, machines[machine], ".plt", is_64);
            code(&linked, "\xf3\x0f\x1e\xfa\xf2", machines[machine] == EM_X86_64 ? 5 : 0);
            code(&linked, "\xff\x25\0\0\0\0", machines[machine] == EM_X86_64 ? 6 : 0);
            if (machines[machine] == EM_AARCH64)
                jump_aarch64(&linked, true, SLOT);
            code_u32(&linked, 0x46c04778);
            jump_arm(&linked, SLOT);
            jump_riscv(&linked, true, SLOT);
            sxt_builder_finish(&linked.builder);
            const struct sxt_builder_section *plt = sxt_builder_at(&linked.builder, linked.plt);
            uint64_t kept = plt->size - (plt->size < cut ? plt->size : cut);
            /* The code moves to the end of the file, so that reads beyond it leave the file. */
            uint8_t *moved = malloc(linked.builder.size + kept);
            memcpy(moved, linked.builder.data, linked.builder.size);
            memcpy(moved + linked.builder.size, linked.builder.data + plt->offset, kept);
            free(linked.builder.data);
            linked.builder.data = moved;
            linked.builder.size += kept;
            sxt_builder_lie_section(&linked.builder, linked.plt, SXT_SECTION_OFFSET, linked.builder.size - kept);
            sxt_builder_lie_section(&linked.builder, linked.plt, SXT_SECTION_SIZE, kept);
            read_plt(&linked);
            end(&linked);
        }
}

TEST(damaged_relocations_give_no_names)
{
    const struct {
        enum sxt_builder_section_field field;
        uint64_t value;
    } lies[] = {{SXT_SECTION_OFFSET, UINT64_MAX}, {SXT_SECTION_SIZE, UINT64_MAX}, {SXT_SECTION_SIZE, 23},
                {SXT_SECTION_LINK, UINT32_MAX},   {SXT_SECTION_LINK, 0},          {SXT_SECTION_TYPE, SHT_NOBITS}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct linked linked;
        begin(&linked, true, EM_X86_64, ".plt", true);
        jump_x86_64(&linked, "", 0, SLOT, 16);
        sxt_builder_finish(&linked.builder);
        sxt_builder_lie_section(&linked.builder, linked.relocations, lies[i].field, lies[i].value);
        expect_nothing(&linked);
    }
}

TEST(a_missing_symbol_gives_no_name)
{
    const uint32_t numbers[] = {0, 4, 1000000, UINT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct linked linked;
        begin(&linked, true, EM_X86_64, ".plt", true);
        sxt_builder_address(&linked.builder, linked.relocations, SLOT + 64);
        sxt_builder_address(&linked.builder, linked.relocations, (uint64_t)numbers[i] << 32);
        sxt_builder_address(&linked.builder, linked.relocations, 0);
        jump_x86_64(&linked, "", 0, SLOT + 64, 16);
        expect_nothing(&linked);
    }
}

TEST(a_damaged_dynsym_is_an_error_and_a_missing_one_is_not)
{
    struct linked linked;
    struct sxt_elf elf;
    begin(&linked, true, EM_X86_64, ".plt", true);
    sxt_builder_finish(&linked.builder);
    sxt_builder_lie_section(&linked.builder, linked.builder.dynsym, SXT_SECTION_ENTRY_SIZE, 5);
    assert_int_equal(sxt_elf_open(&elf, linked.builder.data, linked.builder.size, 1 << 20, NULL), SXT_OK);
    assert_int_equal(sxt_symbols_new(&linked.symbols, NULL), SXT_OK);
    assert_int_equal(sxt_elf_add_plt(&elf, linked.symbols, NULL), SXT_ERROR_FORMAT);
    sxt_elf_close(&elf);
    sxt_symbols_free(&linked.symbols);
    sxt_builder_lie_section(&linked.builder, linked.builder.dynsym, SXT_SECTION_TYPE, SHT_PROGBITS);
    expect_nothing(&linked);
}

/* Every one of many sections of relocations is the same half megabyte. */
TEST(overlapping_relocations_cost_little)
{
    struct linked linked;
    begin(&linked, true, EM_X86_64, ".plt", true);
    jump_x86_64(&linked, "", 0, SLOT, 16);
    for (unsigned i = 0; i < 20000; i++) {
        sxt_builder_address(&linked.builder, linked.relocations, SLOT + 64 + i);
        sxt_builder_address(&linked.builder, linked.relocations, (uint64_t)1 << 32);
        sxt_builder_address(&linked.builder, linked.relocations, 0);
    }
    unsigned first = linked.builder.section_count;
    for (unsigned i = 0; i < 2000; i++)
        sxt_builder_section(&linked.builder, "", SHT_RELA, 0, NULL, 0);
    sxt_builder_finish(&linked.builder);
    const struct sxt_builder_section *relocations = sxt_builder_at(&linked.builder, linked.relocations);
    for (unsigned i = 0; i < 2000; i++) {
        sxt_builder_lie_section(&linked.builder, first + i, SXT_SECTION_OFFSET, relocations->offset);
        sxt_builder_lie_section(&linked.builder, first + i, SXT_SECTION_SIZE, relocations->size);
        sxt_builder_lie_section(&linked.builder, first + i, SXT_SECTION_LINK, linked.builder.dynsym);
    }
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    double start = sxt_test_seconds();
    read_plt(&linked);
    double taken = sxt_test_seconds() - start;
    getrusage(RUSAGE_SELF, &after);
    end(&linked);
    if (taken > 2 || after.ru_maxrss - before.ru_maxrss > 256 << 10)
        fail_msg("%.1f s and %ld KiB for a file of half a megabyte", taken, after.ru_maxrss - before.ru_maxrss);
}
