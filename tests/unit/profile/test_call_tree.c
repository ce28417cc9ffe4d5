/* test_call_tree.c: samples become a tree of calls, and damaged profiles are refused. */
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"
#include "base/string.h"
#include "profile/call_tree.h"
#include "support/test.h"

static const char *const strings[] = {"", "cpu", "nanoseconds", "main", "work", "sort", "w.c", "/bin/app"};

static void add_pair(struct sxt_buffer *out, unsigned number, unsigned first, uint64_t one, unsigned second,
                     uint64_t other)
{
    struct sxt_buffer inner;
    sxt_buffer_init(&inner, SIZE_MAX);
    sxt_protobuf_write_number(&inner, first, one);
    sxt_protobuf_write_number(&inner, second, other);
    sxt_protobuf_write_bytes(out, number, inner.data, inner.size);
    sxt_buffer_free(&inner);
}

static void add_location(struct sxt_buffer *out, uint64_t id, const uint64_t *functions, size_t count)
{
    struct sxt_buffer inner;
    sxt_buffer_init(&inner, SIZE_MAX);
    sxt_protobuf_write_number(&inner, 1, id);
    sxt_protobuf_write_number(&inner, 2, 1);
    sxt_protobuf_write_number(&inner, 3, 0x1000 + id);
    for (size_t i = 0; i < count; i++)
        add_pair(&inner, 4, 1, functions[i], 2, 10);
    sxt_protobuf_write_bytes(out, 4, inner.data, inner.size);
    sxt_buffer_free(&inner);
}

/* STACK has the leaf first. */
static void add_sample(struct sxt_buffer *out, const char *stack, uint64_t value)
{
    struct sxt_buffer inner;
    uint8_t byte = (uint8_t)value;
    sxt_buffer_init(&inner, SIZE_MAX);
    for (; *stack != 0; stack++)
        sxt_protobuf_write_number(&inner, 1, (uint64_t)(*stack - '0'));
    sxt_protobuf_write_bytes(&inner, 2, &byte, 1);
    sxt_protobuf_write_bytes(out, 2, inner.data, inner.size);
    sxt_buffer_free(&inner);
}

/* main calls work, into which sort is inlined; location 4 has no name. */
static void make_profile(struct sxt_buffer *out)
{
    sxt_buffer_init(out, SIZE_MAX);
    add_pair(out, 1, 1, 1, 2, 2);
    add_sample(out, "21", 10);
    add_sample(out, "31", 5);
    add_sample(out, "221", 3);
    add_sample(out, "41", 2);
    add_pair(out, 3, 1, 1, 5, 7);
    add_location(out, 1, (const uint64_t[]){1}, 1);
    add_location(out, 2, (const uint64_t[]){2}, 1);
    add_location(out, 3, (const uint64_t[]){3, 2}, 2);
    add_location(out, 4, NULL, 0);
    add_pair(out, 5, 1, 1, 2, 3);
    add_pair(out, 5, 1, 2, 2, 4);
    add_pair(out, 5, 1, 3, 2, 5);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        sxt_protobuf_write_bytes(out, 6, strings[i], strlen(strings[i]));
}

static int read_profile(struct sxt_call_tree *tree, unsigned side, const struct sxt_buffer *bytes, sxt_error *error)
{
    int status = side == 0 ? sxt_call_tree_init(tree, error) : SXT_OK;
    return status == SXT_OK ? sxt_call_tree_add(tree, side, bytes->data, bytes->size, error) : status;
}

/* The value of the call with these functions, from the root on; -1 if there is none. */
static int64_t value_of(const struct sxt_call_tree *tree, unsigned side, const char *const *functions, size_t count)
{
    size_t node = 0;
    for (size_t i = 0; i < count; i++) {
        size_t next = 1;
        while (next < tree->node_count &&
               !(tree->nodes[next].parent == node &&
                 sxt_string_is(sxt_strings_get(&tree->strings, tree->frames[tree->nodes[next].frame].function),
                               functions[i])))
            next++;
        if (next == tree->node_count)
            return -1;
        node = next;
    }
    return tree->values[side][node * tree->type_count];
}

#define VALUE(tree, side, ...)                                                                                         \
    value_of(tree, side, (const char *const[]){__VA_ARGS__},                                                           \
             sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *))

