/*
 * test_addr2line.c: GNU addr2line's rules for symbols and names, and for parsing words. CLI tests compare with GNU
 * itself.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/addr2line.h>

#include "source/gnu/gnu.h"
#include "source/gnu/symbols.h"
#include "support/elf_builder.h"
#include "support/test.h"

#define LIMIT ((uint64_t)64 << 20)
#define TEXT  0x401000
#define DATA  0x402000

/* A file with .text as section 1 and .data as section 2, and its symbols. */
struct fixture {
    struct sxt_builder builder;
    struct sxt_elf elf;
    struct sxt_gnu_symbols symbols;
};

static void begin(struct fixture *fixture, bool is_64, uint16_t machine)
{
    static const char bytes[256];
    memset(fixture, 0, sizeof *fixture);
    sxt_builder_init(&fixture->builder, is_64, false, ET_EXEC, machine);
    unsigned text =
        sxt_builder_section(&fixture->builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, bytes, sizeof bytes);
    sxt_builder_at(&fixture->builder, text)->address = TEXT;
    unsigned data =
        sxt_builder_section(&fixture->builder, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, bytes, sizeof bytes);
    sxt_builder_at(&fixture->builder, data)->address = DATA;
}

static void add(struct fixture *fixture, uint32_t table, const char *name, unsigned type, unsigned binding,
                uint64_t value, uint64_t size)
{
    uint32_t section = type == STT_FILE ? SHN_ABS : value >= DATA ? 2 : 1;
    sxt_builder_symbol(
        &fixture->builder, table,
        &(struct sxt_builder_symbol){
            .name = name, .type = type, .binding = binding, .value = value, .size = size, .section = section});
}

static void open_symbols(struct fixture *fixture)
{
    sxt_builder_finish(&fixture->builder);
    assert_int_equal(sxt_elf_open(&fixture->elf, fixture->builder.data, fixture->builder.size, LIMIT, NULL), SXT_OK);
    sxt_gnu_symbols_open(&fixture->symbols, &fixture->elf, true);
}

static void end(struct fixture *fixture)
{
    sxt_gnu_symbols_close(&fixture->symbols);
    sxt_elf_close(&fixture->elf);
    sxt_builder_free(&fixture->builder);
}

/* NAME and FILE are NULL if there is none. */
static void assert_function(struct fixture *fixture, uint64_t offset, const char *name, const char *file)
{
    struct sxt_gnu_found found = {.offset = 0};
    assert_int_equal(sxt_gnu_symbols_function(&fixture->symbols, 1, offset, &found), name != NULL);
    sxt_test_assert_text(found.name, name);
    sxt_test_assert_text(found.file, file);
}

TEST(the_last_symbol_before_an_address_has_it)
{
    struct fixture fixture;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "second", STT_FUNC, STB_GLOBAL, TEXT + 0x20, 4);
    add(&fixture, SHT_SYMTAB, "first", STT_FUNC, STB_GLOBAL, TEXT + 0x10, 4);
    add(&fixture, SHT_SYMTAB, "label", STT_NOTYPE, STB_GLOBAL, TEXT + 0x30, 0);
    add(&fixture, SHT_SYMTAB, "table", STT_OBJECT, STB_GLOBAL, TEXT + 0x38, 4);
    open_symbols(&fixture);
    assert_function(&fixture, 0xf, NULL, NULL);
    assert_function(&fixture, 0x10, "first", NULL);
    assert_function(&fixture, 0x1f, "first", NULL);
    assert_function(&fixture, 0x22, "second", NULL);
    assert_function(&fixture, 0x39, "label", NULL);
    end(&fixture);
}

TEST(of_several_the_largest_wins_and_then_the_first)
{
    struct fixture fixture;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "small", STT_FUNC, STB_GLOBAL, TEXT, 2);
    add(&fixture, SHT_SYMTAB, "large", STT_NOTYPE, STB_GLOBAL, TEXT, 8);
    add(&fixture, SHT_SYMTAB, "as_large", STT_FUNC, STB_GLOBAL, TEXT, 8);
    open_symbols(&fixture);
    assert_function(&fixture, 0, "large", NULL);
    assert_function(&fixture, 100, "large", NULL);
    end(&fixture);
}

TEST(the_last_result_is_reused)
{
    struct fixture fixture;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "outer", STT_FUNC, STB_GLOBAL, TEXT, 16);
    add(&fixture, SHT_SYMTAB, "inner", STT_FUNC, STB_GLOBAL, TEXT + 4, 4);
    open_symbols(&fixture);
    assert_function(&fixture, 5, "inner", NULL);
    assert_function(&fixture, 1, "outer", NULL);
    assert_function(&fixture, 5, "outer", NULL); /* it is inside the last result */
    assert_function(&fixture, 20, "inner", NULL);
    assert_function(&fixture, 5, "inner", NULL);
    end(&fixture);
}

