"""`sextant symbolize` on OTLP profiles: protobuf and JSON, versions 1.7 and 1.8 to 1.11 of opentelemetry-proto.

Messages are written by support/otlp.py, symbolized, read back by it, and compared with what `lookup` says for the same
virtual addresses. Everything but the lines, and the functions and strings that they need, must be unchanged.
"""

import gzip
import json
import random

from support import elf_reader, otlp, sextant, tap
from support.otlp import GNU, HTLHASH, Function, Location, Mapping, Message
from support.symbolizing import BASE, CPP_SOURCE, SymbolizeTest, code_segment, every_address, mapping_of, symbol

UNKNOWN = otlp.number(100, 7) + otlp.message(101, b"kept") + otlp.varint(102 << 3 | 5) + b"\1\2\3\4"
FORMS = [dict(), dict(by_index=True), dict(version=7), dict(unknown=UNKNOWN)]


class OtlpTest(SymbolizeTest):
    def fill(self, data, *options, name="in.otlp", output="out.otlp"):
        result = self.run_ok("symbolize", self.file(name, data), "-o", self.folder / output, "--json", *options)
        self.report, = result.json_lines()
        return (self.folder / output).read_bytes()

    def build_id(self, path):
        return elf_reader.ElfFile.open(path).build_id()

    def file_id(self, path):
        return self.run_ok("fileid", path).text.split()[0]

    def message(self, path, addresses, attributes=None, base=BASE, stacks=None, zero=False):
        """Each address is a location, and the leaf of a stack of its own unless STACKS are given."""
        if attributes is None:
            attributes = {GNU: self.build_id(path)}
        mapping = mapping_of(path, base=base)
        content = Message()
        content.mappings.append(Mapping(attributes=attributes) if zero else
                                Mapping(mapping.start, mapping.limit, mapping.offset, "program", attributes))
        content.locations += [Location(1, (0 if zero else base) + address) for address in addresses]
        content.stacks += [[index + 1] for index in range(len(addresses))] if stacks is None else stacks
        return content

    def check(self, filled, path, addresses, first=1):
        for index, address in enumerate(addresses):
            self.assertEqual(filled.frames(first + index), self.expected_of[address], hex(address))

    def answers(self, path, addresses):
        found = self.lookup(path, addresses)
        self.expected_of = {address: [(one["function"], one["file"] or "", one["line"] or 0) for one in answer["frames"]]
                            for address, answer in zip(addresses, found)}
        self.assertEqual(max(len(one) for one in self.expected_of.values()), 3, "two calls are inlined into each other")


