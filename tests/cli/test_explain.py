"""`sextant lookup --explain`: the records of each answer, and the reason if there is none."""

import itertools
import os
import re
import shutil
import subprocess

from support import dwarf_programs, lidia_reference, llvm_symbolizer, samples, sextant, tap
from support import elf_reader as elf
from support.elf_writer import ElfWriter, symbol_file
from support.lidia_reference import Row

MOST_ADDRESSES = 600 // sextant.ONE_IN


class ExplainTest(sextant.ProgramTest):
    def explain(self, file, addresses, *options, warned=False):
        """The answers for ADDRESSES; each has been checked to be the answer that comes without an explanation."""
        questions = "".join(f"{sextant.as_hex(address)}\n" for address in addresses)
        run = self.run_warned if warned else self.run_ok
        answers = run("lookup", file, "--json", "--explain", *options, stdin=questions).json_lines()
        plain = run("lookup", file, "--json", *options, stdin=questions).json_lines()
        for answer, without in zip(answers, plain, strict=True):
            self.assertEqual({key: value for key, value in answer.items() if key != "explanation"}, without)
        return answers

    def reason(self, file, address, *options, **keywords):
        answer, = self.explain(file, [address], *options, **keywords)
        self.assertEqual(answer["explanation"]["frames"], [], answer)
        self.assertTrue(answer["explanation"]["why"], answer)
        return answer["explanation"]

    def assert_mentions(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)

    def assert_todo(self, explanation, *parts):
        self.assert_mentions("\n".join(explanation["todo"]), *parts)

    def assert_no_todo(self, explanation, *parts):
        for part in parts:
            self.assertNotIn(part, "\n".join(explanation["todo"]))


