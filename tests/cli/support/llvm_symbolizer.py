"""Compares what the program and llvm-symbolizer say about the same addresses of the same file.

Both are asked for linkage names. A few ways to say the same thing count as equal, and each is counted under its name:

    another name of the symbol      two symbols at one address; DWARF has one name and the symbol table another
    clone suffix                    the symbol table says f.cold, f.part.0, f.constprop.1, DWARF says f
    symbol version                  the symbol table says f@@VERSION
    no linkage name in DWARF        then ours is DWARF's name with its scopes, n::f<int>; llvm has f<int> for an inlined
                                    call and the symbol's name for the function itself
    not normalised by llvm          /a/b/../c.h and /a/c.h
    llvm repeats the directory      ./gmon/./gmon/gmon.c where the compilation directory ./gmon is relative
    llvm has a label                it takes the last symbol, even if that has no size and is inside a function that has
    functions folded into one       by the linker: llvm has the debug information of one, ours that of the other
    file of a symbol                no debug information; llvm has a file name from the symbol table, without a line

Three kinds of addresses are left out, because no function is there, only code that fills gaps or that has no debug
information and no function symbol with a size:

    filler                          ours knows nothing, llvm no function but the line of the row that goes on; or llvm
                                    knows nothing and Go's own table gives the bytes to the function before them
    PLT entry                       only ours has names for them
    symbol without a size           llvm takes the code up to the next symbol for a part of it: start-up code, PLT

Everything else is a disagreement, sorted into classes that have a name too (see `Judge`).

To compare one file by hand, in tests/cli:

    python3 -m support.llvm_symbolizer FILE [--sample N] [--class WORD] [--limit N] [--against OTHER]
"""

import argparse
import collections
import functools
import glob
import json
import os
import posixpath
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from . import elf_reader, sextant

UNKNOWN_TO_LLVM = ("", "??")
MOST_FRAMES_SHOWN = 5
LONGEST_NAME_SHOWN = 100
FORTRAN_PROGRAM = "MAIN__"  # the symbol of what DWARF calls by the name that it has in the source
CLONE_SUFFIX = re.compile(
    r"(?<=.)(?:\.(?:\d+|cold|part|__part|constprop|isra|lto_priv|localalias|llvm|clone|actor|destroy|resolver|simdclone"
    r"|cfi|cfi_jt|abi0|abiinternal))+$"
)
VERSION_SUFFIX = re.compile(r"(?<=[^@])@.*$", re.DOTALL)


@dataclass(frozen=True)
class Frame:
    """One frame of an answer, innermost first in its list; what is unknown is None."""

    function: str
    file: str
    line: int

    def __str__(self):
        name = self.function or "??"
        if len(name) > LONGEST_NAME_SHOWN:
            name = f"{name[:LONGEST_NAME_SHOWN // 2]}...{name[-LONGEST_NAME_SHOWN // 2:]}"
        return f"{name} {self.file or '??'}:{self.line or '?'}"


# --- llvm-symbolizer


def find_program():
    """The newest llvm-symbolizer, or None."""
    found = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep) + sorted(glob.glob("/usr/lib/llvm-*/bin")):
        for path in glob.glob(os.path.join(glob.escape(folder), "llvm-symbolizer*")):
            if re.fullmatch(r"llvm-symbolizer(-\d+)?", os.path.basename(path)) and os.access(path, os.X_OK):
                found.setdefault(os.path.realpath(path), path)
    return max(found.values(), key=version_of, default=None)


def version_of(path):
    asked = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    number = re.search(rb"LLVM version (\d+)\.(\d+)\.(\d+)", asked.stdout)
    return tuple(int(part) for part in number.groups()) if number else (0, 0, 0)


def ask_llvm(file, addresses, program=None, options=(), timeout=600):
    """A list of frames for each address, empty where llvm-symbolizer knows nothing."""
    command = [program or find_program(), f"--obj={os.fspath(file)}", "--output-style=JSON", "--no-demangle",
               "--no-debuginfod", *options]
    output = ask(command, addresses, timeout)
    answers = [frames_of_llvm(json.loads(line)) for line in output.splitlines() if line]
    if len(answers) != len(addresses):
        raise AssertionError(f"{command[0]} gave {len(answers)} answers to {len(addresses)} questions about {file}")
    return answers


