"""diff --disassemble: how the code of the functions that changed most did, in every form and in .sizediff files."""

import re
import unittest

from support import samples, sextant, size_writer, tap

PRELUDE = """
#include <stdio.h>
int table[16];
int __attribute__((noinline)) helper(int a) { return a * 3 + table[a & 7]; }
"""
OLD = PRELUDE + """
int __attribute__((noinline)) grown(int a) { puts("hello"); return helper(a); }
int __attribute__((noinline)) same(int a) { if (a > 3) return helper(a) + 1; return table[a & 3]; }
int main(int count, char **words) { return grown(count) + same(count) + !words; }
"""
NEW = PRELUDE + """
int __attribute__((noinline)) added(int a) { for (int i = 0; i < a; i++) table[i & 7] += helper(i); return a; }
int __attribute__((noinline)) grown(int a)
{ puts("hello"); for (int i = 0; i < a; i++) { printf("%d", i); table[i & 7] += 5; } return helper(a); }
int __attribute__((noinline)) same(int a) { if (a > 3) return helper(a) + 1; return table[a & 3]; }
int main(int count, char **words) { return grown(count) + same(count) + added(count) + !words; }
"""
FIXED = ("-fcf-protection=none", "-fno-stack-protector", "-Wl,--build-id")


def many(count, grow):
    """COUNT functions; function N is longer by N * GROW stores."""
    lines = ["int table[64];"]
    for number in range(count):
        stores = " ".join(f"table[{i}] = a + {i};" for i in range(2 + grow * (number + 1)))
        lines.append(f"int __attribute__((noinline)) f{number:02}(int a) {{ {stores} return a; }}")
    calls = " + ".join(f"f{number:02}(count)" for number in range(count))
    return "\n".join(lines) + f"\nint main(int count, char **words) {{ return {calls} + !words; }}\n"


class Case(sextant.ProgramTest):
    def program(self, name, source, *flags):
        (self.folder / name).mkdir()
        return samples.compile_c(self.folder / name, "app", "-g", *FIXED, *flags, source=source)

    def pair(self, old=OLD, new=NEW):
        return self.program("old", old), self.program("new", new)

    def stored(self, before, after, *options, run=None):
        """{name: disassembly} of the .sizediff of the two."""
        output = self.folder / "d.sizediff"
        (run or self.run_ok)("diff", before, after, "--disassemble", "-o", output, *options)
        self.run_ok("verify", output)
        old, new, _, _ = size_writer.parse_diff(output.read_bytes())
        self.assertEqual([symbol for symbol in old.symbols if symbol.disassembly is not None], [])
        return {symbol.name: symbol.disassembly for symbol in new.symbols if symbol.disassembly is not None}


