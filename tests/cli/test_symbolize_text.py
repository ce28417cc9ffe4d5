"""`sextant symbolize --text`: addresses in text get names, files and lines, and nothing else changes.

Reports of sanitizers and lines of backtrace() come from programs that the test compiles and runs; the sanitizers also
symbolize for themselves, which is what the result is compared with. Lines of perf and of the kernel are written by hand.
"""

import gzip
import os
import re
import select
import subprocess
import time
import unittest

from support import elf_reader, samples, sextant, tap
from support.elf_writer import ElfWriter

SOURCE = r"""
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int shared;
static inline __attribute__((always_inline)) int touch(char *memory, int at)
{
    return memory[at]; /* line: touch */
}
__attribute__((noinline)) int middle(char *memory, int at)
{
    return touch(memory, at) + 1; /* line: middle */
}
void *racer(void *argument)
{
    shared++; /* line: racer */
    return argument;
}
__attribute__((noinline)) int shift(int value, int by)
{
    return value << by; /* line: shift */
}
__attribute__((noinline)) void trace(int direct)
{
    void *frames[20];
    int count = backtrace(frames, 20); /* line: trace */
    if (direct) {
        backtrace_symbols_fd(frames, count, 1);
    } else {
        char **lines = backtrace_symbols(frames, count);
        for (int i = 0; i < count; i++)
            puts(lines[i]);
        free(lines);
    }
}
int main(int argc, char **argv)
{
    char *memory = malloc(10); /* line: malloc */
    if (argc == 2 && !strcmp(argv[1], "shift"))
        return shift(argc, 40 + argc); /* line: main shift */
    if (argc == 2 && !strncmp(argv[1], "trace", 5)) {
        trace(!strcmp(argv[1], "trace fd")); /* line: main trace */
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "race")) {
        pthread_t thread;
        pthread_create(&thread, 0, racer, 0); /* line: create */
        shared++; /* line: main race */
        pthread_join(thread, 0);
        return 0;
    }
    return middle(memory, 10 + argc); /* line: main middle */
}
"""


def line_of(mark):
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if f"/* line: {mark} */" in line)


class TextTest(sextant.ProgramTest):
    def program(self, *flags, name="program", compiler="gcc", source=SOURCE):
        sextant.need_tool(compiler)
        path = self.folder / name
        (self.folder / f"{name}.c").write_text(source)
        sextant.tool(compiler, "-g", "-O1", "-pthread", *flags, "-o", path, self.folder / f"{name}.c")
        return path

    def filtered(self, text, *options):
        """What comes out for TEXT, as text."""
        return self.run_ok("symbolize", "--text", "-q", *options, stdin=text).out.decode("utf-8", "surrogateescape")

    def frames(self, text):
        """(function, line) of all frames in filtered text that are of the test's program."""
        return [(name, int(line)) for name, line in re.findall(r"(\w+) \S*/program\.c:(\d+)", text)]


