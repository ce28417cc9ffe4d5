"""`sextant symbolize`: which file is taken for a mapping: by build ID, FileID and name, below folders and here."""

import base64
import hashlib
import os
import struct

from support import elf_reader, tap
from support.elf_writer import ElfWriter
from support.pprof import Location, Mapping, Profile
from support.symbolizing import SymbolizeTest, code_segment


class Files(SymbolizeTest):
    """Each file has one function, whose name says which file was taken."""

    ID = "00112233445566778899aabbccddeeff00112233"
    OTHER = "ff112233445566778899aabbccddeeff00112233"

    def setUp(self):
        super().setUp()
        self.store = self.folder / "store"
        self.store.mkdir()

    def elf(self, path, name, build_id=None, **keywords):
        writer = ElfWriter(**keywords)
        text = writer.text(address=0x401000, size=0x100)
        writer.symbol(name, 0x401000, 0x100, section=text)
        if build_id:
            writer.build_id(build_id)
        return self.file(path, writer.build())

    def archive_of(self, path, name):
        (self.folder / path).parent.mkdir(exist_ok=True)
        self.archive(self.elf("made.elf", name), name=path)
        (self.folder / "made.elf").unlink()

    def found(self, filename="", build_id="", options=(), address=0x401004, start=0, limit=0, offset=0):
        """The name of the one function that is found, None when none is."""
        profile = Profile([Mapping(1, start, limit, offset, str(filename), build_id)], [Location(1, 1, address)],
                          [([1], [1])])
        frames = self.symbolize(profile, "--search", self.store, *options).frames(1)
        return frames[0][0] if frames else None

    def test_by_build_id_wherever_it_is_and_whatever_it_is_called(self):
        self.elf("store/a/b/c/whatever", "right", self.ID)
        self.elf("store/a/program", "wrong", self.OTHER)
        self.assertEqual(self.found("/usr/bin/program", self.ID), "right")
        self.assertEqual(self.found("/usr/bin/program", self.ID.upper()), "right")
        self.assertEqual(self.found("", self.ID), "right")

    def test_a_file_with_another_build_id_is_not_taken(self):
        self.elf("store/program", "wrong", self.OTHER)
        self.assertIsNone(self.found("/usr/bin/program", self.ID))
        self.assertEqual(self.report["reasons"]["other_build_id"], 1)
        local = self.elf("local", "wrong", self.OTHER)
        self.assertIsNone(self.found(local, self.ID))
        self.assertEqual(self.report["reasons"]["other_build_id"], 1)

    def test_an_archive_that_is_called_like_the_build_id(self):
        self.elf("store/program", "wrong", self.ID)
        for ending in (".symbfile", ".lidia"):
            self.archive_of(f"store/deep/{self.ID}{ending}", f"right {ending}")
            self.assertEqual(self.found("/usr/bin/program", self.ID), f"right {ending}")

    def test_by_file_id(self):
        path = self.elf("store/some/where", "right", self.OTHER)
        data = path.read_bytes()
        file_id = hashlib.sha256(data[:4096] + data[-4096:] + struct.pack(">Q", len(data))).digest()[:16].hex()
        self.elf("store/program", "wrong")
        self.assertEqual(self.found("/usr/bin/program", file_id), "right")
        in_base64 = base64.urlsafe_b64encode(bytes.fromhex(file_id)).decode().rstrip("=")
        self.assertEqual(self.found("/usr/bin/program", in_base64), "right")
        self.archive_of(f"store/{in_base64}.lidia", "archive")
        self.assertEqual(self.found("/usr/bin/program", in_base64), "archive")

    def test_a_build_id_comes_before_a_file_id_and_that_before_a_name(self):
        path = self.elf("store/x/first", "by FileID")
        data = path.read_bytes()
        file_id = hashlib.sha256(data[:4096] + data[-4096:] + struct.pack(">Q", len(data))).digest()[:16].hex()
        self.archive_of("store/program.lidia", "by name")
        self.assertEqual(self.found("/usr/bin/program", "12" * 16), "by name")
        self.assertEqual(self.found("/usr/bin/program", file_id), "by FileID")
        self.elf("store/y/second", "by build ID", file_id)
        self.assertEqual(self.found("/usr/bin/program", file_id), "by build ID")

    def test_by_name(self):
        self.elf("store/lib/libfoo.so.1", "right")
        self.elf("store/lib/libfoo.so", "wrong")
        self.assertEqual(self.found("/usr/lib/libfoo.so.1"), "right")
        self.assertEqual(self.found("/usr/lib/libfoo.so.1 (deleted)"), "right")
        self.assertEqual(self.found("libfoo.so.1"), "right")
        self.assertIsNone(self.found("/usr/lib/libfoo.so.2"))

    def test_an_archive_comes_before_a_file_of_the_same_name(self):
        self.elf("store/program", "wrong")
        self.archive_of("store/program.lidia", "right")
        self.assertEqual(self.found("/usr/bin/program"), "right")

    def test_folders_that_are_alike(self):
        self.elf("store/a/bin/program", "bin")
        self.elf("store/b/usr/sbin/program", "usr/sbin")
        self.elf("store/c/opt/sbin/program", "opt/sbin")
        self.assertEqual(self.found("/usr/sbin/program"), "usr/sbin")
        self.assertEqual(self.found("/opt/sbin/program"), "opt/sbin")
        self.assertEqual(self.found("/x/bin/program"), "bin")

    def test_the_file_on_this_machine_comes_last(self):
        local = self.elf("local/program", "local", self.ID)
        self.assertEqual(self.found(local), "local")
        self.assertEqual(self.found(local, self.ID), "local")
        self.assertIsNone(self.found(local, options=["--no-local"]))
        self.elf("store/program", "searched")
        self.assertEqual(self.found(local), "searched")

    def test_a_single_file_can_be_searched(self):
        path = self.elf("elsewhere/program", "right", self.ID)
        profile = Profile([Mapping(1, 0, 0, 0, "/bin/other", self.ID)], [Location(1, 1, 0x401004)])
        self.assertEqual(self.symbolize(profile, "--search", path).frames(1), [("right", "", 0)])

    def test_links_to_folders_do_not_lead_in_circles(self):
        self.elf("store/a/program", "right")
        for name in ("up", "over"):
            (self.store / "a" / name).symlink_to(self.store)
        (self.store / "link").symlink_to(self.store / "a" / "program")
        os.mkfifo(self.store / "pipe")
        self.assertEqual(self.found("/x/program"), "right")
        self.assertEqual(self.found("/x/link"), "right")
        self.assertIsNone(self.found("/x/pipe", self.ID))

    def test_the_kernel(self):
        text = 0xFFFF_FFFF_8100_0000
        writer = ElfWriter()
        section = writer.text(address=text, size=0x4000)
        writer.symbol("_text", text, 0, type=0, section=section)
        writer.symbol("do_syscall_64", text + 0x1000, 0x100, section=section)
        self.file("store/boot/vmlinux-6.1.0", writer.build())
        inside, moved = text + 0x1010, 0x1A600000
        for name, start, offset, bias in (
            ("[kernel.kallsyms]", text, 0, 0),
            ("[kernel.kallsyms]", text + moved, 0, moved),
            ("[kernel.kallsyms]_text", 0xFFFF_FFFF_8000_0000, text, 0),
            ("[kernel.kallsyms]_text", text + moved, text + moved, moved),
            ("[kernel.kallsyms]_stext", text + moved, text + moved + 0x1000, moved),
            ("/boot/vmlinux-6.1.0", text, 0x200000, 0),
            ("[kernel.kallsyms]", 0, 0, 0),
        ):
            with self.subTest(name=name, start=hex(start), offset=hex(offset)):
                found = self.found(name, address=inside + bias, start=start, limit=(1 << 64) - 4096, offset=offset)
                self.assertEqual(found, "do_syscall_64")
        self.archive(self.store / "boot/vmlinux-6.1.0", name="store/vmlinux.lidia")
        (self.store / "boot/vmlinux-6.1.0").unlink()
        found = self.found("[kernel.kallsyms]_text", address=inside + moved, start=text + moved, limit=(1 << 64) - 4096,
                           offset=text + moved)
        self.assertEqual(found, "do_syscall_64")

    def test_a_kernel_module(self):
        writer = ElfWriter(type=elf_reader.ET_REL)
        section = writer.text(address=0, size=0x100)
        writer.symbol("module_init", 0x40, 0x20, section=section)
        self.file("store/kernel/some.ko", writer.build())
        start = 0xFFFF_FFFF_C020_0000
        self.assertEqual(self.found("[some]", address=start + 0x44, start=start, limit=start + 0x1000), "module_init")

    def test_the_vdso(self):
        self.elf("store/vdso/vdso64.so", "clock_gettime", self.ID)
        start = 0x7FFF_1234_5000
        code = code_segment(self.store / "vdso/vdso64.so")
        for build_id in (self.ID, ""):
            found = self.found("[vdso]", build_id, address=start + code.offset + 4, start=start, limit=start + 0x2000)
            self.assertEqual(found, "clock_gettime")


if __name__ == "__main__":
    tap.main()
