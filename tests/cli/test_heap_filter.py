"""heap: filters keep some allocations, in every table and every export; what is kept has the figures it had before."""

import csv
import io
import json
import random
import re

from support import heap_programs, mlyze_writer, pprof, recording, sextant, tap
from support.heap_oracle import START, Heap, random_events

FUNCTIONS = ["main", "load", "void std::vector<int, std::allocator<int> >::push_back(int&&)", "grow(int)",
             "libz.so.1+0x12", "begin", "end"]
FILES = ["/app/main.c", "/usr/include/c++/12/bits/stl_vector.h", "/lib/libz.so.1", "/opt/libz.so.1", "/usr/bin/app"]
STACKS = [
    [(0, 10, 1), (0, 3, 0)],
    [(1, 9, 2), (0, 11, 1), (0, 3, 0)],
    [(1, 9, 2), (0, 12, 1), (0, 3, 0)],
    [(0, 20, 3), (0, 21, 3), (0, 3, 0)],
    [(2, 0, 4), (0, 22, 3), (0, 3, 0)],
    [(3, 0, 4), (0, 22, 3), (0, 3, 0)],
    [(4, 0, 1)],
    [],
]
THREADS = {"0": "main", "1": "worker", "2": "worker", "3": "7"}
METADATA = mlyze_writer.metadata(STACKS, FILES, FUNCTIONS, threads=THREADS)
SUMS = ["allocated_bytes", "allocations", "peak_bytes", "peak_allocations", "leaked_bytes", "leaked_allocations",
        "live_bytes", "live_allocations", "freed_bytes", "temporary_bytes", "temporary_allocations"]  # fmt: skip


def events_of(seed, stacks=len(STACKS), count=1500):
    """Random events, whose stacks and threads are among ours."""
    chance = random.Random(seed)
    return [(*event[:4], chance.randrange(stacks), chance.randrange(4)) if event[0] == "alloc" else event
            for event in random_events(seed, count=count) if event[0] != "marker"]  # fmt: skip


def names_of(stack):
    """All that a pattern may match."""
    short = {FUNCTIONS[2]: "std::vector<>::push_back(int&&)"}
    return [text for file, _, function in STACKS[stack]
            for text in (FUNCTIONS[function], short.get(FUNCTIONS[function], ""), FILES[file])]  # fmt: skip


class FilterTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.events = events_of(3)
        self.path = self.file("t.mlyze", mlyze_writer.plain(self.events, START, METADATA))

    def ask(self, *options):
        result = sextant.run("heap", self.path, "--json", *options)
        self.assertEqual(result.status, 0, f"\n{result}")
        return result.json_lines()

    def rows(self, *options):
        return {row["stack"]: {key: row[key] for key in SUMS} for row in self.ask("--top", *options)}


