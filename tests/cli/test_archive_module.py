"""What an archive knows of its binary: segments, build ID, FileID, architecture, path; and what uses it.

The binaries are linked so that their code is at another address than its offset in the file. With only an archive at hand,
offsets must give the names that the binary gives. An archive without these facts must say so instead of giving wrong names.
"""

import itertools
import os
import subprocess
import time

from support import elf_reader, pprof, sextant, tap
from support.pprof import Mapping
from support.symbolizing import BASE, SOURCE, SymbolizeTest, code_segment, every_address, leaf_profile, mapping_of

FORMATS = ("lidia", "symbfile")
# Moves the code away from the beginning of the file.
LARGE = "__attribute__((used)) const char filler[80000] = {1};\n" + SOURCE


class ModuleTest(SymbolizeTest):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "store"
        self.store.mkdir()

    def lld(self, *flags, name="program", source=SOURCE):
        """A program whose code is not at its offset, as lld and rustc link it."""
        sextant.need_tool("gcc", "ld.lld")
        path = self.program("-O1", "-fuse-ld=lld", "-Wl,--build-id=sha1", *(flags or ("-pie", "-fPIE")), name=name,
                            source=source)
        segment = code_segment(path)
        self.assertNotEqual(segment.offset, segment.vaddr)
        return path

    def names(self, path, addresses):
        return [[frame["function"] for frame in answer["frames"]] for answer in self.lookup(path, addresses)]

    def frames(self, profile, count):
        return [profile.frames(index + 1) for index in range(count)]

    def build_id(self, path):
        return elf_reader.ElfFile.open(path).build_id()

    def file_id(self, path):
        """(hexadecimal, base64url)"""
        line, = self.run_ok("fileid", "--json", path).json_lines()
        return line["hex"], line["base64url"]

    def without_facts(self, path, name="old.lidia"):
        """An archive as earlier versions and other programs write it."""
        return self.archive(path, "--compat", name=name)


