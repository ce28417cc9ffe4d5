"""`sextant addr2line` against GNU addr2line, byte for byte: every instruction of programs that are built here, their
data, and random addresses of debug packages.

SEXTANT_TEST_ALL=1 has the forms of debug information that compilers give today, the default run a part of them.
SEXTANT_TEST_BIG=1 adds more of them and all debug packages. SEXTANT_TEST_REPORT=1 prints the classes of every
comparison, not only of those that fail.
"""

import glob
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

from support import dwarf_programs, elf_reader, gnu_addr2line, llvm_symbolizer, sextant, tap

BIG = os.environ.get("SEXTANT_TEST_BIG") == "1"
REPORT = os.environ.get("SEXTANT_TEST_REPORT") == "1"
SHARE_OF_BUILT_PROGRAMS = 0.999
SHARE_OF_DEBUG_PACKAGES = 0.99
MOST_INSTRUCTIONS = 20_000


def need_gnu():
    sextant.need_tool("addr2line", "objdump")
    if "GNU" not in subprocess.run(["addr2line", "--version"], capture_output=True, text=True, check=False).stdout:
        raise unittest.SkipTest("addr2line is not GNU's")


class DifferentialTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_gnu()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="sextant-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.workshop = dwarf_programs.shared_workshop()

    def report(self, comparison):
        if REPORT:
            lines = [self.id().rpartition(".")[2], *comparison.report().splitlines()]
            print("".join(f"# {line}\n" for line in lines), end="")

    def compare(self, file, words, share=SHARE_OF_BUILT_PROGRAMS, **keywords):
        self.assertTrue(words, f"{file}: there is nothing to ask")
        comparison = gnu_addr2line.compare(file, words, **keywords)
        self.report(comparison)
        self.assertGreaterEqual(comparison.share, share, comparison.report())
        return comparison

    def compare_program(self, path, **keywords):
        return self.compare(path, instructions(keywords.get("against") or path), **keywords)


