#!/usr/bin/env python3
"""Files are pushed with the client that Pyroscope publishes, the Go module github.com/grafana/pyroscope/api.

pyroscope/main.go makes a program of it; it is built into the folder `interop` of the build directory, which the environment
variable SXT_BUILD names (build under the source root by default). Everything is skipped where there is no Go toolchain, or
one that is too old, or where the module can be had neither from the cache nor from the registry.
"""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
os.environ.setdefault("SXT_BUILD_DIR", os.environ.get("SXT_BUILD", str(ROOT / "build")))

from support import sextant, tap
from support.service import Server, store_folder

BUILD_SECONDS = 400


@functools.cache
def client_or_reason():
    """(path of the client, None), or (None, why there is none)."""
    if shutil.which("go") is None:
        return None, "Go is missing"
    program = sextant.BUILD / "interop" / "pyroscope"
    program.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOFLAGS": "-trimpath -mod=readonly", "GOTOOLCHAIN": "local"}
    try:
        done = subprocess.run(["go", "build", "-o", program, "."], cwd=ROOT / "tests/interop/pyroscope", env=environment,
                              capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, "building the client takes too long"
    if done.returncode != 0:
        return None, f"the client cannot be built: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
    return str(program), None


class Pyroscope(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client, reason = client_or_reason()
        if cls.client is None:
            raise unittest.SkipTest(reason)

    def talk(self, server, form, *commands):
        done = subprocess.run([self.client, server.url, *form], input="\n".join(commands), capture_output=True, text=True,
                              timeout=120, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_files_are_pushed(self):
        program = sextant.program()
        id_ = json.loads(sextant.run("info", "--json", program).out)["build_id"]
        for form in (("proto",), ("json",), ("proto", "gzip"), ("json", "gzip")):
            with self.subTest(form=form), Server(store_folder(self)) as server:
                replies = self.talk(server, form, f"finished {id_}", f"should {id_} 1", f"should {id_} 1", f"finished {id_}",
                                    f"upload {id_} {program}", f"finished {id_}", f"should {id_} 1", "list", f"delete {id_}",
                                    "list", f"should {id_} 2")  # fmt: skip
                self.assertEqual(replies[0]["code"], "not_found")
                self.assertEqual([reply["wanted"] for reply in (replies[1], replies[2], replies[6])], [True, False, False])
                self.assertEqual(replies[3]["code"], "failed_precondition")
                self.assertEqual((replies[4], replies[5]), ({"status": 200}, {}))
                ((build_id, kind, state, size, year),) = replies[7]["files"]
                self.assertEqual((build_id, kind, state), (id_, "TYPE_EXECUTABLE_FULL", "STATE_UPLOADED"))
                self.assertGreater(size, os.path.getsize(program))
                self.assertGreater(year, 2025)
                self.assertEqual((replies[8], replies[9]["files"]), ({}, []))
                self.assertTrue(replies[10]["wanted"])

    def test_failures_are_understood(self):
        keys = self.file("keys", "ci:key\n")
        with Server(store_folder(self)) as server:
            for form in (("proto",), ("json",)):
                replies = self.talk(server, form, "should xyz 1", "should abcd 9", "upload abcd /bin/sh", "should abcd 1",
                                    "upload abcd /bin/sh", "should abcd 1", "delete abcd")  # fmt: skip
                self.assertEqual([replies[0]["code"], replies[1]["code"]], ["invalid_argument"] * 2)
                self.assertEqual((replies[2], replies[4]), ({"status": 412}, {"status": 400}))
                self.assertEqual((replies[3]["wanted"], replies[5]["wanted"]), (True, True))
        with Server(store_folder(self), "--api-key-file", keys) as server:
            self.assertEqual(self.talk(server, ("proto",), "should abcd 1")[0]["code"], "unauthenticated")


if __name__ == "__main__":
    tap.main()
