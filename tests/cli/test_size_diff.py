"""diff of SuperSize's files: every form of the answer, .sizediff files, and budgets.

Symbols have names of their own here, so that plain Python knows which ones belong together.
"""

import csv
import io
import random
import re

from support import samples, sextant, size_writer, tap
from support.size_writer import Container, Size, Symbol

PADDING = "Overhead: aggregate padding of diff'ed symbols"


def layout(spec, containers=("",)):
    """A size of {(container, section): [(name, size, gap before, source)]}, with the sizes of sections filled in."""
    size = Size(containers=[Container(name, section_sizes={}) for name in containers])
    for (container, section), members in spec.items():
        address = 0x1000
        for names, length, gap, source in members:
            address += gap
            symbols = [Symbol(section, address, length, name, "obj/x.o", source, container=container)
                       for name in names.split("=")]
            if len(symbols) > 1:
                size_writer.group(*symbols)
            size.symbols += symbols
            address += length
    for symbol, (padded, padding) in zip(size.symbols, size_writer.padded(size)):
        symbol.full, symbol.pad, symbol.pss = padded, padding, padded / len(symbol.aliases or [1])
        sizes = size.containers[symbol.container].section_sizes
        sizes[symbol.section] = sizes.get(symbol.section, 0) + symbol.pss
    for container in size.containers:
        container.section_sizes = {name: round(value) for name, value in container.section_sizes.items()}
    return size


BEFORE = {(0, ".text"): [("same", 100, 0, "a.c"), ("grown", 50, 0, "a.c"), ("gone", 30, 6, "b.c"),
                         ("aliased=other", 64, 0, "b.c")],
          (0, ".data"): [("table", 400, 0, "t.c")], (0, ".bss"): [("buffer", 1000, 0, "b.c")]}
AFTER = {(0, ".text"): [("same", 100, 0, "a.c"), ("grown", 58, 0, "a.c"), ("aliased=other", 64, 14, "b.c"),
                        ("new", 500, 2, "n.c")],
         (0, ".data"): [("table", 300, 0, "t.c")], (0, ".bss"): [("buffer", 9000, 0, "b.c")]}


def random_pair(seed):
    rnd = random.Random(seed)
    before, after = {}, {}
    for section in (".text", ".rodata", ".data", ".bss"):
        for number in range(40):
            names = "=".join(f"f{section[1]}{number}_{i}" for i in range(rnd.choice((1, 1, 1, 2, 3))))
            entry = (names, rnd.randrange(1, 300), rnd.choice((0, 0, 4, 12)), f"dir{number % 5}/file.c")
            if rnd.random() < 0.85:
                before.setdefault((0, section), []).append(entry)
            if rnd.random() < 0.85:
                grown = entry[1] + rnd.choice((0, 0, 0, 5, -1 if entry[1] > 1 else 0))
                after.setdefault((0, section), []).append((names, grown, rnd.choice((entry[2], 8)), entry[3]))
    return layout(before), layout(after)


class DiffTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.before, self.after = self.put("before.size", layout(BEFORE)), self.put("after.size", layout(AFTER))

    def put(self, name, size):
        return self.file(name, size_writer.save(size))

    def diff(self, *options, before=None, after=None):
        *rows, summary = self.run_ok("diff", before or self.before, after or self.after, "--json", *options).json_lines()
        return rows, summary["summary"]


