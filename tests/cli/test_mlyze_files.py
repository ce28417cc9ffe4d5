"""Heap traces as files: read, checked, compressed and recovered, against a writer and reader of the tests' own."""

import gzip
import random
import struct

from support import mlyze_writer, sextant, tap
from support.hostile import HostileTest
from support.mlyze_writer import EXAMPLE_EVENTS, EXAMPLE_METADATA, EXAMPLE_START, plain, varint

START = EXAMPLE_START


def expected_line(event, functions):
    """An event as dump --json has it."""
    kind, time = event[:2]
    line = {"event": kind, "time_us": time}
    if kind == "alloc":
        line.update(address=hex(event[2]), size=event[3], stack=event[4], thread=event[5])
    elif kind == "free":
        line.update(address=hex(event[2]))
    elif kind == "gc":
        line.update(objects=event[2], bytes=event[3])
    elif kind == "marker":
        line.update(name=functions[event[2]] if event[2] < len(functions) else f"marker_{event[2]}")
    else:
        line.update(event="raw", type=kind, length=len(event[2]))
    return line


def without_offset(line):
    return {key: value for key, value in line.items() if key != "offset"}


def random_events(seed, count, stacks=50, names=3, others=False):
    """A program that allocates and frees, with some of everything."""
    chance = random.Random(seed)
    time, live, events = START, [], []
    sizes = [chance.choice((16, 24, 32, 100, 4096, 1 << 20)) for _ in range(stacks)]
    free_places = []
    for _ in range(count):
        time += chance.choice((0, 0, 0, 1, 2, 30, 31, 127, 128, 100_000)) if chance.random() < 0.5 else 0
        draw = chance.random()
        if draw < 0.5 or not live:
            stack = chance.randrange(stacks)
            fresh = not free_places or chance.random() < 0.3
            place = chance.randrange(1 << 47) & ~15 if fresh else free_places.pop()
            size = sizes[stack] if chance.random() < 0.8 else chance.randrange(1 << chance.randrange(1, 40))
            events.append(("alloc", time, place, size, stack, chance.choice((0, 0, 0, 1, 65535))))
            live.append(place)
        elif draw < 0.97:
            place = live.pop(chance.randrange(len(live)) if chance.random() < 0.5 else -1)
            free_places.append(place)
            events.append(("free", time, place))
        elif draw < 0.98:
            events.append(("gc", time, chance.randrange(1000), chance.randrange(1 << 64)))
        elif draw < 0.99 or not others:
            events.append(("marker", time, chance.randrange(names)))
        else:
            events.append((chance.randrange(4, 128), time, chance.randbytes(chance.randrange(40))))
    return events


def random_metadata(stacks=50):
    return mlyze_writer.metadata([[(0, i, 0)] for i in range(stacks)], ["f.c"], ["f", "g", "h"], threads={"0": "main"})


class MlyzeTest(sextant.ProgramTest):
    def dump(self, path, **keywords):
        return self.run_ok("dump", "--json", path, **keywords).json_lines()

    def events_of(self, path):
        return [line for line in self.dump(path) if "event" in line]

    def compress(self, path, name="compressed.mlyze"):
        out = self.folder / name
        self.run_ok("convert", "--compress", path, "-o", out)
        return out

    def decompress(self, path):
        out = self.folder / "again.mlyze"
        self.run_ok("convert", "--decompress", path, "-o", out)
        return out.read_bytes()

    def problems(self, content):
        """What verify says, as (rule, offset)."""
        path = self.file("checked.mlyze", content)
        result = sextant.run("verify", "--json", path)
        self.assert_no_crash(result)
        lines = result.json_lines()
        self.notes = [(line["rule"], line["offset"]) for line in lines if line.get("severity") == "note"]
        found = [(line["rule"], line["offset"]) for line in lines if line.get("severity") != "note"]
        self.assertEqual(result.status, 1 if found else 0, f"\n{result}")
        return found


