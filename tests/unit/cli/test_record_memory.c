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

static uint64_t memory_of(const char *text)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    uint64_t size = cli_memory_of(file);
    fclose(file);
    return size;
}

#define MAPPING(range, inode, name, size, flags)                                                                       \
    range " 00000000 00:00 " inode " " name "\nSize: 9 kB\nAnonymous: " size " kB\nVmFlags: rd wr" flags "\n"

TEST(counts_what_an_allocator_may_have)
{
    assert_int_equal(memory_of(""), 0);
    assert_int_equal(memory_of(MAPPING("1000-2000 rw-p", "77", "/bin/x", "100", "")
                                   MAPPING("2000-9000 rw-p", "0", "", "200", "") /* static data */
                               MAPPING("a000-b000 rw-p", "0", "[heap]", "1000", "")
                                   MAPPING("c000-d000 rw-p", "0", "", "50", "")
                                       MAPPING("e000-f000 rw-p", "0", "", "70", " nr nh") /* of the recorder */
                               MAPPING("10000-11000 rw-p", "0", "[stack]", "9", "")),
                     1050);
}

TEST(counts_a_mapping_that_grows_meanwhile_once)
{
    assert_int_equal(memory_of(MAPPING("a000-b000 rw-p", "0", "[heap]", "1000", "")
                                   MAPPING("a000-c000 rw-p", "0", "[heap]", "1700", "")
                                       MAPPING("a000-d000 rw-p", "0", "[heap]", "2500", "")
                                           MAPPING("f000-ff000 rw-p", "0", "", "30", "")),
                     2530);
}
