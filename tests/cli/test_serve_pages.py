"""Pages of a server: who gets them, the form for a key and its cookie, other sites, and text that is symbolized."""

import base64
import hashlib
import json
import pathlib
import re
import ssl
import tempfile
import time
import unittest
import urllib.parse

from support import sextant, tap
from support.service import Server, store_folder

PAGES = (sextant.ROOT / "web/dist/service.html").is_file()
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
KEYS = "all:key\nreader:r:read\nuploader:u:upload\nblue:b::blue\n"


class PagesTest(sextant.ProgramTest):
    def serve(self, *options, keys=KEYS, **keywords):
        if keys is not None:
            options = ("--api-key-file", self.file("keys", keys), *options)
        server = Server(store_folder(self), *options, **keywords)
        self.addCleanup(server.stop)
        return server

    @staticmethod
    def login(server, key, next_="/", headers=None):
        body = urllib.parse.urlencode({"key": key, "next": next_})
        return server.post("/login", body.encode(), headers={**FORM, **(headers or {})})

    def cookie(self, server, key="all:key", headers=None):
        reply = self.login(server, key, headers=headers)
        self.assertEqual(reply.status, 303, reply)
        return reply.headers["Set-Cookie"].split(";")[0]


class Access(PagesTest):
    def test_without_a_key_there_is_a_form(self):
        server = self.serve()
        for path in ("/", "/reports/ci/x"):
            reply = server.get(path, headers=HTML)
            self.assertEqual(reply.status, 401)
            self.assertTrue(reply.headers["Content-Type"].startswith("text/html"))
            self.assertIn(b'<form method="post" action="/login">', reply.body)
            self.assertIn(f'name="next" value="{path}"'.encode(), reply.body)
            # A browser would ask for a name and a password by itself.
            self.assertNotIn("Basic", reply.headers["WWW-Authenticate"])
            for name, value in (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer")):
                self.assertEqual(reply.headers[name], value)
            policy = reply.headers["Content-Security-Policy"]
            for part in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"):
                self.assertIn(part, policy)
            script = re.search(rb"<script>(.*?)</script>", reply.body).group(1)
            digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
            self.assertIn(f"script-src 'sha256-{digest}';", policy)
            other = server.get(path)
            self.assertEqual((other.status, other.code), (401, "2000"))
            self.assertIn("Basic", other.headers["WWW-Authenticate"])

    def test_a_page_of_ours_is_not_asked_by_the_browser(self):
        reply = self.serve().get("/api/v1/files", headers={"Sec-Fetch-Dest": "empty"})
        self.assertEqual(reply.status, 401)
        self.assertNotIn("Basic", reply.headers["WWW-Authenticate"])

    def test_the_form_remembers_what_is_compared(self):
        body = self.serve().get("/reports/x?before=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", headers=HTML).body
        self.assertNotIn(b"<script>alert", body)
        self.assertIn(b'value="/reports/x?before=%22%3E%3Cscript%3Ealert%281%29%3C/script%3E"', body)

    def test_a_link_from_another_site_is_followed_again(self):
        server = self.serve()
        foreign = {**HTML, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        again = rb'<meta http-equiv="refresh" content="0;url=/reports/x\?before=y">'
        self.assertRegex(server.get("/reports/x?before=y", headers=foreign).body, again)
        for headers in ({**foreign, "Sec-Fetch-Site": "same-origin"}, {**foreign, "Cookie": "a=b"}, HTML):
            self.assertNotIn(b"refresh", server.get("/reports/x?before=y", headers=headers).body)

    @unittest.skipUnless(PAGES, "built without pages")
    def test_who_sees_the_page(self):
        server = self.serve()
        for key, status in (("all:key", 200), ("reader:r", 200), ("blue:b", 200), ("uploader:u", 403), ("x:y", 401)):
            reply = server.get("/", headers=HTML, key=key)
            self.assertEqual(reply.status, status, key)
            self.assertTrue(reply.headers["Content-Type"].startswith("text/html"), key)
        about = about_of(server.get("/", key="blue:b"))
        self.assertEqual((about["key"], about["tenant"], about["has_keys"]), ("blue", "blue", True))
        self.assertEqual(about["scopes"], ["upload", "read", "admin"])
        self.assertEqual(about_of(server.get("/", key="reader:r"))["scopes"], ["read"])

    @unittest.skipUnless(PAGES, "built without pages")
    def test_public_read_and_no_keys(self):
        server = self.serve("--public-read")
        reply = server.get("/", headers=HTML)
        self.assertEqual((reply.status, about_of(reply)["key"]), (200, ""))
        self.assertEqual(server.get("/login", headers=HTML).status, 200)
        policy = reply.headers["Content-Security-Policy"]
        in_page = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]*)"', reply.body).group(1).decode()
        self.assertEqual(policy, in_page + "; frame-ancestors 'none'")
        for part in ("default-src 'none'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'"):
            self.assertIn(part, policy)
        server = self.serve(keys=None)
        self.assertEqual(about_of(server.get("/"))["has_keys"], False)
        self.assertEqual(server.get("/login").headers["Location"], "/")

    def test_failures_of_pages_are_html_for_browsers(self):
        server = self.serve(keys=None)
        reply = server.get("/reports/%3Cb%3Ex", headers=HTML)
        self.assertEqual(reply.status, 400)
        self.assertTrue(reply.headers["Content-Type"].startswith("text/html"))
        reply = server.get("/reports/none", headers=HTML)
        self.assertEqual(reply.status, 404)
        self.assertIn(b"Not found", reply.body)
        self.assertEqual(server.get("/reports/none").code, "3012")


