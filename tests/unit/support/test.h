/*
 * test.h: all that a unit test needs of cmocka. A test file is a list of cases, which run in the order of the file:
 *
 *     #include "support/test.h"
 *
 *     TEST(rejects_a_cut_stream)
 *     {
 *         assert_int_equal(sxt_varint_decode(bytes, 1, &value), 0);
 *     }
 *
 * SET_UP() { ... } runs before each case of the file, and TEAR_DOWN() { ... } after it, even if the case failed. Both
 * may be left out. What they make is in static variables of the file. The function main() is in test.c.
 */
#ifndef SXT_TESTS_TEST_H
#define SXT_TESTS_TEST_H

/* cmocka.h needs these, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sextant/string.h>

/* A case of the test file. */
struct sxt_test {
    const char *name;
    void (*run)(void);
    int line;
    struct sxt_test *next;
};

void sxt_test_add(struct sxt_test *test);
void sxt_test_set_up(void (*set_up)(void));
void sxt_test_tear_down(void (*tear_down)(void));

#define TEST(name)                                                                                                     \
    static void name(void);                                                                                            \
    __attribute__((constructor)) static void add_##name(void)                                                          \
    {                                                                                                                  \
        static struct sxt_test test = {#name, name, __LINE__, NULL};                                                   \
        sxt_test_add(&test);                                                                                           \
    }                                                                                                                  \
    static void name(void)

#define SET_UP()                                                                                                       \
    static void set_up(void);                                                                                          \
    __attribute__((constructor)) static void add_set_up(void)                                                          \
    {                                                                                                                  \
        sxt_test_set_up(set_up);                                                                                       \
    }                                                                                                                  \
    static void set_up(void)

#define TEAR_DOWN()                                                                                                    \
    static void tear_down(void);                                                                                       \
    __attribute__((constructor)) static void add_tear_down(void)                                                       \
    {                                                                                                                  \
        sxt_test_tear_down(tear_down);                                                                                 \
    }                                                                                                                  \
    static void tear_down(void)

/* EXPECTED is NULL for an absent string. */
void sxt_test_assert_text(sxt_string found, const char *expected);

/* Processor time of this process so far. */
double sxt_test_seconds(void);

#endif