class Example(MlyzeTest):
    """The worked example of the format's description."""

    def setUp(self):
        super().setUp()
        self.path = self.file("example.mlyze", mlyze_writer.example())

    def test_bytes(self):
        content = self.path.read_bytes()
        self.assertEqual(len(content), 583)
        self.assertEqual(
            content[0x215:].hex(),
            "030502006400100000007f00008001000100000000200000007f000080800101020001e80700100000007f0000020203ac02",
        )

    def test_dump_json(self):
        lines = self.dump(self.path)
        self.assertEqual((lines[0]["header"]["version"], lines[0]["header"]["start_us"]), (1, START))
        main = {"file": "/app/main.py", "line": 42, "function": "main"}
        data = {"file": "/app/data.py", "line": 123, "function": "process_data"}
        self.assertEqual(lines[1], {"stack": 0, "frames": [main, data]})
        self.assertEqual(lines[2], {"stack": 1, "frames": [{**main, "line": 50}]})
        self.assertEqual(lines[3:], [expected_line(event, ["main", "process_data", "phase-1"]) for event in EXAMPLE_EVENTS])

    def test_dump_text(self):
        self.assertEqual(
            self.run_ok("dump", self.path).text.splitlines(),
            [
                "# version 1 start 1700000000000000 metadata 277 plain",
                "stack 0 main /app/main.py:42 < process_data /app/data.py:123",
                "stack 1 main /app/main.py:50",
                "1700000000000005 marker phase-1",
                "1700000000000105 alloc 0x7f0000001000 128 stack 0 thread 1",
                "1700000000000105 alloc 0x7f0000002000 16384 stack 1 thread 2",
                "1700000000001105 free 0x7f0000001000",
                "1700000000001107 gc 3 objects 300 bytes",
            ],
        )

    def test_info(self):
        (info,) = self.run_ok("info", "--json", self.path).json_lines()
        wanted = {"format": "mlyze", "version": 1, "events": 5, "allocations": 2, "frees": 1, "collections": 1, "markers": 1,
                  "stacks": 2, "size": 583, "start_us": START, "duration_us": 1107, "codec": "plain"}  # fmt: skip
        self.assertEqual({key: info[key] for key in wanted}, wanted)

    def test_verify(self):
        self.assertEqual(self.problems(self.path.read_bytes()), [])

    def test_lookup_is_refused_with_a_reason(self):
        for command in (("lookup", self.path, "0x1000"), ("archive", self.path, "-o", self.folder / "x.lidia")):
            with self.subTest(command=command[0]):
                self.assertIn("sextant heap" if command[0] == "lookup" else "", self.run_error(*command).err)

    def test_compressed_and_back(self):
        path = self.compress(self.path)
        head, text, events = mlyze_writer.read(path.read_bytes())
        self.assertEqual((head["start"], text, events), (START, EXAMPLE_METADATA, EXAMPLE_EVENTS))
        self.assertEqual(self.dump(path)[1:], self.dump(self.path)[1:])
        self.assertEqual(self.decompress(path), self.path.read_bytes())

    def test_plain_is_copied(self):
        self.assertEqual(self.decompress(self.path), self.path.read_bytes())

    def test_standard_input(self):
        content = self.path.read_bytes()
        compressed = self.compress(self.path)
        again = self.folder / "from-stream.mlyze"
        self.run_ok("convert", "--compress", "-", "-o", again, stdin=content)
        for suffix in ("", ".idx", ".live"):
            self.assertEqual((self.folder / f"from-stream.mlyze{suffix}").read_bytes(),
                             (self.folder / f"compressed.mlyze{suffix}").read_bytes())  # fmt: skip
        for stdin in (content, compressed.read_bytes(), gzip.compress(content)):
            self.assertEqual(self.run_ok("convert", "--decompress", "-", "-o", "-", stdin=stdin).out, content)
        result = self.run_warned("convert", "--recover", "-", "-o", again, stdin=content[:-1])
        self.assertRegex(result.err, r"^sextant: -: warning: \d+ bytes cannot be read and were left out\n$")
        self.assertEqual(again.read_bytes(), content[:-5])
        for option in ("--compress", "--decompress", "--recover"):
            result = self.run_error("convert", option, "-", "-o", self.folder / "no.mlyze", stdin=b"nothing of the kind")
            self.assertIn("-: not a heap trace", result.err)
            result = self.run_usage("convert", option, "-f", "lidia", self.path, "-o", again)
            self.assertIn(f"{option} and --format cannot be used together", result.err)
        self.assertFalse((self.folder / "no.mlyze").exists())

    def test_bad_input_is_no_wrong_usage(self):
        content = self.path.read_bytes()
        unclean = bytearray(content.ljust(8192, b"\0"))
        unclean[20] |= 8
        out = self.folder / "no.mlyze"
        for option in ("--compress", "--decompress", "--recover"):
            for name, data, what in (("short", content[:3], "not a heap trace"),
                                     ("flipped", b"MTRB" + content[4:], "not a heap trace"),
                                     ("empty", b"", "empty file: nothing has been recorded yet"),
                                     ("text", b"words\n", "not a heap trace")):  # fmt: skip
                path = self.file(name, data)
                result = self.run_error("convert", option, path, "-o", out, naming=path)
                self.assertIn(what, result.err)
                self.assertNotIn("--help", result.err)
            self.run_error("convert", option, self.folder / "missing", "-o", out, naming="missing")
        for size, what in ((300, "ends before anything was recorded"), (4095, "ends before anything was recorded"),
                           (8192, "control block is damaged")):  # fmt: skip
            path = self.file("unclean", unclean[:size])
            self.assertIn(what, self.run_error("convert", "--recover", path, "-o", out, naming=path).err)
        self.assertFalse(out.exists())

    def test_compressed_goes_to_a_file_only(self):
        result = sextant.run("convert", "--compress", self.path, "-o", "-")
        self.assertEqual(result.status, 1, f"\n{result}")
        self.assertEqual(sextant.run("convert", "--decompress", self.path, "-o", "-").out, self.path.read_bytes())


