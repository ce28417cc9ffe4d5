"""Large questions and replies, and clients that take them slowly: others are answered meanwhile, and memory is bounded."""

import json
import select
import time
import zlib

from support import sextant, tap
from support.service import WAIT, Server, read_reply, status_of, store_folder
from test_serve_upload import ranges

FILE_ID = "0123456789abcdef" * 2
MEMORY = "sextant_request_memory_bytes"
NAME = "n" * 500


def question(count, **more):
    """The body of a question with COUNT addresses, each of which is answered with more than 500 bytes."""
    addresses = ",".join(['"0x1004"'] * count)
    rest = "".join(f"{json.dumps(key)}:{json.dumps(value)}," for key, value in more.items())
    return f'{{"file_id":"{FILE_ID}",{rest}"addresses":[{addresses}]}}'.encode()


class LoadTest(sextant.ProgramTest):
    def serve(self, *options):
        server = Server(store_folder(self), *options)
        self.addCleanup(server.stop)
        headers = {"FileID": FILE_ID, "FilePart": "0", "FileParts": "1"}
        self.assertEqual(server.post("/api/symbols-ranges", ranges((0x1000, 16, NAME)), headers=headers).status, 200)
        self.assertEqual(server.post("/api/symbolize", question(1)).json["frames"][0][0]["function"], NAME)
        return server

    def ask_later(self, server, body, *headers):
        """A connection on which a question was sent. Its reply is not read yet."""
        connection = server.open_socket()
        self.addCleanup(connection.close)
        lines = ["POST /api/symbolize HTTP/1.1", "Host: a", f"Content-Length: {len(body)}", *headers, "", ""]
        connection.sendall("\r\n".join(lines).encode() + body)
        return connection

    def wait_until(self, condition, what):
        deadline = time.monotonic() + WAIT
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)


def has_reply(connection):
    return bool(select.select([connection], [], [], 0)[0])


class LargeQuestions(LoadTest):
    def check_others(self, body, *headers):
        """One thread has all connections, and it answers while the reply to a large question is being made."""
        server = self.serve("--threads", "1")
        large = self.ask_later(server, body, *headers)
        seen = 0
        small = server.connect()
        while not has_reply(large):
            memory = server.request("GET", "/metrics", connection=small).body.decode()
            memory = int(memory.rpartition(f"\n{MEMORY} ")[2].split("\n")[0])
            asked = server.request("POST", "/api/symbolize", question(1), connection=small)
            self.assertEqual(asked.json["frames"][0][0]["function"], NAME)
            # More than the body is in memory, and there is no reply yet: it is being made.
            seen += memory > 8 << 20 and not has_reply(large)
        small.close()
        self.assertGreater(seen, 0)

    def test_do_not_hold_up_others(self):
        self.check_others(question(200_000))

    def test_that_are_compressed_do_not_hold_up_others(self):
        packed = zlib.compressobj(1, wbits=31)
        self.check_others(packed.compress(question(200_000)) + packed.flush(), "Content-Encoding: gzip")

    def test_are_answered_whole(self):
        server = self.serve()
        frames = server.post("/api/symbolize", question(20_000)).json["frames"]
        self.assertEqual((len(frames), frames[0], frames[-1]), (20_000, frames[1], frames[1]))
        compact = server.post("/api/symbolize", question(20_000, compact=True)).json
        self.assertEqual((len(compact["frames"]), compact["strings"]), (20_000, ["", NAME]))
        self.wait_until(lambda: server.metric(MEMORY) == 0, "memory is not given back")

    def test_have_a_limit_of_memory_together(self):
        server = self.serve("--memory-limit", "20M")
        first = self.ask_later(server, question(25_000))
        self.wait_until(lambda: has_reply(first), "there is no reply")
        # The reply is in memory until the client takes it.
        self.assertGreater(server.metric(MEMORY), 12 << 20)
        refused = server.post("/api/symbolize", question(25_000))
        self.assertEqual((refused.status, refused.code, refused.headers["Retry-After"]), (503, "1003", "1"), refused)
        refused = server.post("/api/symbolize", question(25_000).replace(b"addresses", b"x" * (19 << 20)))
        self.assertEqual((refused.status, refused.code), (503, "1003"), refused)
        self.assertEqual(server.post("/api/symbolize", question(100)).status, 200)
        self.assertEqual(status_of(read_reply(first)), 200)
        self.wait_until(lambda: server.metric(MEMORY) == 0, "memory is not given back")
        self.assertEqual(server.post("/api/symbolize", question(25_000)).status, 200)


class SlowReaders(LoadTest):
    def test_of_files_take_no_memory(self):
        """The system sends them from the disk, sections too."""
        sextant.need_tool("gcc", "objcopy")
        source, binary, data = self.file("a.c", "int main(void) { return 0; }\n"), self.folder / "a", self.folder / "data"
        data.write_bytes(bytes(range(256)) * 40_000)
        sextant.tool("gcc", "-Wl,--build-id", "-o", binary, source)
        sextant.tool("objcopy", "--add-section", f".data.large={data}", binary)
        build_id = json.loads(sextant.run("info", "--json", binary).out)["build_id"]
        server = self.serve()
        self.assertEqual(server.put(f"/api/v1/files/{build_id}", binary.read_bytes()).status, 201)
        for path, content in (("executable", binary), ("section/.data.large", data)):
            reader = server.open_socket()
            self.addCleanup(reader.close)
            reader.sendall(f"GET /buildid/{build_id}/{path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            self.wait_until(lambda reader=reader: has_reply(reader), "there is no reply")
            self.assertEqual(server.metric(MEMORY), 0)
            self.assertEqual(read_reply(reader).partition(b"\r\n\r\n")[2], content.read_bytes())

    def test_are_closed(self):
        server = self.serve("--timeout", "1")
        asleep = self.ask_later(server, question(25_000))
        slow = self.ask_later(server, question(25_000))
        self.wait_until(lambda: has_reply(slow) and has_reply(asleep), "there is no reply")
        slow.settimeout(WAIT)
        ended = False
        deadline = time.monotonic() + WAIT
        while not ended:  # a few bytes now and then do not keep it open
            self.assertLess(time.monotonic(), deadline)
            try:
                ended = server.metric(MEMORY) == 0 or slow.recv(100) == b""
            except ConnectionResetError:
                ended = True
            time.sleep(0.1)
        self.wait_until(lambda: server.metric(MEMORY) == 0, "memory is not given back")
        self.assertEqual(server.get("/healthz").status, 200)

    def test_make_room_for_others(self):
        server = self.serve("--connection-limit", "16", "--timeout", "600")
        for _ in range(20):  # the last ones wait until there is room for them
            self.ask_later(server, question(25_000))
        for _ in range(8):
            self.assertEqual(server.get("/healthz").status, 200)
        self.assertGreater(server.metric("sextant_connections_evicted_total"), 3)

    def test_do_not_keep_a_server_from_ending(self):
        server = self.serve("--drain", "1")
        reader = self.ask_later(server, question(25_000))
        self.wait_until(lambda: has_reply(reader), "there is no reply")
        server.stop()


if __name__ == "__main__":
    tap.main()
