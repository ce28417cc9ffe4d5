/*
 * fuzz_dex.c: any bytes as a dex file. What is read never adds up to more than the file has, and names can be stored.
 */
#include <string.h>

#include "property.h"
#include "source/dex/dex.h"

struct sums {
    uint64_t literals;
    unsigned damages;
};

static void check_text(sxt_string text)
{
    for (size_t i = 0; i < text.size; i++)
        SXT_HOLDS((uint8_t)text.data[i] >= 0x20 && text.data[i] != 0x7f);
}

static void add_literal(void *data, const struct sxt_dex_literal *literal)
{
    struct sums *sums = data;
    SXT_HOLDS(literal->user_count > 0 && literal->size >= 4);
    for (size_t i = 0; i < literal->user_count; i++)
        check_text(literal->users[i]);
    sums->literals += literal->size;
}

static void add_item(void *data, const char *name, uint64_t count, uint64_t bytes)
{
    (void)data;
    (void)count;
    SXT_HOLDS(*name != 0 && bytes <= UINT32_MAX);
}

static void report(void *data, const sxt_error *problem)
{
    struct sums *sums = data;
    SXT_HOLDS(problem->text[0] != 0);
    SXT_HOLDS(++sums->damages == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sums sums = {0, 0};
    struct sxt_dex_tree tree;
    sxt_error error;
    if (sxt_dex_tree_init(&tree, &error) != SXT_OK)
        return 0;
    struct sxt_dex_reader reader = {
        .tree = &tree, .literal = add_literal, .item = add_item, .damage = report, .data = &sums};
    int status = sxt_dex_read(data, size, &reader, &error);
    SXT_HOLDS(status == SXT_OK || error.text[0] != 0);
    SXT_HOLDS(sxt_dex_is(data, size) || status == SXT_ERROR_UNSUPPORTED);
    uint64_t total = sums.literals;
    for (int i = 0; i < SXT_DEX_STRING_KINDS; i++)
        total += reader.strings[i];
    for (size_t i = 0; i < tree.count; i++) {
        sxt_string name = sxt_strings_get(&tree.names, (uint32_t)i + 1);
        check_text(name);
        SXT_HOLDS(tree.nodes[i].class_size <= name.size && tree.nodes[i].class_size > 0);
        total += tree.nodes[i].size;
    }
    SXT_HOLDS(total <= size);
    sxt_dex_tree_free(&tree);
    return 0;
}
