/*
 * heap_stacks.c: a program that allocates from many stacks, as a program with a graphical interface does: each is about
 * 35 frames deep, most of them share their outer frames, and some are used much more often than others.
 *
 *     heap_stacks N STACKS
 *
 * Makes N malloc and N free calls, from at most STACKS stacks, with 20,000 live blocks; each stack is used at least
 * once if N is large enough. Prints the processor time and the wall time of the process in seconds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define ALIVE    20000
#define COMMON   10 /* frames that all stacks begin with */
#define LEVELS   8  /* of three bits of the number of a stack each */
#define NOINLINE __attribute__((noinline))

static volatile int sink;

struct way {
    uint32_t number; /* of the stack */
    unsigned level;
    size_t size;
};

typedef void *function(struct way *way);
static function *const functions[];

/* The next function, by three bits of the number; three frames for each level. */
static NOINLINE void *go_on(struct way *way, unsigned salt)
{
    unsigned step = way->level++;
    if (step >= COMMON + 3 * LEVELS) {
        void *block = malloc(way->size);
        sink = (int)step;
        return block;
    }
    unsigned bits = step < COMMON ? 0 : way->number >> 3 * (LEVELS - 1 - (step - COMMON) / 3) & 7;
    void *block = functions[(step * 5 + bits * 3 + salt) % 32](way);
    sink = (int)salt;
    return block;
}

/* Calls from four lines. */
#define FUNCTION(n)                                                                                                    \
    static NOINLINE void *function##n(struct way *way)                                                                 \
    {                                                                                                                  \
        void *block;                                                                                                   \
        if ((way->level * 7 + n) % 2 == 0)                                                                             \
            block = go_on(way, n % 3);                                                                                 \
        else                                                                                                           \
            block = go_on(way, n % 3);                                                                                 \
        sink = n;                                                                                                      \
        return block;                                                                                                  \
    }
FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)
FUNCTION(6)
FUNCTION(7)
FUNCTION(8)
FUNCTION(9)
FUNCTION(10)
FUNCTION(11)
FUNCTION(12)
FUNCTION(13)
FUNCTION(14)
FUNCTION(15)
FUNCTION(16)
FUNCTION(17)
FUNCTION(18)
FUNCTION(19)
FUNCTION(20)
FUNCTION(21)
FUNCTION(22)
FUNCTION(23)
FUNCTION(24)
FUNCTION(25)
FUNCTION(26)
FUNCTION(27)
FUNCTION(28)
FUNCTION(29)
FUNCTION(30)
FUNCTION(31)

static function *const functions[] = {
    function0,  function1,  function2,  function3,  function4,  function5,  function6,  function7,
    function8,  function9,  function10, function11, function12, function13, function14, function15,
    function16, function17, function18, function19, function20, function21, function22, function23,
    function24, function25, function26, function27, function28, function29, function30, function31,
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000000;
    uint32_t stacks = argc > 2 ? (uint32_t)atol(argv[2]) : 35000;
    static void *alive[ALIVE];
    uint64_t random = 1;
    double start = seconds(CLOCK_MONOTONIC);
    for (long i = 0; i < count; i++) {
        /* Every eighth allocation takes the next stack in turn; the others prefer low numbers. */
        uint32_t number = i % 8 == 0 ? (uint32_t)(i / 8 % stacks)
                                     : (uint32_t)(next_random(&random) % (1 + next_random(&random) % stacks));
        struct way way = {.number = number, .size = 16 + next_random(&random) % 512};
        uint64_t place = next_random(&random) % ALIVE;
        free(alive[place]);
        alive[place] = go_on(&way, 0);
    }
    for (int i = 0; i < ALIVE; i++)
        free(alive[i]);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.6f %.6f\n", seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_MONOTONIC) - start);
    return 0;
}
