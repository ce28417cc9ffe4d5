"""Heap traces (.mlyze) from the specification, slow and plain: a writer and a reader that share nothing with the library.

An event is a tuple: ("alloc", time, address, size, stack, thread), ("free", time, address), ("gc", time, objects, bytes),
("marker", time, name id) or (type, time, payload) with a type of 4 or more. Times are absolute.
"""

import ctypes
import json
import struct

BLOCK_MOST = 65536
FLAG_BLOCKS, FLAG_METADATA_END, FLAG_CHECKSUMS, FLAG_UNCLEAN, FLAG_SAMPLED, FLAG_METADATA_LZ4 = 1, 2, 4, 8, 16, 32
FLAG_METADATA_TABLES = 64
RAW, LZ4, COLUMNS, COLUMNS_ZSTD = 0, 1, 3, 4
NAMES = ["alloc", "free", "gc", "marker"]


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def metadata(stacks=(), files=(), functions=(), **extra):
    """The bytes of the metadata as the reference writes it; a stack is a list of (file, line, function)."""
    frames = {
        str(i): [{"file_id": file, "line": line, "func_id": function} for file, line, function in stack]
        for i, stack in enumerate(stacks)
    }
    names = {"files": {str(i): name for i, name in enumerate(files)},
             "functions": {str(i): name for i, name in enumerate(functions)}}  # fmt: skip
    return json.dumps({"stack_traces": frames, **names, **extra}).encode()


def header(start, metadata_size, version=1, reserved=b""):
    return struct.pack("<4sIQI", b"MTRC", version, start, metadata_size) + reserved.ljust(236, b"\0")


def encode(event, before):
    kind, time = event[0], event[1]
    if kind == "alloc":
        _, _, address, size, stack, thread = event
        rest = struct.pack("<Q", address) + varint(size) + varint(stack) + struct.pack("<H", thread)
    elif kind == "free":
        rest = struct.pack("<Q", event[2])
    elif kind == "gc":
        rest = varint(event[2]) + varint(event[3])
    elif kind == "marker":
        rest = varint(event[2])
    else:
        rest = varint(len(event[2])) + event[2]
    number = NAMES.index(kind) if kind in NAMES else kind
    return bytes([number]) + varint(time - before) + rest


def encode_all(events, start):
    out = []
    for event in events:
        out.append(encode(event, start))
        start = event[1]
    return b"".join(out)


def plain(events, start=1_700_000_000_000_000, text=None):
    text = metadata() if text is None else text
    return header(start, len(text)) + text + encode_all(events, start)


EXAMPLE_START = 1_700_000_000_000_000
EXAMPLE_METADATA = metadata([[(0, 42, 0), (1, 123, 1)], [(0, 50, 0)]], ["/app/main.py", "/app/data.py"],
                            ["main", "process_data", "phase-1"])  # fmt: skip
EXAMPLE_EVENTS = [
    ("marker", EXAMPLE_START + 5, 2),
    ("alloc", EXAMPLE_START + 105, 0x7F0000001000, 128, 0, 1),
    ("alloc", EXAMPLE_START + 105, 0x7F0000002000, 16384, 1, 2),
    ("free", EXAMPLE_START + 1105, 0x7F0000001000),
    ("gc", EXAMPLE_START + 1107, 3, 300),
]


def example():
    """The worked example of the format's description: 583 bytes."""
    return plain(EXAMPLE_EVENTS, EXAMPLE_START, EXAMPLE_METADATA)


# --- reading ---


