"""A program that is pushed, and questions about it, for the tests of `push`."""

import base64
import json
import pathlib
import tempfile

from support import sextant
from support.service import Server, store_folder

SOURCE = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) int twice(int x) { return 2 * abs(x - 7); }
__attribute__((noinline)) int work(int x) { return twice(x) + twice(x + 1); }
__attribute__((noinline)) int more(int x) { return work(x) * 3 + work(x + 2) + atoi("7"); }
%s
int main(int argc, char **argv) { (void)argv; return more(argc); }
"""
MANY = "\n".join(f"__attribute__((noinline)) int function_number_{i}(int x) {{ return more(x + {i}) + work({i}); }}"
                 for i in range(60))  # fmt: skip


def spell(file_id):
    return base64.urlsafe_b64encode(bytes.fromhex(file_id)).decode().rstrip("=")


class PushTest(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        (cls.place / "app.c").write_text(SOURCE % MANY)
        cls.app, cls.debug, cls.stripped = cls.place / "app", cls.place / "app.debug", cls.place / "bin" / "app"
        sextant.tool("gcc", "-O2", "-g", "-Wl,--build-id", "-o", cls.app, cls.place / "app.c")
        cls.stripped.parent.mkdir()
        sextant.tool("objcopy", "--only-keep-debug", cls.app, cls.debug)
        sextant.tool("strip", "-o", cls.stripped, cls.app)
        cls.info = json.loads(sextant.run("info", "--json", cls.app).out)

    def serve(self, *options, **keywords):
        server = Server(store_folder(self), *options, **keywords)
        self.addCleanup(server.stop)
        return server

    def push(self, url, *words, **keywords):
        """Pushes, and returns the line of each file; the summary is self.summary."""
        self.result = sextant.run("push", "--url", url, "--json", *words, **keywords)
        lines = self.result.json_lines()
        self.summary = lines.pop()["summary"] if lines else None
        return lines

    def push_one(self, url, *words, state="pushed", **keywords):
        lines = self.push(url, *words, **keywords)
        self.assertEqual([line["state"] for line in lines], [state], self.result)
        self.assertEqual(self.result.status, 1 if state == "failed" else 0, self.result)
        return lines[0]

    def chains(self, lines):
        return [[(frame["function"], frame["file"], frame["line"]) for frame in line] for line in lines]

    def ask(self, server, addresses, key=None, **ids):
        reply = server.post("/api/symbolize", {**ids, "addresses": addresses}, key=key)
        self.assertEqual(reply.status, 200, reply)
        return self.chains(reply.json["frames"])

    def local(self, path, addresses, *options):
        lines = self.run_ok("lookup", "--json", *options, path, stdin="\n".join(addresses)).json_lines()
        return self.chains(line["frames"] for line in lines)

    def addresses(self, path, *options):
        """Addresses of all ranges and return pads of a binary."""
        ranges, pads = self.folder / "a.symbfile", self.folder / "a.returnpads"
        self.run_ok("archive", "-q", *options, path, "-o", ranges, "--returnpads", pads)
        found = {0, 1, 2**64 - 1}
        for row in self.run_ok("dump", "--json", ranges).json_lines():
            start = int(row["va"], 16)
            found |= {start, start + row["length"] // 2, start + row["length"] - 1, start + row["length"]}
        found |= {int(row["va"], 16) for row in self.run_ok("dump", "--json", pads).json_lines()}
        return [f"{address:#x}" for address in sorted(found)]

    def assert_equal_to_lookup(self, server, path, line, *options):
        addresses = self.addresses(path, *options)
        if not sextant.EVERYTHING:
            addresses = addresses[:: -(-len(addresses) // 20000)]
        wanted = self.local(path, addresses, *options)
        self.assertTrue(any(wanted))
        self.assertEqual(self.ask(server, addresses, file_id=line["file_id"]), wanted)
        if line["build_id"]:
            some = slice(0, 500)
            self.assertEqual(self.ask(server, addresses[some], build_id=line["build_id"]), wanted[some])
