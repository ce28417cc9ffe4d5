"""What a sampled trace does not show is not stated: which allocations are temporary. All other figures are estimates."""

import csv
import io
import re

from support import heap_programs as programs
from support import sextant, tap
from support.recording import RecordTest


class Sampled(RecordTest):
    def setUp(self):
        super().setUp()
        program = programs.build(self.folder, "program", programs.SAMPLED)
        self.record(program, options=["--sample", "64k"])
        self.record(program, output="all.mlyze")
        self.path, self.whole = self.folder / "out.mlyze", self.folder / "all.mlyze"

    def test_temporary_allocations_are_not_known(self):
        for arguments in ((), ("--top",), ("--by", "function"), ("--stack", "0")):
            with self.subTest(arguments=arguments):
                for line in self.run_ok("heap", "--json", *arguments, self.path).json_lines():
                    self.assertIs(line["estimated"], True)
                    self.assertIsNone(line["temporary_bytes"])
                    self.assertIsNone(line["temporary_allocations"])
                self.assertNotIn("temporary", self.run_ok("heap", *arguments, self.path).text)
                for line in self.run_ok("heap", "--json", *arguments, self.whole).json_lines():
                    self.assertIsInstance(line["temporary_bytes"], int)
        rows = list(csv.DictReader(io.StringIO(self.run_ok("heap", "--csv", "--top", self.path).text)))
        self.assertEqual({(row["temporary_bytes"], row["temporary_allocations"]) for row in rows}, {("", "")})
        self.assertGreater(int(rows[0]["allocated_bytes"]), 0)

    def test_record_prints_the_same_estimates(self):
        source = programs.SAMPLED.replace("300000", "40000").replace("malloc(1024)", "malloc((size_t)i % 3 * 50000)")
        program = programs.build(self.folder, "mixed", source)
        result = sextant.run("record", "-o", self.path, "--sample", "64k", "--", program)
        (summary,) = self.run_ok("heap", "--json", self.path).json_lines()
        found = re.search(r"^sextant: estimated from the sample: peak about (.*) in (.*) blocks?; "
                          r"leaked about (.*) in (.*) blocks?$", result.err, re.MULTILINE)  # fmt: skip
        self.assertIsNotNone(found, result.err)
        units = {"bytes": 1, "kB": 1e3, "MB": 1e6}
        for amount, name in (found[1], "peak_bytes"), (found[3], "leaked_bytes"):
            number, unit = amount.split()
            self.assertAlmostEqual(float(number) * units[unit] / summary[name], 1, delta=0.01)
        for amount, name in (found[2], "peak_allocations"), (found[4], "leaked_allocations"):
            self.assertAlmostEqual(int(amount.replace(",", "")) / summary[name], 1, delta=0.2)
        self.assertIn(" sampled allocations at ", result.err)

    def test_asking_for_them_is_an_error(self):
        for arguments in (("--temporary",), ("--temporary=2",), ("--cost", "temporary"), ("--top=temporary",)):
            result = self.run_error("heap", *arguments, self.path, naming=self.path)
            self.assertIn("a sample does not show which allocations are temporary", result.err)
            self.run_ok("heap", *arguments, self.whole)

    def test_differences_are_estimates_too(self):
        for first, second, words in ((self.path, self.path, "all figures are estimates"),
                                     (self.whole, self.path, "different sampling periods"),
                                     (self.path, self.whole, "different sampling periods")):  # fmt: skip
            result = self.run_warned("diff", first, second)
            self.assertRegex(result.err, f"^sextant: warning: the traces .*{words}")
        self.run_ok("diff", self.whole, self.whole)

    def test_sizes_are_those_of_the_blocks(self):
        """A block of 1024 bytes counts for about 64 of them, and not for one of 64 KiB."""
        for arguments in ((), ("--leaks",), ("--peak",), ("--depth", "1")):
            rows = self.run_ok("heap", "--by", "size", "--json", *arguments, self.path).json_lines()
            sizes = {row["size"]: row for row in rows}
            total = self.run_ok("heap", "--json", self.path).json_lines()[0]
            self.assertIn("1024-2047", sizes)
            row = sizes["1024-2047"]
            self.assertGreater(row["allocated_bytes"], 0.9 * total["allocated_bytes"])
            self.assertAlmostEqual(row["allocated_bytes"] / row["allocations"], 1024, delta=50)
            if arguments == ():
                self.assertEqual(sum(row["peak_bytes"] for row in rows), total["peak_bytes"])

    def test_tables_say_that_they_are_estimates(self):
        for arguments in ((), ("--top",), ("--peak",), ("--leaks",), ("--by", "function")):
            text = self.run_ok("heap", *arguments, self.path).text
            self.assertRegex(text, r"\nestimated +from [\d,]+ samples?, one for every")
            self.assertNotIn("estimated", self.run_ok("heap", *arguments, self.whole).text)


if __name__ == "__main__":
    tap.main()
