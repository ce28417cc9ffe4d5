"""Files of SuperSize, read and written again by the library, against a reader and writer of the tests' own."""

import gzip
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest
import zlib

from support import sextant, size_writer, tap
from support.size_writer import Container, Size, Symbol, group

PROGRAM = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "tests" / "programs" / "size_again"
NAMES = ["main", "a::b<int>(c const&)", "** symbol gap 3", "", "string literal", '"text with \r in it"', "f.constprop.0",
         "naïve::größe()", "名前", "x" * 500, "Class#member(int): void"]  # fmt: skip
SECTIONS = [".text", ".rodata", ".data", ".data.rel.ro", ".bss", ".tbss", ".dex", ".dex.method", ".pak.translations",
            ".pak.nontranslated", ".arsc", ".other"]  # fmt: skip


def run(mode, content, *arguments):
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        command = [PROGRAM, mode, file.name, *map(str, arguments)]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)


class Case(unittest.TestCase):
    def output(self, mode, content, *arguments):
        done = run(mode, content, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def refused(self, content, *arguments):
        """The one line that says why."""
        done = run("text", content, *arguments)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        message = done.stderr.decode()
        self.assertEqual(message.count("\n"), 1)
        return message.strip()

    def assert_same(self, size):
        content = size_writer.save(size)
        self.assertEqual(self.output("text", content), size_writer.text_of(size))
        self.assertEqual(self.output("save", content), content)


def text_symbols():
    return [
        Symbol(".text", 0x1000, 16, "first", "a.o", "a.cc", "Blink"),
        *group(Symbol(".text", 0x1018, 8, "g", "a.o", "a.cc", "Blink", 1), Symbol(".text", 0x1018, 8, "h", "b.o", "b.cc")),
        Symbol(".text", 0x1020, 4, "last", "b.o", "b.cc", "V8", 0x7FF, disassembly="mov é\n\tret"),
        Symbol(".bss", 0x9000, 100, "counter", "", "b.cc"),
        Symbol(".other", 0, 50, "Overhead: ELF file"),
    ]


def random_size(seed, containers=None, is_sparse=None):
    """A file with everything that there can be."""
    chance = random.Random(seed)
    count = containers or chance.choice((1, 1, 2, 5))
    size = Size([], [random_container(chance, i) for i in range(count)], random_build(chance),
                chance.random() < 0.4 if is_sparse is None else is_sparse)  # fmt: skip
    for container in range(count):
        for section in chance.sample(SECTIONS, chance.randrange(1, 6)):
            add_segment(size, chance, container, section)
    return size


def random_container(chance, index):
    sections = {name: chance.randrange(1 << 40) for name in chance.sample(SECTIONS, 4)}
    return Container(f"lib {index}.so" + chance.choice(("", "?", "é\U0001f600")),
                     {"elf_build_id": "ab" * 20, "elf_mtime": 1700000000, "map_file_name": 'a"b\\c\t/\x7f\x01'},
                     {**sections, ".bss (extra)": 3},
                     {"a/b.so": {"SIZE/.text": 3, "COUNT/Relocations": 0}} if chance.random() < 0.5 else {})  # fmt: skip


def random_build(chance):
    return chance.choice(({}, {"git_revision": "abc", "gn_args": ["x=1", 'y="é"'], "out_directory": "out/Release"}))


def add_segment(size, chance, container, section):
    address = chance.choice((0, 0x1000, 1 << 40, 0xFFFFFFFF81000000))
    for _ in range(chance.choice((1, 2, 30))):
        own_size = chance.choice((0, 1, 16, 1 << 33 if address < 1 << 63 else 400))
        name = "Overhead: x" if section == ".other" and chance.random() < 0.3 else chance.choice(NAMES)
        symbol = Symbol(section, address, own_size, name, chance.choice(("", "a.o", "b/c.o")),
                        chance.choice(("", "a.cc", "ü.cc")), chance.choice(("", "Blink", "V8>Compiler")),
                        chance.choice((0, 0, 1, 64, 0x500)), container)  # fmt: skip
        if size.is_sparse:
            symbol.padding = chance.randrange(-20, 50)
            symbol.size = chance.randrange(-5 if symbol.is_overhead else 0, 500)
            symbol.address = chance.choice((chance.randrange(1 << 45), chance.randrange(1 << 64)))
        if chance.random() < 0.1:
            symbol.disassembly = chance.choice(("", "push\npop\n", "\u2192 jump"))
        size.symbols.append(symbol)
        if address:
            address += own_size + chance.choice((0, 3, 16))
    segment = [symbol for symbol in size.symbols if (symbol.container, symbol.section) == (container, section)]
    at = 0
    while at < len(segment):
        members = chance.choice((1, 1, 1, 2, 12, 16))
        if members > 1 and at + members <= len(segment):
            for symbol in segment[at : at + members]:
                symbol.address, symbol.size, symbol.padding = segment[at].address, segment[at].size, segment[at].padding
            group(*segment[at : at + members])
        at += members


class RoundTrip(Case):
    """What the reference writes is written again byte for byte."""

    def test_random_files(self):
        for seed in range(60):
            with self.subTest(seed=seed):
                self.assert_same(random_size(seed))

    def test_empty_file(self):
        self.assertTrue(size_writer.text_of(Size()).endswith(b"}\n0\n0\n\n\n\n"))
        self.assert_same(Size())

    def test_one_container_loses_nothing_else(self):
        self.assert_same(Size(text_symbols(), [Container("", {"a": 1}, {".text": 5})], {"git_revision": "x"}))

    def test_several_containers(self):
        self.assert_same(random_size(7, containers=12))

    def test_sparse_stays_sparse(self):
        size = random_size(3, is_sparse=True)
        self.assert_same(size)
        self.assertIn(b'"has_padding": true', self.output("text", size_writer.save(size)))

    def test_alias_counts(self):
        for count in (1, 2, 12, 15, 16, 255, 256):
            with self.subTest(count=count):
                aliases = group(*(Symbol(".text", 16, 4, f"f{i}", flags=i % 3) for i in range(count)))
                size = Size([*aliases, Symbol(".text", 20, 1, "g")])
                self.assertIn(f"\t0{count:x}\n".encode(), size_writer.text_of(size))
                self.assert_same(size)

    def test_groups_next_to_each_other(self):
        self.assert_same(Size([*group(Symbol(".text", 16, 4, "a"), Symbol(".text", 16, 4, "b")),
                               *group(Symbol(".text", 20, 4, "c"), Symbol(".text", 20, 4, "d"))]))  # fmt: skip

    def test_names_that_are_not_utf8(self):
        self.assert_same(Size([Symbol(".text", 1, 1, "a\udcffb", "\udc80.o")]))

    def test_unknown_keys_and_numbers_are_kept(self):
        containers = [Container("", {"z": None, "list": [1, [], {}, True]}, {".text": 1}), Container("b")]
        containers[1].extra = {"future": {"b": 1.5, "a": -3}}
        for size in (Size(text_symbols(), containers[:1], extra={"future": "é"}), Size(text_symbols(), containers)):
            self.assert_same(size)

    def test_file_without_components_and_disassembly(self):
        size = Size(text_symbols())
        size.has_components = size.has_disassembly = False
        self.assert_same(size)

    def test_huge_numbers(self):
        self.assert_same(Size([Symbol(".text", 2**62, 2**40, "a"), Symbol(".dex", 0, 2**63 - 1, "b")]))

    def test_empty_segment_names_nothing(self):
        text = size_writer.text_of(Size(text_symbols()[:1]))
        lines = text.split(b"\n")
        at = lines.index(b".text")
        lines[at : at + 2] = [b".text\t.data", b"1\t0"]
        for offset in (3, 5, 7, 9):
            lines.insert(at + offset, b"")
        self.assertEqual(self.output("text", b"\n".join(lines)), b"\n".join(lines))

    def test_other_compressors(self):
        size = random_size(11)
        text = size_writer.text_of(size)
        for content in (text, gzip.compress(text, 1), size_writer.compress(text, 0), with_members(text)):
            self.assertEqual(self.output("text", content), text)
            self.assertEqual(self.output("save", content), size_writer.save(size))

    def test_fast_deflate_has_the_same_text(self):
        content = size_writer.save(random_size(12))
        fast = self.output("fast", content)
        self.assertEqual(gzip.decompress(fast), gzip.decompress(content))
        self.assertEqual(self.output("save", fast), content)

    def test_reading_back(self):
        for seed in range(60, 80):
            size = random_size(seed)
            again = size_writer.parse(self.output("fast", size_writer.save(size)))
            self.assertEqual(size_writer.text_of(again), size_writer.text_of(size))


def with_members(text):
    return gzip.compress(text[:100]) + gzip.compress(text[100:])


class Tolerance(Case):
    """What other readers accept."""

    def setUp(self):
        self.text = size_writer.text_of(Size(text_symbols(), [Container("", {"a": 1}, {".text": 5})]))

    def with_header(self, change):
        start = self.text.index(b"{\n")
        end = self.text.index(b"\n}\n") + 2
        fields = json.loads(self.text[start:end])
        change(fields)
        header = json.dumps(fields, indent=2, sort_keys=True).encode()
        lines = self.text[:start].split(b"\n")
        return b"\n".join([*lines[:2], str(len(header)).encode(), header]) + self.text[end:]

    def test_vanity_line(self):
        text = b"# made by somebody else" + self.text[self.text.index(b"\n") :]
        self.assertEqual(self.output("text", text), self.text)

    def test_keys_that_may_be_missing(self):
        for key in ("metrics_by_file", "has_padding", "metadata"):
            text = self.with_header(lambda fields, key=key: fields.pop(key))
            self.assertEqual(self.output("text", text), text)
        text = self.with_header(lambda fields: fields.update(metadata=None))
        self.assertEqual(self.output("text", text), text)

    def test_missing_flags_are_false(self):
        size = Size(text_symbols())
        size.has_components = size.has_disassembly = False
        self.text = size_writer.text_of(size)
        for key in ("has_components", "has_disassembly"):
            text = self.with_header(lambda fields, key=key: fields.pop(key))
            self.assertEqual(self.output("text", text), text)

    def test_paths_without_tabs(self):
        text = self.text.replace(b"a.o\ta.cc\n", b"a.o\n")
        self.assertIn(b"\na.o\t\n", self.output("text", text))
        text = self.text.replace(b"\n\t\n", b"\n\n")
        self.assertEqual(self.output("text", text), self.text)

    def test_empty_lines_after_the_end(self):
        self.assertEqual(self.output("text", self.text + b"\n\n"), self.text)

    def test_one_container_with_a_name(self):
        size = Size(text_symbols(), [Container("libx.so", {}, {".text": 5}), Container("gone")])
        text = size_writer.text_of(size)
        start, end = text.index(b"{\n"), text.index(b"\n}\n") + 2
        fields = json.loads(text[start:end])
        del fields["containers"][1]
        header = json.dumps(fields, indent=2, sort_keys=True).encode()
        text = text[: text.index(b"v1.1\n") + 5] + str(len(header)).encode() + b"\n" + header + text[end:]
        self.assertEqual(self.output("text", text), text)


class Derived(Case):
    def assert_paddings(self, size):
        rows = [line.split() for line in self.output("list", size_writer.save(size)).decode().splitlines()]
        symbols = [symbol for _, members in size_writer.segments_of(size) for symbol in members]
        expected = [(symbol.address, *values) for symbol, values in zip(symbols, size_writer.padded(size))]
        self.assertEqual([tuple(map(int, row[:3])) for row in rows], expected)

    def test_random_files(self):
        for seed in range(100, 140):
            with self.subTest(seed=seed):
                self.assert_paddings(random_size(seed))

    def test_sorted_files(self):
        for seed in range(140, 170):
            with self.subTest(seed=seed):
                size = random_size(seed, is_sparse=False)
                size_writer.sort(size)
                self.assert_paddings(size)


class Order(Case):
    def test_symbols_as_in_a_full_archive(self):
        for seed in range(200, 260):
            with self.subTest(seed=seed):
                size = random_size(seed, is_sparse=False)
                content = size_writer.save(size)
                again = size_writer.parse(content)
                size_writer.sort(again)
                self.assertEqual(self.output("sort", content), size_writer.text_of(again))

    def test_order_of_lists_does_not_matter(self):
        for seed in range(260, 280):
            size = random_size(seed)
            self.assertEqual(self.output("shuffle", size_writer.save(size)), size_writer.text_of(size))


class Diff(Case):
    def test_round_trip(self):
        for seed in range(300, 310):
            halves = [random_size(seed + k * 50, is_sparse=True) for k in (0, 1)]
            for removed, added in (([], []), (["a.cc", ""], []), ([], ["ü.cc"]), (["x", "y"], ["z"])):
                content = size_writer.save_diff(*halves, removed, added, {"future": [1]} if seed % 2 else None)
                self.assertEqual(self.output("save", content), content)

    def test_fast(self):
        halves = [random_size(seed, is_sparse=True) for seed in (311, 312)]
        content = size_writer.save_diff(*halves, ["gone.cc"], ["new.cc"])
        before, after, removed, added = size_writer.parse_diff(self.output("fast", content))
        self.assertEqual([size_writer.text_of(before), size_writer.text_of(after)], [*map(size_writer.text_of, halves)])
        self.assertEqual((removed, added), (["gone.cc"], ["new.cc"]))

    def test_damage_is_reported_with_its_half(self):
        good = size_writer.save(random_size(313, is_sparse=True))
        self.assertIn("after: ", self.refused(size_writer.save_diff(good, good[:-9])))
        self.assertIn("before: ", self.refused(size_writer.save_diff(good[:40], good)))

    def test_lengths_that_reach_beyond_the_end(self):
        content = size_writer.save_diff(Size(is_sparse=True), Size(is_sparse=True))
        start = content.index(b'"before_length": ') + 17
        end = content.index(b",", start)
        self.assertLess(len(content), 1000)
        changed = content[:start] + str(len(content) - 20).encode() + content[end:]
        self.assertIn("beyond the end", self.refused(changed))

    def test_list_with_more_lines_than_it_says(self):
        half = size_writer.save(Size(is_sparse=True))
        self.assertIn("removed sources: line 3: more text", self.refused(size_writer.save_diff(half, half, ["a\nb"])))

    def test_wrong_headers(self):
        content = size_writer.save_diff(Size(is_sparse=True), Size(is_sparse=True))
        for old, new, words in (
            (b'"version": 1', b'"version": 2', "the version is not 1"),
            (b"before_length", b"before_langth", "no 'before_length'"),
            (b'"before_length": ', b'"before_length":-', "beyond the end"),
            (b'"before_length": ', b'"before_length":9', "beyond the end"),
            (b"DIFF\n", b"DIFF\n9", "beyond the end"),
            (b"DIFF\n4", b"DIFF\nx", "line 3: not the number"),
        ):
            with self.subTest(new=new):
                self.assertIn(old, content)
                self.assertIn(words, self.refused(content.replace(old, new, 1)))


class Hostile(Case):
    def test_gzip_bomb(self):
        bomb = size_writer.compress(b"# x\nSize File Format v1\n2\n{}\n" + bytes(50 << 20))
        message = self.refused(bomb, 1 << 20)
        self.assertIn("limit of 1048576 bytes", message)

    def test_bomb_that_claims_to_be_small(self):
        bomb = bytearray(size_writer.compress(bytes(50 << 20)))
        bomb[-4:] = (100).to_bytes(4, "little")
        self.assertIn("limit of 1048576 bytes", self.refused(bytes(bomb), 1 << 20))

    def test_list_that_needs_more_memory_than_it_should(self):
        lines = b"# x\nSize File Format v1\n%d\n%s\n%d\n" % (21, b'{"section_sizes": {}}', 20 << 20)
        message = self.refused(size_writer.compress(lines + b"\n" * (20 << 20)))
        self.assertIn("more memory", message)

    def test_limit_is_exact(self):
        content = size_writer.save(Size(text_symbols()))
        size = len(gzip.decompress(content))
        self.output("text", content, size)
        self.assertIn("limit", self.refused(content, size - 1))
        self.assertIn("limit", self.refused(gzip.decompress(content), size - 1))

    def test_corrupted_gzip(self):
        content = size_writer.save(random_size(400))
        text = gzip.decompress(content)
        chance = random.Random(1)
        for _ in range(60):
            damaged = bytearray(content)
            # Readers differ in how much of the ten bytes of the header they look at.
            damaged[chance.randrange(10, len(damaged))] ^= 1 << chance.randrange(8)
            try:
                same = gzip.decompress(damaged) == text
            except (OSError, EOFError, zlib.error):
                same = False
            done = run("text", bytes(damaged))
            self.assertEqual(done.returncode, 0 if same else done.returncode)
            self.assertIn(done.returncode, (0, 1))
            if not same:
                self.assertEqual((done.returncode, done.stdout), (1, b""))

    def test_truncated_gzip(self):
        content = size_writer.save(Size(text_symbols()))
        for length in range(0, len(content), 7):
            self.refused(content[:length])


if __name__ == "__main__":
    tap.main()
