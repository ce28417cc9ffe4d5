"""Seeds of the harness for the tables that the recorder walks stacks by. See make-seeds."""

import struct

FP, SP, RA = 6, 7, 16
RELATIVE = 0x1B
ENTRY = bytes([0x0C, SP, 8, 0x80 | RA, 1])
PROLOGUE = bytes([0x41, 0x0E, 16, 0x80 | FP, 2, 0x43, 0x0D, FP])
PROGRAMS = {
    "prologue": PROLOGUE + bytes([0x02, 0x40, 0x0A, 0x0C, SP, 8, 0x41, 0x0B]),
    "realigned": bytes([0x0F, 3, 0x70 + FP, 0x78, 6, 0x10, FP, 2, 0x70 + FP, 0, 0x44, 0x0C, SP, 8]),
    "outermost": bytes([0x07, RA]),
    "registers": bytes([0x05, 3, 2, 0x06, 3, 0x08, 3, 0x09, 3, 12, 0x11, 3, 0x7E, 0x14, 3, 1, 0x15, 3, 0x7F, 0xC3]),
    "offsets": bytes([0x03, 1, 0, 0x12, FP, 0x7E, 0x04, 1, 0, 0, 0, 0x13, 0x7D, 0x2E, 16, 0x16, 3, 1, 0x96, 0x2D]),
    "location": bytes([0x01, 0x80, 0x0F, 0, 0, 0x0E, 32]),
    "states": bytes([0x0A] * 8 + [0x0B] * 8 + [0x0E, 24]),
    "numbers": bytes([0x0E]) + bytes([0xFF] * 9) + bytes([1, 0x80 | RA]) + bytes([0x80] * 8) + bytes([0x10]),
}


def entry(content):
    return struct.pack("<I", len(content)) + content


def cie(letters=b"zR", data=bytes([RELATIVE]), version=1, program=ENTRY):
    augmentation = bytes([len(data)]) + data if letters.startswith(b"z") else b""
    return entry(bytes([0, 0, 0, 0, version]) + letters + bytes([0, 1, 0x78, RA]) + augmentation + program)


def image(head, programs, width=4):
    """A module of a table, one CIE, and a function for each program; 0x1000 bytes after the table, 0x100 apart."""
    at = 12 + 8 * len(programs)
    start, body, pairs = at, head, b""
    for number, program in enumerate(programs):
        here, address = start + len(body), 0x1000 + 0x100 * number
        pairs += struct.pack("<iI", address, here)
        fields = struct.pack("<iI" if width == 4 else "<qQ", address - (here + 8), 0x100)
        body += entry(struct.pack("<I", here + 4 - start) + fields + b"\0" + program)
    return bytes([1, RELATIVE, 3, 0x3B]) + struct.pack("<iI", 0, len(programs)) + pairs + body + bytes(4)


def seeds():
    for name, program in PROGRAMS.items():
        yield name, bytes([1, len(ENTRY)]) + ENTRY + program
    for name, head, width in (("image", cie(), 4), ("image-signal", cie(b"zRS"), 4), ("image-version-3", cie(version=3), 4),
                              ("image-personality", cie(b"zPLR", bytes([0x9B, 1, 2, 3, 4, RELATIVE, RELATIVE])), 4),
                              ("image-wide", cie(data=b"\x1c"), 8)):
        programs = list(PROGRAMS.values())
        yield name, bytes([0, len(programs)]) + image(head, programs, width)
