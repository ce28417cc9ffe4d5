"""Stores in a bucket: the cases of every store over rclone's S3 server, faults between, and hostile answers.

The program under test is use_store, which works with a store as the symbol service does.
"""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import time
import unittest

from support import s3_server, sextant, tap
from support.s3_server import FakeS3, FaultyProxy, answer, error_answer

USE_STORE = sextant.BUILD / "tests" / "programs" / "use_store"
UNIT_TEST = sextant.BUILD / "tests" / "unit" / "test_store"
PLACE = "s3://bucket/pre/fix"
NOT_FOUND, LIMIT, FORMAT, IO, USAGE = -7, -5, -3, -2, -6


class Done:
    """What a run of use_store gave."""

    def __init__(self, process, out, err):
        self.status = process.returncode
        self.out = out
        self.err = err
        figures = re.search(r"^\{.*\}$", err, re.MULTILINE)
        self.figures = json.loads(figures.group()) if figures else {}
        problem = re.search(r"^use_store: (-\d+): (.*)$", err, re.MULTILINE)
        self.code, self.text = (int(problem.group(1)), problem.group(2)) if problem else (0, "")


class StoreTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"

    def start(self, url, *arguments, place=PLACE, options=(), env=None):
        command = [USE_STORE, "-c", self.cache, *options, place, *arguments]
        return subprocess.Popen([os.fspath(word) for word in command], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=s3_server.environment(url, **(env or {})))

    def use(self, url, *arguments, **options):
        process = self.start(url, *arguments, **options)
        out, err = process.communicate(timeout=120)
        err = err.decode("utf-8", "backslashreplace")
        self.assertNotRegex(err, sextant.SANITIZER_TEXT)
        self.assertIn(process.returncode, (0, 1), err)
        return Done(process, out, err)

    def good(self, url, *arguments, **options):
        done = self.use(url, *arguments, **options)
        self.assertEqual(done.status, 0, done.err)
        return done

    def bad(self, code, text, url, *arguments, options=(), **more):
        done = self.use(url, *arguments, options=("-a", "2", *options), **more)
        self.assertEqual((done.status, done.code), (1, code), done.err)
        self.assertIn(text, done.text)
        return done

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path


def content_of(size, seed=1):
    return random.Random(seed).randbytes(size)