class Lines(OtlpTest):
    def setUp(self):
        super().setUp()
        self.path = self.program("-fPIE", "-pie", "-Wl,--build-id=sha1")
        self.addresses = every_address(self.path, 3)
        self.answers(self.path, self.addresses)
        self.where = ("--search", self.path, "--no-local")

    def test_every_form_of_protobuf(self):
        for form in FORMS:
            with self.subTest(form=form):
                filled = otlp.decode(self.fill(otlp.encode(self.message(self.path, self.addresses), **form), *self.where))
                self.check(filled, self.path, self.addresses)
                self.assertEqual(filled.strings[0], "")
                self.assertEqual(filled.functions[0], Function())
                self.assertEqual(filled.locations[0], Location())
                self.assertEqual(self.report["symbolized"], len(self.addresses))
                self.assertEqual(len(filled.strings), len(set(filled.strings)), "a string is there twice")

    def test_every_form_of_json(self):
        for form in FORMS[:3]:
            for snake in (False, True):
                for indent in (None, 2) if not form or snake else (None,):
                    with self.subTest(form=form, snake=snake, indent=indent):
                        data = otlp.encode_json(self.message(self.path, self.addresses), extra={"notKnown": [1, {"a": "é"}]},
                                                snake=snake, indent=indent, **form)
                        out = self.fill(data, *self.where, name="in.json", output="out.json")
                        self.check(otlp.decode_json(out), self.path, self.addresses)
                        self.assertEqual(self.without_lines(json.loads(out), json.loads(data)), json.loads(data))
                        self.assertEqual(b"function_index" in out, snake)
                        self.assertEqual(b'"line":[' in out, form.get("version") == 7)

    def without_lines(self, tree, before):
        """TREE without what was added."""
        dictionary, old = tree["dictionary"], before["dictionary"]
        for kind in ("functionTable", "function_table", "stringTable", "string_table"):
            if kind in old:
                self.assertEqual(dictionary[kind][:len(old[kind])], old[kind])
                dictionary[kind] = old[kind]
        for location in dictionary.get("locationTable", dictionary.get("location_table")):
            location.pop("lines", None)
            location.pop("line", None)
        return tree

    def test_the_rest_is_the_same_byte_for_byte(self):
        for form in FORMS:
            with self.subTest(form=form):
                data = otlp.encode(self.message(self.path, self.addresses), **form)
                out = self.fill(data, *self.where)
                before, after = otlp.fields(data), otlp.fields(out)
                self.assertEqual([one[2] for one in before if one[0] != 2], [one[2] for one in after if one[0] != 2])
                self.assertEqual([one[0] for one in before], [one[0] for one in after])
                old, new = otlp.fields(otlp.dictionary_of(data)), otlp.fields(otlp.dictionary_of(out))
                kept = iter(new)
                for field, value, raw in old:
                    there = next(one for one in kept if one[0] == field)
                    if field == 2:
                        lines = [part[2] for part in otlp.fields(there[1]) if part[0] != 3]
                        self.assertEqual([part[2] for part in otlp.fields(value)], lines)
                    else:
                        self.assertEqual(there[2], raw)
                numbers = [one[0] for one in new if one[0] <= 7]
                self.assertEqual(numbers, sorted(numbers), "as a writer of protobuf orders them")

    def test_nothing_found_changes_nothing(self):
        for data in (otlp.encode(self.message(self.path, self.addresses), unknown=UNKNOWN), b"",
                     otlp.encode_json(self.message(self.path, self.addresses), indent=1)):
            self.assertEqual(self.fill(data, "--no-local"), data)

    def test_compressed_input_and_output(self):
        data = otlp.encode(self.message(self.path, self.addresses))
        out = self.fill(gzip.compress(data), *self.where, name="in.otlp.gz", output="out.otlp.gz")
        self.check(otlp.decode(gzip.decompress(out)), self.path, self.addresses)
        text = otlp.encode_json(self.message(self.path, self.addresses))
        out = self.fill(gzip.compress(text), *self.where, name="profile.gz", output="out.json")
        self.check(otlp.decode_json(out), self.path, self.addresses)

    def test_the_kind_is_found_in_the_content(self):
        data = otlp.encode(self.message(self.path, self.addresses))
        self.check(otlp.decode(self.fill(data, *self.where, name="profile.bin")), self.path, self.addresses)
        result = self.run_ok("symbolize", "-", "-o", "-", "-q", *self.where, stdin=data)
        self.check(otlp.decode(result.out), self.path, self.addresses)

    def test_mangled_and_readable_names(self):
        path = self.program("-fPIE", "-pie", "-Wl,--build-id=sha1", name="cpp", source=CPP_SOURCE, language="cpp")
        address = symbol(path, "_ZN5space5twiceEi").value
        filled = otlp.decode(self.fill(otlp.encode(self.message(path, [address])), "--search", path, "--no-local"))
        index, _ = filled.locations[1].lines[0]
        self.assertEqual((filled.functions[index].name, filled.functions[index].system_name),
                         ("space::twice(int)", "_ZN5space5twiceEi"))

    def test_functions_and_strings_that_are_there_are_used(self):
        address = self.addresses[0]
        name, file, _ = self.expected_of[address][-1]
        content = self.message(self.path, [address])
        content.functions += [Function(name, name, file, 9), Function(name, name, file), Function("other")]
        for encode, decode in ((otlp.encode, otlp.decode), (otlp.encode_json, otlp.decode_json)):
            filled = decode(self.fill(encode(content), *self.where))
            self.assertEqual(filled.locations[1].lines[-1][0], 2)
            self.assertEqual(filled.strings.count(name), 1)

    def test_lines_are_kept_unless_forced(self):
        content = self.message(self.path, self.addresses[:2])
        content.functions.append(Function("mine"))
        content.locations[1].lines = [(1, 77)]
        for encode, decode in ((otlp.encode, otlp.decode), (otlp.encode_json, otlp.decode_json)):
            filled = decode(self.fill(encode(content), *self.where))
            self.assertEqual(filled.frames(1), [("mine", "", 77)])
            self.assertEqual((self.report["kept"], self.report["symbolized"]), (1, 1))
            self.check(decode(self.fill(encode(content), "--force", *self.where)), self.path, self.addresses[:2])

    def test_a_table_that_is_missing_or_empty(self):
        content = self.message(self.path, self.addresses[:1])
        content.functions = []
        content.mappings[1].filename = ""
        filled = otlp.decode(self.fill(otlp.encode(content, version=7), *self.where))
        self.assertEqual(filled.functions[0], Function())
        tree = otlp.Writer(content, version=7).tree()
        for change in (lambda one: one.pop("functionTable"), lambda one: one.pop("stringTable"),
                       lambda one: one.update(functionTable=None), lambda one: one.update(stringTable=None),
                       lambda one: one.update(stringTable=[], functionTable=[])):
            changed = json.loads(json.dumps(tree))
            change(changed["dictionary"])
            filled = otlp.decode_json(self.fill(json.dumps(changed).encode(), *self.where, name="in.json"))
            self.check(filled, self.path, self.addresses[:1])
            self.assertEqual((filled.functions[0], filled.strings[0]), (Function(), ""))

    def test_empty_lines_in_json(self):
        tree = otlp.Writer(self.message(self.path, self.addresses[:3])).tree()
        table = tree["dictionary"]["locationTable"]
        table[1]["lines"], table[2]["lines"] = [], None
        table[3] = {"lines": [], **table[3]}
        filled = otlp.decode_json(self.fill(json.dumps(tree).encode(), *self.where, name="in.json"))
        self.check(filled, self.path, self.addresses[:3])

    def test_numbers_of_json_in_any_spelling(self):
        address = self.addresses[0]
        tree = otlp.Writer(self.message(self.path, [address])).tree()
        location = tree["dictionary"]["locationTable"][1]
        for index, written in ((1, BASE + address), ("1", str(BASE + address)), (1.0, float(BASE + address))):
            location["mappingIndex"], location["address"] = index, written
            filled = otlp.decode_json(self.fill(json.dumps(tree).encode(), *self.where, name="in.json")
                                      .replace(b'"1"', b"1").replace(b"1.0", b"1"))
            self.assertEqual(len(filled.locations[1].lines), len(self.expected_of[address]))

    def test_several_messages_in_json(self):
        data = b"".join(otlp.encode_json(self.message(self.path, [address])) + b"\n" for address in self.addresses[:3])
        out = self.fill(data, *self.where, name="in.json")
        for address, line in zip(self.addresses, out.splitlines()):
            self.check(otlp.decode_json(line), self.path, [address])
        self.assertEqual(self.report["symbolized"], 3)
        result = sextant.run("symbolize", self.file("in.json", data + b"x"), "-o", self.folder / "out")
        self.assertEqual(result.status, 1)
        self.assertIn("not an OTLP message", result.err)

    def test_two_dictionaries_are_one(self):
        data = otlp.encode(self.message(self.path, self.addresses[:4]))
        parts = otlp.fields(otlp.dictionary_of(data))
        for cut in range(1, len(parts), 5):
            split = otlp.fields(data)[0][2] + otlp.message(2, b"".join(one[2] for one in parts[:cut])) + otlp.message(
                2, b"".join(one[2] for one in parts[cut:]))
            self.check(otlp.decode(self.fill(split, *self.where)), self.path, self.addresses[:4])


