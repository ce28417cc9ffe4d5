"""`sextant view`: a heap trace of 10 million events from 360,000 stacks, whose windows are asked for; with
SEXTANT_TEST_BIG=1 of 100 million.

Measures the processor time and the memory of the server, and how long a window takes: the median, and the longest.
"""

import json
import os
import pathlib
import random
import subprocess
import threading
import time
import urllib.request

EVENTS = 100_000_000 if os.environ.get("SEXTANT_TEST_BIG") else 10_000_000
STACKS, WINDOWS = 360_000, 100
MOST_WINDOW, MOST_MEMORY = 200, 64e6
HERE = pathlib.Path(__file__).resolve().parent


class Memory(threading.Thread):
    """Looks at the memory of a process from time to time, without pages of files."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.most, self.is_over = pathlib.Path(f"/proc/{pid}/status"), 0, False

    def run(self):
        while not self.is_over:
            fields = dict(line.split(":", 1) for line in self.path.read_text().splitlines())
            self.most = max(self.most, int(fields["RssAnon"].split()[0]) * 1024)
            time.sleep(0.01)


def processor_time(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def record(build, folder):
    program, trace = folder / "stacks", folder / "view.mlyze"
    subprocess.run(["gcc", "-O2", "-g", HERE / "heap_stacks.c", "-o", program], check=True)
    words = ["record", "-q", "--compress", "-o", trace, "--", program, str(EVENTS // 2), str(STACKS)]
    subprocess.run([build / "sextant", *words], check=True, stdout=subprocess.DEVNULL)
    return trace


def ask_windows(url, page):
    """How long windows of different lengths take, in milliseconds."""
    generator, taken = random.Random(1), []
    start, duration = int(page["totals"]["start"]), int(page["totals"]["duration"])
    for _ in range(WINDOWS):
        first = start + generator.randrange(duration)
        last = min(start + duration, first + generator.choice([1, 1000, duration // 1000, duration // 100]))
        begun = time.monotonic()
        with urllib.request.urlopen(f"{url}0/data/page?from={first}&until={last}") as reply:
            reply.read()
        taken.append((time.monotonic() - begun) * 1000)
    return sorted(taken)


def measure(build, folder):
    trace = record(build, folder)
    command = [build / "sextant", "view", "--no-browser", trace]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        memory = Memory(server.pid)
        url = server.stdout.readline().strip()
        memory.start()
        with urllib.request.urlopen(url + "0/data/page") as reply:
            page = json.load(reply)
        opened = processor_time(server.pid)
        windows = ask_windows(url, page)
        window_s = (processor_time(server.pid) - opened) / WINDOWS
        memory.is_over = True
        memory.join()
        server.terminate()
    return {"events": int(page["totals"]["events"]), "stacks": int(page["totals"]["stacks"]), "bytes": trace.stat().st_size,
            "page_s": opened, "window_ms": windows[len(windows) // 2], "longest_ms": windows[-1],
            "window_s": window_s, "memory": memory.most}  # fmt: skip


def show(figures, row):
    print(f"\nview of {figures['events']:,} events from {figures['stacks']:,} stacks, {figures['bytes'] / 1e6:.0f} MB:"
          f" {figures['memory'] / 1e6:.0f} MB of memory, target {MOST_MEMORY / 1e6:.0f} MB")  # fmt: skip
    row("page, processor time", figures["page_s"] * 1000, "ms")
    row("window, processor time", figures["window_s"] * 1000, "ms")
    row("window", figures["window_ms"], "ms", None, f"target {MOST_WINDOW} ms")
    row("window, the longest", figures["longest_ms"], "ms")


def missed_targets(figures):
    if figures["memory"] > MOST_MEMORY:
        yield f"view: {figures['memory'] / 1e6:.0f} MB of memory, not {MOST_MEMORY / 1e6:.0f}"
    if figures["window_ms"] > MOST_WINDOW:
        yield f"view: a window takes {figures['window_ms']:.0f} ms, not {MOST_WINDOW}"