def ask(command, addresses, timeout):
    """What COMMAND prints when it is given the addresses, one a line."""
    environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    with tempfile.TemporaryFile() as questions:
        questions.write("".join(f"0x{address:x}\n" for address in addresses).encode())
        questions.seek(0)
        done = subprocess.run(command, stdin=questions, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment, timeout=timeout, check=False)
    if done.returncode != 0:
        raise AssertionError(f"$ {' '.join(command)}\nstatus {done.returncode}\n{done.stderr[:4000].decode()}")
    return done.stdout.decode("utf-8", "backslashreplace")


def frames_of_llvm(answer):
    frames = [
        Frame(
            None if symbol["FunctionName"] in UNKNOWN_TO_LLVM else symbol["FunctionName"],
            None if symbol["FileName"] in UNKNOWN_TO_LLVM else symbol["FileName"],
            symbol["Line"] or None,
        )
        for symbol in answer.get("Symbol", [])
    ]
    return frames if any(frame != Frame(None, None, None) for frame in frames) else []


# --- the program under test


def ask_ours(file, addresses, timeout=600):
    """A list of frames for each address, and what the program said on standard error."""
    questions = "".join(f"0x{address:x}\n" for address in addresses)
    result = sextant.run("lookup", file, "--mangled", "--json", stdin=questions, timeout=timeout)
    if result.status != 0:
        raise AssertionError(f"{result}")
    answers = [
        [Frame(frame["function"], frame["file"], frame["line"]) for frame in answer["frames"]]
        for answer in result.json_lines()
    ]
    if len(answers) != len(addresses):
        raise AssertionError(f"{len(answers)} answers to {len(addresses)} questions\n{result}")
    return answers, result.err


# --- addresses to ask about


def code_sections(elf):
    wanted = elf_reader.SHF_ALLOC | elf_reader.SHF_EXECINSTR
    return [section for section in elf.sections if section.flags & wanted == wanted and section.size]


def random_addresses(elf, count, seed=1):
    """COUNT different addresses in the executable sections, or all there are, in order."""
    sections = code_sections(elf)
    total = sum(section.size for section in sections)
    picked = sorted(random.Random(seed).sample(range(total), min(count, total)))
    addresses, first = [], 0
    for section in sections:
        for number in picked:
            if first <= number < first + section.size:
                addresses.append(section.address + number - first)
        first += section.size
    return addresses


def instruction_addresses(file, objdump="objdump"):
    """The address of every instruction, as GNU objdump disassembles the executable sections."""
    listing = sextant.tool(objdump, "-d", "--no-show-raw-insn", "-w", file).decode("utf-8", "replace")
    return [int(match, 16) for match in re.findall(r"^ *([0-9a-f]+):\t", listing, re.MULTILINE)]


# --- the comparison


class Symbols:
    """The names that the symbol tables (.symtab and .dynsym) of some files have for an address."""

    def __init__(self, *files):
        self.names_at = collections.defaultdict(set)
        self.sizes_of = collections.defaultdict(dict)  # name: {where it begins: size}
        self.files = set()
        for elf in files:
            for kind in (elf_reader.SHT_SYMTAB, elf_reader.SHT_DYNSYM):
                self.add(elf, kind)

    def add(self, elf, kind):
        for symbol in elf.symbols(kind):
            name = symbol.name.decode("utf-8", "replace")
            if symbol.type == elf_reader.STT_FILE:
                self.files.add(name)
            elif symbol.section != elf_reader.SHN_UNDEF and symbol.type != elf_reader.STT_SECTION:
                thumb = elf.machine == elf_reader.EM_ARM and symbol.type == elf_reader.STT_FUNC
                start = symbol.value & ~1 if thumb else symbol.value
                self.names_at[start].add(name)
                self.sizes_of[name][start] = max(symbol.size, self.sizes_of[name].get(start, 0))

    def start(self, name, address):
        """Where the function NAME that has ADDRESS begins, or None."""
        return max((start for start in self.sizes_of.get(name, ()) if start <= address), default=None)

    def aliases(self, name, address):
        """All names at the place where the function NAME that has ADDRESS begins."""
        return self.names_at.get(self.start(name, address), set())

    def without_size(self, name, address):
        """Is it only a label?"""
        start = self.start(name, address)
        return start is not None and self.sizes_of[name][start] == 0

    def covers(self, name, address):
        """Does the symbol NAME say that it has ADDRESS?"""
        start = self.start(name, address)
        return start is not None and address < start + self.sizes_of[name][start]


