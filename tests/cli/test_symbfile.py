"""Symbfiles as a user makes and reads them, against a reader of the tests' own and against objdump."""

import re

from support import samples, sextant, symbfile, tap

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int inner(int value) { return abs(value) + rand(); }
static inline __attribute__((always_inline)) int middle(int value)
{
    int first = inner(value);
    return first + inner(value + 1);
}
__attribute__((noinline)) int outer(int value)
{
    puts("outer");
    return middle(value) + middle(value * 2);
}
int main(int count, char **values)
{
    int (*volatile indirect)(int) = outer;
    return indirect(count) + (int)strtol(values[0], NULL, 0);
}
"""

# The words look like "bl ." but are data, which the assembler marks.
AARCH64_DATA = """
.globl _start
.type _start,%function
_start:
    bl _start
    b 1f
    .word 0x94000000, 0x94000000
1:  bl _start
    ret
.size _start,.-_start
"""

GOEXIT = """
.globl _start
.globl runtime.goexit
.type runtime.goexit,@function
_start:
runtime.goexit:
    nop
    call _start
    nop
.size runtime.goexit,.-runtime.goexit
"""

GOEXIT_PADDED = """
.globl _start
_start:
.type runtime.goexit.abi0,@function
runtime.goexit.abi0:
    nop
    call _start
    nop
.size runtime.goexit.abi0,.-runtime.goexit.abi0
.type runtime.goexit,@function
runtime.goexit:
    .fill 25, 1, 0xcc
