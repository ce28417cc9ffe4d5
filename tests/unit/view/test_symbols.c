/* test_symbols.c: the table of functions and its answers, also of damaged files. */
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "lidia/lidia.h"
#include "support/model.h"
#include "support/test.h"
#include "view/symbols.h"

static uint8_t *file;
static size_t file_size;
static struct sxt_view_symbols_state state;
static struct sxt_buffer text;

/* Functions with inlined calls, lines of two files, mangled names, and another name. */
static void write_file(void)
{
    struct sxt_symbols *model = sxt_test_model();
    const struct sxt_lidia_settings settings = {0};
    sxt_error error;
    sxt_test_add_call(model, SXT_SOURCE_DWARF, 0, "_ZN3app4mainEv", 0x1000, 64, "/src/a.cc", NULL, 0);
    sxt_test_add_line(model, 0, "/src/a.cc", 10);
    sxt_test_add_line(model, 16, "/src/b.inc", 3);
    sxt_test_add_line(model, 32, "/src/a.cc", 11);
    sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "inner", 0x1004, 8, "/src/c.h", "/src/a.cc", 10);
    sxt_test_add_line(model, 0, "/src/c.h", 7);
    sxt_test_add_call(model, SXT_SOURCE_DWARF, 2, "innermost", 0x1006, 2, "/src/c.h", "/src/c.h", 7);
    sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, "first", 0x2000, 32);
    sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, "Helper", 0x3000, 8);
    sxt_test_add_function(model, "first", 0x2000, 32, 'G');
    sxt_test_add_function(model, "second", 0x2000, 32, 'G');
    sxt_test_finish(model);
    if (sxt_lidia_encode(model, &settings, &file, &file_size, NULL, &error) != SXT_OK)
        fail_msg("%s", error.text);
    sxt_symbols_free(&model);
}

/* Opens what is in FILE; false if it is refused. */
static bool open_file(const uint8_t *data, size_t size)
{
    sxt_error error;
    state = (struct sxt_view_symbols_state){.threads = 2, .info.struct_size = sizeof state.info};
    if (sxt_archive_open_memory(data, size, NULL, &state.archive, &error) != SXT_OK)
        return false;
    if (sxt_view_functions_read(&state.functions, state.archive, 1, &error) != SXT_OK) {
        sxt_archive_close(&state.archive);
        return false;
    }
    sxt_archive_info(state.archive, &state.info);
    return true;
}

static void close_file(void)
{
    sxt_view_found_free(&state.found);
    if (state.archive != NULL)
        sxt_view_functions_free(&state.functions);
    sxt_archive_close(&state.archive);
    free(state.frames);
    state.frames = NULL;
}

SET_UP()
{
    write_file();
    sxt_buffer_init(&text, (size_t)1 << 24);
}

TEAR_DOWN()
{
    close_file();
    sxt_buffer_free(&text);
    free(file);
}

static struct sxt_json_writer begin(void)
{
    sxt_buffer_clear(&text);
    return sxt_json_writer_make(&text, SXT_JSON_COMPACT);
}

/* The names that a search finds, each with a space after it. */
static const char *found(const char *search, bool is_pattern, bool with_case)
{
    static char names[1000];
    const struct sxt_view_search wanted = {search, is_pattern, with_case};
    sxt_error error;
    if (sxt_view_search(&state.functions, &wanted, SXT_VIEW_BY_NAME, 2, &state.found, &error) != SXT_OK)
        return error.text[0] != 0 ? "refused" : "refused without a reason";
    names[0] = 0;
    for (size_t i = 0; i < state.found.count; i++) {
        sxt_string name = sxt_view_function_name(&state.functions, state.found.list[i]);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%.*s ", (int)name.size, name.data);
    }
    return names;
}

static void ask_everything(void)
{
    sxt_error error;
    const struct sxt_view_window window = {0, SXT_VIEW_WINDOW_MAX};
    const struct sxt_view_search all = {"", false, false};
    sxt_view_write_part *const parts[] = {sxt_view_write_ranges, sxt_view_write_inlines, sxt_view_write_lines,
                                          sxt_view_write_pads};
    for (unsigned order = 0; order < SXT_VIEW_ORDERS; order++) {
        struct sxt_json_writer json = begin();
        (void)sxt_view_write_functions(&state, &all, (enum sxt_view_order)order, true, window, &json, &error);
    }
    (void)found("n", false, false);
    (void)found("in+er", true, false);
    for (size_t i = 0; i < state.functions.count; i++) {
        struct sxt_json_writer json = begin();
        (void)sxt_view_write_function(&state, i, &json, &error);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            json = begin();
            (void)parts[k](&state, i, window, &json, &error);
        }
    }
    struct sxt_json_writer json = begin();
    (void)sxt_view_write_addresses(&state, "1006\nsecond+4\n+1\nnothing\n", true, &json, &error);
}

TEST(lists_functions_with_readable_names)
{
    assert_true(open_file(file, file_size));
    assert_int_equal(state.functions.count, state.info.functions);
    assert_string_equal(found("e", false, false), "Helper app::main() app::main() app::main() first ");
    assert_true(sxt_string_is(sxt_view_function_linked(&state.functions, 0), "_ZN3app4mainEv"));
}

TEST(finds_by_any_name_of_a_function)
{
    assert_true(open_file(file, file_size));
    assert_string_equal(found("second", false, false), "first ");
    assert_string_equal(found("HELPER", false, false), "Helper ");
    assert_string_equal(found("helper", false, true), "");
    assert_string_equal(found("^_ZN3app", true, true), "app::main() app::main() app::main() ");
    assert_string_equal(found("^(helper|second)$", true, false), "Helper first ");
    assert_string_equal(found("(", true, false), "refused");
    assert_string_equal(found("first", false, false), "first ");
}

TEST(describes_the_whole_of_a_function_that_was_cut)
{
    assert_true(open_file(file, file_size));
    for (size_t i = 0; i < 3; i++) {
        sxt_error error;
        struct sxt_json_writer json = begin();
        assert_int_equal(sxt_view_write_function(&state, i, &json, &error), SXT_OK);
        sxt_buffer_u8(&text, 0);
        assert_non_null(strstr((const char *)text.data, "\"whole_start\":\"0x1000\",\"whole_size\":64"));
        assert_non_null(strstr((const char *)text.data, "\"inlines\":2"));
    }
}

TEST(answers_lines_as_lookups_do)
{
    assert_true(open_file(file, file_size));
    sxt_error error;
    struct sxt_json_writer json = begin();
    assert_int_equal(sxt_view_write_lines(&state, 0, (struct sxt_view_window){2, 1}, &json, &error), SXT_OK);
    sxt_buffer_u8(&text, 0);
    assert_non_null(
        strstr((const char *)text.data, "{\"total\":7,\"from\":2,\"items\":[{\"address\":\"0x1006\",\"size\":2"));
    assert_non_null(strstr((const char *)text.data, "\"depth\":2,\"function\":\"innermost\""));
}

/* A changed file may be refused, or give other answers; it must not be read outside of its bounds. */
TEST(survives_every_changed_byte_and_every_truncation)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    for (size_t i = 0; i < file_size; i++)
        for (size_t k = 0; k < sizeof changes; k++) {
            file[i] ^= changes[k];
            if (open_file(file, file_size))
                ask_everything();
            close_file();
            file[i] ^= changes[k];
        }
    for (size_t size = 0; size < file_size; size++) {
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, file, size);
        if (open_file(cut, size))
            ask_everything();
        close_file();
        free(cut);
    }
}
