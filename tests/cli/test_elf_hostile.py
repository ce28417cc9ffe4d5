"""ELF files that are cut, damaged, or lie about themselves: an answer or a clear error, never a crash."""

import lzma
import os
import random
import struct
import zlib

from support import elf_reader as elf
from support import go_table, samples, sextant, tap
from support.elf_writer import ElfWriter
from support.hostile import HostileTest

BUILD_ID = "0123456789abcdef0123456789abcdef01234567"
HUGE = (1, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 32, 1 << 40, (1 << 61) - 1, 1 << 62, 1 << 63, (1 << 64) - 1, (1 << 64) - 64)


def rich_writer(bits=64, order="<", machine=elf.EM_X86_64):
    """A small file that has a little of everything that is read."""
    made = ElfWriter(bits=bits, order=order, machine=machine)
    text = made.text(address=0x401000, size=0x200)
    note = made.build_id(BUILD_ID)
    made.segment(elf.PT_NOTE, 4, [note])
    functions = [(0x401000, "main.init"), (0x401040, "main.main")]
    table = go_table.write("1.20", functions, 0x401100, order=order, pointer_size=bits // 8, text_start=0x401000)
    made.section(".gopclntab", table, flags=elf.SHF_ALLOC, address=0x500000, align=8)
    inner = ElfWriter(bits=bits, order=order, machine=machine)
    inner.symbol("inner", 0x401180, 16, section=inner.text(address=0x401000, size=0x200))
    made.section(".gnu_debugdata", lzma.compress(inner.build()))
    made.section(".gnu_debuglink", b"missing.debug\0\0\0" + struct.pack(order + "I", 0), align=4)
    made.section(".debug_str", made.compressed(b"text\0" * 50), flags=elf.SHF_COMPRESSED)
    for index in range(6):
        made.symbol(f"function{index}", 0x401100 + 16 * index, 16, section=text)
        made.symbol(f"dynamic{index}", 0x401120 + 16 * index, 8, section=text, table=elf.SHT_DYNSYM)
    return made


class ElfHostileTest(HostileTest):
    def assert_all_borne(self, variants):
        """info runs on every file, the others on as many as time allows."""
        written = self.write_all(variants)
        self.assertTrue(written)
        self.run_info(written)
        self.run_each(sextant.some(written, 100), "lookup", "FILE", "--json", "401000", "401048", "401180",
                      "ffffffffffffffff", answers=4)
        self.run_each(sextant.some(written, 20), "lookup", "FILE", "--json", "--file-offset", "--zero-size", "extend", "80",
                      "ffffffff", answers=2)
        chosen = sextant.some(written, 50)
        self.run_each(chosen, "archive", "FILE", "-o", "OUTPUT")
        self.assert_archives_are_sound(chosen)
        self.run_each(chosen, "archive", "FILE", "--compat", "-o", "OUTPUT")

    def assert_archives_are_sound(self, written):
        """Whatever an archive of ours was made of, it is a sound archive."""
        made = [(label, f"{path}.lidia") for label, path in written if os.path.exists(f"{path}.lidia")]
        for result in self.run_many("verify", made, "--json") if made else []:
            self.assertEqual(result.status, 0, f"\n{result}")


class Cuts(ElfHostileTest):
    def test_a_small_file_cut_everywhere(self):
        data = rich_writer().build()
        self.assert_all_borne((f"cut to {size} bytes", data[:size]) for size in range(0, len(data), 7))

    def test_a_real_program_cut_here_and_there(self):
        data = samples.compile_c(self.folder, "program").read_bytes()
        self.assert_all_borne((f"cut to {size} bytes", data[:size]) for size in range(0, len(data), len(data) // 150))

    def test_holes_in_a_real_program(self):
        data = samples.compile_c(self.folder, "program").read_bytes()
        step = len(data) // 60
        self.assert_all_borne((f"{step} bytes of 0xff at {at}", data[:at] + b"\xff" * step + data[at + step :])
                              for at in range(0, len(data) - step, step))


class ChangedBytes(ElfHostileTest):
    def changes(self, data, positions, values=(0x00, 0xFF)):
        for position in positions:
            for value in (*values, data[position] ^ 0xFF, (data[position] + 1) & 0xFF):
                yield f"byte 0x{position:x} = 0x{value:02x}", data[:position] + bytes([value]) + data[position + 1 :]

    def test_the_headers_of_a_small_file(self):
        for bits, order in ((64, "<"), (32, ">")):
            with self.subTest(bits=bits, order=order):
                data = rich_writer(bits, order, elf.EM_X86_64 if bits == 64 else 8).build()
                file = elf.ElfFile(data)
                positions = [*range(4, file.phoff + 2 * file.phentsize),
                             *range(file.shoff, file.shoff + len(file.sections) * file.shentsize, 3)]
                self.assert_all_borne(self.changes(data, positions, ()))

    def test_the_contents_of_a_small_file(self):
        data = rich_writer().build()
        file = elf.ElfFile(data)
        start = file.section(".note.gnu.build-id").offset
        self.assert_all_borne(self.changes(data, range(start, file.shoff, 5), (0xFF,)))

    def test_the_headers_of_a_real_program(self):
        data = samples.compile_c(self.folder, "program").read_bytes()
        file = elf.ElfFile(data)
        positions = [*range(16, 64), *range(64, 64 + file.phnum * 56, 5),
                     *range(file.shoff, file.shoff + len(file.sections) * 64, 7)]
        self.assert_all_borne(self.changes(data, positions, ()))

    def test_the_dynamic_parts_of_a_real_program(self):
        data = samples.compile_c(self.folder, "program").read_bytes()
        file = elf.ElfFile(data)
        positions = []
        for name in (".rela.plt", ".rela.dyn", ".dynsym", ".plt", ".plt.got", ".gnu.version", ".gnu.version_r",
                     ".dynamic"):
            section = file.section(name)
            if section:
                positions += range(section.offset, section.offset + section.size, 3)
        self.assert_all_borne(self.changes(data, positions, ()))

    def test_random_changes(self):
        numbers = random.Random(99)
        data = rich_writer().build()
        variants = []
        for number in range(500):
            changed = bytearray(data)
            for _ in range(numbers.randrange(1, 12)):
                position = numbers.randrange(16, len(changed))
                changed[position] = numbers.choice((0, 1, 0x7F, 0x80, 0xFF, numbers.randrange(256)))
            variants.append((f"random {number}", bytes(changed)))
        self.assert_all_borne(variants)


class Lies(ElfHostileTest):
    def test_every_field_of_the_file_header(self):
        variants = []
        for bits in (32, 64):
            for name in ("phoff", "shoff", "phentsize", "phnum", "shentsize", "shnum", "shstrndx", "type", "machine",
                         "version", "ehsize"):
                wide = name in ("phoff", "shoff") and bits == 64
                for value in HUGE if wide else (0, 1, 2, 39, 63, 0xFF, 0xFEFF, 0xFF00, 0xFFFF):
                    made = rich_writer(bits=bits)
                    made.header_lies[name] = value & ((1 << 64) - 1 if wide else 0xFFFF)
                    variants.append((f"{bits} bits, {name} = {value:#x}", made.build()))
        self.assert_all_borne(variants)

    def test_every_byte_of_the_identification(self):
        variants = []
        for position in range(4, 16):
            for value in (0, 1, 2, 3, 0x80, 0xFF):
                made = rich_writer()
                made.ident_lies[position] = value
                variants.append((f"ident[{position}] = {value}", made.build()))
        self.assert_all_borne(variants)

    def test_every_field_of_every_section_header(self):
        variants = []
        for bits in (32, 64):
            mask = (1 << bits) - 1
            count = len(rich_writer(bits=bits).sections)
            for index in range(count):
                for name, values in (("offset", HUGE), ("size", HUGE), ("entsize", (0, 1, 7, mask)),
                                     ("align", (0, 3, 1 << 31, mask)), ("address", (0, mask, mask - 8)),
                                     ("link", (0, index + 1, 99, 0xFFFFFFFF)), ("info", (0, 99, 0xFFFFFFFF)),
                                     ("type", (0, 1, 2, 3, 4, 7, 8, 9, 11, 0x6FFFFFFF)), ("flags", (0, 0x800, 0x802)),
                                     ("name", (1, 0xFFFFFF, 0xFFFFFFFF))):
                    for value in values:
                        made = rich_writer(bits=bits)
                        limit = 0xFFFFFFFF if name in ("link", "info", "type", "name") else mask
                        made.sections[index].lies[name] = value & limit
                        variants.append((f"{bits} bits, section {index}: {name} = {value:#x}", made.build()))
        self.assert_all_borne(variants)

    def test_every_field_of_the_symbol_tables(self):
        variants = []
        for kind in (elf.SHT_SYMTAB, elf.SHT_DYNSYM):
            for name, values in (("offset", HUGE), ("size", (*HUGE, 23, 25, 0, 47)),
                                 ("entsize", (0, 1, 16, 23, 1 << 63)),
                                 ("link", (*range(14), 0xFFFFFFFF)), ("info", (0, 99, 0xFFFFFFFF)),
                                 ("type", (elf.SHT_NOBITS, elf.SHT_SYMTAB, elf.SHT_DYNSYM)), ("flags", (0x800,))):
                for value in values:
                    made = rich_writer()
                    limit = 0xFFFFFFFF if name in ("link", "info", "type") else (1 << 64) - 1
                    made.table_lies(kind)[name] = value & limit
                    variants.append((f"table {kind}: {name} = {value:#x}", made.build()))
        self.assert_all_borne(variants)

    def test_tables_that_are_each_others_strings(self):
        made = rich_writer()
        made.build()
        first = len(made.sections) + 1
        made.table_lies(elf.SHT_DYNSYM)["link"] = first + 2
        made.table_lies(elf.SHT_SYMTAB)["link"] = first
        own = rich_writer()
        own.table_lies(elf.SHT_SYMTAB)["link"] = first + 2
        self.assert_all_borne([("each other's", made.build()), ("its own", own.build())])

    def test_every_field_of_a_program_header(self):
        variants = []
        for name in ("offset", "vaddr", "filesz", "memsz", "align"):
            for value in HUGE:
                made = rich_writer()
                made.segments[0].fields[name] = value
                made.segments[1].fields[name] = value
                variants.append((f"{name} = {value:#x}", made.build()))
        self.assert_all_borne(variants)

    def test_overlapping_segments(self):
        made = rich_writer()
        for index in range(50):
            made.segment(elf.PT_LOAD, 5, vaddr=index * 8, offset=index, filesz=1 << 40, memsz=1 << 41)
        self.assert_all_borne([("fifty segments", made.build())])

    def test_symbols_with_impossible_addresses_and_sizes(self):
        variants = []
        for value in (0, 1, 0x401000, (1 << 64) - 1, 1 << 63):
            for size in (0, 1, (1 << 64) - 1, 1 << 63, (1 << 64) - 0x401000):
                for section in (0, 1, 99, elf.SHN_ABS, elf.SHN_COMMON, elf.SHN_XINDEX, elf.SHN_LORESERVE):
                    made = ElfWriter()
                    made.text()
                    made.symbol("odd", value, size, section=section)
                    made.symbol("other", value, size // 2, section=section)
                    variants.append((f"value {value:#x} size {size:#x} section {section}", made.build()))
        self.assert_all_borne(variants)

    def test_notes_that_lie(self):
        variants = []
        for name_size in (0, 4, 5, 0xFFFFFFFF, 0xFFFFFFFC, 0x7FFFFFFF):
            for size in (0, 20, 21, 0xFFFFFFFF, 0xFFFFFFFC, 0x7FFFFFFF):
                made = ElfWriter()
                made.symbol("main", 0x401000, 8, section=made.text())
                note = struct.pack("<III", name_size, size, 3) + b"GNU\0" + bytes(20)
                made.section(".note.gnu.build-id", note, type=elf.SHT_NOTE, flags=elf.SHF_ALLOC, align=4)
                variants.append((f"name {name_size:#x}, content {size:#x}", made.build()))
        self.assert_all_borne(variants)

    def test_compressed_sections_that_lie(self):
        variants = []
        for kind in (0, 1, 2, 3, 0xFFFFFFFF):
            for stated in (0, 1, 47, 48, 49, 1 << 33, 1 << 40, (1 << 64) - 1):
                made = ElfWriter()
                made.text()
                rows = bytes(24) + made.pack_symbol(1, 0x401000, 8, elf.STT_FUNC, elf.STB_GLOBAL, 1)
                strings = made.section(".strtab", b"\0packed\0", type=elf.SHT_STRTAB)
                content = made.compressed(rows, align=8, kind=kind, stated_size=stated)
                made.section(".symtab", content, type=elf.SHT_SYMTAB, flags=elf.SHF_COMPRESSED, link=strings,
                             entsize=24)
                variants.append((f"kind {kind:#x}, stated size {stated:#x}", made.build()))
        self.assert_all_borne(variants)

    @sextant.only_with_everything
    def test_a_section_that_swells(self):
        made = ElfWriter()
        made.text()
        packed = zlib.compress(bytes(24), 9)
        strings = made.section(".strtab", b"\0", type=elf.SHT_STRTAB)
        bomb = zlib.compress(bytes(100 << 20), 9)
        made.section(".symtab", struct.pack("<IIQQ", 1, 0, 100 << 20, 8) + bomb, type=elf.SHT_SYMTAB,
                     flags=elf.SHF_COMPRESSED, link=strings, entsize=24)
        made.section(".gnu_debugdata", lzma.compress(bytes(100 << 20)))
        self.assertLess(len(packed), 100)
        self.assert_all_borne([("100 MiB of zeros", made.build())])

    def test_go_tables_that_lie(self):
        variants = []
        good = go_table.write("1.20", [(0x401000 + 16 * index, f"main.f{index}") for index in range(8)], 0x401100,
                              text_start=0x401000)
        for position in range(0, len(good), 4):
            for value in (0, 0x7FFFFFFF, 0xFFFFFFFF, 0x10000):
                table = good[:position] + struct.pack("<I", value) + good[position + 4 :]
                made = ElfWriter()
                made.text(address=0x401000, size=0x1000)
                made.section(".gopclntab", table, flags=elf.SHF_ALLOC, address=0x500000, align=8)
                variants.append((f"word at 0x{position:x} = {value:#x}", made.build()))
        self.assert_all_borne(variants)

    def test_go_tables_that_are_cut(self):
        variants = []
        for version in go_table.VERSIONS:
            table = go_table.write(version, [(0x401000, "main.a"), (0x401010, "main.b")], 0x401100, text_start=0x401000)
            for size in range(0, len(table), 5):
                made = ElfWriter()
                made.text(address=0x401000, size=0x1000)
                made.section(".gopclntab", table[:size], flags=elf.SHF_ALLOC, address=0x500000, align=8)
                variants.append((f"{version} cut to {size}", made.build()))
        self.assert_all_borne(variants)

    def test_a_relocatable_file_with_impossible_sections(self):
        variants = []
        for size in HUGE:
            for align in (0, 1, 1 << 63, (1 << 64) - 1):
                made = ElfWriter(type=elf.ET_REL)
                text = made.text(address=0)
                made.section(".bss", type=elf.SHT_NOBITS, flags=elf.SHF_ALLOC, size=size, align=1).lies["align"] = align
                late = made.text(address=0, name=".text.late")
                made.symbol("early", 0, 8, section=text)
                made.symbol("late", 0, 8, section=late)
                variants.append((f".bss of {size:#x} bytes aligned to {align:#x}", made.build()))
        self.assert_all_borne(variants)


if __name__ == "__main__":
    tap.main()
