#!/usr/bin/env python3
"""Lidia archives are exchanged with the reference implementation, the Go module github.com/grafana/pyroscope/lidia.

lidia/main.go makes a program of that module; it is built into the folder `interop` of the build directory, which the
environment variable SXT_BUILD names (build under the source root by default). Everything is skipped where there is no Go
toolchain, or one that is too old, or where the module can be had neither from the cache nor from the registry.

The reference does not follow call sites: the file of an outer frame is, to it, the file of that function, where sextant
says the file of the call. Therefore files are compared for the innermost frame, and functions for all.
"""

import array
import atexit
import functools
import glob
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from support import elf_reader as elf
from support import samples, sextant, tap
from support.elf_writer import ElfWriter

MODULE = "github.com/grafana/pyroscope/lidia"
MODULE_FOLDER = ROOT / "tests" / "interop" / "lidia"
DOWNLOAD_SECONDS = 90
ADDRESSES = 20000  # asked of each archive, at least
FEWEST_LOOKED_UP = 10
FEWEST_COMPARED = 20
MOST_SYSTEM_FILES = 80
RANDOM_FILES = 120
LARGEST = 1 << 30  # of the binaries, in bytes
NUMBERS = itertools.count()

# Names that share an address, sizes of zero, functions inside functions, sizes and addresses around 4 GiB. Nothing
# reaches the end of the address space: there the reference's sum of address and length becomes 0, and it finds nothing.
ODD_SYMBOLS = r"""
    .text
    .macro function name, value, size
    .globl \name
    .type \name, %function
    .set \name, \value
    .size \name, \size
    .endm
base:
    .skip 0x400
    function first, base, 0x20
    function alias_one, base + 0x20, 0x10
    function alias_two, base + 0x20, 0x10
    function longer_alias, base + 0x30, 0x20
    function shorter_alias, base + 0x30, 0x8
    function sized, base + 0x60, 0x10
    function zero_after_sized, base + 0x60, 0
    function zero_before_sized, base + 0x70, 0
    function sized_after_zero, base + 0x70, 0x10
    function zero_inside, base + 0x8f, 0
    function around_zero, base + 0x88, 0x10
    function outer, base + 0xa0, 0x60
    function inner, base + 0xb0, 0x10
    function innermost, base + 0xb8, 0x4
    function overlap_left, base + 0x110, 0x20
    function overlap_right, base + 0x120, 0x20
    function behind_a_gap, base + 0x180, 1
    function reaching_over_the_end, base + 0x3f0, 0x40
    function more_than_four_gigabytes, base + 0x200, 0x100000010
    function at_zero, 0, 8
    function below_four_gigabytes, 0xfffffff0, 0x20
    .type label_only, %notype
    .set label_only, base + 0x190
    .size label_only, 8
    .globl _start
    .set _start, base
    .weak undefined_function
    .type undefined_function, %function
    .reloc base, BFD_RELOC_NONE, undefined_function
"""
ODD_SYMBOLS_64 = r"""
    function above_four_gigabytes, 0x100000000, 0x10
    function high, 0xffffffffffffff00, 0x20
"""


# The reference


def reference():
    """The path of the program that is made of the module, and the folder of the module. Skips the test where the module
    cannot be had. A program that does not compile is an error."""
    program, detail = reference_or_reason()
    if program is None:
        raise unittest.SkipTest(detail)
    return program, detail


