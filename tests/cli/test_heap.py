"""heap over traces: every figure is compared with what plain Python says about the same events."""

import csv
import gzip
import io
import json
import math
import random
import struct
import subprocess

from support import mlyze_writer, pprof, sextant, tap
from support.heap_oracle import START, Heap, index_at, random_events, sums

FUNCTIONS = ["main", "load", "parse", "grow", "begin", "end", "café;\"x\""]
FILES = ["/app/main.c", "/app/parse.c"]
# Leaf first. The last two have the same functions on other lines; one calls itself.
STACKS = [[(0, 10 + i, 1 + i % 3), (1, 5, 2), (0, 3, 0)] for i in range(9)] + [
    [(1, 7, 3), (1, 8, 3), (0, 3, 0)], [(1, 70, 3), (1, 8, 3), (0, 3, 0)], [(0, 1, 6)]]  # fmt: skip
METADATA = mlyze_writer.metadata(STACKS, FILES, FUNCTIONS, threads={"0": "main thread", "2": "worker"})


def with_markers(events, **names):
    """The events with markers at the given numbers of events; ids are those of FUNCTIONS."""
    out = list(events)
    for name, number in sorted(names.items(), key=lambda item: -item[1]):
        time = out[number - 1][1] if number > 0 else START
        out.insert(number, ("marker", time, FUNCTIONS.index(name)))
    return out


def without_markers(events):
    return [event for event in events if event[0] != "marker"]


class HeapTest(sextant.ProgramTest):
    def trace(self, events, text=METADATA, name="t.mlyze"):
        return self.file(name, mlyze_writer.plain(events, START, text))

    def ask(self, path, *options):
        return self.run_ok("heap", path, "--json", *options).json_lines()

    def by_stack(self, rows, name):
        keys = {"allocated": ("allocated_bytes", "allocations")}.get(name, (f"{name}_bytes", f"{name}_allocations"))
        return {row["stack"]: (row[keys[0]], row[keys[1]]) for row in rows if row[keys[1]]}


class Summary(HeapTest):
    def test_totals_are_those_of_the_oracle(self):
        for seed in range(12):
            events = random_events(seed, odd=seed % 3 != 0)
            with self.subTest(seed):
                (found,) = self.ask(self.trace(events))
                expected = Heap(events).summary()
                self.assertEqual({key: found[key] for key in expected}, expected)

    def test_the_worked_example(self):
        (found,) = self.ask(self.file("e.mlyze", mlyze_writer.example()))
        expected = {"peak_bytes": 16512, "peak_time_us": START + 105, "allocated_bytes": 16512, "allocations": 2,
                    "frees": 1, "leaked_bytes": 16384, "leaked_allocations": 1, "unmatched_frees": 0, "events": 5,
                    "duration_us": 1107, "gc_events": 1, "gc_objects": 3, "gc_bytes": 300, "markers": 1}  # fmt: skip
        self.assertEqual({key: found[key] for key in expected}, expected)

    def test_a_trace_without_events(self):
        (found,) = self.ask(self.trace([]))
        self.assertEqual((found["peak_bytes"], found["peak_time_us"], found["events"], found["duration_us"]),
                         (0, START, 0, 0))  # fmt: skip
        for options in (["--leaks"], ["--peak"], ["--tree"], ["--folded"], ["--lifetimes"]):
            self.run_ok("heap", self.trace([]), *options)
        self.assertEqual(len(self.ask(self.trace([]), "--timeline")), 1)

    def test_the_peak_is_its_first_moment(self):
        events = [("alloc", START + 10, 16, 100, 0, 0), ("free", START + 20, 16), ("alloc", START + 30, 32, 100, 1, 0)]
        (found,) = self.ask(self.trace(events))
        self.assertEqual(found["peak_time_us"], START + 10)
        (row,) = self.ask(self.trace(events), "--peak")
        self.assertEqual(row["stack"], 0)
        events.insert(2, ("marker", START + 25, 0))
        (found,) = self.ask(self.trace(events))
        self.assertEqual(found["peak_time_us"], START + 10)

    def test_text(self):
        text = self.run_ok("heap", self.file("e.mlyze", mlyze_writer.example())).text
        self.assertRegex(text, r"peak +16\.5 kB +16,512 bytes in 2 blocks, after 105 us")
        self.assertRegex(text, r"leaked +16\.4 kB +16,384 bytes in 1 block\n")
        self.assertIn("main  /app/main.py:50", text)


