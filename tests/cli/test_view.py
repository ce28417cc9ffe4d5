"""The verb view without a browser: who may ask, what is answered, and what goes wrong. tests/pages opens the pages."""

import os
import random
import re
import signal
import socket
import stat
import time
import unittest
import urllib.parse
import zlib

from support import mlyze_writer, pprof, sextant, tap
from support.size_writer import Container, Size, Symbol, save, save_diff
from support.view import WAIT, View

PAGES = (sextant.ROOT / "web" / "dist" / "size.html").is_file()


def build(size, **keywords):
    return Size([Symbol(".text", 0x1000, size, "app::f(int)", "o/a.o", "src/a.cc"),
                 Symbol(".data", 0x2000, 10, "app::state", "o/b.o", "src/b.cc")],
                [Container("", {}, {".text": size, ".data": 10})], **keywords)  # fmt: skip


START = 1_700_000_000_000_000


def trace():
    events = [("alloc", START + 1, 16, 10, 0, 1), ("free", START + 2, 16), ("alloc", START + 3, 32, 5, 0, 1)]
    return mlyze_writer.plain(events, START, mlyze_writer.metadata([[(0, 1, 0)]], ["a.c"], ["main"]))


class ViewTest(sextant.ProgramTest):
    def view(self, *words, **keywords):
        view = View(*words, **keywords)
        self.addCleanup(view.stop)
        return view

    def sizes(self):
        return self.file("a.size", save(build(100))), self.file("b.size", save(build(120)))


