"""A second writer of ksym blobs, made from the description of the format alone: slow and plain.

A symbol is (address, type, name), the type one character and the name text or bytes.
"""

import struct

TOKEN_SIZES = (10, 24, 31, 40, 56)


def write(symbols, tokens=None, layout="seed"):
    """The blob of SYMBOLS. TOKENS, in the order of their ids, default to a choice that is good enough for tests."""
    symbols = sorted(((address, kind, as_bytes(name)) for address, kind, name in symbols), key=lambda symbol: symbol[0])
    names = [name for _, _, name in symbols]
    tokens = choose_tokens(names) if tokens is None else [as_bytes(token) for token in tokens]
    records = b""
    offsets = []
    for _, kind, name in symbols:
        offsets.append(len(records))
        payload = compress(name, tokens)
        records += kind.encode("latin-1") + struct.pack("<H", len(payload)) + payload
    order = sorted(range(len(symbols)), key=lambda index: names[index])
    return assemble([address for address, _, _ in symbols], offsets, order, records, tokens, layout)


def assemble(addresses, offsets, order, records, tokens, layout="seed", starts=None):
    """The parts as they are given, one after the other."""
    count = len(addresses)
    blob = bytes(8) if layout == "0.6" else b""
    blob += struct.pack(f"<Q{count}Q{count}I{len(order)}I", count, *addresses, *offsets, *order)
    blob = aligned(blob) + struct.pack("<Q", len(records)) + records
    blob = aligned(blob) + struct.pack("<Q", sum(map(len, tokens))) + b"".join(tokens)
    if starts is None:
        starts = [sum(map(len, tokens[:i])) for i in range(len(tokens))]
    blob = aligned(blob) + struct.pack(f"<Q{len(starts)}I", len(starts), *starts)
    return struct.pack("<Q", len(blob)) + blob[8:] if layout == "0.6" else blob


def compress(name, tokens):
    fitting = [i for i, token in enumerate(tokens) if token and i != 511 and name.startswith(token)]
    if not fitting:
        return name
    best = max(fitting, key=lambda i: len(tokens[i]))
    return marker(best) + name[len(tokens[best]):]


def marker(token):
    return bytes([0xFF, token, 0xFF]) if token < 256 else b"\xff" + struct.pack(">H", token) + b"\xff"


def choose_tokens(names):
    counts = {}
    for name in names:
        for size in TOKEN_SIZES:
            if len(name) >= size:
                counts[name[:size]] = counts.get(name[:size], 0) + 1
    common = [token for token, count in counts.items() if count > 1]
    return sorted(common, key=lambda token: (-len(token) * counts[token], token))[:256]


def read_text(text):
    """The symbols of a text as nm and /proc/kallsyms print it."""
    symbols = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3:
            symbols.append((int(words[0], 16), words[1][0], " ".join(words[2:])))
    return symbols


def aligned(blob):
    return blob + bytes(-len(blob) % 8)


def as_bytes(name):
    return name.encode() if isinstance(name, str) else name
