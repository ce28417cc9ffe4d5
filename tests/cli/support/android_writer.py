"""Writes what Android packages hold: dex files, tables of resources, resource packs; and signs and aligns zip files.

Each writer follows the format's own documentation, and says what SuperSize would count for each part.
"""

import dataclasses
import hashlib
import struct
import zlib

NO_INDEX = 0xFFFFFFFF
PRIMITIVES = {"void": "V", "boolean": "Z", "byte": "B", "short": "S", "char": "C", "int": "I", "long": "J", "float": "F",
              "double": "D"}  # fmt: skip


def uleb(value):
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def descriptor(name):
    """The descriptor of a type: "int[]" is "[I", "org.a.B" is "Lorg/a/B;"."""
    if name.endswith("[]"):
        return "[" + descriptor(name[:-2])
    return PRIMITIVES.get(name) or f"L{name.replace('.', '/')};"


@dataclasses.dataclass
class Method:
    name: str
    result: str = "void"
    parameters: tuple = ()
    strings: tuple = ()  # that its code loads
    has_code: bool = True
    has_debug: bool = True
    catches: bool = False  # has a try block with a handler
    calls: tuple = ()  # (class, Method) that are only used

    def signature(self, owner):
        text = f"{owner}#{self.name}({','.join(self.parameters)})"
        return text if self.name in ("<init>", "<clinit>") else f"{text}: {self.result}"

    def debug(self):
        """Begins at line 1, names no parameter, and has one position."""
        return uleb(1) + uleb(len(self.parameters)) + bytes(len(self.parameters)) + b"\x0e\x00"

    def flags(self, is_direct):
        if self.name.startswith("<"):
            return 0x10008 if self.name == "<clinit>" else 0x10001
        return 0xA if is_direct else 1 if self.has_code else 0x401


@dataclasses.dataclass
class Field:
    name: str
    type: str
    value: int = None  # of a static int

    def signature(self, owner):
        return f"{owner}#{self.name}: {self.type}"


@dataclasses.dataclass
class Class:
    name: str
    superclass: str = "java.lang.Object"
    interfaces: tuple = ()
    static_fields: tuple = ()
    fields: tuple = ()
    methods: tuple = ()  # direct
    virtual_methods: tuple = ()

    def all_methods(self):
        return [*self.methods, *self.virtual_methods]

    def flags(self):
        return 1 if all(method.has_code for method in self.all_methods()) else 0x401


