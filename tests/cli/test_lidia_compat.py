"""`archive --compat` gives the very bytes of the reference writer, and fails where the reference fails."""

import random
import struct

from support import elf_reader as elf
from support import go_table, lidia_reference, samples, sextant, tap
from support.elf_writer import ElfWriter, symbol_file

WORKED_EXAMPLE = bytes.fromhex("""
    2e646961 01000000 04000000 00000000 03000000 00000000 80000000 00000000
    90899627 00000000 04000000 00000000 03000000 00000000 8c000000 00000000
    2f57fb74 00000000 2e000000 00000000 ec000000 00000000 7672bae3 00000000
    02000000 00000000 00000000 00000000 1a010000 00000000 00000000 00000000
    00104000 20104000 60104000
    20000000 00000000 1c000000 00000000 00000000 00000000 00000000 00000000
    40000000 00000000 26000000 00000000 00000000 00000000 00000000 00000000
    10000000 00000000 12000000 00000000 00000000 00000000 00000000 00000000
    00000000 0a000000""") + b"[overflow]\6\0\0\0helper\6\0\0\0_start\4\0\0\0main"

EMPTY_TABLE = bytes.fromhex("""
    2e646961 01000000 0400000000000000 0000000000000000 8000000000000000 00000000 00000000
    0400000000000000 0000000000000000 8000000000000000 00000000 00000000
    1200000000000000 8000000000000000 e812d716 00000000
    0200000000000000 0000000000000000 9200000000000000 00000000 00000000
    00000000 0a000000 5b6f766572666c6f775d""")

CODE = elf.SHF_ALLOC | elf.SHF_EXECINSTR


class CompatTest(sextant.ProgramTest):
    def compat_of(self, source):
        """The bytes that --compat makes of a path or of the bytes of an ELF file."""
        path = self.file("in.elf", source) if isinstance(source, bytes) else source
        return self.archive(path, "--compat").read_bytes()

    def assert_same_as_reference(self, source):
        data = source if isinstance(source, bytes) else open(source, "rb").read()
        expected = lidia_reference.write_from_elf(data)
        made = self.compat_of(source)
        if made != expected:
            self.fail(f"{source if not isinstance(source, bytes) else 'a written file'}: {difference(made, expected)}")

    def assert_reference_fails(self, data, reason):
        """The reference fails on DATA; so does --compat, it says why, and an older output stays as it was."""
        with self.assertRaises(lidia_reference.ReferenceFails):
            lidia_reference.write_from_elf(data)
        path = self.file("in.elf", data)
        old = self.file("out/old.lidia", b"as it was")
        result = self.run_error("archive", path, "--compat", "-o", old, naming=path)
        self.assertRegex(result.err, reason)
        self.assertEqual(old.read_bytes(), b"as it was")
        self.assertEqual([entry.name for entry in old.parent.iterdir()], ["old.lidia"])


def difference(made, expected):
    where = next((at for at, (left, right) in enumerate(zip(made, expected)) if left != right),
                 min(len(made), len(expected)))
    return (f"{len(made)} bytes, expected {len(expected)}; first difference at 0x{where:x}: "
            f"{made[where:where + 16].hex()}, expected {expected[where:where + 16].hex()}")


