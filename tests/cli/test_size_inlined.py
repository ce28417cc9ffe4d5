"""`size --by inlined`: one row a function, with the file that declares it. And namespaces of Rust in queries."""

from support import sextant, tap
from support.size_writer import Container, Size, Symbol, save

HEADER = """
static inline int shared(int x) { return x * 3 + 1; }
static inline int outer(int x) { return shared(x) + shared(x + 1); }
"""
ONE = """
#include "shared.h"
static inline __attribute__((always_inline)) int same_name(int x) { return x * 17 - 3; }
int one(int x) { return same_name(x) + shared(x) + outer(x); }
int more(int x) { return same_name(x + 5) * outer(x); }
"""
TWO = """
#include "shared.h"
static inline __attribute__((always_inline)) int same_name(int x) { return (x ^ 9) / 3; }
int one(int); int more(int);
int two(int x) { return same_name(x) - shared(x); }
int main(int c, char **v) { (void)v; return one(c) + two(c) + more(c); }
"""
CPP = """
#include <string>
#include <vector>
static volatile int sink;
namespace { struct Cell { int value; Cell(int v) : value(v * 7) { sink = v; } ~Cell() { sink = value; }
                          __attribute__((always_inline)) int get() const { sink = value + 2; return sink; } };
            __attribute__((always_inline)) inline int hidden(int x) { Cell cell(x); return cell.get(); } }
template <typename T> struct Box { T held; explicit Box(T t) : held(t) {} T twice() const { return held + held; } };
int main(int c, char **v)
{
    std::vector<std::string> all(v, v + c);
    Box<int> box(c);
    return hidden(c) + hidden(c + 1) + box.twice() + (int)all.size() + Box<long>(c).twice();
}
"""


class Inlined(sextant.ProgramTest):
    def rows(self, path):
        return self.run_ok("size", "--by", "inlined", "--json", "-n", "100000", path).json_lines()

    def test_functions_of_several_files(self):
        sextant.need_tool("gcc")
        self.file("shared.h", HEADER.encode())
        for flags in (("-O2",), ("-O1", "-fno-toplevel-reorder"), ("-O2", "-gdwarf-4"), ("-O2", "-ffunction-sections")):
            for name, text in (("one.c", ONE), ("two.c", TWO)):
                self.file(name, text.encode())
            sextant.tool("gcc", "-g", *flags, "-o", "app", "one.c", "two.c", cwd=self.folder)
            found = {(row["function"], row["file"].rsplit("/", 1)[-1]): row for row in self.rows(self.folder / "app")}
            self.assertEqual(len(found), len(self.rows(self.folder / "app")))
            self.assertEqual(sorted(key for key in found if key[0] == "same_name"),
                             [("same_name", "one.c"), ("same_name", "two.c")])  # fmt: skip
            self.assertEqual(len([key for key in found if key[0] in ("shared", "outer")]), 2)
            self.assertIn(("shared", "shared.h"), found)
            self.assertIn(("outer", "shared.h"), found)

    def test_names_of_cpp(self):
        sextant.need_tool("g++")
        self.file("a.cc", CPP.encode())
        for compiler, flags in (("g++", "-O2"), ("clang++", "-O2"), ("clang++", "-O1")):
            sextant.need_tool(compiler)
            sextant.tool(compiler, "-g", flags, "-o", "app", "a.cc", cwd=self.folder)
            rows = self.rows(self.folder / "app")
            keys = [(row["function"], row["file"]) for row in rows]
            self.assertEqual(len(set(keys)), len(keys))
            # Names that were mangled are of one function each, whatever its copies are called.
            readable = [row["function"] for row in rows if "(" in row["function"].replace("(anonymous namespace)", "")]
            self.assertEqual(len(set(readable)), len(readable))
            self.assertEqual([row for row in rows if not row["file"]], [])
            own = [row for row in rows if row["function"].startswith(("Box<", "(anonymous namespace)::"))]
            self.assertTrue(own and all(row["file"].endswith("/a.cc") for row in own))
            vectors = [row for row in rows if row["function"].startswith("std::vector<") and "::~vector" in row["function"]]
            self.assertTrue(all("stl_vector.h" in row["file"] for row in vectors))


class Rust(sextant.ProgramTest):
    names = {"shop::main": "shop", "shop::cart::add": "shop::cart", "shop::main::{{closure}}": "shop",
             "shop::cart::{impl#0}::total": "shop::cart", "<shop::cart::Cart as core::fmt::Debug>::fmt": "shop::cart",
             "<u32 as shop::Price>::price": "shop", "core::ptr::drop_in_place::<shop::cart::Cart>": "core::ptr",
             "alloc::vec::Vec<T,A>::push": "alloc::vec", "ns::Type::method(int)": "ns::Type",
             "plain": "{no namespace}"}  # fmt: skip

    def test_namespaces_and_crates(self):
        symbols = [Symbol(".text", 0x1000 + 16 * i, 16, name) for i, name in enumerate(self.names)]
        symbols.append(Symbol(".data", 0x9000, 4, "ns::Type::count"))
        sections = {".text": 16 * len(self.names), ".data": 4}
        path = self.file("a.size", save(Size(symbols, [Container(section_sizes=sections)])))
        wanted = {}
        for namespace in [*self.names.values(), "ns::Type"]:
            wanted[namespace] = wanted.get(namespace, 0) + 1
        rows = self.run_ok("query", "--json", path, "| group namespace").json_lines()
        self.assertEqual({row["group"]["namespace"]: row["count"] for row in rows}, wanted)
        rows = self.run_ok("query", "--json", path, "| group namespace:1").json_lines()
        self.assertEqual({row["group"]["namespace"]: row["count"] for row in rows},
                         {"shop": 6, "core": 1, "alloc": 1, "ns": 2, "{no namespace}": 1})  # fmt: skip
        rows = self.run_ok("query", "--json", path, "section:t | group crate").json_lines()
        self.assertEqual({row["group"]["crate"]: row["count"] for row in rows},
                         {"shop": 6, "core": 1, "alloc": 1, "ns": 1, "{no crate}": 1})  # fmt: skip
        found = self.run_ok("query", "--json", path, "namespace=shop::cart").json_lines()
        self.assertEqual({row["full_name"] for row in found},
                         {name for name, namespace in self.names.items() if namespace == "shop::cart"})  # fmt: skip


if __name__ == "__main__":
    tap.main()
