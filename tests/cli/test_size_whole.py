"""What SuperSize reads from a file that `archive` made: the total, the sums of its data check, metrics and flags.

The rules are those of the reference, written a second time here; readelf, nm and strip are the judges of the figures.
"""

import os
import re
import struct

from support import samples, sextant, size_writer, tap

CPP = r"""
#include <cstdio>
#include <string>
namespace { int hidden(int value) { return value * 3; } struct Counter { int count; int next() { return ++count; } }; }
namespace { template <typename T> __attribute__((noinline)) int each(T value) { return (int)sizeof value; } }
struct Visible { __attribute__((noinline)) int take(Counter &counter) { return counter.next(); } };
__attribute__((noinline)) static int wrapper(int (*function)(int), int value) { return function(value); }
extern const char *const names[]; const char *const names[] = {"one", "two", "three"};
int (*volatile pointer)(int) = hidden;
int main(int count, char **values)
{
    Counter counter{count}; Visible visible; std::string text(values[0]);
    std::printf("%d %s\n", wrapper(pointer, count) + visible.take(counter) + each(1) + each('a'), text.c_str());
    return names[count % 3][0];
}
"""
SUMMED = {".text", ".rodata", ".data", ".data.rel.ro", ".data.rel.ro.local", ".tdata", ".tdata.rel.ro", ".other"}


class WholeTest(sextant.ProgramTest):
    def make(self, *paths, options=()):
        output = self.folder / "out.size"
        self.run_ok("archive", "-q", *paths, "-o", output, *options)
        self.run_ok("verify", "-q", output)
        header, *symbols = self.run_ok("dump", "--json", output).json_lines()
        self.header = header["header"]
        return symbols

    def parts(self):
        return self.header.get("containers", [self.header])

    def check_data(self, symbols, path):
        """As the data check of the reference does: every segment has a size, which its symbols add up to."""
        sums = {}
        for one in symbols:
            key = one["container"], one["section"]
            sums[key] = sums.get(key, 0) + one["size"] / one["aliases"]
        for part in self.parts():
            sizes = part["section_sizes"]
            for (container, section), total in sums.items():
                if container == part.get("name", ""):
                    self.assertIn(section, sizes, path)
                    self.assertEqual(round(total), sizes[section], f"{path} {section}")

    def total(self):
        return sum(size for part in self.parts() for name, size in part["section_sizes"].items() if name in SUMMED)


class Totals(WholeTest):
    def test_total_is_the_stripped_file(self):
        sextant.need_tool("strip")
        for flags in ((), ("-g",), ("-static",), ("-shared", "-fPIC"), ("-no-pie",)):
            with self.subTest(flags=flags):
                path = samples.compile_c(self.folder, "program", *flags, source=CPP, language="cpp")
                self.check_data(self.make(path), path)
                sextant.tool("strip", "--strip-debug", "--strip-unneeded", "-o", self.folder / "stripped", path)
                self.assertEqual(self.total(), (self.folder / "stripped").stat().st_size)

    def test_total_of_system_files_is_their_size(self):
        for path in sextant.some(samples.system_files(), 4):
            with self.subTest(path=str(path)):
                symbols = self.make(path, options=["--no-debug-search"])
                self.check_data(symbols, path)
                stripped = sum(one["size"] / one["aliases"] for one in symbols if one["section"] not in size_writer.BSS)
                self.assertEqual(self.total(), round(stripped))

    def test_several_containers_and_libraries(self):
        program = samples.compile_c(self.folder, "program", source=CPP, language="cpp")
        source = "int f(int x) { return x + 1; } char big[300] = {1};"
        object_file = samples.compile_c(self.folder, "a.o", "-c", source=source)
        sextant.need_tool("ar")
        sextant.tool("ar", "rcs", self.folder / "liba.a", object_file)
        symbols = self.make(program, self.folder / "liba.a", object_file)
        self.check_data(symbols, "three")
        self.assertEqual(len(self.parts()), 3)
        for part in self.parts():
            self.assertGreater(part["section_sizes"][".other"], 0, part["name"])
        self.assertEqual([part["section_sizes"][".other"] for part in self.parts() if part["name"] == "liba.a"],
                         [sum(one["size"] for one in symbols
                              if one["container"] == "liba.a" and one["section"] == ".other")])  # fmt: skip