EQUAL, DIFFERENT, LEFT_OUT = "=", "!", "~"
ALTERNATE_FILE = "llvm does not read the alternate file"


@dataclass
class Case:
    """An address with both answers and the judgement: EQUAL, DIFFERENT or LEFT_OUT, and the name of the class."""

    address: int
    ours: list
    llvm: list
    verdict: str
    name: str


class Judge:
    """Sorts pairs of answers into classes.

    ALTERNATE: the file refers to an alternate file (dwz -m), which llvm-symbolizer does not read, so that it has no
    names for what is in there. GO: it has the Go runtime's table. FOLDED: the linker has folded functions with the same
    code, and the debug information of any of them is right."""

    def __init__(self, symbols, alternate=False, go=False, folded=False):
        self.symbols = symbols
        self.alternate = alternate
        self.go = go
        self.folded = folded

    def judge(self, address, ours, llvm):
        reason = self.nothing_to_compare(address, ours, llvm)
        if reason:
            return Case(address, ours, llvm, LEFT_OUT, reason)
        notes = []
        difference = self.difference(address, ours, llvm, notes)
        if difference:
            return Case(address, ours, llvm, DIFFERENT, difference)
        return Case(address, ours, llvm, EQUAL, ", ".join(sorted(set(notes))) or "the same")

    def nothing_to_compare(self, address, ours, llvm):
        """Why the address is left out, or None."""
        if not ours and llvm and not any(frame.function for frame in llvm):
            return "filler"
        if not llvm and self.go:
            return "filler"
        if not llvm and len(ours) == 1 and ours[0].function.endswith("@plt"):
            return "PLT entry"
        if len(llvm) == 1 and not llvm[0].line and self.symbols.without_size(llvm[0].function, address):
            if not ours or (len(ours) == 1 and not ours[0].file):
                return "symbol without a size"
        return None

    def difference(self, address, ours, llvm, notes):
        """The name of the class of a disagreement, or None; what was needed to see them as equal goes to NOTES."""
        if not ours or not llvm:
            return self.one_is_silent(address, ours, llvm)
        if len(ours) != len(llvm):
            return self.chains_differ(ours, llvm)
        places = self.places_differ(ours, llvm, notes)
        names = self.names_differ(address, ours, llvm, notes)
        if names and places:
            return f"{names}; {places}"
        if places and self.folded and "another name of the symbol" in notes:
            notes.append("functions folded into one")
            return None
        return names or places

    def one_is_silent(self, address, ours, llvm):
        if not ours and not llvm:
            return None
        if len(llvm) == 1 and self.symbols.without_size(llvm[0].function, address):
            return "only llvm: a line, and the last label before it"
        who, frames = ("llvm", llvm) if llvm else ("ours", ours)
        return f"only {who}: a function " + ("with a line" if frames[0].line else "without a line")

    def chains_differ(self, ours, llvm):
        return ("more" if len(ours) > len(llvm) else "fewer") + " inlined frames than llvm"

    def names_differ(self, address, ours, llvm, notes):
        for depth, (mine, theirs) in enumerate(zip(ours, llvm)):
            outermost = depth == len(ours) - 1
            difference = self.name_differs(address, mine.function, theirs.function, outermost, notes)
            if difference:
                return ("function: " if outermost else "inlined function: ") + difference
        return None

    def name_differs(self, address, mine, theirs, outermost, notes):
        if mine == theirs:
            return None
        if theirs and mine:
            note = self.same_function(address, mine, theirs, outermost)
        else:
            note = ALTERNATE_FILE if mine and self.alternate else None
        if note:
            notes.append(note)
            return None
        return "another name" if theirs else "no name in llvm"

    def same_function(self, address, mine, theirs, outermost):
        """Why the two names mean the same function, or None."""
        if mine.endswith("::" + theirs) or (self.go and mine.replace("\u00b7", ".") == theirs):
            return "no linkage name in DWARF"
        if not outermost:
            unread = self.alternate and is_mangled(mine) and plain_name(mine) == plain_name(theirs)
            return ALTERNATE_FILE if unread else None
        if without_version(theirs) == without_version(mine):
            return "symbol version"
        if is_clone(theirs, mine):
            return "clone suffix"
        aliases = {without_version(name) for name in self.symbols.aliases(theirs, address)}
        if without_version(mine) in aliases:
            return "another name of the symbol"
        if any(is_clone(name, mine) for name in aliases):
            return "clone suffix"
        if not is_mangled(mine) and plain_name(mine) in {plain_name(name) for name in aliases}:
            return "no linkage name in DWARF"
        if FORTRAN_PROGRAM in aliases:
            return "no linkage name in DWARF"
        if self.symbols.without_size(theirs, address) and self.symbols.covers(mine, address):
            return "llvm has a label"
        return None

    def places_differ(self, ours, llvm, notes):
        for depth, (mine, theirs) in enumerate(zip(ours, llvm)):
            difference = self.file_differs(mine, theirs, notes) or self.line_differs(mine, theirs)
            if difference:
                return difference if depth == 0 else "call " + difference
        return None

    def file_differs(self, mine, theirs, notes):
        if mine.file == theirs.file:
            return None
        if mine.file and theirs.file:
            note = same_path(mine.file, theirs.file)
        else:
            note = "file of a symbol" if theirs.file in self.symbols.files and not theirs.line else None
        if note:
            notes.append(note)
            return None
        if not mine.file or not theirs.file:
            return "file: only " + ("ours" if mine.file else "llvm") + ("" if mine.line or theirs.line else ", no line")
        same_name = posixpath.basename(mine.file) == posixpath.basename(theirs.file)
        return "file: another directory" if same_name else "file: another one"

    def line_differs(self, mine, theirs):
        if mine.line == theirs.line:
            return None
        return "line: another one" if mine.line and theirs.line else "line: only " + ("ours" if mine.line else "llvm")


