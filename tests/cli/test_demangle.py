"""Names of C++, Rust and D are demangled by default; --mangled keeps them as linked."""

from support import samples, sextant, tap
from support.elf_writer import symbol_file

# What each name becomes. Rust's hash and disambiguator may be left out, so those are patterns.
NAMES = {
    "_Z3addii": r"add\(int, int\)",
    "_ZN3foo3barEv": r"foo::bar\(\)",
    "_ZNSt6vectorIiSaIiEE9push_backERKi": r"std::vector<int, std::allocator<int> ?>::push_back\(int const&\)",
    "_ZNK5shape4areaEd": r"shape::area\(double\) const",
    "_ZN12_GLOBAL__N_16hiddenEv": r"\(anonymous namespace\)::hidden\(\)",
    "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": r"core::fmt::Formatter::pad(::h0123456789abcdef)?",
    "_RNvNtCs1234_7mycrate3foo3bar": r"mycrate(\[[0-9a-f]+\])?::foo::bar",
    "_RINvNtCs1234_7mycrate3foo3mapmE": r"mycrate(\[[0-9a-f]+\])?::foo::map(::)?<u32>",
    "_D4test3fooFZv": r"test\.foo\(\)",
    "_D3std5stdio7writelnFAyaZv": r"std\.stdio\.writeln\((immutable\(char\)\[\]|string)\)",
    "_Z3addii.cold": r"add\(int, int\).*\.cold.*",
    "_Z3addii.isra.0": r"add\(int, int\).*\.isra\.0.*",
    "main": r"main",
    "_start": r"_start",
    "_Z": r"_Z",
    "_Znonsense": r"_Znonsense",
    "_R": r"_R",
    "_D": r"_D",
    "_ZN": r"_ZN",
    "operator": r"operator",
}


class Names(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.addresses = {name: 0x401000 + 16 * index for index, name in enumerate(NAMES)}
        self.path = self.file("names.elf", symbol_file([(name, at, 16) for name, at in self.addresses.items()]))

    def names_in(self, file, *options):
        return [sextant.outermost(answer) for answer in self.lookup(file, list(self.addresses.values()), *options)]

    def test_names_are_demangled_by_default(self):
        for file in (self.path, self.archive(self.path)):
            for linked, got in zip(NAMES, self.names_in(file)):
                with self.subTest(file=file.name, linked=linked):
                    self.assertRegex(got, rf"^{NAMES[linked]}$")

    def test_the_file_and_its_archive_agree(self):
        self.assertEqual(self.names_in(self.path), self.names_in(self.archive(self.path)))

    def test_mangled_keeps_every_name(self):
        self.assertEqual(self.names_in(self.path, "--mangled"), list(NAMES))
        self.assertEqual(self.names_in(self.archive(self.path, "--mangled")), list(NAMES))

    def test_hostile_names_cost_neither_time_nor_memory(self):
        bomb = "_ZN" + "".join("S%x_" % (index % 30) for index in range(3000)) + "E"
        nested = "_Z" + "P" * 20000 + "i"
        lists = "_Z1fI" + "N1aI" * 3000 + "i" + "E" * 6000 + "vv"
        rust = "_RNv" + "Nv" * 5000 + "C1a" + "1b" * 5000
        back = "_RINvC1a1f" + "TB9_" * 400 + "E"
        path = self.file("bombs.elf", symbol_file(
            [(name, 0x401000 + 16 * index, 16) for index, name in enumerate((bomb, nested, lists, rust, back))]))
        answers = self.lookup(path, [0x401000 + 16 * index for index in range(5)], limit_memory=True, timeout=60)
        for answer in answers:
            self.assertLess(len(sextant.outermost(answer)), 1 << 20)

    def test_a_real_cpp_program(self):
        source = """
            namespace shapes { struct square { int area(int) const; }; }
            int shapes::square::area(int side) const { return side * side; }
        """
        path = samples.compile_c(self.folder, "cpp.so", "-shared", "-fPIC", source=source, language="cpp")
        line, = self.run_ok("lookup", path, "--name", "shapes::square::area(int) const", "--json").json_lines()
        self.assertEqual(self.function_at(path, int(line["address"], 16)), "shapes::square::area(int) const")


if __name__ == "__main__":
    tap.main()
