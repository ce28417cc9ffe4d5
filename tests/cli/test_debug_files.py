"""Symbols that are kept elsewhere: MiniDebugInfo, --debug, .gnu_debuglink and folders of build IDs."""

import lzma
import struct
import zlib

from support import elf_reader as elf
from support import samples, sextant, tap
from support.elf_writer import ElfWriter

BUILD_ID = "0123456789abcdef0123456789abcdef01234567"
OTHER_ID = "ffffffffffffffffffffffffffffffffffffffff"


def stripped_file(build_id=BUILD_ID, link=None, debug_data=None):
    """A program with one exported function; LINK is (name, CRC) of a debug file."""
    made = ElfWriter()
    text = made.text(address=0x401000, size=0x100)
    if build_id:
        made.build_id(build_id)
    made.symbol("exported", 0x401000, 16, section=text, table=elf.SHT_DYNSYM)
    if link:
        name = link[0].encode() + b"\0"
        made.section(".gnu_debuglink", name + bytes(-len(name) % 4) + struct.pack("<I", link[1]), align=4)
    if debug_data is not None:
        made.section(".gnu_debugdata", debug_data)
    return made.build()


def debug_file(build_id=BUILD_ID, name="hidden"):
    """What `objcopy --only-keep-debug` would leave: the code without bytes, and the full symbol table."""
    made = ElfWriter()
    text = made.section(".text", type=elf.SHT_NOBITS, flags=elf.SHF_ALLOC | elf.SHF_EXECINSTR, address=0x401000,
                        size=0x100, align=16)
    made.segment(elf.PT_LOAD, 5, [text])
    if build_id:
        made.build_id(build_id)
    made.symbol(name, 0x401040, 16, section=text, binding=elf.STB_LOCAL)
    made.symbol("exported", 0x401000, 16, section=text)
    return made.build()


class DebugFileTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.empty = self.folder / "empty-debug-dir"
        self.empty.mkdir()

    def hidden(self, path, *options, **keywords):
        """What the private function is called, with a folder of debug files that is empty unless options say else."""
        if "--debug-dir" not in options:
            options += ("--debug-dir", self.empty)
        return self.function_at(path, 0x401048, *options, **keywords)

    def assert_found(self, path, *options, name="hidden"):
        self.assertEqual(self.hidden(path, *options), name)
        self.assertEqual(self.function_at(path, 0x401000, *options), "exported")
        self.assertEqual(self.hidden(self.archive(path, *options)), name)


class NamedDebugFile(DebugFileTest):
    def test_without_it_the_function_is_unknown(self):
        self.assertIsNone(self.hidden(self.file("program", stripped_file())))

    def test_its_symbols_are_added(self):
        self.assert_found(self.file("program", stripped_file()), "--debug", self.file("program.dbg", debug_file()))

    def test_it_may_be_compressed(self):
        packed = self.file("program.dbg.xz", lzma.compress(debug_file()))
        self.assert_found(self.file("program", stripped_file()), "--debug", packed)

    def test_another_build_id_is_an_error(self):
        path = self.file("program", stripped_file())
        other = self.file("other.dbg", debug_file(OTHER_ID))
        out = self.file("out.lidia", b"as it was")
        result = self.run_error("archive", path, "--debug", other, "-o", out)
        self.assertRegex(result.err, r"(?i)build.?id")
        self.assertEqual(out.read_bytes(), b"as it was")
        self.run_error("lookup", path, "--debug", other, "401040")

    def test_no_build_id_at_all_is_taken_on_trust(self):
        debug = self.file("program.dbg", debug_file(build_id=None))
        self.assertEqual(self.hidden(self.file("program", stripped_file(build_id=None)), "--debug", debug), "hidden")

    def test_a_file_that_is_no_elf_file_is_an_error(self):
        path = self.file("program", stripped_file())
        self.run_error("lookup", path, "--debug", self.file("text", b"no elf file\n" * 30), "401040")
        self.run_error("lookup", path, "--debug", self.folder / "missing", "401040")

    def test_files_made_by_objcopy(self):
        sextant.need_tool("objcopy", "strip")
        program = samples.compile_c(self.folder, "program", "-Wl,--build-id")
        address = next(symbol.value for symbol in elf.ElfFile.open(program).symbols(elf.SHT_SYMTAB)
                       if symbol.name == b"hidden_helper")
        debug = self.folder / "program.debug"
        stripped = self.folder / "stripped"
        sextant.tool("objcopy", "--only-keep-debug", program, debug)
        sextant.tool("strip", "-o", stripped, program)
        self.assertIsNone(self.function_at(stripped, address, "--debug-dir", self.empty))
        self.assertEqual(self.function_at(stripped, address, "--debug", debug), "hidden_helper")


