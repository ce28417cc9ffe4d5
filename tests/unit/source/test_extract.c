/* test_extract.c: which sources are read, what happens if one fails, and files that are made to be expensive. */
#include <elf.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/output.h"
#include "source/extract.h"
#include "support/elf_builder.h"
#include "support/model.h"
#include "support/test.h"

#define TEXT 0x401000

struct extraction {
    struct sxt_builder builder;
    sxt_extract_options options;
    sxt_symbols *symbols;
    sxt_error error;
    unsigned warnings;
    char warning[240];
};

static void note_warning(void *data, const sxt_error *problem)
{
    struct extraction *extraction = data;
    extraction->warnings++;
    snprintf(extraction->warning, sizeof extraction->warning, "%s", problem->text);
}

/* A file with 4 KiB of .text as section 1. */
static void begin_file(struct sxt_builder *builder, uint16_t type)
{
    static const char code[4096];
    sxt_builder_init(builder, true, false, type, EM_X86_64);
    unsigned text = sxt_builder_section(builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    sxt_builder_at(builder, text)->address = TEXT;
    if (type != ET_REL)
        sxt_builder_segment(builder, PT_LOAD, PF_R | PF_X, text, text);
}

static void begin(struct extraction *extraction, uint16_t type)
{
    memset(extraction, 0, sizeof *extraction);
    begin_file(&extraction->builder, type);
    sxt_extract_options_init(&extraction->options);
    extraction->options.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    extraction->options.warning = note_warning;
    extraction->options.warning_data = extraction;
}

static int extract(struct extraction *extraction)
{
    if (extraction->builder.data == NULL)
        sxt_builder_finish(&extraction->builder);
    return sxt_symbols_from_memory(extraction->builder.data, extraction->builder.size, &extraction->options,
                                   &extraction->symbols, &extraction->error);
}

static void end(struct extraction *extraction)
{
    sxt_symbols_free(&extraction->symbols);
    sxt_builder_free(&extraction->builder);
}

/* Extraction gives these ranges, in the form of sxt_test_ranges_text, and so many warnings in total. */
static void expect(struct extraction *extraction, const char *ranges, unsigned warnings)
{
    if (extract(extraction) != SXT_OK)
        fail_msg("%s", extraction->error.text);
    sxt_test_assert_model(extraction->symbols, ranges);
    if (extraction->warnings != warnings)
        fail_msg("%u warnings, the last: %s", extraction->warnings, extraction->warning);
    end(extraction);
}

static void expect_error(struct extraction *extraction, sxt_status code, const char *words)
{
    assert_int_equal(extract(extraction), code);
    assert_null(extraction->symbols);
    if (strstr(extraction->error.text, words) == NULL)
        fail_msg("'%s' does not contain '%s'", extraction->error.text, words);
    end(extraction);
}

static void add(struct extraction *extraction, uint32_t table, const char *name, uint64_t offset, uint64_t size)
{
    sxt_builder_function(&extraction->builder, table, name, TEXT + offset, size, 1);
}

/* .gnu_debugdata: an ELF file with one function, xz-compressed. */
static void add_mini_debug_info(struct extraction *extraction, const char *name, uint64_t offset, uint64_t size)
{
    struct sxt_builder mini;
    begin_file(&mini, ET_EXEC);
    sxt_builder_function(&mini, SHT_SYMTAB, name, TEXT + offset, size, 1);
    sxt_builder_finish(&mini);
    size_t room = lzma_stream_buffer_bound(mini.size), used = 0;
    uint8_t *packed = malloc(room);
    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, mini.data, mini.size, packed, &used, room),
                     LZMA_OK);
    sxt_builder_section(&extraction->builder, ".gnu_debugdata", SHT_PROGBITS, 0, packed, used);
    free(packed);
    sxt_builder_free(&mini);
}

