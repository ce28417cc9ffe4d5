"""The verb report without a browser: summaries as text, and what goes wrong. tests/pages opens the pages."""

import base64
import gzip
import json
import pathlib
import re
import unittest
import zlib

from support import mlyze_writer, pprof, sextant, tap
from support.size_writer import Container, Size, Symbol, save, save_diff

PAGES = (sextant.ROOT / "web" / "dist" / "size.html").is_file()


def build(size, **keywords):
    return Size([Symbol(".text", 0x1000, size, "app::f(int)", "o/a.o", "src/a.cc"),
                 Symbol(".data", 0x2000, 10, "app::state", "o/b.o", "src/b.cc")],
                [Container("", {}, {".text": size, ".data": 10})], **keywords)  # fmt: skip


def figures(functions):
    return [(one["function"], one["self"], one["total"]) for one in functions]


class Summaries(sextant.ProgramTest):
    def assert_same(self, verb, *files):
        for options in ([], ["--json"]):
            self.assertEqual(self.run_ok("report", *options, *files).out, self.run_ok(verb, *options, *files).out)

    def test_sizes_are_shown_as_size_and_diff_show_them(self):
        before, after = self.file("a.size", save(build(100))), self.file("b.size", save(build(120)))
        self.assert_same("size", before)
        self.assert_same("diff", before, after)
        self.assert_same("diff", self.file("c.sizediff", save_diff(build(100, is_sparse=True), build(120, is_sparse=True))))

    def test_a_binary_is_shown_as_size_shows_it(self):
        self.assert_same("size", sextant.program())

    def test_traces_are_shown_as_heap_and_diff_show_them(self):
        text = mlyze_writer.metadata([[(0, 1, 0)]], ["a.c"], ["main"])
        paths = [self.file(f"{size}.mlyze", mlyze_writer.plain([("alloc", 1001, 0x10, size, 0, 0)], 1000, text))
                 for size in (100, 300)]  # fmt: skip
        self.assert_same("heap", paths[0])
        self.assert_same("diff", *paths)
        self.run_ok("report", "--threads", "1", *paths)

    def test_archives_are_shown_as_info_shows_them(self):
        nm = self.file("nm.txt", "0000000000001000 T first\n0000000000001010 T second\n")
        blob = self.folder / "a.ksym"
        self.run_ok("archive", "-q", nm, "-o", blob)
        for options in ([], ["--json"]):
            self.assertEqual(self.run_ok("report", *options, blob).out, self.run_ok("info", *options, blob).out)

    def profile(self, name, work):
        functions = [pprof.Function(1, "main"), pprof.Function(2, "work", filename="w.c")]
        locations = [pprof.Location(1, lines=[(1, 3)]), pprof.Location(2, lines=[(2, 5)])]
        samples = [([2, 1], [work]), ([1], [5]), ([2, 2, 1], [2])]
        return self.file(name, pprof.encode(pprof.Profile(locations=locations, functions=functions, samples=samples)))

    def test_a_profile_is_shown_by_its_functions(self):
        first, second = self.profile("a.pb", 10), self.profile("b.pb", 40)
        self.assertIn("17 count of samples in 3 samples, 2 functions", self.run_ok("report", first).text)
        total, *functions = self.run_ok("report", "--json", first).json_lines()
        self.assertEqual((total["value"], total["samples"]), (17, 3))
        self.assertEqual(figures(functions), [("work", 12, 12), ("main", 5, 17)])
        total, *functions = self.run_ok("report", "--json", first, second).json_lines()
        self.assertEqual((total["value"], total["change"]), (47, 30))
        self.assertEqual(figures(functions), [("work", 30, 30), ("main", 0, 30)])
        self.run_error("report", self.file("bad.pb", b"\xff\xff\xff"), naming="bad.pb")

    def test_a_name_may_begin_with_a_dash(self):
        self.file("-n.size", save(build(100)))
        self.assertIn(b".text", self.run_ok("report", "--", "-n.size", cwd=self.folder).out)


