"""`sextant symbolize`: pprof profiles get functions, files and lines.

Profiles are written by support/pprof.py, symbolized, read back by it, and compared with what `lookup` says for the same
virtual addresses. Where Go and protoc are there, their readers must take the result too.
"""

import gzip
import os
import random
import shutil
import subprocess
import time
import unittest

from support import elf_reader, pprof, sextant, tap
from support.elf_writer import symbol_file
from support.pprof import Function, Location, Mapping, Profile
from support.symbolizing import (ALL, BASE, CPP_SOURCE, NONE, SOURCE, SymbolizeTest, code_segment, every_address,
                                 leaf_profile, mapping_of, symbol)


class Lines(SymbolizeTest):
    def check_all(self, path, base=BASE, options=(), mapping=None):
        addresses = every_address(path)
        profile = self.symbolize(leaf_profile(path, addresses, mapping or mapping_of(path, base=base), base), *options)
        deepest = 0
        for index, address in enumerate(addresses):
            expected = self.expected_of[address]
            self.assertEqual(profile.frames(index + 1), expected, hex(address))
            deepest = max(deepest, len(expected))
        self.assertEqual(profile.mappings[0].flags, ALL)
        self.assertEqual(self.report["symbolized"], len(addresses))
        self.assertEqual(deepest, 3, "the program has two calls inlined into each other")

    def answers(self, path):
        addresses = every_address(path)
        answers = self.lookup(path, addresses)
        self.expected_of = {address: [(one["function"], one["file"] or "", one["line"] or 0) for one in answer["frames"]]
                            for address, answer in zip(addresses, answers)}

    def test_a_position_independent_program(self):
        path = self.program("-fPIE", "-pie")
        self.answers(path)
        self.check_all(path)

    def test_a_program_at_a_fixed_address(self):
        path = self.program("-no-pie")
        self.assertEqual(elf_reader.ElfFile.open(path).type, elf_reader.ET_EXEC)
        self.answers(path)
        self.check_all(path, base=0)

    def test_a_library_that_is_linked_at_an_address_of_its_own(self):
        path = self.program("-shared", "-fPIC", "-Wl,-Ttext-segment=0x3000000000", name="libprelinked.so")
        self.answers(path)
        self.check_all(path, base=0)
        self.check_all(path, base=0x7000_0000_0000)

    def test_segments_that_lie_elsewhere_than_in_the_file(self):
        sextant.need_tool("clang", "ld.lld")
        path = self.folder / "program"
        (self.folder / "program.c").write_text(SOURCE)
        sextant.tool("clang", "-g", "-O1", "-fuse-ld=lld", "-pie", "-fPIE", "-o", path, self.folder / "program.c")
        segment = code_segment(path)
        self.assertNotEqual(segment.offset, segment.vaddr)
        self.answers(path)
        self.check_all(path)

    def test_archives_of_all_of_them(self):
        for flags, base in ((["-fPIE", "-pie"], BASE), (["-no-pie"], 0),
                            (["-shared", "-fPIC", "-Wl,-Ttext-segment=0x3000000000"], 0)):
            with self.subTest(flags=flags):
                path = self.program(*flags, name="program")
                self.answers(path)
                store = self.folder / "store"
                store.mkdir(exist_ok=True)
                self.archive(path, name="store/program.lidia")
                self.check_all(path, base, ("--search", store, "--no-local"))
                self.assertEqual(self.report["mappings"][0]["file"], str(store / "program.lidia"))

    def test_an_archive_beside_the_binary_takes_its_segments(self):
        sextant.need_tool("clang", "ld.lld")
        path = self.folder / "program"
        (self.folder / "program.c").write_text(SOURCE)
        sextant.tool("clang", "-g", "-O1", "-fuse-ld=lld", "-pie", "-fPIE", "-o", path, self.folder / "program.c")
        self.answers(path)
        (self.folder / "store").mkdir()
        self.archive(path, name="store/program.lidia")
        self.check_all(path, BASE, ("--search", self.folder / "store"))
        self.assertEqual(self.report["mappings"][0]["file"], str(self.folder / "store/program.lidia"))

    def test_addresses_that_are_file_relative_already(self):
        path = self.program()
        self.answers(path)
        for limit in (0, (1 << 64) - 1):
            self.check_all(path, base=0, mapping=Mapping(1, 0, limit, 0, str(path)))

    def test_a_separate_debug_file_by_build_id(self):
        path = self.program("-fPIE", "-pie")
        self.answers(path)
        sextant.need_tool("objcopy", "strip")
        build_id = elf_reader.ElfFile.open(path).build_id()
        debug = self.folder / "debug" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
        debug.parent.mkdir(parents=True)
        whole = shutil.copy(path, self.folder / "whole")
        sextant.tool("objcopy", "--only-keep-debug", path, debug)
        addresses = every_address(whole)
        mapping = mapping_of(path, build_id=build_id)
        sextant.tool("strip", path)
        for gone in (False, True):
            if gone:
                path.unlink()
            with self.subTest(gone=gone):
                profile = self.symbolize(leaf_profile(path, addresses, mapping), "--search", self.folder / "debug")
                for index, address in enumerate(addresses):
                    self.assertEqual(profile.frames(index + 1), self.expected_of[address])

    def test_names_are_readable_and_the_system_name_is_as_linked(self):
        path = self.program(name="cpp", source=CPP_SOURCE, language="cpp")
        address = symbol(path, "_ZN5space5twiceEi").value
        for options, name in (((), "space::twice(int)"), (("--mangled",), "_ZN5space5twiceEi")):
            profile = self.symbolize(leaf_profile(path, [address], mapping_of(path)), *options)
            self.assertEqual([(one.name, one.system_name) for one in profile.functions], [(name, "_ZN5space5twiceEi")])

    def test_lines_of_a_program_without_any(self):
        path = self.file("plain.elf", symbol_file([("first", 0x401000, 16), ("second", 0x401010, 16)]))
        profile = self.symbolize(leaf_profile(path, [0x401004, 0x401014], Mapping(1, 0, 0, 0, str(path)), 0))
        self.assertEqual([profile.frames(1), profile.frames(2)], [[("first", "", 0)], [("second", "", 0)]])


