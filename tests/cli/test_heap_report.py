"""heap for people: the report without options, short names, folded libraries, known leaks, sizes, changes, one address."""

import fcntl
import os
import re
import struct
import subprocess
import termios

from support import mlyze_writer, sextant, tap
from support.heap_oracle import START

STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
FUNCTIONS = {
    "main": "/app/main.cc", "load(int)": "/app/main.cc", "parse": "/app/parse.cc", "cut_off": "/app/parse.cc",
    f"{STRING}::_M_create(unsigned long&, unsigned long)": "/usr/include/c++/12/bits/basic_string.tcc",
    f"void {STRING}::_M_construct<char*>(char*, char*, std::forward_iterator_tag)":
        "/usr/include/c++/12/bits/basic_string.tcc",
    f"{STRING}::basic_string({STRING} const&)": "/usr/include/c++/12/bits/basic_string.h",
    "std::sort<int*>(int*, int*)": "/usr/include/c++/12/bits/stl_algo.h",
    "__libc_start_main_impl": "../csu/libc-start.c", "_start": "/usr/bin/app",
    "libstdc++.so.6+0xa57ba": "/lib/x86_64-linux-gnu/libstdc++.so.6", "call_init": "elf/dl-init.c",
    "_dl_init": "elf/dl-init.c",
    "ld-linux-x86-64.so.2+0x1aba0": "/lib64/ld-linux-x86-64.so.2", "__GI__IO_file_doallocate": "libio/filedoalloc.c",
    "_IO_new_file_xsputn": "libio/fileops.c", "__GI__IO_puts": "libio/ioputs.c", "_nl_load_locale": "locale/loadlocale.c",
    "setlocale": "locale/setlocale.c", "dl_open_worker": "elf/dl-open.c", "__dlopen": "dlfcn/dlopen.c",
    "__GI___strdup": "string/strdup.c", "_IO_getdelim": "libio/iogetdelim.c", "__fopen_internal": "libio/iofopen.c",
    "plugin_init": "/app/plugin.cc", "libc.so.6+0x8a1b2": "/lib/x86_64-linux-gnu/libc.so.6",
    "tzset": "/lib/x86_64-linux-gnu/libc.so.6",
    "git+0x1234": "/usr/bin/git", "inflate": "/lib/x86_64-linux-gnu/libz.so.1",
    "(anonymous namespace)::pool::pool()": "/build/libstdc++-v3/libsupc++/eh_alloc.cc",
    "__nss_module_allocate": "nss/nss_module.c", "getpwuid": "nss/getXXbyYY.c",
    "_GLOBAL__sub_I_eh_alloc.cc": "/usr/bin/static", "__libc_csu_init": "/usr/bin/static",
}  # fmt: skip
NAMES = list(FUNCTIONS)
FILES = sorted(set(FUNCTIONS.values()))
MAIN = ["main", "__libc_start_main_impl", "_start"]


def stack_of(functions, line=7):
    """Frames; code of a loaded file has no lines."""
    return [(FILES.index(FUNCTIONS[name]), 0 if ".so" in FUNCTIONS[name] or "/bin/" in FUNCTIONS[name] else line,
             NAMES.index(name))
            for name in functions]  # fmt: skip


class ReportTest(sextant.ProgramTest):
    def trace(self, stacks, events=None, **extra):
        """A trace; without EVENTS, each stack allocates 100, 99, ... bytes and leaks them."""
        metadata = mlyze_writer.metadata([stack_of(stack) for stack in stacks], FILES, NAMES, **extra)
        if events is None:
            events = [("alloc", START + 10 * i, 0x1000 * (i + 1), 100 - i, i, 0) for i in range(len(stacks))]
        return self.file("t.mlyze", mlyze_writer.plain(events, START, metadata))

    def text(self, path, *options):
        return self.run_ok("heap", path, *options).text


