"""Stacks of recorded programs where they are unusual: signal handlers, the base of a coroutine, and more than 128 frames."""

import os
import unittest

from support import heap_programs as programs
from support import sextant, tap
from support.recording import RecordTest

IS_X86 = os.uname().machine == "x86_64"

SIGNALS = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

static void *volatile sink;

/* The instruction that is interrupted is the first of its function: the byte before it belongs to another one. */
__asm__(".text\n"
        ".globl before\n.type before, @function\nbefore: .cfi_startproc\n ret\n .cfi_endproc\n.size before, .-before\n"
        ".globl stops\n.type stops, @function\nstops: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n.size stops, .-stops\n");
void stops(void);

static void on_stop(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    sink = malloc(101);
}

static void inner(int number) { (void)number; sink = malloc(102); }
static void outer(int number) { (void)number; raise(SIGUSR2); sink = NULL; }

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_stop, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaction(SIGILL, &action, NULL);
    stops();
    sigaltstack(&other, NULL);
    stops();
    signal(SIGUSR1, outer);
    signal(SIGUSR2, inner);
    raise(SIGUSR1);
    return 0;
}
"""

CONTEXTS = r"""
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t back, contexts[2];
static void *volatile sink;

static void inside(void) { sink = malloc(201); }
static void entry(void) { inside(); swapcontext(&contexts[0], &back); inside(); }

int main(void)
{
    getcontext(&contexts[0]);
    contexts[0].uc_stack.ss_size = 1 << 16;
    contexts[0].uc_stack.ss_sp = malloc(1 << 16);
    contexts[0].uc_link = &back;
    makecontext(&contexts[0], entry, 0);
    swapcontext(&back, &contexts[0]);
    swapcontext(&back, &contexts[0]);
    return 0;
}
"""

# Stacks that are set up by hand. Where the entry would return to, there is whatever VALUE is.
BY_HAND = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile sink;
void *saved;
static char stack[1 << 16] __attribute__((aligned(64)));

__asm__(".text\nswitch_to:\n push %rbp\n push %rbx\n mov %rsp, saved(%rip)\n mov %rdi, %rsp\n mov %rdx, %rbp\n jmp *%rsi\n"
        "switch_back:\n mov saved(%rip), %rsp\n pop %rbx\n pop %rbp\n ret\n"
        "finish:\n xor %edi, %edi\n call abort\n hlt\n"); /* as the end of a context of another library */
void switch_to(void *stack, void (*entry)(void), const void *frame);
void switch_back(void);
void finish(void);

static void deeper(void) { sink = malloc(301); }
static void entry(void) { deeper(); switch_back(); }
static void other(void) { sink = NULL; }

int main(void)
{
    const void *values[] = {0, main, (char *)main + 1, other, finish, stack, stack + 100, stdout, "text", (void *)-1,
                            (void *)0x1234, (void *)0xffffffff81000000, malloc(1000)};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        for (int with_frame = 0; with_frame < 2; with_frame++) {
            const void **top = (const void **)(stack + sizeof stack - 1024 - 8);
            for (int k = 0; k < 100; k++)
                top[k] = values[i];
            switch_to(top, entry, with_frame ? values[i] : (const void *)(top + 4));
        }
    return 0;
}
"""

DEPTHS = r"""
#include <stdlib.h>
static void *volatile sink;
static __attribute__((noinline)) int down(int depth)
{
    volatile int here = depth;
    if (depth == 0) {
        sink = malloc(400);
        return 0;
    }
    return down(depth - 1) + here;
}
int main(int count, char **arguments)
{
    int sum = 0;
    for (int i = 1; i < count; i++)
        sum += down(atoi(arguments[i]));
    return sum < 0;
}
"""