class Symbolize(ModuleTest):
    def check(self, path, *options, base=BASE):
        """Every address of the program has the names that the binary gives, when only the archive in the store is there."""
        addresses = every_address(path)
        mapping = mapping_of(path, base=base, build_id=self.build_id(path))
        given = leaf_profile(path, addresses, mapping, base)
        expected = self.frames(self.symbolize(given), len(addresses))
        self.assertTrue(all(expected))
        hidden = path.rename(path.with_suffix(".hidden"))
        found = self.frames(self.symbolize(given, "--search", self.store, "--no-local", *options), len(addresses))
        hidden.rename(path)
        self.assertEqual(found, expected)
        self.assertTrue(self.report["mappings"][0]["file"].startswith(str(self.store)))
        return addresses

    def test_only_the_archive_is_at_hand(self):
        for source, format in itertools.product((SOURCE, LARGE), FORMATS):
            path = self.lld(source=source)
            with self.subTest(format=format):
                made = self.archive(path, name=f"store/program.{format}")
                self.check(path)
                made.unlink()

    def test_after_conversion(self):
        path = self.lld()
        first = self.archive(path, name="first.lidia")
        second, third = self.folder / "second.symbfile", self.store / "program.lidia"
        self.run_ok("convert", first, "-o", second)
        self.run_ok("convert", second, "-o", third)
        self.check(path)
        self.assertEqual(first.read_bytes(), third.read_bytes())

    def test_other_linkers_and_layouts(self):
        cases = ([("-no-pie",), 0], [("-shared", "-fPIC"), BASE],
                 [("-pie", "-fPIE", "-Wl,-z,separate-code", "-Wl,-z,max-page-size=65536"), BASE],
                 [("-pie", "-fPIE", "-Wl,-z,noseparate-code"), BASE])
        for flags, base in cases:
            with self.subTest(flags=flags):
                path = self.program("-O1", "-fuse-ld=lld", "-Wl,--build-id", *flags, name="program")
                self.archive(path, name="store/program.lidia")
                self.check(path, base=base)

    def test_a_binary_that_is_loaded_at_an_address_of_its_own(self):
        path = self.lld("-shared", "-fPIC", "-Wl,--image-base=0x3000000000", name="libprelinked.so")
        self.archive(path, name="store/libprelinked.so.lidia")
        self.check(path, base=0x7000_0000_0000)

    def test_an_archive_of_a_debug_file(self):
        """A debug file knows the size of its code, but not where it was in the binary."""
        sextant.need_tool("objcopy")
        path = self.lld()
        debug = self.folder / "program.debug"
        sextant.tool("objcopy", "--only-keep-debug", path, debug)
        self.archive(debug, name="store/program.lidia")
        self.check(path)
        self.assertIsNone(self.run_ok("info", "--json", self.store / "program.lidia").json_lines()[0]["file_id"])

    def test_without_facts_nothing_is_named_and_one_warning_says_so(self):
        for source in (SOURCE, LARGE):
            path = self.lld(source=source)
            old = self.without_facts(path, "store/program.lidia")
            addresses = every_address(path)
            self.file("in.pb", pprof.encode(leaf_profile(path, addresses, mapping_of(path))))
            hidden = path.rename(self.folder / "hidden")
            for options in ([], ["--json"]):
                result = self.run_search(*options)
                self.assertEqual(result.status, 0)
                self.assertEqual(result.err.count(str(old)), 1, result.err)
                self.assertIn("--assume-linear", result.err)
                profile = pprof.decode((self.folder / "out.pb").read_bytes())
                self.assertFalse(any(self.frames(profile, len(addresses))))
            report, = result.json_lines()
            self.assertEqual((report["symbolized"], report["reasons"]["no_segments"]), (0, len(addresses)))
            self.assertEqual(self.run_search("-q").err, "")
            hidden.rename(path)

    def run_search(self, *options):
        return sextant.run("symbolize", self.folder / "in.pb", "-o", self.folder / "out.pb", "--search", self.store,
                           "--no-local", *options)

    def test_assume_linear_takes_offsets_for_addresses(self):
        path = self.lld()
        segment = code_segment(path)
        self.without_facts(path, "store/program.lidia")
        addresses = every_address(path)
        given = leaf_profile(path, addresses, mapping_of(path))
        path.rename(self.folder / "hidden")
        profile = self.symbolize(given, "--search", self.store, "--no-local", "--assume-linear")
        expected = self.names(self.store / "program.lidia", [one - segment.vaddr + segment.offset for one in addresses])
        self.assertEqual([[name for name, _, _ in lines] for lines in self.frames(profile, len(addresses))], expected)
        self.assertNotIn("no_segments", self.report["reasons"])

    def test_without_facts_what_needs_no_segments_is_named(self):
        path = self.program("-O1", "-no-pie")
        self.without_facts(path, "store/program.lidia")
        addresses = every_address(path)
        names = self.names(path, addresses)
        at_fixed_address = leaf_profile(path, addresses, mapping_of(path, base=0), 0)
        virtual = leaf_profile(path, addresses, Mapping(1, 0, 0, 0, str(path), ""), 0)
        path.rename(self.folder / "hidden")
        for given in (at_fixed_address, virtual):
            profile = self.symbolize(given, "--search", self.store, "--no-local")
            self.assertEqual([lines[-1][0] for lines in self.frames(profile, len(addresses))],
                             [one[-1] for one in names])

    def test_the_binary_beside_an_old_archive_has_the_segments(self):
        path = self.lld()
        self.without_facts(path, "store/program.lidia")
        addresses = every_address(path)
        profile = self.symbolize(leaf_profile(path, addresses, mapping_of(path)), "--search", self.store)
        self.assertEqual(self.report["symbolized"], len(addresses))
        self.assertEqual([lines[-1][0] for lines in self.frames(profile, len(addresses))],
                         [one[-1] for one in self.names(path, addresses)])

    def test_a_kernel_module(self):
        """Its .text is not the first section; a mapping says where .text is in memory."""
        sextant.need_tool("ld")
        source = self.file("part.s", b".section .init.text,\"ax\"\n"
                           b".type early,@function\nearly: .fill 64\n.size early,.-early\n"
                           b".text\n.type first,@function\nfirst: .fill 16\n.size first,.-first\n"
                           b".type second,@function\nsecond: .fill 16\n.size second,.-second\n")
        script = self.file("script", b"SECTIONS { .init.text : { *(.init.text) } .text : { *(.text) } }")
        part, module = self.folder / "part.o", self.folder / "part.ko"
        sextant.tool("gcc", "-c", "-o", part, source)
        sextant.tool("ld", "-r", "-T", script, "-o", module, part)
        start = 0xffffffffc0100000
        given = leaf_profile(module, [0, 15, 16, 31], Mapping(1, start, start + 0x1000, 0, "[part]", ""), start)
        names = [["first"], ["first"], ["second"], ["second"]]
        for format in ("ko", *(f"ko.{one}" for one in FORMATS)):
            with self.subTest(format=format):
                made = self.store / f"part.{format}"
                if format == "ko":
                    made.write_bytes(module.read_bytes())
                else:
                    self.archive(module, name=f"store/part.{format}")
                profile = self.symbolize(given, "--search", self.store, "--no-local")
                self.assertEqual([[name for name, _, _ in lines] for lines in self.frames(profile, 4)], names)
                made.unlink()

    def test_text_of_perf(self):
        path = self.lld()
        start = next(one for one in every_address(path))
        mapping = mapping_of(path, filename="/gone/program")
        text = (f"program 1 1.0: PERF_RECORD_MMAP2 1/1: [0x{mapping.start:x}(0x{mapping.limit - mapping.start:x}) @ "
                f"0x{mapping.offset:x} 08:01 5 0]: r-xp /gone/program\n"
                f"program 1 1.0: cycles:\n\t{BASE + start:x} [unknown] (/gone/program)\n\n").encode()
        source = self.file("perf.txt", text)
        self.archive(path, name="store/program.lidia")
        name, = {frames[-1] for frames in self.names(path, [start])}
        self.assertIn(name, self.run_ok("symbolize", "--text", "--search", self.store, source).text)
        self.without_facts(path, "store/program.lidia")
        result = sextant.run("symbolize", "--text", "--search", self.store, source)
        self.assertEqual(result.text, text.decode())
        self.assertEqual(result.err.count("--assume-linear"), 1, result.err)


