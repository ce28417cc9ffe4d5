"""Seeds of the harnesses that read pprof profiles; make-seeds writes them."""

import gzip

from support import pprof


def pprof_seeds():
    profile = pprof.Profile(
        [pprof.Mapping(1, 0x400000, 0x500000, 0, "/bin/app", "0011aabb"),
         pprof.Mapping(2, 0x7000, 0x9000, 0x1000, "[vdso]", flags=(True,) * 4)],
        [pprof.Location(1, 1, 0x401000), pprof.Location(2, 1, 0x401010, [(1, 5), (2, 0)]),
         pprof.Location(3, 2, 0x7100, folded=True), pprof.Location(4, 0, 1)],
        [([1, 2, 3], [1, -5]), ([3], [7])],
        [pprof.Function(1, "main", "main", "/src/main.c", 3), pprof.Function(2, "f")],
    )
    yield "packed", pprof.encode(profile)
    yield "unpacked", pprof.encode(profile, packed=False)
    group = b"\xa3\x06\x08\x01\xa4\x06"
    more = pprof.number(9, 1 << 60) + pprof.message(11, pprof.number(1, 1)) + group + pprof.message(200, b"x")
    yield "extra", pprof.encode(profile, extra=more)
    top = (1 << 64) - 1
    limits = pprof.Profile([pprof.Mapping(top, top, top, top, "x")], [pprof.Location(top, top, top), pprof.Location(0)],
                           [([top, 0], [top])], [pprof.Function(top, "x")])
    yield "limits", pprof.encode(limits)
    yield "no-strings", pprof.message(1, b"") + pprof.message(4, pprof.number(1, 1))


def call_tree_seeds():
    yield from pprof_seeds()
    functions = [pprof.Function(1, "main", filename="m.c"), pprof.Function(2, "work"), pprof.Function(3, "sort")]
    locations = [pprof.Location(1, lines=[(1, 3)]), pprof.Location(2, lines=[(3, 5), (2, 7)]), pprof.Location(3, 1, 0x10)]
    samples = [([2, 1], [7]), ([3, 2, 2, 1], [-1]), ([1], [1 << 62]), ([], [2]), ([9], [1])]
    profile = pprof.Profile(locations=locations, functions=functions, samples=samples)
    yield "names", pprof.encode(profile)
    yield "packed-gzip", gzip.compress(pprof.encode(profile), mtime=0)
