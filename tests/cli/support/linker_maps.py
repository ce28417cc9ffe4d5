"""Programs linked by each linker with a map, the map as tests/programs/list_linker_map lists it, and what their objects
define."""

import bisect
import functools
import os
import pathlib
import tempfile
import unittest
from dataclasses import dataclass

from . import elf_reader as elf
from . import sextant

LIST = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "tests" / "programs" / "list_linker_map"
LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}
NAMES = {"bfd": "GNU ld", "gold": "gold", "lld": "lld", "mold": "mold"}
STARTUP, UNLIKELY, HOT, REL, REL_LOCAL, LTO, IMPLIED, GUESSED = 1, 2, 4, 8, 16, 32, 64, 128

# The same literals, constants and functions in several objects, and something for every section that there is.
MAIN_C = r"""
#include <stdio.h>
int common_table[100];
int common_number;
static int numbers[7] = {1, 2, 3};
extern int helper(int);
extern const char *text(int);
extern double scaled(double);
extern __thread int in_thread;
__attribute__((constructor)) static void early(void) { numbers[1]++; }
__attribute__((cold, noinline)) void never(void) { puts("never happens"); }
__attribute__((noinline)) int same_one(int x) { return x * 33 + numbers[2]; }
__attribute__((noinline)) int same_two(int x) { return x * 33 + numbers[2]; }
double constant(double x) { return x * 3.25 + 1.5e10; }
int unused_function(int x) { return x * 99; }
int main(int count, char **words)
{
    if (count > 90)
        never();
    printf("%d %s %f %s\n", helper(count) + same_one(count) + same_two(count) + common_table[count] + common_number,
           text(count), constant(count) + scaled(count), words[0]);
    puts("a string that both objects have");
    return in_thread + fflush(stdout);
}
"""

HELPER_C = r"""
#include <stdlib.h>
int common_number;
const char *const words[] = {"one", "two", "three", "a string that both objects have"};
const char *text(int i) { return words[i & 3]; }
__attribute__((aligned(64))) int helper(int x) { return abs(x) + rand(); }
__attribute__((noinline)) int same_three(int x) { return x * 77 + 5; }
__attribute__((noinline)) int same_four(int x) { return x * 77 + 5; }
__attribute__((hot)) double scaled(double x) { return x * 3.25 + same_three((int)x) + same_four((int)x); }
__thread int in_thread = 4;
__thread int zero_in_thread;
int threads(void) { return in_thread + zero_in_thread; }
"""

MAIN_CPP = r"""
#include <iostream>
#include <map>
#include <string>
#include <vector>
template <class T> struct Box { T value; virtual ~Box() {} virtual T get() { return value; } };
template struct Box<int>;
template struct Box<long>;
extern size_t other(const std::vector<std::string> &);
int main(int count, char **words)
{
    std::map<std::string, std::vector<int>> found;
    found["abc"].push_back(count);
    for (auto &pair : found)
        std::cout << pair.first << pair.second.size() << "a string that both objects have" << "\n";
    return (int)other({words, words + count});
}
"""

OTHER_CPP = r"""
#include <iostream>
#include <map>
#include <string>
#include <vector>
size_t other(const std::vector<std::string> &words)
{
    std::map<std::string, std::vector<int>> lengths;
    for (auto &word : words)
        lengths[word].push_back((int)word.size());
    std::cout << "a string that both objects have" << lengths.size() << std::endl;
    return lengths.size();
}
"""


@dataclass
class Section:
    address: int
    size: int
    allocated: bool
    own_space: bool
    name: str


@dataclass
class Piece:
    address: int
    size: int
    section: Section
    kind: str
    flags: int
    object: str
    input_section: str

    @property
    def end(self):
        return self.address + self.size


@dataclass
class Symbol:
    address: int
    size: int
    piece: Piece
    preferred: bool
    name: str


