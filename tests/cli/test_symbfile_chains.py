"""Symbfiles of real programs, looked up by the plain rule of the format with a reader of the tests' own: the chain of every
instruction is that of llvm-symbolizer, and a pad is there for every call that objdump shows in a known function, with the
chain at that call.

What counts as equal to llvm-symbolizer is described in support/llvm_symbolizer.py. SEXTANT_TEST_BIG=1 adds more programs
and the debug packages of the C library and a kernel; SEXTANT_TEST_REPORT=1 prints the classes of every comparison.
"""

import glob
import itertools
import os
import random
import unittest

from support import dwarf_programs, elf_reader, llvm_symbolizer, objdump_listing, sextant, symbfile, tap

BIG = os.environ.get("SEXTANT_TEST_BIG") == "1"
VMLINUX = os.environ.get("SEXTANT_TEST_VMLINUX", "/usr/lib/debug/boot/vmlinux-*")
REPORT = os.environ.get("SEXTANT_TEST_REPORT") == "1"
SHARE = 0.999
MOST_INSTRUCTIONS = 100_000
AARCH64 = "aarch64-linux-gnu"

# Name, family, language, flags of the compiler, flags of the linker.
PROGRAMS = (
    ("gcc_c_plain", "gcc", "c", "-O0 -g -gdwarf-5", ""),
    ("gcc_c_dwarf5", "gcc", "c", "-O2 -g -gdwarf-5", ""),
    ("gcc_c_dwarf4", "gcc", "c", "-O3 -g -gdwarf-4", ""),
    ("gcc_c_lto", "gcc", "c", "-O2 -g -gdwarf-5 -flto", ""),
    ("gcc_cpp_dwarf5", "gcc", "cpp", "-O2 -g -gdwarf-5", ""),
    ("gcc_cpp_dwarf4", "gcc", "cpp", "-O2 -g -gdwarf-4", ""),
    ("gcc_cpp_lto", "gcc", "cpp", "-O2 -g -gdwarf-4 -flto", ""),
    ("clang_c_dwarf5", "clang", "c", "-O2 -g -gdwarf-5", ""),
    ("clang_c_dwarf4", "clang", "c", "-O2 -g -gdwarf-4", ""),
    ("clang_cpp_dwarf5", "clang", "cpp", "-O2 -g -gdwarf-5", ""),
    ("clang_cpp_lto", "clang", "cpp", "-O2 -g -gdwarf-5 -flto -fuse-ld=lld", ""),
    ("aarch64_c_dwarf5", AARCH64, "c", "-O2 -g -gdwarf-5", ""),
    ("aarch64_c_dwarf4", AARCH64, "c", "-O3 -g -gdwarf-4", ""),
)
MORE_PROGRAMS = tuple(
    (f"{family}_{language}_{level}_dwarf{version}", family, language, f"-{level} -g -gdwarf-{version}", "")
    for family, language, level, version in itertools.product(("gcc", "clang"), ("c", "cpp"), ("O1", "O3", "Os"), "45")
)


class ChainsTest(unittest.TestCase):
    """What was built once, and the symbfiles made of it, are kept for all cases."""

    made = {}

    @classmethod
    def setUpClass(cls):
        cls.llvm = llvm_symbolizer.find_program()
        cls.workshop = dwarf_programs.shared_workshop()

    def make(self, program):
        """The ranges and the pads of PROGRAM, read with the tests' own reader."""
        if program not in self.made:
            home = self.workshop.folder / self.workshop.new_folder()
            ranges, pads = home / "out.symbfile", home / "out.returnpads"
            result = sextant.run("archive", "-q", "--mangled", program, "-o", ranges, "--returnpads", pads)
            self.assertEqual((result.status, result.err), (0, ""), f"\n{result}")
            self.made[program] = [symbfile.records(path.read_bytes()) for path in (ranges, pads)]
        return self.made[program]

    def plain_chains(self, program, addresses):
        ranges, _ = self.make(program)
        return symbfile.Chains(ranges).at(addresses)

    def program(self, family, language, flags, link):
        return self.workshop.compile(family, language, *flags.split(), link=link.split())


def objdump_for(program):
    cross = elf_reader.ElfFile.open(program).machine == elf_reader.EM_AARCH64 and os.uname().machine != "aarch64"
    name = f"{AARCH64}-objdump" if cross else "objdump"
    sextant.need_tool(name)
    return name