class Numbers(ReportTest):
    def test_one_is_singular_and_thousands_are_separated(self):
        events = [("alloc", START + 1, 16, 1, 0, 0), ("alloc", START + 5, 32, 4321, 1, 0), ("free", START + 9, 32)]
        path = self.trace([["load(int)", *MAIN], ["parse", *MAIN]], events)
        small = self.file("small.mlyze", mlyze_writer.plain(events[:1], START, mlyze_writer.metadata()))
        self.assertRegex(self.text(path), r"(?m)^leaked +1 byte +1 byte in 1 block$")
        self.assertRegex(self.text(path), r"(?m)^time .* 3 events: 1 free$")
        self.assertIn("\nafter 3 us: 1 byte in 1 block\n", "\n" + self.text(path, "--at", "3us"))
        self.assertIn("\nchange: +1 byte, +1 block\n", self.text(path, "--between", "0us", "3us"))
        self.assertIn("\nchange: +4,322 bytes, +2 blocks\n", self.text(path, "--between", "0us", "6us"))
        result = sextant.run("heap", path, "--focus", "parse")
        self.assertTrue(result.text.startswith("filtered: 4,321 of 4,322 bytes allocated, in 1 of 2 blocks\n"), result)
        self.assertIn("filtered: 4,321 of 4,322 bytes", sextant.run("heap", path, "--focus", "parse", "--folded").err)
        self.assertIn("filtered: 0 of 1 byte allocated, in 0 of 1 block\n", sextant.run("heap", small, "--focus", "x").text)
        rules = self.file("rules", b"leak:load")
        self.assertIn("\n1 byte in 1 block is suppressed\n", self.text(path, "--leaks", "--suppressions", rules))
        self.assertIn("\n0 of 1 row\n", self.text(path, "--leaks", "-n", "0"))
        folder = self.folder / "one"
        folder.mkdir()
        (folder / "a.mlyze").write_bytes(path.read_bytes())
        self.assertIn("\n1 process\n\npeak", self.text(folder))
        table = sextant.run("diff", small, path, "--markdown").text
        self.assertIn("**Heap: +4,321 bytes at the peak**: 2 stacks added, 1 removed", table)
        self.assertIn("<summary>3 of 3 stacks that changed</summary>", table)