class Sanitizers(TextTest):
    def report(self, compiler, kind, *arguments):
        """What the sanitizer says without symbols, and what it says with those that it found itself."""
        try:
            path = self.program(f"-fsanitize={kind}", compiler=compiler)
        except AssertionError:
            raise unittest.SkipTest(f"{compiler} has no -fsanitize={kind} here") from None
        texts = []
        for symbolize in "01":
            setting = f"symbolize={symbolize}:print_stacktrace=1:strip_path_prefix=:color=never"
            env = {**os.environ, "ASAN_OPTIONS": setting, "UBSAN_OPTIONS": setting, "TSAN_OPTIONS": setting}
            done = subprocess.run([path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, check=False)
            texts.append(done.stdout.decode())
        if "unexpected memory mapping" in texts[0]:
            raise unittest.SkipTest("ThreadSanitizer does not run here")
        self.assertFalse([line for line in texts[0].splitlines() if re.match(r"\s*#\d+ .*program\.c", line)], texts[0])
        return texts

    def check(self, compiler, kind, argument, *expected):
        bare, own = self.report(compiler, kind, *argument)
        result = self.filtered(bare, "--search", self.folder)
        found = self.frames("\n".join(line for line in result.splitlines() if "SUMMARY" not in line))
        for function, mark in expected:
            self.assertIn((function, line_of(mark)), found, result)
        if compiler == "gcc":
            theirs = self.frames("\n".join(line for line in own.splitlines() if re.match(r"\s*#\d+ ", line)))
            self.assertEqual(sorted(set(found)), sorted(set(theirs)), f"{result}\n{own}")
        for before, after in zip(bare.splitlines(), [line for line in result.splitlines() if not re.match(r"^ {18}", line)]):
            head = re.match(r"\s*#\d+ 0x[0-9a-f]+", before)
            self.assertTrue(after.startswith(head.group() if head else before.split("<null>")[0].rstrip()), after)

    def test_address(self):
        for compiler in ("gcc", "clang"):
            with self.subTest(compiler=compiler):
                self.check(compiler, "address", (), ("touch", "touch"), ("middle", "middle"), ("main", "main middle"),
                           ("main", "malloc"))

    def test_undefined(self):
        for compiler in ("gcc", "clang"):
            with self.subTest(compiler=compiler):
                self.check(compiler, "undefined", ("shift",), ("shift", "shift"), ("main", "main shift"))

    def test_thread(self):
        for compiler in ("gcc", "clang"):
            with self.subTest(compiler=compiler):
                self.check(compiler, "thread", ("race",), ("racer", "racer"), ("main", "create"))

    def test_the_shape_of_a_line(self):
        bare, _ = self.report("gcc", "address")
        frame = next(line for line in bare.splitlines() if line.lstrip().startswith("#0"))
        head, _, tail = frame.partition("  (")
        source = self.folder / "program.c"
        self.assertEqual(
            self.filtered(frame + "\n"),
            f"{head} in touch {source}:{line_of('touch')} [inlined]  ({tail}\n"
            f"{' ' * len(head)} in middle {source}:{line_of('middle')}\n",
        )

    def test_the_build_id_finds_the_binary(self):
        path = self.program("-fsanitize=address", "-Wl,--build-id=sha1")
        main = next(one for one in elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB) if one.name == b"main")
        build_id = elf_reader.ElfFile.open(path).build_id()
        path.rename(self.folder / "elsewhere")
        line = f"    #0 0x5500  (/gone/program+0x{main.value:x}) (BuildId: {build_id})\n"
        self.assertIn("#0 0x5500 in main ", self.filtered(line, "--search", self.folder))
        self.assertEqual(self.filtered(line.replace(build_id, "00" * 20), "--search", self.folder),
                         line.replace(build_id, "00" * 20))


class Backtrace(TextTest):
    def check(self, *flags):
        path = self.program(*flags)
        for argument in ("trace", "trace fd"):
            bare = sextant.tool(path, argument)
            result = self.filtered(bare)
            self.assertEqual(self.frames(result)[:2], [("trace", line_of("trace")), ("main", line_of("main trace"))], result)
            for before, after in zip(bare.decode().splitlines(), result.splitlines()):
                self.assertTrue(after.startswith(before), result)
        return result

    def test_position_independent(self):
        self.check("-fPIE", "-pie")

    def test_with_names_of_functions(self):
        self.check("-fPIE", "-pie", "-rdynamic")

    def test_at_a_fixed_address(self):
        self.check("-no-pie")

    def test_a_form_without_the_address(self):
        path = self.program()
        bare = re.sub(r" ?\[0x[0-9a-f]+\]", "", sextant.tool(path, "trace").decode())
        result = self.filtered(bare)
        self.assertEqual(self.frames(result)[:2], [("trace", line_of("trace")), ("main", line_of("main trace"))], result)

    def test_another_name_of_a_function(self):
        path = self.program(source=SOURCE + '\nint second_name(int, int) __attribute__((alias("shift")));\n')
        result = self.filtered(f"{path}(second_name+0x2) [0x1234]\n")
        self.assertIn(f"[0x1234] shift {self.folder}/program.c:", result)

    def test_names_as_linked_in_an_archive_of_readable_ones(self):
        path = samples.compile_c(self.folder, "cpp", "-g", language="cpp", source=(
            "namespace space { int __attribute__((noinline)) twice(int x) { return 2 * x; } }\n"
            "int main(int count, char **) { return space::twice(count); }\n"))
        (self.folder / "store").mkdir()
        self.archive(path, name="store/cpp.lidia")
        for options in ((), ("--search", self.folder / "store", "--no-local")):
            result = self.filtered(f"{path}(_ZN5space5twiceEi+0x3) [0x1234]\n", *options)
            self.assertIn("[0x1234] space::twice(int) ", result)