class Lookup(ModuleTest):
    def offsets(self, path, addresses):
        segment = code_segment(path)
        return [address - segment.vaddr + segment.offset for address in addresses]

    def test_file_offsets_of_an_archive(self):
        path = self.lld()
        addresses = every_address(path)
        expected = self.names(path, addresses)
        for format in FORMATS:
            made = self.archive(path, name=f"out.{format}")
            answers = self.lookup(made, self.offsets(path, addresses), "--file-offset")
            self.assertEqual([[frame["function"] for frame in answer["frames"]] for answer in answers], expected)

    def test_file_offsets_of_return_pads(self):
        path = self.lld()
        pads = self.archive(path, name="out.returnpads")
        records = self.run_ok("dump", "--json", pads).json_lines()
        addresses = [int(record["va"], 16) for record in records]
        answers = self.lookup(pads, self.offsets(path, addresses), "--file-offset")
        for record, answer in zip(records, answers, strict=True):
            self.assertEqual([frame["function"] for frame in answer["frames"]],
                             [frame["function"] for frame in reversed(record["frames"])])

    def test_without_facts(self):
        path = self.lld()
        old = self.without_facts(path)
        offsets = self.offsets(path, every_address(path))
        result = sextant.run("lookup", "--json", "--file-offset", old, *(hex(one) for one in offsets))
        self.assertTrue(all(line["frames"] == [] for line in result.json_lines()))
        self.assertEqual(result.err.count("\n"), 1, result.err)
        self.assertIn(str(old), result.err)
        self.assertIn("--assume-linear", result.err)
        linear = self.lookup(old, offsets, "--file-offset", "--assume-linear")
        self.assertEqual([answer["frames"] for answer in linear], [answer["frames"] for answer in self.lookup(old, offsets)])

    def test_a_relocatable_file(self):
        source = self.file("part.c", SOURCE.encode())
        part = self.folder / "part.o"
        sextant.tool("gcc", "-c", "-g", "-O1", "-ffunction-sections", "-o", part, source)
        offset = next(one for one in elf_reader.ElfFile.open(part).sections if one.name == ".text.follower").offset
        made = self.archive(part)
        for path in (part, made):
            answer, = self.lookup(path, [offset], "--file-offset")
            self.assertEqual([frame["function"] for frame in answer["frames"]], ["follower"])

    def maps(self, path, name):
        mapping = mapping_of(path)
        line = f"{mapping.start:x}-{mapping.limit:x} r-xp {mapping.offset:08x} 08:01 5 {name}\n"
        return self.file("maps", line.encode())

    def test_a_saved_map_with_archives(self):
        path = self.lld()
        addresses = every_address(path)
        expected = self.names(path, addresses)
        maps = self.maps(path, "/gone/program")
        runtime = [hex(BASE + address) for address in addresses]
        # By the name of the archive, and by that of the binary that it was made of.
        for name in ("program.lidia", "program.symbfile", "anything.lidia"):
            with self.subTest(name=name):
                made = self.archive(path, name=f"store/{name}")
                lines = self.run_ok("lookup", "--json", "--maps", maps, "--search", self.store, *runtime).json_lines()
                self.assertEqual([[frame["function"] for frame in line["frames"]] for line in lines], expected)
                made.unlink()

    def test_a_saved_map_and_two_archives_that_may_be_meant(self):
        path = self.lld()
        self.archive(path, name="store/one.lidia")
        other = self.lld(source=SOURCE.replace("value + 7", "value + 8"))
        self.archive(other, name="store/two.lidia")
        maps = self.maps(path, "/gone/program")
        line, = sextant.run("lookup", "--json", "--maps", maps, "--search", self.store,
                            hex(BASE + every_address(path)[0])).json_lines()
        self.assertEqual(line["frames"], [])

    def test_a_saved_map_with_an_old_archive(self):
        path = self.lld()
        self.without_facts(path, "store/program.lidia")
        maps = self.maps(path, "/gone/program")
        result = sextant.run("lookup", "--json", "--maps", maps, "--search", self.store,
                             *(hex(BASE + address) for address in every_address(path)))
        self.assertTrue(all(line["frames"] == [] for line in result.json_lines()))
        self.assertEqual(result.err.count("--assume-linear"), 1, result.err)

    def test_a_stripped_program_that_runs(self):
        sextant.need_tool("strip")
        path = self.lld(source="#include <unistd.h>\nint main(void) { puts_nothing: pause(); goto puts_nothing; }\n")
        main = next(one for one in elf_reader.ElfFile.open(path).symbols(elf_reader.SHT_SYMTAB) if one.name == b"main")
        self.archive(path, name=f"store/{self.build_id(path)}.lidia")
        sextant.tool("strip", path)
        with subprocess.Popen([path]) as running:
            try:
                time.sleep(0.1)
                segment = code_segment(path)
                with open(f"/proc/{running.pid}/maps", encoding="ascii") as maps:
                    base = next(int(line.split("-")[0], 16) - (segment.vaddr & ~0xFFF) for line in maps
                                if str(path) in line and "r-xp" in line)
                command = ("lookup", "--json", "--pid", str(running.pid), hex(base + main.value))
                without, = self.run_ok(*command).json_lines()
                self.assertEqual(without["frames"], [])
                line, = self.run_ok(*command, "--search", self.store).json_lines()
                self.assertEqual([frame["function"] for frame in line["frames"]], ["main"])
            finally:
                running.kill()

    def test_search_needs_a_process(self):
        path = self.program()
        self.assertEqual(sextant.run("lookup", "--search", self.store, path, "1000").status, 2)