class DebugLink(DebugFileTest):
    def setUp(self):
        super().setUp()
        self.debug = debug_file()
        self.program = self.file("bin/program", stripped_file(link=("program.dbg", zlib.crc32(self.debug))))

    def test_beside_the_program(self):
        self.file("bin/program.dbg", self.debug)
        self.assert_found(self.program)

    def test_in_the_debug_folder_beside_the_program(self):
        self.file("bin/.debug/program.dbg", self.debug)
        self.assert_found(self.program)

    def test_under_the_folder_of_debug_files(self):
        root = self.folder / "root"
        target = root / str(self.program.parent.resolve()).lstrip("/") / "program.dbg"
        target.parent.mkdir(parents=True)
        target.write_bytes(self.debug)
        self.assert_found(self.program, "--debug-dir", root)

    def test_a_file_with_another_checksum_is_passed_over_with_a_warning(self):
        self.file("bin/program.dbg", self.debug + b"\0")
        result = self.run_warned("lookup", self.program, "--json", "--debug-dir", self.empty, "401048")
        self.assertEqual(result.json_lines()[0]["frames"], [])
        self.assertIn("program.dbg", result.err)

    def test_a_good_file_further_on_is_still_found(self):
        self.file("bin/program.dbg", self.debug + b"\0")
        self.file("bin/.debug/program.dbg", self.debug)
        result = sextant.run("lookup", self.program, "--json", "--debug-dir", self.empty, "401048")
        self.assert_no_crash(result)
        self.assertEqual(sextant.outermost(result.json_lines()[0]), "hidden")

    def test_a_missing_file_is_no_error(self):
        self.assertIsNone(self.hidden(self.program))

    def test_a_link_without_a_build_id(self):
        program = self.file("bin/plain", stripped_file(build_id=None, link=("plain.dbg", zlib.crc32(self.debug))))
        self.file("bin/plain.dbg", self.debug)
        self.assertEqual(self.hidden(program), "hidden")

    def test_a_link_that_lies_is_no_error(self):
        for content in (b"", b"\0", b"no-end", b"a\0\0\0", b"\0\0\0\0\1\2\3\4", b"../../../../etc/passwd\0\0\1\2\3\4"):
            with self.subTest(content=content):
                made = ElfWriter()
                made.symbol("exported", 0x401000, 16, section=made.text(), table=elf.SHT_DYNSYM)
                made.section(".gnu_debuglink", content, align=4)
                result = sextant.run("lookup", self.file("bin/lying", made.build()), "401000", "--json")
                self.assert_no_crash(result)
                self.assertEqual(result.status, 0, f"\n{result}")
                self.assertEqual(sextant.outermost(result.json_lines()[0]), "exported")


