"""A debuginfod server that does what a test says."""

import http.server
import threading
import time

WAIT = 60  # seconds, for a slow machine; nothing is expected to take this long


class FakeDebuginfod:
    """`files` maps "ID/debuginfo" and so on to bytes, below the path `prefix`. `behave`, if it is set, is called with the
    handler and what was asked for, and returns True if it has answered. `asked` has what was asked for, in order."""

    def __init__(self, test, files=None, behave=None, prefix=""):
        self.files = dict(files or {})
        self.behave = behave
        self.prefix = prefix
        self.asked, self.headers = [], []
        self.lock = threading.Lock()
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                fake.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{prefix}"
        test.addCleanup(self.close)

    def answer(self, handler):
        what = handler.path.removeprefix(self.prefix + "/buildid/")
        with self.lock:
            self.asked.append(what)
            self.headers.append(handler.headers)
        try:
            if self.behave and self.behave(handler, what):
                return
            body = self.files.get(what)
            self.send(handler, 404 if body is None else 200, body or b"")
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True

    @staticmethod
    def send(handler, status, body=b"", **headers):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
        return True

    def count(self, what):
        with self.lock:
            return self.asked.count(what)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def wait_until(condition):
    """Waits until CONDITION() is true. Returns it."""
    deadline = time.monotonic() + WAIT
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen")
        time.sleep(0.02)
    return result