class Access(ViewTest):
    def test_one_line_with_the_url_then_sigint_ends_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            view = self.view(self.sizes()[0])
            self.assertRegex(view.line, r"\Ahttp://127\.0\.0\.1:\d+/[0-9a-f]{32}/\n\Z")
            self.assertEqual(view.stop(number), (0, b""))
            self.assertEqual(view.errors_at_end, "")

    def test_a_connection_that_is_open_does_not_keep_it_running(self):
        view = self.view(self.sizes()[0])
        with socket.create_connection((view.host, view.port), timeout=WAIT) as client:
            client.sendall(f"GET {view.root} HTTP/1.1\r\nHost: 127.0.0.1:{view.port}\r\n\r\n".encode())
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 "))
            self.assertEqual(view.stop()[0], 0)

    def test_tokens_differ_and_wrong_ones_are_refused(self):
        path = self.sizes()[0]
        view, other = self.view(path), self.view(path)
        self.assertNotEqual(view.root, other.root)
        token = view.root.strip("/")
        self.assertEqual(view.get().status, 200 if PAGES else 500)
        for wrong in ("/", "", "/" + token[:-1] + "/", "/" + token[:-1] + ("0" if token[-1] != "0" else "1") + "/",
                      "/" + token + "x/", "/" + token.upper().translate(str.maketrans("ABCDEF", "GHIJKL")) + "/",
                      other.root, "/" + "0" * 32 + "/", "/" + token[:16], "/favicon.ico", "/x" + view.root,
                      "//" + token + "/", "http://127.0.0.1/" + token[:-1] + "/", "/" + token + "%00/",
                      "/0/data/page", "/%2e%2e" + view.root, "/" + token + "\\"):  # fmt: skip
            status = view.get(wrong or "/?" + token, absolute=True).status
            self.assertTrue(400 <= status < 500, (wrong, status))

    def test_a_wrong_host_is_refused(self):
        view = self.view(self.sizes()[0])
        port = view.port
        for host in (f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "localhost", "", "127.0.0.1:",
                     f"x127.0.0.1:{port}",
                     f"localhost.evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"127.0.0.1:{port}.evil.example",
                     f"127.0.0.1:{port}@evil.example", f"0.0.0.0:{port}", f"192.168.1.1:{port}"):  # fmt: skip
            status = view.get(host=host).status
            self.assertTrue(400 <= status < 500, (host, status))
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
            self.assertEqual(view.get("0/data/page", host=host).status, 200, host)

    def test_no_host_and_two_hosts_are_refused(self):
        view = self.view(self.sizes()[0])
        right, wrong = f"Host: 127.0.0.1:{view.port}\r\n", "Host: evil.example\r\n"
        both = right + wrong, wrong + right, right + right
        for version, hosts in (("1.1", ""), ("1.0", ""), *[("1.1", hosts) for hosts in both]):
            with socket.create_connection((view.host, view.port), timeout=WAIT) as client:
                client.sendall(f"GET {view.root} HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n".encode())
                self.assertRegex(client.recv(100), rb"\AHTTP/1.[01] 4\d\d ", (version, hosts))

    def test_only_get_and_head(self):
        view = self.view(self.sizes()[0])
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"):
            reply = view.get("0/data/page", method=method, body=b"x" * 100 if method in ("POST", "PUT") else None)
            self.assertEqual((reply.status, reply.headers["Allow"]), (405, "GET, HEAD"), method)
        head, whole = view.get("0/data/page", method="HEAD"), view.get("0/data/page")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["Content-Length"], str(len(whole.body)))

    def test_headers_of_every_reply(self):
        view = self.view(self.sizes()[0])
        for path, absolute in (("", False), ("0/data/page", False), ("nothing", False), ("/", True)):
            headers = view.get(path, absolute=absolute).headers
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
            self.assertIsNone(headers["Access-Control-Allow-Origin"])

    def test_only_this_machine_can_connect(self):
        path = self.sizes()[0]
        for address in ("0.0.0.0:0", ":0", "[::]:0"):
            self.run_usage("view", "--no-browser", "--listen", address, path)
        for address in ("127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "nowhere.invalid:0"):
            self.run_usage("view", "--no-browser", "--listen", address, path)
        view = self.view("--listen", "localhost:0", path)
        self.assertEqual(view.get("0/data/page").status, 200)
        taken = sextant.run("view", "--no-browser", "--listen", f"127.0.0.1:{view.port}", path)
        self.assertEqual(taken.status, 1)
        self.assertRegex(taken.err, r"\Asextant: cannot listen on [^\n]+\n\Z")


class Files(ViewTest):
    def test_no_request_reads_another_file(self):
        self.file("secret.size", save(build(4711)))
        path = self.sizes()[0]
        view = self.view(path.name, cwd=self.folder)
        for name in ("secret.size", "../secret.size", "1/", "-1/", "00/", "0/../secret.size",
                     "0/data/../../secret.size", "..%2fsecret.size",
                     "0/data/%2e%2e/secret.size", "%2e%2e/secret.size", "/etc/passwd", "%2fetc%2fpasswd",
                     "0/data/", "0/data/page/",
                     "0/data//page", "0x0/", "99999999999999999999/", "0-/", "0-1/", "-/", "0-0-0/", "0", "+0/",
                     "0/page", "0/%00", "0%00/", "0/data/page%00"):  # fmt: skip
            self.assertEqual(view.get(name).status, 404, name)
        for name in ("secret.size", "./a.size", str(path), "file://" + str(path), "http://127.0.0.1/a.size", "", "0",
                     "/etc/passwd", "a.size\0", "A.size"):  # fmt: skip
            query = urllib.parse.urlencode({"load_url": name})
            self.assertEqual(view.get("?" + query).status, 404, name)
            self.assertEqual(view.get("?load_url=a.size&" + urllib.parse.urlencode({"before_url": name})).status, 404, name)

    @unittest.skipUnless(PAGES, "the program was built without pages")
    def test_one_file_is_the_first_page_and_several_are_listed(self):
        one, two = self.sizes()
        odd = self.folder / "<b>&\"' \u202e.size"
        odd.write_bytes(save(build(1)))
        self.assertIn(b'id="served"', self.view(one).get().body)
        view = self.view(one, two, odd)
        listing = view.get().body.decode()
        self.assertNotIn('id="served"', listing)
        self.assertNotIn("<b>", listing)
        self.assertIn("&#60;b&#62;&#38;&#34;&#39; \u202e.size", listing)
        self.assertEqual(re.findall(r'<td><a href="([0-9]+/)"><bdi>', listing), ["0/", "1/", "2/"])
        for item in ("0/", "1/", "2/", "0-1/", "1-0/", "1-1/"):
            self.assertIn(f'"data":"{view.root}{item}data/"', view.get(item).body.decode())

    @unittest.skipUnless(PAGES, "the program was built without pages")
    def test_load_url_and_before_url(self):
        one, two = self.sizes()
        view = self.view(one, two.name, cwd=self.folder)

        def data_of(**query):
            page = view.get("?" + urllib.parse.urlencode(query)).body.decode()
            return re.search(r'"data":"/[0-9a-f]+/([^"]*)data/"', page).group(1)

        self.assertEqual(data_of(load_url=one), "0/")
        self.assertEqual(data_of(load_url="b.size"), "1/")
        self.assertEqual(data_of(load_url="b.size", before_url=one), "0-1/")
        self.assertEqual(data_of(load_url=one, before_url="b.size"), "1-0/")
        self.assertEqual(view.get("?before_url=b.size").status, 400)
        self.assertEqual(view.get(view.root.rstrip("/"), absolute=True).status, 302)
        without_slash = view.get(view.root.rstrip("/") + "?load_url=b.size", absolute=True)
        self.assertIn(f'"data":"{view.root}1/data/"', without_slash.body.decode())
        diff = view.get("0-1/data/page").json
        self.assertEqual((diff["before_name"], diff["name"]), ("a.size", "b.size"))

    def test_what_cannot_be_compared(self):
        heap = self.file("t.mlyze", trace())
        view = self.view(self.sizes()[0], heap)
        query = urllib.parse.urlencode({"load_url": heap, "before_url": self.folder / "a.size"})
        self.assertEqual(view.get("?" + query).status, 400)
        self.assertEqual(view.get("0-1/").status, 404)
        self.assertNotIn("<form", view.get().body.decode())
        one, two = self.sizes()
        listing = self.view(one, heap, two).get().body.decode()
        self.assertEqual(re.findall(r'<option selected value="[^"]*/([^"]*)"', listing), ["a.size", "b.size"])

    def test_files_of_every_kind(self):
        heap = self.file("t.mlyze", trace())
        diff = self.file("d.sizediff", save_diff(build(100, is_sparse=True), build(120, is_sparse=True)))
        view = self.view(heap, diff, self.sizes()[0])
        self.assertEqual(view.get("0/data/page").json["totals"]["allocations"], "2")
        self.assertEqual(view.get("0/data/progress").status, 200)
        self.assertEqual(view.get("0/data/calls").status, 200)
        self.assertEqual(view.get("1/data/page").status, 200)
        self.assertEqual(view.get("2/data/symbols").status, 200)
        self.assertEqual(view.get("2/data/nothing").status, 404)

    def test_profiles_are_known_by_their_content(self):
        functions = [pprof.Function(1, "main"), pprof.Function(2, "work", filename="w.c")]
        locations = [pprof.Location(1, lines=[(1, 3)]), pprof.Location(2, lines=[(2, 5)])]
        profile = pprof.encode(pprof.Profile(locations=locations, functions=functions, samples=[([2, 1], [7])]))
        view = self.view(self.file("p.pb.gz", profile), self.file("without-a-name", profile))
        for item in ("0", "1", "0-1"):
            self.assertEqual(view.get(item + "/data/calls").status, 200, item)
        self.assertIn("<td>profile</td>", view.get().body.decode())

    def test_errors_at_the_start_are_one_line(self):
        good = self.sizes()[0]
        bad = self.file("bad.size", save(build(100))[:-20])
        cut = self.file("bad.mlyze", b"MLYZ\x01\0\0\0")
        text, empty = self.file("notes.txt", b"text\n"), self.file("empty", b"")
        for path in (bad, cut, self.folder / "missing", self.folder, text, empty):
            error = self.run_error("view", "--no-browser", path, naming=path.name)
            self.assertEqual((error.out, error.err.count("\n")), (b"", 1), error.err)
            self.run_error("view", "--no-browser", good, path, naming=path.name)
        self.run_usage("view")


def many_stacks(count=1500):
    """A trace with more stacks than a page has groups of them."""
    generator = random.Random(4)
    events, live, at = [], [], START
    for i in range(3 * count):
        at += generator.randrange(100)
        live.append(4096 * (i + 1))
        events.append(("alloc", at, live[-1], generator.randrange(1, 500), i % count, i % 3))
        if len(live) > 50:
            events.append(("free", at, live.pop(generator.randrange(len(live)))))
    stacks = [[(0, i + 1, i % 40 + 1), (0, 9, 0)] for i in range(count)]
    metadata = mlyze_writer.metadata(stacks, ["a.c"], ["main", *[f"f{i}" for i in range(40)]])
    return mlyze_writer.plain(events, START, metadata), events


def columns(block):
    """The numbers of each column of a block, as varints."""
    data, at, lists = zlib.decompress(block, -15), 0, []
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        numbers, value, shift = [], 0, 0
        for byte in data[at + 4 : end]:
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                numbers.append(value)
                value = shift = 0
        lists.append(numbers)
        at = end
    return lists


class Traces(ViewTest):
    def sums(self, view, query=""):
        entries = columns(view.get("0/data/entries" + query).body)
        names = "bytes", "count", "freed", "freed_count", "temporary", "temporary_count", "leaked"
        return dict(zip(names, map(sum, entries[1:8])))

    def test_many_stacks_are_grouped_and_no_sum_changes(self):
        data, events = many_stacks()
        path = self.file("many.mlyze", data)
        view = self.view(path)
        page, sums = view.get("0/data/page").json, self.sums(view)
        [figures] = self.run_ok("heap", path, "--json").json_lines()
        self.assertLess(page["rows"], 1500)
        self.assertGreater(page["folded"], 500)
        for key in ("allocated_bytes", "allocations", "peak_bytes", "leaked_bytes", "temporary_bytes", "stacks", "events"):
            if key in figures:
                self.assertEqual(page["totals"][key], str(figures[key]), key)
        self.assertEqual((sums["bytes"], sums["count"]), (figures["allocated_bytes"], figures["allocations"]))
        self.assertEqual((sums["leaked"], sums["temporary"]), (figures["leaked_bytes"], figures["temporary_bytes"]))

    def test_a_window_has_the_figures_of_heap(self):
        data, events = many_stacks()
        path = self.file("many.mlyze", data)
        view = self.view(path)
        times = [event[1] for event in events]
        end = times[-1]
        for first, last in ((times[100], times[900]), (times[5], times[5]), (times[0], end), (end + 1, end + 9)):
            query = f"?from={first}&until={last}"
            page, sums = view.get("0/data/page" + query).json, self.sums(view, query)
            words = "--from", str(first), "--until", str(last), "--top=bytes", "-n", "5000", "--json"
            rows = self.run_ok("heap", path, *words).json_lines()
            self.assertEqual(sums["bytes"], sum(row.get("allocated_bytes", 0) for row in rows if "stack" in row))
            self.assertEqual(page["totals"]["allocated_bytes"], str(sums["bytes"]))
            live = sum(size for _, time, _, size, *_ in (event for event in events if event[0] == "alloc") if time < first)
            sizes = {event[2]: event[3] for event in events if event[0] == "alloc"}
            live -= sum(sizes[event[2]] for event in events if event[0] == "free" and event[1] < first)
            self.assertEqual(sum(columns(view.get("0/data/before" + query).body)[0]), live)
            self.assertEqual(page["window_start"], first - START)

    def test_windows_that_are_malformed(self):
        view = self.view(self.file("t.mlyze", trace()))
        for query in ("from=1", "until=1", "from=&until=", "from=x&until=5", "from=-1&until=5",
                      "from=2&until=1", "from=1&until=18446744073709551616", "from=0x1&until=5",
                      "from=1%00&until=2"):  # fmt: skip
            self.assertEqual(view.get("0/data/page?" + query).status, 400, query)
        self.assertEqual(view.get(f"0/data/page?from={START}&until={2**64 - 1}").status, 200)
        self.assertEqual(view.get("0/data/page?from=0&until=1").status, 200)

    def test_the_history_of_an_address_is_that_of_heap(self):
        path = self.file("many.mlyze", many_stacks()[0])
        view = self.view(path)
        for address in ("0x1000", "1001", "0x5000", "0xdead0000"):
            reply = view.get("0/data/address?address=" + address)
            expected = self.run_ok("heap", path, "--address", address, "--json").json_lines()
            for event in expected:
                for key in [key for key, value in event.items() if value is None]:
                    del event[key]
            self.assertEqual(reply.json["count"], len(expected))
            for got, line in zip(reply.json["events"], expected):
                line.pop("frames", None)
                self.assertEqual({key: got[key] for key in line}, line)
        for wrong in ("", "x", "0x", "0x12345678123456789", "12 ", "-1"):
            self.assertEqual(view.get("0/data/address?" + urllib.parse.urlencode({"address": wrong})).status, 400, wrong)
        self.assertEqual(view.get("0/data/address").status, 400)


class Sizes(ViewTest):
    def test_small_symbols_are_summed_up_and_searched(self):
        symbols, at = [], {".text": 0x10000, ".rodata": 0x90000}
        for i in range(300):
            section = ".text" if i % 3 else ".rodata"
            symbols.append(Symbol(section, at[section], 1 + i, f"Name{i}", f"o/{i % 4}.o", f"src/{i % 4}.cc"))
            at[section] += 1 + i
        sizes = {name: sum(symbol.size for symbol in symbols if symbol.section == name) for name in (".text", ".rodata")}
        ordered = sorted(symbols, key=lambda symbol: symbol.section != ".text")
        path = self.file("many.size", save(Size(ordered, [Container("", {}, sizes)])))
        whole, view = self.view(path), self.view("--rows", "100", path)
        page, names = view.get("0/data/page").json, view.get("0/data/names").body
        table = columns(view.get("0/data/symbols").body)
        self.assertLess(page["rows"], 120)
        self.assertEqual(page["rows"], len(table[3]))
        self.assertEqual(page["rows"] - page["small_rows"] + page["small_symbols"], 300)
        # Sizes and paddings are signed numbers: the same sums in both pages.
        all_of = columns(whole.get("0/data/symbols").body)
        self.assertEqual([sum(table[i]) for i in (3, 4)], [sum(all_of[i]) for i in (3, 4)])
        lines = zlib.decompress(names, -15).decode().splitlines()
        folded = [int(re.match(r"(\d+) small symbols?$", line).group(1)) for line in lines[-page["small_rows"] :]]
        self.assertEqual(sum(folded), page["small_symbols"])
        self.assertNotIn("small_symbols", whole.get("0/data/page").json)

        below = page["small_below"]
        reply = view.get(f"0/data/search?text=nAME1&below={below}").json
        small = sorted((symbol.size for symbol in symbols if "Name1" in symbol.name and symbol.size < below), reverse=True)
        self.assertEqual((reply["count"], [one["size"] for one in reply["symbols"]]), (len(small), small[:200]))
        in_file = sum(symbol.size < below for symbol in symbols[3::4])
        self.assertEqual(view.get(f"0/data/search?text=O/3.O&below={below}").json["count"], in_file)
        self.assertEqual(view.get("0/data/search?text=zzz&below=5").json, {"count": 0, "symbols": []})
        for wrong in ("", "text=&below=5", "text=a", "text=a&below=x", "text=" + "a" * 1001 + "&below=5"):
            self.assertEqual(view.get("0/data/search?" + wrong).status, 400, wrong[:20])

    def test_rows_takes_a_number(self):
        for wrong in ("0", "x", "-1"):
            self.run_usage("view", "--rows", wrong, self.sizes()[0])


class Browser(ViewTest):
    def script(self, text):
        path = self.file("browser", f"#!/bin/sh\n{text}\n".encode())
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def wait_for(self, path):
        for _ in range(WAIT * 20):
            if path.exists() and path.read_text().endswith("\n"):
                return path.read_text()
            time.sleep(0.05)
        raise AssertionError(f"{path} was not written")

    def test_the_browser_is_opened_where_there_is_a_display(self):
        out = self.folder / "url"
        browser = self.script(f'echo "$1" > {out}.new; mv {out}.new {out}; echo noise; echo noise >&2')
        path = self.sizes()[0]
        for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
            view = self.view(path, env={variable: ":9", "BROWSER": os.fspath(browser)}, browser=True)
            self.assertEqual(self.wait_for(out), view.line)
            out.unlink()
            self.assertEqual(view.stop(), (0, b""))
            self.assertEqual(view.errors_at_end, "")

    def test_no_browser_without_a_display_or_with_the_option(self):
        out = self.folder / "url"
        browser = os.fspath(self.script(f'echo "$1" > {out}'))
        self.view(self.sizes()[0], env={"BROWSER": browser}, browser=True).stop()
        self.view(self.sizes()[0], env={"BROWSER": browser, "DISPLAY": ""}, browser=True).stop()
        self.view(self.sizes()[0], env={"BROWSER": browser, "DISPLAY": ":9"}).stop()
        self.assertFalse(out.exists())

    def test_a_browser_that_is_missing_or_fails_is_no_error(self):
        for browser, folder in ((self.folder / "missing", "/nonexistent"), (self.script("exit 3"), "/nonexistent")):
            env = {"DISPLAY": ":9", "BROWSER": os.fspath(browser), "PATH": folder}
            view = self.view(self.sizes()[0], env=env, browser=True)
            self.assertEqual(view.get("0/data/page").status, 200)
            self.assertEqual(view.stop(), (0, b""))
            self.assertEqual(view.errors_at_end, "")


if __name__ == "__main__":
    tap.main()
