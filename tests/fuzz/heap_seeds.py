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


def word(kind, ticks, value):
    return struct.pack("<Q", kind | ticks << 3 | value << 16)


def note(kind, content, ticks=0):
    return word(5, ticks, kind | len(content) << 16) + content + bytes(-len(content) % 8)


def window(*records, size=256):
    return b"".join(records).ljust(size, b"\0")


def spools():
    """Windows of two threads: stacks, allocations, frees, a marker. The harness puts headers in front of them."""
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


def mapping_spools():
    """The same with calls that change what is mapped: (call, accessible, address, size, old address, old size)."""
    map_, unmap, protect, move_out, move_in, copy, grow = range(1, 8)
    page = 4096
    base = 1 << 32

    def call(what, accessible, first, count, old_first=0, old_count=0):
        old = base + old_first * page if old_count else 0
        content = struct.pack("<HHIQQQQ", what, accessible, 5, base + first * page, count * page, old, old_count * page)
        return note(7, content, 1)

    def spool(*windows):
        stack = note(1, struct.pack("<IIQQ", 5, 0, 0x401000, 0x402000))
        first = window(stack, *windows[0], size=512)
        return b"\1" + first + b"".join(window(*records, size=512) for records in windows[1:])

    yield "trimmed", spool([call(map_, 1, 0, 100), call(unmap, 0, 0, 10), call(unmap, 0, 90, 10)], [], [], [])
    opened = [call(map_, 0, 0, 64), call(protect, 1, 3, 4), call(protect, 1, 5, 20), call(protect, 0, 4, 9)]
    yield "reserved", spool(opened, [call(protect, 1, 60, 4)], [call(unmap, 0, 0, 64)], [])  # fmt: skip
    moved = [call(map_, 1, 0, 8), call(protect, 0, 2, 2), call(move_out, 0, 0, 8), call(move_in, 0, 50, 16, 0, 8)]
    copied = [call(copy, 0, 200, 20, 50, 20)]
    yield "moved", spool(moved, [call(map_, 1, 100, 4)], [call(grow, 0, 50, 20, 50, 16)], copied)
    regions = [call(map_, 1, 2 * i, 1) for i in range(9)]
    protects = [call(protect, i % 2, 0, 40) for i in range(9)]
    yield "many", spool(regions, regions[:5], protects, [call(copy, 0, 40, 40, 0, 40)] * 5)


def joined():
    """A byte that says which process forked which, the sizes of two traces, and three traces."""
    start = mlyze_writer.EXAMPLE_START

    def trace(pid, begins, events, **extra):
        text = mlyze_writer.EXAMPLE_METADATA.rstrip()[:-1] + b', "pid": %d}' % pid
        return mlyze_writer.plain(events, begins, text)

    parent = trace(1, start, [("alloc", start + 10 * i, 4096 + 16 * i, 100, 0, 0) for i in range(6)])
    events = [("free", start + 30, 4096), ("alloc", start + 31, 4096, 7, 1, 1), ("free", start + 32, 64)]
    child = trace(2, start + 25, events)
    other = trace(3, start + 1, [*mlyze_writer.EXAMPLE_EVENTS, (9, start + 2000, b"payload")])
    for name, how in ("forked", 0b110), ("ended", 0b1111110), ("running", 1), ("alone", 0):
        yield name, bytes([how]) + struct.pack("<HH", len(parent), len(child)) + parent + child + other
    example = mlyze_writer.example()
    yield "same", b"\x04" + struct.pack("<HH", len(example), len(example)) + example * 3
    yield "cut", b"\x06" + struct.pack("<HH", len(parent) - 3, len(child)) + parent[:-3] + child + example[:300]


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
