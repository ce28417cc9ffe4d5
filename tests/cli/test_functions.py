"""Where functions begin, which of them have a name, and how many there are: the same from every kind of file."""

from support import sextant, tap

INCLUDED = "s += g(s); g(s + 1);\n"
PIECES = """
int g(int);
int five(int x) {
    int s = x;
#include "body.inc"
    s += 2; g(s);
#include "body.inc"
    return g(s);
}
int g(int x) { return x; }
static int same(int x) { return x + 1; }
int one(int x) { return same(x); }
int main(int c, char **v) { return five(c) + one(c) + same(c); }
"""
OTHER = "static int same(int x) { return x + 2; }\nint two(int x) { return same(x); }\n"

# Two functions of one name side by side, and a function inside another one.
ASSEMBLER = """
    .text
    .globl main, outer, inner
    .type same, @function
same: nop; ret
    .size same, . - same
    .type same2, @function
same2: nop; nop; ret
    .size same2, . - same2
    .type outer, @function
outer: nop; nop
    .type inner, @function
inner: nop; nop
    .size inner, . - inner
    nop; ret
    .size outer, . - outer
    .type main, @function
main: ret
    .size main, . - main
    .section .note.GNU-stack
"""

OVERLOADS = """
namespace ns {
int f(int a) { return a; }
int f(double a) { return (int)a + 1; }
template <class T> struct Box { template <class U> __attribute__((noinline)) U get(U u) { asm(""); return u; } };
struct Sum { __attribute__((noinline)) int operator()(int x) const { asm(""); return x; } };
}
int main(int c, char **) { return ns::f(c) + ns::f(1.5) + ns::Box<char>().get(c) + ns::Box<int>().get(2.5f) + ns::Sum()(c); }
"""


