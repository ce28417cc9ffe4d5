"""What the tests of `sextant symbolize` share: a program with inlined calls, profiles of it, and the run itself."""

from . import elf_reader, pprof, samples, sextant
from .pprof import Location, Mapping, Profile

SOURCE = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) int inner(int value)
{
    return value * 3 + rand();
}
static inline __attribute__((always_inline)) int middle(int value)
{
    return inner(value) ^ rand();
}
int __attribute__((noinline)) outer(int value)
{
    return middle(value) + 1;
}
__attribute__((noreturn, noinline)) void stop(void)
{
    abort();
}
__attribute__((noreturn, noinline)) void last_call(void)
{
    stop();
}
int __attribute__((noinline)) follower(int value)
{
    return value + 7;
}
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 5)
        last_call();
    return outer(argc) + follower(argc);
}
"""
CPP_SOURCE = r"""
namespace space { int __attribute__((noinline)) twice(int x) { return 2 * x; } }
int main(int count, char **) { return space::twice(count); }
"""
BASE = 0x5555_5555_4000
ALL = (True, True, True, True)
NONE = (False, False, False, False)


class SymbolizeTest(sextant.ProgramTest):
    def symbolize(self, profile, *options, output="out.pb", packed=True, extra=b""):
        """The symbolized profile, decoded; what was said about it is in self.report."""
        data = profile if isinstance(profile, bytes) else pprof.encode(profile, packed, extra)
        source = self.file("in.pb", data)
        result = self.run_ok("symbolize", source, "-o", self.folder / output, "--json", *options)
        self.report, = result.json_lines()
        self.data = (self.folder / output).read_bytes()
        return pprof.decode(self.data)

    def expected(self, file, address):
        """What `lookup` knows, as pprof lines: [(function, file, line)]."""
        answer, = self.lookup(file, [address])
        return [(one["function"], one["file"] or "", one["line"] or 0) for one in answer["frames"]]

    def program(self, *flags, name="program", source=SOURCE, language="c"):
        return samples.compile_c(self.folder, name, "-g", *flags, source=source, language=language)


def code_segment(path):
    elf = elf_reader.ElfFile.open(path)
    return next(one for one in elf.segments if one.type == elf_reader.PT_LOAD and one.flags & 1)


def mapping_of(path, id=1, base=BASE, build_id="", filename=None):
    """The mapping of the code of PATH, as the kernel makes it: BASE is added to virtual addresses."""
    segment = code_segment(path)
    low, high = segment.vaddr & ~0xFFF, (segment.vaddr + segment.memsz + 0xFFF) & ~0xFFF
    return Mapping(id, base + low, base + high, segment.offset & ~0xFFF, str(filename or path), build_id)


def symbol(path, name):
    elf = elf_reader.ElfFile.open(path)
    return next(one for one in elf.symbols(elf_reader.SHT_SYMTAB) if one.name == name.encode())


def every_address(path, step=1, names=(b"main", b"outer", b"follower", b"last_call", b"stop")):
    symbols = elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB)
    return [address for one in symbols if one.name in names and one.size
            for address in range(one.value, one.value + one.size, step)]


def leaf_profile(path, addresses, mapping, base=BASE):
    """Each address is the leaf of a sample of its own."""
    return Profile(
        mappings=[mapping],
        locations=[Location(index + 1, mapping.id, base + address) for index, address in enumerate(addresses)],
        samples=[([index + 1], [index]) for index in range(len(addresses))],
    )
