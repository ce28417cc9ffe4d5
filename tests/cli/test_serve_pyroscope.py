"""Pyroscope's own upload: its command-line client and its agents can push files here."""

import json
import pathlib
import tempfile

from support import connect, sextant, tap
from support.service import Server, store_folder

SOURCE = """int twice(int x) { return 2 * x; }
int main(int argc, char **argv) { (void)argv; return twice(argc); }
"""
IN_PROGRESS = "A previous upload is still in-progress and not stale yet (only stale uploads can be retried)."


class Pyroscope(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        sextant.need_tool("objcopy")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        (place / "a.c").write_text(SOURCE)
        full, stripped, debug = [place / name for name in ("full", "stripped", "debug")]
        sextant.tool("gcc", "-g", "-O2", "-Wl,--build-id", "-o", full, place / "a.c")
        sextant.tool("objcopy", "--strip-all", full, stripped)
        sextant.tool("objcopy", "--only-keep-debug", full, debug)
        cls.path, cls.full, cls.stripped, cls.debug = full, full.read_bytes(), stripped.read_bytes(), debug.read_bytes()
        info = json.loads(sextant.run("info", "--json", full).out)
        cls.build_id, cls.file_id = info["build_id"], info["file_id"]
        cls.address = sextant.run("lookup", "--json", "--name", "twice", full).json_lines()[0]["address"]

    def start(self, *options):
        server = Server(store_folder(self), *options)
        self.addCleanup(server.stop)
        return server

    def function(self, server, **keywords):
        question = {"build_id": self.build_id, "addresses": [self.address]}
        reply = server.post("/api/symbolize", question, **keywords)
        return reply.json["frames"][0][0] if reply.status == 200 else reply.status

    def assert_refused(self, status, code, call, *arguments):
        with self.assertRaises(connect.Refused) as caught:
            call(*arguments)
        self.assertEqual((caught.exception.status, caught.exception.code), (status, code), caught.exception)
        return caught.exception.message

    def test_clients_push_files_in_both_encodings(self):
        for is_json in (False, True):
            with self.subTest(is_json=is_json):
                server = self.start()
                client = connect.Client(server, is_json, compress=is_json)
                self.assertEqual(client.list(), [])
                self.assertIsNone(client.push(self.build_id, self.full))
                frame = self.function(server)
                self.assertEqual((frame["function"], frame["line"]), ("twice", 1))
                (file,) = server.get("/api/v1/files").json["files"]
                self.assertEqual(file["name"], "program")
                self.assertEqual(client.push(self.build_id.upper(), self.full), "symbols with lines are here")
                ((build_id, kind, is_uploaded, size, time),) = client.list()
                self.assertEqual((build_id, kind, is_uploaded), (self.build_id, connect.FULL, True))
                self.assertGreater(size, len(self.full))
                self.assertTrue(time)
                client.finished(self.build_id)  # the reply may have been lost
                client.delete(self.build_id)
                client.delete(self.build_id)
                self.assertEqual((client.list(), self.function(server)), ([], 404))
                self.assertIsNone(client.push(self.build_id, self.full))

    def test_the_steps_must_come_in_order(self):
        server = self.start()
        client, other = connect.Client(server), connect.Client(server, is_json=True)
        reply = client.upload(self.build_id, self.full)
        self.assertEqual((reply.status, reply.code), (412, "3011"))
        self.assert_refused(404, "not_found", client.finished, self.build_id)
        self.assertEqual(client.should_upload(self.build_id), (True, "nothing like it is here"))
        self.assertEqual(other.should_upload(self.build_id), (False, IN_PROGRESS))
        self.assert_refused(400, "failed_precondition", other.finished, self.build_id)
        self.assertEqual(client.list(), [])
        client.delete(self.build_id)  # of what was only announced
        self.assertEqual(client.upload(self.build_id, self.full).status, 412)
        self.assertTrue(client.should_upload(self.build_id)[0])
        self.assertEqual(client.upload(self.build_id, self.full).status, 200)
        self.assertEqual(self.function(server)["function"], "twice")  # before UploadFinished
        self.assertFalse(other.should_upload(self.build_id)[0])
        other.finished(self.build_id)
        self.assertEqual(client.upload(self.build_id, self.full).status, 412)

    def test_an_upload_that_failed_can_be_tried_again(self):
        server = self.start()
        client = connect.Client(server)
        other_id = "00" * 20
        for data, code in ((self.full, "4008"), (b"not an ELF file", "4007"), (b"", "4007"), (self.full[:700], "4007")):
            self.assertTrue(client.should_upload(other_id)[0])
            reply = client.upload(other_id, data)
            self.assertEqual((reply.status, reply.code), (400, code), reply)
        self.assert_refused(400, "failed_precondition", client.finished, other_id)
        self.assertEqual(server.get("/api/v1/files").json["files"], [])
        # 32 digits are a FileID for other paths, but not here.
        self.assertTrue(client.should_upload(self.file_id)[0])
        reply = client.upload(self.file_id, self.full)
        self.assertEqual((reply.status, reply.code), (400, "4008"), reply)
        self.assertEqual(server.get("/api/v1/files").json["files"], [])
        self.assertTrue(client.should_upload(self.build_id)[0])
        self.assertEqual(client.upload(self.build_id, b"x").status, 400)
        self.assertEqual(client.upload(self.build_id, self.full).status, 200)
        self.run_ok("store", "verify", "--store", server.store)

    def test_a_file_of_each_kind_is_taken_once(self):
        server = self.start()
        client = connect.Client(server)
        self.assertIsNone(client.push(self.build_id, self.stripped))
        self.assertEqual(client.push(self.build_id, self.stripped), "an executable of this build ID is here")
        self.assertIsNone(client.push(self.build_id, self.debug, connect.NO_TEXT))
        self.assertEqual(self.function(server)["line"], 1)
        self.assertFalse(client.should_upload(self.build_id, connect.NO_TEXT)[0])
        ((_, kind, *_),) = client.list()
        self.assertEqual(kind, connect.FULL)

    def test_a_file_without_code_is_joined_with_the_executable(self):
        for is_json in (False, True):
            server = self.start()
            client = connect.Client(server, is_json)
            for file_id in ("nonsense", self.file_id):  # the first is ignored
                client.delete(self.build_id)
                self.assertTrue(client.should_upload(self.build_id, connect.NO_TEXT, file_id=file_id)[0])
                self.assertEqual(client.upload(self.build_id, self.debug).status, 200)
                client.finished(self.build_id)
                question = {"file_id": self.file_id, "addresses": [self.address]}
                reply = server.post("/api/symbolize", question)
                self.assertEqual(reply.status, 200 if file_id == self.file_id else 404, reply)
            self.assertEqual(reply.json["frames"][0][0]["function"], "twice")
            (file,) = server.get("/api/v1/files").json["files"]
            self.assertEqual((file["file_id"], file["build_id"]), (self.file_id, self.build_id))

    def test_refuses_what_is_not_a_request(self):
        server = self.start()
        client, text = connect.Client(server), connect.Client(server, is_json=True)
        should = "ShouldInitiateUpload"
        for message in ({}, {"file": None}, {"file": {}}, {"file": {"gnuBuildId": "xyz"}}, {"file": {"gnuBuildId": "abc"}},
                        {"file": {"gnuBuildId": "ab" * 65}}, {"file": {"gnuBuildId": 5}}, {"file": []}, [], "x",
                        {"file": {"gnuBuildId": "abcd", "type": 99}},
                        {"file": {"gnuBuildId": "abcd", "type": "TYPE_OTHER"}}):  # fmt: skip
            self.assert_refused(400, "invalid_argument", text.call, should, message)
        for message in (b"", b"\xff", connect.field(1, b""), connect.field(1, connect.field(1, "../x")),
                        connect.field(1, connect.field(1, "abcd") + connect.field(5, 3)),
                        connect.field(1, connect.field(1, "abcd") + b"\x0a\x7f")):  # fmt: skip
            self.assert_refused(400, "invalid_argument", client.call, should, message)
        unknown = {"file": {"gnuBuildId": "abcd", "type": 1, "new": [{}]}, "more": 1}
        for message in (unknown, {"file": {"gnu_build_id": "abce"}}):
            self.assertTrue(text.call(should, message)["shouldInitiateUpload"])
        self.assertIn(b"\x08\x01", client.call(should, b"\x78\x05" + connect.field(1, connect.field(1, "abcf"))))
        for path in ("xyz", "abc", "..%2fabcd", "ab" * 65):
            self.assertEqual(client.upload(path, b"x").status, 400, path)
        for kind in ("application/grpc", "application/grpc-web+proto", "text/plain", None):
            headers = {"Content-Type": kind} if kind else {}
            reply = server.post(connect.SERVICE + should, b"{}", headers=headers)
            self.assertEqual((reply.status, reply.json["code"]), (415, "invalid_argument"), reply)
        headers = {"Content-Type": "application/json; charset=utf-8", "Connect-Protocol-Version": "2"}
        self.assertEqual(server.post(connect.SERVICE + should, b"{}", headers=headers).status, 400)
        self.assertEqual(server.get(connect.SERVICE + should).status, 405)
        self.assertEqual(server.post(connect.SERVICE + "Other", b"").status, 404)

    def test_keys_and_tenants(self):
        keys = self.file("keys", "ci:one:upload\nreader:two:read\nboss:three\nblue:four::blue\n")
        server = self.start("--api-key-file", keys)
        for key, scheme in (("ci:one", "basic"), ("blue:four", "bearer")):
            client = connect.Client(server, key=key, scheme=scheme)
            self.assertIsNone(client.push(self.build_id, self.full))  # one does not see the other's
        self.assert_refused(401, "unauthenticated", connect.Client(server).should_upload, self.build_id)
        self.assert_refused(401, "unauthenticated", connect.Client(server, key="ci:two").should_upload, self.build_id)
        reader = connect.Client(server, key="reader:two")
        self.assert_refused(403, "permission_denied", reader.should_upload, self.build_id)
        self.assert_refused(403, "permission_denied", connect.Client(server, key="ci:one").delete, self.build_id)
        self.assertEqual(connect.Client(server).upload(self.build_id, self.full).status, 401)
        connect.Client(server, key="boss:three").delete(self.build_id)
        self.assertEqual(self.function(server, key="reader:two"), 404)
        self.assertEqual(self.function(server, key="blue:four")["function"], "twice")

    def test_servers_share_what_was_announced(self):
        first = self.start()
        second = Server(first.store)
        self.addCleanup(second.stop)
        self.assertTrue(connect.Client(first).should_upload(self.build_id)[0])
        self.assertEqual(connect.Client(second).should_upload(self.build_id), (False, IN_PROGRESS))
        self.assertEqual(connect.Client(second).upload(self.build_id, self.full).status, 200)
        connect.Client(first).finished(self.build_id)
        self.assertEqual(list(first.store.glob("t/*/announced/*/*")), [])

    def test_limits(self):
        server = self.start("--body-limit", "4k")
        client = connect.Client(server)
        self.assertTrue(client.should_upload(self.build_id)[0])
        with server.open_socket() as connection:
            head = f"POST {connect.SERVICE}Upload/{self.build_id} HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n"
            connection.sendall(head.encode())
            self.assertIn(b" 413 ", connection.recv(100))


if __name__ == "__main__":
    tap.main()
