"""`push`: what arrives at a service equals what `lookup` answers on the local file; nothing is sent twice."""

import base64
import json
import os
import pathlib
import pty
import re
import shutil
import ssl
import subprocess
import threading
import time
import unittest

from support import sextant, tap
from support.push_server import PADS, RANGES, PushServer, refusal
from support.pushing import PushTest, spell
from support.service import Server, store_folder


class ArrivesTest(PushTest):
    """A real server."""

    def test_equals_lookup_in_one_part_and_in_many(self):
        for options in ((), ("--part-size", "1k"), ("--part-size", "2k", "--parallel", "1", "--compression", "gzip")):
            server = self.serve()
            line = self.push_one(server.url, self.app, *options)
            self.assertEqual((line["file_id"], line["build_id"]), (self.info["file_id"], self.info["build_id"]))
            for kind in ("ranges", "returnpads"):
                self.assertEqual(line[kind]["sent"], line[kind]["parts"])
                self.assertEqual(line[kind]["parts"] > 1, bool(options), options)
                self.assertRegex(line[kind]["generation"], "^[0-9a-f]{64}$")
            self.assertLess(line["ranges"]["sent_bytes"], line["ranges"]["bytes"])
            self.assert_equal_to_lookup(server, self.app, line)
            self.assertGreaterEqual(server.metric("sextant_merges_total"), 2)

    def test_real_binaries(self):
        server = self.serve()
        libc = subprocess.run(["gcc", "-print-file-name=libc.so.6"], stdout=subprocess.PIPE, text=True, check=True)
        files = [shutil.which("bash"), os.path.realpath(libc.stdout.strip())]
        files += [sextant.program()] if sextant.EVERYTHING else []
        for path in files:
            line = self.push_one(server.url, path, "--part-size", "64k")
            self.assertGreater(line["ranges"]["parts"] + line["returnpads"]["parts"], 2)
            self.assert_equal_to_lookup(server, path, line)

    def test_a_debug_file_gives_the_symbols_and_the_program_the_identity(self):
        server = self.serve()
        line = self.push_one(server.url, self.stripped, "--debug", self.debug)
        info = json.loads(self.run_ok("info", "--json", self.stripped).out)
        self.assertEqual(line["file_id"], info["file_id"])
        self.assertNotEqual(line["file_id"], self.info["file_id"])
        self.assertGreater(line["inlines"], 0)
        self.assertGreater(line["return_pads"], 0)
        self.assert_equal_to_lookup(server, self.stripped, line, "--debug", self.debug)

    def test_symbfiles_that_were_made_before(self):
        ranges, pads, server = self.folder / "a.symbfile", self.folder / "a.returnpads", self.serve()
        self.run_ok("archive", "-q", self.app, "-o", ranges, "--returnpads", pads)
        for name in (None, "00112233445566778899aabbccddeeff", spell("0123456789abcdef0123456789abcdef") + "=="):
            line = self.push_one(server.url, ranges, pads, *(["--file-id", name] if name else []), "--part-size", "2k")
            addresses = self.addresses(self.app)
            wanted = self.local(self.app, addresses)
            self.assertEqual(self.ask(server, addresses, file_id=name or self.info["file_id"]), wanted, name)
            self.assertGreater(line["ranges"]["parts"], 1)
        # Of two requests that bring the last parts at the same moment, both may merge them.
        self.assertGreaterEqual(server.metric("sextant_merges_total"), 6)

    def test_a_debug_file_alone_needs_a_file_id(self):
        server = self.serve()
        line = self.push_one(server.url, self.debug, state="failed")
        self.assertIn("--file-id", line["error"])
        line = self.push_one(server.url, self.debug, "--file-id", "ab" * 16)
        self.assertEqual((line["build_id"], line["returnpads"]), (self.info["build_id"], None))
        addresses = self.addresses(self.app)
        self.assertEqual(self.ask(server, addresses, file_id="ab" * 16), self.local(self.debug, addresses))

    def test_tls(self):
        if not shutil.which("openssl"):
            raise unittest.SkipTest("openssl is not installed")
        cert, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True, stderr=subprocess.DEVNULL)  # fmt: skip
        context = ssl.create_default_context(cafile=cert)
        server = self.serve("--tls-cert", cert, "--tls-key", key, tls=context)
        line = self.push_one(server.url, self.app, "--retries", "0", state="failed")
        self.assertIn("certificate", line["error"])
        line = self.push_one(server.url, self.app, "--ca", cert)
        self.assert_equal_to_lookup(server, self.app, line)