class Copies(MlyzeTest):
    """Whatever goes in comes out again, byte for byte, and other readers find the same in it."""

    def check(self, content, events=None):
        path = self.file("in.mlyze", content)
        compressed = self.compress(path)
        self.assertEqual(self.decompress(compressed), content)
        self.assertEqual(self.problems(compressed.read_bytes()), [])
        if events is not None:
            self.assertEqual(mlyze_writer.read(compressed.read_bytes())[2], events)
            self.check_index(compressed, events)
        return compressed

    def check_index(self, path, events):
        index = mlyze_writer.read_index(path.with_name(path.name + ".idx").read_bytes())
        content = path.read_bytes()
        head = mlyze_writer.read_header(content)
        self.assertEqual((index["size"], index["events"]), (len(content), len(events)))
        self.assertEqual(index["last_time"], events[-1][1] if events else head["start"])
        blocks = list(mlyze_writer.read_blocks(content[head["events"] :]))
        self.assertEqual(len(index["entries"]), len(blocks))
        for entry, block in zip(index["entries"], blocks):
            live_bytes, live_count = mlyze_writer.live(events[: block["event"]])
            self.assertEqual(entry, {"offset": head["events"] + block["offset"], "event": block["event"],
                                     "time": block["time"], "live_bytes": live_bytes, "live_count": live_count,
                                     "stored_size": block["stored_size"], "size": block["size"], "flags": 0})  # fmt: skip

    def test_random_traces(self):
        for seed in range(12):
            with self.subTest(seed=seed):
                events = random_events(seed, 200 * seed)
                content = plain(events, START, random_metadata())
                path = self.check(content, events)
                lines = [expected_line(event, ["f", "g", "h"]) for event in events]
                self.assertEqual(self.events_of(path), lines)
                self.assertEqual(self.events_of(self.file("plain.mlyze", content)), lines)

    def test_many_blocks(self):
        events = random_events(99, 30_000)
        path = self.check(plain(events, START, random_metadata()), events)
        blocks = list(mlyze_writer.read_blocks(path.read_bytes()[mlyze_writer.read_header(path.read_bytes())["events"] :]))
        self.assertGreater(len(blocks), 4)
        self.assertEqual({block["codec"] for block in blocks}, {mlyze_writer.COLUMNS_ZSTD})
        self.assertLess(path.stat().st_size / len(events), 7)

    def test_no_events(self):
        self.check(plain([]), [])

    def test_numbers_that_are_longer_than_need_be(self):
        long_free = b"\x01\x80\x00" + struct.pack("<Q", 16)
        self.check(plain(EXAMPLE_EVENTS, START, EXAMPLE_METADATA) + long_free * 20)

    def test_ids_and_sizes_beyond_all_bounds(self):
        most = (1 << 64) - 1
        events = [("alloc", START, most, most, most, 65535), ("marker", START, most)]
        path = self.file("in.mlyze", plain(events, START, EXAMPLE_METADATA))
        out = self.folder / "out.mlyze"
        self.run_warned("convert", "--compress", path, "-o", out)
        self.run_warned("convert", "--decompress", out, "-o", self.folder / "back.mlyze")
        self.assertEqual((self.folder / "back.mlyze").read_bytes(), path.read_bytes())

    def test_metadata_stays_as_it_is(self):
        text = b' {"zzz" : [1, 2.50, {"\\u0061":null}],\n"files":{"1":"\\udc80"} ,"functions":{}}\t'
        self.check(plain(random_events(1, 10, 1, 1)[:0], START, text), [])

    def test_much_metadata_is_compressed(self):
        text = mlyze_writer.metadata([[(i % 3, i, i % 7)] * 5 for i in range(300)], list("abc"), list("ABCDEFG"))
        events = random_events(3, 300, stacks=300)
        path = self.check(plain(events, START, text), events)
        content = path.read_bytes()
        head, found, _ = mlyze_writer.read(content)
        self.assertEqual(found, text)
        self.assertTrue(head["flags"] & mlyze_writer.FLAG_METADATA_TABLES)
        self.assertLess(head["metadata_size"], len(text) / 8)
        self.assertEqual(self.dump(path)[1:], self.dump(self.folder / "in.mlyze")[1:])

    def test_metadata_in_another_style_is_compressed_as_text(self):
        text = mlyze_writer.metadata([[(i % 3, i, i % 7)] * 5 for i in range(300)], list("abc"), list("ABCDEFG"))
        text = text.replace(b'"line"', b'"column": 3, "line"')
        events = random_events(3, 300, stacks=300)
        path = self.check(plain(events, START, text), events)
        head, found, _ = mlyze_writer.read(path.read_bytes())
        self.assertEqual(found, text)
        self.assertTrue(head["flags"] & mlyze_writer.FLAG_METADATA_LZ4)
        self.assertEqual(self.dump(path)[1:], self.dump(self.folder / "in.mlyze")[1:])

    def test_unknown_types_are_skipped(self):
        events = [*EXAMPLE_EVENTS, (4, START + 2000, b""), (127, START + 2001, b"x" * 200), ("free", START + 2002, 16)]
        content = plain(events, START, EXAMPLE_METADATA)
        path = self.file("in.mlyze", content)
        result = self.run_warned("dump", "--json", path)
        self.assertIn("1 event is of an unknown type", result.err)
        found = [without_offset(line) for line in result.json_lines() if "event" in line]
        self.assertEqual(found, [expected_line(event, ["main", "process_data", "phase-1"]) for event in events])
        out = self.folder / "out.mlyze"
        self.run_warned("convert", "--compress", path, "-o", out)
        self.assertEqual(mlyze_writer.read(out.read_bytes())[2], events)

    def test_an_event_larger_than_a_block(self):
        events = [("free", START, 1), (5, START + 1, bytes(range(256)) * 500), ("free", START + 2, 2)]
        path = self.file("in.mlyze", plain(events, START))
        out = self.folder / "out.mlyze"
        self.run_ok("convert", "--compress", path, "-o", out)
        self.assertEqual(mlyze_writer.read(out.read_bytes())[2], events)
        self.run_ok("convert", "--decompress", out, "-o", self.folder / "back.mlyze")
        self.assertEqual((self.folder / "back.mlyze").read_bytes(), path.read_bytes())

    def test_metadata_at_the_end(self):
        body = mlyze_writer.encode_all(EXAMPLE_EVENTS, START)
        reserved = struct.pack("<IIIQQQ", mlyze_writer.FLAG_METADATA_END, 0, 0, 0, 0, 256 + len(body))
        head = mlyze_writer.header(START, len(EXAMPLE_METADATA), reserved=reserved)
        path = self.file("end.mlyze", head + body + EXAMPLE_METADATA)
        self.assertEqual(self.dump(path)[1:], self.dump(self.file("example.mlyze", mlyze_writer.example()))[1:])
        self.assertEqual(self.decompress(path), mlyze_writer.example())

    def test_columns_of_another_writer(self):
        events = random_events(7, 1500, others=True)
        columns = mlyze_writer.make_columns(events, START)
        blocks = [mlyze_writer.block(columns, START, 0, mlyze_writer.COLUMNS)]
        size = len(mlyze_writer.encode_all(events, START))
        content = mlyze_writer.in_blocks(blocks, START, random_metadata(), len(events), size, mlyze_writer.COLUMNS)
        self.assertEqual(mlyze_writer.read(content)[2], events)
        result = self.run_warned("dump", "--json", self.file("columns.mlyze", content))
        found = [without_offset(line) for line in result.json_lines() if "event" in line]
        self.assertEqual(found, [expected_line(event, ["f", "g", "h"]) for event in events])


