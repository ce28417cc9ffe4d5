"""Parts of symbfiles: the headers, the replies, and what is stored."""

import base64
import concurrent.futures
import gzip
import shutil
import subprocess

from support import sextant, tap
from support.service import Server, store_folder

RANGES, PADS = "/api/symbols-ranges", "/api/symbols-returnpads"
HEADER = b"symbfile\0\1"


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(kind, body):
    return varint(len(body)) + varint(kind) + body


def text(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value.encode()


def number(which, value):
    return varint(which << 3) + varint(value)


def ranges(*records):
    """A symbfile of functions: (address, length, name)."""
    out = HEADER
    for address, length, name in records:
        out += message(2, number(12, address) + number(2, length) + text(3, name))
    return out


def pads(*records):
    """A symbfile of return pads: (address, name), with a string table of their names."""
    out = HEADER + message(4, text(1, "") + b"".join(text(1, name) for _, name in records))
    for i, (address, _) in enumerate(records):
        columns = b"".join(varint(which << 3 | 2) + b"\1" + varint(value) for which, value in ((2, i + 1), (3, 0), (4, 7)))
        out += message(3, number(5, address) + columns)
    return out


PART = ranges((0x1000, 16, "first"), (0x1010, 16, "second"))
FILE_ID = "d--nFqkSpJIXRFeHMp_Smg"


class UploadTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.store = store_folder(self)

    def serve(self, *options, **keywords):
        server = Server(self.store, *options, **keywords)
        self.addCleanup(server.stop)
        return server

    def upload(self, server, body=PART, path=RANGES, part=0, parts=1, file_id=FILE_ID, key=None, **more):
        headers = {"FileID": file_id, "FilePart": str(part), "FileParts": str(parts)}
        headers.update({name.replace("_", "-"): value for name, value in more.items()})
        return server.post(path, body, headers=headers, key=key)

    def assert_stored(self, reply):
        self.assertEqual((reply.status, reply.body), (200, b'{"success":true,"status":200}'), reply)
        self.assertEqual(reply.headers["Content-Type"], "application/json")

    def assert_refused(self, reply, code, status=400):
        self.assertEqual((reply.status, reply.code), (status, str(code)), reply)

    def assert_merged(self, server, count):
        self.assertEqual(server.metric("sextant_merges_total"), count)

    def stored(self, word):
        """The names of objects in the store with this word in their path."""
        return sorted(path.name for path in self.store.rglob("*") if path.is_file() and word in path.parts)


class Headers(UploadTest):
    def test_are_needed(self):
        server = self.serve()
        good = {"FileID": FILE_ID, "FilePart": "0", "FileParts": "1"}
        for missing, code in (("FileID", 4000), ("FilePart", 4002), ("FileParts", 4002)):
            headers = {name: value for name, value in good.items() if name != missing}
            refused = server.post(RANGES, PART, headers=headers)
            self.assert_refused(refused, code)
            self.assertIn(missing, refused.json["error"]["Text"])
        lower = {name.lower(): value for name, value in good.items()}
        self.assert_stored(server.post(RANGES, PART, headers=lower))

    def test_have_ids_in_all_spellings(self):
        server = self.serve()
        raw = base64.urlsafe_b64decode(FILE_ID + "==")
        for file_id in (FILE_ID, FILE_ID + "==", raw.hex(), raw.hex().upper()):
            self.assert_stored(self.upload(server, file_id=file_id))
        names = {path.name for path in self.store.rglob("f.*")}
        self.assertEqual(names, {"f." + raw.hex()})

    def test_refuse_malformed_ids(self):
        server = self.serve()
        for file_id in ("", "x", FILE_ID[:-1], FILE_ID + "A", FILE_ID[:-1] + "/", "0" * 31, "0" * 33, "0" * 31 + "g",
                        "../../../etc/passwd", "f." + "0" * 32, FILE_ID[:-1] + "h", " ", "0x" + "0" * 30):
            self.assert_refused(self.upload(server, file_id=file_id), 4000)
        for build_id in ("x", "abc", "", "../../..", "a" * 300, "0x12", "ab cd"):
            self.assert_refused(self.upload(server, BuildID=build_id), 4001)
        for build_id in ("ab", "AB" * 20, "00" * 64):
            self.assert_stored(self.upload(server, BuildID=build_id))

    def test_refuse_malformed_numbers(self):
        server = self.serve("--parts-limit", "50")
        for part, parts in (("1", "1"), ("2", "1"), ("-1", "1"), ("0", "0"), ("", "1"), ("0", ""), ("a", "1"), ("0", "1x"),
                            ("0.0", "1"), ("+0", "1"), ("0x0", "1"), ("4294967296", "4294967297"), ("0", "99999999999999")):
            self.assert_refused(self.upload(server, part=part, parts=parts), 4002)
        self.assert_refused(self.upload(server, part=0, parts=51), 4003)
        self.assert_stored(self.upload(server, part=49, parts=50))

    def test_refuse_malformed_generations(self):
        server = self.serve()
        for generation in ("", "a b", "x" * 129, "a\tb"):
            self.assert_refused(self.upload(server, Generation=generation), 4004)
        self.assert_stored(self.upload(server, Generation="ab12" * 16))


class Content(UploadTest):
    def test_is_checked_while_it_arrives(self):
        server = self.serve()
        for body in (b"", b"s", b"symbfile", b"symbfilX\0\1", HEADER[:-1], PART[:-1], PART + b"\5", PART + b"\1\1\0",
                     HEADER + b"\0\0", HEADER + HEADER[8:], b"\x7fELF" + bytes(100), HEADER + b"\xff" * 20,
                     HEADER + message(2, b""), HEADER + message(3, number(5, 1) + b"\x12\1\5\x1a\1\5\x22\1\1"),
                     gzip.compress(PART)):
            self.assert_refused(self.upload(server, body), 4005)
        self.assertEqual(self.stored("part"), [])
        self.assertEqual(server.metric('sextant_upload_parts_total{outcome="refused"}'), 15)

    def test_may_be_large_and_compressed(self):
        server = self.serve()
        whole = ranges(*((0x1000 + 16 * i, 16, f"function_{i:06}_{'x' * 50}") for i in range(12_000)))
        self.assertGreater(len(whole), 900_000)
        bodies = {"identity": whole, "gzip": gzip.compress(whole, 1)}
        if shutil.which("zstd"):
            bodies["ZSTD"] = subprocess.run(["zstd", "-c"], input=whole, capture_output=True, check=True).stdout
        bodies["x-gzip"] = gzip.compress(whole[:500_000]) + gzip.compress(whole[500_000:])
        for i, (encoding, body) in enumerate(bodies.items()):
            self.assert_stored(self.upload(server, body, file_id=f"{i:032x}", Content_Encoding=encoding))
        self.assert_merged(server, len(bodies))

    def test_may_have_both_kinds_of_records(self):
        server = self.serve()
        both = PART + pads((0x1004, "pad"))[len(HEADER):]
        self.assert_stored(self.upload(server, both))
        self.assert_stored(self.upload(server, both, path=PADS))
        self.assert_stored(self.upload(server, HEADER, file_id="1" * 32))


class Sets(UploadTest):
    def test_are_merged_when_they_are_complete(self):
        server = self.serve()
        for part in (2, 0):
            self.assert_stored(self.upload(server, ranges((0x1000 * (part + 1), 16, f"f{part}")), part=part, parts=3))
        self.assert_merged(server, 0)
        self.assert_stored(self.upload(server, ranges((0x2000, 16, "f1")), part=1, parts=3))
        self.assert_merged(server, 1)
        self.assertEqual(server.metric('sextant_upload_parts_total{outcome="stored"}'), 3)

    def test_come_from_several_clients_at_once(self):
        server = self.serve()
        parts = 24
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            replies = list(clients.map(lambda part: self.upload(
                server, ranges((0x1000 * (part + 1), 16, f"f{part}")), part=part, parts=parts), range(parts)))
        for reply in replies:
            self.assert_stored(reply)
        # Several requests may see that the set is complete.
        self.assertGreaterEqual(server.metric("sextant_merges_total"), 1)

    def test_of_pads_are_separate(self):
        server = self.serve()
        self.assert_stored(self.upload(server, part=0, parts=2))
        self.assert_stored(self.upload(server, pads((0x1004, "pad")), path=PADS, part=1, parts=2))
        self.assert_merged(server, 0)
        self.assert_stored(self.upload(server, pads((0x1008, "pad")), path=PADS, part=0, parts=2))
        self.assert_merged(server, 1)

    def test_of_tenants_are_separate(self):
        server = self.serve("--api-key-file", self.file("keys", "a:1::one\nb:2::two\n"))
        self.assert_stored(self.upload(server, part=0, parts=2, key="a:1"))
        self.assert_stored(self.upload(server, part=1, parts=2, key="b:2"))
        self.assert_merged(server, 0)
        self.assert_stored(self.upload(server, part=1, parts=2, key="a:1"))
        self.assert_merged(server, 1)

    def test_of_a_tenant_need_its_key_with_the_scope_to_read(self):
        keys = self.file("keys", "up:1:upload:one\nboth:2::one\nother:3::two\nnone:4\n")
        server = self.serve("--api-key-file", keys, "--public-read")
        self.assert_stored(self.upload(server, key="up:1"))
        question = {"file_id": FILE_ID, "addresses": ["0x1004"]}
        self.assertEqual(server.post("/api/symbolize", question, key="both:2").json["frames"][0][0]["function"], "first")
        for key in ("up:1", "other:3", "none:4", None):
            self.assert_refused(server.post("/api/symbolize", question, key=key), 3002, 404)

    def test_go_on_after_a_restart(self):
        with Server(self.store) as server:
            self.assert_stored(self.upload(server, part=0, parts=2))
        server = self.serve()
        self.assert_stored(self.upload(server, ranges((0x2000, 16, "f")), part=1, parts=2))
        self.assert_merged(server, 1)


if __name__ == "__main__":
    tap.main()
