"""DWARF: makes archives with lines and inlined calls and looks up addresses in them, compared with llvm-gsymutil,
llvm-symbolizer and GNU addr2line. The small subject is the C library's debug file; with SEXTANT_TEST_BIG=1 a kernel is
added. A program generated in four sizes shows how time and memory grow."""

import bisect
import glob
import os
import random
import re
import shutil
import subprocess

from timing import best_of, newest_llvm, peak_memory

QUESTIONS = 20_000
COLD_QUESTIONS = 2_000
COPIES = (10, 20, 40, 80)

SOURCE = """
static inline __attribute__((always_inline)) int PREFIX_low(int x) { return x * 3 + (x >> 2); }
static inline __attribute__((always_inline)) int PREFIX_mid(int *p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += PREFIX_low(p[i]);
    return sum;
}
"""
FUNCTION = """
int PREFIX_function_NUMBER(int *p, int n)
{
    int a = PREFIX_mid(p, n + NUMBER);
    if (a > NUMBER)
        p[1] = PREFIX_low(a);
    return PREFIX_mid(p + 1, n) ^ a;
}
"""


def libc_debug_file():
    """The path of the C library's debug file, found by build ID, or None."""
    for library in glob.glob("/lib/*/libc.so.6"):
        notes = subprocess.run(["readelf", "-n", library], capture_output=True, text=True).stdout
        found = re.search(r"Build ID: ([0-9a-f]+)", notes)
        path = found and f"/usr/lib/debug/.build-id/{found[1][:2]}/{found[1][2:]}.debug"
        if path and os.path.exists(path):
            return path
    return None


def kernel():
    found = sorted(glob.glob("/usr/lib/debug/boot/vmlinux-*-cloud-amd64") + glob.glob("/usr/lib/debug/boot/vmlinux-*"))
    return found[0] if found else None


def function_addresses(path, count):
    """Random addresses inside function symbols, each byte as likely as any other."""
    table = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, errors="replace").stdout
    functions = []
    for line in table.splitlines():
        parts = line.split()
        if len(parts) >= 8 and parts[3] == "FUNC" and parts[6] != "UND" and int(parts[2], 0) > 0:
            functions.append((int(parts[1], 16), int(parts[2], 0)))
    ends, total = [], 0
    for _, size in functions:
        total += size
        ends.append(total)
    choose = random.Random(1)
    for _ in range(count):
        at = choose.randrange(total)
        which = bisect.bisect_right(ends, at)
        start, size = functions[which]
        yield start + size - (ends[which] - at)


def section_size(path, name):
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, errors="replace").stdout
    found = re.search(rf"\] {re.escape(name)}\s+\S+\s+\S+\s+\S+\s+([0-9a-f]+)", text)
    return int(found[1], 16) if found else 0


def compare(sextant, bench_lookup, path, folder, rounds):
    """All figures of one subject."""
    archive, gsym = folder / "subject.lidia", folder / "subject.gsym"
    questions, gsym_questions, cold = folder / "questions", folder / "gsym-questions", folder / "cold"
    addresses = list(function_addresses(path, QUESTIONS))
    questions.write_text("".join(f"0x{address:x}\n" for address in addresses))
    gsym_questions.write_text("".join(f"0x{address:x} {gsym}\n" for address in addresses))
    cold.write_text("".join(f"0x{address:x}\n" for address in addresses[:COLD_QUESTIONS]))

    make = [sextant, "archive", "-q", path, "-o", archive]
    figures = {"subject": path, "file_bytes": os.path.getsize(path), "debug_info_bytes": section_size(path, ".debug_info")}
    figures["archive_s"] = best_of(make, rounds)
    figures["archive_rss"], figures["archive_anonymous"] = peak_memory(make)
    figures["lidia_bytes"] = archive.stat().st_size
    figures["lookup_s"] = best_of([sextant, "lookup", archive], rounds + 2, questions)
    figures["addr2line_s"] = best_of([sextant, "addr2line", "-afi", "-e", path], rounds, cold)
    in_process = subprocess.run([bench_lookup, archive, "200000"], check=True, capture_output=True, text=True).stdout
    figures["in_process"] = in_process

    gsymutil, symbolizer = newest_llvm("llvm-gsymutil"), newest_llvm("llvm-symbolizer")
    if gsymutil:
        convert = [gsymutil, f"--convert={path}", "-o", gsym, "--num-threads=2", "--quiet"]
        figures["gsym_s"] = best_of(convert, min(rounds, 3))
        figures["gsym_rss"], figures["gsym_anonymous"] = peak_memory(convert)
        figures["gsym_bytes"] = gsym.stat().st_size
        figures["gsym_lookup_s"] = best_of([gsymutil, "--addresses-from-stdin"], rounds + 2, gsym_questions)
    if symbolizer:
        figures["symbolizer_s"] = best_of([symbolizer, "-e", path], 2, questions)
        figures["symbolizer_cold_s"] = best_of([symbolizer, "-e", path], 2, cold)
    gnu = shutil.which("addr2line")
    if gnu:
        figures["gnu_s"] = best_of([gnu, "-afi", "-e", path], 1, cold)
    return figures


def make_unit(folder):
    """The assembler text of a C file with many functions and inlined calls. Each copy replaces PREFIX by its own name."""
    source = folder / "unit.c"
    source.write_text(SOURCE + "".join(FUNCTION.replace("NUMBER", str(i)) for i in range(120)))
    subprocess.run(["gcc", "-O2", "-g", "-S", "-o", folder / "unit.s", source], check=True)
    return (folder / "unit.s").read_text()


def growth(sextant, folder):
    """[(units, bytes of .debug_info, seconds, peak bytes)] for a program of growing size."""
    text = make_unit(folder)
    objects, result = [], []
    for copies in COPIES:
        while len(objects) < copies:
            name = folder / f"copy{len(objects)}"
            name.with_suffix(".s").write_text(text.replace("PREFIX", f"copy{len(objects)}"))
            subprocess.run(["as", "-o", name.with_suffix(".o"), name.with_suffix(".s")], check=True)
            objects.append(name.with_suffix(".o"))
        program = folder / f"program{copies}"
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", program, *objects], check=True)
        command = [sextant, "archive", "-q", program, "-o", folder / "growth.lidia"]
        result.append((copies, section_size(program, ".debug_info"), best_of(command, 7), peak_memory(command)[1]))
    return result
