// pprof profiles for tests, made by the writer of tests/cli/support.
import { join } from "node:path";
import { folder, python } from "./harness.mjs";

const SCRIPT = `
import sys
from support import pprof

HOSTILE = ["</script><script>console.log(1)</script>", "<img src=x onerror=console.log(2)>", '"quoted" \\'name\\' & <b>',
           "\\u202eright to left\\u202c", "\\u05e9\\u05dc\\u05d5\\u05dd()", "x" * 100_000, "\`\${1}\`", "<!--", "]]>", "&lt;b&gt;", "", " "]


def build(names, samples, types=(("samples", "count"), ("cpu", "nanoseconds"))):
    functions = [pprof.Function(i + 1, name, filename=name[:200] + ".c") for i, name in enumerate(names)]
    locations = [pprof.Location(i + 1, 1, 0x1000 * i, [(i + 1, 3)]) for i in range(len(names))]
    mappings = [pprof.Mapping(1, 0, 1 << 20, 0, "/bin/<app>")]
    return pprof.Profile(mappings, locations, samples, functions, sample_types=list(types))


kind, out = sys.argv[1:]
if kind == "hostile":
    profile = build(HOSTILE, [([i + 1, 1], [1, 1000 * i]) for i in range(len(HOSTILE))])
elif kind == "empty":
    profile = build([], [])
elif kind == "one":
    profile = build(["main"], [([1], [1, 10])])
else:
    more = 3 if kind == "after" else 1
    names = ["main", "load", "parse", "render", "after_only" if kind == "after" else "before_only", "Zip", "zap"]
    samples = [([3, 2, 1], [2, 20_000_000 * more]), ([4, 1], [1, 10_000_000]), ([3, 3, 2, 1], [1, 5_000_000]),
               ([5, 1], [4, 7_000_000]), ([6, 4, 1], [1, 1_000_000]), ([7, 4, 1], [2, 2_000_000]), ([1], [1, 1_500])]
    profile = build(names, samples)
open(out, "wb").write(pprof.encode(profile))
`;

/** Writes a profile of a KIND: before, after, hostile, empty or one, to a file with or without a name of profiles. */
export function makeProfile(kind, name = kind + ".pb") {
  const path = join(folder, name);
  python(SCRIPT, kind, path);
  return path;
}