class SkipTest(PushTest):
    """What is there is not sent again, and something worse does not stop something better."""

    def test_the_same_is_sent_once(self):
        server = self.serve()
        self.push_one(server.url, self.app)
        line = self.push_one(server.url, self.app, state="skipped")
        self.assertEqual((line["reason"], line["ranges"]["sent"]), ("these symbols are here", 0))
        line = self.push_one(server.url, self.app, "--force")
        self.assertEqual(line["ranges"]["sent"], 1)
        self.push_one(server.url, self.app, state="skipped")

    def test_better_symbols_replace_worse_ones_and_not_the_other_way(self):
        server = self.serve()
        worse = ("--sources", "symtab,dynsym", "--no-debug-search")
        self.push_one(server.url, self.app, *worse)
        addresses = self.addresses(self.app)
        line = self.push_one(server.url, self.app)
        self.assert_equal_to_lookup(server, self.app, line)
        line = self.push_one(server.url, self.app, *worse, state="skipped")
        self.assertEqual(line["reason"], "better symbols are here")
        # As good, and different: the newer ones count.
        self.push_one(server.url, self.app, "--mangled", "--part-size", "2k")
        self.assertEqual(self.ask(server, addresses, file_id=line["file_id"]), self.local(self.app, addresses, "--mangled"))

    def test_a_stripped_copy_does_not_hide_the_original(self):
        server = self.serve()
        whole = self.push_one(server.url, self.app)
        poor = self.push_one(server.url, self.stripped, "--no-debug-search", "--sources", "dynsym")
        self.assertNotEqual(whole["file_id"], poor["file_id"])
        addresses = self.addresses(self.app)
        wanted = self.local(self.app, addresses)
        for ids in ({"file_id": whole["file_id"]}, {"file_id": poor["file_id"]}, {"build_id": whole["build_id"]}):
            self.assertEqual(self.ask(server, addresses, **ids), wanted, ids)

    def test_what_was_read_from_the_file_itself(self):
        server = self.serve()
        self.assertEqual(server.put(f"/api/v1/files/{self.info['build_id']}", self.app.read_bytes()).status, 201)
        line = self.push_one(server.url, self.app, state="skipped")
        self.assertEqual(line["reason"], "symbols of a file that are as good are here")

    def test_an_interrupted_push_goes_on(self):
        server = self.serve()
        self.interrupt_and_go_on(server, server)

    def test_it_goes_on_at_another_server_of_the_same_store(self):
        store = store_folder(self)
        servers = [Server(store) for _ in range(2)]
        for server in servers:
            self.addCleanup(server.stop)
        self.interrupt_and_go_on(*servers)

    def interrupt_and_go_on(self, first, second):
        taken = []

        def forward(_, part, count):
            if count > 3:
                return refusal(400)
            headers = {name: part.headers[name] for name in part.headers if name not in ("host", "content-length")}
            self.assertEqual(first.post(part.path, part.body, headers=headers).status, 200)
            taken.append((part.path, part.number))
            return None

        between = PushServer(self, forward)
        words = (self.app, "--part-size", "1k", "--parallel", "2")
        self.push_one(between.url, *words, state="failed")
        self.assertEqual(len(taken), 3)
        self.assertEqual(first.get(f"/api/v1/files/{self.info['file_id']}").json["missing"], "the upload is not complete")
        line = self.push_one(second.url, *words)
        for kind, path in (("ranges", RANGES), ("returnpads", PADS)):
            there = sum(1 for where, _ in taken if where == path)
            self.assertEqual(line[kind]["there"], there)
            self.assertEqual(line[kind]["sent"], line[kind]["parts"] - there)
        self.assert_equal_to_lookup(second, self.app, line)

    def test_have_answers_which_parts_are_there(self):
        server = self.serve()
        body = b"symbfile\0\1"
        headers = {"FileID": "d--nFqkSpJIXRFeHMp_Smg", "FileParts": "3", "Generation": "g"}
        file = {"file_id": "d--nFqkSpJIXRFeHMp_Smg", "ranges": {"generation": "g", "parts": 3}}

        def have(**more):
            return server.post("/api/v1/have", {"files": [{**file, **more}]}).json["files"][0]

        nothing = "nothing is known of this file"
        self.assertEqual(have(), {"upload": True, "reason": nothing, "ranges": {"upload": True, "parts": []}})
        for number in (2, 0):
            server.post(RANGES, body, headers={**headers, "FilePart": str(number)})
        begun = "a part of these symbols is here"
        self.assertEqual(have(), {"upload": True, "reason": begun, "ranges": {"upload": True, "parts": [0, 2]}})
        for other in ({"generation": "h", "parts": 3}, {"generation": "g", "parts": 4}):
            self.assertEqual(have(ranges=other)["ranges"], {"upload": True, "parts": []}, other)
        self.assertEqual(have(returnpads=file["ranges"])["returnpads"], {"upload": True, "parts": []})
        server.post(RANGES, body, headers={**headers, "FilePart": "1"})
        self.assertEqual(have(), {"upload": False, "reason": "these symbols are here",
                                  "ranges": {"upload": False, "parts": []}})  # fmt: skip
        # After another set of the same kind, it would have to be pushed again.
        server.post(RANGES, body, headers={"FileID": headers["FileID"], "FilePart": "0", "FileParts": "1"})
        self.assertTrue(have()["ranges"]["upload"])

    def test_have_refuses_malformed_sets(self):
        server = self.serve()
        good = {"generation": "g", "parts": 1}
        for code, file in (
            ("4004", {"file_id": "00" * 16, "ranges": {**good, "generation": "a b"}}),
            ("4004", {"file_id": "00" * 16, "ranges": {"parts": 1}}),
            ("4004", {"file_id": "00" * 16, "returnpads": {**good, "generation": "g" * 129}}),
            ("4003", {"file_id": "00" * 16, "ranges": {**good, "parts": 0}}),
            ("4003", {"file_id": "00" * 16, "ranges": {**good, "parts": 10001}}),
            ("4000", {"build_id": "00" * 20, "ranges": good}),
            ("4010", {"file_id": "00" * 16, "ranges": 7}),
            ("4010", {"file_id": "00" * 16, "symbols": []}),
        ):
            reply = server.post("/api/v1/have", {"files": [file]})
            self.assertEqual((reply.status, reply.code), (400, code), (file, reply))