class Files(OtlpTest):
    """Which file a mapping means."""

    def setUp(self):
        super().setUp()
        self.path = self.program("-fPIE", "-pie", "-Wl,--build-id=sha1")
        self.addresses = every_address(self.path, 40)
        self.answers(self.path, every_address(self.path))
        self.folder_of_it = self.folder / "store"
        self.folder_of_it.mkdir()

    def check_ids(self, attributes, symbolized=True, options=()):
        content = self.message(self.path, self.addresses, attributes)
        filled = otlp.decode(self.fill(otlp.encode(content), "--search", self.folder_of_it, "--no-local", *options))
        self.assertEqual(self.report["symbolized"], len(self.addresses) if symbolized else 0, attributes)
        if symbolized:
            self.check(filled, self.path, self.addresses)

    def test_by_build_id_and_by_file_id(self):
        (self.folder_of_it / "another").write_bytes(self.path.read_bytes())
        build_id, file_id = self.build_id(self.path), self.file_id(self.path)
        self.check_ids({GNU: build_id})
        self.check_ids({GNU: build_id.upper()})
        self.check_ids({HTLHASH: file_id})
        self.check_ids({GNU: "00" * 20, HTLHASH: file_id})
        self.check_ids({"process.executable.build_id.profiling": file_id})
        self.check_ids({HTLHASH: "00" * 16, GNU: build_id, "other": "x"})
        self.check_ids({HTLHASH: "00" * 16}, False)
        self.check_ids({GNU: "00" * 20}, False)
        self.check_ids({"service.build_id.gnu": build_id}, False)
        self.check_ids({}, False)

    def test_archives(self):
        self.archive(self.path, name="store/any.lidia")
        self.check_ids({GNU: self.build_id(self.path)})
        self.check_ids({HTLHASH: self.file_id(self.path)})

    def test_a_mapping_that_is_all_zero_has_virtual_addresses(self):
        for flags in (("-fPIE", "-pie"), ("-no-pie",)):
            path = self.program(*flags, "-Wl,--build-id=sha1", name="virtual")
            addresses = every_address(path)
            self.answers(path, addresses)
            content = self.message(path, addresses, zero=True)
            self.check(otlp.decode(self.fill(otlp.encode(content), "--search", path, "--no-local")), path, addresses)

    def test_segments_that_lie_elsewhere_than_in_the_file(self):
        sextant.need_tool("clang", "ld.lld")
        path = self.folder / "lld"
        sextant.tool("clang", "-g", "-O1", "-fuse-ld=lld", "-pie", "-fPIE", "-Wl,--build-id", "-o", path,
                     self.folder / "program.c")
        segment = code_segment(path)
        self.assertNotEqual(segment.offset, segment.vaddr)
        addresses = every_address(path)
        self.answers(path, addresses)
        for base in (BASE, 0x10000):
            content = self.message(path, addresses, base=base)
            self.check(otlp.decode(self.fill(otlp.encode(content), "--search", path, "--no-local")), path, addresses)