.size runtime.goexit,.-runtime.goexit
"""

CALL = re.compile(r"^\s*([0-9a-f]+):\s+(?:bnd |notrack )?(call|bl|blr|blraa|blraaz|syscall|svc)\S*\s")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+\S")


class SymbfileTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        sextant.need_tool("gcc", "objdump")
        self.source = self.file("calls.c", SOURCE.encode())

    def compile(self, *options, compiler="gcc"):
        program = self.folder / "calls"
        sextant.tool(compiler, "-g", *options, "-o", program, self.source)
        return program

    def make(self, program, *options):
        ranges, pads = self.folder / "out.symbfile", self.folder / "out.returnpads"
        self.run_ok("archive", "-q", program, "-o", ranges, "--returnpads", pads, *options)
        return ranges, pads


class Ranges(SymbfileTest):
    def test_a_second_reader_finds_the_rows_of_the_lidia_archive(self):
        program = self.compile("-O2")
        ranges, _ = self.make(program)
        expected = self.run_ok("dump", "--json", self.archive(program)).json_lines()
        self.assertEqual([record.as_json() for record in symbfile.records(ranges.read_bytes())], expected)
        self.assertGreater(max(row["depth"] for row in expected), 1)

    def test_dump_shows_what_the_second_reader_reads(self):
        for file in self.make(self.compile("-O2")):
            shown = self.run_ok("dump", "--json", file).json_lines()
            self.assertEqual(shown, [record.as_json() for record in symbfile.records(file.read_bytes())])

    def test_the_same_binary_gives_the_same_bytes(self):
        program = self.compile("-O2")
        first = [path.read_bytes() for path in self.make(program)]
        self.assertEqual([path.read_bytes() for path in self.make(program)], first)

    def test_lookup_answers_as_from_the_binary(self):
        program = self.compile("-O2")
        ranges, _ = self.make(program)
        addresses = instructions(program)
        self.assertEqual(self.lookup(ranges, addresses), self.lookup(program, addresses))

    def test_a_binary_without_functions_gives_twelve_bytes(self):
        program = self.compile("-O2")
        sextant.tool("objcopy", "--strip-all", "--remove-section=.eh_frame", program)
        out = self.folder / "empty.symbfile"
        self.run_warned("archive", "-q", program, "-o", out, "--sources", "symtab", "--no-debug-search")
        self.assertEqual(out.read_bytes(), bytes.fromhex("73796d6266696c6500010004"))

    def test_names_and_paths_by_option(self):
        program = self.compile("-O2")
        ranges, _ = self.make(program, "--path-map", f"{self.folder}=/mapped")
        files = {record.file for record in symbfile.records(ranges.read_bytes())} - {None}
        self.assertIn("/mapped/calls.c", files)


class Pads(SymbfileTest):
    def check_calls(self, program, dump="objdump"):
        """Every call in a known function has its pad, with the chain at the call, and nothing else has one."""
        _, pads = self.make(program)
        found = {record.va: record for record in symbfile.records(pads.read_bytes())}
        listed = list(calls(program, dump))
        answers = self.lookup(program, [call for call, _ in listed])
        expected = {}
        for (_, last), answer in zip(listed, answers):
            if answer["frames"]:
                expected[last] = [(frame["function"], frame["file"] or "", frame["line"] or 0)
                                  for frame in reversed(answer["frames"])]
        self.assertEqual({va: record.frames for va, record in found.items()}, expected)
        self.assertEqual(list(found), sorted(found), "pads are in order")
        return found

    def test_calls_of_an_optimised_program(self):
        found = self.check_calls(self.compile("-O2"))
        self.assertGreater(max(len(record.frames) for record in found.values()), 2, "inlined calls are in the chain")

    def test_calls_of_a_plain_program(self):
        self.check_calls(self.compile("-O0"))

    def test_calls_without_debug_information_have_the_name_of_their_function(self):
        program = self.compile("-O2")
        sextant.tool("strip", "--strip-debug", program)
        found = self.check_calls(program)
        self.assertIn("outer", {record.frames[0][0] for record in found.values()})

    def test_calls_of_aarch64(self):
        sextant.need_tool("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump")
        program = self.compile("-O2", compiler="aarch64-linux-gnu-gcc")
        self.check_calls(program, "aarch64-linux-gnu-objdump")

    def test_data_in_code_of_aarch64_is_no_call(self):
        sextant.need_tool("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump")
        source = self.file("data.s", AARCH64_DATA.encode())
        program = self.folder / "data"
        sextant.tool("aarch64-linux-gnu-gcc", "-nostdlib", "-static", "-o", program, source)
        self.assertEqual(len(self.check_calls(program, "aarch64-linux-gnu-objdump")), 2)

    def test_the_end_of_every_go_stack_has_a_pad(self):
        source = self.file("goexit.s", GOEXIT.encode())
        program = self.folder / "goexit"
        sextant.tool("gcc", "-nostdlib", "-static", "-o", program, source)
        _, pads = self.make(program)
        start = int(self.run_ok("lookup", "--json", "--name", "runtime.goexit", program).json_lines()[0]["address"], 16)
        self.assertEqual([(record.va, record.frames[0][0]) for record in symbfile.records(pads.read_bytes())],
                         [(start, "runtime.goexit"), (start + 5, "runtime.goexit")])

    def test_the_padding_after_the_end_of_go_stacks_has_no_pad(self):
        """Go's table of functions lets a function reach to the next; the symbol and DWARF end where its code does."""
        source = self.file("goexit.s", GOEXIT_PADDED.encode())
        program = self.folder / "goexit"
        sextant.tool("gcc", "-nostdlib", "-static", "-o", program, source)
        _, pads = self.make(program)
        start = int(self.run_ok("lookup", "--json", "--name", "runtime.goexit.abi0", program).json_lines()[0]["address"], 16)
        self.assertEqual([record.va - start for record in symbfile.records(pads.read_bytes())], [0, 5])

    def test_dump_of_standard_input(self):
        for path in self.make(self.compile("-O2")):
            from_input = self.run_ok("dump", "--json", "-", stdin=path.read_bytes())
            self.assertEqual(from_input.text, self.run_ok("dump", "--json", path).text)

    def test_lookup_in_a_pad_file_answers_at_its_pads_alone(self):
        program = self.compile("-O2")
        _, pads = self.make(program)
        records = symbfile.records(pads.read_bytes())
        answers = self.lookup(pads, [record.va for record in records] + [1])
        for record, answer in zip(records, answers):
            chain = [(frame["function"], frame["file"] or "", frame["line"] or 0) for frame in reversed(answer["frames"])]
            self.assertEqual(chain, record.frames)
        self.assertEqual(answers[-1]["frames"], [])

    def test_pads_alone(self):
        program = self.compile("-O2")
        _, pads = self.make(program)
        alone = self.folder / "alone.returnpads"
        self.run_ok("archive", "-q", program, "-o", alone)
        self.assertEqual(alone.read_bytes(), pads.read_bytes())

    def test_the_summary_of_pads_counts_what_they_are_made_from(self):
        program = self.compile("-O2")
        keys = ("functions", "inlines", "lines")
        made = [self.run_ok("archive", "--json", program, "-o", self.folder / name).json_lines()[0]
                for name in ("a.symbfile", "a.returnpads")]
        self.assertEqual([made[1][key] for key in keys], [made[0][key] for key in keys])
        self.assertTrue(all(made[1][key] > 0 for key in keys), made[1])

    def test_standard_input_has_no_code_to_read_again(self):
        self.run_usage("archive", "-", "-o", self.folder / "x.returnpads")


