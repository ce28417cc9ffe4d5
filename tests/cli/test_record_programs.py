"""Programs of all kinds under the recorder: they must not notice, and what they did must be in the trace."""

import collections
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from support import heap_programs as programs
from support import record_children as families
from support import record_programs as sources
from support import samples, sextant, tap
from support.recording import RecordTest

IS_ROOT = os.geteuid() == 0


class ProgramsTest(RecordTest):
    def sites(self, trace):
        return collections.Counter(site for site, _, _ in trace.allocations())

    def others(self):
        """Traces of children."""
        return sorted(self.folder.glob("out.*.mlyze"))

    def assert_nothing_left(self, *expected):
        """No spool is left, and no temporary file."""
        names = sorted(path.name for path in self.folder.iterdir() if ".mlyze" in path.name)
        self.assertEqual(names, sorted(expected))


class Children(ProgramsTest):
    def test_a_child_that_shares_the_memory_uses_its_parents_heap(self):
        program = programs.build(self.folder, "program", families.VFORK)
        for options, children in (((), 0), (("--follow-fork",), 4)):
            self.record(program, options=options)
            trace = self.trace(families.VFORK)
            self.assertEqual(self.sites(trace), {"before": 1, "between": 3, "after": 1})
            self.assertEqual(trace.live(), {"before": [11], "after": [33]})
            self.assertEqual(len(self.others()), children)
            for path in self.others():
                self.assertEqual(self.trace(families.VFORK, path.name).live(), {"executed": [44]})

    def test_a_shell_and_its_children(self):
        program = programs.build(self.folder, "program", programs.LEAKS)
        script = f"{program}; {program} | cat; ({program} & wait); exit 3"
        self.record("sh", "-c", script, options=["--follow-fork"], status=3)
        leaks = [trace.live() for trace in (self.trace(programs.LEAKS, path.name) for path in self.others())
                 if "program" in trace.metadata["modules"][0]["path"]]
        self.assertEqual(leaks, [{"leak": list(range(1, 11))}] * 3)

    def test_forks_while_other_threads_allocate(self):
        program = programs.build(self.folder, "program", families.FORKS_AMONG_THREADS)
        self.record(program, "40", options=["--no-symbols"], timeout=60)
        self.run_ok("verify", self.folder / "out.mlyze")
        self.assertEqual(self.others(), [])
        self.record(program, "10", options=["--follow-fork"], timeout=60)
        self.run_ok("verify", self.folder / "out.mlyze")
        self.assertEqual(len(self.others()), 10)
        for path in self.others():
            child = self.trace(families.FORKS_AMONG_THREADS, path.name)
            self.assertEqual([size for _, size, _ in child.allocations()], [1, 2, 3, 4, 5])
            self.assertEqual(child.live(), {"in the child": [3]})

    def test_forks_while_another_thread_holds_the_linkers_lock(self):
        program = programs.build(self.folder, "program", families.FORKS_UNDER_A_LOCK)
        self.record(program, options=["--follow-fork"])
        self.assertEqual(len(self.others()), 1)
        child = self.trace(families.FORKS_UNDER_A_LOCK, self.others()[0].name)
        self.assertEqual([(site, size) for site, size, _ in child.allocations()], [("in the child", 21)])

    def test_forks_in_handlers_that_interrupt_the_recorder(self):
        program = programs.build(self.folder, "program", families.FORKS_IN_HANDLERS)
        self.record(program, options=["--no-symbols"])
        self.run_ok("verify", self.folder / "out.mlyze")

    def test_functions_that_the_c_library_calls_in_the_child(self):
        program = programs.build(self.folder, "program", families.FORKS_WITH_FUNCTIONS)
        self.record(program)
        self.record(program, options=["--follow-fork"])
        self.assertEqual(self.trace(families.FORKS_WITH_FUNCTIONS).live(), {})
        child = self.trace(families.FORKS_WITH_FUNCTIONS, self.others()[0].name)
        self.assertEqual(child.allocations(), [("before fork returns", 31, 0), ("after fork returns", 32, 0)])
        self.assertEqual(child.live(), {"after fork returns": [32]})

    def test_forks_and_executes_in_a_loop(self):
        program = programs.build(self.folder, "program", families.FORKS_AND_EXECUTES)
        self.record(program, "30")
        self.assertEqual(self.trace(families.FORKS_AND_EXECUTES).allocations(), [])
        self.record(program, "10", options=["--follow-fork", "--no-symbols"])
        self.assertEqual(len(self.others()), 10)
        sizes = [[event[3] for event in self.trace("", path.name).raw if event[0] == "alloc"] for path in self.others()]
        self.assertEqual(sizes, [[66]] * 10)

    def test_a_recorder_inside_of_a_recorder(self):
        program = programs.build(self.folder, "program", programs.LEAKS)
        inner = [sextant.program(), "record", "-q", "-o", self.folder / "inner.mlyze", "--", program]
        for options in ((), ("--follow-fork",)):
            self.record(*inner, options=options, quiet=not sextant.SANITIZED)
            self.assertEqual(self.trace(programs.LEAKS, "inner.mlyze").live(), {"leak": list(range(1, 11))})
            self.run_ok("verify", self.folder / "out.mlyze")

    def test_an_environment_that_is_cleared(self):
        program = programs.build(self.folder, "program", families.LEAVES_NOTHING)
        for arguments in ((), ("1",)):
            self.record(program, *arguments, status=4)
            self.assertEqual(self.trace(families.LEAVES_NOTHING).live(), {"before": [71]})

    def test_a_stop_holds_for_children_too(self):
        program = programs.build(self.folder, "program", programs.FOREVER)
        late = programs.build(self.folder, "late", programs.LEAKS)
        for duration in (0.6, 3, 30):
            started = time.monotonic()
            child = self.start("sh", "-c", f"{program} slowly & read word; {late}; echo end; wait", stdin=subprocess.PIPE,
                               options=["--follow-fork", "--duration", str(duration)])
            self.addCleanup(child.stdin.close)
            self.assertEqual(child.stdout.readline(), b"ready\n")
            was_ready = time.monotonic() < started + duration
            self.wait_until_nothing_is_left()
            self.assertIsNone(child.poll(), "the program goes on")
            child.stdin.write(b"go on\n")
            child.stdin.flush()
            self.assertEqual(child.stdout.readline(), b"end\n")
            if was_ready:  # before the stop; otherwise the machine was too busy
                break
            self.kill_the_rest()
            for path in self.others():
                path.unlink()
        self.assertTrue(was_ready)
        (path,) = self.others()
        self.assertGreater(len(self.trace(programs.FOREVER, path.name).allocations()), 30000)
        self.assertEqual(list(self.folder.glob("*.part*")), [])

    def wait_until_nothing_is_left(self):
        """Until the traces are finished, and no spool is left."""
        deadline = time.monotonic() + 60
        while list(self.folder.glob("*.part*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(list(self.folder.glob("*.part*")), [])


class Threads(ProgramsTest):
    def test_stacks_that_are_gone(self):
        trace = self.recorded(sources.STACKS_THAT_GO)
        self.assertEqual(self.sites(trace), {"below": 40})
        self.assertEqual(trace.functions(next(event[4] for event in reversed(trace.raw) if event[0] == "alloc"))[:23],
                         ["down"] * 21 + ["work", "start_thread"])

    def test_two_thousand_threads(self):
        trace = self.recorded(sources.MANY_THREADS, options=["--no-symbols"])
        sizes = collections.Counter(event[3] for event in trace.raw if event[0] == "alloc")
        self.assertEqual([size for size in range(1, 2001) if sizes[size] < 1], [])
        trace.live()

    def test_memory_before_and_after_main(self):
        trace = self.recorded(sources.BEFORE_AND_AFTER_MAIN, status=7)
        self.assertEqual([size for _, size, _ in trace.allocations()], [1, 2, 3, 4])
        self.assertEqual(trace.live(), {"main": [2]})

    def test_destructors_of_threads(self):
        trace = self.recorded(sources.THREAD_DESTRUCTORS)
        self.assertEqual(self.sites(trace), {"in the thread": 60, "in a destructor": 80})
        self.assertEqual(trace.live(), {})
        program = samples.compile_c(self.folder, "objects", "-g", "-pthread", source=sources.THREAD_LOCAL_OBJECTS,
                                    language="cpp")
        self.record(program)
        trace = self.trace()
        blocks = {event[2] for event in trace.raw if event[0] == "alloc" and event[3] == 91}
        self.assertEqual(sum(event[0] == "alloc" and event[3] == 91 for event in trace.raw), 20)
        trace.live()
        last = {event[2]: event[0] for event in trace.raw if event[0] in ("alloc", "free") and event[2] in blocks}
        self.assertEqual(set(last.values()), {"free"})

    def test_an_exit_while_others_allocate(self):
        program = programs.build(self.folder, "program", sources.EXITS_AMONG_THREADS)
        for _ in range(2):
            self.record(program, status=5, options=["--no-symbols"])
            self.trace().live()

    def test_libraries_that_come_and_go_among_threads(self):
        libraries = []
        for name, size in (("one", 101), ("two", 202)):
            source = programs.LIBRARY.replace("NAME", name)
            libraries.append(samples.compile_c(self.folder, f"lib{name}.so", "-g", "-shared", "-fPIC", "-fno-inline",
                                               f"-DSIZE={size}", "-DPADDING=0", source=source))
        trace = self.recorded(sources.LIBRARIES_AMONG_THREADS, *libraries, timeout=60)
        sizes = collections.Counter(event[3] for event in trace.raw if event[0] == "alloc")
        self.assertEqual((sizes[101], sizes[202]), (80, 80))
        trace.live()


class Frames(ProgramsTest):
    def test_a_storm_of_signals(self):
        flags = (f"-I{sextant.ROOT / 'include'}", "-fPIE", "-pie")
        program = programs.build(self.folder, "program", sources.SIGNAL_STORM, *flags)
        result = self.record(program, options=["--mmap"])
        trace = self.trace(sources.SIGNAL_STORM)
        sites = self.sites(trace)
        self.assertEqual(sites["meanwhile"], int(result.out))
        self.assertGreaterEqual(sites["mapped in a handler"], 150)
        self.assertEqual(sites["mapped in a handler"], sites["pool in a handler"])
        self.assertEqual({thread for _, _, thread in trace.allocations()}, {0})
        self.assertEqual(trace.live(), {})

    def test_small_stacks(self):
        trace = self.recorded(sources.SMALL_STACKS)
        self.assertEqual(trace.stack_of("in a handler")[0], "handler")
        self.assertEqual(trace.stack_of("in a thread")[0], "work")

    def test_exceptions(self):
        program = samples.compile_c(self.folder, "program", "-g", source=sources.EXCEPTIONS, language="cpp")
        self.record(program)
        trace = self.trace()
        sizes = collections.Counter(event[3] for event in trace.raw if event[0] == "alloc")
        self.assertEqual((sizes[19], sizes[23]), (55, 10))
        stacks = [trace.functions(event[4])[:2] for event in trace.raw if event[0] == "alloc" and event[3] == 23]
        self.assertEqual(stacks, [["after()", "main"]] * 10)

    def test_frames_of_any_size(self):
        for flags in ((), ("-O2",), ("-fno-omit-frame-pointer",)):
            trace = self.recorded(sources.ODD_FRAMES, flags=flags)
            stacks = [trace.functions(event[4])[:5] for event in trace.raw if event[0] == "alloc" and trace.site(event[4])]
            self.assertEqual(stacks, [["inner", "with_alloca", "with_array", "aligned", "main"]] * 5)


class Surroundings(ProgramsTest):
    def test_programs_that_leave_everything_behind(self):
        program = programs.build(self.folder, "program", sources.LEAVES)
        self.folder.chmod(0o755)
        for ways in (["close", "chdir"], ["range"], *([["chroot", "setuid", "chdir"]] if IS_ROOT else [])):
            self.record(program, *ways, status=7)
            self.assertEqual(len(self.trace(sources.LEAVES).allocations()), 20000 * len(ways))

    @unittest.skipUnless(IS_ROOT, "only root can change the root")
    def test_a_file_that_is_out_of_reach_ends_the_recording(self):
        program = programs.build(self.folder, "program", sources.LEAVES)
        result = self.record(program, "chroot", "close", "setuid", status=7, quiet=False)
        self.assertRegex(result.err, r"^sextant: .*recording stopped.*cannot be opened again")
        self.assertGreaterEqual(len(self.trace(sources.LEAVES).allocations()), 20000)

    def test_closed_standard_streams_stay_closed(self):
        program = programs.build(self.folder, "program", sources.STANDARD_DESCRIPTORS)
        for closed, status in (("", 7), ("2>&-", 3), ("<&- >&- 2>&-", 0), ("<&- 2>&-", 2), (">&-", 5)):
            command = f"'{sextant.program()}' record -o out.mlyze -- '{program}' {closed}"
            done = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, status, (closed, done))
            self.assertEqual(self.trace(sources.STANDARD_DESCRIPTORS).live(), {"once": [10]})

    def test_control_characters_in_the_path_of_the_program(self):
        program = programs.build(self.folder, "pro\tgram\x7f\u0085", programs.LEAKS)
        self.record(program, options=["--plain"])
        self.assertEqual(self.trace(programs.LEAKS).live(), {"leak": list(range(1, 11))})
        self.assertIn(b"/pro\\u0009gram\x7f\xc2\x85\"", (self.folder / "out.mlyze").read_bytes())
        self.record(program, options=["--no-symbols", "--plain"])
        self.run_warned("heap", "--symbolize", self.folder / "out.mlyze", "-o", self.folder / "named.mlyze")
        self.assertIn(b"pro\\u0009gram\x7f\xc2\x85.c\"", (self.folder / "named.mlyze").read_bytes())

    def test_pipes(self):
        result = self.record("sh", "-c", "cat; echo end >&2", stdin=b"abc" * 100000, quiet=False)
        self.assertEqual((result.out, result.err), (b"abc" * 100000, "end\n"))

    @unittest.skipIf(sextant.SANITIZED, "looking for leaks, a sanitizer waits for ever where SIGCHLD is ignored")
    def test_signals_stay_as_they_were(self):
        inner = ["grep", "^Sig[PBIC].*:", "/proc/self/status"]  # not SigQ, which counts all processes of the user
        for ignored in ((), (signal.SIGCHLD, signal.SIGINT), (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM)):
            keywords = {"preexec_fn": lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored],
                        "restore_signals": False, "cwd": self.folder, "timeout": 30}
            plain = subprocess.check_output(inner, **keywords)
            done = subprocess.run([sextant.program(), "record", "-q", "-o", "out.mlyze", "--", *inner],
                                  capture_output=True, **keywords)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain, b""))

    def test_messages_that_nobody_reads(self):
        program = programs.build(self.folder, "program", programs.LEAKS)
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([sextant.program(), "record", "-o", "out.mlyze", "--", program], cwd=self.folder,
                              stderr=writer)
        os.close(writer)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.trace(programs.LEAKS).live(), {"leak": list(range(1, 11))})
        self.assert_nothing_left("out.mlyze")

    def test_scripts(self):
        program = programs.build(self.folder, "program", programs.LEAKS)
        for text in (f"#!/bin/sh\nexec {program}\n", f"exec {program}\n", f"#!/usr/bin/env sh\nexec {program}\n"):
            script = self.file("script", text)
            script.chmod(0o755)
            self.record(script)
            self.assertEqual(self.trace(programs.LEAKS).live(), {"leak": list(range(1, 11))})

    @unittest.skipIf(sextant.SANITIZED, "a sanitizer wants to be loaded first, in sextant itself too")
    def test_another_wrapper_around_malloc_comes_next(self):
        other = samples.compile_c(self.folder, "other.so", "-shared", "-fPIC", "-fno-builtin", source=sources.WRAPPER)
        program = programs.build(self.folder, "program", programs.LEAKS)
        result = self.record(program, env={"LD_PRELOAD": os.fspath(other)})
        self.assertEqual(result.text, "one")
        self.assertEqual([size for _, size, _ in self.trace(programs.LEAKS).allocations()], [*range(1, 11), 1000])