/* A file in the temporary directory; PATH has room for 200 bytes. */
static void put_temporary(char *path, const void *data, size_t size)
{
    const char *place = getenv("TMPDIR");
    snprintf(path, 200, "%s/sextant-extract-XXXXXX", place != NULL ? place : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(sxt_write_all(fd, data, size, NULL), SXT_OK);
    close(fd);
}

/* --- sources --- */

TEST(functions_of_both_symbol_tables_are_merged)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_DYNSYM, "only_dynamic", 0x30, 8);
    add(&extraction, SHT_DYNSYM, "both", 0x10, 8);
    add(&extraction, SHT_DYNSYM, "alias_of_both", 0x10, 8);
    add(&extraction, SHT_SYMTAB, "both", 0x10, 8);
    add(&extraction, SHT_SYMTAB, "only_static", 0x20, 8);
    expect(&extraction, "both@401010-401018 only_static@401020-401028 only_dynamic@401030-401038", 0);
}

TEST(mini_debug_info_adds_what_dynsym_lacks)
{
    struct extraction extraction;
    begin(&extraction, ET_DYN);
    add(&extraction, SHT_DYNSYM, "exported", 0, 16);
    add_mini_debug_info(&extraction, "hidden", 0x40, 16);
    expect(&extraction, "exported@401000-401010 hidden@401040-401050", 0);
}

TEST(a_named_debug_file_adds_its_symbols)
{
    struct extraction extraction;
    struct sxt_builder debug;
    char path[200];
    begin_file(&debug, ET_EXEC);
    sxt_builder_function(&debug, SHT_SYMTAB, "from_debug_file", TEXT + 0x80, 8, 1);
    sxt_builder_finish(&debug);
    put_temporary(path, debug.data, debug.size);
    sxt_builder_free(&debug);
    begin(&extraction, ET_EXEC);
    extraction.options.debug_path = path;
    add(&extraction, SHT_DYNSYM, "exported", 0, 16);
    add(&extraction, SHT_SYMTAB, "own", 0x20, 16);
    add_mini_debug_info(&extraction, "mini", 0x40, 16);
    sxt_builder_finish(&extraction.builder);
    int status = extract(&extraction);
    unlink(path);
    assert_int_equal(status, SXT_OK);
    sxt_test_assert_model(extraction.symbols, "exported@401000-401010 own@401020-401030 mini@401040-401050 "
                                              "from_debug_file@401080-401088");
    end(&extraction);
}

TEST(a_named_debug_file_that_does_not_exist_is_an_error)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_SYMTAB, "f", 0, 16);
    extraction.options.debug_path = "/no/such/file.debug";
    expect_error(&extraction, SXT_ERROR_IO, "/no/such/file.debug");
}

TEST(the_symbols_of_plt_entries_are_there)
{
    struct extraction extraction;
    begin(&extraction, ET_DYN);
    struct sxt_builder *builder = &extraction.builder;
    unsigned plt = sxt_builder_section(builder, ".plt.got", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
                                       "\xff\x25\xfa\x0f\0\0\x66\x90", 8);
    sxt_builder_at(builder, plt)->address = 0x500000;
    sxt_builder_at(builder, plt)->entry_size = 8;
    unsigned symbol = sxt_builder_function(builder, SHT_DYNSYM, "puts", 0, 0, SHN_UNDEF);
    unsigned relocations = sxt_builder_section(builder, ".rela.plt", SHT_RELA, SHF_ALLOC, NULL, 0);
    sxt_builder_address(builder, relocations, 0x501000);
    sxt_builder_address(builder, relocations, (uint64_t)symbol << 32 | 7);
    sxt_builder_address(builder, relocations, 0);
    sxt_builder_at(builder, relocations)->link = builder->dynsym;
    expect(&extraction, "puts@plt@500000-500008", 0);
}