class Reference(MlyzeTest):
    """Files of the reference tracer: no metadata, addresses that are 0, ids that lead nowhere."""

    def setUp(self):
        super().setUp()
        events = [("alloc", START + i, 0, 64, i, 7) for i in range(5)]
        events += [("free", START + 9, 0), ("marker", START + 10, 3)]
        self.content = plain(events, START, b'{"stack_traces": {}, "files": {}, "functions": {}}')
        self.path = self.file("reference.mlyze", self.content)

    def test_dump_warns_once_with_a_count(self):
        result = self.run_warned("dump", "--json", self.path)
        self.assertEqual(len(result.err.splitlines()), 3)
        for text in "5 allocations have a stack", "1 marker has a name", "6 events have the address 0":
            self.assertIn(text, result.err)
        lines = result.json_lines()
        self.assertEqual(lines[-1], {"event": "marker", "time_us": START + 10, "name": "marker_3"})
        self.assertEqual(len(lines), 8)

    def test_compressing_warns_before_it_fails(self):
        events = [("alloc", START + i, 0x1000 + i, (1 << 64) - 1, i, 7) for i in range(5)]
        path = self.file("huge.mlyze", plain(events, START, b'{"stack_traces": {}, "files": {}, "functions": {}}'))
        result = sextant.run("convert", "--compress", path, "-o", self.folder / "out.mlyze")
        self.assertEqual(result.status, 1, f"\n{result}")
        self.assertRegex(result.err, r"^sextant: .*huge.mlyze: warning: 5 allocations have a stack .*\n"
                                     r"sextant: .*out.mlyze: sizes add up to more than 64 bits can hold\n$")
        cut = self.file("cut.mlyze", path.read_bytes()[:-1])
        self.run_error("convert", "--compress", cut, "-o", self.folder / "cut", naming=cut)

    def test_an_error_is_the_only_line(self):
        path = self.file("cut.mlyze", self.content[:-1])
        for verb in ("info", "dump"):
            for options in ((), ("--json",)):
                result = self.run_error(verb, *options, path, naming=path)
                self.assertIn("offset", result.err)

    def test_one_of_each(self):
        events = [("alloc", START, 0, 64, 9, 7), ("marker", START, 3), (77, START, b"x")]
        result = self.run_warned("dump", self.file("one.mlyze", plain(events, START, b"{}")))
        self.assertEqual([line.split(": ")[3] for line in result.err.splitlines()],
                         ["1 allocation has a stack that is not in the metadata",
                          "1 marker has a name that is not in the metadata", "1 event has the address 0",
                          "1 event is of an unknown type"])  # fmt: skip

    def test_convert_warns_once_with_a_count(self):
        out = self.folder / "out.mlyze"
        result = self.run_warned("convert", "--compress", self.path, "-o", out)
        self.assertEqual(len(result.err.splitlines()), 3)

    def test_verify(self):
        last = len(self.content) - 3
        self.assertEqual(self.problems(self.content), [("stack-reference", 256 + 50), ("name-reference", last)])


