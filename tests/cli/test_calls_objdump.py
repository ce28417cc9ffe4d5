"""Calls against objdump: in every function of a file, those that `objdump -d` shows, and no others.

The program under test is tests/programs/list_calls of the build, which lists what src/code finds. Objdump begins anew at
every symbol, and so does the list at every function; what lies between functions is not compared. SEXTANT_TEST_BIG=1
adds all programs of the system and the kernel of a debug package.
"""

import bisect
import glob
import os
import pathlib
import shutil
import subprocess

from support import elf_reader as elf
from support import objdump_listing, samples, sextant, tap

BIG = os.environ.get("SEXTANT_TEST_BIG") == "1"
VMLINUX = os.environ.get("SEXTANT_TEST_VMLINUX", "/usr/lib/debug/boot/vmlinux-*")
LIST_CALLS = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "tests" / "programs" / "list_calls"

# Calls of every kind that a compiler makes, and a few that it does not.
PROGRAM = r"""
extern int outside(int) __attribute__((weak));
extern __thread int in_thread;
struct table { int (*first)(int); int (*second[4])(int); };
struct thing { struct table *table; long numbers[40]; double reals[8]; };

__attribute__((noinline)) int direct(int value) { return value * 3 + 1; }
__attribute__((noinline)) int deeper(int value) { return direct(value) + direct(value + 1); }

int through_tables(struct thing *thing, int index)
{
    int sum = thing->table->first(index);
    for (int i = 0; i < index; i++)
        sum += thing->table->second[i & 3](sum) + thing[i].table[3].second[2](i);
    return sum + (outside ? outside(sum) : 0);
}

double with_numbers(struct thing *thing, int index)
{
    double sum = 0;
    for (int i = 0; i < 8; i++)
        sum += thing->reals[i] * (double)thing->numbers[i + index] / 3.5;
    return sum + deeper((int)sum);
}

int with_switch(struct thing *thing, int index)
{
    switch (index) {
    case 0: return direct(1);
    case 1: return deeper(0xe8e8e8);
    case 2: return through_tables(thing, 0x00e800e8);
    case 3: return (int)with_numbers(thing, 4);
    case 4: return thing->table->first(8);
    case 5: return in_thread;
    case 6: in_thread = direct(index); return 6;
    default: __builtin_trap();
    }
}
"""
START = PROGRAM + "__thread int in_thread; void _start(void) { with_switch((struct thing *)0, deeper(6)); }\n"

ODD_X86 = r"""
    .text
    .globl odd
    .type odd, @function
odd:
    syscall
    int $0x80
    .byte 0xcd, 3
    int3
    .byte 0xf1
    call odd
    bnd call odd
    notrack call *%rax
    .byte 0x67
    call odd
    .byte 0x66, 0x66, 0x48
    call odd
    call *odd(%rip)
    call *%fs:(%r12,%rcx,8)
    lcall *(%rsp)
    jmp *8(%rsp)
    lock cmpxchg %rax, 0xe8e8e8(%rbx)
    movabs $0xe8e8e8e8e8e8e8e8, %rax
    movabs 0xe8e8e8e8e8e8e8e8, %rax
    testw $0xe8e8, 0xe8e8e8(%rcx,%rdx,2)
    testb $0xe8, %al
    vpalignr $0xe8, 0xe8e8e8(%rip), %ymm1, %ymm2
    vmovdqu64 0xe8e8e8(%rip), %zmm1
    pcmpistri $0xe8, %xmm1, %xmm2
    fldl 0xe8e8e8(%rip)
    enter $0xe8e8, $0xe8
    ret $0xe8e8
    jmp behind
table:
    .long odd - table, behind - table, 0xe8, 0x06060606, 0xffffffff
    .ascii "some text between the instructions"
    .byte 0x06, 0x07, 0x90, 0x90
behind:
    call *%r11
    jmp odd
    .size odd, . - odd
"""

NEW_X86 = r"""
    .text
    .globl new
    .type new, @function
new:
    {vex} vpmadd52luq 0xe8e8e8(%rax), %xmm1, %xmm2
    {vex} vpmadd52huq 0xe8e8e8(%rax,%rbx,8), %ymm1, %ymm2
    vpdpbssd 0xe8e8e8(%rax), %xmm1, %xmm2
    cmpbexadd %eax, %ebx, 0xe8e8e8(%rax)
    vbcstnebf162ps 0xe8e8e8(%rip), %xmm1
    aadd %eax, 0xe8e8e8(%rax)
    aand %rax, 0xe8e8e8(%r9)
    call new
    .size new, . - new
"""

