"""`sextant lookup`: how questions are asked, and the shape of the answers."""

import os
import select
import subprocess
import time

from support import elf_reader as elf
from support import lidia_reference, samples, sextant, tap
from support.elf_writer import ElfWriter, symbol_file
from support.lidia_reference import Row
from support.symbol_rules import Expected, functions_of

THREE = [("helper", 0x401060, 16), ("_start", 0x401000, 32), ("main", 0x401020, 64)]


class LookupTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.elf = self.file("three.elf", symbol_file(THREE))

    def names(self, answers):
        return [sextant.outermost(answer) for answer in answers]


class JsonShape(LookupTest):
    def test_an_answer_has_the_fixed_keys(self):
        for path in (self.elf, self.archive(self.elf)):
            with self.subTest(path=path.name):
                answer, = self.lookup(path, [0x401030])
                self.assertEqual(answer["address"], "0x401030")
                frame, = answer["frames"]
                self.assertEqual(frame["function"], "main")
                self.assertIsNone(frame["file"])
                self.assertIsNone(frame["line"])
                self.assertEqual(frame["start"], "0x401020")
                self.assertIs(frame["inlined"], False)

    def test_an_unknown_address_has_no_frames(self):
        for address in (0, 0x400FFF, 0x401070, (1 << 64) - 1):
            answer, = self.lookup(self.elf, [address])
            self.assertEqual(answer["address"], f"0x{address:x}")
            self.assertEqual(answer["frames"], [])

    def test_names_are_valid_utf8_whatever_the_file_has(self):
        path = self.file("odd.elf", symbol_file([("grüße_日本", 0x401000, 8), (b"bad\xff\xfename", 0x401010, 8),
                                                 ('quote"back\\slash\ttab', 0x401020, 8)]))
        for file in (path, self.archive(path)):
            answers = self.lookup(file, [0x401000, 0x401010, 0x401020])
            self.assertEqual(sextant.outermost(answers[0]), "grüße_日本")
            self.assertRegex(sextant.outermost(answers[1]), r"^bad.+name$")
            self.assertEqual(sextant.outermost(answers[2]), 'quote"back\\slash\ttab')