class Errors(sextant.ProgramTest):
    def test_what_is_not_there_or_not_known_is_named(self):
        text = self.file("notes.txt", "just text\n")
        missing = self.folder / "missing.size"
        for options in ([], ["-o", self.folder / "x.html"]) if PAGES else ([],):
            self.run_error("report", missing, *options, naming="missing.size")
            self.run_error("report", text, *options, naming="notes.txt")
        self.assertFalse((self.folder / "x.html").exists())

    def test_usage(self):
        path = self.file("a.size", save(build(100)))
        self.run_usage("report")
        self.run_usage("report", path, path, path)
        self.run_usage("report", path, "--json", "-o", self.folder / "x.html")

    def test_a_page_is_made_or_the_program_says_that_it_has_none(self):
        words = "report", self.file("a.size", save(build(100))), "-o", self.folder / "x.html"
        if PAGES:
            self.run_ok(*words)
        else:
            self.run_error(*words, naming="without pages")

    @unittest.skipUnless(PAGES, "built without pages")
    def test_a_folder_that_is_missing_is_named(self):
        path = self.file("a.size", save(build(100)))
        self.run_error("report", path, "-o", self.folder / "no" / "x.html", naming="x.html")


@unittest.skipUnless(PAGES, "built without pages")
class Data(sextant.ProgramTest):
    """What a page has in it, without a browser."""

    def page(self, *files):
        self.run_ok("report", *files, "-o", self.folder / "x.html")
        text = (self.folder / "x.html").read_text(encoding="utf-8")
        about = json.loads(re.search(r'id="page">(.*?)</script>', text, re.DOTALL).group(1))
        blocks = dict(re.findall(r'id="block-(\w+)">([^<]*)<', text))
        return text, about, {name: zlib.decompress(base64.b64decode(data), -15) for name, data in blocks.items()}

    def test_totals_and_names(self):
        _, about, blocks = self.page(self.file("a.size", save(build(100))))
        self.assertEqual((about["kind"], about["name"], about["rows"]), ("size", "a.size", 2))
        self.assertEqual(about["after"]["file_bytes"], 110)
        self.assertEqual(blocks["names"], b"app::f(int)\napp::state\n")

    def test_a_diff_has_both_sides(self):
        before, after = self.file("a.size", save(build(100))), self.file("b.size", save(build(120)))
        _, about, _ = self.page(before, after)
        summary = self.run_ok("diff", "--json", before, after).json_lines()[-1]["summary"]
        self.assertEqual((about["before_name"], about["name"]), ("a.size", "b.size"))
        for key in ("unchanged", "changed", "added", "removed"):
            self.assertEqual(about["change"][key], summary[key])
        self.assertEqual([about["change"][key + "_bytes"] for key in ("before", "after")], [110, 130])
        self.assertEqual(about["change"]["bytes"], summary["total"])

    def test_two_files_of_the_same_name_are_shown_with_their_folders(self):
        before, after = self.file("old/a.size", save(build(100))), self.file("new/a.size", save(build(120)))
        _, about, _ = self.page(before, after)
        self.assertEqual((about["before_name"], about["name"]), (str(before), str(after)))

    def test_nothing_in_a_page_ends_its_elements(self):
        name = "</script><script>alert(1)</script><!--"
        size = Size([Symbol(".text", 0x1000, 5, name, name, name, name)],
                    [Container(name, {name: name}, {".text": 5}, {name: {"SIZE/" + name: 1}})], {name: name})  # fmt: skip
        (self.folder / "a<b>.size").write_bytes(save(size))
        text, about, blocks = self.page(self.folder / "a<b>.size")
        template = (sextant.ROOT / "web" / "dist" / "size.html").read_text(encoding="utf-8")
        added = len(blocks) + 1
        self.assertEqual(text.count("<script"), template.count("<script") + added)
        self.assertEqual(text.count("</script"), template.count("</script") + added)
        self.assertEqual(about["name"], "a<b>.size")
        self.assertEqual(blocks["names"].decode(), name + "\n")

    def test_a_page_loads_nothing(self):
        text, _, _ = self.page(self.file("a.size", save(build(100))))
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
        self.assertIn("default-src 'none'", policy)
        self.assertNotRegex(policy, r"https?:|\*|unsafe")


