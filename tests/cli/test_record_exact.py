"""Recordings against what independent tools say of the same run: valgrind's memcheck (every call, totals, stacks of what
leaked) and DHAT (totals, peak, sites), heaptrack, and a reader of version 1 that knows the specification alone.

Realloc is a FREE of the old block and an ALLOC of the new one, also where the block stays; memcheck counts it so, too.
DHAT does as well, but leaves the block with the site that made it, and counts malloc(0) as one byte. heaptrack does not
notice that realloc(block, 0) frees.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest
import unittest.mock
import xml.etree.ElementTree

from support import mlyze_writer, samples, sextant, tap

LONG_VARIABLE = 256  # bytes
RECORDER = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "src" / "libsextant-record.so"

FAMILY = r"""
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
void *keep[64];
static volatile size_t huge = SIZE_MAX / 2;
int main(void)
{
    for (int i = 0; i < 20; i++) {
        void *block = malloc(100 + (size_t)i);
        if (i % 3 == 0) {
            free(block);
        } else {
            keep[i] = block;
        }
    }
    keep[20] = calloc(7, 11);
    keep[21] = calloc(huge, 4);
    keep[22] = malloc(huge);
    free(NULL);
    free(malloc(0));
    keep[23] = malloc(0);
    if (posix_memalign(&keep[24], 64, 200) != 0) {
        return 1;
    }
    keep[25] = aligned_alloc(128, 256);
    free(memalign(32, 10));
    keep[26] = valloc(33);
    keep[27] = reallocarray(NULL, 3, 5);
    keep[28] = reallocarray(keep[27], huge, huge);
    void *freed = malloc(44);
    keep[29] = realloc(freed, 0);
    keep[30] = realloc(NULL, 45);
    keep[31] = realloc(malloc(46), huge);
    return 0;
}
"""

GROWTH = r"""
#include <stdlib.h>
#include <string.h>
char *kept[3];
static char *grow(char *block, size_t from, size_t to, size_t step)
{
    for (size_t size = from; size <= to; size += step) {
        block = realloc(block, size);
        memset(block, 1, size);
    }
    return block;
}
int main(void)
{
    char *first = NULL, *second = NULL;
    for (size_t i = 1; i <= 40; i++) {
        first = realloc(first, i * 50);
        second = realloc(second, i * i * 20);
    }
    kept[0] = grow(first, 3000, 400000, 9973);
    kept[0] = realloc(kept[0], 17);
    free(second);
    kept[1] = grow(malloc(1), 2, 200, 1);
    return 0;
}
"""

LEAKS_C = r"""
#include <stdlib.h>
void *kept[100];
int used;
static inline __attribute__((always_inline)) void keep(size_t size)
{
    kept[used++] = malloc(size);
}
static inline __attribute__((always_inline)) void keep_twice(size_t size)
{
    keep(size);
    keep(size + 1);
}
static __attribute__((noinline)) void walk(int depth)
{
    if (depth > 0) {
        walk(depth - 1);
        kept[used++] = calloc(1, 10 + (size_t)depth);
    } else {
        keep_twice(1000);
    }
    __asm__ volatile("");
}
static __attribute__((noinline)) void lose(void)
{
    for (volatile int i = 0; i < 7; i++) {
        volatile char *block = malloc(64);
        block[0] = 1;
        block = 0;
    }
    free(malloc(65));
}
int main(void)
{
    walk(6);
    lose();
    kept[used++] = realloc(malloc(12), 12345);
    return 0;
}
"""

LEAKS_CPP = r"""
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>
struct Node {
    Node *next;
    char filler[40];
};
static Node *head;
static std::vector<int> *grown;
static std::map<int, std::string> *tree;
static inline __attribute__((always_inline)) void push(int count)
{
    for (int i = 0; i < count; i++)
        head = new Node{head, {}};
}
template <typename T> static __attribute__((noinline)) T *array_of(int count)
{
    T *made = new T[count];
    made[0] = 1;
    return made;
}
__attribute__((noinline)) void fill()
{
    push(5);
    grown = new std::vector<int>;
    for (int i = 0; i < 1000; i++)
        grown->push_back(i);
    tree = new std::map<int, std::string>;
    for (int i = 0; i < 10; i++)
        (*tree)[i] = std::string(100 + i, 'x');
    tree->erase(3);
}
int main()
{
    fill();
    static double *array = array_of<double>(33);
    static void *wide = ::operator new(128, std::align_val_t(64));
    static void *tried = ::operator new(55, std::nothrow);
    auto passing = std::make_unique<int[]>(50);
    delete new Node;
    return passing == nullptr || array == nullptr || wide == nullptr || tried == nullptr;
}
"""

HANDING_OVER = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
static _Atomic(void *) slots[64];
static atomic_long made, freed;
static void *work(void *argument)
{
    unsigned random = (unsigned)(size_t)argument * 7919 + 1;
    for (int i = 0; i < 60000; i++) {
        random = random * 1664525 + 1013904223;
        size_t size = (random >> 8) % 200 + 1;
        unsigned way = (random >> 20) % 4;
        void *block = way == 0 ? calloc(1, size) : malloc(size);
        if (way == 1)
            block = realloc(block, size * 3);
        void *other = atomic_exchange(&slots[(random >> 16) % 64], block);
        if (other != NULL && way == 2)
            other = realloc(other, 1000);
        free(other);
        atomic_fetch_add(&made, way == 1 ? 2 : 1);
        atomic_fetch_add(&freed, way == 1 ? 1 : 0);
        if (other != NULL) {
            atomic_fetch_add(&made, way == 2 ? 1 : 0);
            atomic_fetch_add(&freed, way == 2 ? 2 : 1);
        }
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[8];
    for (size_t i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    fprintf(stderr, "%ld %ld\n", made, freed);
    return 0;
}
"""


