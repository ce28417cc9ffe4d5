/*
 * test_write.c: models as .size files: lists sorted and without repetition whatever the model has, JSON as Python
 * prints it, and a refusal for what the format cannot hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "size/size.h"
#include "support/size_image.h"
#include "support/test.h"

#define EMPTY_JSON                                                                                                     \
    "{\n  \"has_components\": true,\n  \"has_disassembly\": true,\n  \"has_padding\": false,\n  \"metadata\": {},\n"   \
    "  \"metrics_by_file\": {},\n  \"section_sizes\": {}\n}"

static sxt_string view(const char *text)
{
    return (sxt_string){text, strlen(text)};
}

/* A model of three symbols, with its lists in a bad order and one path in them twice. */
struct model {
    struct sxt_size_info *size;
    struct sxt_size_container containers[2];
    struct sxt_size_segment segments[2];
    struct sxt_size_path paths[4];
    sxt_string components[3];
    struct sxt_size_model_symbol symbols[3];
    struct sxt_size_group groups[1];
};

static struct model *make_model(void)
{
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    assert_int_equal(sxt_size_info_new(&model->size, NULL), SXT_OK);
    struct sxt_size_info *size = model->size;
    model->paths[0] = (struct sxt_size_path){view("b.o"), view("b.cc")};
    model->paths[1] = (struct sxt_size_path){view("a.o"), view("a.cc")};
    model->paths[2] = (struct sxt_size_path){view("unused.o"), view("")};
    model->paths[3] = (struct sxt_size_path){view("b.o"), view("b.cc")};
    model->components[0] = view("V8");
    model->components[1] = view("Blink");
    model->components[2] = view("Unused");
    model->segments[0] = (struct sxt_size_segment){.section = view(".text"), .first = 0, .count = 2};
    model->segments[1] = (struct sxt_size_segment){.section = view(".bss"), .first = 2, .count = 1};
    model->groups[0] = (struct sxt_size_group){0, 2};
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"f", "g", "größe"};
        model->symbols[i] = (struct sxt_size_model_symbol){.address = 16, .size = 4, .full_name = names[i]};
        model->symbols[i].full_name_size = (uint32_t)strlen(names[i]);
        model->symbols[i].path = i == 0 ? 0 : i == 1 ? 1 : 3;
        model->symbols[i].component = i == 1;
        model->symbols[i].segment = i == 2;
        model->symbols[i].group = i < 2;
    }
    size->containers = model->containers;
    size->container_count = 1;
    size->segments = model->segments;
    size->segment_count = 2;
    size->paths = model->paths;
    size->path_count = 4;
    size->components = model->components;
    size->component_count = 3;
    size->symbols = model->symbols;
    size->symbol_count = 3;
    size->groups = model->groups;
    size->group_count = 1;
    return model;
}

static void free_model(struct model *model)
{
    sxt_size_info_free(&model->size);
    free(model);
}

TEST(lists_are_sorted_and_unique)
{
    struct model *model = make_model();
    char *written = sxt_test_size_written(model->size);
    char *expected = sxt_test_size_text("1", EMPTY_JSON,
                                        "2\na.o\ta.cc\nb.o\tb.cc\n2\nBlink\nV8\n.text\t.bss\n2\t1\n16 0\n16\n4 4\n4\n"
                                        "1 -1\n1\n1 -1\n1\nf\t02\ng\ngröße\n\n");
    assert_string_equal(written, expected);
    free(written);
    free(expected);
    free_model(model);
}

TEST(several_containers_have_names)
{
    struct model *model = make_model();
    model->size->container_count = 2;
    model->containers[0].name = view("a");
    model->containers[1].name = view("b");
    model->segments[1].container = 1;
    char *written = sxt_test_size_written(model->size);
    assert_non_null(strstr(written, "Size File Format v1.1\n"));
    assert_non_null(strstr(written, "  \"build_config\": {},\n  \"containers\": [\n    {\n      \"metadata\": {},\n"));
    assert_non_null(strstr(written, "\n<0>.text\t<1>.bss\n"));
    free(written);
    free_model(model);
}

TEST(paddings_of_a_sparse_file)
{
    struct model *model = make_model();
    model->size->is_sparse = true;
    model->symbols[0].padding = model->symbols[1].padding = 3;
    model->symbols[2].padding = -7;
    model->symbols[2].full_name = "Overhead: x";
    model->symbols[2].full_name_size = 11;
    char *written = sxt_test_size_written(model->size);
    assert_non_null(strstr(written, "\n16 0\n16\n1 1\n4\n3 3\n-7\n"));
    free(written);
    free_model(model);
}

TEST(empty_file)
{
    struct model *model = make_model();
    model->size->symbol_count = model->size->segment_count = 0;
    char *written = sxt_test_size_written(model->size);
    char *expected = sxt_test_size_text("1", EMPTY_JSON, "0\n0\n\n\n\n");
    assert_string_equal(written, expected);
    free(written);
    free(expected);
    free_model(model);
}

static void assert_unfit(struct model *model, const char *expected)
{
    struct sxt_buffer out;
    sxt_error error = {0};
    sxt_buffer_init(&out, SIZE_MAX);
    assert_int_not_equal(sxt_size_save(model->size, SXT_SIZE_DEFLATE_STOCK, &out, &error), SXT_OK);
    assert_int_equal(out.size, 0);
    if (strstr(error.text, expected) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, expected);
    sxt_buffer_free(&out);
    free_model(model);
}

