// Size files for tests, made by the writer of tests/cli/support.
import { join } from "node:path";
import { folder, python } from "./harness.mjs";

const SCRIPT = `
import sys
from support.size_writer import Container, Size, Symbol, group, padded, save

HOSTILE = ["</script><script>console.log(1)</script>", "<img src=x onerror=console.log(2)>", '"quoted" \\'name\\' & <b>',
           "\\u202eright to left\\u202c", "\\u05e9\\u05dc\\u05d5\\u05dd()", "tab\\\\t\\\\n", "x" * 100_000, "\`\${1}\`", "{{x}}",
           "javascript:console.log(3)", "\\udcff\\udcfe broken UTF-8", "<!--", "]]>", "&lt;b&gt;", "", " "]


def build(is_after):
    more = 40 if is_after else 0
    text = [
        Symbol(".text", 0x1000, 400 + more, "app::Reader::read(char const*, int)", "obj/reader.o", "src/app/reader.cc", "App>Read"),
        Symbol(".text", 0x1400, 256, "app::Table<int>::find(int) const", "obj/table.o", "src/app/table.cc", "App>Table", 0x82),
        Symbol(".text", 0x1500, 200, "app::Table<long>::find(long) const", "obj/table.o", "src/app/table.cc", "App>Table"),
        Symbol(".text", 0x1600, 64, "main", "obj/main.o", "src/main.cc", ""),
        *group(Symbol(".text", 0x1700, 96, "app::one()", "obj/one.o", "src/one.cc", "App"),
               Symbol(".text", 0x1700, 96, "app::two()", "obj/two.o", "src/two.cc", "App"),
               Symbol(".text", 0x1700, 96, "app::three()", "obj/three.o", "src/three.cc", "App")),
        Symbol(".text", 0x1800, 30, "(anonymous namespace)::helper()", "obj/main.o", "src/main.cc", "", 1),
    ]
    if is_after:
        text.append(Symbol(".text", 0x1900, 512, "app::added(int)", "obj/added.o", "src/added.cc", "App"))
    else:
        text.append(Symbol(".text", 0x1900, 128, "app::removed(int)", "obj/removed.o", "src/removed.cc", "App"))
    text[0].disassembly = "push rbp\\nmov rbp, rsp\\n" + ("call new\\n" if is_after else "call old\\n") + "ret\\n"
    data = [
        Symbol(".rodata", 0x3000, 1000, '"a string"', "obj/main.o", "src/main.cc", ""),
        Symbol(".data", 0x4000, 80, "app::state", "obj/main.o", "src/main.cc", ""),
        Symbol(".bss", 0x5000, 4096, "app::buffer", "obj/main.o", "src/main.cc", ""),
        Symbol(".dex", 0, 300, "com.example.Thing", "", "java/com/example/Thing.java", "Java"),
        Symbol(".dex.method", 0, 70, "com.example.Thing#run(int): void", "", "java/com/example/Thing.java", "Java"),
        Symbol(".dex.method", 0, 50, "com.example.Thing#stop(): void", "", "java/com/example/Thing.java", "Java"),
        Symbol(".other", 0, 77, "** ELF Section: .comment"),
    ]
    sizes = {}
    for symbol, (taken, _) in zip(text + data, padded(Size(text + data))):
        if symbol.aliases is None or symbol is symbol.aliases[0]:
            sizes[symbol.section] = sizes.get(symbol.section, 0) + taken
    container = Container("app", {"elf_arch": "x64", "elf_build_id": "ab12" if is_after else "0f0f", "map_file_name": "app.map"},
                          sizes, {"app": {"SIZE/.text": sizes[".text"], "COUNT/Relocations": 12 + more}})
    config = {"git_revision": "new" if is_after else "old", "gn_args": ["is_debug=false"] + (["lto=true"] if is_after else [])}
    return Size(text + data, [container], config)


kind, out = sys.argv[1:]
if kind == "hostile":
    symbols = [Symbol(".text", 0x1000 + 0x20000 * i, 100 + i, name, "o/" + name[:300], "s/" + name[:300], name[:300])
               for i, name in enumerate(HOSTILE)]
    size = Size(symbols, [Container("<c>", {"key<b>": "</script><b>"}, {".text": 5000}, {"<f>": {"SIZE/<x>": 1}})], {"title": "<t>"})
elif kind == "empty":
    size = Size([], [Container("", {}, {})], {})
elif kind == "one":
    size = Size([Symbol(".text", 0x1000, 10, "only")], [Container("", {}, {".text": 10})], {})
else:
    size = build(kind == "after")
open(out, "wb").write(save(size))
`;

/** Writes a file of a KIND: before, after, hostile, empty or one. Returns its path. */
export function makeSize(kind) {
  const path = join(folder, kind + ".size");
  python(SCRIPT, kind, path);
  return path;
}
