"""Runs the program under test, as a user would, and holds what every test of it needs.

The program is build/sextant under the source root; the environment variable SEXTANT names another one.
SXT_SANITIZED=1 says that it was built with sanitizers, whose shadow memory rules out a limit on address space.

Sweeps and comparisons with other tools run a part of their cases, chosen the same way each time, so that `make test`
takes few minutes and sanitizers, which make every run slow, do too. SEXTANT_TEST_ALL=1 runs them all, and so does
SEXTANT_TEST_BIG=1, which adds large files.
"""

import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or ROOT / "build")
SANITIZED = os.environ.get("SXT_SANITIZED") == "1"
BIG = os.environ.get("SEXTANT_TEST_BIG") == "1"
EVERYTHING = BIG or os.environ.get("SEXTANT_TEST_ALL") == "1"
ONE_IN = 1 if EVERYTHING else 8  # the part of a sweep that is run
MEMORY_LIMIT = 2 << 30
NOBODY = 65534  # a user and a group without rights
SANITIZER_TEXT = re.compile(
    r"(Address|Leak|Thread|Memory|UndefinedBehavior)Sanitizer|runtime error: |stack smashing|Assertion .* failed"
)


def add_case(owner, name, check, *arguments):
    """A test method of its own for each combination, so that each has its line in the output; for a part of them, where
    not everything is run."""
    if zlib.crc32(name.encode()) % ONE_IN == 0:
        always_add_case(owner, name, check, *arguments)


def always_add_case(owner, name, check, *arguments):
    setattr(owner, "test_" + name, lambda self: check(self, *arguments))


