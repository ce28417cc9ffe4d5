"""Writes small ELF files for the tests: honest ones, and ones that lie.

    elf = ElfWriter(bits=32, order=">", machine=EM_PPC)
    text = elf.section(".text", address=0x1000, data=bytes(64), flags=SHF_ALLOC | SHF_EXECINSTR)
    elf.symbol("main", 0x1000, 16, section=text)
    data = elf.build()

Every field of the file header and of a section or program header can be overridden after the layout is done
(`elf.header_lies["shnum"] = 9`, `text.lies["offset"] = 1 << 60`), which is how the lying files are made.
"""

import struct
import zlib

from . import elf_reader as elf

EHDR_FIELDS = ("type", "machine", "version", "entry", "phoff", "shoff", "flags", "ehsize", "phentsize", "phnum",
               "shentsize", "shnum", "shstrndx")
SHDR_FIELDS = ("name", "type", "flags", "address", "offset", "size", "link", "info", "align", "entsize")


class WrittenSection:
    def __init__(self, name, kind, flags, address, data, size, link, info, align, entsize):
        self.name = name
        self.type = kind
        self.flags = flags
        self.address = address
        self.data = data
        self.size = len(data) if size is None else size
        self.link = link
        self.info = info
        self.align = align
        self.entsize = entsize
        self.offset = 0
        self.index = 0
        self.lies = {}


class WrittenSegment:
    def __init__(self, kind, flags, sections, fields):
        self.type = kind
        self.flags = flags
        self.sections = sections
        self.fields = fields


