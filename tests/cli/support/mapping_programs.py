"""C programs that change what is mapped, for test_record_mmap.py."""

# Random calls on an arena of pages. At each marker, the program prints how many bytes are accessible in it: what its own
# model says and what the kernel says (/proc/self/maps).
RANDOM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sextant/heap.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PAGES = 192, PAGE = 4096 };
enum state { NOTHING, RESERVED, MEMORY, FROM_FILE };

static char *arena;
static unsigned char pages[PAGES];
static uint64_t seed;
static int file;

static unsigned pick(unsigned limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % limit;
}

static char *at(unsigned page) { return arena + (size_t)page * PAGE; }
static void set(unsigned first, unsigned count, enum state state) { memset(pages + first, state, count); }

static int is_all(unsigned first, unsigned count, int state)
{
    for (unsigned i = first; i < first + count; i++)
        if (state < 0 ? pages[i] == NOTHING : pages[i] != state)
            return 0;
    return 1;
}

static void map(unsigned first, unsigned count, enum state state)
{
    int protection = state == RESERVED ? PROT_NONE : pick(4) == 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    int how = pick(5) == 0 ? MAP_SHARED : MAP_PRIVATE;
    int odd = pick(3) == 0 ? 17 : 0; /* sizes need not be whole pages */
    void *got = mmap(at(first), (size_t)count * PAGE - odd, protection,
                     MAP_FIXED | (state == FROM_FILE ? MAP_PRIVATE : how | MAP_ANONYMOUS),
                     state == FROM_FILE ? file : -1, 0);
    if (got != MAP_FAILED)
        set(first, count, state);
}

static void move(unsigned first, unsigned count, unsigned to, unsigned size)
{
    unsigned char before[PAGES];
    memcpy(before, pages, sizeof before);
    int is_copy = size == count && pick(3) == 0 ? MREMAP_DONTUNMAP : 0;
    if (to < first + count && first < to + size)
        return;
    void *got = mremap(at(first), (size_t)count * PAGE, (size_t)size * PAGE,
                       MREMAP_MAYMOVE | MREMAP_FIXED | is_copy, at(to));
    if (got == MAP_FAILED) { /* the kernel may have unmapped the target all the same */
        map(to, size, RESERVED);
        return;
    }
    if (!is_copy)
        set(first, count, NOTHING);
    for (unsigned i = 0; i < size; i++)
        pages[to + i] = before[first + (i < count ? i : count - 1)];
}

static void step(void)
{
    unsigned first = pick(PAGES), count = 1 + pick(PAGES - first < 24 ? PAGES - first : 24), size;
    switch (pick(8)) {
    case 0:
    case 1:
        map(first, count, pick(3) == 0 ? RESERVED : MEMORY);
        break;
    case 2:
        map(first, count, FROM_FILE);
        break;
    case 3:
        if (munmap(at(first), (size_t)count * PAGE) == 0)
            set(first, count, NOTHING);
        break;
    case 4: /* of parts, and of several mappings at once */
        if (!is_all(first, count, RESERVED) && !is_all(first, count, MEMORY))
            count = 1;
        if (is_all(first, count, RESERVED) && mprotect(at(first), (size_t)count * PAGE, PROT_READ | PROT_WRITE) == 0)
            set(first, count, MEMORY);
        else if (is_all(first, count, MEMORY) && mprotect(at(first), (size_t)count * PAGE, PROT_NONE) == 0)
            set(first, count, RESERVED);
        break;
    case 5: /* in place, if that is possible */
        size = 1 + pick(PAGES - first < 24 ? PAGES - first : 24);
        if (!is_all(first, count, MEMORY) && !is_all(first, count, RESERVED))
            count = 1;
        if (pages[first] != NOTHING && mremap(at(first), (size_t)count * PAGE, (size_t)size * PAGE, 0) != MAP_FAILED) {
            for (unsigned i = count; i < size; i++)
                pages[first + i] = pages[first + count - 1];
            for (unsigned i = size; i < count; i++)
                pages[first + i] = NOTHING;
        }
        break;
    case 6: {
        unsigned to = pick(PAGES);
        size = 1 + pick(PAGES - to < 24 ? PAGES - to : 24);
        if (is_all(first, count, MEMORY) || is_all(first, count, RESERVED) || is_all(first, count, FROM_FILE))
            move(first, count, to, pick(2) == 0 && count <= PAGES - to ? count : size);
        break;
    }
    case 7: {
        void *got = mmap(at(first), (size_t)count * PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == at(first))
            set(first, count, MEMORY);
        else if (got != MAP_FAILED) /* a kernel that does not know the flag */
            munmap(got, (size_t)count * PAGE);
        break;
    }
    }
}

