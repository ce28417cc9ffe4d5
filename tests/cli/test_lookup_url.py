"""`sextant lookup --url`: a symbol service answers what `lookup` answers on the file itself."""

import base64
import json
import pathlib
import random
import shutil
import ssl
import subprocess
import tempfile
import unittest

import test_symbolize_url as scripted
from support import sextant, tap
from support.service import Server, store_folder

NO_PROXY = {"no_proxy": "*", "NO_PROXY": "*"}

SOURCE = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) int twice(int x) { return 2 * abs(x - 7); }
__attribute__((noinline)) int work(int x) { return twice(x) + twice(x + 1); }
__attribute__((noinline)) int more(int x) { return work(x) * 3 + work(x + 2); }
int main(int argc, char **argv) { (void)argv; return more(argc); }
"""


class UrlTest(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        (place / "w.c").write_text(SOURCE)
        cls.binary, cls.ranges = place / "w", place / "r.symbfile"
        # Data before code, so that offsets in the file are not addresses.
        sextant.tool("gcc", "-O2", "-g", "-fPIE", "-pie", "-Wl,--build-id=sha1", "-Wl,-z,noseparate-code", "-o", cls.binary,
                     place / "w.c")
        cls.info = json.loads(sextant.run("info", "--json", cls.binary).out)
        sextant.run("archive", "-q", "-f", "symbfile", cls.binary, "-o", cls.ranges)
        cls.file_id, cls.build_id = cls.info["file_id"], cls.info["build_id"]
        cls.spelled = base64.urlsafe_b64encode(bytes.fromhex(cls.file_id)).decode()
        sextant.run("archive", "-q", cls.binary, "-o", place / "w.lidia")
        found = set()
        for row in sextant.run("dump", "--json", place / "w.lidia").json_lines():
            found.update(range(int(row["va"], 16), int(row["va"], 16) + row["length"]))
        cls.addresses = [*sorted(found), 0, 1, 2**64 - 1]
        random.Random(7).shuffle(cls.addresses)

    def serve(self, *options, **keywords):
        server = Server(store_folder(self), *options, **keywords)
        self.addCleanup(server.stop)
        return server

    def push(self, server, key=None):
        headers = {"FileID": self.spelled.rstrip("="), "FilePart": "0", "FileParts": "1", "BuildID": self.build_id}
        reply = server.post("/api/symbols-ranges", self.ranges.read_bytes(), headers=headers, key=key)
        self.assertEqual(reply.status, 200, reply)

    def ask(self, server, *options, **keywords):
        return self.run_ok("lookup", "--url", server.url, *options, env=NO_PROXY, **keywords)

    def fails(self, *options, naming="http"):
        """Exit status 1, nothing printed, and one line that begins with NAMING."""
        done = sextant.run("lookup", *options, env=NO_PROXY)
        self.assert_no_crash(done)
        self.assertEqual((done.status, done.out, done.err.count("\n")), (1, b"", 1), done)
        self.assertTrue(done.err.startswith(f"sextant: {naming}"), done.err)
        return done


class Answers(UrlTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.questions = "".join(f"{address:#x}\n" for address in cls.addresses)

    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.push(self.server)

    def test_the_text_is_that_of_the_file(self):
        wanted = self.run_ok("lookup", self.binary, stdin=self.questions).out
        self.assertIn(b"[inlined]", wanted)
        for name in (("--file-id", self.file_id), ("--file-id", self.file_id.upper()), ("--file-id", self.spelled),
                     ("--file-id=" + self.spelled.rstrip("="),), ("--build-id", self.build_id),
                     ("--file-id", self.build_id), ("--file-id", self.file_id, "--build-id", self.build_id),
                     ("--file-id", "00" * 16, "--build-id", self.build_id)):
            self.assertEqual(self.ask(self.server, *name, stdin=self.questions).out, wanted, name)
        self.assertEqual(self.ask(self.server, "--build-id", self.build_id, *self.questions.split()).out, wanted)

    def test_json(self):
        wanted = self.run_ok("lookup", "--json", self.binary, stdin=self.questions).json_lines()
        got = self.ask(self.server, "--json", "--file-id", self.file_id, stdin=self.questions).json_lines()
        self.assertTrue(any(len(answer["frames"]) > 1 for answer in got))
        for answers in (wanted, got):
            for answer in answers:
                for frame in answer["frames"]:
                    frame["start"] = None
        self.assertEqual(got, wanted)

    def test_kinds_of_addresses(self):
        for options in (("--file-offset",), ("--return-addresses",), ("--load-bias", "0x555500000000"),
                        ("--file-offset", "--return-addresses")):
            bias = 0x555500000000 if "--load-bias" in options else 0
            questions = "".join(f"{(address + bias) % 2**64:x}\n" for address in self.addresses)
            wanted = self.run_ok("lookup", *options, self.binary, stdin=questions).out
            self.assertIn(b"work", wanted)
            got = self.ask(self.server, *options, "--build-id", self.build_id, stdin=questions).out
            self.assertEqual(got, wanted, options)
        self.assertNotEqual(self.run_ok("lookup", "--return-addresses", self.binary, stdin=self.questions).out,
                            self.run_ok("lookup", self.binary, stdin=self.questions).out)

    def test_words_that_are_not_addresses(self):
        questions = "zebra\n 0x1 \n\nf" + "0" * 40 + "\n" + self.questions
        wanted = self.run_warned("lookup", self.binary, stdin=questions)
        got = sextant.run("lookup", "--url", self.server.url, "--build-id", self.build_id, stdin=questions, env=NO_PROXY)
        self.assertEqual((got.status, got.out), (0, wanted.out))
        self.assertEqual(got.err.replace(self.server.url, str(self.binary)), wanted.err)
        got = sextant.run("lookup", "--url", self.server.url, "--build-id", self.build_id, "zebra", env=NO_PROXY)
        self.assertEqual((got.status, got.out), (0, b"zebra  ??\n"))

    def test_no_addresses(self):
        self.assertEqual(self.ask(self.server, "--build-id", self.build_id).out, b"")

    def test_many_addresses_in_few_requests(self):
        count = 1_000_000 if sextant.EVERYTHING else 20_000
        chosen = random.Random(3).choices(self.addresses, k=count)
        questions = "".join(f"{address:x}\n" for address in chosen)
        wanted = self.run_ok("lookup", self.binary, stdin=questions).out
        path = self.file("questions", questions)
        with open(path, "rb") as stream:
            self.assertEqual(self.ask(self.server, "--build-id", self.build_id, stdin=stream).out, wanted)
        self.server.stop()
        requests = sum(line.get("path") == "/api/symbolize" for line in self.server.log())
        self.assertTrue(0 < requests <= count / 1000, requests)

    def test_answers_come_before_the_input_ends(self):
        command = [sextant.program(), "lookup", "--url", self.server.url, "--build-id", self.build_id]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=NO_PROXY) as process:
            for _ in range(3):
                process.stdin.write(b"0\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), b"0  ??\n")
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)


class Keys(UrlTest):
    def test_keys(self):
        server = self.serve("--api-key-file", self.file("keys", "up:u:upload\nme:secret:read\nteam:t::blue\n"))
        self.push(server, key="up:u")
        key_file = self.file("key", "# mine\nme:secret:read\n")
        question = ("lookup", "--url", server.url, "--build-id", self.build_id, f"{self.addresses[0]:#x}")
        wanted = self.run_ok("lookup", self.binary, f"{self.addresses[0]:#x}").out
        self.assertEqual(self.run_ok(*question, "--api-key", "me:secret", env=NO_PROXY).out, wanted)
        self.assertEqual(self.run_ok(*question, "--api-key-file", key_file, env=NO_PROXY).out, wanted)
        self.assertEqual(self.run_ok(*question, env={**NO_PROXY, "SEXTANT_API_KEY": "me:secret"}).out, wanted)
        uuid = r"uuid [0-9a-f]{8}-[0-9a-f-]{27}"
        for options, text in (((), rf"code 2000, {uuid}, status 401: .*see --api-key"),
                              (("--api-key", "me:wrong"), rf"code 2001, {uuid}, status 401: .*see --api-key"),
                              (("--api-key", "up:u"), rf"code 2002, {uuid}, status 403: .*see --api-key"),
                              (("--api-key", "team:t"), rf"code 3002, {uuid}, status 404: ")):
            self.assertRegex(self.fails(*question[1:], *options).err, text)

    def test_authorities(self):
        if not shutil.which("openssl"):
            raise unittest.SkipTest("openssl is not installed")
        cert, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days",
                        "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)  # fmt: skip
        server = self.serve("--tls-cert", cert, "--tls-key", key, tls=ssl.create_default_context(cafile=cert))
        self.push(server)
        question = ("--url", server.url, "--build-id", self.build_id, f"{self.addresses[0]:#x}")
        self.assertEqual(self.run_ok("lookup", *question, "--ca", cert, env=NO_PROXY).out,
                         self.run_ok("lookup", self.binary, question[-1]).out)
        self.assertIn("certificate", self.fails(*question).err)
        self.fails(*question, "--ca", self.folder / "missing", naming=self.folder / "missing")


class Failures(UrlTest):
    def test_an_unknown_file(self):
        server = self.serve()
        self.push(server)
        for name in (("--build-id", "00" * 20), ("--file-id", "00" * 16)):
            self.assertRegex(self.fails("--url", server.url, *name, "0x1").err, r"code 3002, uuid \S+, status 404: ")

    def test_a_url_that_is_not_of_a_service(self):
        server = self.serve()
        self.assertRegex(self.fails("--url", server.url + "/nope", "--build-id", "00" * 20, "1").err,
                         r"code 3000, uuid \S+, status 404: ")

    def test_nobody_there(self):
        with Server(store_folder(self)) as server:
            url = server.url
        self.fails("--url", url, "--build-id", "00" * 20, "0x1", naming=url)

    def test_replies_that_are_too_large(self):
        """More than 2^20 values of JSON in a reply: the same is asked in smaller pieces."""
        if sextant.SANITIZED:
            raise unittest.SkipTest("a million values take long with sanitizers")
        service = scripted.Service()
        self.addCleanup(service.close)
        chain = b"[" + b",".join([b'{"function":"f"}'] * 400) + b"]"
        service.reply = lambda count, question: (
            200, {}, b'{"frames":[' + b",".join([chain] * len(question["addresses"])) + b"]}")
        questions = "".join(f"{address:x}\n" for address in range(2000))
        done = self.run_ok("lookup", "--url", service.url, "--build-id", "00" * 20, stdin=questions, env=NO_PROXY)
        self.assertEqual(done.out.count(b"  f"), 2000 * 400)
        self.assertEqual([len(request["addresses"]) for _, _, request in service.requests], [2000, 1000, 1000])
        service.reply = lambda count, question: (200, {}, b'{"frames":[[' + b"1," * (1 << 21) + b"1]]}")
        self.assertRegex(self.fails("--url", service.url, "--build-id", "00" * 20, "1").err, "invalid answer")

    def test_a_busy_service_is_asked_again(self):
        service = scripted.Service()
        self.addCleanup(service.close)
        answer = json.dumps({"frames": [[{"function": "late", "file": None, "line": 7}]]}).encode()
        service.reply = lambda count, question: (200, {}, answer) if count > 1 else (429, {"Retry-After": "1"}, b"")
        done = self.run_ok("lookup", "--url", service.url, "--build-id", "00" * 20, "0x10", env=NO_PROXY)
        self.assertEqual(done.out, b"0x10  late\n")
        self.assertEqual(len(service.requests), 2)

    def test_usage(self):
        url = ("--url", "http://127.0.0.1:1")
        for words in ((*url, "1"), (*url, "--file-id", "xyz", "1"), (*url, "--build-id", "abc", "1"),
                      (*url, "--build-id", self.spelled, "1"), ("--url", "ftp://a", "--build-id", "00" * 20, "1"),
                      (*url, "--build-id", "00" * 20, "--load-bias", "x", "1"),
                      (*url, "--build-id", "00" * 20, "--api-key", "a:b", "--api-key-file", "f", "1"),
                      (*url, "--build-id", "00" * 20, "--api-key", "", "1"),
                      ("--build-id", "00" * 20, self.binary, "1"), ("--file-id", "00" * 16, self.binary, "1"),
                      ("--api-key", "a:b", self.binary, "1"), ("--return-addresses", "--name", "main", self.binary)):
            self.run_usage("lookup", *words)
        for option in (("--name", "main"), ("--pid", "1"), ("--maps", "f"), ("--search", "."), ("--text", "1-2"),
                       ("--explain",), ("--check",), ("--mangled",), ("--sources", "dwarf"), ("--assume-linear",),
                       ("--debug", "f"), ("--threads", "1")):
            done = self.run_usage("lookup", *url, "--build-id", "00" * 20, *option, "1")
            self.assertIn(f"{option[0]} cannot be used with --url", done.err)


if __name__ == "__main__":
    tap.main()
