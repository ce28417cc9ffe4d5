"""ksym blobs as a user sees them: made from text, binaries and archives, looked up, dumped, converted, checked.

support/ksym_writer.py is a second writer of the format; nm is the judge of what a binary has.
"""

import gzip
import re

from support import elf_reader, ksym_writer, samples, sextant, tap

TEXT = """\
0000000000001000 T _start
0000000000001100 T do_fork
0000000000001200 T cpu_startup_entry
"""
# The worked example of the format, byte for byte as its first generator wrote it.
EXAMPLE = bytes.fromhex(
    "0300000000000000 0010000000000000 0011000000000000 0012000000000000 000000000900000013000000"
    "000000000200000001000000 2000000000000000 540600 5f7374617274 540700 646f5f666f726b 540a00 ff00ff 705f656e747279"
    "1700000000000000 6370755f737461727475 646f5f666f726b 5f7374617274 00 0300000000000000 000000000a00000011000000")
ALIASES = [(0x1000, "T", "first"), (0x1000, "t", "second"), (0x1000, "T", "third"), (0x1400, "t", "static_one"),
           (0x1800, "T", "in_module [ext4]"), (0x1900, "t", "in_module [xfs]"), (0x1a00, "T", "f() [clone .cold]"),
           (0x1b00, "t", "static_one")]


class KsymTest(sextant.ProgramTest):
    def make(self, text, *options, name="out.ksym"):
        self.run_done("archive", "-q", self.file("in.txt", text.encode()), "-o", self.folder / name, *options)
        return self.folder / name

    def run_done(self, *arguments):
        """A run that may warn."""
        done = sextant.run(*arguments)
        self.assertEqual(done.status, 0, done)
        return done

    def written(self, symbols, name="in.ksym", **keywords):
        return self.file(name, ksym_writer.write(symbols, **keywords))

    def symbols(self, file):
        return [(int(one["address"], 16), one["type"], one["name"])
                for one in self.run_ok("dump", "--json", file).json_lines()]