class Info(ModuleTest):
    def test_the_identity_of_the_binary(self):
        path = self.lld()
        for format in (*FORMATS, "returnpads"):
            with self.subTest(format=format):
                line, = self.run_ok("info", "--json", self.archive(path, name=f"out.{format}")).json_lines()
                self.assertEqual(line["build_id"], self.build_id(path))
                self.assertEqual(line["file_id"], self.file_id(path)[0])
                self.assertEqual(line["arch"], "x86_64" if os.uname().machine == "x86_64" else line["arch"])
                self.assertEqual(line["path"], str(path))
        text = self.run_ok("info", self.archive(path)).text
        self.assertIn(self.build_id(path), text)
        self.assertIn(self.file_id(path)[0], text)

    def test_an_archive_without_facts(self):
        line, = self.run_ok("info", "--json", self.without_facts(self.lld())).json_lines()
        self.assertEqual([line[key] for key in ("build_id", "file_id", "arch")], [None] * 3)
        self.assertEqual(line["format"], "lidia")

    def test_the_path_is_mapped(self):
        path = self.lld()
        made = self.archive(path, "--path-map", f"{self.folder}=/src")
        self.assertEqual(self.run_ok("info", "--json", made).json_lines()[0]["path"], f"/src/{path.name}")

    def test_parts_are_merged_and_different_binaries_are_not(self):
        path = self.lld()
        ranges = self.archive(path, name="one.symbfile")
        again = self.folder / "again.lidia"
        self.run_ok("convert", ranges, ranges, "-o", again)
        self.assertEqual(self.run_ok("info", "--json", again).json_lines()[0]["build_id"], self.build_id(path))
        other = self.archive(self.lld("-no-pie", name="other"), name="other.symbfile")
        self.run_ok("convert", ranges, other, "-o", again)
        self.assertIsNone(self.run_ok("info", "--json", again).json_lines()[0]["build_id"])

    def test_verify(self):
        path = self.lld()
        for format in (*FORMATS, "returnpads"):
            made = self.archive(path, name=f"out.{format}")
            self.run_ok("verify", made)
            data = bytearray(made.read_bytes())
            at = data.index(b"modl") + 40 if format == "lidia" else 16
            data[at] ^= 0x80
            self.assertEqual(sextant.run("verify", self.file("damaged", bytes(data))).status, 1)
            self.run_ok("lookup", self.file("damaged", bytes(data)), "1000")


