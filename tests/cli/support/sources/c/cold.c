/* Paths that are seldom taken, which compilers move out of the way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"

static __attribute__((cold, noinline)) void complain(const char *what, unsigned number)
{
    fprintf(stderr, "%s %u\n", what, number);
}

static __attribute__((noreturn)) void give_up(const char *why)
{
    fputs(why, stderr);
    abort();
}

static inline unsigned checked(unsigned value, unsigned limit)
{
    if (__builtin_expect(value > limit, 0)) {
        complain("too much", step(value));
        if (value == 0xffffffff)
            give_up("overflow");
    }
    return value;
}

unsigned cold_paths(unsigned seed, const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    if (!copy)
        give_up("memory");
    strcpy(copy, text);
    unsigned sum = 0;
    for (char *at = copy; *at; at++) {
        sum += checked((unsigned char)*at, 127);
        if (__builtin_expect(*at == '\n', 0)) {
            complain("line", sum);
            sum = rotate(sum, 1);
        }
    }
    free(copy);
    return checked(sum ^ seed, 0xfffffffe);
}
