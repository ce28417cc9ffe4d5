"""Identical code folding: several functions at one address, and which of them a caller means."""

import json
import os
import re
import select
import shutil
import subprocess

from support import elf_reader as elf
from support import mlyze_writer, pprof, sextant, tap

GROUPS, MEMBERS = 6, 5


def source():
    """Groups of functions with identical code, each called by a function that is like no other; C++ ones among them."""
    lines = ["#define QUIET __attribute__((noinline)) "]
    calls = []
    for group in range(GROUPS):
        for member in range(MEMBERS):
            name = f"work_{group}_{member}"
            body = f'(int x) {{ asm volatile(""); return x * {group + 3} + {group}; }}'
            if member == 1:
                lines.append(f"namespace {{ QUIET int {name}{body} }}")
            elif member == 2:
                lines.append(f"static QUIET int {name}{body}")
            else:
                lines.append(f"QUIET int {name}{body}")
            calls.append((f"caller_{group}_{member}", name))
    lines.append("template <class T> QUIET int typed(T x) { asm volatile(\"\"); return int(x) * 77; }")
    calls += [("caller_int", "typed<int>"), ("caller_unsigned", "typed<unsigned>")]
    for number, (caller, name) in enumerate(calls):
        body = f'{{ int y = {name}(x + {number}); asm volatile(""); return y + {number}; }}'
        lines.append(f"QUIET int {caller}(int x) {body}")
    lines.append("int main(int c, char **) { int s = 0; " + " ".join(f"s += {caller}(c);" for caller, _ in calls)
                 + " return s; }")
    return "\n".join(lines) + "\n"


