"""Plain traces have checksums in reserved bytes of the header: damage is found, and other readers do not see them."""

import json
import random
import struct
import subprocess

from support import sextant, tap
from support.mlyze_writer import EXAMPLE_EVENTS, EXAMPLE_METADATA, EXAMPLE_START, plain

BEGINNING, DIGITS = b'{ "checksums":"crc32c ', 274


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Sums(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "a.mlyze"

    def with_sums(self, events, metadata, name="a.mlyze"):
        """A copy of a trace whose metadata has room for checksums, as sextant's recordings have."""
        text = BEGINNING + DIGITS * b"0" + b'", ' + metadata[1:]
        bare = self.file("p.mlyze", plain(events, EXAMPLE_START, text))
        self.assertEqual(self.problems(bare.read_bytes()), (0, []))
        self.run_ok("convert", "--decompress", bare, "-o", self.folder / name)
        return (self.folder / name).read_bytes()

    def problems(self, content):
        result = sextant.run("verify", "--json", self.file("checked.mlyze", content))
        self.assert_no_crash(result)
        return result.status, [(line["rule"], line["offset"]) for line in result.json_lines() if "rule" in line]

    def test_the_bytes_are_as_documented(self):
        content = self.with_sums(EXAMPLE_EVENTS, EXAMPLE_METADATA)
        bare = (self.folder / "p.mlyze").read_bytes()
        start = 256 + len(BEGINNING)
        self.assertEqual(content[:start], bare[:start])
        self.assertEqual(content[start + DIGITS :], bare[start + DIGITS :])
        size = struct.unpack_from("<I", content, 16)[0]
        parts = [crc32c(bare[256 + size :]), *[0] * 31]
        wanted = f"{crc32c(bare[:256]):08x}{crc32c(bare[256 : 256 + size]):08x}10" + "".join(f"{one:08x}" for one in parts)
        self.assertEqual(content[start : start + DIGITS].decode(), wanted)
        self.assertEqual(self.problems(content), (0, []))

    def test_verify_finds_every_changed_byte(self):
        content = self.with_sums(EXAMPLE_EVENTS, EXAMPLE_METADATA)
        places = [*range(0, 300, 9), *random.Random(1).sample(range(300, len(content)), 40)]
        if sextant.EVERYTHING:
            places = range(len(content))
        for at in places:
            with self.subTest(at=at):
                changed = bytearray(content)
                changed[at] ^= 0x20
                status, found = self.problems(bytes(changed))
                self.assertEqual(status, 1, found)

    def test_heap_warns_and_goes_on(self):
        content = bytearray(self.with_sums(EXAMPLE_EVENTS, EXAMPLE_METADATA))
        size = struct.unpack_from("<I", content, 16)[0]
        for at, what in ((9, "header"), (content.index(b"main.py"), "metadata"), (256 + size + 7, "events")):
            with self.subTest(what=what):
                changed = bytearray(content)
                changed[at] ^= 2
                result = self.run_warned("heap", "--json", self.file("changed.mlyze", bytes(changed)))
                self.assertIn(f"the checksum of the {what}", result.err)
                self.assertIn("(offset 0x", result.err)
                self.assertEqual(result.json_lines()[-1]["events"], len(EXAMPLE_EVENTS))

    def test_dump_and_info_fail_after_everything(self):
        content = bytearray(self.with_sums(EXAMPLE_EVENTS, EXAMPLE_METADATA))
        size = struct.unpack_from("<I", content, 16)[0]
        good = self.run_ok("dump", "--json", self.path)
        for at, what in ((9, "header"), (content.index(b"main.py"), "metadata"), (256 + size + 7, "events")):
            changed = bytearray(content)
            changed[at] ^= 2
            path = self.file("changed.mlyze", bytes(changed))
            for arguments in (("dump", "--json"), ("dump",), ("info", "--json"), ("heap", "--address", "0x1000")):
                with self.subTest(what=what, arguments=arguments):
                    result = sextant.run(*arguments, path)
                    self.assert_no_crash(result)
                    self.assertEqual(result.status, 1)
                    self.assertIn(f"changed.mlyze: the checksum of the {what}", result.err)
                    self.assertIn("(offset 0x", result.err)
                    if arguments == ("dump", "--json"):
                        self.assertEqual(len(result.json_lines()), len(good.json_lines()))
                    if arguments == ("info", "--json"):
                        self.assertEqual(result.json_lines()[-1]["events"], len(EXAMPLE_EVENTS))

    def test_a_copy_does_not_hide_the_damage(self):
        content = bytearray(self.with_sums(EXAMPLE_EVENTS, EXAMPLE_METADATA))
        size = struct.unpack_from("<I", content, 16)[0]
        for at in (9, content.index(b"main.py"), 256 + size + 7):
            changed = bytearray(content)
            changed[at] ^= 2
            path = self.file("changed.mlyze", bytes(changed))
            result = self.run_error("convert", "--compress", path, "-o", self.folder / "no.mlyze", naming=path)
            self.assertIn("the checksum of", result.err)
            self.run_ok("convert", "--recover", "--compress", path, "-o", self.folder / "yes.mlyze")

    def test_parts_of_a_long_file(self):
        """More than 32 parts of 64 KiB: each two become one."""
        events = [("alloc", EXAMPLE_START + i, 4096 + 64 * i, 1 << 20, 0, 0) for i in range(170_000)]
        content = self.with_sums(events, EXAMPLE_METADATA)
        power = int(content[256 + len(BEGINNING) + 16 :][:2], 16)
        self.assertEqual(power, 17)
        self.assertEqual(self.problems(content), (0, []))
        start = 256 + struct.unpack_from("<I", content, 16)[0]
        for part in (0, 7, (len(content) - 1 - start) >> power):
            changed = bytearray(content)
            at = start + (part << power) + 1
            changed[at + 3] ^= 1
            status, found = self.problems(bytes(changed))
            self.assertEqual(status, 1)
            self.assertIn(("checksum", start + (part << power)), found)
        cut = content[: start + (12 << power)]
        self.assertIn("checksum", [rule for rule, _ in self.problems(cut)[1]])

    def test_files_without_them_stay_as_they_are(self):
        bare = plain(EXAMPLE_EVENTS, EXAMPLE_START, EXAMPLE_METADATA)
        path = self.file("bare.mlyze", bare)
        self.assertEqual(self.problems(bare), (0, []))
        for middle in ("--compress", "--decompress"):
            self.run_ok("convert", middle, path, "-o", self.folder / "m.mlyze")
            self.run_ok("convert", "--decompress", self.folder / "m.mlyze", "-o", self.folder / "again.mlyze")
            self.assertEqual((self.folder / "again.mlyze").read_bytes(), bare)

    def test_metadata_that_is_written_again_has_none(self):
        content = self.with_sums(EXAMPLE_EVENTS, EXAMPLE_METADATA)
        size = struct.unpack_from("<I", content, 16)[0]
        metadata = json.loads(content[256 : 256 + size])
        metadata["files"]["0"] = "/app/other.py"
        for separators in ((", ", ": "), (",", ":")):
            text = json.dumps(metadata, separators=separators).encode()
            changed = content[:16] + struct.pack("<I", len(text)) + content[20:256] + text + content[256 + size :]
            self.assertEqual(self.problems(changed), (0, []))
            self.run_ok("heap", "--json", self.file("changed.mlyze", changed))

    def test_a_pipe_has_none(self):
        content = self.with_sums(EXAMPLE_EVENTS, EXAMPLE_METADATA)
        result = subprocess.run([sextant.program(), "convert", "--decompress", self.path, "-o", "-"], stdout=subprocess.PIPE)
        self.assertEqual(result.stdout, (self.folder / "p.mlyze").read_bytes())
        self.assertNotEqual(result.stdout, content)
        self.assertEqual(self.problems(result.stdout), (0, []))

    def test_recordings_have_them(self):
        trace = self.folder / "r.mlyze"
        result = sextant.run("record", "-o", trace, "--", "/bin/sh", "-c", "true")
        self.assertEqual(result.status, 0)
        self.run_ok("convert", "--decompress", trace, "-o", self.path)
        content = bytearray(self.path.read_bytes())
        self.assertEqual(content[256:].index(BEGINNING), 0)
        self.assertEqual(self.problems(bytes(content)), (0, []))
        content[-1] ^= 1
        self.assertEqual(self.problems(bytes(content))[0], 1)

    def test_they_survive_compression(self):
        content = self.with_sums(EXAMPLE_EVENTS, EXAMPLE_METADATA)
        self.run_ok("convert", "--compress", self.path, "-o", self.folder / "m.mlyze")
        self.run_ok("convert", "--decompress", self.folder / "m.mlyze", "-o", self.folder / "again.mlyze")
        self.assertEqual((self.folder / "again.mlyze").read_bytes(), content)


if __name__ == "__main__":
    tap.main()