class Ranges(ChainsTest):
    """The plain rule against llvm-symbolizer, and against `lookup`."""

    def compare(self, program, addresses, share, against=None):
        if self.llvm is None:
            self.skipTest("llvm-symbolizer is not installed")
        answers = [[llvm_symbolizer.Frame(function, file or None, line or None) for function, file, line in chain]
                   for chain in self.plain_chains(program, addresses)]
        comparison = llvm_symbolizer.compare(program, addresses, against, self.llvm, answers=answers)
        report = f"{self.id().rpartition('.')[2]}: {comparison.report()}"
        if REPORT:
            print("".join(f"# {line}\n" for line in report.splitlines()), end="")
        self.assertGreater(comparison.compared, len(addresses) // 2, report)
        self.assertGreaterEqual(comparison.share, share, report)
        return answers

    def check(self, *how):
        program = self.program(*how)
        addresses = llvm_symbolizer.instruction_addresses(program, objdump_for(program))
        if len(addresses) > MOST_INSTRUCTIONS:
            addresses = sorted(random.Random(1).sample(addresses, MOST_INSTRUCTIONS))
        answers = self.compare(program, addresses, SHARE)
        self.assertEqual(answers, llvm_symbolizer.ask_ours(program, addresses)[0])
        if "-O0" not in how[2]:
            self.assertGreater(max(map(len, answers)), 2, "inlined calls are in the chains")

    def check_package(self, path, debug_file):
        addresses = llvm_symbolizer.random_addresses(elf_reader.ElfFile.open(debug_file), MOST_INSTRUCTIONS)
        answers = self.compare(path, addresses, SHARE, debug_file)
        self.assertEqual(answers, llvm_symbolizer.ask_ours(path, addresses)[0])

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_the_c_library(self):
        self.check_package(*the_c_library())

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_the_kernel(self):
        self.check_package(the_kernel(), the_kernel())


class Pads(ChainsTest):
    """A pad is at the last byte of each call that objdump shows in a known function, and nowhere else; its frames are
    the chain at the first byte of the call, by the plain rule and by `lookup`."""

    def check_pads(self, program):
        objdump = objdump_for(program)
        machine = elf_reader.ElfFile.open(program).machine
        calls = sorted(set(objdump_listing.calls(program, machine, objdump)))
        addresses = [address for address, _ in calls]
        expected = {address + length - 1: [(function, file or "", line) for function, file, line in reversed(chain)]
                    for (address, length), chain in zip(calls, self.plain_chains(program, addresses)) if chain}
        _, pads = self.make(program)
        found = {pad.va: pad.frames for pad in pads}
        self.assertEqual(len(found), len(pads), "a pad is there twice")
        self.assertEqual([pad.va for pad in pads], sorted(found), "pads are in order")
        self.assertEqual(hexadecimal(found.keys() - expected.keys()), "", "pads where objdump shows no call")
        self.assertEqual(hexadecimal(expected.keys() - found.keys()), "", "calls without a pad")
        wrong = [(hex(va), frames, expected[va]) for va, frames in found.items() if frames != expected[va]]
        self.assertEqual(wrong[:5], [])
        for answer, (address, length) in zip(llvm_symbolizer.ask_ours(program, addresses)[0], calls):
            self.assertEqual([(frame.function, frame.file or "", frame.line or 0) for frame in reversed(answer)],
                             found.get(address + length - 1, []), hex(address))
        return found

    def check(self, *how):
        found = self.check_pads(self.program(*how))
        self.assertGreater(len(found), 20, "too few calls to compare")
        if "-O0" not in how[2]:
            self.assertGreater(max(map(len, found.values())), 1, "inlined calls are in the chains")

    def test_the_program_under_test(self):
        self.assertGreater(len(self.check_pads(sextant.program())), 1000)

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_the_c_library(self):
        path, _ = the_c_library()
        self.assertGreater(len(self.check_pads(path)), 10_000)

    @unittest.skipUnless(BIG, "only with SEXTANT_TEST_BIG=1")
    def test_the_kernel(self):
        self.assertGreater(len(self.check_pads(the_kernel())), 100_000)


def the_c_library():
    """The library and its debug file; skips the test where there is none."""
    for path in sorted(glob.glob("/lib/*-linux-gnu/libc.so.6")):
        build_id = elf_reader.ElfFile.open(path).build_id()
        debug_file = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug" if build_id else ""
        if os.path.exists(debug_file):
            return path, debug_file
    raise unittest.SkipTest("no debug package for the C library")


def the_kernel():
    found = sorted(glob.glob(VMLINUX))
    if not found:
        raise unittest.SkipTest(f"no debug package for a kernel: {VMLINUX}")
    return found[-1]


def hexadecimal(addresses):
    """The first few."""
    return ", ".join(f"{address:x}" for address in sorted(addresses)[:10])


def add_programs(owner):
    for name, *how in PROGRAMS + (MORE_PROGRAMS if BIG else ()):
        sextant.add_case(owner, name, owner.check, *how)


add_programs(Ranges)
add_programs(Pads)

if __name__ == "__main__":
    tap.main()