TEST(samples_become_calls)
{
    struct sxt_buffer bytes;
    struct sxt_call_tree tree;
    make_profile(&bytes);
    assert_int_equal(read_profile(&tree, 0, &bytes, NULL), SXT_OK);
    assert_int_equal(tree.samples[0], 4);
    assert_int_equal(tree.totals[0][0], 20);
    assert_int_equal(tree.unnamed[0], 1);
    assert_int_equal(VALUE(&tree, 0, "main", "work"), 10);
    assert_int_equal(VALUE(&tree, 0, "main", "work", "sort"), 5);
    assert_int_equal(VALUE(&tree, 0, "main", "work", "work"), 3);
    assert_int_equal(VALUE(&tree, 0, "main", "0x1004"), 2);
    assert_int_equal(VALUE(&tree, 0, "work"), -1);
    sxt_call_tree_free(&tree);
    sxt_buffer_free(&bytes);
}

TEST(two_profiles_are_one_tree)
{
    struct sxt_buffer bytes, other;
    struct sxt_call_tree tree;
    make_profile(&bytes);
    make_profile(&other);
    add_sample(&other, "321", 7);
    assert_int_equal(read_profile(&tree, 0, &bytes, NULL), SXT_OK);
    assert_int_equal(read_profile(&tree, 1, &other, NULL), SXT_OK);
    assert_int_equal(VALUE(&tree, 0, "main", "work"), VALUE(&tree, 1, "main", "work"));
    assert_int_equal(VALUE(&tree, 0, "main", "work", "work", "sort"), 0);
    assert_int_equal(VALUE(&tree, 1, "main", "work", "work", "sort"), 7);
    assert_int_equal(tree.totals[1][0] - tree.totals[0][0], 7);
    sxt_call_tree_free(&tree);
    sxt_buffer_free(&bytes);
    sxt_buffer_free(&other);
}

/* Reads a profile that may be damaged: either there is a tree, or a reason. */
static void try(const struct sxt_buffer *bytes)
{
    struct sxt_call_tree tree;
    sxt_error error = {.text = ""};
    if (read_profile(&tree, 0, bytes, &error) == SXT_OK) {
        assert_true(tree.type_count > 0);
        for (size_t i = 1; i < tree.node_count; i++)
            assert_true(tree.nodes[i].parent < i && tree.nodes[i].frame < tree.frame_count);
    } else {
        assert_true(error.text[0] != 0);
    }
    sxt_call_tree_free(&tree);
    (void)sxt_profile_is(bytes->data, bytes->size);
}

TEST(damaged_profiles_do_no_harm)
{
    static const uint8_t changes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    struct sxt_buffer bytes;
    make_profile(&bytes);
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t kept = bytes.data[i];
        for (size_t k = 0; k < sizeof changes; k++) {
            bytes.data[i] = changes[k];
            try(&bytes);
        }
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes.data[i] = kept ^ (uint8_t)(1u << bit);
            try(&bytes);
        }
        bytes.data[i] = kept;
    }
    size_t whole = bytes.size;
    for (bytes.size = 0; bytes.size < whole; bytes.size++)
        try(&bytes);
    sxt_buffer_free(&bytes);
}

TEST(a_profile_is_recognised_by_its_fields)
{
    static const char *const others[] = {"",
                                         "\n",
                                         "main;work 10\n",
                                         "\x7f"
                                         "ELF",
                                         "{\"a\": 1}",
                                         "\n\x04"
                                         "text\n"};
    struct sxt_buffer bytes;
    make_profile(&bytes);
    assert_true(sxt_profile_is(bytes.data, bytes.size));
    assert_false(sxt_profile_is(bytes.data, bytes.size / 2));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(sxt_profile_is(others[i], strlen(others[i])));
    /* A large one is recognised by its beginning. */
    while (bytes.size < 1000000)
        sxt_protobuf_write_bytes(&bytes, 6, strings[7], strlen(strings[7]));
    assert_true(sxt_profile_is(bytes.data, bytes.size));
    bytes.data[0] ^= 4; /* the kind of the first field */
    assert_false(sxt_profile_is(bytes.data, bytes.size));
    sxt_buffer_free(&bytes);
}
