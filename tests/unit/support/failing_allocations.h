/*
 * failing_allocations.h: allocations that fail when a test says so. A test program that includes it is linked with
 * --wrap=malloc and so on, so that the allocations of the library come here.
 */
#ifndef SXT_TESTS_FAILING_ALLOCATIONS_H
#define SXT_TESTS_FAILING_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

/* The number of the allocation that fails, counted from 1; 0 for none. With `from_there_on` all later ones fail too. */
static unsigned long failing, counted;
static bool from_there_on;

static bool fails_now(void)
{
    counted++;
    return failing != 0 && (counted == failing || (from_there_on && counted > failing));
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

#endif
