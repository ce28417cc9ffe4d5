"""The recorder on AArch64, in an emulator: made by a cross compiler, preloaded into programs whose allocations are known, on
a spool that is made here from the description in src/mlyze/encode.h."""

import collections
import pathlib
import shutil
import struct
import subprocess
import tempfile

from support import heap_programs as programs
from support import sextant, tap
from support.recording import RecordTest

CROSS = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-aarch64"
LIBRARIES = pathlib.Path("/usr/aarch64-linux-gnu")
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-O2", "-fno-omit-frame-pointer", "-fno-stack-protector", "-fPIC", "-shared",
         "-fvisibility=hidden"]
PAGE, CONTROL = 4096, 256
UNCLEAN, SPOOL, VERSION = 8, 64, 1
MAPPINGS, FOLLOW = 1, 2

WIPES_ON_FORK = r"""
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
    if (madvise((void *)page, 4096, 18) != 0)
        return 1;
    int status = 0;
    if (fork() == 0)
        _exit(page[0]);
    wait(&status);
    return status != 0;
}
"""


def first_page(pid=0, options=0, period=0):
    """Header and control page of a spool. Ticks are nanoseconds: an emulator's counter is nobody's clock."""
    page = bytearray(PAGE)
    struct.pack_into("<4sIQIII", page, 0, b"MTRC", 1, 1_700_000_000_000_000, 0, UNCLEAN, SPOOL)
    state = stop = parent = image = own_allocator = reserved = dropped = 0
    struct.pack_into("<4sIIIIIIIIIQQQQ", page, CONTROL, b"SXTC", VERSION, options, state, stop, pid, parent, image,
                     own_allocator, reserved, period, PAGE, dropped, 1_700_000_000_000_000)
    return bytes(page)


