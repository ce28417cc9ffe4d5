"""`sextant lookup s3://...`: an archive in a bucket, and the store of a service, of which only a little is fetched."""

import base64
import json
import pathlib
import random
import struct
import tempfile
import unittest

from support import sextant, tap
from support.s3_server import MemoryS3, environment, error_answer
from support.service import Server, store_folder

FUNCTIONS = 14000
SOURCE = r"""
static inline __attribute__((always_inline)) int twice(int x) { return 2 * __builtin_abs(x - 7); }
__attribute__((noinline)) int work(int x) { return twice(x) + twice(x + 1); }
int main(int argc, char **argv) { (void)argv; return work(argc); }
"""


class BucketTest(sextant.ProgramTest):
    """A large archive, an ELF file, and a bucket that has them."""

    folder = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        if BucketTest.folder is None:
            BucketTest.folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
            unittest.addModuleCleanup(BucketTest.folder.cleanup)
            BucketTest.make_files(pathlib.Path(BucketTest.folder.name))

    @classmethod
    def make_files(cls, place):
        cls.archive, cls.binary = place / "large.lidia", place / "w"
        assembly = ['.section .text,"ax",@progbits\n']
        for number in range(FUNCTIONS):
            name = f"f{number}_" + "x" * (150 + number * 7 % 300)
            assembly.append(f".globl {name}\n.type {name},@function\n{name}: .fill {16 + number % 40},1,0x90\n"
                            f".size {name},.-{name}\n")
            if number % 100 == 0:
                assembly.append(f".globl other_{number}\n.set other_{number},{name}\n.type other_{number},@function\n")
        (place / "large.s").write_text("".join(assembly))
        sextant.tool("gcc", "-nostdlib", "-shared", "-Wl,--build-id=sha1", "-o", place / "large.so", place / "large.s")
        cls.large = place / "large.so"
        sextant.run("archive", "-q", cls.large, "-o", cls.archive)
        (place / "w.c").write_text(SOURCE)
        sextant.tool("gcc", "-O2", "-g", "-o", cls.binary, place / "w.c")
        cls.bytes = cls.archive.read_bytes()
        count = struct.unpack_from("<Q", cls.bytes, 0x10)[0]
        cls.first, cls.last = struct.unpack_from(f"<{count}I", cls.bytes, 0x80)[::count - 1]
        cls.info = json.loads(sextant.run("info", "--json", cls.large).out)

    def setUp(self):
        super().setUp()
        self.cache = self.enterContext(tempfile.TemporaryDirectory(prefix="sextant-test-"))
        self.bucket = MemoryS3({"bucket/a/large.lidia": self.bytes, "bucket/w": self.binary.read_bytes(),
                                "bucket/empty": b"", "bucket/small.txt": b"hello"})
        self.addCleanup(self.bucket.close)

    def variables(self, **more):
        return environment(self.bucket.url, TMPDIR=self.cache, **more)

    def ask(self, *words, **keywords):
        return self.run_ok("lookup", *words, env=self.variables(), **keywords)

    def questions(self, count, seed=1):
        chosen = random.Random(seed)
        return [f"{chosen.randrange(self.first, self.last + 20):x}" for _ in range(count)]

    def fails(self, *words, status=1, **more):
        done = sextant.run("lookup", *words, env=self.variables(**more))
        self.assert_no_crash(done)
        self.assertEqual((done.status, done.out), (status, b""), done)
        return done.err


