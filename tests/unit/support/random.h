/* random.h: numbers that look random. The same series on every machine. */
#ifndef SXT_TESTS_RANDOM_H
#define SXT_TESTS_RANDOM_H

#include <stdint.h>

/* `state` is the seed. */
struct sxt_test_random {
    uint64_t state;
};

static inline uint64_t sxt_test_next(struct sxt_test_random *random)
{
    uint64_t value = random->state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* From 0 to BOUND - 1. */
static inline uint32_t sxt_test_below(struct sxt_test_random *random, uint32_t bound)
{
    return (uint32_t)((sxt_test_next(random) >> 32) * bound >> 32);
}

#endif
