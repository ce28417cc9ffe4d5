/* fixture.c: see fixture.h. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "symbfile/symbfile.h"

struct sxt_test_catalog sxt_test_it;

void sxt_test_another_catalog(struct sxt_store **store, struct sxt_catalog **catalog)
{
    static _Atomic unsigned count;
    char cache[2 * SXT_TEST_FOLDER_MAX];
    snprintf(cache, sizeof cache, "%s/cache%u", sxt_test_it.folder, atomic_fetch_add(&count, 1));
    const struct sxt_store_options options = {.cache = cache};
    assert_int_equal(sxt_store_open(sxt_test_it.place, &options, store, &sxt_test_it.error), SXT_OK);
    assert_int_equal(sxt_catalog_open(*store, NULL, catalog, &sxt_test_it.error), SXT_OK);
}

/* In a bucket, each test has a folder for itself, and leaves nothing there. */
void sxt_test_open_catalog(void)
{
    const char *given = getenv("SEXTANT_TEST_STORE");
    sxt_test_make_folder(sxt_test_it.folder);
    const char *name = strrchr(sxt_test_it.folder, '-');
    if (given != NULL)
        snprintf(sxt_test_it.place, sizeof sxt_test_it.place, "%s%s", given, name != NULL ? name : "-test");
    else
        snprintf(sxt_test_it.place, sizeof sxt_test_it.place, "%s/store", sxt_test_it.folder);
    sxt_test_another_catalog(&sxt_test_it.store, &sxt_test_it.catalog);
}

static int remove_one(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    return sxt_store_remove(data, key, NULL);
}

void sxt_test_close_catalog(void)
{
    if (sxt_store_is_remote(sxt_test_it.place))
        sxt_store_list(sxt_test_it.store, "", remove_one, sxt_test_it.store, NULL);
    sxt_catalog_close(&sxt_test_it.catalog);
    sxt_store_close(&sxt_test_it.store);
    sxt_test_remove_folder(sxt_test_it.folder);
}

struct sxt_catalog_id sxt_test_file_id(const char *text)
{
    struct sxt_catalog_id id;
    assert_true(sxt_catalog_parse_file_id(sxt_string_of(text), &id));
    return id;
}

struct sxt_catalog_id sxt_test_build_id(const char *text)
{
    struct sxt_catalog_id id;
    assert_true(sxt_catalog_parse_build_id(sxt_string_of(text), &id));
    return id;
}

static void add_module(struct sxt_symbfile_writer *writer, uint64_t segment)
{
    struct sxt_model_module module = {.arch = "x86_64"};
    char path[] = "/opt/app/program";
    module.path = path;
    assert_true(sxt_module_add_segment(
        &module, &(struct sxt_model_segment){.file_size = 0x1000, .address = segment, .memory_size = 0x1000}));
    const struct sxt_path_maps maps = {0};
    assert_int_equal(sxt_symbfile_add_module(writer, &module, &maps, NULL), SXT_OK);
    module.path = NULL;
    sxt_module_free(&module);
}

static void fill_part(struct sxt_buffer *out, const struct sxt_test_part *part)
{
    struct sxt_symbfile_writer *writer;
    assert_int_equal(sxt_symbfile_writer_open(&writer, sxt_symbfile_to_buffer(out), NULL), SXT_OK);
    if (part->segment != 0)
        add_module(writer, part->segment);
    for (size_t i = 0; i < 4 && part->functions[i].name != NULL; i++) {
        const struct sxt_test_function *function = &part->functions[i];
        const struct sxt_symbfile_line line = {0, function->line};
        const struct sxt_symbfile_range range = {.address = function->address,
                                                 .length = 16,
                                                 .function = sxt_string_of(function->name),
                                                 .file = sxt_string_of(function->line != 0 ? "a.c" : NULL),
                                                 .lines = &line,
                                                 .line_count = function->line != 0};
        const struct sxt_symbfile_frame frame = {range.function, range.file, function->line};
        const struct sxt_symbfile_pad pad = {function->address, &frame, 1};
        assert_int_equal(part->kind == SXT_CATALOG_PADS ? sxt_symbfile_add_pad(writer, &pad, NULL)
                                                        : sxt_symbfile_add_range(writer, &range, NULL),
                         SXT_OK);
    }
    assert_int_equal(sxt_symbfile_writer_finish(writer, NULL), SXT_OK);
    sxt_symbfile_writer_close(&writer);
}

