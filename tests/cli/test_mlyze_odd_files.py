"""Heap traces that not every reader takes: sparse ids, newer versions, damaged blocks, other orders and types."""

import json
import random
import struct

from support import mlyze_writer, sextant, tap
from support.mlyze_writer import EXAMPLE_EVENTS, EXAMPLE_METADATA, EXAMPLE_START, plain

START = EXAMPLE_START


class MlyzeTest(sextant.ProgramTest):
    def dump(self, path):
        return self.run_ok("dump", "--json", path).json_lines()

    def compress(self, path, name="compressed.mlyze"):
        out = self.folder / name
        self.run_ok("convert", "--compress", path, "-o", out)
        return out

    def decompress(self, path):
        out = self.folder / "again.mlyze"
        self.run_ok("convert", "--decompress", path, "-o", out)
        return out.read_bytes()

    def problems(self, content):
        """What verify says, as (rule, offset); `notes` are what is not wrong."""
        result = sextant.run("verify", "--json", self.file("checked.mlyze", content))
        self.assert_no_crash(result)
        lines = result.json_lines()
        self.notes = [(line["rule"], line["offset"]) for line in lines if line.get("severity") == "note"]
        found = [(line["rule"], line["offset"]) for line in lines if line.get("severity") != "note"]
        self.assertEqual(result.status, 1 if found else 0, f"\n{result}")
        return found


class Raw(MlyzeTest):
    """Types 4 to 6 of the specification: object types, references, snapshots."""

    def setUp(self):
        super().setUp()
        self.events = [*EXAMPLE_EVENTS]
        for i, kind in enumerate((4, 5, 6, 4, 6)):
            self.events.append((kind, START + 3000 + 200 * i, bytes(range(i * 50))))
            self.events.append(("free", START + 3000 + 200 * i + 1, 0x7F0000002000 + i))
        self.path = self.file("raw.mlyze", plain(self.events, START, EXAMPLE_METADATA))

    def raw_lines(self, path):
        return [line for line in self.dump(path) if line.get("event") == "raw"]

    def test_dump_lists_them_with_their_place(self):
        content, lines = self.path.read_bytes(), self.raw_lines(self.path)
        wanted = [event for event in self.events if isinstance(event[0], int)]
        self.assertEqual([(line["type"], line["length"]) for line in lines], [(one[0], len(one[2])) for one in wanted])
        for line, event in zip(lines, wanted):
            at = line["offset"]
            self.assertEqual(content[at], event[0])
            head = len(mlyze_writer.encode(event, START)) - len(event[2])
            self.assertIn(event[2], content[at : at + head + len(event[2])])

    def test_convert_keeps_every_byte(self):
        packed = self.compress(self.path)
        self.assertEqual(mlyze_writer.read(packed.read_bytes())[2], self.events)
        self.assertEqual(self.decompress(packed), self.path.read_bytes())
        again = self.compress(packed, "again-packed.mlyze")
        self.assertEqual(again.read_bytes(), packed.read_bytes())
        lines = self.raw_lines(packed)
        self.assertEqual([(line["type"], line["length"]) for line in lines],
                         [(event[0], len(event[2])) for event in self.events if isinstance(event[0], int)])  # fmt: skip
        self.assertEqual({packed.read_bytes()[line["offset"]] for line in lines}, {0xB1})  # a block begins there

    def test_nothing_is_wrong_with_them(self):
        self.assertEqual((self.problems(self.path.read_bytes()), self.notes), ([], []))
        self.run_ok("heap", self.path)
        self.run_ok("info", self.path)

    def test_a_type_that_is_not_known_is_a_note(self):
        content = plain([*EXAMPLE_EVENTS, (7, START + 5000, b"new")], START, EXAMPLE_METADATA)
        self.assertEqual((self.problems(content), self.notes), ([], [("event-type", len(content) - 7)]))


