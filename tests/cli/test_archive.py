"""`sextant archive`: what goes in, what comes out, and that an output appears whole or not at all."""

import json
import os
import stat
import subprocess
import unittest

from support import elf_reader as elf
from support import go_table, lidia_reference, samples, sextant, tap
from support.elf_writer import ElfWriter, symbol_file
from support.lidia_reference import LidiaFile

THREE = [("helper", 0x401060, 16), ("_start", 0x401000, 32), ("main", 0x401020, 64)]


class ArchiveTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.elf = self.file("three.elf", symbol_file(THREE))

    def rows(self, source, *options):
        """The rows of the archive of SOURCE, which must be whole."""
        path = self.file("in.elf", source) if isinstance(source, bytes) else source
        made = LidiaFile(self.archive(path, *options).read_bytes())
        made.check()
        return [(row.address, row.length, row.name.decode()) for row in made.rows()]


class Outputs(ArchiveTest):
    def test_the_format_follows_from_the_name_or_from_the_option(self):
        by_name = self.archive(self.elf).read_bytes()
        by_option = self.archive(self.elf, "-f", "lidia", name="out.bin").read_bytes()
        by_long_option = self.archive(self.elf, "--format=lidia", name="out2").read_bytes()
        self.assertEqual(by_name[:4], b".dia")
        self.assertEqual(by_name, by_option)
        self.assertEqual(by_name, by_long_option)

    def test_a_name_without_a_format_is_wrong_usage(self):
        self.run_usage("archive", self.elf, "-o", self.folder / "out.xyz")
        self.run_usage("archive", self.elf, "-o", self.folder / "out")
        self.run_usage("archive", self.elf, "-f", "nonsense", "-o", self.folder / "out.lidia")

    def test_standard_output(self):
        expected = self.archive(self.elf).read_bytes()
        result = sextant.run("archive", self.elf, "-f", "lidia", "-o", "-")
        self.assertEqual((result.status, result.out), (0, expected))

    def test_the_summary_has_the_size_of_what_went_to_standard_output(self):
        for form in ("lidia", "symbfile", "returnpads"):
            result = sextant.run("archive", self.elf, "-f", form, "-o", "-", "--json")
            self.assertEqual(result.status, 0, f"\n{result}")
            self.assertEqual(json.loads(result.err)["size"], len(result.out))

    def test_standard_input(self):
        """Everything is as in an archive of the file, except for the path of the binary."""
        expected = self.archive(self.elf)
        path = self.folder / "from-stdin.lidia"
        result = sextant.run("archive", "-", "-o", path, stdin=self.elf.read_bytes())
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertEqual(path.read_bytes().partition(b"sxtc")[0], expected.read_bytes().partition(b"sxtc")[0])
        of_file, of_stream = self.run_ok("info", "--json", expected, path).json_lines()
        self.assertEqual(of_file.pop("path"), str(self.elf))
        self.assertNotIn("path", of_stream)
        for key in ("file", "size"):
            of_file.pop(key), of_stream.pop(key)
        self.assertEqual(of_stream, of_file)

    def test_two_runs_give_the_same_bytes(self):
        path = samples.compile_c(self.folder, "plain")
        first = self.archive(path, name="a.lidia").read_bytes()
        self.assertEqual(first, self.archive(path, name="b.lidia").read_bytes())

    def test_nothing_goes_to_standard_output_and_nothing_else_is_left_in_the_folder(self):
        folder = self.folder / "out"
        folder.mkdir()
        result = sextant.run("archive", self.elf, "-o", folder / "a.lidia")
        self.assertEqual((result.status, result.out), (0, b""))
        self.assertEqual(os.listdir(folder), ["a.lidia"])

    def test_an_older_output_is_replaced(self):
        path = self.file("out.lidia", b"old" * 1000)
        self.archive(self.elf)
        self.assertEqual(path.read_bytes()[:4], b".dia")

    def test_the_output_obeys_the_umask(self):
        mode = stat.S_IMODE(os.stat(self.archive(self.elf)).st_mode)
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(mode, 0o666 & ~mask)

    def test_an_archive_is_whole_and_passes_verify(self):
        for path in [self.elf, samples.compile_c(self.folder, "plain"), sextant.program()]:
            made = self.archive(path)
            LidiaFile(made.read_bytes()).check()
            self.run_ok("verify", made)

    def test_no_output_named_is_wrong_usage(self):
        self.run_usage("archive", self.elf)
        self.run_usage("archive", "-o", self.folder / "out.lidia")
        self.run_usage("archive")

    def test_several_inputs_are_wrong_usage(self):
        self.run_usage("archive", self.elf, self.elf, "-o", self.folder / "out.lidia")