class Folding(sextant.ProgramTest):
    def build(self, compiler, linker, folding, *flags):
        sextant.need_tool(compiler, {"lld": "ld.lld", "gold": "ld.gold"}[linker], "objdump")
        path = self.file("folded.cc", source())
        program = self.folder / f"{compiler}-{linker}-{folding}"
        if compiler == "g++":
            flags += ("-fno-ipa-icf",)  # gcc folds functions of one unit by itself
        sextant.tool(compiler, "-g", "-O2", "-ffunction-sections", f"-fuse-ld={linker}", f"-Wl,--icf={folding}",
                     "-Wl,--build-id", *flags, path, "-o", program)
        return program

    def calls(self, program):
        """By caller: (target address, name of the target, return address) of its direct calls, in order."""
        calls, caller, pending = {}, None, None
        for line in sextant.tool("objdump", "-d", "--no-show-raw-insn", program).decode().splitlines():
            begin = re.match(r"^([0-9a-f]+) <(.*)>:$", line)
            code = re.match(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$", line)
            if begin:
                caller = begin.group(2)
            if code and pending:
                calls.setdefault(pending[0], []).append((*pending[1:], int(code.group(1), 16)))
                pending = None
            target = code and re.match(r"([0-9a-f]+) <([^+>@]+)>", code.group(3))
            if target and code.group(2).startswith("call"):
                pending = (caller, int(target.group(1), 16), target.group(2))
        return {caller: found for caller, found in calls.items() if "caller_" in caller}

    def expected(self, folded, unfolded):
        """(target address, return address, the function that is meant) of each call."""
        truth, there = self.calls(unfolded), self.calls(folded)
        self.assertEqual(set(truth), set(there))
        return [(address, back, meant) for caller in truth
                for (address, _, back), (_, meant, _) in zip(there[caller], truth[caller])]

    def symbolize(self, program, search, calls):
        """Each call as a sample: [(function, is it marked as folded)]."""
        locations, samples = [], []
        for number, (address, back, _) in enumerate(calls):
            locations += [pprof.Location(2 * number + 1, 1, address + 1), pprof.Location(2 * number + 2, 1, back)]
        # Locations of one address are one in a real profile.
        first = {}
        for number in range(len(calls)):
            stack = [first.setdefault(locations[id].address, locations[id].id) for id in (2 * number, 2 * number + 1)]
            samples.append((stack, [1]))
        used = {id for stack, _ in samples for id in stack}
        profile = pprof.Profile(mappings=[mapping_of(program)], samples=samples, sample_types=[("samples", "count")],
                                locations=[location for location in locations if location.id in used])
        given = self.file("in.pb", pprof.encode(profile))
        out = self.folder / "out.pb"
        self.run_ok("symbolize", "-q", "--mangled", given, "-o", out, "--search", search)
        result = pprof.decode(out.read_bytes())
        marks = {location.id: location.folded for location in result.locations}
        return [(result.frames(stack[0])[-1][0], marks[stack[0]]) for stack, _ in result.samples]

    def check(self, compiler, linker, *flags):
        folded, unfolded = (self.build(compiler, linker, folding, *flags) for folding in ("all", "none"))
        calls = self.expected(folded, unfolded)
        self.assertGreaterEqual(len(calls), GROUPS * MEMBERS)
        self.assertLess(len({address for address, _, _ in calls}), len(calls), "the linker folds nothing")
        places = {"elf": self.folder / "elf", "lidia": self.folder / "lidia"}
        for place in places.values():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        shutil.copy(folded, places["elf"])
        self.run_ok("archive", "-q", "--mangled", folded, "-o", places["lidia"] / f"{folded.name}.lidia")
        for form, place in places.items():
            found = self.symbolize(folded, place, calls)
            right = sum(plain(name) == plain(meant) for (name, _), (_, _, meant) in zip(found, calls))
            unmarked = [(name, meant) for (name, marked), (_, _, meant) in zip(found, calls)
                        if plain(name) != plain(meant) and not marked]
            self.assertEqual(unmarked, [], (compiler, linker, form))
            self.assertGreaterEqual(right / len(calls), 0.95, (compiler, linker, form, found))

    def test_callers_say_which_function_is_meant(self):
        for compiler, linker in ("clang++", "lld"), ("g++", "lld"):
            self.check(compiler, linker)

    def test_callers_of_older_debug_information_do_too(self):
        self.check("g++", "lld", "-gdwarf-4")

    def test_gold_folds_too(self):
        self.check("g++", "gold")

    def test_a_frame_has_all_names(self):
        program = self.build("clang++", "lld", "all")
        symbols = {symbol.name.decode(): symbol.value for symbol in elf.ElfFile.open(program).symbols(elf.SHT_SYMTAB)}
        address = symbols["_Z8work_3_0i"]
        names = {f"work_3_{member}(int)" for member in (0, 2, 3, 4)} | {"(anonymous namespace)::work_3_1(int)"}
        for path in program, self.archive(program):
            frame = self.lookup(path, [address + 1])[0]["frames"][-1]
            self.assertEqual({frame["function"], *frame["aliases"]}, names)
            self.assertIs(frame["ambiguous"], True)
            other = self.lookup(path, [symbols["main"]])[0]["frames"][-1]
            self.assertEqual((other["aliases"], other["ambiguous"]), ([], False))
            text = self.run_ok("lookup", "--explain", path, f"{address:x}").out.decode()
            self.assertIn("[folded]", text)
            self.assertRegex(text, r"also +\S.*work_3_")

    def test_names_of_one_function_are_not_ambiguous(self):
        sextant.need_tool("gcc")
        path = self.file("alias.c", "int real(int x) { return x; }\nint other(int) __attribute__((alias(\"real\")));\n"
                         "int weak(int) __attribute__((weak, alias(\"real\")));\nint main(void) { return other(0); }\n")
        program = self.folder / "alias"
        sextant.tool("gcc", "-g", "-O1", path, "-o", program)
        address = next(symbol.value for symbol in elf.ElfFile.open(program).symbols(elf.SHT_SYMTAB)
                       if symbol.name == b"real")
        for form in program, self.archive(program):
            frame = self.lookup(form, [address])[0]["frames"][-1]
            self.assertEqual((frame["function"], sorted(frame["aliases"]), frame["ambiguous"]),
                             ("real", ["other", "weak"], False))

    def test_names_of_one_function_of_an_assembler_source_are_not_ambiguous(self):
        """The assembler describes both in DWARF, also where the linker is not known, as in a library of the system."""
        sextant.need_tool("gcc", "ld.bfd", "objcopy")
        path = self.file("alias.s", ".text\n.globl one, two\n.type one, @function\n.type two, @function\none:\ntwo:\n"
                         " nop\n ret\n.size one, .-one\n.size two, .-two\n")
        main = self.file("main.c", "int main(void) { return 0; }\n")
        program = self.folder / "alias-asm"
        sextant.tool("gcc", "-g", "-fuse-ld=bfd", path, main, "-o", program)
        address = next(symbol.value for symbol in elf.ElfFile.open(program).symbols(elf.SHT_SYMTAB)
                       if symbol.name == b"one")
        unknown = self.folder / "unknown-linker"
        sextant.tool("objcopy", "--remove-section", ".comment", program, unknown)
        for form in program, self.archive(program), unknown, self.archive(unknown):
            frame = self.lookup(form, [address])[0]["frames"][-1]
            self.assertEqual(({frame["function"], *frame["aliases"]}, frame["ambiguous"]), ({"one", "two"}, False))
            self.assertNotIn(b"[folded]", self.run_ok("lookup", form, f"{address:x}").out)

    def heap_program(self):
        """Three functions that allocate are folded; one is called through a pointer, which no call site names."""
        sextant.need_tool("clang", "ld.lld")
        path = self.file("heap.c", """
            #include <stdlib.h>
            #define MAKE(name) __attribute__((noinline)) void *name(int n) { void *p = malloc(n * 3); return (char *)p + 1; }
            MAKE(first) MAKE(second) MAKE(third)
            void *(*volatile pointer)(int) = third;
            __attribute__((noinline)) void *use_first(int n) { return (char *)first(n + 1) + 1; }
            __attribute__((noinline)) void *use_second(int n) { return (char *)second(n + 2) + 2; }
            __attribute__((noinline)) void *use_pointer(int n) { return (char *)pointer(n + 3) + 3; }
            int main(void) { use_first(10); use_second(20); use_pointer(30); return 0; }
            """)
        program = self.folder / "heap"
        sextant.tool("clang", "-g", "-O1", "-ffunction-sections", "-fno-omit-frame-pointer", "-fuse-ld=lld",
                     "-Wl,--icf=all", "-Wl,--build-id", path, "-o", program)
        return program

    def record(self, program, *options):
        trace = self.folder / "out.mlyze"
        result = sextant.run("record", "-q", "-o", trace, *options, "--", program)
        self.assertEqual(result.status, 0, f"\n{result}")
        return trace

    def check_heap(self, trace):
        """By caller: the functions that the stacks have below it."""
        stacks = {}
        for line in self.run_ok("dump", "--json", trace).json_lines():
            functions = [frame["function"] for frame in line.get("frames", [])]
            for caller in "use_first", "use_second", "use_pointer":
                if caller in functions:
                    stacks[caller] = functions[:functions.index(caller)]
        self.assertEqual((stacks["use_first"], stacks["use_second"]), (["first"], ["second"]))
        self.assertEqual(len(stacks["use_pointer"]), 1)
        self.assertRegex(stacks["use_pointer"][0], r"^(first|second|third) \[folded\]$")
        functions = json.loads(mlyze_writer.read(trace.read_bytes())[1])["functions"].values()
        self.assertEqual(sum(name in ("first", "second", "third") for name in functions), 2, "names that no stack has")

    def test_stacks_of_a_heap_trace_have_the_function_that_was_called(self):
        self.check_heap(self.record(self.heap_program()))

    def test_stacks_that_are_named_later_have_it_too(self):
        program = self.heap_program()
        trace = self.record(program, "--no-symbols")
        archives = self.folder / "archives"
        archives.mkdir()
        shutil.move(self.archive(program), archives)
        for name, options in ("elf", ()), ("lidia", ("--search", archives)):
            out = self.folder / f"{name}.mlyze"
            self.run_warned("heap", "--symbolize", trace, "-o", out, *options)
            self.check_heap(out)
            self.run_ok("verify", out)
            program.unlink(missing_ok=True)

    def test_stacks_that_begin_with_the_root_have_it_too(self):
        program = self.heap_program()
        trace = self.record(program, "--no-symbols")
        header, text, events = mlyze_writer.read(trace.read_bytes())
        metadata = json.loads(text)
        for stack in metadata["stack_traces"].values():
            stack.reverse()
        metadata["stack_order"] = "root_first"
        turned = self.file("turned.mlyze", mlyze_writer.plain(events, header["start"], json.dumps(metadata).encode()))
        self.run_warned("heap", "--symbolize", turned)
        self.check_heap(turned)

    def text_of(self, program, callee, back, form):
        """Two lines of a stack: a frame at CALLEE, and the one that called it, whose call returns to BACK."""
        if form == "sanitizer":
            return f"    #0 {callee + 1:#x}  ({program}+{callee + 1:#x})\n    #1 {back - 1:#x}  ({program}+{back - 1:#x})\n"
        if form == "backtrace":
            return f"{program}(+{callee + 1:#x}) [{callee + 1:#x}]\n{program}(+{back:#x}) [{back:#x}]\n"
        return f"\t{callee + 1:16x} [unknown] ({program})\n\t{back:16x} [unknown] ({program})\n\n"

    def test_stacks_in_text_have_the_function_that_was_called(self):
        folded, unfolded = (self.build("clang++", "lld", folding, "-no-pie") for folding in ("all", "none"))
        calls = self.expected(folded, unfolded)
        archives = self.folder / "archives"
        archives.mkdir()
        self.run_ok("archive", "-q", folded, "-o", archives / f"{folded.name}.lidia")
        for form in "sanitizer", "backtrace", "perf":
            for program, options in (folded, ()), (f"/gone/{folded.name}", ("--no-local", "--search", archives)):
                text = "".join(self.text_of(program, address, back, form) for address, back, _ in calls)
                out = self.run_ok("symbolize", "--text", "-q", *options, stdin=text).out.decode()
                lines = [line for line in out.splitlines() if "caller_" not in line and line]
                self.assertEqual(len(lines), len(calls), (form, out))
                for line, (_, _, meant) in zip(lines, calls):
                    self.assertIn({"_Z5typedIiEiT_": "typed<int>", "_Z5typedIjEiT_": "typed<unsigned int>"}.get(
                        meant, plain(meant)), line)
                    self.assertNotIn("[folded]", line)

    def test_frames_in_text_without_a_caller_are_marked(self):
        folded, unfolded = (self.build("clang++", "lld", folding) for folding in ("all", "none"))
        address, back, meant = next(call for call in self.expected(folded, unfolded) if "work_3_4" in call[2])
        first, second, _ = self.text_of(folded, address, back, "sanitizer").split("\n")
        frame = rf" in .*work_3_\d\(int\)( \S+:\d+)? \[folded\]  \({re.escape(str(folded))}\+0x\w+\)$"
        caller = r" in caller_3_4\(int\) \S+:\d+  \("
        for lines, wanted in (
                ([first], [frame]),
                ([first, ""], [frame, "$"]),
                ([first, "text", second], [frame, "text$", caller]),
                ([first, second.replace("#1", "#2")], [frame, caller]),
                ([first, second.replace("#1", "#0")], [frame, caller]),
                ([first, second.strip("# 1")], [frame, r"\) caller_3_4\(int\) "]),
                ([first, second.replace(f"{back - 1:#x}", f"{back + 1:#x}")], [frame, caller]),
                ([first, first.replace("#0", "#1"), second.replace("#1", "#2")],
                 [frame, r" in work_3_4\(int\)  \(", caller]),
                ([f"({folded}+{address:#x})", f"({folded}+{back - 1:#x})"], [r" \[folded\]$", "caller_3_4"])):
            for ending in "\n", "\r\n":
                text = ending.join(lines)
                out = self.run_ok("symbolize", "--text", "-q", stdin=text).out.decode()
                found = out.split(ending)
                self.assertEqual(len(found), len(wanted), out)
                for line, pattern in zip(found, wanted):
                    self.assertRegex(line, pattern, out)
        self.check_stream(((first, b"[folded]"), (second, b"caller_3_4")))

    def check_stream(self, lines):
        """A line that waits for the next one waits only for a moment."""
        child = subprocess.Popen([sextant.program(), "symbolize", "--text"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            for line, wanted in lines:
                child.stdin.write(line.encode() + b"\n")
                child.stdin.flush()
                self.assertTrue(select.select([child.stdout], [], [], 30)[0], "no answer")
                self.assertIn(wanted, os.read(child.stdout.fileno(), 4096))
        finally:
            child.stdin.close()
            child.stdout.close()
            child.wait(10)

    def test_a_conversion_keeps_all_names(self):
        program = self.build("clang++", "lld", "all")
        archive = self.archive(program)
        again = self.folder / "again.lidia"
        self.run_ok("convert", "-q", archive, "-o", again)
        self.assertEqual(again.read_bytes(), archive.read_bytes())


def plain(name):
    """gold drops symbols of static functions that it folds; then DWARF has the name, and it is not mangled."""
    found = re.search(r"work_\d_\d", name)
    return found.group() if found else name


def mapping_of(program):
    """The code of a program, loaded where its addresses say."""
    file = elf.ElfFile.open(program)
    segment = next(one for one in file.segments if one.type == elf.PT_LOAD and one.flags & 1)
    skipped = segment.vaddr % 4096
    return pprof.Mapping(1, segment.vaddr - skipped, segment.vaddr + segment.filesz, segment.offset - skipped,
                         program.name, file.build_id())


if __name__ == "__main__":
    tap.main()
