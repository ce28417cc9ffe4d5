/* huge_allocations.h: for tests of allocations that are too large to succeed. */
#ifndef SXT_TESTS_HUGE_ALLOCATIONS_H
#define SXT_TESTS_HUGE_ALLOCATIONS_H

#define HUGE_SIZE (SIZE_MAX / 2 + 1) /* more than any object can have */

/* Sanitizers end the program at an allocation that is too large, unless an option says that NULL is an answer. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

#endif
