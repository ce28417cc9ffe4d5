"""Writes and reads pprof profiles (profile.proto of google/pprof), for the tests, independently of the program.

A profile is written from plain tuples and read back into plain objects. Unknown fields are kept beside the known ones.
"""

import dataclasses
import gzip


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


@dataclasses.dataclass
class Mapping:
    id: int
    start: int = 0
    limit: int = 0
    offset: int = 0
    filename: str = ""
    build_id: str = ""
    flags: tuple = (False, False, False, False)


@dataclasses.dataclass
class Location:
    id: int
    mapping: int = 0
    address: int = 0
    lines: list = dataclasses.field(default_factory=list)  # (function id, line), innermost first
    folded: bool = False


@dataclasses.dataclass
class Function:
    id: int
    name: str = ""
    system_name: str = ""
    filename: str = ""
    start_line: int = 0


@dataclasses.dataclass
class Profile:
    mappings: list = dataclasses.field(default_factory=list)
    locations: list = dataclasses.field(default_factory=list)
    samples: list = dataclasses.field(default_factory=list)  # ([location id, leaf first], [value])
    functions: list = dataclasses.field(default_factory=list)
    strings: list = dataclasses.field(default_factory=list)
    sample_types: list = dataclasses.field(default_factory=lambda: [("samples", "count")])
    others: list = dataclasses.field(default_factory=list)  # (field, value or bytes) of the profile itself

    def frames(self, location_id):
        """[(function name, file name, line)] of a location, innermost first."""
        location = next(one for one in self.locations if one.id == location_id)
        functions = {function.id: function for function in self.functions}
        return [(functions[id].name, functions[id].filename, line) for id, line in location.lines]


class Writer:
    def __init__(self, packed=True):
        self.packed = packed
        self.strings = [""]

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def write(self, profile, extra=b""):
        out = bytearray()
        for kind, unit in profile.sample_types:
            out += message(1, number(1, self.string(kind)) + number(2, self.string(unit)))
        for locations, values in profile.samples:
            if self.packed:
                content = message(1, b"".join(map(varint, locations))) + message(2, b"".join(map(varint, values)))
            else:
                content = b"".join(number(1, id) for id in locations) + b"".join(number(2, one) for one in values)
            out += message(2, content)
        for one in profile.mappings:
            content = number(1, one.id) + number(2, one.start) + number(3, one.limit) + number(4, one.offset)
            content += number(5, self.string(one.filename)) + number(6, self.string(one.build_id))
            out += message(3, content + b"".join(number(7 + i, 1) for i, flag in enumerate(one.flags) if flag))
        for one in profile.locations:
            content = number(1, one.id) + (number(2, one.mapping) if one.mapping else b"") + number(3, one.address)
            for function, line in one.lines:
                content += message(4, number(1, function) + number(2, line))
            out += message(4, content + (number(5, 1) if one.folded else b""))
        for one in profile.functions:
            content = number(1, one.id) + number(2, self.string(one.name)) + number(3, self.string(one.system_name))
            out += message(5, content + number(4, self.string(one.filename)) + number(5, one.start_line))
        for text in self.strings:
            out += message(6, text.encode("utf-8", "surrogateescape"))
        return bytes(out) + extra


def encode(profile, packed=True, extra=b""):
    return Writer(packed).write(profile, extra)


def fields(data):
    """(number, wire type, value or bytes) of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
            assert len(value) == size, "cut off"
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, kind, value


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def decode(data):
    """The profile in DATA, gzipped or not."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    profile = Profile(sample_types=[])
    parts = list(fields(data))
    profile.strings = [value.decode("utf-8", "surrogateescape") for field, _, value in parts if field == 6]
    readers = {2: read_sample, 3: read_mapping, 4: read_location, 5: read_function}
    for field, _, value in parts:
        if field in readers:
            readers[field](profile, value)
        elif field == 1:
            pair = {number: value for number, _, value in fields(value)}
            profile.sample_types.append((profile.strings[pair.get(1, 0)], profile.strings[pair.get(2, 0)]))
        elif field != 6:
            profile.others.append((field, value))
    return profile


def scalars(content):
    return {field: value for field, kind, value in fields(content) if kind == 0}


def repeated(content, wanted):
    found = []
    for field, kind, value in fields(content):
        if field == wanted and kind == 0:
            found.append(value)
        elif field == wanted:
            at = 0
            while at < len(value):
                one, at = read_varint(value, at)
                found.append(one)
    return found


def read_sample(profile, content):
    profile.samples.append((repeated(content, 1), repeated(content, 2)))


def read_mapping(profile, content):
    values = scalars(content)
    profile.mappings.append(
        Mapping(values.get(1, 0), values.get(2, 0), values.get(3, 0), values.get(4, 0), profile.strings[values.get(5, 0)],
                profile.strings[values.get(6, 0)], tuple(bool(values.get(7 + i, 0)) for i in range(4)))
    )


def read_location(profile, content):
    values = scalars(content)
    lines = [scalars(value) for field, kind, value in fields(content) if (field, kind) == (4, 2)]
    profile.locations.append(
        Location(values.get(1, 0), values.get(2, 0), values.get(3, 0), [(one.get(1, 0), one.get(2, 0)) for one in lines],
                 bool(values.get(5, 0)))
    )


def read_function(profile, content):
    values = scalars(content)
    profile.functions.append(
        Function(values.get(1, 0), *(profile.strings[values.get(i, 0)] for i in (2, 3, 4)), values.get(5, 0))
    )
