"""Clients that do what they should not: each gets the right status, and others are answered meanwhile."""

import gzip
import io
import resource
import shutil
import socket
import subprocess
import time
import unittest
import zlib

from support import sextant, tap
from support.service import WAIT, Server, read_reply, status_of

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
        server = self.serve()
        crowd = [server.open_socket() for _ in range(1000)]
        for i, connection in enumerate(crowd):
            if i % 3 == 1:
                connection.sendall(b"GET /healthz HT")
            elif i % 3 == 2:
                connection.sendall(b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n" + UPLOAD
                                   + b"\r\nsymbfile")
        for _ in range(300):
            self.assert_alive(server)
        memory = int([line.split()[1] for line in open(f"/proc/{server.process.pid}/status", encoding="ascii")
                      if line.startswith("VmRSS")][0])
        if not sextant.SANITIZED:
            self.assertLess(memory, 300_000, "kB")
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
