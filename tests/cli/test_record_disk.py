"""Recording where there is little room: a full disk, a limit on the size of files, and programs that are killed."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

from support import heap_programs as programs
from support import sextant, tap
from support.recording import RecordTest

# Blocks that stay, from many stacks: the names take more room than the events.
SOURCE = r"""
#include <stdlib.h>
#include <stdio.h>
#include <signal.h>

#define NOINLINE __attribute__((noinline))
static void *volatile sink;

static NOINLINE int function_with_a_long_name_so_that_stacks_take_room_in_a_plain_trace(int depth, unsigned path);
static NOINLINE int other_function_with_a_long_name_so_that_stacks_take_room(int depth, unsigned path)
{
    volatile int here = depth;
    return function_with_a_long_name_so_that_stacks_take_room_in_a_plain_trace(depth, path) + here;
}
static NOINLINE int function_with_a_long_name_so_that_stacks_take_room_in_a_plain_trace(int depth, unsigned path)
{
    volatile int here = depth;
    if (depth == 0) {
        sink = malloc(16); /* kept */
        return 0;
    }
    if (path & 1)
        return other_function_with_a_long_name_so_that_stacks_take_room(depth - 1, path >> 1) + here;
    return function_with_a_long_name_so_that_stacks_take_room_in_a_plain_trace(depth - 1, path >> 1) + here;
}

int main(int count, char **arguments)
{
    long stacks = atol(arguments[1]), events = atol(arguments[2]);
    if (count > 3)
        signal(SIGXFSZ, SIG_DFL);
    for (long i = 0; i < stacks; i++)
        function_with_a_long_name_so_that_stacks_take_room_in_a_plain_trace(13, (unsigned)i);
    for (long i = 0; i < events; i++) {
        sink = malloc(32);
        free(sink);
    }
    puts("done");
    fflush(stdout);
    return 3;
}
"""

FULL = "recording stopped before the program ended: the disk is full, or the limit on the size of files was reached"


class LittleRoom(RecordTest):
    def setUp(self):
        super().setUp()
        self.program = programs.build(self.folder, "program", SOURCE)

    def check(self, result, path, least):
        """The program was not disturbed, a message says what is missing, and what was recorded is a trace."""
        self.assertEqual((result.returncode, result.stdout), (3, "done\n"), result.stderr)
        self.assertIn(FULL, result.stderr)
        self.run_ok("verify", path)
        answer = self.run_warned("heap", "--json", path)
        self.assertIn("recording stopped before the program ended (disk full); later events are missing", answer.err)
        (summary,) = answer.json_lines()
        self.assertGreater(summary["allocations"], least)
        (info,) = self.run_warned("info", "--json", path).json_lines()
        self.assertEqual(info["stopped"], "disk full")
        self.assertEqual([one.name for one in path.parent.glob(f"{path.name}.part*")], [])

    def record_into(self, path, *arguments, options=(), prefix=(), **keywords):
        command = [*prefix, sextant.program(), "record", *options, "-o", path, "--", self.program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **keywords)

    def test_a_full_disk(self):
        """3 MB, as root or in a namespace of our own."""
        script = 'mount -t tmpfs -o size=3m none "$0" || exit 77; "$@"; status=$?; cp "$0"/* "$OUT"; exit $status'
        room, out = self.folder / "disk", self.folder / "out"
        room.mkdir()
        out.mkdir()
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        environment = {**os.environ, "OUT": str(out)}
        trial = [*unshare, "sh", "-c", script, room, "true"]
        if shutil.which("unshare") is None or subprocess.run(trial, capture_output=True, env=environment).returncode != 0:
            self.skipTest("tmpfs cannot be mounted here")
        for options, stacks, events in (((), 10, 400_000), ((), 8000, 200_000), (("--plain",), 10, 400_000),
                                        (("--plain",), 8000, 200_000)):  # fmt: skip
            with self.subTest(options=options, stacks=stacks):
                for one in out.iterdir():
                    one.unlink()
                result = self.record_into(room / "t.mlyze", stacks, events, options=options,
                                          prefix=[*unshare, "sh", "-c", script, room], env=environment)
                self.check(result, out / "t.mlyze", 5000)
                is_too_large = bool(options) and stacks > 10
                self.assertEqual("the trace is compressed instead" in result.stderr, is_too_large, result.stderr)

    def test_a_limit_on_the_size_of_files(self):
        for options, stacks in (((), 10), ((), 8000), (("--plain",), 10), (("--plain",), 8000)):
            with self.subTest(options=options, stacks=stacks):
                path = self.folder / "t.mlyze"
                limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))  # noqa: E731
                result = self.record_into(path, stacks, 300_000, "default", options=options, preexec_fn=limit)
                self.check(result, path, 5000)
                path.unlink()

    def test_without_any_room_there_is_a_message_and_a_status(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # noqa: E731
        path = self.folder / "t.mlyze"
        result = self.record_into(path, 1, 1, preexec_fn=limit)
        self.assertEqual(result.returncode, 1)
        self.assertIn("t.mlyze", result.stderr)
        self.assertFalse(path.exists())


class Killed(RecordTest):
    SOURCE = r"""
    #include <signal.h>
    #include <stdlib.h>
    #include <unistd.h>
    static void *volatile sink;
    int main(int argc, char **arguments)
    {
        (void)argc;
        for (long i = atol(arguments[1]); i > 0; i--)
            sink = malloc(20);
        kill(getpid(), SIGKILL);
        return 0;
    }
    """

    def test_nothing_is_lost_by_kill_9(self):
        for flags in ((), ("--plain",)):
            for count in (1, 700, 5000, 100_000):
                with self.subTest(count=count, flags=flags):
                    program = programs.build(self.folder, "program", self.SOURCE)
                    self.record(program, str(count), options=flags, status=128 + signal.SIGKILL, quiet=False)
                    (summary,) = self.run_ok("heap", "--json", self.folder / "out.mlyze").json_lines()
                    self.assertEqual((summary["allocations"], summary["leaked_bytes"]), (count, 20 * count))

    def test_nothing_is_lost_if_everything_is_killed(self):
        waiting = self.SOURCE.replace("kill(getpid(), SIGKILL);", 'if (write(1, "x", 1) == 1) pause();')
        program = programs.build(self.folder, "program", waiting)
        child = self.start(program, "30000")
        self.assertEqual(child.stdout.read(1), b"x")
        target = self.program_of(child)
        child.send_signal(signal.SIGKILL)
        child.wait()
        os.kill(target, signal.SIGKILL)
        for _ in range(1000):
            try:
                os.kill(target, 0)
                if "\nState:\tZ" in pathlib.Path(f"/proc/{target}/status").read_text():
                    break
            except OSError:
                break
            time.sleep(0.01)
        (spool,) = self.folder.glob("out.mlyze.part*")
        self.run_ok("convert", "--recover", spool, "-o", self.folder / "again.mlyze")
        (summary,) = self.run_ok("heap", "--json", self.folder / "again.mlyze").json_lines()
        self.assertEqual((summary["allocations"], summary["leaked_bytes"]), (30_000, 600_000))


if __name__ == "__main__":
    tap.main()
