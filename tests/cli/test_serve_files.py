"""Whole files: ELF files and sources are kept, archives are made of them, and debuginfod clients find them."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import urllib.parse

from support import elf_reader, sextant, tap
from support.service import Server, store_folder

SOURCE = """#include <stdio.h>
static inline int read_one(int x) { return x * 3 + getchar(); }
int twice(int x) { return read_one(x) + read_one(x + 1); }
int main(int argc, char **argv) { (void)argv; return twice(argc); }
"""


class Files(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        sextant.need_tool("objcopy")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        (cls.place / "a.c").write_text(SOURCE)
        full, executable, debug = cls.full, cls.executable, cls.debug = [cls.place / name for name in ("full", "exe", "dbg")]
        sextant.tool("gcc", "-g", "-O2", "-Wl,--build-id", "-o", full, cls.place / "a.c")
        sextant.tool("objcopy", "--only-keep-debug", full, debug)
        sextant.tool("objcopy", "--strip-all", full, executable)
        cls.info = json.loads(sextant.run("info", "--json", executable).out)
        cls.build_id, cls.file_id = cls.info["build_id"], cls.info["file_id"]

    def setUp(self):
        super().setUp()
        self.server = Server(store_folder(self))
        self.addCleanup(self.server.stop)

    def put(self, path, status, id_=None):
        reply = self.server.put(f"/api/v1/files/{id_ or self.build_id}", path.read_bytes())
        self.assertEqual(reply.status, status, reply)
        return reply.json

    def test_files_have_names(self):
        library, linked = self.place / "libnamed.so.1", self.place / "linked"
        options = ("-shared", "-fPIC", "-Wl,--build-id", "-Wl,-soname,libnamed.so.1")
        sextant.tool("gcc", "-g", *options, "-o", library, self.place / "a.c")
        shutil.copy(self.executable, linked)
        (self.place / "program.debug").write_bytes(self.debug.read_bytes())
        sextant.tool("objcopy", f"--add-gnu-debuglink={self.place / 'program.debug'}", linked)
        hidden = self.place / "hidden"
        shutil.copy(self.executable, hidden)
        (self.place / ("ab" * 19 + ".debug")).write_bytes(self.debug.read_bytes())
        sextant.tool("objcopy", f"--add-gnu-debuglink={self.place / ('ab' * 19 + '.debug')}", hidden)
        for path, query, wanted in (
            (library, "", "libnamed.so.1"), (linked, "", "program"), (hidden, "", None), (self.executable, "", None),
            (library, "?name=%2Flib%2Fw%20%C3%A9", "w \u00e9"), (linked, "?name=", "program"),
            (linked, "?name=a%0Ab", "program"), (linked, "?name=" + "n" * 256, "program"),
        ):  # fmt: skip
            with self.subTest(path=path.name, query=query), Server(store_folder(self)) as server:
                info = json.loads(sextant.run("info", "--json", path).out)
                self.assertEqual(server.put(f"/api/v1/files/{info['file_id']}{query}", path.read_bytes()).status, 201)
                self.assertEqual(server.get(f"/api/v1/files/{info['build_id']}").json["name"], wanted)
                if wanted:
                    found = server.get("/api/v1/files?search=" + urllib.parse.quote(wanted[:4])).json["files"]
                    self.assertEqual([file["name"] for file in found], [wanted])

    def have(self, **file):
        reply = self.server.post("/api/v1/have", {"files": [{"build_id": self.build_id, **file}]})
        self.assertEqual(reply.status, 200, reply)
        (answer,) = reply.json["files"]
        return answer["upload"], answer["reason"]

    def frames(self, id_=None):
        line = sextant.run("lookup", "--json", "--name", "twice", self.full).json_lines()[0]
        address = f"{int(line['address'], 16) + line['size'] // 2:#x}"
        reply = self.server.post("/api/symbolize", {"file_id": id_ or self.build_id, "addresses": [address]})
        wanted = sextant.run("lookup", "--json", self.full, address).json_lines()[0]["frames"]
        return reply.json["frames"][0], [{key: frame[key] for key in ("function", "file", "line")} for frame in wanted]

    def test_executable_and_debug_file_in_both_orders(self):
        orders = ((self.executable, self.debug, self.build_id), (self.debug, self.executable, self.file_id))
        for first, second, id_ in orders:
            with self.subTest(first=first.name):
                self.assertEqual(self.have(), (True, "nothing is known of this file"))
                added = self.put(first, 201)
                self.assertEqual((added["build_id"], added["kind"]),
                                 (self.build_id, "executable" if first == self.executable else "debuginfo"))  # fmt: skip
                self.put(first, 200)
                self.put(second, 201)
                found, wanted = self.frames(id_)
                self.assertEqual(found, wanted)
                self.assertGreater(len(found), 1)
                self.assertEqual(self.have(), (False, "symbols with lines are here"))
                digest = hashlib.sha256(second.read_bytes()).hexdigest()
                self.assertEqual(self.have(sha256=digest), (False, "this file is here"))
                self.assertEqual(self.have(sha256="00" * 32), (True, "another file of this binary is here"))
            self.server.stop()
            self.server = Server(store_folder(self))
            self.addCleanup(self.server.stop)

    def test_a_stripped_file_does_not_shadow_its_symbols(self):
        self.put(self.full, 201)
        self.put(self.executable, 201)
        found, wanted = self.frames()
        self.assertEqual(found, wanted)

    def test_refuses_other_files(self):
        for id_, body, status, code in (
            ("00" * 20, self.executable.read_bytes(), 400, 4008), (self.build_id, b"hello", 400, 4007),
            (self.build_id, b"", 400, 4007), (self.build_id, self.executable.read_bytes()[:700], 400, 4007),
            ("xyz", b"", 400, 4013),
        ):  # fmt: skip
            reply = self.server.put(f"/api/v1/files/{id_}", body)
            self.assertEqual((reply.status, reply.code), (status, str(code)), (id_, len(body), reply))
        self.assertEqual(self.server.get("/api/v1/files").json, {"files": [], "next": None})
        for wrong, code in ((b"x", 4010), ({}, 4010), ({"files": [{}]}, 4000), ({"files": [{"build_id": "x"}]}, 4001),
                            ({"files": [{"file_id": "x"}]}, 4000),
                            ({"files": [{"build_id": "00" * 20, "sha256": "1"}]}, 4010)):  # fmt: skip
            reply = self.server.post("/api/v1/have", wrong)
            self.assertEqual((reply.status, reply.code), (400, str(code)), wrong)

    def test_lists_files_and_their_quality(self):
        self.put(self.executable, 201)
        (file,) = self.server.get("/api/v1/files").json["files"]
        self.assertEqual((file["build_id"], file["file_id"], file["arch"]), (self.build_id, self.file_id, self.info["arch"]))
        self.assertFalse(file["quality"]["lines"])
        self.assertIn("debug", file["missing"])
        self.put(self.debug, 201)
        (file,) = self.server.get("/api/v1/files").json["files"]
        self.assertTrue(all(file["quality"][key] for key in ("dwarf", "lines", "inlines", "executable", "debuginfo")), file)
        self.assertIsNone(file["missing"])
        self.assertEqual(self.server.get(f"/api/v1/files/{self.file_id}").json, file)
        self.assertEqual(self.server.get("/api/v1/files?search=" + self.build_id[:6]).json["files"], [file])
        self.assertEqual(self.server.get("/api/v1/files?search=nothing").json["files"], [])
        (line,) = sextant.run("store", "list", "--json", "--store", self.server.store).json_lines()
        self.assertEqual(line, file)  # one shape
        self.assertEqual(self.server.get("/api/v1/files?limit=001").json["files"], [file])
        for query in ("limit=0", "limit=x", "limit=5000", "limit=5abc", "limit=", "limit=-1", "limit=%2B5", "limit=%205",
                      "limit=18446744073709551617"):  # fmt: skip
            self.assertEqual(self.server.get("/api/v1/files?" + query).status, 400)
        self.assertEqual(self.server.get("/api/v1/files/" + "00" * 16).status, 404)

    def test_gives_archives(self):
        self.put(self.full, 201)
        for kind, form in (("lidia", "lidia"), ("symbfile", "symbfile"), ("returnpads", "returnpads")):
            reply = self.server.get(f"/api/v1/files/{self.build_id}/{kind}")
            self.assertEqual(reply.status, 200, reply)
            path = self.file(f"x.{kind}", reply.body)
            self.assertEqual(json.loads(self.run_ok("info", "--json", path).out)["format"], form)
            self.run_ok("verify", path)
            tag = reply.headers["ETag"]
            again = self.server.get(f"/api/v1/files/{self.build_id}/{kind}", headers={"If-None-Match": tag})
            self.assertEqual((again.status, again.body), (304, b""))
            part = self.server.get(f"/api/v1/files/{self.build_id}/{kind}", headers={"Range": "bytes=3-9"})
            self.assertEqual((part.status, part.body), (206, reply.body[3:10]))
            head = self.server.request("HEAD", f"/api/v1/files/{self.build_id}/{kind}")
            self.assertEqual((head.status, head.headers["Content-Length"]), (200, str(len(reply.body))))
        self.assertEqual(self.server.get(f"/api/v1/files/{self.build_id}/other").status, 404)

    def test_debuginfod_paths(self):
        self.put(self.executable, 201)
        self.put(self.debug, 201)
        source = "/src/../src//a.c"
        self.assertEqual(self.server.put(f"/api/v1/files/{self.build_id}/source/src/a.c", SOURCE.encode()).status, 201)
        for path, wanted in (("debuginfo", self.debug.read_bytes()), ("executable", self.executable.read_bytes()),
                             (f"source{source}", SOURCE.encode()), ("source/other.c", None)):  # fmt: skip
            reply = self.server.get(f"/buildid/{self.build_id}/{path}")
            self.assertEqual((reply.status, reply.body) if wanted else reply.status, (200, wanted) if wanted else 404, path)
            if wanted:
                self.assertEqual(reply.headers["X-DEBUGINFOD-SIZE"], str(len(wanted)))
        for section, holder in ((".debug_info", self.debug), (".text", self.executable)):
            copy = self.folder / "section"
            sextant.tool("objcopy", f"--dump-section={section}={copy}", holder, "/dev/null")
            reply = self.server.get(f"/buildid/{self.build_id}/section/{section}")
            self.assertEqual((reply.status, reply.body), (200, copy.read_bytes()), section)
            tag = {"If-None-Match": reply.headers["ETag"]}
            self.assertEqual(self.server.get(f"/buildid/{self.build_id}/section/{section}", headers=tag).status, 304)
            some = self.server.get(f"/buildid/{self.build_id}/section/{section}", headers={"Range": "bytes=5-20"})
            self.assertEqual((some.status, some.body), (206, reply.body[5:21]))
            self.assertEqual(some.headers["Content-Range"], f"bytes 5-20/{len(reply.body)}")
            beyond = {"Range": f"bytes={len(reply.body)}-"}
            self.assertEqual(self.server.get(f"/buildid/{self.build_id}/section/{section}", headers=beyond).status, 416)
            head = self.server.request("HEAD", f"/buildid/{self.build_id}/section/{section}")
            self.assertEqual((head.status, head.headers["Content-Length"]), (200, str(len(reply.body))))
            self.assertEqual(head.headers["X-DEBUGINFOD-SIZE"], str(len(reply.body)))
        for section in (".nothing", ".bss"):  # one that has no bytes in the file counts as missing, as in debuginfod
            self.assertEqual(self.server.get(f"/buildid/{self.build_id}/section/{section}").status, 404)
        self.assertEqual(self.server.get(f"/buildid/{'00' * 20}/debuginfo").status, 404)
        self.assertEqual(self.server.get("/buildid/nonsense/debuginfo").status, 400)
        reply = self.server.get(f"/metadata?key=buildid&value={self.build_id}").json
        self.assertEqual([row["type"] for row in reply["results"]], ["executable", "debuginfo"])
        self.assertTrue(reply["complete"])
        self.assertEqual(self.server.get(f"/metadata?key=buildid&value={self.build_id.upper()}").json, reply)
        for value in ("00" * 20, "nonsense", self.build_id[:-2]):
            found = self.server.get(f"/metadata?key=buildid&value={value}").json
            self.assertEqual(found, {"results": [], "complete": True})
        self.assertEqual(self.server.get("/metadata?key=what&value=x").status, 400)

    def test_compressed_sections_are_sent_as_they_are(self):
        packed = self.folder / "packed"
        sextant.tool("objcopy", "--compress-debug-sections=zlib", self.debug, packed)
        section = next(one for one in elf_reader.ElfFile.open(packed).sections if one.name == ".debug_info")
        self.put(packed, 201)
        reply = self.server.get(f"/buildid/{self.build_id}/section/.debug_info")
        self.assertEqual(reply.body, packed.read_bytes()[section.offset : section.offset + section.size])

    @sextant.only_with_everything
    def test_metadata_says_when_its_list_is_cut(self):
        store = store_folder(self)
        with Server(store) as server:
            for number in range(10001):
                folder = store / "t" / "-" / "id" / f"b.{number:040x}" / "symbols"
                folder.mkdir(parents=True)
                (folder / "25d-0000000000000001-0000000000000001").touch()
            for query, complete in (("key=glob&value=*", False), ("key=file&value=no.such.file", True),
                                    (f"key=buildid&value={77:040x}", True)):  # fmt: skip
                self.assertEqual(server.get(f"/metadata?{query}").json, {"results": [], "complete": complete})

    def test_debuginfod_find(self):
        if not shutil.which("debuginfod-find"):
            self.skipTest("debuginfod-find is not installed")
        self.put(self.executable, 201)
        self.put(self.debug, 201)
        environment = {**os.environ, "DEBUGINFOD_URLS": self.server.url, "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache")}
        for kind, wanted in (("debuginfo", self.debug), ("executable", self.executable)):
            command = ["debuginfod-find", kind, self.build_id]
            result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            self.assertEqual(pathlib.Path(result.stdout.strip()).read_bytes(), wanted.read_bytes())

    def test_gdb(self):
        sextant.need_tool("gdb")
        self.put(self.debug, 201)
        source = self.place / "a.c"
        self.assertEqual(self.server.put(f"/api/v1/files/{self.build_id}/source{source}", SOURCE.encode()).status, 201)
        environment = {**os.environ, "DEBUGINFOD_URLS": self.server.url, "HOME": str(self.folder), "no_proxy": "*",
                       "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache"), "TERM": "dumb"}  # fmt: skip
        command = ["gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled on", "-ex", "info line twice"]
        hidden = source.rename(self.place / "hidden.c")  # so that the lines can come from the server only
        try:
            result = subprocess.run([*command, "-ex", "list twice", self.executable], env=environment,
                                    capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
        finally:
            hidden.rename(source)
        if "debuginfod" in result.stderr and "not supported" in result.stderr or "Support for debuginfod" in result.stderr:
            self.skipTest("this gdb was built without debuginfod")
        self.assertRegex(result.stdout, r"Line \d of .*a\.c", result)
        self.assertIn(SOURCE.splitlines()[2], result.stdout)


if __name__ == "__main__":
    tap.main()
