"""A terminal for programs that draw on the whole screen: what they write becomes lines, and keys can be pressed."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time

from . import sextant

SEQUENCE = re.compile(rb"\x1b\[(\??[\d;]*)([A-Za-z])")
PATIENCE = 120  # seconds; only a test that fails waits that long


class Terminal:
    """Runs a program of ours in a new terminal."""

    def __init__(self, test, *arguments, columns=100, lines=30):
        self.test = test
        self.outer, self.inner = sextant.open_terminal()
        test.addCleanup(self.close)
        self.rows = []
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.inner)
        self.flags = fcntl.fcntl(self.inner, fcntl.F_GETFL)
        self.left = b""
        self.written = b""
        self.is_other_screen = False
        self.is_cursor_hidden = False
        self.place = (0, 0)
        self.child = subprocess.Popen(
            [sextant.program(), *map(os.fspath, arguments)],
            stdin=self.inner, stdout=self.inner, stderr=subprocess.PIPE,
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"},
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        test.addCleanup(self.child.stderr.close)
        test.addCleanup(self.child.wait)
        test.addCleanup(self.child.kill)

    def close(self):
        os.close(self.outer)
        os.close(self.inner)

    def resize(self, columns, lines):
        self.columns, self.lines = columns, lines
        fcntl.ioctl(self.outer, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.rows = [[" "] * columns for _ in range(lines)]

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.rows)

    def press(self, keys):
        os.write(self.outer, keys.encode())

    def send(self, number):
        self.child.send_signal(number)

    def read(self, seconds=0.05):
        """Takes what the program has written by now. False if there was nothing."""
        ready, _, _ = select.select([self.outer], [], [], seconds)
        if not ready:
            return False
        data = os.read(self.outer, 65536)
        self.written += data
        self.feed(data)
        return True

    def wait_for(self, condition, what):
        """Until CONDITION(text) holds."""
        end = time.monotonic() + PATIENCE
        while not condition(self.text()):
            self.read()
            if time.monotonic() > end or self.child.poll() is not None:
                self.test.fail(f"{what}; status {self.child.poll()}\n{self.text()}")

    def wait_for_end(self):
        """The exit status, after everything was read."""
        while self.child.poll() is None:
            self.read()
        while self.read():
            pass
        return self.child.returncode, self.child.stderr.read().decode()

    def is_restored(self):
        return (
            termios.tcgetattr(self.inner) == self.before
            and fcntl.fcntl(self.inner, fcntl.F_GETFL) == self.flags
            and not self.is_other_screen
            and not self.is_cursor_hidden
        )

    def wait_for_stop(self):
        while True:
            self.read()
            pid, status = os.waitpid(self.child.pid, os.WUNTRACED | os.WNOHANG)
            if pid != 0:
                return os.WIFSTOPPED(status) and os.WSTOPSIG(status) in (signal.SIGSTOP, signal.SIGTSTP)

    def feed(self, data):
        data = self.left + data
        self.left = b""
        at = 0
        while at < len(data):
            if data[at] == 0x1B:
                found = SEQUENCE.match(data, at)
                if found is None:
                    self.left = data[at:]
                    return
                at = found.end()
                self.obey(found.group(1).decode(), found.group(2).decode())
                continue
            size = 1 if data[at] < 0x80 else 2 if data[at] < 0xE0 else 3 if data[at] < 0xF0 else 4
            if at + size > len(data):
                self.left = data[at:]
                return
            self.put(data[at : at + size].decode("utf-8", "replace"))
            at += size

    def put(self, character):
        line, column = self.place
        if character == "\r":
            self.place = (line, 0)
        elif character == "\n":
            self.place = (line + 1, column)
        elif line < self.lines and column < self.columns:
            self.rows[line][column] = character
            self.place = (line, column + 1)

    def obey(self, numbers, letter):
        line, column = self.place
        if letter == "H":
            parts = [int(part or 1) for part in numbers.split(";")] if numbers else [1, 1]
            self.place = (parts[0] - 1, parts[1] - 1 if len(parts) > 1 else 0)
        elif letter == "K" and line < self.lines:
            self.rows[line][column:] = [" "] * (self.columns - column)
        elif letter == "J":
            self.rows = [[" "] * self.columns for _ in range(self.lines)]
        elif numbers == "?1049":
            self.is_other_screen = letter == "h"
        elif numbers == "?25":
            self.is_cursor_hidden = letter == "l"