class ShortOfEverything(ProgramsTest):
    @unittest.skipUnless(IS_ROOT, "only root can mount")
    def test_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True).returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        program = programs.build(self.folder, "program", programs.SAMPLED)
        result = self.record(program, output="disk/out.mlyze", quiet=False)
        self.assertRegex(result.err, r"^sextant: .*recording stopped.*disk is full")
        self.assertGreater(len(self.trace(programs.SAMPLED, "disk/out.mlyze").allocations()), 5000)
        self.assertEqual([path.name for path in disk.iterdir()], ["out.mlyze"])
        # What is left is not enough for anything: an old trace is replaced by one that has nothing in it.
        (disk / "rest").write_bytes(bytes(shutil.disk_usage(disk).free - 32768))
        result = self.record(program, output="disk/out.mlyze", quiet=False)
        self.assertRegex(result.err, r"^sextant: .*recording stopped.*disk is full")
        self.assertEqual(len(self.trace(programs.SAMPLED, "disk/out.mlyze").allocations()), 0)
        # Not even that: the old one stays.
        before = (disk / "out.mlyze").read_bytes()
        (disk / "more").write_bytes(bytes(shutil.disk_usage(disk).free))
        result = self.record(program, output="disk/out.mlyze", status=1, quiet=False)
        self.assertIn("No space left", result.err)
        self.assertEqual((disk / "out.mlyze").read_bytes(), before)

    def test_a_limit_on_files_is_never_run_into(self):
        program = programs.build(self.folder, "program", sources.FILE_LIMIT)
        for limit in (0, 4096, 100000):
            for options in ((), ("--follow-fork",)):
                result = self.record(program, str(limit), options=options, status=6, quiet=False)
                self.assertIn("recording stopped", result.err)
                self.run_ok("verify", self.folder / "out.mlyze")

    def test_a_limit_of_the_recording_process_itself(self):
        program = programs.build(self.folder, "program", sources.FILE_LIMIT)
        command = f"ulimit -S -f 200; exec '{sextant.program()}' record --plain -o out.mlyze -- '{program}' 100000000"
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 6, done)
        self.assertRegex(done.stderr, r"(?m)^sextant: .*File too large.*compressed instead")
        self.assert_nothing_left("out.mlyze")
        self.run_ok("verify", self.folder / "out.mlyze")

    @unittest.skipIf(sextant.SANITIZED, "a sanitizer needs much address space")
    def test_short_memory(self):
        program = programs.build(self.folder, "program", programs.SAMPLED)
        for limit in (12000, 30000, 50000):
            result = self.record("sh", "-c", f"ulimit -v {limit}; exec {program}", quiet=False)
            self.run_ok("verify", self.folder / "out.mlyze")
            if limit < 40000:
                self.assertIn("out of memory", result.err)


