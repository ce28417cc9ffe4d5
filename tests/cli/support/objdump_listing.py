"""The calls that GNU objdump shows in a file."""

import re

from . import elf_reader as elf
from . import sextant

# A line is "  401136:\te8 f5 fe ff ff       \tcall   401030 <puts@plt>"; on x86 prefixes may precede the mnemonic.
X86_PREFIXES = r"(?:(?:lock|rep|repn?z|bnd|notrack|xacquire|xrelease|data16|addr32|[c-gs]s|rex(?:\.\w+)?) +)*"
CALLS = {
    elf.EM_386: X86_PREFIXES + r"(?:l?call[wlq]?|syscall|int|into)",
    elf.EM_X86_64: X86_PREFIXES + r"(?:l?call[wlq]?|syscall|int)",
    elf.EM_AARCH64: r"(?:bl|blra?[ab]?z?|svc)",
}


def calls(path, machine, objdump="objdump"):
    """(address, length) of every call."""
    text = sextant.tool(objdump, "-d", "-w", path)
    line = re.compile(rf"^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t{CALLS[machine]}(?=[ \t\n])".encode(), re.MULTILINE)
    for match in line.finditer(text):
        yield int(match[1], 16), len(match[2].replace(b" ", b"")) // 2