class Rules(MlyzeTest):
    """Each rule of the specification, broken, with the offset."""

    def test_rules(self):
        good = mlyze_writer.example()
        events = 256 + len(EXAMPLE_METADATA)
        text = EXAMPLE_METADATA

        def put(offset, data):
            return good[:offset] + data + good[offset + len(data) :]

        free = b"\x01\x00" + bytes(8)
        cases = [
            ("a newer version", put(4, b"\x02"), []),
            ("version 0", put(4, b"\x00"), [("version", 4)]),
            ("header cut off", good[:255], [("truncated", 255)]),
            ("metadata cut off", good[:500], [("truncated", 500)]),
            ("metadata of 4 GiB", put(16, b"\xff\xff\xff\xff"), [("truncated", 583)]),
            ("no metadata", plain([], START, b""), [("metadata", 16)]),
            ("no object", plain([], START, b"[]"), [("metadata", 256)]),
            ("text after it", plain([], START, b"{} x"), [("metadata", 259)]),
            ("not UTF-8", plain([], START, b'{"files": {"0": "\xff"}}'), [("metadata", 256 + 17)]),
            ("a key twice", plain([], START, b'{"files": {"0": "a", "0": "b"}}'), [("metadata", 256 + 21)]),
            ("an object twice", plain([], START, b'{"files": {}, "files": {}}'), [("metadata", 256 + 14)]),
            ("id with a zero", plain([], START, b'{"files": {"00": "a"}}'), [("metadata", 256 + 11)]),
            ("id with a sign", plain([], START, b'{"files": {"-1": "a"}}'), [("metadata", 256 + 11)]),
            ("id too large", plain([], START, b'{"files": {"4294967296": "a"}}'), [("metadata", 256 + 11)]),
            ("name is no string", plain([], START, b'{"functions": {"0": 1}}'), [("metadata", 256 + 20)]),
            ("line below 0", plain([], START, b'{"stack_traces": {"0": [{"line": -1}]}}'), [("metadata", 256 + 33)]),
            ("line with a point", plain([], START, b'{"stack_traces": {"0": [{"line": 1.5}]}}'), [("metadata", 256 + 33)]),
            ("unknown stack", plain([("alloc", START, 1, 1, 2, 0)], START, text), [("stack-reference", events)]),
            ("unknown name", plain([("free", START, 1), ("marker", START, 3)], START, text),
             [("name-reference", events + 10)]),
            ("unknown file", plain([], START, b'{"stack_traces": {"0": [{"file_id": 0}]}}'), [("file-reference", 256 + 24)]),
            ("unknown function", plain([], START, b'{"stack_traces": {"0": [{}, {"func_id": 9}]}}'),
             [("function-reference", 256 + 28)]),
            ("type 4", good + b"\x04\x00\x00", []),
            ("type 7", good + b"\x07\x00\x00", []),
            ("type 128", good + b"\x80\x00\x00", [("event-type", 583)]),
            ("type 255", good + free + b"\xff", [("event-type", 593)]),
            ("varint of 11 bytes", good + b"\x01" + b"\x80" * 10 + b"\x00" + bytes(8), [("varint", 584)]),
            ("varint of 65 bits", good + b"\x01" + b"\xff" * 9 + b"\x02" + bytes(8), [("varint", 584)]),
            ("varint in the middle", put(events + 1, b"\xff" * 11), [("varint", events + 1)]),
            ("time beyond 64 bits", good + b"\x01" + varint((1 << 64) - 1) + bytes(8), [("time", 584)]),
            ("time beyond 64 bits, far from the end", good + b"\x01" + varint((1 << 64) - 1) + bytes(80), [("time", 584)]),
            ("one byte too many", good + b"\x01", [("truncated", 583)]),
            ("unknown flag", put(20, b"\x80"), [("reserved", 20)]),
            ("unknown byte", put(255, b"\x01"), [("reserved", 255)]),
            ("unclean", put(20, b"\x08"), [("unclean", 20)]),
        ]  # fmt: skip
        for name, content, expected in cases:
            with self.subTest(name=name):
                self.assertEqual(self.problems(content), expected)

    def test_magic(self):
        path = self.file("x.mlyze", b"MTRX" + mlyze_writer.example()[4:])
        self.assertEqual(sextant.run("verify", path).status, 1)

    def test_long_varints_and_frees_of_strangers_are_no_problem(self):
        self.assertEqual(self.problems(mlyze_writer.example() + b"\x01\x80\x80\x00" + struct.pack("<Q", 99)), [])

    def test_gaps_in_ids_and_extra_keys_are_no_problem(self):
        text = b'{"stack_traces": {"5": [{"file_id": 9, "line": 0, "func_id": 70, "x": {}}]}, "files": {"9": "a"},'
        text += b' "functions": {"70": "f"}, "other": [[[]]]}'
        self.assertEqual(self.problems(plain([("alloc", START, 1, 1, 5, 0)], START, text)), [])


