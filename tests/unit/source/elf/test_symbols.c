/* test_symbols.c: which symbols are kept, and with which values; damaged tables. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "source/elf/elf.h"
#include "support/elf_builder.h"
#include "support/test.h"
#include "symbols/symbols.h"

#define LIMIT ((uint64_t)64 << 20)
#define TEXT  0x401000

/* An open file and what was read from it. */
struct reading {
    struct sxt_builder builder;
    struct sxt_elf elf;
    struct sxt_symbols *symbols;
};

/* A file with .text as section 1. */
static void begin_kind(struct reading *reading, bool is_64, bool big_endian, uint16_t type, uint16_t machine)
{
    memset(reading, 0, sizeof *reading);
    sxt_builder_init(&reading->builder, is_64, big_endian, type, machine);
    char code[256] = {0};
    unsigned text =
        sxt_builder_section(&reading->builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    sxt_builder_at(&reading->builder, text)->address = type == ET_REL ? 0 : TEXT;
}

static void begin(struct reading *reading)
{
    begin_kind(reading, true, false, ET_EXEC, EM_X86_64);
}

static void add(struct reading *reading, const struct sxt_builder_symbol *symbol)
{
    sxt_builder_symbol(&reading->builder, SHT_SYMTAB, symbol);
}

static int read_table(struct reading *reading, unsigned number, sxt_error *error)
{
    if (reading->builder.data == NULL)
        sxt_builder_finish(&reading->builder);
    assert_int_equal(sxt_elf_open(&reading->elf, reading->builder.data, reading->builder.size, LIMIT, NULL), SXT_OK);
    assert_int_equal(sxt_symbols_new(&reading->symbols, NULL), SXT_OK);
    return sxt_elf_add_symbols(&reading->elf, &reading->elf.sections[number], SXT_SOURCE_SYMTAB, reading->symbols,
                               error);
}

/* Reads .symtab, which must succeed. */
static void read_symbols(struct reading *reading)
{
    sxt_error error = {0};
    if (read_table(reading, reading->builder.symtab, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

static void refuse_symbols(struct reading *reading, const char *words)
{
    sxt_error error = {0};
    assert_int_not_equal(read_table(reading, reading->builder.symtab, &error), SXT_OK);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not contain '%s'", error.text, words);
}

static void end(struct reading *reading)
{
    sxt_symbols_free(&reading->symbols);
    sxt_elf_close(&reading->elf);
    sxt_builder_free(&reading->builder);
}

static const struct sxt_model_symbol *find(const struct reading *reading, const char *name)
{
    for (size_t i = 0; i < reading->symbols->symbol_count; i++) {
        sxt_string text = sxt_symbols_view(reading->symbols, reading->symbols->symbols[i].name);
        if (text.size == strlen(name) && memcmp(text.data, name, text.size) == 0)
            return &reading->symbols->symbols[i];
    }
    return NULL;
}

static const struct sxt_model_symbol *expect(const struct reading *reading, const char *name)
{
    const struct sxt_model_symbol *symbol = find(reading, name);
    if (symbol == NULL)
        fail_msg("no symbol '%s'", name);
    return symbol;
}

TEST(reads_symbols_of_both_classes_and_byte_orders)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        struct reading reading;
        begin_kind(&reading, kind & 1, kind & 2, ET_EXEC, EM_PPC);
        add(&reading, &(struct sxt_builder_symbol){.name = "main",
                                                   .value = TEXT + 0x12,
                                                   .size = 0x34,
                                                   .type = STT_FUNC,
                                                   .binding = STB_WEAK,
                                                   .section = 1});
        read_symbols(&reading);
        assert_int_equal(reading.symbols->symbol_count, 1);
        const struct sxt_model_symbol *symbol = expect(&reading, "main");
        assert_int_equal(symbol->address, TEXT + 0x12);
        assert_int_equal(symbol->size, 0x34);
        assert_int_equal(symbol->type, 'F');
        assert_int_equal(symbol->binding, 'W');
        assert_int_equal(symbol->source, SXT_SOURCE_SYMTAB);
        assert_int_equal(symbol->section_end, TEXT + 256);
        assert_string_equal(sxt_symbols_view(reading.symbols, symbol->section).data, ".text");
        end(&reading);
    }
}

TEST(keeps_functions_and_data_and_drops_sections_and_files)
{
    const struct {
        unsigned type;
        char letter;
    } types[] = {{STT_NOTYPE, 'N'},
                 {STT_OBJECT, 'O'},
                 {STT_FUNC, 'F'},
                 {STT_SECTION, 0},
                 {STT_FILE, 0},
                 {STT_COMMON, 'O'},
                 {STT_TLS, 'T'},
                 {7, 0},
                 {8, 0},
                 {9, 0},
                 {10, 'I'},
                 {11, 0},
                 {12, 0},
                 {13, 0},
                 {14, 0},
                 {15, 0}};
    struct reading reading;
    begin(&reading);
    char names[16][8];
    for (unsigned i = 0; i < 16; i++) {
        memcpy(names[i], "type_a", 7);
        names[i][5] = (char)('a' + i);
        add(&reading,
            &(struct sxt_builder_symbol){.name = names[i], .value = TEXT, .type = types[i].type, .section = 1});
    }
    read_symbols(&reading);
    for (unsigned i = 0; i < 16; i++) {
        const struct sxt_model_symbol *symbol = find(&reading, names[i]);
        assert_int_equal(symbol != NULL ? symbol->type : 0, types[i].letter);
    }
    end(&reading);
}

TEST(distinguishes_bindings)
{
    struct reading reading;
    begin(&reading);
    const char *const names[] = {"local", "global", "weak", "unique", "other"};
    const unsigned bindings[] = {STB_LOCAL, STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE, 13};
    for (unsigned i = 0; i < 5; i++)
        add(&reading,
            &(struct sxt_builder_symbol){.name = names[i], .type = STT_FUNC, .binding = bindings[i], .section = 1});
    read_symbols(&reading);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(expect(&reading, names[i])->binding, "LGWUL"[i]);
    end(&reading);
}

TEST(leaves_out_what_is_not_defined_here)
{
    struct reading reading;
    begin(&reading);
    add(&reading, &(struct sxt_builder_symbol){.name = "undefined", .value = TEXT, .type = STT_FUNC});
    add(&reading, &(struct sxt_builder_symbol){
                      .name = "common", .value = 32, .size = 8, .type = STT_OBJECT, .section = SHN_COMMON});
    add(&reading, &(struct sxt_builder_symbol){.name = "", .value = TEXT, .type = STT_FUNC, .section = 1});
    add(&reading,
        &(struct sxt_builder_symbol){.name = "absolute", .value = 0x1234, .type = STT_NOTYPE, .section = SHN_ABS});
    read_symbols(&reading);
    assert_int_equal(reading.symbols->symbol_count, 1);
    const struct sxt_model_symbol *symbol = expect(&reading, "absolute");
    assert_int_equal(symbol->address, 0x1234);
    assert_int_equal(symbol->section, 0);
    end(&reading);
}

TEST(a_symbol_of_a_missing_section_keeps_its_address)
{
    struct reading reading;
    begin(&reading);
    add(&reading, &(struct sxt_builder_symbol){.name = "f", .value = TEXT, .type = STT_FUNC, .section = 0xfe00});
    read_symbols(&reading);
    assert_int_equal(expect(&reading, "f")->address, TEXT);
    assert_int_equal(expect(&reading, "f")->section, 0);
    assert_int_equal(expect(&reading, "f")->section_end, 0);
    end(&reading);
}

TEST(thread_local_data_of_a_relocatable_file_stays_beside_its_section)
{
    struct reading reading;
    begin_kind(&reading, true, false, ET_REL, EM_X86_64);
    unsigned tls = sxt_builder_section(&reading.builder, ".tbss", SHT_NOBITS, SHF_ALLOC | SHF_TLS, NULL, 16);
    add(&reading,
        &(struct sxt_builder_symbol){.name = "counter", .value = 8, .size = 4, .type = STT_TLS, .section = tls});
    read_symbols(&reading);
    assert_int_equal(expect(&reading, "counter")->type, 'T');
    assert_int_equal(expect(&reading, "counter")->address, 256 + 8);
    end(&reading);
}

TEST(symbols_of_a_relocatable_file_are_relative_to_the_assigned_address)
{
    struct reading reading;
    begin_kind(&reading, true, false, ET_REL, EM_X86_64);
    unsigned second = sxt_builder_section(&reading.builder, ".text.f", SHT_PROGBITS, SHF_ALLOC, "0123", 4);
    unsigned loose = sxt_builder_section(&reading.builder, ".debug_info", SHT_PROGBITS, 0, "0123", 4);
    sxt_builder_at(&reading.builder, second)->alignment = 1024;
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "first", 4, 8, 1);
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "second", 1, 3, second);
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "nowhere", 1, 3, loose);
    read_symbols(&reading);
    assert_int_equal(expect(&reading, "first")->address, 4);
    assert_int_equal(expect(&reading, "second")->address, 1024 + 1);
    assert_int_equal(expect(&reading, "second")->section_end, 1024 + 4);
    assert_null(find(&reading, "nowhere"));
    end(&reading);
}

