/* test_module.c: facts about a binary survive encoding, damage is refused, and parts of one binary are merged. */
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "symbols/module.h"

/* A binary with two segments and everything else. */
static struct sxt_model_module make(void)
{
    struct sxt_model_module module = {.arch = "x86_64", .build_id_size = 20, .has_file_id = true};
    memset(module.build_id, 0xab, module.build_id_size);
    memset(module.file_id, 0xcd, sizeof module.file_id);
    module.path = strdup("bin/app");
    assert_non_null(module.path);
    assert_true(sxt_module_add_segment(&module, &(struct sxt_model_segment){0, 0x4190, 0, 0x4190, 4}));
    assert_true(sxt_module_add_segment(&module, &(struct sxt_model_segment){0x4190, 0x1000, 0x15190, 0x2000, 5}));
    return module;
}

static struct sxt_buffer encode(const struct sxt_model_module *module)
{
    struct sxt_buffer bytes;
    sxt_buffer_init(&bytes, SIZE_MAX);
    sxt_module_encode(module, module->path, &bytes);
    assert_false(bytes.failed);
    return bytes;
}

static void assert_same(const struct sxt_model_module *a, const struct sxt_model_module *b)
{
    assert_int_equal(a->segment_count, b->segment_count);
    for (size_t i = 0; i < a->segment_count; i++) {
        assert_int_equal(a->segments[i].offset, b->segments[i].offset);
        assert_int_equal(a->segments[i].file_size, b->segments[i].file_size);
        assert_int_equal(a->segments[i].address, b->segments[i].address);
        assert_int_equal(a->segments[i].memory_size, b->segments[i].memory_size);
        assert_int_equal(a->segments[i].flags, b->segments[i].flags);
    }
    assert_string_equal(a->path, b->path);
    assert_string_equal(a->arch, b->arch);
    assert_int_equal(a->build_id_size, b->build_id_size);
    assert_memory_equal(a->build_id, b->build_id, a->build_id_size);
    assert_int_equal(a->has_file_id, b->has_file_id);
    assert_memory_equal(a->file_id, b->file_id, sizeof a->file_id);
    assert_int_equal(a->is_relocatable, b->is_relocatable);
    assert_int_equal(a->no_offsets, b->no_offsets);
    assert_int_equal(a->text, b->text);
}

TEST(what_is_encoded_is_decoded)
{
    struct sxt_model_module module = make(), again;
    for (unsigned i = 0; i < 4; i++) {
        module.is_relocatable = i & 1;
        module.no_offsets = i & 2;
        module.text = i * 0x1000;
        struct sxt_buffer bytes = encode(&module);
        assert_int_equal(sxt_module_decode(bytes.data, bytes.size, 0, &again, NULL), SXT_OK);
        assert_same(&module, &again);
        sxt_module_free(&again);
        /* Bytes of a later version after it are ignored. */
        sxt_buffer_append(&bytes, "later", 5);
        assert_int_equal(sxt_module_decode(bytes.data, bytes.size, 0, &again, NULL), SXT_OK);
        assert_same(&module, &again);
        sxt_module_free(&again);
        sxt_buffer_free(&bytes);
    }
    sxt_module_free(&module);
}

TEST(nothing_is_decoded_to_nothing)
{
    struct sxt_model_module module = {0}, again;
    struct sxt_buffer bytes = encode(&module);
    assert_int_equal(bytes.size, SXT_MODULE_FIXED);
    assert_int_equal(sxt_module_decode(bytes.data, bytes.size, 0, &again, NULL), SXT_OK);
    assert_false(sxt_module_is_known(&again));
    assert_null(again.path);
    sxt_module_free(&again);
    sxt_buffer_free(&bytes);
}

TEST(every_truncation_is_refused)
{
    struct sxt_model_module module = make(), again;
    struct sxt_buffer bytes = encode(&module);
    for (size_t size = 0; size < bytes.size; size++) {
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, bytes.data, size);
        sxt_error error;
        assert_int_equal(sxt_module_decode(cut, size, 0x123, &again, &error), SXT_ERROR_FORMAT);
        assert_int_equal(error.offset, 0x123);
        sxt_module_free(&again);
        free(cut);
    }
    sxt_buffer_free(&bytes);
    sxt_module_free(&module);
}

TEST(no_changed_byte_crashes)
{
    struct sxt_model_module module = make(), again;
    struct sxt_buffer bytes = encode(&module);
    for (size_t at = 0; at < bytes.size; at++) {
        for (unsigned value = 0; value < 256; value++) {
            uint8_t before = bytes.data[at];
            bytes.data[at] = (uint8_t)value;
            sxt_module_decode(bytes.data, bytes.size, 0, &again, NULL);
            for (const char *letter = again.arch; *letter != '\0'; letter++)
                assert_true(at >= SXT_MODULE_FIXED || *letter != '\n');
            sxt_module_free(&again);
            bytes.data[at] = before;
        }
    }
    sxt_buffer_free(&bytes);
    sxt_module_free(&module);
}

TEST(an_offset_is_in_the_segment_that_holds_it)
{
    struct sxt_model_module module = make();
    uint64_t address;
    assert_true(sxt_module_address_of(&module, 0x4190, &address));
    assert_int_equal(address, 0x15190);
    assert_true(sxt_module_address_of(&module, 0x5fff - 0xe70, &address));
    assert_true(sxt_module_address_of(&module, 0x10, &address));
    assert_int_equal(address, 0x10);
    /* What has no bytes in the file has no offset. */
    assert_false(sxt_module_address_of(&module, 0x5190, &address));
    assert_false(sxt_module_address_of(&module, UINT64_MAX, &address));
    sxt_module_free(&module);
}

TEST(parts_of_one_binary_are_merged)
{
    struct sxt_model_module all = make(), into = {0}, part = {.arch = "x86_64"};
    assert_true(sxt_module_merge(&into, &part));
    assert_string_equal(into.arch, "x86_64");
    assert_true(sxt_module_merge(&into, &all));
    assert_same(&into, &all);
    assert_true(sxt_module_merge(&into, &part));
    assert_true(sxt_module_merge(&into, &(struct sxt_model_module){0}));
    assert_same(&into, &all);
    sxt_module_free(&into);
    sxt_module_free(&all);
}

TEST(the_segments_of_a_binary_replace_those_of_its_debug_file)
{
    struct sxt_model_module binary = make(), debug = make(), into = {0};
    debug.no_offsets = true;
    debug.has_file_id = false;
    debug.segments[1].offset = 0;
    assert_true(sxt_module_merge(&into, &debug));
    assert_true(sxt_module_merge(&into, &binary));
    assert_same(&into, &binary);
    assert_true(sxt_module_merge(&into, &debug));
    assert_same(&into, &binary);
    sxt_module_free(&into);
    sxt_module_free(&binary);
    sxt_module_free(&debug);
}

TEST(different_binaries_leave_nothing)
{
    for (unsigned i = 0; i < 4; i++) {
        struct sxt_model_module first = make(), second = make(), into = {0};
        if (i == 0)
            second.build_id[19] ^= 1;
        else if (i == 1)
            second.file_id[0] ^= 1;
        else if (i == 2)
            second.segments[1].address++;
        else
            second.arch[0] = 'y';
        assert_true(sxt_module_merge(&into, &first));
        assert_true(sxt_module_merge(&into, &second));
        assert_false(sxt_module_is_known(&into));
        /* A third one does not make it one binary again. */
        assert_true(sxt_module_merge(&into, &first));
        assert_false(sxt_module_is_known(&into));
        sxt_module_free(&into);
        sxt_module_free(&first);
        sxt_module_free(&second);
    }
}