class Truncated(HostileTest):
    def test_every_length_of_a_plain_file(self):
        content = mlyze_writer.example()
        ends = [533, 536, 551, 567, 578, 583]
        written = self.write_all((str(size), content[:size]) for size in range(len(content)))
        results = self.run_many("verify", written, "--json")
        named = {line["file"] for result in results for line in result.json_lines()}
        named |= {str(path) for _, path in written for result in results if f"{path}: " in result.err}
        bad = {int(label) for label, path in written if str(path) in named}
        self.assertEqual(sorted(set(range(len(content))) - bad), ends[:-1])

    def test_whole_events_come_before_the_error(self):
        content = mlyze_writer.example()
        for size, count in (582, 4), (570, 3), (540, 1):
            path = self.file("cut.mlyze", content[:size])
            result = self.run_error("dump", "--json", path, naming=path)
            self.assertIn("ends inside an event", result.err)
            self.assertEqual(sum("event" in line for line in result.json_lines()), count)
            out = self.folder / f"{size}.mlyze"
            self.run_error("convert", "--compress", path, "-o", out, naming=path)
            self.assertFalse(out.exists())
            self.run_warned("convert", "--recover", path, "-o", out)
            self.assertEqual(mlyze_writer.read(out.read_bytes())[2], EXAMPLE_EVENTS[:count])

    def test_every_length_of_a_compressed_file(self):
        content = self.compressed(random_events(5, 60))
        written = self.write_all((str(size), content[:size]) for size in range(4, len(content)))
        named = {line["file"] for result in self.run_many("verify", written, "--json") for line in result.json_lines()}
        self.assertEqual([label for label, path in written if str(path) not in named], [])
        self.run_info(written)

    def test_every_byte_of_a_compressed_file_counts(self):
        content = self.compressed(random_events(6, 60))
        chance = random.Random(1)
        damaged = [
            (str(at), content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :])
            for at in range(4, len(content))
        ]
        written = self.write_all(damaged)
        named = {line["file"] for result in self.run_many("verify", written, "--json") for line in result.json_lines()}
        unnoticed = [path for label, path in written if str(path) not in named]
        # LZ4 has bits that mean nothing.
        self.assertLess(len(unnoticed), 4)
        for path in unnoticed:
            self.assertEqual(mlyze_writer.read(path.read_bytes()), mlyze_writer.read(content))
        self.run_info(written)

    def compressed(self, events):
        path = self.file("in.mlyze", plain(events, START, random_metadata()))
        out = self.folder / "out.mlyze"
        self.run_ok("convert", "--compress", path, "-o", out)
        return out.read_bytes()


