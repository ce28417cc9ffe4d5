"""`sextant dump`, `info` and `verify`: the records of a file, what it is, and whether it is sound."""

import hashlib
import re
import struct

from support import elf_reader as elf
from support import go_table, lidia_reference, samples, sextant, tap
from support.elf_writer import ElfWriter, symbol_file
from support.lidia_reference import LidiaFile, Row

THREE = [("helper", 0x401060, 16), ("_start", 0x401000, 32), ("main", 0x401020, 64)]
ROWS = [
    Row(0x1000, 0x100, b"outer", 0, b"/src/outer.c", [(0, 10), (0x10, 11), (0x50, 20)]),
    Row(0x1010, 0x40, b"middle", 1, b"/src/middle.h", [(0, 5), (0x20, 6)], b"/src/outer.c", 12),
    Row(0x1020, 0x10, b"inner", 2, b"/src/inner.h", [(0, 70)], b"", 7),
    Row(0x2000, 0x10, b"plain"),
]
INFO_KEYS = {"file", "format", "version", "build_id", "file_id", "arch", "sources", "symbols", "functions", "inlines",
             "lines", "size"}


class Dump(sextant.ProgramTest):
    EXPECTED = [
        {"va": "0x1000", "length": 0x100, "depth": 0, "function": "outer", "file": "/src/outer.c", "call_file": None,
         "call_line": None, "lines": [[0, 10], [16, 11], [80, 20]]},
        {"va": "0x1010", "length": 0x40, "depth": 1, "function": "middle", "file": "/src/middle.h",
         "call_file": "/src/outer.c", "call_line": 12, "lines": [[0, 5], [32, 6]]},
        {"va": "0x1020", "length": 0x10, "depth": 2, "function": "inner", "file": "/src/inner.h", "call_file": None,
         "call_line": 7, "lines": [[0, 70]]},
        {"va": "0x2000", "length": 0x10, "depth": 0, "function": "plain", "file": None, "call_file": None,
         "call_line": None, "lines": []},
    ]

    def dump(self, data):
        lines = self.run_ok("dump", "--json", self.file("in.lidia", data)).json_lines()
        return [{key: line[key] for key in self.EXPECTED[0]} for line in lines]

    def test_every_record_with_all_its_fields_in_file_order(self):
        self.assertEqual(self.dump(lidia_reference.write(ROWS)), self.EXPECTED)

    def test_every_size_of_address_field_and_line(self):
        for address_size in (4, 8):
            for field_size in (4, 8):
                for line_size in (2, 4):
                    with self.subTest(address=address_size, field=field_size, line=line_size):
                        data = lidia_reference.write(ROWS, address_size, field_size, line_size)
                        self.assertEqual(self.dump(data), self.EXPECTED)

    def test_addresses_and_lines_that_need_the_larger_sizes(self):
        rows = [Row(0xFFFFFFFF80000000, 0xFFFFFFFF, b"kernel", 0, b"k.c", [(70000, 80000), (0xFFFFFFFF, 0xFFFFFFFF)])]
        line, = self.dump(lidia_reference.write(rows))
        self.assertEqual((line["va"], line["length"], line["lines"]),
                         ("0xffffffff80000000", 0xFFFFFFFF, [[70000, 80000], [0xFFFFFFFF, 0xFFFFFFFF]]))

    def test_equal_rows_keep_their_order(self):
        rows = [Row(0x1000, 4, b"one"), Row(0x1000, 4, b"two"), Row(0x1000, 0, b"three"), Row(0, 0, b"undefined")]
        self.assertEqual([line["function"] for line in self.dump(lidia_reference.write(rows))],
                         ["undefined", "one", "two", "three"])

    def test_no_records(self):
        self.assertEqual(self.run_ok("dump", "--json", self.file("empty.lidia", lidia_reference.write([]))).out, b"")

    def test_the_text_form_has_a_line_a_record(self):
        text = self.run_ok("dump", self.file("in.lidia", lidia_reference.write(ROWS))).text
        self.assertEqual(text, "0x1000 256 0 outer in /src/outer.c lines +0:10,+16:11,+80:20\n"
                               "0x1010 64 1 middle in /src/middle.h called at /src/outer.c:12 lines +0:5,+32:6\n"
                               "0x1020 16 2 inner in /src/inner.h called at :7 lines +0:70\n"
                               "0x2000 16 0 plain\n")

    def test_an_elf_file_is_dumped_as_its_archive_would_be(self):
        path = self.file("three.elf", symbol_file(THREE))
        lines = self.run_ok("dump", "--json", path).json_lines()
        self.assertEqual([line["function"] for line in lines], ["_start", "main", "helper"])
        self.assertEqual(lines, self.run_ok("dump", "--json", self.archive(path)).json_lines())

    def test_errors(self):
        self.run_error("dump", self.folder / "missing", naming="missing")
        self.run_error("dump", self.file("text", b"nothing of the kind\n" * 20), naming="text")
        self.run_usage("dump")


