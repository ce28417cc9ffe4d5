"""`POST /v1development/profiles`: the native locations of an OTLP export request get names from the store."""

import gzip
import http.server
import threading

from support import elf_reader, otlp, tap
from support.otlp import GNU, GO, HTLHASH, Location, Mapping, Message
from support.service import Server, store_folder
from support.symbolizing import BASE, SymbolizeTest, every_address, mapping_of, symbol

PATH = "/v1development/profiles"
NO_PROXY = {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
PROTOBUF, JSON = "application/x-protobuf", "application/json"
UNKNOWN = otlp.number(100, 7) + otlp.message(101, b"kept")


class Collector:
    """A server that profiles are forwarded to. It keeps what it gets: (path, headers, body)."""

    def __init__(self, status=200, body=b"\x0a\0", kind=PROTOBUF, headers=()):
        self.got = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                data = self.rfile.read(int(self.headers["Content-Length"]))
                collector.got.append((self.path, dict(self.headers), data))
                self.send_response(status)
                for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class OtlpTest(SymbolizeTest):
    def setUp(self):
        super().setUp()
        self.store = store_folder(self)
        self.path = self.program("-fPIE", "-pie", "-Wl,--build-id=sha1")
        self.build_id = elf_reader.ElfFile.open(self.path).build_id()
        self.file_id = self.run_ok("fileid", self.path).text.split()[0]
        self.addresses = every_address(self.path, 9)

    def upload(self, server, path=None, id=None, **keywords):
        reply = server.put(f"/api/v1/files/{id or self.build_id}", (path or self.path).read_bytes(), **keywords)
        self.assertIn(reply.status, (200, 201), str(reply))

    def message(self, attributes=None, addresses=None, zero=False, stacks=None):
        mapping = mapping_of(self.path)
        content = Message()
        attributes = {GNU: self.build_id} if attributes is None else attributes
        content.mappings.append(Mapping(attributes=attributes) if zero else
                                Mapping(mapping.start, mapping.limit, mapping.offset, "program", attributes))
        addresses = self.addresses if addresses is None else addresses
        content.locations += [Location(1, (0 if zero else BASE) + address) for address in addresses]
        content.stacks += [[index + 1] for index in range(len(addresses))] if stacks is None else stacks
        return content

    def post(self, server, data, kind=PROTOBUF, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return server.post(PATH, data, headers={"Content-Type": kind, **headers})

    def check(self, filled, addresses=None):
        addresses = self.addresses if addresses is None else addresses
        answers = self.lookup(self.path, addresses)
        for index, answer in enumerate(answers):
            expected = [(one["function"], one["file"] or "", one["line"] or 0) for one in answer["frames"]]
            self.assertEqual(filled.frames(index + 1), expected, hex(addresses[index]))
        self.assertEqual((filled.functions[0], filled.locations[0], filled.strings[0]),
                         (otlp.Function(), Location(), ""))


class Answers(OtlpTest):
    def test_both_forms_and_every_id(self):
        with Server(self.store) as server:
            data = otlp.encode(self.message(), unknown=UNKNOWN)
            reply = self.post(server, data)
            self.assertEqual((reply.status, reply.body), (200, data), "nothing is known yet")
            self.upload(server)
            for attributes in ({GNU: self.build_id}, {HTLHASH: self.file_id}, {GNU: "00" * 20, HTLHASH: self.file_id},
                               {GNU: self.build_id.upper(), HTLHASH: "not one"}):
                with self.subTest(attributes=attributes):
                    content = self.message(attributes)
                    reply = self.post(server, otlp.encode(content, unknown=UNKNOWN))
                    self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, PROTOBUF), str(reply))
                    self.check(otlp.decode(reply.body))
                    reply = self.post(server, otlp.encode_json(content, indent=1), JSON)
                    self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, JSON), str(reply))
                    self.check(otlp.decode_json(reply.body))
            self.check(otlp.decode(self.post(server, otlp.encode(self.message(zero=True))).body))
            self.check(otlp.decode(self.post(server, otlp.encode(self.message(), version=7)).body))
            self.check_the_same_as_the_program(server)

    def check_the_same_as_the_program(self, server):
        """Bytes and all."""
        last = symbol(self.path, "last_call")
        addresses = [symbol(self.path, "main").value, last.value + last.size, *self.addresses]
        content = self.message(addresses=addresses, stacks=[[1, 2], [2, 1], [3, 4, 5]])
        for data, kind in ((otlp.encode(content, unknown=UNKNOWN), PROTOBUF), (otlp.encode_json(content), JSON)):
            source = self.file("in.otlp", data)
            self.run_ok("symbolize", source, "-o", self.folder / "out.otlp", "-q", "--search", self.path, "--no-local")
            self.assertEqual(self.post(server, data, kind).body, (self.folder / "out.otlp").read_bytes())
        self.assertEqual(server.metric("sextant_otlp_leaf_and_caller_total"), 2 * 2)

    def test_compression_and_types(self):
        with Server(self.store) as server:
            self.upload(server)
            data = otlp.encode(self.message())
            self.check(otlp.decode(self.post(server, gzip.compress(data), Content_Encoding="gzip").body))
            reply = self.post(server, otlp.encode_json(self.message()), "application/json; charset=utf-8")
            self.assertEqual(reply.headers["Content-Type"], "application/json; charset=utf-8")
            self.check(otlp.decode_json(reply.body))
            self.assertEqual(self.post(server, data, "application/protobuf").headers["Content-Type"], "application/protobuf")
            reply = self.post(server, b"")
            self.assertEqual((reply.status, reply.body), (200, b""))

    def test_a_symbfile_that_lacks_the_segments(self):
        """Virtual addresses are found, and those of a file that is loaded where it is linked; no others."""
        record = otlp.number(12, 0x401000) + otlp.number(2, 0x100) + otlp.text(3, "pushed")
        data = b"symbfile\0\1" + otlp.varint(len(record)) + otlp.varint(2) + record
        headers = {"FileID": self.file_id, "FilePart": "0", "FileParts": "1"}
        content = Message()
        content.mappings += [Mapping(attributes={HTLHASH: self.file_id}),
                             Mapping(0x401000, 0x402000, 0x1000, "", {HTLHASH: self.file_id}),
                             Mapping(BASE, BASE + 0x1000, 0x3000, "", {HTLHASH: self.file_id})]
        content.locations += [Location(1, 0x401020), Location(2, 0x401030), Location(3, BASE + 0x40)]
        with Server(self.store) as server:
            reply = server.post("/api/symbols-ranges", data, headers=headers)
            self.assertEqual(reply.status, 200, str(reply))
            for first in (content.locations, [Location(), Location(), *content.locations[2:]]):
                content.locations = first
                filled = otlp.decode(self.post(server, otlp.encode(content)).body)
                names = [[frame[0] for frame in filled.frames(index)] for index in range(1, len(filled.locations))]
                self.assertEqual(names, [["pushed"] if first[1].mapping else [], ["pushed"], []])

    def test_the_program_asks_the_service(self):
        with Server(self.store) as server:
            self.upload(server)
            for attributes in ({GNU: self.build_id}, {GNU: "00" * 20, HTLHASH: self.file_id}):
                source = self.file("in.otlp", otlp.encode(self.message(attributes)))
                self.run_ok("symbolize", source, "-o", self.folder / "out.otlp", "-q", "--no-local", "--url", server.url,
                            env=NO_PROXY)
                self.check(otlp.decode((self.folder / "out.otlp").read_bytes()))

    def test_refusals(self):
        with Server(self.store) as server:
            for data, kind, status, code in ((b"\x12\x05\x0a", PROTOBUF, 400, "4012"), (b"{", JSON, 400, "4010"),
                                             (b"", JSON, 400, "4010"), (b"{}{}", JSON, 400, "4010"),
                                             (b"{}", "text/plain", 415, "3007"),
                                             (otlp.message(2, b"\x12\0" * (3 << 19)), PROTOBUF, 413, "3004")):
                reply = self.post(server, data, kind)
                self.assertEqual((reply.status, reply.code), (status, code), f"{data[:20]} {reply}")
            self.assertEqual(self.post(server, b"junk", Content_Encoding="gzip").status, 400)
            self.assertEqual(server.get(PATH).status, 405)

    def test_keys_and_tenants(self):
        keys = self.file("keys", "a:ka:upload,read:one\nb:kb:read:two\nc:kc:upload\n")
        with Server(self.store, "--api-key-file", keys, "--public-read") as server:
            self.upload(server, headers={"Authorization": "APIKey YTprYQ=="})
            data = otlp.encode(self.message())

            def post(key):
                return server.post(PATH, data, headers={"Content-Type": PROTOBUF, **({"Authorization": key} if key else {})})
            self.check(otlp.decode(post("APIKey YTprYQ==").body))
            self.assertEqual(post("APIKey YjprYg==").body, data, "another tenant's file is unknown")
            self.assertEqual(post(None).body, data)
        with Server(self.store, "--api-key-file", keys) as server:
            self.assertEqual(server.post(PATH, data, headers={"Content-Type": PROTOBUF}).status, 401)
            self.assertEqual(server.post(PATH, data, headers={"Authorization": "APIKey YzprYw=="}).status, 403)


