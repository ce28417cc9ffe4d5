"""Heap: records and analyses a heap, compared with heaptrack.

The program allocates 4 million blocks and frees them, about 15 frames deep, with and without frame pointers, on one thread
and on two. It measures its own processor time, so the work after its end does not count; that work is reported separately.
Then `heap` and heaptrack_print analyse the trace of their own recorder, and `heap --at` looks up what was live at a moment.
Two real programs, a compiler and an interpreter, are recorded as well. Each figure is the best of several rounds, and the
rounds of all tools alternate.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ALLOCATIONS = 4_000_000
ROUNDS = 3
TARGETS = {"frame pointers": 80, "no frame pointers": 150}
READ_TARGET = 20e6  # events a second
AT_TARGET = 0.1  # seconds
AT_ALLOCATIONS = 5_000_000
STACKS = int(os.environ.get("SEXTANT_BENCH_STACKS", "60000"))  # of which 37,000 are used
STACKS_ALLOCATIONS = int(os.environ.get("SEXTANT_BENCH_STACKS_ALLOCATIONS", "110000"))
HEAPTRACK_MEMORY = 6 << 30  # bytes: heaptrack 1.4 takes more than 24 GB for 200,000 allocations from 35,000 stacks
MEMORY_TARGET = 100e6  # bytes
SIZE_TARGET = 1.5  # times heaptrack's
MOMENTS = 5
WORKLOAD = """
import collections, json
d = collections.defaultdict(list)
for i in range(100000):
    d[str(i % 5000)].append({"a": i, "b": str(i)})