TEST(the_file_comes_before_the_symbol)
{
    struct fixture fixture;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "one.c", STT_FILE, STB_LOCAL, 0, 0);
    add(&fixture, SHT_SYMTAB, "own", STT_FUNC, STB_LOCAL, TEXT, 4);
    add(&fixture, SHT_SYMTAB, "two.c", STT_FILE, STB_LOCAL, 0, 0);
    add(&fixture, SHT_SYMTAB, "other", STT_FUNC, STB_LOCAL, TEXT + 4, 4);
    add(&fixture, SHT_SYMTAB, "everybody", STT_FUNC, STB_GLOBAL, TEXT + 8, 4);
    open_symbols(&fixture);
    assert_function(&fixture, 0, "own", "one.c");
    assert_function(&fixture, 4, "other", "two.c");
    assert_function(&fixture, 8, "everybody", NULL);
    end(&fixture);
}

TEST(a_single_file_applies_to_all_symbols)
{
    struct fixture fixture;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "one.c", STT_FILE, STB_LOCAL, 0, 0);
    add(&fixture, SHT_SYMTAB, "everybody", STT_FUNC, STB_GLOBAL, TEXT, 4);
    open_symbols(&fixture);
    assert_function(&fixture, 0, "everybody", "one.c");
    end(&fixture);
}

TEST(dynamic_symbols_are_used_if_there_are_no_others)
{
    struct fixture fixture;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_DYNSYM, "exported", STT_FUNC, STB_GLOBAL, TEXT, 4);
    open_symbols(&fixture);
    assert_function(&fixture, 0, "exported", NULL);
    end(&fixture);

    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_DYNSYM, "exported", STT_FUNC, STB_GLOBAL, TEXT, 4);
    add(&fixture, SHT_SYMTAB, "known", STT_FUNC, STB_GLOBAL, TEXT + 8, 4);
    open_symbols(&fixture);
    assert_function(&fixture, 0, NULL, NULL);
    assert_function(&fixture, 8, "known", NULL);
    end(&fixture);

    /* An empty table is treated like a missing one. */
    static const char nobody[sizeof(Elf64_Sym)];
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_DYNSYM, "exported", STT_FUNC, STB_GLOBAL, TEXT, 4);
    unsigned strings = sxt_builder_section(&fixture.builder, ".strtab", SHT_STRTAB, 0, "", 1);
    unsigned table = sxt_builder_section(&fixture.builder, ".symtab", SHT_SYMTAB, 0, nobody, sizeof nobody);
    sxt_builder_at(&fixture.builder, table)->link = strings;
    sxt_builder_at(&fixture.builder, table)->entry_size = sizeof nobody;
    open_symbols(&fixture);
    assert_function(&fixture, 0, "exported", NULL);
    end(&fixture);
}

TEST(mapping_symbols_are_not_functions)
{
    struct fixture fixture;
    begin(&fixture, true, EM_AARCH64);
    add(&fixture, SHT_SYMTAB, "$x", STT_NOTYPE, STB_LOCAL, TEXT + 8, 0);
    add(&fixture, SHT_SYMTAB, "main", STT_FUNC, STB_GLOBAL, TEXT, 64);
    open_symbols(&fixture);
    assert_function(&fixture, 12, "main", NULL);
    end(&fixture);
}

TEST(a_symbol_of_data_must_begin_exactly_there)
{
    struct fixture fixture;
    sxt_string name;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "hidden", STT_OBJECT, STB_LOCAL, DATA + 8, 4);
    add(&fixture, SHT_SYMTAB, "shown", STT_OBJECT, STB_GLOBAL, DATA + 8, 4);
    add(&fixture, SHT_SYMTAB, "shown_too", STT_OBJECT, STB_GLOBAL, DATA + 8, 4);
    open_symbols(&fixture);
    assert_false(sxt_gnu_symbols_at(&fixture.symbols, 2, 7, &name));
    assert_false(sxt_gnu_symbols_at(&fixture.symbols, 2, 9, &name));
    assert_true(sxt_gnu_symbols_at(&fixture.symbols, 2, 8, &name));
    sxt_test_assert_text(name, "shown");
    assert_false(sxt_gnu_symbols_at(&fixture.symbols, 1, 8, &name));
    end(&fixture);
}

static bool find(struct fixture *fixture, const char *name, uint64_t *address)
{
    return sxt_gnu_symbols_named(&fixture->symbols, (sxt_string){name, strlen(name)}, SXT_GNU_AUTO, false, address);
}

