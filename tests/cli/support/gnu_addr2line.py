"""Asks GNU addr2line and `sextant addr2line` the same and compares the answers, byte for byte.

A difference belongs to a class that has a name. Most of them come from debug information in a form that GNU addr2line
2.40 cannot read; docs/addr2line.md describes each. The classes follow from what GNU says, never from what we say.
"""

import collections
import os
import re
import subprocess
from dataclasses import dataclass

from . import sextant

FLAGS = "-afi"
ADDRESS = re.compile(rb"0x[0-9a-f]{8,16}(: .*)?")
MAPPING_SYMBOL = re.compile(rb"\$[adtx]([.].*)?")
GNU_ENVIRONMENT = {"LC_ALL": "C", "DEBUGINFOD_URLS": ""}


def ask(command, words, timeout=600):
    """(standard output, standard error) of a program that is asked WORDS, one a line."""
    text = "".join(f"{word:#x}\n" if isinstance(word, int) else f"{word}\n" for word in words)
    done = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=timeout, env={**os.environ, **GNU_ENVIRONMENT})
    if done.returncode != 0:
        raise AssertionError(f"$ {command}\nstatus {done.returncode}\n{done.stderr.decode('utf-8', 'replace')}")
    return done.stdout, done.stderr.decode("utf-8", "replace")


def answers_of(output):
    """The lines of each answer. With -a an answer begins with its address."""
    answers = []
    for line in output.splitlines():
        if ADDRESS.fullmatch(line):
            answers.append([])
        answers[-1].append(line)
    return answers


@dataclass
class Difference:
    word: object
    gnu: list
    ours: list
    kind: str

    def __str__(self):
        word = hex(self.word) if isinstance(self.word, int) else self.word
        return f"{word}\n    GNU:  {self.gnu[1:]}\n    ours: {self.ours[1:]}"


class Comparison:
    """What came of asking both."""

    def __init__(self, count, differences, complaint):
        self.count = count
        self.differences = differences
        self.complaint = complaint

    @property
    def share(self):
        return 1 - len(self.differences) / self.count if self.count else 1.0

    def kinds(self):
        return collections.Counter(difference.kind for difference in self.differences)

    def report(self, examples=3):
        lines = [f"{self.count} answers, {len(self.differences)} differ: {100 * self.share:.3f} % are the same"]
        if self.complaint:
            lines.append(f"GNU says: {self.complaint}")
        for kind, count in self.kinds().most_common():
            lines.append(f"  {count:6}  {kind}")
            lines += [str(item) for item in self.differences if item.kind == kind][:examples]
        return "\n".join(lines)


def compare(file, words, flags=FLAGS, gnu="addr2line", against=None):
    """GNU is asked about AGAINST where that is given: the same code with other debug information."""
    gnu_output, gnu_error = ask([gnu, "-e", os.fspath(against or file), flags], words)
    our_output, our_error = ask([sextant.program(), "addr2line", "-e", os.fspath(file), flags], words)
    if our_error:
        raise AssertionError(f"{file}: {our_error}")
    theirs, ours = answers_of(gnu_output), answers_of(our_output)
    if not len(theirs) == len(ours) == len(words):
        raise AssertionError(f"{file}: {len(words)} questions, {len(theirs)} answers by GNU and {len(ours)} by us")
    complaint = next((line for line in gnu_error.splitlines() if "DWARF error" in line), "")
    differences = [Difference(word, gnu, our, kind_of(word, gnu, our, complaint))
                   for word, gnu, our in zip(words, theirs, ours) if gnu != our]
    return Comparison(len(words), differences, complaint)


def kind_of(word, gnu, ours, complaint):
    knows_nothing = gnu[-1].endswith((b":?", b":0"))
    if MAPPING_SYMBOL.fullmatch(gnu[1]):
        return "GNU takes a mapping symbol of another machine for a function"
    if complaint:
        return "GNU cannot read this debug information, and says so"
    if isinstance(word, int) and word & 0xFF == 0xFF and knows_nothing:
        return "GNU misses the last byte of a block of 256 that many units share"
    if knows_nothing:
        return "GNU has no line where there is one"
    if b"??" in gnu and b"??" not in ours:
        return "GNU has no name where there is one"
    return "other"
