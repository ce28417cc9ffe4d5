"""A program that is interrupted by signals at chosen instructions of the recorder; see STEPPED."""

# A second process traces the program. It runs a section of the program one instruction at a time, and sends a signal before
# every STRIDE-th instruction from START on. The handler reports a block to the recorder, so the recorder is interrupted at
# each of its instructions by a call of itself. A signal that is blocked arrives at the instruction that unblocks it. With
# DEPTH 2, a second signal interrupts the handler too, at an instruction that changes each time.
#
#     program SECTION START STRIDE DEPTH
#
# Sections: "first" is the first event of the process, "calls" are later ones, "window" begins with the system call that
# makes room for more events, "thread" is a thread from its first event to its end, "child" is the first event of a forked
# child. In "forks", which is like "first", the handler forks: the interrupted code continues in the child, too.
#
# The program prints how often the handler ran. Exit status 77: processes cannot be traced here.
STEPPED = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sextant/heap.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_TRACE 77

void *__libc_malloc(size_t size); /* not seen by the recorder */
void __libc_free(void *block);

/* The tracer recognizes these by the address after the trap. */
void section_begins(void), section_begun(void), section_ends(void), section_ended(void);
void handler_ends(void), handler_ended(void);
__asm__("section_begins: int3\nsection_begun: ret\n"
        "section_ends: int3\nsection_ended: ret\n"
        "handler_ends: int3\nhandler_ended: ret\n");

/* Memory of both processes. */
static volatile struct shared {
    int thread;   /* that is to be traced */
    int attached; /* 1: it is traced; -1: it cannot be */
    int enough;   /* the section may end */
    long handled, bad;
} *shared;

static char pool[1 << 20];
static int is_forking, depth = 1;
static volatile int is_child;

/* ---- the program ---- */

static void in_handler(void)
{
    char *block = &pool[shared->handled++ % (long)sizeof pool];
    sextant_pool_alloc(block, 3); /* in a handler */
    sextant_pool_free(block);
}

static int count_modules(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)info, (void)size;
    ++*(int *)count;
    return 0;
}

/* Can the child use its memory, and the lock of the dynamic linker? */
static void end_child(int number)
{
    int count = 0;
    (void)number;
    void *volatile block = malloc(50); /* in a child */
    free(block);
    _exit(dl_iterate_phdr(count_modules, &count) != 0 || count < 2);
}

