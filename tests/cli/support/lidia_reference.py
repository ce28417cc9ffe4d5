"""The reference's Lidia rules, written a second time: what its writer makes of an ELF file, byte for byte, what its
reader answers, and a parser of Lidia files.

Layout, all little-endian, no padding: header (0x80 bytes), virtual addresses (4 or 8 bytes each), rows (8 fields of 4
or 8 bytes each), strings (u32 length + bytes; the first two are "" and "[overflow]"), line entries (2 fields of 2 or 4
bytes each). Rows are sorted by (address, depth), and what is equal keeps the order in which it was found; strings lie
in the order in which they were found.
"""

import bisect
import struct
from dataclasses import dataclass, field

from . import elf_reader as elf

MAGIC = b".dia"
HEADER_SIZE = 0x80
OVERFLOW = b"[overflow]"
GO_1_2, GO_1_16, GO_1_18, GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1


class ReferenceFails(Exception):
    """The reference makes no archive of this file; the text says why."""


@dataclass
class Row:
    address: int
    length: int
    name: bytes
    depth: int = 0
    file: bytes = b""
    lines: list = field(default_factory=list)
    call_file: bytes = b""
    call_line: int = 0


# Writing


def write_from_elf(data):
    """The archive of an ELF file, as the reference writes it."""
    try:
        file = elf.ElfFile(data)
    except elf.ElfError as error:
        raise ReferenceFails(str(error)) from None
    rows = [
        Row(symbol.value, symbol.size & 0xFFFFFFFF, symbol.name)
        for symbol in chosen_symbols(file)
        if symbol.type == elf.STT_FUNC and symbol.name
    ]
    rows += [Row(start, (end - start) & 0xFFFFFFFF, name) for start, end, name in go_functions(file)]
    return write(rows)


def write(rows, address_size=None, field_size=4, line_size=None, nul_strings=False):
    """An archive of ROWS in the order in which they are found. The sizes follow from the data unless they are given."""
    strings = NulStrings() if nul_strings else LengthStrings()
    references = [(strings.add(row.name), strings.add(row.file), strings.add(row.call_file)) for row in rows]
    order = sorted(range(len(rows)), key=lambda index: (rows[index].address, rows[index].depth))
    if address_size is None:
        address_size = 8 if any(row.address > 0xFFFFFFFF for row in rows) else 4
    if line_size is None:
        line_size = 4 if any(number > 0xFFFF for row in rows for entry in row.lines for number in entry) else 2

    lines = []
    first_line = {}
    for index, row in enumerate(rows):
        first_line[index] = len(lines) if row.lines else 0
        lines += row.lines
    row_layout = struct.Struct("<8I" if field_size == 4 else "<8Q")
    table = bytearray()
    for index in order:
        row = rows[index]
        name, source, call_file = references[index]
        table += row_layout.pack(row.length, row.depth, name, source, first_line[index], len(row.lines), call_file,
                                 row.call_line)
    code = "I" if address_size == 4 else "Q"
    addresses = struct.pack(f"<{len(order)}{code}", *(rows[index].address for index in order))
    line_layout = struct.Struct("<HH" if line_size == 2 else "<II")
    line_bytes = b"".join(line_layout.pack(*entry) for entry in lines)
    return assemble(addresses, address_size, bytes(table), field_size, strings.bytes(), line_bytes, line_size)