class WorkedExamples(CompatTest):
    def test_three_functions_make_the_282_bytes_of_the_facts(self):
        self.assertEqual(len(WORKED_EXAMPLE), 282)
        symbols = [("helper", 0x401060, 16), ("_start", 0x401000, 32), ("main", 0x401020, 64)]
        self.assertEqual(self.compat_of(symbol_file(symbols)), WORKED_EXAMPLE)

    def test_lookups_of_the_worked_example(self):
        path = self.file("example.lidia", WORKED_EXAMPLE)
        expected = {0x400FFF: None, 0x401000: "_start", 0x40101F: "_start", 0x401020: "main", 0x40105F: "main",
                    0x401060: "helper", 0x40106F: "helper", 0x401070: None}
        answers = self.lookup(path, list(expected))
        self.assertEqual([sextant.outermost(answer) for answer in answers], list(expected.values()))

    def test_no_functions_make_the_146_bytes_of_the_empty_table(self):
        self.assertEqual(len(EMPTY_TABLE), 146)
        self.assertEqual(self.compat_of(symbol_file([])), EMPTY_TABLE)
        self.assertEqual(self.compat_of(symbol_file([("data", 0x401000, 8, {"type": elf.STT_OBJECT})])), EMPTY_TABLE)

    def test_a_file_without_any_symbol_table_makes_the_empty_table(self):
        made = ElfWriter()
        made.text()
        self.assertEqual(self.compat_of(made.build()), EMPTY_TABLE)

    def test_an_empty_symbol_table_counts_as_none(self):
        made = ElfWriter()
        made.symbol("main", 0x401000, 8, section=made.text())
        made.table_lies(elf.SHT_SYMTAB)["size"] = 0
        self.assertEqual(self.compat_of(made.build()), EMPTY_TABLE)

    def test_only_debug_of_a_stripped_program_has_no_symbol_table_at_all(self):
        """objcopy makes .dynsym a section of type NOBITS, so no section of a symbol table's type is left."""
        sextant.need_tool("objcopy")
        stripped = samples.compile_c(self.folder, "stripped", "-s")
        path = self.folder / "only-debug"
        sextant.tool("objcopy", "--only-keep-debug", stripped, path)
        self.assertEqual(self.compat_of(path), EMPTY_TABLE)

    def test_the_oracle_itself_gives_the_worked_examples(self):
        symbols = [("helper", 0x401060, 16), ("_start", 0x401000, 32), ("main", 0x401020, 64)]
        self.assertEqual(lidia_reference.write_from_elf(symbol_file(symbols)), WORKED_EXAMPLE)
        self.assertEqual(lidia_reference.write_from_elf(symbol_file([])), EMPTY_TABLE)


class SystemBinaries(CompatTest):
    def compare(self, paths):
        """Compares them and returns how many archives were equal; files that the reference refuses do not count."""
        equal = 0
        for path in paths:
            with self.subTest(path=str(path)):
                try:
                    self.assert_same_as_reference(path)
                    equal += 1
                except lidia_reference.ReferenceFails:
                    result = sextant.run("archive", path, "--compat", "-o", self.folder / "refused.lidia")
                    self.assert_no_crash(result)
                    self.assertEqual(result.status, 1, f"{path}: the reference refuses this file\n{result}")
        return equal

    def test_at_least_twenty_files_of_the_system(self):
        self.assertGreaterEqual(self.compare(samples.system_files()[:70]), 20)

    def test_programs_of_every_kind(self):
        built = [samples.compile_c(self.folder, name, *flags) for name, flags in (
            ("pie", ["-fPIE", "-pie"]),
            ("fixed", ["-fno-pie", "-no-pie"]),
            ("static", ["-static"]),
            ("static-pie", ["-static-pie", "-fPIE"]),
            ("stripped", ["-s"]),
            ("static-stripped", ["-static", "-s"]),
            ("with-debug", ["-g"]),
            ("shared.so", ["-shared", "-fPIC"]),
            ("object.o", ["-c"]),
            ("object-with-debug.o", ["-c", "-g"]),
        )]
        keep = self.folder / "only-debug"
        sextant.tool("objcopy", "--only-keep-debug", built[6], keep)
        self.assertEqual(self.compare(built + [keep]), len(built) + 1)

    def test_cpp_templates_with_long_names(self):
        source = "#include <map>\n#include <string>\nint main() { std::map<std::string, std::string> m; m[{}] = {}; }\n"
        self.assertEqual(self.compare([samples.compile_c(self.folder, "cpp", source=source, language="cpp")]), 1)

    def test_go_programs(self):
        found = samples.go_files()[:8]
        if not found:
            self.skipTest("no Go toolchain")
        self.assertEqual(self.compare(found), len(found))

    def test_stripped_go_program(self):
        found = samples.go_files()
        if not found:
            self.skipTest("no Go toolchain")
        sextant.need_tool("strip")
        path = self.folder / "stripped"
        sextant.tool("strip", "-o", path, found[-1])
        self.assertEqual(self.compare([path]), 1)

    def test_rust_libraries(self):
        found = samples.rust_libraries()
        if not found:
            self.skipTest("no Rust toolchain")
        self.assertEqual(self.compare(found), len(found))

    def test_the_program_itself(self):
        self.assertEqual(self.compare([sextant.program()]), 1)


