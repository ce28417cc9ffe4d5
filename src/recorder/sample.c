/*
 * sample.c: a sample of all allocations, by bytes.
 *
 * Each byte has the same probability of selecting its allocation: the distances between selected bytes are those of a
 * Poisson process with the period as its mean. An allocation of SIZE bytes is selected with the probability
 * p = 1 - exp(-SIZE / period), and represents 1 / p allocations. A table has the addresses that were selected, so that
 * only their frees are recorded.
 */
#include "recorder/recorder.h"

#define TABLE_BITS  20
#define PROBES_MOST 64
#define DELETED     ((uintptr_t)1) /* a slot whose address was removed: searches continue past it */

static uintptr_t *table;

bool sxt_sample_make(void)
{
    if (table == NULL)
        table = sxt_map_memory(sizeof *table << TABLE_BITS);
    return table != NULL;
}

static uint64_t next_random(struct writer *writer)
{
    uint64_t x = writer->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* -log(u) for a u evenly spread over (0, 1], without the math library. */
static double exponential(uint64_t random)
{
    uint64_t bits = random >> 11 | 1; /* u * 2^53 */
    int exponent = 63 - __builtin_clzll(bits);
    double m = (double)bits / (double)((uint64_t)1 << exponent); /* 1 <= m < 2 */
    double t = (m - 1) / (m + 1), square = t * t, sum = 0;
    for (int term = 15; term >= 1; term -= 2)
        sum = sum * square + 1.0 / term;
    return (53 - exponent) * 0.69314718055994530942 - 2 * t * sum;
}

bool sxt_sample_take(struct writer *writer, size_t size)
{
    double period = (double)sxt_recording.period;
    if (writer->until_sample == 0)
        writer->until_sample = 1 + (int64_t)(exponential(next_random(writer)) * period);
    int64_t bytes = size < INT64_MAX / 2 ? (int64_t)size : INT64_MAX / 2;
    writer->until_sample -= bytes;
    if (writer->until_sample > 0)
        return false;
    /* The rest of the distance does not matter: a Poisson process has no memory. */
    writer->until_sample = 1 + (int64_t)(exponential(next_random(writer)) * period);
    return true;
}

static size_t place_of(uintptr_t address)
{
    return (size_t)(address * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS));
}

bool sxt_sample_remember(uintptr_t address)
{
    size_t index = place_of(address);
    for (unsigned probe = 0; probe < PROBES_MOST; probe++) {
        uintptr_t *slot = &table[(index + probe) & ((1u << TABLE_BITS) - 1)];
        uintptr_t found = __atomic_load_n(slot, __ATOMIC_RELAXED);
        if (found <= DELETED &&
            __atomic_compare_exchange_n(slot, &found, address, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return true;
    }
    __atomic_fetch_add(&sxt_recording.control->dropped, 1, __ATOMIC_RELAXED);
    return false;
}

bool sxt_sample_forget(uintptr_t address)
{
    size_t index = place_of(address);
    for (unsigned probe = 0; probe < PROBES_MOST; probe++) {
        uintptr_t *slot = &table[(index + probe) & ((1u << TABLE_BITS) - 1)];
        uintptr_t found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (found == 0)
            return false;
        if (found == address) {
            __atomic_store_n(slot, DELETED, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}
