"""Damaged Lidia files: `verify` notices every damage and says where, and no verb crashes, hangs or eats memory."""

import os
import random
import struct

from support import lidia_reference, samples, sextant, tap
from support.hostile import HostileTest
from support.lidia_reference import LidiaFile, Row, crc32c

ROWS = [
    Row(0x1000, 0x100, b"outer", 0, b"/src/outer.c", [(0, 10), (0x10, 11)]),
    Row(0x1010, 0x40, b"inlined", 1, b"/src/inlined.h", [(0, 5)], b"/src/outer.c", 12),
    Row(0x2000, 0x10, b"plain"),
    Row(0x2010, 0x20, b"last"),
]
GOOD = lidia_reference.write(ROWS)
RESERVED = [*range(0x24, 0x28), *range(0x44, 0x48), *range(0x5C, 0x60), *range(0x7C, 0x80)]
QUESTIONS = ("1000", "1018", "2000", "2010", "ffffffffffffffff", "0")
HUGE = (1 << 33, (1 << 61) - 1, 1 << 62, (1 << 64) - 1, 1 << 31, 1 << 32, (1 << 60) + 1)
FIELDS = {  # position of each 8-byte field of the header
    "va entry size": 0x08, "va count": 0x10, "va offset": 0x18, "range field size": 0x28, "range count": 0x30,
    "range offset": 0x38, "strings size": 0x48, "strings offset": 0x50, "line field size": 0x60, "line count": 0x68,
    "line offset": 0x70,
}


def patched(data, changes):
    """DATA with (position, 8-byte value) pairs written into it."""
    changed = bytearray(data)
    for position, value in changes:
        struct.pack_into("<Q", changed, position, value)
    return bytes(changed)


def resealed(data):
    """DATA with checksums that are true of the parts as they are now, so that only deeper checks can notice."""
    changed = bytearray(data)
    for (_, start, end, _), at in zip(LidiaFile(data).parts(), (0x20, 0x40, 0x58, 0x78)):
        struct.pack_into("<I", changed, at, crc32c(data[start:end]))
    return bytes(changed)


class LidiaHostileTest(HostileTest):
    def assert_all_noticed(self, variants):
        """verify lists a problem of every file or says that it cannot be read at all; every other verb bears it."""
        written = self.write_all(variants)
        noticed = {}
        complaints = ""
        for result in self.run_many("verify", written, "--json"):
            for line in result.json_lines():
                self.assertTrue(isinstance(line["offset"], int) or not os.path.getsize(line["file"]), line)
                self.assertTrue(line["rule"] and line["message"], line)
                self.assertNotIn("\n", line["message"])
                noticed.setdefault(line["file"], []).append(line)
            complaints += result.err
        silent = [label for label, path in written if str(path) not in noticed and f"{path}: " not in complaints]
        self.assertEqual(silent[:20], [], f"verify finds nothing wrong in {len(silent)} of {len(written)} files")
        self.assert_all_borne(written)

    def assert_all_borne(self, written):
        self.run_info(written)
        self.run_each(sextant.some(written, 150), "lookup", "FILE", "--json", *QUESTIONS, answers=len(QUESTIONS))
        self.run_each(sextant.some(written, 100), "dump", "FILE", "--json")
        self.run_each(sextant.some(written, 20), "lookup", "FILE", "--name", "plain")
        self.run_each(sextant.some(written, 20), "lookup", "FILE", "--json", "--check", *QUESTIONS, answers=len(QUESTIONS))


