"""diff of heap traces as a gate: budgets, Markdown, builds in different folders, several runs."""

import gzip
import itertools
import json
import re

from support import mlyze_writer, sextant, tap

START = mlyze_writer.EXAMPLE_START


class Gate(sextant.ProgramTest):
    def trace(self, name, blocks, **extra):
        """BLOCKS are (size, [(function, file, line), ...]): a block that is never freed, and the stack that allocated it,
        innermost frame first. A negative size is freed at once."""
        functions, files, stacks, events = [], [], [], []

        def number(table, name):
            if name not in table:
                table.append(name)
            return table.index(name)

        for i, (size, frames) in enumerate(blocks):
            stack = [(number(files, file), line, number(functions, function)) for function, file, line in frames]
            stacks.append(stack)
            events.append(("alloc", START + i, 4096 * (i + 1), abs(size), i, 0))
            if size < 0:
                events.append(("free", START + i, 4096 * (i + 1)))
        text = mlyze_writer.metadata(stacks, files, functions, **extra)
        return self.file(name, mlyze_writer.plain(events, START, text))

    def sized(self, name, *sizes, folder="/src", line=0):
        """A trace in which function f<i> allocates SIZES[i] bytes."""
        return self.trace(name, [(size, [(f"f{i}", f"{folder}/f.c", 10 * i + line), ("main", f"{folder}/m.c", 1 + line)])
                                 for i, size in enumerate(sizes)])  # fmt: skip

    def gate(self, status, *arguments):
        result = sextant.run("diff", *arguments)
        self.assert_no_crash(result)
        self.assertEqual(result.status, status, f"\n{result}")
        return result

    def rows(self, *arguments):
        *rows, last = self.run_ok("diff", *arguments, "--json").json_lines()
        return rows, last["summary"]


