"""The trace of a longer recording is made while the program runs. It is the same as one that is made at the end."""

import os
import signal
import time

from support import heap_programs as programs
from support import recording, sextant, tap

# Several threads hand blocks over to each other; the program counts what it does.
HANDING_OVER = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static _Atomic(void *) slots[64];
static atomic_long made, freed;
static int rounds;
static void *work(void *argument)
{
    unsigned random = (unsigned)(size_t)argument * 7919 + 1;
    for (int i = 0; i < rounds; i++) {
        random = random * 1664525 + 1013904223;
        void *block = malloc((random >> 8) % 200 + 1);
        void *other = atomic_exchange(&slots[(random >> 16) % 64], block);
        free(other);
        atomic_fetch_add(&made, 1);
        atomic_fetch_add(&freed, other != NULL);
        if (i % 4000 == 0)
            usleep(1000);
    }
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t threads[4];
    rounds = atoi(argv[1]);
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld\n", made, freed);
    fflush(stdout);
    if (argc > 2)
        pause();
    return 0;
}
"""
ROUNDS = 160000  # a spool of 15 MB


class Follow(recording.RecordTest):
    def counts(self, path):
        """Allocations and frees of the program's own threads."""
        (summary,) = sextant.run("heap", "--json", path).json_lines()
        self.assertEqual((summary["unmatched_frees"], summary["implicit_frees"]), (0, 0))
        rows = [row for row in sextant.run("heap", "--top", "--all", "--json", path).json_lines() if "frames" in row]
        rows = [row for row in rows if any(frame["function"] == "work" for frame in row["frames"])]
        made = sum(row["allocations"] for row in rows)
        return made, made - sum(row["leaked_allocations"] for row in rows)

    def test_every_event_is_there(self):
        program = programs.build(self.folder, "program", HANDING_OVER, "-pthread")
        result = self.record(program, str(ROUNDS))
        self.run_ok("verify", self.folder / "out.mlyze")
        self.assertEqual(self.counts(self.folder / "out.mlyze"), tuple(map(int, result.text.split())))
        self.assertEqual([path.name for path in self.folder.glob("*out.mlyze*")], ["out.mlyze"])

    def test_the_index_is_right(self):
        program = programs.build(self.folder, "program", HANDING_OVER, "-pthread")
        self.record(program, str(ROUNDS), options=["--compress"])
        trace, index, live = (self.folder / f"out.mlyze{ending}" for ending in ("", ".idx", ".live"))
        self.assertTrue(index.exists())
        self.run_ok("heap", "--index", trace)
        with_caches = self.run_ok("heap", "--at", "100ms", "--json", trace).out
        index.unlink()
        live.unlink()
        self.assertEqual(self.run_ok("heap", "--at", "100ms", "--json", trace).out, with_caches)

    def test_a_plain_trace_comes_back(self):
        program = programs.build(self.folder, "program", HANDING_OVER, "-pthread")
        self.record(program, str(ROUNDS))
        plain, packed = self.folder / "plain.mlyze", self.folder / "packed.mlyze"
        self.run_ok("convert", "--decompress", self.folder / "out.mlyze", "-o", plain)
        self.run_ok("convert", "--compress", plain, "-o", packed)
        self.run_ok("convert", "--decompress", packed, "-o", self.folder / "again.mlyze")
        self.assertEqual((self.folder / "again.mlyze").read_bytes(), plain.read_bytes())

    def test_killed_while_it_is_made(self):
        program = programs.build(self.folder, "program", HANDING_OVER, "-pthread")
        child = self.start(program, str(ROUNDS), "wait")
        made = tuple(map(int, child.stdout.readline().split()))
        time.sleep(0.2)
        running = self.program_of(child)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        os.kill(running, signal.SIGKILL)
        # On a busy machine, nothing may have been taken out of the spool yet.
        files = {path.name for path in self.folder.glob("*out.mlyze*")} - {"out.mlyze.part.events"}
        self.assertEqual(files, {"out.mlyze", "out.mlyze.part"})
        self.assertEqual(self.counts(self.folder / "out.mlyze"), made)


if __name__ == "__main__":
    tap.main()