class CutStacks(ReportTest):
    """A stack that the recorder cut ends with [truncated]."""

    def setUp(self):
        super().setUp()
        files, functions = ["/app/main.c", "?", "csu/libc-start.c", "/usr/bin/python3"], ["main", "down", "leaf",
            "[truncated]", "__libc_start_main_impl", "_PyEval_EvalFrameDefault"]  # fmt: skip
        end = [(2, 3, 4)]
        stacks = [[(0, 9, 2), *[(0, 8, 1)] * 6, (0, 3, 0), *end], [(0, 9, 2), *[(0, 8, 1)] * 127, (1, 0, 3)],
                  [(0, 9, 2), *[(0, 8, 1)] * 2, *end * 125, (1, 0, 3)], [(3, 0, 5)] * 128 + [(1, 0, 3)]]  # fmt: skip
        events = [("alloc", START + i, 16 * i + 16, (1, 500, 20, 3)[i], i, 0) for i in range(4)]
        self.path = self.file("t.mlyze", mlyze_writer.plain(events, START,
                                                            mlyze_writer.metadata(stacks, files, functions)))

    def rows(self, *options):
        """The stacks of a table: {bytes: lines}."""
        rows, of = {}, None
        for line in self.text(self.path, *options).splitlines():
            found = re.match(r" +(\d+) +\d+ +[\d.]+ % +\d+  (.*)", line)
            if found:
                of = rows[int(found[1])] = [found[2]]
            elif of and line.startswith(" " * 20):
                of.append(line.strip())
            else:
                of = None
        return rows

    def test_it_is_shown(self):
        for options in ((), ("--leaks",), ("--top", "--frames", "4"), ("--peak", "--show-library"), ("--leaks", "--wide"),
                        ("--top", "--all")):  # fmt: skip
            rows = self.rows(*options)
            self.assertEqual(sorted(rows), [1, 3, 20, 500], options)
            cut = [size for size, lines in rows.items() if lines[-1].startswith("[truncated]")]
            self.assertEqual(cut, [500, 20, 3], options)
            self.assertEqual(sum("[truncated]" in line for lines in rows.values() for line in lines), 3, options)
        self.assertEqual(self.rows("--leaks", "--frames", "2"),
                         {1: ["leaf  /app/main.c:9", "down  /app/main.c:8", "... 6 more"],
                          520: ["leaf  /app/main.c:9", "down  /app/main.c:8", "... in 2 stacks", "[truncated]"],
                          3: [*["_PyEval_EvalFrameDefault"] * 2, "... 126 more", "[truncated]"]})  # fmt: skip
        self.assertEqual(self.rows("--leaks")[3][:2], ["_PyEval_EvalFrameDefault"] * 2, "no user code: as it is")
        self.assertEqual(self.rows("--leaks", "--depth", "2"), {521: ["leaf  /app/main.c:9", "down  /app/main.c:8"],
                                                                3: ["_PyEval_EvalFrameDefault"] * 2})  # fmt: skip

    def test_sums_by_function_say_how_much(self):
        for key in ("function", "file"):
            text = self.text(self.path, "--by", key, "-n", "1")
            said = "\n523 bytes are in stacks that were cut: their outer callers are not known\n"
            self.assertTrue(text.endswith(said), text)
            self.assertNotIn("cut", self.text(self.path, "--by", key, "--focus", "main$"))
            self.assertNotIn("cut", self.text(self.path, "--by", key, "--depth", "2"))
        text = self.text(self.path, "--by", "function", "--cost", "count")
        self.assertIn("\n3 blocks are in stacks that were cut", text)
        rows = self.run_ok("heap", self.path, "--by", "function", "--json").json_lines()
        self.assertEqual({row["function"]: row["inclusive"] for row in rows}["[truncated]"], 523)

    def test_differences_show_it(self):
        empty = self.file("e.mlyze", mlyze_writer.plain([], START, mlyze_writer.metadata([], [], [])))
        self.assertEqual(self.run_ok("diff", empty, self.path).text.count("[truncated]\n"), 3)
        table = self.run_ok("diff", empty, self.path, "--markdown").text
        self.assertEqual(table.count("<br>120 more<br>[truncated] |\n"), 3, table)


