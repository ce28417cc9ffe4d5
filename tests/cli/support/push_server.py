"""A small server of the symbfile specification, which can be told to misbehave. It has no /api/v1/have unless told so."""

import gzip
import http.server
import json
import subprocess
import threading

RANGES, PADS = "/api/symbols-ranges", "/api/symbols-returnpads"
GOOD = {"success": True, "status": 200}


def refusal(status, code="1000", text="not now", uuid="f1ada52e-d705-423f-a1b0-fc054eb8900e"):
    return status, {"success": False, "uuid": uuid, "error": {"Code": code, "Text": text}, "status": status}


class Part:
    """A part that was received; headers in lower case."""

    def __init__(self, path, headers, body):
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def number(self):
        return int(self.headers["filepart"])

    @property
    def parts(self):
        return int(self.headers["fileparts"])

    def plain(self):
        encoding = self.headers.get("content-encoding", "identity")
        if encoding == "gzip":
            return gzip.decompress(self.body)
        if encoding == "zstd":
            return subprocess.run(["zstd", "-dc"], input=self.body, stdout=subprocess.PIPE, check=True).stdout
        return self.body


class PushServer:
    """Receives parts. ANSWER(server, part, count) may return (status, body[, headers]) in place of a good reply, "cut" to
    close the connection after the request, or None; COUNT is the number of requests for parts so far, from 1."""

    def __init__(self, test, answer=None, have=None):
        self.answer = answer
        self.have = have
        self.parts = []  # all that were acknowledged
        self.requests = 0
        self.questions = []
        self.lock = threading.Lock()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                owner.handle(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)

    def handle(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        if handler.path not in (RANGES, PADS):
            with self.lock:
                self.questions.append((handler.path, headers, body))
            status, reply = self.have(body) if self.have else (404, b"<html>no such page</html>")
            self.send(handler, status, reply)
            return
        part = Part(handler.path, headers, body)
        with self.lock:
            self.requests += 1
            wanted = self.answer(self, part, self.requests) if self.answer else None
        if wanted == "cut":
            handler.close_connection = True
            handler.connection.close()
            return
        if wanted is None:
            with self.lock:
                self.parts.append(part)
            wanted = (200, GOOD)
        self.send(handler, *wanted)

    def send(self, handler, status, reply, headers=None):
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        try:
            handler.end_headers()
            handler.wfile.write(data)
        except OSError:
            handler.close_connection = True  # the client is gone

    def sets(self):
        """The parts that were acknowledged by (path, FileID), each a list by number."""
        found = {}
        for part in self.parts:
            found.setdefault((part.path, part.headers["fileid"]), {})[part.number] = part
        return {key: [parts[number] for number in sorted(parts)] for key, parts in found.items()}
