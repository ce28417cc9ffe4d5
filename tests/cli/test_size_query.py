"""query and size over SuperSize's files: the answers are compared with what plain Python says about the same symbols."""

import csv
import io
import random
import re

from support import samples, sextant, size_writer, tap
from support.size_writer import Container, Size, Symbol

FLAGS = {"anon": 1, "startup": 2, "unlikely": 4, "rel": 8, "gen": 32, "clone": 64, "hot": 128}
SOURCES = ["", "base/a.cc", "base/strings/b.cc", "third_party/x/y/z.c", "gen/p.pb.cc", "/usr/include/c++/vector",
           "ui/{shared}/10-19"]
NAMES = ["main", "ns::Class::method(int)", "std::vector<int>::push_back(int&&)",
         "std::vector<ns::Thing>::push_back(ns::Thing&&)", "ns::inner::free(char const*)",
         '"a literal"', "string literal", "** merge strings", "_GLOBAL__sub_I_main",
         "Überraschung(int)", "tricky|name,with \"quotes\""]


def sample(seed=1, count=400, containers=1):
    """A size with everything in it that a query can ask for."""
    rnd = random.Random(seed)
    size = Size(containers=[Container(f"c{i}" if containers > 1 else "", section_sizes={}) for i in range(containers)])
    for container in range(containers):
        address = 0x1000
        for section in (".text", ".rodata", ".data", ".bss"):
            while sum(one.section == section and one.container == container for one in size.symbols) < count // 4:
                address += rnd.choice((0, 0, 8, 24))
                group = [Symbol(section, address, length, rnd.choice(NAMES), f"obj/{rnd.randrange(5)}.o",
                                rnd.choice(SOURCES), rnd.choice(("", "UI", "Base>Core")),
                                rnd.choice((0, 0, *FLAGS.values(), 34)), container)
                         for length in [rnd.choice((1, 17, 100, 5000))] for _ in range(rnd.choice((1, 1, 1, 2, 3)))]
                if len(group) > 1:
                    size_writer.group(*sorted(group, key=size_writer.sort_key))
                    group = group[0].aliases
                size.symbols += group
                address += group[0].size
        size.symbols.append(Symbol(".other", 0, 77, "Overhead: ELF file", container=container))
    for symbol, (padded, padding) in zip(size.symbols, size_writer.padded(size)):
        symbol.full = padded
        symbol.pad = padding
        symbol.count = len(symbol.aliases or [1])
        symbol.pss = padded / symbol.count
        sizes = size.containers[symbol.container].section_sizes
        sizes[symbol.section] = sizes.get(symbol.section, 0) + symbol.pss
    for container in size.containers:
        container.section_sizes = {name: round(value) for name, value in container.section_sizes.items()}
    return size


def path_of(symbol):
    return symbol.source_path or symbol.object_path


def is_bss(symbol):
    return symbol.section == ".bss"


def sums(symbols):
    """(size, pss, count) of a group: a list of aliases once, and .bss only where there is nothing else."""
    counted = symbols if all(map(is_bss, symbols)) else [one for one in symbols if not is_bss(one)]
    lists = {id(one.aliases) if one.aliases is not None else id(one): one.full for one in counted}
    return sum(lists.values()), round(sum(one.pss for one in counted), 4), len(symbols)


class QueryTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.size = sample()
        self.path = self.file("in.size", size_writer.save(self.size))

    def ask(self, text, *options, path=None):
        return self.run_ok("query", path or self.path, text, "--json", *options).json_lines()


