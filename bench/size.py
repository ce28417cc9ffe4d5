"""SuperSize files: reads, writes and compares two generated files of 900,000 symbols, and makes a file from a generated C++
library with debug information; with SEXTANT_TEST_BIG=1 also from a kernel.

Times are compared with libdeflate and zlib alone on the same bytes, and with DWARF extraction alone. The reference, which is
written in Python, does not run here: its times were measured once with the same number of symbols, on two processors.
"""

import json
import os
import pathlib
import subprocess

import dwarf
from timing import best_of, peak_memory

SYMBOLS = 900_000
COPIES = 40
REFERENCE_LOAD, REFERENCE_SAVE, REFERENCE_DIFF, REFERENCE_MEMORY = 7.1, 10.8, 25.5, 969e6
MOST_LOAD, MOST_SAVE, LEAST_FAST, MOST_DIFF, MOST_MEMORY, MOST_ARCHIVE = 2.5, 1.15, 8, REFERENCE_DIFF / 60, 323e6, 1.3

# Typical code of a large C++ program: containers of its own types. Each copy of the object file replaces "unit000" by
# another name of the same length, so that copies share only what comes with the compiler.
SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
namespace unit000 {
template <int N> struct Item {
    std::string name;
    long value[N + 1];
    bool operator<(const Item &other) const { return value[0] < other.value[0] || name < other.name; }
};
template <int N> struct Store {
    std::map<std::string, Item<N>> by_name;
    std::unordered_map<long, std::shared_ptr<Item<N>>> by_value;
    std::vector<Item<N>> all;
    void add(const Item<N> &item)
    {
        all.push_back(item);
        by_name[item.name] = item;
        by_value[item.value[0]] = std::make_shared<Item<N>>(item);
    }
    void order(const std::function<bool(const Item<N> &, const Item<N> &)> &less)
    {
        std::sort(all.begin(), all.end());
        std::stable_sort(all.begin(), all.end(), less);
    }
    std::string joined() const
    {
        std::string text;
        for (const auto &[name, item] : by_name)
            text += name + "=" + std::to_string(item.value[0]);
        return text;
    }
};
template struct Store<0>;
template struct Store<1>;
template struct Store<2>;
template struct Store<3>;
template struct Store<4>;
}
"""


def make_library(folder):
    """A shared library of some 35 MB of .debug_info."""
    source, first, library = folder / "unit.cc", folder / "unit.o", folder / "libunits.so"
    source.write_text(SOURCE)
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-fPIC", "-c", source, "-o", first], check=True)
    parts = []
    for number in range(COPIES):
        parts.append(folder / f"unit{number}.o")
        parts[-1].write_bytes(first.read_bytes().replace(b"unit000", b"unit%03d" % number))
    subprocess.run(["g++", "-shared", "-o", library, *parts], check=True)
    return library


def run_json(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare_files(build, folder):
    """Measures reading, writing and comparing."""
    sextant, bench_size = build / "sextant", build / "bench" / "bench_size"
    before, after = folder / "before.size", folder / "after.size"
    for path, seed in ((before, "0"), (after, "7")):
        subprocess.run([bench_size, "make", str(SYMBOLS), seed, path], check=True)
    figures = {"load": run_json(bench_size, "load", before), "save": run_json(bench_size, "save", before)}
    figures["diff"] = run_json(bench_size, "diff", before, after)
    command = [sextant, "diff", before, after]
    figures["diff_command_s"] = best_of(command, 3)
    figures["diff_rss"], figures["diff_anonymous"] = peak_memory(command)
    return figures


def compare_archive(sextant, subject, folder, rounds):
    """Measures `archive`, and DWARF extraction alone."""
    out = folder / "out"
    figures = {"subject": os.fspath(subject), "debug_info_bytes": dwarf.section_size(subject, ".debug_info")}
    # Alternate, so that other load on the machine affects all kinds equally.
    kinds = {"lidia_s": ["-f", "lidia", "--mangled"], "size_s": ["-f", "size"]}
    kinds["fast_s"] = kinds["size_s"] + ["--deflate", "fast"]
    for _ in range(rounds):
        for kind, options in kinds.items():
            taken = best_of([sextant, "archive", "-q", *options, subject, "-o", out], 1)
            figures[kind] = min(taken, figures.get(kind, taken))
    return figures


def measure(build, folder, with_kernel):
    sextant = build / "sextant"
    figures = compare_files(build, folder)
    subjects = [make_library(folder)] + ([pathlib.Path(dwarf.kernel())] if with_kernel and dwarf.kernel() else [])
    figures["archives"] = [compare_archive(sextant, subject, folder, 7) for subject in subjects]
    return figures


def print_figures(figures, row):
    load, save, diff = figures["load"], figures["save"], figures["diff"]
    print(f"\nsize: {load['symbols']} symbols, {load['text_bytes'] / 1e6:.0f} MB as {load['bytes'] / 1e6:.1f} MB; the "
          "reference as recorded\n")
    print(f"{'':34} {'sextant':>10} {'reference':>12}       ratio")
    row("load", load["load_seconds"] * 1000, "ms", REFERENCE_LOAD * 1000,
        f"{load['load_ratio']:.2f} times libdeflate alone, target {MOST_LOAD}")
    row("diff of two loaded files", diff["diff_seconds"] * 1000, "ms", REFERENCE_DIFF * 1000, "target 60x")
    row("diff, the whole command", figures["diff_command_s"] * 1000, "ms")
    row("save", save["save_seconds"] * 1000, "ms", REFERENCE_SAVE * 1000,
        f"{save['save_ratio']:.2f} times zlib alone, target {MOST_SAVE}")
    row("save --deflate fast", save["fast_seconds"] * 1000, "ms", REFERENCE_SAVE * 1000,
        f"{save['fast_ratio']:.1f} times as fast as stock, target {LEAST_FAST}")
    row("peak memory of diff", figures["diff_rss"] / 1e6, "MB", REFERENCE_MEMORY / 1e6, "target a third")
    for archive in figures["archives"]:
        ratio = archive["size_s"] / archive["lidia_s"]
        what = os.path.basename(archive["subject"])
        print(f"\narchive of {what}, {archive['debug_info_bytes'] / 1e6:.1f} MB of .debug_info")
        row("DWARF extraction (lidia)", archive["lidia_s"] * 1000, "ms")
        row("size", archive["size_s"] * 1000, "ms", None, f"{ratio:.2f} times, target {MOST_ARCHIVE}")
        row("size, --deflate fast", archive["fast_s"] * 1000, "ms")


def missed_targets(figures):
    load, save, diff = figures["load"], figures["save"], figures["diff"]
    if load["load_ratio"] > MOST_LOAD:
        yield f"size: loading takes {load['load_ratio']:.2f} times what libdeflate takes, not {MOST_LOAD}"
    if diff["diff_seconds"] > MOST_DIFF:
        yield f"size: a diff takes {diff['diff_seconds']:.2f} s, not {MOST_DIFF:.2f}"
    if save["save_ratio"] > MOST_SAVE:
        yield f"size: saving takes {save['save_ratio']:.2f} times what zlib takes, not {MOST_SAVE}"
    if save["fast_ratio"] < LEAST_FAST:
        yield f"size: saving fast is {save['fast_ratio']:.1f} times as fast, not {LEAST_FAST}"
    if not save["identical"]:
        yield "size: what was saved again has other bytes"
    if figures["diff_rss"] > MOST_MEMORY:
        yield f"size: a diff takes {figures['diff_rss'] / 1e6:.0f} MB, not {MOST_MEMORY / 1e6:.0f}"
    for archive in figures["archives"]:
        ratio = archive["size_s"] / archive["lidia_s"]
        if ratio > MOST_ARCHIVE:
            what = os.path.basename(archive["subject"])
            yield f"size: the archive of {what} takes {ratio:.2f} times what DWARF extraction takes, not {MOST_ARCHIVE}"
