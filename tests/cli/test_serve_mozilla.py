"""Mozilla's symbolication API: /symbolicate/v5, /source/v1 and /asm/v1, as the Firefox Profiler and samply ask it."""

import collections
import functools
import json
import pathlib
import re
import tempfile

from support import elf_reader, sextant, tap
from support.service import Server, store_folder

SOURCE = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) int twice(int x) { return 2 * abs(x - 7); }
static inline __attribute__((always_inline)) int both(int x) { return twice(x) + twice(x * 3 + 1); }
__attribute__((noinline)) int work(int x) { return both(x) ^ 5; }
__attribute__((noinline)) int more(int x) { return work(x) * 3 + work(x + 2); }
int main(int argc, char **argv) { (void)argv; return more(argc); }
"""

Binary = collections.namedtuple("Binary", "path name build_id file_id debug_id base")


def debug_id_of(build_id):
    """The debug id of a little-endian ELF file with that build ID, in hexadecimal."""
    guid = bytes.fromhex(build_id)[:16].ljust(16, b"\0")
    return (guid[3::-1] + guid[5:3:-1] + guid[7:5:-1] + guid[8:]).hex().upper() + "0"


def base_of(path):
    """The address of the first segment that is loaded."""
    return min(segment.vaddr for segment in elf_reader.ElfFile.open(path).segments if segment.type == 1)


class MozillaTest(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        cls.source = cls.place / "w.c"
        cls.source.write_text(SOURCE)
        cls.binary = cls.make("w", "-Wl,--build-id")

    @classmethod
    def make(cls, name, *options, compiler="gcc"):
        path = cls.place / name
        sextant.tool(compiler, "-O2", "-g", *options, "-o", path, cls.source)
        info = json.loads(sextant.run("info", "--json", path).out)
        build_id = info["build_id"] or ""
        return Binary(path, name, build_id, info["file_id"], debug_id_of(build_id), base_of(path))

    def serve(self, *options):
        server = Server(self.store, *options)
        self.addCleanup(server.stop)
        return server

    def setUp(self):
        super().setUp()
        self.store = store_folder(self)

    def put(self, server, binary, path=None, **keywords):
        id_ = binary.build_id or binary.file_id
        reply = server.put(f"/api/v1/files/{id_}", (path or binary.path).read_bytes(), **keywords)
        self.assertIn(reply.status, (200, 201), reply)

    def put_source(self, server, binary, **keywords):
        path = f"/api/v1/files/{binary.build_id}/source{self.source}"
        self.assertEqual(server.put(path, self.source.read_bytes(), **keywords).status, 201)

    def symbolicate(self, server, question, **keywords):
        reply = server.post("/symbolicate/v5", question, **keywords)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply.headers["Content-Type"], "application/json")
        return reply.json["results"]

    def ask(self, server, binary, offsets, **keywords):
        """The frames of a module's offsets, as the Firefox Profiler asks: one stack with all of them."""
        question = {"jobs": [{"memoryMap": [[binary.name, binary.debug_id]], "stacks": [[[0, at] for at in offsets]]}]}
        (result,) = self.symbolicate(server, question, **keywords)
        self.assertEqual(list(result), ["stacks", "found_modules"], result)
        self.assertEqual(result["found_modules"], {f"{binary.name}/{binary.debug_id}": True})
        (stack,) = result["stacks"]
        return stack

    @staticmethod
    @functools.lru_cache
    def functions(binary):
        """Name -> (address, size) of the functions that the source has."""
        found = {}
        for name in ("work", "more", "main"):
            (line,) = sextant.run("lookup", "--json", "--name", name, binary.path).json_lines()
            found[name] = int(line["address"], 16), line["size"]
        return found

    def offsets(self, binary):
        return [address + i - binary.base for address, size in self.functions(binary).values() for i in range(size)]

    def wanted(self, binary, offsets):
        """What lookup says, in the form of this API."""
        addresses = [f"{binary.base + offset:#x}" for offset in offsets]
        functions, frames = self.functions(binary), []
        for number, (offset, line) in enumerate(
            zip(offsets, sextant.run("lookup", "--json", binary.path, *addresses).json_lines())
        ):
            frame = {"frame": number, "module_offset": f"{offset:#x}", "module": binary.name}
            if line["frames"]:
                *inlines, outer = [{key: inner[key] for key in ("function", "file", "line")} for inner in line["frames"]]
                frame |= outer
                if outer["function"] in functions:
                    start, size = functions[outer["function"]]
                    frame["function_offset"] = f"{binary.base + offset - start:#x}"
                    frame["function_size"] = f"{size:#x}"
                if inlines:
                    frame["inlines"] = inlines
            frames.append(frame)
        return frames


