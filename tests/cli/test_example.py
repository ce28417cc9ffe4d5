"""The complete programs in docs/api.md: they are those in docs/example, they compile against the library, and they work."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import mlyze_writer, sextant, tap

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "example" / "lookup.c"
SIZE_DIFF = ROOT / "docs" / "example" / "size_diff.c"
LEAKS = ROOT / "docs" / "example" / "leaks.c"
BUILD = pathlib.Path(os.environ.get("SXT_BUILD_DIR", ROOT / "build"))


def compile_example(source, program):
    library = BUILD / "src"
    subprocess.run(
        ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", source,
         f"-L{library}", "-lsextant", f"-Wl,-rpath,{library}", "-o", program],
        check=True,
    )


class Example(unittest.TestCase):
    def test_the_page_shows_the_files(self):
        page = (ROOT / "docs" / "api.md").read_text()
        for example in (EXAMPLE, SIZE_DIFF, LEAKS):
            self.assertIn("```c\n" + example.read_text() + "```", page)

    @unittest.skipIf(os.environ.get("SXT_SANITIZED"), "the library is built for a sanitizer")
    def test_it_compiles_and_answers(self):
        with tempfile.TemporaryDirectory() as name:
            program = pathlib.Path(name) / "lookup"
            compile_example(EXAMPLE, program)
            named = sextant.run("lookup", "--json", "--name", "main", program)
            address = named.json_lines()[0]["address"]
            result = subprocess.run([program, program, address, "0x1"], capture_output=True, text=True, check=True)
            self.assertIn(f"{address}:\n    main :0\n", result.stdout)
            self.assertIn("0x1: unknown\n", result.stdout)
            missing = subprocess.run([program, "/nonexistent"], capture_output=True, text=True, check=False)
            self.assertEqual(missing.returncode, 1)
            self.assertIn("/nonexistent: cannot open", missing.stderr)

    @unittest.skipIf(os.environ.get("SXT_SANITIZED"), "the library is built for a sanitizer")
    def test_the_largest_changes_of_two_builds(self):
        self.assertLessEqual(len(SIZE_DIFF.read_text().splitlines()), 40)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            compile_example(SIZE_DIFF, folder / "size_diff")
            for build, body in (("old", "int table[2] = {1};"), ("new", "int table[900] = {1}; int more = 7;")):
                (folder / f"{build}.c").write_text(body + " int main(void) { return table[0]; }\n")
                subprocess.run(["cc", "-o", folder / build, folder / f"{build}.c"], check=True)
            arguments = [folder / "size_diff", folder / "old", folder / "new", folder / "new.size"]
            result = subprocess.run(arguments, capture_output=True, text=True, check=True)
            self.assertRegex(result.stdout, r"(?m)^ +\+3592  changed    table$")
            self.assertRegex(result.stdout, r"(?m)^ +\+4  added      more$")
            self.assertLessEqual(len(result.stdout.splitlines()), 10)
            self.assertEqual(sextant.run("verify", folder / "new.size").status, 0)
            arguments[1] = "/nonexistent"
            failed = subprocess.run(arguments, capture_output=True, text=True, check=False)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("size_diff: cannot open", failed.stderr)
            usage = subprocess.run(arguments[:2], capture_output=True, text=True, check=False)
            self.assertEqual((usage.returncode, usage.stderr), (1, "size_diff: usage: size_diff OLD NEW OUTPUT\n"))

    @unittest.skipIf(os.environ.get("SXT_SANITIZED"), "the library is built for a sanitizer")
    def test_leaks_of_a_trace(self):
        with tempfile.TemporaryDirectory() as name:
            program, trace = pathlib.Path(name) / "leaks", pathlib.Path(name) / "t.mlyze"
            compile_example(LEAKS, program)
            trace.write_bytes(mlyze_writer.example())
            result = subprocess.run([program, trace], capture_output=True, text=True, check=True)
            self.assertEqual(result.stdout, "16384 bytes leaked by stack 1\n  main  /app/main.py:50\n")
            for arguments, message in (([], "usage: leaks TRACE"), (["/nonexistent"], "cannot open")):
                failed = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
                self.assertEqual(failed.returncode, 1)
                self.assertIn(message, failed.stderr)


class ProfileExamples(unittest.TestCase):
    """docs/example/symbolize_text.c and explain.c."""

    PAGE = ROOT / "docs" / "api.md"

    def build(self, name):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="sextant-test-"))
        self.addCleanup(shutil.rmtree, folder)
        program = folder / name
        compile_example(ROOT / "docs" / "example" / f"{name}.c", program)
        return program

    def test_the_page_shows_the_files_which_are_short(self):
        for name in ("symbolize_text", "explain"):
            text = (ROOT / "docs" / "example" / f"{name}.c").read_text()
            self.assertIn("```c\n" + text + "```", self.PAGE.read_text())
            self.assertLess(len(text.splitlines()), 50)

    @unittest.skipIf(os.environ.get("SXT_SANITIZED"), "the library is built for a sanitizer")
    def test_the_filter_names_addresses(self):
        program = self.build("symbolize_text")
        address = sextant.run("lookup", "--json", "--name", "main", program).json_lines()[0]["address"]
        text = f"hello\n    #0 0x55d0c8a01234  ({program}+{address})\n    #1 0x1  (/nonexistent+0x1)\n"
        result = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        self.assertIn("hello\n    #0 0x55d0c8a01234 in main", result.stdout)
        self.assertIn("    #1 0x1  (/nonexistent+0x1)\n", result.stdout)
        self.assertEqual(result.stderr, "/nonexistent: no file found\n")

    @unittest.skipIf(os.environ.get("SXT_SANITIZED"), "the library is built for a sanitizer")
    def test_the_explanation_has_records_and_reasons(self):
        program = self.build("explain")
        address = sextant.run("lookup", "--json", "--name", "main", program).json_lines()[0]["address"]
        result = subprocess.run([program, program, address], capture_output=True, text=True, check=True)
        self.assertIn("main, from .symtab\nno line: the file has no DWARF\n", result.stdout)
        result = subprocess.run([program, program, "0x7f0000000010"], capture_output=True, text=True, check=True)
        self.assertIn("no name: 0x7f0000000010 is outside of every segment", result.stdout)
        self.assertIn("to do: it looks like an address of a running process", result.stdout)
        self.assertNotIn("--", result.stdout)
        missing = subprocess.run([program, "/nonexistent", "0"], capture_output=True, text=True, check=False)
        self.assertEqual((missing.returncode, missing.stderr.split(":")[0]), (1, "/nonexistent"))


if __name__ == "__main__":
    tap.main()