class Info(sextant.ProgramTest):
    def info(self, path, *options):
        line, = self.run_ok("info", "--json", path, *options).json_lines()
        self.assertLessEqual(INFO_KEYS, set(line), "a fixed key is missing")
        return line

    def test_an_archive(self):
        data = lidia_reference.write(ROWS)
        path = self.file("in.lidia", data)
        line = self.info(path)
        self.assertEqual(line["file"], str(path))
        self.assertEqual(line["format"], "lidia")
        self.assertEqual(line["version"], 1)
        self.assertEqual(line["functions"], 2)
        self.assertEqual(line["inlines"], 2)
        self.assertEqual(line["lines"], 6)
        self.assertEqual(line["size"], len(data))
        self.assertIsNone(line["build_id"])
        self.assertIsNone(line["arch"])

    def test_an_elf_file(self):
        made = ElfWriter()
        text = made.text()
        made.build_id("0123456789abcdef0123")
        made.symbol("static_one", 0x401000, 8, section=text)
        made.symbol("static_two", 0x401010, 8, section=text)
        made.symbol("dynamic_one", 0x401020, 8, section=text, table=elf.SHT_DYNSYM)
        data = made.build()
        line = self.info(self.file("in.elf", data))
        self.assertEqual(line["format"], "elf")
        self.assertEqual(line["build_id"], "0123456789abcdef0123")
        self.assertEqual(line["arch"], "x86_64")
        self.assertEqual(sorted(line["sources"]), ["dynsym", "symtab"])
        self.assertEqual(line["functions"], 3)
        self.assertEqual(line["size"], len(data))

    def test_no_build_id_is_null(self):
        self.assertIsNone(self.info(self.file("in.elf", symbol_file(THREE)))["build_id"])

    def test_the_file_id(self):
        for data in (symbol_file(THREE), symbol_file(THREE) + bytes(20000)):
            path = self.file("in.elf", data)
            hashed = hashlib.sha256(data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")).hexdigest()[:32]
            self.assertEqual(self.info(path)["file_id"], hashed)

    def test_go_is_a_source(self):
        made = ElfWriter()
        made.text(address=0x401000, size=0x1000)
        made.section(".gopclntab", go_table.write("1.20", [(0x401800, "main.main")], 0x401900, text_start=0x401000),
                     flags=elf.SHF_ALLOC, address=0x500000, align=8)
        self.assertEqual(self.info(self.file("in.elf", made.build()))["sources"], ["go"])

    def test_a_real_program(self):
        path = samples.compile_c(self.folder, "plain", "-Wl,--build-id=sha1")
        line = self.info(path)
        self.assertEqual(line["build_id"], elf.ElfFile.open(path).build_id())
        self.assertIn("symtab", line["sources"])
        self.assertGreater(line["symbols"], line["functions"] // 2)

    def test_several_files_give_a_line_each_in_order(self):
        paths = [self.file("a.elf", symbol_file(THREE)), self.file("b.lidia", lidia_reference.write(ROWS))]
        lines = self.run_ok("info", "--json", *paths).json_lines()
        self.assertEqual([line["file"] for line in lines], [str(path) for path in paths])

    def test_a_bad_file_does_not_silence_the_others(self):
        good = self.file("good.lidia", lidia_reference.write(ROWS))
        bad = self.file("bad", b"nothing\n" * 40)
        result = sextant.run("info", "--json", bad, good)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 1, f"\n{result}")
        self.assert_one_error_line(result, bad)
        self.assertEqual([line["file"] for line in result.json_lines()], [str(good)])

    def test_the_text_form(self):
        text = self.run_ok("info", self.file("in.lidia", lidia_reference.write(ROWS))).text
        self.assertIn("lidia", text)

    def test_errors(self):
        self.run_error("info", self.folder / "missing", naming="missing")
        self.run_usage("info")


class Verify(sextant.ProgramTest):
    def problems(self, data):
        """The problems of a file, as verify lists them."""
        path = self.file("in.lidia", data)
        result = sextant.run("verify", "--json", path)
        self.assert_no_crash(result)
        lines = result.json_lines()
        self.assertEqual(result.status, 1 if lines else 0, f"\n{result}")
        for line in lines:
            self.assertLessEqual({"file", "offset", "rule", "message"}, set(line))
            self.assertEqual(line["file"], str(path))
            self.assertTrue(line["rule"])
            self.assertTrue(line["message"])
            self.assertIsInstance(line["offset"], int)
            self.assertNotIn("\n", line["message"])
        return lines

    def assert_problem_at(self, data, start, end):
        """There is a problem, and one of them lies between the two offsets."""
        found = self.problems(data)
        offsets = [line["offset"] for line in found]
        self.assertTrue(any(start <= offset < end for offset in offsets), f"{found}")

    def test_sound_files(self):
        for data in (lidia_reference.write([]), lidia_reference.write(ROWS), lidia_reference.write(ROWS, 8, 8, 4),
                     lidia_reference.write(ROWS, nul_strings=True),
                     lidia_reference.write_from_elf(symbol_file(THREE))):
            self.assertEqual(self.problems(data), [])

    def test_archives_of_the_reference_are_sound(self):
        for path in samples.system_files()[:12]:
            with self.subTest(path=path):
                self.assertEqual(self.problems(lidia_reference.write_from_elf(open(path, "rb").read())), [])

    def test_a_wrong_checksum_of_each_part(self):
        good = lidia_reference.write(ROWS)
        for name, _, end, _ in LidiaFile(good).parts():
            with self.subTest(part=name):
                data = bytearray(good)
                data[end - 1] ^= 0x01
                self.assertTrue(self.problems(bytes(data)))
                self.assertRegex(" ".join(line["message"] for line in self.problems(bytes(data))), r"(?i)crc|checksum")

    def test_unsorted_addresses(self):
        good = lidia_reference.write(ROWS)
        table = LidiaFile(good)
        addresses = struct.pack("<4I", 0x1010, 0x1000, 0x1020, 0x2000)
        data = good[: table.addresses_at] + addresses + good[table.rows_at :]
        data = self.with_crc(data, 0x20, addresses)
        self.assert_problem_at(data, table.addresses_at, table.rows_at)

    def with_crc(self, data, at, part):
        return data[:at] + struct.pack("<I", lidia_reference.crc32c(part)) + data[at + 4 :]

    def test_a_name_outside_the_strings(self):
        good = lidia_reference.write(ROWS)
        table = LidiaFile(good)
        data = bytearray(good)
        struct.pack_into("<I", data, table.rows_at + 8, table.strings_size + 100)
        rows = bytes(data[table.rows_at : table.strings_at])
        self.assert_problem_at(self.with_crc(bytes(data), 0x40, rows), table.rows_at, table.strings_at)

    def test_lines_outside_the_line_table(self):
        good = lidia_reference.write(ROWS)
        table = LidiaFile(good)
        data = bytearray(good)
        struct.pack_into("<II", data, table.rows_at + 16, 4, 1000)
        rows = bytes(data[table.rows_at : table.strings_at])
        self.assert_problem_at(self.with_crc(bytes(data), 0x40, rows), table.rows_at, table.strings_at)

    def test_the_text_form_is_a_line_a_problem_with_its_offset(self):
        data = bytearray(lidia_reference.write(ROWS))
        data[0x80] ^= 0xFF
        path = self.file("bad.lidia", bytes(data))
        result = sextant.run("verify", path)
        self.assertEqual(result.status, 1)
        lines = result.text.splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, rf"^{re.escape(str(path))}: .+ \(offset 0x[0-9a-f]+, rule [a-z-]+\)$")

    def test_several_files(self):
        good = self.file("good.lidia", lidia_reference.write(ROWS))
        data = bytearray(lidia_reference.write(ROWS))
        data[0x84] ^= 0xFF
        bad = self.file("bad.lidia", bytes(data))
        result = sextant.run("verify", "--json", good, bad, good)
        self.assertEqual(result.status, 1, f"\n{result}")
        self.assertEqual({line["file"] for line in result.json_lines()}, {str(bad)})
        self.run_ok("verify", good, good)

    def test_our_own_archives(self):
        for options in ([], ["--mangled"], ["--compat"], ["--strings", "nul"], ["--no-index"]):
            with self.subTest(options=options):
                path = self.archive(sextant.program(), *options)
                self.run_ok("verify", path)
                self.file("cut.lidia", path.read_bytes()[:-1])
                self.assertEqual(sextant.run("verify", self.folder / "cut.lidia").status, 1)

    def test_errors(self):
        self.run_error("verify", self.folder / "missing", naming="missing")
        result = sextant.run("verify", self.file("text", b"nothing of the kind\n" * 20))
        self.assert_no_crash(result)
        self.assertEqual(result.status, 1)
        self.run_usage("verify")


if __name__ == "__main__":
    tap.main()
