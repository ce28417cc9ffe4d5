"""Writes and reads OTLP profiles (opentelemetry.proto.profiles.v1development), for the tests, independently of the program.

A message is a plain structure here. It is written as protobuf or JSON, in the form of version 1.11 of opentelemetry-proto or
in that of 1.7, and read back. Unknown fields can be put anywhere.
"""

import base64
import dataclasses
import json

from .pprof import message, number, varint

GNU = "process.executable.build_id.gnu"
GO = "process.executable.build_id.go"
HTLHASH = "process.executable.build_id.htlhash"
FRAME_TYPE = "profile.frame.type"


@dataclasses.dataclass
class Mapping:
    start: int = 0
    limit: int = 0
    offset: int = 0
    filename: str = ""
    attributes: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Location:
    mapping: int = 0
    address: int = 0
    lines: list = dataclasses.field(default_factory=list)  # (index of a function, line), innermost first
    attributes: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Function:
    name: str = ""
    system_name: str = ""
    filename: str = ""
    start_line: int = 0


@dataclasses.dataclass
class Message:
    """All tables begin with a record that means none, unless it is of version 1.7."""
    mappings: list = dataclasses.field(default_factory=lambda: [Mapping()])
    locations: list = dataclasses.field(default_factory=lambda: [Location()])
    functions: list = dataclasses.field(default_factory=lambda: [Function()])
    stacks: list = dataclasses.field(default_factory=lambda: [[]])  # of indices of locations, the leaf first
    strings: list = dataclasses.field(default_factory=lambda: [""])
    attributes: list = dataclasses.field(default_factory=lambda: [("", "")])

    def frames(self, location):
        """[(function name, file name, line)] of a location, innermost first."""
        return [(self.functions[index].name, self.functions[index].filename, line)
                for index, line in self.locations[location].lines]


def packed(field, values):
    return message(field, b"".join(varint(value) for value in values)) if values else b""


def text(field, value):
    return message(field, value.encode()) if value else b""


def plain(field, value):
    return number(field, value) if value else b""


class Writer:
    """What a message refers to is put into its tables first."""

    def __init__(self, content, version=11, by_index=False, unknown=b""):
        self.content, self.version, self.by_index, self.unknown = content, version, by_index, unknown
        self.strings, self.attributes = list(content.strings), list(content.attributes)
        self.is_old = version == 7
        self.functions = [(self.string(one.name), self.string(one.system_name), self.string(one.filename), one.start_line)
                          for one in content.functions]
        self.mappings = [(one, self.string(one.filename), self.attribute_indices(one.attributes))
                         for one in content.mappings]
        self.locations = [(one, self.attribute_indices(one.attributes)) for one in content.locations]
        if self.is_old:
            return
        for key, value in self.attributes:
            self.string(key)
            if by_index:
                self.string(value)

    def string(self, value):
        if value not in self.strings:
            self.strings.append(value)
        return self.strings.index(value)

    def attribute_indices(self, attributes):
        for one in attributes.items():
            if one not in self.attributes:
                self.attributes.append(one)
        return [self.attributes.index(one) for one in attributes.items()]

    # --- protobuf ---

    def attribute(self, key, value):
        if self.by_index:
            content = number(8, self.strings.index(value))
        else:
            content = text(1, value)
        head = text(1, key) if self.is_old else plain(1, self.strings.index(key))
        return message(6, head + (message(2, content) if value else b"") + self.unknown)

    def location(self, location, attributes):
        lines = b"".join(message(3, plain(1, function) + plain(2, line)) for function, line in location.lines)
        mapping = number(1, location.mapping) if self.is_old else plain(1, location.mapping)
        return message(2, mapping + plain(2, location.address) + lines
                       + packed(5 if self.is_old else 4, attributes) + self.unknown)

    def dictionary(self):
        content = b"".join(
            message(1, plain(1, one.start) + plain(2, one.limit) + plain(3, one.offset) + plain(4, name)
                    + packed(5, attributes) + self.unknown) for one, name, attributes in self.mappings)
        content += b"".join(self.location(*one) for one in self.locations)
        content += b"".join(message(3, plain(1, name) + plain(2, system) + plain(3, file) + plain(4, start) + self.unknown)
                            for name, system, file, start in self.functions)
        content += message(4, b"") + b"".join(message(5, one.encode()) for one in self.strings)
        content += b"".join(self.attribute(*one) for one in self.attributes)
        if not self.is_old:
            content += b"".join(message(7, packed(1, stack) + self.unknown) for stack in self.content.stacks)
        return content + self.unknown

    def profile(self):
        if not self.is_old:
            samples = b"".join(message(2, plain(1, index) + packed(4, [1])) for index in range(len(self.content.stacks)))
            return message(1, plain(1, 1)) + samples + varint(3 << 3 | 1) + bytes(8) + number(4, 9) + self.unknown
        samples, indices = b"", []
        for stack in self.content.stacks:
            samples += message(2, plain(1, len(indices)) + plain(2, len(stack)) + packed(3, [1]))
            indices += stack
        return message(1, plain(1, 1)) + samples + packed(3, indices) + number(4, 5) + self.unknown

    def protobuf(self):
        resource = message(1, message(1, text(1, "host.name") + message(2, text(1, "a")))) + message(
            2, message(1, text(1, "scope")) + message(2, self.profile()) + self.unknown) + text(3, "schema") + self.unknown
        return message(1, resource) + message(2, self.dictionary()) + self.unknown

    # --- JSON ---

    def tree(self, extra=None):
        extra = extra or {}
        value_of = ((lambda value: {"stringValueStrindex": self.strings.index(value)}) if self.by_index
                    else (lambda value: {"stringValue": value}))
        key_of = (lambda key: {"key": key}) if self.is_old else (lambda key: {"keyStrindex": self.strings.index(key)})
        lines = "line" if self.is_old else "lines"

        def record(**members):
            return {**{key: value for key, value in members.items() if value not in (0, "0", [], "")}, **extra}

        def location(one, attributes):
            members = record(mappingIndex=one.mapping, address=str(one.address), attributeIndices=attributes)
            if one.lines:
                members[lines] = [record(functionIndex=function, line=str(line)) for function, line in one.lines]
            return {**({"mappingIndex": one.mapping} if self.is_old else {}), **members}

        profile = {"profileId": base64.b64encode(bytes(16)).decode()}
        if self.is_old:
            indices = []
            profile["sample"] = []
            for stack in self.content.stacks:
                profile["sample"].append({"locationsStartIndex": len(indices), "locationsLength": len(stack),
                                          "value": ["1"]})
                indices += stack
            profile["locationIndices"] = indices
        else:
            profile["samples"] = [{"stackIndex": index, "values": ["1"]} for index in range(len(self.content.stacks))]
        dictionary = {
            "mappingTable": [record(memoryStart=str(one.start), memoryLimit=str(one.limit), fileOffset=str(one.offset),
                                    filenameStrindex=name, attributeIndices=attributes)
                             for one, name, attributes in self.mappings],
            "locationTable": [location(*one) for one in self.locations],
            "functionTable": [record(nameStrindex=name, systemNameStrindex=system, filenameStrindex=file,
                                     startLine=str(start)) for name, system, file, start in self.functions],
            "stringTable": self.strings,
            "attributeTable": [{**key_of(key), "value": value_of(value)} for key, value in self.attributes],
            **extra,
        }
        if not self.is_old:
            dictionary["stackTable"] = [{"locationIndices": stack} for stack in self.content.stacks]
        return {"resourceProfiles": [{"resource": {}, "scopeProfiles": [{"scope": {}, "profiles": [profile]}]}],
                "dictionary": dictionary, **extra}


