/* test_sparse.c: copies of a part of a size, and what is stored of a comparison. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/failing_allocations.h"
#include "support/size_model.h"
#include "support/test.h"

/* Segments and symbols as text: "a.text[f g*2 g'*2] a.bss[x]"; aliases have their number after them. */
static void assert_size(const struct sxt_size_info *size, const char *expected)
{
    char text[1000] = "";
    size_t used = 0, symbols = 0;
    for (size_t i = 0; i < size->segment_count; i++) {
        const struct sxt_size_segment *segment = &size->segments[i];
        sxt_string container = size->containers[segment->container].name;
        assert_int_equal(segment->first, symbols);
        used += (size_t)sprintf(text + used, "%s%.*s%.*s[", i == 0 ? "" : " ", (int)container.size, container.data,
                                (int)segment->section.size, segment->section.data);
        for (size_t j = 0; j < segment->count; j++, symbols++) {
            const struct sxt_size_model_symbol *symbol = &size->symbols[symbols];
            assert_int_equal(symbol->segment, i);
            assert_true(symbol->path < size->path_count && symbol->component < size->component_count);
            used += (size_t)sprintf(text + used, "%s%.*s", j == 0 ? "" : " ", (int)symbol->full_name_size,
                                    symbol->full_name);
            if (symbol->group != 0) {
                const struct sxt_size_group *group = &size->groups[symbol->group - 1];
                assert_true(symbols >= group->first && symbols < group->first + group->count);
                used += (size_t)sprintf(text + used, "*%u", group->count);
            }
        }
        text[used++] = ']';
        text[used] = 0;
    }
    assert_int_equal(symbols, size->symbol_count);
    assert_string_equal(text, expected);
}

TEST(a_sparse_copy_has_what_was_kept_and_its_aliases)
{
    char text[] = "a\t.text\tf\tf.cc\tf.o\t1\t0\t0\na\t.text\tg\tg.cc\tg.o\t8\t2\t1\na\t.text\th\th.cc\tg.o\t8\t2\t1\n"
                  "a\t.bss\tx\tx.cc\tx.o\t4\t0\t0\nb\t.text\ty\ty.cc\ty.o\t5\t-1\t0\n";
    struct sxt_size_info *size = sxt_test_size(text), *sparse;
    assert_non_null(size);
    size->symbols[1].address = 0x1000;
    size->symbols[1].flags = 3;
    struct sxt_size_model_disassembly disassemblies[] = {{2, {"two", 3}}, {3, {"three", 5}}, {4, {"four", 4}}};
    size->disassemblies = disassemblies;
    size->disassembly_count = 3;
    assert_true(sxt_json_add_number(&size->arena, size->containers[0].sections, ".text", 17));
    const bool keep[] = {false, false, true, false, true};
    assert_int_equal(sxt_size_make_sparse(size, keep, &sparse, NULL), SXT_OK);
    assert_size(size, "a.text[f g*2 h*2] a.bss[x] b.text[y]");
    assert_false(size->is_sparse);
    sxt_size_info_free(&size);
    memset(text, '?', sizeof text); /* nothing of it is used any more */

    assert_size(sparse, "a.text[g*2 h*2] b.text[y]");
    assert_true(sparse->is_sparse && sparse->has_components && sparse->has_disassembly);
    assert_int_equal(sparse->symbols[0].address, 0x1000);
    assert_int_equal(sparse->symbols[0].flags, 3);
    assert_int_equal(sparse->symbols[0].size, 10);
    assert_int_equal(sparse->symbols[2].padding, -1);
    assert_int_equal(sparse->segments[1].letter, 't');
    assert_int_equal(sparse->path_count, 3);
    assert_int_equal(sparse->container_count, 2);
    assert_int_equal(sxt_json_member(sparse->containers[0].sections, ".text")->signed_value, 17);
    sxt_test_assert_text(sparse->paths[sparse->symbols[1].path].source, "h.cc");
    sxt_test_assert_text(sparse->paths[sparse->symbols[1].path].object, "g.o");
    assert_int_equal(sparse->disassembly_count, 2);
    assert_int_equal(sparse->disassemblies[0].symbol, 1);
    sxt_test_assert_text(sparse->disassemblies[0].text, "two");
    assert_int_equal(sparse->disassemblies[1].symbol, 2);
    sxt_size_info_free(&sparse);
}