class Summary(ReportTest):
    def setUp(self):
        super().setUp()
        events = [("alloc", START + 10, 0x1000, 5000, 0, 0), ("alloc", START + 20, 0x9000, 3000, 1, 0), ("free",
            START + 30, 0x1000)]
        events += [("alloc", START + 40 + i, 0x20000, 900, 2, 0) for i in range(9)] + [("free", START + 90, 0x20000)]
        self.path = self.trace([["load(int)", *MAIN], ["parse", *MAIN], ["cut_off", *MAIN]], events)

    def test_peak_leaks_and_allocations_have_their_sites(self):
        text = self.run_ok("heap", self.path).text
        parts = re.split(r"\n\n(live at the peak|leaked|allocated)\n", text)
        self.assertEqual(parts[1::2], ["live at the peak", "leaked", "allocated"])
        first = [re.search(r"\n *([\d,]+) +[\d,]+ +[\d.]+ % +(\d+)  (\S+)", part).groups() for part in parts[2::2]]
        self.assertEqual(first, [("5,000", "0", "load(int)"), ("3,000", "1", "parse"), ("8,100", "2", "cut_off")])
        self.assertRegex(parts[0], r"peak +8\.00 kB +8,000 bytes in 2 blocks")
        self.assertRegex(parts[0], r"leaked +3\.00 kB +3,000 bytes in 1 block\n")

    def test_a_kilobyte_is_1000_bytes(self):
        for size, shown in ((999, "999 bytes"), (1, "1 byte"), (1999, "1,999 bytes"), (2000, "2.00 kB"), (10240, "10.2 kB"),
                            (1 << 20, "1.05 MB"), (999_600, "1.00 MB"), (10**9, "1.00 GB"), (5 * 10**12,
                                "5.00 TB")):  # fmt: skip
            path = self.trace([["main"]], [("alloc", START, 0x1000, size, 0, 0)])
            self.assertRegex(self.text(path), rf"peak +{shown} +{size:,} byte")

    def test_one_thing_is_not_plural(self):
        text = self.text(self.trace([["main"]], [("alloc", START, 0x1000, 1, 0, 0), ("free", START + 1, 0x1000)]))
        self.assertIn("1 byte in 1 block,", text)
        self.assertIn("2 events: 1 free\n", text)
        self.assertNotRegex(text, r"\b1 (bytes|blocks|events|frees|stacks|rows)\b")

    def test_limits(self):
        path = self.trace([[name, *MAIN] for name in ("load(int)", "parse", "cut_off", "plugin_init", "git+0x1234",
                                                      "inflate")])
        self.assertEqual(self.text(path).count("5 of 6 rows"), 3)
        self.assertEqual(self.text(path, "-n", "2").count("2 of 6 rows"), 3)
        self.assertNotIn("rows", self.text(path, "--all"))

    def test_ids_can_be_used(self):
        text = self.text(self.path, "--leaks")
        number = re.search(r"% +(\d+)  parse", text)[1]
        self.assertIn("3,000 bytes", self.text(self.path, "--stack", number))


class Names(ReportTest):
    STACK = [f"{STRING}::_M_create(unsigned long&, unsigned long)",
             f"void {STRING}::_M_construct<char*>(char*, char*, std::forward_iterator_tag)",
             f"{STRING}::basic_string({STRING} const&)", "load(int)", *MAIN]  # fmt: skip

    def test_template_arguments_are_folded(self):
        path = self.trace([self.STACK])
        for options in ((), ("--leaks",), ("--tree",), ("--bottom-up",), ("--by", "function"), ("--stack", "0")):
            text = self.text(path, *options)
            self.assertIn("std::basic_string<>", text)
            self.assertNotIn("char_traits", text)
            self.assertIn("char_traits", self.text(path, *options, "--wide"))
        (row,) = self.run_ok("heap", path, "--leaks", "--json").json_lines()
        self.assertEqual([frame["function"] for frame in row["frames"]], self.STACK)

    def test_library_frames_are_folded_until_user_code(self):
        path = self.trace([self.STACK])
        lines = self.text(path, "--leaks").splitlines()
        self.assertEqual([line.split(" 0  ", 1)[-1].strip() for line in lines[1:4]],
                         ["std::basic_string<>::basic_string(std::basic_string<> const&)", "load(int)  /app/main.cc:7",
                          "main  /app/main.cc:7"])  # fmt: skip
        self.assertEqual(len(lines), 4)
        text = self.text(path, "--leaks", "--show-library")
        for name in ("_M_create", "_M_construct", "_start", "__libc_start_main_impl"):
            self.assertIn(name, text)

    def test_library_frames_between_user_code_are_folded(self):
        text = self.text(self.trace([["cut_off", "std::sort<int*>(int*, int*)", "parse", *MAIN]]), "--leaks")
        self.assertIn("std::sort<>(int*, int*)\n", text)
        self.assertNotIn("_start", text)

    def test_a_stack_without_user_code_is_shown_as_it_is(self):
        text = self.text(self.trace([["__GI___strdup", "__libc_start_main_impl", "_start"]]), "--leaks")
        for name in ("__GI___strdup", "__libc_start_main_impl", "_start"):
            self.assertIn(name, text)

    def test_the_cut_of_frames(self):
        deep = [["parse"] * 30 + MAIN]
        path = self.trace(deep)
        self.assertEqual(self.text(path, "--leaks").count("parse  /app"), 8)
        self.assertIn("... 23 more\n", self.text(path, "--leaks"))
        self.assertEqual(self.text(path, "--leaks", "--frames", "3").count("parse  /app"), 3)
        self.assertEqual(self.text(path, "--leaks", "--frames", "100").count("parse  /app"), 30)
        self.assertEqual(self.text(path, "--leaks", "--all").count("parse  /app"), 30)

    def test_rows_that_look_the_same_are_one(self):
        stacks = [["parse"] * 30 + ["load(int)"] * i + MAIN for i in range(5)]
        text = self.text(self.trace(stacks), "--leaks")
        self.assertIn(f"{sum(100 - i for i in range(5)):,}", text)
        self.assertIn("... in 5 stacks\n", text)
        self.assertEqual(text.count("... in"), 1)
        self.assertEqual(len(self.run_ok("heap", self.folder / "t.mlyze", "--leaks", "--json").json_lines()), 5)

    def test_code_without_lines(self):
        text = self.text(self.trace([["inflate", "git+0x1234"]]), "--leaks")
        self.assertIn("inflate  libz.so.1\n", text)
        self.assertIn(" git+0x1234\n", text)
        self.assertIn("/usr/bin/git", self.text(self.folder / "t.mlyze", "--leaks", "--wide"))

    def test_lines_fit_the_terminal(self):
        path = self.trace([self.STACK, ["load(int)", *MAIN]])
        for columns in (80, 120):
            out = self.on_terminal("heap", path, "--leaks", columns=columns)
            self.assertTrue(out)
            self.assertLessEqual(max(len(line) for line in out.splitlines()), columns)

    def on_terminal(self, *words, columns):
        leader, follower = os.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        child = subprocess.Popen([sextant.program(), *map(str, words)], stdout=follower, stdin=subprocess.DEVNULL)
        os.close(follower)
        out = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
        os.close(leader)
        self.assertEqual(child.wait(), 0)
        return out.decode().replace("\r", "")