TEST(reads_extended_section_numbers)
{
    struct reading reading;
    begin(&reading);
    unsigned far = sxt_builder_section(&reading.builder, ".far", SHT_PROGBITS, SHF_ALLOC, "0123", 4);
    add(&reading, &(struct sxt_builder_symbol){.name = "plain", .type = STT_FUNC, .section = 1});
    add(&reading, &(struct sxt_builder_symbol){.name = "escaped", .type = STT_FUNC, .section = far, .escaped = true});
    add(&reading, &(struct sxt_builder_symbol){.name = "undefined", .type = STT_FUNC, .section = 0, .escaped = true});
    add(&reading,
        &(struct sxt_builder_symbol){.name = "wild", .type = STT_FUNC, .section = 0xfffffff0, .escaped = true});
    read_symbols(&reading);
    assert_string_equal(sxt_symbols_view(reading.symbols, expect(&reading, "plain")->section).data, ".text");
    assert_string_equal(sxt_symbols_view(reading.symbols, expect(&reading, "escaped")->section).data, ".far");
    assert_null(find(&reading, "undefined"));
    assert_int_equal(expect(&reading, "wild")->section, 0);
    end(&reading);
}

/* The table of extended section numbers may be missing, too short, or damaged: the symbol is kept nevertheless. */
TEST(without_extended_section_numbers_only_the_section_is_lost)
{
    const struct {
        enum sxt_builder_section_field field;
        uint64_t value;
    } lies[] = {{SXT_SECTION_TYPE, SHT_PROGBITS}, {SXT_SECTION_SIZE, 3},    {SXT_SECTION_SIZE, UINT64_MAX},
                {SXT_SECTION_LINK, UINT32_MAX},   {SXT_SECTION_LINK, 0},    {SXT_SECTION_OFFSET, UINT64_MAX},
                {SXT_SECTION_TYPE, SHT_NOBITS},   {SXT_SECTION_SIZE, 4 + 3}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct reading reading;
        begin(&reading);
        add(&reading,
            &(struct sxt_builder_symbol){.name = "f", .value = 5, .type = STT_FUNC, .section = 1, .escaped = true});
        unsigned escapes = reading.builder.symtab + 1;
        assert_int_equal(sxt_builder_at(&reading.builder, escapes)->type, SHT_SYMTAB_SHNDX);
        sxt_builder_finish(&reading.builder);
        sxt_builder_lie_section(&reading.builder, escapes, lies[i].field, lies[i].value);
        read_symbols(&reading);
        assert_int_equal(expect(&reading, "f")->address, 5);
        assert_int_equal(expect(&reading, "f")->section, 0);
        end(&reading);
    }
}