class FailedRuns(ArchiveTest):
    def assert_leaves_old_output(self, *arguments, naming=None, status=1):
        folder = self.folder / "out"
        folder.mkdir(exist_ok=True)
        old = folder / "old.lidia"
        old.write_bytes(b"as it was")
        result = sextant.run("archive", *arguments, "-o", old)
        self.assert_no_crash(result)
        self.assertEqual(result.status, status, f"\n{result}")
        if status == 1:
            self.assert_one_error_line(result, naming)
        self.assertEqual(old.read_bytes(), b"as it was")
        self.assertEqual(os.listdir(folder), ["old.lidia"])

    def test_a_missing_input(self):
        self.assert_leaves_old_output(self.folder / "missing", naming=self.folder / "missing")

    def test_a_folder_as_input(self):
        self.assert_leaves_old_output(self.folder, naming=self.folder)

    def test_an_empty_input(self):
        self.assert_leaves_old_output(self.file("empty"), naming="empty")

    def test_an_input_that_is_no_elf_file(self):
        self.assert_leaves_old_output(self.file("text", "no elf\n" * 100), naming="text")

    def test_an_elf_header_without_the_rest(self):
        self.assert_leaves_old_output(self.file("cut", self.elf.read_bytes()[:60]), naming="cut")

    def test_a_missing_debug_file(self):
        self.assert_leaves_old_output(self.elf, "--debug", self.folder / "missing")

    def test_wrong_usage(self):
        self.assert_leaves_old_output(self.elf, "--sources", "tea-leaves", status=2)

    def test_a_folder_that_is_not_there(self):
        result = sextant.run("archive", self.elf, "-o", self.folder / "no" / "such" / "out.lidia")
        self.assert_no_crash(result)
        self.assertEqual(result.status, 1, f"\n{result}")
        self.assert_one_error_line(result)

    def test_an_output_that_is_a_folder(self):
        folder = self.folder / "folder.lidia"
        folder.mkdir()
        self.run_error("archive", self.elf, "-o", folder, naming=folder)
        self.assertEqual(os.listdir(folder), [])
        self.assertNotIn(".tmp", " ".join(os.listdir(self.folder)))

    def test_a_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([sextant.program(), "archive", str(self.elf), "-f", "lidia", "-o", "-"], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"^sextant: ")