class Making(KsymTest):
    def test_dump_gives_back_what_came_in(self):
        for layout in ("seed", "0.6"):
            blob = self.make(TEXT, "--layout", layout)
            self.assertEqual(self.run_ok("dump", blob).text, TEXT)
            self.assertEqual(self.run_ok("info", "--json", blob).json_lines()[0]["layout"], layout)
            self.run_ok("verify", blob)

    def test_the_same_input_gives_the_same_bytes(self):
        blobs = {self.make(TEXT, name=f"{number}.ksym").read_bytes() for number in range(3)}
        self.assertEqual(len(blobs), 1)

    def test_only_text_symbols_unless_others_are_asked_for(self):
        text = "1000 T code\n1010 t own\n2000 D data\n2010 b bss\n3000 W weak\n4000 a absolute\n"
        for options, names in (((), ["code", "own"]), (("--types", "Db"), ["data", "bss"]),
                               (("--types", "all"), ["code", "own", "data", "bss", "weak", "absolute"])):
            self.assertEqual([one[2] for one in self.symbols(self.make(text, *options))], names)

    def test_functions_that_are_left_out_are_counted(self):
        text = "1000 T code\n1100 W weak\n1200 w own_weak\n1300 W other\n2000 D data\n2100 V weak_data\n2200 u unique\n"
        for extra, options, warning in (
                ("", (), "3 weak functions (W) left out; keep with --types TtWw"),
                ("1400 i f\n", (), "3 weak functions (W) and 1 indirect function (i) left out; keep with --types TtWwi"),
                ("", ("--types", "Tt"), None), ("", ("--types", "TtWw"), None)):
            source = self.file("in.txt", (text + extra).encode())
            done = self.run_done("archive", "-q", source, "-o", self.folder / "out.ksym", *options)
            self.assertEqual(done.err, f"sextant: {source}: warning: {warning}\n" if warning else "")
        self.assertEqual([one[2] for one in self.symbols(self.folder / "out.ksym")], ["code", "weak", "own_weak", "other"])
        only = self.file("in.txt", b"1000 T code\n1400 i chosen\n1500 D data\n")
        done = self.run_done("archive", only, "-o", self.folder / "out.ksym")
        self.assertIn("1 indirect function (i) left out; keep with --types Tti\n", done.err)
        self.assertIn("; 2 symbols of other types left out\n", done.err)
        done = self.run_done("archive", "--json", only, "-o", self.folder / "out.ksym")
        self.assertEqual(done.json_lines()[0]["left_out"], {"D": 1, "i": 1})
        done = self.run_ok("convert", "--json", self.written([(0x1000, "T", "a"), (0x1100, "W", "b")]), "-o",
                           self.folder / "out.ksym")
        self.assertEqual((done.json_lines()[0]["left_out"], done.err), ({}, ""))

    def test_standard_input_and_output(self):
        made = self.run_ok("archive", "-q", "-f", "ksym", "-", "-o", "-", stdin=TEXT)
        self.assertEqual(made.out, self.make(TEXT).read_bytes())

    def test_names_are_readable_unless_they_are_to_stay(self):
        text = "1000 T _ZN3std2io5printE\n1010 t _RNvC5crate4main\t[rusty]\n"
        readable = [one[2] for one in self.symbols(self.make(text))]
        self.assertEqual(readable, ["std::io::print", "crate::main [rusty]"])
        self.assertEqual([one[2] for one in self.symbols(self.make(text, "--mangled"))],
                         ["_ZN3std2io5printE", "_RNvC5crate4main [rusty]"])

    def test_a_module_stays_with_its_name(self):
        blob = self.make("ffffffffc0001000 t ext4_init\t[ext4]\n")
        self.assertEqual(self.run_ok("dump", blob).text, "ffffffffc0001000 t ext4_init [ext4]\n")
        self.assertEqual(self.run_ok("dump", "--json", blob).json_lines()[0]["module"], "ext4")

    def test_what_is_lost_is_reported(self):
        long = "x" * 70000
        text = b"1000 T fine\nnonsense here\n1100 T bad\xff\xfename\n1200 T\n1300 T " + long.encode() + b"\n"
        made = sextant.run("archive", "-q", self.file("in.txt", text), "-o", self.folder / "out.ksym")
        self.assertEqual(made.status, 0, made)
        self.assertEqual([one[2] for one in self.symbols(self.folder / "out.ksym")], ["fine"])
        self.assertEqual(len(made.err.splitlines()), 4, made)

    def test_addresses_that_may_not_be_seen(self):
        failed = self.run_error("archive", self.file("in.txt", b"0 T a\n0 T b\n"), "-o", self.folder / "out.ksym")
        self.assertIn("as root", failed.err)
        self.assertFalse((self.folder / "out.ksym").exists())

    def test_nothing_of_the_types_that_were_asked_for(self):
        failed = self.run_error("archive", self.file("in.txt", b"1000 D a\n"), "-o", self.folder / "out.ksym")
        self.assertIn("--types", failed.err)

    def test_usage(self):
        text = self.file("in.txt", TEXT.encode())
        for options in (("--types", "T,t"), ("--types", ""), ("--layout", "0.7"), ("--no-lines",), ("--compat",),
                        ("--path-map", "a=b")):
            self.run_usage("archive", text, "-o", self.folder / "out.ksym", *options)
        self.run_usage("archive", text, "-o", self.folder / "out.lidia", "--types", "T")
        self.run_usage("archive", text, text, "-o", self.folder / "out.ksym")


