/* test_sections.c: which sections of a binary count, by which name, and what the stripped file would take. */
#include <stdlib.h>
#include <string.h>

#include "measure/private.h"
#include "support/elf_builder.h"
#include "support/test.h"

static const uint8_t bytes[4096];

struct sample {
    struct sxt_builder builder;
    struct sxt_elf elf;
    struct measure_section *sections;
};

static void begin(struct sample *sample, uint16_t type)
{
    sxt_builder_init(&sample->builder, true, false, type, EM_X86_64);
}

/* A section of SIZE bytes; of type NOBITS, it has none of them. */
static unsigned add(struct sample *sample, const char *name, uint32_t type, uint64_t flags, uint64_t address,
                    size_t size)
{
    unsigned number = sxt_builder_section(&sample->builder, name, type, flags, type == SHT_NOBITS ? NULL : bytes,
                                          type == SHT_NOBITS ? 0 : size);
    struct sxt_builder_section *section = sxt_builder_at(&sample->builder, number);
    section->address = address;
    section->alignment = 1;
    if (type == SHT_NOBITS)
        section->size = size;
    return number;
}

static void finish(struct sample *sample, bool with_debug)
{
    sxt_error error;
    sxt_builder_finish(&sample->builder);
    assert_int_equal(sxt_elf_open(&sample->elf, sample->builder.data, sample->builder.size, 1 << 20, &error), SXT_OK);
    sample->sections = sxt_measure_sections(&sample->elf, with_debug);
    assert_non_null(sample->sections);
}

static void end(struct sample *sample)
{
    free(sample->sections);
    sxt_elf_close(&sample->elf);
    sxt_builder_free(&sample->builder);
}

static void check(const struct sample *sample, unsigned number, enum measure_place place, const char *name)
{
    assert_int_equal(sample->sections[number].place, place);
    if (place != MEASURE_LEFT_OUT)
        sxt_test_assert_text(sample->sections[number].name, name);
}

TEST(what_is_not_loaded_is_left_out)
{
    for (unsigned with_debug = 0; with_debug < 2; with_debug++) {
        struct sample sample;
        begin(&sample, ET_EXEC);
        unsigned text = add(&sample, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 16);
        unsigned init = add(&sample, ".init", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, 16);
        unsigned comment = add(&sample, ".comment", SHT_PROGBITS, SHF_MERGE | SHF_STRINGS, 0, 16);
        unsigned debug = add(&sample, ".debug_info", SHT_PROGBITS, 0, 0, 16);
        unsigned packed = add(&sample, ".zdebug_line", SHT_PROGBITS, 0, 0, 16);
        unsigned index = add(&sample, ".gdb_index", SHT_PROGBITS, 0, 0, 16);
        unsigned loaded = add(&sample, ".debug_gdb_scripts", SHT_PROGBITS, SHF_ALLOC, 0x3000, 16);
        sxt_builder_function(&sample.builder, SHT_SYMTAB, "f", 0x1000, 16, text);
        finish(&sample, with_debug);
        enum measure_place debug_place = with_debug ? MEASURE_OTHER : MEASURE_LEFT_OUT;
        check(&sample, text, MEASURE_NATIVE, ".text");
        check(&sample, init, MEASURE_OTHER, ".init");
        check(&sample, comment, MEASURE_OTHER, ".comment");
        check(&sample, debug, debug_place, ".debug_info");
        check(&sample, packed, debug_place, ".zdebug_line");
        check(&sample, index, debug_place, ".gdb_index");
        check(&sample, loaded, MEASURE_OTHER, ".debug_gdb_scripts");
        check(&sample, sample.builder.symtab, debug_place, ".symtab");
        check(&sample, sample.builder.names, MEASURE_OTHER, ".shstrtab");
        end(&sample);
    }
}

