"""Maps of real linkers, against the programs that they describe.

The program under test is tests/programs/list_linker_map of the build, which lists what the library reads. Each linker links
the same programs; what its map says must be what is in the file: sections, objects by the symbols that they define,
literals in merged strings, and not a byte more or less.
"""

from support import elf_reader as elf
from support import linker_maps, sextant, tap

C = {"main.c": linker_maps.MAIN_C, "helper.c": linker_maps.HELPER_C}
CPP = {"main.cpp": linker_maps.MAIN_CPP, "other.cpp": linker_maps.OTHER_CPP}
SHARED_LITERAL = b"a string that both objects have\0"


class MapTest(sextant.ProgramTest):
    """The cases are in a class of their own, so that they only run for linkers."""

    linker = None

    def setUp(self):
        super().setUp()
        if self.linker is None:
            self.skipTest("this is for linkers")

    def link(self, sources, *flags, **options):
        return linker_maps.link(self.folder, self.linker, sources, *flags, **options)

    def check(self, sample, folded=False):
        found, file = sample.map(), sample.elf()
        self.assertEqual(found.linker, linker_maps.NAMES[self.linker])
        self.assertEqual(found.cut, 0)
        self.check_sections(found, file)
        self.check_coverage(found)
        self.check_objects(found, file, sample, folded)
        self.check_symbols(found, file)
        return found

    def check_sections(self, found, file):
        theirs = {(section.name, section.address, section.size) for section in file.sections
                  if section.flags & elf.SHF_ALLOC and section.size > 0}
        ours = {(section.name, section.address, section.size) for section in found.sections
                if section.allocated and section.size > 0}
        self.assertEqual(ours, theirs)

    def check_coverage(self, found):
        """The pieces of a section follow upon each other from its first byte to its last."""
        for section in found.sections:
            at = section.address
            pieces = [piece for piece in found.pieces if piece.section is section and piece.size > 0]
            for piece in sorted(pieces, key=lambda piece: piece.address):
                self.assertEqual(piece.address, at, f"{section.name}: {piece}")
                at = piece.end
            self.assertEqual(at, section.address + section.size, section.name)

    def check_objects(self, found, file, sample, folded):
        """A function or variable is in a piece of an object that defines it."""
        objects = {piece.object for piece in found.pieces if piece.object}
        defined_anywhere = set().union(*(sample.defined_by(path) or () for path in objects))
        by_address = {}
        for symbol in sized_symbols(file):
            by_address.setdefault(symbol.value, set()).add(symbol.name.decode().split("@")[0])
        for address, names in by_address.items():
            piece = found.at(address)
            self.assertIsNotNone(piece, f"{names} at {address:#x}")
            if piece.kind == "common" and not piece.object:
                for name in names:
                    self.assertIn(name, sample.defined_by(found.commons[name]))
            elif piece.kind == "internal":
                self.assertFalse(names & defined_anywhere, piece)
            elif piece.kind not in ("strings", "constants"):
                defined = sample.defined_by(piece.object)
                self.assertEqual(defined is None, bool(piece.flags & linker_maps.LTO), piece)
                if defined is not None:
                    missing = names - defined
                    self.assertTrue(missing < names if folded else not missing, f"{missing} at {address:#x}: {piece}")

    def check_symbols(self, found, file):
        """The symbols of the map are in the symbol table, too."""
        theirs = {(symbol.value, symbol.name.decode().split("@")[0]) for symbol in file.symbols(elf.SHT_SYMTAB)}
        self.assertGreater(len(found.symbols), 10)
        for symbol in found.symbols:
            self.assertTrue(symbol.piece.address <= symbol.address <= symbol.piece.end, symbol)
            if symbol.piece.kind != "internal" and not symbol.piece.section.name.startswith((".tdata", ".tbss")):
                self.assertIn((symbol.address, symbol.name.split("@")[0]), theirs)

    def check_literal(self, found, file):
        """A literal that several objects have is there once, in strings."""
        section = next(section for section in file.sections
                       if section.name.startswith(".rodata") and SHARED_LITERAL in file.contents(section))
        content = file.contents(section)
        self.assertEqual(content.count(SHARED_LITERAL), 1)
        piece = found.at(section.address + content.index(SHARED_LITERAL))
        self.assertTrue(piece.kind == "strings" or piece.flags & linker_maps.GUESSED, piece)

    def flags_of(self, found, input_section):
        return next(piece.flags for piece in found.pieces if piece.input_section == input_section)