class X86(Case):
    def setUp(self):
        super().setUp()
        sextant.need_tool("gcc")
        if "x86" not in sextant.tool("gcc", "-dumpmachine").decode():
            raise unittest.SkipTest("programs for x86 are needed")

    def test_what_is_stored(self):
        found = self.stored(*self.pair())
        self.assertEqual(sorted(found), ["added", "grown"] + (["main"] if "main" in found else []))
        self.assertTrue(found["grown"].startswith("--- grown\n+++ grown\n@@ -1,"), found["grown"])
        self.assertTrue(found["added"].startswith("--- added\n+++ added\n@@ -0,0 +1,"), found["added"])
        self.assertRegex(found["grown"], r"(?m)^\+ +[0-9a-f]+:\tcall <printf@plt>$")
        self.assertRegex(found["grown"], r"(?m)^  +[0-9a-f]+:\tcall <puts@plt>$")
        self.assertRegex(found["added"], r"(?m)^\+ +[0-9a-f]+:\tcall <helper>$")
        self.assertRegex(found["added"], r"<table>\(%rip\)")
        self.assertRegex(found["added"], r"\tj\w+ <\+0x[0-9a-f]+>")

    def test_every_instruction_is_there(self):
        sextant.need_tool("objdump")
        before, after = self.pair()
        found = self.stored(before, after)
        for name in ("added", "grown"):
            shown = re.findall(r"(?m)^[ +] +([0-9a-f]+):\t(\S+)", found[name])
            listing = sextant.tool("objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", after).decode()
            start = int(re.search(rf"(?m)^([0-9a-f]+) <{name}>:", listing).group(1), 16)
            wanted = re.findall(r"(?m)^ +([0-9a-f]+):\t", listing)
            self.assertEqual([int(offset, 16) for offset, _ in shown], [int(address, 16) - start for address in wanted])

    def test_a_function_that_moved_is_no_change(self):
        before, after = self.pair()
        found = self.stored(before, after)
        self.assertNotIn("same", found)
        self.assertNotIn("helper", found)
        moved = self.program("moved", OLD.replace("int table[16];", "int other[4000] = {1}; int table[16];"))
        self.assertEqual(self.stored(before, moved, run=self.run_warned), {})

    def test_the_ten_largest(self):
        found = self.stored(*self.pair(many(14, 0), many(14, 2)))
        self.assertEqual(sorted(found), [f"f{number:02}" for number in range(4, 14)])

    def test_small_changes_are_left_out(self):
        before, after = self.pair(many(1, 0), many(1, 0).replace("table[1] = a + 1;", "table[1] = a + 1000;"))
        self.assertEqual(self.stored(before, after, run=self.run_warned), {})

    def test_long_functions_are_cut(self):
        old = "volatile int x; int main(void) { return x; }"
        new = "volatile int x; int big(void) { " + "x = x + 12345678; " * 400 + " return x; }" + old.split(";", 1)[1]
        text = self.stored(*self.pair(old, new))["big"]
        self.assertTrue(text.endswith("+\t(cut after 2048 bytes)\n"), text[-200:])
        last = int(re.findall(r"(?m)^\+ +([0-9a-f]+):\t", text)[-1], 16)
        self.assertTrue(2048 - 16 < last < 2048, last)

    def test_aliases_are_shown_once(self):
        old = ("int table[9]; int f(int a) { return a; } int g(int) __attribute__((alias(\"f\"))); "
               "int main(void) { return f(1); }")
        new = old.replace("return a; }", "for (int i = 0; i < a; i++) table[i] += a; return a; }")
        found = self.stored(*self.pair(old, new))
        self.assertEqual(len([name for name in found if name in ("f", "g")]), 1)

    def test_text_json_and_markdown(self):
        before, after = self.pair()
        text = self.stored(before, after)["grown"]
        self.assertIn("\n" + text, self.run_ok("diff", before, after, "--disassemble").text)
        self.assertNotIn("+++ grown", self.run_ok("diff", before, after).text)
        *rows, last = self.run_ok("diff", before, after, "--disassemble", "--json").json_lines()
        self.assertIn(text, [row["disassembly"] for row in rows if row.get("full_name") == "grown" and "disassembly" in row])
        self.assertIn("summary", last)
        markdown = self.run_ok("diff", before, after, "--disassemble", "--markdown").text
        self.assertRegex(markdown, r"(?s)```diff\n.*\+\+\+ grown\n.*```\n\n</details>\n$")

    def test_a_stored_diff_is_shown(self):
        before, after = self.pair()
        text = self.stored(before, after)["grown"]
        self.assertIn(text, self.run_ok("diff", self.folder / "d.sizediff", "--disassemble").text)

    def test_size_files_with_their_binaries(self):
        before, after = self.pair()
        wanted = self.stored(before, after)
        sizes = [self.archive(path, name=f"{i}.size") for i, path in enumerate((before, after))]
        found = self.stored(*sizes, "--before-binary", before, "--after-binary", after)
        self.assertEqual(found, wanted)
        result = self.run_warned("diff", *sizes, "--disassemble")
        self.assertIn("0.size: warning: no disassembly: a .size file has no code", result.err)
        self.assertIn("--before-binary", result.err)
        result = self.run_error("diff", *sizes, "--disassemble", "--before-binary", after, "--after-binary", after)
        self.assertIn("of another binary", result.err)

    def test_stripped_binaries_still_have_names_of_size_files(self):
        sextant.need_tool("strip")
        before, after = self.pair()
        wanted = self.stored(before, after)
        sizes = [self.archive(path, name=f"{i}.size") for i, path in enumerate((before, after))]
        for path in (before, after):
            sextant.tool("strip", path)
        self.assertEqual(self.stored(*sizes, "--before-binary", before, "--after-binary", after), wanted)

    def test_what_no_symbol_owns_is_no_function(self):
        sextant.need_tool("strip")
        before, after = self.pair()
        for path in (before, after):
            sextant.tool("strip", path)
        self.assertEqual(self.stored(before, after, run=self.run_warned), {})

    def test_bad_files(self):
        before, after = self.pair()
        sizes = [self.archive(path, name=f"{i}.size") for i, path in enumerate((before, after))]
        data = after.read_bytes()
        for content in (b"", b"text", data[:40], data[:3000]):
            broken = self.file("broken", content)
            result = sextant.run("diff", *sizes, "--disassemble", "--before-binary", before, "--after-binary", broken)
            self.assert_no_crash(result)
            self.assertIn("broken: ", result.err)
        self.run_error("diff", *sizes, "--disassemble", "--before-binary", before, "--after-binary", self.folder / "none",
                       naming="none")

    def test_addresses_that_are_not_in_the_file(self):
        before, after = self.pair()
        old, new = (size_writer.parse(self.archive(path, name=f"{i}.size").read_bytes())
                    for i, path in enumerate((before, after)))
        for symbol in new.symbols:
            if symbol.section == ".text":
                symbol.address += 1 << 40
        paths = [self.file("o.size", size_writer.save(old)), self.file("n.size", size_writer.save(new))]
        found = self.stored(*paths, "--before-binary", before, "--after-binary", after, run=self.run_warned)
        self.assertEqual(found, {})


