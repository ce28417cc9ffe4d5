"""What verbs show of SuperSize files: headers, containers, metadata, stored disassembly, names on a terminal."""

import fcntl
import os
import struct
import subprocess
import termios

from support import sextant, tap
from support.size_writer import Container, Size, Symbol, save, save_diff

LISTING = "     0:\tpush %rbp\n+    1:\tmov é, \x1b[31m\n     4:\tret\n"
LONG = "void alpha::beta::gamma<" + "int, " * 40 + "char>::function_with_a_long_name(std::string const&, unsigned long)"


def example(**keywords):
    return Size([Symbol(".text", 0x1000, 16, "first", "obj/a.o", "src/a.cc", "Blink", disassembly=LISTING),
                 Symbol(".text", 0x1010, 4, "second(int)", "obj/b.o", "src/b.cc"),
                 Symbol(".text", 0x1014, 40, LONG, "obj/" + "deep/" * 30 + "c.o", ""),
                 Symbol(".bss", 0x9000, 100, "counter", "", "b.cc"),
                 Symbol(".other", 0, 50, "Overhead: ELF file")],
                [Container(metadata={"elf_arch": "x64", "elf_mtime": 12, "map_file_name": "a\x1b.map"},
                           section_sizes={".text": 60, ".other": 50, ".bss": 100})],
                {"git_revision": "abc", "gn_args": ["x=1", "y=2"]}, **keywords)  # fmt: skip


def two_containers():
    size = example()
    size.containers = [Container("one", {"elf_arch": "x64"}, {".text": 60, ".other": 50, ".bss": 100}),
                       Container("two", {"elf_build_id": "cd"}, {".text": 7})]  # fmt: skip
    size.symbols.append(Symbol(".text", 0x5000, 7, "elsewhere", "z.o", "z.cc", container=1))
    return size


class Headers(sextant.ProgramTest):
    def test_a_diff_has_one_header_of_its_own(self):
        before, after = example(is_sparse=True), example(is_sparse=True)
        odd = {"note": "a  b\n  c", "more": [1, {"k": 2}]}
        for removed, added, extra in (([], [], None), (["x.cc"], ["y.cc", "z.cc"], odd)):
            data = save_diff(before, after, removed, added, extra)
            lines = self.run_ok("dump", "--json", self.file("d.sizediff", data)).json_lines()
            self.assertEqual(len([line for line in lines if "header" in line]), 1)
            wanted = json_header(data)
            self.assertEqual(lines[0], {"header": wanted})
            self.assertEqual([line["side"] for line in lines[1:]], ["before"] * 5 + ["after"] * 5)
            text = self.run_ok("dump", self.folder / "d.sizediff").text
            self.assertEqual([line[:2] for line in text.splitlines()].count("# "), 1)

    def test_a_size_file_has_its_own(self):
        for size in (example(), two_containers()):
            lines = self.run_ok("dump", "--json", self.file("a.size", save(size))).json_lines()
            self.assertEqual(len([line for line in lines if "header" in line]), 1)
            self.assertIn("section_sizes" if len(size.containers) == 1 else "containers", lines[0]["header"])


def json_header(data):
    import json

    _, _, length, rest = data.split(b"\n", 3)
    return json.loads(rest[: int(length)])


