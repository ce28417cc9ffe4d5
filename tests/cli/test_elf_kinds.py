"""ELF files of every kind: compressed, relocatable, ARM, big-endian, core files, and the names of PLT entries."""

import gzip
import lzma
import re
import shutil

from support import elf_reader as elf
from support import samples, sextant, tap
from support.elf_writer import ElfWriter, symbol_file

THREE = [("helper", 0x401060, 16), ("_start", 0x401000, 32), ("main", 0x401020, 64)]


class CompressedInputs(sextant.ProgramTest):
    """Recognised by content, whatever the name says."""

    def assert_reads(self, packed):
        plain = self.file("plain.elf", symbol_file(THREE))
        path = self.file("packed.bin", packed)
        self.assertEqual(self.function_at(path, 0x401020), "main")
        of_packed, of_plain = self.archive(path), self.archive(plain, name="plain.lidia")
        # After this comes the path of the binary, which differs.
        self.assertEqual(of_packed.read_bytes().partition(b"sxtc")[0], of_plain.read_bytes().partition(b"sxtc")[0])
        info, = self.run_ok("info", "--json", path).json_lines()
        self.assertEqual(info["format"], "elf")
        self.assertEqual(info["functions"], 3)

    def test_gzip(self):
        self.assert_reads(gzip.compress(symbol_file(THREE)))

    def test_gzip_in_several_members(self):
        data = symbol_file(THREE)
        self.assert_reads(gzip.compress(data[:1000]) + gzip.compress(data[1000:]))

    def test_xz(self):
        self.assert_reads(lzma.compress(symbol_file(THREE)))

    def test_zstd(self):
        sextant.need_tool("zstd")
        self.assert_reads(sextant.tool("zstd", "-q", "-c", stdin=symbol_file(THREE)))

    def test_an_archive_may_be_compressed_too(self):
        archive = self.archive(self.file("plain.elf", symbol_file(THREE)))
        for name, pack in (("gz", gzip.compress), ("xz", lzma.compress)):
            path = self.file(f"archive.{name}", pack(archive.read_bytes()))
            self.assertEqual(self.function_at(path, 0x401060), "helper")
            self.run_ok("verify", path)

    def test_cut_and_damaged_streams_are_errors(self):
        data = symbol_file(THREE)
        streams = {"gz": gzip.compress(data), "xz": lzma.compress(data)}
        if shutil.which("zstd"):
            streams["zst"] = sextant.tool("zstd", "-q", "-c", stdin=data)
        for name, packed in streams.items():
            half = len(packed) // 2
            for what, bad in (("cut", packed[:half]), ("header only", packed[:8]),
                              ("damaged", packed[:half] + bytes([packed[half] ^ 0xFF]) + packed[half + 1 :])):
                with self.subTest(stream=name, what=what):
                    path = self.file(f"bad.{name}", bad)
                    self.run_error("lookup", path, "401020", naming=path)

    def test_a_stream_that_swells_to_nothing_useful_is_an_error(self):
        path = self.file("swell.gz", gzip.compress(bytes(16 << 20)) * 16)
        self.run_error("lookup", path, "401020", naming=path, limit_memory=True)

    def test_a_compressed_stream_inside_another_is_not_opened(self):
        path = self.file("twice.gz", gzip.compress(gzip.compress(symbol_file(THREE))))
        self.run_error("lookup", path, "401020", naming=path)


