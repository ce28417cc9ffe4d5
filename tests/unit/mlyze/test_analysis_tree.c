/* Trees of stacks: what is in common is one branch, and no file can make that slow. */
#include <time.h>

#include "heap_trace.h"
#include "support/test.h"

#define STACKS 60000

/* A trace with STACKS stacks of one frame, of which FRAME_OF gives function and file, and an allocation of each. */
static struct sxt_mlyze *make_trace(struct sxt_buffer *bytes, uint64_t (*frame_of)(uint32_t stack))
{
    struct sxt_buffer text;
    struct sxt_mlyze *trace;
    sxt_buffer_init(&text, (size_t)1 << 30);
    sxt_buffer_init(bytes, (size_t)1 << 30);
    for (uint32_t i = 0; i < STACKS; i++) {
        uint64_t frame = frame_of(i);
        sxt_buffer_print(&text, "%s\"%u\":[{\"func_id\":%u,\"file_id\":%u}]", i == 0 ? "{\"stack_traces\":{" : ",", i,
                         (uint32_t)(frame >> 32), (uint32_t)frame);
    }
    sxt_buffer_print(&text, "}}");
    sxt_buffer_append(bytes, "MTRC", 4);
    sxt_buffer_u32le(bytes, 1);
    sxt_buffer_u64le(bytes, HEAP_START);
    sxt_buffer_u32le(bytes, (uint32_t)text.size);
    memset(sxt_buffer_extend(bytes, SXT_MLYZE_HEADER_SIZE - 20), 0, SXT_MLYZE_HEADER_SIZE - 20);
    sxt_buffer_append(bytes, text.data, text.size);
    for (uint32_t i = 0; i < STACKS; i++)
        heap_trace_alloc(bytes, 0, 16 * ((uint64_t)i + 1), 8, i, 0);
    assert_int_equal(sxt_mlyze_open(bytes->data, bytes->size, &trace, NULL), SXT_OK);
    sxt_buffer_free(&text);
    return trace;
}

/* Seconds that the tree takes. */
static double time_tree(uint64_t (*frame_of)(uint32_t stack))
{
    struct sxt_buffer bytes;
    sxt_heap_options options = {.churn = 0};
    sxt_heap_usage usage;
    sxt_heap_tree *tree;
    struct sxt_mlyze *trace = make_trace(&bytes, frame_of);
    assert_int_equal(sxt_heap_run(trace, &options, &usage, NULL), SXT_OK);
    clock_t start = clock();
    assert_int_equal(sxt_heap_tree_make(&usage, SXT_HEAP_COST_BYTES, false, &tree, NULL), SXT_OK);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_int_equal(tree->count, STACKS + 1);
    assert_int_equal(tree->nodes[0].cost, 8 * STACKS);
    sxt_heap_tree_free(&tree);
    sxt_heap_free(&usage);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
    return seconds;
}

static uint64_t in_order(uint32_t stack)
{
    return (uint64_t)stack << 32;
}

/* What FACTOR multiplies with to 1, modulo 2^64. */
static uint64_t inverse(uint64_t factor)
{
    uint64_t result = factor;
    for (int i = 0; i < 6; i++)
        result *= 2 - factor * result;
    return result;
}

/* What X ^ X >> SHIFT was made of. */
static uint64_t unshift(uint64_t value, unsigned shift)
{
    uint64_t result = value;
    for (unsigned done = shift; done < 64; done += shift)
        result = value ^ result >> shift;
    return result;
}

/*
 * Frames that all have the same place in a table whose hash is (K ^ K >> 29) * B, K being the key times A, with its
 * halves put together: a hash that is as good as any, but known. Tables are to depend on numbers that are drawn anew.
 */
static uint64_t in_one_place(uint32_t stack)
{
    uint64_t wanted = (uint64_t)stack << 32 | stack;
    return unshift(wanted * inverse(0xbf58476d1ce4e5b9), 29) * inverse(0x9e3779b97f4a7c15);
}

TEST(frames_of_a_files_choice_do_not_make_it_slow)
{
    double usual = time_tree(in_order), chosen = time_tree(in_one_place);
    assert_true(chosen < 20 * usual + 0.1);
}

TEST(stacks_that_are_not_there_are_branches_of_their_own)
{
    struct sxt_buffer bytes;
    sxt_heap_options options = {.churn = 0};
    sxt_heap_usage usage;
    sxt_heap_tree *tree;
    struct sxt_mlyze *trace;
    heap_trace_begin(&bytes);
    heap_trace_alloc(&bytes, 1, 16, 100, 0, 0);
    heap_trace_alloc(&bytes, 1, 32, 10, 1, 0); /* main is in both */
    heap_trace_alloc(&bytes, 1, 48, 1, 77, 0);
    heap_trace_alloc(&bytes, 1, 64, 2, 78, 0);
    assert_int_equal(sxt_mlyze_open(bytes.data, bytes.size, &trace, NULL), SXT_OK);
    assert_int_equal(sxt_heap_run(trace, &options, &usage, NULL), SXT_OK);
    assert_int_equal(sxt_heap_tree_make(&usage, SXT_HEAP_COST_BYTES, false, &tree, NULL), SXT_OK);
    assert_int_equal(tree->count, 6);
    const sxt_heap_node *first = &tree->nodes[tree->nodes[0].child], *second = &tree->nodes[first->next];
    assert_int_equal(tree->nodes[0].cost, 113);
    assert_int_equal(first->cost, 110);
    assert_int_equal(first->count, 2);
    assert_false(first->is_stack);
    assert_true(second->is_stack);
    assert_int_equal(second->function, 78);
    assert_int_equal(second->cost, 2);
    assert_int_equal(second->parent, 0);
    sxt_heap_tree_free(&tree);
    sxt_heap_free(&usage);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}