class BuiltPrograms(ExplainTest):
    """Programs that are compiled here. They share one folder, in which they are kept."""

    @classmethod
    def setUpClass(cls):
        cls.workshop = dwarf_programs.shared_workshop()
        cls.shared = cls.workshop.folder

    def addresses(self, path, most=MOST_ADDRESSES):
        """Addresses of instructions, spread over the program."""
        sextant.need_tool("objdump")
        found = llvm_symbolizer.instruction_addresses(path)
        return found[:: len(found) // most + 1]

    def function(self, path, name):
        symbols = elf.ElfFile.open(path).symbols(elf.SHT_SYMTAB)
        return next(symbol.value for symbol in symbols if symbol.name == name.encode())


class SameAnswer(BuiltPrograms):
    """Whatever gave an answer, the explanation has the same frames, and records that have the address."""

    def check(self, path, addresses=None, *options):
        answers = self.explain(path, addresses or self.addresses(path), *options)
        for answer in answers:
            self.check_answer(answer)
        known = [answer for answer in answers if answer["frames"]]
        self.assertGreater(len(known), len(answers) / 2)
        return known

    def check_answer(self, answer):
        address = int(answer["address"], 16)
        explanation = answer["explanation"]
        self.assertEqual([frame["function"] for frame in explanation["frames"]],
                         [frame["function"] for frame in answer["frames"]], answer)
        for record in explanation["frames"]:
            if record["start"] is not None and record["start"] != record["end"]:
                self.assertTrue(int(record["start"], 16) <= address < int(record["end"], 16), answer)
        if not answer["frames"]:
            self.assertTrue(explanation["why"], answer)
            return
        self.assertIsNotNone(explanation["frames"][-1]["start"], answer)
        line = answer["frames"][0]["line"]
        if line is None:
            self.assertRegex(explanation["why"], "^no line: ", answer)
        else:
            self.assertIsNone(explanation["why"], answer)
            self.assertEqual((explanation["line"]["source"], explanation["line"]["line"]),
                             (answer["frames"][0]["file"], line), answer)
            if explanation["line"]["address"] is not None:
                self.assertLessEqual(int(explanation["line"]["address"], 16), address)

    def test_c(self):
        levels = ("-O2 -g -gdwarf-5", "-O3 -g -gdwarf-4", "-O0 -g1")
        for family, flags in sextant.some(itertools.product(("gcc", "clang"), levels)):
            with self.subTest(family=family, flags=flags):
                self.check(self.workshop.compile(family, "c", *flags.split()))

    def test_cpp(self):
        levels = ("-O2 -g -gdwarf-5", "-O1 -g -gdwarf-4 -fdebug-types-section")
        for family, flags in sextant.some(itertools.product(("gcc", "clang"), levels)):
            with self.subTest(family=family, flags=flags):
                self.check(self.workshop.compile(family, "cpp", *flags.split()))

    @sextant.only_with_everything
    def test_link_time_optimisation(self):
        self.check(self.workshop.compile("gcc", "cpp", "-O2", "-g", "-flto"))

    def test_folded_functions(self):
        """Several functions at one address, each with debug information of its own."""
        self.check(self.workshop.compile("gcc", "c", "-O2", "-g", "-ffunction-sections",
                                         link=["-fuse-ld=gold", "-Wl,--icf=all"]))

    def test_split(self):
        for family, version in sextant.some((("gcc", 5), ("clang", 4))):
            with self.subTest(family=family):
                path = self.workshop.compile(family, "cpp", "-O2", "-g", f"-gdwarf-{version}", "-gsplit-dwarf")
                for answer in self.check(path):
                    for record in answer["explanation"]["frames"]:
                        if record["section"].startswith(".debug"):
                            self.assertEqual(record["section"], ".debug_info.dwo")
                            self.assertTrue(record["file"].endswith(".dwo"), record)

    def test_alternate_file(self):
        paths = [self.workshop.compile("gcc", "cpp", level, "-g", "-gdwarf-4") for level in ("-O1", "-O2")]
        known = self.check(self.workshop.dwz_with_alternate_file(paths)[0])
        ways = [record["name_from"] or "" for answer in known for record in answer["explanation"]["frames"]]
        self.assertTrue(any("of the alternate file" in way for way in ways))

    def test_dwz(self):
        self.check(self.workshop.dwz(self.workshop.compile("gcc", "cpp", "-O2", "-g", "-gdwarf-4")))

    def test_debug_file(self):
        plain = self.workshop.compile("gcc", "c", "-O2", "-g")
        path = self.workshop.separated(plain)
        known = self.check(path, self.addresses(plain))
        files = {record["file"] for answer in known for record in answer["explanation"]["frames"]}
        self.assertIn(f"{path}.debug", files)

    def test_symbols_only(self):
        path = self.workshop.compile("gcc", "cpp", "-O2")
        self.check(path)
        self.check(path, None, "--mangled")
        self.check(path, None, "--sources", "dynsym,symtab")

    def test_relocatable(self):
        path = self.workshop.compile("gcc", "cpp", "-O2", "-g", "-ffunction-sections").parent / "shapes.o"
        self.check(path, range(0, 4096, 3))

    def test_go(self):
        path = self.workshop.go("-ldflags=-s -w")
        known = self.check(path, self.addresses(path, 600))  # of many, and functions of main are to be among them
        self.assertTrue(any(len(answer["frames"]) > 1 for answer in known))
        self.assertEqual({answer["explanation"]["frames"][-1]["section"] for answer in known
                          if answer["frames"][-1]["function"].startswith("main.")}, {".gopclntab"})

    @sextant.only_with_everything
    def test_archives(self):
        path = self.workshop.compile("gcc", "cpp", "-O2", "-g")
        self.check(self.archive(path), self.addresses(path))
        self.check(self.archive(path, "--no-lines"), self.addresses(path))


class Records(BuiltPrograms):
    """The places that an explanation names are there, as other programs see them."""

    TAGS = {"function": "DW_TAG_subprogram", "inlined call": "DW_TAG_inlined_subroutine"}

    def dump(self, path):
        sextant.need_tool("llvm-dwarfdump")
        return sextant.tool("llvm-dwarfdump", "--debug-info", path).decode("utf-8", "replace")

    def check_entries(self, path):
        answers = [answer for answer in self.explain(path, self.addresses(path)) if answer["frames"]]
        dumps, deep = {}, 0
        for answer in answers:
            for record in answer["explanation"]["frames"]:
                if record["unit"] is None:
                    continue
                if record["file"] not in dumps:
                    text = self.dump(record["file"])
                    dumps[record["file"]] = (
                        {int(at, 16): tag for at, tag in re.findall(r"^0x([0-9a-f]+): +(DW_TAG_\w+)", text, re.MULTILINE)},
                        {int(at, 16) for at in re.findall(r"^0x([0-9a-f]+): Compile Unit", text, re.MULTILINE)})
                tags, units = dumps[record["file"]]
                self.assertEqual(tags.get(int(record["entry"], 16)), self.TAGS[record["record"]], record)
                self.assertIn(int(record["unit_offset"], 16), units)
                deep += record["record"] == "inlined call"
        self.assertGreater(deep, 10)
        return answers

    def test_entries(self):
        self.check_entries(self.workshop.compile("gcc", "cpp", "-O2", "-g", "-gdwarf-5"))

    def test_entries_of_a_split_unit(self):
        self.check_entries(self.workshop.compile("gcc", "c", "-O2", "-g", "-gdwarf-5", "-gsplit-dwarf"))

    def test_entries_of_a_package(self):
        """Offsets in a package count from its own start, not from that of the unit's part of it."""
        built = self.workshop.compile("clang", "c", "-O2", "-g", "-gdwarf-5", "-gsplit-dwarf")
        folder = self.shared / "packed"
        shutil.copytree(built.parent, folder)
        path = self.workshop.packed(folder / built.name, "llvm-dwp")
        for split in built.parent.glob("*.dwo"):
            split.rename(split.with_suffix(".hidden"))
        try:
            answers = self.check_entries(path)
        finally:
            for split in built.parent.glob("*.hidden"):
                split.rename(split.with_suffix(".dwo"))
        files = {record["file"] for answer in answers for record in answer["explanation"]["frames"] if record["unit"]}
        self.assertEqual(files, {f"{path}.dwp"})
        units = {record["unit_offset"] for answer in answers for record in answer["explanation"]["frames"]}
        self.assertGreater(len(units - {None}), 1)

    def test_names_of_entries(self):
        """The way to a name leads to the entry that has it."""
        path = self.workshop.compile("gcc", "cpp", "-O2", "-g", "-gdwarf-5")
        entries = {int(at, 16): rest for at, rest in
                   re.findall(r"^0x([0-9a-f]+): +DW_TAG_\w+\n((?: +DW_AT_.*\n)*)", self.dump(path), re.MULTILINE)}
        seen = 0
        for answer in self.explain(path, self.addresses(path), "--mangled"):
            for record in answer["explanation"]["frames"]:
                way = re.match(r"(linkage name|name) of (?:its|the) [\w ]+? at 0x([0-9a-f]+)", record["name_from"] or "")
                if not way:
                    continue
                kind = "DW_AT_linkage_name" if way.group(1) == "linkage name" else "DW_AT_name"
                found = re.search(kind + r'\t\("(.*)"\)', entries[int(way.group(2), 16)])
                self.assertIsNotNone(found, record)
                self.assertTrue(record["function"].endswith(found.group(1)), (record, found.group(1)))
                seen += 1
        self.assertGreater(seen, 20)

    def test_rows_of_the_line_table(self):
        sextant.need_tool("llvm-dwarfdump")
        path = self.workshop.compile("gcc", "c", "-O2", "-g", "-gdwarf-5")
        tables = {}
        for answer in self.explain(path, self.addresses(path)):
            line = answer["explanation"]["line"]
            if line is None:
                self.assertNotIn("line", {key for frame in answer["frames"][:1] for key in frame if frame[key] is not None})
                continue
            if line["table"] not in tables:
                dump = sextant.tool("llvm-dwarfdump", f"--debug-line={line['table']}", path).decode()
                rows = re.findall(r"^0x([0-9a-f]+) +(\d+) +(\d+) ", dump, re.MULTILINE)
                tables[line["table"]] = {(int(row[0], 16), int(row[1]), int(row[2])) for row in rows}
            self.assertIn((int(line["address"], 16), line["line"] or 0, line["column"] or 0), tables[line["table"]])
        self.assertGreater(len(tables), 2)

    def test_symbols(self):
        path = self.workshop.compile("gcc", "c", "-O2")
        file = elf.ElfFile.open(path)
        table, symbols = file.section(".symtab"), file.symbols(elf.SHT_SYMTAB)
        seen = 0
        for answer in self.explain(path, self.addresses(path)):
            for record in answer["explanation"]["frames"]:
                if record["section"] != ".symtab":
                    continue
                symbol = symbols[record["index"] - 1]
                self.assertEqual((symbol.name.decode(), symbol.value), (record["function"], int(record["start"], 16)))
                self.assertEqual(int(record["entry"], 16), record["index"] * table.entsize)
                seen += 1
        self.assertGreater(seen, 50)

    def test_plt_entries(self):
        path = samples.compile_c(self.shared, "lazy", "-Wl,-z,lazy", "-fcf-protection=none")
        plt = elf.ElfFile.open(path).section(".plt")
        answers = self.explain(path, range(plt.address, plt.address + plt.size, 16))
        for answer in answers[1:]:
            record, = answer["explanation"]["frames"]
            self.assertEqual((record["record"], record["section"]), ("PLT entry", ".plt"))
            self.assertEqual(int(record["entry"], 16), int(answer["address"], 16) - plt.address)
            self.assertEqual(record["name_from"], "the symbol of .dynsym whose address its slot gets")


class Symbols(ExplainTest):
    def test_other_names_of_the_address(self):
        path = self.file("aliases.elf", symbol_file([("first", 0x401000, 16), ("second", 0x401000, 16),
                                                     ("third", 0x401000, 0), ("other", 0x401010, 16)]))
        answer, other = self.explain(path, [0x401004, 0x401010])
        record, = answer["explanation"]["frames"]
        self.assertEqual((record["function"], record["index"], record["start"], record["end"]),
                         ("first", 1, "0x401000", "0x401010"))
        self.assertEqual(record["aliases"], ["second", "third"])
        self.assertEqual(other["explanation"]["frames"][0]["aliases"], [])

    def test_the_one_of_two_with_the_same_name(self):
        path = self.file("twice.elf", symbol_file([("twice", 0x401000, 16), ("twice", 0x401010, 16)]))
        answers = self.explain(path, [0x40100F, 0x401010])
        self.assertEqual([answer["explanation"]["frames"][0]["index"] for answer in answers], [1, 2])

    def test_extended_symbols_of_size_0(self):
        path = self.file("labels.elf", symbol_file([("label", 0x401000, 0), ("next", 0x401020, 16)]))
        answer, = self.explain(path, [0x401008], "--zero-size", "extend")
        self.assertEqual(answer["explanation"]["frames"][0]["index"], 1)

    def test_mini_debug_info(self):
        made = ElfWriter()
        made.text()
        made.section(".gnu_debugdata", sextant.tool("xz", "-c", stdin=symbol_file([("hidden", 0x401000, 16)])))
        answer, = self.explain(self.file("mini.elf", made.build()), [0x401000])
        record, = answer["explanation"]["frames"]
        self.assertEqual((record["section"], record["index"]), (".symtab in .gnu_debugdata", 1))


class Reasons(ExplainTest):
    """No answer: why, and what to do."""

    def two_functions(self, **keywords):
        return self.file("two.elf", symbol_file([("first", 0x401000, 16), ("second", 0x401020, 16)], **keywords))

    def test_outside_of_every_segment(self):
        found = self.reason(self.two_functions(), 0x500000)
        self.assert_mentions(found["why"], "0x500000", "outside", "0x401000-0x402000")
        self.assertTrue(found["todo"])

    def test_run_time_addresses(self):
        path = self.two_functions(type=elf.ET_DYN)
        for address in (0x7F1234567000, 0x555555555000, 0xFFFFFFFFC0001000):
            self.assert_todo(self.reason(path, address), "looks like", "--load-bias", "--pid")
        self.assert_todo(self.reason(path, 0x900000), "may be", "--load-bias")
        self.assert_no_todo(self.reason(path, 0x1000), "--load-bias")

    def test_an_address_that_counts_from_the_image(self):
        self.assert_todo(self.reason(self.two_functions(), 0x24), "0x401024")

    def test_a_file_offset(self):
        path = self.two_functions()
        text = elf.ElfFile.open(path).section(".text")
        self.assert_todo(self.reason(path, text.offset + 0x22), "--file-offset", "0x401022")

    def test_a_file_offset_that_is_not_loaded(self):
        path = self.two_functions()
        symtab = elf.ElfFile.open(path).section(".symtab")
        found = self.reason(path, symtab.offset, "--file-offset")
        self.assert_mentions(found["why"], f"0x{symtab.offset:x}", ".symtab")
        self.assert_mentions(self.reason(path, 1 << 40, "--file-offset")["why"], "bytes")

    def test_data(self):
        made = ElfWriter()
        made.text()
        data = made.section(".data", bytes(64), flags=elf.SHF_ALLOC | elf.SHF_WRITE, address=0x403000)
        made.segment(elf.PT_LOAD, 6, [data])
        made.symbol("table", 0x403010, 16, type=elf.STT_OBJECT, section=data)
        path = self.file("data.elf", made.build())
        self.assert_mentions(self.reason(path, 0x403014)["why"], ".data", "not code", "'table'", "0x4 bytes into")
        found = self.reason(path, 0x403000)
        self.assert_mentions(found["why"], ".data")
        self.assertNotIn("table", found["why"])
        self.assert_todo(found, ".text")

    def test_between_functions(self):
        found = self.reason(self.two_functions(), 0x401018)
        self.assert_mentions(found["why"], ".text", "'first' ends 0x8 bytes before", "'second' starts 0x8 bytes after",
                             "padding")
        self.assertNotIn("stripped", found["why"])

    def test_bytes_between_functions_that_are_no_padding(self):
        data = bytearray(symbol_file([("first", 0x401000, 16), ("second", 0x401020, 16)]))
        text = elf.ElfFile(bytes(data)).section(".text")
        nops = bytes.fromhex("66662e0f1f8400000000000f1f4000 90".replace(" ", ""))
        data[text.offset + 16:text.offset + 32] = nops
        self.assert_mentions(self.reason(self.file("nops.elf", bytes(data)), 0x401018)["why"], "padding")
        data[text.offset + 31] = 0xC3
        self.assertNotIn("padding", self.reason(self.file("code.elf", bytes(data)), 0x401018)["why"])

    def test_a_symbol_of_size_0(self):
        path = self.file("label.elf", symbol_file([("first", 0x401000, 16), ("label", 0x401010, 0),
                                                   ("second", 0x401020, 16)]))
        found = self.reason(path, 0x401018)
        self.assert_mentions(found["why"], "'label'", "size 0")
        self.assert_todo(found, "--zero-size extend")

    def stripped(self, identity="00112233445566778899aabbccddeeff00112233"):
        made = ElfWriter()
        text = made.text()
        made.symbol("exported", 0x401000, 16, section=text, table=elf.SHT_DYNSYM)
        if identity:
            made.build_id(identity)
            made.section(".gnu_debuglink", b"app.debug\0\0\0" + bytes(4))
        return made

    def test_stripped(self):
        path = self.file("bin/app", self.stripped().build())
        debug = self.folder / "debug"
        found = self.reason(path, 0x401080, "--debug-dir", debug)
        self.assert_mentions(found["why"], "stripped", "1 exported function")
        folder = os.path.realpath(path.parent)
        self.assertEqual(found["tried"], [f"{debug}/.build-id/00/112233445566778899aabbccddeeff00112233.debug",
                                          f"{folder}/app.debug", f"{folder}/.debug/app.debug",
                                          f"{debug}{folder}/app.debug"])
        self.assert_todo(found, "-dbgsym", "--debug FILE", "00112233445566778899aabbccddeeff00112233")

    def test_stripped_without_a_way_to_a_debug_file(self):
        found = self.reason(self.file("app", self.stripped(None).build()), 0x401080)
        self.assert_mentions(found["why"], "neither a build ID nor a .gnu_debuglink")
        self.assertEqual(found["tried"], [])

    def test_a_debug_file_of_another_binary(self):
        path = self.file("bin/app", self.stripped().build())
        self.file("bin/app.debug", self.stripped("ff" * 20).build())
        found = self.reason(path, 0x401080, warned=True)
        self.assert_mentions(found["why"], f"'{os.path.realpath(path)}.debug' exists")

    def test_no_debug_search(self):
        found = self.reason(self.file("app", self.stripped().build()), 0x401080, "--no-debug-search")
        self.assert_mentions(found["why"], "--no-debug-search")
        self.assertEqual(found["tried"], [])

    def test_sources_that_were_left_out(self):
        made = self.stripped()
        made.symbol("inner", 0x401080, 16)
        path = self.file("app", made.build())
        found = self.reason(path, 0x401088, "--sources", "dynsym")
        self.assert_mentions(found["why"], "--sources leaves out symtab", "'inner'")
        self.assert_todo(found, "--sources")
        self.assertNotIn("--sources", self.reason(path, 0x4010A0, "--sources", "dynsym")["why"])

    def test_what_is_no_address(self):
        self.assert_mentions(self.reason(self.two_functions(), "xyz", warned=True)["why"], "not a hexadecimal address")

    def test_sections_alone(self):
        """A relocatable file has no segments."""
        made = ElfWriter(type=elf.ET_REL)
        made.symbol("only", 0, 16, section=made.text(address=0, size=32))
        found = self.reason(self.file("part.o", made.build()), 0x1000)
        self.assert_mentions(found["why"], "section", "0x0-0x20")
        self.assert_todo(found, "sextant info")

    def test_segments_alone(self):
        """A file whose table of sections is gone."""
        made = ElfWriter()
        made.text()
        made.header_lies.update(shoff=0, shnum=0, shstrndx=0)
        path = self.file("bare.elf", made.build())
        self.assert_mentions(self.reason(path, 0x401000)["why"], "stripped")
        self.assert_mentions(self.reason(path, 0x501000)["why"], "outside")


class MissingParts(BuiltPrograms):
    """Debug information that is spread over files, when some are gone."""

    def test_split_units(self):
        built = self.workshop.compile("gcc", "c", "-O2", "-g", "-gdwarf-5", "-gsplit-dwarf")
        path = self.folder / "program"
        shutil.copy(built, path)
        for split in built.parent.glob("*.dwo"):
            split.rename(split.with_suffix(".hidden"))
        self.addCleanup(lambda: [split.rename(split.with_suffix(".dwo")) for split in built.parent.glob("*.hidden")])
        answer, = self.explain(path, [self.function(path, "main")], warned=True)
        found = answer["explanation"]
        self.assert_mentions(found["why"], "inlined calls are unknown", "main.dwo", "not found")
        self.assertEqual(found["frames"][0]["record"], "symbol")
        self.assertEqual(found["line"]["line"], answer["frames"][0]["line"])
        self.assertIn(f"{path}.dwp", found["tried"])
        self.assertIn(f"{built.parent}/main.dwo", found["tried"])
        self.assertIn(f"{os.path.realpath(self.folder)}/main.dwo", found["tried"])
        self.assert_todo(found, ".dwo", ".dwp")

    def test_alternate_file(self):
        paths = [self.workshop.compile("gcc", "cpp", level, "-g", "-gdwarf-4") for level in ("-O1", "-O2")]
        made = self.workshop.dwz_with_alternate_file(paths)[0]
        hidden = made.parent / "common.debug"
        hidden.rename(made.parent / "hidden")
        answers = self.explain(made, self.addresses(made), "--sources", "dwarf", warned=True)
        lost = [answer["explanation"] for answer in answers if answer["explanation"]["why"]
                and answer["explanation"]["why"].startswith("no name")]
        self.assertTrue(lost)
        self.assert_mentions(lost[0]["why"], "common.debug", "not found")
        self.assertTrue(any(path.endswith("common.debug") for path in lost[0]["tried"]))

    def test_no_debug_information(self):
        path = self.workshop.compile("gcc", "c", "-O2", "-Wl,--build-id=sha1")
        answer, = self.explain(path, [self.function(path, "main")])
        found = answer["explanation"]
        self.assertEqual(found["frames"][0]["function"], "main")
        self.assert_mentions(found["why"], "no line: the file has no DWARF")
        self.assertTrue(any("/.build-id/" in path for path in found["tried"]))

    def test_code_without_debug_information_beside_some_with_it(self):
        path = self.workshop.compile("gcc", "c", "-O2", "-g")
        answer, = self.explain(path, [self.function(path, "_start")])
        self.assert_mentions(answer["explanation"]["why"], "no line", "no unit")

    def test_sources_without_dwarf(self):
        path = self.workshop.compile("gcc", "c", "-O2", "-g")
        answer, = self.explain(path, [self.function(path, "main")], "--sources", "symtab")
        self.assert_mentions(answer["explanation"]["why"], "no line: --sources leaves out dwarf")


class Archives(ExplainTest):
    ROWS = [
        Row(0x1000, 0x100, b"outer", 0, b"/src/outer.c", [(0, 10), (0x10, 11), (0x50, 20)]),
        Row(0x1010, 0x40, b"middle", 1, b"/src/middle.h", [(0, 5), (0x20, 6)], b"/src/outer.c", 12),
        Row(0x2000, 0x10, b"plain"),
    ]

    def setUp(self):
        super().setUp()
        self.path = self.file("rows.lidia", lidia_reference.write(self.ROWS, address_size=4, field_size=4, line_size=2))

    def test_rows_and_line_entries(self):
        answer, = self.explain(self.path, [0x1034])
        found = answer["explanation"]
        self.assertEqual([(record["function"], record["index"], record["record"]) for record in found["frames"]],
                         [("middle", 1, "row"), ("outer", 0, "row")])
        content = self.path.read_bytes()
        at = int(found["frames"][0]["entry"], 16)
        self.assertEqual(int.from_bytes(content[at:at + 4], "little"), 0x40)
        at = int(found["line"]["table"], 16)
        self.assertEqual((int.from_bytes(content[at:at + 2], "little"), int.from_bytes(content[at + 2:at + 4], "little")),
                         (0x20, 6))
        self.assertEqual((found["line"]["address"], found["line"]["line"]), ("0x1030", 6))

    def test_an_archive_that_cannot_be_explained_has_no_reason(self):
        ranges = self.folder / "rows.symbfile"
        self.run_ok("convert", self.path, "-o", ranges)
        answer, = sextant.run("lookup", "--explain", "--json", ranges, "0x1034").json_lines()
        self.assertIsNone(answer["explanation"]["why"])
        self.assertNotIn(b"why", sextant.run("lookup", "--explain", ranges, "0x1034").out)

    def test_around_the_rows(self):
        self.assert_mentions(self.reason(self.path, 0x10)["why"], "before the first row", "0x1000", "'outer'")
        self.assert_mentions(self.reason(self.path, 0x2010)["why"], "after the last row", "0x2010", "'plain'")
        self.assert_mentions(self.reason(self.path, 0x1800)["why"], "between two rows", "'outer' ends 0x700 bytes before",
                             "'plain' starts 0x800 bytes after")
        self.assert_todo(self.reason(self.path, 0x555555555000), "--load-bias")

    def test_no_lines(self):
        answer, = self.explain(self.path, [0x2004])
        self.assert_mentions(answer["explanation"]["why"], "no line")

    def test_an_empty_archive(self):
        path = self.file("empty.lidia", lidia_reference.write([]))
        self.assert_mentions(self.reason(path, 0x1000)["why"], "no rows")


class Processes(ExplainTest):
    def setUp(self):
        super().setUp()
        self.program = samples.compile_c(self.folder, "waits", "-g", "-no-pie", source="""
            #include <unistd.h>
            int __attribute__((noinline)) wait_here(void) { return pause(); }
            int main(void) { write(1, "x", 1); return wait_here(); }""")
        self.child = subprocess.Popen([self.program], stdout=subprocess.PIPE)
        self.addCleanup(self.child.stdout.close)
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)
        self.child.stdout.read(1)

    def ask(self, address):
        result = self.run_ok("lookup", "--json", "--explain", "--pid", str(self.child.pid), sextant.as_hex(address))
        return result.json_lines()[0]

    def test_a_file_of_the_process(self):
        symbols = elf.ElfFile.open(self.program).symbols(elf.SHT_SYMTAB)
        address = next(symbol.value for symbol in symbols if symbol.name == b"wait_here")
        answer = self.ask(address)
        record = answer["explanation"]["frames"][-1]
        self.assertEqual((record["function"], record["section"]), ("wait_here", ".debug_info"))
        self.assertEqual(record["file"], f"/proc/{self.child.pid}/root{os.path.realpath(self.program)}")

    def test_no_file(self):
        self.assert_mentions(self.ask(0x1000)["explanation"]["why"], "no file is mapped")


