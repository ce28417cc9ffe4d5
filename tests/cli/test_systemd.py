"""The unit for systemd: systemd itself checks it, and the server says when it is ready."""

import configparser
import os
import re
import shutil
import socket
import subprocess

from support import sextant, tap
from support.service import WAIT, Server, store_folder

FOLDER = sextant.ROOT / "contrib/systemd"
EXPOSURE = 20  # tenths; 12 with systemd 252, as docs/service.md says; other versions count a little differently


class Unit(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "sextant").symlink_to(sextant.program())
        text = (FOLDER / "sextant.service.in").read_text().replace("@bindir@", str(self.folder))
        self.unit = self.folder / "sextant.service"
        self.unit.write_text(text)

    def analyze(self, *words):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        environment = {**os.environ, "SYSTEMD_LOG_LEVEL": "warning", "SYSTEMD_PAGER": ""}
        command = ["systemd-analyze", *words, self.unit]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def test_systemd_accepts_it(self):
        result = self.analyze("verify", "--man=no", "--recursive-errors=no")
        if "unrecognized option" in result.stderr:
            self.skipTest("this systemd-analyze is too old")
        # The user exists on machines that have the service.
        unknown = re.compile(r"\b(user|group)\b.*(exist|unknown|resolve|not found)", re.IGNORECASE)
        lines = [line for line in result.stderr.splitlines() if "sextant" in line and not unknown.search(line)]
        self.assertEqual(lines, [], result)
        if result.returncode != 0:
            self.skipTest(f"systemd-analyze does not work here: {result.stderr.strip()}")

    def test_it_has_few_rights(self):
        result = self.analyze("security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager")
        if "unrecognized option" in result.stderr:
            self.skipTest("this systemd-analyze is too old")
        if "sextant" not in result.stdout:
            self.skipTest(f"systemd-analyze does not work here: {result.stderr.strip()}")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"Overall exposure level for sextant.service: [01]\.\d")

    def test_what_it_starts_can_be_started(self):
        unit = configparser.RawConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        unit.read_string(self.unit.read_text())
        service = unit["Service"]
        self.assertEqual(service["Type"], "notify")
        self.assertGreater(int(service["TimeoutStopSec"]), 30 + 10)  # the default of --drain, and what follows
        words = service["ExecStart"].split()
        self.assertEqual(words[1:], ["serve", "--store", "${SEXTANT_STORE}", "$SEXTANT_OPTIONS"])
        settings = (FOLDER / "sextant.default").read_text()
        help_text = self.run_ok("serve", "--help").text
        options = re.findall(r"--[a-z-]+", settings)
        self.assertIn("--api-key-file", options)
        for option in options:
            self.assertIn(option + " ", help_text, option)
        self.assertIn("SEXTANT_STORE=/var/lib/" + service["StateDirectory"], settings)


class Notify(sextant.ProgramTest):
    def check(self, address, name):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(address)
            listener.settimeout(WAIT)
            server = Server(store_folder(self), env={"NOTIFY_SOCKET": name})
            self.assertEqual(listener.recv(4096), b"READY=1")
            server.stop()
            self.assertEqual(listener.recv(4096), b"STOPPING=1")

    def test_says_when_it_is_ready_and_when_it_ends(self):
        path = str(self.folder / "socket")
        if len(path) < 100:
            self.check(path, path)
        name = f"sextant-test-{os.getpid()}"
        self.check("\0" + name, "@" + name)

    def test_a_socket_that_does_not_work_is_no_reason_to_stop(self):
        for name in ("", "x", "/", str(self.folder / "nothing"), "/" + "x" * 200, "@" + "x" * 200):
            with Server(store_folder(self), env={"NOTIFY_SOCKET": name}) as server:
                self.assertEqual(server.get("/healthz").status, 200)


if __name__ == "__main__":
    tap.main()
