"""The examples of docs/ci.md, run as they are there: a budget that holds, and one that is broken."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

from support import sextant, tap

PROGRAM = """
#include <stdlib.h>
#include <string.h>

static char *volatile kept;

__attribute__((noinline)) static void load(size_t size)
{
    kept = malloc(size);
    memset(kept, 1, size);
}

int main(void)
{
    load(10000);
    free((void *)kept);
    %s
    return 0;
}
"""
GROWN = "load(20000);"


def example(name):
    """The first code block of docs/ci.md after a line that has the file NAME."""
    text = (sextant.ROOT / "docs" / "ci.md").read_text()
    found = re.search(rf"`{re.escape(name)}`:\n\n```\w+\n(.*?)```\n", text, re.DOTALL)
    assert found, f"docs/ci.md has no {name}"
    return found[1]


class Examples(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        sextant.need_tool("gcc")
        if sextant.SANITIZED:
            self.skipTest("the plain build runs the same examples")

    def command(self, *words, status=0):
        path = os.fspath(self.folder)
        done = subprocess.run([os.fspath(word) for word in words], cwd=path, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "SEXTANT": sextant.program()}, check=False)
        text = done.stdout.decode("utf-8", "replace")
        if status is not None:
            self.assertEqual(done.returncode == 0, status == 0, f"$ {words}\nstatus {done.returncode}\n{text}")
        return text

    def program(self, more="", name="app"):
        source = self.file("app.c", (PROGRAM % more).encode())
        self.command("gcc", "-g", "-o", name, source)

    def files(self, *names):
        for name in names:
            self.file(name, example(name).encode())
        self.file("heap-budget", example("heap-budget").encode()).chmod(0o755)

    def baseline(self):
        self.program()
        result = sextant.run("record", "-o", self.folder / "baseline.mlyze", "--", self.folder / "app")
        self.assertEqual(result.status, 0, result)
        (self.folder / "app").unlink()

    def test_the_script(self):
        self.files()
        self.baseline()
        self.program()
        self.command("./heap-budget", "baseline.mlyze", "./app")
        self.program(GROWN)
        text = self.command("./heap-budget", "baseline.mlyze", "./app", status=1)
        self.assertIn("peak grew by 10,000, from 10,000 to 20,000; +5% (500) is allowed", text)
        self.assertIn("leaked grew by 20,000, from 0 to 20,000; +0 is allowed", text)

    def test_meson(self):
        sextant.need_tool("meson", "ninja")
        self.files("meson.build")
        self.baseline()
        self.command("meson", "setup", "build")
        if sextant.EVERYTHING:
            self.command("meson", "test", "-C", "build")
        self.file("app.c", (PROGRAM % GROWN).encode())
        self.command("meson", "test", "-C", "build", status=1)
        self.assertIn("peak grew by 10,000", (self.folder / "build/meson-logs/testlog.txt").read_text())

    @sextant.only_with_everything
    def test_ctest(self):
        sextant.need_tool("cmake", "ctest", "make")
        self.files("CMakeLists.txt")
        self.baseline()
        for more, status in (("", 0), (GROWN, 1)):
            self.file("app.c", (PROGRAM % more).encode())
            shutil.rmtree(self.folder / "build", ignore_errors=True)
            self.command("cmake", "-G", "Unix Makefiles", "-S", ".", "-B", "build")
            self.command("cmake", "--build", "build")
            text = self.command("ctest", "--test-dir", "build", "--output-on-failure", status=status)
        self.assertIn("peak grew by 10,000", text)

    def test_unittest(self):
        self.files("test_heap.py")
        self.program(name="app-released")
        for more, status in (("", 0), (GROWN, 1)):
            self.program(more)
            text = self.command(sys.executable, "-m", "unittest", "test_heap.py", status=status)
        self.assertIn("leaked grew by 20,000", text)
        if importlib.util.find_spec("pytest") is not None:
            self.assertIn("1 failed", self.command(sys.executable, "-m", "pytest", "-q", "test_heap.py", status=1))


if __name__ == "__main__":
    tap.main()