class Forwarding(OtlpTest):
    def test_the_reply_is_passed_on(self):
        for status, body, kind in ((200, b"\x0a\0", PROTOBUF), (429, b'{"code":8}', JSON), (200, b"", PROTOBUF),
                                   (503, b"", "text/plain")):
            with Collector(status, body, kind, [("Retry-After", "7")]) as collector:
                with Server(self.store, "--forward", collector.url + "/some/path?x=1", env=NO_PROXY) as server:
                    reply = self.post(server, otlp.encode(self.message()))
                    self.assertEqual((reply.status, reply.body, reply.headers["Content-Type"], reply.headers["Retry-After"]),
                                     (status, body, kind, "7"))
                (path, headers, _), = collector.got
                self.assertEqual((path, headers["Content-Type"]), ("/some/path?x=1", PROTOBUF))

    def test_what_is_sent(self):
        with Collector() as collector, Server(self.store, "--forward", collector.url, env=NO_PROXY) as server:
            self.upload(server)
            self.post(server, otlp.encode(self.message(), unknown=UNKNOWN))
            self.post(server, gzip.compress(otlp.encode_json(self.message())), JSON, Content_Encoding="gzip",
                      Authorization="APIKey YTpi")
            (path, headers, data), (_, other, packed) = collector.got
            self.assertEqual(path, PATH)
            self.check(otlp.decode(data))
            self.assertEqual((other["Content-Type"], other["Content-Encoding"]), (JSON, "gzip"))
            self.assertNotIn("Authorization", other)
            self.check(otlp.decode_json(gzip.decompress(packed)))
            self.assertEqual(server.metric('sextant_forwards_total{outcome="sent"}'), 2)
            self.assertEqual(self.post(server, b"\x12\x05").status, 400, "what is damaged is not sent on")
            self.assertEqual(len(collector.got), 2)

    def test_a_server_that_is_away(self):
        with Collector() as collector:
            url = collector.url
        with Server(self.store, "--forward", url, env=NO_PROXY) as server:
            reply = self.post(server, otlp.encode(self.message()))
            self.assertEqual((reply.status, reply.code), (502, "1005"))
            self.assertEqual(server.metric('sextant_forwards_total{outcome="failed"}'), 1)

    def test_everybody_may_read_but_not_send(self):
        keys = self.file("keys", "a:ka\n")
        with Collector() as collector:
            options = ("--api-key-file", keys, "--public-read", "--forward", collector.url)
            with Server(self.store, *options, env=NO_PROXY) as server:
                self.assertEqual(self.post(server, otlp.encode(self.message())).status, 401)
                self.assertEqual(self.post(server, otlp.encode(self.message()), Authorization="APIKey YTprYQ==").status, 200)

    def test_what_is_no_url(self):
        self.run_usage("serve", "--store", self.store, "--listen", "127.0.0.1:0", "--forward", "collector:4318")


class Go(OtlpTest):
    def test_the_build_id_of_go(self):
        """Go makes the GNU build ID of a binary from its own."""
        go_id = "dPFhAkLbQGolBxS6Y2ew/oHE8Hy5riz_aigSWcIM6/spddK7Ga2UKwJN3X7x3k/0jQNfsvQ-BHwTX6NBYWV"
        made = self.program("-fPIE", "-pie", "-Wl,--build-id=0xd3b1c71bb299b75a1050f6d424a80b037edeaf53", name="go")
        for value, is_known in ((go_id, True), (go_id + "x/y", False), ("x", False), ("", False)):
            attributes = {GO: value}
            source = self.file("in.otlp", otlp.encode(self.message(attributes)))
            self.run_ok("symbolize", source, "-o", self.folder / "out.otlp", "-q", "--search", made, "--no-local")
            filled = otlp.decode((self.folder / "out.otlp").read_bytes())
            self.assertEqual(bool(filled.frames(1)), is_known, attributes)


if __name__ == "__main__":
    tap.main()
