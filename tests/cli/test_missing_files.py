"""Debug information that is spread over files, when some of them are missing: what is known is right, the rest is said."""

import os
import re
import shutil

from support import dwarf_programs, sextant, tap
from support.sextant import tool

FORMS = [(family, version) for family in ("gcc", "clang") for version in (4, 5)]
SOURCES = {
    "shared.h": """\
static inline __attribute__((always_inline)) int shared(volatile int *x)
{
    int sum = *x * 3;
    for (int i = 0; i < *x; i++)
        sum ^= i * *x;
    return sum;
}
""",
    "main.c": """\
#include "shared.h"
extern int other(volatile int *x);
static __attribute__((noinline)) int work(volatile int *x)
{
    int result = shared(x);
    result += other(x);
    return result;
}
int main(int argc, char **argv)
{
    volatile int x = argc;
    x = work(&x);
    return shared(&x) + (argv != 0);
}
""",
    "other.c": """\
#include "shared.h"
int other(volatile int *x)
{
    *x += 1;
    return shared(x) + 4;
}
""",
    "scopes.cc": """\
namespace a_namespace_whose_name_is_long {
namespace {
__attribute__((noinline)) int hidden_function(volatile int *x)
{
    return *x * 2;
}
} // namespace
inline __attribute__((always_inline)) int inlined_function(volatile int *x)
{
    *x += 7;
    return *x + 1;
}
struct StructureOfSomeKind {
    static inline __attribute__((always_inline)) int member(volatile int *x)
    {
        int result = *x + 3;
        return result + inlined_function(x);
    }
    inline __attribute__((always_inline)) int f(volatile int *x)
    {
        return member(x) - 1;
    }
    int concrete(volatile int *x);
};
int StructureOfSomeKind::concrete(volatile int *x)
{
    int result = f(x);
    return result + hidden_function(x) + member(x);
}
} // namespace a_namespace_whose_name_is_long
struct Own { // differs between the programs, but the linkage names are the same
    char padding[NUMBER];
    inline __attribute__((always_inline)) int get(volatile int *x)
    {
        return *x - 5;
    }
};
int main(int argc, char **argv)
{
    volatile int x = argc + (argv != nullptr) + NUMBER;
    x = Own().get(&x);
    a_namespace_whose_name_is_long::StructureOfSomeKind object;
    return object.concrete(&x) + object.f(&x);
}
""",
}


def instructions(path):
    """The addresses of the instructions in the functions of SOURCES, with the linked name of the function."""
    symbols = [line.split() for line in tool("nm", "-S", "--defined-only", path).decode().splitlines()]
    ranges = [(int(row[0], 16), int(row[0], 16) + int(row[1], 16), row[3]) for row in symbols
              if len(row) == 4 and row[2] in "tT" and not row[3].startswith("_start")]
    found = {}
    for line in tool("objdump", "-d", "--no-show-raw-insn", path).decode().splitlines():
        place = re.match(r"\s+([0-9a-f]+):\s+\S", line)
        address = int(place.group(1), 16) if place else None
        for start, end, name in ranges:
            if address is not None and start <= address < end:
                found[address] = name
    return found


def places(frames):
    return [(frame["file"], frame["line"]) for frame in frames]