class ReturnAddresses(SymbolizeTest):
    """The address after a call that never returns belongs to another function."""

    def setUp(self):
        super().setUp()
        self.path = self.program("-fno-pie", "-no-pie", "-fno-reorder-functions")
        self.caller = symbol(self.path, "last_call")
        self.after = self.caller.value + self.caller.size

    def frames(self, samples_of, packed=True):
        mapping = mapping_of(self.path, base=0)
        profile = Profile([mapping], [Location(1, 1, self.after), Location(2, 1, symbol(self.path, "main").value)],
                          samples_of)
        return self.symbolize(profile, packed=packed).frames(1)

    def test_a_leaf_is_looked_up_as_it_is(self):
        self.assertEqual(self.frames([([1, 2], [1])]), self.expected(self.path, self.after))

    def test_a_caller_is_looked_up_minus_one(self):
        expected = self.expected(self.path, self.after - 1)
        self.assertEqual(expected[-1][0], "last_call")
        for packed in (True, False):
            self.assertEqual(self.frames([([2, 1], [1])], packed), expected)

    def test_one_that_is_both_is_a_caller(self):
        expected = self.expected(self.path, self.after - 1)
        self.assertEqual(self.frames([([1], [1]), ([2, 2, 1], [1])]), expected)
        self.assertEqual(self.frames([([2, 2, 1], [1]), ([1], [1])]), expected)

    def test_the_first_address_of_a_mapping_stays_in_it(self):
        segment = code_segment(self.path)
        start = symbol(self.path, "main").value
        mapping = Mapping(1, start, start + 0x1000, segment.offset + start - segment.vaddr, str(self.path))
        profile = Profile([mapping], [Location(1, 1, start)], [([1, 1], [1])])
        self.assertEqual(self.symbolize(profile).frames(1), self.expected(self.path, start))