#define DEEP_STACKS 1000

/* Stacks that share their ten outermost frames and branch after that; those with low numbers have most of the memory.
 */
static struct sxt_mlyze *make_deep_trace(struct sxt_buffer *bytes)
{
    struct sxt_buffer text;
    struct sxt_mlyze *trace;
    struct sxt_test_random random = {5};
    sxt_buffer_init(&text, (size_t)1 << 30);
    sxt_buffer_init(bytes, (size_t)1 << 30);
    for (uint32_t i = 0; i < DEEP_STACKS; i++) {
        sxt_buffer_print(&text, "%s\"%u\":[", i == 0 ? "{\"stack_traces\":{" : ",", i);
        for (uint32_t k = 0; k < 12 + i % 5; k++)
            sxt_buffer_print(&text, "{\"func_id\":%u,\"file_id\":%u},", 100 + (i >> k % 12) % 50, (i >> k % 12) % 3);
        for (uint32_t k = 10; k > 0; k--)
            sxt_buffer_print(&text, "{\"func_id\":%u,\"file_id\":0}%s", k, k > 1 ? "," : "]");
    }
    sxt_buffer_print(&text, "}}");
    sxt_buffer_append(bytes, "MTRC", 4);
    sxt_buffer_u32le(bytes, 1);
    sxt_buffer_u64le(bytes, HEAP_START);
    sxt_buffer_u32le(bytes, (uint32_t)text.size);
    memset(sxt_buffer_extend(bytes, SXT_MLYZE_HEADER_SIZE - 20), 0, SXT_MLYZE_HEADER_SIZE - 20);
    sxt_buffer_append(bytes, text.data, text.size);
    for (uint32_t i = 0; i < 2 * DEEP_STACKS; i++) {
        uint32_t stack = i < DEEP_STACKS ? i : sxt_test_below(&random, 1 + sxt_test_below(&random, DEEP_STACKS + 9));
        heap_trace_alloc(bytes, 0, 16 * ((uint64_t)i + 1), sxt_test_below(&random, 100), stack, 0);
    }
    assert_int_equal(sxt_mlyze_open(bytes->data, bytes->size, &trace, NULL), SXT_OK);
    sxt_buffer_free(&text);
    return trace;
}

/* The next sibling, or the node itself, that has at least LEAST. */
static uint32_t next_large(const sxt_heap_tree *tree, uint32_t node, uint64_t least)
{
    while (node != SXT_HEAP_NO_NODE && tree->nodes[node].cost < least)
        node = tree->nodes[node].next;
    return node;
}

/* Whether A and B are the same, without nodes below LEAST; counts them. Stacks of the trace are 26 frames deep at most.
 */
static bool is_same_tree(const sxt_heap_tree *a, uint32_t of_a, const sxt_heap_tree *b, uint32_t of_b, uint64_t least,
                         size_t *count)
{
    const sxt_heap_node *left = &a->nodes[of_a], *right = &b->nodes[of_b];
    if (left->function != right->function || left->file != right->file || left->is_stack != right->is_stack ||
        left->cost != right->cost || left->count != right->count)
        return false;
    ++*count;
    uint32_t at_a = next_large(a, left->child, least), at_b = next_large(b, right->child, least);
    while (at_a != SXT_HEAP_NO_NODE && at_b != SXT_HEAP_NO_NODE) {
        if (!is_same_tree(a, at_a, b, at_b, least, count))
            return false;
        at_a = next_large(a, a->nodes[at_a].next, least);
        at_b = next_large(b, b->nodes[at_b].next, least);
    }
    return at_a == at_b;
}

TEST(a_tree_of_large_nodes_is_a_part_of_the_whole)
{
    static const uintptr_t parts[] = {1, 3, 20, 256, 100000};
    struct sxt_buffer bytes;
    sxt_heap_options options = {.churn = 0};
    sxt_heap_usage usage;
    struct sxt_mlyze *trace = make_deep_trace(&bytes);
    assert_int_equal(sxt_heap_run(trace, &options, &usage, NULL), SXT_OK);
    for (unsigned i = 0; i < 4 * sizeof parts / sizeof *parts; i++) {
        sxt_heap_tree *whole, *large;
        bool bottom_up = i % 2 == 1;
        sxt_heap_view view = {.depth = i % 4 < 2 ? 0 : 9}, cut = view;
        cut.least_part = parts[i / 4];
        assert_int_equal(sxt_heap_tree_make_view(&usage, SXT_HEAP_COST_BYTES, bottom_up, &view, &whole, NULL), SXT_OK);
        assert_int_equal(sxt_heap_tree_make_view(&usage, SXT_HEAP_COST_BYTES, bottom_up, &cut, &large, NULL), SXT_OK);
        size_t count = 0;
        uint64_t least = whole->nodes[0].cost / cut.least_part;
        assert_true(is_same_tree(whole, 0, large, 0, least, &count));
        assert_int_equal(count, large->count);
        assert_true(count > (i >= 12 ? 1 : 0));
        sxt_heap_tree_free(&whole);
        sxt_heap_tree_free(&large);
    }
    sxt_heap_free(&usage);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}
