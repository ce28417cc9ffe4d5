"""Starts `sextant view` on a free port of loopback, and asks for its pages."""

import http.client
import os
import select
import signal
import subprocess
import tempfile
import urllib.parse

from support import sextant
from support.service import WAIT, Reply


class View:
    """A running server. Use as a context manager, or with stop()."""

    def __init__(self, *words, env=None, cwd=None, browser=False):
        environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environment.update(env or {})
        self.errors = tempfile.TemporaryFile()
        options = [] if browser else ["--no-browser"]
        self.process = subprocess.Popen(
            [os.fspath(word) for word in (sextant.program(), "view", *options, *words)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, env=environment, cwd=cwd,
        )  # fmt: skip
        ready = select.select([self.process.stdout], [], [], WAIT)[0]
        self.line = self.process.stdout.readline().decode() if ready else ""
        if not self.line.startswith("http://"):
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not start: {self.line!r}\n{self.error_text()}")
        self.url = self.line.rstrip("\n")
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.root = parts.hostname, parts.port, parts.path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def error_text(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def get(self, path="", method="GET", host=None, absolute=False, body=None):
        """Asks for a path below the token, or for any path if it is ABSOLUTE."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=WAIT)
        try:
            connection.putrequest(method, path if absolute else self.root + path, skip_host=host is not None)
            if host:
                connection.putheader("Host", host)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def stop(self, number=signal.SIGINT):
        """Ends the server; returns its exit status and what else it printed on standard output."""
        if self.process.returncode is None:
            self.process.send_signal(number)
            self.rest = self.process.communicate(timeout=WAIT)[0]
            self.errors_at_end = self.error_text()
            self.errors.close()
        return self.process.returncode, self.rest
