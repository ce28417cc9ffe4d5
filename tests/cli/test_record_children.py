"""Processes that a recorded program starts: how many, which are recorded, and what `record` says about them."""

import json
import os
import pathlib
import shutil
import subprocess
import time

from support import heap_programs as programs
from support import sextant, tap
from support.recording import RecordTest

# Starts children as the letters of its argument say.
STARTS = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static char *words[] = {PROGRAM, "x", NULL}, *nothing[] = {NULL};
void *volatile sink;
static int run(void *data) { (void)data; _exit(0); }
static int start(char how)
{
    static char stack[65536] __attribute__((aligned(16)));
    pid_t child = 0;
    switch (how) {
    case 'f': /* forks */
        if ((child = fork()) == 0)
            _exit(0);
        break;
    case 'a': /* allocates */
        if ((child = fork()) == 0) {
            sink = malloc(10);
            _exit(0);
        }
        break;
    case 'r': /* without the C library */
        if ((child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) == 0) {
            sink = malloc(10);
            _exit(0);
        }
        break;
    case 'v':
        if ((child = vfork()) == 0) {
            execv(PROGRAM, words);
            _exit(1);
        }
        break;
    case 'V': /* all of them fail */
        if ((child = vfork()) == 0) {
            execv("/nowhere/at/all", words);
            execvp("not-a-program-at-all", words);
            execl("/nowhere/at/all", "a", "b", (char *)NULL);
            execlp("not-a-program-at-all", "a", "b", (char *)NULL);
            execle("/nowhere/at/all", "a", (char *)NULL, environ);
            _exit(1);
        }
        break;
    case 's':
        if (posix_spawn(&child, PROGRAM, NULL, NULL, words, environ) != 0)
            return 1;
        break;
    case 'S':
        return posix_spawnp(&child, "not-a-program-at-all", NULL, NULL, words, environ) == 0;
    case 'y':
        return system("exit 0") != 0;
    case 'p':
        return pclose(popen("exit 0", "r")) != 0;
    case 'c':
        child = clone(run, stack + sizeof stack, SIGCHLD, NULL);
        break;
    case 'e':
        if (posix_spawn(&child, PROGRAM, NULL, NULL, words, nothing) != 0)
            return 1;
        break;
    case 'E':
        if ((child = fork()) == 0) {
            execle(PROGRAM, PROGRAM, "x", (char *)NULL, nothing);
            _exit(1);
        }
        break;
    case 'L': /* with a command line of 100 words */
        if ((child = fork()) == 0)
            execl(PROGRAM, PROGRAM, TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN (char *)NULL);
        break;
    case 'C':
        return clearenv();
    case 'X':
        words[0] = PROGRAM;
        execve(PROGRAM, words, nothing);
        return 1;
    }
    int status = 0;
    return child <= 0 || waitpid(child, &status, 0) != child || (how != 'V' && status != 0);
}
int main(int count, char **arguments)
{
    int failed = 0;
    for (const char *at = arguments[count - 1]; *at != 0; at++)
        failed |= start(*at);
    return failed;
}
"""
EMPTY = "int main(void) { return 0; }\n"
LEAKS = r"""
#include <stdlib.h>
#include <string.h>
void *volatile sink;
int main(int count, char **words)
{
    sink = malloc((size_t)count); /* leaked */
    return words[0] == NULL;
}
"""
DAEMON = r"""
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
void *volatile sink;
int main(int count, char **words)
{
    struct stat status;
    if (fork() != 0)
        return 0;
    setsid();
    for (int i = 0; i < 3; i++)
        close(i);
    if (fork() != 0)
        _exit(0);
    while (stat(words[1], &status) != 0) /* the launcher has ended, and so has the recording of it */
        usleep(1000);
    if (count > 2)
        execl(words[2], words[2], (char *)NULL);
    sink = malloc(1234); /* late */
    rename(words[1], words[count - 1]);
    return 0;
}
"""


class ChildrenTest(RecordTest):
    def starter(self, target):
        ten = '"1", "2", "3", "4", "5", "6", "7", "8", "9", "10",'
        return programs.build(self.folder, "starter", STARTS, f'-DPROGRAM="{target}"', f"-DTEN={ten}", "-w")

    def messages(self, *command, options=(), status=0, **keywords):
        """The lines of standard error."""
        words = ["record", "-o", self.folder / "out.mlyze", *options, "--", *command]
        result = sextant.run(*words, cwd=self.folder, **keywords)
        self.assertEqual(result.status, status, f"\n{result}")
        return result.err.splitlines()

    def children(self):
        return sorted(self.folder.glob("out.*.mlyze"))

    def info(self, path):
        return json.loads(self.run_ok("info", "--json", path).out)


class Unrecorded(ChildrenTest):
    CASES = (("", 0), ("f", 1), ("a", 1), ("r", 1), ("v", 1), ("V", 0), ("s", 1), ("S", 0), ("y", 1), ("p", 1), ("c", 1),
             ("e", 1), ("E", 1), ("L", 1), ("Cy", 1), ("Cp", 1), ("Cs", 1), ("Cf", 1), ("favVsSypceE", 9), ("f" * 700, 700))

    def test_children_are_counted(self):
        starter = self.starter("/bin/true")
        for letters, count in self.CASES:
            with self.subTest(letters=letters[:20]):
                lines = self.messages(starter, letters)
                noun = "child" if count == 1 else "children"
                expected = [f"sextant: {count} {noun} ran unrecorded; --follow-fork records them"] if count else []
                self.assertEqual([line for line in lines if "child" in line], expected)

    def test_a_wrapper_script(self):
        program = programs.build(self.folder, "program", LEAKS)
        script = pathlib.Path(self.folder, "wrapper")
        script.write_text(f"#!/bin/sh\n{program}\n{program} a b\nexit 4\n")
        script.chmod(0o755)
        lines = self.messages(script, status=4)
        self.assertIn("sextant: 2 children ran unrecorded; --follow-fork records them", lines)
        script.write_text(f"#!/bin/sh\nexec {program}\n")
        self.assertEqual([line for line in self.messages(script) if "child" in line], [])

    def test_grandchildren_count_too(self):
        lines = self.messages("sh", "-c", "sh -c '/bin/true; /bin/true; :'; :")
        self.assertIn("sextant: 3 children ran unrecorded; --follow-fork records them", lines)

    def test_quiet(self):
        self.record(self.starter("/bin/true"), "fsv")


class Followed(ChildrenTest):
    def test_an_environment_that_is_emptied(self):
        target = programs.build(self.folder, "target", LEAKS)
        starter = self.starter(target)
        for letters in ("e", "E", "Cs", "Cv", "s", "v", "L"):
            with self.subTest(letters=letters):
                for path in self.children():
                    path.unlink()
                lines = self.messages(starter, letters, options=["--follow-fork"])
                self.assertEqual([line for line in lines if "unrecorded" in line], [])
                self.assertEqual(len(self.children()), 1, lines)
                count = 101 if letters == "L" else 2
                self.assertEqual(self.trace(LEAKS, self.children()[0].name).live(), {"leaked": [count]})
                command = self.info(self.children()[0])["command"]
                self.assertEqual((command[0], len(command)), (os.fspath(target), count))

    def test_the_program_itself_empties_its_environment(self):
        target = programs.build(self.folder, "target", LEAKS)
        starter = self.starter(target)
        self.messages(starter, "X")
        self.assertEqual(self.trace(LEAKS).live(), {"leaked": [2]})
        env = shutil.which("env")
        self.messages(env, "-i", target, "one", "two")
        self.assertEqual(self.trace(LEAKS).live(), {"leaked": [3]})

    def test_children_that_cannot_be_followed(self):
        target = programs.build(self.folder, "target", LEAKS, "-static")
        lines = self.messages(self.starter(target), "vs", options=["--follow-fork"])
        self.assertIn("sextant: 2 children ran unrecorded: the recorder was not loaded", lines)
        self.assertEqual([path.name for path in self.folder.glob("out*")], ["out.mlyze"])
        lines = self.messages(self.starter("/bin/true"), "Cy", options=["--follow-fork"])
        self.assertIn("sextant: 1 child ran unrecorded: the recorder was not loaded", lines)

    def test_many_empty_children_are_one_line(self):
        target = programs.build(self.folder, "target", EMPTY)
        count = 300 if sextant.EVERYTHING else 40
        lines = self.messages(self.starter(target), "v" * count, options=["--follow-fork"])
        self.assertEqual([line for line in lines if "child" in line],
                         [f"sextant: {count} children in {self.folder}/out.%p.mlyze: 0 events, 0 allocations"])
        self.assertEqual(len(self.children()), count)
        lines = self.messages(self.starter(target), "f" * 300, options=["--follow-fork"])
        self.assertEqual([line for line in lines if "child" in line], ["sextant: 300 children allocated nothing"])
        lines = self.messages(self.starter(target), "favf", options=["--follow-fork"])
        self.assertEqual([line for line in lines if "child" in line],
                         [f"sextant: 2 children in {self.folder}/out.%p.mlyze: 1 event, 1 allocation; 2 allocated nothing"])
        lines = self.messages(self.starter(target), "f", options=["--follow-fork"])
        self.assertEqual([line for line in lines if "child" in line], ["sextant: 1 child allocated nothing"])
        self.record(self.starter(target), "f", options=["--follow-fork"])

    def finished(self, path, most=20):
        """Waits until the daemon has ended."""
        deadline = time.monotonic() + most
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(path.exists(), "the daemon has not ended")

    def test_a_daemon_that_allocates_when_the_launcher_has_ended(self):
        program = programs.build(self.folder, "program", DAEMON)
        start, end = self.folder / "start", self.folder / "end"
        lines = self.messages(program, start, end, options=["--follow-fork"])
        self.assertEqual([line for line in lines if "unrecorded" in line or "cannot" in line], [])
        hint, rest = [line for line in lines if "child" in line]
        self.assertEqual(rest, "sextant: 1 child allocated nothing")
        said, command = hint.split(": sextant ")
        self.assertEqual(said, "sextant: 1 child still running, with nothing allocated so far; if it allocates, "
                               "make its trace when it has ended")
        start.write_text("")
        self.finished(end)
        parts = sorted(self.folder.glob("out.*.mlyze.part"))
        self.assertEqual(len(parts), 1)
        time.sleep(0.05)
        self.run_ok(*command.split())
        self.assertEqual(self.trace(DAEMON, parts[0].stem).live(), {"late": [1234]})

    def test_a_daemon_that_has_allocated(self):
        program = programs.build(self.folder, "program", DAEMON.replace("while (stat", "sink = malloc(5);\n while (stat"))
        start, end = self.folder / "start", self.folder / "end"
        hint = self.messages(program, start, end, options=["--follow-fork"])[-2]
        start.write_text("")
        self.finished(end)
        time.sleep(0.05)
        said, command = hint.split(": sextant ")
        self.assertEqual(said, "sextant: 1 child still running; make its trace when it has ended")
        self.run_ok(*command.split())
        self.assertEqual(len(self.children()), 1)

    def test_a_daemon_that_executes_a_program_when_the_launcher_has_ended(self):
        program = programs.build(self.folder, "program", DAEMON)
        target = programs.build(self.folder, "target", LEAKS.replace("return words", 'system("touch end"); return words'))
        start = self.folder / "start"
        self.messages(program, start, target, options=["--follow-fork"])
        start.write_text("")
        self.finished(self.folder / "end")
        parts = [path for path in self.folder.glob("out.*.mlyze.part") if self.reads(path) == [os.fspath(target)]]
        self.assertEqual(len(parts), 1)

    def reads(self, path):
        result = sextant.run("info", "--json", path)
        return json.loads(result.out)["command"] if result.status == 0 else None


class Information(ChildrenTest):
    def test_command_and_end(self):
        source = LEAKS.replace("return words", "if (count > 3) abort(); return words")
        program = programs.build(self.folder, "program", source)
        words = ["it's", "a b", "", "\u00e9"]
        result = sextant.run("record", "-q", "-o", self.folder / "out.mlyze", "--", program, *words)
        self.assertEqual(result.status, 128 + 6)
        for options in ((), ("--compress",)):
            with self.subTest(options=options):
                path = self.folder / "out.mlyze"
                if options:
                    self.run_ok("convert", *options, path, "-o", self.folder / "small.mlyze")
                    path = self.folder / "small.mlyze"
                info = self.info(path)
                self.assertEqual(info["command"], [os.fspath(program), *words])
                self.assertEqual((info["exit_status"], info["signal"]), (None, 6))
                self.assertGreater(info["pid"], 1)
                self.assertGreater(info["duration_us"], 0)
        text = self.run_ok("info", self.folder / "out.mlyze").text
        self.assertIn(f"{program} 'it'\\''s' 'a b' '' '\u00e9'", text)
        self.record("sh", "-c", "exit 9", status=9)
        info = self.info(self.folder / "out.mlyze")
        self.assertEqual((info["command"], info["exit_status"], info["signal"]), (["sh", "-c", "exit 9"], 9, None))

    def test_a_child_has_its_own_clock(self):
        program = programs.build(self.folder, "program", LEAKS)
        self.record("sh", "-c", f"sleep 0.5; {program}; :", options=["--follow-fork"])
        infos = [self.info(path) for path in self.children()]
        info = next(info for info in infos if info["command"] == [os.fspath(program)])
        whole = self.info(self.folder / "out.mlyze")
        self.assertGreater(whole["duration_us"], 500000)
        self.assertLess(info["duration_us"], whole["duration_us"] - 400000)
        self.assertGreater(info["start_us"], whole["start_us"] + 400000)
        self.assertEqual(info["exit_status"], 0)

    def test_the_summary(self):
        program = programs.build(self.folder, "program", r"""
            #include <stdlib.h>
            void *volatile sink[3];
            int main(void)
            {
                for (int i = 0; i < 3; i++)
                    sink[i] = malloc(1000000);
                free(sink[0]);
                free(sink[1]);
                sink[0] = malloc(5);
                return 0;
            }
        """)
        lines = self.messages(program)
        self.assertEqual(lines[1:], ["sextant: peak 3.00 MB in 3 blocks; leaked 1.00 MB in 2 blocks",
                                     f"sextant: next: sextant heap {self.folder}/out.mlyze"])
        many = programs.build(self.folder, "many", r"""
            #include <stdlib.h>
            void *volatile sink;
            int main(void)
            {
                for (int i = 0; i < 12345; i++)
                    sink = malloc(1);
                return 0;
            }
        """)
        lines = self.messages(many)
        self.assertEqual(lines[:2], [f"sextant: {self.folder}/out.mlyze: 12,345 events, 12,345 allocations at 1 stack",
                                     "sextant: peak 12.3 kB in 12,345 blocks; leaked 12.3 kB in 12,345 blocks"])
        lines = self.messages("sh", "-c", f"{program}; :", options=["--follow-fork"])
        self.assertEqual(lines[-1], f"sextant: next: sextant heap {self.folder}/out.mlyze {self.folder}/out.*.mlyze")
        text = self.run_ok("info", self.folder / "out.mlyze").out.decode()
        self.assertIn("command", text)
        self.assertNotIn("inlines", text)

    def test_commands_can_be_copied(self):
        """Names that a shell would split are in quotes, and the star is not."""
        folder = self.folder / "it's a folder"
        folder.mkdir()
        result = sextant.run("record", "--follow-fork", "-o", folder / "a b.mlyze", "--", "sh", "-c", "ls / > /dev/null; :")
        command = result.err.splitlines()[-1].partition("next: sextant ")[2]
        words = subprocess.run(["sh", "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True, check=True)
        verb, first, *others = words.stdout.splitlines()
        self.assertEqual((verb, first), ("heap", str(folder / "a b.mlyze")))
        self.assertEqual(others, sorted(str(path) for path in folder.glob("a b.*.mlyze")))
        self.assertTrue(others)


if __name__ == "__main__":
    tap.main()