def some(items, most=None):
    """Items of a sweep, spread evenly: at most MOST of them, or all, where everything is run; otherwise a part."""
    items = list(items)
    most = max(1, (len(items) if most is None else most) // ONE_IN)
    return items[:: -(-len(items) // most)] if items else items


only_with_everything = unittest.skipUnless(EVERYTHING, "only with SEXTANT_TEST_ALL=1")


def program():
    return os.environ.get("SEXTANT") or str(ROOT / "build" / "sextant")


class Result:
    """What one run gave: exit status (negative for a signal), standard output as bytes, standard error as text."""

    def __init__(self, command, status, out, err):
        self.command = command
        self.status = status
        self.out = out
        self.err = err

    @property
    def text(self):
        return self.out.decode("utf-8")

    def json_lines(self):
        return [json.loads(line) for line in self.text.splitlines()]

    def __str__(self):
        return (
            f"$ {' '.join(self.command)[:2000]}\nstatus {self.status}\n"
            f"stdout: {self.out[:2000]!r}\nstderr: {self.err[:4000]}"
        )


def run(*arguments, stdin=b"", timeout=120, env=None, cwd=None, limit_memory=False, binary=None, unprivileged=False):
    """Runs `sextant ARGUMENTS...`. STDIN is bytes, text, or an open file. UNPRIVILEGED: root runs it as another user, and
    the test is skipped where that user cannot reach the program, for instance below root's home."""
    command = [binary or program()] + [os.fspath(argument) for argument in arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("DEBUGINFOD_URLS", "NO_COLOR")}
    environment["LC_ALL"] = "C.UTF-8"
    environment.update(env or {})
    streams = {"stdin": stdin} if hasattr(stdin, "fileno") else {"input": as_bytes(stdin)}
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if unprivileged and os.geteuid() == 0 else {}
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout,
            env=environment,
            cwd=cwd,
            preexec_fn=limit_address_space if limit_memory and not SANITIZED else None,
            check=False,
            **streams,
            **user,
        )
    except PermissionError:
        if not user:
            raise
        raise unittest.SkipTest(f"{command[0]}: another user cannot reach the program") from None
    except subprocess.TimeoutExpired as expired:
        raise AssertionError(f"$ {' '.join(command)[:2000]}\nstill running after {expired.timeout} s") from None
    return Result(command, done.returncode, done.stdout, done.stderr.decode("utf-8", "backslashreplace"))


def as_bytes(data):
    return data.encode("utf-8") if isinstance(data, str) else data


def limit_address_space():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own that is gone afterwards, and the checks that all verbs have in common."""

    maxDiff = 4000
    longMessage = True

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sextant-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def let_others_in(self):
        """Other users reach the test's folder, which may lie in one that is not for them."""
        for folder in (self.folder, *self.folder.parents):
            mode = folder.stat().st_mode
            if mode & 0o001 == 0:
                folder.chmod(mode | 0o011)

    def file(self, name, content=b""):
        """A file of that name and content in the test's folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(content))
        return path

    def run_ok(self, *arguments, **keywords):
        """A run that must succeed, and without a word on standard error."""
        result = run(*arguments, **keywords)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertEqual(result.err, "", f"\n{result}")
        return result

    def run_warned(self, *arguments, **keywords):
        """A run that must succeed and say something on standard error."""
        result = run(*arguments, **keywords)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        self.assertTrue(result.err.strip(), f"a warning was expected\n{result}")
        for line in result.err.splitlines():
            self.assertTrue(line.startswith("sextant: "), f"\n{result}")
        return result

    def run_error(self, *arguments, naming=None, **keywords):
        """A run on bad input: exit status 1 and one line `sextant: FILE: what is wrong`."""
        result = run(*arguments, **keywords)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 1, f"\n{result}")
        self.assert_one_error_line(result, naming)
        return result

    def run_usage(self, *arguments, **keywords):
        """A run with wrong usage: exit status 2, nothing on standard output, the program's name on standard error."""
        result = run(*arguments, **keywords)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 2, f"\n{result}")
        self.assertEqual(result.out, b"", f"\n{result}")
        self.assertRegex(result.err, r"^sextant: \S", f"\n{result}")
        return result

    def assert_one_error_line(self, result, naming=None):
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 1, f"one line was expected\n{result}")
        self.assertRegex(lines[0], r"^sextant: [^:]+: \S", f"\n{result}")
        if naming is not None:
            self.assertIn(os.fspath(naming), lines[0], f"\n{result}")

    def assert_no_crash(self, result):
        if result.status < 0:
            self.fail(f"killed by {signal.Signals(-result.status).name}\n{result}")
        self.assertLess(result.status, 3, f"\n{result}")
        self.assertIsNone(SANITIZER_TEXT.search(result.err), f"\n{result}")

    def archive(self, source, *options, name="out.lidia", **keywords):
        """The path of the archive of SOURCE. What `archive` says about its work on standard error is of no interest."""
        path = self.folder / name
        result = run("archive", source, "-o", path, *options, **keywords)
        self.assert_no_crash(result)
        self.assertEqual(result.status, 0, f"\n{result}")
        return path

    def lookup(self, file, addresses, *options, **keywords):
        """The JSON answers for ADDRESSES (numbers, or text that goes in as it stands), asked through standard input."""
        questions = "".join(f"{as_hex(address)}\n" for address in addresses)
        answers = self.run_ok("lookup", file, "--json", *options, stdin=questions, **keywords).json_lines()
        self.assertEqual(len(answers), len(addresses))
        return answers

    def function_at(self, file, address, *options, **keywords):
        """The name of the function at ADDRESS, None where nothing is known."""
        return outermost(self.lookup(file, [address], *options, **keywords)[0])


def as_hex(address):
    return address if isinstance(address, str) else f"0x{address:x}"


def outermost(answer):
    """The function that an answer ends with: the real one, whatever is inlined into it."""
    return answer["frames"][-1]["function"] if answer["frames"] else None


def need_tool(*names):
    """Skips the test where a tool is missing."""
    for name in names:
        if shutil.which(name) is None:
            raise unittest.SkipTest(f"{name} is not installed")


def open_terminal():
    """Two descriptors: the side of a new terminal that controls it, and the side that a program is given. Skips the test
    where terminals cannot be made, for instance in a container without /dev/pts."""
    try:
        return pty.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no pseudo-terminals here: {error}") from None


def tool(*command, cwd=None, stdin=None):
    """The standard output of another program, which must succeed."""
    done = subprocess.run(
        [os.fspath(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        input=as_bytes(stdin) if stdin is not None else None,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode != 0:
        raise AssertionError(f"$ {command}\nstatus {done.returncode}\n{done.stderr.decode('utf-8', 'replace')}")
    return done.stdout
