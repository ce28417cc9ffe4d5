/* test_module.c: the facts about the binary in a symbfile: read back, and skipped by readers that do not know them. */
#include <stdlib.h>
#include <string.h>

#include "support/model.h"
#include "support/symbfile_image.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

#define MODULE_TYPE 0x7378

static struct sxt_symbols *model;
static struct sxt_buffer file;

SET_UP()
{
    model = sxt_test_model();
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, "f", 0x15190, 0x40);
    sxt_test_finish(model);
    struct sxt_model_module *module = &model->module;
    memcpy(module->arch, "aarch64", 7);
    module->build_id_size = 20;
    for (unsigned i = 0; i < 20; i++)
        module->build_id[i] = (uint8_t)(i * 13);
    module->has_file_id = true;
    memset(module->file_id, 0xff, sizeof module->file_id);
    module->path = strdup("build/app");
    assert_non_null(module->path);
    sxt_symbols_add_segment(model, &(struct sxt_model_segment){0x14190, 0x2000, 0x15190, 0x2000, 5});
    sxt_buffer_init(&file, SIZE_MAX);
}

TEAR_DOWN()
{
    sxt_symbols_free(&model);
    sxt_buffer_free(&file);
}

static void write_file(struct sxt_path_maps maps)
{
    struct sxt_symbfile_writer *writer;
    sxt_error error;
    sxt_buffer_clear(&file);
    assert_int_equal(sxt_symbfile_writer_open(&writer, sxt_symbfile_to_buffer(&file), &error), SXT_OK);
    assert_int_equal(sxt_symbfile_add_module(writer, &model->module, &maps, &error), SXT_OK);
    assert_int_equal(sxt_symbfile_write_ranges(model, &(struct sxt_symbfile_settings){0}, writer, &error), SXT_OK);
    assert_int_equal(sxt_symbfile_writer_finish(writer, &error), SXT_OK);
    sxt_symbfile_writer_close(&writer);
}

/* Reads ranges and facts; to be freed. NULL if the file is refused. */
static struct sxt_symbols *read_file(const uint8_t *data, size_t size)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbols *symbols;
    assert_int_equal(sxt_symbols_new(&symbols, NULL), SXT_OK);
    int status = sxt_symbfile_reader_open(&reader, data, size, NULL);
    if (status == SXT_OK)
        status = sxt_symbfile_read_ranges(reader, symbols, NULL);
    sxt_symbfile_reader_close(&reader);
    if (status != SXT_OK)
        sxt_symbols_free(&symbols);
    return symbols;
}

TEST(the_facts_are_read_back)
{
    write_file((struct sxt_path_maps){0});
    assert_int_equal(sxt_symbfile_verify(file.data, file.size, NULL, NULL), 0);
    struct sxt_symbols *again = read_file(file.data, file.size);
    assert_non_null(again);
    assert_int_equal(again->range_count, 1);
    const struct sxt_model_module *module = &again->module;
    assert_string_equal(module->arch, "aarch64");
    assert_string_equal(module->path, "build/app");
    assert_int_equal(module->build_id_size, 20);
    assert_memory_equal(module->build_id, model->module.build_id, 20);
    assert_true(module->has_file_id);
    assert_memory_equal(module->file_id, model->module.file_id, 16);
    assert_int_equal(module->segment_count, 1);
    assert_int_equal(module->segments[0].offset, 0x14190);
    assert_int_equal(module->segments[0].address, 0x15190);
    sxt_symbols_free(&again);
}

TEST(the_path_is_mapped)
{
    const sxt_path_map map = {"build", "/usr/bin"};
    write_file((struct sxt_path_maps){&map, 1});
    struct sxt_symbols *again = read_file(file.data, file.size);
    assert_non_null(again);
    assert_string_equal(again->module.path, "/usr/bin/app");
    sxt_symbols_free(&again);
}

TEST(the_message_comes_before_all_records)
{
    write_file((struct sxt_path_maps){0});
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    assert_int_equal(sxt_symbfile_reader_open(&reader, file.data, file.size, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_read(reader, &record, NULL), SXT_OK);
    assert_int_equal(record.kind, SXT_SYMBFILE_RANGE);
    assert_string_equal(sxt_symbfile_module(reader)->arch, "aarch64");
    sxt_symbfile_reader_close(&reader);
}

static uint64_t number(const uint8_t **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        value |= (uint64_t)(**at & 0x7f) << shift;
        if (*(*at)++ < 0x80)
            return value;
    }
}

/* The reference reads on inside the body of a message whose type it does not know. */
TEST(a_reader_that_does_not_skip_the_body_finds_empty_messages_of_unknown_types)
{
    write_file((struct sxt_path_maps){0});
    const uint8_t *at = file.data + 8, *end = file.data + file.size;
    assert_int_equal(number(&at), 0);
    assert_int_equal(number(&at), 1);
    uint64_t size = number(&at);
    assert_int_equal(number(&at), MODULE_TYPE);
    const uint8_t *after = at + size;
    assert_true(after < end);
    while (at < after) {
        assert_true(number(&at) <= SXT_SYMBFILE_MESSAGE_MAX);
        uint64_t type = number(&at);
        assert_true(type > 4 && type != MODULE_TYPE && type <= INT32_MAX);
    }
    assert_ptr_equal(at, after);
}

TEST(damage_costs_the_facts_and_not_the_ranges)
{
    write_file((struct sxt_path_maps){0});
    const uint8_t *at = file.data + 10;
    uint64_t size = number(&at);
    number(&at);
    size_t body = (size_t)(at - file.data);
    for (size_t i = 0; i < size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            file.data[body + i] ^= (uint8_t)(1u << bit);
            struct sxt_symbols *again = read_file(file.data, file.size);
            assert_non_null(again);
            assert_int_equal(again->range_count, 1);
            sxt_symbfile_verify(file.data, file.size, NULL, NULL);
            sxt_symbols_free(&again);
            file.data[body + i] ^= (uint8_t)(1u << bit);
        }
    }
}

TEST(a_body_that_is_not_the_facts_is_a_problem_and_a_later_version_is_not)
{
    static const struct {
        const char *body;
        uint64_t problems;
    } cases[] = {{"", 1}, {"00", 1}, {"00 41", 1}, {"00 51", 1}, {"10 41", 1}, {"00 42", 0}, {"00 42 0f 4f", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sxt_buffer_clear(&file);
        sxt_test_begin_symbfile(&file);
        sxt_test_put_message(&file, MODULE_TYPE, cases[i].body);
        assert_int_equal(sxt_symbfile_verify(file.data, file.size, NULL, NULL), cases[i].problems);
        struct sxt_symbols *again = read_file(file.data, file.size);
        assert_non_null(again);
        assert_false(sxt_module_is_known(&again->module));
        sxt_symbols_free(&again);
    }
}
