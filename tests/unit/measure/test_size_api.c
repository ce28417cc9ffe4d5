/* test_size_api.c: sextant/size.h as a C program uses it: nothing here comes from an internal header of the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sextant/sextant.h>

#include "support/size_image.h"
#include "support/test.h"

static bool is(sxt_string text, const char *wanted)
{
    return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

/* The plain file of size_image.h, with FROM replaced by TO. */
static sxt_size_info *load(const char *from, const char *to)
{
    char *text = sxt_test_size_plain();
    if (from != NULL)
        text = sxt_test_size_replace(text, from, to);
    sxt_size_info *info;
    sxt_error error;
    if (sxt_size_load_memory(text, strlen(text), NULL, &info, NULL, &error) != SXT_OK)
        fail_msg("%s", error.text);
    free(text);
    return info;
}

static sxt_size_result *ask(const sxt_size_info *info, const sxt_size_diff *diff, const char *text)
{
    sxt_size_query *query;
    sxt_size_result *result;
    sxt_error error;
    if (sxt_size_query_parse(text, strlen(text), &query, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(info != NULL ? sxt_size_info_query(info, query, &result, &error)
                                  : sxt_size_diff_query(diff, query, &result, &error),
                     SXT_OK);
    sxt_size_query_free(&query);
    assert_null(query);
    return result;
}

/* --- one build --- */

TEST(symbols_are_views_by_index)
{
    sxt_size_info *info = load(NULL, NULL);
    sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
    assert_int_equal(sxt_size_info_symbol_count(info), 6);
    assert_int_equal(sxt_size_info_symbol(info, 1, &symbol), SXT_OK);
    assert_true(is(symbol.full_name, "g") && is(symbol.section, ".text") && is(symbol.container, ""));
    assert_int_equal(symbol.aliases, 2);
    assert_int_equal(symbol.address, 4120);
    assert_true(symbol.pss * 2 == (double)symbol.size && symbol.size - symbol.padding == 8);
    assert_int_equal(symbol.status, SXT_SIZE_UNCHANGED);
    assert_int_equal(sxt_size_info_symbol(info, 4, &symbol), SXT_OK);
    assert_true(symbol.is_bss && is(symbol.full_name, "counter"));
    assert_int_equal(sxt_size_info_symbol(info, 6, &symbol), SXT_ERROR_USAGE);
    assert_int_equal(sxt_size_info_symbol(info, SIZE_MAX, &symbol), SXT_ERROR_USAGE);
    sxt_size_info_free(&info);
    assert_null(info);
    sxt_size_info_free(&info);
}

/* A caller that was compiled against an older header has a smaller struct; nothing after it is written. */
TEST(views_of_older_and_newer_callers)
{
    struct {
        sxt_size_symbol symbol;
        char more[16];
    } larger;
    sxt_size_info *info = load(NULL, NULL);
    memset(&larger, 0x55, sizeof larger);
    larger.symbol.struct_size = offsetof(sxt_size_symbol, section);
    assert_int_equal(sxt_size_info_symbol(info, 0, &larger.symbol), SXT_OK);
    assert_int_equal(larger.symbol.struct_size, offsetof(sxt_size_symbol, section));
    assert_true(is(larger.symbol.container, "") && larger.symbol.address == 0x5555555555555555);
    larger.symbol.struct_size = sizeof larger;
    assert_int_equal(sxt_size_info_symbol(info, 0, &larger.symbol), SXT_OK);
    assert_int_equal(larger.symbol.address, 4096);
    assert_memory_equal(larger.more, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", sizeof larger.more);
    sxt_size_info_free(&info);
}

TEST(names_are_derived_in_memory_that_is_used_again)
{
    sxt_size_info *info = load("\nfirst\n", "\nint a::f<char>(int)\n");
    sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
    sxt_size_names names = SXT_SIZE_NAMES_INIT;
    assert_int_equal(sxt_size_info_symbol(info, 0, &symbol), SXT_OK);
    assert_int_equal(sxt_size_symbol_names(&symbol, &names, NULL), SXT_OK);
    assert_true(is(names.full_name, "a::f<char>(int)") && is(names.template_name, "a::f<char>") &&
                is(names.name, "a::f<>"));
    assert_int_equal(sxt_size_info_symbol(info, 3, &symbol), SXT_OK);
    assert_int_equal(sxt_size_symbol_names(&symbol, &names, NULL), SXT_OK);
    assert_true(is(names.name, "last"));
    sxt_size_names_free(&names);
    sxt_size_names_free(&names);
    sxt_size_info_free(&info);
}

TEST(figures_and_header)
{
    sxt_size_info *info = load(NULL, NULL);
    sxt_size_summary summary = SXT_SIZE_SUMMARY_INIT;
    char *header;
    size_t size;
    sxt_size_info_summary(info, &summary);
    assert_int_equal(summary.symbols, 6);
    assert_int_equal(summary.containers, 1);
    assert_int_equal(summary.sections, 3);
    assert_int_equal(summary.paths, 3);
    assert_false(summary.is_sparse);
    assert_int_equal(sxt_size_info_header(info, &header, &size, NULL), SXT_OK);
    assert_true(size > 2 && header[0] == '{' && header[size - 1] == '}' && memchr(header, '\n', size) == NULL);
    sxt_free(header);
    sxt_size_info_free(&info);
}

TEST(sections_come_in_order)
{
    sxt_size_info *info = load(NULL, NULL);
    sxt_size_sections *sections;
    sxt_size_section section = SXT_SIZE_SECTION_INIT;
    assert_int_equal(sxt_size_sections_make(info, &sections, NULL), SXT_OK);
    assert_int_equal(sxt_size_sections_count(sections), 3);
    assert_int_equal(sxt_size_sections_get(sections, 0, &section), SXT_OK);
    assert_true(is(section.name, ".other") && section.file == 50 && section.memory == 0 && section.symbols == 1);
    assert_int_equal(sxt_size_sections_get(sections, 1, &section), SXT_OK);
    assert_true(is(section.name, ".text") && section.file == 36 && section.is_loaded && section.symbols == 4);
    assert_int_equal(sxt_size_sections_get(sections, 2, &section), SXT_OK);
    assert_true(is(section.name, ".bss") && section.is_bss && section.file == 0 && section.memory == 999);
    assert_int_equal(sxt_size_sections_get(sections, 3, &section), SXT_ERROR_USAGE);
    sxt_size_sections_total(sections, &section);
    assert_true(section.file == 86 && section.memory == 36 + 999 && section.symbols == 6);
    sxt_size_sections_free(&sections);
    assert_null(sections);
    sxt_size_info_free(&info);
}

/* --- queries --- */

TEST(queries_give_rows_and_groups)
{
    sxt_size_info *info = load(NULL, NULL);
    sxt_size_row row = SXT_SIZE_ROW_INIT;
    sxt_size_result *result = ask(info, NULL, "section:.text | sort size | limit 2");
    assert_int_equal(sxt_size_result_row_count(result), 2);
    assert_int_equal(sxt_size_result_total(result, &row), 4);
    assert_int_equal(row.count, 4);
    assert_int_equal(sxt_size_result_key_count(result), 0);
    assert_null(sxt_size_result_key(result, 0));
    assert_int_equal(sxt_size_result_row(result, 2, &row), SXT_ERROR_USAGE);
    assert_null(sxt_size_result_label(result, 0, 0).data);
    sxt_size_result_free(&result);
    result = ask(info, NULL, "| group section, name");
    assert_int_equal(sxt_size_result_key_count(result), 2);
    assert_string_equal(sxt_size_result_key(result, 1), "name");
    assert_null(sxt_size_result_key(result, 2));
    assert_int_equal(sxt_size_result_row(result, 0, &row), SXT_OK);
    assert_true(is(sxt_size_result_label(result, 0, 0), ".bss") && is(sxt_size_result_label(result, 0, 1), "counter"));
    assert_null(sxt_size_result_label(result, 99, 0).data);
    sxt_size_result_free(&result);
    assert_null(result);
    sxt_size_info_free(&info);
}

TEST(canned_queries_can_be_listed_and_parsed)
{
    size_t count = 0;
    for (const sxt_size_canned_query *one; (one = sxt_size_canned_query_at(count)) != NULL; count++) {
        sxt_size_query *query;
        assert_true(one->name[0] != 0 && one->help[0] != 0);
        assert_int_equal(sxt_size_query_parse(one->text, strlen(one->text), &query, NULL), SXT_OK);
        sxt_size_query_free(&query);
    }
    assert_true(count > 10);
    assert_null(sxt_size_canned_query_at(SIZE_MAX));
}

TEST(a_wrong_query_states_the_place_and_no_flag)
{
    sxt_size_query *query;
    sxt_error error;
    assert_int_equal(sxt_size_query_parse("size>1k | @nope", 15, &query, &error), SXT_ERROR_USAGE);
    assert_null(query);
    assert_int_equal(error.reason, SXT_REASON_UNKNOWN_QUERY);
    assert_string_equal(error.text, "column 11: no query named '@nope'");
    assert_int_equal(error.offset, 10);
    assert_int_equal(sxt_size_query_parse("size>", 5, &query, &error), SXT_ERROR_USAGE);
    assert_int_equal(error.reason, SXT_REASON_NONE);
    assert_null(strstr(error.text, "--"));
}

/* --- writing and selecting --- */

TEST(what_is_written_can_be_loaded_again)
{
    sxt_size_info *info = load(NULL, NULL), *again;
    for (int fast = 0; fast < 2; fast++) {
        sxt_size_write_options options;
        void *data;
        size_t size;
        sxt_size_write_options_init(&options);
        options.fast = fast != 0;
        assert_int_equal(sxt_size_info_write_memory(info, &options, &data, &size, NULL), SXT_OK);
        assert_int_equal(sxt_size_load_memory(data, size, NULL, &again, NULL, NULL), SXT_OK);
        assert_int_equal(sxt_size_info_symbol_count(again), 6);
        sxt_size_info_free(&again);
        uint64_t problems;
        assert_int_equal(sxt_verify_memory(data, size, NULL, NULL, &problems, NULL), SXT_OK);
        sxt_free(data);
    }
    sxt_size_info_free(&info);
}

TEST(a_selection_is_sparse_and_keeps_aliases)
{
    sxt_size_info *info = load(NULL, NULL), *sparse;
    sxt_size_summary summary = SXT_SIZE_SUMMARY_INIT;
    sxt_size_result *result = ask(info, NULL, "name=g");
    assert_int_equal(sxt_size_info_select(info, result, &sparse, NULL), SXT_OK);
    sxt_size_result_free(&result);
    sxt_size_info_free(&info);
    sxt_size_info_summary(sparse, &summary);
    assert_true(summary.is_sparse);
    assert_int_equal(summary.symbols, 2);
    result = ask(sparse, NULL, "| group name");
    sxt_error error;
    assert_int_equal(sxt_size_info_select(sparse, result, &info, &error), SXT_ERROR_USAGE);
    assert_null(info);
    sxt_size_result_free(&result);
    sxt_size_info_free(&sparse);
}

/* --- diffs --- */

struct pair {
    sxt_size_info *before, *after;
    sxt_size_diff *diff;
};

/* `first` is 24 bytes larger, and `last` has another name. */
static struct pair compare(void)
{
    struct pair pair = {.before = load(NULL, NULL)};
    char *text = sxt_test_size_replace(sxt_test_size_plain(), "\n4096 24 0 8\n", "\n4096 48 0 8\n");
    text = sxt_test_size_replace(text, "\n16 8 8 4\n", "\n40 8 8 4\n");
    text = sxt_test_size_replace(text, "\nlast\t", "\nnewer\t");
    assert_int_equal(sxt_size_load_memory(text, strlen(text), NULL, &pair.after, NULL, NULL), SXT_OK);
    free(text);
    assert_int_equal(sxt_size_diff_make(pair.before, pair.after, NULL, &pair.diff, NULL), SXT_OK);
    return pair;
}

static void release(struct pair *pair)
{
    sxt_size_diff_free(&pair->diff);
    assert_null(pair->diff);
    sxt_size_info_free(&pair->before);
    sxt_size_info_free(&pair->after);
}

TEST(a_diff_has_changes_as_symbols)
{
    struct pair pair = compare();
    sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
    sxt_size_row row = SXT_SIZE_ROW_INIT;
    assert_ptr_equal(sxt_size_diff_before(pair.diff), pair.before);
    assert_ptr_equal(sxt_size_diff_after(pair.diff), pair.after);
    assert_int_equal(sxt_size_diff_status_count(pair.diff, SXT_SIZE_CHANGED), 1);
    assert_int_equal(sxt_size_diff_status_count(pair.diff, SXT_SIZE_ADDED), 1);
    assert_int_equal(sxt_size_diff_status_count(pair.diff, SXT_SIZE_REMOVED), 1);
    assert_int_equal(sxt_size_diff_status_count(pair.diff, (sxt_size_status)77), 0);
    sxt_size_result *result = ask(NULL, pair.diff, "status:changed | sort pss");
    assert_int_equal(sxt_size_result_row(result, 0, &row), SXT_OK);
    assert_int_equal(sxt_size_diff_symbol(pair.diff, row.symbol, &symbol), SXT_OK);
    assert_true(is(symbol.full_name, "first") && symbol.size == 24 && symbol.pss == 24);
    assert_true(symbol.size_before == 16 && symbol.size_after == 40 && symbol.status == SXT_SIZE_CHANGED);
    sxt_size_result_free(&result);
    assert_int_equal(sxt_size_diff_symbol(pair.diff, sxt_size_diff_symbol_count(pair.diff), &symbol), SXT_ERROR_USAGE);
    release(&pair);
}

TEST(budgets_are_checked_by_section_and_for_the_file)
{
    static const struct {
        const char *text;
        bool is_known, is_exceeded;
    } cases[] = {
        {"24", true, false},      {"23", true, true},        {"1k", true, false},
        {"0%", true, true},       {"1000%", true, false},    {".text=24", true, false},
        {".text=23", true, true}, {".other=0", true, false}, {".nope=0", false, false},
    };
    static const char *const wrong[] = {"", "%", "x", "-1", ".text", ".text=", "=1k", ".text=x", ".text=-1%", "1kk"};
    struct pair pair = compare();
    sxt_size_section_changes *changes;
    sxt_size_section_change change = SXT_SIZE_SECTION_CHANGE_INIT;
    assert_int_equal(sxt_size_section_changes_make(pair.diff, &changes, NULL), SXT_OK);
    sxt_size_section_changes_total(changes, &change);
    assert_true(change.change == 24 && change.after - change.before == 24);
    assert_int_equal(sxt_size_section_changes_get(changes, sxt_size_section_changes_count(changes), &change),
                     SXT_ERROR_USAGE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sxt_size_budget budget = SXT_SIZE_BUDGET_INIT;
        sxt_size_budget_result result = SXT_SIZE_BUDGET_RESULT_INIT;
        assert_int_equal(sxt_size_budget_parse(cases[i].text, &budget, NULL), SXT_OK);
        sxt_size_budget_check(changes, &budget, &result);
        if (result.is_known != cases[i].is_known || result.is_exceeded != cases[i].is_exceeded)
            fail_msg("%s: known %d, exceeded %d", cases[i].text, result.is_known, result.is_exceeded);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sxt_size_budget budget = SXT_SIZE_BUDGET_INIT;
        sxt_error error;
        if (sxt_size_budget_parse(wrong[i], &budget, &error) != SXT_ERROR_USAGE)
            fail_msg("'%s' was taken for a budget", wrong[i]);
    }
    sxt_size_section_changes_free(&changes);
    release(&pair);
}

TEST(a_sizediff_is_written_and_loaded)
{
    struct pair pair = compare();
    void *data, *again;
    size_t size, again_size;
    sxt_size_info *info;
    sxt_size_diff *diff;
    sxt_error error;
    assert_int_equal(sxt_size_diff_write_memory(pair.diff, NULL, &data, &size, NULL), SXT_OK);
    release(&pair);
    assert_int_equal(sxt_size_load_memory(data, size, NULL, &info, &diff, NULL), SXT_OK);
    assert_null(info);
    assert_int_equal(sxt_size_diff_status_count(diff, SXT_SIZE_CHANGED), 1);
    assert_int_equal(sxt_size_diff_write_memory(diff, NULL, &again, &again_size, NULL), SXT_OK);
    assert_true(again_size == size && memcmp(again, data, size) == 0);
    sxt_free(again);
    sxt_size_diff_free(&diff);
    assert_int_equal(sxt_size_load_memory(data, size, NULL, &info, NULL, &error), SXT_ERROR_UNSUPPORTED);
    assert_null(info);
    sxt_free(data);
}

TEST(stored_disassembly_is_listed_and_belongs_to_its_diff)
{
    struct pair pair = compare(), other = compare();
    sxt_size_disassembly *disassembly;
    sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
    sxt_string text;
    sxt_error error;
    const char *failed;
    assert_int_equal(sxt_size_diff_disassemble(pair.diff, NULL, NULL, &disassembly, NULL, NULL), SXT_OK);
    assert_int_equal(sxt_size_disassembly_count(disassembly), 1);
    assert_int_equal(sxt_size_disassembly_get(disassembly, 0, &symbol, &text), SXT_OK);
    assert_true(is(symbol.full_name, "newer") && is(text, "mov\n\n"));
    assert_int_equal(sxt_size_disassembly_get(disassembly, 1, &symbol, &text), SXT_ERROR_USAGE);
    sxt_size_write_options options;
    void *data;
    size_t size;
    sxt_size_write_options_init(&options);
    options.disassembly = disassembly;
    assert_int_equal(sxt_size_diff_write_memory(other.diff, &options, &data, &size, &error), SXT_ERROR_USAGE);
    assert_null(data);
    assert_int_equal(sxt_size_info_write_memory(pair.after, &options, &data, &size, &error), SXT_ERROR_USAGE);
    sxt_size_disassembly_free(&disassembly);
    assert_int_equal(
        sxt_size_diff_disassemble(pair.diff, "/nonexistent/a", "/nonexistent/b", &disassembly, &failed, &error),
        SXT_ERROR_IO);
    assert_null(disassembly);
    assert_string_equal(failed, "/nonexistent/a");
    assert_int_equal(sxt_size_diff_disassemble(pair.diff, "a", NULL, &disassembly, NULL, &error), SXT_ERROR_USAGE);
    release(&pair);
    release(&other);
}

/* --- files --- */

/* This test is a binary too. */
TEST(a_binary_is_measured_and_compared_with_itself)
{
    static const char path[] = "/proc/self/exe";
    sxt_size_info *made, *loaded;
    sxt_size_diff *diff;
    sxt_size_summary summary = SXT_SIZE_SUMMARY_INIT;
    sxt_error error;
    const char *const paths[] = {path};
    if (sxt_size_make(paths, 1, NULL, &made, NULL, &error) != SXT_OK ||
        sxt_size_load(path, NULL, &loaded, NULL, &error) != SXT_OK)
        fail_msg("%s", error.text);
    sxt_size_info_summary(made, &summary);
    assert_true(summary.symbols > 100 && summary.file_bytes > 10000);
    assert_int_equal(sxt_size_diff_make(made, loaded, NULL, &diff, NULL), SXT_OK);
    assert_int_equal(sxt_size_diff_status_count(diff, SXT_SIZE_UNCHANGED), summary.symbols);
    sxt_size_diff_free(&diff);
    sxt_size_info_free(&made);
    sxt_size_info_free(&loaded);
}

TEST(files_that_cannot_be_read_are_named)
{
    static const char *const paths[] = {"/proc/self/exe", "/nonexistent/b"};
    sxt_size_info *info;
    sxt_inlined_list *list;
    sxt_size_make_options options;
    sxt_size_load_options load_options;
    const char *failed;
    sxt_error error;
    assert_int_equal(sxt_size_make(paths, 2, NULL, &info, &failed, &error), SXT_ERROR_IO);
    assert_null(info);
    assert_string_equal(failed, "/nonexistent/b");
    sxt_size_make_options_init(&options);
    options.map_path = "/nonexistent/map";
    assert_int_equal(sxt_size_make(paths, 1, &options, &info, &failed, &error), SXT_ERROR_IO);
    assert_string_equal(failed, "/nonexistent/map");
    assert_int_equal(sxt_size_make(paths, 2, &options, &info, &failed, &error), SXT_ERROR_USAGE);
    assert_int_equal(sxt_size_load("/dev/null", NULL, &info, NULL, &error), SXT_ERROR_UNSUPPORTED);
    sxt_size_load_options_init(&load_options);
    load_options.stored_only = true;
    assert_int_equal(sxt_size_load(paths[0], &load_options, &info, NULL, &error), SXT_ERROR_UNSUPPORTED);
    assert_int_equal(error.reason, SXT_REASON_BINARY);
    assert_int_equal(sxt_inlined_list_read("/dev/null", NULL, &list, &error), SXT_ERROR_UNSUPPORTED);
    assert_null(list);
}

TEST(options_must_be_initialised)
{
    sxt_size_info *info = load(NULL, NULL), *other;
    sxt_size_diff *diff;
    sxt_error error;
    void *data;
    size_t size;
    sxt_size_diff_options diff_options = {.struct_size = 0};
    sxt_size_write_options write_options = {.struct_size = 0};
    sxt_size_load_options load_options = {.struct_size = 0};
    assert_int_equal(sxt_size_diff_make(info, info, &diff_options, &diff, &error), SXT_ERROR_USAGE);
    assert_null(diff);
    assert_int_equal(sxt_size_info_write_memory(info, &write_options, &data, &size, &error), SXT_ERROR_USAGE);
    assert_null(data);
    assert_int_equal(sxt_size_load_memory("x", 1, &load_options, &other, NULL, &error), SXT_ERROR_USAGE);
    assert_null(other);
    sxt_size_info_free(&info);
}

/* --- hostile input --- */

TEST(every_cut_file_is_refused_or_whole)
{
    char *text = sxt_test_size_plain();
    size_t size = strlen(text);
    for (size_t cut = 0; cut < size; cut++) {
        /* Memory of exactly that size, so that AddressSanitizer sees every step too far. */
        char *exact = malloc(cut + 1);
        memcpy(exact, text, cut);
        exact = realloc(exact, cut > 0 ? cut : 1);
        sxt_size_info *info;
        sxt_size_diff *diff;
        sxt_error error;
        int status = sxt_size_load_memory(exact, cut, NULL, &info, &diff, &error);
        assert_null(diff);
        assert_true((status == SXT_OK) == (info != NULL));
        assert_true(status == SXT_OK || error.text[0] != 0);
        sxt_size_info_free(&info);
        free(exact);
    }
    free(text);
}

TEST(every_changed_byte_can_be_asked)
{
    char *text = sxt_test_size_plain();
    size_t size = strlen(text);
    sxt_size_info *good = load(NULL, NULL);
    for (size_t at = 0; at < size; at++) {
        char before = text[at];
        for (int change = 1; change < 256; change += 50) {
            sxt_size_info *info;
            text[at] = (char)(before ^ change);
            if (sxt_size_load_memory(text, size, NULL, &info, NULL, NULL) == SXT_OK) {
                sxt_size_diff *diff;
                sxt_size_sections *sections;
                sxt_size_result_free(&(sxt_size_result *){ask(info, NULL, "| group path, section")});
                assert_int_equal(sxt_size_sections_make(info, &sections, NULL), SXT_OK);
                sxt_size_sections_free(&sections);
                assert_int_equal(sxt_size_diff_make(good, info, NULL, &diff, NULL), SXT_OK);
                sxt_size_section_changes *changes;
                assert_int_equal(sxt_size_section_changes_make(diff, &changes, NULL), SXT_OK);
                sxt_size_section_changes_free(&changes);
                sxt_size_diff_free(&diff);
                sxt_size_info_free(&info);
            }
        }
        text[at] = before;
    }
    sxt_size_info_free(&good);
    free(text);
}

TEST(a_limit_on_the_text_has_a_reason)
{
    char *text = sxt_test_size_plain();
    sxt_size_load_options options;
    sxt_size_info *info;
    sxt_error error;
    sxt_size_load_options_init(&options);
    options.inflate_limit = 100;
    assert_int_equal(sxt_size_load_memory(text, strlen(text), &options, &info, NULL, &error), SXT_ERROR_LIMIT);
    assert_int_equal(error.reason, SXT_REASON_INFLATE_LIMIT);
    assert_null(strstr(error.text, "--"));
    free(text);
}
