"""The programs of docs/api.md that make archives, and the one in C++: the page shows them, they compile and they work."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import sextant, tap

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "example"
BUILD = pathlib.Path(os.environ.get("SXT_BUILD_DIR", ROOT / "build"))
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror"]


def build(source, program):
    library = BUILD / "src"
    compiler = ["c++", "-std=c++11"] if source.suffix == ".cpp" else ["cc", "-std=c99"]
    command = [*compiler, *WARNINGS, f"-I{ROOT / 'include'}", source, f"-L{library}", "-lsextant"]
    subprocess.run([*command, f"-Wl,-rpath,{library}", "-o", program], check=True)


@unittest.skipIf(os.environ.get("SXT_SANITIZED"), "the library is built for a sanitizer")
class Programs(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def program(self, name):
        program = self.folder / pathlib.Path(name).stem
        build(FOLDER / name, program)
        return program

    def output(self, *command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def test_writing_an_archive(self):
        program = self.program("write_archive.c")
        archive = self.folder / "out.lidia"
        to_file = self.output(program, program, archive)
        to_memory = self.output(program, program)
        self.assertEqual(to_file, to_memory)
        first, *ranges = to_file.splitlines()
        info = sextant.run("info", "--json", archive).json_lines()[0]
        self.assertTrue(first.startswith(f"{info['functions']} functions, "), first)
        self.assertTrue(first.endswith(f" {info['size']} bytes"), first)
        self.assertEqual(len(ranges), 10)
        self.assertTrue(all(line.startswith("0x") for line in ranges))

    def test_a_ksym_blob(self):
        program = self.program("ksym_blob.c")
        text = self.folder / "symbols.txt"
        text.write_text("1000 T first\n1010 t second\n2000 D data\n", encoding="utf-8")
        lines = self.output(program, text).splitlines()
        self.assertTrue(lines[0].startswith("2 symbols, "), lines)
        self.assertEqual(lines[1:], ["first+0x0/0x10", "second+0x0/0xff0"])

    @unittest.skipUnless(shutil.which("c++"), "there is no C++ compiler")
    def test_lookup_in_cpp(self):
        program = self.program("lookup.cpp")
        address = sextant.run("lookup", "--json", "--name", "main", program).json_lines()[0]["address"]
        found = self.output(program, program, address, "1")
        self.assertIn(f"{address}:\n    main :0\n", found)
        self.assertIn("0x1: unknown\n", found)
        missing = subprocess.run([program, "/nonexistent"], capture_output=True, text=True, check=False)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("/nonexistent: cannot open", missing.stderr)


class Page(unittest.TestCase):
    def test_it_names_every_program(self):
        page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
        for name in ("lookup.c", "lookup.cpp", "write_archive.c", "ksym_blob.c"):
            self.assertIn(f"(example/{name})", page)


if __name__ == "__main__":
    tap.main()