TEST(sections_of_object_files_go_where_a_linker_puts_them)
{
    static const struct {
        const char *name, *merged;
        uint32_t type;
        enum measure_place place;
    } cases[] = {
        {".text", ".text", SHT_PROGBITS, MEASURE_NATIVE},
        {".text.startup", ".text", SHT_PROGBITS, MEASURE_NATIVE},
        {".textual", ".textual", SHT_PROGBITS, MEASURE_OTHER},
        {".rodata.str1.1", ".rodata", SHT_PROGBITS, MEASURE_NATIVE},
        {".data.rel.ro.local", ".data.rel.ro.local", SHT_PROGBITS, MEASURE_NATIVE},
        {".data.rel.ro.local.names", ".data.rel.ro.local", SHT_PROGBITS, MEASURE_NATIVE},
        {".data.rel.ro._ZTV1A", ".data.rel.ro", SHT_PROGBITS, MEASURE_NATIVE},
        {".data.relative", ".data", SHT_PROGBITS, MEASURE_NATIVE},
        {".bss.buffer", ".bss", SHT_NOBITS, MEASURE_NATIVE},
        {".tbss.errno", ".tbss", SHT_NOBITS, MEASURE_NATIVE},
        {".eh_frame", ".eh_frame", SHT_PROGBITS, MEASURE_OTHER},
    };
    struct sample sample;
    unsigned numbers[sizeof cases / sizeof *cases];
    begin(&sample, ET_REL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        numbers[i] = add(&sample, cases[i].name, cases[i].type, SHF_ALLOC, 0, 8);
    unsigned debug = add(&sample, ".debug_info", SHT_PROGBITS, 0, 0, 8);
    unsigned for_debug = add(&sample, ".rela.debug_info", SHT_RELA, 0, 0, 24);
    unsigned for_text = add(&sample, ".rela.text", SHT_RELA, 0, 0, 24);
    sxt_builder_at(&sample.builder, for_debug)->info = debug;
    sxt_builder_at(&sample.builder, for_text)->info = numbers[0];
    finish(&sample, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&sample, numbers[i], cases[i].place, cases[i].merged);
    check(&sample, for_debug, MEASURE_LEFT_OUT, NULL);
    check(&sample, for_text, MEASURE_OTHER, ".rela.text");
    end(&sample);
    /* A linked file has the sections that it has. */
    begin(&sample, ET_EXEC);
    unsigned startup = add(&sample, ".text.startup", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 16);
    finish(&sample, false);
    check(&sample, startup, MEASURE_OTHER, ".text.startup");
    end(&sample);
}

TEST(memory_after_bss_is_bss)
{
    struct sample sample;
    begin(&sample, ET_EXEC);
    unsigned before = add(&sample, ".early", SHT_NOBITS, SHF_ALLOC, 0x1000, 0x100);
    unsigned bss = add(&sample, ".bss", SHT_NOBITS, SHF_ALLOC, 0x2000, 0x100);
    unsigned after = add(&sample, ".noptrbss", SHT_NOBITS, SHF_ALLOC, 0x2120, 0x1000);
    unsigned next = add(&sample, ".brk", SHT_NOBITS, SHF_ALLOC, 0x3120, 0x10);
    unsigned far = add(&sample, ".far", SHT_NOBITS, SHF_ALLOC, 0x3130 + 0x10000, 0x10);
    unsigned inside = add(&sample, ".inside", SHT_NOBITS, SHF_ALLOC, 0x2080, 0x10);
    finish(&sample, false);
    check(&sample, before, MEASURE_MEMORY, ".early");
    check(&sample, bss, MEASURE_NATIVE, ".bss");
    check(&sample, after, MEASURE_NATIVE, ".bss");
    assert_int_equal(sample.sections[bss].gap, 0);
    assert_int_equal(sample.sections[after].gap, 0x20);
    check(&sample, next, MEASURE_NATIVE, ".bss");
    assert_int_equal(sample.sections[next].gap, 0);
    check(&sample, far, MEASURE_MEMORY, ".far");
    check(&sample, inside, MEASURE_MEMORY, ".inside");
    end(&sample);
    /* In an object file nothing is after anything yet, and thread-local data is elsewhere. */
    begin(&sample, ET_REL);
    add(&sample, ".bss", SHT_NOBITS, SHF_ALLOC, 0, 0x100);
    unsigned unknown = add(&sample, ".unknown", SHT_NOBITS, SHF_ALLOC, 0, 0x100);
    finish(&sample, false);
    check(&sample, unknown, MEASURE_MEMORY, ".unknown");
    end(&sample);
    begin(&sample, ET_EXEC);
    add(&sample, ".tbss", SHT_NOBITS, SHF_ALLOC | SHF_TLS, 0x2000, 0x100);
    unsigned no_bss = add(&sample, ".unknown", SHT_NOBITS, SHF_ALLOC, 0x2100, 0x100);
    finish(&sample, false);
    check(&sample, no_bss, MEASURE_MEMORY, ".unknown");
    end(&sample);
}

TEST(known_names_of_the_other_kind_are_others)
{
    struct sample sample;
    begin(&sample, ET_EXEC);
    unsigned bss = add(&sample, ".bss", SHT_PROGBITS, SHF_ALLOC, 0x1000, 16);
    unsigned text = add(&sample, ".text", SHT_NOBITS, SHF_ALLOC, 0x2000, 16);
    unsigned unloaded = add(&sample, ".data", SHT_PROGBITS, 0, 0, 16);
    finish(&sample, false);
    check(&sample, bss, MEASURE_OTHER, ".bss");
    check(&sample, text, MEASURE_MEMORY, ".text");
    check(&sample, unloaded, MEASURE_OTHER, ".data");
    end(&sample);
}

/* Thousands of them must not be compared with each other. */
TEST(many_sections_take_little_time)
{
    enum { MANY = 60000 };
    struct sample sample;
    begin(&sample, ET_EXEC);
    add(&sample, ".bss", SHT_NOBITS, SHF_ALLOC, 0x1000, 16);
    for (unsigned i = 0; i < MANY; i++)
        add(&sample, ".x", SHT_NOBITS, SHF_ALLOC, 0, 16);
    double begun = sxt_test_seconds();
    finish(&sample, false);
    uint64_t size;
    assert_true(sxt_measure_strip(&sample.elf, sample.sections, &size));
    assert_true(sxt_test_seconds() - begun < 2);
    end(&sample);
}

static uint64_t strip(struct sample *sample)
{
    uint64_t size = 0;
    assert_true(sxt_measure_strip(&sample->elf, sample->sections, &size));
    return size;
}

TEST(a_stripped_file_closes_up)
{
    struct sample sample;
    begin(&sample, ET_EXEC);
    unsigned text = add(&sample, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 100);
    add(&sample, ".debug_info", SHT_PROGBITS, 0, 0, 3000);
    unsigned comment = add(&sample, ".comment", SHT_PROGBITS, 0, 0, 10);
    sxt_builder_at(&sample.builder, comment)->alignment = 16;
    finish(&sample, false);
    assert_int_equal(sample.elf.sections[text].offset, 64);
    /* 64 + 100 of .text; .comment from 176 on; then "\0.text\0.comment\0.shstrtab\0", 8-aligned; four headers. */
    assert_int_equal(strip(&sample), (176 + 10 + 26 + 7) / 8 * 8 + 4 * 64);
    assert_int_equal(sample.sections[sample.builder.names].size, 26);
    end(&sample);
}

TEST(names_share_their_ends)
{
    struct sample sample;
    begin(&sample, ET_REL);
    add(&sample, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 8);
    unsigned relocations = add(&sample, ".rela.text", SHT_RELA, 0, 0, 24);
    sxt_builder_at(&sample.builder, relocations)->info = 1;
    add(&sample, ".debug_info", SHT_PROGBITS, 0, 0, 64);
    add(&sample, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 8);
    finish(&sample, false);
    /* In an object file all sections close up. ".text" is the end of ".rela.text": "\0.rela.text\0.data\0.shstrtab\0".
     */
    assert_int_equal(strip(&sample), (64 + 8 + 24 + 8 + 28 + 7) / 8 * 8 + 5 * 64);
    end(&sample);
}

TEST(a_file_without_anything_to_strip_stays)
{
    struct sample sample;
    begin(&sample, ET_EXEC);
    add(&sample, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 100);
    finish(&sample, false);
    assert_int_equal(strip(&sample), sample.builder.size);
    end(&sample);
    begin(&sample, ET_EXEC);
    add(&sample, ".debug_info", SHT_PROGBITS, 0, 0, 3000);
    finish(&sample, true);
    assert_int_equal(strip(&sample), sample.builder.size);
    end(&sample);
}