@unittest.skipUnless(PAGES, "built without pages")
class Damage(sextant.ProgramTest):
    """A file that cannot be read gives one line; what was at the path of -o stays, and nothing else is written."""

    OLD = "an older page\n"

    def check(self, name, data, *others):
        out = self.folder / "out.html"
        out.write_text(self.OLD)
        path = self.file(name, data)
        files = sorted(self.folder.iterdir())
        result = sextant.run("report", path, *others, "-o", out)
        self.assert_no_crash(result)
        if result.status == 0:
            self.assertIn("<!DOCTYPE html>", out.read_text(encoding="utf-8"))
        else:
            self.assertEqual(result.status, 1, f"\n{result}")
            # Of a damaged trace, what comes before the damage is shown, perhaps with warnings.
            is_partial = name.endswith(".mlyze") and "<!DOCTYPE html>" in out.read_text(encoding="utf-8")
            self.assertTrue(is_partial or out.read_text() == self.OLD)
            if is_partial:
                self.assertRegex(result.err.splitlines()[-1], r"^sextant: .*a\.mlyze: only the first")
            else:
                self.assert_one_error_line(result, None if others else path.name)
        self.assertEqual(sorted(self.folder.iterdir()), files)
        return result.status

    def sweep(self, name, data, *others):
        """Cut files, and files with some bytes changed."""
        steps = 20 if sextant.EVERYTHING else 4
        statuses = []
        for i in range(steps):
            at = i * len(data) // steps
            statuses.append(self.check(name, data[:at], *others))
            statuses.append(self.check(name, data[:at] + b"\xff\x00\xff\x7f" + data[at + 4 :], *others))
        self.assertIn(1, statuses)
        self.assertEqual(self.check(name, data, *others), 0)

    def test_sizes(self):
        data = save(build(100))
        self.sweep("a.size", data)
        self.sweep("a.size", gzip.compress(gzip.decompress(data), 0))
        self.sweep("a.sizediff", save_diff(build(100, is_sparse=True), build(120, is_sparse=True)))
        self.sweep("a.size", data, self.file("b.size", save(build(120))))

    def test_traces(self):
        text = mlyze_writer.metadata([[(0, 1, 0)]] * 20, ["a.c"], ["main"])
        events = [("alloc", 1001 + i, 0x10 * (i + 1), 100 + i, i % 20, 0) for i in range(200)]
        data = mlyze_writer.plain(events, 1000, text)
        self.sweep("a.mlyze", data)
        self.check("a.mlyze", b"x" + data[1:])

    def test_profiles(self):
        functions = [pprof.Function(1, "main"), pprof.Function(2, "work", filename="w.c")]
        locations = [pprof.Location(1, lines=[(1, 3)]), pprof.Location(2, lines=[(2, 5)])]
        data = pprof.encode(pprof.Profile(locations=locations, functions=functions, samples=[([2, 1], [3]), ([1], [5])]))
        self.sweep("a.pb", data)
        self.sweep("a.pb.gz", gzip.compress(data))
        self.sweep("a.pb", data, self.file("b.pb", data))
        # Without a name of profiles, it is not known to be one any more.
        self.check("profile", data[: len(data) // 2])
        self.assertEqual(self.check("profile", data), 0)

    def test_binaries(self):
        data = pathlib.Path("/bin/true").read_bytes()
        for at in (10, 64, 1000, len(data) // 2):
            self.check("a.out", data[:at])
            self.check("a.out", data[:at] + b"\xff" * 40 + data[at + 40 :])


if __name__ == "__main__":
    tap.main()
