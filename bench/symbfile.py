"""Symbfiles: writes ranges and return pads of a binary, compared with llvm-gsymutil, reads them back, and symbolizes a
profile from archives. The small subject is the C library; with SEXTANT_TEST_BIG=1 a kernel is added.

The reference, which is written in Rust, does not run here. It was measured once: 3.4 s for ranges and return pads of a
kernel, on a machine with two processors where llvm-gsymutil took between 2.7 and 4.4 s for the same file. Its time is
estimated from that and from the time of llvm-gsymutil in this run.
"""

import glob
import json
import pathlib
import subprocess
import sys

import dwarf
from timing import best_of, newest_llvm, peak_memory

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cli"))
from support import pprof  # noqa: E402

REFERENCE_TO_GSYMUTIL = (3.4 / 4.4, 3.4 / 2.7)
LOCATIONS, MAPPINGS, STACK = 100_000, 50, 5
UNITS_OF_LIBRARY = 10
FIRST_BASE = 0x7F0000000000


def subjects(with_kernel):
    """[(file with code, file with DWARF)]"""
    debug_file = dwarf.libc_debug_file()
    found = [(path, debug_file) for path in sorted(glob.glob("/lib/*/libc.so.6"))[:1] if debug_file]
    if with_kernel and dwarf.kernel():
        found.append((dwarf.kernel(), dwarf.kernel()))
    return found


def compare(sextant, bench_symbfile, path, debug_file, folder, rounds):
    """All figures of one subject."""
    ranges, pads, archive = folder / "x.symbfile", folder / "x.returnpads", folder / "x.lidia"
    make = [sextant, "archive", "-q", path, "-f", "symbfile", "-o", ranges, "--returnpads", pads]
    figures = {"subject": path, "debug_info_bytes": dwarf.section_size(debug_file, ".debug_info")}
    figures["both_s"] = best_of(make, rounds)
    figures["both_rss"], figures["both_anonymous"] = peak_memory(make)
    figures["archive_s"] = best_of([sextant, "archive", "-q", path, "-o", archive], rounds)
    figures["ranges_bytes"], figures["pads_bytes"] = ranges.stat().st_size, pads.stat().st_size
    gsymutil = newest_llvm("llvm-gsymutil")
    if gsymutil:
        convert = [gsymutil, f"--convert={debug_file}", "-o", folder / "x.gsym", "--num-threads=2", "--quiet"]
        figures["gsym_s"] = best_of(convert, min(rounds, 3))
        figures["gsym_rss"], figures["gsym_anonymous"] = peak_memory(convert)
        figures["derived_reference_s"] = [figures["gsym_s"] * factor for factor in REFERENCE_TO_GSYMUTIL]
    for kind, file in (("ranges", ranges), ("pads", pads)):
        read = json.loads(subprocess.run([bench_symbfile, file], check=True, capture_output=True, text=True).stdout)
        figures[f"read_{kind}"] = {**read, "mb_s": read["bytes"] / 1e6 / read["seconds"]}
        figures[f"verify_{kind}_s"] = best_of([sextant, "verify", file], rounds)
    return figures


def make_libraries(sextant, folder):
    """[(library, build ID)]. Also makes an archive of each in FOLDER/archives, named by its build ID."""
    text = dwarf.make_unit(folder)
    objects, made = [], []
    (folder / "archives").mkdir()
    for number in range(MAPPINGS):
        name = folder / f"copy{number}"
        name.with_suffix(".s").write_text(text.replace("PREFIX", f"copy{number}"))
        subprocess.run(["as", "-o", name.with_suffix(".o"), name.with_suffix(".s")], check=True)
        objects.append(name.with_suffix(".o"))
    for number in range(MAPPINGS):
        library = folder / f"libcopy{number}.so"
        parts = [objects[(number + i) % MAPPINGS] for i in range(UNITS_OF_LIBRARY)]
        build_id = f"{number + 1:040x}"
        subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,--build-id=0x{build_id}", "-o", library, *parts], check=True)
        archive = folder / "archives" / f"{build_id}.lidia"
        subprocess.run([sextant, "archive", "-q", library, "-o", archive], check=True)
        made.append((library, build_id))
    return made


