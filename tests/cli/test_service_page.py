"""docs/service.md is the operator's page: what it names exists, and what exists is named."""

import json
import re

from support import sextant, tap
from support.service import Server, store_folder

PAGE = sextant.ROOT / "docs/service.md"
OTHERS = {"--env-file", "--now", "--protocol"}  # of podman, systemctl and profilecli


class Page(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.text = PAGE.read_text(encoding="utf-8")
        self.blocks = re.findall(r"^```(\w*)\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL)

    def options(self, verb):
        return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_ok(verb, "--help").text))

    def test_every_option_exists(self):
        verbs = re.findall(r"^  ([a-z0-9]+) ", self.run_ok("--help").text, re.MULTILINE)
        known = {verb: self.options(verb) for verb in verbs}
        every = set.union(*known.values())
        for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.text)) - OTHERS:
            self.assertIn(option, every)
        commands = re.findall(r"sextant (serve|store)\b([^`#\n]*)", self.text)
        self.assertGreater(len(commands), 8)
        for verb, words in commands:
            for option in re.findall(r"(?<![\w-])--[a-z-]+", words):
                self.assertIn(option, known[verb], f"sextant {verb}{words}")

    def test_every_option_of_the_server_is_explained(self):
        general = {"--help", "--version", "--threads"}
        for option in self.options("serve") - general:
            self.assertTrue(re.search(rf"{option}(?![\w-])", self.text), option)

    def test_every_path_is_named(self):
        document = json.loads((sextant.ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
        for path in document["paths"]:
            words = [word for word in path.split("/") if word and "{" not in word]
            self.assertTrue((words[-1] if words else "`/`") in self.text, path)

    def test_every_figure_exists(self):
        with Server(store_folder(self), "--upstream", "http://127.0.0.1:9", "--upstream-allow-private") as server:
            server.get("/api/v1/files")
            lines = server.get("/metrics").body.decode()
        figures = set(re.findall(r"^(?:# TYPE )?(sextant_\w+)", lines, re.MULTILINE))
        named = set(re.findall(r"\bsextant_\w+", self.text))
        self.assertGreater(len(named), 4)
        self.assertEqual(named - figures, set())

    def test_the_routes_of_the_alerts_exist(self):
        document = json.loads((sextant.ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
        routes = [operation["operationId"] for path in document["paths"].values() for operation in path.values()
                  if isinstance(operation, dict)]  # fmt: skip
        patterns = re.findall(r'route=~?"([^"]*)"', self.text)
        self.assertGreater(len(patterns), 1)
        for pattern in patterns:
            for choice in pattern.split("|"):
                self.assertTrue(any(re.fullmatch(choice, route) for route in routes), choice)

    def test_links_lead_somewhere(self):
        titles = re.findall(r"^#+ (.*)$", self.text, re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
        for target in re.findall(r"\]\(([^)]*)\)", self.text):
            file, _, anchor = target.partition("#")
            if file:
                self.assertTrue((PAGE.parent / file).exists(), target)
            elif anchor:
                self.assertIn(anchor, anchors)

    def test_examples_of_json_are_json(self):
        blocks = [text for kind, text in self.blocks if kind == "json"]
        self.assertGreater(len(blocks), 2)
        for text in blocks:
            for value in re.split(r"\n(?=\{)", text.strip()):
                json.loads(value)


if __name__ == "__main__":
    tap.main()