TEST(symbols_are_found_by_either_name)
{
    struct fixture fixture;
    uint64_t address = 0;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "_ZN4this4thatEv", STT_FUNC, STB_GLOBAL, TEXT, 4);
    add(&fixture, SHT_SYMTAB, "twice", STT_FUNC, STB_LOCAL, TEXT + 8, 4);
    add(&fixture, SHT_SYMTAB, "twice", STT_FUNC, STB_LOCAL, TEXT + 16, 4);
    open_symbols(&fixture);
    assert_true(find(&fixture, "_ZN4this4thatEv", &address));
    assert_int_equal(address, TEXT);
    assert_true(find(&fixture, "twice", &address));
    assert_int_equal(address, TEXT + 8);
    address = 0;
    assert_true(find(&fixture, "this::that()", &address));
    assert_int_equal(address, TEXT);
    assert_false(find(&fixture, "this::that", &address));
    assert_false(find(&fixture, "", &address));
    end(&fixture);
}

/* --- names --- */

static void assert_readable(const char *name, enum sxt_gnu_style style, const char *expected)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, (size_t)4 << 20);
    sxt_buffer_append(&text, "before ", 7);
    bool decoded = sxt_gnu_demangle((sxt_string){name, strlen(name)}, style, false, &text);
    assert_int_equal(decoded, expected != NULL);
    assert_int_equal(text.size, 7 + (expected != NULL ? strlen(expected) : 0));
    if (expected != NULL)
        assert_memory_equal(text.data + 7, expected, strlen(expected));
    sxt_buffer_free(&text);
}

TEST(names_are_demangled_by_style)
{
    assert_readable("_ZN4this4thatEv", SXT_GNU_AUTO, "this::that()");
    assert_readable("_ZN4this4thatEv", SXT_GNU_CPLUSPLUS, "this::that()");
    assert_readable("_ZN4this4thatEv", SXT_GNU_NONE, NULL);
    assert_readable("_ZN4this4thatEv", SXT_GNU_RUST, NULL);
    assert_readable("main", SXT_GNU_AUTO, NULL);
    assert_readable("", SXT_GNU_AUTO, NULL);
    assert_readable("..$_Z1fv@@VERSION_2", SXT_GNU_AUTO, "..$f()@@VERSION_2");
    assert_readable("_Z1fv.cold", SXT_GNU_AUTO, "f() [clone .cold]");
    assert_readable("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", SXT_GNU_AUTO, "core::fmt::Write::write_fmt");
    assert_readable("_D4main3addFiiZi", SXT_GNU_AUTO, NULL);
    assert_readable("_D4main3addFiiZi", SXT_GNU_D, "main.add(int, int)");
    assert_readable("pack__sub", SXT_GNU_ADA, "pack.sub");
}

/* A function without parameters whose name has COUNT letters. */
static char *long_name(size_t count)
{
    char *name = malloc(count + 32);
    assert_non_null(name);
    int size = sprintf(name, "_Z%zu", count);
    memset(name + size, 'a', count);
    memcpy(name + size + count, "v", 2);
    return name;
}

/* The decoder takes the length of a name for its nesting depth. */
TEST(nesting_has_a_limit)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, (size_t)4 << 20);
    const struct {
        size_t count;
        bool no_limit, decoded;
    } cases[] = {
        {800, false, true}, {3000, false, false}, {3000, true, true}, {5000, true, false}, {70000, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *name = long_name(cases[i].count);
        sxt_buffer_clear(&text);
        bool decoded = sxt_gnu_demangle((sxt_string){name, strlen(name)}, SXT_GNU_AUTO, cases[i].no_limit, &text);
        free(name);
        assert_int_equal(decoded, cases[i].decoded);
        assert_int_equal(text.size, decoded ? cases[i].count + strlen("()") : 0);
    }
    sxt_buffer_free(&text);
}

TEST(styles_have_names)
{
    enum sxt_gnu_style style = SXT_GNU_JAVA;
    assert_true(sxt_gnu_style_named("auto", &style));
    assert_int_equal(style, SXT_GNU_AUTO);
    assert_true(sxt_addr2line_knows_style("gnu-v3"));
    assert_false(sxt_addr2line_knows_style("gnu"));
    assert_false(sxt_addr2line_knows_style(""));
}

/* --- words and answers --- */

