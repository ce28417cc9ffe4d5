"""Writes Go function tables (.gopclntab) of every layout, for the tests.

Header: magic, two zero bytes, instruction quantum, pointer size, then words of the pointer size:
  1.2     function count; the function table follows, and every offset counts from the start of the section
  1.16    function count, file count, offsets of names, units, files, pc data, function table
  1.18+   the same with the start of the text between the file count and the names; addresses in the function table are
          4-byte distances from there
The function table has (address, offset of the function's record) for each function and the end of the last one. A
record begins with the address, in the field size of the function table, and a 4-byte offset of the name.
"""

import struct

MAGIC = {"1.2": 0xFFFFFFFB, "1.16": 0xFFFFFFFA, "1.18": 0xFFFFFFF0, "1.20": 0xFFFFFFF1}
VERSIONS = tuple(MAGIC)


def write(version, functions, end, order="<", pointer_size=8, text_start=0, base=None, quantum=1, magic=None):
    """FUNCTIONS are (address, name); TEXT_START is what the header says, BASE what the distances really count from."""
    modern = version in ("1.18", "1.20")
    if base is None:
        base = text_start
    field = "I" if modern or pointer_size == 4 else "Q"
    word = "I" if pointer_size == 4 else "Q"
    field_size = struct.calcsize("<" + field)
    header = struct.pack(order + "IBBBB", MAGIC[version] if magic is None else magic, 0, 0, quantum, pointer_size)
    names = bytearray()
    name_offsets = []
    for _, name in functions:
        name_offsets.append(len(names))
        names += name.encode() + b"\0"

    words = {"1.2": 1, "1.16": 7}.get(version, 8)
    header_size = 8 + words * pointer_size
    header_size += -header_size % 8
    functab_size = (2 * len(functions) + 1) * field_size
    record_size = field_size + 40
    names_at = 0 if version == "1.2" else header_size
    functab_at = 8 + pointer_size if version == "1.2" else names_at + len(names) + -len(names) % 8
    data_at = 0 if version == "1.2" else functab_at
    records_at = functab_at + functab_size - data_at
    records_at += -(records_at + data_at) % 8
    late_names_at = data_at + records_at + record_size * len(functions)

    functab = bytearray()
    records = bytearray()
    for index, (address, _) in enumerate(functions):
        pc = address - base if modern else address
        functab += struct.pack(order + field * 2, pc, records_at + index * record_size)
        name = name_offsets[index] + (late_names_at if version == "1.2" else 0)
        records += struct.pack(order + field + "I", pc, name) + bytes(record_size - field_size - 4)
    functab += struct.pack(order + field, end - base if modern else end)

    if version == "1.2":
        table = header + struct.pack(order + word, len(functions)) + functab
        return pad(table, records_at) + bytes(records) + bytes(names) + bytes(64)
    numbers = [len(functions), 0] + ([text_start] if modern else [])
    numbers += [names_at, functab_at, functab_at, functab_at, functab_at]
    table = pad(header + struct.pack(order + word * len(numbers), *numbers), names_at) + bytes(names)
    return pad(pad(table, functab_at) + functab, data_at + records_at) + bytes(records) + bytes(64)


def pad(data, size):
    return bytes(data) + bytes(size - len(data))
