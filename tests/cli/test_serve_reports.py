"""Reports that a server keeps: uploading, replacing, listing, pages, comparing, tenants, names, damaged files."""

import gzip
import hashlib
import json
import pathlib
import re
import socket
import tempfile
import unittest

from support import mlyze_writer, sextant, tap
from support.s3_server import MemoryS3, environment
from support.service import Server, store_folder

PAGES = (sextant.ROOT / "web/dist/service.html").is_file()
KEYS = "all:key\nreader:key:read\nuploader:key:upload\nblue:key::blue\n"
HOSTILE = ["..", "../x", "a/../b", "%2e%2e", "%2e%2e/x", "a/%2e%2e/b", "", "a/", "a//b", ".hidden", "a/.b", "a%2f", "a b",
           "a%20b", "%C3%A9", "%F0%9F%92%A9", "a%5Cb", "a~b", "<script>", "a'b", "x" * 201, "x" * 300, "a%00b",
           "a%0ab"]  # fmt: skip


class Reports(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        small = "int main(void) { return 0; }\n"
        (place / "a.c").write_text(small)
        (place / "b.c").write_text(small + "int more(int x) { for (int i = 0; i < 9; i++) x = x * 3 + i; return x; }\n")
        for name in "ab":
            sextant.tool("gcc", "-g", "-Wl,--build-id", "-o", place / name, place / (name + ".c"))
            sextant.run("archive", place / name, "-o", place / (name + ".size"))
        sextant.run("diff", place / "a.size", place / "b.size", "-o", place / "d.sizediff")
        cls.elf = (place / "a").read_bytes()
        cls.a, cls.b, cls.diff = ((place / name).read_bytes() for name in ("a.size", "b.size", "d.sizediff"))
        cls.trace = mlyze_writer.example()

    def setUp(self):
        super().setUp()
        self.store = store_folder(self)

    def serve(self, *options, **keywords):
        server = Server(self.store, *options, **keywords)
        self.addCleanup(server.stop)
        return server

    def with_keys(self, *options):
        return self.serve("--api-key-file", self.file("keys", KEYS), *options)

    # --- keeping and giving ---

    def test_a_report_comes_back_as_it_was(self):
        server = self.serve()
        for name, data, kind in (("a.size", self.a, "size"), ("ci/main/diff", self.diff, "sizediff"),
                                 ("t", self.trace, "mlyze")):  # fmt: skip
            reply = server.put("/api/v1/reports/" + name, data)
            self.assertEqual(reply.status, 201, reply)
            about = reply.json
            self.assertEqual((about["name"], about["kind"], about["size"]), (name, kind, len(data)))
            self.assertEqual((about["sha256"], about["url"]), (hashlib.sha256(data).hexdigest(), "/reports/" + name))
            got = server.get("/api/v1/reports/" + name)
            self.assertEqual((got.status, got.body), (200, data))
            self.assertEqual(got.headers["ETag"], f'"{about["sha256"]}"')
            self.assertIn("attachment", got.headers["Content-Disposition"])
            self.assertEqual(got.headers["X-Content-Type-Options"], "nosniff")
        listed = server.get("/api/v1/reports").json
        self.assertEqual({item["name"] for item in listed["reports"]}, {"a.size", "ci/main/diff", "t"})
        self.assertIsNone(listed["next"])

    def test_bodies_may_be_compressed(self):
        server = self.serve()
        reply = server.put("/api/v1/reports/x", gzip.compress(self.trace), headers={"Content-Encoding": "gzip"})
        self.assertEqual(reply.status, 201, reply)
        self.assertEqual(server.get("/api/v1/reports/x").body, self.trace)
        # A size file is gzipped itself.
        reply = server.put("/api/v1/reports/y", gzip.compress(self.a), headers={"Content-Encoding": "gzip"})
        self.assertEqual(reply.status, 201, reply)
        self.assertEqual(server.get("/api/v1/reports/y").body, self.a)

    def test_the_newest_one_counts(self):
        server = self.serve()
        for status, data in ((201, self.a), (200, self.b), (200, self.b), (200, self.diff)):
            self.assertEqual(server.put("/api/v1/reports/x/y", data).status, status)
            self.assertEqual(server.get("/api/v1/reports/x/y").body, data)
        self.assertEqual([item["kind"] for item in server.get("/api/v1/reports").json["reports"]], ["sizediff"])
        # Nothing is left of the others.
        kept = [path for path in self.store.glob("t/-/report/**/*") if path.is_file()]
        self.assertEqual(len(kept), 1)
        self.assertLessEqual(len([path for path in self.store.glob("t/-/page/**/*") if path.is_file()]), 1)

    def test_pages_of_a_list(self):
        server = self.serve()
        names = sorted(["a", "a-b", "a.b", "a/b", "a/b/c", "a_b", "b/a", "z"])
        for name in names:
            self.assertEqual(server.put("/api/v1/reports/" + name, self.a).status, 201)
        found, after = [], ""
        while True:
            page = server.get(f"/api/v1/reports?limit=3&after={after}").json
            found += [item["name"] for item in page["reports"]]
            if page["next"] is None:
                break
            after = page["next"]
        self.assertEqual(sorted(found), names)
        self.assertEqual(len(found), len(names))
        searched = server.get("/api/v1/reports?search=A%2FB").json["reports"]
        self.assertEqual(sorted(item["name"] for item in searched), ["a/b", "a/b/c"])

    def test_removing(self):
        server = self.serve()
        server.put("/api/v1/reports/a", self.a)
        server.put("/api/v1/reports/a/b", self.b)
        self.assertEqual(server.request("DELETE", "/api/v1/reports/a").status, 200)
        self.assertEqual(server.request("DELETE", "/api/v1/reports/a").status, 404)
        reply = server.get("/api/v1/reports/a")
        self.assertEqual((reply.status, reply.code), (404, "3012"))
        self.assertEqual(server.get("/api/v1/reports/a/b").body, self.b)

    # --- who may ---

    def test_scopes(self):
        server = self.with_keys()
        path = "/api/v1/reports/x"
        for key, status in ((None, 401), ("all:wrong", 401), ("reader:key", 403), ("uploader:key", 201)):
            self.assertEqual(server.put(path, self.a, key=key).status, status, key)
        for where in (path, "/api/v1/reports"):
            for key, status in ((None, 401), ("uploader:key", 403), ("reader:key", 200)):
                self.assertEqual(server.get(where, key=key).status, status, key)
        for key, status in ((None, 401), ("reader:key", 403), ("uploader:key", 200)):
            self.assertEqual(server.request("DELETE", path, key=key).status, status, key)

    def test_tenants_do_not_see_each_other(self):
        server = self.with_keys("--public-read")
        self.assertEqual(server.put("/api/v1/reports/x", self.a, key="all:key").status, 201)
        self.assertEqual(server.get("/api/v1/reports/x", key="blue:key").status, 404)
        self.assertEqual(server.put("/api/v1/reports/x", self.b, key="blue:key").status, 201)
        self.assertEqual(server.get("/api/v1/reports/x", key="all:key").body, self.a)
        self.assertEqual(server.get("/api/v1/reports/x", key="blue:key").body, self.b)
        self.assertEqual(server.request("DELETE", "/api/v1/reports/x", key="blue:key").status, 200)
        self.assertEqual(server.get("/api/v1/reports/x").body, self.a)  # --public-read
        self.assertEqual(server.put("/api/v1/reports/x", self.a).status, 401)

    # --- what is refused ---

    def test_names_that_are_refused(self):
        server = self.serve()
        for name in HOSTILE:
            for method in ("PUT", "GET", "DELETE"):
                body = self.a if method == "PUT" else None
                reply = server.request(method, "/api/v1/reports/" + name.replace(" ", "%20"), body)
                self.assertEqual(reply.status, 400, f"{method} {name!r} {reply}")
            self.assertIn(server.get("/reports/" + name.replace(" ", "%20")).status, (400, 404), name)
        self.assertFalse([path for path in self.store.glob("t/**/*") if path.is_file()])
        self.assertEqual(server.put("/api/v1/reports/" + "x" * 200, self.a).status, 201)
        if PAGES:
            self.assertEqual(server.get(f"/reports/{'x' * 200}?before=../x").status, 400)

    def test_files_that_are_refused(self):
        server = self.serve()
        self.assertEqual(server.put("/api/v1/reports/x", self.a).status, 201)
        for data in (b"", b"text", self.elf, self.b[: len(self.b) // 2], self.diff[:-9], b"\0" * 1000,
                     gzip.compress(b"# not a size file"), self.trace[:20]):  # fmt: skip
            reply = server.put("/api/v1/reports/x", data)
            self.assertEqual((reply.status, reply.code), (400, "4014"), f"{data[:20]!r} {reply}")
            self.assertNotIn("/proc/", reply.json["error"]["Text"])
        text = server.put("/api/v1/reports/x", self.b[: len(self.b) // 2]).json["error"]["Text"]
        self.assertRegex(text, r"offset 0x[0-9a-f]+")
        self.assertEqual(server.get("/api/v1/reports/x").body, self.a)
        self.assertEqual(server.metric('sextant_upload_reports_total{outcome="stored"}'), 1)
        self.assertEqual(server.metric('sextant_upload_reports_total{outcome="refused"}'), 9)

    def test_limits(self):
        server = self.serve("--body-limit", "10000", "--inflate-limit", "1000000")
        self.assertEqual(server.put("/api/v1/reports/x", bytes(10001)).status, 413)
        bomb = gzip.compress(bytes(5_000_000))
        self.assertLess(len(bomb), 10000)
        self.assertEqual(server.put("/api/v1/reports/x", bomb, headers={"Content-Encoding": "gzip"}).status, 413)

    def test_a_server_that_is_killed_leaves_the_old_one(self):
        server = Server(self.store)
        self.assertEqual(server.put("/api/v1/reports/x", self.a).status, 201)
        with socket.create_connection((server.host, server.port)) as connection:
            head = f"PUT /api/v1/reports/x HTTP/1.1\r\nHost: x\r\nContent-Length: {len(self.b)}\r\n\r\n"
            connection.sendall(head.encode() + self.b[:-1])
            server.kill()
        again = self.serve()
        self.assertEqual(again.get("/api/v1/reports/x").body, self.a)
        self.assertEqual(again.put("/api/v1/reports/x", self.b).status, 200)
        self.assertEqual(again.get("/api/v1/reports/x").body, self.b)

    # --- looking after them ---

    def test_sweeping_and_verifying(self):
        server = self.serve()
        for name in ("a", "b/c"):
            server.put("/api/v1/reports/" + name, self.a)
        self.run_ok("store", "verify", "--store", self.store)
        self.run_ok("store", "gc", "--store", self.store)
        self.assertEqual(len(server.get("/api/v1/reports").json["reports"]), 2)
        self.age(self.store, "a", 3 * 86400)
        self.run_ok("store", "gc", "--store", self.store, "--retention", "2d")
        self.assertEqual([item["name"] for item in server.get("/api/v1/reports").json["reports"]], ["b/c"])
        damaged = next(path for path in self.store.glob("t/-/report/**/*") if path.is_file())
        damaged.write_bytes(b"something else")
        self.assertEqual(sextant.run("store", "verify", "--store", self.store).status, 1)

    @staticmethod
    def age(store, name, seconds):
        """Gives a report an earlier time."""
        path = next(path for path in (store / "t/-/report" / name).iterdir())
        time, rest = path.name.split("-", 1)
        path.rename(path.with_name(f"{int(time, 16) - seconds * 1_000_000:016x}-{rest}"))

    def test_a_report_that_was_replaced_is_swept(self):
        server = self.serve()
        server.put("/api/v1/reports/x", self.a)
        folder = self.store / "t/-/report/x"
        old = next(folder.iterdir())
        older = folder / f"{int(old.name[:16], 16) - 5:016x}{old.name[16:]}"
        older.write_bytes(self.a)
        self.assertEqual(len(server.get("/api/v1/reports").json["reports"]), 1)
        self.run_ok("store", "gc", "--store", self.store)
        self.assertEqual(list(folder.iterdir()), [old])

    # --- pages ---

    @unittest.skipUnless(PAGES, "built without pages")
    def test_pages(self):
        server = self.serve()
        for name, data in (("a", self.a), ("b", self.b), ("d", self.diff), ("t", self.trace)):
            server.put("/api/v1/reports/ci/" + name, data)
        for name in "abdt":
            reply = server.get("/reports/ci/" + name)
            self.assertEqual(reply.status, 200, name)
            self.assertTrue(reply.headers["Content-Type"].startswith("text/html"))
            self.assertEqual(about_of(reply)["name"], "ci/" + name)
            self.check_headers(reply)
            cached = server.get("/reports/ci/" + name, headers={"If-None-Match": reply.headers["ETag"]})
            self.assertEqual(cached.status, 304)
        self.assertEqual(server.get("/reports/ci/x").status, 404)

    def check_headers(self, reply):
        policy = reply.headers["Content-Security-Policy"]
        in_page = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]*)"', reply.body).group(1).decode()
        self.assertEqual(policy, in_page + "; frame-ancestors 'none'")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("connect-src", policy)
        self.assertEqual(reply.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(reply.headers["Referrer-Policy"], "no-referrer")

    @unittest.skipUnless(PAGES, "built without pages")
    def test_two_are_compared(self):
        server = self.serve()
        for name, data in (("a", self.a), ("b", self.b), ("d", self.diff), ("t", self.trace)):
            server.put("/api/v1/reports/" + name, data)
        reply = server.get("/reports/b?before=a")
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual((about_of(reply)["name"], about_of(reply)["before_name"]), ("b", "a"))
        self.assertEqual(server.get("/reports/t?before=t").status, 200)
        for query, status, code in (("b?before=t", 400, "4015"), ("d?before=d", 400, "4015"), ("b?before=x", 404, "3012")):
            reply = server.get("/reports/" + query)
            self.assertEqual((reply.status, reply.code), (status, code), query)
        # The page is kept, and made again for another content.
        pages = len(list((self.store / "t/-/page/b").iterdir()))
        self.assertEqual(server.get("/reports/b?before=a").status, 200)
        self.assertEqual(len(list((self.store / "t/-/page/b").iterdir())), pages)
        tag = server.get("/reports/b?before=a").headers["ETag"]
        server.put("/api/v1/reports/a", self.b)
        self.assertNotEqual(server.get("/reports/b?before=a").headers["ETag"], tag)

    @unittest.skipUnless(PAGES, "built without pages")
    def test_a_page_that_is_gone_is_made_again(self):
        server = self.serve()
        server.put("/api/v1/reports/a", self.a)
        before = server.get("/reports/a").body
        for path in (self.store / "t/-/page/a").iterdir():
            path.unlink()
        self.assertEqual(server.get("/reports/a").body, before)

    @unittest.skipIf(PAGES, "built with pages")
    def test_without_pages(self):
        server = self.serve()
        self.assertEqual(server.put("/api/v1/reports/a", self.a).status, 201)
        self.assertEqual(server.get("/api/v1/reports/a").body, self.a)
        for path in ("/", "/reports/a"):
            reply = server.get(path)
            self.assertEqual((reply.status, reply.code), (501, "3013"))
            self.assertIn("without pages", reply.json["error"]["Text"])
        self.assertEqual(server.put("/api/v1/reports/a", b"x").status, 400)

    def test_in_a_bucket(self):
        bucket = MemoryS3()
        self.addCleanup(bucket.close)
        self.store = "s3://bucket/p"
        server = self.serve("--cache", self.folder / "cache", env=environment(bucket.url))
        self.assertEqual(server.put("/api/v1/reports/ci/x", self.a).status, 201)
        self.assertEqual(server.put("/api/v1/reports/ci/x", self.b).status, 200)
        self.assertEqual(server.put("/api/v1/reports/ci/y", self.a).status, 201)
        self.assertEqual(server.get("/api/v1/reports/ci/x").body, self.b)
        self.assertEqual(len(server.get("/api/v1/reports").json["reports"]), 2)
        if PAGES:
            self.assertEqual(about_of(server.get("/reports/ci/x"))["name"], "ci/x")
            self.assertEqual(about_of(server.get("/reports/ci/x?before=ci/y"))["before_name"], "ci/y")
        self.assertEqual(server.request("DELETE", "/api/v1/reports/ci/x").status, 200)
        self.assertEqual([key for key in bucket.objects if "ci~x" in key], [])


def about_of(reply):
    """The data of a page."""
    data = re.search(rb'<script type="application/json" id="page">(.*?)</script>', reply.body, re.DOTALL)
    return json.loads(data.group(1))


if __name__ == "__main__":
    tap.main()