class SymbolChoice(CompatTest):
    def rows(self, data):
        self.assert_same_as_reference(data)
        return [(row.address, row.length, row.name) for row in lidia_reference.LidiaFile(self.compat_of(data)).rows()]

    def test_undefined_functions_are_kept_at_address_zero(self):
        data = symbol_file([("here", 0x401000, 4), ("puts", 0, 0, {"binding": elf.STB_WEAK})])
        made = ElfWriter()
        text = made.text()
        made.symbol("here", 0x401000, 4, section=text)
        made.symbol("puts", 0, 0, section=elf.SHN_UNDEF)
        self.assertEqual(self.rows(made.build()), [(0, 0, b"puts"), (0x401000, 4, b"here")])
        self.assert_same_as_reference(data)

    def test_only_functions_with_a_name_are_kept(self):
        kinds = [elf.STT_NOTYPE, elf.STT_OBJECT, elf.STT_FUNC, elf.STT_SECTION, elf.STT_FILE, elf.STT_TLS,
                 elf.STT_GNU_IFUNC]
        symbols = [(f"kind{kind}", 0x401000 + 16 * kind, 8, {"type": kind}) for kind in kinds] + [("", 0x401300, 8)]
        self.assertEqual(self.rows(symbol_file(symbols)), [(0x401020, 8, b"kind2")])

    def test_a_name_outside_the_string_table_drops_the_symbol(self):
        self.assertEqual(self.rows(symbol_file([(0xFFFF, 0x401000, 8), ("kept", 0x401010, 8)])),
                         [(0x401010, 8, b"kept")])

    def test_aliases_duplicates_and_zero_sizes_are_all_kept_in_table_order(self):
        symbols = [("beta", 0x401010, 8), ("zero", 0x401010, 0), ("beta_alias", 0x401010, 8), ("beta", 0x401010, 8),
                   ("alpha", 0x401000, 8)]
        expected = [(0x401000, 8, b"alpha"), (0x401010, 8, b"beta"), (0x401010, 0, b"zero"),
                    (0x401010, 8, b"beta_alias"), (0x401010, 8, b"beta")]
        self.assertEqual(self.rows(symbol_file(symbols)), expected)

    def test_local_weak_and_unique_functions_are_kept(self):
        symbols = [(f"binding{binding}", 0x401000 + binding, 1, {"binding": binding}) for binding in (0, 1, 2, 10)]
        self.assertEqual(len(self.rows(symbol_file(symbols))), 4)

    def test_a_size_above_4_gib_loses_its_high_half(self):
        self.assertEqual(self.rows(symbol_file([("huge", 0x401000, (5 << 32) + 7)])), [(0x401000, 7, b"huge")])

    def test_an_address_above_4_gib_makes_all_addresses_8_bytes(self):
        data = symbol_file([("low", 0x401000, 8), ("high", 1 << 32, 8)])
        self.rows(data)
        self.assertEqual(struct.unpack_from("<Q", self.compat_of(data), 8)[0], 8)
        data = symbol_file([("low", 0x401000, 8), ("last", (1 << 32) - 1, 8)])
        self.rows(data)
        self.assertEqual(struct.unpack_from("<Q", self.compat_of(data), 8)[0], 4)

    def test_the_thumb_bit_stays(self):
        data = symbol_file([("thumb", 0x401001, 8)], bits=32, machine=elf.EM_ARM)
        self.assertEqual(self.rows(data), [(0x401001, 8, b"thumb")])

    def test_names_stay_mangled(self):
        self.assertEqual(self.rows(symbol_file([("_Z3addii", 0x401000, 8)])), [(0x401000, 8, b"_Z3addii")])

    def test_every_class_and_byte_order(self):
        for bits in (32, 64):
            for order in "<>":
                with self.subTest(bits=bits, order=order):
                    data = symbol_file([("b", 0x401010, 8), ("a", 0x401000, 8)], bits=bits, order=order,
                                       machine=elf.EM_386 if bits == 32 else elf.EM_PPC64)
                    self.assertEqual(self.rows(data), [(0x401000, 8, b"a"), (0x401010, 8, b"b")])

    def test_relocatable_files_give_values_within_their_section(self):
        made = ElfWriter(type=elf.ET_REL)
        first = made.text(address=0)
        second = made.text(address=0, name=".text.other")
        made.symbol("first", 0, 8, section=first)
        made.symbol("second", 0, 8, section=second)
        self.assertEqual(self.rows(made.build()), [(0, 8, b"first"), (0, 8, b"second")])

    def both_tables(self):
        made = ElfWriter()
        text = made.text()
        made.symbol("static", 0x401000, 8, section=text)
        made.symbol("dynamic", 0x401010, 8, section=text, table=elf.SHT_DYNSYM)
        return made

    def test_symtab_hides_dynsym(self):
        self.assertEqual(self.rows(self.both_tables().build()), [(0x401000, 8, b"static")])

    def test_symtab_without_functions_hides_dynsym_too(self):
        made = ElfWriter()
        text = made.text()
        made.table(elf.SHT_SYMTAB)
        made.symbol("dynamic", 0x401010, 8, section=text, table=elf.SHT_DYNSYM)
        self.assertEqual(self.rows(made.build()), [])

    def test_dynsym_is_used_where_there_is_no_symtab(self):
        made = ElfWriter()
        made.symbol("dynamic", 0x401010, 8, section=made.text(), table=elf.SHT_DYNSYM)
        self.assertEqual(self.rows(made.build()), [(0x401010, 8, b"dynamic")])

    def test_dynsym_is_used_where_symtab_cannot_be_read(self):
        for lie in ({"size": 25}, {"size": 0}, {"link": 0}, {"link": 999}, {"type": elf.SHT_PROGBITS}):
            with self.subTest(lie=lie):
                made = self.both_tables()
                made.table_lies(elf.SHT_SYMTAB).update(lie)
                self.assertEqual(self.rows(made.build()), [(0x401010, 8, b"dynamic")])

    def test_a_compressed_symtab_is_inflated(self):
        made = ElfWriter()
        made.text()
        row = made.pack_symbol(1, 0x401000, 8, elf.STT_FUNC, elf.STB_GLOBAL, 1)
        strings = made.section(".strtab", b"\0packed\0", type=elf.SHT_STRTAB)
        content = made.compressed(bytes(24) + row, align=8)
        made.section(".symtab", content, type=elf.SHT_SYMTAB, flags=elf.SHF_COMPRESSED, link=strings, info=1, align=8,
                     entsize=24)
        self.assertEqual(self.rows(made.build()), [(0x401000, 8, b"packed")])

    def test_random_symbol_tables(self):
        random_numbers = random.Random(20)
        for number in range(60):
            data = random_file(random_numbers)
            with self.subTest(number=number):
                self.assert_same_as_reference(data)