class Binaries(KsymTest):
    def nm(self, path, *options):
        sextant.need_tool("nm")
        return ksym_writer.read_text(sextant.tool("nm", "-n", *options, path).decode())

    def check(self, path, *nm_options):
        code = {one.name.decode() for one in elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
                if one.type in (elf_reader.STT_FUNC, elf_reader.STT_GNU_IFUNC)}
        for types, wanted in (((), "Tt"), (("--types", "all"), None), (("--types", "WV"), "WV")):
            expected = [one for one in self.nm(path, *nm_options)
                        if wanted is None or one[1] in wanted or (wanted == "Tt" and one[2] in code)]
            if not expected:
                continue
            blob = self.folder / "out.ksym"
            self.run_ok("archive", "-q", "--mangled", path, "-o", blob, *types)
            self.assertEqual(sorted(set(self.symbols(blob))), sorted(set(expected)))

    def test_what_nm_lists(self):
        source = """
            int common_one; static int zero; int data = 3; const int constant = 5; _Thread_local int local_one;
            __attribute__((weak)) int weak_data = 1; __attribute__((weak)) int weak(void) { return zero++; }
            static int own(int x) { return x * data; } int twice(int x) { return own(x) + weak() + local_one; }
            int main(int n, char **v) { (void)v; return twice(n) + common_one + constant; }"""
        for flags in ((), ("-static",), ("-shared", "-fPIC"), ("-O2", "-ffunction-sections")):
            with self.subTest(flags=flags):
                self.check(samples.compile_c(self.folder, "program", *flags, source=source))

    def test_a_stripped_library_has_its_dynamic_symbols(self):
        sextant.need_tool("strip")
        path = samples.compile_c(self.folder, "lib.so", "-shared", "-fPIC", source="int f(void) { return 1; }")
        sextant.tool("strip", path)
        blob = self.folder / "out.ksym"
        self.run_ok("archive", "-q", path, "-o", blob)
        self.assertEqual(self.symbols(blob), [one for one in self.nm(path, "-D", "--defined-only") if one[1] in "Tt"])

    def test_weak_and_indirect_functions_of_a_binary(self):
        path = samples.compile_c(self.folder, "program", "-static", "-O1", source="""
            static int one(void) { return 1; } static int (*choose(void))(void) { return one; }
            int indirect(void) __attribute__((ifunc("choose"))); __attribute__((weak)) int weak_data = 1;
            __attribute__((weak, noinline)) int weak(int x) { return x * 3 + weak_data; }
            __asm__(".text; .weak bare; bare: nop; nop; .data; .weak bare_data; bare_data: .long 1; .text");
            int main(int n, char **v) { (void)v; return weak(n) + indirect(); }""")
        blob = self.folder / "out.ksym"
        self.run_ok("archive", "-q", path, "-o", blob)
        types = {name: kind for _, kind, name in self.symbols(blob)}
        self.assertEqual([types.get(name) for name in ("weak", "bare", "indirect", "main")], ["W", "W", "i", "T"])
        for name in ("weak_data", "bare_data", "data_start"):
            self.assertNotIn(name, types)
        start = next(address for address, _, name in self.symbols(blob) if name == "weak")
        self.assertEqual(self.lookup(blob, [start + 1])[0]["frames"][0]["function"], "weak")

    def test_instances_of_templates(self):
        path = samples.compile_c(self.folder, "cpp", language="cpp", source="""
            template <typename T> __attribute__((noinline)) T twice(T x) { static T sum; sum += x; return 2 * sum; }
            int main(int count, char **) { return twice(count) + (int)twice(count * 1.5); }""")
        blob = self.folder / "out.ksym"
        self.run_ok("archive", "-q", path, "-o", blob)
        names = [one[2] for one in self.symbols(blob)]
        self.assertIn("int twice<int>(int)", names)
        self.assertIn("double twice<double>(double)", names)
        self.assertFalse([name for name in names if "sum" in name], "static data of a template (u) is not code")
        done = self.run_done("archive", "-q", self.file("nm.txt", sextant.tool("nm", path)), "-o", blob)
        self.assertRegex(done.err, r"warning: \d+ weak functions \(W\) left out; keep with --types TtWw\n$")

    def test_one_from_text_and_one_from_the_binary_are_the_same(self):
        path = samples.compile_c(self.folder, "program")
        sextant.need_tool("nm")
        text = self.make(sextant.tool("nm", "-n", path).decode(), "--types", "Tt", name="text.ksym")
        self.run_ok("archive", "-q", "--types", "Tt", path, "-o", self.folder / "binary.ksym")
        self.assertEqual(sorted(self.symbols(text)), sorted(self.symbols(self.folder / "binary.ksym")))

    def test_functions_of_archives(self):
        path = samples.compile_c(self.folder, "program", "-g", "-O1")
        archive = self.archive(path)
        self.run_ok("archive", "-q", path, "-o", self.folder / "program.symbfile")
        functions = {(int(row["va"], 16), row["function"])
                     for row in self.run_ok("dump", "--json", archive).json_lines() if row["depth"] == 0}
        for source in (archive, self.folder / "program.symbfile"):
            for verb in ("archive", "convert"):
                self.run_ok(verb, "-q", source, "-o", self.folder / "out.ksym")
                self.assertEqual({(address, name) for address, _, name in self.symbols(self.folder / "out.ksym")},
                                 functions)


