"""`push` to servers that fail, and to other servers than ours."""

import json
import shutil
import signal
import subprocess
import threading
import time

from support import sextant, tap
from support.push_server import PADS, RANGES, PushServer, refusal
from support.pushing import PushTest, spell

UUID = "f1ada52e-d705-423f-a1b0-fc054eb8900e"


class FaultTest(PushTest):
    """Servers that fail, and others than ours."""

    def assert_arrived(self, server, line):
        """All parts of both sets were acknowledged, and together they are the symbols of the program."""
        sets = server.sets()
        for path, kind in ((RANGES, "ranges"), (PADS, "returnpads")):
            parts = sets[path, spell(line["file_id"])]
            self.assertEqual([part.number for part in parts], list(range(parts[0].parts)))
            self.assertEqual({part.headers["generation"] for part in parts}, {line[kind]["generation"]})
            self.assertEqual({part.headers["buildid"] for part in parts}, {line["build_id"]})
        files = []
        for number, part in enumerate(sets[RANGES, spell(line["file_id"])]):
            files.append(self.folder / f"{number}.symbfile")
            files[-1].write_bytes(part.plain())
            self.run_ok("verify", files[-1])
        merged, addresses = self.folder / "merged.lidia", self.addresses(self.app)
        self.run_ok("convert", *files, "-o", merged)
        self.assertEqual(self.local(merged, addresses), self.local(self.app, addresses))

    def push_to(self, answer=None, have=None, state="pushed", options=("--part-size", "2k", "--compression", "gzip")):
        server = PushServer(self, answer, have)
        return server, self.push_one(server.url, self.app, *options, state=state)

    def test_a_server_of_the_plain_specification(self):
        server, line = self.push_to()
        self.assert_arrived(server, line)
        self.assertEqual(len(server.questions), 1)
        self.assertEqual({part.headers["content-encoding"] for part in server.parts}, {"gzip"})
        self.assertNotIn("authorization", server.parts[0].headers)

    def test_zstd_is_the_default(self):
        sextant.need_tool("zstd")
        server, line = self.push_to(options=())
        self.assertEqual({part.headers["content-encoding"] for part in server.parts}, {"zstd"})
        self.assert_arrived(server, line)

    def test_compression_that_a_server_does_not_take(self):
        def only(*encodings, status=415):
            return lambda _, part, count: None if part.headers.get("content-encoding") in encodings else refusal(status)

        for encodings, status in ((("gzip",), 415), ((None,), 415), ((None,), 400)):
            options = ("--part-size", "2k", "--parallel", "1")
            server, line = self.push_to(only(*encodings, status=status), options=options)
            self.assertEqual({part.headers.get("content-encoding") for part in server.parts}, set(encodings))
            self.assertLess(server.requests, len(server.parts) + 3)
            self.assert_arrived(server, line)
        # What the user asks for is not changed.
        _, line = self.push_to(only("gzip"), state="failed", options=("--compression", "zstd"))
        self.assertEqual(line["status"], 415)

    def test_waits_as_long_as_the_server_asks(self):
        times = {}

        def answer(server, part, count):
            before = times.setdefault((part.path, part.number), [])
            before.append(time.monotonic())
            return (*refusal(429, "2003"), {"Retry-After": "1"}) if len(before) == 1 and part.number == 0 else None

        server, line = self.push_to(answer)
        self.assert_arrived(server, line)
        waited = [two[1] - two[0] for two in times.values() if len(two) > 1]
        self.assertEqual(len(waited), 2)
        self.assertGreaterEqual(min(waited), 1)
        self.assertIn(f"429, Code 2003, uuid {UUID}: not now; trying again in 1", self.result.err)

    def test_does_not_wait_for_hours(self):
        _, line = self.push_to(lambda *_: (*refusal(429), {"Retry-After": "86400"}), state="failed")
        self.assertEqual((line["status"], line["code"], line["uuid"]), (429, "1000", UUID))

    def test_failures_that_pass(self):
        def twice(status):
            return lambda server, part, count: refusal(status) if count <= 2 else None

        for answer in (twice(503), twice(500), lambda server, part, count: "cut" if count <= 2 else None):
            server, line = self.push_to(answer)
            self.assert_arrived(server, line)

    def test_gives_up(self):
        for options, requests in ((("--retries", "2"), 3), (("--retries", "0"), 1)):
            options = ("--parallel", "1", *options)
            server, line = self.push_to(lambda *_: refusal(503, "1001"), state="failed", options=options)
            self.assertEqual(server.requests, requests)
            self.assertEqual((line["status"], line["code"], line["uuid"]), (503, "1001", UUID))
            self.assertIn(f"part 1 of 1 of the return pads: the server answers 503, Code 1001, uuid {UUID}: not now",
                          self.result.err)  # fmt: skip

    def test_refusals_are_not_repeated(self):
        for status in (400, 401, 403, 404, 409, 411, 413):
            server, line = self.push_to(lambda *_, status=status: refusal(status, "2001"), state="failed",
                                        options=("--parallel", "1", "--compression", "none"))  # fmt: skip
            self.assertEqual((server.requests, line["status"], line["code"]), (1, status, "2001"))

    def test_one_refusal_of_the_key_is_enough(self):
        server = PushServer(self, lambda *_: refusal(401, "2001"))
        files = [self.folder / f"app{i}" for i in range(4)]
        for number, file in enumerate(files):
            shutil.copy(self.app, file)
            with file.open("ab") as out:
                out.write(bytes([number]))
        lines = self.push(server.url, *files, "--parallel", "1")
        self.assertEqual([line["state"] for line in lines], ["failed"])
        self.assertEqual((self.summary["failed"], self.summary["untried"], self.result.status), (1, 3, 1))
        self.assertEqual(server.requests, 1)

    def test_replies_that_are_none(self):
        for body in (b"", b"<html>welcome</html>", b"{}", b'{"success":"true"}', b'{"success":false}', b"[true]",
                     b"\xff\xfe", b"[" * 100000):  # fmt: skip
            _, line = self.push_to(lambda *_, body=body: (200, body), state="failed")
            self.assertIn("not that of a symbol service", line["error"])

    def test_redirects_are_not_followed(self):
        other = PushServer(self)
        _, line = self.push_to(lambda *_: (307, b"", {"Location": other.url + RANGES}), state="failed",
                               options=("--api-key", "id:secret"))  # fmt: skip
        self.assertIn(other.url + RANGES, line["error"])
        self.assertEqual((other.requests, other.questions), (0, []))

    def test_a_server_that_says_that_it_has_everything(self):
        have = json.dumps({"files": [{"upload": False, "reason": "seen\x1b[31m it"}]}).encode()
        server, line = self.push_to(have=lambda body: (200, have), state="skipped")
        self.assertEqual(server.requests, 0)
        text = self.run_ok("push", self.app, "--url", server.url).text
        self.assertNotIn("\x1b", text)

    def test_odd_answers_to_the_question(self):
        for status, body in ((200, b"garbage"), (200, b'{"files":[]}'), (200, b'{"files":[{"upload":7}]}'), (405, b""),
                             (400, b""), (501, b""), (401, b"<html>"), (403, b""), (302, b""),
                             (200, b'{"files":[{"upload":true,"ranges":{"parts":[9999999,-1,"x"]}}]}')):  # fmt: skip
            server, line = self.push_to(have=lambda _, status=status, body=body: (status, body))
            self.assert_arrived(server, line)

    def test_a_server_that_forgets_the_parts_that_it_has(self):
        have = {"files": [{"upload": True, "reason": "r", "ranges": {"upload": True, "parts": [0]}}]}
        _, line = self.push_to(have=lambda _: (200, have), state="failed")
        self.assertIn("does not keep", line["error"])

    def test_nobody_listens(self):
        server = PushServer(self)
        server.server.shutdown()
        server.server.server_close()
        line = self.push_one(server.url, self.app, "--retries", "1", state="failed")
        self.assertIn("onnect", line["error"])
        self.assertIn("trying again", self.result.err)

    def test_an_interrupt_ends_it(self):
        arrived = threading.Event()
        gate = threading.Event()
        self.addCleanup(gate.set)

        def answer(*_):
            arrived.set()
            gate.wait(60)

        server = PushServer(self, answer)
        process = subprocess.Popen([sextant.program(), "push", self.app, "--url", server.url], stderr=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.assertTrue(arrived.wait(60))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (-signal.SIGINT, ""), err)
        self.assertIn("interrupted", err)


if __name__ == "__main__":
    tap.main()
