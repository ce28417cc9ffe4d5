/*
 * seccomp.c: programs that limit their own system calls.
 *
 * Once a filter refuses a system call that the recorder makes, the recorder must make none: the kernel may kill the
 * program for it. So the calls that install a filter are hooked. A filter that permits what the recorder does changes
 * nothing. Otherwise the thread gets enough room in the spool beforehand, and recording goes on without system calls
 * until that is used; new threads and children are not recorded then. See sxt_recording.is_confined.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

#define STEPS_MOST   4096 /* instructions of a filter, as in the kernel */
#define MEMORY_WORDS 16
#define STACK_AHEAD  ((size_t)128 << 10)

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

int prctl(int option, ...);
long sxt_seccomp_call(long number, long a, long b, long c, long d, long e);
long sxt_syscall_failed(long result);

/* --- filters --- */

struct machine {
    const struct seccomp_data *data;
    uint32_t a, x;
    uint32_t memory[MEMORY_WORDS];
};

static bool calculate(struct machine *machine, const struct sock_filter *code)
{
    uint32_t value = BPF_SRC(code->code) == BPF_X ? machine->x : code->k;
    switch (BPF_OP(code->code)) {
    case BPF_ADD:
        machine->a += value;
        return true;
    case BPF_SUB:
        machine->a -= value;
        return true;
    case BPF_MUL:
        machine->a *= value;
        return true;
    case BPF_DIV:
        machine->a = value != 0 ? machine->a / value : 0;
        return value != 0;
    case BPF_OR:
        machine->a |= value;
        return true;
    case BPF_AND:
        machine->a &= value;
        return true;
    case BPF_XOR:
        machine->a ^= value;
        return true;
    case BPF_LSH:
        machine->a = value < 32 ? machine->a << value : 0;
        return true;
    case BPF_RSH:
        machine->a = value < 32 ? machine->a >> value : 0;
        return true;
    case BPF_NEG:
        machine->a = -machine->a;
        return true;
    default:
        return false;
    }
}

static bool load(struct machine *machine, const struct sock_filter *code)
{
    uint32_t *to = BPF_CLASS(code->code) == BPF_LD ? &machine->a : &machine->x;
    switch (BPF_MODE(code->code)) {
    case BPF_ABS:
        if (code->k > sizeof *machine->data - 4 || (code->k & 3) != 0)
            return false;
        memcpy(to, (const char *)machine->data + code->k, 4);
        return true;
    case BPF_IMM:
        *to = code->k;
        return true;
    case BPF_MEM:
        *to = machine->memory[code->k % MEMORY_WORDS];
        return true;
    case BPF_LEN:
        *to = sizeof *machine->data;
        return true;
    default:
        return false;
    }
}

/* How many instructions to skip. */
static uint32_t jump(const struct machine *machine, const struct sock_filter *code)
{
    uint32_t value = BPF_SRC(code->code) == BPF_X ? machine->x : code->k;
    bool is_true;
    switch (BPF_OP(code->code)) {
    case BPF_JA:
        return code->k;
    case BPF_JEQ:
        is_true = machine->a == value;
        break;
    case BPF_JGT:
        is_true = machine->a > value;
        break;
    case BPF_JGE:
        is_true = machine->a >= value;
        break;
    default:
        is_true = (machine->a & value) != 0;
    }
    return is_true ? code->jt : code->jf;
}

/* What the filter says about a call; to kill the process, if it cannot be understood. */
static uint32_t run(const struct sock_fprog *program, const struct seccomp_data *data)
{
    struct machine machine = {.data = data};
    for (uint32_t at = 0; at < program->len; at++) {
        const struct sock_filter *code = &program->filter[at];
        bool is_known = true;
        switch (BPF_CLASS(code->code)) {
        case BPF_RET:
            return BPF_RVAL(code->code) == BPF_A ? machine.a : code->k;
        case BPF_LD:
        case BPF_LDX:
            is_known = load(&machine, code);
            break;
        case BPF_ST:
            machine.memory[code->k % MEMORY_WORDS] = machine.a;
            break;
        case BPF_STX:
            machine.memory[code->k % MEMORY_WORDS] = machine.x;
            break;
        case BPF_ALU:
            is_known = calculate(&machine, code);
            break;
        case BPF_JMP:
            at += jump(&machine, code);
            break;
        default:
            if (BPF_MISCOP(code->code) == BPF_TAX)
                machine.x = machine.a;
            else
                machine.a = machine.x;
        }
        if (!is_known)
            break;
    }
    return SECCOMP_RET_KILL_PROCESS;
}