class Symbolicate(MozillaTest):
    def check_binary(self, binary, path=None):
        server = self.serve()
        self.put(server, binary, path)
        offsets = self.offsets(binary)
        wanted = self.wanted(binary, offsets)
        self.assertTrue(any(len(frame.get("inlines", [])) == 2 for frame in wanted))
        self.assertEqual(self.ask(server, binary, offsets), wanted)
        return server, offsets, wanted

    def test_equals_lookup(self):
        server, offsets, wanted = self.check_binary(self.binary)
        # Offsets that nothing has, in any order and repeated.
        found = self.ask(server, self.binary, [2**40, *offsets[5:7], *offsets[5:7], 2**64 - 1])
        for frame, offset in zip(found, [2**40, *offsets[5:7], *offsets[5:7], 2**64 - 1]):
            expected = {"module_offset": f"{offset:#x}", "module": "w"}
            if offset in offsets:
                expected = {**wanted[offsets.index(offset)]}
            self.assertEqual({**frame, "frame": 0}, {**expected, "frame": 0})
        self.assertEqual([frame["frame"] for frame in found], [0, 1, 2, 3, 4, 5])

    def test_offsets_are_relative_to_the_first_segment(self):
        binary = self.make("fixed", "-no-pie", "-Wl,--build-id")
        self.assertGreater(binary.base, 0)
        self.check_binary(binary)

    def test_a_debug_file_alone_is_enough(self):
        sextant.need_tool("objcopy")
        binary = self.make("fixed2", "-no-pie", "-Wl,--build-id")
        sextant.tool("objcopy", "--only-keep-debug", binary.path, self.place / "fixed2.debug")
        self.check_binary(binary, self.place / "fixed2.debug")

    def test_pushed_symbols(self):
        binary = self.make("pushed", "-no-pie", "-Wl,--build-id")
        ranges, pads = self.folder / "r.symbfile", self.folder / "p.symbfile"
        self.run_ok("archive", "-q", "-f", "symbfile", binary.path, "-o", ranges, "--returnpads", pads)
        server = self.serve()
        headers = {"FileID": binary.file_id, "FilePart": "0", "FileParts": "1", "BuildID": binary.build_id}
        self.assertEqual(server.post("/api/symbols-returnpads", pads.read_bytes(), headers=headers).status, 200)
        # Where functions begin is not known yet.
        rows = self.run_ok("dump", "--json", pads).json_lines()
        pad = next(row for row in rows if row["frames"][-1]["function"] == "more")
        (frame,) = self.ask(server, binary, [int(pad["va"], 16) - binary.base])
        self.assertEqual((frame["function"], frame["function_offset"]), ("more", "0x0"))
        self.assertNotIn("function_size", frame)
        self.assertEqual(server.post("/api/symbols-ranges", ranges.read_bytes(), headers=headers).status, 200)
        offsets = self.offsets(binary)
        frames, wanted = self.ask(server, binary, offsets), self.wanted(binary, offsets)
        for key in ("function", "function_offset", "function_size"):
            self.assertEqual([frame[key] for frame in frames], [frame[key] for frame in wanted])
        pads_at = {int(row["va"], 16) - binary.base for row in rows}
        for offset, frame, expected in zip(offsets, frames, wanted):
            if offset not in pads_at:
                self.assertEqual(frame, expected)

    def test_llvm_symbolizer_agrees(self):
        sextant.need_tool("llvm-symbolizer")
        server = self.serve()
        self.put(server, self.binary)
        offsets = self.offsets(self.binary)
        asked = "".join(f"{self.binary.base + offset:#x}\n" for offset in offsets)
        said = sextant.tool("llvm-symbolizer", "--output-style=JSON", "--obj", self.binary.path, stdin=asked.encode())
        lines = [json.loads(line) for line in said.splitlines() if line.strip()]
        self.assertEqual(len(lines), len(offsets))
        for frame, line in zip(self.ask(server, self.binary, offsets), lines):
            chain = [*frame.get("inlines", []), frame]
            said = [(inner["FunctionName"], inner["FileName"], inner["Line"]) for inner in line["Symbol"]]
            self.assertEqual([(inner["function"], inner["file"], inner["line"]) for inner in chain], said)

    def test_several_modules_and_jobs(self):
        other = self.make("o", "-Wl,--build-id", "-DOTHER", "-O1")
        server = self.serve()
        self.put(server, self.binary)
        self.put(server, other)
        mine, its = self.offsets(self.binary)[3], self.offsets(other)[3]
        unknown = ["libnone.so", "0" * 33]
        maps = [["w", self.binary.debug_id], unknown, ["o", other.debug_id], ["[vdso]", ""], ["a/b", "x y"]]
        jobs = [
            {"memoryMap": maps, "stacks": [[[2, its], [0, mine], [1, 5], [4, 9]], [], [[0, mine], [-1, 77], [0, -1]]]},
            {"memoryMap": maps[:2] + maps[:1], "stacks": [[[2, mine], [0, mine]]], "extra": [1, {}]},
            {"memoryMap": [], "stacks": []},
        ]
        results = self.symbolicate(server, {"version": 5, "jobs": jobs})
        self.assertEqual(len(results), 3)
        first, second, third = results
        mine_frame, its_frame = self.wanted(self.binary, [mine])[0], self.wanted(other, [its])[0]
        self.assertEqual(first["stacks"], [
            [its_frame, {**mine_frame, "frame": 1}, {"frame": 2, "module_offset": "0x5", "module": "libnone.so"},
             {"frame": 3, "module_offset": "0x9", "module": "a/b"}],
            [],
            [mine_frame, {"frame": 1, "module_offset": "0x4d", "module": "<unknown>"},
             {"frame": 2, "module_offset": "-0x1", "module": "w"}],
        ])  # fmt: skip
        mine_key, none_key = f"w/{self.binary.debug_id}", "/".join(unknown)
        found = {mine_key: True, none_key: False, f"o/{other.debug_id}": True, "[vdso]/": None, "a/b/x y": False}
        self.assertEqual(first["found_modules"], found)
        self.assertEqual(set(first["module_errors"]), {none_key, "a/b/x y"})
        for problems in first["module_errors"].values():
            self.assertEqual(set(problems[0]), {"name", "message"})
        self.assertEqual(second["stacks"], [[mine_frame, {**mine_frame, "frame": 1}]])
        self.assertEqual(second["found_modules"], {mine_key: True, none_key: None})
        self.assertEqual(third, {"stacks": [], "found_modules": {}})
        # A single job needs no list; its members may be in any order.
        alone = {"stacks": jobs[0]["stacks"], "memoryMap": maps}
        self.assertEqual(self.symbolicate(server, alone), [first])
        self.assertEqual(self.symbolicate(server, {"jobs": []}), [])

    def test_ids_are_taken_as_clients_spell_them(self):
        server = self.serve()
        self.put(server, self.binary)
        offset, (guid, age) = self.offsets(self.binary)[0], (self.binary.debug_id[:32], "0")
        hyphens = f"{guid[:8]}-{guid[8:12]}-{guid[12:16]}-{guid[16:20]}-{guid[20:]}"
        for spelled, is_found in (
            (guid + age, True), (guid.lower() + age, True), (guid, True), (hyphens + "-0", True), (hyphens, True),
            (self.binary.build_id, True), (self.binary.build_id.upper(), True),
            (guid + "1", False), (guid + "00", False), (guid[:31], False), (self.binary.build_id[:32] + "0", False),
            (guid + "g", False), ("../" + guid + "0", False), ("", False), ("ÿ", False),
        ):  # fmt: skip
            with self.subTest(spelled):
                question = {"memoryMap": [["anything", spelled]], "stacks": [[[0, offset]]]}
                (result,) = self.symbolicate(server, question)
                self.assertEqual(result["found_modules"], {f"anything/{spelled}": is_found})
                self.assertEqual("function" in result["stacks"][0][0], is_found)

    def test_build_ids_of_any_length(self):
        server = self.serve()
        for build_id in ("0102030405060708", "00112233445566778899aabbccddeeff", "ab" * 32, "cd" * 15 + "00", "ef"):
            with self.subTest(build_id):
                binary = self.make("b" + build_id[:6], f"-Wl,--build-id=0x{build_id}")
                self.put(server, binary)
                offsets = self.offsets(binary)[:4]
                self.assertEqual(self.ask(server, binary, offsets), self.wanted(binary, offsets))

    def test_a_file_without_build_id(self):
        binary = self.make("none", "-Wl,--build-id=none")
        elf = elf_reader.ElfFile.open(binary.path)
        text = next(section for section in elf.sections if section.name == ".text")
        page, guid = binary.path.read_bytes()[text.offset : text.offset + min(text.size, 4096)], bytearray(16)
        for number, byte in enumerate(page):
            guid[number % 16] ^= byte
        binary = binary._replace(debug_id=debug_id_of(guid.hex()))
        self.check_binary(binary)
        listed = Server(self.store)
        self.addCleanup(listed.stop)
        (file,) = listed.get("/api/v1/files").json["files"]
        self.assertEqual((file["file_id"], file["build_id"]), (binary.file_id, None))

    def test_bad_requests(self):
        server = self.serve("--body-limit", "2M")
        for body, code in (
            (b"", "4010"), (b"{", "4010"), (b"[]", "4010"), (b"null", "4010"), (b"{}", "4010"), (b'{"jobs":{}}', "4010"),
            (b'{"jobs":[1]}', "4010"), (b'{"jobs":[{}]}', "4010"), (b'{"memoryMap":[]}', "4010"), (b'{"stacks":[]}', "4010"),
            (b'{"jobs":[],"memoryMap":[],"stacks":[]}', "4010"), (b'{"jobs":[],"jobs":[]}', "4010"),
            (b'{"memoryMap":[["a"]],"stacks":[]}', "4010"), (b'{"memoryMap":[["a","b","c"]],"stacks":[]}', "4010"),
            (b'{"memoryMap":[["a",1]],"stacks":[]}', "4010"), (b'{"memoryMap":[[]],"stacks":[]}', "4010"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[0,1]]}', "4010"), (b'{"memoryMap":[["a","0"]],"stacks":[[[0]]]}', "4010"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[0,1,2]]]}', "4010"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[1,1]]]}', "4010"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[-2,1]]]}', "4011"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[4294967295,1]]]}', "4010"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[0,"0x1"]]]}', "4011"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[0,1.5]]]}', "4011"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[0,1e3]]]}', "4011"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[0,-2]]]}', "4011"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[0,18446744073709551616]]]}', "4011"),
            (b'{"memoryMap":[["a","0"]],"stacks":[[[0,null]]]}', "4011"),
            (b'{"memoryMap":[["a","\xff"]],"stacks":[]}', "4010"),
            (b'{"memoryMap":[],"stacks":[]} x', "4010"), (b"[" * 100000, "4010"), (b'{"a":' + b"[" * 100000, "4010"),
        ):  # fmt: skip
            with self.subTest(body[:80]):
                reply = server.post("/symbolicate/v5", body)
                self.assertEqual((reply.status, reply.json["code"]), (400, code), reply)
                self.assertIsInstance(reply.json["error"], str)
                self.assertRegex(reply.json["uuid"], "^[0-9a-f-]{36}$")

    def test_limits(self):
        server = self.serve()
        jobs = {"jobs": [{"memoryMap": [], "stacks": []}] * 10001}
        modules = {"memoryMap": [[f"m{number}", ""] for number in range(10001)], "stacks": []}
        for question, word in ((jobs, "jobs"), (modules, "modules")):
            reply = server.post("/symbolicate/v5", question)
            self.assertEqual((reply.status, reply.json["code"]), (413, "3004"), reply)
            self.assertIn(word, reply.json["error"])
        # Four bytes a stack.
        reply = server.post("/symbolicate/v5", b'{"memoryMap":[],"stacks":[' + b"[]," * 1048576 + b"[]]}")
        self.assertEqual((reply.status, reply.json["code"]), (413, "3004"), reply)
        self.assertIn("stacks", reply.json["error"])
        jobs["jobs"].pop()
        self.assertEqual(len(self.symbolicate(server, jobs)), 10000)