class Frames(FilterTest):
    def kept(self, focus=(), ignore=()):
        def has(stack, patterns):
            return any(re.search(pattern, name) for pattern in patterns for name in names_of(stack))

        return {i for i in range(len(STACKS)) if (not focus or has(i, focus)) and not has(i, ignore)}

    def test_rows_are_those_of_the_whole_table(self):
        every = self.rows()
        for focus, ignore in ((["load"], []), (["^grow"], []), (["push_back"], []), ([], ["push_back"]), (["load"],
            ["vector<>"]),
                              (["vector<>"], []), (["std::vector<int, "], []), (["libz"], []), ([], ["libz", "main"]),
                              (["load", "libz"], []), (["/app/.*[.]c$"], ["z[.]so"]), (["nothing"], []), ([],
                                  ["."])):  # fmt: skip
            options = [word for pattern in focus for word in ("--focus", pattern)]
            options += [word for pattern in ignore for word in ("--ignore", pattern)]
            with self.subTest(options):
                kept = self.kept(focus, ignore)
                self.assertEqual(self.rows(*options), {stack: row for stack, row in every.items() if stack in kept})

    def test_totals_are_the_sums_of_the_rows(self):
        (whole,) = self.ask()
        self.assertFalse(whole["filtered"])
        (total,) = self.ask("--focus", "load", "--ignore", "vector")
        rows = self.ask("--top", "--focus", "load", "--ignore", "vector")
        for key in SUMS[:8] + SUMS[9:]:
            self.assertEqual(total[key], sum(row[key] for row in rows), key)
        self.assertTrue(total["filtered"])
        for key in SUMS[:8]:
            self.assertEqual(total["unfiltered"][key], whole[key], key)
        for key in ("peak_time_us", "duration_us"):
            self.assertEqual(total[key], whole[key], key)
        for key in ("events", "frees", "implicit_frees", "unmatched_frees", "temporary_allocations"):
            self.assertEqual(total["unfiltered"][key], whole[key], key)
        # What is counted is that of the blocks which are kept; a free without a block has no stack.
        kept, live, frees, implicit = self.kept(["load"], ["vector"]), {}, 0, 0
        for event in self.events:
            if event[0] == "free":
                frees += live.pop(event[2], None) in kept
            elif event[0] == "alloc":
                implicit += live.get(event[2]) in kept
                live[event[2]] = event[4]
        self.assertEqual((total["frees"], total["implicit_frees"]), (frees, implicit))
        self.assertEqual(total["events"], frees + total["allocations"])
        self.assertIsNone(total["unmatched_frees"])
        self.assertGreater(total["allocated_bytes"], 0)
        self.assertLess(total["allocated_bytes"], whole["allocated_bytes"])

    def test_other_tables_have_the_same_sums(self):
        (total,) = self.ask("--focus", "vector")
        for key in ("thread", "size", "function", "file"):
            rows = self.ask("--by", key, "--focus", "vector")
            for name in ("allocated_bytes", "leaked_allocations", "peak_bytes"):
                self.assertEqual(sum(row[name] for row in rows), total[name], (key, name))
        points = self.ask("--timeline=50", "--focus", "vector")
        self.assertEqual(sum(point["allocated_bytes"] for point in points), total["allocated_bytes"])
        self.assertEqual(points[-1]["live_bytes"], total["live_bytes"])
        lives = self.ask("--lifetimes", "--focus", "vector")
        self.assertEqual(sum(life["freed_allocations"] for life in lives), total["allocations"] - total["live_allocations"])

    def test_the_timeline_is_that_of_what_is_kept(self):
        kept = self.kept(["vector"])
        ours = {event[2] for event in self.events if event[0] == "alloc" and event[4] in kept}
        levels, live = [], {}
        for event in self.events:
            if event[0] == "alloc":
                live[event[2]] = (event[3], event[4])
            elif event[0] == "free":
                live.pop(event[2], None)
            levels.append(sum(size for size, stack in live.values() if stack in kept))
        self.assertTrue(ours)
        self.assertEqual(max(point["peak_bytes"] for point in self.ask("--timeline=9", "--focus", "vector")), max(levels))

    def test_exports_and_moments(self):
        kept = {stack for stack in self.kept(["load"]) if stack in self.rows()}
        self.assertEqual({row["stack"] for row in self.ask("--at", "20ms", "--focus", "load")[1:]} - kept, set())
        total, *rows = self.ask("--between", "1ms", "80ms", "--focus", "load")
        self.assertEqual(sum(row["growth_bytes"] for row in rows), total["growth_bytes"])
        lines = sextant.run("heap", self.path, "--folded", "--focus", "load").text.splitlines()
        self.assertTrue(all("load" in line for line in lines) and lines)
        sextant.run("heap", self.path, "--pprof", self.folder / "p.pb", "--focus", "load")
        self.assertEqual(len(pprof.decode((self.folder / "p.pb").read_bytes()).samples), len(kept))

    def test_the_output_says_so(self):
        (whole,), (total,) = self.ask(), self.ask("--focus", "load")
        said = f"filtered: {total['allocated_bytes']:,} of {whole['allocated_bytes']:,} bytes"
        for form in ((), ("--leaks",), ("--tree",), ("--timeline",)):
            self.assertIn(said, sextant.run("heap", self.path, "--focus", "load", *form).text)
        for form in (("--leaks", "--json"), ("--folded",), ("--csv",)):
            result = sextant.run("heap", self.path, "--focus", "load", *form)
            self.assertIn(said, result.err)
            self.assertNotIn("filtered", result.text)
        self.assertNotIn("filtered", self.run_ok("heap", self.path, "--leaks").text)

    def test_what_is_wrong_is_said(self):
        for option in ("--focus", "--ignore"):
            result = sextant.run("heap", self.path, option, "(")
            self.assertEqual(result.status, 2)
            self.assertIn("not a regular expression: '('", result.err)
        for option in ("--focus", "--module", "--thread", "--depth", "--frames"):
            self.run_usage("heap", self.path, option, "")
        for option in ("--depth", "--frames"):
            self.run_usage("heap", self.path, option, "0")
            self.run_usage("heap", self.path, option, "x")