/* Does the filter permit all system calls that the recorder makes while the program runs? */
static bool permits_all(const struct sock_fprog *program)
{
    static const struct {
        int number;
        uint64_t arguments[4];
    } calls[] = {
        {SYS_pwrite64, {1000, 0, 65536, 0}},
        {SYS_rt_sigprocmask, {0, 0, 0, 8}},
        {SYS_mmap, {0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE}},
        {SYS_mmap, {0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}},
        {SYS_munmap, {0, 65536, 0, 0}},
        {SYS_madvise, {0, 65536, MADV_DONTFORK, 0}},
        {SYS_fallocate, {1000, 0, 0, 65536}},
        {SYS_fstatfs, {1000, 0, 0, 0}},
        {SYS_prlimit64, {0, 1, 0, 0}},
        {SYS_gettid, {0, 0, 0, 0}},
        {SYS_sched_yield, {0, 0, 0, 0}},
        {SYS_prctl, {PR_GET_NAME, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct seccomp_data data = {.nr = calls[i].number, .arch = ARCHITECTURE};
        memcpy(data.args, calls[i].arguments, sizeof calls[i].arguments);
        uint32_t action = run(program, &data) & SECCOMP_RET_ACTION_FULL;
        if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG)
            return false;
    }
    /* The C library calls one of these for fstat. */
    struct seccomp_data data = {.arch = ARCHITECTURE, .args = {1000}};
    data.nr = SYS_fstat;
    bool has_old = (run(program, &data) & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW;
    data.nr = SYS_newfstatat;
    return has_old && (run(program, &data) & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW;
}

/* --- the calls --- */

static bool is_understood(const struct sock_fprog *program)
{
    if (program == NULL || !sxt_is_readable((uintptr_t)program) ||
        !sxt_is_readable((uintptr_t)program + sizeof *program - 1) || program->len == 0 || program->len > STEPS_MOST)
        return false;
    uintptr_t start = (uintptr_t)program->filter, end = start + program->len * sizeof *program->filter;
    for (uintptr_t page = start & ~(uintptr_t)4095; page < end; page += 4096)
        if (!sxt_is_readable(page))
            return false;
    return true;
}

/* Prepares for a filter, or for the strict mode if FILTER is NULL. Are there no system calls any more? */
static bool confine(const struct sock_fprog *filter, bool is_strict)
{
    if (sxt_recording.alive->is_alive == 0 || sxt_recording.is_confined)
        return false;
    if (!is_strict && (!is_understood(filter) || permits_all(filter)))
        return false;
    struct writer *writer = sxt_enter(0, false);
    if (writer == NULL)
        return false;
    sxt_stack_ahead(writer, STACK_AHEAD);
    sxt_window_ahead(writer);
    sxt_leave(writer);
    /* The strict mode forbids the processor's counter too, and reading another clock may be a system call. */
    sxt_recording.last_ticks = is_strict || !sxt_recording.use_counter ? sxt_ticks() : 0;
    sxt_recording.is_confined = true;
    if (is_strict)
        sxt_recording.use_counter = false;
    return true;
}

/* The filter was not installed. */
static void release(void)
{
    sxt_recording.is_confined = false;
    sxt_recording.last_ticks = 0;
    sxt_recording.use_counter = (sxt_recording.control->options & SXT_SPOOL_TSC) != 0;
}

/* The system call itself. Its errors are negative. */
static long call(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
#endif
}

__attribute__((visibility("hidden"))) long sxt_syscall_failed(long result)
{
    errno = (int)-result;
    return -1;
}

/* syscall(SYS_seccomp, ...) or syscall(SYS_prctl, PR_SET_SECCOMP, ...), as the program makes it. */
__attribute__((visibility("hidden"))) long sxt_seccomp_call(long number, long a, long b, long c, long d, long e)
{
    bool is_prctl = number == SYS_prctl;
    bool is_strict = is_prctl ? b == SECCOMP_MODE_STRICT : a == SECCOMP_SET_MODE_STRICT;
    bool is_filter = is_prctl ? b == SECCOMP_MODE_FILTER : a == SECCOMP_SET_MODE_FILTER;
    bool is_confined = (is_strict || is_filter) && confine((const struct sock_fprog *)c, is_strict); /* NOLINT */
    long result = call(number, a, b, c, d, e);
    /* With a flag, seccomp returns the descriptor of a listener or the number of a thread that has another filter. */
    if (is_confined && result < 0)
        release();
    return result < 0 && result >= -4095 ? sxt_syscall_failed(result) : result;
}

EXPORTED int prctl(int option, ...)
{
    va_list more;
    va_start(more, option);
    long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long), d = va_arg(more, long);
    va_end(more);
    if (option == PR_SET_SECCOMP)
        return (int)sxt_seccomp_call(SYS_prctl, option, a, b, c, d);
    long result = call(SYS_prctl, option, a, b, c, d);
    return (int)(result < 0 && result >= -4095 ? sxt_syscall_failed(result) : result);
}

/*
 * long syscall(long number, ...): what does not install a filter is called with the stack as the program left it.
 * The numbers are those of seccomp and prctl; 22 is PR_SET_SECCOMP.
 */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    cmpq $317, %rdi\n"
        "    je 1f\n"
        "    cmpq $157, %rdi\n"
        "    jne 2f\n"
        "    cmpl $22, %esi\n"
        "    je 1f\n"
        "2:  movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %r8, %r10\n"
        "    movq %r9, %r8\n"
        "    movq 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmpq $-4095, %rax\n"
        "    jae 3f\n"
        "    ret\n"
        "1:  jmp sxt_seccomp_call\n"
        "3:  movq %rax, %rdi\n"
        "    jmp sxt_syscall_failed\n"
        "    .cfi_endproc\n"
        ".size syscall, .-syscall\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        "syscall:\n"
        "    .cfi_startproc\n"
        "    hint #34\n" /* where an indirect call may land */
        "    cmp x0, #277\n"
        "    b.eq 1f\n"
        "    cmp x0, #167\n"
        "    b.ne 2f\n"
        "    cmp w1, #22\n"
        "    b.eq 1f\n"
        "2:  uxtw x8, w0\n"
        "    mov x0, x1\n"
        "    mov x1, x2\n"
        "    mov x2, x3\n"
        "    mov x3, x4\n"
        "    mov x4, x5\n"
        "    mov x5, x6\n"
        "    mov x6, x7\n"
        "    svc #0\n"
        "    cmn x0, #4095\n"
        "    b.cs 3f\n"
        "    ret\n"
        "1:  b sxt_seccomp_call\n"
        "3:  b sxt_syscall_failed\n"
        "    .cfi_endproc\n"
        ".size syscall, .-syscall\n");
#endif
