"""Names that come later: `heap --symbolize` must end where `record` would have, wherever the binaries are by then; and
recordings that were cut off are read as far as they are complete."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from support import heap_programs as programs
from support import mlyze_writer as writer
from support import samples, sextant, tap

RECORDER = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "src" / "libsextant-record.so"

INLINED = r"""
#include <stdlib.h>

static void *volatile kept[8];

static inline __attribute__((always_inline)) void *innermost(size_t size)
{
    return malloc(size);              /* innermost */
}

static inline __attribute__((always_inline)) void *between(size_t size)
{
    void *block = innermost(size + 1);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((noinline)) void *outer(size_t size)
{
    void *block = between(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

int main(void)
{
    kept[0] = outer(100);
    kept[1] = between(200);
    kept[2] = malloc(300);            /* in main */
    free(kept[0]);
    return 0;
}
"""

CPP = r"""
#include <cstdlib>
namespace deep {
template <typename T> struct Pool {
    __attribute__((noinline)) T *get(T size)
    {
        T *block = static_cast<T *>(std::malloc(sizeof(T) + size));
        __asm__ volatile("" : : "r"(block) : "memory");
        return block;
    }
};
}
int main() { deep::Pool<long> pool; return pool.get(7) == nullptr; }
"""

LOADING = r"""
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    for (int round = 0; round < 2; round++)
        for (int i = 1; i < argc; i++) {
            void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            if (library == NULL)
                return i;
            ((void (*)(void))dlsym(library, "run"))();
            dlclose(library);
        }
    return 0;
}
"""

LIBRARY = r"""
#include <stdlib.h>
static void *volatile sink;
__attribute__((noinline)) void NAME(void) { sink = malloc(SIZE); free(sink); __asm__ volatile("" : : : "memory"); }
void run(void) { NAME(); __asm__ volatile("" : : : "memory"); }
"""


def read(path):
    """(metadata, events) of a trace."""
    _, text, events = writer.read(path.read_bytes())
    return json.loads(text), events


def stacks_of(metadata):
    """stack id -> frames, innermost first."""
    return {number: [(metadata["functions"][str(frame["func_id"])], metadata["files"][str(frame["file_id"])], frame["line"])
                     for frame in frames] for number, frames in metadata["stack_traces"].items()}


def frames_of(path):
    """What each allocation has for frames, in order; what a run has of its own, such as addresses, is not in it."""
    metadata, events = read(path)
    stacks = stacks_of(metadata)
    return [(event[3], stacks[str(event[4])]) for event in events if event[0] == "alloc"]


def event_bytes(path):
    data = path.read_bytes()
    return data[writer.read_header(data)["events"]:]


@unittest.skipUnless(RECORDER.exists(), "the recorder is not built here")
class NamesTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "trace.mlyze"
        self.elsewhere = self.folder / "elsewhere"
        self.elsewhere.mkdir()

    def record(self, *command, output="trace.mlyze", options=("--no-symbols",)):
        result = sextant.run("record", "-q", "-o", self.folder / output, *options, "--", *command, cwd=self.folder)
        self.assertEqual((result.status, result.err), (0, ""), f"\n{result}")
        return self.folder / output

    def recorded(self, *flags, source=INLINED, language="c"):
        """A program, the frames that `record` has for it, and in self.trace what it has without symbols."""
        program = samples.compile_c(self.folder, "program", "-g", "-O2", *flags, source=source, language=language)
        wanted = frames_of(self.record(program, output="named.mlyze", options=()))
        self.record(program)
        self.assertNotEqual(frames_of(self.trace), wanted)
        return program, wanted

    def symbolize(self, *options, trace=None, said=None):
        """The program's own line on standard error, which must be the only one, or the last after those of SAID."""
        result = self.run_warned("heap", "--symbolize", trace or self.trace, *options)
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 1 + len(said or []), f"\n{result}")
        for line, text in zip(lines, said or []):
            self.assertIn(text, line)
        return result

    def named(self, wanted, *options, trace=None, said=None):
        """Symbolizes, and all frames must be those that `record` would have had."""
        result = self.symbolize(*options, trace=trace, said=said)
        self.assertRegex(result.err, r": (\d+) of \1 addresses got names\n$")
        self.assertEqual(frames_of(trace or self.trace), wanted)
        self.run_ok("verify", trace or self.trace)
        self.assertNotIn("unresolved", read(trace or self.trace)[0])
        return result


class Finding(NamesTest):
    def test_the_file_that_was_loaded(self):
        _, wanted = self.recorded()
        self.assertEqual([frame[0] for frame in wanted[0][1][:4]], ["innermost", "between", "outer", "main"])
        before, events = read(self.trace)[0], event_bytes(self.trace)
        result = self.named(wanted)
        self.assertIn("innermost", result.text)
        self.assertEqual(event_bytes(self.trace), events)
        after = read(self.trace)[0]
        for key in ("modules", "threads", "pid", "stack_order"):
            self.assertEqual(after[key], before[key])
        reference = read(self.folder / "named.mlyze")[0]
        for key in ("functions", "files"):
            self.assertEqual(sorted(after[key].values()), sorted(reference[key].values()))

    def test_what_is_done_is_not_done_again(self):
        _, wanted = self.recorded()
        self.named(wanted)
        before = self.trace.stat()
        result = self.symbolize()
        self.assertIn("no addresses without names", result.err)
        self.assertIn("innermost", result.text)
        after = self.trace.stat()
        self.assertEqual((after.st_ino, after.st_mtime_ns), (before.st_ino, before.st_mtime_ns))

    def test_readable_names(self):
        _, wanted = self.recorded(source=CPP, language="cpp")
        names = [frame[0].split(" [clone")[0] for frame in wanted[-1][1]]  # whether there is a clone, the compiler decides
        self.assertIn("deep::Pool<long>::get(long)", names)
        self.named(wanted)

    def test_a_binary_that_was_moved(self):
        program, wanted = self.recorded()
        program.rename(self.elsewhere / "another name")
        before = self.trace.read_bytes()
        result = self.symbolize("-o", self.folder / "half.mlyze")
        self.assertRegex(result.err, r": \d+ of \d+ addresses got names; program is missing, use --search DIR ")
        self.assertEqual(self.trace.read_bytes(), before)
        half = read(self.folder / "half.mlyze")[0]
        names = {half["functions"][number] for number in half["unresolved"]}
        self.assertTrue(names and all(name.startswith("program+0x") for name in names), names)
        self.assertTrue(any(name == "__libc_start_call_main" for name in half["functions"].values())
                        or not any("libc.so.6+" in name for name in half["functions"].values()))
        self.named(wanted, "--search", self.elsewhere, trace=self.folder / "half.mlyze")
        self.named(wanted, "--search", self.folder / "named.mlyze", "--search", self.elsewhere)

    def split(self, program, debug):
        """PROGRAM without symbols, and in DEBUG what it lost."""
        sextant.need_tool("objcopy", "strip")
        sextant.tool("objcopy", "--only-keep-debug", program, debug)
        sextant.tool("strip", "-o", f"{program}.stripped", program)
        os.replace(f"{program}.stripped", program)

    def test_a_stripped_binary_whose_debug_file_is_elsewhere(self):
        program, wanted = self.recorded()
        self.split(program, self.elsewhere / "anything")
        trace = shutil.copy(self.trace, self.folder / "again.mlyze")
        self.named(wanted, "--search", self.elsewhere, trace=pathlib.Path(trace))
        shutil.move(program, self.elsewhere / "program")
        self.named(wanted, "--search", self.elsewhere)

    def test_only_the_debug_file(self):
        program, wanted = self.recorded()
        self.split(program, self.elsewhere / "program.debug")
        program.unlink()
        self.named(wanted, "--search", self.elsewhere)

    def test_debug_files_of_the_system(self):
        program, wanted = self.recorded()
        identity = next(module["build_id"] for module in read(self.trace)[0]["modules"]
                        if module["path"] == str(program))
        folder = self.elsewhere / ".build-id" / identity[:2]
        folder.mkdir(parents=True)
        self.split(program, folder / f"{identity[2:]}.debug")
        result = sextant.run("heap", "--symbolize", self.trace, "--debug-dir", self.elsewhere)
        self.assertEqual(result.status, 0, f"\n{result}")
        own = [[frame for frame in frames if frame[1].startswith(str(self.folder))] for _, frames in wanted]
        self.assertEqual([[frame for frame in frames if frame[1].startswith(str(self.folder))]
                          for _, frames in frames_of(self.trace)], own)

    def test_a_debug_file_that_the_binary_names(self):
        program, wanted = self.recorded()
        debug = self.folder / "program.dbg"
        self.split(program, debug)
        sextant.tool("objcopy", f"--add-gnu-debuglink={debug}", program)
        self.named(wanted)

    def test_another_build_at_the_same_path(self):
        program, wanted = self.recorded()
        shutil.move(program, self.elsewhere / "program")
        samples.compile_c(self.folder, "program", "-g", "-O2", source=INLINED.replace("kept[1] = between(200);", ""))
        trace = shutil.copy(self.trace, self.folder / "again.mlyze")
        result = self.symbolize(trace=pathlib.Path(trace), said=[f"{program}: warning: only a file with another build ID"])
        self.assertIn("--search", result.err)
        self.assertIn("program+0x", result.text)
        self.assertNotIn("innermost", result.text)
        wrong = self.folder / "wrong"
        wrong.mkdir()
        shutil.copy(program, wrong)
        self.symbolize("--search", wrong, trace=pathlib.Path(trace), said=["another build ID"])
        self.named(wanted, "--search", self.elsewhere)

    def test_files_without_a_build_id(self):
        program, wanted = self.recorded("-Wl,--build-id=none")
        trace = pathlib.Path(shutil.copy(self.trace, self.folder / "again.mlyze"))
        self.named(wanted, trace=trace)
        shutil.move(program, self.elsewhere / "program")
        self.named(wanted, "--search", self.elsewhere)

    def test_an_archive_called_like_the_build_id(self):
        program, wanted = self.recorded()
        identity = next(module["build_id"] for module in read(self.trace)[0]["modules"]
                        if module["path"] == str(program))
        archive = self.archive(program)
        named = self.elsewhere / "program.lidia"
        shutil.copy(self.archive(program, "--compat", name="plain.lidia"), named)
        program.unlink()
        self.assertIn("program+0x", self.symbolize("--search", self.elsewhere, "-o", self.folder / "other.mlyze").text,
                      "an archive called like the file that does not know its build ID may be of any build")
        shutil.copy(archive, named)
        self.named(wanted, "--search", self.elsewhere, trace=pathlib.Path(shutil.copy(self.trace, self.folder / "a.mlyze")))
        named.unlink()
        shutil.move(archive, self.elsewhere / f"{identity}.lidia")
        self.named(wanted, "--search", self.elsewhere)

    def test_libraries_that_are_loaded_while_it_runs(self):
        program = samples.compile_c(self.folder, "program", "-g", source=LOADING)
        libraries = []
        for name, size in (("one", 11), ("two", 22)):
            (self.folder / name).mkdir()
            libraries.append(samples.compile_c(self.folder / name, "libsame.so", "-g", "-shared", "-fPIC", f"-DSIZE={size}",
                                               source=LIBRARY.replace("NAME", f"in_{name}")))
        found = lambda path: [(size, frames) for size, frames in frames_of(path) if size in (11, 22)]
        wanted = found(self.record(program, *libraries, output="named.mlyze", options=()))
        self.assertEqual([(size, frames[0][0]) for size, frames in wanted], [(11, "in_one"), (22, "in_two")] * 2)
        self.record(program, *libraries)
        unresolved = read(self.trace)[0]["unresolved"]
        text = writer.read(self.trace.read_bytes())[1]
        self.assertEqual(len(unresolved), text.count(b'"address": "0x'), "an id is there twice")
        functions = read(self.trace)[0]["functions"].values()
        self.assertEqual(len([name for name in functions if name.startswith("libsame.so")]), 4,
                         "two of each library, however often it is loaded")
        for folder, library in zip(("x", "y"), libraries):
            (self.elsewhere / folder).mkdir()
            shutil.move(library, self.elsewhere / folder / "libsame.so")
        self.symbolize("--search", self.elsewhere)
        self.assertEqual(found(self.trace), wanted)
        self.assertNotIn("unresolved", read(self.trace)[0])

    def test_llvm_says_the_same(self):
        sextant.need_tool("llvm-symbolizer")
        program, _ = self.recorded()
        metadata, _ = read(self.trace)
        before = stacks_of(metadata)
        self.symbolize()
        after = stacks_of(read(self.trace)[0])
        place = [module["path"] for module in metadata["modules"]].index(str(program))
        addresses = {metadata["functions"][number]: int(entry["address"], 16) - 1
                     for number, entry in metadata["unresolved"].items() if entry.get("module") == place}
        compared = 0
        for number, frames in before.items():
            chain = []
            for function, _, _ in frames:
                if function not in addresses:
                    break
                told = json.loads(sextant.tool("llvm-symbolizer", "--output-style=JSON", f"--obj={program}",
                                               hex(addresses[function])))
                told = told[0] if isinstance(told, list) else told
                chain += [(frame["FunctionName"], frame["FileName"], frame["Line"]) for frame in told["Symbol"]]
            self.assertEqual(after[number][:len(chain)], chain)
            compared += len(chain)
        self.assertGreater(compared, 5)


class Files(NamesTest):
    def test_the_file_is_left_alone_when_there_is_another(self):
        _, wanted = self.recorded()
        before = self.trace.read_bytes()
        result = self.symbolize("-o", self.folder / "out.mlyze", "--folded")
        self.assertIn("main;outer;between;innermost ", result.text)
        self.assertEqual(self.trace.read_bytes(), before)
        self.assertEqual(frames_of(self.folder / "out.mlyze"), wanted)
        self.symbolize("-o", self.folder / "copy.mlyze", trace=self.folder / "out.mlyze")
        self.assertEqual((self.folder / "copy.mlyze").read_bytes(), (self.folder / "out.mlyze").read_bytes())
        self.assertEqual([path.name for path in self.folder.glob("*out.mlyze*")], ["out.mlyze"])

    def test_a_compressed_trace_stays_one(self):
        program, wanted = self.recorded()
        self.record(program, options=["--no-symbols", "--compress"])
        self.run_ok("heap", "--index", self.trace)
        beside = [pathlib.Path(f"{self.trace}{ending}") for ending in (".idx", ".live")]
        self.assertEqual([path.exists() for path in beside], [True, True])
        before = [path.read_bytes() for path in beside]
        events = event_bytes(self.trace)
        self.named(wanted)
        self.assertEqual(event_bytes(self.trace), events)
        self.assertEqual(writer.read_header(self.trace.read_bytes())["codec"], 4)
        for path, old in zip(beside, before):
            self.assertNotEqual(path.read_bytes(), old)
            fresh = path.read_bytes()
            path.unlink()
            if path.suffix == ".live":
                self.run_ok("heap", "--index", self.trace)
            else:
                self.run_ok("convert", "--compress", self.trace, "-o", self.folder / "c.mlyze")
                path = self.folder / "c.mlyze.idx"
            self.assertEqual(path.read_bytes(), fresh)

    def test_nothing_appears_beside_a_trace_that_had_nothing(self):
        _, wanted = self.recorded()
        self.named(wanted)
        self.assertEqual([path.name for path in self.folder.glob("trace.mlyze*")], ["trace.mlyze"])

    def test_streams_and_compressed_files_are_answered_but_not_kept(self):
        _, wanted = self.recorded()
        packed = self.file("trace.mlyze.gz", gzip.compress(self.trace.read_bytes()))
        before = packed.read_bytes()
        result = self.run_warned("heap", "--symbolize", packed)
        self.assertIn("warning: not changed: it is compressed as a whole; use -o FILE to keep the names", result.err)
        self.assertIn("innermost", result.text)
        self.assertEqual(packed.read_bytes(), before)
        result = self.run_warned("heap", "--symbolize", "-", stdin=self.trace.read_bytes())
        self.assertIn("warning: not changed: it is a stream", result.err)
        self.assertIn("innermost", result.text)
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        feeder = subprocess.Popen(["cp", "--", self.trace, pipe])
        result = self.run_warned("heap", "--symbolize", pipe)
        self.assertEqual(feeder.wait(), 0)
        self.assertIn("warning: not changed: it is a stream", result.err)
        self.symbolize("-o", self.folder / "out.mlyze", trace=packed)
        self.assertEqual(frames_of(self.folder / "out.mlyze"), wanted)

    def test_a_folder_that_cannot_be_written_to(self):
        self.recorded()
        before = self.trace.read_bytes()
        self.let_others_in()
        os.chmod(self.folder, 0o555)
        self.addCleanup(os.chmod, self.folder, 0o755)
        result = sextant.run("heap", "--symbolize", self.trace, env={"TMPDIR": "/tmp"}, unprivileged=True)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertRegex(result.err, r"warning: not changed: .*Permission denied; use -o FILE to keep the names")
        self.assertIn(b"innermost", result.out)
        self.assertEqual(self.trace.read_bytes(), before)

    def test_wrong_usage(self):
        self.run_usage("heap", "x.mlyze", "--search", "/")
        self.run_usage("heap", "x.mlyze", "-o", "y.mlyze")
        self.run_usage("heap", "--symbolize", "x.mlyze", "-o", "-")
        trace = self.file("t.mlyze", writer.example())
        self.run_error("heap", "--symbolize", trace, "--search", self.folder / "nowhere", naming="nowhere")
        result = sextant.run("heap", "--symbolize", trace, "-o", self.folder / "no" / "folder")
        self.assertEqual(result.status, 1, f"\n{result}")
        self.assertIn("no/folder", result.err)


@unittest.skipUnless(shutil.which("gcc"), "no compiler")
class Metadata(sextant.ProgramTest):
    """Made by hand: what is kept, and what makes no sense."""

    @classmethod
    def setUpClass(cls):
        cls.holder = NamesTest("record")
        cls.holder.setUp()
        program = samples.compile_c(cls.holder.folder, "program", "-g", "-O2", source=INLINED)
        lines = sextant.tool("nm", program).decode().splitlines()
        cls.program = program
        cls.address = hex(next(int(line.split()[0], 16) for line in lines if line.endswith(" T outer")) + 1)

    @classmethod
    def tearDownClass(cls):
        cls.holder.doCleanups()

    def made(self, text, events=writer.EXAMPLE_EVENTS):
        text = text if isinstance(text, bytes) else json.dumps(text).encode()
        return self.file("made.mlyze", writer.plain(events, writer.EXAMPLE_START, text))

    def base(self, **changes):
        """Stack 0 has `outer` of the program as function 1, in between others."""
        return {
            "stack_traces": {"0": [{"file_id": 0, "line": 42, "func_id": 0},
                                   {"file_id": 1, "line": 0, "func_id": 1, "note": [1, {"}": "]"}]},
                                   {"file_id": 0, "line": 7, "func_id": 0, "mine": "\"]}"}], "1": []},
            "files": {"0": "/app/main.c", "1": str(self.program)},
            "functions": {"0": "main", "1": "program+0x1", "2": "phase-1"},
            "modules": [{"path": str(self.program), "build_id": "", "base": "0x0"}],
            "unresolved": {"1": {"module": 0, "address": self.address}},
            **changes,
        }

    def symbolized(self, text, **keywords):
        path = self.made(text, **keywords)
        result = self.run_warned("heap", "--symbolize", path)
        return result, json.loads(writer.read(path.read_bytes())[1])

    def test_all_else_stays_as_it_is(self):
        result, after = self.symbolized(self.base(mine={"a": [1, 2.50, "\u00e9\\\""]}, pid=7))
        self.assertIn(": 1 of 1 addresses got names\n", result.err)
        self.assertEqual([frame[0] for frame in stacks_of(after)["0"]], ["main", "outer", "main"])
        self.assertEqual(after["stack_traces"]["0"][2], {"file_id": 0, "line": 7, "func_id": 0, "mine": "\"]}"})
        self.assertEqual((after["mine"], after["pid"]), ({"a": [1, 2.5, "\u00e9\\\""]}, 7))
        self.assertEqual(after["functions"]["2"], "phase-1")
        self.assertIn('"mine": {"a": [1, 2.5, "\\u00e9'.encode(), self.folder.joinpath("made.mlyze").read_bytes())

    def test_a_function_that_names_a_marker_stays(self):
        events = [("marker", writer.EXAMPLE_START + 1, 1), *writer.EXAMPLE_EVENTS[1:]]
        _, after = self.symbolized(self.base(), events=events)
        self.assertEqual(after["functions"]["1"], "program+0x1")
        self.assertEqual(stacks_of(after)["0"][1][0], "outer")

    def test_blanks_escapes_and_other_orders(self):
        text = json.dumps(self.base(), indent=3)
        keys = {"stack_traces": "st\\u0061ck_traces", "unresolved": "\\u0075nresolved", '"1": "program+0x1"':
                '"\\u0031": "program+0x1"'}
        for old, new in keys.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        _, after = self.symbolized(b" \n" + text.encode())
        self.assertEqual([frame[0] for frame in stacks_of(after)["0"]], ["main", "outer", "main"])
        self.assertNotIn("unresolved", after)
        base = self.base()
        _, after = self.symbolized(dict(reversed(base.items())))
        self.assertEqual([frame[0] for frame in stacks_of(after)["0"]], ["main", "outer", "main"])
        del base["files"]
        _, after = self.symbolized(base)
        self.assertEqual(after["files"][str(after["stack_traces"]["0"][1]["file_id"])].rsplit("/", 1)[1], "program.c")

    def test_entries_that_make_no_sense_go(self):
        odd = {
            "no such function": {"99": {"module": 0, "address": "0x1"}},
            "no id": {"x": {"module": 0, "address": "0x1"}, "-1": {}, "4294967296": {}, "": {}},
            "no such module": {"0": {"module": 1, "address": "0x1"}, "2": {"module": 1 << 40, "address": "0x1"}},
            "modules that are no numbers": {"0": {"module": -1, "address": "0x1"}, "2": {"module": "0", "address": "0x1"}},
            "no addresses": {"0": {"module": 0, "address": "zz"}, "2": {"module": 0, "address": 77}},
            "far addresses": {"0": {"module": 0, "address": "0x" + "f" * 17}, "2": {"module": 0, "address": "0x0"}},
            "other things": {"0": None, "2": [[]]},
        }
        for name, entries in odd.items():
            with self.subTest(name):
                base = self.base()
                base["unresolved"] = {**entries, **base["unresolved"]}
                base["functions"]["3"] = "program+0xffff"
                base["unresolved"]["3"] = {"address": "0xffff"}
                result, after = self.symbolized(base)
                self.assertEqual(len(result.err.splitlines()), 2, f"\n{result}")
                verb = "entry is" if len(entries) == 1 else "entries are"
                self.assertIn(f"warning: {len(entries)} unresolved {verb} invalid", result.err)
                self.assertIn(": 1 of 2 addresses got names\n", result.err)
                self.assertEqual(after["unresolved"], {"3": {"address": "0xffff"}})
                self.assertEqual(stacks_of(after)["0"][1][0], "outer")

    def test_modules_that_make_no_sense(self):
        for modules in ([], {}, None, 7, [None], [{}], [{"path": 3}], [{"path": str(self.program), "build_id": "xyz"}],
                        [{"path": str(self.program), "build_id": "abc"}], [{"path": "", "build_id": ""}]):
            with self.subTest(modules):
                result, after = self.symbolized(self.base(modules=modules))
                self.assertIn("warning: 1 unresolved entry is invalid", result.err)
                self.assertEqual(after, self.base(modules=modules))

    def test_paths_that_lead_to_no_program(self):
        for path in ("/", "/dev/zero", "/proc/self/mem", "/nowhere", "relative", "/\0x", "/" + "x" * 5000,
                     str(self.folder / "made.mlyze")):
            with self.subTest(path):
                result, after = self.symbolized(self.base(modules=[{"path": path, "build_id": "ab" * 20}]))
                self.assertIn(": 0 of 1 addresses got names", result.err)
                self.assertIn("unresolved", after)
        result, _ = self.symbolized(self.base(modules=[{"path": "/x/\x1b[31mred\n", "build_id": ""}]))
        self.assertIn("\\x1b[31mred\\x0a is missing", result.err)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        result, _ = self.symbolized(self.base(modules=[{"path": str(fifo), "build_id": ""}]))
        self.assertIn(": 0 of 1 addresses got names", result.err)

    def test_code_in_no_file(self):
        result, after = self.symbolized(self.base(unresolved={"1": {"address": "0x1234"}}))
        self.assertIn(": 0 of 1 addresses got names\n", result.err)
        self.assertEqual(after["unresolved"], {"1": {"address": "0x1234"}})

    def test_two_of_it(self):
        text = json.dumps(self.base())
        twice = text[:-1] + ', "unresolved": {}}'
        self.run_error("heap", "--symbolize", self.made(twice.encode()), naming="made.mlyze")
        entry = '"1": {"module": 0, "address": "%s"}' % self.address
        result, _ = self.symbolized(text.replace(entry, f"{entry}, {entry}").encode())
        self.assertIn("warning: 1 unresolved entry is invalid", result.err)

    def test_very_many_entries(self):
        functions = {str(i): f"program+0x{i:x}" for i in range(100000)}
        unresolved = {str(i): {"module": 0, "address": hex(int(self.address, 16) + i)} for i in range(100000)}
        base = self.base(functions=functions, unresolved=unresolved)
        result, _ = self.symbolized(base)
        self.assertRegex(result.err, r": \d+ of 100000 addresses got names\n$")
        entries = ", ".join(f'"{i}": {{"module": 0, "address": "0x1"}}' for i in range(1000000))
        text = json.dumps(self.base(unresolved={})).replace('"unresolved": {}', f'"unresolved": {{{entries}}}')
        result = self.run_error("heap", "--symbolize", self.made(text.encode()), naming="made.mlyze", limit_memory=True)
        self.assertIn("too many unresolved functions", result.err)

    def test_ids_as_large_as_they_may_be(self):
        base = self.base()
        base["functions"]["1048575"] = "far"
        result, after = self.symbolized(base)
        self.assertIn(": 1 of 1 addresses got names\n", result.err)
        self.assertEqual(after["functions"]["1048575"], "far")

    def test_a_trace_without_any_of_it(self):
        result = self.run_warned("heap", "--symbolize", self.file("t.mlyze", writer.example()))
        self.assertIn("no addresses without names", result.err)

    def test_a_damaged_trace_is_not_touched(self):
        path = self.made(self.base())
        path.write_bytes(path.read_bytes()[:-1])
        before = path.read_bytes()
        self.run_error("heap", "--symbolize", path, naming="made.mlyze")
        self.assertEqual(path.read_bytes(), before)

    def test_any_byte_may_be_another(self):
        path = self.made(self.base())
        good = path.read_bytes()
        for at in sextant.some(range(256, len(good) - 40, 3)):
            for value in (0x22, 0x5C, 0x7D, 0x30):
                path.write_bytes(good[:at] + bytes([value]) + good[at + 1:])
                result = sextant.run("heap", "--symbolize", path)
                self.assert_no_crash(result)
                self.assertIn(result.status, (0, 1), f"\n{result}")


@unittest.skipUnless(RECORDER.exists(), "the recorder is not built here")
class Unclean(sextant.ProgramTest):
    WARNING = ("warning: the recording was cut off; reading what is complete "
               "('sextant convert --recover' makes a complete trace from it)")

    def start(self, *arguments):
        """A recording under way; (process of record, number of the program)."""
        output = self.folder / "out.mlyze"
        self.program = programs.build(self.folder, "program", programs.FOREVER)
        child = subprocess.Popen([sextant.program(), "record", "-q", "-o", output, "--", self.program, *arguments],
                                 stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        number = int(pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()[0])
        self.addCleanup(self.end, child, number)
        self.trace = self.folder / "out.mlyze.part"
        return child, number

    def end(self, *processes):
        for process in processes:
            try:
                os.kill(getattr(process, "pid", process), signal.SIGKILL)
            except ProcessLookupError:
                pass
            if hasattr(process, "wait"):
                process.wait()

    def ask(self, *arguments, **keywords):
        """Standard output of a run that says in one line that the recording was cut off."""
        result = self.run_warned(*arguments, **keywords)
        self.assertEqual(result.err, f"sextant: {self.trace}: {self.WARNING}\n", f"\n{result}")
        return result

    def test_everything_reads_what_is_there(self):
        self.end(*self.start())
        before = self.trace.read_bytes()
        aside = self.folder / "aside"
        aside.mkdir()
        place = {"TMPDIR": str(aside)}
        whole = self.folder / "whole.mlyze"
        self.run_ok("convert", "--recover", "--plain", self.trace, "-o", whole)
        for arguments in (["heap"], ["heap", "--top", "--json"], ["heap", "--folded"], ["dump"]):
            self.assertEqual(self.ask(*arguments, self.trace, env=place).out, self.run_ok(*arguments, whole).out)
        self.assertIn(";main ", self.ask("heap", "--folded", self.trace).text)
        told, wanted = [json.loads(text) for text in (self.ask("info", "--json", self.trace, env=place).text,
                                                      self.run_ok("info", "--json", whole).text)]
        self.assertEqual(told["size"], len(before))
        for key in ("events", "allocations", "stacks", "duration_us"):
            self.assertEqual(told[key], wanted[key])
        changes = self.ask("diff", "--json", self.trace, whole, env=place).json_lines()
        self.assertEqual((changes[-1]["summary"]["changed"], changes[-1]["summary"]["added"]), (0, 0))
        self.ask("diff", f"{self.trace}@1ms", f"{self.trace}@2ms", env=place)
        self.assertEqual(list(aside.iterdir()), [], "nothing is left behind")
        self.assertEqual(self.trace.read_bytes(), before)
        verified = sextant.run("verify", self.trace)
        self.assertEqual(verified.status, 1)
        self.assertRegex(verified.text, r"cut off; 'sextant convert --recover' makes .* \(offset 0x14, rule unclean\)")
        message = json.loads(sextant.run("verify", "--json", self.trace).text)["message"]
        self.assertIn("sextant convert --recover", message)
        self.run_error("lookup", self.trace, "0x10", naming=self.trace)

    def test_a_program_that_still_runs(self):
        child, _ = self.start("slowly")
        before = 30000
        for _ in range(20 // sextant.ONE_IN):  # now and then a window is written out in the meantime
            now = json.loads(self.ask("heap", "--json", self.trace).text)["allocations"]
            self.assertGreaterEqual(now, before)
            before = now
        top = self.ask("heap", self.trace).text
        self.assertIn("main  ", top)
        self.end(child)
        third = json.loads(self.ask("heap", "--json", self.trace).text)
        self.assertGreaterEqual(third["allocations"], before, "the program goes on without record")

    def test_names_for_it_go_to_another_file(self):
        self.end(*self.start())
        away = self.folder / "away"
        away.mkdir()
        shutil.move(self.program, away)
        before = self.trace.read_bytes()
        result = self.run_warned("heap", "--symbolize", self.trace, "--search", away)
        self.assertIn(self.WARNING, result.err)
        self.assertIn("not changed: the recording was cut off; use -o FILE to keep the names", result.err)
        self.assertIn("main  ", result.text)
        result = self.run_warned("heap", "--symbolize", self.trace, "--search", away, "-o", self.folder / "named.mlyze")
        self.assertRegex(result.err, r": (\d+) of \1 addresses got names\n$")
        self.run_ok("verify", self.folder / "named.mlyze")
        self.assertIn("main", read(self.folder / "named.mlyze")[0]["functions"].values())
        self.assertEqual(self.trace.read_bytes(), before)

    def test_what_cannot_be_done(self):
        self.end(*self.start())
        result = self.run_error("heap", self.trace, env={"TMPDIR": "/nowhere"}, naming=self.trace)
        self.assertIn("/nowhere", result.err)
        self.run_error("heap", "--index", self.trace, naming=self.trace)
        spool = self.trace.read_bytes()
        for size in (4, 255, 256, 300, 4095):
            self.trace.write_bytes(spool[:size])
            for verb in ("heap", "dump", "info"):
                self.run_error(verb, self.trace, naming=self.trace)
        for size in (4096, 5000, 20000, len(spool) // 2):
            self.trace.write_bytes(spool[:size])
            self.ask("heap", self.trace)


if __name__ == "__main__":
    tap.main()
