"""`POST /api/symbolize`: the service answers what `lookup` answers on the local file."""

import base64
import json
import pathlib
import random
import tempfile

from support import sextant, tap
from support.service import Server, store_folder

SOURCE = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) int twice(int x) { return 2 * abs(x - 7); }
__attribute__((noinline)) int work(int x) { return twice(x) + twice(x + 1); }
__attribute__((noinline)) int more(int x) { return work(x) * 3 + work(x + 2); }
int main(int argc, char **argv) { (void)argv; return more(argc); }
"""


class Symbolize(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        (place / "w.c").write_text(SOURCE)
        cls.binary, cls.ranges, cls.pads = place / "w", place / "r.symbfile", place / "p.symbfile"
        sextant.tool("gcc", "-O2", "-g", "-Wl,--build-id", "-Wl,-z,noseparate-code", "-o", cls.binary, place / "w.c")
        cls.info = json.loads(sextant.run("info", "--json", cls.binary).out)
        sextant.run("archive", "-q", "-f", "symbfile", cls.binary, "-o", cls.ranges, "--returnpads", cls.pads)

    def setUp(self):
        super().setUp()
        self.server = Server(store_folder(self))
        self.addCleanup(self.server.stop)

    @property
    def file_id(self):
        return self.info["file_id"]

    def push(self, kind, path, **headers):
        headers = {"FileID": base64.urlsafe_b64encode(bytes.fromhex(self.file_id)).decode().rstrip("="),
                   "FilePart": "0", "FileParts": "1", **headers}  # fmt: skip
        reply = self.server.post(f"/api/symbols-{kind}", path.read_bytes(), headers=headers)
        self.assertEqual((reply.status, reply.json), (200, {"success": True, "status": 200}))

    def ask(self, question):
        reply = self.server.post("/api/symbolize", question)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def local(self, addresses, *options):
        """What lookup says of ADDRESSES in the binary."""
        result = self.run_ok("lookup", "--json", *options, self.binary, *addresses)
        return [[{key: frame[key] for key in ("function", "file", "line")} for frame in line["frames"]]
                for line in result.json_lines()]  # fmt: skip

    def addresses(self):
        self.run_ok("archive", "-q", self.binary, "-o", self.folder / "w.lidia")
        found = []
        for row in self.run_ok("dump", "--json", self.folder / "w.lidia").json_lines():
            found += range(int(row["va"], 16), int(row["va"], 16) + row["length"])
        found = sorted(set(found))
        random.Random(5).shuffle(found)
        return [f"{address:#x}" for address in [*found, 0, 1, 2**64 - 1]]

    def test_equals_lookup(self):
        self.push("ranges", self.ranges, BuildID=self.info["build_id"])
        addresses = self.addresses()
        wanted = self.local(addresses)
        self.assertTrue(any(len(chain) > 1 for chain in wanted))
        self.assertIn([], wanted)
        spelled = base64.urlsafe_b64encode(bytes.fromhex(self.file_id)).decode()
        for name in ({"file_id": self.file_id}, {"file_id": self.file_id.upper()}, {"file_id": spelled},
                     {"file_id": spelled.rstrip("=")}, {"build_id": self.info["build_id"]},
                     {"file_id": self.info["build_id"]}):  # fmt: skip
            self.assertEqual(self.ask({**name, "addresses": addresses})["frames"], wanted, name)

    def test_the_compact_form_says_the_same(self):
        self.push("ranges", self.ranges)
        question = {"file_id": self.file_id, "addresses": self.addresses()}
        wanted = self.ask(question)["frames"]
        compact = self.ask({**question, "compact": True})

        def text(place):
            return None if place < 0 else compact["strings"][place]

        frames = [[{"function": text(function), "file": text(file), "line": None if line < 0 else line}
                   for function, file, line in chain] for chain in compact["frames"]]  # fmt: skip
        self.assertEqual(frames, wanted)

    def test_several_files(self):
        self.push("ranges", self.ranges)
        main = self.run_ok("lookup", "--json", "--name", "main", self.binary).json_lines()[0]["address"]
        reply = self.ask({"files": [{"file_id": self.file_id, "addresses": [main]},
                                    {"build_id": "00" * 20, "addresses": [main]},
                                    {"file_id": self.file_id, "addresses": []}]})  # fmt: skip
        self.assertEqual(reply["files"][0]["frames"], self.local([main]))
        self.assertIsNone(reply["files"][1]["frames"])
        self.assertIn("nothing is known", reply["files"][1]["error"])
        self.assertEqual(reply["files"][2], {"frames": []})
        self.assertEqual(self.ask({"files": []}), {"files": []})

    def test_file_offsets_and_return_addresses(self):
        self.push("ranges", self.ranges)
        addresses = self.addresses()[:300]
        question = {"file_id": self.file_id, "addresses": addresses}
        self.assertEqual(self.ask({**question, "kind": "file_offset"})["frames"], self.local(addresses, "--file-offset"))
        self.assertEqual(self.ask({**question, "kind": "virtual", "return_addresses": False})["frames"],
                         self.local(addresses))  # fmt: skip
        before = [f"{(int(address, 16) or 1) - 1:#x}" for address in addresses]
        self.assertEqual(self.ask({**question, "return_addresses": True})["frames"], self.local(before))

    def test_pads_win_for_their_address(self):
        pads = {row["va"]: row["frames"] for row in self.run_ok("dump", "--json", self.pads).json_lines()}
        self.push("returnpads", self.pads)
        addresses = sorted(pads)
        wanted = [list(reversed(pads[address])) for address in addresses]
        self.assertTrue(addresses)
        self.assertEqual(self.ask({"file_id": self.file_id, "addresses": addresses})["frames"], wanted)
        self.push("ranges", self.ranges)
        self.assertEqual(self.ask({"file_id": self.file_id, "addresses": addresses})["frames"], wanted)
        others = [address for address in self.addresses() if address not in pads]
        self.assertEqual(self.ask({"file_id": self.file_id, "addresses": others})["frames"], self.local(others))

    def test_answers_are_kept(self):
        self.push("ranges", self.ranges)
        question = {"file_id": self.file_id, "addresses": self.addresses()}
        before = self.ask(question)
        store = self.server.process.args[3]
        self.server.stop()
        self.server = Server(store)
        self.addCleanup(self.server.stop)
        self.assertEqual(self.ask(question), before)

    def test_refuses(self):
        self.push("ranges", self.ranges)
        good = {"file_id": self.file_id, "addresses": ["0x1"]}
        for wrong, code in (
            (b"", 4010), (b"{", 4010), (b"[]", 4010), (b"{} x", 4010), (b'"\xff"', 4010), ({}, 4000),
            ({"file_id": self.file_id}, 4010), ({"addresses": ["0x1"]}, 4000),
            ({**good, "file_id": "xyz"}, 4000), ({**good, "file_id": 5}, 4010), ({**good, "build_id": "abc"}, 4001),
            ({**good, "addresses": "0x1"}, 4010), ({**good, "addresses": [1]}, 4011), ({**good, "addresses": ["1"]}, 4011),
            ({**good, "addresses": ["0x"]}, 4011), ({**good, "addresses": ["0x1 "]}, 4011),
            ({**good, "addresses": [""]}, 4011),
            ({**good, "addresses": ["0x11111111111111111"]}, 4011), ({**good, "addresses": ["-0x1"]}, 4011),
            ({**good, "kind": "physical"}, 4010), ({**good, "return_addresses": "yes"}, 4010),
            ({**good, "files": []}, 4010), ({"files": {}}, 4010), ({"files": [{}]}, 4000), ({"files": [7]}, 4010),
        ):  # fmt: skip
            reply = self.server.post("/api/symbolize", wrong)
            self.assertEqual((reply.status, reply.code), (400, str(code)), (wrong, reply))
        reply = self.server.post("/api/symbolize", {**good, "file_id": "00" * 16})
        self.assertEqual((reply.status, reply.code), (404, "3002"))
        self.assertEqual(len(self.ask({**good, "later": {"x": [1, None]}, "kind": None})["frames"]), 1)

    def test_counts_lookups(self):
        self.push("ranges", self.ranges)
        addresses = self.addresses()
        nothing = self.ask({"file_id": self.file_id, "addresses": addresses})["frames"].count([])
        self.server.post("/api/symbolize", {"file_id": "00" * 16, "addresses": ["0x1", "0x2"]})
        counts = [self.server.metric(f'sextant_lookups_total{{outcome="{outcome}"}}')
                  for outcome in ("found", "nothing", "unknown_file")]  # fmt: skip
        self.assertEqual(counts, [len(addresses) - nothing, nothing, 2])


if __name__ == "__main__":
    tap.main()
