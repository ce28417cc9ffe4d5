"""record --mmap: what is mapped at any moment, compared with what the program and the kernel say."""

import re

from support import heap_programs as programs
from support import mapping_programs as sources
from support import sextant, tap
from support.recording import RecordTest

MB = 1 << 20
INCLUDE = f"-I{sextant.ROOT / 'include'}"


class Mappings(RecordTest):
    def run_recorded(self, source, *arguments, options=()):
        program = programs.build(self.folder, "program", source, INCLUDE, "-fPIE", "-pie")
        return self.record(program, *map(str, arguments), options=["--mmap", *options])

    def events(self):
        return self.run_ok("dump", "--json", self.folder / "out.mlyze").json_lines()

    def live_at_markers(self, low=0, high=1 << 64):
        """marker -> bytes of the live blocks in a range of addresses, by the events alone. No block may overlap another."""
        live, found = {}, {}
        for line in self.events():
            event = line.get("event")
            address = int(line["address"], 16) if "address" in line else 0
            if event == "alloc" and low <= address < high:
                self.assertNotIn(address, live)
                live[address] = line["size"]
            elif event == "free" and low <= address < high:
                self.assertIn(address, live)
                del live[address]
            elif event == "marker":
                found[line["name"]] = sum(live.values())
                blocks = sorted(live.items())
                for (start, size), (after, _) in zip(blocks, blocks[1:]):
                    self.assertLessEqual(start + size, after)
        return found

    def heap(self, *arguments):
        return self.run_ok("heap", "--json", self.folder / "out.mlyze", *arguments).json_lines()

    def test_random_calls(self):
        program = programs.build(self.folder, "program", sources.RANDOM, INCLUDE, "-fPIE", "-pie")
        for seed in range(12 if sextant.EVERYTHING else 3):
            with self.subTest(seed=seed):
                lines = self.record(program, str(seed), "1500", options=["--mmap"]).text.splitlines()
                start, size = lines[0].split()
                found = self.live_at_markers(int(start, 16), int(start, 16) + int(size))
                wanted = {}
                for line in lines[1:]:
                    name, model, kernel = line.split(";")
                    self.assertEqual(model, kernel, f"the program's model at {name}")
                    wanted[name] = int(model)
                self.assertGreater(len(set(wanted.values())), 10)
                self.assertEqual(found, wanted)

    def test_a_mapping_that_is_cut_is_not_temporary(self):
        self.run_recorded(r"""
            #include <sys/mman.h>
            #include <unistd.h>
            int main(void)
            {
                for (int i = 0; i < 10; i++) {
                    char *all = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                    char *start = (char *)(((unsigned long)all + (4 << 20)) & ~((4ul << 20) - 1));
                    munmap(all, start - all); /* for the sake of alignment */
                    munmap(start + (4 << 20), all + (8 << 20) - (start + (4 << 20)));
                }
                void *other = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                munmap(other, 4096);
                return 0;
            }
        """)
        (summary,) = self.heap()
        self.assertEqual((summary["temporary_allocations"], summary["temporary_bytes"]), (1, 4096))
        self.assertEqual((summary["leaked_allocations"], summary["leaked_bytes"]), (10, 40 * MB))

    def test_every_kind_of_call(self):
        self.run_recorded(sources.CASES)
        marked = re.findall(r'sextant_mark\("([^"]*)"\); */\* (\d+) \*/', sources.CASES)
        wanted = {name: int(size) * MB for name, size in marked}
        self.assertEqual(len(wanted), 18)
        self.assertEqual(self.live_at_markers(), wanted)

    def test_heap_says_the_same(self):
        self.run_recorded(sources.CASES)
        for marker, size in (("trimmed", 400), ("hole", 300), ("reserved", 0), ("less", 35), ("fixed", 8)):
            lines = self.heap("--at", marker)
            self.assertEqual(lines[0]["live_bytes"], size * MB, marker)
        summary = self.heap()[-1]
        self.assertEqual((summary["peak_bytes"], summary["leaked_bytes"]), (800 * MB, 0))

    def test_parts_keep_the_stack_of_the_whole(self):
        self.run_recorded(sources.CASES)
        marks = programs.marks(sources.CASES)
        stacks, live, sites = {}, {}, {}
        for line in self.events():
            if "frames" in line:
                stacks[line["stack"]] = line["frames"]
            elif line.get("event") == "alloc":
                live[line["address"]] = line
            elif line.get("event") == "free":
                del live[line["address"]]
            elif line.get("event") == "marker":
                sites[line["name"]] = [(one["stack"], one["size"]) for one in live.values()]

        def lines_of(stack):
            return {frame["line"] for frame in stacks[stack] if frame["function"] == "main"}

        self.assertEqual([size for _, size in sites["hole"]], [100 * MB, 200 * MB])
        for stack, _ in sites["hole"]:
            self.assertEqual(lines_of(stack), {marks["trimmed"]})
        ((stack, size),) = sites["committed"]
        self.assertEqual((lines_of(stack), size), ({marks["committed"]}, 20 * MB))

    def test_threads(self):
        self.run_recorded(sources.THREADS)
        live = {}
        for line in self.events():
            if line.get("event") == "alloc":
                live[line["address"]] = line["size"]
            elif line.get("event") == "free":
                live.pop(line["address"])
        self.assertEqual([size for size in live.values() if size % 4096 == 0], [7 * 4096])

    def test_a_sample_is_near_the_truth(self):
        self.run_recorded(sources.CASES, options=["--sample", "64k"])
        lines = self.heap("--at", "hole")
        self.assertAlmostEqual(lines[0]["live_bytes"] / (300 * MB), 1, delta=0.01)
        self.assertEqual(self.heap()[-1]["leaked_bytes"], 0)


if __name__ == "__main__":
    tap.main()
