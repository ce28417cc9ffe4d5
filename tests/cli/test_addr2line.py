"""`sextant addr2line` as a program: options, odd questions, files, streams and names it is started under.

Where GNU addr2line is installed it is the judge: standard output, exit status, and for errors standard error are compared
byte for byte. test_addr2line_gnu.py compares what is found in debug information.
"""

import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from support import dwarf_programs, sextant, tap

ANSWER_SECONDS = 20
# What perf writes after each address: an answer to it means that the answer before it is complete.
SENTINEL = b","
# A program that takes its time in calls that are inlined two deep.
SPIN = """
#define INLINE static inline __attribute__((always_inline))
INLINE unsigned mix(unsigned x)
{
    for (int i = 0; i < 8; i++)
        x = x * 2654435761u ^ x >> 13;
    return x;
}
INLINE unsigned twice(unsigned x)
{
    return mix(x) + mix(x ^ 5);
}
__attribute__((noinline)) unsigned work(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += twice(i);
    return sum;
}
volatile unsigned times = 400000;
int main(void)
{
    unsigned sum = 0;
    for (int i = 0; i < 40; i++)
        sum += work(times);
    return sum == 1;
}
"""


class Addr2lineTest(unittest.TestCase):
    """Cases that share a program and ask both."""

    @classmethod
    def setUpClass(cls):
        sextant.need_tool("addr2line", "nm")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="sextant-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.workshop = dwarf_programs.shared_workshop()
        cls.c = cls.workshop.compile("gcc", "c", "-O2", "-g", "-gdwarf-5")
        cls.cpp = cls.workshop.compile("gcc", "cpp", "-O2", "-g", "-gdwarf-4")
        cls.inlined = [cls.address("main") + offset for offset in range(0, 160, 8)]

    @classmethod
    def address(cls, name, path=None):
        for line in sextant.tool("nm", path or cls.c).decode().splitlines():
            if line.split()[-1] == name:
                return int(line.split()[0], 16)
        raise AssertionError(f"no symbol {name}")

    def start(self, command, stdin, cwd):
        return subprocess.run([os.fspath(word) for word in command], input=stdin, capture_output=True, check=False, cwd=cwd,
                              timeout=60, env={**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""})

    def ours(self, *words, stdin=b"", cwd=None):
        return self.start([sextant.program(), "addr2line", *words], stdin, cwd)

    def check(self, *words, stdin=b"", cwd=None, errors=False):
        """Both must say the same. ERRORS: on standard error, too."""
        gnu = self.start(["addr2line", *words], stdin, cwd)
        ours = self.ours(*words, stdin=stdin, cwd=cwd)
        told = f"$ addr2line {' '.join(map(str, words))}\n{ours.stderr.decode('utf-8', 'replace')}"
        self.assertEqual(ours.stdout, gnu.stdout, told)
        self.assertEqual(ours.returncode, gnu.returncode, told)
        if errors:
            self.assertEqual(ours.stderr, gnu.stderr, told)
        return ours


