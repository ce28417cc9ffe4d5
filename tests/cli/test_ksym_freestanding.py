"""The reader of ksym blobs as a kernel has it: two files, no C library, and a kernel under qemu that reads its own symbols.

The kernel (support/ksym_kernel) is linked twice, as kernels are: without symbols, and with those that nm finds in it. It
prints all its symbols and a backtrace on the serial port.
"""

import re
import shutil
import subprocess

from support import ksym_writer, sextant, tap

READER = sextant.ROOT / "src" / "ksym" / "reader.c"
HEADER = sextant.ROOT / "include" / "sextant" / "ksym.h"
KERNEL = sextant.ROOT / "tests" / "cli" / "support" / "ksym_kernel"
FREESTANDING = ["-ffreestanding", "-nostdlib", "-std=c99"]
WARNINGS = "-Wall -Wextra -Wconversion -Wsign-conversion -Wpedantic -Wshadow -Wundef -Wcast-qual -Werror".split()
LEVELS = ("-O2", "-O0", "-O1", "-O3", "-Os")
MOST_STACK = 512
CROSS = "aarch64-linux-gnu-"
# Without an MMU, memory does not take unaligned loads.
KERNEL_FLAGS = ["-O1", "-g0", "-fno-pic", "-mstrict-align", "-mgeneral-regs-only", "-fno-omit-frame-pointer",
                "-fno-optimize-sibling-calls", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"]
SECONDS = 60


class Compiling(sextant.ProgramTest):
    """Alone with its header, each compiler takes it without a word, and it asks for nothing from outside."""

    def setUp(self):
        super().setUp()
        (self.folder / "sextant").mkdir()
        shutil.copy(HEADER, self.folder / "sextant" / "ksym.h")
        shutil.copy(READER, self.folder / "reader.c")

    def compile_with(self, compiler, *flags, nm="nm"):
        sextant.need_tool(compiler, nm)
        for level in sextant.some(LEVELS):
            with self.subTest(compiler=compiler, level=level):
                output = self.folder / "reader.o"
                said = subprocess.run([compiler, *FREESTANDING, *WARNINGS, *flags, level, "-I", self.folder, "-c",
                                       self.folder / "reader.c", "-o", output], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, check=False)
                self.assertEqual((said.stdout, said.returncode), ("", 0))
                self.assertEqual(sextant.tool(nm, "-u", output).decode(), "")
                self.assertIn(" T sxt_ksym_open", sextant.tool(nm, output).decode())
                data = [line for line in sextant.tool(nm, output).decode().splitlines() if line.split()[-2] in "BbDdCc"]
                self.assertEqual(data, [], "it has state of its own")

    def test_gcc(self):
        self.compile_with("gcc", f"-Wstack-usage={MOST_STACK}")

    @sextant.only_with_everything
    def test_clang(self):
        self.compile_with("clang", f"-Wframe-larger-than={MOST_STACK}")

    def test_gcc_for_aarch64(self):
        self.compile_with(CROSS + "gcc", f"-Wstack-usage={MOST_STACK}", nm=CROSS + "nm")

    @sextant.only_with_everything
    def test_gcc_for_aarch64_without_unaligned_loads(self):
        self.compile_with(CROSS + "gcc", "-mstrict-align", f"-Wstack-usage={MOST_STACK}", nm=CROSS + "nm")

    @sextant.only_with_everything
    def test_gcc_for_riscv64(self):
        self.compile_with("riscv64-linux-gnu-gcc", f"-Wstack-usage={MOST_STACK}", nm="riscv64-linux-gnu-nm")


class Kernel(sextant.ProgramTest):
    def build(self, blob):
        """The kernel with BLOB in it, and its text symbols in the order of addresses."""
        sextant.need_tool(CROSS + "gcc", CROSS + "nm")
        path = self.file("kernel.ksym", blob)
        output = self.folder / "kernel.elf"
        sextant.tool(CROSS + "gcc", *FREESTANDING, *WARNINGS, *KERNEL_FLAGS, "-static", "-no-pie",
                     "-I", sextant.ROOT / "include", f'-DBLOB="{path}"', "-Wl,--build-id=none", "-Wl,-z,noexecstack",
                     "-T", KERNEL / "kernel.ld", KERNEL / "start.S", KERNEL / "kernel.c", READER, "-o", output)
        lines = sextant.tool(CROSS + "nm", "-n", output).decode()
        symbols = [symbol for symbol in ksym_writer.read_text(lines) if symbol[1] in "Tt" and symbol[2][0] != "$"]
        return output, [symbol for symbol in symbols if symbol[2] not in ("text_start", "text_end")]

    def serial(self, kernel):
        """What the kernel prints until it switches the machine off."""
        sextant.need_tool("qemu-system-aarch64")
        done = subprocess.run(["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53", "-m", "64", "-nodefaults",
                               "-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", kernel],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stdout.endswith("end\n"), done.stdout)
        return done.stdout.splitlines()

    def archive(self, symbols, *options):
        text = "".join(f"{address:016x} {kind} {name}\n" for address, kind, name in symbols)
        return self.run_ok("archive", "-q", "-f", "ksym", *options, "-", "-o", "-", stdin=text).out

    def check_kernel(self, make_blob):
        empty, symbols = self.build(ksym_writer.write([], []))
        kernel, again = self.build(make_blob(symbols))
        self.assertEqual(symbols, again, "the blob moved the text")
        lines = self.serial(kernel)
        dumped = [f"{address:016x} {kind} {name}" for address, kind, name in symbols]
        self.assertEqual(lines[:len(dumped)], dumped)
        at = next(address for address, _, name in symbols if name == "second_caller")
        self.assertEqual(lines[len(dumped):len(dumped) + 3],
                         [f"find second_caller {at:016x}", "find nobody", "panic: as planned"])
        frames = [re.fullmatch(r"frame ([0-9a-f]{16}) ((\S+)\+0x\S+)", line) for line in lines[len(dumped) + 3:-1]]
        self.assertEqual([frame and frame[3] for frame in frames],
                         ["panic", "caller_of_nothing_more", "second_caller", "second_caller", "first_caller",
                          "kernel_main", "kernel_start"])
        text_end = self.symbol_address(kernel, "text_end")
        for frame in frames:
            self.assertEqual(frame[2], symbolized(symbols, text_end, int(frame[1], 16)))
        # The call that never returns is the last instruction: without a step back it would belong to what follows.
        following = int(frames[1][1], 16)
        self.assertIn(following, [address for address, _, _ in symbols])

    def symbol_address(self, kernel, name):
        lines = sextant.tool(CROSS + "nm", kernel).decode().splitlines()
        return next(int(line.split()[0], 16) for line in lines if line.split()[-1] == name)

    def test_a_kernel_prints_its_backtrace(self):
        self.check_kernel(self.archive)

    @sextant.only_with_everything
    def test_a_kernel_with_the_newer_layout(self):
        self.check_kernel(lambda symbols: self.archive(symbols, "--layout", "0.6"))

    @sextant.only_with_everything
    def test_a_kernel_with_the_blob_of_another_writer(self):
        self.check_kernel(ksym_writer.write)

    def test_a_kernel_with_a_broken_blob_says_so(self):
        _, symbols = self.build(ksym_writer.write([], []))
        kernel, _ = self.build(ksym_writer.write(symbols)[:-1])
        lines = self.serial(kernel)
        self.assertEqual(lines[0], "panic: there are fewer bytes than the token index needs")
        self.assertTrue(all(re.fullmatch(r"frame ([0-9a-f]{16}) 0x[0-9a-f]+", line) for line in lines[1:-1]))


def symbolized(symbols, text_end, address):
    """What a backtrace says for a return address."""
    starts = [start for start, _, _ in symbols]
    start = max(one for one in starts if one < address)
    name = next(one[2] for one in symbols if one[0] == start)
    end = min([one for one in starts if one > start] + [text_end])
    return f"{name}+0x{address - start:x}/0x{end - start:x}"


if __name__ == "__main__":
    tap.main()