class BuildIdFolder(DebugFileTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "debug"
        self.program = self.file("program", stripped_file())

    def test_a_file_under_its_build_id(self):
        self.file(f"debug/.build-id/{BUILD_ID[:2]}/{BUILD_ID[2:]}.debug", debug_file())
        self.assert_found(self.program, "--debug-dir", self.root)

    def test_a_file_with_another_build_id_is_passed_over(self):
        self.file(f"debug/.build-id/{BUILD_ID[:2]}/{BUILD_ID[2:]}.debug", debug_file(OTHER_ID))
        result = sextant.run("lookup", self.program, "--json", "--debug-dir", self.root, "401048")
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertEqual(result.json_lines()[0]["frames"], [])

    def test_a_damaged_file_costs_a_warning_only(self):
        self.file(f"debug/.build-id/{BUILD_ID[:2]}/{BUILD_ID[2:]}.debug", debug_file()[:100])
        result = sextant.run("lookup", self.program, "--json", "--debug-dir", self.root, "401000")
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertEqual(sextant.outermost(result.json_lines()[0]), "exported")

    def test_a_named_debug_file_comes_before_it(self):
        self.file(f"debug/.build-id/{BUILD_ID[:2]}/{BUILD_ID[2:]}.debug", debug_file())
        named = self.file("named.dbg", debug_file(name="named"))
        self.assertEqual(self.hidden(self.program, "--debug-dir", self.root, "--debug", named), "named")

    def test_a_missing_folder_is_no_error(self):
        self.assertIsNone(self.hidden(self.program, "--debug-dir", self.folder / "nowhere"))

    def test_odd_build_ids(self):
        for build_id in ("", "ab", "00" * 64, "ab" * 200):
            with self.subTest(build_id=build_id[:20]):
                made = ElfWriter()
                made.symbol("exported", 0x401000, 16, section=made.text(), table=elf.SHT_DYNSYM)
                made.build_id(build_id)
                result = sextant.run("info", "--json", self.file("odd", made.build()), "--debug-dir", self.root)
                self.assert_no_crash(result)
                self.assertEqual(result.status, 0, f"\n{result}")
                self.assertEqual(result.json_lines()[0]["functions"], 1)


class MiniDebugInfo(DebugFileTest):
    def test_its_symbols_are_added(self):
        self.assert_found(self.file("program", stripped_file(debug_data=lzma.compress(debug_file()))))

    def test_a_program_made_with_the_usual_tools(self):
        sextant.need_tool("objcopy", "strip", "xz")
        program = samples.compile_c(self.folder, "program")
        address = next(symbol.value for symbol in elf.ElfFile.open(program).symbols(elf.SHT_SYMTAB)
                       if symbol.name == b"hidden_helper")
        mini = self.folder / "mini"
        sextant.tool("objcopy", "--only-keep-debug", program, mini)
        sextant.tool("xz", mini)
        stripped = self.folder / "stripped"
        sextant.tool("strip", "-o", stripped, program)
        self.assertIsNone(self.function_at(stripped, address, "--debug-dir", self.empty))
        packed = self.folder / "packed"
        sextant.tool("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", stripped, packed)
        self.assertEqual(self.function_at(packed, address, "--debug-dir", self.empty), "hidden_helper")
        self.assertEqual(self.function_at(self.archive(packed), address), "hidden_helper")

    def test_bad_mini_debug_info_costs_a_warning_only(self):
        good = lzma.compress(debug_file())
        for what, data in (("cut", good[:-20]), ("no xz", b"nothing of the kind" * 5), ("empty", b""),
                           ("no elf inside", lzma.compress(b"text" * 100)),
                           ("cut elf", lzma.compress(debug_file()[:80])),
                           ("damaged", good[:100] + bytes(8) + good[108:])):
            with self.subTest(what=what):
                path = self.file("program", stripped_file(debug_data=data))
                result = sextant.run("lookup", path, "--json", "--debug-dir", self.empty, "401000", "401048")
                self.assert_no_crash(result)
                self.assertEqual(result.status, 0, f"\n{result}")
                self.assertEqual(sextant.outermost(result.json_lines()[0]), "exported")

    def test_mini_debug_info_inside_mini_debug_info_ends(self):
        data = debug_file()
        for _ in range(30):
            data = stripped_file(debug_data=lzma.compress(data))
        path = self.file("program", data)
        result = sextant.run("lookup", path, "--json", "--debug-dir", self.empty, "401000", timeout=30)
        self.assert_no_crash(result)
        self.assertEqual(sextant.outermost(result.json_lines()[0]), "exported", f"\n{result}")

    def test_compat_takes_no_notice_of_it(self):
        path = self.file("program", stripped_file(debug_data=lzma.compress(debug_file())))
        self.assertNotIn(b"hidden", self.archive(path, "--compat").read_bytes())


class CompatIgnoresDebugFiles(DebugFileTest):
    def test_a_debug_file_beside_the_program_is_not_used(self):
        debug = debug_file()
        self.file("bin/program.dbg", debug)
        path = self.file("bin/program", stripped_file(link=("program.dbg", zlib.crc32(debug))))
        self.assertNotIn(b"hidden", self.archive(path, "--compat").read_bytes())


if __name__ == "__main__":
    tap.main()
