"""heap: stacks with the same frames are one row, in every table and every export; the row has the lowest of their ids."""

import collections
import csv
import io
import json

from support import heap_programs, mlyze_writer, pprof, recording, sextant, tap
from support.heap_oracle import START

# Function 4 has the same text as function 1, and file 2 that of file 0.
FUNCTIONS = ["main", "load", "parse", "grow", "load"]
FILES = ["/app/main.c", "/app/parse.c", "/app/main.c"]
STACKS = [
    [(1, 7, 3), (0, 5, 1), (0, 3, 0)],
    [(1, 8, 3), (0, 5, 1), (0, 3, 0)],
    [(1, 7, 3), (0, 5, 1), (0, 3, 0)],  # as 0
    [(1, 7, 3), (2, 5, 4), (0, 3, 0)],  # as 0, by text
    [(1, 7, 3), (0, 6, 1), (0, 3, 0)],  # another line
    [(1, 8, 3), (0, 5, 4), (2, 3, 0)],  # as 1, by text
    [],
    [],
]
LOWEST = {0: 0, 1: 1, 2: 0, 3: 0, 4: 4, 5: 1, 6: 6, 7: 7, 99: 99}
METADATA = mlyze_writer.metadata(STACKS, FILES, FUNCTIONS)
RELOADS = r"""
#include <dlfcn.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 500; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (library == 0)
            return 1;
        void (*leak)(void) = (void (*)(void))dlsym(library, "leak");
        leak();
        dlclose(library);
    }
    return argc != 2;
}
"""
LEAK = r"""
#include <stdlib.h>
void *volatile kept;
void leak(void) { kept = malloc(100); }
"""


def make_events():
    """Every stack allocates; blocks of stack 2 and 5 are freed at once, one of 3 is live at the peak only."""
    events = []
    for i, stack in enumerate([3, 0, 1, 2, 5, 4, 6, 7, 99, 3, 1]):
        events.append(("alloc", START + 10 * i, 0x1000 + 0x100 * i, 10 + i, stack, i % 2))
        if stack in (2, 5):
            events.append(("free", START + 10 * i + 1, 0x1000 + 0x100 * i))
    events.append(("free", START + 1000, 0x1000))
    return events


def sums_of(events, kind):
    """(bytes, blocks) by the lowest id."""
    sizes = {event[2]: (event[3], event[4]) for event in events if event[0] == "alloc"}
    freed = {event[2] for event in events if event[0] == "free"}
    found = collections.defaultdict(lambda: [0, 0])
    for address, (size, stack) in sizes.items():
        if kind == "leaked" and address in freed:
            continue
        found[LOWEST[stack]][0] += size
        found[LOWEST[stack]][1] += 1
    return {stack: tuple(both) for stack, both in found.items()}