class Hostile(HostileTest):
    def limited_error(self, content, text):
        path = self.file("hostile.mlyze", content)
        result = self.run_limited("dump", path, timeout=20)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 1, f"\n{result}")
        self.assertIn(text, result.err)

    def test_metadata(self):
        deep = b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        frames = b'{"stack_traces": {"0": [{"x": ' + b'{"a":' * 100_000
        for text, reason in (
            (deep, "nested more than 64"),
            (frames, "nested more than 64"),
            (b'{"files": {"0": "' + b"x" * 1_000_000, "ends inside a string"),
            (b"{" * 1_000_000, "expected a key"),
            (b'{"functions": {"0": "\\q"}}', "unknown escape"),
            (b"\xef\xbb\xbf{}", "not an object"),
            (b"{}\0", "unexpected text after"),
        ):
            with self.subTest(reason=reason, text=text[:30]):
                self.limited_error(plain([], START, text), reason)

    def test_blocks(self):
        body = mlyze_writer.encode_all(EXAMPLE_EVENTS, START)
        columns = mlyze_writer.make_columns(EXAMPLE_EVENTS, START)
        bomb = b"\x1f\x00" + b"\x01\x00" + b"\xff" * 300_000 + b"\x00\x00"
        block, lz4, code = mlyze_writer.block, mlyze_writer.LZ4, mlyze_writer.COLUMNS
        cut = mlyze_writer.join_columns([b"\x00"] + [b""] * 9)
        far = mlyze_writer.join_columns([b"\x01", b"", b"", b"", b"\x05"] + [b""] * 5)
        left = mlyze_writer.join_columns([b"", b"\x01"] + [b""] * 8)
        odd = mlyze_writer.join_columns([b"\x07"] + [b""] * 9)
        for name, data, reason in (
            ("sum", block(body, START, 0, crc=1), "checksum of a block"),
            ("too small", block(body, START, 0, size=5), "cannot be decompressed"),
            ("too large", block(body, START, 0, size=len(body) + 1), "cannot be decompressed"),
            ("claims much", block(body, START, 0, size=0x7FFFFFFF), "contradict"),
            ("bomb", block(bytes(65536), START, 0, stored=bomb), "cannot be decompressed"),
            ("garbage", block(body, START, 0, stored=b"\xff" * 40), "cannot be decompressed"),
            ("offset 0", block(b"a" * 9, START, 0, stored=b"\x14a\x00\x00\x00"), "cannot be decompressed"),
            ("another codec", block(body, START, 0, codec=2), "unknown codec"),
            ("another time", block(body, START + 1, 0), "does not continue"),
            ("another number", block(body, START, 7), "does not continue"),
            ("cut off", block(body, START, 0)[:-1], "ends inside a block"),
            ("no block", b"\x01" + bytes(40), "no block begins"),
            ("half an event", block(body[:-1], START, 0), "ends inside an event"),
            ("type", block(b"\xb1\x00", START, 0), "unknown type"),
            ("columns missing", block(b"\xff" * 20, START, 0, code), "do not fit"),
            ("columns too long", block(columns[:-1], START, 0, code), "do not fit"),
            ("columns too short", block(columns + b"x", START, 0, code), "do not fit"),
            ("column ends", block(cut, START, 0, code), "contradict"),
            ("column leads back too far", block(far, START, 0, code), "contradict"),
            ("column is left", block(left, START, 0, code), "contradict"),
            ("unknown kind", block(odd, START, 0, code), "contradict"),
        ):
            with self.subTest(name=name):
                self.limited_error(mlyze_writer.in_blocks([data], START, EXAMPLE_METADATA, 5, len(body)), reason)
        self.assertEqual(lz4, 1)

    def test_compressed_metadata(self):
        good = mlyze_writer.pack_lz4(b"{}")
        for name, stored, reason in (
            ("cut off", b"\2\0\0", "stated size is impossible"),
            ("claims 4 GiB", struct.pack("<Q", 1 << 32) + good, "stated size is impossible"),
            ("claims 1 GiB", struct.pack("<Q", 1 << 30) + good, "stated size is impossible"),
            ("claims more than it has", struct.pack("<Q", 3) + good, "cannot be decompressed"),
            ("claims less than it has", struct.pack("<Q", 1) + good, "cannot be decompressed"),
            ("garbage", struct.pack("<Q", 2) + b"\xff\xff", "cannot be decompressed"),
            ("no JSON", struct.pack("<Q", 2) + mlyze_writer.pack_lz4(b"{]"), "expected a key"),
        ):
            with self.subTest(name=name):
                flags = mlyze_writer.FLAG_METADATA_LZ4
                self.limited_error(mlyze_writer.in_blocks([], START, stored, flags=flags), reason)

    def test_blocks_without_events_do_not_take_forever(self):
        empty = [mlyze_writer.block(b"", START, 0)] * 2000
        path = self.file("empty.mlyze", mlyze_writer.in_blocks(empty, START, EXAMPLE_METADATA))
        self.assertEqual(self.run_limited("dump", path, timeout=20).status, 0)

    def test_a_thousand_beginnings_of_blocks_do_not_take_forever(self):
        beginning = struct.pack("<BBHIIIQQ", 0xB1, 0, 0, 0, 0, 1, START, 0)
        size = 200_000
        pieces = []
        for left in range(size, 0, -1):
            length = (left - 1) * 32
            pieces.append(beginning[:4] + struct.pack("<II", length | 1 << 31, length) + beginning[12:])
        path = self.file("beginnings.mlyze", mlyze_writer.in_blocks(pieces, START, EXAMPLE_METADATA))
        self.assertEqual(self.run_limited("verify", path, timeout=20).status, 1)

    def test_much_that_nobody_knows_takes_little_memory(self):
        text = b'{"x": [' + b"0," * 20_000_000 + b'0], "files": {"0": "a"}}'
        path = self.file("much.mlyze", plain([], START, text))
        self.assertEqual(self.run_limited("verify", path, timeout=60).status, 0)

    def test_recover_leaves_out_damaged_blocks(self):
        events = random_events(11, 20_000)
        path = self.file("in.mlyze", plain(events, START, random_metadata()))
        out = self.folder / "out.mlyze"
        self.run_ok("convert", "--compress", path, "-o", out)
        content = bytearray(out.read_bytes())
        base = mlyze_writer.read_header(content)["events"]
        blocks = list(mlyze_writer.read_blocks(bytes(content[base:])))
        self.assertGreater(len(blocks), 3)
        content[base + blocks[1]["offset"] + 100] ^= 0xFF
        content[base + blocks[2]["offset"]] = 0
        damaged = self.file("damaged.mlyze", bytes(content))
        self.run_error("convert", "--decompress", damaged, "-o", self.folder / "no.mlyze", naming=damaged)
        fixed = self.folder / "fixed.mlyze"
        self.run_warned("convert", "--recover", damaged, "-o", fixed)
        expected = events[: blocks[1]["event"]] + events[blocks[3]["event"] :]
        self.assertEqual(mlyze_writer.read(fixed.read_bytes())[2], expected)


if __name__ == "__main__":
    tap.main()
