"""Names and diffs of .size files against a program of their own: support/size_names.py and support/size_diff.py.

The program under test is tests/programs/list_size_diff of the build, which prints what src/size derives.
"""

import os
import pathlib
import random
import subprocess
import tempfile
import unittest

from support import sextant, size_diff, size_names, tap

LIST = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "tests" / "programs" / "list_size_diff"

PIECES = ["operator", "<", ">", "(", ")", "[", "]", "{", "}", " ", "::", "a", "Foo", "1", ".", "$", "$_3", "#", "->", "'",
          " for ", " to ", " [clone ", "[abi:", "(anonymous namespace)::", "::_FUN(", "::__invoke(", "{lambda(", "decltype(",
          "'lambda", " const", '"', "*", "func", "init", "<impl ", "[go.shape.", "int ", "()", "(int)", "<int>", "operator<",
          "operator()", "operator->", "operator bool()", "{lambda(int)#1}", "thunk to ", ".part.1"]
SECTIONS = [".text", ".rodata", ".data.rel.ro", ".data.rel.ro.local", ".bss", ".dex.method", ".pak.translations", ".other"]
NAMES = ["f(int)", "f(char)", "int g<int>(int)", "g<char>(char)", "h.part.1", "h.part.2", "h", ".L.str.5", ".L.str.77",
         "Foo$3#this$0", "Foo$9#this$009", "a.b.C#d(): e", "x$1y$22", "** symbol gap 3 (end)", "** symbol gap 12 (end)",
         "** symbol gap 4", "** merge strings", '"text"', '"text"', "string literal", "Overhead: ELF file", "unique", "",
         "v(int) [clone .1]", "w()::x.5", "vtable for A"]
PATHS = [("", ""), ("a.cc", "a.o"), ("b.cc", "b.o"), ("", "c.o"), ("a.cc", "other/a.o")]


def run(*arguments, **options):
    return subprocess.run([LIST, *map(str, arguments)], stdout=subprocess.PIPE, check=True, **options).stdout.decode()


def random_size(numbers, containers, count):
    symbols, group = [], 0
    for container in containers:
        for section in sorted(numbers.sample(SECTIONS, numbers.randint(1, 5)), key=SECTIONS.index):
            left = 0
            for _ in range(numbers.randint(1, count)):
                source, object_path = numbers.choice(PATHS)
                if left == 0 and numbers.random() < 0.2:
                    left, group = numbers.randint(1, 4), group + 1
                    shared = numbers.randint(0, 30), numbers.randint(0, 7)
                alone = numbers.choice([0, 4, 8, 15, 100]), numbers.choice([0, 0, 1, 3, 8, -2])
                symbols.append(size_diff.Symbol(container, section, numbers.choice(NAMES), source, object_path,
                                                *(shared if left else alone), group if left else 0))
                left = max(left - 1, 0)
    return symbols


def changed(numbers, symbols):
    """A size much like another one."""
    result = []
    for symbol in symbols:
        for _ in range(numbers.choice([0, 1, 1, 1, 1, 1, 1, 2])):
            copy = size_diff.Symbol(*(getattr(symbol, name) for name in (
                "container", "section", "name", "source", "object", "size", "padding", "group")))
            if not copy.group and numbers.random() < 0.3:
                copy.size, copy.padding = numbers.choice([0, 4, 9]), numbers.randint(-1, 9)
            if numbers.random() < 0.1:
                copy.name = numbers.choice(NAMES)
            if numbers.random() < 0.1:
                copy.source, copy.object = numbers.choice(PATHS)
            copy.__post_init__()
            result.append(copy)
    return result


def listing(delta):
    lines = [f"pair\t{status}\t{-1 if old is None else old}\t{-1 if new is None else new}\t{size}\t{float(pss):.3f}"
             for status, old, new, size, pss in delta.pairs]
    lines += ["\t".join(map(str, ("padding", *padding))) for padding in delta.paddings]
    lines += [f"removed\t{path}" for path in delta.removed_sources] + [f"added\t{path}" for path in delta.added_sources]
    for which in "before", "after":
        for symbol in getattr(delta, which):
            fields = (which, symbol.container, symbol.section, symbol.name, symbol.source, symbol.size + symbol.padding,
                      symbol.padding, symbol.count)
            lines.append("\t".join(map(str, fields)))
    return lines


@unittest.skipUnless(LIST.exists(), "list_size_diff is not built")
class Names(unittest.TestCase):
    def compare(self, section, stored):
        lines = run("names", section, input="".join(f"{name}\n" for name in stored).encode()).split("\n")[:-1]
        self.assertEqual(len(lines), len(stored))
        for name, line in zip(stored, lines):
            *expected, flags = size_names.names(section, name)
            self.assertEqual(line.split("\t"), [str(flags), *expected], name)

    def test_names_made_of_pieces(self):
        numbers = random.Random(3)
        for section in SECTIONS:
            self.compare(section, ["".join(numbers.choices(PIECES, k=numbers.randint(1, 9))) for _ in range(4000)])

    def test_names_of_samples(self):
        for section in SECTIONS:
            self.compare(section, NAMES)


@unittest.skipUnless(LIST.exists(), "list_size_diff is not built")
class Diffs(unittest.TestCase):
    def compare(self, before, after, sparse=(False, False), ignore_aliases=False):
        with tempfile.TemporaryDirectory() as directory:
            files = []
            for name, symbols, is_sparse in zip(("before", "after"), (before, after), sparse):
                files.append(pathlib.Path(directory, name))
                files[-1].write_text(("sparse\n" if is_sparse else "") + "".join(s.line() for s in symbols))
            found = run("diff", *files, *(["--aliases"] if ignore_aliases else [])).split("\n")[:-1]
        delta = size_diff.diff(before, after, *sparse, ignore_aliases)
        self.assertEqual(found, [line.replace("\t-0.000", "\t0.000") for line in listing(delta)])
        return delta

    def test_random_pairs(self):
        statuses = set()
        for seed in range(300):
            numbers = random.Random(seed)
            containers = numbers.choice([[""], ["a"], ["a", "b"], ["b", "c", "d"]])
            before = random_size(numbers, containers, 12)
            after = changed(numbers, before) if numbers.random() < 0.8 else random_size(numbers, ["a", "b"], 12)
            sparse = numbers.choice([(False, False), (False, False), (True, True), (True, False)])
            with self.subTest(seed=seed):
                delta = self.compare(before, after, sparse, numbers.random() < 0.2)
                statuses |= {pair[0] for pair in delta.pairs}
        self.assertEqual(statuses, set(range(4)))

    def test_many_symbols_on_several_threads(self):
        numbers = random.Random(1000)
        before = random_size(numbers, ["a", "b"], 9000)
        self.compare(before, changed(numbers, before))

    def test_totals_are_the_difference_of_the_sizes(self):
        for seed in range(100):
            numbers = random.Random(seed)
            before = random_size(numbers, ["a", "b"], 20)
            after = changed(numbers, before)
            delta = self.compare(before, after)
            total = sum(pair[4] for pair in delta.pairs) + sum(padding[2] for padding in delta.paddings)
            truth = sum(size_diff.change(None, symbol)[1] for symbol in after) - sum(
                size_diff.change(None, symbol)[1] for symbol in before)
            self.assertLessEqual(abs(total - truth), len({(s.container, s.section) for s in before}) / 2)


if __name__ == "__main__":
    tap.main()