class KeyTest(PushTest):
    def setUp(self):
        super().setUp()
        keys = self.folder / "keys"
        keys.write_text("ci:secret1:upload\nviewer:secret2:read\n")
        self.server = self.serve("--api-key-file", keys)

    def test_where_a_key_comes_from(self):
        key = self.folder / "key"
        key.write_text("# for the tests\n\nci:secret1\n")
        encoded = base64.b64encode(b"ci:secret1").decode()
        ways = (["--api-key", "ci:secret1"], {}), (["--api-key-file", key], {}), (["--api-key=" + encoded], {})
        for number, (words, env) in enumerate((*ways, ([], {"SEXTANT_API_KEY": "ci:secret1"}))):
            self.push_one(self.server.url, self.app, "--force", *words, env=env)
            self.assertNotIn("secret1", self.result.err, number)

    def test_wrong_keys(self):
        for words, code, status in (([], "2000", 401), (["--api-key", "ci:wrong"], "2001", 401),
                                    (["--api-key", "viewer:secret2"], "2002", 403)):  # fmt: skip
            line = self.push_one(self.server.url, self.app, *words, state="failed")
            self.assertEqual((line["code"], line["status"]), (code, status))
            self.assertIn(line["uuid"], self.result.err)
            self.assertRegex(line["uuid"], "^[0-9a-f-]{36}$")
            self.assertNotIn("secret", self.result.err + self.result.text)

    def test_the_key_is_not_among_the_arguments(self):
        arrived, gate = threading.Event(), threading.Event()
        self.addCleanup(gate.set)

        def answer(*_):
            arrived.set()
            gate.wait(60)

        server = PushServer(self, answer)
        with subprocess.Popen([sextant.program(), "push", self.app, "--url", server.url, "--api-key", "ci:hidden"],
                              stdout=subprocess.DEVNULL) as process:  # fmt: skip
            self.assertTrue(arrived.wait(60))
            arguments = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
            gate.set()
        self.assertEqual(process.returncode, 0)
        self.assertNotIn(b"hidden", arguments)
        self.assertEqual(server.parts[0].headers["authorization"], "APIKey " + base64.b64encode(b"ci:hidden").decode())


