"""Writes small debug sections for the tests: honest ones, and ones that lie.

    dwarf = DwarfWriter(version=4)
    lines = dwarf.lines(files=["main.c"]).address(0x401000).row(10).advance(16).end().done()
    dwarf.unit(name="main.c", lines=lines, low=0x401000, high=16)
    dwarf.function("main", 0x401000, 16, children=True)
    dwarf.inlined("helper", 0x401004, 4, call_line=11)
    dwarf.end()
    dwarf.end_unit()
    data = dwarf.elf()

Every section is a `Bytes` that can be appended to by hand (`dwarf.info.u8(0xff)`), which is how the lying files are
made. An entry is (attribute, form, value) triples; its abbreviation is written where it is new.
"""

import struct

from . import elf_reader as elf
from .elf_writer import ElfWriter

SECTIONS = ("info", "abbrev", "line", "str", "line_str", "str_offsets", "addr", "ranges", "rnglists", "types")
TEXT = 0x401000

TAG = {"class": 0x02, "lexical_block": 0x0B, "compile_unit": 0x11, "structure": 0x13, "inlined": 0x1D,
       "subprogram": 0x2E, "namespace": 0x39, "imported_unit": 0x3D, "partial_unit": 0x3C, "type_unit": 0x41,
       "skeleton_unit": 0x4A}
AT = {"sibling": 0x01, "name": 0x03, "stmt_list": 0x10, "low_pc": 0x11, "high_pc": 0x12, "language": 0x13,
      "comp_dir": 0x1B, "abstract_origin": 0x31, "declaration": 0x3C, "specification": 0x47, "ranges": 0x55,
      "call_file": 0x58, "call_line": 0x59, "linkage_name": 0x6E, "str_offsets_base": 0x72, "addr_base": 0x73,
      "rnglists_base": 0x74, "dwo_name": 0x76, "noreturn": 0x87, "GNU_dwo_name": 0x2130, "GNU_dwo_id": 0x2131,
      "GNU_ranges_base": 0x2132, "GNU_addr_base": 0x2133}
FORM = {"addr": 0x01, "block2": 0x03, "block4": 0x04, "data2": 0x05, "data4": 0x06, "data8": 0x07, "string": 0x08,
        "block": 0x09, "block1": 0x0A, "data1": 0x0B, "flag": 0x0C, "sdata": 0x0D, "strp": 0x0E, "udata": 0x0F,
        "ref_addr": 0x10, "ref1": 0x11, "ref2": 0x12, "ref4": 0x13, "ref8": 0x14, "ref_udata": 0x15, "indirect": 0x16,
        "sec_offset": 0x17, "exprloc": 0x18, "flag_present": 0x19, "strx": 0x1A, "addrx": 0x1B, "ref_sup4": 0x1C,
        "strp_sup": 0x1D, "data16": 0x1E, "line_strp": 0x1F, "ref_sig8": 0x20, "implicit_const": 0x21,
        "loclistx": 0x22, "rnglistx": 0x23, "ref_sup8": 0x24, "strx1": 0x25, "strx2": 0x26, "strx3": 0x27,
        "strx4": 0x28, "addrx1": 0x29, "addrx2": 0x2A, "addrx3": 0x2B, "addrx4": 0x2C, "GNU_addr_index": 0x1F01,
        "GNU_str_index": 0x1F02, "GNU_ref_alt": 0x1F20, "GNU_strp_alt": 0x1F21}
WIDTH = {"data1": 1, "ref1": 1, "flag": 1, "strx1": 1, "addrx1": 1, "data2": 2, "ref2": 2, "strx2": 2, "addrx2": 2,
         "strx3": 3, "addrx3": 3, "data4": 4, "ref4": 4, "ref_sup4": 4, "strx4": 4, "addrx4": 4, "data8": 8,
         "ref8": 8, "ref_sig8": 8, "ref_sup8": 8}
LANGUAGE_C, LANGUAGE_CPP = 0x0C, 0x21


def uleb(value, padded_to=0):
    """PADDED_TO: at least so many bytes, the last ones saying nothing."""
    out = bytearray()
    while value >= 0x80 or len(out) + 1 < padded_to:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sleb(value):
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


class Bytes(bytearray):
    """A section: bytes, and numbers in the byte order of the file."""

    def __init__(self, order):
        super().__init__()
        self.order = order

    def number(self, value, width):
        self += (value & (1 << 8 * width) - 1).to_bytes(width, "little" if self.order == "<" else "big")
        return self

    def u8(self, value):
        return self.number(value, 1)

    def u16(self, value):
        return self.number(value, 2)

    def u32(self, value):
        return self.number(value, 4)

    def u64(self, value):
        return self.number(value, 8)

    def put(self, data):
        self += data
        return self

    def poke(self, at, value, width):
        self[at : at + width] = Bytes(self.order).number(value, width)