def instructions(path):
    """The address of every instruction, or of a very large program of as many as take no longer."""
    addresses = llvm_symbolizer.instruction_addresses(path)
    return addresses[:: len(addresses) // MOST_INSTRUCTIONS + 1] if not BIG else addresses


def symbols_of(path, *options):
    """Names that fit into a question with an offset; a longer one is cut into several."""
    lines = [line.split(None, 2) for line in sextant.tool("nm", *options, path).decode().splitlines()]
    return [fields[2] for fields in lines if len(fields) == 3 and len(fields[2]) < 90]


class Programs(DifferentialTest):
    """PROGRAMS: name, what it is built with (in brackets: only in the big run), flags of compiler and linker."""

    PROGRAMS = (
        ("unoptimised", "gcc-c gcc-cpp clang-c clang-cpp", "-O0 -g -gdwarf-5", ""),
        ("optimised", "gcc-c gcc-cpp clang-c clang-cpp", "-O2 -g -gdwarf-5", ""),
        ("optimised_dwarf4", "gcc-cpp clang-cpp [gcc-c clang-c]", "-O3 -g -gdwarf-4", ""),
        ("few_lines", "gcc-cpp clang-cpp [gcc-c clang-c]", "-O2 -g1 -gdwarf-5", ""),
        ("dwarf3", "gcc-c [clang-c gcc-cpp clang-cpp]", "-O2 -g -gdwarf-3", ""),
        ("dwarf2", "gcc-c [clang-c]", "-O2 -g -gdwarf-2", ""),
        ("lto", "gcc-c gcc-cpp", "-O2 -g -gdwarf-5 -flto", ""),
        ("lto_dwarf4", "gcc-c [gcc-cpp]", "-O3 -g -gdwarf-4 -flto", ""),
        ("lto_lld", "clang-cpp [clang-c]", "-O2 -g -gdwarf-5 -flto -fuse-ld=lld", ""),
        ("dropped", "gcc-c clang-cpp [clang-c gcc-cpp]", "-O2 -g -gdwarf-5 -ffunction-sections", "-Wl,--gc-sections"),
        ("dropped_gold", "gcc-c", "-O1 -g -gdwarf-4 -ffunction-sections", "-fuse-ld=gold -Wl,--gc-sections"),
        ("dropped_lld", "gcc-c clang-c", "-O1 -g -gdwarf-5 -ffunction-sections", "-fuse-ld=lld -Wl,--gc-sections"),
        ("type_units_dwarf4", "gcc-cpp [clang-cpp]", "-O2 -g -gdwarf-4 -fdebug-types-section", ""),
        ("lines_by_the_compiler", "gcc-c [gcc-cpp]", "-O2 -g -gdwarf-4 -gno-as-loc-support", ""),
        ("fixed_address", "gcc-c [clang-c]", "-O2 -g -gdwarf-5 -fno-pie", "-no-pie"),
        ("static", "gcc-c", "-O2 -g -gdwarf-5 -static", ""),
        ("relative_directory", "gcc-c clang-c", "-O2 -g -gdwarf-5 -ffile-prefix-map={folder}=.", ""),
        ("relative_directory_dwarf4", "gcc-c", "-O2 -g -gdwarf-4 -ffile-prefix-map={folder}=below/here", ""),
        ("compressed", "gcc-cpp [clang-c]", "-O2 -g -gdwarf-5 -gz=zlib", ""),
        ("split_dwarf4", "gcc-cpp [clang-cpp gcc-c clang-c]", "-O2 -g -gdwarf-4 -gsplit-dwarf", ""),
        ("split_by_clang", "clang-cpp [clang-c]", "-O2 -g -gdwarf-5 -gsplit-dwarf", ""),
        ("without_debug_information", "gcc-c gcc-cpp", "-O2", ""),
    )

    def check(self, family, language, flags, link):
        flags = flags.format(folder=self.workshop.folder)
        self.compare_program(self.workshop.compile(family, language, *flags.split(), link=link.split()))

    def test_fortran(self):
        for flags in sextant.some((("-O2", "-g"), ("-O0", "-g", "-gdwarf-4"))):
            self.compare_program(self.workshop.compile("gcc", "fortran", *flags))

    def test_d(self):
        self.compare_program(self.workshop.compile("gcc", "d", "-O2", "-g"))

    @sextant.only_with_everything
    def test_rust(self):
        self.compare_program(self.workshop.rust("-g", "-O"), flags="-afiC")


def add_programs():
    for name, wanted, flags, link in Programs.PROGRAMS:
        only_big = wanted.partition("[")[2].partition("]")[0].split()
        for program in wanted.replace("[", "").replace("]", "").split():
            if BIG or program not in only_big:
                sextant.add_case(Programs, f"{name}_{program.replace('-', '_')}", Programs.check, *program.split("-"),
                                 flags, link)


add_programs()


class OtherForms(DifferentialTest):
    """The same programs after other tools have changed their debug information."""

    def optimised(self, family="gcc", language="cpp", version=5):
        return self.workshop.compile(family, language, "-O2", "-g", f"-gdwarf-{version}")

    def test_dwz(self):
        for family, version in sextant.some((("gcc", 5), ("gcc", 4), ("clang", 4))):
            self.compare_program(self.workshop.dwz(self.optimised(family, "cpp", version)))

    def test_dwz_with_an_alternate_file(self):
        plain = [self.optimised("gcc", language, version) for language, version in (("cpp", 4), ("cpp", 5), ("c", 5))]
        for path in self.workshop.dwz_with_alternate_file(plain):
            self.compare_program(path)

    def test_compressed(self):
        for kind in ("zlib", "zstd"):
            self.compare_program(self.workshop.compressed(self.optimised(), kind))

    def test_a_separate_debug_file(self):
        for family in sextant.some(("gcc", "clang")):
            self.compare_program(self.workshop.separated(self.optimised(family)))

    def test_stripped(self):
        plain = self.optimised()
        for option in ("-g", "-s"):
            stripped = self.folder / f"stripped{option}"
            sextant.tool("strip", option, "-o", stripped, plain)
            self.compare_program(stripped)

    def test_readable_names(self):
        for flags in ("-afiC", "-aspfiC", "-aC", "-afsp"):
            self.compare_program(self.optimised("clang"), flags=flags)

    def test_any_order(self):
        """What was asked before can change an answer, and does so in the same way."""
        path = self.optimised("gcc")
        for seed in sextant.some((1, 2, 3)):
            addresses = instructions(path)
            random.Random(seed).shuffle(addresses)
            self.compare(path, addresses)


class EveryByte(DifferentialTest):
    """Not only code: gaps, tables and data, by number and by name."""

    def check(self, family, language, *flags):
        path = self.workshop.compile(family, language, "-O2", "-g", *flags)
        sections = [section for section in elf_reader.ElfFile.open(path).sections if section.flags & 2]
        top = max(section.address + section.size for section in sections)
        low = min(section.address for section in sections)
        self.compare(path, list(range(max(0, low - 16), top + 16)), share=1.0)
        names = symbols_of(path)
        offset = random.Random(1)
        self.compare(path, names, share=1.0)
        self.compare(path, [f"{name}+{offset.randrange(64)}" for name in names], share=1.0)
        self.compare(path, symbols_of(path, "-C"), share=1.0, flags="-afiC")

    def test_gcc_c(self):
        self.check("gcc", "c", "-gdwarf-5")

    def test_gcc_cpp(self):
        self.check("gcc", "cpp", "-gdwarf-4")

    @sextant.only_with_everything
    def test_clang_cpp(self):
        self.check("clang", "cpp", "-gdwarf-5")

    def test_objects(self):
        """In a relocatable file every section begins at 0."""
        for family in sextant.some(("gcc", "clang")):
            program = self.workshop.compile(family, "cpp", "-O2", "-g", "-ffunction-sections")
            for path in sorted(program.parent.glob("*.o")):
                self.compare(path, list(range(300)), share=1.0)
                self.compare(path, symbols_of(path), share=1.0)

    def test_other_machines(self):
        source = self.folder / "machine.c"
        source.write_text("int table[4];\nstatic int square(int x)\n{\n    return x * x;\n}\n"
                          "int main(int count, char **words)\n{\n    (void)words;\n"
                          "    return square(count) + table[count & 3];\n}\n", encoding="utf-8")
        asked = 0
        for target in ("aarch64-linux-gnu", "arm-linux-gnueabihf", "i686-linux-gnu", "riscv64-linux-gnu",
                       "s390x-linux-gnu"):
            if shutil.which(f"{target}-gcc") is None or shutil.which(f"{target}-addr2line") is None:
                continue
            asked += 1
            for flags in (("-O0", "-g"), ("-O2", "-g", "-gdwarf-4"), ("-O2",)):
                path = self.folder / f"machine.{target}"
                sextant.tool(f"{target}-gcc", *flags, "-nostdlib", "-static", "-Wl,-e,main", source, "-o", path)
                text = elf_reader.ElfFile.open(path).section(".text")
                addresses = list(range(text.address - 4, text.address + text.size + 4))
                self.compare(path, addresses, share=1.0, gnu=f"{target}-addr2line")
        if asked == 0:
            self.skipTest("no compiler for another machine")


class WhatGnuCannotRead(DifferentialTest):
    """Forms that GNU addr2line 2.40 gives up on: each difference is one where it knows nothing, and our answer is the one
    that GNU gives for the same code in a form that it can read."""

    def check(self, path, plain, share=0.999):
        comparison = gnu_addr2line.compare(path, instructions(path))
        self.report(comparison)
        for kind in comparison.kinds():
            self.assertTrue(kind.startswith("GNU "), comparison.report())
        self.assertLess(comparison.share, 0.999, "GNU can read it after all: it belongs to the other tests")
        if plain is not None:
            self.compare(path, instructions(path), share, against=plain)

    def plain(self, language="c"):
        return self.workshop.compile("gcc", language, "-O2", "-g", "-gdwarf-5")

    def test_dwarf64(self):
        path = self.workshop.compile("gcc", "c", "-O2", "-g", "-gdwarf-5", "-gdwarf64")
        self.check(path, self.plain())

    def test_compressed_the_old_way(self):
        self.check(self.workshop.compressed(self.plain("cpp"), "zlib-gnu"), self.plain("cpp"))

    @sextant.only_with_everything
    def test_ranges_by_number_of_address(self):
        """gcc's split DWARF 5. GNU stops at the first unit that has them."""
        self.check(self.workshop.compile("gcc", "cpp", "-O2", "-g", "-gdwarf-5", "-gsplit-dwarf"), None)

    def test_an_alternate_file_that_is_compressed(self):
        plain = [self.plain("cpp"), self.workshop.compile("gcc", "cpp", "-O2", "-g", "-gdwarf-4")]
        paths = self.workshop.dwz_with_alternate_file(plain)
        answers = [gnu_addr2line.ask(["addr2line", "-e", path, "-afi"], instructions(path))[0] for path in paths]
        for common in paths[0].parent.glob("*.debug"):
            sextant.tool("objcopy", "--compress-debug-sections=zlib", common)
        for path, before in zip(paths, answers):
            ours = gnu_addr2line.ask([sextant.program(), "addr2line", "-e", path, "-afi"], instructions(path))[0]
            self.assertEqual(ours, before, "our answers do not depend on it")

    @sextant.only_with_everything
    def test_type_units(self):
        """GNU's index of units has no place for the last byte of a block of 256 where more than 16 units are."""
        path = self.workshop.compile("gcc", "cpp", "-O2", "-g", "-gdwarf-5", "-fdebug-types-section")
        comparison = self.compare(path, instructions(path), share=0.99)
        for difference in comparison.differences:
            self.assertEqual(difference.word & 0xFF, 0xFF, comparison.report())

    def test_go(self):
        path = self.workshop.go()
        comparison = gnu_addr2line.compare(path, instructions(path))
        self.report(comparison)
        for kind in comparison.kinds():
            self.assertTrue(kind.startswith("GNU "), comparison.report())


class DebugPackages(DifferentialTest):
    """Random addresses of separate debug files as distributions have them."""

    def check(self, package, files, addresses):
        paths = [path for path in installed_by(package) if path.endswith(".debug") and has_code(path)]
        if not paths:
            self.skipTest(f"{package} is not installed")
        random.Random(1).shuffle(paths)
        total = wrong = 0
        for path in paths if BIG else paths[:files]:
            words = llvm_symbolizer.random_addresses(elf_reader.ElfFile.open(path), addresses)
            comparison = gnu_addr2line.compare(path, words)
            if comparison.complaint:
                continue
            self.report(comparison)
            total += comparison.count
            wrong += len(comparison.differences)
            self.assertGreaterEqual(comparison.share, SHARE_OF_DEBUG_PACKAGES, f"{path}: {comparison.report()}")
        print(f"# {package}: {total} answers, {wrong} differ")

    def test_libc(self):
        self.check("libc6-dbg", 12 // sextant.ONE_IN, 1000)

    def test_python(self):
        self.check("python3.11-dbg", 4, 1000)

    def test_binutils(self):
        self.check("libbinutils-dbg", 3, 1000)


def installed_by(package):
    done = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def has_code(path):
    try:
        return bool(llvm_symbolizer.code_sections(elf_reader.ElfFile.open(path)))
    except (OSError, elf_reader.ElfError):
        return False


class KernelModules(DifferentialTest):
    def test_modules(self):
        found = glob.glob("/usr/lib/debug/lib/modules/**/*.ko*", recursive=True)
        if not found:
            self.skipTest("no debug files of kernel modules")
        chance = random.Random(1)
        for path in chance.sample(found, min(len(found), 5)):
            self.compare(path, [chance.randrange(0x4000) for _ in range(300)], SHARE_OF_DEBUG_PACKAGES)


if __name__ == "__main__":
    tap.main()