class Perf(TextTest):
    """Frames as `perf script` prints them; how an address is meant differs from version to version."""

    def setUp(self):
        super().setUp()
        self.path = self.program("-fPIE", "-pie")
        elf = elf_reader.ElfFile.open(self.path)
        self.symbols = {one.name.decode(): one for one in elf.symbols(elf_reader.SHT_SYMTAB)}
        self.segment = next(one for one in elf.segments if one.type == elf_reader.PT_LOAD and one.flags & 1)
        self.base = 0x5612_3456_7000

    def expected(self, address):
        """The frames of lookup, as they are printed."""
        answer, = self.lookup(self.path, [address])
        return [f"{one['function']} {one['file']}:{one['line']}" + (" [inlined]" if one["inlined"] else "")
                for one in answer["frames"]]

    def where_a_line_ends(self, name):
        """An address of a function whose line is not that of the address before it."""
        symbol = self.symbols[name]
        addresses = range(symbol.value + 1, symbol.value + symbol.size)
        lines = [answer["frames"][0]["line"] for answer in self.lookup(self.path, addresses)]
        return next(address for address, before, line in zip(addresses[1:], lines, lines[1:]) if line != before)

    def stack(self, *frames):
        return "program 4711 12345.678901:     250000 cpu-clock:u: \n" + "".join(
            f"\t{address:16x} {name} ({self.path})\n" for address, name in frames) + "\n"

    def check(self, printed, before=""):
        """Two frames: the first is exact, the second an address to return to. PRINTED makes what perf shows of both."""
        middle = self.symbols["middle"].value + 4
        main = self.where_a_line_ends("main")
        text = before + self.stack(*map(printed, (middle, main)))
        lines = self.filtered(text).splitlines()
        shown = "\n".join(lines)
        first = next(i for i, line in enumerate(lines) if line.startswith("\t"))
        for address in (middle, main - 1):
            for expected in self.expected(address):
                self.assertTrue(lines[first].endswith(" " + expected), f"{expected}\n{shown}")
                first += 1
        self.assertEqual(lines[first], "")
        self.assertIn("program 4711 12345.678901:     250000 cpu-clock:u: ", lines)

    def name_and_offset(self, address):
        name = next(name for name, one in self.symbols.items() if one.size and one.value <= address < one.value + one.size)
        return name, address - self.symbols[name].value

    def test_addresses_of_the_process_with_symbols(self):
        self.check(lambda address: (self.base + address, "%s+0x%x" % self.name_and_offset(address)))

    def test_offsets_in_the_file_with_symbols(self):
        offset = self.segment.offset - self.segment.vaddr
        self.check(lambda address: (address + offset, "%s+0x%x" % self.name_and_offset(address)))

    def test_offsets_in_the_file_without_symbols(self):
        offset = self.segment.offset - self.segment.vaddr
        self.check(lambda address: (address + offset, "[unknown]"))

    def test_symbols_without_offsets(self):
        self.check(lambda address: (self.base + address, self.name_and_offset(address)[0]))

    def test_mappings_that_were_printed_before(self):
        start = self.base + (self.segment.vaddr & ~0xFFF)
        offset = self.segment.offset & ~0xFFF
        event = (f"program 4711 12345.1: PERF_RECORD_MMAP2 4711/4711: [0x{start:x}(0x5000) @ 0x{offset:x} fe:00 247072 0]: "
                 f"r-xp {self.path}\n")
        self.assertEqual(self.filtered(event), event)
        self.check(lambda address: (self.base + address, "[unknown]"), event)

    def test_a_sample_on_one_line(self):
        address = self.symbols["middle"].value + 4
        line = f"program 4711 1.2: 1 cycles:  {self.base + address:x} middle+0x4 ({self.path})\n"
        self.assertIn(f"({self.path}) {self.expected(address)[0]}", self.filtered(line))

    def test_a_symbol_that_is_not_where_the_line_says(self):
        """A file of that name may be another build: better no answer than a wrong one."""
        for line in (self.stack((self.base + self.symbols["main"].value + 9, "middle+0x4")),
                     self.stack((self.symbols["main"].value + 9, "no_such_function+0x5")),
                     self.stack((self.base, "[unknown]"))):
            self.assertEqual(self.filtered(line), line)

    def test_names_without_parameters(self):
        path = samples.compile_c(self.folder, "cpp", "-g", language="cpp", source=(
            "namespace space { int __attribute__((noinline)) twice(int x) { return 2 * x; } }\n"
            "int main(int count, char **) { return space::twice(count); }\n"))
        symbols = elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
        start = next(one.value for one in symbols if one.name == b"_ZN5space5twiceEi")
        line = f"\t    {0x7000_0000_0000 + start:x} space::twice+0x0 ({path})\n"
        self.assertRegex(self.filtered(line), r"\) space::twice\(int\) \S+:1\n")


class KernelTest(TextTest):
    TEXT = 0xFFFF_FFFF_8100_0000

    def setUp(self):
        super().setUp()
        writer = ElfWriter()
        section = writer.text(address=self.TEXT, size=0x4000)
        writer.symbol("do_syscall_64", self.TEXT + 0x1000, 0x90, section=section)
        writer.symbol("next_one", self.TEXT + 0x1090, 0x10, section=section)
        writer.symbol("twin", self.TEXT + 0x2000, 0x10, section=section)
        writer.symbol("twin", self.TEXT + 0x3000, 0x20, section=section)
        self.file("store/vmlinux", writer.build())
        module = ElfWriter(type=elf_reader.ET_REL)
        section = module.text(address=0, size=0x100)
        module.symbol("ext4_find", 0x40, 0x20, section=section)
        self.file("store/ext4.ko", module.build())

    def kernel(self, text, *more, store="store"):
        return self.filtered(text, "--search", self.folder / store, "--no-local", *more)

    def other_kernel(self, text, store="store"):
        """What comes out, and the one warning."""
        done = self.run_warned("symbolize", "--text", "--no-local", "--search", self.folder / store, stdin=text)
        warning, = done.err.splitlines()
        return done.text, warning


