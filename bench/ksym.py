"""ksym blobs: measures the time to make them, their size, and the speed of lookups. The subjects are 200,000 generated
symbols, this machine's kernel if its symbols are readable (with SEXTANT_TEST_BIG=1 the kernel of the debug package), and
the largest installed Rust library.

The reference is the crate `ksym`, if cargo and the crate are available. The bytes that its rule for tokens saves are always
computed here.
"""

import gzip
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys

import dwarf
from timing import best_of, peak_memory

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))

SYMBOLS = 200_000
QUESTIONS = 100_000
TURNS = 3
LENGTHS = (10, 24, 31, 40, 56, 60, 70, 80, 90, 100, 150, 200, 250, 300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1400, 1600,
           1800, 2000)


def made_up_symbols():
    chance = random.Random(1)
    verbs = "get put read write init exit probe remove alloc free lock unlock show store".split()
    parts = [a + b for a in "ext4 xfs net tcp usb pci drm kvm acpi nfs".split() for b in ("", "_core", "_ops")]
    nouns = "inode page queue device buffer table entry state config handler socket timer".split()
    address, lines = 0xFFFFFFFF81000000, []
    for number in range(SYMBOLS):
        name = f"{chance.choice(parts)}_{chance.choice(verbs)}_{chance.choice(nouns)}_{number:x}"
        lines.append(f"{address:016x} {chance.choice('Tt')} {name}\n")
        address += chance.randrange(16, 400)
    return "".join(lines)


def rust_library():
    """The path of the largest library of the installed Rust toolchain, or None."""
    try:
        found = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    libraries = sorted(pathlib.Path(found, "lib").glob("librustc_driver-*.so"), key=lambda path: path.stat().st_size)
    return libraries[-1] if libraries else None


def subjects(with_kernel):
    """[(title, text in the form that nm prints)]"""
    made = [("made-up symbols", made_up_symbols())]
    kernel = dwarf.kernel() if with_kernel else None
    if kernel:
        made.append(("text symbols of " + os.path.basename(kernel), text_symbols(nm(kernel))))
    else:
        try:
            text = text_symbols(pathlib.Path("/proc/kallsyms").read_text())
        except OSError:
            text = ""
        if any(int(line.split(" ", 1)[0], 16) for line in text.splitlines()[:10]):
            made.append(("text symbols of this kernel", text))
    library = rust_library()
    if library:
        made.append((f"text symbols of {library.name}, demangled", text_symbols(nm(library, "-C"))))
    return made