class Json(DiffTest):
    def test_every_change(self):
        rows, summary = self.diff()
        found = {(row["status"], row["section"], row["full_name"]):
                 (row["size_before"], row["size_after"], row["size"], row["pss"]) for row in rows}
        self.assertEqual(found, {
            ("added", ".text", "new"): (0, 502, 502, 502),
            ("changed", ".text", "grown"): (50, 58, 8, 8),
            ("removed", ".text", "gone"): (36, 0, -36, -36),
            ("changed", ".data", "table"): (400, 300, -100, -100),
            ("changed", ".bss", "buffer"): (1000, 9000, 8000, 8000),
            ("added", ".text", PADDING): (0, 14, 14, 14),
        })  # fmt: skip
        self.assertEqual(summary["sections"], {".text": 488, ".data": -100, ".bss": 8000})
        self.assertEqual(summary["total"], 388)
        self.assertEqual([summary[key] for key in ("added", "changed", "removed", "unchanged")], [2, 3, 1, 3])

    def test_where_a_symbol_is(self):
        rows, _ = self.diff()
        row = next(row for row in rows if row["full_name"] == "gone")
        self.assertEqual((row["container"], row["object_path"], row["source_path"]), ("", "obj/x.o", "b.c"))

    def test_largest_changes_come_first(self):
        rows, _ = self.diff()
        changes = [abs(row["pss"]) for row in rows]
        self.assertEqual(changes, sorted(changes, reverse=True))

    def test_nothing_changed(self):
        rows, summary = self.diff(after=self.before)
        self.assertEqual(rows, [])
        self.assertEqual((summary["unchanged"], summary["changed"], summary["total"]), (7, 0, 0))

    def test_totals_are_the_difference_of_the_sections(self):
        for seed in range(8):
            before, after = random_pair(seed)
            _, summary = self.diff(before=self.put("b.size", before), after=self.put("a.size", after))
            old, new = before.containers[0].section_sizes, after.containers[0].section_sizes
            for name in old:
                self.assertAlmostEqual(summary["sections"][name], new[name] - old[name], delta=1e-6, msg=name)

    def test_two_binaries(self):
        sextant.need_tool("strip")
        source = "int grown(int a) {{ {} return a; }} int main(int count, char **words) {{ return grown(count) + !words; }}"
        paths, sizes = [], []
        for name, body in (("old", ""), ("new", "if (a > 7) return a * a / 3 + a;")):
            (self.folder / name).mkdir()
            paths.append(samples.compile_c(self.folder / name, "app", "-g", "-O0", source=source.format(body)))
            stripped = self.folder / name / "stripped"
            sextant.tool("strip", "-o", stripped, paths[-1])
            sizes.append(stripped.stat().st_size)
        rows, summary = self.diff(before=paths[0], after=paths[1])
        self.assertEqual([row["status"] for row in rows if row["full_name"].startswith("grown")], ["changed"])
        self.assertEqual(summary["total"], sizes[1] - sizes[0])

    def test_containers(self):
        both = ("one", "two")
        before = layout({(0, ".text"): [("f", 10, 0, "a.c")], (1, ".text"): [("f", 10, 0, "a.c")]}, both)
        after = layout({(0, ".text"): [("f", 10, 0, "a.c")], (1, ".text"): [("f", 25, 0, "a.c")]}, both)
        rows, summary = self.diff(before=self.put("b.size", before), after=self.put("a.size", after))
        self.assertEqual([(row["container"], row["size"]) for row in rows], [("two", 15)])
        self.assertEqual(summary["sections"], {".text": 15})

    def test_alias_only_changes_can_be_ignored(self):
        before = layout({(0, ".text"): [("a=b", 60, 0, "a.c"), ("z", 10, 0, "a.c")]})
        after = layout({(0, ".text"): [("a=b=c", 60, 0, "a.c"), ("z", 10, 0, "a.c")]})
        before, after = self.put("b.size", before), self.put("a.size", after)
        rows, _ = self.diff(before=before, after=after)
        self.assertEqual(sorted(row["full_name"] for row in rows), ["a", "b", "c"])
        rows, _ = self.diff("--ignore-alias-only", before=before, after=after)
        self.assertEqual([row["full_name"] for row in rows], ["c"])


