"""`sextant symbolize --url`: a symbol service answers what no file here knows.

The service is a small one in this file, which answers from what `lookup` says and keeps what it was asked.
"""

import base64
import http.server
import json
import threading
import time

from support import elf_reader, pprof, sextant, tap
from support.pprof import Location, Mapping, Profile
from support.symbolizing import ALL, BASE, NONE, SymbolizeTest, every_address, leaf_profile, mapping_of


class Service:
    """`answers` maps (id, address) to frames; `reply`, where it is set, gives (status, headers, body) instead."""

    def __init__(self):
        self.answers = {}
        self.reply = None
        self.requests = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.requests.append((self.path, dict(self.headers), json.loads(body)))
                status, headers, answer = service.answer(json.loads(body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, question):
        if self.reply is not None:
            return self.reply(len(self.requests), question)
        known = {address for identity, address in self.answers if identity == question["file_id"]}
        if not known:
            return 404, {}, b'{"success":false}'
        frames = [self.answers.get((question["file_id"], address), []) for address in question["addresses"]]
        return 200, {"Content-Type": "application/json"}, json.dumps({"frames": frames}).encode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class UrlTest(SymbolizeTest):
    def setUp(self):
        super().setUp()
        self.service = Service()
        self.addCleanup(self.service.close)

    def knows(self, path, identity):
        """The service knows PATH by that name. Returns what is expected of each address."""
        addresses = every_address(path)
        for answer in self.lookup(path, addresses):
            self.service.answers[identity, answer["address"]] = [
                {"function": frame["function"], "file": frame["file"], "line": frame["line"]}
                for frame in answer["frames"]]
        return addresses

    def check(self, profile, identity, addresses):
        deepest = 0
        for index, address in enumerate(addresses):
            frames = self.service.answers[identity, hex(address)]
            expected = [(one["function"], one["file"] or "", one["line"] or 0) for one in frames]
            self.assertEqual(profile.frames(index + 1), expected, hex(address))
            deepest = max(deepest, len(expected))
        self.assertEqual(deepest, 3)


class Answers(UrlTest):
    def test_a_file_that_is_not_here(self):
        path = self.program("-fPIE", "-pie")
        build_id = elf_reader.ElfFile.open(path).build_id()
        addresses = self.knows(path, build_id)
        given = leaf_profile(path, addresses, mapping_of(path, build_id=build_id))
        path.unlink()
        profile = self.symbolize(given, "--url", self.service.url)
        self.check(profile, build_id, addresses)
        self.assertEqual(profile.mappings[0].flags, ALL)
        self.assertEqual(self.report["mappings"][0]["file"], self.service.url)
        asked, headers, question = self.service.requests[0]
        self.assertEqual(asked, "/api/symbolize")
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertNotIn("Authorization", headers)
        self.assertEqual(set(question), {"file_id", "addresses", "kind"})
        self.assertEqual(question["kind"], "file_offset", "nothing is known of the file but offsets")

    def test_a_file_at_a_fixed_address(self):
        path = self.program("-no-pie")
        build_id = elf_reader.ElfFile.open(path).build_id()
        addresses = self.knows(path, build_id)
        given = leaf_profile(path, addresses, mapping_of(path, base=0, build_id=build_id), 0)
        path.unlink()
        self.check(self.symbolize(given, "--url", self.service.url), build_id, addresses)
        self.assertEqual(set(self.service.requests[0][2]), {"file_id", "addresses"})

    def test_a_stripped_file_is_known_by_its_file_id(self):
        path = self.program("-fPIE", "-pie")
        sextant.need_tool("strip")
        addresses = every_address(path)
        whole = self.folder / "whole"
        whole.write_bytes(path.read_bytes())
        sextant.tool("strip", path)
        file_id = self.run_ok("fileid", "--json", path).json_lines()[0]["hex"]
        for answer in self.lookup(whole, addresses):
            self.service.answers[file_id, answer["address"]] = [
                {key: frame[key] for key in ("function", "file", "line")} for frame in answer["frames"]]
        build_id = elf_reader.ElfFile.open(path).build_id()
        given = leaf_profile(path, addresses, mapping_of(path, build_id=build_id))
        self.check(self.symbolize(given, "--url", self.service.url), file_id, addresses)
        self.assertEqual([question["file_id"] for _, _, question in self.service.requests], [build_id, file_id])

    def test_an_archive_says_what_the_service_knows_the_file_by(self):
        """The profile has no build ID. The archive has it, and the FileID, but lacks a symbol."""
        path = self.program("-fPIE", "-pie")
        identities = [elf_reader.ElfFile.open(path).build_id(), self.run_ok("fileid", path).text.split()[0]]
        addresses = every_address(path)
        given = leaf_profile(path, addresses, mapping_of(path))
        stripped = self.folder / "stripped" / "program"
        stripped.parent.mkdir()
        sextant.tool("strip", "-o", stripped, path)
        store = self.folder / "store"
        store.mkdir()
        self.archive(stripped, "--no-debug-search", name="store/program.lidia")
        identities[1] = self.run_ok("fileid", stripped).text.split()[0]
        for identity in identities:
            self.service.answers.clear()
            self.service.requests.clear()
            self.knows(path, identity)
            path.rename(self.folder / "hidden")
            profile = self.symbolize(given, "--url", self.service.url, "--search", store, "--no-local")
            (self.folder / "hidden").rename(path)
            self.check(profile, identity, addresses)
            self.assertTrue(all("kind" not in question for _, _, question in self.service.requests))

    def test_an_archive_without_segments(self):
        path = self.program("-fPIE", "-pie")
        build_id = elf_reader.ElfFile.open(path).build_id()
        addresses = self.knows(path, build_id)
        given = leaf_profile(path, addresses, mapping_of(path, build_id=build_id))
        store = self.folder / "store"
        store.mkdir()
        self.archive(path, "--compat", name="store/program.lidia")
        path.unlink()
        profile = self.symbolize(given, "--url", self.service.url, "--search", store, "--no-local")
        self.check(profile, build_id, addresses)
        self.assertEqual({question.get("kind") for _, _, question in self.service.requests}, {"file_offset"})

    def test_files_that_are_here_are_not_asked_for(self):
        path = self.program("-fPIE", "-pie")
        addresses = every_address(path)
        self.symbolize(leaf_profile(path, addresses, mapping_of(path)), "--url", self.service.url)
        self.assertEqual(self.service.requests, [])
        self.assertEqual(self.report["symbolized"], len(addresses))

    def test_what_the_service_does_not_know_is_counted(self):
        self.service.answers["abcd", "0x1010"] = [{"function": "known", "file": None, "line": None}]
        mappings = [Mapping(1, BASE, BASE + 0x4000, 0, "/gone/one", "abcd"),
                    Mapping(2, BASE + 0x8000, BASE + 0x9000, 0, "/gone/two", "ef01"),
                    Mapping(3, BASE + 0xa000, BASE + 0xb000, 0, "/gone/three", 'bad"id')]
        locations = [Location(1, 1, BASE + 0x1010), Location(2, 1, BASE + 0x1020), Location(3, 2, BASE + 0x8010),
                     Location(4, 3, BASE + 0xa010)]
        given = Profile(mappings=mappings, locations=locations, samples=[([one.id], [1]) for one in locations])
        profile = self.symbolize(given, "--url", self.service.url)
        self.assertEqual(profile.frames(1), [("known", "", 0)])
        self.assertEqual([profile.frames(number) for number in (2, 3, 4)], [[], [], []])
        self.assertEqual((self.report["symbolized"], self.report["reasons"]["no_file"]), (1, 3))
        self.assertEqual([mapping.flags for mapping in profile.mappings], [ALL, NONE, NONE])
        self.assertEqual({question["file_id"] for _, _, question in self.service.requests}, {"abcd", "ef01"})

    def test_many_addresses_come_in_several_requests(self):
        count = 4500
        for index in range(count):
            self.service.answers["abcd", hex(0x1000 + index)] = [{"function": f"f{index}", "file": "a.c", "line": index}]
        locations = [Location(index + 1, 1, BASE + 0x1000 + index) for index in range(count)]
        given = Profile(mappings=[Mapping(1, BASE, BASE + 0x10000, 0, "/gone", "abcd")], locations=locations,
                        samples=[([one.id], [1]) for one in locations])
        profile = self.symbolize(given, "--url", self.service.url + "/")
        self.assertEqual([profile.frames(index + 1) for index in range(count)],
                         [[(f"f{index}", "a.c", index)] for index in range(count)])
        self.assertGreater(len(self.service.requests), 1)
        self.assertEqual(sum(len(question["addresses"]) for _, _, question in self.service.requests), count)

    def test_the_key(self):
        self.service.answers["abcd", "0x1010"] = [{"function": "known", "file": None, "line": None}]
        given = Profile(mappings=[Mapping(1, BASE, BASE + 0x4000, 0, "/gone", "abcd")],
                        locations=[Location(1, 1, BASE + 0x1010)], samples=[([1], [1])])
        wanted = "APIKey " + base64.b64encode(b"me:secret").decode()
        for options, env in ((("--api-key", "me:secret"), {}), (("--api-key", wanted[7:]), {}),
                             ((), {"SEXTANT_API_KEY": "me:secret"})):
            profile = self.file("in.pb", pprof.encode(given))
            done = sextant.run("symbolize", profile, "-o", self.folder / "out.pb", "--url", self.service.url, *options,
                               env=env)
            self.assertEqual(done.status, 0, done)
            self.assertEqual(self.service.requests[-1][1]["Authorization"], wanted)

    def test_the_key_from_a_file(self):
        self.service.answers["abcd", "0x1010"] = [{"function": "known", "file": None, "line": None}]
        given = Profile(mappings=[Mapping(1, BASE, BASE + 0x4000, 0, "/gone", "abcd")],
                        locations=[Location(1, 1, BASE + 0x1010)], samples=[([1], [1])])
        profile = self.file("in.pb", pprof.encode(given))
        wanted = base64.b64encode(b"me:secret").decode()
        for text in ("me:secret", "\n# keys\n\n  me:secret \r\nother:key\n", "me:secret:read:blue\n", wanted + "\n"):
            done = sextant.run("symbolize", profile, "-o", self.folder / "out.pb", "--url", self.service.url,
                               "--api-key-file", self.file("key", text), env={"SEXTANT_API_KEY": "not:this"})
            self.assertEqual(done.status, 0, done)
            self.assertEqual(self.service.requests[-1][1]["Authorization"], "APIKey " + wanted)
        done = sextant.run("symbolize", profile, "-o", self.folder / "out.pb", "--url", self.service.url,
                           env={"SEXTANT_API_KEY": ""})
        self.assertEqual(done.status, 0, done)
        self.assertNotIn("Authorization", self.service.requests[-1][1])


class Failures(UrlTest):
    def fails(self, *options, url=None):
        given = Profile(mappings=[Mapping(1, BASE, BASE + 0x4000, 0, "/gone", "abcd")],
                        locations=[Location(1, 1, BASE + 0x1010)], samples=[([1], [1])])
        profile, output = self.file("in.pb", pprof.encode(given)), self.file("out.pb", b"as it was")
        done = sextant.run("symbolize", profile, "-o", output, "--url", url or self.service.url, *options)
        self.assertEqual(output.read_bytes(), b"as it was", "a failed run leaves what was there")
        self.assertEqual(len(done.err.splitlines()), 1, done)
        return done

    def test_nobody_there(self):
        url = self.service.url
        self.service.close()
        done = self.fails(url=url)
        self.assertEqual(done.status, 1)
        self.assertIn(url, done.err)

    def test_answers_that_make_no_sense(self):
        for body in (b"", b"no", b"[]", b"{}", b'{"frames":[]}', b'{"frames":[1]}', b'{"frames":[[1]]}',
                     b'{"frames":[[{"file":"a.c"}]]}', b'{"frames":[[{"function":1}]]}', b'{"frames":[[],[]]}',
                     b'{"frames":' + b"[" * 100000, b'{"frames":[[{"function":"\xff"}]]}'):
            with self.subTest(body=body[:40]):
                self.service.reply = lambda count, question, body=body: (200, {}, body)
                done = self.fails()
                self.assertEqual(done.status, 1)
                self.assertIn(self.service.url, done.err)

    def test_a_refusal_says_why(self):
        self.service.reply = lambda count, question: (
            403, {}, b'{"success":false,"error":{"Code":"1000","Text":"unknown\\nkey"},"status":403}')
        done = self.fails()
        self.assertEqual(done.status, 1)
        self.assertRegex(done.err, r"status 403: unknown.key; see --api-key")

    def test_a_refusal_has_its_code_and_uuid(self):
        uuid = "c0ffee00-1234-4321-aaaa-0123456789ab"
        for code in (b'"1000"', b"1000"):
            body = b'{"success":false,"uuid":"%s","error":{"Code":%s,"Text":"%s"},"status":400}' % (
                uuid.encode(), code, b"no such thing " * 40)
            self.service.reply = lambda count, question, body=body: (400, {}, body)
            done = self.fails()
            self.assertEqual(done.status, 1)
            self.assertEqual(done.err.count("\n"), 1, done.err)
            for expected in ("1000", uuid, "status 400", "no such thing"):
                self.assertIn(expected, done.err)

    def test_a_refusal_with_status_200(self):
        self.service.reply = lambda count, question: (
            200, {}, b'{"success":false,"uuid":"u-1","error":{"Code":"7","Text":"busy"}}')
        self.assertRegex(self.fails().err, "code 7, uuid u-1, .*busy")

    def test_a_refusal_without_details(self):
        for body in (b"", b"nonsense", b"[]", b'{"uuid":5,"error":{"Code":{},"Text":[]}}', b'{"error":"plain text"}'):
            self.service.reply = lambda count, question, body=body: (500, {}, body)
            done = self.fails()
            self.assertEqual(done.status, 1)
            self.assertIn("status 500", done.err)
        self.assertIn("plain text", done.err)

    def test_it_is_not_led_elsewhere(self):
        self.service.reply = lambda count, question: (302, {"Location": "http://127.0.0.1:1/"}, b"")
        self.assertEqual(self.fails().status, 1)
        self.assertEqual(len(self.service.requests), 1)

    def test_a_busy_service_is_asked_again(self):
        answer = json.dumps({"frames": [[{"function": "late", "file": None, "line": 7}]]}).encode()
        self.service.reply = lambda count, question: (200, {}, answer) if count > 1 else (503, {"Retry-After": "1"}, b"")
        begin = time.monotonic()
        given = Profile(mappings=[Mapping(1, BASE, BASE + 0x4000, 0, "/gone", "abcd")],
                        locations=[Location(1, 1, BASE + 0x1010)], samples=[([1], [1])])
        profile = self.symbolize(given, "--url", self.service.url)
        self.assertEqual(profile.frames(1), [("late", "", 7)])
        self.assertGreaterEqual(time.monotonic() - begin, 0.9)

    def test_usage(self):
        for options in (("--url", "ftp://a"), ("--url", "a.example"), ("--url", self.service.url, "--api-key", "")):
            profile = self.file("in.pb", pprof.encode(Profile()))
            done = sextant.run("symbolize", profile, "-o", self.folder / "out.pb", *options)
            self.assertEqual(done.status, 2, done)
            self.assertFalse((self.folder / "out.pb").exists())
        self.assertEqual(sextant.run("symbolize", "--text", "--url", "http://a").status, 2)
        for option in ("--api-key", "--api-key-file", "--ca"):
            done = sextant.run("symbolize", "in", "-o", "out", option, "a:b")
            self.assertEqual(done.status, 2)
            self.assertIn(option + " is for a symbol service (--url URL)", done.err)
        done = sextant.run("symbolize", "in", "-o", "out", "--url", "http://a", "--api-key", "a:b", "--api-key-file", "f")
        self.assertEqual(done.status, 2)

    def test_key_files_without_a_key(self):
        for text in ("", "# a:b\n\n", "a:sha256$00\n", "a\0:b\n"):
            path = self.file("key", text)
            done = self.fails("--api-key-file", path)
            self.assertEqual(done.status, 1)
            self.assertTrue(done.err.startswith(f"sextant: {path}: "), done.err)
        for option in ("--api-key-file", "--ca"):
            done = self.fails(option, self.folder / "missing")
            self.assertEqual(done.status, 1)
            self.assertIn("missing: cannot open: No such file", done.err)
        self.assertEqual(self.service.requests, [])


if __name__ == "__main__":
    tap.main()