class WhatStays(SymbolizeTest):
    def busy_profile(self, path):
        addresses = every_address(path, step=3)
        order = list(range(len(addresses)))
        random.Random(5).shuffle(order)
        return Profile(
            mappings=[mapping_of(path, id=77), Mapping(3, 0x1000, 0x2000, 0, "/not/there", "aabbccdd", ALL[:1] + NONE[1:]),
                      Mapping(9, filename="[vdso]")],
            locations=[Location(1000 + 17 * index, 77, BASE + addresses[index]) for index in order]
            + [Location(5, 3, 0x1800, folded=True), Location(6, 0, 0x77), Location(7, 3, 0x1900, [(40, 12), (41, 0)]),
               Location(8, 12345, 1)],
            samples=[([1000, 5, 6], [1, -1]), ([7], [2, 1 << 62])],
            functions=[Function(40, "old", "_old", "/old.c", 3), Function(41, "older")],
            sample_types=[("samples", "count"), ("time", "nanoseconds")],
        )

    def test_everything_else(self):
        path = self.program()
        before = self.busy_profile(path)
        extra = pprof.number(9, 123456789) + pprof.number(12, 7) + pprof.message(200, b"unknown \xff") + b"\x9d\x06abcd"
        after = self.symbolize(before, extra=extra)
        self.assertEqual(after.samples, [(ids, [value % (1 << 64) for value in values]) for ids, values in before.samples])
        self.assertEqual(after.sample_types, before.sample_types)
        self.assertEqual([(one.id, one.mapping, one.address, one.folded) for one in after.locations],
                         [(one.id, one.mapping, one.address, one.folded) for one in before.locations])
        self.assertEqual(after.functions[:2], before.functions)
        self.assertEqual(after.frames(7), [("old", "/old.c", 12), ("older", "", 0)])
        self.assertEqual(after.others, [(9, 123456789), (12, 7), (200, b"unknown \xff"), (99, b"abcd")])
        self.assertEqual([one.flags for one in after.mappings], [ALL, (True, False, False, False), NONE])
        for one in before.mappings[1:]:
            self.assertIn(one, after.mappings)
        self.assertEqual(len({one.id for one in after.functions}), len(after.functions))
        self.assertEqual(len(after.strings), len(set(after.strings)))

    def test_bytes_that_are_not_changed(self):
        path = self.program()
        before = pprof.encode(self.busy_profile(path))
        self.symbolize(before)
        parts = [part for part in pprof.fields(self.data)]
        kept = [part for part in pprof.fields(before) if part[0] not in (3, 4)]
        self.assertEqual([part for part in parts if part[0] not in (3, 4)][: len(kept)], kept)

    def test_a_profile_with_nothing_to_do_comes_out_as_it_went_in(self):
        for data in (pprof.encode(Profile()), pprof.encode(Profile([Mapping(1, 0x1000, 0x2000, 0, "/not/there")],
                                                                   [Location(1, 1, 0x1234)], [([1], [1])]))):
            self.symbolize(data)
            self.assertEqual(self.data, data)

    def test_fields_that_stand_in_groups(self):
        group = b"\xa3\x06" + pprof.number(4, 1) + b"\xab\x06\xac\x06" + b"\xa4\x06"
        data = pprof.encode(Profile()) + group
        source = self.file("in.pb", data)
        self.run_ok("symbolize", "-q", source, "-o", self.folder / "out.pb")
        self.assertEqual((self.folder / "out.pb").read_bytes(), data)

    def test_lines_are_replaced_only_when_asked(self):
        path = self.program()
        address = symbol(path, "follower").value
        profile = leaf_profile(path, [address], mapping_of(path))
        profile.locations[0].lines = [(1, 5)]
        profile.functions = [Function(1, "what it was")]
        self.assertEqual(self.symbolize(profile).frames(1), [("what it was", "", 5)])
        self.assertEqual(self.report["kept"], 1)
        self.assertEqual(self.symbolize(profile, "--force").frames(1), self.expected(path, address))

    def test_twice_is_once(self):
        path = self.program()
        self.symbolize(self.busy_profile(path))
        once = self.data
        self.symbolize(once)
        self.assertEqual(self.data, once)

    def test_the_result_is_the_same_every_time(self):
        path = self.program()
        self.symbolize(self.busy_profile(path))
        once = self.data
        self.symbolize(self.busy_profile(path))
        self.assertEqual(self.data, once)

    def test_a_profile_without_a_string_table(self):
        data = pprof.message(1, b"") + pprof.message(3, pprof.number(1, 1)) + pprof.message(
            4, pprof.number(1, 1) + pprof.number(2, 1) + pprof.number(3, 0x401004))
        self.run_ok("symbolize", "-q", self.file("in.pb", data), "-o", self.folder / "out.pb")
        self.assertEqual((self.folder / "out.pb").read_bytes(), data)