class OutDir(ModuleTest):
    def make(self, *inputs, options=(), status=0):
        result = sextant.run("archive", "--json", "--out-dir", self.store, *options, *inputs)
        self.assert_no_crash(result)
        self.assertEqual(result.status, status, f"\n{result}")
        return result

    def files(self):
        return sorted(path.name for path in self.store.iterdir())

    def test_archives_are_named_after_build_ids(self):
        programs = [self.lld(name=f"program{number}", source=SOURCE.replace("+ 7", f"+ {number}")) for number in range(5)]
        formats = [(("-f", ending), ending) for ending in ("symbfile", "returnpads", "ksym", "size")]
        for options, ending in ((), "lidia"), (("--threads", "1"), "lidia"), (("--threads", "9"), "lidia"), *formats:
            with self.subTest(options=options):
                lines = self.make(*programs, options=options).json_lines()
                self.assertEqual([line["input"] for line in lines], [str(path) for path in programs])
                expected = [f"{self.build_id(path)}.{ending}" for path in programs]
                self.assertEqual([line["output"] for line in lines], [str(self.store / name) for name in expected])
                self.assertEqual(self.files(), sorted(expected))
                for path, name in zip(programs, expected):
                    self.run_ok("verify", self.store / name)
                    if ending == "lidia":
                        self.assertEqual((self.store / name).read_bytes(), self.archive(path, name="one.lidia").read_bytes())
                for name in expected:
                    (self.store / name).unlink()

    def test_a_file_without_a_build_id_is_named_after_its_file_id(self):
        path = self.program("-Wl,--build-id=none")
        self.make(path)
        self.assertEqual(self.files(), [f"{self.file_id(path)[0]}.lidia"])

    def test_one_bad_input_does_not_stop_the_others(self):
        good = self.lld()
        bad = [self.file("text", b"hello"), self.folder / "gone", self.file("empty", b""), self.folder,
               self.file("cut", good.read_bytes()[:100]), "-"]
        result = self.make(bad[0], good, *bad[1:], status=1)
        self.assertEqual(self.files(), [f"{self.build_id(good)}.lidia"])
        self.assertEqual(result.err.count("\n"), len(bad), result.err)
        for path in bad:
            self.assertEqual(result.err.count(f"sextant: {path}: "), 1)
        lines = result.json_lines()
        self.assertEqual([line["output"] is None for line in lines], [True, False, True, True, True, True, True])
        self.assertTrue(all(line["error"] for line in lines if line["output"] is None))

    def test_summaries_are_in_the_order_of_the_inputs(self):
        programs = [self.lld(name=f"program{number}", source=SOURCE.replace("+ 7", f"+ {number}")) for number in range(3)]
        result = sextant.run("archive", "--out-dir", self.store, *programs, *programs[:1])
        self.assertEqual(result.status, 0)
        said = result.err.splitlines()
        self.assertEqual(len(said), 4, result.err)
        for path, line in zip(programs, said):
            self.assertIn(str(path), line)
            self.assertIn(f"{self.build_id(path)}.lidia", line)
        self.assertIn("same build ID", result.err)
        self.assertEqual(sextant.run("archive", "-q", "--out-dir", self.store, *programs).err, "")

    def test_files_of_one_build_give_one_archive_with_all_of_them(self):
        sextant.need_tool("objcopy", "strip")
        whole = self.lld()
        expected = self.archive(whole, name="one.lidia")
        stripped, debug = self.folder / "stripped", self.folder / "whole.debug"
        sextant.tool("objcopy", "--only-keep-debug", whole, debug)
        sextant.tool("strip", "-o", stripped, whole)
        for inputs in ([stripped, debug], [debug, stripped], [debug, stripped, whole], [whole, whole]):
            with self.subTest(inputs=inputs):
                lines = self.make(*inputs).json_lines()
                self.assertEqual(len(lines), len(inputs))
                self.assertEqual(len({line["output"] for line in lines}), 1)
                self.assertEqual(sum("served_by" in line for line in lines), len(inputs) - 1)
                made = self.store / f"{self.build_id(whole)}.lidia"
                self.assertEqual(self.files(), [made.name])
                self.assertEqual(self.run_ok("dump", made).text, self.run_ok("dump", expected).text)
                self.assertTrue(self.run_ok("info", "--json", made).json_lines()[0]["file_offsets"])
                made.unlink()

    def test_what_is_made_is_found(self):
        programs = [self.lld(name=f"program{number}", source=SOURCE.replace("+ 7", f"+ {number}")) for number in range(3)]
        programs.append(self.lld("-pie", "-fPIE", "-Wl,--build-id=none", name="nameless"))
        self.make(*programs)
        for path in programs:
            for build_id in filter(None, (self.build_id(path), *self.file_id(path))):
                addresses = every_address(path)
                given = leaf_profile(path, addresses, mapping_of(path, build_id=build_id, filename="/gone/x"))
                profile = self.symbolize(given, "--search", self.store, "--no-local")
                self.assertEqual([[name for name, _, _ in lines] for lines in self.frames(profile, len(addresses))],
                                 self.names(path, addresses))

    def test_usage(self):
        path = self.lld()
        for options in (["-o", "x.lidia"], ["-f", "symbfile", "--returnpads", "x"], ["-f", "nonsense"], ["--types", "T"]):
            self.make(path, options=options, status=2)
        self.make(path, path, options=["--debug", path], status=2)
        self.assertEqual(sextant.run("archive", "--out-dir", self.store).status, 2)
        self.assertEqual(self.files(), [])
        self.assertEqual(sextant.run("archive", "--out-dir", self.file("plain", b""), path).status, 1)
        self.assertEqual(sextant.run("archive", "--out-dir", self.folder / "a" / "b", path).status, 1)
        self.run_ok("archive", "-q", "--out-dir", self.folder / "new", path)
        self.assertEqual(len(list((self.folder / "new").iterdir())), 1)