class Budgets(Gate):
    def setUp(self):
        super().setUp()
        self.before = self.sized("a.mlyze", 100, 1000)
        self.after = self.sized("b.mlyze", 150, 1000, 7)

    def test_growth_up_to_the_limit_is_allowed(self):
        # 1,100 bytes before, 1,157 after: 57 more, 5.1818 %; allocations 2 and 3.
        for metric, kept, broken in (
            ("peak", "+57", "+56"), ("peak", "+0.057k", "+0.0569k"), ("leaked", "+5.2%", "+5.1%"),
            ("allocated", "+1k", "+0k"), ("allocated", "+1M", "+0"), ("allocated", "+1G", "+0%"),
            ("allocations", "+1", "+0"), ("allocations", "+50%", "+49.9%"),
            ("peak:f0", "+50", "+49"), ("peak:f0", "+50%", "+49%"), ("allocated:main", "+57", "+56"),
            ("leaked:f1", "+0", None), ("allocations:f2", "+1", "+0"),
        ):  # fmt: skip
            with self.subTest(metric=metric):
                result = self.gate(0, self.before, self.after, "--fail-if", f"{metric}={kept}")
                self.assertEqual(result.err, "")
                if broken is not None:
                    result = self.gate(1, self.before, self.after, f"--fail-if={metric}={broken}")
                    self.assert_one_error_line(result, self.after)
                    self.assertIn(metric.split(":")[0], result.err)
                    self.assertIn(broken, result.err)
                    self.assertTrue(result.out)

    def test_the_line_has_metric_before_after_and_allowed(self):
        result = self.gate(1, self.before, self.after, "--fail-if", "peak=+1%")
        self.assertEqual(result.err.split(": ", 2)[2], "peak grew by 57, from 1,100 to 1,157; +1% (11) is allowed\n")
        result = self.gate(1, self.before, self.after, "--fail-if", "leaked:f0=+2")
        self.assertIn("leaked in stacks with 'f0' grew by 50, from 100 to 150; +2 is allowed", result.err)

    def test_all_broken_budgets_are_reported(self):
        result = self.gate(1, self.before, self.after, "--fail-if", "peak=+1", "--fail-if", "allocations=+9",
                           "--fail-if", "leaked=+0")  # fmt: skip
        self.assertEqual(len(result.err.splitlines()), 2)

    def test_percent_of_nothing_is_nothing(self):
        nothing = self.trace("0.mlyze", [])
        result = self.gate(1, nothing, self.after, "--fail-if", "peak=+1000%")
        self.assertIn("from 0 to 1,157; +1000% (0) is allowed", result.err)
        self.gate(0, nothing, nothing, "--fail-if", "peak=+0%")
        self.gate(1, self.before, self.after, "--fail-if", "peak:f2=+100%")

    def test_shrinking_breaks_nothing(self):
        for metric in ("peak", "leaked", "allocated", "allocations"):
            self.gate(0, self.after, self.before, "--fail-if", f"{metric}=+0", "--fail-if", f"{metric}=+0%")

    def test_peak_and_leaked_and_allocated_are_different(self):
        one = self.trace("1.mlyze", [(100, [("f", "a.c", 1)])])
        two = self.trace("2.mlyze", [(100, [("f", "a.c", 1)]), (-50, [("g", "a.c", 2)])])
        self.gate(0, one, two, "--fail-if", "leaked=+0")
        self.gate(1, one, two, "--fail-if", "peak=+49")
        self.gate(1, one, two, "--fail-if", "allocated=+49")
        self.gate(1, one, two, "--fail-if", "allocations=+0")
        self.gate(0, one, two, "--fail-if", "leaked:g=+0", "--fail-if", "peak:f=+0")

    def test_names_of_functions(self):
        """The whole name, or that without parameters; a name may contain "=", ":" and "%"."""
        names = ["ns::T<int>::operator==(ns::T<int> const&)", "operator()(int)", "a=+1%", "f(int)", "ff"]
        before = self.trace("n1.mlyze", [(10, [(name, "a.cc", 1)]) for name in names])
        after = self.trace("n2.mlyze", [(30, [(name, "a.cc", 1)]) for name in names])
        for name in names + ["ns::T<int>::operator==", "f", "operator()"]:
            with self.subTest(name=name):
                result = self.gate(1, before, after, "--fail-if", f"leaked:{name}=+19")
                self.assertIn("from 10 to 30", result.err)
                self.gate(0, before, after, "--fail-if", f"leaked:{name}=+20")

    def test_names_as_they_are_shown(self):
        text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
        names = ["void load<int>(int)", f"Map<{text}, int>::add({text} const&, {text} const&)"]
        before = self.trace("n1.mlyze", [(10, [(name, "a.cc", 1)]) for name in names])
        after = self.trace("n2.mlyze", [(30, [(name, "a.cc", 1)]) for name in names])
        for name in ("load<>", "load", "load<>(int)", "Map<>::add", "Map<>::add(...)"):
            with self.subTest(name=name):
                self.assertIn("from 10 to 30", self.gate(1, before, after, "--fail-if", f"leaked:{name}=+19").err)
        for name in ("Map", "Map<>", "Map::add", "loa", "load<", "load<>("):
            self.assertIn("no stack has", self.gate(0, before, after, "--fail-if", f"leaked:{name}=+19").err)

    def test_an_unknown_function_is_a_warning(self):
        for name in ("f", "mai", "main(", "f0 "):
            result = self.gate(0, self.before, self.after, "--fail-if", f"peak:{name}=+0")
            self.assertIn(f"no stack has the function '{name}'", result.err)

    def test_nonsense_is_wrong_usage(self):
        for text in ("", "peak", "peak=", "=+1", "peak=1", "peak=-1", "peak=+", "peak=+%", "peak=+k", "peak=+1kk",
                     "peak=+1 k", "peak=+1.5", "peak=+.5k", "peak=+1.k", "peak=+1%%", "peak=+1k%", "peak=+1e3",
                     "peak=+0x10", "peak=+1kB",
                     "peak= +1", " peak=+1", "Peak=+1", "peaks=+1", "pea=+1", "peak:=+1", "peak:f", "peak:f=", "live=+1",
                     "bytes=+1", "peak=+inf", "peak=+nan", "peak=+99999999999999999999G", ".text=1%", "4k"):  # fmt: skip
            with self.subTest(text=text):
                result = self.run_usage("diff", self.before, self.after, "--fail-if", text)
                self.assertEqual(len(result.err.splitlines()), 1)
                self.assertIn(f"'{text}'", result.err)

    def test_the_whole_name_of_an_option_wins(self):
        self.gate(1, self.before, self.after, "--fail-if", "peak=+0")
        result = self.run_usage("diff", self.before, self.after, "--fail", "peak=+0")
        self.assertIn("ambiguous", result.err)

    def test_options_of_the_other_kind_are_refused(self):
        for option in ("--fail-if-grows=1k", "--fail-if-section=.text=1%", "--csv", "--disassemble"):
            self.assertIn("is for sizes", self.run_usage("diff", self.before, self.after, option).err)
        binary = sextant.program()
        for option in ("--fail-if=peak=+1", "--path-map=a=b", "--suppressions=x"):
            self.assertIn("is for heap traces", self.run_usage("diff", binary, binary, option).err)

    def test_budgets_are_in_json_and_markdown(self):
        result = self.gate(1, self.before, self.after, "--fail-if", "peak=+1", "--fail-if", "allocations=+9", "--json")
        budgets = json.loads(result.text.splitlines()[-1])["summary"]["budgets"]
        self.assertEqual([(one["budget"], one["exceeded"], one["before"], one["after"], one["allowed"]) for one in budgets],
                         [("peak=+1", True, 1100, 1157, 1), ("allocations=+9", False, 2, 3, 9)])  # fmt: skip
        result = self.gate(1, self.before, self.after, "--fail-if", "peak=+1", "--markdown")
        self.assertIn("| `peak=+1` | 1,100 | 1,157 | +57 | +1 | **exceeded** |\n", result.text)

    def test_suppressed_leaks_do_not_count(self):
        known = self.file("known.txt", b"# known\nleak:f0\nleak:f2\n")
        self.gate(1, self.before, self.after, "--fail-if", "leaked=+0")
        self.gate(0, self.before, self.after, "--fail-if", "leaked=+0", "--suppressions", known)
        self.gate(1, self.before, self.after, "--fail-if", "allocated=+0", "--suppressions", known)
        *_, last = self.run_ok("diff", self.before, self.after, "--suppressions", known, "--json").json_lines()
        summary = last["summary"]
        self.assertEqual((summary["leaked_bytes_before"], summary["leaked_bytes_after"]), (1100, 1157))
        self.assertEqual((summary["suppressed_bytes_before"], summary["suppressed_bytes_after"]), (100, 157))
        self.assertEqual(summary["metrics"]["leaked"]["median_after"], 1000)
        self.assertRegex(self.run_ok("diff", self.before, self.after, "--suppressions", known).text,
                         r"\nsuppressed +100 +157 +\+57 +57.0 %\n")  # fmt: skip
        result = self.gate(1, self.before, self.after, "--suppressions", self.file("bad.txt", b"race:x\n"))
        self.assertIn("line 1", result.err)

    def test_what_libc_keeps_is_not_a_leak(self):
        """A program that begins to print has a buffer until its end."""
        buffer = [("__GI__IO_file_doallocate", "libio/filedoalloc.c", 101), ("_IO_new_file_xsputn", "libio/fileops.c", 1243),
                  ("__GI__IO_puts", "libio/ioputs.c", 40), ("main", "/src/m.c", 1)]  # fmt: skip
        quiet = self.trace("q.mlyze", [(10, [("main", "/src/m.c", 1)])])
        loud = self.trace("l.mlyze", [(10, [("main", "/src/m.c", 1)]), (1024, buffer)])
        self.gate(0, quiet, loud, "--fail-if", "leaked=+0")
        self.gate(1, quiet, loud, "--fail-if", "leaked=+0", "--no-default-suppressions")
        self.gate(1, quiet, loud, "--fail-if", "peak=+0")

    def test_compressed_traces(self):
        packed = [self.file(f"{path.name}.gz", gzip.compress(path.read_bytes())) for path in (self.before, self.after)]
        self.gate(1, *packed, "--fail-if", "peak=+56")
        self.gate(0, *packed, "--fail-if", "peak=+57")