class Relocatable(sextant.ProgramTest):
    """Allocated sections are laid out one after another in file order with their alignment."""

    def expected_bases(self, path):
        at = 0
        bases = {}
        for section in elf.ElfFile.open(path).sections[1:]:
            if section.flags & elf.SHF_ALLOC:
                at += -at % max(section.align, 1)
                bases[section.index] = at
                at += section.size
        return bases

    def check(self, path):
        file = elf.ElfFile.open(path)
        bases = self.expected_bases(path)
        functions = [symbol for symbol in file.symbols(elf.SHT_SYMTAB)
                     if symbol.type == elf.STT_FUNC and symbol.section in bases and symbol.size]
        self.assertTrue(functions)
        addresses = [bases[symbol.section] + symbol.value for symbol in functions]
        for target in (path, self.archive(path, "--mangled")):
            answers = self.lookup(target, addresses, *(["--mangled"] if target == path else []))
            self.assertEqual([sextant.outermost(answer) for answer in answers],
                             [symbol.name.decode() for symbol in functions])
        info, = self.run_ok("info", "--json", path).json_lines()
        self.assertEqual([(entry["section"], entry["base"]) for entry in info["section_bases"]],
                         [(file.sections[index].name, f"0x{base:x}") for index, base in bases.items()])
        text = self.run_ok("info", path).text
        for index, base in bases.items():
            self.assertRegex(text, rf"(?m)^ +0x0*{base:x} +{re.escape(file.sections[index].name)}$")

    def test_an_object_file(self):
        self.check(samples.compile_c(self.folder, "object.o", "-c"))

    def test_an_object_file_with_a_section_a_function(self):
        self.check(samples.compile_c(self.folder, "sections.o", "-c", "-ffunction-sections", "-fdata-sections"))

    def test_sections_with_large_alignment_and_without_bytes(self):
        made = ElfWriter(type=elf.ET_REL)
        code = elf.SHF_ALLOC | elf.SHF_EXECINSTR
        first = made.section(".text", bytes(10), flags=code, align=1)
        made.section(".comment", bytes(1000))
        made.section(".bss", type=elf.SHT_NOBITS, flags=elf.SHF_ALLOC | elf.SHF_WRITE, size=0x123, align=32)
        second = made.section(".text.second", bytes(64), flags=code, align=256)
        third = made.section(".text.third", bytes(64), flags=code, align=0)
        made.symbol("first", 2, 8, section=first)
        made.symbol("second", 16, 8, section=second)
        made.symbol("third", 0, 8, section=third)
        path = self.file("made.o", made.build())
        self.assertEqual(sorted(self.expected_bases(path).values()), [0, 32, 0x200, 0x240])
        self.check(path)
        self.assertEqual(self.function_at(path, 0x240), "third")


class Machines(sextant.ProgramTest):
    def test_the_thumb_bit_is_no_part_of_an_address(self):
        path = self.file("arm.elf", symbol_file([("thumb", 0x401001, 16), ("arm", 0x401020, 16)], bits=32,
                                                machine=elf.EM_ARM))
        for file in (path, self.archive(path)):
            answers = self.lookup(file, [0x401000, 0x40100F, 0x401010, 0x401020])
            self.assertEqual([sextant.outermost(answer) for answer in answers], ["thumb", "thumb", None, "arm"])
            self.assertEqual(answers[0]["frames"][0]["start"], "0x401000")

    def test_an_odd_address_elsewhere_is_an_odd_address(self):
        path = self.file("x86.elf", symbol_file([("odd", 0x401001, 15)]))
        answers = self.lookup(path, [0x401000, 0x401001])
        self.assertEqual([sextant.outermost(answer) for answer in answers], [None, "odd"])

    def test_both_widths_and_byte_orders(self):
        machines = {(32, "<"): elf.EM_386, (32, ">"): 8, (64, "<"): elf.EM_AARCH64, (64, ">"): 22}
        for (bits, order), machine in machines.items():
            with self.subTest(bits=bits, order=order):
                path = self.file("in.elf", symbol_file(THREE, bits=bits, order=order, machine=machine))
                answers = self.lookup(path, [0x401000, 0x401020, 0x401060, 0x401070])
                self.assertEqual([sextant.outermost(answer) for answer in answers], ["_start", "main", "helper", None])
                info, = self.run_ok("info", "--json", path).json_lines()
                self.assertEqual(info["functions"], 3)
                self.assertTrue(info["arch"])

    def test_the_architecture_is_named(self):
        for machine, bits, name in ((elf.EM_X86_64, 64, "x86_64"), (elf.EM_AARCH64, 64, "aarch64"),
                                    (elf.EM_ARM, 32, "arm")):
            path = self.file("in.elf", symbol_file(THREE, bits=bits, machine=machine))
            info, = self.run_ok("info", "--json", path).json_lines()
            self.assertEqual(info["arch"], name)

    def test_core_files_are_refused(self):
        path = self.file("core", symbol_file(THREE, type=elf.ET_CORE))
        for command in (["lookup", path, "401020"], ["archive", path, "-o", self.folder / "o.lidia"]):
            result = self.run_error(*command, naming=path)
            self.assertRegex(result.err, r"\bcore\b")
        self.assertFalse((self.folder / "o.lidia").exists())

    def test_a_compressed_symbol_table(self):
        made = ElfWriter()
        made.text()
        row = made.pack_symbol(1, 0x401000, 8, elf.STT_FUNC, elf.STB_GLOBAL, 1)
        strings = made.section(".strtab", b"\0packed\0", type=elf.SHT_STRTAB)
        made.section(".symtab", made.compressed(bytes(24) + row, align=8), type=elf.SHT_SYMTAB,
                     flags=elf.SHF_COMPRESSED, link=strings, info=1, align=8, entsize=24)
        self.assertEqual(self.function_at(self.file("in.elf", made.build()), 0x401004), "packed")

    def test_more_sections_than_the_header_can_count(self):
        """With 0xff00 sections or more, the count and the index of the names stand in section 0."""
        made = ElfWriter()
        text = made.text()
        made.symbol("main", 0x401000, 8, section=text)
        data = made.build()
        file = elf.ElfFile(data)
        changed = bytearray(data)
        changed[60:62] = b"\0\0"
        changed[62:64] = b"\xff\xff"
        changed[file.shoff + 32 : file.shoff + 40] = len(file.sections).to_bytes(8, "little")
        changed[file.shoff + 40 : file.shoff + 44] = file.shstrndx.to_bytes(4, "little")
        self.assertEqual(self.function_at(self.file("in.elf", bytes(changed)), 0x401000), "main")


