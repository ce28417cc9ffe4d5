"""What all verbs have in common: help, version, wrong usage, and where text goes."""

import os
import re
import select
import subprocess
import time

from support import lidia_reference, pprof, sextant, tap
from support.elf_writer import symbol_file
from support.pprof import Profile

VERBS = ("archive", "lookup", "dump", "info", "verify")
THREE = [("helper", 0x401060, 16), ("_start", 0x401000, 32), ("main", 0x401020, 64)]


class Help(sextant.ProgramTest):
    def test_every_verb_explains_itself_with_examples(self):
        for verb in VERBS:
            for option in ("--help", "-h"):
                with self.subTest(verb=verb, option=option):
                    text = self.run_ok(verb, option).text
                    self.assertRegex(text, rf"(?i)usage:? +sextant {verb}\b")
                    self.assertRegex(text, r"(?im)^examples?\b")
                    self.assertRegex(text, rf"(?m)^ .*sextant {verb} \S", "an example shows the verb in use")
                    self.assertIn("--help", text)

    def test_help_fits_on_a_terminal(self):
        for verb in VERBS:
            lines = self.run_ok(verb, "--help").text.splitlines()
            self.assertGreater(len(lines), 5)
            for line in lines:
                self.assertLessEqual(len(line), 100, f"{verb}: {line}")

    def test_the_program_lists_its_verbs(self):
        text = self.run_ok("--help").text
        for verb in VERBS:
            self.assertRegex(text, rf"(?m)^\s+{verb}\b")
        self.assertEqual(self.run_ok("-h").text, text)

    def test_help_names_the_fixed_options(self):
        fixed = {
            "archive": ["--format", "--output", "--debug", "--sources", "--no-lines", "--no-files", "--no-inlines",
                        "--mangled", "--path-map", "--compat", "--strings", "--zero-size", "--debug-dir", "--no-index"],
            "lookup": ["--name", "--pid", "--maps", "--load-bias", "--file-offset", "--json", "--check"],
            "dump": ["--json", "--check"],
            "info": ["--json", "--check"],
            "verify": ["--json"],
        }
        for verb, options in fixed.items():
            text = self.run_ok(verb, "--help").text
            for option in options:
                with self.subTest(verb=verb, option=option):
                    self.assertRegex(text, rf"{option}\b")

    def test_version_everywhere(self):
        text = self.run_ok("--version").text
        self.assertRegex(text, r"^sextant \d+\.\d+")
        for verb in VERBS:
            self.assertEqual(self.run_ok(verb, "--version").text, text)

    def test_help_of_a_verb_through_the_help_option_wins_over_other_mistakes(self):
        self.assertEqual(self.run_ok("lookup", "--help", "no-such-file").text, self.run_ok("lookup", "--help").text)
        self.assertTrue(self.run_ok("lookup", "--help", "no-such-file").text)