class Sources(MozillaTest):
    def ask_source(self, server, binary, offset, file, status=200, **keywords):
        question = {"debugName": binary.name, "debugId": binary.debug_id, "moduleOffset": f"{offset:#x}", "file": file}
        reply = server.post("/source/v1", question, **keywords)
        self.assertEqual(reply.status, status, reply)
        return reply.json

    def test_only_what_is_stored_and_in_the_symbols(self):
        server = self.serve()
        self.put(server, self.binary)
        offset, file = self.offsets(self.binary)[2], str(self.source)
        self.assertIn("not stored", self.ask_source(server, self.binary, offset, file, 404)["error"])
        self.put_source(server, self.binary)
        wanted = {"symbolsLastModified": None, "sourceLastModified": None, "file": file, "source": SOURCE}
        self.assertEqual(self.ask_source(server, self.binary, offset, file), wanted)
        secret = self.file("secret.c", b"secret")
        path = f"/api/v1/files/{self.binary.build_id}/source{secret}"
        self.assertEqual(server.put(path, b"stored, but not in the symbols of the offset").status, 201)
        for other in (str(secret), "/etc/passwd", file + "x", file.upper(), "w.c", "", f"/.{file}", f"/{file}"):
            self.assertIn("error", self.ask_source(server, self.binary, offset, other, 404))
        self.assertIn("no files", self.ask_source(server, self.binary, 2**40, file, 404)["error"])
        unknown = self.binary._replace(debug_id="0" * 33)
        self.assertIn("nothing is known", self.ask_source(server, unknown, offset, file, 404)["error"])

    def test_every_file_of_a_chain(self):
        (self.place / "in.h").write_text("static inline int in(int x)\n{\n    return x / 3 * (x + 1);\n}\n")
        text = '#include "in.h"\nint out(int x) { return in(x) + in(x + 7); }\nint main(void) { return 0; }\n'
        (self.place / "out.c").write_text(text)
        sextant.tool("gcc", "-O2", "-g", "-Wl,--build-id", "-o", self.place / "out", self.place / "out.c")
        info = json.loads(sextant.run("info", "--json", self.place / "out").out)
        binary = Binary(self.place / "out", "out", info["build_id"], info["file_id"], debug_id_of(info["build_id"]), 0)
        server = self.serve()
        self.put(server, binary)
        (line,) = sextant.run("lookup", "--json", "--name", "out", binary.path).json_lines()
        start = int(line["address"], 16)
        frame = next(frame for frame in self.ask(server, binary, range(start, start + line["size"])) if "inlines" in frame)
        for file in (frame["file"], frame["inlines"][0]["file"]):
            content = pathlib.Path(file).read_bytes() + b"\xe9 \x00 \x1b\n"  # not UTF-8
            self.assertEqual(server.put(f"/api/v1/files/{binary.file_id}/source{file}", content).status, 201)
            source = self.ask_source(server, binary, int(frame["module_offset"], 16), file)["source"]
            self.assertEqual(source, content.decode("utf-8", "replace"))

    def test_bad_requests(self):
        server = self.serve()
        good = {"debugName": "w", "debugId": "0" * 33, "moduleOffset": "0x1", "file": "/a"}
        for change in ({"moduleOffset": 1}, {"moduleOffset": "1"}, {"moduleOffset": "0x"}, {"moduleOffset": "0xg"},
                       {"moduleOffset": None}, {"file": None}, {"file": 1}, {"debugId": None}, {"debugId": []},
                       {"moduleOffset": "0x10000000000000000"}):  # fmt: skip
            reply = server.post("/source/v1", {**good, **change})
            self.assertEqual(reply.status, 400, (change, reply))
            self.assertIsInstance(reply.json["error"], str)
        for body in (b"", b"[]", b'"a"', b"{} {}"):
            self.assertEqual(server.post("/source/v1", body).status, 400)
        self.assertEqual(server.post("/source/v1", good).status, 404)