class Looking(KsymTest):
    def answers(self, blob, addresses, *options):
        return [[(frame["function"], int(frame["start"], 16)) for frame in one["frames"]]
                for one in self.lookup(blob, addresses, *options)]

    def test_the_worked_example(self):
        blob = self.file("example.ksym", EXAMPLE)
        self.assertEqual(len(EXAMPLE), 148)
        self.assertEqual(self.run_ok("dump", blob).text, TEXT)
        got = self.answers(blob, [0xfff, 0x1000, 0x10ff, 0x1100, 0x1200, 0x12ff, 0x1300], "--text", "1000-1300")
        self.assertEqual(got, [[], [("_start", 0x1000)], [("_start", 0x1000)], [("do_fork", 0x1100)],
                               [("cpu_startup_entry", 0x1200)], [("cpu_startup_entry", 0x1200)], []])

    def test_the_first_alias_at_every_offset(self):
        for layout in ("seed", "0.6"):
            blob = self.written(ALIASES, layout=layout)
            for address in range(0x1000, 0x1400, 0x11):
                self.assertEqual(self.answers(blob, [address]), [[("first", 0x1000)]])

    def test_bounds(self):
        blob = self.written(ALIASES)
        self.assertEqual(self.answers(blob, [0xfff, 0x1bff, 0x1fff, 0x2000]),
                         [[], [("static_one", 0x1b00)], [("static_one", 0x1b00)], []])
        self.assertEqual(self.answers(blob, [0x1000, 0x14ff, 0x1500, 0x1800], "--text", "0x1400-0x1500"),
                         [[], [("static_one", 0x1400)], [], []])
        for wrong in ("1", "1000-", "-1000", "2000-1000", "1000-1000", "x-y"):
            self.run_usage("lookup", blob, "--text", wrong, "1000")
        path = samples.compile_c(self.folder, "program")
        self.run_usage("lookup", path, "--text", "1000-2000", "1000")

    def test_names(self):
        blob = self.written(ALIASES)
        for name, wanted in (("third", [(0x1000, 0x400, "T")]), ("static_one", [(0x1400, 0x400, "t"), (0x1b00, 0x500, "t")]),
                             ("in_module", [(0x1800, 0x100, "T"), (0x1900, 0x100, "t")]),
                             ("in_module [xfs]", [(0x1900, 0x100, "t")]), ("f() [clone .cold]", [(0x1a00, 0x100, "T")])):
            found = self.run_ok("lookup", "--json", "--name", name, blob).json_lines()
            self.assertEqual([(int(one["address"], 16), one["size"], one["type"]) for one in found], wanted, name)
        for name in ("", "a", "zzz", "f()", "in_modul", "first "):
            self.run_error("lookup", "--name", name, blob)

    def test_a_frame_has_size_offset_type_and_module(self):
        for layout in ("seed", "0.6"):
            blob = self.written(ALIASES, layout=layout)
            for address, wanted in ((0x1000, ("first", 0x400, 0, "T", None)), (0x13ff, ("first", 0x400, 0x3ff, "T", None)),
                                    (0x1410, ("static_one", 0x400, 0x10, "t", None)),
                                    (0x1804, ("in_module [ext4]", 0x100, 4, "T", "ext4")),
                                    (0x1900, ("in_module [xfs]", 0x100, 0, "t", "xfs")),
                                    (0x1a01, ("f() [clone .cold]", 0x100, 1, "T", None)),
                                    (0x1b01, ("static_one", 0x500, 1, "t", None))):
                frame, = self.lookup(blob, [address])[0]["frames"]
                self.assertEqual(tuple(frame[key] for key in ("function", "size", "offset", "type", "module")), wanted)
            self.assertEqual(self.lookup(blob, [0xfff])[0]["frames"], [])
        found = self.run_ok("lookup", "--json", "--name", "in_module", self.written(ALIASES)).json_lines()
        self.assertEqual([one["module"] for one in found], ["ext4", "xfs"])
        elf = samples.compile_c(self.folder, "program")
        main, = self.run_ok("lookup", "--json", "--name", "main", elf).json_lines()
        self.assertNotIn("offset", self.lookup(elf, [int(main["address"], 16)])[0]["frames"][0])

    def explained(self, blob, address, *options):
        answer, = self.run_ok("lookup", "--json", "--explain", *options, blob, hex(address)).json_lines()
        return answer["explanation"]

    def test_explanations(self):
        blob = self.written(ALIASES)
        for address in (0x1000, 0x1123):
            found = self.explained(blob, address)
            frame, = found["frames"]
            self.assertEqual((frame["function"], frame["record"], frame["start"], frame["end"], frame["index"]),
                             ("first", "symbol", "0x1000", "0x1400", 0))
            self.assertEqual(frame["aliases"], ["second", "third"])
            content = blob.read_bytes()
            entry = int(frame["entry"], 16)
            self.assertEqual(int.from_bytes(content[entry:entry + 8], "little"), 0x1000)
            record = int(re.search(r"record at (0x[0-9a-f]+)", frame["name_from"])[1], 16)
            self.assertEqual(content[record:record + 1], b"T")
            self.assertIn("names and addresses only", found["why"])
        for address, options, words in ((0xfff, (), ("outside of the text", "'first' starts 0x1 bytes after it")),
                                        (0x2345, (), ("outside of the text", "0x1000-0x2000", "'static_one' ends 0x345")),
                                        (0x1404, ("--text", "1500-1600"), ("0x1500-0x1600",))):
            found = self.explained(blob, address, *options)
            self.assertEqual(found["frames"], [])
            for word in words:
                self.assertIn(word, found["why"])
        self.assertIn("no rows", self.explained(self.written([], name="empty.ksym"), 0x1000)["why"])
        self.assertIn("also   second, third\n", self.run_ok("lookup", "--explain", blob, "1000").text)

    def test_explanations_of_every_symbol(self):
        text = "".join(f"{0x1000 + 16 * (i // 3):x} t common_prefix_of_all_{i % 40}\n" for i in range(300))
        blob = self.make(text)
        self.assertIn("token", self.explained(blob, 0x1000)["frames"][0]["name_from"])
        addresses = range(0xff8, 0x1700, 8)
        for line in self.run_ok("lookup", "--json", "--explain", blob, *map(hex, addresses)).json_lines():
            self.assertEqual([one["function"] for one in line["frames"]],
                             [one["function"] for one in line["explanation"]["frames"]])

    def test_a_compressed_blob(self):

        blob = self.file("in.ksym.gz", gzip.compress(ksym_writer.write(ALIASES)))
        self.assertEqual(self.answers(blob, [0x1401]), [[("static_one", 0x1400)]])