class Stacks(RecordTest):
    def stacks(self, source, *arguments, flags=(), size=None):
        """The functions of each allocation, innermost first."""
        program = programs.build(self.folder, "program", source, *flags)
        self.record(program, *map(str, arguments))
        stacks, found = {}, []
        for line in self.run_ok("dump", "--json", self.folder / "out.mlyze").json_lines():
            if "frames" in line:
                stacks[line["stack"]] = [frame["function"] for frame in line["frames"]]
            elif line.get("event") == "alloc" and line["size"] == size:
                found.append(stacks[line["stack"]])
        return found

    @unittest.skipUnless(IS_X86, "the code is for x86")
    def test_what_a_signal_interrupted(self):
        for flags in ((), ("-O2",), ("-fno-omit-frame-pointer",)):
            with self.subTest(flags=flags):
                for stack in self.stacks(SIGNALS, flags=flags, size=101):
                    self.assertEqual(stack[:4], ["on_stop", "<signal handler called>", "stops", "main"])
                    self.assertEqual(stack[-1], "_start")

    @unittest.skipUnless(IS_X86, "the code is for x86")
    def test_a_handler_in_a_handler(self):
        (stack,) = self.stacks(SIGNALS, size=102)
        self.assertEqual(stack.count("<signal handler called>"), 2)
        names = [name for name in stack if name in ("inner", "outer", "main", "<signal handler called>")]
        self.assertEqual(names, ["inner", "<signal handler called>", "outer", "<signal handler called>", "main"])

    @unittest.skipUnless(IS_X86, "the code is for x86")
    def test_addresses_alone_are_given_names_later(self):
        program = programs.build(self.folder, "program", SIGNALS)
        self.record(program, options=["--no-symbols"])
        self.assertIn("<signal handler called>", self.run_ok("dump", "--json", self.folder / "out.mlyze").text)
        sextant.run("heap", "--symbolize", self.folder / "out.mlyze")
        lines = self.run_ok("dump", "--json", self.folder / "out.mlyze").json_lines()
        stacks = [[frame["function"] for frame in line["frames"]] for line in lines if "frames" in line]
        stacks = [stack[:4] for stack in stacks if "on_stop" in stack]
        self.assertEqual(stacks, [["on_stop", "<signal handler called>", "stops", "main"]] * len(stacks))
        self.assertGreater(len(stacks), 0)

    def test_contexts_end_at_their_entry(self):
        for flags in ((), ("-O2",), ("-fno-omit-frame-pointer",)):
            with self.subTest(flags=flags):
                stacks = self.stacks(CONTEXTS, flags=("-fno-optimize-sibling-calls", *flags), size=201)
                self.assertEqual(len(stacks), 2)
                for stack in stacks:
                    self.assertEqual([name for name in stack if name != "__start_context"], ["inside", "entry"])

    @unittest.skipUnless(IS_X86, "the code is for x86")
    def test_stacks_that_are_set_up_by_hand_end_at_their_entry(self):
        for flags in (("-fno-omit-frame-pointer",), ("-O1", "-fomit-frame-pointer")):
            with self.subTest(flags=flags):
                flags = ("-fno-optimize-sibling-calls", "-Wl,-z,noexecstack", *flags)
                stacks = self.stacks(BY_HAND, flags=flags, size=301)
                self.assertEqual(len(stacks), 26)
                self.assertEqual({tuple(stack) for stack in stacks}, {("deeper", "entry")})

    def test_a_stack_with_more_frames_says_so(self):
        depths = [300, *range(114, 132), 5, 300, 126]
        stacks = self.stacks(DEPTHS, *depths, size=400)
        outside = len([name for name in stacks[-3] if name != "down"])
        self.assertEqual(len(stacks[-3]), 6 + outside)
        for depth, stack in zip(depths, stacks):
            with self.subTest(depth=depth):
                if depth + 1 + outside <= 128:
                    self.assertEqual(len(stack), depth + 1 + outside)
                    self.assertNotIn("[truncated]", stack)
                else:
                    self.assertEqual(len(stack), 129)
                    self.assertEqual(stack.index("[truncated]"), 128)

    def test_sums_know_that_callers_are_missing(self):
        self.stacks(DEPTHS, 5, 300, 301, 302)
        out = self.folder / "out.mlyze"
        rows = self.run_ok("heap", "--by", "function", "--json", out).json_lines()
        sums = {row["function"]: row for row in rows if "function" in row}
        self.assertEqual(sums["[truncated]"]["inclusive"], 1200)
        self.assertEqual(sums["main"]["inclusive"], 400)
        self.stacks(DEPTHS, 300, 301)
        for options in (["--tree"], [], ["--top"], ["--peak"], ["--top", "--all"]):
            self.assertIn("[truncated]", self.run_ok("heap", *options, out).text, options)


if __name__ == "__main__":
    tap.main()