FILTERS = [
    ("section:.text", lambda s: s.section == ".text"),
    ("section:t", lambda s: s.section == ".text"),
    ("section:td", lambda s: s.section in (".text", ".data")),
    ("section:.text,b", lambda s: s.section in (".text", ".bss")),
    ("section=.data", lambda s: s.section == ".data"),
    ("section~^\\.[rd]", lambda s: re.search(r"^\.[rd]", s.section)),
    ("size>100", lambda s: s.full > 100),
    ("size>=100", lambda s: s.full >= 100),
    ("size<100", lambda s: s.full < 100),
    ("size<=100", lambda s: s.full <= 100),
    ("size = 100", lambda s: s.full == 100),
    ("size!=100", lambda s: s.full != 100),
    ("size>4k", lambda s: s.full > 4096),
    ("size>0x80", lambda s: s.full > 128),
    ("size:100-0.2k", lambda s: 100 <= s.full <= 204.8),
    ("pss<34", lambda s: s.pss < 34),
    ("padding", lambda s: s.pad > 0),
    ("padding>=24", lambda s: s.pad >= 24),
    ("path~^base/", lambda s: s.source_path.startswith("base/") or s.object_path.startswith("base/")),
    ("path:obj/1", lambda s: "obj/1" in s.object_path),
    ("source=base/a.cc", lambda s: s.source_path == "base/a.cc"),
    ("source~\\.c$", lambda s: s.source_path.endswith(".c")),
    ("object!~[01]", lambda s: not re.search("[01]", s.object_path)),
    ("component=UI", lambda s: s.component == "UI"),
    ("component='Base>Core'", lambda s: s.component == "Base>Core"),
    ("component=''", lambda s: s.component == ""),
    ("full:push_back", lambda s: "push_back" in s.name),
    ("full~(?i)CLASS", lambda s: "Class" in s.name),
    ("full~'main$|^ns::(inner|outer)'", lambda s: re.search("main$|^ns::(inner|outer)", s.name)),
    ("full~^(main|string)", lambda s: re.search("^(main|string)", s.name)),
    ("full:Überraschung", lambda s: "Überraschung" in s.name),
    ("name=ns::Class::method", lambda s: s.name == "ns::Class::method(int)"),
    ("name~^std::vector<>", lambda s: s.name.startswith("std::vector<")),
    ("template~vector<int>", lambda s: "vector<int>" in s.name),
    ("template='std::vector<int>::push_back'", lambda s: s.name.startswith("std::vector<int>")),
    ("namespace=ns::inner", lambda s: s.name.startswith("ns::inner::")),
    ("flags:hot", lambda s: s.flags & 128),
    ("flags:hot,startup", lambda s: s.flags & 130),
    ("flags:startup flags:gen", lambda s: s.flags & 2 and s.flags & 32),
    ("aliases>1", lambda s: s.count > 1),
    ("aliases=3", lambda s: s.count == 3),
    ("is:template", lambda s: "<" in s.name),
    ("template", lambda s: "<" in s.name),
    ("is:literal", lambda s: s.name.startswith('"') or s.name == "string literal"),
    ("is:overhead", lambda s: s.name.startswith("Overhead: ")),
    ("is:placeholder", lambda s: s.name.startswith("**")),
    ("is:generated", lambda s: s.flags & 32 or ".pb." in s.source_path),
    ("is:bss", is_bss),
    ("is:aliased,literal", lambda s: s.count > 1 or s.name.startswith('"') or s.name == "string literal"),
    ("is:padding-only", lambda s: s.full == s.pad),
    ("has:source", lambda s: s.source_path),
    ("has:component", lambda s: s.component),
    ("not has:path", lambda s: not path_of(s)),
    ("address:0x1000-0x2000", lambda s: 0x1000 <= s.address < 0x2000),
    ("address>=2000", lambda s: s.address >= 0x2000),
    ("address<0x1008", lambda s: s.address < 0x1008),
    ("section:t and (size>1k or aliases>2)", lambda s: s.section == ".text" and (s.full > 1024 or s.count > 2)),
    ("section:t size>1k or aliases>2", lambda s: s.section == ".text" and s.full > 1024 or s.count > 2),
    ("aliases>2 or section:t and size>1k", lambda s: s.count > 2 or s.section == ".text" and s.full > 1024),
    ("not (section:t or section:r)", lambda s: s.section not in (".text", ".rodata")),
    ("not section:t section:r", lambda s: s.section == ".rodata"),
    ("!!section:t", lambda s: s.section == ".text"),
    ("section:t | where size>1k | where aliases=1", lambda s: s.section == ".text" and s.full > 1024 and s.count == 1),
    ("all", lambda s: True),
    ("", lambda s: True),
    ("size<0", lambda s: False),
    ("@static-initializers", lambda s: s.name.startswith("_GLOBAL__")),
]

