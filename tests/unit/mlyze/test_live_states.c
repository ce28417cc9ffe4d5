/* test_live_states.c: what was live at a moment, from states, is what a whole pass finds. */
#include "base/bytes.h"
#include "heap_trace.h"
#include "support/random.h"
#include "support/test.h"

struct fixture {
    struct sxt_buffer bytes, states;
    struct sxt_mlyze *trace;
    struct sxt_mlyze_index index;
};

static void prepare(struct fixture *fixture, uint64_t seed, uint32_t events, uint64_t distance)
{
    heap_trace_begin(&fixture->bytes);
    heap_trace_random(&fixture->bytes, seed, events);
    assert_int_equal(sxt_mlyze_open(fixture->bytes.data, fixture->bytes.size, &fixture->trace, NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_index_make(fixture->trace, &fixture->index, NULL), SXT_OK);
    sxt_buffer_init(&fixture->states, (size_t)1 << 30);
    assert_int_equal(sxt_heap_states_make(fixture->trace, &fixture->index, distance, &fixture->states, NULL), SXT_OK);
}

static void drop(struct fixture *fixture)
{
    sxt_mlyze_index_free(&fixture->index);
    sxt_mlyze_close(&fixture->trace);
    sxt_buffer_free(&fixture->bytes);
    sxt_buffer_free(&fixture->states);
}

static void get_live(const sxt_heap_usage *usage, uint32_t stack, uint64_t *bytes, uint64_t *count)
{
    *bytes = *count = 0;
    for (size_t i = 0; i < usage->sites.count; i++) {
        if (sxt_heap_record(&usage->sites, i)->stack != stack)
            continue;
        *bytes = sxt_heap_sites_bytes(&usage->sites, i, SXT_HEAP_COST_LIVE);
        *count = sxt_heap_sites_count(&usage->sites, i, SXT_HEAP_COST_LIVE);
    }
}

static bool is_same(const sxt_heap_usage *a, const sxt_heap_usage *b)
{
    for (uint32_t stack = 0; stack < 5; stack++) {
        uint64_t bytes[2], counts[2];
        get_live(a, stack, &bytes[0], &counts[0]);
        get_live(b, stack, &bytes[1], &counts[1]);
        if (bytes[0] != bytes[1] || counts[0] != counts[1])
            return false;
    }
    return a->total.live_bytes == b->total.live_bytes && a->total.live_count == b->total.live_count && a->end == b->end;
}

static void run_until(const struct sxt_mlyze *trace, uint64_t time, sxt_heap_usage *out)
{
    sxt_heap_options options = {.to = {.kind = SXT_HEAP_MOMENT_TIME, .time = time}};
    assert_int_equal(sxt_heap_run(trace, &options, out, NULL), SXT_OK);
}

TEST(states_agree_with_a_pass)
{
    struct fixture fixture;
    prepare(&fixture, 5, 60000, 1);
    assert_true(fixture.index.count > 5);
    struct sxt_test_random random = {1};
    for (size_t i = 0; i < 300; i++) {
        sxt_heap_usage slow, quick;
        uint64_t time = i < 2 ? HEAP_START + i : HEAP_START + sxt_test_below(&random, 100000);
        /* Around the ends of blocks, where a state may be the one before or after. */
        if (i % 3 == 0 && i > 0)
            time = fixture.index.entries[i % fixture.index.count].time + sxt_test_below(&random, 3) - 1;
        run_until(fixture.trace, time, &slow);
        assert_int_equal(
            sxt_heap_states_ask(fixture.trace, fixture.states.data, fixture.states.size, time, &quick, NULL), SXT_OK);
        assert_true(is_same(&slow, &quick));
        sxt_heap_free(&slow);
        sxt_heap_free(&quick);
    }
    drop(&fixture);
}

static uint64_t count_states(const struct fixture *fixture)
{
    return sxt_load_u64le(fixture->states.data + 24);
}

TEST(a_distance_keeps_states_apart)
{
    struct fixture near, far;
    prepare(&near, 5, 60000, 1);
    prepare(&far, 5, 60000, 20000);
    uint64_t count = count_states(&near), fewer = count_states(&far);
    assert_int_equal(count, near.index.count);
    assert_true(fewer >= 2 && fewer <= 3);
    drop(&near);
    drop(&far);
}

TEST(another_trace_has_no_use_for_them)
{
    struct fixture one, other;
    sxt_heap_usage usage;
    prepare(&one, 5, 2000, 1);
    prepare(&other, 6, 2000, 1);
    assert_int_equal(sxt_heap_states_ask(other.trace, one.states.data, one.states.size, HEAP_START + 100, &usage, NULL),
                     SXT_ERROR_NOT_FOUND);
    drop(&other);
    /* As long as the one, and the same but for one address. */
    one.bytes.data[one.bytes.size - 7] ^= 1;
    assert_int_equal(sxt_heap_states_ask(one.trace, one.states.data, one.states.size, HEAP_START + 100, &usage, NULL),
                     SXT_ERROR_NOT_FOUND);
    drop(&one);
}

/* Damage is noticed by checksums; a part that is not asked for may have any. */
TEST(damage_is_noticed)
{
    struct fixture fixture;
    sxt_heap_usage slow, quick;
    uint64_t time = HEAP_START + 30000;
    size_t noticed = 0;
    prepare(&fixture, 7, 30000, 1);
    run_until(fixture.trace, time, &slow);
    for (size_t i = 0; i < fixture.states.size; i += i < 600 ? 1 : 997) {
        fixture.states.data[i] ^= 0x41;
        int status = sxt_heap_states_ask(fixture.trace, fixture.states.data, fixture.states.size, time, &quick, NULL);
        assert_true(status == SXT_OK || status == SXT_ERROR_NOT_FOUND);
        if (status == SXT_OK)
            assert_true(is_same(&slow, &quick));
        noticed += status != SXT_OK;
        if (status == SXT_OK)
            sxt_heap_free(&quick);
        fixture.states.data[i] ^= 0x41;
    }
    assert_true(noticed >= 36);
    for (size_t size = 0; size < fixture.states.size; size += size < 600 ? 1 : 997) {
        int status = sxt_heap_states_ask(fixture.trace, fixture.states.data, size, time, &quick, NULL);
        assert_true(status == SXT_OK || status == SXT_ERROR_NOT_FOUND);
        if (status == SXT_OK)
            sxt_heap_free(&quick);
    }
    sxt_heap_free(&slow);
    drop(&fixture);
}