class Callers(OtlpTest):
    """Frames that are not the leaf are looked up at the address minus one."""

    def setUp(self):
        super().setUp()
        self.path = self.program("-fPIE", "-pie", "-O1", "-Wl,--build-id=sha1")
        # last_call ends with a call that never returns: the return address is in the next function
        last = symbol(self.path, "last_call")
        self.after = last.value + last.size
        self.main = symbol(self.path, "main").value
        self.where = ("--search", self.path, "--no-local")

    def names(self, stacks, version, json_form=False):
        content = self.message(self.path, [self.main, self.after], stacks=stacks)
        encode, decode = (otlp.encode_json, otlp.decode_json) if json_form else (otlp.encode, otlp.decode)
        filled = decode(self.fill(encode(content, version=version), *self.where))
        return [filled.frames(2)[-1][0] if filled.frames(2) else None, self.report.get("leaf_and_caller", 0)]

    def test_leaves_and_callers(self):
        leaf = self.lookup(self.path, [self.after])[0]["frames"]
        leaf = leaf[-1]["function"] if leaf else None
        self.assertNotEqual(leaf, "last_call")
        for version in (7, 11):
            for form in (False, True):
                with self.subTest(version=version, json=form):
                    self.assertEqual(self.names([[2, 1]], version, form), [leaf, 0])
                    self.assertEqual(self.names([[1, 2]], version, form), ["last_call", 0])
                    self.assertEqual(self.names([[2, 1], [1, 2]], version, form), ["last_call", 1 + 1])
                    self.assertEqual(self.names([[2], [1, 2], [1]], version, form), ["last_call", 1])
                    self.assertEqual(self.names([[2, 2]], version, form), ["last_call", 1])

    def test_what_is_not_native(self):
        content = self.message(self.path, [self.main] * 6)
        types = ("native", "kernel", "go", "cpython", "jvm", "v8js")
        for location, kind in zip(content.locations[1:], types):
            location.attributes = {otlp.FRAME_TYPE: kind}
        for encode, decode, version in ((otlp.encode, otlp.decode, 11), (otlp.encode_json, otlp.decode_json, 11),
                                        (otlp.encode, otlp.decode, 7)):
            filled = decode(self.fill(encode(content, version=version), *self.where))
            self.assertEqual([len(one.lines) > 0 for one in filled.locations[1:]], [True] * 3 + [False] * 3)
            self.assertEqual(self.report["reasons"]["not_native"], 3)