class KnownLeaks(ReportTest):
    KNOWN = [
        ["libstdc++.so.6+0xa57ba", "call_init", "_dl_init", "ld-linux-x86-64.so.2+0x1aba0"],
        ["(anonymous namespace)::pool::pool()", "_GLOBAL__sub_I_eh_alloc.cc", "__libc_csu_init",
         "__libc_start_main_impl", "_start"],
        ["__GI__IO_file_doallocate", "_IO_new_file_xsputn", "__GI__IO_puts", *MAIN],
        ["__GI___strdup", "_nl_load_locale", "setlocale", *MAIN],
        ["ld-linux-x86-64.so.2+0x1aba0", "dl_open_worker", "__dlopen", "load(int)", *MAIN],
        ["libc.so.6+0x8a1b2", "tzset", "parse", *MAIN],
        ["__nss_module_allocate", "getpwuid", *MAIN],
    ]
    OURS = [
        ["__GI___strdup", *MAIN],
        ["_IO_getdelim", "parse", *MAIN],
        ["__fopen_internal", "load(int)", *MAIN],
        ["plugin_init", "call_init", "_dl_init", "dl_open_worker", "__dlopen", *MAIN],
        [f"{STRING}::_M_create(unsigned long&, unsigned long)", "plugin_init", "call_init", "_dl_init", "__dlopen", *MAIN],
        ["libc.so.6+0x8a1b2", "parse", *MAIN],
        [],
        ["parse"],
    ]

    def setUp(self):
        super().setUp()
        self.path = self.trace(self.KNOWN + self.OURS)

    def leaks(self, *options):
        return {row["stack"] for row in self.run_ok("heap", self.path, "--leaks", "--json", *options).json_lines()}

    def test_they_are_not_in_the_table(self):
        every = set(range(len(self.KNOWN + self.OURS)))
        self.assertEqual(self.leaks(), {i for i in every if i >= len(self.KNOWN)})
        self.assertEqual(self.leaks("--no-default-suppressions"), every)

    def test_totals_have_them(self):
        hidden = sum(100 - i for i in range(len(self.KNOWN)))
        (total,) = self.run_ok("heap", self.path, "--json").json_lines()
        self.assertEqual((total["suppressed_bytes"], total["suppressed_allocations"]), (hidden, len(self.KNOWN)))
        self.assertEqual(total["leaked_allocations"], len(self.KNOWN + self.OURS))
        (whole,) = self.run_ok("heap", self.path, "--json", "--no-default-suppressions").json_lines()
        self.assertEqual(whole["suppressed_bytes"], 0)
        self.assertEqual(whole["leaked_bytes"], total["leaked_bytes"])
        self.assertIn(f"{hidden} bytes in {len(self.KNOWN)} blocks are suppressed\n", self.text(self.path, "--leaks"))
        self.assertIn(f"of which {hidden} bytes suppressed\n", self.text(self.path))

    def test_files_of_suppressions_add_to_them(self):
        file = self.file("known", "# mine\nleak:parse.cc\nleak:^plugin_*t$\n")
        shown = self.leaks("--suppressions", file, "--no-default-suppressions")
        stacks = self.KNOWN + self.OURS
        expected = {i for i, stack in enumerate(stacks) if not {"parse", "cut_off", "plugin_init"} & set(stack)}
        self.assertEqual(shown, expected)
        self.assertEqual(self.leaks("--suppressions", file), {i for i in expected if i >= len(self.KNOWN)})
        (total,) = self.run_ok("heap", self.path, "--json", "--suppressions", file).json_lines()
        self.assertEqual(total["suppressed_allocations"], len(stacks) - len(self.leaks("--suppressions", file)))


