"""What becomes of the symbols of one size in another, written from the description of SuperSize's four passes.

A size is a list of Symbol; diff() gives Delta. Names are derived by size_names.
"""

import collections
import dataclasses
import fractions
import re

from support import size_names

UNCHANGED, CHANGED, ADDED, REMOVED = range(4)
LETTERS = {".text": "t", ".rodata": "r", ".data.rel.ro": "R", ".data.rel.ro.local": "R", ".tdata.rel.ro": "R", ".data": "d",
           ".tdata": "d", ".dex": "x", ".dex.method": "m", ".pak.translations": "p", ".pak.nontranslated": "P",
           ".arsc": "a", **dict.fromkeys(size_names.BSS, "b")}
NUMBERS = re.compile(r"[.0-9]+$|\$[0-9]+")
COUNTED = re.compile(r"\s+[0-9]+( \(.*\))?$")
AGGREGATE = "Overhead: aggregate padding of diff'ed symbols"


@dataclasses.dataclass(eq=False)
class Symbol:
    container: str
    section: str
    name: str
    source: str
    object: str
    size: int  # without padding
    padding: int
    group: int = 0  # aliases have the same one, which is not 0

    aliases: list = None  # filled by the functions below

    def __post_init__(self):
        self.full_name, _, self.short_name, _ = size_names.names(self.section, self.name)
        self.letter = LETTERS.get(self.section, "o")

    @property
    def count(self):
        return len(self.aliases) if self.aliases else 1

    def line(self):
        fields = (self.container, self.section, self.name, self.source, self.object, self.size, self.padding, self.group)
        return "\t".join(map(str, fields)) + "\n"


@dataclasses.dataclass
class Delta:
    pairs: list  # (status, before, after, size, pss), symbols as places or None
    paddings: list  # (container, section, bytes)
    removed_sources: list
    added_sources: list
    before: list  # what a .sizediff holds: symbols by segment
    after: list


def find_aliases(symbols):
    previous = None
    for symbol in symbols:
        symbol.aliases = None
        if symbol.group:
            symbol.aliases = previous.aliases if previous and previous.group == symbol.group else []
            symbol.aliases.append(symbol)
        previous = symbol


def key_1(symbol, container):
    return (*key_2(symbol, container), symbol.size)


def key_2(symbol, container):
    return container, symbol.letter, NUMBERS.sub("", symbol.full_name), symbol.source or symbol.object


def key_3(symbol, container):
    name = NUMBERS.sub("", symbol.short_name).split(" [clone ")[0]
    if name.startswith("*"):
        name = COUNTED.sub("s", name)
    return container, symbol.letter, name, symbol.source or symbol.object


def key_4(symbol, container):
    name = symbol.full_name
    if name.startswith('"'):
        return container, symbol.letter, name, symbol.size
    if name == "string literal" or name.startswith(("Overhead: ", "*")) or (
            symbol.section in size_names.NATIVE and "." in name):
        return None
    return container, symbol.letter, name


def change(before, after):
    """Size, and proportional size as a fraction: floating point is the same to far less than what is printed."""
    if before is None:
        return after.size + after.padding, fractions.Fraction(after.size + after.padding, after.count)
    if after is None:
        return -before.size - before.padding, -fractions.Fraction(before.size + before.padding, before.count)
    own = fractions.Fraction(after.size, after.count) - fractions.Fraction(before.size, before.count)
    if before.size == 0:
        return after.padding - before.padding, own + padding_change(before, after)
    return after.size - before.size, own


def padding_change(before, after):
    return fractions.Fraction(after.padding, after.count) - fractions.Fraction(before.padding, before.count)


def diff(before, after, before_is_sparse=False, after_is_sparse=False, ignore_aliases=False):
    find_aliases(before)
    find_aliases(after)
    is_lone = len({s.container for s in before}) == len({s.container for s in after}) == 1
    left, right, matched = list(before), list(after), []
    for key in key_1, key_2, key_3, key_4:
        waiting = collections.defaultdict(collections.deque)
        for symbol in left:
            waiting[key(symbol, "" if is_lone else symbol.container)].append(symbol)
        still = []
        for symbol in right:
            wanted = key(symbol, "" if is_lone else symbol.container)
            if wanted is not None and waiting.get(wanted):
                matched.append((waiting[wanted].popleft(), symbol))
            else:
                still.append(symbol)
        left, right = [symbol for queue in waiting.values() for symbol in queue], still

    sums = {}
    for old, new in matched:
        if old.size != 0:
            segment = (new.container if is_lone else old.container), old.section
            # In floating point, as the reference does: what is halfway between two integers depends on it.
            sums[segment] = sums.get(segment, 0.0) + (new.padding / new.count - old.padding / old.count)
    paddings = [] if before_is_sparse and after_is_sparse else [
        (*segment, round(total)) for segment, total in sums.items() if round(total) != 0]

    pairs, chosen = [], ([], [])
    sources = collections.defaultdict(set)
    places = {id(symbol): place for symbols in (before, after) for place, symbol in enumerate(symbols)}
    for old, new in matched + [(None, symbol) for symbol in right] + [(symbol, None) for symbol in left]:
        size, pss = change(old, new)
        status = ADDED if old is None else REMOVED if new is None else (
            CHANGED if size != 0 or (pss != 0 and not ignore_aliases) else UNCHANGED)
        pairs.append((status, old and places[id(old)], new and places[id(new)], size, pss))
        sources[(new or old).source].add(status)
        for symbol, side in zip((old, new), chosen):
            if symbol is not None and status != UNCHANGED:
                side.append(symbol)
    if paddings:
        sources[""].add(ADDED)
    aggregates = [Symbol(container, section, AGGREGATE, "", "", 0, size) for container, section, size in paddings]
    return Delta(pairs, paddings, sorted(path for path, all_of in sources.items() if all_of == {REMOVED}),
                 sorted(path for path, all_of in sources.items() if all_of == {ADDED}),
                 by_segment(chosen[0], []), by_segment(chosen[1], aggregates))


def by_segment(symbols, more):
    """Symbols with all of their aliases, by segment in the order of first appearance."""
    segments, seen = {}, set()
    for symbol in symbols + more:
        if id(symbol) not in seen:
            for alias in symbol.aliases or [symbol]:
                seen.add(id(alias))
                segments.setdefault((symbol.container, symbol.section), []).append(alias)
    return [symbol for segment in segments.values() for symbol in segment]
