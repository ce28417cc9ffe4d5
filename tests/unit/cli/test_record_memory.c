/* test_record_memory.c: how much memory a process has, seen from outside. Here it is this process. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/recording.h"
#include "support/test.h"

#define PART ((size_t)24 << 20)

static struct memory_watch watch;

/* Looks now, whatever the time. */
static void look(void)
{
    watch.next = 0;
    cli_memory_look(&watch, getpid());
}

static void *map_more(void)
{
    void *memory = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, PART);
    return memory;
}

SET_UP()
{
    memset(&watch, 0, sizeof watch);
    cli_memory_begin(&watch);
}

TEST(sees_memory_that_grows_late)
{
    watch.began -= 1000; /* seconds */
    look();
    uint64_t before = watch.most;
    void *memory = map_more();
    look();
    assert_true(watch.most >= before + PART);
    munmap(memory, PART);
    look();
    assert_true(watch.most >= before + PART);
}

TEST(looks_often_and_more_often_while_memory_grows)
{
    watch.began -= 1000;
    look();
    look();
    double pause = watch.next - cli_seconds_now();
    assert_true(pause <= 0.02);
    watch.last_kb /= 2;
    look();
    assert_true(watch.next - cli_seconds_now() < 0.005);
}

TEST(knows_that_there_was_more)
{
    void *memory = map_more();
    look();
    cli_memory_end(&watch, watch.rss_kb);
    assert_false(watch.has_missed);
    cli_memory_end(&watch, watch.rss_kb + watch.most / 1024);
    assert_true(watch.has_missed);
    munmap(memory, PART);
}

TEST(begins_again_with_another_program)
{
    look();
    watch.hwm_kb = watch.counter_kb = UINT32_MAX; /* kB: of the program before */
    watch.most = UINT64_MAX;
    void *memory = map_more();
    look();
    assert_true(watch.most >= PART && watch.most < UINT32_MAX * UINT64_C(1024));
    munmap(memory, PART);
}
