"""Stacks of C++ programs begin where `new` is, and not in the library that implements it; markers without a name;
and the bar that is shown while a recording is finished."""

import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import unittest

from support import mlyze_writer as writer
from support import samples, sextant, tap

RECORDER = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "src" / "libsextant-record.so"

# Every allocation has a size of its own.
FORMS = r"""
#include <cstddef>
#include <new>
#include <vector>

#define NOTE __asm__ volatile("" : : : "memory")
#define APART __attribute__((noinline))

static void *volatile kept;
struct alignas(64) Wide { char bytes[64 * 5]; };
struct Own
{
    static APART void *operator new(std::size_t size) { void *block = ::operator new(size + 1); NOTE; return block; }
    char bytes[600];
};

APART void plain() { kept = new char[1][101]; NOTE; }
APART void one() { kept = new int; NOTE; }
APART void many() { kept = new char[203]; NOTE; }
APART void nothrow_one() { kept = new (std::nothrow) double; NOTE; }
APART void nothrow_many() { kept = new (std::nothrow) char[307]; NOTE; }
APART void aligned_one() { kept = new Wide; NOTE; }
APART void aligned_many() { kept = new Wide[3]; NOTE; }
APART void aligned_nothrow() { kept = new (std::nothrow) Wide[7]; NOTE; }
APART void of_a_class() { kept = new Own; NOTE; }
APART void in_a_vector() { std::vector<char> vector(709); kept = vector.data(); NOTE; }

int main()
{
    plain(); one(); many(); nothrow_one(); nothrow_many(); aligned_one(); aligned_many(); aligned_nothrow();
    of_a_class(); in_a_vector();
    return 0;
}
"""
BEGINNINGS = {101: "plain()", 4: "one()", 203: "many()", 8: "nothrow_one()", 307: "nothrow_many()",
              320: "aligned_one()", 960: "aligned_many()", 2240: "aligned_nothrow()",
              601: "Own::operator new(unsigned long)"}  # fmt: skip

# The program's own operators: one is inlined into its caller, one fills all the frames that a stack can have, and one has
# another function inlined into it, which is what allocates.
OWN = r"""
#include <cstddef>
#include <cstdlib>
#include <new>

static void *volatile kept;
static volatile int depth;

__attribute__((noinline)) void *operator new(std::size_t size)
{
    if (depth > 0) {
        depth = depth - 1;
        void *block = operator new(size);
        __asm__ volatile("" : : "r"(block) : "memory");
        return block;
    }
    void *block = std::malloc(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((always_inline)) inline void *operator new[](std::size_t size)
{
    void *block = std::malloc(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

static inline __attribute__((always_inline)) void *take(std::size_t size)
{
    void *block = std::malloc(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((noinline)) void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return take(size); }

struct Large { char bytes[222]; };
__attribute__((noinline)) void taking() { kept = new (std::nothrow) Large; __asm__ volatile("" : : : "memory"); }
__attribute__((noinline)) void inlined() { kept = new char[111]; __asm__ volatile("" : : : "memory"); }
__attribute__((noinline)) void deep(int much) { depth = much; kept = new char; __asm__ volatile("" : : : "memory"); }

int main()
{
    inlined();
    taking();
    deep(20);
    deep(300);
    return 0;
}
"""

MARKERS = r"""
#include <sextant/heap.h>
#include <stdlib.h>
int main(void)
{
    void *volatile kept = malloc(10);
    sextant_mark("");
    sextant_mark("begin");
    sextant_mark("");
    free(kept);
    return 0;
}
"""

BUSY = r"""
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    void *volatile kept;
    for (int i = 0; i < atoi(argv[1]); i++) {
        kept = malloc(16);
        free(kept);
    }
    if (argc > 2)
        kill(getppid(), SIGKILL);
    return 0;
}
"""


def read_slowly(stream):
    while os.read(stream.fileno(), 65536):
        time.sleep(0.01)


@unittest.skipUnless(RECORDER.exists(), "the recorder is not built here")
class RecordedTest(sextant.ProgramTest):
    def record(self, program, *options, name="trace.mlyze"):
        path = self.folder / name
        result = sextant.run("record", "-q", "-o", path, *options, "--", program)
        self.assertEqual((result.status, result.err), (0, ""), f"\n{result}")
        return path

    def stacks(self, path):
        """size -> functions, innermost first, of all allocations; and the metadata's text is whole."""
        self.run_ok("verify", path)
        _, text, events = writer.read(path.read_bytes())
        metadata = json.loads(text)
        return {event[3]: [metadata["functions"][str(frame["func_id"])] for frame in metadata["stack_traces"][str(event[4])]]
                for event in events if event[0] == "alloc"}  # fmt: skip