class Kinds(ProgramsTest):
    def assert_unseen(self, result, why):
        self.assertRegex(result.err, r"^sextant: .*nothing was recorded: .*" + why)
        self.assertEqual(len(result.err.splitlines()), 1)
        self.run_ok("verify", self.folder / "out.mlyze")

    def test_sanitizers(self):
        source = "#include <stdlib.h>\n#include <unistd.h>\nstatic char *volatile block;\nint main(void)\n{\n" \
                 "    block = malloc(10);\n    block[0] = 'x';\n    if (write(1, block, 1) != 1)\n        return 1;\n" \
                 "    free(block);\n    return 3;\n}\n"
        for name in ("address", "thread"):
            try:
                program = samples.compile_c(self.folder, "program", f"-fsanitize={name}", source=source)
            except AssertionError:
                self.skipTest(f"there is no {name} sanitizer")
            result = self.record(program, status=3, quiet=False)
            self.assertEqual(result.out, b"x")
            self.assert_unseen(result, "sanitizer")
            result = self.record("sh", "-c", f"{program}; exit 5", status=5)
            self.assertEqual(result.out, b"x")
            result = self.record("sh", "-c", f"{program}; exit 5", status=5, options=["--follow-fork"], quiet=False)
            self.assertEqual(result.out, b"x")
            self.assertIn("nothing was recorded", result.err)

    def test_static_programs(self):
        program = programs.build(self.folder, "program", programs.LEAKS, "-static-pie")
        self.assert_unseen(self.record(program, quiet=False), "static")
        if shutil.which("go") is None:
            self.skipTest("go is not installed")
        self.file("main.go", "package main\nfunc main() { println(len(make([]int, 10))) }\n")
        sextant_environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
        subprocess.run(["go", "build", "-o", "program", "main.go"], cwd=self.folder, check=True, env=sextant_environment)
        result = self.record(program, quiet=False)
        self.assertRegex(result.err, r"(?m)^sextant: .*nothing was recorded: .*static")

    def test_an_allocator_that_is_linked_in(self):
        library = next(pathlib.Path("/usr/lib").glob("*/libjemalloc.a"), None)
        if library is None:
            self.skipTest("there is no static jemalloc")
        program = programs.build(self.folder, "program", programs.LEAKS, library, "-lm", "-lstdc++", "-ldl")
        self.assertRegex(self.record(program, quiet=False).err, "its own allocator")

    @unittest.skipUnless(IS_ROOT and shutil.which("setcap"), "needs root and setcap")
    def test_programs_with_capabilities(self):
        self.let_others_in()
        program = programs.build(self.folder, "program", programs.LEAKS)
        if subprocess.run(["setcap", "cap_net_raw+ep", program], capture_output=True).returncode != 0:
            self.skipTest("capabilities cannot be given here")
        self.folder.chmod(0o777)
        result = sextant.run("record", "-o", self.folder / "out.mlyze", "--", program, unprivileged=True)
        self.assertEqual(result.status, 126, f"\n{result}")
        self.assertRegex(result.err, "^sextant: .*capabilities")
        self.assert_nothing_left()
        self.record(program)
        self.assertEqual(len(self.trace(programs.LEAKS).allocations()), 11, "to root it is a program like any other")


