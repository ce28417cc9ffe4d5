"""`archive -f size`, `size`, `diff` and `query` of Android packages and other zip files.

What is in them is written by support/android_writer.py, which says what each part takes; Python's zipfile says how it
is stored. So every byte of a file is accounted for twice.
"""

import io
import shutil
import struct
import subprocess
import tempfile
import unittest
import zipfile

from support import android_writer as android
from support import samples, sextant, size_writer, tap
from support.android_writer import Class, Dex, Field, Method

MANIFEST = ("AndroidManifest.xml", b"\x03\x00\x08\x00\x08\x00\x00\x00")
LONG = "a text that is longer than thirty characters"


def classes():
    used = (("java.lang.Object", Method("<init>")), ("java.util.List", Method("add", "boolean", ("java.lang.Object",))))
    return [
        Class("org.a.B", interfaces=("java.lang.Runnable",),
              static_fields=(Field("COUNT", "int", 7), Field("name", "java.lang.String")), fields=(Field("x", "long[]"),),
              methods=(Method("<init>", calls=used),
                       Method("help", "int", ("int", "java.lang.String[][]"), ("hello", LONG), catches=True)),
              virtual_methods=(Method("run", strings=(LONG,), has_debug=False),)),
        Class("org.a.C", interfaces=("java.lang.Runnable",), methods=(Method("<clinit>", strings=("hello", "naïve")),),
              virtual_methods=(Method("abstractly", has_code=False),)),
        Class("Empty"),
    ]  # fmt: skip


