"""The rules by which the recorder leaves frames, at each row of the tables of real files, compared with what readelf prints
about the same rows. On AArch64 too, in an emulator, where there is a cross compiler."""

import os
import pathlib
import re

from support import samples, sextant, tap

BUILT = pathlib.Path(os.environ.get("SXT_BUILD_DIR") or sextant.ROOT / "build") / "tests" / "programs" / "list_frame_rules"
CROSS, EMULATOR, CROSS_FOLDER = "aarch64-linux-gnu-gcc", "qemu-aarch64", pathlib.Path("/usr/aarch64-linux-gnu")
FEW, MANY = 10, 10000
# Names that readelf has for the stack pointer and the frame pointer.
REGISTERS = {"x86_64": ("rsp", "rbp"), "aarch64": ("sp", "x29")}


def rows(path):
    """(address, CFA, registers, is it a signal frame) of each row of .eh_frame. Registers are name -> how it is saved."""
    cies, names, end, is_signal = {}, [], 0, False
    text = sextant.tool("readelf", "-W", "--debug-dump=frames-interp,no-follow-links", path).decode()
    section = re.search(r"^Contents of the \.eh_frame section:\n(.*?)(?=^Contents of |\Z)", text, re.MULTILINE | re.DOTALL)
    for line in section[1].splitlines() if section else []:
        words = re.sub(r" \(\w+\)", "", line).split()  # a register that is in another one has two names: r10 (r10)
        if " CIE " in line:
            cies[words[0]] = "S" in re.search(r'CIE "(.*?)"', line)[1]
            end = 0  # its row belongs to no function
        elif " FDE " in line:
            is_signal = cies[re.search(r"cie=([0-9a-f]+)", line)[1]]
            end = int(re.search(r"pc=[0-9a-f]+\.\.([0-9a-f]+)", line)[1], 16)
        elif words[:2] == ["LOC", "CFA"]:
            names = words[2:]
        elif words and re.fullmatch("[0-9a-f]{16}", words[0]) and int(words[0], 16) < end:
            yield int(words[0], 16), words[1], dict(zip(names, words[2:])), is_signal


def below(saved):
    """How far below the CFA a value is saved; None: it is not, or too far."""
    match = re.fullmatch(r"c-(\d+)", saved)
    return int(match[1]) if match and 0 < int(match[1]) <= 0xFFFF else None


def expected(machine, cfa, registers, is_signal):
    """The rules that are right for a row."""
    stack, frame = REGISTERS[machine]
    if is_signal:
        return {"signal 0 0 0"}
    guess, outermost = "guess 0 0 0", "outermost 0 0 0"
    if registers.get("ra", "u") == "u":  # undefined, or not mentioned: then it is still in its register
        return {outermost} if machine == "x86_64" else {outermost, guess}
    link = below(registers["ra"])
    saved = registers.get(frame, "u")
    if link is None:
        return {guess}
    if cfa == "exp":
        return {guess} | ({f"load {offset} 0 {link}" for offset in range(8, 128, 8)} if saved == "exp" else set())
    base, offset = re.fullmatch(r"(\w+)([+-]\d+)", cfa).groups()
    if base not in (stack, frame) or not 0 <= int(offset) <= 0xFFFFFF:
        return {guess}
    if saved not in ("u", "s") and below(saved) is None:
        return {guess}
    kind = "stack" if base == stack else "frame"
    return {f"{kind} {int(offset)} {below(saved) or 0} {link}"}


class Rules(sextant.ProgramTest):
    def compare(self, machine, command, path, least):
        """Checks the rule of every row of the file at PATH. Returns how many rules are no guesses."""
        by_address = {address: row for address, *row in rows(path)}
        self.assertGreaterEqual(len(by_address), least, f"{path} has few rows")
        addresses = sorted(by_address)
        out = sextant.tool(*command, path, stdin="".join(f"{address:x}\n" for address in addresses)).decode()
        found = out.splitlines()
        self.assertEqual(len(found), len(addresses))
        for address, rule in zip(addresses, found):
            self.assertIn(rule, expected(machine, *by_address[address]), f"{path}: {address:#x}: {by_address[address]}")
        return sum(not rule.startswith("guess") for rule in found)

    def test_real_files(self):
        machine = os.uname().machine
        if machine not in REGISTERS:
            self.skipTest("there is no recorder for this machine")
        sextant.need_tool("readelf")
        paths = [path for name in ("libc.so.6", "libstdc++.so.6", "ld-linux-x86-64.so.2", "libz.so.1", "linux-vdso.so.1")
                 for folder in samples.library_folders() for path in pathlib.Path(folder).glob(name)]
        rules = 0
        for path in [pathlib.Path(sextant.program()), *dict.fromkeys(path.resolve() for path in paths)]:
            with self.subTest(path=path.name):
                rules += self.compare(machine, [BUILT], path, FEW)
        self.assertGreater(rules, MANY)

    def test_realigned_stacks(self):
        sextant.need_tool("gcc", "readelf")
        if os.uname().machine != "x86_64":
            self.skipTest("the code is for x86")
        source = ("#include <alloca.h>\n#include <string.h>\nvoid use(void *, void *);\n"
                  "int realigned(int size)\n{\n    _Alignas(64) char room[128];\n    void *more = alloca(size);\n"
                  "    use(room, more);\n    return room[3];\n}\n"
                  "int many(int a, int b, int c, int d, int e, int f, int g, int h)\n{\n    char room[300];\n"
                  "    use(room, &h);\n    return a + b + c + d + e + f + g + h + room[1];\n}\n"
                  "void use(void *a, void *b) { memset(a, b != 0, 1); }\nint main(int argc, char **argv)\n"
                  "{\n    (void)argv;\n    return realigned(argc) + many(1, 2, 3, 4, 5, 6, 7, argc);\n}\n")
        for flags in (["-O0"], ["-O2"], ["-O2", "-fno-omit-frame-pointer"], ["-O2", "-mstackrealign", "-no-pie"]):
            with self.subTest(flags=flags):
                path = samples.compile_c(self.folder, "realigned", "-fno-inline", *flags, source=source)
                by_address = {address: row for address, *row in rows(path)}
                self.compare("x86_64", [BUILT], path, FEW)
                loads = [address for address, (cfa, registers, _) in by_address.items()
                         if cfa == "exp" and registers.get("rbp") == "exp"]
                out = sextant.tool(BUILT, path, stdin="".join(f"{address:x}\n" for address in loads)).decode()
                self.assertNotEqual(loads, [])
                self.assertTrue(all(re.match(r"load \d+ 0 8$", line) for line in out.splitlines()), out)

    def test_aarch64(self):
        sextant.need_tool(CROSS, EMULATOR, "readelf")
        path = CROSS_FOLDER / "lib" / "libc.so.6"
        if not path.exists():
            self.skipTest("there is no C library for AArch64")
        program = self.folder / "list_frame_rules"
        sextant.tool(CROSS, "-std=c17", "-D_GNU_SOURCE", "-O1", "-g", f"-I{sextant.ROOT / 'src'}", "-o", program,
                     sextant.ROOT / "tests" / "programs" / "list_frame_rules.c",
                     sextant.ROOT / "src" / "recorder" / "rules.c")
        rules = self.compare("aarch64", [EMULATOR, "-L", CROSS_FOLDER, program], path.resolve(), FEW)
        self.assertGreater(rules, MANY)


if __name__ == "__main__":
    tap.main()
