"""Programs whose allocations are known exactly, and a reader of what was recorded of them.

Every program allocates at lines that are marked /* name */; `Recorded` finds the events of a line by that name. What the C
library allocates for itself (buffers of stdio) is not counted: the programs print nothing through it.
"""

import collections
import json
import re

from . import mlyze_writer, samples

FAMILY = r"""
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept[64];
static volatile size_t huge = SIZE_MAX / 2;

int main(void)
{
    kept[0] = malloc(100);            /* malloc */
    kept[1] = calloc(7, 11);          /* calloc */
    kept[2] = calloc(huge, 4);        /* calloc overflow */
    kept[3] = malloc(huge);           /* malloc failing */
    kept[4] = malloc(0);              /* malloc zero */
    free(NULL);
    kept[5] = realloc(NULL, 50);      /* realloc of nothing */
    kept[5] = realloc(kept[5], 52);   /* realloc in place */
    kept[6] = malloc(24);             /* after it */
    kept[5] = realloc(kept[5], 90000); /* realloc moving */
    kept[7] = malloc(33);             /* freed by realloc */
    kept[7] = realloc(kept[7], 0);    /* realloc to nothing */
    kept[8] = malloc(34);             /* survives */
    if (realloc(kept[8], huge) != NULL) /* realloc failing */
        return 1;
    kept[9] = reallocarray(NULL, 3, 5);  /* reallocarray */
    kept[10] = reallocarray(kept[9], huge, 8); /* reallocarray overflow */
    void *block = NULL;
    if (posix_memalign(&block, 4096, 200) != 0) /* posix_memalign */
        return 2;
    kept[11] = block;
    if (posix_memalign(&block, 3, 200) != EINVAL) /* posix_memalign failing */
        return 3;
    kept[12] = aligned_alloc(64, 128); /* aligned_alloc */
    kept[13] = memalign(256, 10);      /* memalign */
    kept[14] = valloc(300);            /* valloc */
    kept[15] = pvalloc(5);             /* pvalloc */
    for (int i = 0; i < 64; i++)
        if (i != 8 && i != 9)
            free(kept[i]);
    if (((uintptr_t)kept[11] & 4095) != 0 || ((uintptr_t)kept[13] & 255) != 0 || errno == 0)
        return 4;
    return 0;
}
"""

THREADS = r"""
#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 5000

/* A block goes from the thread that allocates it to any other that has time for it. */
static void *volatile slots[THREADS];

static void take(long number)
{
    void *block = slots[number % THREADS];
    if (block != NULL && __sync_bool_compare_and_swap(&slots[number % THREADS], block, NULL))
        free(block);
}

static void *work(void *argument)
{
    long self = (long)argument;
    for (int i = 0; i < ROUNDS; i++) {
        void *block = malloc((size_t)self + 1); /* in threads */
        for (long other = 1; !__sync_bool_compare_and_swap(&slots[self], NULL, block); other++)
            take(self + other);
        take(self + THREADS - 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        free(slots[i]);
    return 0;
}
"""

LEAKS = r"""
#include <stdlib.h>

static void *volatile sink;

static __attribute__((noinline)) void inner(int size)
{
    sink = malloc((size_t)size);      /* leak */
    sink = NULL;
}

static __attribute__((noinline)) void outer(int size)
{
    inner(size);
    sink = NULL;
}

int main(void)
{
    for (int i = 1; i <= 10; i++)
        outer(i);
    sink = malloc(1000);              /* no leak */
    free(sink);
    return 0;
}
"""

# An allocator that a program or a library has linked in; it never gives memory back.
ALLOCATOR = r"""
#include <stddef.h>

static _Alignas(16) char room[1 << 22];
static size_t used;

void *malloc(size_t size)
{
    char *block = room + used;
    used += (size + 15) / 16 * 16;
    return block;
}
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void free(void *block) { (void)block; }
"""

# Compiled without PIE, the code that loads the address of malloc makes the linker give malloc a PLT entry as its address.
ADDRESS_OF_MALLOC = r"""
#include <stdlib.h>

static void *volatile kept[2];

int main(void)
{
    void *(*allocate)(size_t);
    kept[0] = malloc(11);      /* called */
    allocate = malloc;
    __asm__("" : "+r"(allocate));
    kept[1] = allocate(22);    /* by address */
    free(kept[0]);
    free(kept[1]);
    return 0;
}
"""

FORKING = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

