"""Everything that the service does, by several clients at once. ThreadSanitizer runs this too: a race ends the server with
a report, and the test fails."""

import concurrent.futures
import contextlib
import gzip
import http.client
import json
import random
import signal
import socket

from support import otlp, sextant, tap
from support.service import Server, store_folder
from test_serve_upload import PADS, RANGES, pads, ranges

CLIENTS = 6
ROUNDS = 60 if sextant.EVERYTHING else 12
FILES = 4


def file_id(number):
    return f"{number:032x}"


class Client:
    """What one client does: a method for each kind of request, called in a random order."""

    def __init__(self, test, seed):
        self.test, self.server, self.binary, self.build_id = test, test.server, test.binary, test.build_id
        self.connection = self.server.connect()
        self.chance = random.Random(seed)

    def send(self, method, path, body=None, allowed=(200,), **more):
        reply = self.server.request(method, path, body, connection=self.connection, key="a:1", **more)
        self.test.assertIn(reply.status, allowed, f"{method} {path}: {reply}")
        return reply

    def upload(self, path, make):
        number, version = self.chance.randrange(FILES), self.chance.choice("abc")
        for part in self.chance.sample(range(2), 2):
            headers = {"FileID": file_id(number), "FilePart": str(part), "FileParts": "2", "Generation": version,
                       "BuildID": f"{number:040x}"}  # fmt: skip
            body = make((0x1000 * (part + 1), 16, f"{version}{part}"), (0x1000 * (part + 1) + 16, 16, "x" * 200))
            if self.chance.random() < 0.5:
                headers["Content-Encoding"] = "gzip"
                body = gzip.compress(body)
            self.send("POST", path, body, headers=headers)

    def upload_ranges(self):
        self.upload(RANGES, ranges)

    def upload_pads(self):
        self.upload(PADS, lambda *records: pads(*((address + 4, name) for address, _, name in records)))

    def upload_file(self):
        self.send("PUT", f"/api/v1/files/{self.build_id}", self.binary, allowed=(200, 201))
        self.send("PUT", f"/api/v1/files/{self.build_id}/source/src/a.c", b"text", allowed=(200, 201))

    def ask(self):
        question = {"file_id": file_id(self.chance.randrange(FILES + 1)), "addresses": ["0x1004", "0x2004", "0x9"]}
        self.send("POST", "/api/symbolize", question, allowed=(200, 404))

    def ask_much(self):
        questions = [{"build_id": f"{number:040x}", "addresses": ["0x1004", "0x1014"] * 3000} for number in range(FILES)]
        reply = self.send("POST", "/api/symbolize", {"files": questions, "compact": self.chance.random() < 0.5})
        self.test.assertEqual(len(reply.json["files"]), FILES)

    def ask_otlp(self):
        message = otlp.Message()
        message.mappings.append(otlp.Mapping(attributes={"process.executable.build_id.gnu": self.build_id}))
        message.locations += [otlp.Location(1, 0x1000 + address) for address in range(50)]
        message.stacks += [[index + 1] for index in range(50)]
        headers = {"Content-Type": "application/x-protobuf"}
        self.send("POST", "/v1development/profiles", otlp.encode(message), headers=headers)

    def read(self):
        self.send("GET", "/ready", allowed=(200, 503))  # 503: it ends
        for path in ("/metrics", "/api/v1/files", f"/api/v1/files/{file_id(0)}"):
            self.send("GET", path, allowed=(200, 404))
        for path in (f"/api/v1/files/{file_id(1)}/lidia", f"/buildid/{self.build_id}/executable"):
            self.send("GET", path, allowed=(200, 404))

    def refuse(self):
        self.send("POST", "/api/symbolize", b"{", allowed=(400,))
        reply = self.server.post("/api/symbolize", b"{}", key="a:wrong")
        self.test.assertEqual(reply.status, 401)

    def go_away(self):
        """A client that is gone in the middle of a body, or before it has its reply."""
        head = b"POST /api/symbolize HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a:1\r\nContent-Length: %d\r\n\r\n"
        body = json.dumps({"file_id": file_id(1), "addresses": ["0x1004"] * 8000}).encode()
        with self.server.open_socket() as lost:
            lost.sendall((head % len(body) + body)[: self.chance.choice((50, 20_000, 1 << 30))])
            lost.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    def run(self):
        kinds = [self.upload_ranges, self.upload_pads, self.upload_file, self.ask, self.ask, self.ask, self.ask_much,
                 self.ask_otlp, self.read, self.refuse, self.go_away]  # fmt: skip
        for kind in self.chance.choices(kinds, k=ROUNDS):
            kind()
        self.connection.close()


class Threads(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        sextant.need_tool("gcc")
        source, binary = self.file("a.c", "int main(void) { return 0; }\n"), self.folder / "a"
        sextant.tool("gcc", "-g", "-Wl,--build-id", "-o", binary, source)
        self.build_id = json.loads(sextant.run("info", "--json", binary).out)["build_id"]
        self.binary = binary.read_bytes()
        self.server = Server(store_folder(self), "--api-key-file", self.file("keys", "a:1\n"), "--threads", "3")
        self.addCleanup(self.server.kill)

    def test_of_the_server_do_not_disturb_each_other(self):
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(Client(self, seed).run) for seed in range(CLIENTS)]
            while not all(client.done() for client in clients):
                self.server.signal(signal.SIGHUP)
                concurrent.futures.wait(clients, timeout=0.05)
        for client in clients:
            client.result()
        self.assertEqual(self.server.get("/healthz").status, 200)
        self.server.stop()

    def test_end_while_there_is_work(self):
        def work(seed):
            with contextlib.suppress(OSError, http.client.HTTPException):
                Client(self, seed).run()

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(work, seed) for seed in range(CLIENTS)]
            concurrent.futures.wait(clients, timeout=0.3)
            self.server.stop()
        for client in clients:
            client.result()


if __name__ == "__main__":
    tap.main()
