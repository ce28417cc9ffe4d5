"""`archive -f size --map`: sections of objects that have no symbol, and literals, with the maps of all linkers."""

import gzip
import os
import re
import shutil

from support import sextant, tap

A = r"""
#include <cstdio>
int pick(int x)
{
    switch (x) { case 0: return puts("zero"); case 1: return puts("in both"); case 2: return puts("two");
                 case 3: return printf("%d three\n", x); case 4: return 17 * x; case 5: return x / 3;
                 case 6: return x * x - 1; default: return 0; }
}
int other(int); extern thread_local int own[3];
__attribute__((cold, noinline)) int never(int x) { return puts("never") + x; }
static int begin = other(2);
int main(int c, char **) { return pick(c) + other(c) + own[1] + begin + (c > 99 ? never(c) : 0); }
"""
B = r"""
#include <cstdio>
#include <cwchar>
thread_local int own[3];
int other(int x) { puts("in both"); puts("only in b"); return wprintf(L"wide text %d\n", x) + own[2]; }
"""
LINKERS = ("bfd", "gold", "lld", "mold", "lld old")
OBJECT_FLAGS = ("-O2", "-ffunction-sections", "-fdata-sections", "-fno-tree-switch-conversion")


def old_map(text):
    """The map of an older lld: no load addresses, and hexadecimal numbers of 16 digits."""
    lines = ["Address          Size             Align Out     In      Symbol"]
    for line in text.splitlines()[1:]:
        address, size, alignment, rest = re.match(r" *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +(\d+)( .*)", line).groups()
        lines.append(f"{int(address, 16):016x} {int(size, 16):016x} {alignment:>5}{rest}")
    return "\n".join(lines) + "\n"


class MapTest(sextant.ProgramTest):
    def compile(self, name, text, *flags, compiler="g++"):
        sextant.need_tool(compiler)
        source = self.file(f"{name}.cc", text.encode())
        sextant.tool(compiler, "-c", *OBJECT_FLAGS[: 3 if compiler == "clang++" else 4], *flags, "-o",
                     f"{name}.o", source, cwd=self.folder)  # fmt: skip

    def link(self, linker, *objects, output="program"):
        """The names in the map are relative to the folder."""
        real = linker.split()[0]
        sextant.need_tool("g++", "mold" if real == "mold" else f"ld.{real}")
        sextant.tool("g++", f"-fuse-ld={real}", "-o", output, *objects, f"-Wl,-Map={output}.text", cwd=self.folder)
        text = (self.folder / f"{output}.text").read_text()
        return self.folder / output, self.file(f"{output}.map", (old_map(text) if linker == "lld old" else text).encode())

    def sizes(self, path, linker_map, *options, **keywords):
        output = self.folder / "out.size"
        self.run_ok("archive", "-q", path, "--map", linker_map, "-o", output, *options, **keywords)
        self.run_ok("verify", "-q", output)
        return self.run_ok("dump", "--json", output).json_lines()[1:]

    def named(self, symbols, name):
        return [one for one in symbols if one["full_name"] == name]

    def literals(self, symbols):
        found = {}
        for one in symbols:
            if one["full_name"].startswith('"'):
                found.setdefault(one["full_name"].strip('"'), []).append(one["object_path"])
        return {text: sorted(objects) for text, objects in found.items()}


def two_objects(self):
    self.compile("a", A)
    self.compile("b", B)


