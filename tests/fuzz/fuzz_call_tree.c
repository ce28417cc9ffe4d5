/*
 * fuzz_call_tree.c: any bytes as a profile, alone and compared with itself. The tree that comes out is one: callers
 * come before what they call, numbers are in range, and the values of all calls add up to the totals. A page can be
 * made of it.
 */
#include <string.h>

#include "profile/call_tree.h"
#include "property.h"
#include "report/report.h"

static void check_node(const struct sxt_call_tree *tree, size_t node)
{
    SXT_HOLDS(tree->nodes[node].parent < node);
    SXT_HOLDS(tree->nodes[node].frame < tree->frame_count);
}

static void check_frame(const struct sxt_call_tree *tree, const struct sxt_call_frame *frame)
{
    SXT_HOLDS(frame->function < tree->strings.count);
    SXT_HOLDS(frame->file < tree->strings.count);
    SXT_HOLDS(frame->binary < tree->strings.count);
}

/* Sums that do not fit are clamped, and then they need not agree. */
static bool adds_up(const struct sxt_call_tree *tree, unsigned side, size_t type)
{
    int64_t sum = 0;
    for (size_t node = 0; node < tree->node_count; node++) {
        int64_t value = tree->values[side][node * tree->type_count + type];
        if (value > INT64_MAX / 1000000 || value < INT64_MIN / 1000000 || __builtin_add_overflow(sum, value, &sum))
            return true;
    }
    return sum == tree->totals[side][type] || tree->samples[side] > 1000000;
}

static void check_tree(const struct sxt_call_tree *tree)
{
    SXT_HOLDS(tree->type_count > 0 && tree->default_type < tree->type_count);
    for (size_t i = 1; i < tree->node_count; i++)
        check_node(tree, i);
    for (size_t i = 0; i < tree->frame_count; i++)
        check_frame(tree, &tree->frames[i]);
}

static void check_page(const struct sxt_call_tree *tree, const char *before_name)
{
    struct sxt_page page;
    sxt_error error;
    if (sxt_page_begin(&page, SXT_PAGE_PROFILE, &error) == SXT_OK) {
        SXT_HOLDS(sxt_page_make_profile(&page, tree, "after", before_name, &error) == SXT_OK);
        SXT_HOLDS(sxt_page_end(&page, &error) == SXT_OK);
    }
    sxt_page_free(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sxt_call_tree tree;
    sxt_error error;
    (void)sxt_profile_is(data, size);
    SXT_HOLDS(sxt_call_tree_init(&tree, &error) == SXT_OK);
    if (sxt_call_tree_add(&tree, 0, data, size, &error) != SXT_OK) {
        SXT_HOLDS(error.text[0] != 0);
        sxt_call_tree_free(&tree);
        return 0;
    }
    check_tree(&tree);
    check_page(&tree, NULL);
    SXT_HOLDS(sxt_call_tree_add(&tree, 1, data, size, &error) == SXT_OK);
    check_tree(&tree);
    for (size_t type = 0; type < tree.type_count; type++) {
        SXT_HOLDS(tree.totals[0][type] == tree.totals[1][type] || tree.type_count > 1);
        SXT_HOLDS(adds_up(&tree, 0, type));
    }
    check_page(&tree, "before");
    sxt_call_tree_free(&tree);
    return 0;
}