class Dex:
    """A dex file. `sizes` has the bytes of every class, field and method by name, `literals` those of every string."""

    def __init__(self, classes, version="035"):
        self.classes, self.version = classes, version
        self.sizes, self.literals = {}, {}
        self.collect()
        self.data = self.write()

    # --- tables ---

    def collect(self):
        types, protos, fields, methods, strings = set(), set(), set(), set(), set()

        def use(owner, method):
            types.update([descriptor(owner), descriptor(method.result), *map(descriptor, method.parameters)])
            proto = (descriptor(method.result), tuple(map(descriptor, method.parameters)))
            protos.add(proto)
            methods.add((descriptor(owner), method.name, proto))
            strings.add(method.name)
            strings.add(shorty(proto))

        for one in self.classes:
            types.update([descriptor(one.name), descriptor(one.superclass), *map(descriptor, one.interfaces)])
            for field in [*one.static_fields, *one.fields]:
                types.add(descriptor(field.type))
                strings.add(field.name)
                fields.add((descriptor(one.name), field.name, descriptor(field.type)))
            for method in one.all_methods():
                use(one.name, method)
                strings.update(method.strings)
                for owner, called in method.calls:
                    use(owner, called)
        self.strings = sorted(strings | types)
        self.string_of = {text: i for i, text in enumerate(self.strings)}
        self.types = sorted(types, key=self.string_of.get)
        self.type_of = {text: i for i, text in enumerate(self.types)}
        by_types = lambda proto: (self.type_of[proto[0]], [self.type_of[one] for one in proto[1]])  # noqa: E731
        self.protos = sorted(protos, key=by_types)
        self.proto_of = {proto: i for i, proto in enumerate(self.protos)}
        self.fields = sorted(fields, key=lambda f: (self.type_of[f[0]], self.string_of[f[1]], self.type_of[f[2]]))
        self.field_of = {field: i for i, field in enumerate(self.fields)}
        self.methods = sorted(methods, key=lambda m: (self.type_of[m[0]], self.string_of[m[1]], self.proto_of[m[2]]))
        self.method_of = {method: i for i, method in enumerate(self.methods)}

    def key(self, owner, method):
        proto = (descriptor(method.result), tuple(map(descriptor, method.parameters)))
        return descriptor(owner), method.name, proto

    # --- the file ---

    def write(self):
        tables = [self.strings, self.types, self.protos, self.fields, self.methods, self.classes]
        widths = [4, 4, 12, 8, 8, 32]
        offsets, at = [], 112
        for table, width in zip(tables, widths):
            offsets.append(at if table else 0)
            at += len(table) * width
        self.base, self.body, self.map = at, bytearray(), {}
        lists = {}
        wanted = [proto[1] for proto in self.protos] + [tuple(map(descriptor, c.interfaces)) for c in self.classes]
        for one in dict.fromkeys(filter(None, wanted)):
            lists[one] = self.put(0x1001, struct.pack(f"<I{len(one)}H", len(one), *[self.type_of[t] for t in one]), 4)
        everything = [(c, i, m) for c in self.classes for i, m in enumerate(c.all_methods())]
        debug = {(c.name, i): self.put(0x2003, m.debug()) for c, i, m in everything if m.has_code and m.has_debug}
        codes = {(c.name, i): self.write_code(m, debug.get((c.name, i), 0)) for c, i, m in everything}
        values = {c.name: self.write_values(c) for c in self.classes}
        data = {c.name: self.write_class_data(c, codes, values) for c in self.classes}
        texts = [self.put(0x2002, self.string_data(text)) for text in self.strings]
        self.count_sizes(lists)
        self.align(4)
        map_offset = self.base + len(self.body)
        order = [(0, 1, 0)] + [(i + 1, len(t), o) for i, (t, o) in enumerate(zip(tables, offsets)) if t]
        order += [(kind, *place) for kind, place in self.map.items()] + [(0x1000, 1, map_offset)]
        self.body += struct.pack("<I", len(order))
        for kind, count, offset in sorted(order, key=lambda item: item[2]):
            self.body += struct.pack("<HHII", kind, 0, count, offset)
        head = b"".join(struct.pack("<I", offset) for offset in texts)
        head += b"".join(struct.pack("<I", self.string_of[one]) for one in self.types)
        for proto in self.protos:
            head += struct.pack("<III", self.string_of[shorty(proto)], self.type_of[proto[0]], lists.get(proto[1], 0))
        for owner, name, kind in self.fields:
            head += struct.pack("<HHI", self.type_of[owner], self.type_of[kind], self.string_of[name])
        for owner, name, proto in self.methods:
            head += struct.pack("<HHI", self.type_of[owner], self.proto_of[proto], self.string_of[name])
        for one in self.classes:
            interfaces = lists.get(tuple(map(descriptor, one.interfaces)), 0)
            names = [self.type_of[descriptor(name)] for name in (one.name, one.superclass)]
            head += struct.pack("<8I", names[0], one.flags(), names[1], interfaces,
                                NO_INDEX, 0, data[one.name], values[one.name][0])  # fmt: skip
        self.items = {kind: (count, offset) for kind, count, offset in order}
        return self.seal(head, map_offset, [x for t, o in zip(tables, offsets) for x in (len(t), o)])

    def seal(self, head, map_offset, tables):
        size = self.base + len(self.body)
        rest = struct.pack("<IIIIII", size, 112, 0x12345678, 0, 0, map_offset)
        rest += struct.pack("<12I", *tables) + struct.pack("<II", len(self.body), self.base)
        rest += head + self.body
        rest = hashlib.sha1(rest).digest() + rest
        return b"dex\n" + self.version.encode() + b"\0" + struct.pack("<I", zlib.adler32(rest)) + rest

    def align(self, to):
        self.body += bytes(-(self.base + len(self.body)) % to)

    def put(self, kind, content, alignment=1):
        self.align(alignment)
        offset = self.base + len(self.body)
        count, first = self.map.get(kind, (0, offset))
        self.map[kind] = (count + 1, first)
        self.body += content
        return offset

    @staticmethod
    def string_data(text):
        units = len(text.encode("utf-16-le")) // 2
        return uleb(units) + text.encode().replace(b"\0", b"\xc0\x80") + b"\0"

    def write_code(self, method, debug_offset):
        """Returns (offset, bytes with debug information)."""
        if not method.has_code:
            return 0, 0
        code = b""
        for text in method.strings:
            number = self.string_of[text]
            code += struct.pack("<BBH", 0x1A, 0, number) if number < 0x10000 else struct.pack("<BBI", 0x1B, 0, number)
        code += b"\x0e\0"
        tail = b""
        if method.catches:
            tail = bytes(len(code) % 4) + struct.pack("<IHH", 0, 1, 1) + uleb(1) + b"\x7f" + uleb(0) + uleb(0) + uleb(0)
        arguments = 1 + sum(2 if one in ("long", "double") else 1 for one in method.parameters)
        head = struct.pack("<HHHHII", arguments + 1, arguments, 0, int(method.catches), debug_offset, len(code) // 2)
        size = len(head + code + tail) + (len(method.debug()) if debug_offset else 0)
        return self.put(0x2001, head + code + tail, 4), size

    def write_values(self, owner):
        """Static values, up to the last one that has one: (offset, [bytes of each])."""
        values = [field.value for field in self.in_order(owner, owner.static_fields)]
        while values and values[-1] is None:
            values.pop()
        encoded = [b"\x04" + struct.pack("<b", value or 0) for value in values]
        if not encoded:
            return 0, []
        return self.put(0x2005, uleb(len(encoded)) + b"".join(encoded)), [len(one) for one in encoded]

    def in_order(self, owner, fields):
        return sorted(fields, key=lambda f: self.field_of[descriptor(owner.name), f.name, descriptor(f.type)])

    def write_class_data(self, owner, codes, values):
        kinds = [owner.static_fields, owner.fields, owner.methods, owner.virtual_methods]
        content = b"".join(uleb(len(kind)) for kind in kinds)
        self.sizes[owner.name] = 32 + 4 + (len(content) if any(kinds) else 0) + (1 if values[owner.name][1] else 0)
        for i, kind in enumerate(kinds[:2]):
            before = 0
            for j, field in enumerate(self.in_order(owner, kind)):
                number = self.field_of[descriptor(owner.name), field.name, descriptor(field.type)]
                entry = uleb(number - before) + uleb(8 if i == 0 else 1)
                before = number
                content += entry
                value = values[owner.name][1][j : j + 1] if i == 0 else []
                self.sizes[field.signature(owner.name)] = len(entry) + 8 + sum(value)
        places = {id(method): codes[owner.name, i] for i, method in enumerate(owner.all_methods())}
        for kind in kinds[2:]:
            before = 0
            for method in sorted(kind, key=lambda m: self.method_of[self.key(owner.name, m)]):
                number = self.method_of[self.key(owner.name, method)]
                offset, size = places[id(method)]
                entry = uleb(number - before) + uleb(method.flags(kind is owner.methods)) + uleb(offset)
                before = number
                content += entry
                self.sizes[method.signature(owner.name)] = len(entry) + 8 + size
        return self.put(0x2000, content) if any(kinds) else 0

    def count_sizes(self, lists):
        paid = set()
        for one in self.classes:
            interfaces = tuple(map(descriptor, one.interfaces))
            if interfaces and interfaces not in paid:
                self.sizes[one.name] += 4 + 2 * len(interfaces)
            paid.add(interfaces)
            for method in one.all_methods():
                for owner, called in method.calls:
                    self.sizes.setdefault(called.signature(owner), 8)
                    self.sizes.setdefault(owner, 0)
                for text in method.strings:
                    size = 4 + len(self.string_data(text))
                    users = self.literals.setdefault(text, (size, set()))[1]
                    users.add(one.name)


def shorty(proto):
    return "".join("L" if one[0] in "[L" else one for one in (proto[0], *proto[1]))


# --- resources.arsc ---


def chunk(kind, header, body=b""):
    return struct.pack("<HHI", kind, 8 + len(header), 8 + len(header) + len(body)) + header + body


def string_pool(strings, utf8=True):
    offsets, data = [], b""
    for text in strings:
        offsets.append(len(data))
        raw = text.encode() if utf8 else text.encode("utf-16-le")
        if utf8:
            data += bytes([len(text), len(raw)]) + raw + b"\0"
        else:
            data += struct.pack("<H", len(text)) + raw + b"\0\0"
    data += bytes(-len(data) % 4)
    head = struct.pack("<IIIII", len(strings), 0, 0x100 if utf8 else 0, 28 + 4 * len(strings), 0)
    return chunk(1, head, b"".join(struct.pack("<I", one) for one in offsets) + data)


def configuration(**fields):
    """A ResTable_config of 64 bytes. Fields: offset -> bytes, as at4=b"fr"."""
    data = bytearray(struct.pack("<I", 64) + bytes(60))
    for place, value in fields.items():
        at = int(place[2:])
        data[at : at + len(value)] = value
    return bytes(data)


def type_chunk(number, config, entries, flags=0):
    """ENTRIES: bytes of each resource, or None for one that the configuration does not have."""
    offsets, data = b"", b""
    for entry in entries:
        offsets += struct.pack("<I", NO_INDEX if entry is None else len(data))
        data += entry or b""
    start = 20 + len(config) + len(offsets)
    return chunk(0x201, struct.pack("<BBHII", number, flags, 0, len(entries), start) + config, offsets + data)


def type_specification(number, count):
    return chunk(0x202, struct.pack("<BBHI", number, 0, 0, count), bytes(4 * count))


def package(name, chunks):
    raw = name.encode("utf-16-le")
    head = struct.pack("<I", 0x7F) + raw + bytes(256 - len(raw)) + bytes(20)
    return chunk(0x200, head, b"".join(chunks))


def table(chunks):
    return chunk(2, struct.pack("<I", 1), b"".join(chunks))


# --- resource packs ---


def pak(resources, aliases=(), version=5):
    """RESOURCES: [(id, bytes)]; ALIASES: [(id, index of the resource)]."""
    head = struct.pack("<IIB", 4, len(resources), 1) if version == 4 else (
        struct.pack("<IBxxxHH", 5, 1, len(resources), len(aliases)))  # fmt: skip
    at = len(head) + 6 * (len(resources) + 1) + 4 * len(aliases)
    entries, data = b"", b""
    for number, content in resources:
        entries += struct.pack("<HI", number, at + len(data))
        data += content
    entries += struct.pack("<HI", 0, at + len(data))
    return head + entries + b"".join(struct.pack("<HH", *one) for one in aliases) + data


# --- zip files ---


def add_signing_block(data, pairs=b"\x1a\x87\x09\x71" + bytes(60)):
    """Puts an APK signing block before the central directory. Returns the file and the size of the block."""
    end = data.rindex(b"PK\x05\x06")
    central = struct.unpack_from("<I", data, end + 16)[0]
    body = struct.pack("<Q", len(pairs)) + pairs
    size = len(body) + 24
    block = struct.pack("<Q", size) + body + struct.pack("<Q", size) + b"APK Sig Block 42"
    data = bytearray(data[:central] + block + data[central:])
    struct.pack_into("<I", data, end + len(block) + 16, central + len(block))
    return bytes(data), len(block)