class Sections(MapTest):
    def check(self, linker):
        two_objects(self)
        symbols = self.sizes(*self.link(linker, "a.o", "b.o"))
        table, = [one for one in self.named(symbols, "pick(int)") if one["section"] == ".rodata"]
        self.assertEqual(table["object_path"], "a.o")
        self.assertEqual((table["size"] - table["padding"]) % 4, 0)
        self.assertGreaterEqual(table["size"] - table["padding"], 28)
        for one in symbols:
            if one["section"] == ".rodata":
                self.assertLess(one["padding"], 16, one)
        own, = self.named(symbols, "own")
        self.assertEqual(own["object_path"], "b.o")
        flags = {one["full_name"]: one["flags"] for one in symbols if one["section"] == ".text"}
        self.assertEqual(flags["main"] & 2, 2)
        self.assertEqual(flags["never(int)"] & 4, 4)
        self.assertEqual(flags["pick(int)"] & 6, 0)

    def test_names_of_sections_without_a_symbol(self):
        """Sections of assembler sources, of which no symbol is kept."""
        names = {".rodata._Z5shapev": "shape()", ".rodata.plain": "plain",
                 ".data.rel.ro._ZTV3Box": "vtable for Box", ".rodata..Lswitch.table._Z4picki": "Switch table for pick(int)",
                 ".rodata..Lswitch.table._Z4picki.67": "Switch table for pick(int) (.67)",
                 ".rodata.switch.table.plain": "Switch table for plain", ".rodata..L.str.5": "string literal",
                 ".text.OUTLINED_FUNCTION_4": "** outlined function",
                 ".text.startup": "startup", ".text.unlikely._Z4coldv": "cold()", ".text.hot.hasty": "hasty",
                 ".text._RNvCs1234_7mycrate3run": "mycrate::run"}  # fmt: skip
        lines = []
        for index, name in enumerate(names):
            kind = "ax" if name.startswith(".text") else "aw" if name.startswith(".data") else "a"
            lines.append(f'.section {name},"{kind}",@progbits\n.p2align 3\n.quad {index + 1}, {index + 2}, {index + 3}\n')
        self.file("s.s", "".join(lines).encode() + b'.section .note.GNU-stack,"",@progbits\n')
        self.file("m.c", b"int main(void) { return 0; }")
        for linker in LINKERS:
            with self.subTest(linker=linker):
                sextant.need_tool("gcc")
                sextant.tool("gcc", "-c", "s.s", "m.c", cwd=self.folder)
                symbols = self.sizes(*self.link(linker, "m.o", "s.o"))
                for section, name in names.items():
                    found = [one for one in self.named(symbols, name) if one["object_path"] == "s.o"]
                    self.assertEqual([one["size"] - one["padding"] for one in found], [24], (section, found))
                flags = {name: one["flags"] for name in names.values() for one in self.named(symbols, name)}
                self.assertEqual([flags[name] for name in ("startup", "cold()", "hasty", "plain")], [2, 4, 128, 0])

    def test_switch_tables_of_clang(self):
        sextant.need_tool("clang++", "ld.lld")
        self.compile("t", "__attribute__((noinline)) int pick(int x) { switch (x) { case 0: return 7; case 1: return 91; "
                          "case 2: return 3; "
                          "case 3: return 1000; case 4: return 12; case 5: return -4; default: return 0; } } "
                          "int main(int c, char **) { return pick(c); }", compiler="clang++")  # fmt: skip
        symbols = self.sizes(*self.link("lld", "t.o"))
        tables = [one for one in symbols if one["full_name"].startswith("Switch table for ")]
        self.assertIn(("pick(int)", ".rodata", "t.o"), [(one["full_name"][17:], one["section"], one["object_path"])
                                                        for one in tables])  # fmt: skip


