"""Starts `sextant serve` on a free port of loopback, and talks to it."""

import http.client
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile

from support import sextant

WAIT = 60  # seconds, for a slow machine; nothing is expected to take this long


def store_folder(test):
    """A folder for a store that is gone after TEST: in memory where that is possible, because a store waits for the disk
    after each object."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sextant-store-", dir=place))
    test.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    return folder / "store"


class Reply:
    """What a request gave: status, headers (an email.message.Message, any case), body."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The Code of a failure."""
        return self.json["error"]["Code"]

    def __str__(self):
        return f"{self.status} {self.body[:500]!r}"


class Server:
    """A running server. Use as a context manager, or with stop()."""

    def __init__(self, store, *options, env=None, listen="127.0.0.1:0", tls=None, program=None):
        """TLS is an ssl.SSLContext that trusts the server's certificate."""
        self.tls = tls
        self.store = store
        self.errors = tempfile.TemporaryFile()
        environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
        environment.update(env or {})
        command = [program or sextant.program(), "serve", "--store", store, "--listen", listen, *options]
        self.process = subprocess.Popen(
            [os.fspath(word) for word in command], stdout=subprocess.PIPE, stderr=self.errors, env=environment
        )
        line = self.read_line()
        if not line.startswith("listening on http"):
            self.kill()
            raise AssertionError(f"the server did not start: {line!r}\n{self.log_text()}")
        self.url = line.split()[-1]
        self.host, _, port = self.url.split("//")[1].rpartition(":")
        self.port = int(port)

    def read_line(self):
        ready = select.select([self.process.stdout], [], [], WAIT)[0]
        return self.process.stdout.readline().decode() if ready else ""

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            self.kill()

    # --- requests ---

    def connect(self, timeout=WAIT):
        """An http.client connection, for several requests."""
        if self.tls:
            return http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, key=None, connection=None):
        """A request on a connection of its own, or on CONNECTION. A dict or list as BODY is sent as JSON. KEY is id:key."""
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        if key:
            headers["Authorization"] = "Bearer " + key
        own = connection or self.connect()
        try:
            own.request(method, path, body, headers)
            reply = own.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        finally:
            if connection is None:
                own.close()

    def get(self, path, **keywords):
        return self.request("GET", path, **keywords)

    def post(self, path, body=b"", **keywords):
        return self.request("POST", path, body, **keywords)

    def put(self, path, body=b"", **keywords):
        return self.request("PUT", path, body, **keywords)

    def open_socket(self):
        plain = socket.create_connection((self.host.strip("[]"), self.port), timeout=WAIT)
        return self.tls.wrap_socket(plain, server_hostname="localhost") if self.tls else plain

    def raw(self, data):
        """Sends bytes as they are, and returns all that comes back until the server closes the connection, or, if the
        reply has a length, until it is complete."""
        with self.open_socket() as connection:
            connection.sendall(data)
            return read_reply(connection)

    def metric(self, name):
        """The value of a line of /metrics, NAME with its labels; 0 if it is not there."""
        for line in self.get("/metrics").body.decode().splitlines():
            if line.rpartition(" ")[0] == name:
                return float(line.rpartition(" ")[2])
        return 0

    # --- the process ---

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Ends the server as an operator does, and checks that it ends well."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server does not end\n{self.log_text()}") from None
        self.process.stdout.close()
        text = self.log_text()
        if sextant.SANITIZER_TEXT.search(text) or status != 0:
            raise AssertionError(f"the server ended with {status}\n{text[-8000:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def log_text(self):
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "backslashreplace")

    def log(self):
        """The lines of the log so far. A line may take a moment to be written."""
        text = self.log_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def read_reply(connection):
    """All bytes of one reply on a socket."""
    data = b""
    while True:
        head, separator, body = data.partition(b"\r\n\r\n")
        if separator:
            length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if length and len(body) >= int(length[0].split(b":")[1]):
                return data
        try:
            more = connection.recv(65536)
        except (ConnectionResetError, ssl.SSLError):
            return data
        if not more:
            return data
        data += more


def status_of(reply):
    """The status of bytes that Server.raw returned; None if there is no reply."""
    words = reply.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") else None