GROUPS = [
    ("path", lambda s: path_of(s).split("/1")[0] if "{shared}" in path_of(s) else path_of(s) or "{no path}"),
    ("path:1", lambda s: "/usr" if path_of(s).startswith("/") else path_of(s).split("/")[0] or "{no path}"),
    ("path:2", lambda s: ("/usr/include" if path_of(s).startswith("/") else "/".join(path_of(s).split("/")[:2]))
     or "{no path}"),
    ("directory:1", lambda s: "/usr" if path_of(s).startswith("/") else path_of(s).split("/")[0] or "{no path}"),
    ("source", lambda s: s.source_path.replace("}/10-19", "}") or "{no source}"),
    ("object:-1", lambda s: s.object_path.split("/")[-1] or "{no object}"),
    ("component", lambda s: s.component or "{no component}"),
    ("section", lambda s: s.section),
    ("full", lambda s: s.name),
]


class Filters(QueryTest):
    def test_filters_choose_what_python_chooses(self):
        for text, condition in FILTERS:
            with self.subTest(text):
                wanted = sorted((s.section, s.address, s.full, s.pad, s.count, s.name, s.object_path, s.source_path,
                                 s.component, s.flags) for s in self.size.symbols if condition(s))
                rows = [(r["section"], int(r["address"], 16), r["size"], r["padding"], r["aliases"], r["full_name"],
                         r["object_path"], r["source_path"], r["component"], r["flags"]) for r in self.ask(text)]
                self.assertEqual(sorted(rows), wanted)
                self.assertTrue(wanted or text in ("size<0", "not has:path"), "this tests nothing")

    def test_a_random_tree_of_conditions(self):
        rnd = random.Random(7)
        simple = [one for one in FILTERS if "|" not in one[0] and "@" not in one[0] and " " not in one[0] and one[0]]

        def tree(depth):
            if depth == 0 or rnd.random() < 0.2:
                return rnd.choice(simple)
            (a, left), (b, right) = tree(depth - 1), tree(depth - 1)
            return rnd.choice([(f"({a}) and ({b})", lambda s: left(s) and right(s)), (f"({a}) or {b}" if "(" not in b else
                               f"({a}) or ({b})", lambda s: left(s) or right(s)), (f"not ({a})", lambda s: not left(s))])

        for _ in range(60):
            text, condition = tree(4)
            with self.subTest(text):
                self.assertEqual(len(self.ask(text)), sum(bool(condition(s)) for s in self.size.symbols))

    def test_pss_in_json(self):
        for row in self.ask("all"):
            self.assertAlmostEqual(row["pss"], row["size"] / row["aliases"], places=6)

    def test_an_address_in_a_symbol(self):
        symbol = next(s for s in self.size.symbols if s.size == 5000)
        for offset in (0, 1, 4999):
            self.assertIn(symbol.name, [r["full_name"] for r in self.ask(f"address:{symbol.address + offset:x}")])
        self.assertNotIn(symbol.name, [r["full_name"] for r in self.ask(f"address:{symbol.address + 5000:x} size>4k")
                                       if int(r["address"], 16) == symbol.address])

    def test_words_need_no_quotes_around_all(self):
        joined = self.run_ok("query", self.path, "section:t", "size>1k", "--json").json_lines()
        self.assertEqual(joined, self.ask("section:t and size>1k"))