class Bytes:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        if len(self.data) - self.at < count:
            raise ValueError(f"cut off at {self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                if value >= 1 << 64:
                    raise ValueError("more than 64 bits")
                return value

    def u16(self):
        return struct.unpack("<H", self.take(2))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def at_end(self):
        return self.at == len(self.data)


def decode_all(data, time):
    source = Bytes(data)
    while not source.at_end():
        kind = source.take(1)[0]
        time += source.varint()
        if kind == 0:
            address, size, stack = source.u64(), source.varint(), source.varint()
            yield ("alloc", time, address, size, stack, source.u16())
        elif kind == 1:
            yield ("free", time, source.u64())
        elif kind == 2:
            yield ("gc", time, source.varint(), source.varint())
        elif kind == 3:
            yield ("marker", time, source.varint())
        elif kind < 0x80:
            yield (kind, time, source.take(source.varint()))
        else:
            raise ValueError(f"no event of type {kind}")


def read_header(data):
    magic, version, start, size = struct.unpack_from("<4sIQI", data)
    assert magic == b"MTRC" and version == 1
    flags, codec, block_size, events, events_size, metadata_at, count = struct.unpack_from("<IIIQQQQ", data, 20)
    return {"start": start, "metadata_size": size, "flags": flags, "codec": codec, "block_size": block_size,
            "events": events or 256 + size, "events_size": events_size, "metadata": metadata_at or 256,
            "event_count": count}  # fmt: skip


def read(data):
    """The header, the metadata and the events of a trace, plain or in blocks."""
    head = read_header(data)
    text = data[head["metadata"] : head["metadata"] + head["metadata_size"]]
    end = head["metadata"] if head["flags"] & FLAG_METADATA_END else len(data)
    body = data[head["events"] : end]
    if not head["flags"] & FLAG_BLOCKS:
        return head, text, list(decode_all(body, head["start"]))
    if head["flags"] & FLAG_CHECKSUMS:
        assert crc32c(data[:64] + bytes(4) + data[68:256]) == struct.unpack_from("<I", data, 64)[0]
        assert crc32c(text) == struct.unpack_from("<I", data, 68)[0]
    if head["flags"] & FLAG_METADATA_LZ4:
        size = struct.unpack_from("<Q", text)[0]
        text = unpack_lz4(text[8:])
        assert len(text) == size
    if head["flags"] & FLAG_METADATA_TABLES:
        text = unpack_tables(text)
    events = []
    time = head["start"]
    for block in read_blocks(body):
        assert (block["event"], block["time"]) == (len(events), time)
        events += block["events"]
        time = events[-1][1]
    assert head["event_count"] == len(events)
    assert head["events_size"] == len(encode_all(events, head["start"]))
    return head, text, events


def read_blocks(body):
    at = 0
    while at < len(body):
        mark, codec, zero, stored_size, size, crc, time, event = struct.unpack_from("<BBHIIIQQ", body, at)
        assert mark == 0xB1 and zero == 0
        stored = body[at + 32 : at + 32 + (stored_size & 0x7FFFFFFF)]
        content = (
            stored
            if stored_size >> 31
            else unpack_zstd(stored, size)
            if codec == COLUMNS_ZSTD
            else unpack_lz4(stored)
        )
        assert len(content) == size and crc32c(content) == crc
        events = list(read_columns(content, time) if codec in (COLUMNS, COLUMNS_ZSTD) else decode_all(content, time))
        yield {"offset": at, "codec": codec, "size": size, "time": time, "event": event, "events": events,
               "stored_size": 32 + len(stored)}  # fmt: skip
        at += 32 + len(stored)


def unpack_zstd(data, size):
    """All frames. Python has no module for that, but libsextant needs the library."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size + 1)
    made = library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert made == size
    return out.raw[:size]


def unpack_tables(data):
    """The JSON of metadata that is stored as tables."""
    form, zero, names_size, names_stored, tree_size, tree_stored = struct.unpack_from("<IIQQQQ", data)
    assert (form, zero) == (1, 0) and len(data) == 40 + names_stored + tree_stored
    names = Bytes(unpack_zstd(data[40 : 40 + names_stored], names_size))
    tree = Bytes(unpack_zstd(data[40 + names_stored :], tree_size))

    def column(source):
        return Bytes(source.take(source.varint()))

    def read_ids(source, count):
        steps, ids, last = column(source), [], -1
        for _ in range(count):
            last += 1 + (steps.varint() if steps.data else 0)
            ids.append(last)
        return ids

    def read_strings():
        count = names.varint()
        ids, sizes = read_ids(names, count), column(names)
        return {key: names.take(sizes.varint()).decode(errors="surrogateescape") for key in ids}

    def zigzag(value):
        return value >> 1 ^ -(value & 1)

    rest = names.take(names.varint()).decode()
    files, functions = read_strings(), read_strings()
    node_count, stack_count = tree.varint(), tree.varint()
    parents, function_column, file_column, line_column = (column(tree) for _ in range(4))
    nodes, recent = [], {}
    for number in range(node_count):
        up, function, file = parents.varint(), function_column.varint(), file_column.varint()
        last = recent.get(function % 4096, (0, 0, 0))
        _, last_file, last_line = last if last[0] == function else (function, 0, 0)
        line = last_line + zigzag(line_column.varint())
        file = file - 1 if file else last_file
        recent[function % 4096] = (function, file, line)
        nodes.append((number - up if up else None, {"file_id": file, "line": line, "func_id": function}))
    ids, leaves, leaf, stacks = read_ids(tree, stack_count), column(tree), 0, {}
    for key in ids:
        leaf += zigzag(leaves.varint())
        frames, node = [], leaf - 1 if leaf else None
        while node is not None:
            frames.append(nodes[node][1])
            node = nodes[node][0]
        stacks[key] = frames
    for name, table in (("stack_traces", stacks), ("files", files), ("functions", functions)):
        content = json.dumps({str(key): value for key, value in table.items()}, ensure_ascii=False)
        rest = rest.replace(f'"{name}": {{}}', f'"{name}": {content}', 1)
    return rest.encode(errors="surrogateescape")


def unpack_lz4(data):
    """One block of LZ4: literals, then a copy of what is OFFSET bytes back, and so on."""
    source, out = Bytes(data), bytearray()

    def length(nibble):
        total = nibble
        while nibble == 15:
            more = source.take(1)[0]
            total += more
            if more != 255:
                break
        return total

    while True:
        token = source.take(1)[0]
        out += source.take(length(token >> 4))
        if source.at_end():
            return bytes(out)
        offset = source.u16()
        for _ in range(length(token & 15) + 4):
            out.append(out[-offset])


def pack_lz4(data):
    """A block without any copies."""
    count = len(data)
    if count < 15:
        return bytes([count << 4]) + data
    count -= 15
    return bytes([0xF0]) + b"\xff" * (count // 255) + bytes([count % 255]) + data


def read_columns(data, time):
    sizes = struct.unpack_from("<10I", data)
    columns, at = [], 40
    for size in sizes:
        columns.append(Bytes(data[at : at + size]))
        at += size
    assert at == len(data)
    tags, deltas, reused, places, released, strays, stacks, sizes, threads, rest = columns
    successors, size_of = {}, {}
    allocated, freed, stack, thread = [], [], 0, 0

    def address(distance, others, differences, own):
        if distance:
            return others[-distance]
        coded = differences.varint()
        difference = coded >> 1 if coded & 1 == 0 else -(coded + 1 >> 1)
        turned = turn(own[-1] if own else 0, 60) + difference & 0xFFFFFFFFFFFFFFFF
        return turn(turned, 4)

    while not tags.at_end():
        tag = tags.take(1)[0]
        time += deltas.varint() if tag >> 3 == 31 else tag >> 3
        if tag & 7 == 0:
            place = address(reused.varint(), freed, places, allocated)
            coded = stacks.varint()
            successor = coded - 1 if coded else successors.get(stack % 1024, 0)
            successors[stack % 1024] = stack = successor
            coded = sizes.varint()
            size_of[stack % 1024] = coded - 1 if coded else size_of.get(stack % 1024, 0)
            coded = threads.varint()
            thread = coded - 1 if coded else thread
            allocated.append(place)
            yield ("alloc", time, place, size_of[stack % 1024], stack, thread)
        elif tag & 7 == 1:
            place = address(released.varint(), allocated, strays, freed)
            freed.append(place)
            yield ("free", time, place)
        elif tag & 7 == 2:
            yield ("gc", time, rest.varint(), rest.varint())
        elif tag & 7 == 3:
            yield ("marker", time, rest.varint())
        else:
            kind = rest.take(1)[0]
            yield (kind, time, rest.take(rest.varint()))
    assert all(column.at_end() for column in columns)


def turn(value, left):
    return (value << left | value >> 64 - left) & 0xFFFFFFFFFFFFFFFF


# --- blocks and the index ---


def zigzag(value):
    return value << 1 if value >= 0 else -value * 2 - 1


def make_columns(events, time):
    """Columns that have nothing from before: every address, stack, size and thread is there."""
    columns = [b""] * 10
    last = {"alloc": 0, "free": 0}
    for event in events:
        kind, delta = event[0], event[1] - time
        time = event[1]
        number = NAMES.index(kind) if kind in NAMES else 4
        columns[0] += bytes([number | min(delta, 31) << 3])
        columns[1] += varint(delta) if delta >= 31 else b""
        if kind in last:
            at = 2 if kind == "alloc" else 4
            difference = turn(event[2], 60) - turn(last[kind], 60) & 0xFFFFFFFFFFFFFFFF
            columns[at] += b"\0"
            columns[at + 1] += varint(zigzag(difference - (1 << 64 if difference >> 63 else 0)))
            last[kind] = event[2]
        if kind == "alloc":
            columns[6] += varint(event[4] + 1)
            columns[7] += varint(event[3] + 1)
            columns[8] += varint(event[5] + 1)
        elif kind in ("gc", "marker"):
            columns[9] += b"".join(varint(value) for value in event[2:])
        elif kind != "free":
            columns[9] += bytes([kind]) + varint(len(event[2])) + event[2]
    return join_columns(columns)


def join_columns(columns):
    return struct.pack("<10I", *map(len, columns)) + b"".join(columns)



def block(content, time, event, codec=LZ4, stored=None, size=None, crc=None):
    """A block with any lie in it that a test wants."""
    raw = codec == RAW
    stored = stored if stored is not None else content if raw else pack_lz4(content)
    length = len(stored) | (1 << 31 if raw else 0)
    size = len(content) if size is None else size
    crc = crc32c(content) if crc is None else crc
    return struct.pack("<BBHIIIQQ", 0xB1, codec, 0, length, size, crc, time, event) + stored


def in_blocks(blocks, start=EXAMPLE_START, text=None, count=0, events_size=0, codec=LZ4, flags=0):
    """A whole file of BLOCKS, which are bytes."""
    text = metadata() if text is None else text
    reserved = struct.pack("<IIIQQQQIIQQI", FLAG_BLOCKS | FLAG_CHECKSUMS | flags, codec, BLOCK_MOST, 256 + len(text),
                           events_size, 256, count, 0, crc32c(text), 0, 0, 0)  # fmt: skip
    head = header(start, len(text), reserved=reserved)
    head = head[:64] + struct.pack("<I", crc32c(head)) + head[68:]
    return head + text + b"".join(blocks)


def read_index(data):
    magic, version, entry_size, block_size, size, mark, count, events, crc, zero, last = struct.unpack_from(
        "<4sIIIQQQQIIQ", data
    )
    assert (magic, version, entry_size, block_size, zero) == (b"MIDX", 1, 48, BLOCK_MOST, 0)
    assert crc32c(data[:48] + data[52:]) == crc and len(data) == 64 + 48 * count
    names = ("offset", "event", "time", "live_bytes", "live_count", "stored_size", "size", "flags")
    entries = [dict(zip(names, struct.unpack_from("<QQQQIIII", data, 64 + 48 * i))) for i in range(count)]
    return {"size": size, "mark": mark, "events": events, "last_time": last, "entries": entries}


def live(events):
    """Bytes and blocks that are live after EVENTS."""
    sizes = {}
    for event in events:
        if event[0] == "alloc":
            sizes[event[2]] = event[3]
        elif event[0] == "free":
            sizes.pop(event[2], None)
    return sum(sizes.values()), len(sizes)


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