class Info(sextant.ProgramTest):
    def info(self, data, name="a.size"):
        path = self.file(name, data)
        answer, = self.run_ok("info", "--json", path).json_lines()
        return answer, self.run_ok("info", path).text

    def test_one_container(self):
        data = save(example())
        answer, text = self.info(data)
        self.assertEqual((answer["size"], answer["paths"], answer["components"], answer["disassemblies"]),
                         (len(data), 5, 2, 1))  # fmt: skip
        container, = answer["containers"]
        self.assertEqual((container["symbols"], container["file"], container["memory"]), (5, 110, 160))
        self.assertEqual(container["section_sizes"], {".text": 60, ".other": 50, ".bss": 100})
        self.assertEqual(container["metadata"]["map_file_name"], "a\x1b.map")
        self.assertEqual(container["metadata"]["gn_args"], ["x=1", "y=2"])
        for words in ("size          %d" % len(data), "paths         5", "elf_arch              x64",
                      "git_revision          abc", "gn_args               x=1, y=2", "a\\x1b.map",
                      "5 symbols, 110 bytes in the file, 160 in memory"):  # fmt: skip
            self.assertIn(words, text)

    def test_several_containers_and_diffs(self):
        data = save(two_containers())
        answer, text = self.info(data)
        self.assertEqual([(one["name"], one["symbols"], one["file"]) for one in answer["containers"]],
                         [("one", 5, 110), ("two", 1, 7)])  # fmt: skip
        self.assertEqual(answer["build_config"], {"git_revision": "abc", "gn_args": ["x=1", "y=2"]})
        self.assertIn("container two: 1 symbols, 7 bytes", text)
        self.assertEqual(answer["size"], len(data))
        sparse = example(is_sparse=True)
        data = save_diff(sparse, two_containers_sparse())
        answer, text = self.info(data, "d.sizediff")
        self.assertEqual(answer["size"], len(data))
        self.assertEqual([one["name"] for one in answer["after"]["containers"]], ["one", "two"])
        self.assertTrue(answer["before"]["sparse"])
        self.assertIn("before\n", text)


def two_containers_sparse():
    size = two_containers()
    size.is_sparse = True
    return size


class Negative(sextant.ProgramTest):
    verbs = (["info"], ["dump"], ["size"], ["query", "FILE", "size>0"], ["verify"], ["convert", "FILE", "-o", "OUT"],
             ["lookup", "FILE", "0x1000"], ["diff", "FILE", "FILE"])  # fmt: skip

    def refused(self, data):
        path = self.file("bad.size", data)
        for verb in self.verbs:
            words = [path if word == "FILE" else self.folder / "out.size" if word == "OUT" else word for word in verb]
            result = sextant.run(*words, *([] if path in words else [path]))
            self.assertEqual(result.status, 1, (verb, result.out, result.err))
            self.assertIn("negative", result.err + result.text)
        self.assertFalse((self.folder / "out.size").exists())

    def test_sizes_of_symbols(self):
        size = example()
        size.symbols[1].size = -4
        self.refused(save(size))
        size = example(is_sparse=True)
        size.symbols[1].size = -4
        self.refused(save(size))
        size = example()
        size.symbols[-1].size = -50
        self.refused(save(size))

    def test_sizes_of_sections(self):
        size = example()
        size.containers[0].section_sizes[".text"] = -60
        self.refused(save(size))
        size = two_containers()
        size.containers[1].section_sizes[".x"] = -1
        self.refused(save(size))

    def test_halves_of_a_diff(self):
        bad = example(is_sparse=True)
        bad.symbols[0].size = -1
        for halves in ((bad, example(is_sparse=True)), (example(is_sparse=True), bad)):
            path = self.file("bad.sizediff", save_diff(*halves))
            for verb in ("info", "dump", "diff", "verify"):
                result = sextant.run(verb, path)
                self.assertEqual(result.status, 1, verb)

    def test_padding_that_a_diff_lost_is_negative(self):
        good = example(is_sparse=True)
        good.symbols.append(Symbol(".text", 0, -8, "Overhead: aggregate padding of diff'ed symbols", padding=-8))
        path = self.file("good.sizediff", save_diff(example(is_sparse=True), good))
        self.run_ok("diff", path)
        self.run_ok("dump", path)