class RealServer(StoreTest):
    """Over rclone's server, with a proxy between that breaks what the test says."""

    @classmethod
    def setUpClass(cls):
        cls.place = sextant.tempfile.mkdtemp(prefix="sextant-s3-")
        cls.addClassCleanup(sextant.shutil.rmtree, cls.place, ignore_errors=True)
        # rclone does not see at once what others change in its folder.
        os.makedirs(os.path.join(cls.place, "root", "bucket", "free form"))
        with open(os.path.join(cls.place, "root", "bucket", "free form", "libstdc++.so.6 (1)"), "wb") as file:
            file.write(content_of(9000))
        cls.server = s3_server.Rclone(os.path.join(cls.place, "root"))
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.prefix = f"s3://bucket/{self.id().rsplit('.', 1)[1]}"

    def proxy(self, fault):
        proxy = FaultyProxy(self.server.port, fault)
        self.addCleanup(proxy.close)
        return proxy

    def test_the_cases_of_every_store_hold_for_a_bucket(self):
        env = s3_server.environment(self.server.url, SEXTANT_TEST_STORE=PLACE, CMOCKA_MESSAGE_OUTPUT="TAP")
        done = subprocess.run([UNIT_TEST], env=env, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(len(re.findall(r"^ok ", done.stdout, re.MULTILINE)), 15)
        self.assertNotIn("not ok", done.stdout)

    def test_a_catalog_works_in_a_bucket(self):
        for name in ("receive", "files", "crashes", "threads"):
            with self.subTest(name=name):
                done = subprocess.run(
                    [UNIT_TEST.with_name("test_catalog_" + name)], capture_output=True, text=True, timeout=300, check=False,
                    env=s3_server.environment(self.server.url, SEXTANT_TEST_STORE=PLACE, CMOCKA_MESSAGE_OUTPUT="TAP"),
                )
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertNotIn("not ok", done.stdout)

    def test_a_wrong_key_is_named(self):
        done = self.bad(IO, "status 403", self.server.url, "list", "", env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        self.assertIn("SignatureDoesNotMatch", done.text)
        self.bad(IO, "status 403", self.server.url, "check", env={"AWS_ACCESS_KEY_ID": "nobody"})

    def test_a_missing_bucket_is_named(self):
        self.bad(IO, "no bucket named 'other'", self.server.url, "list", "", place="s3://other/x")
        self.bad(IO, "no bucket named 'other'", self.server.url, "check", place="s3://other/x")

    def test_errors_that_pass_are_survived(self):
        content = content_of(50000)
        path = self.file("object", content)
        faults = [("status", 503), ("refuse",), ("status", 500)]
        for command in ("put", "write"):
            proxy = self.proxy(lambda number, request: faults[number] if number < len(faults) else None)
            done = self.good(proxy.url, command, "a/b", path, place=self.prefix)
            self.assertEqual(done.figures["retries"], 3)
        for command in (("get", "a/b", "100000"), ("map", "a/b"), ("ranges", "a/b", "0:50000")):
            for fault in sextant.some((("status", 503), ("cut", 100), ("cut", 0), ("refuse",), ("slow", 20)), 6):
                proxy = self.proxy(lambda number, request, fault=fault:
                                   fault if request.method == "GET" and number < 3 else None)
                self.cache = self.folder / f"cache-{proxy.url[-5:]}"
                self.assertEqual(self.good(proxy.url, *command, place=self.prefix).out, content)
        proxy = self.proxy(lambda number, request: ("cut", 60) if number < 2 else None)
        done = self.good(proxy.url, "list", "", place=self.prefix)
        self.assertEqual(done.out.split()[:2], [b"a/b", b"50000"])
        self.assertEqual(done.figures["retries"], 2)

    def test_an_answer_that_is_lost_after_the_work_was_done_is_survived(self):
        path = self.file("object", b"text")
        proxy = self.proxy(lambda number, request: ("late",) if number == 0 else None)
        self.good(proxy.url, "put", "a", path, place=self.prefix)
        self.assertEqual(self.good(self.server.url, "get", "a", "10", place=self.prefix).out, b"text")
        proxy = self.proxy(lambda number, request: ("late",) if number == 0 else None)
        self.good(proxy.url, "remove", "a", place=self.prefix)
        self.bad(NOT_FOUND, "no object named 'a'", self.server.url, "get", "a", "10", place=self.prefix)

    def test_an_error_that_stays_is_reported_and_leaves_no_object(self):
        path = self.file("object", b"text")
        proxy = self.proxy(lambda number, request: ("status", 503) if request.method == "PUT" else None)
        done = self.bad(IO, "503", proxy.url, "put", "a", path, place=self.prefix)
        self.assertEqual(done.figures["writes"], 0)
        self.assertEqual(done.figures["errors"], 1)
        self.assertEqual(self.good(self.server.url, "list", "", place=self.prefix).out, b"")
        self.good(self.server.url, "put", "a", path, place=self.prefix)
        proxy = self.proxy(lambda number, request: ("cut", 2) if request.method == "GET" else None)
        for command in (("get", "a", "10"), ("map", "a"), ("ranges", "a", "0:4")):
            done = self.bad(IO, "", proxy.url, *command, place=self.prefix)
            self.assertEqual(done.out, b"")
        self.assertEqual(self.good(self.server.url, "map", "a", place=self.prefix).out, b"text")

    @sextant.only_with_everything
    def test_silence_ends_with_the_timeout(self):
        proxy = self.proxy(lambda number, request: ("silent",) if number == 0 else None)
        done = self.good(proxy.url, "list", "", place=self.prefix, options=("-t", "2"))
        self.assertGreaterEqual(done.figures["retries"], 1)
        proxy = self.proxy(lambda number, request: ("silent",))
        self.bad(IO, "cannot use the bucket bucket", proxy.url, "check", place=self.prefix, options=("-t", "1"))

    def test_an_answer_that_is_not_http_is_reported(self):
        proxy = self.proxy(lambda number, request: ("garbage",))
        self.bad(IO, "cannot use the bucket bucket", proxy.url, "list", "", place=self.prefix)

    def test_a_server_that_is_gone_is_reported(self):
        proxy = self.proxy(lambda number, request: None)
        proxy.close()
        self.bad(IO, "cannot use the bucket bucket", proxy.url, "check", place=self.prefix)

    @sextant.only_with_everything
    def test_a_large_object_goes_up_in_parts(self):
        content = content_of(1 << 20) * 70
        path = self.file("object", content)
        failed = []

        def fault(number, request):
            # One part fails once.
            if "partNumber=2" in request.query and not failed:
                failed.append(number)
                return ("status", 500)
            return None

        proxy = self.proxy(fault)
        done = self.good(proxy.url, "write", "large", path, place=self.prefix)
        self.assertEqual(done.figures["retries"], 1)
        self.assertEqual(sum("partNumber" in request.query for request in proxy.requests), 3)
        sizes = sorted({len(request.body) for request in proxy.requests if "partNumber" in request.query})
        self.assertEqual(sizes, [6 << 20, 64 << 20])
        for command in (("map", "large"), ("ranges", "large", f"0:{len(content)}")):
            out = self.good(self.server.url, *command, place=self.prefix).out
            self.assertEqual(hashlib.sha256(out).digest(), hashlib.sha256(content).digest())

    @sextant.only_with_everything
    def test_an_upload_in_parts_that_fails_is_aborted(self):
        path = self.file("object", bytes(65 << 20))
        proxy = self.proxy(lambda number, request: ("status", 500) if "partNumber=2" in request.query else None)
        self.bad(IO, "500", proxy.url, "put", "large", path, place=self.prefix)
        self.assertEqual(proxy.requests[-1].method, "DELETE")
        self.assertIn("uploadId=", proxy.requests[-1].query)
        self.assertEqual(self.good(self.server.url, "list", "", place=self.prefix).out, b"")

    @sextant.only_with_everything
    def test_parts_whose_last_answer_is_lost_are_there(self):
        path = self.file("object", bytes(65 << 20))
        lost = []

        def fault(number, request):
            if request.method == "POST" and request.query.startswith("uploadId=") and not lost:
                lost.append(number)
                return ("late",)
            return None

        proxy = self.proxy(fault)
        self.good(proxy.url, "put", "large", path, place=self.prefix)
        self.assertIn(f"large {65 << 20} ", self.good(self.server.url, "list", "", place=self.prefix).out.decode())

    def test_what_was_written_here_is_in_the_cache(self):
        path = self.file("object", content_of(3000))
        self.good(self.server.url, "write", "a", path, place=self.prefix)
        done = self.good(self.server.url, "map", "a", place=self.prefix)
        self.assertEqual((done.out, done.figures["cache_hits"]), (path.read_bytes(), 1))
        self.good(self.server.url, "remove", "a", place=self.prefix)
        self.bad(NOT_FOUND, "no object", self.server.url, "map", "a", place=self.prefix)

    def test_a_replaced_object_is_not_taken_from_the_cache(self):
        for content in (b"one", b"two"):
            self.good(self.server.url, "put", "a", self.file("object", content), place=self.prefix)
            self.assertEqual(self.good(self.server.url, "map", "a", place=self.prefix).out, content)

    def test_the_cache_keeps_its_limit(self):
        for name in ("a", "b", "c", "d"):
            self.good(self.server.url, "put", name, self.file("object", content_of(40000, name)), place=self.prefix)
        for name in ("a", "b", "c", "d"):
            done = self.good(self.server.url, "map", name, place=self.prefix, options=("-l", "100000"))
            self.assertEqual(done.out, content_of(40000, name))
            self.assertLessEqual(sum(path.stat().st_size for path in self.cache.glob("?" * 64)), 100000)

    def test_processes_that_are_killed_leave_whole_objects_and_a_whole_cache(self):
        acknowledged = set()
        for round_number in range(6 if sextant.EVERYTHING else 3):
            process = self.start(self.server.url, "fill", f"k/{round_number}/", "10000", "20000", place=self.prefix)
            line = process.stdout.readline()
            time.sleep(0.01 * (round_number + 1))
            process.send_signal(signal.SIGKILL)
            acknowledged.update((line + process.stdout.read()).decode().split("\n")[:-1])
            process.stdout.close()
            process.stderr.close()
            process.wait()
        listed = dict(line.split()[:2] for line in
                      self.good(self.server.url, "list", "k/", place=self.prefix).out.decode().splitlines())
        self.assertGreater(len(acknowledged), 2)
        self.assertLessEqual(acknowledged, set(listed))
        self.assertEqual(set(listed.values()), {"20000"})
        for key in sorted(listed)[::5]:
            out = self.good(self.server.url, "map", key, place=self.prefix).out
            self.assertEqual(out, out[:1] * 20000)
        self.good(self.server.url, "sweep", "0", place=self.prefix)
        self.assertEqual(list((self.cache / ".tmp").iterdir()), [])

    def test_https_needs_a_known_authority(self):
        if not sextant.shutil.which("openssl"):
            self.skipTest("openssl is missing")
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True)
        server = s3_server.Rclone(self.folder / "root", options=("--cert", str(certificate), "--key", str(key)))
        self.addCleanup(server.close)
        self.assertTrue(server.url.startswith("https://"))
        self.bad(IO, "certificate", server.url, "list", "")
        env = {"AWS_CA_BUNDLE": str(certificate)}
        self.good(server.url, "put", "a", self.file("object", b"text"), env=env)
        self.assertEqual(self.good(server.url, "map", "a", env=env).out, b"text")

    def test_one_object_is_opened_by_its_place(self):
        content = content_of(9000)
        done = self.good(self.server.url, "place", place="s3://bucket/free form/libstdc++.so.6 (1)")
        self.assertEqual(done.out, content)
        self.bad(NOT_FOUND, "no object", self.server.url, "place", place="s3://bucket/free form/other")


def listing(keys, token=None, words=()):
    objects = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in keys)
    prefixes = "".join(f"<CommonPrefixes><Prefix>{word}</Prefix></CommonPrefixes>" for word in words)
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return answer(200, f"<ListBucketResult>{objects}{prefixes}{more}</ListBucketResult>".encode())