class Usage(Case):
    def test_options_that_belong_together(self):
        path = self.file("a.size", size_writer.save(size_writer.Size()))
        half = size_writer.Size(is_sparse=True)
        diff = self.file("a.sizediff", size_writer.save_diff(half, half))
        self.run_usage("diff", path, path, "--before-binary", path)
        self.run_usage("diff", path, path, "--objdump", "objdump")
        self.run_usage("diff", path, path, "--disassemble", "--csv")
        self.run_usage("diff", diff, "--disassemble", "--before-binary", path)


class OtherMachines(Case):
    def setUp(self):
        super().setUp()
        sextant.need_tool("aarch64-linux-gnu-gcc")

    def pair(self, old=OLD, new=NEW):
        paths = []
        for name, source in (("old", old), ("new", new)):
            (self.folder / name).mkdir()
            path = self.folder / name / "app"
            path.with_suffix(".c").write_text(source)
            sextant.tool("aarch64-linux-gnu-gcc", "-O1", "-g", "-o", path, path.with_suffix(".c"))
            paths.append(path)
        return paths

    def test_names_of_what_is_called(self):
        found = self.stored(*self.pair())
        self.assertRegex(found["grown"], r"(?m)^\+ +[0-9a-f]+:\tbl\t<printf@plt>$|^\+ +[0-9a-f]+:\tbl\t<\.plt>$")
        self.assertRegex(found["added"], r"(?m)^\+ +[0-9a-f]+:\tbl\t<helper>$")
        self.assertRegex(found["added"], r"\tb\.\w+\t<\+0x[0-9a-f]+>")
        self.assertNotIn("same", found)

    def test_objdump_is_not_run(self):
        before, after = self.pair()
        plain = self.run_ok("diff", before, after, "--disassemble")
        self.assertIn("\tbl\t<helper>\n", plain.text)
        given = self.run_ok("diff", before, after, "--disassemble", "--objdump", "/nonexistent/objdump")
        self.assertEqual(given.out, plain.out)

    def test_without_libcapstone(self):
        before, after = self.pair()
        for version in range(4, 10):
            self.file(f"libraries/libcapstone.so.{version}", "not a library")
        result = self.run_warned("diff", before, after, "--disassemble",
                                 env={"LD_LIBRARY_PATH": str(self.folder / "libraries")})
        self.assertRegex(result.err, r"no disassembly: libcapstone\.so\.\d cannot be loaded")
        self.assertIn("grown", result.text)
        self.assertNotIn("\tbl\t", result.text)


if __name__ == "__main__":
    tap.main()
