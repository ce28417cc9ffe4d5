"""Recording the heap of programs whose allocations are known exactly, and of real ones, which must not notice."""

import collections
import itertools
import os
import re
import signal
import shutil
import subprocess
import time
import unittest

from support import heap_programs as programs
from support import mlyze_writer, samples, sextant, tap
from support.recording import RecordTest


class Exactness(RecordTest):
    FAMILY = [("malloc", 100), ("calloc", 77), ("malloc zero", 0), ("realloc of nothing", 50), ("realloc in place", 52),
              ("after it", 24), ("realloc moving", 90000), ("freed by realloc", 33), ("survives", 34), ("reallocarray", 15),
              ("posix_memalign", 200), ("aligned_alloc", 128), ("memalign", 10), ("valloc", 300), ("pvalloc", 5)]

    def test_every_function_of_the_family(self):
        for flags in ((), ("-fno-omit-frame-pointer",), ("-O2", "-fomit-frame-pointer"), ("-O0",)):
            with self.subTest(flags=flags):
                trace = self.recorded(programs.FAMILY, flags=flags)
                self.assertEqual([(site, size) for site, size, _ in trace.allocations()], self.FAMILY)
                self.assertEqual(trace.live(), {"survives": [34], "reallocarray": [15]})
                self.assertEqual(trace.count("free"), len(self.FAMILY) - 2)

    def test_leaks_at_known_lines(self):
        for flags in ((), ("-fno-omit-frame-pointer",), ("-O2",)):
            trace = self.recorded(programs.LEAKS, flags=flags)
            self.assertEqual(trace.live(), {"leak": list(range(1, 11))})
            self.assertEqual(trace.stack_of("leak")[:3], ["inner", "outer", "main"])
            self.assertEqual(trace.stack_of("leak")[-1], "_start")

    def test_threads_that_free_each_others_blocks(self):
        trace = self.recorded(programs.THREADS)
        by_thread = collections.Counter(size for _, size, _ in trace.allocations())
        self.assertEqual(by_thread, {1: 5000, 2: 5000, 3: 5000, 4: 5000})
        threads = {size: {thread for _, s, thread in trace.allocations() if s == size} for size in by_thread}
        self.assertTrue(all(len(those) == 1 for those in threads.values()), threads)
        self.assertEqual(trace.live(), {}, "every block was freed, and none before it was allocated")
        self.assertEqual(trace.metadata["threads"]["0"], "main")

    def test_many_short_threads_share_the_room(self):
        trace = self.recorded(programs.MANY_SHORT_THREADS)
        found = [(size, thread) for site, size, thread in trace.allocations() if site == "short"]
        self.assertEqual([size for size, _ in found], list(range(1, 501)))
        self.assertEqual(len({thread for _, thread in found}), 500)
        self.assertEqual(trace.live(), {})

    def test_deep_stacks_keep_their_innermost_frames(self):
        trace = self.recorded(programs.DEEP)
        stacks = [trace.functions(event[4]) for event in trace.raw if event[0] == "alloc" and trace.site(event[4])]
        self.assertEqual([len([name for name in stack if name == "down"]) for stack in stacks], [128, 101, 128, 6])
        self.assertEqual(stacks[1][101], "main")

    def test_stacks_of_coroutines_and_signal_handlers(self):
        trace = self.recorded(programs.COROUTINES)
        self.assertEqual(trace.stack_of("on another stack")[:2], ["on_other_stack", "entry"])
        self.assertEqual(len(trace.allocations()), 100)
        trace = self.recorded(programs.SIGNALS)
        stacks = [trace.functions(event[4]) for event in trace.raw if event[0] == "alloc" and trace.site(event[4])]
        self.assertEqual(len(stacks), 2)
        for stack in stacks:
            self.assertEqual(stack[0], "handler")
            self.assertIn("interrupted", stack)
            self.assertIn("main", stack)

    def test_outer_frames_that_changed_below_inner_ones(self):
        for flags in ((), ("-fno-omit-frame-pointer",), ("-O2",)):
            trace = self.recorded(programs.CALLERS, flags=flags)
            stacks = [trace.functions(event[4])[:4] for event in trace.raw if event[0] == "alloc" and trace.site(event[4])]
            self.assertEqual(stacks, [["inner", "middle", "first", "main"], ["inner", "middle", "second", "main"]] * 3)

    @unittest.skipUnless(os.uname().machine == "x86_64", "the code is for x86")
    def test_code_without_rules_is_no_danger(self):
        trace = self.recorded(programs.NO_RULES)
        self.assertEqual(len(trace.allocations()), 23)
        self.assertEqual(trace.stack_of("below odd code")[:2], ["allocate", "odd"])

    def test_libraries_that_come_and_go_at_the_same_place(self):
        libraries = []
        for name, size, padding in (("one", 101, 0), ("two", 202, 64), ("three", 303, 4000)):
            source = programs.LIBRARY.replace("NAME", name)
            libraries.append(samples.compile_c(self.folder, f"lib{name}.so", "-g", "-shared", "-fPIC", "-fno-inline",
                                               f"-DSIZE={size}", f"-DPADDING={padding}", source=source))
        trace = self.recorded(programs.MODULES, *libraries)
        found = [(event[3], trace.functions(event[4])[:3]) for event in trace.raw
                 if event[0] == "alloc" and event[3] in (101, 202, 303)]
        self.assertEqual(found, [(size, [f"{name}_inner", "run", "main"])
                                 for size, name in ((101, "one"), (202, "two"), (303, "three"))] * 3)

    def test_what_the_program_reports_itself(self):
        flags = (f"-I{sextant.ROOT / 'include'}", "-fPIE", "-pie")
        trace = self.recorded(programs.API, flags=flags)
        told = [event for event in trace.raw if event[0] in ("marker", "gc")]
        names = [trace.metadata["functions"][str(event[2])] if event[0] == "marker" else event[2:] for event in told]
        self.assertEqual(names, ["phase one", (12, 3456), "phase two", "phase one"])
        self.assertEqual([(site, size) for site, size, _ in trace.allocations()], [("first", 1), ("pool", 64)])
        self.assertEqual(trace.live(), {})
        self.assertEqual(subprocess.run([self.folder / "program"]).returncode, 9, "it must run without the recorder too")

    def test_mappings_when_they_are_wanted(self):
        trace = self.recorded(programs.MAPPINGS, options=["--mmap"])
        self.assertEqual([(site, size) for site, size, _ in trace.allocations()], [("mapped", 8192), ("moved", 1 << 20)])
        self.assertEqual(trace.live(), {})
        self.assertEqual(self.recorded(programs.MAPPINGS).allocations(), [])

    def test_a_sample_is_marked_and_near_the_truth(self):
        period = 65536
        trace = self.recorded(programs.SAMPLED, options=["--sample", "64k"])
        sizes = [size for site, size, _ in trace.allocations() if site == "sampled"]
        estimate = sum(size / (1 - 2.718281828459045 ** (-size / period)) for size in sizes)
        self.assertAlmostEqual(estimate / (300000 * 1024), 1, delta=0.1)
        self.assertEqual(trace.metadata["sample_period"], period)
        self.assertLess(len(trace.live().get("sampled", [])), 100)