class DwarfWriter:
    def __init__(self, version=4, bits=64, order="<", offset_size=4):
        self.version = version
        self.bits = bits
        self.order = order
        self.offset_size = offset_size
        self.address_size = bits // 8
        for name in SECTIONS:
            setattr(self, name, Bytes(order))
        self.new_abbreviations()

    # --- entries

    def new_abbreviations(self):
        """Units from here on have a table of their own."""
        if self.abbrev:
            self.abbrev.u8(0)
        self.abbrev_offset = len(self.abbrev)
        self.codes = {}

    def abbreviation(self, tag, attributes, children=False, code=None):
        """The code for entries with these (attribute, form) or (attribute, form, implicit constant)."""
        key = (tag, children, tuple(attributes))
        if key not in self.codes or code is not None:
            self.codes[key] = code or len(self.codes) + 1
            self.abbrev.put(uleb(self.codes[key]) + uleb(TAG.get(tag, tag))).u8(int(children))
            for name, form, *constant in attributes:
                self.abbrev.put(uleb(AT.get(name, name)) + uleb(FORM.get(form, form)))
                self.abbrev.put(b"".join(map(sleb, constant)))
            self.abbrev.u16(0)
        return self.codes[key]

    def entry(self, tag, *attributes, children=False):
        """An entry with (attribute, form, value) triples; returns its offset. Its children follow up to end()."""
        shape = [(name, form, value) if form == "implicit_const" else (name, form) for name, form, value in attributes]
        code = self.abbreviation(tag, shape, children)
        offset = len(self.info)
        self.info.put(uleb(code))
        for _, form, value in attributes:
            self.value(form, value)
        return offset

    def value(self, form, value):
        info = self.info
        if form in WIDTH:
            info.number(value, WIDTH[form])
        elif form == "addr":
            info.number(value, self.address_size)
        elif form in ("strp", "sec_offset", "line_strp", "strp_sup", "GNU_ref_alt", "GNU_strp_alt", "ref_addr"):
            info.number(value, self.address_size if form == "ref_addr" and self.version < 3 else self.offset_size)
        elif form == "string":
            info.put(value.encode() + b"\0")
        elif form == "sdata":
            info.put(sleb(value))
        elif form in ("block", "exprloc"):
            info.put(uleb(len(value)) + value)
        elif form in ("block1", "block2", "block4"):
            info.number(len(value), int(form[5:])).put(value)
        elif form == "data16":
            info.put(value)
        elif form == "indirect":
            info.put(uleb(FORM[value[0]]))
            self.value(*value)
        elif form not in ("flag_present", "implicit_const"):
            info.put(uleb(value))

    def end(self, levels=1):
        self.info.put(bytes(levels))

    # --- units

    def begin_unit(self, kind=1, extra=b""):
        """A header; its length is filled in by end_unit. EXTRA: what some kinds of units have after it."""
        self.unit_start = len(self.info)
        if self.offset_size == 8:
            self.info.u32(0xFFFFFFFF)
        self.length_at = len(self.info)
        self.info.number(0, self.offset_size).u16(self.version)
        if self.version >= 5:
            self.info.u8(kind).u8(self.address_size).number(self.abbrev_offset, self.offset_size)
        else:
            self.info.number(self.abbrev_offset, self.offset_size).u8(self.address_size)
        self.info.put(extra)

    def unit(self, name="a.c", directory="/src", language=LANGUAGE_C, lines=None, low=TEXT, high=None, more=(),
             children=True):
        """A header and a root entry."""
        self.begin_unit()
        attributes = [("name", "string", name), ("comp_dir", "string", directory), ("language", "data2", language)]
        if lines is not None:
            attributes.append(("stmt_list", self.offset_form(), lines))
        if low is not None:
            attributes.append(("low_pc", "addr", low))
        if high is not None:
            attributes.append(("high_pc", "addr", low + high) if self.version < 4 else ("high_pc", "data4", high))
        self.entry("compile_unit", *attributes, *more, children=children)

    def offset_form(self):
        """What offsets into other sections are written as."""
        return "sec_offset" if self.version >= 4 else f"data{self.offset_size}"

    def end_unit(self, children=True):
        if children:
            self.end()
        self.info.poke(self.length_at, len(self.info) - self.length_at - self.offset_size, self.offset_size)

    def function(self, name, low, size, *more, children=False):
        high = ("high_pc", "addr", low + size) if self.version < 4 else ("high_pc", "udata", size)
        named = [("name", "string", name)] if name is not None else []
        return self.entry("subprogram", *named, ("low_pc", "addr", low), high, *more, children=children)

    def inlined(self, origin, low, size, call_line=1, call_file=1, children=False):
        """ORIGIN: the offset of the entry that names it, in any unit, or a name."""
        high = ("high_pc", "addr", low + size) if self.version < 4 else ("high_pc", "udata", size)
        named = ("name", "string", origin) if isinstance(origin, str) else ("abstract_origin", "ref_addr", origin)
        return self.entry("inlined", named, ("low_pc", "addr", low), high, ("call_file", "udata", call_file),
                          ("call_line", "udata", call_line), children=children)

    def string(self, text, section="str"):
        target = getattr(self, section)
        offset = len(target)
        target.put(text.encode() + b"\0")
        return offset

    def ranges_list(self, pairs, base=0):
        """A list of (start, end) addresses, in .debug_ranges or .debug_rnglists; returns its offset."""
        if self.version >= 5:
            if not self.rnglists:
                self.rnglists.u32(0).u16(5).u8(self.address_size).u8(0).u32(0)
            offset = len(self.rnglists)
            for start, end in pairs:
                self.rnglists.u8(4).put(uleb(start - base) + uleb(end - base))
            self.rnglists.u8(0)
            self.rnglists.poke(0, len(self.rnglists) - 4, 4)
            return offset
        offset = len(self.ranges)
        for start, end in pairs:
            self.ranges.number(start - base, self.address_size).number(end - base, self.address_size)
        self.ranges.number(0, self.address_size).number(0, self.address_size)
        return offset

    def lines(self, files=("a.c",), **header):
        return LineWriter(self, files, **header)

    # --- the file

    def put_into(self, file):
        for name in SECTIONS:
            data = bytes(getattr(self, name))
            if name == "abbrev":
                data += b"\0"
            if data:
                file.section(".debug_" + name, data)

    def elf(self, text_size=0x1000, symbols=()):
        """A whole file with code at TEXT. SYMBOLS: (name, address, size)."""
        file = ElfWriter(bits=self.bits, order=self.order, machine=elf.EM_X86_64 if self.bits == 64 else 8)
        text = file.text(address=TEXT, size=text_size)
        for name, address, size in symbols:
            file.symbol(name, address, size, section=text)
        self.put_into(file)
        return file.build()


