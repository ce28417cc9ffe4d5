"""The functions of a file in `view`: what the server answers equals what info, dump, lookup and lookup --name print."""

import pathlib
import re
import shutil
import tempfile
import unittest
import urllib.parse

from support import ksym_writer, sextant, tap
from support.lidia_reference import Row, write
from support.view import View

SOURCE = r"""
namespace app {
static inline __attribute__((always_inline)) int twice(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value + value;
}
static inline __attribute__((always_inline)) int four(int value) { return twice(value) + twice(value + 1); }
template <class T> __attribute__((noinline)) T Sum(const T *values, int count)
{
    T sum = 0;
    for (int i = 0; i < count; i++)
        sum += four(values[i]);
    return sum;
}
struct Box {
    int value;
    __attribute__((noinline)) int get(int more) const;
};
int Box::get(int more) const
{
    int sum = twice(more);
#include "fragment.inc"
    return sum + value;
}
}
extern "C" {
__attribute__((noinline)) int first(int value) { return value * 3; }
int second(int value) __attribute__((alias("first")));
}
int table[] = {1, 2, 3};
int main(int count, char **)
{
    long more[] = {count, 2};
    return first(app::Sum(table, 3)) + int(app::Sum(more, 2)) + app::Box{count}.get(4);
}
"""

FRAGMENT = """    sum ^= more * 3;
    sum += four(sum);
"""

KSYMS = [(0xFFFF1000, "T", "start"), (0xFFFF1000, "T", "start_alias"), (0xFFFF1040, "t", "helper"),
         (0xFFFF1080, "T", "load_module [ext4]"), (0xFFFF10C0, "D", "data_here"),
         (0xFFFF1100, "T", "_ZN3foo3barEi")]  # fmt: skip

HOSTILE = ["</script><script>alert(1)</script>", '"quoted"\\', "\u202eright to left", "tab\there", "x" * 100_000, ""]


class SymbolsTest(sextant.ProgramTest):
    workshop = None  # the folder of programs

    def view(self, path):
        view = View(path)
        self.addCleanup(self.end, view)
        return view

    def end(self, view):
        self.assertEqual(view.stop(), (0, b""), view.errors_at_end)
        self.assertEqual(view.errors_at_end, "")

    def ask(self, view, name, **query):
        reply = view.get(f"0/data/{name}?{urllib.parse.urlencode(query)}")
        self.assertEqual(reply.status, 200, reply.body[:500])
        self.assertEqual(reply.headers["Content-Type"], "application/json")
        return reply.json

    def all_rows(self, view, **query):
        """The whole table, in parts of an odd size."""
        rows, found = [], 1
        while len(rows) < found:
            part = self.ask(view, "functions", **{"from": len(rows), "count": 7, **query})
            found = part["found"]
            self.assertEqual(part["from"], len(rows))
            rows += part["rows"]
            self.assertTrue(part["rows"] or found == 0, part)
        return rows

    def program(self, *options):
        """The program of SOURCE, compiled once for all tests."""
        sextant.need_tool("g++")
        workshop = SymbolsTest.workshop
        if workshop is None:
            workshop = SymbolsTest.workshop = pathlib.Path(tempfile.mkdtemp(prefix="sextant-test-"))
            unittest.addModuleCleanup(shutil.rmtree, workshop, ignore_errors=True)
        program = workshop / ("program" + "".join(options))
        if not program.exists():
            (workshop / "fragment.inc").write_text(FRAGMENT)
            (workshop / "program.cc").write_text(SOURCE)
            sextant.tool("g++", "-g", "-O1", *options, "-o", program, workshop / "program.cc")
        return program

    def archive_as(self, program, name, *options):
        out = self.folder / name
        self.archive(program, *options, name=name)
        return out

    def dump(self, path):
        return self.run_ok("dump", "--json", path).json_lines()

    def lines_of(self, view, index):
        part = self.ask(view, "lines", index=index, count=1000)
        self.assertEqual(part["total"], len(part["items"]))
        return part["items"]