class Damage(LidiaHostileTest):
    def test_every_truncation(self):
        self.assert_all_noticed((f"cut to {size} bytes", GOOD[:size]) for size in range(len(GOOD)))

    def test_every_truncation_of_the_empty_table(self):
        data = lidia_reference.write([])
        self.assert_all_noticed((f"cut to {size} bytes", data[:size]) for size in range(len(data)))

    def single_byte_changes(self, change):
        variants = []
        for position in range(len(GOOD)):
            value = change(GOOD[position])
            if position not in RESERVED and value != GOOD[position]:
                variants.append((f"byte 0x{position:x} = 0x{value:02x}",
                                 GOOD[:position] + bytes([value]) + GOOD[position + 1 :]))
        self.assert_all_noticed(variants)

    def test_every_byte_inverted(self):
        self.single_byte_changes(lambda byte: byte ^ 0xFF)

    def test_every_byte_zero(self):
        self.single_byte_changes(lambda byte: 0)

    def test_every_byte_ff(self):
        self.single_byte_changes(lambda byte: 0xFF)

    def test_every_byte_with_one_bit_changed(self):
        self.single_byte_changes(lambda byte: byte ^ 0x01)

    def test_bytes_that_nothing_reads_may_be_anything(self):
        variants = [(f"reserved byte 0x{at:x}", GOOD[:at] + b"\xff" + GOOD[at + 1 :]) for at in RESERVED]
        written = self.write_all(variants)
        self.run_many("verify", written)
        self.assert_all_borne(written)

    def test_wrong_magic_and_version(self):
        variants = [(f"magic {magic!r}", magic + GOOD[4:])
                    for magic in (b"aid.", b"\0\0\0\0", b".DIA", b".dib", b"ldia")]
        variants += [(f"version {version}", GOOD[:4] + struct.pack("<I", version) + GOOD[8:])
                     for version in (0, 2, 0xFFFFFFFF, 0x01000000)]
        self.assert_all_noticed(variants)

    def test_huge_and_odd_numbers_in_every_field_of_the_header(self):
        variants = []
        for name, position in FIELDS.items():
            true = struct.unpack_from("<Q", GOOD, position)[0]
            for value in (*HUGE, 0, 1, 3, 5, 7, true + 1, true - 1, len(GOOD), len(GOOD) - 1, (1 << 64) - true):
                if value != true:
                    variants.append((f"{name} = {value:#x}", patched(GOOD, [(position, value % (1 << 64))])))
        self.assert_all_noticed(variants)

    def test_huge_counts_that_agree_with_each_other(self):
        variants = []
        for count in HUGE:
            both = [(FIELDS["va count"], count), (FIELDS["range count"], count)]
            variants.append((f"both counts {count:#x}", patched(GOOD, both)))
            for size in (4, 8):
                sizes = both + [(FIELDS["va entry size"], size), (FIELDS["range field size"], size)]
                variants.append((f"both counts {count:#x}, size {size}", patched(GOOD, sizes)))
        self.assert_all_noticed(variants)

    def test_counts_whose_product_wraps_around_to_something_small(self):
        variants = []
        for count in (1 << 62, (1 << 62) + 4, 1 << 61, (1 << 61) + 1, 1 << 59, (1 << 59) + 4, 1 << 58):
            both = [(FIELDS["va count"], count), (FIELDS["range count"], count)]
            variants.append((f"both counts {count:#x}", patched(GOOD, both)))
            variants.append((f"line count {count:#x}", patched(GOOD, [(FIELDS["line count"], count)])))
        self.assert_all_noticed(variants)

    def test_offsets_that_wrap_around(self):
        variants = []
        for name in ("va offset", "range offset", "strings offset", "line offset"):
            for value in ((1 << 64) - 1, (1 << 64) - 16, (1 << 64) - 0x80, 1 << 63, len(GOOD) + 1, 0, 0x7F):
                variants.append((f"{name} = {value:#x}", patched(GOOD, [(FIELDS[name], value)])))
        self.assert_all_noticed(variants)

    def test_a_line_table_without_entries_may_not_lie_about_its_place(self):
        data = lidia_reference.write([Row(0x1000, 16, b"plain")])
        self.assert_all_noticed([
            ("line field size 7", patched(data, [(FIELDS["line field size"], 7)])),
            ("line offset 2^60", patched(data, [(FIELDS["line offset"], 1 << 60)])),
            ("line count 2^60", patched(data, [(FIELDS["line count"], 1 << 60)])),
        ])

    def test_counts_that_differ(self):
        self.assert_all_noticed([
            ("one address less", patched(GOOD, [(FIELDS["va count"], len(ROWS) - 1)])),
            ("one row less", patched(GOOD, [(FIELDS["range count"], len(ROWS) - 1)])),
            ("no addresses", patched(GOOD, [(FIELDS["va count"], 0)])),
            ("no rows", patched(GOOD, [(FIELDS["range count"], 0)])),
        ])