def zip_of(entries, compression=zipfile.ZIP_STORED, **options):
    """ENTRIES: (name or ZipInfo, content)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression, **options) as file:
        for name, content in entries:
            file.writestr(name, content)
    return out.getvalue()


def library(folder):
    """A shared library with a symbol table and debug information."""
    return samples.compile_c(folder, "libfoo.so", "-shared", "-fPIC", "-g", "-Wl,--build-id").read_bytes()


class PackageTest(sextant.ProgramTest):
    def make(self, content, name="app.apk", warned=False):
        path = self.file(name, content)
        out = self.folder / "out.size"
        self.result = sextant.run("archive", path, "-o", out)
        self.assert_no_crash(self.result)
        self.assertEqual((self.result.status, "warning: " in self.result.err), (0, warned), f"\n{self.result}")
        return self.read(out)

    def read(self, path):
        self.run_ok("verify", "-q", path)
        header, *symbols = self.run_ok("dump", "--json", path).json_lines()
        header = header["header"]
        self.containers = {one["name"]: one for one in header.get("containers", [])} or {"": header}
        self.symbols = symbols
        self.check_sections()
        return symbols

    def check_sections(self):
        """Symbols add up to their section, in each container."""
        sums = {}
        for one in self.symbols:
            key = (one["container"], one["section"])
            sums[key] = sums.get(key, 0) + one["size"] / one["aliases"]
        for (container, section), total in sums.items():
            self.assertEqual(self.containers[container]["section_sizes"][section], round(total), (container, section))

    def check_total(self, content):
        """Symbols, what the metadata has, and what compression saved are the file."""
        (package,) = [one for one in self.containers.values() if "zipalign_padding" in one["metadata"]]
        saved = 0
        for metrics in package["metrics_by_file"].values():
            for key, value in metrics.items():
                saved += value if key.endswith(" (expanded)") else -value if key.endswith(" (stored)") else 0
        total = sum(one["size"] / one["aliases"] for one in self.symbols
                    if one["section"] not in size_writer.BSS)  # fmt: skip
        metadata = package["metadata"]
        total += metadata["zipalign_padding"] + metadata["apk_signature_block_size"] - saved
        self.assertEqual(round(total), len(content))
        self.assertEqual(sum(m.get("SIZE/APK File", 0) for m in package["metrics_by_file"].values()), len(content))

    def in_section(self, section):
        return {one["full_name"]: one for one in self.symbols if one["section"] == section}


class Zip(PackageTest):
    def test_an_entry_has_its_stored_size_and_its_path(self):
        content = zip_of([MANIFEST, ("res/a.xml", b"x" * 1000), ("res/", b"")], zipfile.ZIP_DEFLATED)
        self.make(content)
        self.check_total(content)
        other = self.in_section(".other")
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            for entry in file.infolist():
                self.assertEqual(other[entry.filename]["size"], entry.compress_size)
                self.assertEqual(other[entry.filename]["source_path"], f"$APK/{entry.filename}")
                self.assertEqual(other[entry.filename]["name"], entry.filename)
        overhead = len(content) - sum(entry.compress_size for entry in file.infolist())
        self.assertEqual(other["Overhead: APK file"]["size"], overhead)
        self.assertEqual(self.containers[""]["metadata"]["apk_file_name"], "app.apk")

    def test_alignment_and_the_signing_block_are_metadata(self):
        info = zipfile.ZipInfo("assets/a.bin")
        info.extra = bytes(3)
        content, block = android.add_signing_block(zip_of([MANIFEST, (info, b"12345")]))
        self.make(content)
        self.check_total(content)
        metadata = self.containers[""]["metadata"]
        self.assertEqual(metadata["apk_signature_block_size"], block)
        self.assertEqual(metadata["zipalign_padding"], 6)  # in both headers

    def test_bytes_before_the_directory_that_are_no_signing_block_are_overhead(self):
        content, block = android.add_signing_block(zip_of([MANIFEST]))
        content = content.replace(b"APK Sig Block 42", b"APK Sig Block 43")
        self.make(content)
        self.check_total(content)
        self.assertEqual(self.containers[""]["metadata"]["apk_signature_block_size"], 0)

    def test_comments_descriptors_and_zip64(self):
        out = io.BytesIO()
        pipe = io.BufferedWriter(Unseekable(out))
        with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(*MANIFEST)
            with file.open("wide.txt", "w", force_zip64=True) as entry:
                entry.write(b"abc" * 500)
            file.comment = b"a comment of the archive"
        pipe.flush()
        self.make(out.getvalue())
        self.check_total(out.getvalue())
        self.assertIn("wide.txt", self.in_section(".other"))

    def test_a_signing_block_after_a_data_descriptor_is_measured(self):
        out = io.BytesIO()
        pipe = io.BufferedWriter(Unseekable(out))
        with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a.txt", b"abc" * 500)
        pipe.flush()
        content, block = android.add_signing_block(out.getvalue())
        self.make(content)
        self.check_total(content)
        self.assertEqual(self.containers[""]["metadata"]["apk_signature_block_size"], block)

    def test_a_zip_file_without_entries(self):
        content = zip_of([])
        self.make(content)
        self.check_total(content)

    def test_names_cannot_break_a_size_file(self):
        names = ["a\tb\nc", "../../etc/passwd", "/absolute", "grün", "x" * 3000, "a//b"]
        content = zip_of([(name, name.encode()) for name in names])
        raw = content.replace("grün".encode(), b"gr\xff\xfen", 2)
        self.make(raw)
        self.check_total(raw)
        self.assertIn("a b c", self.in_section(".other"))
        self.assertIn("../../etc/passwd", self.in_section(".other"))


class Unseekable(io.RawIOBase):
    """What zipfile writes data descriptors for."""

    def __init__(self, out):
        self.out = out

    def writable(self):
        return True

    def seekable(self):
        return False

    def write(self, data):
        return self.out.write(bytes(data))


class DexFiles(PackageTest):
    def check(self, dex, compression):
        content = zip_of([MANIFEST, ("classes.dex", dex.data)], compression)
        self.make(content)
        self.check_total(content)
        methods, rest = self.in_section(".dex.method"), self.in_section(".dex")
        self.assertEqual({name: one["size"] for name, one in methods.items()},
                         {name: size for name, size in dex.sizes.items() if ")" in name})  # fmt: skip
        self.assertEqual({name: one["size"] for name, one in rest.items() if name[0] not in '"*' and name[:6] != "string"},
                         {name: size for name, size in dex.sizes.items() if ")" not in name})  # fmt: skip
        sizes = self.containers[""]["section_sizes"]
        self.assertEqual(sizes[".dex"] + sizes[".dex.method"], len(dex.data))
        self.assertEqual(sizes[".dex.method"], sum(one["size"] for one in methods.values()))

    def test_stored(self):
        self.check(Dex(classes()), zipfile.ZIP_STORED)

    def test_deflated(self):
        self.check(Dex(classes(), "039"), zipfile.ZIP_DEFLATED)

    def test_names_and_paths(self):
        self.make(zip_of([MANIFEST, ("classes.dex", Dex(classes()).data)]))
        method = self.in_section(".dex.method")["org.a.B#help(int,java.lang.String[][]): int"]
        self.assertEqual(method["object_path"], "$APK/org/a/B")
        self.assertEqual(method["template_name"], "org.a.B#help")
        self.assertEqual(method["name"], "B#help")
        self.assertIn("java.util.List#add(java.lang.Object): boolean", self.in_section(".dex.method"))

    def test_literals_belong_to_the_classes_that_load_them(self):
        dex = Dex(classes())
        self.make(zip_of([MANIFEST, ("classes.dex", dex.data)]))
        found = {}
        for one in self.symbols:
            if one["section"] == ".dex" and (one["full_name"][0] == '"' or one["full_name"] == "string literal"):
                found.setdefault(one["full_name"], []).append(one)
        self.assertEqual(set(found), {'"hello"', f'"{LONG[:27]}"...', "string literal"})
        self.assertEqual({one["source_path"] for one in found['"hello"']}, {"$APK/org/a/B", "$APK/org/a/C"})
        self.assertEqual([one["aliases"] for one in found['"hello"']], [2, 2])
        self.assertEqual(found['"hello"'][0]["size"], dex.literals["hello"][0])
        self.assertEqual(found["string literal"][0]["size"], dex.literals["naïve"][0])
        self.assertEqual(found['"hello"'][0]["object_path"], "$SYSTEM/app.apk")

    def test_a_literal_of_many_classes_has_a_shared_path(self):
        many = [Class(f"org.a.part{i}.User", methods=(Method("<clinit>", strings=("everywhere",)),)) for i in range(7)]
        self.make(zip_of([MANIFEST, ("classes.dex", Dex(many).data)]))
        literal = self.in_section(".dex")['"everywhere"']
        self.assertEqual((literal["aliases"], literal["source_path"]), (1, "$APK/org/a/{shared}/7"))

    def test_strings_of_names_are_counted_together(self):
        dex = Dex(classes())
        self.make(zip_of([MANIFEST, ("classes.dex", dex.data)]))
        loaded, size = set(dex.literals), lambda texts: sum(4 + len(Dex.string_data(text)) for text in texts)
        types = set(dex.types) - loaded
        members = {one[1] for one in dex.methods + dex.fields} - loaded - types
        protos = {android.shorty(one) for one in dex.protos} - loaded - types - members
        rest = self.in_section(".dex")
        self.assertEqual(rest["** .dex (type strings)"]["size"], size(types))
        self.assertEqual(rest["** .dex (method and field strings)"]["size"], size(members))
        self.assertEqual(rest["** .dex (prototype strings)"]["size"], size(protos))

    def test_metrics_are_those_of_the_map(self):
        dex = Dex(classes())
        self.make(zip_of([MANIFEST, ("classes.dex", dex.data)]))
        metrics = self.containers[""]["metrics_by_file"]["classes.dex"]
        self.assertEqual(metrics["COUNT/METHOD_ID"], len(dex.methods))
        self.assertEqual(metrics["SIZE/METHOD_ID"], 8 * len(dex.methods))
        self.assertEqual(metrics["COUNT/CODE"], dex.items[0x2001][0])
        self.assertEqual(metrics["SIZE/HEADER"], 112)
        self.assertEqual(sum(value for key, value in metrics.items() if key.startswith("SIZE/")), len(dex.data))

    def test_what_several_files_have_is_one_symbol(self):
        first = Dex([Class("a.A", methods=(Method("<init>", calls=(("b.B", Method("<init>")),)),))])
        second = Dex([Class("b.B", methods=(Method("<init>"),))])
        content = zip_of([MANIFEST, ("classes.dex", first.data), ("classes2.dex", second.data)])
        self.make(content)
        self.check_total(content)
        methods = self.in_section(".dex.method")
        self.assertEqual(len([one for one in self.symbols if one["section"] == ".dex.method"]), 2)
        self.assertEqual(methods["b.B#<init>()"]["size"], 8 + second.sizes["b.B#<init>()"])

    def test_classes_that_compilers_make(self):
        names = ["a.B$$InternalSyntheticLambda$0$81073ff6$0", "a.B$$ExternalSyntheticLambda3", "a.B$$SyntheticOutline0"]
        self.make(zip_of([MANIFEST, ("classes.dex", Dex([Class(name) for name in names]).data)]))
        paths = {name: one["object_path"] for name, one in self.in_section(".dex").items()}
        self.assertEqual(paths["a.B$$InternalSyntheticLambda$0"], "$APK/a/B$$InternalSyntheticLambda$0$81073ff6$0")
        self.assertEqual(paths["a.B$$ExternalSyntheticLambda3"], "$APK/a/B$$ExternalSyntheticLambda3")
        self.assertEqual(paths["a.B$$SyntheticOutline0"], "$APK/$OUTLINES/a/B$$SyntheticOutline0")

    def test_damage_costs_a_part(self):
        dex = Dex(classes())
        _, offset = dex.items[0x2000]
        data = bytearray(dex.data)
        data[offset : offset + 4] = b"\xff\xff\xff\x7f"
        self.make(zip_of([MANIFEST, ("classes.dex", bytes(data))]), warned=True)
        self.assertIn("classes.dex: the fields and methods of a class are damaged (offset 0x", self.result.err)
        sizes = self.containers[""]["section_sizes"]
        self.assertEqual(sizes[".dex"] + sizes[".dex.method"], len(dex.data))

    def test_what_is_not_a_dex_file_is_an_ordinary_entry(self):
        content = zip_of([MANIFEST, ("classes.dex", b"not a dex file"), ("cut.dex", Dex(classes()).data[:300])])
        self.make(content, warned=True)
        self.check_total(content)
        self.assertIn("classes.dex: not a dex file", self.result.err)
        self.assertIn("cut.dex: the dex file is cut off", self.result.err)
        self.assertEqual(self.in_section(".other")["classes.dex"]["size"], 14)

    @unittest.skipUnless(shutil.which("dexdump"), "dexdump is not installed")
    def test_dexdump_finds_the_same_methods(self):
        path = self.file("classes.dex", Dex(classes()).data)
        text = subprocess.run(["dexdump", path], capture_output=True, text=True, check=True).stdout
        self.make(zip_of([MANIFEST, ("classes.dex", path.read_bytes())]))
        listed = [line.split("'")[1] for line in text.splitlines() if line.strip().startswith("name ")]
        names = {name.split("#")[1].split("(")[0].split(":")[0] for name in [*self.in_section(".dex.method"),
                 *self.in_section(".dex")] if "#" in name}  # fmt: skip
        self.assertEqual(set(listed) - names, set())


class Resources(PackageTest):
    def arsc(self):
        french = android.configuration(at8=b"fr", at10=b"CA")
        return android.table([
            android.string_pool(["app", "res/a.xml"]),
            android.package("org.a.app", [
                android.string_pool(["layout", "string"], utf8=False),
                android.string_pool(["main", "title"]),
                android.type_specification(1, 3),
                android.type_chunk(1, android.configuration(), [b"12345678", None, b"abcdefgh"]),
                android.type_specification(2, 2),
                android.type_chunk(2, french, [b"12345678", b"87654321"]),
                android.type_chunk(2, android.configuration(at12=b"\x02", at14=b"\xf0\0", at24=b"\x15\0")[:32].replace(
                    b"\x40\0\0\0", b"\x20\0\0\0", 1), [b"12345678"]),
                android.chunk(0x203, b"\0\0\0\0"),
                android.chunk(0x777, b""),
            ]),
        ])  # fmt: skip

    def test_chunks_of_a_table(self):
        data = self.arsc()
        content = zip_of([MANIFEST, ("resources.arsc", data)])
        self.make(content)
        self.check_total(content)
        found = sorted((one["source_path"], one["full_name"], one["size"]) for one in self.symbols
                       if one["section"] == ".arsc")  # fmt: skip
        base, app = "$APK/resources.arsc", "$APK/resources.arsc/org.a.app"
        self.assertEqual(found, sorted([
            (base, "STRING_POOL: root", len(android.string_pool(["app", "res/a.xml"]))),
            (base, "Overhead: ARSC", 12 + 288),
            (app, "STRING_POOL: types", len(android.string_pool(["layout", "string"], utf8=False))),
            (app, "STRING_POOL: keys", len(android.string_pool(["main", "title"]))),
            (app + "/layout", "TYPE_SPEC", 16 + 12),
            (app + "/layout", "default", 84 + 12 + 16 - 4),
            (app + "/layout", "default (placeholders)", 4),
            (app + "/string", "TYPE_SPEC", 16 + 8),
            (app + "/string", "fr-rCA", 84 + 8 + 16),
            (app + "/string", "land-hdpi-v21", 52 + 4 + 8),
            (app, "LIBRARY", 12),
            (app, "GENERIC: type=1911", 8),
        ]))  # fmt: skip
        self.assertEqual(self.containers[""]["metrics_by_file"]["resources.arsc"], {"COUNT/layout": 3, "COUNT/string": 2})

    def test_a_compressed_table_counts_expanded(self):
        content = zip_of([MANIFEST, ("resources.arsc", self.arsc())], zipfile.ZIP_DEFLATED)
        self.make(content)
        self.check_total(content)
        self.assertEqual(self.containers[""]["section_sizes"][".arsc"], len(self.arsc()))

    def test_a_damaged_table_is_an_ordinary_entry(self):
        content = zip_of([MANIFEST, ("resources.arsc", self.arsc()[:-5])])
        self.make(content, warned=True)
        self.check_total(content)
        self.assertIn("resources.arsc: a chunk of the resource table does not fit (offset 0x0)", self.result.err)
        self.assertNotIn(".arsc", self.containers[""]["section_sizes"])

    def test_packs(self):
        text = b"compressible " * 20
        plain = android.pak([(12, text), (13, b"short"), (14, b"")], aliases=[(15, 1), (16, 1)])
        english = android.pak([(100, b"hello"), (101, b"world")])
        german = android.pak([(100, b"hallo!"), (101, b"welt")], version=4)
        content = zip_of([MANIFEST, ("assets/resources.pak", plain), ("assets/en-US.pak", english),
                          ("assets/de.pak+org.a.module+", german)])  # fmt: skip
        self.make(content)
        self.check_total(content)
        packs = self.in_section(".pak.nontranslated")
        self.assertEqual({name: (one["address"], one["size"], one["flags"]) for name, one in packs.items()}, {
            "pak resource 12": ("0xc", len(text) + 6, 512),
            "pak resource 13": ("0xd", 5 + 6 + 4 + 4, 0),
            "pak resource 14": ("0xe", 6, 0),
            "Overhead: assets/resources.pak": ("0x0", 18, 0),
        })  # fmt: skip
        translated = self.in_section(".pak.translations")
        self.assertEqual({name: one["size"] for name, one in translated.items()}, {
            "pak resource 100": 5 + 6 + 6 + 6,
            "pak resource 101": 5 + 6 + 4 + 6,
            "Overhead: assets/en-US.pak": 18,
            "Overhead: assets/de.pak": 15,
        })  # fmt: skip
        self.assertEqual(packs["pak resource 12"]["name"], "12")

    def test_a_damaged_pack_is_an_ordinary_entry(self):
        pack = bytearray(android.pak([(1, b"abc")]))
        pack[14:18] = b"\xff\xff\xff\xff"
        content = zip_of([MANIFEST, ("a.pak", bytes(pack)), ("b.pak", b"no pack at all, really")])
        self.make(content, warned=True)
        self.check_total(content)
        self.assertIn("a.pak: a resource of the pack is not where its entry says (offset 0xc)", self.result.err)
        self.assertIn("b.pak: not a resource pack of version 4 or 5", self.result.err)


class Libraries(PackageTest):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.code = library(folder)

    def test_a_library_is_a_container_like_its_file(self):
        content = zip_of([MANIFEST, ("lib/x86_64/libfoo.so", self.code), ("lib/arm/libfoo.so", self.code)],
                         zipfile.ZIP_DEFLATED, compresslevel=1)  # fmt: skip
        self.make(content)
        self.check_total(content)
        self.assertEqual(set(self.containers),
                         {"app.apk", "app.apk/libfoo.so (x86_64)", "app.apk/libfoo.so (arm)"})  # fmt: skip
        metadata = self.containers["app.apk/libfoo.so (x86_64)"]["metadata"]
        self.assertEqual(metadata["elf_apk_path"], "lib/x86_64/libfoo.so")
        self.assertEqual(metadata["apk_file_name"], "app.apk")
        self.assertNotIn("elf_mtime", metadata)
        mine = [one for one in self.symbols if one["container"] == "app.apk/libfoo.so (x86_64)"]
        self.assertEqual(round(sum(one["size"] / one["aliases"] for one in mine
                                   if one["section"] not in size_writer.BSS)), len(self.code))  # fmt: skip
        overhead = [one for one in mine if one["full_name"].startswith(("Overhead: ELF", "** ELF Section"))]
        self.assertEqual({one["source_path"] for one in overhead}, {f"$NATIVE/libfoo.so ({metadata['elf_arch']})"})
        path = self.file("libfoo.so", self.code)
        self.run_ok("archive", "-q", path, "-o", self.folder / "alone.size", "--with-debug")
        alone = self.run_ok("dump", "--json", self.folder / "alone.size").json_lines()[1:]
        key = lambda one: (one["section"], one["full_name"], one["address"], one["size"])  # noqa: E731
        self.assertEqual(sorted(map(key, mine)), sorted(map(key, alone)))

    def test_modules_of_a_bundle_may_have_libraries_of_one_name(self):
        content = zip_of([("BundleConfig.pb", b"\n"), ("base/lib/x86_64/libfoo.so", self.code),
                          ("extra/lib/x86_64/libfoo.so", self.code), ("base/dex/classes.dex", Dex(classes()).data)],
                         zipfile.ZIP_DEFLATED, compresslevel=1)  # fmt: skip
        self.make(content, name="app.aab")
        self.check_total(content)
        self.assertEqual(set(self.containers), {"app.aab", "app.aab/libfoo.so (x86_64)",
                                                "app.aab/extra/lib/x86_64/libfoo.so"})  # fmt: skip
        self.assertIn("org.a.B#run(): void", self.in_section(".dex.method"))

    def test_any_elf_file_of_a_plain_zip_file_is_read(self):
        content = zip_of([("bin/tool", self.code), ("README", b"text")])
        self.make(content, name="tools.zip")
        self.check_total(content)
        self.assertEqual(set(self.containers), {"tools.zip", "tools.zip/tool (bin)"})

    def test_in_an_application_only_libraries_are_read(self):
        content = zip_of([MANIFEST, ("assets/tool", self.code)])
        self.make(content)
        self.check_total(content)
        self.assertEqual(self.in_section(".other")["assets/tool"]["size"], len(self.code))

    def test_a_library_that_cannot_be_read_is_an_ordinary_entry(self):
        content = zip_of([MANIFEST, ("lib/arm/libtext.so", b"INPUT(libfoo.so.1)"), ("lib/arm/cut.so", self.code[:70])])
        self.make(content, warned=True)
        self.check_total(content)
        self.assertIn("lib/arm/libtext.so: not an ELF file", self.result.err)
        self.assertEqual(set(self.containers), {""})


class Verbs(PackageTest):
    def package(self, count=2):
        dex = Dex([Class(f"org.p{i}.C", methods=(Method("<init>"), Method("f"))) for i in range(count)])
        return zip_of([MANIFEST, ("classes.dex", dex.data)], zipfile.ZIP_DEFLATED)

    def test_size_prints_sections(self):
        path = self.file("app.apk", self.package())
        text = self.run_ok("size", path).text
        self.assertIn(".dex.method", text)
        self.assertIn("org.p1.C#f(): void", text)

    def test_size_prints_what_entries_take_stored_and_expanded(self):
        content, block = android.add_signing_block(self.package())
        path = self.file("app.apk", content)
        (package,) = [one for one in self.run_ok("size", "--json", path).json_lines() if one.get("kind") == "package"]
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            info = file.getinfo("classes.dex")
        entry = {"name": "classes.dex", "stored": info.compress_size, "expanded": info.file_size}
        self.assertEqual(package["entries"], [entry])
        self.assertEqual((package["file"], package["apk_signature_block_size"]), (len(content), block))
        text = self.run_ok("size", path).text
        self.assertRegex(text, rf"\n +{info.compress_size} +[\d,]+  classes.dex\n")
        self.run_ok("archive", "-q", path, "-o", self.folder / "app.size")
        again = self.run_ok("size", "--json", self.folder / "app.size").json_lines()
        self.assertIn(package, again)

    def test_methods_of_each_package_are_counted(self):
        path = self.file("app.apk", self.package())
        rows = self.run_ok("query", "--json", path, "@methods").json_lines()
        counts = {one["group"]["package"]: one["count"] for one in rows if "group" in one}
        self.assertEqual(counts, {"org.p0": 2, "org.p1": 2})
        self.assertIn("org.p0", self.run_ok("size", "--by", "package", path).text)

    def test_diff_of_two_packages(self):
        old, new = self.file("old/app.apk", self.package(2)), self.file("new/app.apk", self.package(3))
        lines = self.run_ok("diff", "--json", old, new).json_lines()
        added = {one["full_name"] for one in lines if one.get("status") == "added"}
        self.assertEqual({name for name in added if "#" in name}, {"org.p2.C#<init>()", "org.p2.C#f(): void"})

    def test_several_inputs(self):
        path, binary = self.file("app.apk", self.package()), self.file("tool", library(self.folder))
        self.run_ok("archive", "-q", "-f", "size", path, binary, "-o", self.folder / "out.size")
        self.read(self.folder / "out.size")
        self.assertEqual(set(self.containers), {"app.apk", "tool"})

    def test_other_formats_refuse_a_package(self):
        path = self.file("app.apk", self.package())
        self.run_error("archive", path, "-o", self.folder / "out.lidia")


    @unittest.skipIf(sextant.SANITIZED, "a sanitizer loads libraries in its own way")
    def test_without_minizip(self):
        path = self.file("app.apk", self.package())
        self.file("libraries/libminizip.so.1", "not a library")
        environment = {"LD_LIBRARY_PATH": str(self.folder / "libraries")}
        result = self.run_error("size", path, env=environment)
        self.assertIn("libminizip.so.1 cannot be loaded", result.err)


class Hostile(PackageTest):
    def refuse(self, content, reason):
        path = self.file("bad.apk", content)
        result = self.run_error("archive", "-f", "size", path, "-o", self.folder / "out.size")
        self.assertIn(reason, result.err)

    def test_a_file_that_is_cut_off(self):
        self.refuse(zip_of([MANIFEST])[:-30], "the zip file is cut off: its central directory is missing")

    def test_entries_that_overlap(self):
        content = bytearray(zip_of([("a", b"first" * 10), ("b", b"other" * 10)]))
        second = content.rindex(b"PK\x01\x02")
        struct.pack_into("<I", content, second + 42, 20)
        self.refuse(bytes(content), "has no local header")
        struct.pack_into("<I", content, second + 42, 0)
        self.refuse(bytes(content), "the entries 'a' and 'b' overlap (offset 0x0)")

    def test_an_entry_that_reaches_into_the_directory(self):
        content = bytearray(zip_of([("a", b"first" * 10)]))
        central = content.rindex(b"PK\x01\x02")
        for at in (18, 22, central + 20, central + 24):
            struct.pack_into("<I", content, at, 5000)
        self.refuse(bytes(content), "entry 'a' reaches into the central directory (offset 0x0)")

    def test_a_directory_with_fewer_entries_than_it_says(self):
        content = bytearray(zip_of([("a", b"1"), ("b", b"2")]))
        end = content.rindex(b"PK\x05\x06")
        struct.pack_into("<HH", content, end + 8, 9, 9)
        self.refuse(bytes(content), "the central directory has 9 entries, and 2 can be read")

    def test_what_cannot_be_expanded_is_an_ordinary_entry(self):
        dex = Dex(classes()).data
        content = bytearray(zip_of([MANIFEST, ("classes.dex", dex)], zipfile.ZIP_DEFLATED))
        central = content.rindex(b"PK\x01\x02")
        local = content.index(b"PK\x03\x04", 10)
        cases = [
            (((local + 6, b"\x01"), (central + 8, b"\x01")), "it is encrypted"),
            (((local + 8, b"\x5d"), (central + 10, b"\x5d")), "its compression method is 93, not 0 or 8"),
            (((local + 14, b"\0\0\0\0"), (central + 16, b"\0\0\0\0")), "the checksum is wrong"),
            (((local + 60, b"\xff\xff\xff\xff"),), "the compressed bytes are damaged"),
            (((local + 22, b"\xff\xff\xff\x7f"), (central + 24, b"\xff\xff\xff\x7f")),
             "its size is more than it can expand to"),
        ]  # fmt: skip
        for changes, reason in cases:
            with self.subTest(reason=reason):
                bad = bytearray(content)
                for at, value in changes:
                    bad[at : at + len(value)] = value
                self.make(bytes(bad), warned=True)
                self.check_total(bad)
                self.assertIn("classes.dex: " + reason, self.result.err)

    def test_a_large_entry_of_zeros_is_not_expanded(self):
        content = zip_of([MANIFEST, ("lib/arm/bomb.so", bytes(8 << 20))], zipfile.ZIP_DEFLATED)
        self.make(content, warned=True)
        self.check_total(content)
        self.assertIn("lib/arm/bomb.so: not an ELF file", self.result.err)

    def test_thousands_of_small_entries(self):
        small = Dex([Class("A")]).data
        entries = [(f"{i}.dex", small if i < 1100 else b"no dex file") for i in range(1200)]
        content = zip_of([MANIFEST, *entries])
        self.make(content, warned=True)
        self.check_total(content)
        self.assertEqual(len(self.result.err.splitlines()), 20 + 1 + 1)
        self.assertIn("1024.dex: too many entries of its kind", self.result.err)
        self.assertIn("warning: 156 more entries have problems", self.result.err)
        self.assertEqual(self.containers[""]["section_sizes"][".dex"], 1024 * len(small))

    def test_any_byte_may_be_wrong(self):
        content = zip_of([MANIFEST, ("classes.dex", Dex(classes()).data), ("a.pak", android.pak([(1, b"abc")])),
                          ("resources.arsc", Resources.arsc(self))])  # fmt: skip
        path, out = self.folder / "bad.apk", self.folder / "out.size"
        for at in sextant.some(range(len(content)), 60):
            bad = bytearray(content)
            bad[at] ^= 0xFF
            path.write_bytes(bad)
            result = sextant.run("archive", "-q", "-f", "size", path, "-o", out)
            self.assert_no_crash(result)
            if result.status == 0:
                self.read(out)
                self.check_total(bad)


if __name__ == "__main__":
    tap.main()
