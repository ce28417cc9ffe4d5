"""Runs the unittest cases of the calling file and prints TAP (Test Anything Protocol) on standard output.

A test file ends with `if __name__ == "__main__": tap.main()`. Words on the command line select the tests whose name
contains one of them. The exit status is 1 when a test failed or when there was nothing to run.
"""

import signal
import sys
import time
import traceback
import unittest


def main(module="__main__"):
    # A shell that runs this in the background lets it ignore Ctrl-C, and every program that a test starts would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    wanted = sys.argv[1:]
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module])
    cases = [case for case in flatten(suite) if not wanted or any(word in name_of(case) for word in wanted)]
    result = TapResult(cases)
    print(f"1..{len(cases)}", flush=True)
    unittest.TestSuite(cases).run(result)
    result.report_the_rest()
    sys.exit(1 if result.failed or not cases else 0)


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def name_of(case):
    parts = case.id().split(".")
    return ".".join(parts[1:] if len(parts) > 2 else parts)


class TapResult(unittest.TestResult):
    """Prints a line for each case as it ends. A case that never starts, because its class could not be set up, is
    reported at the end with the reason that the class gave."""

    def __init__(self, cases):
        super().__init__()
        self.waiting = {id(case): case for case in cases}
        self.failed = 0
        self.number = 0
        self.problems = []
        self.skip_reason = None
        self.class_problems = {}
        self.class_skips = {}
        self.started_at = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.problems = []
        self.skip_reason = None
        self.started_at = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.waiting.pop(id(test), None)
        self.print_line(test, self.problems, self.skip_reason, time.monotonic() - self.started_at)

    def addError(self, test, err):
        self.add_problem(test, err)

    def addFailure(self, test, err):
        self.add_problem(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.problems.append(f"in {subtest._subDescription()}\n" + describe(err))

    def addSkip(self, test, reason):
        if isinstance(test, unittest.TestCase):
            self.skip_reason = reason
        else:
            self.class_skips[class_of_fixture(test)] = reason

    def addExpectedFailure(self, test, err):
        self.problems.append("expected failures are not used here")

    def addUnexpectedSuccess(self, test):
        self.problems.append("expected failures are not used here")

    def add_problem(self, test, err):
        if isinstance(test, unittest.TestCase):
            self.problems.append(describe(err))
        else:
            self.class_problems[class_of_fixture(test)] = describe(err)

    def report_the_rest(self):
        for case in self.waiting.values():
            owner = f"{type(case).__module__}.{type(case).__qualname__}"
            if owner in self.class_skips:
                self.print_line(case, [], self.class_skips[owner], 0.0)
            else:
                self.print_line(case, [self.class_problems.get(owner, "never started")], None, 0.0)

    def print_line(self, test, problems, skip_reason, seconds):
        self.number += 1
        name = name_of(test).replace("#", "")
        if problems:
            self.failed += 1
            print(f"not ok {self.number} - {name}")
            for line in "\n".join(problems).splitlines():
                print(f"# {line}")
        elif skip_reason is not None:
            print(f"ok {self.number} - {name} # SKIP {skip_reason}")
        else:
            print(f"ok {self.number} - {name}")
        if seconds > 5:
            print(f"# {name} took {seconds:.1f} s")
        sys.stdout.flush()


def class_of_fixture(test):
    """unittest reports a failing setUpClass under the name `setUpClass (module.Class)`."""
    name = str(test)
    return name[name.index("(") + 1 : name.rindex(")")] if "(" in name else name


def describe(err):
    kind, value, trace = err
    while trace is not None and "__unittest" in trace.tb_frame.f_globals:
        trace = trace.tb_next
    if issubclass(kind, AssertionError):
        frames = [frame for frame in traceback.extract_tb(trace) if "/unittest/" not in frame.filename]
        where = "".join(f"{frame.filename}:{frame.lineno} in {frame.name}\n" for frame in frames)
        return where + str(value)
    return "".join(traceback.format_exception(kind, value, trace))
