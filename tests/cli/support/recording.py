"""What the tests of `sextant record` have in common."""

import os
import pathlib
import signal
import subprocess
import unittest

from . import heap_programs as programs
from . import sextant

RECORDER = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "src" / "libsextant-record.so"


@unittest.skipUnless(RECORDER.exists(), "the recorder is not built here")
class RecordTest(sextant.ProgramTest):
    """A test that records programs. Whatever still runs when it is over is killed."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.kill_the_rest)

    def kill_the_rest(self):
        """Programs that were recorded into the test's folder, and their children: by their environment."""
        mark = b"SEXTANT_RECORD=" + os.fsencode(self.folder)
        for entry in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in entry.read_bytes():
                    os.kill(int(entry.parent.name), signal.SIGKILL)
            except OSError:
                continue

    def start(self, *command, options=(), output="out.mlyze", **keywords):
        """COMMAND under the recorder, in the background; it is gone when the test is over."""
        words = [sextant.program(), "record", "-q", *options, "-o", self.folder / output, "--", *command]
        child = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, **keywords)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def program_of(self, child):
        """The number of the program that a recorder started."""
        return int(pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()[0])

    def record(self, *command, options=(), output="out.mlyze", status=0, quiet=True, **keywords):
        """Runs COMMAND under the recorder; what it wrote on standard error must be nothing, unless QUIET is false."""
        result = sextant.run("record", "-q", "-o", self.folder / output, *options, "--", *command, cwd=self.folder,
                             **keywords)
        self.assertEqual(result.status, status, f"\n{result}")
        if quiet:
            self.assertEqual(result.err, "", f"\n{result}")
        return result

    def trace(self, source="", output="out.mlyze"):
        self.run_ok("verify", self.folder / output)
        return programs.Recorded(self.folder / output, source)

    def recorded(self, source, *arguments, flags=(), **keywords):
        """The trace of a program made of SOURCE."""
        program = programs.build(self.folder, "program", source, *flags)
        self.record(program, *arguments, **keywords)
        return self.trace(source)
