"""`record` takes events out of the spool while the program runs. Whatever is killed, every event is there once."""

import contextlib
import ctypes
import os
import pathlib
import random
import re
import shlex
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
            snprintf(name, sizeof name, "part %ld", i / 20000);
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
ROUNDS = 500000 if sextant.EVERYTHING else 100000  # of each thread: a spool of 40 or 8 MB
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

    def found(self, path, is_whole=True):
        (summary,) = sextant.run("heap", "--json", path).json_lines()
        self.assertEqual(summary["unmatched_frees"], 0)
        if is_whole:
            self.assertEqual(summary["implicit_frees"], 0)
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
            # Threads go on while their events are copied: one may be seen to get an address that another has freed since.
            found = self.found(self.folder / "out.mlyze", is_whole=False)
            self.assertLessEqual(before["allocations"][1], found["allocations"])
        child.wait()
        self.assert_all(self.folder / "out.mlyze")
        self.assertEqual(self.files(), ["out.mlyze"])

    def test_room_is_given_back(self):
        child = self.start(self.program, self.counts_path, str(ROUNDS), "wait")
        spool, events = self.folder / "out.mlyze.part", self.folder / "out.mlyze.part.events"
        self.wait_until_consumed(child, spool)
        self.assertGreater(spool.stat().st_size, 6 << 20)
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
        last = ROUNDS // 20000 - 1
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

    def salvage(self, events):
        """How many events `convert --recover` says are lost, and what is in the trace."""
        self.assertNotEqual(sextant.run("heap", self.folder / "out.mlyze").status, 0)
        new = self.folder / "new.mlyze"
        result = sextant.run("convert", "--recover", self.folder / "out.mlyze.part", "-o", new)
        self.assertEqual((result.status, result.err.count("\n")), (0, 1), result.err)
        lost = re.search(": warning: (\\d+) of (\\d+) events cannot be read and were left out", result.err)
        self.assertIn(os.fspath(events), result.err)
        self.assertIsNotNone(lost, result.err)
        self.run_ok("verify", new)
        return int(lost[1]), int(lost[2]), self.found(new, is_whole=False)

    def test_what_is_whole_is_salvaged(self):
        child = self.start(self.program, self.counts_path, str(ROUNDS), "wait")
        spool, events = self.folder / "out.mlyze.part", self.folder / "out.mlyze.part.events"
        self.wait_until_consumed(child, spool)  # or the damage may be where nothing counts
        self.kill(child, self.program_of(child))
        whole, whole_bytes = self.found(self.folder / "out.mlyze"), events.read_bytes()
        size = len(whole_bytes)
        for damage in ("a byte", "the end", "everything"):
            with self.subTest(damage=damage):
                data = bytearray(whole_bytes)
                data[size // 2] ^= 255
                events.write_bytes(data if damage == "a byte" else whole_bytes[: size // 2])
                if damage == "everything":
                    events.unlink()
                lost, every, found = self.salvage(events)
                self.assertGreater(lost, 0)
                if damage == "everything":
                    self.assertEqual(lost, every)
                else:
                    self.assertLess(lost, every)
                    self.assertGreater(found["allocations"], 0)
                self.assertLess(found["allocations"], whole["allocations"])
                self.assertGreaterEqual(found["allocations"] + lost, whole["allocations"])
        events.write_bytes(whole_bytes)
        self.assertEqual(self.found(self.folder / "out.mlyze"), whole)
        self.assertTrue(spool.exists())

    def wait_until_consumed(self, child, spool):
        """Waits until a program that has made all its calls is consumed, except for what the threads write to."""
        if not can_punch(self.folder / "file"):
            self.kill(child, self.program_of(child))
            self.skipTest("the file system cannot free a part of a file")
        self.wait_for(3 * ROUNDS, child)
        # Less than 1 MiB is not worth a search.
        while child.poll() is None and spool.stat().st_blocks * 512 > 3 << 20:
            time.sleep(0.02)
        self.assertIsNone(child.poll())

    def is_consumed(self):
        """Whether the spool has a checkpoint."""
        with open(self.folder / "out.mlyze.part", "rb") as spool:
            head = spool.read(4096)
        return any(struct.unpack_from("<Q", head, CHECKPOINT_AT))


class Children(Counting):
    """The program is a child of the one that is recorded."""

    def start_child(self, *words, after="", options=()):
        command = " ".join(map(shlex.quote, map(os.fspath, (self.program, self.counts_path, *words))))
        return self.start("sh", "-c", f"{command}; {after}true", options=["--follow-fork", *options])

    def spool_of_child(self):
        """The spool of the child, as soon as there is one."""
        spools = [path for path in self.folder.glob("out.*.mlyze.part") if path.stat().st_size > 1 << 20]
        return spools[0] if spools else None

    def trace_of_child(self):
        (trace,) = [path for path in self.folder.glob("out.*.mlyze") if path.stat().st_size > 1 << 16]
        return trace

    def wait_until(self, child, condition):
        while child.poll() is None and not condition():
            time.sleep(0.01)
        self.assertIsNone(child.poll())

    def test_at_the_end(self):
        child = self.start_child(str(ROUNDS))
        self.assertEqual(child.wait(), 0)
        self.assert_all(self.trace_of_child())
        self.run_ok("verify", self.trace_of_child())
        self.assertEqual([path for path in self.folder.glob("*.part*")], [])

    def test_a_child_that_has_ended(self):
        """All of its events are taken out; its trace is completed at the end."""
        if not can_punch(self.folder / "file"):
            self.skipTest("the file system cannot free a part of a file")
        gate = self.folder / "gate"
        os.mkfifo(gate)
        child = self.start_child(str(ROUNDS), after=f"cat {shlex.quote(os.fspath(gate))}; ", options=["--compress"])
        self.wait_for(3 * ROUNDS, child)
        self.wait_until(child, lambda: self.spool_of_child() is not None)
        spool = self.spool_of_child()
        self.wait_until(child, lambda: spool.stat().st_blocks * 512 < 1 << 19)
        self.assertGreater(spool.stat().st_size, 6 << 20)
        self.assert_all(spool)
        gate.write_text("")
        self.assertEqual(child.wait(), 0)
        trace = self.trace_of_child()
        self.assert_all(trace)
        self.run_ok("verify", trace)
        self.assertTrue(trace.with_name(trace.name + ".idx").exists())
        at = self.run_ok("heap", "--at", "50ms", "--json", trace).out
        trace.with_name(trace.name + ".idx").unlink()
        self.assertEqual(self.run_ok("heap", "--at", "50ms", "--json", trace).out, at)
        self.assertEqual([path for path in self.folder.glob("*.part*")], [])

    def test_killed_at_any_moment(self):
        for seed in range(12 if sextant.EVERYTHING else 2):
            with self.subTest(seed=seed):
                self.kill_round(seed)

    def kill_round(self, seed):
        draw = random.Random(seed)
        for path in (self.counts_path, *self.folder.glob("*out.*")):
            path.unlink(missing_ok=True)
        child = self.start_child(str(ROUNDS), "wait")
        self.wait_for(draw.randrange(1, 3 * ROUNDS), child)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        if seed % 2 == 0:
            self.wait_for_all()
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if os.fsencode(self.counts_path) in entry.read_bytes():
                    os.kill(int(entry.parent.name), signal.SIGKILL)
                    self.wait_for_end(int(entry.parent.name))
        (spool,) = [path for path in self.folder.glob("out.*.mlyze.part") if self.names_the_program(path)]
        self.assert_all(spool)
        self.run_ok("convert", "--recover", spool, "-o", self.folder / "new.mlyze")
        self.run_ok("verify", self.folder / "new.mlyze")
        self.assert_all(self.folder / "new.mlyze")

    def wait_for_all(self):
        while self.known()["allocations"][1] < 3 * ROUNDS:
            time.sleep(0.01)

    def names_the_program(self, path):
        return os.fsencode(self.counts_path) in sextant.run("info", path).out


class Plain(Counting):
    def test_plain(self):
        """Events are taken out of the spool too, though the trace is made at the end."""
        if not can_punch(self.folder / "file"):
            self.skipTest("the file system cannot free a part of a file")
        child = self.start(self.program, self.counts_path, str(ROUNDS), "wait", options=["--plain"])
        spool, events = self.folder / "out.mlyze.part", self.folder / "out.mlyze.part.events"
        self.wait_for(3 * ROUNDS, child)
        while child.poll() is None and spool.stat().st_blocks * 512 > 3 << 20:
            time.sleep(0.02)
        self.assertTrue(events.exists())
        os.kill(self.program_of(child), signal.SIGTERM)
        child.wait()
        self.assert_all(self.folder / "out.mlyze")
        self.run_ok("verify", self.folder / "out.mlyze")
        with open(self.folder / "out.mlyze", "rb") as trace:
            self.assertEqual(trace.read(32)[20:], bytes(12))  # no flags, no codec
        self.assertEqual(self.files(), ["out.mlyze"])


class Excess(Counting):
    def excess(self, limit):
        os.environ["SEXTANT_CONSUME_AT"] = limit
        result = sextant.run("record", "-o", self.folder / "out.mlyze", "--", self.program, self.counts_path,
                             str(ROUNDS))
        self.assertEqual(result.status, 0, result.err)
        self.assert_all(self.folder / "out.mlyze")
        return [line for line in result.err.splitlines() if "the disk held up to" in line]

    def test_an_excess_is_reported(self):
        (line,) = self.excess("10000")
        self.assertRegex(line, r"^sextant: the disk held up to [0-9.]+ MB more than the trace")

    def test_no_excess(self):
        self.assertEqual(self.excess("100000000"), [])


CHECKPOINT_AT = 256 + 2712  # of the control block in the spool


if __name__ == "__main__":
    tap.main()