class Text(ExplainTest):
    def test_an_answer(self):
        path = self.file("three.elf", symbol_file([("main", 0x401020, 64), ("start", 0x401020, 64)]))
        lines = self.run_ok("lookup", "--explain", path, "401030").text.splitlines()
        self.assertEqual(lines[:4], ["401030  main", f"    from   {path}",
                                     "    frame  main: symbol 1 at 0x18 of .symtab, 0x401020-0x401060",
                                     "    also   start"])
        self.assertTrue(lines[4].startswith("    why    no line: "))

    def test_a_reason(self):
        path = self.file("three.elf", symbol_file([("main", 0x401020, 64)]))
        lines = self.run_ok("lookup", "--explain", path, "0x7f0000000010").text.splitlines()
        self.assertEqual(lines[0], "0x7f0000000010  ??")
        self.assertTrue(lines[1].startswith("    why    0x7f0000000010 is outside"))
        self.assertTrue(lines[2].startswith("    to do  "))

    def test_names_cannot_drive_the_terminal(self):
        path = self.file("odd.elf", symbol_file([("a\x1b[31m\nb", 0x401000, 16), ("c\x1b[0m", 0x401000, 16),
                                                 ("d\x1b[1m", 0x401020, 16)]))
        for address in ("401000", "401018"):
            out = self.run_ok("lookup", "--explain", path, address).out
            self.assertNotIn(b"\x1b", out)
            self.assertTrue(all(line.startswith((b"    ", address.encode())) for line in out.splitlines()))

    def test_not_for_names(self):
        path = self.file("three.elf", symbol_file([("main", 0x401020, 64)]))
        self.run_usage("lookup", "--explain", "--name", "main", path)