TEST(clears_the_thumb_bit_of_functions_only)
{
    struct reading reading;
    begin_kind(&reading, false, false, ET_EXEC, EM_ARM);
    add(&reading, &(struct sxt_builder_symbol){.name = "thumb", .value = TEXT + 5, .type = STT_FUNC, .section = 1});
    add(&reading, &(struct sxt_builder_symbol){.name = "ifunc", .value = TEXT + 7, .type = 10, .section = 1});
    add(&reading, &(struct sxt_builder_symbol){.name = "arm", .value = TEXT + 8, .type = STT_FUNC, .section = 1});
    add(&reading, &(struct sxt_builder_symbol){.name = "data", .value = TEXT + 9, .type = STT_OBJECT, .section = 1});
    read_symbols(&reading);
    assert_int_equal(expect(&reading, "thumb")->address, TEXT + 4);
    assert_int_equal(expect(&reading, "ifunc")->address, TEXT + 6);
    assert_int_equal(expect(&reading, "arm")->address, TEXT + 8);
    assert_int_equal(expect(&reading, "data")->address, TEXT + 9);
    end(&reading);
    begin(&reading);
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "odd", TEXT + 5, 1, 1);
    read_symbols(&reading);
    assert_int_equal(expect(&reading, "odd")->address, TEXT + 5);
    end(&reading);
}