class Groups(QueryTest):
    def test_groups_sum_as_the_reference_does(self):
        for key, label in GROUPS:
            for text, condition in (("", lambda s: True), ("not is:bss", lambda s: not is_bss(s)),
                                    ("aliases>1", lambda s: s.count > 1)):
                with self.subTest(key=key, filter=text):
                    groups = {}
                    for symbol in filter(condition, self.size.symbols):
                        groups.setdefault(label(symbol), []).append(symbol)
                    rows = {row["group"][key.split(":")[0]]: (row["size"], round(row["pss"], 4), row["count"])
                            for row in self.ask(f"{text} | group {key}")}
                    self.assertEqual(rows, {name: sums(group) for name, group in groups.items()})

    def test_several_keys(self):
        rows = self.ask("| group section, component")
        pairs = {(s.section, s.component or "{no component}") for s in self.size.symbols}
        self.assertEqual({tuple(row["group"].values()) for row in rows}, pairs)
        self.assertEqual(list(rows[0]["group"]), ["section", "component"])
        self.assertEqual(sum(row["count"] for row in rows), len(self.size.symbols))

    def test_what_has_no_label(self):
        ask = lambda text: {row["group"]["component"] for row in self.ask(f"| group component else {text}")}
        self.assertEqual(ask("'somewhere else'"), {"somewhere else", "UI", "Base>Core"})
        self.assertEqual(ask("drop"), {"UI", "Base>Core"})

    def test_names_to_a_depth(self):
        names = {row["group"]["name"] for row in self.ask("is:native not is:literal | group name:1")}
        self.assertTrue({"ns", "std", "main"} <= names, names)
        names = {row["group"]["name"] for row in self.ask("is:template | group name:-1")}
        self.assertEqual(names, {"push_back"})
        names = {row["group"]["namespace"] for row in self.ask("full:ns::inner | group namespace")}
        self.assertEqual(names, {"ns::inner"})
        names = {row["group"]["namespace"] for row in self.ask("full~'^ns::' | group namespace:1")}
        self.assertEqual(names, {"ns"})

    def test_templates_by_name(self):
        (row,) = self.ask("@templates | limit 5")
        self.assertEqual(row["group"], {"name": "std::vector<>::push_back"})
        self.assertEqual(row["count"], sum("<" in s.name for s in self.size.symbols))

    def test_conditions_on_groups(self):
        rows = self.ask("| group full | where count>40 and name~^[a-z]")
        counts = {name: sum(s.name == name for s in self.size.symbols) for name in NAMES}
        self.assertEqual({row["group"]["full"] for row in rows},
                         {name for name, count in counts.items() if count > 40 and re.match("[a-z]", name)})
        self.assertTrue(rows)

    def test_large_files(self):
        rows = {row["group"]["source"]: row["pss"] for row in self.ask("@large-files")}
        sizes = {}
        for symbol in self.size.symbols:
            if symbol.source_path and not is_bss(symbol):
                name = symbol.source_path.replace("}/10-19", "}")
                sizes[name] = sizes.get(name, 0) + symbol.pss
        self.assertEqual(set(rows), {name for name, pss in sizes.items() if pss >= 50 * 1024})

    def test_aliases_are_one_group_each(self):
        rows = self.ask("section:t | group aliases | where count>1")
        lists = {id(s.aliases) for s in self.size.symbols if s.aliases and s.section == ".text"}
        self.assertEqual(len(rows), len(lists))

    def test_crates_and_packages(self):
        rust = ["core::fmt::write", "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<&mut serde::de::X as a::B>::c",
                "app[0123abcd]::main", "memcpy"]
        go = ["main.main", "net/http.(*Server).Serve", "github.com/a.b/c.d/e.F[...]", "runtime.gcWriteBarrier", "memmove"]
        size = Size([Symbol(".text", 0x1000 + 16 * i, 16, name) for i, name in enumerate(rust)])
        path = self.file("rust.size", size_writer.save(size))
        self.assertEqual({row["group"]["crate"] for row in self.ask("@crates", path=path)},
                         {"core", "alloc", "serde", "app", "{no crate}"})
        size = Size([Symbol(".text", 0x1000 + 16 * i, 16, name) for i, name in enumerate(go)])
        path = self.file("go.size", size_writer.save(size))
        self.assertEqual({row["group"]["package"] for row in self.ask("@packages", path=path)},
                         {"main", "net/http", "github.com/a.b/c.d/e", "runtime", "{no package}"})

    def test_containers(self):
        size = sample(3, 80, containers=2)
        path = self.file("two.size", size_writer.save(size))
        rows = {row["group"]["container"]: row["count"] for row in self.ask("| group container", path=path)}
        self.assertEqual(rows, {name: sum(s.container == i for s in size.symbols) for i, name in enumerate(("c0", "c1"))})
        self.assertEqual({row["container"] for row in self.ask("container=c1", path=path)}, {"c1"})
        self.assertEqual(len(self.ask("| group container, section", path=path)), 10)

    def test_every_named_query_runs(self):
        names = re.findall(r"^@(\S+)", self.run_ok("query", "--list").text, re.MULTILINE)
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(name):
                self.ask("@" + name)
                self.ask(f"section:t | @{name} | limit 3")