class Depth(FilterTest):
    def test_stacks_are_cut_and_merged(self):
        every = self.rows()
        for depth in (1, 2, 3, 100):
            expected = {}
            for stack, row in sorted(every.items()):
                frames = [(FUNCTIONS[f], FILES[i], line) for i, line, f in STACKS[stack]][:depth]
                key = json.dumps(frames) if frames else stack
                lowest, sums = expected.setdefault(key, (stack, dict.fromkeys(SUMS, 0)))
                for name in SUMS:
                    sums[name] += row[name]
            self.assertEqual(self.rows("--depth", str(depth)), dict(expected.values()))
            for row in self.ask("--leaks", "--depth", str(depth)):
                self.assertLessEqual(len(row["frames"]), depth)

    def test_exports_are_cut(self):
        lines = self.run_ok("heap", self.path, "--folded", "--depth", "1").text.splitlines()
        self.assertTrue(lines and all(";" not in line.rsplit(" ", 1)[0].replace("; ", "") for line in lines))
        self.run_ok("heap", self.path, "--depth", "1", "--pprof", self.folder / "p.pb", "--speedscope",
                    self.folder / "s.json")
        profile = pprof.decode((self.folder / "p.pb").read_bytes())
        self.assertEqual({len(sample[0]) for sample in profile.samples}, {1})
        scope = json.loads((self.folder / "s.json").read_text())
        self.assertTrue(all(len(sample) == 1 for shown in scope["profiles"] for sample in shown["samples"]))
        self.assertEqual({node["depth"] for node in self.ask("--tree", "--depth", "1")}, {0})

    def test_the_pattern_sees_the_whole_stack(self):
        self.assertEqual(set(self.rows("--depth", "1", "--focus", "^main$")), {0, 1, 3, 4, 5})


