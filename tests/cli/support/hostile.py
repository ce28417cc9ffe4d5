"""Runs the program on many damaged files, with little memory and little time, and finds the one that it cannot bear."""

import concurrent.futures
import os
import tempfile

from . import sextant

BATCH = 400


class HostileTest(sextant.ProgramTest):
    def write_all(self, variants):
        """Writes (label, bytes) pairs to files; returns (label, path) pairs."""
        folder = tempfile.mkdtemp(dir=self.folder)
        return [(label, self.file(f"{folder}/{number}", data)) for number, (label, data) in enumerate(variants)]

    def run_many(self, verb, written, *options):
        """Runs a verb that takes many files on all of them, some hundreds a process; returns the results.
        A crash or a run without end is blamed on the file that causes it."""
        results = []
        for first in range(0, len(written), BATCH):
            batch = written[first : first + BATCH]
            try:
                result = self.run_limited(verb, *options, *(path for _, path in batch))
                self.assert_no_crash(result)
            except AssertionError:
                self.blame(verb, options, batch)
                raise
            self.assertIn(result.status, (0, 1), f"\n{result}")
            results.append(result)
        return results

    def blame(self, verb, options, batch):
        for label, path in batch:
            try:
                self.assert_no_crash(self.run_limited(verb, *options, path))
            except AssertionError as error:
                raise AssertionError(f"{label}: {error}") from None

    def run_each(self, written, *command):
        """Runs a command on every file alone; the word FILE in the command stands for it. The answer may be an error,
        but a clear one."""

        def run_one(item):
            label, path = item
            words = [path if word == "FILE" else word for word in command]
            try:
                result = self.run_limited(*words, timeout=30)
                self.assert_no_crash(result)
                self.assertIn(result.status, (0, 1), f"\n{result}")
                if result.status == 1:
                    self.assertTrue(result.err.startswith("sextant: "), f"\n{result}")
            except AssertionError as error:
                return f"{label}: {error}"
            return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as workers:
            failures = [failure for failure in workers.map(run_one, written) if failure]
        self.assertEqual(failures[:3], [], f"{len(failures)} of {len(written)} files")

    def run_limited(self, *words, timeout=100):
        return sextant.run(*words, limit_memory=True, timeout=timeout)


def some(items, most):
    """At most MOST of the items, spread evenly; a third of them where sanitizers make every run slow."""
    if sextant.SANITIZED:
        most //= 3
    items = list(items)
    return items[:: -(-len(items) // most)] if items else items
