/*
 * heap_load.c: a program that does little but allocate: N malloc and N free on some threads, about 15 frames deep, at 8
 * call sites that are reached by 64 paths, with 20,000 live blocks. Half of the blocks are freed immediately.
 *
 *     heap_load N [THREADS]
 *
 * Prints the processor time and the wall time of the process in seconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define ALIVE 20000
#define DEPTH 10

struct work {
    long count;
    uint64_t random;
    void **alive;
};

static volatile int sink;

#define NOINLINE __attribute__((noinline))

#define LEAF(n)                                                                                                        \
    static NOINLINE void *leaf##n(size_t size)                                                                         \
    {                                                                                                                  \
        void *block = malloc(size);                                                                                    \
        sink = n;                                                                                                      \
        return block;                                                                                                  \
    }
LEAF(0)
LEAF(1)
LEAF(2)
LEAF(3)
LEAF(4)
LEAF(5)
LEAF(6)
LEAF(7)

static NOINLINE void *reach(unsigned path, size_t size)
{
    void *block;
    switch (path & 7) {
    case 0:
        block = leaf0(size);
        break;
    case 1:
        block = leaf1(size);
        break;
    case 2:
        block = leaf2(size);
        break;
    case 3:
        block = leaf3(size);
        break;
    case 4:
        block = leaf4(size);
        break;
    case 5:
        block = leaf5(size);
        break;
    case 6:
        block = leaf6(size);
        break;
    default:
        block = leaf7(size);
    }
    sink = 1;
    return block;
}

/* Calling left or right at some depths gives 8 paths to each leaf. */
static NOINLINE void *right(unsigned path, unsigned depth, size_t size);

static NOINLINE void *left(unsigned path, unsigned depth, size_t size)
{
    void *block = depth == 0                                    ? reach(path, size)
                  : depth < 4 && (path >> (2 + depth) & 1) != 0 ? right(path, depth - 1, size)
                                                                : left(path, depth - 1, size);
    sink = 2;
    return block;
}

static NOINLINE void *right(unsigned path, unsigned depth, size_t size)
{
    void *block = depth == 0 ? reach(path, size) : left(path, depth - 1, size);
    sink = 3;
    return block;
}

static void *work(void *data)
{
    struct work *my = data;
    for (long i = 0; i < my->count; i++) {
        my->random = my->random * 6364136223846793005u + 1442695040888963407u;
        unsigned random = (unsigned)(my->random >> 33);
        void *block = left(random & 63, DEPTH, 16 + (random >> 6 & 127) * 16);
        size_t place = random % ALIVE;
        if ((random >> 20 & 1) != 0) {
            free(block);
        } else {
            free(my->alive[place]);
            my->alive[place] = block;
        }
    }
    for (size_t i = 0; i < ALIVE; i++)
        free(my->alive[i]);
    return NULL;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    double start = now();
    long count = argc > 1 ? atol(argv[1]) : 4000000;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t ids[64];
    struct work works[64];
    if (threads < 1 || threads > 64)
        return 2;
    for (int i = 0; i < threads; i++) {
        works[i] = (struct work){count / threads, (uint64_t)i + 1, calloc(ALIVE, sizeof(void *))};
        if (threads == 1)
            work(&works[i]);
        else if (pthread_create(&ids[i], NULL, work, &works[i]) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++) {
        if (threads > 1)
            pthread_join(ids[i], NULL);
        free(works[i].alive);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.6f %.6f\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), now() - start);
    return 0;
}