class OperatorNew(RecordedTest):
    def check(self, *flags):
        program = samples.compile_c(self.folder, "program", "-g", "-std=c++17", *flags, source=FORMS, language="cpp")
        named = self.record(program)
        stacks = self.stacks(named)
        self.assertEqual({size: stacks[size][0] for size in BEGINNINGS}, BEGINNINGS)
        self.assertEqual(stacks[601][1], "of_a_class()")
        self.assertRegex(stacks[709][0], r"^std::.*allocator<char>::allocate\(")
        self.assertIn("in_a_vector()", stacks[709])
        for size in [*BEGINNINGS, 709]:
            self.assertIn("main", stacks[size])
        rows = {row["function"] for row in self.run_ok("heap", named, "--by", "function", "--json").json_lines()
                if row["allocations"]}  # fmt: skip
        self.assertIn("many()", rows)
        self.assertFalse([name for name in rows if name.startswith("operator new")])
        later = self.record(program, "--no-symbols", name="later.mlyze")
        self.assertNotEqual(self.stacks(later), stacks)
        self.run_warned("heap", "--symbolize", later)
        self.assertEqual(self.stacks(later), stacks)

    def test_of_the_library(self):
        self.check("-O0")

    def test_of_the_library_where_much_is_inlined(self):
        self.check("-O2")

    def test_that_is_linked_in(self):
        self.check("-O2", "-static-libstdc++", "-static-libgcc")

    def test_of_the_program(self):
        program = samples.compile_c(self.folder, "program", "-g", "-O2", "-fno-optimize-sibling-calls", source=OWN,
                                    language="cpp")  # fmt: skip
        path = self.record(program)
        _, text, events = writer.read(path.read_bytes())
        metadata = json.loads(text)
        names = lambda event: [metadata["functions"][str(frame["func_id"])]
                               for frame in metadata["stack_traces"][str(event[4])]]
        self.assertEqual(self.stacks(path)[111][:2], ["inlined()", "main"])
        self.assertRegex(" ".join(self.stacks(path)[222]), r"^take operator new\(.*\) taking\(\) main ")
        shallow, deep = [names(event) for event in events if event[0] == "alloc" and event[3] == 1]
        self.assertEqual(shallow[:2], ["deep(int)", "main"])
        self.assertEqual(deep, [*["operator new(unsigned long)"] * 128, "[truncated]"], "there is nothing else")
        later = self.record(program, "--no-symbols", name="later.mlyze")
        self.run_warned("heap", "--symbolize", later)
        self.assertEqual(self.run_ok("heap", later, "--top", "--all").out, self.run_ok("heap", path, "--top", "--all").out)

    def test_names_that_were_there_before(self):
        program = samples.compile_c(self.folder, "program", "-g", source="int main(void) { return 0; }\n")
        functions = ["operator new(unsigned long)", "operator new[](unsigned long, std::align_val_t)",
                     "operator new", "operator newer(int)", "A::operator new(unsigned long)", "f", "program+0x1",
                     "operator new []", "operator new x"]  # fmt: skip
        stacks = [[0, 1, 2, 7, 5, 0], [3, 5], [4, 0, 5], [0, 1], [6], [0, 6], [], [8, 5]]
        wanted = [[5, 0], [3, 5], [4, 0, 5], [0, 1], ["main"], ["main"], [], [8, 5]]
        address = int(sextant.tool("nm", program).decode().split(" T main")[0].split()[-1], 16) + 1
        frames = [[(0, 1, function) for function in stack] for stack in stacks]
        text = json.loads(writer.metadata(frames, ["f.c"], functions))
        text["modules"] = [{"path": str(program), "build_id": ""}]
        text["unresolved"] = {"6": {"module": 0, "address": hex(address)}}
        trace = self.file("trace.mlyze", writer.plain([], 10**15, json.dumps(text).encode()))
        self.assertIn("1 of 1 addresses got names", self.run_warned("heap", "--symbolize", trace).err)
        metadata = json.loads(writer.read(trace.read_bytes())[1])
        found = [[metadata["functions"][str(frame["func_id"])] for frame in metadata["stack_traces"][str(number)]]
                 for number in range(len(stacks))]  # fmt: skip
        self.assertEqual(found, [[one if isinstance(one, str) else functions[one] for one in stack] for stack in wanted])