class Assembly(MozillaTest):
    def ask_code(self, server, status=200, **question):
        reply = server.post("/asm/v1", question)
        self.assertEqual(reply.status, status, reply)
        return reply.json

    def objdump(self, binary, start, size, command="objdump"):
        """Offset -> instruction, of the code of a function."""
        place = [f"--start-address={start:#x}", f"--stop-address={start + size:#x}"]
        listing = sextant.tool(command, "-d", "-w", "--no-show-raw-insn", *place, binary.path).decode()
        lines = re.findall(r"^ +([0-9a-f]+):\t(.*)$", listing, re.MULTILINE)
        return {int(address, 16) - start: text for address, text in lines}

    def check_function(self, binary, arch, syntax, objdump="objdump"):
        sextant.need_tool(objdump)
        server = self.serve()
        self.put(server, binary)
        start, size = self.functions(binary)["more"]
        name = {"name": binary.name, "codeId": binary.build_id, "debugName": binary.name, "debugId": binary.debug_id}
        reply = self.ask_code(server, **name, startAddress=f"{start - binary.base:#x}", size=f"{size:#x}")
        self.assertEqual(list(reply), ["startAddress", "size", "arch", "syntax", "instructions"])
        self.assertEqual((reply["startAddress"], reply["size"]), (f"{start - binary.base:#x}", f"{size:#x}"))
        self.assertEqual((reply["arch"], reply["syntax"]), (arch, [syntax]))
        wanted = self.objdump(binary, start, size, objdump)
        self.assertEqual([offset for offset, _ in reply["instructions"]], list(wanted))
        for offset, text in reply["instructions"]:
            self.assertNotIn("\t", text)
            words = ("call", "bl", "ret")
            self.assertEqual(text.split()[0] in words, wanted[offset].split()[0] in words, text)
        work = self.functions(binary)["work"][0]
        calls = [text for _, text in reply["instructions"] if "<work>" in text]
        self.assertEqual(len(calls), 2, reply)
        for text in calls:
            self.assertTrue(text.endswith(f" {work - binary.base:#x} <work>"), text)
        return server, name, start - binary.base, size, reply

    def test_x86_64(self):
        server, name, start, size, whole = self.check_function(self.binary, "x86_64", "Intel")
        code_id = name["codeId"]
        for ids in ({"debugId": name["debugId"]}, {"codeId": code_id.upper()}, {"debugId": "0" * 33, "codeId": code_id},
                    {"debugId": name["debugId"], "codeId": None}):  # fmt: skip
            self.assertEqual(self.ask_code(server, **ids, startAddress=f"{start:#x}", size=f"{size:#x}"), whole)
        # The last instruction is whole. To the end of the function, from its middle too.
        some = self.ask_code(server, **name, startAddress=f"{start:#x}", size="0x1")
        self.assertEqual(some["instructions"], whole["instructions"][:1])
        self.assertEqual(int(some["size"], 16), whole["instructions"][1][0])
        to_end = {"size": "0x0", "continueUntilFunctionEnd": True}
        self.assertEqual(self.ask_code(server, **name, startAddress=f"{start:#x}", **to_end), whole)
        second = whole["instructions"][1][0]
        rest = self.ask_code(server, **name, startAddress=f"{start + second:#x}", **to_end)
        self.assertEqual([text for _, text in rest["instructions"]], [text for _, text in whole["instructions"][1:]])
        none = self.ask_code(server, **name, startAddress=f"{start:#x}", size="0x0")
        self.assertEqual((none["size"], none["instructions"]), ("0x0", []))
        # Jumps within a function name it.
        main = self.ask_code(server, **name, startAddress=f"{self.functions(self.binary)['work'][0]:#x}", **to_end)
        for text in (text for _, text in main["instructions"] if text.startswith("j")):
            self.assertIn("<work+0x", text)

    def test_x86_64_at_a_fixed_address(self):
        self.check_function(self.make("fixed3", "-no-pie", "-Wl,--build-id"), "x86_64", "Intel")

    def test_aarch64(self):
        sextant.need_tool("aarch64-linux-gnu-gcc")
        binary = self.make("arm", "-Wl,--build-id", compiler="aarch64-linux-gnu-gcc")
        server, name, start, size, whole = self.check_function(binary, "aarch64", "ARM", "aarch64-linux-gnu-objdump")
        # An address within an instruction is that of the instruction.
        again = self.ask_code(server, **name, startAddress=f"{start + 3:#x}", size=f"{size:#x}")
        self.assertEqual(again, whole)

    def test_other_machines(self):
        for tool in ("clang", "ld.lld"):
            sextant.need_tool(tool)
        source = self.file("f.c", b"__attribute__((noinline)) int work(int x) { return x * 3 + 1; }\n"
                                  b"int more(int x) { return work(x) + work(x + 2); }\n")  # fmt: skip
        server = self.serve()
        for target, arch, syntax, call in (
            ("armv7-linux-gnueabihf -mthumb", "arm", "ARM", "blx"), ("armv7-linux-gnueabihf -marm", "arm", "ARM", "bl"),
            ("i386-linux-gnu", "i686", "Intel", "call"), ("mips-linux-gnu", None, None, None),
        ):  # fmt: skip
            with self.subTest(target):
                path = self.folder / f"{target}.so"
                link = ("-nostdlib", "-shared", "-fuse-ld=lld", "-Wl,--build-id=sha1")
                sextant.tool("clang", *f"--target={target}".split(), "-O1", "-g", "-fPIC", *link, "-o", path, source)
                elf = elf_reader.ElfFile.open(path)
                build_id = elf.build_id()
                self.assertEqual(server.put(f"/api/v1/files/{build_id}", path.read_bytes()).status, 201)
                is_big = path.read_bytes()[5] == 2
                debug_id = build_id[:32] + "0" if is_big else debug_id_of(build_id)
                symbol = next(symbol for symbol in elf.symbols(elf_reader.SHT_SYMTAB) if symbol.name == b"more")
                start = symbol.value & ~1
                (frame,) = self.ask(server, Binary(path, "f", build_id, "", debug_id, 0), [start + 4])
                self.assertEqual((frame["function"], frame["function_offset"]), ("more", "0x4"))
                if call is None:
                    continue
                question = {"debugId": debug_id, "startAddress": f"{start:#x}", "size": f"{symbol.size:#x}"}
                reply = self.ask_code(server, **question)
                self.assertEqual((reply["arch"], reply["syntax"], int(reply["size"], 16)), (arch, [syntax], symbol.size))
                calls = [text for _, text in reply["instructions"] if "<work" in text]
                self.assertEqual([text.split()[0] for text in calls], [call, call], reply)

    def test_only_executables_that_are_stored(self):
        sextant.need_tool("objcopy")
        sextant.tool("objcopy", "--only-keep-debug", self.binary.path, self.place / "w.debug")
        server = self.serve()
        question = {"debugId": self.binary.debug_id, "startAddress": "0x1000", "size": "0x10"}
        self.assertIn("nothing is known", self.ask_code(server, 404, **question)["error"])
        self.put(server, self.binary, self.place / "w.debug")
        self.assertIn("executable is not stored", self.ask_code(server, 404, **question)["error"])
        self.put(server, self.binary)
        self.ask_code(server, **{**question, "startAddress": f"{self.functions(self.binary)['main'][0]:#x}"})
        for start in ("0x7fffffff", "0xffffffffffffffff"):
            self.assertIn("no bytes", self.ask_code(server, 404, **{**question, "startAddress": start})["error"])
        for size in ("0x100001", "0xffffffffffffffff"):
            self.ask_code(server, 413, **{**question, "size": size})

    def test_bad_requests(self):
        server = self.serve()
        good = {"debugName": "w", "debugId": "0" * 33, "startAddress": "0x1", "size": "0x1"}
        for change in ({"startAddress": 1}, {"startAddress": None}, {"size": "16"}, {"size": None}, {"codeId": 7},
                       {"size": "0x10000000000000000"}, {"continueUntilFunctionEnd": 1}, {"debugId": None}):  # fmt: skip
            reply = server.post("/asm/v1", {**good, **change})
            self.assertEqual(reply.status, 400, (change, reply))
            self.assertIsInstance(reply.json["error"], str)
        self.assertEqual(server.post("/asm/v1", good).status, 404)