class GnuLd(MapTest):
    linker = "bfd"
    folding = None

    def test_plain(self):
        sample = self.link(C, compile_flags=["-O2", "-fcommon"])
        found = self.check(sample)
        self.check_literal(found, sample.elf())
        objects = {symbol.name: symbol.piece.object for symbol in found.symbols}
        self.assertEqual(objects["main"], "main.o")
        for name in ("helper", "words", "in_thread", "zero_in_thread"):
            self.assertEqual(objects[name], "libparts.a(helper.o)", name)

    def test_a_section_for_each_function(self):
        sample = self.link(C, "-Wl,--gc-sections",
                           compile_flags=["-O2", "-fcommon", "-ffunction-sections", "-fdata-sections"])
        found = self.check(sample)
        self.check_literal(found, sample.elf())
        self.assertEqual(self.flags_of(found, ".text.startup.main"), linker_maps.STARTUP)
        self.assertEqual(self.flags_of(found, ".text.unlikely.never"), linker_maps.UNLIKELY)
        self.assertEqual(self.flags_of(found, ".text.hot.scaled"), linker_maps.HOT)
        self.assertEqual(self.flags_of(found, ".text.helper"), 0)
        self.assertFalse([piece for piece in found.pieces if piece.input_section == ".text.unused_function"])
        objects = {piece.input_section: piece.object for piece in found.pieces}
        self.assertEqual(objects[".text.helper"], "libparts.a(helper.o)")
        self.assertEqual(objects[".text.startup.main"], "main.o")

    def test_templates(self):
        sample = self.link(CPP, compiler="g++", compile_flags=["-O1", "-ffunction-sections"])
        self.check_literal(self.check(sample), sample.elf())

    def test_folded_functions(self):
        if self.folding is None:
            self.skipTest("this linker does not fold")
        self.check(self.link(CPP, self.folding, compiler="g++", compile_flags=["-O1", "-ffunction-sections"]), True)
        self.check(self.link(C, self.folding, compile_flags=["-O2", "-fcommon", "-ffunction-sections"]), True)

    def test_optimized_while_linking(self):
        if self.linker == "lld":
            sextant.need_tool("clang")
            sample = self.link(C, compiler="clang", compile_flags=["-O1", "-fcommon", "-flto"])
        else:
            sample = self.link(C, compile_flags=["-O1", "-fcommon", "-flto"])
        found = self.check(sample)
        text = [piece for piece in found.pieces if piece.section.name == ".text" and piece.flags & linker_maps.LTO]
        self.assertGreater(sum(piece.size for piece in text), 50)

    def test_a_library(self):
        sample = self.link(CPP, "-shared", compiler="g++", compile_flags=["-O1", "-fPIC"])
        self.check(sample)

    def test_the_whole_c_library(self):
        try:
            sample = self.link(C, "-static", compile_flags=["-O2", "-fcommon"])
        except AssertionError:
            self.skipTest("there is no static C library")
        self.assertGreater(len(self.check(sample).pieces), 1000)

    def test_readable_names(self):
        sample = self.link(CPP, "-Wl,--demangle", compiler="g++", compile_flags=["-O1"])
        names = {symbol.name for symbol in sample.map().symbols}
        self.assertIn("Box<int>::get()", names)

    def test_all_that_is_not_said_is_alignment(self):
        """GNU ld speaks of every byte; lld leaves out the alignment, and what it adds to unwind tables."""
        found = self.link(C, compile_flags=["-O2", "-fcommon"]).map()
        implied = [piece for piece in found.pieces if piece.flags & linker_maps.IMPLIED and piece.section.allocated]
        if self.linker == "bfd":
            self.assertEqual(implied, [])
        elif self.linker in ("gold", "lld"):
            self.assertLess(max([piece.size for piece in implied], default=0), 64)
            sections = {piece.section.name for piece in implied if piece.kind != "fill"}
            self.assertLessEqual(sections, {".eh_frame"})


class Gold(GnuLd):
    linker = "gold"
    folding = "-Wl,--icf=all"


class Lld(GnuLd):
    linker = "lld"
    folding = "-Wl,--icf=all"


class Mold(GnuLd):
    linker = "mold"
    folding = "-Wl,--icf=all"


def sized_symbols(file):
    for symbol in file.symbols(elf.SHT_SYMTAB):
        if symbol.size > 0 and symbol.type in (elf.STT_FUNC, elf.STT_OBJECT, elf.STT_GNU_IFUNC) \
                and elf.SHN_UNDEF < symbol.section < elf.SHN_LORESERVE \
                and file.sections[symbol.section].flags & elf.SHF_ALLOC:
            yield symbol


if __name__ == "__main__":
    tap.main()