class Sessions(PagesTest):
    def test_the_cookie(self):
        server = self.serve()
        place = "/reports/ci/x?before=y#group_by=path&include=a%22b"
        reply = self.login(server, " all:key\n", place)
        self.assertEqual((reply.status, reply.headers["Location"]), (303, place))
        value, *words = [word.strip() for word in reply.headers["Set-Cookie"].split(";")]
        self.assertEqual(set(words), {"Path=/", "Max-Age=604800", "HttpOnly", "SameSite=Strict"})
        self.assertNotIn("key", value)
        self.assertEqual(server.get("/api/v1/files", headers={"Cookie": f"a=b; {value}; c=d"}).status, 200)
        self.assertEqual(server.get("/api/v1/files", headers={"Cookie": value, "Authorization": "Bearer x:y"}).status, 401)
        # The key may be given as clients send it.
        self.assertEqual(self.login(server, "YWxsOmtleQ==").status, 303)

    def test_keys_that_are_not_known(self):
        server = self.serve()
        for key in ("all:other", "all", "", ":", "other:key", "all:key" + "x" * 5000, "\0"):
            reply = self.login(server, key)
            self.assertEqual((reply.status, reply.code), (401, "2001"), key)
            self.assertIsNone(reply.headers["Set-Cookie"])
        reply = self.login(server, "all:wrong", "/reports/x", headers=HTML)
        self.assertEqual(reply.status, 401)
        self.assertIn(b'name="next" value="/reports/x"', reply.body)
        self.assertIn(b"The API key is not known.", reply.body)
        for body in (b"", b"key", b"key=%zz", b"key=%", b"other=1", b"&&&=", b"\xff"):
            self.assertEqual(server.post("/login", body, headers=FORM).status, 401, body)

    def test_it_leads_nowhere_else(self):
        server = self.serve()
        for place in ("https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "", "x",
                      "/a\r\nSet-Cookie: b=c", "/\t/elsewhere", "javascript:alert(1)", "/\u00e9"):  # fmt: skip
            reply = self.login(server, "all:key", place)
            self.assertEqual((reply.status, reply.headers["Location"]), (303, "/"), place)
            self.assertEqual(len(reply.headers.get_all("Set-Cookie")), 1)

    def test_cookies_that_were_changed(self):
        server = self.serve()
        cookie = self.cookie(server, "reader:r")
        self.assertEqual(server.get("/api/v1/files", headers={"Cookie": cookie}).status, 200)
        id_, expiry, mac = cookie.partition("=")[2].split(".")
        later, other = format(int(expiry, 16) + 60, "x"), "all".encode().hex()
        wrong = "0" if mac[0] != "0" else "1"
        good = f"{id_}.{expiry}"
        for value in (f"{other}.{expiry}.{mac}", f"{id_}.{later}.{mac}", f"{good}.{wrong}{mac[1:]}", good, f"{good}.{mac}0",
                      f"{good}.{mac}.", "", ".", "..", "x" * 5000, f"{id_}.0.{mac}"):  # fmt: skip
            reply = server.get("/api/v1/files", headers={"Cookie": "sextant=" + value})
            self.assertEqual(reply.status, 401, value)
        self.assertEqual(server.get("/api/v1/files", headers={"Cookie": cookie.replace("sextant", "xsextant")}).status, 401)

    def test_a_session_has_the_scopes_and_the_tenant_of_its_key(self):
        server = self.serve()
        own = {"Origin": server.url, "Content-Type": "application/json"}
        reader, uploader = self.cookie(server, "reader:r"), self.cookie(server, "uploader:u")
        self.assertEqual(server.get("/api/v1/files", headers={"Cookie": uploader}).status, 403)
        for cookie, status in ((reader, 403), (uploader, 200)):
            reply = server.post("/api/v1/have", b'{"files":[]}', headers={**own, "Cookie": cookie})
            self.assertEqual(reply.status, status)

    def test_a_session_ends_with_its_key(self):
        server = self.serve()
        cookies = {key: self.cookie(server, key) for key in ("all:key", "reader:r")}
        self.file("keys", "all:changed\nreader:r:read\n")
        server.signal(1)
        for _ in range(600):
            status = server.get("/api/v1/files", headers={"Cookie": cookies["all:key"]}).status
            if status == 401:
                break
            time.sleep(0.1)
        self.assertEqual(status, 401)
        self.assertEqual(server.get("/api/v1/files", headers={"Cookie": cookies["reader:r"]}).status, 200)

    def test_another_server_of_the_store_knows_it(self):
        store, keys = store_folder(self), self.file("keys", KEYS)
        with Server(store, "--api-key-file", keys) as first:
            cookie = self.cookie(first)
        with Server(store, "--api-key-file", keys) as second:
            self.assertEqual(second.get("/api/v1/files", headers={"Cookie": cookie}).status, 200)
        with Server(store_folder(self), "--api-key-file", keys) as other:
            self.assertEqual(other.get("/api/v1/files", headers={"Cookie": cookie}).status, 401)

    def test_pages_of_other_sites(self):
        server = self.serve()
        cookie = {"Cookie": self.cookie(server)}
        host = server.url.split("//")[1]
        for headers, is_own in (
            ({}, False),
            ({"Origin": "https://elsewhere.example"}, False),
            ({"Origin": "null"}, False),
            ({"Origin": "http://" + host + ".elsewhere.example"}, False),
            ({"Origin": server.url}, True),
            ({"Origin": "https://" + host}, True),  # a proxy speaks TLS
            ({"Sec-Fetch-Site": "cross-site", "Origin": server.url}, False),
            ({"Sec-Fetch-Site": "same-site"}, False),
            ({"Sec-Fetch-Site": "none"}, False),
            ({"Sec-Fetch-Site": "same-origin"}, True),
        ):
            for method, path, body in (
                ("POST", "/api/v1/have", b'{"files":[]}'),
                ("POST", "/api/v1/symbolize-text", b"x"),
                ("PUT", "/api/v1/reports/x", b"x"),
                ("DELETE", "/api/v1/reports/x", None),
                ("POST", "/logout", None),
            ):
                reply = server.request(method, path, body, headers={**cookie, **headers})
                if is_own:
                    self.assertIn(reply.status, (200, 303, 400, 404), f"{method} {path} {headers} {reply}")
                else:
                    self.assertEqual((reply.status, reply.code), (403, "2004"), f"{method} {path} {headers}")
            # Reading changes nothing, and a key says more than a cookie.
            self.assertEqual(server.get("/api/v1/files", headers={**cookie, **headers}).status, 200)
            reply = server.post("/api/v1/have", b'{"files":[]}', headers={**cookie, **headers}, key="all:key")
            self.assertEqual(reply.status, 200)
        self.assertEqual(self.login(server, "all:key", headers={"Sec-Fetch-Site": "cross-site"}).status, 403)
        self.assertEqual(self.login(server, "all:key", headers={"Origin": "https://elsewhere.example"}).status, 403)

    def test_logging_out(self):
        server = self.serve()
        headers = {"Cookie": self.cookie(server), "Sec-Fetch-Site": "same-origin"}
        reply = server.post("/logout", headers=headers)
        self.assertEqual((reply.status, reply.headers["Location"]), (303, "/login"))
        self.assertIn("sextant=;", reply.headers["Set-Cookie"])
        self.assertIn("Max-Age=0", reply.headers["Set-Cookie"])

    def test_secure_behind_a_proxy_only_if_it_is_trusted(self):
        forwarded = {"X-Forwarded-Proto": "https"}
        for options, headers, is_secure in (((), forwarded, False), (("--trust-proxy",), forwarded, True),
                                            (("--trust-proxy",), {}, False)):  # fmt: skip
            reply = self.login(self.serve(*options), "all:key", headers=headers)
            self.assertEqual("; Secure" in reply.headers["Set-Cookie"], is_secure, options)

    def test_secure_with_tls(self):
        sextant.need_tool("openssl")
        certificate, key = self.folder / "cert.pem", self.folder / "key.pem"
        kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        sextant.tool("openssl", "req", *kind, *name, "-keyout", key, "-out", certificate)
        trust = ssl.create_default_context(cafile=certificate)
        server = self.serve("--tls-cert", certificate, "--tls-key", key, tls=trust)
        self.assertIn("; Secure", self.login(server, "all:key").headers["Set-Cookie"])


