/*
 * store_calls.h: stops before any call of the store, as a killed process would, or does something else at that moment.
 * Only for tests in the list store_call_tests, whose calls of the store from other rooms come here first.
 */
#ifndef SXT_TESTS_STORE_CALLS_H
#define SXT_TESTS_STORE_CALLS_H

#include <unistd.h>

#include "store/store.h"

/* The process ends before this call; 0: never. */
static long sxt_test_last_call;
static long sxt_test_calls;

/* Called once, before or after the next commit, if they are set. */
static void (*sxt_test_before_commit)(void);
static void (*sxt_test_after_commit)(void);

static void sxt_test_call_once(void (**function)(void))
{
    void (*call)(void) = *function;
    *function = NULL;
    if (call != NULL)
        call();
}

static void sxt_test_count_call(void)
{
    if (++sxt_test_calls == sxt_test_last_call)
        _exit(0);
}

#define SXT_TEST_WRAP(name, parameters, arguments)                                                                     \
    int __real_##name parameters;                                                                                      \
    int __wrap_##name parameters;                                                                                      \
    int __wrap_##name parameters                                                                                       \
    {                                                                                                                  \
        sxt_test_count_call();                                                                                         \
        return __real_##name arguments;                                                                                \
    }

/* The names with two underscores are the linker's. */
SXT_TEST_WRAP(sxt_store_put,
              (struct sxt_store * store, const char *key, const void *data, size_t size, sxt_error *error),
              (store, key, data, size, error))
SXT_TEST_WRAP(sxt_store_remove, (struct sxt_store * store, const char *key, sxt_error *error), (store, key, error))
SXT_TEST_WRAP(sxt_store_write_begin, (struct sxt_store * store, struct sxt_store_writing **out, sxt_error *error),
              (store, out, error))
SXT_TEST_WRAP(sxt_store_open_object,
              (struct sxt_store * store, const char *key, struct sxt_store_object **out, sxt_error *error),
              (store, key, out, error))
SXT_TEST_WRAP(sxt_store_get,
              (struct sxt_store * store, const char *key, size_t limit, char **data, size_t *size, sxt_error *error),
              (store, key, limit, data, size, error))
SXT_TEST_WRAP(sxt_store_list,
              (struct sxt_store * store, const char *prefix, sxt_store_visit *visit, void *data, sxt_error *error),
              (store, prefix, visit, data, error))

int __real_sxt_store_write_commit(struct sxt_store_writing **writing, const char *key, sxt_error *error);
int __wrap_sxt_store_write_commit(struct sxt_store_writing **writing, const char *key, sxt_error *error);
int __wrap_sxt_store_write_commit(struct sxt_store_writing **writing, const char *key, sxt_error *error)
{
    sxt_test_count_call();
    sxt_test_call_once(&sxt_test_before_commit);
    int status = __real_sxt_store_write_commit(writing, key, error);
    sxt_test_call_once(&sxt_test_after_commit);
    return status;
}

#endif