class Rows(ArchiveTest):
    def test_undefined_and_empty_functions_have_no_row(self):
        made = ElfWriter()
        text = made.text()
        made.symbol("puts", 0, 0, section=elf.SHN_UNDEF)
        made.symbol("stub", 0x401080, 16, section=elf.SHN_UNDEF)
        made.symbol("label", 0x401010, 0, section=text)
        made.symbol("main", 0x401020, 16, section=text)
        self.assertEqual(self.rows(made.build()), [(0x401020, 16, "main")])

    def test_both_symbol_tables_are_used_together(self):
        made = ElfWriter()
        text = made.text()
        made.symbol("static_one", 0x401000, 8, section=text, binding=elf.STB_LOCAL)
        made.symbol("both", 0x401010, 8, section=text)
        made.symbol("both", 0x401010, 8, section=text, table=elf.SHT_DYNSYM)
        made.symbol("dynamic_one", 0x401020, 8, section=text, table=elf.SHT_DYNSYM)
        self.assertEqual(self.rows(made.build()), [(0x401000, 8, "static_one"), (0x401010, 8, "both"),
                                                   (0x401020, 8, "dynamic_one")])

    def test_indirect_functions_have_a_row_and_data_has_none(self):
        self.assertEqual(self.rows(symbol_file([
            ("resolver", 0x401000, 8, {"type": elf.STT_GNU_IFUNC}), ("table", 0x401010, 8, {"type": elf.STT_OBJECT}),
            ("label", 0x401020, 8, {"type": elf.STT_NOTYPE}), ("thread", 0x401030, 8, {"type": elf.STT_TLS}),
        ])), [(0x401000, 8, "resolver")])

    def test_a_size_above_4_gib_is_not_cut(self):
        path = self.file("huge.elf", symbol_file([("huge", 0x401000, (1 << 32) + 0x1000), ("after", 1 << 40, 8)]))
        archive = self.archive(path)
        self.assertEqual(self.function_at(archive, 0x401000 + (1 << 32) + 0xFFF), "huge")
        self.assertIsNone(self.function_at(archive, 0x401000 + (1 << 32) + 0x1000))

    def test_no_functions_make_an_archive_without_rows(self):
        self.assertEqual(self.rows(symbol_file([])), [])

    def test_the_reference_reader_finds_what_we_find(self):
        symbols = [("outer", 0x401000, 0x100), ("inner", 0x401040, 0x10), ("zero", 0x401200, 0), ("sized", 0x401200, 8),
                   ("zero_behind", 0x401200, 0), ("alias_one", 0x401300, 8), ("alias_two", 0x401300, 8),
                   ("overlap_a", 0x401400, 0x20), ("overlap_b", 0x401410, 0x20)]
        archive = self.archive(self.file("in.elf", symbol_file(symbols)))
        table = LidiaFile(archive.read_bytes())
        for address in range(0x400FF0, 0x401440, 4):
            rows = table.lookup(address)
            got = rows[-1].name.decode() if rows else None
            self.assertEqual(got, self.expected_at(address), hex(address))

    def expected_at(self, address):
        for name, start, end in (("inner", 0x401040, 0x401050), ("outer", 0x401000, 0x401100),
                                 ("sized", 0x401200, 0x401208), ("alias_one", 0x401300, 0x401308),
                                 ("overlap_b", 0x401410, 0x401430), ("overlap_a", 0x401400, 0x401420)):
            if start <= address < end:
                return name
        return None


class Sources(ArchiveTest):
    def setUp(self):
        super().setUp()
        made = ElfWriter()
        text = made.text(address=0x401000, size=0x1000)
        made.section(".gopclntab", go_table.write("1.20", [(0x401800, "main.main")], 0x401900, text_start=0x401000),
                     flags=elf.SHF_ALLOC, address=0x500000, align=8)
        made.symbol("static_one", 0x401000, 8, section=text)
        made.symbol("dynamic_one", 0x401020, 8, section=text, table=elf.SHT_DYNSYM)
        self.path = self.file("sources.elf", made.build())

    def test_each_source_alone_and_together(self):
        for sources, names in (
            ("symtab", ["static_one"]),
            ("dynsym", ["dynamic_one"]),
            ("go", ["main.main"]),
            ("symtab,dynsym", ["static_one", "dynamic_one"]),
            ("dynsym,go", ["dynamic_one", "main.main"]),
            ("dwarf,go,symtab,dynsym", ["static_one", "dynamic_one", "main.main"]),
        ):
            with self.subTest(sources=sources):
                self.assertEqual([row[2] for row in self.rows(self.path, "--sources", sources)], names)

    def test_all_sources_by_default(self):
        self.assertEqual([row[2] for row in self.rows(self.path)], ["static_one", "dynamic_one", "main.main"])

    def test_an_unknown_source_is_wrong_usage(self):
        for words in ("bogus", "symtab,bogus", "", ",", "symtab,,dynsym"):
            with self.subTest(words=words):
                self.run_usage("archive", self.path, "--sources", words, "-o", self.folder / "o.lidia")

    def test_the_flags_that_leave_something_out_are_accepted(self):
        for flag in ("--no-lines", "--no-files", "--no-inlines", "--no-index", "--path-map=/a=/b"):
            with self.subTest(flag=flag):
                self.assertEqual(len(self.rows(self.path, flag)), 3)

    def test_a_path_map_without_an_equals_sign_is_wrong_usage(self):
        for wrong in ("nothing", "", "=", "=new"):
            self.run_usage("archive", self.path, "--path-map", wrong, "-o", self.folder / "o.lidia")

    @unittest.skipIf(sextant.SANITIZED, "a sanitizer wants to be loaded first")
    def test_a_path_map_that_memory_is_too_short_for(self):
        library = samples.compile_c(self.folder, "short.so", "-shared", "-fPIC", "-fno-builtin",
                                    source="char *strdup(const char *text) { return (void)text, (char *)0; }\n")
        result = sextant.run("archive", self.path, "--path-map", "/old=/new", "-o", self.folder / "o.lidia",
                             env={"LD_PRELOAD": os.fspath(library)})
        self.assertEqual((result.status, result.err), (1, "sextant: out of memory\n"))