class Trace:
    """A plain trace, read as the specification says, version 1 and nothing else; every rule of its validation holds."""

    def __init__(self, data):
        magic, version, self.start, size = struct.unpack_from("<4sIQI", data)
        assert (magic, version, data[20:256]) == (b"MTRC", 1, bytes(236)), data[:256].hex()
        self.metadata = json.loads(data[256 : 256 + size].decode("utf-8"))
        self.data, self.at, time = data, 256 + size, self.start
        self.events = []
        while self.at < len(data):
            kind = self.fixed("<B")
            time += self.varint()
            if kind == 0:
                self.events.append(("alloc", time, self.fixed("<Q"), self.varint(), self.varint(), self.fixed("<H")))
            elif kind == 1:
                self.events.append(("free", time, self.fixed("<Q")))
            elif kind == 2:
                self.events.append(("gc", time, self.varint(), self.varint()))
            else:
                assert kind == 3, f"type {kind} before {self.at}"
                self.events.append(("marker", time, self.varint()))
        self.check_references()

    def fixed(self, form):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def varint(self):
        value = shift = 0
        while True:
            byte = self.fixed("<B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                assert value < 1 << 64 and (byte > 0 or shift == 0), f"not minimal, before {self.at}"
                return value
            shift += 7

    def check_references(self):
        for frames in self.metadata["stack_traces"].values():
            for frame in frames:
                assert str(frame["file_id"]) in self.metadata["files"]
                assert str(frame["func_id"]) in self.metadata["functions"]
                assert isinstance(frame["line"], int) and frame["line"] >= 0
        for event in self.events:
            if event[0] == "alloc":
                assert str(event[4]) in self.metadata["stack_traces"], event
            elif event[0] == "marker":
                assert str(event[2]) in self.metadata["functions"], event

    def calls(self):
        """("alloc", size), and ("free", number of the allocation that made the block)."""
        made, live, calls = 0, {}, []
        for event in self.events:
            if event[0] == "alloc":
                assert event[2] not in live, f"given out twice: {event}"
                live[event[2]] = made
                made += 1
                calls.append(("alloc", event[3]))
            elif event[0] == "free":
                calls.append(("free", live.pop(event[2])))
        return calls


@unittest.skipUnless(RECORDER.exists(), "the recorder is not built here")
@unittest.skipIf(sextant.SANITIZED, "the other tools run the same programs in the plain build")
class ExactTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.work = self.folder / "work"  # Some programs list the folder they are in: no output of ours goes there.
        self.work.mkdir()

    def record(self, *command, env=None):
        """The trace of a run, and what `heap` says about it."""
        path = self.folder / "out.mlyze"
        result = sextant.run("record", "-q", "--plain", "-o", path, "--", *command, cwd=self.work,
                             env={"PWD": os.fspath(self.work), **(env or {})})
        self.assertEqual((result.status, result.err), (0, ""), f"\n{result}")
        self.run_ok("verify", path)
        (summary,) = self.run_ok("heap", "--json", path).json_lines()
        return Trace(path.read_bytes()), summary

    def tool(self, *command, env=None):
        """Runs another tool with the same environment, folder and streams as `record`."""
        environment = {name: value for name, value in os.environ.items() if name not in ("DEBUGINFOD_URLS", "NO_COLOR")}
        environment.update({"LC_ALL": "C.UTF-8", "PWD": os.fspath(self.work)}, **(env or {}))
        done = subprocess.run([os.fspath(word) for word in command], input=b"", capture_output=True, cwd=self.work,
                              env=environment)
        self.assertEqual(done.returncode, 0, done)
        return done

    def valgrind(self, *words, env=None):
        """Runs valgrind without the calls that tidy up libc and libstdc++ at the end: nobody else makes them."""
        sextant.need_tool("valgrind")
        return self.tool("valgrind", "-q", "--run-libc-freeres=no", "--run-cxx-freeres=no", *words, env=env)

    def rows(self, *options):
        return self.run_ok("heap", "--json", *options, self.folder / "out.mlyze").json_lines()


class EveryCall(ExactTest):
    """Not totals but each call: sizes in order, and for each free which allocation it ends."""

    more_variables = None  # how many more `record` gives a program than valgrind does

    def setUp(self):
        """Python allocates a copy of each long variable, in the order of the environment, in which the two runs differ."""
        super().setUp()
        short = {name: value for name, value in os.environ.items() if len(value) < LONG_VARIABLE}
        short["PATH"] = os.pathsep.join((os.path.dirname(shutil.which("valgrind") or "/usr/bin/valgrind"), os.defpath))
        patch = unittest.mock.patch.dict(os.environ, short, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    ALLOCATING = re.compile(r"(?:malloc|_Zn[wa]m\w*)\((?:size )?(\d+)(?:, al (\d+))?\) = (0x[0-9A-F]+)$")
    CALLOC = re.compile(r"calloc\((\d+),(\d+)\)(?:malloc\(\d+\))? = (0x[0-9A-F]+)$")
    MEMALIGN = re.compile(r"memalign\(al \d+, size (\d+)\) = (0x[0-9A-F]+)$")
    REALLOC = re.compile(r"realloc\((0x[0-9A-F]+),(\d+)\)(?:malloc\(\d+\)|free\(0x[0-9A-F]+\))?(?: = (0x[0-9A-F]+))?$")
    FREEING = re.compile(r"(?:free|_Zd[la]Pv\w*)\((0x[0-9A-F]+)\)$")

    def calls_of(self, log):
        """The calls in what memcheck prints for --trace-malloc=yes, in the form of Trace.calls."""
        made, live, calls = 0, {}, []
        for line in log.splitlines():
            text = line.split("-- ", 1)[-1]
            if match := self.REALLOC.match(text):
                if int(match[3] or "0", 16) == 0 and int(match[2]) > 0:
                    continue  # It failed; the old block stays.
                old, new, size = int(match[1], 16), match[3], int(match[2])
            elif match := self.FREEING.match(text):
                old, new, size = int(match[1], 16), None, 0
            elif match := self.CALLOC.match(text):
                old, new, size = 0, match[3], int(match[1]) * int(match[2])
            elif match := self.MEMALIGN.match(text) or self.ALLOCATING.match(text):
                old, new, size = 0, match[match.lastindex], int(match[1])
            else:
                self.assertRegex(text, r"^(?:$|==| = 0$)", "a line that is not understood")
                continue
            if old:
                calls.append(("free", live.pop(old)))
            if new and int(new, 16):
                live[int(new, 16)] = made
                made += 1
                calls.append(("alloc", size))
        return calls

    def assert_same_calls(self, *command, env=None, besides=()):
        """BESIDES are sizes of blocks of which a program has more or fewer, as addresses happen to be."""
        sextant.need_tool("valgrind")
        padding = self.paddings()
        trace, summary = self.record(*command, env={**(env or {}), **padding[0]})
        log = self.folder / "calls.log"
        self.valgrind("--trace-malloc=yes", f"--log-file={log}", *command, env={**(env or {}), **padding[1]})
        expected = without(self.calls_of(log.read_text(errors="replace")), besides)
        self.check_summary(summary, trace.calls())
        found = without(trace.calls(), besides)
        differing = next((i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), len(expected))
        self.assertEqual(found[differing : differing + 5], expected[differing : differing + 5], f"call {differing}")
        self.assertEqual(len(found), len(expected))
        return trace

    def paddings(self):
        """Variables for the one or the other run so that both have as many: programs copy the array, and its size shows."""
        if EveryCall.more_variables is None:
            command = ["record", "-q", "-o", self.folder / "env.mlyze", "--", "env"]
            ours = sextant.run(*command, env={"PWD": os.fspath(self.work)}).out.count(b"\n")
            EveryCall.more_variables = ours - self.valgrind("env").stdout.count(b"\n")
        missing = {f"PADDING_{i}": "" for i in range(abs(EveryCall.more_variables))}
        return ({}, missing) if EveryCall.more_variables > 0 else (missing, {})

    def check_summary(self, summary, calls):
        """What `heap` says, counted again from the calls."""
        sizes = [call[1] for call in calls if call[0] == "alloc"]
        live = peak = 0
        for kind, value in calls:
            live += value if kind == "alloc" else -sizes[value]
            peak = max(peak, live)
        frees = len(calls) - len(sizes)
        self.assertEqual([summary[key] for key in ("allocations", "allocated_bytes", "frees", "leaked_allocations",
                                                   "leaked_bytes", "peak_bytes", "unmatched_frees", "implicit_frees")],
                         [len(sizes), sum(sizes), frees, len(sizes) - frees, live, peak, 0, 0])

    def test_the_family(self):
        program = samples.compile_c(self.folder, "family", "-g", "-O0", "-fno-builtin", "-w", source=FAMILY)
        trace = self.assert_same_calls(program)
        self.assertGreater(len(trace.events), 40)

    def test_growing_blocks(self):
        self.assert_same_calls(samples.compile_c(self.folder, "growth", "-g", source=GROWTH))

    def test_new_and_delete(self):
        self.assert_same_calls(samples.compile_c(self.folder, "leaks", "-g", "-std=c++17", source=LEAKS_CPP, language="cpp"))

    @sextant.only_with_everything
    def test_python(self):
        python = self.tool("python3", "-c", "import sys; print(sys.executable)").stdout.decode().strip()
        # Both runs have the same hashes, for which -E must not be given, and find the same compiled modules.
        env = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
        command = [python, "-S", "-X", f"pycache_prefix={self.folder / 'compiled'}", "-c",
                   "import json; json.dumps(list(range(2000)))"]
        self.tool(*command, env=env)
        self.assert_same_calls(*command, env=env)

    def test_sqlite(self):
        sextant.need_tool("sqlite3")
        self.assert_same_calls("sqlite3", ":memory:", "create table t(a, b); insert into t values(1, 'x'), (2, hex(3));"
                               "create index i on t(b); select count(*), sum(a) from t group by b order by b;")

    def test_git(self):
        sextant.need_tool("git")
        env = {"HOME": os.fspath(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        self.tool("git", "init", "-q", env=env)
        for name in ("one", "two"):
            self.file(f"work/{name}", f"{name}\n" * 100)
            self.tool("git", "add", name, env=env)
            self.tool("git", "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", name, env=env)
        self.assert_same_calls(shutil.which("git"), "log", "--stat", env=env)

    @sextant.only_with_everything
    def test_a_compiler(self):
        sextant.need_tool("gcc", "valgrind")
        compiler = self.tool("gcc", "-print-prog-name=cc1").stdout.decode().strip()
        if not os.path.isabs(compiler):
            self.skipTest("gcc has no cc1")
        self.file("work/a.c", "int f(int a) { return a * 3; }\n")
        self.file("work/a.s")
        # Its own pages are in a table with a part for each 4 GiB that they are in, and one for each 16 MiB.
        self.assert_same_calls(compiler, "-quiet", "-O1", "a.c", "-o", "a.s", besides=(2064, 32768))


def without(calls, sizes):
    """The calls without allocations of those sizes that are never freed."""
    freed = {call[1] for call in calls if call[0] == "free"}
    numbers, made, kept = {}, 0, []
    for kind, value in calls:
        if kind == "free":
            kept.append((kind, numbers[value]))
            continue
        if value not in sizes or made in freed:
            numbers[made] = len(numbers)
            kept.append((kind, value))
        made += 1
    return kept


class Dhat(ExactTest):
    KEYS = {"tb": "allocated_bytes", "tbk": "allocations", "eb": "leaked_bytes", "ebk": "leaked_allocations",
            "gb": "peak_bytes", "gbk": "peak_allocations"}

    def dhat(self, program):
        out = self.folder / "dhat.json"
        self.valgrind("--tool=dhat", f"--dhat-out-file={out}", "--num-callers=100", program)
        return json.loads(out.read_text())

    def totals(self, name, source, language="c"):
        flags = ("-std=c++17",) if language == "cpp" else ("-O0", "-fno-builtin", "-w")
        program = samples.compile_c(self.folder, name, "-g", *flags, source=source, language=language)
        profile = self.dhat(program)
        trace, summary = self.record(program)
        empty = [event for event in trace.events if event[0] == "alloc" and event[3] == 0]
        expected = {ours: sum(point[theirs] for point in profile["pps"]) for theirs, ours in self.KEYS.items()}
        expected["allocated_bytes"] -= len(empty)
        return profile, summary, expected, empty

    def test_totals_of_the_family(self):
        _, summary, expected, empty = self.totals("family", FAMILY)
        self.assertEqual(len(empty), 2)
        expected["leaked_bytes"] -= 1  # The malloc(0) that stays; the other one is freed at once, before the peak.
        expected["peak_bytes"] -= 1
        self.assertEqual({key: summary[key] for key in expected}, expected)

    def test_totals_of_growing_blocks(self):
        _, summary, expected, _ = self.totals("growth", GROWTH)
        self.assertEqual({key: summary[key] for key in expected}, expected)

    def test_totals_and_sites_with_new_and_delete(self):
        profile, summary, expected, _ = self.totals("leaks", LEAKS_CPP, "cpp")
        self.assertEqual({key: summary[key] for key in expected}, expected)
        keys = ("tb", "tbk", "eb", "ebk", "gb", "gbk")
        theirs, ours = collections.Counter(), collections.Counter()
        for point in profile["pps"]:
            frames = [profile["ftbl"][number] for number in point["fs"]]
            places = tuple(match[1] for match in (re.search(r"\((\S+:\d+)\)$", frame) for frame in frames) if match)
            for key in keys:
                theirs[program_part(places), key] += point[key]
        for row in self.rows("--top", "--all"):
            places = tuple(f"{os.path.basename(frame['file'])}:{frame['line']}" for frame in row["frames"] if frame["line"])
            for key in keys:
                ours[program_part(places), key] += row[self.KEYS[key]]
        self.assertGreater(len({places for places, _ in theirs}), 8)
        self.assertEqual({key: value for key, value in ours.items() if key[0]},
                         {key: value for key, value in theirs.items() if key[0]})


def program_part(places):
    """The places up to the last one that is in the program's own source: the C library has lines only here and there."""
    own = [i for i, place in enumerate(places) if place.startswith("leaks.")]
    return places[: own[-1] + 1] if own else ()


class LeakSites(ExactTest):
    """Function, file and line of every frame down to main, with inlined calls, and what leaked there."""

    def memcheck(self, program):
        report = self.folder / "leaks.xml"
        self.valgrind("--xml=yes", f"--xml-file={report}", "--leak-check=full", "--show-leak-kinds=all",
                      "--leak-resolution=high", "--num-callers=200", "--read-inline-info=yes", program)
        leaks = collections.Counter()
        for error in xml.etree.ElementTree.parse(report).iter("error"):
            frames = [frame for frame in error.find("stack") if "vgpreload_" not in (frame.findtext("obj") or "")]
            stack = down_to_main([
                (frame.findtext("fn"), os.path.join(frame.findtext("dir") or "", frame.findtext("file") or ""),
                 int(frame.findtext("line") or 0)) for frame in frames
            ])
            leaks[stack, "bytes"] += int(error.findtext("xwhat/leakedbytes"))
            leaks[stack, "blocks"] += int(error.findtext("xwhat/leakedblocks"))
        return leaks

    def ours(self):
        leaks = collections.Counter()
        rows = self.rows("--leaks")
        self.assertEqual([row["leaked_bytes"] for row in rows], sorted((row["leaked_bytes"] for row in rows), reverse=True))
        for row in rows:
            frames = [(frame["function"], frame["file"] if frame["line"] else "", frame["line"]) for frame in row["frames"]]
            while frames[0][0].startswith("operator new"):
                del frames[0]
            stack = down_to_main(frames)
            leaks[stack, "bytes"] += row["leaked_bytes"]
            leaks[stack, "blocks"] += row["leaked_allocations"]
        return leaks

    def assert_same_leaks(self, program, least):
        expected = self.memcheck(program)
        self.record(program)
        found = self.ours()
        self.assertGreaterEqual(len({stack for stack, _ in expected if stack}), least)
        self.assertEqual({key: value for key, value in found.items() if key[0]},
                         {key: value for key, value in expected.items() if key[0]})

    def test_in_c(self):
        for flags in sextant.some((("-O2", "-fomit-frame-pointer"), ("-O2", "-fno-omit-frame-pointer"), ("-O1",), ("-O0",))):
            with self.subTest(flags=flags):
                program = samples.compile_c(self.folder, "leaks", "-g", "-fno-optimize-sibling-calls", *flags,
                                            source=LEAKS_C)
                self.assert_same_leaks(program, 10)

    def test_in_cpp(self):
        for flags in sextant.some((("-O2",), ("-O0",))):
            with self.subTest(flags=flags):
                program = samples.compile_c(self.folder, "leaks", "-g", "-std=c++17", "-fno-optimize-sibling-calls", *flags,
                                            source=LEAKS_CPP, language="cpp")
                self.assert_same_leaks(program, 9)


def down_to_main(frames):
    """The frames down to main, names without parameters, template arguments and scope; nothing where there is no main."""
    stack = []
    for function, file, line in frames:
        stack.append((bare_name(function or ""), os.path.normpath(file) if file else "", line))
        if function == "main":
            return tuple(stack)
    return ()


def bare_name(function):
    """`void a::b<c>::d<e>(f)` -> d: valgrind writes inlined functions by that name alone."""
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)| const$|\[abi:\w+\]| \[clone [^\]]*\]", "", function)) != function:
        function = shorter
    return re.split(r"::| ", function)[-1]


class Heaptrack(ExactTest):
    """The costs that heaptrack_print gives for flame graphs are exact. Only stacks with main count: heaptrack itself
    brings a libstdc++ into the process, with a block of its own, and tidies up at the end."""

    def heaptrack(self, program):
        sextant.need_tool("heaptrack", "heaptrack_print")
        self.tool("heaptrack", "-o", self.folder / "heaptrack", program)
        (data,) = [path for path in self.folder.glob("heaptrack.*") if path.suffix in (".zst", ".gz")]
        costs = {}
        for cost in ("allocations", "leaked", "peak"):
            stacks = self.folder / f"stacks-{cost}"
            self.tool("heaptrack_print", "-f", data, "--flamegraph-cost-type", cost, "-F", stacks)
            lines = stacks.read_text().splitlines()
            costs[cost] = sum(int(line.rpartition(" ")[2]) for line in lines if re.search(r"(^|;)main( \(|;)", line))
        return costs

    @sextant.only_with_everything
    def test_totals(self):
        for name, source, language in (("growth", GROWTH, "c"), ("leaks", LEAKS_C, "c"), ("leaks", LEAKS_CPP, "cpp")):
            with self.subTest(name=name, language=language):
                program = samples.compile_c(self.folder, name, "-g", *(["-std=c++17"] if language == "cpp" else []),
                                            source=source, language=language)
                costs = self.heaptrack(program)
                self.record(program)
                rows = [row for row in self.rows("--top", "--all") if "main" in [f["function"] for f in row["frames"]]]
                self.assertEqual(costs, {"allocations": sum(row["allocations"] for row in rows),
                                         "leaked": sum(row["leaked_bytes"] for row in rows),
                                         "peak": sum(row["peak_bytes"] for row in rows)})


class Threads(ExactTest):
    @sextant.only_with_everything
    def test_blocks_that_are_freed_by_whoever_has_them(self):
        """The program itself counts what it does; whoever frees a block has just got it from another thread."""
        program = samples.compile_c(self.folder, "threads", "-g", "-O2", "-pthread", source=HANDING_OVER)
        path = self.folder / "out.mlyze"
        result = sextant.run("record", "-q", "--plain", "-o", path, "--", program, cwd=self.work)
        self.assertEqual(result.status, 0, f"\n{result}")
        made, freed = (int(word) for word in result.err.split())
        Trace(path.read_bytes()).calls()
        (summary,) = self.run_ok("heap", "--json", path).json_lines()
        self.assertEqual((summary["implicit_frees"], summary["unmatched_frees"]), (0, 0))
        rows = [row for row in self.rows("--top", "--all") if any(f["function"] == "work" for f in row["frames"])]
        live = sum(row["leaked_allocations"] for row in rows)
        self.assertEqual((sum(row["allocations"] for row in rows), live), (made, made - freed))


class AsSpecified(ExactTest):
    def test_every_reader_of_version_1_takes_it(self):
        """What our other reader, `dump` and a reader of the specification alone see in a recording is the same."""
        program = samples.compile_c(self.folder, "leaks", "-g", "-std=c++17", source=LEAKS_CPP, language="cpp")
        trace, summary = self.record(program)
        path = self.folder / "out.mlyze"
        self.assertEqual(trace.events, mlyze_writer.read(path.read_bytes())[2])
        self.assertEqual(len(trace.events), summary["events"])
        header, *lines = self.run_ok("dump", "--json", path).json_lines()
        self.assertEqual(header["header"]["start_us"], trace.start)
        names, files = trace.metadata["functions"], trace.metadata["files"]
        stacks = {int(number): [{"file": files[str(frame["file_id"])], "line": frame["line"],
                                 "function": names[str(frame["func_id"])]} for frame in frames]
                  for number, frames in trace.metadata["stack_traces"].items()}
        self.assertEqual({line["stack"]: line["frames"] for line in lines if "frames" in line}, stacks)
        events = [(line["event"], line["time_us"], int(line["address"], 16),
                   *([line["size"], line["stack"], line["thread"]] if line["event"] == "alloc" else []))
                  for line in lines if "event" in line]
        self.assertEqual(events, trace.events)

    def test_a_compressed_recording_is_the_same_file(self):
        program = samples.compile_c(self.folder, "growth", "-g", source=GROWTH)
        plain, _ = self.record(program)
        packed = self.folder / "packed.mlyze"
        result = sextant.run("record", "-q", "-o", packed, "--", program, cwd=self.work)
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.run_ok("convert", "--decompress", packed, "-o", self.folder / "again.mlyze")
        again = Trace((self.folder / "again.mlyze").read_bytes())
        self.assertEqual(again.calls(), plain.calls())
        self.assertEqual(again.metadata["stack_traces"], plain.metadata["stack_traces"])

    def test_the_worked_example(self):
        """The bytes of the specification's example, written down here by hand."""
        text = (b'{"stack_traces": {"0": [{"file_id": 0, "line": 42, "func_id": 0}, '
                b'{"file_id": 1, "line": 123, "func_id": 1}], "1": [{"file_id": 0, "line": 50, "func_id": 0}]}, '
                b'"files": {"0": "/app/main.py", "1": "/app/data.py"}, '
                b'"functions": {"0": "main", "1": "process_data", "2": "phase-1"}}')
        events = ("030502" "0064001000 00007f0000 80010001 00" "0000002000 00007f0000 808001010200"
                  "01e807001000 00007f0000" "020203ac02")
        content = bytes.fromhex("4d5452430100000000401e18240a060015010000") + bytes(236) + text + bytes.fromhex(events)
        self.assertEqual(len(content), 583)
        path = self.file("example.mlyze", content)
        self.run_ok("verify", path)
        trace = Trace(content)
        self.assertEqual([event[:2] for event in trace.events],
                         [("marker", trace.start + 5), ("alloc", trace.start + 105), ("alloc", trace.start + 105),
                          ("free", trace.start + 1105), ("gc", trace.start + 1107)])
        packed, again = self.folder / "packed.mlyze", self.folder / "again.mlyze"
        self.run_ok("convert", "--compress", path, "-o", packed)
        self.run_ok("convert", "--decompress", packed, "-o", again)
        self.assertEqual(again.read_bytes(), content)
        (summary,) = self.run_ok("heap", "--json", path).json_lines()
        self.assertEqual([summary[key] for key in ("events", "allocations", "allocated_bytes", "frees", "peak_bytes",
                                                   "peak_time_us", "leaked_bytes", "gc_events", "markers", "duration_us")],
                         [5, 2, 16512, 1, 16512, trace.start + 105, 16384, 1, 1, 1107])


if __name__ == "__main__":
    tap.main()