class Access(MozillaTest):
    def questions(self):
        offset = self.offsets(self.binary)[0]
        job = {"memoryMap": [["w", self.binary.debug_id]], "stacks": [[[0, offset]]]}
        name = {"debugName": "w", "debugId": self.binary.debug_id}
        source = {**name, "moduleOffset": f"{offset:#x}", "file": str(self.source)}
        code = {**name, "startAddress": f"{offset:#x}", "size": "0x4"}
        return {"/symbolicate/v5": job, "/source/v1": source, "/asm/v1": code}

    def is_found(self, path, reply):
        if path != "/symbolicate/v5":
            return reply.status == 200
        return reply.json["results"][0]["found_modules"][f"w/{self.binary.debug_id}"]

    def test_keys_and_tenants(self):
        keys = self.file("keys", b"all:a\nup:u:upload\nsee:s:read\nblue:b::blue\n")
        server = self.serve("--api-key-file", keys, "--cors-origin", "https://p.example")
        self.put(server, self.binary, key="blue:b")
        self.put_source(server, self.binary, key="blue:b")
        for path, question in self.questions().items():
            for key, status in ((None, 401), ("see:x", 401), ("up:u", 403)):
                reply = server.post(path, question, key=key, headers={"Origin": "https://p.example"})
                self.assertEqual(reply.status, status)
                self.assertIsInstance(reply.json["error"], str)
                self.assertEqual(reply.headers["Access-Control-Allow-Origin"], "https://p.example")
            self.assertTrue(self.is_found(path, server.post(path, question, key="blue:b")), path)
            other = server.post(path, question, key="see:s")
            self.assertFalse(self.is_found(path, other), path)
            unknown = server.post(path, {**question, "debugId": "0" * 33}, key="see:s")
            self.assertEqual(re.sub(b"[0-9a-f-]{36}", b"", other.body), re.sub(b"[0-9a-f-]{36}", b"", unknown.body))

    def test_public_read(self):
        keys = self.file("keys", b"all:a\nblue:b::blue\n")
        server = self.serve("--api-key-file", keys, "--public-read")
        self.put(server, self.binary, key="blue:b")
        self.put_source(server, self.binary, key="blue:b")
        for path, question in self.questions().items():
            self.assertFalse(self.is_found(path, server.post(path, question)), path)
        self.put(server, self.binary, key="all:a")
        self.put_source(server, self.binary, key="all:a")
        for path, question in self.questions().items():
            self.assertTrue(self.is_found(path, server.post(path, question)), path)

    def test_browsers(self):
        server = self.serve("--cors-origin", "https://profiler.firefox.com")
        for path, question in self.questions().items():
            for origin, is_allowed in (("https://profiler.firefox.com", True), ("https://x.example", False)):
                allowed = origin if is_allowed else None
                asked = {"Origin": origin, "Access-Control-Request-Method": "POST",
                         "Access-Control-Request-Headers": "content-type"}  # fmt: skip
                preflight = server.request("OPTIONS", path, headers=asked)
                # A page that sends no Content-Type of its own asks without a preflight.
                simple = {"Origin": origin, "Content-Type": "text/plain;charset=UTF-8"}
                reply = server.post(path, json.dumps(question), headers=simple)
                bad = server.post(path, b"{", headers={"Origin": origin})
                self.assertEqual((preflight.status, bad.status), (204, 400))
                for one in (preflight, reply, bad):
                    self.assertEqual(one.headers["Access-Control-Allow-Origin"], allowed, (path, one))
                    self.assertEqual(one.headers["Vary"], "Origin")
                self.assertEqual(preflight.headers["Access-Control-Allow-Headers"], allowed and "content-type")
                self.assertEqual(preflight.headers["Access-Control-Allow-Methods"], allowed and "POST, OPTIONS")

    def test_no_origins_unless_they_are_given(self):
        server = self.serve()
        asked = {"Origin": "https://profiler.firefox.com", "Access-Control-Request-Method": "POST"}
        for path, question in self.questions().items():
            for reply in (server.request("OPTIONS", path, headers=asked), server.post(path, question, headers=asked)):
                self.assertFalse([name for name in reply.headers if name.lower().startswith("access-control")])
        for path in self.questions():
            self.assertEqual(server.get(path).status, 405)