class Options(Addr2lineTest):
    def test_every_flag(self):
        main = self.address("main", self.cpp)
        addresses = list(map(hex, range(main, main + 200, 5)))
        for flags in ([], ["-a"], ["-f"], ["-i"], ["-p"], ["-s"], ["-C"], ["-r"], ["-R"], ["-fC"], ["-afipC"], ["-pf"],
                      ["-pa"], ["-fis"], ["-a", "-f", "-i"], ["-spi"], ["-rRfC"]):
            with self.subTest(flags=flags):
                self.check("-e", self.cpp, *flags, *addresses)

    def test_long_options(self):
        name = hex(self.address("main"))
        for words in (["--exe", self.c], [f"--exe={self.c}"], [f"-e{self.c}"], ["-fe", self.c], ["--ex", self.c]):
            with self.subTest(words=words):
                self.check(*words, name)
        for words in (["--addresses"], ["--addr"], ["--functions", "--inlines"], ["--func", "--inl", "--pretty"],
                      ["--basenames"], ["--demangle", "--functions"], ["--recurse-limit"], ["--no-recurse-limit"],
                      ["--recursion-limit"], ["--no-recursion-limit"], ["--target=elf64-x86-64"], ["--section=.text"]):
            with self.subTest(words=words):
                self.check("-e", self.c, *words, name)

    def test_options_may_come_after_addresses(self):
        self.check(hex(self.address("main")), "-e", self.c, "main", "-f")
        self.check("-e", self.c, "-f", "--", "main", "-s")

    def test_styles_of_names(self):
        main = self.address("main", self.cpp)
        addresses = list(map(hex, range(main, main + 100, 9)))
        for style in ("auto", "none", "gnu-v3", "java", "gnat", "dlang", "rust"):
            with self.subTest(style=style):
                self.check("-e", self.cpp, "-fi", f"--demangle={style}", *addresses)
        self.check("-e", self.cpp, "--demangle=nobody", "0", errors=True)

    def test_targets(self):
        for target in ("default", "elf64-x86-64", "elf32-i386", "elf64-little", "srec", "binary"):
            with self.subTest(target=target):
                self.check("-b", target, "-e", self.c, "-af", "main", hex(self.address("main")))
        self.check("-b", "no-such-target", "-e", self.c, "main", errors=True)

    def test_sections(self):
        for section in (".text", ".data", ".bss", ".rodata", ".comment", ".init"):
            with self.subTest(section=section):
                self.check("-e", self.c, "-af", "-j", section, *map(hex, range(0, 64, 4)), "fffffff")
        self.check("-e", self.c, "-j", ".nowhere", "0", errors=True)

    def test_words_from_a_file(self):
        (self.folder / "words").write_text(f"-f -e {self.c}\n'main' -s\n", encoding="utf-8")
        self.check(f"@{self.folder}/words", "-a", "main+4")
        self.check(f"@{self.folder}/no-such-file", "-e", self.c)

    def test_wrong_usage(self):
        for words in (["--nobody"], ["-x"], ["-e"], ["-C=auto"]):
            with self.subTest(words=words):
                gnu, ours = self.start(["addr2line", *words], b"", None), self.ours(*words)
                self.assertEqual(ours.returncode, gnu.returncode)
                self.assertEqual(ours.stdout, b"")
                self.assertEqual(ours.stderr.splitlines()[0], gnu.stderr.splitlines()[0])

    def test_help_and_version_come_first(self):
        for words in (["--help"], ["-h"], ["-H"], ["-f", "-h", "-e", "/nowhere"]):
            ours = self.ours(*words)
            self.assertEqual((ours.returncode, ours.stderr), (0, b""))
            self.assertIn(b"usage: sextant addr2line", ours.stdout)
            self.assertTrue(all(len(line) <= 100 for line in ours.stdout.splitlines()))
        for words in (["--version"], ["-v"], ["-V"]):
            self.assertRegex(self.ours(*words).stdout, rb"^sextant \d")

    def test_manual_and_completion_know_the_options(self):
        for words in (("generate", "man", "addr2line"), ("generate", "completion", "bash")):
            text = self.start([sextant.program(), *words], b"", None).stdout.replace(b"\\-", b"-")
            self.assertIn(b"--pretty-print", text)


