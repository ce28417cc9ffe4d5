"""A second reader and writer of SuperSize's .size and .sizediff files, which shares nothing with the library: slow and
plain, one line of the format after the other.

A Size has containers, segments by way of its symbols, and symbols in the order of the file. Sizes of symbols are
without padding, as the file has them; `padded` gives sizes and paddings as a reader sees them.
"""

import gzip
import io
import json

VANITY = "# Created by //tools/binary_size"
BSS = (".bss", ".bss.rel.ro", ".part.end", ".relro_padding", ".tbss", "google_malloc_bss")
DATA = (".data", ".data.rel.ro", ".data.rel.ro.local", ".rodata", ".tdata", ".tdata.rel.ro", ".text")
NATIVE = BSS + DATA
ORDER = {**dict.fromkeys(DATA, 0), **dict.fromkeys(BSS, 1), ".dex": 2, ".dex.method": 3, ".pak.nontranslated": 4,
         ".pak.translations": 5, ".arsc": 6, ".other": 7}  # fmt: skip
BUILD_KEYS = ("git_revision", "gn_args", "out_directory")


class Symbol:
    """One symbol. ALIASES is None, or a list that all of a group share."""

    def __init__(self, section, address, size, name, object_path="", source_path="", component="", flags=0,
                 container=0, padding=0, disassembly=None):  # fmt: skip
        self.section = section
        self.address = address
        self.size = size
        self.name = name
        self.object_path = object_path
        self.source_path = source_path
        self.component = component
        self.flags = flags
        self.container = container
        self.padding = padding
        self.disassembly = disassembly
        self.aliases = None

    @property
    def is_overhead(self):
        return self.name.startswith("Overhead: ")

    def __repr__(self):
        return f"{self.container}:{self.section}@{self.address:x}+{self.size}({self.padding}) {self.name!r}"


class Container:
    def __init__(self, name="", metadata=None, section_sizes=None, metrics_by_file=None, extra=None):
        self.name = name
        self.metadata = {} if metadata is None else metadata
        self.section_sizes = {} if section_sizes is None else section_sizes
        self.metrics_by_file = {} if metrics_by_file is None else metrics_by_file
        self.extra = extra or {}


class Size:
    def __init__(self, symbols=(), containers=None, build_config=None, is_sparse=False, extra=None):
        self.symbols = list(symbols)
        self.containers = containers or [Container()]
        self.build_config = {} if build_config is None else build_config
        self.is_sparse = is_sparse
        self.has_components = True
        self.has_disassembly = True
        self.extra = extra or {}


def group(*symbols):
    """Makes aliases of SYMBOLS."""
    aliases = list(symbols)
    for symbol in aliases:
        symbol.aliases = aliases
    return aliases


# --- writing ---


def text_of(size):
    """The bytes of a .size file before they are compressed."""
    segments = segments_of(size)
    symbols = [symbol for segment in segments for symbol in segment[1]]
    is_multiple = len(size.containers) > 1
    lines = [VANITY, "Size File Format v1" + (".1" if is_multiple else "")]
    fields = header_of(size, is_multiple)
    lines += [str(len(fields)), fields]
    paths = sorted({(symbol.object_path, symbol.source_path) for symbol in symbols})
    lines += [str(len(paths))] + ["\t".join(path) for path in paths]
    components = sorted({symbol.component for symbol in symbols})
    if size.has_components:
        lines += [str(len(components))] + components
    lines.append("\t".join((f"<{key[0]}>" if is_multiple else "") + key[1] for key, _ in segments))
    lines.append("\t".join(str(len(members)) for _, members in segments))
    path_numbers = {path: i for i, path in enumerate(paths)}
    component_numbers = {component: i for i, component in enumerate(components)}
    blocks = [(lambda symbol: symbol.address, True), (lambda symbol: symbol.size, False)]
    if size.is_sparse:
        blocks.append((lambda symbol: symbol.padding, False))
    blocks.append((lambda symbol: path_numbers[symbol.object_path, symbol.source_path], True))
    if size.has_components:
        blocks.append((lambda symbol: component_numbers[symbol.component], True))
    for value, is_delta in blocks:
        for _, members in segments:
            numbers = [value(symbol) for symbol in members]
            if is_delta:
                numbers = [number - before for number, before in zip(numbers, [0] + numbers)]
            lines.append(" ".join(map(str, numbers)))
    previous = None
    for symbol in symbols:
        line = symbol.name
        if symbol.aliases is not None and symbol.aliases is not previous:
            line += f"\t0{len(symbol.aliases):x}"
        previous = symbol.aliases
        lines.append(line + (f"\t{symbol.flags:x}" if symbol.flags else ""))
    text = encode("\n".join(lines) + "\n")
    if size.has_disassembly:
        disassembled = [(i, symbol.disassembly) for i, symbol in enumerate(symbols) if symbol.disassembly is not None]
        text += encode(" ".join(str(i) for i, _ in disassembled) + "\n")
        for _, disassembly in disassembled:
            text += f"{len(encode(disassembly))}\n".encode() + encode(disassembly)
    return text