TEST(what_the_format_cannot_hold)
{
    struct model *model = make_model();
    model->size->container_count = 0;
    assert_unfit(model, "needs a container");
    model = make_model();
    model->symbols[1].full_name = "\t";
    assert_unfit(model, "a name has a tab or a newline");
    model = make_model();
    model->symbols[1].full_name = "\n";
    assert_unfit(model, "a name has a tab or a newline");
    model = make_model();
    model->paths[1].source = view("a\tb");
    assert_unfit(model, "a path has a tab or a newline");
    model = make_model();
    model->components[1] = view("a\nb");
    assert_unfit(model, "a component has a tab or a newline");
    model = make_model();
    model->segments[1].section = view("");
    assert_unfit(model, "a section without a name");
    model = make_model();
    model->segments[1].container = 1;
    assert_unfit(model, "a segment without a container");
    model = make_model();
    model->segments[1].first = 1;
    assert_unfit(model, "segments do not follow one another");
    model = make_model();
    model->size->segment_count = 1;
    assert_unfit(model, "symbols without a segment");
    model = make_model();
    model->groups[0].count = 3;
    assert_unfit(model, "aliases in several segments");
    model = make_model();
    model->symbols[1].group = 0;
    assert_unfit(model, "aliases that are not next to each other");
    model = make_model();
    model->symbols[1].path = 4;
    assert_unfit(model, "without a path or component");
    model = make_model();
    model->containers[0].metadata = sxt_json_object(&model->size->arena);
    model->size->build_config = sxt_json_object(&model->size->arena);
    assert_true(sxt_json_add_number(&model->size->arena, model->containers[0].metadata, "title", 1));
    assert_true(sxt_json_add_number(&model->size->arena, model->size->build_config, "title", 2));
    assert_unfit(model, "'title' is in the metadata and in the build configuration");
}

TEST(disassembly_makes_room_for_itself)
{
    struct model *model = make_model();
    struct sxt_size_model_disassembly disassembly = {1, view("ret →")};
    model->size->has_disassembly = false;
    model->size->disassemblies = &disassembly;
    model->size->disassembly_count = 1;
    char *written = sxt_test_size_written(model->size);
    assert_non_null(strstr(written, "\"has_disassembly\": true"));
    assert_non_null(strstr(written, "\n1\n7\nret →"));
    free(written);
    free_model(model);
}

/* --- JSON --- */

TEST(json_as_python_prints_it)
{
    static const char text[] = "{\"b\": [1, {}, [], null, true, false, -1.50], \"a\": {\"\\u00e9\\ud83d\\ude00\": "
                               "\"\\\"\\\\/\\n\\r\\t\\f\\b\\u0001\\u007f~\"}, \"B\": 12345678901234567890123}";
    static const char expected[] =
        "{\n  \"B\": 12345678901234567890123,\n  \"a\": {\n    \"\\u00e9\\ud83d\\ude00\": "
        "\"\\\"\\\\/\\n\\r\\t\\f\\b\\u0001\\u007f~\"\n  },\n  \"b\": [\n    1,\n    {},\n    [],"
        "\n    null,\n    true,\n    false,\n    -1.50\n  ]\n}";
    struct sxt_arena arena;
    struct sxt_json *value;
    struct sxt_buffer out;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    sxt_buffer_init(&out, SIZE_MAX);
    struct sxt_json_limits limits = {10, 100};
    assert_int_equal(sxt_json_parse(text, sizeof text - 1, limits, &arena, &value, NULL), SXT_OK);
    sxt_size_print_json(value, &out);
    sxt_size_print_json(sxt_json_copy(&arena, value), &out);
    assert_int_equal(out.size, 2 * (sizeof expected - 1));
    assert_memory_equal(out.data, expected, sizeof expected - 1);
    assert_memory_equal(out.data + sizeof expected - 1, expected, sizeof expected - 1);
    sxt_buffer_free(&out);
    sxt_arena_free(&arena);
}

TEST(json_that_is_made)
{
    struct sxt_arena arena;
    struct sxt_buffer out;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    sxt_buffer_init(&out, SIZE_MAX);
    struct sxt_json *object = sxt_json_object(&arena), *array = sxt_json_array(&arena);
    assert_true(sxt_json_add_string(&arena, array, NULL, view("x=1")));
    assert_true(sxt_json_add_number(&arena, array, NULL, INT64_MIN));
    assert_true(sxt_json_add(&arena, object, "z", array));
    assert_true(sxt_json_add_number(&arena, object, "a", 5));
    assert_int_equal(sxt_json_member(object, "a")->unsigned_value, 5);
    sxt_size_print_json(object, &out);
    sxt_buffer_u8(&out, '\0');
    assert_string_equal((const char *)out.data,
                        "{\n  \"a\": 5,\n  \"z\": [\n    \"x=1\",\n    -9223372036854775808\n  ]\n}");
    sxt_buffer_free(&out);
    sxt_arena_free(&arena);
}

/* The bytes that the reference puts in front of every file. */
TEST(gzip_header)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff};
    struct model *model = make_model();
    struct sxt_buffer out;
    sxt_buffer_init(&out, SIZE_MAX);
    assert_int_equal(sxt_size_save(model->size, SXT_SIZE_DEFLATE_STOCK, &out, NULL), SXT_OK);
    assert_memory_equal(out.data, header, sizeof header);
    sxt_buffer_free(&out);
    free_model(model);
}