/* Two descriptors: the first points to the text, the second is cut off. */
static void build_descriptors(struct reading *reading, uint16_t type, uint32_t flags)
{
    begin_kind(reading, true, true, type, EM_PPC64);
    reading->builder.flags = flags;
    unsigned opd = sxt_builder_section(&reading->builder, ".opd", SHT_PROGBITS, SHF_ALLOC, NULL, 0);
    sxt_builder_word(&reading->builder, opd, TEXT + 0x40, 8);
    sxt_builder_word(&reading->builder, opd, 0x77, 4);
    uint64_t base = type == ET_REL ? 0 : 0x500000;
    sxt_builder_at(&reading->builder, opd)->address = base;
    if (type != ET_REL)
        sxt_builder_segment(&reading->builder, PT_LOAD, PF_R, opd, opd);
    sxt_builder_function(&reading->builder, SHT_SYMTAB, "described", base, 24, opd);
    sxt_builder_function(&reading->builder, SHT_SYMTAB, "cut", base + 8, 24, opd);
    sxt_builder_function(&reading->builder, SHT_SYMTAB, "direct", base, 24, 1);
    add(reading, &(struct sxt_builder_symbol){.name = "data", .value = base, .type = STT_OBJECT, .section = opd});
}

TEST(a_function_descriptor_of_powerpc_leads_to_its_entry)
{
    struct reading reading;
    build_descriptors(&reading, ET_EXEC, 1);
    read_symbols(&reading);
    assert_int_equal(expect(&reading, "described")->address, TEXT + 0x40);
    assert_int_equal(expect(&reading, "described")->size, 24);
    assert_int_equal(expect(&reading, "cut")->address, 0x500008);
    assert_int_equal(expect(&reading, "direct")->address, 0x500000);
    assert_int_equal(expect(&reading, "data")->address, 0x500000);
    end(&reading);
    build_descriptors(&reading, ET_EXEC, 2);
    read_symbols(&reading);
    assert_int_equal(expect(&reading, "described")->address, 0x500000);
    end(&reading);
}

/* The contents of .opd in a relocatable file are not relocated yet, and are not addresses. */
TEST(a_function_descriptor_of_a_relocatable_file_is_not_followed)
{
    struct reading reading;
    build_descriptors(&reading, ET_REL, 1);
    read_symbols(&reading);
    assert_int_equal(expect(&reading, "described")->address, 256);
    end(&reading);
}

