"""Runs a command and measures its time and memory."""

import os
import shutil
import subprocess
import threading
import time


def best_of(command, rounds, stdin=None):
    """Seconds of the fastest round. Other load on the machine can only make a round slower."""
    best = float("inf")
    for _ in range(rounds):
        with open(stdin or os.devnull, "rb") as source:
            start = time.perf_counter()
            subprocess.run(command, check=True, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            best = min(best, time.perf_counter() - start)
    return best


def peak_memory(command):
    """(all bytes, bytes that are not a mapped file) at the peak."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = [0]

    def watch():
        while process.returncode is None:
            try:
                with open(f"/proc/{process.pid}/status") as status:
                    for line in status:
                        if line.startswith("RssAnon:"):
                            peak[0] = max(peak[0], int(line.split()[1]) * 1024)
            except (FileNotFoundError, ProcessLookupError):
                return
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watcher.join()
    return usage.ru_maxrss * 1024, peak[0]


def newest_llvm(tool):
    """The newest installed llvm tool of that name, or None."""
    for version in range(40, 13, -1):
        path = shutil.which(f"{tool}-{version}")
        if path:
            return path
    return shutil.which(tool)
