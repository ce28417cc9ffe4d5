#!/usr/bin/env python3
"""ksym blobs are exchanged with the reference implementation, the Rust crate ksym: version 0.3.0 for the layout of the
published description, and 0.6.0 for the newer one.

Its reader is asked through ksym/src/main.rs, and its generator is built from the crate as it is; all of it in the folder
`interop` of the build directory, which the environment variable SXT_BUILD names (build under the source root by default).
Everything is skipped where there is no cargo, or one that is too old, or where the crate can be had neither from the
cache nor from the registry.

Known differences, for which the comparisons allow: within a symbol that has aliases, the reference answers with the last
of them; its readers cut names; and they give "" for names with token 511, which its generator uses and sextant does not.
"""

import functools
import glob
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from support import sextant, tap

PROJECT = ROOT / "tests" / "interop" / "ksym"
VERSIONS = {"seed": "0.3.0", "0.6": "0.6.0"}
DOWNLOAD_SECONDS = 90
BUILD_SECONDS = 400
GENERATED = 100000  # symbols of the made-up kernel


# The reference


def reference(layout):
    """The path of the program that is made of the crate, and that of the crate's generator. Skips the test where the
    crate cannot be had. A program that does not compile is an error."""
    program, detail = reference_or_reason(layout)
    if program is None:
        raise unittest.SkipTest(detail)
    return program, detail


@functools.cache
def reference_or_reason(layout):
    if shutil.which("cargo") is None:
        return None, "there is no cargo"
    version = VERSIONS[layout]
    folder = place() / f"ksym-{version}"
    try:
        problem = fetch(folder, version)
    except subprocess.TimeoutExpired:
        problem = f"it was not to be had within {DOWNLOAD_SECONDS} s"
    if problem:
        return None, f"no crate ksym {version}: {problem}"
    program, problem = build(folder, "ksym-reference")
    if problem:
        return None, problem
    features = ["--features", "demangle"] if version == "0.3.0" else []
    generator, problem = build(copy_of_crate(folder, version), "gen_ksym", *features)
    return (None, problem) if problem else (program, generator)


def place():
    made = pathlib.Path(os.environ.get("SXT_BUILD") or ROOT / "build").resolve() / "interop"
    made.mkdir(parents=True, exist_ok=True)
    return made


def fetch(folder, version):
    """Makes the project of a version in FOLDER and gets its crate. Returns why that failed, or None.

    Version 0.3.0 was withdrawn, and cargo gives it only to those whose lock file has it: it is that of the other version
    with the version replaced, and cargo completes it."""
    newest = VERSIONS["0.6"]
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
    if version != newest:
        reference_or_reason("0.6")
        lock = place() / f"ksym-{newest}" / "Cargo.lock"
        if not lock.exists():
            return "the other version is not to be had either"
        lines = [line for line in lock.read_text().splitlines(True) if not line.startswith("checksum")]
        (folder / "Cargo.lock").write_text("".join(lines).replace(newest, version))
        manifest = folder / "Cargo.toml"
        manifest.write_text(manifest.read_text().replace(f'ksym = "={newest}"', f'ksym = "={version}"'))
    got = cargo(folder, "fetch", timeout=DOWNLOAD_SECONDS)
    return None if got.returncode == 0 else complaint(got)


def build(folder, name, *options):
    """Returns the path of a program, or None and why this cargo is too old for it."""
    built = cargo(folder, "build", "--release", "--bin", name, *options, timeout=BUILD_SECONDS)
    if built.returncode == 0:
        return folder / "target" / "release" / name, None
    if "rustc" in built.stderr and "or newer" in built.stderr or "edition2024" in built.stderr:
        return None, f"this cargo is too old: {complaint(built)}"
    raise AssertionError(f"{name} does not compile:\n{built.stderr}")


