"""A small ELF reader for the tests: header, sections, segments and symbol tables, 32- and 64-bit, both byte orders.

It trusts its input as far as Python's own bounds checks allow: a file that is cut or lies raises ElfError.
"""

import struct
import zlib
from dataclasses import dataclass

ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
EM_386, EM_ARM, EM_X86_64, EM_AARCH64, EM_PPC64 = 3, 40, 62, 183, 21
PT_LOAD, PT_NOTE = 1, 4
SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 0, 1, 2, 3, 4, 7, 8, 9
SHT_DYNSYM = 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 1, 2, 4, 0x800
SHN_UNDEF, SHN_LORESERVE, SHN_ABS, SHN_COMMON, SHN_XINDEX = 0, 0xFF00, 0xFFF1, 0xFFF2, 0xFFFF
STB_LOCAL, STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE = 0, 1, 2, 10
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE, STT_TLS, STT_GNU_IFUNC = 0, 1, 2, 3, 4, 6, 10


class ElfError(Exception):
    pass


@dataclass
class Section:
    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entsize: int


@dataclass
class Segment:
    type: int
    flags: int
    offset: int
    vaddr: int
    filesz: int
    memsz: int


@dataclass
class Symbol:
    name: bytes
    value: int
    size: int
    type: int
    binding: int
    section: int


class ElfFile:
    def __init__(self, data):
        self.data = data
        try:
            self.read_header()
            self.read_sections()
            self.read_segments()
        except struct.error as error:
            raise ElfError(f"cut short: {error}") from None

    @classmethod
    def open(cls, path):
        with open(path, "rb") as file:
            return cls(file.read())

    def unpack(self, layout, offset):
        return struct.unpack_from(self.order + layout, self.data, offset)

    def read_header(self):
        if self.data[:4] != b"\x7fELF" or self.data[4] not in (1, 2) or self.data[5] not in (1, 2):
            raise ElfError("no ELF file")
        self.bits = 32 if self.data[4] == 1 else 64
        self.order = "<" if self.data[5] == 1 else ">"
        layout = "HHIIIIIHHHHHH" if self.bits == 32 else "HHIQQQIHHHHHH"
        (self.type, self.machine, _, self.entry, self.phoff, self.shoff, self.flags, _, self.phentsize, self.phnum,
         self.shentsize, self.shnum, self.shstrndx) = self.unpack(layout, 16)

    def read_sections(self):
        self.sections = []
        if self.shoff == 0:
            return
        first = self.section_header(0)
        count = self.shnum or first.size
        names = first.link if self.shstrndx == SHN_XINDEX else self.shstrndx
        self.sections = [self.section_header(index) for index in range(count)]
        if 0 < names < count:
            table = self.raw(self.sections[names])
            for section in self.sections:
                section.name = string_at(table, section.name).decode("utf-8", "replace")

    def section_header(self, index):
        layout = "IIIIIIIIII" if self.bits == 32 else "IIQQQQIIQQ"
        name, kind, flags, address, offset, size, link, info, align, entsize = self.unpack(
            layout, self.shoff + index * self.shentsize
        )
        return Section(index, name, kind, flags, address, offset, size, link, info, align, entsize)

    def read_segments(self):
        self.segments = []
        for index in range(self.phnum if self.phoff else 0):
            at = self.phoff + index * self.phentsize
            if self.bits == 32:
                kind, offset, vaddr, _, filesz, memsz, flags, _ = self.unpack("IIIIIIII", at)
            else:
                kind, flags, offset, vaddr, _, filesz, memsz, _ = self.unpack("IIQQQQQQ", at)
            self.segments.append(Segment(kind, flags, offset, vaddr, filesz, memsz))

    def section(self, name):
        """The first section of that name, or None."""
        return next((section for section in self.sections if section.name == name), None)

    def raw(self, section):
        """The bytes of a section as they stand in the file."""
        if section.type == SHT_NOBITS:
            raise ElfError(f"{section.name} has no bytes in the file")
        if section.offset + section.size > len(self.data):
            raise ElfError(f"{section.name} reaches beyond the file")
        return self.data[section.offset : section.offset + section.size]

    def contents(self, section):
        """The bytes of a section, inflated when it is compressed."""
        data = self.raw(section)
        if not section.flags & SHF_COMPRESSED:
            return data
        kind, = struct.unpack_from(self.order + "I", data)
        if kind != 1:
            raise ElfError(f"{section.name}: compression {kind} is not known here")
        return zlib.decompress(data[12 if self.bits == 32 else 24 :])

    def symbol_section(self, kind):
        """The first section of that type (SHT_SYMTAB or SHT_DYNSYM), or None."""
        return next((section for section in self.sections if section.type == kind), None)

    def symbols(self, kind):
        """The entries of .symtab or .dynsym without the null entry; none when there is no such table."""
        section = self.symbol_section(kind)
        return [] if section is None else list(self.symbols_of(section))

    def symbols_of(self, section):
        table = self.contents(section)
        strings = self.contents(self.sections[section.link])
        layout = struct.Struct(self.order + ("IIIBBH" if self.bits == 32 else "IBBHQQ"))
        usable = len(table) - len(table) % layout.size
        for number, fields in enumerate(layout.iter_unpack(table[:usable])):
            if number == 0:
                continue
            if self.bits == 32:
                name, value, size, info, _, shndx = fields
            else:
                name, info, _, shndx, value, size = fields
            yield Symbol(string_at(strings, name), value, size, info & 15, info >> 4, shndx)

    def build_id(self):
        """The GNU build ID in hex, or None."""
        for section in self.sections:
            if section.type == SHT_NOTE:
                data = self.raw(section)
                at = 0
                while at + 12 <= len(data):
                    name_size, size, kind = struct.unpack_from(self.order + "III", data, at)
                    name_end = at + 12 + (name_size + 3) // 4 * 4
                    if kind == 3 and data[at + 12 : at + 16] == b"GNU\0":
                        return data[name_end : name_end + size].hex()
                    at = name_end + (size + 3) // 4 * 4
        return None

    def offset_of_address(self, address):
        """The file offset that ADDRESS is loaded from, or None."""
        for segment in self.segments:
            if segment.type == PT_LOAD and segment.vaddr <= address < segment.vaddr + segment.filesz:
                return address - segment.vaddr + segment.offset
        return None


def string_at(table, offset):
    """The NUL-terminated string at OFFSET; empty where there is none."""
    if offset >= len(table):
        return b""
    end = table.find(b"\0", offset)
    return table[offset:end] if end >= 0 else b""
