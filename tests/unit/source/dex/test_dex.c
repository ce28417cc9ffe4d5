/* test_dex.c: dex files: what their parts take, damaged files, and files that are made to take long. */
#include "base/bytes.h"
#include "source/dex/dex.h"
#include "support/sample_file.h"

struct found {
    uint64_t literals, items, item_bytes;
    unsigned damages;
    char text[2000];
};

static void add_literal(void *data, const struct sxt_dex_literal *literal)
{
    struct found *found = data;
    size_t used = strlen(found->text);
    found->literals += literal->size;
    snprintf(found->text + used, sizeof found->text - used, "\"%.*s\" %llu", (int)literal->text.size,
             literal->text.data, (unsigned long long)literal->size);
    for (size_t i = 0; i < literal->user_count; i++) {
        used = strlen(found->text);
        snprintf(found->text + used, sizeof found->text - used, " %.*s", (int)literal->users[i].size,
                 literal->users[i].data);
    }
    strncat(found->text, "\n", sizeof found->text - strlen(found->text) - 1);
}

static void add_item(void *data, const char *name, uint64_t count, uint64_t bytes)
{
    struct found *found = data;
    (void)name;
    found->items += count;
    found->item_bytes += bytes;
}

static void add_damage(void *data, const sxt_error *problem)
{
    struct found *found = data;
    assert_true(problem->text[0] != 0);
    found->damages++;
}

static uint64_t total_of(const struct sxt_dex_tree *tree, const struct sxt_dex_reader *reader,
                         const struct found *found)
{
    uint64_t total = found->literals;
    for (size_t i = 0; i < tree->count; i++)
        total += tree->nodes[i].size;
    for (int i = 0; i < SXT_DEX_STRING_KINDS; i++)
        total += reader->strings[i];
    return total;
}

static int read(const uint8_t *data, size_t size, struct sxt_dex_tree *tree, struct found *found, sxt_error *error)
{
    *found = (struct found){.text = ""};
    assert_int_equal(sxt_dex_tree_init(tree, error), SXT_OK);
    struct sxt_dex_reader reader = {
        .tree = tree, .literal = add_literal, .item = add_item, .damage = add_damage, .data = found};
    int status = sxt_dex_read(data, size, &reader, error);
    assert_true(total_of(tree, &reader, found) <= size);
    assert_true(found->damages <= 1);
    return status;
}

static uint64_t size_of(const struct sxt_dex_tree *tree, const char *name)
{
    uint32_t number = sxt_strings_find(&tree->names, name, strlen(name));
    assert_int_not_equal(number, SXT_STRINGS_FULL);
    return tree->nodes[number - 1].size;
}

TEST(reads_classes_fields_methods_and_literals)
{
    struct sample_file sample = sample_file_read("dex/seed-class");
    struct sxt_dex_tree tree;
    struct found found;
    sxt_error error;
    assert_int_equal(read(sample.data, sample.size, &tree, &found, &error), SXT_OK);
    assert_int_equal(found.damages, 0);
    assert_int_equal(found.item_bytes, sample.size);
    assert_string_equal(found.text, "\"hello\" 11 org.a.B org.a.C\n");
    assert_int_equal(size_of(&tree, "org.a.B#COUNT: int"), 12);
    assert_int_equal(size_of(&tree, "org.a.B#x: long[]"), 10);
    assert_int_equal(size_of(&tree, "java.lang.Object#<init>()"), 8);
    assert_int_equal(size_of(&tree, "java.lang.Object"), 0);
    assert_int_equal(size_of(&tree, "org.a.B#g(): void"), 12);
    assert_int_equal(size_of(&tree, "org.a.B"), 32 + 4 + 6 + 4 + 1);
    assert_int_equal(size_of(&tree, "org.a.C"), 32 + 4 + 4);
    sxt_dex_tree_free(&tree);
    free(sample.data);
}

TEST(refuses_what_is_not_a_dex_file)
{
    struct sxt_dex_tree tree;
    struct found found;
    sxt_error error;
    assert_int_equal(read((const uint8_t *)"dey\n035", 8, &tree, &found, &error), SXT_ERROR_UNSUPPORTED);
    sxt_dex_tree_free(&tree);
    assert_int_equal(read((const uint8_t *)"dex\n035", 8, &tree, &found, &error), SXT_ERROR_FORMAT);
    sxt_dex_tree_free(&tree);
}

static void check_damaged(const uint8_t *data, size_t size)
{
    struct sxt_dex_tree tree;
    struct found found;
    sxt_error error;
    int status = read(data, size, &tree, &found, &error);
    assert_true(status == SXT_OK || status == SXT_ERROR_FORMAT || status == SXT_ERROR_UNSUPPORTED);
    sxt_dex_tree_free(&tree);
}

TEST(survives_every_damage)
{
    struct sample_file sample = sample_file_read("dex/seed-class");
    sample_file_sweep(&sample, check_damaged);
    free(sample.data);
}

/* A header whose tables are where CONTENT says. */
static void put_header(uint8_t *data, uint32_t size, const uint32_t tables[12])
{
    memcpy(data, "dex\n035", 8);
    sxt_store_u32le(data + 32, size);
    sxt_store_u32le(data + 36, 112);
    sxt_store_u32le(data + 40, 0x12345678);
    for (int i = 0; i < 12; i++)
        sxt_store_u32le(data + 56 + 4 * i, tables[i]);
}

/* Every class has the same fields and methods, and every method the same code. */
TEST(items_that_all_share_are_read_once)
{
    enum { SIZE = 4 << 20, CLASSES = 40000 };
    uint8_t *data = calloc(1, SIZE);
    assert_non_null(data);
    uint32_t classes = 200, shared = classes + CLASSES * 32;
    put_header(data, SIZE, (uint32_t[]){1, 112, 1, 116, 1, 120, 0, 0, 1, 132, CLASSES, classes});
    sxt_store_u32le(data + 112, 150);
    memcpy(data + 150, "\004LA;", 5);
    for (uint32_t i = 0; i < CLASSES; i++)
        sxt_store_u32le(data + classes + i * 32 + 24, shared);
    /* Half a million methods, all of them number 0, with code at the end. */
    memcpy(data + shared, "\0\0\xa0\xc2\x1e\0", 6);
    struct sxt_dex_tree tree;
    struct found found;
    sxt_error error;
    assert_int_equal(read(data, SIZE, &tree, &found, &error), SXT_OK);
    sxt_dex_tree_free(&tree);
    free(data);
}

/* Each method has more than two hundred parameters, whose type has a long name: it would expand a hundred times. */
TEST(names_do_not_expand_without_limit)
{
    enum { SIZE = 1 << 20, METHODS = 20000, NAME = 6000 };
    uint8_t *data = calloc(1, SIZE);
    assert_non_null(data);
    uint32_t text = 200, list = text + NAME + 10, methods = list + 4 + 2 * 200;
    put_header(data, SIZE, (uint32_t[]){1, 112, 1, 116, 1, 120, 0, 0, METHODS, methods, 0, 0});
    sxt_store_u32le(data + 112, text);
    sxt_store_u32le(data + 120 + 8, list);
    memset(data + text, 'x', NAME);
    data[text] = 1;
    sxt_store_u32le(data + list, 200);
    struct sxt_dex_tree tree;
    struct found found;
    sxt_error error;
    assert_int_equal(read(data, SIZE, &tree, &found, &error), SXT_OK);
    assert_true(tree.names.bytes <= (uint64_t)SIZE * 16 + (1 << 20));
    sxt_dex_tree_free(&tree);
    free(data);
}