class HostileServer(StoreTest):
    """A server that answers what the test says."""

    def serve(self, *answers):
        """Answers in turn; the last one from then on. An answer may be a function of the number and the request."""
        def reply(number, request):
            one = answers[min(number, len(answers) - 1)]
            return one(number, request) if callable(one) else one

        server = FakeS3(reply)
        self.addCleanup(server.close)
        return server

    def test_pages_of_a_listing_are_joined(self):
        server = self.serve(listing(["pre/fix/a", "pre/fix/a/b"], "t&amp;1/="), listing(["pre/fix/b"], "t2"),
                            listing([], "t3"), listing(["pre/fix/c"]))
        done = self.good(server.url, "list", "")
        self.assertEqual([line.split()[0] for line in done.out.splitlines()], [b"a", b"a/b", b"b", b"c"])
        self.assertEqual([request.query for request in server.requests][:2],
                         ["list-type=2&max-keys=1000&prefix=pre%2Ffix%2F",
                          "continuation-token=t%261%2F%3D&list-type=2&max-keys=1000&prefix=pre%2Ffix%2F"])

    def test_words_on_two_pages_are_reported_once(self):
        server = self.serve(listing(["pre/fix/a", "pre/fix/c"], "t", ["pre/fix/b/"]), listing([], None, ["pre/fix/c/"]))
        done = self.good(server.url, "words", "")
        self.assertEqual(done.out.split()[::3], [b"a", b"b/", b"c", b"c/"])
        server = self.serve(listing([], "t", ["pre/fix/b/"]), listing([], None, ["pre/fix/b/", "pre/fix/d/"]))
        self.assertEqual(self.good(server.url, "words", "").out.split()[::3], [b"b/", b"d/"])

    def test_keys_that_are_not_ours_are_not_shown(self):
        server = self.serve(listing(["other/a", "pre/fix", "pre/fix/", "pre/fix/../../etc/passwd", "pre/fix//x",
                                     "pre/fix/a b", "pre/fix/ok", "pre/fix/.tmp/x", "pre/fix/&#10;", "pre/fixed/a"]))
        self.assertEqual(self.good(server.url, "list", "").out.split()[::3], [b"ok"])
        server = self.serve(listing(["pre/fix/b/x", "pre/fix/a/x"]))
        self.assertEqual(self.good(server.url, "list", "a/").out.split()[::3], [b"a/x"])

    def test_a_listing_that_does_not_advance_is_refused(self):
        self.bad(FORMAT, "does not advance", self.serve(listing(["pre/fix/a"], "t")).url, "list", "")
        self.bad(FORMAT, "not in order", self.serve(listing(["pre/fix/b"], "t1"), listing(["pre/fix/a"])).url, "list", "")
        server = self.serve(lambda number, request: listing(["pre/fix/a"], f"t{number}"))
        self.bad(FORMAT, "does not advance", server.url, "list", "")

    def test_an_object_that_is_listed_twice_is_shown_once(self):
        server = self.serve(listing(["pre/fix/a", "pre/fix/b", "pre/fix/a"], "t"), listing(["pre/fix/b", "pre/fix/c"]))
        self.assertEqual(self.good(server.url, "list", "").out.split()[::3], [b"a", b"b", b"c"])

    def test_a_listing_that_is_not_one_is_refused(self):
        for body in (b"", b"<html></html>", b"<ListBucketResult>", b"{}", b"<!DOCTYPE a><ListBucketResult/>",
                     b"<ListBucketResult>" * 100, b"<ListBucketResult><Contents><Key>" + b"a" * 10000):
            self.bad(FORMAT, "", self.serve(answer(200, body)).url, "list", "")

    def test_an_endless_answer_is_cut_off(self):
        server = self.serve(answer(200, b"<ListBucketResult>" + b" " * (33 << 20)))
        self.bad(LIMIT, "larger than the limit", server.url, "list", "")
        server = self.serve(answer(200, b"x" * 11))
        self.bad(LIMIT, "larger than the limit of 10 bytes", server.url, "get", "a", "10")
        self.bad(LIMIT, "larger than the limit", server.url, "get", "a", "0")
        server = self.serve(answer(403, b"<Error><Code>" + b"x" * (3 << 20)))
        self.bad(IO, "status 403", server.url, "get", "a", "10")

    def test_an_answer_without_a_length_is_refused(self):
        def reply(number, request):
            return b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it"

        server = FakeS3(reply)
        server.handle = lambda connection: (s3_server.read_request(connection), connection.sendall(reply(0, None)))
        self.addCleanup(server.close)
        self.bad(FORMAT, "does not say how large", server.url, "get", "a", "100")

    def test_a_server_that_ignores_ranges_is_refused(self):
        server = self.serve(lambda number, request: answer(200, b"0123456789", head_only=request.method == "HEAD"))
        self.bad(IO, "more of 'a' than was asked for", server.url, "ranges", "a", "2:3")
        self.assertEqual(self.good(server.url, "ranges", "a", "0:10").out, b"0123456789")

    def test_a_server_that_sends_less_than_it_said_is_refused(self):
        server = self.serve(lambda number, request:
                            answer(200, length=100) if request.method == "HEAD" else answer(206, b"123"))
        self.bad(IO, "less of 'a' than was asked for", server.url, "ranges", "a", "0:10")
        self.bad(IO, "less of 'a' than was asked for", server.url, "map", "a")

    def test_sizes_that_are_none_are_refused(self):
        for length in ("-1", "x", "99999999999999999999", "18446744073709551615"):
            done = self.use(self.serve(answer(200, length=length)).url, "map", "a", options=("-a", "1"))
            self.assertEqual(done.status, 1)

    def test_a_wrong_clock_is_named(self):
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 7200))
        server = self.serve(error_answer(403, "RequestTimeTooSkewed", Date=date))
        done = self.bad(IO, "the clock of this machine is ", server.url, "list", "")
        self.assertRegex(done.text, r"is (7200|719\d) seconds behind$")
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() - 7200))
        server = self.serve(error_answer(403, "RequestTimeTooSkewed", Date=date))
        self.assertRegex(self.bad(IO, "", server.url, "list", "").text, r"is 72\d\d seconds ahead$")

    def test_a_bucket_in_another_region_is_named(self):
        server = self.serve(error_answer(301, "PermanentRedirect", x_amz_bucket_region="eu-west-3"))
        self.bad(IO, "is in region eu-west-3: set AWS_REGION", server.url, "list", "")
        self.bad(IO, "elsewhere (status 307)", self.serve(error_answer(307, "TemporaryRedirect")).url, "list", "")

    def test_a_full_bucket_is_a_limit(self):
        self.bad(LIMIT, "507", self.serve(error_answer(507, "InsufficientStorage")).url, "put", "a", self.file("x", b"1"))
        server = self.serve(error_answer(403, "QuotaExceeded"))
        self.bad(LIMIT, "QuotaExceeded", server.url, "put", "a", self.file("x", b"1"))

    def test_a_busy_server_is_asked_again_after_the_time_that_it_names(self):
        server = self.serve(error_answer(503, "SlowDown", Retry_After=1), listing(["pre/fix/a"]))
        began = time.monotonic()
        self.good(server.url, "list", "")
        self.assertGreater(time.monotonic() - began, 0.9)

    def test_not_every_404_means_that_an_object_is_missing(self):
        for body in (b"", b"not found", b"<Error><Code>NoSuchKey</Code></Error>", b"<Error><Code>NotFound</Code></Error>"):
            self.bad(NOT_FOUND, "no object named 'a'", self.serve(answer(404, body)).url, "get", "a", "9")
        for code in ("NoSuchUpload", "XAdminUserNotFound"):
            self.bad(IO, f"404 {code}", self.serve(error_answer(404, code)).url, "get", "a", "9")

    def test_an_error_of_ours_is_not_tried_again(self):
        for status in (400, 401, 403, 405, 409, 501):
            server = self.serve(error_answer(status, "Code", "the &lt;message&gt;&#10;two lines"))
            done = self.bad(IO, f"status {status} Code: the <message>?two lines", server.url, "list", "")
            self.assertEqual((len(server.requests), done.figures["retries"]), (1, 0))

    @sextant.only_with_everything
    def test_parts_that_cannot_be_put_together_are_reported(self):
        def reply(number, request):
            if request.query == "uploads=":
                return answer(200, b"<InitiateMultipartUploadResult><UploadId>a/b+c</UploadId>"
                                   b"</InitiateMultipartUploadResult>")
            if request.method == "PUT":
                return answer(200, ETag='"<&>"')
            if request.method == "POST":
                return error_answer(200, "InternalError")
            return answer(404)

        server = self.serve(reply)
        self.bad(IO, "cannot put 'a' together", server.url, "write", "a", self.file("x", bytes(65 << 20)))
        post = [request for request in server.requests if request.method == "POST"][-1]
        self.assertEqual(post.query, "uploadId=a%2Fb%2Bc")
        self.assertIn(b'<ETag>"&#60;&#38;&#62;"</ETag>', post.body)
        self.assertEqual(server.requests[-1].method, "DELETE")

    def test_a_replaced_object_is_an_error_when_it_is_opened_by_its_place(self):
        def reply(number, request):
            if request.method == "HEAD":
                return answer(200, length=10, ETag='"v1"')
            return answer(412) if request.headers.get("if-match") == '"v1"' else answer(206, b"0123456789")

        self.bad(IO, "was replaced while it was read", self.serve(reply).url, "place", place="s3://bucket/a")

    def test_keys_that_expired_are_read_again_from_their_file(self):
        credentials = self.folder / "credentials"

        def write(key):
            credentials.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = x\n"
                                   "aws_session_token = token\n")

        def reply(number, request):
            if "Credential=old/" in request.headers["authorization"]:
                write("new")
                return error_answer(400, "ExpiredToken")
            return listing(["pre/fix/a"])

        write("old")
        server = self.serve(reply)
        env = {"AWS_SHARED_CREDENTIALS_FILE": str(credentials), "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        self.good(server.url, "list", "", env=env)
        self.assertEqual(len(server.requests), 2)
        self.assertEqual(server.requests[1].headers["x-amz-security-token"], "token")
        self.assertIn("Credential=new/", server.requests[1].headers["authorization"])

    def test_a_request_has_what_s3_needs(self):
        server = self.serve(answer(200, ETag='"x"'))
        self.good(server.url, "put", "a=b/~c", self.file("x", b"text"))
        request = server.requests[0]
        self.assertEqual(request.target, "/bucket/pre/fix/a%3Db/~c")
        self.assertEqual(request.headers["host"], server.url.removeprefix("http://"))
        self.assertEqual(request.headers["x-amz-content-sha256"], hashlib.sha256(b"text").hexdigest())
        self.assertEqual(request.headers["content-length"], "4")
        self.assertNotIn("expect", request.headers)
        self.assertNotIn("transfer-encoding", request.headers)

    def test_places_and_keys_that_are_wrong_are_refused_without_a_request(self):
        server = self.serve(answer(200))
        for place in ("s3://", "s3:///x", "s3://a/../b", "s3://a/b//c", "s3://a/./b", "s3://a b/c", "s3://.a/b",
                      "s3://a/b\nc", "s3://a/" + "x" * 501):
            self.bad(USAGE, "", server.url, "list", "", place=place)
        self.bad(USAGE, "no credentials", server.url, "list", "", env={"AWS_ACCESS_KEY_ID": ""})
        self.bad(USAGE, "not an endpoint", "ftp://host", "list", "")
        self.assertEqual(server.requests, [])

    def test_a_check_asks_the_bucket(self):
        server = self.serve(listing([]))
        self.good(server.url, "check")
        self.assertEqual(len(server.requests), 1)
        server = self.serve(error_answer(503, "SlowDown"))
        self.bad(IO, "503", server.url, "check")
        self.assertEqual(len(server.requests), 1)


if __name__ == "__main__":
    tap.main()