class Converting(KsymTest):
    def plain_frames(self, file, address):
        """What both kinds of archive know of a frame."""
        keys = ("function", "file", "line", "start", "inlined")
        return [[{key: frame[key] for key in keys} for frame in one["frames"]] for one in self.lookup(file, [address])]

    def test_into_ranges_and_back(self):
        blob = self.written(ALIASES)
        for format in ("lidia", "symbfile"):
            out, again = self.folder / f"out.{format}", self.folder / "again.ksym"
            self.run_ok("convert", blob, "-o", out)
            for address in range(0xff0, 0x2010, 0x10):
                self.assertEqual(self.plain_frames(out, address), self.plain_frames(blob, address))
            self.run_ok("convert", "-q", out, "-o", again)
            self.assertEqual([(one[0], one[2]) for one in self.symbols(again)],
                             [(one[0], one[2]) for one in ALIASES if one[2] not in ("second", "third")])

    def test_between_the_layouts_and_several_into_one(self):
        one, two = self.written(ALIASES[:4]), self.written(ALIASES[4:], name="two.ksym", layout="0.6")
        out = self.folder / "out.ksym"
        self.run_ok("convert", "-q", one, two, "-o", out, "--layout", "0.6")
        self.assertEqual(self.symbols(out), ALIASES)
        self.run_ok("convert", "-q", out, "-o", out, "--types", "t")
        self.assertEqual(self.symbols(out), [one for one in ALIASES if one[1] == "t"])

    def test_text_but_no_binaries(self):
        text = self.file("in.txt", TEXT.encode())
        self.run_ok("convert", "-q", text, "-o", self.folder / "out.ksym")
        self.assertEqual(self.run_ok("dump", self.folder / "out.ksym").text, TEXT)
        failed = self.run_error("convert", samples.compile_c(self.folder, "program"), "-o", self.folder / "out.ksym")
        self.assertIn("sextant archive", failed.err)


