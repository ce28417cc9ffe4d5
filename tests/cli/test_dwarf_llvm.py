"""Inline chains, files and lines against llvm-symbolizer: every instruction of programs that are built here, and random
addresses of debug packages. What counts as equal is described in support/llvm_symbolizer.py.

The default run has every form of debug information with one compiler, SEXTANT_TEST_ALL=1 with each. SEXTANT_TEST_BIG=1
adds the whole product of compilers, languages, levels and versions, and large debug packages. SEXTANT_TEST_REPORT=1
prints the classes of every comparison, not only of those that fail.
"""

import glob
import itertools
import os
import pathlib
import random
import unittest

from support import dwarf_programs, elf_reader, llvm_symbolizer, sextant, tap

BIG = os.environ.get("SEXTANT_TEST_BIG") == "1"
REPORT = os.environ.get("SEXTANT_TEST_REPORT") == "1"
VMLINUX = os.environ.get("SEXTANT_TEST_VMLINUX", "/usr/lib/debug/boot/vmlinux-*")
SHARE_OF_BUILT_PROGRAMS = 0.999
SHARE_OF_GO_PROGRAMS = 0.997
SHARE_OF_DEBUG_PACKAGES = 0.99
LEAST_COMPARED = 100_000 // sextant.ONE_IN
MOST_INSTRUCTIONS = 30_000