class Functions(sextant.ProgramTest):
    def compile(self, compiler, name, sources, *flags):
        sextant.need_tool(compiler)
        files = [self.file(source, text) for source, text in sources.items()]
        program = self.folder / name
        sextant.tool(compiler, "-g", *flags, *[path for path in files if path.suffix in (".c", ".cc", ".s")], "-o", program)
        return program

    def pieces(self):
        return self.compile("gcc", "pieces", {"pieces.c": PIECES, "other.c": OTHER, "body.inc": INCLUDED}, "-O1",
                            "-fno-inline")

    def archives(self, program, *formats):
        return [program] + [self.archive(program, name=f"{program.name}.{form}") for form in formats]

    def named(self, path, name):
        found = self.run_ok("lookup", "--json", "--name", name, path).json_lines()
        return [(int(row["address"], 16), row["size"]) for row in found]

    def test_neighbours_of_one_name_in_a_blob_are_not_joined(self):
        text = "1000 T a\n1100 t free_mem\n1200 t free_mem\n1300 T z\n"
        blob = self.folder / "x.ksym"
        self.run_ok("archive", "-q", "-f", "ksym", "-", "-o", blob, stdin=text)
        starts = [answer["frames"][0]["start"] for answer in self.lookup(blob, [0x1100, 0x11ff, 0x1200, 0x12ff])]
        self.assertEqual(starts, ["0x1100", "0x1100", "0x1200", "0x1200"])

    def test_functions_of_one_name_side_by_side_are_not_joined(self):
        sextant.need_tool("objcopy")
        program = self.compile("gcc", "asm", {"asm.s": ASSEMBLER})
        same, = self.named(program, "same")
        sextant.tool("objcopy", "--redefine-sym", "same2=same", program)
        for path in self.archives(program, "lidia", "symbfile", "ksym"):
            answers = self.lookup(path, range(same[0], same[0] + 5))
            starts = [int(answer["frames"][0]["start"], 16) - same[0] for answer in answers]
            self.assertEqual(starts, [0, 0, 2, 2, 2], path)
            self.assertEqual(self.named(path, "same"), [(same[0], 2), (same[0] + 2, 3)], path)
            blob = self.folder / "converted.ksym"
            self.run_ok("convert", "-q", path if path != program else self.archive(program), "-o", blob)
            self.assertEqual([address for address, _ in self.named(blob, "same")], [same[0], same[0] + 2], path)

    def test_a_function_is_listed_once_although_another_is_inside_it(self):
        program = self.compile("gcc", "asm", {"asm.s": ASSEMBLER})
        expected = self.named(program, "outer")
        self.assertEqual(len(expected), 1)
        for path in self.archives(program, "lidia", "symbfile"):
            self.assertEqual(self.named(path, "outer"), expected, path)

    def test_pieces_of_a_function_begin_where_it_begins(self):
        program = self.pieces()
        (start, size), = self.named(program, "five")
        for path in self.archives(program, "lidia", "symbfile", "ksym"):
            self.assertEqual(self.named(path, "five"), [(start, size)], path)
            for answer in self.lookup(path, range(start, start + size)):
                self.assertEqual(answer["frames"][-1]["start"], f"{start:#x}", path)
            # Static functions of one name.
            self.assertEqual(self.named(path, "same"), self.named(program, "same"), path)

    def test_pieces_survive_a_conversion(self):
        program = self.pieces()
        (start, size), = self.named(program, "five")
        lidia = self.archive(program)
        between, back = self.folder / "a.symbfile", self.folder / "b.lidia"
        self.run_ok("convert", "-q", lidia, "-o", between)
        self.run_ok("convert", "-q", between, "-o", back)
        self.assertEqual(back.read_bytes(), lidia.read_bytes())
        for path in between, back:
            self.assertEqual(self.named(path, "five"), [(start, size)])
            self.run_ok("convert", "-q", path, "-o", self.folder / "c.ksym")
            self.assertEqual([address for address, _ in self.named(self.folder / "c.ksym", "five")], [start])

    def test_without_the_list_of_cuts_nothing_is_joined(self):
        program = self.pieces()
        (start, size), = self.named(program, "five")
        whole = self.archive(program).read_bytes()
        at = whole.index(b"sxtccuts")
        foreign = self.file("foreign.lidia", whole[:at] + b"sxtcXXXX" + whole[at + 8:])
        rows = [row for row in self.run_ok("dump", "--json", foreign).json_lines() if row["function"] == "five"]
        self.assertEqual(len(rows), 5)
        self.assertEqual(len(self.named(foreign, "five")), 5)
        last = int(rows[-1]["va"], 16)
        self.assertEqual(self.lookup(foreign, [last])[0]["frames"][-1]["start"], f"{last:#x}")

    def test_a_name_is_found_without_its_parameters(self):
        program = self.compile("g++", "names", {"names.cc": OVERLOADS}, "-O1")
        mangled = [self.archive(program, "--mangled", name=f"mangled.{form}") for form in ("lidia", "symbfile", "ksym")]
        compat = self.archive(program, "--compat", name="compat.lidia")
        for path in self.archives(program, "lidia", "symbfile", "ksym") + mangled + [compat]:
            self.assertEqual(len(self.named(path, "ns::f")), 2, path)
            self.assertEqual(len(self.named(path, "ns::f(int)")), 1, path)
            self.assertEqual(len(self.named(path, "ns::Box::get")), 2, path)
            self.assertEqual(len(self.named(path, "ns::Box<char>::get")), 1, path)
            self.assertEqual(len(self.named(path, "ns::Sum::operator()")), 1, path)
            for name in "f", "ns", "ns::", "ns::Box", "ns::f(", "ns::f(char)":
                self.run_error("lookup", "--name", name, path)
        for path in mangled + [compat]:
            self.assertEqual(len(self.named(path, "_ZN2ns1fEi")), 1, path)

    def test_counts_agree(self):
        program = self.pieces()
        for form in "lidia", "symbfile":
            path = self.folder / f"counted.{form}"
            made, = self.run_ok("archive", "--json", program, "-o", path).json_lines()
            info, = self.run_ok("info", "--json", path).json_lines()
            rows = self.run_ok("dump", "--json", path).json_lines()
            dumped = {"functions": sum(row["depth"] == 0 for row in rows),
                      "inlines": sum(row["depth"] > 0 for row in rows),
                      "lines": sum(len(row["lines"]) for row in rows)}
            for key, count in dumped.items():
                self.assertEqual((made[key], info[key]), (count, count), (form, key))
            self.assertEqual(info["symbols"], dumped["functions"])
        direct, = self.run_ok("info", "--json", program).json_lines()
        self.assertEqual(direct["functions"], dumped["functions"])
        blob = self.folder / "counted.ksym"
        made, = self.run_ok("archive", "--json", "-q", program, "-o", blob).json_lines()
        info, = self.run_ok("info", "--json", blob).json_lines()
        rows = self.run_ok("dump", "--json", blob).json_lines()
        self.assertEqual((made["symbols"], info["symbols"]), (len(rows), len(rows)))


if __name__ == "__main__":
    tap.main()