def encode(content, **options):
    return Writer(content, **options).protobuf()


def encode_json(content, extra=None, snake=False, indent=None, **options):
    tree = Writer(content, **options).tree(extra)
    return json.dumps(to_snake(tree) if snake else tree, indent=indent).encode()


def to_snake(tree):
    """The same with the keys of the .proto files."""
    if isinstance(tree, list):
        return [to_snake(one) for one in tree]
    if not isinstance(tree, dict):
        return tree
    return {"".join("_" + letter.lower() if letter.isupper() else letter for letter in key): to_snake(value)
            for key, value in tree.items()}


# --- reading ---


def fields(data):
    """[(number, value, the bytes of it all)]"""
    out, at = [], 0

    def take():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        start = at
        key = take()
        if key & 7 == 0:
            value = take()
        elif key & 7 == 2:
            size = take()
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut off"
        elif key & 7 in (1, 5):
            size = 8 if key & 7 == 1 else 4
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError(f"wire type {key & 7}")
        out.append((key >> 3, value, data[start:at]))
    return out


def one(record, wanted, default=0):
    return next((value for field, value, _ in fields(record) if field == wanted), default)


def every(record, wanted):
    return [value for field, value, _ in fields(record) if field == wanted]


def dictionary_of(data):
    return b"".join(every(data, 2))


def decode(data):
    """The locations, functions and strings of a message; indices of other tables are not followed."""
    dictionary = dictionary_of(data)
    strings = [value.decode() for value in every(dictionary, 5)]
    functions = [Function(*(strings[one(record, field)] for field in (1, 2, 3)), one(record, 4))
                 for record in every(dictionary, 3)]
    locations = [Location(one(record, 1), one(record, 2), [(one(line, 1), one(line, 2)) for line in every(record, 3)])
                 for record in every(dictionary, 2)]
    return Message(mappings=[], locations=locations, functions=functions, strings=strings)


def decode_json(data):
    dictionary = json.loads(data)["dictionary"]

    def get(record, key, default=0):
        snake = next(iter(to_snake({key: 0})))
        return record.get(key, record.get(snake, default))
    strings = get(dictionary, "stringTable", [])
    functions = [Function(*(strings[get(record, key)] for key in ("nameStrindex", "systemNameStrindex", "filenameStrindex")),
                          int(get(record, "startLine"))) for record in get(dictionary, "functionTable", [])]
    locations = [Location(get(record, "mappingIndex"), int(get(record, "address")),
                          [(get(line, "functionIndex"), int(get(line, "line")))
                           for line in record.get("lines", record.get("line", []))])
                 for record in get(dictionary, "locationTable", [])]
    return Message(mappings=[], locations=locations, functions=functions, strings=strings)
