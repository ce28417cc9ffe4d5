"""Symbfiles against protoc, with tests/interop/symbfile.proto: every message of real files means the same to it as to
`dump`, record by record, and has the bytes that protobuf gives it, but for the order of fields, which is that of the format.

protoc is asked once for a whole file: each message becomes a field of one large message, numbered by its type.
"""

import glob
import pathlib
import re
import subprocess

from support import samples, sextant, symbfile, tap

PROTO = sextant.ROOT / "tests" / "interop" / "symbfile.proto"
WHOLE = """
syntax = "proto3";
import "symbfile.proto";
message Entry {
  oneof kind {
    Header header = 1;
    RangeV1 range = 2;
    ReturnPadV1 pad = 3;
    StringTableV1 strings = 4;
  }
}
message Whole {
  repeated Entry entry = 1;
}
"""
KINDS = {symbfile.HEADER: "header", symbfile.RANGE: "range", symbfile.PAD: "pad", symbfile.STRINGS: "strings"}

# The order in which the fields of a message stand. Protobuf sorts by number, the format by what is first of a choice.
ORDER = {
    symbfile.HEADER: [],
    symbfile.RANGE: [1, 12, 2, 3, 9, 4, 10, 5, 6, 11, 7, 8, 15],
    symbfile.PAD: [1, 5, 2, 3, 4],
    symbfile.STRINGS: [1],
}

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int inner(int value) { return abs(value) + rand(); }
static inline __attribute__((always_inline)) int middle(int value) { return inner(value) + inner(value + 1); }
__attribute__((noinline)) int outer(int value) { puts("outer"); return middle(value) + middle(value * 2); }
int main(int count, char **values) { return outer(count) + (int)strtol(values[0], NULL, 0); }
"""


class Protoc(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        sextant.need_tool("protoc")
        self.whole = self.file("whole.proto", WHOLE.encode())

    def protoc(self, action, content):
        command = ["protoc", f"--proto_path={self.folder}", f"--proto_path={PROTO.parent}", f"--{action}=Whole", self.whole]
        done = subprocess.run(command, input=content, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), action)
        return done.stdout

    def make(self, program):
        ranges, pads = self.folder / "out.symbfile", self.folder / "out.returnpads"
        result = sextant.run("archive", "-q", program, "-o", ranges, "--returnpads", pads)
        self.assertEqual(result.status, 0, f"\n{result}")
        return ranges, pads

    def check(self, path):
        """All of one symbfile. Returns how many messages of each type it has."""
        messages = [message for message in symbfile.messages(path.read_bytes()) if message[0] in KINDS]
        text = self.protoc("decode", b"".join(entry(kind, body) for kind, body in messages))
        decoded = [next(iter(one.items())) for one in parse(text.decode()).get("entry", [])]
        self.assertEqual([kind for kind, _ in decoded], [KINDS[kind] for kind, _ in messages])

        shown = self.run_ok("dump", "--json", path).json_lines()
        for expected, row in zip(records(decoded), shown, strict=True):
            self.assertEqual(row, expected)

        again = [fields_of(value)[0] for _, value in split(self.protoc("encode", text))]
        for (kind, body), (number, content) in zip(messages, again, strict=True):
            self.assertEqual(number, kind)
            fields = split(content)
            in_order = sorted(fields, key=lambda field: ORDER[kind].index(field[0]))
            self.assertEqual(b"".join(raw for _, raw in in_order).hex(" "), body.hex(" "))
        return {name: sum(kind == number for kind, _ in messages) for number, name in KINDS.items()}

    def check_both(self, program):
        ranges, pads = map(self.check, self.make(program))
        self.assertGreater(ranges["range"], 0)
        self.assertEqual(ranges["pad"], 0)
        self.assertGreater(pads["pad"], 0)
        self.assertEqual(pads["range"], 0)
        return ranges, pads

    def test_a_small_program(self):
        self.check_both(samples.compile_c(self.folder, "calls", "-g", "-O2", source=SOURCE))

    def test_the_program_under_test(self):
        self.check_both(pathlib.Path(sextant.program()))

    def test_the_c_library(self):
        found = sorted(glob.glob("/lib/*-linux-gnu/libc.so.6"))
        if not found:
            self.skipTest("there is none")
        ranges, pads = self.check_both(found[0])
        self.assertGreater(ranges["range"], 1000)
        self.assertGreater(pads["pad"], 10_000)

    def test_ranges_and_pads_in_one_file(self):
        """One header, and a table for each."""
        program = samples.compile_c(self.folder, "calls", "-g", "-O2", source=SOURCE)
        bodies = [path.read_bytes()[10:] for path in self.make(program)]
        both = self.file("both", b"symbfile\x00\x01" + b"".join(bodies))
        counts = self.check(both)
        self.assertGreater(counts["range"], 0)
        self.assertGreater(counts["pad"], 0)

    def test_an_empty_file(self):
        self.assertEqual(self.check(self.file("empty", bytes.fromhex("73796d6266696c6500010004"))),
                         {"header": 1, "range": 0, "pad": 0, "strings": 1})


# --- between a symbfile and one message


def number(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def with_length(key, body):
    return number(key << 3 | 2) + number(len(body)) + body


def entry(kind, body):
    return with_length(1, with_length(kind, body))


def split(message):
    """(number, bytes with tag and length) of each field."""
    at, found = 0, []
    while at < len(message):
        start = at
        key, at = symbfile.varint(message, at)
        value, at = symbfile.varint(message, at)
        if key & 7 == 2:
            at += value
        found.append((key >> 3, message[start:at]))
    return found


def fields_of(raw):
    """What is in the fields of the message that RAW is, a field of another one."""
    return symbfile.fields(symbfile.fields(raw)[0][1])


# --- what protoc prints

LINE = re.compile(r' *(?:(\w+) \{|(\w+): (?:(-?\d+|true)|"((?:[^"\\]|\\.)*)")|(\}))')
ESCAPE = re.compile(r"\\([0-7]{3}|.)")
LETTERS = {"n": "\n", "r": "\r", "t": "\t"}


def parse(text):
    """{name: [value]}; a message is such a dictionary, too."""
    outermost, around = {}, []
    here = outermost
    for line in text.splitlines():
        opened, name, integer, string, closed = LINE.fullmatch(line).groups()
        if closed:
            here = around.pop()
        elif opened:
            around.append(here)
            here.setdefault(opened, []).append(inside := {})
            here = inside
        else:
            here.setdefault(name, []).append(unescaped(string) if integer is None else int(integer == "true" or integer))
    assert not around
    return outermost


def unescaped(text):
    latin = ESCAPE.sub(lambda found: chr(int(found[1], 8)) if len(found[1]) == 3 else LETTERS.get(found[1], found[1]), text)
    return latin.encode("latin-1").decode()


def records(messages):
    """What `dump --json` is to show of (name, [message]): addresses from deltas, strings from the table before."""
    table, va = [], None
    for kind, (message,) in messages:
        if kind == "strings":
            table = message.get("strings", [])
        elif kind != "header":
            va = message["setElfVA"][0] if "setElfVA" in message else (va + message["deltaElfVA"][0]) % (1 << 64)
            yield range_row(va, message, table) if kind == "range" else pad_row(va, message, table)


def range_row(va, message, table):
    (lines,) = message.get("lineTable", [{}])
    offsets, at = [], 0
    for delta in lines.get("offset", []):
        at += delta
        offsets.append(at)
    return {"va": hex(va), "length": message.get("length", [0])[0], "depth": message.get("depth", [0])[0],
            "function": string(message, "func", table), "file": string(message, "file", table),
            "call_file": string(message, "callFile", table), "call_line": message.get("callLine", [None])[0],
            "lines": [list(pair) for pair in zip(offsets, lines.get("lineNumber", []), strict=True)]}


def pad_row(va, message, table):
    frames = zip(message["func"], message["file"], message["line"], strict=True)
    return {"va": hex(va), "frames": [{"function": table[function], "file": table[file] or None, "line": line or None}
                                      for function, file, line in frames]}


def string(message, name, table):
    if f"{name}Str" in message:
        return message[f"{name}Str"][0]
    return table[message[f"{name}Ref"][0]] if f"{name}Ref" in message else None


if __name__ == "__main__":
    tap.main()
