/* test_spool_mappings.c: random calls on pages, compared with a model that has a state for each page. */
#include <stdlib.h>
#include <string.h>

#include "mlyze/spool_mappings.h"
#include "support/test.h"

#define PAGES 3000u
#define PAGE  4096u
#define BASE  ((uint64_t)1 << 32)

enum state { NOTHING, RESERVED, MEMORY };

struct model {
    struct sxt_mappings *mappings;
    uint8_t pages[PAGES];
    uint64_t sizes[PAGES]; /* of the block that begins at a page; 0: none */
    uint64_t random;
};

static unsigned pick(struct model *model, unsigned limit)
{
    model->random = model->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(model->random >> 33) % limit;
}

static void call(struct model *model, struct sxt_spool_mapping mapping)
{
    size_t count;
    const struct sxt_mapping_event *events = sxt_mappings_take(model->mappings, &mapping, 0, 0, &count);
    assert_non_null(events);
    for (size_t i = 0; i < count; i++) {
        uint64_t page = (events[i].address - BASE) / PAGE;
        assert_true(page < PAGES);
        assert_true((model->sizes[page] == 0) == events[i].is_alloc);
        model->sizes[page] = events[i].is_alloc ? events[i].size : 0;
    }
}

static struct sxt_spool_mapping of(enum sxt_spool_mapping_call what, unsigned first, unsigned count)
{
    return (struct sxt_spool_mapping){
        .call = (uint16_t)what, .address = BASE + (uint64_t)first * PAGE, .size = (uint64_t)count * PAGE};
}

static void move(struct model *model, unsigned first, unsigned count, unsigned to, unsigned size, bool is_copy)
{
    uint8_t before[PAGES];
    if (to < first + count && first < to + size)
        return;
    for (unsigned i = first; i < first + count; i++)
        if (model->pages[i] == NOTHING)
            return;
    memcpy(before, model->pages, sizeof before);
    struct sxt_spool_mapping in = of(is_copy ? SXT_SPOOL_COPY : SXT_SPOOL_MOVE_IN, to, size);
    in.old_address = BASE + (uint64_t)first * PAGE;
    in.old_size = (uint64_t)count * PAGE;
    if (!is_copy) {
        call(model, of(SXT_SPOOL_MOVE_OUT, first, count));
        memset(model->pages + first, NOTHING, count);
    }
    call(model, in);
    for (unsigned i = 0; i < size; i++)
        model->pages[to + i] = before[first + (i < count ? i : count - 1)];
}

static void grow(struct model *model, unsigned first, unsigned count, unsigned size)
{
    if (model->pages[first + count - 1] == NOTHING || size <= count)
        return;
    for (unsigned i = count; i < size; i++)
        if (model->pages[first + i] != NOTHING)
            return;
    struct sxt_spool_mapping mapping = of(SXT_SPOOL_GROW, first, size);
    mapping.old_address = mapping.address;
    mapping.old_size = (uint64_t)count * PAGE;
    call(model, mapping);
    memset(model->pages + first + count, model->pages[first + count - 1], size - count);
}

static void step(struct model *model)
{
    unsigned first = pick(model, PAGES - 16), count = 1 + pick(model, 4), to = pick(model, PAGES - 16);
    struct sxt_spool_mapping mapping;
    bool is_accessible = pick(model, 3) > 0;
    switch (pick(model, 7)) {
    case 0:
    case 1:
        mapping = of(SXT_SPOOL_MAP, first, count);
        mapping.is_accessible = is_accessible;
        call(model, mapping);
        memset(model->pages + first, is_accessible ? MEMORY : RESERVED, count);
        break;
    case 2:
        call(model, of(SXT_SPOOL_UNMAP, first, count));
        memset(model->pages + first, NOTHING, count);
        break;
    case 3:
        count = 1 + pick(model, 16);
        mapping = of(SXT_SPOOL_PROTECT, first, count);
        mapping.is_accessible = is_accessible;
        call(model, mapping);
        for (unsigned i = first; i < first + count; i++)
            model->pages[i] = model->pages[i] == NOTHING ? NOTHING : is_accessible ? MEMORY : RESERVED;
        break;
    case 4:
        move(model, first, count, to, 1 + pick(model, 6), false);
        break;
    case 5:
        move(model, first, count, to, count, true);
        break;
    default:
        grow(model, first, count, count + pick(model, 6));
    }
}

static void check(const struct model *model)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < PAGES; i++) {
        if (model->sizes[i] != 0) {
            assert_true(end <= i);
            assert_int_equal(model->sizes[i] % PAGE, 0);
            end = i + model->sizes[i] / PAGE;
        }
        assert_int_equal(i < end, model->pages[i] == MEMORY);
    }
}

