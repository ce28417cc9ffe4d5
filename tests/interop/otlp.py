#!/usr/bin/env python3
"""OTLP profiles are exchanged with the messages that OpenTelemetry generates from its .proto files.

They are in PyPI's opentelemetry-proto, which is installed in the folder `interop/otlp` of the build directory, which the
environment variable SXT_BUILD names (build under the source root by default), once for each version of the schema: 1.7,
1.9 and 1.10, and the newest. Everything is skipped where venv, pip or the registry is missing. A version runs in a process
of its own, because Python loads a package once.

A message with thousands of locations of real binaries is written by the package, as protobuf and JSON, filled by sextant,
and read by the package. The names must be those of `lookup`, all else must be unchanged, and the package must write the same
bytes.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from support import elf_reader, sextant, tap

# The package's version of the schema is not its own: 1.35 has opentelemetry-proto 1.7, 1.40 has 1.9, 1.45.2 has 1.10.
VERSIONS = {"1.7": "==1.35.0", "1.9": "==1.40.0", "1.10": "==1.45.2", "newest": ""}
BINARIES = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/bash", str(sextant.program())]
DOWNLOAD_SECONDS = 180
BASE = 0x7F00_0000_0000
COUNT = 3000
DEPTH = 5


def install(name, version):
    """The folder with the package, or the reason why there is none."""
    folder = pathlib.Path(os.environ.get("SXT_BUILD") or ROOT / "build").resolve() / "interop" / "otlp" / name
    if name != "newest" and (folder / "opentelemetry").is_dir():
        return folder, None
    python = folder.parent / "venv" / "bin" / "python"
    make = [sys.executable, "-m", "venv", python.parents[1]]
    get = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target", folder,
           "opentelemetry-proto" + version]
    try:
        if not python.exists():
            made = subprocess.run(make, capture_output=True, timeout=DOWNLOAD_SECONDS, check=False)
            if made.returncode != 0:
                return None, "a virtual environment cannot be made"
        done = subprocess.run(get, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {DOWNLOAD_SECONDS} s"
    return (folder, None) if done.returncode == 0 else (None, (done.stderr.strip().splitlines() or ["pip failed"])[-1])


class Package(unittest.TestCase):
    """A case for each version."""


def check_version(case, name):
    folder, problem = install(name, VERSIONS[name])
    if problem:
        case.skipTest(problem)
    for binary in BINARIES:
        if os.path.exists(binary):
            environment = {**os.environ, "PYTHONPATH": str(folder)}
            done = subprocess.run([sys.executable, __file__, "--exchange", binary], env=environment, capture_output=True,
                                  text=True, timeout=300, check=False)
            case.assertEqual(done.returncode, 0, f"{binary}\n{done.stdout}{done.stderr}")


for version in VERSIONS:
    setattr(Package, f"test_version_{version.replace('.', '_')}", lambda case, name=version: check_version(case, name))


# --- in a process with one version of the package ---


class Exchange:
    def __init__(self, binary):
        from google.protobuf import json_format
        from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2
        self.json = json_format
        self.kind = profiles_service_pb2.ExportProfilesServiceRequest
        self.binary = binary
        self.folder = pathlib.Path(os.environ.get("SXT_BUILD") or ROOT / "build").resolve() / "interop" / "otlp"
        self.request = self.kind()
        self.has_stacks = hasattr(self.request.dictionary, "stack_table")
        self.fill_request()

    def fill_request(self):
        elf = elf_reader.ElfFile.open(self.binary)
        segment = next(one for one in elf.segments if one.type == elf_reader.PT_LOAD and one.flags & 1)
        tables = self.request.dictionary
        for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.link_table,
                      tables.attribute_table):
            table.add()
        tables.string_table.extend(["", "process.executable.build_id.gnu", "unused"])
        attribute = tables.attribute_table.add()
        attribute.value.string_value = elf.build_id()
        if self.has_stacks:
            attribute.key_strindex = 1
        else:
            attribute.key = tables.string_table[1]
        mapping = tables.mapping_table.add(memory_start=BASE + (segment.vaddr & ~0xFFF), file_offset=segment.offset & ~0xFFF,
                                           memory_limit=BASE + segment.vaddr + segment.memsz)
        mapping.attribute_indices.append(1)
        chances = random.Random(3)
        self.addresses = [segment.vaddr + chances.randrange(1, segment.memsz) for _ in range(COUNT)]
        for address in self.addresses:
            tables.location_table.add(mapping_index=1, address=BASE + address)
        profile = self.request.resource_profiles.add().scope_profiles.add().profiles.add(profile_id=b"0123456789abcdef")
        if self.has_stacks:
            tables.stack_table.add()
        for first in range(1, COUNT, DEPTH):
            self.add_sample(profile, range(first, first + DEPTH))

    def add_sample(self, profile, locations):
        if self.has_stacks:
            stacks = self.request.dictionary.stack_table
            stacks.add().location_indices.extend(locations)
            profile.samples.add(stack_index=len(stacks) - 1).values.append(7)
        else:
            start = len(profile.location_indices)
            profile.location_indices.extend(locations)
            profile.sample.add(locations_start_index=start, locations_length=DEPTH).value.append(7)

    def symbolize(self, data, ending):
        source, result = self.folder / f"in{ending}", self.folder / f"out{ending}"
        source.write_bytes(data)
        where = ("--search", self.binary, "--no-local")
        subprocess.run([sextant.program(), "symbolize", source, "-o", result, "-q", *where], check=True)
        return result.read_bytes()

    def run(self):
        out = self.symbolize(self.request.SerializeToString(), ".otlp")
        filled = self.kind.FromString(out)
        assert filled.SerializeToString() == out, "the package writes other bytes"
        for snake in (False, True):
            text = self.json.MessageToJson(self.request, preserving_proto_field_name=snake).encode()
            assert self.json.Parse(self.symbolize(text, ".json"), self.kind()) == filled, "JSON has another result"
        self.compare_names(filled)
        self.compare_rest(filled)

    def compare_names(self, filled):
        questions = [address - (index % DEPTH != 0) for index, address in enumerate(self.addresses)]
        text = "".join(f"0x{one:x}\n" for one in questions)
        command = [sextant.program(), "lookup", self.binary, "--json"]
        answers = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        tables, names = filled.dictionary, filled.dictionary.string_table
        assert len(answers) == COUNT
        for location, answer in zip(tables.location_table[1:], answers):
            lines = location.lines if self.has_stacks else location.line
            functions = [tables.function_table[line.function_index] for line in lines]
            got = [(names[one.name_strindex], names[one.filename_strindex], line.line)
                   for one, line in zip(functions, lines)]
            expected = [(one["function"], one["file"] or "", one["line"] or 0) for one in json.loads(answer)["frames"]]
            assert got == expected, f"0x{location.address:x}: {got}, not {expected}"

    def compare_rest(self, filled):
        tables, before = filled.dictionary, self.request.dictionary
        for location in tables.location_table:
            location.ClearField("lines" if self.has_stacks else "line")
        del tables.function_table[len(before.function_table):]
        del tables.string_table[len(before.string_table):]
        assert filled == self.request, "more has changed than lines, functions and strings"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--exchange"]:
        Exchange(sys.argv[2]).run()
    else:
        tap.main()