TEST(only_the_requested_sources_are_used)
{
    const struct {
        uint32_t sources;
        const char *ranges;
    } cases[] = {
        {SXT_SOURCE_SYMTAB, "static@401010-401018 mini@401040-401048"},
        {SXT_SOURCE_DYNSYM, "dynamic@401020-401028"},
        {SXT_SOURCE_SYMTAB | SXT_SOURCE_DYNSYM, "static@401010-401018 dynamic@401020-401028 mini@401040-401048"},
        {SXT_SOURCE_GO | SXT_SOURCE_DWARF, ""},
        {0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct extraction extraction;
        begin(&extraction, ET_EXEC);
        add(&extraction, SHT_SYMTAB, "static", 0x10, 8);
        add(&extraction, SHT_DYNSYM, "dynamic", 0x20, 8);
        add_mini_debug_info(&extraction, "mini", 0x40, 8);
        extraction.options.sources = cases[i].sources;
        expect(&extraction, cases[i].ranges, 0);
    }
}

TEST(a_file_without_symbols_is_an_empty_model)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    expect(&extraction, "", 0);
}

TEST(zero_size_functions_own_nothing_unless_they_are_extended)
{
    for (unsigned extend = 0; extend < 2; extend++) {
        struct extraction extraction;
        begin(&extraction, ET_EXEC);
        add(&extraction, SHT_SYMTAB, "label", 0x10, 0);
        add(&extraction, SHT_SYMTAB, "sized", 0x20, 8);
        add(&extraction, SHT_SYMTAB, "last", 0xff0, 0);
        if (extend)
            extraction.options.flags |= SXT_EXTRACT_EXTEND_ZERO_SIZE;
        expect(&extraction,
               extend ? "label@401010-401020 sized@401020-401028 last@401ff0-402000" : "sized@401020-401028", 0);
    }
}

TEST(facts_about_the_file_are_recorded)
{
    struct extraction extraction;
    begin(&extraction, ET_REL);
    sxt_builder_build_id(&extraction.builder, "abcdef", 6);
    sxt_builder_function(&extraction.builder, SHT_SYMTAB, "f", 0, 4, 1);
    assert_int_equal(extract(&extraction), SXT_OK);
    assert_string_equal(extraction.symbols->module.arch, "x86_64");
    assert_int_equal(extraction.symbols->module.build_id_size, 6);
    assert_memory_equal(extraction.symbols->module.build_id, "abcdef", 6);
    assert_int_equal(extraction.symbols->sources, SXT_SOURCE_SYMTAB);
    assert_int_equal(extraction.symbols->base_count, 2);
    assert_int_equal(extraction.symbols->bases[1].base, 4096);
    assert_int_equal(extraction.symbols->module.segment_count, 2);
    end(&extraction);
}

/* --- damage --- */

TEST(a_damaged_source_is_a_warning_and_the_others_are_used)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_SYMTAB, "lost", 0, 8);
    add(&extraction, SHT_DYNSYM, "kept", 0x20, 8);
    sxt_builder_finish(&extraction.builder);
    sxt_builder_lie_section(&extraction.builder, extraction.builder.symtab, SXT_SECTION_LINK, 99);
    expect(&extraction, "kept@401020-401028", 1);

    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_SYMTAB, "kept", 0, 8);
    add(&extraction, SHT_DYNSYM, "lost", 0x20, 8);
    sxt_builder_finish(&extraction.builder);
    sxt_builder_lie_section(&extraction.builder, extraction.builder.dynsym, SXT_SECTION_SIZE, UINT64_MAX);
    expect(&extraction, "kept@401000-401008", 1);

    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_SYMTAB, "kept", 0, 8);
    sxt_builder_section(&extraction.builder, ".gnu_debugdata", SHT_PROGBITS, 0,
                        "\xfd"
                        "7zXZ\0 and no more",
                        18);
    expect(&extraction, "kept@401000-401008", 1);
}

TEST(if_no_source_is_left_the_first_failure_is_the_error)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_SYMTAB, "lost", 0, 8);
    add(&extraction, SHT_DYNSYM, "lost too", 0x20, 8);
    sxt_builder_finish(&extraction.builder);
    sxt_builder_lie_section(&extraction.builder, extraction.builder.symtab, SXT_SECTION_LINK, 99);
    sxt_builder_lie_section(&extraction.builder, extraction.builder.dynsym, SXT_SECTION_SIZE, UINT64_MAX);
    expect_error(&extraction, SXT_ERROR_FORMAT, "string table is section 99");
}

