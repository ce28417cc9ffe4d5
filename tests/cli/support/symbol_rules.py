"""What an address should be called, from the output of readelf and by the project's own rule for aliases.

Among the functions that cover an address, the one that begins last; of those, global before weak before local, then the
first in the table, and .symtab before .dynsym. A function of size 0 covers nothing.
"""

import bisect
import re
from dataclasses import dataclass

from . import sextant

LINE = re.compile(
    r"^\s*\d+: ([0-9a-f]+)\s+(0x[0-9a-f]+|\d+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(?:\[[^\]]*\]\s+)?(\S+) ?(.*)$"
)
BINDING_ORDER = {"GLOBAL": 0, "UNIQUE": 0, "WEAK": 1, "LOCAL": 2}


@dataclass
class Function:
    start: int
    size: int
    name: str
    rank: tuple

    @property
    def end(self):
        return self.start + self.size


def functions_of(path):
    """The defined functions of a file, as readelf lists them."""
    found = []
    table = 0
    for line in sextant.tool("readelf", "-sW", path).decode("utf-8", "replace").splitlines():
        if line.startswith("Symbol table '"):
            table = 1 if ".dynsym" in line else 0
            continue
        match = LINE.match(line)
        if not match:
            continue
        value, size, kind, binding, _, section, name = match.groups()
        name = name.split("@", 1)[0].strip()
        if kind in ("FUNC", "IFUNC") and section != "UND" and name:
            rank = (BINDING_ORDER.get(binding, 0), table, len(found))
            found.append(Function(int(value, 16), int(size, 0), name, rank))
    return found


class Expected:
    """Answers for the functions of one file."""

    def __init__(self, functions):
        self.functions = sorted((function for function in functions if function.size), key=lambda f: (f.start, f.rank))
        self.starts = [function.start for function in self.functions]
        self.reach = []
        furthest = 0
        for function in self.functions:
            furthest = max(furthest, function.end)
            self.reach.append(furthest)

    def at(self, address):
        """The function at ADDRESS, or None."""
        index = bisect.bisect_right(self.starts, address) - 1
        best = None
        while index >= 0 and self.reach[index] > address:
            function = self.functions[index]
            if best is not None and function.start < best.start:
                break
            if address < function.end and (best is None or function.rank < best.rank):
                best = function
            index -= 1
        return best

    def interrupted(self, function, address):
        """Whether another function begins between the start of FUNCTION and ADDRESS."""
        return bisect.bisect_right(self.starts, address) > bisect.bisect_right(self.starts, function.start)

    def questions(self):
        """The start, the middle and the last byte of every function."""
        wanted = set()
        for function in self.functions:
            wanted.update((function.start, function.start + function.size // 2, function.end - 1))
        return sorted(wanted)