class Files(Addr2lineTest):
    def test_files_that_cannot_be_asked(self):
        text, empty, library = self.folder / "text", self.folder / "empty", self.folder / "library.a"
        text.write_text("no program\n", encoding="utf-8")
        empty.write_bytes(b"")
        sextant.need_tool("ar")
        sextant.tool("ar", "rc", library, sorted(self.c.parent.glob("*.o"))[0])
        for path in ("no-such-file", self.folder, text, empty, library, "/dev/null", self.folder / "text" / "below"):
            with self.subTest(path=path):
                self.check("-e", path, "0", errors=True)

    def test_the_default_is_a_out(self):
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        self.check("main", cwd=home, errors=True)
        shutil.copy(self.c, home / "a.out")
        self.check("-f", "main", cwd=home, errors=True)

    def test_a_damaged_file(self):
        whole = self.c.read_bytes()
        cut = self.folder / "cut"
        for size in (3, 40, 200, 5000, len(whole) - 100):
            cut.write_bytes(whole[:size])
            ours = self.ours("-e", cut, "-f", "main", "1139")
            self.assertIn(ours.returncode, (0, 1))

    def test_an_archive(self):
        """It gives what it has: the chain that lookup gives, in GNU's words."""
        archive = self.folder / "program.lidia"
        sextant.run("archive", self.c, "-o", archive)
        questions = "".join(f"{word:x}\n" for word in self.inlined)
        answers = sextant.run("lookup", "--json", archive, stdin=questions).json_lines()
        expected = []
        for address, answer in zip(self.inlined, answers):
            expected.append(f"0x{address:016x}")
            for frame in answer["frames"]:
                expected += [frame["function"] or "??", f"{frame['file'] or '??'}:{frame['line'] or '?'}"]
            expected += ["??", "??:0"] if not answer["frames"] else []
        ours = self.ours("-e", archive, "-afi", *map(hex, self.inlined))
        self.assertEqual(ours.stdout.decode().splitlines(), expected)
        self.assertGreater(len(expected), 3 * len(self.inlined), "there are inlined calls among them")
        self.assertEqual(self.ours("-e", archive, "-f", "main").stdout.split()[0], b"main")
        self.assertEqual(self.ours("-e", archive, "-a", "ffffffffff").stdout, b"0x000000ffffffffff\n??:0\n")
        self.assertEqual(self.ours("-e", archive, "-j", ".text", "0").returncode, 1)

    def test_debug_information_in_another_file(self):
        separated = self.workshop.separated(self.cpp)
        main = self.address("main", self.cpp)
        self.check("-e", separated, "-afi", *map(hex, range(main, main + 300, 3)))
        (separated.parent / "program.debug").unlink()
        self.check("-e", separated, "-afi", hex(main))

    def test_addresses_of_32_bits(self):
        sextant.need_tool("i686-linux-gnu-gcc")
        source, path = self.folder / "small.c", self.folder / "small"
        source.write_text("int main(void)\n{\n    return 7;\n}\n", encoding="utf-8")
        sextant.tool("i686-linux-gnu-gcc", "-g", "-nostdlib", "-static", "-Wl,-e,main", source, "-o", path)
        self.check("-e", path, "-af", "main", "main+3", "0", "ffffffffffffffff", "100000000", "12345678901234567890")


class Questions(Addr2lineTest):
    ODD = ("0xzz", ",", "", " ", "12 34", "foo", "f00d", "f00d+1", "+1060", "++", "+", "0x", "0X1139", "main", "main+4",
           "main+0x10", "main + 8", " main", "main ", "main+zz", "main+-4", "nobody", "nobody+5", "table", ".text",
           "_start+", "0x00000000000000000000001139", "0xffffffffffffffffff", "ffffffffffffffff", "1139q",
           "0x1139,0x1140", "é", "??", "1_000", "0b1", "-", "main@plt", "printf", "printf@plt", "_DYNAMIC",
           "deadbeef", "DEADBEEF+1")

    def test_odd_words(self):
        for path in (self.c, self.cpp):
            self.check("-e", path, "-af", *(word for word in self.ODD if not word.startswith("-")))
            self.check("-e", path, "-af", "--", *self.ODD)
            self.check("-e", path, "-afp", stdin="".join(f"{word}\n" for word in self.ODD).encode())

    def test_lines_that_are_no_lines(self):
        main = f"{self.address('main'):x}".encode()
        for text in (b"", b"\n", main, main + b"\n" + main, b"\n\n" + main + b"\n\n", b"\r\n" + main + b"\r\n", b"0" * 98,
                     b"0" * 95 + main + b"\n", b"0" * 99 + b"\n" + main, b"0" * 100 + b"\n", b"1" * 1000 + b"\n" + main,
                     main + b"\0\n" + main, b"\0\0\n", b"main\t+\t4\n", b" " * 200 + main + b"\n",
                     (main + b"\n") * 20000, b"x" * 70000 + b"\n" + main):
            with self.subTest(text=text[:40], size=len(text)):
                self.check("-e", self.c, "-af", stdin=text)

    def test_a_readable_name_is_found(self):
        sextant.need_tool("c++filt")
        names = sextant.tool("nm", "-C", self.cpp).decode().splitlines()
        plain = [line.split(None, 2)[2] for line in names if " T " in line and " " not in line.split(None, 2)[2]]
        self.assertTrue(plain)
        self.check("-e", self.cpp, "-afC", *plain, *(f"{name}+2" for name in plain))

    def test_data(self):
        symbols = [line.split() for line in sextant.tool("nm", self.c).decode().splitlines()]
        names = [fields[-1] for fields in symbols if fields[-2] in "dDbBrR"]
        self.assertGreater(len(names), 5)
        result = self.check("-e", self.c, "-af", *names)
        self.assertIn(b".c:", result.stdout)


