"""Containerfile: what it starts can be started, and it is what docs/service.md says. scripts/check-container builds it."""

import json
import re
import subprocess

from support import sextant, tap
from support.service import Server, store_folder


class Containerfile(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        text = (sextant.ROOT / "Containerfile").read_text().replace("\\\n", " ")
        self.lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]

    def value(self, word):
        """Of the last such line: the final image's."""
        return [rest for name, rest in self.lines if name == word][-1]

    def test_starts_a_server(self):
        entry, options = json.loads(self.value("ENTRYPOINT")), json.loads(self.value("CMD"))
        self.assertEqual(entry[:3], ["sextant", "serve", "--store"])
        self.assertTrue(entry[3].startswith(json.loads(self.value("VOLUME"))[0] + "/"), entry)
        replaced = {"/etc/sextant/keys": self.file("keys", "ci:key\n"), "0.0.0.0:8240": "127.0.0.1:0"}
        with Server(store_folder(self), *[replaced.get(word, word) for word in options]) as server:
            check = json.loads(self.value("HEALTHCHECK").partition("CMD ")[2])
            self.assertEqual(check[-1], "http://127.0.0.1:" + self.value("EXPOSE") + "/healthz")
            self.assertEqual(server.get("/healthz").status, 200)
            self.assertEqual(server.get("/api/v1/files").status, 401)

    def test_does_not_run_as_root(self):
        self.assertRegex(self.value("USER"), r"^[1-9]\d*:[1-9]\d*$")
        final = [i for i, (name, _) in enumerate(self.lines) if name == "FROM"][-1]
        self.assertIn(self.value("USER").split(":")[0], " ".join(rest for _, rest in self.lines[final:]))

    def test_builds_with_the_tools_of_this_project(self):
        run = " ".join(rest for name, rest in self.lines if name == "RUN")
        for script in re.findall(r"scripts/\w+", run):
            subprocess.run(["sh", "-n", sextant.ROOT / script], check=True)
        options = (sextant.ROOT / "meson_options.txt").read_text()
        own = set(re.findall(r"-D(\w+)=", run)) - {"prefix", "strip"}
        for name in own:
            self.assertIn(f"option('{name}'", options)


if __name__ == "__main__":
    tap.main()