class Literals(MapTest):
    wanted = {"zero": ["a.o"], "two": ["a.o"], "%d three": ["a.o"], "only in b": ["b.o"], "in both": ["a.o", "b.o"],
              "wide text %d": ["b.o"], "never": ["a.o"]}  # fmt: skip

    def check(self, linker):
        two_objects(self)
        path, linker_map = self.link(linker, "a.o", "b.o")
        symbols = self.sizes(path, linker_map)
        self.assertEqual(self.literals(symbols), self.wanted)
        both = self.named(symbols, '"in both"')
        self.assertEqual([one["aliases"] for one in both], [2, 2])
        self.assertEqual([one["size"] - one["padding"] for one in self.named(symbols, '"wide text %d"')], [56])

    def test_objects_that_are_gone(self):
        two_objects(self)
        for linker in LINKERS:
            with self.subTest(linker=linker):
                path, linker_map = self.link(linker, "a.o", "b.o")
                there = self.folder / "elsewhere"
                there.mkdir(exist_ok=True)
                shutil.copy(path, there / "p")
                shutil.copy(linker_map, there / "p.map")
                texts = self.literals(self.sizes(there / "p", there / "p.map", cwd=there))
                self.assertLessEqual({"zero", "two", "only in b", "in both"}, set(texts))
                for text, objects in texts.items():
                    self.assertEqual(len(objects), 1)
                    self.assertIn(objects[0], ("", *self.wanted.get(text, ())))

    def test_objects_relative_to_the_map_the_binary_or_the_sources(self):
        two_objects(self)
        path, linker_map = self.link("bfd", "a.o", "b.o")
        for place in ("cwd", "map", "binary", "source"):
            with self.subTest(place=place):
                there = self.folder / place
                there.mkdir()
                of_map = linker_map if place == "map" else shutil.copy(linker_map, there / "p.map")
                of_binary = path if place == "binary" else shutil.copy(path, there / "p")
                options = ["--source-dir", self.folder] if place == "source" else []
                symbols = self.sizes(of_binary, of_map, *options, cwd=self.folder if place == "cwd" else there)
                self.assertEqual(self.literals(symbols), self.wanted)

    def test_members_of_libraries_and_many_objects(self):
        sextant.need_tool("ar")
        self.compile("a", A)
        self.compile("b", B)
        sextant.tool("ar", "rcs", "libb.a", "b.o", cwd=self.folder)
        path, linker_map = self.link("lld", "a.o", "libb.a")
        texts = self.literals(self.sizes(path, linker_map))
        self.assertEqual(texts["only in b"], ["libb.a/b.o"])
        self.assertEqual(texts["in both"], ["a.o", "libb.a/b.o"])
        (self.folder / "many").mkdir()
        names = []
        self.file("one.s", b'.section .rodata.str1.1,"aMS",@progbits,1\n.string "in very many objects"\n'
                           b'.section .note.GNU-stack,"",@progbits\n')  # fmt: skip
        sextant.tool("gcc", "-c", "one.s", cwd=self.folder)
        for index in range(45):
            names.append(f"many/o{index}.o")
            shutil.copy(self.folder / "one.o", self.folder / names[-1])
        symbols = self.sizes(*self.link("lld", "a.o", "b.o", *names))
        self.assertEqual(self.literals(symbols)["in very many objects"], ["many/{shared}/20-49"])
        symbols = self.sizes(*self.link("lld", "a.o", "b.o", *names[:40]))
        self.assertEqual(len(self.literals(symbols)["in very many objects"]), 40)

    def test_hostile_objects(self):
        """Files that are not objects, folders, and pipes, in the place of objects."""
        two_objects(self)
        path, linker_map = self.link("lld", "a.o", "b.o")
        whole = (self.folder / "b.o").read_bytes()
        for content in (b"", b"!<arch>\nrubbish", whole[:100], whole[: len(whole) // 2], b"\x7fELF" + b"\xff" * 200):
            (self.folder / "b.o").write_bytes(content)
            texts = self.literals(self.sizes(path, linker_map))
            self.assertEqual(texts["zero"], ["a.o"])
        (self.folder / "b.o").unlink()
        os.mkfifo(self.folder / "b.o")
        self.assertEqual(self.literals(self.sizes(path, linker_map))["only in b"], [""])
        (self.folder / "b.o").unlink()
        (self.folder / "b.o").mkdir()
        self.assertEqual(self.literals(self.sizes(path, linker_map))["only in b"], [""])


class Beside(MapTest):
    """A map beside the binary is found, if it is the map of the binary."""

    def setUp(self):
        super().setUp()
        two_objects(self)
        self.program, self.map = self.link("bfd", "a.o", "b.o")
        os.unlink(self.folder / "program.text")

    def used(self, path, *options, name=None, verb="archive"):
        """Whether a map is used; checks what is said."""
        output = self.folder / "out.size"
        result = sextant.run("archive", path, "-o", output, *options)
        self.assertEqual(result.status, 0, result.err)
        header = self.run_ok("dump", "--json", output).json_lines()[0]["header"]
        found = header["metadata"].get("map_file_name")
        self.assertEqual(found is not None, header["metadata"]["elf_algorithm"] == "linker_map")
        if found:
            self.assertIn(f"{found}: this linker map is used", result.err)
        self.err = result.err
        return found

    def test_names_that_are_tried(self):
        text = self.map.read_bytes()
        self.map.unlink()
        self.assertIsNone(self.used(self.program))
        for binary, names in (("program", ("program.map", "program.map.gz")),
                              ("app.elf", ("app.elf.map", "app.elf.map.gz", "app.map", "app.map.gz")),
                              ("x.so.1", ("x.so.1.map", "x.so.map"))):  # fmt: skip
            path = self.folder / binary
            if not path.exists():
                shutil.copy(self.program, path)
            for name in names:
                self.file(name, gzip.compress(text) if name.endswith(".gz") else text)
                self.assertEqual(self.used(path), name)
                self.assertIsNone(self.used(path, "--no-map"))
                os.unlink(self.folder / name)
        self.file("other.map", text)
        self.assertIsNone(self.used(self.program))

    def test_maps_of_other_builds(self):
        text = self.map.read_bytes()
        self.compile("c", B.replace("only in b", "only in b, in another version of it") + "int more(int x) { return x; }")
        other, of_other = self.link("bfd", "a.o", "c.o", output="second")
        self.map.write_bytes(of_other.read_bytes())
        self.assertIsNone(self.used(self.program))
        self.assertIn("program.map: this linker map is not used: not the linker map of the binary: ", self.err)
        self.run_error("archive", self.program, "--map", of_other, "-o", self.folder / "out.size", naming="second.map")
        for content in (b"", b"{ global: f; local: *; };\n", b'{"version":3,"sources":[]}', b"\0" * 100):
            self.map.write_bytes(content)
            self.assertIsNone(self.used(self.program))
            self.assertNotIn(".map", self.err)
        self.map.write_bytes(text[: text.index(b".text")] + b"\n.text 0xfffffffffffffffff 0x1\n")
        self.assertIsNone(self.used(self.program))
        self.map.unlink()
        self.map.mkdir()
        self.assertIsNone(self.used(self.program))
        self.map.rmdir()
        os.mkfifo(self.map)
        self.assertIsNone(self.used(self.program))

    def test_every_verb_that_measures(self):
        both = '"in both"'
        for command in (["size", "--by", "symbol", "-n", "1000", "--json"], ["query", "--json"]):
            more = ["is:literal"] if command[0] == "query" else []
            found = sextant.run(*command, self.program, *more)
            self.assertIn("program.map: this linker map is used", found.err)
            self.assertIn("a.o", [one["object_path"] for one in found.json_lines() if one["full_name"] == both])
            without = self.run_ok(*command, "--no-map", self.program, *more)
            self.assertNotIn(both, [one["full_name"] for one in without.json_lines()])
        self.run_usage("archive", self.program, "--map", self.map, "--no-map", "-o", self.folder / "out.size")

    def test_each_of_several_binaries_has_its_map(self):
        other, of_other = self.link("lld", "a.o", "b.o", output="second")
        self.run_ok("archive", "-q", self.program, other, "-o", self.folder / "out.size")
        header = self.run_ok("dump", "--json", self.folder / "out.size").json_lines()[0]["header"]
        self.assertEqual([one["metadata"]["map_file_name"] for one in header["containers"]], ["program.map", "second.map"])

    def test_stripped_binaries_keep_their_map(self):
        sextant.need_tool("strip")
        for linker in LINKERS:
            path, linker_map = self.link(linker, "a.o", "b.o")
            sextant.tool("strip", path)
            self.assertEqual(self.used(path), "program.map")
            found = {(one["full_name"], one["object_path"]): one
                     for one in self.run_ok("dump", "--json", self.folder / "out.size").json_lines()[1:]}  # fmt: skip
            for name, of_object in (("other(int)", "b.o"), ("main", "a.o"), ("never(int)", "a.o")):
                self.assertEqual(found[name, of_object]["section"], ".text", linker)
            self.run_ok("verify", "-q", self.folder / "out.size")


for one in LINKERS:
    word = one.replace(" ", "_")
    sextant.always_add_case(Sections, f"sections_without_a_symbol_{word}", Sections.check, one)
    sextant.always_add_case(Literals, f"literals_have_their_objects_{word}", Literals.check, one)


if __name__ == "__main__":
    tap.main()
