/* The program itself: recursion, a nested function, function pointers, and calls of everything else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"

typedef unsigned (*operation)(unsigned);

static unsigned recursive(unsigned depth, unsigned value)
{
    if (depth == 0)
        return step(value);
    unsigned mixed = depth;
    MIX(value, mixed);
    return recursive(depth / 2, value) + mixed;
}

static int compare(const void *left, const void *right)
{
    unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
    return a < b ? -1 : a > b;
}

#ifndef __clang__
static unsigned with_nested_function(unsigned count)
{
    unsigned total = 0;
    __attribute__((noinline)) void add(unsigned value)
    {
        total += rotate(value, 7);
        if (total > 1000000)
            total = CLAMP(total, 10, 1000);
    }
    for (unsigned index = 0; index < count; index++)
        add(index);
    return total;
}
#else
static unsigned with_nested_function(unsigned count)
{
    return count;
}
#endif

static unsigned unrolled(const unsigned *numbers, size_t count)
{
    unsigned sum = 0;
    for (size_t index = 0; index < count; index++) {
        unsigned value = numbers[index];
        value = step_twice(value);
        sum += CLAMP(value, 3u, 300u);
    }
    return sum;
}

static const operation operations[] = {clones, twins, generated, from_assembler};

__attribute__((section(".text.elsewhere"), noinline)) unsigned elsewhere(unsigned value)
{
    return step(value) * 3;
}

__attribute__((weak)) unsigned weak_one(unsigned value)
{
    return value + 1;
}

unsigned other_name(unsigned value) __attribute__((alias("weak_one")));

int main(int argc, char **argv)
{
    unsigned numbers[64];
    const char *text = argc > 1 ? argv[1] : "12+(3*4)";
    for (size_t index = 0; index < sizeof numbers / sizeof *numbers; index++)
        numbers[index] = recursive((unsigned)index, (unsigned)argc);
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
    unsigned result = unrolled(numbers, sizeof numbers / sizeof *numbers);
    for (size_t index = 0; index < sizeof operations / sizeof *operations; index++)
        result ^= operations[index](result);
    result += parse(text) + table_driven(result, (unsigned)strlen(text)) + cold_paths(result, text);
    result += with_nested_function(result & 31) + elsewhere(result) + other_name(result);
    printf("%u\n", result);
    return EXIT_SUCCESS;
}