class Files(ProgramsTest):
    def test_what_cannot_be_started_leaves_nothing_behind(self):
        old = self.file("out.mlyze", b"old")
        odd = self.file("odd", b"#!/no/such/interpreter\n")
        odd.chmod(0o755)
        plain = self.file("plain", b"text")
        for command, status in ((self.folder / "nothing", 127), ("no-such-program", 127), (odd, 127), (plain, 126),
                                (self.folder, 126)):
            result = self.record(command, status=status, quiet=False)
            self.assert_one_error_line(result)
            self.assertEqual(old.read_bytes(), b"old")
            self.assert_nothing_left("out.mlyze")
        old.unlink()
        self.record(plain, status=126, quiet=False)
        self.assert_nothing_left()

    @unittest.skipIf(sextant.SANITIZED, "the child that is killed may be the sanitizer's, which is then waited for in vain")
    def test_a_program_that_is_killed_before_it_is_one(self):
        for _ in range(20):
            child = self.start("true", stderr=subprocess.DEVNULL)
            children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
            numbers = []
            while not numbers and child.poll() is None:
                numbers = children.read_text().split()
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(int(numbers[0]), signal.SIGKILL)
            self.assertIn(child.wait(), (0, 137))
            self.assertEqual(list(self.folder.glob("*.part*")), [])

    def test_outputs_that_cannot_be_are_refused_at_once(self):
        (self.folder / "folder.mlyze").mkdir()
        for output in ("folder.mlyze", "no/such/folder.mlyze", "/dev/null"):
            result = self.record("touch", self.folder / "ran", output=output, status=1, quiet=False)
            self.assert_one_error_line(result)
        self.run_usage("record", "-o", "-", "--", "touch", self.folder / "ran", cwd=self.folder)
        self.assertFalse((self.folder / "ran").exists())
        self.assertFalse((self.folder / "-").exists())
        self.assert_nothing_left("folder.mlyze")

    def test_an_old_trace_stays_until_there_is_a_new_one(self):
        old = self.file("out.mlyze", b"old")
        program = programs.build(self.folder, "program", programs.FOREVER)
        first = self.start(program, "slowly")
        self.assertEqual(first.stdout.readline(), b"ready\n")
        self.assertEqual(old.read_bytes(), b"old")
        # Another one, while the first is not finished; and then the first is killed.
        other = programs.build(self.folder, "other", programs.LEAKS)
        self.record(other)
        self.assertEqual(self.trace(programs.LEAKS).live(), {"leak": list(range(1, 11))})
        self.assert_nothing_left("out.mlyze", "out.mlyze.part")
        number = self.program_of(first)
        first.kill()
        first.wait()
        os.kill(number, 0)
        os.kill(number, signal.SIGKILL)
        self.record(other)
        self.assert_nothing_left("out.mlyze", "out.mlyze.part")
        part = self.folder / "out.mlyze.part"
        self.assertNotEqual(sextant.run("verify", part).status, 0)
        self.assertEqual(sextant.run("convert", "--recover", part, "-o", self.folder / "whole.mlyze").status, 0)
        self.assertGreater(len(self.trace(programs.FOREVER, "whole.mlyze").allocations()), 30000)

    def test_files_of_children_are_whole_or_not_at_all(self):
        program = programs.build(self.folder, "program", programs.FORKING)
        self.record(program, options=["--follow-fork"])
        self.assertEqual(len(self.others()), 1)
        self.assert_nothing_left("out.mlyze", self.others()[0].name)
        # What has the name of a child's file already is not its to write to.
        program = programs.build(self.folder, "program", families.TAKEN_NAME)
        result = self.record(program, quiet=False, options=["--follow-fork"])
        self.assertEqual(result.err, "sextant: 1 child ran unrecorded: the files cannot be created or belong to another "
                                     "recording\n")
        self.assertEqual([path.read_bytes() for path in self.folder.glob("*.part")], [b"mine\n"])


if __name__ == "__main__":
    tap.main()