class Output(Gate):
    def test_json(self):
        before, after = self.sized("a.mlyze", 100, 30), self.trace("b.mlyze", [(-40, [("g", "/src/g.c", 1)])] + [
            (size, [("f0", "/src/f.c", 1), ("main", "/src/m.c", 2)]) for size in (60, 70)])  # fmt: skip
        rows, summary = self.rows(before, after)
        rows = {row["frames"][0]["function"]: row for row in rows}
        self.assertEqual({name: (row["status"], row["stack_before"], row["stack_after"], row["bytes"], row["allocations"])
                          for name, row in rows.items()},
                         {"f0": ("changed", 0, 1, 30, 1), "f1": ("removed", 1, None, -30, -1),
                          "g": ("added", None, 0, 40, 1)})  # fmt: skip
        self.assertEqual((summary["added"], summary["removed"], summary["changed"], summary["unchanged"]), (1, 1, 1, 0))

    def test_equal_stacks_are_one(self):
        """A library that is loaded again gives a stack another id."""
        frames = [("f", "/lib/x.so", 0), ("main", "/m.c", 3)]
        before = self.trace("a.mlyze", [(100, frames)] * 3)
        after = self.trace("b.mlyze", [(1, [("main", "/m.c", 4)])] + [(100, frames)] * 5)
        rows, _ = self.rows(before, after)
        self.assertEqual([(row["stack_before"], row["stack_after"], row["bytes"], row["allocations"]) for row in rows],
                         [(0, 1, 200, 2), (None, 0, 1, 1)])  # fmt: skip

    def test_markdown_is_a_table_whatever_the_names(self):
        odd = [("a|b`c\n|d", "/x|y`.c\r\n", 7), ("main", "/m.c", 1)]
        text = self.run_ok("diff", self.trace("a.mlyze", []), self.trace("b.mlyze", [(10, odd)]), "--markdown").text
        self.assertTrue(text.startswith("**Heap: +10 bytes at the peak**: 1 stack added, 0 removed"), text)
        self.assertIn("<summary>1 of 1 stack that changed</summary>\n\n| status |", text)
        widths = None
        for line in text.splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line))
            if not line.startswith("|"):
                widths = None
            elif widths is None:
                widths = cells
            self.assertIn(widths, (None, cells), line)
        row = next(line for line in text.splitlines() if line.startswith("| added"))
        self.assertIn("`a\\|b'c\\x0a\\|d` `/x\\|y'.c\\x0d\\x0a`:7<br>`main` `/m.c`:1 |", row)
        self.assertEqual(row.count("`") % 2, 0)

    def test_limits(self):
        before, after = self.trace("a.mlyze", []), self.sized("b.mlyze", *range(1, 51))
        self.assertIn("30 of 50 rows", self.run_ok("diff", before, after).text)
        self.assertIn("5 of 50 rows", self.run_ok("diff", before, after, "-n", "5").text)
        self.assertNotIn(" rows", self.run_ok("diff", before, after, "--all").text)
        self.assertEqual(len(self.rows(before, after)[0]), 50)
        self.assertEqual(len(self.rows(before, after, "-n", "5")[0]), 5)
        self.assertIn("7 of 50 stacks", self.run_ok("diff", before, after, "--markdown", "-n", "7").text)
        self.run_usage("diff", before, after, "--json", "--markdown")