TEST(errors_in_mini_debug_info_name_it)
{
    static const char *const contents[] = {"", "not compressed at all",
                                           "\xfd"
                                           "7zXZ",
                                           "\x7f"
                                           "ELF"};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        struct extraction extraction;
        begin(&extraction, ET_EXEC);
        sxt_builder_section(&extraction.builder, ".gnu_debugdata", SHT_PROGBITS, 0, contents[i], strlen(contents[i]));
        expect_error(&extraction, SXT_ERROR_FORMAT, "MiniDebugInfo");
    }
}

TEST(mini_debug_info_inside_mini_debug_info_is_not_followed)
{
    struct extraction inner, outer;
    begin(&inner, ET_EXEC);
    add(&inner, SHT_SYMTAB, "inner", 0, 8);
    add_mini_debug_info(&inner, "innermost", 0x40, 8);
    sxt_builder_finish(&inner.builder);
    size_t room = lzma_stream_buffer_bound(inner.builder.size), used = 0;
    uint8_t *packed = malloc(room);
    assert_int_equal(
        lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, inner.builder.data, inner.builder.size, packed, &used, room),
        LZMA_OK);
    begin(&outer, ET_EXEC);
    sxt_builder_section(&outer.builder, ".gnu_debugdata", SHT_PROGBITS, 0, packed, used);
    free(packed);
    end(&inner);
    expect(&outer, "inner@401000-401008", 0);
}

TEST(mini_debug_info_over_the_limit_is_refused)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    add_mini_debug_info(&extraction, "f", 0, 8);
    extraction.options.inflate_limit = 1000;
    expect_error(&extraction, SXT_ERROR_LIMIT, "limit of 1000 bytes");
}

/* --- entry points --- */

TEST(reads_from_path_descriptor_and_memory_also_compressed)
{
    for (unsigned compressed = 0; compressed < 2; compressed++) {
        struct extraction extraction;
        char path[200];
        begin(&extraction, ET_EXEC);
        add(&extraction, SHT_SYMTAB, "main", 0, 8);
        sxt_builder_finish(&extraction.builder);
        put_temporary(path, extraction.builder.data, extraction.builder.size);
        if (compressed) {
            gzFile out = gzopen(path, "wb");
            assert_int_equal(gzwrite(out, extraction.builder.data, (unsigned)extraction.builder.size),
                             extraction.builder.size);
            gzclose(out);
        }
        sxt_symbols *symbols;
        assert_int_equal(sxt_symbols_from_path(path, &extraction.options, &symbols, NULL), SXT_OK);
        sxt_test_assert_model(symbols, "main@401000-401008");
        sxt_symbols_free(&symbols);
        int fd = open(path, O_RDONLY);
        assert_int_equal(sxt_symbols_from_fd(fd, &extraction.options, &symbols, NULL), SXT_OK);
        sxt_test_assert_model(symbols, "main@401000-401008");
        sxt_symbols_free(&symbols);
        assert_int_equal(close(fd), 0); /* the descriptor is still open */
        unlink(path);
        expect(&extraction, "main@401000-401008", 0);
    }
}

TEST(default_options_suffice)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_SYMTAB, "main", 0, 8);
    sxt_builder_finish(&extraction.builder);
    assert_int_equal(
        sxt_symbols_from_memory(extraction.builder.data, extraction.builder.size, NULL, &extraction.symbols, NULL),
        SXT_OK);
    sxt_test_assert_model(extraction.symbols, "main@401000-401008");
    end(&extraction);
}