class Sparse(MlyzeTest):
    """Ids may be any number of 32 bits. What they take in memory does not depend on them."""

    IDS = (0, 7, 2**20 + 5, 4_000_000_000, 2**32 - 2)

    def setUp(self):
        super().setUp()
        stacks = {str(id): [{"file_id": id, "line": i, "func_id": id}] for i, id in enumerate(self.IDS)}
        names = {str(id): f"n{id}" for id in reversed(self.IDS)}
        self.text = json.dumps({"functions": names, "stack_traces": stacks, "files": names}).encode()
        self.events = [("alloc", START + i, 16 * i + 16, 100 + i, id, 0) for i, id in enumerate(self.IDS)]
        self.events += [("marker", START + 50, id) for id in self.IDS]
        self.path = self.file("sparse.mlyze", plain(self.events, START, self.text))

    def test_dump(self):
        lines = self.run_ok("dump", "--json", self.path, limit_memory=True).json_lines()
        stacks = {line["stack"]: line["frames"] for line in lines if "frames" in line}
        self.assertEqual(stacks, {id: [{"file": f"n{id}", "line": i, "function": f"n{id}"}]
                                  for i, id in enumerate(self.IDS)})  # fmt: skip
        self.assertEqual([line["name"] for line in lines if line.get("event") == "marker"], [f"n{id}" for id in self.IDS])

    def test_heap(self):
        rows = self.run_ok("heap", "--leaks", "--json", self.path, limit_memory=True).json_lines()
        self.assertEqual({row["stack"]: row["frames"][0]["function"] for row in rows}, {id: f"n{id}" for id in self.IDS})
        suppressed = self.file("known", "leak:n4000000000\n")
        rows = self.run_ok("heap", "--leaks", "--json", "--suppressions", suppressed, self.path).json_lines()
        self.assertNotIn(4_000_000_000, [row["stack"] for row in rows])
        self.run_ok("heap", "--at", "n4000000000", self.path)
        self.run_ok("heap", "--tree", self.path)

    def test_verify_and_convert(self):
        self.assertEqual(self.problems(self.path.read_bytes()), [])
        self.assertEqual(self.decompress(self.compress(self.path)), self.path.read_bytes())

    def test_the_example_of_one_large_id(self):
        path = self.file("one.mlyze", plain([], START, b'{"stack_traces": {"4000000000": []}}'))
        self.assertEqual(self.dump(path)[1:], [{"stack": 4_000_000_000, "frames": []}])

    def test_the_largest_id(self):
        text = b'{"stack_traces": {"4294967295": [{"line": 3}]}}'
        path = self.file("last.mlyze", plain([("alloc", START, 16, 8, 2**32 - 1, 0)], START, text))
        self.assertEqual(self.dump(path)[1]["stack"], 2**32 - 1)
        self.assertEqual(self.problems(path.read_bytes()), [])

    def test_a_large_id_twice(self):
        text = b'{"files": {"4000000000": "a", "1": "b", "4000000000": "c"}}'
        self.assertEqual(self.problems(plain([], START, text)), [("metadata", 256 + text.rindex(b'"4000000000"'))])

    def test_ids_that_lead_nowhere(self):
        events = [("alloc", START, 16, 8, 4_000_000_001, 0), ("marker", START, 3_999_999_999)]
        content = plain(events, START, self.text)
        self.assertEqual([rule for rule, _ in self.problems(content)], ["stack-reference", "name-reference"])


