// Heap traces for tests, made by the writer of tests/cli/support.
import { join } from "node:path";
import { folder, python } from "./harness.mjs";

const SCRIPT = `
import random
import sys
from support import mlyze_writer

START = 1_700_000_000_000_000
HOSTILE = ["</script><script>console.log(1)</script>", "<img src=x onerror=console.log(2)>", '"quoted" \\'name\\' & <b>',
           "\\u202eright to left\\u202c", "\\u05e9\\u05dc\\u05d5\\u05dd()", "x" * 100_000, "\`\${1}\`", "<!--", "]]>", "&lt;b&gt;", "", " "]


def busy(seed, more):
    """Some threads whose blocks come and go, with markers and collections; many stacks of main, a worker and a leaf."""
    generator = random.Random(seed)
    functions = ["main", "load", "parse(char const*)", "render", "std::vector<int>::push_back(int const&)", "alloc_node", "idle", "loaded", "done"]
    files = ["/src/main.c", "/src/parse.c", "/src/render.c", "/usr/include/c++/12/vector", sys.argv[3]]
    stacks = [[(4, 3, 5), (1, 20 + i, 2), (0, 7, 1), (0, 1, 0)] for i in range(5)]
    stacks += [[(3, 99, 4), (2, 40 + i, 3), (0, 9, 0)] for i in range(5)] + [[(0, 30, 6)]]
    events, live, time = [("marker", START + 1, 7)], [], START + 10
    for i in range(3000):
        time += generator.randrange(50)
        if live and generator.random() < 0.48:
            events.append(("free", time, live.pop(generator.randrange(len(live)))))
        else:
            address = 0x10000 + 0x1000 * i
            live.append(address)
            events.append(("alloc", time, address, generator.randrange(1, 2000 + more), generator.randrange(len(stacks)), generator.randrange(3)))
        if i % 700 == 500:
            events.append(("gc", time, 10, 1000))
    events.append(("marker", time, 8))
    text = mlyze_writer.metadata(stacks, files, functions, threads={"0": "main", "1": "worker", "2": "<b>"})
    return mlyze_writer.plain(events, START, text)


kind, out = sys.argv[1:3]
if kind == "empty":
    data = mlyze_writer.plain([], START, mlyze_writer.metadata())
elif kind == "one":
    data = mlyze_writer.example()
elif kind == "hostile":
    stacks = [[(i, 1, i), (0, 2, 0)] for i in range(len(HOSTILE))]
    events = [("alloc", START + 10 * i, 0x1000 * (i + 1), 100 + i, i, i % 3) for i in range(len(HOSTILE))]
    events += [("marker", START + 200, i) for i in range(len(HOSTILE))] + [("alloc", START + 500, 0x900000, 5, 999, 9)]
    data = mlyze_writer.plain(events, START, mlyze_writer.metadata(stacks, HOSTILE, HOSTILE, threads={"0": HOSTILE[0], "1": HOSTILE[3]}))
else:
    data = busy(1, 0) if kind == "before" else busy(1, 500)
open(out, "wb").write(data)
`;

const LONG = `
import random
import sys
from support import mlyze_writer

START = 1_700_000_000_000_000
generator = random.Random(7)
functions = ["main"] + [f"level{i}" for i in range(40)] + ["leaf"]
stacks = [[(0, 10 + i % 7, 41), (0, 20 + i % 50, 1 + i % 40), (0, 30 + i // 50, 1 + i // 50), (0, 1, 0)] for i in range(2000)]
events, live, time = [], [], START
for i in range(20000):
    time += generator.randrange(500)
    if len(live) > 200 and generator.random() < 0.5:
        events.append(("free", time, live.pop(generator.randrange(len(live)))))
    else:
        live.append(0x10000 + 0x1000 * i)
        stack = generator.randrange(2000) if generator.random() < 0.5 else generator.randrange(20)
        events.append(("alloc", time, live[-1], generator.randrange(1, 2000), stack, generator.randrange(3)))
        if generator.random() < 0.1:
            events.append(("free", time + 1, live.pop()))
            time += 1
open(sys.argv[1], "wb").write(mlyze_writer.plain(events, START, mlyze_writer.metadata(stacks, ["/src/a.c"], functions)))
`;

/** Writes a trace of a KIND: before, after, hostile, empty or one. SOURCE is the file that alloc_node is in. */
export function makeTrace(kind, source = "/src/node.c") {
  const path = join(folder, kind + ".mlyze");
  python(SCRIPT, kind, path, source);
  return path;
}

/** A trace with more stacks than a page has groups of them, over some seconds. */
export function makeLongTrace() {
  const path = join(folder, "long.mlyze");
  python(LONG, path);
  return path;
}