class DifferentialTest(unittest.TestCase):
    """Cases that ask both programs."""

    @classmethod
    def setUpClass(cls):
        cls.llvm = llvm_symbolizer.find_program()
        if cls.llvm is None:
            raise unittest.SkipTest("llvm-symbolizer is not installed")
        sextant.need_tool("objdump")
        cls.workshop = dwarf_programs.shared_workshop()

    def compare(self, file, addresses, share, against=None, **keywords):
        """Both must agree on that SHARE of the addresses."""
        comparison = llvm_symbolizer.compare(file, addresses, against, self.llvm, **keywords)
        report = f"{self.id().rpartition('.')[2]}: {comparison.report()}"
        if REPORT:
            print("".join(f"# {line}\n" for line in report.splitlines()), end="")
        self.assertGreater(comparison.compared, 0, report)
        self.assertGreaterEqual(comparison.share, share, report)
        self.assertEqual(comparison.warnings, "", report)
        return comparison

    def compare_program(self, path, against=None, share=SHARE_OF_BUILT_PROGRAMS, **keywords):
        """Every instruction, or of a very large program as many as do not take long."""
        addresses = llvm_symbolizer.instruction_addresses(against or path)
        if len(addresses) > MOST_INSTRUCTIONS and not BIG:
            addresses = addresses[:: len(addresses) // MOST_INSTRUCTIONS + 1]
        return self.compare(path, addresses, share, against, **keywords)


class OptimisationLevels(DifferentialTest):
    """Compilers, languages, levels, amounts of debug information and versions of DWARF: each value with each compiler
    and language, or the whole product."""

    SOME = ("-O0 -g 5", "-O1 -g1 4", "-O2 -g 5", "-O3 -g 4", "-O2 -g1 5")
    ALL = tuple(map(" ".join, itertools.product(("-O0", "-O1", "-O2", "-O3"), ("-g1", "-g"), ("4", "5"))))

    def check(self, family, language, level, amount, version):
        self.compare_program(self.workshop.compile(family, language, level, amount, f"-gdwarf-{version}"))


def add_levels():
    combinations = OptimisationLevels.ALL if BIG else OptimisationLevels.SOME
    for family, language, combination in itertools.product(("gcc", "clang"), ("c", "cpp"), combinations):
        level, amount, version = combination.split()
        sextant.add_case(OptimisationLevels, f"{family}_{language}_{level[1:]}_{amount[1:]}_dwarf{version}",
                         OptimisationLevels.check, family, language, level, amount, version)


add_levels()


class CompilerAndLinkerOptions(DifferentialTest):
    """What options make of the debug information. OPTIONS: name, what it is built with (in brackets: only in the big
    run; of the others, the first one), flags of the compiler, and flags of the linker. ALWAYS: those of every run."""

    ALWAYS = ("lto", "dropped", "type_units_dwarf5", "dwarf64", "fixed_address", "compressed", "split", "split_dwarf4")

    OPTIONS = (
        ("lto", "gcc-c gcc-cpp", "-O2 -g -gdwarf-5 -flto", ""),
        ("lto_dwarf4", "gcc-c [gcc-cpp]", "-O3 -g -gdwarf-4 -flto", ""),
        ("lto_lld", "clang-c clang-cpp", "-O2 -g -gdwarf-5 -flto -fuse-ld=lld", ""),
        ("thin_lto", "[clang-c] clang-cpp", "-O2 -g -gdwarf-4 -flto=thin -fuse-ld=lld", ""),
        ("dropped", "gcc-c clang-c [gcc-cpp clang-cpp]", "-O2 -g -gdwarf-5 -ffunction-sections", "-Wl,--gc-sections"),
        ("dropped_dwarf4", "gcc-c clang-c", "-O1 -g -gdwarf-4 -ffunction-sections", "-Wl,--gc-sections"),
        ("dropped_gold", "gcc-c [clang-c gcc-cpp]", "-O1 -g -gdwarf-4 -ffunction-sections",
         "-fuse-ld=gold -Wl,--gc-sections"),
        ("dropped_lld", "gcc-c clang-c [gcc-cpp]", "-O1 -g -gdwarf-5 -ffunction-sections", "-fuse-ld=lld -Wl,--gc-sections"),
        ("dropped_lld_dwarf4", "gcc-c [clang-cpp]", "-O1 -g -gdwarf-4 -ffunction-sections",
         "-fuse-ld=lld -Wl,--gc-sections"),
        ("function_sections", "[gcc-cpp clang-cpp]", "-O2 -g1 -gdwarf-5 -ffunction-sections", ""),
        ("type_units", "gcc-cpp [clang-cpp]", "-O2 -g -gdwarf-4 -fdebug-types-section", ""),
        ("type_units_dwarf5", "[gcc-cpp] clang-cpp", "-O2 -g -gdwarf-5 -fdebug-types-section", ""),
        ("dwarf64", "gcc-c [gcc-cpp]", "-O2 -g -gdwarf-5 -gdwarf64", ""),
        ("dwarf2", "gcc-c [clang-c]", "-O2 -g -gdwarf-2", ""),
        ("dwarf3", "clang-c [gcc-cpp clang-cpp]", "-O2 -g -gdwarf-3", ""),
        ("strict", "gcc-c [gcc-cpp]", "-O2 -g -gdwarf-4 -gstrict-dwarf", ""),
        ("macros", "gcc-c clang-c", "-O2 -g3 -gdwarf-5", ""),
        ("lines_by_the_compiler", "gcc-c [gcc-cpp]", "-O2 -g -gdwarf-4 -gno-as-loc-support", ""),
        ("size", "gcc-c clang-c", "-Os -g -gdwarf-5", ""),
        ("fixed_address", "gcc-c clang-c", "-O2 -g -gdwarf-5 -fno-pie", "-no-pie"),
        ("static", "gcc-c", "-O2 -g -gdwarf-5 -static", ""),
        ("relative_directory", "gcc-c clang-c", "-O2 -g -gdwarf-5 -ffile-prefix-map={folder}=.", ""),
        ("relative_directory_dwarf4", "gcc-c clang-c", "-O2 -g -gdwarf-4 -ffile-prefix-map={folder}=below/here", ""),
        ("compressed", "gcc-c clang-c [gcc-cpp clang-cpp]", "-O2 -g -gdwarf-5 -gz=zlib", ""),
        ("compressed_dwarf4", "gcc-c [clang-cpp]", "-O2 -g -gdwarf-4 -gz=zlib", ""),
        ("split", "gcc-cpp clang-cpp [gcc-c clang-c]", "-O2 -g -gdwarf-5 -gsplit-dwarf", ""),
        ("split_dwarf4", "gcc-cpp clang-cpp [gcc-c clang-c]", "-O2 -g -gdwarf-4 -gsplit-dwarf", ""),
        ("split_unoptimised", "gcc-c clang-c [gcc-cpp clang-cpp]", "-O0 -g -gdwarf-5 -gsplit-dwarf", ""),
        ("split_type_units", "gcc-cpp [clang-cpp]", "-O2 -g -gdwarf-5 -gsplit-dwarf -fdebug-types-section", ""),
    )

    def check(self, family, language, flags, link):
        flags = flags.format(folder=self.workshop.folder)
        self.compare_program(self.workshop.compile(family, language, *flags.split(), link=link.split()))


def add_options():
    for name, wanted, flags, link in CompilerAndLinkerOptions.OPTIONS:
        only_big = wanted.partition("[")[2].partition("]")[0].split()
        programs = [program for program in wanted.replace("[", "").replace("]", "").split()
                    if BIG or program not in only_big]
        for program in programs if sextant.EVERYTHING else programs[:1]:
            family, language = program.split("-")
            add = sextant.always_add_case if name in CompilerAndLinkerOptions.ALWAYS else sextant.add_case
            add(CompilerAndLinkerOptions, f"{name}_{family}_{language}", CompilerAndLinkerOptions.check, family, language,
                flags, link)  # fmt: skip


add_options()


class FoldedFunctions(DifferentialTest):
    """A linker that folds functions with the same code leaves the debug information of each at the one address."""

    def check(self, family, linker):
        path = self.workshop.compile(family, "c", "-O2", "-g", "-gdwarf-5", "-ffunction-sections",
                                     link=[f"-fuse-ld={linker}", "-Wl,--icf=all"])
        symbols = llvm_symbolizer.Symbols(elf_reader.ElfFile.open(path))
        (start,) = symbols.sizes_of["first_twin"]
        self.assertIn("second_twin", symbols.names_at[start], "the linker did not fold them")
        self.compare_program(path, folded=True)

    def test_by_gold(self):
        self.check("gcc", "gold")

    def test_by_lld(self):
        self.check("clang", "lld")


class FormsOfDebugInformation(DifferentialTest):
    """The same programs after other tools have changed their debug information."""

    def optimised(self, family, language="cpp", version=5):
        return self.workshop.compile(family, language, "-O2", "-g", f"-gdwarf-{version}")

    def check_dwz(self, family, language, version):
        plain = self.optimised(family, language, version)
        path = self.workshop.dwz(plain)
        self.assertLess(os.path.getsize(path), os.path.getsize(plain))
        self.compare_program(path)
        self.compare_program(path, against=plain)

    def test_dwz_gcc_dwarf5(self):
        self.check_dwz("gcc", "cpp", 5)

    @sextant.only_with_everything
    def test_dwz_gcc_dwarf4(self):
        self.check_dwz("gcc", "cpp", 4)

    @sextant.only_with_everything
    def test_dwz_clang_dwarf4(self):
        self.check_dwz("clang", "cpp", 4)

    def check_alternate(self, section, *flags):
        """llvm-symbolizer does not read the alternate file, so it is asked about the programs before dwz."""
        plain = [self.optimised("gcc", language, version) for language, version in (("cpp", 4), ("cpp", 5), ("c", 5))]
        for path, before in zip(self.workshop.dwz_with_alternate_file(plain, *flags), plain):
            self.assertIsNotNone(elf_reader.ElfFile.open(path).section(section))
            self.compare_program(path, against=before)

    def test_dwz_with_an_alternate_file(self):
        self.check_alternate(".gnu_debugaltlink")

    def test_dwz_with_a_supplementary_file(self):
        """The same in the way of DWARF 5."""
        self.check_alternate(".debug_sup", "--dwarf-5")

    def check_compressed(self, kind, section, flags):
        for family in sextant.some(("gcc", "clang")):
            plain = self.optimised(family)
            path = self.workshop.compressed(plain, kind)
            info = elf_reader.ElfFile.open(path).section(section)
            self.assertIsNotNone(info, f"{kind}: {section} is not there")
            self.assertEqual(info.flags & elf_reader.SHF_COMPRESSED, flags)
            self.compare_program(path, against=plain)

    def test_compressed_with_zlib(self):
        self.check_compressed("zlib", ".debug_info", elf_reader.SHF_COMPRESSED)

    def test_compressed_the_old_way(self):
        self.check_compressed("zlib-gnu", ".zdebug_info", 0)

    def test_compressed_with_zstd(self):
        self.check_compressed("zstd", ".debug_info", elf_reader.SHF_COMPRESSED)

    def test_a_separate_debug_file(self):
        for family in sextant.some(("gcc", "clang")):
            plain = self.optimised(family)
            self.compare_program(self.workshop.separated(plain), against=plain)

    def check_package(self, family, language, version, tool, *more):
        """A program of its own, because packing takes its .dwo files away."""
        flags = ("-O2", "-g", f"-gdwarf-{version}", "-gsplit-dwarf", *more)
        self.compare_program(self.workshop.packed(self.workshop.compile_anew(family, language, flags), tool))

    def test_a_package_of_split_dwarf4_by_gcc(self):
        for language in sextant.some(("c", "cpp")):
            self.check_package("gcc", language, 4, "dwp")

    def test_a_package_of_split_dwarf5_by_clang(self):
        for language in sextant.some(("c", "cpp")):
            self.check_package("clang", language, 5, "llvm-dwp")

    @sextant.only_with_everything
    def test_a_package_with_type_units(self):
        self.check_package("clang", "cpp", 5, "llvm-dwp", "-fdebug-types-section")
        if BIG:
            self.check_package("gcc", "cpp", 4, "dwp", "-fdebug-types-section")


class OneAnswer(DifferentialTest):
    """However the question is put, the answer is the same."""

    def setUp(self):
        self.path = self.workshop.compile("gcc", "cpp", "-O2", "-g", "-gdwarf-5")
        self.addresses = llvm_symbolizer.instruction_addresses(self.path)
        self.answers = llvm_symbolizer.ask_ours(self.path, self.addresses)[0]

    def test_from_an_archive(self):
        archive = pathlib.Path(f"{self.path}.lidia")
        result = sextant.run("archive", self.path, "--mangled", "-o", archive)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertEqual(llvm_symbolizer.ask_ours(archive, self.addresses)[0], self.answers)

    def test_one_address_at_a_time(self):
        for number in random.Random(1).sample(range(len(self.addresses)), 60):
            address = self.addresses[number]
            self.assertEqual(llvm_symbolizer.ask_ours(self.path, [address])[0], [self.answers[number]], hex(address))


class OtherMachines(DifferentialTest):
    """32 bits, big-endian, and instructions of other lengths: every address of the C program."""

    MACHINES = ("aarch64-linux-gnu", "arm-linux-gnueabihf", "i686-linux-gnu", "riscv64-linux-gnu", "s390x-linux-gnu")

    def check(self, machine):
        for flags in ("-O2 -gdwarf-5", "-O3 -gdwarf-4") if BIG else ("-O2 -gdwarf-5",):
            path = self.workshop.compile(machine, "c", "-g", *flags.split())
            addresses = llvm_symbolizer.random_addresses(elf_reader.ElfFile.open(path), MOST_INSTRUCTIONS)
            self.compare(path, addresses, SHARE_OF_BUILT_PROGRAMS)


def add_machines():
    for machine in OtherMachines.MACHINES:
        sextant.always_add_case(OtherMachines, machine.partition("-")[0], OtherMachines.check, machine)


add_machines()


class OtherLanguages(DifferentialTest):
    def test_fortran(self):
        for flags in sextant.some((("-O0", "-gdwarf-5"), ("-O2", "-gdwarf-4"))):
            self.compare_program(self.workshop.compile("gcc", "fortran", "-g", *flags))

    def test_d(self):
        for flags in sextant.some((("-O0", "-gdwarf-5"), ("-O2", "-gdwarf-4"))):
            self.compare_program(self.workshop.compile("gcc", "d", "-g", *flags))

    def test_rust(self):
        self.compare_program(self.workshop.rust("-g", "-O"))

    @sextant.only_with_everything
    def test_rust_without_optimisation(self):
        self.compare_program(self.workshop.rust("-g"))

    def test_go(self):
        """The first instructions of functions that the compiler generates have no line; ours has their file there."""
        self.compare_program(self.workshop.go(), share=SHARE_OF_GO_PROGRAMS)


class DebugPackages(DifferentialTest):
    """Random addresses of what distributions build, from all executable sections."""

    def compare_random(self, path, debug_file):
        """The program finds the debug file of PATH by itself. More addresses than are needed, because what lies in no
        function is left out."""
        elf = elf_reader.ElfFile.open(debug_file)
        addresses = llvm_symbolizer.random_addresses(elf, LEAST_COMPARED * 3 // 2)
        comparison = self.compare(path, addresses, SHARE_OF_DEBUG_PACKAGES, debug_file)
        if len(addresses) == LEAST_COMPARED * 3 // 2:
            self.assertGreaterEqual(comparison.compared, LEAST_COMPARED)

    def compare_packages_of(self, *patterns):
        """For each pattern the first program with a debug file below /usr/lib/debug; skips where none has one."""
        compared = 0
        for pattern in patterns:
            found = ((path, debug_file_of(path)) for path in sorted(glob.glob(pattern)))
            for path, debug_file in itertools.islice(((path, file) for path, file in found if file), 1):
                with self.subTest(path):
                    self.compare_random(path, debug_file)
                compared += 1
        if compared == 0:
            self.skipTest(f"no debug package for {', '.join(patterns)}")

    def test_the_c_library(self):
        self.compare_packages_of("/lib/*-linux-gnu/libc.so.6")

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_the_rest_of_the_c_library(self):
        self.compare_packages_of("/lib/*-linux-gnu/libm.so.6", "/lib/*-linux-gnu/ld-linux-*.so.*",
                                 "/lib/*-linux-gnu/libresolv.so.2")

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_python(self):
        self.compare_packages_of("/usr/bin/python3.[0-9]*[0-9]", "/usr/lib/*-linux-gnu/libpython3.*[0-9].so.1.0")
        for path in glob.glob("/usr/bin/python3.*[0-9]-dbg"):
            self.compare_random(path, path)

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_binutils(self):
        self.compare_packages_of("/usr/lib/*-linux-gnu/libbfd-*-system.so", "/usr/bin/*-linux-gnu-ld.gold",
                                 "/usr/bin/*-linux-gnu-dwp", "/usr/bin/*-linux-gnu-ld.bfd", "/usr/bin/*-linux-gnu-as")

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_the_kernel(self):
        found = sorted(glob.glob(VMLINUX))
        if not found:
            self.skipTest(f"no debug package for a kernel: {VMLINUX}")
        self.compare_random(found[-1], found[-1])


def debug_file_of(path):
    build_id = elf_reader.ElfFile.open(path).build_id()
    file = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug" if build_id else ""
    return file if os.path.exists(file) else None


if __name__ == "__main__":
    tap.main()