class Order(QueryTest):
    def test_sorting(self):
        keys = {"size": lambda r: -r["size"], "pss": lambda r: -r["pss"], "padding": lambda r: -r["padding"],
                "aliases": lambda r: -r["aliases"], "name": lambda r: r["full_name"].encode(),
                "address": lambda r: int(r["address"], 16)}
        for key, value in keys.items():
            values = [value(row) for row in self.ask(f"| sort {key}")]
            self.assertEqual(values, sorted(values), key)
            values = [value(row) for row in self.ask(f"| sort by {key} {'desc' if key in ('name', 'address') else 'asc'}")]
            self.assertEqual(values, sorted(values, reverse=True), key)

    def test_without_sort_the_largest_come_first(self):
        values = [(-row["pss"], row["full_name"].encode(), row["object_path"], row["section"]) for row in self.ask("all")]
        self.assertEqual(values, sorted(values))
        values = [-row["pss"] for row in self.ask("not is:bss | group path")]
        self.assertEqual(values, sorted(values))

    def test_groups_by_count(self):
        values = [-row["count"] for row in self.ask("| group path | sort count")]
        self.assertEqual(values, sorted(values))

    def test_limits(self):
        self.assertEqual(self.ask("| sort name | limit 7"), self.ask("| sort name")[:7])
        self.assertEqual(len(self.ask("| limit 7 | limit 3")), 3)
        self.assertEqual(len(self.ask("| limit 7", "--limit", "2")), 2)
        self.assertEqual(self.ask("| limit 0"), [])


class Forms(QueryTest):
    def test_csv_has_what_json_has(self):
        for text in ("section:.text", "| group section, path", "size<0"):
            rows = list(csv.DictReader(io.StringIO(self.run_ok("query", self.path, text, "--csv").text)))
            wanted = self.ask(text)
            self.assertEqual(len(rows), len(wanted))
            for row, line in zip(rows, wanted):
                line.update(line.pop("group", {}))
                for key, value in row.items():
                    same = float(value) == line[key] if isinstance(line[key], (int, float)) else value == line[key]
                    self.assertTrue(same, (key, row, line))

    def test_the_table(self):
        lines = self.run_ok("query", self.path, "not is:bss | group section").text.splitlines()
        self.assertEqual(lines[0].split(), ["pss", "%", "size", "count", "section"])
        symbols = [s for s in self.size.symbols if not is_bss(s)]
        text = next(line for line in lines if line.endswith(" .text")).split()
        pss = sum(s.pss for s in symbols if s.section == ".text")
        self.assertEqual(text[0], f"{pss:,.0f}")
        self.assertEqual(text[1:3], [f"{100 * pss / sum(s.pss for s in symbols):.1f}", "%"])
        self.assertIn("total of 4 rows", lines[-1])
        self.assertEqual(len({line.index(line.split()[-1]) for line in lines[:-1]}), 1, "columns are aligned")
        self.assertIn("of which 2 are shown", self.run_ok("query", self.path, "| group section | limit 2").text)

    def test_control_characters_do_not_reach_the_terminal(self):
        size = Size([Symbol(".text", 0x1000, 16, "bad\x1b[31mname", source_path="a\x1b/b.c")])
        path = self.file("bad.size", size_writer.save(size))
        for text in ("all", "| group path", "| group full"):
            self.assertNotIn("\x1b", self.run_ok("query", path, text).text)