int main(void)
{
    sink = malloc(11);                /* before */
    pid_t child = fork();
    if (child == 0) {
        sink = malloc(22);            /* in the child */
        free(sink);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sink = malloc(33);                /* after */
    return 0;
}
"""

MANY_SHORT_THREADS = r"""
#include <pthread.h>
#include <stdlib.h>

static void *work(void *argument)
{
    void *volatile block = malloc((size_t)(long)argument); /* short */
    free(block);
    return NULL;
}

int main(void)
{
    for (long i = 1; i <= 500; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void *)i);
        pthread_join(thread, NULL);
    }
    return 0;
}
"""

CLOSES_DESCRIPTORS = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

int main(int argc, char **argv)
{
    for (int fd = 3; fd < 5000; fd++)
        close(fd);
    /* Whatever number the recorder had is now a file of the program's own. */
    int last = 0;
    for (int i = 0; i < 1010; i++)
        last = open(argv[argc - 1], O_RDWR);
    (void)last;
    for (int i = 0; i < 60000; i++) {
        sink = malloc(16);            /* many */
        free(sink);
    }
    return 0;
}
"""

COROUTINES = r"""
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t back, there;
static void *volatile sink;

static __attribute__((noinline)) void on_other_stack(void)
{
    sink = malloc(77);                /* on another stack */
    free(sink);
}

static void entry(void)
{
    for (;;) {
        on_other_stack();
        swapcontext(&there, &back);
    }
}

int main(void)
{
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack + 32768, 32768, PROT_NONE);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = 32768;
    makecontext(&there, entry, 0);
    for (int i = 0; i < 100; i++)
        swapcontext(&back, &there);
    return 0;
}
"""

CALLERS = r"""
#include <stdlib.h>

static void *volatile sink;
static volatile int which; /* keeps the two from being one for the compiler */

static __attribute__((noinline)) void inner(void)
{
    sink = malloc(3);                 /* by two ways */
    free(sink);
}
static __attribute__((noinline)) void middle(void)
{
    inner();
    sink = NULL;
}
static __attribute__((noinline)) void first(void)
{
    middle();
    which = 1;
}
static __attribute__((noinline)) void second(void)
{
    middle();
    which = 2;
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        first();
        second();
    }
    return 0;
}
"""

# Code that the tables for exceptions know nothing of, with a frame pointer that leads nowhere.
NO_RULES = r"""
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t back, there;
static void *volatile sink;
char *nowhere;
void odd(void);

__attribute__((used, noinline)) void allocate(void)
{
    sink = malloc(88);                /* below odd code */
    free(sink);
}

__asm__(".text\n.globl odd\n.type odd, @function\n"
        "odd: push %rbp\n mov nowhere@GOTPCREL(%rip), %rbp\n mov (%rbp), %rbp\n call allocate\n pop %rbp\n ret\n"
        ".size odd, .-odd\n");

int main(void)
{
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack + 32768, 32768, PROT_NONE);
    nowhere = stack + 32768 + 64;
    odd();
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = 32768;
    there.uc_link = &back;
    makecontext(&there, odd, 0);
    swapcontext(&back, &there);
    for (long value = -1; value < 20; value++) {
        nowhere = (char *)value;
        odd();
    }
    return 0;
}
"""

SIGNALS = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void *volatile sink;

static void handler(int number)
{
    (void)number;
    sink = malloc(55);                /* in a handler */
    free(sink);
}

static __attribute__((noinline)) void interrupted(void)
{
    raise(SIGUSR2);
    sink = NULL;
}

int main(void)
{
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGUSR2, &action, NULL);
    interrupted();
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    interrupted();
    return 0;
}
"""

MODULES = r"""
#include <dlfcn.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 1; i < argc; i++) {
            void *library = dlopen(argv[i], RTLD_NOW);
            void (*run)(void) = (void (*)(void))dlsym(library, "run");
            run();
            dlclose(library);
        }
    }
    return 0;
}
"""

LIBRARY = r"""
#include <stdlib.h>
static void *volatile sink;
#if PADDING
static __attribute__((noinline, used)) int padding(int x)
{
    volatile int y[100];
    for (int i = 0; i < x; i++)
        y[i] = i;
    return y[0];
}
#endif
static __attribute__((noinline)) void NAME_inner(void)
{
    sink = malloc(SIZE);
    free(sink);
}
__attribute__((visibility("default"))) void run(void)
{
#if PADDING
    volatile char room[PADDING];
    room[0] = 1;
#endif
    NAME_inner();
    sink = NULL;
}
"""

API = r"""
#include <sextant/heap.h>
#include <stdlib.h>