class Hostile(ExplainTest):
    """Files that lie, or that are cut off anywhere: an answer or an error, and never a crash."""

    def ask_anything(self, path, addresses):
        result = sextant.run("lookup", "--json", "--explain", path, *map(sextant.as_hex, addresses), limit_memory=True,
                             timeout=60)
        self.assert_no_crash(result)

    def test_damaged_debug_information(self):
        path = samples.compile_c(self.folder, "whole", "-g", "-O2", "-no-pie")
        content = path.read_bytes()
        file = elf.ElfFile(content)
        main = next(symbol.value for symbol in file.symbols(elf.SHT_SYMTAB) if symbol.name == b"main")
        sections = [section for section in file.sections if section.name.startswith((".debug", ".symtab", ".strtab"))]
        for section in sections:
            for step in range(12):
                damaged = bytearray(content)
                at = section.offset + section.size * step // 12
                damaged[at:at + 8] = bytes([(at * 31 + step * 57 + i * 11) % 256 for i in range(8)])
                self.ask_anything(self.file("damaged", bytes(damaged)), [main, main + 8, 0x1000, 0x404000])

    def test_cut_off(self):
        path = samples.compile_c(self.folder, "whole", "-g", "-O2", "-no-pie")
        content = path.read_bytes()
        for step in range(16):
            self.ask_anything(self.file("cut", content[:len(content) * step // 16]), [0x401136, 0x0, 0x404000])

    def test_lying_headers(self):
        for field in ("offset", "size", "address", "link"):
            for value in (0, 1, 1 << 31, (1 << 32) - 1):
                made = ElfWriter()
                made.symbol("main", 0x401020, 16, section=made.text())
                made.table_lies(elf.SHT_SYMTAB)[field] = value
                self.ask_anything(self.file("lies", made.build()), [0x401020, 0x401050, 0x500000])

    def test_many_segments(self):
        made = ElfWriter()
        text = made.text()
        for number in range(30000):
            made.segment(elf.PT_LOAD, 5, [text], vaddr=0x1000000 + number * 0x1000)
        self.ask_anything(self.file("many", made.build()), [0x500000])


if __name__ == "__main__":
    tap.main()
