"""heap: options that contradict each other are refused, and messages name the option that is wrong."""

import itertools

from support import mlyze_writer, sextant, tap
from support.heap_oracle import START

COSTS = {"--peak": [], "--leaks": [], "--temporary": [], "--top": [], "--cost": ["live"], "--at": ["1ms"]}
FORMS = {"--by": ["function"], "--tree": [], "--bottom-up": [], "--stack": ["0"], "--address": ["0x10"],
         "--lifetimes": [], "--churn": ["1ms"], "--timeline": [], "--markers": [], "--folded": [], "--pprof": ["p.pb"],
         "--speedscope": ["s.json"], "--json": [], "--csv": []}  # fmt: skip
OPTIONS = COSTS | FORMS

# Whatever is not here is refused.
ALLOWED = {
    "--peak": {"--by", "--tree", "--bottom-up", "--folded", "--pprof", "--speedscope", "--json", "--csv"},
    "--leaks": {"--by", "--tree", "--bottom-up", "--folded", "--json", "--csv"},
    "--temporary": {"--by", "--tree", "--bottom-up", "--folded", "--json", "--csv"},
    "--top": {"--by", "--tree", "--bottom-up", "--folded", "--json", "--csv"},
    "--cost": {"--by", "--tree", "--bottom-up", "--folded", "--json", "--csv"},
    # What happened up to then.
    "--at": {"--by", "--tree", "--bottom-up", "--folded", "--json", "--csv", "--pprof", "--speedscope", "--stack",
             "--lifetimes", "--timeline", "--markers"},
    "--by": {"--json", "--csv", "--churn"},
    "--tree": {"--bottom-up", "--json"},
    "--bottom-up": {"--json"},
    "--stack": {"--json"},
    "--address": {"--json"},
    "--lifetimes": {"--json"},
    "--churn": {"--json"},
    "--timeline": {"--json", "--csv"},
    "--markers": {"--json"},
    "--pprof": {"--speedscope"},
}  # fmt: skip


class Pairs(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        events = [("alloc", START + 10 * i, 16 * i + 16, 10 + i, i % 2, 0) for i in range(9)]
        events += [("free", START + 100, 16), ("marker", START + 200, 0)]
        text = mlyze_writer.metadata([[(0, 1, 1), (0, 3, 0)], [(0, 2, 2), (0, 3, 0)]], ["/m.c"], ["main", "f", "g"])
        self.path = self.file("t.mlyze", mlyze_writer.plain(events, START, text))

    def run_with(self, *options):
        words = [word for option in options for word in (option, *OPTIONS[option])]
        return sextant.run("heap", self.path, *words, cwd=self.folder)

    def test_every_pair_does_what_both_say_or_is_refused(self):
        for first, second in itertools.combinations(OPTIONS, 2):
            with self.subTest(first=first, second=second):
                result = self.run_with(first, second)
                if second in ALLOWED.get(first, ()) or first in ALLOWED.get(second, ()):
                    self.assertEqual((result.status, result.err), (0, ""))
                    continue
                self.assertEqual((result.status, result.out), (2, b""), result)
                self.assertRegex(result.err, "^sextant: (--[a-z-]+) and (--[a-z-]+) cannot be used together; see .*\n$")
                for name in (first, second):
                    self.assertIn(f"{name} ", result.err)

    def test_profiles_go_to_different_files(self):
        for names in (("-", "-"), ("x", "x")):
            result = self.run_usage("heap", self.path, "--pprof", names[0], "--speedscope", names[1])
            self.assertIn("need different files", result.err)

    def test_an_address_has_no_filter(self):
        for option, value in (("--focus", "x"), ("--ignore", "x"), ("--module", "x"), ("--thread", "0"), ("--depth", "1"),
                              ("--from", "1us"), ("--until", "1us")):  # fmt: skip
            result = self.run_usage("heap", self.path, "--address", "0x10", option, value)
            self.assertIn(f"--address and {option} cannot be used together", result.err)


class Patterns(sextant.ProgramTest):
    def test_a_mistake_is_named_with_its_place(self):
        path = self.file("t.mlyze", mlyze_writer.plain([], START, mlyze_writer.metadata()))
        for pattern, place in (("(", 1), ("a(b", 2), ("(a)(b", 4), ("(a(b", 3), ("a[b", 2), ("(a[b", 3), ("(a[b]", 1),
                               ("a[", 2), ("\\((", 3), ("([)]", 1), ("[[:alpha:](", 1), ("é(", 2), ("ab\\", 3),
                               ("[z-a]", 4)):  # fmt: skip
            for option in ("--focus", "--ignore"):
                result = self.run_usage("heap", path, option, pattern)
                self.assertIn(f"{option}: not a regular expression: '{pattern}' (", result.err)
                self.assertIn(f" at character {place});", result.err)
                self.assertNotIn("t.mlyze", result.err)
        self.run_ok("heap", path, "--focus", "[]()]|a{2}|\\(", "--ignore", "x")


if __name__ == "__main__":
    tap.main()