class Forms(DiffTest):
    def test_csv_has_what_json_has(self):
        rows = list(csv.DictReader(io.StringIO(self.run_ok("diff", self.before, self.after, "--csv").text)))
        wanted, _ = self.diff()
        self.assertEqual(len(rows), len(wanted))
        for row, line in zip(rows, wanted):
            self.assertEqual({key: str(value) for key, value in line.items()}, row)

    def test_text(self):
        text = self.run_ok("diff", self.before, self.after).text
        self.assertRegex(text, r"^\+388 bytes \(59\.7 %\): 2 added, 1 removed, 3 changed, 3 unchanged\n")
        self.assertRegex(text, r"(?m)^ *250 +738 +\+488 +195\.2 %  \.text$")
        self.assertRegex(text, r"(?m)^ *1,000 +9,000 +\+8,000 +800\.0 %  \.bss  \(in memory only\)$")
        self.assertRegex(text, r"(?m)^- +-36 .* gone$")
        self.assertRegex(text, r"(?m)^\+ +\+502 .* new$")

    def test_static_initializers_come_first(self):
        self.assertNotIn("static initializers", self.run_ok("diff", self.before, self.after).text)
        after = {**AFTER, (0, ".text"): AFTER[0, ".text"] + [("_GLOBAL__sub_I_new", 20, 0, "n.c")]}
        text = self.run_ok("diff", self.before, self.put("a.size", layout(after))).text
        self.assertRegex(text, r"(?s)\nstatic initializers\n.*_GLOBAL__sub_I_new\n.*total of 1 row\n.*total of 7 rows\n$")

    def test_markdown(self):
        odd = layout({(0, ".text"): [("a|b`c", 100, 0, "a.c")]})
        text = self.run_ok("diff", self.before, self.after, "--markdown").text
        self.assertTrue(text.startswith("**Size: +388 bytes** (59.7 %): "), text)
        self.assertIn("| `.data` | 400 | 300 | -100 | -25.0 % |\n", text)
        self.assertIn("<details>\n<summary>6 of 6 changes</summary>\n\n| change |", text)
        self.assertIn("| +502 | added | `.text` | `new` | `n.c` |\n", text)
        text = self.run_ok("diff", self.before, self.put("odd.size", odd), "--markdown").text
        self.assertIn("`a\\|b'c`", text)
        for line in text.splitlines():
            if line.startswith("| +") or line.startswith("| -"):
                self.assertEqual(len(re.findall(r"(?<!\\)\|", line)), 6, line)

    def test_limits(self):
        before, after = random_pair(5)
        before, after = self.put("b.size", before), self.put("a.size", after)
        count = len(self.diff(before=before, after=after)[0])
        self.assertGreater(count, 40)
        for options, shown in (((), 30), (("-n", "3"), 3), (("--all",), count)):
            text = self.run_ok("diff", before, after, *options).text
            self.assertEqual(len(re.findall(r"(?m)^[-+~] ", text)), shown)
            self.assertIn(f"total of {count} rows", text)


class Sizediff(DiffTest):
    def test_written_and_read_again(self):
        path = self.folder / "d.sizediff"
        self.run_ok("diff", self.before, self.after, "-o", path, "--json")
        before, after, removed, added = size_writer.parse_diff(path.read_bytes())
        self.assertTrue(before.is_sparse and after.is_sparse)
        self.assertEqual({one.name for one in before.symbols}, {"grown", "gone", "table", "buffer"})
        self.assertEqual({one.name for one in after.symbols}, {"grown", "new", "table", "buffer", PADDING})
        self.assertEqual((removed, added), ([], ["", "n.c"]))
        rows, summary = self.diff()
        *again, summary_again = self.run_ok("diff", path, "--json").json_lines()
        key = lambda row: (row["status"], row["section"], row["full_name"], row["size"], row["pss"])
        self.assertEqual(sorted(map(key, again)), sorted(map(key, rows)))
        self.assertEqual(summary_again["summary"]["sections"], summary["sections"])
        self.assertEqual(summary_again["summary"]["total"], summary["total"])

    def test_query_of_a_diff(self):
        path = self.folder / "d.sizediff"
        self.run_ok("diff", self.before, self.after, "-o", path, "--json")
        ask = lambda text: self.run_ok("query", path, text, "--json").json_lines()
        self.assertEqual({row["full_name"] for row in ask("status:added")}, {"new", PADDING})
        self.assertEqual([row["full_name"] for row in ask("status:removed")], ["gone"])
        self.assertEqual([(row["full_name"], row["size"]) for row in ask("size<0 section:t")], [("gone", -36)])
        self.assertEqual({row["full_name"] for row in ask("change>=100 not is:bss")}, {"new", "table"})
        groups = {row["group"]["status"]: row["count"] for row in ask("| group status")}
        self.assertEqual(groups, {"added": 2, "removed": 1, "changed": 3})
        sections = {row["group"]["section"]: row["pss"] for row in ask("| group section")}
        self.assertEqual(sections, {".text": 488, ".data": -100, ".bss": 8000})
        self.assertRegex(self.run_ok("query", path, "status:removed").text, r"(?m)^- +-36 ")
        self.run_error("size", path, naming=path)

    def test_standard_output(self):
        made = self.run_ok("diff", self.before, self.after, "-o", "-").out
        self.assertEqual(len(size_writer.parse_diff(made)), 4)

    def test_fast_compression_has_the_same_content(self):
        texts = []
        for how in ("stock", "fast"):
            path = self.folder / f"{how}.sizediff"
            self.run_ok("diff", self.before, self.after, "-o", path, "--deflate", how, "--json")
            texts.append([size_writer.text_of(half) for half in size_writer.parse_diff(path.read_bytes())[:2]])
        self.assertEqual(texts[0], texts[1])


