"""diff of two heap traces, and of two moments of one."""

from support import mlyze_writer, sextant, tap
from support.heap_oracle import START, Heap, random_events, sums

FUNCTIONS = ["main", "load", "parse", "grow", "loaded", "done"]
FILES = ["/app/main.c", "/app/parse.c"]
STACKS = [[(i % 2, 10 + i, 1 + i % 3), (0, 3 + i // 3, 0)] for i in range(6)] + [[(0, 99, 3)]]


def stack_key(stack):
    return tuple((FUNCTIONS[function], FILES[file]) for file, _, function in STACKS[stack])


class Diff(sextant.ProgramTest):
    def trace(self, name, events, order=None, lines=0):
        """A trace in which stacks have other ids and lines than in another."""
        order = order or list(range(len(STACKS)))
        stacks = [None] * len(STACKS)
        for old, new in enumerate(order):
            stacks[new] = [(file, line + lines, function) for file, line, function in STACKS[old]]
        events = [(*event[:4], order[event[4]], event[5]) if event[0] == "alloc" else event for event in events]
        return self.file(name, mlyze_writer.plain(events, START, mlyze_writer.metadata(stacks, FILES, FUNCTIONS)))

    def figures(self, heap):
        """{functions and files: (allocated, allocations, peak, leaked, leaked blocks)}"""
        def of(block):
            return stack_key(block.stack)
        every, live, peak = (sums(blocks, of) for blocks in
                             (heap.blocks, heap.live, heap.live_after(heap.peak()[2])))  # fmt: skip
        return {key: (*every[key], peak.get(key, (0, 0))[0], *live.get(key, (0, 0))) for key in every}

    def found(self, rows):
        names = ("allocated_bytes", "allocations", "peak_bytes", "leaked_bytes", "leaked_allocations")
        return {tuple((frame["function"], frame["file"]) for frame in row["frames"]):
                (row["status"], *[tuple(row[f"{name}_{side}"] for name in names) for side in ("before", "after")])
                for row in rows}  # fmt: skip

    def test_two_traces(self):
        for seed in range(4):
            first = random_events(seed, stacks=6)
            second = [e for e in random_events(seed + 100, stacks=7) if e[0] != "alloc" or e[4] != 2 or seed % 2]
            before = self.trace("a.mlyze", first)
            after = self.trace("b.mlyze", second, order=[3, 1, 2, 0, 6, 5, 4], lines=50)
            *rows, last = self.run_ok("diff", before, after, "--json").json_lines()
            was, now = self.figures(Heap(first)), self.figures(Heap(second))
            nothing = (0,) * 5
            expected = {}
            for key in was.keys() | now.keys():
                if was.get(key) != now.get(key):
                    status = "added" if key not in was else "removed" if key not in now else "changed"
                    expected[key] = (status, was.get(key, nothing), now.get(key, nothing))
            self.assertEqual(self.found(rows), expected)
            counts = {status: sum(one[0] == status for one in expected.values()) for status in
                      ("added", "removed", "changed")}  # fmt: skip
            summary = last["summary"]
            self.assertEqual({status: summary[status] for status in counts}, counts)
            self.assertEqual(summary["peak_bytes_before"], Heap(first).peak()[0])
            self.assertEqual(summary["peak_bytes_after"], Heap(second).peak()[0])
            sizes = [abs(row["allocated_bytes_after"] - row["allocated_bytes_before"]) for row in rows]
            self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_a_trace_and_itself(self):
        path = self.trace("a.mlyze", random_events(1, stacks=6))
        (last,) = self.run_ok("diff", path, path, "--json").json_lines()
        self.assertEqual((last["summary"]["added"], last["summary"]["removed"], last["summary"]["changed"]), (0, 0, 0))

    def test_a_change_of_what_is_suppressed_is_none(self):
        """A block that leaks in one run and not in the other, in a stack whose leaks are suppressed."""
        events = [("alloc", START, 16, 1000, 0, 0), ("alloc", START + 1, 32, 70, 1, 0), ("free", START + 1, 32)]
        before, after = self.trace("a.mlyze", [*events, ("free", START + 2, 16)]), self.trace("b.mlyze", events)
        rules = self.file("rules", b"# known\nleak:load\n")
        row, last = self.run_ok("diff", before, after, "--json").json_lines()
        self.assertEqual((row["status"], row["leaked_bytes_after"], last["summary"]["changed"]), ("changed", 1000, 1))
        (last,) = self.run_ok("diff", before, after, "--suppressions", rules, "--json").json_lines()
        keys = ("changed", "unchanged", "suppressed_bytes_after", "suppressed_allocations_after", "leaked_bytes_after")
        self.assertEqual([last["summary"][key] for key in keys], [0, 2, 1000, 1, 1000])
        (last,) = self.run_ok("diff", "--json", "--suppressions", rules, after, after, "--", before, before).json_lines()
        self.assertEqual((last["summary"]["changed"], last["summary"]["noise"]), (0, 0))
        text = self.run_ok("diff", before, after, "--suppressions", rules).text
        self.assertIn("0 stacks added, 0 removed, 0 changed, 2 unchanged", text)
        self.assertRegex(text, r"(?m)^suppressed +0 +1,000 +[+]1,000")
        table = self.run_ok("diff", before, after, "--suppressions", rules, "--markdown").text
        self.assertIn("| suppressed | 0 | 1,000 | +1,000 |", table)

    def test_a_program_may_have_another_name(self):
        """Two builds of one program, with names and without: build/app and /tmp/app-new."""
        def trace(name, program, offset=0):
            base = program.rsplit("/", 1)[-1]
            functions = ["_start", "main", "grow", f"{base}+{0x1010 + offset:#x}", "inflate",
                         f"{base}+{0x2020 + offset:#x}"]  # fmt: skip
            files = [program, "/lib/libz.so.1"]
            stacks = [[(0, 0, 2), (0, 0, 1), (0, 0, 0)], [(0, 0, 3), (0, 0, 0)], [(1, 0, 4), (0, 0, 5), (0, 0, 0)]]
            text = mlyze_writer.metadata(stacks, files, functions, modules=[{"path": program}, {"path": files[1]}])
            events = [("alloc", START + i, 16 * i + 16, 10 * i + len(name), i, 0) for i in range(3)]
            return self.file(name, mlyze_writer.plain(events, START, text))
        before = trace("a", "/old/build/app")
        for program, offset in (("/tmp/app-new", 0), ("/tmp/app-new", 0x40), ("/new/build/app", 0x40)):
            after = trace("bb", program, offset)
            *rows, last = self.run_ok("diff", before, after, "--json").json_lines()
            self.assertEqual([row["status"] for row in rows], ["changed"] * 3)
            self.assertEqual([row["bytes"] for row in rows], [1] * 3)
        again = trace("a2", "/tmp/app-3")
        *_, last = self.run_ok("diff", "--json", before, trace("a1", "/x/y"), "--", again, trace("a3", "/z")).json_lines()
        self.assertEqual((last["summary"]["added"], last["summary"]["removed"]), (0, 0))
        # A run that has both is not matched.
        other = self.file("o", mlyze_writer.plain([("alloc", START, 16, 1, 0, 0)], START, mlyze_writer.metadata(
            [[(0, 0, 0), (1, 0, 0)]], ["/old/build/app", "/tmp/app"], ["f"], modules=[{"path": "/tmp/app"}])))  # fmt: skip
        *_, last = self.run_ok("diff", before, other, "--json").json_lines()
        self.assertEqual((last["summary"]["added"], last["summary"]["removed"]), (1, 3))

    def test_two_moments(self):
        events = [event for event in random_events(8, stacks=6) if event[0] != "marker"]
        for name, number in (("done", 900), ("loaded", 300)):
            events.insert(number, ("marker", events[number - 1][1], FUNCTIONS.index(name)))
        path = self.trace("t.mlyze", events)
        *rows, last = self.run_ok("diff", f"{path}@loaded", f"{path}@done", "--json").json_lines()
        before, after = Heap(events, until=301), Heap(events, until=902)
        was, now = sums(before.live, lambda b: stack_key(b.stack)), sums(after.live, lambda b: stack_key(b.stack))
        found = {key: (one[1][3:], one[2][3:]) for key, one in self.found(rows).items()}
        for key in was.keys() | now.keys():
            if was.get(key) != now.get(key):
                self.assertEqual(found[key], (was.get(key, (0, 0)), now.get(key, (0, 0))))
        self.assertEqual(last["summary"]["leaked_bytes_before"], before.levels[-1][0])
        self.assertEqual(last["summary"]["leaked_bytes_after"], after.levels[-1][0])
        result = self.run_error("diff", f"{path}@loaded", f"{path}@nowhere")
        self.assertIn("no marker named 'nowhere'", result.err)

    def test_text(self):
        first, second = [("alloc", START, 16, 100, 0, 0)], [("alloc", START, 16, 100, 0, 0), ("alloc", START, 32, 50, 1, 0)]
        text = self.run_ok("diff", self.trace("a.mlyze", first), self.trace("b.mlyze", second)).text
        self.assertRegex(text, r"peak +100 +150 +\+50 +50\.0 %")
        self.assertIn("1 stack added, 0 removed, 0 changed, 1 unchanged", text)
        self.assertRegex(text, r"\+50 +\+50 +\+1  parse  /app/parse\.c:11")


if __name__ == "__main__":
    tap.main()