TEST(aliases_come_once)
{
    struct sxt_size_info *size = sxt_test_size(
                             "a\t.text\tf\t\t\t1\t0\t1\na\t.text\tg\t\t\t1\t0\t1\na\t.text\th\t\t\t1\t0\t1\n"),
                         *sparse;
    assert_int_equal(sxt_size_make_sparse(size, (const bool[]){true, false, true}, &sparse, NULL), SXT_OK);
    assert_size(sparse, "a.text[f*3 g*3 h*3]");
    assert_int_equal(sparse->group_count, 1);
    sxt_size_info_free(&sparse);
    sxt_size_info_free(&size);
}

TEST(a_sparse_copy_may_be_empty)
{
    struct sxt_size_info *size = sxt_test_size("a\t.text\tf\tf.cc\tf.o\t1\t0\t0\n"), *sparse;
    assert_int_equal(sxt_size_make_sparse(size, (const bool[]){false}, &sparse, NULL), SXT_OK);
    assert_size(sparse, "");
    assert_int_equal(sparse->container_count, 1);
    assert_int_equal(sparse->path_count, 0);
    sxt_size_info_free(&sparse);
    sxt_size_info_free(&size);
}

static void store(const char *before_text, const char *after_text, struct sxt_sizediff *stored)
{
    struct sxt_size_info *before = sxt_test_size(before_text), *after = sxt_test_size(after_text);
    struct sxt_size_delta delta;
    assert_true(before != NULL && after != NULL);
    assert_int_equal(sxt_size_delta_make(before, after, false, 0, &delta, NULL), SXT_OK);
    assert_int_equal(sxt_size_make_sizediff(&delta, NULL, stored, NULL), SXT_OK);
    sxt_size_delta_free(&delta);
    sxt_size_info_free(&before);
    sxt_size_info_free(&after);
}

TEST(a_sizediff_holds_what_is_not_the_same)
{
    struct sxt_sizediff stored;
    store("\t.text\tsame\ts.cc\t\t1\t0\t0\n\t.text\tgone\tg.cc\t\t2\t0\t0\n\t.text\tless\ts.cc\t\t9\t1\t0\n",
          "\t.text\tnew\tn.cc\t\t3\t0\t0\n\t.text\tsame\ts.cc\t\t1\t0\t0\n\t.text\tless\ts.cc\t\t8\t4\t0\n", &stored);
    assert_size(stored.before, ".text[less gone]");
    assert_size(stored.after, ".text[less new Overhead: aggregate padding of diff'ed symbols]");
    const struct sxt_size_model_symbol *aggregate = &stored.after->symbols[2];
    assert_int_equal(aggregate->size, 3);
    assert_int_equal(aggregate->padding, 3);
    assert_int_equal(aggregate->address, 0);
    sxt_test_assert_text(stored.after->paths[aggregate->path].source, "");
    assert_true(stored.before->is_sparse && stored.after->is_sparse);
    assert_int_equal(stored.removed_source_count, 1);
    sxt_test_assert_text(stored.removed_sources[0], "g.cc");
    /* The aggregate has no source, and there is nothing else without one. */
    assert_int_equal(stored.added_source_count, 2);
    sxt_test_assert_text(stored.added_sources[0], "");
    sxt_test_assert_text(stored.added_sources[1], "n.cc");
    sxt_sizediff_free(&stored);
}

TEST(aliases_of_what_changed_are_stored_too)
{
    struct sxt_sizediff stored;
    store("\t.text\tf\ta\t\t8\t0\t1\n\t.text\tg\ta\t\t8\t0\t1\n",
          "\t.text\tf\ta\t\t8\t0\t1\n\t.text\tg\tb\t\t8\t0\t1\n"
          "\t.rodata\tx\ta\t\t8\t0\t0\n",
          &stored);
    assert_size(stored.before, "");
    assert_size(stored.after, ".rodata[x]");
    assert_int_equal(stored.added_source_count, 0);
    sxt_sizediff_free(&stored);

    store("\t.text\tf\ta\t\t8\t0\t1\n\t.text\t.g\tb\t\t8\t0\t1\n",
          "\t.text\tf\ta\t\t8\t0\t1\n\t.text\t.h\tc\t\t8\t0\t1\n", &stored);
    assert_size(stored.before, ".text[f*2 .g*2]");
    assert_size(stored.after, ".text[f*2 .h*2]");
    sxt_sizediff_free(&stored);
}