def copy_of_crate(folder, version):
    """The sources of the crate, in a folder where they can be built."""
    found = json.loads(cargo(folder, "metadata", "--format-version", "1", timeout=DOWNLOAD_SECONDS).stdout)
    manifest = next(package["manifest_path"] for package in found["packages"] if package["name"] == "ksym")
    copy = place() / f"ksym-generator-{version}"
    shutil.copytree(pathlib.Path(manifest).parent, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
    text = (copy / "Cargo.toml").read_text()
    if "[workspace]" not in text:
        (copy / "Cargo.toml").write_text(text + "\n[workspace]\n")
    return copy


def cargo(folder, *arguments, timeout):
    return subprocess.run(
        ["cargo", *arguments],
        cwd=folder,
        env={**os.environ, "CARGO_TERM_COLOR": "never", "CARGO_TARGET_DIR": os.fspath(folder / "target")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=timeout,
        check=False,
    )


def complaint(run):
    lines = run.stderr.strip().splitlines() or [f"exit status {run.returncode}"]
    return next((line for line in lines if line.startswith("error")), lines[-1]).strip()


def run_program(program, *arguments, stdin=b""):
    done = subprocess.run([os.fspath(word) for word in (program, *arguments)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} {arguments}: status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


# Lists of symbols: (address, type, name), as in the text that they come from


def parse(text, types):
    """What the description says of the text, in the order of addresses."""
    symbols = []
    for line in text.decode().splitlines():
        fields = line.split()
        if len(fields) >= 3 and fields[1] in types:
            symbols.append((int(fields[0], 16), fields[1], " ".join(fields[2:])))
    return sorted(symbols, key=lambda symbol: symbol[0])


def as_text(symbols):
    return "".join(f"{address:016x} {kind} {name}\n" for address, kind, name in symbols).encode()


EXAMPLE = b"""\
0000000000001000 T _start
0000000000001100 T do_fork
0000000000001200 T cpu_startup_entry
0000000000001300 T alias_do_fork
0000000000001300 T do_fork_2
0000000000001400 T cpu_startup_entry
0000000000001500 t in_module\t[ext4]
0000000000001600 t \xc3\xa9t\xc3\xa9_\xe2\x82\xac
0000000000001601 t \xc3\xa9t\xc3\xa8
"""


@functools.cache
def made_up_kernel():
    """Many symbols that share prefixes, names, addresses; some in modules, some long, some not ASCII."""
    dice = random.Random(5)
    words = "do sys init ext4 tcp read write lock é x86 alloc free page list €".split()
    address, lines = 0xFFFFFFFF81000000, []
    for _ in range(GENERATED):
        address += dice.choice((0, 1, 16, 16, 32, 64, 4096))
        name = "_".join(dice.choices(words, k=dice.choice((2, 3, 3, 4, 4, 5, 6, 30))))
        lines.append(f"{address:016x} {dice.choice('TTtttD')} {name}{dice.choice(('', '', '', chr(9) + '[ext4]'))}\n")
    return "".join(lines).encode()


@functools.cache
def texts():
    """{name: text}"""
    sextant.need_tool("nm")
    found = {"example": EXAMPLE, "made-up kernel": made_up_kernel()}
    found["sextant"] = run_program("nm", "-n", sextant.program())
    found["Rust program"] = run_program("nm", "-n", reference("0.6")[0])
    # What a kernel's package has in /boot may be a note of a few lines that says where to find it.
    maps = glob.glob("/usr/lib/debug/boot/System.map-*") + glob.glob("/boot/System.map-*")
    for path in [path for path in maps if os.path.getsize(path) > 100000][:1]:
        found["kernel"] = pathlib.Path(path).read_bytes()
    for path in sorted(glob.glob(os.path.expanduser("~/.rustup/toolchains/*/lib/librustc_driver*.so")))[:1]:
        found["librustc_driver"] = run_program("nm", "-n", path)
    return found


class ReferenceTest(sextant.ProgramTest):
    layout = "seed"

    @classmethod
    def setUpClass(cls):
        if cls is not ReferenceTest:
            cls.program, cls.generator = reference(cls.layout)

    def ours(self, text, *options):
        blob = self.folder / "ours.ksym"
        if "--types" not in options:
            options = ("--types", "Tt", *options)  # as by default, without the warning about weak functions
        result = sextant.run("archive", self.file("symbols.txt", text), "-f", "ksym", "--layout", self.layout, "-o", blob,
                             "--quiet", *options)
        if result.status != 0 or (result.err and "names longer than" not in result.err):
            raise AssertionError(str(result))
        return blob

    def ask(self, blob, *arguments, lines=()):
        stdin = "".join(f"{line}\n" for line in lines).encode()
        return run_program(self.program, blob, *arguments, stdin=stdin).decode()

    def limit(self, blob):
        return int(self.ask(blob, "limit"))

    def cut(self, name, limit):
        """What the reader makes of a name that is too long."""
        data = name.encode()
        try:
            return data[:limit].decode()
        except UnicodeDecodeError:
            return ""


class ReadsOurs(ReferenceTest):
    """The reader of the crate finds in our blobs what is in the text."""

    def blobs(self):
        for name, text in texts().items():
            with self.subTest(text=name):
                symbols = parse(text, "Tt")
                self.assertTrue(symbols)
                yield symbols, self.ours(text, "--mangled")

    def test_all_symbols(self):
        for symbols, blob in self.blobs():
            limit = self.limit(blob)
            expected = as_text((address, kind, self.cut(name, limit)) for address, kind, name in symbols)
            self.assert_same_lines(self.ask(blob, "dump").encode(), expected)

    def test_demangled_symbols(self):
        for name, text in texts().items():
            with self.subTest(text=name):
                blob = self.ours(text)
                limit = self.limit(blob)
                dumped = self.run_ok("dump", blob).out.decode()
                expected = as_text((address, kind, self.cut(name, limit)) for address, kind, name in parse_dump(dumped))
                self.assert_same_lines(self.ask(blob, "dump").encode(), expected)

    def test_all_types(self):
        text = texts()["made-up kernel"]
        blob = self.ours(text, "--types", "all")
        self.assert_same_lines(self.ask(blob, "dump").encode(), as_text(parse(text, "TtD")))

    def test_addresses(self):
        for symbols, blob in self.blobs():
            limit, end = self.limit(blob), symbols[-1][0] + 16
            questions, expected = [], []
            for first, last, following in runs_of_equal_addresses(symbols, end):
                start = symbols[first][0]
                for address in {start, min(start + 1, following - 1), following - 1}:
                    _, kind, name = symbols[first if address == start else last]
                    questions.append(f"{address:x}")
                    expected.append(f"{self.cut(name, limit)}\t{following - start:x}\t{address - start:x}\t{kind}")
            start = symbols[0][0]
            answers = self.ask(blob, "addresses", f"{start:x}", f"{end:x}", lines=questions).splitlines()
            self.assert_same_lines("\n".join(answers), "\n".join(expected))

    def test_names(self):
        for symbols, blob in self.blobs():
            limit = self.limit(blob)
            names = sorted(name.encode() for _, _, name in symbols)
            # Names that are cut are no longer found, and may be taken for others.
            places = {}
            for position, name in enumerate(names):
                places.setdefault(name[:limit], []).append(position)
            # The texts are in the order of addresses already, and so equal names stay in that order.
            addresses = {}
            for address, _, name in symbols:
                addresses.setdefault(name.encode()[:limit], address)
            asked = [name for name in places if len(name) < limit]
            answers = self.ask(blob, "names", lines=[name.decode() for name in asked]).splitlines()
            expected = [f"{places[name][0]}\t{places[name][-1]}\t{addresses[name]:x}" for name in asked]
            self.assert_same_lines("\n".join(answers), "\n".join(expected))

    def assert_same_lines(self, found, expected):
        if found != expected:
            pairs = zip(found.splitlines(), expected.splitlines())
            wrong = next((pair for pair in pairs if pair[0] != pair[1]), ("other number of lines", ""))
            self.fail(f"reference: {wrong[0]!r}, expected: {wrong[1]!r}")


def parse_dump(text):
    for line in text.splitlines():
        address, kind, name = line.split(" ", 2)
        yield int(address, 16), kind, name


def runs_of_equal_addresses(symbols, end):
    """(index of the first, index of the last, the next address) for each address."""
    first = 0
    for index, (address, _, _) in enumerate(symbols):
        if index + 1 == len(symbols) or symbols[index + 1][0] != address:
            yield first, index, symbols[index + 1][0] if index + 1 < len(symbols) else end
            first = index + 1


class ReadsOursNewer(ReadsOurs):
    layout = "0.6"


class TheirBlobs(ReferenceTest):
    """We find in blobs of the generator what is in the text, also where its own reader does not."""

    def theirs(self, text):
        return self.file("theirs.ksym", run_program(self.generator, stdin=text))

    def texts(self):
        """Lines of more than 4096 bytes, and letters across certain lengths of names, end the generator."""
        for name, text in texts().items():
            with self.subTest(text=name):
                yield b"".join(
                    line for line in text.splitlines(True)
                    if len(line) <= 4096 and len(line.split()) > 2 and (line.isascii() or name == "example"))

    def expected(self, text):
        return as_text(parse(text, "".join({line.split()[1].decode() for line in text.splitlines()})))

    def test_all_symbols(self):
        compared = 0
        for text in self.texts():
            expected = self.expected(text)
            self.assertTrue(self.run_ok("dump", self.theirs(text)).out == expected)
            compared += len(expected.splitlines())
        print(f"# {compared} symbols in blobs of the generator")

    def test_sizes(self):
        for text in self.texts():
            theirs = self.theirs(text).stat().st_size
            ours = self.ours(text, "--mangled", "--types", "all").stat().st_size
            self.assertLessEqual(ours, theirs)
            print(f"# {len(text.splitlines())} symbols: {theirs} bytes by the generator, {ours} by sextant")


class TheirBlobsNewer(TheirBlobs):
    layout = "0.6"


class TheirBlobsSeed(TheirBlobs):
    """Version 0.3.0 takes code only, leaves out names with "$x", and demangles what begins with _ZN."""

    def expected(self, text):
        return as_text(symbol for symbol in parse(text, "Tt") if "$x" not in symbol[2])

    def texts(self):
        for text in super().texts():
            yield b"".join(line for line in text.splitlines(True) if b" _ZN" not in line and line.split()[1] in (b"T", b"t"))


del TheirBlobs  # a base, not a test

if __name__ == "__main__":
    tap.main()
