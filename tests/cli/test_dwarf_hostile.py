"""Debug information that is cut, damaged, or asks for too much: what can be read is read, what cannot is reported."""

import os
import random
import struct

from support import elf_reader as elf
from support import samples, sextant, tap
from support.dwarf_writer import LANGUAGE_CPP, TEXT, DwarfWriter, uleb
from support.hostile import HostileTest

SOURCE = r"""
struct pair { int a, b; };
static inline __attribute__((always_inline)) int leaf(struct pair *p) { return p->a * 3 + p->b; }
static inline __attribute__((always_inline)) int twice(struct pair *p) { return leaf(p) + leaf(p + 1); }
__attribute__((noinline)) int work(struct pair *p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i & 1 ? twice(p) : leaf(p);
    return sum;
}
int main(int argc, char **argv)
{
    struct pair pairs[2] = {{argc, 2}, {3, (int)(long)argv}};
    return work(pairs, argc) & 1;
}
"""


def small(version, bits=64, order="<"):
    """Two units with a little of everything."""
    dwarf = DwarfWriter(version, bits, order)
    lines = dwarf.lines(files=["a.c", "b.h"]).address(TEXT).row(10).advance(4).file(2).row(3).advance(4)
    lines = lines.file(1).row(12).advance(8).end().done()
    listed = dwarf.ranges_list([(TEXT, TEXT + 16), (TEXT + 0x40, TEXT + 0x50)], base=TEXT)
    dwarf.unit(lines=lines, language=LANGUAGE_CPP)
    dwarf.entry("namespace", ("name", "string", "n"), children=True)
    abstract = dwarf.entry("subprogram", ("name", "strp", dwarf.string("helper")))
    dwarf.end()
    dwarf.entry("subprogram", ("name", "string", "first"), ("ranges", dwarf.offset_form(), listed), children=True)
    dwarf.inlined(abstract, TEXT + 4, 4, call_line=11)
    dwarf.end()
    dwarf.end_unit()
    dwarf.unit(name="c.c", low=TEXT + 0x80, high=16)
    dwarf.function("second", TEXT + 0x80, 16)
    dwarf.end_unit()
    return dwarf


class DwarfHostileTest(HostileTest):
    def assert_all_borne(self, variants, addresses=("401000", "401005", "401045", "401081")):
        """info runs on every file, the others on as many as time allows."""
        written = self.write_all(variants)
        self.assertTrue(written)
        self.run_info(written)
        self.run_each(sextant.some(written, 60), "lookup", "FILE", "--json", *addresses, answers=len(addresses))
        chosen = sextant.some(written, 40)
        self.run_each(chosen, "archive", "FILE", "-o", "OUTPUT")
        made = [(label, f"{path}.lidia") for label, path in chosen if os.path.exists(f"{path}.lidia")]
        for result in self.run_many("verify", made, "--json") if made else []:
            self.assertEqual(result.status, 0, f"\n{result}")

    def debug_sections(self, data):
        return [section for section in elf.ElfFile(data).sections if section.name.startswith(".debug_")]