class Report(SymbolizeTest):
    def test_reasons_are_counted(self):
        path = self.program()
        mapping = mapping_of(path)
        damaged = self.file("damaged.lidia", b"\xfc\xfcLIDIA broken")
        profile = Profile(
            [mapping, Mapping(2, 0x1000, 0x2000, 0, "/not/there"), Mapping(3, 0x3000, 0x4000, 0, "/x/damaged")],
            [Location(1, 1, BASE + symbol(path, "main").value), Location(2, 0, 1), Location(3, 99, 1),
             Location(4, 2, 0x1001), Location(5, 1, mapping.limit - 1), Location(6, 1, mapping.limit + 5),
             Location(7, 1, mapping.start - 1), Location(8, 3, 0x3001)],
        )
        self.symbolize(profile, "--search", damaged)
        self.assertEqual(self.report["locations"], 8)
        self.assertEqual(self.report["symbolized"], 1)
        self.assertEqual(self.report["unresolved"], 7)
        self.assertEqual(self.report["reasons"], {"no_mapping": 2, "no_file": 1, "other_build_id": 0, "unreadable_file": 1,
                                                  "not_loaded": 3, "no_symbol": 0})
        result = sextant.run("symbolize", self.folder / "in.pb", "-o", self.folder / "out.pb", "--search", damaged)
        self.assertEqual(result.status, 0)
        self.assertEqual(result.out, b"")
        self.assertIn(f"{self.folder / 'out.pb'}: 1 of 8 locations symbolized; 7 unresolved: 2 without a mapping, "
                      "1 no file found, 1 file cannot be read, 3 not loaded from the file\n", result.err)
        self.assertIn("sextant: /not/there: warning: no file found\n", result.err)
        self.assertIn(f"sextant: {damaged}: warning: ", result.err)
        self.run_ok("symbolize", "--quiet", self.folder / "in.pb", "-o", self.folder / "out.pb", "--search", damaged)

    def test_many_missing_files_are_not_listed_one_by_one(self):
        profile = Profile([Mapping(one, 0x1000, 0x2000, 0, f"/not/there/{one}") for one in range(1, 40)],
                          [Location(one, one, 0x1000) for one in range(1, 40)])
        source = self.file("in.pb", pprof.encode(profile))
        result = self.run_warned_loosely("symbolize", source, "-o", self.folder / "out.pb")
        self.assertEqual(len(result.err.splitlines()), 12)
        self.assertIn("29 more", result.err)

    def run_warned_loosely(self, *arguments):
        result = sextant.run(*arguments)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        return result