TEST(mapping_symbols_are_dropped_where_assemblers_write_them)
{
    const uint16_t machines[] = {EM_ARM, EM_AARCH64, EM_RISCV, EM_X86_64};
    const struct {
        const char *name;
        unsigned type;
        bool mapping;
    } names[] = {
        {"$x", STT_NOTYPE, true},
        {"$d", STT_NOTYPE, true},
        {"$a", STT_NOTYPE, true},
        {"$t", STT_NOTYPE, true},
        {"$d.17", STT_NOTYPE, true},
        {"$x.text", STT_NOTYPE, true},
        {"$xrv64i2p1_m2p0", STT_NOTYPE, true},
        {"$", STT_NOTYPE, false},
        {"$y", STT_NOTYPE, false},
        {"$data", STT_NOTYPE, false},
        {"x$d", STT_NOTYPE, false},
        {"$x", STT_FUNC, false},
    };
    for (size_t machine = 0; machine < 4; machine++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            struct reading reading;
            begin_kind(&reading, machine != 0, false, ET_EXEC, machines[machine]);
            add(&reading, &(struct sxt_builder_symbol){
                              .name = names[i].name, .value = TEXT, .type = names[i].type, .section = 1});
            read_symbols(&reading);
            assert_int_equal(find(&reading, names[i].name) == NULL, names[i].mapping && machines[machine] != EM_X86_64);
            end(&reading);
        }
}

/* --- damaged tables --- */

TEST(a_name_without_end_or_outside_the_strings_costs_its_symbol)
{
    struct reading reading;
    begin(&reading);
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "good", TEXT, 1, 1);
    add(&reading,
        &(struct sxt_builder_symbol){.name_offset = UINT32_MAX, .value = TEXT, .type = STT_FUNC, .section = 1});
    add(&reading, &(struct sxt_builder_symbol){.name_offset = 10, .value = TEXT, .type = STT_FUNC, .section = 1});
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "endless", TEXT, 1, 1);
    unsigned strings = sxt_builder_at(&reading.builder, reading.builder.symtab)->link;
    sxt_builder_at(&reading.builder, strings)->bytes.size--;
    read_symbols(&reading);
    assert_int_equal(reading.symbols->symbol_count, 1);
    expect(&reading, "good");
    end(&reading);
}

TEST(damaged_tables_are_refused_with_their_reason)
{
    const struct {
        enum sxt_builder_section_field field;
        uint64_t value;
        bool of_strings;
        const char *words;
    } lies[] = {
        {SXT_SECTION_ENTRY_SIZE, 23, false, "entries of 23 bytes, not 24"},
        {SXT_SECTION_ENTRY_SIZE, UINT64_MAX, false, "entries of"},
        {SXT_SECTION_SIZE, UINT64_MAX, false, "do not fit"},
        {SXT_SECTION_OFFSET, UINT64_MAX, false, "do not fit"},
        {SXT_SECTION_LINK, 0, false, "string table is section 0"},
        {SXT_SECTION_LINK, 77, false, "string table is section 77"},
        {SXT_SECTION_LINK, UINT32_MAX, false, "string table is section"},
        {SXT_SECTION_SIZE, UINT64_MAX, true, "do not fit"},
        {SXT_SECTION_TYPE, SHT_NOBITS, true, "no bytes"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct reading reading;
        begin(&reading);
        sxt_builder_function(&reading.builder, SHT_SYMTAB, "f", TEXT, 1, 1);
        unsigned symtab = reading.builder.symtab;
        unsigned section = lies[i].of_strings ? sxt_builder_at(&reading.builder, symtab)->link : symtab;
        sxt_builder_finish(&reading.builder);
        sxt_builder_lie_section(&reading.builder, section, lies[i].field, lies[i].value);
        refuse_symbols(&reading, lies[i].words);
        end(&reading);
    }
}

TEST(an_entry_size_of_zero_and_a_cut_last_entry_are_tolerated)
{
    struct reading reading;
    begin(&reading);
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "f", TEXT, 1, 1);
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "cut", TEXT, 1, 1);
    sxt_builder_at(&reading.builder, reading.builder.symtab)->entry_size = 0;
    sxt_builder_at(&reading.builder, reading.builder.symtab)->bytes.size--;
    read_symbols(&reading);
    assert_int_equal(reading.symbols->symbol_count, 1);
    expect(&reading, "f");
    end(&reading);
}

