"""convert of SuperSize's files: copies, and parts that a filter keeps."""

import gzip

from support import sextant, size_writer, tap
from support.size_writer import Container, Size, Symbol, group


def sample():
    symbols = [
        Symbol(".text", 0x1000, 16, "first", "a.o", "a.cc", "Blink"),
        *group(Symbol(".text", 0x1018, 80, "g", "a.o", "a.cc", "Blink", 1), Symbol(".text", 0x1018, 80, "h", "b.o", "b.cc")),
        Symbol(".text", 0x1070, 400, "last<größe>", "b.o", "b.cc", "V8", 0x7FF, disassembly="mov é\n\tret"),
        Symbol(".rodata", 0x5000, 300, "table", "b.o", "b.cc"),
        Symbol(".bss", 0x9000, 100, "counter", "", "b.cc"),
        Symbol(".other", 0, 50, "Overhead: ELF file"),
    ]
    sizes = {".text": 0x200, ".rodata": 300, ".bss": 100, ".other": 50, ".comment": 12}
    return Size(symbols, [Container("", {"elf_arch": "x64"}, sizes, {"a": {"SIZE/.text": 1}})], {"git_revision": "abc"},
                extra={"unknown_key": [1, 2]})  # fmt: skip


def rows(size):
    """What a reader sees of all symbols."""
    return [(symbol.section, symbol.address, full, padding, symbol.name, symbol.object_path, symbol.source_path,
             symbol.component, symbol.flags, len(symbol.aliases or [1]), symbol.disassembly)
            for symbol, (full, padding) in zip(size.symbols, size_writer.padded(size))]  # fmt: skip


class Case(sextant.ProgramTest):
    def convert(self, content, *options, name="in.size", output="out.size"):
        path = self.file(name, content)
        self.run_ok("convert", path, "-o", self.folder / output, *options)
        self.assertEqual(path.read_bytes(), content)
        return (self.folder / output).read_bytes()

    def assert_refused(self, run, *arguments):
        result = run("convert", *arguments)
        self.assertEqual(list(self.folder.glob("out*")), [])
        return result


class Copies(Case):
    def test_the_bytes_of_the_reference(self):
        for size in (sample(), Size(), Size([Symbol(".text", 1, 2, "f", container=1)], [Container("a"), Container("b")])):
            content = size_writer.save(size)
            self.assertEqual(self.convert(content), content)

    def test_a_sparse_file_stays_sparse(self):
        size = sample()
        size.is_sparse = True
        size.symbols[3].padding = 7
        size.symbols.reverse()
        content = size_writer.save(size)
        self.assertEqual(self.convert(content), content)

    def test_a_diff(self):
        half = Size([Symbol(".text", 0x1000, 16, "f", disassembly="--- f\n")], is_sparse=True)
        content = size_writer.save_diff(half, sample_sparse(), ["gone.cc"], ["new.cc"], {"unknown": 1})
        self.assertEqual(self.convert(content, name="in.sizediff", output="out.sizediff"), content)

    def test_plain_text_is_compressed(self):
        self.assertEqual(self.convert(size_writer.text_of(sample())), size_writer.save(sample()))

    def test_fast(self):
        content = size_writer.save(sample())
        found = self.convert(content, "--deflate", "fast")
        self.assertNotEqual(found, content)
        self.assertEqual(gzip.decompress(found), gzip.decompress(content))

    def test_standard_input_and_output(self):
        content = size_writer.save(sample())
        self.assertEqual(self.run_ok("convert", "-", "-o", "-", "-f", "size", stdin=content).out, content)


def sample_sparse():
    size = sample()
    size.is_sparse = True
    return size


class Parts(Case):
    def part(self, where, size=None, *options):
        found = size_writer.parse(self.convert(size_writer.save(size or sample()), "--where", where, *options))
        self.assertTrue(found.is_sparse)
        return found

    def test_symbols_of_a_section(self):
        whole, part = sample(), self.part("section:.text")
        self.assertEqual(rows(part), [row for row in rows(whole) if row[0] == ".text"])

    def test_symbols_by_size_with_their_paddings(self):
        part = self.part("section:.text and size>=100")
        found = [(symbol.name, symbol.size, symbol.padding) for symbol in part.symbols]
        self.assertEqual(found, [("last<größe>", 400, 8)])
        self.assertEqual(part.symbols[0].disassembly, "mov é\n\tret")

    def test_aliases_come_along(self):
        part = self.part("name~^h$")
        self.assertEqual([symbol.name for symbol in part.symbols], ["g", "h"])
        self.assertEqual([len(symbol.aliases) for symbol in part.symbols], [2, 2])

    def test_header_is_complete(self):
        whole, part = sample(), self.part("name~^h$")
        self.assertEqual(part.build_config, whole.build_config)
        self.assertEqual(part.extra, whole.extra)
        self.assertEqual(vars(part.containers[0]), vars(whole.containers[0]))

    def test_nothing_and_everything(self):
        self.assertEqual(self.part("size>1g").symbols, [])
        self.assertEqual(rows(self.part("size>=0")), rows(sample()))

    def test_the_largest(self):
        part = self.part("section:.text | sort size | limit 1")
        self.assertEqual([symbol.name for symbol in part.symbols], ["last<größe>"])

    def test_a_part_of_a_part(self):
        first = self.part("section:.text")
        second = self.part("name:first", first)
        self.assertEqual(rows(second), [row for row in rows(sample()) if row[4] == "first"])

    def test_the_result_is_good(self):
        self.part("section:.text or section:.other")
        self.run_ok("verify", self.folder / "out.size")
        again = self.convert((self.folder / "out.size").read_bytes(), name="again.size", output="copy.size")
        self.assertEqual(again, (self.folder / "out.size").read_bytes())


class Refused(Case):
    def setUp(self):
        super().setUp()
        self.size = self.file("a.size", size_writer.save(sample()))
        self.diff = self.file("a.sizediff", size_writer.save_diff(sample_sparse(), sample_sparse()))
        self.out = self.folder / "out.size"

    def test_wrong_usage(self):
        for words in (["--where", "section:"], ["--where", "nonsense>1"], ["--where", "| group section"],
                      ["--deflate", "slow"], ["--max-size", "x"], ["--types", "T"]):  # fmt: skip
            self.assert_refused(self.run_usage, self.size, "-o", self.out, *words)
        self.assert_refused(self.run_usage, self.size, self.size, "-o", self.out)
        self.assert_refused(self.run_usage, self.diff, "-o", self.folder / "out.sizediff", "--where", "size>1")
        self.assert_refused(self.run_usage, self.size, "-o", self.folder / "out.lidia", "--where", "size>1")

    def test_wrong_files(self):
        self.assert_refused(self.run_error, self.diff, "-o", self.out)
        self.assert_refused(self.run_error, self.size, "-o", self.folder / "out.sizediff")
        self.assert_refused(self.run_error, self.file("text", b"text"), "-o", self.out)
        self.assert_refused(self.run_error, sextant.program(), "-o", self.out)
        content = self.size.read_bytes()
        self.assert_refused(self.run_error, self.file("short.size", content[: len(content) // 2]), "-o", self.out)

    def test_limit(self):
        result = self.assert_refused(self.run_error, self.size, "-o", self.out, "--max-size", "100")
        self.assertIn("100", result.err)


if __name__ == "__main__":
    tap.main()