class Text(PagesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.place = place = pathlib.Path(folder.name)
        (place / "a.c").write_text(
            "static inline __attribute__((always_inline)) int inner(int x) { return x * 3 + 1; }\n"
            "__attribute__((noinline)) int outer(int x) { return inner(x) + inner(x + 2); }\n"
            "int main(int c, char **v) { (void)v; return outer(c); }\n"
        )
        for name, more in (("app", []), ("other", ["-DX"])):
            sextant.tool("gcc", "-g", "-O1", "-Wl,--build-id", *more, "-o", place / name, place / "a.c")
        cls.info = json.loads(sextant.run("info", "--json", place / "app").out)
        symbol = sextant.run("lookup", "--json", "--name", "outer", place / "app").json_lines()[0]
        cls.addresses = [int(symbol["address"], 16) + i for i in range(symbol["size"])]

    def setUp(self):
        super().setUp()
        self.server = self.serve(keys=None)
        reply = self.server.put(f"/api/v1/files/{self.info['build_id']}?name=app", (self.place / "app").read_bytes())
        self.assertEqual(reply.status, 201, reply)

    def ask(self, text, query=""):
        reply = self.server.post("/api/v1/symbolize-text" + query, text.encode())
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def expected(self, address):
        return [{key: frame[key] for key in ("function", "file", "line", "inlined")}
                for frame in self.lookup(self.place / "app", [hex(address)])[0]["frames"]]  # fmt: skip

    def test_addresses_alone(self):
        text = "".join(f"{address:#x}\n" for address in self.addresses)
        text += f"{self.addresses[0]:x}, {self.addresses[1]:#X}\n0x1\nnothing\n"
        for id_ in (self.info["build_id"], self.info["file_id"]):
            lines = self.ask(text, "?file=" + id_)["lines"]
            self.assertEqual([line["text"] for line in lines], text.splitlines())
            for address, line in zip(self.addresses, lines):
                self.assertEqual([answer["frames"] for answer in line["answers"]], [self.expected(address)])
            self.assertEqual(len(lines[-3]["answers"]), 2)
            self.assertEqual(lines[-2]["answers"][0]["frames"], [])
            self.assertEqual(lines[-1]["answers"], [])
        # Nobody says which binary they are of.
        self.assertEqual(self.ask(text)["answered"], 0)

    def test_a_stack(self):
        address, build_id = self.addresses[len(self.addresses) // 2], self.info["build_id"]
        for line in (f"    #0 0x5500 (/usr/bin/app+{address:#x})", f"    #3 0x55 (/x/y+{address:#x}) (BuildId: {build_id})",
                     f"    #1 0x55 in outer (/opt/app+{address:#x})"):  # fmt: skip
            named = self.ask("before\r\n" + line + "\n\nafter")
            self.assertEqual([item["text"] for item in named["lines"]], ["before", line, "", "after"])
            answer = named["lines"][1]["answers"][0]
            self.assertEqual((answer["address"], answer["frames"]), (hex(address), self.expected(address)))
            self.assertEqual((named["answered"], named["complete"]), (1, True))
            self.assertEqual([module["build_id"] for module in named["modules"] if module["found"]], [build_id])
        offset = address + 1 - self.addresses[0]
        frames = self.ask(f"./app(outer+{offset:#x}) [0x55]")["lines"][0]["answers"][0]["frames"]
        self.assertEqual(frames, self.expected(address))
        # The same text as the program filters it.
        filtered = self.run_ok("symbolize", "--text", "--no-local", "--search", self.place / "app", "-q",
                               stdin=f"    #0 0x55 (/usr/bin/app+{address:#x})\n".encode()).text  # fmt: skip
        for frame in self.expected(address):
            self.assertIn(frame["function"], filtered)

    def test_addresses_without_a_module(self):
        """Of Go's runtime, and of kernels: they are of the binary that was chosen."""
        address = self.addresses[4]
        for line in (f"[signal SIGSEGV: code=0x1 addr=0x0 pc={address:#x}]", f"lr : {address + 1:#x}"):
            self.assertEqual(self.ask(line)["answered"], 0)
            answers = self.ask(line, "?file=" + self.info["file_id"])["lines"][0]["answers"]
            self.assertEqual([answer["frames"] for answer in answers], [self.expected(address)], line)
        symbol = f" vfs_read+0x2c/0x310 [ext4]\n outer+0x4/{len(self.addresses):#x}"
        named = self.ask(symbol, "?file=" + self.info["file_id"])
        self.assertEqual([module["name"] for module in named["modules"]], ["[ext4]", "[kernel.kallsyms]"])

    def test_modules_that_are_not_found(self):
        named = self.ask("#0 0x1 (/x/y+0x1) (BuildId: abcd)\n#1 0x1 (/bin/none+0x1)\n#1 0x1 (/bin/none+0x2)\n")
        found = [(module["name"], module["found"]) for module in named["modules"]]
        self.assertEqual(found, [("/x/y", False), ("/bin/none", False)])
        self.assertTrue(all("nothing is known" in module["problem"] for module in named["modules"]))

    def test_a_name_that_several_have(self):
        build_id = json.loads(sextant.run("info", "--json", self.place / "other").out)["build_id"]
        if build_id == self.info["build_id"]:
            sextant.tool("gcc", "-g", "-O0", "-Wl,--build-id", "-o", self.place / "other", self.place / "a.c")
            build_id = json.loads(sextant.run("info", "--json", self.place / "other").out)["build_id"]
        reply = self.server.put(f"/api/v1/files/{build_id}?name=app", (self.place / "other").read_bytes())
        self.assertEqual(reply.status, 201, reply)
        line = f"#0 0x1 (/bin/app+{self.addresses[3]:#x})\n"
        named = self.ask(line)
        self.assertEqual(named["answered"], 0)
        self.assertIn("several", named["modules"][0]["problem"])
        chosen = self.ask(line, "?file=" + self.info["build_id"])
        self.assertEqual(chosen["lines"][0]["answers"][0]["frames"], self.expected(self.addresses[3]))

    def test_odd_text(self):
        for body in (b"", b"\n", b"\xff\xfe\x00", b"a" * 100_000, b"#0 0x1 (" * 5000, b"(\n" * 20000, b"0x1\n" * 100,
                     b"\0" * 1000, b"#0 0x1 (/b+0x1) (BuildId: " + b"a" * 9000 + b")\n"):  # fmt: skip
            for query in ("", "?file=" + self.info["build_id"]):
                reply = self.server.post("/api/v1/symbolize-text" + query, body)
                self.assertEqual(reply.status, 200, f"{body[:20]!r} {reply}")
                self.assertEqual(len(reply.json["lines"]), len(body.split(b"\n")) - (body == b"" or body.endswith(b"\n")))
        self.assertEqual(self.server.post("/api/v1/symbolize-text", b"x\n" * 600_000).status, 413)
        many = "".join(f"#0 0x1 (/bin/m{i}+0x1)\n" for i in range(500))
        self.assertLessEqual(len(self.ask(many)["modules"]), 64)


def about_of(reply):
    """The data of a page."""
    data = re.search(rb'<script type="application/json" id="page">(.*?)</script>', reply.body, re.DOTALL)
    return json.loads(data.group(1))


if __name__ == "__main__":
    tap.main()
