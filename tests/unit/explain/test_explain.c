/* test_explain.c: include/sextant/explain.h as a C program uses it: records, reasons, advice and texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/sextant.h>

#include "support/elf_builder.h"
#include "support/folder.h"
#include "support/lidia_image.h"
#include "support/test.h"

#define TEXT 0x401000
#define DATA 0x402000

static char folder[SXT_TEST_FOLDER_MAX];
static char path[SXT_TEST_FOLDER_MAX + 40];
static struct sxt_builder elf;
static sxt_extract_options extract;
static sxt_open_options options;
static sxt_archive *archive;
static sxt_explainer *explainer;
static sxt_frame frames[8];
static const sxt_explanation *found;

/* Two functions with other bytes than padding between them, an alias, and a variable. */
static void build_elf(void)
{
    uint8_t code[0x100], data[0x20] = {0};
    memset(code, 0x50, sizeof code);
    memset(code + 0x80, 0x90, 0x10);
    sxt_builder_init(&elf, true, false, ET_EXEC, EM_X86_64);
    unsigned text = sxt_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    sxt_builder_at(&elf, text)->address = TEXT;
    unsigned variables = sxt_builder_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data, sizeof data);
    sxt_builder_at(&elf, variables)->address = DATA;
    sxt_builder_segment(&elf, PT_LOAD, PF_R | PF_X, text, text);
    sxt_builder_segment(&elf, PT_LOAD, PF_R | PF_W, variables, variables);
    sxt_builder_function(&elf, SHT_SYMTAB, "first", TEXT, 0x20, text);
    sxt_builder_function(&elf, SHT_SYMTAB, "alias", TEXT, 0x20, text);
    sxt_builder_function(&elf, SHT_SYMTAB, "second", TEXT + 0x40, 0x40, text);
    sxt_builder_function(&elf, SHT_SYMTAB, "third", TEXT + 0x90, 0x10, text);
    sxt_builder_symbol(&elf, SHT_SYMTAB,
                       &(struct sxt_builder_symbol){.name = "variable",
                                                    .value = DATA + 8,
                                                    .size = 8,
                                                    .type = STT_OBJECT,
                                                    .binding = STB_GLOBAL,
                                                    .section = variables});
    sxt_builder_finish(&elf);
}

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    sxt_extract_options_init(&extract);
    sxt_open_options_init(&options);
    options.extract = &extract;
    build_elf();
    sxt_test_put_file(path, elf.data, elf.size);
}

TEAR_DOWN()
{
    sxt_explainer_close(&explainer);
    sxt_archive_close(&archive);
    sxt_builder_free(&elf);
    sxt_test_remove_folder(folder);
}

static void open_file(void)
{
    sxt_error error;
    assert_int_equal(sxt_archive_open_path(path, &options, &archive, &error), SXT_OK);
    assert_int_equal(sxt_explainer_open(path, &options, &explainer, &error), SXT_OK);
}

/* Looks ADDRESS up and explains the answer. Returns the number of frames. */
static size_t explain(uint64_t address)
{
    sxt_error error;
    if (explainer == NULL)
        open_file();
    size_t count = sxt_archive_lookup(archive, address, frames, 8);
    assert_int_equal(sxt_explain_address(explainer, address, frames, count, &found, &error), SXT_OK);
    assert_int_equal(found->address, address);
    assert_int_equal(found->frame_count, count);
    return count;
}

static void assert_reason(size_t index, sxt_explain_reason reason, const char *name, uint64_t address, uint64_t size)
{
    assert_true(index < found->reason_count);
    assert_int_equal(found->reasons[index].reason, reason);
    sxt_test_assert_text(found->reasons[index].name, name);
    assert_int_equal(found->reasons[index].address, address);
    assert_int_equal(found->reasons[index].size, size);
}