class Folders(Gate):
    def statuses(self, before, after, *options):
        rows, summary = self.rows(before, after, *options)
        return sorted(row["status"] for row in rows), summary["unchanged"]

    def test_builds_that_differ_only_by_folder(self):
        before = self.sized("a.mlyze", 10, 20, 30, folder="/ci/a/build-1/src")
        for folder in ("/tmp/ci/77/src", "src", "/ci/a/build-1/src2", "/"):
            after = self.sized("b.mlyze", 10, 20, 31, folder=folder, line=5)
            self.assertEqual(self.statuses(before, after), (["changed"], 2), folder)
            self.assertEqual(self.statuses(after, before), (["changed"], 2), folder)

    def test_lines_move(self):
        before = self.trace("a.mlyze", [(10, [("f", "/a.c", 10)]), (20, [("f", "/a.c", 12)])])
        after = self.trace("b.mlyze", [(10, [("f", "/a.c", 12)]), (20, [("f", "/a.c", 14)])])
        self.assertEqual(self.statuses(before, after), ([], 1))

    def test_files_of_one_name_keep_their_folders(self):
        """util.c is there three times, and its functions have the same names."""
        places = ("util.c", "a/util.c", "b/util.c")
        def build(name, root, sizes):
            return self.trace(name, [(size, [("init", f"{root}/{place}", 3), ("main", f"{root}/main.c", 9)])
                                     for place, size in zip(places, sizes)])  # fmt: skip
        before = build("a.mlyze", "/old", (1, 20, 300))
        rows, summary = self.rows(before, build("b.mlyze", "/new/deep", (1, 20, 301)))
        self.assertEqual([(row["status"], row["bytes"], row["frames"][0]["file"]) for row in rows],
                         [("changed", 1, "/new/deep/b/util.c")])  # fmt: skip
        self.assertEqual(summary["unchanged"], 2)

    def test_same_files_stay_the_same(self):
        """A file that both builds have is never taken for another."""
        before = self.trace("a.mlyze", [(10, [("f", "/usr/include/x.h", 1)]), (5, [("f", "/old/x.h", 1)])])
        after = self.trace("b.mlyze", [(10, [("f", "/usr/include/x.h", 1)]), (6, [("f", "/new/x.h", 1)])])
        self.assertEqual(self.statuses(before, after), (["changed"], 1))

    def test_path_map(self):
        # By their names alone, it is not clear which file is which.
        before = self.trace("a.mlyze", [(10, [("f", "/old/one/x.c", 1)]), (20, [("f", "/old/two/x.c", 1)])])
        after = self.trace("b.mlyze", [(10, [("f", "/new/eins/x.c", 1)]), (20, [("f", "/new/zwei/x.c", 1)])])
        self.assertEqual(self.statuses(before, after)[0], ["added", "added", "removed", "removed"])
        maps = ["--path-map", "/old/one=/new/eins", "--path-map=/old/two=/new/zwei"]
        self.assertEqual(self.statuses(before, after, *maps), ([], 2))
        both = ["--path-map=/old/one=1", "--path-map=/new/eins=1", "--path-map=/old/two=2", "--path-map=/new/zwei=2"]
        self.assertEqual(self.statuses(before, after, *both), ([], 2))
        for bad in ("x", "=x", ""):
            self.run_usage("diff", before, after, "--path-map", bad)

    def test_renamed_files_and_other_versions_of_a_library(self):
        modules = [[{"path": f"/usr/lib/libx.so.1.{n}", "build_id": "aa", "base": "0x0"}] for n in (1, 2)]
        def build(name, n, file):
            return self.trace(name, [(10 + n, [("alloc", f"/usr/lib/libx.so.1.{n}", 0), ("work", file, 4)])],
                              modules=modules[n - 1])  # fmt: skip
        self.assertEqual(self.statuses(build("a.mlyze", 1, "/s/util.c"), build("b.mlyze", 2, "/s/tools.c"))[0], ["changed"])

    def test_modules_that_differ_are_different(self):
        modules = [{"path": f"/usr/lib/lib{n}.so", "build_id": "aa", "base": "0x0"} for n in "ab"]
        one, two = (self.trace(f"{n}.mlyze", [(10, [("init", f"/usr/lib/lib{n}.so", 0)])], modules=modules) for n in "ab")
        self.assertEqual(self.statuses(one, two)[0], ["added", "removed"])

    def test_code_with_lines_is_matched_by_its_module(self):
        """File names differ, so only functions and modules are left: those of another module are not the same."""
        def build(name, file, module, path):
            return self.trace(name, [(10, [("init", file, 3), ("main", f"{path}/main.c", 9)])],
                              modules=[{"path": f"{path}/app"}, {"path": f"{path}/{module}"}], function_modules="1*1 0*1")
        before = build("a.mlyze", "/one/alpha.c", "liba.so.1", "/one")
        self.assertEqual(self.statuses(before, build("b.mlyze", "/two/beta.c", "liba.so.2", "/two")), ([], 1))
        other = build("b.mlyze", "/two/beta.c", "libb.so.1", "/two")
        self.assertEqual(self.statuses(before, other)[0], ["added", "removed"])

    def test_addresses_without_names_count_as_their_module(self):
        one, two = (self.trace(f"{n}.mlyze", [(10 + n, [(f"libx.so+0x{n}4f", "/lib/libx.so", 0), ("f", "/f.c", 2)])])
                    for n in (1, 2))  # fmt: skip
        self.assertEqual(self.statuses(one, two)[0], ["changed"])

    def test_ambiguous_stacks_are_not_matched(self):
        one = self.trace("a.mlyze", [(10, [("f", "/a.c", 1)]), (20, [("f", "/b.c", 1)])])
        two = self.trace("b.mlyze", [(10, [("f", "/c.c", 1)])])
        self.assertEqual(self.statuses(one, two)[0], ["added", "removed", "removed"])


