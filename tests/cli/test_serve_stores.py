"""What was pushed and is asked back equals `lookup` on the local file: over a directory and a bucket, after a restart, and
through another server."""

import json
import os
import pathlib
import random
import shutil
import tempfile

from support import s3_server, sextant, symbfile, tap
from support.service import Server, store_folder

PARTS = 3
ADDRESSES = 3000 if sextant.EVERYTHING else 300  # of a binary
SOURCE = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) int twice(int x) { return 2 * abs(x - 7); }
__attribute__((noinline)) int work(int x) { return twice(x) + twice(x + 1); }
__attribute__((noinline)) int more(int x) { return work(x) * 3 + work(x + 2); }
int main(int argc, char **argv) { (void)argv; return more(argc); }
"""
# Real files with symbol tables of their own kinds: programs, libraries, a stripped interpreter.
SYSTEM = ("/usr/bin/env", "/usr/bin/python3", "/bin/sh", "/usr/lib/*/libz.so.1", "/usr/lib/*/libc.so.6",
          "/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libcurl.so.4", "/usr/lib/*/libm.so.6")  # fmt: skip


class Binary:
    """A local file, addresses in it, and what lookup says of them."""

    def __init__(self, path, folder):
        self.path = path
        info = json.loads(sextant.run("info", "--json", path).out)
        self.file_id, self.build_id = info["file_id"], info.get("build_id")
        self.symbfile = folder / f"{path.name}.symbfile"
        sextant.run("archive", "-q", "-f", "symbfile", path, "-o", self.symbfile)
        ranges = symbfile.records(self.symbfile.read_bytes())
        chance = random.Random(3)
        places = chance.choices([record for record in ranges if record.length > 0], k=ADDRESSES)
        self.addresses = [f"{record.va + chance.randrange(record.length):#x}" for record in places] + ["0x0", "0x1"]
        result = sextant.run("lookup", "--json", path, stdin="\n".join(self.addresses) + "\n")
        self.expected = [[{key: frame[key] for key in ("function", "file", "line")} for frame in line["frames"]]
                         for line in result.json_lines()]  # fmt: skip


class Stores(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc", "objcopy")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.place = place = pathlib.Path(folder.name)
        (place / "w.c").write_text(SOURCE)
        sextant.tool("gcc", "-O2", "-g", "-Wl,--build-id", "-o", place / "w", place / "w.c")
        found = [sorted(pathlib.Path("/").glob(pattern[1:]))[:1] for pattern in SYSTEM]
        files = [path.resolve() for paths in found for path in paths]
        files = [path for path in dict.fromkeys(files) if path.read_bytes()[:4] == b"\x7fELF"]
        cls.binaries = [Binary(path, place) for path in [place / "w", *files[: None if sextant.EVERYTHING else 2]]]
        cls.whole = cls.binaries[0]
        sextant.tool("objcopy", "--only-keep-debug", place / "w", place / "debug")
        sextant.tool("objcopy", "--strip-all", place / "w", place / "stripped")

    def serve(self):
        self.servers += 1
        options = ["--cache", self.folder / f"cache-{self.servers}"] if self.environment else []
        server = Server(self.store, *options, env=self.environment)
        self.addCleanup(lambda: server.process.returncode is not None or server.stop())
        return server

    def setUp(self):
        super().setUp()
        self.store, self.environment, self.servers = store_folder(self), None, 0

    def use_bucket(self):
        place = tempfile.mkdtemp(prefix="sextant-s3-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        bucket = s3_server.Rclone(os.path.join(place, "root"))
        self.addCleanup(bucket.close)
        self.store, self.environment = "s3://bucket/store", s3_server.environment(bucket.url)

    def push(self, servers, binary):
        for part, body in enumerate(symbfile.split(binary.symbfile.read_bytes(), PARTS)):
            headers = {"FileID": binary.file_id, "FilePart": str(part), "FileParts": str(PARTS)}
            reply = servers[part % len(servers)].post("/api/symbols-ranges", body, headers=headers)
            self.assertEqual(reply.status, 200, (binary.path, reply))

    def assert_equal(self, server, binary, **question):
        question = question or {"file_id": binary.file_id}
        reply = server.post("/api/symbolize", {**question, "addresses": binary.addresses})
        self.assertEqual(reply.status, 200, reply)
        for address, found, wanted in zip(binary.addresses, reply.json["frames"], binary.expected, strict=True):
            self.assertEqual(found, wanted, (binary.path, address))

    def check_parts(self):
        """Parts go to two servers. One of them ends, and one that is started later is asked too."""
        first, second = self.serve(), self.serve()
        for binary in self.binaries:
            self.push((first, second), binary)
            self.assert_equal(first, binary)
        first.stop()
        third = self.serve()
        for server in (second, third):
            for binary in self.binaries:
                self.assert_equal(server, binary)

    def check_files(self):
        first = self.serve()
        for name in ("debug", "stripped"):
            reply = first.put(f"/api/v1/files/{self.whole.build_id}", (self.place / name).read_bytes())
            self.assertIn(reply.status, (200, 201), reply)
        self.assert_equal(first, self.whole, build_id=self.whole.build_id)
        first.stop()
        self.assert_equal(self.serve(), self.whole, build_id=self.whole.build_id)

    def test_a_directory_answers_as_the_file_does(self):
        self.check_parts()
        self.check_files()

    def test_a_bucket_answers_as_the_file_does(self):
        self.use_bucket()
        self.check_parts()
        self.check_files()


if __name__ == "__main__":
    tap.main()
