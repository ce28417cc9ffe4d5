#!/usr/bin/env python3
"""Symbfiles are exchanged with the reference implementation, the Rust crate symblib of OpenTelemetry's eBPF profiler.

The crate is in no registry of Rust, but the profiler is a Go module that contains it: `go mod download` gets it, and cargo
builds symblib/src/main.rs with it, in the folder `interop` of the build directory, which the environment variable
SXT_BUILD names (build under the source root by default). Everything is skipped where Go, cargo, cmake or protoc is
missing, and where the module or the crates that symblib uses are neither in the cache nor in the registry.

The reference knows other rules for names, paths and the ends of functions (docs/formats/symbfile.md), so its ranges are
not compared with sextant's. What is compared: each reads every record of the other's files, FileIDs, and the return pads
that each finds for the same ranges.
"""

import functools
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from support import sextant, tap

MODULE = "go.opentelemetry.io/ebpf-profiler"
PROJECT = ROOT / "tests" / "interop" / "symblib"
DOWNLOAD_SECONDS = 120
BUILD_SECONDS = 450
MOST_FILES = 40
LARGEST = 8 << 20

GO_PROGRAM = """\
package main

import "fmt"

func main() { fmt.Println("hello") }
"""


# The reference


@functools.cache
def reference_or_reason():
    """The path of the program that is made of the crate, or None, and why there is none."""
    for tool in ("go", "cargo", "cmake", "protoc"):
        if shutil.which(tool) is None:
            return None, f"there is no {tool}"
    folder = pathlib.Path(os.environ.get("SXT_BUILD") or ROOT / "build").resolve() / "interop" / "symblib"
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    try:
        module, problem = download(folder)
        problem = problem or fetch(folder, module)
    except subprocess.TimeoutExpired:
        problem = f"no answer within {DOWNLOAD_SECONDS} s"
    if problem:
        return None, f"no symblib: {problem}"
    built = run_in(folder, "cargo", "build", "--release", timeout=BUILD_SECONDS)
    if built.returncode == 0:
        return folder / "target" / "release" / "symblib-reference", None
    if "rustc" in built.stderr and "or newer" in built.stderr:
        return None, f"this cargo is too old: {complaint(built)}"
    raise AssertionError(f"symblib-reference does not compile:\n{built.stderr}")


def download(folder):
    """The folder of the Go module, checked against go.sum, or None, and what is wrong."""
    got = run_in(folder, "go", "mod", "download", "-json", MODULE, timeout=DOWNLOAD_SECONDS)
    found = json.loads(got.stdout) if got.stdout.strip() else {}
    if got.returncode != 0 or "Dir" not in found:
        return None, found.get("Error") or complaint(got)
    return pathlib.Path(found["Dir"]), None


def fetch(folder, module):
    """Gets the crates that symblib uses, in the versions of its own lock file. Returns what is wrong, or None."""
    manifest = folder / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("SYMBLIB", os.fspath(module / "rust-crates" / "symblib")))
    lock = folder / "Cargo.lock"
    lock.write_bytes((module / "Cargo.lock").read_bytes())
    got = run_in(folder, "cargo", "fetch", timeout=DOWNLOAD_SECONDS)
    return None if got.returncode == 0 else complaint(got)