class Kernel(KernelTest):
    def test_an_oops(self):
        text = (
            "[   12.345678] BUG: kernel NULL pointer dereference, address: 0000000000000010\n"
            "[   12.345680] RIP: 0010:ext4_find+0x12/0x20 [ext4]\n"
            "[   12.345690] Call Trace:\n"
            "[   12.345691]  <TASK>\n"
            "[   12.345692]  ? unknown_function+0x20/0x70\n"
            "[   12.345693]  do_syscall_64+0x56/0x90\n"
            "[   12.345694]  ext4_find+0x10/0x20 [ext4 0123456789abcdef]\n"
        )
        result = self.kernel(text).splitlines()
        self.assertEqual(result[1], "[   12.345680] RIP: 0010:ext4_find+0x12/0x20 [ext4] ext4_find")
        self.assertEqual(result[5], "[   12.345693]  do_syscall_64+0x56/0x90 do_syscall_64")
        self.assertEqual(result[6], "[   12.345694]  ext4_find+0x10/0x20 [ext4 0123456789abcdef] ext4_find")
        for unchanged in (0, 2, 3, 4):
            self.assertEqual(result[unchanged], text.splitlines()[unchanged])

    def test_an_address_after_the_last_call(self):
        self.assertEqual(self.kernel(" do_syscall_64+0x90/0x90\n"), " do_syscall_64+0x90/0x90 do_syscall_64\n")
        self.assertEqual(self.kernel("pc : next_one+0x0/0x10\n"), "pc : next_one+0x0/0x10 next_one\n")

    def test_the_size_distinguishes_functions_of_one_name(self):
        """The first twin ends at 0x10, the next symbol is 0x1000 away; nothing follows the second."""
        for size in (0x20, 0x24, 0x1000):
            line = f" twin+0x8/0x{size:x}"
            self.assertEqual(self.kernel(line + "\n"), line + " twin\n")
        self.assertEqual(self.kernel(" twin+0x18/0x10\n"), " twin+0x18/0x10\n")

    def test_a_size_that_contradicts(self):
        """Another kernel wrote it: no answer, and one warning for all such lines."""
        text = " do_syscall_64+0x56/0x91\n next_one+0x1/0x8\n do_syscall_64+0x1/0x90\n"
        result, warning = self.other_kernel(text)
        self.assertEqual(result, text[:-1] + " do_syscall_64\n")
        self.assertRegex(warning, r"/vmlinux: warning: do_syscall_64 has 0x91 bytes in the text but 0x90 here")

    def test_bare_addresses_after_a_size_that_contradicts(self):
        """The kernel is another one: its functions are elsewhere."""
        address = f"[<{self.TEXT + 0x1010:x}>]\n"
        self.assertEqual(self.kernel(address), address[:-1] + " do_syscall_64\n")
        text = " do_syscall_64+0x56/0x91\n" + address
        self.assertEqual(self.other_kernel(text)[0], text)

    def test_perf_frames_of_a_kernel_that_was_moved(self):
        moved = self.TEXT + 0x1A600000
        event = (f"swapper 0 0.0: PERF_RECORD_MMAP -1/0: [0x{moved:x}(0x1208bc8) @ 0x{moved:x}]: x [kernel.kallsyms]_text\n")
        frame = f"\t{moved + 0x1010:x} [unknown] ([kernel.kallsyms])\n"
        named = f"\t{moved + 0x1010:x} do_syscall_64+0x10 ([kernel.kallsyms])\n"
        self.assertEqual(self.kernel(event + frame), event + frame[:-1] + " do_syscall_64\n")
        self.assertEqual(self.kernel(named), named[:-1] + " do_syscall_64\n")