class Metrics(WholeTest):
    def metrics(self, path):
        return self.header["metrics_by_file"][os.path.basename(path)]

    def test_sizes_of_all_sections(self):
        sextant.need_tool("readelf", "strip")
        path = samples.compile_c(self.folder, "program", "-g", source=CPP, language="cpp")
        self.make(path)
        sextant.tool("strip", "--strip-debug", "--strip-unneeded", "-o", self.folder / "stripped", path)
        text = sextant.tool("readelf", "-SW", self.folder / "stripped").decode()
        wanted = {f"SIZE/{name}": int(size, 16)
                  for name, size in re.findall(r"\] (\.\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", text)}  # fmt: skip
        metrics = dict(self.metrics(path))
        self.assertGreater(metrics.pop("COUNT/Relocations"), 0)
        self.assertEqual(metrics, wanted)
        sizes = dict(self.header["section_sizes"])
        self.assertEqual(sizes.pop(".other"), self.total() - sum(sizes.get(name, 0) for name in SUMMED))
        self.assertEqual({f"SIZE/{name}": size for name, size in sizes.items()}, wanted)

    def test_relocations_of_the_system_as_readelf_prints_them(self):
        sextant.need_tool("readelf", "strip")
        files = samples.system_files()
        with_debug = [path for path in files if str(path).endswith("crtfastmath.o")]
        for path in sextant.some(files, 6) + with_debug:
            self.make(path, options=["--no-debug-search"])
            stripped = self.folder / "stripped"
            sextant.tool("strip", "--strip-debug", "--strip-unneeded", "-o", stripped, path)
            text = sextant.tool("readelf", "-rW", stripped).decode(errors="replace")
            wanted = 0
            for section in re.split(r"\n(?=Relocation section)", text):
                found = re.search(r"contains (\d+) entr", section)
                offsets = re.search(r"\n\s*(\d+) offsets", section)
                wanted += int(offsets[1]) if offsets else int(found[1]) if found else 0
            self.assertEqual(self.metrics(path)["COUNT/Relocations"], wanted, str(path))

    def with_section(self, kind, content, is_64=True):
        """A shared library with one section of that type."""
        names = b"\0.packed\0.shstrtab\0"
        header, row = (64, 64) if is_64 else (52, 40)
        at = header
        body = content + b"\0" * (-len(content) % 8)
        table = at + len(body) + len(names)
        table += -table % 8
        word = "Q" if is_64 else "I"

        def section(name, type_, flags, offset, size):
            if is_64:
                return struct.pack("<IIQQQQIIQQ", name, type_, flags, 0x1000 if flags else 0, offset, size, 0, 0, 8, 8)
            return struct.pack("<IIIIIIIIII", name, type_, flags, 0x1000 if flags else 0, offset, size, 0, 0, 4, 4)

        data = b"\x7fELF" + bytes([2 if is_64 else 1, 1, 1]) + b"\0" * 9
        data += struct.pack(f"<HHI{word}{word}{word}IHHHHHH", 3, 62 if is_64 else 3, 1, 0, 0, table, 0, header, 0, 0,
                            row, 3, 2)  # fmt: skip
        data += body + names
        data += b"\0" * (table - len(data))
        data += b"\0" * row + section(1, kind, 2, at, len(content)) + section(9, 3, 0, at + len(body), len(names))
        return self.file("packed.so", data)

    def count(self, kind, content, **keywords):
        path = self.with_section(kind, content, **keywords)
        self.make(path)
        return self.metrics(path)["COUNT/Relocations"]

    def test_bitmaps_of_relr(self):
        words = struct.pack("<4Q", 0x4000, 0x7, 0xFFFFFFFFFFFFFFFF, 0x8000)
        self.assertEqual(self.count(19, words), 1 + 2 + 63 + 1)
        self.assertEqual(self.count(0x6FFFFF00, words), 67)
        self.assertEqual(self.count(19, struct.pack("<3I", 0x4000, 0xFFFFFFFF, 0x15), is_64=False), 1 + 31 + 2)
        self.assertEqual(self.count(19, words + b"\1\0\0"), 67)
        self.assertEqual(self.count(19, b""), 0)

    def test_packed_relocations_of_android(self):
        def number(value):
            out = b""
            while not -64 <= value < 64:
                out, value = out + bytes([value & 127 | 128]), value >> 7
            return out + bytes([value & 127])

        def packed(*values):
            return b"APS2" + b"".join(number(value) for value in values)

        by_all = packed(1000, 0x4000, 1000, 3, 8, 8)
        self.assertEqual(self.count(0x60000001, by_all), 1000)
        by_info = packed(5, 0, 3, 1, 8, 100, 8, 8, 2, 0, 4, 8, 4, 8)
        self.assertEqual(self.count(0x60000001, by_info), 5)
        addends = packed(3, 0, 2, 1 | 8, 8, 16, 5, 16, 6, 1, 1 | 4 | 8, 8, 7, 16)
        self.assertEqual(self.count(0x60000002, addends), 3)
        self.assertEqual(self.count(0x60000001, b"APS1" + by_all[4:]), 0)
        self.assertEqual(self.count(0x60000001, packed(1 << 62, 0, 1 << 62, 0, 8)), 0)
        self.assertEqual(self.count(0x60000001, packed(-5, 0, 1, 3, 8, 8)), 0)
        for size in range(len(by_info)):
            self.assertLessEqual(self.count(0x60000001, by_info[:size]), 5)

    def test_crel(self):
        self.assertEqual(self.count(0x40000014, bytes([3 << 3]) + b"\1\2\3\4"), 3)
        self.assertEqual(self.count(0x40000014, bytes([0xF8, 0xFF, 0xFF, 0xFF, 0x7F]) + b"\1\2"), 0)

    def test_time_and_map_of_the_file(self):
        option = f"-Wl,-Map={self.folder / 'p.map'}"
        path = samples.compile_c(self.folder, "program", option, source="int main(void) { return 0; }")
        os.utime(path, (1_000_000_000, 1_234_567_890.75))
        self.make(path, options=["--map", self.folder / "p.map"])
        self.assertEqual(self.header["metadata"]["elf_mtime"], 1_234_567_890)
        self.assertEqual(self.header["metadata"]["map_file_name"], "p.map")