class StackOrder(MlyzeTest):
    def trace(self, name, **extra):
        text = mlyze_writer.metadata([[(0, 1, 0), (0, 2, 1), (0, 3, 2)], [(0, 9, 2)], []], ["a.c"],
                                     ["main", "middle", "leaf"], **extra)  # fmt: skip
        return self.file(name, plain([("alloc", START + 1, 16, 100, 0, 0)], START, text))

    def functions(self, path, *options):
        lines = self.run_ok("dump", "--json", *options, path).json_lines()
        return [frame["function"] for line in lines if line.get("stack") == 0 and "frames" in line
                for frame in line["frames"]]  # fmt: skip

    def test_the_metadata_says_it(self):
        self.assertEqual(self.functions(self.trace("none.mlyze")), ["main", "middle", "leaf"])
        self.assertEqual(self.functions(self.trace("leaf.mlyze", stack_order="leaf_first")), ["main", "middle", "leaf"])
        root = self.trace("root.mlyze", stack_order="root_first")
        self.assertEqual(self.functions(root), ["leaf", "middle", "main"])
        (row,) = self.run_ok("heap", "--leaks", "--json", root).json_lines()
        self.assertEqual([frame["function"] for frame in row["frames"]], ["leaf", "middle", "main"])
        self.assertEqual([frame["line"] for frame in row["frames"]], [3, 2, 1])
        self.assertIn("main;middle;leaf ", self.run_ok("heap", "--folded", root).text)

    def test_the_user_says_it(self):
        for extra in {}, {"stack_order": "leaf_first"}, {"stack_order": "root_first"}:
            path = self.trace("any.mlyze", **extra)
            self.assertEqual(self.functions(path, "--root-first"), ["leaf", "middle", "main"])
            (row,) = self.run_ok("heap", "--leaks", "--json", "--root-first", path).json_lines()
            self.assertEqual(row["frames"][0]["function"], "leaf")

    def test_another_order_is_a_note(self):
        for order in "sideways", 7, None:
            content = self.trace("other.mlyze", stack_order=order).read_bytes()
            self.assertEqual((self.problems(content), self.notes), ([], [("metadata", 256)]))
            self.assertEqual(self.functions(self.folder / "other.mlyze"), ["main", "middle", "leaf"])

    def test_convert_changes_nothing(self):
        root = self.trace("root.mlyze", stack_order="root_first")
        packed = self.compress(root)
        self.assertEqual(self.functions(packed), ["leaf", "middle", "main"])
        self.assertEqual(self.decompress(packed), root.read_bytes())

    def test_problems_keep_their_offsets(self):
        text = b'{"stack_order": "root_first", "stack_traces": {"0": [{"func_id": 0}, {"func_id": 9}]}, '
        text += b'"functions": {"0": "f"}}'
        self.assertEqual(self.problems(plain([], START, text)), [("function-reference", 256 + text.index(b'{"func_id": 9'))])


class Version2(MlyzeTest):
    def setUp(self):
        super().setUp()
        content = bytearray(mlyze_writer.example())
        content[4] = 2
        content[200] = 7  # a field that version 1 does not have
        self.content = bytes(content)
        self.path = self.file("new.mlyze", self.content)
        self.warning = f"sextant: {self.path}: warning: version 2 is newer than version 1; reading what that has\n"

    def test_what_is_known_is_read_with_a_warning(self):
        for arguments in ("dump", "--json"), ("heap",), ("info",), ("heap", "--leaks"):
            result = self.run_warned(*arguments, self.path)
            self.assertEqual(result.err, self.warning)
        lines = self.run_warned("dump", "--json", self.path).json_lines()
        old = self.dump(self.file("old.mlyze", mlyze_writer.example()))
        self.assertEqual(lines[0]["header"]["version"], 2)
        self.assertEqual(lines[1:], old[1:])
        self.assertEqual(self.run_warned("info", "--json", self.path).json_lines()[0]["version"], 2)

    def test_verify_notes_it(self):
        self.assertEqual((self.problems(self.content), self.notes), ([], [("version", 4)]))

    def test_convert_keeps_the_version(self):
        out = self.folder / "out.mlyze"
        self.assertEqual(self.run_warned("convert", "--compress", self.path, "-o", out).err, self.warning)
        self.assertEqual(out.read_bytes()[4], 2)
        self.assertEqual(self.run_warned("dump", "--json", out).json_lines()[1:],
                         self.run_warned("dump", "--json", self.path).json_lines()[1:])  # fmt: skip

    def test_unknown_flags_are_refused(self):
        content = bytearray(self.content)
        content[20] = 0x80
        result = sextant.run("heap", self.file("flags.mlyze", bytes(content)))
        self.assertEqual(result.status, 1)
        self.assertIn("the events may have another meaning (offset 0x14)", result.err)