class Questions(LookupTest):
    def test_answers_come_in_the_order_of_the_questions(self):
        asked = [0x401060, 0x401000, 0x999999, 0x401020, 0x401000]
        expected = ["helper", "_start", None, "main", "_start"]
        self.assertEqual(self.names(self.lookup(self.elf, asked)), expected)
        words = [f"0x{address:x}" for address in asked]
        from_arguments = self.run_ok("lookup", "--json", self.elf, *words).json_lines()
        self.assertEqual(self.names(from_arguments), expected)
        self.assertEqual([answer["address"] for answer in from_arguments], words)

    def test_the_prefix_is_optional_and_digits_have_no_case(self):
        words = ["401020", "0x401020", "0X401020", "000000000040102F", "0x40102f"]
        answers = self.run_ok("lookup", "--json", self.elf, *words).json_lines()
        self.assertEqual(self.names(answers), ["main"] * len(words))
        self.assertEqual(self.names(self.lookup(self.elf, words)), ["main"] * len(words))

    def test_options_may_come_after_the_operands(self):
        self.assertEqual(self.names(self.run_ok("lookup", self.elf, "401020", "--json").json_lines()), ["main"])

    def test_lines_on_standard_input_may_have_blanks_and_carriage_returns(self):
        result = self.run_ok("lookup", self.elf, "--json", stdin="  0x401020  \r\n401060\r\n0x401000")
        self.assertEqual(self.names(result.json_lines()), ["main", "helper", "_start"])

    def test_text_that_is_no_address_gives_an_empty_answer_and_a_warning(self):
        for word in ("xyz", "0x", "4010zz", "12345678901234567", "0x401020junk", "main"):
            with self.subTest(word=word):
                result = self.run_warned("lookup", "--json", self.elf, "401020", word, "401060")
                self.assertEqual(self.names(result.json_lines()), ["main", None, "helper"])
                self.assertIn(word, result.err)
                result = self.run_warned("lookup", "--json", self.elf, stdin=f"401020\n{word}\n401060\n")
                self.assertEqual(self.names(result.json_lines()), ["main", None, "helper"])

    def test_no_question_gives_no_answer(self):
        self.assertEqual(self.run_ok("lookup", self.elf, "--json", stdin="").out, b"")

    def test_many_questions(self):
        asked = [0x400FF0 + index * 7 % 0x90 for index in range(20000)]
        answers = self.names(self.lookup(self.elf, asked))
        table = lidia_reference.LidiaFile(lidia_reference.write_from_elf(symbol_file(THREE)))
        expected = [rows[0].name.decode() if rows else None for rows in map(table.lookup, asked)]
        self.assertEqual(answers, expected)

    def test_a_pipe_is_answered_line_by_line(self):
        """Whoever asks through a pipe gets an answer before the next question."""
        child = subprocess.Popen([sextant.program(), "lookup", str(self.elf), "--json"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        try:
            for address, name in ((b"401020\n", b'"main"'), (b"401060\n", b'"helper"')):
                child.stdin.write(address)
                child.stdin.flush()
                self.assertIn(name, read_line(child.stdout))
        finally:
            child.stdin.close()
            child.stdout.close()
            child.wait(10)


def read_line(stream, patience=20):
    ready, _, _ = select.select([stream], [], [], patience)
    return stream.readline() if ready else b"(no answer came)"


class Text(LookupTest):
    def test_a_line_a_question(self):
        text = self.run_ok("lookup", self.elf, "401020", "0x999999", "0X401060").text
        self.assertEqual(text, "401020  main\n0x999999  ??\n0X401060  helper\n")

    def test_text_that_is_no_address_is_answered_in_its_place(self):
        result = self.run_warned("lookup", self.elf, stdin="401020\nzz\n401060\n")
        self.assertEqual(result.text, "401020  main\nzz  ??\n401060  helper\n")
        self.assertEqual(result.err, f"sextant: {self.elf}: warning: not a hexadecimal address: 'zz'\n")

    def test_the_frames_of_a_chain_stand_below_each_other(self):
        path = self.file("inline.lidia", lidia_reference.write(InlineChains.ROWS))
        self.assertEqual(self.run_ok("lookup", path, "1020", "2000").text,
                         "1020  inner  /src/inner.h:70  [inlined]\n"
                         "      middle  /src/middle.h:7  [inlined]\n"
                         "      outer  /src/outer.c:12\n"
                         "2000  plain\n")

    def test_there_is_no_colour_in_a_pipe(self):
        out = self.run_ok("lookup", self.elf, "401020").out
        self.assertTrue(out)
        self.assertNotIn(b"\x1b", out)


class InlineChains(LookupTest):
    """Archives with files, lines and inlined calls, as others may write them."""

    ROWS = [
        Row(0x1000, 0x100, b"outer", 0, b"/src/outer.c", [(0, 10), (0x10, 11), (0x50, 20)]),
        Row(0x1010, 0x40, b"middle", 1, b"/src/middle.h", [(0, 5), (0x20, 6)], b"/src/outer.c", 12),
        Row(0x1020, 0x10, b"inner", 2, b"/src/inner.h", [(0, 70), (8, 0)], b"", 7),
        Row(0x2000, 0x10, b"plain"),
    ]

    def chain(self, address, **sizes):
        path = self.file("inline.lidia", lidia_reference.write(self.ROWS, **sizes))
        answer, = self.lookup(path, [address])
        return [(frame["function"], frame["file"], frame["line"], frame["start"], frame["inlined"])
                for frame in answer["frames"]]

    def test_innermost_first_with_the_call_sites_of_the_outer_frames(self):
        self.assertEqual(self.chain(0x1020), [
            ("inner", "/src/inner.h", 70, "0x1020", True),
            ("middle", "/src/middle.h", 7, "0x1010", True),
            ("outer", "/src/outer.c", 12, "0x1000", False),
        ])

    def test_line_zero_is_unknown(self):
        self.assertEqual(self.chain(0x1028)[0], ("inner", "/src/inner.h", None, "0x1020", True))

    def test_the_line_entry_at_or_before_the_address_counts(self):
        self.assertEqual(self.chain(0x1000), [("outer", "/src/outer.c", 10, "0x1000", False)])
        self.assertEqual(self.chain(0x100F)[0][2], 10)
        self.assertEqual(self.chain(0x1010)[0][2], 5)
        self.assertEqual(self.chain(0x1030)[0][:3], ("middle", "/src/middle.h", 6))
        self.assertEqual(self.chain(0x1050)[0][:3], ("outer", "/src/outer.c", 20))

    def test_a_row_without_file_and_lines(self):
        self.assertEqual(self.chain(0x2000), [("plain", None, None, "0x2000", False)])

    def test_every_size_of_address_field_and_line(self):
        expected = self.chain(0x1024)
        self.assertEqual(len(expected), 3)
        for address_size in (4, 8):
            for field_size in (4, 8):
                for line_size in (2, 4):
                    with self.subTest(address=address_size, field=field_size, line=line_size):
                        self.assertEqual(self.chain(0x1024, address_size=address_size, field_size=field_size,
                                                    line_size=line_size), expected)

    def test_strings_that_end_with_nul_are_recognised(self):
        expected = self.chain(0x1024)
        self.assertEqual(self.chain(0x1024, nul_strings=True), expected)

    def test_deep_chains_are_answered_whole(self):
        rows = [Row(0x1000, 0x10, f"level{depth}".encode(), depth) for depth in range(300)]
        path = self.file("deep.lidia", lidia_reference.write(rows))
        answer, = self.lookup(path, [0x1008])
        self.assertEqual([frame["function"] for frame in answer["frames"]],
                         [f"level{depth}" for depth in range(299, -1, -1)])

    def test_a_hundred_thousand_inlined_ranges_do_not_slow_a_function_down_forever(self):
        rows = [Row(0x1000, 0x200000, b"outer")]
        rows += [Row(0x1000 + 8 * index, 4, b"inlined", 1) for index in range(100000)]
        path = self.file("wide.lidia", lidia_reference.write(rows))
        began = time.monotonic()
        answers = self.lookup(path, [0x1000, 0x1000 + 8 * 99999, 0x1000 + 8 * 99999 + 4, 0x150000])
        self.assertEqual([len(answer["frames"]) for answer in answers], [2, 2, 1, 1])
        self.assertLess(time.monotonic() - began, 20)


class ByName(LookupTest):
    def found(self, file, name, *options):
        return self.run_ok("lookup", file, "--json", "--name", name, *options).json_lines()

    def test_a_function_by_its_name(self):
        for path in (self.elf, self.archive(self.elf)):
            with self.subTest(path=path.name):
                line, = self.found(path, "main")
                self.assertEqual((line["name"], line["address"], line["size"]), ("main", "0x401020", 64))
                self.assertIn("type", line)
                self.assertIsInstance(line["type"], (str, type(None)))

    def test_all_that_have_the_name(self):
        path = self.file("twins.elf", symbol_file([("twin", 0x401100, 8, {"binding": 0}), ("other", 0x401000, 8),
                                                   ("twin", 0x401010, 4, {"binding": 0})]))
        for file in (path, self.archive(path)):
            lines = self.found(file, "twin")
            self.assertEqual([(line["address"], line["size"]) for line in lines], [("0x401010", 4), ("0x401100", 8)])

    def test_a_data_symbol_of_an_elf_file(self):
        path = self.file("data.elf", symbol_file([("table", 0x401800, 24, {"type": elf.STT_OBJECT})]))
        line, = self.found(path, "table")
        self.assertEqual((line["address"], line["size"]), ("0x401800", 24))

    def test_an_alias_is_found_though_another_name_answers(self):
        path = self.file("alias.elf", symbol_file([("chosen", 0x401000, 8), ("alias", 0x401000, 8)]))
        line, = self.found(path, "alias")
        self.assertEqual((line["name"], line["address"]), ("alias", "0x401000"))

    def test_a_demangled_name_is_found_by_both_its_forms(self):
        path = self.file("cpp.elf", symbol_file([("_Z3addii", 0x401000, 8)]))
        for name in ("add(int, int)", "_Z3addii"):
            with self.subTest(name=name):
                line, = self.found(path, name)
                self.assertEqual(line["address"], "0x401000")

    def test_a_name_that_is_not_there_is_the_answer_no(self):
        for path in (self.elf, self.archive(self.elf)):
            result = sextant.run("lookup", path, "--json", "--name", "nowhere")
            self.assert_no_crash(result)
            self.assertEqual(result.status, 1, f"\n{result}")
            self.assertEqual(result.out, b"")

    def test_the_text_form(self):
        self.assertEqual(self.run_ok("lookup", self.elf, "--name", "main").text, "0x401020 64 FUNC main\n")


class Translation(LookupTest):
    """Addresses of a running process, file offsets, and the maps of a process."""

    def test_load_bias(self):
        answers = self.lookup(self.elf, [0x10401020, 0x401020], "--load-bias", "0x10000000")
        self.assertEqual(self.names(answers), ["main", None])
        self.assertEqual(answers[0]["address"], "0x10401020")

    def test_load_bias_that_wraps_around(self):
        bias = f"0x{(1 << 64) - 0x400000:x}"
        self.assertEqual(self.names(self.lookup(self.elf, [0x1020], "--load-bias", bias)), ["main"])

    def test_load_bias_of_an_archive(self):
        answers = self.lookup(self.archive(self.elf), [0x2401020], "--load-bias", "2000000")
        self.assertEqual(self.names(answers), ["main"])

    def test_file_offsets(self):
        file = elf.ElfFile(self.elf.read_bytes())
        offset = file.offset_of_address(0x401020)
        self.assertNotEqual(offset, 0x401020)
        answers = self.lookup(self.elf, [offset, offset + 0x40], "--file-offset")
        self.assertEqual(self.names(answers), ["main", "helper"])
        self.assertEqual(answers[0]["address"], f"0x{offset:x}")

    def test_a_file_offset_that_is_not_loaded_gives_an_empty_answer(self):
        self.assertEqual(self.names(self.lookup(self.elf, [0x10000000], "--file-offset")), [None])

    def test_file_offsets_of_a_real_program(self):
        path = samples.compile_c(self.folder, "plain")
        file = elf.ElfFile.open(path)
        functions = [symbol for symbol in file.symbols(elf.SHT_SYMTAB)
                     if symbol.name in (b"main", b"shared_helper", b"hidden_helper")]
        offsets = [file.offset_of_address(symbol.value) for symbol in functions]
        answers = self.lookup(path, offsets, "--file-offset")
        self.assertEqual(self.names(answers), [symbol.name.decode() for symbol in functions])

    def test_an_archive_does_not_know_file_offsets_and_says_so(self):
        result = sextant.run("lookup", self.archive(self.elf, "--compat"), "--file-offset", "20")
        self.assert_no_crash(result)
        self.assertIn("offset", result.err, f"\n{result}")
        self.assertNotIn(b"main", result.out)

    def maps_of(self, path, bias):
        """Lines as /proc/PID/maps has them, for a file that is loaded at BIAS."""
        lines = []
        for segment in elf.ElfFile.open(path).segments:
            if segment.type == elf.PT_LOAD:
                start = bias + segment.vaddr // 4096 * 4096
                end = bias + (segment.vaddr + segment.memsz + 4095) // 4096 * 4096
                flags = "".join(letter if segment.flags & bit else "-" for letter, bit in zip("rwx", (4, 2, 1)))
                lines.append(f"{start:012x}-{end:012x} {flags}p {segment.offset // 4096 * 4096:08x} fe:01 1234"
                             f"                       {path}\n")
        return "".join(lines)

    def test_maps_find_the_file_and_its_place(self):
        program = samples.compile_c(self.folder, "with space", "-pie", "-fPIE")
        library = samples.compile_c(self.folder, "library.so", "-shared", "-fPIC")
        maps = self.file("maps", self.maps_of(program, 0x555555554000) + self.maps_of(library, 0x7FFFF7D00000)
                         + "7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0                          [vdso]\n"
                         + "7ffff8000000-7ffff8003000 r-xp 00000000 00:00 0 \n"
                         + "7ffff9000000-7ffff9003000 r-xp 00000000 fe:01 99          /nowhere/gone.so\n")
        main = self.symbol(program, b"main")
        helper = self.symbol(library, b"shared_helper")
        result = sextant.run("lookup", "--maps", maps, "--json", f"{0x555555554000 + main:x}",
                             f"{0x7FFFF7D00000 + helper:x}", "7ffff7fc1010", "7ffff8000010", "1000",
                             f"{0x555555554000 + main + 1:x}")
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertEqual(self.names(result.json_lines()), ["main", "shared_helper", None, None, None, "main"])

    def test_a_mapped_file_that_is_gone_costs_only_its_own_addresses(self):
        program = samples.compile_c(self.folder, "there", "-pie", "-fPIE")
        maps = self.file("maps", self.maps_of(program, 0x555555554000)
                         + "7ffff9000000-7ffff9003000 r-xp 00000000 fe:01 99          /nowhere/gone.so\n"
                         + f"7ffffa000000-7ffffa003000 r-xp 00000000 fe:01 98          {program} (deleted)\n")
        main = 0x555555554000 + self.symbol(program, b"main")
        result = sextant.run("lookup", "--maps", maps, "--json", "7ffff9000010", f"{main:x}")
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertEqual(self.names(result.json_lines()), [None, "main"])

    def test_maps_that_are_no_maps(self):
        for content in (b"", b"hello\nworld\n", b"\xff\x00\x01" * 100, b"55-zz r-xp 0 0 0 /x\n" * 10, b"0" * 100000):
            with self.subTest(content=content[:20]):
                result = sextant.run("lookup", "--maps", self.file("maps", content), "--json", "401020")
                self.assert_no_crash(result)
                if result.status == 0:
                    self.assertEqual(self.names(result.json_lines()), [None])
                else:
                    self.assert_one_error_line(result)

    def symbol(self, path, name):
        file = elf.ElfFile.open(path)
        return next(symbol.value for symbol in file.symbols(elf.SHT_SYMTAB) if symbol.name == name)

    def test_a_running_process(self):
        sextant.need_tool("sleep", "readelf")
        child = subprocess.Popen(["sleep", "300"])
        try:
            path, start, offset = wait_for_library(child.pid)
            if path is None:
                self.skipTest("sleep does not use a shared C library here")
            file = elf.ElfFile.open(path)
            expected = Expected(functions_of(path))
            wanted = [symbol for symbol in file.symbols(elf.SHT_DYNSYM)
                      if symbol.name in (b"malloc", b"printf", b"qsort") and symbol.section]
            self.assertTrue(wanted)
            questions = [start - offset + file.offset_of_address(symbol.value) for symbol in wanted]
            result = sextant.run("lookup", "--pid", str(child.pid), "--json", "--debug-dir", self.folder,
                                 *map(hex, questions), "0x10")
            self.assert_no_crash(result)
            self.assertEqual(result.status, 0, f"\n{result}")
            answers = self.names(result.json_lines())
            self.assertEqual(answers, [expected.at(symbol.value).name for symbol in wanted] + [None])
        finally:
            child.kill()
            child.wait()

    def test_a_process_that_does_not_exist(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.run_error("lookup", "--pid", str(child.pid), "401020")
        self.run_usage("lookup", "--pid", "no-number", "401020")


def wait_for_library(pid):
    """(path, start, offset) of the executable mapping of the C library in a process that has just begun."""
    for _ in range(100):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            for line in maps:
                words = line.split()
                if len(words) >= 6 and "x" in words[1] and "libc" in os.path.basename(words[5]):
                    return words[5], int(words[0].split("-")[0], 16), int(words[2], 16)
        time.sleep(0.05)
    return None, 0, 0


class ZeroSizes(LookupTest):
    """Functions without a size own no bytes unless they are asked to reach to the next symbol."""

    def setUp(self):
        super().setUp()
        made = ElfWriter()
        text = made.text(address=0x401000, size=0x100)
        other = made.text(address=0x402000, size=0x40, name=".text.other")
        made.symbol("label", 0x401010, 0, section=text)
        made.symbol("sized", 0x401040, 0x10, section=text)
        made.symbol("last", 0x4010F0, 0, section=text)
        made.symbol("alone", 0x402000, 0, section=other)
        self.path = self.file("zero.elf", made.build())

    QUESTIONS = (0x401010, 0x40103F, 0x401040, 0x401050, 0x4010F0, 0x4010FF, 0x401100, 0x402000, 0x40203F, 0x402040)

    def test_by_default_they_have_no_bytes(self):
        expected = [None, None, "sized", None, None, None, None, None, None, None]
        self.assertEqual(self.names(self.lookup(self.path, self.QUESTIONS)), expected)
        self.assertEqual(self.names(self.lookup(self.archive(self.path), self.QUESTIONS)), expected)
        self.assertEqual(self.names(self.lookup(self.path, self.QUESTIONS, "--zero-size", "skip")), expected)

    def test_extended_they_reach_to_the_next_symbol_or_the_end_of_the_section(self):
        expected = ["label", "label", "sized", None, "last", "last", None, "alone", "alone", None]
        self.assertEqual(self.names(self.lookup(self.path, self.QUESTIONS, "--zero-size", "extend")), expected)
        archive = self.archive(self.path, "--zero-size", "extend")
        self.assertEqual(self.names(self.lookup(archive, self.QUESTIONS)), expected)

    def test_another_word_is_wrong_usage(self):
        self.run_usage("lookup", self.path, "--zero-size", "guess", "401010")


class Errors(LookupTest):
    def test_a_missing_file(self):
        path = self.folder / "missing"
        self.run_error("lookup", path, "401020", naming=path)

    def test_a_file_of_no_known_kind(self):
        path = self.file("text", b"this is no archive\n" * 50)
        self.run_error("lookup", path, "401020", naming=path)

    def test_an_empty_file_and_a_folder(self):
        self.run_error("lookup", self.file("empty"), "401020")
        self.run_error("lookup", self.folder, "401020")

    def test_no_file_named(self):
        self.run_usage("lookup")

    def test_checksums_are_compared_when_asked(self):
        data = bytearray(self.archive(self.elf).read_bytes())
        table = lidia_reference.LidiaFile(bytes(data))
        data[table.strings_at + table.strings_size - 1] ^= 1
        path = self.file("damaged.lidia", bytes(data))
        self.assertEqual(sextant.run("lookup", path, "--json", "401000").status, 0)
        self.run_error("lookup", path, "--check", "--json", "401000", naming=path)
        self.run_ok("lookup", self.archive(self.elf), "--check", "401000")


if __name__ == "__main__":
    tap.main()