class Places(FilterTest):
    def test_threads_by_number_and_name(self):
        for words, threads in ((["0"], {0}), (["worker"], {1, 2}), (["main", "2"], {0, 2}), (["3"], {3}), (["9"], set())):
            heap = Heap(self.events)
            expected = {}
            for block in heap.blocks:
                if block.thread in threads:
                    row = expected.setdefault(block.stack, [0, 0, 0])
                    row[0] += block.size
                    row[1] += 1
                    row[2] += 0 if block.died_number is not None else block.size
            options = [part for word in words for part in ("--thread", word)]
            found = self.rows(*options)
            self.assertEqual({stack: [row["allocated_bytes"], row["allocations"], row["leaked_bytes"]]
                              for stack, row in found.items()}, expected)  # fmt: skip
            shown = {row["thread"] for row in self.ask("--by", "thread", *options)}
            self.assertEqual(shown, {b.thread for b in heap.blocks if b.thread in threads})

    def test_the_peak_is_that_of_the_whole_heap(self):
        heap = Heap(self.events)
        _, time, number = heap.peak()
        live = [block for block in heap.live_after(number) if block.thread in (1, 2)]
        (total,) = self.ask("--thread", "worker")
        self.assertEqual((total["peak_bytes"], total["peak_allocations"], total["peak_time_us"]),
                         (sum(block.size for block in live), len(live), time))  # fmt: skip

    def test_an_unknown_thread_is_an_error(self):
        result = self.run_error("heap", self.path, "--thread", "nobody", naming=self.path)
        self.assertIn("no thread named 'nobody'", result.err)

    def test_modules(self):
        for word, stacks in (("libz.so.1", {4, 5}), ("libz", {4, 5}), ("/opt/libz.so.1", {5}), ("app", {6}), ("lib",
            set())):
            self.assertEqual(set(self.rows("--module", word)), stacks, word)

    def test_modules_of_functions_with_lines(self):
        text = mlyze_writer.metadata(STACKS, FILES, FUNCTIONS, modules=[{"path": "/usr/bin/app"},
            {"path": "/lib/libmine.so.2"}],
                                     function_modules="0*1 1*1 -*1 0*1 -*3")  # fmt: skip
        self.path = self.file("m.mlyze", mlyze_writer.plain(self.events, START, text))
        # push_back is in several files; the code that called it decides.
        self.assertEqual(set(self.rows("--module", "libmine")), {0, 1, 2, 6})
        self.assertEqual(set(self.rows("--module", "app")), {3})
        self.assertEqual(set(self.rows("--module", "libz")), {4, 5})

    def test_nonsense_about_modules_does_no_harm(self):
        for nonsense in ("", "*", "9*9999999999", "x*2", "0*", "1*1 2", "-", "0*4294967295 1*5", ["0"], 7):
            text = mlyze_writer.metadata(STACKS, FILES, FUNCTIONS, modules=[{"path": "/usr/bin/app"}, 5],
                                         function_modules=nonsense)  # fmt: skip
            self.path = self.file("m.mlyze", mlyze_writer.plain(self.events, START, text))
            self.rows("--module", "app")


class Recorded(recording.RecordTest):
    """Code with lines names its source file; the trace also knows which loaded file it is in."""

    LIBRARY = "#include <stdlib.h>\nvoid *mine(int size) { return malloc(size); }\n"
    PROGRAM = """#include <stdlib.h>
void *mine(int size);
void *volatile kept;
int main(void)
{
    for (int i = 0; i < 10; i++)
        kept = mine(100);
    kept = malloc(77);
    return 0;
}
"""

    def check(self, path):
        for module, size in (("libmine", 1000), ("libmine.so", 1000), ("program", 77), (self.folder / "program", 77),
                             ("libx", 0)):  # fmt: skip
            result = sextant.run("heap", path, "--json", "--module", module)
            (total,) = result.json_lines()
            self.assertEqual(total["allocated_bytes"], size, f"\n{result}")

    def test_modules_of_a_recording(self):
        library = heap_programs.build(self.folder, "libmine.so", self.LIBRARY, "-shared", "-fPIC")
        program = heap_programs.build(self.folder, "program", self.PROGRAM, str(library), f"-Wl,-rpath,{self.folder}")
        self.record(program)
        self.check(self.folder / "out.mlyze")
        self.record(program, options=["--no-symbols"])
        self.check(self.folder / "out.mlyze")
        known = self.file("known", "leak:libmine\n")
        for options in (["--no-symbols"], []):
            self.record(program, options=options)
            result = self.run_ok("heap", self.folder / "out.mlyze", "--leaks", "--json", "--suppressions", known)
            rows = result.json_lines()
            self.assertEqual([row["leaked_bytes"] for row in rows], [77])
        self.record(program, options=["--no-symbols"])
        self.run_warned("heap", self.folder / "out.mlyze", "--symbolize", "--json")
        self.check(self.folder / "out.mlyze")


class Timeline(FilterTest):
    def test_csv_has_the_figures_of_json(self):
        points = self.ask("--timeline=40")
        text = self.run_ok("heap", self.path, "--timeline=40", "--csv").text
        self.assertEqual(text.splitlines()[0],
                         "start_us,width_us,peak_bytes,live_bytes,allocated_bytes,allocations,freed_bytes,freed_allocations")
        rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
        self.assertEqual(rows, points)
        self.run_usage("heap", self.path, "--lifetimes", "--csv")


if __name__ == "__main__":
    tap.main()