class Disassembly(sextant.ProgramTest):
    def test_of_a_full_file(self):
        path = self.file("a.size", save(example()))
        answer, = self.run_ok("query", "--disassembly", "--json", path, "has:disassembly").json_lines()
        self.assertEqual((answer["full_name"], answer["disassembly"]), ("first", LISTING))
        rows = self.run_ok("query", "--disassembly", "--json", path, "section:t").json_lines()
        self.assertEqual([row["disassembly"] for row in rows if row["full_name"] != "first"], [None, None])
        text = self.run_ok("query", "--disassembly", path, "name=first").text
        self.assertIn("\nfirst\n     0:\tpush %rbp\n+    1:\tmov é, \\x1b[31m\n     4:\tret\n", text)
        self.assertNotIn("push", self.run_ok("query", path, "name=first").text)
        dumped = [line["disassembly"] for line in self.run_ok("dump", "--json", path).json_lines() if "disassembly" in line]
        self.assertEqual(dumped, [LISTING])
        self.run_usage("query", "--disassembly", path, "| group path")
        self.run_usage("query", "--disassembly", "--csv", path, "size>0")

    def test_of_a_diff(self):
        after = example(is_sparse=True)
        after.symbols[0].size = 20
        path = self.file("d.sizediff", save_diff(example(is_sparse=True), after))
        answer, = self.run_ok("query", "--disassembly", "--json", path, "name=first").json_lines()
        self.assertEqual(answer["disassembly"], LISTING)


class Terminal(sextant.ProgramTest):
    def lines(self, columns, *arguments):
        """What a program prints on a terminal of that many columns."""
        controller, side = sextant.open_terminal()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        env = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
        process = subprocess.Popen([sextant.program(), *map(os.fspath, arguments)], stdin=subprocess.DEVNULL, stdout=side,
                                   stderr=subprocess.DEVNULL, env=env)  # fmt: skip
        os.close(side)
        data = b""
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:
                break
            if not part:
                break
            data += part
        os.close(controller)
        self.assertEqual(process.wait(), 0)
        return data.decode().replace("\r\n", "\n").splitlines()

    def test_names_are_cut_to_the_width(self):
        path = self.file("a.size", save(example()))
        for columns in (80, 100, 120, 200):
            for command in (["size", path], ["query", path, "section:t"], ["query", path, "| group full"],
                            ["query", path, "| group path, full"], ["size", "--by", "path", path],
                            ["diff", path, self.file("b.size", save(Size(example().symbols[:1])))]):  # fmt: skip
                lines = self.lines(columns, *command)
                self.assertTrue(lines)
                self.assertLessEqual(max(map(len, lines)), columns, (command, columns, max(lines, key=len)))
        lines = self.lines(100, "query", path, "section:t")
        self.assertTrue(any("void alpha::beta::gamma<int" in line and line.endswith("...") for line in lines), lines)
        self.assertTrue(any("  ..." in line and "/deep/deep/c.o " in line for line in lines), lines)

    def test_wide_and_files_have_all(self):
        path = self.file("a.size", save(example()))
        for columns in (40, 80):
            self.assertTrue(any(line.endswith(LONG) for line in self.lines(columns, "query", "--wide", path, "section:t")))
            self.assertTrue(any(line.endswith(LONG) for line in self.lines(columns, "size", "--wide", path)))
        self.assertIn(LONG, self.run_ok("query", path, "section:t").text)
        self.assertIn(LONG, self.run_ok("size", path).text)
        self.assertIn(LONG, "\n".join(self.lines(60, "query", "--json", path, "section:t")))

    def test_narrow_terminals(self):
        path = self.file("a.size", save(example()))
        for columns in (1, 5, 20, 40):
            self.assertTrue(self.lines(columns, "size", path))

    def test_letters_of_several_bytes(self):
        size = Size([Symbol(".text", 0x1000, 16, "é" * 300)], [Container(section_sizes={".text": 16})])
        lines = self.lines(80, "query", self.file("a.size", save(size)), "size>0")
        self.assertTrue(any(line.endswith("é...") and len(line) <= 80 for line in lines), lines)


if __name__ == "__main__":
    tap.main()
