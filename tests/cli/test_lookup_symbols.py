"""Every function symbol of real binaries: start, middle and last byte are answered with what readelf lists, straight
from the ELF file and from the archive made of it."""

import glob
import os
import random
import shutil

from support import elf_reader as elf
from support import lidia_reference, samples, sextant, tap
from support.elf_writer import symbol_file
from support.symbol_rules import BINDING_ORDER, Expected, Function, functions_of

MOST_QUESTIONS = 60000


def library(name):
    for folder in samples.library_folders() + ["/lib64", "/usr/lib"]:
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


class DifferentialTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        sextant.need_tool("readelf")
        self.no_debug_files = self.folder / "no-debug-files"
        self.no_debug_files.mkdir()

    def compare(self, path):
        """Asks about every function of the file; returns how many functions it has."""
        functions = functions_of(path)
        expected = Expected(functions)
        questions = expected.questions()
        step = -(-len(questions) // MOST_QUESTIONS) or 1
        questions = questions[::step]
        self.assertTrue(questions, f"readelf lists no function of {path}")
        tables = ["--mangled", "--debug-dir", self.no_debug_files, "--sources", "symtab,dynsym"]
        direct = self.lookup(path, questions, *tables)
        self.check(f"{path} itself", expected, questions, direct)
        archive = self.archive(path, *tables)
        self.check(f"the archive of {path}", expected, questions, self.lookup(archive, questions))
        self.check_with_the_reference_reader(path, archive, expected, questions)
        return len(functions)

    def check(self, what, expected, questions, answers):
        wrong = []
        for address, answer in zip(questions, answers):
            function = expected.at(address)
            got = sextant.outermost(answer)
            start = answer["frames"][-1]["start"] if answer["frames"] else None
            if answer["address"] != f"0x{address:x}":
                wrong.append(f"{address:#x}: answered for {answer['address']}")
            elif got != function.name:
                wrong.append(f"{address:#x}: {got}, expected {function.name}")
            elif not expected.interrupted(function, address) and start != f"0x{function.start:x}":
                wrong.append(f"{address:#x}: {got} starts at {start}, not {function.start:#x}")
        self.assertEqual(wrong[:10], [], f"{what}: {len(wrong)} of {len(questions)} answers are wrong")

    def check_with_the_reference_reader(self, path, archive, expected, questions):
        """The reference's way of looking up must find the same functions in our archive."""
        table = lidia_reference.LidiaFile(archive.read_bytes())
        table.check()
        wrong = []
        for address in questions[:: len(questions) // 3000 or 1]:
            rows = table.lookup(address)
            got = rows[-1].name.decode() if rows else None
            if got != expected.at(address).name:
                wrong.append(f"{address:#x}: {got}, expected {expected.at(address).name}")
        self.assertEqual(wrong[:10], [], f"the reference's reader on the archive of {path}")

    def compare_if_there(self, path):
        if not path or not os.path.exists(path):
            self.skipTest("not on this system")
        return self.compare(path)


class SystemFiles(DifferentialTest):
    def test_the_c_library(self):
        self.assertGreater(self.compare_if_there(library("libc.so.6")), 1000)

    def test_the_mathematics_library_with_its_indirect_functions(self):
        self.compare_if_there(library("libm.so.6"))

    def test_the_dynamic_loader(self):
        self.compare_if_there(library("ld-linux-x86-64.so.2") or (glob.glob("/lib/ld-linux*.so.*") or [None])[0])

    def test_a_library_with_nothing_but_dynamic_symbols(self):
        path = library("libz.so.1") or library("liblzma.so.5")
        if path:
            self.assertNotIn(b"'.symtab'", sextant.tool("readelf", "-sW", path))
        self.compare_if_there(path)

    def test_the_cpp_library(self):
        self.compare_if_there(library("libstdc++.so.6"))

    def test_bash(self):
        self.compare_if_there(shutil.which("bash"))

    def test_python(self):
        self.compare_if_there(shutil.which("python3"))

    def test_a_rust_library(self):
        found = samples.rust_libraries()
        self.compare_if_there(found[-1] if found else None)

    def test_the_program_itself(self):
        self.assertGreater(self.compare(sextant.program()), 20)


class BuiltPrograms(DifferentialTest):
    def test_an_ordinary_program(self):
        self.compare(samples.compile_c(self.folder, "plain"))

    def test_a_static_program(self):
        self.assertGreater(self.compare(samples.compile_c(self.folder, "static", "-static")), 500)

    def test_a_program_at_a_fixed_address(self):
        self.compare(samples.compile_c(self.folder, "fixed", "-fno-pie", "-no-pie"))

    def test_a_shared_library_with_both_tables(self):
        self.compare(samples.compile_c(self.folder, "both.so", "-shared", "-fPIC"))

    def test_a_stripped_shared_library(self):
        self.compare(samples.compile_c(self.folder, "stripped.so", "-shared", "-fPIC", "-s"))

    def test_aliases_nested_and_overlapping_functions(self):
        self.compare(samples.compile_c(self.folder, "odd", "-nostdlib", "-static", source=ODD_ASSEMBLY, language="asm"))


ODD_ASSEMBLY = """
    .text
    .globl _start, first_global, second_global, outer, inner, tail
    .weak a_weak
    .type _start, @function
    .type a_local, @function
    .type a_weak, @function
    .type first_global, @function
    .type second_global, @function
    .type outer, @function
    .type inner, @function
    .type tail, @function
    .type nothing, @function
    .type short_alias, @function
_start:
    .skip 16
    .size _start, 16
a_local:
a_weak:
first_global:
second_global:
nothing:
    .skip 32
    .size a_local, 32
    .size a_weak, 32
    .size first_global, 32
    .size second_global, 32
    .size nothing, 0
outer:
short_alias:
    .skip 16
inner:
    .skip 16
    .size inner, 16
    .skip 32
tail:
    .skip 16
    .size outer, . - outer - 8
    .size tail, 16
    .size short_alias, 8
"""


class AliasRule(sextant.ProgramTest):
    """The rule itself, on tables that are made for it."""

    def name_at(self, symbols, address=0x401000):
        path = self.file("in.elf", symbol_file(symbols))
        direct = self.function_at(path, address)
        archived = self.function_at(self.archive(path), address)
        self.assertEqual(direct, archived)
        return direct

    def test_a_sized_function_comes_before_one_of_size_zero(self):
        self.assertEqual(self.name_at([("zero", 0x401000, 0), ("sized", 0x401000, 8, {"binding": 0})]), "sized")
        self.assertEqual(self.name_at([("sized", 0x401000, 8, {"binding": 0}), ("zero", 0x401000, 0)]), "sized")

    def test_global_comes_before_weak_before_local(self):
        local, weak, glob_, unique = (("local", 0x401000, 8, {"binding": 0}), ("weak", 0x401000, 8, {"binding": 2}),
                                      ("global", 0x401000, 8, {"binding": 1}), ("unique", 0x401000, 8, {"binding": 10}))
        self.assertEqual(self.name_at([local, weak, glob_]), "global")
        self.assertEqual(self.name_at([local, weak]), "weak")
        self.assertEqual(self.name_at([glob_, weak, local]), "global")
        self.assertEqual(self.name_at([local, weak, unique]), "unique")

    def test_otherwise_the_first_in_the_table_wins(self):
        self.assertEqual(self.name_at([("one", 0x401000, 8), ("two", 0x401000, 8)]), "one")
        self.assertEqual(self.name_at([("two", 0x401000, 8), ("one", 0x401000, 8)]), "two")

    def test_the_longer_alias_answers_where_the_preferred_one_has_ended(self):
        symbols = [("short", 0x401000, 4), ("long", 0x401000, 16, {"binding": 0})]
        self.assertEqual(self.name_at(symbols, 0x401003), "short")
        self.assertEqual(self.name_at(symbols, 0x401004), "long")

    def test_a_nested_function_hides_only_its_own_bytes(self):
        symbols = [("outer", 0x401000, 0x100), ("inner", 0x401040, 0x10)]
        for address, name in ((0x40103F, "outer"), (0x401040, "inner"), (0x40104F, "inner"), (0x401050, "outer"),
                              (0x4010FF, "outer"), (0x401100, None)):
            self.assertEqual(self.name_at(symbols, address), name, hex(address))

    def test_a_function_of_size_zero_inside_another_hides_nothing(self):
        symbols = [("outer", 0x401000, 0x100), ("label", 0x401040, 0)]
        self.assertEqual(self.name_at(symbols, 0x401040), "outer")
        self.assertEqual(self.name_at(symbols, 0x401080), "outer")

    def test_a_function_at_the_very_top_of_the_address_space(self):
        symbols = [("last", (1 << 64) - 16, 16), ("low", 0x401000, 4)]
        self.assertEqual(self.name_at(symbols, (1 << 64) - 16), "last")
        self.assertEqual(self.name_at(symbols, (1 << 64) - 2), "last")
        self.assertIsNone(self.name_at(symbols, (1 << 64) - 17))


    def test_random_functions_that_overlap_in_every_way(self):
        numbers = random.Random(3)
        for number in range(40):
            symbols = random_functions(numbers)
            expected = Expected([Function(value, size, name, (BINDING_ORDER[binding], 0, index))
                                 for index, (name, value, size, binding) in enumerate(symbols)])
            questions = list(range(0x400FFC, 0x4010A0))
            names = [function.name if function else None for function in map(expected.at, questions)]
            path = self.file("in.elf", symbol_file([(name, value, size, {"binding": BINDING_NUMBER[binding]})
                                                    for name, value, size, binding in symbols]))
            archive = self.archive(path)
            table = lidia_reference.LidiaFile(archive.read_bytes())
            with self.subTest(number=number, symbols=symbols):
                self.assertEqual([sextant.outermost(answer) for answer in self.lookup(path, questions)], names)
                self.assertEqual([sextant.outermost(answer) for answer in self.lookup(archive, questions)], names)
                rows = [table.lookup(address) for address in questions]
                self.assertEqual([found[-1].name.decode() if found else None for found in rows], names)


BINDING_NUMBER = {"LOCAL": elf.STB_LOCAL, "GLOBAL": elf.STB_GLOBAL, "WEAK": elf.STB_WEAK, "UNIQUE": elf.STB_GNU_UNIQUE}


def random_functions(numbers):
    """(name, address, size, binding) of functions in 128 bytes, so that they nest, overlap and share their starts."""
    return [(f"f{index}", 0x401000 + numbers.randrange(0, 128, numbers.choice((1, 8))),
             numbers.choice((0, 1, 4, 8, 16, numbers.randrange(64))), numbers.choice(list(BINDING_NUMBER)))
            for index in range(numbers.randrange(1, 30))]


class ForeignArchives(sextant.ProgramTest):
    """An archive that the reference wrote is answered from its own rows."""

    def test_wherever_the_reference_answers_so_do_we_and_alike(self):
        for path in [samples.compile_c(self.folder, "plain")] + samples.system_files()[:4]:
            with self.subTest(path=path):
                data = lidia_reference.write_from_elf(open(path, "rb").read())
                archive = self.file("reference.lidia", data)
                table = lidia_reference.LidiaFile(data)
                rows = [row for row in table.rows() if row.length][:3000]
                questions = [address for row in rows
                             for address in (row.address, row.address + row.length // 2, row.address + row.length - 1)]
                wrong = []
                for address, answer in zip(questions, self.lookup(archive, questions)):
                    found = table.lookup(address)
                    if found and sextant.outermost(answer) != found[-1].name.decode():
                        wrong.append((hex(address), sextant.outermost(answer), found[-1].name))
                self.assertEqual(wrong[:5], [])


if __name__ == "__main__":
    tap.main()
