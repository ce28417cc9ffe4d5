"""What a user sees of DWARF beyond the answers themselves: counts of damaged units, whole ranges, compressed objects."""

import lzma

from support import elf_reader, sextant, tap

FRAGMENT = """    sum += values[1] * 3;
    sum ^= values[2];
"""

SOURCE = r"""
static inline __attribute__((always_inline)) int twice(int value) { return value + value; }
__attribute__((noinline)) int add(const int *values)
{
    int sum = twice(values[0]);
#include "fragment.inc"
    return sum + twice(sum);
}
int main(int count, char **unused) { return add((int[]){count, 2, 3}); }
"""


class DwarfArchive(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        sextant.need_tool("gcc")
        self.file("fragment.inc", FRAGMENT.encode())
        self.source = self.file("program.c", SOURCE.encode())

    def compile(self, *options, name="program"):
        program = self.folder / name
        sextant.tool("gcc", "-g", "-O1", *options, "-o", program, self.source)
        return program

    def function(self, program, name):
        found = self.run_ok("lookup", "--json", "--name", name, program).json_lines()[0]
        return int(found["address"], 16), found["size"]


class Ranges(DwarfArchive):
    def test_the_start_of_a_frame_is_that_of_its_whole_range(self):
        program = self.compile()
        start, size = self.function(program, "add")
        for file in (program, self.archive(program)):
            rows = self.run_ok("dump", "--json", file).json_lines()
            pieces = [row for row in rows if row["function"] == "add" and row["depth"] == 0]
            self.assertGreater(len(pieces), 1, "lines of two files cut the range")
            self.assertEqual({row["file"].rpartition("/")[2] for row in pieces}, {"program.c", "fragment.inc"})
            answers = self.lookup(file, range(start, start + size))
            self.assertEqual({answer["frames"][-1]["start"] for answer in answers}, {f"0x{start:x}"})

    def test_inlined_calls_do_not_run_together(self):
        program = self.compile("-O2")
        start, size = self.function(program, "add")
        for answer in self.lookup(program, range(start, start + size)):
            for frame in answer["frames"]:
                self.assertLessEqual(int(frame["start"], 16), int(answer["address"], 16))


class Damage(DwarfArchive):
    def damaged(self):
        """A program whose entries make no sense from the middle of .debug_info on."""
        program = self.compile()
        data = bytearray(program.read_bytes())
        section = elf_reader.ElfFile(bytes(data)).section(".debug_info")
        middle = section.offset + section.size * 2 // 3
        data[middle : section.offset + section.size] = b"\xfe" * (section.offset + section.size - middle)
        return self.file("damaged", bytes(data))

    def test_archive_and_info_count_damaged_units(self):
        program = self.damaged()
        made = self.run_warned("archive", "--json", program, "-o", self.folder / "out.lidia").json_lines()[0]
        self.assertGreaterEqual(made["damaged_units"], 1)
        told = self.run_warned("info", "--json", program).json_lines()[0]
        self.assertEqual((told["units"], told["damaged_units"]), (made["units"], made["damaged_units"]))
        said = sextant.run("archive", program, "-o", self.folder / "out.lidia").err
        self.assertRegex(said, r"DWARF: the unit at 0x[0-9a-f]+ of \.debug_info is damaged at 0x[0-9a-f]+")
        self.assertRegex(said, r"[1-9][0-9]* of [0-9]+ DWARF units? damaged")

    def test_what_is_not_damaged_is_counted_as_such(self):
        told = self.run_ok("info", "--json", self.compile()).json_lines()[0]
        self.assertGreaterEqual(told["units"], 1)
        self.assertEqual((told["damaged_units"], told["missing_units"]), (0, 0))


class Objects(DwarfArchive):
    def test_a_compressed_object_file_has_its_lines(self):
        program = self.compile("-c", name="program.o")
        packed = self.file("program.o.xz", lzma.compress(program.read_bytes()))
        start, size = self.function(program, "add")
        plain = self.lookup(program, range(start, start + size))
        self.assertEqual(self.lookup(packed, range(start, start + size)), plain)
        lines = {frame["line"] for answer in plain for frame in answer["frames"]}
        self.assertGreater(len(lines - {None}), 3)


class Threads(sextant.ProgramTest):
    """The bytes of an archive do not depend on which thread read which unit."""

    PAIRS = 8
    TYPES = "".join(f"struct type{i} {{ int a{i}; long b{i}; char *c{i}; struct type{i} *d{i}; }};\n" for i in range(500))
    # Unit 2n has a function whose symbol has a second name; only unit 2n + 1 has that name in its DWARF.
    FUNCTION = "int value%d; void first%d(void) { value%d++; }\nvoid again%d(void) __attribute__((alias(\"first%d\")));\n"
    CALL = """extern int value%d;
static inline __attribute__((always_inline)) void again%d(void) { value%d += 2; }
void call%d(void) { again%d(); }
"""

    def program(self):
        units = []
        for i in range(self.PAIRS):
            for name, text in (("first", self.FUNCTION), ("call", self.CALL)):
                units.append(self.file(f"{name}{i}.c", (self.TYPES + text % ((i,) * 5)).encode()))
        program = self.folder / "program"
        options = ("-g", "-O1", "-shared", "-fPIC", "-fno-eliminate-unused-debug-types")
        sextant.tool("gcc", *options, "-o", program, *units)
        return program

    def test_names_of_one_function_have_the_same_order(self):
        sextant.need_tool("gcc")
        program = self.program()
        section = elf_reader.ElfFile(program.read_bytes()).section(".debug_info")
        self.assertGreater(section.size, 256 << 10, "too little for two threads")
        one = self.archive(program, "--threads", "1", name="one.lidia").read_bytes()
        found = self.run_ok("lookup", "--json", "--name", "first3", self.folder / "one.lidia").json_lines()[0]
        self.assertIn("again3", str(self.lookup(self.folder / "one.lidia", [int(found["address"], 16)])))
        for _ in range(5):
            self.assertEqual(self.archive(program, "--threads", "4", name="many.lidia").read_bytes(), one)


if __name__ == "__main__":
    tap.main()