TEST(paddings_go_to_their_container_and_section)
{
    struct sxt_sizediff stored;
    store("a\t.data.rel.ro\tf\ta\t\t8\t0\t0\nb\t.text\tf\ta\t\t8\t0\t0\n",
          "b\t.text\tf\ta\t\t8\t-3\t0\na\t.data.rel.ro.local\tf\ta\t\t8\t4\t0\n", &stored);
    assert_size(stored.after, "b.text[Overhead: aggregate padding of diff'ed symbols] "
                              "a.data.rel.ro[Overhead: aggregate padding of diff'ed symbols]");
    assert_int_equal(stored.after->symbols[0].size, -3);
    assert_int_equal(stored.after->symbols[1].size, 4);
    sxt_sizediff_free(&stored);
}

TEST(comparing_what_was_stored_gives_the_same_again)
{
    struct sxt_sizediff stored;
    store("\t.text\tsame\ts.cc\t\t1\t0\t0\n\t.text\tgone\tg.cc\t\t2\t0\t0\n\t.text\tless\ts.cc\t\t9\t1\t0\n",
          "\t.text\tnew\tn.cc\t\t3\t0\t0\n\t.text\tsame\ts.cc\t\t1\t0\t0\n\t.text\tless\ts.cc\t\t8\t4\t0\n", &stored);
    struct sxt_size_delta delta;
    assert_int_equal(sxt_size_delta_make(stored.before, stored.after, false, 0, &delta, NULL), SXT_OK);
    assert_int_equal(delta.padding_count, 0);
    assert_int_equal(delta.counts[SXT_SIZE_CHANGED], 1);
    assert_int_equal(delta.counts[SXT_SIZE_ADDED], 2);
    assert_int_equal(delta.counts[SXT_SIZE_REMOVED], 1);
    assert_int_equal(delta.counts[SXT_SIZE_UNCHANGED], 0);
    sxt_size_delta_free(&delta);
    sxt_sizediff_free(&stored);
}

TEST(short_memory_is_an_error_and_nothing_else)
{
    struct sxt_size_info *before = sxt_test_size("a\t.text\tint f$1<int>(x)\ta\t\t8\t3\t1\na\t.text\tg\ta\t\t8\t3\t1\n"
                                                 "a\t.text\tx\ta\t\t5\t2\t0\na\t.text\t** p$1 3 (x)\ta\t\t0\t4\t0\n"
                                                 "b\t.data\tq\ta\t\t9\t0\t0\n");
    struct sxt_size_info *after = sxt_test_size("a\t.text\tint f$2<char>(x)\ta\t\t10\t9\t0\na\t.text\tg\ta\t\t8\t0\t0\n"
                                                "a\t.text\ty\tb\t\t6\t1\t0\na\t.text\t** p$1 4 (x)\ta\t\t2\t7\t0\n"
                                                "b\t.data\tq\ta\t\t9\t2\t0\n");
    assert_true(before != NULL && after != NULL);
    for (long allowed = 0;; allowed++) {
        struct sxt_size_delta delta;
        struct sxt_sizediff stored = {.before = NULL};
        counted = 0;
        failing = (unsigned long)allowed + 1;
        int status = sxt_size_delta_make(before, after, false, 0, &delta, NULL);
        if (status == SXT_OK) {
            status = sxt_size_make_sizediff(&delta, NULL, &stored, NULL);
            sxt_size_delta_free(&delta);
        }
        sxt_sizediff_free(&stored);
        bool was_denied = counted >= failing;
        failing = 0;
        assert_int_equal(status, was_denied ? SXT_ERROR_MEMORY : SXT_OK);
        if (!was_denied)
            break;
    }
    sxt_size_info_free(&before);
    sxt_size_info_free(&after);
}