class Runs(Gate):
    def runs(self, name, *sizes):
        """A trace for each of SIZES, which are those of f0, or tuples of all."""
        return [self.sized(f"{name}{i}.mlyze", *(size if isinstance(size, tuple) else (size,)), folder=f"/{name}{i}")
                for i, size in enumerate(sizes)]  # fmt: skip

    def test_noise_and_growth(self):
        for before, after, is_noise in (
            ((100, 110, 105), (103, 113, 108), True),  # the ranges overlap
            ((100, 110, 105), (110, 120, 115), True),  # they touch
            ((100, 110, 105), (111, 112, 113), True),  # the medians are closer than the range is wide
            ((100, 110, 105), (120, 121, 122), False),
            ((100, 100, 100), (101, 101, 101), False),  # without any noise every byte counts
            ((100, 300, 100), (200, 200, 200), True),
            ((100, 101), (200, 201), False),
            ((100,), (101,), False),
            ((100,), (90, 120, 110), True),
            ((100,), (201, 202, 203), False),
            ((200, 201, 202), (100, 101, 102), False),  # less
        ):  # fmt: skip
            with self.subTest(before=before, after=after):
                old, new = self.runs("a", *before), self.runs("b", *after)
                *rows, last = self.run_ok("diff", "--json", *old, "--", *new).json_lines()
                self.assertEqual([(row["status"], row["noise"]) for row in rows], [("changed", is_noise)])
                self.assertEqual(last["summary"]["noise"], int(is_noise))
                self.assertEqual(last["summary"]["metrics"]["peak"]["noise"], is_noise)
                grows = sorted(after)[len(after) // 2] > sorted(before)[len(before) // 2]
                self.gate(int(grows and not is_noise), "--fail-if", "peak=+0", *old, "--", *new)

    def test_budgets_use_the_medians(self):
        old, new = self.runs("a", 100, 101, 99), self.runs("b", 200, 210, 250)
        result = self.run_usage("diff", *old, "--", *new, "--fail-if", "peak=+0")
        self.assertIn("options come before the '--'", result.err)
        self.gate(0, "--fail-if", "peak=+110", *old, "--", *new)
        result = self.gate(1, "--fail-if", "peak=+109", *old, "--", *new)
        self.assertIn("from 100 to 210", result.err)

    def test_noise_that_would_break_a_budget_is_said(self):
        result = self.gate(0, "--fail-if", "peak=+1", *self.runs("a", 100, 120, 110), "--", *self.runs("b", 119, 121, 120))
        self.assertIn("peak grew by 10, from 110 to 120, which is within the noise of the runs; +1 is allowed", result.err)

    def test_each_stack_has_its_own_noise(self):
        old = self.runs("a", (100, 50), (900, 50), (500, 50))
        new = self.runs("b", (150, 60), (850, 60), (510, 60))
        *rows, last = self.run_ok("diff", "--json", *old, "--", *new).json_lines()
        self.assertEqual([(row["frames"][0]["function"], row["bytes"], row["noise"]) for row in rows],
                         [("f1", 10, False), ("f0", 10, True)])  # fmt: skip
        self.gate(0, "--fail-if", "peak=+0", *old, "--", *new)
        self.gate(1, "--fail-if", "peak:f1=+0", *old, "--", *new)
        self.gate(0, "--fail-if", "peak:f0=+0", *old, "--", *new)

    def test_a_stack_that_some_runs_have(self):
        old, new = self.runs("a", (10,), (10, 7), (10,)), self.runs("b", (10, 7), (10, 7), (10,))
        *rows, _ = self.run_ok("diff", "--json", *old, "--", *new).json_lines()
        self.assertEqual([(row["status"], row["bytes"], row["noise"]) for row in rows], [("changed", 7, True)])

    def test_text_and_markdown_show_noise(self):
        old, new = self.runs("a", (100, 1), (110, 1), (105, 1)), self.runs("b", (103, 2), (113, 2), (108, 2))
        text = self.run_ok("diff", *old, "--", *new).text
        self.assertIn("0 stacks added, 0 removed, 2 changed, 0 unchanged; 1 only by noise", text)
        self.assertRegex(text, r"peak +106 +110 .*noise: 101 to 111, then 105 to 115\n")
        self.assertRegex(text, r"\+3 +0  \(noise\) f0")
        self.assertRegex(text, r"\+1 +0  f1")
        text = self.run_ok("diff", "--markdown", *old, "--", *new).text
        self.assertRegex(text, r"\| changed \(noise\) \| \+3 .*`f0`")
        self.assertRegex(text, r"\| changed \| \+1 .*`f1`")

    def test_the_order_of_runs_does_not_matter(self):
        old, new = self.runs("a", 100, 130, 110), self.runs("b", 200, 260, 220)
        answers = {self.run_ok("diff", "--markdown", *a, "--", *b).text for a, b in
                   itertools.product(itertools.permutations(old), itertools.permutations(new))
                   if a[0] == old[0] and b[0] == new[0]}  # fmt: skip
        self.assertEqual(len(answers), 1)

    def test_usage(self):
        a, b, c = self.runs("a", 1, 2, 3)
        self.assertIn("'--'", self.run_usage("diff", a, b, c).err)
        self.run_usage("diff", "--", a, b, c)
        self.run_usage("diff", a, b, c, "--")
        self.run_usage("diff", a)
        self.run_ok("diff", "--", a, b)
        self.run_ok("diff", a, "--", b)
        self.run_usage("diff", *[a] * 101, "--", b)
        self.run_error("diff", a, "--", b, self.folder / "nothing.mlyze")
        self.run_error("diff", a, "--", b, sextant.program())


if __name__ == "__main__":
    tap.main()
