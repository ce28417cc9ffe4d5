"""heap of several processes: their tree, what they add up to, and blocks that forked children share."""

import collections
import random

from support import mlyze_writer, sextant, tap

START = mlyze_writer.EXAMPLE_START
STACKS = [[(0, 10, 1), (0, 3, 0)], [(0, 20, 2), (0, 3, 0)], [(0, 10, 1), (0, 3, 0)]]  # the first and the last are equal
FUNCTIONS = ["main", "load", "grow", "mark"]

FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

int main(void)
{
    kept = malloc(100000);
    pid_t child = fork();
    if (child == 0) {
        kept = malloc(5000);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
"""


def held(processes):
    """How many bytes all processes have after each event: [(time, bytes)]. PROCESSES is {number: (start, parent or None,
    events)}. A block counts until its process frees it, or until that process and all that were forked from it have ended. A
    process ends when another has an event after its last one."""
    queue = sorted((event[1], number, place) for number, (_, _, events) in processes.items()
                   for place, event in enumerate(events))  # fmt: skip
    left = {number: len(events) for number, (_, _, events) in processes.items()}
    has, out = collections.defaultdict(dict), []

    def is_alive(number, time):
        forked = [other for other, (start, parent, _) in processes.items() if parent == number and start <= time]
        return left[number] > 0 or any(is_alive(other, time) for other in forked)

    for time, number, place in queue:
        for other in list(has):
            if not is_alive(other, time):
                del has[other]
        event = processes[number][2][place]
        left[number] -= 1
        if event[0] == "alloc":
            has[number][event[2]] = event[3]
        else:
            has[number].pop(event[2], None)
        out.append((time, sum(sum(blocks.values()) for blocks in has.values())))
    return out


class Processes(sextant.ProgramTest):
    def trace(self, name, events, start=START, stacks=None, **extra):
        text = mlyze_writer.metadata(STACKS if stacks is None else stacks, ["/m.c"], FUNCTIONS, **extra)
        return self.file(name, mlyze_writer.plain(events, start, text))

    def heap(self, *arguments):
        *rows, last = self.run_ok("heap", *arguments, "--json").json_lines()
        return rows, last["summary"]

    def test_sums_and_the_peak_of_all(self):
        a = self.trace("a.1.mlyze", [("alloc", START + 1, 16, 100, 0, 0), ("free", START + 5, 16),
                                     ("alloc", START + 9, 16, 30, 0, 0)], pid=1)  # fmt: skip
        b = self.trace("a.2.mlyze", [("alloc", START + 6, 16, 70, 1, 0), ("alloc", START + 7, 32, 5, 0, 0),
                                     ("free", START + 11, 32)], pid=2)  # fmt: skip
        rows, summary = self.heap(a, b)
        self.assertEqual([(row["file"], row["pid"], row["parent_pid"], row["peak_bytes"], row["leaked_bytes"])
                          for row in rows], [(str(a), 1, None, 100, 30), (str(b), 2, None, 75, 70)])  # fmt: skip
        keys = ("processes", "peak_bytes", "peak_time_us", "sum_of_peaks", "allocated_bytes", "allocations", "frees",
                "leaked_bytes", "leaked_allocations", "events")  # fmt: skip
        figures = {key: summary[key] for key in keys}
        self.assertEqual(figures, {"processes": 2, "peak_bytes": 105, "peak_time_us": START + 9, "sum_of_peaks": 175,
                                   "allocated_bytes": 205, "allocations": 4, "frees": 2, "leaked_bytes": 100,
                                   "leaked_allocations": 2, "events": 6})  # fmt: skip
        self.assertEqual(self.heap(b, a)[1], summary)

    def test_a_process_that_ended_holds_nothing(self):
        """What it did not free has leaked, but is not part of a later peak."""
        paths = [self.trace(f"{i}.mlyze", [("alloc", START + 10 * i + 1, 16, 100 + i, 0, 0)], pid=i + 1) for i in range(5)]
        rows, summary = self.heap(*paths)
        self.assertEqual((summary["peak_bytes"], summary["sum_of_peaks"], summary["leaked_bytes"]), (104, 510, 510))
        (row,) = self.run_ok("heap", *paths, "--leaks", "--json").json_lines()
        self.assertEqual((row["leaked_bytes"], row["leaked_allocations"], row["peak_bytes"]), (510, 5, 104))
        state, row = self.run_ok("heap", *paths, "--at", "11us", "--json").json_lines()
        self.assertEqual((state["live_bytes"], row["live_bytes"]), (101, 101))

    def test_the_end_of_a_process_may_be_known(self):
        idle = self.trace("1.mlyze", [("alloc", START + 1, 16, 100, 0, 0)], pid=1, duration_us=50)
        busy = self.trace("2.mlyze", [("alloc", START + at, 16 * at, 1, 1, 0) for at in (10, 20, 50, 60)], pid=2)
        _, summary = self.heap(idle, busy)
        self.assertEqual((summary["peak_bytes"], summary["peak_time_us"], summary["leaked_bytes"]), (102, START + 20, 104))
        for time, live in ((20, 102), (49, 102), (50, 3), (60, 4)):
            state = self.run_ok("heap", idle, busy, "--at", f"{START + time}", "--json").json_lines()[0]
            self.assertEqual(state["live_bytes"], live, time)

    def test_tables_merge_equal_stacks(self):
        a = self.trace("a.mlyze", [("alloc", START + i, 16 * i + 16, 10, i % 3, 0) for i in range(6)], pid=1)
        other = [[(0, 20, 2), (0, 3, 0)], [(0, 10, 1), (0, 3, 0)]]
        b = self.trace("b.mlyze", [("alloc", START + 1, 16 * i + 16, 1, i % 2, 0) for i in range(4)] +
                       [("free", START + 9, 16 * 99)], pid=2, stacks=other)  # fmt: skip
        for table in ("--leaks", "--peak", "--top"):
            rows = self.run_ok("heap", a, b, table, "--json").json_lines()
            self.assertEqual({row["frames"][0]["function"]: (row["allocated_bytes"], row["allocations"], row["leaked_bytes"],
                                                             row["peak_bytes"]) for row in rows},
                             {"load": (42, 6, 42, 42), "grow": (22, 4, 22, 22)}, table)  # fmt: skip
            self.assertIn(0, [row["stack"] for row in rows])
        by_function = self.run_ok("heap", a, b, "--by", "function", "--json").json_lines()
        self.assertEqual({row["function"]: row["allocated_bytes"] for row in by_function}["load"], 42)
        self.assertEqual(sorted(self.run_ok("heap", a, b, "--folded").text.splitlines()), ["main;grow 22", "main;load 42"])

    def test_shared_blocks_count_once(self):
        parent = [("alloc", START + 1, 16, 1000, 0, 0), ("alloc", START + 2, 32, 50, 0, 0), ("free", START + 20, 16),
                  ("alloc", START + 30, 48, 1, 0, 0), ("alloc", START + 60, 64, 2, 0, 0)]  # fmt: skip
        child = [("alloc", START + 12, 16, 7, 1, 0), ("free", START + 12, 32), ("alloc", START + 40, 80, 3, 1, 0)]
        folder = [self.trace("p.mlyze", parent, pid=9),
                  self.trace("c.mlyze", child, start=START + 10, pid=10, parent=9)]  # fmt: skip
        rows, summary = self.heap(*folder)
        self.assertEqual([(row["pid"], row["parent_pid"], row["depth"], row["inherited_bytes"]) for row in rows],
                         [(9, None, 0, 0), (10, 9, 1, 1050)])  # fmt: skip
        self.assertEqual((summary["peak_bytes"], summary["peak_time_us"]), (1057, START + 12))
        self.assertEqual(summary["leaked_bytes"], 50 + 1 + 2 + 7 + 3)
        points = self.run_ok("heap", *folder, "--at", f"{START + 60}", "--json").json_lines()
        self.assertEqual(points[0]["live_bytes"], 50 + 1 + 2)

    def test_a_child_that_outlives_its_parent_keeps_what_it_inherited(self):
        parent = [("alloc", START + 1, 16, 1000, 0, 0), ("alloc", START + 2, 32, 20, 0, 0)]
        child = [("alloc", START + 30, 64, 5, 1, 0)]
        grandchild = [("alloc", START + 50, 64, 100, 1, 0), ("alloc", START + 60, 96, 1, 1, 0)]
        other = [("alloc", START + 90, 16, 3, 1, 0), ("alloc", START + 95, 32, 4, 1, 0)]
        paths = [self.trace("1.mlyze", parent, pid=1), self.trace("2.mlyze", child, start=START + 10, pid=2, parent=1),
                 self.trace("3.mlyze", grandchild, start=START + 25, pid=3, parent=2),
                 self.trace("4.mlyze", other, start=START + 80, pid=4)]  # fmt: skip
        rows, summary = self.heap(*paths)
        self.assertEqual([row["depth"] for row in rows], [0, 1, 2, 0])
        self.assertEqual((summary["peak_bytes"], summary["peak_time_us"]), (1126, START + 60))
        for time, live in ((2, 1020), (49, 1025), (89, 1126), (90, 3)):
            state = self.run_ok("heap", *paths, "--at", f"{START + time}", "--json").json_lines()[0]
            self.assertEqual(state["live_bytes"], live, time)

    def test_children_with_the_start_of_their_parent(self):
        """A recorder notes the start of the first process in all traces: the first event is then the beginning."""
        parent = [("alloc", START + 1, 16, 10, 0, 0), ("alloc", START + 50, 32, 20, 0, 0)]
        paths = [self.trace("x.mlyze", [("alloc", START + 30, 16, 1, 0, 0)], pid=2, parent=1),
                 self.trace("y.mlyze", parent, pid=1)]  # fmt: skip
        rows, _ = self.heap(*paths)
        self.assertEqual([(row["pid"], row["depth"], row["inherited_bytes"]) for row in rows], [(1, 0, 0), (2, 1, 10)])

    def test_random_processes(self):
        for seed in range(12):
            generator = random.Random(seed)
            processes = {}
            for number in range(generator.randrange(2, 6)):
                start = START + (0 if number == 0 else generator.randrange(1, 400))
                parents = [n for n, (begin, _, events) in processes.items() if begin < start < events[-1][1]]
                parent = generator.choice(parents) if parents and generator.random() < 0.8 else None
                events, time = [], start
                for _ in range(generator.randrange(20, 60)):
                    time += generator.randrange(1, 12)
                    # Times are different, so that the order of events is known.
                    stamp = START + (time - START) * 8 + number
                    address = 16 * generator.randrange(1, 12)
                    events.append(("free", stamp, address) if generator.random() < 0.4
                                  else ("alloc", stamp, address, generator.randrange(1, 1000), generator.randrange(3), 0))
                processes[number] = (start, parent, events)
            processes = {number: (START + (start - START) * 8 + number, parent, events)
                         for number, (start, parent, events) in processes.items()}  # fmt: skip
            paths = [self.trace(f"{number}.mlyze", events, start=start, pid=number + 1,
                                **({} if parent is None else {"parent": parent + 1}))
                     for number, (start, parent, events) in processes.items()]  # fmt: skip
            expected = held(processes)
            most = max(amount for _, amount in expected)
            first = next(time for time, amount in expected if amount == most)
            _, summary = self.heap(*paths)
            self.assertEqual((summary["peak_bytes"], summary["peak_time_us"]), (most, first), f"seed {seed}")
            leaked = allocated = 0
            for _, _, events in processes.values():
                leaked += mlyze_writer.live(events)[0]
                allocated += sum(event[3] for event in events if event[0] == "alloc")
            self.assertEqual((summary["leaked_bytes"], summary["allocated_bytes"]), (leaked, allocated))

    def test_a_folder(self):
        for number in range(3):
            self.trace(f"runs/a.{number}.mlyze", [("alloc", START + 1, 16, 10, 0, 0)], pid=number + 5,
                       command_line=f"worker {number}" if number else ["main", "--all"])  # fmt: skip
        self.file("runs/notes.txt", b"no trace")
        self.file("runs/empty.mlyze", b"")
        (self.folder / "runs" / "again.mlyze").hardlink_to(self.folder / "runs" / "a.1.mlyze")
        rows, summary = self.heap(self.folder / "runs")
        self.assertEqual(sorted(row["command_line"] for row in rows), ["main --all", "worker 1", "worker 2"])
        self.assertEqual((summary["processes"], summary["allocated_bytes"]), (3, 30))
        text = self.run_ok("heap", self.folder / "runs").text
        self.assertIn("3 processes; the sum of their peaks is 30 bytes\n", text)
        self.assertRegex(text, r"\n +10 +10 +10 +6  worker 1\n")
        self.assertEqual(self.heap(self.folder / "runs", self.folder / "runs"), (rows, summary), "each trace counts once")
        self.file("nothing/here.txt", b"")
        self.assertIn("no heap traces", self.run_error("heap", self.folder / "nothing").err)

    def test_a_recording_of_children(self):
        """What record notes about processes is what heap reads."""
        sextant.need_tool("gcc")
        source = self.file("forks.c", FORKS.encode())
        sextant.tool("gcc", "-g", "-o", self.folder / "forks", source)
        (self.folder / "runs").mkdir()
        result = sextant.run("record", "-q", "--follow-fork", "-o", self.folder / "runs" / "a.mlyze", "--",
                             self.folder / "forks", "now")  # fmt: skip
        self.assertEqual(result.status, 0, result)
        (parent, child), summary = self.heap(self.folder / "runs")
        self.assertEqual((parent["depth"], child["depth"], child["parent_pid"]), (0, 1, parent["pid"]))
        self.assertEqual((parent["leaked_bytes"], child["leaked_bytes"], child["inherited_bytes"]), (100000, 5000, 100000))
        self.assertEqual((summary["leaked_bytes"], summary["peak_bytes"], summary["processes"]), (105000, 105000, 2))
        for one in (parent, child):
            self.assertEqual(one["command_line"], f"{self.folder / 'forks'} now")

    def test_children_that_executed_a_program(self):
        """They name the process that started them, and have inherited nothing."""
        parent = self.trace("p.mlyze", [("alloc", START + 1, 16, 1000, 0, 0), ("free", START + 20, 16)], pid=9)
        child = self.trace("c.mlyze", [("alloc", START + 12, 32, 7, 1, 0)], start=START + 10, pid=10, started_by=9)
        rows, summary = self.heap(parent, child)
        self.assertEqual([(row["depth"], row["parent_pid"], row["inherited_bytes"]) for row in rows],
                         [(0, None, 0), (1, 9, 0)])  # fmt: skip
        self.assertEqual(summary["peak_bytes"], 1007)
        (self.folder / "runs").mkdir()
        command = "env true; env sh -c 'env true; :'; :"
        trace = self.folder / "runs" / "a.mlyze"
        result = sextant.run("record", "-q", "--follow-fork", "-o", trace, "--", "sh", "-c", command)
        self.assertEqual(result.status, 0, result)
        rows, _ = self.heap(self.folder / "runs")
        depths = {row["pid"]: row["depth"] for row in rows}
        self.assertEqual(sorted(depths.values()), [0, 1, 1, 2])
        for row in rows[1:]:
            self.assertEqual(depths[row["parent_pid"]] + 1, row["depth"])

    def test_a_process_counts_once(self):
        """A recovered trace often lies beside the file that it was made from."""
        events = [("alloc", START + 1, 16, 1000, 0, 0)]
        first, again = (self.trace(f"runs/{name}.mlyze", events, pid=9) for name in ("a", "b"))
        self.trace("runs/c.mlyze", events, start=START + 1, pid=9)
        result = sextant.run("heap", self.folder / "runs", "--json")
        *rows, last = result.json_lines()
        self.assertEqual((len(rows), last["summary"]["allocated_bytes"]), (2, 2000))
        self.assertIn(f"{again}: warning: left out: it is of the same process as {first}", result.err)

    def test_relations_that_cannot_be(self):
        """Files may claim anything: a process that is its own parent, a circle, a parent that began later."""
        paths = [self.trace(f"{pid}.mlyze", [("alloc", START + pid, 16, 1, 0, 0)], pid=pid, parent=parent)
                 for pid, parent in ((1, 1), (2, 3), (3, 4), (4, 2), (5, 99))]  # fmt: skip
        rows, summary = self.heap(*paths)
        self.assertEqual((len(rows), summary["allocated_bytes"]), (5, 5))
        early = self.trace("e.mlyze", [("alloc", START, 16, 1, 0, 0)], pid=7, parent=8)
        late = self.trace("l.mlyze", [("alloc", START + 9, 16, 1, 0, 0)], start=START + 9, pid=8)
        self.assertEqual([row["depth"] for row in self.heap(early, late)[0]], [0, 0])

    def test_numbers_of_processes_are_used_again(self):
        """The parent is the last process of that number which began before its child, or with it."""
        parents = [self.trace(f"p{start}.mlyze", [("alloc", START + start, 16, start, 0, 0), ("free", START + 90, 99)],
                              start=START + start, pid=5) for start in (30, 10, 20)]  # fmt: skip
        for start, expected in ((5, None), (10, 10), (19, 10), (20, 20), (29, 20), (30, 30), (80, 30)):
            child = self.trace("c.mlyze", [("alloc", START + start, 16, 1, 0, 0)], start=START + start, pid=6, parent=5)
            rows, _ = self.heap(*parents, child)
            place = next(i for i, row in enumerate(rows) if row["pid"] == 6)
            self.assertEqual(rows[place - 1]["peak_bytes"] if rows[place]["depth"] == 1 else None, expected, start)
        chain = [self.trace(f"q{pid}.mlyze", [("alloc", START + 1, 16, 1, 0, 0)], pid=pid, parent=pid - 1)
                 for pid in range(100, 140)]  # fmt: skip
        self.assertEqual([row["depth"] for row in self.heap(*chain)[0]], list(range(40)))

    def test_odd_events(self):
        """Stacks, names and threads that are not in the metadata, and addresses above 48 bits."""
        events = [("alloc", START + 1, 0xF00000000000010, 5, 4000, 65535), ("marker", START + 1, 4000),
                  ("marker", START + 1, 3), ("free", START + 2, 0xF00000000000010), (5, START + 2, b"xyz"),
                  ("gc", START + 2, 1, 2)]  # fmt: skip
        threads = {"0": "main", "x": "y", "70000": "z"}
        paths = [self.trace(f"{pid}.mlyze", events, pid=pid, threads=threads) for pid in (1, 2)]
        result = self.run_warned("heap", *paths, "--json")
        summary = result.json_lines()[-1]["summary"]
        self.assertEqual((summary["peak_bytes"], summary["frees"], summary["leaked_bytes"]), (10, 2, 0))
        rows = sextant.run("heap", *paths, "--markers", "--json").json_lines()
        self.assertEqual([row["marker"] for row in rows].count("mark"), 2)

    def test_threads_are_those_of_their_processes(self):
        paths = [self.trace(f"{pid}.mlyze", [("alloc", START, 16, pid, 0, 0), ("alloc", START, 32, 10, 0, 1)], pid=pid,
                            threads={"0": "main"}) for pid in (1, 2)]  # fmt: skip
        rows = self.run_ok("heap", *paths, "--by", "thread", "--json").json_lines()
        self.assertEqual(sorted((row["name"] or "", row["allocated_bytes"]) for row in rows),
                         [("", 10), ("", 10), ("1 main", 1), ("2 main", 2)])  # fmt: skip

    def test_loaded_files_are_kept(self):
        """--module of processes whose metadata number their loaded files and functions differently."""
        a = self.trace("a.mlyze", [("alloc", START, 16, 1, 0, 0), ("alloc", START, 32, 2, 1, 0)], pid=1,
                       modules=[{"path": "/bin/app"}, {"path": "/lib/libg.so.1"}], function_modules="0*2 1*1")  # fmt: skip
        b = self.trace("b.mlyze", [("alloc", START, 16, 10, 0, 0), ("alloc", START, 32, 20, 1, 0)], pid=2,
                       modules=[{"path": "/lib/libg.so.1"}, {"path": "/bin/app"}], function_modules="1*2 0*1")  # fmt: skip
        (row,) = self.run_warned("heap", a, b, "--module", "libg.so.1", "--top", "--json").json_lines()
        self.assertEqual((row["frames"][0]["function"], row["allocated_bytes"]), ("grow", 22))
        rows = sextant.run("heap", a, b, "--module", "app", "--top", "--json").json_lines()
        self.assertEqual(sum(row["allocated_bytes"] for row in rows), 11)

    def test_wrong_usage_and_bad_files(self):
        good = self.trace("a.mlyze", [("alloc", START, 16, 1, 0, 0)])
        also = self.trace("b.mlyze", [("alloc", START, 16, 1, 0, 0)])
        self.run_error("heap", good, self.folder / "nothing.mlyze")
        self.run_error("heap", good, self.file("x.txt", b"text"))
        for option in ("--symbolize", "--index", "--address=0x10"):
            self.assertIn("needs one file", self.run_usage("heap", good, also, option).err)
        self.assertIn("given twice", self.run_usage("heap", good, also, good).err)
        whole = also.read_bytes()
        also.write_bytes(whole[:-3])
        result = sextant.run("heap", good, also, "--json")
        self.assertEqual(result.status, 1)
        self.assert_one_error_line(result, also)

    def test_sampled_with_different_periods(self):
        def sampled(name, period):
            data = bytearray(self.trace(name, [("alloc", START, 16, 100, 0, 0)]).read_bytes())
            data[20] = mlyze_writer.FLAG_SAMPLED
            data[72:80] = period.to_bytes(8, "little")
            return self.file(name, bytes(data))
        self.assertIn("different sampling periods", self.run_error("heap", sampled("a", 10), sampled("b", 20)).err)
        self.assertTrue(self.heap(sampled("a", 10), sampled("b", 10))[1]["estimated"])


if __name__ == "__main__":
    tap.main()
