"""`heap --live`: the heap of a program while it is recorded, as objects and in a terminal."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from support import heap_programs as programs
from support import recording, sextant, tap
from support.terminal_screen import Terminal

# Does what standard input says, a letter a line, and answers with a line each: l leaks 100 blocks of 1,000 bytes, c
# allocates and frees 20,000 blocks, f frees everything, t starts a thread that leaks 10 blocks of 300 bytes, m sets a
# marker, k forks a child that leaks 7 blocks of 77 bytes and waits, x executes itself; the end of input ends it.
OBEDIENT = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
extern void sextant_heap_marker(const char *name) __attribute__((weak));
void *kept[100000];
static size_t count;
__attribute__((noinline)) static void leak(size_t size)
{
    kept[count++] = malloc(size);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void churn(void)
{
    for (int i = 0; i < 20000; i++) {
        void *volatile block = malloc(16 + i % 500);
        free(block);
    }
}
static void *work(void *unused)
{
    prctl(PR_SET_NAME, "helper");
    for (int i = 0; i < 10; i++)
        leak(300);
    return unused;
}
int main(int argc, char **argv)
{
    char line[16];
    pthread_t thread;
    while (read(0, line, 2) == 2) {
        if (line[0] == 'l')
            for (int i = 0; i < 100; i++)
                leak(1000);
        if (line[0] == 'c')
            churn();
        if (line[0] == 'f')
            while (count > 0)
                free(kept[--count]);
        if (line[0] == 't' && pthread_create(&thread, NULL, work, NULL) == 0)
            pthread_join(thread, NULL);
        if (line[0] == 'm' && sextant_heap_marker != NULL)
            sextant_heap_marker("halfway");
        if (line[0] == 'k' && fork() == 0) {
            for (int i = 0; i < 7; i++)
                leak(77);
            prctl(PR_SET_PDEATHSIG, 9);
            (void)!write(1, "k\n", 2);
            for (;;)
                pause();
        }
        if (line[0] == 'x')
            execv("/proc/self/exe", argv);
        if (line[0] != 'k')
            (void)!write(1, line, 2);
    }
    return 0;
}
"""