def encode(text):
    return text.encode("utf-8", "surrogateescape")


def segments_of(size):
    """[((container, section), symbols)] in the order in which they appear."""
    segments = {}
    for symbol in size.symbols:
        segments.setdefault((symbol.container, symbol.section), []).append(symbol)
    return list(segments.items())


def header_of(size, is_multiple):
    fields = {**size.extra, "has_components": size.has_components, "has_disassembly": size.has_disassembly,
              "has_padding": size.is_sparse}  # fmt: skip
    parts = [{**container.extra, "metadata": container.metadata, "section_sizes": container.section_sizes,
              "metrics_by_file": container.metrics_by_file} for container in size.containers]  # fmt: skip
    if is_multiple:
        fields["build_config"] = size.build_config
        fields["containers"] = [{**part, "name": container.name} for part, container in zip(parts, size.containers)]
    else:
        fields.update(parts[0])
        fields["metadata"] = {**parts[0]["metadata"], **size.build_config}
    return json.dumps(fields, indent=2, sort_keys=True)


def compress(text, level=9):
    """One gzip member, exactly as the reference makes it."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=out, mtime=0) as stream:
        stream.write(text)
    return out.getvalue()


def save(size):
    return compress(text_of(size))


def save_diff(before, after, removed=(), added=(), extra=None):
    """A .sizediff. BEFORE and AFTER are sizes, or files already."""
    before, after = (half if isinstance(half, bytes) else save(half) for half in (before, after))
    lists = [compress(encode("\n".join([str(len(paths)), *paths]) + "\n")) if paths else b"" for paths in (removed, added)]
    fields = {**(extra or {}), "version": 1, "before_length": len(before)}
    for key, content in zip(("removed_sources_length", "added_sources_length"), lists):
        if content:
            fields[key] = len(content)
    header = json.dumps(fields, indent=2, sort_keys=True)
    return f"{VANITY}\nDIFF\n{len(header)}\n{header}\n".encode() + lists[0] + lists[1] + before + after


# --- reading ---


class Lines:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def bytes(self, count):
        taken = self.data[self.at : self.at + count]
        assert len(taken) == count, "the text ends too early"
        self.at += count
        return taken.decode("utf-8", "surrogateescape")

    def line(self):
        end = self.data.index(b"\n", self.at)
        taken = self.data[self.at : end].decode("utf-8", "surrogateescape")
        self.at = end + 1
        return taken

    def lines(self):
        return [self.line() for _ in range(int(self.line()))]


def parse(data):
    """The Size in the bytes of a file."""
    lines = Lines(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    lines.line()
    version = lines.line()
    assert version in ("Size File Format v1", "Size File Format v1.1"), version
    fields = json.loads(lines.bytes(int(lines.line())))
    assert lines.line() == ""
    size = size_of(fields, version.endswith(".1"))
    paths = [path.split("\t") for path in lines.lines()]
    components = lines.lines() if size.has_components else [""]
    names = lines.line()
    counts = lines.line()
    segments = []
    for name, count in zip(names.split("\t"), counts.split("\t")):
        if name:
            container, section = name[1:].split(">", 1) if version.endswith(".1") else (0, name)
            segments.append([Symbol(section, 0, 0, "", container=int(container)) for _ in range(int(count))])
    read_numbers(lines, segments, "address", True)
    read_numbers(lines, segments, "size", False)
    if size.is_sparse:
        read_numbers(lines, segments, "padding", False)
    read_numbers(lines, segments, "object_path", True)
    if size.has_components:
        read_numbers(lines, segments, "component", True)
    for segment in segments:
        waiting = []
        for symbol in segment:
            symbol.object_path, symbol.source_path = paths[symbol.object_path]
            symbol.component = components[symbol.component] if size.has_components else ""
            waiting = read_symbol(lines.line(), symbol, waiting)
            size.symbols.append(symbol)
        assert not waiting, "aliases that are missing"
    if size.has_disassembly:
        for index in [int(index) for index in lines.line().split(" ") if index]:
            size.symbols[index].disassembly = lines.bytes(int(lines.line()))
    assert not lines.data[lines.at :].strip(b"\n"), "more text after the end"
    return size


def size_of(fields, is_multiple):
    size = Size()
    size.has_components = fields.pop("has_components", False)
    size.has_disassembly = fields.pop("has_disassembly", False)
    size.is_sparse = fields.pop("has_padding", False)
    if is_multiple:
        size.build_config = fields.pop("build_config")
        size.containers = []
        for part in fields.pop("containers"):
            size.containers.append(container_of(part))
    else:
        container = container_of({"name": "", **{key: fields.pop(key) for key in list(fields)
                                                 if key in ("metadata", "section_sizes", "metrics_by_file")}})  # fmt: skip
        size.build_config = {key: container.metadata.pop(key) for key in BUILD_KEYS if key in container.metadata}
        size.containers = [container]
    size.extra = fields
    return size


def container_of(part):
    known = [part.pop(key, None) for key in ("name", "metadata", "section_sizes", "metrics_by_file")]
    return Container(*known, extra=part)


def read_numbers(lines, segments, field, is_delta):
    for segment in segments:
        numbers = [int(number) for number in lines.line().split(" ") if number]
        assert len(numbers) == len(segment), f"{len(numbers)} {field} for {len(segment)} symbols"
        total = 0
        for symbol, number in zip(segment, numbers):
            total = total + number if is_delta else number
            setattr(symbol, field, total)


def read_symbol(line, symbol, waiting):
    """Fills SYMBOL; WAITING is the group that it belongs to, with a None for every symbol that is still to come."""
    symbol.name, *fields = line.split("\t")
    count = 0
    if len(fields) == 2 or fields and fields[0].startswith("0"):
        count = int(fields.pop(0), 16)
    symbol.flags = int(fields[0], 16) if fields else 0
    if count:
        assert not waiting, "a group inside of a group"
        waiting = [None] * count
        symbol.aliases = waiting
    elif waiting:
        symbol.aliases = waiting
    if waiting:
        waiting[waiting.index(None)] = symbol
    return waiting if None in waiting else []


def parse_diff(data):
    """(before, after, removed sources, added sources)"""
    lines = Lines(data)
    lines.line()
    assert lines.line() == "DIFF"
    fields = json.loads(lines.bytes(int(lines.line())))
    lines.line()
    assert fields["version"] == 1
    parts = []
    for key in ("removed_sources_length", "added_sources_length", "before_length"):
        parts.append(data[lines.at : lines.at + fields.get(key, 0)])
        lines.at += fields.get(key, 0)
    lists = [Lines(gzip.decompress(part)).lines() if part else [] for part in parts[:2]]
    return parse(parts[2]), parse(data[lines.at :]), lists[0], lists[1]


# --- what follows from it ---


def padded(size):
    """[(size with padding, padding)] of all symbols."""
    symbols = [symbol for _, members in segments_of(size) for symbol in members]
    if size.is_sparse:
        return [(symbol.size + (0 if symbol.is_overhead else symbol.padding), symbol.padding) for symbol in symbols]
    result = []
    for i, symbol in enumerate(symbols):
        padding = 0
        if i > 0 and symbol.is_overhead:
            result.append((symbol.size, symbol.size))
            continue
        before = symbols[i - 1]
        same_segment = i > 0 and (before.container, before.section) == (symbol.container, symbol.section)
        if same_segment and before.address > 0 and symbol.address > 0 and symbol.section in NATIVE:
            size_before = result[-1][0] - result[-1][1]
            if symbol.address == before.address and symbol.aliases is not None and symbol.aliases is before.aliases:
                padding = result[-1][1]
            elif symbol.address != before.address or size_before == 0:
                padding = symbol.address - (before.address + size_before)
            if symbol.size + padding < 0:
                padding = 0
        result.append((symbol.size + padding, padding))
    return result


def sort_key(symbol):
    """Of a full archive, inside of a container."""
    is_filled = symbol.address != 0 and symbol.size > 0 and not symbol.is_overhead
    return (ORDER[symbol.section], symbol.is_overhead, symbol.address, is_filled,
            symbol.name.startswith("**"), encode(symbol.name), encode(symbol.object_path))  # fmt: skip


def sort(size):
    """Sorts the symbols as a full archive has them. Aliases follow one another before and after."""
    units = []
    for symbol in size.symbols:
        if symbol.aliases is None:
            units.append([symbol])
        elif symbol is symbol.aliases[0]:
            units.append(symbol.aliases)
    for unit in units:
        unit.sort(key=sort_key)
    units.sort(key=lambda unit: (unit[0].container, sort_key(unit[0])))
    size.symbols = [symbol for unit in units for symbol in unit]