def run_in(folder, *command, timeout):
    environment = {**os.environ, "CARGO_TERM_COLOR": "never", "CARGO_TARGET_DIR": os.fspath(folder / "target"),
                   "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout, check=False)


def complaint(run):
    lines = run.stderr.strip().splitlines() or [f"exit status {run.returncode}"]
    return next((line for line in lines if line.startswith("error")), lines[-1]).strip()


# Records: what `dump --json` of sextant prints, as the lines that the reference prints


def text(value):
    return "-" if value is None else f"={value}"


def number(value):
    return "-" if value is None else str(value)


def as_reference_line(record):
    if "frames" in record:
        fields = ["pad", record["va"]]
        for frame in record["frames"]:
            fields += [f"={frame['function']}", text(frame["file"]), number(frame["line"])]
        return "\t".join(fields)
    lines = "".join(f"{offset}:{line} " for offset, line in record["lines"])
    return "\t".join([
        "range", record["va"], str(record["length"]), str(record["depth"]), f"={record['function']}",
        text(record["file"]), text(record["call_file"]), number(record["call_line"]), lines])


def without_goexit(lines):
    """The pads but those of Go's runtime.goexit, which the reference knows by one name only, and gives no line."""
    return {line for line in lines if "\t=runtime.goexit\t" not in line and "\t=runtime.goexit.abi0\t" not in line}


def programs():
    """Binaries that nobody here wrote, small ones first: programs and libraries of the system, and debug files."""
    found = glob.glob("/usr/bin/*") + glob.glob("/usr/lib/*-linux-gnu/*.so*") + glob.glob("/usr/lib/debug/.build-id/*/*")
    chosen = {}
    for path in found:
        real = os.path.realpath(path)
        if os.path.isfile(real) and os.path.getsize(real) < LARGEST and is_elf_program(real):
            chosen[real] = os.path.getsize(real)
    paths = sorted(chosen, key=lambda path: (chosen[path], path))
    return paths[:: max(1, len(paths) // MOST_FILES)]


def is_elf_program(path):
    with open(path, "rb") as file:
        start = file.read(20)
    return start[:6] == b"\x7fELF\x02\x01" and start[16:18] in (b"\x02\x00", b"\x03\x00")


class SymblibTest(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.program, reason = reference_or_reason()
        if cls.program is None:
            raise unittest.SkipTest(reason)

    def ask(self, *arguments, fails=False):
        done = subprocess.run([os.fspath(word) for word in (self.program, *arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, check=False)
        if fails:
            return done.returncode == 0
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode()

    def ours(self, binary, kind):
        """A symbfile that sextant makes, or None where it says that there is nothing to write."""
        out = self.folder / f"ours.{kind}"
        result = sextant.run("archive", "-q", "-f", kind, binary, "-o", out)
        self.assert_no_crash(result)
        return out if result.status == 0 else None

    def assert_same_records(self, file):
        ours = [as_reference_line(record) for record in self.run_ok("dump", "--json", file).json_lines()]
        theirs = self.ask("dump", file).splitlines()
        self.assertEqual(len(ours), len(theirs), file)
        for mine, other in zip(ours, theirs):
            self.assertEqual(mine, other, file)
        return len(ours)

    def go_program(self):
        sextant.need_tool("go")
        source = self.file("hello.go", GO_PROGRAM.encode())
        program = self.folder / "hello"
        built = subprocess.run(["go", "build", "-o", program, source], capture_output=True, text=True, cwd=self.folder,
                               env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": ""}, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)
        return program


class Reads(SymblibTest):
    def test_reads_every_record_of_our_files(self):
        records = files = 0
        for binary in programs():
            for kind in ("symbfile", "returnpads"):
                with self.subTest(binary=binary, kind=kind):
                    made = self.ours(binary, kind)
                    if made is not None:
                        records += self.assert_same_records(made)
                        files += 1
        self.assertGreater(files, MOST_FILES)
        self.assertGreater(records, 1000)

    def test_reads_a_file_of_a_go_program(self):
        binary = self.go_program()
        for kind in ("symbfile", "returnpads"):
            self.assertGreater(self.assert_same_records(self.ours(binary, kind)), 500)

    def test_writes_again_what_it_read(self):
        for binary in programs()[::5]:
            with self.subTest(binary=binary):
                made = self.ours(binary, "symbfile")
                if made is not None:
                    copy = self.folder / "copy.symbfile"
                    self.ask("copy", made, copy)
                    before = self.run_ok("dump", "--json", made).out
                    self.assertEqual(self.run_ok("dump", "--json", copy).out, before)


class IsRead(SymblibTest):
    def test_we_read_every_record_of_its_files(self):
        records = 0
        for binary in [*programs()[::2], self.go_program()]:
            with self.subTest(binary=binary):
                ranges, pads = self.folder / "theirs.symbfile", self.folder / "theirs.returnpads"
                if not self.ask("ranges", binary, ranges, fails=True):
                    continue  # it cannot read this binary
                records += self.assert_same_records(ranges)
                self.run_ok("verify", ranges)
                self.ask("pads", binary, ranges, pads)
                records += self.assert_same_records(pads)
                self.run_ok("verify", pads)
        self.assertGreater(records, 1000)


class Agrees(SymblibTest):
    def test_file_ids(self):
        files = programs()
        theirs = self.ask("fileid", *files).split()
        ours = [line["base64url"] for line in self.run_ok("fileid", "--json", *files).json_lines()]
        self.assertEqual(ours, theirs)

    def test_the_return_pads_of_our_ranges(self):
        """The pads that the reference finds with our ranges are those that sextant finds."""
        compared = 0
        for binary in [*programs()[::3], self.go_program()]:
            with self.subTest(binary=binary):
                ranges, ours = self.ours(binary, "symbfile"), self.ours(binary, "returnpads")
                if ranges is None or ours is None:
                    continue
                theirs = self.folder / "theirs.returnpads"
                self.ask("pads", binary, ranges, theirs)
                expected = without_goexit(self.ask("dump", theirs).splitlines())
                found = without_goexit(
                    as_reference_line(record) for record in self.run_ok("dump", "--json", ours).json_lines())
                self.assertEqual(sorted(found - expected)[:5], [], "only sextant has these")
                self.assertEqual(sorted(expected - found)[:5], [], "only the reference has these")
                compared += len(found)
        self.assertGreater(compared, 1000)


if __name__ == "__main__":
    tap.main()