class Table(SymbolsTest):
    def check_file(self, path):
        """The table, the details and the answers of a file with ranges."""
        view = self.view(path)
        info = self.run_ok("info", "--json", path).json_lines()[0]
        dumped = self.dump(path)
        functions = [row for row in dumped if row["depth"] == 0]
        page = self.ask(view, "page")
        self.assertEqual(page["info"], info)
        self.assertEqual(page["total"], info["functions"])
        rows = self.all_rows(view)
        self.assertEqual([row["index"] for row in rows], list(range(len(functions))))
        self.assertEqual([(row["address"], row["size"], row["name"]) for row in rows],
                         [(row["va"], row["length"], row["function"]) for row in functions])  # fmt: skip
        self.assertEqual(sum(row["inlines"] for row in rows), info["inlines"])
        self.assertEqual([row.get("file") for row in rows], [row["file"] for row in functions])
        self.check_order(view, rows)
        return view, rows, dumped

    def check_order(self, view, rows):
        for key, value in (("name", lambda row: row["name"].encode()), ("size", lambda row: row["size"])):
            ordered = sorted(rows, key=lambda row: (value(row), row["index"]))
            self.assertEqual(self.all_rows(view, sort=key), ordered)
            self.assertEqual(self.all_rows(view, sort=key, descending=1), ordered[::-1])
            for place in (0, len(rows) // 2, len(rows) - 1):
                at = self.ask(view, "position", sort=key, descending=1, index=rows[place]["index"])["position"]
                self.assertEqual(ordered[::-1][at], rows[place])

    def check_details(self, path, view, rows, dumped):
        inlines = []
        for row in dumped:
            if row["depth"] == 0:
                inlines.append([])
            else:
                inlines[-1].append(row)
        for row in rows:
            found = self.ask(view, "function", index=row["index"])
            self.assertEqual((found["name"], found["address"], found["size"]), (row["name"], row["address"], row["size"]))
            ranges = self.ask(view, "ranges", index=row["index"])["items"]
            self.assertEqual([one["index"] for one in ranges], [r["index"] for r in rows if r["name"] == row["name"]])
            if found["whole_size"] == row["size"]:
                part = self.ask(view, "inlines", index=row["index"], count=1000)
                self.assertEqual(part["total"], found["inlines"])
                self.assertEqual(
                    [(i["address"], i["size"], i["depth"], i["function"], i["file"], i["call_file"], i["call_line"])
                     for i in part["items"]],
                    [(i["va"], i["length"], i["depth"], i["function"], i["file"], i["call_file"], i["call_line"])
                     for i in inlines[row["index"]]],
                )  # fmt: skip
            self.check_lines(path, view, found)

    def check_lines(self, path, view, found):
        """The lines of a function are those of lookups at each of its addresses."""
        start = int(found["whole_start"], 16)
        lines = self.lines_of(view, found["index"])
        if not lines:
            return
        self.assertEqual(sum(line["size"] for line in lines), found["whole_size"])
        answers = self.lookup(path, range(start, start + found["whole_size"]))
        for line in lines:
            at = int(line["address"], 16) - start
            for answer in answers[at : at + line["size"]]:
                frame = answer["frames"][0]
                self.assertEqual((frame["file"], frame["line"]), (line["file"], line["line"]), answer)
                self.assertEqual(frame["function"] if frame["inlined"] else None, line["function"])

    def test_a_binary_and_archives_of_it(self):
        program = self.program()
        for path in (program, self.archive_as(program, "a.lidia"), self.archive_as(program, "a.symbfile")):
            with self.subTest(path=path.name):
                view, rows, dumped = self.check_file(path)
                self.check_details(path, view, rows, dumped)
                names = {row["name"] for row in rows}
                self.assertIn("app::Box::get(int) const", names)
                self.assertIn("main", names)

    def test_pieces_of_a_function_are_described_as_a_whole(self):
        program = self.program()
        view = self.view(program)
        pieces = self.all_rows(view, search="Box::get")
        self.assertGreater(len(pieces), 1, "lines of two files cut the range")
        for piece in pieces:
            found = self.ask(view, "function", index=piece["index"])
            self.assertEqual(found["whole_start"], pieces[0]["address"])
            self.assertEqual(found["whole_size"], sum(one["size"] for one in pieces))
            self.assertEqual({line["file"].rpartition("/")[2] for line in self.lines_of(view, piece["index"])},
                             {"program.cc", "fragment.inc"})  # fmt: skip

    def test_many_names_that_begin_alike_are_sorted(self):
        names = [f"{'common::prefix::' * (i % 4)}{'x' * (i * 7 % 23)}{i * 37 % 101}" for i in range(700)]
        rows = [Row(0x1000 + 16 * i, 16, name.encode()) for i, name in enumerate(names)]
        view = self.view(self.file("s.lidia", write(rows)))
        wanted = sorted(range(len(names)), key=lambda i: (names[i], i))
        found = self.ask(view, "functions", sort="name", count=1000)["rows"]
        self.assertEqual([row["index"] for row in found], wanted)

    def test_other_names(self):
        view = self.view(self.program())
        row, = self.all_rows(view, search="first")
        self.assertEqual(self.all_rows(view, search="second"), [row])
        found = self.ask(view, "function", index=row["index"])
        self.assertEqual({found["name"], *found["aliases"]}, {"first", "second"})
        self.assertFalse(found["ambiguous"])

    def test_an_archive_with_mangled_names_is_shown_in_readable_form(self):
        program = self.program()
        rows = self.all_rows(self.view(program))
        mangled = self.view(self.archive_as(program, "m.lidia", "--mangled"))
        self.assertEqual([row["name"] for row in self.all_rows(mangled)], [row["name"] for row in rows])
        row, *_ = self.all_rows(mangled, search="Box::get")
        self.assertTrue(row["linkage_name"].startswith("_ZNK3app3Box3get"), row)
        self.assertNotIn("aliases", row)

    def test_a_ksym_blob(self):
        path = self.file("k.ksym", ksym_writer.write(KSYMS))
        view = self.view(path)
        info = self.run_ok("info", "--json", path).json_lines()[0]
        page = self.ask(view, "page")
        self.assertEqual((page["info"], page["total"]), (info, info["symbols"]))
        rows = self.all_rows(view)
        self.assertEqual([(row["address"], row["type"], row.get("linkage_name", row["name"])) for row in rows],
                         [(row["address"], row["type"], row["name"]) for row in self.dump(path)])  # fmt: skip
        self.check_order(view, rows)
        self.assertEqual([row["name"] for row in self.all_rows(view, search="foo::bar")], ["foo::bar(int)"])
        self.assertEqual([row["name"] for row in self.all_rows(view, search="[EXT4]")], ["load_module [ext4]"])
        found = self.ask(view, "function", index=2)
        self.assertEqual((found["type"], found["size"], found["inlines"]), ("t", 0x40, 0))
        for part in ("inlines", "lines", "pads"):
            self.assertEqual(self.ask(view, part, index=2)["total"], 0)

    def test_return_pads(self):
        program = self.program()
        path = self.archive_as(program, "a.returnpads")
        view = self.view(path)
        pads = self.dump(path)
        rows = self.all_rows(view)
        self.assertEqual([row["address"] for row in rows], sorted((pad["va"] for pad in pads), key=lambda va: int(va, 16)))
        for row in rows:
            self.assertEqual(self.ask(view, "pads", index=row["index"])["items"],
                             [pad for pad in pads if pad["va"] == row["address"]])  # fmt: skip

    def test_files_without_functions_and_with_one(self):
        for rows in ([], [Row(0x1000, 16, b"only")]):
            view = self.view(self.file("few.lidia", write(rows)))
            self.assertEqual([row["name"] for row in self.all_rows(view)], [row.name.decode() for row in rows])
            self.assertEqual(self.ask(view, "functions", search="other")["found"], 0)


class Search(SymbolsTest):
    def names(self, view, **query):
        return [row["name"] for row in self.all_rows(view, **query)]

    def test_text_regular_expressions_and_case(self):
        view = self.view(self.program())
        names = self.names(view)
        for query, matches in (
            ({"search": "sum"}, lambda name: "sum" in name.lower()),
            ({"search": "Sum", "case": 1}, lambda name: "Sum" in name),
            ({"search": "sum", "case": 1}, lambda name: "sum" in name),
            ({"search": "^(MAIN|int app::sum)", "regex": 1}, lambda name: re.match("(?i)main|int app::sum", name)),
            ({"search": "^main$", "regex": 1, "case": 1}, lambda name: name == "main"),
            ({"search": "box::get(int)"}, lambda name: "box::get(int)" in name.lower()),
            ({"search": "."}, lambda name: "." in name),
            ({"search": "nothing has this"}, lambda name: False),
        ):
            with self.subTest(query=query):
                self.assertEqual(self.names(view, **query), [name for name in names if matches(name)])

    def test_texts_that_a_pattern_needs_do_not_change_what_it_finds(self):
        """A pattern with an alternative has no such texts."""
        names = ["app::Box::get(int)", "get", "gett", "gt", "a[]b", "a]b", "a.b", "axb", "a{b", "a+b", "gEt",
                 "x get y", "a|b"]
        rows = [Row(0x1000 + 16 * i, 16, name.encode()) for i, name in enumerate(sorted(names))]
        view = self.view(self.file("p.lidia", write(rows)))
        for pattern in ("get", "ge?t", "ge*t", "ge+t", "get{1,2}$", "^get$", "a\\.b", "a.b", "a[.]b", "[]a]b",
                        "a[^]]b", "a\\[\\]b", "(ge|g)t", "(get)?x", "a\\{b", "a\\+b", "\\bget\\b", "get\\>", "[[:alpha:]]et",
                        "Box::g(e)t\\(int", "a\\|b", "xyz{0}get", "g{1}et"):  # fmt: skip
            for case in (0, 1):
                alone = self.names(view, search=pattern, regex=1, case=case)
                self.assertEqual(alone, self.names(view, search=pattern + "|zzz", regex=1, case=case), pattern)

    def test_names_of_all_lengths(self):
        """Sixteen places of a name are compared at once."""
        names = ["." * before + "Needle" + "." * after for before in range(0, 40, 3) for after in range(0, 40, 5)]
        names += ["." * 40, "Needl", "eedle" + "." * 30, "." * 30 + "Needl", "n@edle" * 5]
        rows = [Row(0x1000 + 16 * i, 16, name.encode()) for i, name in enumerate(names)]
        view = self.view(self.file("l.lidia", write(rows)))
        for text in ("needle", "n", "e", ".needle", "needle.", ".", "ee", "n@", "needl", "." * 20 + "needle" + "." * 20):
            self.assertEqual(self.names(view, search=text), [name for name in names if text in name.lower()], text)
            self.assertEqual(self.names(view, search=text, case=1), [name for name in names if text in name], text)

    def test_what_lookup_finds_by_name_is_found(self):
        program = self.program()
        view = self.view(program)
        for name in ("main", "app::Box::get", "app::Sum", "second"):
            wanted = {line["address"] for line in self.run_ok("lookup", "--json", "--name", name, program).json_lines()}
            self.assertLessEqual(wanted, {row["address"] for row in self.all_rows(view, search=name)}, name)

    def test_linkage_names_are_found(self):
        view = self.view(self.program())
        names = self.names(view, search="_ZNK3app3Box3getEi")
        self.assertEqual(set(names), {"app::Box::get(int) const"})
        self.assertEqual(set(self.names(view, search="^_ZN.*Box.*Ei$", regex=1)), {"app::Box::get(int) const"})

    def test_hostile_names(self):
        rows = [Row(0x1000 + 0x100 * i, 0x80, name.encode()) for i, name in enumerate(HOSTILE)]
        view = self.view(self.file("h.lidia", write(rows)))
        table = self.all_rows(view)
        self.assertEqual([row["name"] for row in table], [name[:1000] for name in HOSTILE])
        self.assertEqual(table[4]["name_size"], 100_000)
        self.assertEqual(self.ask(view, "function", index=4)["name"], HOSTILE[4])
        for row, name in zip(table, HOSTILE, strict=True):
            self.assertEqual(self.ask(view, "function", index=row["index"])["name"], name)
            if name:
                self.assertIn(row, self.all_rows(view, search=name[:900]))


class Addresses(SymbolsTest):
    def answers(self, view, *questions, **query):
        return self.ask(view, "addresses", text="\n".join(questions), explain=1, **query)["answers"]

    def check(self, path, *addresses):
        view = self.view(path)
        given = [f"{address:x}" for address in addresses]
        lines = sextant.run("lookup", "--json", "--explain", path, *given).json_lines()
        self.assertEqual([answer["answer"] for answer in self.answers(view, *given)], lines)
        plain = self.run_ok("lookup", "--json", path, *given).json_lines()
        found = self.ask(view, "addresses", text="\n".join(given))["answers"]
        self.assertEqual([answer["answer"] for answer in found], plain)
        for answer in found:
            if answer["function"] is not None:
                row = self.ask(view, "function", index=answer["function"])
                self.assertEqual(answer["answer"]["frames"][-1]["function"], row["name"])
        return view

    def test_answers_are_those_of_lookup(self):
        program = self.program()
        places = {name: int(self.run_ok("lookup", "--json", "--name", name, program).json_lines()[0]["address"], 16)
                  for name in ("main", "app::Sum", "app::Box::get", "first", "table")}  # fmt: skip
        inside = [start + more for start in places.values() for more in (0, 3, 9)] + [0, 0xFFFFFFFFFFFFFFFF]
        for path in (program, self.archive_as(program, "a.lidia"), self.archive_as(program, "a.symbfile")):
            with self.subTest(path=path.name):
                self.check(path, *inside)
        self.check(self.file("k.ksym", ksym_writer.write(KSYMS)), 0xFFFF1000, 0xFFFF1041, 0xFFFF1081, 1)

    def test_offsets_and_names(self):
        program = self.program("-no-pie")
        main, = self.run_ok("lookup", "--json", "--name", "main", program).json_lines()
        address = int(main["address"], 16)
        view = self.view(program)
        for question in ("main+0x5", "main+5", " main + 0x5 ", "main+0x5/0x40", f"+0x{address + 5 - 0x400000:x}",
                         f"0X{address + 5:X}", f"00{address + 5:x}"):  # fmt: skip
            with self.subTest(question=question):
                answer, = self.answers(view, question)
                self.assertEqual(answer["answer"]["address"], f"0x{address + 5:x}")
                self.assertIsNone(answer["problem"])
        sums = self.run_ok("lookup", "--json", "--name", "app::Sum", program).json_lines()
        self.assertEqual([answer["answer"]["address"] for answer in self.answers(view, "app::Sum")],
                         [one["address"] for one in sums])  # fmt: skip
        unknown, = self.answers(view, "no such+0x1")
        self.assertEqual((unknown["answer"]["frames"], unknown["problem"]), ([], "no symbol named 'no such+0x1'"))
        self.assertEqual([a["question"] for a in self.answers(view, "main", "", "  ", "table")], ["main", "table"])

    def test_a_symbfile_says_that_it_cannot_be_explained(self):
        view = self.view(self.archive_as(self.program(), "a.symbfile"))
        answer, = self.answers(view, "main")
        self.assertIn("cannot explain", answer["problem"])
        self.assertEqual(answer["answer"]["frames"][0]["function"], "main")


class Refusals(SymbolsTest):
    def refuse(self, view, path, status, text):
        reply = view.get("0/data/" + path)
        self.assertEqual(reply.status, status, path)
        self.assertIn(text, reply.body.decode())
        self.assertEqual(reply.body.count(b"\n"), 1, reply.body)

    def test_hostile_queries(self):
        view = self.view(self.file("a.lidia", write([Row(0x1000, 16, b"only")])))
        for value in ("x", "-1", "0", "1001", "18446744073709551616", "9" * 400, "", "1e3", "0x10", "%00"):
            self.refuse(view, f"functions?count={value}", 400, "count takes a number from 1 to 1000")
        for value in ("x", "-1", "18446744073709551616", ""):
            self.refuse(view, f"functions?from={value}", 400, "from takes a number")
        for value in ("1", "-1", "x", "18446744073709551615", ""):
            self.refuse(view, f"function?index={value}", 400, "no function has the number")
        for name in ("function", "ranges", "lines", "inlines", "pads", "position"):
            self.refuse(view, name, 400, "index is missing")
        self.refuse(view, "functions?sort=x", 400, "sort takes address, name or size")
        self.refuse(view, "functions?regex=2&search=a", 400, "regex takes a number from 0 to 1")
        self.refuse(view, "functions?search=" + "a" * 1001, 400, "search takes at most 1000 bytes")
        self.refuse(view, "addresses", 400, "text is missing")
        self.refuse(view, "addresses?text=" + "1%0A" * 201, 400, "at most 200 addresses")
        self.refuse(view, "other", 404, "not found")
        for pattern in ("(", "[", "a{2", "a{1,99999}", "\\1", "*" * 9, "(" * 40 + ")" * 40, "a" * 999 + "("):
            self.refuse(view, "functions?regex=1&search=" + urllib.parse.quote(pattern), 400, "regular expression")
        reply = self.ask(view, "functions", **{"from": 2**64 - 1, "count": 1000})
        self.assertEqual((reply["rows"], reply["total"]), ([], 1))

    def test_damaged_files_end_the_start_or_the_page(self):
        program = self.program()
        data = program.read_bytes()
        self.run_error("view", "--no-browser", self.file("cut", data[:40]))
        lidia = self.archive_as(program, "a.lidia").read_bytes()
        self.run_error("view", "--no-browser", self.file("cut.lidia", lidia[: len(lidia) // 2]))
        symbfile = self.archive_as(program, "a.symbfile").read_bytes()
        self.run_error("view", "--no-browser", self.file("cut.symbfile", symbfile[:-3]))


if __name__ == "__main__":
    tap.main()