class Objects(BucketTest):
    def test_the_first_address_takes_few_requests(self):
        self.assertGreater(len(self.bytes), 4000000)
        address, = self.questions(1)
        wanted = self.run_ok("lookup", self.archive, address).out
        self.assertEqual(self.ask("s3://bucket/a/large.lidia", address).out, wanted)
        self.assertLessEqual(len(self.bucket.requests), 8)
        self.assertLess(self.bucket.sent, 250000)
        self.assertNotIn(b"??", wanted)
        self.assertEqual(sorted(pathlib.Path(self.cache).rglob("*.*")), [pathlib.Path(self.cache, found.name, ".tmp")
                         for found in pathlib.Path(self.cache).iterdir()])

    def test_a_thousand_addresses_take_little(self):
        questions = self.questions(1000)
        self.ask("s3://bucket/a/large.lidia", questions[0])
        opened = self.bucket.sent
        for options, words, stdin in (((), questions, None), (("--json",), (), "\n".join(questions))):
            wanted = self.run_ok("lookup", *options, self.archive, *questions).out
            self.bucket.forget()
            self.assertEqual(self.ask(*options, "s3://bucket/a/large.lidia", *words, stdin=stdin).out, wanted)
            self.assertLess(self.bucket.sent - opened, 2000000)
        ranges = [request.headers["range"] for request in self.bucket.requests]
        self.assertEqual(len(ranges), len(set(ranges)), "something was fetched twice")
        self.assertTrue(all(request.headers.get("if-match") for request in self.bucket.requests[1:]))

    def test_every_function_and_its_aliases(self):
        questions = "".join(f"{int(row['va'], 16):x}\n" for row in
                            self.run_ok("dump", "--json", self.archive).json_lines()[::20])
        wanted = self.run_ok("lookup", "--json", self.archive, stdin=questions).out
        self.assertIn(b"other_", wanted)
        self.assertEqual(self.ask("--json", "s3://bucket/a/large.lidia", stdin=questions).out, wanted)

    def test_an_archive_of_another_writer(self):
        """Without the index, and without the last chunk: as the reference program and older versions write it."""
        questions = self.questions(200, 2)
        wanted = self.run_ok("lookup", self.archive, *questions).out
        lines, = struct.unpack_from("<Q", self.bytes, 0x70)
        last = self.bytes.rindex(b"sxtcopen")
        for cut in (lines, last):
            self.bucket.objects["bucket/cut.lidia"] = self.bytes[:cut]
            self.bucket.forget()
            self.ask("s3://bucket/cut.lidia", "1")
            self.assertLessEqual(len(self.bucket.requests), 8)
            self.assertLessEqual(self.bucket.sent, 4000000)
            self.assertEqual(self.ask("s3://bucket/cut.lidia", *questions).out, wanted)

    def test_kinds_of_addresses(self):
        offsets = ("--file-offset", "--return-addresses", "--load-bias=0x7f0000000000")
        for options in ((offsets[0],), (offsets[1],), (offsets[2],), offsets[:2]):
            bias = 0x7f0000000000 if offsets[2] in options else 0
            questions = [f"{int(text, 16) + bias:x}" for text in self.questions(50, 3)]
            wanted = self.run_ok("lookup", *options, self.archive, *questions).out
            self.assertIn(b"f", wanted)
            self.assertEqual(self.ask(*options, "s3://bucket/a/large.lidia", *questions).out, wanted)

    def test_what_reads_all_of_it(self):
        name = self.run_ok("lookup", self.archive, f"{self.first:x}").out.split()[1].decode()
        for options in (("--name", name), ("--check",)):
            addresses = [f"{self.first:x}"] if options[0] == "--check" else []
            wanted = self.run_ok("lookup", *options, self.archive, *addresses).out
            self.assertEqual(self.ask(*options, "s3://bucket/a/large.lidia", *addresses).out, wanted)
        self.fails("--explain", "s3://bucket/a/large.lidia", "1", status=2)

    def test_small_objects_and_other_kinds(self):
        wanted = self.run_ok("lookup", "--name", "work", self.binary).out
        self.assertEqual(self.ask("--name", "work", "s3://bucket/w").out, wanted)
        address = wanted.split()[0].decode()
        self.bucket.forget()
        self.assertEqual(self.ask("s3://bucket/w", address).out, self.run_ok("lookup", self.binary, address).out)
        self.assertLessEqual(len(self.bucket.requests), 2)
        self.assertIn("small.txt", self.fails("s3://bucket/small.txt", "1"))
        self.fails("s3://bucket/empty", "1")
        self.bucket.objects["bucket/noise"] = random.Random(5).randbytes(4500000)
        self.assertIn("s3://bucket/noise", self.fails("s3://bucket/noise", "1"))

    def test_a_server_that_does_not_know_the_end_of_an_object(self):
        self.bucket.suffixes = False
        questions = self.questions(20, 4)
        self.assertEqual(self.ask("s3://bucket/a/large.lidia", *questions).out,
                         self.run_ok("lookup", self.archive, *questions).out)


class Failures(BucketTest):
    def test_what_is_not_there(self):
        self.assertIn("no object named 'nothing'", self.fails("s3://bucket/nothing", "1"))
        self.fails("s3://", "1", status=2)
        self.fails("s3://bucket", "1", status=2)

    def test_a_refusal_is_an_error_and_not_an_unknown_address(self):
        self.bucket.fault = lambda number, request: error_answer(403, "AccessDenied", "no") if number >= 2 else None
        self.assertIn("status 403", self.fails("s3://bucket/a/large.lidia", *self.questions(3)))
        self.bucket.fault = lambda number, request: error_answer(403, "InvalidAccessKeyId", "no")
        self.assertIn("InvalidAccessKeyId", self.fails("s3://bucket/a/large.lidia", "1"))

    def test_no_keys(self):
        self.assertIn("no credentials", self.fails("s3://bucket/a/large.lidia", "1", AWS_ACCESS_KEY_ID="", status=2))

    def test_an_object_that_is_replaced_meanwhile(self):
        def replace(number, request):
            if number == 3:
                self.bucket.objects["bucket/a/large.lidia"] = self.bytes[::-1]
        self.bucket.fault = replace
        self.assertIn("was replaced while it was read",
                      self.fails("s3://bucket/a/large.lidia", *self.questions(5)))

    def test_usage(self):
        for words in (("--file-id", "00" * 16), ("--tenant", "t", "s3://bucket/p", "1"),
                      ("--file-id", "xyz", "s3://bucket/p", "1"), ("--build-id", "xyz", "s3://bucket/p", "1"),
                      ("--file-id", "00" * 16, "ftp://bucket/p", "1"), ("--file-id", "00" * 16, self.binary, "1"),
                      ("--file-id", "00" * 16, "--name", "x", "s3://bucket/p")):
            self.run_usage("lookup", *words, env=self.variables())