ODD_AARCH64 = r"""
    .arch armv8.3-a
    .text
    .globl odd
    .type odd, %function
odd:
    bl odd
    blr x3
    blraa x1, x2
    blraaz x1
    blrab x1, sp
    blrabz x30
    svc #0
    svc #0xffff
    br x3
    braa x1, x2
    braaz x1
    brab x1, x2
    brabz x30
    b odd
    b.eq odd
    hvc #0
    smc #0
    brk #1
    ldr x0, =0x94000001d63f0000
    retaa
    .word 0x94000001, 0xd63f0000, 0xd4000001
    .ltorg
    nop
    bl odd
    ret
    .size odd, . - odd
"""


class CallsTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        if not LIST_CALLS.exists():
            self.skipTest("list_calls is not built")

    def build(self, *flags, compiler="gcc", source=START, language="c", name="program"):
        """A program without a library, as that may be missing for other processors."""
        sextant.need_tool(compiler)
        path = self.folder / name
        source_path = self.file(f"{name}.{language}", source)
        sextant.tool(compiler, "-O2", "-nostdlib", "-fno-builtin", "-o", path, source_path, *flags)
        return path

    def compare(self, path, objdump="objdump", fewest=1):
        """Both must list the same calls, and enough of them."""
        sextant.need_tool(objdump)
        functions = Functions(path)
        ours = calls_of_list(path)
        theirs = {call for call in objdump_listing.calls(path, functions.machine, objdump) if call[0] in functions}
        self.assertEqual(describe(ours - theirs), "", f"{path}: calls that objdump does not show")
        self.assertEqual(describe(theirs - ours), "", f"{path}: calls that only objdump shows")
        self.assertGreaterEqual(len(theirs), fewest, f"{path}: too few calls to compare")


class X86(CallsTest):
    def setUp(self):
        super().setUp()
        sextant.need_tool("gcc")
        if not subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True).stdout.startswith("x86_64"):
            self.skipTest("gcc is for another processor")

    def test_levels(self):
        for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
            with self.subTest(level=level):
                self.compare(self.build(level), fewest=5)

    def test_vectors(self):
        for option in ("-mavx2", "-march=skylake-avx512", "-mfpmath=387"):
            with self.subTest(option=option):
                self.compare(self.build("-O3", option), fewest=5)

    def test_ways_to_call(self):
        for options in (["-fcf-protection=full"], ["-fcf-protection=none"], ["-mindirect-branch=thunk"],
                        ["-fPIC", "-shared"], ["-fPIC", "-shared", "-fno-plt"], ["-mcmodel=large"],
                        ["-fPIC", "-shared", "-ftls-model=global-dynamic", "-Wl,-z,now"]):
            with self.subTest(options=options):
                self.compare(self.build(*options), fewest=5)

    def test_assembler(self):
        self.compare(self.build("-static", source=ODD_X86, language="s"), fewest=12)

    def test_instructions_that_are_newer_than_the_decoder(self):
        sextant.need_tool("objdump")
        try:
            path = self.build("-shared", source=NEW_X86, language="s")
        except AssertionError:
            self.skipTest("they are newer than the assembler, too")
        if b"(bad)" in sextant.tool("objdump", "-d", path):
            self.skipTest("they are newer than objdump, too")
        self.compare(path)

    def test_code_of_32_bits(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level=level):
                self.compare(self.build("-m32", level, "-static"), fewest=5)

    def test_files_of_32_bits_with_code_of_64(self):
        self.compare(self.build("-mx32", "-static"), fewest=5)

    def test_a_whole_c_library(self):
        path = self.folder / "static"
        try:
            sextant.tool("gcc", "-static", "-o", path, self.file("static.c", samples.SOURCE))
        except AssertionError:
            self.skipTest("there is no static C library")
        self.compare(path, fewest=2000)