class SealedDamage(LidiaHostileTest):
    """The checksums are right, and the content is not."""

    def rows_changed(self, row, field, value):
        data = bytearray(GOOD)
        struct.pack_into("<I", data, LidiaFile(GOOD).rows_at + 32 * row + 4 * field, value)
        return resealed(bytes(data))

    def test_references_that_lead_outside(self):
        size = LidiaFile(GOOD).strings_size
        variants = []
        for row in range(len(ROWS)):
            for field, name in ((2, "name"), (3, "file"), (6, "call file")):
                for value in (size, size - 1, size - 3, size + 1, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFC):
                    variants.append((f"row {row}: {name} at {value:#x}", self.rows_changed(row, field, value)))
        self.assert_all_noticed(variants)

    def test_line_references_that_lead_outside(self):
        variants = []
        for row in (0, 1):
            for field, name in ((4, "first line"), (5, "line count")):
                for value in (4, 100, 0x7FFFFFFF, 0xFFFFFFFF):
                    variants.append((f"row {row}: {name} {value:#x}", self.rows_changed(row, field, value)))
        self.assert_all_noticed(variants)

    def test_line_entries_that_many_rows_share(self):
        """Each row is right, and all of them together would be 64 million entries of text."""
        count = 8000
        rows = [Row(0x1000 + i * 0x8000, 0x8000, b"f", 0, b"f.c", [(k, k + 1) for k in range(count)] if i == 0 else [])
                for i in range(count)]
        good = lidia_reference.write(rows)
        data = bytearray(good)
        for i in range(count):
            struct.pack_into("<2I", data, LidiaFile(good).rows_at + 32 * i + 16, 0, count)
        path = self.file("shared.lidia", resealed(bytes(data)))
        convert = ("convert", "-q", "-f", "symbfile", "-o", self.folder / "shared.symbfile")
        for words in (("dump", "--json"), ("dump",), convert):
            result = self.run_limited(*words, path)
            self.assertEqual(result.status, 1, words)
            self.assertLess(len(result.out), 10_000_000)
            self.assertRegex(result.err.splitlines()[-1], r"rows share line entries too often.*0x[0-9a-f]+")
        problems = self.run_ok("verify", "--json", path).json_lines()
        self.assertEqual([(problem["rule"], problem["severity"]) for problem in problems], [("sharing", "note")])
        unchanged = self.file("unchanged.lidia", good)
        self.run_ok("verify", unchanged)
        self.run_ok("dump", unchanged)

    def test_string_lengths_that_lead_outside(self):
        table = LidiaFile(GOOD)
        variants = []
        for offset in [4, 18]:
            for value in (table.strings_size, 0xFFFFFFFF, 0x7FFFFFFF, table.strings_size - offset - 3):
                data = bytearray(GOOD)
                struct.pack_into("<I", data, table.strings_at + offset, value)
                variants.append((f"string at {offset} of length {value:#x}", resealed(bytes(data))))
        self.assert_all_noticed(variants)

    def test_unsorted_addresses(self):
        table = LidiaFile(GOOD)
        variants = []
        for order in ((1, 0, 2, 3), (3, 2, 1, 0), (0, 1, 3, 2), (0, 2, 1, 3)):
            addresses = struct.pack("<4I", *(table.addresses[index] for index in order))
            variants.append((f"order {order}", resealed(GOOD[:0x80] + addresses + GOOD[0x90:])))
        self.assert_all_noticed(variants)

    def test_depths_out_of_order_at_one_address(self):
        rows = [Row(0x1000, 16, b"outer", 0), Row(0x1000, 8, b"inner", 1)]
        data = bytearray(lidia_reference.write(rows))
        at = LidiaFile(bytes(data)).rows_at
        struct.pack_into("<I", data, at + 4, 1)
        struct.pack_into("<I", data, at + 32 + 4, 0)
        self.assert_all_noticed([("depth 1 before depth 0", resealed(bytes(data)))])

    def test_no_row_is_a_function(self):
        """Every row is inlined into nothing: a walk back finds no end."""
        rows = [Row(0x1000 + 16 * index, 16, b"lost", 1 + index % 5) for index in range(5000)]
        data = lidia_reference.write(rows)
        written = self.write_all([("no row of depth 0", data)])
        self.run_many("verify", written)
        self.assert_all_borne(written)

    def test_huge_depths(self):
        self.assert_all_borne(self.write_all(
            [(f"row {row} of depth {value:#x}", self.rows_changed(row, 1, value))
             for row in range(len(ROWS)) for value in (1, 2, 0x7FFFFFFF, 0xFFFFFFFF)]))

    def test_lengths_beyond_the_end_of_the_address_space(self):
        rows = [Row((1 << 64) - 16, 0xFFFFFFFF, b"wraps"), Row(0x1000, 16, b"plain")]
        written = self.write_all([("wraps", lidia_reference.write(rows))])
        self.run_many("verify", written)
        self.assert_all_borne(written)

    def test_parts_that_overlap(self):
        table = LidiaFile(GOOD)
        variants = []
        places = {"va offset": table.addresses_at, "range offset": table.rows_at, "strings offset": table.strings_at,
                  "line offset": table.lines_at}
        for name in places:
            for other, at in places.items():
                if other != name:
                    data = patched(GOOD, [(FIELDS[name], at)])
                    try:
                        variants.append((f"{name} = {other}", resealed(data)))
                    except (struct.error, ValueError, IndexError):
                        variants.append((f"{name} = {other}", data))
        variants.append(("va table over the header", resealed(patched(GOOD, [(FIELDS["va offset"], 0x70)]))))
        variants.append(("strings over the rows", resealed(patched(
            GOOD, [(FIELDS["strings offset"], table.rows_at), (FIELDS["strings size"], table.strings_size + 40)]))))
        self.assert_all_noticed(variants)

    def test_random_changes(self):
        numbers = random.Random(7)
        variants = []
        for number in range(400):
            data = bytearray(GOOD)
            for _ in range(numbers.randrange(1, 6)):
                position = numbers.randrange(0x80, len(data))
                data[position] = numbers.choice((0, 1, 0x7F, 0x80, 0xFF, numbers.randrange(256)))
            variants.append((f"random {number}", resealed(bytes(data))))
        written = self.write_all(variants)
        self.run_many("verify", written)
        self.assert_all_borne(written)

    def test_random_bytes_after_a_good_magic(self):
        numbers = random.Random(8)
        variants = []
        for number in range(300):
            body = numbers.randbytes(numbers.choice((0, 8, 120, 124, 125, 300, 4000)))
            if number % 2:
                body = bytes(byte if numbers.random() < 0.1 else 0 for byte in body)
            variants.append((f"random {number}", b".dia\1\0\0\0" + body))
        self.assert_all_noticed(variants)