class AArch64(RecordTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool(CROSS, EMULATOR)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="sextant-test-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.recorder = folder / "recorder.so"
        sources = sorted((sextant.ROOT / "src" / "recorder").glob("*.c"))
        sextant.tool(CROSS, *FLAGS, f"-I{sextant.ROOT / 'src'}", f"-I{sextant.ROOT / 'include'}", "-o", cls.recorder,
                     *sources)

    def build(self, source, *flags):
        (self.folder / "program.c").write_text(source)
        sextant.tool(CROSS, "-O1", "-g", "-pthread", "-fno-inline", *flags, "-o", self.folder / "program",
                     self.folder / "program.c")
        return self.folder / "program"

    def emulate(self, program, *arguments, follow=False, period=0):
        """Runs PROGRAM, and makes a trace of what it wrote."""
        spool = self.file("spool", first_page(options=FOLLOW if follow else 0, period=period))
        variables = [f"LD_PRELOAD={self.recorder}", f"SEXTANT_RECORD={spool}", "SEXTANT_RECORD_PID=$$"]
        if follow:
            variables.append(f"SEXTANT_RECORD_CHILDREN={self.folder / 'child.%p'}")
        command = " ".join(["exec", EMULATOR, "-L", str(LIBRARIES), *(f"-E {variable}" for variable in variables),
                            str(program), *arguments])
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.recover(spool, "out.mlyze")

    def has_own_allocator(self):
        """What the recorder wrote about it on the control page."""
        return struct.unpack_from("<I", (self.folder / "spool").read_bytes(), CONTROL + 32)[0] != 0

    def recover(self, spool, output):
        result = sextant.run("convert", "--recover", spool, "-o", self.folder / output)
        self.assertEqual(result.status, 0, result)

    def test_every_function_of_the_family(self):
        sizes = [100, 77, 0, 50, 52, 24, 90000, 33, 34, 15, 200, 128, 10, 300, 5]
        for flags in ((), ("-O2",), ("-fomit-frame-pointer",), ("-mbranch-protection=standard",)):
            self.emulate(self.build(programs.FAMILY, *flags))
            trace = self.trace(programs.FAMILY)
            self.assertEqual([size for _, size, _ in trace.allocations()], sizes, flags)
            self.assertEqual(trace.live(), {"survives": [34], "reallocarray": [15]})
            self.assertEqual(trace.count("free"), len(sizes) - 2)

    def test_stacks(self):
        for flags in ((), ("-O2",), ("-fomit-frame-pointer",), ("-mbranch-protection=standard",)):
            self.emulate(self.build(programs.LEAKS, *flags))
            trace = self.trace(programs.LEAKS)
            self.assertEqual(trace.live(), {"leak": list(range(1, 11))})
            self.assertEqual(trace.stack_of("leak")[:3], ["inner", "outer", "main"], flags)
        self.emulate(self.build(programs.CALLERS))
        trace = self.trace(programs.CALLERS)
        stacks = [trace.functions(event[4])[:4] for event in trace.raw if event[0] == "alloc" and trace.site(event[4])]
        self.assertEqual(stacks, [["inner", "middle", "first", "main"], ["inner", "middle", "second", "main"]] * 3)

    def test_handlers_and_coroutines(self):
        self.emulate(self.build(programs.SIGNALS))
        trace = self.trace(programs.SIGNALS)
        stacks = [trace.functions(event[4]) for event in trace.raw if event[0] == "alloc" and trace.site(event[4])]
        self.assertEqual([stack[0] for stack in stacks], ["handler", "handler"])
        # An emulator has no page of the kernel's with the rule for leaving a handler, so only its own stack is walked on.
        self.assertIn("interrupted", stacks[0])
        self.assertIn("main", stacks[0])
        self.emulate(self.build(programs.COROUTINES))
        trace = self.trace(programs.COROUTINES)
        self.assertEqual(trace.stack_of("on another stack")[:2], ["on_other_stack", "entry"])
        self.assertEqual(len(trace.allocations()), 100)

    def test_programs_that_are_not_pie_and_take_the_address_of_malloc(self):
        program = self.build(programs.ADDRESS_OF_MALLOC, "-fno-pie", "-no-pie", "-fno-builtin")
        listing = sextant.tool("readelf", "-W", "--dyn-syms", program).decode()
        self.assertRegex(listing, r"(?m)^ *\d+: 0*[1-9a-f][0-9a-f]* .* UND malloc(@.*)?$")
        self.emulate(program)
        self.assertEqual([site for site, _, _ in self.trace(programs.ADDRESS_OF_MALLOC).allocations()],
                         ["called", "by address"])
        self.assertFalse(self.has_own_allocator())

    def test_an_allocator_that_is_linked_in(self):
        self.emulate(self.build(programs.ALLOCATOR + "int main(void) { return malloc(10) == NULL; }\n", "-fno-builtin"))
        self.assertTrue(self.has_own_allocator())

    def test_threads(self):
        self.emulate(self.build(programs.THREADS.replace("ROUNDS 5000", "ROUNDS 500")))
        trace = self.trace(programs.THREADS)
        self.assertEqual(collections.Counter(size for _, size, _ in trace.allocations()), {1: 500, 2: 500, 3: 500, 4: 500})
        self.assertEqual(trace.live(), {})

    def test_children(self):
        probe = self.build(WIPES_ON_FORK)
        if subprocess.run([EMULATOR, "-L", LIBRARIES, probe]).returncode != 0:
            self.skipTest(f"{EMULATOR} leaves a child what it should not have (MADV_WIPEONFORK)")
        program = self.build(programs.FORKING)
        self.emulate(program, follow=True)
        self.assertEqual([site for site, _, _ in self.trace(programs.FORKING).allocations()], ["before", "after"])
        children = list(self.folder.glob("child.*"))
        self.assertEqual(len(children), 1)
        self.recover(children[0], "child.mlyze")
        child = self.trace(programs.FORKING, "child.mlyze")
        self.assertEqual([site for site, _, _ in child.allocations()], ["in the child"])


if __name__ == "__main__":
    tap.main()
