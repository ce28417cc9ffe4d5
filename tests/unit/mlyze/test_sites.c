/* test_sites.c: sums by stack are the same in small records as in large ones. */
#include "mlyze/sites.h"
#include "support/random.h"
#include "support/test.h"

#define SITES ((uint32_t)(2 * SXT_HEAP_CHUNK + 3))

static uint64_t any(struct sxt_test_random *random)
{
    switch (sxt_test_below(random, 4)) {
    case 0:
        return 0;
    case 1:
        return sxt_test_next(random) & UINT32_MAX;
    default:
        return sxt_test_next(random);
    }
}

/* Only what is derived is not free: freed blocks are unrelated to the others here. */
static sxt_heap_sums any_sums(uint64_t seed)
{
    struct sxt_test_random random = {seed};
    return (sxt_heap_sums){
        .bytes = any(&random),
        .count = any(&random),
        .live_bytes = any(&random),
        .live_count = any(&random),
        .peak_bytes = any(&random),
        .peak_count = any(&random),
        .epoch = any(&random) & UINT32_MAX,
        .freed_bytes = any(&random),
        .freed_count = any(&random),
        .lifetime_sum = any(&random),
        .lifetime_max = any(&random),
        .temporary_bytes = any(&random),
        .temporary_count = any(&random),
        .churned_bytes = any(&random),
        .churned_count = any(&random),
        .leaked_bytes = any(&random),
        .leaked_count = any(&random),
        .before_bytes = any(&random),
        .before_count = any(&random),
    };
}

static void check_costs(const struct sxt_heap_sites *sites, size_t site, const sxt_heap_sums *sums)
{
    for (sxt_heap_cost cost = SXT_HEAP_COST_BYTES; cost <= SXT_HEAP_COST_GROWTH; cost++) {
        assert_int_equal(sxt_heap_sites_bytes(sites, site, cost), sxt_heap_bytes_of(sums, cost));
        assert_int_equal(sxt_heap_sites_count(sites, site, cost), sxt_heap_count_of(sums, cost));
        assert_int_equal(sxt_heap_sites_cost(sites, site, cost), sxt_heap_cost_of(sums, cost));
    }
}

TEST(sums_come_back)
{
    struct sxt_heap_sites sites = {0};
    for (uint32_t i = 0; i < SITES; i++) {
        sxt_heap_sums sums = any_sums(i), nothing = {0}, found;
        assert_int_equal(sxt_heap_sites_add(&sites, i, 0), i);
        sxt_heap_sites_get(&sites, i, &found);
        assert_memory_equal(&found, &nothing, sizeof found);
        if (i % 7 == 0)
            sxt_heap_sites_set(&sites, i, &sums);
    }
    for (uint32_t i = 0; i < SITES; i += 7) {
        sxt_heap_sums sums = any_sums(i), found;
        sxt_heap_sites_get(&sites, i, &found);
        assert_memory_equal(&found, &sums, sizeof found);
        check_costs(&sites, i, &sums);
    }
    /* What is set to zero is zero again, also beside the records. */
    sxt_heap_sums nothing = {0}, found;
    sxt_heap_sites_set(&sites, 7, &nothing);
    sxt_heap_sites_get(&sites, 7, &found);
    assert_memory_equal(&found, &nothing, sizeof found);
    assert_false(sites.no_memory);
    sxt_heap_sites_free(&sites);
}

TEST(a_record_alone_has_what_most_stacks_have)
{
    struct sxt_heap_sites sites = {0};
    uint32_t site = sxt_heap_sites_add(&sites, 5, 0);
    sxt_heap_sites_add_block(&sites, site, 1, 100, 1);
    sxt_heap_sites_add_block(&sites, site, 2, 50, 1);
    sxt_heap_sites_end_block(&sites, site, 3, 100, 1);
    for (unsigned kind = 0; kind < SXT_HEAP_PAIRS; kind++)
        assert_null(sites.beside[0].pairs[kind]);
    assert_null(sites.beside[0].upper);
    sxt_heap_sums sums;
    sxt_heap_sites_get(&sites, site, &sums);
    assert_int_equal(sums.bytes, 150);
    assert_int_equal(sums.live_bytes, 50);
    assert_int_equal(sums.freed_bytes, 100);
    assert_int_equal(sums.freed_count, 1);
    assert_int_equal(sums.peak_bytes, 150);
    sxt_heap_sites_free(&sites);
}

/* Samples count as many blocks, so 32 bits are soon too few. */
TEST(counts_exceed_32_bits)
{
    struct sxt_heap_sites sites = {0};
    struct sxt_test_random random = {3};
    sxt_heap_sums sums = {0}, found;
    uint32_t weights[200];
    uint32_t site = sxt_heap_sites_add(&sites, 5, 0);
    for (unsigned i = 0; i < 400; i++) {
        unsigned at = i % 200;
        if (sums.epoch != i / 3) {
            sums.epoch = i / 3;
            sums.peak_bytes = sums.live_bytes;
            sums.peak_count = sums.live_count;
        }
        if (i < 200) {
            weights[at] = sxt_test_below(&random, 3) == 0 ? 1 : UINT32_MAX - sxt_test_below(&random, 9);
            sxt_heap_sites_add_block(&sites, site, i / 3, 10, weights[at]);
            sums.count += weights[at];
            sums.bytes += 10;
        } else {
            sxt_heap_sites_end_block(&sites, site, i / 3, 10, weights[at]);
            sums.freed_count += weights[at];
            sums.freed_bytes += 10;
        }
        sums.live_count = sums.count - sums.freed_count;
        sums.live_bytes = sums.bytes - sums.freed_bytes;
        sxt_heap_sites_get(&sites, site, &found);
        assert_memory_equal(&found, &sums, sizeof found);
    }
    assert_int_equal(found.live_count, 0);
    sxt_heap_sites_free(&sites);
}

/* After 4 billion peaks their numbers begin again in the records. A site that did not change since has its own. */
TEST(numbers_of_peaks_may_exceed_32_bits)
{
    struct sxt_heap_sites sites = {0};
    uint64_t epoch = UINT32_MAX;
    sxt_heap_sites_add(&sites, 0, 0);
    sxt_heap_sites_add(&sites, 1, 0);
    sxt_heap_sites_add_block(&sites, 0, 0, 10, 1);
    sxt_heap_sites_add_block(&sites, 1, epoch, 30, 1);
    epoch++;
    sxt_heap_sites_restart_epochs(&sites, epoch);
    sxt_heap_sites_end_block(&sites, 0, epoch, 10, 1);
    sxt_heap_sites_end_block(&sites, 1, epoch, 30, 1);
    assert_int_equal(sxt_heap_sites_bytes(&sites, 0, SXT_HEAP_COST_PEAK), 10);
    assert_int_equal(sxt_heap_sites_bytes(&sites, 1, SXT_HEAP_COST_PEAK), 30);
    sxt_heap_sites_free(&sites);
}