class KernelSizes(TextTest):
    """A kernel prints the distance to the next symbol of any kind. The table is made for this test; a function has lines, so
    that the answer shows which one is meant."""

    SOURCE = """
        #define FUNCTION(name, size) __attribute__((section(".text"), noinline, used)) int name(int x) { return x * size; }
        FUNCTION(padded, 3)
        __asm__(".balign 64; .type label, @object; .globl label; label: .skip 16; .balign 256");
        FUNCTION(before_weak, 7)
        __attribute__((weak)) FUNCTION(weak_one, 9)
        int alias_of_weak(int) __attribute__((alias("weak_one")));
        static __attribute__((cold, noinline, used)) int part(int x) { return x + 11; }
        int main(int n, char **v) { (void)v; return padded(n) + before_weak(n) + weak_one(n) + part(n); }
        """

    def setUp(self):
        super().setUp()
        path = samples.compile_c(self.folder, "vmlinux", "-g", "-O1", "-no-pie", "-fno-toplevel-reorder", source=self.SOURCE)
        (self.folder / "elf").mkdir()
        self.path = path.rename(self.folder / "elf" / "vmlinux")
        symbols = elf_reader.ElfFile.open(self.path).symbols(elf_reader.SHT_SYMTAB)
        self.symbols = [one for one in symbols if one.name and one.section and one.type in (0, 1, 2)]
        for ending in ("lidia", "symbfile", "ksym"):
            (self.folder / ending).mkdir()
            self.run_ok("archive", "-q", self.path, "-o", self.folder / ending / f"vmlinux.{ending}")

    def printed(self, name, offset):
        """A line as kallsyms makes it."""
        start = next(one.value for one in self.symbols if one.name == name.encode())
        end = min(one.value for one in self.symbols if one.value > start)
        return f"[    1.234567]  {name}+0x{offset:x}/0x{end - start:x}"

    def answers(self, line, store):
        result = self.filtered(line + "\n", "--no-local", "--search", self.folder / store)
        self.assertTrue(result.startswith(line), result)
        return result[len(line):].strip()

    def test_the_distance_to_the_next_symbol(self):
        for name in ("padded", "before_weak", "weak_one", "alias_of_weak", "part", "main"):
            line = self.printed(name, 1)
            size = next(one.size for one in self.symbols if one.name == name.encode())
            if name == "padded":
                self.assertFalse(line.endswith(f"/0x{size:x}"), "the test needs a function that is padded")
            for store in ("elf", "lidia", "symbfile", "ksym"):
                with self.subTest(name=name, store=store):
                    if name == "alias_of_weak" and store in ("lidia", "symbfile"):
                        continue
                    answer = self.answers(line, store)
                    same = ("weak_one", "alias_of_weak")
                    self.assertIn(answer.split()[0], same if name in same else (name,))
                    if store != "ksym":
                        self.assertRegex(answer, r"^\w+ \S+vmlinux\.c:\d+$")

    def test_the_functions_own_size_and_sizes_of_no_symbol(self):
        size = next(one.size for one in self.symbols if one.name == b"padded")
        self.assertIn("padded", self.answers(f" padded+0x1/0x{size:x}", "elf"))
        for wrong in (size - 1, 0x1234):
            line = f" padded+0x1/0x{wrong:x}\n"
            for store in ("elf", "lidia", "symbfile"):
                done = self.run_warned("symbolize", "--text", "--no-local", "--search", self.folder / store, stdin=line)
                self.assertEqual(done.text, line)
                self.assertIn(f"padded has 0x{wrong:x} bytes in the text", done.err)

    def test_endings_of_compilers(self):
        """An archive made from DWARF has the name of the source."""
        size = next(one.size for one in self.symbols if one.name == b"part")
        for ending in (".isra.0", ".constprop.0.cold", ".part.12"):
            line = f" part{ending}+0x1/0x{size:x}"
            self.assertIn("part ", self.answers(line, "lidia"))
            self.assertEqual(self.answers(line, "elf"), "", "the table has no such symbol")
        self.assertEqual(self.answers(" part.cold+0x1/0x3000", "lidia"), "", "another part, which the archive may not have")

    def test_forms_of_several_machines(self):
        for line in ("RIP: 0010:%s", "EIP: %s", "IP: %s", "pc : %s", "lr : %s", "PC is at %s", "epc : %s", " ra : %s",
                     "NIP [c000000000123456] %s", "NIP [c000000000123456] .%s", "Krnl PSW : 0704c00180000000 (%s)",
                     "<4>[ 1.2]  ? %s", "Jan  1 00:00:00 host kernel: [   1.2] [  T1234]  %s",
                     " [<c0010f64>] (main) from %s",
                     "BUG: KASAN: use-after-free in %s", "WARNING: CPU: 0 PID: 1 at a.c:1 %s"):
            text = line.replace("%s", self.printed("before_weak", 2).split()[-1])
            self.assertIn("before_weak ", self.answers(text, "elf"), text)


