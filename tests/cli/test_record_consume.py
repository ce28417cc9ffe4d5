"""`record` takes events out of the spool while the program runs. Whatever is killed, every event is there once."""

import ctypes
import os
import random
import signal
import struct
import time

from support import heap_programs as programs
from support import recording, sextant, tap

# Several threads hand blocks over to each other. What they do is counted in a file that outlives them: before and
# after each call. With "markers", the program sets a marker from time to time; with "wait", it does not end.
COUNTING = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
extern void sextant_heap_marker(const char *name) __attribute__((weak));
struct counts { atomic_long allocating, allocated, freeing, freed, marking, marked, unused[2]; };
static struct counts *counts;
static _Atomic(void *) slots[64];
static long rounds;
static int with_markers;
static void *work(void *argument)
{
    size_t number = (size_t)argument;
    struct counts *own = &counts[number];
    unsigned random = (unsigned)number * 7919 + 1;
    for (long i = 0; i < rounds; i++) {
        random = random * 1664525 + 1013904223;
        own->allocating++;
        void *block = malloc((random >> 8) % 200 + 1);
        own->allocated++;
        void *other = atomic_exchange(&slots[(random >> 16) % 64], block);
        own->freeing += other != NULL;
        free(other);
        own->freed += other != NULL;
        if (with_markers && i % 1000 == 0 && sextant_heap_marker != NULL) {
            char name[32];
            snprintf(name, sizeof name, "part %ld", i / 50000);
            own->marking++;
            sextant_heap_marker(name);
            own->marked++;
        }
    }
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t threads[3];
    rounds = atol(argv[2]);
    with_markers = argc > 3 && strcmp(argv[3], "markers") == 0;
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        return 1;
    counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (size_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    if (argc > 3 && strcmp(argv[3], "wait") == 0)
        pause();
    return 0;
}
"""

# Does all that, and then becomes the program that its arguments name.
BECOMING = COUNTING.replace("int main(", "int do_it(") + r"""
int main(int argc, char **argv)
{
    char *own[] = {argv[0], argv[1], argv[2], NULL};
    if (do_it(3, own) != 0)
        return 1;
    execv(argv[3], argv + 3);
    return 1;
}
"""
ROUNDS = 500000 if sextant.EVERYTHING else 250000  # of each thread: a spool of 40 or 20 MB
SEEDS = range(24 if sextant.EVERYTHING else 3)
VICTIMS = ("program", "record", "both")


class Counting(recording.RecordTest):
    def setUp(self):
        super().setUp()
        # Otherwise, nothing would be taken out of the spool on a machine that is busy.
        os.environ["SEXTANT_CONSUME_AT"] = "1000000"
        self.addCleanup(os.environ.pop, "SEXTANT_CONSUME_AT")
        self.program = programs.build(self.folder, "program", COUNTING, "-pthread")
        self.counts_path = self.folder / "counts"

    def known(self):
        """What the program says that it did: (begun, done) of allocations, frees and markers."""
        data = self.counts_path.read_bytes() if self.counts_path.exists() else b""
        threads = [struct.unpack_from("<6q", data, 64 * i) for i in range(3)] if len(data) == 4096 else [(0,) * 6]
        sums = [sum(column) for column in zip(*threads)]
        return {"allocations": (sums[0], sums[1]), "frees": (sums[2], sums[3]), "markers": (sums[4], sums[5])}

    def found(self, path):
        (summary,) = sextant.run("heap", "--json", path).json_lines()
        self.assertEqual((summary["unmatched_frees"], summary["implicit_frees"]), (0, 0))
        rows = [row for row in sextant.run("heap", "--top", "--all", "--json", path).json_lines() if "frames" in row]
        rows = [row for row in rows if any(frame["function"] == "work" for frame in row["frames"])]
        made = sum(row["allocations"] for row in rows)
        frees = made - sum(row["leaked_allocations"] for row in rows)
        return {"allocations": made, "frees": frees, "markers": summary["markers"]}

    def assert_between(self, found, least, most):
        for what, count in found.items():
            self.assertLessEqual(least[what][1], count, what)
            self.assertLessEqual(count, most[what][0], what)

    def assert_all(self, path):
        known = self.known()
        self.assert_between(self.found(path), known, known)

    def wait_for(self, allocations, child):
        while child.poll() is None and self.known()["allocations"][1] < allocations:
            time.sleep(0.002)

    def program_if_running(self, child):
        try:
            return self.program_of(child)
        except (OSError, IndexError):
            return None

    def wait_for_end(self, pid):
        while os.path.exists(f"/proc/{pid}") and b"\nState:\tZ" not in self.status_of(pid):
            time.sleep(0.01)

    @staticmethod
    def status_of(pid):
        try:
            with open(f"/proc/{pid}/status", "rb") as status:
                return status.read()
        except OSError:
            return b"\nState:\tZ"

    def files(self):
        return sorted(path.name for path in self.folder.glob("*out.mlyze*"))


    def kill(self, child, running):
        for pid in (child.pid, running):
            os.kill(pid, signal.SIGKILL)
        child.wait()
        self.wait_for_end(running)


def can_punch(path):
    """Whether the file system of PATH, a new file, can free a part of a file."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "wb") as file:
        file.write(bytes(1 << 20))
        file.flush()
        keep_size, punch_hole = 1, 2
        offsets = (ctypes.c_int64(0), ctypes.c_int64(1 << 20))
        return libc.fallocate(file.fileno(), keep_size | punch_hole, *offsets) == 0


class Consume(Counting):
    def kill_round(self, seed):
        draw = random.Random(seed)
        victim = VICTIMS[seed % len(VICTIMS)]
        self.counts_path.unlink(missing_ok=True)
        for path in self.folder.glob("*out.mlyze*"):
            path.unlink()
        child = self.start(self.program, self.counts_path, str(ROUNDS), *(["markers"] if draw.random() < 0.5 else []))
        self.wait_for(draw.randrange(1, 3 * ROUNDS), child)
        running = self.program_if_running(child)
        if victim != "program":
            os.kill(child.pid, signal.SIGKILL)
        if victim != "record" and running:
            os.kill(running, signal.SIGKILL)
        child.wait()
        if running:
            self.wait_for_end(running)
        self.assert_all(self.folder / "out.mlyze")
        if (self.folder / "out.mlyze.part").exists():
            self.run_ok("convert", "--recover", self.folder / "out.mlyze.part", "-o", self.folder / "new.mlyze")
            self.run_ok("verify", self.folder / "new.mlyze")
            self.assert_all(self.folder / "new.mlyze")
        else:
            self.assertEqual(self.files(), ["out.mlyze"])

    def test_killed_at_any_moment(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.kill_round(seed)

    def test_read_while_it_is_consumed(self):
        child = self.start(self.program, self.counts_path, str(ROUNDS))
        for part in range(1, 4):
            self.wait_for(part * 3 * ROUNDS // 5, child)
            before = self.known()
            found = self.found(self.folder / "out.mlyze")
            self.assertLessEqual(before["allocations"][1], found["allocations"])
        child.wait()
        self.assert_all(self.folder / "out.mlyze")
        self.assertEqual(self.files(), ["out.mlyze"])

    def test_room_is_given_back(self):
        if not can_punch(self.folder / "file"):
            self.skipTest("the file system cannot free a part of a file")
        child = self.start(self.program, self.counts_path, str(ROUNDS), "wait")
        spool, events = self.folder / "out.mlyze.part", self.folder / "out.mlyze.part.events"
        self.wait_for(3 * ROUNDS, child)
        # What is left is less than is worth a search (8 MiB), and what the threads write to.
        while child.poll() is None and spool.stat().st_blocks * 512 > 9 << 20:
            time.sleep(0.02)
        self.assertIsNone(child.poll())
        self.assertGreater(spool.stat().st_size, 16 << 20)
        self.assertEqual([path.stat().st_mode & 0o777 for path in (spool, events)], [0o600, 0o600])
        self.assert_all(self.folder / "out.mlyze")
        self.kill(child, self.program_of(child))
        self.assert_all(self.folder / "out.mlyze")
        self.run_ok("convert", "--recover", "--decompress", spool, "-o", self.folder / "plain.mlyze")
        self.assert_all(self.folder / "plain.mlyze")

    def test_markers_and_mappings(self):
        self.record(self.program, self.counts_path, str(ROUNDS), "markers", options=["--mmap"])
        self.assert_all(self.folder / "out.mlyze")
        self.run_ok("verify", self.folder / "out.mlyze")
        counts = []
        last = ROUNDS // 50000 - 1
        for first, second in ((0, 1), (0, last), (last - 1, last)):
            between = self.run_ok("heap", "--json", "--between", f"part {first}", f"part {second}",
                                  self.folder / "out.mlyze")
            counts.append(max(row.get("allocations", 0) for row in between.json_lines()))
        self.assertEqual(sorted(counts)[-1], counts[1])
        self.assertGreater(min(counts), 1000)

    def test_only_the_last_program_counts(self):
        first = programs.build(self.folder, "first", BECOMING, "-pthread")
        self.record(first, self.folder / "other", str(ROUNDS), self.program, self.counts_path, str(ROUNDS))
        self.assert_all(self.folder / "out.mlyze")
        self.assertEqual(self.files(), ["out.mlyze"])

    def test_the_events_are_missing(self):
        child = self.start(self.program, self.counts_path, str(10 * ROUNDS))
        events = self.folder / "out.mlyze.part.events"
        while child.poll() is None and not (events.exists() and self.is_consumed()):
            time.sleep(0.01)
        running = self.program_of(child)
        self.kill(child, running)
        self.assert_all(self.folder / "out.mlyze")
        events.rename(self.folder / "elsewhere")
        result = sextant.run("heap", self.folder / "out.mlyze")
        self.assertNotEqual(result.status, 0)
        self.assertIn("out.mlyze.part.events", result.err)
        (self.folder / "elsewhere").rename(events)
        with open(events, "r+b") as file:
            file.truncate(300)
        self.assertIn("cut off", sextant.run("heap", self.folder / "out.mlyze").err)

    def is_consumed(self):
        """Whether the spool has a checkpoint."""
        with open(self.folder / "out.mlyze.part", "rb") as spool:
            head = spool.read(4096)
        return any(struct.unpack_from("<Q", head, CHECKPOINT_AT))


CHECKPOINT_AT = 256 + 2712  # of the control block in the spool


if __name__ == "__main__":
    tap.main()
