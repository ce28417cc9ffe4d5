"""Recording a heap, beside heaptrack: what it costs the program, and what comes out.

The program allocates 4 million blocks and frees them, about 15 frames deep, with and without frame pointers, on one thread
and on two. It tells itself how much processor time it took, so the work that is done after its end does not count; that is
reported apart. Each figure is the best of several rounds, and the rounds of all tools are mixed.
"""

import os
import pathlib
import shutil
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ALLOCATIONS = 4_000_000
ROUNDS = 3
TARGETS = {"frame pointers": 80, "no frame pointers": 150}


def build(folder):
    """The program, with and without frame pointers."""
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
    """name -> a function that puts the tool in front of a command."""
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
                   "added_ns": (times[0] - best["plain"][0]) / (2 * allocations) * 1e9,
                   "added_wall_s": times[1] - best["plain"][1]}
            for tool, times in best.items()}})
    return figures


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
    return missed


def show(figures):
    print(f"\n{figures['allocations']:,} malloc and free       CPU s   wall s   ns/event    until the file is done"
          "   bytes/event")
    for row in figures["rows"]:
        print(f"  {row['program']}, {row['threads']} thread{'s' if row['threads'] > 1 else ''}")
        for tool, taken in row["tools"].items():
            print(f"    {tool:22}  {taken['processor_s']:8.2f} {taken['wall_s']:8.2f} {taken['added_ns']:10.1f}"
                  f" {taken['whole_s']:16.2f} s {taken['bytes'] / (2 * figures['allocations']):20.2f}")
    for line in missed_targets(figures):
        print(f"  missed: {line}")


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        show(compare(pathlib.Path(sys.argv[1]) / "sextant", pathlib.Path(place)))