class Map:
    """What list_linker_map says."""

    def __init__(self, path):
        self.sections, self.pieces, self.symbols, self.commons = [], [], [], {}
        for line in sextant.tool(LIST, path).decode().splitlines():
            kind, *fields = line.split("\t")
            getattr(self, "read_" + kind)(*fields)
        self.located = sorted((piece for piece in self.pieces
                               if piece.section.allocated and not piece.section.own_space and piece.size > 0),
                              key=lambda piece: piece.address)
        self.starts = [piece.address for piece in self.located]

    def read_linker(self, name):
        self.linker = name

    def read_section(self, address, size, allocated, own_space, name):
        self.sections.append(Section(int(address, 16), int(size, 16), allocated == "1", own_space == "1", name))

    def read_piece(self, address, size, section, kind, flags, path, input_section):
        self.pieces.append(Piece(int(address, 16), int(size, 16), self.sections[int(section, 16)], kind,
                                 int(flags, 16), path, input_section))

    def read_symbol(self, address, size, piece, preferred, name):
        self.symbols.append(Symbol(int(address, 16), int(size, 16), self.pieces[int(piece, 16)], preferred == "1", name))

    def read_common(self, _size, path, name):
        self.commons[name] = path

    def read_cut(self, count):
        self.cut = int(count, 16)

    def at(self, address):
        """The piece at an address; pieces of real maps do not overlap."""
        index = bisect.bisect_right(self.starts, address) - 1
        return self.located[index] if index >= 0 and address < self.located[index].end else None


@dataclass(eq=False)
class Sample:
    folder: pathlib.Path
    path: pathlib.Path
    map_path: pathlib.Path

    def elf(self):
        return elf.ElfFile.open(self.path)

    def map(self):
        return Map(self.map_path)

    @functools.lru_cache(maxsize=None)
    def defined_by(self, path):
        """The names that an object defines, or None when it is gone (link-time optimization)."""
        if path.endswith(")"):
            archive, member = path[:-1].rsplit("(", 1)
            file = elf.ElfFile.open(self.members_of(archive) / member)
        elif (self.folder / path).exists():
            file = elf.ElfFile.open(self.folder / path)
        else:
            return None
        return {symbol.name.decode() for symbol in file.symbols(elf.SHT_SYMTAB) if symbol.section != elf.SHN_UNDEF}

    @functools.lru_cache(maxsize=None)
    def members_of(self, archive):
        """A folder with all members of an archive."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        sextant.tool("ar", "x", (self.folder / archive).resolve(), cwd=folder)
        return folder


def link(folder, linker, sources, *flags, compiler="gcc", compile_flags=()):
    """Compiles SOURCES (name to text), puts all but the first into an archive, and links them."""
    sextant.need_tool(compiler, LINKERS[linker], "ar")
    if not LIST.exists():
        raise unittest.SkipTest("list_linker_map is not built")
    objects = []
    for name, text in sources.items():
        objects.append(pathlib.Path(name).stem + ".o")
        (folder / objects[-1]).write_bytes(compile_object(compiler, tuple(compile_flags), name, text))
    (folder / "libparts.a").unlink(missing_ok=True)
    sextant.tool("gcc-ar" if "-flto" in compile_flags else "ar", "rc", "libparts.a", *objects[1:], cwd=folder)
    sextant.tool(compiler, f"-fuse-ld={linker}", *compile_flags, "-o", "program", objects[0], "libparts.a",
            "-Wl,-Map=program.map", "-Wl,--no-demangle", *flags, cwd=folder)
    return Sample(folder, folder / "program", folder / "program.map")


@functools.lru_cache(maxsize=None)
def compile_object(compiler, flags, name, text):
    """The bytes of an object: compiling takes longer than all linkers together."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / name).write_text(text)
        sextant.tool(compiler, "-g", "-c", *flags, "-o", "object", name, cwd=folder)
        return (pathlib.Path(folder) / "object").read_bytes()