class LineWriter:
    """A line table with one directory (the unit's own) and FILES."""

    def __init__(self, dwarf, files, opcode_base=13, line_base=-5, line_range=14, instruction_length=1, operations=1):
        self.dwarf = dwarf
        self.files = files
        self.opcode_base, self.line_base, self.line_range = opcode_base, line_base, line_range
        self.instruction_length, self.operations = instruction_length, operations
        self.program = Bytes(dwarf.order)
        self.line = 1

    def address(self, address):
        size = self.dwarf.address_size
        self.program.put(b"\0" + uleb(size + 1) + b"\2").number(address, size)
        return self

    def file(self, number):
        self.program.put(b"\4" + uleb(number))
        return self

    def advance(self, bytes_):
        self.program.put(b"\2" + uleb(bytes_))
        return self

    def row(self, line):
        if line != self.line:
            self.program.put(b"\3" + sleb(line - self.line))
        self.line = line
        self.program.u8(1)
        return self

    def end(self):
        self.program.put(b"\0\1\1")
        self.line = 1
        return self

    def raw(self, data):
        self.program.put(data)
        return self

    def tables(self):
        out = Bytes(self.dwarf.order)
        if self.dwarf.version < 5:
            out.put(b"\0" + b"".join(name.encode() + bytes(4) for name in self.files) + b"\0")
            return out
        out.put(bytes((1, 1, FORM["string"], 1)) + b"/src\0")
        # File 0 and file 1 are both the unit's own.
        files = [*self.files[:1], *self.files]
        out.put(bytes((2, 1, FORM["string"], 2, FORM["udata"])) + uleb(len(files)))
        return out.put(b"".join(name.encode() + b"\0\0" for name in files))

    def done(self):
        """Writes the table; returns its offset."""
        dwarf = self.dwarf
        header = Bytes(dwarf.order).u8(self.instruction_length)
        if dwarf.version >= 4:
            header.u8(self.operations)
        header.u8(1).u8(self.line_base).u8(self.line_range).u8(self.opcode_base)
        header.put(bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))[: self.opcode_base - 1]).put(self.tables())
        body = Bytes(dwarf.order).u16(dwarf.version)
        if dwarf.version >= 5:
            body.u8(dwarf.address_size).u8(0)
        body.number(len(header), dwarf.offset_size).put(header).put(self.program)
        offset = len(dwarf.line)
        if dwarf.offset_size == 8:
            dwarf.line.u32(0xFFFFFFFF)
        dwarf.line.number(len(body), dwarf.offset_size).put(body)
        return offset


def pack(kind, flags, *writers):
    """What fuzz_dwarf reads: the sections of (place, DwarfWriter) pairs."""
    order = ("info", "abbrev", "line", "str", "line_str", "str_offsets", "addr", "ranges", "rnglists", "types")
    out = bytes((kind, flags))
    for place, dwarf in writers:
        for number, name in enumerate(order):
            data = bytes(getattr(dwarf, name)) + (b"\0" if name == "abbrev" else b"")
            if data:
                out += struct.pack("<BH", place | number, len(data)) + data
    return out
