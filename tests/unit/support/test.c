/* test.c: runs the cases of a test file, which register before main() begins; see test.h. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct sxt_test *first;
static void (*file_set_up)(void), (*file_tear_down)(void);

/* Compilers do not promise in which order constructors run; lines have one. */
void sxt_test_add(struct sxt_test *test)
{
    struct sxt_test **place = &first;
    while (*place != NULL && (*place)->line < test->line)
        place = &(*place)->next;
    test->next = *place;
    *place = test;
}

void sxt_test_set_up(void (*set_up)(void))
{
    file_set_up = set_up;
}

void sxt_test_tear_down(void (*tear_down)(void))
{
    file_tear_down = tear_down;
}

static int set_up(void **state)
{
    (void)state;
    if (file_set_up != NULL)
        file_set_up();
    return 0;
}

static void run(void **state)
{
    const struct sxt_test *test = *state;
    test->run();
}

static int tear_down(void **state)
{
    (void)state;
    if (file_tear_down != NULL)
        file_tear_down();
    return 0;
}

int main(void)
{
    size_t count = 0;
    for (struct sxt_test *test = first; test != NULL; test = test->next)
        count++;
    struct CMUnitTest *tests = calloc(count + 1, sizeof *tests);
    if (tests == NULL)
        return EXIT_FAILURE;
    size_t number = 0;
    for (struct sxt_test *test = first; test != NULL; test = test->next)
        tests[number++] = (struct CMUnitTest){test->name, run, set_up, tear_down, test};
    int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    free(tests);
    return failed;
}

void sxt_test_assert_text(sxt_string found, const char *expected)
{
    if (expected == NULL) {
        assert_null(found.data);
        assert_int_equal(found.size, 0);
        return;
    }
    assert_non_null(found.data);
    if (found.size != strlen(expected) || memcmp(found.data, expected, found.size) != 0)
        fail_msg("\"%.*s\" is not \"%s\"", (int)found.size, found.data, expected);
}

double sxt_test_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
