/* Calls that are inlined into each other over two headers, and macros that expand to calls. */
#ifndef CHAIN_H
#define CHAIN_H

#include "deep.h"

#define CLAMP(value, low, high) ((value) < (low) ? (low) : (value) > (high) ? (high) : (value))
#define MIX(left, right)                                                                                               \
    do {                                                                                                               \
        (left) = rotate((left), 5) ^ (right);                                                                          \
        (right) += step_twice(left);                                                                                   \
    } while (0)

static inline __attribute__((always_inline)) unsigned rotate(unsigned value, int by)
{
    return value << by | value >> (32 - by);
}

static inline __attribute__((always_inline)) unsigned step(unsigned value)
{
    unsigned result = deepest(value);
    if (result & 1)
        result = rotate(result, 3);
    return result + 1;
}

static inline __attribute__((always_inline)) unsigned step_twice(unsigned value)
{
    return step(value) ^ /* one statement, two lines */
           step(value + 17);
}

unsigned parse(const char *text);
unsigned table_driven(unsigned state, unsigned input);
unsigned clones(unsigned seed);
unsigned cold_paths(unsigned seed, const char *text);
unsigned twins(unsigned seed);
unsigned generated(unsigned seed);
unsigned from_assembler(unsigned seed);
unsigned elsewhere(unsigned value);
unsigned weak_one(unsigned value);
unsigned first_twin(unsigned value);
unsigned second_twin(unsigned value);
unsigned nobody_calls_this(unsigned value);
unsigned nor_this(unsigned value);

#endif