class ElfWriter:
    def __init__(self, bits=64, order="<", machine=elf.EM_X86_64, type=elf.ET_EXEC, entry=0):
        self.bits = bits
        self.order = order
        self.machine = machine
        self.type = type
        self.entry = entry
        self.sections = []
        self.segments = []
        self.tables = {elf.SHT_SYMTAB: [], elf.SHT_DYNSYM: []}
        self.wanted_tables = set()
        self.header_lies = {}
        self.ident_lies = {}
        self.lies_of_tables = {}

    def section(self, name, data=b"", type=elf.SHT_PROGBITS, flags=0, address=0, size=None, link=0, info=0, align=1,
                entsize=0):
        """Adds a section; LINK is an index or another section. SIZE is for NOBITS sections."""
        made = WrittenSection(name, type, flags, address, data, size, link, info, align, entsize)
        self.sections.append(made)
        made.index = len(self.sections)
        return made

    def text(self, address=0x401000, size=0x100, name=".text", align=16):
        """The usual section of code, with a segment that loads it."""
        made = self.section(name, bytes(size), flags=elf.SHF_ALLOC | elf.SHF_EXECINSTR, address=address, align=align)
        if self.type != elf.ET_REL:
            self.segment(elf.PT_LOAD, 5, [made])
        return made

    def segment(self, type, flags=4, sections=(), **fields):
        """Adds a program header that spans SECTIONS; FIELDS override offset, vaddr, paddr, filesz, memsz, align."""
        self.segments.append(WrittenSegment(type, flags, list(sections), fields))

    def table(self, kind=elf.SHT_SYMTAB):
        """Asks for a symbol table even when it has no symbols."""
        self.wanted_tables.add(kind)

    def symbol(self, name, value, size=0, type=elf.STT_FUNC, binding=elf.STB_GLOBAL, section=None,
               table=elf.SHT_SYMTAB):
        """Adds a symbol; SECTION is a section, a number such as SHN_ABS, or None for the first section. A NAME
        that is a number is an offset in the string table, true or not."""
        self.wanted_tables.add(table)
        label = name.encode() if isinstance(name, str) else name
        self.tables[table].append((label, value, size, type, binding, section))

    def build_id(self, hexadecimal):
        note = self.note(3, b"GNU\0", bytes.fromhex(hexadecimal))
        return self.section(".note.gnu.build-id", note, type=elf.SHT_NOTE, flags=elf.SHF_ALLOC, align=4)

    def note(self, kind, name, content):
        padded = content + bytes(-len(content) % 4)
        return struct.pack(self.order + "III", len(name), len(content), kind) + name + bytes(-len(name) % 4) + padded

    def compressed(self, data, align=1, kind=1, stated_size=None):
        """DATA as the content of a section with SHF_COMPRESSED."""
        size = len(data) if stated_size is None else stated_size
        if self.bits == 32:
            return struct.pack(self.order + "III", kind, size, align) + zlib.compress(data)
        return struct.pack(self.order + "IIQQ", kind, 0, size, align) + zlib.compress(data)

    def build(self):
        """The bytes of the file: header, program headers, sections, section headers."""
        saved = list(self.sections)
        self.add_symbol_tables()
        self.add_section_names()
        sizes = (52, 32, 40) if self.bits == 32 else (64, 56, 64)
        at = sizes[0] + sizes[1] * len(self.segments)
        body = bytearray()
        for made in self.sections:
            at += -at % max(made.align, 1)
            body += bytes(at - len(body) - sizes[0] - sizes[1] * len(self.segments))
            made.offset = at
            if made.type != elf.SHT_NOBITS:
                body += made.data
                at += len(made.data)
        padding = -at % 8
        shoff = at + padding
        data = self.pack_header(sizes, shoff) + b"".join(map(self.pack_segment, self.segments)) + bytes(body)
        data += bytes(padding) + self.pack_section_headers()
        self.sections = saved
        return data

    def add_symbol_tables(self):
        for kind, name, strings_name in (
            (elf.SHT_DYNSYM, ".dynsym", ".dynstr"),
            (elf.SHT_SYMTAB, ".symtab", ".strtab"),
        ):
            if kind not in self.wanted_tables:
                continue
            flags = elf.SHF_ALLOC if kind == elf.SHT_DYNSYM else 0
            strings = bytearray(b"\0")
            rows = bytearray(self.pack_symbol(0, 0, 0, 0, 0, 0))
            locals_end = 1
            for number, (label, value, size, type, binding, section) in enumerate(self.tables[kind]):
                offset = label if isinstance(label, int) else len(strings) if label else 0
                if label and not isinstance(label, int):
                    strings += label + b"\0"
                index = section if isinstance(section, int) else 1 if section is None else section.index
                rows += self.pack_symbol(offset, value, size, type, binding, index)
                if binding == elf.STB_LOCAL:
                    locals_end = number + 2
            entsize = 16 if self.bits == 32 else 24
            table = self.section(name, bytes(rows), type=kind, flags=flags, info=locals_end, align=8, entsize=entsize)
            table.link = self.section(strings_name, bytes(strings), type=elf.SHT_STRTAB, flags=flags)
            table.lies = self.table_lies(kind)

    def table_lies(self, kind):
        """What the header of a symbol table shall say instead of the truth; filled in before build()."""
        return self.lies_of_tables.setdefault(kind, {})

    def pack_symbol(self, name, value, size, type, binding, section):
        info = binding << 4 | type
        if self.bits == 32:
            return struct.pack(self.order + "IIIBBH", name, value, size, info, 0, section)
        return struct.pack(self.order + "IBBHQQ", name, info, 0, section, value, size)

    def add_section_names(self):
        names = self.section(".shstrtab", type=elf.SHT_STRTAB)
        strings = bytearray(b"\0")
        for made in self.sections:
            made.name_offset = len(strings)
            strings += made.name.encode() + b"\0"
        names.data = bytes(strings)
        names.size = len(strings)

    def pack_header(self, sizes, shoff):
        kind = [1 if self.bits == 32 else 2, 1 if self.order == "<" else 2, 1]
        ident = bytearray(b"\x7fELF" + bytes(kind) + bytes(9))
        for position, value in self.ident_lies.items():
            ident[position] = value
        fields = dict(zip(EHDR_FIELDS, (
            self.type, self.machine, 1, self.entry, sizes[0] if self.segments else 0, shoff, 0, sizes[0], sizes[1],
            len(self.segments), sizes[2], len(self.sections) + 1, len(self.sections))))
        fields.update(self.header_lies)
        layout = "HHIIIIIHHHHHH" if self.bits == 32 else "HHIQQQIHHHHHH"
        return bytes(ident) + struct.pack(self.order + layout, *(fields[name] for name in EHDR_FIELDS))

    def pack_segment(self, segment):
        first = segment.sections[0] if segment.sections else None
        last = segment.sections[-1] if segment.sections else None
        fields = {"offset": 0, "vaddr": 0, "filesz": 0, "memsz": 0, "align": 1}
        if first is not None:
            span = last.offset + last.size - first.offset
            fields.update(offset=first.offset, vaddr=first.address, filesz=span, memsz=span, align=first.align)
        fields["paddr"] = fields["vaddr"]
        fields.update(segment.fields)
        if self.bits == 32:
            order = ("offset", "vaddr", "paddr", "filesz", "memsz")
            values = [segment.type, *(fields[name] for name in order), segment.flags, fields["align"]]
            return struct.pack(self.order + "IIIIIIII", *values)
        order = ("offset", "vaddr", "paddr", "filesz", "memsz", "align")
        return struct.pack(self.order + "IIQQQQQQ", segment.type, segment.flags, *(fields[name] for name in order))

    def pack_section_headers(self):
        layout = self.order + ("IIIIIIIIII" if self.bits == 32 else "IIQQQQIIQQ")
        packed = bytearray(struct.calcsize(layout))
        for made in self.sections:
            link = made.link if isinstance(made.link, int) else made.link.index
            fields = dict(zip(SHDR_FIELDS, (made.name_offset, made.type, made.flags, made.address, made.offset,
                                            made.size, link, made.info, made.align, made.entsize)))
            fields.update(made.lies)
            packed += struct.pack(layout, *(fields[name] for name in SHDR_FIELDS))
        return bytes(packed)


def symbol_file(symbols, **keywords):
    """A small executable whose .symtab has SYMBOLS, each (name, value, size) and perhaps keywords in a dict."""
    made = ElfWriter(**keywords)
    text = made.text(address=0x401000, size=0x1000)
    made.table()
    for name, value, size, *more in symbols:
        made.symbol(name, value, size, section=text, **(more[0] if more else {}))
    return made.build()
