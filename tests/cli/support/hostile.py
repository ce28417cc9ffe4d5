"""Runs the program on many damaged files, with little memory and little time, and finds the one that it cannot bear."""

import concurrent.futures
import json
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

    def run_info(self, written):
        """info says of every file what it is or what is wrong with it."""
        described = set()
        complaints = ""
        for result in self.run_many("info", written, "--json"):
            described.update(line["file"] for line in result.json_lines())
            complaints += result.err
        silent = [label for label, path in written if str(path) not in described and f"{path}: " not in complaints]
        self.assertEqual(silent[:20], [], f"info says nothing about {len(silent)} of {len(written)} files")

    def run_each(self, written, *command, answers=None):
        """Runs a command on every file alone; FILE in the command stands for its path, OUTPUT for one beside it. The
        answer may be an error, but a clear one; otherwise it has ANSWERS lines of JSON, where that is given."""

        def run_one(item):
            label, path = item
            names = {"FILE": path, "OUTPUT": f"{path}.lidia"}
            try:
                result = self.run_limited(*(names.get(word, word) for word in command), timeout=30)
                self.assert_no_crash(result)
                self.assertIn(result.status, (0, 1), f"\n{result}")
                if result.status == 1:
                    self.assertRegex(result.err, r"(?m)^sextant: ", f"\n{result}")
                elif answers is not None:
                    self.assertEqual(len(result.json_lines()), answers, f"\n{result}")
            except (AssertionError, json.JSONDecodeError, UnicodeDecodeError) as error:
                return f"{label}: {error}"
            return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as workers:
            failures = [failure for failure in workers.map(run_one, written) if failure]
        self.assertEqual(failures[:3], [], f"{len(failures)} of {len(written)} files")

    def run_limited(self, *words, timeout=100):
        return sextant.run(*words, limit_memory=True, timeout=timeout)