/* From the arena, what the kernel says. */
static size_t mapped_memory(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], flags[8];
    size_t sum = 0;
    unsigned long start, end, inode;
    while (fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, flags, &inode) == 4 &&
            (inode == 0 || strstr(line, "/dev/zero")) &&
            strncmp(flags, "---", 3) != 0) {
            unsigned long low = start > (unsigned long)arena ? start : (unsigned long)arena;
            unsigned long high = end < (unsigned long)at(PAGES) ? end : (unsigned long)at(PAGES);
            sum += low < high ? high - low : 0;
        }
    fclose(maps);
    return sum;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, malloc(1 << 16), _IOFBF, 1 << 16);
    seed = (uint64_t)atoi(argv[1]);
    int steps = atoi(argv[2]);
    (void)argc;
    file = open("/proc/self/exe", O_RDONLY);
    /* Far below other mappings, so that the kernel gives the holes in it to nobody else. */
    arena = mmap((void *)0x100000000000, (size_t)(PAGES + 64) * PAGE, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena += 16 * PAGE; /* nothing grows into or out of the arena: there are pages on both sides */
    set(0, PAGES, RESERVED);
    printf("%p %d\n", (void *)arena, PAGES * PAGE);
    for (int i = 0; i < steps; i++) {
        step();
        if (i % 50 == 49) {
            size_t sum = 0;
            for (unsigned k = 0; k < PAGES; k++)
                sum += pages[k] == MEMORY ? PAGE : 0;
            char name[32];
            snprintf(name, sizeof name, "step %d", i + 1);
            size_t truth = mapped_memory();
            sextant_mark(name);
            printf("%s;%zu;%zu\n", name, sum, truth);
        }
    }
    return 0;
}
"""

# One case after another, each with a marker that names it.
CASES = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sextant/heap.h>

#define MB ((size_t)1 << 20)
enum { RW = PROT_READ | PROT_WRITE, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS };

static char *map(size_t size, int protection) { return mmap(NULL, size, protection, ANONYMOUS | MAP_NORESERVE, -1, 0); }

int main(void)
{
    char *trimmed = map(800 * MB, RW); /* trimmed */
    munmap(trimmed, 200 * MB);
    munmap(trimmed + 600 * MB, 200 * MB);
    sextant_mark("trimmed");                       /* 400 */
    munmap(trimmed + 300 * MB, 100 * MB);
    sextant_mark("hole");                          /* 300 */
    munmap(trimmed + 200 * MB, 400 * MB);
    sextant_mark("nothing");                       /* 0 */

    char *reserved = map(1000 * MB, PROT_NONE); /* reserved */
    sextant_mark("reserved");                      /* 0 */
    mprotect(reserved + 10 * MB, 20 * MB, RW); /* committed */
    sextant_mark("committed");                     /* 20 */
    mprotect(reserved, 40 * MB, PROT_READ); /* more */
    sextant_mark("more");                          /* 40 */
    mprotect(reserved + 5 * MB, 5 * MB, PROT_NONE);
    sextant_mark("less");                          /* 35 */
    mmap(reserved + 20 * MB, 10 * MB, PROT_NONE, ANONYMOUS | MAP_FIXED, -1, 0);
    sextant_mark("replaced");                      /* 25 */
    munmap(reserved, 1000 * MB);
    sextant_mark("released");                      /* 0 */

    char *several[3];
    char *room = map(30 * MB, PROT_NONE);
    for (int i = 0; i < 3; i++)
        several[i] = mmap(room + 10 * i * MB, 10 * MB, RW, ANONYMOUS | MAP_FIXED, -1, 0);
    sextant_mark("several");                       /* 30 */
    munmap(several[0] + 5 * MB, 20 * MB);
    sextant_mark("span");                          /* 10 */
    munmap(room, 30 * MB);

    char *moving = map(4 * MB, RW);
    moving = mremap(moving, 4 * MB, 64 * MB, MREMAP_MAYMOVE);
    sextant_mark("grown");                         /* 64 */
    moving = mremap(moving, 64 * MB, 3 * MB, 0);
    sextant_mark("shrunk");                        /* 3 */
    char *target = map(8 * MB, RW);
    moving = mremap(moving, 3 * MB, 4 * MB, MREMAP_MAYMOVE | MREMAP_FIXED, target + 2 * MB);
    sextant_mark("fixed");                         /* 8 */
    munmap(target, 8 * MB);
    sextant_mark("end");                           /* 0 */

    char *before = sbrk(0);
    sbrk(3 * MB);
    sextant_mark("break");                         /* 3 */
    sbrk(-(intptr_t)MB);
    sextant_mark("lower break");                   /* 2 */
    if (brk(before) != 0)
        return 2;
    sextant_mark("first break");                   /* 0 */
    return 0;
}
"""

# Threads that map, move and unmap, each in turns that the others do not wait for.
THREADS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ROUNDS = 3000, PAGE = 4096 };

static void *work(void *context)
{
    unsigned seed = (unsigned)(size_t)context;
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = (1 + rand_r(&seed) % 8) * PAGE, more = (1 + rand_r(&seed) % 8) * PAGE;
        char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        block = mremap(block, size, more, MREMAP_MAYMOVE);
        munmap(block, more);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    mmap(NULL, 7 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* kept */
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""