class Stores(BucketTest):
    """What `serve` stored is looked up without a server."""

    def fill(self, place):
        with Server(place, env=self.variables(), listen="127.0.0.1:0") as server:
            for path in (self.large, self.binary):
                info = json.loads(self.run_ok("info", "--json", path).out)
                reply = server.put(f"/api/v1/files/{info['build_id']}", path.read_bytes())
                self.assertIn(reply.status, (200, 201), reply)

    def test_a_bucket(self):
        self.fill("s3://bucket/symbols")
        file_id, build_id = self.info["file_id"], self.info["build_id"]
        spelled = base64.urlsafe_b64encode(bytes.fromhex(file_id)).decode().rstrip("=")
        questions = self.questions(300, 6)
        wanted = self.run_ok("lookup", self.large, *questions).out
        for index, words in enumerate((("--file-id", file_id), ("--file-id=" + spelled,), ("--build-id", build_id))):
            self.cache = self.enterContext(tempfile.TemporaryDirectory(prefix="sextant-test-"))
            self.bucket.forget()
            self.assertEqual(self.ask("s3://bucket/symbols", *words, *questions).out, wanted)
            self.assertLess(self.bucket.sent, 2000000)
        starts = [[frame["start"] for frame in answer["frames"]] for answer in
                  self.run_ok("lookup", "--json", self.large, *questions).json_lines()]
        got = self.ask("--json", "s3://bucket/symbols", "--file-id", file_id, *questions).json_lines()
        self.assertEqual([[frame["start"] for frame in answer["frames"]] for answer in got], starts)
        for words in (("--file-id", "00" * 16), ("--tenant=t", "--file-id", file_id)):
            self.assertIn("no symbols of this binary", self.fails("s3://bucket/symbols", *words, "1"))

    def test_servers_read_by_ranges(self):
        """A server that did not make the archive fetches only what is asked for, and says so if it cannot."""
        self.fill("s3://bucket/symbols")
        questions = self.questions(500, 8)
        wanted = [[frame["function"] for frame in answer["frames"]] for answer in
                  self.run_ok("lookup", "--json", self.large, *questions).json_lines()]
        self.cache = self.enterContext(tempfile.TemporaryDirectory(prefix="sextant-test-"))
        question = {"build_id": self.info["build_id"], "addresses": ["0x" + text for text in questions]}
        with Server("s3://bucket/symbols", env=self.variables()) as server:
            self.bucket.forget()
            for _ in range(2):
                reply = server.post("/api/symbolize", question)
                self.assertEqual(reply.status, 200, reply)
                self.assertEqual([[frame["function"] for frame in frames] for frames in reply.json["frames"]], wanted)
            self.assertLess(self.bucket.sent, 2000000)
            offsets = {**question, "kind": "file_offset"}
            self.assertEqual(server.post("/api/symbolize", offsets).status, 200)
            self.bucket.fault = lambda number, request: error_answer(403, "AccessDenied") if "blob" in request.path else None
            question["addresses"] = ["0x" + text for text in self.questions(100, 9)]
            self.assertGreaterEqual(server.post("/api/symbolize", question).status, 500)
            self.bucket.fault = lambda number, request: None
            self.assertEqual(server.post("/api/symbolize", question).status, 200)

    def test_a_directory(self):
        place = store_folder(self)
        self.fill(place)
        questions = self.questions(50, 7)
        for options in ((), ("--return-addresses",), ("--file-offset",)):
            self.assertEqual(self.run_ok("lookup", *options, place, "--build-id", self.info["build_id"], *questions).out,
                             self.run_ok("lookup", *options, self.large, *questions).out)
        self.fails(place / "nothing", "--build-id", self.info["build_id"], "1")
        self.assertFalse((place / "nothing").exists())


if __name__ == "__main__":
    tap.main()
