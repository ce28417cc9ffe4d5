"""Clients that do what they should not: each gets the right status, and others are answered meanwhile."""

import gzip
import io
import json
import re
import resource
import select
import shutil
import socket
import subprocess
import time
import unittest
import zlib

from support import sextant, tap
from support.service import WAIT, Server, read_reply, status_of
from test_serve_upload import ranges

UPLOAD = b"FileID: " + b"0" * 32 + b"\r\nFilePart: 0\r\nFileParts: 1\r\n"


class HostileTest(sextant.ProgramTest):
    def serve(self, *options, **keywords):
        server = Server(self.folder / "store", *options, **keywords)
        self.addCleanup(server.stop)
        return server

    def assert_status(self, server, request, status):
        reply = server.raw(request)
        self.assertEqual(status_of(reply), status, f"{request[:200]!r}\n{reply[:500]!r}")
        return reply

    def assert_alive(self, server):
        self.assertEqual(server.get("/healthz").status, 200)

    def assert_memory(self, server, most):
        """At most MOST MB are in memory; a sanitizer has its own ideas of that."""
        memory = resident(server)
        if not sextant.SANITIZED:
            self.assertLess(memory, most << 20)


class Framing(HostileTest):
    def test_refuses_messages_whose_end_is_in_doubt(self):
        server = self.serve()
        head = b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\n" + UPLOAD
        for headers in (
            b"Content-Length: 3\r\nContent-Length: 3\r\n",
            b"Content-Length: 3\r\ncontent-length: 4\r\n",
            b"Content-Length: 3, 3\r\n",
            b"Content-Length: +3\r\n",
            b"Content-Length: -3\r\n",
            b"Content-Length: 0x3\r\n",
            b"Content-Length: 3 3\r\n",
            b"Content-Length:\r\n",
            b"Content-Length : 3\r\n",
            b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: gzip, chunked\r\n",
            b"Transfer-Encoding: identity\r\n",
            b"Transfer-Encoding: xchunked\r\n",
            b"Transfer-Encoding : chunked\r\nContent-Length: 3\r\n",
        ):
            reply = self.assert_status(server, head + headers + b"\r\nabc", 400)
            self.assertIn(b"close", reply.lower().partition(b"\r\n\r\n")[0], headers)
        self.assert_alive(server)

    def test_refuses_headers_that_are_there_twice(self):
        server = self.serve()
        for name, value in ((b"FileID", b"0" * 32), (b"FilePart", b"0"), (b"FileParts", b"1"), (b"Authorization", b"x")):
            twice = name + b": " + value + b"\r\n"
            request = b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n" + UPLOAD + twice
            if name == b"Authorization":
                request += twice.lower()
            self.assert_status(server, request + b"\r\nx", 400)
        self.assert_status(server, b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400)
        self.assert_status(server, b"GET /healthz HTTP/1.1\r\nHost: a\r\nAccept: a\r\nAccept: b\r\n\r\n", 200)

    def test_needs_a_length_for_parts(self):
        server = self.serve()
        head = b"POST /api/symbols-returnpads HTTP/1.1\r\nHost: a\r\n" + UPLOAD
        self.assert_status(server, head + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 411)
        self.assert_status(server, head + b"\r\n", 411)

    def test_takes_chunked_files(self):
        """PUT needs no length; the limits hold all the same."""
        sextant.need_tool("gcc")
        source, binary = self.file("a.c", "int main(void) { return 0; }\n"), self.folder / "a"
        sextant.tool("gcc", "-Wl,--build-id", "-o", binary, source)
        build_id = json.loads(sextant.run("info", "--json", binary).out)["build_id"]
        server = self.serve("--body-limit", "100k")
        content = binary.read_bytes()
        for body, encoding in ((content, "identity"), (gzip.compress(content), "gzip")):
            pieces = [body[at:at + 1000] for at in range(0, len(body), 1000)]
            reply = server.put(f"/api/v1/files/{build_id}", iter(pieces), headers={"Content-Encoding": encoding})
            self.assertIn(reply.status, (200, 201), reply)
        head = f"PUT /api/v1/files/{build_id} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n".encode()
        endless = b"10000\r\n" + bytes(65536) + b"\r\n"
        reply = self.send_all(server, head + b"\r\n" + b"7f\r\n\x7fELF" + bytes(123) + b"\r\n" + endless * 40)
        self.assertEqual(status_of(reply), 413, reply[:300])
        self.assert_status(server, head + b"Content-Length: 5\r\n\r\n0\r\n\r\n", 400)
        for cut in (b"5\r\nab", b"zz\r\n", b"-1\r\n\r\n", b"ffffffffffffffffff\r\n"):
            with server.open_socket() as connection:
                connection.sendall(head + b"\r\n" + cut)
                connection.shutdown(socket.SHUT_WR)
                self.assertIn(status_of(read_reply(connection)), (None, 400, 413), cut)
        self.assert_alive(server)

    def test_refuses_large_bodies_before_they_are_sent(self):
        server = self.serve("--body-limit", "1000")
        head = b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\n" + UPLOAD
        reply = self.assert_status(server, head + b"Content-Length: 1001\r\n\r\n", 413)
        self.assertIn(b'"Code":"3004"', reply)
        self.assert_status(server, head + b"Content-Length: 99999999999999999999999\r\n\r\n", 413)
        self.assert_status(server, head + b"Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n", 413)
        # A client that sends all the same gets the reply, not a reset.
        refused = server.post("/api/symbols-ranges", bytes(8 << 20), headers={"FileID": "0" * 32})
        self.assertEqual(refused.status, 413)

    def test_lets_clients_go_on(self):
        server = self.serve()
        with server.open_socket() as connection:
            connection.sendall(b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n"
                               b"Expect: 100-continue\r\n" + UPLOAD + b"\r\n")
            self.assertEqual(connection.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(b"symbfile")
            reply = read_reply(connection)
        self.assertEqual(status_of(reply), 400)
        self.assertIn(b'"Code":"4005"', reply)

    def test_refuses_a_body_in_its_middle(self):
        """The rest of a body is not waited for, when its beginning is wrong."""
        server = self.serve()
        with server.open_socket() as connection:
            connection.sendall(b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n"
                               + UPLOAD + b"\r\n")
            try:
                for _ in range(64):
                    connection.sendall(b"not a symbfile! " * 4096)
            except (BrokenPipeError, ConnectionResetError):
                pass
            reply = read_reply(connection)
        self.assertEqual(status_of(reply), 400, reply)
        self.assertIn(b'"Code":"4005"', reply)
        self.assert_alive(server)

    def test_survives_garbage(self):
        server = self.serve("--timeout", "1")
        garbage = (
            b"\0" * 1000, b"\xff" * 1000, b"\r\n" * 500, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n", b" / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET http://other/healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
            b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        )
        sockets = [server.open_socket() for _ in garbage]
        for connection, data in zip(sockets, garbage):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        self.assert_alive(server)
        for connection, data in zip(sockets, garbage):
            self.assertIn(status_of(read_reply(connection)), (None, 400, 404, 411, 505), data)
            connection.close()
        self.assert_alive(server)

    def test_refuses_huge_headers(self):
        server = self.serve()
        for request in (
            b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(100)) + b"\r\n",
        ):
            self.assertIn(status_of(self.send_all(server, request)), (431, 413), request[:60])
        self.assertIn(status_of(self.send_all(server, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n")), (414,))
        self.assert_alive(server)

    def send_all(self, server, request):
        """Sends what the server takes of a request, and returns its reply."""
        with server.open_socket() as connection:
            try:
                connection.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return read_reply(connection)

    def test_answers_pipelined_requests(self):
        server = self.serve()
        with server.open_socket() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 10 + b"GET /live HTTP/1.1\r\nHost: a\r\n"
                               b"Connection: close\r\n\r\n")
            data = b""
            while more := connection.recv(65536):
                data += more
        self.assertEqual(data.count(b"HTTP/1.1 200"), 11)


class Bodies(HostileTest):
    HEADERS = {"FileID": "0" * 32, "FilePart": "0", "FileParts": "1"}

    def upload(self, server, body, encoding):
        return server.post("/api/symbols-ranges", body, headers={**self.HEADERS, "Content-Encoding": encoding})

    def test_refuses_unknown_encodings(self):
        server = self.serve()
        for encoding in ("br", "deflate", "gzip, gzip", "gzip;q=1", "*"):
            refused = self.upload(server, b"x", encoding)
            self.assertEqual((refused.status, refused.code), (415, "3006"), encoding)

    def test_refuses_damaged_encodings(self):
        server = self.serve()
        packed = gzip.compress(b"symbfile\0\1")
        for body in (packed[:-1], packed[:5], b"plain", packed + b"rest", packed[:-6] + b"\0\0" + packed[-4:]):
            refused = self.upload(server, body, "gzip")
            self.assertEqual((refused.status, refused.code), (400, "4006"), body)
        refused = self.upload(server, b"plain", "zstd")
        self.assertEqual((refused.status, refused.code), (400, "4006"))

    def bomb(self, size):
        """A symbfile of SIZE bytes and more, in a thousandth of that: messages of an unknown type."""
        message = b"\x80\x80\x40\x7f" + bytes(1 << 20)
        out = io.BytesIO()
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as packed:
            packed.write(b"symbfile\0\1")
            for _ in range(size >> 20):
                packed.write(message)
        return out.getvalue()

    def test_limits_what_a_body_expands_to(self):
        server = self.serve("--inflate-limit", "20M")
        self.assertEqual(self.upload(server, self.bomb(10 << 20), "gzip").status, 200)
        refused = self.upload(server, self.bomb(30 << 20), "gzip")
        self.assertEqual((refused.status, refused.code), (413, "3005"))
        if shutil.which("zstd"):
            packed = subprocess.run(["zstd", "-1", "-c"], input=zlib.decompress(self.bomb(30 << 20), 31),
                                    capture_output=True, check=True).stdout
            refused = self.upload(server, packed, "zstd")
            self.assertEqual((refused.status, refused.code), (413, "3005"))
        # Nothing is left of them.
        self.assertEqual([path for path in (self.folder / "store").rglob("*") if path.is_file()
                          and path.stat().st_size > 15 << 20], [])

    def test_limits_the_windows_of_zstd(self):
        server = self.serve("--memory-limit", "300M")
        for log in (28, 31, 41):
            refused = self.upload(server, zstd_frame(log, b"symbfile\0\1"), "zstd")
            self.assertEqual((refused.status, refused.code), (400, "4006"), log)
        # A window of 128 MiB is taken while there is memory for it: clients that do not end fill two of them.
        bomb = zstd_frame(27, b"symbfile\0\1", *[b"\x80\x80\x40\x7f", *[1 << 17] * 8] * 200)
        self.assertEqual(self.upload(server, bomb, "zstd").status, 200)
        head = b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Encoding: zstd\r\n" + UPLOAD
        crowd = [server.open_socket() for _ in range(6)]
        for connection in crowd:
            self.addCleanup(connection.close)
            connection.sendall(head + b"Content-Length: 1000000\r\n\r\n" + bomb + zstd_frame(20, bytes(300_000)))
        ready = select.select(crowd, [], [], WAIT)[0]
        self.assertTrue(ready)
        reply = read_reply(ready[0])
        self.assertEqual(status_of(reply), 503, reply)
        self.assertIn(b'"Code":"1003"', reply)
        self.assert_memory(server, 500)
        self.assert_alive(server)


def zstd_frame(window_log, *blocks):
    """A frame of zstd. A block is bytes, or the length of a run of zeros."""
    out = b"\x28\xb5\x2f\xfd\x00" + bytes([(window_log - 10) << 3])
    for i, block in enumerate(blocks):
        is_last = i == len(blocks) - 1
        if isinstance(block, int):
            out += (block << 3 | 1 << 1 | is_last).to_bytes(3, "little") + b"\0"
            continue
        for start in range(0, len(block), 1 << 17):
            piece = block[start:start + (1 << 17)]
            ends = is_last and start + len(piece) == len(block)
            out += (len(piece) << 3 | ends).to_bytes(3, "little") + piece
    return out


def resident(server):
    """The bytes of the server that are in memory."""
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        return [int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS")][0]


class Ids(HostileTest):
    TRICKS = (
        "..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e", "..%5c..", "a%2fb", "%2f", "%00", "a%00", "0" * 31,
        "00%2e%2e", "%252e%252e", "%c0%ae%c0%ae", "%uff0e", "%", "%2", "f." + "0" * 32, "b.%2e%2e%2f", "~root", "-", "=x",
        "0" * 32 + "%20", "%20" + "0" * 32, "0" * 32 + "%0d%0a", "0x" + "0" * 32, "g" * 32, "a" * 129, "ab" * 300,
        "ab" * 4000, "+", "0" * 32 + ";x=1", "0" * 32 + "%3f", "\x7f", "%ff" * 16, "", ".", "./" + "0" * 32,
    )
    ROUTES = (
        ("GET", "/api/v1/files/{}"), ("GET", "/api/v1/files/{}/lidia"), ("PUT", "/api/v1/files/{}"),
        ("PUT", "/api/v1/files/{}/source/a.c"), ("GET", "/buildid/{}/debuginfo"), ("GET", "/buildid/{}/executable"),
        ("GET", "/buildid/{}/section/.text"), ("GET", "/buildid/{}/source/a.c"),
    )  # fmt: skip

    def test_with_tricks_are_refused(self):
        server = self.serve()
        for method, route in self.ROUTES:
            # A connection for each route: a refusal does not close it, unless there is a body.
            for trick in self.TRICKS:
                request = f"{method} {route.format(trick)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                request += "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" if method == "PUT" else "\r\n"
                reply = server.raw(request.encode("latin-1"))
                self.assertIn(status_of(reply), (400, 404, 405), (method, route, trick, reply))
                self.assertIn(b'"success":false', reply, (method, route, trick))
        self.assert_untouched(server)

    def test_in_questions_with_tricks_are_refused(self):
        server = self.serve()
        for trick in self.TRICKS:
            for name, code in (("file_id", "4000"), ("build_id", "4001")):
                if name == "build_id" and trick == "a" * 129:
                    continue
                reply = server.post("/api/symbolize", {name: trick, "addresses": ["0x1"]})
                self.assertEqual((reply.status, reply.code), (400, code), (name, trick))
            headers = {"FileID": trick.encode("latin-1"), "FilePart": "0", "FileParts": "1"}
            if trick.isprintable() and len(trick) < 2000:
                reply = server.post("/api/symbols-ranges", b"symbfile\0\1", headers=headers)
                self.assertEqual((reply.status, reply.code), (400, "4000"), trick)
        self.assert_untouched(server)

    def test_of_sources_with_tricks_name_no_file(self):
        """The path of a source is data: it is not a path in the store, whatever it is."""
        server = self.serve()
        build_id = "ab" * 20
        for path in ("../../../../tmp/x", "%2e%2e/%2e%2e/x", "/etc/passwd", "a/../../b", "..", "%2fetc%2fpasswd", "a//b",
                     "%c0%ae%c0%ae/x", "a" * 5000):
            stored = server.put(f"/api/v1/files/{build_id}/source/{path}", b"text")
            self.assertIn(stored.status, (200, 201, 400, 404), path)
            got = server.get(f"/buildid/{build_id}/source/{path}")
            self.assertIn((got.status, got.body if got.status == 200 else b""), ((200, b"text"), (400, b""), (404, b"")),
                          path)
        names = {path.name for path in self.folder.rglob("*")}
        self.assertFalse(names & {"x", "b", "passwd"}, names)
        self.assert_alive(server)

    def assert_untouched(self, server):
        """Nothing was stored, and nothing is beside the store."""
        self.assertEqual([path for path in self.folder.rglob("*") if path.is_file()], [])
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"store"})
        self.assert_alive(server)


class OtherTenants(HostileTest):
    """For everybody else, the files of a tenant do not exist: each reply is that for an unknown file but for the uuid."""

    READS = ("/api/v1/files/{}", "/api/v1/files/{}/lidia", "/api/v1/files/{}/symbfile", "/api/v1/files/{}/returnpads",
             "/buildid/{}/debuginfo", "/buildid/{}/executable", "/buildid/{}/section/.text", "/buildid/{}/source/a.c",
             "/buildid/{}/source//src/a.c", "/metadata?key=buildid&value={}")  # fmt: skip

    def setUp(self):
        super().setUp()
        sextant.need_tool("gcc")
        source, self.binary = self.file("a.c", "int main(void) { return 0; }\n"), self.folder / "a"
        sextant.tool("gcc", "-g", "-Wl,--build-id", "-o", self.binary, source)
        self.build_id = json.loads(sextant.run("info", "--json", self.binary).out)["build_id"]
        self.server = self.serve("--public-read", "--api-key-file", self.file("keys", "a:1::one\nb:2::two\nc:3\nd:4:read\n"))
        self.assertEqual(self.put("a:1").status, 201)

    def put(self, key):
        return self.server.put(f"/api/v1/files/{self.build_id}", self.binary.read_bytes(), key=key)

    def plain(self, reply, id_):
        """A reply without what may differ: the uuid, the date, and the id that was asked for."""
        body = re.sub(rb'"uuid":"[^"]*"', b"", reply.body).replace(id_.encode(), b"ID")
        headers = sorted((name, value) for name, value in reply.headers.items() if name not in ("Date", "Content-Length"))
        return reply.status, headers, body

    def assert_same(self, ask, key):
        unknown = "00" * 20
        self.assertEqual(self.plain(ask(self.build_id, key), self.build_id), self.plain(ask(unknown, key), unknown))

    def test_see_nothing(self):
        for key in ("b:2", "c:3", "d:4", None):
            for path in self.READS:
                self.assert_same(lambda id_, key, path=path: self.server.get(path.format(id_), key=key), key)
                self.assert_same(lambda id_, key, path=path: self.server.request("HEAD", path.format(id_), key=key), key)
            for name in ("file_id", "build_id"):
                self.assert_same(lambda id_, key, name=name: self.server.post(
                    "/api/symbolize", {name: id_, "addresses": ["0x1000"]}, key=key), key)
            self.assert_same(lambda id_, key: self.server.post(
                "/api/symbolize", {"files": [{"build_id": id_, "addresses": ["0x1000"]}]}, key=key), key)
            self.assert_same(lambda id_, key: self.server.post(
                "/api/v1/have", {"files": [{"build_id": id_}]}, key=key), key)
            self.assertEqual(self.server.get("/api/v1/files", key=key).json["files"], [])
        self.assertEqual(self.server.get(f"/api/v1/files/{self.build_id}", key="a:1").status, 200)

    def test_do_not_learn_that_content_is_there(self):
        """The blob is shared, and the reply is that for a new file all the same."""
        self.assertEqual(self.put("a:1").status, 200)
        for key in ("b:2", "c:3"):
            self.assertEqual([self.put(key).status for _ in range(2)], [201, 200])
            self.assertEqual(self.server.get(f"/api/v1/files/{self.build_id}", key=key).status, 200)


class Slow(HostileTest):
    def test_closes_slow_connections(self):
        server = self.serve("--timeout", "1")
        idle = server.open_socket()
        started = server.open_socket()
        started.sendall(b"GET /hea")
        body = server.open_socket()
        body.sendall(b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n" + UPLOAD + b"\r\nsymb")
        trickle = server.open_socket()
        trickle.settimeout(0.2)
        ended = False
        for _ in range(WAIT * 5):  # a byte now and then does not keep it open
            try:
                trickle.sendall(b"X")
                if trickle.recv(100) == b"":
                    ended = True
            except TimeoutError:
                continue
            except OSError:
                ended = True
            if ended:
                break
        self.assertTrue(ended)
        self.assertEqual(read_reply(idle), b"")
        self.assertIn(status_of(read_reply(started)), (None, 408))
        reply = read_reply(body)
        self.assertEqual(status_of(reply), 408)
        self.assertIn(b'"Code":"3008"', reply)
        self.assert_alive(server)
        for connection in (idle, started, body, trickle):
            connection.close()

    def test_makes_room_for_new_connections(self):
        server = self.serve("--connection-limit", "64")
        crowd = [server.open_socket() for _ in range(56)]
        for i, connection in enumerate(crowd[::3]):
            connection.sendall(b"GET /" if i % 2 else b"POST /healthz HTTP/1.1\r\nHost: a\r\nContent-")
        for _ in range(100):
            self.assert_alive(server)
        # Those that send a body slowly go last, but they go.
        slow = [server.open_socket() for _ in range(70)]
        for connection in slow:
            try:
                connection.sendall(b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n" + UPLOAD
                                   + b"\r\nsymb")
            except (BrokenPipeError, ConnectionResetError):
                pass
        for _ in range(100):
            self.assert_alive(server)
        self.assertGreater(server.metric("sextant_connections_evicted_total"), 0)
        crowd += slow
        for connection in crowd:
            connection.close()

    @sextant.only_with_everything
    def test_answers_beside_1000_idle_and_slow_connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 1300
        if soft < wanted:
            if hard != resource.RLIM_INFINITY and hard < wanted:
                raise unittest.SkipTest("too few descriptors")
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        server = self.serve("--timeout", "120")
        self.crowd_and_ask(server, 1000)

    def test_answers_beside_idle_and_slow_connections(self):
        self.crowd_and_ask(self.serve("--timeout", "120"), 100)

    def crowd_and_ask(self, server, count):
        """Connections that are idle, send headers or a body slowly, or do not take a reply."""
        body = ranges((0x1000, 16, "n" * 500))
        headers = {"FileID": "0" * 32, "FilePart": "0", "FileParts": "1"}
        self.assertEqual(server.post("/api/symbols-ranges", body, headers=headers).status, 200)
        one = json.dumps({"file_id": "0" * 32, "addresses": ["0x1004"]})
        large = json.dumps({"file_id": "0" * 32, "addresses": ["0x1004"] * 6000}).encode()
        starts = (
            b"", b"GET /healthz HT",
            b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n" + UPLOAD + b"\r\nsymbfile",
            b"POST /api/symbolize HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(large) + large,
        )  # fmt: skip
        crowd = [server.open_socket() for _ in range(count)]
        for i, connection in enumerate(crowd):
            connection.sendall(starts[i % 4])
        for i in range(count // 3):
            self.assert_alive(server)
            self.assertEqual(server.post("/api/symbolize", one).json["frames"][0][0]["function"], "n" * 500)
            crowd[4 * i % count + 1].sendall(b"T")  # a byte now and then
        # Each reply that is not taken has more than 3 MB.
        self.assert_memory(server, 150 + 4 * count // 4 if count < 300 else 1200)
        for connection in crowd:
            connection.close()


class Tls(HostileTest):
    def test_speaks_tls(self):
        if not shutil.which("openssl"):
            raise unittest.SkipTest("openssl is not installed")
        import ssl

        cert, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True, capture_output=True,
        )
        context = ssl.create_default_context(cafile=cert)
        server = self.serve("--tls-cert", cert, "--tls-key", key, tls=context)
        self.assertTrue(server.url.startswith("https://"))
        self.assert_alive(server)
        connection = server.connect()
        for _ in range(3):
            self.assertEqual(server.request("GET", "/live", connection=connection).status, 200)
        connection.close()
        refused = server.post("/api/symbols-ranges", bytes(100_000), headers=Bodies.HEADERS)
        self.assertEqual((refused.status, refused.code), (400, "4005"))
        # Plain HTTP gets nowhere, and does no harm.
        with socket.create_connection((server.host, server.port), timeout=WAIT) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertNotIn(b"200 OK", read_reply(plain))
        self.assert_alive(server)
        other = self.file("other.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        # libmicrohttpd does not free the certificate that it cannot use.
        self.run_error("serve", "--store", self.folder / "s", "--listen", "127.0.0.1:0", "--tls-cert", other,
                       "--tls-key", key, env={"ASAN_OPTIONS": "detect_leaks=0"})  # fmt: skip


if __name__ == "__main__":
    tap.main()