class NulStrings(LidiaHostileTest):
    DATA = lidia_reference.write(ROWS, nul_strings=True)

    def test_every_truncation(self):
        self.assert_all_noticed((f"cut to {size} bytes", self.DATA[:size]) for size in range(0, len(self.DATA)))

    def test_every_byte_inverted(self):
        variants = [(f"byte 0x{at:x}", self.DATA[:at] + bytes([self.DATA[at] ^ 0xFF]) + self.DATA[at + 1 :])
                    for at in range(len(self.DATA)) if at not in RESERVED]
        self.assert_all_noticed(variants)

    def test_a_last_string_without_an_end(self):
        rows = [Row(0x1000, 16, b"plain"), Row(0x1010, 16, b"endless")]
        data = bytearray(lidia_reference.write(rows, nul_strings=True))
        data[-1] = ord("x")
        table = LidiaFile.__new__(LidiaFile)
        LidiaFile.__init__(table, bytes(data), nul_strings=True)
        self.assert_all_noticed([("no NUL at the end", resealed(bytes(data)))])


class Index(LidiaHostileTest):
    """Our section after the line table in archives with inlined calls."""

    def setUp(self):
        super().setUp()
        found = [path for path in samples.go_files() if path.endswith("gofmt")]
        if not found:
            self.skipTest("no Go program to take inlined calls from")
        self.program = found[0]
        self.data = self.archive(self.program).read_bytes()
        self.end = LidiaFile(self.data).parts()[3][2]
        if self.end == len(self.data):
            self.skipTest("the archive of a Go program has no index here")

    def test_every_change_is_noticed(self):
        size = len(self.data) - self.end
        positions = sorted({*range(min(64, size)), *range(0, size, max(1, size // 60))})
        self.assert_all_noticed([
            (f"byte {position} of the index", self.data[: self.end + position]
             + bytes([self.data[self.end + position] ^ 0xFF]) + self.data[self.end + position + 1 :])
            for position in positions])

    def test_every_cut_is_noticed(self):
        size = len(self.data) - self.end
        self.assert_all_noticed([(f"cut {cut} bytes", self.data[:-cut])
                                 for cut in sorted({*range(1, min(40, size)), *range(1, size, max(1, size // 40))})])

    def test_without_it_the_answers_are_the_same(self):
        plain = self.archive(self.program, "--no-index", name="plain.lidia")
        indexed = self.file("indexed.lidia", self.data)
        addresses = LidiaFile(self.data).addresses
        questions = [address + 3 for address in addresses[:: max(1, len(addresses) // 2000)]]
        self.run_ok("verify", plain)
        self.assertEqual(self.lookup(plain, questions), self.lookup(indexed, questions))


if __name__ == "__main__":
    tap.main()