class Order(ReportTest):
    def test_sizes_are_in_order(self):
        events = [("alloc", START + i, 0x1000 * (i + 1), size, 0, 0) for i, size in enumerate([300, 0, 5, 5, 70000, 1, 5])]
        path = self.trace([["main"]], events)
        rows = self.run_ok("heap", path, "--by", "size", "--json").json_lines()
        self.assertEqual([row["size"] for row in rows], ["0", "1", "4-7", "256-511", "65536-131071"])
        self.assertEqual([line.split()[-1] for line in self.text(path, "--by", "size").splitlines()[1:]],
                         [row["size"] for row in rows])

    def test_temporary_is_by_number(self):
        events, time = [], START
        for stack, times, size in ((0, 3, 1000), (1, 9, 10), (2, 5, 1)):
            for _ in range(times):
                time += 1
                events += [("alloc", time, 0x1000, size, stack, 0), ("free", time, 0x1000)]
        path = self.trace([["main"], ["parse"], ["cut_off"]], events)
        rows = self.run_ok("heap", path, "--temporary", "--json").json_lines()
        self.assertEqual([row["temporary_allocations"] for row in rows], [9, 5, 3])

    def test_growth_says_how_much(self):
        events = [("alloc", START + 1, 0x1000, 500, 0, 0), ("alloc", START + 2, 0x2000, 70, 1, 0), ("free", START + 20,
            0x1000),
                  ("alloc", START + 21, 0x3000, 30, 1, 0), ("alloc", START + 22, 0x4000, 400, 2, 0), ("alloc",
                      START + 23, 0x5000, 0, 3, 0)]  # fmt: skip
        path = self.trace([["main"], ["parse"], ["cut_off"], ["load(int)"]], events)
        total, *rows = self.run_ok("heap", path, "--between", "+10", "+30", "--json").json_lines()
        self.assertEqual([(row["stack"], row["growth_bytes"], row["growth_allocations"]) for row in rows],
                         [(2, 400, 1), (1, 30, 1), (3, 0, 1), (0, -500, -1)])  # fmt: skip
        self.assertEqual((total["before_bytes"], total["live_bytes"], total["growth_bytes"]), (570, 500, -70))
        text = self.text(path, "--between", "+10", "+30")
        self.assertIn("change: -70 bytes, +2 blocks\n", text)
        self.assertRegex(text, r"\n +\+400 +\+1 .*\n +\+30 ")
        self.assertRegex(text, r"\n +-500 +-1 ")