class PltNames(sextant.ProgramTest):
    """What objdump calls an entry of the procedure linkage table, we call it too."""

    def setUp(self):
        super().setUp()
        sextant.need_tool("objdump")

    def check(self, *flags):
        path = samples.compile_c(self.folder, "program", *flags)
        listing = sextant.tool("objdump", "-d", path).decode()
        labels = {int(address, 16): name for address, name in re.findall(r"(?m)^([0-9a-f]+) <([^*>]+@plt)>:", listing)}
        self.assertIn("puts@plt", labels.values(), "objdump names no PLT entry")
        addresses = sorted(labels)
        for file in (path, self.archive(path)):
            starts = self.lookup(file, addresses)
            self.assertEqual([sextant.outermost(answer) for answer in starts], [labels[at] for at in addresses])
            inside = self.lookup(file, [address + 5 for address in addresses])
            self.assertEqual([sextant.outermost(answer) for answer in inside], [labels[at] for at in addresses])

    def test_position_independent(self):
        self.check("-fPIE", "-pie", "-fcf-protection=none")

    def test_at_a_fixed_address(self):
        self.check("-fno-pie", "-no-pie", "-fcf-protection=none")

    def test_with_branch_protection(self):
        self.check("-fPIE", "-pie", "-fcf-protection", "-Wl,-z,ibtplt")

    def test_with_branch_protection_at_a_fixed_address(self):
        self.check("-fno-pie", "-no-pie", "-fcf-protection", "-Wl,-z,ibtplt")

    def test_bound_at_start(self):
        self.check("-fPIE", "-pie", "-Wl,-z,now")

    def test_lazily_bound(self):
        self.check("-fPIE", "-pie", "-Wl,-z,lazy")

    def test_lazily_bound_with_branch_protection(self):
        self.check("-fPIE", "-pie", "-Wl,-z,lazy", "-fcf-protection", "-Wl,-z,ibtplt")

    def test_stripped(self):
        self.check("-s")

    def test_without_the_dynamic_symbols_as_a_source(self):
        path = samples.compile_c(self.folder, "program")
        archive = self.archive(path, "--sources", "symtab")
        self.assertNotIn(b"@plt", archive.read_bytes())


if __name__ == "__main__":
    tap.main()