class DamagedBlocks(MlyzeTest):
    """A damaged block costs that block."""

    def setUp(self):
        super().setUp()
        self.events = many_events()
        text = mlyze_writer.metadata([[(0, i, 0)] for i in range(50)], ["f.c"], ["f"])
        path = self.file("whole.mlyze", plain(self.events, START, text))
        self.content = bytearray(self.compress(path).read_bytes())
        self.blocks = list(block_places(self.content))
        self.assertGreater(len(self.blocks), 3)

    def damage(self, *numbers):
        content = bytearray(self.content)
        for number in numbers:
            content[self.blocks[number][0] + 40] ^= 0x55
        return self.file("damaged.mlyze", bytes(content))

    def check(self, path, lost):
        """LOST: numbers of blocks, from 0."""
        gone = set()
        for number in lost:
            gone.update(range(self.blocks[number][1], self.blocks[number][2]))
        left = [event for i, event in enumerate(self.events) if i not in gone]
        result = self.run_warned("heap", "--json", path)
        (summary,) = result.json_lines()
        self.assertEqual(summary["lost_events"], len(gone))
        self.assertEqual(summary["damaged_blocks"], len(lost))
        self.assertEqual(summary["events"], len(left))
        self.assertEqual(summary["allocations"], sum(event[0] == "alloc" for event in left))
        self.assertEqual(summary["frees"], sum(event[0] == "free" for event in left))
        return result.err

    def test_one(self):
        path = self.damage(1)
        offset, first, end = self.blocks[1]
        error = self.check(path, [1])
        self.assertIn("block 2 is damaged: ", error)
        self.assertIn(f"{end - first:,} events are lost (offset {offset:#x})", error)
        (problem,) = sextant.run("verify", "--json", path).json_lines()
        self.assertEqual(problem["rule"], "block")
        self.assertIn(f"block 2, {end - first} events lost", problem["message"])
        self.assertEqual(sextant.run("verify", path).status, 1)

    def test_two_in_a_row_and_one_more(self):
        error = self.check(self.damage(0, 1, 3), [0, 1, 3])
        self.assertIn("blocks 1 to 2 are damaged: ", error)
        self.assertIn("block 4 is damaged: ", error)

    def test_the_last(self):
        self.check(self.damage(len(self.blocks) - 1), [len(self.blocks) - 1])

    def test_a_header_of_a_block(self):
        content = bytearray(self.content)
        content[self.blocks[2][0]] = 0
        self.check(self.file("damaged.mlyze", bytes(content)), [2])

    def test_dump_goes_on_and_fails(self):
        result = sextant.run("dump", "--json", self.damage(1))
        self.assertEqual(result.status, 1)
        events = [line for line in result.json_lines() if "event" in line]
        self.assertEqual(len(events), len(self.events) - (self.blocks[1][2] - self.blocks[1][1]))
        self.assert_one_error_line(result)

    def test_what_is_cut_off_is_not_all_there(self):
        path = self.file("cut.mlyze", bytes(self.content[: self.blocks[2][0] + 100]))
        result = sextant.run("heap", path)
        self.assertEqual(result.status, 1)
        self.assertIn("events can be read", result.err)


def many_events(count=20_000):
    """A program that allocates and frees."""
    chance, live, events = random.Random(5), [], []
    for i in range(count):
        if chance.random() < 0.55 or not live:
            live.append(chance.randrange(1 << 47) & ~15)
            events.append(("alloc", START + i, live[-1], chance.randrange(1 << 20), chance.randrange(50), 0))
        else:
            events.append(("free", START + i, live.pop(chance.randrange(len(live)))))
    return events


def block_places(content):
    """(offset, number of the first event, number of the event after the last) of each block."""
    at = struct.unpack_from("<Q", content, 32)[0]
    count = struct.unpack_from("<Q", content, 56)[0]
    starts = []
    while at < len(content):
        stored, first = struct.unpack_from("<I", content, at + 4)[0], struct.unpack_from("<Q", content, at + 24)[0]
        starts.append((at, first))
        at += 32 + (stored & 0x7FFFFFFF)
    ends = [first for _, first in starts[1:]] + [count]
    return [(at, first, end) for (at, first), end in zip(starts, ends)]


if __name__ == "__main__":
    tap.main()