int sxt_test_add_part(struct sxt_catalog *catalog, const struct sxt_test_part *part, bool *is_complete)
{
    struct sxt_store_writing *writing;
    struct sxt_buffer content;
    sxt_buffer_init(&content, SIZE_MAX);
    fill_part(&content, part);
    int status = sxt_store_write_begin(catalog->store, &writing, &sxt_test_it.error);
    if (status == SXT_OK)
        status = sxt_store_write(writing, content.data, content.size, &sxt_test_it.error);
    sxt_buffer_free(&content);
    if (status != SXT_OK)
        return status;
    struct sxt_catalog_part given = {
        .tenant = part->tenant != NULL ? part->tenant : "",
        .file_id = sxt_test_file_id(part->file_id != NULL ? part->file_id : FILE_A),
        .kind = part->kind,
        .part = part->part,
        .parts = part->parts != 0 ? part->parts : 1,
        .generation = sxt_string_of(part->generation),
    };
    if (part->build_id != NULL)
        given.build_id = sxt_test_build_id(part->build_id);
    return sxt_catalog_add_part(catalog, &given, &writing, is_complete, &sxt_test_it.error);
}

void sxt_test_push(const struct sxt_test_part *part)
{
    bool is_complete;
    if (sxt_test_add_part(sxt_test_it.catalog, part, &is_complete) != SXT_OK)
        fail_msg("%s", sxt_test_it.error.text);
    struct sxt_catalog_id id = sxt_test_file_id(part->file_id != NULL ? part->file_id : FILE_A);
    if (is_complete)
        assert_int_equal(
            sxt_catalog_settle(sxt_test_it.catalog, part->tenant != NULL ? part->tenant : "", &id, &sxt_test_it.error),
            SXT_OK);
}

static char answer_text[4096];

static int note_answer(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    (void)data;
    assert_int_equal(index, 0);
    size_t size = (size_t)snprintf(answer_text, sizeof answer_text, "%s", count == 0 ? "?" : "");
    for (size_t i = 0; i < count; i++) {
        size += (size_t)snprintf(answer_text + size, sizeof answer_text - size, "%s%.*s", i > 0 ? " < " : "",
                                 (int)frames[i].function.size, frames[i].function.data);
        if (frames[i].file.data != NULL)
            size += (size_t)snprintf(answer_text + size, sizeof answer_text - size, " %.*s:%u",
                                     (int)frames[i].file.size, frames[i].file.data, frames[i].line);
    }
    return SXT_OK;
}

const char *sxt_test_ask(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         uint64_t address)
{
    struct sxt_catalog_binary *binary;
    bool would_wait;
    int status = sxt_catalog_find(catalog, tenant, id, 1, true, &would_wait, &binary, &sxt_test_it.error);
    if (status == SXT_ERROR_NOT_FOUND)
        return "-";
    assert_int_equal(status, SXT_OK);
    const struct sxt_catalog_question question = {.addresses = &address, .count = 1};
    assert_int_equal(sxt_catalog_lookup(binary, &question, note_answer, NULL, NULL), SXT_OK);
    sxt_catalog_release(catalog, &binary);
    return answer_text;
}

const char *sxt_test_answer(uint64_t address)
{
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    return sxt_test_ask(sxt_test_it.catalog, "", &id, address);
}

static int count_one(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)key;
    (void)size;
    (void)modified_us;
    ++*(size_t *)data;
    return SXT_OK;
}

size_t sxt_test_count(const char *prefix)
{
    size_t count = 0;
    assert_int_equal(sxt_store_list(sxt_test_it.store, prefix, count_one, &count, NULL), SXT_OK);
    return count;
}