def random_file(random_numbers):
    bits = random_numbers.choice((32, 64))
    symbols = []
    for index in range(random_numbers.randrange(0, 80)):
        name = random_numbers.choice(("", "f", "alias", f"f{index}", f"name{index % 7}", "x" * index))
        value = random_numbers.choice((0, 0x401000, 0x401000 + random_numbers.randrange(0, 0x400),
                                       0xFFFFFFFF, random_numbers.randrange(1 << bits)))
        size = random_numbers.choice((0, 1, 16, random_numbers.randrange(1 << bits)))
        type = random_numbers.choice((elf.STT_FUNC,) * 4 + (elf.STT_OBJECT, elf.STT_NOTYPE, elf.STT_GNU_IFUNC))
        symbols.append((name, value, size, {"type": type, "binding": random_numbers.choice((0, 1, 2))}))
    return symbol_file(symbols, bits=bits, order=random_numbers.choice("<>"))


def go_file(table, bits=64, order="<", text=0x401000, text_size=0x1000, symbols=(), name=".gopclntab",
            machine=elf.EM_X86_64):
    made = ElfWriter(bits=bits, order=order, machine=machine)
    code = made.text(address=text, size=text_size)
    made.section(name, table, flags=elf.SHF_ALLOC, address=0x500000, align=8)
    for label, value, size in symbols:
        made.symbol(label, value, size, section=code)
    return made.build()