class MissingFiles(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        for name, text in SOURCES.items():
            self.file(name, text.encode())

    def build(self, compiler, source, *flags, out):
        sextant.need_tool(compiler, "objdump", "nm")
        tool(compiler, "-O2", "-g", *flags, source, "-o", out, cwd=self.folder)

    def answers(self, path, addresses, *options):
        """The frames at each address, and what was said on standard error."""
        result = sextant.run("lookup", "--json", *options, path, *(hex(address) for address in addresses))
        self.assertEqual(result.status, 0, result)
        return [answer["frames"] for answer in result.json_lines()], result.err

    def check_archive(self, path, answers, addresses, *options):
        """An archive gives the same answers, and the same warning."""
        out = self.folder / "out.lidia"
        result = sextant.run("archive", "-q", path, "-o", out, *options)
        self.assertEqual(result.status, 0, result)
        self.run_ok("verify", out)
        self.assertEqual(self.answers(out, addresses)[0], answers)
        return result.err


class SplitUnits(MissingFiles):
    def program(self, family, version, *flags):
        """A program in a folder of its own, its .dwo files, and its instructions."""
        home = self.folder / "program"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        for name in ("main", "other"):
            self.build(family, f"{name}.c", f"-gdwarf-{version}", "-gsplit-dwarf", *flags, "-c", out=home / f"{name}.o")
        tool(family, home / "main.o", home / "other.o", "-o", home / "program")
        splits = sorted(home.glob("*.dwo"))
        self.assertEqual([split.name for split in splits], ["main.dwo", "other.dwo"])
        return home / "program", splits, instructions(home / "program")

    def lines_by_llvm(self, path, addresses):
        """What llvm-symbolizer reads from .debug_line alone, by file name."""
        sextant.need_tool("llvm-symbolizer")
        text = tool("llvm-symbolizer", "--no-inlines", "--output-style=GNU", "-p", f"--obj={path}",
                    *(hex(address) for address in addresses)).decode()
        found = [re.search(r" at (.*):(\d+)", line) for line in text.splitlines() if line.strip()]
        return [(os.path.basename(place.group(1)), int(place.group(2))) for place in found]

    def check_without(self, family, version):
        path, splits, names = self.program(family, version)
        names = {address: name for address, name in names.items() if name in ("main", "work", "other")}
        for split in splits:
            split.unlink()
        answers, said = self.answers(path, names)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertRegex(said, r"for 2 units \('[^']*main\.dwo' and others\)")
        self.assertEqual(self.check_archive(path, answers, names), said)
        self.assertEqual([[frame["function"] for frame in frames] for frames in answers],
                         [[name] for name in names.values()])
        found = [(os.path.basename(frames[0]["file"]), frames[0]["line"] or 0) for frames in answers]
        self.assertEqual(found, self.lines_by_llvm(path, names))
        self.assertIn(("shared.h", 5), found)

    def check_partly(self, family, version):
        path, splits, names = self.program(family, version)
        whole, said = self.answers(path, names)
        self.assertEqual(said, "")
        splits[0].unlink()
        partly, said = self.answers(path, names)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertRegex(said, r"for 1 unit \('[^']*main\.dwo'\)")
        self.assertEqual(self.check_archive(path, partly, names), said)
        for name, before, after in zip(names.values(), whole, partly):
            self.assertEqual(places(after)[:1], places(before)[:1])
            self.assertEqual(len(after), 1 if name in ("main", "work") else len(before))
        other = [address for address, name in names.items() if name == "other"]
        self.assertEqual(self.answers(path, other)[1], "")

    def test_clang_leaves_calls_in_the_skeleton(self):
        path, splits, names = self.program("clang", 5, "-fsplit-dwarf-inlining")
        whole, _ = self.answers(path, names)
        for split in splits:
            split.unlink()
        alone, _ = self.answers(path, names)
        self.assertTrue(any(len(frames) > 1 for frames in whole))
        self.assertEqual([places(frames) for frames in alone], [places(frames) for frames in whole])

    def test_a_package_lacks_a_unit(self):
        packer = dwarf_programs.newest_tool("llvm-dwp")
        if packer is None:
            self.skipTest("llvm-dwp is not installed")
        path, splits, names = self.program("clang", 5)
        whole, _ = self.answers(path, names)
        tool(packer, "-o", f"{path}.dwp", splits[1])
        for split in splits:
            split.rename(split.with_suffix(".away"))
        partly, said = self.answers(path, names)
        self.assertRegex(said, r"for 1 unit \('[^']*main\.dwo'\)")
        self.assertEqual([places(frames)[:1] for frames in partly], [places(frames)[:1] for frames in whole])
        self.assertTrue(any(len(frames) > 1 for frames in partly))
        splits[0].with_suffix(".away").rename(splits[0])
        self.assertEqual(self.answers(path, names), (whole, ""))

    def test_without_symbols_the_lines_are_left(self):
        path, splits, names = self.program("gcc", 5)
        for split in splits:
            split.unlink()
        named, _ = self.answers(path, names)
        nameless, _ = self.answers(path, names, "--sources", "dwarf")
        self.assertEqual([places(frames) for frames in nameless], [places(frames) for frames in named])
        self.assertEqual({frame["function"] for frames in nameless for frame in frames}, {""})
        main = next(address for address, name in names.items() if name == "main")
        text = sextant.run("lookup", "--sources", "dwarf", path, hex(main)).text
        self.assertRegex(text, r"^0x\w+  \?\?  /.*main\.c:\d+\n$")


for family, version in FORMS:
    sextant.always_add_case(SplitUnits, f"{family}_dwarf{version}_without_any_split_file", SplitUnits.check_without,
                            family, version)
    sextant.always_add_case(SplitUnits, f"{family}_dwarf{version}_without_one_split_file", SplitUnits.check_partly,
                            family, version)


class AlternateFile(MissingFiles):
    """The file of dwz -m. Without it, only names are unknown."""

    def programs(self, compiler, version, *flags):
        """A program before and after dwz; the alternate file is next to the second one."""
        sextant.need_tool("dwz", "objcopy")
        for number in (1, 2):
            plain = self.folder / f"plain{number}"
            self.build(compiler, "scopes.cc", f"-gdwarf-{version}", f"-DNUMBER={number}", out=plain)
            shutil.copy(plain, self.folder / f"made{number}")
        tool("dwz", *flags, "-m", "common.debug", "-r", "made1", "made2", cwd=self.folder)
        return self.folder / "plain1", self.folder / "made1"

    def moved(self, path, link=None):
        """A copy of PATH alone in a folder; LINK replaces the name of the alternate file."""
        copy = self.folder / "alone" / "program"
        copy.parent.mkdir()
        shutil.copy(path, copy)
        if link:
            section = self.folder / "link"
            tool("objcopy", "--dump-section", f".gnu_debugaltlink={section}", path, "/dev/null")
            section.write_bytes(link.encode() + b"\0" + section.read_bytes().partition(b"\0")[2])
            tool("objcopy", "--update-section", f".gnu_debugaltlink={section}", copy)
        return copy

    def check_names(self, before, after):
        """A name is the same, or that of the symbol, or unknown: never another one."""
        for number, (mine, theirs) in enumerate(zip(after, before)):
            last = re.search(r"(\w+)(\(.*)?$", theirs["function"].removesuffix(" const")).group(1)
            if mine["function"] == "":
                self.assertTrue(mine["inlined"], mine)
            else:
                self.assertIn(last, mine["function"])
                # A name with scopes keeps them, or says that they are unknown.
                self.assertEqual("::" in mine["function"], "::" in theirs["function"], (mine, theirs))
                self.assertNotIn("anonymous", mine["function"].replace(theirs["function"], ""))
            self.assertEqual(mine["inlined"], number + 1 < len(after))

    def check_missing(self, compiler, version, *flags):
        plain, made = self.programs(compiler, version, *flags)
        path = self.moved(made)
        names = instructions(path)
        whole, _ = self.answers(plain, names)
        found, said = self.answers(path, names)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertIn("alternate file 'common.debug' not found", said)
        self.assertEqual(self.check_archive(path, found, names), said)
        self.assertTrue(any(len(frames) > 2 for frames in whole))
        for before, after in zip(whole, found):
            self.assertEqual([frame["line"] for frame in after], [frame["line"] for frame in before])
            # The directory of the compilation may be in the alternate file.
            for mine, theirs in zip(after, before):
                self.assertTrue((theirs["file"] or "").endswith(mine["file"] or "?"), (mine, theirs))
            self.check_names(before, after)
        self.assertTrue(any(frame["function"] == "" for frames in found for frame in frames))
        return path, names, found

    def test_dwarf4(self):
        self.check_missing("g++", 4)

    def test_dwarf5(self):
        path, names, found = self.check_missing("g++", 5)
        address = next(address for address, frames in zip(names, found) if frames and frames[0]["function"] == "")
        result = sextant.run("lookup", path, hex(address))
        self.assertRegex(result.text.splitlines()[0], r"^0x\w+  \?\?  /.*:\d+  \[inlined\]$")

    def test_a_supplementary_file(self):
        self.check_missing("g++", 5, "--dwarf-5")

    def check_link(self, link, *places_below):
        _, made = self.programs("g++", 5)
        path = self.moved(made, link)
        names = instructions(path)
        whole, said = self.answers(made, names)
        self.assertEqual(said, "")
        debug = self.folder / "debug"
        for place in places_below:
            with self.subTest(place=place):
                (debug / place).parent.mkdir(parents=True)
                shutil.copy(self.folder / "common.debug", debug / place)
                self.assertEqual(self.answers(path, names, "--debug-dir", debug), (whole, ""))
                self.assertEqual(self.check_archive(path, whole, names, "--debug-dir", debug), "")
                self.assertEqual(self.run_ok("lookup", "--explain", "--debug-dir", debug, path,
                                             *(hex(address) for address in names)).err, "")
                shutil.rmtree(debug)
        self.assertIn(link, self.answers(path, names, "--debug-dir", debug)[1])

    def test_a_link_of_debian_below_the_debug_directory(self):
        link = "/usr/lib/debug/.dwz/x86_64-linux-gnu/common.debug"
        self.check_link(link, ".dwz/x86_64-linux-gnu/common.debug", link[1:], ".dwz/common.debug")

    def test_other_links_below_the_debug_directory(self):
        self.check_link("/elsewhere/common.debug", "elsewhere/common.debug", ".dwz/common.debug")

    def test_a_relative_link_below_the_debug_directory(self):
        self.check_link("../../../.dwz/package/common.debug", ".dwz/package/common.debug")


if __name__ == "__main__":
    tap.main()