/* The string table of the symbols is the symbol table itself; its bytes are the names. */
TEST(a_table_that_is_its_own_string_table_ends)
{
    struct reading reading;
    begin(&reading);
    for (unsigned i = 0; i < 50; i++)
        add(&reading,
            &(struct sxt_builder_symbol){.name_offset = i * 7, .value = TEXT, .type = STT_FUNC, .section = 1});
    sxt_builder_finish(&reading.builder);
    sxt_builder_lie_section(&reading.builder, reading.builder.symtab, SXT_SECTION_LINK, reading.builder.symtab);
    read_symbols(&reading);
    assert_true(reading.symbols->symbol_count <= 50);
    end(&reading);
}

TEST(sections_that_link_in_a_circle_end)
{
    struct reading reading;
    begin(&reading);
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "f", TEXT, 1, 1);
    sxt_builder_function(&reading.builder, SHT_DYNSYM, "g", TEXT, 1, 1);
    sxt_builder_finish(&reading.builder);
    sxt_builder_lie_section(&reading.builder, reading.builder.symtab, SXT_SECTION_LINK, reading.builder.dynsym);
    sxt_builder_lie_section(&reading.builder, reading.builder.dynsym, SXT_SECTION_LINK, reading.builder.symtab);
    read_symbols(&reading);
    end(&reading);
}

/* COUNT symbols whose names begin one byte apart in one text of SIZE letters. */
static void build_overlapping(struct reading *reading, size_t size, unsigned count, bool ended)
{
    begin(reading);
    sxt_builder_function(&reading->builder, SHT_SYMTAB, "first", TEXT, 1, 1);
    unsigned strings = sxt_builder_at(&reading->builder, reading->builder.symtab)->link;
    uint8_t *text = sxt_buffer_extend(&sxt_builder_at(&reading->builder, strings)->bytes, size);
    memset(text, 'n', size);
    if (ended)
        text[size - 1] = 0;
    for (unsigned i = 0; i < count; i++)
        add(reading, &(struct sxt_builder_symbol){
                         .name_offset = 7 + i, .value = TEXT, .size = 1, .type = STT_FUNC, .section = 1});
}

/* Half a megabyte that expands to five gigabytes. */
TEST(overlapping_names_reach_a_limit_soon)
{
    struct reading reading;
    build_overlapping(&reading, (size_t)512 << 10, 20000, true);
    double start = sxt_test_seconds();
    refuse_symbols(&reading, "overlap");
    assert_true(sxt_test_seconds() - start < 2);
    assert_true(reading.symbols->strings.bytes < (uint64_t)16 << 20);
    end(&reading);
}

TEST(names_may_share_their_ends)
{
    struct reading reading;
    build_overlapping(&reading, 30, 20, true);
    read_symbols(&reading);
    assert_int_equal(reading.symbols->symbol_count, 21);
    end(&reading);
}

/* Searching for the end of an unterminated name takes as long as reading a name, so it is charged the same. */
TEST(names_without_end_reach_a_limit_soon)
{
    struct reading reading;
    build_overlapping(&reading, (size_t)8 << 20, 400000, false);
    sxt_builder_finish(&reading.builder);
    double start = sxt_test_seconds();
    (void)read_table(&reading, reading.builder.symtab, NULL);
    double taken = sxt_test_seconds() - start;
    assert_true(reading.symbols->symbol_count <= 1);
    end(&reading);
    if (taken > 2)
        fail_msg("%.1f s for 400000 names without end", taken);
}