class AArch64(CallsTest):
    GCC, OBJDUMP = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump"

    def setUp(self):
        super().setUp()
        sextant.need_tool(self.GCC, self.OBJDUMP)

    def test_levels(self):
        for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
            with self.subTest(level=level):
                self.compare(self.build(level, compiler=self.GCC), self.OBJDUMP, fewest=5)

    def test_ways_to_call(self):
        for options in (["-fPIC", "-shared"], ["-mbranch-protection=standard"], ["-march=armv8.3-a+sve"],
                        ["-mcmodel=large", "-fno-pie", "-static"]):
            with self.subTest(options=options):
                self.compare(self.build(*options, compiler=self.GCC), self.OBJDUMP, fewest=5)

    def test_a_big_endian_file(self):
        path = self.build("-mbig-endian", "-static", compiler=self.GCC)
        self.assertEqual(elf.ElfFile.open(path).order, ">")
        self.compare(path, self.OBJDUMP, fewest=5)

    def test_assembler(self):
        for order in ("-mlittle-endian", "-mbig-endian"):
            with self.subTest(order=order):
                path = self.build(order, "-shared", compiler=self.GCC, source=ODD_AARCH64, language="s")
                self.compare(path, self.OBJDUMP, fewest=9)
                self.assertEqual(len(calls_of_list(path)), 9)

    def test_libraries(self):
        libraries = [path for name in ("libc.so.6", "libm.so.6", "libstdc++.so.6")
                     for path in glob.glob(f"/usr/aarch64-linux-gnu/lib/{name}")]
        if not libraries:
            self.skipTest("there are none for this processor")
        for path in libraries:
            with self.subTest(path=path):
                self.compare(path, self.OBJDUMP, fewest=1000)

    def test_a_whole_c_library(self):
        path = self.folder / "static"
        try:
            sextant.tool(self.GCC, "-static", "-o", path, self.file("static.c", samples.SOURCE))
        except AssertionError:
            self.skipTest("there is no static C library for this processor")
        self.compare(path, self.OBJDUMP, fewest=2000)


class System(CallsTest):
    """What is installed, by the names that it exports."""

    def compare_files(self, paths):
        compared = 0
        for path in paths:
            if Functions(path).machine in objdump_listing.CALLS:
                with self.subTest(path=path):
                    self.compare(path, fewest=0)
                    compared += 1
        if compared == 0:
            self.skipTest("there is nothing to compare")

    def test_programs(self):
        self.compare_files([path for path in map(shutil.which, ("bash", "python3", "perl")) if path][:2])

    def test_the_c_library(self):
        self.compare_files(sorted(glob.glob("/usr/lib/*-linux-gnu/libc.so.6"))[:1])

    def test_the_program_under_test(self):
        self.compare_files([sextant.program()])

    def test_many(self):
        if not BIG:
            self.skipTest("only with SEXTANT_TEST_BIG=1")
        relocatable = elf.ET_REL
        self.compare_files([path for path in samples.system_files() if elf.ElfFile.open(path).type != relocatable])

    def test_a_kernel(self):
        kernels = glob.glob(VMLINUX)
        if not BIG or not kernels:
            self.skipTest("only with SEXTANT_TEST_BIG=1 and a kernel's debug package")
        self.compare(kernels[0], fewest=100_000)


def describe(calls):
    """The first few, as address and length."""
    return ", ".join(f"{address:x} ({length})" for address, length in sorted(calls)[:10])


def calls_of_list(path):
    lines = sextant.tool(LIST_CALLS, path).splitlines()
    return {tuple(int(word, 16) for word in line.split()) for line in lines}


class Functions:
    """Is an address in a function that the symbols of a file name?"""

    def __init__(self, path):
        file = elf.ElfFile.open(path)
        self.machine = file.machine
        table = elf.SHT_SYMTAB if file.symbol_section(elf.SHT_SYMTAB) else elf.SHT_DYNSYM
        spans = sorted((symbol.value, symbol.value + symbol.size) for symbol in file.symbols(table)
                       if symbol.type in (elf.STT_FUNC, elf.STT_GNU_IFUNC) and symbol.section != elf.SHN_UNDEF)
        self.starts, self.ends = [], []
        for start, end in spans:
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def __contains__(self, address):
        at = bisect.bisect_right(self.starts, address) - 1
        return at >= 0 and address < self.ends[at]


if __name__ == "__main__":
    tap.main()