class GoFunctions(ArchiveTest):
    """Ours is better than the reference's: a problem in Go's table never costs the rest of the file."""

    FUNCTIONS = [(0x401000, "go.first"), (0x401040, "main.main"), (0x401100, "main.(*T).Method")]
    EXPECTED = [(0x401000, 0x40, "go.first"), (0x401040, 0xC0, "main.main"), (0x401100, 0x100, "main.(*T).Method")]

    def go_file(self, table, bits=64, order="<", machine=elf.EM_X86_64, name=".gopclntab", text=0x401000, symbols=()):
        made = ElfWriter(bits=bits, order=order, machine=machine)
        code = made.text(address=text, size=0x1000)
        made.section(name, table, flags=elf.SHF_ALLOC, address=0x500000, align=8)
        for label, value, size, kind in symbols:
            made.symbol(label, value, size, section=code, type=kind)
        return made.build()

    def test_every_version_width_and_byte_order(self):
        for version in go_table.VERSIONS:
            for pointer_size, order, machine in ((8, "<", elf.EM_X86_64), (4, "<", elf.EM_386), (8, ">", elf.EM_PPC64),
                                                 (4, ">", 8)):
                with self.subTest(version=version, pointer_size=pointer_size, order=order):
                    table = go_table.write(version, self.FUNCTIONS, 0x401200, order=order, pointer_size=pointer_size,
                                           text_start=0x401000)
                    data = self.go_file(table, bits=8 * pointer_size, order=order, machine=machine)
                    self.assertEqual(self.rows(data), self.EXPECTED)

    def test_the_section_name_of_position_independent_programs(self):
        table = go_table.write("1.18", self.FUNCTIONS, 0x401200, text_start=0x401000)
        self.assertEqual(self.rows(self.go_file(table, name=".data.rel.ro.gopclntab")), self.EXPECTED)

    def test_text_start_zero_takes_the_symbol_runtime_text(self):
        table = go_table.write("1.20", self.FUNCTIONS, 0x401200, text_start=0, base=0x401000)
        data = self.go_file(table, text=0x400F00, symbols=[("runtime.text", 0x401000, 0, elf.STT_FUNC)])
        self.assertEqual(self.rows(data), self.EXPECTED)

    def test_a_bad_table_does_not_cost_the_symbols(self):
        good = bytearray(go_table.write("1.20", self.FUNCTIONS, 0x401200, text_start=0x401000))
        for position in (8, 8 + 8 * 3, 8 + 8 * 7):
            with self.subTest(position=position):
                table = bytearray(good)
                table[position : position + 8] = b"\xff\xff\xff\x7f\0\0\0\0"
                path = self.file("bad.elf", self.go_file(bytes(table), symbols=[("kept", 0x401500, 8, elf.STT_FUNC)]))
                out = self.folder / "out.lidia"
                result = sextant.run("archive", path, "-o", out)
                self.assert_no_crash(result)
                self.assertEqual(result.status, 0, f"\n{result}")
                self.assertIn(b"kept", [row.name for row in LidiaFile(out.read_bytes()).rows()])

    def test_a_go_program_has_files_and_lines(self):
        found = [path for path in samples.go_files() if path.endswith("gofmt")]
        if not found:
            self.skipTest("no Go toolchain")
        line, = self.run_ok("lookup", found[0], "--name", "main.main", "--json").json_lines()
        for file in (found[0], self.archive(found[0])):
            answer, = self.lookup(file, [int(line["address"], 16)])
            frame = answer["frames"][-1]
            self.assertEqual(frame["function"], "main.main")
            self.assertRegex(frame["file"], r"gofmt\.go$")
            self.assertGreater(frame["line"], 0)

    def test_paths_are_mapped_on_the_way_out(self):
        found = [path for path in samples.go_files() if path.endswith("gofmt")]
        if not found:
            self.skipTest("no Go toolchain")
        line, = self.run_ok("lookup", found[0], "--name", "main.main", "--json").json_lines()
        plain, = self.lookup(self.archive(found[0]), [int(line["address"], 16)])
        prefix = plain["frames"][-1]["file"].split("gofmt.go")[0].rstrip("/")
        archive = self.archive(found[0], "--path-map", f"{prefix}=/elsewhere")
        mapped, = self.lookup(archive, [int(line["address"], 16)])
        self.assertEqual(mapped["frames"][-1]["file"], "/elsewhere/gofmt.go")


