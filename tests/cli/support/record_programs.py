"""Programs that do to themselves whatever programs do, while they are recorded. As in heap_programs.py, they allocate at
lines that are marked with a name, and print nothing through the C library."""

# Frames of the first thread are at addresses that are gone when the second one allocates, on a stack below.
STACKS_THAT_GO = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SIZE (256 << 10)

static __attribute__((noinline)) int down(int depth)
{
    volatile int here = depth;
    if (depth > 0)
        return down(depth - 1) + here;
    void *volatile block = malloc(5); /* below */
    free(block);
    return 0;
}

static void *work(void *argument)
{
    down(20);
    return argument;
}

int main(void)
{
    char *room = mmap(NULL, 40 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 39; i >= 0; i--) {
        pthread_attr_t how;
        pthread_t thread;
        pthread_attr_init(&how);
        pthread_attr_setstack(&how, room + i * SIZE, SIZE);
        pthread_create(&thread, &how, work, NULL);
        pthread_join(thread, NULL);
        munmap(room + i * SIZE, SIZE);
    }
    return 0;
}
"""

MANY_THREADS = r"""
#include <pthread.h>
#include <stdlib.h>

#define AT_ONCE 100

static void *work(void *argument)
{
    void *volatile block = malloc((size_t)(long)argument); /* short */
    free(block);
    return NULL;
}

int main(void)
{
    for (long i = 0; i < 2000; i += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        for (long k = 0; k < AT_ONCE; k++)
            if (pthread_create(&threads[k], NULL, work, (void *)(i + k + 1)) != 0)
                return 1;
        for (long k = 0; k < AT_ONCE; k++)
            pthread_join(threads[k], NULL);
    }
    return 0;
}
"""

BEFORE_AND_AFTER_MAIN = r"""
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile early, *volatile late;

__attribute__((constructor)) static void begin(void)
{
    early = malloc(1);                /* constructor */
}

__attribute__((destructor)) static void end(void)
{
    late = malloc(4);                 /* destructor */
    free(late);
}

static void at_exit(void)
{
    late = malloc(3);                 /* at exit */
    free(late);
    free(early);
}

int main(void)
{
    int is_clean = errno == 0 && dlerror() == NULL;
    atexit(at_exit);
    late = malloc(2);                 /* main */
    exit(is_clean ? 7 : 1);
}
"""

THREAD_DESTRUCTORS = r"""
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t keys[3];

static void destroy(void *block)
{
    static __thread int rounds;
    free(block);
    for (int i = 0; i < 3 && rounds < 4; i++) {
        if (pthread_getspecific(keys[i]) != NULL)
            continue;
        pthread_setspecific(keys[i], malloc(32)); /* in a destructor */
        rounds++;
        break;
    }
}

static void *work(void *argument)
{
    for (int i = 0; i < 3; i++)
        pthread_setspecific(keys[i], malloc(31)); /* in the thread */
    return argument;
}

int main(void)
{
    pthread_t threads[20];
    /* The recorder's own key comes first, so the last round of the others is after its end. */
    void *volatile first = malloc(33);
    free(first);
    for (int i = 0; i < 3; i++)
        pthread_key_create(&keys[i], destroy);
    for (int i = 0; i < 20; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 20; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""

THREAD_LOCAL_OBJECTS = r"""
#include <cstdlib>
#include <thread>
struct Holder {
    void *block = nullptr;
    ~Holder() { std::free(block); }
};
static thread_local Holder holder;
int main()
{
    for (int i = 0; i < 20; i++)
        std::thread([] { holder.block = std::malloc(91); }).join();
    return 0;
}
"""

EXITS_AMONG_THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *argument)
{
    for (;;) {
        void *volatile block = malloc(48); /* again and again */
        free(block);
    }
    return argument;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, work, NULL);
    usleep(5000);
    exit(5);
}
"""

# The handler uses what may be used in handlers: system calls, and the recorder's own functions.
SIGNAL_STORM = r"""
#include <sextant/heap.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static volatile long handled;
static char pool[1 << 16];

static __attribute__((noinline)) void in_handler(void)
{
    char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* mapped in a handler */
    mapped[0] = 1;
    munmap(mapped, 4096);
    sextant_pool_alloc(&pool[handled % sizeof pool], 3); /* pool in a handler */
    sextant_pool_free(&pool[handled % sizeof pool]);
    handled++;
}

static void handler(int number)
{
    (void)number;
    in_handler();
}

int main(void)
{
    static char alternate[1 << 16];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action;
    struct itimerval often = {{0, 200}, {0, 200}};
    memset(&action, 0, sizeof action);
    sigaltstack(&stack, NULL);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    long rounds = 0;
    for (; handled < 150; rounds++) {
        void *volatile block = malloc(40); /* meanwhile */
        free(block);
        if (rounds > 50000 && rounds % 1000 == 0)
            usleep(500);
    }
    memset(&often, 0, sizeof often);
    setitimer(ITIMER_REAL, &often, NULL);
    char text[40];
    int size = 0;
    for (long number = rounds; number > 0; number /= 10)
        text[size++] = (char)('0' + number % 10);
    for (int i = 0; i < size / 2; i++) {
        char digit = text[i];
        text[i] = text[size - 1 - i];
        text[size - 1 - i] = digit;
    }
    return write(1, text, (size_t)size) != size;
}
"""

# The smallest stack that a handler could do with.
SMALL_STACKS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char *room;

static void handler(int number)
{
    (void)number;
    void *volatile block = malloc(12); /* in a handler */
    free(block);
}

static void *work(void *argument)
{
    void *volatile block = malloc(13); /* in a thread */
    free(block);
    return argument;
}

int main(void)
{
    room = mmap(NULL, 3 * 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(room, 8192, PROT_NONE);
    stack_t stack = {.ss_sp = room + 8192, .ss_size = 8192};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigaltstack(&stack, NULL);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR2);
    pthread_attr_t how;
    pthread_t thread;
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, 16384);
    if (pthread_create(&thread, &how, work, NULL) != 0)
        return 1;
    return pthread_join(thread, NULL);
}
"""

