"""heap of several processes: the figures of each are those of its own trace, with the same keys, also with filters."""

import random

from support import heap_programs, mlyze_writer, recording, sextant, tap
from support.heap_oracle import START, random_events

FUNCTIONS = ["main", "load", "fopen", "grow", "stop"]
FILES = ["/app/main.c", "/lib/libc.so.6", "/lib/libg.so.1"]
STACKS = [[(0, 10, 1), (0, 3, 0)], [(1, 0, 2), (0, 20, 3), (0, 3, 0)], [(2, 0, 3), (0, 3, 0)], [(0, 11, 1), (0, 3, 0)]]
OF_PROCESS = {"file", "pid", "parent_pid", "command_line", "depth", "inherited_bytes", "inherited_allocations"}
ADDED = ["peak_bytes", "allocated_bytes", "allocations", "frees", "leaked_bytes", "leaked_allocations", "suppressed_bytes",
         "suppressed_allocations", "implicit_frees", "live_bytes", "live_allocations", "temporary_bytes",
         "temporary_allocations", "events"]  # fmt: skip

RUNNING = """
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[4];

static void wait_for(int stream) { char byte; if (read(stream, &byte, 1) < 0) _exit(1); }

int main(void)
{
    int steps[2];
    kept[0] = malloc(1000000);
    if (pipe(steps) != 0)
        return 1;
    if (fork() == 0) {
        kept[1] = malloc(500000);
        if (write(steps[1], "", 1) != 1)
            _exit(1);
        wait_for(0);
        _exit(0);
    }
    wait_for(steps[0]);
    if (fork() == 0) {
        kept[2] = malloc(200000);
        if (write(1, "ready\\n", 6) != 6)
            _exit(1);
        wait_for(0);
        _exit(0);
    }
    wait_for(0);
    return 0;
}
"""