class Markers(RecordedTest):
    def test_one_without_a_name(self):
        program = samples.compile_c(self.folder, "program", "-g", "-I", sextant.ROOT / "include", source=MARKERS)
        for options in ((), ("--no-symbols",)):
            path = self.record(program, *options)
            names = [line["name"] for line in self.run_ok("dump", path, "--json").json_lines()
                     if line.get("event") == "marker"]  # fmt: skip
            self.assertEqual(names, ["?", "begin", "?"])
            used = {name for frames in self.stacks(path).values() for name in frames}
            self.assertNotIn("?", used)


class Finishing(RecordedTest):
    """The terminal is one of our own; the bar comes once the work has taken a while."""

    def setUp(self):
        super().setUp()
        self.program = samples.compile_c(self.folder, "busy", source=BUSY)
        self.environment = {**os.environ, "TERM": "xterm"}

    def on_terminal(self, *arguments):
        """(status, what standard error had) of a run whose standard error is a terminal. What it writes to standard
        output is read slowly, so that the work takes its time."""
        ours, theirs = sextant.open_terminal()
        child = subprocess.Popen([sextant.program(), *map(str, arguments)], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=theirs, env=self.environment)  # fmt: skip
        os.close(theirs)
        reader = threading.Thread(target=read_slowly, args=(child.stdout,))
        reader.start()
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:
            pass  # the other side is gone
        os.close(ours)
        status = child.wait()
        reader.join()
        child.stdout.close()
        return status, text.decode()

    def assert_bar(self, text):
        shares = [int(share) for share in re.findall(r"finishing +\[[#-]+\] +(\d+) %", text)]
        self.assertTrue(shares, text)
        self.assertEqual(shares, sorted(shares))
        self.assertLessEqual(shares[-1], 100)

    def test_a_recording(self):
        trace = self.folder / "a.mlyze"
        for count in (6_000_000, 24_000_000):  # on a quick machine, the first one is done before there is a bar
            status, text = self.on_terminal("record", "-o", trace, "--", self.program, count)
            self.assertEqual(status, 0)
            self.assertIn(f"{2 * count:,} events", text)
            if "finishing" in text:
                break
        self.assert_bar(text)
        self.assertEqual(self.on_terminal("record", "-q", "-o", trace, "--", self.program, count), (0, ""))

    def test_one_that_was_cut_off(self):
        result = sextant.run("record", "-q", "-o", self.folder / "a.mlyze", "--", self.program, "300000", "kill")
        self.assertEqual(result.status, -signal.SIGKILL)
        spool = self.folder / "a.mlyze.part"
        status, text = self.on_terminal("convert", "--recover", spool, "-o", "-")
        self.assertEqual(status, 0)
        self.assert_bar(text)
        self.assertEqual(self.on_terminal("convert", "-q", "--recover", spool, "-o", "-"), (0, ""))
        self.run_ok("convert", "--recover", spool, "-o", "-")

    def test_one_that_was_cut_off_from_a_stream(self):
        sextant.run("record", "-q", "-o", self.folder / "a.mlyze", "--", self.program, "1000", "kill")
        spool, whole = self.folder / "a.mlyze.part", self.folder / "whole.mlyze"
        self.run_ok("convert", "--recover", spool, "-o", whole)
        aside = self.folder / "aside"
        aside.mkdir()
        for options in ((), ("--compress",)):
            self.run_ok("convert", "--recover", *options, spool, "-o", whole)
            self.run_ok("convert", "--recover", *options, "-", "-o", self.folder / "again.mlyze", stdin=spool.read_bytes(),
                        env={"TMPDIR": str(aside)})  # fmt: skip
            self.assertEqual((self.folder / "again.mlyze").read_bytes(), whole.read_bytes())
        self.assertEqual(self.run_ok("convert", "--recover", "-", "-o", "-", stdin=spool.read_bytes()).out[:4], b"MTRC")
        self.assertEqual(list(aside.iterdir()), [])
        for option in ("--compress", "--decompress"):
            result = self.run_error("convert", option, "-", "-o", self.folder / "no.mlyze", stdin=spool.read_bytes())
            self.assertIn("the recording was cut off", result.err)
        self.assertFalse((self.folder / "no.mlyze").exists())


if __name__ == "__main__":
    tap.main()
