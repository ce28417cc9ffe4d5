"""Signals at every instruction of the recorder: no event is lost, and a child that is forked there can continue.

See support/record_stepping.py for the program, its sections and its arguments. `make test` interrupts a part of the
instructions.
"""

import platform
import unittest

from support import record_stepping as stepping
from support import heap_programs as programs
from support import sextant, tap
from support.recording import RecordTest

CANNOT_TRACE = 77
STRIDE = 1 if sextant.EVERYTHING else 13


@unittest.skipUnless(platform.machine() == "x86_64", "the program has instructions of x86-64")
class Stepping(RecordTest):
    def setUp(self):
        super().setUp()
        flags = (f"-I{sextant.ROOT / 'include'}", "-fPIE", "-pie")
        self.program = programs.build(self.folder, "program", stepping.STEPPED, *flags)

    def step(self, section, start=0, stride=STRIDE, depth=1, options=()):
        """The name of each site, with how often it is in the trace. Each event of a handler must be there."""
        for path in self.folder.glob("out*.mlyze"):
            path.unlink()
        words = [self.program, section, str(start), str(stride), str(depth)]
        result = sextant.run("record", "-q", "-o", self.folder / "out.mlyze", *options, "--", *words, cwd=self.folder)
        if result.status == CANNOT_TRACE:
            self.skipTest("a process cannot trace another one here")
        self.assertEqual((result.status, result.err), (0, ""), f"\n{result}")
        traces = [self.trace(stepping.STEPPED, path.name) for path in sorted(self.folder.glob("out*.mlyze"))]
        found = {}
        for trace in traces:
            for site, _, _ in trace.allocations():
                found[site] = found.get(site, 0) + 1
            self.assertEqual(trace.live(), {})
        self.assertGreater(int(result.out), 0)
        self.assertEqual(found.pop("in a handler"), int(result.out), (section, start, stride, depth))
        self.threads = {thread for trace in traces for _, _, thread in trace.allocations()}
        return found

    def test_the_first_event(self):
        for start in range(100) if sextant.EVERYTHING else (0, 20, 30, 40, 60, 200):
            self.assertEqual(self.step("first", start, stride=STRIDE * 3), {"meanwhile": 1})
            self.assertEqual(self.threads, {0})

    def test_later_events(self):
        self.assertEqual(self.step("calls"), {"meanwhile": 2, "another": 1, "larger": 1})
        self.assertEqual(self.threads, {0})

    def test_a_new_window(self):
        found = self.step("window")
        self.assertGreater(found.pop("meanwhile"), 100)
        self.assertEqual((found, self.threads), ({}, {0}))

    def test_a_thread_from_its_first_event_to_its_end(self):
        for start in (0, 40):
            self.assertEqual(self.step("thread", start, stride=STRIDE * 3), {"meanwhile": 10})

    def test_the_first_event_of_a_child(self):
        for start in range(60) if sextant.EVERYTHING else (0, 10, 20, 30, 40, 300):
            found = self.step("child", start, stride=STRIDE * 3, options=["--follow-fork"])
            self.assertEqual((found, self.threads), ({"meanwhile": 2}, {0}))

    def test_handlers_that_interrupt_handlers(self):
        for section in ("calls", "window"):
            self.step(section, stride=STRIDE * 37, depth=2)
            self.assertEqual(self.threads, {0})

    def test_forks(self):
        for start in (0, 37):
            self.assertEqual(self.step("forks", start, stride=STRIDE * 3), {"meanwhile": 1})


if __name__ == "__main__":
    tap.main()