class Search(ModuleTest):
    """Archives are found by the build ID and FileID that they hold or are named after, in hexadecimal and base64url."""

    def found(self, path, build_id, filename="/gone/other-name"):
        addresses = every_address(path, step=4)
        given = leaf_profile(path, addresses, mapping_of(path, build_id=build_id, filename=filename))
        self.symbolize(given, "--search", self.store, "--no-local")
        return self.report["symbolized"] == len(addresses)

    def test_by_what_is_in_them(self):
        path = self.lld()
        in_hex, in_base64 = self.file_id(path)
        for format in FORMATS:
            made = self.archive(path, name=f"store/whatever.{format}")
            for build_id in (self.build_id(path), self.build_id(path).upper(), in_hex, in_base64, in_base64 + "=="):
                with self.subTest(format=format, build_id=build_id):
                    self.assertTrue(self.found(path, build_id))
            self.assertFalse(self.found(path, "00" * 20))
            made.unlink()

    def test_by_their_names_crosswise(self):
        path = self.lld()
        in_hex, in_base64 = self.file_id(path)
        for name in (in_hex, in_base64):
            # A symbfile of a static file has no facts if it was made by others; only the name says what it is.
            made = self.archive(path, name=f"store/{name}.lidia")
            for build_id in (in_hex, in_base64):
                with self.subTest(name=name, build_id=build_id):
                    self.assertTrue(self.found(path, build_id))
            made.unlink()

    def test_an_archive_of_another_build_is_not_taken_for_its_name(self):
        path = self.lld()
        other = self.lld("-pie", "-fPIE", "-Wl,--build-id=0x" + "ab" * 20, name="other")
        self.archive(other, name="store/program.lidia")
        self.assertFalse(self.found(path, self.build_id(path), "/gone/program"))
        self.assertEqual(self.report["reasons"]["other_build_id"], self.report["locations"])
        # The name says the build ID, the content another one.
        self.archive(other, name=f"store/{self.build_id(path)}.lidia")
        self.assertFalse(self.found(path, self.build_id(path), "/gone/program"))

    def test_text_that_is_not_an_id(self):
        path = self.lld()
        self.archive(path, name="store/whatever.lidia")
        for build_id in ("../../etc/passwd", "=" * 22, "A" * 22, "A" * 21 + "=", "é" * 11, "0" * 31):
            self.assertFalse(self.found(path, build_id))


if __name__ == "__main__":
    tap.main()
