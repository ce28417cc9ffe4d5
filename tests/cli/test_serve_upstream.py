"""`serve --upstream`: files that are missing come from debuginfod servers, and servers that fail do no harm."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import uuid

from support import otlp, sextant, tap
from support.debuginfod import FakeDebuginfod, wait_until
from support.service import Server, store_folder
from support.symbolizing import BASE, mapping_of

SOURCE = """#include <stdio.h>
static inline int read_one(int x) { return x * 3 + getchar(); }
int twice(int x) { return read_one(x) + read_one(x + 1); }
int main(int argc, char **argv) { (void)argv; return twice(argc); }
"""
DIRECT = {"no_proxy": "*", "NO_PROXY": "*"}  # a proxy of the machine is not asked
UNKNOWN = "nothing is known of this file"


class Upstream(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        sextant.need_tool("objcopy")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        (cls.place / "a.c").write_text(SOURCE)
        cls.full, cls.executable, cls.debug = (cls.place / name for name in ("full", "exe", "dbg"))
        cls.build_id = "0123456789abcdef0123456789abcdef01234567"
        sextant.tool("gcc", "-g", "-O2", f"-Wl,--build-id=0x{cls.build_id}", "-o", cls.full, cls.place / "a.c")
        sextant.tool("objcopy", "--only-keep-debug", cls.full, cls.debug)
        sextant.tool("objcopy", "--strip-all", cls.full, cls.executable)
        cls.file_id = json.loads(sextant.run("info", "--json", cls.executable).out)["file_id"]
        line = sextant.run("lookup", "--json", "--name", "twice", cls.full).json_lines()[0]
        cls.address = f"{int(line['address'], 16) + line['size'] // 2:#x}"
        (answer,) = sextant.run("lookup", "--json", cls.full, cls.address).json_lines()
        cls.wanted = [{key: frame[key] for key in ("function", "file", "line")} for frame in answer["frames"]]
        cls.both = {f"{cls.build_id}/debuginfo": cls.debug.read_bytes(),
                    f"{cls.build_id}/executable": cls.executable.read_bytes()}  # fmt: skip

    def serve(self, *upstreams, store=None, options=(), private=True):
        """A server that asks UPSTREAMS."""
        words = [word for upstream in upstreams for word in ("--upstream", getattr(upstream, "url", upstream))]
        server = Server(store or store_folder(self), *words, *(["--upstream-allow-private"] if private else []), *options,
                        env=DIRECT)  # fmt: skip
        self.addCleanup(server.stop)
        return server

    def question(self, id_=None, **more):
        return {"build_id": id_ or self.build_id, "addresses": [self.address], **more}

    def ask(self, server, id_=None, **more):
        return server.post("/api/symbolize", self.question(id_, **more))

    def assert_found(self, server, **more):
        reply = self.ask(server, **more)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply.json, {"frames": [self.wanted]})

    def assert_unknown(self, server, id_=None, reason=None):
        """An answer as without upstream servers, and why."""
        reply = self.ask(server, id_)
        self.assertEqual((reply.status, reply.code), (404, "3002"), reply)
        text = reply.json["error"]["Text"]
        self.assertTrue(text.startswith(UNKNOWN) and (reason is None or reason in text), text)

    def fetches(self, server, upstream, outcome):
        name = upstream.url if isinstance(upstream, FakeDebuginfod) else upstream
        return server.metric(f'sextant_upstream_fetches_total{{upstream="{name}",outcome="{outcome}"}}')

    # --- what is fetched ---

    def test_a_question_is_answered_from_an_upstream_server(self):
        for prefix in ("", "/some/where"):
            with self.subTest(prefix=prefix):
                fake = FakeDebuginfod(self, self.both, prefix=prefix)
                server = self.serve(fake.url + "/" * len(prefix[:1]))
                self.assert_found(server)
                self.assert_found(server, build_id=self.build_id.upper())
                self.assertEqual(sorted(fake.asked), sorted(self.both))
                self.assertEqual(self.fetches(server, fake, "found"), 2)
        # The executable has the segments, so offsets are answered, and its FileID is known.
        offset = self.ask(server, kind="file_offset")
        self.assertEqual(offset.json, {"frames": [self.wanted]})
        reply = server.post("/api/symbolize", {"file_id": self.file_id, "addresses": [self.address]})
        self.assertEqual(reply.json, {"frames": [self.wanted]})
        (file,) = server.get("/api/v1/files").json["files"]
        self.assertEqual((file["source"], file["missing"]), ("upstream", None))
        lines = [line for line in wait_until(lambda: [x for x in server.log() if "upstream" in x])]
        self.assertEqual({(line["outcome"], line["status"], line["upstream"]) for line in lines}, {("found", 200, fake.url)})

    def test_only_debug_info_or_only_an_executable(self):
        for files in ({f"{self.build_id}/debuginfo": self.full.read_bytes()},
                      {f"{self.build_id}/debuginfo": self.debug.read_bytes()},
                      {f"{self.build_id}/executable": self.full.read_bytes()}):  # fmt: skip
            server = self.serve(FakeDebuginfod(self, files))
            self.assert_found(server)
        stripped = FakeDebuginfod(self, {f"{self.build_id}/executable": self.executable.read_bytes()})
        server = self.serve(stripped)
        for _ in range(2):
            reply = self.ask(server)
            self.assertEqual((reply.status, reply.json["missing"]), (200, "the upstream servers do not have more"))
        self.assertEqual(len(stripped.asked), 2)

    def test_debug_info_of_a_stripped_file_that_is_here(self):
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake)
        self.assertEqual(server.put(f"/api/v1/files/{self.build_id}", self.executable.read_bytes()).status, 201)
        self.assertEqual(fake.asked, [])
        reply = server.post("/api/symbolize", {"file_id": self.file_id, "addresses": [self.address]})
        self.assertEqual(reply.json, {"frames": [self.wanted]})
        self.assertEqual(fake.asked, [f"{self.build_id}/debuginfo"])

    def test_only_build_ids_are_asked_for(self):
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake)
        for id_ in ("00" * 16, "ABEiM0RVZneImaq7zN3u_w", "ab" * 10 + "aA"):
            reply = server.post("/api/symbolize", {"file_id": id_, "addresses": ["0x1"]})
            self.assertEqual((reply.status, reply.json["error"]["Text"]), (404, UNKNOWN))
        self.assertEqual(fake.asked, [])
        # A build ID may have 16 bytes, like a FileID; and a client that knows one id only calls it "file_id".
        self.assert_unknown(server, "11" * 16)
        reply = server.post("/api/symbolize", {"file_id": self.build_id, "addresses": [self.address]})
        self.assertEqual(reply.json, {"frames": [self.wanted]})
        self.assertEqual(len(fake.asked), 4)

    def test_lists_do_not_fetch(self):
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake)
        for path in ("/api/v1/files", f"/api/v1/files/{self.build_id}", f"/api/v1/files/{self.build_id}/lidia",
                     f"/metadata?key=buildid&value={self.build_id}", "/ready", "/metrics"):  # fmt: skip
            server.get(path)
        server.post("/api/v1/have", {"files": [{"build_id": self.build_id}]})
        self.assertEqual(fake.asked, [])

    def test_several_files_at_once(self):
        ids = [f"{number:040x}" for number in range(1, 6)]
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake)
        questions = [self.question(id_) for id_ in (*ids[:2], self.build_id, *ids[2:])]
        files = server.post("/api/symbolize", {"files": questions}).json["files"]
        self.assertEqual(files[2], {"frames": [self.wanted]})
        self.assertTrue(all(file["frames"] is None and file["error"].startswith(UNKNOWN) for file in files[:2] + files[3:]))
        self.assertEqual(len(fake.asked), 12)
        self.assertEqual(server.metric('sextant_lookups_total{outcome="unknown_file"}'), 5)

    def test_mozillas_symbolication_api(self):
        offset, debug_id = int(self.address, 16), "67452301AB89EFCD0123456789ABCDEF0"
        others = [f"{number:040x}" for number in range(1, 4)]
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake)
        # A debug id has too little of the build ID to ask others; a whole build ID in its place is enough, and once the
        # file is there, its debug id is known.
        ids = [debug_id, *others, self.build_id]
        question = {"memoryMap": [["m", id_] for id_ in ids], "stacks": [[[number, offset] for number in range(len(ids))]]}
        (result,) = server.post("/symbolicate/v5", question).json["results"]
        self.assertEqual(list(result["found_modules"].values()), [True, False, False, False, True])
        self.assertEqual(len(fake.asked), 8)
        self.assertEqual(server.metric('sextant_lookups_total{outcome="unknown_file"}'), 3)
        self.assertEqual(server.metric('sextant_lookups_total{outcome="found"}'), 2)
        frame = result["stacks"][0][0]
        chain = [*frame.get("inlines", []), {key: frame[key] for key in ("function", "file", "line")}]
        self.assertEqual(chain, self.wanted)
        # What is known by its debug id, and lacks lines, is completed.
        server = self.serve(fake)
        self.assertEqual(server.put(f"/api/v1/files/{self.build_id}", self.executable.read_bytes()).status, 201)
        question = {"memoryMap": [["m", debug_id]], "stacks": [[[0, offset]]]}
        (result,) = server.post("/symbolicate/v5", question).json["results"]
        self.assertEqual({**result["stacks"][0][0], "frame": 0}, {**frame, "frame": 0})
        server = self.serve(fake)
        code = {"codeId": self.build_id, "debugId": debug_id, "startAddress": self.address, "size": "0x4"}
        reply = server.post("/asm/v1", code)
        self.assertEqual((reply.status, reply.json["arch"] != ""), (200, True), reply)

    def test_otlp_profiles(self):
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake)
        mapping = mapping_of(self.full)
        content = otlp.Message()
        content.mappings.append(otlp.Mapping(mapping.start, mapping.limit, mapping.offset, "a", {otlp.GNU: self.build_id}))
        content.mappings.append(otlp.Mapping(mapping.limit, mapping.limit + 4096, 0, "b", {otlp.GNU: "11" * 16}))
        content.locations.append(otlp.Location(1, BASE + int(self.address, 16)))
        content.locations.append(otlp.Location(2, mapping.limit + 16))
        content.stacks.append([1, 2])
        kind = {"Content-Type": "application/x-protobuf"}
        reply = server.post("/v1development/profiles", otlp.encode(content), headers=kind)
        self.assertEqual(reply.status, 200, reply)
        wanted = [(frame["function"], frame["file"], frame["line"]) for frame in self.wanted]
        self.assertEqual([otlp.decode(reply.body).frames(index) for index in (1, 2)], [wanted, []])
        self.assertEqual(sorted(fake.asked), sorted([*self.both, "11" * 16 + "/debuginfo", "11" * 16 + "/executable"]))

    def test_mozillas_questions(self):
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake)
        identity = uuid.UUID(bytes_le=bytes.fromhex(self.build_id)[:16]).hex.upper() + "0"
        job = {"memoryMap": [["a", identity], ["b", "11" * 16], ["c", "22" * 16 + "0"]],
               "stacks": [[[0, int(self.address, 16)], [1, 16], [2, 16]]]}  # fmt: skip
        # A debug id is a part of a build ID, so servers can be asked only if the store has the whole of it.
        frames = server.post("/symbolicate/v5", {"jobs": [job]}).json["results"][0]["stacks"][0]
        self.assertEqual((["function" in frame for frame in frames], fake.asked), ([False] * 3, []))
        self.assertEqual(server.put(f"/api/v1/files/{self.build_id}", self.executable.read_bytes()).status, 201)
        frames = server.post("/symbolicate/v5", {"jobs": [job]}).json["results"][0]["stacks"][0]
        self.assertEqual((frames[0]["function"], len(frames)), (self.wanted[-1]["function"], 3))
        self.assertEqual(fake.asked, [f"{self.build_id}/debuginfo"])
        self.assertEqual(server.metric('sextant_lookups_total{outcome="found"}'), 1)

    def test_debuginfod_paths(self):
        files = {**self.both, f"{self.build_id}/source/src/a%20b%C3%BC.c": b"int x;\n"}
        for path, wanted in (("debuginfo", self.debug.read_bytes()), ("executable", self.executable.read_bytes()),
                             ("source/src/a%20b%c3%bc.c", b"int x;\n"), ("section/.text", None),
                             ("source/other.c", b"")):  # fmt: skip
            with self.subTest(path=path):
                fake = FakeDebuginfod(self, files)
                server = self.serve(fake)
                for _ in range(2):
                    reply = server.get(f"/buildid/{self.build_id}/{path}")
                    self.assertEqual(reply.status, 404 if wanted == b"" else 200, reply)
                    if wanted:
                        self.assertEqual(reply.body, wanted)
                self.assertEqual(len(fake.asked), 2 if "section" in path else 1)

    # --- what is missing ---

    def test_what_is_missing_is_asked_for_once(self):
        store = store_folder(self)
        fakes = [FakeDebuginfod(self), FakeDebuginfod(self)]
        first, second = self.serve(*fakes, store=store), self.serve(*fakes, store=store)
        for server in (first, first, second, second):
            self.assert_unknown(server, reason="do not have")
        for fake in fakes:
            self.assertEqual(sorted(fake.asked), sorted(self.both))
        self.assertEqual(self.fetches(second, fakes[0], "missing"), 0)
        reply = second.get(f"/buildid/{self.build_id}/debuginfo")
        self.assertEqual((reply.status, reply.headers["Retry-After"]), (404, None))
        sextant.run("store", "verify", "--store", store)
        # An upload answers at once.
        self.assertEqual(second.put(f"/api/v1/files/{self.build_id}", self.full.read_bytes()).status, 201)
        self.assert_found(second)

    def test_what_is_missing_is_forgotten(self):
        fake = FakeDebuginfod(self)
        server = self.serve(fake, options=("--upstream-recheck", "1s"))
        self.assert_unknown(server)
        fake.files = self.both
        wait_until(lambda: self.ask(server).status == 200)
        self.assert_found(server)

    def test_several_servers_are_asked_in_order(self):
        empty, has, unasked = FakeDebuginfod(self), FakeDebuginfod(self, self.both), FakeDebuginfod(self, self.both)
        server = self.serve(empty, has, unasked)
        self.assert_found(server)
        self.assertEqual([len(fake.asked) for fake in (empty, has, unasked)], [2, 2, 0])

    # --- one fetch at a time ---

    def test_questions_for_one_file_wait_for_one_fetch(self):
        gate = threading.Event()

        def wait(_handler, _what):
            gate.wait(60)

        fake = FakeDebuginfod(self, self.both, wait)
        self.addCleanup(gate.set)
        server = self.serve(fake, options=("--workers", "2", "--upstream-wait", "60"))
        other = b"\x00" * 4
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            futures = [pool.submit(self.ask, server) for _ in range(20)]
            wait_until(lambda: server.metric("sextant_upstream_waiting") == 20)
            # No thread waits with them: everything else is answered meanwhile.
            self.assertEqual(server.put(f"/api/v1/files/{'00' * 20}", other).status, 400)
            self.assertEqual(server.get("/ready").status, 200)
            self.assertEqual(server.metric("sextant_upstream_fetching"), 2)
            gate.set()
            for future in futures:
                self.assertEqual(future.result().json, {"frames": [self.wanted]})
        self.assertEqual(sorted(fake.asked), sorted(self.both))
        self.assertEqual(server.metric("sextant_upstream_waiting"), 0)

    def test_a_tenant_gets_files_of_its_own(self):
        keys = self.file("keys", b"red:r::red\nblue:b::blue\nall:a\n")
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake, options=("--api-key-file", keys))
        for number, key in enumerate(("red:r", "blue:b", "all:a", "red:r"), 1):
            reply = server.post("/api/symbolize", self.question(), key=key)
            self.assertEqual(reply.json, {"frames": [self.wanted]})
            self.assertEqual(len(server.get("/api/v1/files", key=key).json["files"]), 1)
            self.assertEqual(len(fake.asked), 2 * min(number, 3))

    # --- servers that fail ---

    def test_slow_servers(self):
        gate = threading.Event()

        def wait(_handler, _what):
            gate.wait(60)

        fake = FakeDebuginfod(self, self.both, wait)
        self.addCleanup(gate.set)
        server = self.serve(fake, options=("--upstream-wait", "1"))
        self.assert_unknown(server, reason="not answered yet")
        reply = server.get(f"/buildid/{self.build_id}/debuginfo")
        self.assertEqual((reply.status, reply.headers["Retry-After"]), (404, "60"))
        # The fetch goes on, and the file is there for the next question.
        gate.set()
        wait_until(lambda: server.metric("sextant_upstream_fetching") == 0)
        self.assert_found(server)
        self.assertEqual(sorted(fake.asked), sorted(self.both))

    def test_a_fetch_has_a_time_limit(self):
        gate = threading.Event()

        def drip(handler, what):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000000")
            handler.end_headers()
            for byte in self.both[what][:100]:
                handler.wfile.write(bytes([byte]))
                if gate.wait(0.1):
                    break
            handler.close_connection = True
            return True

        fake = FakeDebuginfod(self, self.both, drip)
        self.addCleanup(gate.set)
        server = self.serve(fake, options=("--upstream-timeout", "1", "--upstream-wait", "60"))
        self.assert_unknown(server, reason="cannot be asked")
        self.assertEqual(self.fetches(server, fake, "failed"), 2)

    def test_answers_that_cannot_be_used(self):
        other, debug = self.place / "other", self.both[f"{self.build_id}/debuginfo"]
        sextant.tool("gcc", "-g", "-Wl,--build-id", "-o", other, self.place / "a.c")

        def cut(handler, _what):
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(debug)))
            handler.end_headers()
            handler.wfile.write(debug[: len(debug) // 2])
            handler.close_connection = True
            return True

        def cut_without_length(handler, _what):
            handler.send_response(200)
            handler.send_header("X-DEBUGINFOD-SIZE", str(len(debug)))
            handler.send_header("Connection", "close")
            handler.end_headers()
            handler.wfile.write(debug[:-1])
            return True

        def huge(handler, _what):
            handler.send_response(200)
            handler.send_header("Content-Length", str(1 << 40))
            handler.end_headers()
            handler.wfile.write(debug[:100])
            handler.close_connection = True
            return True

        def huge_without_length(handler, _what):
            handler.send_response(200)
            handler.send_header("Connection", "close")
            handler.end_headers()
            handler.wfile.write(debug + bytes(1 << 20))
            return True

        def give(body, status=200):
            return lambda handler, _what: FakeDebuginfod.send(handler, status, body)

        for name, behave, outcome in (
            ("cut off", cut, "failed"), ("cut off without a length", cut_without_length, "failed"),
            ("huge", huge, "unusable"), ("huge without a length", huge_without_length, "unusable"),
            ("wrong build ID", give(other.read_bytes()), "unusable"), ("garbage", give(b"<html>"), "unusable"),
            ("empty", give(b""), "unusable"), ("ELF garbage", give(b"\x7fELF" + bytes(5000)), "unusable"),
            ("half an ELF file", give(debug[:2000]), "unusable"), ("500", give(b"", 500), "failed"),
            ("204", give(b"", 204), "failed"), ("403", give(b"", 403), "failed"),
            ("404 later", lambda handler, _: FakeDebuginfod.send(handler, 404, Retry_After="5"), "undecided"),
        ):  # fmt: skip
            with self.subTest(name):
                fake = FakeDebuginfod(self, behave=behave)
                store = store_folder(self)
                server = self.serve(fake, store=store, options=("--upstream-limit", "1M"))
                self.assert_unknown(server, reason="cannot be")
                self.assertEqual(self.fetches(server, fake, outcome), 2)
                # The store has nothing of it: neither files nor a note that it is missing.
                self.assertEqual([path for path in store.rglob("*") if path.is_file()], [])
                # It is asked again later, and others are asked in place of it.
                if name not in ("cut off", "huge", "wrong build ID") and not sextant.EVERYTHING:
                    continue
                second = self.serve(fake, FakeDebuginfod(self, self.both), store=store, options=("--upstream-limit", "1M"))
                self.assert_found(second)

    def test_a_server_that_cannot_be_reached(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            closed = f"http://127.0.0.1:{unused.getsockname()[1]}"
            server = self.serve(closed)
            self.assert_unknown(server, reason="cannot be asked")
            self.assertEqual(self.fetches(server, closed, "failed"), 2)
            self.assertEqual(server.get("/ready").status, 200)

    def test_a_server_that_fails_is_left_alone_for_a_time(self):
        broken = [True]
        fake = FakeDebuginfod(self, self.both, lambda handler, _: broken[0] and FakeDebuginfod.send(handler, 500))
        server = self.serve(fake, options=("--upstream-pause", "3"))
        state = f'sextant_upstream_breaker{{upstream="{fake.url}"}}'
        self.assertEqual(server.metric(state), 0)
        for number in range(3):
            self.assert_unknown(server, f"{number:040x}", reason="cannot be asked")
        asked = len(fake.asked)  # the last two were asked for at the same time
        self.assertIn((server.metric(state), asked), ((1, 5), (1, 6)))
        for number in range(5):
            self.assert_unknown(server, f"{number:040x}", reason="cannot be asked")
        self.assertEqual(len(fake.asked), asked)
        # After the pause one request is let through; it fails, and the pause begins again.
        wait_until(lambda: self.ask(server, "77" * 20) and len(fake.asked) > asked)
        self.assertEqual(len(fake.asked), asked + 1)
        broken[0] = False
        wait_until(lambda: self.ask(server).status == 200)
        wait_until(lambda: self.ask(server).json == {"frames": [self.wanted]})
        self.assertEqual(server.metric(state), 0)

    # --- addresses ---

    def test_private_addresses_are_refused(self):
        fake = FakeDebuginfod(self, self.both)
        port = fake.url.rpartition(":")[2]
        for url in (fake.url, f"http://localhost:{port}", f"http://[::ffff:127.0.0.1]:{port}"):
            server = self.serve(url, private=False)
            self.assert_unknown(server, reason="cannot be asked")
            (line, *_) = wait_until(lambda server=server: [x for x in server.log() if "upstream" in x])
            self.assertEqual((line["level"], line["outcome"]), ("warning", "failed"))
            self.assertIn("private address", line["text"])
        self.assertEqual(fake.asked, [])

    def test_redirects(self):
        inside = FakeDebuginfod(self, self.both)

        def redirect(status, place):
            return lambda handler, what: FakeDebuginfod.send(handler, status, b"there", Location=place.replace("*", what))

        for status in (301, 302, 303, 307, 308) if sextant.EVERYTHING else (302, 308):
            fake = FakeDebuginfod(self, behave=redirect(status, inside.url + "/buildid/*"))
            # One that the operator named may be private, others may not.
            server = self.serve(fake)
            self.assert_unknown(server, reason="cannot be asked")
            self.assertEqual((len(fake.asked), inside.asked), (2, []))
        server = self.serve(fake, inside)
        self.assert_found(server)
        self.assertEqual(sorted(inside.asked), sorted(self.both))

        def within(handler, what):
            if not what.startswith("/moved/"):
                return FakeDebuginfod.send(handler, 302, Location=f"/moved/{what}")
            return FakeDebuginfod.send(handler, 200, self.both[what.removeprefix("/moved/")])

        self.assert_found(self.serve(FakeDebuginfod(self, behave=within)))
        for place in ("nowhere", "file:///etc/passwd", "/buildid/*"):
            with self.subTest(place=place):
                fake = FakeDebuginfod(self, behave=redirect(302, place))
                self.assert_unknown(self.serve(fake), reason="cannot be asked")
                self.assertLessEqual(len(fake.asked), 12)

    def test_urls(self):
        for url in ("ftp://x/", "x", "http://", "http:///x", "https://x/?a=b", "http://x y/", "http://x/#a", ""):
            result = sextant.run("serve", "--store", self.folder / "s", "--listen", "127.0.0.1:0", "--upstream", url)
            self.assertEqual(result.status, 2, (url, result))
            self.assertIn("not the URL of a debuginfod server", result.err)
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake.url.replace("//", "//me:secret@"))
        self.assert_found(server)
        server.get("/metrics")
        self.assertNotIn("secret", server.get("/metrics").body.decode() + server.log_text())
        self.assertTrue(fake.headers[0]["Authorization"].startswith("Basic "))

    # --- servers that ask each other ---

    def test_a_chain_of_servers(self):
        fake = FakeDebuginfod(self, self.both)
        last = self.serve(fake)
        middle = self.serve(last.url)
        first = self.serve(middle.url)
        self.assert_found(first)
        self.assertEqual(sorted(fake.asked), sorted(self.both))
        for headers in fake.headers:
            self.assertEqual((headers["User-Agent"].count(" via/"), headers["X-Forwarded-For"].count("unknown")), (3, 3))
        for server in (first, middle, last):
            self.assertEqual(len(server.get("/api/v1/files").json["files"]), 1)

    def test_servers_that_ask_each_other_in_a_circle(self):
        with socket.socket() as one, socket.socket() as two:
            for holder in (one, two):
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                holder.bind(("127.0.0.1", 0))
            ports = [holder.getsockname()[1] for holder in (one, two)]
        servers = [
            Server(store_folder(self), "--upstream", f"http://127.0.0.1:{there}", "--upstream-allow-private",
                   "--upstream-wait", "2", listen=f"127.0.0.1:{here}", env=DIRECT) for here, there in (ports, ports[::-1])
        ]  # fmt: skip
        for server in servers:
            self.addCleanup(server.stop)
        self.assert_unknown(servers[0], reason="do not have")
        metric = 'sextant_requests_total{route="debuginfo",status="404"}'
        self.assertEqual([server.metric(metric) for server in servers], [1, 1])
        # Both at the same moment: neither waits for the other for long.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for reply in pool.map(lambda server: self.ask(server, "55" * 20), servers):
                self.assertEqual(reply.status, 404)

    def test_requests_that_have_come_far_are_not_passed_on(self):
        fake = FakeDebuginfod(self, self.both)
        server = self.serve(fake)
        for headers in ({"X-Forwarded-For": ", ".join(["10.0.0.1"] * 8)}, {"User-Agent": "x" + " via/0" * 8}):
            reply = server.get(f"/buildid/{self.build_id}/debuginfo", headers=headers)
            self.assertEqual(reply.status, 404)
        self.assertEqual(fake.asked, [])
        reply = server.get(f"/buildid/{self.build_id}/debuginfo", headers={"X-Forwarded-For": "10.0.0.1, 10.0.0.2"})
        self.assertEqual(reply.body, self.debug.read_bytes())

    # --- the end ---

    def test_ending_does_not_wait_for_fetches(self):
        gate = threading.Event()

        def wait(_handler, _what):
            gate.wait(60)

        fake = FakeDebuginfod(self, self.both, wait)
        self.addCleanup(gate.set)
        server = self.serve(fake, options=("--upstream-wait", "600", "--upstream-timeout", "600", "--drain", "600"))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            future = pool.submit(self.ask, server)
            wait_until(lambda: server.metric("sextant_upstream_waiting") == 1)
            server.signal(signal.SIGTERM)
            self.assertEqual(future.result().status, 404)
        server.stop()

    # --- debuginfod itself ---

    def test_debians_debuginfod(self):
        sextant.need_tool("debuginfod")
        place = self.folder / "files"
        place.mkdir()
        for file in (self.executable, self.debug):
            shutil.copy(file, place)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = open(self.folder / "log", "wb")  # pylint: disable=consider-using-with
        self.addCleanup(log.close)
        environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["debuginfod", "-F", "-p", str(port), "-d", str(self.folder / "index"), "-vv", place],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**environment, "HOME": str(self.folder)})  # fmt: skip
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        url = f"http://127.0.0.1:{port}"
        indexed = b"thread_work_pending{role=\"scan\"} 0"

        def has_scanned():
            self.assertIsNone(process.poll(), (self.folder / "log").read_text(errors="replace"))
            try:
                with socket.create_connection(("127.0.0.1", port), 60) as connection:
                    connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                    text = b"".join(iter(lambda: connection.recv(65536), b""))
            except OSError:
                return False
            return indexed in text and b'scanned_files_total{source="file"} 2' in text

        wait_until(has_scanned)
        server = self.serve(url)
        self.assert_found(server)
        self.assertEqual(self.fetches(server, url, "found"), 2)
        self.assert_unknown(server, "66" * 20, reason="do not have")
        source = server.get(f"/buildid/{self.build_id}/source{self.place}/a.c")
        self.assertEqual((source.status, source.body), (200, SOURCE.encode()))


if __name__ == "__main__":
    tap.main()