class Cuts(DwarfHostileTest):
    def test_every_section_of_small_files(self):
        for version in (2, 3, 4, 5):
            with self.subTest(version=version):
                variants = []
                for name in ("info", "abbrev", "line", "str", "ranges", "rnglists"):
                    for size in range(len(getattr(small(version), name))):
                        dwarf = small(version)
                        del getattr(dwarf, name)[size:]
                        variants.append((f".debug_{name} cut to {size}", dwarf.elf()))
                self.assert_all_borne(variants)

    def test_the_debug_sections_of_a_real_program(self):
        for flags in (("-O2", "-gdwarf-4"), ("-O2", "-gdwarf-5")):
            with self.subTest(flags=flags):
                data = samples.compile_c(self.folder, "program", *flags, source=SOURCE).read_bytes()
                variants = []
                for section in self.debug_sections(data):
                    for size in range(0, section.size, max(section.size // 25, 1)):
                        end = section.offset + section.size
                        holed = data[: section.offset + size] + bytes(section.size - size) + data[end:]
                        variants.append((f"{section.name} zero from {size:#x}", holed))
                self.assert_all_borne(variants)


class ChangedBytes(DwarfHostileTest):
    def test_every_byte_of_small_files(self):
        for version, bits, order in ((2, 32, ">"), (3, 64, "<"), (4, 64, "<"), (5, 64, "<"), (5, 32, ">")):
            with self.subTest(version=version, bits=bits, order=order):
                data = small(version, bits, order).elf()
                variants = []
                for section in self.debug_sections(data):
                    for position in range(section.offset, section.offset + section.size):
                        for value in (0, 0xFF, data[position] ^ 0x80, (data[position] + 1) & 0xFF):
                            changed = data[:position] + bytes([value]) + data[position + 1 :]
                            variants.append((f"{section.name}: byte {position:#x} = {value:#x}", changed))
                self.assert_all_borne(variants)

    def test_bits_of_a_real_program(self):
        numbers = random.Random(5)
        for flags in (("-O2", "-gdwarf-4"), ("-O2", "-gdwarf-5"), ("-O0", "-gdwarf-3")):
            with self.subTest(flags=flags):
                data = samples.compile_c(self.folder, "program", *flags, source=SOURCE).read_bytes()
                sections = [section for section in self.debug_sections(data) if section.size]
                variants = []
                for number in range(300):
                    changed = bytearray(data)
                    for _ in range(numbers.choice((1, 2, 10, 50))):
                        section = numbers.choice(sections)
                        position = section.offset + numbers.randrange(section.size)
                        changed[position] = numbers.choice((0, 0x7F, 0xFF, changed[position] ^ 1 << numbers.randrange(8)))
                    variants.append((f"random {number}", bytes(changed)))
                self.assert_all_borne(variants)


class Damage(DwarfHostileTest):
    """What is broken is said and counted, and costs no more than itself."""

    def info(self, data):
        path = self.file("damaged", data)
        result = self.run_warned("info", "--json", path)
        return result.json_lines()[0], result.err, path

    def test_a_broken_unit_costs_only_itself(self):
        dwarf = small(4)
        start = len(dwarf.info)
        dwarf.unit(name="broken.c")
        dwarf.function("kept", TEXT + 0x100, 16)
        damage = len(dwarf.info)
        dwarf.info.put(uleb(12345))
        dwarf.function("lost", TEXT + 0x120, 16)
        dwarf.end_unit()
        dwarf.unit(name="last.c")
        dwarf.function("last", TEXT + 0x140, 16)
        dwarf.end_unit()
        info, said, path = self.info(dwarf.elf())
        self.assertEqual((info["units"], info["damaged_units"]), (4, 1))
        self.assertIn(f"the unit at {start:#x} of .debug_info is damaged at {damage:#x}", said)
        for address, name in ((TEXT, "first"), (TEXT + 0x80, "second"), (TEXT + 0x100, "kept"), (TEXT + 0x120, None),
                              (TEXT + 0x140, "last")):
            result = self.run_warned("lookup", path, "--json", f"{address:x}")
            frames = result.json_lines()[0]["frames"]
            self.assertEqual(frames[-1]["function"] if frames else None, name)

    def test_archive_counts_damaged_units(self):
        dwarf = small(5)
        for _ in range(8):
            dwarf.begin_unit()
            dwarf.info.put(uleb(12345))
            dwarf.end_unit(children=False)
        path = self.file("damaged", dwarf.elf())
        result = self.run_limited("archive", path, "-o", self.folder / "out.lidia")
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertIn("8 damaged units in total", result.err)
        self.assertIn("8 of 10 DWARF units damaged", result.err)
        self.assertLess(len(result.err.splitlines()), 12)

    def test_a_broken_line_table_costs_the_lines(self):
        dwarf = small(4)
        dwarf.line.poke(4, 77, 2)
        info, said, path = self.info(dwarf.elf())
        self.assertEqual(info["damaged_units"], 1)
        self.assertIn("the unit at 0x0 of .debug_info has a damaged line table", said)
        result = self.run_warned("lookup", path, "--json", "401005")
        self.assertEqual([frame["function"] for frame in result.json_lines()[0]["frames"]], ["n::helper", "first"])


class TooMuch(DwarfHostileTest):
    """Small files that ask for a lot. The program runs with 2 GiB of memory and for at most 30 s."""

    def assert_cut(self, dwarf, said="refers to too much data"):
        dwarf.new_abbreviations()
        dwarf.unit(name="honest.c", low=TEXT + 0x800000)
        dwarf.function("honest", TEXT + 0x800000, 16)
        dwarf.end_unit()
        path = self.file("hostile", dwarf.elf())
        result = self.run_limited("lookup", path, "--json", f"{TEXT + 0x800000:x}", timeout=60)
        self.assert_no_crash(result)
        self.assertEqual(result.json_lines()[0]["frames"][-1]["function"], "honest")
        result = self.run_limited("info", path, timeout=60)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertIn(said, result.err, f"\n{result}")

    def test_calls_that_share_a_list_of_ranges(self):
        dwarf = DwarfWriter(5)
        listed = dwarf.ranges_list([(TEXT + 4 * i, TEXT + 4 * i + 2) for i in range(100000)], base=TEXT)
        dwarf.unit()
        dwarf.function("f", TEXT, 400000, children=True)
        for _ in range(1000):
            dwarf.entry("inlined", ("name", "string", "g"), ("ranges", "sec_offset", listed), children=True)
        dwarf.end(1001)
        dwarf.end_unit()
        self.assert_cut(dwarf)

    @sextant.only_with_everything
    def test_units_that_share_a_line_table(self):
        for tables in (1, 2):
            dwarf = DwarfWriter(4)
            offsets = [dwarf.lines().address(TEXT).raw(b"\x21\x20" * 200000).end().done() for _ in range(tables)]
            dwarf.abbreviation("compile_unit", [("low_pc", "addr"), ("stmt_list", "sec_offset")])
            for number in range(20000):
                dwarf.begin_unit()
                dwarf.info.put(b"\1" + struct.pack("<QI", TEXT, offsets[number % tables]))
                dwarf.end_unit(children=False)
            self.assert_cut(dwarf)

    def test_units_that_share_abbreviations(self):
        dwarf = DwarfWriter(4)
        offsets = []
        for _ in range(2):
            dwarf.new_abbreviations()
            offsets.append(dwarf.abbrev_offset)
            dwarf.abbreviation("compile_unit", [("low_pc", "addr")])
            dwarf.abbrev.put(b"".join(uleb(2 + i) + b"\x24\0\0\0" for i in range(100000)))
        for number in range(50000):
            dwarf.abbrev_offset = offsets[number % 2]
            dwarf.begin_unit()
            dwarf.info.put(b"\1" + struct.pack("<Q", TEXT))
            dwarf.end_unit(children=False)
        self.assert_cut(dwarf)

    def test_names_that_overlap(self):
        dwarf = DwarfWriter(4)
        dwarf.str.put(b"x" * 60000 + b"\0")
        dwarf.unit()
        for number in range(60000):
            dwarf.entry("subprogram", ("linkage_name", "strp", number), ("low_pc", "addr", TEXT + 16 * number),
                        ("high_pc", "data1", 16))
        dwarf.end_unit()
        self.assert_cut(dwarf)

    def test_functions_that_share_all_rows(self):
        dwarf = DwarfWriter(4)
        lines = dwarf.lines().address(TEXT).raw(b"\x21\x20" * 200000).end().done()
        dwarf.unit(lines=lines)
        for _ in range(20000):
            dwarf.function("f", TEXT, 400000)
        dwarf.end_unit()
        self.assert_cut(dwarf)


if __name__ == "__main__":
    tap.main()