class Bad(KsymTest):
    def test_cut_off_at_every_byte(self):
        for layout in ("seed", "0.6"):
            whole = ksym_writer.write(ALIASES, layout=layout)
            files = [self.file(f"{size}.ksym", whole[:size]) for size in range(1, len(whole))]
            done = sextant.run("verify", *files)
            self.assert_no_crash(done)
            self.assertEqual(done.status, 1)
            for path in files:
                self.assertIn(f"{path.name}: ", done.err + done.text)
            self.assertNotIn(": good", done.text)

    def test_every_byte_changed(self):
        whole = bytearray(ksym_writer.write(ALIASES))
        files = []
        for at in sextant.some(range(len(whole))):
            for value in (0, 0xff, whole[at] ^ 1, whole[at] ^ 0x80):
                changed = bytearray(whole)
                changed[at] = value
                files.append(self.file(f"{at}-{value}.ksym", bytes(changed)))
        for begin in range(0, len(files), 200):
            for verb in ("verify", "info"):
                self.assert_no_crash(sextant.run(verb, *files[begin:begin + 200], limit_memory=True))
        for path in files[::17]:
            for command in (("dump", path), ("lookup", path, "1000", "1401", "1fff"), ("lookup", "--name", "third", path)):
                self.assert_no_crash(sextant.run(*command, limit_memory=True))

    def test_problems_have_rules_and_places(self):
        symbols = [(address, kind, name.encode()) for address, kind, name in ALIASES[:3]]
        records = b"".join(b"T" + bytes([len(name), 0]) + name for _, _, name in symbols)
        offsets = [0, 8, 17]
        good = ksym_writer.assemble([0x1000] * 3, offsets, [0, 1, 2], records, [])
        self.assertEqual(self.run_ok("verify", "--json", self.file("good.ksym", good)).text, "")
        wrong = ksym_writer.assemble([0x1000] * 3, offsets, [2, 1, 0], records, [])
        found = sextant.run("verify", "--json", self.file("wrong.ksym", wrong))
        self.assertEqual(found.status, 1)
        self.assertEqual({one["rule"] for one in found.json_lines()}, {"name-order"})


class Kernel(KsymTest):
    def test_the_symbols_of_this_kernel_survive(self):
        try:
            text = open("/proc/kallsyms", encoding="utf-8").read()
        except OSError:
            self.skipTest("no /proc/kallsyms here")
        expected = sorted(ksym_writer.read_text(text), key=lambda one: one[0])
        if not expected or all(address == 0 for address, _, _ in expected):
            self.skipTest("addresses are not shown")
        blob = self.folder / "out.ksym"
        self.run_ok("archive", "-q", "--mangled", "--types", "all", "/proc/kallsyms", "-o", blob)
        self.assertEqual(self.symbols(blob), expected)
        self.run_ok("verify", blob)


if __name__ == "__main__":
    tap.main()