class Behaviour(RecordTest):
    def same(self, *command, stdin=b"", **keywords):
        """Runs COMMAND with and without the recorder; output and status must be the same."""
        plain = subprocess.run([os.fspath(word) for word in command], input=stdin, capture_output=True, cwd=self.folder)
        result = self.record(*command, status=plain.returncode, stdin=stdin, **keywords)
        self.assertEqual(result.out, plain.stdout)
        self.run_ok("verify", self.folder / "out.mlyze")
        return result

    def test_real_programs_run_unchanged(self):
        source = self.file("a.c", "#include <stdio.h>\nint main(void) { return printf(\"x\"); }\n")
        python = ("import json, threading\n"
                  "ts = [threading.Thread(target=lambda: json.dumps(list(range(9999)))) for _ in 'abc']\n"
                  "[t.start() for t in ts]; [t.join() for t in ts]; print('done'); raise SystemExit(3)")
        self.same("python3", "-c", python)
        self.same("sh", "-c", "echo a | cat; ls / | wc -l; exit 5")
        self.same("gcc", "-O1", "-S", "-o", "-", source)
        self.same("gcc", "-c", source, "-o", "/nowhere/at/all.o", quiet=False)
        for command in (["git", "--version"], ["sqlite3", ":memory:", "select sum(value) from generate_series(1,9);"],
                        ["perl", "-e", "print join ',', map { $_ ** 2 } 1..9"], ["sort", "-n"]):
            if shutil.which(command[0]):
                self.same(*command, stdin=b"3\n1\n2\n")

    def test_the_exit_status_is_the_programs(self):
        for command, status in (("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137), ("kill -SEGV $$", 139)):
            self.record("sh", "-c", command, status=status)
            self.run_ok("verify", self.folder / "out.mlyze")
        result = self.record(self.folder / "nothing", status=127, quiet=False)
        self.assert_one_error_line(result)

    def test_nothing_is_lost_when_the_program_is_killed(self):
        child = self.start(programs.build(self.folder, "program", programs.FOREVER))
        self.assertEqual(child.stdout.readline(), b"ready\n")
        os.kill(self.program_of(child), signal.SIGKILL)
        self.assertEqual(child.wait(), 137)
        self.assertGreater(len(self.trace(programs.FOREVER).allocations()), 30000)

    def test_both_ways_give_the_same_size(self):
        """A plain trace that is compressed has about the size that record writes, also if it is small."""
        for command in ("true",), ("ls", "/usr"):
            self.record(*command)
            path, plain, again = (self.folder / name for name in ("out.mlyze", "plain.mlyze", "again.mlyze"))
            self.run_ok("convert", "--plain", path, "-o", plain)
            self.run_ok("convert", "--compress", plain, "-o", again)
            self.assertAlmostEqual(again.stat().st_size, path.stat().st_size, delta=path.stat().st_size // 50)
            self.run_ok("convert", "--decompress", again, "-o", self.folder / "back.mlyze")
            self.assertEqual((self.folder / "back.mlyze").read_bytes(), plain.read_bytes())

    def test_what_is_beside_an_older_trace_is_removed(self):
        caches = [self.folder / f"out.mlyze{ending}" for ending in (".idx", ".live")]
        self.record("true")
        for options in (["--decompress"], ["--plain"], ["--recover"], []):
            with self.subTest(options=options):
                self.run_ok("convert", "--compress", self.folder / "out.mlyze", "-o", self.folder / "out.mlyze")
                self.assertTrue(all(path.exists() for path in caches))
                self.run_ok("convert", *options, self.folder / "out.mlyze", "-o", self.folder / "out.mlyze")
                self.assertFalse(any(path.exists() for path in caches))
        self.run_ok("convert", "--compress", self.folder / "out.mlyze", "-o", self.folder / "out.mlyze")
        self.record("true")
        self.assertFalse(any(path.exists() for path in caches))
        for path in caches:
            path.write_text("of somebody else")
        self.record("true")
        self.assertTrue(all(path.exists() for path in caches))

    def form(self, name):
        """How the events of a trace are stored."""
        header = mlyze_writer.read_header((self.folder / name).read_bytes())
        return "columns" if header["flags"] & mlyze_writer.FLAG_BLOCKS else "plain"

    def test_a_recording_that_was_cut_off_can_be_recovered(self):
        child = self.start(programs.build(self.folder, "program", programs.FOREVER))
        self.assertEqual(child.stdout.readline(), b"ready\n")
        number = self.program_of(child)
        child.kill()
        os.kill(number, signal.SIGKILL)
        child.wait()
        # Nothing was there before, so what was recorded has the name of the trace as well.
        for name in ("out.mlyze.part", "out.mlyze"):
            self.assertEqual(sextant.run("verify", self.folder / name).status, 1)
            self.assertIn("cut off", sextant.run("heap", self.folder / name).err)
            recovered = sextant.run("convert", "--recover", self.folder / name, "-o", self.folder / "whole.mlyze")
            self.assertEqual(recovered.status, 0, recovered)
            self.assertEqual(self.form("whole.mlyze"), "columns", "as record writes it")
            self.assertGreater(len(self.trace(programs.FOREVER, "whole.mlyze").allocations()), 30000)
            self.assertFalse((self.folder / "whole.mlyze.idx").exists())
        for option in ("--plain", "--decompress"):
            self.run_ok("convert", "--recover", option, self.folder / "out.mlyze", "-o", self.folder / "plain.mlyze")
            self.assertEqual(self.form("plain.mlyze"), "plain")
        self.run_ok("convert", "--recover", "--compress", self.folder / "out.mlyze", "-o", self.folder / "plain.mlyze")
        self.assertEqual(self.form("plain.mlyze"), "columns")
        self.assertTrue((self.folder / "plain.mlyze.idx").exists())
        for option in ("--plain", "--decompress"):
            result = sextant.run("convert", "--recover", "--compress", option, self.folder / "out.mlyze", "-o", "x")
            self.assertEqual(result.status, 2)
            self.assertIn(f"--compress and {option} cannot be used together", result.err)
        # And in its own place.
        self.run_ok("convert", "--recover", self.folder / "out.mlyze", "-o", self.folder / "out.mlyze")
        self.assertGreater(len(self.trace(programs.FOREVER).allocations()), 30000)

    def test_duration_and_signal_stop_the_recording_but_not_the_program(self):
        program = programs.build(self.folder, "program", programs.FOREVER)
        for options, stop in ((["--duration", "0.5"], None), ([], signal.SIGUSR1)):
            output = self.folder / "out.mlyze"
            output.unlink(missing_ok=True)
            child = self.start(program, "slowly", options=options)
            self.assertEqual(child.stdout.readline(), b"ready\n")
            if stop is not None:
                child.send_signal(stop)
            deadline = time.monotonic() + 20
            while (self.folder / "out.mlyze.part").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            self.run_ok("verify", output)
            self.assertIsNone(child.poll(), "the program goes on")
            child.send_signal(signal.SIGTERM)
            self.assertEqual(child.wait(), 128 + signal.SIGTERM)

    def test_children(self):
        program = programs.build(self.folder, "program", programs.FORKING)
        self.record(program)
        trace = programs.Recorded(self.folder / "out.mlyze", programs.FORKING)
        self.assertEqual([(site, size) for site, size, _ in trace.allocations()], [("before", 11), ("after", 33)])
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.mlyze")), ["out.mlyze"])
        self.record(program, options=["--follow-fork"])
        others = [path for path in self.folder.glob("out.*.mlyze")]
        self.assertEqual(len(others), 1)
        self.run_ok("verify", others[0])
        child = programs.Recorded(others[0], programs.FORKING)
        self.assertEqual([(site, size) for site, size, _ in child.allocations()], [("in the child", 22)])
        self.assertEqual(child.stack_of("in the child"), ["main", *child.stack_of("in the child")[1:]])
        parent = programs.Recorded(self.folder / "out.mlyze", programs.FORKING)
        self.assertEqual(child.metadata["parent"], parent.metadata["pid"])

    def test_children_that_execute_other_programs(self):
        self.record("sh", "-c", "ls / >/dev/null; true", options=["--follow-fork"], output="%p.mlyze")
        self.assertEqual(len(list(self.folder.glob("*.mlyze"))), 2)
        self.record("env", "X=1", "sh", "-c", "exec python3 -c 'print(1)'")
        modules = [module["path"] for module in programs.Recorded(self.folder / "out.mlyze").metadata["modules"]]
        self.assertTrue(any("python" in path for path in modules[:1]), modules)

    def test_programs_that_close_all_descriptors(self):
        victim = self.file("victim", b"precious")
        trace = self.recorded(programs.CLOSES_DESCRIPTORS, victim)
        self.assertEqual(victim.read_bytes(), b"precious")
        self.assertEqual(len(trace.allocations()), 60000)

    def test_a_full_disk_ends_the_recording_and_not_the_program(self):
        program = programs.build(self.folder, "program", programs.SAMPLED)
        command = [sextant.program(), "record", "-q", "-o", self.folder / "out.mlyze", "--",
                   "sh", "-c", f"ulimit -f 2000; exec {program}"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, r"^sextant: .*recording stopped.*limit")
        self.run_ok("verify", self.folder / "out.mlyze")
        trace = programs.Recorded(self.folder / "out.mlyze", programs.SAMPLED)
        self.assertGreater(len(trace.allocations()), 10000)

    @unittest.skipIf(sextant.SANITIZED, "a sanitizer wants to be loaded first, in sextant itself too")
    def test_a_preloaded_library_stays(self):
        other = samples.compile_c(self.folder, "other.so", "-shared", "-fPIC", source="int marker_of_other = 1;\n")
        result = self.record("sh", "-c", "grep -c other.so /proc/$$/maps >/dev/null && echo yes",
                             env={"LD_PRELOAD": os.fspath(other)})
        self.assertEqual(result.text, "yes\n")

    def test_compressed_with_an_index(self):
        program = programs.build(self.folder, "program", programs.LEAKS)
        self.record(program, options=["--compress"])
        self.run_ok("verify", self.folder / "out.mlyze")
        self.assertTrue((self.folder / "out.mlyze.idx").exists())

    def test_addresses_can_stay(self):
        trace = self.recorded(programs.LEAKS, options=["--no-symbols"])
        frames = [frame for stack in trace.stacks.values() for frame in stack]
        self.assertTrue(all(re.fullmatch(r".*\+0x[0-9a-f]+", function) and line == 0 for function, _, line in frames))
        unresolved = trace.metadata["unresolved"]
        module = trace.metadata["modules"][next(iter(unresolved.values()))["module"]]
        self.assertTrue(module["path"].startswith("/") and re.fullmatch("[0-9a-f]*", module["build_id"]), module)


class Allocators(RecordTest):
    """Which programs get the warning that they have an allocator linked in: those that have one, and no others."""

    WARNING = r"^sextant: .*was recorded: .*its own allocator"

    def build_without_pie(self, name, source, *flags):
        return samples.compile_c(self.folder, name, "-g", "-fno-pie", "-no-pie", "-fno-builtin", *flags, source=source)

    def value_of_undefined_malloc(self, program):
        """The value of the dynamic symbol malloc, which must be undefined."""
        listing = sextant.tool("readelf", "-W", "--dyn-syms", program).decode()
        values = re.findall(r"^ *\d+: ([0-9a-f]+) .* UND malloc(?:@.*)?$", listing, re.MULTILINE)
        self.assertEqual(len(values), 1, listing)
        return int(values[0], 16)

    def assert_all_seen(self, program, source):
        self.assertNotEqual(self.value_of_undefined_malloc(program), 0, "malloc must have a canonical PLT entry")
        self.record(program)
        trace = self.trace(source)
        self.assertEqual([(site, size) for site, size, _ in trace.allocations()], [("called", 11), ("by address", 22)])

    def test_programs_that_are_not_pie_and_take_the_address_of_malloc(self):
        linkers = [linker for linker in ("bfd", "gold", "lld") if shutil.which(f"ld.{linker}")]
        for linker, style in itertools.product(linkers, ("gnu", "sysv")):
            with self.subTest(linker=linker, style=style):
                flags = (f"-fuse-ld={linker}", f"-Wl,--hash-style={style}")
                self.assert_all_seen(self.build_without_pie("program", programs.ADDRESS_OF_MALLOC, *flags),
                                     programs.ADDRESS_OF_MALLOC)

    @unittest.skipUnless(os.uname().machine == "x86_64" and shutil.which("ld.lld"), "needs x86 and lld")
    def test_programs_that_are_pie_and_take_the_address_of_malloc_without_the_got(self):
        source = programs.ADDRESS_OF_MALLOC.replace("allocate = malloc;", 'asm("lea malloc(%%rip), %0" : "=r"(allocate));')
        program = samples.compile_c(self.folder, "program", "-g", "-fPIE", "-pie", "-fuse-ld=lld", source=source)
        self.assert_all_seen(program, source)

    def test_interpreters_that_use_the_c_library(self):
        for command in (["/usr/bin/python3", "-c", "pass"], ["/usr/bin/perl", "-e", "1"], ["/usr/bin/node", "-e", "1"]):
            if os.path.exists(command[0]):
                with self.subTest(command=command):
                    self.record(*command)
                    self.run_ok("verify", self.folder / "out.mlyze")

    def test_an_allocator_that_is_linked_in(self):
        source = programs.ALLOCATOR + "void *volatile block;\nint main(void) { block = malloc(10); return block == NULL; }\n"
        for text in (source, source.replace("malloc(10)", "malloc")):
            for flags in (("-fPIE", "-pie"), ("-fno-pie", "-no-pie"), ("-rdynamic", "-Wl,--hash-style=sysv")):
                with self.subTest(text=text, flags=flags):
                    program = samples.compile_c(self.folder, "program", "-fno-builtin", *flags, source=text)
                    self.assertRegex(self.record(program, quiet=False).err, self.WARNING)

    def test_an_allocator_that_is_preloaded_before_the_recorder(self):
        library = samples.compile_c(self.folder, "allocator.so", "-shared", "-fPIC", "-fno-builtin",
                                    source=programs.ALLOCATOR)
        harmless = samples.compile_c(self.folder, "harmless.so", "-shared", "-fPIC", source="int harmless = 1;\n")
        pie = programs.build(self.folder, "pie", programs.LEAKS)
        not_pie = self.build_without_pie("not_pie", programs.ADDRESS_OF_MALLOC)
        for program in (pie, not_pie):
            with self.subTest(program=program.name):
                words = ["sh", "-c", f"LD_PRELOAD={library}:$LD_PRELOAD exec {program}"]
                self.assertRegex(self.record(*words, quiet=False).err, self.WARNING)
                self.record("sh", "-c", f"LD_PRELOAD={harmless}:$LD_PRELOAD exec {program}")


class Refusals(RecordTest):
    def test_static_programs_run_with_a_word(self):
        program = programs.build(self.folder, "program", programs.LEAKS, "-static")
        result = self.record(program, quiet=False)
        self.assertRegex(result.err, r"^sextant: .*nothing was recorded: .*static")

    def test_privileged_and_foreign_programs_are_refused(self):
        program = programs.build(self.folder, "program", programs.LEAKS)
        image = bytearray(program.read_bytes())
        for change, word in (((4, 1), "32-bit"), ((18, 0xF3), "another processor")):
            other = bytearray(image)
            other[change[0]] = change[1]
            path = self.file("other", bytes(other))
            path.chmod(0o755)
            result = self.record(path, status=126, quiet=False)
            self.assertIn(word, result.err)
        if os.geteuid() == 0:
            os.chown(program, 65534, 65534)
            program.chmod(0o4755)
            result = self.record(program, status=126, quiet=False)
            self.assertIn("set-user-ID", result.err)

    def test_the_summary_shows_control_bytes_of_a_name_as_numbers(self):
        program = programs.build(self.folder, "program", programs.LEAKS)
        result = sextant.run("record", "-o", self.folder / "red\x1b[31m\n.mlyze", "--", program)
        self.assertRegex(result.err, r"\Asextant: [ -~]*/red\\x1b\[31m\\x0a\.mlyze: [0-9]+ events?, [ -~]+ stacks?\n")

    def test_wrong_usage(self):
        self.run_usage("record")
        for options in (["--sample", "0"], ["--sample", "x"], ["--duration", "-1"], ["--duration", "soon"]):
            self.run_usage("record", *options, "--", "true")
        self.record("true", output="no/such/folder/out.mlyze", status=1, quiet=False)


if __name__ == "__main__":
    tap.main()