class Odd(OtlpTest):
    def setUp(self):
        super().setUp()
        self.path = self.program("-fPIE", "-pie", "-Wl,--build-id=sha1")
        self.content = self.message(self.path, every_address(self.path, 50))
        self.where = ("--search", self.path, "--no-local")

    def attempt(self, data, name="in.otlp"):
        result = sextant.run("symbolize", self.file(name, data), "-o", self.folder / "out", *self.where, "-q")
        self.assertIn(result.status, (0, 1), result.err)
        self.assert_no_crash(result)
        self.assertLessEqual(result.err.count("\n"), 1)
        return result

    def test_damage(self):
        """Every cut and, in the long run, every changed byte ends with a result or one line."""
        data = otlp.encode(self.content)
        chances = random.Random(1)
        cuts = range(len(data)) if sextant.EVERYTHING else chances.sample(range(len(data)), 6)
        for cut in cuts:
            self.attempt(data[:cut])
        for _ in range(2000 if sextant.EVERYTHING else 6):
            changed = bytearray(data)
            changed[chances.randrange(len(data))] = chances.randrange(256)
            self.attempt(bytes(changed))

    def test_damaged_json(self):
        data = otlp.encode_json(self.content)
        chances = random.Random(2)
        for _ in range(2000 if sextant.EVERYTHING else 6):
            changed = bytearray(data)
            changed[chances.randrange(len(data))] = chances.choice(b'{}[]",:0x\\\xff')
            self.attempt(bytes(changed), "in.json")
        for cut in chances.sample(range(1, len(data)), 4):
            self.assertEqual(self.attempt(data[:cut], "in.json").status, 1)

    def test_indices_beyond_the_tables(self):
        top = (1 << 31) - 1
        content = Message()
        content.mappings.append(Mapping(attributes={GNU: "00"}))
        content.locations += [Location(top, 5), Location(1, 5)]
        content.stacks += [[top, 5, 1 << 63, 2]]
        attribute = otlp.message(6, otlp.number(1, top) + otlp.message(2, otlp.number(8, top)))
        mapping = otlp.message(1, otlp.packed(5, [top, 1 << 63]))
        data = otlp.encode(content) + otlp.message(2, mapping + attribute + otlp.message(3, otlp.number(1, top)))
        self.assertEqual(self.fill(data, *self.where), data)

    def test_messages_that_are_refused(self):
        for data, reason in ((b"{", "expected"), (b"{} {", "expected"), (b'{"dictionary":[]}', "not an object"),
                             (b'{"dictionary":{"stringTable":{}}}', "not an array"),
                             (b'{"dictionary":{"stringTable":[],"string_table":[]}}', "twice"),
                             (b'{"dictionary":{},"dictionary":{}}', "two dictionaries"),
                             (b'{"dictionary":{"locationTable":[{"address":"x"}]}}', "not an integer"),
                             (b'{"dictionary":{"stringTable":["\xff"]}}', "UTF-8")):
            result = self.attempt(data, "in.json")
            self.assertEqual(result.status, 1, data)
            self.assertIn(reason, result.err)
        result = self.attempt(b"\x12\x05\x0a")
        self.assertEqual(result.status, 1)
        self.assertIn("not an OTLP message", result.err)

    def test_names_that_are_not_utf8(self):
        name = b"bad\xff\xfename"
        path = self.folder / "bad"
        path.write_bytes(self.path.read_bytes().replace(b"follower\0", b"foll\xffwer\0"))
        address = symbol(self.path, "follower").value
        self.assertNotIn(name, path.read_bytes())
        content = self.message(self.path, [address])
        for encode, decode in ((otlp.encode, otlp.decode), (otlp.encode_json, otlp.decode_json)):
            filled = decode(self.fill(encode(content), "--search", path, "--no-local", "--debug-dir", self.folder))
            self.assertEqual(filled.frames(1)[-1][0], "foll�wer")


if __name__ == "__main__":
    tap.main()
