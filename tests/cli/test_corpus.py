"""scripts/corpus finds what it is for: verbs that do not end well, and answers that differ."""

import json
import os
import pathlib
import subprocess
import sys

from support import llvm_symbolizer, sextant, tap

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "corpus"
SOURCE = b"""\
static int twice(int x) { return x * 2; }
__attribute__((noinline)) int work(int x) { return twice(x) + 1; }
int main(int argc, char **argv) { (void)argv; return work(argc); }
"""

# A sextant with faults, in front of the real one.
FAULTY = """\
#!/bin/sh
case "$1" in
query) kill -SEGV $$ ;;
diff) echo "x.c:1:2: runtime error: index 9 out of bounds" >&2 ;;
fileid) sleep 30 ;;
size) exit 3 ;;
lookup) case "$*" in *--json*lidia*) echo '{"address":"0x0","frames":[]}'; exit 0 ;; esac ;;
addr2line) printf '0x0000000000000000\\nwrong\\nwrong.c:1\\n' ; exit 0 ;;
esac
exec "$SEXTANT_REAL" "$@"
"""


class Corpus(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        sextant.need_tool("gcc", "addr2line")
        if llvm_symbolizer.find_program() is None:
            self.skipTest("llvm-symbolizer is not installed")
        source = self.file("program.c", SOURCE)
        (self.folder / "tree" / "inner").mkdir(parents=True)
        self.binary = self.folder / "tree" / "inner" / "program"
        sextant.tool("gcc", "-g", "-O1", "-o", self.binary, source)
        (self.folder / "tree" / "link").symlink_to(self.binary)
        (self.folder / "tree" / "text").write_text("not an ELF file")

    def corpus(self, *options, program=None):
        done = subprocess.run(
            [sys.executable, CORPUS, "--program", program or sextant.program(), "--sample", "40", "--jobs", "1", *options,
             self.folder / "tree"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=110,
            env={**os.environ, "SEXTANT_REAL": os.fspath(sextant.program())})
        return done.returncode, done.stdout, done.stderr

    def test_a_good_program(self):
        status, out, err = self.corpus()
        self.assertEqual((status, err), (0, ""), out)
        self.assertRegex(out, r"^1 file, 40 addresses of archives, 40 of GNU addr2line, \d+ of llvm-symbolizer")
        self.assertRegex(out, r"(?m)^archive -f lidia +1 +0 +0$")
        self.assertRegex(out, r"(?m)^addr2line +1 +0 +0$")
        self.assertIn("GNU addr2line: 100.000 %", out)

    def test_faults_are_found(self):
        program = self.file("faulty", FAULTY.encode())
        program.chmod(0o755)
        details = self.folder / "details.json"
        status, out, err = self.corpus("--seconds", "3", "--json", details, program=program)
        self.assertEqual((status, err), (1, ""), out)
        for text in ("query: crashes", "diff: crashes", "fileid: takes more than 3 s", "size: status 3",
                     "the archive differs from the binary"):
            self.assertIn(text, out)
        classes = {json.loads(line)["class"] for line in details.read_text().splitlines()}
        self.assertIn("query: crashes", classes)

    def test_a_folder_without_elf_files(self):
        self.binary.unlink()
        status, out, err = self.corpus()
        self.assertEqual((status, out, err), (1, "", "corpus: no ELF files there\n"))


if __name__ == "__main__":
    tap.main()