static void *volatile sink;

int main(void)
{
    static char pool[100];
    sink = malloc(1);                 /* first */
    sextant_mark("phase one");
    sextant_pool_alloc(pool, 64);     /* pool */
    sextant_pool_free(pool);
    sextant_collected(12, 3456);
    sextant_mark("phase two");
    sextant_stop();
    void *unseen = malloc(2);         /* unseen */
    free(sink);
    sextant_start();
    free(unseen);
    sextant_mark("phase one");
    return sextant_is_recording() ? 0 : 9;
}
"""

SAMPLED = r"""
#include <stdlib.h>

static void *volatile kept[1000];

int main(void)
{
    for (int i = 0; i < 300000; i++) {
        int place = i % 1000;
        free(kept[place]);
        kept[place] = malloc(1024);   /* sampled */
    }
    return 0;
}
"""

FOREVER = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile sink;

int main(int argc, char **argv)
{
    (void)argv;
    for (long i = 0;; i++) {
        sink = malloc(64);            /* again and again */
        free(sink);
        if (i == 30000 && write(1, "ready\n", 6) != 6)
            return 1;
        if (argc > 1 ? i > 30000 || i % 100 == 0 : i > 40000) /* enough, but it goes on */
            usleep(100);
    }
}
"""

MAPPINGS = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

int main(void)
{
    char *first = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* mapped */
    first = mremap(first, 8192, 1 << 20, MREMAP_MAYMOVE); /* moved */
    munmap(first, 1 << 20);
    return 0;
}
"""

DEEP = r"""
#include <stdlib.h>
static void *volatile sink;
static __attribute__((noinline)) int down(int depth)
{
    volatile int here = depth;
    if (depth == 0) {
        sink = malloc(9);             /* deep */
        free(sink);
        return 0;
    }
    return down(depth - 1) + here;
}
int main(void) { return (down(300) + down(100) + down(300) + down(5)) == -1; }
"""


def build(folder, name, source, *flags):
    """A program with line information."""
    return samples.compile_c(folder, name, "-g", "-pthread", "-fno-inline", *flags, source=source)


def marks(source):
    """name -> line of each /* name */."""
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        match = re.search(r"/\* ([a-z][a-z_ ]*) \*/$", line.rstrip()) or re.search(r"/\* ([a-z][a-z_ ]*) \*/ *$", line)
        if match:
            found[match[1]] = number
    return found


class Recorded:
    """A plain trace, with each allocation's site."""

    def __init__(self, path, source=""):
        self.header, text, self.raw = mlyze_writer.read(path.read_bytes())
        self.metadata = json.loads(text)
        self.names = {line: name for name, line in marks(source).items()}
        self.stacks = {
            int(number): [(self.metadata["functions"][str(frame["func_id"])],
                           self.metadata["files"][str(frame["file_id"])], frame["line"]) for frame in frames]
            for number, frames in self.metadata["stack_traces"].items()
        }

    def allocations(self):
        """(name of the site, size, thread) of the allocations at marked lines, in order."""
        found = []
        for event in self.raw:
            if event[0] == "alloc":
                site = self.site(event[4])
                if site is not None:
                    found.append((site, event[3], event[5]))
        return found

    def site(self, stack):
        """The name of the marked line that the stack begins at."""
        frames = self.stacks[stack]
        if not frames or not frames[0][1].endswith(".c"):
            return None
        return self.names.get(frames[0][2])

    def functions(self, stack):
        return [frame[0] for frame in self.stacks[stack]]

    def stack_of(self, site):
        """Functions of the first stack that begins at a site."""
        return next(self.functions(event[4]) for event in self.raw if event[0] == "alloc" and self.site(event[4]) == site)

    def live(self):
        """name of the site -> sizes of what was never freed; fails when a free or an allocation is out of order."""
        blocks = {}
        for event in self.raw:
            if event[0] == "alloc":
                assert event[2] not in blocks, f"given out twice: {event}"
                blocks[event[2]] = event
            elif event[0] == "free":
                assert event[2] in blocks, f"freed before it was allocated: {event}"
                del blocks[event[2]]
        left = collections.defaultdict(list)
        for event in blocks.values():
            site = self.site(event[4])
            if site is not None:
                left[site].append(event[3])
        return dict(left)

    def count(self, kind):
        return sum(event[0] == kind for event in self.raw)