def nm(path, *options):
    done = subprocess.run(["nm", "-n", *options, path], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def text_symbols(text):
    """The lines of nm for text symbols whose names every reader accepts."""
    wanted = []
    for line in text.splitlines(True):
        words = line.split(None, 2)
        if len(words) == 3 and words[1] in ("T", "t") and len(words[2]) < 4000:
            wanted.append(line)
    return "".join(wanted)


def saved_by_reference(names):
    """The bytes that the reference's rule for tokens saves in total. It takes 512 candidates with the highest count times
    length, and none that a token taken before begins with."""
    counts = {}
    for name in names:
        for length in LENGTHS:
            if len(name) >= length:
                counts[name[:length]] = counts.get(name[:length], 0) + 1
        if len(name) < LENGTHS[0]:
            counts[name] = counts.get(name, 0) + 1
    taken, prefixes = {}, set()
    for token in sorted(counts, key=lambda token: -counts[token] * len(token)):
        if len(taken) == 511:
            break
        if token in prefixes:
            continue
        taken[token] = len(taken)
        prefixes.update(token[:size] for size in range(1, len(token) + 1))
    saved = -sum(len(token) + 4 for token in taken)
    for name in names:
        for length in reversed(LENGTHS):
            token = taken.get(name[:length]) if len(name) >= length else None
            if token is not None:
                saved += length - (3 if token < 256 else 4)
                break
    return saved


def write_questions(symbols, path):
    """Random symbols, one a line: an address in it and its name."""
    chance = random.Random(2)
    asked = [chance.choice(symbols) for _ in range(QUESTIONS)]
    # Longer names are cut by the reference.
    path.write_text("".join(f"{address + 1:x} {name}\n" for address, _, name in asked if len(name) < 1000))


def ask(command, questions):
    with questions.open() as stdin:
        return subprocess.run(command, stdin=stdin, check=True, capture_output=True, text=True).stdout


def lookup_times(build, text, blob, questions):
    """(our figures, those of the crate or None, the reason): both answer the same questions, in turns."""
    os.environ["SXT_BUILD"] = os.fspath(build)
    interop = load_interop()
    program, reason = interop.reference_or_reason("seed")
    symbols = interop.parse(text.encode(), "Tt")
    write_questions(symbols, questions)
    bounds = (f"{symbols[0][0]:x}", f"{symbols[-1][0] + 4096:x}")
    ours, theirs = {}, {}
    for _ in range(TURNS):
        keep_best(ours, json.loads(ask([build / "bench" / "bench_ksym", blob], questions)))
        if program is not None:
            by_address, by_name, _ = ask([program, blob, "time", *bounds], questions).split("\t")
            keep_best(theirs, {"address_ns": float(by_address), "name_ns": float(by_name)})
    return ours, theirs or None, None if program is not None else reason


def keep_best(best, figures):
    for name, figure in figures.items():
        best[name] = min(figure, best.get(name, figure))


def load_interop():
    """tests/interop/ksym.py, which has the same name as this file."""
    spec = importlib.util.spec_from_file_location("interop_ksym", ROOT / "tests" / "interop" / "ksym.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(build, what, text, folder, rounds):
    sextant = build / "sextant"
    source, blob = folder / "symbols.txt", folder / "symbols.ksym"
    source.write_text(text)
    make = [sextant, "archive", "-q", "--mangled", source, "-o", blob]
    names = [" ".join(line.split()[2:]).encode() for line in text.splitlines()]
    figures = {"subject": what, "symbols": len(names), "text_bytes": len(text.encode())}
    figures["gzip_bytes"] = len(gzip.compress(text.encode(), 9))
    figures["make_s"] = best_of(make, rounds)
    figures["make_rss"], figures["make_anonymous"] = peak_memory(make)
    figures["bytes"] = blob.stat().st_size
    plain = 8 + 16 * len(names) + 8 + sum(3 + len(name) for name in names) + 24
    figures["plain_bytes"] = plain
    figures["saved"], figures["reference_saved"] = plain - figures["bytes"], saved_by_reference(names)
    figures["lookup"], figures["reference"], figures["reference_missing"] = lookup_times(
        build, text, blob, folder / "questions.txt")
    return figures


def print_subject(figures, row):
    theirs = figures["reference"] or {}
    print(f"\nksym: {figures['symbols']} {figures['subject']}\n")
    print(f"{'':34} {'sextant':>10} {'reference':>12}       ratio")
    row("make", figures["make_s"] * 1000, "ms", None, f"{figures['make_anonymous'] / 1e6:.0f} MB; target 300 ms for 200,000")
    lookup = figures["lookup"]
    row("lookup by address", lookup["address_ns"], "ns", theirs.get("address_ns"), "target 3x with the index")
    row("  finding the symbol alone", lookup["address_without_name_ns"], "ns", None)
    row("  copying the name alone", lookup["copy_ns"], "ns", None, "no lookup can be faster")
    row("lookup by name", lookup["name_ns"], "ns", theirs.get("name_ns"), "target 3x with the index")
    row("by address, with the index", lookup["index_address_ns"], "ns", theirs.get("address_ns"), "target 3x")
    row("  finding the symbol alone", lookup["index_address_without_name_ns"], "ns", None)
    row("by name, with the index", lookup["index_name_ns"], "ns", theirs.get("name_ns"), "target 3x")
    row("  building the index", lookup["index_build_ns"] / 1e6, "ms", None, f"{lookup['index_bytes'] / 1000:.0f} kB")
    row("  opening the blob", lookup["open_ns"] / 1e6, "ms", None, f"{lookup['table_bytes'] / 1000:.0f} kB of tables")
    ratio = figures["saved"] / figures["reference_saved"]
    print(f"{'bytes saved, of ' + str(figures['plain_bytes']):34} {figures['saved']:10} {figures['reference_saved']:12}     "
          f"{ratio:8.2f}x  target 1.7x")
    print(f"{'the blob':34} {figures['bytes']:10} bytes; the text {figures['text_bytes']}, gzipped {figures['gzip_bytes']}")
    if figures["reference_missing"]:
        print(f"no times of the reference: {figures['reference_missing']}")


def missed_targets(subjects):
    for figures in subjects:
        what = figures["subject"]
        theirs = figures["reference"] or {}
        if "made-up" not in what and figures["saved"] < 1.7 * figures["reference_saved"]:
            ratio = figures["saved"] / figures["reference_saved"]
            yield f"{what}: saves {ratio:.2f} times what the reference's tokens do, not 1.7"
        if figures["make_s"] > 0.3 * max(1, figures["symbols"] / SYMBOLS):
            yield f"{what}: made in {figures['make_s']:.2f} s"
        for kind in ("address", "name"):
            ours = min(figures["lookup"][f"{kind}_ns"], figures["lookup"][f"index_{kind}_ns"])
            if theirs and theirs[f"{kind}_ns"] < 3 * ours:
                yield f"{what}: a lookup by {kind} is {theirs[f'{kind}_ns'] / ours:.1f} times as fast, not 3"