class Streams(SymbolizeTest):
    def setUp(self):
        super().setUp()
        self.path = self.program()
        self.plain = pprof.encode(leaf_profile(self.path, every_address(self.path), mapping_of(self.path)))

    def test_gzip_in_and_out(self):
        expected = None
        for name, data in (("in.pb", self.plain), ("in.pb.gz", gzip.compress(self.plain)),
                           ("two.gz", gzip.compress(self.plain[:100]) + gzip.compress(self.plain[100:]))):
            source = self.file(name, data)
            for output in ("out.pb", "out.pb.gz"):
                self.run_ok("symbolize", "-q", source, "-o", self.folder / output)
                written = (self.folder / output).read_bytes()
                self.assertEqual(written[:2] == b"\x1f\x8b", output.endswith(".gz"))
                written = gzip.decompress(written) if output.endswith(".gz") else written
                expected = expected or written
                self.assertEqual(written, expected)

    def test_standard_input_and_output(self):
        self.run_ok("symbolize", "-q", self.file("in.pb", self.plain), "-o", self.folder / "out.pb")
        expected = (self.folder / "out.pb").read_bytes()
        self.assertEqual(self.run_ok("symbolize", "-q", "-", "-o", "-", stdin=self.plain).out, expected)
        self.assertEqual(self.run_ok("symbolize", "-q", "-o", "-", stdin=self.plain).out, expected)
        packed = self.run_ok("symbolize", "-q", "-", "-o", "-", stdin=gzip.compress(self.plain)).out
        self.assertEqual(gzip.decompress(packed), expected)

    def test_a_failed_run_leaves_the_old_file(self):
        old = self.file("out.pb", b"as it was")
        for damage in (b"", b"no profile at all", self.plain[:-3], gzip.compress(self.plain)[:-9]):
            source = self.file("in.pb", damage)
            self.run_error("symbolize", source, "-o", old, naming=source)
            self.assertEqual(self.run_error("symbolize", "--json", source, "-o", old, naming=source).out, b"")
            self.assertEqual(old.read_bytes(), b"as it was")
            self.assertEqual(sorted(one.name for one in self.folder.iterdir() if one.name.startswith("out")), ["out.pb"])

    def test_usage(self):
        source = self.file("in.pb", self.plain)
        self.run_usage("symbolize")
        self.run_usage("symbolize", source)
        self.run_usage("symbolize", source, source, "-o", "x")
        self.run_usage("symbolize", source, "-o", "x", "--max-size", "many")
        self.run_error("symbolize", source, "-o", self.folder / "x", "--search", self.folder / "none",
                       naming=self.folder / "none")
        self.run_error("symbolize", self.folder / "none", "-o", self.folder / "x", naming=self.folder / "none")