class Merge(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.events = make_events()
        self.path = self.file("t.mlyze", mlyze_writer.plain(self.events, START, METADATA))

    def ask(self, *options):
        return self.run_warned("heap", self.path, "--json", *options).json_lines()

    def test_leaks_are_by_what_is_shown(self):
        rows = {row["stack"]: (row["leaked_bytes"], row["leaked_allocations"]) for row in self.ask("--leaks")}
        self.assertEqual(rows, sums_of(self.events, "leaked"))

    def test_allocations_and_their_frames(self):
        rows = self.ask("--top")
        self.assertEqual({row["stack"]: (row["allocated_bytes"], row["allocations"]) for row in rows},
                         sums_of(self.events, "allocated"))  # fmt: skip
        shown = [json.dumps(row["frames"]) for row in rows if row["frames"]]
        self.assertEqual(len(shown), len(set(shown)))

    def test_the_sums_of_rows_are_the_totals(self):
        (total,) = self.ask()
        for option, keys in (("--peak", ("peak_bytes", "peak_allocations")), ("--leaks", ("leaked_bytes",
            "leaked_allocations")),
                             ("--top", ("allocated_bytes", "allocations")), ("--temporary", ("temporary_bytes",
                                 "temporary_allocations"))):  # fmt: skip
            rows = self.ask(option)
            self.assertEqual([sum(row[key] for row in rows) for key in keys], [total[key] for key in keys])
        self.assertEqual(total["stacks"], len(self.ask("--top")))

    def test_a_moment_and_growth(self):
        for options in (["--at", "10ms"], ["--between", "5us", "2ms"]):
            total, *rows = self.ask(*options)
            ids = [row["stack"] for row in rows]
            self.assertEqual(len(ids), len(set(ids)))
            self.assertTrue(set(ids) <= set(LOWEST.values()), ids)
            self.assertEqual(sum(row["live_bytes"] for row in rows), total["live_bytes"])

    def test_a_moment_from_the_cache(self):
        path = self.folder / "c.mlyze"
        self.run_warned("convert", self.path, "--compress", "-o", path)
        slow = self.run_ok("heap", self.path, "--json", "--at", "60us").json_lines()
        self.run_ok("heap", path, "--index", "--json", "--at", "60us")
        self.assertEqual(self.run_ok("heap", path, "--json", "--at", "60us").json_lines(), slow)

    def test_any_of_the_ids_finds_the_row(self):
        for stack in (0, 2, 3):
            (row,) = self.ask("--stack", str(stack))
            self.assertEqual((row["stack"], row["allocated_bytes"]), (0, sums_of(self.events, "allocated")[0][0]))

    def test_csv_has_one_line_a_stack(self):
        rows = list(csv.DictReader(io.StringIO(self.run_warned("heap", self.path, "--csv").text)))
        self.assertEqual({int(row["stack"]): (int(row["allocated_bytes"]), int(row["allocations"])) for row in rows},
                         sums_of(self.events, "allocated"))  # fmt: skip

    def test_folded_lines_are_distinct(self):
        lines = self.run_warned("heap", self.path, "--folded").text.splitlines()
        found = dict(line.rsplit(" ", 1) for line in lines)
        self.assertEqual(len(found), len(lines))
        expected = sums_of(self.events, "allocated")
        # Lines of source are not in this format.
        self.assertEqual(int(found["main;load;grow"]), expected[0][0] + expected[1][0] + expected[4][0])

    def test_pprof_and_speedscope_have_one_sample_a_stack(self):
        self.run_warned("heap", self.path, "--pprof", self.folder / "p.pb", "--speedscope", self.folder / "s.json")
        profile = pprof.decode((self.folder / "p.pb").read_bytes())
        self.assertEqual(len(profile.samples), len(sums_of(self.events, "allocated")))
        scope = json.loads((self.folder / "s.json").read_text())
        frames = [json.dumps(frame) for frame in scope["shared"]["frames"]]
        self.assertEqual(len(frames), len(set(frames)))
        for shown in scope["profiles"]:
            samples = [tuple(sample) for sample in shown["samples"]]
            self.assertEqual(len(samples), len(set(samples)))

    def test_trees_have_one_branch_a_function(self):
        for form in ("--tree", "--bottom-up"):
            nodes = self.ask(form)
            self.assertEqual([node["function"] for node in nodes if node["depth"] == 1].count("load"), 1)

    def test_text_has_each_frame_list_once(self):
        text = self.run_warned("heap", self.path, "--top").text
        self.assertEqual(text.count("/app/parse.c:7"), 2)
        self.assertEqual(text.count("/app/parse.c:8"), 1)


class Reloaded(recording.RecordTest):
    def test_a_library_that_is_loaded_again_and_again_leaks_in_one_row(self):
        library = heap_programs.build(self.folder, "libleak.so", LEAK, "-shared", "-fPIC")
        program = heap_programs.build(self.folder, "program", RELOADS, "-ldl")
        self.record(program, library)
        rows = self.run_ok("heap", self.folder / "out.mlyze", "--leaks", "--json").json_lines()
        found = [row for row in rows if any(frame["function"] == "leak" for frame in row["frames"])]
        self.assertEqual([(row["leaked_bytes"], row["leaked_allocations"]) for row in found], [(50000, 500)])


if __name__ == "__main__":
    tap.main()