TEST(what_cannot_be_read_is_an_error_and_gives_no_model)
{
    sxt_symbols *symbols = (sxt_symbols *)&symbols;
    sxt_error error;
    assert_int_equal(sxt_symbols_from_path("/no/such/file", NULL, &symbols, &error), SXT_ERROR_IO);
    assert_null(symbols);
    symbols = (sxt_symbols *)&symbols;
    assert_int_equal(sxt_symbols_from_path("/", NULL, &symbols, &error), SXT_ERROR_IO);
    assert_null(symbols);
    symbols = (sxt_symbols *)&symbols;
    assert_int_equal(sxt_symbols_from_fd(-1, NULL, &symbols, &error), SXT_ERROR_IO);
    assert_null(symbols);
    symbols = (sxt_symbols *)&symbols;
    assert_int_equal(sxt_symbols_from_memory(NULL, 0, NULL, &symbols, &error), SXT_ERROR_UNSUPPORTED);
    assert_null(symbols);
    symbols = (sxt_symbols *)&symbols;
    assert_int_equal(sxt_symbols_from_memory("\x1f\x8b\x08 no gzip", 11, NULL, &symbols, &error), SXT_ERROR_FORMAT);
    assert_null(symbols);
}

TEST(a_core_file_is_refused)
{
    struct extraction extraction;
    begin(&extraction, ET_CORE);
    expect_error(&extraction, SXT_ERROR_UNSUPPORTED, "core file");
}

/* Options of an older version are shorter: nothing after their end may be read. */
TEST(options_of_an_impossible_size_are_a_usage_error)
{
    const size_t sizes[] = {0, sizeof(size_t) - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct extraction extraction;
        begin(&extraction, ET_EXEC);
        sxt_builder_finish(&extraction.builder);
        size_t *options = malloc(sizeof *options);
        *options = sizes[i];
        sxt_error error;
        assert_int_equal(sxt_symbols_from_memory(extraction.builder.data, extraction.builder.size,
                                                 (const sxt_extract_options *)(const void *)options,
                                                 &extraction.symbols, &error),
                         SXT_ERROR_USAGE);
        assert_null(extraction.symbols);
        assert_non_null(strstr(error.text, "sxt_extract_options_init"));
        free(options);
        end(&extraction);
    }
}

TEST(options_that_are_only_a_size_are_the_defaults)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    sxt_builder_finish(&extraction.builder);
    size_t *options = malloc(sizeof *options);
    *options = sizeof *options;
    assert_int_equal(sxt_symbols_from_memory(extraction.builder.data, extraction.builder.size,
                                             (const sxt_extract_options *)(const void *)options, &extraction.symbols,
                                             NULL),
                     SXT_OK);
    free(options);
    end(&extraction);
}

/* --- files that are made to be expensive --- */

/*
 * Extraction takes at most 2 seconds and 256 MiB, whatever its result. A child process does it, because only the
 * maximum memory of a whole process can be measured.
 */
static void expect_cheap(struct extraction *extraction)
{
    if (extraction->builder.data == NULL)
        sxt_builder_finish(&extraction->builder);
    struct rusage after;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)extract(extraction);
        _exit(0);
    }
    int status;
    assert_int_equal(wait4(child, &status, 0, &after), child);
    size_t size = extraction->builder.size;
    end(extraction);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    if (after.ru_utime.tv_sec + after.ru_stime.tv_sec > 2 || after.ru_maxrss > 256 << 10)
        fail_msg("%ld s and %ld KiB for a file of %zu bytes", after.ru_utime.tv_sec + after.ru_stime.tv_sec,
                 after.ru_maxrss, size);
}

/* Adds COUNT sections of TYPE that all contain the bytes of section ORIGINAL, and finishes the file. */
static void repeat_section(struct sxt_builder *builder, unsigned original, unsigned count)
{
    unsigned first = builder->section_count;
    for (unsigned i = 0; i < count; i++)
        sxt_builder_section(builder, "", SHT_NULL, 0, NULL, 0);
    sxt_builder_finish(builder);
    struct sxt_builder_section section = *sxt_builder_at(builder, original);
    for (unsigned i = first; i < first + count; i++) {
        sxt_builder_lie_section(builder, i, SXT_SECTION_TYPE, section.type);
        sxt_builder_lie_section(builder, i, SXT_SECTION_FLAGS, section.flags);
        sxt_builder_lie_section(builder, i, SXT_SECTION_OFFSET, section.offset);
        sxt_builder_lie_section(builder, i, SXT_SECTION_SIZE, section.size);
        sxt_builder_lie_section(builder, i, SXT_SECTION_LINK, section.link);
        sxt_builder_lie_section(builder, i, SXT_SECTION_ENTRY_SIZE, section.entry_size);
    }
}