/* The finished file of FIXTURE in a temporary file, which is removed once it is open. */
static sxt_addr2line *open_file(struct fixture *fixture, const char *section)
{
    char path[] = "/tmp/sextant-addr2line-XXXXXX";
    sxt_builder_finish(&fixture->builder);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, fixture->builder.data, fixture->builder.size), (ssize_t)fixture->builder.size);
    close(fd);
    sxt_addr2line *addr2line = NULL;
    sxt_error error = {0};
    sxt_addr2line_options options;
    sxt_addr2line_options_init(&options);
    options.section = section;
    int status = sxt_addr2line_open(path, &options, &addr2line, &error);
    unlink(path);
    assert_int_equal(status, section == NULL || strcmp(section, ".text") == 0 ? SXT_OK : SXT_ERROR_NOT_FOUND);
    return addr2line;
}

TEST(words_are_parsed_as_addresses)
{
    struct fixture fixture;
    begin(&fixture, false, EM_386);
    add(&fixture, SHT_SYMTAB, "main", STT_FUNC, STB_GLOBAL, TEXT + 16, 4);
    add(&fixture, SHT_SYMTAB, "beef", STT_FUNC, STB_GLOBAL, TEXT + 32, 4);
    sxt_addr2line *addr2line = open_file(&fixture, NULL);
    const struct {
        const char *word;
        uint64_t address;
    } cases[] = {{"main", TEXT + 16},
                 {"main+4", TEXT + 20},
                 {" main + 0x10\n", TEXT + 32},
                 {"beef", 0xbeef},
                 {"beef+0", TEXT + 32},
                 {"0x12 34", 0x12},
                 {"12g", 0x12},
                 {"nobody", 0},
                 {"nobody+5", 0},
                 {"", 0},
                 {",", 0},
                 {"0xzz", 0},
                 {"123456789", 0x23456789},
                 {"ffffffffffffffffff", UINT32_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sxt_addr2line_address(addr2line, cases[i].word), cases[i].address);
    assert_int_equal(sxt_addr2line_digits(addr2line), 8);
    sxt_addr2line_close(&addr2line);
    end(&fixture);
}

TEST(a_file_without_debug_information_answers_with_symbols)
{
    struct fixture fixture;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "_Z4mainv", STT_FUNC, STB_GLOBAL, TEXT + 16, 4);
    sxt_addr2line *addr2line = open_file(&fixture, NULL);
    const uint64_t addresses[] = {TEXT + 18, TEXT + 2, 5, TEXT + 256};
    sxt_addr2line_frame frame = SXT_ADDR2LINE_FRAME_INIT;
    assert_int_equal(sxt_addr2line_load(addr2line, addresses, 4, NULL), SXT_OK);
    assert_true(sxt_addr2line_find(addr2line, addresses[0], &frame));
    sxt_test_assert_text(frame.function, "_Z4mainv");
    sxt_test_assert_text(sxt_addr2line_demangle(addr2line, frame.function), "main()");
    sxt_test_assert_text(frame.file, NULL);
    assert_int_equal(frame.line, 0);
    assert_false(sxt_addr2line_caller(addr2line, &frame));
    for (size_t i = 1; i < 4; i++)
        assert_false(sxt_addr2line_find(addr2line, addresses[i], &frame));
    sxt_addr2line_close(&addr2line);
    end(&fixture);
}

TEST(offsets_are_those_of_a_section)
{
    struct fixture fixture;
    sxt_addr2line_frame frame = SXT_ADDR2LINE_FRAME_INIT;
    begin(&fixture, true, EM_X86_64);
    add(&fixture, SHT_SYMTAB, "main", STT_FUNC, STB_GLOBAL, TEXT + 16, 4);
    sxt_addr2line *addr2line = open_file(&fixture, ".text");
    assert_true(sxt_addr2line_find(addr2line, 17, &frame));
    sxt_test_assert_text(frame.function, "main");
    assert_false(sxt_addr2line_find(addr2line, TEXT + 17, &frame));
    sxt_addr2line_close(&addr2line);
    end(&fixture);

    begin(&fixture, true, EM_X86_64);
    assert_null(open_file(&fixture, ".nowhere"));
    end(&fixture);
}

TEST(wrong_files_and_styles_are_refused)
{
    sxt_addr2line *addr2line = NULL;
    sxt_addr2line_options options;
    sxt_addr2line_options_init(&options);
    options.style = "nobody";
    sxt_error error = {0};
    assert_int_equal(sxt_addr2line_open("/dev/null", &options, &addr2line, &error), SXT_ERROR_USAGE);
    options.style = NULL;
    assert_int_not_equal(sxt_addr2line_open("/dev/null", &options, &addr2line, &error), SXT_OK);
    assert_int_not_equal(sxt_addr2line_open("/nowhere", &options, &addr2line, &error), SXT_OK);
    assert_null(addr2line);
}