print(len(json.loads(json.dumps(d))))
"""


def build(folder):
    """Builds the program with and without frame pointers."""
    made = {}
    for name, flag in (("no frame pointers", "-fomit-frame-pointer"), ("frame pointers", "-fno-omit-frame-pointer")):
        made[name] = folder / name.replace(" ", "-")
        subprocess.run(["gcc", "-O2", "-g", flag, "-pthread", HERE / "heap_load.c", "-o", made[name]], check=True)
    return made


def run(command, environment=None):
    """(processor seconds of the program, its wall seconds, wall seconds of the whole command)."""
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    whole = time.perf_counter() - start
    line = next(line for line in done.stdout.splitlines() if line.count(".") == 2 and len(line.split()) == 2)
    processor, wall = map(float, line.split())
    return processor, wall, whole


def tools(sextant, folder):
    """name -> a function that returns a command run under the tool."""
    trace, other = folder / "heap.mlyze", folder / "heaptrack"
    found = {
        "plain": lambda command: command,
        "record": lambda command: [sextant, "record", "-q", "-o", trace, "--", *command],
        "record --compress": lambda command: [sextant, "record", "-q", "--compress", "-o", trace, "--", *command],
        "record --sample": lambda command: [sextant, "record", "-q", "--sample", "524288", "-o", trace, "--", *command],
    }
    if shutil.which("heaptrack"):
        found["heaptrack"] = lambda command: ["heaptrack", "-o", other, *command]
    return found


def compare(sextant, folder, rounds=ROUNDS, allocations=ALLOCATIONS):
    programs = build(folder)
    figures = {"allocations": allocations, "rows": []}
    for name, threads in (("frame pointers", 1), ("no frame pointers", 1), ("no frame pointers", 2)):
        best = {}
        sizes = {}
        for _ in range(rounds):
            for tool, in_front in tools(sextant, folder).items():
                command = [os.fspath(word) for word in in_front([programs[name], str(allocations), str(threads)])]
                taken = run(command)
                best[tool] = tuple(map(min, zip(taken, best.get(tool, taken))))
                made = list(folder.glob("heaptrack*" if tool == "heaptrack" else "heap.mlyze"))
                sizes[tool] = made[0].stat().st_size if made and tool != "plain" else 0
                for path in made:
                    path.unlink()
        figures["rows"].append({"program": name, "threads": threads, "tools": {
            tool: {"processor_s": times[0], "wall_s": times[1], "whole_s": times[2], "bytes": sizes[tool],
                   "finish_s": times[2] - times[1],
                   "added_ns": (times[0] - best["plain"][0]) / (2 * allocations) * 1e9,
                   "added_wall_s": times[1] - best["plain"][1]}
            for tool, times in best.items()}})
    return figures


def processor_seconds(command, rounds):
    """The least processor time of several rounds. Other programs affect it less than wall time."""
    return used_by(command, rounds)[0]


def used_by(command, rounds):
    """(the least processor time of several rounds, the most resident memory in bytes)."""
    best, most = float("inf"), 0
    for _ in range(rounds):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        best = min(best, usage.ru_utime + usage.ru_stime)
        most = max(most, usage.ru_maxrss * 1024)
    return best, most


def made_by_heaptrack(folder, command):
    """The path of the file that heaptrack writes, or None if it is not installed or fails."""
    if not shutil.which("heaptrack") or not shutil.which("heaptrack_print"):
        return None
    limit = ["prlimit", f"--as={HEAPTRACK_MEMORY}"] if shutil.which("prlimit") else []
    done = subprocess.run([*limit, "heaptrack", "-o", folder / "heaptrack", *command], capture_output=True)
    made = next(folder.glob("heaptrack*"), None)
    if done.returncode != 0 and made:
        made.unlink()
    return made if done.returncode == 0 else None


def analyse(build, folder, rounds=ROUNDS, allocations=ALLOCATIONS):
    """Events per second of each tool, on one core, for traces of the same program."""
    sextant, trace, packed = build / "sextant", folder / "heap.mlyze", folder / "packed.mlyze"
    command = [build_one(folder), str(allocations)]
    subprocess.run([sextant, "record", "-q", "-o", trace, "--", *command], check=True, capture_output=True)
    subprocess.run([sextant, "convert", "-q", "--compress", trace, "-o", packed], check=True)
    events = json.loads(subprocess.run([sextant, "heap", "--json", trace], check=True, capture_output=True).stdout)["events"]
    figures = {"events": events, "tools": {}}
    for name, arguments in (("heap", ["heap", "--json", trace]), ("heap, compressed", ["heap", "--json", packed]),
                            ("heap --timeline --json", ["heap", "--timeline", "--json", trace]),
                            ("heap --by thread", ["heap", "--by", "thread", trace])):
        figures["tools"][name] = events / processor_seconds([sextant, *arguments], rounds)
    theirs = made_by_heaptrack(folder, command)
    if theirs:
        figures["tools"]["heaptrack_print"] = events / processor_seconds(["heaptrack_print", theirs], rounds)
        theirs.unlink()
    bench = build / "bench" / "bench_mlyze"
    if bench.exists():
        output = subprocess.run([bench, trace, folder / "copy.mlyze"], check=True, capture_output=True, text=True)
        figures["codecs"] = json.loads(output.stdout)
    for path in folder.glob("*.mlyze*"):
        path.unlink()
    return figures


def build_one(folder):
    program = folder / "load"
    subprocess.run(["gcc", "-O2", "-g", "-pthread", HERE / "heap_load.c", "-o", program], check=True)
    return program


def ask_moments(build, folder, rounds=ROUNDS):
    """The time of the slowest of some `heap --at` runs on a trace with an index, process start included."""
    sextant, trace = build / "sextant", folder / "long.mlyze"
    subprocess.run([sextant, "record", "-q", "-o", trace, "--", build_one(folder), str(AT_ALLOCATIONS)], check=True,
                   capture_output=True)
    packed = folder / "packed.mlyze"
    subprocess.run([sextant, "convert", "-q", "--compress", trace, "-o", packed], check=True)
    totals = json.loads(subprocess.run([sextant, "heap", "--json", packed], check=True, capture_output=True).stdout)
    numbers = random.Random(1)
    slowest = 0
    for _ in range(MOMENTS):
        moment = f"+{numbers.randrange(totals['duration_us'])}"
        best = min(timed([sextant, "heap", "--at", moment, "--json", packed]) for _ in range(rounds))
        slowest = max(slowest, best)
    whole = min(timed([sextant, "heap", "--json", packed]) for _ in range(rounds))
    for path in folder.glob("*.mlyze*"):
        path.unlink()
    return {"events": totals["events"], "at_s": slowest, "whole_s": whole}


def many_stacks(build, folder):
    """The sizes of the files for a program with many stacks, and what it takes to finish and to read ours."""
    sextant, trace = build / "sextant", folder / "stacks.mlyze"
    program = folder / "stacks"
    subprocess.run(["gcc", "-O2", "-g", HERE / "heap_stacks.c", "-o", program], check=True)
    command = [os.fspath(program), str(STACKS_ALLOCATIONS), str(STACKS)]
    _, wall, whole = run([sextant, "record", "-q", "-o", trace, "--", *command])
    about = json.loads(subprocess.run([sextant, "info", "--json", trace], check=True, capture_output=True).stdout)
    seconds, memory = used_by([sextant, "heap", trace], 1)
    figures = {"stacks": about["stacks"], "events": about["events"], "bytes": trace.stat().st_size,
               "finish_s": whole - wall, "heap_s": seconds, "heap_memory": memory}
    subprocess.run([sextant, "heap", "--index", trace], check=True, capture_output=True)
    moments = [f"{about['duration_us'] * part // 5}us" for part in range(1, 5)]
    figures["at_s"] = max(min(timed([sextant, "heap", "--at", moment, trace]) for _ in range(ROUNDS)) for moment in moments)
    theirs = made_by_heaptrack(folder, command)
    if theirs:
        figures["heaptrack_bytes"] = theirs.stat().st_size
        theirs.unlink()
    for path in folder.glob("*.mlyze*"):
        path.unlink()
    return figures


def timed(command, environment=None):
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - start


def real_programs(folder):
    """name -> (command, environment) of real programs."""
    source = max((HERE.parent / "src" / "mlyze").glob("*.c"), key=lambda path: path.stat().st_size)
    unit = folder / "unit.i"
    subprocess.run(["gcc", "-E", "-D_GNU_SOURCE", f"-I{HERE.parent / 'src'}", f"-I{HERE.parent / 'include'}", source,
                    "-o", unit], check=True)
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True).stdout.strip()
    return {
        f"cc1 -O2 {source.name}": ([compiler, "-quiet", "-O2", unit, "-o", folder / "unit.s"], dict(os.environ)),
        "python3, json": ([os.path.realpath(sys.executable), "-c", WORKLOAD], {**os.environ, "PYTHONMALLOC": "malloc"}),
    }


def record_programs(sextant, folder, rounds=ROUNDS):
    """Wall seconds until the trace is finished."""
    figures = {}
    for name, (command, environment) in real_programs(folder).items():
        best = {}
        for _ in range(rounds):
            for tool, in_front in tools(sextant, folder).items():
                taken = timed([os.fspath(word) for word in in_front(command)], environment)
                best[tool] = min(taken, best.get(tool, taken))
                for path in [*folder.glob("heaptrack*"), *folder.glob("heap.mlyze*")]:
                    path.unlink()
        figures[name] = best
    return figures


def measure(build, folder):
    """All figures."""
    sextant = build / "sextant"
    return {**compare(sextant, folder), "analysis": analyse(build, folder), "moments": ask_moments(build, folder),
            "stacks": many_stacks(build, folder), "programs": record_programs(sextant, folder)}


def missed_targets(figures):
    missed = []
    for row in figures["rows"]:
        tools_of_row = row["tools"]
        ours = tools_of_row["record"]
        if row["threads"] == 1 and ours["added_ns"] > TARGETS[row["program"]]:
            missed.append(f"{row['program']}: {ours['added_ns']:.0f} ns an event, target {TARGETS[row['program']]}")
        part = 3 if row["threads"] == 1 else 6
        if "heaptrack" in tools_of_row and ours["added_wall_s"] * part > tools_of_row["heaptrack"]["added_wall_s"]:
            missed.append(f"{row['program']}, {row['threads']} threads: more than 1/{part} of heaptrack's wall time")
    if figures["analysis"]["tools"]["heap"] < READ_TARGET:
        missed.append(f"heap: {figures['analysis']['tools']['heap'] / 1e6:.1f} M events/s, target {READ_TARGET / 1e6:.0f}")
    stacks = figures["stacks"]
    if stacks["bytes"] > SIZE_TARGET * stacks.get("heaptrack_bytes", stacks["bytes"]):
        missed.append(f"{stacks['stacks']:,} stacks: {stacks['bytes'] / stacks['heaptrack_bytes']:.2f} times the size of"
                      f" heaptrack's file, target {SIZE_TARGET}")
    if stacks["heap_memory"] > MEMORY_TARGET:
        missed.append(f"heap, {stacks['stacks']:,} stacks: {stacks['heap_memory'] / 1e6:.0f} MB")
    if stacks["at_s"] > AT_TARGET:
        missed.append(f"heap --at, {stacks['stacks']:,} stacks: {stacks['at_s'] * 1000:.0f} ms")
    if figures["moments"]["at_s"] > AT_TARGET:
        missed.append(f"heap --at: {figures['moments']['at_s'] * 1000:.0f} ms, target {AT_TARGET * 1000:.0f}")
    return missed


def show_rows(figures):
    print(f"\n{figures['allocations']:,} malloc and free       CPU s   wall s   ns/event   finishing"
          "    until the file is done   bytes/event")
    for row in figures["rows"]:
        print(f"  {row['program']}, {row['threads']} thread{'s' if row['threads'] > 1 else ''}")
        for tool, taken in row["tools"].items():
            print(f"    {tool:22}  {taken['processor_s']:8.2f} {taken['wall_s']:8.2f} {taken['added_ns']:10.1f}"
                  f" {taken['finish_s']:9.2f} s {taken['whole_s']:16.2f} s"
                  f" {taken['bytes'] / (2 * figures['allocations']):20.2f}")


def show_analysis(analysis):
    ours = analysis["tools"]["heap"]
    print(f"\nanalysis of {analysis['events']:,} events, one core      M events/s       ratio")
    for tool, rate in analysis["tools"].items():
        print(f"    {tool:42} {rate / 1e6:10.1f} {ours / rate:10.1f}x")
    for name in ("plain", "lz4", "columns"):
        if name in analysis.get("codecs", {}):
            codec = analysis["codecs"][name]
            print(f"    {'only reading, ' + name:42} {codec['events_a_second'] / 1e6:10.1f}"
                  f"            {codec['bytes_an_event']:.2f} bytes per event")


def show(figures):
    show_rows(figures)
    show_analysis(figures["analysis"])
    moments = figures["moments"]
    print(f"\nlive at a moment of {moments['events']:,} events: {moments['at_s'] * 1000:.0f} ms with the index, target"
          f" {AT_TARGET * 1000:.0f}; {moments['whole_s'] * 1000:.0f} ms for everything")
    stacks = figures["stacks"]
    print(f"\n{stacks['stacks']:,} stacks, {stacks['events']:,} events: {stacks['bytes'] / 1e6:.2f} MB"
          + (f", heaptrack {stacks['heaptrack_bytes'] / 1e6:.2f} MB" if "heaptrack_bytes" in stacks else "")
          + f"; finishing {stacks['finish_s']:.2f} s, heap {stacks['heap_s']:.2f} s and"
          f" {stacks['heap_memory'] / 1e6:.0f} MB, --at {stacks['at_s'] * 1000:.0f} ms")
    print("\nprograms, wall s until the file is done")
    for name, taken in figures["programs"].items():
        print(f"  {name}")
        for tool, seconds in taken.items():
            print(f"    {tool:22} {seconds:8.2f} {seconds / taken['plain']:8.1f}x")
    for line in missed_targets(figures):
        print(f"  missed: {line}")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        show(measure(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(place)))