def without_version(name):
    return VERSION_SUFFIX.sub("", name)


def without_clone(name):
    return CLONE_SUFFIX.sub("", name)


def is_clone(name, original):
    """Is NAME the original's with a suffix, or with one suffix more?"""
    return name.startswith(original + ".") and CLONE_SUFFIX.sub("", name[len(original) - 1 :]) == original[-1]


def is_mangled(name):
    return name.startswith(("_Z", "_R", "_D"))


@functools.lru_cache(maxsize=None)
def plain_name(name):
    """The last part of a name, without parameters, template arguments and clone suffix: `f` of n::f<int>(char)."""
    name = without_clone(name)
    if is_mangled(name):
        style = "dlang" if name.startswith("_D") else "auto"
        name = sextant.tool("c++filt", "-p", "-s", style, name).decode().strip()
    while re.search(r"[<({][^<>(){}]*[>)}]", name):
        name = re.sub(r"[<({][^<>(){}]*[>)}]", "", name)
    return re.split(r"::|[.]", name)[-1]


def same_path(mine, theirs):
    """Why the paths are the same file, or None. Ours are normalised, llvm's are put together and left alone."""
    if mine == normalised(theirs):
        return "not normalised by llvm"
    if any(mine == normalised(rest) for rest in without_repetition(theirs)):
        return "llvm repeats the directory"
    return None


def normalised(path):
    return re.sub(r"^//+", "/", posixpath.normpath(path))


def without_repetition(path):
    """PATH without its beginning, for each beginning that a relative compilation directory may be. llvm-symbolizer puts
    it before directories that need none: they start with it already, or with the dot that replaced the same root."""
    if path.startswith("/"):
        return
    parts = path.split("/")
    for count in range(1, len(parts)):
        if parts[:count] == parts[count : 2 * count] or parts[0] == parts[count] == ".":
            yield "/".join(parts[count:])