class Convert(SymbfileTest):
    def test_there_and_back_without_loss(self):
        program = self.compile("-O2")
        ranges, _ = self.make(program)
        archive = self.archive(program)
        there, back = self.folder / "there.symbfile", self.folder / "back.lidia"
        self.run_ok("convert", archive, "-o", there)
        self.assertEqual(there.read_bytes(), ranges.read_bytes())
        self.run_ok("convert", there, "-o", back)
        self.assertEqual(back.read_bytes(), archive.read_bytes())

    def test_real_files_there_and_back(self):
        for path in samples.debug_files()[:1] + [sextant.program()]:
            archive = self.archive(path)
            there, back = self.folder / "there.symbfile", self.folder / "back.lidia"
            self.run_ok("convert", archive, "-o", there)
            self.run_ok("convert", there, "-o", back)
            # A symbfile has no place for the other names of functions, which are in the last chunk of an archive.
            self.assertEqual(back.read_bytes(), archive.read_bytes().partition(b"sxtcalia")[0], path)
            self.assertEqual([record.as_json() for record in symbfile.records(there.read_bytes())],
                             self.run_ok("dump", "--json", archive).json_lines(), path)

    def test_several_into_one(self):
        program, other = self.compile("-O2"), self.folder / "shared.so"
        sextant.tool("gcc", "-g", "-O2", "-shared", "-fPIC", "-Wl,-Ttext=0x900000", "-o", other, self.source)
        first, second = self.archive(program, name="a.lidia"), self.archive(other, name="b.lidia")
        out = self.folder / "both.symbfile"
        self.run_ok("convert", first, second, "-o", out)
        rows = self.run_ok("dump", "--json", first).json_lines() + self.run_ok("dump", "--json", second).json_lines()
        rows.sort(key=lambda row: (int(row["va"], 16), row["depth"]))
        self.assertEqual(self.run_ok("dump", "--json", out).json_lines(), rows)

    def test_what_cannot_be_converted(self):
        program = self.compile("-O2")
        _, pads = self.make(program)
        self.run_error("convert", program, "-o", self.folder / "x.lidia", naming="calls")
        self.run_error("convert", pads, "-o", self.folder / "x.lidia", naming="returnpads")
        self.run_usage("convert", pads, "-o", self.folder / "x.other")