class Memory(ArchiveTest):
    @unittest.skipIf(sextant.SANITIZED, "a sanitizer needs more address space")
    def test_a_small_archive_needs_little_address_space(self):
        functions = [(f"function{i}", 0x401000 + i % 0x1000, 1) for i in range(12000)]
        binary = self.file("binary", symbol_file(functions))
        out = self.folder / "out.lidia"
        for limit in ("-v", "-d"):
            command = f'ulimit {limit} 100000; exec "$0" archive -q "$1" -o "$2"'
            done = subprocess.run(["sh", "-c", command, sextant.program(), binary, out], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Strings(ArchiveTest):
    def test_nul_terminated_strings_go_out_and_come_back(self):
        path = samples.compile_c(self.folder, "plain")
        plain = self.archive(path, "--strings", "length")
        nul = self.archive(path, "--strings", "nul", name="nul.lidia")
        self.assertEqual(self.archive(path, name="default.lidia").read_bytes(), plain.read_bytes())
        self.assertNotEqual(nul.read_bytes(), plain.read_bytes())
        self.assertIn(b"\0main\0", nul.read_bytes())
        self.run_ok("verify", nul)
        rows = LidiaFile(nul.read_bytes(), nul_strings=True).rows()
        self.assertEqual([(row.address, row.length, row.name) for row in rows],
                         [(row.address, row.length, row.name) for row in LidiaFile(plain.read_bytes()).rows()])
        self.assertEqual(self.run_ok("dump", "--json", nul).out, self.run_ok("dump", "--json", plain).out)

    def test_nul_strings_of_others_are_recognised(self):
        rows = [lidia_reference.Row(0x1000, 16, b"main"), lidia_reference.Row(0x1010, 16, b"a_longer_name")]
        path = self.file("nul.lidia", lidia_reference.write(rows, nul_strings=True))
        self.assertEqual([self.function_at(path, 0x1008), self.function_at(path, 0x1018)], ["main", "a_longer_name"])
        self.run_ok("verify", path)

    def test_another_word_is_wrong_usage(self):
        self.run_usage("archive", self.elf, "--strings", "utf16", "-o", self.folder / "o.lidia")


class Compatibility(ArchiveTest):
    def test_flags_that_contradict_compat_are_wrong_usage(self):
        for flags in (["--strings", "nul"], ["--zero-size", "extend"], ["--sources", "dynsym"]):
            with self.subTest(flags=flags):
                self.run_usage("archive", self.elf, "--compat", *flags, "-o", self.folder / "o.lidia")

    def test_names_as_linked_do_not_contradict_it(self):
        self.assertEqual(self.archive(self.elf, "--compat").read_bytes(),
                         self.archive(self.elf, "--compat", "--mangled").read_bytes())


if __name__ == "__main__":
    tap.main()