FUNCTIONS = [(0x401000, "runtime.text"), (0x401040, "main.main"), (0x401100, "main.(*T).Method")]


class GoFunctions(CompatTest):
    def names(self, data):
        self.assert_same_as_reference(data)
        return [(row.address, row.length, row.name.decode())
                for row in lidia_reference.LidiaFile(self.compat_of(data)).rows()]

    EXPECTED = [(0x401000, 0x40, "runtime.text"), (0x401040, 0xC0, "main.main"), (0x401100, 0x100, "main.(*T).Method")]

    def test_every_version_of_the_table(self):
        for version in go_table.VERSIONS:
            with self.subTest(version=version):
                table = go_table.write(version, FUNCTIONS, 0x401200, text_start=0x401000)
                self.assertEqual(self.names(go_file(table)), self.EXPECTED)

    def test_big_endian_tables_start_at_the_text_section(self):
        for version in go_table.VERSIONS:
            with self.subTest(version=version):
                table = go_table.write(version, FUNCTIONS, 0x401200, order=">", text_start=0x401000)
                self.assertEqual(self.names(go_file(table, order=">", machine=elf.EM_PPC64)), self.EXPECTED)

    def test_32_bit_tables_before_1_18(self):
        for version in ("1.2", "1.16"):
            with self.subTest(version=version):
                table = go_table.write(version, FUNCTIONS, 0x401200, pointer_size=4)
                self.assertEqual(self.names(go_file(table, bits=32, machine=elf.EM_386)), self.EXPECTED)

    def test_32_bit_tables_since_1_18_are_refused(self):
        for version in ("1.18", "1.20"):
            with self.subTest(version=version):
                table = go_table.write(version, FUNCTIONS, 0x401200, pointer_size=4, text_start=0x401000)
                self.assert_reference_fails(go_file(table, bits=32, machine=elf.EM_386), r"text")

    def test_text_start_zero_means_the_text_section(self):
        table = go_table.write("1.20", FUNCTIONS, 0x401200, text_start=0, base=0x401000)
        self.assertEqual(self.names(go_file(table)), self.EXPECTED)

    def test_text_start_zero_shifts_everything_where_go_code_begins_later(self):
        table = go_table.write("1.20", FUNCTIONS, 0x401200, text_start=0, base=0x401000)
        shifted = [(address - 0x100, length, name) for address, length, name in self.EXPECTED]
        self.assertEqual(self.names(go_file(table, text=0x400F00)), shifted)

    def test_text_start_outside_the_text_section_is_refused(self):
        for start in (0x400FF0, 0x900000):
            with self.subTest(start=hex(start)):
                table = go_table.write("1.20", FUNCTIONS, 0x401200, text_start=start, base=0x401000)
                self.assert_reference_fails(go_file(table), r"text")

    def test_go_functions_come_after_the_symbols(self):
        table = go_table.write("1.20", FUNCTIONS, 0x401200, text_start=0x401000)
        data = go_file(table, symbols=[("main.main", 0x401040, 0x80), ("other", 0x401040, 4)])
        at_main = [row for row in self.names(data) if row[0] == 0x401040]
        self.assertEqual([row[1:] for row in at_main], [(0x80, "main.main"), (4, "other"), (0xC0, "main.main")])

    def test_the_section_name_of_older_position_independent_programs_is_not_looked_for(self):
        table = go_table.write("1.18", FUNCTIONS, 0x401200, text_start=0x401000)
        self.assertEqual(self.names(go_file(table, name=".data.rel.ro.gopclntab")), [])

    def test_an_unknown_header_is_ignored(self):
        good = go_table.write("1.20", FUNCTIONS, 0x401200, text_start=0x401000)
        for position, value in ((0, 0x77), (4, 1), (5, 1), (6, 3), (6, 0), (7, 2), (7, 16)):
            with self.subTest(position=position, value=value):
                table = bytearray(good)
                table[position] = value
                self.assertEqual(self.names(go_file(bytes(table))), [])

    def test_a_malformed_table_gives_no_functions(self):
        good = go_table.write("1.20", FUNCTIONS, 0x401200, text_start=0x401000)
        lies = {"function count": (8, 1 << 20), "names": (8 + 3 * 8, 1 << 30), "function table": (8 + 7 * 8, 1 << 30)}
        for what, (position, value) in lies.items():
            with self.subTest(what=what):
                table = bytearray(good)
                struct.pack_into("<Q", table, position, value)
                self.assertEqual(self.names(go_file(bytes(table))), [])

    def test_a_table_under_64_bytes_is_refused(self):
        self.assert_reference_fails(go_file(bytes(63)), r"gopclntab|pclntab|short|small|size|bytes")
        self.assertEqual(self.names(go_file(bytes(64))), [])

    def test_a_table_that_is_not_in_the_file_is_refused(self):
        made = ElfWriter()
        made.symbol("main", 0x401000, 8, section=made.text())
        made.section(".gopclntab", type=elf.SHT_NOBITS, flags=elf.SHF_ALLOC, address=0x500000, size=0x1000)
        self.assert_reference_fails(made.build(), r"NOBITS|gopclntab")

    def test_only_debug_of_a_go_program_is_refused(self):
        found = samples.go_files()
        if not found:
            self.skipTest("no Go toolchain")
        sextant.need_tool("objcopy")
        path = self.folder / "only-debug"
        sextant.tool("objcopy", "--only-keep-debug", found[-1], path)
        self.assert_reference_fails(path.read_bytes(), r"NOBITS|gopclntab")