class WrongUsage(sextant.ProgramTest):
    def test_an_unknown_option(self):
        for verb in VERBS:
            with self.subTest(verb=verb):
                result = self.run_usage(verb, "--no-such-option", "file")
                self.assertIn("--no-such-option", result.err)
                self.run_usage(verb, "-Z", "file")

    def test_an_option_without_its_value(self):
        for words in (["archive", "x", "-o"], ["lookup", "x", "--name"], ["lookup", "x", "--load-bias"],
                      ["archive", "x", "--sources"]):
            with self.subTest(words=words):
                self.run_usage(*words)

    def test_a_value_for_an_option_that_has_none(self):
        self.run_usage("lookup", "x", "--json=yes", "401020")

    def test_an_unknown_verb_and_no_verb(self):
        result = self.run_usage("frobnicate", "x")
        self.assertIn("frobnicate", result.err)
        self.run_usage()
        self.run_usage("--no-such-option")

    def test_words_that_would_drive_the_terminal_are_shown_as_numbers(self):
        word = "\x1b[31mred\n"
        for words in ([word], ["lookup", f"--{word}"], ["lookup", f"-{word}"], ["lookup", "x", "--load-bias", word],
                      ["dump", "x", "--sources", word]):
            with self.subTest(words=words):
                result = self.run_usage(*words)
                self.assertIn("\\x1b", result.err)
                self.assertRegex(result.err, r"\A[ -~]+\n\Z")
        # A terminal also obeys U+009B, and some obey the byte alone.
        self.assertIn("\\xc2\\x9b31mred", self.run_usage("\x9b31mred").err)
        self.assertIn("\\x9b31mred", self.run_usage("\udc9b31mred").err)
        self.assertIn("'h\xe9'", self.run_usage("h\xe9").err)

    def test_values_that_make_no_sense(self):
        path = self.file("in.elf", symbol_file(THREE))
        self.run_usage("lookup", path, "--load-bias", "xyz", "401020")
        self.run_usage("lookup", path, "--pid", "-5", "401020")

    def test_two_ways_to_say_which_file(self):
        path = self.file("in.elf", symbol_file(THREE))
        self.run_usage("lookup", "--pid", "1", "--maps", path, "401020")

    def test_more_than_one_file_for_dump(self):
        path = self.file("in.elf", symbol_file(THREE))
        self.run_usage("dump", path, path)