class ManyTest(PushTest):
    def test_a_folder(self):
        server, tree = self.serve(), self.folder / "tree"
        for folder in ("bin", "copy", "lib", "debug"):
            (tree / folder).mkdir(parents=True)
        shutil.copy(self.stripped, tree / "bin" / "app")
        shutil.copy(self.stripped, tree / "copy" / "app")
        shutil.copy(self.debug, tree / "debug" / "app.debug")
        (tree / "bin" / "script").write_text("#!/bin/sh\n")
        (tree / "bin" / "loop").symlink_to(tree)
        (tree / "bin" / "link").symlink_to("app")
        os.mkfifo(tree / "bin" / "pipe")
        (tree / "lib" / "broken.so").write_bytes(self.app.read_bytes()[:80])
        sextant.tool("gcc", "-c", "-o", tree / "lib" / "app.o", self.place / "app.c")
        (self.place / "lib.c").write_text("int only(int x) { return x + 1; }\n")
        sextant.tool("gcc", "-g", "-shared", "-fPIC", "-o", tree / "lib" / "lib.so", self.place / "lib.c")
        lines = {pathlib.Path(line["file"]).name: line for line in self.push(server.url, "--recursive", tree)}
        self.assertEqual({name: line["state"] for name, line in lines.items()},
                         {"app": "pushed", "lib.so": "pushed", "broken.so": "failed"}, self.result)  # fmt: skip
        self.assertEqual(self.summary, {"pushed": 2, "skipped": 0, "failed": 1, "untried": 0, "same": 1, "joined": 1,
                                        "without_symbols": 0, "debug_files": 0, "other_files": 2})  # fmt: skip
        self.assertEqual(self.result.status, 1)
        self.assert_equal_to_lookup(server, self.stripped, lines["app"], "--debug", self.debug)
        self.assert_equal_to_lookup(server, tree / "lib" / "lib.so", lines["lib.so"])
        # Again, and with the files named: everything is there.
        (tree / "lib" / "broken.so").unlink()
        lines = self.push(server.url, tree / "lib" / "lib.so", "--recursive", tree, "--recursive", tree / "bin")
        self.assertEqual(([line["state"] for line in lines], self.result.status), (["skipped"] * 2, 0), self.result)

    def test_one_bad_file_does_not_stop_others(self):
        server = self.serve()
        lines = self.push(server.url, self.folder / "none", self.place / "app.c", self.app, self.folder)
        self.assertEqual(sorted(line["state"] for line in lines), ["failed", "failed", "failed", "pushed"])
        self.assertEqual(self.result.status, 1)

    def test_a_folder_with_what_cannot_be_read(self):
        self.let_others_in()
        tree = self.folder / "tree"
        tree.mkdir()
        (tree / "shut").mkdir()
        for name, mode in (("good", 0o755), ("closed", 0)):
            shutil.copy(self.app, tree / name)
            (tree / name).chmod(mode)
        tree.chmod(0o755)
        (tree / "shut").chmod(0)
        self.addCleanup((tree / "shut").chmod, 0o700)
        (self.folder / "tmp").mkdir()
        (self.folder / "tmp").chmod(0o777)
        environment = {"TMPDIR": str(self.folder / "tmp")}
        result = sextant.run("push", "--dry-run", "--recursive", tree, "--json", unprivileged=True, env=environment)
        *lines, last = result.json_lines()
        self.assertEqual({pathlib.Path(line["file"]).name: line["state"] for line in lines},
                         {"good": "dry run", "closed": "failed"}, result)  # fmt: skip
        self.assertEqual((last["summary"]["failed"], result.status), (2, 1), result)
        self.assertEqual(result.err.count("Permission denied"), 2, result)

    def test_files_without_functions(self):
        (self.folder / "empty.c").write_text('__asm__(".text; nop; nop");\n')
        sextant.tool("gcc", "-shared", "-nostdlib", "-o", self.folder / "empty.so", self.folder / "empty.c")
        sextant.tool("strip", self.folder / "empty.so")
        server = self.serve()
        line = self.push_one(server.url, self.folder / "empty.so", state="failed")
        self.assertIn("no functions", line["error"])
        self.push(server.url, "--recursive", self.folder)
        self.assertEqual((self.summary["without_symbols"], self.result.status), (1, 0), self.result)

    def test_a_dry_run_sends_nothing(self):
        server = PushServer(self)
        line = self.push_one(server.url, self.app, "--dry-run", state="dry run")
        self.assertEqual((server.requests, server.questions), (0, []))
        self.assertEqual(line["ranges"]["sent"], 0)
        text = self.run_ok("push", "--dry-run", self.app).text
        self.assertRegex(text, r"app: dry run: 2 parts, \d+ functions, \d+ return pads, ")