def make_profile(libraries, path):
    """Writes a profile with random addresses of all functions, in short stacks whose frames are in different files. Each
    location is in one stack, and all but the first of a stack are return addresses."""
    profile = pprof.Profile()
    each = LOCATIONS // MAPPINGS
    for number, (library, build_id) in enumerate(libraries):
        base = FIRST_BASE + number * 0x10000000
        profile.mappings.append(pprof.Mapping(number + 1, base, base + 0x1000000, 0, f"/opt/{library.name}", build_id))
        for address in dwarf.function_addresses(library, each):
            place = len(profile.locations)
            after_call = 1 if place % STACK else 0
            profile.locations.append(pprof.Location(place + 1, number + 1, base + address + after_call))
    for leaf in range(0, LOCATIONS, STACK):
        stack = [(leaf + i * (7 * each + 1)) % LOCATIONS + 1 for i in range(STACK)]
        profile.samples.append((stack, [1]))
    path.write_bytes(pprof.encode(profile))


def symbolize(sextant, folder, rounds):
    libraries = make_libraries(sextant, folder)
    profile, named = folder / "profile.pb", folder / "named.pb"
    make_profile(libraries, profile)
    for library, _ in libraries:
        library.unlink()
    command = [sextant, "symbolize", profile, "--search", folder / "archives", "--no-local"]
    report = json.loads(subprocess.run([*command, "-o", named, "--json"], check=True, capture_output=True).stdout)
    if report["symbolized"] != LOCATIONS:
        raise SystemExit(f"only {report['symbolized']} of {LOCATIONS} locations were symbolized")
    return {
        "locations": LOCATIONS, "mappings": MAPPINGS, "functions": report["functions"],
        "profile_bytes": profile.stat().st_size, "named_bytes": named.stat().st_size,
        "symbolize_s": best_of([*command, "-o", named], rounds),
        "symbolize_gzipped_s": best_of([*command, "-o", folder / "named.pb.gz"], rounds),
    }


# --- output


def print_subject(figures, row):
    ms, mb = 1000, 1e-6
    theirs = figures.get("gsym_s")
    print(f"\nsymbfile of {figures['subject']}, {figures['debug_info_bytes'] / 1e6:.1f} MB of .debug_info as stored\n")
    print(f"{'':34} {'sextant':>10} {'the other':>12}       ratio")
    row("ranges and pads / llvm-gsymutil", figures["both_s"] * ms, "ms", theirs and theirs * ms)
    if theirs:
        least, most = (seconds / figures["both_s"] for seconds in figures["derived_reference_s"])
        print(f"{'  the reference, derived, not run':34} {'':10} {derived_milliseconds(figures):>12} ms  "
              f"{least:.1f}x to {most:.1f}x  target 3x, for a kernel")
    row("a Lidia archive for comparison", figures["archive_s"] * ms, "ms")
    row("peak memory / llvm-gsymutil", figures["both_anonymous"] * mb, "MB", theirs and figures["gsym_anonymous"] * mb,
        "beyond mapped files; target under 400 MB")
    for kind in ("ranges", "pads"):
        read = figures[f"read_{kind}"]
        print(f"{'reading ' + kind + ', one thread':34} {read['mb_s']:10.1f} {'':12} MB/s         "
              f"of {read['bytes'] * mb:.1f} MB, {read['records']} records; target 300 MB/s")
    seconds = figures["verify_ranges_s"]
    print(f"{'sextant verify of the ranges':34} {seconds * ms:10.1f} {'':12} ms")


def derived_milliseconds(figures):
    return "{:.0f}-{:.0f}".format(*(seconds * 1000 for seconds in figures["derived_reference_s"]))


def print_profile(figures, row):
    print(f"\na pprof profile with {figures['locations']} locations in {figures['mappings']} mappings, from archives\n")
    row("symbolize", figures["symbolize_s"] * 1000, "ms", None, "target under 1000 ms")
    row("symbolize, and gzip the result", figures["symbolize_gzipped_s"] * 1000, "ms", None, "target under 1000 ms")


def missed_targets(figures):
    """The targets that were not reached."""
    missed = []
    for one in figures["subjects"]:
        is_large = one["debug_info_bytes"] > 100e6
        if is_large and one.get("gsym_s") and sum(one["derived_reference_s"]) / 2 < 3 * one["both_s"]:
            missed.append("ranges and pads in a third of the time of the reference")
        if one["both_anonymous"] >= 400e6:
            missed.append("ranges and pads in 400 MB")
        missed += [f"reading {kind} at 300 MB/s" for kind in ("ranges", "pads") if one[f"read_{kind}"]["mb_s"] < 300]
    if figures["profile"]["symbolize_s"] >= 1:
        missed.append("a profile in 1 s")
    return missed