class Failures(CompatTest):
    def test_no_section_called_text(self):
        made = ElfWriter()
        made.symbol("main", 0x401000, 8, section=made.text(name=".code"))
        self.assert_reference_fails(made.build(), r"\btext\b")

    def test_a_bad_symtab_alone(self):
        for lie in ({"size": 25}, {"link": 0}, {"link": 999}, {"offset": 1 << 40}):
            with self.subTest(lie=lie):
                made = ElfWriter()
                made.symbol("main", 0x401000, 8, section=made.text())
                made.table_lies(elf.SHT_SYMTAB).update(lie)
                self.assert_reference_fails(made.build(), r"symtab|symbol")

    def test_a_bad_dynsym_alone(self):
        made = ElfWriter()
        made.symbol("main", 0x401000, 8, section=made.text(), table=elf.SHT_DYNSYM)
        made.table_lies(elf.SHT_DYNSYM).update(size=25)
        self.assert_reference_fails(made.build(), r"dynsym|symbol")

    def test_no_elf_file_at_all(self):
        for data in (b"", b"\x7fELF", b"hello, world\n" * 20):
            with self.subTest(size=len(data)):
                path = self.file("in.elf", data)
                old = self.file("old.lidia", b"as it was")
                self.run_error("archive", path, "--compat", "-o", old, naming=path)
                self.assertEqual(old.read_bytes(), b"as it was")


if __name__ == "__main__":
    tap.main()
