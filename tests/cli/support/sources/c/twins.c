/* Functions with the same body, which a linker may fold, and functions that nobody calls, which it may drop. */
#include "chain.h"

__attribute__((noinline)) unsigned first_twin(unsigned value)
{
    return step(value) + 11;
}

__attribute__((noinline)) unsigned second_twin(unsigned value)
{
    return step(value) + 11;
}

unsigned nobody_calls_this(unsigned value)
{
    return step_twice(value) * 5;
}

unsigned nor_this(unsigned value)
{
    unsigned left = value, right = nobody_calls_this(value);
    MIX(left, right);
    return left - right;
}

unsigned twins(unsigned seed)
{
    return first_twin(seed) - second_twin(seed + 1);
}