@functools.cache
def reference_or_reason():
    if shutil.which("go") is None:
        return None, "there is no Go toolchain"
    try:
        got = go("mod", "download", "-json", MODULE, timeout=DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"the module was not to be had within {DOWNLOAD_SECONDS} s"
    if got.returncode != 0:
        return None, f"the module is not to be had: {download_problem(got)}"
    place = pathlib.Path(os.environ.get("SXT_BUILD") or ROOT / "build").resolve() / "interop"
    place.mkdir(parents=True, exist_ok=True)
    program = place / "lidia-reference"
    built = go("build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-o", program, ".", timeout=600)
    if built.returncode != 0:
        raise AssertionError(f"the Go program does not compile:\n{built.stderr}")
    return program, pathlib.Path(json.loads(got.stdout)["Dir"])


def go(*arguments, timeout):
    return subprocess.run(
        ["go"] + [os.fspath(argument) for argument in arguments],
        cwd=MODULE_FOLDER,
        env={**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=timeout,
        check=False,
    )


def download_problem(got):
    """With -json, the reason for which a module is not there is in the answer; other problems are on standard error."""
    try:
        text = json.loads(got.stdout)["Error"]
    except (ValueError, KeyError):
        text = got.stderr
    return " ".join(text.split())[-300:].replace("#", "") or f"exit status {got.returncode}"


def has_go_step():
    """Does the reference look into Go function tables? Newer versions of it do."""
    return (reference()[1] / "gosym").is_dir()


def ask_reference(*arguments, stdin=""):
    """The answers of the program to a command of it, one JSON value a line."""
    done = subprocess.run(
        [reference()[0]] + list(arguments), input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=300, check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"reference {arguments}: {done.stderr.decode('utf-8', 'replace')}")
    return [json.loads(line) for line in done.stdout.splitlines()]


# Binaries and their archives


LINES = """
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace words {
template <class T> static inline T twice(T value) { return value + value; }
struct Counter {
    std::map<std::string, int> seen;
    void add(const std::string &word) { seen[twice(word)] += 1; }
};
}
int main(int count, char **values)
{
    words::Counter counter;
    std::vector<std::string> all(values, values + count);
    std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.size() < b.size(); });
    for (const auto &word : all)
        counter.add(word);
    for (const auto &entry : counter.seen)
        std::printf("%s %d\\n", entry.first.c_str(), words::twice(entry.second));
}
"""


@functools.cache
def folder():
    path = tempfile.mkdtemp(prefix="sextant-interop-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return pathlib.Path(path)


@functools.cache
def compiled():
    """Binaries of every kind, made for the occasion."""
    made = folder() / "compiled"
    made.mkdir()
    if shutil.which("gcc") is None:
        return []
    return [
        samples.compile_c(made, "fixed", "-no-pie"),
        samples.compile_c(made, "position-independent", "-pie", "-fPIE"),
        samples.compile_c(made, "stripped", "-s"),
        samples.compile_c(made, "library.so", "-shared", "-fPIC"),
        samples.compile_c(made, "object.o", "-c"),
        samples.compile_c(made, "static", "-static"),
        stripped(made / "static", made / "static-without-debug", "--strip-debug"),
    ]


def stripped(source, path, *options):
    sextant.tool("strip", *options, "-o", path, source)
    return path


@functools.cache
def odd_binaries():
    """An ELF file with ODD_SYMBOLS, and one whose addresses need 8 bytes."""
    sextant.need_tool("as", "ld")
    made = []
    for name, start, source in (
        ("odd", "0x401000", ODD_SYMBOLS),
        ("odd-high", "0x7ff0000000", ODD_SYMBOLS + ODD_SYMBOLS_64),
    ):
        path = folder() / name
        path.with_suffix(".s").write_text(source)
        sextant.tool("as", "-o", path.with_suffix(".o"), path.with_suffix(".s"))
        sextant.tool("ld", "-Ttext", start, "-o", path, path.with_suffix(".o"))
        made.append(path)
    return made


@functools.cache
def binaries_with_lines():
    """Programs with DWARF, and the debug file of the C library: inlined calls, files and lines."""
    made = folder() / "lines"
    made.mkdir()
    if shutil.which("g++") is None:
        return []
    source = made / "lines.cpp"
    source.write_text(LINES)
    sextant.tool("g++", "-O2", "-g", "-o", made / "lines", source)
    return [made / "lines"] + samples.debug_files()[:2]


@functools.cache
def go_binaries():
    """Go programs, with inlined calls: the one that is made of the module, stripped and not, and the toolchain's own."""
    program = reference()[0]
    return [program, stripped(program, folder() / "go-stripped")] + samples.go_files(LARGEST)[:3]


@functools.cache
def big_binaries():
    found = glob.glob(os.path.expanduser("~/.rustup/toolchains/*/lib/librustc_driver*.so"))
    return sorted(found, key=os.path.getsize)[-1:] + samples.distinct_files(
        sorted(glob.glob("/usr/lib/*/libLLVM*.so*") + glob.glob("/usr/lib/llvm-*/lib/libLLVM*.so*")), LARGEST)[:1]


def looked_up():
    """The binaries whose archives are asked ADDRESSES addresses each."""
    system = sorted(samples.system_files(), key=os.path.getsize)[-6:]
    return (compiled() + odd_binaries() + binaries_with_lines() + [sextant.program()] + system + go_binaries()
            + big_binaries())


@functools.cache
def ours(path, *options):
    """Our archive of a binary."""
    made = folder() / f"ours{next(NUMBERS)}.lidia"
    result = sextant.run("archive", path, "-o", made, "--quiet", *options)
    if result.status != 0 or (result.err and "no functions found" not in result.err):
        raise AssertionError(str(result))
    return made


@functools.cache
def theirs():
    """What the reference made of everything that is compared: {path: (archive, its answer)}."""
    system = samples.system_files(LARGEST)[:MOST_SYSTEM_FILES]
    binaries = compiled() + odd_binaries() + [sextant.program()] + system + go_binaries() + big_binaries()
    paths = list(dict.fromkeys(os.fspath(path) for path in binaries))
    archives = [folder() / f"theirs{number}.lidia" for number in range(len(paths))]
    questions = "".join(f"{path}\t{archive}\n" for path, archive in zip(paths, archives))
    answers = ask_reference("create", stdin=questions)
    return dict(zip(paths, zip(archives, answers, strict=True), strict=True))


def accepted_by_reference():
    """{path: archive} of the binaries that the reference makes archives of."""
    return {path: archive for path, (archive, answer) in theirs().items() if answer["error"] is None}


# Addresses


def rows_of(archive):
    """(address, length) of every row of an archive."""
    data = archive.read_bytes()

    def number(at):
        return int.from_bytes(data[at : at + 8], "little")

    def numbers(size, start, count):
        values = array.array({4: "I", 8: "Q"}[size], data[start : start + size * count])
        if sys.byteorder == "big":
            values.byteswap()
        return values

    count = number(0x10)
    lengths = numbers(number(0x28), number(0x38), count * 8)[::8]
    return list(zip(numbers(number(0x08), number(0x18), count), lengths, strict=True))


def addresses_in(rows):
    """Starts, middles, last bytes and bytes beside ROWS, others anywhere, and some where nothing can be."""
    dice = random.Random(len(rows))
    chosen = rows if len(rows) * 5 <= ADDRESSES else dice.sample(rows, ADDRESSES // 5)
    addresses = {0, 1, 0xFFFFFFFF, 1 << 32, 1 << 63, (1 << 64) - 1}
    for start, length in chosen:
        addresses.update((start - 1, start, start + length // 2, start + length - 1, start + length))
    lowest = min((start for start, length in rows if length), default=0)
    highest = max((start + length for start, length in rows if length), default=0x1000)
    while len(addresses) < ADDRESSES + ADDRESSES // 4:
        addresses.add(dice.randrange(lowest - 0x1000, highest + 0x1000))
        if highest - lowest < ADDRESSES:
            addresses.add(dice.randrange(1 << 48))
    mixed = sorted(address & 0xFFFFFFFFFFFFFFFF for address in addresses)
    dice.shuffle(mixed)
    return list(dict.fromkeys(mixed))


def addresses_near(rows):
    """Every address within and around what the first bytes of ROWS cover."""
    near = {start + offset for start, length in rows for offset in range(-0x20, min(length, 0x400) + 0x20)}
    return sorted(address & 0xFFFFFFFFFFFFFFFF for address in near)


def random_symbol_file(dice):
    """An ELF file of any class and byte order whose functions overlap, share addresses and names, or have no size."""
    made = ElfWriter(bits=dice.choice((32, 64)), order=dice.choice("<>"))
    text = made.text(address=0x401000, size=0x1000)
    kinds = dice.choice(([elf.SHT_SYMTAB], [elf.SHT_DYNSYM], [elf.SHT_SYMTAB, elf.SHT_DYNSYM]))
    for kind in kinds:
        made.table(kind)
        for number in range(dice.randrange(1, 60)):
            made.symbol(
                dice.choice((f"f{number}", f"name{number % 7}", "", "x" * number, b"\xff\x80 no UTF-8")),
                dice.choice((0, 0x401000, 0xFFFFFF00, 1 << made.bits - 2)) + dice.randrange(0x100),
                dice.choice((0, 1, 16, dice.randrange(0x100), dice.randrange(1 << made.bits))),
                type=dice.choice((elf.STT_FUNC,) * 4 + (elf.STT_OBJECT, elf.STT_NOTYPE, elf.STT_GNU_IFUNC)),
                binding=dice.choice((elf.STB_LOCAL, elf.STB_GLOBAL, elf.STB_WEAK)),
                section=dice.choice((text, elf.SHN_UNDEF, elf.SHN_ABS)),
                table=kind,
            )
    return made.build()


class ReferenceTest(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        reference()

    def ask_ours(self, archive, addresses, *options):
        """What is comparable of each answer: the file of the innermost frame, then the functions, innermost first."""
        return [
            [chain[0]["file"] or ""] + [frame["function"] for frame in chain] if chain else []
            for chain in (answer["frames"] for answer in self.lookup(archive, addresses, *options))
        ]

    def ask_theirs(self, archive, addresses):
        chains = ask_reference("lookup", archive, stdin="".join(f"{address:x}\n" for address in addresses))
        self.assertEqual(len(chains), len(addresses))
        return [[chain[0][1]] + [function for function, _ in chain] if chain else [] for chain in chains]

    def assert_same_answers(self, binary, archive, addresses, *options):
        """Returns how many of ADDRESSES have an answer, and the length of the longest."""
        expected = self.ask_theirs(archive, addresses)
        answered = self.ask_ours(archive, addresses, *options)
        wrong = [
            f"0x{address:x}: sextant {left}, reference {right}"
            for address, left, right in zip(addresses, answered, expected, strict=True)
            if left != right
        ]
        if wrong:
            self.fail(f"{binary}: {len(wrong)} of {len(addresses)} answers differ\n" + "\n".join(wrong[:5]))
        return sum(map(bool, expected)), max(map(len, expected), default=0) - 1


class OurArchives(ReferenceTest):
    def test_the_reference_answers_from_our_archives_as_we_do(self):
        compared, asked, deepest = 0, 0, 0
        for binary in looked_up():
            with self.subTest(binary=os.fspath(binary)):
                archive = ours(binary)
                addresses = addresses_in(rows_of(archive))
                self.assertGreaterEqual(len(addresses), ADDRESSES)
                known, depth = self.assert_same_answers(binary, archive, addresses)
                self.assertGreater(known, 0)
                compared, asked, deepest = compared + 1, asked + len(addresses), max(deepest, depth)
        self.assertGreaterEqual(compared, FEWEST_LOOKED_UP)
        self.assertGreater(deepest, 2, "no archive had inlined calls within inlined calls")
        print(f"# {asked} addresses in {compared} archives, up to {deepest} frames deep")

    def test_the_index_after_the_lines_changes_no_answer_of_the_reference(self):
        for binary in go_binaries():
            with self.subTest(binary=os.fspath(binary)):
                indexed, plain = ours(binary), ours(binary, "--no-index")
                self.assertGreater(indexed.stat().st_size, plain.stat().st_size, "there is no index")
                addresses = addresses_in(rows_of(plain))
                self.assertEqual(self.ask_theirs(indexed, addresses), self.ask_theirs(plain, addresses))
                self.assert_same_answers(binary, plain, addresses)

    def test_the_reference_opens_archives_made_with_any_option(self):
        options = [["--mangled"], ["--no-lines"], ["--no-files"], ["--no-inlines"], ["--zero-size", "extend"],
                   ["--no-index", "--mangled"], ["--sources", "go"], ["--sources", "symtab"], ["--compat"]]
        archives = [ours(reference()[0], *each) for each in options]
        self.assertEqual(ask_reference("check", *archives), [None] * len(options))

    def test_the_reference_finds_a_changed_byte_in_each_of_our_tables(self):
        good = ours(reference()[0]).read_bytes()
        tables = {"va table": 0x18, "fields": 0x38, "strings": 0x50, "linetable": 0x70}
        changed = []
        for at in tables.values():
            data = bytearray(good)
            data[int.from_bytes(good[at : at + 8], "little") + 5] ^= 1
            changed.append(self.file(f"changed{len(changed)}.lidia", data))
        for name, answer in zip(tables, ask_reference("check", *changed), strict=True):
            self.assertIn(f"crc mismatch in {name}", answer or "nothing found")


class TheirArchives(ReferenceTest):
    def test_we_answer_from_archives_of_the_reference_as_it_does(self):
        accepted = accepted_by_reference()
        binaries = [os.fspath(path) for path in looked_up() if os.fspath(path) in accepted]
        for binary in binaries:
            with self.subTest(binary=binary):
                addresses = addresses_in(rows_of(accepted[binary]))
                self.assert_same_answers(binary, accepted[binary], addresses, "--mangled")
        self.assertGreaterEqual(len(binaries), FEWEST_LOOKED_UP)

    def test_we_answer_every_address_near_odd_symbols_as_the_reference_does(self):
        for binary in odd_binaries():
            archive = accepted_by_reference()[os.fspath(binary)]
            known, _ = self.assert_same_answers(binary, archive, addresses_near(rows_of(archive)), "--mangled")
            self.assertGreater(known, 0x100)

    def test_verify_finds_archives_of_the_reference_good(self):
        archives = list(accepted_by_reference().values())
        verdicts = self.run_ok("verify", *archives).text.splitlines()
        self.assertEqual(verdicts, [f"{archive}: good" for archive in archives])


class Compat(ReferenceTest):
    def test_compat_gives_the_bytes_of_the_reference(self):
        compared = 0
        for binary, archive in accepted_by_reference().items():
            with self.subTest(binary=binary):
                made = ours(binary, *compat_options(theirs()[binary][1])).read_bytes()
                self.assertTrue(made == archive.read_bytes(), "not the same bytes")
                compared += 1
        refused = {binary: answer["error"] for binary, (_, answer) in theirs().items() if answer["error"] is not None}
        self.assertGreaterEqual(compared, FEWEST_COMPARED, f"too few; the reference refused {refused}")
        print(f"# {compared} archives are the same; the reference refused {refused or 'no binary'}")

    def test_compat_gives_the_bytes_of_the_reference_for_random_symbols(self):
        dice = random.Random(2)
        paths = [self.file(f"{number}.elf", random_symbol_file(dice)) for number in range(RANDOM_FILES)]
        questions = "".join(f"{path}\t{path}.lidia\n" for path in paths)
        for number, (path, answer) in enumerate(zip(paths, ask_reference("create", stdin=questions), strict=True)):
            with self.subTest(number=number):
                self.assertIsNone(answer["error"])
                theirs_made = pathlib.Path(f"{path}.lidia")
                self.assertEqual(ours(path, "--compat").read_bytes(), theirs_made.read_bytes())
                if number % 4 == 0:
                    self.assert_same_answers(path, theirs_made, addresses_near(rows_of(theirs_made)), "--mangled")

    def test_compat_refuses_what_the_reference_refuses(self):
        made = ElfWriter()
        made.symbol("function", 0x401000, 16, section=made.text(), table=elf.SHT_DYNSYM)
        data = made.build()
        made.table_lies(elf.SHT_DYNSYM)["size"] = 47
        bad = [self.file("text", b"no program\n"), self.file("head", data[:40]),
               self.file("half", data[: len(data) // 2]), self.file("odd-size", made.build())]
        output = self.folder / "out.lidia"
        answers = ask_reference("create", stdin="".join(f"{path}\t{output}\n" for path in bad))
        for path, answer in zip(bad, answers, strict=True):
            with self.subTest(file=path.name):
                self.assertIsNotNone(answer["error"])
                self.run_error("archive", path, "--compat", "-o", output, naming=path)
                self.assertFalse(output.exists())


def compat_options(answer):
    """The options with which sextant must give the bytes of the reference. A version that does not know of Go gives
    the same as symbols alone; for other files, --compat must find out by itself that there is nothing of Go in them."""
    if has_go_step() or (answer["text"] and not answer["go_table"]):
        return ["--compat"]
    return ["--compat", "--sources", "symtab,dynsym"]


if __name__ == "__main__":
    tap.main()