class KernelAddresses(KernelTest):
    """Addresses without a symbol, of a kernel that may have been moved."""

    def setUp(self):
        super().setUp()
        text = "".join(f"{self.TEXT + at:016x} T {name}\n" for at, name in
                       ((0, "_text"), (0x1000, "do_syscall_64"), (0x1090, "next_one"), (0x2000, "twin"), (0x3000, "end")))
        module = f"{self.TEXT + 0x20000000:016x} t probe\t[ext3]\n{self.TEXT + 0x20000100:016x} t remove\t[ext3]\n"
        self.file("text", text + module)
        (self.folder / "blob").mkdir()
        self.run_ok("archive", "-q", self.folder / "text", "-o", self.folder / "blob" / "anything.ksym")
        (self.folder / "archive").mkdir()
        self.run_ok("archive", "-q", self.folder / "store" / "vmlinux", "-o", self.folder / "archive" / "vmlinux-6.1.lidia")

    STORES = ("store", "blob", "archive")

    def test_without_an_offset(self):
        for form in (" [<%x>]", "pc=0x%x", "RIP: 0010:[<%x>]", "RIP: 0010:0x%x", "epc : %x", "NIP:  %x", "pc: 0x%x",
                     "[ 1.2]  ? 0x%x"):
            line = form % (self.TEXT + 0x1010)
            for store in self.STORES:
                self.assertEqual(self.kernel(line + "\n", store=store), line + " do_syscall_64\n")
                other = form % (self.TEXT - 0x1000) + "\n"
                self.assertEqual(self.kernel(other, store=store), other)

    def test_a_blob_that_is_given_itself(self):
        line = " [<%x>]" % (self.TEXT + 0x1010)
        self.assertEqual(self.kernel(line + "\n", store="blob/anything.ksym"), line + " do_syscall_64\n")
        self.assertEqual(self.kernel(line + "\n", store="archive/vmlinux-6.1.lidia"), line + " do_syscall_64\n")

    def test_return_addresses(self):
        """What is after a call may already be the next function; a program counter is where it says."""
        after = self.TEXT + 0x1090
        for form, function in ((" [<%x>]", "do_syscall_64"), ("lr : [<%x>]", "do_syscall_64"), ("ra : %x", "do_syscall_64"),
                               ("pc : [<%x>]", "next_one"), ("RIP: 0010:[<%x>]", "next_one"), ("pc=0x%x", "next_one")):
            self.assertEqual(self.kernel(form % after + "\n"), f"{form % after} {function}\n")

    def test_several_on_a_line(self):
        at = self.TEXT
        self.assertEqual(self.kernel(f"pc : [<{at + 0x1010:x}>]    lr : [<{at + 0x1095:x}>]    psr: 60000013\n"),
                         f"pc : [<{at + 0x1010:x}>] do_syscall_64    lr : [<{at + 0x1095:x}>] next_one    psr: 60000013\n")

    def test_the_offset_of_the_kernel(self):
        """It comes last. The lines before it wait."""
        moved = 0x1A600000
        trace = f"Call Trace:\n [<{self.TEXT + moved + 0x1010:x}>]\n [<{self.TEXT + moved + 0x1098:x}>] ? 0x0\nend\n"
        named = trace.replace("1010>]", "1010>] do_syscall_64").replace("1098>]", "1098>] next_one")
        offset = (f"Kernel Offset: 0x{moved:x} from 0x{self.TEXT:x} (relocation range: 0xffffffff80000000-"
                  "0xffffffffbfffffff)\n")
        for store in self.STORES:
            self.assertEqual(self.kernel(trace + offset, store=store), named + offset)
            self.assertEqual(self.kernel(offset + trace, store=store), offset + named)
            self.assertEqual(self.kernel(trace, store=store), trace)
        disabled = f" [<{self.TEXT + 0x1010:x}>]"
        self.assertEqual(self.kernel(f"Kernel Offset: disabled\n{disabled}\n"),
                         f"Kernel Offset: disabled\n{disabled} do_syscall_64\n")
        restarted = "[ 0.0] Linux version 6.1\n"
        self.assertEqual(self.kernel(offset + restarted + disabled + "\n"),
                         offset + restarted + disabled + " do_syscall_64\n")

    def test_a_file_that_was_made_from_the_moved_kernel(self):
        moved = 0x1A600000
        text = "".join(f"{int(line.split()[0], 16) + moved:x} {line.split(None, 1)[1]}"
                       for line in (self.folder / "text").read_text().splitlines(True))
        self.file("running/now.txt", text)
        self.run_ok("archive", "-q", self.folder / "running" / "now.txt", "-o", self.folder / "running" / "kernel.ksym")
        line = f" [<{self.TEXT + moved + 0x1010:x}>]"
        offset = f"Kernel Offset: 0x{moved:x} from 0x{self.TEXT:x}\n"
        self.assertEqual(self.kernel(line + "\n" + offset, store="running"), line + " do_syscall_64\n" + offset)

    def test_a_symbol_next_to_an_address_gives_the_offset(self):
        moved = 0x2C00000
        text = (f" [<{self.TEXT + moved + 0x1098:x}>]\n"
                f" [<{self.TEXT + moved + 0x1010:x}>] do_syscall_64+0x10/0x90\n [<{self.TEXT + moved + 0x2004:x}>]\n")
        lines = self.kernel(text).splitlines()
        self.assertEqual([line.split()[-1] for line in lines], ["next_one", "do_syscall_64", "twin"])

    def test_an_address_that_is_hidden(self):
        """A kernel may print a random number for an address. The size fits, so nothing contradicts."""
        line = " [<00000000a1b2c3d4>] do_syscall_64+0x10/0x90"
        self.assertEqual(self.kernel(line + "\n"), line + " do_syscall_64\n")

    def test_functions_of_modules_in_a_blob(self):
        for line, name in ((" probe+0x10/0x100 [ext3]", "probe [ext3]"),
                           (" remove+0x10/0x40 [ext3 00112233]", "remove [ext3]"),
                           (" do_syscall_64+0x10/0x90", "do_syscall_64")):
            self.assertEqual(self.kernel(line + "\n", store="blob"), f"{line} {name}\n")
        for line in (" probe+0x10/0x100 [ext2]", " probe+0x10/0x100", " do_syscall_64+0x10/0x90 [ext3]"):
            self.assertEqual(self.kernel(line + "\n", store="blob"), line + "\n")

    def test_a_module_whose_file_has_dashes(self):
        (self.folder / "store" / "ext4.ko").rename(self.folder / "store" / "snd-hda-intel.ko")
        line = " ext4_find+0x12/0x20 [snd_hda_intel]"
        self.assertEqual(self.kernel(line + "\n"), line + " ext4_find\n")

    def test_a_stream_waits_only_for_a_moment(self):
        child = subprocess.Popen([sextant.program(), "symbolize", "--text", "--no-local", "--search", self.folder / "store"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            child.stdin.write(b" [<%x>]\n" % (self.TEXT + 0x1010))
            child.stdin.flush()
            self.assertTrue(select.select([child.stdout], [], [], 30)[0], "no answer")
            self.assertIn(b"do_syscall_64\n", child.stdout.readline())
        finally:
            child.stdin.close()
            child.stdout.close()
            child.wait()


class PassedOn(TextTest):
    def test_bytes_that_mean_nothing(self):
        path = self.program()
        every = bytes(range(256)) * 3
        for data in (b"", b"\n", b"\r\n\r\n", b"no newline", b"\0\0\n\0", b"bad \xff\xfe utf-8\r\n" + every, every[::-1],
                     b"#1 0x12 (/no/such/file+0x12)\n", b"/no/such/file(+0x12) [0x3]\n", b"(+0x12)\n#\n# 0x\n#1 0x\n",
                     b"(((((((((((((+0x1)))))\n", f"({path}+0xffffffffffff)\n({path}+0x)\n".encode(),
                     f"#0 0x1  ({path}+0x123456789abcdef01)\n".encode(), b" 12 sym (x)\n", b"RIP: 0010:\n",
                     b"\t    1234 name+0x4 (" + b"x" * 5000 + b")\n"):
            self.assertEqual(self.run_ok("symbolize", "--text", "-q", stdin=data).out, data)

    def test_what_stands_around_a_match(self):
        path = self.program()
        address = next(one for one in elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
                       if one.name == b"racer").value
        place = f"({path}+0x{address:x})".encode()
        answer = f" racer {self.folder}/program.c:".encode()
        for before, after in ((b"", b"\n"), (b"\0\xff ", b" \xfe\0\r\n"), (b"text ", b""), (b"\t", b"\ttext\r\r\n")):
            out = self.run_ok("symbolize", "--text", "-q", stdin=before + place + after).out
            self.assertTrue(out.startswith(before + place + answer), out)
            self.assertTrue(out.endswith(after), out)
        out = self.run_ok("symbolize", "--text", "-q", stdin=b"a " + place + b" b " + place + b" c\n").out
        self.assertRegex(out, rb"^a \(.*\) racer \S+:\d+ b \(.*\) racer \S+:\d+ c\n$")

    def test_names_that_would_drive_the_terminal_are_shown_as_numbers(self):
        writer = ElfWriter()
        section = writer.text(address=0x1000, size=0x40)
        for i, name in enumerate((b"red\x1b[31m", "red\x9b31m".encode(), b"red\x9b31m", "h\xe9".encode())):
            writer.symbol(name, 0x1000 + i * 0x10, 0x10, section=section)
        path = self.file("names.elf", writer.build())
        for i, shown in enumerate((rb"red\x1b[31m", rb"red\xc2\x9b31m", rb"red\x9b31m", "h\xe9".encode())):
            place = f"({path}+0x{0x1000 + i * 0x10:x})".encode()
            self.assertEqual(self.run_ok("symbolize", "--text", "-q", stdin=place).out, place + b" " + shown)

    def test_outer_frames_end_as_the_line_does(self):
        path = self.program()
        symbols = elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
        middle = next(one for one in symbols if one.name == b"middle")
        addresses = range(middle.value, middle.value + middle.size)
        answers = self.lookup(path, addresses)
        address = next(address for address, answer in zip(addresses, answers) if len(answer["frames"]) == 2)
        for ending in (b"\n", b"\r\n", b""):
            out = self.run_ok("symbolize", "--text", "-q", stdin=f"\t({path}+0x{address:x}) x".encode() + ending).out
            newline = ending or b"\n"
            first, second, *rest = out.split(newline)
            self.assertTrue(first.startswith(b"\t(") and first.endswith(b" [inlined] x"), out)
            self.assertRegex(second, rb"^\t +middle \S+:\d+$")
            self.assertEqual(rest, [b""] if ending else [])

    def test_lines_that_are_very_long(self):
        path = self.program()
        address = next(one for one in elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
                       if one.name == b"racer").value
        place = f"({path}+0x{address:x})\n".encode()
        data = b"x" * (1 << 20) + place + place
        out = self.run_ok("symbolize", "--text", "-q", stdin=data).out
        self.assertTrue(out.startswith(data[: -len(place)] + place[:-1] + b" racer "), out[-300:])

    def test_text_that_is_made_to_take_long(self):
        for line in (b"#1 " * 20000, b"(" * 60000, b"#1 0x1 in " * 6000, b": 1 x " * 10000, b"a+0x1/" * 10000,
                     b" 1 " + b"a (" * 20000):
            start = time.monotonic()
            self.assertEqual(self.run_ok("symbolize", "--text", "-q", stdin=line + b"\n").out, line + b"\n")
            self.assertLess(time.monotonic() - start, 20 if sextant.SANITIZED else 5)


class Streams(TextTest):
    def test_a_pipe_is_answered_line_by_line(self):
        path = self.program()
        address = next(one for one in elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
                       if one.name == b"racer").value
        child = subprocess.Popen([sextant.program(), "symbolize", "--text"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            for line, wanted in ((f"({path}+0x{address:x})\n", b" racer "), ("nothing\n", b"nothing\n")):
                child.stdin.write(line.encode())
                child.stdin.flush()
                ready, _, _ = select.select([child.stdout], [], [], 20)
                self.assertTrue(ready, "no answer came")
                self.assertIn(wanted, os.read(child.stdout.fileno(), 4096))
        finally:
            child.stdin.close()
            child.stdout.close()
            child.wait(10)

    def test_files_in_and_out(self):
        path = self.program()
        address = next(one for one in elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
                       if one.name == b"racer").value
        text = f"({path}+0x{address:x})\nrest".encode()
        expected = self.run_ok("symbolize", "--text", stdin=text).out
        self.assertIn(b" racer ", expected)
        for name, data in (("log", text), ("log.gz", gzip.compress(text))):
            source = self.file(name, data)
            self.assertEqual(self.run_ok("symbolize", "--text", source).out, expected)
            self.run_ok("symbolize", "--text", source, "-o", self.folder / "out")
            self.assertEqual((self.folder / "out").read_bytes(), expected)
        self.run_error("symbolize", "--text", self.folder / "none", naming=self.folder / "none")

    def test_files_that_are_missing_are_named_at_the_end(self):
        text = b"#0 0x1 (/no/such/file+0x12)\n" * 3 + b"a[0x12] (x+0x3)\n"
        result = self.run_warned("symbolize", "--text", stdin=text)
        self.assertEqual(result.out, text)
        self.assertEqual(result.err, "sextant: /no/such/file: warning: no file found\n")

    def test_many_modules_in_one_pass(self):
        """More than are kept open at a time, in turn."""
        path = self.program()
        address = next(one for one in elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
                       if one.name == b"racer").value
        (self.folder / "store").mkdir()
        archive = self.archive(path, name="store/module0.lidia").read_bytes()
        for one in range(1, 50):
            self.file(f"store/module{one}.lidia", archive)
        text = "".join(f"#{one} 0x1 (module{one % 50}+0x{address:x})\n" for one in range(500))
        result = self.filtered(text, "--search", self.folder / "store")
        self.assertEqual(result.count(" in racer "), 500)

    def test_usage(self):
        self.run_usage("symbolize", "--text", "--json")
        self.run_usage("symbolize", "--text", "--force")
        self.run_usage("symbolize", "--text", "one", "two")


if __name__ == "__main__":
    tap.main()
