"""The complete program in docs/api.md: it is the one in docs/example, it compiles against the library, and it works."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from support import sextant, tap

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "example" / "lookup.c"
BUILD = pathlib.Path(os.environ.get("SXT_BUILD_DIR", ROOT / "build"))


class Example(unittest.TestCase):
    def test_the_page_shows_the_file(self):
        self.assertIn("```c\n" + EXAMPLE.read_text() + "```", (ROOT / "docs" / "api.md").read_text())

    @unittest.skipIf(os.environ.get("SXT_SANITIZED"), "the library is built for a sanitizer")
    def test_it_compiles_and_answers(self):
        library = BUILD / "src"
        with tempfile.TemporaryDirectory() as name:
            program = pathlib.Path(name) / "lookup"
            subprocess.run(
                ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", EXAMPLE,
                 f"-L{library}", "-lsextant", f"-Wl,-rpath,{library}", "-o", program],
                check=True,
            )
            named = sextant.run("lookup", "--json", "--name", "main", program)
            address = named.json_lines()[0]["address"]
            result = subprocess.run([program, program, address, "0x1"], capture_output=True, text=True, check=True)
            self.assertIn(f"{address}:\n    main :0\n", result.stdout)
            self.assertIn("0x1: unknown\n", result.stdout)
            missing = subprocess.run([program, "/nonexistent"], capture_output=True, text=True, check=False)
            self.assertEqual(missing.returncode, 1)
            self.assertIn("/nonexistent: cannot open", missing.stderr)


if __name__ == "__main__":
    tap.main()