class FileIds(SymbfileTest):
    KNOWN = [
        (123, "f4c1e5fe2f28034fcceb0776ec00b125", "9MHl_i8oA0_M6wd27ACxJQ"),
        (5000, "e8d38a9450c4b71b4c5a8bee92ccf4b9", "6NOKlFDEtxtMWovuksz0uQ"),
        (0, "af5570f5a1810b7af78caf4bc70a660f", "r1Vw9aGBC3r3jK9LxwpmDw"),
    ]

    def test_files_of_zeros(self):
        for size, hexadecimal, base64url in self.KNOWN:
            path = self.file(f"zeros{size}", bytes(size))
            self.assertEqual(self.run_ok("fileid", "--json", path).json_lines(),
                             [{"file": str(path), "hex": hexadecimal, "base64url": base64url}])

    def test_info_has_it_too(self):
        program = self.compile()
        told = self.run_ok("fileid", "--json", program).json_lines()[0]["hex"]
        self.assertEqual(self.run_ok("info", "--json", program).json_lines()[0]["file_id"], told)

    def test_a_file_that_is_not_there(self):
        self.run_error("fileid", self.folder / "nowhere", naming="nowhere")


class Damage(SymbfileTest):
    def test_every_cut(self):
        for path in self.make(self.compile("-O2")):
            data = path.read_bytes()
            ends = {8}
            at = 8
            for kind, body in symbfile.messages(data):
                at += len(encode(len(body))) + len(encode(kind)) + len(body)
                ends.add(at)
            for size in range(0, len(data), max(1, len(data) // 150)):
                cut = self.file("cut", data[:size])
                result = sextant.run("lookup", cut, "1000")
                self.assert_no_crash(result)
                if size not in ends:
                    self.assertEqual(result.status, 1, f"{size} of {len(data)} bytes\n{result}")
                    self.assert_no_crash(sextant.run("verify", cut))

    def test_an_unknown_message_is_skipped(self):
        ranges, _ = self.make(self.compile("-O2"))
        data = ranges.read_bytes()
        more = self.file("more", data[:10] + b"\x05\x63hello" + data[10:])
        self.assertEqual(self.run_ok("dump", more).text, self.run_ok("dump", ranges).text)

    def test_an_unknown_message_is_noted_by_verify(self):
        ranges, pads = self.make(self.compile("-O2"))
        for path in (ranges, pads):
            data = path.read_bytes()
            for kind in (b"\x05", b"\x63", b"\xff\xff\xff\xff\x07"):
                more = self.file("more", data[:10] + b"\x05" + kind + b"hello" + data[10:])
                line, = self.run_ok("verify", "--json", more).json_lines()
                self.assertEqual((line["severity"], line["offset"], line["file"]), ("note", 10, str(more)))
                self.assertIn("note: ", self.run_ok("verify", more).text)
                self.assertEqual(self.run_ok("verify", "-q", more).text, "")
            damaged = self.file("damaged", data[:10] + b"\x05\x00hello" + data[10:])
            result = sextant.run("verify", "--json", damaged)
            self.assertEqual(result.status, 1)
            self.assertEqual({line["severity"] for line in result.json_lines()}, {"problem"})


def encode(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def instructions(program):
    listing = sextant.tool("objdump", "-d", "--no-show-raw-insn", program).decode()
    return [int(found[1], 16) for found in map(INSTRUCTION.match, listing.splitlines()) if found]


def calls(program, dump):
    """(first byte, last byte) of every call that objdump shows."""
    listing = sextant.tool(dump, "-d", "--no-show-raw-insn", program).decode().splitlines()
    starts = [int(found[1], 16) if found else None for found in map(INSTRUCTION.match, listing)]
    for number, line in enumerate(listing):
        if not CALL.match(line):
            continue
        after = starts[number + 1] if number + 1 < len(starts) else None
        size = after - starts[number] if after else (4 if "aarch64" in dump else call_size(program, starts[number]))
        yield starts[number], starts[number] + size - 1


def call_size(program, start):
    """The length of a call at the end of a section, from the bytes that objdump shows."""
    raw = sextant.tool("objdump", "-d", f"--start-address={start}", f"--stop-address={start + 16}", program).decode()
    shown = [line for line in raw.splitlines() if line.lstrip().startswith(f"{start:x}:")]
    return len(shown[0].split("\t")[1].split())


if __name__ == "__main__":
    tap.main()