static void assert_reason_text(size_t index, const char *expected)
{
    char text[300];
    assert_int_equal(sxt_explain_reason_text(found, index, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

TEST(names_the_symbol_that_gave_the_answer)
{
    assert_int_equal(explain(TEXT + 0x50), 1);
    assert_false(found->is_archive);
    const sxt_explained_frame *frame = found->frames;
    assert_int_equal(frame->record, SXT_RECORD_SYMBOL);
    sxt_test_assert_text(frame->function, "second");
    sxt_test_assert_text(frame->file, path);
    sxt_test_assert_text(frame->section, ".symtab");
    sxt_test_assert_text(frame->unit, NULL);
    assert_int_equal(frame->index, 3);
    assert_int_equal(frame->entry, 3 * sizeof(Elf64_Sym));
    assert_int_equal(frame->start, TEXT + 0x40);
    assert_int_equal(frame->end, TEXT + 0x80);
    assert_int_equal(frame->alias_count, 0);
}

TEST(lists_the_other_names_of_the_address)
{
    assert_int_equal(explain(TEXT), 1);
    assert_int_equal(found->frames[0].alias_count, 1);
    bool is_first = frames[0].function.size == strlen("first") && memcmp(frames[0].function.data, "first", 5) == 0;
    sxt_test_assert_text(found->frames[0].aliases[0], is_first ? "alias" : "first");
}

TEST(says_why_there_is_no_line)
{
    explain(TEXT);
    assert_int_equal(found->lacks, SXT_LACKS_LINE);
    assert_false(found->has_line);
    assert_int_equal(found->reasons[0].reason, SXT_WHY_NO_DWARF);
    assert_reason_text(0, "the file has no DWARF");
    assert_true(found->advice_count > 0);
}

TEST(lists_what_is_loaded_if_the_address_is_outside)
{
    assert_int_equal(explain(0x500000), 0);
    assert_int_equal(found->lacks, SXT_LACKS_NAME);
    assert_reason(0, SXT_WHY_OUTSIDE, NULL, 0, 0);
    assert_false(found->loads_sections);
    assert_int_equal(found->loaded_count, 2);
    assert_int_equal(found->loaded[0].start, TEXT);
    assert_int_equal(found->loaded[0].end, TEXT + 0x100);
    assert_int_equal(found->loaded[1].start, DATA);
    assert_reason_text(0, "0x500000 is outside of every segment that the file loads: 0x401000-0x401100, "
                          "0x402000-0x402020");
}

TEST(recognizes_addresses_of_a_process_and_missing_bases)
{
    explain(UINT64_C(0x7f1234567890));
    assert_int_equal(found->advice[0].advice, SXT_ADVICE_RUN_TIME);
    explain(0x50);
    assert_int_equal(found->advice[0].advice, SXT_ADVICE_ADD_BASE);
    assert_int_equal(found->advice[0].address, TEXT + 0x50);
    explain(TEXT + TEXT + 0x50);
    assert_int_equal(found->advice[0].advice, SXT_ADVICE_SUBTRACT_BASE);
    assert_int_equal(found->advice[0].address, TEXT + 0x50);
}

TEST(names_the_variable_at_an_address_of_data)
{
    assert_int_equal(explain(DATA + 10), 0);
    assert_int_equal(found->reasons[0].reason, SXT_WHY_NOT_CODE);
    sxt_test_assert_text(found->reasons[0].section, ".data");
    assert_reason(1, SXT_WHY_IN_VARIABLE, "variable", DATA + 8, 2);
    assert_int_equal(found->advice[0].advice, SXT_ADVICE_CHECK_ADDRESS);
    assert_int_equal(found->advice[0].address, TEXT);
    assert_int_equal(found->advice[0].size, 0x100);
}

TEST(names_the_functions_around_an_address)
{
    assert_int_equal(explain(TEXT + 0x30), 0);
    assert_reason(0, SXT_WHY_IN_NO_FUNCTION, NULL, 0, 0);
    sxt_test_assert_text(found->reasons[0].section, ".text");
    assert_int_equal(found->reasons[1].reason, SXT_WHY_FUNCTION_BEFORE);
    assert_int_equal(found->reasons[1].address, TEXT + 0x20);
    assert_int_equal(found->reasons[1].size, 0x10);
    assert_reason(2, SXT_WHY_FUNCTION_AFTER, "second", TEXT + 0x40, 0x10);
    assert_reason_text(2, "'second' starts 0x10 bytes after it, at 0x401040");
}

TEST(recognizes_padding)
{
    assert_int_equal(explain(TEXT + 0x88), 0);
    assert_reason(3, SXT_WHY_PADDING, NULL, 0, 0);
    assert_int_equal(explain(TEXT + 0x30), 0);
    for (size_t i = 0; i < found->reason_count; i++)
        assert_int_not_equal(found->reasons[i].reason, SXT_WHY_PADDING);
}

TEST(says_which_excluded_source_has_the_address)
{
    extract.sources = SXT_SOURCE_DWARF | SXT_SOURCE_DYNSYM;
    assert_int_equal(explain(TEXT + 0x50), 0);
    size_t i = 0;
    while (i < found->reason_count && found->reasons[i].reason != SXT_WHY_SOURCE_EXCLUDED)
        i++;
    assert_reason(i, SXT_WHY_SOURCE_EXCLUDED, "second", 0, 0);
    assert_int_equal(found->reasons[i].source, SXT_SOURCE_SYMTAB);
    assert_int_equal(found->advice[0].advice, SXT_ADVICE_ADD_SOURCE);
    assert_int_equal(found->advice[0].source, SXT_SOURCE_SYMTAB);
}

TEST(explains_offsets_of_the_file)
{
    sxt_error error;
    open_file();
    assert_int_equal(sxt_explain_offset(explainer, elf.size + 5, &found, &error), SXT_OK);
    assert_reason(0, SXT_WHY_AFTER_FILE, NULL, 0, elf.size);
    assert_int_equal(sxt_explain_offset(explainer, elf.section_headers, &found, &error), SXT_OK);
    assert_int_equal(found->reasons[0].reason, SXT_WHY_OFFSET_NOT_LOADED);
}

/* --- archives --- */

static void put_archive(bool is_empty)
{
    struct sxt_test_strings strings = {.size = 0};
    sxt_test_put_string(&strings, "");
    uint64_t first = sxt_test_put_string(&strings, "first"), last = sxt_test_put_string(&strings, "last");
    const struct sxt_test_row rows[] = {
        {.address = 0x1000, .length = 0x20, .function = first, .line_count = 2},
        {.address = 0x1040, .length = 0x20, .function = last},
    };
    const uint32_t lines[][2] = {{0, 7}, {8, 9}};
    struct sxt_test_lidia content = {.rows = rows,
                                     .row_count = is_empty ? 0 : 2,
                                     .strings = &strings,
                                     .lines = lines,
                                     .line_count = is_empty ? 0 : 2};
    size_t size;
    uint8_t *image = sxt_test_lidia_image(&content, &size);
    sxt_test_put_file(path, image, size);
    free(image);
}

TEST(names_the_row_and_the_line_entry_of_an_archive)
{
    put_archive(false);
    assert_int_equal(explain(0x1009), 1);
    assert_true(found->is_archive);
    assert_int_equal(found->frames[0].record, SXT_RECORD_ROW);
    assert_int_equal(found->frames[0].index, 0);
    assert_int_equal(found->frames[0].start, 0x1000);
    assert_int_equal(found->frames[0].end, 0x1020);
    assert_true(found->has_line);
    assert_int_equal(found->line.line, 9);
    assert_int_equal(found->line.address, 0x1008);
    assert_int_equal(explain(0x1007), 1);
    assert_int_equal(found->line.line, 7);
    assert_int_equal(explain(0x1041), 1);
    assert_false(found->has_line);
    assert_reason(0, SXT_WHY_NO_LINE_ENTRY, NULL, 0, 0);
}

TEST(says_where_an_address_is_among_the_rows)
{
    put_archive(false);
    assert_int_equal(explain(0xfff), 0);
    assert_reason(0, SXT_WHY_BEFORE_ROWS, "first", 0x1000, found->reasons[0].size);
    assert_int_equal(explain(0x1030), 0);
    assert_reason(0, SXT_WHY_BETWEEN_ROWS, NULL, 0, 0);
    assert_reason(1, SXT_WHY_FUNCTION_BEFORE, "first", 0x1020, 0x10);
    assert_reason(2, SXT_WHY_FUNCTION_AFTER, "last", 0x1040, 0x10);
    assert_int_equal(explain(0x1060), 0);
    assert_reason(0, SXT_WHY_AFTER_ROWS, "last", 0x1060, found->reasons[0].size);
}

TEST(explains_an_archive_without_rows)
{
    put_archive(true);
    assert_int_equal(explain(0x1000), 0);
    assert_reason(0, SXT_WHY_NO_ROWS, NULL, 0, 0);
    assert_int_equal(found->advice[0].advice, SXT_ADVICE_MAKE_AGAIN);
}

/* --- texts --- */

TEST(cuts_texts_like_snprintf)
{
    explain(0x50);
    char whole[200], part[10] = "xxxxxxxxx";
    size_t size = sxt_explain_advice_text(found, 0, whole, sizeof whole);
    assert_int_equal(strlen(whole), size);
    assert_int_equal(sxt_explain_advice_text(found, 0, NULL, 0), size);
    assert_int_equal(sxt_explain_advice_text(found, 0, part, 6), size);
    assert_memory_equal(part, whole, 5);
    assert_int_equal(part[5], 0);
    assert_int_equal(part[6], 'x');
}

/* --- failures --- */

TEST(rejects_what_it_cannot_explain)
{
    sxt_error error;
    sxt_test_put_file(path, "text", 4);
    assert_int_equal(sxt_explainer_open(path, NULL, &explainer, &error), SXT_ERROR_UNSUPPORTED);
    assert_null(explainer);
    sxt_test_remove_folder(folder);
    assert_int_equal(sxt_explainer_open(path, NULL, &explainer, &error), SXT_ERROR_IO);
    assert_null(explainer);
    sxt_explainer_close(&explainer);
    sxt_test_make_folder(folder);
}

/* Explains an address of a damaged file, which may fail, but not crash. */
static void survive(const uint8_t *data, size_t size)
{
    static const uint64_t addresses[] = {0, TEXT, TEXT + 0x30, TEXT + 0x88, DATA + 9, UINT64_MAX};
    sxt_error error;
    char text[200];
    unlink(path); /* some file systems wait for the disk when a file is overwritten */
    sxt_test_put_file(path, data, size);
    if (sxt_explainer_open(path, &options, &explainer, &error) != SXT_OK) {
        assert_null(explainer);
        return;
    }
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        if (sxt_explain_address(explainer, addresses[i], NULL, 0, &found, &error) != SXT_OK)
            continue;
        for (size_t k = 0; k < found->reason_count; k++)
            assert_true(sxt_explain_reason_text(found, k, text, sizeof text) > 0);
        for (size_t k = 0; k < found->advice_count; k++)
            assert_true(sxt_explain_advice_text(found, k, text, sizeof text) > 0);
    }
    sxt_explainer_close(&explainer);
}

TEST(survives_every_cut_and_every_changed_byte)
{
    extract.debug_directory = "/nonexistent";
    for (size_t size = 0; size < elf.size; size++)
        survive(elf.data, size);
    uint8_t *changed = malloc(elf.size);
    assert_non_null(changed);
    for (size_t i = 0; i < elf.size; i++) {
        memcpy(changed, elf.data, elf.size);
        changed[i] ^= i % 2 ? 0xff : 0x01;
        survive(changed, elf.size);
    }
    free(changed);
}