static void fork_in_handler(void)
{
    int status = 0;
    pid_t child = _Fork();
    if (child == 0) {
        alarm(10); /* it must not wait for ever */
        signal(SIGTRAP, end_child);
        is_child = 1;
        return;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    shared->bad += child < 0 || status != 0;
}

static void handler(int number)
{
    int saved_errno = errno;
    (void)number;
    if (is_child)
        return;
    in_handler();
    if (is_forking)
        fork_in_handler();
    errno = saved_errno;
    if (!is_child)
        handler_ends();
}

static void second_handler(int number)
{
    (void)number;
    in_handler();
}

static void end_section(void)
{
    if (is_child)
        end_child(0);
    section_ends();
}

static void let_trace(void)
{
    shared->thread = (int)syscall(SYS_gettid);
    while (shared->attached == 0)
        syscall(SYS_sched_yield);
    if (shared->attached < 0)
        _exit(CANNOT_TRACE);
}

static void use_memory(void)
{
    void *volatile block = malloc(40); /* meanwhile */
    free(block);
}

static void step_first(void)
{
    section_begins();
    use_memory();
    end_section();
}

static void step_calls(void)
{
    use_memory();
    section_begins();
    use_memory();
    void *volatile block = calloc(3, 7); /* another */
    block = realloc(block, 5000); /* larger */
    free(block);
    section_ends();
}

static void step_window(void)
{
    use_memory();
    section_begins();
    while (!shared->enough)
        use_memory();
    section_ends();
}

static void use_in_destructor(void *key)
{
    use_memory();
    pthread_setspecific(*(pthread_key_t *)key, key);
}

static pthread_key_t keys[2];

static void *work(void *argument)
{
    let_trace();
    pthread_setspecific(keys[0], &keys[0]);
    section_begins();
    use_memory(); /* the recorder's key is between the two */
    pthread_setspecific(keys[1], &keys[1]);
    return argument;
}

static void step_thread(void)
{
    pthread_t thread;
    pthread_key_create(&keys[0], use_in_destructor);
    use_memory();
    pthread_key_create(&keys[1], use_in_destructor);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

static int step_child(void)
{
    int status = 0;
    use_memory();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        let_trace();
        step_first();
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_TRACE)
        _exit(CANNOT_TRACE);
    return status != 0;
}

/* ---- the tracer ---- */

static pid_t traced;

struct stop {
    int has_ended;
    int is_system_call;
    struct user_regs_struct registers;
};

static struct stop resume(long request, int signal_number)
{
    for (;;) {
        struct stop stop = {0};
        int status = 0;
        if (ptrace(request, traced, NULL, (void *)(long)signal_number) != 0 || waitpid(traced, &status, __WALL) != traced ||
            !WIFSTOPPED(status)) {
            stop.has_ended = 1;
            return stop;
        }
        signal_number = WSTOPSIG(status);
        if ((signal_number & 0x7f) != SIGTRAP)
            continue; /* another signal of the program */
        stop.is_system_call = signal_number != SIGTRAP;
        ptrace(PTRACE_GETREGS, traced, NULL, &stop.registers);
        return stop;
    }
}

static int is_at(const struct stop *stop, void (*function)(void))
{
    return stop->registers.rip == (unsigned long)function;
}

static int is_in_handler(const struct stop *stop)
{
    return stop->registers.rip == (unsigned long)handler;
}

/* STOP is the first instruction of a handler. Runs it until the interrupted instruction is the next one. */
static struct stop run_handler(struct stop stop)
{
    static unsigned seed = 1;
    unsigned long saved = stop.registers.rsp + 8 + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
    unsigned long interrupted = (unsigned long)ptrace(PTRACE_PEEKDATA, traced, (void *)saved, NULL);
    int second = 0;
    if (depth > 1) {
        seed = seed * 1103515245 + 12345;
        second = SIGUSR2;
        for (unsigned rest = seed >> 16 & 1023; rest > 0 && !stop.has_ended && !is_at(&stop, handler_ended); rest--)
            stop = resume(PTRACE_SINGLESTEP, 0);
    }
    for (; !stop.has_ended && !is_at(&stop, handler_ended); second = 0)
        stop = resume(PTRACE_CONT, second);
    while (!stop.has_ended && stop.registers.rip != interrupted)
        stop = resume(PTRACE_SINGLESTEP, 0);
    return stop;
}

static void trace_section(long start, long stride, int is_window)
{
    struct stop stop;
    do
        stop = resume(PTRACE_CONT, 0);
    while (!stop.has_ended && !is_at(&stop, section_begun));
    while (is_window && !stop.has_ended && !stop.is_system_call)
        stop = resume(PTRACE_SYSCALL, 0);
    for (long count = 0; !stop.has_ended && !is_at(&stop, section_ended); count++) {
        stop = resume(PTRACE_SINGLESTEP, count >= start && (count - start) % stride == 0 ? SIGUSR1 : 0);
        while (!stop.has_ended && is_in_handler(&stop)) {
            stop = run_handler(stop);
            stop = resume(PTRACE_SINGLESTEP, 0);
        }
        if (count == 2000)
            shared->enough = 1;
    }
    if (!stop.has_ended)
        ptrace(PTRACE_DETACH, traced, NULL, NULL);
}

static void trace(long start, long stride, int is_window)
{
    int status;
    while (shared->thread == 0)
        usleep(100);
    traced = shared->thread;
    if (ptrace(PTRACE_ATTACH, traced, NULL, NULL) != 0 || waitpid(traced, &status, __WALL) != traced) {
        shared->attached = -1;
        _exit(0);
    }
    ptrace(PTRACE_SETOPTIONS, traced, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    shared->attached = 1;
    trace_section(start, stride, is_window);
    _exit(0);
}

static void set_handlers(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_RESTART;
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = second_handler;
    sigaction(SIGUSR2, &action, NULL);
}

static int print(long number)
{
    char text[40];
    int at = sizeof text;
    do
        text[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return write(1, text + at, sizeof text - (size_t)at) < 0;
}

int main(int argc, char **argv)
{
    __libc_free(__libc_malloc(40)); /* the first call of the real malloc is long */
    const char *section = argv[argc - 4];
    depth = argv[argc - 1][0] - '0';
    is_forking = strcmp(section, "forks") == 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    set_handlers();
    pid_t tracer = fork();
    if (tracer == 0)
        trace(strtol(argv[argc - 3], NULL, 10), strtol(argv[argc - 2], NULL, 10), strcmp(section, "window") == 0);
    prctl(PR_SET_PTRACER, tracer);
    int bad = 0;
    if (strcmp(section, "thread") == 0) {
        step_thread();
    } else if (strcmp(section, "child") == 0) {
        bad = step_child();
    } else {
        let_trace();
        if (strcmp(section, "calls") == 0)
            step_calls();
        else if (strcmp(section, "window") == 0)
            step_window();
        else
            step_first();
    }
    return print(shared->handled) || bad || shared->bad != 0;
}
"""
