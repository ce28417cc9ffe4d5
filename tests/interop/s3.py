#!/usr/bin/env python3
"""Stores in a bucket of versitygw, an S3 server that checks signatures, hashes of bodies, ranges, parts and conditions.

It is built from the Go module github.com/versity/versitygw into the folder `interop` of the build directory, which the
environment variable SXT_BUILD names (build under the source root by default). Everything is skipped where there is no Go
toolchain, or one that is too old, where the module can be had neither from the cache nor from the registry, or where the
tests of the project are not built.
"""

import functools
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
os.environ.setdefault("SXT_BUILD_DIR", os.environ.get("SXT_BUILD", str(ROOT / "build")))

from support import s3_server, sextant, tap
from test_store_s3 import LIMIT, IO, NOT_FOUND, PLACE, UNIT_TEST, USE_STORE, StoreTest

MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUILD_SECONDS = 500


@functools.cache
def server_or_reason():
    """(path of versitygw, None), or (None, why there is none)."""
    if not USE_STORE.exists() or not UNIT_TEST.exists():
        return None, "the tests are not built (make test)"
    if shutil.which("go") is None:
        return None, "Go is missing"
    folder = sextant.BUILD / "interop" / "versitygw"
    program = folder / "versitygw"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-trimpath", "GOTOOLCHAIN": "local"}
        try:
            done = subprocess.run(["go", "install", MODULE], env=environment, capture_output=True, text=True,
                                  timeout=BUILD_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return None, "building versitygw takes too long"
        if done.returncode != 0:
            return None, f"versitygw cannot be built: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
    return str(program), None


class Versitygw(StoreTest):
    @classmethod
    def setUpClass(cls):
        program, reason = server_or_reason()
        if program is None:
            raise unittest.SkipTest(reason)
        cls.place = tempfile.mkdtemp(prefix="sextant-s3-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.server = s3_server.Versitygw(program, os.path.join(cls.place, "root"))
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.prefix = f"s3://bucket/{self.id().rsplit('.', 1)[1]}"

    def run_here(self, *arguments):
        return self.good(self.server.url, *arguments, place=self.prefix)

    def proxy(self, fault):
        proxy = s3_server.FaultyProxy(self.server.port, fault)
        self.addCleanup(proxy.close)
        return proxy

    def test_the_cases_of_every_store_hold_for_a_bucket(self):
        env = s3_server.environment(self.server.url, SEXTANT_TEST_STORE=PLACE, CMOCKA_MESSAGE_OUTPUT="TAP")
        done = subprocess.run([UNIT_TEST], env=env, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("not ok", done.stdout)

    def test_a_wrong_secret_is_refused(self):
        self.bad(IO, "SignatureDoesNotMatch", self.server.url, "list", "", env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        self.bad(IO, "No user exists", self.server.url, "list", "", env={"AWS_ACCESS_KEY_ID": "nobody"})
        self.bad(IO, "No user exists", self.server.url, "get", "a", "9", env={"AWS_ACCESS_KEY_ID": "nobody"})

    def test_a_wrong_region_is_refused(self):
        self.bad(IO, "AWS_REGION", self.server.url, "list", "", env={"AWS_REGION": "eu-west-1"})

    def test_a_missing_bucket_is_named(self):
        self.bad(IO, "no bucket named 'other-bucket'", self.server.url, "list", "", place="s3://other-bucket")

    def test_a_body_that_changes_on_its_way_is_refused(self):
        path = self.file("object", b"the content of the object")
        proxy = self.proxy(lambda number, request: ("alter",) if request.method == "PUT" else None)
        self.bad(IO, "", proxy.url, "put", "a", path, place=self.prefix)
        self.bad(NOT_FOUND, "no object named 'a'", self.server.url, "get", "a", "100", place=self.prefix)

    def test_prefixes_with_any_characters_are_signed_right(self):
        for prefix in ("a b+c", "d=e&f", "g%h/i~j", "ä€", "k'(l)*!;:@$,"):
            place = f"s3://bucket/{prefix}"
            self.good(self.server.url, "put", "x=y/~z", self.file("object", prefix.encode()), place=place)
            self.assertEqual(self.good(self.server.url, "get", "x=y/~z", "100", place=place).out, prefix.encode())
            self.assertEqual(self.good(self.server.url, "list", "x=y/", place=place).out.split()[0], b"x=y/~z")
            self.assertEqual(self.good(self.server.url, "words", "", place=place).out.split()[0], b"x=y/")
            self.assertEqual(self.good(self.server.url, "map", "x=y/~z", place=place).out, prefix.encode())
            self.assertEqual(self.good(self.server.url, "place", place=f"{place}/x=y/~z").out, prefix.encode())

    def test_listings_have_several_pages(self):
        self.run_here("fill", "p/q/", "1100", "3")
        self.run_here("put", "p/r", self.file("object", b"x"))
        keys = [line.split()[0].decode() for line in self.run_here("list", "").out.splitlines()]
        self.assertEqual(keys, [f"p/q/{number:06}" for number in range(1100)] + ["p/r"])
        words = [line.split()[0].decode() for line in self.run_here("words", "p/q/").out.splitlines()]
        self.assertEqual(words, keys[:-1])
        self.assertEqual(self.run_here("words", "p/").out.split()[::3], [b"p/q/", b"p/r"])

    def test_large_objects_go_up_in_parts_and_come_down_in_ranges(self):
        content = random.Random(7).randbytes(1 << 20) * 150 + b"the end"
        path = self.file("object", content)
        seen = []

        def fault(number, request):
            seen.append(request)
            return ("status", 503) if "partNumber=3" in request.query and len(seen) < 6 else None

        proxy = self.proxy(fault)
        self.good(proxy.url, "write", "large", path, place=self.prefix)
        parts = {request.query.split("&")[0] for request in seen if "partNumber" in request.query}
        self.assertEqual(parts, {"partNumber=1", "partNumber=2", "partNumber=3"})
        expected = hashlib.sha256(content).digest()
        self.assertEqual(hashlib.sha256(self.run_here("map", "large").out).digest(), expected)
        self.cache = self.folder / "other"
        self.assertEqual(hashlib.sha256(self.run_here("map", "large").out).digest(), expected)
        end = len(content)
        out = self.run_here("ranges", "large", f"{end - 7}:7", "0:5", f"{(64 << 20) - 3}:6", "1:0").out
        self.assertEqual(out, b"the end" + content[:5] + content[(64 << 20) - 3:(64 << 20) + 3])

    def test_parts_that_fail_leave_nothing(self):
        path = self.file("object", bytes(65 << 20))
        proxy = self.proxy(lambda number, request: ("status", 500) if "partNumber=2" in request.query else None)
        self.bad(IO, "500", proxy.url, "put", "large", path, place=self.prefix)
        self.assertEqual(self.run_here("list", "").out, b"")
        left = [path for path in pathlib.Path(self.place).rglob("*") if path.is_file() and path.stat().st_size == 64 << 20]
        self.assertEqual(left, [])

    def test_an_object_that_is_replaced_while_it_is_read_by_its_place_is_noticed(self):
        # The end of an object comes with the first request, so a small one is there at once.
        self.run_here("put", "a", self.file("object", bytes(200_000)))

        def fault(number, request):
            if request.method == "GET":
                self.run_here("put", "a", self.file("other", bytes([number % 255 + 1]) * 200_000))
            return None

        proxy = self.proxy(fault)
        self.bad(IO, "was replaced while it was read", proxy.url, "place", place=f"{self.prefix}/a")

    def test_a_limit_is_kept(self):
        self.run_here("put", "a", self.file("object", b"12345"))
        self.bad(LIMIT, "larger than the limit of 4 bytes", self.server.url, "get", "a", "4", place=self.prefix)


if __name__ == "__main__":
    tap.main()
