"""S3 servers for tests: rclone's, versitygw's, one that answers what a test says, and a proxy that breaks answers.

Every server listens on a free port of 127.0.0.1. `environment` has the AWS variables for a client.
"""

import hashlib
import os
import pathlib
import re
import shutil
import socket
import socketserver
import subprocess
import threading
import time
import unittest
import urllib.parse

from support import sextant

KEY, SECRET, REGION = "testkey", "testsecret", "us-east-1"


def environment(url, **more):
    """The variables of a client, without those that this machine may have set."""
    rest = {name: value for name, value in os.environ.items()
            if not name.startswith("AWS_") and name.lower() not in ("http_proxy", "https_proxy", "all_proxy")}
    return {**rest, "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION, "HOME": "/nonexistent", **more}


def find_rclone():
    """The path of rclone; the test is skipped if there is none."""
    places = [shutil.which("rclone"), sextant.BUILD / "rclone" / "bin" / "rclone",
              *sorted(sextant.ROOT.glob("build*/rclone/bin/rclone"))]
    for place in places:
        if place and os.access(place, os.X_OK):
            return str(place)
    raise unittest.SkipTest("rclone is missing: scripts/get-rclone installs it")


class Server:
    """A server in a process. `folder` has a folder for each bucket."""

    def __init__(self, command, folder, env=None):
        self.folder = pathlib.Path(folder)
        self.log = self.folder.parent / (self.folder.name + ".log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **(env or {})})

    def wait_for(self, pattern, seconds=60):
        """The first match of PATTERN in the log."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = re.search(pattern, self.log.read_text(errors="replace"))
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the server did not start: {self.log.read_text(errors='replace')[-2000:]}")

    def close(self):
        self.process.kill()
        self.process.wait()


class Rclone(Server):
    def __init__(self, folder, bucket="bucket", options=()):
        program = find_rclone()
        pathlib.Path(folder, bucket).mkdir(parents=True, exist_ok=True)
        super().__init__([program, "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", f"{KEY},{SECRET}",
                          "--config", "/dev/null", "--vfs-cache-mode", "off", *options, str(folder)], folder)
        self.url = self.wait_for(r"Starting s3 server on \[(https?://127\.0\.0\.1:\d+)/\]").group(1)
        self.port = int(self.url.rsplit(":", 1)[1])


class Versitygw(Server):
    """PROGRAM is the path of versitygw. It cannot choose a port itself."""

    def __init__(self, program, folder, bucket="bucket"):
        pathlib.Path(folder, bucket).mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        super().__init__([program, "--access", KEY, "--secret", SECRET, "--region", REGION,
                          "--port", f"127.0.0.1:{self.port}", "posix", str(folder)], folder)
        self.url = f"http://127.0.0.1:{self.port}"
        self.wait_for(r"listening on")
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)


class Request:
    """What a client sent. `path` has no query."""

    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.path, _, self.query = self.target.partition("?")
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        self.body = body


def read_request(connection):
    """(head, body) of the next request, or None at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    length = int(length.group(1)) if length else 0
    while len(body) < length:
        more = connection.recv(1 << 20)
        if not more:
            return None
        body += more
    return head, body


class LocalServer:
    """Threads that call handle(connection)."""

    def __init__(self):
        outer = self
        self.requests = []
        self.lock = threading.Lock()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                try:
                    outer.handle(self.request)
                except OSError:
                    pass

        class Listener(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 64

        self.stopping = threading.Event()
        self.server = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()

    def note(self, request):
        """Keeps REQUEST and returns how many there were before it."""
        with self.lock:
            self.requests.append(request)
            return len(self.requests) - 1


def answer(status, body=b"", head_only=False, length=None, **headers):
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} Text", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if head_only else body)


def error_answer(status, code, message="message", **headers):
    body = f'<?xml version="1.0"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return answer(status, body.encode(), **headers)


class FakeS3(LocalServer):
    """`reply(number, request)` gives the bytes of an answer; None closes the connection without one."""

    def __init__(self, reply):
        super().__init__()
        self.reply = reply

    def handle(self, connection):
        while True:
            got = read_request(connection)
            if got is None:
                return
            request = Request(*got)
            data = self.reply(self.note(request), request)
            if data is None:
                return
            connection.sendall(data)


class FaultyProxy(LocalServer):
    """Passes requests on to PORT, except where `fault(number, request)` gives one:

        ("status", N)   answers with status N          ("refuse",)     closes the connection without an answer
        ("cut", N)      N bytes of the answer's body   ("silent",)     never answers
        ("slow", N)     the answer in N pieces         ("garbage",)    an answer that is not HTTP
        ("late",)       passes the request on, then closes the connection without an answer
        ("alter",)      changes the last byte of the request's body
    """

    def __init__(self, port, fault):
        super().__init__()
        self.port = port
        self.fault = fault

    def handle(self, connection):
        got = read_request(connection)
        if got is None:
            return
        head, body = got
        request = Request(head, body)
        kind, *numbers = self.fault(self.note(request), request) or ("none",)
        if kind == "status":
            connection.sendall(error_answer(numbers[0], "InternalError", Connection="close"))
        elif kind == "garbage":
            connection.sendall(b"\x00\x01\x02 this is not HTTP\r\n\r\n")
        elif kind == "silent":
            self.stopping.wait(60)
        elif kind != "refuse":
            if kind == "alter":
                body = body[:-1] + bytes([body[-1] ^ 1])
            self.send(connection, self.ask(head, body), kind, numbers)

    def ask(self, head, body):
        """The whole answer of the server."""
        head = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head) + b"\r\nConnection: close\r\n\r\n"
        data = b""
        with socket.create_connection(("127.0.0.1", self.port)) as server:
            server.sendall(head + body)
            while True:
                more = server.recv(1 << 20)
                if not more:
                    return data
                data += more

    def send(self, connection, data, kind, numbers):
        head, _, body = data.partition(b"\r\n\r\n")
        if kind == "late":
            return
        if kind == "cut":
            data = head + b"\r\n\r\n" + body[:numbers[0]]
        pieces = numbers[0] if kind == "slow" else 1
        size = -(-len(data) // pieces)
        for start in range(0, len(data), size):
            connection.sendall(data[start:start + size])
            if pieces > 1:
                time.sleep(0.01)


class MemoryS3(LocalServer):
    """A bucket in memory that keeps count of what it sends: `objects` by "BUCKET/KEY", `sent` bytes of bodies.

    `fault(number, request)` may give the bytes of another answer.
    """

    def __init__(self, objects=None, fault=None):
        super().__init__()
        self.objects = dict(objects or {})
        self.etags = {}
        self.fault = fault or (lambda number, request: None)
        self.sent = 0
        self.suffixes = True  # "Range: bytes=-N" is known

    def handle(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            got = read_request(connection)
            if got is None:
                return
            request = Request(*got)
            number = self.note(request)
            data = self.fault(number, request) or self.reply(request)
            with self.lock:
                self.sent += len(data.partition(b"\r\n\r\n")[2])
            connection.sendall(data)

    def forget(self):
        """Begins to count again."""
        with self.lock:
            self.requests, self.sent = [], 0

    def reply(self, request):
        name = urllib.parse.unquote(request.path).lstrip("/")
        if request.method == "PUT":
            self.objects[name] = request.body
            return answer(200, ETag=self.etag(name))
        if request.method == "DELETE":
            self.objects.pop(name, None)
            return answer(204)
        if "list-type=2" in request.query:
            return self.list(name.rstrip("/"), urllib.parse.parse_qs(request.query))
        if name not in self.objects:
            return error_answer(404, "NoSuchKey") if request.method == "GET" else answer(404)
        if request.headers.get("if-match", self.etag(name)) != self.etag(name):
            return error_answer(412, "PreconditionFailed")
        if request.method == "HEAD":
            return answer(200, length=len(self.objects[name]), head_only=True, ETag=self.etag(name))
        return self.send_range(request, self.objects[name], ETag=self.etag(name))

    def etag(self, name):
        data = self.objects[name]
        known = self.etags.get(name)
        if known is None or known[0] is not data:
            self.etags[name] = known = (data, '"' + hashlib.md5(data, usedforsecurity=False).hexdigest() + '"')
        return known[1]

    def send_range(self, request, data, **headers):
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("range", ""))
        if not found or (not found.group(1) and not self.suffixes):
            return answer(200, data, **headers)
        if found.group(1):
            first, last = int(found.group(1)), min(int(found.group(2) or len(data)), len(data) - 1)
        else:
            first, last = max(0, len(data) - int(found.group(2))), len(data) - 1
        if first > last:
            return error_answer(416, "InvalidRange")
        return answer(206, data[first:last + 1], Content_Range=f"bytes {first}-{last}/{len(data)}", **headers)

    def list(self, bucket, query):
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        keys, folders = [], []
        for name in sorted(self.objects):
            if not name.startswith(f"{bucket}/{prefix}"):
                continue
            key = name[len(bucket) + 1:]
            if delimiter and delimiter in key[len(prefix):]:
                folder = prefix + key[len(prefix):].split(delimiter)[0] + delimiter
                folders += [folder] if folder not in folders else []
            else:
                keys.append(f"<Contents><Key>{key}</Key><Size>{len(self.objects[name])}</Size>"
                            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>")
        body = "".join([*keys, *(f"<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>" for folder in folders)])
        return answer(200, f'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>{body}'
                      "</ListBucketResult>".encode())
