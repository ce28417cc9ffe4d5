"""Inline chains, files and lines against llvm-symbolizer: every instruction of programs that are built here, and random
addresses of debug packages.

The default run has every form of debug information once for each compiler. SEXTANT_TEST_BIG=1 adds the whole product of
compilers, levels and versions, and large debug packages. SEXTANT_TEST_REPORT=1 prints the classes of every comparison,
not only of those that fail. Which differences count is told in support/llvm_symbolizer.py.
"""

import glob
import itertools
import os
import pathlib
import shutil
import tempfile
import unittest

from support import dwarf_programs, elf_reader, llvm_symbolizer, sextant, tap

BIG = os.environ.get("SEXTANT_TEST_BIG") == "1"
REPORT = os.environ.get("SEXTANT_TEST_REPORT") == "1"
SHARE_OF_BUILT_PROGRAMS = 0.999
SHARE_OF_DEBUG_PACKAGES = 0.99
RANDOM_ADDRESSES = 100_000
MOST_INSTRUCTIONS = 30_000


class DifferentialTest(unittest.TestCase):
    """Cases that ask both programs. They share one folder, in which built programs are kept."""

    @classmethod
    def setUpClass(cls):
        cls.llvm = llvm_symbolizer.find_program()
        if cls.llvm is None:
            raise unittest.SkipTest("llvm-symbolizer is not installed")
        sextant.need_tool("objdump")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="sextant-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.workshop = dwarf_programs.Workshop(cls.folder)

    def compare(self, file, addresses, share, against=None, **keywords):
        """Both must agree on that SHARE of the addresses."""
        self.assertTrue(addresses, f"{file} has no code")
        comparison = llvm_symbolizer.compare(file, addresses, against, self.llvm, **keywords)
        report = comparison.report()
        if REPORT:
            print("".join(f"# {line}\n" for line in [self.id().rpartition(".")[2], *report.splitlines()]), end="")
        self.assertGreaterEqual(comparison.share, share, report)
        self.assertEqual(comparison.warnings, "", report)
        return comparison

    def compare_program(self, path, against=None):
        """Every instruction, or of a very large program as many addresses as take no longer."""
        addresses = llvm_symbolizer.instruction_addresses(against or path)
        if len(addresses) > MOST_INSTRUCTIONS and not BIG:
            addresses = addresses[:: len(addresses) // MOST_INSTRUCTIONS + 1]
        return self.compare(path, addresses, SHARE_OF_BUILT_PROGRAMS, against)


class OptimisationLevels(DifferentialTest):
    """Compilers, languages, levels, amounts of debug information and versions of DWARF. The whole product is large, so
    without SEXTANT_TEST_BIG only the combinations below are built: each value with each compiler and language."""

    DEFAULT = ("-O0 -g 5", "-O1 -g1 4", "-O2 -g 5", "-O3 -g 4", "-O2 -g1 5")

    def check(self, family, language, level, amount, version):
        self.compare_program(self.workshop.compile(family, language, level, amount, f"-gdwarf-{version}"))


def add_case(owner, name, check, *arguments):
    """A test method of its own for each combination, so that each has its line in the output."""
    setattr(owner, "test_" + name, lambda self: check(self, *arguments))


def add_levels():
    product = itertools.product(("-O0", "-O1", "-O2", "-O3"), ("-g1", "-g"), ("4", "5"))
    combinations = [" ".join(words) for words in product]
    for family, language in itertools.product(("gcc", "clang"), ("c", "cpp")):
        for combination in combinations if BIG else OptimisationLevels.DEFAULT:
            level, amount, version = combination.split()
            add_case(OptimisationLevels, f"{family}_{language}_{level[1:]}_{amount[1:]}_dwarf{version}",
                     OptimisationLevels.check, family, language, level, amount, version)


add_levels()


class CompilerAndLinkerOptions(DifferentialTest):
    """What options make of the debug information: one case each, with gcc and with clang where both have it."""

    # name: (families, languages, compiler's flags, linker's flags)
    OPTIONS = {
        "lto": ("gcc", "c cpp", "-O2 -g -gdwarf-5 -flto", ""),
        "lto_dwarf4": ("gcc", "c", "-O3 -g -gdwarf-4 -flto", ""),
        "lto_lld": ("clang", "c cpp", "-O2 -g -gdwarf-5 -flto -fuse-ld=lld", ""),
        "thin_lto": ("clang", "cpp", "-O2 -g -gdwarf-4 -flto=thin -fuse-ld=lld", ""),
        "dropped_functions": ("gcc clang", "c cpp", "-O2 -g -gdwarf-5 -ffunction-sections", "-Wl,--gc-sections"),
        "dropped_functions_dwarf4": ("gcc clang", "c", "-O1 -g -gdwarf-4 -ffunction-sections", "-Wl,--gc-sections"),
        "dropped_functions_gold": ("gcc", "c", "-O1 -g -gdwarf-4 -ffunction-sections", "-fuse-ld=gold -Wl,--gc-sections"),
        "dropped_functions_lld": ("gcc clang", "c", "-O1 -g -gdwarf-5 -ffunction-sections",
                                  "-fuse-ld=lld -Wl,--gc-sections"),
        "dropped_functions_lld_dwarf4": ("gcc", "c", "-O1 -g -gdwarf-4 -ffunction-sections",
                                         "-fuse-ld=lld -Wl,--gc-sections"),
        "sections": ("gcc clang", "cpp", "-O2 -g1 -gdwarf-5 -ffunction-sections", ""),
        "debug_types": ("gcc clang", "cpp", "-O2 -g -gdwarf-4 -fdebug-types-section", ""),
        "debug_types_dwarf5": ("gcc clang", "cpp", "-O1 -g -gdwarf-5 -fdebug-types-section", ""),
        "dwarf64": ("gcc", "c", "-O2 -g -gdwarf-5 -gdwarf64", ""),
        "dwarf2": ("gcc clang", "c", "-O2 -g -gdwarf-2", ""),
        "dwarf3": ("gcc clang", "cpp", "-O2 -g -gdwarf-3", ""),
        "strict": ("gcc", "cpp", "-O2 -g -gdwarf-4 -gstrict-dwarf", ""),
        "g3_with_macros": ("gcc clang", "c", "-O2 -g3 -gdwarf-5", ""),
        "lines_by_the_compiler": ("gcc", "c", "-O2 -g -gdwarf-4 -gno-as-loc-support", ""),
        "size": ("gcc clang", "c", "-Os -g -gdwarf-5", ""),
        "fixed_address": ("gcc clang", "c", "-O2 -g -gdwarf-5 -fno-pie", "-no-pie"),
        "static": ("gcc", "c", "-O2 -g -gdwarf-5 -static", ""),
        "relative_directory": ("gcc clang", "c", "-O2 -g -gdwarf-5 -ffile-prefix-map={folder}=.", ""),
        "relative_directory_dwarf4": ("gcc clang", "c", "-O2 -g -gdwarf-4 -ffile-prefix-map={folder}=below/here", ""),
        "compressed": ("gcc clang", "c cpp", "-O2 -g -gdwarf-5 -gz=zlib", ""),
        "compressed_dwarf4": ("gcc", "c", "-O2 -g -gdwarf-4 -gz=zlib", ""),
        "split": ("gcc clang", "c cpp", "-O2 -g -gdwarf-5 -gsplit-dwarf", ""),
        "split_dwarf4": ("gcc clang", "c cpp", "-O2 -g -gdwarf-4 -gsplit-dwarf", ""),
        "split_O0": ("gcc clang", "cpp", "-O0 -g -gdwarf-5 -gsplit-dwarf", ""),
        "split_types": ("gcc clang", "cpp", "-O2 -g -gdwarf-5 -gsplit-dwarf -fdebug-types-section", ""),
    }

    def check(self, family, language, flags, link):
        flags = flags.format(folder=self.workshop.folder)
        self.compare_program(self.workshop.compile(family, language, *flags.split(), link=link.split()))


def add_options():
    for name, (families, languages, flags, link) in CompilerAndLinkerOptions.OPTIONS.items():
        for family, language in itertools.product(families.split(), languages.split()):
            add_case(CompilerAndLinkerOptions, f"{name}_{family}_{language}", CompilerAndLinkerOptions.check,
                     family, language, flags, link)


add_options()


class FoldedFunctions(DifferentialTest):
    """A linker that folds functions with the same code leaves the debug information of each at the one address."""

    def check(self, family, linker):
        self.compare_program(self.workshop.compile(family, "c", "-O2", "-g", "-gdwarf-5", "-ffunction-sections",
                                                   link=[f"-fuse-ld={linker}", "-Wl,--icf=all"]))

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

    def test_dwz_gcc_dwarf4(self):
        self.check_dwz("gcc", "cpp", 4)

    def test_dwz_clang_dwarf4(self):
        self.check_dwz("clang", "cpp", 4)

    def check_alternate(self, section, *flags):
        """llvm-symbolizer does not read the alternate file, so it is asked about the programs before dwz."""
        plain = [self.optimised("gcc", language, version) for language, version in (("cpp", 4), ("cpp", 5), ("c", 5))]
        plain.append(self.workshop.compile("gcc", "cpp", "-O3", "-g", "-gdwarf-5"))
        for path, before in zip(self.workshop.dwz_with_alternate_file(plain, *flags), plain):
            self.assertIsNotNone(elf_reader.ElfFile.open(path).section(section))
            self.compare_program(path, against=before)

    def test_dwz_with_an_alternate_file(self):
        self.check_alternate(".gnu_debugaltlink")

    def test_dwz_with_a_supplementary_file(self):
        """The same as DWARF 5 has it."""
        self.check_alternate(".debug_sup", "--dwarf-5")

    def check_compressed(self, family, kind, section, flags):
        plain = self.optimised(family)
        path = self.workshop.compressed(plain, kind)
        info = elf_reader.ElfFile.open(path).section(section)
        self.assertIsNotNone(info, f"{kind}: {section} is not there")
        self.assertEqual(info.flags & elf_reader.SHF_COMPRESSED, flags)
        self.compare_program(path, against=plain)

    def test_compressed_with_zlib(self):
        for family in ("gcc", "clang"):
            self.check_compressed(family, "zlib", ".debug_info", elf_reader.SHF_COMPRESSED)

    def test_compressed_the_old_way(self):
        for family in ("gcc", "clang"):
            self.check_compressed(family, "zlib-gnu", ".zdebug_info", 0)

    def test_compressed_with_zstd(self):
        for family in ("gcc", "clang"):
            self.check_compressed(family, "zstd", ".debug_info", elf_reader.SHF_COMPRESSED)

    def test_a_separate_debug_file(self):
        for family in ("gcc", "clang"):
            plain = self.optimised(family)
            self.compare_program(self.workshop.separated(plain), against=plain)

    def check_package(self, family, language, version, tool, *flags):
        path = self.workshop.compile(family, language, "-O2", "-g", f"-gdwarf-{version}", "-gsplit-dwarf", *flags)
        self.compare_program(self.workshop.packed(path, tool))

    def test_a_package_of_split_dwarf4_by_gcc(self):
        for language in ("c", "cpp"):
            self.check_package("gcc", language, 4, "dwp", "-DPACKED")

    def test_a_package_of_split_dwarf5_by_clang(self):
        for language in ("c", "cpp"):
            self.check_package("clang", language, 5, "llvm-dwp", "-DPACKED")

    def test_a_package_with_types(self):
        self.check_package("clang", "cpp", 5, "llvm-dwp", "-fdebug-types-section", "-DPACKED")
        self.check_package("gcc", "cpp", 4, "dwp", "-fdebug-types-section", "-DPACKED")


class OtherLanguages(DifferentialTest):
    def test_fortran(self):
        for flags in (("-O0", "-gdwarf-5"), ("-O2", "-gdwarf-4")):
            self.compare_program(self.workshop.compile("gcc", "fortran", "-g", *flags))

    def test_d(self):
        for flags in (("-O0", "-gdwarf-5"), ("-O2", "-gdwarf-4")):
            self.compare_program(self.workshop.compile("gcc", "d", "-g", *flags))

    def test_rust(self):
        self.compare_program(self.workshop.rust("-g", "-O"))

    def test_rust_without_optimisation(self):
        self.compare_program(self.workshop.rust("-g"))

    def test_go(self):
        self.compare_program(self.workshop.go())


class DebugPackages(DifferentialTest):
    """Random addresses of what distributions build. The addresses are of all executable sections, filler included."""

    def compare_debug_file(self, path, count):
        elf = elf_reader.ElfFile.open(path)
        return self.compare(path, llvm_symbolizer.random_addresses(elf, count), SHARE_OF_DEBUG_PACKAGES)

    def debug_file_of(self, program):
        found = sorted(glob.glob(program))
        build_id = elf_reader.ElfFile.open(found[0]).build_id() if found else None
        path = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug" if build_id else None
        if path is None or not os.path.exists(path):
            self.skipTest(f"no debug package for {program}")
        return path

    def test_the_c_library(self):
        self.compare_debug_file(self.debug_file_of("/lib/*-linux-gnu/libc.so.6"), RANDOM_ADDRESSES)

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_the_rest_of_the_c_library(self):
        for name in ("libm.so.6", "ld-linux-x86-64.so.2", "libresolv.so.2"):
            with self.subTest(name):
                self.compare_debug_file(self.debug_file_of(f"/lib/*-linux-gnu/{name}"), RANDOM_ADDRESSES)

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_python(self):
        self.compare_debug_file(self.debug_file_of("/usr/bin/python3.1?"), RANDOM_ADDRESSES)

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_python_for_debugging(self):
        found = glob.glob("/usr/bin/python3.1?-dbg")
        if not found:
            self.skipTest("no python for debugging")
        self.compare_debug_file(found[0], RANDOM_ADDRESSES)

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_binutils(self):
        for name in ("/usr/lib/*-linux-gnu/libbfd-*-system.so", "/usr/bin/*-linux-gnu-ld.gold", "/usr/bin/*-linux-gnu-dwp",
                     "/usr/bin/*-linux-gnu-ld.bfd", "/usr/bin/*-linux-gnu-as"):
            with self.subTest(name):
                self.compare_debug_file(self.debug_file_of(name), RANDOM_ADDRESSES)

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_the_kernel(self):
        found = sorted(glob.glob(os.environ.get("SEXTANT_TEST_VMLINUX", "/usr/lib/debug/boot/vmlinux-*")))
        if not found:
            self.skipTest("no debug package for a kernel")
        self.compare_debug_file(found[-1], RANDOM_ADDRESSES)


if __name__ == "__main__":
    tap.main()