class Comparison:
    """All cases of one file."""

    def __init__(self, cases, warnings=""):
        self.cases = cases
        self.warnings = warnings

    @property
    def compared(self):
        """How many addresses are not left out."""
        return sum(case.verdict != LEFT_OUT for case in self.cases)

    @property
    def share(self):
        """The part of those on which both agree."""
        return sum(case.verdict == EQUAL for case in self.cases) / max(self.compared, 1)

    def classes(self, verdict):
        """Class name to its cases, most frequent first."""
        found = collections.defaultdict(list)
        for case in self.cases:
            if case.verdict == verdict:
                found[case.name].append(case)
        return sorted(found.items(), key=lambda item: -len(item[1]))

    def report(self, examples=2, word=""):
        """A table of the classes, with some addresses of each disagreement (or of the classes named with WORD)."""
        left_out = len(self.cases) - self.compared
        lines = [f"{100 * self.share:.3f} % of {self.compared} addresses agree, {left_out} are left out"]
        for verdict in (EQUAL, LEFT_OUT, DIFFERENT):
            for name, cases in self.classes(verdict):
                lines.append(f"  {verdict} {len(cases):7}  {name}")
                if word in name if word else verdict == DIFFERENT:
                    for case in spread(cases, examples):
                        lines += describe(case)
        if self.warnings:
            lines.append("  warnings: " + self.warnings.strip()[:1000])
        return "\n".join(lines)


def spread(cases, count):
    """COUNT of the cases, from all over the file."""
    step = max(len(cases) // max(count, 1), 1)
    return cases[::step][:count]


def describe(case):
    lines = [f"             0x{case.address:x}"]
    for who, frames in (("ours", case.ours), ("llvm", case.llvm)):
        texts = [str(frame) for frame in frames] or ["nothing"]
        if len(texts) > MOST_FRAMES_SHOWN:
            texts[MOST_FRAMES_SHOWN - 2 : -1] = [f"... {len(texts) - MOST_FRAMES_SHOWN + 1} more ..."]
        lines += [f"               {who if number == 0 else '':4}  {text}" for number, text in enumerate(texts)]
    return lines


def compare(file, addresses, against=None, program=None, folded=False, llvm_options=(), timeout=600, answers=None):
    """Asks both about FILE. AGAINST: llvm-symbolizer looks at this file instead, the same program in another form that
    it can read, or its debug file. ANSWERS: what is to be judged, where the program is not to be asked about FILE."""
    reference = against or file
    elf = elf_reader.ElfFile.open(reference)
    others = [elf_reader.ElfFile.open(file)] if against else []
    judge = Judge(
        Symbols(elf, *others),
        alternate=elf.section(".gnu_debugaltlink") is not None,
        go=elf.section(".gopclntab") is not None,
        folded=folded,
    )
    llvm = ask_llvm(reference, addresses, program, llvm_options, timeout)
    ours, warnings = (answers, "") if answers is not None else ask_ours(file, addresses, timeout)
    return Comparison([judge.judge(*answers) for answers in zip(addresses, ours, llvm)], warnings)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--sample", type=int, metavar="N", help="N random addresses instead of every instruction")
    parser.add_argument("--seed", type=int, default=1, help="for other random addresses")
    parser.add_argument("--address", action="append", help="this address (in hexadecimal) and no other")
    parser.add_argument("--class", dest="word", default="", help="examples only of classes whose name contains this")
    parser.add_argument("--limit", type=int, default=3, help="how many examples of a class")
    parser.add_argument("--against", metavar="OTHER", help="let llvm-symbolizer read another form of the program")
    parser.add_argument("--llvm", help="which llvm-symbolizer")
    parser.add_argument("--dwp", help="the .dwp file for llvm-symbolizer")
    options = parser.parse_args()
    if options.llvm is None and find_program() is None:
        sys.exit("llvm-symbolizer is not installed")
    if options.address:
        addresses = [int(text, 16) for text in options.address]
    elif options.sample:
        addresses = random_addresses(elf_reader.ElfFile.open(options.file), options.sample, options.seed)
    else:
        addresses = instruction_addresses(options.file)
    comparison = compare(options.file, addresses, options.against, options.llvm and shutil.which(options.llvm),
                         llvm_options=[f"--dwp={options.dwp}"] if options.dwp else [])
    print(comparison.report(options.limit, options.word))
    sys.exit(0 if comparison.share == 1 else 1)


if __name__ == "__main__":
    main()