TEST(blocks_are_the_accessible_pages)
{
    for (unsigned seed = 0; seed < 4; seed++) {
        struct model *model = calloc(1, sizeof *model);
        assert_non_null(model);
        model->random = seed;
        model->mappings = sxt_mappings_new(0);
        assert_non_null(model->mappings);
        for (unsigned i = 0; i < 20000; i++) {
            step(model);
            if (i % 500 == 0)
                check(model);
        }
        check(model);
        sxt_mappings_free(&model->mappings);
        free(model);
    }
}

TEST(a_call_that_makes_no_sense_changes_nothing)
{
    struct sxt_mappings *mappings = sxt_mappings_new(0);
    assert_non_null(mappings);
    const struct sxt_spool_mapping calls[] = {
        {.call = 0, .address = 4096, .size = 4096},
        {.call = 99, .address = 4096, .size = 4096},
        {.call = SXT_SPOOL_MAP, .address = UINT64_MAX - 10, .size = 4096, .is_accessible = 1},
        {.call = SXT_SPOOL_MAP, .address = 4096, .size = 0, .is_accessible = 1},
        {.call = SXT_SPOOL_MOVE_IN, .address = 4096, .size = 4096, .is_accessible = 1},
        {.call = SXT_SPOOL_COPY, .address = 4096, .size = 4096, .old_address = UINT64_MAX, .old_size = 2},
        {.call = SXT_SPOOL_GROW, .address = 4096, .size = 8192, .old_address = 4096, .old_size = 4096},
        {.call = SXT_SPOOL_GROW, .address = 4096, .size = 8192},
        {.call = SXT_SPOOL_UNMAP, .address = 0, .size = UINT64_MAX},
        {.call = SXT_SPOOL_PROTECT, .address = 0, .size = UINT64_MAX, .is_accessible = 1},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t count;
        assert_non_null(sxt_mappings_take(mappings, &calls[i], 3, 0, &count));
        assert_int_equal(count, 0);
    }
    sxt_mappings_free(&mappings);
}

enum { REGIONS = 5000 };

/* Accessible regions with gaps between them. */
static struct sxt_mappings *make_regions(void)
{
    struct sxt_mappings *mappings = sxt_mappings_new(0);
    size_t count;
    assert_non_null(mappings);
    for (unsigned i = 0; i < REGIONS; i++) {
        struct sxt_spool_mapping map = of(SXT_SPOOL_MAP, 2 * i, 1);
        map.is_accessible = 1;
        assert_non_null(sxt_mappings_take(mappings, &map, 0, 0, &count));
    }
    return mappings;
}

/* Calls that concern all regions, again and again: it ends with an error, soon. */
TEST(calls_that_concern_everything_are_limited)
{
    enum { CALLS_MOST = 20000 };
    static const char *const ways[] = {"changed", "unchanged", "copied"};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        struct sxt_mappings *mappings = make_regions();
        size_t count;
        unsigned calls = 0;
        const struct sxt_mapping_event *events;
        assert_false(sxt_mappings_is_too_much(mappings));
        do {
            struct sxt_spool_mapping call = of(SXT_SPOOL_PROTECT, 0, 2 * REGIONS);
            call.is_accessible = way == 1 || calls % 2 == 1;
            if (way == 2) { /* each time twice as many */
                call = of(SXT_SPOOL_COPY, 2 * REGIONS << calls, 2 * REGIONS << calls);
                call.old_address = BASE;
                call.old_size = call.size;
            }
            events = sxt_mappings_take(mappings, &call, 0, 0, &count);
        } while (events != NULL && ++calls < (way == 2 ? 16 : CALLS_MOST));
        assert_null(events);
        assert_true(sxt_mappings_is_too_much(mappings));
        sxt_mappings_free(&mappings);
    }
}

/* What programs do: many regions, each changed by calls that concern few of them, and all of them unmapped at once. */
TEST(many_regions_are_not_too_many)
{
    struct sxt_mappings *mappings = make_regions();
    size_t count;
    for (unsigned i = 0; i < 20 * REGIONS; i++) {
        struct sxt_spool_mapping call = of(SXT_SPOOL_PROTECT, i % (2 * REGIONS - 40), 40);
        call.is_accessible = i / REGIONS % 2 == 1;
        assert_non_null(sxt_mappings_take(mappings, &call, 0, 0, &count));
    }
    const struct sxt_spool_mapping all = of(SXT_SPOOL_UNMAP, 0, 2 * REGIONS);
    assert_non_null(sxt_mappings_take(mappings, &all, 0, 0, &count));
    sxt_mappings_free(&mappings);
}
