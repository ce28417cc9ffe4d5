/* Functions that optimisers copy and cut: known arguments, unused parts of arguments, an early exit before a body. */
#include "chain.h"

struct wide {
    unsigned used, unused[15];
};

static volatile unsigned sink;

static __attribute__((noinline)) unsigned known_argument(unsigned value, int mode)
{
    unsigned result = value;
    for (unsigned index = 0; index < 8; index++) {
        if (mode == 3)
            result = step(result);
        else if (mode == 4)
            result += sink;
        else
            result ^= index;
    }
    return result;
}

static __attribute__((noinline)) unsigned part_of_argument(const struct wide *wide)
{
    sink += wide->used;
    return rotate(wide->used, 9);
}

static unsigned early_exit(unsigned value)
{
    if (__builtin_expect(value < 1000, 1))
        return value;
    for (unsigned index = 0; index < value % 1000; index++) {
        sink += step_twice(index);
        sink ^= rotate(sink, 2);
        if (sink == 12345)
            sink = step(sink) + step_twice(sink);
    }
    return sink;
}

static __attribute__((noinline)) unsigned even(unsigned value);

static __attribute__((noinline)) unsigned odd(unsigned value)
{
    return value == 0 ? 0 : even(value - 1) + 1;
}

static __attribute__((noinline)) unsigned even(unsigned value)
{
    return value == 0 ? 1 : odd(value - 1) + 1;
}

unsigned clones(unsigned seed)
{
    struct wide wide = {.used = seed};
    unsigned result = known_argument(seed, 3) + known_argument(seed + 1, 3) + part_of_argument(&wide);
    result += early_exit(seed) + early_exit(result) + early_exit(seed ^ result);
    return result + odd(seed & 7) + even(result & 7);
}
