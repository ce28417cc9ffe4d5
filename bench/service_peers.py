"""What a user would run instead of the symbol service, on the same addresses: llvm-symbolizer on the file itself, and
eu-addr2line, which gets the debug file from a debuginfod server. Each is one process that reads all addresses, so its
start and its first look at the file are shared by all of them, as with a server; `first` has them."""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from timing import newest_llvm

REPEATS = 20  # of the addresses, for a steady figure
ROUNDS = 3


def best(command, text, **more):
    """Seconds of the fastest round, and what the command printed."""
    seconds, printed = float("inf"), ""
    for _ in range(ROUNDS):
        start = time.perf_counter()
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, **more)
        seconds, printed = min(seconds, time.perf_counter() - start), done.stdout
    return seconds, printed


def figures(command, addresses, **more):
    """Seconds until the first address is answered, and addresses a second after that."""
    first, _ = best(command, addresses[0] + "\n", **more)
    many = addresses * REPEATS
    seconds, printed = best(command, "\n".join(many) + "\n", **more)
    assert printed.count("\n") >= len(many), "not every address was answered"
    return {"first_ms": first * 1000, "addresses_per_second": len(many) / max(seconds - first, 1e-9)}


def measure_llvm(binary, addresses):
    tool = newest_llvm("llvm-symbolizer") or shutil.which("llvm-symbolizer")
    return figures([tool, f"--obj={binary}"], addresses) if tool else None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def debuginfod(folder, build_id):
    """The URL of a server for the files in FOLDER, when it has the one with BUILD_ID."""
    port = free_port()  # it cannot choose one itself
    url = f"http://127.0.0.1:{port}"
    command = ["debuginfod", "-F", "-p", str(port), "-d", ":memory:", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{url}/buildid/{build_id}/debuginfo", timeout=10) as reply:
                    reply.read()
                break
            except (OSError, urllib.error.URLError):
                assert time.monotonic() < deadline and process.poll() is None, "debuginfod does not serve the file"
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def measure_debuginfod(binary, build_id, addresses, folder):
    """eu-addr2line has the stripped file; it fetches the debug file once for `first`, and then has it in its cache."""
    if not shutil.which("debuginfod") or not shutil.which("eu-addr2line"):
        return None
    served, cache, stripped = folder / "served", folder / "cache", folder / "stripped"
    served.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", binary, served / "subject.debug"], check=True)
    subprocess.run(["objcopy", "--strip-debug", binary, stripped], check=True)
    command = ["eu-addr2line", "-f", "-i", "-e", stripped]
    with debuginfod(served, build_id) as url:
        environment = {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(cache), "PATH": "/usr/bin:/bin",
                       "HOME": str(folder), "DEBUGINFOD_TIMEOUT": "60"}  # fmt: skip
        start = time.perf_counter()
        subprocess.run(command, input=addresses[0] + "\n", text=True, check=True, capture_output=True, env=environment)
        cold = time.perf_counter() - start
        found = figures(command, addresses, env=environment)
    assert any(cache.rglob("debuginfo")), "eu-addr2line did not ask debuginfod"
    return {**found, "first_ms": cold * 1000}


def measure(binary, build_id, addresses):
    with tempfile.TemporaryDirectory() as folder:
        return {
            "llvm-symbolizer": measure_llvm(binary, addresses),
            "debuginfod + eu-addr2line": measure_debuginfod(binary, build_id, addresses, pathlib.Path(folder)),
        }


def show(peers, ours):
    for name, found in peers.items():
        if found is None:
            print(f"{name:34} not installed")
            continue
        ratio = ours["addresses_per_second"] / found["addresses_per_second"]
        print(f"{name:34} {found['addresses_per_second'] / 1e6:10.3f} M addresses/s, first after {found['first_ms']:.0f} ms;"
              f" the service is {ratio:.0f} times as fast")