def assemble(addresses, address_size, table, field_size, strings, lines, line_size):
    """Puts the four parts after a header that is true of them."""
    at = HEADER_SIZE
    header = MAGIC + struct.pack("<I", 1)
    header += struct.pack("<QQQII", address_size, len(addresses) // address_size, at, crc32c(addresses), 0)
    at += len(addresses)
    header += struct.pack("<QQQII", field_size, len(table) // (8 * field_size), at, crc32c(table), 0)
    at += len(table)
    header += struct.pack("<QQII", len(strings), at, crc32c(strings), 0)
    at += len(strings)
    header += struct.pack("<QQQII", line_size, len(lines) // (2 * line_size), at, crc32c(lines), 0)
    return header + addresses + table + strings + lines


class LengthStrings:
    def __init__(self):
        self.parts = []
        self.size = 0
        self.offsets = {}
        self.add(b"")
        self.add(OVERFLOW)

    def add(self, text):
        if text not in self.offsets:
            self.offsets[text] = self.size
            self.parts.append(struct.pack("<I", len(text)) + text)
            self.size += 4 + len(text)
        return self.offsets[text]

    def bytes(self):
        return b"".join(self.parts)


class NulStrings(LengthStrings):
    """Strings as the reference's README describes them, though its code does not write them so."""

    def add(self, text):
        if text not in self.offsets:
            self.offsets[text] = self.size
            self.parts.append(text + b"\0")
            self.size += len(text) + 1
        return self.offsets[text]


# Which symbols


class NoSymbolSection(Exception):
    pass


class BadSymbolSection(Exception):
    pass


def chosen_symbols(file):
    """.symtab, or, where reading it gives any error, .dynsym; never both. A file without either has no symbols."""
    try:
        return read_symbols(file, elf.SHT_SYMTAB)
    except (NoSymbolSection, BadSymbolSection) as error:
        symtab_error = error
    try:
        return read_symbols(file, elf.SHT_DYNSYM)
    except NoSymbolSection as error:
        if isinstance(symtab_error, NoSymbolSection):
            return []
        raise ReferenceFails(f"no usable symbols: {symtab_error}; {error}") from None
    except BadSymbolSection as error:
        raise ReferenceFails(f"bad .dynsym: {error}") from None


def read_symbols(file, kind):
    section = file.symbol_section(kind)
    if section is None:
        raise NoSymbolSection("no symbol section")
    entry_size = 16 if file.bits == 32 else 24
    try:
        table = file.contents(section)
        if not table:
            raise NoSymbolSection("the symbol section is empty")
        if len(table) % entry_size != 0:
            raise BadSymbolSection("the size of the symbol section is no multiple of the size of an entry")
        if not 0 < section.link < len(file.sections):
            raise BadSymbolSection("the symbol section has no string table")
        return list(file.symbols_of(section))
    except elf.ElfError as error:
        raise BadSymbolSection(str(error)) from None


# Go's function table


class MalformedTable(Exception):
    pass


def go_functions(file):
    """(start, end, name) of every function in .gopclntab, in its order."""
    text = file.section(".text")
    if text is None:
        raise ReferenceFails("empty text")
    section = file.section(".gopclntab")
    if section is None:
        return []
    try:
        table = file.contents(section)
    except elf.ElfError as error:
        raise ReferenceFails(str(error)) from None
    if len(table) < 64:
        raise ReferenceFails(".gopclntab is too short")
    start = text_start(table) or text.address
    if not text.address <= start < text.address + text.size:
        raise ReferenceFails("runtime.text out of .text bounds")
    try:
        return list(GoTable(table, start).functions())
    except (MalformedTable, struct.error):
        return []


def text_start(table):
    """The reference reads 8 little-endian bytes at byte 24, whatever the pointer size of the table is."""
    magic, = struct.unpack_from("<I", table)
    return struct.unpack_from("<Q", table, 24)[0] if magic in (GO_1_18, GO_1_20) else 0


class GoTable:
    def __init__(self, table, start):
        self.table = table
        self.start = start
        self.order = next((order for order in "<>" if struct.unpack_from(order + "I", table)[0]
                           in (GO_1_2, GO_1_16, GO_1_18, GO_1_20)), None)
        if self.order is None or table[4] or table[5] or table[6] not in (1, 2, 4) or table[7] not in (4, 8):
            raise MalformedTable("no table of a known version")
        self.magic, = struct.unpack_from(self.order + "I", table)
        self.pointer_size = table[7]
        self.read_header()

    def read_header(self):
        self.count = self.word(0)
        if self.magic == GO_1_2:
            self.names_at = self.data_at = 0
            self.functab_at = 8 + self.pointer_size
        else:
            first = 2 if self.magic == GO_1_16 else 3
            self.names_at = self.word(first)
            self.data_at = self.functab_at = self.word(first + 4)
        modern = self.magic in (GO_1_18, GO_1_20)
        self.field_size = 4 if modern else self.pointer_size
        self.base = self.start if modern else 0

    def functions(self):
        fields = self.functab()
        for index in range(self.count):
            data_offset = fields[2 * index + 1]
            name_offset = self.unsigned(4, self.data_at + data_offset + self.field_size)
            start, end = self.base + fields[2 * index], self.base + fields[2 * index + 2]
            yield start, end, self.name(name_offset)

    def functab(self):
        size = (2 * self.count + 1) * self.field_size
        data = self.table[self.functab_at : self.functab_at + size]
        if len(data) != size:
            raise MalformedTable("the function table reaches beyond the section")
        return struct.unpack(f"{self.order}{2 * self.count + 1}{'I' if self.field_size == 4 else 'Q'}", data)

    def name(self, offset):
        end = self.table.find(b"\0", self.names_at + offset)
        if end < 0:
            raise MalformedTable("a name does not end")
        return self.table[self.names_at + offset : end]

    def word(self, number):
        return self.unsigned(self.pointer_size, 8 + number * self.pointer_size)

    def unsigned(self, size, offset):
        return struct.unpack_from(self.order + ("I" if size == 4 else "Q"), self.table, offset)[0]


# Reading


class LidiaFile:
    """A Lidia file that is whole and true, as `write` makes it."""

    def __init__(self, data, nul_strings=False):
        self.data = data
        self.nul_strings = nul_strings
        if data[:4] != MAGIC or struct.unpack_from("<I", data, 4)[0] != 1:
            raise ValueError("no Lidia file")
        self.address_size, self.count, self.addresses_at, self.addresses_crc, _ = struct.unpack_from("<QQQII", data, 8)
        self.field_size, rows, self.rows_at, self.rows_crc, _ = struct.unpack_from("<QQQII", data, 0x28)
        self.strings_size, self.strings_at, self.strings_crc, _ = struct.unpack_from("<QQII", data, 0x48)
        self.line_size, self.line_count, self.lines_at, self.lines_crc, _ = struct.unpack_from("<QQQII", data, 0x60)
        if rows != self.count:
            raise ValueError("as many rows as addresses were expected")
        code = "I" if self.address_size == 4 else "Q"
        self.addresses = struct.unpack_from(f"<{self.count}{code}", data, self.addresses_at)
        self.row_layout = struct.Struct("<8I" if self.field_size == 4 else "<8Q")

    def parts(self):
        """(name, start, end, stated CRC) of the four parts, in the order of the file."""
        rows_end = self.rows_at + self.count * self.row_layout.size
        lines_end = self.lines_at + self.line_count * 2 * self.line_size
        return (
            ("va table", self.addresses_at, self.addresses_at + self.count * self.address_size, self.addresses_crc),
            ("ranges", self.rows_at, rows_end, self.rows_crc),
            ("strings", self.strings_at, self.strings_at + self.strings_size, self.strings_crc),
            ("lines", self.lines_at, lines_end, self.lines_crc),
        )

    def check(self):
        """Raises ValueError where a checksum is wrong, a part is cut, or the addresses are not in order."""
        for name, start, end, crc in self.parts():
            if end > len(self.data):
                raise ValueError(f"{name} is cut")
            if crc32c(self.data[start:end]) != crc:
                raise ValueError(f"crc mismatch in {name}")
        if any(left > right for left, right in zip(self.addresses, self.addresses[1:])):
            raise ValueError("addresses are not in order")

    def row(self, index):
        fields = self.row_layout.unpack_from(self.data, self.rows_at + index * self.row_layout.size)
        length, depth, name, source, first_line, line_count, call_file, call_line = fields
        return Row(self.addresses[index], length, self.string(name), depth, self.string(source),
                   self.lines(first_line, line_count), self.string(call_file), call_line)

    def rows(self):
        return [self.row(index) for index in range(self.count)]

    def string(self, offset):
        at = self.strings_at + offset
        if self.nul_strings:
            return self.data[at : self.data.index(b"\0", at)]
        size, = struct.unpack_from("<I", self.data, at)
        return self.data[at + 4 : at + 4 + size]

    def lines(self, first, count):
        layout = struct.Struct("<HH" if self.line_size == 2 else "<II")
        return [layout.unpack_from(self.data, self.lines_at + (first + index) * layout.size) for index in range(count)]

    def lookup(self, address):
        """The rows that the reference answers with, innermost first: from the last row at or below the address
        backwards, each one that covers it, until a row of depth 0 has been seen."""
        found = []
        index = bisect.bisect_right(self.addresses, address) - 1
        while index >= 0:
            row = self.row(index)
            if row.address <= address < (row.address + row.length) % (1 << 64):
                found.append(row)
            if row.depth == 0:
                break
            index -= 1
        return found


# CRC32C: Castagnoli polynomial, reflected, initial value and final XOR 0xFFFFFFFF; 8 bytes a step, 2 bytes a table


def crc32c(data):
    far, third, second, near = crc_tables()
    crc = 0xFFFFFFFF
    whole = len(data) - len(data) % 8
    for a, b, c, d in struct.iter_unpack("<HHHH", memoryview(data)[:whole]):
        crc = far[a ^ crc & 0xFFFF] ^ third[b ^ crc >> 16] ^ second[c] ^ near[d]
    for byte in data[whole:]:
        crc = crc >> 8 ^ CRC_OF_BYTE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def crc_of_byte(value):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC_OF_BYTE = [crc_of_byte(value) for value in range(256)]
CRC_TABLES = []


def crc_tables():
    """Table k maps two bytes to their CRC after 2 * k further zero bytes; made when first needed."""
    if not CRC_TABLES:
        near = []
        for value in range(65536):
            crc = CRC_OF_BYTE[value & 0xFF]
            near.append(crc >> 8 ^ CRC_OF_BYTE[(crc ^ value >> 8) & 0xFF])
        tables = [near]
        for _ in range(3):
            tables.append([near[crc & 0xFFFF] ^ crc >> 16 for crc in tables[-1]])
        CRC_TABLES.extend(reversed(tables))
    return CRC_TABLES
