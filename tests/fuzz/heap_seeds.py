"""Seeds of the harnesses for heap traces, what lies beside them, and what a recorder leaves. See make-seeds."""

import struct

from support import mlyze_writer


def traces():
    start = mlyze_writer.EXAMPLE_START
    text = mlyze_writer.EXAMPLE_METADATA
    events = [*mlyze_writer.EXAMPLE_EVENTS, (9, start + 2000, b"payload"), ("free", start + 3000, 0)]
    content = mlyze_writer.encode_all(events, start)
    columns = mlyze_writer.make_columns(events, start)
    last, count = events[-1][1], len(events)
    more = mlyze_writer.encode_all([("free", last + 1, 16), ("alloc", last + 1, 16, 1 << 40, 1, 65535)], last)
    yield "example", mlyze_writer.example()
    yield "plain", mlyze_writer.plain(events, start, text)
    yield "empty", mlyze_writer.plain([])
    for name, codec, body in ("raw", 0, content), ("lz4", 1, content), ("columns", 3, columns):
        blocks = [mlyze_writer.block(body, start, 0, codec), mlyze_writer.block(more, last, count)]
        yield name, mlyze_writer.in_blocks(blocks, start, text, count + 2, len(content) + len(more), codec)


def packed():
    text = mlyze_writer.EXAMPLE_METADATA
    packed = struct.pack("<Q", len(text)) + mlyze_writer.pack_lz4(text)
    content = mlyze_writer.encode_all(mlyze_writer.EXAMPLE_EVENTS, mlyze_writer.EXAMPLE_START)
    blocks = [mlyze_writer.block(content, mlyze_writer.EXAMPLE_START, 0)]
    flags = mlyze_writer.FLAG_METADATA_LZ4
    yield "packed", mlyze_writer.in_blocks(blocks, text=packed, count=5, events_size=len(content), flags=flags)


def spools():
    """Windows of two threads: stacks, allocations, frees, a marker. The harness puts headers in front of them."""
    def word(kind, ticks, value):
        return struct.pack("<Q", kind | ticks << 3 | value << 16)

    def note(kind, content):
        return word(5, 0, kind | len(content) << 16) + content + bytes(-len(content) % 8)

    def window(*records):
        return b"".join(records).ljust(256, b"\0")

    stack = note(1, struct.pack("<IIQQ", 5, 0, 0x401000, 0x402000))
    module = note(2, struct.pack("<QQQIHH", 0x400000, 0x500000, 0, 0, 8, 4) + b"/bin/app" + b"\1\2\3\4")
    alloc = [word(1, 10, 0x1000 + 16 * i) + struct.pack("<II", 32, 5) for i in range(4)]
    free = [word(2, 15, 0x1000 + 16 * i) for i in range(4)]
    others = note(3, struct.pack("<II", 1, 4711) + b"worker") + note(4, b"phase") + note(5, struct.pack("<QQ", 3, 300))
    wide = word(4, 1, 1) + struct.pack("<QQQ", 1 << 60, 1 << 40, 5)
    wide += word(3, 0, 0) + word(4, 1, 2) + struct.pack("<QQQ", 1 << 60, 0, 0)
    yield "two-threads", b"\1" + window(stack, module, *alloc) + window(others, *free) + window(*alloc) + window(wide)
    yield "empty", b"\1"
    yield "file", b"\0MTRC\1"
    saved = checkpoint()
    size = len(saved) // 8 * 8
    yield "checkpoint", b"\5" + (alloc[0] + free[0]).ljust(size, b"\0") + (stack + module).ljust(size, b"\0") + saved


def checkpoint():
    """What was saved of two streams, each with a free that comes next; see src/mlyze/spool_checkpoint.c."""
    text = struct.pack("<4Q", 256, 0, 1700000000000000, 0) + bytes(256) + struct.pack("<H", 8) + b"x.events"
    text += struct.pack("<IQQ", 1, 4096 + 65536, 4096 + 2 * 65536)
    text += struct.pack("<I", 2)
    for stream in range(2):
        text += struct.pack("<IIQQIIQB", stream, 0, 0, 1000, stream, 0, 0, 1)
        text += struct.pack("<BHQQII", 2, 0, 0x1000, 0, 0, 0)
    text += struct.pack("<IQQI", 1, 0x2000, 1000, 0) + struct.pack("<BI", 0, 0)
    text += struct.pack("<IIQB", 0, 0, 0, 1)
    return text + struct.pack("<QQQQIIBQ", 0, 1, 0x10000, 0x20000, 5, 0, 3, 0)


def caches():
    """The first byte says which file it is, and whether the rest stands alone or replaces the end of a right one."""
    yield "right-index", b"\2"
    yield "right-states", b"\3"
    entry = struct.pack("<QQQQIIII", 258, 0, 1700000000000000, 0, 0, 9, 9, 0)
    yield "index-of-one", b"\0" + bytes(40) + struct.pack("<QQQ", 12000, 0, 1 << 51) + entry
    yield "last-entry", b"\2" + struct.pack("<QIIII", 5000, 100, 65000, 65000, 0)
    yield "last-state", b"\3" + bytes([1, 5, 100, 2, 1, 3, 5, 50, 6, 50, 0, 0, 0])


def metadata():
    yield "example", mlyze_writer.EXAMPLE_METADATA
    yield "empty", b"{}"
    yield "gaps", b'{"files": {"7": "a\\ud83d\\ude00\\udc80"}, "functions": {"0": "f", "3": "g"}, "more": [1, {"x": null}]}'
    yield "sparse", b'{"stack_order": "root_first", "stack_traces": {"4000000000": [{"line": 1}, {"file_id": 4294967294}]}}'
    yield "frames", b'{"stack_traces": {"2": [{"line": 1, "extra": [[]]}, {"file_id": null, "func_id": 4294967295}]}}'
    entry = struct.pack("<QQQQIIII", 258, 0, 0, 0, 0, 6, 6, 0)
    yield "index", struct.pack("<QQIIQ", 1, 2, 0, 0, 2) + entry
