"""A second reader of symbfiles, written from the description of the format alone: slow, plain, and strict."""

MAGIC = b"symbfile"
HEADER, RANGE, PAD, STRINGS = 1, 2, 3, 4


class Range:
    def __init__(self, va, length, depth, function, file, call_file, call_line, lines):
        self.va, self.length, self.depth, self.function = va, length, depth, function
        self.file, self.call_file, self.call_line, self.lines = file, call_file, call_line, lines

    def as_json(self):
        return {"va": f"0x{self.va:x}", "length": self.length, "depth": self.depth, "function": self.function,
                "file": self.file, "call_file": self.call_file, "call_line": self.call_line or None,
                "lines": [list(entry) for entry in self.lines]}


class Pad:
    def __init__(self, va, frames):
        self.va, self.frames = va, frames

    def as_json(self):
        return {"va": f"0x{self.va:x}",
                "frames": [{"function": f, "file": file or None, "line": line or None} for f, file, line in self.frames]}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at


def fields(body):
    """[(number, value)]: an int for varints, bytes for what has a length."""
    at, found = 0, []
    while at < len(body):
        key, at = varint(body, at)
        if key & 7 == 0:
            value, at = varint(body, at)
        elif key & 7 == 2:
            size, at = varint(body, at)
            value, at = body[at : at + size], at + size
            assert len(value) == size, "cut off"
        else:
            raise AssertionError(f"wire type {key & 7}")
        found.append((key >> 3, value))
    return found


def packed(data):
    at, numbers = 0, []
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers


def zigzag(value):
    return (value >> 1) ^ -(value & 1)


def messages(data):
    """(type, body) of each message."""
    assert data[:8] == MAGIC, data[:8]
    at = 8
    while at < len(data):
        size, at = varint(data, at)
        kind, at = varint(data, at)
        assert at + size <= len(data), "cut off"
        yield kind, data[at : at + size]
        at += size


def records(data):
    """Every range and pad, in the order of the file."""
    table, va, found = [], None, []
    for number, (kind, body) in enumerate(messages(data)):
        assert (kind == HEADER) == (number == 0)
        if kind == STRINGS:
            table = [value.decode() for key, value in fields(body) if key == 1]
        elif kind == RANGE:
            va, record = read_range(fields(body), table, va)
            found.append(record)
        elif kind == PAD:
            va, record = read_pad(fields(body), table, va)
            found.append(record)
    return found


def address(values, whole, before):
    if whole in values:
        return values[whole]
    assert before is not None, "a delta comes first"
    return (before + zigzag(values[1])) & 0xFFFFFFFFFFFFFFFF


def text(values, inline, reference, table):
    if inline in values:
        return values[inline].decode()
    return table[values[reference]] if reference in values else None


def read_range(found, table, before):
    values = dict(found)
    va = address(values, 12, before)
    lines, at = [], 0
    if 8 in values:
        columns = dict(fields(values[8]))
        offsets, numbers = packed(columns.get(1, b"")), packed(columns.get(2, b""))
        assert len(offsets) == len(numbers)
        for delta, line in zip(offsets, numbers):
            at += delta
            lines.append((at, line))
    return va, Range(va, values.get(2, 0), values.get(7, 0), text(values, 3, 9, table), text(values, 4, 10, table),
                     text(values, 6, 11, table), values.get(5, 0), lines)


def read_pad(found, table, before):
    values = dict(found)
    va = address(values, 5, before)
    columns = [packed(values.get(number, b"")) for number in (2, 3, 4)]
    assert len({len(column) for column in columns}) == 1
    return va, Pad(va, [(table[function], table[file], line) for function, file, line in zip(*columns)])


class Chains:
    """Looks up by the plain rule: all ranges that contain an address, by depth. The innermost one has the line of the
    last entry at or before the address, the others the file and line of the call inside them."""

    def __init__(self, ranges):
        self.ranges = sorted(ranges, key=lambda record: record.va)

    def at(self, addresses):
        """For each address [(function, file, line)], innermost first; None and 0 for what is unknown."""
        found, reached, near = {}, 0, []
        for address in sorted(set(addresses)):
            while reached < len(self.ranges) and self.ranges[reached].va <= address:
                near.append(self.ranges[reached])
                reached += 1
            near = [record for record in near if address < record.va + record.length]
            found[address] = chain(near, address)
        return [found[address] for address in addresses]


def chain(ranges, address):
    frames = sorted(ranges, key=lambda record: -record.depth)
    depths = [record.depth for record in frames]
    assert depths == list(reversed(range(len(frames)))), f"depths {depths} at {address:x}"
    answer = []
    for number, record in enumerate(frames):
        if number == 0:
            answer.append((record.function, record.file, line_at(record, address)))
        else:
            inner = frames[number - 1]
            call_file = inner.call_file if inner.call_file is not None else record.file
            answer.append((record.function, call_file, inner.call_line))
    return answer


def line_at(record, address):
    lines = [line for offset, line in record.lines if offset <= address - record.va]
    return lines[-1] if lines else 0


# --- cutting one into parts ---


def put_varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def put_field(number, value):
    if isinstance(value, int):
        return put_varint(number << 3) + put_varint(value)
    return put_varint(number << 3 | 2) + put_varint(len(value)) + value


def put_message(kind, body):
    return put_varint(len(body)) + put_varint(kind) + body


def split(data, count):
    """COUNT symbfiles with the ranges of one, each complete in itself: whole addresses, strings in place. A function stays
    with what is inlined in it."""
    table, va, header, groups = [], None, b"", []
    for kind, body in messages(data):
        if kind == HEADER:
            header = MAGIC + put_message(HEADER, body)
        elif kind == STRINGS:
            table = [value for key, value in fields(body) if key == 1]
        elif kind == RANGE:
            found = fields(body)
            va = address(dict(found), 12, va)
            if dict(found).get(7, 0) == 0:
                groups.append(b"")
            groups[-1] += put_message(RANGE, whole_range(found, table, va))
    size = -(-len(groups) // count) or 1
    return [header + b"".join(groups[part * size : (part + 1) * size]) for part in range(count)]


def whole_range(found, table, va):
    texts = {9: 3, 10: 4, 11: 6}
    out = put_field(12, va)
    for key, value in found:
        if key in texts:
            out += put_field(texts[key], table[value])
        elif key not in (1, 12):
            out += put_field(key, value)
    return out