class Words(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.elf = self.file("in.elf", symbol_file(THREE))

    def test_two_dashes_end_the_options(self):
        path = self.file("--odd-name", symbol_file(THREE))
        result = self.run_ok("lookup", "--json", "--", "--odd-name", "401020", cwd=path.parent)
        self.assertEqual(sextant.outermost(result.json_lines()[0]), "main")

    def test_values_with_and_without_an_equals_sign(self):
        one = self.run_ok("lookup", self.elf, "--name", "main", "--json").out
        two = self.run_ok("lookup", self.elf, "--name=main", "--json").out
        self.assertTrue(one)
        self.assertEqual(one, two)

    def test_the_short_and_long_form_of_output(self):
        for number, word in enumerate((f"--output={self.folder / 'a.lidia'}", f"-o{self.folder / 'b.lidia'}")):
            with self.subTest(number=number):
                self.assertEqual(sextant.run("archive", self.elf, word).status, 0)
        self.assertEqual((self.folder / "a.lidia").read_bytes(), (self.folder / "b.lidia").read_bytes())

    def test_a_file_is_what_it_contains_and_not_what_it_is_called(self):
        archive = self.archive(self.elf)
        misnamed = self.file("archive.elf", archive.read_bytes())
        self.assertEqual(self.function_at(misnamed, 0x401020), "main")
        misnamed = self.file("program.lidia", self.elf.read_bytes())
        self.assertEqual(self.function_at(misnamed, 0x401020), "main")

    def test_names_with_blanks_and_newlines_do_not_break_the_error_line(self):
        for name in ("with blank", "with\nnewline", "with\x1b[31mescape"):
            with self.subTest(name=name):
                result = sextant.run("lookup", self.folder / name, "401020")
                self.assertEqual(result.status, 1)
                self.assertEqual(len(result.err.splitlines()), 1, f"\n{result}")
                self.assertNotIn("\x1b", result.err)

    def test_names_of_outputs_are_shown_without_control_bytes(self):
        text = self.file("nm.txt", b"401000 T one\n401020 T two\n")
        profile = self.file("in.pb", pprof.encode(Profile()))
        for words in (["archive", self.elf, "-f", "lidia"], ["archive", self.elf, "-f", "symbfile"],
                      ["archive", self.elf, "-f", "size"], ["archive", text, "-f", "ksym"], ["symbolize", profile]):
            with self.subTest(words=words):
                result = sextant.run(*words, "-o", self.folder / "red\x1b[31m\nname")
                self.assertEqual(result.status, 0, f"\n{result}")
                self.assertRegex(result.err, r"\A[ -~]*/red\\x1b\[31m\\x0aname: [0-9][ -~]+\n\Z")

    def test_one_thing_is_not_counted_in_the_plural(self):
        result = sextant.run("archive", self.file("one.elf", symbol_file(THREE[:1])), "-o", self.folder / "one.lidia")
        self.assertRegex(result.err, r": 1 function, 0 inlined calls, 0 lines, [0-9]+ bytes, ")
        text = self.file("nm.txt", b"401000 T one\n")
        result = sextant.run("archive", text, "-o", self.folder / "one.ksym")
        self.assertRegex(result.err, r": 1 symbol, 0 tokens that save 0 bytes, [0-9]+ bytes")

    def test_names_from_files_do_not_reach_a_terminal_raw(self):
        path = self.file("evil.elf", symbol_file([(b"evil\x1b]0;title\x07\nname", 0x401000, 8)]))
        for command in (["lookup", path, "401000"], ["dump", path], ["dump", self.archive(path)]):
            out = self.run_ok(*command).out
            self.assertNotIn(b"\x1b", out)
            self.assertEqual(len(out.splitlines()), 1)


class Streams(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        rows = [lidia_reference.Row(0x1000 + 16 * index, 16, b"function%d" % index) for index in range(20000)]
        self.large = self.file("large.lidia", lidia_reference.write(rows))

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for command in (["dump", self.large], ["dump", "--json", self.large], ["info", self.large], ["--version"],
                        ["lookup", self.large, "1000"]):
            with self.subTest(command=command[0]):
                with open("/dev/full", "wb") as full:
                    done = subprocess.run([sextant.program(), *map(str, command)], stdout=full, stderr=subprocess.PIPE,
                                          check=False)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr.decode(), r"^sextant: ")

    def test_a_reader_that_goes_away_ends_the_program_quietly(self):
        child = subprocess.Popen([sextant.program(), "dump", str(self.large)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.assertEqual(len(child.stdout.read(10)), 10)
        child.stdout.close()
        error = child.stderr.read().decode()
        child.stderr.close()
        status = child.wait(30)
        self.assertIn(status, (-13, 0, 1, 141))
        self.assertIsNone(sextant.SANITIZER_TEXT.search(error))

    def test_no_escape_sequences_where_no_terminal_is(self):
        for command in (["info", self.large], ["dump", self.large], ["verify", self.large], ["--help"]):
            out = self.run_ok(*command).out
            self.assertTrue(out)
            self.assertNotIn(b"\x1b", out)

    def test_no_color_is_honoured_on_a_terminal(self):
        for command in (["info", str(self.large)], ["lookup", str(self.large), "1000"], ["--help"]):
            text = run_on_a_terminal(command, {"NO_COLOR": "1", "TERM": "xterm-256color"})
            self.assertTrue(text)
            self.assertIsNone(re.search(rb"\x1b\[[0-9;]*m", text), text[:200])

    def test_binary_data_is_not_written_to_a_terminal(self):
        trace, archive, sizes = (self.folder / name for name in ("true.mlyze", "three.lidia", "three.size"))
        binary = self.file("three", symbol_file(THREE))
        self.run_ok("record", "-q", "-o", trace, "--", "/bin/true")
        self.run_ok("archive", "-q", binary, "-o", archive)
        self.run_ok("archive", "-q", binary, "-o", sizes)
        for flag, *command in (
            ("-o", "archive", "-f", "lidia", binary, "-o", "-"),
            ("-o", "archive", "-f", "ksym", binary, "-o", "-"),
            ("-o", "archive", "-f", "size", binary, "-o", "-"),
            ("--returnpads", "archive", binary, "-o", self.folder / "out.symbfile", "--returnpads", "-"),
            ("-o", "convert", "-f", "symbfile", archive, "-o", "-"),
            ("-o", "convert", "-f", "size", sizes, "-o", "-"),
            ("-o", "convert", trace, "-o", "-"),
            ("-o", "convert", "--recover", trace, "-o", "-"),
            ("-o", "diff", sizes, sizes, "-o", "-"),
            ("--pprof", "heap", trace, "--pprof", "-"),
            ("-o", "symbolize", trace, "-o", "-"),
        ):
            with self.subTest(command=command):
                message = f"sextant: -: refusing to write binary data to a terminal; redirect or use {flag} FILE\r\n"
                self.assertEqual(run_on_a_terminal(list(map(str, command)), {}).decode(errors="replace"), message)
        self.assertFalse((self.folder / "out.symbfile").exists())
        # Text is welcome there, and binary data anywhere else.
        self.assertIn(b"speedscope", run_on_a_terminal(["heap", str(trace), "--speedscope", "-"], {}))
        self.assertTrue(self.run_ok("convert", "-q", trace, "-o", "-").out.startswith(b"MTRC"))
        self.run_ok("heap", trace, "--pprof", self.folder / "true.pb")
        self.assertEqual(self.run_ok("heap", trace, "--pprof", "-").out, (self.folder / "true.pb").read_bytes())


def run_on_a_terminal(command, env):
    """What the program writes to a terminal."""
    master, slave = sextant.open_terminal()
    child = subprocess.Popen([sextant.program(), *command], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                             env={**os.environ, **env})
    os.close(slave)
    text = b""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
        elif child.poll() is not None:
            break
    os.close(master)
    child.wait(10)
    return text


class Threads(sextant.ProgramTest):
    def test_the_result_does_not_depend_on_them(self):
        path = sextant.program()
        results = set()
        for threads in ("1", "2", "100"):
            out = self.folder / f"{threads}.lidia"
            self.run_ok("archive", "-q", "--threads", threads, path, "-o", out)
            results.add(out.read_bytes())
        self.assertEqual(len(results), 1)

    def test_they_are_a_number(self):
        path = self.file("three", symbol_file(THREE))
        for wrong in ("", "0", "-1", "x", "2x"):
            for verb in ("archive", "dump", "info", "convert"):
                words = ("-o", self.folder / "out.lidia") if verb in ("archive", "convert") else ()
                failed = self.run_usage(verb, f"--threads={wrong}", path, *words)
                self.assertIn("--threads takes a number", failed.err)

    def test_they_are_a_number_for_traces_too(self):
        trace = self.folder / "true.mlyze"
        self.run_ok("record", "-q", "--threads", "1", "-o", trace, "--", "/bin/true")
        for words in (
            ("record", "-o", self.folder / "other.mlyze", "--threads=0", "--", "/bin/true"),
            ("heap", "--symbolize", "--threads=0", trace),
            ("heap", "--threads=0", trace),
            ("heap", "--threads=x", "--leaks", trace),
            ("convert", "--compress", "--threads=0", trace, "-o", self.folder / "other.mlyze"),
        ):
            self.assertIn("--threads takes a number", self.run_usage(*words).err)


class Names(sextant.ProgramTest):
    def test_a_whole_name_wins_over_longer_ones(self):
        """For every option of every verb that another one begins with: --debug and --debug-dir, --fail-if and more."""
        found = 0
        verbs = re.findall(r"^  (\w+)  ", self.run_ok("--help").text, re.M)
        self.assertIn("diff", verbs)
        for verb in verbs:
            options = dict(re.findall(r"^ +(?:-\w, )?--([\w-]+)( \S+)?", self.run_ok(verb, "--help").text, re.M))
            for name, argument in options.items():
                if not any(other != name and other.startswith(name) for other in options):
                    continue
                found += 1
                result = sextant.run(verb, f"--{name}", *(["x"] if argument else []), stdin="")
                self.assertNotIn("ambiguous", result.err)
                self.assertNotIn("unknown option", result.err)
        self.assertGreater(found, 3)


if __name__ == "__main__":
    tap.main()