TEST(many_symbol_tables_that_are_the_same_bytes_cost_little)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    for (unsigned i = 0; i < 10000; i++)
        add(&extraction, SHT_SYMTAB, "f", i, 1);
    repeat_section(&extraction.builder, extraction.builder.symtab, 4000);
    expect_cheap(&extraction);
}

TEST(many_compressed_sections_that_are_the_same_bytes_cost_little)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_SYMTAB, "f", 0, 1);
    struct sxt_buffer *bytes = &sxt_builder_at(&extraction.builder, extraction.builder.symtab)->bytes;
    memset(sxt_buffer_extend(bytes, (size_t)24 << 20), 0, (size_t)24 << 20);
    sxt_builder_compress(&extraction.builder, extraction.builder.symtab, ELFCOMPRESS_ZLIB);
    repeat_section(&extraction.builder, extraction.builder.symtab, 200);
    extraction.options.inflate_limit = (uint64_t)32 << 20;
    expect_cheap(&extraction);
}

/* 320 MiB of zeros, in fifty kilobytes. */
TEST(mini_debug_info_that_would_expand_a_lot_is_refused_soon)
{
    struct extraction extraction;
    size_t size = (size_t)320 << 20, room = (size_t)1 << 20, used = 0;
    uint8_t *zeros = calloc(1, size), *packed = malloc(room);
    assert_true(zeros != NULL && packed != NULL);
    assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, NULL, zeros, size, packed, &used, room), LZMA_OK);
    free(zeros);
    begin(&extraction, ET_EXEC);
    add(&extraction, SHT_SYMTAB, "f", 0, 1);
    sxt_builder_section(&extraction.builder, ".gnu_debugdata", SHT_PROGBITS, 0, packed, used);
    free(packed);
    expect_cheap(&extraction);
}

/* A relocatable file lists its sections, so their names are copied: tails of one text of half a megabyte. */
TEST(many_sections_with_overlapping_names_cost_little)
{
    struct extraction extraction;
    begin(&extraction, ET_REL);
    char *text = malloc((size_t)512 << 10);
    memset(text, 'n', (size_t)512 << 10);
    text[((size_t)512 << 10) - 1] = 0;
    unsigned names = sxt_builder_section(&extraction.builder, "", SHT_STRTAB, 0, text, (size_t)512 << 10);
    free(text);
    for (unsigned i = 0; i < 4000; i++)
        sxt_builder_section(&extraction.builder, "", SHT_PROGBITS, SHF_ALLOC, NULL, 0);
    sxt_builder_finish(&extraction.builder);
    sxt_builder_lie_header(&extraction.builder, SXT_HEADER_NAMES, names);
    for (unsigned i = 1; i <= 4000; i++)
        sxt_builder_lie_section(&extraction.builder, names + i, SXT_SECTION_NAME, i);
    expect_cheap(&extraction);
}

/* Each of them searches for the next symbol after it, and all have the same address. */
TEST(many_zero_size_functions_at_one_address_are_extended_soon)
{
    struct extraction extraction;
    begin(&extraction, ET_EXEC);
    for (unsigned i = 0; i < 100000; i++) {
        char name[12];
        snprintf(name, sizeof name, "f%u", i);
        add(&extraction, SHT_SYMTAB, name, 0, 0);
    }
    extraction.options.flags |= SXT_EXTRACT_EXTEND_ZERO_SIZE;
    expect_cheap(&extraction);
}