class Streams(Addr2lineTest):
    def talk(self, command):
        process = subprocess.Popen([os.fspath(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   bufsize=0)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        for stream in (process.stdin, process.stdout):
            stream.close()
        process.terminate()
        process.wait()

    def read_lines(self, process, until):
        """Lines up to the one for which UNTIL is true. The other side does not know that there is no more."""
        text, deadline = b"", time.monotonic() + ANSWER_SECONDS
        while not (text.endswith(b"\n") and until(text.splitlines())):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                self.fail(f"no answer after {ANSWER_SECONDS} s, only {text!r}")
            part = os.read(process.stdout.fileno(), 65536)
            self.assertTrue(part, "it went away")
            text += part
        return text.splitlines()

    def test_each_question_is_answered_at_once(self):
        process = self.talk([sextant.program(), "addr2line", "-e", self.c, "-f"])
        for address in self.inlined:
            process.stdin.write(f"{address:x}\n".encode())
            lines = self.read_lines(process, lambda lines: len(lines) == 2)
            self.assertEqual(b"\n".join(lines) + b"\n", self.ours("-e", self.c, "-f", hex(address)).stdout)

    def test_half_a_line_waits_for_the_rest(self):
        process = self.talk([sextant.program(), "addr2line", "-e", self.c, "-a"])
        text = f"{self.address('main'):x}"
        process.stdin.write(text[:2].encode())
        self.assertFalse(select.select([process.stdout], [], [], 0.3)[0], "there was nothing to answer yet")
        process.stdin.write(f"{text[2:]}\n".encode())
        self.assertEqual(self.read_lines(process, lambda lines: len(lines) == 2)[0], f"0x{int(text, 16):016x}".encode())

    def test_as_perf_asks(self):
        """perf writes an address and a line that cannot be one, and reads up to the answer to that."""
        process = self.talk([sextant.program(), "addr2line", "-e", self.c, "-i", "-f"])
        deepest = 0
        for address in self.inlined:
            process.stdin.write(f"{address:016x}\n".encode() + SENTINEL + b"\n")
            lines = self.read_lines(process, lambda lines: lines[-2:] == [b"??", b"??:0"])
            gnu = self.start(["addr2line", "-e", self.c, "-i", "-f", hex(address)], b"", None).stdout
            self.assertEqual(b"\n".join(lines[:-2]) + b"\n", gnu)
            deepest = max(deepest, len(lines) // 2 - 1)
        self.assertGreater(deepest, 1, "there were inlined calls")

    def test_a_pipe_and_a_file_are_the_same(self):
        text = "".join(f"{address:x}\n" for address in range(self.inlined[0], self.inlined[0] + 3000)).encode()
        path = self.folder / "addresses"
        path.write_bytes(text)
        with open(path, "rb") as file:
            from_file = subprocess.run([sextant.program(), "addr2line", "-e", self.c, "-afi"], stdin=file,
                                       capture_output=True, check=True).stdout
        self.assertEqual(self.ours("-e", self.c, "-afi", stdin=text).stdout, from_file)
        process = self.talk([sextant.program(), "addr2line", "-e", self.c, "-afi"])
        process.stdin.write(text[:999])
        process.stdin.write(text[999:30000])
        process.stdin.write(text[30000:])
        process.stdin.close()
        self.assertEqual(process.stdout.read(), from_file)

    def test_nobody_reads_the_answers(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([sextant.program(), "addr2line", "-e", self.c, "main"], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)


class Names(Addr2lineTest):
    """Started under the name addr2line, the program is addr2line."""

    def test_names_it_is_started_under(self):
        for name in ("addr2line", "x86_64-linux-gnu-addr2line"):
            link = self.folder / "links" / name
            link.parent.mkdir(exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(sextant.program())
            done = self.start([link, "-fie", self.c, *map(hex, self.inlined)], b"", None)
            self.assertEqual(done.stdout, self.ours("-fie", self.c, *map(hex, self.inlined)).stdout)
            failed = self.start([link, "-e", "no-such-file", "0"], b"", None)
            self.assertEqual(failed.stderr, f"{link}: 'no-such-file': No such file\n".encode())

    def test_other_names_are_other_programs(self):
        link = self.folder / "myaddr2line"
        link.symlink_to(sextant.program())
        self.assertEqual(self.start([link, "-e", self.c, "main"], b"", None).returncode, 2)


class Perf(Addr2lineTest):
    """perf starts whatever is called addr2line."""

    @sextant.only_with_everything
    def test_perf_script_and_report(self):
        sextant.need_tool("perf")
        source, program, data = self.folder / "spin.c", self.folder / "spin", self.folder / "perf.data"
        source.write_text(SPIN, encoding="utf-8")
        sextant.tool("gcc", "-O2", "-g", "-fno-omit-frame-pointer", source, "-o", program)
        home = {**os.environ, "HOME": str(self.folder), "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
        record = ["perf", "record", "-q", "--call-graph", "dwarf,4096", "-o", data, program]
        recorded = subprocess.run(record, env=home, capture_output=True, check=False, timeout=60)
        if recorded.returncode != 0 or not data.exists():
            self.skipTest(f"perf record does not work here: {recorded.stderr.decode('utf-8', 'replace')[:200]}")
        tools = self.folder / "tools"
        tools.mkdir()
        script = f'#!/bin/sh\necho "$@" >>"{tools}/calls"\nexec "{sextant.program()}" addr2line "$@"\n'
        (tools / "addr2line").write_text(script, encoding="utf-8")
        (tools / "addr2line").chmod(0o755)
        for words in (["script", "--inline", "-F", "ip,sym,srcline"],
                      ["report", "--stdio", "--inline", "-g", "caller,address", "--no-children"]):
            with self.subTest(words=words):
                command = ["perf", words[0], "-i", data, *words[1:]]
                with_gnu = self.perf(command, home)
                with_ours = self.perf(command, {**home, "PATH": f"{tools}:{home['PATH']}"})
                self.assertEqual(with_ours, with_gnu)
                self.assertRegex(with_ours, rb"mix\s+spin.c:[56] \(inlined\)")
        self.assertRegex((tools / "calls").read_text(encoding="utf-8"), r"(?m)^-e \S+ .*-i -f", "this is how perf asks")

    def perf(self, command, environment):
        done = subprocess.run([os.fspath(word) for word in command], env=environment, capture_output=True, check=False,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr.decode("utf-8", "replace"))
        # Its remarks end with a tip of the day.
        return b"\n".join(line for line in done.stdout.splitlines() if not line.startswith(b"#"))


if __name__ == "__main__":
    tap.main()