WRONG = [
    ("siez>1k", 1, "no field named 'siez'"),
    ("size>", 6, "value is missing"),
    ("size>1x", 6, "number"),
    ("size~1", 6, "pattern"),
    ("section:t and", 14, "missing"),
    ("section:t or | limit 3", 14, "expected"),
    ("(size>1 or (size<2)", 1, "not closed"),
    ("size>1)", 7, "not opened"),
    ("name='x", 6, "not closed"),
    ("name~(", 6, "regular expression"),
    ("name~a\\1", 6, "not supported"),
    ("name~\\d+", 6, "[0-9]"),
    ("name~(?:x)", 6, "(?i)"),
    ("name~a{2000}", 6, "1000"),
    ("name~((a{99}){99}){99}", 6, "1000"),
    ("foo", 1, "name:foo"),
    ("flags:warm", 7, "warm"),
    ("flags:hot,warm", 11, "warm"),
    ("is:nothing", 4, "nothing"),
    ("count>3", 1, "group"),
    ("| group nothing", 9, "nothing"),
    ("| group section:2", 17, "depth"),
    ("| group path:x", 14, "whole number"),
    ("| group path | where path~x", 22, "a group has no path"),
    ("| group path | group name", 16, "already"),
    ("| sort colour", 8, "colour"),
    ("| limit many", 9, "many"),
    ("| limit 3 | sort size", 13, "limit"),
    ("| shuffle", 3, "shuffle"),
    ("@nothing", 1, "no query named '@nothing'; 'sextant query --list' prints the names"),
    ("address:xyz", 9, "hexadecimal"),
    ("size>1k ]", 9, "condition"),
    ("name>x", 6, "text"),
]


class Errors(QueryTest):
    def test_errors_name_the_column(self):
        for text, column, words in WRONG:
            with self.subTest(text):
                result = self.run_usage("query", self.path, text)
                self.assertEqual(len(result.err.splitlines()), 1)
                self.assertIn(f"column {column}: ", result.err)
                self.assertIn(words, result.err)

    def test_limits_of_a_query(self):
        for text in ("(" * 200 + "size>1" + ")" * 200, "not " * 300 + "size>1", " or ".join(["size>1"] * 1001), "x" * 70000,
                     "name~" + "a" * 1001, "name~" + "(" * 40 + "a" + ")" * 40, " ".join(["name~a"] * 65)):
            self.run_usage("query", self.path, text)
        self.assertEqual(len(self.ask(" and ".join(["size>=0"] * 400))), len(self.size.symbols))

    def test_status_needs_a_diff(self):
        self.run_error("query", self.path, "status:added", naming=self.path)
        self.run_error("query", self.path, "| group status", naming=self.path)

    def test_usage(self):
        self.run_usage("query")
        self.run_usage("query", self.path)
        self.run_usage("query", self.path, "all", "--json", "--csv")
        self.run_usage("query", self.path, "all", "--limit", "x")
        self.run_usage("query", self.path, "all", "--max-size", "x")
        self.run_usage("size")
        self.run_usage("size", self.path, "--by", "nothing")
        self.run_usage("size", self.path, "--by", "path | limit 3")
        self.run_error("query", self.folder / "absent.size", "all", naming="absent.size")

    def test_a_file_of_another_kind(self):
        path = self.file("text", b"some text\n")
        message = "text: neither a size file, an ELF file, a static library nor a zip file (offset 0x0)\n"
        for words in (("size", path), ("query", path, "size>1"), ("diff", path, path)):
            result = sextant.run(*words)
            self.assertEqual((result.status, result.err[-len(message):]), (1, message))
        # Only binaries become a size file.
        result = sextant.run("archive", path, "-o", self.folder / "out.size")
        self.assertIn("text: neither an ELF file, a static library nor a zip file", result.err)

    def test_a_file_that_grows_too_much(self):
        result = self.run_error("query", self.path, "all", "--max-size", "1k", naming=self.path)
        self.assertIn("limit of 1024 bytes; --max-size", result.err)