# Libraries come and go in two threads. One calls its own while the dynamic linker's lock is held.
LIBRARIES_AMONG_THREADS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int is_over;
static char **paths;

static int call(struct dl_phdr_info *info, size_t size, void *run)
{
    (void)info, (void)size;
    ((void (*)(void))run)();
    return 1;
}

static void *load(void *argument)
{
    long self = (long)argument;
    for (int i = 0; i < 80; i++) {
        void *library = dlopen(paths[self], RTLD_NOW);
        void *run = dlsym(library, "run");
        if (self == 1)
            dl_iterate_phdr(call, run);
        else
            ((void (*)(void))run)();
        dlclose(library);
    }
    return NULL;
}

static __attribute__((noinline)) int down(int depth)
{
    volatile int here = depth;
    if (depth > 0)
        return down(depth - 1) + here;
    void *volatile block = malloc(17); /* meanwhile */
    free(block);
    return 0;
}

static void *work(void *argument)
{
    for (int i = 0; !is_over; i++) {
        down(i % 10);
        if (i > 20000 && i % 100 == 0)
            usleep(100);
    }
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t loaders[2], workers[2];
    paths = argv + argc - 2;
    for (long i = 0; i < 2; i++) {
        pthread_create(&workers[i], NULL, work, NULL);
        pthread_create(&loaders[i], NULL, load, (void *)i);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(loaders[i], NULL);
    is_over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
"""

EXCEPTIONS = r"""
#include <cstdlib>
#include <stdexcept>
static void *volatile sink;
struct Owner {
    void *block = std::malloc(19); // owned
    ~Owner() { std::free(block); }
};
__attribute__((noinline)) static int fall(int depth)
{
    Owner owner;
    if (depth == 0)
        throw std::runtime_error("down");
    return fall(depth - 1) + (owner.block != nullptr);
}
__attribute__((noinline)) static void after()
{
    sink = std::malloc(23);
    std::free(sink);
    sink = nullptr;
}
int main()
{
    int caught = 0;
    for (int i = 0; i < 10; i++) {
        try {
            fall(i);
        } catch (const std::exception &) {
            caught++;
        }
        after();
    }
    return caught == 10 ? 0 : 1;
}
"""

ODD_FRAMES = r"""
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

static void *volatile sink;
static volatile int size = 300;

static __attribute__((noinline)) void inner(void)
{
    sink = malloc(29);                /* inside */
    free(sink);
    sink = NULL;
}

static __attribute__((noinline)) int with_alloca(int count)
{
    char *room = alloca((size_t)count);
    memset(room, 1, (size_t)count);
    inner();
    return room[count / 2];
}

static __attribute__((noinline)) int with_array(int count)
{
    char room[count];
    memset(room, 1, sizeof room);
    int result = with_alloca(count + 7);
    return result + room[count - 1];
}

static __attribute__((noinline)) int aligned(int count)
{
    _Alignas(256) volatile char room[512];
    room[count] = 1;
    return with_array(count) + room[count];
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum += aligned(size + i * 13);
    return sum == 0;
}
"""

# Everything that is open goes, and then the way to the files, and the right to open them.
LEAVES = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile sink;

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "close") == 0)
            closefrom(0);
        if (strcmp(argv[i], "range") == 0)
            close_range(0, ~0u, 0);
        if (strcmp(argv[i], "chdir") == 0 && chdir("/") != 0)
            return 1;
        if (strcmp(argv[i], "chroot") == 0 && chroot("/proc") != 0)
            return 2;
        if (strcmp(argv[i], "setuid") == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            return 3;
        for (int k = 0; k < 20000; k++) {
            sink = malloc(16);        /* many */
            free(sink);
        }
    }
    return 7;
}
"""

# What the program finds open, as its exit status.
STANDARD_DESCRIPTORS = r"""
#include <fcntl.h>
#include <stdlib.h>

static void *volatile sink;

int main(void)
{
    sink = malloc(10);                /* once */
    int status = 0;
    for (int i = 0; i < 3; i++)
        status |= (fcntl(i, F_GETFD) >= 0) << i;
    for (int i = 3; i < 100; i++)
        if (fcntl(i, F_GETFD) >= 0)
            status |= 64;
    return status;
}
"""

FILE_LIMIT = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

static void too_long(int number)
{
    (void)number;
    _exit(9);
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    signal(SIGXFSZ, too_long);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = (rlim_t)atol(argv[argc - 1]);
    setrlimit(RLIMIT_FSIZE, &limit);
    pid_t child = fork();
    for (int i = 0; i < 60000; i++) {
        sink = malloc(16);            /* many */
        free(sink);
    }
    if (child == 0)
        _exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? 6 : 8;
}
"""

WRAPPER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int count;

void *malloc(size_t size)
{
    static void *(*next)(size_t);
    if (next == NULL)
        next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    count += size == 1000;
    return next(size + 16);
}

__attribute__((destructor)) static void report(void)
{
    if (getenv("SEXTANT_RECORD") != NULL && write(1, count == 1 ? "one" : "odd", 3) != 3)
        count = 0;
}
"""
