"""`sextant serve`: what it answers without symbols, who may ask, and how it ends."""

import base64
import hashlib
import json
import re
import signal
import socket
import time
import unittest

from support import sextant, tap
from support.service import WAIT, Server, read_reply, status_of

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def wait_for(condition):
    """Waits until CONDITION gives something, and returns it."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen")


class ServerTest(sextant.ProgramTest):
    def serve(self, *options, **keywords):
        server = Server(self.folder / "store", *options, **keywords)
        self.addCleanup(server.stop)
        return server

    def keys(self, text):
        return self.file("keys", text)

    def assert_failure(self, reply, status, code, text=None):
        self.assertEqual(reply.status, status, reply)
        failure = reply.json
        self.assertEqual(list(failure), ["success", "uuid", "error", "status"])
        self.assertIs(failure["success"], False)
        self.assertEqual(failure["status"], status)
        self.assertEqual(failure["error"]["Code"], str(code), reply)
        self.assertRegex(failure["uuid"], UUID)
        self.assertEqual(reply.headers["Content-Type"], "application/json")
        if text is not None:
            self.assertIn(text, failure["error"]["Text"])


class Basics(ServerTest):
    def test_answers_health_checks(self):
        server = self.serve()
        for path in ("/healthz", "/live", "/ready"):
            self.assertEqual(server.get(path).status, 200, path)
            head = server.request("HEAD", path)
            self.assertEqual((head.status, head.body), (200, b""), path)

    def test_refuses_unknown_paths_and_methods(self):
        server = self.serve()
        self.assert_failure(server.get("/nothing"), 404, 3000)
        self.assert_failure(server.get("/healthz/"), 404, 3000)
        self.assert_failure(server.get("//healthz"), 404, 3000)
        refused = server.request("DELETE", "/healthz")
        self.assert_failure(refused, 405, 3001)
        self.assertEqual(refused.headers["Allow"], "GET, HEAD, OPTIONS")
        self.assertEqual(server.request("OPTIONS", "/healthz").status, 204)

    def test_refuses_malformed_paths(self):
        server = self.serve()
        for path in ("/%", "/%4", "/%zz", "/%00", "/a%0ab", "/healthz%00"):
            self.assert_failure(server.get(path), 400, 4013)

    def test_keeps_a_connection_after_a_failure(self):
        server = self.serve()
        connection = server.connect()
        for _ in range(3):
            self.assertEqual(server.request("GET", "/nothing", connection=connection).status, 404)
            self.assertEqual(server.request("GET", "/healthz", connection=connection).status, 200)
        connection.close()
        self.assertEqual(server.metric("sextant_connections_total"), 2)

    def test_has_another_uuid_for_each_request_and_logs_it(self):
        server = self.serve()
        found = {server.get("/nothing").json["uuid"] for _ in range(20)}
        self.assertEqual(len(found), 20)
        wait_for(lambda: found <= {line.get("uuid") for line in server.log()})
        line = [line for line in server.log() if line.get("uuid") in found][0]
        self.assertEqual((line["method"], line["path"], line["status"], line["code"]), ("GET", "/nothing", 404, 3000))
        self.assertEqual(line["client"], "127.0.0.1")
        self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")

    def test_logs_hostile_paths_as_json(self):
        server = self.serve()
        server.raw(b'GET /a"\\\xff\x01 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        wait_for(lambda: [line for line in server.log() if '/a"' in line.get("path", "")])

    def test_counts_requests(self):
        server = self.serve()
        for _ in range(3):
            server.get("/healthz")
        wait_for(lambda: server.metric('sextant_requests_total{route="healthz",status="200"}') == 3)
        text = server.get("/metrics").body.decode()
        self.assertIn('sextant_request_seconds_count{route="healthz"} 3', text)
        self.assertIn('sextant_request_seconds_bucket{route="healthz",le="+Inf"} 3', text)
        self.assert_prometheus(text)

    def assert_prometheus(self, text):
        """Every name has a type before its lines, and no series is there twice."""
        typed, seen = {}, set()
        for line in text.splitlines():
            if line.startswith("# TYPE"):
                name = line.split()[2]
                self.assertNotIn(name, typed)
                typed[name] = line.split()[3]
            elif not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                float(value)
                self.assertNotIn(series, seen)
                seen.add(series)
                name = re.sub("_(bucket|sum|count)$", "", series.split("{")[0])
                self.assertTrue(name in typed or series.split("{")[0] in typed, line)

    def test_says_where_it_listens(self):
        server = self.serve(listen="localhost:0")
        self.assertRegex(server.url, r"^http://(127\.0\.0\.1|\[::1\]):\d+$")

    def test_ends_with_2_for_wrong_usage(self):
        cert = self.file("cert", "x")
        store = self.folder / "store"
        for options in (
            [],
            ["--store", store, "word"],
            ["--store", store, "--listen", "127.0.0.1"],
            ["--store", store, "--listen", "::1:80"],
            ["--store", store, "--listen", "127.0.0.1:99999"],
            ["--store", store, "--listen", "0.0.0.0:0"],
            ["--store", store, "--listen", ":0"],
            ["--store", store, "--tls-cert", cert],
            ["--store", store, "--public-read"],
            ["--store", store, "--timeout", "0"],
            ["--store", store, "--retention", "3w"],
            ["--store", store, "--body-limit", "x"],
        ):
            self.run_usage("serve", *options)

    def test_names_the_key_file_that_it_needs(self):
        result = self.run_usage("serve", "--store", self.folder / "store", "--listen", "0.0.0.0:0")
        self.assertIn("--api-key-file", result.err)

    def test_warns_without_keys(self):
        server = self.serve()
        wait_for(lambda: [line for line in server.log() if line.get("level") == "warning" and "keys" in line["message"]])

    def test_prints_help_with_examples(self):
        help_text = self.run_ok("serve", "--help").text
        for word in ("--store", "--listen", "--api-key-file", "--cors-origin", "--tls-cert", "examples:"):
            self.assertIn(word, help_text)


class Documentation(unittest.TestCase):
    def test_has_all_codes(self):
        header = (sextant.ROOT / "src/service/codes.h").read_text(encoding="utf-8")
        page = (sextant.ROOT / "docs/service.md").read_text(encoding="utf-8")
        codes = re.findall(r"SXT_CODE_\w+ = (\d+), +/\* (\d+) ", header)
        self.assertGreater(len(codes), 30)
        self.assertEqual(codes, re.findall(r"^\| (\d{4}) \| (\d{3}) \|", page, re.MULTILINE))


class Keys(ServerTest):
    PATH = "/api/symbols-ranges"

    def ask(self, server, authorization):
        """Reaches the check of FileID, which comes after that of the key."""
        headers = {"Authorization": authorization} if authorization is not None else {}
        return server.post(self.PATH, b"x", headers=headers)

    def encode(self, text):
        return base64.b64encode(text.encode()).decode()

    def test_takes_all_forms_of_a_key(self):
        secret = "k" * 31 + "?>"
        digest = hashlib.sha256(secret.encode()).hexdigest()
        server = self.serve("--api-key-file", self.keys(f"# keys\n\nplain:{secret}\nhashed:sha256${digest.upper()}\r\n"))
        for name in ("plain", "hashed"):
            text = self.encode(f"{name}:{secret}")
            url = text.replace("+", "-").replace("/", "_").rstrip("=")
            for value in (
                f"APIKey {text}", f"apikey {text}", f"APIKEY   {text}", f"ApiKey {url}", f"Basic {text}",
                f"basic {text.rstrip('=')}", f"Bearer {text}", f"bearer {name}:{secret}",
            ):
                self.assert_failure(self.ask(server, value), 400, 4000)

    def test_refuses_wrong_keys(self):
        server = self.serve("--api-key-file", self.keys("a:right\nb:other\n"))
        self.assert_failure(self.ask(server, None), 401, 2000)
        wrong = self.ask(server, "Bearer a:wrong")
        self.assert_failure(wrong, 401, 2001)
        self.assertIn("APIKey", wrong.headers["WWW-Authenticate"])
        hashed = hashlib.sha256(b"right").hexdigest()
        for value in (
            "", "APIKey", "Bearer", "Bearer a", "Bearer a:", "Bearer :right", "Bearer b:right", "Bearer a:rightx",
            "Bearer a:righ", "Digest a:right", "right", f"Bearer a:sha256${hashed}", "APIKey a:right", "APIKey ////",
            "APIKey " + self.encode("a:right") + " x", "APIKey " + self.encode("aright"), "APIKey " + "A" * 5000,
            "Bearer a:right b", "APIKey " + self.encode("a\0:right"),
        ):
            self.assert_failure(self.ask(server, value), 401, 2001)

    def test_checks_scopes(self):
        server = self.serve("--api-key-file", self.keys("r:1:read\nu:2:upload\nall:3\nempty:4::tenant\nru:5:read,upload\n"))
        for key, status, code in (("r:1", 403, 2002), ("u:2", 400, 4000), ("all:3", 400, 4000), ("empty:4", 400, 4000),
                                  ("ru:5", 400, 4000)):
            self.assert_failure(self.ask(server, "Bearer " + key), status, code)

    def test_takes_two_keys_of_one_id(self):
        server = self.serve("--api-key-file", self.keys("a:old\na:new\n"))
        for key in ("a:old", "a:new"):
            self.assert_failure(self.ask(server, "Bearer " + key), 400, 4000)

    def test_needs_no_key_for_health(self):
        server = self.serve("--api-key-file", self.keys("a:b\n"))
        for path in ("/healthz", "/live", "/ready", "/metrics"):
            self.assertEqual(server.get(path).status, 200)

    def test_listens_elsewhere_with_keys(self):
        server = self.serve("--api-key-file", self.keys("a:b\n"), listen="0.0.0.0:0")
        server.host = "127.0.0.1"
        self.assertEqual(server.get("/healthz").status, 200)

    def test_names_the_line_of_a_malformed_file(self):
        for text, number in (("a\n", 1), ("a:b\n:c\n", 2), ("# x\n\na:\n", 3), ("a:b:wirte\n", 1), ("a:b:read,\n", 1),
                             ("a:b:read:te/nant\n", 1), ("a:b:read:t:x\n", 1), ("a:sha256$12\n", 1), ("a:b\0\n", 1),
                             ("a:sha256$" + "g" * 64 + "\n", 1)):
            path = self.keys(text)
            result = self.run_error("serve", "--store", self.folder / "store", "--listen", "127.0.0.1:0",
                                    "--api-key-file", path, naming=path)
            self.assertIn(f"line {number}:", result.err, text)
        self.run_error("serve", "--store", self.folder / "store", "--api-key-file", self.keys("# nothing\n"))
        self.run_error("serve", "--store", self.folder / "store", "--api-key-file", self.folder / "missing")

    def test_reads_keys_again_on_sighup(self):
        path = self.keys("a:old\n")
        server = self.serve("--api-key-file", path)
        self.assert_failure(self.ask(server, "Bearer a:old"), 400, 4000)
        path.write_text("a:new\n")
        server.signal(signal.SIGHUP)
        wait_for(lambda: self.ask(server, "Bearer a:new").status == 400)
        self.assert_failure(self.ask(server, "Bearer a:old"), 401, 2001)
        for bad in ("a\n", "", "# a:b\n"):
            path.write_text(bad)
            before = len(server.log())
            server.signal(signal.SIGHUP)
            wait_for(lambda: [line for line in server.log()[before:] if line.get("level") == "error"])
            self.assert_failure(self.ask(server, "Bearer a:new"), 400, 4000)

    def test_limits_the_bytes_of_a_key(self):
        server = self.serve("--api-key-file", self.keys("a:b\nc:d\n"), "--key-limit", "1000")
        self.assert_failure(server.post(self.PATH, b"x" * 600, key="a:b"), 400, 4000)
        refused = server.post(self.PATH, b"x" * 600, key="a:b")
        self.assert_failure(refused, 429, 2003)
        self.assertTrue(int(refused.headers["Retry-After"]) > 0)
        self.assert_failure(server.post(self.PATH, b"x" * 400, key="a:b"), 400, 4000)
        self.assert_failure(server.post(self.PATH, b"x" * 600, key="c:d"), 400, 4000)


class Ending(ServerTest):
    def test_finishes_what_was_begun(self):
        server = self.serve()
        with server.open_socket() as connection:
            connection.sendall(b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n"
                               b"FileID: " + b"0" * 32 + b"\r\nFilePart: 0\r\nFileParts: 1\r\n\r\nsymb")
            wait_for(lambda: server.metric("sextant_requests_active") == 2)
            server.signal(signal.SIGTERM)
            wait_for(lambda: [line for line in server.log() if line.get("message", "").startswith("ending")])
            wait_for(lambda: self.is_refused(server))
            connection.sendall(b"file")
            reply = read_reply(connection)
        self.assertEqual(status_of(reply), 400)
        self.assertIn(b"Connection: close", reply)
        self.assertEqual(server.process.wait(WAIT), 0)

    def is_refused(self, server):
        try:
            with server.open_socket():
                return False
        except ConnectionRefusedError:
            return True

    def test_does_not_wait_for_ever(self):
        server = self.serve("--drain", "1")
        with server.open_socket() as connection:
            connection.sendall(b"POST /api/symbols-ranges HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n"
                               b"FileID: " + b"0" * 32 + b"\r\nFilePart: 0\r\nFileParts: 1\r\n\r\nsymb")
            wait_for(lambda: server.metric("sextant_requests_active") == 2)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(WAIT), 0)

    def test_ends_with_idle_connections(self):
        server = self.serve()
        sockets = [server.open_socket() for _ in range(5)]
        server.signal(signal.SIGINT)
        self.assertEqual(server.process.wait(WAIT), 0)
        for connection in sockets:
            connection.close()


class Origins(ServerTest):
    def test_pages_of_an_origin_may_ask(self):
        server = self.serve("--cors-origin", "https://a.example", "--cors-origin", "https://b.example")
        for origin, allowed in (("https://b.example", "https://b.example"), ("https://c.example", None)):
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST",
                     "Access-Control-Request-Headers": "authorization"}  # fmt: skip
            preflight = server.request("OPTIONS", "/symbolicate/v5", headers=asked)
            reply = server.post("/symbolicate/v5", {"memoryMap": [], "stacks": []}, headers={"Origin": origin})
            self.assertEqual((preflight.status, reply.status), (204, 200))
            for headers in (preflight.headers, reply.headers):
                self.assertEqual(headers["Access-Control-Allow-Origin"], allowed)
                self.assertEqual(headers["Vary"], "Origin")
            if allowed:
                self.assertIn("POST", preflight.headers["Access-Control-Allow-Methods"])
                self.assertEqual(preflight.headers["Access-Control-Allow-Headers"], "authorization")

    def test_adds_no_origin_to_other_paths(self):
        server = self.serve("--cors-origin", "*")
        for path in ("/healthz", "/api/symbolize", "/api/v1/files", "/buildid/00/debuginfo"):
            for method in ("GET", "POST", "OPTIONS"):
                reply = server.request(method, path, headers={"Origin": "https://a.example"})
                self.assertIsNone(reply.headers["Access-Control-Allow-Origin"], (method, path))


if __name__ == "__main__":
    tap.main()