class OneScreen(QueryTest):
    def test_sections(self):
        rows = self.run_ok("size", self.path, "--json").json_lines()
        sections = {row["section"]: (row["file"], row["memory"]) for row in rows if row.get("kind") == "section"}
        stated = self.size.containers[0].section_sizes
        wanted = {name: (0 if name == ".bss" else value, 0 if name == ".other" else value) for name, value in stated.items()}
        self.assertEqual(sections, wanted)
        (total,) = [row for row in rows if row.get("kind") == "total"]
        self.assertEqual(total["file"], sum(value for name, value in stated.items() if name != ".bss"))
        self.assertEqual(total["memory"], sum(value for name, value in stated.items() if name != ".other"))
        self.assertEqual(total["symbols"], len(self.size.symbols))

    def test_sections_that_are_counted_in_other(self):
        size = Size([Symbol(".text", 0x1000, 100, "f"), Symbol(".other", 0, 60, "** ELF Section: .eh_frame"),
                     Symbol(".other", 0, 5, "Overhead: ELF file")],
                    [Container(section_sizes={".text": 100, ".eh_frame": 60, ".other": 65, ".bss": 9, "x (y)": 1000})])
        for stated in (True, False):
            if not stated:
                del size.containers[0].section_sizes[".other"]
            text = self.run_ok("size", self.file("other.size", size_writer.save(size))).text
            self.assertRegex(text, r"(?m)^ *165 +100.0 % +169 +3 +total$")

    def test_a_binary(self):
        sextant.need_tool("strip")
        path = samples.compile_c(self.folder, "app", "-g")
        (total,) = [row for row in self.run_ok("size", path, "--json").json_lines() if row.get("kind") == "total"]
        stripped = self.folder / "stripped"
        sextant.tool("strip", "-o", stripped, path)
        self.assertEqual(total["file"], stripped.stat().st_size)
        self.assertEqual([row["section"] for row in self.ask("full=main", path=path)], [".text"])

    def test_text(self):
        text = self.run_ok("size", self.path).text
        for word in ("section", ".text", "largest symbols", "largest directories", "100.0 %", "total"):
            self.assertIn(word, text)
        self.assertLess(len(text.splitlines()), 45)
        self.assertEqual(len(self.run_ok("size", self.path, "-n", "2").text.splitlines()), 7 + 2 * (2 + 1 + 2 + 1))

    def test_inlined_functions(self):
        source = """
            #define ALWAYS static inline __attribute__((always_inline))
            volatile int v;
            ALWAYS int leaf(int a) { v = a; v = a + 3; return a * a + v; }
            ALWAYS int middle(int a) { v = a / 3; return leaf(a + 1) ^ v; }
            int once(int a) { return middle(a); }
            int twice(int a) { return middle(a + 5) - v; }
            int main(int count, char **words) { return once(count) + twice(count) + !words; }"""
        path = samples.compile_c(self.folder, "app", "-g", "-O0", source=source)
        rows = {row["function"]: row for row in self.run_ok("size", path, "--by", "inlined", "--json").json_lines()}
        self.assertEqual(set(rows), {"leaf", "middle"})
        self.assertEqual([rows[name]["places"] for name in ("leaf", "middle")], [2, 2])
        self.assertEqual(rows["leaf"]["total"], rows["leaf"]["size"])
        self.assertEqual(rows["middle"]["total"], rows["middle"]["size"] + rows["leaf"]["size"])
        self.assertRegex(rows["leaf"]["file"], r"app\.c$")
        # The ranges that dump prints are the same calls, one by one.
        ranges = [(int(row["va"], 16), row["length"], row["depth"], row["function"])
                  for row in self.run_ok("dump", self.archive(path), "--json").json_lines()]
        for name in rows:
            mine = [one for one in ranges if one[3] == name and one[2] > 0]
            inside = sum(length for va, length, depth, _ in ranges for start, size, level, _ in mine
                         if depth == level + 1 and start <= va < start + size)
            self.assertEqual(rows[name]["size"], sum(one[1] for one in mine) - inside, name)
        lines = self.run_ok("size", path, "--by", "inlined", "-n", "1").text.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("2 functions that were inlined", lines[-1])
        self.run_error("size", self.path, "--by", "inlined", naming=self.path)

    def test_by(self):
        for by, query in (("path:2", "| group path:2"), ("section", "| group section"), ("symbol", "all"),
                          ("template", "| group template"), ("container", "| group container")):
            rows = self.run_ok("size", self.path, "--by", by, "--limit", "5", "--json").json_lines()
            self.assertEqual(rows, self.ask(query)[:5], by)

    def test_an_empty_file(self):
        path = self.file("empty.size", size_writer.save(Size()))
        self.run_ok("size", path)
        self.assertEqual(self.ask("all", path=path), [])
        self.assertEqual(self.ask("| group path", path=path), [])


if __name__ == "__main__":
    tap.main()