def reference_flags(section, name):
    """1 for a name in an anonymous namespace, 64 for a clone. Covers names whose parameters have no parentheses."""
    if section not in size_writer.NATIVE or name.startswith(("**", '"', "Overhead: ")) or name == "string literal":
        return 0
    flags = 0
    if " [clone " in name:
        name, flags = name[:name.index(" [clone ")], 64
    number = re.search(r"\.\d+$", name)
    if section == ".text" and number and name[:number.start()] not in ("__tcf_0", "startup"):
        name, flags = name[:number.start()], 64
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    own = name.replace("(anonymous namespace)", "@")
    own = own[:own.index("(")] if "(" in own else own
    return flags | ("@::" in own)


class Flags(WholeTest):
    def compile(self):
        extra = r"""
extern "C" int plain(int) asm("plain_part.constprop.0"); extern "C" int plain(int x) { return x; }
extern "C" int number(int) asm("number.7"); extern "C" int number(int x) { return x; }
extern "C" int start(int) asm("startup.3"); extern "C" int start(int x) { return x; }
int in_data asm("table.9") = 3;
"""
        return samples.compile_c(self.folder, "program", "-O1", "-fno-inline", source=CPP + extra, language="cpp")

    def test_flags_are_stored_and_found(self):
        symbols = self.make(self.compile())
        found = {one["full_name"]: one["flags"] for one in symbols}
        for one in symbols:
            self.assertEqual(one["flags"] & 65, reference_flags(one["section"], one["full_name"]), one["full_name"])
        self.assertEqual([found[name] for name in ("plain_part.constprop.0", "number.7", "startup.3", "table.9")],
                         [64, 64, 0, 0])  # fmt: skip
        self.assertEqual(found["(anonymous namespace)::Counter::next()"], 1)
        self.assertEqual(found["Visible::take((anonymous namespace)::Counter&)"], 0)
        for word, bit in (("anon", 1), ("clone", 64)):
            names = {one["full_name"] for one in self.run_ok("query", "--json", self.folder / "out.size",
                                                             f"flags:{word}").json_lines()}  # fmt: skip
            self.assertEqual(names, {name for name, flags in found.items() if flags & bit})
            self.assertTrue(names)

    def test_files_without_stored_flags_match_too(self):
        self.make(self.compile())
        stored = self.folder / "out.size"
        size = size_writer.parse(stored.read_bytes())
        for symbol in size.symbols:
            symbol.flags &= ~65
        old = self.file("old.size", size_writer.save(size))
        for word in ("anon", "clone"):
            names = [one["full_name"] for one in self.run_ok("query", "--json", old, f"flags:{word}").json_lines()]
            self.assertEqual(names, [one["full_name"] for one in self.run_ok("query", "--json", stored,
                                                                             f"flags:{word}").json_lines()])  # fmt: skip
        groups = {one["group"]["flags"]: one["count"]
                  for one in self.run_ok("query", "--json", old, "| group flags").json_lines()}  # fmt: skip
        self.assertGreater(groups["anon"], 0)
        self.assertGreater(groups["clone"], 0)
        self.assertEqual(self.run_ok("query", "--json", old, "has:flags | group section").json_lines(),
                         self.run_ok("query", "--json", stored, "has:flags | group section").json_lines())  # fmt: skip


if __name__ == "__main__":
    tap.main()
