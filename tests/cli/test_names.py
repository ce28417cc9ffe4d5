"""The names of functions: what the symbol table has, where DWARF alone is not enough."""

import json

from support import elf_reader as elf
from support import sextant, tap

CPP = r"""
int printf(const char *, ...);
namespace { __attribute__((noinline)) int hidden(int x) { asm(""); return x * 3; } }
static __attribute__((noinline)) int helper(int v, double w) { asm(""); return v + (int)w; }
template <class T> __attribute__((noinline)) int call(T f) { asm(""); return f(1) + f(2); }
int outer(int k)
{
    struct Local {
        int v;
        int near() const { asm volatile("nop"); return v + 1; }
        __attribute__((noinline)) int far() const { asm(""); return v * 2; }
    };
    auto small = [k](int a) { asm volatile("nop; nop"); return a + k; };
    Local local{k};
    return small(k) + local.near() + local.far();
}
auto global = [](int a) { asm volatile("nop; nop; nop"); return a; };
int main(int argc, char **)
{
    auto a = [](int x) __attribute__((noinline)) { asm(""); return x; };
    auto b = [](int x) __attribute__((noinline)) { asm(""); return x + 1; };
    auto c = [](int x) __attribute__((noinline)) {
        auto nested = [x](int y) { asm volatile("nop; nop; nop; nop"); return x - y; };
        return nested(3);
    };
    return call(a) + call(b) + call(c) + hidden(argc) + helper(argc, 2) + outer(argc) + global(argc);
}
"""

C = r"""
int puts(const char *);
__attribute__((noinline)) static int scaled(int v, int by) { return v > 1000 ? puts("x") : v * by; }
__attribute__((cold)) void rarely(int);
__attribute__((noinline)) void rarely(int v) { if (v > 5) puts("y"); }
__attribute__((noinline)) static int often(int *v)
{
    if (*v > 100) { rarely(*v); puts("a"); rarely(1); return 3 / *v; }
    return *v + 1;
}
int real(int v) { return scaled(v, 3) + often(&v); }
int other_name(int v) __attribute__((alias("real")));
int main(int argc, char **argv) { return real(argc) + scaled(argc, 3) + often(&argc); }
"""


class Names(sextant.ProgramTest):
    def build(self, compiler, name, source, *flags):
        sextant.need_tool(compiler)
        suffix = "cc" if compiler in ("g++", "clang++") else "c"
        path = self.file(f"{name}.{suffix}", source)
        program = self.folder / name
        sextant.tool(compiler, "-g", "-fno-ident", *flags, path, "-o", program)
        return program

    def functions(self, program):
        """The function symbols of .symtab that have a size: name by address, those of one address together."""
        named = {}
        for symbol in elf.ElfFile.open(program).symbols(elf.SHT_SYMTAB):
            if symbol.type == elf.STT_FUNC and symbol.size > 0 and symbol.value:
                named.setdefault(symbol.value, []).append(symbol.name.decode())
        return named

    def check_symbols(self, program):
        """Every function has a name of the symbol table at its start, in the program and in every archive of it."""
        named = self.functions(program)
        answers, expected = {}, {}  # a symbfile has no aliases
        for form in ("elf", "lidia", "symbfile"):
            path = program if form == "elf" else self.archive(program, "--mangled", name=f"{program.name}.{form}")
            options = ("--mangled",) if form == "elf" else ()
            for address, answer in zip(named, self.lookup(path, list(named), *options)):
                self.assertIn(sextant.outermost(answer), named[address], f"{form} {address:#x}")
                for frame in answer["frames"] if form == "symbfile" else ():
                    frame["aliases"] = expected[address][-1]["aliases"] if not frame["inlined"] else []
                expected.setdefault(address, answer["frames"])
                answers.setdefault(address, set()).add(json.dumps(answer["frames"]))
        for address, different in answers.items():
            self.assertEqual(len(different), 1, different)

    def test_every_function_of_cpp_has_its_name_of_the_symbol_table(self):
        for flags in ("-O0",), ("-O2",):
            self.check_symbols(self.build("g++", "cpp" + flags[0], CPP, *flags))

    def test_every_function_of_c_has_its_name_of_the_symbol_table(self):
        program = self.build("gcc", "c", C, "-O2")
        names = {name for names in self.functions(program).values() for name in names}
        self.assertIn("scaled.constprop.0", names, "the compiler makes a clone")
        self.assertTrue(any(name.startswith("often.") and name.endswith(".cold") for name in names), names)
        self.check_symbols(program)

    def test_names_are_as_unique_as_those_of_the_symbol_table(self):
        program = self.build("g++", "cpp", CPP, "-O0")
        named = self.functions(program)
        found = [sextant.outermost(answer) for answer in self.lookup(program, list(named))]
        self.assertEqual(len(set(found)), len(named))
        lambdas = [name for name in found if name.startswith("main::{lambda(int)")]
        self.assertEqual(len(lambdas), 4, found)

    def test_without_a_symbol_table_the_names_are_those_of_dwarf(self):
        program = self.build("g++", "cpp", CPP, "-O0")
        address = next(at for at, names in self.functions(program).items() if "hidden" in names[0])
        self.assertEqual(self.function_at(program, address), "(anonymous namespace)::hidden(int)")
        self.assertEqual(self.function_at(program, address, "--sources", "dwarf"), "(anonymous namespace)::hidden")
        sextant.need_tool("strip")
        sextant.tool("strip", "--strip-all", "--keep-section=.debug_*", program)
        self.assertEqual(self.function_at(program, address), "(anonymous namespace)::hidden")

    def test_what_is_inlined_has_the_function_around_it_in_its_name(self):
        program = self.build("g++", "cpp", CPP, "-O2")
        archive = self.archive(program)
        rows = self.run_ok("dump", "--json", archive).json_lines()
        inlined = {row["function"] for row in rows if row["depth"] > 0}
        for name in "outer::Local::near", "outer::{lambda#1}::operator()", "global::{lambda(int)#1}::operator()(int) const":
            self.assertIn(name, inlined)
        # The inner lambda of the third lambda of main.
        self.assertTrue(any(name.startswith("main::{lambda#3}::operator()::{lambda#1}") for name in inlined), inlined)
        self.assertFalse([name for name in inlined if "anonymous struct" in name])

    def test_explain_says_that_a_symbol_gave_the_name(self):
        program = self.build("gcc", "c", C, "-O2")
        address = next(at for at, names in self.functions(program).items() if names[0] == "scaled.constprop.0")
        answer = self.run_ok("lookup", "--json", "--explain", program, f"{address:x}").json_lines()[0]
        frame = answer["explanation"]["frames"][-1]
        self.assertEqual(frame["function"], "scaled.constprop.0")
        self.assertRegex(frame["name_from"], r"^the symbol where its code begins, \d+ of \.symtab of ")

    def test_a_name_of_dwarf_that_a_symbol_has_is_kept(self):
        program = self.build("gcc", "c", C, "-O2")
        address = next(at for at, names in self.functions(program).items() if "other_name" in names)
        self.assertEqual(self.function_at(program, address), "real")


if __name__ == "__main__":
    tap.main()