class Hostile(SymbolizeTest):
    def test_a_gzip_bomb(self):
        bomb = gzip.compress(b"\0" * (8 << 20), 9) * 100
        source = self.file("bomb.pb.gz", bomb)
        result = self.run_error("symbolize", source, "-o", self.folder / "out.pb", naming=source, limit_memory=True)
        self.assertIn("expands to more than 512 MiB", result.err)
        result = self.run_error("symbolize", source, "-o", self.folder / "out.pb", "--max-size", "10", naming=source)
        self.assertIn("expands to more than 10 MiB", result.err)

    def test_damaged_bytes(self):
        path = self.file("plain.elf", symbol_file([("first", 0x401000, 16)]))
        profile = leaf_profile(path, [0x401000 + i for i in range(16)], Mapping(1, 0, 0, 0, str(path)), 0)
        data = pprof.encode(profile)
        generator = random.Random(1)
        for _ in range(150):
            broken = bytearray(data)
            for _ in range(generator.randrange(1, 4)):
                broken[generator.randrange(len(broken))] = generator.randrange(256)
            source = self.file("in.pb", bytes(broken[: generator.randrange(len(broken) // 2, len(broken) + 1)]))
            result = sextant.run("symbolize", "-q", "--no-local", "--search", path, source, "-o", self.folder / "out.pb",
                                 timeout=20, limit_memory=True)
            self.assert_no_crash(result)
            if result.status:
                self.assert_one_error_line(result, source)

    def test_many_empty_records(self):
        """Two bytes each, and far more in memory."""
        for record in (b"\x22\x00", b"\x1a\x00", b"\x32\x00"):
            source = self.file("in.pb.gz", gzip.compress(pprof.encode(Profile()) + record * (40 << 20), 1))
            result = sextant.run("symbolize", "-q", source, "-o", self.folder / "out.pb", timeout=60, limit_memory=True)
            self.assert_no_crash(result)
            self.assertEqual(result.status, 1)
            self.assertIn("has more than", result.err)

    def test_numbers_at_their_limits(self):
        path = self.program()
        top = (1 << 64) - 1
        profile = Profile(
            [Mapping(top, top - 5, top, top, str(path)), Mapping(2, 1, 0, top, str(path)), Mapping(3, 9, 5, 1, str(path))],
            [Location(top, top, top), Location(2, 2, 0), Location(3, 2, top), Location(4, 3, 7), Location(0, 0, 0)],
            [([top, 2, 3, 4, 0], [top])],
        )
        self.symbolize(profile)
        self.symbolize(Profile(functions=[Function(top, "x")]))
        full = leaf_profile(path, [symbol(path, "main").value], mapping_of(path))
        full.functions = [Function(top, "x")]
        self.run_error("symbolize", self.file("in.pb", pprof.encode(full)), "-o", self.folder / "out.pb")


class Speed(SymbolizeTest):
    def test_a_hundred_thousand_locations_of_fifty_archives(self):
        program = self.program()
        (self.folder / "store").mkdir()
        first = self.archive(program, name="store/module0.so.lidia")
        for one in range(1, 50):
            shutil.copy(first, self.folder / "store" / f"module{one}.so.lidia")
        mappings, locations, drawn = [], [], random.Random(3)
        first_addresses = {symbol(program, name).value for name in ("main", "outer", "follower", "last_call", "stop")}
        known = [address for address in every_address(program) if address not in first_addresses]
        for one in range(50):
            base = 0x7000_0000_0000 + one * 0x1000000
            mappings.append(mapping_of(program, one + 1, base, filename=f"/lib/module{one}.so"))
            locations += [Location(len(locations) + i + 1, one + 1, base + drawn.choice(known)) for i in range(2000)]
        samples_of = [([drawn.randrange(1, 100001) for _ in range(20)], [1]) for _ in range(5000)]
        source = self.file("in.pb.gz", gzip.compress(pprof.encode(Profile(mappings, locations, samples_of))))
        start = time.monotonic()
        result = self.run_ok("symbolize", source, "-o", self.folder / "out.pb.gz", "--json", "--search",
                             self.folder / "store", "--no-local")
        seconds = time.monotonic() - start
        report, = result.json_lines()
        self.assertEqual(report["symbolized"], 100000)
        if not sextant.SANITIZED:
            self.assertLess(seconds, 1)


class OtherReaders(SymbolizeTest):
    def setUp(self):
        super().setUp()
        self.path = self.program()
        self.addresses = every_address(self.path, step=5)
        profile = leaf_profile(self.path, self.addresses, mapping_of(self.path))
        self.profile = self.symbolize(profile, output="out.pb.gz")

    def test_go_tool_pprof(self):
        sextant.need_tool("go")
        env = {**os.environ, "PPROF_TMPDIR": str(self.folder)}
        raw = subprocess.run(["go", "tool", "pprof", "-raw", "-symbolize=none", self.folder / "out.pb.gz"], env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if "no such tool" in raw.stderr:
            raise unittest.SkipTest("this Go has no pprof")
        self.assertEqual(raw.returncode, 0, raw.stderr)
        for index in range(len(self.addresses)):
            for name, file, line in self.profile.frames(index + 1):
                self.assertRegex(raw.stdout, rf"{name} {file}:{line}(:0)? s=0")
        self.assertIn("[FN][FL][LN][IN]", raw.stdout)
        top = subprocess.run(["go", "tool", "pprof", "-top", "-symbolize=none", self.folder / "out.pb.gz"], env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertIn("inner (inline)", top.stdout)

    def test_protoc(self):
        sextant.need_tool("protoc")
        proto = self.file("profile.proto", PROTO)
        done = subprocess.run(["protoc", f"--proto_path={self.folder}", "--decode=Profile", proto],
                              input=gzip.decompress(self.data), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = done.stdout.decode()
        self.assertEqual(text.count("location {"), len(self.addresses))
        self.assertEqual(text.count("line {"), sum(len(one.lines) for one in self.profile.locations))
        self.assertEqual(text.count("function {"), len(self.profile.functions))
        for flag in ("has_functions", "has_filenames", "has_line_numbers", "has_inline_frames"):
            self.assertIn(f"{flag}: true", text)


PROTO = """
syntax = "proto3";
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3;
  repeated Location location = 4; repeated Function function = 5; repeated string string_table = 6; }
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; }
message Mapping { uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4;
  int64 filename = 5; int64 build_id = 6; bool has_functions = 7; bool has_filenames = 8; bool has_line_numbers = 9;
  bool has_inline_frames = 10; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; bool is_folded = 5; }
message Line { uint64 function_id = 1; int64 line = 2; int64 column = 3; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
"""


if __name__ == "__main__":
    tap.main()
