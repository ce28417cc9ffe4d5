"""Heap: what `heap --live` costs while it shows programs that allocate at given rates, and one that does nothing else.

The share of a core is processor time of `heap --live` by wall time: it does not depend on how busy the machine is.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SECONDS = 15
RATES = (1_000, 10_000, 100_000)  # allocations a second that are asked for
TARGET = (10_000, 0.01)  # at most this share of a core, up to this rate
SOURCE = r"""
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
void *kept[1 << 20];
static size_t count;
static void churn(long blocks)
{
    for (long i = 0; i < blocks; i++) {
        void *volatile block = malloc(16 + i % 1000);
        free(block);
    }
}
int main(int argc, char **argv)
{
    long rate = atol(argv[1]), seconds = atol(argv[2]);
    time_t end = time(NULL) + seconds;
    while (time(NULL) < end) {
        kept[count++ % (1 << 20)] = malloc(100);
        churn(rate > 0 ? rate / 100 : 10000);
        if (rate > 0)
            usleep(10000);
    }
    return argc == 0;
}
"""


def watch(sextant, program, folder, rate):
    """Records the program, and shows it until it ends."""
    trace = folder / f"live-{rate}.mlyze"
    recorder = subprocess.Popen([sextant, "record", "-q", "-o", trace, "--", program, str(rate), str(SECONDS)])
    while not trace.exists():
        time.sleep(0.01)
    begin = time.monotonic()
    with open(folder / "objects", "w+b") as objects:
        command = [sextant, "heap", "--live", trace, "--json"]
        shown = subprocess.Popen(command, stdout=objects, stderr=subprocess.DEVNULL)
        _, _, used = os.wait4(shown.pid, 0)
        wall = time.monotonic() - begin
        objects.seek(0)
        last = json.loads(objects.readlines()[-1])
    recorder.wait()
    return {"asked": rate, "allocations_a_second": last["allocations"] / SECONDS,
            "share": (used.ru_utime + used.ru_stime) / wall, "memory": used.ru_maxrss * 1024}


def measure(build, folder):
    program = folder / "heap-live-load"
    subprocess.run(["gcc", "-O2", "-g", "-x", "c", "-", "-o", program], input=SOURCE.encode(), check=True)
    return {"rows": [watch(build / "sextant", program, folder, rate) for rate in (*RATES, 0)]}


def show(figures):
    print("\nheap --live, refreshed every second      allocations/s   % of a core        MB")
    for row in figures["rows"]:
        name = f"{row['asked']:,} a second" if row["asked"] else "nothing but malloc and free"
        print(f"    {name:34} {row['allocations_a_second']:15,.0f} {row['share'] * 100:13.2f}"
              f" {row['memory'] / 1e6:9.0f}")
        if 0 < row["asked"] <= TARGET[0] and row["share"] > TARGET[1]:
            print(f"  missed: {row['share'] * 100:.2f} % of a core, target {TARGET[1] * 100:.0f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="sextant-bench-") as made:
        show(measure(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(made)))