class LiveTest(recording.RecordTest):
    workshop = None  # the folder of the program

    def program(self):
        """The program, compiled once for all tests."""
        if LiveTest.workshop is None:
            workshop = LiveTest.workshop = pathlib.Path(tempfile.mkdtemp(prefix="sextant-test-"))
            unittest.addModuleCleanup(shutil.rmtree, workshop, ignore_errors=True)
            programs.build(workshop, "obedient", OBEDIENT, "-O1", "-pthread")
        return LiveTest.workshop / "obedient"

    def setUp(self):
        super().setUp()
        self.path = self.folder / "out.mlyze"

    def begin(self, *options, **keywords):
        """The program under the recorder, after it has begun."""
        self.recorder = self.start(self.program(), options=options, stdin=subprocess.PIPE, **keywords)
        self.addCleanup(self.recorder.stdin.close)
        self.tell("c")

    def tell(self, letters):
        """Has the program do something, and waits until it has done it."""
        for letter in letters:
            self.recorder.stdin.write(f"{letter}\n".encode())
            self.recorder.stdin.flush()
            self.assertEqual(self.recorder.stdout.readline(), f"{letter}\n".encode())

    def end(self):
        self.recorder.stdin.close()
        self.assertEqual(self.recorder.wait(), 0)

    def watch(self, name, *options, interval="0.1"):
        """`heap --live` in a pipe."""
        words = [sextant.program(), "heap", "--live", str(name), "--interval", interval, *options]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for stream in (child.stdout, child.stderr):
            self.addCleanup(stream.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def object_with(self, child, condition):
        """The next object that fits."""
        for line in child.stdout:
            found = json.loads(line)
            if condition(found):
                return found
        return self.fail(f"it ended before: {child.stderr.read().decode()}")

    def objects_to_the_end(self, child):
        found = [json.loads(line) for line in child.stdout]
        self.assertEqual(child.wait(), 0)
        return found

    def check_end(self, last, path=None):
        """The last object has the figures of the finished trace."""
        path = path or self.path
        whole = self.run_ok("heap", path, "--json").json_lines()[0]
        rows = self.run_ok("heap", path, "--leaks", "--no-default-suppressions", "--json").json_lines()
        self.assertTrue(last["ended"])
        self.assertEqual(last["live_bytes"], whole["leaked_bytes"])
        self.assertEqual(last["live_blocks"], whole["leaked_allocations"])
        for key in ("allocations", "allocated_bytes", "frees", "peak_bytes"):
            self.assertEqual(last[key], whole[key], key)
        mine = {(site["stack"], site["live_bytes"], json.dumps(site["frames"])) for site in last["sites"]}
        theirs = {(row["stack"], row["leaked_bytes"], json.dumps(row["frames"])) for row in rows}
        self.assertEqual(mine, theirs)


class Objects(LiveTest):
    def test_what_the_program_does_is_seen(self):
        self.begin()
        live = self.watch(self.path)
        before = self.object_with(live, lambda one: one["allocations"] >= 20000)
        self.tell("l")
        after = self.object_with(live, lambda one: one["live_bytes"] == before["live_bytes"] + 100000)
        self.assertEqual(after["live_blocks"], before["live_blocks"] + 100)
        for key in ("time_us", "live_bytes", "live_blocks", "allocations_per_s"):
            self.assertIsInstance(after[key], int, key)
        site = after["sites"][0]
        self.assertEqual(site["live_bytes"], 100000)
        self.assertIsInstance(site["stack"], int)
        self.assertEqual(site["frames"][0]["function"], "leak")
        self.assertTrue(site["frames"][0]["file"].endswith(".c"), site)
        self.assertGreater(site["frames"][0]["line"], 0)
        self.assertEqual(site["frames"][1]["function"], "main")
        self.assertEqual(sum(one["live_bytes"] for one in after["sites"]), after["live_bytes"])
        self.assertGreater(after["time_us"], before["time_us"])
        self.tell("f")
        self.object_with(live, lambda one: one["live_bytes"] == before["live_bytes"])
        self.tell("lt")
        self.end()
        objects = self.objects_to_the_end(live)
        self.check_end(objects[-1])
        said = live.stderr.read().decode()
        self.assertRegex(said, r"\Asextant: .*: the recording has ended; next: sextant heap .*\n\Z")

    def test_json_and_limits(self):
        self.begin()
        self.tell("ltl")
        live = self.watch(self.path, "--json", "--limit", "1", "--frames", "1")
        one = self.object_with(live, lambda one: one["live_bytes"] >= 203000)
        self.assertEqual(len(one["sites"]), 1)
        self.assertEqual(len(one["sites"][0]["frames"]), 1)
        self.end()
        self.objects_to_the_end(live)

    def test_a_process_by_its_number(self):
        self.begin()
        for pid in (self.program_of(self.recorder), self.recorder.pid):
            live = self.watch(pid)
            self.tell("l")
            self.object_with(live, lambda one: one["live_bytes"] >= 100000)
            live.kill()
        live = self.watch(self.program_of(self.recorder))
        self.object_with(live, lambda one: True)
        self.end()
        self.check_end(self.objects_to_the_end(live)[-1])

    def test_while_events_are_taken_out(self):
        self.begin(env={**os.environ, "SEXTANT_CONSUME_AT": "1000000"})
        live = self.watch(f"{self.path}.part")
        for _ in range(12):
            self.tell("cclc")
            self.object_with(live, lambda one: not one["ended"])
        # At least once: the file appears with the first checkpoint.
        while not pathlib.Path(f"{self.path}.part.events").exists():
            self.tell("cc")
            self.object_with(live, lambda one: not one["ended"])
        self.object_with(live, lambda one: one["live_bytes"] >= 1200000)
        self.end()
        self.check_end(self.objects_to_the_end(live)[-1])

    def test_the_program_is_killed(self):
        self.begin()
        live = self.watch(self.path)
        self.tell("l")
        self.object_with(live, lambda one: one["live_bytes"] >= 100000)
        os.kill(self.program_of(self.recorder), signal.SIGKILL)
        self.recorder.wait()
        self.check_end(self.objects_to_the_end(live)[-1])

    def test_record_is_killed(self):
        self.begin()
        program = self.program_of(self.recorder)
        live = self.watch(self.path)
        self.recorder.kill()
        self.recorder.wait()
        self.tell("l")
        self.object_with(live, lambda one: one["live_bytes"] >= 100000)
        self.recorder.stdin.close()
        last = self.objects_to_the_end(live)[-1]
        self.assertFalse(pathlib.Path(f"/proc/{program}").exists() and last["ended"] is False)
        path = self.folder / "recovered.mlyze"
        self.run_ok("convert", "--recover", f"{self.path}.part", "-o", path)
        self.check_end(last, path)

    def test_another_program_is_executed(self):
        self.begin()
        live = self.watch(self.path)
        self.tell("l")
        self.object_with(live, lambda one: one["live_bytes"] >= 100000)
        self.recorder.stdin.write(b"x\n")
        self.recorder.stdin.flush()
        self.tell("c")
        self.object_with(live, lambda one: one["live_bytes"] < 100000 and one["allocations"] >= 20000)
        self.end()
        self.check_end(self.objects_to_the_end(live)[-1])

    def test_a_folder_of_children(self):
        self.begin("--follow-fork")
        live = self.watch(self.folder)
        self.tell("lk")
        both = self.object_with(live, lambda one: len({site.get("pid") for site in one["sites"]}) == 2)
        self.assertIn(539, [site["live_bytes"] for site in both["sites"]])
        self.recorder.stdin.close()
        last = self.objects_to_the_end(live)[-1]
        self.assertTrue(last["ended"])

    def test_nobody_reads(self):
        self.begin()
        live = self.watch(self.path, interval="3600")
        self.object_with(live, lambda one: True)
        live.stdout.close()
        self.assertIn(live.wait(), (0, -signal.SIGPIPE))
        self.assertEqual(live.stderr.read(), b"")

    def test_a_recording_that_has_ended(self):
        self.begin()
        self.tell("l")
        self.end()
        result = self.run_ok("heap", "--live", self.path)
        self.assertEqual(len(result.json_lines()), 1)
        self.check_end(result.json_lines()[0])

    def test_a_sample(self):
        self.begin("--sample", "5000")
        live = self.watch(self.path)
        self.tell("lllll")
        self.end()
        last = self.objects_to_the_end(live)[-1]
        whole = self.run_ok("heap", self.path, "--json").json_lines()[0]
        self.assertEqual(last["live_bytes"], whole["leaked_bytes"])
        self.assertEqual(last["allocated_bytes"], whole["allocated_bytes"])
        self.assertAlmostEqual(last["live_blocks"], whole["leaked_allocations"], delta=2)


class Refused(recording.RecordTest):
    def test_names_that_are_not_recordings(self):
        self.run_error("heap", "--live", self.folder / "missing", naming="missing")
        self.run_error("heap", "--live", self.file("text.mlyze", b"hello"), naming="not a heap trace")
        self.run_error("heap", "--live", str(os.getpid()), naming="not recorded")
        self.run_error("heap", "--live", self.folder, naming="no recording is running")
        dead = subprocess.Popen(["true"])
        dead.wait()
        self.run_error("heap", "--live", str(dead.pid), naming="no process")

    def test_options(self):
        path = self.file("x.mlyze")
        self.run_usage("heap", "--live")
        self.run_usage("heap", "--live", path, path)
        self.run_usage("heap", "--live", path, "--interval", "0")
        self.run_usage("heap", "--live", path, "--interval", "x")
        self.run_usage("heap", "--live", path, "--interval", "nan")
        self.run_usage("heap", path, "--interval", "1")
        for option in (["--leaks"], ["--by", "function"], ["--csv"], ["--tree"], ["--at", "1s"], ["--symbolize"]):
            self.run_usage("heap", "--live", path, *option)


class InTerminal(LiveTest):
    def open(self, *options, **keywords):
        self.begin()
        self.tell("lt")
        terminal = Terminal(self, "heap", "--live", self.path, "--interval", "0.2", *options, **keywords)
        terminal.wait_for(lambda text: "running" in text and "leak  " in text, "the sites are shown")
        return terminal

    def quit(self, terminal):
        terminal.press("q")
        status, err = terminal.wait_for_end()
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(terminal.is_restored())

    def test_views_and_quit(self):
        terminal = self.open()
        self.assertRegex(terminal.text(), r" live 1\d\d kB  1\d\d,\d\d\d bytes in 1\d\d blocks")
        self.assertRegex(terminal.text(), r"100 kB +\d\d\.\d +100 +100 +100 kB >leak +\S+\.c:\d+ < main")
        self.assertTrue(terminal.is_other_screen and terminal.is_cursor_hidden)
        for key, heading, row in (
            ("f", "function", r"100 +100 +100 kB  main|1\d\d kB.*  leak$"),
            ("i", "file", r"\.c$"),
            ("t", "thread", r" \d+  helper$"),
            ("s", "site", r">leak"),
        ):
            terminal.press(key)
            terminal.wait_for(
                lambda text, heading=heading, row=row: re.search(rf"allocated +{heading}$", text, re.M)
                and re.search(row, text, re.M),
                heading,
            )
        terminal.press("\t")
        terminal.wait_for(lambda text: re.search(r"allocated +function$", text, re.M), "the next view")
        terminal.press("?")
        terminal.wait_for(lambda text: "set a mark" in text, "help")
        terminal.press("?")
        terminal.wait_for(lambda text: "set a mark" not in text, "no help")
        self.quit(terminal)

    def test_orders_and_selection(self):
        terminal = self.open()
        for key, name in (("c", "blocks"), ("a", "allocations"), ("d", "allocated"), ("b", "live")):
            terminal.press(key)
            terminal.wait_for(lambda text, name=name: f"*{name}" in text, f"by {name}")
        terminal.press("a")
        terminal.wait_for(lambda text: re.search(r">churn", text), "most allocations are those of churn")
        terminal.press("\x1b[B")
        terminal.wait_for(lambda text: not re.search(r">churn", text) and ">" in text, "the next row")
        terminal.press("\x1b[A")
        terminal.wait_for(lambda text: re.search(r">churn", text), "the first row")
        self.quit(terminal)

    def test_a_mark(self):
        terminal = self.open()
        terminal.press("m")
        terminal.wait_for(lambda text: "since the mark" in text, "a mark")
        self.tell("l")
        more = r"since the mark at .*: \+100,000 bytes in \+100 blocks"
        terminal.wait_for(lambda text: re.search(more, text), "more")
        terminal.wait_for(lambda text: re.search(r"\+100,000 >leak", text), "who has more")
        terminal.press("M")
        terminal.wait_for(lambda text: "since" not in text, "no mark")
        self.quit(terminal)

    def test_a_pause(self):
        terminal = self.open()
        terminal.press("p")
        terminal.wait_for(lambda text: "paused" in text, "paused")
        paused = terminal.text().splitlines()[1]
        self.tell("lll")
        terminal.press("s")
        terminal.press("p")
        terminal.wait_for(lambda text: "running" in text and text.splitlines()[1] != paused, "it goes on")
        self.quit(terminal)

    def test_markers_of_the_program(self):
        terminal = self.open()
        self.tell("m")
        terminal.wait_for(lambda text: "1 marker of the program, the last one: halfway" in text, "the marker")
        self.quit(terminal)

    def test_other_sizes(self):
        terminal = self.open()
        for columns, lines in ((60, 12), (200, 50), (10, 3), (1, 1), (100, 30)):
            terminal.resize(columns, lines)
            terminal.send(signal.SIGWINCH)
            if columns >= 60:
                terminal.wait_for(
                    lambda text, columns=columns: ">leak" in text and "running" in text[:columns], f"{columns} columns"
                )
        self.quit(terminal)

    def test_the_end(self):
        terminal = self.open()
        self.end()
        terminal.wait_for(lambda text: "ended" in text.splitlines()[0], "the end")
        terminal.wait_for(lambda text: ">leak" in text, "the sites are still there")
        terminal.press("q")
        status, err = terminal.wait_for_end()
        self.assertEqual(status, 0)
        self.assertRegex(err, "the recording has ended")
        self.assertTrue(terminal.is_restored())

    def test_signals_that_end_it(self):
        for number, status in ((signal.SIGTERM, -15), (signal.SIGINT, 0), (signal.SIGHUP, -1), (signal.SIGQUIT, -3)):
            with self.subTest(number=number):
                terminal = Terminal(self, "heap", "--live", self.path) if number != signal.SIGTERM else self.open()
                terminal.wait_for(lambda text: "running" in text, "it runs")
                terminal.send(number)
                self.assertEqual(terminal.wait_for_end()[0], status)
                self.assertTrue(terminal.is_restored())

    def test_control_c(self):
        terminal = self.open()
        terminal.press("\x03")
        self.assertEqual(terminal.wait_for_end()[0], 0)
        self.assertTrue(terminal.is_restored())

    def test_stop_and_continue(self):
        terminal = self.open()
        terminal.send(signal.SIGTSTP)
        self.assertTrue(terminal.wait_for_stop())
        while terminal.read():
            pass
        self.assertTrue(terminal.is_restored())
        terminal.resize(90, 25)
        terminal.send(signal.SIGCONT)
        terminal.wait_for(lambda text: ">leak" in text and terminal.is_other_screen, "it draws again")
        self.quit(terminal)

    def test_a_slow_terminal(self):
        """Nobody reads for a while: it goes on, and then has what is new, without everything in between."""
        terminal = self.open("--wide", columns=500, lines=100)
        for _ in range(5):
            terminal.press("fsit")  # each draws much
        self.tell("cccclll")
        terminal.press("s")
        seen = len(terminal.written)
        terminal.wait_for(lambda text: re.search(r"400 kB +\d\d\.\d +400", text), "what is new")
        self.assertLess(len(terminal.written) - seen, 2_000_000)
        terminal.press("q")
        status, _ = terminal.wait_for_end()
        self.assertEqual(status, 0)
        self.assertTrue(terminal.is_restored())

    def test_only_what_has_changed_is_written(self):
        terminal = self.open()
        while terminal.read(0.5) and ">leak" not in terminal.text():
            pass
        seen = len(terminal.written)
        title = terminal.text().splitlines()[0]
        terminal.wait_for(lambda text: text.splitlines()[0] != title, "a second has passed")
        self.assertLess(len(terminal.written) - seen, 6000)
        self.quit(terminal)


if __name__ == "__main__":
    tap.main()