class TextTest(PushTest):
    def test_text_and_quiet(self):
        server = self.serve()
        result = self.run_ok("push", self.app, "--url", server.url + "/")
        self.assertRegex(result.text, rf"^{re.escape(str(self.app))}: pushed: 2 parts, \d+ functions, .* sent\n$")
        self.assertEqual(result.err, "")
        result = self.run_ok("push", self.app, "--url", server.url)
        self.assertEqual(result.text, f"{self.app}: skipped: these symbols are here\n")
        result = self.run_ok("push", "-q", self.app, "--url", server.url, "--force")
        self.assertEqual((result.text, result.err), ("", ""))

    def test_a_bar_on_a_terminal(self):
        def slow(*_):
            time.sleep(0.5)

        server = PushServer(self, slow)
        leader, follower = pty.openpty()
        with subprocess.Popen([sextant.program(), "push", self.app, "--url", server.url, "--parallel", "1"],
                              stdout=subprocess.DEVNULL, stderr=follower, env={**os.environ, "TERM": "xterm"}) as process:
            os.close(follower)
            shown = b""
            try:
                while data := os.read(leader, 4096):
                    shown += data
            except OSError:
                pass
        os.close(leader)
        self.assertEqual(process.returncode, 0)
        self.assertIn(b"sending", shown)

    def test_usage(self):
        url = ("--url", "http://127.0.0.1:1")
        for words in (
            (), url, (self.app,), (self.app, "--url", "ftp://x"), (self.app, "--url", "http://"),
            (self.app, "--url", "127.0.0.1"),
            (self.app, "--url", "http://h/?q"), (self.app, "--url", "http://user:hunter2@h"),
            (self.app, *url, "--file-id", "12"), (self.app, *url, "--file-id", "g" * 32),
            (self.app, *url, "--build-id", "abc"),
            (self.app, self.stripped, *url, "--file-id", "00" * 16),
            (self.app, self.stripped, *url, "--debug", self.debug),
            (self.app, *url, "--part-size", "1"), (self.app, *url, "--part-size", "x"),
            (self.app, *url, "--parallel", "0"),
            (self.app, *url, "--retries", "-1"), (self.app, *url, "--compression", "xz"), (self.app, *url, "--nope"),
            (self.app, *url, "--api-key", "a:b", "--api-key-file", "f"),
        ):  # fmt: skip
            result = sextant.run("push", *words)
            self.assertEqual((result.status, result.out), (2, b""), result)
            self.assertNotIn("hunter2", result.err)

    def test_help_names_what_matters(self):
        text = self.run_ok("push", "--help").text
        for word in ("--url", "--recursive", "--debug", "--dry-run", "--ca", "SEXTANT_API_KEY", "examples:"):
            self.assertIn(word, text)


if __name__ == "__main__":
    tap.main()