class Stores(MozillaTest):
    """Links from debug ids to binaries."""

    def links(self):
        return sorted(path.relative_to(self.store).parts[3] for path in self.store.glob("t/*/id/d.*/same/*"))

    def test_links_of_an_older_store_are_added_and_dangling_ones_removed(self):
        with Server(self.store) as server:
            self.put(server, self.binary)
        key = "d." + self.binary.debug_id[:32].lower()
        self.assertEqual(self.links(), [key])
        for link in self.store.glob("t/*/id/d.*/same/*"):
            link.unlink()
        self.run_ok("store", "gc", "--dry-run", "--store", self.store)
        self.assertEqual(self.links(), [])
        self.run_ok("store", "gc", "--store", self.store)
        self.assertEqual(self.links(), [key])
        self.run_ok("store", "verify", "--store", self.store)
        with Server(self.store) as server:
            offsets = self.offsets(self.binary)[:3]
            self.assertEqual(self.ask(server, self.binary, offsets), self.wanted(self.binary, offsets))
            (file,) = server.get("/api/v1/files").json["files"]
            self.assertEqual(file["build_id"], self.binary.build_id)
        self.run_ok("store", "rm", "--store", self.store, self.binary.build_id)
        self.assertEqual(self.links(), [])

    def test_a_binary_that_is_removed_is_not_found(self):
        server = self.serve()
        self.put(server, self.binary)
        self.run_ok("store", "rm", "--store", self.store, self.binary.file_id)
        self.assertEqual(self.links(), [])
        self.put(server, self.binary)
        self.assertEqual(self.links(), ["d." + self.binary.debug_id[:32].lower()])
        offsets = self.offsets(self.binary)[:3]
        self.assertEqual(self.ask(server, self.binary, offsets), self.wanted(self.binary, offsets))


if __name__ == "__main__":
    tap.main()
