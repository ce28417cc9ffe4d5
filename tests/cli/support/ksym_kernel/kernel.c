/*
 * kernel.c: a kernel that knows its own symbols. It opens the blob that is linked into it, says on the serial port what
 * it finds there, and ends with a backtrace out of a function that never returns. tests/cli/test_ksym_freestanding.py
 * reads along.
 */
#include <sextant/ksym.h>

/* The PL011 of qemu's `virt` machine; it is always ready. */
#define UART ((volatile uint32_t *)0x09000000)

extern const unsigned char ksym_start[], ksym_end[];
extern const char text_start[], text_end[];

void kernel_main(void);
void first_caller(int depth);
void second_caller(int depth);
void caller_of_nothing_more(void);
void panic(const char *why) __attribute__((noreturn));
void power_off(void) __attribute__((noreturn));

static sxt_ksym symbols;

static void print_bytes(void *data, const char *bytes, size_t size)
{
    (void)data;
    for (size_t i = 0; i < size; i++)
        *UART = (unsigned char)bytes[i];
}

static void print(const char *text)
{
    while (*text != '\0')
        *UART = (unsigned char)*text++;
}

static void print_address(uint64_t address)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *UART = (unsigned char)"0123456789abcdef"[address >> shift & 15];
}

/* A frame begins with the frame of the caller and the return address. */
__attribute__((noinline)) static void print_backtrace(void)
{
    const uint64_t *frame = __builtin_frame_address(0);
    char line[64];
    while (frame != NULL && frame[1] != 0) {
        sxt_ksym_format_return(&symbols, frame[1], line, sizeof line);
        print("frame ");
        print_address(frame[1]);
        print(" ");
        print(line);
        print("\n");
        frame = (const uint64_t *)(uintptr_t)frame[0];
    }
}

void panic(const char *why)
{
    print("panic: ");
    print(why);
    print("\n");
    print_backtrace();
    print("end\n");
    power_off();
}

static void print_found(const char *name, size_t size)
{
    sxt_ksym_matches matches;
    size_t index;
    print("find ");
    print(name);
    sxt_ksym_find(&symbols, name, size, &matches);
    while (sxt_ksym_next(&matches, &index)) {
        print(" ");
        print_address(sxt_ksym_address(&symbols, index));
    }
    print("\n");
}

/* The call is the last instruction: the return address is that of whatever follows. */
__attribute__((noinline)) void caller_of_nothing_more(void)
{
    panic("as planned");
}

/* So that the compiler does not know that nothing comes back from there. */
static void (*volatile last_call)(void) = caller_of_nothing_more;

__attribute__((noinline)) void second_caller(int depth)
{
    if (depth > 0)
        second_caller(depth - 1);
    else
        last_call();
    print("never here\n");
}

__attribute__((noinline)) void first_caller(int depth)
{
    second_caller(depth);
    print("never here\n");
}

void kernel_main(void)
{
    const char *wrong = sxt_ksym_open(&symbols, ksym_start, (size_t)(ksym_end - ksym_start), (uintptr_t)text_start,
                                      (uintptr_t)text_end, NULL);
    if (wrong != NULL)
        panic(wrong);
    sxt_ksym_dump(&symbols, print_bytes, NULL);
    print_found("second_caller", 13);
    print_found("nobody", 6);
    first_caller(1);
    panic("that came back");
}