class Address(ReportTest):
    EVENTS = [
        ("alloc", START + 1, 0x1000, 64, 0, 2), ("alloc", START + 2, 0x2000, 64, 1, 0), ("free", START + 5, 0x1000),
        ("free", START + 6, 0x1010), ("alloc", START + 7, 0x1008, 16, 1, 1), ("alloc", START + 8, 0x1008, 9, 3, 1),
        ("free", START + 9, 0x1010), ("alloc", START + 10, 0x1010, 0, 0, 0), ("free", START + 12, 0x1008), ("free",
            START + 13, 0x2000),
    ]  # fmt: skip

    def setUp(self):
        super().setUp()
        # Stack 3 is shown like stack 0.
        self.path = self.trace([["parse", *MAIN], ["load(int)", *MAIN], ["main"], ["parse", *MAIN]], self.EVENTS,
                               threads={"2": "two"})

    def history(self, address):
        return self.run_ok("heap", self.path, "--address", address, "--json").json_lines()

    def test_every_block_that_has_it(self):
        rows = self.history("0x1010")
        keys = ["event", "time_us", "address", "size", "offset", "stack", "thread"]
        self.assertEqual([tuple(row[key] for key in keys) for row in rows], [
            ("alloc", START + 1, "0x1000", 64, 16, 0, 2), ("free", START + 5, "0x1000", 64, 16, 0, 2),
            ("free", START + 6, "0x1010", None, None, None, None),
            ("alloc", START + 7, "0x1008", 16, 8, 1, 1), ("free", START + 8, "0x1008", 16, 8, 1, 1),
            ("alloc", START + 8, "0x1008", 9, 8, 0, 1), ("free", START + 9, "0x1010", None, None, None, None),
            ("alloc", START + 10, "0x1010", 0, 0, 0, 0), ("free", START + 12, "0x1008", 9, 8, 0, 1)])  # fmt: skip
        self.assertEqual([row["implicit"] for row in rows if row["event"] == "free"], [False, False, True, False, False])
        self.assertEqual([row["unmatched"] for row in rows if row["event"] == "free"], [False, True, False, True, False])
        self.assertEqual([row["lifetime_us"] for row in rows if row["event"] == "free"], [4, None, 1, None, 4])
        self.assertEqual([frame["function"] for frame in rows[0]["frames"]], ["parse", *MAIN])

    def test_the_ends_of_a_block(self):
        self.assertEqual(len(self.history("2000")), 2)
        self.assertEqual(len(self.history("0x203f")), 2)
        self.assertEqual(self.history("0x2040"), [])
        self.assertEqual(self.history("0xffffffffffffffff"), [])

    def test_text(self):
        text = self.text(self.path, "--address", "0x1010")
        self.assertRegex(text, r"1 us +alloc +64 bytes at 0x1000, stack 0, thread 2 two\n +parse  /app/parse.cc:7\n")
        self.assertRegex(text, r"5 us +free +64 bytes at 0x1000, after 4 us\n")
        self.assertIn("the address was allocated again", text)
        self.assertIn("no block had the address 0x9\n", self.text(self.path, "--address", "9"))

    def test_nonsense(self):
        result = self.run_usage("heap", self.path, "--address", "xyz")
        self.assertIn("not a hexadecimal address: 'xyz'", result.err)
        self.run_usage("heap", self.path, "--address", "0x1", "--tree")
        self.run_usage("heap", self.path, "--address", "0x1", "--csv")


if __name__ == "__main__":
    tap.main()
