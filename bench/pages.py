"""Pages: the report of a generated size file with 900,000 symbols, opened and filtered in Chromium, that of a heap trace
with 10 million events, over whose timeline a window is drawn, and the sizes of files.

Without Node, Chromium or built pages, nothing is measured and the reason is given.
"""

import gzip
import json
import pathlib
import shutil
import subprocess
import time

SYMBOLS = 900_000
MOST_PAINT, MOST_FILTER, MOST_RATIO, MOST_TEMPLATE = 2000, 200, 1.5, 150_000
EVENTS, MOST_HEAP_PAGE, MOST_FRAME = 10_000_000, 5_000_000, 50
TRACES = {"few stacks": ["heap_load", "2"], "100,000 stacks": ["heap_stacks", "100000"]}
HERE = pathlib.Path(__file__).resolve().parent
WEB = HERE.parent / "web"


def missing():
    if not (WEB / "dist" / "size.html").is_file():
        return "pages were not built (npm)"
    if not shutil.which("node") or not (WEB / "node_modules" / "playwright-core").is_dir():
        return "node or playwright-core is missing"
    return None if shutil.which("chromium") else "chromium is missing"


def measure(build, folder):
    reason = missing()
    if reason:
        return {"missing": reason}
    size, page = folder / "large.size", folder / "large.html"
    subprocess.run([build / "bench" / "bench_size", "make", str(SYMBOLS), "0", size], check=True)
    started = time.monotonic()
    subprocess.run([build / "sextant", "report", size, "-o", page], check=True)
    figures = {"report_s": time.monotonic() - started, "size_bytes": size.stat().st_size, "page_bytes": page.stat().st_size}
    figures["templates"] = {path.stem: len(gzip.compress(path.read_bytes(), 9)) for path in (WEB / "dist").glob("*.html")}
    done = subprocess.run(["node", HERE / "pages.mjs", page], check=True, capture_output=True, text=True)
    figures["browser"] = json.loads(done.stdout)
    figures["heap"] = {title: measure_heap(build, folder, *words) for title, words in TRACES.items()}
    return figures


def measure_heap(build, folder, source, *words):
    program, trace, page = folder / source, folder / "large.mlyze", folder / "heap.html"
    subprocess.run(["gcc", "-O2", "-g", "-pthread", HERE / (source + ".c"), "-o", program], check=True)
    recording = [build / "sextant", "record", "-q", "--compress", "-o", trace, "--", program, str(EVENTS // 2), *words]
    subprocess.run(recording, check=True, stdout=subprocess.DEVNULL)
    started = time.monotonic()
    subprocess.run([build / "sextant", "report", trace, "-o", page], check=True)
    figures = {"report_s": time.monotonic() - started, "page_bytes": page.stat().st_size}
    done = subprocess.run(["node", HERE / "pages_heap.mjs", page], check=True, capture_output=True, text=True)
    return {**figures, "browser": json.loads(done.stdout)}


def is_limited(name):
    return name.startswith(("longest", "processor"))


def show(figures, row):
    print("\npages")
    if "missing" in figures:
        print(f"not measured: {figures['missing']}")
        return
    ratio = figures["page_bytes"] / figures["size_bytes"]
    taken = f"{figures['page_bytes'] / 1e6:.1f} MB"
    print(f"report of {SYMBOLS} symbols: {taken}, {ratio:.2f} times the size file, target {MOST_RATIO}")
    for name, taken in figures["templates"].items():
        print(f"template {name}: {taken / 1000:.0f} kB gzipped, target {MOST_TEMPLATE / 1000:.0f} kB")
    row("report, the command", figures["report_s"] * 1000, "ms")
    for name, taken in figures["browser"].items():
        target = MOST_PAINT if name == "paint_ms" else MOST_FILTER if name.startswith("filter") else None
        row(name.replace("_ms", ""), taken, "ms", None, f"target {target} ms" if target else "")
    for title, heap in figures["heap"].items():
        taken = f"{heap['page_bytes'] / 1e6:.1f} MB"
        print(f"report of a trace of {EVENTS} events, {title}: {taken}, target {MOST_HEAP_PAGE / 1e6:.0f} MB")
        row("report of the trace", heap["report_s"] * 1000, "ms")
        for name, taken in heap["browser"].items():
            row(name, taken, "ms", None, f"target {MOST_FRAME} ms" if is_limited(name) else "")


def missed_targets(figures):
    if "missing" in figures:
        return
    if figures["page_bytes"] > MOST_RATIO * figures["size_bytes"]:
        yield f"pages: a report is {figures['page_bytes'] / figures['size_bytes']:.2f} times the size file, not {MOST_RATIO}"
    for name, taken in figures["templates"].items():
        if taken > MOST_TEMPLATE:
            yield f"pages: the template {name} has {taken} bytes gzipped, not {MOST_TEMPLATE}"
    for name, taken in figures["browser"].items():
        most = MOST_PAINT if name == "paint_ms" else MOST_FILTER if name.startswith("filter") else None
        if most and taken > most:
            yield f"pages: {name} takes {taken:.0f} ms, not {most}"
    for title, heap in figures["heap"].items():
        if heap["page_bytes"] > MOST_HEAP_PAGE:
            yield f"pages: the report of a trace with {title} has {heap['page_bytes']} bytes, not {MOST_HEAP_PAGE}"
        for name, taken in heap["browser"].items():
            if is_limited(name) and taken > MOST_FRAME:
                yield f"pages: {name}, {title}, takes {taken:.0f} ms, not {MOST_FRAME}"