class Budgets(DiffTest):
    def judge(self, *options):
        result = sextant.run("diff", self.before, self.after, *options)
        self.assert_no_crash(result)
        self.assertIn("bytes", result.text)
        return result.status, result.err

    def test_the_whole_file(self):
        for budget, status in (("388", 0), ("387", 1), ("1k", 0), ("59.6%", 1), ("59.7%", 0), ("0", 1), ("0x184", 0)):
            found, errors = self.judge("--fail-if-grows", budget)
            self.assertEqual(found, status, budget)
            self.assertEqual(len(errors.splitlines()), status, errors)
        self.assertEqual(errors, "")
        _, errors = self.judge("--fail-if-grows", "100")
        self.assertEqual(errors, f"sextant: {self.after}: the file grew by 388 bytes (59.7 %), and 100 is allowed\n")

    def test_sections(self):
        for budgets, status in (([".text=488"], 0), ([".text=487"], 1), ([".data=0"], 0), ([".bss=7k"], 1),
                                ([".bss=8000"], 0),
                                ([".bss=799%"], 1), ([".text=1k", ".bss=1k"], 1), ([".text=1", ".bss=1"], 1)):
            options = [word for budget in budgets for word in ("--fail-if-section", budget)]
            self.assertEqual(self.judge(*options)[0], status, budgets)
        _, errors = self.judge("--fail-if-section", ".text=1%", "--fail-if-section", ".bss=1k", "--fail-if-grows", "10%")
        lines = errors.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("section .text grew by 488 bytes", errors)
        self.assertIn("section .bss grew by 8,000 bytes (800.0 %), and 1k is allowed", errors)

    def test_a_section_that_is_not_there(self):
        status, errors = self.judge("--fail-if-section", ".txet=1%")
        self.assertEqual(status, 0)
        self.assertIn("neither file has a section .txet", errors)

    def test_sections_without_symbols_go_by_their_stated_size(self):
        before, after = layout(BEFORE), layout(AFTER)
        before.containers[0].section_sizes[".eh_frame"] = 1000
        after.containers[0].section_sizes[".eh_frame"] = 1100
        self.put("before.size", before)
        self.put("after.size", after)
        self.assertEqual(self.judge("--fail-if-section", ".eh_frame=99")[0], 1)
        self.assertEqual(self.judge("--fail-if-section", ".eh_frame=10%")[0], 0)

    def test_shrinking_is_always_good(self):
        result = self.run_ok("diff", self.after, self.before, "--fail-if-grows", "0", "--fail-if-section", ".text=0")
        self.assertIn("-388 bytes", result.text)

    def test_budgets_of_a_sizediff(self):
        path = self.folder / "d.sizediff"
        self.run_ok("diff", self.before, self.after, "-o", path, "--json")
        self.run_error("diff", path, "--fail-if-grows", "387", naming=path)
        self.run_error("diff", path, "--fail-if-section", ".text=100%", naming=path)
        self.run_ok("diff", path, "--fail-if-grows", "388", "--fail-if-section", ".text=196%")


class Errors(DiffTest):
    def test_threads_do_not_change_the_answer(self):
        plain = self.run_ok("diff", self.before, self.after, "--json")
        for threads in ("1", "3"):
            self.assertEqual(self.run_ok("diff", self.before, self.after, "--json", "--threads", threads).out, plain.out)
        for words in (("diff", self.before, self.after), ("size", self.before), ("query", self.before, "all")):
            self.run_usage(*words, "--threads", "none")
            self.run_ok(*words, "--threads", "2")

    def test_usage(self):
        two = (self.before, self.after)
        for words in ((), (self.before,), (*two, self.after), (*two, "--json", "--csv"), (*two, "--fail-if-grows", "much"),
                      (*two, "--fail-if-grows", "-1"), (*two, "--fail-if-section", ".text"),
                      (*two, "--fail-if-section", "=1"), (*two, "--deflate", "best"), (*two, "-n", "x"),
                      (self.before, "--ignore-alias-only"), (self.before, "-o", "x")):  # fmt: skip
            self.run_usage("diff", *words)

    def test_bad_files(self):
        self.run_error("diff", self.before, self.file("bad.size", b"no"), naming="bad.size")
        self.run_error("diff", self.folder / "absent", self.after, naming="absent")
        diff = self.file("d.sizediff", size_writer.save_diff(Size(is_sparse=True), Size(is_sparse=True)))
        self.run_error("diff", self.before, diff, naming="d.sizediff")

    def test_nothing_is_written_when_it_fails(self):
        path = self.folder / "d.sizediff"
        self.run_error("diff", self.before, self.file("bad.size", b"no"), "-o", path)
        self.assertFalse(path.exists())


if __name__ == "__main__":
    tap.main()
