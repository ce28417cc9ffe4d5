"""`heap --symbolize --url`: names from a symbol service must be those of the binary, wherever that is."""

import test_heap_symbolize as symbolizing
from support import sextant, tap
from support.service import Server, store_folder

NO_PROXY = {"no_proxy": "*", "NO_PROXY": "*"}


class Asking(symbolizing.NamesTest):
    """A symbol service knows the binary, which is not here any more."""

    def setUp(self):
        super().setUp()
        self.program, self.wanted = self.recorded("-Wl,--build-id=sha1")
        self.build_id = next(module["build_id"] for module in symbolizing.read(self.trace)[0]["modules"]
                             if module["path"] == str(self.program))
        self.program.rename(self.elsewhere / "program")

    def serve(self, *options, key=None):
        server = Server(store_folder(self), *options)
        self.addCleanup(server.stop)
        reply = server.put(f"/api/v1/files/{self.build_id}", (self.elsewhere / "program").read_bytes(), key=key)
        self.assertEqual(reply.status, 201, reply)
        return server

    def refused(self, *options):
        """Nothing is changed, and one line says why."""
        before = self.trace.read_bytes()
        result = sextant.run("heap", "--symbolize", self.trace, *options, env=NO_PROXY)
        self.assertEqual((result.status, result.out, result.err.count("\n")), (1, b"", 1), f"\n{result}")
        self.assertEqual(self.trace.read_bytes(), before)
        return result.err

    def ask(self, server, *options, env=None):
        result = self.run_warned("heap", "--symbolize", self.trace, "--url", server.url, *options,
                                 env={**NO_PROXY, **(env or {})})
        self.assertRegex(result.err, r"^sextant: \S+: (\d+) of \1 addresses got names\n$")
        self.assertEqual(symbolizing.frames_of(self.trace), self.wanted)
        self.run_ok("verify", self.trace)
        self.assertNotIn("unresolved", symbolizing.read(self.trace)[0])
        return result

    def test_names_are_those_of_the_binary(self):
        server = self.serve()
        self.assertIn("innermost", self.ask(server).text)
        again = self.run_warned("heap", "--symbolize", self.trace, "--url", server.url, env=NO_PROXY)
        self.assertIn("no addresses without names", again.err)
        server.stop()
        self.assertEqual(sum(line.get("path") == "/api/symbolize" for line in server.log()), 1)

    def test_what_the_file_here_does_not_have(self):
        sextant.need_tool("strip")
        server = self.serve()
        sextant.tool("strip", "-o", self.program, self.elsewhere / "program")
        self.ask(server)

    def test_a_file_that_nobody_knows(self):
        with Server(store_folder(self)) as server:
            result = self.run_warned("heap", "--symbolize", self.trace, "--url", server.url, env=NO_PROXY)
        self.assertRegex(result.err, r": \d+ of \d+ addresses got names; program is missing, use --search DIR ")

    def test_keys(self):
        server = self.serve("--api-key-file", self.file("keys", "me:secret\n"), key="me:secret")
        self.assertRegex(self.refused("--url", server.url), r"trace.mlyze: .*code 2000, uuid \S+, status 401: .*--api-key")
        self.assertRegex(self.refused("--url", server.url, "--api-key", "me:wrong"), r"code 2001, uuid \S+, status 401")
        before = self.trace.read_bytes()
        for options, env in ((("--api-key", "me:secret"), {}), (("--api-key-file", self.folder / "keys"), {}),
                             ((), {"SEXTANT_API_KEY": "me:secret"})):
            self.trace.write_bytes(before)
            self.ask(server, *options, env=env)

    def test_nobody_there(self):
        with Server(store_folder(self)) as server:
            url = server.url
        self.assertIn(url, self.refused("--url", url))

    def test_usage(self):
        for options in (("--url", "http://a"), ("--api-key", "a:b"), ("--ca", "f"), ("--api-key-file", "f")):
            self.assertIn("needs --symbolize", self.run_usage("heap", self.trace, *options).err)
        for options in (("--url", "ftp://a"), ("--api-key", "a:b"), ("--url", "http://a", "--api-key", "")):
            self.run_usage("heap", "--symbolize", self.trace, *options)


if __name__ == "__main__":
    tap.main()