class Stacks(HeapTest):
    def setUp(self):
        super().setUp()
        self.events = random_events(77, count=4000)
        self.path = self.trace(self.events)
        self.heap = Heap(self.events)

    def test_leaks(self):
        rows = self.ask(self.path, "--leaks")
        self.assertEqual(self.by_stack(rows, "leaked"), sums(self.heap.leaks()))
        self.assertEqual([row["leaked_bytes"] for row in rows], sorted((r["leaked_bytes"] for r in rows), reverse=True))
        for row in rows:
            self.assertEqual(row["frames"], [{"file": FILES[file], "line": line, "function": FUNCTIONS[function]}
                                             for file, line, function in STACKS[row["stack"]]])  # fmt: skip

    def test_leaks_of_an_age(self):
        ages = sorted(self.heap.end - block.born for block in self.heap.live)
        for age in (0, ages[0], ages[0] + 1, ages[len(ages) // 2], ages[-1], ages[-1] + 1):
            rows = self.ask(self.path, "--leaks", "--min-age", f"{age}us")
            self.assertEqual(self.by_stack(rows, "leaked"), sums(self.heap.leaks(age)), age)

    def test_peak(self):
        for seed in range(8):
            events = random_events(seed, count=700)
            heap = Heap(events)
            rows = self.ask(self.trace(events, name="p.mlyze"), "--peak")
            self.assertEqual(self.by_stack(rows, "peak"), sums(heap.live_after(heap.peak()[2])), seed)

    def test_temporary(self):
        for others in (None, 0, 1, 5, 1000000):
            option = "--temporary" if others is None else f"--temporary={others}"
            rows = self.ask(self.path, option)
            self.assertEqual(self.by_stack(rows, "temporary"), sums(self.heap.temporary(others or 0)), others)
            counts = [row["temporary_allocations"] for row in rows]
            self.assertEqual(counts, sorted(counts, reverse=True))

    def test_top(self):
        everything = sums(self.heap.blocks)
        for cost, key in (("bytes", 0), ("count", 1)):
            rows = self.ask(self.path, f"--top={cost}")
            self.assertEqual(self.by_stack(rows, "allocated"), everything)
            found = [everything[row["stack"]][key] for row in rows]
            self.assertEqual(found, sorted(found, reverse=True))
        self.assertEqual(self.ask(self.path, "--top"), self.ask(self.path, "--top=bytes"))
        self.assertEqual(len(self.ask(self.path, "--top", "-n", "3")), 3)
        self.assertEqual(self.by_stack(self.ask(self.path, "--top=live"), "live"), sums(self.heap.live))

    def test_by_thread_and_size(self):
        rows = {row["thread"]: row for row in self.ask(self.path, "--by", "thread")}
        everything = sums(self.heap.blocks, lambda block: block.thread)
        self.assertEqual({t: (r["allocated_bytes"], r["allocations"]) for t, r in rows.items()}, everything)
        leaked = sums(self.heap.live, lambda block: block.thread)
        self.assertEqual({t: (r["leaked_bytes"], r["leaked_allocations"]) for t, r in rows.items()
                          if r["leaked_allocations"]}, leaked)  # fmt: skip
        peak = sums(self.heap.live_after(self.heap.peak()[2]), lambda block: block.thread)
        self.assertEqual({t: (r["peak_bytes"], r["peak_allocations"]) for t, r in rows.items()
                          if r["peak_allocations"]}, peak)  # fmt: skip
        self.assertEqual([rows[0]["name"], rows[1]["name"], rows[2]["name"]], ["main thread", None, "worker"])

        def label(block):
            bits = block.size.bit_length()
            return str(block.size) if bits < 2 else f"{1 << bits - 1}-{(1 << bits) - 1}"

        rows = self.ask(self.path, "--by", "size")
        self.assertEqual({r["size"]: (r["allocated_bytes"], r["allocations"]) for r in rows},
                         sums(self.heap.blocks, label))  # fmt: skip

    def test_by_function_and_file(self):
        for key, field, names in (("function", 2, FUNCTIONS), ("file", 0, FILES)):
            rows = {row[key]: row for row in self.ask(self.path, "--by", key)}
            own = sums(self.heap.blocks, lambda block: names[STACKS[block.stack][0][field]])  # noqa: B023
            self.assertEqual({n: (r["allocated_bytes"], r["allocations"]) for n, r in rows.items() if r["allocations"]},
                             own)  # fmt: skip
            for name, row in rows.items():
                inside = [b.size for b in self.heap.blocks if name in {names[f[field]] for f in STACKS[b.stack]}]
                self.assertEqual(row["inclusive"], sum(inside), name)

    def test_one_stack(self):
        (row,) = self.ask(self.path, "--stack", "3")
        mine = [block for block in self.heap.blocks if block.stack == 3]
        ages = [block.died - block.born for block in mine if block.died is not None]
        self.assertEqual(row["allocations"], len(mine))
        self.assertEqual(row["lifetime_max_us"], max(ages))
        self.assertAlmostEqual(row["lifetime_average_us"], sum(ages) / len(ages), delta=0.01)
        self.run_error("heap", self.path, "--stack", "99", naming=self.path)

    def test_tree(self):
        for options, order in (([], -1), (["--bottom-up"], 1)):
            rows = self.ask(self.path, "--tree", *options)
            found, path = {}, []
            for row in rows:
                del path[row["depth"]:]
                path.append((row["function"], row["file"]))
                self.assertNotIn(tuple(path), found)
                found[tuple(path)] = (row["cost"], row["allocations"])
            expected = {}
            for block in self.heap.blocks:
                frames = [(FUNCTIONS[function], FILES[file]) for file, _, function in STACKS[block.stack]][::order]
                for depth in range(len(frames)):
                    key = tuple(frames[:depth + 1])
                    size, count = expected.get(key, (0, 0))
                    expected[key] = (size + block.size, count + 1)
            self.assertEqual(found, expected)
        self.assertIn("what it calls", self.run_ok("heap", self.path, "--tree", "--peak").text)

    def test_suppressions(self):
        def leaking(*lines):
            path = self.file("known", "# known leaks\n\n" + "".join(f"{line}\r\n" for line in lines))
            return {row["stack"] for row in self.ask(self.path, "--leaks", "--suppressions", path)}

        every = {block.stack for block in self.heap.live}
        for line, condition in (("leak:grow", lambda names: "grow" in names), ("leak:^ro", lambda names: False),
                                ("leak:^gr*w$", lambda names: "grow" in names), ("leak:^gro$", lambda names: False),
                                ("leak:row$", lambda names: "grow" in names), ("leak:oa", lambda names: "load" in names),
                                ("leak:main.c", lambda names: "/app/main.c" in names),
                                ("leak:*", lambda names: True), ("leak:^", lambda names: True),
                                ("leak:$", lambda names: False), ("leak:^$", lambda names: False)):  # fmt: skip
            hidden = {i for i, stack in enumerate(STACKS)
                      if condition({FUNCTIONS[f[2]] for f in stack} | {FILES[f[0]] for f in stack})}  # fmt: skip
            self.assertEqual(leaking(line), every - hidden, line)
        self.assertEqual(leaking("leak:load", "leak:grow"), leaking("leak:load") & leaking("leak:grow"))
        bad = self.file("bad", "leak:x\nrace:y\n")
        result = self.run_error("heap", self.path, "--leaks", "--suppressions", bad, naming=bad)
        self.assertIn("line 2", result.err)
        self.assertRegex(self.run_ok("heap", self.path, "--leaks", "--suppressions", self.file("all", "leak:*")).text,
                         "bytes in .* blocks are suppressed")  # fmt: skip

    def test_what_is_for_leaks_goes_with_leaks(self):
        known = self.file("all", "leak:*")
        for option, value in (("--suppressions", known), ("--min-age", "1s")):
            summary = ((), ("--json",)) if option == "--min-age" else ()
            for others in (*summary, ("--peak",), ("--top",), ("--cost", "live"), ("--timeline",), ("--lifetimes",),
                           ("--between", "1us", "2us")):  # fmt: skip
                result = self.run_usage("heap", self.path, option, value, *others)
                self.assertIn(f"{option} needs --leaks", result.err)
            for others in (("--leaks",), ("--top=leaked",), ("--cost", "leaked", "--tree"), ("--leaks", "--by", "function"),
                           ("--leaks", "--folded"), ("--leaks", "--between", "1us", "2us")):  # fmt: skip
                self.run_ok("heap", self.path, option, value, *others)


class Time(HeapTest):
    def setUp(self):
        super().setUp()
        self.events = without_markers(random_events(5, count=3000))
        self.heap = Heap(self.events)

    def test_at(self):
        path = self.trace(self.events)
        for number in (1, 7, 500, 1499, len(self.events)):
            time = self.events[number - 1][1]
            heap = Heap(self.events, until=index_at(self.events, time))
            for text in (str(time), f"{time - START}us", f"+{time - START}", f"{(time - START) / 1000:.3f}ms"):
                state, *rows = self.ask(path, "--at", text)
                self.assertEqual(self.by_stack(rows, "live"), sums(heap.live), text)
                self.assertEqual((state["live_bytes"], state["live_allocations"]), heap.levels[-1])
        state, *rows = self.ask(path, "--at", "0us")
        self.assertEqual(state["live_bytes"], sum(size for size, _ in self.by_stack(rows, "live").values()))

    def test_between_times(self):
        path = self.trace(self.events)
        for first, last in ((10, 2000), (700, 701), (0, len(self.events) - 1), (1500, 1500)):
            start, end = self.events[first][1], self.events[last][1]
            cut = [i for i, event in enumerate(self.events) if event[1] < start]
            before = Heap(self.events, until=len(cut))
            after = Heap(self.events, until=index_at(self.events, end))
            _, *rows = self.ask(path, "--between", str(start), str(end))
            was, now = sums(before.live), sums(after.live)
            changed = {stack for stack in was.keys() | now.keys() if was.get(stack) != now.get(stack)}
            self.assertEqual({row["stack"] for row in rows}, changed)
            for row in rows:
                self.assertEqual((row["before_bytes"], row["before_allocations"]), was.get(row["stack"], (0, 0)))
                self.assertEqual((row["live_bytes"], row["live_allocations"]), now.get(row["stack"], (0, 0)))
            inside = [block for block in after.blocks if block.number >= len(cut)]
            rows = self.ask(path, "--between", str(start), str(end), "--top")
            self.assertEqual(self.by_stack(rows, "allocated"), sums(inside))
            rows = self.ask(path, "--between", str(start), str(end), "--leaks")
            self.assertEqual(self.by_stack(rows, "leaked"), sums(b for b in inside if b.died is None))
            best = max([before.levels[-1][0] if cut else 0] + [level for level, _ in after.levels[len(cut):]])
            rows = self.ask(path, "--between", str(start), str(end), "--peak")
            self.assertEqual(sum(row["peak_bytes"] for row in rows), best)

    def test_between_markers(self):
        events = with_markers(self.events, begin=1000, end=2000)
        path = self.trace(events)
        before, after = Heap(events, until=1000), Heap(events, until=2001)
        _, *rows = self.ask(path, "--between", "begin", "end")
        was, now = sums(before.live), sums(after.live)
        self.assertEqual({row["stack"]: (row["before_bytes"], row["live_bytes"]) for row in rows},
                         {s: (was.get(s, (0, 0))[0], now.get(s, (0, 0))[0])
                          for s in was.keys() | now.keys() if was.get(s) != now.get(s)})  # fmt: skip
        rows = self.ask(path, "--between", "begin", "end", "--top=count")
        self.assertEqual(self.by_stack(rows, "allocated"), sums(b for b in after.blocks if b.number > 1000))
        for words in (("begin", "nowhere"), ("nowhere", "end"), ("end", "begin")):
            result = self.run_error("heap", path, "--between", *words, naming=path)
            self.assertIn("no marker", result.err)
        state, *rows = self.ask(path, "--at", "begin")
        self.assertEqual(self.by_stack(rows, "live"), was)
        self.assertEqual(state["time_us"], events[1000][1])

    def test_markers(self):
        events = with_markers(self.events, begin=1000, end=2000)
        heap = Heap(events)
        rows = self.ask(self.trace(events), "--markers")
        self.assertEqual([(row["marker"], row["time_us"], row["live_bytes"]) for row in rows],
                         [(name, events[number][1], heap.levels[number][0])
                          for name, number in (("begin", 1000), ("end", 2001))])  # fmt: skip
        self.assertEqual([row["peak_bytes"] for row in rows],
                         [max(level for level, _ in heap.levels[1000:2001]),
                          max(level for level, _ in heap.levels[2001:])])  # fmt: skip

    def test_timeline(self):
        for points in (2, 3, 64, 1000):
            width, expected = self.heap.timeline(points)
            rows = self.ask(self.trace(self.events), f"--timeline={points}")
            self.assertEqual({row["width_us"] for row in rows}, {width})
            self.assertEqual({row["start_us"]: (row["peak_bytes"], row["live_bytes"], row["allocated_bytes"],
                                                row["allocations"]) for row in rows}, expected)  # fmt: skip
        self.assertEqual(self.ask(self.trace(self.events), "--timeline"),
                         self.ask(self.trace(self.events), "--timeline=64"))  # fmt: skip

    def test_churn(self):
        rows = self.ask(self.trace(self.events), "--churn", "1ms")
        windows = [row for row in rows if "width_us" in row]
        expected = {}
        for event in self.events:
            if event[0] != "gc":
                window = expected.setdefault((event[1] - START) // 1000, [0, 0])
                if event[0] == "alloc":
                    window[0] += event[3]
                    window[1] += 1
        found = {(row["start_us"] - START) // 1000: [row["allocated_bytes"], row["allocations"]] for row in windows}
        self.assertEqual({k: v for k, v in found.items() if v[1]}, {k: v for k, v in expected.items() if v[1]})
        sizes = [row["allocated_bytes"] for row in windows]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        best = [row for row in self.ask(self.trace(self.events), "--churn", "1ms", "-n", "5") if "width_us" in row]
        self.assertEqual(best, windows[:5])
        short = [b for b in self.heap.blocks if b.died is not None and b.died - b.born < 1000]
        self.assertEqual(self.by_stack([row for row in rows if "stack" in row], "churned"), sums(short))

    def test_windows_of_churn_end_before_the_next(self):
        events = [("alloc", START + 1000 * i, 16 * (i + 1), 10, i, 0) for i in range(3)]
        events += [("free", START + 3000, 32), ("free", START + 3000, 48)]
        rows = self.ask(self.trace(events), "--churn", "1ms", "-n", "2")
        self.assertEqual([row["start_us"] for row in rows if "width_us" in row], [START, START + 1000])
        self.assertEqual([row["stack"] for row in rows if "stack" in row], [])
        rows = self.ask(self.trace(events), "--churn", "1001us")
        self.assertEqual([row["stack"] for row in rows if "stack" in row], [2])

    def test_lifetimes(self):
        rows = self.ask(self.trace(self.events), "--lifetimes")
        expected = {}
        for block in self.heap.blocks:
            if block.died is not None:
                bits = (block.died - block.born).bit_length()
                size, count = expected.get(bits, (0, 0))
                expected[bits] = (size + block.size, count + 1)
        found = {row["lifetime_from_us"].bit_length(): (row["freed_bytes"], row["freed_allocations"]) for row in rows}
        self.assertEqual({k: v for k, v in found.items() if v[1]}, expected)


class States(HeapTest):
    """--index leaves a file from which --at is answered; nobody can tell from the answer."""

    def test_answers_do_not_change(self):
        events = random_events(31, count=20000)
        path = self.trace(events)
        moments = [str(events[i][1] + shift) for i in (0, 100, 9999, 15000, len(events) - 1) for shift in (-1, 0, 1)]
        questions = [["--at", moment, *more] for moment in moments for more in ([], ["--by", "function"])]
        expected = [self.ask(path, *question) for question in questions]
        texts = [self.run_ok("heap", path, *question).text for question in questions]
        self.run_ok("heap", path, "--index")
        states = path.with_name(path.name + ".live")
        self.assertTrue(states.exists())
        self.assertEqual([self.ask(path, *question) for question in questions], expected)
        self.assertEqual([self.run_ok("heap", path, *question).text for question in questions], texts)
        written = states.read_bytes()
        self.run_ok("heap", path, "--index")
        self.assertEqual(states.read_bytes(), written)
        self.assertEqual(self.ask(path, "--at", moments[4], "--by", "thread")[0], self.ask(path, "--at", moments[4])[0])

    def test_stale_and_damaged_ones_do_no_harm(self):
        old, new = random_events(31), random_events(32)
        path = self.trace(old)
        self.run_ok("heap", path, "--index")
        states = path.with_name(path.name + ".live")
        self.trace(new)
        moment = str(new[500][1])
        heap = Heap(new, until=index_at(new, int(moment)))
        self.assertEqual(self.by_stack(self.ask(path, "--at", moment)[1:], "live"), sums(heap.live))
        self.run_ok("heap", path, "--index")
        good = states.read_bytes()
        for at in range(0, len(good), 7):
            states.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            self.assertEqual(self.by_stack(self.ask(path, "--at", moment)[1:], "live"), sums(heap.live), at)
        states.write_bytes(b"")
        self.assertEqual(self.by_stack(self.ask(path, "--at", moment)[1:], "live"), sums(heap.live))


class Exports(HeapTest):
    def setUp(self):
        super().setUp()
        self.events = random_events(9)
        self.path = self.trace(self.events)
        self.heap = Heap(self.events)

    def test_folded(self):
        for options, blocks in (([], self.heap.blocks), (["--leaks"], self.heap.live),
                                (["--peak"], self.heap.live_after(self.heap.peak()[2]))):  # fmt: skip
            lines = self.run_ok("heap", self.path, "--folded", *options).text.splitlines()
            found = {}
            for line in lines:
                stack, _, value = line.rpartition(" ")
                found[stack] = found.get(stack, 0) + int(value)
            names = [name.replace(";", ":") for name in FUNCTIONS]
            expected = sums(blocks, lambda block: ";".join(names[f[2]] for f in STACKS[block.stack][::-1]))
            self.assertEqual(found, {key: size for key, (size, _) in expected.items() if size})

    def test_pprof(self):
        out = self.folder / "out.pb"
        self.run_ok("heap", self.path, "--pprof", out)
        profile = pprof.decode(out.read_bytes())
        functions = {function.id: function for function in profile.functions}
        locations = {location.id: location for location in profile.locations}
        self.assertEqual(len(profile.locations), len({frame for b in self.heap.blocks for frame in STACKS[b.stack]}))
        found = {}
        for numbers, values in profile.samples:
            frames = []
            for number in numbers:
                ((function, line),) = locations[number].lines
                frames.append((functions[function].name, functions[function].filename, line))
            found[tuple(frames)] = values
        peak = sums(self.heap.live_after(self.heap.peak()[2]))
        live, every = sums(self.heap.live), sums(self.heap.blocks)
        expected = {}
        for stack, (size, count) in every.items():
            key = tuple((FUNCTIONS[function], FILES[file], line) for file, line, function in STACKS[stack])
            expected[key] = [count, size, *live.get(stack, (0, 0))[::-1], *peak.get(stack, (0, 0))[::-1]]
        self.assertEqual(found, expected)

    def test_a_name_with_gz_gets_a_gzip_file(self):
        for option, name in (("--pprof", "out.pb"), ("--speedscope", "out.json")):
            self.run_ok("heap", self.path, option, self.folder / name)
            content = (self.folder / name).read_bytes()
            self.assertNotEqual(content[:2], b"\x1f\x8b")
            for packed in (f"{name}.gz", f"{name}.GZ"):
                self.run_ok("heap", self.path, option, self.folder / packed)
                self.assertEqual(gzip.decompress((self.folder / packed).read_bytes()), content)

    def test_speedscope(self):
        out = self.folder / "out.json"
        self.run_ok("heap", self.path, "--speedscope", out)
        data = json.loads(out.read_text(encoding="utf-8"))
        frames = [(f["name"], f["file"], f["line"]) for f in data["shared"]["frames"]]
        self.assertEqual(len(frames), len(set(frames)))
        for profile, blocks in zip(data["profiles"], (self.heap.blocks, self.heap.live_after(self.heap.peak()[2]),
                                                      self.heap.live)):  # fmt: skip
            expected = {tuple((FUNCTIONS[c], FILES[a], b) for a, b, c in STACKS[stack][::-1]): size
                        for stack, (size, _) in sums(blocks).items() if size}  # fmt: skip
            found = {tuple(frames[i] for i in sample): weight
                     for sample, weight in zip(profile["samples"], profile["weights"])}  # fmt: skip
            self.assertEqual(found, expected)
            self.assertEqual(profile["endValue"], sum(expected.values()))

    def test_control_characters_in_speedscope(self):
        functions = ["main", "a\tb\n", "c\x7fd", "\x1f\x9b\\\""]
        text = mlyze_writer.metadata([[(0, 1, 1), (0, 2, 2), (0, 3, 3), (0, 4, 0)]], ["/app/main.c"], functions)
        path = self.file("named.mlyze", mlyze_writer.plain([("alloc", 1, 0x1000, 8, 0, 0)], 0, text))
        out = self.folder / "out.json"
        self.run_ok("heap", path, "--speedscope", out)
        for spelling in (b'"a\\u0009b\\u000a"', b'"c\\u007fd"', b'"\\u001f\xc2\x9b\\\\\\""'):
            self.assertIn(spelling, out.read_bytes())

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.run_ok("heap", self.path, "--csv", "--leaks").text)))
        self.assertEqual({int(row["stack"]): (int(row["leaked_bytes"]), int(row["leaked_allocations"])) for row in rows},
                         sums(self.heap.live))  # fmt: skip
        rows = list(csv.DictReader(io.StringIO(self.run_ok("heap", self.path, "--csv", "--by", "function").text)))
        self.assertIn(FUNCTIONS[6], {row["function"] for row in rows})


class Compressed(HeapTest):
    def test_blocks_give_the_same_answers(self):
        events = random_events(21, count=30000)
        plain = self.trace(events)
        blocks, time = [], START
        for at in range(0, len(events), 1000):
            part = events[at:at + 1000]
            blocks.append(mlyze_writer.block(mlyze_writer.encode_all(part, time), time, at))
            time = part[-1][1]
        packed = self.file("packed.mlyze", mlyze_writer.in_blocks(blocks, START, METADATA, len(events)))
        for options in (["--leaks"], ["--peak"], ["--timeline"], ["--at", "1s"], ["--between", "0.5s", "2s"]):
            self.assertEqual(self.ask(packed, *options), self.ask(plain, *options), options)


class Sampled(HeapTest):
    """Allocations that were drawn with a chance that grows with their size stand for those that were not."""

    PERIOD = 4096

    def sampled(self, events, seed):
        rnd, kept, drawn = random.Random(seed), set(), []
        for event in events:
            if event[0] == "alloc":
                kept.discard(event[2])
                if rnd.random() < 1 - math.exp(-event[3] / self.PERIOD):
                    kept.add(event[2])
                    drawn.append(event)
            elif event[0] == "free" and event[2] in kept:
                kept.remove(event[2])
                drawn.append(event)
        data = bytearray(mlyze_writer.plain(drawn, START, METADATA))
        # Everything else of the header stays as in a plain file; the events are where they were.
        struct.pack_into("<I", data, 20, mlyze_writer.FLAG_SAMPLED)
        struct.pack_into("<Q", data, 72, self.PERIOD)
        return drawn, self.file("sampled.mlyze", bytes(data))

    def test_figures_are_scaled_and_labelled(self):
        rnd = random.Random(4)
        events, time = [], START
        for i in range(30000):
            time += 1
            size = rnd.choice((64, 1000, 5000, 100000))
            events.append(("alloc", time, 16 * (i + 1), size, rnd.randrange(9), 0))
            if rnd.random() < 0.7:
                events.append(("free", time, 16 * (i + 1)))
        truth = Heap(events).summary()
        drawn, path = self.sampled(events, 1)
        (found,) = self.ask(path)
        self.assertTrue(found["estimated"])
        self.assertEqual(found["sample_period"], self.PERIOD)
        self.assertEqual(found["samples"], sum(event[0] == "alloc" for event in drawn))
        self.assertLess(found["samples"], 0.75 * truth["allocations"])
        for key, share in (("allocated_bytes", 0.03), ("allocations", 0.1), ("leaked_bytes", 0.05), ("peak_bytes", 0.05)):
            self.assertAlmostEqual(found[key] / truth[key], 1, delta=share, msg=key)
        exact = sum(event[3] / (1 - math.exp(-event[3] / self.PERIOD)) for event in drawn if event[0] == "alloc")
        self.assertAlmostEqual(found["allocated_bytes"] / exact, 1, delta=1e-4)
        weights = sum(1 / (1 - math.exp(-event[3] / self.PERIOD)) for event in drawn if event[0] == "alloc")
        self.assertAlmostEqual(found["allocations"], weights, delta=1)
        self.assertIn("estimated", self.run_ok("heap", path).text)


class OddFiles(HeapTest):
    def test_files_of_the_reference_tracer(self):
        events = [("alloc", START + i, 0, 64, i, 1) for i in range(10)] + [("free", START + 20, 0)] * 2
        path = self.trace(events, mlyze_writer.metadata())
        result = self.run_warned("heap", path, "--json")
        (found,) = result.json_lines()
        self.assertEqual((found["allocations"], found["implicit_frees"], found["unmatched_frees"]), (10, 9, 1))
        self.assertEqual(len(result.err.splitlines()), 2)
        self.assertIn("10 allocations have stacks", result.err)
        self.assertIn("12 events have the address 0", result.err)
        self.assertIn("stack_3", self.run_warned("heap", path).text)
        self.assertIn("stack_3 64\n", self.run_warned("heap", path, "--folded").text)
        (row,) = self.run_warned("heap", path, "--top", "-n", "1", "--json").json_lines()
        self.assertEqual(row["frames"], [])

    def test_what_nobody_knows_is_counted_once(self):
        nameless = [("marker", START + 1, len(FUNCTIONS)), ("marker", START + 2, 10**6)]
        unknown = [(7, START + 3, b"x"), (127, START + 3, b""), (8, START + 4, b"yy")]
        known = [("marker", START, 0), ("alloc", START + 1, 16, 100, 0, 0)]
        for events, lines in ((known, []),
                              (known + [(kind, START + 2, b"payload") for kind in (4, 5, 6)], []),
                              (known + nameless[:1], ["1 marker has a name that is not in the metadata"]),
                              (known + nameless, ["2 markers have names that are not in the metadata"]),
                              (known + unknown[:1], ["1 event is of an unknown type"]),
                              (known + unknown, ["3 events are of unknown types"]),
                              (known + nameless[:1] + unknown, ["1 marker has a name that is not in the metadata",
                                                                "3 events are of unknown types"])):
            path = self.trace(events)
            for arguments in (("heap", path), ("heap", path, "--json"), ("heap", path, "--markers"), ("diff", path, path),
                              ("diff", f"{path}@+0", f"{path}@+9"), ("diff", f"{path}@+9", f"{path}@+0")):  # fmt: skip
                result = sextant.run(*arguments)
                self.assertEqual(result.status, 0, f"\n{result}")
                self.assertEqual(result.err, "".join(f"sextant: {path}: warning: {line}\n" for line in lines), f"\n{result}")
        path, other = self.trace(known + nameless[:1]), self.trace(known + unknown[:1], name="other.mlyze")
        self.assertEqual([line.split(": ")[1] for line in self.run_warned("diff", path, other).err.splitlines()],
                         [str(path), str(other)])  # fmt: skip

    def test_more_nameless_markers_than_are_kept(self):
        path = self.trace([("marker", START, 10**6)] * 10001)
        self.assertIn("warning: at least 10,000 markers have names that", self.run_warned("heap", path).err)

    def test_one_or_many(self):
        text = mlyze_writer.metadata([], [], [])
        one = self.run_warned("heap", self.trace([("alloc", START, 0, 9, 3, 0)], text)).err
        self.assertIn("1 allocation has a stack that", one)
        self.assertIn("1 event has the address 0", one)
        many = self.run_warned("heap", self.trace([("alloc", START, 0, 9, 3, 0)] * 2, text)).err
        self.assertIn("2 allocations have stacks that", many)
        self.assertIn("2 events have the address 0", many)

    def test_ids_of_stacks_may_be_as_high_as_they_fit(self):
        events = [("alloc", START, 16 * (i + 1), 10 + i, stack, 0)
                  for i, stack in enumerate((0, 5_000_000, 0xFFFFFFFE, 0xFFFFFFFF, 5_000_000))]  # fmt: skip
        rows = self.run_warned("heap", self.trace(events), "--leaks", "--json", limit_memory=True).json_lines()
        self.assertEqual(self.by_stack(rows, "leaked"), sums(Heap(events).live))

    def test_sizes_that_do_not_add_up(self):
        events = [("alloc", START + i, 16 * (i + 1), (1 << 64) - 1, i % 3, 0) for i in range(6)]
        events += [("free", START + 9, 16), ("free", START + 9, 32)]
        result = self.run_warned("heap", self.trace(events), "--json")
        self.assertEqual(result.json_lines()[0]["peak_bytes"], (1 << 64) - 1)
        self.assertIn("64 bits", result.err)

    def test_a_file_that_is_cut_off_gives_what_it_has(self):
        data = self.trace(random_events(3)).read_bytes()
        path = self.file("cut.mlyze", data[:-1])
        result = sextant.run("heap", path, "--json")
        self.assertEqual(result.status, 1)
        self.assert_one_error_line(result, path)
        (found,) = result.json_lines()
        self.assertEqual(found["events"], len(random_events(3)) - 1)

    def test_what_is_no_trace(self):
        self.run_error("heap", self.file("x", b"nothing"), naming="x")
        self.run_error("heap", self.file("empty", b""), naming="empty")
        self.run_error("heap", self.folder / "missing", naming="missing")

    def test_usage(self):
        path = self.trace([])
        for words in ([], [path, path], [path, "--by", "colour"], [path, "--top=x"], [path, "--peak", "--leaks"],
                      [path, "--between", "a"], [path, "--tree", "--folded"], [path, "--json", "--csv"],
                      [path, "--churn", "0"], [path, "--churn", "soon"], [path, "--timeline=1"], [path, "--temporary=x"],
                      [path, "--at", "1s", "--from", "2s"], [path, "--between", "2s", "1s"], [path, "--csv", "--tree"],
                      [path, "--t"]):  # fmt: skip
            self.run_usage("heap", *words)
        self.assertIn("--temporary [=N]", self.run_ok("heap", "--help").text)


def peak_memory(*words):
    """Kilobytes, of the program alone."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")  # fmt: skip
    done = subprocess.run(["python3", "-c", code, sextant.program(), *map(str, words)], stdout=subprocess.PIPE, check=True)
    return int(done.stdout)


class Memory(HeapTest):
    def test_a_trace_ten_times_as_long_takes_the_same(self):
        events = without_markers(random_events(1, count=20000, odd=False))
        events += [("free", events[-1][1], block.address) for block in Heap(events).live]
        once = mlyze_writer.encode_all(events, START)
        head = mlyze_writer.header(START, len(METADATA)) + METADATA
        short, long = self.file("s.mlyze", head + once * 10), self.file("l.mlyze", head + once * 100)
        for options in ([], ["--timeline"], ["--churn", "10ms"]):
            self.assertLess(peak_memory("heap", long, *options), peak_memory("heap", short, *options) + 6000)


if __name__ == "__main__":
    tap.main()