class Figures(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        threads = ({"0": "main", "1": "worker", "2": "worker"}, {"0": "main", "3": "worker"}, {"0": "main"})
        self.paths = [self.trace(number, threads[number]) for number in range(3)]

    def trace(self, number, threads):
        chance = random.Random(number)
        events = [(*event[:4], chance.randrange(len(STACKS)), chance.choice([*map(int, threads), 9]))
                  if event[0] == "alloc" else event for event in random_events(number, count=400)
                  if event[0] != "marker"]  # fmt: skip
        last = events[-1][1]
        if number == 1:
            middle = len(events) // 2
            events[middle:middle] = [("marker", events[middle][1], 4)]
        text = mlyze_writer.metadata(STACKS, FILES, FUNCTIONS, threads=threads, pid=number + 5,
                                     duration_us=last + 100 - START)  # fmt: skip
        return self.file(f"{number}.mlyze", mlyze_writer.plain(events, START, text))

    def heap(self, *options):
        *rows, last = self.run_ok("heap", *self.paths, "--json", *options).json_lines()
        return rows, last["summary"]

    def check(self, *options):
        """Each process has the figures of its trace alone, and the summary has the same keys."""
        rows, summary = self.heap(*options)
        for path, row in zip(self.paths, rows, strict=True):
            (alone,) = self.run_ok("heap", path, "--json", *options).json_lines()
            self.assertEqual({key: row[key] for key in row if key not in OF_PROCESS},
                             {key: alone[key] for key in alone if key != "file"}, options)  # fmt: skip
        for key in ADDED:
            self.assertEqual(summary[key] if key != "peak_bytes" else summary["sum_of_peaks"], sum(row[key] for row in rows),
                             (options, key))  # fmt: skip
        self.assertEqual(set(summary) - {"processes", "sum_of_peaks"}, set(rows[0]) - OF_PROCESS)
        return rows, summary

    def test_figures_are_those_of_the_traces(self):
        rows, _ = self.check()
        self.assertEqual([row["inherited_bytes"] for row in rows], [0, 0, 0])

    def test_filters_reach_every_process(self):
        rules = self.file("rules", b"leak:grow\n")
        whole = self.heap()[1]
        for options in (["--focus", "load"], ["--ignore", "main[.]c:?"], ["--module", "libg"], ["--depth", "1"],
                        ["--suppressions", rules], ["--no-default-suppressions"], ["--focus", "fopen", "--depth", "1"],
                        ["--until", f"{START + 700}"], ["--focus", "grow", "--until", f"{START + 700}"]):  # fmt: skip
            with self.subTest(options=options):
                rows, summary = self.check(*options)
                is_filter = options[0] in ("--focus", "--ignore", "--module")
                self.assertEqual(summary["filtered"], is_filter)
                for row in rows if is_filter or "--until" in options else ():
                    self.assertIsNone(row["inherited_bytes"])
                if is_filter:
                    self.assertIsNone(summary["unmatched_frees"])
                    if "--until" not in options:
                        for key in ("peak_bytes", "frees", "events", "unmatched_frees", "temporary_bytes"):
                            self.assertEqual(summary["unfiltered"][key], whole[key], key)
        text = self.run_ok("heap", *self.paths, "--focus", "load").text
        sums = [row["peak_bytes"] for row in self.heap("--focus", "load")[0]]
        self.assertIn(f"the sum of their peaks is {sum(sums):,} bytes", text)

    def test_a_thread_by_its_name_is_one_of_each_process(self):
        rows, summary = self.heap("--thread", "worker")
        for path, row, name in zip(self.paths, rows, ("worker", "worker", None), strict=True):
            if name is None:
                self.assertEqual((row["allocations"], row["frees"], row["peak_bytes"], row["events"]), (0, 0, 0, 0))
                continue
            (alone,) = self.run_ok("heap", path, "--json", "--thread", name).json_lines()
            self.assertEqual({key: row[key] for key in ADDED}, {key: alone[key] for key in ADDED})
        for key in ADDED[1:]:
            self.assertEqual(summary[key], sum(row[key] for row in rows), key)
        self.assertIn("no thread named 'none'", self.run_error("heap", *self.paths, "--thread", "none").err)

    def test_a_thread_by_its_row(self):
        """Numbers and whole names are those that --by thread shows."""
        threads = self.run_ok("heap", *self.paths, "--by", "thread", "--json").json_lines()
        sizes = {str(thread["thread"]): thread["allocated_bytes"] for thread in threads}
        for thread in threads:
            if thread["name"] is not None:
                sizes[thread["name"]] = sizes.get(thread["name"], 0) + thread["allocated_bytes"]
        self.assertEqual(len(sizes), 9 + 5)
        for name, size in sizes.items():
            with self.subTest(name=name):
                rows, summary = self.heap("--thread", name)
                self.assertEqual(summary["allocated_bytes"], size)
                self.assertEqual(sum(row["allocated_bytes"] for row in rows), summary["allocated_bytes"])
                self.assertEqual(sum(1 for row in rows if row["allocated_bytes"] > 0), 1)

    def test_a_marker_of_one_process_ends_the_window_of_all(self):
        rows, summary = self.heap("--until", "stop")
        for key in ADDED[1:]:
            self.assertEqual(summary[key], sum(row[key] for row in rows), key)
        (alone,) = self.run_ok("heap", self.paths[1], "--json", "--until", "stop").json_lines()
        self.assertEqual(rows[1]["allocated_bytes"], alone["allocated_bytes"])


class Durations(sextant.ProgramTest):
    def trace(self, name, *times, **extra):
        events = [("alloc", START + time, 16 * time, 10, 0, 0) for time in times]
        return self.file(name, mlyze_writer.plain(events, START, mlyze_writer.metadata(STACKS, FILES, FUNCTIONS, **extra)))

    def durations(self, path, *options):
        return [self.run_ok(verb, path, "--json", *options).json_lines()[0]["duration_us"] for verb in ("info", "heap")]

    def test_info_and_heap_agree(self):
        """To the end of the process, or to the last event if that is later or nothing else is known."""
        for extra, expected in (({}, 70), ({"duration_us": 1000}, 1000), ({"duration_us": 5}, 70),
                                ({"duration_us": "x"}, 70), ({"duration_us": -4}, 70)):  # fmt: skip
            path = self.trace("t.mlyze", 20, 70, **extra)
            self.assertEqual(self.durations(path), [expected, expected], extra)
        path = self.trace("t.mlyze", 20, 70, duration_us=2_000_000)
        self.assertRegex(self.run_ok("heap", path).text, r"(?m)^allocated .* 1 a second$")
        self.assertRegex(self.run_ok("heap", path).text, r"(?m)^time +2 s ")
        total = self.run_ok("heap", path, "--until", f"{START + 30}", "--json").json_lines()[0]
        self.assertEqual((total["duration_us"], total["end_us"]), (30, START + 30))

    def test_of_several_processes_it_is_that_of_all(self):
        paths = [self.trace("a.mlyze", 20, duration_us=50, pid=1), self.trace("b.mlyze", 70, duration_us=90, pid=2),
                 self.trace("c.mlyze", 10, pid=3)]  # fmt: skip
        *rows, last = self.run_ok("heap", *paths, "--json").json_lines()
        self.assertEqual([row["duration_us"] for row in rows], [50, 90, 10])
        self.assertEqual((last["summary"]["duration_us"], last["summary"]["end_us"]), (90, START + 90))


class Running(recording.RecordTest):
    def test_processes_that_run_hold_their_memory(self):
        """A process that waits has not ended, though others have events after its last."""
        program = heap_programs.build(self.folder, "program", RUNNING)
        (self.folder / "runs").mkdir()
        child = self.start(program, options=["--follow-fork"], output="runs/a.mlyze", stdin=-1)
        self.addCleanup(child.stdin.close)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        *rows, last = sextant.run("heap", self.folder / "runs", "--json").json_lines()
        self.assertEqual(sorted(row["peak_bytes"] for row in rows), [200000, 500000, 1000000])
        self.assertEqual((last["summary"]["peak_bytes"], last["summary"]["sum_of_peaks"]), (1700000, 1700000))


if __name__ == "__main__":
    tap.main()
